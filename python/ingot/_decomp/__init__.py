# SPDX-License-Identifier: Apache-2.0
"""Tables of decompositions: which operator is replaced by what in run_decompositions."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ingot import _C
from ingot.utils import _pytree as pytree

__all__ = [
    "core_aten_decompositions", "decomposition_table", "get_decompositions", "global_decomposition_table", "meta_table",
    "pre_autograd_decomposition_table", "register_decomposition", "remove_decompositions",
]  # fmt: skip

# Tables by kind; the first one starts with every operator that has its own decomposition.
global_decomposition_table: dict[str, dict[Any, Callable]] = {
    "post_autograd": _C.decomposition_table(False),
    "pre_autograd": {},
    "meta": {},
}
decomposition_table = global_decomposition_table["post_autograd"]
pre_autograd_decomposition_table = global_decomposition_table["pre_autograd"]
meta_table = global_decomposition_table["meta"]


def _overloads(op: Any) -> list[Any]:
    """An operator, or all overloads of a name without one."""
    names = op.overloads() if hasattr(op, "overloads") else None
    return [op] if names is None else [getattr(op, name) for name in names]


def register_decomposition(
    aten_op: Any, registry: dict[Any, Callable] | None = None, *, type: str = "post_autograd", unsafe: bool = False
) -> Callable:
    """A decorator: the function replaces the operators in programs that are decomposed with a table which has it."""
    if type not in global_decomposition_table:
        kinds = ", ".join(global_decomposition_table)
        raise AssertionError(f"register_decomposition: expected one of {kinds}, found {type}")
    table = global_decomposition_table[type] if registry is None else registry

    def register(fn: Callable) -> Callable:
        for op in pytree.tree_leaves(aten_op):
            for one in _overloads(op):
                if one in table:
                    raise RuntimeError(f"duplicate registrations for {one}")
                table[one] = fn
        return fn

    return register


def remove_decompositions(decompositions: dict[Any, Callable], aten_ops: Iterable[Any]) -> None:
    """Takes operators, or all overloads of names, out of a table."""
    for op in aten_ops:
        for one in _overloads(op):
            decompositions.pop(one, None)


def core_aten_decompositions() -> dict[Any, Callable]:
    """The default table of run_decompositions()."""
    return _C.decomposition_table(True)


def get_decompositions(aten_ops: Iterable[Any]) -> dict[Any, Callable]:
    """The rows of some operators; a name without overload (aten.add) means all its overloads."""
    out: dict[Any, Callable] = {}
    for op in aten_ops:
        for one in _overloads(op):
            if one in decomposition_table:
                out[one] = decomposition_table[one]
    return out
