# SPDX-License-Identifier: Apache-2.0
"""Averaged stochastic gradient descent."""

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
    counted,
    decayed,
    new_step,
    scalar_dtype,
    value_of,
    zeros_like,
)  # fmt: skip


class ASGD(Rule):
    _option_defaults = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}
    _capturable_parts = "params, mus, etas, and state_steps"

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check("weight_decay", weight_decay)
        defaults = {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _start(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {
            "step": new_step(), "eta": ingot.tensor(value_of(group["lr"]), dtype=scalar_dtype()),
            "mu": ingot.ones((), dtype=scalar_dtype()), "ax": zeros_like(param),
        }  # fmt: skip

    def _update(self, lists: Lists, group: dict[str, Any]) -> None:
        lambd, lr, alpha = group["lambd"], value_of(group["lr"]), group["alpha"]
        steps = counted(lists)
        grads = decayed(lists, group)
        parts = zip(lists.params, grads, lists.states, lists.of("ax"), steps)
        for param, grad, state, average, step in parts:
            eta = state["eta"].item()
            param.mul_(1 - lambd * eta)
            param.add_(grad, alpha=-eta)
            if state["mu"].item() != 1:
                average.add_(param.sub(average).mul_(state["mu"]))
            else:
                average.copy_(param)
            state["eta"].fill_(lr / (1 + lambd * lr * step) ** alpha)
            state["mu"].fill_(1 / max(1, step - group["t0"]))


__all__ = ["ASGD"]
