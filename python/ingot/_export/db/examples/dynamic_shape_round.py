# SPDX-License-Identifier: Apache-2.0
import ingot as torch
from ingot._export.db.case import SupportLevel
from ingot.export import Dim


class DynamicShapeRound(torch.nn.Module):
    """round() of a size that is dynamic: what it says about the size cannot be solved."""

    def forward(self, x):
        return x[: round(x.shape[0] / 2)]


example_args = (torch.randn(3, 2),)
tags = {"python.builtin", "torch.dynamic-shape"}
support_level = SupportLevel.NOT_SUPPORTED_YET
dynamic_shapes = {"x": {0: Dim("dim0_x")}}
model = DynamicShapeRound()
