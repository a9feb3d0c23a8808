# SPDX-License-Identifier: Apache-2.0
"""Parameters and buffers: tensors that a module knows by name."""

from __future__ import annotations

from typing import Any, NoReturn

import ingot
from ingot import _C
from ingot._C import Tensor, _disabled_torch_function_impl


class _ParameterMeta(type(Tensor)):
    def __instancecheck__(cls, instance: Any) -> bool:
        if super().__instancecheck__(instance):
            return True
        return cls is Parameter and isinstance(instance, Tensor) and getattr(instance, "_is_param", False)


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that a module lists among its parameters when it is assigned as an attribute."""

    __torch_function__ = _disabled_torch_function_impl

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        if data is None:
            data = ingot.empty(0)
        kind = type(data)
        if kind is Tensor or issubclass(kind, Parameter):
            plain = data.detach()
            if _C.compile_is_recording():  # a leaf is there before what is computed from it
                return _C.compile_aside(Tensor._make_subclass, (cls, plain, requires_grad), {}, True)
            return Tensor._make_subclass(cls, plain, requires_grad)
        own = data.detach().requires_grad_(requires_grad)
        if type(own) is not kind:
            raise RuntimeError(
                f"Creating a Parameter from an instance of type {kind.__name__} requires that detach() returns an "
                f"instance of the same type, but return type {type(own).__name__} was found instead. To use the type "
                "as a Parameter, please correct the detach() semantics defined by its __torch_dispatch__() "
                "implementation."
            )
        own._is_param = True
        return own

    def __deepcopy__(self, memo: dict) -> Parameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.detach().clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self, **options: Any) -> str:
        return "Parameter containing:\n" + super().__repr__(**options)

    def __reduce_ex__(self, protocol: int) -> tuple:
        return _rebuild, (type(self), self.detach(), self.requires_grad)


class _BufferMeta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)


class Buffer(metaclass=_BufferMeta):
    """Buffer(data) marks a tensor, so that it becomes a buffer of the module that it is assigned to."""

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Any:
        if data is None:
            data = ingot.empty(0)
        tensor = data.detach().requires_grad_(data.requires_grad)
        tensor.persistent = persistent
        tensor._is_buffer = True
        return tensor


def _rebuild(cls: type, data: Tensor, requires_grad: bool) -> Tensor:
    return cls(data, requires_grad)


def _rebuild_uninitialized(cls: type, requires_grad: bool, device: Any, dtype: Any) -> Tensor:
    return cls(requires_grad, device, dtype)


# What is allowed on a tensor without a shape: attributes, and conversions of its empty data.
_ALLOWED = frozenset(
    "__get__ __set__ __repr__ to cpu half float double bfloat16 is_floating_point is_complex requires_grad_ "
    "detach".split()
)


class UninitializedTensorMixin:
    """No shape yet; materialize() gives one and turns the object into its final class."""

    cls_to_become: type

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        self.data = ingot.empty(shape, device=device or self.device, dtype=dtype or self.dtype)
        self.__class__ = self.cls_to_become

    @property
    def shape(self) -> NoReturn:
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an "
            "uninitialized parameter into an initialized one. Call `forward` to initialize the parameters before "
            "accessing their attributes."
        )

    def size(self, *unused: Any) -> NoReturn:
        return self.shape

    def share_memory_(self) -> NoReturn:
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the "
            "parameters first."
        )

    def __repr__(self, **unused: Any) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol: int) -> tuple:
        return _rebuild_uninitialized, (type(self), self.requires_grad, self.device, self.dtype)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        if getattr(func, "__name__", "") in _ALLOWED:
            return _disabled_torch_function_impl(func, types, args, kwargs or {})
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {func}. This error happens when you are using a "
            f"`LazyModule` or explicitly manipulating `torch.nn.parameter.{cls.__name__}` objects. When using "
            f"LazyModules "
            "Call `forward` with a dummy batch to initialize the parameters before calling torch functions"
        )

    def __deepcopy__(self, memo: dict) -> Any:
        if id(self) not in memo:
            memo[id(self)] = _rebuild_uninitialized(type(self), self.requires_grad, self.device, self.dtype)
        return memo[id(self)]


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> UninitializedParameter:
        return Tensor._make_subclass(cls, ingot.empty(0, device=device, dtype=dtype), requires_grad)


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    cls_to_become = Tensor
    persistent = True
    _is_buffer = True

    def __new__(cls, requires_grad: bool = False, device: Any = None, dtype: Any = None) -> UninitializedBuffer:
        return Tensor._make_subclass(cls, ingot.empty(0, device=device, dtype=dtype), requires_grad)


def is_lazy(param: Any) -> bool:
    return isinstance(param, UninitializedTensorMixin)
