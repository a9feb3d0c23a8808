# SPDX-License-Identifier: Apache-2.0
"""Convolutions with quantized weights of numbers that are quantized by every call."""

from __future__ import annotations

import ingot as torch
from ingot import Tensor, nn
from ingot.ao.nn.quantized.modules import conv as _static

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]


def _padded(self, input: Tensor) -> Tensor:
    """The image with what the kernel does not add itself."""
    if self.padding_mode == "zeros":
        return input
    return nn.functional.pad(input, _static._reverse_repeat_padding(self.padding), mode=self.padding_mode)


def _check(input: Tensor, shape: str, dims: int) -> None:
    if len(input.shape) != dims:
        raise ValueError(f"Input shape must be `{shape}`!")


class Conv1d(_static.Conv1d):
    def _get_name(self) -> str:
        return "DynamicQuantizedConv1d"

    def forward(self, input: Tensor, reduce_range: bool = True) -> Tensor:
        _check(input, "(N, C, L)", 3)
        return torch.ops.quantized.conv1d_dynamic(_padded(self, input), self._packed_params, reduce_range)


class Conv2d(_static.Conv2d):
    def _get_name(self) -> str:
        return "DynamicQuantizedConv2d"

    def forward(self, input: Tensor, reduce_range: bool = True) -> Tensor:
        _check(input, "(N, C, H, W)", 4)
        return torch.ops.quantized.conv2d_dynamic(_padded(self, input), self._packed_params, reduce_range)


class Conv3d(_static.Conv3d):
    def _get_name(self) -> str:
        return "DynamicQuantizedConv3d"

    def forward(self, input: Tensor, reduce_range: bool = True) -> Tensor:
        _check(input, "(N, C, D, H, W)", 5)
        return torch.ops.quantized.conv3d_dynamic(_padded(self, input), self._packed_params, reduce_range)


class ConvTranspose1d(_static.ConvTranspose1d):
    def _get_name(self) -> str:
        return "DynamicQuantizedConvTranspose1d"

    def forward(self, input: Tensor, reduce_range: bool = True) -> Tensor:
        _check(input, "(N, C, L)", 3)
        return torch.ops.quantized.conv_transpose1d_dynamic(input, self._packed_params, reduce_range)


class ConvTranspose2d(_static.ConvTranspose2d):
    def _get_name(self) -> str:
        return "DynamicQuantizedConvTranspose2d"

    def forward(self, input: Tensor, reduce_range: bool = True) -> Tensor:
        _check(input, "(N, C, H, W)", 4)
        return torch.ops.quantized.conv_transpose2d_dynamic(input, self._packed_params, reduce_range)


class ConvTranspose3d(_static.ConvTranspose3d):
    def _get_name(self) -> str:
        return "DynamicQuantizedConvTranspose3d"

    def forward(self, input: Tensor, reduce_range: bool = True) -> Tensor:
        _check(input, "(N, C, T, H, W)", 5)
        return torch.ops.quantized.conv_transpose3d_dynamic(input, self._packed_params, reduce_range)
