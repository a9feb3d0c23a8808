# SPDX-License-Identifier: Apache-2.0
"""Compiled functions and modules."""

from __future__ import annotations

import functools
import inspect
import threading
import types
from collections.abc import Callable
from typing import Any

from ingot import _C, nn
from ingot._dynamo import config, exc
from ingot._dynamo.frames import Frame, Settings, _running_only, forget_all
from ingot._dynamo.where import catches

__all__ = [
    "OptimizedModule", "compile_callable", "compile_calls", "disable", "innermost_fn", "is_dynamo_supported", "reset",
    "run",
]  # fmt: skip

_shared: dict[tuple, Frame] = {}  # by code object and settings
_lock = threading.Lock()


def reset() -> None:
    """Forgets everything that was compiled, and all memory of sizes."""
    with _lock:
        _shared.clear()
    forget_all()


def is_dynamo_supported() -> bool:
    """Whether programs can be captured here: always."""
    return True


def innermost_fn(fn: Callable) -> Callable:
    """The function under the wrappers of torch.compile and disable."""
    while hasattr(fn, "_torchdynamo_orig_callable"):
        fn = fn._torchdynamo_orig_callable
    return fn


def _code_of(fn: Any) -> Any:
    """What compiled versions are shared by: the code object, or the object itself."""
    if isinstance(fn, nn.Module):
        fn = fn.forward
    while isinstance(fn, functools.partial):
        fn = fn.func
    fn = inspect.unwrap(fn) if hasattr(fn, "__wrapped__") else fn
    if isinstance(fn, types.MethodType):
        fn = fn.__func__
    if hasattr(fn, "__code__"):
        return fn.__code__
    call = inspect.getattr_static(type(fn), "__call__", None)
    return getattr(call, "__code__", fn)


def frame_of(fn: Any, settings: Settings) -> Frame:
    code = _code_of(getattr(fn, "__self__", fn) if getattr(fn, "__name__", "") == "_call_impl" else fn)
    key = (id(code), *settings.key())
    with _lock:
        frame = _shared.get(key)
        if frame is None:
            name = getattr(code, "co_name", None) or getattr(fn, "__name__", type(fn).__name__)
            line = getattr(code, "co_firstlineno", 0)
            frame = Frame(name, f"{getattr(code, 'co_filename', '?')}:{line}", settings)
            frame.code = code  # keeps the number of the key its own
            frame.handles = isinstance(code, types.CodeType) and catches(code)
            _shared[key] = frame
    return frame


def _is_left_alone(fn: Any) -> bool:
    """Generator and coroutine functions run as they are, and so does what was disabled."""
    target = fn.forward if isinstance(fn, nn.Module) else fn
    return (
        inspect.isgeneratorfunction(target) or inspect.iscoroutinefunction(target)
        or getattr(fn, "_torchdynamo_disable", False)
    )  # fmt: skip


class _Caller:
    """One compiled callable."""

    def __init__(self, fn: Any, settings: Settings) -> None:
        self.fn = fn
        self.settings = settings
        self.alone = _is_left_alone(fn)
        self.frame: Frame | None = None

    def __call__(self, args: tuple, kwargs: dict) -> Any:
        frame = self.frame
        if frame is None or _shared.get(frame.key) is not frame:
            frame = self.frame = frame_of(self.fn, self.settings)
            frame.key = (id(frame.code), *self.settings.key())
        if frame.eager or frame.skipped or config.disable or self.alone:
            if frame.eager and self.settings.fullgraph:
                raise exc.CacheLimitExceeded("cache_size_limit reached")
            return self.fn(*args, **kwargs)
        return run_compiled(frame, self.settings.fullgraph, self.fn, args, kwargs)

    def __deepcopy__(self, memo: dict) -> _Caller:
        import copy

        return _Caller(copy.deepcopy(self.fn, memo), self.settings)


def run_compiled(frame: Frame, whole: bool, fn: Callable, args: tuple, kwargs: dict) -> Any:
    kind = frame.kind_to_watch(args, kwargs) if frame.handles and not whole else None
    return frame.call(whole, config.capture_scalar_outputs, kind, fn, args, kwargs)


