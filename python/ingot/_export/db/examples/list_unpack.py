# SPDX-License-Identifier: Apache-2.0
import ingot as torch


class ListUnpack(torch.nn.Module):
    """A list is unpacked at capture: its elements are inputs of their own."""

    def forward(self, args):
        x, *rest = args
        return x + rest[0]


example_args = ([torch.randn(3, 2), torch.tensor(4), torch.tensor(5)],)
tags = {"python.control-flow", "python.data-structure"}
model = ListUnpack()
