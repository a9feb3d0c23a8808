# SPDX-License-Identifier: Apache-2.0
"""Logs by the names of components, through Python's logging."""
from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

__all__ = ["LazyString", "getArtifactLogger", "set_logs", "trace_structured", "warning_once"]

# Components of set_logs and their loggers.
_COMPONENTS = {
    "all": "torch",
    "aot": "torch._functorch",
    "dynamic": "torch.fx.experimental.symbolic_shapes",
    "dynamo": "torch._dynamo",
    "export": "torch.export",
    "fake_tensor": "torch._subclasses",
    "fx": "torch.fx",
    "onnx": "torch.onnx",
    "torch": "torch",
}


class LazyString:
    """A text that is made when it is logged."""

    def __init__(self, func: Callable, *args: Any, **kwargs: Any) -> None:
        self.func, self.args, self.kwargs = func, args, kwargs

    def __str__(self) -> str:
        return str(self.func(*self.args, **self.kwargs))


def getArtifactLogger(module_qname: str, artifact_name: str) -> logging.Logger:  # noqa: N802
    return logging.getLogger(f"{module_qname}.__{artifact_name}")


def set_logs(*, modules: dict[str, int] | None = None, **components: Any) -> None:
    """Levels of components (export=logging.DEBUG) and of modules by name; artifacts (guards=True) log everything."""
    for name, level in (modules or {}).items():
        logging.getLogger(name).setLevel(level)
    for name, level in components.items():
        if isinstance(level, bool):
            level = logging.DEBUG if level else logging.NOTSET
        if not isinstance(level, int):
            raise ValueError(f"Unrecognized log component or level: {name}={level!r}")
        logging.getLogger(_COMPONENTS.get(name, f"torch.__{name}")).setLevel(level)


def trace_structured(name: str, *args: Any, **kwargs: Any) -> None:
    """Events for the log of a compiler: the engine has `ingot show` instead."""


def warning_once(logger: logging.Logger, message: str, *args: Any, **kwargs: Any) -> None:
    """A warning that a logger gives once."""
    told = logger.__dict__.setdefault("_told_once", set())
    if message not in told:
        told.add(message)
        logger.warning(message, *args, **kwargs)
