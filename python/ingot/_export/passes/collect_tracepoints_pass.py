# SPDX-License-Identifier: Apache-2.0
"""Signatures of modules from the tracepoints that stand in a graph, which are removed."""

from __future__ import annotations

import operator
from typing import Any

from ingot import fx
from ingot._export.wrappers import _export_tracepoint
from ingot.export.exported_program import ConstantArgument
from ingot.export.graph_signature import CustomObjArgument, SymIntArgument, TensorArgument
from ingot.fx.passes.infra.pass_base import PassBase, PassResult

__all__ = ["CollectTracepointsPass"]


class CollectTracepointsPass(PassBase):
    """Fills the inputs and outputs of `specs` (signatures by path), named as in the signature of the program."""

    def __init__(self, specs: dict[str, Any], sig: Any) -> None:
        super().__init__()
        self.specs = specs
        self.sig = sig

    def _argument(self, value: Any) -> Any:
        if not isinstance(value, fx.Node):
            return ConstantArgument(name="", value=value)
        known = value.meta.get("val")
        for spec in self.sig.input_specs:
            if spec.arg.name == value.name and isinstance(spec.arg, (CustomObjArgument, ConstantArgument)):
                return spec.arg
        named = TensorArgument if not hasattr(known, "node") or hasattr(known, "dtype") else SymIntArgument
        return named(name=value.name)

    def _collect(self, node: fx.Node) -> None:
        signature = self.specs[node.kwargs["path"]]
        inside = [self._argument(value) for value in node.args]
        if node.kwargs["kind"] == "module_call_inputs":
            signature.inputs = inside
        elif node.kwargs["kind"] == "module_call_outputs":
            signature.outputs = inside
        else:
            raise AssertionError(f"{node}: unknown kind of tracepoint {node.kwargs['kind']!r}")

    def call(self, gm: fx.GraphModule) -> PassResult:
        points = [n for n in gm.graph.nodes if n.op == "call_function" and n.target is _export_tracepoint]
        for node in points:
            self._collect(node)
        for node in reversed(points):
            for user in list(node.users):
                if user.target is not operator.getitem:
                    raise AssertionError(f"{user} is no item of the tracepoint {node}")
                user.replace_all_uses_with(node.args[user.args[1]])
                gm.graph.erase_node(user)
            gm.graph.erase_node(node)
        gm.recompile()
        return PassResult(gm, True)
