# SPDX-License-Identifier: Apache-2.0
"""torch.distributions.constraint_registry: transforms from unconstrained vectors to regions of values.

biject_to(region) is a bijection; transform_to(region) may reach a point from several.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ingot.distributions import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Functions that make a transform for a region, by the class of the region; a region that is one of a kind (the
    simplex) is its own key."""

    def __init__(self) -> None:
        self._registry: dict[Any, Callable] = {}

    def register(self, constraint: Any, factory: Callable | None = None) -> Any:
        """register(region or its class, factory), or a decorator of a factory."""
        if factory is None:
            return lambda made: self.register(constraint, made)
        key = _key(constraint)
        if key is None:
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[key] = factory
        return factory

    def __call__(self, constraint: Any) -> transforms.Transform:
        factory = self._registry.get(_key(constraint))
        if factory is None:
            name = f"_{constraint._name}" if isinstance(constraint, constraints._Test) else type(constraint).__name__
            raise NotImplementedError(f"Cannot transform {name} constraints")
        return factory(constraint)


def _key(constraint: Any) -> Any:
    if isinstance(constraint, constraints._Test):
        return constraint._name
    if isinstance(constraint, constraints.Constraint):
        return type(constraint)
    known = isinstance(constraint, type) and issubclass(constraint, constraints.Constraint)
    return constraint if known else None


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _interval(region: Any) -> transforms.Transform:
    """A sigmoid, and what stretches the unit interval."""
    low, high = region.lower_bound, region.upper_bound
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and low == 0 and high == 1:
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


def _above(region: Any) -> transforms.Transform:
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(region.lower_bound, 1)])


def _below(region: Any) -> transforms.Transform:
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(region.upper_bound, -1)])


for _registry in (biject_to, transform_to):
    _registry.register(constraints.real, lambda region: transforms.identity_transform)
    _registry.register(
        constraints._IndependentConstraint,
        lambda region, to=_registry: transforms.IndependentTransform(
            to(region.base_constraint), region.reinterpreted_batch_ndims
        ),
    )
    _registry.register(constraints._GreaterThan, _above)
    _registry.register(constraints._GreaterThanEq, _above)
    _registry.register(constraints._LessThan, _below)
    _registry.register(constraints._Interval, _interval)
    _registry.register(constraints._HalfOpenInterval, _interval)
    _registry.register(constraints.corr_cholesky, lambda region: transforms.CorrCholeskyTransform())
    _registry.register(
        constraints._Cat,
        lambda region, to=_registry: transforms.CatTransform([to(c) for c in region.cseq], region.dim, region.lengths),
    )
    _registry.register(
        constraints._Stack,
        lambda region, to=_registry: transforms.StackTransform([to(c) for c in region.cseq], region.dim),
    )
biject_to.register(constraints.simplex, lambda region: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda region: transforms.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda region: transforms.LowerCholeskyTransform())
for _region in (constraints.positive_definite, constraints.positive_semidefinite):
    transform_to.register(_region, lambda region: transforms.PositiveDefiniteTransform())
