# SPDX-License-Identifier: Apache-2.0
"""Columns of data as inputs of a model, and the rows that cannot be."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy

if TYPE_CHECKING:
    from ingot.batch.predictor import Predictor, Row

Bad = dict[int, str]  # reasons by row


def prepare(predictor: Predictor, columns: Mapping[str, Any]) -> tuple[dict[str, Sequence[numpy.ndarray]], Bad]:
    """For each input its rows, and why some rows have none. Rows of one shape are one array."""
    bad: Bad = {}
    inputs: dict[str, Sequence[numpy.ndarray]] = {}
    for row in predictor.rows():
        names = predictor.columns_of(row.name)
        for name in names:
            if name not in columns:
                raise ValueError(
                    f"input {row.name!r}: the data has no column {name!r}; its columns are "
                    f"{', '.join(columns)}. Name its column with --input {row.name}=COLUMN"
                )
        inputs[row.name] = _side_by_side(row, names, columns, bad) if len(names) > 1 else _rows(
            row, row.shape, columns[names[0]], bad
        )
    return inputs, bad


def _side_by_side(row: Row, names: list[str], columns: Mapping[str, Any], bad: Bad) -> Sequence[numpy.ndarray]:
    if len(row.shape) != 1 or row.shape[0] not in (None, len(names)):
        expected = shown(row.shape)
        raise ValueError(f"input {row.name!r}: {len(names)} columns are given; a row of it has shape {expected}")
    parts = [_rows(row, (), columns[name], bad) for name in names]
    return numpy.stack([numpy.asarray(part, dtype=row.dtype) for part in parts], axis=1)


def _rows(row: Row, shape: tuple[int | None, ...], column: Any, bad: Bad) -> Sequence[numpy.ndarray]:
    if hasattr(column, "combine_chunks"):  # pyarrow's ChunkedArray
        column = column.combine_chunks()
    if hasattr(column, "storage"):  # an extension type over lists, as tensors are
        column = column.storage
    whole = column if isinstance(column, numpy.ndarray) and column.dtype != object else _whole(column, shape, row.dtype)
    if whole is not None and fits(whole.shape[1:], shape):
        return _cast(row, whole, bad)
    if isinstance(column, numpy.ndarray) and column.dtype != object:
        raise ValueError(f"input {row.name!r}: found rows of shape {list(column.shape[1:])}, expected {shown(shape)}")
    return _one_by_one(row, shape, column, bad)


def _cast(row: Row, array: numpy.ndarray, bad: Bad) -> numpy.ndarray:
    if array.dtype == row.dtype:
        return array
    if not numpy.can_cast(array.dtype, row.dtype, "same_kind"):
        raise ValueError(f"input {row.name!r}: found {array.dtype}, expected {row.dtype}")
    outside = _outside(array, row.dtype)
    for index in numpy.flatnonzero(outside.reshape(len(array), -1).any(1)).tolist() if outside.any() else ():
        value = array[index][outside[index]].flat[0]
        bad.setdefault(index, f"input {row.name!r}: found {value}, which {row.dtype} cannot hold")
    return array.astype(row.dtype)


def _outside(array: numpy.ndarray, dtype: numpy.dtype) -> numpy.ndarray:
    """Which whole numbers a cast would change."""
    if array.dtype.kind not in "iu" or dtype.kind not in "iu":
        return numpy.zeros(array.shape, bool)
    limits = numpy.iinfo(dtype)
    return (array < limits.min) | (array > limits.max)


def _whole(column: Any, shape: tuple[int | None, ...], dtype: numpy.dtype) -> numpy.ndarray | None:
    """The column as one array where all its rows have the same shape and none is missing; else None."""
    if isinstance(column, list):
        if dtype.kind == "b" and any(isinstance(value, str) for value in column):
            return None  # NumPy takes every text but the empty one for true
        try:
            return numpy.array(column, dtype=dtype)
        except (ValueError, TypeError, OverflowError):
            return None
    if not hasattr(column, "null_count"):
        return None
    sizes = [len(column)]
    for _ in shape:
        if column.null_count or not hasattr(column, "value_lengths"):
            return None
        lengths = column.value_lengths().to_numpy(zero_copy_only=False)
        if len(lengths) == 0 or (lengths != lengths[0]).any():
            return None
        sizes.append(int(lengths[0]))
        column = column.flatten()
    if column.null_count:
        return None
    array = column.to_numpy(zero_copy_only=False)
    return array.reshape(sizes) if array.dtype != object else None


def _one_by_one(row: Row, shape: tuple[int | None, ...], column: Any, bad: Bad) -> Sequence[numpy.ndarray]:
    """Row by row: those that are wrong are noted, and hold zeros."""
    rows: list[numpy.ndarray] = []
    blank = numpy.zeros([size or 0 for size in shape], row.dtype)
    for index, value in enumerate(column):
        found, reason = _one(row, shape, value.as_py() if hasattr(value, "as_py") else value)
        if reason and index not in bad:
            bad[index] = reason
        rows.append(blank if found is None else found)
    return rows


def _one(row: Row, shape: tuple[int | None, ...], value: Any) -> tuple[numpy.ndarray | None, str | None]:
    if isinstance(value, Exception):
        return None, str(value)
    if value is None or (isinstance(value, str) and value.strip() == ""):
        return None, f"input {row.name!r}: no value"
    try:
        if isinstance(value, str):
            value = _from_text(value, row.dtype, shape)
        array = numpy.array(value)
        if array.dtype == object:
            raise ValueError
        if not numpy.can_cast(array.dtype, row.dtype, "same_kind"):
            return None, f"input {row.name!r}: found {array.dtype}, expected {row.dtype}"
    except (ValueError, TypeError, OverflowError, KeyError, RecursionError):
        text = str(value)
        return None, f"input {row.name!r}: found {text[:40]!r}, expected {row.dtype} of shape {shown(shape)}"
    if not fits(array.shape, shape):
        return None, f"input {row.name!r}: found shape {list(array.shape)}, expected {shown(shape)}"
    outside = _outside(array, row.dtype)
    if outside.any():
        return None, f"input {row.name!r}: found {array[outside].flat[0]}, which {row.dtype} cannot hold"
    return array.astype(row.dtype), None


def _from_text(text: str, dtype: numpy.dtype, shape: tuple[int | None, ...]) -> Any:
    """A number, a truth value, or a list of these as JSON writes it."""
    if shape:
        return json.loads(text)
    if dtype.kind == "b":
        return {"true": True, "1": True, "false": False, "0": False}[text.strip().lower()]
    return numpy.array([text], dtype=dtype).reshape(())


def fits(found: Sequence[int], expected: Sequence[int | None]) -> bool:
    """Are these the sizes, where those that vary may be any?"""
    return len(found) == len(expected) and all(e is None or f == e for f, e in zip(found, expected))


def shown(shape: Sequence[int | None]) -> str:
    """A shape as text; `?` for a size that varies."""
    return "[" + ", ".join("?" if size is None else str(size) for size in shape) + "]"
