# SPDX-License-Identifier: Apache-2.0
"""A function says that it is defined in another module."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["exposed_in"]


def exposed_in(module: str) -> Callable:
    def set_module(fn: Any) -> Any:
        fn.__module__ = module
        return fn

    return set_module
