# SPDX-License-Identifier: Apache-2.0
"""Divergences of further pairs of distributions: of one family with other parameters, of two families, and the pairs
whose divergence is infinite, because the first has events that the second does not have."""

from __future__ import annotations

import math
from typing import Any

import ingot
from ingot._C import Tensor
from ingot.distributions.bounded import ContinuousBernoulli
from ingot.distributions.continuous import Beta, Cauchy, Exponential, Gamma, Laplace, Normal, Uniform
from ingot.distributions.derived import Pareto
from ingot.distributions.discrete import Bernoulli, Binomial, Geometric, OneHotCategorical, Poisson
from ingot.distributions.kl import kl_divergence, register_kl
from ingot.distributions.transformed import Gumbel, HalfNormal, LogNormal

_EULER = 0.57721566490153286060


def _infinite(p: Any, q: Any) -> Tensor:
    like = getattr(p, next(iter(p.arg_constraints)))
    return ingot.full_like(like, math.inf)


_ON_THE_LINE = (Normal, Laplace, Gumbel)
_BOUNDED = (Beta, ContinuousBernoulli, Pareto, Uniform)
for _p, _others in (
    *((one, (*_BOUNDED, Exponential, Gamma)) for one in _ON_THE_LINE),
    (Exponential, _BOUNDED), (Gamma, _BOUNDED), (Pareto, (Beta, ContinuousBernoulli, Uniform)),
    (Beta, (Pareto,)), (ContinuousBernoulli, (Pareto,)), (Poisson, (Bernoulli, Binomial)),
):  # fmt: skip
    for _q in _others:
        register_kl(_p, _q)(_infinite)


@register_kl(Beta, Beta)
def _beta(p: Any, q: Any) -> Tensor:
    total_p, total_q = p.concentration1 + p.concentration0, q.concentration1 + q.concentration0
    norm_q = q.concentration1.lgamma() + q.concentration0.lgamma() + total_p.lgamma()
    norm_p = p.concentration1.lgamma() + p.concentration0.lgamma() + total_q.lgamma()
    return (
        norm_q - norm_p + (p.concentration1 - q.concentration1) * ingot.digamma(p.concentration1)
        + (p.concentration0 - q.concentration0) * ingot.digamma(p.concentration0)
        + (total_q - total_p) * ingot.digamma(total_p)
    )  # fmt: skip


@register_kl(Binomial, Binomial)
def _binomial(p: Any, q: Any) -> Tensor:
    if bool((p.total_count < q.total_count).any()):
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    one = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    found = p.total_count * one
    more = p.total_count > q.total_count
    found[more] = ingot.full_like(found[more], math.inf)
    return found


@register_kl(Geometric, Geometric)
def _geometric(p: Any, q: Any) -> Tensor:
    return -p.entropy() - ingot.log1p(-q.probs) / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: Any, q: Any) -> Tensor:
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(LogNormal, LogNormal)
def _log_normal(p: Any, q: Any) -> Tensor:
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: Any, q: Any) -> Tensor:
    return kl_divergence(p._categorical, q._categorical)


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Any, q: Any) -> Tensor:
    ratio, far = p.scale / q.scale, (q.loc - p.loc) / q.scale
    return -ratio.log() - far + ratio * _EULER + ingot.exp(far + (1 + ratio).lgamma()) - (1 + _EULER)


@register_kl(Pareto, Pareto)
def _pareto(p: Any, q: Any) -> Tensor:
    ratio = q.alpha / p.alpha
    found = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    found[p.scale < q.scale] = math.inf
    return found


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Any, q: Any) -> Tensor:
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: Any, q: Any) -> Tensor:
    own = p._log_norm() + ingot.log1p(-p.probs)
    return p.mean * (p.logits - q.logits) + own - q._log_norm() - ingot.log1p(-q.probs)


@register_kl(Exponential, Gamma)
def _exponential_gamma(p: Any, q: Any) -> Tensor:
    ratio, a = q.rate / p.rate, q.concentration
    return -a * ratio.log() + ratio + a.lgamma() + a * _EULER - (1 + _EULER)


@register_kl(Gamma, Exponential)
def _gamma_exponential(p: Any, q: Any) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.concentration / p.rate


def _against_normal(entropy: Tensor, mean: Tensor, second: Tensor, q: Any) -> Tensor:
    """Of anything with an entropy and two moments."""
    square = q.scale.pow(2)
    distance = second - 2 * mean * q.loc + q.loc.pow(2)
    return 0.5 * (2 * math.pi * square).log() + 0.5 * distance / square - entropy


@register_kl(Exponential, Normal)
@register_kl(Gamma, Normal)
@register_kl(Laplace, Normal)
@register_kl(Uniform, Normal)
@register_kl(Beta, Normal)
def _moments_normal(p: Any, q: Any) -> Tensor:
    return _against_normal(p.entropy(), p.mean, p.variance + p.mean.pow(2), q)


@register_kl(Beta, Uniform)
def _beta_uniform(p: Any, q: Any) -> Tensor:
    found = -p.entropy() + (q.high - q.low).log()
    found[(q.low > 0) | (q.high < 1)] = math.inf
    return found


@register_kl(Beta, Exponential)
def _beta_exponential(p: Any, q: Any) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(Uniform, Exponential)
def _uniform_exponential(p: Any, q: Any) -> Tensor:
    found = q.rate * p.mean - ((p.high - p.low) * q.rate).log()
    found[p.low < 0] = math.inf
    return found
