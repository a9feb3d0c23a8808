# SPDX-License-Identifier: Apache-2.0
import functools

import ingot as torch


def _one_more(function):
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        return function(*args, **kwargs) + 1

    return wrapped


class Decorator(torch.nn.Module):
    """A decorated method is followed through its decorator."""

    @_one_more
    def forward(self, x, y):
        return x + y


example_args = (torch.randn(3, 2), torch.randn(3, 2))
model = Decorator()
