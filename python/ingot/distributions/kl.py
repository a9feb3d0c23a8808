# SPDX-License-Identifier: Apache-2.0
"""torch.distributions.kl: divergences of pairs of distributions, by a table of formulas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ingot
from ingot._C import Tensor
from ingot.distributions.continuous import Exponential, Gamma, Laplace, Normal, Uniform
from ingot.distributions.discrete import Bernoulli, Categorical, Poisson
from ingot.distributions.distribution import Distribution
from ingot.distributions.multivariate import Dirichlet, MultivariateNormal, _batch_mahalanobis
from ingot.distributions.transformed import Independent, _sum_rightmost

__all__ = ["kl_divergence", "register_kl"]

_FORMULAS: dict[tuple[type, type], Callable] = {}


def register_kl(type_p: type, type_q: type) -> Callable:
    """A decorator: the formula for distributions of two classes and their subclasses."""
    if not isinstance(type_p, type) or not issubclass(type_p, Distribution):
        raise TypeError(f"Expected type_p to be a Distribution subclass but got {type_p}")
    if not isinstance(type_q, type) or not issubclass(type_q, Distribution):
        raise TypeError(f"Expected type_q to be a Distribution subclass but got {type_q}")

    def decorate(fn: Callable) -> Callable:
        _FORMULAS[type_p, type_q] = fn
        return fn

    return decorate


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The Kullback-Leibler divergence of q from p, by the formula of the nearest classes."""
    for cls_p in type(p).__mro__:
        for cls_q in type(q).__mro__:
            fn = _FORMULAS.get((cls_p, cls_q))
            if fn is not None:
                return fn(p, q)
    raise NotImplementedError(
        f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
    )


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Any, q: Any) -> Tensor:
    softplus = ingot.nn.functional.softplus
    yes = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    yes[q.probs == 0] = float("inf")
    yes[p.probs == 0] = 0
    no = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    no[q.probs == 1] = float("inf")
    no[p.probs == 1] = 0
    return yes + no


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Tensor:
    t = p.probs * (p.logits - q.logits)
    t[(q.probs == 0).expand_as(t)] = float("inf")
    t[(p.probs == 0).expand_as(t)] = 0
    return t.sum(-1)


@register_kl(Laplace, Laplace)
def _laplace(p: Any, q: Any) -> Tensor:
    ratio = p.scale / q.scale
    distance = (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * ingot.exp(-distance / p.scale) - 1


@register_kl(Exponential, Exponential)
def _exponential(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(Gamma, Gamma)
def _gamma(p: Any, q: Any) -> Tensor:
    return (
        q.concentration * (p.rate / q.rate).log() + ingot.lgamma(q.concentration) - ingot.lgamma(p.concentration)
        + (p.concentration - q.concentration) * ingot.digamma(p.concentration)
        + (q.rate - p.rate) * (p.concentration / p.rate)
    )  # fmt: skip


@register_kl(Poisson, Poisson)
def _poisson(p: Any, q: Any) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Uniform, Uniform)
def _uniform(p: Any, q: Any) -> Tensor:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    result[(q.low > p.low) | (q.high < p.high)] = float("inf")
    return result


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Tensor:
    total_p, total_q = p.concentration.sum(-1), q.concentration.sum(-1)
    first = total_p.lgamma() - total_q.lgamma()
    second = (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
    third = p.concentration - q.concentration
    fourth = p.concentration.digamma() - total_p.digamma().unsqueeze(-1)
    return first - second + (third * fourth).sum(-1)


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate(p: Any, q: Any) -> Tensor:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be computed"
        )
    half = q._half_log_det() - p._half_log_det()
    ratio = ingot.linalg.solve_triangular(q._unbroadcasted_scale_tril, p._unbroadcasted_scale_tril, upper=False)
    trace = ratio.pow(2).sum((-2, -1))
    distance = _batch_mahalanobis(q._unbroadcasted_scale_tril, q.loc - p.loc)
    return half + 0.5 * (trace + distance - p.event_shape[0])


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)
