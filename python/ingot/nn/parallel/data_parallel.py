# SPDX-License-Identifier: Apache-2.0
"""DataParallel where there are no devices to distribute a batch over: it calls its module."""

from __future__ import annotations

from typing import Any

from ingot.nn.modules.module import Module

__all__ = ["DataParallel", "data_parallel"]


class DataParallel(Module):
    """A module that runs on several GPUs where there are some; on a CPU it is the module itself."""

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self.module = module
        self.device_ids = list(device_ids or ())
        self.output_device = output_device
        self.dim = dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module, inputs: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0,
    module_kwargs: dict | None = None,
) -> Any:  # fmt: skip
    """Call a module with a tuple of inputs, as DataParallel does."""
    given = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    return module(*given, **(module_kwargs or {}))
