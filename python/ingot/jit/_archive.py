# SPDX-License-Identifier: Apache-2.0
"""torch.jit.save and torch.jit.load."""

from __future__ import annotations

import os
import tempfile
import zipfile
from typing import Any

import ingot
from ingot import _C
from ingot.jit import _script


def save(m: Any, f: Any, _extra_files: dict[str, Any] | None = None) -> None:
    """Writes a script module or function as an archive. f: a path or a file that is open for writing."""
    if isinstance(f, (str, os.PathLike)):
        path = os.fspath(f)
        parent = os.path.dirname(path)
        if parent and not os.path.isdir(parent):
            raise RuntimeError(f"Parent directory {parent} does not exist.")
        _C._script_save_file(getattr(m, "_c", m), path, dict(_extra_files or {}))
    else:
        f.write(to_bytes(m, _extra_files))


def to_bytes(m: Any, _extra_files: dict[str, Any] | None = None, folder: str = "archive") -> bytes:
    """The archive of a script module or function."""
    return _C._script_save(getattr(m, "_c", m), folder, dict(_extra_files or {}))


def load(
    f: Any,
    map_location: Any = None,
    _extra_files: dict[str, Any] | None = None,
    _restore_shapes: bool = False,
) -> Any:
    """The module of an archive. f: a path or a file that is open for reading. Reading runs nothing but the
    __setstate__ of the archive's classes, in the interpreter of scripts."""
    if isinstance(f, (str, os.PathLike)):
        path = os.fspath(f)
        if not os.path.exists(path):
            raise ValueError(f"The provided filename {f} does not exist")
        if os.path.isdir(path):
            raise ValueError(f"The provided filename {f} is a directory")
        return _load(path, map_location, _extra_files)
    handle, path = tempfile.mkstemp(suffix=".pt")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(f.read())
        return _load(path, map_location, _extra_files)
    finally:
        os.unlink(path)


def _load(path: str, map_location: Any, extra: dict[str, Any] | None) -> Any:
    if not zipfile.is_zipfile(path):
        raise RuntimeError("PytorchStreamReader failed reading zip archive: not a ZIP archive")
    module = _script.wrap(_C._script_load(path))
    for part in module.modules():
        if hasattr(part, "_c"):
            _script.add_hooks(part)
    if map_location is not None:
        module.to(ingot.device(map_location))
    if extra:
        with zipfile.ZipFile(path) as archive:
            folder = archive.namelist()[0].split("/", 1)[0]
            for name in extra:
                if f"{folder}/extra/{name}" in archive.namelist():
                    extra[name] = archive.read(f"{folder}/extra/{name}")
    return module
