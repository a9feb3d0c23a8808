# SPDX-License-Identifier: Apache-2.0
"""What the names in user code mean to the compiler of scripts: Python objects as answers that python/script_sugar.c
reads, source texts, and annotations as types."""

from __future__ import annotations

import builtins
import dataclasses
import enum
import functools
import inspect
import linecache
import math
import sys
import textwrap
import types
import typing
import warnings
from collections.abc import Callable
from typing import Any

import ingot
from ingot import _C
from ingot.jit._sources import grad_mode, misc

Answer = tuple | None
OPERATOR = type(ingot.relu)

# Functions of Python that are operators of scripts.
_MATH = """
    acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh degrees erf erfc exp expm1 fabs factorial floor fmod
    frexp gamma gcd isfinite isinf isnan ldexp lgamma log log10 log1p modf pow radians remainder sin sinh sqrt tan tanh
"""
_SYMBOLS: dict[int, str] = {
    **{id(getattr(math, name)): f"aten::{name}" for name in _MATH.split()},
    id(math.remainder): "aten::mathremainder",
    id(warnings.warn): "aten::warn",
    id(pow): "aten::pow",
    id(ingot.device): "aten::device",
    id(ingot.is_grad_enabled): "aten::is_grad_enabled",
    id(ingot.set_grad_enabled): "aten::set_grad_enabled",
    id(ingot.autograd.grad): "aten::grad",
    id(ingot.autograd.backward): "aten::backward",
    **{id(function): symbol for function, symbol in misc.SYMBOLS.items()},
}
# Names of Python that are the language's own.
_GLOBALS = """
    abs bool chr complex dict divmod enumerate filter float getattr hasattr hex int isinstance len list max min oct ord
    print range reversed round sorted str sum tuple zip bin any all
"""
_OWN = {id(getattr(builtins, name)): name for name in _GLOBALS.split()}
_UNTYPED = (
    " cannot be used as a value. Perhaps it is a closed over global variable? If so, please consider passing it in as "
    "an argument or use a local varible instead."
)


@functools.cache
def _specials() -> dict[int, Answer]:
    from ingot import jit

    forms = {
        "annotate": jit.annotate,
        "isinstance": jit.isinstance,
        "unwrap_optional": jit._unwrap_optional,
        "fork": jit.fork,
        "is_scripting": jit.is_scripting,
        "is_tracing": jit.is_tracing,
    }
    answers: dict[int, Answer] = {id(form): ("special", name) for name, form in forms.items()}
    return answers | {id(jit.wait): ("builtin", "aten::wait")}


# ---- names


def torch_name(module: str) -> str:
    """The module's name as archives know it: the package is torch there."""
    return "torch" + module[len("ingot") :] if module == "ingot" or module.startswith("ingot.") else module


def qualified_name(what: Any) -> str:
    """`__torch__.program.M`: without the main module, and without the functions around a local class."""
    own = getattr(what, "_jit_override_qualname", None)
    if own:
        return own
    name = getattr(what, "__name__", None) or type(what).__name__
    if name == "<lambda>":
        name = "_lambda"
    module = what.__module__
    if module is None or (module == "builtins" and isinstance(what, types.FunctionType)):
        raise RuntimeError(f"Could not get qualified name for class '{name}': __module__ can't be None.")
    home = getattr(sys.modules.get(module), "TORCH_NAME", None) or torch_name(module)
    if home == "__main__":
        return f"__torch__.{name}"
    if "." in name:
        raise RuntimeError(f"Could not get qualified name for class '{name}': '{name}' is not a valid identifier")
    return f"__torch__.{home}.{name}"


def free_name(what: Any) -> str:
    """The qualified name, mangled if something else has it."""
    name = qualified_name(what)
    return _C._script_mangle(name) if _C._script_has_name(name) else name


class Source(typing.NamedTuple):
    text: str
    file: str | None
    first_line: int
    indent: int


def source_of(function: Callable) -> Source:
    """The text of a function without the indentation of what stands around it."""
    code = getattr(function, "__code__", None)
    if code is not None and code.co_name != "<lambda>":
        linecache.checkcache(code.co_filename)
        lines = linecache.getlines(code.co_filename, function.__globals__)
        found = _C._script_source(lines, code.co_firstlineno - 1)
        if found is not None:
            return Source(found[0], code.co_filename, found[1], found[2])
    return _inspected(function)


def _inspected(function: Callable) -> Source:
    """The text of what is no plain function, or where its file is not what was loaded."""
    try:
        lines, first = inspect.getsourcelines(function)
        file = inspect.getsourcefile(function)
    except OSError as error:
        raise OSError(
            f"Can't get source for {function}. TorchScript requires source access in order to carry out compilation, "
            "make sure original .py files are available."
        ) from error
    text = "".join(lines)
    # Decorators are no part of a script.
    skip = next((i for i, line in enumerate(lines) if line.lstrip().startswith(("def ", "async def "))), 0)
    indent = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
    text = textwrap.dedent(text)
    kept = text.splitlines(True)[skip:]
    return Source("".join(kept), file, first + skip, indent)


