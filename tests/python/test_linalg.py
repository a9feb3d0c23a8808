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
