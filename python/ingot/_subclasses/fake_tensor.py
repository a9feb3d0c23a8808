# SPDX-License-Identifier: Apache-2.0
"""FakeTensorMode: tensors made inside it have no elements; their sizes belong to its environment."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator
from typing import Any

from ingot import _C
from ingot._C import Tensor

__all__ = ["DataDependentOutputException", "DynamicOutputShapeException", "FakeTensor", "FakeTensorMode"]


class UnsupportedFakeTensorException(RuntimeError):
    pass


class DynamicOutputShapeException(RuntimeError):
    pass


class DataDependentOutputException(RuntimeError):
    pass


class UnsupportedOperatorException(RuntimeError):
    pass


class _IsFake(type):
    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, Tensor) and _C.env_of(value) is not None


class FakeTensor(metaclass=_IsFake):
    """isinstance(t, FakeTensor): does t belong to a FakeTensorMode? Only for isinstance, not for construction."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("a FakeTensor is made by FakeTensorMode.from_tensor, or by any operator inside the mode")


_MODES: weakref.WeakValueDictionary[int, FakeTensorMode] = weakref.WeakValueDictionary()


class FakeTensorMode:
    """Inside `with mode:` operators return fake tensors of this mode."""

    def __init__(
        self,
        *,
        allow_fallback_kernels: bool = True,
        allow_non_fake_inputs: bool = False,
        shape_env: Any = None,
        static_shapes: bool | None = None,
        export: bool = False,
    ) -> None:
        self.shape_env = shape_env
        self.allow_fallback_kernels = allow_fallback_kernels
        self.allow_non_fake_inputs = allow_non_fake_inputs
        self.static_shapes = shape_env is None if static_shapes is None else static_shapes
        self.export = export
        self._env = _C.ShapeEnv() if shape_env is None else shape_env
        self._sizes: dict[int, Any] = {}
        self._entered: list[Any] = []
        _MODES[self._env._key] = self

    def __enter__(self) -> FakeTensorMode:
        self._entered.append(_C.fake_mode_enter(self._env))
        return self

    def __exit__(self, *exc: Any) -> None:
        _C.fake_mode_exit(self._entered.pop())

    def from_tensor(
        self,
        tensor: Tensor,
        *,
        static_shapes: bool | None = None,
        source: Any = None,
        symbolic_context: Any = None,
        trace: bool = True,
    ) -> Tensor:
        """The fake tensor like `tensor`: the same one each time."""
        if isinstance(tensor, FakeTensor):
            if tensor.fake_mode is not self:
                raise AssertionError("Mixing fake modes NYI")
            return tensor
        found = getattr(tensor, "_fake_of", None)
        if found is not None and found[0] is self:
            return found[1]
        static = self.static_shapes if static_shapes is None else static_shapes
        if static or self.shape_env is None:
            fake = _C.fake_from_tensor(self._env, tensor, None if static else self._sizes)
        else:
            fake = self.shape_env._fake(tensor, source, symbolic_context)
        with contextlib.suppress(AttributeError):
            tensor._fake_of = (self, fake)
        return fake


def _mode_of(tensor: Tensor) -> FakeTensorMode:
    env = _C.env_of(tensor)
    if env is None:
        raise AttributeError("'Tensor' object has no attribute 'fake_mode'")
    mode = _MODES.get(env._key)
    if mode is None:
        from ingot.fx.experimental.symbolic_shapes import ShapeEnv

        mode = FakeTensorMode(shape_env=ShapeEnv._of(env))
    return mode


@contextlib.contextmanager
def unset_fake_temporarily() -> Iterator[None]:
    """Real tensors again."""
    token = _C.fake_mode_enter(None)
    try:
        yield
    finally:
        _C.fake_mode_exit(token)


def maybe_get_fake_mode(value: Any) -> FakeTensorMode | None:
    return value.fake_mode if isinstance(value, FakeTensor) else None
