# SPDX-License-Identifier: Apache-2.0
"""The writer's translations as functions of Python, for symbolics that call them: symbolic_opset9.add(g, a, b). Such a
call is captured as a program of that one operator, which the writer writes; its nodes are added to the graph of g."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import ingot
from ingot import _C, nn
from ingot.export import Dim, ExportedProgram, _trace
from ingot.onnx import errors
from ingot.onnx import symbolic_helper as helper
from ingot.onnx._internal import jit_utils
from ingot.onnx._type_utils import JitScalarType

# Sizes of operands whose sizes are not known, by the position from the last: operands broadcast to each other.
_SIZES = (4, 6, 8, 10, 12, 14, 16, 18)


def _example(value: Any, rank: int) -> tuple[Any, Any]:
    """A tensor of the type of a value, and which of its dims are free."""
    kind = value.type()
    known = kind.kind() == "TensorType"
    scalar = kind.scalarType() if known else None
    dtype = JitScalarType.from_name(scalar).dtype() if scalar else ingot.float32
    sizes = kind.sizes() if known else None
    if sizes is not None:
        return ingot.zeros(sizes, dtype=dtype), None
    count = kind.dim() if known and kind.dim() is not None else rank
    sizes = [_SIZES[count - 1 - i] for i in range(count)]
    return ingot.zeros(sizes, dtype=dtype), {i: Dim.AUTO for i in range(count)}


def _plain(value: Any) -> Any:
    """The Python value of a constant of the graph."""
    found = helper._constant_of(value)
    return found.item() if isinstance(found, ingot.Tensor) and found.dim() == 0 else found


class _Arguments:
    """The arguments of a call: which are operands, and how the others are passed."""

    def __init__(self, args: Sequence[Any]) -> None:
        self.values: list[Any] = []
        self.args = [self._take(arg) for arg in args]

    def _take(self, arg: Any) -> Any:
        if helper._is_none(arg):
            return None
        if not helper._is_value(arg):
            return [self._take(item) for item in arg] if isinstance(arg, (list, tuple)) else arg
        if helper._is_packed_list(arg):
            return [self._take(item) for item in arg.node().inputs()]
        if helper._is_constant(arg):
            return _plain(arg)
        self.values.append(arg)
        return _Operand(len(self.values) - 1)

    def with_tensors(self, tensors: Sequence[Any]) -> list[Any]:
        def put(arg: Any) -> Any:
            if isinstance(arg, list):
                return [put(item) for item in arg]
            return tensors[arg.number] if isinstance(arg, _Operand) else arg

        return [put(arg) for arg in self.args]


class _Operand:
    """The place of an operand."""

    def __init__(self, number: int) -> None:
        self.number = number


def _is_kind(argument: Any, *names: str) -> bool:
    return str(argument.type).removeprefix("Optional[").removesuffix("]") in names


def _fitted(schema: Any, args: Sequence[Any]) -> list[Any] | None:
    """Arguments for an overload: numbers of scalar types are dtypes, tensors that are numbers are read; None: they do
    not fit."""
    if len(args) > len(schema.arguments):
        return None
    out = []
    for argument, arg in zip(schema.arguments, args, strict=False):
        if argument.name == "dtype" and type(arg) is int:
            arg = JitScalarType(arg).dtype()
        if _is_kind(argument, "Tensor") and isinstance(arg, (bool, int, float)):
            arg = ingot.tensor(arg)
        if _is_kind(argument, "int", "number", "SymInt") and isinstance(arg, ingot.Tensor):
            arg = arg.item()
        if _is_kind(argument, "bool") and type(arg) is int:
            arg = bool(arg)
        out.append(arg)
    return out


def _accepts(schema: Any, args: Sequence[Any]) -> bool:
    """Whether an overload takes these arguments, and the others have defaults."""
    for argument, arg in zip(schema.arguments, args, strict=False):
        kind = str(argument.type)
        tensor = isinstance(arg, ingot.Tensor)
        if _is_kind(argument, "Tensor") and not tensor and arg is not None:
            return False
        if tensor and "Tensor" not in kind:
            return False
        listed = kind.removeprefix("Optional[").startswith("List[")
        if arg is not None and isinstance(arg, list) != listed:
            return False
        if arg is None and not kind.startswith("Optional["):
            return False
        if isinstance(arg, str) and "str" not in kind:
            return False
    return all(argument.has_default_value() for argument in schema.arguments[len(args) :])


def _run(name: str, args: Sequence[Any]) -> Any:
    """Calls the overload of an operator that takes the arguments; a trailing argument that none takes is left out."""
    family = getattr(ingot.ops.aten, name)
    given = list(args)
    while True:
        for overload in family.overloads():
            op = getattr(family, overload)
            fitted = None if overload.endswith("out") else _fitted(op._schema, given)
            if fitted is None or not _accepts(op._schema, fitted):
                continue
            positional = [v for a, v in zip(op._schema.arguments, fitted, strict=False) if not a.kwarg_only]
            named = {a.name: v for a, v in zip(op._schema.arguments, fitted, strict=False) if a.kwarg_only}
            return op(*positional, **named)
        if not given or isinstance(given[-1], ingot.Tensor):
            raise errors.OnnxExporterError(f"aten::{name}: no overload takes the arguments of this call")
        given.pop()


class _One(nn.Module):
    """A program of one call."""

    def __init__(self, name: str, arguments: _Arguments) -> None:
        super().__init__()
        self._name, self._arguments = name, arguments

    def forward(self, *tensors: Any) -> Any:
        found = _run(self._name, self._arguments.with_tensors(tensors))
        return tuple(found) if isinstance(found, list) else found


def _nodes(data: bytes, g: Any, values: Sequence[Any]) -> list[Any]:
    """Adds the nodes of a model, whose inputs are the values, to the graph of g; the model's outputs."""
    graph, weights = _C.onnx_graph(data)
    known: dict[str, Any] = {}
    for value in graph.inputs():
        name = value.debugName()
        if name in weights:
            known[name] = jit_utils.constant(g.graph, weights[name])
        else:
            known[name] = values[int(name.rpartition("_")[2])]
    for node in graph.nodes():
        if list(node.blocks()):
            raise errors.OnnxExporterError(f"{node.kind()}: a translation with blocks cannot be part of another one")
        inputs = [known[value.debugName()] for value in node.inputs()]
        if node.kind() == "onnx::Identity":
            known[node.output().debugName()] = inputs[0]
            continue
        made = g.graph.create(node.kind(), inputs, node.outputsSize())
        made.copyAttributes(node)
        g.graph.insertNode(made)
        g.new_nodes.append(made)
        for old, new in zip(node.outputs(), made.outputs(), strict=True):
            new.setType(old.type())
            known[old.debugName()] = new
    return [known[value.debugName()] for value in graph.outputs()]


