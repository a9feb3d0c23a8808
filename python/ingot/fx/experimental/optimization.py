# SPDX-License-Identifier: Apache-2.0
"""Rewrites of traced models for inference: batch norms folded into layers in front of them, dropout removed."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from ingot import fx, nn
from ingot.nn.utils.fusion import fuse_conv_bn_eval

__all__ = ["extract_subgraph", "fuse", "matches_module_pattern", "remove_dropout", "replace_node_module"]


def _parent_name(target: str) -> tuple[str, str]:
    """"a.b.c" -> ("a.b", "c")"""
    parent, _, name = target.rpartition(".")
    return parent, name


def matches_module_pattern(pattern: Iterable[type], node: fx.Node, modules: dict[str, Any]) -> bool:
    """Whether a node and the one that it reads call modules of exactly these two classes."""
    if not node.args:
        return False
    for wanted, current in zip(pattern, (node.args[0], node), strict=True):
        if not isinstance(current, fx.Node) or current.op != "call_module":
            return False
        if type(modules.get(current.target)) is not wanted:
            return False
    return True


def replace_node_module(node: fx.Node, modules: dict[str, Any], new_module: nn.Module) -> None:
    """The node calls the new module, which takes the place of the old one."""
    parent, name = _parent_name(node.target)
    modules[node.target] = new_module
    setattr(modules[parent], name, new_module)


def fuse(model: nn.Module, inplace: bool = False, no_trace: bool = False) -> nn.Module:
    """The model with batch norms folded into the convolutions in front of them; for evaluation."""
    pairs = [(nn.Conv1d, nn.BatchNorm1d), (nn.Conv2d, nn.BatchNorm2d), (nn.Conv3d, nn.BatchNorm3d)]
    model = model if inplace else copy.deepcopy(model)
    gm = model if no_trace and isinstance(model, fx.GraphModule) else fx.symbolic_trace(model)
    modules = dict(gm.named_modules())
    graph = copy.deepcopy(gm.graph)
    for pattern in pairs:
        for node in graph.nodes:
            if not matches_module_pattern(pattern, node, modules):
                continue
            if len(node.args[0].users) > 1:  # the result without the norm is needed, too
                continue
            norm = modules[node.target]
            if norm.track_running_stats:
                replace_node_module(node.args[0], modules, fuse_conv_bn_eval(modules[node.args[0].target], norm))
                node.replace_all_uses_with(node.args[0])
                graph.erase_node(node)
    return fx.GraphModule(gm, graph)


def remove_dropout(model: nn.Module) -> nn.Module:
    """The model without its dropout layers."""
    gm = fx.symbolic_trace(model)

    class WithoutDropout(fx.Transformer):
        def call_module(self, target: str, args: tuple, kwargs: dict[str, Any]) -> Any:
            if isinstance(self.submodules[target], nn.Dropout):
                return args[0]
            return super().call_module(target, args, kwargs)

    return WithoutDropout(gm).transform()


def extract_subgraph(
    orig_module: nn.Module, nodes: list[fx.Node], inputs: list[fx.Node], outputs: list[fx.Node]
) -> fx.GraphModule:
    """A module of these nodes alone, from the inputs to the outputs."""
    graph = fx.Graph()
    known: dict[fx.Node, fx.Node] = {node: graph.placeholder(node.name) for node in inputs}
    for node in nodes:
        known[node] = graph.node_copy(node, known.__getitem__)
    graph.output([known[node] for node in outputs])
    graph.lint()
    return fx.GraphModule(orig_module, graph)
