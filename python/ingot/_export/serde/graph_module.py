# SPDX-License-Identifier: Apache-2.0
"""GraphModuleSerializer and GraphModuleDeserializer: graphs as objects of the schema, and back. Whole graphs are
written and read by the engine; here are the parts that users call by themselves."""

from __future__ import annotations

import dataclasses
import importlib
import json
from typing import Any

from ingot import _C, fx
from ingot._export.serde import schema
from ingot._export.serde.values import (
    _TORCH_TO_SERIALIZE_DTYPE,
    _TORCH_TO_SERIALIZE_MEMORY_FORMAT,
    SerializeError,
)
from ingot.export.exported_program import ExportedProgram, ModuleCallEntry, _program_of
from ingot.export.graph_signature import (
    ConstantArgument,
    CustomObjArgument,
    ExportGraphSignature,
    InputKind,
    SymIntArgument,
    TensorArgument,
)
from ingot.fx.node import _get_qualified_name
from ingot.utils import _pytree as pytree

__all__ = ["GraphModuleDeserializer", "GraphModuleSerializer", "GraphState", "Result"]

_LISTS = {bool: "as_bools", int: "as_ints", float: "as_floats", str: "as_strings"}  # a bool is an int: first
_PLAIN = {bool: "as_bool", int: "as_int", float: "as_float", str: "as_string"}


@dataclasses.dataclass
class GraphState:
    """What is known of the graph that is being written."""

    inputs: list[Any] = dataclasses.field(default_factory=list)
    outputs: list[Any] = dataclasses.field(default_factory=list)
    nodes: list[Any] = dataclasses.field(default_factory=list)
    tensor_values: dict[str, Any] = dataclasses.field(default_factory=dict)
    sym_int_values: dict[str, Any] = dataclasses.field(default_factory=dict)
    sym_bool_values: dict[str, Any] = dataclasses.field(default_factory=dict)
    is_single_tensor_return: bool = False
    custom_obj_values: dict[str, Any] = dataclasses.field(default_factory=dict)


def _get_schema_from_target(target: Any) -> Any:
    if isinstance(target, _C.OpOverload):
        return target._schema
    raise RuntimeError(f"Cannot find schema for {type(target)}")


def _returns(target: Any) -> list[str]:
    return [str(r.type) for r in _get_schema_from_target(target).returns]


def _is_single_tensor_return(target: Any) -> bool:
    return _returns(target) == ["Tensor"]


def _is_single_tensor_list_return(target: Any) -> bool:
    return _returns(target) in (["List[Tensor]"], ["Tensor[]"])


