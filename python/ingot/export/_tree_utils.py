# SPDX-License-Identifier: Apache-2.0
"""Comparison of the structures of calls."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ingot.utils._pytree import TreeSpec

__all__ = ["is_equivalent", "reorder_kwargs"]


def reorder_kwargs(user_kwargs: dict[str, Any], spec: TreeSpec) -> dict[str, Any]:
    """Keyword arguments in the order of the call that the specification describes."""
    if spec.type is not tuple or spec.num_children != 2:
        raise AssertionError("expected the specification of (args, kwargs)")
    wanted = spec.children_specs[1].context
    if set(user_kwargs) != set(wanted):
        raise ValueError(
            f"kwarg key mismatch: Got {list(user_kwargs)} but expected {wanted}"
        )
    return {name: user_kwargs[name] for name in wanted}


def is_equivalent(
    spec1: TreeSpec, spec2: TreeSpec, equivalence_fn: Callable[[type | None, Any, type | None, Any], bool]
) -> bool:
    """Whether two structures are the same by a comparison of their nodes."""
    if not equivalence_fn(spec1.type, spec1.context, spec2.type, spec2.context):
        return False
    if len(spec1.children_specs) != len(spec2.children_specs):
        return False
    pairs = zip(spec1.children_specs, spec2.children_specs, strict=True)
    return all(is_equivalent(a, b, equivalence_fn) for a, b in pairs)
