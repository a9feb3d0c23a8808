# SPDX-License-Identifier: Apache-2.0
"""Operators of ONNX for translation functions: op.Relu(x), op.Gemm(a, b, c, transB=1).

A translation gets the operands of the call that it writes: tensors as Value, everything else unchanged. It returns the
results of the operator, as Value.
"""
from __future__ import annotations

import contextvars
from collections.abc import Callable
from typing import Any

from ingot._C import Tensor

__all__ = ["Custom", "Value"]

_builder: contextvars.ContextVar[Any] = contextvars.ContextVar("onnx_builder")


class Value:
    """A value of the model that is being written. `example` describes it: a fake tensor, or a symbolic number; None for
    what a translation made on the way."""

    def __init__(self, name: str, example: Any = None) -> None:
        self.name = name
        self.example = example

    @property
    def dtype(self) -> Any:
        return None if self.example is None else self.example.dtype

    @property
    def shape(self) -> Any:
        return None if self.example is None else self.example.shape

    def __repr__(self) -> str:
        return f"Value({self.name!r})"


def _name(builder: Any, value: Any) -> str:
    if isinstance(value, Value):
        return value.name
    if value is None:
        return ""
    import ingot

    return builder.constant(value if isinstance(value, Tensor) else ingot.tensor(value))


def _call(op_type: str, domain: str, outputs: int, inputs: tuple, attributes: dict[str, Any]) -> Any:
    try:
        builder = _builder.get()
    except LookupError:
        raise RuntimeError("operators of ONNX can only be called inside a translation function") from None
    names = [_name(builder, value) for value in inputs]
    found = [Value(name) for name in builder.emit(op_type, names, attributes, outputs, domain)]
    return found[0] if outputs == 1 else tuple(found)


def Custom(op_type: str, *inputs: Any, domain: str, outputs: int = 1, **attributes: Any) -> Any:  # noqa: N802
    """An operator of another domain."""
    return _call(op_type, domain, outputs, inputs, attributes)


def opset() -> int:
    """The opset of the model that is being written."""
    return _builder.get().opset


def __getattr__(name: str) -> Callable:
    if not name[:1].isupper():
        raise AttributeError(f"ONNX has no operator {name!r}")

    def emit(*inputs: Any, outputs: int = 1, **attributes: Any) -> Any:
        return _call(name, "", outputs, inputs, attributes)

    emit.__name__ = name
    return emit


def _wrap(operand: Any) -> Any:
    if isinstance(operand, list):
        return [_wrap(item) for item in operand]
    return Value(*operand) if isinstance(operand, tuple) and len(operand) == 2 else operand


def translation(fn: Callable) -> Callable:
    """`fn` as the engine calls it."""

    def run(builder: Any, operands: list[Any]) -> list[str]:
        token = _builder.set(builder)
        try:
            found = fn(*(_wrap(operand) for operand in operands))
            values = found if isinstance(found, (tuple, list)) else (found,)
            return [_name(builder, value) for value in values]
        finally:
            _builder.reset(token)

    return run
