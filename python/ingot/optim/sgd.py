# SPDX-License-Identifier: Apache-2.0
"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

import ingot
from ingot._C import Tensor
from ingot.optim._rule import Lists, ParamsT, Rule, check, check_fused, clones, decayed, value_of


class SGD(Rule):
    _option_defaults = {
        "nesterov": False, "maximize": False, "foreach": None, "differentiable": False, "fused": False,
    }  # fmt: skip

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if lr < 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        check("momentum", momentum)
        check("weight_decay", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov,
            "maximize": maximize, "foreach": foreach, "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)
        if fused:
            self._step_supports_amp_scaling = True

    def _start(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any] | None:
        return {"momentum_buffer": None} if group["momentum"] != 0 else None

    def _update(self, lists: Lists, group: dict[str, Any]) -> None:
        first = [group["momentum"] != 0 and state.get("momentum_buffer") is None for state in lists.states]
        for is_first in dict.fromkeys(first):
            part = lists.part([i for i, f in enumerate(first) if f == is_first])
            fused = part.is_float and not group["differentiable"]
            (self._update_fused if fused else self._update_by_parts)(part, group, is_first)

    def _update_fused(self, lists: Lists, group: dict[str, Any], first: bool) -> None:
        for param, state in zip(lists.owners, lists.states) if first else ():
            state["momentum_buffer"] = ingot.empty_like(param.grad)
        ingot._fused_sgd_(
            lists.params, lists.grads, lists.of("momentum_buffer") if group["momentum"] != 0 else [],
            weight_decay=float(group["weight_decay"]), momentum=float(group["momentum"]), lr=group["lr"],
            dampening=float(group["dampening"]), nesterov=group["nesterov"], maximize=group["maximize"],
            is_first_step=first, grad_scale=getattr(self, "grad_scale", None),
            found_inf=getattr(self, "found_inf", None),
        )  # fmt: skip

    def _update_by_parts(self, lists: Lists, group: dict[str, Any], first: bool) -> None:
        grads = decayed(lists, group)
        if first:
            for state, grad in zip(lists.states, grads):
                state["momentum_buffer"] = ingot.clone(grad).detach()
        elif group["momentum"] != 0:
            buffers = lists.of("momentum_buffer")
            ingot._foreach_mul_(buffers, group["momentum"])
            ingot._foreach_add_(buffers, grads, alpha=1 - group["dampening"])
        if group["momentum"] != 0:
            buffers = clones(lists.of("momentum_buffer"), group["differentiable"])
            grads = ingot._foreach_add(grads, buffers, alpha=group["momentum"]) if group["nesterov"] else buffers
        ingot._foreach_add_(lists.params, grads, alpha=-value_of(group["lr"]))


__all__ = ["SGD"]
