# SPDX-License-Identifier: Apache-2.0
"""Files of rows, any range of which can be read. Sources are picklable and open their files when they read."""

from __future__ import annotations

import codecs
import concurrent.futures
import contextlib
import csv
import hashlib
import io
import math
import os
import zipfile
from collections.abc import Iterator
from typing import Any, Protocol

import numpy

from ingot.batch.files import kind_of, need

INDEX_STEP = 256  # rows between two noted positions of a CSV file
IMAGE_ENDINGS = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp", ".tif", ".tiff")


class Source(Protocol):
    """A file of rows."""

    rows: int
    columns: list[str]

    def read(self, names: list[str], start: int, stop: int) -> dict[str, Any]:
        """Columns of the rows: arrays, pyarrow's arrays or lists. An exception in the place of a value is why there is
        none."""
        ...

    def fingerprint(self) -> str:
        """Changes when the data does."""
        ...


def stamp(path: str) -> str:
    """Size and time of a file: contents of large ones are not read twice."""
    state = os.stat(path)
    return f"{state.st_size} bytes of {state.st_mtime_ns}"


class _Opened:
    """Keeps open files out of pickles."""

    path: str

    def __init__(self, path: str) -> None:
        self.path = path
        self._file: Any = None

    def __getstate__(self) -> dict[str, Any]:
        state = {k: v for k, v in self.__dict__.items() if not k.startswith("_")}
        return state | {"_file": None, "path": os.path.abspath(self.path)}  # other processes are in other folders

    def fingerprint(self) -> str:
        return stamp(self.path)


