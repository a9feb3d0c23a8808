# SPDX-License-Identifier: Apache-2.0
"""torch.overrides: __torch_function__ from Python, and modes that see every call."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import ingot
from ingot import _C

__all__ = [
    "BaseTorchFunctionMode", "TorchFunctionMode", "enable_reentrant_dispatch", "get_default_nowrap_functions",
    "get_ignored_functions", "get_overridable_functions", "handle_torch_function", "has_torch_function",
    "has_torch_function_unary", "has_torch_function_variadic", "is_tensor_like", "is_tensor_method_or_property",
    "resolve_name", "wrap_torch_function",
]  # fmt: skip


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether one of the arguments overrides calls, or a mode does."""
    if not _C._is_torch_function_enabled():
        return False
    return _C._len_torch_function_stack() > 0 or _C._has_torch_function(*relevant_args)


def has_torch_function_variadic(*relevant_args: Any) -> bool:
    return has_torch_function(relevant_args)


def has_torch_function_unary(relevant_arg: Any) -> bool:
    return has_torch_function((relevant_arg,))


def _overriding(relevant_args: Iterable[Any]) -> list[Any]:
    """The arguments to ask, subclasses before the classes they derive from, each class once."""
    found: list[Any] = []
    for arg in relevant_args:
        kind = type(arg)
        override = getattr(kind, "__torch_function__", None)
        if override is None or override is _C._disabled_torch_function_impl or any(type(f) is kind for f in found):
            continue
        at = next((i for i, other in enumerate(found) if issubclass(kind, type(other))), len(found))
        found.insert(at, arg)
    return found


def handle_torch_function(public_api: Callable, relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """What the innermost mode or the first argument that knows the function answers."""
    asked = _overriding(relevant_args)
    types = tuple(map(type, asked))
    if _C._len_torch_function_stack() > 0:
        mode = _C._pop_torch_function_stack()
        try:
            result = mode.__torch_function__(public_api, types, args, kwargs)
        finally:
            _C._push_on_torch_function_stack(mode)
        if result is not NotImplemented:
            return result
    for arg in asked:
        result = type(arg).__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    name = f"{public_api.__module__}.{public_api.__name__}"
    kinds = [type(arg) for arg in asked]
    raise TypeError(f"no implementation found for '{name}' on types that implement __torch_function__: {kinds}")


def wrap_torch_function(dispatcher: Callable) -> Callable:
    """A decorator: the arguments that `dispatcher` returns may override the function."""

    def decorate(func: Callable) -> Callable:
        import functools

        @functools.wraps(func)
        def call(*args: Any, **kwargs: Any) -> Any:
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(call, relevant, *args, **kwargs)
            return func(*args, **kwargs)

        return call

    return decorate


def is_tensor_like(inp: Any) -> bool:
    """A tensor, or an object whose class has __torch_function__."""
    return type(inp) is _C.Tensor or hasattr(inp, "__torch_function__")


def get_default_nowrap_functions() -> set[Any]:
    """Attributes whose results keep their class."""
    names = ("_base", "grad", "_grad")
    return {getattr(_C.Tensor, name).__get__ for name in names if hasattr(_C.Tensor, name)}


def get_ignored_functions() -> set[Any]:
    """Functions that cannot be overridden: they take no tensor, or make one."""
    names = """
        typename is_tensor is_storage set_default_device get_default_device set_default_dtype manual_seed initial_seed
        seed save load set_printoptions get_rng_state set_rng_state arange as_tensor empty eye full linspace logspace
        ones rand randn randint randperm range tensor zeros is_grad_enabled no_grad enable_grad set_grad_enabled
        inference_mode compile
    """
    return {getattr(ingot, name) for name in names.split() if hasattr(ingot, name)}


def get_overridable_functions() -> dict[Any, list[Any]]:
    """What __torch_function__ sees, by the namespace that it is in."""
    ignored = get_ignored_functions()
    found: dict[Any, list[Any]] = {}
    for space in (ingot, ingot.functional, ingot.nn.functional, ingot.nn.init, _C.Tensor, ingot.linalg, ingot.fft):
        for name in dir(space):
            value = getattr(space, name, None)
            if name.startswith("__") or not callable(value) or isinstance(value, type):
                continue
            if value not in ignored:
                found.setdefault(space, []).append(value)
    return found


def is_tensor_method_or_property(func: Callable) -> bool:
    """Whether the function is one of torch.Tensor."""
    return func in get_overridable_functions().get(_C.Tensor, ()) or getattr(func, "__name__", "") == "__get__"


def resolve_name(f: Any) -> str | None:
    """`torch.add`, `torch.Tensor.add`, ...: how a program writes the function."""
    for space, functions in get_overridable_functions().items():
        if f in functions:
            where = "torch.Tensor" if space is _C.Tensor else space.__name__.replace("ingot", "torch", 1)
            return f"{where}.{f.__name__}"
    return None


class TorchFunctionMode:
    """`with mode:` every call of a torch function goes to mode.__torch_function__(func, types, args, kwargs) first."""

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> TorchFunctionMode:
        _C._push_on_torch_function_stack(self)
        return self

    def __exit__(self, *unused: Any) -> None:
        _C._pop_torch_function_stack()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> TorchFunctionMode:
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that makes the calls as they are."""

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        return func(*args, **(kwargs or {}))


class enable_reentrant_dispatch:
    """A block in which __torch_dispatch__ may dispatch again, which it always may."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *unused: Any) -> None:
        return None
