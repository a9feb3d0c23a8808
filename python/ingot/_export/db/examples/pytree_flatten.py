# SPDX-License-Identifier: Apache-2.0
import ingot as torch
from ingot.utils._pytree import tree_flatten


class PytreeFlatten(torch.nn.Module):
    """torch.utils._pytree inside of a program."""

    def forward(self, x):
        leaves, _ = tree_flatten(x)
        return leaves[0] + 1


example_args = (({1: torch.randn(3, 2), 2: torch.randn(3, 2)},),)
model = PytreeFlatten()
