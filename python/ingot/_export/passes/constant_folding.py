# SPDX-License-Identifier: Apache-2.0
"""Calls whose operands are all attributes are made once, and become attributes."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ingot import _C, no_grad
from ingot.fx.graph_module import GraphModule
from ingot.fx.interpreter import Interpreter
from ingot.fx.node import Node
from ingot.utils import _pytree as pytree

__all__ = ["ConstantFolder", "constant_fold", "replace_node_with_constant", "run_and_get_constant_graph"]

META_TAG, MODULE_TAG, CONST_MODULE_TAG = "META_TAG", "_MODULE_TAG", "_CONST_MODULE_TAG"


def replace_node_with_constant(gm: GraphModule, node: Node, constant: Any, name: str | None = None) -> None:
    """An attribute takes the place of a node."""
    graph = gm.graph
    if name is None:
        count = getattr(gm, "_frozen_param_count", 0)
        name = f"_frozen_param{count}"
        while hasattr(gm, name):
            count += 1
            name = f"_frozen_param{count}"
        gm._frozen_param_count = count + 1
    gm.register_buffer(name, constant) if isinstance(constant, _C.Tensor) else setattr(gm, name, constant)
    with graph.inserting_before(node):
        made = graph.create_node("get_attr", name, (), {})
        node.replace_all_uses_with(made)
        made.meta.update(node.meta)
    graph.erase_node(node)


class ConstantFolder(Interpreter):
    """Finds what can be computed without the inputs."""

    def __init__(self, gm: GraphModule, skip_constructors: bool = False) -> None:
        super().__init__(gm)
        self.node_replacements: dict[Node, Any] = {}
        self.unknown_value = object()
        self.skip_constructors = skip_constructors

    def is_impure(self, node: Node) -> bool:
        return node.is_impure()

    def insertable_tensor_check(self, tensor: Any) -> bool:
        return True

    def add_node_replacement(self, node: Node, tensor: Any) -> None:
        self.node_replacements[node] = tensor

    def run(self) -> Any:  # type: ignore[override]
        self.env = {}
        for node in self.graph.nodes:
            if node.op == "output":
                break
            self.env[node] = self.run_node(node)
        return None

    def run_node(self, n: Node) -> Any:
        if n.op == "placeholder":
            return self.unknown_value
        if n.op == "get_attr":
            return super().run_node(n)
        operands = pytree.tree_leaves(self.fetch_args_kwargs_from_env(n))
        constructor = not any(isinstance(x, _C.Tensor) for x in operands)
        if any(x is self.unknown_value for x in operands) or self.is_impure(n):
            return self.unknown_value
        if constructor and self.skip_constructors:
            return self.unknown_value
        if getattr(n.target, "_is_random", False):
            return self.unknown_value
        out = super().run_node(n)
        if isinstance(out, _C.Tensor) and self.insertable_tensor_check(out):
            self.add_node_replacement(n, out)
        return out


def constant_fold(gm: GraphModule, constraint_fn: Callable[[Node], bool] | None = None) -> None:
    """Replaces calls of known value, and removes what nothing uses any more."""
    with no_grad():
        folder = ConstantFolder(gm, skip_constructors=True)
        folder.run()
        for node, constant in folder.node_replacements.items():
            if (constraint_fn is None or constraint_fn(node)) and any(
                user not in folder.node_replacements for user in node.users
            ):
                replace_node_with_constant(gm, node, constant)
    for node in list(gm.graph.nodes):  # what only folded calls read stays an attribute
        if node.op == "get_attr" and not node.users:
            if hasattr(gm, node.target):
                delattr(gm, node.target)
            gm.graph.erase_node(node)
    gm.graph.eliminate_dead_code()
    gm.graph.lint()
    gm.recompile()


def run_and_get_constant_graph(gm: GraphModule) -> GraphModule:
    """The part of a graph that its inputs do not reach."""
    from ingot.fx.graph import Graph

    folder = ConstantFolder(gm)
    with no_grad():
        folder.run()
    new, copies = Graph(), {}
    known = {n for n in gm.graph.nodes if n.op == "get_attr" or n in folder.node_replacements}
    for node in gm.graph.nodes:
        if node in known:
            copies[node] = new.node_copy(node, lambda n: copies[n])
    results = [copies[n] for n in known if any(user not in known for user in n.users)]
    new.output(tuple(results))
    new.lint()
    return GraphModule(gm, new)
