# SPDX-License-Identifier: Apache-2.0
"""serialize and deserialize: a program as four byte strings. The text is the engine's; weights and examples are
files of torch.save. Custom objects have no bytes: they are handed along as they are, for this process only."""
from __future__ import annotations

import dataclasses
import io
import json
from typing import Any

from ingot import _C
from ingot._export.serde.schema import SCHEMA_VERSION, TREESPEC_VERSION
from ingot.export._save import custom_objects, loaded, pack_examples, ready
from ingot.export.exported_program import ExportedProgram

__all__ = [
    "SCHEMA_VERSION", "TREESPEC_VERSION", "ExportedProgramDeserializer", "ExportedProgramSerializer", "SerializeError",
    "SerializedArtifact", "deserialize", "serialize",
]  # fmt: skip


class SerializeError(RuntimeError):
    """A program cannot be written or read."""


@dataclasses.dataclass
class SerializedArtifact:
    exported_program: bytes
    state_dict: bytes
    constants: bytes
    example_inputs: bytes
    custom_objects: dict[str, Any] = dataclasses.field(default_factory=dict)


class Struct:
    """An object of the schema: its fields are attributes; of a union, `type` and `value` too."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.__dict__.update(fields)

    @property
    def type(self) -> str:
        return next(iter(self.__dict__))

    @property
    def value(self) -> Any:
        return next(iter(self.__dict__.values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self.__dict__.items())})"


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
        raise SerializeError(str(error)) from error
    return SerializedArtifact(
        text,
        _pack(program.state_dict),
        _pack(program.constants),
        pack_examples(exported_program) or b"",
        custom_objects(exported_program),
    )


def deserialize(
    artifact: SerializedArtifact, expected_opset_version: dict[str, int] | None = None
) -> ExportedProgram:
    """The program of such pieces."""
    objects = getattr(artifact, "custom_objects", {})
    try:
        program = _C.pt2_parse(
            artifact.exported_program, _unpack(artifact.state_dict), _unpack(artifact.constants), bool(objects)
        )
    except NotImplementedError as error:
        raise SerializeError(str(error)) from error
    ep = loaded(program, artifact.example_inputs)
    if objects:
        ep.constants.update(objects)
    return ep


class ExportedProgramSerializer:
    """serialize in two steps: what it gives has the text as a tree of objects."""

    def __init__(self, opset_version: dict[str, int] | None = None, pickle_protocol: int = 2) -> None:
        self.opset_version = {"aten": 10} | (opset_version or {})

    def serialize(self, exported_program: ExportedProgram) -> Struct:
        pieces = serialize(exported_program, self.opset_version)
        tree = json.loads(pieces.exported_program, object_hook=Struct)
        return Struct(dataclasses.asdict(pieces) | {"exported_program": tree, "text": pieces.exported_program})


class ExportedProgramDeserializer:
    def __init__(self, expected_opset_version: dict[str, int] | None = None) -> None:
        self.expected_opset_version = expected_opset_version

    def deserialize(
        self, exported_program: Any, state_dict: Any, constants: Any, example_inputs: bytes | None = None
    ) -> ExportedProgram:
        text = json.dumps(exported_program, default=vars).encode()
        return deserialize(SerializedArtifact(text, state_dict, constants, example_inputs or b""))
