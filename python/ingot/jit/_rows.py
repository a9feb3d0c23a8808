# SPDX-License-Identifier: Apache-2.0
"""Lists whose length only the running program knows, as a script returns them while a program is recorded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ingot.utils import _pytree as pytree


@dataclass(frozen=True)
class Rows:
    """The pieces of a tensor along a dimension: of `size` each, of which the last may be smaller; 0: its slices.
    lengths: a tensor with the size of each."""

    tensor: Any
    dim: int
    size: int
    lengths: Any = None


LENGTHS = -1  # the size of pieces whose lengths are the next result


def as_tensors(values: Any, sequences: list[tuple[int, int, int]]) -> Any:
    """Results with the tensors of such lists in their place, and in `sequences` which of the results they are, with
    dimension and size of their pieces."""
    leaves, spec = pytree.tree_flatten(values)
    sequences.clear()
    number = 0
    for i, leaf in enumerate(leaves):
        if isinstance(leaf, Rows):
            ragged = leaf.lengths is not None
            sequences.append((number, leaf.dim, LENGTHS if ragged else leaf.size))
            leaves[i] = (leaf.tensor, leaf.lengths) if ragged else leaf.tensor
            number += ragged
        number += 1
    return pytree.tree_unflatten(leaves, spec)
