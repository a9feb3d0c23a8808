# SPDX-License-Identifier: Apache-2.0
"""torch.nn.utils.skip_init: a module whose parameters are not initialized."""

from __future__ import annotations

import inspect
from typing import Any

from ingot.nn.modules.module import Module

__all__ = ["skip_init"]


def skip_init(module_cls: type, *args: Any, **kwargs: Any) -> Module:
    """The module on the given device (the CPU by default), its parameters without elements set."""
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, device="meta", **kwargs).to_empty(device=device)
