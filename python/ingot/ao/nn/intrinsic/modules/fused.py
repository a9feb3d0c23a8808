# SPDX-License-Identifier: Apache-2.0
"""Modules that are quantized together: sequences that compute what their parts compute."""

from __future__ import annotations

from typing import Any

from ingot.nn import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    Conv1d,
    Conv2d,
    Conv3d,
    LeakyReLU,
    Linear,
    ReLU,
    Sequential,
    Tanh,
)  # fmt: skip

__all__ = [
    "BNReLU2d", "BNReLU3d", "ConvAdd2d", "ConvAddReLU2d", "ConvBn1d", "ConvBn2d", "ConvBn3d", "ConvBnReLU1d",
    "ConvBnReLU2d", "ConvBnReLU3d", "ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "LinearBn1d", "LinearLeakyReLU",
    "LinearReLU", "LinearTanh",
]  # fmt: skip


class _FusedModule(Sequential):
    _parts: tuple[Any, ...] = ()

    def __init__(self, *modules: Any) -> None:
        ok = len(modules) == len(self._parts)
        ok = ok and all(type(m) is part for m, part in zip(modules, self._parts))
        assert ok, f"Incorrect types for input modules{''.join(str(type(m)) for m in modules)}"
        super().__init__(*modules)


class ConvReLU1d(_FusedModule):
    _parts = (Conv1d, ReLU)


class ConvReLU2d(_FusedModule):
    _parts = (Conv2d, ReLU)


class ConvReLU3d(_FusedModule):
    _parts = (Conv3d, ReLU)


class LinearReLU(_FusedModule):
    _parts = (Linear, ReLU)


class ConvBn1d(_FusedModule):
    _parts = (Conv1d, BatchNorm1d)


class ConvBn2d(_FusedModule):
    _parts = (Conv2d, BatchNorm2d)


class ConvBn3d(_FusedModule):
    _parts = (Conv3d, BatchNorm3d)


class ConvBnReLU1d(_FusedModule):
    _parts = (Conv1d, BatchNorm1d, ReLU)


class ConvBnReLU2d(_FusedModule):
    _parts = (Conv2d, BatchNorm2d, ReLU)


class ConvBnReLU3d(_FusedModule):
    _parts = (Conv3d, BatchNorm3d, ReLU)


class BNReLU2d(_FusedModule):
    _parts = (BatchNorm2d, ReLU)


class BNReLU3d(_FusedModule):
    _parts = (BatchNorm3d, ReLU)


class LinearBn1d(_FusedModule):
    _parts = (Linear, BatchNorm1d)


class LinearLeakyReLU(_FusedModule):
    _parts = (Linear, LeakyReLU)


class LinearTanh(_FusedModule):
    _parts = (Linear, Tanh)


class ConvAdd2d(_FusedModule):
    """A convolution, and the sum of its result with a second input."""

    def __init__(self, conv: Any, add: Any) -> None:
        Sequential.__init__(self, conv)
        self.add = add

    def forward(self, x1, x2):
        return self.add(self[0](x1), x2)


class ConvAddReLU2d(_FusedModule):
    def __init__(self, conv: Any, add: Any, relu: Any) -> None:
        Sequential.__init__(self, conv)
        self.add = add
        self.relu = relu

    def forward(self, x1, x2):
        return self.relu(self.add(self[0](x1), x2))
