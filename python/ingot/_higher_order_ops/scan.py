# SPDX-License-Identifier: Apache-2.0
"""scan: a function that carries a value along the slices of a tensor and returns one result per slice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ingot import _C
from ingot._C import Tensor
from ingot._higher_order_ops._calls import Flat
from ingot._ops import HigherOrderOperator
from ingot.utils import _pytree as pytree

__all__ = ["scan", "scan_op"]


def scan(combine_fn: Callable, init: Any, xs: Any, *, dim: int = 0, reverse: bool = False) -> tuple:
    """(carry, y) = combine_fn(carry, x) over the slices x of xs along dim; returns the last carry and the stacked y."""
    if not callable(combine_fn):
        raise ValueError("Combine_fn must be a callable, but got {combine_fn}")
    carry, carry_spec = pytree.tree_flatten(init)
    flat_xs, _ = pytree.tree_flatten(xs)
    if not carry:
        raise RuntimeError("scan() operator requires init leaves.")
    for leaf in [*carry, *flat_xs]:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(f"All init and xs leaves must be a Tensor, but got {leaf}")
    if not flat_xs:
        return init, []
    _, spec = pytree.tree_flatten([init, xs])
    body = Flat(combine_fn, spec)
    outs = _C.hop_scan(body, carry, flat_xs, [], dim, reverse)
    y_spec = body.out_spec.children_specs[1]
    last, ys = outs[: len(carry)], outs[len(carry) :]
    return pytree.tree_unflatten(last, carry_spec), pytree.tree_unflatten(ys, y_spec)


def _call(combine_fn: Callable, init: Any, xs: Any, dim: int = 0, reverse: bool = False, extra: Any = ()) -> tuple:
    def flat(*leaves: Any) -> list[Any]:
        return pytree.tree_leaves(combine_fn(*leaves))

    return tuple(_C.hop_scan(flat, list(init), list(xs), list(extra), dim, reverse))


scan_op = HigherOrderOperator("scan", _call)
_C.hop_register("scan", scan_op)
