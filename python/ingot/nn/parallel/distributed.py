# SPDX-License-Identifier: Apache-2.0
"""DistributedDataParallel where no group of processes can be: programs name it in isinstance, and making one is
refused with PyTorch's words for a process without a group."""

from __future__ import annotations

from typing import Any

from ingot.nn.modules.module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """A module whose gradients are averaged over processes; it needs torch.distributed."""

    def __init__(self, module: Module, *args: Any, **kwargs: Any) -> None:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call init_process_group."
        )
