# SPDX-License-Identifier: Apache-2.0
"""NAdam: Adam with Nesterov momentum."""

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
    scalar_dtype,
    value_of,
    zeros_like,
)  # fmt: skip


class NAdam(Rule):
    _option_defaults = {
        "maximize": False, "foreach": None, "capturable": False, "differentiable": False,
        "decoupled_weight_decay": False,
    }  # fmt: skip
    _capturable_parts = "params, mu_products and state_steps"

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
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
        check("momentum_decay", momentum_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _start(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {
            "step": new_step(), "mu_product": ingot.ones((), dtype=scalar_dtype()), "exp_avg": zeros_like(param),
            "exp_avg_sq": zeros_like(param),
        }  # fmt: skip

    def _update(self, lists: Lists, group: dict[str, Any]) -> None:
        (beta1, beta2), lr, decay = group["betas"], value_of(group["lr"]), group["momentum_decay"]
        means, squares, products = lists.of("exp_avg"), lists.of("exp_avg_sq"), lists.of("mu_product")
        steps = counted(lists)
        now = [beta1 * (1.0 - 0.5 * 0.96 ** (n * decay)) for n in steps]
        then = [beta1 * (1.0 - 0.5 * 0.96 ** ((n + 1) * decay)) for n in steps]
        ingot._foreach_mul_(products, now)
        numbers = [product.item() for product in products]
        grads = shrunk_or_decayed(lists, group)
        ingot._foreach_lerp_(means, grads, 1 - beta1)
        ingot._foreach_mul_(squares, beta2)
        ingot._foreach_addcmul_(squares, grads, grads, 1 - beta2)
        roots = ingot._foreach_div(clones(squares, group["differentiable"]), [1 - beta2**n for n in steps])
        roots = ingot._foreach_add(ingot._foreach_sqrt(roots), group["eps"])
        of_grad = [-lr * (1.0 - mu) / (1.0 - product) for mu, product in zip(now, numbers)]
        of_mean = [-lr * mu / (1.0 - product * mu) for mu, product in zip(then, numbers)]
        ingot._foreach_addcdiv_(lists.params, grads, roots, of_grad)
        ingot._foreach_addcdiv_(lists.params, clones(means, group["differentiable"]), roots, of_mean)


def shrunk_or_decayed(lists: Lists, group: dict[str, Any]) -> list[Tensor]:
    """The gradients, after weight decay of either kind."""
    if not group["decoupled_weight_decay"] or group["weight_decay"] == 0:
        return decayed(lists, group)
    ingot._foreach_mul_(lists.params, 1 - value_of(group["lr"]) * group["weight_decay"])
    return ingot._foreach_neg(lists.grads) if group["maximize"] else lists.grads


__all__ = ["NAdam"]
