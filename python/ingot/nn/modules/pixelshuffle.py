# SPDX-License-Identifier: Apache-2.0
"""Rearranges channels into space, and back."""

from __future__ import annotations

from ingot.nn.modules._simple import SimpleModule


class PixelShuffle(SimpleModule):
    arguments = shows = "upscale_factor"
    function = "pixel_shuffle"


class PixelUnshuffle(SimpleModule):
    arguments = shows = "downscale_factor"
    function = "pixel_unshuffle"
