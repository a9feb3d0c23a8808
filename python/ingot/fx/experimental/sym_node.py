# SPDX-License-Identifier: Apache-2.0
"""The operations of symbolic numbers by name: what exists, which operators they are, and the types of their results.

The numbers themselves are the engine's (_C.SymInt, _C.SymFloat, _C.SymBool); SymNode is what their `node` is.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from typing import Any

from ingot import _C, functional
from ingot._C import SymBool, SymFloat, SymInt, SymNode

__all__ = ["SymNode", "method_to_operator", "magic_methods"]

SymTypes = (SymInt, SymFloat, SymBool)

_MATH = "sqrt cos cosh sin sinh tan tanh asin acos atan".split()
METHOD_TO_OPERATOR: dict[str, Callable] = {
    "pos": operator.pos, "abs": operator.abs, "add": operator.add, "and": operator.and_, "ceil": math.ceil,
    "eq": operator.eq, "floor": math.floor, "trunc": math.trunc, "int_floordiv": operator.floordiv, "ge": operator.ge,
    "gt": operator.gt, "is_integer": lambda x: x.is_integer(), "le": operator.le, "lshift": operator.lshift,
    "lt": operator.lt, "mod": operator.mod, "mul": operator.mul, "ne": operator.ne, "neg": operator.neg,
    "or": operator.or_, "float_pow": operator.pow, "pow_by_natural": operator.pow, "round": builtins.round,
    "rshift": operator.rshift, "sub": operator.sub, "sym_float": functional.sym_float, "sym_ite": functional.sym_ite,
    "sym_max": functional.sym_max, "sym_min": functional.sym_min, "sym_not": functional.sym_not,
    "float_truediv": operator.truediv, "int_truediv": operator.truediv,
    **{f"sym_{name}": getattr(functional, f"_sym_{name}") for name in _MATH},
}  # fmt: skip

_math_methods = {f"sym_{name}" for name in _MATH}
unary_magic_methods = {"abs", "ceil", "floor", "neg", "pos", "sym_float", "sym_int", "sym_not", "trunc", *_math_methods}
unary_nonmagic_methods = {"is_integer"}
unary_methods = unary_magic_methods | unary_nonmagic_methods
# Methods of truth values alone, those that make integers of them, and those that they have besides numbers.
only_bool_magic_methods = {"and", "or", "sym_ite", "sym_not"}
bool_becomes_int_magic_methods = {"add", "mul", "sub"}
also_bool_magic_methods = {"eq"}
bool_magic_methods = only_bool_magic_methods | also_bool_magic_methods
only_float_magic_methods = {"is_integer", "round", "sym_int"}
magic_methods_on_operator_with_trailing_underscore = {"and", "or"}
# By the type of the result.
always_float_magic_methods = {"float_pow", "float_truediv", "int_truediv", "sym_float", *_math_methods}
always_int_magic_methods = {"ceil", "floor", "pow_by_natural", "trunc"}
always_bool_magic_methods = {
    "and", "eq", "ge", "gt", "is_integer", "is_non_overlapping_and_dense", "le", "lt", "ne", "or", "sym_not",
}  # fmt: skip

_REFLECTABLE = (
    "add sub mul mod pow_by_natural float_pow and or float_truediv int_truediv int_floordiv lshift rshift".split()
)
_OTHERS = (
    "sym_not pos eq ne gt lt le ge floor trunc sym_float ceil neg sym_min sym_max sym_ite abs round is_integer".split()
)


def method_to_operator(method: str) -> Callable:
    """The function of Python or of torch that a method stands for."""
    return METHOD_TO_OPERATOR[method]


reflectable_magic_methods = {name: METHOD_TO_OPERATOR[name] for name in _REFLECTABLE}
magic_methods = {name: METHOD_TO_OPERATOR[name] for name in [*_REFLECTABLE, *_OTHERS, *sorted(_math_methods)]}
alternate_impl_if_hinted_methods = {"sym_min": builtins.min, "sym_max": builtins.max}


def _dense(sizes: Any, strides: Any, order: Any) -> bool:
    """Whether the elements lie one after the other if the dims vary in this order, fastest first."""
    expected = 1
    for d in order:
        if functional.sym_not(sizes[d] == 1) and strides[d] != expected:
            return False
        expected = expected * sizes[d]
    return True


def _channels_last(ndim: int) -> Callable[[Any, Any], bool]:
    order = [1, *range(ndim - 1, 1, -1), 0]

    def is_channels_last_contiguous(sizes: Any, strides: Any) -> bool:
        return len(sizes) == ndim and _dense(sizes, strides, order)

    return is_channels_last_contiguous


def is_contiguous(sizes: Any, strides: Any) -> bool:
    return _dense(sizes, strides, range(len(sizes) - 1, -1, -1))


is_channels_last_contiguous_2d = _channels_last(4)
is_channels_last_contiguous_3d = _channels_last(5)
sizes_strides_methods = {
    "is_contiguous": is_contiguous,
    "is_channels_last_contiguous_2d": is_channels_last_contiguous_2d,
    "is_channels_last_contiguous_3d": is_channels_last_contiguous_3d,
}


def to_node(self: Any, num: Any) -> Any:
    """The node of a symbolic number; NotImplemented for what is none."""
    return num.node if isinstance(num, SymTypes) else NotImplemented


def wrap_node(x: Any) -> Any:
    """The number of a node: a plain one if it is known."""
    if isinstance(x, (_C.SymInt, _C.SymFloat, _C.SymBool)):
        return x
    for known in (x.maybe_as_int, x.maybe_as_float, x.maybe_as_bool):
        value = known()
        if value is not None:
            return value
    return x.expr
