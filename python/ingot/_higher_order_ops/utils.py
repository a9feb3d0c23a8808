# SPDX-License-Identifier: Apache-2.0
"""What higher-order operators ask of the graphs that they are given."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ingot import _C
from ingot.fx.experimental.proxy_tensor import make_fx
from ingot.fx.graph_module import GraphModule
from ingot.utils import _pytree as pytree

__all__ = ["UnsupportedAliasMutationException", "autograd_not_implemented", "reenter_make_fx", "unique_graph_id"]


class UnsupportedAliasMutationException(RuntimeError):
    """A function that must compute new values writes or returns its inputs."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def reenter_make_fx(fn: Callable) -> Callable:
    """The graph of a function that another trace calls."""
    return lambda *args: make_fx(fn)(*args)


def autograd_not_implemented(op: Any, deferred_error: bool) -> Callable:
    """The rule of an operator without gradients: it refuses operands that need them."""

    def rule(*args: Any, **kwargs: Any) -> Any:
        leaves = pytree.tree_leaves((args, kwargs))
        if _C.is_grad_enabled() and any(isinstance(x, _C.Tensor) and x.requires_grad for x in leaves):
            raise RuntimeError(f"Autograd not implemented for {op}")
        return op(*args, **kwargs)

    return rule


def unique_graph_id(proxy_mode: Any, prefix: str) -> tuple[int, str]:
    """The first free name of a sub-graph below the module that is traced."""
    root = proxy_mode.tracer.root
    i = 0
    while hasattr(root, f"{prefix}_{i}"):
        i += 1
    return i, f"{prefix}_{i}"


def _schema(node: Any) -> Any:
    return getattr(node.target, "_schema", None) if node.op == "call_function" else None


def _has_potential_branch_input_mutation(branch: Callable, inputs: Any) -> bool:
    """Whether the graph of a function writes one of its inputs, or a part of one."""
    gm = branch if isinstance(branch, GraphModule) else make_fx(branch)(*inputs)
    shares = {n for n in gm.graph.nodes if n.op == "placeholder"}
    for node in gm.graph.nodes:
        schema = _schema(node)
        if schema is None:
            continue
        for argument, value in zip(schema.arguments, node.args, strict=False):
            if argument.alias_info is None or value not in shares:
                continue
            if argument.alias_info.is_write:
                return True
            shares.add(node)
    return any(_has_potential_branch_input_mutation(m, inputs) for m in gm.children() if isinstance(m, GraphModule))


def _has_potential_branch_input_alias(branch: Callable, inputs: Any) -> bool:
    """Whether the graph of a function returns one of its inputs, or a part of one."""
    gm = branch if isinstance(branch, GraphModule) else make_fx(branch)(*inputs)
    shares = {n for n in gm.graph.nodes if n.op == "placeholder"}
    for node in gm.graph.nodes:
        schema = _schema(node)
        if schema is not None and any(
            argument.alias_info is not None and value in shares
            for argument, value in zip(schema.arguments, node.args, strict=False)
        ):
            shares.add(node)
    returned = pytree.tree_leaves(gm.graph.output_node().args)
    return any(value in shares for value in returned) or any(
        _has_potential_branch_input_alias(m, inputs) for m in gm.children() if isinstance(m, GraphModule)
    )
