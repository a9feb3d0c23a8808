# SPDX-License-Identifier: Apache-2.0
import enum

import ingot as torch


class _Animal(enum.Enum):
    COW = "moo"


class SpecializedAttribute(torch.nn.Module):
    """Attributes that are no tensors are what they were at capture."""

    def __init__(self):
        super().__init__()
        self.animal = _Animal.COW
        self.offset = 4

    def forward(self, x):
        if self.animal == _Animal.COW:
            return x * x + self.offset
        raise ValueError("moo")


example_args = (torch.randn(3, 2),)
model = SpecializedAttribute()
