# SPDX-License-Identifier: Apache-2.0
"""torch.masked: reductions over the elements that a mask keeps."""

from __future__ import annotations

import math
from typing import Any

import ingot
from ingot._C import Tensor

__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp", "mean", "median",
    "norm", "normalize", "prod", "softmax", "softmin", "std", "sum", "var",
]  # fmt: skip


def _prepared(input: Tensor, mask: Tensor | None, fill: Any, dtype: Any) -> Tensor:
    """The input with the identity of the reduction in the place of masked elements."""
    if dtype is not None:
        input = input.to(dtype)
    return input if mask is None else ingot.where(mask, input, ingot.full((), fill, dtype=input.dtype))


def _dims(input: Tensor, dim: Any) -> tuple[int, ...]:
    if dim is None:
        return tuple(range(input.dim()))
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    return tuple(d % max(input.dim(), 1) for d in dims)


def _lowest(input: Tensor) -> Any:
    return -math.inf if input.is_floating_point() else ingot.iinfo(input.dtype).min


def _highest(input: Tensor) -> Any:
    return math.inf if input.is_floating_point() else ingot.iinfo(input.dtype).max


def _widened(input: Tensor, dtype: Any) -> Any:
    """Sums of integers are int64."""
    return dtype if dtype is not None or input.is_floating_point() or input.is_complex() else ingot.int64


def sum(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The sum of the kept elements."""
    return _prepared(input, mask, 0, _widened(input, dtype)).sum(dim=_dims(input, dim), keepdim=keepdim)


def prod(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The product of the kept elements."""
    out = _prepared(input, mask, 1, _widened(input, dtype))
    for d in sorted(_dims(input, dim), reverse=True):
        out = out.prod(dim=d, keepdim=keepdim)
    return out


def amax(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The largest kept element."""
    return _prepared(input, mask, _lowest(input), dtype).amax(dim=_dims(input, dim), keepdim=keepdim)


def amin(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The smallest kept element."""
    return _prepared(input, mask, _highest(input), dtype).amin(dim=_dims(input, dim), keepdim=keepdim)


def argmax(
    input: Tensor, dim: int | None = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The index of the largest kept element."""
    return _prepared(input, mask, _lowest(input), dtype).argmax(dim, keepdim=keepdim)


def argmin(
    input: Tensor, dim: int | None = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The index of the smallest kept element."""
    return _prepared(input, mask, _highest(input), dtype).argmin(dim, keepdim=keepdim)


def cumsum(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Cumulative sums of the kept elements."""
    return _prepared(input, mask, 0, _widened(input, dtype)).cumsum(dim)


def cumprod(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Cumulative products of the kept elements."""
    return _prepared(input, mask, 1, _widened(input, dtype)).cumprod(dim)


def _count(input: Tensor, dims: tuple[int, ...], keepdim: bool, mask: Tensor | None) -> Tensor:
    kept = ingot.ones_like(input, dtype=ingot.int64) if mask is None else mask.expand(input.shape).to(ingot.int64)
    return kept.sum(dim=dims, keepdim=keepdim)


def mean(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The mean of the kept elements."""
    dims = _dims(input, dim)
    if mask is None:
        return input.mean(dim=dims, keepdim=keepdim, dtype=dtype)
    return sum(input, dims, keepdim=keepdim, dtype=dtype, mask=mask) / _count(input, dims, keepdim, mask)


def var(
    input: Tensor, dim: Any = None, unbiased: bool | None = None, *, correction: Any = None, keepdim: bool = False,
    dtype: Any = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The variance of the kept elements."""
    dims = _dims(input, dim)
    if correction is None:
        correction = 1 if unbiased or unbiased is None else 0
    input = input.to(dtype) if dtype is not None else input if input.is_floating_point() else input.float()
    count = _count(input, dims, True, mask)
    centre = sum(input, dims, keepdim=True, mask=mask) / count
    distance = input - centre
    total = sum(distance * distance.conj(), dims, keepdim=keepdim, mask=mask)
    count = count if keepdim else _count(input, dims, False, mask)
    return total / (count - correction).clamp(min=0)


def std(input: Tensor, dim: Any = None, unbiased: bool | None = None, **options: Any) -> Tensor:
    """The standard deviation of the kept elements."""
    return var(input, dim, unbiased, **options).sqrt()


def norm(
    input: Tensor, ord: float = 2.0, dim: Any = None, *, keepdim: bool = False, dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The norm of the vector of the kept elements."""
    fill = math.inf if ord == -math.inf else 0
    return ingot.linalg.vector_norm(_prepared(input, mask, fill, dtype), ord, dim=_dims(input, dim), keepdim=keepdim)


def logsumexp(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """log(sum(exp(x))) over the kept elements."""
    return _prepared(input, mask, _lowest(input), dtype).logsumexp(_dims(input, dim), keepdim=keepdim)


def median(
    input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The median of the kept elements."""
    if mask is None:
        return input.median(dim, keepdim).values
    return _prepared(input, mask, math.nan, dtype).nanmedian(dim, keepdim).values


def softmax(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """softmax over the kept elements."""
    return _prepared(input, mask, -math.inf, dtype).softmax(dim)


def log_softmax(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """log(softmax) over the kept elements."""
    return _prepared(input, mask, -math.inf, dtype).log_softmax(dim)


def softmin(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """softmax of the negated elements."""
    return softmax(-input, dim, dtype=dtype, mask=mask)


def normalize(
    input: Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The kept elements divided by their norm."""
    size = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask).clamp(min=eps)
    return _prepared(input, mask, 0, dtype) / size


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: Any = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """log(exp(x) + exp(y)) of the kept elements."""
    return ingot.logaddexp(
        _prepared(input, input_mask, -math.inf, dtype), _prepared(other, other_mask, -math.inf, dtype)
    )
