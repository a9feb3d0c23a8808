# SPDX-License-Identifier: Apache-2.0
"""Tables of decompositions: which operator is replaced by what in run_decompositions."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ingot import _C

__all__ = ["core_aten_decompositions", "decomposition_table", "get_decompositions"]

# Every operator that has its own decomposition.
decomposition_table: dict[Any, Callable] = _C.decomposition_table(False)


def core_aten_decompositions() -> dict[Any, Callable]:
    """The default table of run_decompositions()."""
    return _C.decomposition_table(True)


def get_decompositions(aten_ops: Iterable[Any]) -> dict[Any, Callable]:
    """The rows of some operators; a name without overload (aten.add) means all its overloads."""
    out: dict[Any, Callable] = {}
    for op in aten_ops:
        names = op.overloads() if hasattr(op, "overloads") else None
        for one in [op] if names is None else [getattr(op, name) for name in names]:
            if one in decomposition_table:
                out[one] = decomposition_table[one]
    return out
