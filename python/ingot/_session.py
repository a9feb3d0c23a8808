# SPDX-License-Identifier: Apache-2.0
"""Model files of any kind as functions of arrays."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from ingot import _C

_SWITCHES = {"chains": 1, "reuse": 2, "layers": 4}


class Port(NamedTuple):
    """An input or output: dtype None if it is not a tensor, shape None if it is not known; dynamic sizes are texts."""

    name: str
    dtype: str | None
    shape: tuple[int | str, ...] | None


class Step(NamedTuple):
    """A step of a plan and the time that it took in all measured runs together."""

    name: str
    target: str
    interpreted: bool
    seconds: float
    runs: int


class Session:
    """A model that is ready to run; `open` makes one.

    Called with arrays by position or name it gives the model's results: one as itself, several as a tuple. Arrays of
    NumPy give arrays of NumPy, anything else gives tensors, which support DLPack. Buffers that the model updates keep
    their values from call to call until `reset()`.
    """

    def __init__(self, path: str | os.PathLike[str], interpret: bool, without: tuple[str, ...]) -> None:
        unknown = [word for word in without if word not in _SWITCHES]
        if unknown:
            raise ValueError(f"without: found {unknown[0]!r}, expected names of {sorted(_SWITCHES)}")
        self._session = _C.open_session(path, interpret, sum(_SWITCHES[word] for word in set(without)))
        self.inputs = tuple(Port(*row) for row in self._session.inputs)
        self.outputs = tuple(Port(*row) for row in self._session.outputs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        values, plain = self._bind(args, kwargs)
        results = self._session.run(values)
        if plain:
            results = [r.numpy() if isinstance(r, _C.Tensor) else r for r in results]
        return results[0] if len(results) == 1 else tuple(results)

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[dict[str, Any], bool]:
        if len(args) > len(self.inputs):
            raise TypeError(f"found {len(args)} inputs, expected at most {len(self.inputs)}")
        values = {port.name: value for port, value in zip(self.inputs, args, strict=False)}
        twice = [name for name in kwargs if name in values]
        if twice:
            raise TypeError(f"input {twice[0]!r} is given twice, by position and by name")
        values.update(kwargs)
        plain = any(hasattr(value, "__array_interface__") for value in values.values())
        return {name: _tensor(value) for name, value in values.items()}, plain

    def plan(self, *args: Any, **kwargs: Any) -> str:
        """What a run on these inputs executes, as text; without any, on those of the last call."""
        if args or kwargs:
            self(*args, **kwargs)
        return self._session.plan()

    def profile(self, *args: Any, runs: int = 10, **kwargs: Any) -> list[Step]:
        """Runs on these inputs and gives the time of every step, in the order of execution."""
        values, _ = self._bind(args, kwargs)
        self._session.run(values)
        self._session.profile(True)
        try:
            for _ in range(runs):
                self._session.run(values)
            return [Step(*row) for row in self._session.steps()]
        finally:
            self._session.profile(False)

    def reset(self) -> None:
        """Forgets inputs, results and the state of buffers."""
        self._session.reset()


def _tensor(value: Any) -> Any:
    if isinstance(value, _C.Tensor) or isinstance(value, (bool, int, float)) or value is None:
        return value
    if hasattr(value, "__array_interface__"):
        return _C.from_numpy(value)
    return _C.from_dlpack(value)


def open(path: str | os.PathLike[str], *, interpret: bool = False, without: tuple[str, ...] = ()) -> Session:
    """Open a model file of any kind (`.pt2`, ONNX, TorchScript) to run it.

    interpret: call operators one by one instead of planning. without: parts of planning to switch off, to find the
    cause of a difference: "chains", "reuse", "layers" (without these, results have the bits of operators that
    are called one by one).
    """
    return Session(path, interpret, without)
