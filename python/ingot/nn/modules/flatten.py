# SPDX-License-Identifier: Apache-2.0
"""Flatten and Unflatten."""

from __future__ import annotations

from typing import Any

from ingot._C import Tensor
from ingot.nn.modules._simple import SimpleModule


class Flatten(SimpleModule):
    arguments, shows = "start_dim=1, end_dim=-1", "start_dim end_dim"

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)


class Unflatten(SimpleModule):
    arguments, shows = "dim, unflattened_size", "dim unflattened_size"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not isinstance(self.dim, int):
            raise TypeError("invalid argument type for dim parameter")
        sizes = self.unflattened_size
        if not isinstance(sizes, (tuple, list)):
            raise TypeError(f"unflattened_size must be a tuple of ints, but found type {type(sizes).__name__}")
        for i, size in enumerate(sizes):
            if not isinstance(size, int):
                raise TypeError(
                    f"unflattened_size must be tuple of ints, but found element of type {type(size).__name__} at "
                    f"pos {i}"
                )

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)
