# SPDX-License-Identifier: Apache-2.0
"""Modules as classes of scripts: which attributes, constants, children and methods an nn.Module has there. Modules that
agree in all of it share one class, which stands on the Python class."""

from __future__ import annotations

import enum
import functools
import importlib
import types
import typing
import warnings
from collections.abc import Callable
from typing import Any

import ingot
from ingot import _C, nn
from ingot.jit import _compile, _front, _marks

PLAIN, PARAMETER, BUFFER = range(3)
_CONTAINERS = [nn.ModuleList, nn.Sequential, nn.ModuleDict, nn.ParameterList, nn.ParameterDict]  # as ig_scontainer
_KINDS = "_ingot_script_kinds"
_SOURCES = [
    f"ingot.jit._sources.{name}" for name in ("layers", "modules", "conv_layers", "rnn", "attention", "transformer")
]
# What nn.Module keeps for itself.
_INTERNAL = frozenset(
    """
    _version _parameters _buffers _non_persistent_buffers_set _backward_hooks _backward_pre_hooks _forward_hooks
    _forward_hooks_with_kwargs _forward_pre_hooks _forward_pre_hooks_with_kwargs _forward_hooks_always_called
    _state_dict_hooks _state_dict_pre_hooks _load_state_dict_pre_hooks _load_state_dict_post_hooks _modules
    _initializing dump_patches
    """.split()
)
_LANGUAGE = frozenset(["children", "named_children", "modules", "named_modules"])  # the compiler knows them


def written(cls: type) -> type | None:
    """The text for scripts of a layer of the package; None: the class is the user's, or has none."""
    if not cls.__module__.startswith("ingot.nn"):
        return None
    return _texts().get(cls.__name__)


@functools.cache
def _texts() -> dict[str, type]:
    homes = map(importlib.import_module, _SOURCES)
    return {name: one for home in homes for name, one in vars(home).items()
            if isinstance(one, type) and one.__module__ == home.__name__}  # fmt: skip


def method_of(cls: type, name: str) -> Any:
    """A method of a module's class, as scripts compile it."""
    for base in cls.__mro__:
        other = written(base)
        if other is not None:
            for part in other.__mro__:
                if name in part.__dict__:
                    return part.__dict__[name]
        if name in base.__dict__:
            return base.__dict__[name]
    return None


def annotations_of(cls: type) -> dict[str, Any]:
    """Those of the most derived class that has some, which hide all others."""
    for base in cls.__mro__:
        text = written(base)
        for home in (base,) if text is None else text.__mro__:
            found = home.__dict__.get("__annotations__") if home is not nn.Module else None
            if found is not None:
                return {name: _evaluated(hint, home) for name, hint in found.items()}
        if text is not None or base is nn.Module:
            break
    return {"training": bool, "_is_full_backward_hook": bool | None}


def _evaluated(hint: Any, cls: type) -> Any:
    if not isinstance(hint, str):
        return hint
    import sys

    space = vars(sys.modules[cls.__module__])
    try:
        return eval(hint, dict(space))  # the class's own annotation
    except NameError:
        return None


def constants_of(cls: type, hints: dict[str, Any]) -> list[str]:
    names: list[str] = []
    for base in reversed(cls.__mro__):
        home = written(base) or base
        names += getattr(home, "__constants__", ()) if home is not base else base.__dict__.get("__constants__", ())
    names += [name for name, hint in hints.items() if typing.get_origin(hint) is typing.Final or hint is typing.Final]
    return list(dict.fromkeys(names))


def _constant(name: str, value: Any, owner: str) -> Any:
    if value is None or isinstance(value, (int, float, bool, complex, str, ingot.device, ingot.dtype, ingot.layout)):
        return value
    if isinstance(value, (list, tuple)):
        return tuple(_constant(name, item, owner) for item in value)
    raise TypeError(
        f"'{_front.torch_name(type(value).__module__)}.{type(value).__name__}' object in attribute '{owner}.{name}' is "
        "not a valid constant.\nValid constants are:\n1. a nn.ModuleList\n2. a value of type {bool, float, int, str, "
        "complex, torch.device, torch.layout, torch.dtype}\n3. a list or tuple of (2)\n"
    )


