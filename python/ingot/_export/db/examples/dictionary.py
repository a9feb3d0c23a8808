# SPDX-License-Identifier: Apache-2.0
import ingot as torch


class Dictionary(torch.nn.Module):
    """A dict of the program is no part of the graph; one that is returned is part of the structure of the results."""

    def forward(self, x, y):
        elements = {"square": x * x}
        return {"y": y * elements["square"]}


example_args = (torch.randn(3, 2), torch.tensor(4))
tags = {"python.data-structure"}
model = Dictionary()
