# SPDX-License-Identifier: Apache-2.0
"""Names and schemas of operators."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ingot import _C
from ingot.library import _overload, _parse_namespace

__all__ = [
    "fill_defaults", "has_kwarg_only_args", "has_kwarg_only_tensors", "is_builtin", "is_functional_schema",
    "is_tensor_like_type", "is_tensorlist_like_type", "lookup_op", "parse_namespace", "zip_schema",
]  # fmt: skip

parse_namespace = _parse_namespace


def lookup_op(qualname: str) -> Any:
    """The operator of a name."""
    return _overload(qualname)


def is_builtin(op: Any) -> bool:
    return op.namespace in {"aten", "prim", "prims"}


def is_functional_schema(schema: Any) -> bool:
    """Whether an operator neither writes to its arguments nor returns one of them."""
    schema = _C.parse_schema(schema) if isinstance(schema, str) else schema
    if schema.is_mutable:
        return False
    returns = schema.returns
    return bool(returns) and all(r.alias_info is None for r in returns)


def is_tensor_like_type(typ: Any) -> bool:
    return str(typ) in ("Tensor", "Optional[Tensor]")


def is_tensorlist_like_type(typ: Any) -> bool:
    return str(typ) in (
        "List[Tensor]", "List[Optional[Tensor]]", "Optional[List[Tensor]]", "Optional[List[Optional[Tensor]]]"
    )  # fmt: skip


def has_kwarg_only_args(schema: Any) -> bool:
    return any(a.kwarg_only for a in schema.arguments)


def has_kwarg_only_tensors(schema: Any) -> bool:
    named = [a.type for a in schema.arguments if a.kwarg_only]
    return any(is_tensor_like_type(t) or is_tensorlist_like_type(t) for t in named)


def fill_defaults(schema: Any, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
    """The arguments of a call with the defaults of those that were not given."""
    places, names = list(args), {}
    for i, info in enumerate(schema.arguments):
        if info.kwarg_only:
            names[info.name] = kwargs.get(info.name, info.default_value)
        elif i >= len(args):
            places.append(kwargs.get(info.name, info.default_value))
    return tuple(places), names


def zip_schema(schema: Any, args: tuple, kwargs: dict[str, Any]) -> Iterable[tuple[Any, Any]]:
    """Arguments of a schema with the values given for them."""
    for i, info in enumerate(schema.arguments):
        if info.kwarg_only or i >= len(args):
            if info.name in kwargs:
                yield info, kwargs[info.name]
        else:
            yield info, args[i]
