# SPDX-License-Identifier: Apache-2.0
"""Invariants of a program: every call is an operator that does not mutate its operands, every value is described."""
from __future__ import annotations

import math
import operator
from typing import Any, ClassVar

from ingot import _C, fx

__all__ = ["SpecViolationError", "TrainingIRVerifier", "Verifier", "load_verifier"]


class SpecViolationError(Exception):
    """A program is not what its dialect allows."""


def _check_val(node: fx.Node) -> None:
    if "val" not in node.meta and node.op != "output" and not _returns_nothing(node):
        raise SpecViolationError(f"Node.meta {node.name} is missing val field.")


def _returns_nothing(node: fx.Node) -> bool:
    target = node.target
    if isinstance(target, _C.OpOverload):
        return len(target._schema.returns) == 0
    return not isinstance(target, str)  # unknown for other callables


class Verifier:
    """The checks of the dialect ATEN: functional operators, higher-order operators, Python's operators on numbers."""

    dialect: ClassVar[str] = "ATEN"
    functional: ClassVar[bool] = True

    def allowed_builtin_ops(self) -> list[Any]:
        names = "add sub mul floordiv truediv mod pow neg eq ne lt le gt ge and_ or_ lshift rshift getitem".split()
        return [getattr(operator, n) for n in names] + [math.ceil, math.floor, math.trunc, round, abs]

    def check_valid_op(self, op: Any) -> None:
        if isinstance(op, _C.OpOverload):
            if self.functional and op._schema.is_mutable:
                raise SpecViolationError(f"operator '{op}' is not functional")
            return
        known = op in self.allowed_builtin_ops() or getattr(op, "__name__", "").startswith(("sym_", "_sym_"))
        if not known and not type(op).__name__.endswith("HigherOrderOperator") and not _is_higher_order(op):
            raise SpecViolationError(f"Operator '{op}' is not an allowed operator type")

    def check_additional(self, gm: fx.GraphModule) -> None:
        """More checks of a dialect."""

    def check(self, ep: Any) -> None:
        """SpecViolationError with the first violation."""
        self._check_graph_module(ep.graph_module)

    def __call__(self, ep: Any) -> None:
        self.check(ep)

    def _check_graph_module(self, gm: fx.GraphModule) -> None:
        try:
            gm.graph.lint()
        except RuntimeError as e:
            raise SpecViolationError(str(e)) from e
        for node in gm.graph.nodes:
            if node.op in ("call_module", "call_method"):
                raise SpecViolationError(f"call_module is not valid: got a class '{node.target}'.")
            if node.op in ("placeholder", "call_function"):
                _check_val(node)
            if node.op == "call_function":
                self.check_valid_op(node.target)
            elif node.op == "get_attr" and isinstance(sub := getattr(gm, node.target, None), fx.GraphModule):
                self._check_graph_module(sub)
        self.check_additional(gm)


def _is_higher_order(op: Any) -> bool:
    return any(c.__name__ == "HigherOrderOperator" for c in type(op).__mro__)


class TrainingIRVerifier(Verifier):
    """Programs before functionalization: operators may mutate their operands."""

    dialect = "TRAINING"
    functional = False


def load_verifier(dialect: str) -> type[Verifier]:
    """The verifier of a dialect; unknown ones are checked as ATEN."""
    return {"TRAINING": TrainingIRVerifier}.get(dialect, Verifier)
