# SPDX-License-Identifier: Apache-2.0
import ingot as torch


class CondBranchNonlocalVariables(torch.nn.Module):
    """Branches of torch.cond that need more than their operands.

    Variables of the enclosing function that are tensors or numbers are passed as operands: branches that read them from
    the closure would make them constants.
    """

    def forward(self, x):
        tensor = x + 100
        number = 3.14
        operands = (x, tensor, torch.tensor(number))

        def add(x, a, b):
            return x + a + b

        def subtract(x, a, b):
            return x - a - b

        return torch.cond(x.shape[0] > 5, add, subtract, operands)


example_args = (torch.randn(6),)
tags = {"torch.cond", "torch.dynamic-shape"}
model = CondBranchNonlocalVariables()
