# SPDX-License-Identifier: Apache-2.0
"""Queries about the nodes of programs."""
from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ingot._C import Tensor
from ingot.export.exported_program import ExportedProgram
from ingot.export.graph_signature import InputKind
from ingot.fx.graph_module import GraphModule
from ingot.fx.node import Node
from ingot.utils._pytree import register_dataclass_as_pytree_node

__all__ = [
    "get_buffer", "get_lifted_tensor_constant", "get_param", "is_buffer", "is_lifted_tensor_constant", "is_param",
    "node_inline_", "node_replace_", "nodes_count", "nodes_filter", "nodes_first", "nodes_map",
    "register_dataclass_as_pytree_node", "sequential_split",
]  # fmt: skip


def _target(program: ExportedProgram, node: Any, kind: InputKind) -> str | None:
    for spec in program.graph_signature.input_specs:
        if spec.kind is kind and spec.arg.name == node.name:
            return spec.target
    return None


def is_param(program: ExportedProgram, node: Any) -> bool:
    """Whether a node is the placeholder of a parameter."""
    return _target(program, node, InputKind.PARAMETER) is not None


def get_param(program: ExportedProgram, node: Any) -> Tensor | None:
    """The parameter of a placeholder, None if it is something else."""
    name = _target(program, node, InputKind.PARAMETER)
    return None if name is None else program.state_dict[name]


def is_buffer(program: ExportedProgram, node: Any) -> bool:
    return _target(program, node, InputKind.BUFFER) is not None


def get_buffer(program: ExportedProgram, node: Any) -> Tensor | None:
    name = _target(program, node, InputKind.BUFFER)
    if name is None:
        return None
    return program.state_dict[name] if name in program.state_dict else program.constants[name]


def is_lifted_tensor_constant(program: ExportedProgram, node: Any) -> bool:
    return _target(program, node, InputKind.CONSTANT_TENSOR) is not None


def get_lifted_tensor_constant(program: ExportedProgram, node: Any) -> Tensor | None:
    name = _target(program, node, InputKind.CONSTANT_TENSOR)
    return None if name is None else program.constants[name]


def nodes_filter(nodes: Iterable[Node], node_call_back: Callable[[Node], bool]) -> list[Node]:
    """The nodes that a function accepts."""
    return [node for node in nodes if node_call_back(node)]


def nodes_first(nodes: Iterable[Node], node_call_back: Callable[[Node], bool] | None = None) -> Node | None:
    """The first node that a function accepts."""
    return next((n for n in nodes if node_call_back is None or node_call_back(n)), None)


def nodes_count(nodes: Iterable[Node], node_call_back: Callable[[Node], bool]) -> int:
    return len(nodes_filter(nodes, node_call_back))


def nodes_map(nodes: list[Node], node_call_back: Callable[[Node], Any]) -> list[Node]:
    """Calls a function on each node; returns the nodes."""
    for node in nodes:
        node_call_back(node)
    return nodes


def node_replace_(old_node: Node, new_node: Node) -> None:
    """A new node takes the place of an old one."""
    old_node.replace_all_uses_with(new_node)
    old_node.users.clear()
    old_node.graph.erase_node(old_node)


def replace_call(node: Node, results: Node | Sequence[Node]) -> None:
    """Other nodes take the place of a call: one for the call itself, or one for each of its items."""
    graph = node.graph
    if isinstance(results, Node):
        node.replace_all_uses_with(results)
    else:
        for user in list(node.users):
            user.replace_all_uses_with(results[user.args[1]])
            graph.erase_node(user)
    graph.erase_node(node)


def node_inline_(call_mod_node: Node) -> None:
    """The graph of a module takes the place of its call; inputs become operands."""
    if call_mod_node.op != "call_module":
        raise AssertionError(f"{call_mod_node} is no call of a module")
    gm = call_mod_node.graph.owning_module
    sub = gm.get_submodule(call_mod_node.target)
    graph = gm.graph
    values: dict[Node, Any] = dict(
        zip([n for n in sub.graph.nodes if n.op == "placeholder"], call_mod_node.args, strict=True)
    )
    with graph.inserting_before(call_mod_node):
        results = graph.graph_copy(sub.graph, values)
    replace_call(call_mod_node, results)
    gm.delete_all_unused_submodules()
    gm.recompile()


def sequential_split(gm: GraphModule, node_call_back: Callable[[Node], bool]) -> GraphModule:
    """The module cut in front of every node that the function accepts: calls of sub-modules, one after the other."""
    from ingot.fx.passes.split_module import split_module

    number = 0
    parts: dict[Node, int] = {}
    for node in gm.graph.nodes:
        if node_call_back(node):
            number += 1
        parts[node] = number
    new = split_module(gm, gm, lambda n: parts[n], keep_original_order=True, keep_original_node_name=True)
    new.graph._codegen = copy.copy(gm.graph._codegen)
    new.recompile()
    return new
