# SPDX-License-Identifier: Apache-2.0
import ingot as torch


class AssumeConstantResult(torch.nn.Module):
    """A result that `assume_constant_result` declares constant is part of the program: `y` is read at capture."""

    @torch._dynamo.assume_constant_result
    def length(self, y):
        return y.item()

    def forward(self, x, y):
        return x[: self.length(y)]


example_args = (torch.randn(3, 2), torch.tensor(4))
tags = {"torch.escape-hatch"}
model = AssumeConstantResult()
