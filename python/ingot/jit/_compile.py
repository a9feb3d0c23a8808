# SPDX-License-Identifier: Apache-2.0
"""Python functions as functions of scripts. A function is compiled once; the result stands on it."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import types
import typing
from collections.abc import Callable
from typing import Any

from ingot import _C
from ingot.jit import _front, _marks

DONE = "_ingot_script"
# Modules of the package whose functions are written another way than scripts need: module -> modules with script text,
# parts of ingot.jit._sources.
SOURCES = {
    "ingot.nn.functional": ("functional", "pooling", "losses", "resize", "attention_function"),
    "ingot.nn._losses": ("losses",),
    "ingot.nn._attention": ("attention_function",),
    "ingot": ("functions",),
    "ingot.functional": ("functions",),
    "ingot.nn.utils.rnn": ("packing",),
}
_UNUSED = "This Python function is annotated to be ignored and cannot be run"


def source_function(function: Callable) -> Callable | None:
    """The text for scripts of a function of the package; None: it has none."""
    for part in SOURCES.get(getattr(function, "__module__", None) or "", ()):
        home = importlib.import_module(f"ingot.jit._sources.{part}")
        if function.__name__ in vars(home):
            return vars(home)[function.__name__]
    return None


class Dispatch(typing.NamedTuple):
    """A function of the package that is one of two for scripts, which a constant argument chooses."""

    parameter: str
    position: int
    default: bool
    if_true: Any
    if_false: Any


def answer_of(function: Callable) -> tuple:
    """What a Python function means to the compiler."""
    plain = source_function(function) if isinstance(function, types.FunctionType) else None
    chosen = plain if plain is not None else function
    if not isinstance(chosen, Dispatch):
        return ("function", functions_of(function))
    two = [answer_of(one) for one in (chosen.if_true, chosen.if_false)]
    return ("dispatch", chosen[:3], two)


def functions_of(what: Any) -> list[Any]:
    """The functions of the unit (several: overloads) that a Python function is."""
    if isinstance(what, functools.partial):
        raise RuntimeError(f"{what!r} cannot be a function of a script: partial functions have no source text")
    plain = inspect.unwrap(getattr(what, "__func__", what))
    written = source_function(plain)
    plain = plain if written is None else written.if_false if isinstance(written, Dispatch) else written
    done = plain.__dict__.get(DONE)
    if done is None:
        done = _declare_all(plain)
        setattr(plain, DONE, done)
    return done


def _declare_all(function: types.FunctionType) -> list[Any]:
    name = _front.qualified_name(function)
    if _marks.mark_of(function) == _marks.UNUSED:
        return [declare_unused(function, _free(name), None)]
    if _marks.mark_of(function) == _marks.IGNORED:
        return [declare_host(function, _free(name), None)]
    overloads = _marks.overloads_of(function)
    if overloads:
        return [declare_overload(one, function, _free(name), None) for one in overloads]
    return [declare(function, _free(name), None)]


def _free(name: str) -> str:
    return _C._script_mangle(name) if _C._script_has_name(name) else name


def declare(function: Callable, name: str, owner: Any, cls: type | None = None) -> Any:
    """A function or method of the unit from a Python function; the body is compiled when it is needed."""
    front = _front.Front(function, cls)
    check_annotations(front.function)
    source = _front.source_of(front.function)
    check_type_comments(source.text)
    return _C._script_declare(front, *source, name, owner)


def _head_and_body(text: str) -> tuple[str, str]:
    """The lines of a definition before its first statement, and the others."""
    node = ast.parse(text).body[0]
    lines = text.splitlines(True)
    first = node.body[0].lineno - 1
    column = node.body[0].col_offset
    if lines[first][:column].strip():  # on the line of the colon
        return "".join(lines[:first]) + lines[first][:column].rstrip() + "\n", " " * 4 + lines[first][column:]
    return "".join(lines[:first]), "".join(lines[first:])


def declare_overload(signature: Callable, function: Callable, name: str, owner: Any) -> Any:
    """The body of a function under another signature."""
    head = _head_and_body(_front.source_of(signature).text)[0]
    source = _front.source_of(function)
    text = head + _head_and_body(source.text)[1]
    return _C._script_declare(_OverloadFront(signature, function), text, *source[1:], name, owner)


class _OverloadFront(_front.Front):
    """Names of the body's function, defaults of the signature."""

    def __init__(self, signature: Callable, function: Callable) -> None:
        super().__init__(function)
        self.defaults = _front.Front(signature).defaults
        written = _front.Front(function).defaults
        self.defaults = {name: written.get(name) if value is ... else value for name, value in self.defaults.items()}


def declare_unused(function: Callable, name: str, owner: Any) -> Any:
    """A call of it raises."""
    source = _front.source_of(function)
    text = _head_and_body(source.text)[0] + "    pass\n"
    declared = _C._script_declare(_front.Front(function), text, *source[1:], name, owner)
    return _C._script_set_refusal(declared, _UNUSED)


def declare_host(function: Callable, name: str, owner: Any) -> Any:
    """A call of it is a call of Python."""
    source = _front.source_of(function)
    text = _head_and_body(source.text)[0] + "    pass\n"
    declared = _C._script_declare(_front.Front(function), text, *source[1:], name, owner)
    return _C._script_set_host(declared, function)


def check_annotations(function: Callable) -> None:
    """Containers say what they contain."""
    for hint in getattr(function, "__annotations__", {}).values():
        if hint is typing.Dict:  # noqa: UP006
            raise RuntimeError(
                "Attempted to use Dict without contained types. Please add contained type, e.g. Dict[int, int]"
            )
        if hint in (typing.List, typing.Tuple, typing.Optional):  # noqa: UP006
            name = getattr(hint, "_name", None) or str(hint)
            raise RuntimeError(
                f"Attempted to use {name} without a contained type. Please add a contained type, e.g. {name}[int]"
            )


def check_type_comments(text: str) -> None:
    """A signature in comments is one line, or one line per argument and a last line with the result."""
    if "# type:" not in text:
        return
    lines = [line for line in text.split("\n") if "# type:" in line and "# type: ignore" not in line]
    if len(lines) < 2 or any("# type: (...) ->" in line for line in lines):
        return
    raise RuntimeError(
        "Return type line '# type: (...) -> ...' not found on multiline type annotation\nfor type lines:\n"
        + "\n".join(lines)
        + "\n(See PEP 484 https://www.python.org/dev/peps/pep-0484/"
        "#suggested-syntax-for-python-2-7-and-straddling-code)"
    )
