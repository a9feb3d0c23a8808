# SPDX-License-Identifier: Apache-2.0
"""torch.nn.utils.parametrizations: weights of a given norm, spectral norm, or orthogonal."""

from __future__ import annotations

import enum
from typing import Any

import ingot
from ingot import _C
from ingot._C import Tensor
from ingot._modes import no_grad
from ingot.nn import functional as F  # noqa: N812
from ingot.nn.modules.module import Module
from ingot.nn.utils import parametrize

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


class _WeightNorm(Module):
    """weight = g * v / |v|, the norm over all dimensions but one."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return ingot._weight_norm(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return ingot.norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int = 0) -> Module:
    """The weight is parametrized by its norm (original0) and its direction (original1)."""
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def convert(state: dict, prefix: str, *unused: Any) -> None:
        """State dicts of the older weight_norm have weight_g and weight_v."""
        g, v = f"{prefix}{name}_g", f"{prefix}{name}_v"
        if g in state and v in state:
            state[f"{prefix}parametrizations.{name}.original0"] = state.pop(g)
            state[f"{prefix}parametrizations.{name}.original1"] = state.pop(v)

    module._register_load_state_dict_pre_hook(convert)
    return module


class _SpectralNorm(Module):
    """weight / sigma(weight), sigma estimated by power iteration in training."""

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        if not -weight.ndim <= dim < weight.ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{weight.ndim}, {weight.ndim - 1}] but got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim if dim >= 0 else dim + weight.ndim
        self.eps = eps
        if weight.ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._reshape_weight_to_matrix(weight)
            height, width = matrix.size()
            u = matrix.new_empty(height).normal_(0, 1)
            v = matrix.new_empty(width).normal_(0, 1)
            self.register_buffer("_u", F.normalize(u, dim=0, eps=self.eps))
            self.register_buffer("_v", F.normalize(v, dim=0, eps=self.eps))
            self._power_method(matrix, 15)

    def _reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        if self.dim != 0:
            weight = weight.permute(self.dim, *(d for d in range(weight.dim()) if d != self.dim))
        return weight.flatten(1)

    @no_grad()
    def _power_method(self, matrix: Tensor, iterations: int) -> None:
        for _ in range(iterations):
            self._u = F.normalize(ingot.mv(matrix, self._v), dim=0, eps=self.eps, out=self._u)
            self._v = F.normalize(ingot.mv(matrix.H, self._u), dim=0, eps=self.eps, out=self._v)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._reshape_weight_to_matrix(weight)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        u = self._u.clone(memory_format=_C.contiguous_format)
        v = self._v.clone(memory_format=_C.contiguous_format)
        sigma = ingot.vdot(u, ingot.mv(matrix, v))
        return weight / sigma

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """The weight is divided by its largest singular value."""
    if not hasattr(module, name):
        raise ValueError(f"Module '{module}' has no attribute with name '{name}'")
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        transposed = (ingot.nn.ConvTranspose1d, ingot.nn.ConvTranspose2d, ingot.nn.ConvTranspose3d)
        dim = 1 if isinstance(module, transposed) else 0
    parametrize.register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
    return module


class _OrthMaps(enum.Enum):
    matrix_exp = enum.auto()
    cayley = enum.auto()
    householder = enum.auto()


class _Orthogonal(Module):
    """An orthogonal matrix by the exponential map, Cayley's map or Householder reflectors."""

    base: Tensor | None

    def __init__(self, weight: Tensor, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)
            self.right_inverse = self._trivialized_inverse  # type: ignore[method-assign]
            self._trivial = True
        else:
            self._trivial = False

    def forward(self, x: Tensor) -> Tensor:
        n, k = x.size(-2), x.size(-1)
        transposed = n < k
        if transposed:
            x = x.mT
            n, k = k, n
        if self.orthogonal_map in (_OrthMaps.matrix_exp, _OrthMaps.cayley):
            lower = x.tril()
            if n != k:
                lower = ingot.cat([lower, lower.new_zeros(n, n - k).expand(*lower.shape[:-2], -1, -1)], dim=-1)
            skew = lower - lower.mH
            if self.orthogonal_map == _OrthMaps.matrix_exp:
                q = ingot.matrix_exp(skew)
            else:
                eye = ingot.eye(n, dtype=skew.dtype, device=skew.device)
                q = ingot.linalg.solve(ingot.add(eye, skew, alpha=-0.5), ingot.add(eye, skew, alpha=0.5))
            if n != k:
                q = q[..., :k]
        else:
            below = x.tril(diagonal=-1)
            tau = 2.0 / (1.0 + (below * below).sum(dim=-2))
            q = ingot.linalg.householder_product(below, tau)
            q = q * x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        if self._trivial and self.base is not None:
            q = self.base @ q
        return q.mT if transposed else q

    @no_grad()
    def _trivialized_inverse(self, q: Tensor) -> Tensor:
        """The base takes the value; the parameter is the point -1 that every map takes to the identity: the exponential
        and Cayley's map see only what is below the diagonal."""
        if q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {q.shape}."
            )
        transposed = q.size(-2) < q.size(-1)
        matrix = q.mT if transposed else q
        n, k = matrix.size(-2), matrix.size(-1)
        if n == k:
            near = _is_orthogonal(matrix)
            self.base = (matrix if near else _make_orthogonal(matrix)).clone(memory_format=_C.contiguous_format)
        else:
            full = ingot.cat([matrix, matrix.new_empty(*matrix.shape[:-2], n, n - k).normal_()], dim=-1)
            self.base = _make_orthogonal(full).clone(memory_format=_C.contiguous_format)
        point = ingot.zeros_like(q)
        point.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return point

    @no_grad()
    def right_inverse(self, q: Tensor) -> Tensor:
        if q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {q.shape}."
            )
        if self.orthogonal_map != _OrthMaps.householder:
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                "use_trivialization=False."
            )
        transposed = q.size(-2) < q.size(-1)
        packed, tau = ingot.geqrf(q.mT if transposed else q)
        packed.diagonal(dim1=-2, dim2=-1).sign_()
        packed.diagonal(dim1=-2, dim2=-1)[tau == 0.0] *= -1
        return packed.mT if transposed else packed


def _is_orthogonal(q: Tensor, eps: float | None = None) -> bool:
    n, k = q.size(-2), q.size(-1)
    eye = ingot.eye(k, dtype=q.dtype, device=q.device)
    eps = 10.0 * n * ingot.finfo(q.dtype).eps if eps is None else eps
    return bool(ingot.allclose(q.mH @ q, eye, atol=eps))


def _make_orthogonal(a: Tensor) -> Tensor:
    """The orthogonal factor with a positive diagonal of the other one."""
    x, tau = ingot.geqrf(a)
    q = ingot.linalg.householder_product(x, tau)
    return q * x.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """The weight is an orthogonal (or unitary) matrix."""
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1) or weight.is_complex()
        orthogonal_map = "matrix_exp" if square else "householder"
    chosen = getattr(_OrthMaps, orthogonal_map, None)
    if chosen is None:
        raise ValueError(
            'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". ' + f"Got: {orthogonal_map}"
        )
    parametrize.register_parametrization(
        module, name, _Orthogonal(weight, chosen, use_trivialization=use_trivialization), unsafe=True
    )
    return module
