# SPDX-License-Identifier: Apache-2.0
"""Switches of a mode between the nodes of a graph become calls of higher-order operators around what they affect."""
from __future__ import annotations

import operator
from collections.abc import Callable

from ingot import fx
from ingot._export.utils import node_inline_, nodes_filter, nodes_first, replace_call, sequential_split
from ingot.export.graph_signature import ExportGraphSignature
from ingot.fx import Node

__all__: list[str] = []


def _first_call(sub: fx.GraphModule) -> Node | None:
    return nodes_first(sub.graph.nodes, lambda n: n.op not in ("placeholder", "get_attr"))


def _replace_with_hop_helper(node: Node, enter: Node, make_hop: Callable[..., Node]) -> None:
    """The call of a sub-module becomes a call of the operator on it; `make_hop` makes the node. The results of the
    call, which is a tuple now, are items of it."""
    graph = node.graph
    gm = graph.owning_module
    sub = gm.get_submodule(node.target)
    with graph.inserting_before(node):
        read = graph.get_attr(node.target)
        read.meta["nn_module_stack"] = enter.meta.get("nn_module_stack", {})
        call = make_hop(graph, read)
    result = nodes_first(sub.graph.nodes, lambda n: n.op == "output")
    assert result is not None
    returned = result.args[0]
    single = not isinstance(returned, (tuple, list))
    values = (returned,) if single else tuple(returned)
    result.args = (values,)
    call.meta["nn_module_stack"] = enter.meta.get("nn_module_stack", {})
    call.meta["torch_fn"] = (f"{call.target.__name__}", f"{type(call.target).__name__}.{call.target.__name__}")
    call.meta["val"] = tuple(v.meta.get("val") for v in values)
    items = []
    for i, value in enumerate(values):
        with graph.inserting_after(items[-1] if items else call):
            items.append(graph.call_function(operator.getitem, (call, i)))
        items[-1].meta = dict(value.meta)
    replace_call(node, items[0] if single else items)
    sub.recompile()


def _split(gm: fx.GraphModule, is_switch: Callable[[Node], bool], treat: Callable[[Node], None]) -> fx.GraphModule:
    """Cuts the graph in front of every switch and treats the calls of the parts."""
    made = sequential_split(gm, is_switch)
    for node in list(made.graph.nodes):
        if node.op == "call_module":
            treat(node)
    made.recompile()
    return made


def _replace_with_hop_pass_helper(
    gm: fx.GraphModule,
    graph_signature: ExportGraphSignature | None,
    is_switch: Callable[[Node], bool],
    treat: Callable[[Node], None],
) -> tuple[fx.GraphModule, ExportGraphSignature | None]:
    """The graph and the graphs inside of it, without switches."""
    if nodes_filter(gm.graph.nodes, is_switch):
        made = _split(gm, is_switch, treat)
        if graph_signature is not None:
            _rename_outputs(graph_signature, gm, made)
    else:
        made = gm
    for node in nodes_filter(made.graph.nodes, lambda n: n.op == "get_attr"):
        sub = getattr(made, node.target, None)
        if isinstance(sub, fx.GraphModule):
            inner, _ = _replace_with_hop_pass_helper(sub, None, is_switch, treat)
            setattr(made, node.target, inner)
    made.recompile()
    made.graph.lint()
    return made, graph_signature


def _rename_outputs(signature: ExportGraphSignature, before: fx.GraphModule, after: fx.GraphModule) -> None:
    old, new = before.graph.output_node().args[0], after.graph.output_node().args[0]
    if not isinstance(old, (tuple, list)) or not isinstance(new, (tuple, list)):
        return
    for spec, node in zip(signature.output_specs, new, strict=False):
        if isinstance(node, Node) and getattr(spec.arg, "name", None):
            spec.arg.name = node.name


def _inline(node: Node, switches: list[Node]) -> None:
    """A part whose mode is the one around it: without its switches it is part of the outer graph."""
    for switch in switches:
        switch.graph.erase_node(switch)
    node_inline_(node)
