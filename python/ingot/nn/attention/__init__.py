# SPDX-License-Identifier: Apache-2.0
"""Which implementation of attention may run. Ingot has one per shape and needs no choice; the setting is stored for
programs that query it."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any


class SDPBackend(enum.IntEnum):
    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


_backends: ContextVar[tuple[SDPBackend, ...]] = ContextVar(
    "_backends", default=(SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH)
)


def _is_enabled(backend: SDPBackend) -> bool:
    return backend in _backends.get()


def _enable_backend(backend: SDPBackend, on: bool) -> None:
    """Switch one backend for the code that follows."""
    rest = tuple(b for b in _backends.get() if b is not backend)
    _backends.set((*rest, backend) if on else rest)


def _cur_sdpa_kernel_backends(with_priority: bool = False) -> list[SDPBackend]:
    return list(_backends.get())


@contextmanager
def sdpa_kernel(backends: Any, set_priority: bool = False) -> Iterator[dict]:
    """Restrict scaled_dot_product_attention to the given backends while the block runs."""
    wanted = [backends] if isinstance(backends, SDPBackend) else list(backends)
    if not all(isinstance(b, SDPBackend) for b in wanted):
        raise AssertionError("Backend must be an instance of SDPBackend or a list of SDPBackend instances")
    token = _backends.set(tuple(dict.fromkeys(wanted)))
    try:
        yield {}
    finally:
        _backends.reset(token)
