# SPDX-License-Identifier: Apache-2.0
"""torch.cuda.memory: memory of devices that are not there."""

from ingot import cuda as _cuda

_NAMES = (
    "empty_cache", "max_memory_allocated", "max_memory_reserved", "mem_get_info", "memory_allocated",
    "memory_reserved", "memory_stats", "reset_peak_memory_stats",
)  # fmt: skip
globals().update((name, getattr(_cuda, name)) for name in _NAMES)
