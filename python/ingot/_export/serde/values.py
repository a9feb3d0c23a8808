# SPDX-License-Identifier: Apache-2.0
"""Values as objects of the export schema: dtypes, numbers, devices, descriptions of tensors, ranges."""
from __future__ import annotations

import dataclasses
import enum
import typing
from typing import Any

from ingot import _C
from ingot._export.serde import schema
from ingot._export.serde.schema import Layout, MemoryFormat, ScalarType
from ingot._export.serde.union import _Union


class SerializeError(RuntimeError):
    """A program cannot be written or read."""


_TORCH_TO_SERIALIZE_DTYPE = {
    getattr(_C, name): getattr(ScalarType, number)
    for name, number in (
        ("uint8", "BYTE"), ("int8", "CHAR"), ("int16", "SHORT"), ("int32", "INT"), ("int64", "LONG"),
        ("float16", "HALF"), ("float32", "FLOAT"), ("float64", "DOUBLE"), ("complex32", "COMPLEXHALF"),
        ("complex64", "COMPLEXFLOAT"), ("complex128", "COMPLEXDOUBLE"), ("bool", "BOOL"), ("bfloat16", "BFLOAT16"),
    )
    if hasattr(_C, name)
}  # fmt: skip
_SERIALIZE_TO_TORCH_DTYPE = {number: dtype for dtype, number in _TORCH_TO_SERIALIZE_DTYPE.items()}


def serialize_sym_int(s: Any) -> Any:
    """A size: its number, or its expression and the number that it had."""
    if isinstance(s, int):
        return schema.SymInt.create(as_int=s)
    if not isinstance(s, _C.SymInt):
        raise SerializeError(f"SymInt should be either symbol or int, got `{s}` of type `{type(s)}`")
    hint = schema.SymExprHint.create(as_int=s.node.hint) if s.node.has_hint() else None
    return schema.SymInt.create(as_expr=schema.SymExpr(str(s), hint))


def serialize_sym_bool(s: Any) -> Any:
    if isinstance(s, bool):
        return schema.SymBool.create(as_bool=s)
    if not isinstance(s, _C.SymBool):
        raise SerializeError(f"SymBool should be either symbol or bool, got `{s}` of type `{type(s)}`")
    return schema.SymBool.create(as_expr=schema.SymExpr(expr_str=str(s)))


def serialize_tensor_meta(t: Any) -> Any:
    """Everything about a tensor but its elements."""
    return schema.TensorMeta(
        dtype=_TORCH_TO_SERIALIZE_DTYPE[t.dtype],
        sizes=[serialize_sym_int(s) for s in t.shape],
        requires_grad=t.requires_grad,
        device=schema.Device(type=t.device.type, index=t.device.index),
        strides=[serialize_sym_int(s) for s in t.stride()],
        storage_offset=serialize_sym_int(0),
        layout=Layout.Strided,
    )


def deserialize_device(d: Any) -> Any:
    return _C.device(d.type) if d.index is None else _C.device(d.type, d.index)


def serialize_range_constraints(range_constraints: dict[Any, Any]) -> dict[str, Any]:
    from ingot._export.passes.add_runtime_assertions_for_constraints_pass import _convert_range_to_int

    found = {}
    for symbol, values in range_constraints.items():
        low, high = _convert_range_to_int(values)
        found[str(symbol)] = schema.RangeConstraint(low, high)
    return found


_TORCH_TO_SERIALIZE_LAYOUT = {_C.strided: Layout.Strided}
_SERIALIZE_TO_TORCH_LAYOUT = {number: layout for layout, number in _TORCH_TO_SERIALIZE_LAYOUT.items()}
_TORCH_TO_SERIALIZE_MEMORY_FORMAT = {
    getattr(_C, name): getattr(MemoryFormat, number)
    for name, number in (
        ("contiguous_format", "ContiguousFormat"), ("channels_last", "ChannelsLast"),
        ("channels_last_3d", "ChannelsLast3d"), ("preserve_format", "PreserveFormat"),
    )
    if hasattr(_C, name)
}  # fmt: skip
_SERIALIZE_TO_TORCH_MEMORY_FORMAT = {number: form for form, number in _TORCH_TO_SERIALIZE_MEMORY_FORMAT.items()}


def _dataclass_to_dict(obj: Any) -> Any:
    """The dictionaries and lists of an object of the schema; fields that are None are left out."""
    if isinstance(obj, _Union):
        return {obj.type: _dataclass_to_dict(obj.value)}
    if dataclasses.is_dataclass(obj):
        values = {f.name: getattr(obj, f.name) for f in dataclasses.fields(obj)}
        return {name: _dataclass_to_dict(value) for name, value in values.items() if value is not None}
    if isinstance(obj, dict):
        return {k: _dataclass_to_dict(v) for k, v in obj.items()}
    if isinstance(obj, (list, tuple)):
        return type(obj)(_dataclass_to_dict(v) for v in obj)
    return obj


def _dict_to_dataclass(cls: Any, data: Any) -> Any:
    """An object of the schema, of such dictionaries and lists."""
    if isinstance(cls, typing.ForwardRef):
        cls = getattr(schema, cls.__forward_arg__)
    origin, args = typing.get_origin(cls), typing.get_args(cls)
    if origin is typing.Union:
        return None if data is None else _dict_to_dataclass(args[0], data)
    if isinstance(data, list):
        return [_dict_to_dataclass(args[0], v) for v in data] if args else data
    if isinstance(data, dict) and origin is dict:
        return {k: _dict_to_dataclass(args[1], v) for k, v in data.items()}
    if not dataclasses.is_dataclass(cls):
        return cls(data) if isinstance(cls, type) and issubclass(cls, enum.Enum) else data
    types = {f.name: f.type for f in dataclasses.fields(cls)}
    if isinstance(cls, type) and issubclass(cls, _Union):
        ((name, value),) = data.items()
        return cls.create(**{name: _dict_to_dataclass(types[name], value)})
    made = cls(**data)
    for name in data:
        object.__setattr__(made, name, _dict_to_dataclass(types[name], data[name]))
    return made
