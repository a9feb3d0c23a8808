# SPDX-License-Identifier: Apache-2.0
"""torch.distributions.constraints: regions of values, each with check(value), which gives a bool per event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ingot
from ingot._C import Tensor

__all__ = [
    "Constraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property", "greater_than",
    "greater_than_eq", "half_open_interval", "independent", "integer_interval", "interval", "is_dependent", "less_than",
    "lower_cholesky", "lower_triangular", "multinomial", "nonnegative", "nonnegative_integer", "one_hot", "positive",
    "positive_definite", "positive_integer", "positive_semidefinite", "real", "real_vector", "simplex", "square",
    "stack", "symmetric", "unit_interval",
]  # fmt: skip


class Constraint:
    """A region of values."""

    is_discrete = False
    event_dim = 0

    def check(self, value: Tensor) -> Tensor:
        """Whether every event is in the region."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return type(self).__name__[1:] + "()"


class _Dependent(Constraint):
    """A region that depends on the parameters of the distribution."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._is_discrete, self._event_dim = is_discrete, event_dim

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        if self._is_discrete is NotImplemented:
            raise NotImplementedError(".is_discrete cannot be determined statically")
        return self._is_discrete

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        if self._event_dim is NotImplemented:
            raise NotImplementedError(".event_dim cannot be determined statically")
        return self._event_dim

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> _Dependent:
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, value: Tensor) -> Tensor:
        raise ValueError("Cannot determine validity of dependent constraint")


class _DependentProperty(property, _Dependent):
    """A property of a distribution that is a region; of the class, a dependent region."""

    def __init__(self, fn: Any = None, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        property.__init__(self, fn)
        _Dependent.__init__(self, is_discrete=is_discrete, event_dim=event_dim)

    def __call__(self, fn: Callable) -> _DependentProperty:  # type: ignore[override]
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


def is_dependent(constraint: Any) -> bool:
    return isinstance(constraint, _Dependent)


class _IndependentConstraint(Constraint):
    """Further dimensions belong to the event."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        result = self.base_constraint.check(value)
        if result.dim() < self.reinterpreted_batch_ndims:
            raise ValueError(
                f"Expected value.dim() >= {self.base_constraint.event_dim + self.reinterpreted_batch_ndims} "
                f"but got {value.dim()}"
            )
        return result.reshape(result.shape[: result.dim() - self.reinterpreted_batch_ndims] + (-1,)).all(-1)

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class _Test(Constraint):
    """A region by a test of single values or events."""

    def __init__(self, name: str, test: Callable, is_discrete: bool = False, event_dim: int = 0) -> None:
        self._name, self._test = name, test
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def check(self, value: Tensor) -> Tensor:
        return self._test(value)

    def __repr__(self) -> str:
        return f"{self._name}()"


class _Range(Constraint):
    """A region between bounds, which may be tensors."""

    lower_bound: Any = None
    upper_bound: Any = None

    def __repr__(self) -> str:
        named = (("lower_bound", self.lower_bound), ("upper_bound", self.upper_bound))
        bounds = ", ".join(f"{name}={value}" for name, value in named if value is not None)
        return f"{type(self).__name__[1:]}({bounds})"


class _GreaterThan(_Range):
    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound

    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound < value


class _GreaterThanEq(_Range):
    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound

    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound <= value


class _LessThan(_Range):
    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return value < self.upper_bound


class _Interval(_Range):
    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Interval):
    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _IntegerInterval(_Interval):
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerGreaterThan(_GreaterThanEq):
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (value >= self.lower_bound)


class _Multinomial(Constraint):
    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, x: Tensor) -> Tensor:
        return (x >= 0).all(dim=-1) & (x.sum(dim=-1) <= self.upper_bound)


class _Cat(Constraint):
    """Regions of parts along a dimension."""

    def __init__(self, cseq: Any, dim: int = 0, lengths: Any = None) -> None:
        self.cseq = list(cseq)
        self.lengths = list(lengths) if lengths is not None else [1] * len(self.cseq)
        self.dim = dim

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        return max(c.event_dim for c in self.cseq)

    def check(self, value: Tensor) -> Tensor:
        parts = value.split(self.lengths, self.dim)
        return ingot.cat([c.check(p) for c, p in zip(self.cseq, parts, strict=True)], self.dim)


class _Stack(_Cat):
    def check(self, value: Tensor) -> Tensor:
        parts = [value.select(self.dim, i) for i in range(value.size(self.dim))]
        return ingot.stack([c.check(p) for c, p in zip(self.cseq, parts, strict=True)], self.dim)


def _square(x: Tensor) -> Tensor:
    return ingot.full(x.shape[:-2], x.shape[-2] == x.shape[-1], dtype=ingot.bool)


def _symmetric(x: Tensor) -> Tensor:
    return _square(x) & ingot.isclose(x, x.mT, atol=1e-6).all(-2).all(-1)


def _lower_triangular(x: Tensor) -> Tensor:
    return (x.tril() == x).view(x.shape[:-2] + (-1,)).all(-1)


def _lower_cholesky(x: Tensor) -> Tensor:
    return _lower_triangular(x) & (x.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


def _corr_cholesky(x: Tensor) -> Tensor:
    tolerance = ingot.finfo(x.dtype).eps * x.size(-1) * 10
    norm = ingot.linalg.norm(x.detach(), dim=-1)
    return _lower_cholesky(x) & (norm - 1).abs().le(tolerance).all(dim=-1)


def _positive_definite(x: Tensor) -> Tensor:
    return _symmetric(x) & ingot.linalg.cholesky_ex(x).info.eq(0)


def _one_hot(x: Tensor) -> Tensor:
    return ((x == 0) | (x == 1)).all(-1) & x.sum(-1).eq(1)


dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean = _Test("Boolean", lambda x: (x == 0) | (x == 1), is_discrete=True)
one_hot = _Test("OneHot", _one_hot, is_discrete=True, event_dim=1)
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Test("Real", lambda x: x == x)  # noqa: PLR0124
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Test("Simplex", lambda x: (x >= 0).all(-1) & ((x.sum(-1) - 1).abs() < 1e-6), event_dim=1)
lower_triangular = _Test("LowerTriangular", _lower_triangular, event_dim=2)
lower_cholesky = _Test("LowerCholesky", _lower_cholesky, event_dim=2)
corr_cholesky = _Test("CorrCholesky", _corr_cholesky, event_dim=2)
square = _Test("Square", _square, event_dim=2)
symmetric = _Test("Symmetric", _symmetric, event_dim=2)
positive_semidefinite = _Test(
    "PositiveSemidefinite", lambda x: _symmetric(x) & ingot.linalg.eigvalsh(x).ge(-1e-6).all(-1), event_dim=2
)
positive_definite = _Test("PositiveDefinite", _positive_definite, event_dim=2)
cat = _Cat
stack = _Stack