def call(name: str, g: Any, *args: Any) -> Any:
    """What the writer makes of a call of an ATen operator."""
    arguments = _Arguments(args)
    ranks = [value.type().dim() for value in arguments.values if value.type().kind() == "TensorType"]
    rank = max((r for r in ranks if r is not None), default=1)
    examples = [_example(value, rank) for value in arguments.values]
    tensors = tuple(tensor for tensor, _ in examples)
    free = any(dims for _, dims in examples)
    shapes = (tuple(dims for _, dims in examples),) if free else None
    program = _trace._export(
        _One(name, arguments), tensors, {}, shapes, strict=False, pre_dispatch=True,
        allow_complex_guards_as_runtime_asserts=free,
    )  # fmt: skip
    if program._program.is_training():
        program = ExportedProgram(
            program._program.functionalize(), program.call_spec, program.example_inputs, program._arg_names
        )
    names = [f"operand_{i}" for i in range(len(tensors))]
    data = program._program.write_onnx(
        opset=g.opset, user_outputs=True, metadata=False, torchscript=True, input_names=names
    )
    found = _nodes(data, g, arguments.values)
    return found[0] if len(found) == 1 else tuple(found)


# ---- the modules symbolic_opset7 to symbolic_opset20 ----


@functools.cache
def function(name: str) -> Callable:
    """The translation of an ATen operator: fn(g, *args)."""

    def translate(g: Any, *args: Any, **kwargs: Any) -> Any:
        return call(name, g, *args, *kwargs.values())

    translate.__name__ = translate.__qualname__ = name
    return translate


def members(opset: int) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """__getattr__ and __dir__ of the module of an opset: what it defines, and what is older."""

    def operator(name: str) -> str | None:
        """The operator of a function: those that translations call `__and_` are `__and__`."""
        known = name if hasattr(ingot.ops.aten, name) else f"{name}_"
        return known if hasattr(ingot.ops.aten, known) else None

    def find(name: str) -> Any:
        from ingot.onnx._internal.registration import registry

        group = registry.get_function_group(f"aten::{name}")
        found = operator(name) if group is not None and group.get(opset) is not None else None
        if found is None:
            raise AttributeError(f"module 'torch.onnx.symbolic_opset{opset}' has no attribute {name!r}")
        return function(found)

    def names() -> list[str]:
        from ingot.onnx._internal.registration import registry

        groups = (registry.get_function_group(name) for name in registry.all_functions())
        found = [group.name for group in groups if group is not None and group.defines(opset)]
        return sorted(name.partition("::")[2] for name in found if name.startswith("aten::"))

    return find, names
