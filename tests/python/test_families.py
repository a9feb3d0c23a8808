# SPDX-License-Identifier: Apache-2.0
"""Families of operators whose results have properties that no sample shows: factors multiply back, transforms turn
back, in-place forms have the gradients of the functional ones."""

import itertools
import math

import numpy as np
import pytest

import ingot as torch
from ingot.nn import functional as F
from ingot.testing import assert_close


@pytest.mark.parametrize("size", [(4, 4), (5, 3), (3, 5), (2, 4, 3)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex128])
@pytest.mark.parametrize("full", [False, True])
def test_svd_multiplies_back(size, dtype, full):
    torch.manual_seed(1)
    a = torch.randn(*size, dtype=dtype)
    u, s, vh = torch.linalg.svd(a, full_matrices=full)
    k = s.shape[-1]
    assert_close((u[..., :k] * s.unsqueeze(-2).to(dtype)) @ vh[..., :k, :], a, atol=1e-5, rtol=1e-5)
    for q in (u, vh.mH):
        eye = torch.eye(q.shape[-1], dtype=dtype).expand(*size[:-2], -1, -1)
        assert_close(q.mH @ q, eye, atol=1e-5, rtol=1e-5)
    assert bool((s[..., :-1] >= s[..., 1:]).all())
    assert_close(torch.linalg.svdvals(a), s, atol=1e-5, rtol=1e-5)


def test_svd_of_less_than_full_rank():
    a = torch.ones(4, 3, dtype=torch.float64)
    u, s, vh = torch.linalg.svd(a)
    assert_close(s, torch.tensor([math.sqrt(12), 0, 0], dtype=torch.float64), atol=1e-12, rtol=0)
    assert_close(u.mT @ u, torch.eye(4, dtype=torch.float64), atol=1e-12, rtol=0)
    assert torch.linalg.matrix_rank(a).item() == 1
    p = torch.linalg.pinv(a)
    assert_close(a @ p @ a, a)
    with pytest.raises(RuntimeError, match="non-finite"):
        torch.linalg.svd(a * math.nan)
    with pytest.raises(RuntimeError, match=r"\(Batch element 1\).*non-finite"):
        torch.linalg.svdvals(torch.stack([a, a * math.nan]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex128])
def test_svd_of_infinities_is_nan(dtype):
    a = torch.ones(2, 3, 2, dtype=dtype)
    a[1, 2, 0] = math.inf
    u, s, vh = torch.linalg.svd(a, full_matrices=False)
    assert bool(s[0].isfinite().all()) and bool(s[1].isnan().all())
    assert bool(u[0].isfinite().all()) and bool(vh[0].isfinite().all())
    assert torch.linalg.matrix_rank(a).tolist() == [1, 0]


@pytest.mark.parametrize("size", [(0, 3), (3, 0), (2, 0, 3), (0, 3, 2)])
def test_svd_of_nothing(size):
    u, s, vh = torch.linalg.svd(torch.ones(*size))
    m, n = size[-2:]
    assert u.shape == (*size[:-2], m, m) and s.shape == (*size[:-2], min(m, n)) and vh.shape == (*size[:-2], n, n)
    assert_close(u, torch.eye(m).expand(*size[:-2], -1, -1))
    assert_close(vh, torch.eye(n).expand(*size[:-2], -1, -1))


def test_reflections_make_the_factors():
    torch.manual_seed(2)
    a = torch.randn(5, 3, dtype=torch.float64)
    packed, tau = torch.geqrf(a)
    q = torch.linalg.householder_product(packed, tau)
    assert_close(q @ packed[:3].triu(), a)
    x = torch.randn(5, 2, dtype=torch.float64)
    assert_close(torch.ormqr(packed, tau, torch.ormqr(packed, tau, x), transpose=True), x)


def test_exponential_of_large_matrices():
    torch.manual_seed(3)
    a = 8 * torch.randn(4, 4, dtype=torch.float64)
    assert_close(torch.matrix_exp(a) @ torch.matrix_exp(-a), torch.eye(4, dtype=torch.float64), atol=1e-6, rtol=0)


