# SPDX-License-Identifier: Apache-2.0
"""RAdam: Adam with a rectified variance."""

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
    new_step,
    value_of,
    zeros_like,
)  # fmt: skip
from ingot.optim.nadam import shrunk_or_decayed


class RAdam(Rule):
    _option_defaults = {
        "foreach": None, "maximize": False, "differentiable": False, "decoupled_weight_decay": False,
        "capturable": False,
    }  # fmt: skip

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check("epsilon", eps)
        check_betas(betas)
        check("weight_decay", weight_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "foreach": foreach, "capturable": capturable, "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _start(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": new_step(), "exp_avg": zeros_like(param), "exp_avg_sq": zeros_like(param)}

    def _update(self, lists: Lists, group: dict[str, Any]) -> None:
        (beta1, beta2), lr = group["betas"], value_of(group["lr"])
        means, squares = lists.of("exp_avg"), lists.of("exp_avg_sq")
        steps = counted(lists)
        grads = shrunk_or_decayed(lists, group)
        ingot._foreach_lerp_(means, grads, 1 - beta1)
        ingot._foreach_mul_(squares, beta2)
        ingot._foreach_addcmul_(squares, grads, grads, 1 - beta2)
        kept = group["differentiable"]
        moves = list(ingot._foreach_div(clones(means, kept), [1 - beta1**n for n in steps]))
        roots = ingot._foreach_add(ingot._foreach_sqrt(clones(squares, kept)), group["eps"])
        for i, n in enumerate(steps):
            rectified = _rectification(beta2, n)
            if rectified is not None:
                moves[i] = moves[i] * ((1 - beta2**n) ** 0.5 / roots[i]) * rectified
        ingot._foreach_add_(lists.params, moves, alpha=-lr)


def _rectification(beta2: float, step: float) -> float | None:
    """By how much the step is corrected; None: the variance is not tractable yet."""
    most = 2 / (1 - beta2) - 1
    length = most - 2 * step * beta2**step / (1 - beta2**step)
    if length <= 5.0:
        return None
    return ((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)) ** 0.5


__all__ = ["RAdam"]
