# SPDX-License-Identifier: Apache-2.0
"""Translations in Python, called while a model is written: their operands are made values of a small graph, and the
nodes that they add to it become nodes of the model."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import ingot
from ingot import _C
from ingot._ops import OpOverload
from ingot.onnx import errors
from ingot.onnx._globals import GLOBALS
from ingot.onnx._internal import jit_utils
from ingot.onnx._internal.registration import registry

ATEN = "org.pytorch.aten"


class _Call:
    """One call of a translation."""

    def __init__(self, builder: Any) -> None:
        self.builder = builder
        self.graph = _C.Graph()
        self.names: dict[int, str] = {}  # value of the graph -> name in the model

    def value(self, operand: Any) -> Any:
        """An argument as a value of the graph: tensors are inputs, everything else is constant."""
        if isinstance(operand, tuple):
            name, example = operand
            out = self.graph.addInput(name)
            if isinstance(example, ingot.Tensor):
                out.inferTypeFrom(example)
            self.names[out.unique()] = name
            return out
        if isinstance(operand, list):
            node = self.graph.create("prim::ListConstruct", [self.value(item) for item in operand], 1)
            self.graph.insertNode(node)
            return node.output()
        return self.constant(operand)

    def constant(self, value: Any) -> Any:
        if value is None:
            return jit_utils.none(self.graph)
        if isinstance(value, ingot.dtype):
            from ingot.onnx._type_utils import JitScalarType

            value = int(JitScalarType.from_dtype(value))
        if isinstance(value, bool):
            return jit_utils.constant(self.graph, ingot.tensor(value))
        if isinstance(value, int):
            return jit_utils.constant(self.graph, ingot.tensor(value, dtype=ingot.int64))
        if isinstance(value, float):
            return jit_utils.constant(self.graph, ingot.tensor(value, dtype=ingot.float64))
        if isinstance(value, ingot.Tensor):
            return jit_utils.constant(self.graph, value)
        if isinstance(value, str):
            return self.graph.insertConstant(value)
        return jit_utils.none(self.graph)  # a device, a layout: nothing that a model has

    def name(self, value: Any) -> str:
        """The name of a value in the model."""
        known = self.names.get(value.unique())
        if known is not None:
            return known
        node = value.node()
        kind = node.kind()
        if kind == "onnx::Constant" and node.hasAttribute("value"):
            self.names[value.unique()] = self.builder.constant(node.t("value"))
        elif kind == "prim::Constant":
            found = value.toIValue()
            if found is None:
                return ""
            self.names[value.unique()] = self.builder.constant(ingot.tensor(found))
        else:
            self.emit(node)
        return self.names[value.unique()]

    def emit(self, node: Any) -> None:
        domain, op_type = jit_utils.parse_node_kind(node.kind())
        if domain == "onnx":
            domain = ""
        elif domain == "aten":
            domain = ATEN
        elif op_type == "ListConstruct":
            raise errors.SymbolicValueError("a list is no operand of an ONNX node", node.output())
        inputs = [self.name(value) for value in node.inputs()]
        attributes = jit_utils.to_attributes(node)
        outputs = list(node.outputs())
        found = self.builder.emit(op_type, inputs, dict(attributes), len(outputs), domain)
        for value, name in zip(outputs, found, strict=True):
            self.names[value.unique()] = name

    def finish(self, result: Any) -> list[str]:
        """Nodes are written in the order in which they were added, used or not; then the results."""
        for node in self.graph.nodes():
            if node.kind() not in ("prim::Constant", "prim::ListConstruct", "onnx::Constant"):
                if next(iter(node.outputs())).unique() not in self.names:
                    self.emit(node)
        values = result if isinstance(result, (tuple, list)) else (result,)
        return [self.name(value) for value in values]


def _takes_context(fn: Callable) -> bool:
    try:
        first = next(iter(inspect.signature(fn).parameters.values()), None)
    except (TypeError, ValueError):
        return False
    kind = first.annotation if first is not None else None
    return kind is SymbolicContext or (isinstance(kind, str) and kind.rpartition(".")[2] == "SymbolicContext")


class SymbolicContext:
    """What a translation may ask for besides the graph, if its first parameter is annotated with this class."""

    def __init__(self, params_dict: dict, env: dict, cur_node: Any, onnx_block: Any) -> None:
        self.params_dict = params_dict
        self.env = env
        self.cur_node = cur_node
        self.onnx_block = onnx_block


def _checked(result: Any, operator: str, results: int) -> Any:
    """What a translation returned: as many values as the operator has results."""
    if result is None:
        raise RuntimeError(f"ONNX export failed: Couldn't export operator {operator}")
    short = operator.partition("::")[2]
    values = result if isinstance(result, (tuple, list)) else (result,)
    strange = [value for value in values if not isinstance(value, _C.Value) and value is not None]
    if strange:
        raise RuntimeError(
            f"Error casting results of symbolic for {short}: expected to return list of op nodes, instead received "
            f"type ''{type(result)}': {result}"
        )
    if len(values) != results:
        raise RuntimeError(
            f"symbolic for {short} produced an incorrect number of outputs (expected {results}, but got {len(values)})"
        )
    return result


def run(fn: Callable, builder: Any, operands: list[Any], **attributes: Any) -> list[str]:
    """Calls a translation; the names of its results."""
    call = _Call(builder)
    context = jit_utils.GraphContext(call.graph, opset=GLOBALS.export_onnx_opset_version)
    values = [call.value(operand) for operand in operands]
    given: tuple = (context, *values)
    if _takes_context(fn):
        given = (SymbolicContext({}, {}, None, context.block), *given)
    result = fn(*given, **attributes)
    if result is None:
        raise errors.OnnxExporterError("the translation returned nothing")
    return call.finish(result)


def aten_node(builder: Any, operands: list[Any], operator: str, overload: str, results: int) -> list[str]:
    """A call of PyTorch's operator, for runtimes that have it."""

    def fn(g: Any, *values: Any) -> Any:
        return g.op("aten::ATen", *values, operator_s=operator, overload_name_s=overload, outputs=results)

    flat = [item for operand in operands for item in (operand if isinstance(operand, list) else [operand])]
    return run(fn, builder, [_as_text(item) if isinstance(item, str) else item for item in flat])


