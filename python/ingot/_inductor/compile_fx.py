# SPDX-License-Identifier: Apache-2.0
"""A graph in two: what depends on its constants alone, and the rest."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ingot import _C, no_grad
from ingot._export.passes.constant_folding import ConstantFolder, replace_node_with_constant
from ingot.fx.graph import Graph
from ingot.fx.graph_module import GraphModule
from ingot.fx.node import Node

__all__ = ["split_const_gm"]


def _is_tensor(gm: GraphModule, node: Node) -> bool:
    found: Any = gm
    for part in node.target.split("."):
        found = getattr(found, part)
    return isinstance(found, _C.Tensor)


def split_const_gm(
    gm: GraphModule,
    lifted_constants: dict[str, Any] | None = None,
    skip_folding_node_fn: Callable[[Node], bool] | None = None,
) -> tuple[GraphModule, dict[str, int]]:
    """A module that computes what depends on attributes alone, as a tuple; and the attributes of `gm` that take the
    place of these values, each with its place in that tuple."""
    folder = ConstantFolder(gm, skip_constructors=True)
    with no_grad():
        folder.run()
    skipped = skip_folding_node_fn or (lambda node: False)
    calls = [n for n in gm.graph.nodes if n in folder.node_replacements and not skipped(n)]
    inside = set(calls)
    inside |= {n for n in gm.graph.nodes if n.op == "get_attr" and not inside.isdisjoint(n.users) and _is_tensor(gm, n)}
    known = [n for n in gm.graph.nodes if n in inside]
    graph = Graph()
    copies: dict[Node, Node] = {}
    for node in known:
        copies[node] = graph.node_copy(node, lambda n: copies[n])
    results = [n for n in known if any(user not in inside for user in n.users)]
    graph.output(tuple(copies[n] for n in results))
    graph.lint()
    const_gm = GraphModule(gm, graph)
    for node in results:
        value = folder.env[node]
        replace_node_with_constant(gm, node, value, f"_FOLDED_CONST_{node.name}")
    for node in reversed(known):
        if node not in results:
            gm.graph.erase_node(node)
    gm.graph.lint()
    gm.recompile()
    return const_gm, {f"_FOLDED_CONST_{node.name}": i for i, node in enumerate(results)}