@pytest.mark.parametrize("n", [1, 2, 5, 8, 12, 67, 97])
def test_transforms_turn_back(n):
    torch.manual_seed(n)
    x = torch.randn(3, n, dtype=torch.float64)
    assert_close(torch.fft.irfft(torch.fft.rfft(x), n), x)
    assert_close(torch.fft.ifft(torch.fft.fft(x)).real, x)
    assert_close(torch.fft.ifftn(torch.fft.fftn(x, norm="ortho"), norm="ortho").real, x)
    assert_close(torch.fft.hfft(torch.fft.ihfft(x), n), x)
    spectrum = torch.fft.fft(x, norm="ortho")
    assert_close((spectrum.abs() ** 2).sum(), (x**2).sum())


def test_stft_turns_back_and_is_captured():
    torch.manual_seed(4)
    x = torch.randn(2, 64)
    window = torch.hann_window(16)
    spectrum = torch.stft(x, 16, 4, window=window, return_complex=True)
    assert spectrum.shape == (2, 9, 17)
    assert_close(torch.istft(spectrum, 16, 4, window=window), x, atol=1e-5, rtol=1e-5)
    assert torch.istft(spectrum, 16, 4, window=window, length=60).shape == (2, 60)

    class Model(torch.nn.Module):
        def forward(self, x, w):
            return torch.stft(x, 16, 4, window=w, return_complex=True).abs()

    batch = torch.export.Dim("batch", min=2)
    program = torch.export.export(Model(), (x, window), dynamic_shapes={"x": {0: batch}, "w": None})
    more = torch.randn(5, 64)
    assert_close(program.run_decompositions().module()(more, window), Model()(more, window))


def test_ctc_counts_all_alignments():
    """The likelihood is the sum over every row of labels that collapses to the target."""
    torch.manual_seed(5)
    log_probs = torch.randn(4, 1, 3, dtype=torch.float64).log_softmax(2)
    target = [1, 2]

    def collapsed(path):
        merged = [k for k, _ in itertools.groupby(path)]
        return [k for k in merged if k != 0]

    total = 0.0
    for path in itertools.product(range(3), repeat=4):
        if collapsed(path) == target:
            total += math.exp(sum(log_probs[t, 0, k].item() for t, k in enumerate(path)))
    loss = F.ctc_loss(log_probs, torch.tensor([target]), torch.tensor([4]), torch.tensor([2]), reduction="sum")
    assert abs(loss.item() + math.log(total)) < 1e-9
    impossible = F.ctc_loss(log_probs, torch.tensor([[1, 1, 1]]), [4], [3], reduction="none")
    assert impossible.item() == math.inf
    assert F.ctc_loss(log_probs, torch.tensor([[1, 1, 1]]), [4], [3], zero_infinity=True).item() == 0


def test_ctc_gradient_of_scores():
    torch.manual_seed(6)
    scores = torch.randn(5, 2, 4, dtype=torch.float64, requires_grad=True)

    def loss(scores):
        return F.ctc_loss(scores.log_softmax(2), torch.tensor([[1, 2], [3, 3]]), [5, 5], [2, 2], reduction="sum")

    (gradient,) = torch.autograd.grad(loss(scores), scores)
    for place in ((0, 0, 0), (2, 1, 3), (4, 0, 2)):
        step = torch.zeros_like(scores)
        step[place] = 1e-6
        slope = (loss(scores.detach() + step) - loss(scores.detach() - step)) / 2e-6
        assert abs(slope.item() - gradient[place].item()) < 1e-6


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_embedding_bag_is_made_of_rows(mode):
    torch.manual_seed(7)
    weight = torch.randn(6, 3, requires_grad=True)
    indices, offsets = torch.tensor([0, 5, 2, 2, 1]), torch.tensor([0, 2, 2])
    found = F.embedding_bag(indices, weight, offsets, mode=mode)
    rows = [weight[indices[:2]], weight[indices[2:]]]
    reduce = {"sum": lambda x: x.sum(0), "mean": lambda x: x.mean(0), "max": lambda x: x.max(0)[0]}[mode]
    expected = torch.stack([reduce(rows[0]), torch.zeros(3), reduce(rows[1])])
    assert_close(found, expected)
    factors = torch.arange(9.0).reshape(3, 3)
    (one,) = torch.autograd.grad((found * factors).sum(), weight)
    (two,) = torch.autograd.grad((expected * factors).sum(), weight)
    assert_close(one, two)
    same = F.embedding_bag(indices, weight, torch.tensor([0, 2, 2, 5]), mode=mode, include_last_offset=True)
    assert_close(same, found)