def _mapped(path: str, archive: Any, name: str) -> numpy.ndarray | None:
    """A member of an .npz where it is in the file; None: it is compressed, or its elements are no numbers."""
    member = archive.zip.getinfo(name if name in archive.zip.namelist() else name + ".npy")
    if member.compress_type != zipfile.ZIP_STORED or member.file_size == 0:
        return None
    with open(path, "rb") as file:
        file.seek(member.header_offset)
        head = file.read(30)  # of a local entry: two lengths at its end, of the name and of what comes after it
        file.seek(int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little"), os.SEEK_CUR)
        begin = file.tell()
        try:
            major, _ = numpy.lib.format.read_magic(file)
            read = numpy.lib.format.read_array_header_1_0 if major == 1 else numpy.lib.format.read_array_header_2_0
            shape, fortran, dtype = read(file)
        except ValueError:
            return None
        start = file.tell()
    size = dtype.itemsize * math.prod(shape)
    if dtype.hasobject or size == 0 or start - begin + size != member.file_size:
        return None
    # As a plain array: slices of a memmap are slow to make.
    return numpy.asarray(numpy.memmap(path, dtype, "r", start, shape, "F" if fortran else "C"))


class Npz(_Opened):
    """Arrays of the same length by name."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        lengths = {name: array.shape[0] for name, array in self._arrays().items() if array.ndim}
        if len(set(lengths.values())) != 1:
            raise ValueError(f"{path}: its arrays have lengths {lengths}; expected one number of rows")
        self.columns = list(lengths)
        self.rows = next(iter(lengths.values()))

    def _arrays(self) -> dict[str, numpy.ndarray]:
        """Arrays that are stored as they are stay in the file; compressed ones are unpacked once."""
        if self._file is None:
            with numpy.load(self.path, allow_pickle=False) as archive:
                found = {name: _mapped(self.path, archive, name) for name in archive.files}
                self._file = {name: archive[name] if a is None else a for name, a in found.items()}
        return self._file

    def read(self, names: list[str], start: int, stop: int) -> dict[str, Any]:
        return {name: self._arrays()[name][start:stop] for name in names}


def _fields(parent: tuple[str, ...], field: Any) -> Iterator[tuple[str, ...]]:
    """The field and, if it is a struct, those in it, as paths of names."""
    path = (*parent, field.name)
    yield path
    if need("pyarrow").types.is_struct(field.type):
        for i in range(field.type.num_fields):
            yield from _fields(path, field.type.field(i))


class Table(_Opened):
    """Parquet and Arrow files: pieces (row groups, record batches) of which the last one read is kept. A field of a
    struct is a column of its own: `struct.field`."""

    def __init__(self, path: str, kind: str) -> None:
        super().__init__(path)
        self.kind = kind
        with self._named():
            file = self._open()
            if kind == "parquet":
                counts = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
                schema = file.schema_arrow
            else:
                counts = [file.get_batch(i).num_rows for i in range(file.num_record_batches)]
                schema = file.schema
        paths = [found for field in schema for found in _fields((), field)]
        paths.sort(key=len)  # a column whose name has a point comes before a field of the same name
        self.paths: dict[str, tuple[str, ...]] = {}
        for found in paths:
            self.paths.setdefault(".".join(found), found)
        self.columns = list(self.paths)
        self.starts = [0, *numpy.cumsum(counts, dtype=numpy.int64).tolist()]
        self.rows = self.starts[-1]

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        """Errors of pyarrow do not say which file they are about."""
        try:
            yield
        except need("pyarrow").ArrowException as error:
            raise ValueError(f"{self.path}: {error}") from None

    def _open(self) -> Any:
        if self._file is None:
            pyarrow = need("pyarrow")
            if self.kind == "parquet":
                self._file = need("pyarrow.parquet").ParquetFile(self.path, memory_map=True)
            else:
                self._file = need("pyarrow.ipc").open_file(pyarrow.memory_map(self.path))
        return self._file

    def _column(self, table: Any, name: str) -> Any:
        top, *inner = self.paths[name]
        column = table.column(top)
        return need("pyarrow.compute").struct_field(column, inner) if inner else column

    def _piece(self, index: int, names: list[str]) -> Any:
        kept = getattr(self, "_kept", None)
        if kept is None or kept[0] != (index, tuple(names)):
            pyarrow, file = need("pyarrow"), self._open()
            if self.kind == "parquet":
                table = file.read_row_group(index, columns=names)
            else:
                table = pyarrow.Table.from_batches([file.get_batch(index)])
            table = pyarrow.table({name: self._column(table, name) for name in names})
            self._kept = kept = ((index, tuple(names)), table)
        return kept[1]

    def read(self, names: list[str], start: int, stop: int) -> dict[str, Any]:
        pieces = []
        with self._named():
            for index, (first, end) in enumerate(zip(self.starts, self.starts[1:])):
                if first < stop and end > start:
                    piece = self._piece(index, names)
                    pieces.append(piece.slice(max(start - first, 0), min(stop, end) - max(start, first)))
            table = need("pyarrow").concat_tables(pieces)
        return {name: table.column(name) for name in names}


class Csv(_Opened):
    """Comma-separated values (RFC 4180) in UTF-8 with a line of names. Values are texts."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        positions, self.rows = _records(path)
        if not positions:
            raise ValueError(f"{path}: the file is empty; expected a line with the names of the columns")
        self.positions = positions[1:]
        header = self._parse(0, positions[1])
        self.columns = header[0] if header else []
        if len(set(self.columns)) != len(self.columns):
            raise ValueError(f"{path}: two columns have the same name: {', '.join(self.columns)}")

    def _parse(self, start: int, stop: int | None) -> list[list[str]]:
        with open(self.path, "rb") as file:
            file.seek(start)
            data = file.read() if stop is None else file.read(stop - start)
        if start == 0:
            data = data.removeprefix(codecs.BOM_UTF8)
        return list(csv.reader(line.decode("utf-8", errors="surrogateescape") for line in io.BytesIO(data)))

    def read(self, names: list[str], start: int, stop: int) -> dict[str, Any]:
        first = start // INDEX_STEP
        last = -(-stop // INDEX_STEP)
        end = self.positions[last] if last < len(self.positions) else None
        records = [r for r in self._parse(self.positions[first], end) if r]
        records = records[start - first * INDEX_STEP : stop - first * INDEX_STEP]
        width = len(self.columns)
        result: dict[str, Any] = {}
        for name in names:
            at = self.columns.index(name)
            result[name] = [
                r[at] if len(r) == width else ValueError(f"found {len(r)} fields, expected {width}") for r in records
            ]
        return result


class _Lines:
    """The lines of a file as texts, with the position after the last one; a blank line more at the end, which is a
    record of its own unless a quote is still open there."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.position = 0
        self.ended = False

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = self.file.readline()
        if not line:
            if self.ended:
                raise StopIteration
            self.ended = True
            return "\n"
        if self.position == 0:
            self.position, line = len(line), line.removeprefix(codecs.BOM_UTF8)
        else:
            self.position += len(line)
        return line.decode("latin-1")  # what separates fields and records is ASCII


def _records(path: str) -> tuple[list[int], int]:
    """Positions of the header, the first record and every INDEX_STEP records after it, and how many records there are.
    What a record is, the reader says that parses them later; blank lines are none."""
    positions: list[int] = []
    count = -1  # the header does not count
    start = 0
    record: list[str] = []
    with open(path, "rb") as file:
        lines = _Lines(file)
        try:
            for record in csv.reader(lines):
                if record:
                    if count < 0 or count % INDEX_STEP == 0:
                        positions.append(start)
                    count += 1
                if not lines.ended:
                    start = lines.position
        except csv.Error as error:
            raise ValueError(f"{path}: the record at byte {start}: {error}") from None
    if record:
        raise ValueError(f"{path}: a quote that begins in the record at byte {start} does not end")
    if len(positions) == 1:
        positions.append(lines.position)
    return positions, max(count, 0)


class Images(_Opened):
    """The images in a folder and those below it, in the order of their names. The columns are `image` and `file`."""

    def __init__(self, path: str, size: tuple[int, int], first: bool, mean: list[float], std: list[float]) -> None:
        """size: height and width. first: channels come first. mean, std: per channel, of values from 0 to 1."""
        super().__init__(path)
        need("PIL")
        self.size, self.first, self.mean, self.std = size, first, mean, std
        found = []
        for folder, _, files in os.walk(path):
            images = [name for name in files if name.lower().endswith(IMAGE_ENDINGS)]
            found += [os.path.relpath(os.path.join(folder, name), path) for name in images]
        self.names = sorted(found)
        self.rows = len(self.names)
        self.columns = ["image", "file"]

    def fingerprint(self) -> str:
        listing = "\n".join(f"{name} {stamp(os.path.join(self.path, name))}" for name in self.names)
        return hashlib.sha256(listing.encode(errors="surrogateescape")).hexdigest()

    def read(self, names: list[str], start: int, stop: int) -> dict[str, Any]:
        files = self.names[start:stop]
        result: dict[str, Any] = {"file": files} if "file" in names else {}
        if "image" in names:
            with concurrent.futures.ThreadPoolExecutor(min(os.cpu_count() or 1, 8)) as pool:
                result["image"] = _together(list(pool.map(self._image, files)))
        return result

    def _image(self, name: str) -> Any:
        image = need("PIL.Image")
        height, width = self.size
        try:
            with image.open(os.path.join(self.path, name)) as file:
                pixels = file.convert("RGB").resize((width, height), image.Resampling.BILINEAR)
        except Exception as error:  # decoders raise many kinds; whatever it is, this row has no image
            return ValueError(f"{name}: {error}")
        array = numpy.asarray(pixels, dtype=numpy.float32) / numpy.float32(255)
        array = (array - numpy.float32(self.mean)) / numpy.float32(self.std)
        return numpy.ascontiguousarray(array.transpose(2, 0, 1)) if self.first else array


def _together(rows: list[Any]) -> Any:
    """One array if all are arrays; else the list with its exceptions."""
    return numpy.stack(rows) if rows and not any(isinstance(r, Exception) for r in rows) else rows


def open_source(path: str, images: dict[str, Any] | None = None) -> Source:
    """The source of a file or folder; images: the arguments of `Images`."""
    if not os.path.exists(path):
        raise FileNotFoundError(f"{path}: no such file or folder")
    kind = kind_of(path)
    if kind == "images":
        return Images(path, **(images or {}))
    if kind == "npz":
        return Npz(path)
    return Csv(path) if kind == "csv" else Table(path, kind)
