# SPDX-License-Identifier: Apache-2.0
import ingot as torch


class _Copy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad + 1


class AutogradFunction(torch.nn.Module):
    """The forward of a torch.autograd.Function is part of the program; its backward is not."""

    def forward(self, x):
        return _Copy.apply(x)


example_args = (torch.randn(3, 2),)
model = AutogradFunction()
