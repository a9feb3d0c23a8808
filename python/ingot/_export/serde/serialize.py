# SPDX-License-Identifier: Apache-2.0
"""serialize and deserialize: a program as four byte strings. The text is the engine's; weights and examples are
files of torch.save. Custom objects have no bytes: they are handed along as they are, for this process only."""
from __future__ import annotations

import base64
import dataclasses
import enum
import io
import json
from typing import Any

from ingot import _C
from ingot._explain import reworded
from ingot._export.serde import schema
from ingot._export.serde.graph_module import (  # noqa: F401 (PyTorch has these names here)
    GraphModuleDeserializer,
    GraphModuleSerializer,
    GraphState,
    _get_schema_from_target,
    _is_single_tensor_list_return,
    _is_single_tensor_return,
)
from ingot._export.serde.schema import SCHEMA_VERSION, TREESPEC_VERSION
from ingot._export.serde.union import _Union
from ingot._export.serde.values import (  # noqa: F401
    _SERIALIZE_TO_TORCH_DTYPE,
    _SERIALIZE_TO_TORCH_LAYOUT,
    _SERIALIZE_TO_TORCH_MEMORY_FORMAT,
    _TORCH_TO_SERIALIZE_DTYPE,
    _TORCH_TO_SERIALIZE_LAYOUT,
    _TORCH_TO_SERIALIZE_MEMORY_FORMAT,
    SerializeError,
    _dataclass_to_dict,
    _dict_to_dataclass,
    deserialize_device,
    serialize_range_constraints,
    serialize_sym_bool,
    serialize_sym_int,
    serialize_tensor_meta,
)
from ingot.export._save import MAX_OPSET, custom_objects, loaded, pack_examples, ready
from ingot.export.exported_program import ExportedProgram

__all__ = [
    "SCHEMA_VERSION", "TREESPEC_VERSION", "ExportedProgramDeserializer", "ExportedProgramSerializer", "SerializeError",
    "SerializedArtifact", "deserialize", "serialize",
]  # fmt: skip


@dataclasses.dataclass
class SerializedArtifact:
    exported_program: bytes
    state_dict: bytes
    constants: bytes
    example_inputs: bytes


@dataclasses.dataclass
class _SerializedProgram:
    """What an ExportedProgramSerializer gives: the program as an object of the schema, the rest as bytes."""

    exported_program: Any
    state_dict: bytes
    constants: bytes
    example_inputs: bytes


def _pack(tensors: dict[str, Any]) -> bytes:
    from ingot import serialization

    out = io.BytesIO()
    serialization.save(tensors, out)
    return out.getvalue()


def _unpack(packed: bytes | dict[str, Any]) -> dict[str, Any]:
    from ingot import serialization

    if not isinstance(packed, bytes):
        return packed
    return dict(serialization.load(io.BytesIO(packed))) if packed else {}


def serialize(
    exported_program: ExportedProgram, opset_version: dict[str, int] | None = None, pickle_protocol: int = 2
) -> SerializedArtifact:
    """The pieces of a program."""
    try:
        program = ready(exported_program)
        text = _C.pt2_text(program, dict(opset_version or {}))
    except NotImplementedError as error:
        raise reworded(error, SerializeError) from error
    made = SerializedArtifact(
        text, _pack(program.state_dict), _pack(program.constants), pack_examples(exported_program) or b""
    )
    objects = custom_objects(exported_program)
    if objects:
        made.__dict__["custom_objects"] = objects  # only exist in this process
    return made


def deserialize(
    artifact: SerializedArtifact, expected_opset_version: dict[str, int] | None = None
) -> ExportedProgram:
    """The program of such pieces."""
    objects = artifact.__dict__.get("custom_objects", {})
    try:
        program = _C.pt2_parse(
            artifact.exported_program, _unpack(artifact.state_dict), _unpack(artifact.constants), bool(objects)
        )
    except NotImplementedError as error:
        found = json.loads(artifact.exported_program).get("schema_version", {})
        if found.get("major") not in range(1, 9):
            version = schema.from_plain(schema.SchemaVersion, found)
            raise SerializeError(
                f"Serialized schema version {version} does not match our current schema version {SCHEMA_VERSION}."
            ) from error
        raise reworded(error, SerializeError) from error
    ep = loaded(program, artifact.example_inputs)
    if objects:
        ep.constants.update(objects)
    return ep


class ExportedProgramSerializer:
    """serialize in two steps: the program as objects of the schema of 2.5."""

    def __init__(self, opset_version: dict[str, int] | None = None, pickle_protocol: int = 2) -> None:
        self.opset_version = {"aten": 10} | (opset_version or {})

    def serialize(self, exported_program: ExportedProgram) -> _SerializedProgram:
        if not isinstance(exported_program, ExportedProgram):
            raise TypeError(f"expected an ExportedProgram, found {type(exported_program).__name__}")
        try:
            program = ready(exported_program)
            text = _C.pt2_text(program, self.opset_version, "2.5")
        except NotImplementedError as error:
            raise reworded(error, SerializeError) from error
        tree = schema.from_plain(schema.ExportedProgram, json.loads(text))
        calls = exported_program.module_call_graph
        writer = GraphModuleSerializer(exported_program.graph_signature, calls)
        tree.graph_module.module_call_graph = writer.serialize_module_call_graph(calls)
        examples = pack_examples(exported_program) or b""
        return _SerializedProgram(tree, _pack(program.state_dict), _pack(program.constants), examples)


