# SPDX-License-Identifier: Apache-2.0
"""Backends that count, for tests of programs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ingot._dynamo.backends.registry import lookup_backend
from ingot._dynamo.utils import same

__all__ = ["CompileCounter", "CompileCounterWithBackend", "EagerAndRecordGraphs", "normalize_gm", "same"]

_CALLS = ("call_function", "call_method", "call_module")


class CompileCounter:
    """Counts graphs (frame_count) and their operators (op_count), and runs them as they are."""

    def __init__(self) -> None:
        self.clear()

    def __call__(self, gm: Any, example_inputs: list[Any]) -> Callable:
        self.frame_count += 1
        self.op_count += sum(n.op in _CALLS for n in gm.graph.nodes)
        return gm.forward

    def clear(self) -> None:
        self.frame_count = 0
        self.op_count = 0


class CompileCounterWithBackend(CompileCounter):
    """The same in front of a backend; keeps the graphs."""

    def __init__(self, backend: Any) -> None:
        self.backend = backend
        self.graphs: list[Any] = []
        super().__init__()

    def __call__(self, gm: Any, example_inputs: list[Any]) -> Callable:
        super().__call__(gm, example_inputs)
        self.graphs.append(gm)
        return lookup_backend(self.backend)(gm, example_inputs)

    def clear(self) -> None:
        super().clear()
        self.graphs = []


class EagerAndRecordGraphs:
    def __init__(self) -> None:
        self.graphs: list[Any] = []

    def __call__(self, gm: Any, example_inputs: list[Any]) -> Callable:
        self.graphs.append(gm)
        return gm.forward


def normalize_gm(gm_str: str) -> str:
    """The code of a graph module without lines that are comments, and without blanks at the ends of lines."""
    lines = [line.rstrip() for line in re.sub(r"(?m)^ *#.*\n?", "", gm_str).split("\n")]
    return "\n".join(lines)
