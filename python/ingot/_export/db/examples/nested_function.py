# SPDX-License-Identifier: Apache-2.0
import ingot as torch


class NestedFunction(torch.nn.Module):
    """Functions inside of functions are followed; what they do to variables outside is lost."""

    def forward(self, a, b):
        x = a + b
        z = a - b

        def inner(y):
            nonlocal x
            x = x + 1
            return x * x + z

        return inner(x)


example_args = (torch.randn(3, 2), torch.randn(2))
tags = {"python.closure"}
model = NestedFunction()
