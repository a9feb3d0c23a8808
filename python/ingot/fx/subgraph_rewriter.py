# SPDX-License-Identifier: Apache-2.0
"""Replacing occurrences of a pattern by another graph."""
from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ingot import nn
from ingot.fx._symbolic_trace import symbolic_trace
from ingot.fx.graph import Graph
from ingot.fx.graph_module import GraphModule
from ingot.fx.node import Node
from ingot.fx.passes.utils.matcher_utils import InternalMatch, SubgraphMatcher

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(NamedTuple):
    """Where the pattern was found, and its nodes there."""

    anchor: Node
    nodes_map: dict[Node, Node]


@dataclass
class ReplacedPatterns:
    """An occurrence, its nodes, and the nodes that took their place."""

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


def _replace_attributes(gm: GraphModule, replacement: nn.Module) -> None:
    """Attributes that new nodes read come from the replacement."""
    if isinstance(replacement, GraphModule):
        replacement.graph.lint()

    def find(module: nn.Module, path: str) -> Any:
        prefix, _, name = path.rpartition(".")
        try:
            return getattr(module.get_submodule(prefix), name, None)
        except AttributeError:
            return None

    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr") or find(gm, node.target) is not None:
            continue
        value = find(replacement, node.target)
        if value is None:
            raise RuntimeError(
                f'Attempted to create a "{node.op}" node during subgraph rewriting with target {node.target}, but '
                "the referenced attribute does not exist in the replacement GraphModule"
            )
        if isinstance(value, nn.Module):
            gm.add_submodule(node.target, copy.deepcopy(value))
        else:
            prefix, _, name = node.target.rpartition(".")
            setattr(gm.get_submodule(prefix), name, copy.deepcopy(value))
    gm.delete_all_unused_submodules()
    gm.graph.lint()


def replace_pattern(gm: GraphModule, pattern: Any, replacement: Any) -> list[Match]:
    """Replaces all occurrences that do not overlap; returns where they were."""
    return [Match(m.anchor, m.nodes_map) for m in _replace_pattern(gm, pattern, replacement)]


def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: Any,
    replacement: Any = None,
    match_filters: list[Callable[[InternalMatch, Graph, Graph], bool]] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable | None = None,
) -> list[ReplacedPatterns]:
    """As replace_pattern, for occurrences that all filters accept."""
    return _replace_pattern(gm, pattern, replacement, match_filters, ignore_literals, replacement_callback)


def _graph_of(what: Any) -> Graph:
    if isinstance(what, GraphModule):
        return what.graph
    return what if isinstance(what, Graph) else symbolic_trace(what).graph


def _first_user(gm: GraphModule, match: InternalMatch) -> Node:
    """The first node that uses a result of the occurrence: the replacement goes before it."""
    users = {user for node in match.returning_nodes for user in node.users}
    if not users:
        return gm.graph.output_node()
    return next(n for n in gm.graph.nodes if n in users)


def _replace_pattern(
    gm: GraphModule,
    pattern: Any,
    replacement: Any,
    match_filters: list[Callable] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable | None = None,
) -> list[ReplacedPatterns]:
    filters = match_filters or []
    graph, pattern_graph = gm.graph, _graph_of(pattern)
    matcher = SubgraphMatcher(pattern_graph, ignore_literals=ignore_literals)
    matches = [m for m in matcher.match(graph) if all(f(m, graph, pattern_graph) for f in filters)]
    if replacement_callback is None and replacement is None:
        raise AssertionError("Must provide either replacement GraphModule or replacement_callback")
    common = _graph_of(replacement) if replacement is not None else None
    replaced: list[ReplacedPatterns] = []
    moved: dict[Node, Node] = {}  # nodes that were replaced, by what replaced them
    for match in matches:
        new = common if common is not None else replacement_callback(match, graph, pattern_graph)
        holders = [n for n in new.nodes if n.op == "placeholder"]
        if len(match.placeholder_nodes) != len(holders):
            raise AssertionError("pattern and replacement have different numbers of inputs")
        values: dict[Node, Any] = {}
        for holder, given in zip(holders, match.placeholder_nodes, strict=True):
            if isinstance(given, Node):
                given = moved.get(given, given)
            values[holder] = given
        with graph.inserting_before(_first_user(gm, match)):
            results = graph.graph_copy(new, values)
        results = (results,) if isinstance(results, Node) else tuple(results)
        added = [values[n] for n in new.nodes if n.op not in ("placeholder", "output") and n in values]
        if len(match.returning_nodes) != len(results):
            raise AssertionError("pattern and replacement have different numbers of results")
        for old, node in zip(match.returning_nodes, results, strict=True):
            old.replace_all_uses_with(node)
            moved[old] = node
        for node in reversed(pattern_graph.nodes):
            if node.op not in ("placeholder", "output"):
                graph.erase_node(match.nodes_map[node])
        replaced.append(ReplacedPatterns(match.anchors[0], match.nodes_map, added))
    gm.recompile()
    if isinstance(replacement, nn.Module):
        _replace_attributes(gm, replacement)
    return replaced
