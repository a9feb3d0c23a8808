# SPDX-License-Identifier: Apache-2.0
"""Samples to batches: tensors are stacked, numbers become tensors, containers are kept."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import ingot
from ingot._C import Tensor

_ERROR = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"


def _is_numpy(value: Any) -> bool:
    return type(value).__module__ == "numpy"


def _refuse_text(array: Any) -> None:
    if array.dtype.kind in "SUaO":
        raise TypeError(_ERROR.format(array.dtype))


def default_convert(data: Any) -> Any:
    """NumPy arrays become tensors, in whatever holds them; everything else stays."""
    if isinstance(data, Tensor) or isinstance(data, (str, bytes)):
        return data
    if _is_numpy(data):
        if type(data).__name__ == "ndarray" and data.dtype.kind in "SUaO":
            return data
        return ingot.as_tensor(data)
    if isinstance(data, Mapping):
        return _same_mapping(data, {key: default_convert(value) for key, value in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(default_convert(d) for d in data))
    if isinstance(data, tuple):
        return [default_convert(d) for d in data]
    if isinstance(data, Sequence):
        return _same_sequence(data, [default_convert(d) for d in data])
    return data


def _same_mapping(like: Any, values: dict) -> Any:
    try:
        if isinstance(like, MutableMapping):
            twin = copy.copy(like)
            twin.update(values)
            return twin
        return type(like)(values)
    except TypeError:  # a class that cannot be copied or made from a dict
        return values


def _same_sequence(like: Any, values: list) -> Any:
    try:
        if isinstance(like, MutableSequence):
            twin = copy.copy(like)
            for i, value in enumerate(values):
                twin[i] = value
            return twin
        return type(like)(values)
    except TypeError:  # range, for example
        return values


def _collate_tensors(batch: Any, **unused: Any) -> Tensor:
    return ingot.stack(list(batch), 0)


def _collate_arrays(batch: Any, **unused: Any) -> Tensor:
    _refuse_text(batch[0])
    return ingot.stack([ingot.as_tensor(b) for b in batch], 0)


def _collate_numpy_numbers(batch: Any, **unused: Any) -> Tensor:
    return ingot.as_tensor(batch)


def _collate_floats(batch: Any, **unused: Any) -> Tensor:
    return ingot.tensor(batch, dtype=ingot.float64)


def _collate_ints(batch: Any, **unused: Any) -> Tensor:
    return ingot.tensor(batch)


def _collate_texts(batch: Any, **unused: Any) -> Any:
    return batch


default_collate_fn_map: dict[Any, Callable] = {
    Tensor: _collate_tensors,
    float: _collate_floats,
    int: _collate_ints,
    str: _collate_texts,
    bytes: _collate_texts,
}


def _leaf(kind: type, table: dict[Any, Callable]) -> Callable | None:
    if kind in table:
        return table[kind]
    return next((table[known] for known in table if isinstance(known, (type, tuple)) and issubclass(kind, known)), None)


def collate(batch: Any, *, collate_fn_map: dict[Any, Callable] | None = None) -> Any:
    """A batch of what the samples hold; leaves by the function that the table has for their type."""
    first = batch[0]
    kind = type(first)
    table = collate_fn_map or {}
    leaf = _leaf(kind, table)
    if leaf is None and _is_numpy(first) and table is default_collate_fn_map:
        leaf = _collate_arrays if kind.__name__ == "ndarray" else _collate_numpy_numbers
    if leaf is not None:
        return leaf(batch, collate_fn_map=collate_fn_map)

    def inner(samples: Any) -> Any:
        return collate(samples, collate_fn_map=collate_fn_map)

    if isinstance(first, Mapping):
        return _same_mapping(first, {key: inner([d[key] for d in batch]) for key in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return kind(*(inner(samples) for samples in zip(*batch)))
    if isinstance(first, Sequence):
        if not all(len(sample) == len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [inner(samples) for samples in zip(*batch)]
        return columns if isinstance(first, tuple) else _same_sequence(first, columns)
    raise TypeError(_ERROR.format(kind))


def default_collate(batch: Any) -> Any:
    """The usual batch of a list of samples."""
    return collate(batch, collate_fn_map=default_collate_fn_map)
