# SPDX-License-Identifier: Apache-2.0
"""The registry of translations: which operators have one at which opset, and the functions that users add."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, KeysView, Sequence
from typing import Any, Generic, TypeVar

from ingot.onnx import errors
from ingot.onnx._internal import registered

BASE = 9
K = TypeVar("K")
V = TypeVar("V")


def _choose(target: int, versions: Collection[int]) -> int | None:
    """From 9 on the newest version that is not newer than the target; before, the oldest that is not older."""
    if not versions:
        return None
    if target >= BASE:
        known = [v for v in versions if v <= target]
        return max(known) if known else None
    known = [v for v in versions if target <= v <= BASE]
    return min(known) if known else None


_dispatch_opset_version = _choose


class OverrideDict(Generic[K, V]):
    """A dictionary whose items can be overridden and then are as before."""

    def __init__(self) -> None:
        self._base: dict[K, V] = {}
        self._overrides: dict[K, V] = {}
        self._merged: dict[K, V] = {}

    def set_base(self, key: K, value: V) -> None:
        self._base[key] = value
        if key not in self._overrides:
            self._merged[key] = value

    def in_base(self, key: K) -> bool:
        return key in self._base

    def override(self, key: K, value: V) -> None:
        self._overrides[key] = self._merged[key] = value

    def remove_override(self, key: K) -> None:
        self._overrides.pop(key, None)
        self._merged.pop(key, None)
        if key in self._base:
            self._merged[key] = self._base[key]

    def overridden(self, key: K) -> bool:
        return key in self._overrides

    def __getitem__(self, key: K) -> V:
        return self._merged[key]

    def get(self, key: K, default: V | None = None) -> V | None:
        return self._merged.get(key, default)

    def __contains__(self, key: object) -> bool:
        return key in self._merged

    def __iter__(self) -> Iterator[K]:
        return iter(self._merged)

    def __len__(self) -> int:
        return len(self._merged)

    def __bool__(self) -> bool:
        return bool(self._merged)

    def keys(self) -> KeysView[K]:
        return self._merged.keys()

    def __repr__(self) -> str:
        return f"OverrideDict(base={self._base}, overrides={self._overrides})"


class _SymbolicFunctionGroup:
    """The translations of one operator, by opset. Those of the table are the writer's own: `None` stands for them."""

    def __init__(self, name: str, versions: Sequence[int] = ()) -> None:
        self._name = name
        self._builtin = set(versions)
        self._custom: dict[int, Callable] = {}

    def __repr__(self) -> str:
        return f"_SymbolicFunctionGroup({self._name}, registered={sorted(self._builtin | set(self._custom))})"

    def __getitem__(self, key: int) -> Callable | None:
        found = self.get(key)
        if found is None:
            raise KeyError(key)
        return found

    def version(self, opset: int) -> int | None:
        return _choose(opset, self._builtin | set(self._custom))

    def get(self, opset: int) -> Any:
        """The function for an opset: a user's, or the writer's translation; None: there is none."""
        version = self.version(opset)
        if version is None:
            return None
        return self._custom.get(version) or _writer(self._name)

    @property
    def name(self) -> str:
        return self._name

    def defines(self, opset: int) -> bool:
        """Whether the writer's translation was added or changed in this opset."""
        return opset in self._builtin

    def custom(self, opset: int) -> Callable | None:
        version = self.version(opset)
        return self._custom.get(version) if version is not None else None

    def add(self, func: Callable, opset: int) -> None:
        if opset in self._builtin:
            warnings.warn(
                f"Symbolic function '{self._name}' already registered for opset {opset}. "
                "Replacing the existing function with new function. This is unexpected. Please report it on "
                "https://github.com/pytorch/pytorch/issues.",
                errors.OnnxExporterWarning,
                stacklevel=3,
            )
        self._custom[opset] = func

    def add_custom(self, func: Callable, opset: int) -> None:
        self._custom[opset] = func

    def remove_custom(self, opset: int) -> None:
        if opset not in self._custom:
            warnings.warn(
                f"No custom function registered for '{self._name}' opset {opset}",
                errors.OnnxExporterWarning,
                stacklevel=3,
            )
            return
        del self._custom[opset]

    def get_min_supported(self) -> int:
        return min(self._builtin | set(self._custom))

    def is_empty(self) -> bool:
        return not self._builtin and not self._custom


def _writer(name: str) -> Callable:
    """A translation of the writer as a function."""
    from ingot.onnx._internal import translations

    return translations.function(name.partition("::")[2])


class SymbolicRegistry:
    """All groups, by the name of the operator: "aten::add"."""

    def __init__(self) -> None:
        self._registry: dict[str, _SymbolicFunctionGroup] = {}
        for row in registered.TABLE.replace("\n", " ").split(";"):
            name, _, versions = row.strip().partition(" ")
            if name:
                self._registry[name] = _SymbolicFunctionGroup(name, [int(v) for v in versions.split(",")])

    def register(self, name: str, opset: int, func: Callable, custom: bool = False) -> None:
        if "::" not in name:
            raise ValueError(
                f"The name must be in the form of 'domain::op', not '{name}'. Use 'aten::op' for PyTorch's operators."
            )
        group = self._registry.setdefault(name, _SymbolicFunctionGroup(name))
        (group.add_custom if custom else group.add)(func, opset)

    def unregister(self, name: str, opset: int) -> None:
        group = self._registry.get(name)
        if group is None:
            return
        group.remove_custom(opset)
        if group.is_empty():
            del self._registry[name]

    def get_function_group(self, name: str) -> _SymbolicFunctionGroup | None:
        return self._registry.get(name)

    def is_registered_op(self, name: str, version: int) -> bool:
        group = self.get_function_group(name)
        return group is not None and group.version(version) is not None

    def has_custom(self) -> bool:
        """Whether a user has registered a translation."""
        return any(group._custom for group in self._registry.values())

    def all_functions(self) -> set[str]:
        return set(self._registry)


registry = SymbolicRegistry()


def onnx_symbolic(
    name: str, opset: int | Sequence[int], decorate: Sequence[Callable] | None = None, custom: bool = False
) -> Callable:
    """A decorator that registers a translation."""

    def wrapper(func: Callable) -> Callable:
        made = func
        for one in decorate or ():
            made = one(made)
        for version in [opset] if isinstance(opset, int) else opset:
            registry.register(name, version, made, custom=custom)
        return func

    return wrapper


def custom_onnx_symbolic(name: str, opset: int | Sequence[int], decorate: Sequence[Callable] | None = None) -> Callable:
    return onnx_symbolic(name, opset, decorate, custom=True)
