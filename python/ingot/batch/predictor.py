# SPDX-License-Identifier: Apache-2.0
"""A model file as a function of batches that other processes can be given."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy

import ingot
from ingot._session import Port, Session
from ingot.batch.files import arrow_column, need
from ingot.batch.prepare import prepare


class Misfit(ValueError):
    """The model has no result per row: no row is to blame for that."""


class Row(NamedTuple):
    """What the model expects of one input for one row; a size that varies is None."""

    name: str
    dtype: numpy.dtype
    shape: tuple[int | None, ...]


class _Form(NamedTuple):
    """What every run needs to know, asked once."""

    size: int | None  # rows per run, if the model fixes it
    narrow: frozenset[str]  # inputs of bfloat16
    names: tuple[str, ...]  # outputs


class Predictor:
    """A model whose inputs and outputs have a row per item in their first dimension.

    Picklable: only the path and the options travel, and each process opens the file when it first needs it. Called with
    a dictionary of arrays it gives one of arrays, which is what `map_batches` of Ray Data expects; `map_arrow` is for
    `mapInArrow` of Spark and `udf` makes a `pandas_udf` of one output.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        inputs: Mapping[str, Any] | None = None,
        outputs: tuple[str, ...] | None = None,
        precision: str | None = None,
    ) -> None:
        """inputs: the column of each input, or a list of columns that are put side by side; by default the column of
        its name. outputs: those to keep, by default all."""
        self.path = os.fspath(path)
        self.columns = {k: [v] if isinstance(v, str) else list(v) for k, v in dict(inputs or {}).items()}
        self.chosen = tuple(outputs) if outputs is not None else None
        self.precision = precision
        self._begin()

    def _begin(self) -> None:
        # One session per thread: those of different threads run side by side and share the mapped weights of the file.
        # `process` is noted because a fork inherits sessions, but none that may be used.
        self._local = threading.local()
        self._ports: tuple[tuple[Port, ...], tuple[Port, ...]] | None = None
        self._known: _Form | None = None

    def __getstate__(self) -> dict[str, Any]:
        state = {k: v for k, v in self.__dict__.items() if k not in ("_local", "_ports", "_known")}
        return state | {"path": os.path.abspath(self.path)}  # other processes are in other folders

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin()

    def ports(self) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
        """Inputs and outputs; threads that run nothing need no session to ask."""
        if self._ports is None:
            session = self.session()
            self._ports = session.inputs, session.outputs
        return self._ports

    def session(self) -> Session:
        """The session of this thread."""
        if getattr(self._local, "process", None) != os.getpid():
            self._local.process = os.getpid()
            self._local.session = Session(self.path, precision=self.precision)
        return self._local.session

    def rows(self) -> list[Row]:
        """The inputs, without their first dimension; an error if names that were given are not the model's."""
        inputs, outputs = self.ports()
        missing = [name for name in self.chosen or () if name not in {port.name for port in outputs}]
        if missing:
            names = ", ".join(port.name for port in outputs)
            raise ValueError(f"{self.path}: no output {missing[0]!r}; its outputs are {names}")
        unknown = [name for name in self.columns if name not in {port.name for port in inputs}]
        if unknown:
            names = ", ".join(port.name for port in inputs)
            raise ValueError(f"{self.path}: no input {unknown[0]!r}; its inputs are {names}")
        return [_row(self.path, port) for port in inputs]

    def columns_of(self, name: str) -> list[str]:
        """The columns that an input is made from."""
        return self.columns.get(name, [name])

    def batch_size(self) -> int | None:
        """The number of rows per run if the model fixes it."""
        return self._form().size

    def _form(self) -> _Form:
        if self._known is None:
            inputs, outputs = self.ports()
            first = [port.shape[0] for port in inputs if port.shape]
            fixed = {size for size in first if isinstance(size, int)}
            if len(fixed) > 1:
                raise ValueError(
                    f"{self.path}: the first dimensions of its inputs are {first}; expected one size for all"
                )
            narrow = frozenset(port.name for port in inputs if port.dtype == "bfloat16")
            self._known = _Form(fixed.pop() if fixed else None, narrow, tuple(port.name for port in outputs))
        return self._known

    def predict(self, arrays: Mapping[str, numpy.ndarray]) -> dict[str, numpy.ndarray]:
        """Results by name for inputs by name, all with the same number of rows. A model of a fixed number of rows runs
        as often as needed; the last run is filled up with copies of the last row."""
        count = _count(self.path, arrays)
        fixed = self.batch_size()
        if fixed is None or fixed == count:
            return self._run(arrays, count)
        parts = []
        for start in range(0, count, fixed):
            piece = {name: array[start : start + fixed] for name, array in arrays.items()}
            have = min(fixed, count - start)
            if have < fixed:
                piece = {k: numpy.concatenate([v, numpy.repeat(v[-1:], fixed - have, 0)]) for k, v in piece.items()}
            parts.append({k: v[:have] for k, v in self._run(piece, fixed).items()})
        return {name: numpy.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _run(self, arrays: Mapping[str, numpy.ndarray], count: int) -> dict[str, numpy.ndarray]:
        form = self._form()
        result = self.session()(**{name: _given(array, name in form.narrow) for name, array in arrays.items()})
        values = result if isinstance(result, tuple) else (result,)
        found = dict(zip(form.names, values))
        kept = {name: _array(found[name]) for name in self.chosen or form.names}
        for name, value in kept.items():
            if value.ndim == 0 or value.shape[0] != count:
                raise Misfit(
                    f"{self.path}: output {name!r} has shape {list(value.shape)} for {count} rows; expected a first "
                    f"dimension of {count}. Choose outputs with a result per row (outputs=, --outputs)"
                )
        return kept

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """The batch with the results added: for `ray.data.Dataset.map_batches(Predictor, fn_constructor_args=...)`."""
        return {**batch, **self.results(batch)}

    def results(self, batch: Mapping[str, Any]) -> dict[str, numpy.ndarray]:
        """Results by name for columns by name. A row that the model cannot take is an error."""
        arrays, bad = prepare(self, dict(batch))
        if bad:
            index, reason = next(iter(sorted(bad.items())))
            raise ValueError(f"{self.path}: row {index} of the batch: {reason}")
        return self.predict({name: numpy.stack(list(rows)) for name, rows in arrays.items()})

    def map_arrow(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Record batches with the results added as columns: for `pyspark.sql.DataFrame.mapInArrow`."""
        pyarrow = need("pyarrow")
        for batch in batches:
            if batch.num_rows == 0:
                continue
            columns = {name: batch.column(name) for name in batch.schema.names}
            whole = columns | {name: arrow_column(value) for name, value in self.results(columns).items()}
            yield pyarrow.RecordBatch.from_arrays(list(whole.values()), names=list(whole))

    def udf(self, output: str, type_of: str) -> Any:
        """One output as a `pandas_udf` of Spark, of columns in the order of the model's inputs; type_of: its type in
        Spark's words, `float` or `array<float>`."""
        predictor = Predictor(self.path, outputs=(output,), precision=self.precision)
        names = [row.name for row in predictor.rows()]
        pandas, functions = need("pandas"), need("pyspark.sql.functions")

        def run(*columns: Any) -> Any:
            batch = {name: list(column) for name, column in zip(names, columns, strict=True)}
            results = predictor.results(batch)[output] if len(columns[0]) else ()
            return pandas.Series([value.tolist() for value in results], dtype=object)

        run.__annotations__ = {"columns": pandas.Series, "return": pandas.Series}  # by which Spark knows the kind
        return functions.pandas_udf(run, returnType=type_of)


def _row(path: str, port: Port) -> Row:
    if port.dtype is None or port.shape is None or len(port.shape) == 0:
        raise ValueError(f"{path}: input {port.name!r} has no rows; expected tensors with a row per item first")
    dtype = numpy.dtype("float32" if port.dtype == "bfloat16" else port.dtype)
    return Row(port.name, dtype, tuple(size if isinstance(size, int) else None for size in port.shape[1:]))


def _given(array: numpy.ndarray, narrow: bool) -> Any:
    """What the session takes: NumPy has no bfloat16, tensors have."""
    array = numpy.ascontiguousarray(array)
    return ingot.as_tensor(array).to(ingot.bfloat16) if narrow else array


def _array(value: Any) -> numpy.ndarray:
    if isinstance(value, ingot.Tensor):
        value = (value.to(ingot.float32) if value.dtype == ingot.bfloat16 else value).numpy()
    return numpy.asarray(value)


def _count(path: str, arrays: Mapping[str, numpy.ndarray]) -> int:
    counts = {len(array) for array in arrays.values()}
    if len(counts) != 1:
        raise ValueError(f"{path}: the inputs have {sorted(counts)} rows; expected the same number for all")
    return counts.pop()
