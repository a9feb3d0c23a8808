# SPDX-License-Identifier: Apache-2.0
import ingot as torch


class ListContains(torch.nn.Module):
    """`in` for a list, with a size that is known at capture."""

    def forward(self, x):
        assert x.size(-1) in [6, 2]
        assert x.size(0) not in [4, 5, 6]
        assert "monkey" not in ["cow", "pig"]
        return x + x


example_args = (torch.randn(3, 2),)
tags = {"python.assert", "python.data-structure", "torch.dynamic-shape"}
model = ListContains()
