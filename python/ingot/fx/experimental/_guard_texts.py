# SPDX-License-Identifier: Apache-2.0
"""Guards as expressions of Python about a program's inputs."""

from __future__ import annotations

import re
from typing import Any

from ingot import _C

__all__ = ["GuardTexts"]

_SYMBOLIC = (_C.SymInt, _C.SymFloat, _C.SymBool)


class GuardTexts:
    """The guards of an environment for inputs with names."""

    def __init__(self, env: Any, placeholders: Any, names: list[str], ignore_static: bool) -> None:
        self.env = env
        self.ignore_static = ignore_static
        self.places: dict[str, str] = {}  # of each symbol: where it is read
        self.symbols: list[Any] = []
        self.numbers: list[tuple[str, Any]] = []  # where a number is read, and what it must be
        for value, name in zip(placeholders, names, strict=True):
            if isinstance(value, _C.Tensor):
                self._add_tensor(value, name)
            elif isinstance(value, (*_SYMBOLIC, int)):
                self._add(name, value)

    def _add_tensor(self, value: Any, name: str) -> None:
        for i, size in enumerate(value.shape):
            self._add(f"{name}.size()[{i}]", size)
        for i, stride in enumerate(value.stride()):
            self._add(f"{name}.stride()[{i}]", stride)
        self._add(f"{name}.storage_offset()", value.storage_offset())

    def _add(self, place: str, number: Any) -> None:
        symbolic = isinstance(number, _SYMBOLIC)
        expr = number.node.expr if symbolic else number
        if symbolic and str(expr).isidentifier() and str(expr) not in self.places:
            self.places[str(expr)] = place
            self.symbols.append(expr)
        elif not self.ignore_static or (symbolic and not expr.is_number):
            self.numbers.append((place, expr))

    def text(self, expr: Any) -> str:
        """An expression with places for symbols; AssertionError: a symbol is in no input."""
        missing = [str(s) for s in getattr(expr, "free_symbols", ()) if str(s) not in self.places]
        if missing:
            raise AssertionError(f"{missing[0]} is in none of the inputs that guards were asked for")
        return re.sub(r"[A-Za-z_]\w*", lambda word: self.places.get(word.group(), word.group()), str(expr))

    def _ranges(self, usual: int | None = None) -> list[str]:
        """The ranges of symbols; a lower end that is the usual one need not be told."""
        found = []
        for symbol in self.symbols:
            if str(self.env.simplify(symbol)) != str(symbol):
                continue
            known, place = self.env.bound_sympy(symbol), self.places[str(symbol)]
            ends = [str(x) for x in (known.lower, place, known.upper) if "int_oo" not in str(x)]
            if usual is not None and ends[0] == str(usual):
                del ends[0]
            if len(ends) > 1:
                found.append(" <= ".join(ends))
        return found

    def simplified(self) -> list[str]:
        """What was decided about symbols, and ranges that are not those of all sizes."""
        return [*self.conditions(), *self._ranges(2 if self.env.specialize_zero_one else 0)]

    def conditions(self) -> list[str]:
        """What was decided about symbols. One that is compared with a number has a range that says the same."""
        guards = self.env.get_nontrivial_guards()
        return [self.text(expr) for expr in guards if not re.fullmatch(r"\w+ [<>]=? -?\d+", str(expr))]

    def all(self) -> list[str]:
        """Numbers that are computed from others, then conditions, then ranges of symbols."""
        equal = [f"{place} == {self.text(expr)}" for place, expr in self.numbers]
        return [*equal, *self.conditions(), *self._ranges()]
