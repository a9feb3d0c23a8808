# SPDX-License-Identifier: Apache-2.0
"""run_const_graph: the part of a program that only depends on its constants."""

from __future__ import annotations

from typing import Any

from ingot._ops import HigherOrderOperator

__all__ = ["run_const_graph"]


def _call(graph: Any, args: tuple) -> Any:
    return graph(*args)


run_const_graph = HigherOrderOperator("run_const_graph", _call)
