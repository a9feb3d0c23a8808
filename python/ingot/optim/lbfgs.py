# SPDX-License-Identifier: Apache-2.0
"""L-BFGS, with a line search that satisfies the strong Wolfe conditions if asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ingot
from ingot._C import Tensor
from ingot.optim._rule import ParamsT, check_lr
from ingot.optim.optimizer import Optimizer


@dataclass
class _Point:
    """A place on the line: how far, and the value, gradient and slope there."""

    t: Any
    f: float
    g: Tensor
    slope: Any


def _minimum(a: _Point, b: _Point, bounds: tuple | None = None) -> Any:
    """The minimum of the cubic through two points, between the bounds."""
    low, high = bounds or ((a.t, b.t) if a.t <= b.t else (b.t, a.t))
    d1 = a.slope + b.slope - 3 * (a.f - b.f) / (a.t - b.t)
    square = d1**2 - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2.0
    d2 = square.sqrt()
    if a.t <= b.t:
        best = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    else:
        best = a.t - (a.t - b.t) * ((a.slope + d2 - d1) / (a.slope - b.slope + 2 * d2))
    return min(max(best, low), high)


class _LineSearch:
    """Looks along `d` for a point that decreases the value enough (c1) and the slope enough (c2)."""

    def __init__(self, evaluate: Callable[[Any], tuple[float, Tensor]], d: Tensor, start: _Point) -> None:
        self.evaluate = evaluate
        self.d = d
        self.start = start
        self.evaluations = 0
        self.c1, self.c2, self.least_change, self.limit = 1e-4, 0.9, 1e-9, 25

    def _at(self, t: Any) -> _Point:
        self.evaluations += 1
        f, g = self.evaluate(t)
        return _Point(t, f, g, g.dot(self.d))

    def _is_too_high(self, p: _Point) -> bool:
        return p.f > self.start.f + self.c1 * p.t * self.start.slope

    def _is_flat(self, p: _Point) -> bool:
        return abs(p.slope) <= -self.c2 * self.start.slope

    def run(self, t: Any) -> _Point:
        before, now = self.start, self._at(t)
        tries = 0
        while tries < self.limit:
            if self._is_too_high(now) or (tries > 1 and now.f >= before.f):
                return self._zoom([before, now], tries)
            if self._is_flat(now):
                return now
            if now.slope >= 0:
                return self._zoom([before, now], tries)
            bounds = (now.t + 0.01 * (now.t - before.t), now.t * 10)
            before, now = now, self._at(_minimum(before, now, bounds))
            tries += 1
        first = _Point(0, self.start.f, self.start.g, self.start.slope)
        return first if first.f <= now.f else now

    def _between(self, ends: list[_Point], stalled: bool) -> tuple[Any, bool]:
        """The next place between the ends, not too close to one of them twice in a row."""
        t = _minimum(ends[0], ends[1])
        low, high = min(p.t for p in ends), max(p.t for p in ends)
        margin = 0.1 * (high - low)
        if min(high - t, t - low) >= margin:
            return t, False
        if not (stalled or t >= high or t <= low):
            return t, True
        return (high - margin if abs(t - high) < abs(t - low) else low + margin), False

    def _zoom(self, ends: list[_Point], tries: int) -> _Point:
        size = self.d.abs().max()
        stalled = False
        low, high = (0, 1) if ends[0].f <= ends[1].f else (1, 0)
        done = False
        while not done and tries < self.limit and abs(ends[1].t - ends[0].t) * size >= self.least_change:
            t, stalled = self._between(ends, stalled)
            now = self._at(t)
            tries += 1
            if self._is_too_high(now) or now.f >= ends[low].f:
                ends[high] = now
                low, high = (0, 1) if ends[0].f <= ends[1].f else (1, 0)
                continue
            done = self._is_flat(now)
            if not done and now.slope * (ends[high].t - ends[low].t) >= 0:
                ends[high] = ends[low]
            ends[low] = now
        return ends[low]


class LBFGS(Optimizer):
    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_lr(lr)
        defaults = {
            "lr": lr, "max_iter": max_iter, "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change, "history_size": history_size,
            "line_search_fn": line_search_fn,
        }  # fmt: skip
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]
        self._numel_cache = None

    def _real(self) -> list[Tensor]:
        return [ingot.view_as_real(p) if p.is_complex() else p for p in self._params]

    def _gradient(self) -> Tensor:
        """All gradients as one vector."""
        parts = []
        for param in self._params:
            grad = ingot.zeros_like(param) if param.grad is None else param.grad
            parts.append((ingot.view_as_real(grad) if grad.is_complex() else grad).reshape(-1))
        return ingot.cat(parts, 0)

    def _move(self, t: Any, d: Tensor) -> None:
        at = 0
        for param in self._real():
            param.add_(d[at : at + param.numel()].view_as(param), alpha=t)
            at += param.numel()

    def _direction(self, state: dict[str, Any], gradient: Tensor, history_size: int) -> Tensor:
        """The gradient, negated, times the approximate inverse Hessian."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return gradient.neg()
        y = gradient.sub(state["prev_flat_grad"])
        s = state["d"].mul(state["t"])
        ys = y.dot(s)
        dirs, steps, ro = state["old_dirs"], state["old_stps"], state["ro"]
        if ys > 1e-10:
            if len(dirs) == history_size:
                for kept in (dirs, steps, ro):
                    kept.pop(0)
            dirs.append(y)
            steps.append(s)
            ro.append(1.0 / ys)
            state["H_diag"] = ys / y.dot(y)
        al = state.setdefault("al", [None] * history_size)
        q = gradient.neg()
        for i in reversed(range(len(dirs))):
            al[i] = steps[i].dot(q) * ro[i]
            q.add_(dirs[i], alpha=-al[i].item())
        r = ingot.mul(q, state["H_diag"])
        for i in range(len(dirs)):
            r.add_(steps[i], alpha=(al[i] - dirs[i].dot(r) * ro[i]).item())
        return r

    def _search(self, closure: Callable, t: Any, d: Tensor, here: _Point) -> tuple[_Point, int]:
        saved = [p.clone(memory_format=ingot.contiguous_format) for p in self._params]

        def evaluate(t: Any) -> tuple[float, Tensor]:
            self._move(t, d)
            loss = float(closure())
            gradient = self._gradient()
            for param, old in zip(self._params, saved):
                param.copy_(old)
            return loss, gradient

        search = _LineSearch(evaluate, d, here)
        return search.run(t), search.evaluations

    @ingot.no_grad()
    def step(self, closure: Callable) -> Any:
        closure = ingot.enable_grad()(closure)
        group = self.param_groups[0]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = closure()
        loss = float(first_loss)
        evaluations = 1
        state["func_evals"] += 1
        gradient = self._gradient()
        found = gradient.abs().max() <= group["tolerance_grad"]
        if found:
            return first_loss
        for n in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            d = self._direction(state, gradient, group["history_size"])
            state.update(d=d, prev_flat_grad=gradient.clone(memory_format=ingot.contiguous_format), prev_loss=loss)
            t = group["lr"]
            if state["n_iter"] == 1:
                t = min(1.0, 1.0 / gradient.abs().sum()) * t
            state["t"] = t
            slope = gradient.dot(d)
            if slope > -group["tolerance_change"]:
                break
            before, more = loss, 0
            if group["line_search_fn"] is not None:
                if group["line_search_fn"] != "strong_wolfe":
                    raise RuntimeError("only 'strong_wolfe' is supported")
                here = _Point(0, loss, gradient.clone(memory_format=ingot.contiguous_format), slope)
                point, more = self._search(closure, t, d, here)
                loss, gradient, t = point.f, point.g, point.t
                state["t"] = t
                self._move(t, d)
                found = gradient.abs().max() <= group["tolerance_grad"]
            else:
                self._move(t, d)
                if n != group["max_iter"]:
                    loss = float(closure())
                    gradient = self._gradient()
                    found = gradient.abs().max() <= group["tolerance_grad"]
                    more = 1
            evaluations += more
            state["func_evals"] += more
            change = group["tolerance_change"]
            if evaluations >= group["max_eval"] or found or d.mul(t).abs().max() <= change:
                break
            if abs(loss - before) < change:
                break
        return first_loss


__all__ = ["LBFGS"]
