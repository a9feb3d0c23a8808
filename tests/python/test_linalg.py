# SPDX-License-Identifier: Apache-2.0
"""Factorizations of matrices against NumPy, which has its own LAPACK: values, residuals, signs, refusals."""

import numpy as np
import pytest

import ingot as torch

DTYPES = ["float32", "float64", "complex64", "complex128"]
SHAPES = [(1, 1), (2, 2), (5, 3), (3, 5), (40, 40), (90, 35), (35, 90)]
KINDS = ["random", "graded", "rank one", "hilbert", "zero", "identity", "huge", "tiny"]


def matrix(kind: str, m: int, n: int, dtype: str) -> np.ndarray:
    rng = np.random.default_rng(m * 1000 + n)
    a = rng.standard_normal((m, n))
    if dtype.startswith("c"):
        a = a + 1j * rng.standard_normal((m, n))
    most = 1e33 if dtype in ("float32", "complex64") else 1e300
    made = {
        "random": a,
        "graded": a * np.logspace(-6, 6, n),
        "rank one": np.outer(a[:, 0], a[0]),
        "hilbert": 1 / (np.arange(m)[:, None] + np.arange(n) + 1.0),
        "zero": a * 0,
        "identity": np.eye(m, n),
        "huge": a * most,
        "tiny": a / most,
    }
    return made[kind].astype(dtype)


def wide(a: np.ndarray) -> np.ndarray:
    """In double precision; results of factorizations come as tensors."""
    a = a.numpy() if isinstance(a, torch.Tensor) else a
    return a.astype("complex128" if np.iscomplexobj(a) else "float64")


def scaled(error: np.ndarray, a: np.ndarray, dtype: str) -> float:
    size = np.abs(a).max()
    if size == 0:
        return float(np.abs(error).max() / np.finfo(dtype).eps)
    return float(np.linalg.norm(error / size) / np.linalg.norm(a / size) / max(a.shape) / np.finfo(dtype).eps)


