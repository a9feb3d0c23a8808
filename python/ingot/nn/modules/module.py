# SPDX-License-Identifier: Apache-2.0
"""Module: a callable with named parameters, buffers and children.

The attribute names of the state (_parameters, _buffers, _modules, ...) and the error texts are PyTorch's, because
programs look at them. A call without hooks goes straight to forward."""

from __future__ import annotations

import functools
import itertools
import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import ingot
from ingot import _C
from ingot._bridge import adopt
from ingot._C import Tensor
from ingot.nn.parameter import Buffer, Parameter, is_lazy
from ingot.utils.hooks import HookDict, RemovableHandle

T = TypeVar("T", bound="Module")
_EXTRA_STATE = _EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _IncompatibleKeys(namedtuple("_IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    __slots__ = ()

    def __repr__(self) -> str:
        return super().__repr__() if self.missing_keys or self.unexpected_keys else "<All keys matched successfully>"

    __str__ = __repr__


# Hooks on every module

_KINDS = "parameter module buffer forward_pre forward forward_kwargs forward_always backward_pre backward"
_global = {kind: HookDict() for kind in _KINDS.split()}


def register_module_parameter_registration_hook(hook: Callable) -> RemovableHandle:
    """hook(module, name, parameter) -> None or another parameter, at every registration."""
    return _global["parameter"].add(hook)


def register_module_module_registration_hook(hook: Callable) -> RemovableHandle:
    return _global["module"].add(hook)


def register_module_buffer_registration_hook(hook: Callable) -> RemovableHandle:
    return _global["buffer"].add(hook)


def register_module_forward_pre_hook(hook: Callable) -> RemovableHandle:
    return _global["forward_pre"].add(hook)


def register_module_forward_hook(
    hook: Callable, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    marks = [_global[k] for k, wanted in (("forward_kwargs", with_kwargs), ("forward_always", always_call)) if wanted]
    return _global["forward"].add(hook, False, *marks)


def register_module_full_backward_pre_hook(hook: Callable) -> RemovableHandle:
    return _global["backward_pre"].add(hook)


def register_module_full_backward_hook(hook: Callable) -> RemovableHandle:
    return _global["backward"].add(hook)


def _registered(kind: str, module: Module, name: str, value: Any) -> Any:
    for hook in _global[kind].values():
        changed = hook(module, name, value)
        value = value if changed is None else changed
    return value


def observe(
    call: Callable | None, assign: Callable | None = None, load: Callable | None = None, /
) -> tuple[Callable | None, Callable | None, Callable | None]:
    """How a capture watches the modules that this thread uses; returns the observers before.

    call(module, call, args, kwargs) runs a module and has to return call(*args, **kwargs); assign(module, name, value)
    is asked before an attribute is assigned; load(module, name, member, kind) returns what a parameter, buffer or
    module that is read as an attribute gives. They hang on the modes of the thread, so that captures in other threads
    have their own.
    """
    watching = call is not None or assign is not None or load is not None
    return _C._set_module_observers((call, assign, load) if watching else None) or (None, None, None)


# Backward hooks


def _tap(tensors: list, callback: Callable) -> list:
    """Passes tensors through an identity function whose backward lets callback inspect and replace the gradients."""
    return ingot.autograd.function.identity_with_backward(tensors, callback)


class _BackwardHooks:
    """The full backward hooks of one call: the gradients of the outputs are captured first; the gradients of the inputs
    complete the module's part of the backward pass."""

    def __init__(self, module: Module, hooks: list, pre_hooks: list) -> None:
        self.module, self.hooks, self.pre_hooks = module, hooks, pre_hooks
        self.grad_outputs: tuple | None = None
        self.slots: list[int] = []
        self.count = 0

    def _pick(self, values: Any) -> tuple[list, list[int]]:
        slots = [i for i, v in enumerate(values) if isinstance(v, Tensor) and v.requires_grad]
        return [values[i] for i in slots], slots

    def inputs(self, args: tuple) -> tuple:
        self.count = len(args)
        if not self.hooks or not ingot.is_grad_enabled():
            return args
        tensors, self.slots = self._pick(args)
        new = list(args)
        for slot, tensor in zip(self.slots, _tap(tensors, self._on_inputs) if tensors else ()):
            new[slot] = tensor
        return tuple(new)

    def outputs(self, result: Any) -> Any:
        single = isinstance(result, Tensor)
        values = (result,) if single else result
        if not isinstance(values, (tuple, list)) or not ingot.is_grad_enabled():
            return result
        tensors, slots = self._pick(values)
        if not tensors:
            return result
        size = len(values)
        new = list(values)
        for slot, tensor in zip(slots, _tap(tensors, lambda grads: self._on_outputs(grads, slots, size))):
            new[slot] = tensor
        if single:
            return new[0]
        return type(values)(*new) if hasattr(values, "_fields") else type(values)(new)

    def _on_outputs(self, grads: tuple, slots: list[int], size: int) -> tuple:
        full: list = [None] * size
        for slot, grad in zip(slots, grads):
            full[slot] = grad
        outputs = tuple(full)
        for hook in self.pre_hooks:
            changed = hook(self.module, outputs)
            if changed is not None:
                outputs = _same_length("Backward pre hook", changed, size, "grad_output")
        self.grad_outputs = outputs
        if self.hooks and not self.slots:
            self._run((None,) * self.count)
        return tuple(outputs[slot] for slot in slots)

    def _on_inputs(self, grads: tuple) -> tuple:
        full: list = [None] * self.count
        for slot, grad in zip(self.slots, grads):
            full[slot] = grad
        inputs = self._run(tuple(full))
        return tuple(inputs[slot] for slot in self.slots)

    def _run(self, grad_inputs: tuple) -> tuple:
        for hook in self.hooks:
            changed = hook(self.module, grad_inputs, self.grad_outputs)
            if changed is not None:
                if not self.slots:
                    raise RuntimeError(
                        "Backward hook for Modules where no input requires gradient should always return None or "
                        "None for all gradients."
                    )
                grad_inputs = _same_length("Backward hook", changed, self.count, "grad_input")
        self.grad_outputs = None
        return grad_inputs


def _same_length(what: str, found: Any, size: int, name: str) -> tuple:
    found = found if isinstance(found, tuple) else (found,)
    if len(found) != size:
        raise RuntimeError(f"{what} returned an invalid number of {name}, got {len(found)}, but expected {size}")
    return found


# The class

_HOOKS = (
    "_backward_pre_hooks", "_backward_hooks", "_forward_hooks", "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called", "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs", "_state_dict_hooks", "_state_dict_pre_hooks", "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)  # fmt: skip


def _forward_unimplemented(self: Module, *input: Any) -> None:
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


class Module:
    """Base of all layers and models."""

    dump_patches = False
    _version = 1
    training: bool
    _compiled_call_impl: Callable | None = None  # Module.compile()
    call_super_init = False
    T_destination = TypeVar("T_destination", bound=dict[str, Any])

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init:
            if kwargs:
                raise TypeError(
                    f"{type(self).__name__}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'"
                )
            if args:
                raise TypeError(
                    f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given"
                )
        state = self.__dict__
        state.update(
            training=True, _parameters={}, _buffers={}, _non_persistent_buffers_set=set(), _is_full_backward_hook=None
        )
        for name in _HOOKS:
            state[name] = HookDict()
        state["_modules"] = {}
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # A value, not a method, to type checkers: subclasses choose their own arguments.
    forward: Callable[..., Any] = _forward_unimplemented

    # Registration

    def _check_name(self, kind: str, name: Any, taken_by: dict, got: bool = False) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {ingot.typename(name)}")
        if hasattr(self, name) and name not in taken_by:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."' + (f", got: {name}" if got else ""))
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_name("buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{ingot.typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = _registered("buffer", self, name, tensor)
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        if param is not None and _C.compile_is_whole():
            _C.compile_break("a module with parameters is made")  # they are no values of a graph
        self._check_name("parameter", name, self._parameters)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{ingot.typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None "
                f"required)"
            )
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. "
                f"To express '{name}' as a function "
                "of another Tensor, compute the value in the forward() method."
            )
        self._parameters[name] = _registered("parameter", self, name, param)

    def add_module(self, name: str, module: Module | None) -> None:
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{ingot.typename(module)} is not a Module subclass")
        self._check_name("module", name, self._modules, got=True)
        self._modules[name] = _registered("module", self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        self.add_module(name, module)

    def _descend(self, atoms: list[str]) -> Module:
        found: Any = self
        for atom in atoms:
            if not hasattr(found, atom):
                raise AttributeError(f"{found._get_name()} has no attribute `{atom}`")
            found = getattr(found, atom)
            if not isinstance(found, Module):
                raise AttributeError(f"`{atom}` is not an nn.Module")
        return found

    def get_submodule(self, target: str) -> Module:
        return self._descend(target.split(".")) if target else self

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Replaces the submodule at a dotted name; with strict, it has to exist."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        *path, last = target.split(".")
        parent = self._descend(path)
        if strict and not hasattr(parent, last):
            raise AttributeError(f"{parent._get_name()} has no attribute `{last}`")
        if hasattr(parent, last) and not isinstance(getattr(parent, last), Module):
            raise AttributeError(f"`{last}` is not an nn.Module")
        setattr(parent, last, module)

    def _get_member(self, target: str) -> tuple[Module, str, Any]:
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if not hasattr(owner, name):
            raise AttributeError(f"{owner._get_name()} has no attribute `{name}`")
        return owner, name, getattr(owner, name)

    def get_parameter(self, target: str) -> Parameter:
        _, name, found = self._get_member(target)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        owner, name, found = self._get_member(target)
        if name not in owner._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found

    def get_extra_state(self) -> Any:
        raise RuntimeError("Reached a code path in Module.get_extra_state() that should never be called.")

    def set_extra_state(self, state: Any) -> None:
        raise RuntimeError("Reached a code path in Module.set_extra_state() that should never be called.")

    # Attributes

    def __getattr__(self, name: str) -> Any:
        state = self.__dict__
        for kind in ("_parameters", "_buffers", "_modules"):
            members = state.get(kind)
            if members is not None and name in members:
                value = members[name]
                observer = _C._load_observer()
                return value if observer is None else observer(self, name, value, kind)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def _forget(self, name: str, *kinds: str) -> None:
        for kind in ("__dict__", *kinds):
            members = self.__dict__ if kind == "__dict__" else self.__dict__.get(kind)
            if members is None:
                continue
            if isinstance(members, set):
                members.discard(name)
            else:
                members.pop(name, None)

    def __setattr__(self, name: str, value: Any) -> None:
        observer = _C._assign_observer()
        if observer is not None:
            observer(self, name, value)
        state = self.__dict__
        params = state.get("_parameters")
        if isinstance(value, Parameter):
            if params is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, "_buffers", "_modules", "_non_persistent_buffers_set")
            self.register_parameter(name, value)
            return
        if params is not None and name in params:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{ingot.typename(value)}' as parameter '{name}' (torch.nn.Parameter or None "
                    f"expected)"
                )
            self.register_parameter(name, None)
            return
        modules = state.get("_modules")
        if isinstance(value, Module):
            if modules is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, "_parameters", "_buffers", "_non_persistent_buffers_set")
            modules[name] = _registered("module", self, name, value)
            return
        if modules is not None and name in modules:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{ingot.typename(value)}' as child module '{name}' (torch.nn.Module or None "
                    f"expected)"
                )
            modules[name] = _registered("module", self, name, value)
            return
        self._set_buffer_or_plain(name, value)

    def _set_buffer_or_plain(self, name: str, value: Any) -> None:
        buffers = self.__dict__.get("_buffers")
        known = buffers is not None and name in buffers
        if not known and not isinstance(value, Buffer):
            object.__setattr__(self, name, value)
            return
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(
                f"cannot assign '{ingot.typename(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None "
                f"expected)"
            )
        if buffers is None:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        if isinstance(value, Buffer):
            self._forget(name, "_parameters", "_modules")
            self.register_buffer(name, value, value.persistent)
        else:
            buffers[name] = _registered("buffer", self, name, value)

    def __delattr__(self, name: str) -> None:
        for kind in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__.get(kind, ()):
                del self.__dict__[kind][name]
                if kind == "_buffers":
                    self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        names = [*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers]
        return sorted(name for name in set(names) if not name[:1].isdigit())

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        for name in _HOOKS:
            self.__dict__.setdefault(name, HookDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self.__dict__.setdefault("_is_full_backward_hook", None)

    # Calling

    def register_forward_pre_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        return self._forward_pre_hooks.add(
            hook, prepend, *([self._forward_pre_hooks_with_kwargs] if with_kwargs else [])
        )

    def register_forward_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        marks = [self._forward_hooks_with_kwargs] if with_kwargs else []
        marks += [self._forward_hooks_always_called] if always_call else []
        return self._forward_hooks.add(hook, prepend, *marks)

    def register_full_backward_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        return self._backward_pre_hooks.add(hook, prepend)

    def register_full_backward_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        self._is_full_backward_hook = True
        return self._backward_hooks.add(hook, prepend)

    def register_backward_hook(self, hook: Callable) -> RemovableHandle:
        raise RuntimeError(
            "register_backward_hook: the non-full backward hooks are not supported. Please use "
            "register_full_backward_hook."
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        observer = _C._call_observer()
        if observer is not None:
            return observer(self, self._call_impl, args, kwargs)
        if self._compiled_call_impl is not None:
            return self._compiled_call_impl(*args, **kwargs)
        return self._call_impl(*args, **kwargs)

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        if not (
            self._forward_hooks
            or self._forward_pre_hooks
            or self._backward_hooks
            or self._backward_pre_hooks
            or _global["forward"]
            or _global["forward_pre"]
            or _global["backward"]
            or _global["backward_pre"]
        ):
            return self.forward(*args, **kwargs)
        called: set[int] = set()
        try:
            return self._call_with_hooks(args, kwargs, called)
        except Exception:
            self._always_called(args, kwargs, called)
            raise

    def _call_as(self, forward: Callable, args: tuple, kwargs: dict) -> Any:
        """Calls another function in place of forward, with the hooks around it."""
        called: set[int] = set()
        try:
            return self._call_with_hooks(args, kwargs, called, forward)
        except Exception:
            self._always_called(args, kwargs, called)
            raise

    def _call_with_hooks(self, args: tuple, kwargs: dict, called: set[int], forward: Callable | None = None) -> Any:
        for hooks, with_kwargs in (
            (_global["forward_pre"], ()),
            (self._forward_pre_hooks, self._forward_pre_hooks_with_kwargs),
        ):
            for key, hook in list(hooks.items()):
                args, kwargs = self._pre_hook(hook, args, kwargs, key in with_kwargs)
        watch = None
        backward = [*_global["backward"].values(), *self._backward_hooks.values()]
        backward_pre = [*_global["backward_pre"].values(), *self._backward_pre_hooks.values()]
        if backward or backward_pre:
            watch = _BackwardHooks(self, backward, backward_pre)
            args = watch.inputs(args)
        result = (forward or self.forward)(*args, **kwargs)
        for hooks, with_kwargs in (
            (_global["forward"], _global["forward_kwargs"]),
            (self._forward_hooks, self._forward_hooks_with_kwargs),
        ):
            for key, hook in list(hooks.items()):
                called.add(key)
                changed = hook(self, args, kwargs, result) if key in with_kwargs else hook(self, args, result)
                result = result if changed is None else changed
        return watch.outputs(result) if watch else result

    def _pre_hook(self, hook: Callable, args: tuple, kwargs: dict, with_kwargs: bool) -> tuple[tuple, dict]:
        if not with_kwargs:
            changed = hook(self, args)
            if changed is None:
                return args, kwargs
            return changed if isinstance(changed, tuple) else (changed,), kwargs
        changed = hook(self, args, kwargs)
        if changed is None:
            return args, kwargs
        if not (isinstance(changed, tuple) and len(changed) == 2):
            raise RuntimeError(
                f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {changed}."
            )
        return changed

    def _always_called(self, args: tuple, kwargs: dict, called: set[int]) -> None:
        for what, hooks, always, with_kwargs in (
            ("module forward hook", _global["forward"], _global["forward_always"], _global["forward_kwargs"]),
            (
                "module forward hook",
                self._forward_hooks,
                self._forward_hooks_always_called,
                self._forward_hooks_with_kwargs,
            ),
        ):
            for key, hook in list(hooks.items()):
                if key not in always or key in called:
                    continue
                try:
                    hook(self, args, kwargs, None) if key in with_kwargs else hook(self, args, None)
                except Exception as error:
                    warnings.warn(
                        f"{what} with ``always_call=True`` raised an exception that was silenced as another error "
                        f"was raised in forward: {error}",
                        stacklevel=2,
                    )

    # State

    def register_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        return self._state_dict_pre_hooks.add(hook)

    def register_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        handle = self._state_dict_hooks.add(hook)
        hook._from_public_api = True
        return handle

    def _register_state_dict_hook(self, hook: Callable) -> RemovableHandle:
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered via "
                "register_state_dict_post_hook"
            )
        return self._state_dict_hooks.add(hook)

    def register_load_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs) before
        loading."""
        return self._load_state_dict_pre_hooks.add(functools.partial(hook, self))

    def _register_load_state_dict_pre_hook(self, hook: Callable, with_module: bool = False) -> RemovableHandle:
        return self._load_state_dict_pre_hooks.add(functools.partial(hook, self) if with_module else hook)

    def register_load_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        return self._load_state_dict_post_hooks.add(hook)

    def _persistent_buffers(self) -> dict[str, Tensor | None]:
        return {k: v for k, v in self._buffers.items() if k not in self._non_persistent_buffers_set}

    def _save_to_state_dict(self, destination: dict, prefix: str, keep_vars: bool) -> None:
        for name, value in (*self._parameters.items(), *self._persistent_buffers().items()):
            if value is not None:
                destination[prefix + name] = value if keep_vars or is_lazy(value) else value.detach()
        if type(self).get_extra_state is not Module.get_extra_state:
            destination[prefix + _EXTRA_STATE] = self.get_extra_state()

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """All parameters and persistent buffers by dotted name."""
        if args:
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and prefix == "" else prefix
            keep_vars = args[2] if len(args) > 2 and keep_vars is False else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            changed = hook(self, destination, prefix, local_metadata)
            if getattr(hook, "_from_public_api", False):
                if changed is not None:
                    raise RuntimeError("state_dict post-hook must return None")
            elif changed is not None:
                destination = changed
        return destination

    def _load_tensor(self, key: str, name: str, current: Tensor, given: Any, assign: bool, errors: list[str]) -> None:
        if not isinstance(given, Tensor):
            errors.append(
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
                f"checkpoint but received {type(given)}"
            )
            return
        lazy = is_lazy(current)
        if not lazy and current.dim() == 0 and given.dim() == 1 and given.numel() == 1:
            given = given[0]  # a scalar that an old version stored with one dimension
        if not lazy and given.shape != current.shape:
            errors.append(
                f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, "
                f"the shape in current model is {current.shape}."
            )
            return
        if current.is_meta and not given.is_meta and not assign:
            warnings.warn(
                f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current "
                f"model, which is a no-op. "
                "(Did you mean to pass `assign=True` to assign items in the state dictionary to their corresponding "
                "key in the module instead of copying "
                "them in place?)",
                stacklevel=4,
            )
        try:
            with ingot.no_grad():
                if not assign:
                    current.copy_(given)
                elif isinstance(current, Parameter):
                    if not isinstance(given, Parameter):
                        given = Parameter(given, requires_grad=current.requires_grad)
                    else:
                        given.requires_grad_(current.requires_grad)
                    setattr(self, name, given)
                else:
                    setattr(self, name, given)
        except Exception as error:
            action = "swapping" if assign else "copying"
            errors.append(
                f'While {action} the parameter named "{key}", whose dimensions in the model are {current.size()} and '
                f"whose dimensions in the checkpoint are {given.size()}, an exception occurred : {error.args}."
            )

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict,
        strict: bool,
        missing_keys: list,
        unexpected_keys: list,
        error_msgs: list,
    ) -> None:
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        assign = local_metadata.get("assign_to_params_buffers", False)
        own = {k: v for k, v in (*self._parameters.items(), *self._persistent_buffers().items()) if v is not None}
        for name, current in own.items():
            key = prefix + name
            if key in state_dict:
                self._load_tensor(key, name, current, state_dict[key], assign, error_msgs)
            elif strict:
                missing_keys.append(key)
        extra = prefix + _EXTRA_STATE
        if type(self).set_extra_state is not Module.set_extra_state:
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra:
                    first, dot, _ = key[len(prefix) :].partition(".")
                    if (dot and first not in self._modules) or (not dot and first not in own):
                        unexpected_keys.append(key)

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Copies the values of state_dict into the parameters and buffers of the same names or, with assign, replaces
        these."""
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing: list[str] = []
        unexpected: list[str] = []
        errors: list[str] = []
        metadata = getattr(state_dict, "_metadata", None)
        values = OrderedDict(adopt(state_dict))
        if metadata is not None:
            values._metadata = metadata

        def load(module: Module, part: dict, prefix: str = "") -> None:
            local = {} if metadata is None else metadata.get(prefix[:-1], {})
            if assign:
                local = {**local, "assign_to_params_buffers": True}
            module._load_from_state_dict(part, prefix, local, True, missing, unexpected, errors)
            for name, child in module._modules.items():
                if child is not None:
                    inner = f"{prefix}{name}."
                    load(child, {k: v for k, v in part.items() if k.startswith(inner)}, inner)
            keys = _IncompatibleKeys(missing, unexpected)
            for hook in module._load_state_dict_post_hooks.values():
                if hook(module, keys) is not None:
                    raise AssertionError(
                        "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return "
                        "new values, if incompatible_keys need "
                        "to be modified, it should be done inplace."
                    )

        load(self, values)
        if strict:
            for what, keys in (("Missing", missing), ("Unexpected", unexpected)):
                if keys:
                    listed = ", ".join(f'"{k}"' for k in keys)
                    at = 0 if what == "Missing" else int(bool(missing))
                    errors.insert(at, f"{what} key(s) in state_dict: {listed}. ")
        if errors:
            listed = "\n\t".join(errors)
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{listed}")
        return _IncompatibleKeys(missing, unexpected)

    # Walking

    def _named_members(
        self, get: Callable, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator:
        # By identity, and held: scripts make the objects of their members when they are asked.
        seen: dict[int, Any] = {}
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for module_prefix, module in modules:
            for name, value in get(module):
                if value is None or id(value) in seen:
                    continue
                if remove_duplicate:
                    seen[id(value)] = value
                yield module_prefix + ("." if module_prefix else "") + name, value

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        for _, value in self.named_parameters(recurse=recurse):
            yield value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        yield from self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        for _, value in self.named_buffers(recurse=recurse):
            yield value

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        yield from self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def children(self) -> Iterator[Module]:
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        seen: set = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self) -> Iterator[Module]:
        for _, module in self.named_modules():
            yield module

    def named_modules(
        self, memo: set | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, prefix + ("." if prefix else "") + name, remove_duplicate)

    # Changing all of it

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Module:
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, param in self._parameters.items():
            if param is None:
                continue
            grad = param.grad
            with ingot.no_grad():
                self._parameters[name] = self._replaced(param, fn(param))
                if grad is not None:
                    self._parameters[name].grad = fn(grad).requires_grad_(grad.requires_grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    @staticmethod
    def _replaced(param: Parameter, new: Tensor) -> Parameter:
        """The same object with new values where its storage kind allows it, so that optimizers keep it."""
        if is_lazy(param) or type(param) is not Parameter or new.device.type == param.device.type:
            if param is not new:
                param.grad = None
                param.data = new.detach()
            return param
        return Parameter(new, param.requires_grad)

    def apply(self: T, fn: Callable[[Module], None]) -> T:
        """Calls fn on every module, children first."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _cast(self: T, dtype: Any) -> T:
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def float(self: T) -> T:
        return self._cast(ingot.float32)

    def double(self: T) -> T:
        return self._cast(ingot.float64)

    def half(self: T) -> T:
        return self._cast(ingot.float16)

    def bfloat16(self: T) -> T:
        return self._cast(ingot.bfloat16)

    def type(self: T, dst_type: Any) -> T:
        return self._apply(lambda t: t.type(dst_type))

    def cpu(self: T) -> T:
        return self._apply(lambda t: t.cpu())

    def cuda(self: T, device: Any = None) -> T:
        return self._apply(lambda t: t.cuda(device))

    def to_empty(self: T, *, device: Any, recurse: bool = True) -> T:
        return self._apply(lambda t: ingot.empty_like(t, device=device), recurse=recurse)

    def to(self: T, *args: Any, **kwargs: Any) -> T:
        """to(device), to(dtype), to(tensor), to(memory_format=...), and their combinations; integer tensors keep
        their dtype."""
        device, dtype, non_blocking, memory_format = _parse_to(args, kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )

        def convert(t: Tensor) -> Tensor:
            if t.is_meta and device is not None and ingot.device(device).type != "meta":
                raise NotImplementedError(
                    "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of "
                    "torch.nn.Module.to() when moving module from meta to a different device."
                )
            options: dict[str, Any] = {"non_blocking": non_blocking} if non_blocking else {}
            if device is not None:
                options["device"] = device
            if dtype is not None and (t.is_floating_point() or t.is_complex()):
                options["dtype"] = dtype
            if memory_format is not None and t.dim() in (4, 5):
                options["memory_format"] = memory_format
            return t.to(**options) if options else t

        return self._apply(convert)

    def train(self: T, mode: bool = True) -> T:
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self: T) -> T:
        return self.train(False)

    def requires_grad_(self: T, requires_grad: bool = True) -> T:
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        for param in self.parameters():
            if param.grad is None:
                continue
            if set_to_none:
                param.grad = None
            else:
                param.grad = ingot.zeros_like(param.grad)

    def share_memory(self: T) -> T:
        raise NotImplementedError(
            "Module.share_memory: Ingot has no shared-memory tensors; give the state_dict to the other process instead"
        )

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compiles the calls of this module, in place; see torch.compile."""
        from ingot._dynamo.eval_frame import compile_calls

        object.__setattr__(self, "_compiled_call_impl", compile_calls(self, *args, **kwargs))

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "_compiled_call_impl"}

    # Printing

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {_indent(repr(module))}" for name, module in self._modules.items()]
        if len(lines) == 1 and not children:
            return f"{self._get_name()}({lines[0]})"
        if not lines and not children:
            return f"{self._get_name()}()"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines + children) + "\n)"


