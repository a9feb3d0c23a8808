# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import ingot as torch
from ingot.ao.nn import intrinsic as nni
from ingot.ao.nn import quantized as nnq
from ingot.ao.nn.quantized.modules.conv import _reverse_repeat_padding

__all__ = ["ConvReLU1d", "ConvReLU2d", "ConvReLU3d"]


def _fold(mod: Any, trained: Any) -> None:
    """The batch norm of a trained module becomes part of its convolution."""
    if type(mod) is trained:
        from ingot.nn.utils.fusion import fuse_conv_bn_weights

        assert mod.bn.running_var is not None and mod.bn.running_mean is not None
        mod.weight, mod.bias = fuse_conv_bn_weights(
            mod.weight, mod.bias, mod.bn.running_mean, mod.bn.running_var, mod.bn.eps, mod.bn.weight, mod.bn.bias
        )


class ConvReLU1d(nnq.Conv1d):
    """A convolution of quantized tensors, then max(x, 0)."""

    _FLOAT_MODULE = nni.ConvReLU1d

    def forward(self, input):
        if len(input.shape) != 3:
            raise ValueError("Input shape must be `(N, C, L)`!")
        if self.padding_mode != "zeros":
            input = torch.nn.functional.pad(input, _reverse_repeat_padding(self.padding[:1]), mode=self.padding_mode)
        return torch.ops.quantized.conv1d_relu(input, self._packed_params, self.scale, self.zero_point)

    def _get_name(self) -> str:
        return "QuantizedConvReLU1d"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        from ingot.ao.nn.intrinsic import qat as nniqat

        _fold(mod, nniqat.ConvBnReLU1d)
        return super().from_float(mod)


class ConvReLU2d(nnq.Conv2d):
    _FLOAT_MODULE = nni.ConvReLU2d

    def forward(self, input):
        if len(input.shape) != 4:
            raise ValueError("Input shape must be `(N, C, H, W)`!")
        if self.padding_mode != "zeros":
            input = torch.nn.functional.pad(input, _reverse_repeat_padding(self.padding), mode=self.padding_mode)
        return torch.ops.quantized.conv2d_relu(input, self._packed_params, self.scale, self.zero_point)

    def _get_name(self) -> str:
        return "QuantizedConvReLU2d"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        from ingot.ao.nn.intrinsic import qat as nniqat

        _fold(mod, nniqat.ConvBnReLU2d)
        return super().from_float(mod)


class ConvReLU3d(nnq.Conv3d):
    _FLOAT_MODULE = nni.ConvReLU3d

    def forward(self, input):
        if len(input.shape) != 5:
            raise ValueError("Input shape must be `(N, C, D, H, W)`!")
        return torch.ops.quantized.conv3d_relu(input, self._packed_params, self.scale, self.zero_point)

    def _get_name(self) -> str:
        return "QuantizedConvReLU3d"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        from ingot.ao.nn.intrinsic import qat as nniqat

        _fold(mod, nniqat.ConvBnReLU3d)
        return super().from_float(mod)
