# SPDX-License-Identifier: Apache-2.0
"""Entering and leaving autocast between nodes becomes wrap_with_autocast around what is in between."""
from __future__ import annotations

from ingot import fx
from ingot._export.passes.replace_with_hop_pass_util import (
    _first_call,
    _inline,
    _replace_with_hop_helper,
    _replace_with_hop_pass_helper,
)  # fmt: skip
from ingot._export.passes.replace_set_grad_with_hop_pass import _name_of
from ingot._higher_order_ops.wrap import wrap_with_autocast
from ingot.amp.autocast_mode import _enter_autocast, _exit_autocast
from ingot.export.graph_signature import ExportGraphSignature
from ingot.fx import Node

__all__ = ["replace_autocast_with_hop_pass"]


def _is_enter_autocast_node(node: Node) -> bool:
    return node.op == "call_function" and node.target is _enter_autocast


def _is_exit_autocast_node(node: Node) -> bool:
    return node.op == "call_function" and node.target is _exit_autocast


def _begins_a_part(node: Node) -> bool:
    """Regions begin where autocast is entered, and end with the node that leaves it."""
    return _is_enter_autocast_node(node) or (node.prev is not None and _is_exit_autocast_node(node.prev))


def _is_autocast_sub_mod(node: Node) -> bool:
    """Whether the node calls a part that enters autocast and leaves it at its end."""
    if node.op != "call_module":
        return False
    first = _first_call(node.graph.owning_module.get_submodule(node.target))
    return first is not None and _is_enter_autocast_node(first)


def _check_valid_autocast_block(enter_autocast_node: Node, exit_autocast_node: Node) -> None:
    if not _is_enter_autocast_node(enter_autocast_node) or not _is_exit_autocast_node(exit_autocast_node):
        raise AssertionError(f"{enter_autocast_node} and {exit_autocast_node} do not enter and leave autocast")
    if exit_autocast_node.args[0] is not enter_autocast_node:
        raise AssertionError(f"{exit_autocast_node} leaves another region than {enter_autocast_node} enters")


def _replace_with_hop(node: Node) -> None:
    sub = node.graph.owning_module.get_submodule(node.target)
    enter = _first_call(sub)
    assert enter is not None
    leaves = [n for n in sub.graph.nodes if _is_exit_autocast_node(n)]

    def make(graph: fx.Graph, read: Node) -> Node:
        return graph.create_node(
            "call_function", wrap_with_autocast, (*enter.args, read, *node.args), {}, name=_name_of(sub)
        )

    _replace_with_hop_helper(node, enter, make)
    for mark in (*leaves, enter):
        sub.graph.erase_node(mark)
    sub.recompile()


def _treat(node: Node) -> None:
    if _is_autocast_sub_mod(node):
        _replace_with_hop(node)
    else:
        _inline(node, [n for n in _sub(node).graph.nodes if _is_exit_autocast_node(n)])


def _sub(node: Node) -> fx.GraphModule:
    return node.graph.owning_module.get_submodule(node.target)


def replace_autocast_with_hop_pass(
    gm: fx.GraphModule, graph_signature: ExportGraphSignature | None = None
) -> tuple[fx.GraphModule, ExportGraphSignature | None]:
    """The graph with regions in place of entering and leaving autocast, and its signature."""
    return _replace_with_hop_pass_helper(gm, graph_signature, _begins_a_part, _treat)
