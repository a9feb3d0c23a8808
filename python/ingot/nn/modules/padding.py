# SPDX-License-Identifier: Apache-2.0
"""Padding layers: a mode and a number of dimensions each."""

from __future__ import annotations

from typing import Any

from ingot._C import Tensor
from ingot.nn import functional as F
from ingot.nn._arguments import repeat
from ingot.nn.modules._simple import SimpleModule


class _PadNd(SimpleModule):
    arguments = "padding"
    dims = 0
    mode = "constant"
    value: float | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.padding = repeat(self.padding, 2 * self.dims)

    def forward(self, input: Tensor) -> Tensor:
        if self.mode == "circular" and input.dim() not in (self.dims + 1, self.dims + 2):
            ranks = f"{self.dims + 1}D or {self.dims + 2}D"
            raise ValueError(f"expected {ranks} input (got {input.dim()}D input)")
        return F.pad(input, self.padding, self.mode, self.value)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPadNd(_PadNd):
    arguments = "padding, value"

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    dims = 1


class ConstantPad2d(_ConstantPadNd):
    dims = 2


class ConstantPad3d(_ConstantPadNd):
    dims = 3


class ZeroPad1d(_PadNd):
    dims, value = 1, 0.0


class ZeroPad2d(_PadNd):
    dims, value = 2, 0.0


class ZeroPad3d(_PadNd):
    dims, value = 3, 0.0


class ReflectionPad1d(_PadNd):
    dims, mode = 1, "reflect"


class ReflectionPad2d(_PadNd):
    dims, mode = 2, "reflect"


class ReflectionPad3d(_PadNd):
    dims, mode = 3, "reflect"


class ReplicationPad1d(_PadNd):
    dims, mode = 1, "replicate"


class ReplicationPad2d(_PadNd):
    dims, mode = 2, "replicate"


class ReplicationPad3d(_PadNd):
    dims, mode = 3, "replicate"


class CircularPad1d(_PadNd):
    dims, mode = 1, "circular"


class CircularPad2d(_PadNd):
    dims, mode = 2, "circular"


class CircularPad3d(_PadNd):
    dims, mode = 3, "circular"
