# SPDX-License-Identifier: Apache-2.0
"""What a graph computes of its attributes alone is computed once, in a graph of its own."""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import ingot
from ingot import _C, fx, nn
from ingot.fx.graph import Graph
from ingot.fx.graph_module import GraphModule
from ingot.fx.node import Node

__all__ = ["FoldedGraphModule", "get_unique_attr_name_in_module", "split_const_subgraphs"]


class FoldedGraphModule(GraphModule):
    """A module whose constants are computed before its first call, by const_subgraph_module."""

    def __init__(
        self,
        root: nn.Module,
        graph: Graph,
        const_subgraph: Graph | None = None,
        fx_const_folded_attrs_name: str | None = None,
        device_for_folded_attrs: str = "cuda",
    ) -> None:
        super().__init__(root, graph)
        self.const_subgraph_module = None if const_subgraph is None else GraphModule(root, const_subgraph)
        self.has_folding_been_run = False
        self.fx_const_folded_attrs_name = fx_const_folded_attrs_name
        self.device_for_folded_attrs = device_for_folded_attrs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.has_folding_been_run:
            self.run_folding()
        return super().__call__(*args, **kwargs)

    def run_folding(self) -> None:
        """Computes the constants."""
        if self.const_subgraph_module is None or self.fx_const_folded_attrs_name is None:
            return
        if self.has_folding_been_run:
            raise AssertionError("the constants are computed already")
        self.has_folding_been_run = True

        def weight(value: Any) -> nn.Parameter:
            if not isinstance(value, _C.Tensor):
                value = ingot.tensor([float(value)])
            return nn.Parameter(value.detach(), requires_grad=value.requires_grad)

        folded = self.const_subgraph_module()
        several = isinstance(folded, tuple)
        values = nn.ParameterList([weight(v) for v in folded]) if several else weight(folded)
        setattr(self, self.fx_const_folded_attrs_name, values)


def get_unique_attr_name_in_module(mod_traced: nn.Module, name: str) -> str:
    """A name like this one that the module does not have."""
    name = "".join(ch if ch.isalnum() or ch == "_" else "_" for ch in name)
    if name[0].isdigit():
        name = f"_{name}"
    stem, _, number = name.rpartition("_")
    count = int(number) if stem and number.isdigit() else 0
    stem = stem if stem and number.isdigit() else name
    while hasattr(mod_traced, name):
        count += 1
        name = f"{stem}_{count}"
    return name


def _constant_nodes(graph: Graph, skip: Callable[[Node], bool] | None) -> tuple[set[Node], bool]:
    """Nodes that no input reaches, and whether there is a call among them."""
    known: set[Node] = set()
    found = False
    for node in graph.nodes:
        if node.op in ("placeholder", "output"):
            continue
        if node.op != "get_attr" and not all(n in known for n in node.all_input_nodes):
            continue
        if (skip is not None and skip(node)) or node.is_impure():
            continue
        known.add(node)
        found = found or node.op != "get_attr"
    return known, found


def split_const_subgraphs(
    module: nn.Module | GraphModule,
    skip_folding_node_fn: Callable[[Node], bool] | None = None,
    device_for_folded_attrs: str = "cpu",
) -> FoldedGraphModule:
    """The module with one attribute in place of everything that can be computed without inputs."""
    traced = module if isinstance(module, GraphModule) else fx.symbolic_trace(module)
    known, found = _constant_nodes(traced.graph, skip_folding_node_fn)
    if not found:
        return FoldedGraphModule(traced, traced.graph)
    results = [
        n for n in traced.graph.nodes if n in known and n.op != "get_attr" and any(u not in known for u in n.users)
    ]
    name = get_unique_attr_name_in_module(traced, "_FX_CONST_FOLDED_ATTRS")
    constants, copies = Graph(), {}
    for node in traced.graph.nodes:
        if node in known:
            copies[node] = constants.node_copy(node, lambda n: copies[n])
    outs = tuple(copies[n] for n in results)
    constants.output(outs if len(outs) != 1 else outs[0])
    constants.eliminate_dead_code()
    rest, values = Graph(), {}
    whole: Node | None = None
    for node in traced.graph.nodes:
        if node in results:
            if whole is None:
                whole = rest.get_attr(name)
                for i, one in enumerate(results):
                    values[one] = whole if len(results) == 1 else rest.call_function(operator.getitem, (whole, i))
                    values[one].meta = dict(one.meta)
        elif node not in known or node.op == "get_attr":
            values[node] = rest.node_copy(node, lambda n: values[n])
    rest.set_codegen(traced.graph._codegen)
    for node in reversed(list(rest.nodes)):
        if node.op == "get_attr" and not node.users:
            rest.erase_node(node)
    root = traced
    setattr(root, name, nn.ParameterList() if len(results) > 1 else nn.Parameter(ingot.empty(0)))
    return FoldedGraphModule(root, rest, constants, name, device_for_folded_attrs)