def orthogonal(q: np.ndarray, dtype: str) -> float:
    return float(np.linalg.norm(q.conj().T @ q - np.eye(q.shape[1])) / max(q.shape) / np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_qr(kind: str, dtype: str) -> None:
    for m, n in SHAPES:
        a = matrix(kind, m, n, dtype)
        for mode in ("reduced", "complete"):
            q, r = torch.linalg.qr(torch.from_numpy(a), mode)
            assert scaled(wide(q) @ wide(r) - wide(a), wide(a), dtype) < 30
            assert orthogonal(wide(q), dtype) < 30
        if kind == "random":  # LAPACK's choice of signs
            expected = np.diag(np.linalg.qr(a)[1])
            assert np.allclose(np.diag(r.numpy()), expected, rtol=1e-3)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_svd(kind: str, dtype: str) -> None:
    for m, n in SHAPES:
        a = matrix(kind, m, n, dtype)
        k = min(m, n)
        expected = np.linalg.svd(wide(a), compute_uv=False)
        for full in (False, True):
            u, s, vh = map(wide, torch.linalg.svd(torch.from_numpy(a), full_matrices=full))
            assert scaled((u[:, :k] * s) @ vh[:k] - wide(a), wide(a), dtype) < 30
            assert orthogonal(u, dtype) < 30
            assert orthogonal(vh.conj().T, dtype) < 30
            assert np.abs(s - expected).max() <= 30 * np.finfo(dtype).eps * expected[0]
        alone = wide(torch.linalg.svdvals(torch.from_numpy(a)))
        assert np.abs(alone - expected).max() <= 30 * np.finfo(dtype).eps * expected[0]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_eigh(kind: str, dtype: str) -> None:
    for n in (1, 2, 3, 40, 70):
        a = matrix(kind, n, n, dtype)
        a = ((a / 2) + (a / 2).conj().T).astype(dtype)
        expected = np.linalg.eigvalsh(wide(a))
        for triangle in "LU":
            half = torch.from_numpy(np.tril(a) if triangle == "L" else np.triu(a))
            s, v = map(wide, torch.linalg.eigh(half, UPLO=triangle))
            assert scaled((v * s) @ v.conj().T - wide(a), wide(a), dtype) < 30
            assert orthogonal(v, dtype) < 30
            bound = 30 * np.finfo(dtype).eps * np.abs(expected).max()
            assert np.abs(s - expected).max() <= bound
            assert np.abs(wide(torch.linalg.eigvalsh(half, UPLO=triangle)) - expected).max() <= bound


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_lu(kind: str, dtype: str) -> None:
    for m, n in SHAPES:
        a = matrix(kind, m, n, dtype)
        p, l, u = map(wide, torch.linalg.lu(torch.from_numpy(a)))  # noqa: E741
        assert scaled(p @ l @ u - wide(a), wide(a), dtype) < 30
        assert np.abs(l).max() <= (1.5 if dtype.startswith("c") else 1)


@pytest.mark.parametrize("dtype", DTYPES)
def test_systems(dtype: str) -> None:
    eps = np.finfo(dtype).eps
    for n in (1, 3, 33, 100):
        a = matrix("random", n, n, dtype)
        for b, left in ((matrix("random", n, 7, dtype), True), (matrix("random", 7, n, dtype), False)):
            for t in (torch.from_numpy(a), torch.from_numpy(a.T.copy()).mT):
                x = wide(torch.linalg.solve(t, torch.from_numpy(b), left=left))
                rest = (wide(a) @ x if left else x @ wide(a)) - b
                assert np.linalg.norm(rest) / np.linalg.norm(wide(a)) / np.linalg.norm(x) / n / eps < 30
        square = (a @ a.conj().T + n * np.eye(n)).astype(dtype)
        for upper in (False, True):
            f = wide(torch.linalg.cholesky(torch.from_numpy(square), upper=upper))
            product = f.conj().T @ f if upper else f @ f.conj().T
            assert scaled(product - wide(square), wide(square), dtype) < 30
        inverse = wide(torch.linalg.inv(torch.from_numpy(square)))
        assert np.abs(inverse @ wide(square) - np.eye(n)).max() < 100 * n * eps
        sign, log = torch.linalg.slogdet(torch.from_numpy(a))
        expected = np.linalg.slogdet(wide(a))
        assert np.allclose(sign.numpy(), expected[0], atol=1e-3)
        assert np.allclose(log.numpy(), expected[1], rtol=1e-3, atol=1e-3)


def test_batches_and_empty() -> None:
    a = torch.from_numpy(np.random.default_rng(0).standard_normal((3, 2, 4, 4)))
    b = torch.from_numpy(np.random.default_rng(1).standard_normal((2, 4, 3)))
    x = torch.linalg.solve(a, b)
    assert np.allclose((a @ x).numpy(), np.broadcast_to(b.numpy(), (3, 2, 4, 3)))
    x = torch.linalg.solve(a[0, :1], b)  # one matrix for several right-hand sides
    assert np.allclose((a[0, :1] @ x).numpy(), b.numpy())
    for sizes in ((0, 0), (2, 0, 0)):
        none = torch.zeros(sizes)
        assert torch.linalg.eigh(none)[1].shape == sizes
        assert torch.linalg.inv(none).shape == sizes
        assert torch.linalg.cholesky(none).shape == sizes
    assert torch.linalg.qr(torch.zeros(3, 0), "complete")[0].tolist() == np.eye(3).tolist()
    assert torch.linalg.svd(torch.zeros(0, 2))[2].tolist() == np.eye(2).tolist()


def test_not_finite() -> None:
    a = torch.eye(3)
    a[1, 1] = float("nan")
    for refused in (torch.linalg.svd, torch.linalg.svdvals, torch.linalg.eigvalsh, torch.linalg.cholesky):
        with pytest.raises(RuntimeError):
            refused(a)
    assert torch.linalg.eigh(a)[0].isnan().all()
    assert torch.linalg.qr(a)[1].isnan().any()
    a[1, 1] = float("inf")
    assert torch.linalg.svdvals(a).isnan().all()
    assert torch.linalg.qr(a)[0].shape == (3, 3)


def test_info() -> None:
    a = torch.eye(50)
    a[40, 40] = 0
    assert torch.linalg.lu_factor_ex(a)[2].item() == 41
    assert torch.linalg.inv_ex(a)[1].item() == 41
    a[40, 40] = -1
    assert torch.linalg.cholesky_ex(a)[1].item() == 41
    with pytest.raises(RuntimeError, match="leading minor of order 41 is not positive-definite"):
        torch.linalg.cholesky(a)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("hermitian", [False, True])
def test_ldl(dtype: str, hermitian: bool) -> None:
    for n in (1, 2, 5, 40):
        a = matrix("random", n, n, dtype)
        a = a + (a.conj().T if hermitian else a.T)
        if n == 5:
            a[np.diag_indices(n)] = 0  # blocks of two rows
        x = matrix("random", n, 3, dtype)
        for given in (a, np.tril(a)):  # only the lower triangle is read
            factors, pivots = torch.linalg.ldl_factor(torch.from_numpy(given), hermitian=hermitian)
            assert torch.equal(factors, factors.tril()) and (n != 5 or min(pivots.tolist()) < 0)
            b = np.stack([wide(a) @ wide(x), wide(x) * 0]).astype(dtype)
            both = factors.expand(2, n, n), pivots.expand(2, n), torch.from_numpy(b)
            found = torch.linalg.ldl_solve(*both, hermitian=hermitian)
            bound = 30 * n * np.finfo(dtype).eps * np.linalg.cond(wide(a))
            assert np.linalg.norm(wide(found)[0] - wide(x)) <= bound * np.linalg.norm(wide(x))
            assert not wide(found)[1].any()


def test_ldl_pivots() -> None:
    a = torch.tensor([[0.0, 2.0, 1.0], [2.0, 0.0, 3.0], [1.0, 3.0, 1.0]])
    factors, pivots, info = torch.linalg.ldl_factor_ex(a)
    assert (pivots.tolist(), info.item()) == ([-2, -2, 3], 0)  # as LAPACK's
    assert torch.linalg.ldl_factor_ex(torch.zeros(3, 3))[2].item() == 1
    with pytest.raises(RuntimeError, match=r"D\[1,1\] is zero"):
        torch.linalg.ldl_factor(torch.zeros(3, 3))
    for wrong in ([1, 2, 4], [0, 2, 3], [-2, -3, 3], [1, 2, -3], [2**32 + 1, 2, 3]):
        with pytest.raises(RuntimeError, match="not those of ldl_factor"):
            torch.linalg.ldl_solve(factors, torch.tensor(wrong), a)
    with pytest.raises(RuntimeError, match="not implemented"):
        torch.linalg.ldl_factor(a.requires_grad_())[0].sum().backward()


def test_condition_numbers() -> None:
    a = matrix("random", 4, 4, "float64")
    for p in (None, 2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc"):
        found = torch.linalg.cond(torch.from_numpy(np.stack([a, a * 2])), p)
        assert np.allclose(found.numpy(), np.linalg.cond(a, p))
    assert torch.linalg.cond(torch.zeros(3, 3), 1).item() == np.inf
    assert torch.linalg.cond(torch.zeros(2, 0, 0)).tolist() == [0, 0]
    for wrong in (3, "x"):
        with pytest.raises(RuntimeError, match=f"invalid norm type: {wrong}"):
            torch.linalg.cond(torch.eye(2), wrong)


def test_tensors_as_matrices() -> None:
    rng = np.random.default_rng(4)
    a = rng.standard_normal((4, 6, 8, 3))
    assert np.allclose(torch.linalg.tensorinv(torch.from_numpy(a)).numpy(), np.linalg.tensorinv(a))
    a, b = rng.standard_normal((6, 4, 4, 3, 2)), rng.standard_normal((4, 3, 2))
    found = torch.linalg.tensorsolve(torch.from_numpy(a), torch.from_numpy(b), dims=(0, 2))
    assert np.allclose(found.numpy(), np.linalg.tensorsolve(a, b, axes=(0, 2)))
    with pytest.raises(RuntimeError, match=r"prod\(self.shape\[ind:\]\)"):
        torch.linalg.tensorinv(torch.eye(3), ind=2)


def test_vectors() -> None:
    x = torch.tensor([[1 + 1j, 2.0], [3.0, 4j]])
    assert torch.linalg.vecdot(x, x).tolist() == [6, 25]
    assert torch.linalg.vecdot(x, x, dim=0).tolist() == [11, 20]
    assert torch.linalg.vander(torch.tensor([1, 2, 3])).tolist() == [[1, 1, 1], [1, 2, 4], [1, 3, 9]]
    assert torch.linalg.vander(torch.tensor([[2.0]]), N=4).tolist() == [[[1, 2, 4, 8]]]
    with pytest.raises(RuntimeError, match="N must be greater than 1"):
        torch.linalg.vander(torch.ones(3), N=1)


def test_eigh_gradient() -> None:
    rng = np.random.default_rng(2)
    a = rng.standard_normal((5, 5))
    a = torch.from_numpy(a + a.T).requires_grad_()
    torch.linalg.eigvalsh(a).square().sum().backward()  # the sum of squares of all elements
    assert np.allclose(a.grad.numpy(), 2 * a.detach().numpy())

    def weigh(x: torch.Tensor) -> torch.Tensor:
        s, v = torch.linalg.eigh(x)
        return (v.square() * torch.arange(25.0, dtype=torch.float64).reshape(5, 5)).sum() + s.exp().sum()

    a.grad = None
    weigh(a).backward()
    step = rng.standard_normal((5, 5))
    step = torch.from_numpy(step + step.T) * 1e-6
    with torch.no_grad():
        difference = (weigh(a + step) - weigh(a - step)).item() / 2
    assert abs((a.grad * step).sum().item() - difference) < 1e-9


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "rank one"])
def test_eig(kind: str, dtype: str) -> None:
    for n in (1, 2, 5, 40):
        a = matrix(kind, n, n, dtype)
        values, vectors = torch.linalg.eig(torch.from_numpy(a))
        assert str(values.dtype) == ("torch.complex64" if dtype in ("float32", "complex64") else "torch.complex128")
        found, v = wide(values), wide(vectors)
        reference, columns = np.linalg.eig(wide(a))  # graded matrices are balanced, which costs LAPACK accuracy as well
        bound = max(30, 10 * scaled(wide(a) @ columns - columns * reference, a, dtype))
        assert scaled(wide(a) @ v - v * found, a, dtype) < bound
        np.testing.assert_allclose(np.linalg.norm(v, axis=0), 1, rtol=1e-6)
        assert torch.equal(torch.linalg.eigvals(torch.from_numpy(a)), values)
        if not np.iscomplexobj(a):  # pairs are exact
            upper, lower = found[found.imag > 0], found[found.imag < 0].conj()
            assert sorted(upper.tolist(), key=str) == sorted(lower.tolist(), key=str)
            assert (v[:, found.imag == 0].imag == 0).all()


