# SPDX-License-Identifier: Apache-2.0
import ingot as torch


class StaticForLoop(torch.nn.Module):
    """A loop with a known number of iterations is unrolled."""

    def forward(self, x):
        out = []
        for i in range(10):  # each turn has its own addition
            out.append(i + x)
        return out


example_args = (torch.randn(3, 2),)
tags = {"python.control-flow"}
model = StaticForLoop()