def compile_callable(fn: Any, settings: Settings) -> Any:
    """fn, compiled: a module becomes an OptimizedModule, a class compiles its instances' calls."""
    if isinstance(fn, OptimizedModule):
        fn = fn._orig_mod
    if isinstance(fn, nn.Module):
        return OptimizedModule(fn, _Caller(fn, settings))
    if not callable(fn):
        raise AssertionError(f"A callable function is expected, but {type(fn)} is provided.")
    if inspect.isclass(fn):
        return fn
    fn = innermost_fn(fn)
    caller = _Caller(fn, settings)

    def compiled(*args: Any, **kwargs: Any) -> Any:
        return caller(args, kwargs)

    if hasattr(fn, "__name__"):
        functools.update_wrapper(compiled, fn)
    compiled._torchdynamo_orig_callable = fn
    compiled._torchdynamo_inline = fn
    return compiled


def compile_calls(module: nn.Module, *args: Any, **kwargs: Any) -> Callable:
    """Module.compile(): what runs in the place of _call_impl."""
    from ingot._compile import compile as compiled

    return compiled(module._call_impl, *args, **kwargs)


class OptimizedModule(nn.Module):
    """The module, with its call compiled. Attributes are those of the module."""

    def __init__(self, mod: nn.Module, caller: Any) -> None:
        super().__init__()
        self._orig_mod = mod
        object.__setattr__(self, "_caller", caller)
        self.training = mod.training

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._caller(args, kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # The module's own call runs its hooks; those of the wrapper are rare.
        if self._forward_hooks or self._forward_pre_hooks or self._backward_hooks or self._backward_pre_hooks:
            return super().__call__(*args, **kwargs)
        return self._caller(args, kwargs)

    @property
    def training(self) -> bool:
        return self._orig_mod.training

    @training.setter
    def training(self, value: bool) -> None:
        module = self.__dict__.get("_modules", {}).get("_orig_mod")
        if module is not None:
            module.training = value

    def __getattr__(self, name: str) -> Any:
        module = self.__dict__.get("_modules", {}).get("_orig_mod")
        if module is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return module if name == "_orig_mod" else getattr(module, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "training" or name in type(self).__dict__ or "_orig_mod" not in self.__dict__.get("_modules", {}):
            object.__setattr__(self, name, value) if name == "training" else super().__setattr__(name, value)
        elif name == "_orig_mod":
            super().__setattr__(name, value)
            self._caller.fn = value
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)

    def __deepcopy__(self, memo: dict) -> OptimizedModule:
        import copy

        module = copy.deepcopy(self._orig_mod, memo)
        return OptimizedModule(module, _Caller(module, self._caller.settings))

    def __reduce__(self) -> Any:
        raise TypeError("a compiled module cannot be pickled: pickle its _orig_mod or its state_dict")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._orig_mod)})


def disable(fn: Any = None, recursive: bool = True) -> Any:
    """fn runs uncompiled, and if recursive also what it calls."""
    if fn is None:
        return functools.partial(disable, recursive=recursive)
    if isinstance(fn, nn.Module):
        fn.forward = disable(fn.forward, recursive=recursive)
        return fn
    if inspect.isclass(fn):
        fn.__init__ = disable(fn.__init__, recursive=recursive)
        return fn
    if not callable(fn):
        raise AssertionError(f"A callable function is expected, but {type(fn)} is provided.")
    fn = innermost_fn(fn)

    @functools.wraps(fn)
    def disabled(*args: Any, **kwargs: Any) -> Any:
        if not _C.compile_is_recording():
            return fn(*args, **kwargs) if not recursive else _without_compiling(fn, args, kwargs)
        return _C.compile_aside(fn, args, kwargs)

    disabled._torchdynamo_disable = True
    disabled._torchdynamo_orig_callable = fn
    return disabled


def _without_compiling(fn: Callable, args: tuple, kwargs: dict) -> Any:
    return fn(*args, **kwargs)


def run(fn: Any = None) -> Any:
    """fn uses what was compiled before and compiles nothing."""
    if fn is None:
        return run

    @functools.wraps(fn)
    def running(*args: Any, **kwargs: Any) -> Any:
        before = _running_only.on
        _running_only.on = True
        try:
            return fn(*args, **kwargs)
        finally:
            _running_only.on = before

    return running
