# SPDX-License-Identifier: Apache-2.0
"""Which nodes a backend can run."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from typing import Any

from ingot import nn
from ingot.fx.node import Node

__all__ = [
    "IsNodeSupported", "OpSupports", "OperatorSupport", "OperatorSupportBase", "any_chain", "chain",
    "create_op_support",
]  # fmt: skip

IsNodeSupported = Callable[[Mapping[str, nn.Module], Node], bool]
CALLABLE_NODE_OPS = frozenset({"call_module", "call_function", "call_method", "output"})


class OperatorSupportBase(abc.ABC):
    @abc.abstractmethod
    def is_node_supported(self, submodules: Mapping[str, nn.Module], node: Node) -> bool: ...


def _name_of(target: Any) -> str:
    if isinstance(target, str):
        return target
    module = getattr(target, "__module__", None) or ""
    return f"{module}.{target.__name__}" if module else str(target)


class OperatorSupport(OperatorSupportBase):
    """Support by name: {"_operator.getitem": None}; None accepts operands of all dtypes, otherwise the value is a pair
    of dtypes by position and by keyword."""

    def __init__(self, support_dict: Mapping[str, Any] | None = None) -> None:
        self._support_dict = dict(support_dict or {})

    def is_node_supported(self, submodules: Mapping[str, nn.Module], node: Node) -> bool:
        if node.op not in CALLABLE_NODE_OPS:
            return True
        target = type(submodules[node.target]) if node.op == "call_module" else node.target
        name = _name_of(target)
        if name not in self._support_dict:
            return False
        wanted = self._support_dict[name]
        if wanted is None:
            return True
        positions, keywords = wanted
        pairs = [*zip(node.args, positions), *((node.kwargs.get(k), dtypes) for k, dtypes in keywords.items())]
        return all(_dtype_of(arg) in dtypes for arg, dtypes in pairs if arg is not None)


def _dtype_of(arg: Any) -> Any:
    return getattr(arg.meta.get("val"), "dtype", None) if isinstance(arg, Node) else None


class FunctionalOperatorSupport(OperatorSupportBase):
    def __init__(self, is_node_supported: IsNodeSupported) -> None:
        self._function = is_node_supported

    def is_node_supported(self, submodules: Mapping[str, nn.Module], node: Node) -> bool:
        return self._function(submodules, node)


def create_op_support(is_node_supported: IsNodeSupported) -> OperatorSupportBase:
    """Support decided by a function."""
    return FunctionalOperatorSupport(is_node_supported)


def chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Supported if all agree."""
    return create_op_support(lambda modules, node: all(s.is_node_supported(modules, node) for s in op_support))


def any_chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Supported if one of them says so."""
    return create_op_support(lambda modules, node: any(s.is_node_supported(modules, node) for s in op_support))


class OpSupports:
    """Support by properties of operands."""

    @classmethod
    def decline_if_input_dtype(cls, dtype: Any) -> OperatorSupportBase:
        return create_op_support(lambda _, node: all(_dtype_of(arg) != dtype for arg in node.all_input_nodes))

    @classmethod
    def decline_if_node_in_names(cls, disallow_set: set[str]) -> OperatorSupportBase:
        return create_op_support(lambda _, node: node.name not in disallow_set)
