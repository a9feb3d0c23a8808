# SPDX-License-Identifier: Apache-2.0
"""Questions about settings of quantization."""

from __future__ import annotations

import warnings
from typing import Any

import ingot

__all__ = [
    "activation_dtype", "activation_is_dynamically_quantized", "activation_is_statically_quantized",
    "calculate_qmin_qmax", "check_min_max_valid", "get_qparam_dict", "has_no_children_ignoring_parametrizations",
    "is_per_channel", "is_per_tensor", "to_underlying_dtype", "validate_qmin_qmax", "weight_dtype",
    "weight_is_quantized", "get_swapped_custom_module_class", "getattr_from_fqn", "get_combined_dict",
]  # fmt: skip

_PER_TENSOR = (ingot.per_tensor_affine, ingot.per_tensor_symmetric)
_PER_CHANNEL = (ingot.per_channel_affine, ingot.per_channel_affine_float_qparams, ingot.per_channel_symmetric)


def is_per_tensor(qscheme: Any) -> bool:
    return qscheme in _PER_TENSOR


def is_per_channel(qscheme: Any) -> bool:
    return qscheme in _PER_CHANNEL


def get_combined_dict(default_dict: dict[Any, Any], additional_dict: dict[Any, Any]) -> dict[Any, Any]:
    return {**default_dict, **additional_dict}


def getattr_from_fqn(obj: Any, fqn: str) -> Any:
    """The attribute with a dotted name."""
    for name in fqn.split("."):
        obj = getattr(obj, name)
    return obj


def to_underlying_dtype(qdtype: Any) -> Any:
    """The integers that a quantized dtype is made of."""
    found = {ingot.quint8: ingot.uint8, ingot.qint8: ingot.int8, ingot.qint32: ingot.int32}.get(qdtype, qdtype)
    if found.is_floating_point or found.is_complex:
        raise AssertionError(f"Unsupported dtype: {qdtype}")
    return found


def activation_dtype(qconfig: Any) -> Any:
    return qconfig.activation().dtype


def weight_dtype(qconfig: Any) -> Any:
    return qconfig.weight().dtype


_INTEGERS = (
    ingot.quint8, ingot.qint8, ingot.qint32, ingot.uint8, ingot.int8, ingot.int16, ingot.int32,
    ingot.float8_e5m2, ingot.float8_e4m3fn,
)  # fmt: skip


def activation_is_statically_quantized(qconfig: Any) -> bool:
    observer = qconfig.activation()
    return observer.dtype in (*_INTEGERS, ingot.float16) and not getattr(observer, "is_dynamic", False)


def activation_is_dynamically_quantized(qconfig: Any) -> bool:
    return bool(getattr(qconfig.activation(), "is_dynamic", False))


def weight_is_quantized(qconfig: Any) -> bool:
    return weight_dtype(qconfig) in (*_INTEGERS, ingot.float16)


def get_swapped_custom_module_class(custom_module: Any, custom_module_class_mapping: Any, qconfig: Any) -> Any:
    kind = "dynamic" if activation_is_dynamically_quantized(qconfig) else "static"
    return custom_module_class_mapping[kind][type(custom_module)]


def get_qparam_dict(observer_or_fake_quant: Any) -> dict[str, Any]:
    """Scheme, dtype, scale and zero point of an observer."""
    scheme = getattr(observer_or_fake_quant, "qscheme", None)
    found = {"qscheme": scheme, "dtype": observer_or_fake_quant.dtype}
    if scheme in (ingot.per_tensor_symmetric, ingot.per_channel_symmetric):
        affine = scheme is ingot.per_tensor_symmetric
        found["qscheme"] = ingot.per_tensor_affine if affine else ingot.per_channel_affine
    if scheme is None or is_per_tensor(scheme):
        found["qscheme"] = ingot.per_tensor_affine
    elif is_per_channel(scheme):
        found["axis"] = observer_or_fake_quant.ch_axis
    scale, zero_point = observer_or_fake_quant.calculate_qparams()
    return {**found, "scale": scale, "zero_point": zero_point}


def check_min_max_valid(min_val: Any, max_val: Any) -> bool:
    """Were there values, and is no minimum above its maximum?"""
    if min_val.numel() == 0 or max_val.numel() == 0:
        warnings.warn(
            "must run observer before calling calculate_qparams. " + "Returning default values.", stacklevel=2
        )
        return False
    if min_val.dim() == 0 or max_val.dim() == 0:
        if min_val == float("inf") and max_val == float("-inf"):
            warnings.warn(
                "must run observer before calling calculate_qparams. " + "Returning default values.", stacklevel=2
            )
            return False
        assert min_val <= max_val, f"min {min_val} should be less than max {max_val}"
    else:
        assert ingot.all(min_val <= max_val), f"min {min_val} should be less than max {max_val}"
    return True


_RANGES = {
    ingot.qint8: (-128, 127), ingot.int8: (-128, 127), ingot.quint8: (0, 255), ingot.uint8: (0, 255),
    ingot.qint32: (-(2**31), 2**31 - 1), ingot.int32: (-(2**31), 2**31 - 1), ingot.int16: (-(2**15), 2**15 - 1),
}  # fmt: skip


def calculate_qmin_qmax(
    quant_min: int | None, quant_max: int | None, has_customized_qrange: bool, dtype: Any, reduce_range: bool
) -> tuple[int, int]:
    """The integers that are used: a given range, or that of the dtype; half of it for reduce_range."""
    if not has_customized_qrange:
        low, high = _RANGES[dtype]
        if reduce_range and high - low == 255:
            low, high = (-64, 63) if low else (0, 127)
        return low, high
    low, high = int(quant_min or 0), int(quant_max or 0)
    size = high - low + 1
    wide = dtype in (ingot.qint32, ingot.int32)
    if wide:
        assert 0 < size <= 2**32, (
            "quantization range should be positive and not exceed the maximum bit range (=4294967296)."
        )
    else:
        assert 0 < size <= 256, "quantization range should be positive and not exceed the maximum bit range (=256)."
    if reduce_range:
        low, high = low // 2, high // 2
    return low, high


def validate_qmin_qmax(quant_min: int, quant_max: int) -> None:
    assert quant_min <= 0 <= quant_max, "Used-specified quantization range must include 0."
    assert quant_min < quant_max, "qmin must be strictly less than qmax for user-specified quantization range."


def has_no_children_ignoring_parametrizations(module: Any) -> bool:
    children = module._modules
    return len(children) == 0 or (len(children) == 1 and "parametrizations" in children)
