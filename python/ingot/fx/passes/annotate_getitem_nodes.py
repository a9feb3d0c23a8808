# SPDX-License-Identifier: Apache-2.0
"""Types of items of tuples and lists whose types are known."""
from __future__ import annotations

import operator

from ingot.fx.graph import Graph
from ingot.fx.node import Node

__all__ = ["annotate_getitem_nodes"]


def annotate_getitem_nodes(graph: Graph) -> None:
    """An item of a value with a declared type has the type of that item."""
    for node in graph.nodes:
        if node.target is not operator.getitem or not isinstance(node.args[0], Node):
            continue
        kind, index = node.args[0].type, node.args[1]
        origin = getattr(kind, "__origin__", None)
        arguments = getattr(kind, "__args__", ())
        if isinstance(kind, type) and hasattr(kind, "_fields"):
            found = list(kind.__annotations__.values())
            if isinstance(index, int) and index < len(found):
                node.type = found[index]
        elif origin is tuple and arguments:
            if len(arguments) == 2 and arguments[1] is ...:
                node.type = arguments[0]
            elif isinstance(index, int) and index < len(arguments):
                node.type = arguments[index]
        elif origin is list and arguments:
            node.type = arguments[0]
