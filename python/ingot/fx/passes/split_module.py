# SPDX-License-Identifier: Apache-2.0
"""A graph cut into modules, by a function that says to which part a node belongs."""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ingot import nn
from ingot.fx.graph import Graph
from ingot.fx.graph_module import GraphModule
from ingot.fx.node import Node, map_arg

__all__ = ["Partition", "split_module"]


class Partition:
    """A part: its nodes, what it needs and what others need of it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.submod_name = f"submod_{name}"
        self.node_names: list[str] = []
        self.inputs: dict[str, None] = {}
        self.outputs: dict[str, None] = {}
        self.dependencies: dict[str, None] = {}
        self.dependents: dict[str, None] = {}
        self.graph = Graph()
        self.environment: dict[Node, Node] = {}
        self.targets: dict[str, Any] = {}

    def __repr__(self) -> str:
        ends = f"inputs: {list(self.inputs)},\n outputs: {list(self.outputs)}"
        return f"name: {self.name},\n nodes: {self.node_names},\n {ends}"


def _attribute(module: nn.Module, path: str) -> Any:
    found: Any = module
    for part in path.split("."):
        if not hasattr(found, part):
            raise AttributeError(f"Node target {path} not found!")
        found = getattr(found, part)
    return found


def _order(parts: dict[str, Partition]) -> list[str]:
    """Each part behind those that it depends on."""
    waits = {name: len(part.dependencies) for name, part in parts.items()}
    ready = [name for name, count in waits.items() if count == 0]
    out: list[str] = []
    while ready:
        name = ready.pop(0)
        out.append(name)
        for user in parts[name].dependents:
            waits[user] -= 1
            if waits[user] == 0:
                ready.append(user)
    if len(out) != len(parts):
        raise RuntimeError("cycle exists between partitions!")
    return out


def _is_result(node: Node) -> bool:
    return any(user.op == "output" for user in node.users)


def split_module(
    m: GraphModule,
    root_m: nn.Module,
    split_callback: Callable[[Node], int],
    qualname_map: dict[str, str] | None = None,
    keep_original_order: bool | None = False,
    keep_original_node_name: bool | None = False,
) -> GraphModule:
    """A module that calls submod_0, submod_1, ...: the nodes of which split_callback says 0, 1, ..."""
    parts: dict[str, Partition] = {}
    part_of: dict[Node, str] = {}
    nodes = {n.name: n for n in m.graph.nodes}

    def use(definer: Node, user: Node | None) -> None:
        """A value is needed: by another part, or outside of all of them."""
        own = part_of.get(definer)
        other = part_of.get(user) if user is not None else None
        if own == other and user is not None:
            return
        if own is not None:
            parts[own].outputs.setdefault(definer.name)
            if other is not None:
                parts[own].dependents.setdefault(other)
        if other is not None:
            parts[other].inputs.setdefault(definer.name)
            if own is not None:
                parts[other].dependencies.setdefault(own)

    for node in m.graph.nodes:
        if node.op in ("placeholder", "get_attr", "output"):
            continue
        name = str(split_callback(node))
        parts.setdefault(name, Partition(name)).node_names.append(node.name)
        part_of[node] = name
    for node in m.graph.nodes:
        if node.op in ("placeholder", "get_attr"):
            continue
        for operand in node.all_input_nodes:
            use(operand, node if node.op != "output" else None)
    order = list(parts) if keep_original_order else _order(parts)

    # The graphs of the parts. They read the graphs that they call by themselves, other attributes are passed to them.
    attribute_nodes = [n for n in m.graph.nodes if n.op == "get_attr"]
    graphs = {n for n in attribute_nodes if isinstance(_attribute(m, n.target), GraphModule)}
    for part in parts.values():
        for name in list(part.inputs):
            source = nodes[name]
            if source in graphs:
                del part.inputs[name]
                continue
            holder = part.graph.placeholder(name, type_expr=source.type)
            holder.meta = source.meta.copy()
            part.environment[source] = holder
    for node in m.graph.nodes:
        if node not in part_of:
            continue
        part = parts[part_of[node]]
        for operand in node.all_input_nodes:
            if operand in graphs and operand not in part.environment:
                path = operand.target.replace(".", "_")
                part.targets[path] = _attribute(m, operand.target)
                read = part.graph.get_attr(path)
                read.meta = operand.meta.copy()
                part.environment[operand] = read
        env = part.environment
        args = map_arg(node.args, lambda n, env=env: env[n])
        kwargs = map_arg(node.kwargs, lambda n, env=env: env[n])
        target = node.target
        if node.op == "call_module":
            target = node.target.replace(".", "_")
            part.targets[target] = _attribute(m, node.target)
            if qualname_map is not None:
                qualname_map[f"{part.submod_name}.{target}"] = node.target
        made = part.graph.create_node(
            node.op, target, tuple(args), dict(kwargs), node.name if keep_original_node_name else None, node.type
        )
        made.meta = node.meta.copy()
        part.environment[node] = made

    # The graph that calls them.
    base = Graph()
    attributes: dict[str, Any] = {}
    values: dict[str, Node] = {}

    def read(node: Node) -> None:
        made = base.get_attr(node.target)
        made.meta = node.meta.copy()
        attributes[node.target] = _attribute(m, node.target)
        values[node.name] = made

    for node in m.graph.nodes:
        if node.op == "placeholder":
            default = (node.args[0],) if node.args else ()
            made = base.create_node("placeholder", node.target, default, {}, node.name, node.type)
            made.meta = node.meta.copy()
            values[node.name] = made
        elif node.op == "get_attr" and (_is_result(node) or not keep_original_order) and node not in graphs:
            read(node)
    for name in order:
        part = parts[name]
        for n in part.inputs:
            if n not in values:
                read(nodes[n])
        results = tuple(part.environment[nodes[n]] for n in part.outputs)
        if results:
            part.graph.output(results if len(results) != 1 else results[0])
        attributes[part.submod_name] = GraphModule(part.targets, part.graph)
        call = base.call_module(part.submod_name, tuple(values[n] for n in part.inputs))
        if len(results) == 1:
            values[next(iter(part.outputs))] = call
            continue
        for i, n in enumerate(part.outputs):
            item = base.call_function(operator.getitem, (call, i))
            item.meta = nodes[n].meta.copy()
            values[n] = item
    for node in m.graph.nodes:
        if node.op == "output":
            base.output(map_arg(node.args[0], lambda n: values[n.name]), node.type)
    return GraphModule(attributes, base)
