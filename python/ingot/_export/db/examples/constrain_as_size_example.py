# SPDX-License-Identifier: Apache-2.0
import ingot as torch


class ConstrainAsSizeExample(torch.nn.Module):
    """A number in the data that is used as a size.

    torch._check_is_size says that it is one, torch._check what its bounds are.
    """

    def forward(self, x):
        n = x.item()
        torch._check_is_size(n)
        torch._check(n <= 5)
        return torch.zeros((n, 5))


example_args = (torch.tensor(4),)
tags = {"torch.dynamic-value", "torch.escape-hatch"}
model = ConstrainAsSizeExample()
