# SPDX-License-Identifier: Apache-2.0
"""torch._custom_ops: custom operators by name, the interface of PyTorch 2.1; torch.library replaced it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ingot._custom_op import impl as _impl
from ingot._custom_op.impl import infer_schema, parse_qualname, validate_namespace
from ingot.library import get_ctx

__all__ = ["custom_op", "get_ctx", "impl", "impl_abstract", "impl_backward", "impl_save_for_backward"]


def custom_op(qualname: str, func_or_schema: Callable | str | None = None) -> Any:
    """Defines an operator by a schema, or by an annotated function (as a decorator)."""
    namespace, name = parse_qualname(qualname)
    validate_namespace(namespace)

    def define(func: Callable) -> Callable:
        if not inspect.isfunction(func):
            raise ValueError(f"custom_op(...): Expected `func` to be a Python function, got: {type(func)}")
        if func.__name__ != name:
            raise ValueError(
                f"custom_op(qualname='{qualname}', ...)(func): expected `func` to have name '{name}' but got "
                f"'{func.__name__}'. Please either change the name of `func` or the qualname that is passed to "
                "`custom_op`"
            )
        _impl._make(qualname, infer_schema(func, mutates_args=()))
        return func

    if func_or_schema is None:
        return define
    if isinstance(func_or_schema, str):
        return _impl._make(qualname, func_or_schema) and None
    return define(func_or_schema)


def _registered(make: Callable, func: Callable | None) -> Any:
    return make if func is None else make(func)


def impl(qualname: str, *, device_types: str | Sequence[str] = ("cpu", "cuda"), func: Callable | None = None) -> Any:
    """The kernel for some devices."""

    def register(f: Callable) -> Callable:
        return _impl._find_custom_op(qualname).impl(device_types, _stacklevel=3)(f)

    return _registered(register, func)


def impl_abstract(qualname: str, *, func: Callable | None = None) -> Any:
    """The results for fake tensors."""
    from ingot.library import register_fake

    return register_fake(qualname, func, _stacklevel=2)


def impl_save_for_backward(qualname: str, *, func: Callable | None = None) -> Any:
    """What the formula needs: func(inputs, output)."""

    def register(f: Callable) -> Callable:
        return _impl._find_custom_op(qualname).impl_save_for_backward(_stacklevel=3)(f)

    return _registered(register, func)


def impl_backward(
    qualname: str, output_differentiability: Sequence[bool] | None = None, *, func: Callable | None = None
) -> Any:
    """The formula: func(ctx, saved, *grads) returns {argument: gradient}."""

    def register(f: Callable) -> Callable:
        op = _impl._find_custom_op(qualname)
        return op.impl_backward(output_differentiability, _stacklevel=3)(f)

    return _registered(register, func)


def _destroy(qualname: str) -> None:
    """Removes an operator."""
    _impl._find_custom_op(qualname)._destroy()
