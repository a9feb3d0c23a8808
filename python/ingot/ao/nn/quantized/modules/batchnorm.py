# SPDX-License-Identifier: Apache-2.0
"""Batch norms of quantized tensors, in inference."""

from __future__ import annotations

from typing import Any

import ingot as torch
from ingot.ao.nn import intrinsic as nni
from ingot.ao.nn.quantized.modules.utils import _output_params

__all__ = ["BatchNorm2d", "BatchNorm3d"]


class _BatchNorm(torch.nn.modules.batchnorm._BatchNorm):
    def __init__(self, num_features, eps=1e-5, momentum=0.1, device=None, dtype=None):
        super().__init__(num_features, eps, momentum, True, True)
        self.register_buffer("scale", torch.tensor(1.0))
        self.register_buffer("zero_point", torch.tensor(0))

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        observer = mod.activation_post_process
        if type(mod) in (nni.BNReLU2d, nni.BNReLU3d):
            mod = mod[0]
        scale, zero_point = _output_params(observer)
        made = cls(mod.num_features, mod.eps)
        made.weight = mod.weight
        made.bias = mod.bias
        made.running_mean = mod.running_mean
        made.running_var = mod.running_var
        made.scale = torch.tensor([scale])
        made.zero_point = torch.tensor([zero_point])
        return made


class BatchNorm2d(_BatchNorm):
    def _get_name(self) -> str:
        return "QuantizedBatchNorm2d"

    def _check_input_dim(self, input):
        if len(input.shape) != 4:
            raise ValueError("Input shape must be `(N, C, H, W)`!")

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return torch.ops.quantized.batch_norm2d(
            input,
            self.weight,
            self.bias,
            self.running_mean,
            self.running_var,
            self.eps,
            float(self.scale),
            int(self.zero_point),
        )


class BatchNorm3d(_BatchNorm):
    def _get_name(self) -> str:
        return "QuantizedBatchNorm3d"

    def _check_input_dim(self, input):
        if len(input.shape) != 5:
            raise ValueError("Input shape must be `(N, C, H, W)`!")

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return torch.ops.quantized.batch_norm3d(
            input,
            self.weight,
            self.bias,
            self.running_mean,
            self.running_var,
            self.eps,
            float(self.scale),
            int(self.zero_point),
        )
