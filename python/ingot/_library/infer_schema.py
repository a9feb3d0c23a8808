# SPDX-License-Identifier: Apache-2.0
"""Schemas from annotations: "(Tensor x, float s) -> Tensor"."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Sequence
from typing import Any

import ingot
from ingot._C import Tensor

__all__ = ["SUPPORTED_PARAM_TYPES", "SUPPORTED_RETURN_TYPES", "infer_schema"]

_Number = typing.Union[int, float, bool]  # noqa: UP007  printed in errors

# A type and its name in schemas; whether it may be in a list, and whether that list, or an entry of it, may be None.
_BASES = (
    (Tensor, "Tensor", True, "entry"),
    (int, "SymInt", True, "list"),
    (float, "float", True, "list"),
    (bool, "bool", True, "list"),
    (str, "str", False, ""),
    (_Number, "Scalar", True, ""),
    (ingot.dtype, "ScalarType", False, ""),
    (ingot.device, "Device", False, ""),
)


def _parameter_types() -> dict[Any, str]:
    found: dict[Any, str] = {}
    for base, name, listed, none in _BASES:
        found[base] = name
        found[typing.Optional[base]] = f"{name}?"  # noqa: UP007, UP045
        lists = (typing.Sequence, typing.List) if listed else ()  # noqa: UP006
        found.update({kind[base]: f"{name}[]" for kind in lists})
        if none == "entry":
            found.update({kind[typing.Optional[base]]: f"{name}?[]" for kind in lists})  # noqa: UP007, UP045
        elif none == "list":
            found.update({typing.Optional[kind[base]]: f"{name}[]?" for kind in lists})  # noqa: UP007, UP045
    return found


SUPPORTED_PARAM_TYPES = _parameter_types()
SUPPORTED_RETURN_TYPES = {
    Tensor: "Tensor",
    typing.List[Tensor]: "Tensor[]",  # noqa: UP006  printed in errors
    int: "SymInt",
    float: "float",
    bool: "bool",
    _Number: "Scalar",
}


def _canonical(t: Any) -> Any:
    """The type in the spelling of the tables: typing.List for list[...], typing.Sequence for the abstract class."""
    origin, args = typing.get_origin(t), tuple(map(_canonical, typing.get_args(t)))
    if origin is list and args:
        return typing.List[args[0]]  # noqa: UP006
    if origin is Sequence and args:
        return typing.Sequence[args[0]]
    if origin in (typing.Union, types.UnionType):
        return typing.Union[args]  # noqa: UP007
    return t


def _default_text(value: Any) -> str | None:
    """A default in a schema; None: it cannot be written."""
    if value is None or isinstance(value, (bool, int, float)):
        return str(value)
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, ingot.dtype):
        return str(value).rpartition(".")[2]
    return f'"{value}"' if isinstance(value, ingot.device) else None


def _tuple_hint(t: Any) -> str:
    if typing.get_origin(t) is not tuple:
        return ""
    args = typing.get_args(t)
    better = typing.List[args[0]] if len(set(args)) == 1 else typing.List  # noqa: UP006
    return (
        "We do not support Tuple inputs in schema. As a workaround, please try to use List instead. For example, "
        f"{better}.\n\n"
    )


class _Inference:
    """One function; errors quote its signature."""

    def __init__(self, function: Callable, mutates_args: Any) -> None:
        self.signature = inspect.signature(function)
        self.hints = typing.get_type_hints(function)
        self.mutates = mutates_args
        self.unknown = mutates_args == "unknown"

    def error(self, what: str) -> typing.NoReturn:
        raise ValueError(f"infer_schema(func): {what} Got func with signature {self.signature})")

    def parameter(self, place: int, p: inspect.Parameter) -> str:
        if p.kind not in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY):
            self.error("We do not support positional-only args, varargs, or varkwargs.")
        if p.name not in self.hints:
            self.error(f"Parameter {p.name} must have a type annotation.")
        hint = self.hints[p.name]
        text = SUPPORTED_PARAM_TYPES.get(_canonical(hint))
        if text is None:
            valid = SUPPORTED_PARAM_TYPES.keys()
            self.error(
                f"Parameter {p.name} has unsupported type {hint}. {_tuple_hint(hint)}The valid types are: {valid}."
            )
        if self.unknown or p.name in self.mutates:
            if text.startswith("Tensor"):
                text = text.replace("Tensor", f"Tensor(a{place}!)", 1)
            elif not self.unknown:
                self.error(
                    f"Parameter {p.name} is in mutable_args but only Tensors or collections of Tensors can be mutated"
                )
        return f"{text} {p.name}{self.default(p)}"

    def default(self, p: inspect.Parameter) -> str:
        if p.default is p.empty:
            return ""
        text = _default_text(p.default)
        if text is None:
            self.error(
                f"Parameter {p.name} has an unsupported default value type {type(p.default)}. Please file an issue on "
                "GitHub so we can prioritize this."
            )
        return f"={text}"

    def parameters(self) -> str:
        parts: list[str] = []
        for place, p in enumerate(self.signature.parameters.values()):
            if p.kind == p.KEYWORD_ONLY and "*" not in parts:
                parts.append("*")
            parts.append(self.parameter(place, p))
        missing = set() if self.unknown else set(self.mutates) - set(self.signature.parameters)
        if missing:
            names = "{" + ", ".join(map(repr, sorted(missing))) + "}"
            self.error(
                f"{names} in mutates_args were not found in the custom op's signature. mutates_args should contain the "
                "names of all args that the custom op mutates, or just the string 'unknown' if you don't know."
            )
        return ", ".join(parts)

    def one_return(self, t: Any) -> str:
        text = SUPPORTED_RETURN_TYPES.get(_canonical(t)) if isinstance(t, typing.Hashable) else None
        if text is None:
            self.error(f"Return has unsupported type {t}. The valid types are: {SUPPORTED_RETURN_TYPES}.")
        return text

    def returns(self) -> str:
        if self.signature.return_annotation is inspect.Signature.empty:
            self.error("No return type annotation was provided. Please add one.")
        t = self.hints.get("return")
        if t is None or t is types.NoneType:
            return "()"
        if typing.get_origin(t) is tuple:
            return "(" + ", ".join(map(self.one_return, typing.get_args(t))) + ")"
        return self.one_return(t)


def infer_schema(prototype_function: Callable, /, *, mutates_args: Any, op_name: str | None = None) -> str:
    """The schema of a function by its annotations. `mutates_args` names the tensors that it writes, or is "unknown":
    it may write any."""
    if isinstance(mutates_args, str) and mutates_args != "unknown":
        raise ValueError(
            "mutates_args must either be a sequence of the names of the arguments that are mutated or the string "
            "'unknown'. "
        )
    inference = _Inference(prototype_function, mutates_args)
    parameters = inference.parameters()
    return f"{op_name or ''}({parameters}) -> {inference.returns()}"


def tuple_to_list(tuple_type: Any) -> Any:
    """The type of a list with the elements of a tuple: List[int] for Tuple[int, int]."""
    of = tuple(a for a in typing.get_args(tuple_type) if a is not Ellipsis)
    return typing.List[typing.Union[of]] if of else typing.List  # noqa: UP006, UP007 (what schemas are inferred from)
