# SPDX-License-Identifier: Apache-2.0
"""Changing ONNX models: the operations of `ingot simplify`, `extract`, `rename` and so on, as functions.

A model is a path, bytes, or an onnx.ModelProto; the result is bytes or, for a ModelProto, another one. With `output`
it is written to that file instead, and the result is None. What an operation has to say (layers that stayed as they
were, errors of quantized weights) goes to the list `notes`, if one is given.
"""
from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import ingot
from ingot import _C

__all__ = ["Note", "convert_dtype", "extract", "fix_sizes", "free_sizes", "merge", "quantize", "rename", "simplify",
           "split_weights"]

_EXTERNAL = ("auto", "never", "always")
_KINDS = ("any", "input", "output", "node", "value", "dim")
_QUANTIZE = ("int8", "int4", "qdq")


class Note(NamedTuple):
    """What an operation says about a node or value."""

    what: str
    name: str
    op: str
    why: str
    number: float | None


def _choice(argument: str, word: str, words: Sequence[str]) -> int:
    if word not in words:
        raise ValueError(f"{argument}: {word!r} is not one of {', '.join(words)}")
    return words.index(word)


def _source(model: Any) -> Any:
    if isinstance(model, (str, os.PathLike, bytes)):
        return model
    if isinstance(model, (bytearray, memoryview)):
        return bytes(model)
    return model.SerializeToString()


def _edit(model: Any, steps: Sequence[tuple[str, tuple[Any, ...]]], output: str | os.PathLike[str] | None,
          notes: list[Note] | None, external: str = "auto", least: int = 0) -> Any:
    data, said = _C.edit_onnx(_source(model), tuple(steps), output, _choice("external", external, _EXTERNAL), least)
    if notes is not None:
        notes.extend(Note(*note) for note in said)
    if data is None or isinstance(model, (str, os.PathLike, bytes, bytearray, memoryview)):
        return data
    out = type(model)()
    out.ParseFromString(data)
    return out


def _runs(inputs: Iterable[Mapping[str, Any]]) -> tuple[tuple[tuple[str, Any], ...], ...]:
    return tuple(tuple((name, ingot.as_tensor(value)) for name, value in run.items()) for run in inputs)


def simplify(model: Any, output: str | os.PathLike[str] | None = None, *, sizes: Mapping[str, int] | None = None,
             max_folded: int = 0, keep_functions: bool = False, keep_fused: bool = False,
             notes: list[Note] | None = None) -> Any:
    """Fewer nodes with the same results; `sizes` are fixed first. Constants of more than `max_folded` bytes (0: 16
    MiB) are not computed ahead, unless their operands are larger."""
    steps: list[tuple[str, tuple[Any, ...]]] = [("fix_sizes", tuple(sizes.items()))] if sizes else []
    steps.append(("simplify", (max_folded, keep_functions, keep_fused)))
    return _edit(model, steps, output, notes)


def fix_sizes(model: Any, sizes: Mapping[str, int], output: str | os.PathLike[str] | None = None) -> Any:
    """Numbers for dynamic sizes: {"batch": 1}, {"x:0": 1}."""
    return _edit(model, [("fix_sizes", tuple(sizes.items()))], output, None)


def free_sizes(model: Any, sizes: Mapping[str, str], output: str | os.PathLike[str] | None = None) -> Any:
    """Names for sizes that are numbers: {"x:0": "batch"}."""
    freed = []
    for place, name in sizes.items():
        port, colon, dim = place.rpartition(":")
        if not colon or not dim.isdecimal():
            raise ValueError(f"{place!r} is not INPUT:DIM")
        freed.append((port, int(dim), name))
    return _edit(model, [("free_sizes", tuple(freed))], output, None)


def rename(model: Any, names: Mapping[str, str], output: str | os.PathLike[str] | None = None, *,
           kind: str = "any") -> Any:
    """Other names; one * in the old name stands for any text, and * in the new one for the same. `kind`: any, input,
    output, node, value or dim."""
    number = _choice("kind", kind, _KINDS)
    return _edit(model, [("rename", tuple((number, old, new) for old, new in names.items()))], output, None)


def extract(model: Any, start: str | Iterable[str] = (), end: str | Iterable[str] = (),
            output: str | os.PathLike[str] | None = None) -> Any:
    """The nodes between values, nodes or modules and others; none: the model's inputs, its outputs."""
    first = (start,) if isinstance(start, str) else tuple(start)
    last = (end,) if isinstance(end, str) else tuple(end)
    return _edit(model, [("extract", (first, last))], output, None)


def merge(model: Any, second: Any, joins: Mapping[str, str] | None = None,
          output: str | os.PathLike[str] | None = None, *, prefix: str | None = None,
          keep_joined: bool = False) -> Any:
    """Two models as one: `joins` says which outputs of the first give which inputs of the second (default: equal
    names)."""
    step = ("merge", (_source(second), tuple((joins or {}).items()), prefix, keep_joined))
    return _edit(model, [step], output, None)


def convert_dtype(model: Any, dtype: Any, output: str | os.PathLike[str] | None = None, *, convert_io: bool = False,
                  keep: Iterable[str] = (), inputs: Iterable[Mapping[str, Any]] = (),
                  notes: list[Note] | None = None) -> Any:
    """float32 as ingot.float16 or ingot.bfloat16, where operators and numbers allow it. `keep` names nodes, operators
    or modules that stay; `inputs` are runs that show which results the type cannot hold."""
    return _edit(model, [("dtype", (dtype, convert_io, tuple(keep), _runs(inputs)))], output, notes)


def quantize(model: Any, how: str = "int8", output: str | os.PathLike[str] | None = None, *, block: int = 0,
             percentile: float = 0, keep: Iterable[str] = (), inputs: Iterable[Mapping[str, Any]] = (),
             notes: list[Note] | None = None) -> Any:
    """Weights as int8 per channel, int4 per block, or "qdq": weights and activations, with `inputs` as calibration
    runs."""
    step = ("quantize", (_choice("how", how, _QUANTIZE), block, percentile, tuple(keep), _runs(inputs)))
    return _edit(model, [step], output, notes)


def split_weights(model: Any, output: str | os.PathLike[str], *, min_size: int = 1024, join: bool = False) -> None:
    """Weights of at least `min_size` bytes into a file beside the model; `join`: everything into one file."""
    _edit(model, [], output, None, "never" if join else "always", 0 if join else max(min_size, 1))
