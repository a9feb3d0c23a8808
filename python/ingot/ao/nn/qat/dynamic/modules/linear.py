# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

from ingot.ao.nn import qat

__all__ = ["Linear"]


class Linear(qat.Linear):
    """Trained with fake quantization of its weight; activations are quantized by every call."""

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, qconfig: Any = None, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(in_features, out_features, bias, qconfig, device, dtype)
        if not qconfig.activation().is_dynamic:
            raise ValueError(
                "Dynamic QAT requires a memoryless observer."
                "This means a MovingAverage observer with averaging constant equal to 1"
            )
