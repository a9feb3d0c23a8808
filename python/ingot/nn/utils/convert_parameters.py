# SPDX-License-Identifier: Apache-2.0
"""Parameters as one vector and back."""

from __future__ import annotations

from collections.abc import Iterable

import ingot
from ingot._C import Tensor


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    return ingot.cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {ingot.typename(vec)}")
    start = 0
    for param in parameters:
        count = param.numel()
        param.data = vec[start : start + count].view_as(param).data
        start += count
