# SPDX-License-Identifier: Apache-2.0
"""map: a function of slices along the first dimension, its results stacked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ingot import _C
from ingot._C import Tensor
from ingot._higher_order_ops._calls import Flat, is_leaf_value, unflatten
from ingot._ops import HigherOrderOperator
from ingot.utils import _pytree as pytree

__all__ = ["map", "map_impl"]


def map(f: Callable, xs: Any, *args: Any) -> Any:  # noqa: A001: PyTorch's name
    """f(x, *args) for each slice x of xs along dimension 0, stacked."""
    flat_xs, _ = pytree.tree_flatten(xs)
    if not all(isinstance(t, Tensor) for t in flat_xs):
        raise RuntimeError(f"Mapped xs can only consist of tensors. Got xs {flat_xs}.")
    shapes = [tuple(t.shape) for t in flat_xs]
    if not shapes or any(len(s) == 0 for s in shapes):
        raise RuntimeError("Expect mapped xs to have at least one dimension.")
    if shapes[0][0] == 0:
        raise RuntimeError("Leading dimensions of mapped xs cannot be 0.")
    if any(s[0] != shapes[0][0] for s in shapes):
        raise RuntimeError(f"Leading dimensions of mapped xs must be consistent. Got shapes {shapes}.")
    flat_args, _ = pytree.tree_flatten(args)
    if not all(is_leaf_value(a) for a in flat_args):
        raise RuntimeError(f"map: the arguments behind xs must be tensors or numbers, found {flat_args}.")
    _, spec = pytree.tree_flatten([xs, *args])
    body = Flat(f, spec)
    return unflatten(_C.hop_map(body, flat_xs, flat_args), body)


def _impl(f: Callable, xs: Any, pos_args: Any = ()) -> Any:
    def flat(*leaves: Any) -> list[Any]:
        return pytree.tree_leaves(f(*leaves))

    return tuple(_C.hop_map(flat, list(xs), list(pos_args)))


def _unstack_pytree(xs: Any) -> list[Any]:
    """A tree of tensors as one tree per slice along dimension 0."""
    leaves, spec = pytree.tree_flatten(xs)
    if not all(isinstance(x, Tensor) for x in leaves):
        raise RuntimeError(f"Leaves of xs must be Tensor {leaves}")
    if not all(x.shape[0] == leaves[0].shape[0] for x in leaves):
        raise RuntimeError(f"Leaves of xs must have same leading dimension size {[x.shape for x in leaves]}")
    return [pytree.tree_unflatten(list(row), spec) for row in zip(*leaves, strict=True)]


def _stack_pytree(pytrees: list[Any]) -> Any:
    """Trees of tensors as one, whose tensors are stacked; what is no tensor must be None."""
    flat = [pytree.tree_flatten(tree) for tree in pytrees]
    columns = list(zip(*(leaves for leaves, _ in flat), strict=True))
    stacked: list[Any] = []
    for column in columns:
        if all(isinstance(x, Tensor) for x in column):
            stacked.append(_C.ops.aten.stack.default(list(column)))
        elif all(x is None for x in column):
            stacked.append(None)
        else:
            raise RuntimeError(f"Cannot stack {column}.")
    return pytree.tree_unflatten(stacked, flat[0][1])


map_impl = HigherOrderOperator("map_impl", _impl)
_C.hop_register("map_impl", map_impl)
