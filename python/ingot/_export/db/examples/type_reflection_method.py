# SPDX-License-Identifier: Apache-2.0
import ingot as torch


class _Increment:
    @classmethod
    def of(cls, x):
        return x + 1


class TypeReflectionMethod(torch.nn.Module):
    """type() of an object that the program makes, and a method of the type."""

    def forward(self, x):
        return type(_Increment()).of(x)


example_args = (torch.randn(3, 4),)
tags = {"python.builtin"}
model = TypeReflectionMethod()
