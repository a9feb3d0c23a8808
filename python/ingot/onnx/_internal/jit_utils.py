# SPDX-License-Identifier: Apache-2.0
"""GraphContext: what a translation adds nodes to. The nodes are those of a small graph per call, which the writer then
writes as nodes of the model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import ingot
from ingot import _C

_ATTRIBUTE = re.compile(r"^(.+)_(([ifstgz])|(ty))$")


class GraphContext:
    """The graph of a translation, with everything that torch._C.Graph has."""

    def __init__(
        self,
        graph: Any,
        block: Any = None,
        opset: int = 0,
        original_node: Any = None,
        params_dict: dict | None = None,
        env: dict | None = None,
        values_in_env: set | None = None,
        new_nodes: list | None = None,
    ) -> None:
        self.graph = graph
        self.block = graph.block() if block is None else block
        self.opset = opset
        self.original_node = original_node
        self.params_dict = {} if params_dict is None else params_dict
        self.env = {} if env is None else env
        self.values_in_env = set() if values_in_env is None else values_in_env
        self.new_nodes = [] if new_nodes is None else new_nodes

    def __getattr__(self, name: str) -> Any:
        return getattr(self.graph, name)

    def op(self, opname: str, *raw_args: Any, outputs: int = 1, **kwargs: Any) -> Any:
        """Adds a node of the default domain, or of the domain of "domain::Op". Attributes say their type by the end of
        the keyword: axis_i=1, alpha_f=0.5, mode_s="linear", value_t=tensor."""
        return _add_op(self, opname, *raw_args, outputs=outputs, **kwargs)

    def aten_op(self, operator: str, *args: Any, overload_name: str = "", **kwargs: Any) -> Any:
        """Adds an ATen operator, for runtimes that have PyTorch's."""
        return self.op("aten::ATen", *args, operator_s=operator, overload_name_s=overload_name, **kwargs)

    at = aten_op

    def onnxscript_op(self, onnx_fn: Any, *raw_args: Any, outputs: int = 1, **kwargs: Any) -> Any:
        """Adds a call of an onnxscript function by its name."""
        name = f"{onnx_fn.opset.domain}::{onnx_fn.name}"
        return self.op(name, *raw_args, outputs=outputs, **kwargs)


def _const(context: GraphContext, value: Any) -> Any:
    """A value of the graph for an argument: numbers and tensors become constants."""
    if isinstance(value, _C.Value):
        return value
    if value is None:
        return none(context.graph)
    tensor = value if isinstance(value, ingot.Tensor) else ingot.tensor(value)
    return constant(context.graph, tensor)


def none(graph: Any) -> Any:
    node = graph.create("prim::Constant", [], 1)
    graph.insertNode(node)
    out = node.output()
    out.setType(_C.NoneType.get())
    return out


def constant(graph: Any, tensor: Any) -> Any:
    node = graph.create("onnx::Constant", [], 1)
    node.t_("value", tensor)
    graph.insertNode(node)
    out = node.output()
    out.inferTypeFrom(tensor)
    return out


def _add_attribute(node: Any, key: str, value: Any) -> None:
    match = _ATTRIBUTE.match(key)
    if match is None:
        raise ValueError(
            f"Invalid attribute specifier '{key}' names must be suffixed with type, e.g. 'dim_i' or 'dims_i'"
        )
    name, kind = match.group(1), match.group(2)
    if isinstance(value, ingot.Tensor) and kind in "if":
        value = value.tolist() if value.dim() else value.item()
    if isinstance(value, Sequence) and not isinstance(value, str) and kind != "t":
        kind += "s"
    if kind == "i" and not isinstance(value, int):
        value = int(value)
    if kind == "f":
        value = float(value)
    getattr(node, f"{kind}_")(name, value)


def _add_op(context: GraphContext, opname: str, *args: Any, outputs: int = 1, **kwargs: Any) -> Any:
    inputs = [_const(context, arg) for arg in args]
    attributes = {k: v for k, v in kwargs.items() if v is not None}
    kind = opname if "::" in opname else f"onnx::{opname}"
    node = context.graph.create(kind, inputs, outputs)
    for key, value in sorted(attributes.items()):
        _add_attribute(node, key, value)
    context.graph.insertNode(node)
    context.new_nodes.append(node)
    found = tuple(node.outputs())
    return found[0] if outputs == 1 else found


def add_op_with_blocks(graph_context: GraphContext, opname: str, *inputs: Any, outputs: int = 1, n_blocks: int = 1,
                       **attributes: Any) -> Any:  # fmt: skip
    """A node with blocks, as If and Loop have: (outputs, contexts of the blocks, node)."""
    found = _add_op(graph_context, opname, *inputs, outputs=outputs, **attributes)
    node = (found if isinstance(found, tuple) else (found,))[0].node()
    contexts = []
    for _ in range(n_blocks):
        block = node.addBlock()
        contexts.append(GraphContext(graph_context.graph, block, graph_context.opset))
    return found, tuple(contexts), node


def parse_node_kind(kind: str) -> tuple[str, str]:
    if "::" not in kind:
        raise ValueError(f"Node kind: {kind} is invalid. '::' is not in node kind.")
    domain, name = kind.split("::", 1)
    if "::" in name:
        raise ValueError(f"Node kind: {kind} is invalid. '::' should only apear once.")
    return domain, name


def is_aten(domain: str) -> bool:
    return domain == "aten"


def is_prim(domain: str) -> bool:
    return domain == "prim"


def is_onnx(domain: str) -> bool:
    return domain == "onnx"


def to_attributes(node: Any) -> Mapping[str, Any]:
    """The attributes of a node as Python values."""
    out = {}
    for name in node.attributeNames():
        out[name] = getattr(node, node.kindOf(name))(name)
    return out


# ---- under the names that user code calls ----

_SKIP_NODE_ATTRIBUTES = {"inplace", "aten"}


def _is_tensor(x: Any) -> bool:
    return x.type().isSubtypeOf(_C.TensorType.get())


def _is_onnx_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes, ingot.Tensor))


def _scalar(x: Any) -> Any:
    """The number of a tensor with one element."""
    assert x.numel() == 1
    return x[0] if x.dim() else x.item()


def get_device_from_value(value: Any) -> Any:
    return value.type().device() if _is_tensor(value) else None


def _const_if_tensor(graph_context: GraphContext, arg: Any) -> Any:
    return arg if arg is None or isinstance(arg, _C.Value) else _const(graph_context, arg)


def _create_node(
    graph_or_block: Any,
    domain_op: str,
    inputs: Sequence[Any],
    attributes: dict,
    params_dict: dict,
    opset_version: int,
    n_outputs: int,
    shape_inference: bool = True,
) -> Any:
    """A node at the end of a graph."""
    node = graph_or_block.create(domain_op, list(inputs), n_outputs)
    for key, value in sorted(attributes.items()):
        if key not in _SKIP_NODE_ATTRIBUTES:
            _add_attribute(node, key, value)
    graph_or_block.insertNode(node)
    return node


def _is_caffe2_aten_fallback() -> bool:
    return False
