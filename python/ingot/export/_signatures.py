# SPDX-License-Identifier: Apache-2.0
"""Modules of an unflattened program that are called as the originals were. The engine's graphs hand every value over
by itself; where a signature was kept, the caller builds the original arguments and takes the result apart, and the
module does the reverse, so that another module can stand in its place."""

from __future__ import annotations

import operator
from typing import Any

from ingot.export.graph_signature import ConstantArgument
from ingot.fx import Graph, Node
from ingot.fx import _pytree as fx_pytree
from ingot.utils import _pytree as pytree


class _Unknown(Exception):
    """A signature names a value that is not known where the module is called, or not inside of it."""


class _Tree:
    """The modules by path, with the graphs that the engine made."""

    def __init__(self, modules: dict[str, Any]) -> None:
        self.modules = modules
        self.graphs = {path: module.graph for path, module in modules.items()}

    def child(self, path: str, target: str) -> str:
        return f"{path}.{target}" if path else target

    def results(self, path: str) -> list[str]:
        """Names, in the flat program, of what a module returns."""
        out = self.graphs[path].output_node().args[0]
        return [self.flat_name(path, node) for node in (out if isinstance(out, (list, tuple)) else [out])]

    def flat_name(self, path: str, node: Node) -> str:
        """What a node of a module's graph is called in the flat program."""
        if node.op == "call_module":
            return self.results(self.child(path, node.target))[0]
        if node.target is operator.getitem and node.args[0].op == "call_module":
            return self.results(self.child(path, node.args[0].target))[node.args[1]]
        return node.name


def _spec(module: Any, graph: Graph, spec: Any, count: int) -> Node:
    setattr(module, f"_spec_{count}", spec)
    return graph.get_attr(f"_spec_{count}")


def _names(signature: Any) -> set[str]:
    return {arg.name for arg in (*signature.inputs, *signature.outputs) if not isinstance(arg, ConstantArgument)}


