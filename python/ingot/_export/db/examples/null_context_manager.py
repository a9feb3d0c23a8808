# SPDX-License-Identifier: Apache-2.0
import contextlib

import ingot as torch


class NullContextManager(torch.nn.Module):
    """A context manager that does nothing leaves nothing behind."""

    def forward(self, x):
        with contextlib.nullcontext():
            return x.sin() + x.cos()


example_args = (torch.randn(3, 2),)
tags = {"python.context-manager"}
model = NullContextManager()
