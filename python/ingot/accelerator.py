# SPDX-License-Identifier: Apache-2.0
"""torch.accelerator: the machine has none."""

from __future__ import annotations

from typing import Any

from ingot._no_device import no as is_available
from ingot._no_device import zero as device_count

__all__ = ["current_accelerator", "current_device_index", "device_count", "device_index", "is_available"]


def current_accelerator(check_available: bool = False) -> None:
    """There is none."""


def _refuse(*args: Any, **kwargs: Any) -> Any:
    raise RuntimeError("Cannot access accelerator device when none is available.")


current_device_index = current_device_idx = set_device_index = set_device_idx = _refuse
current_stream = set_stream = synchronize = empty_cache = _refuse
memory_stats = memory_allocated = max_memory_allocated = memory_reserved = max_memory_reserved = _refuse
reset_peak_memory_stats = reset_accumulated_memory_stats = get_memory_info = _refuse


class device_index:
    """A context that selects a device; None selects none."""

    def __init__(self, device: int | None) -> None:
        self.idx = device

    def __enter__(self) -> None:
        if self.idx is not None:
            _refuse()

    def __exit__(self, *unused: Any) -> None:
        return None
