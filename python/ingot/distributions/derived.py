# SPDX-License-Identifier: Apache-2.0
"""Continuous distributions that are made from exponential, Cauchy, uniform and gamma draws."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import ingot
from ingot._C import Tensor
from ingot.distributions import constraints
from ingot.distributions.continuous import Cauchy, Exponential, Gamma, Uniform
from ingot.distributions.distribution import Distribution, broadcast_all
from ingot.distributions.transformed import TransformedDistribution
from ingot.distributions.transforms import AbsTransform, AffineTransform, ExpTransform, PowerTransform

_EULER = 0.57721566490153286060


class Pareto(TransformedDistribution):
    """A Pareto distribution of type 1."""

    arg_constraints: ClassVar = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        transforms = [ExpTransform(), AffineTransform(loc=0, scale=self.scale)]
        super().__init__(base, transforms, validate_args=validate_args)

    @property
    def support(self) -> Any:
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Tensor:
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    @property
    def mode(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        a = self.alpha.clamp(min=2)
        return self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())


class HalfCauchy(TransformedDistribution):
    """The absolute value of a Cauchy distribution around 0."""

    arg_constraints: ClassVar = {"scale": constraints.positive}
    support = constraints.nonnegative

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    @property
    def scale(self) -> Tensor:
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        return ingot.full(self._extended_shape(), math.inf, dtype=self.scale.dtype, device=self.scale.device)

    @property
    def mode(self) -> Tensor:
        return ingot.zeros_like(self.scale)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value = ingot.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device)
        return ingot.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, prob: Tensor) -> Tensor:
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)


class InverseGamma(TransformedDistribution):
    """The reciprocal of a gamma distribution."""

    arg_constraints: ClassVar = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        power = PowerTransform(-base.rate.new_ones(()))
        super().__init__(base, power, validate_args=validate_args)

    @property
    def concentration(self) -> Tensor:
        return self.base_dist.concentration

    @property
    def rate(self) -> Tensor:
        return self.base_dist.rate

    @property
    def mean(self) -> Tensor:
        found = self.rate / (self.concentration - 1)
        return ingot.where(self.concentration > 1, found, math.inf)

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        found = self.rate.square() / ((self.concentration - 1).square() * (self.concentration - 2))
        return ingot.where(self.concentration > 2, found, math.inf)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()


class Kumaraswamy(TransformedDistribution):
    """A Kumaraswamy distribution on the unit interval."""

    arg_constraints: ClassVar = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        limits = ingot.finfo(self.concentration0.dtype)
        base = Uniform(
            ingot.full_like(self.concentration0, limits.tiny), ingot.full_like(self.concentration0, 1 - limits.eps),
            validate_args=validate_args,
        )  # fmt: skip
        transforms = [
            PowerTransform(exponent=self.concentration0.reciprocal()),
            AffineTransform(loc=1.0, scale=-1.0),
            PowerTransform(exponent=self.concentration1.reciprocal()),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    def _moment(self, n: int) -> Tensor:
        arg = 1 + n / self.concentration1
        rest = ingot.lgamma(arg) + ingot.lgamma(self.concentration0) - ingot.lgamma(arg + self.concentration0)
        return self.concentration0 * ingot.exp(rest)

    @property
    def mean(self) -> Tensor:
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        found = (a.reciprocal() * (-b).log1p() - (-a * b).log1p()).exp()
        return ingot.where((a < 1) | (b < 1), math.nan, found)

    @property
    def variance(self) -> Tensor:
        return self._moment(2) - self.mean.pow(2)

    def entropy(self) -> Tensor:
        t1 = 1 - self.concentration1.reciprocal()
        t0 = 1 - self.concentration0.reciprocal()
        harmonic = ingot.digamma(self.concentration0 + 1) + _EULER
        return t0 + t1 * harmonic - ingot.log(self.concentration1) - ingot.log(self.concentration0)


class FisherSnedecor(Distribution):
    """The ratio of two gamma distributions: the F distribution."""

    arg_constraints: ClassVar = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        numbers = not isinstance(df1, Tensor) and not isinstance(df2, Tensor)
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2)
        super().__init__(() if numbers else self.df1.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return ingot.where(self.df2 > 2, self.df2 / (self.df2 - 2), math.nan)

    @property
    def mode(self) -> Tensor:
        found = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return ingot.where(self.df1 > 2, found, math.nan)

    @property
    def variance(self) -> Tensor:
        rest = self.df2 - 2
        found = 2 * self.df2.pow(2) * (self.df1 + rest) / (self.df1 * rest.pow(2) * (self.df2 - 4))
        return ingot.where(self.df2 > 4, found, math.nan)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        x1 = self._gamma1.rsample(sample_shape).view(shape)
        x2 = self._gamma2.rsample(sample_shape).view(shape)
        x2.detach().clamp_(min=ingot.finfo(x2.dtype).tiny)
        y = x1 / x2
        y.detach().clamp_(min=ingot.finfo(x2.dtype).tiny)
        return y

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        half1, half2 = self.df1 * 0.5, self.df2 * 0.5
        ratio = self.df1 / self.df2
        t1 = (half1 + half2).lgamma() - half1.lgamma() - half2.lgamma()
        t2 = half1 * ratio.log() + (half1 - 1) * ingot.log(value)
        return t1 + t2 - (half1 + half2) * ingot.log1p(ratio * value)
