# SPDX-License-Identifier: Apache-2.0
"""A list of passes over modules, run in order, with conditions on that order."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from functools import wraps
from typing import Any

from ingot import nn

__all__ = [
    "PassManager", "inplace_wrapper", "log_hook", "loop_pass", "these_before_those_pass_constraint",
    "this_before_that_pass_constraint",
]  # fmt: skip

_log = logging.getLogger(__name__)


def inplace_wrapper(fn: Callable) -> Callable:
    """A pass that changes its module in place, as one that returns it."""

    @wraps(fn)
    def wrapped(gm: Any) -> Any:
        fn(gm)
        return gm

    if wrapped.__name__ == "wrapped":
        wrapped.__name__ = str(fn)
    return wrapped


def log_hook(fn: Callable, level: int = logging.INFO) -> Callable:
    """The pass; its result is logged."""

    @wraps(fn)
    def wrapped(gm: Any) -> Any:
        result = fn(gm)
        _log.log(level, "Ran pass %s\t Return value: %s", fn, result)
        return result

    return wrapped


def loop_pass(base_pass: Callable, n_iter: int | None = None, predicate: Callable | None = None) -> Callable:
    """The pass run n_iter times, or as long as predicate(module) is true."""
    if (n_iter is None) == (predicate is None):
        raise AssertionError("Exactly one of `n_iter`or `predicate` must be specified.")

    @wraps(base_pass)
    def wrapped(source: Any) -> Any:
        output = source
        if n_iter is not None:
            for _ in range(n_iter):
                output = base_pass(output)
            return output
        while predicate is not None and predicate(output):
            output = base_pass(output)
        return output

    return wrapped


def _validate_pass_schedule_constraint(constraint: Callable[[Callable, Callable], bool], passes: list) -> None:
    for i, first in enumerate(passes):
        for j, second in enumerate(passes[i + 1 :]):
            if not constraint(first, second):
                raise RuntimeError(
                    f"pass schedule constraint violated. Expected {first} before {second} but found {first} at index "
                    f"{i} and {second} at index{j} in pass list."
                )


def this_before_that_pass_constraint(this: Callable, that: Callable) -> Callable[[Callable, Callable], bool]:
    """The condition that one pass does not come after another one."""

    def depends_on(a: Callable, b: Callable) -> bool:
        return a != that or b != this

    return depends_on


def these_before_those_pass_constraint(these: Callable, those: Callable) -> Callable[[Callable, Callable], bool]:
    """The same for functions that were wrapped: passes are compared by what they wrap."""

    def depends_on(a: Callable, b: Callable) -> bool:
        return inspect.unwrap(a) != those or inspect.unwrap(b) != these

    return depends_on


class PassManager:
    """manager(module): what the passes make of it, one after the other."""

    def __init__(self, passes: list[Callable] | None = None, constraints: list[Callable] | None = None) -> None:
        self.passes = passes or []
        self.constraints = constraints or []
        self._validated = False

    @classmethod
    def build_from_passlist(cls, passes: list[Callable]) -> PassManager:
        return cls(passes)

    def add_pass(self, _pass: Callable) -> None:
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: Callable) -> None:
        self.constraints.append(constraint)
        self._validated = False

    def remove_pass(self, _passes: list[str]) -> None:
        self.passes = [p for p in self.passes if p.__name__ not in _passes]
        self._validated = False

    def replace_pass(self, _target: Callable, _replacement: Callable) -> None:
        self.passes = [_replacement if p.__name__ == _target.__name__ else p for p in self.passes]
        self._validated = False

    def validate(self) -> None:
        """RuntimeError if the order of the passes violates a condition."""
        if self._validated:
            return
        for constraint in self.constraints:
            _validate_pass_schedule_constraint(constraint, self.passes)
        self._validated = True

    def __call__(self, source: nn.Module) -> Any:
        self.validate()
        result: Any = source
        for one in self.passes:
            result = one(result)
        return result
