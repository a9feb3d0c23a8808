# SPDX-License-Identifier: Apache-2.0
"""Groups of dtypes by which tests are parametrized."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from ingot import _C

__all__ = ["all_types", "complex_types", "floating_types", "integral_types"]

_FLOATING = (_C.float32, _C.float64)
_HALF = (_C.float16, _C.bfloat16)
_COMPLEX = (_C.complex64, _C.complex128)
_INTEGRAL = (_C.uint8, _C.int8, _C.int16, _C.int32, _C.int64)


def _validate_dtypes(*dtypes: Any) -> tuple[Any, ...]:
    if not all(isinstance(d, _C.dtype) for d in dtypes):
        raise AssertionError
    return dtypes


class _dispatch_dtypes(tuple):  # noqa: N801 (PyTorch's name)
    """A tuple of dtypes to which others can be added."""

    __slots__ = ()

    def __add__(self, other: Any) -> _dispatch_dtypes:
        if not isinstance(other, tuple):
            raise AssertionError
        return _dispatch_dtypes(tuple.__add__(self, other))


def _group(*parts: Iterable[Any]) -> _dispatch_dtypes:
    return _dispatch_dtypes(d for part in parts for d in part)


def _constant(group: _dispatch_dtypes) -> Callable[[], _dispatch_dtypes]:
    return lambda: group


def _with(group: _dispatch_dtypes) -> Callable[..., _dispatch_dtypes]:
    return lambda *dtypes: group + _validate_dtypes(*dtypes)


empty_types = _constant(_group())
floating_types = _constant(_group(_FLOATING))
floating_types_and_half = _constant(_group(_FLOATING, (_C.float16,)))
floating_types_and = _with(floating_types())
floating_and_complex_types = _constant(_group(_FLOATING, _COMPLEX))
floating_and_complex_types_and = _with(floating_and_complex_types())
double_types = _constant(_group((_C.float64, _C.complex128)))
integral_types = _constant(_group(_INTEGRAL))
integral_types_and = _with(integral_types())
all_types = _constant(_group(_FLOATING, _INTEGRAL))
all_types_and = _with(all_types())
all_types_and_half = _constant(_group(_FLOATING, _INTEGRAL, (_C.float16,)))
complex_types = _constant(_group(_COMPLEX))
complex_types_and = _with(complex_types())
all_types_and_complex = _constant(_group(_FLOATING, _INTEGRAL, _COMPLEX))
all_types_and_complex_and = _with(all_types_and_complex())


def custom_types(*dtypes: Any) -> _dispatch_dtypes:
    """The given dtypes."""
    return empty_types() + _validate_dtypes(*dtypes)


def get_all_dtypes(
    include_half: bool = True,
    include_bfloat16: bool = True,
    include_bool: bool = True,
    include_complex: bool = True,
    include_complex32: bool = False,
    include_qint: bool = False,
) -> list[Any]:
    found = [*get_all_int_dtypes(), *get_all_fp_dtypes(include_half, include_bfloat16)]
    found += [_C.bool] if include_bool else []
    found += list(_COMPLEX) if include_complex else []
    found += get_all_qint_dtypes() if include_qint else []
    return found


def get_all_math_dtypes(device: str) -> list[Any]:
    on_cpu = str(device).startswith("cpu")
    return get_all_int_dtypes() + get_all_fp_dtypes(not on_cpu, False) + get_all_complex_dtypes()


def get_all_complex_dtypes(include_complex32: bool = False) -> list[Any]:
    return list(_COMPLEX)


def get_all_int_dtypes() -> list[Any]:
    return list(_INTEGRAL)


def get_all_fp_dtypes(include_half: bool = True, include_bfloat16: bool = True) -> list[Any]:
    return [*_FLOATING, *(_HALF[:1] if include_half else ()), *(_HALF[1:] if include_bfloat16 else ())]


def get_all_qint_dtypes() -> list[Any]:
    return [_C.qint8, _C.quint8, _C.qint32]


float_to_corresponding_complex_type_map = {_C.float16: getattr(_C, "complex32", None), _C.float32: _C.complex64,
                                           _C.float64: _C.complex128}  # fmt: skip


@functools.cache
def highest_precision_float(device: Any) -> Any:
    """The widest floating-point dtype of a device."""
    return _C.float64
