# SPDX-License-Identifier: Apache-2.0
"""make_tensor: random tensors within bounds."""

from __future__ import annotations

from typing import Any

import ingot
from ingot._C import Tensor


def _bounds(dtype: Any, low: float | None, high: float | None) -> tuple[float, float]:
    if dtype == ingot.bool:
        defaults = (0, 2)
    elif dtype.is_floating_point or dtype.is_complex:
        defaults = (-9, 9)
    else:
        defaults = (0 if ingot.iinfo(dtype).min == 0 else -9, 10)
    found = tuple(d if v is None else v for v, d in zip((low, high), defaults))
    if any(v != v for v in found):
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if found[0] > found[1]:
        raise ValueError(f"`low` must be less than `high`, but got {found[0]} >= {found[1]}")
    return found


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any = "cpu",
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor of random values in [low, high)."""
    if len(shape) == 1 and not isinstance(shape[0], int):
        shape = tuple(shape[0])
    if requires_grad and not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(f"`requires_grad=True` is not supported for boolean and integral dtypes, but got {dtype=}")
    if noncontiguous and memory_format is not None:
        raise ValueError(f"The parameters `noncontiguous` and `memory_format` are mutually exclusive, {memory_format=}")
    low, high = _bounds(dtype, low, high)
    # Twice as wide in the last dimension, every second value taken: not contiguous.
    wide = (*shape[:-1], 2 * shape[-1]) if noncontiguous and shape and shape[-1] > 1 else shape
    if dtype == ingot.bool:
        result = ingot.randint(0, 2, wide, device=device) != 0
    elif dtype.is_complex:
        part = ingot.float32 if dtype == ingot.complex64 else ingot.float64
        halves = (ingot.empty(wide, device=device, dtype=part).uniform_(low, high) for _ in range(2))
        result = ingot.complex(*halves)
    elif dtype.is_floating_point:
        exact = dtype if dtype in (ingot.float32, ingot.float64) else ingot.float32
        result = ingot.empty(wide, device=device, dtype=exact).uniform_(low, high).to(dtype)
    else:
        result = ingot.randint(int(low), int(high), wide, device=device).to(dtype)
    if wide != shape:
        result = result[..., ::2]
    if memory_format is not None:
        result = result.contiguous(memory_format=memory_format)
    if exclude_zero:
        result.masked_fill_(result == 0, 1)
    return result.requires_grad_() if requires_grad else result
