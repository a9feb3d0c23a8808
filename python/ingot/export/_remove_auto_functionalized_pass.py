# SPDX-License-Identifier: Apache-2.0
"""Calls of operators that mutate their operands, in place of the functional calls that stand for them."""
from __future__ import annotations

import operator

from ingot import _C
from ingot.export.exported_program import ExportedProgram
from ingot.fx.graph import Graph
from ingot.fx.node import Node

__all__ = ["unsafe_remove_auto_functionalized_pass"]


def _replace(graph: Graph, call: Node) -> None:
    """One call: the operator is called on the operands themselves, whose new values are the operands."""
    op = call.args[0]
    schema = op._schema
    mutated = [a.name for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write]
    results = len(schema.returns)
    given = dict(call.kwargs)
    positional = []
    for argument in schema.arguments:
        if argument.kwarg_only or argument.name not in given:
            break
        positional.append(given.pop(argument.name))
    with graph.inserting_before(call):
        plain = graph.call_function(op, tuple(positional), given)
    plain.meta.update({k: v for k, v in call.meta.items() if k != "val"})
    whole = call.meta.get("val")
    if whole is not None and results:
        plain.meta["val"] = whole[0] if results == 1 else tuple(whole[:results])
    for user in list(call.users):
        index = user.args[1] if user.target is operator.getitem else None
        if index is None:
            raise RuntimeError(f"{user} uses all results of {call} at once")
        if index >= max(results, 1):
            user.replace_all_uses_with(call.kwargs[mutated[index - max(results, 1)]])
        elif results == 1:
            user.replace_all_uses_with(plain)
        else:
            with graph.inserting_before(user):
                item = graph.call_function(operator.getitem, (plain, index))
            item.meta.update(user.meta)
            user.replace_all_uses_with(item)
        graph.erase_node(user)
    graph.erase_node(call)


def unsafe_remove_auto_functionalized_pass(ep: ExportedProgram) -> ExportedProgram:
    """Unsafe: the order of the calls is all that keeps reads and writes apart."""
    target = _C.hop_object("auto_functionalized")
    for module in [ep.graph_module, *ep.graph_module.modules()]:
        graph = getattr(module, "graph", None)
        if not isinstance(graph, Graph):
            continue
        for node in list(graph.nodes):
            if node.op == "call_function" and node.target == target:
                _replace(graph, node)
        module.recompile()
    results = ep.graph.output_node().args[0]
    for spec, result in zip(ep.graph_signature.output_specs, results, strict=True):
        if isinstance(result, Node):
            spec.arg.name = result.name
    return ep
