# SPDX-License-Identifier: Apache-2.0
import ingot as torch


class ClassMethod(torch.nn.Module):
    """Class methods are followed, however they are called."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 2)

    @classmethod
    def increased(cls, x):
        return x + 1

    def forward(self, x):
        x = self.linear(x)
        return self.increased(x) * self.__class__.increased(x) * type(self).increased(x)


example_args = (torch.randn(3, 4),)
model = ClassMethod()
