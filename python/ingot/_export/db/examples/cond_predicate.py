# SPDX-License-Identifier: Apache-2.0
import ingot as torch


class CondPredicate(torch.nn.Module):
    """The predicate of torch.cond: a tensor with one element, or a condition on sizes.

    A condition on a size that is 0 or 1 in the example is known at capture.
    """

    def forward(self, x):
        pred = x.dim() > 2 and x.shape[2] > 10
        return torch.cond(pred, torch.cos, torch.sin, [x])


example_args = (torch.randn(6, 4, 3),)
tags = {"torch.cond", "torch.dynamic-shape"}
model = CondPredicate()
