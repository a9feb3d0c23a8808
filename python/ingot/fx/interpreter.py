# SPDX-License-Identifier: Apache-2.0
"""Running a graph node by node in Python, with overridable steps; and rewriting a graph by running it."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ingot import nn
from ingot.fx import traceback as fx_traceback
from ingot.fx.graph import Graph
from ingot.fx.graph_module import GraphModule
from ingot.fx.node import Node, map_aggregate, map_arg
from ingot.fx.proxy import Proxy

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Executes the graph of a module. Sub-classes override run_node or the method of one kind of node."""

    def __init__(self, module: nn.Module, garbage_collect_values: bool = True, graph: Graph | None = None) -> None:
        self.module = module
        self.submodules = dict(module.named_modules()) if isinstance(module, nn.Module) else {}
        self.graph: Graph = graph if graph is not None else module.graph
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.user_to_last_uses: dict[Node, list[Node]] = {}
        if garbage_collect_values:
            seen: set[Node] = set()
            for node in reversed(self.graph.nodes):
                for used in node.all_input_nodes:
                    if used not in seen:
                        seen.add(used)
                        self.user_to_last_uses.setdefault(node, []).append(used)

    def run(self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True) -> Any:
        """The value of the graph's output for these arguments, one per placeholder."""
        self.env = dict(initial_env) if initial_env is not None else {}
        if enable_io_processing:
            args = self.graph.process_inputs(*args)
        self.args_iter: Iterator[Any] = iter(args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                self._add_note(error, node)
                raise
            for dead in self.user_to_last_uses.get(node, ()):
                self.env.pop(dead, None)
            if node.op == "output":
                value = self.env[node]
                return self.graph.process_outputs(value) if enable_io_processing else value
        return None

    def _add_note(self, error: Exception, node: Node) -> None:
        if not self.extra_traceback or not error.args or not isinstance(error.args[0], str):
            return
        note = f"While executing {node.format_node()}"
        if note not in error.args[0]:
            error.args = (f"{error.args[0]}\n\n{note}\nOriginal traceback:\n{node.stack_trace}", *error.args[1:])

    def boxed_run(self, args_list: list[Any]) -> Any:
        """Like run, and takes the arguments out of the list, so that they can be freed early."""
        args = list(args_list)
        args_list.clear()
        return self.run(*args, enable_io_processing=False)

    def run_node(self, n: Node) -> Any:
        with self._set_current_node(n):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            return getattr(self, n.op)(n.target, args, kwargs)

    def _set_current_node(self, node: Node) -> Any:
        return fx_traceback.set_current_meta(node)

    def placeholder(self, target: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        if target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(
                f"Expected positional argument for parameter {target}, but one was not passed in!"
            ) from None

    def get_attr(self, target: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        return self.fetch_attr(target)

    def call_function(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        return target(*args, **kwargs)

    def call_method(self, target: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        self_obj, *rest = args
        return getattr(self_obj, target)(*rest, **kwargs)

    def call_module(self, target: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        found: Any = self.module
        for i, part in enumerate(parts := target.split(".")):
            if not hasattr(found, part):
                raise RuntimeError(f"Node referenced nonexistent target {'.'.join(parts[: i + 1])}")
            found = getattr(found, part)
        return found

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple, dict[str, Any]]:
        args = self.map_nodes_to_values(n.args, n)
        kwargs = self.map_nodes_to_values(n.kwargs, n)
        return args, dict(kwargs)

    def map_nodes_to_values(self, args: Any, n: Node) -> Any:
        def load(arg: Node) -> Any:
            if arg not in self.env:
                raise RuntimeError(
                    f"Node {n} referenced nonexistent value {arg}! Run Graph.lint() to diagnose such issues"
                )
            return self.env[arg]

        return _thaw(map_arg(args, load))


def _thaw(a: Any) -> Any:
    """Plain lists and dicts for calls: the callee may change them."""
    if type(a) is tuple:
        return tuple(_thaw(x) for x in a)
    if isinstance(a, list):
        return [_thaw(x) for x in a]
    if isinstance(a, dict) and type(a).__name__ == "immutable_dict":
        return {k: _thaw(v) for k, v in a.items()}
    return a


class Transformer(Interpreter):
    """An interpreter whose values are proxies of a new graph: each overridden step writes the new graph."""

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        from ingot.fx._symbolic_trace import Tracer

        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)

        class TransformerTracer(Tracer):
            def __init__(self, graph: Graph, root: nn.Module) -> None:
                super().__init__()
                self.graph = graph
                self.root = root
                self.tensor_attrs = {}

            def is_leaf_module(self, *unused: Any) -> bool:
                return True

        self.tracer = TransformerTracer(self.new_graph, module)

    def placeholder(self, target: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        node = self.new_graph.placeholder(target, default_value=args[0] if args else ...)
        return Proxy(node, self.tracer)

    def get_attr(self, target: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        return self.tracer.create_proxy("call_module", target, args, kwargs)

    def call_function(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def call_method(self, target: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        return self.tracer.create_proxy("call_method", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The module of the new graph."""
        with fx_traceback.preserve_node_meta():
            result = super().run(enable_io_processing=False)
        if result is not None:
            strip = lambda a: a.node if isinstance(a, Proxy) else a  # noqa: E731
            node = self.new_graph.output(map_aggregate(result, strip))
            last = self.graph._last
            if last is not None and last.op == "output":
                node.meta.update(last.meta)
        return GraphModule(self.module, self.new_graph)
