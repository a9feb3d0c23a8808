# SPDX-License-Identifier: Apache-2.0
"""Adadelta."""

from __future__ import annotations

from typing import Any

import ingot
from ingot._C import Tensor
from ingot.optim._rule import (
    Lists,
    ParamsT,
    Rule,
    check,
    check_lr,
    clones,
    decayed,
    new_step,
    value_of,
    zeros_like,
)  # fmt: skip


class Adadelta(Rule):
    _option_defaults = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check("epsilon", eps)
        check("weight_decay", weight_decay)
        defaults = {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "capturable": capturable, "foreach": foreach, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _start(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": new_step(), "square_avg": zeros_like(param), "acc_delta": zeros_like(param)}

    def _update(self, lists: Lists, group: dict[str, Any]) -> None:
        rho, eps = group["rho"], group["eps"]
        ingot._foreach_add_(lists.of("step"), 1)
        grads = decayed(lists, group)
        squares, deltas = lists.of("square_avg"), lists.of("acc_delta")
        ingot._foreach_mul_(squares, rho)
        ingot._foreach_addcmul_(squares, grads, grads, 1 - rho)
        kept = group["differentiable"]
        roots = ingot._foreach_sqrt(ingot._foreach_add(clones(squares, kept), eps))
        steps = ingot._foreach_sqrt(ingot._foreach_add(clones(deltas, kept), eps))
        steps = ingot._foreach_mul(ingot._foreach_div(steps, roots), grads)
        ingot._foreach_mul_(deltas, rho)
        ingot._foreach_addcmul_(deltas, steps, steps, 1 - rho)
        ingot._foreach_add_(lists.params, steps, alpha=-value_of(group["lr"]))


__all__ = ["Adadelta"]
