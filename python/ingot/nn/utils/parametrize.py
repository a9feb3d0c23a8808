# SPDX-License-Identifier: Apache-2.0
"""torch.nn.utils.parametrize: a parameter that is computed from others whenever it is read."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ingot._C import Tensor
from ingot._modes import no_grad
from ingot.nn.modules.container import ModuleDict, ModuleList
from ingot.nn.modules.module import Module
from ingot.nn.parameter import Parameter

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
    "transfer_parametrizations_and_params", "type_before_parametrizations",
]  # fmt: skip

# What parametrized tensors were computed in the block of cached(); None outside of it.
_cache: ContextVar[dict | None] = ContextVar("_cache", default=None)


@contextmanager
def cached() -> Iterator[None]:
    """Parametrized tensors are computed once in this block."""
    outer = _cache.get()
    token = _cache.set({} if outer is None else outer)
    try:
        yield
    finally:
        _cache.reset(token)


def _register_parameter_or_buffer(module: Module, name: str, value: Tensor) -> None:
    if isinstance(value, Parameter):
        module.register_parameter(name, value)
    else:
        module.register_buffer(name, value)


def _maybe_set(target: Tensor, source: Tensor) -> None:
    """The elements of source in target, as its memory if the sizes differ."""
    if target.shape == source.shape and target.dtype == source.dtype:
        with no_grad():
            target.copy_(source)
    else:
        target.data = source


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor and the tensors that it is computed from: `original`, or `original0`, ..."""

    def __init__(self, modules: Sequence[Module], original: Tensor | Parameter, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        before_shape, before_dtype = original.shape, original.dtype
        with no_grad():
            new: Any = original
            for module in reversed(self):
                if hasattr(module, "right_inverse"):
                    try:
                        new = module.right_inverse(new)
                    except NotImplementedError:
                        pass
        if not isinstance(new, (Tensor, Sequence)):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(new).__name__}"
            )
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            if original.dtype != new.dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                    f"original.dtype: {original.dtype}\nright_inverse(original).dtype: {new.dtype}"
                )
            if original.device != new.device:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the device.\n"
                    f"original.device: {original.device}\nright_inverse(original).device: {new.device}"
                )
            _maybe_set(original, new)
            _register_parameter_or_buffer(self, "original", original)
        else:
            for i, value in enumerate(new):
                if not isinstance(value, Tensor):
                    raise ValueError(
                        f"'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                        f"Got element {i} of the sequence with type {type(value).__name__}."
                    )
                if isinstance(original, Parameter):
                    value = Parameter(value, original.requires_grad)
                value.requires_grad_(original.requires_grad)
                _register_parameter_or_buffer(self, f"original{i}", value)
        if not self.unsafe:
            made = self()
            if not isinstance(made, Tensor):
                raise ValueError(f"A parametrization must return a tensor. Got {type(made).__name__}.")
            if made.dtype != before_dtype:
                raise ValueError(
                    "Registering a parametrization may not change the dtype of the tensor, unless `unsafe` flag is "
                    f"enabled.\nunparametrized dtype: {before_dtype}\nparametrized dtype: {made.dtype}"
                )
            if made.shape != before_shape:
                raise ValueError(
                    "Registering a parametrization may not change the shape of the tensor, unless `unsafe` flag is "
                    f"enabled.\nunparametrized shape: {before_shape}\nparametrized shape: {made.shape}"
                )

    def right_inverse(self, value: Tensor) -> None:
        """Change the originals so that they give the value."""
        with no_grad():
            new: Any = value
            for module in reversed(self):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                new = module.right_inverse(new)
            if self.is_tensor:
                if not isinstance(new, Tensor):
                    raise ValueError(f"`right_inverse` should return a tensor. Got {type(new).__name__}")
                _maybe_set(self.original, new)
                return
            if not isinstance(new, Sequence):
                raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(new)}.")
            if len(new) != self.ntensors:
                raise ValueError(
                    f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of "
                    f"length {len(new)}."
                )
            for i, tensor in enumerate(new):
                _maybe_set(getattr(self, f"original{i}"), tensor)

    def forward(self) -> Tensor:
        inputs = (
            (self.original,) if self.is_tensor else tuple(getattr(self, f"original{i}") for i in range(self.ntensors))
        )
        first, *rest = self
        value = first(*inputs)
        for module in rest:
            value = module(value)
        return value