class Class:
    """What all modules of a Python class have in common. A class may change between two scripts, so this is made once
    per script and never kept."""

    def __init__(self, cls: type) -> None:
        self.cls = cls
        self.text = written(cls)
        self.more = getattr(self.text, "__attributes__", ())  # by name, also where they are properties
        self.hints = annotations_of(cls)
        self.constants = constants_of(cls, self.hints)
        self.container = next((i + 1 for i, base in enumerate(_CONTAINERS) if issubclass(cls, base)), 0)
        members: dict[str, Any] = {}  # of the user's classes and the package's layers, not what every module has
        for base in reversed(cls.__mro__):
            if base is not nn.Module and base is not object:
                members.update(base.__dict__)
        self.members = members
        self.ignored = [name for name, found in members.items() if _marks.is_ignored(found)]

    def exported(self) -> dict[str, Callable]:
        rows = sorted(self.members.items())
        return {
            name: found
            for name, found in rows
            if _marks.mark_of(found) == _marks.EXPORTED and not isinstance(found, property)
        }

    def properties(self) -> dict[str, property]:
        """Those of the user's classes: properties of the package's own are none of scripts."""
        rows = sorted((name, found) for name, found in self.members.items() if isinstance(found, property))
        return {name: found for name, found in rows if not self._home(name).__module__.startswith("ingot.")}

    def _home(self, name: str) -> type:
        return next(base for base in self.cls.__mro__ if name in base.__dict__)


class Classes(dict[type, Class]):
    """The classes that one script looks at."""

    def __missing__(self, cls: type) -> Class:
        self[cls] = found = Class(cls)
        return found