class _Caller:
    """A graph made anew whose calls of such modules go by their signatures."""

    def __init__(self, tree: _Tree, path: str, signatures: dict[str, Any]) -> None:
        self.tree, self.path, self.signatures = tree, path, signatures
        self.module = tree.modules[path]
        self.graph = Graph()
        self.known: dict[str, Node] = {}  # by the name in the flat program
        self.specs = 0

    def spec(self, spec: Any) -> Node:
        self.specs += 1
        return _spec(self.module, self.graph, spec, self.specs - 1)

    def value(self, arg: Any, path: str) -> Any:
        if isinstance(arg, ConstantArgument):
            return arg.value
        if arg.name not in self.known:
            raise _Unknown(path)
        return self.known[arg.name]

    def item(self, of: Node, index: Any, name: str | None = None) -> Node:
        return self.graph.create_node("call_function", operator.getitem, (of, index), name=name)

    def call(self, node: Node, signature: Any) -> None:
        """The arguments as a tree, the call, the leaves of its result."""
        path = self.tree.child(self.path, node.target)
        leaves = [self.value(arg, path) for arg in signature.inputs]
        spec = self.spec(signature.in_spec)
        tree = self.graph.call_function(pytree.tree_unflatten, (leaves, spec))
        args, kwargs = self.item(tree, 0), self.item(tree, 1)
        positional, keywords = signature.in_spec.children_specs
        given = tuple(self.item(args, i) for i in range(positional.num_children))
        named = {key: self.item(kwargs, key) for key in keywords.context}
        expected = {arg.name for arg in signature.inputs if not isinstance(arg, ConstantArgument)}
        for placeholder in self.tree.graphs[path]._list("placeholder", None):  # what the module reads besides
            if placeholder.name not in expected:
                named[placeholder.name] = self.known[placeholder.name]
        result = self.graph.create_node("call_module", node.target, given, named, name=node.name)
        flat = self.graph.call_function(fx_pytree.tree_flatten_spec, (result, self.spec(signature.out_spec)))
        for i, arg in enumerate(signature.outputs):
            found = self.item(flat, i)
            if not isinstance(arg, ConstantArgument):
                self.known[arg.name] = found

    def copy(self, node: Node) -> None:
        """A node of the engine's graph, or what stands for it now."""
        target = self.tree.child(self.path, node.target) if node.op == "call_module" else None
        if target in self.signatures:
            self.call(node, self.signatures[target])
            return
        if node.target is operator.getitem and node.args[0].op == "call_module":
            if self.tree.child(self.path, node.args[0].target) in self.signatures:
                return  # the call has made it
            self.known[self.tree.flat_name(self.path, node)] = self.item(self.moved(node.args[0]), node.args[1])
            return
        self.known[self.tree.flat_name(self.path, node)] = self.graph.node_copy(node, self.moved)
        if node.op == "call_module":
            self.known[f"call {node.name}"] = self.known[self.tree.flat_name(self.path, node)]

    def moved(self, node: Node) -> Node:
        if node.op == "call_module" and f"call {node.name}" in self.known:
            return self.known[f"call {node.name}"]
        return self.known[self.tree.flat_name(self.path, node)]

    def build(self, signature: Any) -> Graph:
        nodes = list(self.tree.graphs[self.path].nodes)
        body = [n for n in nodes if n.op not in ("placeholder", "output")]
        if signature is None:
            for node in nodes[: len(nodes) - len(body) - 1]:
                self.copy(node)
        else:
            body = self.enter([n for n in nodes if n.op == "placeholder"], body, signature)
        for node in body:
            self.copy(node)
        if signature is None:
            self.graph.output(pytree.tree_map(self.output, nodes[-1].args[0]))
            return self.graph
        leaves = tuple(self.value(arg, self.path) for arg in signature.outputs)
        spec = self.spec(signature.out_spec)
        self.graph.output(self.graph.call_function(pytree.tree_unflatten, (leaves, spec)))
        return self.graph

    def output(self, value: Any) -> Any:
        return self.moved(value) if isinstance(value, Node) else value

    def enter(self, placeholders: list[Node], body: list[Node], signature: Any) -> list[Node]:
        """The module's own arguments, weights, and the leaves of the arguments; the rest of the body."""
        positional, keywords = signature.in_spec.children_specs
        given = tuple(self.graph.placeholder(f"_positional_arg_{i}") for i in range(positional.num_children))
        named = {key: self.graph.placeholder(key) for key in keywords.context}
        leaves = {arg.name: i for i, arg in enumerate(signature.inputs) if not isinstance(arg, ConstantArgument)}
        for node in placeholders:
            if node.name not in leaves:
                self.known[node.name] = self.graph.node_copy(node)
        while body and body[0].op == "get_attr":
            self.copy(body.pop(0))
        spec = self.spec(signature.in_spec)
        flat = self.graph.call_function(fx_pytree.tree_flatten_spec, ((given, named), spec))
        for name, i in leaves.items():
            self.known[name] = self.item(flat, i, name)
        return body


def apply_signatures(modules: dict[str, Any], signatures: dict[str, Any]) -> None:
    """Modules by path (the root is ""), whose graphs the engine made; signatures that cannot be kept are left out:
    those of modules that hand on more than their result, or that are given a value which is made later."""
    tree = _Tree(modules)
    usable = {
        path: signature for path, signature in signatures.items()
        if path in modules and f"{path}@1" not in modules and set(tree.results(path)) <= _names(signature)
    }  # fmt: skip
    made: dict[str, Graph] = {}
    while usable and not made:
        callers = {path.rpartition(".")[0] for path in usable} | set(usable)
        try:
            made = {path: _Caller(tree, path, usable).build(usable.get(path)) for path in modules if path in callers}
        except _Unknown as error:
            del usable[str(error)]
    for path, graph in made.items():
        modules[path].__dict__["graph"] = graph
        graph.owning_module = modules[path]
