# SPDX-License-Identifier: Apache-2.0
"""Distributions on bounded intervals: the continuous Bernoulli distribution and the circle."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import ingot
from ingot._C import Tensor
from ingot._modes import no_grad
from ingot.distributions import constraints
from ingot.distributions.discrete import _ByProbability
from ingot.distributions.distribution import Distribution, ExponentialFamily, broadcast_all, clamp_probs, lazy_property


class ContinuousBernoulli(_ByProbability, ExponentialFamily):
    """A density on the unit interval that is proportional to p^x (1 - p)^(1 - x). Around p = 1/2 its formulas are
    quotients of small numbers, so that series replace them between the limits."""

    arg_constraints: ClassVar = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self, probs: Any = None, logits: Any = None, lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        check = self._validate_args if validate_args is None else validate_args
        if check and probs is not None and not bool(constraints.unit_interval.check(ingot.as_tensor(probs)).all()):
            raise ValueError("The parameter probs has invalid values")
        self._lims = lims
        self._take(probs, logits, validate_args)
        if probs is not None:
            self.probs = self._param = clamp_probs(self.probs)

    def _outside(self) -> Tensor:
        return ingot.max(ingot.le(self.probs, self._lims[0]), ingot.gt(self.probs, self._lims[1]))

    def _cut(self) -> Tensor:
        """The probabilities, away from the interval of the series."""
        return ingot.where(self._outside(), self.probs, self._lims[0] * ingot.ones_like(self.probs))

    def _log_norm(self) -> Tensor:
        cut = self._cut()
        below = ingot.where(ingot.le(cut, 0.5), cut, ingot.zeros_like(cut))
        above = ingot.where(ingot.ge(cut, 0.5), cut, ingot.ones_like(cut))
        distance = ingot.where(ingot.le(cut, 0.5), ingot.log1p(-2.0 * below), ingot.log(2.0 * above - 1.0))
        found = ingot.log(ingot.abs(ingot.log1p(-cut) - ingot.log(cut))) - distance
        x = ingot.pow(self.probs - 0.5, 2)
        return ingot.where(self._outside(), found, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    def mean(self) -> Tensor:
        cut = self._cut()
        found = cut / (2.0 * cut - 1.0) + 1.0 / (ingot.log1p(-cut) - ingot.log(cut))
        x = self.probs - 0.5
        return ingot.where(self._outside(), found, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * ingot.pow(x, 2)) * x)

    @property
    def stddev(self) -> Tensor:
        return ingot.sqrt(self.variance)

    @property
    def variance(self) -> Tensor:
        cut = self._cut()
        found = cut * (cut - 1.0) / ingot.pow(1.0 - 2.0 * cut, 2)
        found = found + 1.0 / ingot.pow(ingot.log1p(-cut) - ingot.log(cut), 2)
        x = ingot.pow(self.probs - 0.5, 2)
        return ingot.where(self._outside(), found, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        u = ingot.rand(self._extended_shape(sample_shape), dtype=self.probs.dtype, device=self.probs.device)
        return self.icdf(u)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            return self.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        entropy = ingot.nn.functional.binary_cross_entropy_with_logits(logits, value, reduction="none")
        return -entropy + self._log_norm()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        cut = self._cut()
        found = (ingot.pow(cut, value) * ingot.pow(1.0 - cut, 1.0 - value) + cut - 1.0) / (2.0 * cut - 1.0)
        found = ingot.where(self._outside(), found, value)
        found = ingot.where(ingot.ge(value, 1.0), ingot.ones_like(value), found)
        return ingot.where(ingot.le(value, 0.0), ingot.zeros_like(value), found)

    def icdf(self, value: Tensor) -> Tensor:
        cut = self._cut()
        found = ingot.log1p(-cut + value * (2.0 * cut - 1.0)) - ingot.log1p(-cut)
        return ingot.where(self._outside(), found / (ingot.log(cut) - ingot.log1p(-cut)), value)

    def entropy(self) -> Tensor:
        no, yes = ingot.log1p(-self.probs), ingot.log(self.probs)
        return self.mean * (no - yes) - self._log_norm() - no


class VonMises(Distribution):
    """Angles around a location: the normal distribution of the circle."""

    arg_constraints: ClassVar = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        k = self.concentration
        return k * ingot.cos(value - self.loc) - math.log(2 * math.pi) - (ingot.special.i0e(k).log() + k)

    @lazy_property
    def _proposal_r(self) -> Tensor:
        k = self.concentration.double()
        tau = 1 + (1 + 4 * k**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * k)
        return ingot.where(k < 1e-5, 1 / k + k, (1 + rho**2) / (2 * rho))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """By rejection from a wrapped Cauchy distribution (Best and Fisher, 1979), in double precision."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            k = self.concentration.double().expand(shape)
            r = self._proposal_r.expand(shape)
            x = ingot.empty(shape, dtype=ingot.float64, device=self.loc.device)
            done = ingot.zeros(shape, dtype=ingot.bool, device=self.loc.device)
            while not bool(done.all()):
                u1, u2, u3 = ingot.rand((3, *shape), dtype=ingot.float64, device=self.loc.device).unbind()
                z = ingot.cos(math.pi * u1)
                f = (1 + r * z) / (r + z)
                c = k * (r - f)
                accept = ((c * (2 - c) - u2) > 0) | ((c / u2).log() + 1 - c >= 0)
                x = ingot.where(accept, (u3 - 0.5).sign() * f.acos(), x)
                done = done | accept
            angle = (x + math.pi + self.loc.double()) % (2 * math.pi) - math.pi
            return angle.to(self.loc.dtype)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        return 1 - ingot.special.i1e(self.concentration) / ingot.special.i0e(self.concentration)