def _inject_new_class(module: Module) -> None:
    """A class of its own for the module, so that properties can be set on it alone."""
    cls = module.__class__

    def default_deepcopy(self: Module, memo: dict) -> Module:
        found = memo.get(id(self))
        if found is not None:
            return found
        replica = self.__new__(self.__class__)
        memo[id(self)] = replica
        replica.__dict__ = copy.deepcopy(self.__dict__, memo)
        return replica

    def getstate(self: Module) -> Any:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(). See:\n"
            "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
            "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
        )

    members: dict[str, Any] = {"__getstate__": getstate}
    if not hasattr(cls, "__deepcopy__"):
        members["__deepcopy__"] = default_deepcopy
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), members)


def _inject_property(module: Module, tensor_name: str) -> None:
    def compute(self: Module) -> Tensor:
        cache = _cache.get()
        if cache is None:
            return self.parametrizations[tensor_name]()
        key = (id(self), tensor_name)
        if key not in cache:
            cache[key] = self.parametrizations[tensor_name]()
        return cache[key]

    def assign(self: Module, value: Tensor) -> None:
        self.parametrizations[tensor_name].right_inverse(value)

    setattr(module.__class__, tensor_name, property(compute, assign))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """module.tensor_name is from now on what the parametrization computes from it."""
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            before = getattr(module, tensor_name)
            after = parametrization(before)
            if not isinstance(after, Tensor):
                raise ValueError(f"A parametrization must return a tensor. Got {type(after).__name__}.")
            if after.dtype != before.dtype or after.shape != before.shape:
                raise ValueError(
                    "Registering a parametrization may not change the "
                    + ("dtype" if after.dtype != before.dtype else "shape")
                    + " of the tensor, unless the `unsafe` flag is enabled.\n"
                    f"module.{tensor_name}: {before.dtype}, {before.shape}\n"
                    f"parametrization(module.{tensor_name}): {after.dtype}, {after.shape}"
                )
        module.parametrizations[tensor_name].append(parametrization)
        module.parametrizations[tensor_name].unsafe |= unsafe
        return module
    if tensor_name not in module._buffers and tensor_name not in module._parameters:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    original = getattr(module, tensor_name)
    made = ParametrizationList([parametrization], original, unsafe=unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        _inject_new_class(module)
        module.parametrizations = ModuleDict()
    _inject_property(module, tensor_name)
    module.parametrizations[tensor_name] = made
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether the module (or that tensor of it) is parametrized."""
    found = getattr(module, "parametrizations", None)
    if found is None or not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """The tensor is a parameter again: what it was computed as, or its original."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations = module.parametrizations[tensor_name]
    if parametrizations.is_tensor:
        original = parametrizations.original
        if leave_parametrized:
            with no_grad():
                value = getattr(module, tensor_name)
            with no_grad():
                original.set_(value) if original.shape != value.shape else original.copy_(value)
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        first = parametrizations.original0
        original = Parameter(value.detach()) if isinstance(first, Parameter) else value
        original.requires_grad_(first.requires_grad)
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
            "sequence of tensors."
        )
    delattr(module.__class__, tensor_name)
    del module.parametrizations[tensor_name]
    _register_parameter_or_buffer(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = module.__class__.__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class that the module had before it was parametrized."""
    return module.__class__.__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Give the parametrizations of one module, and the parameters that they need, to another."""
    if not is_parametrized(from_module):
        return to_module
    names = list(from_module.parametrizations) if tensor_name is None else [tensor_name]
    for name in names:
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in from_module.parametrizations[name]:
            register_parametrization(to_module, name, parametrization)
        source = from_module.parametrizations[name]
        if hasattr(source, "original"):
            to_module.parametrizations[name].original = source.original
        else:
            for i in range(source.ntensors):
                setattr(to_module.parametrizations[name], f"original{i}", getattr(source, f"original{i}"))
    return to_module
