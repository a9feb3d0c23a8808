# SPDX-License-Identifier: Apache-2.0
"""torch.classes: classes of opaque objects by namespace. Graphs treat such objects as opaque."""

from __future__ import annotations

from typing import Any

from ingot import _C

__all__ = ["loaded_libraries"]

loaded_libraries: set[str] = set()


class _ClassNamespace:
    """torch.classes.<name>."""

    def __init__(self, name: str) -> None:
        self.__name__ = self.name = name

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"Class {self.name}.{name} not registered!")

    def _add(self, cls: type) -> type:
        cls.__module__ = f"torch.classes.{self.name}"
        setattr(self, cls.__name__, cls)
        return cls


_TorchScriptTesting = _ClassNamespace("_TorchScriptTesting")


@_TorchScriptTesting._add
class _PickleTester:
    """A list of integers that can be pickled; for tests of custom objects."""

    def __init__(self, vals: list[int]) -> None:
        self.vals = [int(v) for v in vals]

    def top(self) -> int:
        return self.vals[-1]

    def pop(self) -> int:
        return self.vals.pop()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _PickleTester) and self.vals == other.vals

    __hash__ = None  # type: ignore[assignment]: it changes


def _take_an_instance(x: Any) -> Any:
    import ingot

    return ingot.zeros(x.vals[-1], 4)


def _define() -> None:
    name = "__torch__.torch.classes._TorchScriptTesting._PickleTester"
    overload = _C.library_define(f"_TorchScriptTesting::take_an_instance({name} x) -> Tensor")
    for kind in ("kernel", "fake"):
        _C.library_impl(overload, kind, _take_an_instance)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    found = globals()[name] = _ClassNamespace(name)
    return found


def load_library(path: str) -> None:
    raise OSError(f"{path}: libraries of PyTorch's C++ classes cannot be loaded")


_define()
