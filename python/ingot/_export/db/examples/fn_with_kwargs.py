# SPDX-License-Identifier: Apache-2.0
import ingot as torch


class FnWithKwargs(torch.nn.Module):
    """Positional and keyword arguments, packed and unpacked."""

    def forward(self, pos0, tuple0, *myargs, mykw0, **mykwargs):
        out = pos0
        for value in (*tuple0, *myargs):
            out = out * value
        out = out * mykw0
        return out * mykwargs["input0"] * mykwargs["input1"]


example_args = (torch.randn(4), (torch.randn(4), torch.randn(4)), torch.randn(4), torch.randn(4))
example_kwargs = {"mykw0": torch.randn(4), "input0": torch.randn(4), "input1": torch.randn(4)}
tags = {"python.data-structure"}
model = FnWithKwargs()
