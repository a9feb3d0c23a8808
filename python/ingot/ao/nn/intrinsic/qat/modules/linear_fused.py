# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import ingot
from ingot import nn
from ingot.ao.nn import intrinsic as nni
from ingot.nn import functional as F

__all__ = ["LinearBn1d"]


class LinearBn1d(nn.modules.linear.Linear, nni._FusedModule):
    """Linear and batch norm: the weight is rounded as it is after folding."""

    _FLOAT_MODULE = nni.LinearBn1d

    def __init__(self, in_features, out_features, bias=True, eps=1e-05, momentum=0.1, freeze_bn=False,
                 qconfig=None) -> None:  # fmt: skip
        nn.modules.linear.Linear.__init__(self, in_features, out_features, bias)
        assert qconfig, "qconfig must be provided for QAT module"
        self.qconfig = qconfig
        self.freeze_bn = freeze_bn if self.training else True
        self.bn = nn.BatchNorm1d(out_features, eps, momentum, True, True)
        self.weight_fake_quant = qconfig.weight()
        self.bn.train(not self.freeze_bn and self.training)

    def forward(self, input):
        std = ingot.sqrt(self.bn.running_var + self.bn.eps)
        factor = self.bn.weight / std
        weight = self.weight_fake_quant(self.weight * factor.reshape(-1, 1))
        out = F.linear(input, weight, None) / factor.reshape(1, -1)
        if self.bias is not None:
            out = out + self.bias.reshape(1, -1)
        return self.bn(out)

    def train(self, mode=True):
        self.training = mode
        if not self.freeze_bn:
            for module in self.children():
                module.train(mode)
        return self

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        assert type(mod) is nni.LinearBn1d, "qat." + cls.__name__ + ".from_float only works for LinearBn1d"
        linear, bn = mod[0], mod[1]
        made = cls(
            linear.in_features, linear.out_features, linear.bias is not None, bn.eps, bn.momentum, False, mod.qconfig
        )
        made.weight = linear.weight
        made.bias = linear.bias
        for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
            setattr(made.bn, name, getattr(bn, name))
        return made
