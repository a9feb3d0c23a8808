# SPDX-License-Identifier: Apache-2.0
"""while_loop: repeated calls of a function of the carried values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ingot import _C
from ingot._higher_order_ops._calls import Flat
from ingot._ops import HigherOrderOperator
from ingot.utils import _pytree as pytree

__all__ = ["while_loop", "while_loop_op"]


def _call(cond_fn: Callable, body_fn: Callable, carried_inputs: Any, additional_inputs: Any = ()) -> tuple:
    carried, spec = pytree.tree_flatten(tuple(carried_inputs))
    extra, _ = pytree.tree_flatten(tuple(additional_inputs))
    _, all_spec = pytree.tree_flatten([*carried_inputs, *additional_inputs])
    outs = _C.hop_while_loop(Flat(cond_fn, all_spec), Flat(body_fn, all_spec), carried, extra)
    return pytree.tree_unflatten(outs, spec)


def while_loop(cond_fn: Callable, body_fn: Callable, carried_inputs: Any) -> tuple:
    """carried_inputs = body_fn(*carried_inputs) while cond_fn(*carried_inputs)."""
    if not callable(cond_fn):
        raise RuntimeError("Expect cond_fn to be callbe.")
    if not callable(body_fn):
        raise RuntimeError("Expect body_fn to be callbe.")
    if not isinstance(carried_inputs, (tuple, list)):
        raise RuntimeError(
            "Expect carried_inputs to be a tuple of possibly nested dict/list/tuple that only consists of tensor "
            f"leaves, but got {carried_inputs}."
        )
    return _call(cond_fn, body_fn, carried_inputs)


while_loop_op = HigherOrderOperator("while_loop", _call)
_C.hop_register("while_loop", while_loop_op)
