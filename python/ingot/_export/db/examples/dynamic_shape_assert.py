# SPDX-License-Identifier: Apache-2.0
import ingot as torch


class DynamicShapeAssert(torch.nn.Module):
    """Assertions on sizes that are known at capture leave nothing behind, with and without a message."""

    def forward(self, x):
        assert x.shape[0] > 2, f"{x.shape[0]} greater than 2"
        assert x.shape[0] > 1
        return x


example_args = (torch.randn(3, 2),)
tags = {"python.assert"}
model = DynamicShapeAssert()
