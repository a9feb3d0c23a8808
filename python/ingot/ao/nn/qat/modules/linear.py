# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

from ingot import nn
from ingot.ao.nn.intrinsic import LinearReLU

__all__ = ["Linear"]


class Linear(nn.Linear):
    """A linear layer whose weight is rounded as quantization would round it."""

    _FLOAT_MODULE: Any = nn.Linear

    def __init__(self, in_features, out_features, bias=True, qconfig=None, device=None, dtype=None) -> None:
        super().__init__(in_features, out_features, bias, device=device, dtype=dtype)
        assert qconfig, "qconfig must be provided for QAT module"
        self.qconfig = qconfig
        self.weight_fake_quant = qconfig.weight()

    def forward(self, input):
        return nn.functional.linear(input, self.weight_fake_quant(self.weight), self.bias)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        assert type(mod) in (cls._FLOAT_MODULE, nn.modules.linear.NonDynamicallyQuantizableLinear, LinearReLU), (
            " qat." + cls.__name__ + ".from_float only works for " + cls._FLOAT_MODULE.__name__
        )
        assert mod.qconfig, "Input float module must have a valid qconfig"
        qconfig = mod.qconfig
        if type(mod) is LinearReLU:
            mod = mod[0]
        made = cls(mod.in_features, mod.out_features, bias=mod.bias is not None, qconfig=qconfig)
        made.weight = mod.weight
        made.bias = mod.bias
        return made

    def to_float(self):
        made = nn.Linear(self.in_features, self.out_features, self.bias is not None)
        made.weight = nn.Parameter(self.weight.detach())
        if self.bias is not None:
            made.bias = nn.Parameter(self.bias.detach())
        made.train(self.training)
        return made
