# SPDX-License-Identifier: Apache-2.0
"""torch._prims_common: the helpers that packages use."""

from __future__ import annotations

from ingot._C import Tensor

__all__ = ["alert_not_deterministic", "is_contiguous_or_false"]


def is_contiguous_or_false(a: Tensor) -> bool:
    """Whether the elements are in order, as far as it is known."""
    return a.is_contiguous()


def alert_not_deterministic(caller: str) -> None:
    """The kernels of the CPU are deterministic: nothing to tell."""
