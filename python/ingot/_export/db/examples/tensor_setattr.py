# SPDX-License-Identifier: Apache-2.0
import ingot as torch


class TensorSetattr(torch.nn.Module):
    """setattr on a tensor is no part of the graph."""

    def forward(self, x, attr):
        setattr(x, attr, torch.randn(3, 2))
        return x + 4


example_args = (torch.randn(3, 2), "attr")
tags = {"python.builtin"}
model = TensorSetattr()
