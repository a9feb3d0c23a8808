# SPDX-License-Identifier: Apache-2.0
"""Backends that count, for tests of programs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ingot._dynamo.backends.registry import lookup_backend
from ingot._dynamo.utils import same

__all__ = [
    "CompileCounter", "CompileCounterWithBackend", "EagerAndRecordGraphs", "normalize_gm", "rand_strided",
    "remove_trailing_space", "same", "strip_comment",
]  # fmt: skip

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
    return remove_trailing_space(strip_comment(gm_str))


def remove_trailing_space(code: str) -> str:
    return "\n".join(line.rstrip() for line in code.split("\n"))


def strip_comment(code: str) -> str:
    """The code without lines that are comments."""
    return re.sub(r"(?m)^ *#.*\n?", "", str(code))


def rand_strided(size: Any, stride: Any, dtype: Any = None, device: str = "cpu", extra_size: int = 0) -> Any:
    """Random numbers with these sizes and strides."""
    import ingot

    room = sum((n - 1) * step for n, step in zip(size, stride, strict=True)) + 1 + extra_size
    dtype = dtype or ingot.float32
    whole = ingot.randn(room) if dtype.is_floating_point else ingot.randint(0, 5, (room,))
    return ingot.as_strided(whole.to(dtype), tuple(size), tuple(stride))
