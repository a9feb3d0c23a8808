# SPDX-License-Identifier: Apache-2.0
"""strict_mode: a call that is a node with its own sub-graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ingot import _C
from ingot._C import Tensor
from ingot._higher_order_ops._calls import Flat, unflatten
from ingot._ops import HigherOrderOperator
from ingot.utils import _pytree as pytree

__all__ = ["strict_mode", "strict_mode_op"]


def _call(fn: Callable, operands: Any) -> Any:
    leaves, spec = pytree.tree_flatten(list(operands))
    body = Flat(fn, spec)
    return unflatten(_C.hop_strict_mode(body, leaves), body)


def strict_mode(fn: Callable, operands: Any) -> Any:
    """fn(*operands), captured as a region; its operands are tensors."""
    if _C.capture_is_open() and not all(isinstance(o, Tensor) for o in operands):
        raise RuntimeError(
            "strict_mode HOO doesn't work unless it is captured completely with torch.compile: its operands must be "
            f"tensors, found {[type(o).__name__ for o in operands]}"
        )
    return _call(fn, operands)


strict_mode_op = HigherOrderOperator("strict_mode", _call)
_C.hop_register("strict_mode", strict_mode_op)
