# SPDX-License-Identifier: Apache-2.0
"""Sub-graphs as modules, and comparison of graphs."""
from __future__ import annotations

from typing import Any

from ingot import nn
from ingot.fx.graph import Graph
from ingot.fx.graph_module import GraphModule
from ingot.fx.passes.utils.matcher_utils import SubgraphMatcher

__all__ = ["HolderModule", "compare_graphs", "lift_subgraph_as_module"]


class HolderModule(nn.Module):
    """Holds modules by name."""

    def __init__(self, d: dict[str, nn.Module]) -> None:
        super().__init__()
        for name, module in d.items():
            self.add_module(name, module)


def lift_subgraph_as_module(
    gm: GraphModule, subgraph: Graph, comp_name: str = "", class_name: str = "GraphModule"
) -> tuple[GraphModule, dict[str, str]]:
    """A module of a graph whose attributes are those of gm; and the paths there by the paths here."""
    root = HolderModule({})
    paths: dict[str, str] = {}
    for node in subgraph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        target = node.target
        *prefix, name = target.split(".")
        at: Any = root
        source: Any = gm
        for part in prefix:
            source = getattr(source, part)
            if not hasattr(at, part):
                setattr(at, part, HolderModule({}))
            at = getattr(at, part)
        value = getattr(source, name)
        if node.op == "call_module" or not hasattr(value, "data_ptr") or isinstance(value, nn.Parameter):
            setattr(at, name, value)
        elif not hasattr(at, name):
            at.register_buffer(name, value)
        paths[f"{comp_name}.{target}" if comp_name else target] = target
    return GraphModule(root, subgraph, class_name), paths


def compare_graphs(left: Graph, right: Graph) -> bool:
    """Whether two graphs have the same calls between the same inputs and outputs."""
    return len(SubgraphMatcher(left, match_output=True, match_placeholder=True).match(right)) > 0
