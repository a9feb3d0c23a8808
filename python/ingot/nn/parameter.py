# SPDX-License-Identifier: Apache-2.0
"""Parameters and buffers: tensors that a module knows by name."""

from __future__ import annotations

from typing import Any, NoReturn

import ingot
from ingot._C import Tensor


class Parameter(Tensor):
    """A tensor that a module lists among its parameters when it is assigned as an attribute."""

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        if data is None:
            data = ingot.empty(0)
        return Tensor._make_subclass(cls, data.detach(), requires_grad)

    def __deepcopy__(self, memo: dict) -> Parameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.detach().clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self, **options: Any) -> str:
        return "Parameter containing:\n" + super().__repr__(**options)

    def __reduce_ex__(self, protocol: int) -> tuple:
        return _rebuild, (type(self), self.detach(), self.requires_grad)


class Buffer(Tensor):
    """A tensor that becomes a buffer of the module when it is assigned as an attribute."""

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Buffer:
        if data is None:
            data = ingot.empty(0)
        self = Tensor._make_subclass(cls, data.detach(), data.requires_grad)
        self.persistent = persistent
        return self

    def __deepcopy__(self, memo: dict) -> Buffer:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.detach().clone(), persistent=self.persistent)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: int) -> tuple:
        return _rebuild_buffer, (type(self), self.detach(), self.persistent)


def _rebuild(cls: type, data: Tensor, requires_grad: bool) -> Tensor:
    return cls(data, requires_grad)


def _rebuild_buffer(cls: type, data: Tensor, persistent: bool) -> Tensor:
    return cls(data, persistent=persistent)


def _rebuild_uninitialized(cls: type, requires_grad: bool, device: Any, dtype: Any) -> Tensor:
    return cls(requires_grad, device, dtype)


class UninitializedTensorMixin:
    """No shape yet; materialize() gives one and turns the object into its final class."""

    cls_to_become: type

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        self.data = ingot.empty(shape, device=device or self.device, dtype=dtype or self.dtype)
        self.__class__ = self.cls_to_become

    @property
    def shape(self) -> NoReturn:
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` when trying to load an "
            "uninitialized parameter into an initialized one. Call `forward` to initialize the parameters before accessing their attributes."
        )

    def size(self, *unused: Any) -> NoReturn:
        return self.shape

    def share_memory_(self) -> NoReturn:
        raise RuntimeError("Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters first.")

    def __repr__(self, **unused: Any) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol: int) -> tuple:
        return _rebuild_uninitialized, (type(self), self.requires_grad, self.device, self.dtype)

    def __deepcopy__(self, memo: dict) -> Any:
        if id(self) not in memo:
            memo[id(self)] = _rebuild_uninitialized(type(self), self.requires_grad, self.device, self.dtype)
        return memo[id(self)]


def _refuse(name: str) -> Any:
    def method(self: Any, *unused: Any, **options: Any) -> NoReturn:
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {name}. This error happens when you are using a `LazyModule` or explicitly manipulating "
            f"`torch.nn.parameter.{type(self).__name__}` objects. When using LazyModules Call `forward` with a dummy batch to initialize the parameters "
            "before calling torch functions"
        )

    return method


for _name in "add sub mul truediv floordiv mod pow matmul radd rsub rmul rtruediv rpow rmatmul neg abs getitem setitem len iter lt le gt ge".split():
    setattr(UninitializedTensorMixin, f"__{_name}__", _refuse(_name))
del _name


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> UninitializedParameter:
        return Tensor._make_subclass(cls, ingot.empty(0, device=device, dtype=dtype), requires_grad)


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    cls_to_become = Buffer
    persistent = True

    def __new__(cls, requires_grad: bool = False, device: Any = None, dtype: Any = None) -> UninitializedBuffer:
        return Tensor._make_subclass(cls, ingot.empty(0, device=device, dtype=dtype), requires_grad)


def is_lazy(param: Any) -> bool:
    return isinstance(param, UninitializedTensorMixin)
