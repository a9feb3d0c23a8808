# SPDX-License-Identifier: Apache-2.0
import ingot as torch
from ingot._export.db.case import SupportLevel


class TorchSymMin(torch.nn.Module):
    """torch.sym_min of a size that is no tensor."""

    def forward(self, x):
        return x.sum() + torch.sym_min(x.size(0), 100)


example_args = (torch.randn(3, 2),)
tags = {"torch.operator"}
support_level = SupportLevel.NOT_SUPPORTED_YET
model = TorchSymMin()
