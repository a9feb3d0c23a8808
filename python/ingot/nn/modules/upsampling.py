# SPDX-License-Identifier: Apache-2.0
"""Upsampling."""

from __future__ import annotations

from typing import Any

from ingot.nn.modules._simple import SimpleModule


class Upsample(SimpleModule):
    arguments = "size=None, scale_factor=None, mode='nearest', align_corners=None, recompute_scale_factor=None"
    function = "interpolate"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.name = type(self).__name__
        scale = self.scale_factor
        if isinstance(scale, (tuple, list)):
            self.scale_factor = tuple(float(s) for s in scale)
        else:
            self.scale_factor = float(scale) if scale else None

    def extra_repr(self) -> str:
        how = f"size={self.size!r}" if self.scale_factor is None else f"scale_factor={self.scale_factor!r}"
        return f"{how}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
