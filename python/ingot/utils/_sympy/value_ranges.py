# SPDX-License-Identifier: Apache-2.0
"""Ranges of symbolic sizes."""
from __future__ import annotations

import dataclasses
import math
from typing import Any

from ingot.utils._sympy.numbers import int_oo

__all__ = ["Expression", "ValueRangeError", "ValueRanges", "ranges_of"]


class ValueRangeError(RuntimeError):
    """A range without values."""


@dataclasses.dataclass(frozen=True)
class ValueRanges:
    """Inclusive bounds."""

    lower: Any
    upper: Any

    def __post_init__(self) -> None:
        if self.lower > self.upper:
            raise ValueRangeError(f"Invalid ranges [{self.lower}:{self.upper}]")

    @property
    def is_bool(self) -> bool:
        return isinstance(self.lower, bool)

    @property
    def is_int(self) -> bool:
        return not self.is_bool and not any(isinstance(x, float) for x in (self.lower, self.upper))

    @property
    def is_float(self) -> bool:
        return not self.is_bool and not self.is_int

    @staticmethod
    def unknown() -> ValueRanges:
        return ValueRanges(-math.inf, math.inf)

    @staticmethod
    def unknown_int() -> ValueRanges:
        return ValueRanges(-int_oo, int_oo)

    @staticmethod
    def unknown_bool() -> ValueRanges:
        return ValueRanges(False, True)

    @staticmethod
    def wrap(arg: Any) -> ValueRanges:
        """The range of one number; a range stays itself."""
        return arg if isinstance(arg, ValueRanges) else ValueRanges(arg, arg)

    def __contains__(self, value: Any) -> bool:
        return ValueRanges.wrap(value).issubset(self)

    def issubset(self, other: ValueRanges) -> bool:
        return other.lower <= self.lower and self.upper <= other.upper

    def __and__(self, other: ValueRanges) -> ValueRanges:
        """What is in both; ValueRangeError: nothing is."""
        return ValueRanges(max(self.lower, other.lower), min(self.upper, other.upper))

    tighten = __and__

    def __or__(self, other: ValueRanges) -> ValueRanges:
        """The smallest range around both."""
        return ValueRanges(min(self.lower, other.lower), max(self.upper, other.upper))

    def is_singleton(self) -> bool:
        return self.lower == self.upper

    def __repr__(self) -> str:
        return f"VR[{_text(self.lower)}, {_text(self.upper)}]"

    __str__ = __repr__


def _text(bound: Any) -> str:
    return ("oo" if bound > 0 else "-oo") if type(bound) is float and math.isinf(bound) else str(bound)


class Expression(str):
    """The text of a symbolic size: `s0`, `2*s1 + 1`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    @property
    def name(self) -> str:
        return str(self)


def ranges_of(program: Any) -> dict[Expression, ValueRanges]:
    """range_constraints of a program of the engine."""
    return {
        Expression(text): ValueRanges(-int_oo if lower is None else lower, int_oo if upper is None else upper)
        for text, lower, upper in program.ranges
    }
