# SPDX-License-Identifier: Apache-2.0
"""Pictures of graphs: a box per node, an arrow per operand, in the language of Graphviz (package pydot)."""

from __future__ import annotations

import zlib
from typing import Any

from ingot import _C, fx
from ingot.fx.passes.shape_prop import TensorMetadata

try:
    import pydot
except ModuleNotFoundError:  # an optional dependency
    pydot = None

__all__ = ["FxGraphDrawer"]

# Boxes by kind of node; calls of functions and methods get a color by what they call.
_COLORS = {"placeholder": "AliceBlue", "call_module": "LemonChiffon1", "get_param": "Yellow2", "get_attr": "LightGrey",
           "output": "PowderBlue"}  # fmt: skip
_BY_TARGET = (
    "CadetBlue1", "Coral", "DarkOliveGreen1", "DarkSeaGreen1", "GhostWhite", "Khaki1", "LavenderBlush1", "LightSkyBlue",
    "MistyRose1", "MistyRose2", "PaleTurquoise2", "PeachPuff1", "Salmon", "Thistle1", "Thistle3", "Wheat1",
)  # fmt: skip
_PLAIN = {"shape": '"record"', "style": '"filled,rounded"', "fontcolor": "#000000"}


class FxGraphDrawer:
    """drawer.get_dot_graph() is a pydot.Dot of the graph of a module; get_submod_dot_graph, of a module inside."""

    def __init__(
        self,
        graph_module: fx.GraphModule,
        name: str,
        ignore_getattr: bool = False,
        ignore_parameters_and_buffers: bool = False,
        skip_node_names_in_args: bool = True,
        parse_stack_trace: bool = False,
        dot_graph_shape: str | None = None,
        normalize_args: bool = False,
    ) -> None:
        if pydot is None:
            raise RuntimeError(
                "FXGraphDrawer requires the pydot package to be installed. Please install pydot through your favorite "
                "Python package manager."
            )
        self._name = name
        self._options = (ignore_getattr, ignore_parameters_and_buffers)
        self.skip_node_names_in_args = skip_node_names_in_args
        self.parse_stack_trace = parse_stack_trace
        self.normalize_args = normalize_args
        self.dot_graph_shape = dot_graph_shape or "record"
        self._dot_graphs = {name: self._draw(graph_module, name)}
        for node in graph_module.graph.find_nodes(op="call_module"):
            inner = graph_module.get_submodule(node.target)
            if isinstance(inner, fx.GraphModule):
                self._dot_graphs[f"{name}_{node.target}"] = self._draw(inner, f"{name}_{node.target}")

    def get_dot_graph(self, submod_name: str | None = None) -> Any:
        return self.get_main_dot_graph() if submod_name is None else self.get_submod_dot_graph(submod_name)

    def get_main_dot_graph(self) -> Any:
        return self._dot_graphs[self._name]

    def get_submod_dot_graph(self, submod_name: str) -> Any:
        return self._dot_graphs[f"{self._name}_{submod_name}"]

    def get_all_dot_graphs(self) -> dict[str, Any]:
        return self._dot_graphs

    def _draw(self, gm: fx.GraphModule, name: str) -> Any:
        ignore_getattr, ignore_state = self._options
        dot = pydot.Dot(name, rankdir="TB")
        for node in gm.graph.nodes:
            if ignore_getattr and node.op == "get_attr":
                continue
            dot.add_node(pydot.Node(node.name, label=self._label(gm, node), **self._style(node)))
            if not ignore_state and node.op == "call_module":
                self._draw_state(dot, gm, node)
        for node in gm.graph.nodes:
            if ignore_getattr and node.op == "get_attr":
                continue
            for user in node.users:
                dot.add_edge(pydot.Edge(node.name, user.name))
        return dot

    def _draw_state(self, dot: Any, gm: fx.GraphModule, node: fx.Node) -> None:
        """The parameters and buffers of the module that a node calls."""
        leaf = gm.get_submodule(node.target)
        if isinstance(leaf, fx.GraphModule):
            return
        for kind, named in (("parameter", leaf.named_parameters()), ("buffer", leaf.named_buffers())):
            for key, value in named:
                label = f"{{{node.name}.{key}|op_code=get_{kind}\\l|{_tensor_text(value)}}}"
                box = pydot.Node(f"{node.name}.{key}", label=label, fillcolor=_COLORS["get_param"], **_PLAIN)
                dot.add_node(box)
                dot.add_edge(pydot.Edge(f"{node.name}.{key}", node.name))

    def _style(self, node: fx.Node) -> dict[str, str]:
        style = {**_PLAIN, "shape": self.dot_graph_shape}
        if node.op in _COLORS:
            style["fillcolor"] = _COLORS[node.op]
        else:  # the same color in every run
            at = zlib.crc32(node._pretty_print_target(node.target).encode())
            style["fillcolor"] = _BY_TARGET[at % len(_BY_TARGET)]
        return style

    def _label(self, gm: fx.GraphModule, node: fx.Node) -> str:
        lines = [f"name=%{node.name}", f"op_code={node.op}"]
        if node.op == "call_module":
            leaf = gm.get_submodule(node.target)
            lines[-1] += f"\\n{type(leaf).__name__}"
            lines += [f"{key}: {getattr(leaf, key)}" for key in getattr(leaf, "__constants__", ())]
        else:
            lines.append(f"target={_escaped(node._pretty_print_target(node.target))}")
            shown = [a for a in node.args if not (self.skip_node_names_in_args and isinstance(a, fx.Node))]
            lines += [f"args={_escaped(str(shown))}"] if shown else []
            lines += [f"kwargs={_escaped(str(dict(node.kwargs)))}"] if node.kwargs else []
        lines.append(f"num_users={len(node.users)}")
        if self.parse_stack_trace and node.stack_trace:
            lines.append(_escaped(node.stack_trace.strip().rsplit("\n", 1)[-1].strip()))
        meta = node.meta.get("tensor_meta")
        text = _tensor_text(meta) if isinstance(meta, (TensorMetadata, _C.Tensor)) else ""
        return "{" + "|".join([f"{line}\\n" for line in lines]) + text + "}"


def _escaped(text: str) -> str:
    """Text inside a record: its own signs have a meaning there."""
    for sign in "{}<>|":
        text = text.replace(sign, f"\\{sign}")
    return text.replace("\n", "\\n")


def _tensor_text(value: Any) -> str:
    return f"dtype={value.dtype}\\l|shape={tuple(value.shape)}\\l"
