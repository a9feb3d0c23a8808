# SPDX-License-Identifier: Apache-2.0
"""torch.jit.script and the objects that it gives."""

from __future__ import annotations

import copy
import functools
import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any

import ingot
from ingot import _C, nn
from ingot.jit import _classes, _compile, _front, _marks, _module

ScriptFunction = _C.ScriptFunction


# ---- modules


class _Parts:
    """Parameters or buffers of a script module, as nn.Module keeps them: names to values that the script holds."""

    def __init__(self, owner: Any, rows: Callable[[], list]) -> None:
        self._owner = owner
        self._rows = rows

    def items(self) -> list:
        return self._rows()

    def keys(self) -> list[str]:
        return [name for name, _ in self._rows()]

    def values(self) -> list:
        return [value for _, value in self._rows()]

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self._rows())

    def __contains__(self, name: object) -> bool:
        return name in self.keys()

    def __getitem__(self, name: str) -> Any:
        return dict(self._rows())[name]

    def get(self, name: str, default: Any = None) -> Any:
        return dict(self._rows()).get(name, default)

    def __setitem__(self, name: str, value: Any) -> None:
        self._owner.setattr(name, value)

    def copy(self) -> dict:
        return dict(self._rows())


class ScriptModule(nn.Module):
    """A module whose methods are scripts. A subclass marks its methods with script_method."""

    def __init__(self) -> None:
        super().__init__()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        methods = {name: found.function for name, found in vars(cls).items() if isinstance(found, _Method)}
        if not methods:
            return
        inherited = getattr(cls, "_script_methods", {})
        cls._script_methods = {**inherited, **methods}
        for name in methods:
            setattr(cls, name, methods[name])
        original = cls.__init__

        @functools.wraps(original)
        def init(self: Any, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            if type(self) is cls:
                _become_script(self, cls._script_methods)

        cls.__init__ = init


def _become_script(module: Any, methods: dict[str, Callable]) -> None:
    """A module whose constructor is done: its state goes into an object of the script."""
    classes = _module.Classes()
    kind = _module.kind_of(module, classes)
    cpp = _instance(module, kind, classes)
    kind.compile(methods)
    original = type(module).__name__
    module.__class__ = type(original, (RecursiveScriptModule, type(module)), {"_original": original})
    _install(module, cpp, original)


class _Method:
    """What @script_method makes of a method until its class is made."""

    def __init__(self, function: Callable) -> None:
        self.function = function


def script_method(function: Callable) -> Any:
    """A method of a subclass of ScriptModule that is compiled."""
    return _Method(function)


def _install(module: Any, cpp: Any, original: str) -> None:
    state = module.__dict__
    hidden = ("_parameters", "_buffers", "_modules")
    for name in [key for key in state if key not in _module._INTERNAL or key in hidden]:
        del state[name]
    state["_c"] = cpp
    state["_original_name"] = original
    children = {name: wrap(child) for name, child in cpp._modules()}
    state["_modules"] = children
    state["_parameters"] = _Parts(cpp, cpp._parameters)
    state["_buffers"] = _Parts(cpp, cpp._buffers)


class RecursiveScriptModule(ScriptModule):
    """A module that torch.jit.script made, or that was read from an archive."""

    def __init__(self, cpp: Any, original: str) -> None:
        nn.Module.__init__(self)
        _install(self, cpp, original)

    @property
    def original_name(self) -> str:
        return self.__dict__["_original_name"]

    @property
    def forward(self) -> Any:
        return self._c._get_method("forward")

    @property
    def graph(self) -> Any:
        return self.forward.graph

    @property
    def inlined_graph(self) -> Any:
        return self.forward.inlined_graph

    @property
    def code(self) -> str:
        return self.forward.code

    @property
    def code_with_constants(self) -> tuple:
        return self.forward.code_with_constants

    def graph_for(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward.graph_for(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        state = self.__dict__
        if "_c" not in state:
            return super().__getattr__(name)
        if name in state["_modules"]:
            return state["_modules"][name]
        cpp = state["_c"]
        if cpp.hasattr(name):
            return cpp.getattr(name)
        if cpp._has_method(name):
            return cpp._get_method(name)
        constant = cpp._constant(name)
        if constant is not None:
            return constant[0]
        getter = f"__{name}_getter"
        if cpp._has_method(getter):
            return cpp._get_method(getter)()
        kept = state.get("_python", {})
        if name in kept:
            return kept[name]
        raise AttributeError(f"'RecursiveScriptModule' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        cpp = self.__dict__.get("_c")
        if cpp is None or name in self.__dict__:
            object.__setattr__(self, name, value)
        elif name in self.__dict__["_modules"]:
            inner = getattr(value, "_c", None)
            if inner is None:
                raise RuntimeError(f"Cannot re-assign modules in a ScriptModule with non-scripted module, tried to "
                                   f"replace existing module '{name}': {value}")  # fmt: skip
            cpp.setattr(name, inner)
            self.__dict__["_modules"][name] = value
        elif cpp.hasattr(name):
            cpp.setattr(name, value.value if isinstance(value, _marks.Attribute) else value)
        elif cpp._has_method(f"__{name}_setter"):
            cpp._get_method(f"__{name}_setter")(value)
        elif cpp._constant(name) is not None:
            raise AttributeError(
                f"Cannot mutate TorchScript constant value: '{name}'. Value: '{cpp._constant(name)[0]}'"
            )
        else:
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return self._special("__len__")()

    def __contains__(self, key: Any) -> bool:
        return self._special("__contains__")(key)

    def __getitem__(self, index: Any) -> Any:
        modules = self.__dict__["_modules"]
        if isinstance(index, str):
            return modules[index]
        return list(modules.values())[index]

    def __iter__(self) -> Iterator:
        modules = self.__dict__["_modules"]
        return iter(modules if self.original_name == "ModuleDict" else modules.values())

    def __bool__(self) -> bool:
        return True

    def _special(self, name: str) -> Any:
        if self._c._has_method(name):
            return self._c._get_method(name)
        raise NotImplementedError(f"{self.original_name} has no {name}")

    def define(self, text: str) -> None:
        """Methods from a text."""
        cls = self._c._class()
        front = _front.TextFront(self._c._type().qualified_name(), {})
        for one in _C._script_define(front, text, "<string>", cls):
            one._ensure()

    def extra_repr(self) -> str:
        return f"original_name={self.original_name}"

    def save(self, file: Any, **options: Any) -> None:
        from ingot import jit

        jit.save(self, file, **options)

    def save_to_buffer(self, **options: Any) -> bytes:
        from ingot.jit import _archive

        return _archive.to_bytes(self, **options)

    def __copy__(self) -> RecursiveScriptModule:
        return _copied(self, copy.copy)

    def __deepcopy__(self, memo: dict) -> RecursiveScriptModule:
        return _copied(self, lambda value: copy.deepcopy(value, memo))

    def __reduce__(self) -> Any:
        raise RuntimeError("ScriptModules cannot be pickled: save them with torch.jit.save")


def _copied(module: RecursiveScriptModule, how: Callable) -> RecursiveScriptModule:
    made = _C._script_instance(module._c._class())
    for name, _, _ in module._c._class().attributes():
        value = module._modules[name] if name in module._modules else module._c.getattr(name)
        value = how(value)
        made.setattr(name, getattr(value, "_c", value))
    return RecursiveScriptModule(made, module.original_name)


def wrap(cpp: Any) -> RecursiveScriptModule:
    """The Python module around an object of the script."""
    return RecursiveScriptModule(cpp, cpp._type().name())


def _instance(module: Any, kind: _module.Kind, classes: _module.Classes) -> Any:
    """An object of the script with the module's values, which it shares; children first."""
    made = _C._script_instance(kind.build())
    for name, _, role in kind.parts:
        held = (module.__dict__, module._parameters, module._buffers)[role]
        value = held[name] if name in held else getattr(module, name)
        made.setattr(name, value.value if isinstance(value, _marks.Attribute) else value)
    for name, child in kind.children.items():
        value = module._modules[name]
        made.setattr(name, None if value is None else _child(value, child, classes))
    return made


def _child(module: Any, kind: Any, classes: _module.Classes) -> Any:
    if "_c" in module.__dict__:
        return module._c
    kind = kind if isinstance(kind, _module.Kind) else _module.kind_of(module, classes)
    made = _instance(module, kind, classes)
    kind.compile()
    return made


def script_module(module: nn.Module) -> RecursiveScriptModule:
    classes = _module.Classes()
    kind = _module.kind_of(module, classes)
    made = _instance(module, kind, classes)
    kind.compile()
    wrapped = wrap(made)
    keep(wrapped, module, classes)
    return wrapped


def keep(wrapped: RecursiveScriptModule, module: nn.Module, classes: _module.Classes) -> None:
    """Ignored methods and attributes of the Python module stay readable; hooks run around a call."""
    wrapped.__dict__["_python"] = {name: getattr(module, name) for name in classes[type(module)].ignored}
    cpp = wrapped._c
    for name in ("_forward_pre_hooks", "_forward_hooks"):
        for key, hook in getattr(module, name).items():
            method = cpp._get_method(hook.__name__)
            wrapped.__dict__[name][key] = functools.partial(_run_hook, method)
    for name, child in module._modules.items():
        inner = wrapped.__dict__["_modules"].get(name)
        if child is not None and isinstance(inner, RecursiveScriptModule) and "_c" not in child.__dict__:
            keep(inner, child, classes)


def add_hooks(wrapped: RecursiveScriptModule) -> None:
    """The hooks that the class declares run around a call from Python."""
    for where, names in zip(("_forward_pre_hooks", "_forward_hooks"), wrapped._c._hook_names()):
        for key, name in enumerate(names):
            wrapped.__dict__[where][key] = functools.partial(_run_hook, wrapped._c._get_method(name))


def _run_hook(method: Any, module: Any, *args: Any) -> Any:
    return method(*args)


class ModuleDict:
    """The children of an object of the script: torch._C.ModuleDict."""

    def __init__(self, cpp: Any) -> None:
        self._cpp = cpp

    def items(self) -> list:
        return self._cpp._modules()


# ---- script()


class CompilationUnit:
    """Functions from a text."""

    def __init__(self, lang: str | None = None, _frames_up: int = 0) -> None:
        self._functions: dict[str, Any] = {}
        if lang is not None:
            self.define(lang)

    def define(self, lang: str, rcb: Any = None, _frames_up: int = 0) -> None:
        front = _UnitFront("__torch__", self._functions)
        made = _C._script_define(front, lang, "<string>", None)
        self._functions.update({one.name: one for one in made})
        for one in made:
            one._ensure()

    def __getattr__(self, name: str) -> Any:
        if name in self.__dict__.get("_functions", {}):
            return self._functions[name]
        raise AttributeError(f"'CompilationUnit' has no attribute '{name}'")

    def get_functions(self) -> list:
        return list(self._functions.values())


class _UnitFront(_front.TextFront):
    def qualified(self, name: str) -> str:
        full = super().qualified(name)
        return _C._script_mangle(full) if _C._script_has_name(full) else full


def script(
    obj: Any,
    optimize: Any = None,
    _frames_up: int = 0,
    _rcb: Any = None,
    example_inputs: Any = None,
) -> Any:
    """A function, module or class as a script: its source text is compiled."""
    if isinstance(obj, (ScriptModule, ScriptFunction)) and hasattr(obj, "graph"):
        return obj
    if isinstance(obj, nn.Module):
        return script_module(obj)
    if inspect.isclass(obj):
        return _script_class(obj)
    if isinstance(obj, (types.FunctionType, types.MethodType)):
        return _script_function(obj)
    if isinstance(obj, dict) or isinstance(obj, list):
        return obj
    if isinstance(vars(type(obj)).get("__call__"), types.FunctionType):
        return script(obj.__call__)
    kind = types.BuiltinFunctionType if isinstance(obj, _front.OPERATOR) else type(obj)
    raise TypeError(f"{kind} is a built-in class")


def _script_class(cls: type) -> Any:
    if issubclass(cls, nn.Module) and not cls.__dict__.get("__torch_script_interface__"):
        raise RuntimeError(f"Type '{cls}' cannot be compiled since it inherits from nn.Module, consider passing an "
                           "instance instead")  # fmt: skip
    if not issubclass(cls, tuple) and not hasattr(cls, "__members__"):
        if len([base for base in cls.__mro__ if base not in (object, nn.Module)]) > 1:
            raise RuntimeError("TorchScript classes does not support inheritance yet. Please directly use the class.")
        _classes.type_of_class(cls)
    return cls


def _script_function(function: Any) -> Any:
    if isinstance(function, types.MethodType):
        function = function.__func__
    made = _compile.functions_of(function)
    for one in made:
        one._ensure()
    result = made[-1]
    result.__doc__ = function.__doc__
    result.__name__ = function.__name__
    result._torchdynamo_inline = function
    return result


def script_if_tracing(function: Callable) -> Callable:
    """The function is compiled when it is first called while something is traced."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        from ingot import jit

        if not jit.is_tracing():
            return function(*args, **kwargs)
        return script(function)(*args, **kwargs)

    wrapper.__script_if_tracing_wrapper = True
    return wrapper


def isinstance_of(value: Any, target: Any) -> bool:
    """isinstance that looks into containers: List[int], Dict[str, Tensor], Optional[int]."""
    import typing

    if isinstance(target, (tuple, list)):
        return any(isinstance_of(value, one) for one in target)
    origin, args = typing.get_origin(target), typing.get_args(target)
    if origin is None:
        if target in (list, dict, tuple, typing.List, typing.Dict, typing.Tuple):  # noqa: UP006
            raise RuntimeError(
                f"Attempted to use {typing.get_origin(target) or target} without a contained type. Please add a "
                "contained type, e.g. List[int]"
            )
        return isinstance(value, target)
    if origin is list:
        return isinstance(value, list) and all(isinstance_of(item, args[0]) for item in value)
    if origin is dict:
        rows = isinstance(value, dict) and value.items()
        return rows is not False and all(isinstance_of(k, args[0]) and isinstance_of(v, args[1]) for k, v in rows)
    if origin is tuple:
        return isinstance(value, tuple) and len(value) == len(args) and all(map(isinstance_of, value, args))
    return any(isinstance_of(value, one) for one in args)


def fork(function: Callable, *args: Any, **kwargs: Any) -> Any:
    """The call as a future. It is made at once."""
    return ingot.futures.Future._done(function(*args, **kwargs))


def wait(future: Any) -> Any:
    return future.wait()
