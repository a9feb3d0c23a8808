# SPDX-License-Identifier: Apache-2.0
"""torch.profiler: labels of regions, schedules, and a profiler that measures the labelled regions."""

from __future__ import annotations

import contextlib
import enum
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

__all__ = ["ProfilerAction", "ProfilerActivity", "profile", "record_function", "schedule", "supported_activities"]


class ProfilerActivity(enum.Enum):
    """What a profiler watches."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(enum.Enum):
    """What a profiler does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def supported_activities() -> set[ProfilerActivity]:
    return {ProfilerActivity.CPU}


# The profilers whose block is running.
_open: ContextVar[tuple] = ContextVar("_open", default=())


class record_function(contextlib.ContextDecorator):
    """with record_function("name"): a region of a program, measured by profilers."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args
        self._begin = 0.0

    def __enter__(self) -> Any:
        self._begin = time.perf_counter()
        return self

    def __exit__(self, *unused: Any) -> None:
        spent = time.perf_counter() - self._begin
        for profiler in _open.get():
            profiler._add(self.name, spent)


def schedule(*, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, **unused: Any) -> Callable:
    """A function from the number of a step to what a profiler does in it."""

    def of(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative, got {step}.")
        step -= skip_first
        length = wait + warmup + active
        if step < 0 or (repeat > 0 and step // length >= repeat):
            return ProfilerAction.NONE
        at = step % length
        if at < wait:
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if at < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return of


class _Averages(list):
    """Rows (name, calls, seconds)."""

    def table(self, **unused: Any) -> str:
        lines = [f"{'Name':40}{'Calls':>10}{'CPU total':>16}"]
        return "\n".join(lines + [f"{name:40}{calls:>10}{spent * 1e3:>13.3f} ms" for name, calls, spent in self])


class profile:
    """Measures the regions of record_function inside of its block."""

    def __init__(
        self, *, activities: Any = None, schedule: Callable | None = None, on_trace_ready: Callable | None = None,
        **unused: Any,
    ) -> None:  # fmt: skip
        self.activities = set(activities) if activities else supported_activities()
        self._schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self._ready = on_trace_ready
        self.step_num = 0
        self._regions: dict[str, list] = {}
        self._token: Any = None

    def _add(self, name: str, spent: float) -> None:
        if self._schedule(self.step_num) in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
            row = self._regions.setdefault(name, [0, 0.0])
            row[0] += 1
            row[1] += spent

    def start(self) -> None:
        self._token = _open.set((*_open.get(), self))

    def stop(self) -> None:
        _open.set(tuple(p for p in _open.get() if p is not self))
        if self._ready is not None:
            self._ready(self)

    def step(self) -> None:
        """The next step of the schedule."""
        self.step_num += 1

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *unused: Any) -> None:
        self.stop()

    def key_averages(self, *args: Any, **kwargs: Any) -> _Averages:
        return _Averages((name, calls, spent) for name, (calls, spent) in self._regions.items())
