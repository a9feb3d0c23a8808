# SPDX-License-Identifier: Apache-2.0
"""A model over a file of rows: exactly one result, or one reason why there is none, per row."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy

from ingot.batch.files import kind_of, need, replacing
from ingot.batch.journal import Group, Journal
from ingot.batch.predictor import Misfit, Predictor
from ingot.batch.prepare import prepare
from ingot.batch.sinks import Piece, write
from ingot.batch.sources import Source, open_source

PART_ROWS = 4096  # of a part, at least a batch


class Report(NamedTuple):
    """What a job did. taken_up: parts that were finished when it began."""

    rows: int
    scored: int
    bad: int
    parts: int
    taken_up: int
    seconds: float


@dataclass
class Job:
    """What every process of a job needs. Picklable."""

    predictor: Predictor
    source: Source
    journal: Journal
    batch: int
    part_rows: int

    def parts(self) -> int:
        """How many there are."""
        return -(-self.source.rows // self.part_rows)

    def span(self, part: int) -> tuple[int, int]:
        """Its first row, and the one after its last."""
        return part * self.part_rows, min((part + 1) * self.part_rows, self.source.rows)

    def load(self, part: int) -> tuple[dict[str, Any], dict[int, str]]:
        """The inputs of the rows of a part, and the rows that have none."""
        start, stop = self.span(part)
        return prepare(self.predictor, self.source.read(self.columns(), start, stop))

    def columns(self) -> list[str]:
        """The columns that the inputs are made from."""
        rows = self.predictor.rows()
        names = list(dict.fromkeys(name for row in rows for name in self.predictor.columns_of(row.name)))
        missing = [name for name in names if name not in self.source.columns]
        if missing:
            raise ValueError(
                f"the data has no column {missing[0]!r}; its columns are {', '.join(self.source.columns)}. "
                f"--input INPUT=COLUMN names the column of an input ({', '.join(row.name for row in rows)})"
            )
        return names

    def compute(self, part: int, inputs: dict[str, Any], bad: dict[int, str]) -> tuple[list[Group], dict[int, str]]:
        """Results of a part, batches of rows with the same shapes at a time."""
        start, stop = self.span(part)
        groups: list[Group] = []
        for indices in _by_shape(inputs, [i for i in range(stop - start) if i not in bad]):
            pieces = []
            for first in range(0, len(indices), self.batch):
                pieces += self._batch(inputs, indices[first : first + self.batch], bad)
            groups += _joined(pieces, start)
        return groups, {start + index: reason for index, reason in bad.items()}

    def _batch(self, inputs: dict[str, Any], indices: list[int], bad: dict[int, str]) -> list[tuple[list[int], Any]]:
        """Where the model refuses a batch, halves of it are tried, down to the rows that it refuses."""
        try:
            return [(indices, self.predictor.predict({k: _take(v, indices) for k, v in inputs.items()}))]
        except (Misfit, NotImplementedError):  # no row is to blame
            raise
        except (RuntimeError, ValueError, IndexError, TypeError) as error:
            if len(indices) == 1:
                bad[indices[0]] = str(error).partition("\n")[0]
                return []
        half = len(indices) // 2
        return self._batch(inputs, indices[:half], bad) + self._batch(inputs, indices[half:], bad)

    def run(self, part: int) -> tuple[int, int]:
        """Do a part; how many rows have a result and how many have none."""
        groups, bad = self.compute(part, *self.load(part))
        self.journal.put(part, groups, bad)
        return sum(len(rows) for rows, _ in groups), len(bad)


def _take(rows: Any, indices: list[int]) -> numpy.ndarray:
    if isinstance(rows, numpy.ndarray):
        whole = len(indices) == indices[-1] - indices[0] + 1
        return rows[indices[0] : indices[-1] + 1] if whole else rows[indices]
    return numpy.stack([rows[i] for i in indices])


def _by_shape(inputs: dict[str, Any], indices: list[int]) -> list[list[int]]:
    ragged = [rows for rows in inputs.values() if not isinstance(rows, numpy.ndarray)]
    if not ragged:
        return [indices] if indices else []
    found: dict[Any, list[int]] = {}
    for index in indices:
        found.setdefault(tuple(rows[index].shape for rows in ragged), []).append(index)
    return list(found.values())


def _joined(pieces: list[tuple[list[int], dict[str, numpy.ndarray]]], start: int) -> list[Group]:
    """Results of the same types and shapes as one group."""
    found: dict[Any, list[tuple[list[int], dict[str, numpy.ndarray]]]] = {}
    for piece in pieces:
        key = tuple((name, value.dtype.str, value.shape[1:]) for name, value in piece[1].items())
        found.setdefault(key, []).append(piece)
    groups = []
    for same in found.values():
        rows = numpy.concatenate([numpy.array(indices, dtype=numpy.int64) for indices, _ in same]) + start
        groups.append((rows, {name: numpy.concatenate([r[name] for _, r in same]) for name in same[0][1]}))
    return groups


# ---- the result


def _in_order(groups: list[Group]) -> tuple[numpy.ndarray, dict[str, Any]]:
    """The groups of a part as one, by row."""
    if len(groups) == 1:
        return groups[0]
    rows = numpy.concatenate([rows for rows, _ in groups])
    order = numpy.argsort(rows, kind="stable")
    results: dict[str, Any] = {}
    for name in groups[0][1]:
        flat = [value for _, values in groups for value in values[name]]
        ordered = [numpy.asarray(flat[i]) for i in order]
        alike = len({value.shape for value in ordered}) == 1
        results[name] = numpy.stack(ordered) if alike else ordered
    return rows[order], results


def _pieces(job: Job, keep: list[str], count: list[int]) -> Iterator[Piece]:
    for part in range(job.parts()):
        groups = job.journal.get(part)
        if not groups:
            continue
        rows, results = _in_order(groups)
        count[0] += len(rows)
        start, stop = job.span(part)
        columns = job.source.read(keep, start, stop) if keep else {}
        if len(rows) != stop - start:
            columns = {name: _pick(column, rows - start) for name, column in columns.items()}
        yield rows, columns, results


def _pick(column: Any, indices: numpy.ndarray) -> Any:
    if isinstance(column, list):
        return [column[i] for i in indices]
    return column[indices] if isinstance(column, numpy.ndarray) else column.take(indices)


def _finish(job: Job, output: str, bad_path: str, keep: list[str]) -> tuple[int, int]:
    """The output from the parts; the reasons first, so that they are there when the output is."""
    bad, shapes = _reasons(job, bad_path)
    count = [0]
    with replacing(output, within=job.journal.folder) as temporary:
        write(temporary, kind_of(output), _pieces(job, keep, count), shapes)
        if count[0] + bad != job.source.rows:
            raise RuntimeError(f"{output}: {count[0]} results and {bad} reasons for {job.source.rows} rows")
    job.journal.remove()
    return count[0], bad


def _reasons(job: Job, path: str) -> tuple[int, dict[str, set[tuple[int, ...]]]]:
    """Writes the side file; how many bad rows there are, and the shapes of the results by output."""
    count = 0
    shapes: dict[str, set[tuple[int, ...]]] = {}
    with replacing(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
        for part in range(job.parts()):
            bad, found = job.journal.note(part)
            count += len(bad)
            file.writelines(json.dumps({"row": row, "reason": reason}) + "\n" for row, reason in bad)
            for name, some in found.items():
                shapes.setdefault(name, set()).update(some)
    if not count:
        os.unlink(path)
    return count, shapes


def _image_form(predictor: Predictor, mean: list[float] | None, std: list[float] | None) -> dict[str, Any]:
    """How the model wants images, by the sizes of its input."""
    rows = predictor.rows()
    shape = rows[0].shape
    first = len(shape) == 3 and shape[0] == 3
    last = len(shape) == 3 and shape[2] == 3
    size = shape[1:] if first else shape[:2]
    if len(rows) != 1 or not (first or last) or None in size or rows[0].dtype.kind != "f":
        raise ValueError(
            f"{predictor.path}: a folder of images needs a model of one input, floating point, 3 channels of a fixed "
            f"height and width; found {', '.join(f'{r.name} {r.dtype} {list(r.shape)}' for r in rows)}"
        )
    predictor.columns.setdefault(rows[0].name, ["image"])
    return {"size": size, "first": first, "mean": mean or [0.0] * 3, "std": std or [1.0] * 3}


def _contents(path: str) -> str:
    with open(path, "rb") as file:
        digest = hashlib.sha256()
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _check_names(predictor: Predictor, keep: list[str]) -> None:
    """Kept columns stand beside the numbers of the rows and the outputs."""
    predictor.rows()  # says which outputs there are if others are asked for
    names = ["row", *(predictor.chosen or [port.name for port in predictor.ports()[1]])]
    clash = [name for name in keep if name in names]
    twice = [name for name in keep if keep.count(name) > 1]
    if clash:
        what = "the numbers of the rows" if clash[0] == "row" else "an output of the model"
        raise ValueError(f"column {clash[0]!r} cannot be kept: the results have a column of that name, {what}")
    if twice:
        raise ValueError(f"column {twice[0]!r} is to be kept twice")


def _check_files(predictor: Predictor, data: str, output: str, bad: str) -> None:
    """Nothing that is written takes the place of something else that is read or written."""
    used = {"the data": data, "the model": predictor.path, "the results": output, "the bad rows": bad}
    places: dict[str, str] = {}
    for what, path in used.items():
        other = places.setdefault(os.path.realpath(path), what)
        if other != what:
            raise ValueError(f"{path}: {other} and {what} cannot be the same file")


def _default_keep(source: Source, output: str) -> list[str]:
    return ["file"] if "file" in source.columns and kind_of(output) != "npz" else []


def score(
    model: str | os.PathLike[str] | Predictor,
    data: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    inputs: Mapping[str, Any] | None = None,
    outputs: tuple[str, ...] | None = None,
    keep: tuple[str, ...] | None = None,
    batch: int = 64,
    part_rows: int | None = None,
    threads: int = 1,
    engine: str = "local",
    workers: int | None = None,
    bad: str | os.PathLike[str] | None = None,
    fresh: bool = False,
    precision: str | None = None,
    mean: list[float] | None = None,
    std: list[float] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Run a model over a file of rows (`.parquet`, `.arrow`, `.csv`, `.npz`, a folder of images) and write its results.

    The output has a row for each row of the data that has a result: its number (`row`), the columns of the data that
    `keep` names, and the model's outputs. The other rows are in the file `bad` (by default the output's name and
    `.bad.jsonl`), with the reason. A job that ended early is taken up where it stopped when it is called again: what is
    done is in a folder beside the output until it is complete. `fresh` begins anew.

    engine: "local" (`threads` sessions side by side), "ray" or "spark" (`workers` of them; the data and the output must
    be where all machines see them). progress: called with the rows done and all rows.
    """
    from ingot.batch.engines import ENGINES

    begin = time.monotonic()
    if engine not in ENGINES:
        raise ValueError(f"engine: found {engine!r}, expected one of {', '.join(ENGINES)}")
    if batch < 1 or threads < 1 or any(n is not None and n < 1 for n in (part_rows, workers)):
        found = f"batch {batch}, threads {threads}, part_rows {part_rows}, workers {workers}"
        raise ValueError(f"{found}: expected at least 1")
    predictor = model if isinstance(model, Predictor) else Predictor(
        model, inputs=inputs, outputs=outputs, precision=precision
    )
    data, target = os.fspath(data), os.fspath(output)
    if kind_of(target) == "images":
        raise ValueError(f"{target}: is a folder; expected the name of a .parquet, .arrow, .csv or .npz file")
    side = os.fspath(bad) if bad else target + ".bad.jsonl"
    _check_files(predictor, data, target, side)
    images = _image_form(predictor, mean, std) if os.path.isdir(data) else None
    source = open_source(data, images)
    kept = list(keep) if keep is not None else _default_keep(source, target)
    unknown = [name for name in kept if name not in source.columns]
    if unknown:
        raise ValueError(f"{data}: no column {unknown[0]!r} to keep; its columns are {', '.join(source.columns)}")
    _check_names(predictor, kept)
    size = predictor.batch_size() or batch
    rows = part_rows or max(size, PART_ROWS // size * size)
    description = {
        "model": _contents(predictor.path),
        "data": f"{os.path.abspath(data)}, {source.fingerprint()}",
        "rows per part": rows,
        "inputs": dict(sorted(predictor.columns.items())),
        "outputs": list(predictor.chosen) if predictor.chosen else None,
        "precision": predictor.precision,
        "images": json.loads(json.dumps(images)),
    }
    job = Job(predictor, source, Journal(target, description), size, rows)
    job.columns()  # what is wrong with the question is said before anything is written
    if kind_of(target) in ("parquet", "arrow"):
        need("pyarrow")
    job.journal.open(fresh)
    done = job.journal.done()
    missing = [part for part in range(job.parts()) if part not in done]
    finished = source.rows - sum(stop - start for start, stop in map(job.span, missing))
    for part in ENGINES[engine](job, missing, workers if engine != "local" else threads):
        start, stop = job.span(part)
        finished += stop - start
        if progress:
            progress(finished, source.rows)
    scored, wrong = _finish(job, target, side, kept)
    return Report(source.rows, scored, wrong, job.parts(), len(done), time.monotonic() - begin)
