# SPDX-License-Identifier: Apache-2.0
"""Ranges of symbolic sizes."""
from __future__ import annotations

import dataclasses
from typing import Any

from ingot.utils._sympy.numbers import int_oo

__all__ = ["Expression", "ValueRanges", "ranges_of"]


@dataclasses.dataclass(frozen=True)
class ValueRanges:
    """Inclusive bounds."""

    lower: Any
    upper: Any

    def __contains__(self, value: Any) -> bool:
        return self.lower <= value <= self.upper

    def issubset(self, other: ValueRanges) -> bool:
        return other.lower <= self.lower and self.upper <= other.upper

    def __and__(self, other: ValueRanges) -> ValueRanges:
        return ValueRanges(max(self.lower, other.lower), min(self.upper, other.upper))

    def is_singleton(self) -> bool:
        return self.lower == self.upper

    def __repr__(self) -> str:
        return f"VR[{self.lower}, {self.upper}]"

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