class GraphModuleSerializer:
    """Writes the graph module of a program with this signature."""

    def __init__(self, graph_signature: ExportGraphSignature, module_call_graph: list[ModuleCallEntry]) -> None:
        self.graph_signature = graph_signature
        self.module_call_graph = module_call_graph
        self.graph_state = GraphState()
        self.custom_objs: dict[str, Any] = {}

    # ---- whole graphs

    def _written(self, graph_module: fx.GraphModule) -> Any:
        """The graph module as the engine writes it."""
        graph_module.graph._sync()
        values = {n.name: n.meta.get("val") for n in graph_module.graph.nodes if n.op == "placeholder"}
        state: dict[str, Any] = {}
        constants: dict[str, Any] = {}
        for spec in self.graph_signature.input_specs:  # the file describes weights; their elements do not matter
            if spec.target is not None:
                kept = spec.kind is InputKind.PARAMETER or (spec.kind is InputKind.BUFFER and spec.persistent)
                (state if kept else constants)[spec.target] = values.get(spec.arg.name)
        program = _program_of(None, graph_module.graph, self.graph_signature, state, constants)
        root = self.module_call_graph[0].signature if self.module_call_graph else None
        if root is not None:
            program.set_specs(*(pytree.treespec_dumps(spec) for spec in (root.in_spec, root.out_spec)))
        text = json.loads(_C.pt2_text(program, {}, "2.5"))
        return schema.from_plain(schema.GraphModule, text["graph_module"])

    def serialize(self, graph_module: fx.GraphModule) -> Any:
        made = self._written(graph_module)
        made.signature = self.serialize_signature(self.graph_signature)
        made.module_call_graph = self.serialize_module_call_graph(self.module_call_graph)
        return made

    def serialize_graph(self, graph_module: fx.GraphModule) -> Any:
        return self._written(graph_module).graph

    # ---- parts

    def serialize_operator(self, target: Any) -> str:
        if isinstance(target, str):
            return target
        if isinstance(target, _C.OpOverload):
            return f"torch.ops.{target}"
        module = getattr(target, "__module__", "")
        if module.startswith("torch.ops"):
            return f"{module}.{target.__name__}"
        import ingot

        name = getattr(target, "__name__", "")
        return f"torch.{name}" if getattr(ingot, name, None) is target else _get_qualified_name(target)

    def serialize_metadata(self, node: fx.Node) -> dict[str, str]:
        found = {}
        for key in ("stack_trace", "nn_module_stack", "source_fn_stack", "torch_fn"):
            value = node.meta.get(key)
            if value is None:
                continue
            if key == "nn_module_stack":
                value = ";".join(f"{k},{path},{cls}" for k, (path, cls) in value.items())
            elif key == "source_fn_stack":
                value = ";".join(f"{n},{self.serialize_operator(fn)}" for n, fn in value)
            elif key == "torch_fn":
                value = ";".join(value)
            found[key] = value
        if node.meta.get("custom"):
            found["custom"] = json.dumps(node.meta["custom"])
        return found

    def serialize_input(self, arg: Any, arg_type: Any = None) -> Any:
        make = schema.Argument.create
        if isinstance(arg, fx.Node):
            value = arg.meta.get("val")
            if isinstance(value, _C.SymInt):
                return make(as_sym_int=schema.SymIntArgument.create(as_name=arg.name))
            if isinstance(value, _C.SymBool):
                return make(as_sym_bool=schema.SymBoolArgument.create(as_name=arg.name))
            return make(as_tensor=schema.TensorArgument(name=arg.name))
        if arg is None:
            return make(as_none=())
        for kind, field in _PLAIN.items():
            if type(arg) is kind:
                return make(**{field: arg})
        if isinstance(arg, (list, tuple)):
            return self._list(arg)
        if isinstance(arg, _C.device):
            return make(as_device=schema.Device(type=arg.type, index=arg.index))
        if isinstance(arg, _C.dtype):
            return make(as_scalar_type=_TORCH_TO_SERIALIZE_DTYPE[arg])
        if isinstance(arg, _C.layout):
            return make(as_layout=schema.Layout.Strided)
        if isinstance(arg, _C.memory_format):
            return make(as_memory_format=_TORCH_TO_SERIALIZE_MEMORY_FORMAT[arg])
        raise SerializeError(f"Unsupported argument type: {type(arg)} with schema arg_type {arg_type}")

    def _list(self, args: Any) -> Any:
        make = schema.Argument.create
        if not args:
            return make(as_tensors=[])
        for kind, field in _LISTS.items():
            if all(type(a) is kind for a in args):
                return make(**{field: list(args)})
        if all(isinstance(a, fx.Node) for a in args) and not any(_is_number(a) for a in args):
            return make(as_tensors=[schema.TensorArgument(name=a.name) for a in args])
        if all(isinstance(a, int) or (isinstance(a, fx.Node) and _is_number(a)) for a in args):
            named = schema.SymIntArgument.create
            return make(
                as_sym_ints=[named(as_int=a) if isinstance(a, int) else named(as_name=a.name) for a in args]
            )
        if all(a is None or isinstance(a, fx.Node) for a in args) and any(isinstance(a, fx.Node) for a in args):
            one = schema.OptionalTensorArgument.create
            return make(as_optional_tensors=[
                one(as_none=()) if a is None else one(as_tensor=schema.TensorArgument(name=a.name)) for a in args
            ])  # fmt: skip
        raise SerializeError(f"Unsupported list/tuple argument type: {[type(a) for a in args]}")

    def serialize_inputs(self, target: Any, args: tuple, kwargs: dict[str, Any] | None = None) -> list[Any]:
        """The arguments of a call by their names in the schema, those that have their default values left out."""
        kwargs = kwargs or {}
        found = []
        for i, argument in enumerate(_get_schema_from_target(target).arguments):
            if argument.name in kwargs:
                value = kwargs[argument.name]
            elif i < len(args) and not argument.kwarg_only:
                value = args[i]
            else:
                continue
            found.append(schema.NamedArgument(name=argument.name, arg=self.serialize_input(value, argument.type)))
        return found

    def serialize_signature(self, sig: ExportGraphSignature) -> Any:
        return schema.GraphSignature(
            input_specs=[self.serialize_input_spec(s) for s in sig.input_specs],
            output_specs=[self.serialize_output_spec(s) for s in sig.output_specs],
        )

    def serialize_argument_spec(self, x: Any) -> Any:
        make = schema.Argument.create
        if isinstance(x, TensorArgument):
            return make(as_tensor=schema.TensorArgument(name=x.name))
        if isinstance(x, SymIntArgument):
            return make(as_sym_int=schema.SymIntArgument.create(as_name=x.name))
        if isinstance(x, ConstantArgument):
            return self.serialize_input(x.value)
        if isinstance(x, CustomObjArgument):
            return make(as_custom_obj=schema.CustomObjArgument(name=x.name, class_fqn=x.class_fqn))
        raise AssertionError(f"no form of the schema for {type(x).__name__}")

    def serialize_input_spec(self, spec: Any) -> Any:
        make, kind, arg, target = schema.InputSpec.create, spec.kind.name, spec.arg, spec.target
        if kind == "USER_INPUT":
            if isinstance(arg, ConstantArgument):
                value = self._constant(arg.value)
                return make(constant_input=schema.ConstantInputSpec(name=arg.name, value=value))
            return make(user_input=schema.UserInputSpec(arg=self.serialize_argument_spec(arg)))
        if kind == "TOKEN":
            return make(token=schema.InputTokenSpec(arg=schema.TokenArgument(name=arg.name)))
        if kind == "CUSTOM_OBJ":
            named = schema.CustomObjArgument(name=arg.name, class_fqn=arg.class_fqn)
            return make(custom_obj=schema.InputToCustomObjSpec(arg=named, custom_obj_name=target))
        tensor = schema.TensorArgument(name=arg.name)
        if kind == "PARAMETER":
            return make(parameter=schema.InputToParameterSpec(arg=tensor, parameter_name=target))
        if kind == "BUFFER":
            made = schema.InputToBufferSpec(arg=tensor, buffer_name=target, persistent=spec.persistent)
            return make(buffer=made)
        return make(tensor_constant=schema.InputToTensorConstantSpec(arg=tensor, tensor_constant_name=target))

    def _constant(self, value: Any) -> Any:
        make = schema.ConstantValue.create
        for kind, field in _PLAIN.items():
            if type(value) is kind:
                return make(**{field: value})
        if value is None:
            return make(as_none=())
        raise SerializeError(f"Unhandled constant argument {value} to serialize")

    def serialize_output_spec(self, spec: Any) -> Any:
        make, kind, arg, target = schema.OutputSpec.create, spec.kind.name, spec.arg, spec.target
        if kind == "USER_OUTPUT":
            return make(user_output=schema.UserOutputSpec(arg=self.serialize_argument_spec(arg)))
        if kind == "TOKEN":
            return make(token=schema.OutputTokenSpec(arg=schema.TokenArgument(name=arg.name)))
        tensor = schema.TensorArgument(name=arg.name)
        made = {
            "LOSS_OUTPUT": lambda: ("loss_output", schema.LossOutputSpec(arg=tensor)),
            "BUFFER_MUTATION": lambda: ("buffer_mutation", schema.BufferMutationSpec(arg=tensor, buffer_name=target)),
            "GRADIENT_TO_PARAMETER": lambda: (
                "gradient_to_parameter", schema.GradientToParameterSpec(arg=tensor, parameter_name=target)
            ),
            "GRADIENT_TO_USER_INPUT": lambda: (
                "gradient_to_user_input", schema.GradientToUserInputSpec(arg=tensor, user_input_name=target)
            ),
            "USER_INPUT_MUTATION": lambda: (
                "user_input_mutation", schema.UserInputMutationSpec(arg=tensor, user_input_name=target)
            ),
        }  # fmt: skip
        if kind not in made:
            raise AssertionError(f"no form of the schema for an output of kind {kind}")
        field, value = made[kind]()
        return make(**{field: value})

    def serialize_module_call_signature(self, module_call_signature: Any) -> Any:
        s = module_call_signature
        return schema.ModuleCallSignature(
            inputs=[self.serialize_argument_spec(x) for x in s.inputs],
            outputs=[self.serialize_argument_spec(x) for x in s.outputs],
            in_spec=pytree.treespec_dumps(s.in_spec, schema.TREESPEC_VERSION),
            out_spec=pytree.treespec_dumps(s.out_spec, schema.TREESPEC_VERSION),
        )

    def serialize_module_call_graph(self, module_call_graph: list[ModuleCallEntry]) -> list[Any]:
        return [
            schema.ModuleCallEntry(
                fqn=entry.fqn,
                signature=None if entry.signature is None else self.serialize_module_call_signature(entry.signature),
            )
            for entry in module_call_graph
        ]


