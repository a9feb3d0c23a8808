# SPDX-License-Identifier: Apache-2.0
"""What a program states about numbers that it reads from data."""
from typing import Any

from ingot import _C

__all__ = ["_constrain_as_size"]


def _constrain_as_size(symbol: Any, min: int | None = None, max: int | None = None) -> None:
    """symbol lies between min and max and may be used as a size."""
    if max is not None and max <= 2:
        raise RuntimeError(f"Max value to constrain_range_for_size must be greater than 2. got: {max}")
    _C.sym_constrain(symbol, min, max, True)
