# SPDX-License-Identifier: Apache-2.0
"""Nodes by the layer or function that they come from."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ingot.fx.graph import Graph
from ingot.fx.node import Node

__all__ = ["SourcePartition", "check_subgraphs_connected", "get_source_partitions"]


@dataclass
class SourcePartition:
    """The nodes of one call of a layer or function."""

    nodes: list[Node]
    source: Any
    input_nodes: list[Node] = field(default_factory=list)
    output_nodes: list[Node] = field(default_factory=list)
    params: list[Node] = field(default_factory=list)


def get_source_partitions(
    graph: Graph, wanted_sources: list[Any], filter_fn: Callable[[Node], bool] | None = None
) -> dict[Any, list[SourcePartition]]:
    """The calls of the wanted layers and functions, by layer or function."""
    # Programs name layers and functions: Linear for torch.nn.Linear, relu for torch.relu.
    wanted = {getattr(source, "__name__", source): source for source in reversed(wanted_sources)}
    found: dict[Any, dict[str, list[Node]]] = {}
    for node in graph.nodes:
        stack = node.meta.get("source_fn_stack")
        if not stack:
            continue
        name, written = stack[-1]
        source = wanted.get(getattr(written, "__name__", written))
        if source is None or (not isinstance(written, str) and written is not source):
            continue
        found.setdefault(source, {}).setdefault(name, []).append(node)

    def partition(nodes: list[Node], source: Any) -> SourcePartition:
        own = set(nodes)
        inputs: dict[Node, None] = {}
        params: dict[Node, None] = {}
        outputs: dict[Node, None] = {}
        for node in nodes:
            for operand in node.args:
                if isinstance(operand, Node) and operand not in own and operand.op != "get_attr":
                    inputs[operand] = None
                elif isinstance(operand, (list, tuple)):
                    inputs.update({n: None for n in operand if isinstance(n, Node) and n not in own})
            params.update({n: None for n in node.all_input_nodes if n.op == "get_attr"})
            if node.op == "get_attr":
                params[node] = None
            if any(user not in own for user in node.users):
                outputs[node] = None
        return SourcePartition(nodes, source, list(inputs), list(outputs), list(params))

    result: dict[Any, list[SourcePartition]] = {}
    if filter_fn is not None:
        for source, by_name in list(found.items()):
            found[source] = {k: v for k, v in by_name.items() if all(map(filter_fn, v))}
    for source, by_name in found.items():
        result[source] = [partition(nodes, source) for nodes in by_name.values()]
    return result


def check_subgraphs_connected(subgraph1: SourcePartition, subgraph2: SourcePartition) -> bool:
    """Whether the second one uses a result of the first."""
    results = set(subgraph1.output_nodes) | set(subgraph1.nodes)
    return any(node in results for below in subgraph2.nodes for node in below.all_input_nodes)
