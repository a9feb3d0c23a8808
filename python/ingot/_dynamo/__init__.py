# SPDX-License-Identifier: Apache-2.0
"""The names of torch._dynamo that programs and tests use. Ingot has no bytecode capture: a strict capture runs the
program as a non-strict one does and differs in errors and metadata."""
from collections.abc import Callable
from typing import Any

from ingot._dynamo import config, exc, utils
from ingot.compiler import is_compiling

__all__ = [
    "allow_in_graph", "assume_constant_result", "config", "disable", "exc", "graph_break", "is_compiling",
    "is_dynamo_supported", "mark_dynamic", "mark_static", "reset", "utils",
]  # fmt: skip


def reset() -> None:
    """Clears compilation caches. Captures have none, so there is nothing to do."""


def is_dynamo_supported() -> bool:
    """Whether programs can be captured here: always."""
    return True


def disable(fn: Callable | None = None, recursive: bool = True) -> Any:
    """Marks a function that compilers must not trace; capture only sees operator calls, so it is unchanged."""
    return (lambda f: f) if fn is None else fn


def allow_in_graph(fn: Any) -> Any:
    return fn


def assume_constant_result(fn: Any) -> Any:
    return fn


def graph_break() -> None:
    """Ends a graph under torch.compile; an export has one graph only."""
    if is_compiling():
        raise exc.Unsupported("'skip function graph_break in file torch/_dynamo/decorators.py'")


def mark_dynamic(t: Any, index: Any, *, min: int | None = None, max: int | None = None) -> None:
    """A hint for torch.compile. Export takes its dynamic dimensions from dynamic_shapes alone."""


def mark_static(t: Any, index: Any = None) -> None:
    """See mark_dynamic."""
