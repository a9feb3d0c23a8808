# SPDX-License-Identifier: Apache-2.0
"""finfo and iinfo: the limits of dtypes, computed from the widths of their fields."""

from __future__ import annotations

import math

from ingot import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# name: (exponent bits, mantissa bits, largest value, printed digits); a largest value of None follows the IEEE rule.
_FLOATS = {
    "float16": (5, 10, None, 3),
    "bfloat16": (8, 7, None, 2),
    "float32": (8, 23, None, 6),
    "float64": (11, 52, None, 15),
    "float8_e4m3fn": (4, 3, 448.0, 0),
    "float8_e5m2": (5, 2, None, 0),
}
_INTS = {
    "uint8": 8, "int8": 8, "int16": 16, "int32": 32, "int64": 64, "uint16": 16, "uint32": 32, "uint64": 64,
    "quint8": 8, "qint8": 8, "qint32": 32,
}  # fmt: skip
_PARTS = {"complex64": "float32", "complex128": "float64", "complex32": "float16"}


def _name(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


class finfo:
    """Limits of a floating point dtype."""

    def __init__(self, dtype: Any = None) -> None:
        dtype = _C.get_default_dtype() if dtype is None else dtype
        name = _PARTS.get(_name(dtype), _name(dtype))
        if not isinstance(dtype, _C.dtype):
            raise TypeError(f"torch.finfo() requires a floating point input type, found {dtype!r}")
        if name not in _FLOATS:
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'"
            )
        exponent, mantissa, top, digits = _FLOATS[name]
        bias = 2 ** (exponent - 1) - 1
        self.dtype = name
        self.bits = 1 + exponent + mantissa
        self.eps = math.ldexp(1.0, -mantissa)
        self.max = math.ldexp(2.0 - self.eps, bias) if top is None else top
        self.min = -self.max
        self.smallest_normal = self.tiny = math.ldexp(1.0, 1 - bias)
        self.resolution = 10.0**-digits

    def __eq__(self, other: object) -> Any:
        return self.dtype == other.dtype if isinstance(other, finfo) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        fields = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        return f"finfo({', '.join(f'{f}={getattr(self, f):g}' for f in fields)}, dtype={self.dtype})"


class iinfo:
    """Limits of an integer dtype."""

    def __init__(self, dtype: Any) -> None:
        name = _name(dtype)
        if not isinstance(dtype, _C.dtype) or name not in _INTS:
            raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
        signed = not name.startswith(("u", "qu"))
        self.dtype = name
        self.bits = _INTS[name]
        self.min = -(2 ** (self.bits - 1)) if signed else 0
        self.max = 2 ** (self.bits - signed) - 1

    def __eq__(self, other: object) -> Any:
        return self.dtype == other.dtype if isinstance(other, iinfo) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"
