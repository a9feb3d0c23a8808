# SPDX-License-Identifier: Apache-2.0
"""What a program states about numbers that it reads from data."""
from typing import Any

import ingot

__all__ = ["_constrain_as_size"]


def _constrain_as_size(symbol: Any, min: int | None = None, max: int | None = None) -> None:
    """symbol lies between min and max and may be used as a size; a program that is captured checks it when it runs."""
    ingot.sym_constrain_range_for_size(symbol, min=min, max=max)