def _indent(text: str, by: int = 2) -> str:
    return text.replace("\n", "\n" + " " * by)


_addindent = _indent


def _parse_to(args: tuple, kwargs: dict) -> tuple:
    """(device, dtype, non_blocking, memory_format) of the overloads of Tensor.to."""
    found: dict[str, Any] = {"device": None, "dtype": None, "non_blocking": False, "memory_format": None}
    unknown = set(kwargs) - {*found, "copy", "tensor", "other"}
    if unknown:
        raise TypeError(f"to() received an invalid keyword argument {sorted(unknown)[0]!r}")
    args = (*args, *(kwargs.pop(k) for k in ("tensor", "other") if k in kwargs))
    rest = list(args)
    if rest and isinstance(rest[0], Tensor):
        found["device"], found["dtype"] = rest[0].device, rest.pop(0).dtype
    elif rest and isinstance(rest[0], ingot.dtype):
        found["dtype"] = rest.pop(0)
    elif rest and (isinstance(rest[0], (str, int, ingot.device)) or rest[0] is None):
        device = rest.pop(0)
        found["device"] = None if device is None else ingot.device(device)
        if rest and (isinstance(rest[0], ingot.dtype) or rest[0] is None):
            found["dtype"] = rest.pop(0)
    if rest and isinstance(rest[0], bool):
        found["non_blocking"] = rest.pop(0)
        del rest[:1]  # copy: a module is always converted in place
    if rest:
        raise TypeError(
            f"to() received an invalid combination of arguments: {rest[0]!r} is neither device, dtype nor tensor"
        )
    found.update((k, v) for k, v in kwargs.items() if k in found and v is not None)
    if found["device"] is not None:
        found["device"] = ingot.device(found["device"])
    return found["device"], found["dtype"], found["non_blocking"], found["memory_format"]


def named_tensors(module: Module) -> Iterator[tuple[str, Tensor]]:
    """Parameters and buffers by dotted name."""
    return itertools.chain(module.named_parameters(), module.named_buffers())
