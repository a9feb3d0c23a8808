# SPDX-License-Identifier: Apache-2.0
"""Decorators and forms that say how a function, method or class takes part in scripts. They put a mark on the object;
without a compiler they change nothing else."""

from __future__ import annotations

import collections
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

IGNORED = "ignore (leave as a call to Python, cannot be torch.jit.save'd)"
UNUSED = "unused (ignored and replaced with raising of an exception)"
EXPORTED = "export (compile this method even if nothing calls it)"
COPIED = "copy (ignored here, but kept on the module)"

MARK = "_torchscript_modifier"  # PyTorch's name, which libraries ask for
OVERLOADS = "_ingot_script_overloads"


def mark_of(what: Any) -> str | None:
    return getattr(getattr(what, "__func__", what), MARK, None)


def _marked(what: Any, mark: str) -> Any:
    if isinstance(what, property):
        for part in (what.fget, what.fset):
            if part is not None:
                setattr(part, MARK, mark)
    else:
        setattr(what, MARK, mark)
    return what


def ignore(drop: Any = False, **options: Any) -> Any:
    """The function stays a Python function: a script calls it, and cannot be saved. drop: see unused."""
    if callable(drop):
        return _marked(drop, IGNORED)
    if not isinstance(drop, bool):
        raise RuntimeError(f"Argument to @torch.jit.ignore must be a bool or a function but got {drop}")
    if options.pop("drop_on_export", False):
        warnings.warn(
            "ignore(drop_on_export=True) has been deprecated. TorchScript will now drop the function call on "
            "compilation. Use torch.jit.unused now. {}",
            category=FutureWarning,
            stacklevel=2,
        )
        drop = True
    return lambda function: _marked(function, UNUSED if drop else IGNORED)


def unused(function: Any) -> Any:
    """A script that calls the function compiles, and raises when it comes there."""
    return _marked(function, UNUSED)


def export(function: Callable) -> Callable:
    """The method is compiled even if no other method calls it."""
    return _marked(function, EXPORTED)


def is_ignored(what: Any) -> bool:
    return mark_of(what) in (IGNORED, UNUSED)


# ---- overloads: signatures first, then the body

_function_overloads: dict[str, list[Callable]] = collections.defaultdict(list)


def _name_of(function: Callable) -> str:
    return f"{function.__module__}.{function.__qualname__}"


def _overload(function: Callable) -> Callable:
    """A signature of the function of the same name that follows."""
    _function_overloads[_name_of(function)].append(function)
    return function


_overload_method = _overload


def overloads_of(function: Callable) -> list[Callable]:
    """The signatures that were declared for a function, without itself."""
    return [one for one in _function_overloads.get(_name_of(function), []) if one is not function]


# ---- values with a type


class Attribute(NamedTuple):
    """A value of a module with the type it has in scripts."""

    value: Any
    type: Any


def annotate(the_type: Any, the_value: Any) -> Any:
    """In scripts: the value with this type. In Python: the value."""
    return the_value


def is_scripting() -> bool:
    """True in scripts."""
    return False


def _unwrap_optional(value: Any) -> Any:
    assert value is not None, "Unwrapping null optional"
    return value


def interface(cls: type) -> type:
    """Methods without bodies that a class or module of a script has."""
    if not isinstance(cls, type):
        raise RuntimeError("interface must be applied to a class")
    cls.__torch_script_interface__ = True
    return cls
