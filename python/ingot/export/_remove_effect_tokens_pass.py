# SPDX-License-Identifier: Apache-2.0
"""Programs without tokens: calls with effects stand as they are, in their order."""

from __future__ import annotations

import operator
from typing import Any

from ingot import fx
from ingot._higher_order_ops.effects import with_effects
from ingot.export.exported_program import ExportedProgram
from ingot.export.graph_signature import InputKind, OutputKind

__all__ = ["_remove_effect_tokens"]


def _plain_call(graph: fx.Graph, node: fx.Node) -> None:
    """The operator of a with_effects call; its results have no token in front."""
    token, op, *args = node.args
    with graph.inserting_before(node):
        call = graph.call_function(op, tuple(args), node.kwargs)
    call.meta.update(node.meta)
    value = node.meta.get("val")
    results = tuple(value[1:]) if isinstance(value, (tuple, list)) else ()
    call.meta["val"] = results[0] if len(results) == 1 else results or None
    for user in list(node.users):
        if user.target is not operator.getitem:
            raise AssertionError(f"{user} uses the results of {node} at once")
        if user.args[1] == 0:
            user.replace_all_uses_with(token)
        elif len(results) == 1:
            user.replace_all_uses_with(call)
        else:
            with graph.inserting_before(user):
                item = graph.call_function(operator.getitem, (call, user.args[1] - 1))
            item.meta.update(user.meta)
            user.replace_all_uses_with(item)
        graph.erase_node(user)
    graph.erase_node(node)


def _remove_effect_tokens(ep: ExportedProgram) -> ExportedProgram:
    """Takes the tokens out of inputs, calls and results. The program itself is changed and returned."""
    signature = ep.graph_signature
    inputs = {s.arg.name for s in signature.input_specs if s.kind is InputKind.TOKEN}
    if not inputs:
        return ep
    graph = ep.graph
    for node in [n for n in graph.nodes if n.op == "call_function" and n.target is with_effects]:
        _plain_call(graph, node)
    output = graph.output_node()
    kept: list[Any] = [
        value
        for value, spec in zip(output.args[0], signature.output_specs, strict=True)
        if spec.kind is not OutputKind.TOKEN
    ]
    output.args = (tuple(kept),)
    for node in [n for n in graph.nodes if n.op == "placeholder" and n.name in inputs]:
        graph.erase_node(node)
    signature.input_specs = [s for s in signature.input_specs if s.kind is not InputKind.TOKEN]
    signature.output_specs = [s for s in signature.output_specs if s.kind is not OutputKind.TOKEN]
    ep.graph_module.recompile()
    return ep
