# SPDX-License-Identifier: Apache-2.0
"""Resource limits of files and programs in this thread.

    import ingot
    with ingot.limits.limited(max_memory=2 << 30, max_time=10.0):
        program = ingot.export.load("untrusted.pt2")
        program.module()(x)

Beyond a limit the call raises: MemoryError for memory, RuntimeError for work and time. Work is
counted in operator calls and loop iterations; a node that is created while a file is read counts as a
thousand. Work and time count from the moment the limits are set. Memory is that of all tensors,
graphs and files of this thread's engine, including those that already exist.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ingot import _C

__all__ = ["get_limits", "limited", "memory_in_use", "set_limits"]


def set_limits(
    *, max_memory: int | None = None, max_work: int | None = None, max_time: float | None = None, **readers: int
) -> None:
    """Sets the limits of this thread: bytes, units of work, seconds. None, and what is not named: the default.

    `readers` are the limits of what a file may contain: max_text, max_inflated, max_entries,
    max_nodes, max_depth.
    """
    given = dict(readers)
    if max_memory is not None:
        given["max_memory"] = max_memory
    if max_work is not None:
        given["max_work"] = max_work
    if max_time is not None:
        given["max_millis"] = max(1, int(max_time * 1000))
    if any(n <= 0 for n in given.values()):
        raise ValueError(f"limits must be positive, found {given}")
    _C._set_limits(given)


def get_limits() -> dict[str, int]:
    """All limits of this thread, by the names of the C struct; max_millis 0: no limit."""
    return _C._get_limits()


def memory_in_use() -> int:
    """Live bytes of this thread's engine."""
    return _C._memory_in_use()


@contextmanager
def limited(
    *, max_memory: int | None = None, max_work: int | None = None, max_time: float | None = None, **readers: int
) -> Iterator[None]:
    """Within the block these limits apply; afterwards work and time are unlimited again, and the rest is restored."""
    before = _C._get_limits()
    set_limits(max_memory=max_memory, max_work=max_work, max_time=max_time, **readers)
    try:
        yield
    finally:
        _C._set_limits({k: v for k, v in before.items() if k not in ("max_work", "max_millis")})
