# SPDX-License-Identifier: Apache-2.0
"""Results that may come later: torch.futures."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

__all__ = ["Future", "collect_all", "wait_all"]


class Future:
    """A result, or an error, that is set once."""

    def __init__(self, *, devices: Any = None) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._result: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable] = []

    @classmethod
    def _done(cls, result: Any) -> Future:
        made = cls()
        made.set_result(result)
        return made

    def done(self) -> bool:
        return self._event.is_set()

    def wait(self) -> Any:
        self._event.wait()
        return self.value()

    def value(self) -> Any:
        if self._error is not None:
            raise self._error
        return self._result

    def set_result(self, result: Any) -> None:
        self._finish(result, None)

    def set_exception(self, result: BaseException) -> None:
        if not isinstance(result, BaseException):
            raise TypeError(f"{result} is of type {type(result)}, not an Exception.")
        self._finish(None, result)

    def _finish(self, result: Any, error: BaseException | None) -> None:
        with self._lock:
            if self._event.is_set():
                raise RuntimeError("Future can only be marked completed once")
            self._result, self._error = result, error
            self._event.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)

    def add_done_callback(self, callback: Callable) -> None:
        with self._lock:
            if not self._event.is_set():
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback: Callable) -> Future:
        """A future of what the callback returns for this one."""
        made = Future()

        def run(future: Future) -> None:
            try:
                made.set_result(callback(future))
            except BaseException as error:
                made.set_exception(error)

        self.add_done_callback(run)
        return made


def wait_all(futures: list[Future]) -> list[Any]:
    return [future.wait() for future in futures]


def collect_all(futures: list[Future]) -> Future:
    """A future of the list, done when all of them are."""
    made = Future()
    left = [len(futures)]
    lock = threading.Lock()

    def one(future: Future) -> None:
        with lock:
            left[0] -= 1
            last = left[0] == 0
        if last:
            made.set_result(futures)

    if not futures:
        made.set_result(futures)
    for future in futures:
        future.add_done_callback(one)
    return made
