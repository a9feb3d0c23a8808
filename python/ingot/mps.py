# SPDX-License-Identifier: Apache-2.0
"""torch.mps on a machine without it: queries are answered, use is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ingot._no_device import no as is_available
from ingot._no_device import nothing as manual_seed
from ingot._no_device import zero as device_count

__all__ = ["device_count", "is_available", "manual_seed"]


def _refusal(hook: str) -> Callable:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"Cannot execute {hook}() without MPS backend.")

    return refuse


current_allocated_memory = _refusal("getCurrentAllocatedMemory")
driver_allocated_memory = _refusal("getDriverAllocatedMemory")
recommended_max_memory = _refusal("getRecommendedMaxMemory")
empty_cache = _refusal("emptyCache")
synchronize = _refusal("deviceSynchronize")
set_per_process_memory_fraction = _refusal("setMemoryFraction")
get_rng_state = set_rng_state = seed = _refusal("getDefaultGenerator")
