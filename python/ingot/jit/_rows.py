# SPDX-License-Identifier: Apache-2.0
"""Lists whose length only the running program knows, as a script returns them while a program is recorded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ingot.utils import _pytree as pytree


@dataclass(frozen=True)
class Rows:
    """The pieces of a tensor along a dimension: of `size` each, of which the last may be smaller; 0: its slices."""

    tensor: Any
    dim: int
    size: int


def as_tensors(values: Any, sequences: list[tuple[int, int, int]]) -> Any:
    """Results with the tensors of such lists in their place, and in `sequences` which of the results they are, with
    dimension and size of their pieces."""
    leaves, spec = pytree.tree_flatten(values)
    sequences.clear()
    for i, leaf in enumerate(leaves):
        if isinstance(leaf, Rows):
            sequences.append((i, leaf.dim, leaf.size))
            leaves[i] = leaf.tensor
    return pytree.tree_unflatten(leaves, spec)
