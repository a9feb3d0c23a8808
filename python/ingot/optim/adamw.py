# SPDX-License-Identifier: Apache-2.0
"""Adam with decoupled weight decay."""

from __future__ import annotations

from ingot._C import Tensor
from ingot.optim._rule import ParamsT
from ingot.optim.adam import Adam


class AdamW(Adam):
    _decoupled = True

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
            differentiable=differentiable, fused=fused,
        )  # fmt: skip


__all__ = ["AdamW"]
