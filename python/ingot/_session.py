# SPDX-License-Identifier: Apache-2.0
"""Model files of any kind as functions of arrays."""

from __future__ import annotations

import io
import os
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from ingot import _C

if TYPE_CHECKING:
    from ingot.export import ExportedProgram

_SWITCHES = {"chains": 1, "reuse": 2, "layers": 4, "symbols": 8}
_PRECISIONS = {None: 0, "f32": 1, "int8": 2, "bf16": 3, "f16": 4, "int4": 5, "dynamic_int8": 6}


def _file_of(model: Any) -> tuple[str | os.PathLike[str], bytes | None]:
    """The path of a model file, or a name and its bytes."""
    from ingot.export import ExportedProgram, save

    if isinstance(model, ExportedProgram):
        written = io.BytesIO()
        save(model, written)
        return "program", written.getvalue()
    if isinstance(model, (bytes, bytearray, memoryview)):
        return "bytes", bytes(model)
    if hasattr(model, "read"):
        return str(getattr(model, "name", "stream")), model.read()
    return model, None


class Port(NamedTuple):
    """An input or output: dtype None if it is not a tensor, shape None if it is not known; dynamic sizes are texts."""

    name: str
    dtype: str | None
    shape: tuple[int | str, ...] | None


class Step(NamedTuple):
    """A step of a plan and the time that it took in all measured runs together; flops (0: none, or not known) and bytes
    that it reads and writes at least are those of one run."""

    name: str
    target: str
    interpreted: bool
    seconds: float
    runs: int
    flops: float
    bytes: float


class Session:
    """A model that is ready to run; `open` makes one.

    Called with arrays by position or name it gives the model's results: one as itself, several as a tuple. Arrays of
    NumPy give arrays of NumPy, anything else gives tensors, which support DLPack. Buffers that the model updates keep
    their values from call to call until `reset()`. Threads may share a session: its runs follow one another, those of
    different sessions run side by side.
    """

    def __init__(
        self,
        model: Any,
        interpret: bool = False,
        without: tuple[str, ...] = (),
        precision: str | None = None,
        threads: int | None = None,
    ) -> None:
        unknown = [word for word in without if word not in _SWITCHES]
        if unknown:
            raise ValueError(f"without: found {unknown[0]!r}, expected names of {sorted(_SWITCHES)}")
        if precision not in _PRECISIONS:
            names = ", ".join(name for name in _PRECISIONS if name)
            raise ValueError(f"precision: found {precision!r}, expected one of {names}")
        if threads is not None and threads < 1:
            raise ValueError(f"threads: found {threads}, expected 1 or more, or None for as many as the process uses")
        switches = sum(_SWITCHES[word] for word in set(without))
        path, data = _file_of(model)
        self._session = _C.open_session(path, interpret, switches, _PRECISIONS[precision], threads or 0, data)
        self.inputs = tuple(Port(*row) for row in self._session.inputs)
        self.outputs = tuple(Port(*row) for row in self._session.outputs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._session.call(args, kwargs)

    def plan(self, *args: Any, **kwargs: Any) -> str:
        """What a run on these inputs executes, as text; without any, on those of the last call."""
        if args or kwargs:
            self(*args, **kwargs)
        return self._session.plan()

    def profile(self, *args: Any, runs: int = 10, **kwargs: Any) -> list[Step]:
        """Runs on these inputs and gives the time of every step, in the order of execution."""
        self._session.call(args, kwargs)
        self._session.profile(True)
        try:
            for _ in range(runs):
                self._session.call(args, kwargs)
            return [Step(*row) for row in self._session.steps()]
        finally:
            self._session.profile(False)

    def compile(self, path: str | os.PathLike[str], *args: Any, **kwargs: Any) -> None:
        """Write the model and the weights that a run on these inputs packs to a file, which `open` starts from in
        milliseconds. Without any, the inputs are those of the last call, or zeros of the sizes that the model states.
        The packed weights are for this machine's instruction set; elsewhere they are packed again."""
        if args or kwargs:
            self(*args, **kwargs)
        self._session.compile(path)

    def cancel(self) -> None:
        """End the call that another thread is in, or else the next one, with KeyboardInterrupt before the next step."""
        self._session.cancel()

    def reset(self) -> None:
        """Forgets inputs, results and the state of buffers."""
        self._session.reset()


def open(
    model: str | os.PathLike[str] | ExportedProgram | bytes | IO[bytes],
    *,
    interpret: bool = False,
    without: tuple[str, ...] = (),
    precision: str | None = None,
    threads: int | None = None,
) -> Session:
    """Open a model file of any kind (`.pt2`, ONNX, TorchScript, `.ingot`), its bytes, or an exported program to run it.

    interpret: call operators one by one instead of planning. without: parts of planning to switch off, to find the
    cause of a difference: "chains", "reuse", "symbols" (of sizes), "layers" (without these, results have the bits of
    operators that are called one by one). precision: of the weights of linear layers, "f32", "bf16", "f16", "int8",
    "int4" or "dynamic_int8" (inputs are integers too); by default that of a compiled model, otherwise f32. threads:
    that a call may use, by default `ingot.get_num_threads()`.
    """
    return Session(model, interpret, without, precision, threads)


def compile_file(
    model: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *args: Any,
    precision: str | None = None,
    **kwargs: Any,
) -> None:
    """Write a model file and its packed weights to `path`, a `.ingot` file, as `Session.compile` does."""
    Session(model, precision=precision).compile(path, *args, **kwargs)
