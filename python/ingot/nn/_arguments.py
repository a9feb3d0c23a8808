# SPDX-License-Identifier: Apache-2.0
"""Small helpers for arguments of layers: one number for all spatial dimensions, or one each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def repeat(value: Any, count: int) -> tuple:
    """A tuple of count numbers: the given ones, or one number repeated."""
    if isinstance(value, Iterable):
        return tuple(value)
    return (value,) * count


def reverse_repeat(values: Iterable, count: int = 2) -> list:
    """The numbers from last to first, each count times: the order that pad() expects."""
    return [v for v in reversed(tuple(values)) for _ in range(count)]
