# SPDX-License-Identifier: Apache-2.0
"""Bessel functions and orthogonal polynomials by identities that hold over their whole range."""

import math

import pytest

import ingot as torch
from ingot.testing import assert_close

S = torch.special


def test_bessel_functions_by_their_wronskian():
    """J1 Y0 - J0 Y1 = 2 / (pi x), across the place where the series changes."""
    x = torch.linspace(0.01, 60, 4001, dtype=torch.float64)
    found = S.bessel_j1(x) * S.bessel_y0(x) - S.bessel_j0(x) * S.bessel_y1(x)
    assert_close(found, 2 / (math.pi * x), rtol=1e-12, atol=1e-15)
    found = S.modified_bessel_i0(x) * S.scaled_modified_bessel_k1(x)
    found = found + S.modified_bessel_i1(x) * S.scaled_modified_bessel_k0(x)
    assert_close(found * (-x).exp(), 1 / x, rtol=1e-12, atol=0)


def test_airy_function_solves_its_equation():
    x = torch.linspace(-12, 6, 1801, dtype=torch.float64)
    h = 1e-3
    second = (S.airy_ai(x + h) - 2 * S.airy_ai(x) + S.airy_ai(x - h)) / h**2
    assert_close(second, x * S.airy_ai(x), rtol=0, atol=2e-3)
    assert abs(S.airy_ai(torch.tensor(0.0)).item() - 0.35502805) < 1e-7


@pytest.mark.parametrize("n", [0, 1, 5, 9, 30])
def test_chebyshev_polynomials_are_cosines(n):
    angle = torch.linspace(0.05, 3.05, 61, dtype=torch.float64)
    x = angle.cos()
    assert_close(S.chebyshev_polynomial_t(x, n), (n * angle).cos(), rtol=0, atol=1e-11)
    assert_close(S.chebyshev_polynomial_u(x, n) * angle.sin(), ((n + 1) * angle).sin(), rtol=0, atol=1e-11)
    assert_close(S.shifted_chebyshev_polynomial_t((x + 1) / 2, n), (n * angle).cos(), rtol=0, atol=1e-11)
    assert_close(S.chebyshev_polynomial_v(x, n) * (angle / 2).cos(), ((n + 0.5) * angle).cos(), rtol=0, atol=1e-11)
    assert_close(S.chebyshev_polynomial_w(x, n) * (angle / 2).sin(), ((n + 0.5) * angle).sin(), rtol=0, atol=1e-11)


def test_other_polynomials():
    x = torch.tensor([-1.5, 0.0, 0.5, 2.0], dtype=torch.float64)
    assert_close(S.hermite_polynomial_h(x, 3), 8 * x**3 - 12 * x)
    assert_close(S.hermite_polynomial_he(x, 4), x**4 - 6 * x**2 + 3)
    assert_close(S.laguerre_polynomial_l(x, 2), (x**2 - 4 * x + 2) / 2)
    assert_close(S.legendre_polynomial_p(x, 3), (5 * x**3 - 3 * x) / 2)
    assert S.legendre_polynomial_p(0.5, torch.tensor([-1, 0, 1])).tolist() == [0.0, 1.0, 0.5]
    assert not S.legendre_polynomial_p(x.requires_grad_(), 2).requires_grad
    with pytest.raises(RuntimeError, match='"bessel_j0_cpu" not implemented for \'Half\''):
        S.bessel_j0(torch.ones(2, dtype=torch.float16))
