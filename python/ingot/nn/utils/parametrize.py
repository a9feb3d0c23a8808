# SPDX-License-Identifier: Apache-2.0
"""Parameters that are computed: module.weight becomes a property that runs a list of modules on an original
parameter."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ingot
from ingot._C import Tensor
from ingot.nn.modules.container import ModuleDict, ModuleList
from ingot.nn.modules.module import Module
from ingot.nn.parameter import Parameter

_cache_depth = 0
_cache: dict[tuple[int, str], Tensor] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Inside, each parametrized tensor is computed once."""
    global _cache_depth
    _cache_depth += 1
    try:
        yield
    finally:
        _cache_depth -= 1
        if not _cache_depth:
            _cache.clear()


class ParametrizationList(ModuleList):
    """The modules that compute one tensor, and what they start from: original, or original0, original1, ... ."""

    def __init__(self, modules: Any, original: Tensor, unsafe: bool = False) -> None:
        super().__init__(modules)
        self.unsafe = unsafe
        new: Any = original
        with ingot.no_grad():
            for module in reversed(self):
                if not hasattr(module, "right_inverse"):
                    continue
                try:
                    new = module.right_inverse(new)
                except NotImplementedError:
                    pass
        self.is_tensor = isinstance(new, Tensor)
        values = [new] if self.is_tensor else list(new)
        names = ["original"] if self.is_tensor else [f"original{i}" for i in range(len(values))]
        self.ntensors = len(values)
        for name, value in zip(names, values):
            if isinstance(original, Parameter):
                if not isinstance(value, Parameter):
                    value = Parameter(value, requires_grad=original.requires_grad)
                setattr(self, name, value)
            else:
                self.register_buffer(name, value)
        if not unsafe:
            result = self()
            if not isinstance(result, Tensor) or result.shape != original.shape or result.dtype != original.dtype:
                raise ValueError(
                    "The forward pass of the parametrization has to return a tensor of the shape and dtype of the "
                    "original "
                    f"({original.shape}, {original.dtype})"
                )

    def _originals(self) -> list[Tensor]:
        if self.is_tensor:
            return [self.original]
        return [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals such that the result is value, if the modules can tell."""
        with ingot.no_grad():
            new: Any = value
            for module in reversed(self):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                new = module.right_inverse(new)
            for own, given in zip(self._originals(), [new] if self.is_tensor else new):
                own.data = given.detach().to(own.dtype)

    def forward(self) -> Tensor:
        if not len(self):
            return self._originals()[0]
        x = self[0](*self._originals())
        for module in list(self)[1:]:
            x = module(x)
        return x


def _property(name: str) -> property:
    def get(self: Module) -> Tensor:
        part = self.parametrizations[name]
        if not _cache_depth:
            return part()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = part()
        return _cache[key]

    def put(self: Module, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    return property(get, put)


def _own_class(module: Module) -> None:
    """A class of the module's own, so that properties can be put on it."""
    cls = type(module)

    def deepcopy_state(self: Module) -> Any:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(). See "
            "https://pytorch.org/docs/main/notes/serialization.html"
        )

    members = {"__getstate__": deepcopy_state, "_unparametrized_class": cls, "__deepcopy__": _deepcopy}
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), members)


def _deepcopy(self: Module, memo: dict) -> Module:
    import copy

    new = self.__new__(type(self))
    memo[id(self)] = new
    new.__dict__ = {key: copy.deepcopy(value, memo) for key, value in self.__dict__.items()}
    own = type(self)
    new.__class__ = type(own.__name__, own.__bases__, dict(own.__dict__))
    return new


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Let parametrization compute module.tensor_name from now on."""
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        module.parametrizations[tensor_name].append(parametrization)
        return module
    found = module._parameters.get(tensor_name, module._buffers.get(tensor_name))
    if found is None:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    part = ParametrizationList([parametrization], found, unsafe=unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        _own_class(module)
        module.parametrizations = ModuleDict()
    setattr(type(module), tensor_name, _property(tensor_name))
    module.parametrizations[tensor_name] = part
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether the tensor (any, if none is named) is computed."""
    parts = module.__dict__.get("_modules", {}).get("parametrizations")
    if not isinstance(parts, ModuleDict):
        return False
    return len(parts) > 0 if tensor_name is None else tensor_name in parts


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make the tensor a plain parameter (or buffer) again, with the computed or the original value."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    part = module.parametrizations[tensor_name]
    originals = part._originals()
    if leave_parametrized:
        with ingot.no_grad():
            value = part().detach().clone()
    elif part.is_tensor:
        value = originals[0].detach()
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of "
            "several."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if isinstance(originals[0], Parameter):
        module.register_parameter(tensor_name, Parameter(value, requires_grad=originals[0].requires_grad))
    else:
        module.register_buffer(tensor_name, value)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module)._unparametrized_class
    return module


def type_before_parametrizations(module: Module) -> type:
    return type(module)._unparametrized_class if is_parametrized(module) else type(module)
