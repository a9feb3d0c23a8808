# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import ingot as torch
from ingot.ao.nn import intrinsic as nni
from ingot.ao.nn import quantized as nnq

__all__ = ["ConvAdd2d", "ConvAddReLU2d"]


class ConvAdd2d(nnq.Conv2d):
    """A convolution of quantized tensors plus a second tensor."""

    _FLOAT_MODULE = nni.ConvAdd2d

    def forward(self, input, extra_input):
        if len(input.shape) != 4:
            raise ValueError("Input shape must be `(N, C, H, W)`!")
        return torch.ops.quantized.conv2d_add(input, extra_input, self._packed_params, self.scale, self.zero_point)

    def _get_name(self) -> str:
        return "QuantizedConvAdd2d"


class ConvAddReLU2d(nnq.Conv2d):
    _FLOAT_MODULE = nni.ConvAddReLU2d

    def forward(self, input, extra_input):
        if len(input.shape) != 4:
            raise ValueError("Input shape must be `(N, C, H, W)`!")
        return torch.ops.quantized.conv2d_add_relu(input, extra_input, self._packed_params, self.scale, self.zero_point)

    def _get_name(self) -> str:
        return "QuantizedConvAddReLU2d"
