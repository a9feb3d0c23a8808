# SPDX-License-Identifier: Apache-2.0
"""autocast: regions in which matrix products and convolutions use a lower-precision dtype."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from ingot import _C

__all__ = ["autocast"]

_CPU_DTYPES = (_C.bfloat16, _C.float16)


class autocast:
    """A context manager and a decorator. float64 operands are not cast."""

    def __init__(
        self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = _C.device(device_type).type
        self.fast_dtype = _C.autocast_get(self.device)[1] if dtype is None else dtype
        self._cache_enabled = True if cache_enabled is None else cache_enabled
        if self.device == "cpu" and enabled and self.fast_dtype not in _CPU_DTYPES:
            warnings.warn(
                "In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
                "CPU Autocast only supports dtypes of torch.bfloat16, torch.float16 currently.",
                stacklevel=2,
            )
            enabled = False
        self._enabled = enabled
        self._before: list[int] = []  # what _C.autocast_exit restores, by depth
        self._depth = 0

    # A region that was entered can be left without memory: room is made before, and nothing is after.
    def __enter__(self) -> autocast:
        depth = self._depth
        if len(self._before) == depth:
            self._before.append(0)
        self._before[depth] = _C.autocast_enter(self.device, self._enabled, self.fast_dtype)
        self._depth = depth + 1
        return self

    def __exit__(self, kind: Any = None, error: Any = None, trace: Any = None) -> None:
        self._depth -= 1
        _C.autocast_exit(self._before[self._depth])

    def __call__(self, func: Callable) -> Callable:
        @functools.wraps(func)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return call


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether a region of that device is open."""
    return _C.autocast_get(device_type)[0]


def is_autocast_cpu_enabled() -> bool:
    return is_autocast_enabled("cpu")


def get_autocast_dtype(device_type: str) -> Any:
    """The lower-precision dtype of regions of that device."""
    return _C.autocast_get(device_type)[1]


def get_autocast_cpu_dtype() -> Any:
    return get_autocast_dtype("cpu")


def set_autocast_enabled(device_type: str, enabled: bool) -> None:
    _C.autocast_set(device_type, enabled, _C.autocast_get(device_type)[1])


def set_autocast_dtype(device_type: str, dtype: Any) -> None:
    _C.autocast_set(device_type, _C.autocast_get(device_type)[0], dtype)
