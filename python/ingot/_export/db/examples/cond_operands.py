# SPDX-License-Identifier: Apache-2.0
import ingot as torch
from ingot.export import Dim


class CondOperands(torch.nn.Module):
    """The operands of torch.cond: a list of tensors, one for every argument of the branches.

    A predicate on a size that is 0 or 1 in the example is known at capture.
    """

    def forward(self, x, y):
        def add(x, y):
            return x + y

        def subtract(x, y):
            return x - y

        return torch.cond(x.shape[0] > 2, add, subtract, [x, y])


example_args = (torch.randn(3, 2), torch.randn(2))
tags = {"torch.cond", "torch.dynamic-shape"}
dynamic_shapes = {"x": {0: Dim("dim0_x")}, "y": None}
model = CondOperands()
