# SPDX-License-Identifier: Apache-2.0
import ingot as torch


class DynamicShapeSlicing(torch.nn.Module):
    """Sizes as ends and steps of slices."""

    def forward(self, x):
        return x[: x.shape[0] - 2, x.shape[1] - 1 :: 2]


example_args = (torch.randn(3, 2),)
tags = {"torch.dynamic-shape"}
model = DynamicShapeSlicing()
