# SPDX-License-Identifier: Apache-2.0
"""Resilient backpropagation."""

from __future__ import annotations

from typing import Any

import ingot
from ingot._C import Tensor
from ingot.optim._rule import Lists, ParamsT, Rule, check_lr, new_step, value_of, zeros_like


class Rprop(Rule):
    _option_defaults = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _start(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        lr = value_of(group["lr"])
        size = ingot.full_like(param.grad, complex(lr, lr) if param.is_complex() else lr)
        return {"step": new_step(), "prev": zeros_like(param), "step_size": size}

    def _update(self, lists: Lists, group: dict[str, Any]) -> None:
        ingot._foreach_add_(lists.of("step"), 1)
        minus, plus = group["etas"]
        least, most = group["step_sizes"]
        grads = ingot._foreach_neg(lists.grads) if group["maximize"] else lists.grads
        for param, grad, before, size in zip(lists.params, grads, lists.of("prev"), lists.of("step_size")):
            product = grad * before.clone()
            turned = product < 0
            factor = ingot.where(product > 0, plus, ingot.where(turned, minus, ingot.ones_like(grad)))
            size.mul_(factor.to(size.dtype)).clamp_(least, most)
            grad = grad.masked_fill(turned, 0)  # the sign changed: the minimum was passed
            param.addcmul_(grad.sign(), size.clone() if group["differentiable"] else size, value=-1)
            before.copy_(grad)


__all__ = ["Rprop"]
