# SPDX-License-Identifier: Apache-2.0
"""One form for calls that mean the same: arguments by name, Python's operators instead of functions."""

from __future__ import annotations

import operator
from typing import Any

import ingot
from ingot import fx
from ingot.fx.experimental.schema_type_annotation import AnnotateTypesWithSchema
from ingot.fx.node import map_aggregate
from ingot.fx.operator_schemas import create_type_hint, normalize_function, normalize_module

__all__ = ["NormalizeArgs", "NormalizeOperators"]


class NormalizeArgs(fx.Transformer):
    """Calls of functions and modules pass their arguments by name, with the defaults written out. Overloads are told
    apart by the types that nodes have in meta["type"]."""

    def __init__(self, module: fx.GraphModule, normalize_to_only_use_kwargs: bool = True) -> None:
        super().__init__(module)
        self.node_map: dict[Any, fx.Node] = {}
        self.normalize_to_only_use_kwargs = normalize_to_only_use_kwargs

    def run_node(self, n: fx.Node) -> Any:
        if n.op == "call_function":
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            types = map_aggregate(n.args, _type_of)
            named = {name: _type_of(value) for name, value in n.kwargs.items()}
            hints = tuple(create_type_hint(t) for t in types)
            made = self._normalized(n.target, args, kwargs, hints, named)
        else:
            made = super().run_node(n)
        if n.op != "output":
            self.node_map[made] = n
            made.node.meta = n.meta
            made.node.type = n.type
        return made

    def _normalized(
        self, target: Any, args: tuple, kwargs: dict[str, Any], arg_types: tuple, kwarg_types: dict[str, Any]
    ) -> Any:
        if not callable(target):
            raise AssertionError
        found = normalize_function(
            target,
            args,
            kwargs,
            arg_types,
            kwarg_types,
            self.normalize_to_only_use_kwargs,
        )
        if found is None:
            return super().call_function(target, args, kwargs)
        return self.tracer.create_proxy("call_function", target, found.args, found.kwargs)

    def call_module(self, target: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        found = normalize_module(self.module, target, args, kwargs, self.normalize_to_only_use_kwargs)
        return super().call_module(target, *(found if found is not None else (args, kwargs)))


def _type_of(value: Any) -> Any:
    if isinstance(value, fx.Node):
        return value.meta.get("type")
    return type(value)


class NormalizeOperators(AnnotateTypesWithSchema):
    """Calls of torch.add and similar functions with two operands become Python's operators."""

    binary_magic_method_remap: dict[Any, Any] = {
        ingot.add: operator.add, ingot.mul: operator.mul, ingot.sub: operator.sub, ingot.div: operator.truediv,
        ingot.floor_divide: operator.floordiv, ingot.remainder: operator.mod, ingot.eq: operator.eq,
        ingot.ne: operator.ne, ingot.lt: operator.lt, ingot.le: operator.le, ingot.gt: operator.gt,
        ingot.ge: operator.ge,
    }  # fmt: skip

    def call_function(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        plain = self.binary_magic_method_remap.get(target)
        if plain is None or len(args) != 2:
            return super().call_function(target, args, kwargs)
        return super().call_function(plain, args, {})
