# SPDX-License-Identifier: Apache-2.0
"""torch.nn.functional for quantized tensors."""

from __future__ import annotations

from typing import Any

import ingot as torch
from ingot import Tensor

__all__ = [
    "adaptive_avg_pool2d", "adaptive_avg_pool3d", "avg_pool2d", "avg_pool3d", "celu", "clamp", "conv1d", "conv2d",
    "conv3d", "elu", "hardsigmoid", "hardswish", "hardtanh", "interpolate", "leaky_relu", "linear", "max_pool1d",
    "max_pool2d", "threshold", "upsample", "upsample_bilinear", "upsample_nearest",
]  # fmt: skip


def _require(input: Tensor, name: str) -> None:
    if not input.is_quantized:
        raise ValueError(f"Input to 'quantized.{name}' must be quantized!")


def _pair(value: Any, n: int) -> list[int]:
    return [value] * n if isinstance(value, int) else list(value)


def avg_pool2d(
    input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
):
    _require(input, "avg_pool2d")
    return torch.nn.functional.avg_pool2d(
        input,
        kernel_size,
        kernel_size if stride is None else stride,
        padding,
        ceil_mode,
        count_include_pad,
        divisor_override,
    )


def avg_pool3d(
    input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
):
    _require(input, "avg_pool3d")
    return torch.nn.functional.avg_pool3d(
        input,
        kernel_size,
        kernel_size if stride is None else stride,
        padding,
        ceil_mode,
        count_include_pad,
        divisor_override,
    )


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    _require(input, "functional.adaptive_avg_pool2d")
    return torch.nn.functional.adaptive_avg_pool2d(input, output_size)


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    _require(input, "functional.adaptive_avg_pool3d")
    return torch.nn.functional.adaptive_avg_pool3d(input, output_size)


def _conv(
    nd: int, input: Tensor, weight: Tensor, bias: Any, geometry: Any, padding_mode: str, scale: float, zero: int
) -> Tensor:
    if padding_mode != "zeros":
        raise NotImplementedError("Only zero-padding is supported!")
    if input.dtype != torch.quint8:
        raise NotImplementedError("Only torch.quint8 is supported for activation tensor!")
    if weight.dtype != torch.qint8:
        raise NotImplementedError("Only torch.qint8 is supported for weight tensor!")
    if input.ndim != nd + 2:
        raise ValueError(f"Input must have {nd + 2} dimensions")
    stride, padding, dilation, groups = geometry
    ops = torch.ops.quantized
    packed = getattr(ops, f"conv{nd}d_prepack")(
        weight, bias, _pair(stride, nd), _pair(padding, nd), _pair(dilation, nd), groups
    )
    return getattr(ops, f"conv{nd}d")(input, packed, scale, zero)


def conv1d(
    input,
    weight,
    bias,
    stride=1,
    padding=0,
    dilation=1,
    groups=1,
    padding_mode="zeros",
    scale=1.0,
    zero_point=0,
    dtype=torch.quint8,
):
    return _conv(1, input, weight, bias, (stride, padding, dilation, groups), padding_mode, scale, zero_point)


def conv2d(
    input,
    weight,
    bias,
    stride=1,
    padding=0,
    dilation=1,
    groups=1,
    padding_mode="zeros",
    scale=1.0,
    zero_point=0,
    dtype=torch.quint8,
):
    return _conv(2, input, weight, bias, (stride, padding, dilation, groups), padding_mode, scale, zero_point)


def conv3d(
    input,
    weight,
    bias,
    stride=1,
    padding=0,
    dilation=1,
    groups=1,
    padding_mode="zeros",
    scale=1.0,
    zero_point=0,
    dtype=torch.quint8,
):
    return _conv(3, input, weight, bias, (stride, padding, dilation, groups), padding_mode, scale, zero_point)


def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    _require(input, "interpolate")
    return torch.nn.functional.interpolate(input, size, scale_factor, mode, align_corners)


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None, scale: float | None = None,
           zero_point: int | None = None) -> Tensor:  # fmt: skip
    scale = input.q_scale() if scale is None else scale
    zero_point = input.q_zero_point() if zero_point is None else zero_point
    return torch.ops.quantized.linear(input, torch.ops.quantized.linear_prepack(weight, bias), scale, zero_point)


def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    if return_indices:
        raise NotImplementedError("return_indices is not yet implemented!")
    return torch.nn.functional.max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode=ceil_mode)


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    if return_indices:
        raise NotImplementedError("return_indices is not yet implemented!")
    return torch.nn.functional.max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode=ceil_mode)


def celu(input: Tensor, scale: float, zero_point: int, alpha: float = 1.0) -> Tensor:
    _require(input, "celu")
    return torch.ops.quantized.celu(input, scale, zero_point, alpha)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False, scale: float | None = None,
               zero_point: int | None = None) -> Tensor:  # fmt: skip
    if scale is not None and zero_point is not None:
        assert not inplace, "Cannot rescale with `inplace`"
        return torch.ops.quantized.leaky_relu(input, negative_slope, False, scale, zero_point)
    return torch.nn.functional.leaky_relu(input, negative_slope, inplace)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    _require(input, "hardtanh")
    return torch.nn.functional.hardtanh(input, min_val, max_val, inplace)


def hardswish(input: Tensor, scale: float, zero_point: int) -> Tensor:
    _require(input, "hardswish")
    return torch.ops.quantized.hardswish(input, scale, zero_point)


def threshold(input: Tensor, threshold: float, value: float) -> Tensor:
    _require(input, "threshold")
    return torch.ops.quantized.threshold(input, threshold, value)


def elu(input: Tensor, scale: float, zero_point: int, alpha: float = 1.0) -> Tensor:
    _require(input, "elu")
    return torch.ops.quantized.elu(input, scale, zero_point, alpha)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    _require(input, "hardsigmoid")
    return torch.nn.functional.hardsigmoid(input, inplace)


def clamp(input: Tensor, min_: float, max_: float) -> Tensor:
    _require(input, "clamp")
    return torch.clamp(input, min_, max_)


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_bilinear(input, size=None, scale_factor=None):
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def upsample_nearest(input, size=None, scale_factor=None):
    return interpolate(input, size, scale_factor, mode="nearest")
