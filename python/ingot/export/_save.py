# SPDX-License-Identifier: Apache-2.0
"""Programs in files: .pt2 archives on paths and file objects."""
from __future__ import annotations

import os
from typing import Any, BinaryIO

from ingot import _C
from ingot.export.exported_program import ExportedProgram
from ingot.utils import _pytree as pytree

__all__ = ["load", "save"]


def _ready(ep: ExportedProgram) -> Any:
    """The engine's program, with all that Python knows about it."""
    ep._sync()
    ep._program.set_specs(*(pytree.treespec_dumps(spec) for spec in ep.call_spec))
    if ep._arg_names is not None:
        ep._program.set_arg_names(ep._arg_names)
    return ep._program


def save(
    ep: ExportedProgram,
    f: str | os.PathLike[str] | BinaryIO,
    *,
    extra_files: dict[str, Any] | None = None,
    opset_version: dict[str, int] | None = None,
) -> None:
    """Writes a .pt2 archive that torch.export.load of PyTorch 2.8 and newer reads."""
    if not isinstance(ep, ExportedProgram):
        kind = type(ep).__name__
        raise TypeError(f"The 'ep' parameter must be an instance of 'ExportedProgram', got '{kind}' instead.")
    to = f.write if hasattr(f, "write") else os.fspath(f)  # type: ignore[arg-type]
    _C.pt2_save(_ready(ep), to)


def load(
    f: str | os.PathLike[str] | BinaryIO,
    *,
    extra_files: dict[str, Any] | None = None,
    expected_opset_version: dict[str, int] | None = None,
) -> ExportedProgram:
    """Reads a .pt2 archive; weights stay pages of the file."""
    source = f.read() if hasattr(f, "read") else os.fspath(f)  # type: ignore[union-attr]
    program = _C.pt2_load(source)
    return ExportedProgram(program, arg_names=program.arg_names)