INPLACE = {
    "addcmul_": lambda x, y, z: x.addcmul_(y, z, value=2),
    "addcdiv_": lambda x, y, z: x.addcdiv_(y, z, value=0.5),
    "selu_": lambda x, y, z: torch.selu_(x),
    "celu_": lambda x, y, z: torch.celu_(x, 0.5),
    "index_put_": lambda x, y, z: x.index_put_([torch.tensor([0, 2])], y[:2], accumulate=True),
}


@pytest.mark.parametrize("name", INPLACE)
def test_inplace_forms_of_composites_have_gradients(name):
    torch.manual_seed(8)
    x, y, z = (torch.rand(3, dtype=torch.float64).add(0.5).mul(s).requires_grad_() for s in (-1, 1, 1))

    def loss(x, y, z):
        return (INPLACE[name](x.clone(), y, z) * torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)).sum()

    found = torch.autograd.grad(loss(x, y, z), (x, y, z), allow_unused=True)
    for i, gradient in enumerate(found):
        for k in range(3):
            low, high = [v.detach().clone() for v in (x, y, z)], [v.detach().clone() for v in (x, y, z)]
            low[i][k] -= 1e-6
            high[i][k] += 1e-6
            slope = (loss(*high) - loss(*low)).item() / 2e-6
            assert abs(slope - (0 if gradient is None else gradient[k].item())) < 1e-6


def test_random_counts_are_those_of_the_seed():
    torch.manual_seed(3)
    assert torch.poisson(torch.tensor([0.0, 0.5, 3.0, 20.0, 100.0])).tolist() == [0, 0, 2, 24, 90]
    count, chance = torch.tensor([10.0, 100.0, 5.0, 40.0, 7.0]), torch.tensor([0.3, 0.5, 0.9, 0.8, 0.0])
    assert torch.binomial(count, chance).tolist() == [3, 49, 4, 34, 0]
    with pytest.raises(RuntimeError, match="non-negative"):
        torch.poisson(torch.tensor([-1.0]))


def test_resize_as_changes_self():
    x = torch.arange(6.0)
    assert x.resize_as_(torch.empty(2, 2)) is x
    assert x.tolist() == [[0, 1], [2, 3]]
    assert torch.ops.aten.resize(torch.arange(3.0), [2, 2]).tolist() == [[0, 1], [2, 0]]


def test_questions_about_metadata():
    x = torch.zeros(2, 3, dtype=torch.complex64)
    assert torch.ops.aten.is_complex(x) and not torch.ops.aten.is_floating_point(x)
    assert torch.ops.aten.size.int(x, -1) == 3 and torch.ops.aten.stride.int(x, 0) == 3
    assert torch.ops.aten.can_cast(torch.int64, torch.float32)
    with pytest.raises(IndexError):
        torch.ops.aten.size.int(x, 2)


