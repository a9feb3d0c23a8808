# SPDX-License-Identifier: Apache-2.0
"""Programs in files: .pt2 archives on paths and file objects. The engine reads and writes; here Python's own objects
(edited signatures, trees of arguments, examples) are passed to it."""

from __future__ import annotations

import io
import json
import os
import warnings
from collections import namedtuple
from typing import Any, BinaryIO

from ingot import _C
from ingot._C import Tensor
from ingot.export.exported_program import ExportedProgram, input_rows, state_rows
from ingot.export.graph_signature import InputKind
from ingot.utils import _pytree as pytree

__all__ = ["load", "save"]

FileLike = str | os.PathLike[str] | BinaryIO
MAX_OPSET = 10  # of aten


def _same_weights(known: dict[str, Any], now: dict[str, Any] | None) -> bool:
    return now is None or (list(known) == list(now) and all(known[k] is now[k] for k in known))


def _resigned(ep: ExportedProgram) -> Any:
    """The engine's program with the signature and the weights that Python has now."""
    program = ep._program
    inputs = input_rows(ep.graph_signature)
    known = [(k, n, t, p) for k, n, t, p, _ in program.input_specs]
    same = known == [row[:4] for row in inputs]
    same = same and len(known) == sum(n.op == "placeholder" for n in ep.graph.nodes)
    tensors = None if ep._constant is None else {k: v for k, v in ep._constant.items() if isinstance(v, Tensor)}
    state = ep._state
    if state is not None:
        state = {k: ep._engine_tensors.get(id(v), v) for k, v in state.items()}
    same = same and _same_weights(program.state_dict, state) and _same_weights(program.constants, tensors)
    if same:
        return program
    outputs = [(s.kind.name, s.target) for s in ep.graph_signature.output_specs]
    return _C.pt2_resign(program, inputs, outputs, state_rows(ep.graph_signature, ep.state_dict, ep.constants))


def _namedtuples(spec: Any, found: dict[str, Any]) -> dict[str, Any]:
    """Fields of the named tuples in a spec, by the names under which they are written."""
    if pytree.is_namedtuple_class(spec.type) or spec.type is namedtuple:
        cls = spec.context
        found[pytree._namedtuple_serialize(cls)] = {"field_names": list(cls._fields)}
    for child in spec.children_specs:
        _namedtuples(child, found)
    return found


def _set_texts(ep: ExportedProgram, program: Any) -> None:
    meta = ep._graph_module.meta if ep._graph_module is not None else ep._graph_meta
    tuples = _namedtuples(ep.call_spec.in_spec, {})
    _namedtuples(ep.call_spec.out_spec, tuples)
    custom = json.dumps(meta["custom"]) if meta.get("custom") else None
    _C.pt2_set_texts(program, custom, json.dumps(tuples) if tuples else None)


def loaded(program: Any, examples: bytes | None) -> ExportedProgram:
    """What Python sees of a program that the engine has read."""
    ep = ExportedProgram(program, example_inputs=unpack_examples(examples), arg_names=program.arg_names)
    custom, tuples = _C.pt2_texts(program)
    if custom is not None:
        ep._graph_meta["custom"] = json.loads(custom)
    if tuples is not None:
        fields = {name: entry["field_names"] for name, entry in json.loads(tuples).items()}
        ep._graph_meta["treespec_namedtuple_fields"] = fields
    return ep


def ready(ep: ExportedProgram) -> Any:
    """The engine's program, with everything that Python knows about it."""
    ep._sync()
    program = _resigned(ep) if ep._signature is not None or ep._state is not None or ep._constant else ep._program
    _set_texts(ep, program)
    program.set_specs(*(pytree.treespec_dumps(spec) for spec in ep.call_spec))
    if ep._arg_names is not None:
        program.set_arg_names(ep._arg_names)
    return program


