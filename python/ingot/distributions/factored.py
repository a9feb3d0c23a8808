# SPDX-License-Identifier: Apache-2.0
"""Distributions whose matrices are given by factors: correlations, covariances of low rank."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import ingot
from ingot._C import Tensor
from ingot._modes import no_grad
from ingot.distributions import constraints
from ingot.distributions.continuous import Beta
from ingot.distributions.distribution import Distribution, broadcast_all, lazy_property
from ingot.distributions.multivariate import _batch_mahalanobis


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices whose density is a power of their determinant."""

    arg_constraints: ClassVar = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        marginal = self.concentration + 0.5 * (dim - 2)
        steps = ingot.arange(dim - 1, dtype=self.concentration.dtype, device=self.concentration.device)
        steps = ingot.cat([steps.new_zeros((1,)), steps])
        self._beta = Beta(steps + 0.5, marginal.unsqueeze(-1) - 0.5 * steps)
        super().__init__(self.concentration.size(), (dim, dim), validate_args)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Row by row (the onion method): a radius, and a direction in the row's part of the triangle."""
        with no_grad():
            radius = self._beta.sample(sample_shape).unsqueeze(-1)
            shape = self._extended_shape(sample_shape)
            normal = ingot.randn(shape, dtype=radius.dtype, device=radius.device).tril(-1)
            direction = normal / normal.norm(dim=-1, keepdim=True)
            direction[..., 0, :].fill_(0.0)
            w = ingot.sqrt(radius) * direction
            rest = ingot.clamp(1 - ingot.sum(w**2, dim=-1), min=ingot.finfo(w.dtype).tiny).sqrt()
            return w + ingot.diag_embed(rest)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        below = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = ingot.arange(2, self.dim + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        rows = self.dim - 1
        alpha = self.concentration + 0.5 * rows
        norm = 0.5 * rows * math.log(math.pi) + ingot.mvlgamma(alpha - 0.5, p=rows) - ingot.lgamma(alpha) * rows
        return ingot.sum(order * below.log(), dim=-1) - norm


class LowRankMultivariateNormal(Distribution):
    """A normal distribution of vectors with the covariance W W^T + D: W has few columns, D is diagonal."""

    arg_constraints: ClassVar = {
        "loc": constraints.real_vector, "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }  # fmt: skip
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event[0]} x m")
        if cov_diag.shape[-1:] != event:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event}")
        batch = ingot.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        self.loc = loc.expand((*batch, -1))
        self.cov_factor = cov_factor.expand((*batch, *cov_factor.shape[-2:]))
        self.cov_diag = cov_diag.expand((*batch, -1))
        super().__init__(batch, event, validate_args=validate_args)
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        # The matrix lemmas reduce all that concerns the covariance to the small matrix I + W^T D^-1 W.
        capacitance = self._scaled() @ cov_factor
        small = ingot.eye(cov_factor.size(-1), dtype=loc.dtype, device=loc.device)
        self._capacitance_tril = ingot.linalg.cholesky(capacitance + small)

    def _scaled(self) -> Tensor:
        return self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)

    @property
    def mean(self) -> Tensor:
        return self.loc

    mode = mean

    @lazy_property
    def variance(self) -> Tensor:
        found = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return found.expand(self._batch_shape + self._event_shape)

    def _full(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        return self._full(ingot.linalg.cholesky(self.covariance_matrix))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        factor = self._unbroadcasted_cov_factor
        return self._full(factor @ factor.mT + ingot.diag_embed(self._unbroadcasted_cov_diag))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        part = ingot.linalg.solve_triangular(self._capacitance_tril, self._scaled(), upper=False)
        return self._full(ingot.diag_embed(self._unbroadcasted_cov_diag.reciprocal()) - part.mT @ part)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        options = {"dtype": self.loc.dtype, "device": self.loc.device}
        small = (*shape[:-1], self.cov_factor.shape[-1])
        eps_w = ingot.normal(ingot.zeros(small, **options), ingot.ones(small, **options))
        eps_d = ingot.normal(ingot.zeros(shape, **options), ingot.ones(shape, **options))
        along = (self._unbroadcasted_cov_factor @ eps_w.unsqueeze(-1)).squeeze(-1)
        return self.loc + along + self._unbroadcasted_cov_diag.sqrt() * eps_d

    def _log_det(self) -> Tensor:
        small = 2 * self._capacitance_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        return small + self._unbroadcasted_cov_diag.log().sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        x = value - self.loc
        along = (self._scaled() @ x.unsqueeze(-1)).squeeze(-1)
        distance = (x.pow(2) / self._unbroadcasted_cov_diag).sum(-1)
        distance = distance - _batch_mahalanobis(self._capacitance_tril, along)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + self._log_det() + distance)

    def entropy(self) -> Tensor:
        h = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._log_det())
        return h.expand(self._batch_shape) if len(self._batch_shape) else h
