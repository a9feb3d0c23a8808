# SPDX-License-Identifier: Apache-2.0
"""dynamic_shapes as plain data: names of sizes, their bounds, and what is derived from them."""
from __future__ import annotations

import dataclasses
import re
import sys
from typing import Any

from ingot._C import Tensor
from ingot._dynamo.exc import UserError, UserErrorType
from ingot.export.dynamic_shapes import Dim
from ingot.utils import _pytree as pytree

__all__ = ["DynamicShapesSpec", "RootDim"]


@dataclasses.dataclass
class RootDim:
    """Bounds of a named size (no maximum: None), and the sizes derived from it as texts."""

    min: int
    max: int | None
    derived: list[str]


@dataclasses.dataclass
class DynamicShapesSpec:
    """Per input a list with one entry per dimension: a number, a name, an expression or a hint."""

    dynamic_shapes: Any
    dims: dict[str, RootDim]


_HINTS = {f"_DimHint.{name}": getattr(Dim, name) for name in ("AUTO", "STATIC", "DYNAMIC")}
_DERIVED = re.compile(r"(?:(\d+)\*)?(\w+)(?: ([+-]) (\d+))?$")


def _invalid(message: str) -> UserError:
    return UserError(UserErrorType.INVALID_INPUT, message)


def _dump_dynamic_shapes(
    dynamic_shapes: Any, args: tuple, kwargs: dict[str, Any] | None = None, to_dict: bool | None = False
) -> DynamicShapesSpec | dict[str, Any]:
    """The shapes of the inputs as data; to_dict: of plain containers."""
    if dynamic_shapes is None:
        return {"dynamic_shapes": None, "dims": {}}
    dims: dict[str, RootDim] = {}

    def entry(dim: Any, size: int) -> Any:
        if dim is None:
            return size
        for name, hint in _HINTS.items():
            if dim is hint:
                return name
        if isinstance(dim, int):
            return dim
        root = dim.root
        known = dims.setdefault(
            root.__name__, RootDim(root.min, None if root.max == sys.maxsize else root.max, [])
        )
        if dim is not root and dim.__name__ not in known.derived:
            known.derived.append(dim.__name__)
        return dim.__name__

    def walk(value: Any, shape: Any) -> Any:
        if isinstance(value, Tensor):
            if shape is None:
                return ["_DimHint.STATIC"] * value.ndim
            given = shape if isinstance(shape, dict) else dict(enumerate(shape))
            return [entry(given.get(i), int(value.shape[i])) for i in range(value.ndim)]
        if pytree._node_of(value) is None:
            return None
        keys = list(value) if isinstance(value, dict) else range(len(pytree._node_of(value).flatten_fn(value)[0]))
        items = list(value.values()) if isinstance(value, dict) else pytree._node_of(value).flatten_fn(value)[0]
        below = [walk(v, shape if shape is None else shape[k]) for k, v in zip(keys, items, strict=True)]
        if isinstance(value, dict):
            return dict(zip(keys, below, strict=True))
        return tuple(below) if isinstance(value, tuple) else below

    inputs = (*args, *(kwargs or {}).values())
    given = list(dynamic_shapes.values()) if isinstance(dynamic_shapes, dict) else list(dynamic_shapes)
    shapes = tuple(walk(value, shape) for value, shape in zip(inputs, given, strict=True))
    if to_dict:
        return {"dynamic_shapes": shapes, "dims": {k: dataclasses.asdict(v) for k, v in dims.items()}}
    return DynamicShapesSpec(shapes, dims)


def _read(spec: Any, from_dict: bool) -> tuple[Any, dict[str, RootDim]]:
    if not from_dict:
        if not isinstance(spec, DynamicShapesSpec):
            raise _invalid(f"Expected `spec` to be a DynamicShapesSpec, got {type(spec)}")
        return spec.dynamic_shapes, spec.dims
    if not isinstance(spec, dict):
        raise _invalid(f"With from_dict=True, expected `spec` to be a dict, got {type(spec)}")
    if sorted(spec) != ["dims", "dynamic_shapes"]:
        raise _invalid(
            "With from_dict=True, expected `spec` to have keys `dims` and `dynamic_shapes`, instead found "
            f"{spec.keys()}"
        )
    dims: dict[str, RootDim] = {}
    for name, row in spec["dims"].items():
        if sorted(row) != ["derived", "max", "min"]:
            raise _invalid(
                f"Expected dims in `spec['dims']` to have keys `min`, `max`, and `derived`, got {name}: {row}"
            )
        if not isinstance(row["min"], int):
            raise _invalid(f"Expected dims in `spec['dims']` to map `min` to an int, got {name}: {row['min']}")
        if not isinstance(row["max"], (int, type(None))):
            raise _invalid(f"Expected dims in `spec['dims']` to map `max` to an int or None, got {name}: {row['max']}")
        dims[name] = RootDim(**row)
    return spec["dynamic_shapes"], dims


def _load_dynamic_shapes(spec: DynamicShapesSpec | dict[str, Any], from_dict: bool | None = False) -> Any:
    """The shapes that the data describes, with Dims."""
    shapes, dims = _read(spec, bool(from_dict))
    if shapes is None:
        return None
    cache: dict[str, Any] = {}
    for name, row in dims.items():
        cache[name] = Dim(name, min=row.min, max=row.max)
        for text in row.derived:
            found = _DERIVED.match(text)
            if found is None or found[2] != name:
                raise _invalid(
                    "Expected derived expressions in to have a single symbol as root, and be linear in it: "
                    f"{name}: {text}"
                )
            term = int(found[4] or 0)
            cache[text] = int(found[1] or 1) * cache[name] + (-term if found[3] == "-" else term)

    def entry(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        if value in _HINTS:
            return _HINTS[value]
        if value not in cache:
            raise _invalid(
                "Expected dims in `spec['dynamic_shapes']` to be tracked in `spec['dims']`, got "
                f"{value} which is not in {dims.keys()}"
            )
        return cache[value]

    return pytree.tree_map(entry, shapes)
