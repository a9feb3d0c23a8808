# SPDX-License-Identifier: Apache-2.0
import ingot as torch


class UserInputMutation(torch.nn.Module):
    """A write to an input becomes an output of the program."""

    def forward(self, x):
        x.mul_(2)
        return x.cos()


example_args = (torch.randn(3, 2),)
tags = {"torch.mutation"}
model = UserInputMutation()
