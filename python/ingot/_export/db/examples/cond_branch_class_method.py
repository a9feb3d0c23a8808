# SPDX-License-Identifier: Apache-2.0
import ingot as torch


class _Cosine(torch.nn.Module):
    def forward(self, x):
        return x.cos()


class CondBranchClassMethod(torch.nn.Module):
    """Methods as branches of torch.cond.

    Both branches take the operands that cond is given, do not modify them, and return a tensor with the same dtype and
    sizes. A predicate that is known at capture chooses one branch.
    """

    def __init__(self):
        super().__init__()
        self.sub = _Cosine()

    def sine(self, x):
        return x.sin()

    def forward(self, x):
        return torch.cond(x.shape[0] <= 2, self.sub.forward, self.sine, [x])


example_args = (torch.randn(3),)
tags = {"torch.cond", "torch.dynamic-shape"}
model = CondBranchClassMethod()
