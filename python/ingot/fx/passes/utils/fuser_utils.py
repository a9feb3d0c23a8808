# SPDX-License-Identifier: Apache-2.0
"""Nodes of a graph become a module that one node calls."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ingot.fx.graph import Graph
from ingot.fx.graph_module import GraphModule
from ingot.fx.node import Node

__all__ = [
    "erase_nodes", "fuse_as_graphmodule", "fuse_by_partitions", "insert_subgm", "topo_sort", "validate_partition",
]  # fmt: skip


def topo_sort(nodes: Iterable[Node]) -> list[Node]:
    """The nodes, each behind its operands among them, otherwise in the order given."""
    given = list(nodes)
    among = set(given)
    waits = {node: sum(n in among for n in node.all_input_nodes) for node in given}
    ready = [node for node in given if waits[node] == 0]
    out: list[Node] = []
    while ready:
        node = ready.pop(0)
        out.append(node)
        for user in node.users:
            if user in waits:
                waits[user] -= 1
                if waits[user] == 0:
                    ready.append(user)
    if len(out) != len(given):
        raise AssertionError("topological sorted nodes doesn't have same length as input nodes")
    return out


def validate_partition(partition: Iterable[Node]) -> bool:
    """Whether the nodes can be one call: no path leaves them and comes back."""
    own = set(partition)
    outside = [user for node in own for user in node.users if user not in own]
    seen: set[Node] = set()
    while outside:
        node = outside.pop()
        if node in own:
            return False
        if node not in seen:
            seen.add(node)
            outside.extend(node.users)
    return True


def fuse_as_graphmodule(
    gm: GraphModule, nodes: list[Node], module_name: str, partition_lookup_table: Any = None, *,
    always_return_tuple: bool = False,
) -> tuple[GraphModule, tuple[Node, ...], tuple[Node, ...]]:  # fmt: skip
    """A module that computes what the nodes compute; and the nodes that are its inputs and results."""
    for node in nodes:
        if node.graph.owning_module is not gm:
            raise AssertionError(f"{node} doesn't belong to passed in graph module {gm._get_name()}")
        if node._erased:
            raise AssertionError(f"{node} has been removed from owning graph")
    if not validate_partition(nodes):
        raise AssertionError("Invalid partition, found dependency cycles")
    sub = Graph()
    own = set(nodes)
    inputs: dict[Node, Node] = {}
    copies: dict[Node, Node] = {}

    def operand(x: Node) -> Node:
        if x.op == "get_attr" and x not in own:
            pass  # an attribute is read outside and passed in
        if x in own:
            return copies[x]
        if x not in inputs:
            holder = sub.placeholder(x.name, type_expr=x.type)
            holder.meta = dict(x.meta)
            inputs[x] = holder
        return inputs[x]

    for node in nodes:
        copies[node] = sub.node_copy(node, operand)
    results = {node: copies[node] for node in nodes if any(user not in own for user in node.users)}
    outs = tuple(results.values())
    sub.output(outs[0] if len(outs) == 1 and not always_return_tuple else outs)
    sub.lint()
    from ingot.fx.passes.utils.common import lift_subgraph_as_module

    module, _ = lift_subgraph_as_module(gm, sub, comp_name="", class_name=module_name)
    return module, tuple(inputs), tuple(results)


def insert_subgm(
    gm: GraphModule, sub_gm: GraphModule, orig_inputs: tuple[Node, ...], orig_outputs: tuple[Node, ...]
) -> GraphModule:
    """Calls the module instead of the nodes that it replaces, behind the last of them."""
    name = type(sub_gm).__name__
    gm.add_submodule(name, sub_gm)
    order = {node: i for i, node in enumerate(gm.graph.nodes)}
    last = max(orig_outputs, key=lambda n: order[n])
    with gm.graph.inserting_after(last):
        call = gm.graph.call_module(name, args=orig_inputs, kwargs=None)
    result = sub_gm.graph.output_node().args[0]
    if len(orig_outputs) == 1 and not isinstance(result, tuple):
        orig_outputs[0].replace_all_uses_with(call, propagate_meta=True)
        return gm
    at = call
    for i, node in enumerate(orig_outputs):
        with gm.graph.inserting_after(at):
            import operator

            at = gm.graph.call_function(operator.getitem, (call, i))
        node.replace_all_uses_with(at, propagate_meta=True)
    call.meta["val"] = tuple(node.meta.get("val") for node in orig_outputs)
    return gm


def erase_nodes(gm: GraphModule, nodes: list[Node]) -> None:
    for node in reversed(nodes):
        gm.graph.erase_node(node)


def fuse_by_partitions(
    gm: GraphModule, partitions: list[Any], prefix: str = "fused_", always_return_tuple: bool = False
) -> GraphModule:
    """One call per partition."""
    for i, nodes in enumerate(partitions):
        ordered = topo_sort(nodes)
        name = f"{prefix}{i}"
        sub, inputs, outputs = fuse_as_graphmodule(gm, ordered, name, always_return_tuple=always_return_tuple)
        insert_subgm(gm, sub, inputs, outputs)
        erase_nodes(gm, ordered)
    _legalize(gm)
    gm.recompile()
    return gm


def _legalize(gm: GraphModule) -> None:
    """Puts the nodes into an order in which each one follows its operands."""
    done: set[Node] = set()
    waiting = list(gm.graph.nodes)
    at: Node | None = None
    while waiting:
        rest = []
        for node in waiting:
            if all(n in done for n in node.all_input_nodes) and (node.op != "output" or len(waiting) == 1):
                if at is not None and at.next is not node:
                    at.append(node)
                at = node
                done.add(node)
            else:
                rest.append(node)
        if len(rest) == len(waiting):
            raise RuntimeError("the graph has a cycle")
        waiting = rest
