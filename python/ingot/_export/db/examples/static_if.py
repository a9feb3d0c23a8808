# SPDX-License-Identifier: Apache-2.0
import ingot as torch


class StaticIf(torch.nn.Module):
    """`if` on something that is known at capture takes one branch."""

    def forward(self, x):
        if len(x.shape) == 3:
            return x + torch.ones(1, 1, 1)
        return x


example_args = (torch.randn(3, 2, 2),)
tags = {"python.control-flow"}
model = StaticIf()
