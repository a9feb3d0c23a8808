# SPDX-License-Identifier: Apache-2.0
import ingot as torch
from ingot._higher_order_ops.map import map  # noqa: A004


class DynamicShapeMap(torch.nn.Module):
    """map calls a function for every slice along the first dimension."""

    def forward(self, xs, y):
        def add(x, y):
            return x + y

        return map(add, xs, y)


example_args = (torch.randn(3, 2), torch.randn(2))
tags = {"torch.dynamic-shape", "torch.map"}
model = DynamicShapeMap()
