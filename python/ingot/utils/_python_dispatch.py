# SPDX-License-Identifier: Apache-2.0
"""__torch_dispatch__: modes that see the operators below autograd, and helpers for tensors that answer calls."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from ingot import _C
from ingot._C import Tensor

__all__ = ["BaseTorchDispatchMode", "TorchDispatchMode", "is_traceable_wrapper_subclass", "transform_subclass"]


class TorchDispatchMode:
    """`with mode:` every operator goes to mode.__torch_dispatch__(func, types, args, kwargs), which may call it.

    Inside the method the mode is not active; the modes outside of it are.
    """

    def __init__(self, _dispatch_key: Any = None) -> None:
        if _dispatch_key is not None:
            self._dispatch_key = _dispatch_key

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> TorchDispatchMode:
        _push_mode(self)
        return self

    def __exit__(self, *unused: Any) -> None:
        _pop_mode()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> TorchDispatchMode:
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls) -> bool:
        return False


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that makes the calls as they are."""

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        return func(*args, **(kwargs or {}))


def _push_mode(mode: TorchDispatchMode) -> None:
    _C._push_on_torch_dispatch_stack(mode)


def _pop_mode(k: Any = None) -> TorchDispatchMode:
    return _C._pop_torch_dispatch_stack()


@contextlib.contextmanager
def _pop_mode_temporarily(k: Any = None) -> Iterator[TorchDispatchMode]:
    mode = _pop_mode(k)
    try:
        yield mode
    finally:
        _push_mode(mode)


def _get_current_dispatch_mode() -> TorchDispatchMode | None:
    stack = _C._torch_dispatch_stack()
    return stack[-1] if stack else None


def _get_current_dispatch_mode_stack() -> list[TorchDispatchMode]:
    """The modes that are active, outermost first."""
    return _C._torch_dispatch_stack()


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    return _C._len_torch_dispatch_stack() > 0


@contextlib.contextmanager
def _disable_current_modes() -> Iterator[list[TorchDispatchMode]]:
    """A block without the modes that are active outside of it."""
    modes = [_pop_mode() for _ in range(_C._len_torch_dispatch_stack())][::-1]
    try:
        yield modes
    finally:
        for mode in modes:
            _push_mode(mode)


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Whether a tensor can be taken apart into the tensors that it holds, and put together again."""
    kind = type(t)
    answers = isinstance(t, Tensor) and kind is not Tensor
    return answers and hasattr(t, "__tensor_flatten__") and hasattr(kind, "__tensor_unflatten__")


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    whole = hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")
    return issubclass(t, Tensor) and t is not Tensor and whole


def transform_subclass(
    t: Any, callback: Callable[[str, Tensor], Tensor], outer_size: Any = None, outer_stride: Any = None
) -> Any:
    """A tensor like t that holds callback(name, inner) instead of its inner tensors."""
    outer_size = t.size() if outer_size is None else outer_size
    outer_stride = t.stride() if outer_stride is None else outer_stride
    names, context = t.__tensor_flatten__()
    inner = {name: callback(name, getattr(t, name)) for name in names}
    made = type(t).__tensor_unflatten__(inner, context, outer_size, outer_stride)
    if made.shape != outer_size:
        raise AssertionError(
            f"Expected return value from {type(t)}__tensor_unflatten__() to have shape equal to {outer_size}, "
            f"but got: {made.shape}"
        )
    if made.stride() != outer_stride:
        raise AssertionError(
            f"Expected return value from {type(t)}__tensor_unflatten__() to have stride equal to {outer_stride}, "
            f"but got: {made.stride()}"
        )
    return made


def _aliases(func: Any) -> list[tuple[int, int, bool]]:
    """(result, argument, written) for results that show an argument's memory."""
    schema = func._schema
    named = [(i, a.alias_info) for i, a in enumerate(schema.arguments) if a.alias_info is not None]
    found = []
    for r, ret in enumerate(schema.returns):
        for i, info in named:
            if ret.alias_info is not None and info.before_set & ret.alias_info.before_set:
                found.append((r, i, info.is_write))
    return found


def return_and_correct_aliasing(func: Any, args: tuple, kwargs: dict[str, Any], out: Any) -> Any:
    """What __torch_dispatch__ returns: where the operator returns an argument, the argument itself."""
    names = [a.name for a in func._schema.arguments]
    several = isinstance(out, (tuple, list)) and len(func._schema.returns) > 1
    results = list(out) if several else [out]
    for r, i, written in _aliases(func):
        if not written:
            continue
        given = args[i] if i < len(args) else kwargs.get(names[i])
        if given is not None and r < len(results) and isinstance(results[r], (Tensor, type(None))):
            results[r] = given
    return type(out)(results) if several else results[0]


def autograd_would_have_decomposed(func: Any, flat_args: Any) -> bool:
    """Whether the operator would have been taken apart before a mode sees it, had a gradient been needed."""
    grad = any(isinstance(a, Tensor) and a.requires_grad for a in flat_args)
    return grad and func._can_decompose() if hasattr(func, "_can_decompose") else False


class _DisableTorchDispatch:
    """A block in which neither modes nor tensors answer calls."""

    def __enter__(self) -> None:
        self._modes = [_pop_mode() for _ in range(_C._len_torch_dispatch_stack())][::-1]
        self._before = _C._set_torch_dispatch_enabled(False)

    def __exit__(self, *unused: Any) -> None:
        _C._set_torch_dispatch_enabled(self._before)
        for mode in self._modes:
            _push_mode(mode)
