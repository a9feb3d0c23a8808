# SPDX-License-Identifier: Apache-2.0
"""torch.distributions: distributions that are sampled, scored and transformed."""

from ingot.distributions import constraints, kl_pairs, transforms  # noqa: F401
from ingot.distributions.bounded import ContinuousBernoulli, VonMises
from ingot.distributions.constraint_registry import biject_to, transform_to
from ingot.distributions.continuous import (
    Beta,
    Cauchy,
    Chi2,
    Exponential,
    Gamma,
    Laplace,
    Normal,
    StudentT,
    Uniform,
)
from ingot.distributions.derived import FisherSnedecor, HalfCauchy, InverseGamma, Kumaraswamy, Pareto
from ingot.distributions.discrete import (
    Bernoulli,
    Binomial,
    Categorical,
    Geometric,
    NegativeBinomial,
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
    Poisson,
)
from ingot.distributions.distribution import Distribution, ExponentialFamily
from ingot.distributions.factored import LKJCholesky, LowRankMultivariateNormal
from ingot.distributions.kl import kl_divergence, register_kl
from ingot.distributions.multivariate import Dirichlet, Multinomial, MultivariateNormal, Wishart
from ingot.distributions.transformed import (
    Gumbel,
    HalfNormal,
    Independent,
    LogNormal,
    MixtureSameFamily,
    RelaxedBernoulli,
    RelaxedOneHotCategorical,
    TransformedDistribution,
    Weibull,
)
from ingot.distributions.transforms import *  # noqa: F403
from ingot.distributions.transforms import __all__ as _transforms

__all__ = [
    "Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy", "Chi2", "ContinuousBernoulli", "Dirichlet",
    "Distribution", "Exponential", "ExponentialFamily", "FisherSnedecor", "Gamma", "Geometric", "Gumbel",
    "HalfCauchy", "HalfNormal", "Independent", "InverseGamma", "Kumaraswamy", "LKJCholesky", "Laplace", "LogNormal",
    "LowRankMultivariateNormal", "MixtureSameFamily", "Multinomial", "MultivariateNormal", "NegativeBinomial",
    "Normal", "OneHotCategorical", "OneHotCategoricalStraightThrough", "Pareto", "Poisson", "RelaxedBernoulli",
    "RelaxedOneHotCategorical", "StudentT", "TransformedDistribution", "Uniform", "VonMises", "Weibull", "Wishart",
    "biject_to", "constraints", "kl_divergence", "register_kl", "transform_to", "transforms", *_transforms,
]  # fmt: skip
