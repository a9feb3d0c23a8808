# SPDX-License-Identifier: Apache-2.0
"""Adafactor: second moments of matrices are kept as a row and a column, and steps have the size of the parameters."""

from __future__ import annotations

from typing import Any

import ingot
from ingot._C import Tensor
from ingot.optim._rule import Lists, ParamsT, Rule, new_step, value_of, zeros_like


class Adafactor(Rule):
    _option_defaults = {"foreach": None}

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        _check_rate("Learning rate", value_of(lr), bool(lr >= 0.0), ">= 0")
        _check_rate("beta2_decay", beta2_decay, beta2_decay <= 0.0, "<= 0")
        if eps[0] is not None:
            _check_rate("epsilon1", eps[0], eps[0] >= 0.0, ">= 0")
        _check_rate("epsilon2", eps[1], eps[1] >= 0.0, ">= 0")
        _check_rate("Clipping threshold d", d, d >= 1.0, ">= 1")
        _check_rate("weight_decay", weight_decay, weight_decay >= 0.0, ">= 0")
        defaults = {
            "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay,
            "foreach": foreach, "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _start(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        if param.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        if param.dim() < 2:
            return {"step": new_step(), "variance": zeros_like(param)}
        *rest, rows, columns = param.shape
        return {
            "step": new_step(), "row_var": param.new_zeros((*rest, rows, 1)),
            "col_var": param.new_zeros((*rest, 1, columns)),
        }  # fmt: skip

    def _update(self, lists: Lists, group: dict[str, Any]) -> None:
        for param, grad, state in zip(lists.params, lists.grads, lists.states, strict=True):
            _step(param, -grad if group["maximize"] else grad, state, group)


def _check_rate(name: str, value: float, holds: bool, expected: str) -> None:
    if not holds:
        raise ValueError(f"{name} should be {expected} but is: {value}")


def _mean_square(grad: Tensor, dim: int) -> Tensor:
    return grad.norm(dim=dim, keepdim=True).square_().div_(grad.size(dim))


def _estimate(grad: Tensor, state: dict[str, Any], share: float, eps: float) -> Tensor:
    """The second moments of the gradient, after it took its share of what is kept."""
    if grad.dim() < 2:
        return state["variance"].lerp_(grad.square(), share).clone()
    rows, columns = state["row_var"], state["col_var"]
    rows.lerp_(_mean_square(grad, -1), share)
    columns.lerp_(_mean_square(grad, -2), share)
    return (rows @ columns).div_(rows.mean(dim=-2, keepdim=True).clamp_(min=eps))


def _step(param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
    lr = value_of(group["lr"])
    eps1, eps2 = group["eps"]
    eps1 = ingot.finfo(param.dtype).eps if eps1 is None else eps1
    state["step"].add_(1)
    step = state["step"].item()
    root = param.numel() ** 0.5
    alpha = max(eps2, param.norm(2).item() / root) * min(lr, 1 / step**0.5)
    if group["weight_decay"]:
        param.mul_(1 - lr * group["weight_decay"])
    update = _estimate(grad, state, step ** group["beta2_decay"], eps1).clamp_(min=eps1 * eps1).rsqrt_().mul_(grad)
    too_long = max(1.0, update.norm(2).item() / (root * group["d"]))
    param.add_(update, alpha=-alpha / too_long)


__all__ = ["Adafactor"]
