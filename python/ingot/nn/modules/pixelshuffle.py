# SPDX-License-Identifier: Apache-2.0
"""Channels to space and back."""

from __future__ import annotations

from ingot._C import Tensor
from ingot.nn import functional as F
from ingot.nn.modules._simple import SimpleModule


class PixelShuffle(SimpleModule):
    arguments, shows = "upscale_factor", "upscale_factor"

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(SimpleModule):
    arguments, shows = "downscale_factor", "downscale_factor"

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)
