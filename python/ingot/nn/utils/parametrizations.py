# SPDX-License-Identifier: Apache-2.0
"""Ready-made parametrizations."""

from __future__ import annotations

from ingot._C import Tensor
from ingot.nn.modules.module import Module
from ingot.nn.utils import parametrize
from ingot.nn.utils.weight_norm import norm_except_dim


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_v * (weight_g / norm_except_dim(weight_v, 2, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """weight = g * v / |v|, with g and v as the parameters."""
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
    return module
