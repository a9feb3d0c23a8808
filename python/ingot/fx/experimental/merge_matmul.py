# SPDX-License-Identifier: Apache-2.0
"""Products with the same right operand are computed at once: left operands are stacked, the product is split."""

from __future__ import annotations

import operator
from typing import Any

import ingot
from ingot import fx, nn
from ingot.fx._symbolic_trace import symbolic_trace

__all__ = ["are_nodes_independent", "may_depend_on", "merge_matmul", "split_result_tensors"]


def split_result_tensors(result: Any, inputs: list[Any]) -> tuple[Any, ...]:
    """The parts of a product that belong to the inputs, one after the other."""
    if isinstance(result, fx.Proxy):  # while a graph is traced, nobody has sizes
        sizes = [0] * len(inputs)
    else:
        sizes = [x.shape[0] for x in inputs]
    return ingot.split(result, sizes)


def may_depend_on(a: fx.Node, b: fx.Node, search_depth: int = 6) -> bool:
    """Whether a uses b, directly or not. True as well where the search was too short to tell."""
    if a is b:
        return True
    if not a.all_input_nodes:
        return False
    if search_depth == 0:
        return True
    return any(may_depend_on(node, b, search_depth - 1) for node in a.all_input_nodes)


def are_nodes_independent(nodes: list[fx.Node]) -> bool:
    """Whether none of the nodes uses another one."""
    return not any(
        may_depend_on(a, b) or may_depend_on(b, a) for i, a in enumerate(nodes) for b in nodes[i + 1 :]
    )


def merge_matmul(in_mod: nn.Module) -> fx.GraphModule:
    """The module, with independent products (torch.matmul) by the same matrix merged."""
    gm = symbolic_trace(in_mod)
    by_right: dict[fx.Node, list[fx.Node]] = {}
    for node in gm.graph.find_nodes(op="call_function", target=ingot.matmul):
        by_right.setdefault(node.args[1], []).append(node)
    for right, products in by_right.items():
        if len(products) > 1 and are_nodes_independent(products):
            _merge(gm.graph, right, products)
    gm.recompile()
    gm.graph.lint()
    return gm


def _merge(graph: fx.Graph, right: fx.Node, products: list[fx.Node]) -> None:
    lefts = [product.args[0] for product in products]
    # The product stands in front of its first user, behind the last operand: what lies between is independent.
    position = {node: i for i, node in enumerate(graph.nodes)}
    last = max([right, *lefts], key=position.__getitem__)
    with graph.inserting_after(last):
        stacked = graph.call_function(ingot.cat, (lefts,), {})
    with graph.inserting_after(stacked):
        whole = graph.call_function(ingot.matmul, (stacked, right), {})
    with graph.inserting_after(whole):
        parts = graph.call_function(split_result_tensors, (whole, lefts), {})
    at = parts
    for i, product in enumerate(products):
        with graph.inserting_after(at):
            at = graph.call_function(operator.getitem, (parts, i), {})
        product.replace_all_uses_with(at)
        graph.erase_node(product)
