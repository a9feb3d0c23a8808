# SPDX-License-Identifier: Apache-2.0
"""torch.compiler: queries of programs about being captured."""
from collections.abc import Callable
from typing import Any

from ingot import _C

__all__ = ["allow_in_graph", "assume_constant_result", "disable", "is_compiling", "is_dynamo_compiling",
           "is_exporting", "reset"]  # fmt: skip


def is_compiling() -> bool:
    """Whether a capture is open in this thread."""
    return _C.capture_is_open()


is_dynamo_compiling = is_compiling
is_exporting = is_compiling


def reset() -> None:
    """Captures have no caches."""


def disable(fn: Callable | None = None, recursive: bool = True) -> Any:
    return (lambda f: f) if fn is None else fn


def allow_in_graph(fn: Any) -> Any:
    return fn


def assume_constant_result(fn: Any) -> Any:
    return fn
