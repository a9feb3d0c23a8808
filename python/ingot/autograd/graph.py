# SPDX-License-Identifier: Apache-2.0
"""torch.autograd.graph: the nodes of histories, and what is kept for the backward pass."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from ingot import _C

__all__ = ["GradientEdge", "Node", "get_gradient_edge", "save_on_cpu"]


class Node:
    """The class of grad_fn, for isinstance and annotations."""

    @classmethod
    def __subclasshook__(cls, kind: type) -> Any:
        return hasattr(kind, "next_functions") or NotImplemented


class GradientEdge(NamedTuple):
    """An edge of a history: a function and which of its results."""

    node: Any
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: _C.Tensor) -> GradientEdge:
    """The edge to the gradient of a tensor."""
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    if tensor.grad_fn is None:
        return GradientEdge(tensor.view_as(tensor).grad_fn.next_functions[0][0], 0)
    return GradientEdge(tensor.grad_fn, tensor.output_nr)


@contextlib.contextmanager
def save_on_cpu(pin_memory: bool = False, device_type: str = "cuda") -> Iterator[None]:
    """What the block keeps for the backward pass is kept in the memory of the CPU, where it is."""
    yield