def _is_number(node: fx.Node) -> bool:
    return isinstance(node.meta.get("val"), (_C.SymInt, _C.SymFloat, _C.SymBool))


@dataclasses.dataclass
class Result:
    """What a graph module was read to."""

    graph_module: fx.GraphModule
    signature: ExportGraphSignature
    module_call_graph: list[ModuleCallEntry]
    names_to_symbols: dict[str, Any]
    state_dict: dict[str, Any]
    constants: dict[str, Any]
    example_inputs: tuple[tuple, dict] | None


class GraphModuleDeserializer:
    """Reads graph modules. `read` makes a program of an object of the schema."""

    Result = Result

    def __init__(self) -> None:
        self.names_to_symbols: dict[str, Any] = {}

    def deserialize_operator(self, serialized_target: str) -> Any:
        """What a name stands for; a name that stands for nothing is returned as it is."""
        import ingot

        if serialized_target.startswith("_operator."):
            return getattr(importlib.import_module("operator"), serialized_target.removeprefix("_operator."))
        if not serialized_target.startswith("torch."):
            return serialized_target
        found: Any = ingot
        for part in serialized_target.split(".")[1:]:
            found = getattr(found, part, None)
            if found is None:
                return serialized_target
        return found

    def deserialize(
        self,
        serialized_graph_module: Any,
        serialized_state_dict: dict[str, Any] | bytes,
        constants: dict[str, Any] | bytes,
        example_inputs: Any = None,
        symbol_name_to_range: dict[str, Any] | None = None,
    ) -> Result:
        program = self._program(serialized_graph_module, serialized_state_dict, constants, symbol_name_to_range)
        self.names_to_symbols = {str(symbol): symbol for symbol in program.range_constraints}
        examples = example_inputs
        if isinstance(examples, bytes):
            from ingot.export._save import unpack_examples

            examples = unpack_examples(examples)
        return Result(
            program.graph_module, program.graph_signature, program.module_call_graph, self.names_to_symbols,
            program.state_dict, program.constants, examples,
        )  # fmt: skip

    def _program(self, module: Any, state: Any, constants: Any, ranges: dict[str, Any] | None) -> ExportedProgram:
        from ingot._export.serde import serialize

        bounds = {name: schema.RangeConstraint(*_bounds(r)) for name, r in (ranges or {}).items()}
        whole = schema.ExportedProgram(
            graph_module=module, opset_version={}, range_constraints=bounds,
            schema_version=schema.SchemaVersion(*schema.SCHEMA_VERSION), verifiers=["ATEN"], torch_version="<=2.4",
        )  # fmt: skip
        return serialize.ExportedProgramDeserializer().deserialize(whole, state, constants)


def _bounds(values: Any) -> tuple[int, int]:
    from ingot._export.passes.add_runtime_assertions_for_constraints_pass import _convert_range_to_int

    return _convert_range_to_int(values)

