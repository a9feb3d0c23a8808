# SPDX-License-Identifier: Apache-2.0
"""Between functions of Python containers and the engine's functions of flat lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ingot._C import SymBool, SymFloat, SymInt, Tensor
from ingot.utils import _pytree as pytree


class Flat:
    """A function of containers as a function of leaves. Remembers how its result was put together."""

    def __init__(self, fn: Callable, spec: Any) -> None:
        self.fn = fn
        self.spec = spec
        self.out_spec: Any = None

    def __call__(self, *leaves: Any) -> list[Any]:
        out, self.out_spec = pytree.tree_flatten(self.fn(*pytree.tree_unflatten(list(leaves), self.spec)))
        return out


def unflatten(leaves: list[Any], *candidates: Flat) -> Any:
    """The result by the specification of the first function that ran."""
    spec = next(f.out_spec for f in candidates if f.out_spec is not None)
    return pytree.tree_unflatten(leaves, spec)


def is_leaf_value(value: Any) -> bool:
    return isinstance(value, (Tensor, int, float, bool, SymInt, SymFloat, SymBool))
