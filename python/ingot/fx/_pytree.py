# SPDX-License-Identifier: Apache-2.0
"""Flattening by a given specification: what printed code of exported modules calls."""
from collections import namedtuple
from collections.abc import Callable
from typing import Any

from ingot.utils import _pytree as pytree
from ingot.utils._pytree import PyTree, TreeSpec

__all__ = ["register_pytree_flatten_spec", "tree_flatten_spec"]

FlattenFuncSpec = Callable[[PyTree, TreeSpec], list]
FlattenFuncExactMatchSpec = Callable[[PyTree, TreeSpec], bool]


def _list_flatten_spec(tree: Any, spec: TreeSpec) -> list[Any]:
    return [tree[i] for i in range(spec.num_children)]


def _dict_flatten_spec(tree: dict, spec: TreeSpec) -> list[Any]:
    return [tree[key] for key in spec.context]


def _list_flatten_spec_exact_match(tree: Any, spec: TreeSpec) -> bool:
    return len(tree) == spec.num_children


# Packages register caches and outputs with the functions of the kind that they behave like.
_tuple_flatten_spec = _namedtuple_flatten_spec = _list_flatten_spec
_dict_flatten_spec_exact_match = _tuple_flatten_spec_exact_match = _list_flatten_spec_exact_match
_namedtuple_flatten_spec_exact_match = _list_flatten_spec_exact_match

SUPPORTED_NODES: dict[type, FlattenFuncSpec] = {
    dict: _dict_flatten_spec,
    list: _list_flatten_spec,
    tuple: _tuple_flatten_spec,
    namedtuple: _namedtuple_flatten_spec,  # type: ignore[dict-item]  # the key under which specifications have named tuples
}
SUPPORTED_NODES_EXACT_MATCH: dict[type, FlattenFuncExactMatchSpec | None] = {
    dict: _dict_flatten_spec_exact_match,
    list: _list_flatten_spec_exact_match,
    tuple: _tuple_flatten_spec_exact_match,
    namedtuple: _namedtuple_flatten_spec_exact_match,
}  # type: ignore[dict-item]


def register_pytree_flatten_spec(
    cls: type, flatten_fn_spec: FlattenFuncSpec, flatten_fn_exact_match_spec: FlattenFuncExactMatchSpec | None = None
) -> None:
    """How objects of a class are flattened by a specification, and whether one has exactly its children."""
    SUPPORTED_NODES[cls] = flatten_fn_spec
    SUPPORTED_NODES_EXACT_MATCH[cls] = flatten_fn_exact_match_spec


def tree_flatten_spec(tree: PyTree, spec: TreeSpec, exact_structural_match: bool = False) -> list[Any]:
    """The leaves of a tree as `spec` has them. Lists stand for tuples and dicts have their keys in any order, since
    the callers write them down anew."""
    if spec.is_leaf():
        return [tree]
    if spec.type in SUPPORTED_NODES:
        children = SUPPORTED_NODES[spec.type](tree, spec)
    elif spec.type in pytree.SUPPORTED_NODES:
        children = spec._children_of(tree)
    else:
        raise RuntimeError(
            f"{type(tree)} does not have a flatten_fn_spec associated with it. Please register one with "
            "torch.fx._pytree.register_pytree_flatten_spec.  If you have serialized your model, make sure that any "
            "custom pytrees have been registered before loading it."
        )
    match = SUPPORTED_NODES_EXACT_MATCH.get(spec.type)
    if exact_structural_match and match is not None and not match(tree, spec):
        raise RuntimeError(f"Cannot flatten pytree {tree}, given spec: {spec}")
    pairs = zip(children, spec.children_specs, strict=True)
    return [leaf for child, below in pairs for leaf in tree_flatten_spec(child, below, exact_structural_match)]
