# SPDX-License-Identifier: Apache-2.0
"""Classes of Python as types of scripts: enums, named tuples, interfaces, and classes with methods. The type of a class
is made once and stands on it."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import types
from collections.abc import Callable
from typing import Any

import ingot
from ingot import _C
from ingot.jit import _compile, _front, _marks

DONE = "_ingot_script_type"


def type_of_class(cls: type) -> Any:
    """None: the class has no type in scripts."""
    if DONE in cls.__dict__:
        return cls.__dict__[DONE]
    own = cls.__module__.startswith("ingot.") and not cls.__module__.startswith("ingot.jit._sources.")
    own = own and not (issubclass(cls, tuple) and hasattr(cls, "_fields"))
    if cls.__module__ == "builtins" or own or cls is object:
        return None
    if issubclass(cls, enum.Enum):
        return _keep(cls, _enum_type(cls))
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return _keep(cls, _tuple_type(cls))
    if cls.__dict__.get("__torch_script_interface__"):
        return _keep(cls, _interface_type(cls))
    if issubclass(cls, (ingot.nn.Module, BaseException, ingot.Tensor)):
        return None
    return class_of(cls).type()


def _keep(cls: type, made: Any) -> Any:
    setattr(cls, DONE, made)
    return made


def _enum_type(cls: type[enum.Enum]) -> Any:
    members = [(name, member.value) for name, member in cls.__members__.items()]
    kinds = list(dict.fromkeys(type(value).__name__ for _, value in members))
    if len(kinds) > 1:
        raise RuntimeError(
            f"Could not unify type list since element 1 of type {kinds[0]} did not match the types before it "
            f"({kinds[1]})\nin the enum {cls}, whose values must be of one type"
        )
    return _C._script_enum(_front.free_name(cls), members, cls)


def _tuple_type(cls: Any) -> Any:
    hints = next((base.__annotations__ for base in cls.__mro__ if base.__dict__.get("__annotations__")), {})
    fields = []
    for name in cls._fields:
        hint = hints.get(name, ingot.Tensor)
        kind = _front.type_of(_evaluated(hint, cls))
        if kind is None:
            raise RuntimeError(f"Unknown type annotation: '{hint}' in NamedTuple {cls.__name__}")
        default = cls._field_defaults.get(name, dataclasses.MISSING)
        fields.append((name, kind, None if default is dataclasses.MISSING else repr(default)))
    return _C._script_named_tuple(_front.qualified_name(cls), fields)


def _evaluated(hint: Any, cls: type) -> Any:
    """An annotation that is a text, or holds one, as the object that it names."""
    text = hint.__forward_arg__ if hasattr(hint, "__forward_arg__") else hint
    if not isinstance(text, str):
        return hint
    import sys

    return eval(text, vars(sys.modules[cls.__module__]))  # the module's own annotation


def _interface_type(cls: type) -> Any:
    module = issubclass(cls, ingot.nn.Module)
    name = _front.qualified_name(cls)
    rows = [(key, value) for key, value in cls.__dict__.items() if isinstance(value, types.FunctionType)]
    methods = []
    for key, value in rows:
        source = _front.source_of(value)
        head = _compile._head_and_body(source.text)[0]
        text = head + "    pass\n"
        methods.append(_C._script_declare(_front.Front(value, cls), text, *source[1:], f"{name}.{key}", None))
    return _C._script_interface(name, module, methods)


# ---- classes with methods


def class_of(cls: type) -> Any:
    """The class of the unit, with its attributes and methods compiled."""
    name = _front.free_name(cls)
    made = _C._script_class(name, False)
    _keep(cls, made.type())
    cls._ingot_script_class = made
    if getattr(cls, "__module__", None) is None:
        raise RuntimeError(f"Could not get qualified name for class '{cls.__name__}': __module__ can't be None.")
    methods = {key: value for key, value in cls.__dict__.items() if isinstance(value, types.FunctionType)}
    if dataclasses.is_dataclass(cls):
        methods = {key: value for key, value in methods.items() if not key.startswith("__")} | _dataclass_methods(cls)
    declared = {key: _method(methods[key], name, key, made, cls) for key in sorted(methods)}
    _add_others(cls, name, made, declared)
    order = ["__init__"] if "__init__" in declared else []
    for key in order + [key for key in declared if key != "__init__"]:
        declared[key]._ensure()
    return made


def _method(function: Callable, name: str, key: str, made: Any, cls: type) -> Any:
    mark = _marks.mark_of(function)
    if mark == _marks.UNUSED:
        return _compile.declare_unused(function, f"{name}.{key}", made)
    if mark == _marks.IGNORED:
        return _compile.declare_host(function, f"{name}.{key}", made)
    return _compile.declare(function, f"{name}.{key}", made, cls)


def _add_others(cls: type, name: str, made: Any, declared: dict) -> None:
    for key, value in cls.__dict__.items():
        if isinstance(value, staticmethod):
            function = _compile.declare(value.__func__, _front.free_name(value.__func__), None, cls)
            made.add_static(function)
        elif isinstance(value, property) and _marks.mark_of(value.fget) != _marks.UNUSED:
            getter = declared[f"__{key}_getter"] = _compile.declare(value.fget, f"{name}.__{key}_getter", made, cls)
            setter = None
            if value.fset is not None:
                setter = declared[f"__{key}_setter"] = _compile.declare(value.fset, f"{name}.__{key}_setter", made, cls)
            made.add_property(key, getter, setter)


def _dataclass_methods(cls: Any) -> dict[str, Callable]:
    """__init__ and __eq__ as texts: those of Python have none."""
    fields = dataclasses.fields(cls)
    space: dict[str, Any] = dict(vars(inspect.getmodule(cls)))
    parameters, lines = [], []
    for field in fields:
        kind = field.type if isinstance(field.type, str) else inspect.formatannotation(field.type)
        default = "" if field.default is dataclasses.MISSING else f" = {field.default!r}"
        parameters.append(f"{field.name}: {kind}{default}")
        lines.append(f"    self.{field.name} = {field.name}\n")
    text = f"def __init__(self, {', '.join(parameters)}):\n" + "".join(lines or ["    pass\n"])
    made = {"__init__": _text_function("__init__", text, space)}
    if cls.__dataclass_params__.eq:
        tests = "".join(f"    if self.{one.name} != other.{one.name}:\n        return False\n" for one in fields)
        text = f"def __eq__(self, other: '{cls.__name__}') -> bool:\n{tests}    return True\n"
        made["__eq__"] = _text_function("__eq__", text, space)
    return made


def _text_function(name: str, text: str, space: dict) -> Callable:
    """A function from a text that inspect finds again."""
    import linecache

    file = f"<{name} of {space.get('__name__')}: {hash(text)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space.update({"typing": __import__("typing"), "torch": ingot})
    exec(compile(text, file, "exec", dont_inherit=True), space)  # our own text
    return space[name]
