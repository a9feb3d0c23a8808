# SPDX-License-Identifier: Apache-2.0
"""executorch_call_delegate: a call of a module that a backend has lowered."""

from __future__ import annotations

from typing import Any

from ingot._ops import HigherOrderOperator

__all__ = ["executorch_call_delegate"]

LOWERED_BACKEND_MODULE_TYPE = "LoweredBackendModule"


def _call(lowered_module: Any, *args: Any) -> Any:
    return lowered_module.original_module.module()(*args)


executorch_call_delegate = HigherOrderOperator("executorch_call_delegate", _call)


def is_lowered_module(obj: Any) -> bool:
    return type(obj).__name__ == LOWERED_BACKEND_MODULE_TYPE


def get_lowered_module_name(root: Any, lowered_module: Any) -> str:
    """The attribute of a module that holds a lowered one; a new one, if it has none."""
    for name, value in root.__dict__.items():
        if value is lowered_module:
            return name
    number = 0
    while hasattr(root, f"lowered_module_{number}"):
        number += 1
    name = f"lowered_module_{number}"
    setattr(root, name, lowered_module)
    return name
