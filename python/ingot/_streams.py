# SPDX-License-Identifier: Apache-2.0
"""torch.Stream and torch.Event where the CPU computes: work is done when a call returns."""

from __future__ import annotations

from typing import Any

from ingot import _C

__all__ = ["Event", "Stream", "get_device_module"]


def _device(device: Any) -> Any:
    if isinstance(device, int):
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return _C.device("cpu" if device is None else device)


class Stream:
    """An order of work on a device."""

    def __init__(self, device: Any = None, *, priority: int = 0) -> None:
        self.device = _device(device)
        self.device_index, self.device_type, self.stream_id = -1, 1, 0

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        """All work is done."""

    def wait_event(self, event: Any) -> None:
        """It has happened."""

    def wait_stream(self, other: Any) -> None:
        """Its work is done."""

    def record_event(self, event: Any = None) -> Any:
        return event if event is not None else Event(self.device)

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *unused: Any) -> None:
        return None

    def __repr__(self) -> str:
        return f"torch.Stream device_type={self.device.type}, device_index=-1, stream_id=0"


class Event:
    """A moment in the work of a stream."""

    def __init__(
        self, device: Any = None, *, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> None:
        self.device = _device(device)

    def record(self, stream: Any = None) -> None:
        """All work is done."""

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        """It has happened."""

    def wait(self, stream: Any = None) -> None:
        """It has happened."""

    def __repr__(self) -> str:
        return f"torch.Event device_type={self.device.type}, device_index=-1, event_flag=0, event_id=0"


def get_device_module(device: Any = None) -> Any:
    """The module of a kind of device: torch.cpu, torch.cuda, ..."""
    import ingot

    kind = "cpu" if device is None else _C.device(device).type
    found = getattr(ingot, kind, None)
    if found is None:
        raise RuntimeError(f"Invalid device string: '{device}', the module torch.{kind} does not exist")
    return found
