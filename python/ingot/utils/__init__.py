# SPDX-License-Identifier: Apache-2.0
"""Utilities: pytrees, handles of hooks, data."""

import importlib
from typing import Any

from ingot.utils import _pytree, hooks

__all__ = ["_pytree", "data", "hooks"]


def __getattr__(name: str) -> Any:
    if name == "data":  # imported when it is first used
        return importlib.import_module("ingot.utils.data")
    raise AttributeError(f"module 'ingot.utils' has no attribute {name!r}")
