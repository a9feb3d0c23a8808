# SPDX-License-Identifier: Apache-2.0
"""The interpreter pass: a graph is run node by node on its fake values, and every step records one node of a new graph.
Sub-classes override the step of the nodes that they change."""
from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable
from typing import Any

from ingot import _C, fx, no_grad
from ingot._export.pass_infra.node_metadata import NodeMetadata
from ingot._export.pass_infra.proxy_value import ProxyValue
from ingot._subclasses.fake_tensor import maybe_get_fake_mode
from ingot.fx.passes.infra.pass_base import PassBase, PassResult
from ingot.utils import _pytree as pytree

__all__ = ["Argument", "ExportPassBaseError", "Fn", "PassType", "Value", "_ExportPassBaseDeprecatedDoNotUse"]


Argument = Any
Value = Any
Fn = Callable[..., Any]
PassType = Callable[[fx.GraphModule], PassResult | None]


class ExportPassBaseError(RuntimeError):
    """A graph has something that an interpreter pass does not know."""


def _plain(tree: Any, of: str) -> Any:
    """Data or nodes in place of ProxyValues; graph modules stay."""
    return pytree.tree_map_only(ProxyValue, lambda v: getattr(v, of), tree)


class _ExportPassBaseDeprecatedDoNotUse(PassBase):
    """Interpreter-based pass over exported graph modules."""

    class ExportInterpreter(fx.Interpreter):
        """Runs the old graph; each step is the pass's."""

        def __init__(self, callback: _ExportPassBaseDeprecatedDoNotUse, gm: fx.GraphModule) -> None:
            super().__init__(gm)
            self.callback = callback
            self.extra_traceback = False
            self.node: fx.Node | None = None

        def run_node(self, n: fx.Node) -> Any:
            self.node = n
            return super().run_node(n)

        def _meta(self) -> NodeMetadata:
            return NodeMetadata(self.node.meta if self.node is not None else {})

        def placeholder(self, target: str, args: tuple, kwargs: dict[str, Any]) -> ProxyValue:
            value = super().placeholder(target, args, kwargs)
            return self.callback.placeholder(target, value, self._meta())

        def output(self, target: str, args: tuple, kwargs: dict[str, Any]) -> Any:
            return self.callback.output(args[0], self._meta()).data

        def call_function(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
            meta = self._meta()
            if target is operator.getitem:
                return self.callback.call_getitem(args[0], args[1], meta)
            if isinstance(target, _C.OpOverload):
                return self.callback.call_operator(target, args, kwargs, meta)
            name = getattr(target, "__name__", str(target))
            if name == "cond":
                return self.callback.call_cond(*args, meta)  # pred, both branches, operands
            if name == "map_impl":
                return self.callback.call_map(*args, meta)
            module = getattr(target, "__module__", "")
            if module in ("_operator", "math", "builtins") or name.startswith(("sym_", "_sym_")):
                return self.callback.call_sym(target, args, meta)
            return self.callback._fx("call_function", target, args, kwargs, meta, meta.data.get("val"))

        def get_attr(self, target: str, args: tuple, kwargs: dict[str, Any]) -> Any:
            value = super().get_attr(target, args, kwargs)
            self.callback.on_attr(ProxyValue(value, None))
            return value

        def call_module(self, target: str, args: tuple, kwargs: dict[str, Any]) -> None:
            raise ExportPassBaseError("call_module is not supported.")

        def call_method(self, target: str, args: tuple, kwargs: dict[str, Any]) -> None:
            raise ExportPassBaseError("call_method is not supported.")

    def __init__(self) -> None:
        self._graphs: list[fx.Graph] = []
        self._roots: list[dict[str, Any]] = []

    # ---- writing ----

    def _attribute(self, value: Any) -> fx.Node:
        """A get_attr node for a sub-module or tensor that an argument is."""
        graph, root = self._graphs[-1], self._roots[-1]
        for name, known in root.items():
            if known is value:
                return graph.create_node("get_attr", name)
        stem = "submodule_" if isinstance(value, fx.GraphModule) else "_tensor_constant"
        name = next(n for n in (f"{stem}{i}" for i in range(len(root) + 1)) if n not in root)
        root[name] = value
        return graph.create_node("get_attr", name)

    def _operand(self, value: Any) -> Any:
        if isinstance(value, ProxyValue):
            return value.node
        return self._attribute(value) if isinstance(value, (fx.GraphModule, _C.Tensor)) else value

    def _fx(
        self, kind: str, target: Any, args: tuple, kwargs: dict[str, Any], meta: NodeMetadata, data: Any = None
    ) -> ProxyValue:
        """Writes one node; data is the value that it has."""
        node_args, node_kwargs = (pytree.tree_map(self._operand, tree) for tree in (args, kwargs))
        name = self._target_name(target)
        node = self._graphs[-1].create_node(kind, target, tuple(node_args), dict(node_kwargs), name)
        node.meta.update(meta.data)
        if data is not None:
            node.meta["val"] = data
        return ProxyValue(data, node)

    def _target_name(self, target: Any) -> str | None:
        return str(target).split(".")[1] if isinstance(target, _C.OpOverload) else None

    # ---- steps ----

    def inputs(self, graph_module: fx.GraphModule) -> list[Any]:
        """What the graph is run on: the values of its placeholders."""
        return [n.meta.get("val") for n in graph_module.graph.nodes if n.op == "placeholder"]

    def on_attr(self, attr: ProxyValue) -> None:
        """Called for each attribute that the graph reads."""

    def placeholder(self, name: str, arg: Any, meta: NodeMetadata) -> ProxyValue:
        node = self._graphs[-1].create_node("placeholder", name, name=name)
        node.meta.update(meta.data)
        if arg is not None:
            node.meta["val"] = arg
        return ProxyValue(arg, node)

    def call_operator(self, op: Any, args: tuple, kwargs: dict[str, Any], meta: NodeMetadata) -> ProxyValue:
        with no_grad():
            data = op(*_plain(args, "data"), **_plain(kwargs, "data"))
        return self._fx("call_function", op, args, kwargs, meta, data)

    def call_sym(self, target: Any, args: tuple, meta: NodeMetadata) -> ProxyValue:
        return self._fx("call_function", target, args, {}, meta, target(*_plain(args, "data")))

    def call_cond(self, pred: Any, true_fn: Any, false_fn: Any, inputs: list[Any], meta: NodeMetadata) -> ProxyValue:
        branches = [self._branch(fn, inputs) for fn in (true_fn, false_fn)]
        target = _C.hop_object("cond")
        return self._fx("call_function", target, (pred, *branches, list(inputs)), {}, meta, meta.data.get("val"))

    def call_map(self, f: Any, mapped_args: Any, operands: Any, meta: NodeMetadata) -> ProxyValue:
        elements = [v.data[0] if v.data.ndim else v.data for v in mapped_args]
        body = self.call_submodule(f, (*elements, *_plain(tuple(operands), "data"))).graph_module
        target = _C.hop_object("map_impl")
        args = (body, list(mapped_args), list(operands))
        return self._fx("call_function", target, args, {}, meta, meta.data.get("val"))

    def call_getitem(self, value: Any, key: int, meta: NodeMetadata) -> ProxyValue:
        return self._fx("call_function", operator.getitem, (value, key), {}, meta, value.data[key])

    def output(self, results: Any, meta: NodeMetadata) -> ProxyValue:
        node = self._graphs[-1].output(pytree.tree_map(self._operand, results))
        node.meta.update(meta.data)
        node.meta["val"] = data = _plain(results, "data")
        return ProxyValue(data, node)

    def _branch(self, fn: fx.GraphModule, inputs: Any) -> fx.GraphModule:
        return self.call_submodule(fn, tuple(_plain(list(inputs), "data"))).graph_module

    def call_submodule(self, graph_module: fx.GraphModule, inputs: tuple) -> PassResult:
        """The pass over a graph module with these values for its placeholders."""
        self._graphs.append(fx.Graph())
        self._roots.append({n: m for n, m in graph_module.named_children() if not isinstance(m, fx.GraphModule)})
        try:
            self.ExportInterpreter(self, graph_module).run(*inputs, enable_io_processing=False)
            graph = self._graphs[-1]
            graph.set_codegen(graph_module.graph._codegen)
            named = {n.target for n in graph._list("get_attr", None)}
            made = fx.GraphModule({k: v for k, v in self._roots[-1].items() if k in named}, graph)
        finally:
            self._graphs.pop()
            self._roots.pop()
        made.meta.update(graph_module.meta)
        return PassResult(made, True)

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        inputs = tuple(self.inputs(graph_module))
        values = [n.meta.get("val") for n in graph_module.graph.nodes]
        found = (maybe_get_fake_mode(v) for v in pytree.tree_leaves([*inputs, values]))
        mode = next((m for m in found if m is not None), None)
        with mode or contextlib.nullcontext():  # the environment of the symbols among the values
            return self.call_submodule(graph_module, inputs)
