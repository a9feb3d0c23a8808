# SPDX-License-Identifier: Apache-2.0
"""RMSprop."""

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


class RMSprop(Rule):
    _option_defaults = {
        "momentum": 0, "centered": False, "foreach": None, "maximize": False, "differentiable": False,
        "capturable": False,
    }  # fmt: skip

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check("epsilon", eps)
        check("momentum", momentum)
        check("weight_decay", weight_decay)
        check("alpha", alpha)
        defaults = {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
            "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _start(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        state = {"step": new_step(), "square_avg": zeros_like(param)}
        if group["momentum"] > 0:
            state["momentum_buffer"] = zeros_like(param)
        if group["centered"]:
            state["grad_avg"] = zeros_like(param)
        return state

    def _update(self, lists: Lists, group: dict[str, Any]) -> None:
        alpha, lr = group["alpha"], value_of(group["lr"])
        ingot._foreach_add_(lists.of("step"), 1)
        grads = decayed(lists, group)
        squares = lists.of("square_avg")
        ingot._foreach_mul_(squares, alpha)
        ingot._foreach_addcmul_(squares, grads, grads, 1 - alpha)
        squares = clones(squares, group["differentiable"])
        if group["centered"]:
            means = lists.of("grad_avg")
            ingot._foreach_lerp_(means, grads, 1 - alpha)
            means = clones(means, group["differentiable"])
            squares = ingot._foreach_addcmul(squares, means, means, -1)
        roots = ingot._foreach_add(ingot._foreach_sqrt(squares), group["eps"])
        if group["momentum"] > 0:
            buffers = lists.of("momentum_buffer")
            ingot._foreach_mul_(buffers, group["momentum"])
            ingot._foreach_addcdiv_(buffers, grads, roots)
            ingot._foreach_add_(lists.params, clones(buffers, group["differentiable"]), alpha=-lr)
        else:
            ingot._foreach_addcdiv_(lists.params, grads, roots, -lr)


__all__ = ["RMSprop"]
