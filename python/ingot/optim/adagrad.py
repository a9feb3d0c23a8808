# SPDX-License-Identifier: Apache-2.0
"""Adagrad."""

from __future__ import annotations

from typing import Any

import ingot
from ingot._C import Tensor
from ingot.optim._rule import (
    Lists,
    ParamsT,
    Rule,
    check,
    check_fused,
    check_lr,
    clones,
    counted,
    decayed,
    new_step,
    value_of,
)  # fmt: skip


class Adagrad(Rule):
    _option_defaults = {"foreach": None, "maximize": False, "differentiable": False, "fused": None}

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check("lr_decay", lr_decay)
        check("weight_decay", weight_decay)
        check("initial_accumulator_value", initial_accumulator_value)
        check("epsilon", eps)
        defaults = {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param] = self._start(param, group)

    def _start(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        first = group["initial_accumulator_value"]
        value = complex(first, first) if param.is_complex() else first
        total = ingot.full_like(param, value, memory_format=ingot.preserve_format)
        return {"step": new_step(group["fused"]), "sum": total}

    def share_memory(self) -> None:
        """Tensors of this package are shared between processes by copying; there is nothing to move."""

    def _update(self, lists: Lists, group: dict[str, Any]) -> None:
        sums = lists.of("sum")
        if lists.is_float and not group["differentiable"]:
            steps = lists.of("step")
            ingot._foreach_add_(steps, 1)
            ingot._fused_adagrad_(
                lists.params, lists.grads, sums, steps, lr=float(group["lr"]), lr_decay=float(group["lr_decay"]),
                weight_decay=float(group["weight_decay"]), eps=float(group["eps"]), maximize=group["maximize"],
                grad_scale=getattr(self, "grad_scale", None), found_inf=getattr(self, "found_inf", None),
            )  # fmt: skip
            return
        rates = [-value_of(group["lr"]) / (1 + (n - 1) * group["lr_decay"]) for n in counted(lists)]
        grads = decayed(lists, group)
        ingot._foreach_addcmul_(sums, grads, grads, 1)
        roots = ingot._foreach_add(ingot._foreach_sqrt(clones(sums, group["differentiable"])), group["eps"])
        ingot._foreach_addcdiv_(lists.params, grads, roots, rates)


__all__ = ["Adagrad"]
