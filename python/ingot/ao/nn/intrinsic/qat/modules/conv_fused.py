# SPDX-License-Identifier: Apache-2.0
"""Convolutions with batch norms, trained with fake quantization of the folded weight."""

from __future__ import annotations

from typing import Any

import ingot
from ingot import nn
from ingot.ao.nn import intrinsic as nni
from ingot.ao.nn import qat as nnqat
from ingot.nn import functional as F

__all__ = [
    "ConvBn1d", "ConvBn2d", "ConvBn3d", "ConvBnReLU1d", "ConvBnReLU2d", "ConvBnReLU3d", "ConvReLU1d", "ConvReLU2d",
    "ConvReLU3d", "freeze_bn_stats", "update_bn_stats",
]  # fmt: skip

_BATCH_NORMS = {1: nn.BatchNorm1d, 2: nn.BatchNorm2d, 3: nn.BatchNorm3d}
_CONVS = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}


class _ConvBnNd(nni._FusedModule):
    _ND = 0
    _RELU = False
    _FLOAT_MODULE: Any = None
    _version = 2

    def _init(self, in_channels: Any, out_channels: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
              groups: int, bias: Any, padding_mode: str, eps: float, momentum: float, freeze_bn: bool,
              qconfig: Any) -> None:  # fmt: skip
        _CONVS[self._ND].__init__(
            self, in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bool(bias), padding_mode
        )
        assert qconfig, "qconfig must be provided for QAT module"
        self.qconfig = qconfig
        self.freeze_bn = freeze_bn if self.training else True
        self.bn = _BATCH_NORMS[self._ND](out_channels, eps, momentum, True, True)
        self.weight_fake_quant = qconfig.weight()
        self.bn.train(self.training and not freeze_bn)

    def _forward(self, input: Any) -> Any:
        """The weight is rounded with the factor of the batch norm, which is taken back before it."""
        assert self.bn.running_var is not None
        std = ingot.sqrt(self.bn.running_var + self.bn.eps)
        factor = self.bn.weight / std
        ones = [1] * (self._ND + 1)
        weight = self.weight_fake_quant(self.weight * factor.reshape([-1, *ones]))
        out = self._conv_forward(input, weight, None) / factor.reshape([1, -1, *ones[1:]])
        if self.bias is not None:
            out = out + self.bias.reshape([1, -1, *ones[1:]])
        return self.bn(out)

    def forward(self, input):
        out = self._forward(input)
        return F.relu(out) if self._RELU else out

    def reset_running_stats(self) -> None:
        self.bn.reset_running_stats()

    def update_bn_stats(self) -> Any:
        self.freeze_bn = False
        self.bn.training = True
        return self

    def freeze_bn_stats(self) -> Any:
        self.freeze_bn = True
        self.bn.training = False
        return self

    def train(self, mode=True):
        self.training = mode
        if not self.freeze_bn:
            for module in self.children():
                module.train(mode)
        return self

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        assert type(mod) is cls._FLOAT_MODULE, (
            "qat." + cls.__name__ + ".from_float only works for " + cls._FLOAT_MODULE.__name__
        )
        assert getattr(mod, "qconfig", None), "Input float module must have a valid qconfig"
        conv, bn = mod[0], mod[1]
        made = cls(
            conv.in_channels, conv.out_channels, conv.kernel_size, conv.stride, conv.padding, conv.dilation,
            conv.groups, conv.bias is not None, conv.padding_mode, bn.eps, bn.momentum, False, mod.qconfig,
        )  # fmt: skip
        made.weight = conv.weight
        made.bias = conv.bias
        for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
            setattr(made.bn, name, getattr(bn, name))
        return made


def _class(nd: int, relu: bool) -> Any:
    name = f"ConvBn{'ReLU' if relu else ''}{nd}d"

    def init(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=None,
             padding_mode="zeros", eps=1e-05, momentum=0.1, freeze_bn=False, qconfig=None) -> None:  # fmt: skip
        self._init(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, eps,
            momentum, freeze_bn, qconfig,
        )  # fmt: skip

    body = {
        "__init__": init, "_ND": nd, "_RELU": relu, "_FLOAT_MODULE": getattr(nni, name), "__module__": __name__,
        "__doc__": "A convolution, its batch norm" + (" and max(x, 0)." if relu else "."),
    }  # fmt: skip
    return type(name, (_ConvBnNd, _CONVS[nd]), body)


ConvBn1d, ConvBn2d, ConvBn3d = (_class(nd, False) for nd in (1, 2, 3))
ConvBnReLU1d, ConvBnReLU2d, ConvBnReLU3d = (_class(nd, True) for nd in (1, 2, 3))


class ConvReLU1d(nnqat.Conv1d, nni._FusedModule):
    """A convolution and max(x, 0), trained with fake quantization of the weight."""

    _FLOAT_MODULE = nni.ConvReLU1d

    def forward(self, input):
        return F.relu(self._conv_forward(input, self.weight_fake_quant(self.weight), self.bias))


class ConvReLU2d(nnqat.Conv2d, nni._FusedModule):
    _FLOAT_MODULE = nni.ConvReLU2d

    def forward(self, input):
        return F.relu(self._conv_forward(input, self.weight_fake_quant(self.weight), self.bias))


class ConvReLU3d(nnqat.Conv3d, nni._FusedModule):
    _FLOAT_MODULE = nni.ConvReLU3d

    def forward(self, input):
        return F.relu(self._conv_forward(input, self.weight_fake_quant(self.weight), self.bias))


def update_bn_stats(mod: Any) -> None:
    if isinstance(mod, _ConvBnNd):
        mod.update_bn_stats()


def freeze_bn_stats(mod: Any) -> None:
    if isinstance(mod, _ConvBnNd):
        mod.freeze_bn_stats()
