# SPDX-License-Identifier: Apache-2.0
"""Where the inputs of a graph come from: their names, and which of them have fixed sizes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

from ingot import nn
from ingot._C import Tensor
from ingot.utils import _pytree as pytree

__all__ = ["Sources"]

_DEPTH = 4  # of containers and attributes that are searched for tensors


class Sources:
    """For the inputs of one recording of fn(*args, **kwargs)."""

    def __init__(self, fn: Callable, args: tuple, kwargs: dict, inputs: list[Tensor], number: int) -> None:
        self.inputs = inputs
        self.numbers: set[int] = set()
        found: dict[int, str] = {}
        fixed: set[int] = set()
        for path, value in _arguments(fn, args, kwargs):
            if isinstance(value, Tensor):
                found.setdefault(id(value), path)
            elif type(value) is int:
                self.numbers.add(value)
            elif isinstance(value, nn.Module):
                _look_into(value, path, found, fixed, self.numbers)
        self._paths = [found.get(id(t)) or f"tmp{number}_{i}" for i, t in enumerate(inputs)]
        self.names = _unique(["L_" + re.sub(r"\W+", "_", path).strip("_") + "_" for path in self._paths])
        self.static = [isinstance(t, nn.Parameter) or id(t) in fixed for t in inputs]

    def plain(self, of: int) -> str:
        return self._paths[of]

    def mark(self, of: int, dim: int) -> str | None:
        marks = getattr(self.inputs[of], "__dict__", {})
        for kind, name in _MARKS:
            if dim in marks.get(name, ()):
                return kind
        return None


_MARKS = (
    ("static", "_dynamo_static_indices"),
    ("dynamic", "_dynamo_dynamic_indices"),
    ("unbacked", "_dynamo_unbacked_indices"),
    ("maybe", "_dynamo_weak_dynamic_indices"),
)


def _unique(names: list[str]) -> list[str]:
    used: dict[str, int] = {}
    out = []
    for name in names:
        count = used[name] = used.get(name, -1) + 1
        out.append(f"{name}{count}" if count else name)
    return out


def _arguments(fn: Callable, args: tuple, kwargs: dict) -> Iterator[tuple[str, Any]]:
    """(path, leaf) for everything that the call was given, and for the object that it belongs to."""
    target = fn.forward if isinstance(fn, nn.Module) else fn
    owner = getattr(target, "__self__", None)
    if isinstance(fn, nn.Module):
        owner = fn
    if isinstance(owner, nn.Module):
        yield "self", owner
    try:
        bound = inspect.signature(target).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        bound = {f"arg{i}": a for i, a in enumerate(args)} | kwargs
    for name, value in bound.items():
        leaves, _ = pytree.tree_flatten_with_path(value, is_leaf=lambda v: isinstance(v, nn.Module))
        for path, leaf in leaves:
            yield name + pytree.keystr(path), leaf
    for cell, name in zip(getattr(target, "__closure__", None) or (), getattr(target, "__code__", _none).co_freevars):
        try:
            value = cell.cell_contents
        except ValueError:
            continue
        if isinstance(value, (Tensor, nn.Module, int)):
            yield name, value


class _none:
    co_freevars = ()


def _look_into(module: nn.Module, path: str, found: dict[int, str], fixed: set[int], numbers: set[int]) -> None:
    """Tensors of a module have fixed sizes."""
    for name, part in module.named_modules():
        prefix = path + ("." + name if name else "")
        for key, value in [*part._parameters.items(), *part._buffers.items(), *vars(part).items()]:
            if isinstance(value, Tensor):
                found.setdefault(id(value), f"{prefix}.{key}")
                fixed.add(id(value))
