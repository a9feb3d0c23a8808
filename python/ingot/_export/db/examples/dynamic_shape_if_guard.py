# SPDX-License-Identifier: Apache-2.0
import ingot as torch


class DynamicShapeIfGuard(torch.nn.Module):
    """`if` on a size takes the branch of the example. If the size is declared dynamic and the other branch is possible,
    the export is refused."""

    def forward(self, x):
        if x.shape[0] == 3:
            return x.cos()
        return x.sin()


example_args = (torch.randn(3, 2, 2),)
tags = {"python.control-flow", "torch.dynamic-shape"}
model = DynamicShapeIfGuard()
