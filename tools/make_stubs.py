#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the types of the package for mypy, pyright and editors: stubs made from the schemas of the operators.

    tools/make_stubs.py python/ingot-stubs/_C.pyi.in BUILD/python OUT MODULE...

BUILD/python has the built package; OUT gets one file per module.

Only modules whose names are found when they are used need a stub (ingot itself, the extension module, namespaces of
operators); everything else is typed by its own source.
"""

from __future__ import annotations

import importlib
import inspect
import keyword
import pathlib
import pkgutil
import re
import sys
import types
import typing
from typing import Any

sys.path.insert(0, sys.argv[2])

import ingot  # noqa: E402
from ingot import _C  # noqa: E402

HEAD = "# SPDX-License-Identifier: Apache-2.0\n# Made by tools/make_stubs.py.\n"
TYPES = {
    "TensorType": "Tensor", "NumberType": "_Number", "SymIntType": "_int", "IntType": "_int", "FloatType": "_float",
    "BoolType": "_bool", "ComplexType": "_complex", "StringType": "_str", "ScalarTypeType": "_dtype",
    "LayoutType": "_layout", "DeviceObjType": "_Device", "MemoryFormatType": "_memory_format",
    "_GeneratorType": "Generator",
}  # fmt: skip
OPERATOR = type(ingot.add)
# Tensor arguments for which a number may stand: it becomes a tensor without dims.
NUMBER_TOO = {"other", "exponent"}


def kind_of(part: Any, argument: bool, numbers_too: set[str] = NUMBER_TOO) -> str:
    """The Python type of an argument or result of a schema."""
    of = part.real_type
    optional = of.kind() == "OptionalType"
    of = of.getElementType() if optional else of
    if of.kind() == "ListType":
        kind = TYPES.get(of.getElementType().kind(), "Any")
        # A list of a fixed length may be given as one number: kernel_size=3.
        one = f"{kind} | " if part.N and kind.startswith("_") else ""
        kind = f"{one}Sequence[{kind}]" if argument else f"tuple[{kind}, ...]"
        kind = kind.replace("[Tensor]", "[Tensor | None]") if "Optional[Tensor]" in str(of) else kind
    else:
        kind = TYPES.get(of.kind(), "Any")
        if argument and kind == "Tensor" and part.name in numbers_too:
            kind = "Tensor | _Number"
    return f"{kind} | None" if optional and kind != "Any" else kind


def is_written(part: Any) -> bool:
    return part.alias_info is not None and part.alias_info.is_write


class Signature:
    """One overload as Python writes it."""

    def __init__(self, schema: Any, method: bool) -> None:
        self.method = method
        self.outs = [p for p in schema.arguments if p.is_out]
        self.parts = [p for p in schema.arguments if not p.is_out]
        self.rets = schema.returns
        self.in_place = method and bool(self.parts) and is_written(self.parts[0])
        self.takes_out = False
        self.numbers_too = NUMBER_TOO

    def key(self) -> tuple:
        return tuple((p.name, str(p.type)) for p in self.parts)

    def returns(self, name: str) -> str:
        kinds = [kind_of(r, False) for r in self.rets]
        if self.in_place and kinds == ["Tensor"]:
            return "Self"
        if len(kinds) < 2:
            return kinds[0] if kinds else "None"
        if all(r.name for r in self.rets):
            return f"return_types.{name}"
        return f"tuple[{', '.join(kinds)}]"

    def arguments(self, spread: bool) -> str | None:
        """spread: the first list of numbers is given as separate arguments, as in `x.view(2, 3)`."""
        parts = self.parts[1:] if self.method else self.parts
        words = ["self"] if self.method else []
        keywords = False
        if spread:
            first = parts[0] if parts else None
            if not first or first.kwarg_only or first.N or str(first.type) != "List[int]":
                return None
            words.append(f"*{first.name}: _int")
            parts, keywords = parts[1:], True
        after_default = False
        for i, p in enumerate(parts):
            if p.kwarg_only and not keywords:
                words.append("*")
                keywords = True
            name = "input" if p.name == "self" and i == 0 and not self.method else p.name
            name += "_" if keyword.iskeyword(name) else ""
            given = p.has_default_value() or (after_default and not keywords)
            after_default |= given
            words.append(f"{name}: {kind_of(p, True, self.numbers_too)}" + (" = ..." if given else ""))
        extra = []
        if self.takes_out:
            extra.append(f"out: {'Tensor' if len(self.rets) < 2 else 'tuple[Tensor, ...]'} | None = None")
        if any(p.name == "pin_memory" for p in self.parts):
            extra.append("requires_grad: _bool = False")
        if extra:
            words += extra if keywords else ["*", *extra]
        return ", ".join(words)


def overloads(name: str, schemas: list[Any], method: bool, public: str | None = None) -> list[str]:
    """The definitions of an operator: one per schema; the form with out= belongs to the one that it writes for."""
    found = [Signature(s, method) for s in schemas]
    if method:
        found = [s for s in found if s.parts and s.parts[0].type.kind() == "TensorType"]
    plain = [s for s in found if not s.outs]
    numbers = {p.name for s in plain for p in s.parts if p.type.kind() == "NumberType"}
    for s in plain:
        s.numbers_too = NUMBER_TOO - numbers  # those overloads take the numbers
    for s in found:
        for other in plain:
            other.takes_out |= bool(s.outs) and not method and s.key() == other.key()
    lines = []
    for s in plain:
        for spread in (False, True):
            arguments = s.arguments(spread)
            line = f"def {public or name}({arguments}) -> {s.returns(name)}: ..."
            if arguments is not None and line not in lines:
                lines.append(line)
    return ["@overload\n" + line for line in lines] if len(lines) > 1 else lines


def result_classes(schemas_of: dict[str, list[Any]]) -> list[str]:
    """The named tuples that operators with several results return."""
    lines = ["class return_types:"]
    for name, schemas in sorted(schemas_of.items()):
        for schema in schemas:
            rets = schema.returns
            if len(rets) > 1 and all(r.name for r in rets):
                fields = "".join(f"\n        {r.name}: {kind_of(r, False)}" for r in rets)
                lines.append(f"    class {name}(NamedTuple):{fields}")
                break
    return lines


def described(cls: type) -> list[str]:
    """A class by the attributes that it has."""
    lines = [f"class {cls.__name__}:"]
    for name, item in vars(cls).items():
        if keyword.iskeyword(name) or (name.startswith("__") and name not in ("__call__", "__iter__", "__len__")):
            continue
        if isinstance(item, types.GetSetDescriptorType | types.MemberDescriptorType | property):
            lines.append(f"    {name}: Any")
        elif callable(item) or isinstance(item, classmethod | staticmethod):
            lines.append(f"    def {name}(self, *args: Any, **kwargs: Any) -> Any: ...")
    return [*lines, "    def __init__(self, *args: Any, **kwargs: Any) -> None: ..."]


def value_kind(item: object) -> str | None:
    """The class of a value that the extension module holds: torch.float32 is a dtype."""
    kinds = ("dtype", "layout", "memory_format", "qscheme", "Generator")
    found = next((kind for kind in kinds if isinstance(item, getattr(_C, kind))), None)
    # Names of dtypes without tensors are no dtypes here, but they are to whoever writes them.
    return found or ("dtype" if str(item).startswith("torch.") and type(item).__name__.startswith("dtype") else None)


def indented(definitions: list[str]) -> str:
    return "".join("    " + d.replace("\n", "\n    ") + "\n" for d in definitions)


def extension(template: str) -> str:
    methods, schemas_of = [], {}
    for name in sorted(_C._op_names()):
        schemas = _C.op(name)._schemas
        schemas_of[name] = schemas
        item = inspect.getattr_static(ingot.Tensor, name, None)
        if name[:2] != "__" and hasattr(item, "_schemas"):
            methods += overloads(name, item._schemas, True)
    text = template.replace("    # The operators are added here.\n", indented(methods))
    text += "\n" + "\n".join(result_classes(schemas_of)) + "\n"
    known = set(re.findall(r"^(?:class|def) (\w+)", text, re.M))
    values = []
    for name in dir(_C):
        item = getattr(_C, name)
        if name in known or name[:2] == "__":
            continue
        if isinstance(item, type) and item.__name__ == name:
            text += "\n" + "\n".join(described(item)) + "\n"
        elif value_kind(item):
            values.append(f"{name}: {value_kind(item)}")
    return text + "\n" + "\n".join(values) + "\ndef __getattr__(name: _str) -> Any: ...\n"


# ---- modules ----

NAMES = """\
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeVar, overload

