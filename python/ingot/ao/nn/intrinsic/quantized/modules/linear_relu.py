# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import ingot as torch
from ingot.ao.nn import intrinsic as nni
from ingot.ao.nn import quantized as nnq

__all__ = ["LinearLeakyReLU", "LinearReLU", "LinearTanh"]


class LinearReLU(nnq.Linear):
    """A linear layer of quantized tensors, then max(x, 0)."""

    _FLOAT_MODULE = nni.LinearReLU

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.quantized.linear_relu(x, self._packed_params._packed_params, self.scale, self.zero_point)

    def _get_name(self) -> str:
        return "QuantizedLinearReLU"


class LinearLeakyReLU(nnq.Linear):
    _FLOAT_MODULE = nni.LinearLeakyReLU

    def __init__(self, in_features, out_features, negative_slope=0.01, bias=True, dtype=torch.qint8):
        super().__init__(in_features, out_features, bias, dtype)
        self.negative_slope = negative_slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.quantized.linear_leaky_relu(
            x, self._packed_params._packed_params, self.scale, self.zero_point, self.negative_slope
        )

    def _get_name(self) -> str:
        return "QuantizedLinearLeakyReLU"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        slope = mod[1].negative_slope
        made = super().from_float(mod)
        made.negative_slope = slope
        return made


class LinearTanh(nnq.Linear):
    _FLOAT_MODULE = nni.LinearTanh

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.quantized.linear_tanh(x, self._packed_params._packed_params, self.scale, self.zero_point)

    def _get_name(self) -> str:
        return "QuantizedLinearTanh"
