# SPDX-License-Identifier: Apache-2.0
"""Quantized tensors at the border of a model. ONNX has none: an argument or result is three tensors, its integers, its
scale and its zero point. Inside, quantized operators are pairs of QuantizeLinear and DequantizeLinear."""

from __future__ import annotations

import inspect
from typing import Any

import ingot
from ingot import nn
from ingot.utils import _pytree as pytree

_INTEGERS = {ingot.quint8: ingot.uint8, ingot.qint8: ingot.int8, ingot.qint32: ingot.int32}
_PARTS = ("value", "scale", "zero_point")


def is_quantized(value: Any) -> bool:
    """Whether a value is a tensor with one scale and one zero point."""
    return (
        isinstance(value, ingot.Tensor)
        and value.is_quantized
        and value.qscheme() in (ingot.per_tensor_affine, ingot.per_tensor_symmetric)
    )


def unpack(value: Any, wide: bool = True) -> tuple:
    """A quantized tensor as its three parts, another value as itself. wide: scale and zero point have the types of
    Python's numbers, as arguments do; otherwise those of QuantizeLinear, as results do."""
    if not is_quantized(value):
        return (value,)
    scale = ingot.tensor(value.q_scale(), dtype=ingot.float64 if wide else ingot.float32)
    zero = ingot.tensor(value.q_zero_point(), dtype=ingot.int64 if wide else _INTEGERS[value.dtype])
    return value.int_repr(), scale, zero


def _pack(parts: tuple, example: Any) -> Any:
    """The quantized tensor of three parts. A program knows the scale and zero point of every quantized tensor, so
    that numbers of another scale are quantized again by those of the example."""
    value, scale, zero = parts
    numbers = (value.to(ingot.float32) - zero.to(ingot.float32)) * scale.to(ingot.float32)
    return ingot.quantize_per_tensor(numbers, example.q_scale(), example.q_zero_point(), example.dtype)


def parts_of(values: Any) -> Any:
    """Results with tuples of parts in the place of quantized tensors."""

    def part(value: Any) -> Any:
        parts = unpack(value, wide=False)
        return parts if len(parts) > 1 else value

    return pytree.tree_map(part, values)


def _with_forward(model: nn.Module, forward: Any) -> nn.Module:
    """The same module, with its state under the same names, and another forward."""
    made = type(model).__new__(type(type(model).__name__, (type(model),), {"forward": forward}))
    made.__dict__ = {name: value for name, value in vars(model).items() if name != "forward"}
    return made


def taking_parts(model: nn.Module, args: tuple) -> tuple[nn.Module, tuple, list[str]]:
    """A model that takes its quantized arguments in parts, these arguments, and by the number of an input the name of
    a part ("": another argument)."""
    examples = [arg if is_quantized(arg) else None for arg in args]
    body = model.forward
    parameters = inspect.signature(body).parameters.values()
    own = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    names: list[str] = []
    for k, example in enumerate(examples):
        name = own[k] if k < len(own) else str(k)
        names += [f"{name}_{part}" for part in _PARTS] if example is not None else [""]

    def forward(self: Any, *given: Any) -> Any:
        left = iter(given)
        packed = [
            next(left, None) if example is None else _pack((next(left), next(left), next(left)), example)
            for example in examples
        ]
        return body(*packed)

    return _with_forward(model, forward), tuple(part for arg in args for part in unpack(arg)), names


def giving_parts(model: nn.Module, result: Any) -> nn.Module:
    """A model whose quantized results are in parts, if the example has any."""
    if not any(map(is_quantized, pytree.tree_leaves(result))):
        return model
    body = model.forward

    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        return parts_of(body(*args, **kwargs))

    forward.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD), *inspect.signature(body).parameters.values()]
    )
    return _with_forward(model, forward)