def test_eig_gradients_and_refusals() -> None:
    a = torch.tensor([[2.0, 1, 0], [0.5, 3, 1], [0, 1, -1]], dtype=torch.float64, requires_grad=True)

    def check(f: object, x: torch.Tensor) -> None:
        (grad,) = torch.autograd.grad(f(x), x)
        for i in range(3):
            for j in range(3):
                step = torch.zeros(3, 3, dtype=torch.float64)
                step[i, j] = 1e-6
                slope = (f(x.detach() + step) - f(x.detach() - step)) / 2e-6
                assert abs(float(slope - grad[i, j])) < 1e-6

    check(lambda x: (torch.linalg.eigvals(x).abs() ** 2).sum(), a)
    check(lambda x: (torch.linalg.eig(x)[1].abs() ** 4).sum(), a)
    with pytest.raises(RuntimeError, match="should not contain infs or NaNs"):
        torch.linalg.eig(torch.tensor([[1.0, float("nan")], [0, 1]]))
    with pytest.raises(RuntimeError, match="linalg.eig: A must be batches of square matrices"):
        torch.linalg.eig(torch.zeros(2, 3))
    with pytest.raises(RuntimeError, match="Unknown Complex ScalarType for Long"):
        torch.linalg.eigvals(torch.zeros(2, 2, dtype=torch.int64))
    turn = torch.tensor([[0.0, 1], [-1, 0]], requires_grad=True)
    with pytest.raises(RuntimeError, match="up to multiplication by e"):
        torch.linalg.eig(turn)[1].imag.sum().backward()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("driver", [None, "gels", "gelsy", "gelsd", "gelss"])
def test_lstsq(driver: str | None, dtype: str) -> None:
    for m, n in ((6, 3), (3, 6), (5, 5)):
        a, b = matrix("random", m, n, dtype), matrix("random", m, 4, dtype)
        x, residuals, rank, values = torch.linalg.lstsq(torch.from_numpy(a), torch.from_numpy(b), driver=driver)
        expected = np.linalg.lstsq(wide(a), wide(b), rcond=None)
        np.testing.assert_allclose(wide(x), expected[0], rtol=1e-3 if dtype in ("float32", "complex64") else 1e-9)
        has_rest = m > n and driver not in (None, "gelsy")
        assert residuals.shape == ((4,) if has_rest else (0,))
        assert rank.numel() == (0 if driver == "gels" else 1)
        assert values.numel() == (min(m, n) if driver in ("gelsd", "gelss") else 0)
    with pytest.raises(RuntimeError, match="parameter `driver` should be one of"):
        torch.linalg.lstsq(torch.ones(2, 2), torch.ones(2, 1), driver="svd")
    with pytest.raises(RuntimeError, match="input.size.-2. should match other.size.-2."):
        torch.linalg.lstsq(torch.ones(2, 2), torch.ones(3, 1))
