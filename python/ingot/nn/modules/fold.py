# SPDX-License-Identifier: Apache-2.0
"""Sliding blocks as columns, and back."""

from __future__ import annotations

from ingot._C import Tensor
from ingot.nn import functional as F
from ingot.nn.modules._simple import SimpleModule


class Fold(SimpleModule):
    arguments = "output_size, kernel_size, dilation=1, padding=0, stride=1"
    shows = "output_size kernel_size dilation padding stride"

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)


class Unfold(SimpleModule):
    arguments = "kernel_size, dilation=1, padding=0, stride=1"
    shows = "kernel_size dilation padding stride"

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)
