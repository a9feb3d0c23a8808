# SPDX-License-Identifier: Apache-2.0
"""What compilers may ask about the compilation that calls them."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator
from typing import Any

__all__ = ["TracingContext", "detect_fake_mode", "tracing"]

_current: contextvars.ContextVar[TracingContext | None] = contextvars.ContextVar("tracing", default=None)


class TracingContext:
    """The compilation under way: fake_mode, and fw_metadata while AOT autograd calls a compiler."""

    def __init__(self, fake_mode: Any) -> None:
        self.fake_mode = fake_mode
        self.fw_metadata: Any = None
        self.params_flat: list | None = None

    @staticmethod
    def try_get() -> TracingContext | None:
        return _current.get()

    @staticmethod
    def get() -> TracingContext:
        found = _current.get()
        if found is None:
            raise RuntimeError("TracingContext.get() must be called within an ongoing trace.")
        return found


@contextlib.contextmanager
def tracing(context: TracingContext | None) -> Iterator[TracingContext | None]:
    """While the block runs, TracingContext.get() is `context`."""
    token = _current.set(context)
    try:
        yield context
    finally:
        _current.reset(token)


def detect_fake_mode(inputs: Any = None) -> Any:
    """The fake mode of a compilation under way, or of the first fake tensor among the inputs; None: there is none."""
    from ingot.utils._pytree import tree_leaves

    context = TracingContext.try_get()
    if context is not None and context.fake_mode is not None:
        return context.fake_mode
    for leaf in tree_leaves(inputs):
        mode = getattr(leaf, "fake_mode", None)
        if mode is not None:
            return mode
    return None
