# SPDX-License-Identifier: Apache-2.0
"""Stacks of calls, taken now and printed later."""
from __future__ import annotations

import contextlib
import inspect
import os
import traceback
from collections.abc import Iterator
from types import FrameType
from typing import Any

import ingot

__all__ = [
    "CapturedTraceback", "format_frame", "format_traceback_short", "report_compile_source_on_error", "shorten_filename",
]  # fmt: skip


def shorten_filename(fn: str, *, base: str | None = None) -> str:
    """A file's name without the folder that it has in common with the package."""
    base = base or os.path.dirname(os.path.dirname(os.path.abspath(ingot.__file__)))
    try:
        prefix = os.path.commonpath([fn, base])
    except ValueError:  # on different drives
        return fn
    return fn[len(prefix) + 1 :]


def format_frame(frame: traceback.FrameSummary, *, base: str | None = None, line: bool = False) -> str:
    code = f"{frame.line}  # " if line and frame.line else ""
    return f"{code}{shorten_filename(frame.filename, base=base)}:{frame.lineno} in {frame.name}"


def format_traceback_short(tb: Any) -> str:
    """The innermost frame of a traceback."""
    return format_frame(traceback.extract_tb(tb)[-1])


@contextlib.contextmanager
def report_compile_source_on_error() -> Iterator[None]:
    """Code that Ingot generates has its lines in Python's cache of lines, so tracebacks show them as they are."""
    yield


class CapturedTraceback:
    """The frames of a call stack; source lines are read when it is printed."""

    __slots__ = ("_frames", "skip")

    def __init__(self, frames: list[tuple[str, int, str]] | None, skip: int = 0) -> None:
        self._frames = frames
        self.skip = skip

    @staticmethod
    def extract(*, script: bool = False, cpp: bool = False, skip: int = 0) -> CapturedTraceback:
        """The stack of the caller, without its `skip` innermost frames."""
        frame: FrameType | None = inspect.currentframe()
        frames = []
        for _ in range(1 + skip):
            frame = frame.f_back if frame is not None else None
        while frame is not None:
            frames.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
            frame = frame.f_back
        return CapturedTraceback(frames[::-1])

    def cleanup(self) -> None:
        self._frames = None

    def summary(self) -> traceback.StackSummary:
        frames = self._frames or []
        return traceback.StackSummary.from_list([(file, line, name, None) for file, line, name in frames])

    def format(self) -> list[str]:
        return traceback.format_list(self.summary())

    @staticmethod
    def format_all(tbs: list[CapturedTraceback | None]) -> list[list[str] | None]:
        return [tb.format() if tb is not None else None for tb in tbs]
