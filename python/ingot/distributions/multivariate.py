# SPDX-License-Identifier: Apache-2.0
"""Distributions over vectors and matrices."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import ingot
from ingot._C import Size, Tensor
from ingot.distributions import constraints
from ingot.distributions.distribution import Distribution, ExponentialFamily, lazy_property


class Dirichlet(ExponentialFamily):
    """A distribution over probabilities."""

    arg_constraints: ClassVar = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        concentration = self.concentration.expand(self._extended_shape(sample_shape))
        if not concentration.requires_grad:
            return ingot._sample_dirichlet(concentration)
        gamma = ingot._standard_gamma(concentration)
        return gamma / gamma.sum(-1, True)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        a = self.concentration
        return ingot.xlogy(a - 1.0, value).sum(-1) + ingot.lgamma(a.sum(-1)) - ingot.lgamma(a).sum(-1)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        less = (self.concentration - 1).clamp(min=0.0)
        mode = less / less.sum(-1, True)
        none = (self.concentration < 1).all(dim=-1)
        mode[none] = ingot.nn.functional.one_hot(mode[none].argmax(dim=-1), self.concentration.shape[-1]).to(mode)
        return mode

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def entropy(self) -> Tensor:
        k = self.concentration.size(-1)
        total = self.concentration.sum(-1)
        return (
            ingot.lgamma(self.concentration).sum(-1) - ingot.lgamma(total) - (k - total) * ingot.digamma(total)
            - ((self.concentration - 1.0) * ingot.digamma(self.concentration)).sum(-1)
        )  # fmt: skip


def _batch_mahalanobis(lower: Tensor, x: Tensor) -> Tensor:
    """x^T (L L^T)^-1 x for batches of both."""
    solved = ingot.linalg.solve_triangular(lower, x.unsqueeze(-1), upper=False)
    return solved.pow(2).sum(-2).squeeze(-1)


def _precision_to_scale_tril(precision: Tensor) -> Tensor:
    flipped = ingot.linalg.cholesky(ingot.flip(precision, (-2, -1)))
    inverse = ingot.transpose(ingot.flip(flipped, (-2, -1)), -2, -1)
    eye = ingot.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return ingot.linalg.solve_triangular(inverse, eye, upper=False)


class MultivariateNormal(Distribution):
    """A normal distribution of vectors, by covariance, precision or the Cholesky factor of the covariance."""

    arg_constraints: ClassVar = {
        "loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky,
    }  # fmt: skip
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self, loc: Tensor, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None, validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        given = {
            "covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril,
        }  # fmt: skip
        given = {name: value for name, value in given.items() if value is not None}
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        if len(given) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            raise ValueError(f"{name} must be at least two-dimensional, with optional leading batch dimensions")
        batch = ingot.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand((*batch, -1, -1)))
        self.loc = loc.expand((*batch, -1))
        super().__init__(batch, self.loc.shape[-1:], validate_args=validate_args)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = ingot.linalg.cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(matrix)

    def _full(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        return self._full(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        return self._full(ingot.matmul(self._unbroadcasted_scale_tril, self._unbroadcasted_scale_tril.mT))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        return self._full(ingot.cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def mean(self) -> Tensor:
        return self.loc

    mode = mean

    @property
    def variance(self) -> Tensor:
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        eps = ingot.normal(
            ingot.zeros(shape, dtype=self.loc.dtype, device=self.loc.device),
            ingot.ones(shape, dtype=self.loc.dtype, device=self.loc.device),
        )
        return self.loc + ingot.matmul(self._unbroadcasted_scale_tril, eps.unsqueeze(-1)).squeeze(-1)

    def _half_log_det(self) -> Tensor:
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        distance = _batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - self._half_log_det()

    def entropy(self) -> Tensor:
        h = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._half_log_det()
        return h.expand(self._batch_shape) if len(self._batch_shape) else h


class Wishart(ExponentialFamily):
    """A distribution over covariance matrices."""

    arg_constraints: ClassVar = {
        "covariance_matrix": constraints.positive_definite, "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky, "df": constraints.greater_than(0),
    }  # fmt: skip
    support = constraints.positive_definite
    has_rsample = True

    def __init__(
        self, df: Any, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None, validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        given = {
            "covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril,
        }  # fmt: skip
        given = {name: value for name, value in given.items() if value is not None}
        if len(given) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        df = df if isinstance(df, Tensor) else ingot.tensor(df, dtype=matrix.dtype, device=matrix.device)
        batch = ingot.broadcast_shapes(matrix.shape[:-2], df.shape)
        self.df = df.expand(batch)
        setattr(self, name, matrix.expand((*batch, -1, -1)))
        super().__init__(batch, matrix.shape[-2:], validate_args=validate_args)
        if bool(self.df.le(self._event_shape[-1] - 1).any()):
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {self._event_shape[-1] - 1}.")
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = ingot.linalg.cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(matrix)
        from ingot.distributions.continuous import Chi2

        steps = ingot.arange(self._event_shape[-1], dtype=matrix.dtype, device=matrix.device).expand((*batch, -1))
        self._dist_chi2 = Chi2(df=self.df.unsqueeze(-1) - steps)

    @lazy_property
    def scale_tril(self) -> Tensor:
        return self._unbroadcasted_scale_tril.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        lower = self._unbroadcasted_scale_tril
        return (lower @ lower.mT).expand(self._batch_shape + self._event_shape)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        return ingot.cholesky_inverse(self._unbroadcasted_scale_tril).expand(self._batch_shape + self._event_shape)

    @property
    def mean(self) -> Tensor:
        return self.df.view(self._batch_shape + (1, 1)) * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self._event_shape[-1] - 1
        factor = ingot.where(factor <= 0, math.nan, factor)
        return factor.view(self._batch_shape + (1, 1)) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        return self.df.view(self._batch_shape + (1, 1)) * (v.pow(2) + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def entropy(self) -> Tensor:
        nu, p = self.df, self._event_shape[-1]
        half = self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        steps = ingot.arange(p, dtype=nu.dtype, device=nu.device).expand((*self._batch_shape, -1))
        digammas = ingot.digamma((nu.unsqueeze(-1) - steps) / 2).sum(-1)
        return (
            (p + 1) * (p * math.log(2) / 2 + half) + ingot.mvlgamma(nu / 2, p=p) - (nu - p - 1) / 2 * digammas
            + nu * p / 2
        )  # fmt: skip

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        p = self._event_shape[-1]
        shape = Size((*sample_shape, *self._batch_shape, p, p))
        noise = self._dist_chi2.rsample(sample_shape).sqrt().diag_embed(dim1=-2, dim2=-1)
        i, j = ingot.tril_indices(p, p, offset=-1)
        noise[..., i, j] = ingot.randn((*shape[:-2], p * (p - 1) // 2), dtype=noise.dtype, device=noise.device)
        chol = self._unbroadcasted_scale_tril @ noise
        return chol @ chol.mT

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        nu, p = self.df, self._event_shape[-1]
        half = self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        trace = ingot.cholesky_solve(value, self._unbroadcasted_scale_tril).diagonal(dim1=-2, dim2=-1).sum(-1)
        return (
            -nu * (p * math.log(2) / 2 + half) - ingot.mvlgamma(nu / 2, p=p)
            + (nu - p - 1) / 2 * ingot.linalg.slogdet(value).logabsdet - trace / 2
        )  # fmt: skip


class Multinomial(Distribution):
    """Counts of the categories in a number of draws."""

    arg_constraints: ClassVar = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(
        self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        from ingot.distributions.discrete import Categorical

        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        super().__init__(
            self._categorical.batch_shape, self._categorical._param.shape[-1:], validate_args=validate_args
        )

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def probs(self) -> Tensor:
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        return self._categorical.logits

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        drawn = self._categorical.sample((self.total_count, *sample_shape))
        drawn = drawn.permute(*range(1, drawn.dim()), 0)
        counts = drawn.new_zeros(self._extended_shape(sample_shape))
        counts.scatter_add_(-1, drawn, ingot.ones_like(drawn))
        return counts.type_as(self.probs)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = ingot.broadcast_tensors(self.logits, value)
        logits = logits.clone(memory_format=ingot.contiguous_format)
        logits[(value == 0) & (logits == -math.inf)] = 0
        return ingot.lgamma(value.sum(-1) + 1) - ingot.lgamma(value + 1).sum(-1) + (logits * value).sum(-1)

    def entropy(self) -> Tensor:
        from ingot.distributions.discrete import Binomial

        n = ingot.tensor(self.total_count)
        counts = Binomial(self.total_count, self.probs)
        support = counts.enumerate_support(expand=False)[1:]
        weights = ingot.exp(counts.log_prob(support))
        rest = (weights * ingot.lgamma(support + 1)).sum([0, -1])
        return n * self._categorical.entropy() - ingot.lgamma(n + 1) + rest


__all__ = ["Dirichlet", "Multinomial", "MultivariateNormal", "Wishart"]
