# SPDX-License-Identifier: Apache-2.0
"""Complex numbers and Fourier transforms in ONNX files, where they are pairs of real numbers: onnxruntime and our own
reader compute what the program does, at several opsets and for sizes that the export has not seen."""

from __future__ import annotations

import io
from typing import Any

import pytest

import ingot as torch
from ingot.export import Dim

np = pytest.importorskip("numpy")

BATCH, LENGTH = Dim("batch", min=2, max=64), Dim("length", min=2, max=30)
FREE = {0: BATCH, 1: LENGTH}


class Model(torch.nn.Module):
    def __init__(self, fn: Any, **buffers: Any) -> None:
        super().__init__()
        self.fn = fn
        for name, value in buffers.items():
            self.register_buffer(name, value)

    def forward(self, x: Any) -> Any:
        return self.fn(self, x)


def rotated(model: Any, x: Any) -> Any:
    """Rotary embedding as Llama's first code has it: a complex buffer."""
    pairs = torch.view_as_complex(x.reshape(x.shape[0], x.shape[1], 8, 2))
    return torch.view_as_real(pairs * model.turns[: x.shape[1]]).flatten(2)


def overwritten(model: Any, x: Any) -> Any:
    spectrum = torch.fft.rfft(x)
    spectrum[..., 3:] = 0
    spectrum[:, 0] *= 2j
    return torch.fft.irfft(spectrum, n=16)


torch.manual_seed(0)
X, Z = torch.randn(2, 6, 16), torch.randn(2, 6, 16, dtype=torch.complex64)
TURNS = torch.polar(torch.ones(32, 8), torch.outer(torch.arange(32.0), 0.5 ** torch.arange(8.0)))
WEIGHT = torch.randn(16, 5, dtype=torch.complex64)
WINDOW = torch.hann_window(8)
FFT = torch.fft

# name: (function of module and input, input, sizes that vary)
REAL = {
    "rotary": (rotated, FREE),
    "fnet": (lambda m, x: FFT.fftn(x, dim=(1, 2)).real + x, FREE),
    "ortho": (lambda m, x: FFT.fftn(x, dim=(1, 2), norm="ortho").imag, FREE),
    "forward": (lambda m, x: FFT.fft(x, dim=1, norm="forward").abs(), FREE),
    "back": (lambda m, x: FFT.ifft(FFT.fft(x)).real, FREE),
    "half": (lambda m, x: FFT.irfft(FFT.rfft(x, dim=1), n=x.shape[1], dim=1), FREE),
    "odd": (lambda m, x: FFT.irfft(FFT.rfft(x), n=15), None),
    "two dims": (lambda m, x: FFT.irfft2(FFT.rfft2(x, norm="ortho") * 2, norm="ortho"), None),
    "padded": (lambda m, x: FFT.fft(x, n=20).abs() + FFT.fft(x, n=9).abs().sum(-1, keepdim=True), None),
    "shifted": (lambda m, x: FFT.fftshift(FFT.fft(x)).angle().cos(), None),
    "hermitian": (lambda m, x: FFT.hfft(torch.complex(x, x * 2)), None),
    "weighted": (lambda m, x: (FFT.fft(x) @ m.weight).abs(), FREE),
    "stft": (lambda m, x: torch.stft(x[0], 8, 4, window=WINDOW, return_complex=True).abs(), None),
    "istft": (lambda m, x: torch.istft(torch.stft(x[0], 8, 4, window=WINDOW, return_complex=True), 8, 4,
                                       window=WINDOW), None),
    "overwritten": (overwritten, None),
    "made": (lambda m, x: torch.full((2, 3), 1 + 2j) * x[0, 0, 0] + torch.ones(2, 3, dtype=torch.complex64), None),
    "double": (lambda m, x: FFT.fft(x.double()).abs(), None),
    "converted": (lambda m, x: x.to(torch.complex64) * (1 + 2j) + x - 2j, None),
    "result": (lambda m, x: FFT.rfft(x), FREE),
}  # fmt: skip
COMPLEX = {
    "arithmetic": lambda m, z: z / (z.conj() + 3) + 1 / (z + (4 + 1j)) - z / 2.5 + 2j / z,
    "powers": lambda m, z: z**2 + z**3 + z.sqrt() + z.log() + z.sgn() + z.exp().reciprocal(),
    "sums": lambda m, z: z.sum() + z.mean((0, -1)).sum(0, keepdim=True) * z.mean() + z.cumsum(-1)[0, 0, 3],
    "views": lambda m, z: torch.cat([z, z.conj()], -1).flip(-1).roll(2, -1)[:, 1:5, None].squeeze(-2).transpose(-1, 0),
    "shapes": lambda m, z: torch.stack([z, z * 1j], -1).reshape(2, -1).repeat(2, 1).unsqueeze(0).expand(3, 4, -1),
    "picked": lambda m, z: z[:, torch.tensor([0, 2, 2])].index_select(2, torch.tensor([1, 0])),
    "chosen": lambda m, z: torch.where(z.real > 0, z, 1.5) + torch.where(z.imag > 0, z, torch.zeros_like(z)),
    "pieces": lambda m, z: [*z.split(2, 1), *z.unbind(0), z.chunk(2, -1)[1]],
    "lengths": lambda m, z: torch.linalg.vector_norm(z, dim=-1) + torch.linalg.norm(z),
    "equal": lambda m, z: (z == z.conj()).float() + (z != z).float(),
    "products": lambda m, z: torch.einsum("bij,jk->bik", z, m.weight) + torch.vdot(z[0, 0], z[1, 1]),
    "scalars": lambda m, z: z.sum() * z[0, 0, 0].conj() + z[0, 0, 0].sum() - z[1, 0, 0].mean() / z[0, 0, 1].exp(),
    "windows": lambda m, z: [z.unfold(1, 3, 2), z.unfold(-1, 4, 4)],
    "bordered": lambda m, z: torch.nn.functional.pad(z, (1, 2, 0, 1)),
}


