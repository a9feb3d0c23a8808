# SPDX-License-Identifier: Apache-2.0
import ingot as torch
from ingot._export.db.case import SupportLevel

_DEFAULT = torch.randn(2, 3)


class OptionalInput(torch.nn.Module):
    """An argument that is left out and has a tensor as its default value."""

    def forward(self, x, y=_DEFAULT):
        if y is not None:
            return x + y
        return x


example_args = (torch.randn(2, 3),)
tags = {"python.object-model"}
support_level = SupportLevel.NOT_SUPPORTED_YET
model = OptionalInput()
