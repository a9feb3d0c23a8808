# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import ingot as torch
from ingot.ao.nn import quantized as nnq

__all__ = ["BNReLU2d", "BNReLU3d"]


class BNReLU2d(nnq.BatchNorm2d):
    """A batch norm of quantized tensors, then max(x, 0)."""

    def forward(self, input):
        if len(input.shape) != 4:
            raise ValueError("Input shape must be `(N, C, H, W)`!")
        return torch.ops.quantized.batch_norm2d_relu(
            input,
            self.weight,
            self.bias,
            self.running_mean,
            self.running_var,
            self.eps,
            float(self.scale),
            int(self.zero_point),
        )

    def _get_name(self) -> str:
        return "QuantizedBNReLU2d"


class BNReLU3d(nnq.BatchNorm3d):
    def forward(self, input):
        if len(input.shape) != 5:
            raise ValueError("Input shape must be `(N, C, D, H, W)`!")
        return torch.ops.quantized.batch_norm3d_relu(
            input,
            self.weight,
            self.bias,
            self.running_mean,
            self.running_var,
            self.eps,
            float(self.scale),
            int(self.zero_point),
        )

    def _get_name(self) -> str:
        return "QuantizedBNReLU3d"
