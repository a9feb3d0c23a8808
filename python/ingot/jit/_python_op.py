# SPDX-License-Identifier: Apache-2.0
"""Calls of autograd.Function in traces: one node `^Name` each, which calls Python again when the trace runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ingot import _C
from ingot._C import Tensor


class PythonOp:
    """What a node calls: the function, its arguments that are no tensors, and where the tensors stand among them."""

    def __init__(self, cls: type, args: tuple) -> None:
        self.cls = cls
        self.cconv = "".join("d" if isinstance(a, Tensor) else "c" for a in args)
        self.scalar_args = [a for a in args if not isinstance(a, Tensor)]
        self.inplace = False

    @property
    def pyobj(self) -> Callable:
        return self.cls.apply  # type: ignore[attr-defined]

    def __call__(self, *tensors: Tensor) -> Any:
        if self.inplace:
            raise RuntimeError(f"inplace {self.cls.__name__} not supported in the JIT")
        given, scalars = iter(tensors), iter(self.scalar_args)
        return self.pyobj(*(next(given if kind == "d" else scalars) for kind in self.cconv))


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_text, value))}{',' if len(value) == 1 else ''})"
    return str(value)


def traced(cls: type, args: tuple, run: Callable[[type, tuple], tuple[Any, Any, bool]]) -> Any:
    """Runs a call while a trace is recorded: its operators become the body of one node."""
    op = PythonOp(cls, args)
    tensors = tuple(a for a in args if isinstance(a, Tensor))
    call = _C._trace_open_call(op, cls.__name__, ", ".join(map(_text, op.scalar_args)), tensors)
    inner = outs = None
    is_tuple = False
    try:
        result, made, op.inplace = run(cls, args)
        is_tuple = isinstance(result, tuple)
        inner, outs = (made, result) if is_tuple else ((made,), (result,))
    finally:
        _C._trace_close_call(call, inner, outs, is_tuple, op.inplace, cls.__dict__.get("__module__"))
    return result
