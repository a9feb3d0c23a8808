# SPDX-License-Identifier: Apache-2.0
import ingot as torch


class CondBranchNestedFunction(torch.nn.Module):
    """Functions inside of functions as branches of torch.cond.

    Both branches take the operands that cond is given, do not modify them, and return a tensor with the same dtype and
    sizes.
    """

    def forward(self, x):
        def doubled(x):
            def inner(y):
                return x + y

            return inner(x)

        def nothing(x):
            def inner(y):
                return x - y

            return inner(x)

        return torch.cond(x.shape[0] < 10, doubled, nothing, [x])


example_args = (torch.randn(3),)
tags = {"torch.cond", "torch.dynamic-shape"}
model = CondBranchNestedFunction()
