# SPDX-License-Identifier: Apache-2.0
"""Element types under their three names: PyTorch's numbers, its texts, and those of ONNX."""

from __future__ import annotations

import enum
from typing import Any

import ingot
from ingot.onnx import errors
from ingot.onnx._enums import TensorProtoDataType

# number, PyTorch's dtype, scalar type, name in TorchScript, element type of ONNX
_ROWS = [
    (0, "uint8", "Byte", "uint8_t", "UINT8"),
    (1, "int8", "Char", "int8_t", "INT8"),
    (2, "int16", "Short", "int16_t", "INT16"),
    (3, "int32", "Int", "int", "INT32"),
    (4, "int64", "Long", "int64_t", "INT64"),
    (5, "float16", "Half", "half", "FLOAT16"),
    (6, "float32", "Float", "float", "FLOAT"),
    (7, "float64", "Double", "double", "DOUBLE"),
    (8, "complex32", "ComplexHalf", "complex32", "UNDEFINED"),
    (9, "complex64", "ComplexFloat", "complex64", "COMPLEX64"),
    (10, "complex128", "ComplexDouble", "complex128", "COMPLEX128"),
    (11, "bool", "Bool", "bool", "BOOL"),
    (12, "qint8", "QInt8", "qint8", "INT8"),
    (13, "quint8", "QUInt8", "quint8", "UINT8"),
    (14, "qint32", "QInt32", "qint32", "INT32"),
    (15, "bfloat16", "BFloat16", "bfloat16", "BFLOAT16"),
    (16, "float8_e5m2", "Float8E5M2", "float8_e5m2", "FLOAT8E5M2"),
    (17, "float8_e4m3fn", "Float8E4M3FN", "float8_e4m3fn", "FLOAT8E4M3FN"),
    (18, "float8_e5m2fnuz", "Float8E5M2FNUZ", "float8_e5m2fnuz", "FLOAT8E5M2FNUZ"),
    (19, "float8_e4m3fnuz", "Float8E4M3FNUZ", "float8_e4m3fnuz", "FLOAT8E4M3FNUZ"),
]


def _row(number: int) -> tuple:
    return _ROWS[number]


class JitScalarType(enum.IntEnum):
    """A scalar type of TorchScript."""

    UINT8 = 0
    INT8 = 1
    INT16 = 2
    INT = 3
    INT64 = 4
    HALF = 5
    FLOAT = 6
    DOUBLE = 7
    COMPLEX32 = 8
    COMPLEX64 = 9
    COMPLEX128 = 10
    BOOL = 11
    QINT8 = 12
    QUINT8 = 13
    QINT32 = 14
    BFLOAT16 = 15
    FLOAT8E5M2 = 16
    FLOAT8E4M3FN = 17
    FLOAT8E5M2FNUZ = 18
    FLOAT8E4M3FNUZ = 19
    UNDEFINED = 20

    @classmethod
    def from_name(cls, name: str) -> JitScalarType:
        for number, dtype, scalar, torch, _ in _ROWS:
            if name in (dtype, scalar, torch):
                return cls(number)
        raise errors.OnnxExporterError(f"Unknown torch or scalar type: '{name}'")

    @classmethod
    def from_dtype(cls, dtype: Any) -> JitScalarType:
        for number, name, *_ in _ROWS:
            if dtype is not None and getattr(ingot, name, None) == dtype:
                return cls(number)
        raise errors.OnnxExporterError(f"Unknown dtype: {dtype}")

    @classmethod
    def from_onnx_type(cls, onnx_type: Any) -> JitScalarType:
        for number, _, _, _, name in _ROWS:
            if onnx_type is not None and TensorProtoDataType(int(onnx_type)).name == name and name != "UNDEFINED":
                return cls(number)
        raise errors.OnnxExporterError(f"Unknown onnx_type: {onnx_type}")

    @classmethod
    def from_value(cls, value: Any, default: Any = None) -> JitScalarType:
        """Of a tensor or of a value of a graph."""
        if isinstance(value, ingot.Tensor):
            return cls.from_dtype(value.dtype)
        scalar = None
        kind = value.type() if value is not None and hasattr(value, "type") else None
        if kind is not None and kind.kind() == "TensorType":
            scalar = kind.scalarType()
        elif kind is not None and kind.kind() in ("IntType", "FloatType", "BoolType"):
            scalar = {"IntType": "Long", "FloatType": "Float", "BoolType": "Bool"}[kind.kind()]
        if scalar is not None:
            return cls.from_name(scalar)
        if default is not None:
            return default
        raise errors.SymbolicValueError(f"Cannot determine scalar type for this '{type(value)}' instance", value)

    def scalar_name(self) -> str:
        return "Undefined" if self == JitScalarType.UNDEFINED else _row(self)[2]

    def torch_name(self) -> str:
        return "Undefined" if self == JitScalarType.UNDEFINED else _row(self)[3]

    def dtype(self) -> Any:
        return getattr(ingot, _row(self)[1])

    def onnx_type(self) -> TensorProtoDataType:
        return TensorProtoDataType.UNDEFINED if self == JitScalarType.UNDEFINED else TensorProtoDataType[_row(self)[4]]

    def onnx_compatible(self) -> bool:
        return self != JitScalarType.UNDEFINED and _row(self)[4] != "UNDEFINED"


def valid_scalar_name(name: str) -> bool:
    return any(name == row[2] for row in _ROWS)


def valid_torch_name(name: str) -> bool:
    return any(name == row[3] for row in _ROWS)


# ---- the rows as tables, by the names that user code has for them ----

_SCALAR_TYPES = [JitScalarType(row[0]) for row in _ROWS]
_SCALAR_TYPE_TO_NAME = {kind: kind.scalar_name() for kind in JitScalarType}
_SCALAR_NAME_TO_TYPE = {name: kind for kind, name in _SCALAR_TYPE_TO_NAME.items()}
_SCALAR_TYPE_TO_TORCH_NAME = {kind: kind.torch_name() for kind in _SCALAR_TYPES}
_TORCH_NAME_TO_SCALAR_TYPE = {name: kind for kind, name in _SCALAR_TYPE_TO_TORCH_NAME.items()}
_SCALAR_TYPE_TO_ONNX = {kind: kind.onnx_type() for kind in JitScalarType if kind != JitScalarType.COMPLEX32}
_ONNX_TO_SCALAR_TYPE = {kind: scalar for scalar, kind in _SCALAR_TYPE_TO_ONNX.items()}
_SCALAR_TYPE_TO_DTYPE = {kind: getattr(ingot, _row(kind)[1], None) for kind in _SCALAR_TYPES}
_DTYPE_TO_SCALAR_TYPE = {dtype: kind for kind, dtype in _SCALAR_TYPE_TO_DTYPE.items() if dtype is not None}
