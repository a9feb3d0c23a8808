# SPDX-License-Identifier: Apache-2.0
"""Ranges of symbolic sizes."""
from __future__ import annotations

import dataclasses
import math
from typing import Any

from ingot.utils._sympy.numbers import int_oo

__all__ = ["Expression", "ValueRangeError", "ValueRanges", "ranges_of"]


class ValueRangeError(RuntimeError):
    """A range without elements."""


@dataclasses.dataclass(frozen=True)
class ValueRanges:
    """Inclusive bounds."""

    lower: Any
    upper: Any

    def __contains__(self, value: Any) -> bool:
        return self.lower <= value <= self.upper

    def issubset(self, other: ValueRanges) -> bool:
        return other.lower <= self.lower and self.upper <= other.upper

    @staticmethod
    def wrap(arg: Any) -> ValueRanges:
        """The range of one value; ranges stay."""
        return arg if isinstance(arg, ValueRanges) else ValueRanges(arg, arg)

    @staticmethod
    def unknown() -> ValueRanges:
        return ValueRanges(-math.inf, math.inf)

    @staticmethod
    def unknown_int() -> ValueRanges:
        return ValueRanges(-int_oo, int_oo)

    @staticmethod
    def unknown_bool() -> ValueRanges:
        return ValueRanges(False, True)

    def __post_init__(self) -> None:
        if self.lower > self.upper:
            raise ValueRangeError(f"Invalid ranges [{self.lower}:{self.upper}]")

    def __or__(self, other: ValueRanges) -> ValueRanges:
        return ValueRanges(min(self.lower, other.lower), max(self.upper, other.upper))

    def tighten(self, other: ValueRanges) -> ValueRanges:
        """What is in both."""
        return self & other

    def __and__(self, other: ValueRanges) -> ValueRanges:
        return ValueRanges(max(self.lower, other.lower), min(self.upper, other.upper))

    def is_singleton(self) -> bool:
        return self.lower == self.upper

    def __repr__(self) -> str:
        texts = [str(v).replace("inf", "oo") if isinstance(v, float) and math.isinf(v) else v
                 for v in (self.lower, self.upper)]  # fmt: skip
        return f"VR[{texts[0]}, {texts[1]}]"

    __str__ = __repr__


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
