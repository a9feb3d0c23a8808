# SPDX-License-Identifier: Apache-2.0
"""auto_functionalized: the functional form of an operator that mutates its operands. The second form names views of
bases."""

from __future__ import annotations

from typing import Any

from ingot import _C
from ingot._ops import HigherOrderOperator
from ingot._ops import ops as _ops

__all__ = ["auto_functionalized", "auto_functionalized_v2"]


def _call(op: Any, **kwargs: Any) -> tuple:
    return tuple(_C.hop_auto_functionalized(op, kwargs))


auto_functionalized = HigherOrderOperator("auto_functionalized", _call)
_C.hop_register("auto_functionalized", auto_functionalized)


def _view(name: str, bases: list, kwargs: dict) -> Any:
    index = kwargs[f"_{name}_base_index"]
    if index is None:
        return None
    if f"_{name}_size" in kwargs:
        return bases[index].as_strided(*(kwargs[f"_{name}_{k}"] for k in ("size", "stride", "storage_offset")))
    if f"_{name}_slice_dim" in kwargs:
        dim, start, end = (kwargs[f"_{name}_slice_{k}"] for k in ("dim", "start", "end"))
        return _ops.aten.slice.Tensor(bases[index], dim, start, end)
    return bases[index]


def _call_v2(op: Any, **kwargs: Any) -> tuple:
    bases = [base.clone() for base in kwargs.pop("_all_bases")]
    given = {}
    for argument in op._schema.arguments:
        name = argument.name
        if name in kwargs:
            given[name] = kwargs[name]
        elif f"_{name}_length" in kwargs:
            given[name] = [_view(f"{name}_{i}", bases, kwargs) for i in range(kwargs[f"_{name}_length"])]
        elif f"_{name}_base_index" in kwargs:
            given[name] = _view(name, bases, kwargs)
    out = op(**given)
    return (*out, *bases) if isinstance(out, (tuple, list)) else (out, *bases)


auto_functionalized_v2 = HigherOrderOperator("auto_functionalized_v2", _call_v2)
_C.hop_register("auto_functionalized_v2", auto_functionalized_v2)