class ExportedProgramDeserializer:
    def __init__(self, expected_opset_version: dict[str, int] | None = None) -> None:
        self.expected_opset_version = {"aten": MAX_OPSET} | (expected_opset_version or {})

    def deserialize(
        self,
        exported_program: Any,
        state_dict: dict[str, Any] | bytes,
        constants: dict[str, Any] | bytes,
        example_inputs: bytes | None = None,
    ) -> ExportedProgram:
        if not isinstance(exported_program, schema.ExportedProgram):
            raise TypeError(f"expected an object of the schema, found {type(exported_program).__name__}")
        version = exported_program.schema_version
        if version.major != SCHEMA_VERSION[0]:
            raise SerializeError(
                f"Serialized schema version {version} does not match our current schema version {SCHEMA_VERSION}."
            )
        text = json.dumps(schema.to_plain(exported_program)).encode()
        return deserialize(SerializedArtifact(text, state_dict, constants, example_inputs or b""))  # type: ignore[arg-type]


class EnumEncoder(json.JSONEncoder):
    """Enumerations as their numbers, bytes as text."""

    def default(self, obj: Any) -> Any:
        if isinstance(obj, enum.Enum):
            return obj.value
        return base64.b64encode(obj).decode() if isinstance(obj, bytes) else super().default(obj)


def _names_of(value: Any) -> list[str]:
    """The values that an argument refers to, in order."""
    if isinstance(value, (schema.TensorArgument, schema.TokenArgument, schema.CustomObjArgument)):
        return [value.name]
    if isinstance(value, (schema.SymIntArgument, schema.SymBoolArgument)):
        return [value.as_name] if value.type == "as_name" else []
    if isinstance(value, schema.NamedArgument):
        return _names_of(value.arg)
    if isinstance(value, _Union):
        return _names_of(value.value)
    return [n for v in value for n in _names_of(v)] if isinstance(value, (list, tuple)) else []


def _renamed(value: Any, names: dict[str, str]) -> Any:
    """A copy of an object of the schema with other names of values."""
    if isinstance(value, (schema.TensorArgument, schema.TokenArgument, schema.CustomObjArgument)):
        return dataclasses.replace(value, name=names.get(value.name, value.name))
    if isinstance(value, (schema.SymIntArgument, schema.SymBoolArgument)) and value.type == "as_name":
        return type(value).create(as_name=names.get(value.as_name, value.as_name))
    if isinstance(value, schema.GraphArgument):
        return value
    if isinstance(value, _Union):
        return type(value).create(**{value.type: _renamed(value.value, names)})
    if dataclasses.is_dataclass(value):
        fields = {f.name: _renamed(getattr(value, f.name), names) for f in dataclasses.fields(value)}
        for key in ("user_input_name",):
            if key in fields:
                fields[key] = names.get(fields[key], fields[key])
        return type(value)(**fields)
    if isinstance(value, list):
        return [_renamed(v, names) for v in value]
    if isinstance(value, tuple):
        return tuple(_renamed(v, names) for v in value)
    return value


def _in_order(graph: Any) -> list[Any]:
    """The nodes in an order that only depends on what they compute from what."""
    ranks = {name: i for i, name in enumerate(_names_of(graph.inputs))}
    waiting = list(graph.nodes)
    done = []
    while waiting:
        ready = [n for n in waiting if all(name in ranks for name in _names_of(n.inputs))]
        if not ready:
            raise SerializeError("the graph has a cycle, or a node reads a value that nothing computes")
        node = min(ready, key=lambda n: ([ranks[name] for name in _names_of(n.inputs)], n.target))
        waiting.remove(node)
        done.append(node)
        for name in _names_of(node.outputs):
            ranks.setdefault(name, len(ranks))
    return done


def canonicalize(ep: Any) -> Any:
    """The program with names that say nothing, nodes in an order that follows from what they compute, and sorted
    tables: equal for equal programs."""
    graph = ep.graph_module.graph
    nodes = _in_order(graph)
    found = [*_names_of(graph.inputs), *(n for node in nodes for n in _names_of(node.outputs))]
    names = {name: f"_{i}" for i, name in enumerate(dict.fromkeys(found))}

    def table(values: dict[str, Any]) -> dict[str, Any]:
        return {k: v for k, v in sorted((names.get(k, k), v) for k, v in values.items())}

    made = schema.Graph(
        inputs=_renamed(tuple(graph.inputs), names),
        outputs=_renamed(tuple(graph.outputs), names),
        nodes=[
            schema.Node(n.target, _renamed(n.inputs, names), _renamed(n.outputs, names), n.metadata) for n in nodes
        ],
        tensor_values=table(graph.tensor_values),
        sym_int_values=table(graph.sym_int_values),
        sym_bool_values=table(graph.sym_bool_values),
        is_single_tensor_return=graph.is_single_tensor_return,
        custom_obj_values=table(graph.custom_obj_values),
    )
    whole = schema.GraphModule(
        graph=made,
        signature=_renamed(ep.graph_module.signature, names),
        module_call_graph=ep.graph_module.module_call_graph,
    )
    return schema.ExportedProgram(
        graph_module=whole,
        opset_version=dict(sorted(ep.opset_version.items())),
        range_constraints=dict(sorted(ep.range_constraints.items())),
        schema_version=ep.schema_version,
        verifiers=ep.verifiers,
        torch_version=ep.torch_version,
    )


def serialize_torch_artifact(artifact: Any, pickle_protocol: int = 2) -> bytes:
    """Tensors and plain data as a file of torch.save."""
    return _pack(artifact) if artifact is not None else b""


def deserialize_torch_artifact(serialized: bytes | dict[str, Any] | tuple) -> Any:
    from ingot import serialization

    if not isinstance(serialized, bytes):
        return serialized
    return serialization.load(io.BytesIO(serialized)) if serialized else {}