def _as_text(text: str) -> Any:
    """A text is an array of bytes in a model: ONNX's texts are no operands of ATen's operators."""
    return ingot.tensor(list(text.encode()), dtype=ingot.uint8)


def packet(target: str) -> str:
    """ "aten::add" of "aten.add.Tensor"; what ends in one underscore writes in place and is the same operator."""
    space, name = target.split(".")[:2]
    return f"{space}::{name[:-1] if name.endswith('_') and not name.endswith('__') else name}"


def _is_number(kind: Any) -> bool:
    return str(kind) in ("number", "Scalar", "Optional[number]", "Optional[Scalar]", "float", "Optional[float]")


def overload_name(target: str) -> str:
    """The overload of an ATen node: numbers are tensors in a model, so that of tensors if there is one."""
    space, name, overload = target.split(".")
    family = getattr(getattr(ingot.ops, space), name)
    own = getattr(family, overload)._schema
    if "Tensor" in family.overloads():
        other = family.Tensor._schema
        ours = [a for a in own.arguments if not a.kwarg_only]
        theirs = [a for a in other.arguments if not a.kwarg_only]
        if [a.name for a in ours] == [a.name for a in theirs]:
            return "Tensor"
    return "" if overload == "default" else overload


def _targets(program: Any) -> dict[str, int]:
    """The operators that a program calls, sub-graphs included, and how many results they have."""
    found = {}
    for module in program.graph_module.modules():
        for node in module.graph.nodes if hasattr(module, "graph") else ():
            if node.op == "call_function" and isinstance(node.target, OpOverload):
                found[str(node.target)] = len(node.target._schema.returns)
    return found


def translations(program: Any, opset: int, mode: Any) -> dict[str, Callable]:
    """The calls of a program that Python translates: by a user's function, as an ATen node, or as themselves."""
    table: dict[str, Callable] = {}
    if mode.name == "ONNX" and not registry.has_custom():
        return table
    rows = set(_C.onnx_targets())
    for target, results in _targets(program).items():
        made = _translation(target, results, opset, mode, target in rows)
        if made is not None:
            table[target] = made
    return table


# The first opset with QuantizeLinear and DequantizeLinear, which these operators become; one axis came later.
_SINCE = {
    "quantized_decomposed::quantize_per_tensor": 10,
    "quantized_decomposed::dequantize_per_tensor": 10,
    "quantized_decomposed::quantize_per_channel": 13,
    "quantized_decomposed::dequantize_per_channel": 13,
}


def _translation(target: str, results: int, opset: int, mode: Any, has_row: bool) -> Callable | None:
    name = packet(target)
    group = registry.get_function_group(name)
    custom = group.custom(opset) if group is not None else None
    operator = name.partition("::")[2]
    fallback = mode.name == "ONNX_ATEN_FALLBACK"

    def as_aten(builder: Any, operands: list[Any]) -> list[str]:
        return aten_node(builder, operands, operator, overload_name(target), results)

    def checked(*given: Any) -> Any:
        return _checked(custom(*given), name, results)  # type: ignore[misc]

    if custom is not None and _takes_context(custom):
        checked.__signature__ = inspect.signature(custom)  # type: ignore[attr-defined]

    def user(builder: Any, operands: list[Any]) -> list[str]:
        try:
            return run(checked, builder, operands)
        except TypeError as error:
            error.args = (f"{error.args[0]} \n(Occurred when translating {operator}).",)
            raise
        except RuntimeError:
            if not fallback:
                raise
            return as_aten(builder, operands)

    if custom is not None:
        return user
    if fallback and opset < _SINCE.get(name, 0):
        return as_aten
    if not name.startswith("aten::"):
        return None
    listed = name in registry.all_functions()
    unknown = group.get(opset) is None if group is not None else listed or not has_row
    if mode.name == "ONNX_ATEN" or (fallback and unknown):
        return as_aten
    return None
