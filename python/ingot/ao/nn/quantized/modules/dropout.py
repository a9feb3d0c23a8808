# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import ingot as torch

__all__ = ["Dropout"]


class Dropout(torch.nn.Dropout):
    """Dropout in inference, which is the identity."""

    def forward(self, input):
        return input

    def _get_name(self) -> str:
        return "QuantizedDropout"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Dropout:
        return cls(mod.p, mod.inplace)
