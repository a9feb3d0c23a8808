# SPDX-License-Identifier: Apache-2.0
"""What programs say to torch.compile: breaks, marks on tensors, functions that are treated in another way."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ingot import _C
from ingot._dynamo import exc
from ingot._dynamo.where import allow
from ingot.utils import _pytree as pytree

__all__ = [
    "allow_in_graph", "assume_constant_result", "disallow_in_graph", "forbid_in_graph", "graph_break", "mark_dynamic",
    "mark_static", "mark_static_address", "mark_unbacked", "maybe_mark_dynamic", "substitute_in_graph",
]  # fmt: skip


def graph_break() -> None:
    """Ends a graph under torch.compile; an export has one graph only."""
    if _C.compile_is_recording():
        _C.compile_break("'skip function graph_break in file torch/_dynamo/decorators.py'")
    elif _C.capture_is_open():
        raise exc.Unsupported("'skip function graph_break in file torch/_dynamo/decorators.py'")


def allow_in_graph(fn: Any) -> Any:
    """Functions whose calls are one step of a graph: they are called as they are, and their operators recorded."""
    if isinstance(fn, (list, tuple)):
        return [allow_in_graph(x) for x in fn]
    if not callable(fn):
        raise AssertionError("allow_in_graph expects a callable")
    allow(fn)
    return fn


def disallow_in_graph(fn: Any) -> Any:
    """Returns fn. Functions run as Python on every call; the operators that they call are recorded all the same."""
    if isinstance(fn, (list, tuple)):
        return [disallow_in_graph(x) for x in fn]
    if not callable(fn):
        raise AssertionError("disallow_in_graph expects a callable")
    return fn


def forbid_in_graph(fn: Any) -> Any:
    """fn may not be called while something is captured."""
    if isinstance(fn, (list, tuple)):
        return [forbid_in_graph(x) for x in fn]
    fn._dynamo_forbidden = True
    return fn


def substitute_in_graph(original_fn: Callable, **unused: Any) -> Callable:
    """Nothing is substituted: functions run as they are."""
    return lambda fn: fn


def assume_constant_result(fn: Callable) -> Callable:
    """fn runs on every call, so that its result is always right. In a strict export it runs once, on the example
    inputs, and its result is a constant of the program."""

    @functools.wraps(fn)
    def constant(*args: Any, **kwargs: Any) -> Any:
        if not _C.capture_is_open() or not _C.capture_is_strict():
            return fn(*args, **kwargs)
        args, kwargs = pytree.tree_map_only(_C.Tensor, lambda t: getattr(t, "_example", t), (args, kwargs))
        return _C.capture_outside(fn, args, kwargs)

    constant._dynamo_marked_constant = True  # type: ignore[attr-defined]
    return constant


def _dims(index: Any) -> list[int]:
    return [int(i) for i in index] if isinstance(index, (list, tuple)) else [int(index)]


def _mark(t: Any, name: str, dims: list[int]) -> None:
    marks = t.__dict__.setdefault(name, set())
    marks.update(dims)


def _outside(name: str) -> None:
    if _C.compile_is_recording():
        raise AssertionError(f"Attempt to trace forbidden callable {name}")


def mark_dynamic(t: Any, index: Any, *, min: int | None = None, max: int | None = None) -> None:
    """The dims are symbolic from the first capture on; one that cannot be is an error."""
    _outside("mark_dynamic")
    _mark(t, "_dynamo_dynamic_indices", _dims(index))
    if min is not None or max is not None:
        ranges = t.__dict__.setdefault("_dynamo_dynamic_range", {})
        ranges.update({d: (min, max) for d in _dims(index)})


def mark_unbacked(t: Any, index: Any) -> None:
    """The dims are symbolic, and nothing may be assumed about them."""
    _outside("mark_unbacked")
    _mark(t, "_dynamo_unbacked_indices", _dims(index))


def maybe_mark_dynamic(t: Any, index: Any) -> None:
    """mark_dynamic without the error."""
    _outside("maybe_mark_dynamic")
    _mark(t, "_dynamo_weak_dynamic_indices", _dims(index))


def mark_static(t: Any, index: Any = None) -> None:
    """The dims (all of them by default) are numbers of each entry."""
    if inspect.isclass(t):
        t._dynamo_marked_static = True
        return
    _mark(t, "_dynamo_static_indices", list(range(t.ndim)) if index is None else _dims(index))


def mark_static_address(t: Any, guard: bool = True) -> None:
    """A promise that the memory does not move, which nothing here relies on."""
    if not isinstance(t, _C.Tensor):
        raise TypeError(f"mark_static_address expects a tensor but received {type(t)}")
    t._dynamo_static_input_type = "guarded" if guard else "unguarded"