def test_systems_are_solved():
    torch.manual_seed(3)
    a = torch.randn(2, 4, 4, dtype=torch.float64)
    b = torch.randn(4, 3, dtype=torch.float64)
    assert_close(a @ torch.linalg.solve(a, b), b.expand(2, 4, 3))
    assert_close(torch.linalg.solve(a, b.T, left=False) @ a, b.T.expand(2, 3, 4))
    v = torch.randn(2, 4, dtype=torch.float64)
    assert_close((a @ torch.linalg.solve(a, v).unsqueeze(-1)).squeeze(-1), v)
    for t in (a, a[:, :, :2], a[:, :2]):
        p, low, up = torch.linalg.lu(t)
        assert_close(p @ low @ up, t)
    factors, pivots = torch.linalg.lu_factor(a)
    assert_close(a @ torch.linalg.lu_solve(factors, pivots, b.expand(2, -1, -1)), b.expand(2, 4, 3))
    with pytest.raises(RuntimeError, match="singular"):
        torch.linalg.solve(torch.zeros(2, 2), torch.ones(2))
    result, info = torch.linalg.solve_ex(torch.zeros(2, 2), torch.ones(2))
    assert info.item() == 1
    with pytest.raises(RuntimeError, match=r"U\[1,1\] is zero"):
        torch.linalg.lu_factor(torch.zeros(2, 2))
    with pytest.raises(RuntimeError, match="AX = B"):
        torch.linalg.solve(torch.eye(3), torch.ones(2, 2))


def test_unique_elements_and_rows():
    x = torch.tensor([[3.0, -0.0, 1.0], [1.0, 0.0, 3.0]])
    values, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True)
    assert values.tolist() == [0, 1, 3] and counts.tolist() == [2, 2, 2]
    assert inverse.tolist() == [[2, 0, 1], [1, 0, 2]]
    rows = torch.tensor([[1, 2], [0, 5], [1, 2], [0, 4]])
    values, inverse, counts = torch.unique(rows, dim=0, return_inverse=True, return_counts=True)
    assert values.tolist() == [[0, 4], [0, 5], [1, 2]]
    assert inverse.tolist() == [2, 1, 2, 0] and counts.tolist() == [1, 1, 2]
    assert torch.unique(torch.tensor([], dtype=torch.int64)).shape == (0,)
    with pytest.raises(RuntimeError, match="0 sized"):
        torch.unique(torch.zeros(0, 2), dim=0)

    class Unique(torch.nn.Module):
        def forward(self, x):
            return torch.unique(x) * 2

    program = torch.export.export(Unique(), (torch.tensor([3, 1, 3]),))
    assert program.module()(torch.tensor([5, 2, 7])).tolist() == [4, 10, 14]


def test_normal_distribution_far_out():
    p = torch.tensor([1e-300, 1e-20, 1e-5, 0.3, 0.5, 0.999], dtype=torch.float64)
    x = torch.special.ndtri(p)
    assert_close(torch.special.log_ndtr(x), p.log(), rtol=1e-12, atol=1e-12)
    assert torch.special.ndtri(torch.tensor([0.0, 1.0, 2.0])).tolist()[:2] == [-math.inf, math.inf]
    t = torch.tensor([-3.0, 0.0, 5.0, 20.0, 1e4], dtype=torch.float64)
    assert_close(torch.special.erfcx(t)[:3], (t * t).exp()[:3] * torch.special.erfc(t)[:3], rtol=1e-13, atol=0)
    assert torch.special.erfcx(t)[4].item() * 1e4 == pytest.approx(1 / math.sqrt(math.pi), rel=1e-8)


def test_copies_by_index_check_their_shapes():
    x = torch.zeros(3, 4)
    with pytest.raises(IndexError, match=r"Number of indices \(2\) should be equal to source.size\(dim\) \(3\)"):
        x.index_copy(0, torch.tensor([0, 1]), torch.ones(3, 4))
    with pytest.raises(RuntimeError, match="same slice shapes"):
        x.index_copy(0, torch.tensor([0, 1]), torch.ones(2, 5))
    with pytest.raises(RuntimeError, match="same dtype"):
        x.index_copy(0, torch.tensor([0]), torch.ones(1, 4, dtype=torch.float64))
    x.index_copy_(1, torch.tensor([3, 0]), torch.ones(3, 2))
    assert x.sum(0).tolist() == [3, 0, 0, 3]


