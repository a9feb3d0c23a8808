# SPDX-License-Identifier: Apache-2.0
"""Results of all parts as one file, written in the order of the rows."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from typing import Any

import numpy

from ingot.batch.files import arrow_column, need

# The rows of a part that have results, in order: their numbers, kept columns of the data, results. A result is an
# array, or a list of arrays where rows have different shapes.
Piece = tuple[numpy.ndarray, dict[str, Any], dict[str, Any]]


def write(path: str, kind: str, pieces: Iterator[Piece], shapes: dict[str, set[tuple[int, ...]]]) -> None:
    """Write the results to `path`. shapes: those that rows of an output have, over all pieces."""
    varying = {name for name, found in shapes.items() if len(found) > 1}
    if kind == "npz":
        _npz(path, pieces, varying)
    elif kind == "csv":
        _csv(path, pieces)
    else:
        _arrow(path, kind, pieces, varying)


def _npz(path: str, pieces: Iterator[Piece], varying: set[str]) -> None:
    if varying:
        name = min(varying)
        raise ValueError(f"output {name!r}: rows have different shapes, which .npz cannot hold; use .parquet")
    gathered: dict[str, list[Any]] = {}
    for rows, kept, results in pieces:
        for name, value in {"row": rows, **kept, **results}.items():
            plain = numpy.asarray(value.to_pylist() if hasattr(value, "to_pylist") else value)
            if plain.dtype == object:
                raise ValueError(f"column {name!r}: has values that .npz cannot hold; use .parquet")
            gathered.setdefault(name, []).append(plain)
    with open(path, "wb") as file:
        numpy.savez(file, **{name: numpy.concatenate(parts) for name, parts in gathered.items()})


def _csv(path: str, pieces: Iterator[Piece]) -> None:
    with open(path, "w", newline="", encoding="utf-8", errors="surrogateescape") as file:
        writer = csv.writer(file, lineterminator="\n")
        header = None
        for rows, kept, results in pieces:
            columns = {"row": rows, **kept, **results}
            if header is None:
                header = list(columns)
                writer.writerow(header)
            writer.writerows(zip(*[_cells(column) for column in columns.values()]))


def _cells(column: Any) -> list[Any]:
    """Numbers and texts as they are, lists as JSON."""
    values = column.to_pylist() if hasattr(column, "to_pylist") else list(column)
    plain = [v.tolist() if isinstance(v, numpy.ndarray | numpy.generic) else v for v in values]
    return [json.dumps(v, default=str) if isinstance(v, list | dict) else v for v in plain]


def _arrow(path: str, kind: str, pieces: Iterator[Piece], varying: set[str]) -> None:
    pyarrow = need("pyarrow")
    writer = None
    try:
        for rows, kept, results in pieces:
            columns = {"row": rows, **kept, **results}
            table = pyarrow.table({name: _column(pyarrow, c, name in varying) for name, c in columns.items()})
            if writer is None:
                writer = _writer(pyarrow, path, kind, table.schema)
                schema = table.schema
            writer.write_table(table.cast(schema))
        if writer is None:
            writer = _writer(pyarrow, path, kind, pyarrow.schema([("row", pyarrow.int64())]))
    finally:
        if writer is not None:
            writer.close()


def _writer(pyarrow: Any, path: str, kind: str, schema: Any) -> Any:
    if kind == "parquet":
        return need("pyarrow.parquet").ParquetWriter(path, schema)
    return need("pyarrow.ipc").new_file(path, schema)


def _column(pyarrow: Any, column: Any, varying: bool) -> Any:
    """varying: as lists of any length, also where the rows of this piece are alike."""
    if varying:
        kind = pyarrow.from_numpy_dtype(column[0].dtype)
        for _ in column[0].shape:
            kind = pyarrow.list_(kind)
        return pyarrow.array([value.tolist() for value in column], kind)
    return arrow_column(column) if isinstance(column, numpy.ndarray) else column
