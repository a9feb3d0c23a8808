# SPDX-License-Identifier: Apache-2.0
"""Normalizations of quantized tensors."""

from __future__ import annotations

from typing import Any

import ingot as torch
from ingot.ao.nn.quantized.modules.utils import _output_params

__all__ = ["GroupNorm", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LayerNorm"]


class LayerNorm(torch.nn.LayerNorm):
    def __init__(self, normalized_shape, weight, bias, scale, zero_point, eps=1e-5, elementwise_affine=True,
                 device=None, dtype=None) -> None:  # fmt: skip
        super().__init__(normalized_shape, eps=eps, elementwise_affine=elementwise_affine)
        self.weight = weight
        self.bias = bias
        self.register_buffer("scale", torch.tensor(scale))
        self.register_buffer("zero_point", torch.tensor(zero_point))

    def forward(self, input):
        return torch.ops.quantized.layer_norm(
            input, self.normalized_shape, self.weight, self.bias, self.eps, self.scale, self.zero_point
        )

    def _get_name(self) -> str:
        return "QuantizedLayerNorm"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> LayerNorm:
        scale, zero_point = _output_params(mod.activation_post_process)
        return cls(mod.normalized_shape, mod.weight, mod.bias, scale, zero_point, mod.eps, mod.elementwise_affine)


class GroupNorm(torch.nn.GroupNorm):
    __constants__ = ["num_groups", "num_channels", "eps", "affine"]

    def __init__(self, num_groups, num_channels, weight, bias, scale, zero_point, eps=1e-5, affine=True, device=None,
                 dtype=None) -> None:  # fmt: skip
        super().__init__(num_groups, num_channels, eps, affine)
        self.weight = weight
        self.bias = bias
        self.register_buffer("scale", torch.tensor(scale))
        self.register_buffer("zero_point", torch.tensor(zero_point))

    def forward(self, input):
        return torch.ops.quantized.group_norm(
            input, self.num_groups, self.weight, self.bias, self.eps, self.scale, self.zero_point
        )

    def _get_name(self) -> str:
        return "QuantizedGroupNorm"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> GroupNorm:
        scale, zero_point = _output_params(mod.activation_post_process)
        return cls(mod.num_groups, mod.num_channels, mod.weight, mod.bias, scale, zero_point, mod.eps, mod.affine)


def _instance_norm(base: Any, name: str) -> Any:
    class Norm(base):
        def __init__(self, num_features, weight, bias, scale, zero_point, eps=1e-5, momentum=0.1, affine=False,
                     track_running_stats=False, device=None, dtype=None) -> None:  # fmt: skip
            base.__init__(self, num_features, eps, momentum, affine, track_running_stats)
            self.weight = weight
            self.bias = bias
            self.register_buffer("scale", torch.tensor(scale))
            self.register_buffer("zero_point", torch.tensor(zero_point))

        def forward(self, input):
            return torch.ops.quantized.instance_norm(
                input, self.weight, self.bias, self.eps, self.scale, self.zero_point
            )

        def _get_name(self) -> str:
            return "Quantized" + name

        @classmethod
        def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
            scale, zero_point = _output_params(mod.activation_post_process)
            return cls(mod.num_features, mod.weight, mod.bias, scale, zero_point, mod.eps, mod.affine)

    Norm.__name__ = Norm.__qualname__ = name
    return Norm


InstanceNorm1d = _instance_norm(torch.nn.InstanceNorm1d, "InstanceNorm1d")
InstanceNorm2d = _instance_norm(torch.nn.InstanceNorm2d, "InstanceNorm2d")
InstanceNorm3d = _instance_norm(torch.nn.InstanceNorm3d, "InstanceNorm3d")
