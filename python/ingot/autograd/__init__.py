# SPDX-License-Identifier: Apache-2.0
"""Gradients: grad and backward, functions with their own backward, checks, Jacobians."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ingot import _C
from ingot._C import Tensor
from ingot._modes import enable_grad, inference_mode, no_grad, set_grad_enabled
from ingot.autograd import function, functional
from ingot.autograd.function import Function
from ingot.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck

__all__ = [
    "Function", "GradcheckError", "Variable", "backward", "enable_grad", "function", "functional", "grad", "gradcheck",
    "gradgradcheck", "inference_mode", "no_grad", "set_grad_enabled",
]  # fmt: skip


def _tuple(tensors: Any) -> tuple:
    return (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)


def _seeds(grads: Any, count: int) -> tuple:
    if grads is None:
        return (None,) * count
    grads = _tuple(grads)
    for value in grads:
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(value).__name__}")
    return grads


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of the sum of outputs (weighted by grad_outputs) with respect to inputs."""
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    if is_grads_batched:
        raise NotImplementedError("autograd.grad: is_grads_batched is not supported")
    outputs, inputs = _tuple(outputs), _tuple(inputs)
    retain = create_graph if retain_graph is None else retain_graph
    unused = materialize_grads if allow_unused is None else allow_unused
    seeds = _seeds(grad_outputs, len(outputs))
    return _C._run_backward(outputs, seeds, retain, create_graph, inputs, unused, False, materialize_grads)


def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Add the gradients of tensors to .grad of the leaves (or of inputs)."""
    if grad_variables is not None:
        if grad_tensors is not None:
            raise RuntimeError("`grad_tensors` and `grad_variables` (deprecated) arguments both passed")
        grad_tensors = grad_variables
    tensors = _tuple(tensors)
    retain = create_graph if retain_graph is None else retain_graph
    wanted = None
    if inputs is not None:
        wanted = _tuple(inputs)
        if not wanted:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    _C._run_backward(tensors, _seeds(grad_tensors, len(tensors)), retain, create_graph, wanted, True, True)


class _VariableMeta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_VariableMeta):
    """The old name of a tensor: Variable(data) is a tensor with the same memory."""

    def __new__(cls, data: Tensor, requires_grad: bool = False, volatile: bool = False) -> Tensor:
        return data.detach().requires_grad_(requires_grad)
