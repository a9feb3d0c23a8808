# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from ingot.ao.nn import intrinsic as nni
from ingot.ao.nn import qat as nnqat
from ingot.nn import functional as F

__all__ = ["LinearReLU"]


class LinearReLU(nnqat.Linear, nni._FusedModule):
    """Linear and max(x, 0), trained with fake quantization of the weight."""

    _FLOAT_MODULE = nni.LinearReLU

    def __init__(self, in_features, out_features, bias=True, qconfig=None) -> None:
        nnqat.Linear.__init__(self, in_features, out_features, bias, qconfig)

    def forward(self, input):
        return F.relu(F.linear(input, self.weight_fake_quant(self.weight), self.bias))
