# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

from ingot import nn
from ingot.ao.nn.intrinsic import _FusedModule

__all__ = ["Conv1d", "Conv2d", "Conv3d"]


class _ConvNd:
    """A convolution whose weight is rounded as quantization would round it."""

    _FLOAT_MODULE: Any = None
    _FLOAT_CONV_MODULE: Any = None

    def forward(self, input):
        return self._conv_forward(input, self.weight_fake_quant(self.weight), self.bias)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        assert type(mod) is cls._FLOAT_MODULE, (
            "qat." + cls.__name__ + ".from_float only works for " + cls._FLOAT_MODULE.__name__
        )
        assert getattr(mod, "qconfig", None), "Input float module must have a valid qconfig"
        qconfig = mod.qconfig
        if isinstance(mod, _FusedModule):
            mod = mod[0]
        made = cls(
            mod.in_channels, mod.out_channels, mod.kernel_size, stride=mod.stride, padding=mod.padding,
            dilation=mod.dilation, groups=mod.groups, bias=mod.bias is not None, padding_mode=mod.padding_mode,
            qconfig=qconfig,
        )  # fmt: skip
        made.weight = mod.weight
        made.bias = mod.bias
        return made

    def to_float(self):
        made = self._FLOAT_CONV_MODULE(
            self.in_channels, self.out_channels, self.kernel_size, self.stride, self.padding, self.dilation,
            self.groups, self.bias is not None, self.padding_mode,
        )  # fmt: skip
        made.weight = nn.Parameter(self.weight.detach())
        if self.bias is not None:
            made.bias = nn.Parameter(self.bias.detach())
        made.train(self.training)
        return made


class Conv1d(_ConvNd, nn.Conv1d):
    _FLOAT_MODULE: Any = nn.Conv1d
    _FLOAT_CONV_MODULE = nn.Conv1d

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
                 padding_mode="zeros", qconfig=None, device=None, dtype=None) -> None:  # fmt: skip
        nn.Conv1d.__init__(
            self, in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode
        )
        assert qconfig, "qconfig must be provided for QAT module"
        self.qconfig = qconfig
        self.weight_fake_quant = qconfig.weight()


class Conv2d(_ConvNd, nn.Conv2d):
    _FLOAT_MODULE: Any = nn.Conv2d
    _FLOAT_CONV_MODULE = nn.Conv2d

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
                 padding_mode="zeros", qconfig=None, device=None, dtype=None) -> None:  # fmt: skip
        nn.Conv2d.__init__(
            self, in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode
        )
        assert qconfig, "qconfig must be provided for QAT module"
        self.qconfig = qconfig
        self.weight_fake_quant = qconfig.weight()


class Conv3d(_ConvNd, nn.Conv3d):
    _FLOAT_MODULE: Any = nn.Conv3d
    _FLOAT_CONV_MODULE = nn.Conv3d

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
                 padding_mode="zeros", qconfig=None, device=None, dtype=None) -> None:  # fmt: skip
        nn.Conv3d.__init__(
            self, in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode
        )
        assert qconfig, "qconfig must be provided for QAT module"
        self.qconfig = qconfig
        self.weight_fake_quant = qconfig.weight()
