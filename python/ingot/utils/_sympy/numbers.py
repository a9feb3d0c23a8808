# SPDX-License-Identifier: Apache-2.0
"""The infinite integers that open ranges end in."""


class IntInfinity(float):
    """Larger than every integer, or, negative, smaller."""

    def __repr__(self) -> str:
        return "int_oo" if self > 0 else "-int_oo"

    __str__ = __repr__

    def __neg__(self) -> "IntInfinity":
        return IntInfinity(-float(self))


int_oo = IntInfinity("inf")