def test_weights_have_lengths():
    torch.manual_seed(4)
    v, g = torch.randn(4, 3, 5), torch.rand(4, 1, 1)
    for dim in (0, 1, 2, -1):
        norm = torch.norm_except_dim(v, 2, dim)
        other = [d for d in range(3) if d != dim] if dim >= 0 else [0, 1, 2]
        assert_close(norm, torch.linalg.vector_norm(v, dim=other, keepdim=dim >= 0))
    w = torch._weight_norm(v, g, 0)
    assert_close(torch.linalg.vector_norm(w, dim=(1, 2)), g.flatten())


@pytest.mark.parametrize("name", ["uint8", "int8", "int16", "uint16", "uint32", "int32"])
def test_small_integers_wrap_around(name):
    info = np.iinfo(name)
    random = np.random.default_rng(3)
    a, b = (random.integers(info.min, info.max, 1000, dtype=name, endpoint=True) for _ in range(2))
    x, y = torch.from_numpy(a), torch.from_numpy(b)
    for ours, theirs in (
        (torch.add, np.add),
        (torch.sub, np.subtract),
        (torch.mul, np.multiply),
        (torch.bitwise_and, np.bitwise_and),
        (torch.bitwise_or, np.bitwise_or),
        (torch.bitwise_xor, np.bitwise_xor),
        (torch.maximum, np.maximum),
        (torch.minimum, np.minimum),
        (torch.lt, np.less),
    ):
        assert np.array_equal(ours(x, y).numpy(), theirs(a, b)), ours
    wide = a.astype("int64") - 3 * b.astype("int64")
    assert np.array_equal(torch.sub(x, y, alpha=3).numpy(), wide.astype(name))


SPECIAL = [0, -0.0, math.inf, -math.inf, math.nan, 1, -1, 1e-45, 3e38, -3e38, 2.5, 127.5, -126.5, -149, -150, 128, 1e9]


def test_remainders_are_exact():
    random = np.random.default_rng(4)
    spread = random.standard_normal((2, 4000)) * np.exp(random.uniform(-20, 20, (2, 4000)))
    spread = spread.astype("float32")
    whole = (spread[1] * random.integers(-1000, 1000, 4000)).astype("float32")
    special = np.array(SPECIAL, dtype="float32")
    pairs = [(spread[0], spread[1]), (whole, spread[1]), (np.repeat(special, 17), np.tile(special, 17))]
    with np.errstate(all="ignore"):
        for a, b in pairs:
            want = np.fmod(a, b)
            got = torch.fmod(torch.from_numpy(a), torch.from_numpy(b)).numpy()
            assert np.array_equal(got, want, equal_nan=True)
            assert np.array_equal(np.signbit(got)[~np.isnan(want)], np.signbit(want)[~np.isnan(want)])
            floor = np.where((want != 0) & ((b < 0) != (want < 0)), want + b, want)
            x = torch.from_numpy(a.copy())
            assert np.array_equal(x.remainder_(torch.from_numpy(b)).numpy(), floor, equal_nan=True)


@pytest.mark.parametrize("name, ulp", [("exp2", 1), ("log2", 2), ("tan", 4)])
def test_functions_of_floats(name, ulp):
    random = np.random.default_rng(5)
    x = np.concatenate([random.uniform(-150, 128, 4000), random.standard_normal(4000), np.array(SPECIAL)])
    x = x.astype("float32")
    with np.errstate(all="ignore"):
        want = getattr(np, name)(x.astype("float64"))
        near = want.astype("float32")
        got = getattr(torch, name)(torch.from_numpy(x)).numpy()
        finite = np.isfinite(near)
        assert np.array_equal(got[~finite], near[~finite], equal_nan=True)
        apart = np.abs(got[finite].astype("float64") - want[finite]) / np.spacing(np.abs(near[finite]))
    assert apart.max() <= ulp
    if name == "log2":  # whole for powers of two, the smallest ones too
        powers = torch.from_numpy(np.ldexp(np.float32(1), np.arange(-149, 128)))
        assert np.array_equal(torch.log2(powers).numpy(), np.arange(-149, 128, dtype="float32"))
