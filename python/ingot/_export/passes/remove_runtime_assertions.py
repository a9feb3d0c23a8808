# SPDX-License-Identifier: Apache-2.0
"""Assertions are removed."""
from __future__ import annotations

import ingot
from ingot.fx.graph_module import GraphModule
from ingot.fx.passes.infra.pass_base import PassBase, PassResult

__all__ = ["_RemoveRuntimeAssertionsPass"]


class _RemoveRuntimeAssertionsPass(PassBase):
    """Removes calls of _assert_async.msg, and what only they use."""

    def call(self, graph_module: GraphModule) -> PassResult:
        modified = False
        for module in graph_module.modules():
            if not isinstance(module, GraphModule):
                continue
            for node in list(module.graph.nodes):
                if node.op == "call_function" and node.target == ingot.ops.aten._assert_async.msg:
                    operand = node.args[0]
                    module.graph.erase_node(node)
                    while not operand.users and operand.op == "call_function" and len(operand.all_input_nodes) == 1:
                        below = operand.all_input_nodes[0]
                        module.graph.erase_node(operand)
                        operand = below
                    modified = True
        if modified:
            graph_module.recompile()
        return PassResult(graph_module, modified)
