# SPDX-License-Identifier: Apache-2.0
"""no_grad, enable_grad, set_grad_enabled, inference_mode: context managers and decorators over the modes of _C."""

from __future__ import annotations

from ingot import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _decorate(make: Callable, func: Callable) -> Callable:
    """func with its body (each step of it, if it is a generator) inside a fresh context."""
    import functools  # on demand: it is slow to import

    if isinstance(func, type):
        raise TypeError("cannot decorate a class with a grad mode; decorate its methods instead")
    code = getattr(func, "__code__", None)
    if code is None or not code.co_flags & 0x20:  # CO_GENERATOR; importing inspect would be slow

        @functools.wraps(func)
        def call(*args: Any, **kwargs: Any) -> Any:
            with make():
                return func(*args, **kwargs)

        return call

    @functools.wraps(func)
    def generate(*args: Any, **kwargs: Any) -> Any:
        generator = func(*args, **kwargs)
        step, value = generator.send, None
        while True:
            try:
                with make():
                    item = step(value)
            except StopIteration as stop:
                return stop.value
            try:
                value = yield item
                step = generator.send
            except GeneratorExit:
                with make():
                    generator.close()
                raise
            except BaseException as error:
                step, value = generator.throw, error

    return generate


class _Mode:
    """A context that sets the mode on entering and restores the previous one on leaving. Bare `@no_grad` works as
    well."""

    def __new__(cls, func: Any = None, *args: Any) -> Any:
        if callable(func) and not isinstance(func, bool):
            return _decorate(cls, func)
        return object.__new__(cls)

    def __call__(self, func: Callable) -> Callable:
        return _decorate(self.clone, func)

    def clone(self) -> _Mode:
        return type(self)()

    def __exit__(self, *unused: Any) -> None:
        _C._set_grad_enabled(self.before)


class no_grad(_Mode):
    """No gradients are recorded inside."""

    def __enter__(self) -> None:
        self.before = _C.is_grad_enabled()
        _C._set_grad_enabled(False)


class enable_grad(_Mode):
    """Gradients are recorded inside, even within no_grad."""

    def __enter__(self) -> None:
        self.before = _C.is_grad_enabled()
        _C._set_grad_enabled(True)


class set_grad_enabled(_Mode):
    """Sets the mode at once; as a context it restores the previous one when left."""

    def __new__(cls, mode: bool) -> Any:
        return object.__new__(cls)

    def __init__(self, mode: bool) -> None:
        self.mode = bool(mode)
        self.before = _C.is_grad_enabled()
        _C._set_grad_enabled(self.mode)

    def __call__(self, func: Callable) -> Callable:
        _C._set_grad_enabled(self.before)
        return super().__call__(func)

    def __enter__(self) -> None:
        _C._set_grad_enabled(self.mode)

    def clone(self) -> set_grad_enabled:
        return set_grad_enabled(self.mode)

    def __repr__(self) -> str:
        return f"set_grad_enabled(mode={self.mode})"


class inference_mode(_Mode):
    """As no_grad; what is made inside can never take part in recording gradients."""

    def __init__(self, mode: bool = True) -> None:
        self.mode = bool(mode)

    def __enter__(self) -> None:
        self.before = _C.is_inference_mode_enabled(), _C.is_grad_enabled()
        _C._set_inference_mode(self.mode)
        _C._set_grad_enabled(not self.mode)

    def __exit__(self, *unused: Any) -> None:
        inference, grad = self.before
        _C._set_inference_mode(inference)
        _C._set_grad_enabled(grad)

    def clone(self) -> inference_mode:
        return inference_mode(self.mode)
