# SPDX-License-Identifier: Apache-2.0
"""What files of rows have in common: which kind a name means, packages that some need, writing without half files."""

from __future__ import annotations

import contextlib
import importlib
import os
import uuid
from collections.abc import Iterator
from typing import Any

import numpy

# What needs a package, and the name under which it is installed.
_PACKAGES = {
    "pyarrow": ("Parquet and Arrow files need", "pyarrow"),
    "PIL": ("images need", "pillow"),
    "ray": ("the engine ray needs", "ray[data]"),
    "pandas": ("a pandas_udf needs", "pandas"),
    "pyspark": ("the engine spark needs", "pyspark[sql]"),
}


def need(package: str) -> Any:
    """A package that is not required for everything; an error that says what to install."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        top = package.partition(".")[0]
        purpose, name = _PACKAGES[top]
        raise ModuleNotFoundError(f"{purpose} the Python package {name} (pip install '{name}'): {error}") from None


def kind_of(path: str) -> str:
    """parquet, arrow, csv, npz or images, by the ending of the name."""
    if os.path.isdir(path):
        return "images"
    ending = os.path.splitext(path)[1].lower().lstrip(".")
    kind = {"feather": "arrow", "ipc": "arrow"}.get(ending, ending)
    if kind in ("parquet", "arrow", "csv", "npz"):
        return kind
    raise ValueError(
        f"{path}: found the ending {'.' + ending if ending else ''!r}, expected .parquet, .arrow, .csv, .npz"
    )


@contextlib.contextmanager
def replacing(path: str, within: str | None = None) -> Iterator[str]:
    """A path to write to; when the block ends well, the file is on the disk under its name, whole. `within` is the
    folder of that path, by default the one of the file: what a killed process leaves is there."""
    folder, base = os.path.split(os.path.abspath(path))
    temporary = os.path.join(within or folder, f".{base}.{uuid.uuid4().hex}.new")
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    try:
        yield temporary
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
        sync_folder(folder)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)


def sync_folder(folder: str) -> None:
    """Names in the folder are on the disk when this returns, where the system can do that."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def arrow_column(array: numpy.ndarray) -> Any:
    """An array with a row per item as a column: numbers, or lists of a fixed size, nested for more dimensions."""
    pyarrow = need("pyarrow")
    column = pyarrow.array(numpy.ascontiguousarray(array).reshape(-1))
    for size in reversed(array.shape[1:]):
        column = pyarrow.FixedSizeListArray.from_arrays(column, size)
    return column