def real(t: Any) -> Any:
    return torch.view_as_real(t.resolve_conj()) if t.is_complex() else t


def check(fn: Any, x: Any, sizes: Any, opset: int) -> None:
    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    model = Model(fn, turns=TURNS, weight=WEIGHT)
    program = torch.onnx.export(
        model, (x,), dynamo=True, dynamic_shapes=sizes and (sizes,), opset_version=opset, verify=False
    )
    out = io.BytesIO()
    program.save(out)
    proto = onnx.load_model_from_string(out.getvalue())
    onnx.checker.check_model(proto, full_check=True)
    assert {n.op_type for n in proto.graph.node if n.domain} == set()
    session = runtime.InferenceSession(out.getvalue(), providers=["CPUExecutionProvider"])
    inputs = [x] if not sizes else [x, torch.randn(3, 9, 16), torch.randn(5, 30, 16)]
    for given in inputs:
        wanted = model(given)
        wanted = wanted if isinstance(wanted, list | tuple) else [wanted]
        found = session.run(None, {session.get_inputs()[0].name: real(given).numpy()})
        ours = program(given)
        for a, b, c in zip(found, ours, wanted, strict=True):
            np.testing.assert_allclose(a, real(c).numpy(), rtol=1e-3, atol=1e-3)
            np.testing.assert_allclose(b.numpy(), real(c).numpy(), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("opset", [17, 20])
@pytest.mark.parametrize("name", REAL)
def test_of_real_inputs(name: str, opset: int) -> None:
    fn, sizes = REAL[name]
    check(fn, X, sizes, opset)


@pytest.mark.parametrize("name", COMPLEX)
def test_of_complex_inputs(name: str) -> None:
    check(COMPLEX[name], Z, None, 18)


def test_what_has_no_rule_is_refused_by_name() -> None:
    with pytest.raises(Exception, match="aten.prod.dim_int: this call on complex numbers cannot be written as ONNX"):
        torch.onnx.export(Model(lambda m, z: z.prod(-1)), (Z,), dynamo=True)


SCALAR = {"flip": lambda z: z.flip(0), "cumsum": lambda z: z.cumsum(0), "sum": lambda z: z.sum(0),
          "fft": lambda z: torch._fft_c2c(z, [0], 1, True)}  # fmt: skip


@pytest.mark.parametrize("name", SCALAR)
def test_the_dim_of_a_tensor_without_dims_is_not_that_of_its_pair(name: str) -> None:
    with pytest.raises(Exception, match="cannot be written as ONNX"):
        torch.onnx.export(Model(lambda m, z: SCALAR[name](z)), (torch.tensor(1 + 2j),), dynamo=True)


def test_transforms_need_an_opset_that_has_them() -> None:
    with pytest.raises(Exception, match=r"aten._fft_r2c.default: this operator cannot be written as ONNX \(opset 16\)"):
        torch.onnx.export(Model(lambda m, x: FFT.fft(x).real), (X,), dynamo=True, opset_version=16)
