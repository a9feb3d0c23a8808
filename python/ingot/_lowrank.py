# SPDX-License-Identifier: Apache-2.0
"""Singular value decompositions of low rank by random projections (Halko, Martinsson, Tropp 2009)."""

from __future__ import annotations

import ingot
from ingot._C import Tensor

__all__ = ["get_approximate_basis", "pca_lowrank", "svd_lowrank"]


def get_approximate_basis(a: Tensor, q: int, niter: int | None = 2, M: Tensor | None = None) -> Tensor:  # noqa: N803
    """An orthonormal basis of q vectors that nearly spans the columns of a - M."""
    niter = 2 if niter is None else niter
    dtype = a.dtype if a.is_complex() or a.is_floating_point() else ingot.float32
    start = ingot.randn(a.shape[-1], q, dtype=dtype, device=a.device)

    def times(matrix: Tensor) -> Tensor:
        out = ingot.matmul(a, matrix)
        return out if M is None else out - ingot.matmul(M, matrix)

    def adjoint(matrix: Tensor) -> Tensor:
        out = ingot.matmul(a.mH, matrix)
        return out if M is None else out - ingot.matmul(M.mH, matrix)

    basis = ingot.linalg.qr(times(start)).Q
    for _ in range(niter):
        basis = ingot.linalg.qr(adjoint(basis)).Q
        basis = ingot.linalg.qr(times(basis)).Q
    return basis


def svd_lowrank(
    A: Tensor,
    q: int | None = 6,
    niter: int | None = 2,
    M: Tensor | None = None,  # noqa: N803
) -> tuple[Tensor, Tensor, Tensor]:
    """U, S, V with A - M near U diag(S) V^H, of rank q."""
    q = 6 if q is None else q
    m, n = A.shape[-2:]
    matrix, mean = A, None if M is None else M.broadcast_to(A.size())
    if m < n:
        matrix, mean = A.mH, None if mean is None else mean.mH
    basis = get_approximate_basis(matrix, q, niter, mean)
    small = ingot.matmul(basis.mH, matrix)
    if mean is not None:
        small = small - ingot.matmul(basis.mH, mean)
    u, s, vh = ingot.linalg.svd(small, full_matrices=False)
    u, v = basis.matmul(u), vh.mH
    return (v, s, u) if m < n else (u, s, v)


def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:  # noqa: N803
    """svd_lowrank of the matrix, its columns centred."""
    m, n = A.shape[-2:]
    if q is None:
        q = min(6, m, n)
    elif not (q >= 0 and q <= min(m, n)):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(dim=-2, keepdim=True) if center else A, q, niter=niter)
