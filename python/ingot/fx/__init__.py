# SPDX-License-Identifier: Apache-2.0
"""Graphs as Python objects: inspection, editing, running node by node, tracing."""
from ingot.fx._symbolic_trace import PH, ProxyableClassMeta, Tracer, symbolic_trace, wrap
from ingot.fx.graph import CodeGen, Graph
from ingot.fx.graph_module import GraphModule
from ingot.fx.interpreter import Interpreter, Transformer
from ingot.fx.node import Node, has_side_effect, map_arg
from ingot.fx.proxy import Proxy
from ingot.fx.subgraph_rewriter import replace_pattern

__all__ = [
    "CodeGen",
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "PH",
    "Proxy",
    "ProxyableClassMeta",
    "Tracer",
    "Transformer",
    "has_side_effect",
    "map_arg",
    "replace_pattern",
    "symbolic_trace",
    "wrap",
]
