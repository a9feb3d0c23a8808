# SPDX-License-Identifier: Apache-2.0
"""Cutting a module into parts by the tags of its nodes."""
from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

from ingot import nn
from ingot.fx.graph import Graph
from ingot.fx.graph_module import GraphModule
from ingot.fx.node import Node, map_arg

__all__ = ["Component", "HolderModule", "getattr_recursive", "setattr_recursive", "split_by_tags"]


class HolderModule(nn.Module):
    """A module of given sub-modules."""

    def __init__(self, d: dict[str, nn.Module]) -> None:
        super().__init__()
        for name, module in d.items():
            self.add_module(name, module)


def getattr_recursive(obj: Any, name: str) -> Any:
    """The value at a path below an object; None below None."""
    for part in name.split("."):
        if isinstance(obj, nn.ModuleList):
            obj = obj[int(part)] if part.isdigit() and hasattr(obj, part) else getattr(obj, part, None)
        elif hasattr(obj, part):
            obj = getattr(obj, part)
        else:
            return None
    return obj


def setattr_recursive(obj: Any, attr: str, value: Any) -> None:
    first, _, rest = attr.partition(".")
    if rest:
        setattr_recursive(getattr(obj, first), rest, value)
    else:
        setattr(obj, first, value)


@dataclass
class Component:
    """A part: its graph, and which values of the whole its inputs and outputs are."""

    graph: Graph
    order: int
    name: str
    input_placeholders: list[Node] = field(default_factory=list)
    orig_inputs: list[Node] = field(default_factory=list)
    orig_outputs: list[Node] = field(default_factory=list)
    getattr_maps: dict[Node, Node] = field(default_factory=dict)
    constructor_args: list[str] = field(default_factory=list)
    gm: GraphModule | None = None


def split_by_tags(
    gm: GraphModule, tags: list[str], return_fqn_mapping: bool = False, return_tuple: bool = False,
    GraphModuleCls: type[GraphModule] = GraphModule,  # noqa: N803 (PyTorch's name)
) -> Any:  # fmt: skip
    """A module that calls one sub-module per tag, in the order of the tags. Every call of the graph has a tag
    (node.tag); what is read as an attribute is read where it is used."""
    parts = {tag: Component(Graph(), i, tag) for i, tag in enumerate(tags)}
    owner: dict[Node, Component] = {}
    inside: dict[Node, Node] = {}  # a node of the whole -> the node of its part
    for node in gm.graph.nodes:
        if node.op in ("placeholder", "get_attr", "output"):
            continue
        if not hasattr(node, "tag"):
            raise AssertionError(f"Node {node} does not have tag")
        part = parts[node.tag]
        before = [owner[n].order for n in node.all_input_nodes if n in owner]
        if before and max(before) > part.order:
            raise AssertionError(f"Component {part.name} is before a component that it reads from")
        owner[node] = part
        inside[node] = part.graph.node_copy(node, lambda n, part=part: _operand(n, part, owner, inside))
    result = gm.graph.output_node()
    used = {n for user in gm.graph.nodes for n in user.all_input_nodes
            if n in owner and (user is result or owner.get(user) is not owner[n])}  # fmt: skip
    for node in gm.graph.nodes:  # in order
        if node in used:
            owner[node].orig_outputs.append(node)
    whole, root, paths = Graph(), nn.Module(), {}
    values: dict[Node, Any] = {n: whole.node_copy(n) for n in gm.graph.nodes if n.op == "placeholder"}
    for part in parts.values():
        _finish(gm, part, inside, whole, root, values, paths, return_tuple, GraphModuleCls)

    def final(n: Node) -> Any:
        if n not in values:  # an attribute that is returned
            values[n] = whole.get_attr(n.target)
            setattr_recursive(root, n.target, getattr_recursive(gm, n.target))
        return values[n]

    whole.output(map_arg(result.args[0], final))
    made = GraphModuleCls(root, whole)
    made.graph._codegen = copy.copy(gm.graph._codegen)
    made.recompile()
    return (made, paths) if return_fqn_mapping else made


def _operand(n: Node, part: Component, owner: dict[Node, Component], inside: dict[Node, Node]) -> Node:
    if n.op == "get_attr":
        if n not in part.getattr_maps:
            part.getattr_maps[n] = part.graph.get_attr(n.target)
        return part.getattr_maps[n]
    if owner.get(n) is part:
        return inside[n]
    if n not in part.orig_inputs:
        part.orig_inputs.append(n)
        holder = part.graph.placeholder(n.name, type_expr=n.type)
        holder.meta = copy.copy(n.meta)
        part.input_placeholders.append(holder)
    return part.input_placeholders[part.orig_inputs.index(n)]


def _finish(gm: Any, part: Component, inside: dict[Node, Node], whole: Graph, root: nn.Module, values: dict[Node, Any],
            paths: dict[str, str], return_tuple: bool, made_of: type[GraphModule]) -> None:  # fmt: skip
    """The part becomes a sub-module, and the whole calls it."""
    results = tuple(inside[n] for n in part.orig_outputs)
    single = len(results) == 1 and not return_tuple
    part.graph.output(results[0] if single else results)
    part.gm = made_of(gm, part.graph)
    for node in part.graph.nodes:
        if node.op in ("get_attr", "call_module"):
            paths[node.target] = f"{part.name}.{node.target}"
    setattr(root, part.name, part.gm)
    call = whole.call_module(part.name, tuple(values[n] for n in part.orig_inputs))
    if single:
        values[part.orig_outputs[0]] = call
        return
    from ingot.fx.proxy import Proxy

    shown = Proxy(call)
    for i, node in enumerate(part.orig_outputs):
        values[node] = shown[i].node
