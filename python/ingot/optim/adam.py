# SPDX-License-Identifier: Apache-2.0
"""Adam, and what it shares with AdamW."""

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
    check_fused,
    check_lr,
    clones,
    counted,
    decayed,
    new_step,
    value_of,
    zeros_like,
)  # fmt: skip


class Adam(Rule):
    _option_defaults = {
        "amsgrad": False, "maximize": False, "foreach": None, "capturable": False, "differentiable": False,
        "fused": None,
    }  # fmt: skip
    _decoupled = False  # weight decay shrinks the parameters instead of changing the gradients

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        if isinstance(lr, Tensor) and foreach and not capturable:
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        check_lr(lr)
        check("epsilon", eps)
        check_betas(betas)
        check("weight_decay", weight_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad,
            "maximize": maximize, "foreach": foreach, "capturable": capturable, "differentiable": differentiable,
            "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)
        if fused:
            self._step_supports_amp_scaling = True

    def _start(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        state = {"step": new_step(group["fused"]), "exp_avg": zeros_like(param), "exp_avg_sq": zeros_like(param)}
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = zeros_like(param)
        return state

    def _check_group(self, group: dict[str, Any], params: list[Tensor]) -> None:
        super()._check_group(group, params)
        if not params:
            return
        if group["differentiable"] and any(self.state[p]["step"].requires_grad for p in params if self.state[p]):
            raise RuntimeError("`requires_grad` is not supported for `step` in differentiable mode")
        if group["foreach"] and isinstance(group["lr"], Tensor):
            raise RuntimeError("lr as a Tensor is not supported for capturable=False and foreach=True")

    def _update(self, lists: Lists, group: dict[str, Any]) -> None:
        if lists.is_float and not group["differentiable"]:
            self._update_fused(lists, group)
        else:
            self._update_by_parts(lists, group)

    def _update_fused(self, lists: Lists, group: dict[str, Any]) -> None:
        steps = lists.of("step")
        found_inf = getattr(self, "found_inf", None)
        ingot._foreach_add_(steps, 1)
        call = ingot._fused_adamw_ if self._decoupled else ingot._fused_adam_
        call(
            lists.params, lists.grads, lists.of("exp_avg"), lists.of("exp_avg_sq"),
            lists.of("max_exp_avg_sq") if group["amsgrad"] else [], steps, lr=group["lr"],
            beta1=float(group["betas"][0]), beta2=float(group["betas"][1]), weight_decay=float(group["weight_decay"]),
            eps=float(group["eps"]), amsgrad=group["amsgrad"], maximize=group["maximize"],
            grad_scale=getattr(self, "grad_scale", None), found_inf=found_inf,
        )  # fmt: skip
        if found_inf is not None:  # the step was not taken
            ingot._foreach_sub_(steps, [found_inf.item()] * len(steps))

    def _update_by_parts(self, lists: Lists, group: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        means, squares = lists.of("exp_avg"), lists.of("exp_avg_sq")
        numbers = counted(lists)
        if self._decoupled:
            ingot._foreach_mul_(lists.params, 1 - value_of(group["lr"]) * group["weight_decay"])
            grads = ingot._foreach_neg(lists.grads) if group["maximize"] else lists.grads
        else:
            grads = decayed(lists, group)
        ingot._foreach_lerp_(means, grads, 1 - beta1)
        ingot._foreach_mul_(squares, beta2)
        ingot._foreach_addcmul_(squares, grads, grads, 1 - beta2)
        tops = squares
        if group["amsgrad"]:
            tops = lists.of("max_exp_avg_sq")
            for top, square in zip(tops, squares):
                top.copy_(ingot.maximum(top.clone(), square))
        roots = ingot._foreach_sqrt(clones(tops, group["differentiable"]))
        denominators = ingot._foreach_div(roots, [(1 - beta2**n) ** 0.5 for n in numbers])
        denominators = ingot._foreach_add(denominators, group["eps"])
        sizes = [-value_of(group["lr"]) / (1 - beta1**n) for n in numbers]
        ingot._foreach_addcdiv_(lists.params, clones(means, group["differentiable"]), denominators, sizes)


__all__ = ["Adam"]
