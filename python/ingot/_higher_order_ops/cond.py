# SPDX-License-Identifier: Apache-2.0
"""torch.cond: one of two functions, chosen by a predicate; both are in a captured graph."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ingot import _C
from ingot._C import SymBool, Tensor
from ingot._dynamo import exc
from ingot._higher_order_ops._calls import Flat, unflatten
from ingot._ops import HigherOrderOperator
from ingot.utils import _pytree as pytree

__all__ = ["cond", "cond_op"]


def _validate(pred: Any, true_fn: Any, false_fn: Any, operands: Any) -> None:
    if not isinstance(pred, (bool, Tensor, SymBool)):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callbe.")
    if not isinstance(operands, (tuple, list)) or any(
        not isinstance(t, Tensor) for t in pytree.tree_leaves(operands)
    ):
        raise RuntimeError(
            "Expect operands to be a tuple of possibly nested dict/list/tuple that only consists of tensor leaves, "
            f"but got {operands}."
        )


def _keys(leaves: list[Any], depth: int) -> tuple:
    """In a strict capture the operands of the node are sorted by name: of the input, of the local variable that was
    given the value, or of the node. The names of the operands, then other tensors of local variables and their names;
    nothing: this is no such capture."""
    if not _C.capture_is_open() or not _C.capture_is_strict():
        return ()
    variables = sys._getframe(depth).f_locals
    local = {id(v): (k, v) for k, v in reversed(list(variables.items())) if isinstance(v, Tensor)}
    keys = []
    for leaf in leaves:
        name, is_input = _C.capture_name(leaf) or ("", False)
        keys.append(f"l_{name}_" if is_input else local.get(id(leaf), (name,))[0])
    return keys, [v for _, v in local.values()], [k for k, _ in local.values()]


def _call(pred: Any, true_fn: Callable, false_fn: Callable, operands: Any, *keys: Any) -> Any:
    leaves, spec = pytree.tree_flatten(list(operands))
    yes, no = Flat(true_fn, spec), Flat(false_fn, spec)
    return unflatten(_C.hop_cond(pred, yes, no, leaves, *keys), yes, no)


def _choose(pred: Any, true_fn: Callable, false_fn: Callable, operands: Any) -> Any:
    """Under torch.compile: the predicate is read, and the function that it chooses is recorded."""
    chosen = _C.compile_aside(bool, (pred,), {}, True) if isinstance(pred, Tensor) else bool(pred)
    out = (true_fn if chosen else false_fn)(*operands)
    if not all(isinstance(leaf, Tensor) for leaf in pytree.tree_leaves(out)):
        raise exc.UncapturedHigherOrderOpError(
            "Cond doesn't work unless it is captured completely with torch.compile. Expected branches to return a "
            "possibly nested list/tuple/dict of tensors but got unsupported type."
        )
    return out


def cond(pred: Any, true_fn: Callable, false_fn: Callable, operands: Any = ()) -> Any:
    """true_fn(*operands) if pred else false_fn(*operands)."""
    _validate(pred, true_fn, false_fn, operands)
    if _C.compile_is_recording():
        return _choose(pred, true_fn, false_fn, operands)
    return _call(pred, true_fn, false_fn, operands, *_keys(pytree.tree_leaves(operands), 2))


cond_op = HigherOrderOperator("cond", _call)
_C.hop_register("cond", cond_op)
