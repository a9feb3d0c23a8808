# SPDX-License-Identifier: Apache-2.0
"""torch.distributions: distributions that are sampled, scored and transformed."""

from ingot.distributions import constraints, transforms
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
    Poisson,
)
from ingot.distributions.distribution import Distribution, ExponentialFamily
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
    "Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy", "Chi2", "Dirichlet", "Distribution", "Exponential",
    "ExponentialFamily", "FisherSnedecor", "Gamma", "Geometric", "Gumbel", "HalfCauchy", "HalfNormal", "Independent",
    "InverseGamma", "Kumaraswamy", "Laplace", "LogNormal",
    "MixtureSameFamily", "Multinomial", "MultivariateNormal", "NegativeBinomial", "Normal", "OneHotCategorical",
    "Pareto", "Poisson", "RelaxedBernoulli", "RelaxedOneHotCategorical", "StudentT", "TransformedDistribution",
    "Uniform",
    "Weibull", "Wishart", "constraints", "kl_divergence", "register_kl", "transforms", *_transforms,
]  # fmt: skip
