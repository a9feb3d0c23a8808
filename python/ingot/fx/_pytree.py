# SPDX-License-Identifier: Apache-2.0
"""Flattening by a given specification: what printed code of exported modules calls."""
from typing import Any

from ingot.utils import _pytree as pytree

__all__ = ["tree_flatten_spec"]


def tree_flatten_spec(tree: Any, spec: pytree.TreeSpec, exact_structural_match: bool = False) -> list[Any]:
    """The leaves of `tree` as `spec` has them. Lists stand for tuples and dicts have their keys in any order, since the
    callers write them down anew."""
    if spec.is_leaf():
        return [tree]
    if spec.type in (list, tuple):
        if exact_structural_match and len(tree) != spec.num_children:
            raise ValueError(f"found {len(tree)} elements, expected {spec.num_children}")
        children = [tree[i] for i in range(spec.num_children)]
    elif spec.type is dict:
        children = [tree[key] for key in spec.context]
    else:
        children = spec._children_of(tree)
    pairs = zip(children, spec.children_specs, strict=True)
    return [leaf for child, below in pairs for leaf in tree_flatten_spec(child, below)]
