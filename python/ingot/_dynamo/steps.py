# SPDX-License-Identifier: Apache-2.0
"""What a line of the user's code does that one graph cannot have: instructions and classes in C that PyTorch does not
know. Python's hooks tell of calls of functions only; classes are found by the names that a line calls.
"""

from __future__ import annotations

import builtins
import dis
import functools
import types
from typing import Any

__all__ = ["is_raised", "refused_on_line"]

_INSTRUCTIONS = {"MATCH_CLASS": "missing: MATCH_CLASS"}

# Classes that are not made inside of a graph, by module and name; None: all of the module.
_CLASSES: set[tuple[str, str | None]] = {
    ("_io", None), ("array", None), ("datetime", None), ("decimal", None), ("types", "SimpleNamespace"),
    ("weakref", "ReferenceType"), ("_queue", None), ("zoneinfo", None), ("builtins", "bytearray"),
    ("builtins", "bytes"), ("builtins", "complex"), ("builtins", "mappingproxy"), ("builtins", "memoryview"),
    ("builtins", "method"), ("builtins", "object"), ("itertools", "compress"), ("itertools", "cycle"),
    ("itertools", "filterfalse"),
    ("itertools", "pairwise"), ("itertools", "permutations"), ("itertools", "starmap"), ("itertools", "takewhile"),
    ("operator", "attrgetter"), ("operator", "itemgetter"), ("operator", "methodcaller"),
}  # fmt: skip


_STATEFUL = "numpy.random"  # methods of its generators draw from a state


@functools.lru_cache(maxsize=256)
def _lines(code: types.CodeType) -> dict[int, list[tuple[str, tuple[str, ...]]]]:
    """Per line: ("does", (reason,)) and ("calls", (name, attribute, ...))."""
    found: dict[int, list[tuple[str, tuple[str, ...]]]] = {}
    line = code.co_firstlineno
    chain: list[str] = []
    called = pushed = False
    for i in dis.get_instructions(code):
        extends = i.opname in ("LOAD_ATTR", "LOAD_METHOD") and chain
        if chain and called and not extends:
            found.setdefault(line, []).append(("calls", tuple(chain)))
        if i.starts_line:
            line = i.starts_line if not isinstance(i.starts_line, bool) else i.line_number
        if i.opname in _INSTRUCTIONS or (i.opname == "RAISE_VARARGS" and i.arg == 2):
            reason = _INSTRUCTIONS.get(i.opname, "raise ... from ...")
            found.setdefault(line, []).append(("does", (reason,)))
        callee = pushed or "NULL" in i.argrepr or i.opname == "LOAD_METHOD"
        if i.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FAST", "LOAD_DEREF"):
            chain, called = [i.argval], callee
        elif extends:
            chain, called = [*chain, i.argval], called or callee
        else:
            chain, called = [], False
        pushed = i.opname == "PUSH_NULL"
    return found


def _resolve(frame: types.FrameType, chain: tuple[str, ...]) -> Any:
    """What the names mean; only modules are looked into, because attributes of other objects may be computed."""
    name = chain[0]
    for scope in (frame.f_locals, frame.f_globals, vars(builtins)):
        if name in scope:
            found = scope[name]
            break
    else:
        return None
    for name in chain[1:]:
        if not isinstance(found, types.ModuleType):
            return None
        found = vars(found).get(name)
    return found


def refused_on_line(frame: types.FrameType) -> str | None:
    """Why one graph cannot have the line that starts now; None: it can, as far as can be told."""
    for kind, what in _lines(frame.f_code).get(frame.f_lineno, ()):
        if kind == "does":
            return what[0]
        made = _resolve(frame, what)
        if type(getattr(made, "__self__", None)).__module__.startswith(_STATEFUL):
            return f"call_function {made}"  # in C, but not of the kind that Python's hooks tell of
        if isinstance(made, type):
            name = made.__name__
            if (made.__module__, name) in _CLASSES or (made.__module__, None) in _CLASSES:
                return f"call_function UserDefinedClassVariable({made})"
    return None


def is_raised(frame: types.FrameType) -> bool:
    """Does the frame raise an exception itself, by a statement?"""
    step = next((i for i in dis.get_instructions(frame.f_code) if i.offset == frame.f_lasti), None)
    return step is not None and step.opname in ("RAISE_VARARGS", "RERAISE")
