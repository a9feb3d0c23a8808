# SPDX-License-Identifier: Apache-2.0
"""Draws of the gamma distribution and of those made from it; the numbers are PyTorch 2.5.1's for the same seed."""

import math

import pytest

import ingot as torch
from ingot import distributions as d
from ingot.testing import assert_close

T = torch.tensor
DRAWS = {
    "gamma": (lambda: torch._standard_gamma(T([0.3, 1.0, 2.5, 40.0])),
              [1.2467646598815918, 0.1425439715385437, 2.7232813835144043, 42.983009338378906], 0.803541898727417),
    "gamma64": (lambda: torch._standard_gamma(T([0.05, 0.7, 12.0], dtype=torch.float64)),
                [0.02994708456041371, 0.14875077594238797, 12.52791146464272], 0.803541898727417),
    "dirichlet": (lambda: torch._sample_dirichlet(T([[0.5, 2.0, 1.0], [3.0, 0.2, 9.0]])),
                  [0.5239580869674683, 0.19514597952365875, 0.2808959186077118, 0.31085386872291565,
                   0.016632676124572754, 0.6725134253501892], 0.2621738910675049),
    "beta": (lambda: d.Beta(T([0.5, 2.0]), T([0.3, 3.0])).sample(),
             [0.9913269877433777, 0.3617610037326813], 0.8709032535552979),
    "student": (lambda: d.StudentT(T([3.0])).sample((3,)),
                [1.8082034587860107, 1.8920539617538452, -0.6363958120346069], 0.803541898727417),
    "negative binomial": (lambda: d.NegativeBinomial(T([5.0]), T([0.4])).sample((3,)),
                          [6.0, 3.0, 5.0], 0.585274338722229),
    "f": (lambda: d.FisherSnedecor(T([7.0]), T([9.0])).sample((2,)),
          [1.8734030723571777, 2.8415138721466064], 0.10250282287597656),
    "inverse gamma": (lambda: d.InverseGamma(T([3.0]), T([2.0])).sample((2,)),
                      [0.4924072325229645, 0.2749635577201843], 0.5721226334571838),
    "half cauchy": (lambda: d.HalfCauchy(T([2.0])).sample((2,)),
                    [2.896993398666382, 5.307584762573242], 0.5839434266090393),
}  # fmt: skip


@pytest.mark.parametrize("name", DRAWS)
def test_draws(name):
    draw, expected, after = DRAWS[name]
    torch.manual_seed(11)
    found = draw().flatten()
    assert found.tolist() == T(expected, dtype=found.dtype).tolist()
    assert torch.rand(1).item() == after


def test_draws_may_be_slightly_off_where_powers_round():
    torch.manual_seed(11)
    found = d.Kumaraswamy(T([1.5]), T([2.0])).sample((2,)).flatten()
    assert_close(found, T([0.7223555445671082, 0.45059332251548767]), rtol=1e-6, atol=0)


@pytest.mark.parametrize(("made", "at", "facts"), [
    (d.Pareto(T([1.0]), T([2.5])), 1.7, (1.66667, 1.0, 2.22222, -0.94091, 0.48371)),
    (d.HalfCauchy(T([2.0])), 0.8, (math.inf, 0.0, math.inf, -1.29315, 2.53102)),
    (d.InverseGamma(T([3.0]), T([2.0])), 0.6, (1.0, 0.5, 1.0, 0.09626, 0.69516)),
    (d.Kumaraswamy(T([1.5]), T([2.0])), 0.3, (0.45, math.nan, 0.05464, 0.31712, -0.09861)),
], ids=lambda x: type(x).__name__)  # fmt: skip
def test_facts_of_distributions(made, at, facts):
    found = [float(v) for v in (made.mean, made.mode, made.variance, made.log_prob(T([at])), made.entropy())]
    assert_close(T(found), T(list(facts)), rtol=1e-4, atol=1e-5, equal_nan=True)


def test_slope_of_draws():
    """dx/da at the same quantile, against differences of the distribution function."""
    a = T([0.2, 0.9, 2.0, 30.0, 800.0], dtype=torch.float64)
    x = T([0.01, 1.4, 1.0, 41.0, 790.0], dtype=torch.float64)
    step = 1e-5 * a
    by_a = (torch.special.gammainc(a + step, x) - torch.special.gammainc(a - step, x)) / (2 * step)
    density = ((a - 1) * x.log() - x - a.lgamma()).exp()
    assert_close(torch._standard_gamma_grad(a, x), -by_a / density, rtol=1e-5, atol=0)
    concentration = T([0.5, 3.0], requires_grad=True)
    torch.manual_seed(1)
    torch._standard_gamma(concentration).sum().backward()
    assert_close(concentration.grad, T([1.9943903684616089, 1.2202973365783691]), rtol=1e-4, atol=0)


def test_refusals():
    with pytest.raises(RuntimeError, match='"gamma_cpu" not implemented for \'Half\''):
        torch._standard_gamma(torch.ones(2).half())
    with pytest.raises(RuntimeError, match="finite concentration"):
        torch._standard_gamma(T([math.nan]))
    assert torch._standard_gamma(torch.ones(0, 3)).shape == (0, 3)
