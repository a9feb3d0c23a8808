# SPDX-License-Identifier: Apache-2.0
import ingot as torch
from ingot.export import Dim


class ScalarOutput(torch.nn.Module):
    """A number as a result: sizes stay symbolic, the number of dimensions is known."""

    def forward(self, x):
        return x.shape[1] + 1


example_args = (torch.randn(3, 2),)
tags = {"torch.dynamic-shape"}
dynamic_shapes = {"x": {1: Dim("dim1_x")}}
model = ScalarOutput()
