# SPDX-License-Identifier: Apache-2.0
import ingot as torch


class CondClosedOverVariable(torch.nn.Module):
    """Branches of torch.cond may read variables of the functions around them."""

    def forward(self, pred, x):
        step = 1

        def up(value):
            return x + step

        def down(value):
            return x - step

        return torch.cond(pred, up, down, [x + 1])


example_args = (torch.tensor(True), torch.randn(3, 2))
tags = {"python.closure", "torch.cond"}
model = CondClosedOverVariable()