# ---- annotations


@functools.cache
def _plain_types() -> dict[Any, Any]:
    kinds = {
        ingot.Tensor: _C.TensorType,
        int: _C.IntType,
        float: _C.FloatType,
        bool: _C.BoolType,
        complex: _C.ComplexType,
        str: _C.StringType,
        ingot.device: _C.DeviceObjType,
        Any: _C.AnyType,
        ingot.dtype: _C.IntType,
        ingot.layout: _C.IntType,
        ingot.memory_format: _C.IntType,
    }
    return {annotation: kind.get() for annotation, kind in kinds.items()}


def type_of(annotation: Any) -> Any:
    """The script type of an annotation object; None: it has none."""
    if annotation is None or annotation is type(None):
        return _C.NoneType.get()
    plain = _plain_types()
    try:
        if annotation in plain:
            return plain[annotation]
    except TypeError:  # not hashable
        return None
    if isinstance(annotation, type) and issubclass(annotation, ingot.Tensor):
        return _C.TensorType.get()
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is not None:
        return _generic_type(origin, args)
    if isinstance(annotation, type):
        return class_type(annotation)
    return None


def _generic_type(origin: Any, args: tuple) -> Any:
    parts = [type_of(arg) for arg in args if arg != ()]
    if any(part is None for part in parts):
        return None
    if origin is list:
        return _C.ListType(parts[0])
    if origin is dict:
        return _C.DictType(*parts)
    if origin is tuple:
        return _C.TupleType(parts)
    if origin is typing.Union or origin is types.UnionType:
        others = [part for part, arg in zip(parts, args) if arg is not type(None)]
        if len(others) == 1 and len(parts) == 2:
            return _C.OptionalType(others[0])
        return _C.UnionType(parts)
    if origin is typing.Final:
        return parts[0]
    return None


def class_type(cls: type) -> Any:
    """The script type of a class of Python; None: it has none."""
    from ingot.jit import _classes

    return _classes.type_of_class(cls)


# ---- fronts


class Front:
    """What stands around one function: closed-over names, globals, Python's own names."""

    def __init__(self, function: Callable, cls: type | None = None) -> None:
        function = inspect.unwrap(getattr(function, "__func__", function))
        self.function = function
        self.cls = cls
        self.globals = function.__globals__
        cells = function.__closure__ or ()
        self.cells = dict(zip(function.__code__.co_freevars, cells))

    def find(self, name: str) -> tuple | None:
        """(object,) or None."""
        if name in self.cells:
            try:
                return (self.cells[name].cell_contents,)
            except ValueError:  # not assigned yet
                return None
        if name in self.globals:
            return (self.globals[name],)
        return (getattr(builtins, name),) if hasattr(builtins, name) else None

    def resolve(self, name: str) -> Answer:
        found = self.find(name)
        if found is None and self.cls is not None and name == self.cls.__name__:
            found = (self.cls,)  # a class that is compiled before its name is assigned
        return None if found is None else answer(found[0])

    def type(self, name: str) -> Any:
        first, *rest = name.split(".")
        found = self.find(first)
        if found is None:
            return class_type(self.cls) if self.cls is not None and name == self.cls.__name__ else None
        what = found[0]
        for part in rest:
            if not hasattr(what, part):
                return None
            what = getattr(what, part)
        return type_of(what)

    @functools.cached_property
    def defaults(self) -> dict[str, Any]:
        values = self.function.__defaults__ or ()
        count = self.function.__code__.co_argcount
        names = self.function.__code__.co_varnames[count - len(values) : count]
        return {**dict(zip(names, values)), **(self.function.__kwdefaults__ or {})}

    def default(self, name: str) -> tuple | None:
        return (self.defaults[name],) if name in self.defaults else None

    def mutable_default(self) -> str | None:
        own = (self.function.__module__ or "").startswith("ingot.jit._sources.")
        for name, value in [] if own else self.defaults.items():
            if isinstance(value, (list, dict, set, bytearray)):
                return f"{type(value)} on parameter {name}"
        return None


class TextFront:
    """The surroundings of a text without Python objects: a CompilationUnit, `define`."""

    def __init__(self, prefix: str, functions: dict[str, Any]) -> None:
        self.prefix = prefix
        self.functions = functions

    def qualified(self, name: str) -> str:
        return f"{self.prefix}.{name}"

    def resolve(self, name: str) -> Answer:
        if name in self.functions:
            return ("function", [self.functions[name]])
        found = {"torch": ingot, "math": math, "F": ingot.nn.functional}.get(name)
        if found is not None:
            return ("host", found)
        return answer(getattr(builtins, name)) if hasattr(builtins, name) else None

    def type(self, name: str) -> Any:
        return None


