# SPDX-License-Identifier: Apache-2.0
import ingot as torch


class DynamicShapeConstructor(torch.nn.Module):
    """A size of an input as the size of a new tensor."""

    def forward(self, x):
        return torch.zeros(x.shape[0] * 2)


example_args = (torch.randn(3, 2),)
tags = {"torch.dynamic-shape"}
model = DynamicShapeConstructor()
