# SPDX-License-Identifier: Apache-2.0
"""Adamax: Adam with the infinity norm."""

from __future__ import annotations

from typing import Any

import ingot
from ingot._C import Tensor
from ingot.optim._rule import (
    Lists,
    ParamsT,
    Rule,
    check,
    check_betas,
    check_lr,
    clones,
    counted,
    decayed,
    new_step,
    value_of,
    zeros_like,
)  # fmt: skip


class Adamax(Rule):
    _option_defaults = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check("epsilon", eps)
        check_betas(betas)
        check("weight_decay", weight_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _start(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": new_step(), "exp_avg": zeros_like(param), "exp_inf": zeros_like(param)}

    def _update(self, lists: Lists, group: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        means, norms = lists.of("exp_avg"), lists.of("exp_inf")
        rates = [-value_of(group["lr"]) / (1 - beta1**n) for n in counted(lists)]
        grads = decayed(lists, group)
        ingot._foreach_lerp_(means, grads, 1 - beta1)
        sizes = ingot._foreach_add(ingot._foreach_abs(grads), group["eps"])
        ingot._foreach_mul_(norms, beta2)
        ingot._foreach_copy_(norms, ingot._foreach_maximum(clones(norms, group["differentiable"]), sizes))
        kept = group["differentiable"]
        ingot._foreach_addcdiv_(lists.params, clones(means, kept), clones(norms, kept), rates)


__all__ = ["Adamax"]