from ingot._C import _bool, _complex, _Device, _dtype, _float, _int, _layout, _memory_format, _Number, _str
"""
# Classes that signatures name.
CLASSES = ("Generator", "Size", "Tensor", "device", "dtype", "layout", "memory_format", "qscheme", "return_types")


def hint(value: object) -> str:
    """A type as a stub writes it; what this file cannot name is Any."""
    if value is None or value is type(None):
        return "None"
    if isinstance(value, type) and not typing.get_args(value):
        short = {"int": "_int", "float": "_float", "bool": "_bool", "str": "_str", "complex": "_complex"}
        if value.__module__ == "builtins":
            return short.get(value.__name__, value.__name__)
        return value.__name__ if getattr(_C, value.__name__, None) is value else "Any"
    if isinstance(value, types.UnionType) or typing.get_origin(value) is typing.Union:
        return " | ".join(dict.fromkeys(hint(v) for v in typing.get_args(value)))
    origin, given = typing.get_origin(value), typing.get_args(value)
    if origin in (list, tuple, dict, set) and given:
        return f"{origin.__name__}[{', '.join('...' if v is ... else hint(v) for v in given)}]"
    return "Any"


def function(name: str, item: types.FunctionType) -> str:
    """A function of Python by its annotations."""
    try:
        hints = typing.get_type_hints(item)
    except (NameError, TypeError):
        hints = {}
    words, slash = [], False
    parameters = inspect.signature(item).parameters.values()
    for p in parameters:
        star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        if p.kind == p.KEYWORD_ONLY and not any(w.startswith("*") for w in words):
            words.append("*")
        if slash and p.kind != p.POSITIONAL_ONLY:
            words.append("/")
        slash = p.kind == p.POSITIONAL_ONLY
        words.append(f"{star}{p.name}: {hint(hints.get(p.name, object))}" + ("" if p.default is p.empty else " = ..."))
    return f"def {name}({', '.join(words + ['/'] * slash)}) -> {hint(hints.get('return', object))}: ..."


def module(of: types.ModuleType, names: list[str]) -> str:
    imports = [f"from ingot._C import {name}" for name in CLASSES if name not in names]
    lines = []
    submodules = {found.name for found in pkgutil.iter_modules(getattr(of, "__path__", []))}
    for name in names:
        if name in submodules and name not in vars(of):  # not imported: it may need packages that a build has not
            imports.append(f"from {of.__name__} import {name} as {name}")
            continue
        item = getattr(of, name)
        home = getattr(item, "__module__", None)
        home = home.replace("torch.", "ingot.", 1) if isinstance(home, str) else None
        if isinstance(item, types.ModuleType):
            parent, _, last = item.__name__.rpartition(".")
            imports.append(f"from {parent} import {last} as {name}" if parent else f"import {last} as {name}")
        elif isinstance(item, OPERATOR):
            lines += overloads(_operator(item), item._schemas, False, name)
        elif getattr(_C, name, None) is item:
            imports.append(f"from ingot._C import {name} as {name}")
        elif home and home != of.__name__ and getattr(sys.modules.get(home), name, None) is item:
            imports.append(f"from {home} import {name} as {name}")
        elif isinstance(item, types.FunctionType):
            lines.append(function(name, item))
        elif value_kind(item):
            lines.append(f"{name}: {value_kind(item)}")
        elif isinstance(item, type):
            lines.append(f"class {name}(Exception): ..." if issubclass(item, Exception) else f"{name}: Any")
        else:
            lines.append(f"{name}: {hint(type(item))}")
    return HEAD + NAMES + "\n".join(imports) + "\n\n" + "\n".join(lines) + "\n"


def _operator(item: Any) -> str:
    return item._schemas[0].name.rpartition("::")[2]


def public(of: types.ModuleType) -> list[str]:
    return [name for name in dir(of) if name[0] != "_" and name != "annotations"]


def main() -> None:
    template, target = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[3])
    for name in sys.argv[4:]:
        of = importlib.import_module(name)
        is_package = hasattr(of, "__path__")
        if of is _C:
            text = extension(template.read_text())
        else:
            text = module(of, public(of) + ["__version__"] * (of is ingot))
        (target / ("__init__.pyi" if is_package else name.rpartition(".")[2] + ".pyi")).write_text(text)


main()
