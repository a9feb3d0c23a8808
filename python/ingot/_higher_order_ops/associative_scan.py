# SPDX-License-Identifier: Apache-2.0
"""associative_scan: all prefixes of a sequence combined by an associative function, in logarithmically many steps.

In a capture the steps are recorded as the calls that they make.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ingot
from ingot._C import Tensor
from ingot.utils import _pytree as pytree

__all__ = ["associative_scan"]


def _part(values: list[Tensor], start: int | None, stop: int | None, step: int = 1) -> list[Tensor]:
    return [v[start:stop:step] for v in values]


def _interleave(even: Tensor, odd: Tensor) -> Tensor:
    """even[0], odd[0], even[1], ...; even may have one element more."""
    n = odd.shape[0]
    pairs = ingot.stack([even[:n], odd], dim=1).flatten(0, 1)
    return ingot.cat([pairs, even[n:]]) if even.shape[0] > n else pairs


def _scan(combine: Callable[[list[Tensor], list[Tensor]], list[Tensor]], values: list[Tensor]) -> list[Tensor]:
    """The prefixes along the first dimension. Neighbours are combined, the pairs scanned, and the elements between
    them filled in."""
    n = values[0].shape[0]
    if n < 2:
        return values
    pairs = combine(_part(values, None, n - n % 2, 2), _part(values, 1, None, 2))
    odd = _scan(combine, pairs)
    even = _part(values, None, 1)
    if n > 2:
        left = odd if n % 2 else _part(odd, None, -1)
        between = combine(left, _part(values, 2, None, 2))
        even = [ingot.cat([first, rest]) for first, rest in zip(even, between, strict=True)]
    return [_interleave(e, o) for e, o in zip(even, odd, strict=True)]


def associative_scan(
    combine_fn: Callable, xs: Any, dim: int, reverse: bool = False, combine_mode: str = "pointwise"
) -> Any:
    """ys[i] = combine_fn(ys[i - 1], xs[i]) along dim, ys[0] = xs[0]; xs is a tensor or a tree of tensors."""
    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    if not isinstance(dim, int):
        raise ValueError(f"Dim must be an int, but got {type(dim)}")
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}")
    leaves, spec = pytree.tree_flatten(xs)
    if not leaves:
        raise ValueError("Expected at least 1 xs leaf")
    if any(not isinstance(leaf, Tensor) for leaf in leaves):
        raise ValueError("xs leaves must be a Tensor")
    values = [leaf.movedim(dim, 0) for leaf in leaves]
    if any(v.shape[0] != values[0].shape[0] for v in values):
        raise ValueError("All xs leaves must at least have the same number of elements along the scan dimension")
    if reverse:
        values = [v.flip(0) for v in values]

    def combine(left: list[Tensor], right: list[Tensor]) -> list[Tensor]:
        # The function sees elements with their dimensions in place, several at once.
        a, b = ([v.movedim(0, dim) for v in side] for side in (left, right))
        out = combine_fn(pytree.tree_unflatten(a, spec), pytree.tree_unflatten(b, spec))
        made, made_spec = pytree.tree_flatten(out)
        if made_spec != spec:
            raise RuntimeError(f"combine_fn must return what it takes: expected {spec}, got {made_spec}")
        return [v.movedim(dim, 0) for v in made]

    found = _scan(combine, values)
    if reverse:
        found = [v.flip(0) for v in found]
    return pytree.tree_unflatten([v.movedim(0, dim) for v in found], spec)
