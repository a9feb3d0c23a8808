# SPDX-License-Identifier: Apache-2.0
"""Which functions promise to stay as they are."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["compatibility"]

_BACK_COMPAT_OBJECTS: dict[Any, None] = {}
_MARKED_WITH_COMPATIBILITY: dict[Any, None] = {}


def compatibility(is_backward_compatible: bool) -> Callable[[Any], Any]:
    """A decorator that notes whether a function or class keeps its interface."""

    def wrap(what: Any) -> Any:
        _MARKED_WITH_COMPATIBILITY.setdefault(what)
        if is_backward_compatible:
            _BACK_COMPAT_OBJECTS.setdefault(what)
        return what

    return wrap
