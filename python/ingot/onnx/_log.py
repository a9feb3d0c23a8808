# SPDX-License-Identifier: Apache-2.0
"""The log of exports: torch.onnx.enable_log and what belongs to it. It is off at first."""

from __future__ import annotations

import sys
from typing import Any

from ingot.onnx._globals import GLOBALS


def enable_log() -> None:
    GLOBALS.log = True


def disable_log() -> None:
    GLOBALS.log = False


def is_onnx_log_enabled() -> bool:
    return GLOBALS.log


def set_log_stream(stream_name: str = "stdout") -> None:
    """Where the log goes: "stdout" or "stderr"."""
    if stream_name not in ("stdout", "stderr"):
        raise RuntimeError(f"set_log_stream: only `stdout` and `stderr` are accepted, found {stream_name!r}")
    GLOBALS.log_stream = stream_name


def log(*args: Any) -> None:
    """Prints if the log is on."""
    if GLOBALS.log:
        print("".join(map(str, args)), file=getattr(sys, GLOBALS.log_stream))
