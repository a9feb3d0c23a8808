# SPDX-License-Identifier: Apache-2.0
"""Names, schemas and places of operators."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator
from typing import Any

import ingot
from ingot import _C

__all__ = [
    "Kernel",
    "RegistrationHandle",
    "get_source",
    "has_kwarg_only_args",
    "is_builtin",
    "is_functional_schema",
    "is_tensorlist_like_type",
    "lookup_op",
    "mutates_and_returns_first_arg",
    "parse_namespace",
    "zip_schema",
]

@dataclasses.dataclass
class Kernel:
    """A function and where it was registered."""

    func: Callable
    source: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.func(*args, **kwargs)


class RegistrationHandle:
    """destroy() takes a registration back."""

    def __init__(self, on_destroy: Callable) -> None:
        self._on_destroy = on_destroy

    def destroy(self) -> None:
        self._on_destroy()


_BUILTIN = frozenset({"aten", "prim", "prims"})


def get_source(stacklevel: int) -> str:
    """The "file:line" that many calls up."""
    frame = sys._getframe(stacklevel + 1)
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def parse_namespace(qualname: str) -> tuple[str, str]:
    """("ns", "name") of "ns::name"; ValueError: it does not have that form."""
    parts = qualname.split("::")
    if len(parts) != 2:
        raise ValueError(
            f'Expected `qualname` to be of the form "namespace::name", but got {qualname}. The qualname passed to the '
            "torch.library APIs must consist of a namespace and a name, e.g. aten::sin"
        )
    return parts[0], parts[1]


def lookup_op(qualname: str) -> Any:
    """The OpOverload called "ns::name" or "ns::name.overload"; AttributeError: it is not defined."""
    namespace, rest = parse_namespace(qualname)
    name, _, overload = rest.partition(".")
    packet = getattr(getattr(ingot.ops, namespace), name)
    return getattr(packet, overload or "default")


def is_builtin(op: Any) -> bool:
    if not isinstance(op, _C.OpOverload):
        raise AssertionError(f"op must be instance of OpOverload. Got: {type(op)}")
    return op.namespace in _BUILTIN


def _writes(argument: Any) -> bool:
    return argument.alias_info is not None and argument.alias_info.is_write


def is_mutable_schema(schema: Any) -> bool:
    """Whether an argument is written."""
    return any(map(_writes, schema.arguments))


def is_functional_schema(schema: Any) -> bool:
    """Whether an operator writes nothing, returns something and returns no views."""
    if is_mutable_schema(schema) or not schema.returns:
        return False
    return all(r.alias_info is None for r in schema.returns)


def mutates_and_returns_first_arg(op: Any) -> bool:
    """Whether an operator is like add_: it writes its first argument, nothing else, and returns it."""
    arguments, returns = op._schema.arguments, op._schema.returns
    if len(returns) != 1 or not arguments or not _writes(arguments[0]) or any(map(_writes, arguments[1:])):
        return False
    alias = returns[0].alias_info
    return alias is not None and alias.is_write and alias.after_set == arguments[0].alias_info.after_set


def is_tensor_like_type(typ: Any) -> bool:
    return str(typ) in ("Tensor", "Optional[Tensor]")


def has_kwarg_only_args(schema: Any) -> bool:
    return any(a.kwarg_only for a in schema.arguments)


def has_tensor_arg(schema: Any) -> bool:
    return any(is_tensor_like_type(a.type) or is_tensorlist_like_type(a.type) for a in schema.arguments)


def can_generate_trivial_fake_impl(op: Any) -> bool:
    """Whether the results for fake tensors need no rule: the operator only writes its arguments."""
    if not isinstance(op, _C.OpOverload):
        raise AssertionError
    return not is_builtin(op) and is_mutable_schema(op._schema) and not op._schema.returns


def requires_set_python_module() -> bool:
    """Whether operators of C++ must name the Python module of their fake implementations."""
    return False


def has_kwarg_only_tensors(schema: Any) -> bool:
    named = [a.type for a in schema.arguments if a.kwarg_only]
    return any(is_tensor_like_type(t) or is_tensorlist_like_type(t) for t in named)


def fill_defaults(schema: Any, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
    """All arguments of a call: what was given, and defaults for the rest."""
    positional = [a for a in schema.arguments if not a.kwarg_only]
    whole = (*args, *(kwargs.get(a.name, a.default_value) for a in positional[len(args) :]))
    named = {a.name: kwargs.get(a.name, a.default_value) for a in schema.arguments if a.kwarg_only}
    return whole, named


def zip_schema(schema: Any, args: tuple, kwargs: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Each argument that a call gives, with its value."""
    for i, argument in enumerate(schema.arguments):
        if argument.name in kwargs:
            yield argument, kwargs[argument.name]
        elif not argument.kwarg_only and i < len(args):
            yield argument, args[i]


def is_tensorlist_like_type(typ: Any) -> bool:
    """Whether a type of a schema is Tensor[], Tensor?[] or one of these or None."""
    return str(typ) in {f"{opening}{inner}{closing}"
                        for inner in ("List[Tensor]", "List[Optional[Tensor]]")
                        for opening, closing in (("", ""), ("Optional[", "]"))}  # fmt: skip


def is_op(value: Any) -> bool:
    return isinstance(value, _C.OpOverload)
