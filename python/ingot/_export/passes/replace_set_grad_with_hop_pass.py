# SPDX-License-Identifier: Apache-2.0
"""torch._C._set_grad_enabled(mode) between nodes becomes wrap_with_set_grad_enabled around what follows."""
from __future__ import annotations

from typing import Any

from ingot import _C, fx
from ingot._export.passes.replace_with_hop_pass_util import (
    _first_call,
    _inline,
    _replace_with_hop_helper,
    _replace_with_hop_pass_helper,
)  # fmt: skip
from ingot._higher_order_ops.wrap import wrap_with_set_grad_enabled
from ingot.export.graph_signature import ExportGraphSignature
from ingot.fx import Node

__all__ = ["replace_set_grad_with_hop_pass"]


def _is_set_grad_enabled_node(node: Node) -> bool:
    return node.op == "call_function" and node.target == _C._set_grad_enabled


def _is_set_grad_enabled_sub_mod(node: Node, omit_if_same_with_ambient: bool = False) -> bool:
    """Whether the node calls a part that begins with a switch; if wanted, only one that changes the mode."""
    if node.op != "call_module":
        return False
    first = _first_call(node.graph.owning_module.get_submodule(node.target))
    if first is None or not _is_set_grad_enabled_node(first):
        return False
    return not omit_if_same_with_ambient or first.args[0] != _C.is_grad_enabled()


def _replace_with_hop(node: Node) -> None:
    sub = node.graph.owning_module.get_submodule(node.target)
    switch = _first_call(sub)
    assert switch is not None

    def make(graph: fx.Graph, read: Node) -> Node:
        return graph.create_node(
            "call_function", wrap_with_set_grad_enabled, (switch.args[0], read, *node.args), {}, name=_name_of(sub)
        )

    _replace_with_hop_helper(node, switch, make)
    sub.graph.erase_node(switch)
    sub.recompile()


def _name_of(sub: fx.GraphModule) -> str | None:
    """The call is named after its first result."""
    returned: Any = sub.graph.output_node().args[0]
    first = returned[0] if isinstance(returned, (tuple, list)) and returned else returned
    return first.name if isinstance(first, Node) else None


def _remove_set_grad_and_inline(node: Node) -> None:
    sub = node.graph.owning_module.get_submodule(node.target)
    _inline(node, [n for n in sub.graph.nodes if _is_set_grad_enabled_node(n)])


def _treat(node: Node) -> None:
    if _is_set_grad_enabled_sub_mod(node, omit_if_same_with_ambient=True):
        _replace_with_hop(node)
    else:
        _remove_set_grad_and_inline(node)


def replace_set_grad_with_hop_pass(
    gm: fx.GraphModule, graph_signature: ExportGraphSignature | None = None
) -> tuple[fx.GraphModule, ExportGraphSignature | None]:
    """The graph with regions in place of switches of the grad mode, and its signature."""
    return _replace_with_hop_pass_helper(gm, graph_signature, _is_set_grad_enabled_node, _treat)
