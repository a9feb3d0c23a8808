# SPDX-License-Identifier: Apache-2.0
"""auto_functionalized: an operator that writes to its operands, without writing."""

from __future__ import annotations

from typing import Any

from ingot import _C
from ingot._ops import HigherOrderOperator

__all__ = ["auto_functionalized"]


def _call(op: Any, **kwargs: Any) -> tuple:
    return tuple(_C.hop_auto_functionalized(op, kwargs))


auto_functionalized = HigherOrderOperator("auto_functionalized", _call)
_C.hop_register("auto_functionalized", auto_functionalized)