# ---- what an object means

# Classes of the package whose text for scripts is another one.
_TEXTS: dict[type, type] = {ingot.no_grad: grad_mode.no_grad, ingot.enable_grad: grad_mode.enable_grad}


def answer(what: Any, name: str | None = None) -> Answer:
    """What a Python object stands for in a script."""
    what = _TEXTS.get(what, what) if isinstance(what, type) else what
    if id(what) in _OWN:
        return None  # the compiler knows it
    if id(what) in _SYMBOLS:
        return ("builtin", _SYMBOLS[id(what)])
    special = _specials().get(id(what))
    if special is not None:
        return special
    if what is None or isinstance(what, (ingot.dtype, ingot.device, ingot.layout, ingot.memory_format)):
        return ("constant", what)
    if isinstance(what, _C.ScriptFunction):
        return ("function", [what])
    if isinstance(what, OPERATOR):
        return _operator(what)
    if isinstance(what, type):
        return _class(what)
    if isinstance(what, types.ModuleType):
        return ("host", what)
    if isinstance(what, (types.FunctionType, types.MethodType, functools.partial)):
        return _function(what)
    if isinstance(what, enum.Enum):
        return ("host", what)
    if isinstance(what, types.BuiltinFunctionType):
        return _builtin(what)
    overloaded = getattr(what, "_qualified_op_name", None)  # torch.ops.aten.add
    if isinstance(overloaded, str):
        return ("builtin", overloaded)
    return ("host", what)


def _operator(what: Any) -> Answer:
    symbol = f"aten::{what.__name__}"
    return ("builtin", symbol) if _C._script_has_operator(symbol) else ("error", _no_builtin(what))


def _builtin(what: Any) -> Answer:
    symbol = f"aten::{what.__name__}"
    if (what.__module__ or "").startswith("ingot") and _C._script_has_operator(symbol):
        return ("builtin", symbol)
    return ("error", _no_builtin(what))


def _no_builtin(what: Any) -> str:
    return f"Python builtin {what!r} is currently not supported in Torchscript"


def _class(cls: type) -> Answer:
    if issubclass(cls, BaseException):
        return ("exception", f"{torch_name(cls.__module__)}.{cls.__qualname__}")
    if issubclass(cls, ingot.nn.Module):
        return ("refused", f"Cannot instantiate class '{cls.__name__}' in a script function")
    found = type_of(cls)
    return ("host", cls) if found is None else ("class", found)


def _function(what: Any) -> Answer:
    from ingot.jit import _compile

    return _compile.answer_of(what)


def attribute(what: Any, name: str) -> Answer:
    """What object.name means."""
    if what is ingot.ops:
        return ("namespace", name)
    if isinstance(what, types.ModuleType):
        return _module_attribute(what, name)
    if isinstance(what, type):
        found = inspect.getattr_static(what, name, None)
        return None if found is None else answer(getattr(what, name), name)
    return None if not hasattr(what, name) else _value(getattr(what, name), name)


def _value(found: Any, name: str) -> Answer:
    if isinstance(found, (bool, int, float)):
        return ("constant", found)
    return answer(found, name)


def _module_attribute(module: types.ModuleType, name: str) -> Answer:
    if torch_name(module.__name__) == "torch":  # written in Python there, an operator here
        from ingot.jit import _compile

        home = _compile_module().torch_functional
        own = vars(home).get(name)
        if isinstance(own, _compile.Dispatch) or getattr(own, "__module__", None) == home.__name__:
            return _compile.answer_of(own)
    try:
        found = getattr(module, name)
    except AttributeError:
        symbol = f"aten::{name}"
        if torch_name(module.__name__) != "torch":
            return None
        written = getattr(_compile_module().functions, name, None)
        if written is not None:
            return answer(written)
        return ("builtin", symbol) if _C._script_has_operator(symbol) else None
    # A function of the package that is written in Python, but an operator for scripts.
    if isinstance(found, types.FunctionType) and found.__module__.startswith("ingot"):
        from ingot.jit import _compile

        if _compile.source_function(found) is None and _C._script_has_operator(f"aten::{name}"):
            return ("builtin", f"aten::{name}")
    return _value(found, name)


def _compile_module() -> Any:
    from ingot.jit import _sources
    from ingot.jit._sources import functions, torch_functional  # noqa: F401

    return _sources


def describe(what: Any) -> str:
    return f"python value of type '{type(what).__name__}'"


def explain(what: Any) -> str:
    """The error where the object is used as a value."""
    return describe(what) + _UNTYPED


def is_dataclass(cls: type) -> bool:
    return dataclasses.is_dataclass(cls)
