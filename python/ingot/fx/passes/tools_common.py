# SPDX-License-Identifier: Apache-2.0
"""What several passes ask of nodes and graphs."""
from __future__ import annotations

import collections
from collections.abc import Mapping
from typing import Any

from ingot import _C, nn
from ingot.fx.graph import Graph
from ingot.fx.graph_module import GraphModule
from ingot.fx.node import Node, _get_qualified_name

__all__ = ["get_acc_ops_name", "get_node_target", "is_node_output_tensor", "legalize_graph"]

Tensors = tuple | list
TensorOrTensors = Any
NodeList = list[Node]
NodeSet = set[Node]
Names = list[str]
CALLABLE_NODE_OPS = ("call_module", "call_function", "call_method")


def get_acc_ops_name(k: Any) -> str:
    """The name of a target, with its module where that says something."""
    if isinstance(k, str):
        return k
    module = getattr(k, "__module__", None) or ""
    if "acc_ops" in module:
        return f"acc_ops.{k.__name__}"
    return f"{module.replace('torch._ops', 'torch.ops')}.{k.__name__}" if module else k.__name__


def get_node_target(submodules: Mapping[str, nn.Module], node: Node) -> str:
    """A text for what a node calls: the class of a module, the path of a function, the name of a method."""
    if node.op not in CALLABLE_NODE_OPS:
        raise AssertionError(f"Expect op types of {', '.join(CALLABLE_NODE_OPS)}, but found {node.op}")
    if node.op == "call_module":
        module = submodules[node.target]
        target = getattr(module, "_base_class_origin", type(module))
        return get_acc_ops_name(target)
    if node.op == "call_function":
        return _get_qualified_name(node.target)
    return str(node.target)


def is_node_output_tensor(node: Node) -> bool:
    """Whether a node's value is a tensor, as its type annotation in the metadata says."""
    kind = node.meta.get("type", None)
    return kind is not None and issubclass(kind, _C.Tensor)


def legalize_graph(gm: GraphModule) -> GraphModule:
    """Puts the nodes of a graph into an order in which every value is computed before it is used."""
    graph = gm.graph
    waiting = {node: len(node.all_input_nodes) for node in graph.nodes}
    ready = collections.deque(node for node, count in waiting.items() if count == 0)
    made = Graph()
    values: dict[Node, Node] = {}
    while ready:
        node = ready.popleft()
        values[node] = made.node_copy(node, lambda n: values[n])
        for user in node.users:
            waiting[user] -= 1
            if waiting[user] == 0:
                ready.append(user)
    if len(values) < len(graph.nodes):
        raise RuntimeError(f"Input graph has cycles, unable to add {[n for n, count in waiting.items() if count]}")
    made._codegen = graph._codegen
    gm.graph = made
    return gm


def stable_topological_sort(gm: GraphModule) -> GraphModule:
    """The same, where the order stays as it is wherever it can."""
    graph = gm.graph
    done: set[Node] = set()
    waiting: dict[Node, list[Node]] = {}
    pending = list(reversed(graph.nodes))
    order: list[Node] = []
    while pending:
        node = pending.pop()
        missing = next((n for n in node.all_input_nodes if n not in done), None)
        if missing is not None:
            waiting.setdefault(missing, []).append(node)
            continue
        done.add(node)
        order.append(node)
        pending += reversed(waiting.pop(node, []))
    if len(order) < len(graph.nodes):
        raise AssertionError("the graph has a cycle")
    for before, node in zip(order, order[1:], strict=False):
        before.append(node)
    return gm
