# SPDX-License-Identifier: Apache-2.0
"""The release of PyTorch whose defaults apply where releases differ."""
from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextvars import ContextVar
from typing import NamedTuple

from ingot import _C

__all__ = ["compat_level", "set_compat"]


class _Level(NamedTuple):
    """What a release does without being told."""

    version: str  # of torch.__version__
    strict: bool  # exports are strict
    functional: bool  # exports are functional: writes become outputs
    mixed_dims: bool  # dynamic_shapes may have both Dim.AUTO and a Dim; there is Dim.DYNAMIC
    rejects: bool  # nn.init.trunc_normal_ draws by rejection, not by the inverse of the distribution function


_LEVELS = {
    "2.5": _Level("2.5.1+ingot", strict=True, functional=True, mixed_dims=False, rejects=False),
    "2.13": _Level("2.13.0+ingot", strict=False, functional=False, mixed_dims=True, rejects=True),
}

# Every thread and every child process starts with the level of the environment.
_STANDARD: str = os.environ.get("INGOT_COMPAT") or "2.5"
if _STANDARD not in _LEVELS:
    _expected = ", ".join(_LEVELS)
    raise ImportError(f"INGOT_COMPAT: there is no compatibility level {_STANDARD!r}; expected one of {_expected}")
_current: ContextVar[str] = ContextVar("_compat", default=_STANDARD)
_C.set_draws(_STANDARD, True)


def compat_level() -> str:
    """The level in force: "2.5" or "2.13"."""
    return _current.get()


def level() -> _Level:
    return _LEVELS[_current.get()]


def _choose(name: str) -> None:
    _C.set_draws(name, False)  # first: what waits is computed at the level that it was called at
    _current.set(name)


def set_compat(name: str) -> contextlib.AbstractContextManager[None]:
    """Chooses the defaults of a release of PyTorch: "2.5", the standard, or "2.13", where torch.export.export is not
    strict and keeps writes, and some random numbers are drawn in another way. It holds in this thread from now on; as a
    context manager, until the block ends."""
    if name not in _LEVELS:
        raise ValueError(f"set_compat: there is no level {name!r}; expected one of {', '.join(_LEVELS)}")
    before = _current.get()
    _choose(name)

    @contextlib.contextmanager
    def until_left() -> Iterator[None]:
        try:
            yield
        finally:
            _choose(before)

    return until_left()
