# SPDX-License-Identifier: Apache-2.0
import ingot as torch


class ConstrainAsValueExample(torch.nn.Module):
    """A number in the data that decides something: torch._check says what holds for it. Numbers that become sizes need
    torch._check_is_size instead."""

    def forward(self, x, y):
        n = x.item()
        torch._check(n >= 0)
        torch._check(n <= 5)
        if n < 6:
            return y.sin()
        return y.cos()


example_args = (torch.tensor(4), torch.randn(5, 5))
tags = {"torch.dynamic-value", "torch.escape-hatch"}
model = ConstrainAsValueExample()