def pack_examples(ep: ExportedProgram) -> bytes | None:
    """Examples as a file of torch.save; None: none, or (with a warning) not representable in such a file."""
    from ingot import serialization

    if ep.example_inputs is None:
        return None
    out = io.BytesIO()
    try:
        serialization.save(ep.example_inputs, out)
    except (TypeError, NotImplementedError, RuntimeError, ValueError) as error:
        warnings.warn(f"the example inputs are left out of the file: {error}", stacklevel=3)
        return None
    return out.getvalue()


def unpack_examples(packed: bytes | None) -> tuple[tuple, dict] | None:
    from ingot import serialization

    if not packed:
        return None
    try:
        args, kwargs = serialization.load(io.BytesIO(packed))
    except (TypeError, RuntimeError, ValueError) as error:
        warnings.warn(f"the example inputs of the file are not read: {error}", stacklevel=4)
        return None
    return args, kwargs


def _bytes(name: str, content: Any) -> bytes:
    if isinstance(content, str):
        return content.encode()
    if isinstance(content, (bytes, bytearray, memoryview)):
        return bytes(content)
    raise TypeError(f"extra file '{name}': expected text or bytes, got {type(content).__name__}")


def save(
    ep: ExportedProgram,
    f: FileLike,
    *,
    extra_files: dict[str, Any] | None = None,
    opset_version: dict[str, int] | None = None,
    pickle_protocol: int = 2,
    layout: str = "newest",
) -> None:
    """Writes a .pt2 archive that torch.export.load of PyTorch 2.8 and newer reads; `layout` "2.6" is for 2.6 and 2.7,
    "2.5" for 2.5. Extra files are texts or bytes by name."""
    if not isinstance(ep, ExportedProgram):
        kind = type(ep).__name__
        raise TypeError(f"The 'ep' parameter must be an instance of 'ExportedProgram', got '{kind}' instead.")
    extra = {name: _bytes(name, content) for name, content in (extra_files or {}).items()}
    to = f.write if hasattr(f, "write") else os.fspath(f)  # type: ignore[arg-type]
    _C.pt2_save(ready(ep), to, layout, extra, dict(opset_version or {}), pack_examples(ep))


def _check_opsets(program: Any, expected: dict[str, int] | None) -> None:
    limits = {"aten": MAX_OPSET} | (expected or {})
    for name, value in _C.pt2_facts(program)[0]:
        namespace = name.removeprefix("opset ")
        if namespace != name and namespace in limits and int(value) > limits[namespace]:
            raise RuntimeError(
                f"the program was saved for version {value} of the operators of '{namespace}', "
                f"expected at most {limits[namespace]}"
            )


def load(
    f: FileLike,
    *,
    extra_files: dict[str, Any] | None = None,
    expected_opset_version: dict[str, int] | None = None,
) -> ExportedProgram:
    """Reads a .pt2 archive of any PyTorch; weights stay pages of the file. The names in `extra_files` get the texts
    that the archive has under them."""
    if hasattr(f, "read"):
        if hasattr(f, "seekable") and f.seekable():
            f.seek(0)  # as a zip reader does: the position that a save left behind does not matter
        program = _C.pt2_load(f.read())
    else:
        path = os.fspath(f)  # type: ignore[arg-type]
        os.stat(path)  # FileNotFoundError
        program = _C.pt2_load(path)
    _check_opsets(program, expected_opset_version)
    if extra_files is not None:
        found = _C.pt2_extra(program)
        for name in extra_files:
            if name not in found:
                raise RuntimeError(f"the archive has no extra file '{name}', only {sorted(found)}")
            extra_files[name] = found[name].decode()
    return loaded(program, _C.pt2_examples(program))


def custom_objects(ep: ExportedProgram) -> dict[str, Any]:
    """Constants that are not tensors: objects that only exist in this process."""
    targets = {s.target for s in ep.graph_signature.input_specs if s.kind is InputKind.CUSTOM_OBJ}
    return {k: v for k, v in ep.constants.items() if k in targets and not isinstance(v, Tensor)}
