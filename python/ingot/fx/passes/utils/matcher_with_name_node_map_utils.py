# SPDX-License-Identifier: Apache-2.0
"""Patterns that name some of their nodes: their last result is a dict of them."""
from __future__ import annotations

from ingot.fx.graph import Graph
from ingot.fx.graph_module import GraphModule
from ingot.fx.node import Node
from ingot.fx.passes.utils.matcher_utils import InternalMatch, SubgraphMatcher

__all__ = ["SubgraphMatcherWithNameNodeMap"]


def _split_to_graph_and_name_node_map(gm: GraphModule) -> tuple[GraphModule, dict[str, Node]]:
    from ingot.fx.graph import _PyTreeInfo
    from ingot.utils._pytree import tree_flatten, tree_unflatten

    names: dict[str, Node] = {}
    for node in gm.graph.nodes:
        if node.op != "output":
            continue
        info = getattr(gm.graph._codegen, "pytree_info", None)
        if isinstance(info, _PyTreeInfo) and info.out_spec is not None:
            results = tree_unflatten(list(node.args[0]), info.out_spec)
        else:
            results = node.args[0]
        if not isinstance(results, tuple) or not isinstance(results[-1], dict):
            raise AssertionError("Expecting the pattern graph to return a tuple, with the last element a dict")
        *outputs, named = results
        names = dict(named)
        flat, spec = tree_flatten(tuple(outputs))
        node.args = (tuple(flat),)
        if info is not None:
            gm.graph._codegen.pytree_info = info._replace(out_spec=spec)
    gm.recompile()
    return gm, names


class SubgraphMatcherWithNameNodeMap(SubgraphMatcher):
    """A matcher whose matches have the named nodes in name_node_map."""

    def __init__(self, pattern_gm: GraphModule, match_output: bool = False, match_placeholder: bool = False,
                 remove_overlapping_matches: bool = True, ignore_literals: bool = False) -> None:  # fmt: skip
        pattern_gm, self.name_node_map = _split_to_graph_and_name_node_map(pattern_gm)
        self.pattern_gm = pattern_gm
        super().__init__(
            pattern_gm.graph, match_output, match_placeholder, remove_overlapping_matches, ignore_literals
        )

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        found = super().match(graph, node_name_match)
        for match in found:
            for name, node in self.name_node_map.items():
                match.name_node_map[name] = match.nodes_map[node]
        return found


