# SPDX-License-Identifier: Apache-2.0
"""torch.mtia on a machine without it: queries are answered, use is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ingot._no_device import no as is_available
from ingot._no_device import no as is_initialized
from ingot._no_device import zero as device_count

__all__ = ["device_count", "is_available", "is_initialized"]


def _refusal(hook: str) -> Callable:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"Cannot execute {hook}() without MTIA backend.")

    return refuse


current_device = synchronize = get_device_capability = _refusal("getCurrentDevice")
empty_cache = _refusal("emptyCache")


def memory_stats(device: Any = None) -> dict:
    return {}
