# SPDX-License-Identifier: Apache-2.0
"""Texts about graphs."""
from __future__ import annotations

from typing import Any

from ingot.fx.graph import Graph
from ingot.fx.graph_module import GraphModule

__all__ = ["first_call_function_nn_module_stack", "get_node_context", "lazy_format_graph_code"]


class _Lazy:
    """A text that is made when somebody prints it."""

    def __init__(self, make: Any) -> None:
        self._make = make

    def __str__(self) -> str:
        return self._make()


def _format_graph_code(name: str, filename: str, graph_str: str) -> str:
    return f"TRACED GRAPH\n {name} {filename} {graph_str}\n"


def lazy_format_graph_code(name: str, gm: GraphModule, maybe_id: Any = None, **kwargs: Any) -> _Lazy:
    """The annotated code of a module with a title, for a log."""

    def make() -> str:
        title = name if maybe_id is None else f"{name} {maybe_id}"
        text = gm.print_readable(print_output=False, **kwargs)
        return _format_graph_code(f"===== {title} =====\n", gm.forward.__code__.co_filename, text)

    return _Lazy(make)


def first_call_function_nn_module_stack(graph: Graph) -> dict | None:
    """The modules that the first call of a graph is in."""
    for node in graph.nodes:
        if node.op == "call_function" and "nn_module_stack" in node.meta:
            return node.meta["nn_module_stack"]
    return None


def get_node_context(node: Any, num_nodes: int = 2) -> str:
    """The last few nodes up to this one, a line each."""
    lines = []
    current = node
    while current is not None and len(lines) <= num_nodes and current.op != "root":
        lines.append(current.format_node())
        current = current.prev
    return "\n".join(reversed(lines))
