# SPDX-License-Identifier: Apache-2.0
"""What the makers of random ONNX models draw from: numbers, shapes, types, and the graph that comes of it."""
from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

FLOATS = ("float32", "float32", "float32", "float64", "float16")
SIGNED = ("int32", "int64", "int8", "int16")
UNSIGNED = ("uint8", "uint32", "uint64", "uint16")
NUMBERS = FLOATS + SIGNED + UNSIGNED
MAKERS: dict[str, tuple[int, Callable]] = {}


def maker(since: int, *names: str) -> Callable:
    def add(fn: Callable) -> Callable:
        for name in names:
            assert name not in MAKERS, name
            MAKERS[name] = (since, fn)
        return fn

    return add


class Draw:
    """What a maker draws from, and the graph that it draws."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.n = np.random.default_rng(seed)
        self.opset = 0
        self.op = ""
        self.nodes: list[onnx.NodeProto] = []
        self.inputs: list[tuple[str, np.ndarray]] = []
        self.weights: list[onnx.TensorProto] = []
        self.count = 0

    def name(self, prefix: str = "v") -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def one_of(self, *items: Any) -> Any:
        return self.r.choice(items)

    def chance(self, p: float = 0.5) -> bool:
        return self.r.random() < p

    def int(self, low: int, high: int) -> int:
        return self.r.randint(low, high)

    def maybe(self, **attributes: Any) -> dict[str, Any]:
        """Some of the attributes; the rest have their defaults."""
        return {name: value for name, value in attributes.items() if self.chance(0.6)}

    def shape(self, low: int = 0, high: int = 4) -> list[int]:
        dims = [self.int(1, 4) for _ in range(self.int(low, high))]
        if dims and self.chance(0.04):
            dims[self.r.randrange(len(dims))] = 0
        return dims

    def type(self, *among: str, at: int = 0) -> str:
        """A type that the schema's operand takes at this opset."""
        schema = onnx.defs.get_schema(self.op, self.opset, "")
        known = set(schema.inputs[at].types)
        names = [
            t
            for t in (among or NUMBERS)
            if f"tensor({t.replace('float32', 'float').replace('float64', 'double')})" in known
        ]
        return self.r.choice(names) if names else "float32"

    def array(self, kind: str, shape: list[int], low: float = -4, high: float = 4) -> np.ndarray:
        if kind == "bool":
            return self.n.integers(0, 2, shape).astype(bool)
        if kind.startswith("float"):
            found = self.n.uniform(low, high, shape)
            if self.chance(0.2):
                found = np.round(found * 2) / 2  # equal elements, halves
            return np.asarray(found, kind)
        low = 0 if kind.startswith("uint") and low < 0 else int(low)
        return np.asarray(self.n.integers(low, int(high) + 1, shape), kind)

    def strange(self, a: np.ndarray) -> np.ndarray:
        """With some elements at the ends of the type's range."""
        if a.size and self.chance(0.3):
            flat = a.reshape(-1)
            ends = (
                [np.nan, np.inf, -np.inf, 0.0, -0.0]
                if a.dtype.kind == "f"
                else []
                if a.dtype.kind == "b"
                else [np.iinfo(a.dtype).max, np.iinfo(a.dtype).min, 0]
            )
            for value in self.r.sample(ends, min(2, len(ends))):
                flat[self.r.randrange(flat.size)] = value
        return a

    def feed(self, a: Any, constant: bool | None = None) -> str:
        """An operand with this value: an input, or an initializer."""
        a = np.asarray(a)
        name = self.name("x")
        if self.chance(0.15) if constant is None else constant:
            self.weights.append(numpy_helper.from_array(a, name))
        else:
            self.inputs.append((name, a))
        return name

    def ints(self, values: Any, kind: str = "int64") -> str:
        """Numbers that say how: mostly constants."""
        return self.feed(np.asarray(values, kind), constant=self.chance(0.8))

    def node(self, inputs: list[str], outputs: int = 1, op: str = "", **attributes: Any) -> list[str]:
        while inputs and not inputs[-1]:
            inputs = inputs[:-1]
        names = [self.name() for _ in range(outputs)]
        attributes = {key: value for key, value in attributes.items() if value is not None}
        self.nodes.append(helper.make_node(op or self.op, inputs, names, **attributes))
        return names

    def axis(self, rank: int) -> int:
        return self.int(-rank, rank - 1) if rank else 0

    def broadcast(self, shape: list[int]) -> list[int]:
        """A shape that broadcasts to this one."""
        cut = self.int(0, len(shape)) if self.chance(0.3) else 0
        return [1 if self.chance(0.25) else n for n in shape[cut:]]
