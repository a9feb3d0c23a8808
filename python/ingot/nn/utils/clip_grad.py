# SPDX-License-Identifier: Apache-2.0
"""Gradient clipping."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import ingot
from ingot._C import Tensor


def _gradients(parameters: Any) -> list[Tensor]:
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return [p.grad for p in parameters if p.grad is not None]


def get_total_norm(
    tensors: Iterable[Tensor], norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """The norm of all tensors as one vector."""
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return ingot.tensor(0.0)
    norms = [ingot.linalg_vector_norm(t, norm_type) for t in tensors]
    total = ingot.linalg_vector_norm(ingot.stack([n.to(norms[0].device) for n in norms]), norm_type)
    if error_if_nonfinite and not bool(ingot.isfinite(total)):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
            f"clipped. To disable "
            "this error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


def clip_grads_with_norm_(parameters: Any, max_norm: float, total_norm: Tensor, foreach: bool | None = None) -> None:
    """Scale gradients so that total_norm becomes at most max_norm."""
    factor = ingot.clamp(float(max_norm) / (total_norm + 1e-6), max=1.0)
    for grad in _gradients(parameters):
        with ingot.no_grad():
            grad.mul_(factor.to(grad.device))


def clip_grad_norm_(
    parameters: Any,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale gradients so that their norm is at most max_norm; returns the norm before."""
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    with ingot.no_grad():
        total = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, total)
    return total


clip_grad_norm = clip_grad_norm_


def clip_grad_value_(parameters: Any, clip_value: float, foreach: bool | None = None) -> None:
    """Clamp every gradient to [-clip_value, clip_value]."""
    for grad in _gradients(parameters):
        with ingot.no_grad():
            grad.clamp_(min=-float(clip_value), max=float(clip_value))
