# SPDX-License-Identifier: Apache-2.0
"""torch.multiprocessing: the standard module, and functions that start several processes and wait for them."""

from __future__ import annotations

import multiprocessing
import sys
import traceback
from collections.abc import Callable
from multiprocessing import *  # noqa: F403
from multiprocessing import get_context
from typing import Any

__all__ = [
    *multiprocessing.__all__, "ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException",
    "SpawnContext", "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy", "spawn",
    "start_processes",
]  # fmt: skip

_STRATEGIES = {"file_descriptor", "file_system"}
_sharing = "file_descriptor"


def get_all_sharing_strategies() -> set[str]:
    return set(_STRATEGIES)


def get_sharing_strategy() -> str:
    """Tensors are sent to other processes by value; the name is kept."""
    return _sharing


def set_sharing_strategy(new_strategy: str) -> None:
    """Tensors are sent to other processes by value; the name is kept."""
    global _sharing
    if new_strategy not in _STRATEGIES:
        raise AssertionError(f"invalid sharing strategy {new_strategy!r}, expected one of {sorted(_STRATEGIES)}")
    _sharing = new_strategy


class ProcessException(Exception):
    """A process did not end well."""

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid


class ProcessRaisedException(ProcessException):
    """The function of a process raised an exception."""


class ProcessExitedException(ProcessException):
    """A process ended with a signal or an exit code."""

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name


def _run(fn: Callable, index: int, args: tuple, errors: Any) -> None:
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass
    except Exception:
        errors.put(traceback.format_exc())
        sys.exit(1)


class ProcessContext:
    """Processes that were started together."""

    def __init__(self, processes: list, error_queues: list) -> None:
        self.processes, self.error_queues = processes, error_queues

    def pids(self) -> list[int]:
        return [int(p.pid) for p in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until all have ended; False if one has not in that time. A failure ends the others and is raised."""
        from multiprocessing.connection import wait

        running = {p.sentinel: i for i, p in enumerate(self.processes) if p.exitcode is None}
        if running:
            wait(list(running), timeout=timeout)
        failed = next((i for i, p in enumerate(self.processes) if p.exitcode not in (None, 0)), None)
        if failed is None:
            return all(p.exitcode is not None for p in self.processes)
        for p in self.processes:
            if p.is_alive():
                p.terminate()
        for p in self.processes:
            p.join()
        process = self.processes[failed]
        if self.error_queues[failed].empty():
            code = process.exitcode
            raise ProcessExitedException(
                f"process {failed} terminated with exit code {code}", failed, process.pid, code
            )
        original = self.error_queues[failed].get()
        text = f"\n\n-- Process {failed} terminated with the following error:\n{original}"
        raise ProcessRaisedException(text, failed, process.pid)


SpawnContext = ProcessContext


def start_processes(
    fn: Callable,
    args: tuple = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Call fn(i, *args) in nprocs processes."""
    context = get_context(start_method)
    processes, errors = [], []
    for i in range(nprocs):
        queue = context.SimpleQueue()
        process = context.Process(target=_run, args=(fn, i, args, queue), daemon=daemon)
        process.start()
        processes.append(process)
        errors.append(queue)
    started = ProcessContext(processes, errors)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(
    fn: Callable,
    args: tuple = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Call fn(i, *args) in nprocs fresh interpreters."""
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")
