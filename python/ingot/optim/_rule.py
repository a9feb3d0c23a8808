# SPDX-License-Identifier: Apache-2.0
"""Optimizers whose step is the same for all parameters of a group.

A rule says which options it has, which state a parameter starts with, and how lists of parameters, gradients and
states are updated. Everything else is here: collecting what has a gradient, dividing it by dtype, complex numbers
as pairs of real ones, closures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ingot
from ingot import _C
from ingot._C import Tensor
from ingot.optim.optimizer import Closure, Optimizer, ParamsT, _use_grad_for_differentiable

_FLOATS = (ingot.float32, ingot.float64, ingot.float16, ingot.bfloat16)
_CAPTURABLE = ["cuda", "xpu", "hpu", "privateuseone", "xla"]


def scalar_dtype(fused: bool | None = None) -> Any:
    """The dtype of step counters."""
    if fused:
        return ingot.float32
    return ingot.float64 if ingot.get_default_dtype() == ingot.float64 else ingot.float32


def made_aside(make: Any, *args: Any) -> Any:
    """State of an optimizer, which is made once and is no part of a graph that torch.compile records."""
    return _C.compile_aside(make, args, {}, True) if _C.compile_is_recording() else make(*args)


def new_step(fused: bool | None = None) -> Tensor:
    return ingot.zeros((), dtype=scalar_dtype(fused))


def zeros_like(param: Tensor) -> Tensor:
    return ingot.zeros_like(param, memory_format=ingot.preserve_format)


def value_of(number: Any) -> Any:
    """A plain number for a tensor of one element."""
    return number.item() if isinstance(number, Tensor) else number


def check_lr(lr: Any) -> None:
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not lr >= 0.0:
        raise ValueError(f"Invalid learning rate: {lr}")


def check(name: str, value: float) -> None:
    if not value >= 0.0:
        raise ValueError(f"Invalid {name} value: {value}")


def check_betas(betas: tuple[float, float]) -> None:
    for i, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}")


def check_fused(fused: bool | None, foreach: bool | None, differentiable: bool) -> None:
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


class Lists:
    """Parameters of one dtype with their gradients; `of(name)` lists a state."""

    def __init__(self, params: list[Tensor], states: list[dict[str, Any]]) -> None:
        self.owners = params
        self.states = states
        self.complex = params[0].is_complex()
        self.params = self._real(params)
        self.grads = self._real([p.grad for p in params])

    def _real(self, tensors: list[Tensor]) -> list[Tensor]:
        return [ingot.view_as_real(t) if t.is_complex() else t for t in tensors] if self.complex else tensors

    def of(self, name: str) -> list[Tensor]:
        return self._real([state[name] for state in self.states])

    def part(self, chosen: list[int]) -> Lists:
        return Lists([self.owners[i] for i in chosen], [self.states[i] for i in chosen])

    @property
    def is_float(self) -> bool:
        return self.params[0].dtype in _FLOATS


class Rule(Optimizer):
    """`step` for rules: `_start` and `_update` are what a class of optimizers defines."""

    _capturable_parts = "params and state_steps"
    _option_defaults: dict[str, Any] = {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, default in self._option_defaults.items():
                group.setdefault(name, default)
            for param in group["params"]:
                self._modernize(self.state.get(param), group)

    def _modernize(self, state: dict[str, Any] | None, group: dict[str, Any]) -> None:
        """Older files have numbers where a state has tensors now."""
        for name in ("step", "mu_product", "eta", "mu"):
            if state and name in state and not isinstance(state[name], Tensor):
                state[name] = ingot.tensor(float(state[name]), dtype=scalar_dtype(group.get("fused")))

    def _start(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any] | None:
        """The state of a parameter before its first step; None: it needs none."""
        raise NotImplementedError

    def _update(self, lists: Lists, group: dict[str, Any]) -> None:
        raise NotImplementedError

    def _check_group(self, group: dict[str, Any], params: list[Tensor]) -> None:
        if group.get("differentiable") and group.get("foreach"):
            raise AssertionError("_foreach ops don't support autograd")
        if group.get("capturable") and params:
            raise AssertionError(
                f"If capturable=True, {self._capturable_parts} must be on supported devices: {_CAPTURABLE}."
            )
        for param in params if group.get("fused") else ():
            if not param.is_floating_point():
                raise RuntimeError(
                    "`fused=True` requires all the params to be floating point Tensors of supported devices: "
                    f"['mps', 'cuda', 'xpu', 'cpu', 'privateuseone'] but {param.dtype} and {param.device.type}"
                )

    def _state_of(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        state = self.state.get(param)
        if not state:
            state = made_aside(self._start, param, group)
            if state is None:
                return {}
            self.state[param] = state
        return state

    def _lists(self, group: dict[str, Any]) -> Iterator[Lists]:
        """The parameters that have a gradient, by dtype and device."""
        params = [p for p in group["params"] if p.grad is not None]
        self._check_group(group, params)
        by_kind: dict[Any, tuple[list, list]] = {}
        for param in params:
            state = self._state_of(param, group)
            kind = by_kind.setdefault((param.dtype, param.device), ([], []))
            kind[0].append(param)
            kind[1].append(state)
        for some, states in by_kind.values():
            yield Lists(some, states)

    @_use_grad_for_differentiable
    def step(self, closure: Closure | None = None) -> Any:
        """One step of all parameters; returns what `closure` returns."""
        loss = None
        if closure is not None:
            with ingot.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for lists in self._lists(group):
                self._update(lists, group)
        return loss


def decayed(lists: Lists, group: dict[str, Any]) -> list[Tensor]:
    """Gradients, negated to maximize, with the weight decay added."""
    grads = lists.grads
    if group["maximize"]:
        grads = ingot._foreach_neg(grads)
    if group.get("weight_decay"):
        grads = ingot._foreach_add(grads, lists.params, alpha=group["weight_decay"])
    return grads


def clones(tensors: list[Tensor], needed: bool) -> list[Tensor]:
    """Copies for histories, which a later step must not overwrite."""
    return [t.clone() for t in tensors] if needed else tensors


def counted(lists: Lists) -> list[float]:
    """Count the step of every parameter, and say which one it is."""
    steps = [state["step"] for state in lists.states]
    ingot._foreach_add_(steps, 1)
    return [step.item() for step in steps]


__all__ = ["Lists", "ParamsT", "Rule"]
