# SPDX-License-Identifier: Apache-2.0
import ingot as torch


class DynamicShapeView(torch.nn.Module):
    """Sizes as arguments of view."""

    def forward(self, x):
        sizes = (*x.size()[:-1], 2, 5)
        return x.view(*sizes).permute(0, 2, 1)


example_args = (torch.randn(10, 10),)
tags = {"torch.dynamic-shape"}
model = DynamicShapeView()