class Kind:
    """The class of a module in scripts. It answers for what the class has not: methods that nobody compiled yet,
    functions, and why an attribute has no type."""

    def __init__(self, module: nn.Module, classes: Classes) -> None:
        self.cls = type(module)
        self.facts = facts = classes[self.cls]
        self.parts: list[tuple[str, Any, int]] = []  # name, type, role
        self.constants: dict[str, Any] = {}
        self.children: dict[str, Kind | Any] = {}
        self.functions: dict[str, Any] = {}
        self.failed: dict[str, str] = {}
        self.made: Any = None
        self.hints = facts.hints
        self.unused = _names(module, "__jit_unused_properties__")
        self.ignored = _names(module, "__jit_ignored_attributes__") | self.unused
        self.hooks = [list(module._forward_pre_hooks.values()), list(module._forward_hooks.values())]
        self.container = facts.container
        self.length = len(module) if self.container else 0
        self._read(module, classes)

    # ---- what the module has

    def _read(self, module: nn.Module, classes: Classes) -> None:
        for name, value in module._parameters.items():
            self._add(name, value, PARAMETER)
        for name, value in module._buffers.items():
            self._add(name, value, BUFFER)
        taken = {name for name, _, _ in self.parts}
        for name in self.facts.constants:
            self._add_constant(module, name, taken)
        text, more = self.facts.text, self.facts.more
        for name, value in module.__dict__.items():
            if name in _INTERNAL or name in self.constants or name in taken or name in more:
                continue
            if name in self.ignored or name in module._modules:
                continue
            if text is None or name in self.hints or name in ("training", "_is_full_backward_hook"):
                self._add_attribute(name, value)
        for name in more:
            self._add_attribute(name, getattr(module, name))
        for name, child in module._modules.items():
            self._add_child(name, child, classes)

    def _type(self, name: str, value: Any) -> Any:
        """The type; a text says why there is none."""
        if isinstance(value, _marks.Attribute):
            return _front.type_of(value.type)
        if name in self.hints:
            found = _front.type_of(self.hints[name])
            if found is not None:
                return found
        if isinstance(value, enum.Enum):
            return _front.class_type(type(value))
        return _C._script_infer(value)

    def _add(self, name: str, value: Any, role: int) -> None:
        hinted = role == PLAIN or value is None or name in self.hints
        kind = self._type(name, value) if hinted else _C.TensorType.get()
        self.parts.append((name, kind, role))

    def _add_constant(self, module: nn.Module, name: str, taken: set[str]) -> None:
        if name in taken or name in module._modules:
            what = "parameter" if name in module._parameters else "buffer" if name in taken else "submodule"
            value = module._modules.get(name)
            if not isinstance(value, (nn.ModuleList, nn.Sequential)):
                warnings.warn(
                    f"'{name}' was found in ScriptModule constants,  but it is a non-constant {what}. Consider "
                    "removing it.",
                    stacklevel=2,
                )
            return
        if not hasattr(module, name):
            warnings.warn(
                f"'{name}' was found in ScriptModule constants, but was not actually set in __init__. Consider "
                "removing it.",
                stacklevel=2,
            )
            return
        self.constants[name] = _constant(name, getattr(module, name), self.cls.__name__)

    def _add_attribute(self, name: str, value: Any) -> None:
        if isinstance(value, _C.ScriptFunction):
            self.functions[name] = ("function", [value])
        elif isinstance(value, types.FunctionType):
            self._add_function(name, value)
        elif isinstance(value, _front.OPERATOR) or isinstance(value, types.BuiltinFunctionType):
            self.functions[name] = _front.answer(value)
        else:
            kind = self._type(name, value)
            if isinstance(kind, str):
                what = _front.torch_name(type(value).__module__) + "." + type(value).__qualname__
                what = what.removeprefix("builtins.")
                self.failed[name] = (
                    "(This attribute exists on the Python module, but we failed to convert Python type: "
                    f"'{what}' to a TorchScript type. {kind}. Its type was inferred; try adding a type annotation for "
                    "the attribute.)"
                )
            elif kind is not None:
                self.parts.append((name, kind, PLAIN))

    def _add_function(self, name: str, function: Callable) -> None:
        try:
            functions = _compile.functions_of(function)
            for one in functions:
                one._ensure()
            self.functions[name] = ("function", functions)
        except Exception as error:
            text = (
                "(This function exists as an attribute on the Python module, but we failed to compile it to a "
                f"TorchScript function. \nThe error stack is reproduced here:\n\n{error}"
            )
            self.failed[name] = text

    def _add_child(self, name: str, child: Any, classes: Classes) -> None:
        hint = self.hints.get(name)
        if child is None:
            self.children[name] = _C.NoneType.get()
        elif isinstance(hint, type) and hint.__dict__.get("__torch_script_interface__"):
            self.children[name] = _front.type_of(hint)
        else:
            made = child.__dict__.get("_c")
            self.children[name] = made._type() if made is not None else kind_of(child, classes)

    def key(self) -> tuple:
        """What modules that share a class agree in."""
        return (
            tuple((name, str(kind), role) for name, kind, role in self.parts),
            tuple((name, repr(value)) for name, value in self.constants.items()),
            tuple((name, id(kind) if isinstance(kind, Kind) else str(kind)) for name, kind in self.children.items()),
            tuple((name, tuple(map(id, answer[1])) if isinstance(answer[1], list) else answer[1])
                  for name, answer in self.functions.items()),
            tuple(self.failed),
            tuple(tuple(map(id, hooks)) for hooks in self.hooks),
        )  # fmt: skip

    # ---- the class

    def build(self) -> Any:
        """The class with its attributes; methods come later."""
        if self.made is not None:
            return self.made
        children = {name: kind.build().type() if isinstance(kind, Kind) else kind
                    for name, kind in self.children.items()}  # fmt: skip
        self.name = _front.free_name(self.cls)  # the classes of its children have their names first
        self.made = _C._script_class(self.name, True)
        for name, kind, role in self.parts:
            self.made.add_attribute(name, kind, role)
        for name, kind in children.items():
            self.made.add_attribute(name, kind, PLAIN)
        for name, value in self.constants.items():
            self.made.add_constant(name, value)
        self.made.set_host(self, self.container)
        return self.made

    def compile(self, stubs: dict[str, Callable] | None = None) -> None:
        """Hooks, properties, forward and exported methods, and what they call."""
        if getattr(self, "compiled", False):
            return
        self.compiled = True
        for name, function in (self.stubs() if stubs is None else stubs).items():
            self._declare(name, function)
        self._add_hooks()
        self._add_properties()
        for name in self.made.method_names():
            self.made.method(name)._ensure()
        self._add_container_methods()

    def stubs(self) -> dict[str, Callable]:
        names: dict[str, Callable] = {}
        forward = method_of(self.cls, "forward")
        if forward is not None and not callable(forward):  # a descriptor that makes the function when it is read
            forward = self.cls.forward
        default = nn.Module.__dict__.get("forward")
        if forward is not None and forward is not default and not _marks.is_ignored(forward):
            names["forward"] = forward
        return names | self.facts.exported()

    def _declare(self, name: str, function: Any) -> list[str]:
        """The names of the methods: one, or one per overload."""
        plain = getattr(function, "__func__", function)
        overloads = _marks.overloads_of(plain)
        if overloads:
            names = [f"{name}__{i}" for i in range(len(overloads))]
            for one, signature in zip(names, overloads):
                if self.made.method(one) is None:
                    _compile.declare_overload(signature, plain, f"{self.name}.{one}", self.made)
            return names
        if self.made.method(name) is None:
            mark = _marks.mark_of(plain)
            if mark == _marks.UNUSED:
                _compile.declare_unused(plain, f"{self.name}.{name}", self.made)
            elif mark == _marks.IGNORED:
                _compile.declare_host(_Unwrapped(plain), f"{self.name}.{name}", self.made)
            else:
                _compile.declare(plain, f"{self.name}.{name}", self.made, self.cls)
        return [name]

    def _add_hooks(self) -> None:
        for before, hooks in zip((True, False), self.hooks):
            for hook in hooks:
                name = hook.__name__
                self._declare(name, hook)
                self.made.add_hook(self.made.method(name), before)

    def _add_properties(self) -> None:
        for name, found in self.facts.properties().items():
            if name in self.unused or _marks.is_ignored(found.fget):
                continue
            self._declare(f"__{name}_getter", found.fget)
            if found.fset is not None and not _marks.is_ignored(found.fset):
                self._declare(f"__{name}_setter", found.fset)
            self.made.add_property(name, self.made.method(f"__{name}_getter"), self.made.method(f"__{name}_setter"))

    def _add_container_methods(self) -> None:
        if not issubclass(self.cls, (nn.ModuleList, nn.Sequential, nn.ModuleDict)):
            return
        front = _front.TextFront(self.name, {})
        texts = []
        if self.made.method("__len__") is None:
            texts.append(f"def __len__(self):\n   return {self.length}\n")
        if issubclass(self.cls, nn.ModuleDict) and self.made.method("__contains__") is None:
            keys = ", ".join(f'"{name}"' for name in self.children)
            texts.append(f"def __contains__(self, key: str):\n   return str(key) in [{keys}]\n")
        for text in texts:
            for one in _C._script_define(front, text, None, self.made):
                one._ensure()

    # ---- answers to the compiler

    def attribute(self, name: str) -> _front.Answer:
        if name in self.functions:
            return self.functions[name]
        if (
            name in _LANGUAGE
            or (self.container and name in ("keys", "values", "items"))
            or self.made.method(name) is not None
        ):
            return None
        if any(name == part for part, _, _ in self.parts) or name in self.children or name in self.constants:
            return None
        found = method_of(self.cls, name)
        if isinstance(found, staticmethod):
            return ("function", _compile.functions_of(found.__func__))
        if isinstance(found, types.FunctionType):
            return ("method", self._declare(name, found))
        return None

    def hint(self, name: str) -> str:
        if name in self.failed:
            return self.failed[name]
        if name in self.ignored:
            return "(This attribute exists on the Python module, but it is ignored)"
        return ""


class _Unwrapped:
    """An ignored method: Python gets the Python module, not the script's."""

    def __new__(cls, function: Callable) -> Any:
        return function


def _names(module: nn.Module, name: str) -> frozenset[str]:
    found = module.__dict__.get(name) or getattr(type(module), name, ())
    return frozenset(found)


def kind_of(module: nn.Module, classes: Classes) -> Kind:
    """The class of a module, shared with all modules that agree with it."""
    new = Kind(module, classes)
    known = new.cls.__dict__.get(_KINDS)
    if known is None:
        known = {}
        setattr(new.cls, _KINDS, known)
    return known.setdefault(new.key(), new)
