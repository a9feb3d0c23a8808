# SPDX-License-Identifier: Apache-2.0
"""Sizes of what nodes compute and hold, and replacing one target by another."""
from __future__ import annotations

from typing import Any, NamedTuple

from ingot.fx.graph import Graph
from ingot.fx.graph_module import GraphModule
from ingot.fx.node import Node, map_arg
from ingot.fx.passes.shape_prop import ShapeProp

__all__ = ["get_size_of_all_nodes", "get_size_of_node", "get_tensor_meta", "replace_target_nodes_with", "size_bytes"]


class size_bytes(NamedTuple):  # noqa: N801 (PyTorch's name)
    output_size: int
    total_size: int


def replace_target_nodes_with(
    fx_module: GraphModule, old_op: str, old_target: Any, new_op: str, new_target: Any
) -> None:
    """Nodes of one kind and target become nodes of another, with the same arguments."""
    made = Graph()
    values: dict[Node, Node] = {}
    for node in fx_module.graph.nodes:
        if node.op == old_op and node.target == old_target:
            args = map_arg(node.args, lambda n: values[n])
            kwargs = map_arg(node.kwargs, lambda n: values[n])
            if not isinstance(args, tuple) or not isinstance(kwargs, dict):
                raise AssertionError
            values[node] = made.create_node(new_op, new_target, args, dict(kwargs), node.name)
        else:
            values[node] = made.node_copy(node, lambda n: values[n])
    fx_module.graph = made


def get_size_of_all_nodes(fx_module: GraphModule, args: list[Any] | None = None) -> None:
    """Sets node.size_bytes everywhere but on the output, by running the module on fake inputs if they are given."""
    if args is not None:
        ShapeProp(fx_module).propagate(*args)
    for node in fx_module.graph.nodes:
        if node.op == "output":
            break
        node.size_bytes = get_size_of_node(fx_module, node)


def get_tensor_meta(node: Node) -> Any:
    meta = node.meta.get("tensor_meta")
    if not meta:
        raise RuntimeError(
            f"Node {node} has no tensor metadata associated with it! Check that shape propagation has run."
        )
    return meta


def get_size_of_node(fx_module: GraphModule, node: Node) -> size_bytes:
    """How many bytes its result takes, and with it the parameters and buffers of the module that it calls."""
    held = 0
    if node.op == "call_module":
        module = dict(fx_module.named_modules())[node.target]
        held = sum(p.numel() for p in [*module.parameters(), *module.buffers()])
    described = get_tensor_meta(node)
    count = described.shape.numel()
    each = 1 if described.dtype.is_floating_point is None else described.dtype.itemsize
    return size_bytes(each * count, each * (count + held))
