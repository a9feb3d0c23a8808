# SPDX-License-Identifier: Apache-2.0
"""Runs passes in an order that satisfies constraints, until nothing changes."""
from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable
from graphlib import CycleError, TopologicalSorter

from ingot import nn
from ingot.fx.graph_module import GraphModule
from ingot.fx.passes.infra.pass_base import PassResult

__all__ = ["PassManager", "pass_result_wrapper", "this_before_that_pass_constraint"]

logger = logging.getLogger(__name__)


def pass_result_wrapper(fn: Callable | None) -> Callable | None:
    """A pass that changes its module and returns nothing, as one that returns a PassResult."""
    if fn is None:
        return None

    @functools.wraps(fn)
    def wrapped(gm: GraphModule) -> PassResult:
        result = fn(gm)
        if result is None:
            return PassResult(gm, True)
        if isinstance(result, PassResult):
            return result
        if isinstance(result, nn.Module):
            return PassResult(result, True)
        raise TypeError(f"a pass returned {type(result)}; expected a PassResult, a module or None")

    if wrapped.__name__ is None or not inspect.isfunction(fn):
        wrapped.__name__ = str(type(fn))
    return wrapped


def this_before_that_pass_constraint(this: Callable, that: Callable) -> Callable:
    """A constraint: `that` does not come before `this`."""

    def before(a: Callable, b: Callable) -> bool:
        return not (a == that and b == this)

    return before


def _name(one: Callable) -> str:
    return getattr(one, "__name__", type(one).__name__)


def _validate_pass_schedule_constraint(constraint: Callable, passes: list[Callable]) -> None:
    for i, a in enumerate(passes):
        for j, b in enumerate(passes[i + 1 :]):
            if not constraint(a, b):
                raise RuntimeError(
                    f"pass schedule constraint violated. Expected {a} before {b} but found {a} at index {i} and {b} "
                    f"at index{i + 1 + j} in pass list."
                )


def _topological_sort_passes(passes: list[Callable], constraints: list[Callable]) -> list[Callable]:
    """The passes in the first order that satisfies all constraints."""
    if not constraints:
        return passes
    sorter: TopologicalSorter = TopologicalSorter({i: () for i in range(len(passes))})
    for i, a in enumerate(passes):
        for j, b in enumerate(passes):
            if i != j and not all(constraint(a, b) for constraint in constraints):
                sorter.add(i, j)  # b comes first
    try:
        order = list(sorter.static_order())
    except CycleError as error:
        circle = [passes[i] for i in dict.fromkeys(error.args[1])]
        raise RuntimeError(f"Circular dependency detected within the following passes: {circle}") from None
    return [passes[i] for i in order]


class PassManager:
    """Passes, the constraints between them, and checks after each."""

    def __init__(
        self,
        passes: list[Callable] | None = None,
        constraints: list[Callable] | None = None,
        steps: int | None = None,
        run_checks_after_each_pass: bool = False,
        suppress_check_failures: bool = False,
    ) -> None:
        self.passes: list[Callable] = passes or []
        self.constraints: list[Callable] = constraints or []
        self.steps = steps or 1
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures
        self._validated = False

    def add_pass(self, _pass: Callable) -> None:
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: Callable) -> None:
        self.constraints.append(constraint)
        self._validated = False

    def validate_constraints(self) -> None:
        """RuntimeError if the order of the passes violates a constraint."""
        if not self._validated:
            for constraint in self.constraints:
                _validate_pass_schedule_constraint(constraint, self.passes)
            self._validated = True

    def solve_constraints(self) -> None:
        """Puts the passes into an order that the constraints allow."""
        self.passes = _topological_sort_passes(self.passes, self.constraints)
        self._validated = True

    def add_checks(self, check: Callable) -> None:
        """A function of a module, run before the first pass and after each one."""
        if [*inspect.signature(check).parameters] == []:
            raise TypeError("PassManager check function should only take in one variable, a module")
        if len(inspect.signature(check).parameters) != 1:
            raise TypeError("PassManager check function should only take in one variable, a module")
        self.check = check  # type: ignore[method-assign]

    def check(self, module: nn.Module) -> None:
        """Checks a module; nothing, unless add_checks gave a function."""

    def __call__(self, module: nn.Module) -> PassResult:
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        overall = False
        for _ in range(self.steps):
            modified = False
            for i, one in enumerate(self.passes):
                logger.debug("Running pass '%s'", _name(one))
                try:
                    result = one(module)
                    if not isinstance(result, PassResult) and not hasattr(result, "graph_module"):
                        raise TypeError(
                            f"The result of the pass {_name(one)} should be type PassResult. Please wrap it with "
                            "pass_result_wrapper()"
                        )
                    module = result.graph_module
                    modified = modified or result.modified
                    if isinstance(module, GraphModule):
                        module.recompile()
                    if self.run_checks_after_each_pass:
                        self.check(module)
                except Exception as error:
                    before = [_name(p) for p in self.passes[:i]]
                    raise Exception(
                        f"An error occurred when running the '{_name(one)}' pass after the following passes: {before}"
                    ) from error
            overall = overall or modified
            if not modified:
                break
        return PassResult(module, overall)
