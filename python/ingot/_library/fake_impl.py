# SPDX-License-Identifier: Apache-2.0
"""Implementations on fake tensors and what they may ask for."""

from __future__ import annotations

import contextvars
import functools
from collections.abc import Callable
from typing import Any

import ingot
from ingot import _C
from ingot._library.utils import Kernel, RegistrationHandle

__all__ = ["FakeImplCtx", "FakeImplHolder", "get_ctx", "with_ctx"]


class FakeImplCtx:
    """What an implementation on fake tensors may ask for."""

    def __init__(self, op: Any) -> None:
        self._op = op

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> Any:
        """A new size that depends on data, at least min and at most max."""
        if isinstance(min, _C.SymInt) or isinstance(max, _C.SymInt):
            raise ValueError(
                f"ctx.new_dynamic_size(min={min}, max={max}): expected min and max to be statically known ints but "
                "got SymInt. This is not supported."
            )
        if min < 0:
            raise ValueError(
                f"ctx.new_dynamic_size(min={min}, ...): expected min to be greater than or equal to 0: this API can "
                "only create non-negative sizes."
            )
        if max is not None and max < min:
            raise ValueError(
                "Maximum value to constrain_as_size can't be less than the specified min value, received "
                f"min={min} and max={max}"
            )
        size = _C.new_unbacked()
        ingot.sym_constrain_range_for_size(size, min=min, max=max)
        return size

    def create_unbacked_symint(self, *, min: int = 2, max: int | None = None) -> Any:
        return self.new_dynamic_size(min=min, max=max)


class FakeImplHolder:
    """The function that register_fake was given for an operator, and where; kernel is None without one."""

    def __init__(self, qualname: str) -> None:
        self.qualname = qualname
        self.kernel: Kernel | None = None
        self.lib: Any = None

    def register(self, func: Callable, source: str) -> RegistrationHandle:
        """Sets the function; the handle takes it back. RuntimeError: there is one."""
        if self.kernel is not None:
            raise RuntimeError(
                f"register_fake(...): the operator {self.qualname} already has an fake impl registered at "
                f"{self.kernel.source}."
            )
        self.kernel = Kernel(func, source)

        def forget() -> None:
            self.kernel = None

        return RegistrationHandle(forget)


_current: contextvars.ContextVar[FakeImplCtx | None] = contextvars.ContextVar("fake_impl_ctx", default=None)


def with_ctx(op: Any, fn: Callable) -> Callable:
    """The implementation, for which get_ctx() answers while it runs."""

    @functools.wraps(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        token = _current.set(FakeImplCtx(op))
        try:
            return fn(*args, **kwargs)
        finally:
            _current.reset(token)

    return run


def get_ctx() -> FakeImplCtx | None:
    """For use inside a function given to register_fake; None outside of one."""
    return _current.get()
