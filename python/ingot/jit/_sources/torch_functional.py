# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: UP006, UP007, UP035, UP045, F401, F811
"""Functions of torch that are written in Python, for scripts. `aten` has the operators of the same names."""

from __future__ import annotations

from typing import List, Optional, Tuple

import ingot as torch
import ingot.nn.functional as F
from ingot import Tensor
from ingot.jit._compile import Dispatch
from ingot.jit._marks import _overload

TORCH_NAME = "torch.functional"


def cdist(
    x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary"
) -> Tensor:
    if compute_mode == "use_mm_for_euclid_dist_if_necessary":
        return torch.ops.aten.cdist(x1, x2, p, None)
    elif compute_mode == "use_mm_for_euclid_dist":
        return torch.ops.aten.cdist(x1, x2, p, 1)
    elif compute_mode == "donot_use_mm_for_euclid_dist":
        return torch.ops.aten.cdist(x1, x2, p, 2)
    else:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")


def stft(
    input: Tensor,
    n_fft: int,
    hop_length: Optional[int] = None,
    win_length: Optional[int] = None,
    window: Optional[Tensor] = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: Optional[bool] = None,
    return_complex: Optional[bool] = None,
) -> Tensor:
    if center:
        signal_dim = input.dim()
        extended_shape = [1] * (3 - signal_dim) + list(input.size())
        pad = int(n_fft // 2)
        input = F.pad(input.view(extended_shape), [pad, pad], pad_mode)
        input = input.view(input.shape[-signal_dim:])
    return torch.ops.aten.stft(
        input, n_fft, hop_length, win_length, window, normalized, onesided, return_complex
    )


# Unique elements


def _unique_impl(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: Optional[int] = None,
) -> Tuple[Tensor, Tensor, Tensor]:
    if dim is not None:
        output, inverse_indices, counts = torch.ops.aten.unique_dim(
            input, dim, sorted=sorted, return_inverse=return_inverse, return_counts=return_counts
        )
    else:
        output, inverse_indices, counts = torch._unique2(
            input, sorted=sorted, return_inverse=return_inverse, return_counts=return_counts
        )
    return output, inverse_indices, counts


def _return_counts(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: Optional[int] = None,
) -> Tuple[Tensor, Tensor]:
    output, _, counts = _unique_impl(input, sorted, return_inverse, return_counts, dim)
    return output, counts


def _return_output(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: Optional[int] = None,
) -> Tensor:
    output, _, _ = _unique_impl(input, sorted, return_inverse, return_counts, dim)
    return output


def _return_inverse(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: Optional[int] = None,
) -> Tuple[Tensor, Tensor]:
    output, inverse_indices, _ = _unique_impl(input, sorted, return_inverse, return_counts, dim)
    return output, inverse_indices


unique = Dispatch(
    "return_inverse",
    2,
    False,
    Dispatch("return_counts", 3, False, _unique_impl, _return_inverse),
    Dispatch("return_counts", 3, False, _return_counts, _return_output),
)


def _unique_consecutive_impl(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: Optional[int] = None
) -> Tuple[Tensor, Tensor, Tensor]:
    output, inverse_indices, counts = torch.ops.aten.unique_consecutive(
        input, return_inverse=return_inverse, return_counts=return_counts, dim=dim
    )
    return output, inverse_indices, counts


def _consecutive_return_counts(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: Optional[int] = None
) -> Tuple[Tensor, Tensor]:
    output, _, counts = _unique_consecutive_impl(input, return_inverse, return_counts, dim)
    return output, counts


def _consecutive_return_output(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: Optional[int] = None
) -> Tensor:
    output, _, _ = _unique_consecutive_impl(input, return_inverse, return_counts, dim)
    return output


def _consecutive_return_inverse(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: Optional[int] = None
) -> Tuple[Tensor, Tensor]:
    output, inverse_indices, _ = _unique_consecutive_impl(input, return_inverse, return_counts, dim)
    return output, inverse_indices


unique_consecutive = Dispatch(
    "return_inverse",
    1,
    False,
    Dispatch("return_counts", 2, False, _unique_consecutive_impl, _consecutive_return_inverse),
    Dispatch("return_counts", 2, False, _consecutive_return_counts, _consecutive_return_output),
)


# Contractions


@_overload
def tensordot(a: Tensor, b: Tensor, dims: int = 2, out: Optional[Tensor] = None) -> Tensor: ...


@_overload
def tensordot(a: Tensor, b: Tensor, dims: Tuple[List[int], List[int]], out: Optional[Tensor] = None) -> Tensor: ...


@_overload
def tensordot(a: Tensor, b: Tensor, dims: List[List[int]], out: Optional[Tensor] = None) -> Tensor: ...


@_overload
def tensordot(a: Tensor, b: Tensor, dims: Tensor, out: Optional[Tensor] = None) -> Tensor: ...


def tensordot(a, b, dims=2, out: Optional[Tensor] = None):
    dims_a: List[int] = []
    dims_b: List[int] = []
    if isinstance(dims, (tuple, list)):
        dims_a, dims_b = dims
    if isinstance(dims, torch.Tensor):
        num_elements = dims.numel()
        if num_elements > 1:
            assert dims.size()[0] == 2
            dims_a = torch.jit.annotate(List[int], dims[0].tolist())
            dims_b = torch.jit.annotate(List[int], dims[1].tolist())
        else:
            dims_val = int(dims.item())
            if dims_val < 0:
                raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
            dims_a = list(range(-dims_val, 0))
            dims_b = list(range(dims_val))
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims_a = list(range(-dims, 0))
        dims_b = list(range(dims))
    if out is None:
        return torch.ops.aten.tensordot(a, b, dims_a, dims_b)
    else:
        return torch.ops.aten.tensordot(a, b, dims_a, dims_b, out=out)


# Norms


@_overload
def norm(
    input: Tensor,
    p: str = "fro",
    dim: Optional[List[int]] = None,
    keepdim: bool = False,
    out: Optional[Tensor] = None,
    dtype: Optional[int] = None,
) -> Tensor: ...


@_overload
def norm(
    input: Tensor,
    p: Optional[number] = "fro",  # noqa: F821
    dim: Optional[List[int]] = None,
    keepdim: bool = False,
    out: Optional[Tensor] = None,
    dtype: Optional[int] = None,
) -> Tensor: ...


@_overload
def norm(
    input: Tensor,
    p: Optional[number] = "fro",  # noqa: F821
    dim: Optional[int] = None,
    keepdim: bool = False,
    out: Optional[Tensor] = None,
    dtype: Optional[int] = None,
) -> Tensor: ...


@_overload
def norm(
    input: Tensor,
    p: str = "fro",
    dim: Optional[int] = None,
    keepdim: bool = False,
    out: Optional[Tensor] = None,
    dtype: Optional[int] = None,
) -> Tensor: ...


def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    if dim is not None:
        if isinstance(dim, int):
            _dim = [dim]
        else:
            _dim = dim
    else:
        _dim = None
    if isinstance(p, str):
        if p == "fro":
            if out is None:
                return torch.linalg_vector_norm(input, 2, _dim, keepdim, dtype=dtype)
            else:
                return torch.linalg_vector_norm(input, 2, _dim, keepdim, dtype=dtype, out=out)
        elif p == "nuc":
            _axes = [i for i in range(input.ndim)] if _dim is None else _dim  # noqa: C416
            if out is None:
                return torch.linalg_matrix_norm(input, p, _axes, keepdim, dtype=dtype)
            else:
                return torch.linalg_matrix_norm(input, p, _axes, keepdim, dtype=dtype, out=out)
        raise RuntimeError(f"only valid string values are 'fro' and 'nuc', found {p}")
    else:
        _p = 2.0 if p is None else p
        if out is None:
            return torch.linalg_vector_norm(input, _p, _dim, keepdim, dtype=dtype)
        else:
            return torch.linalg_vector_norm(input, _p, _dim, keepdim, dtype=dtype, out=out)
