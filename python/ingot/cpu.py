# SPDX-License-Identifier: Apache-2.0
"""torch.cpu: the CPU in the place of an accelerator. Work is done when a call returns, so streams order nothing."""

from __future__ import annotations

import contextlib
from typing import Any

__all__ = [
    "Stream", "StreamContext", "current_device", "current_stream", "device_count", "is_available", "is_initialized",
    "set_device", "stream", "synchronize",
]  # fmt: skip


def is_available() -> bool:
    return True


def is_initialized() -> bool:
    return True


def device_count() -> int:
    return 1


def current_device() -> str:
    return "cpu"


def set_device(device: Any) -> None:
    """There is one CPU, and it is selected."""


def synchronize(device: Any = None) -> None:
    """Everything has been done."""


class Stream:
    """An order of work: all work is done in the order of the calls."""

    def __init__(self, priority: int = -1) -> None:
        self.priority = priority

    def wait_stream(self, stream: Any) -> None:
        """Its work is done."""


_STREAM = Stream()


def current_stream(device: Any = None) -> Stream:
    return _STREAM


class StreamContext(contextlib.AbstractContextManager):
    """A block whose work belongs to a stream."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __exit__(self, *unused: Any) -> None:
        return None


stream = StreamContext
