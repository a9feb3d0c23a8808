# SPDX-License-Identifier: Apache-2.0
"""Assertions that the numbers from the data are inside their ranges."""
from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple

import ingot
from ingot import _C, fx
from ingot.fx.passes.infra.pass_base import PassBase, PassResult

__all__ = ["InputDim"]


class InputDim(NamedTuple):
    """A dimension of an input."""

    input_name: str
    dim: int


def _convert_to_int(val: Any) -> Any:
    """The number of a bound; infinities stay."""
    text = str(val)
    if text in ("oo", "int_oo", "inf"):
        return math.inf
    if text in ("-oo", "-int_oo", "-inf"):
        return -math.inf
    return int(val)


def _convert_range_to_int(range: Any) -> tuple[Any, Any]:  # noqa: A002 (PyTorch's name)
    return _convert_to_int(range.lower), _convert_to_int(range.upper)


class _AddRuntimeAssertionsForInlineConstraintsPass(PassBase):
    """Asserts the ranges of numbers that a program reads from its data, unless it does so already."""

    def __init__(self, range_constraints: dict[Any, Any]) -> None:
        super().__init__()
        self.range_constraints = range_constraints
        self.counter = 0

    def _assert(self, gm: fx.GraphModule, number: fx.Node, compare: Any, bound: int, sign: str) -> fx.Node:
        graph = gm.graph
        condition = graph.call_function(compare, (number, bound))
        value = number.meta["val"]
        condition.meta["val"] = compare(value, bound)
        said = f"Runtime assertion failed for expression {value} {sign} {bound} on node '{condition.name}'"
        self.counter += 1
        return graph.call_function(ingot.ops.aten._assert_scalar.default, (condition, said))

    def _is_asserted(self, number: fx.Node, compare: Any, bound: int) -> bool:
        return any(u.target is compare and u.args[1] == bound for u in number.users if u.op == "call_function")

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        ranges = {str(symbol): found for symbol, found in self.range_constraints.items()}
        for module in graph_module.modules():
            if not isinstance(module, fx.GraphModule):
                continue
            for node in list(module.graph.nodes):
                value = node.meta.get("val") if node.op == "call_function" else None
                if not isinstance(value, _C.SymInt) or str(value) not in ranges or value.node.has_hint():
                    continue
                low, high = _convert_range_to_int(ranges[str(value)])
                last = node
                for compare, bound, sign in ((operator.ge, low, ">="), (operator.le, high, "<=")):
                    if math.isinf(bound) or self._is_asserted(node, compare, bound):
                        continue
                    with module.graph.inserting_before(last.next):
                        last = self._assert(module, node, compare, bound, sign)
            if self.counter:
                module.recompile()
        return PassResult(graph_module, self.counter > 0)
