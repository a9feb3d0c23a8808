# SPDX-License-Identifier: Apache-2.0
"""Operators that take many ONNX operators: matrix decompositions, series, windows of unequal size, quantization. The
checker accepts the models at every opset, and onnxruntime gives what Ingot gives, edge cases included."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import ingot as torch

np = pytest.importorskip("numpy")
onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

F = torch.nn.functional
INF, NAN = float("inf"), float("nan")
torch.manual_seed(0)
X = torch.randn(4, 4)
SPD = X @ X.T + 3 * torch.eye(4)
TWO = torch.stack([SPD, SPD @ SPD])
POOL = torch.randn(2, 2, 6, 7)
BAGS = torch.randn(10, 4), torch.tensor([1, 2, 4, 5, 4, 3, 2, 9]), torch.tensor([0, 3, 3, 7])
SCALES, ZEROS = torch.tensor([0.01, 0.2, 0.3]), torch.tensor([0, 3, 100], dtype=torch.int32)

CASES: dict[str, tuple[Callable, tuple]] = {
    "qr": (torch.linalg.qr, (torch.randn(4, 3),)),
    "qr wide": (torch.linalg.qr, (torch.randn(3, 5),)),
    "qr complete": (lambda a: torch.linalg.qr(a, mode="complete"), (torch.randn(2, 5, 3),)),
    "qr of nothing to do": (torch.linalg.qr, (torch.eye(3),)),
    "inverse": (torch.linalg.inv, (SPD,)),
    "inverse of several": (torch.linalg.inv, (TWO,)),
    "inverse needs other pivots": (torch.linalg.inv, (torch.tensor([[0.0, 1.0], [1.0, 0.0]]),)),
    "cholesky": (torch.linalg.cholesky, (SPD,)),
    "cholesky upper": (lambda a: torch.linalg.cholesky(a, upper=True), (TWO,)),
    "triangular": (lambda a, b: torch.linalg.solve_triangular(a, b, upper=True), (torch.triu(SPD), torch.randn(4, 2))),
    "triangular, from the right": (
        lambda a, b: torch.linalg.solve_triangular(a, b, upper=False, left=False, unitriangular=True),
        (torch.tril(SPD), torch.randn(2, 4)),
    ),
    "det": (torch.linalg.det, (TWO,)),
    "slogdet": (torch.linalg.slogdet, (SPD,)),
    "lgamma": (torch.lgamma, (torch.tensor([0.1, 0.5, 1, 2, 3.7, 100, -0.5, -2.3, 1e-5, 1e20, INF, 0, -1, NAN]),)),
    "digamma": (torch.digamma, (torch.tensor([0.1, 0.5, 1, 2, 3.7, 100, -0.5, -2.3, 1e6, 0, -1, NAN]),)),
    "i0": (torch.i0, (torch.tensor([0.0, 1, -3, 7, 19.9, 20.1, 60, -88, 100, INF, NAN]),)),
    "i0 of doubles": (torch.i0, (torch.tensor([0.0, 19.9, 20.1, -600], dtype=torch.float64),)),
    **{f"polygamma {n}": (
        lambda a, n=n: torch.polygamma(n, a), (torch.tensor([0.1, 0.6, 1, 2.5, 99, -0.3, -1.7, -13.4]),))
       for n in (0, 1, 2, 3, 8)},
    "mode": (lambda a: torch.mode(a, 0), (torch.tensor([[3, 1], [1, 1], [3, 2], [1, 2], [0, 5]]),)),
    "mode, kept": (lambda a: torch.mode(a, -1, True), (torch.tensor([[3.0, 1, 3, 1], [2, 2, 2, 1]]),)),
    "gcd": (torch.gcd, (torch.tensor([[12, 0], [-8, 7]]), torch.tensor([18, 0]))),
    "lcm": (torch.lcm, (torch.tensor([4, -6, 0, 5, 2**40]), torch.tensor([6, 4, 3, 0, 3]))),
    "lcm of small integers": (
        torch.lcm, (torch.tensor([4, -6], dtype=torch.int32), torch.tensor([6, 4], dtype=torch.int8))),
    **{f"bags, {mode}{', padding' if pad is not None else ''}": (
        lambda w, i, o, mode=mode, pad=pad: F.embedding_bag(i, w, o, mode=mode, padding_idx=pad), BAGS)
       for mode in ("sum", "mean") for pad in (None, 4)},
    "bags and what is told of them": (lambda w, i, o: torch.embedding_bag(w, i, o, False, 1), BAGS),
    "bags, weighed": (lambda w, i, o, s: F.embedding_bag(i, w, o, mode="sum", per_sample_weights=s),
                      (*BAGS, torch.randn(8))),
    "bags with their end": (lambda w, i, o: F.embedding_bag(i, w, o, mode="mean", include_last_offset=True),
                            (*BAGS[:2], torch.tensor([0, 3, 3, 8]))),
    "adaptive average, backwards": (torch.ops.aten._adaptive_avg_pool2d_backward,
                                    (torch.randn(1, 2, 2, 3), torch.randn(1, 2, 5, 4))),
    "blocks into an image": (
        lambda a: F.fold(a, (6, 7), (2, 3), dilation=(1, 2), padding=1, stride=(2, 3)), (torch.randn(2, 12, 8),)),
    "blocks into one image": (lambda a: F.fold(a, (5, 5), 2), (torch.randn(8, 16),)),
    "erfinv": (torch.erfinv, (torch.tensor([-1.0, 1, 0, 2, 0.9999, 1e-4, -0.3, NAN]),)),
    "histc": (lambda a: torch.histc(a, 7, -1.0, 1.0), (torch.tensor([-1.0, 1, 0.999, -2, NAN, 0.3, 0.31]),)),
    "average, ceil": (lambda a: F.avg_pool2d(a, 3, stride=2, padding=1, ceil_mode=True), (POOL,)),
    "average, ceil, without padding": (
        lambda a: F.avg_pool2d(a, 3, stride=2, padding=1, ceil_mode=True, count_include_pad=False), (POOL,)),
    "average, ceil, a window less": (lambda a: F.avg_pool2d(a, 2, stride=3, ceil_mode=True), (POOL,)),
    "average of volumes": (lambda a: F.avg_pool3d(a, 2), (torch.randn(1, 2, 4, 4, 4),)),
    "maximum, ceil": (lambda a: F.max_pool2d(a, 3, stride=2, padding=1, ceil_mode=True), (POOL,)),
    "maximum, ceil, a window less": (
        lambda a: F.max_pool2d(a, 2, stride=3, ceil_mode=True, return_indices=True), (POOL,)),
    "adaptive maximum": (lambda a: F.adaptive_max_pool2d(a, (4, 3), return_indices=True), (POOL,)),
    "adaptive maximum of volumes": (
        lambda a: F.adaptive_max_pool3d(a, (3, 2, 3), return_indices=True), (torch.randn(1, 2, 7, 5, 4),)),
    **{
        f"resize {mode} {n}d {how}": (
            lambda a, k=kw, m=mode: F.interpolate(a, mode=m, **k), (torch.randn(1, 2, *sizes),))
        for n, sizes in ((1, (6,)), (2, (5, 4)), (3, (3, 4, 5)))
        for mode in ("nearest", "nearest-exact", ("linear", "bilinear", "trilinear")[n - 1], *(["bicubic"] * (n == 2)))
        for how, kw in (
            ("twice", {"scale_factor": 2.0}),
            ("to another size", {"size": tuple(x + 3 for x in sizes)}),
            ("to less", {"size": tuple(x // 3 for x in sizes)}),
            ("by a fraction", {"scale_factor": 1.7}),
        )
    },
    "resize corners": (
        lambda a: (
            F.interpolate(a, size=(4, 9), mode="bilinear", align_corners=True),
            F.interpolate(a, size=(4, 9), mode="bicubic", align_corners=True),
        ),
        (POOL,),
    ),
    "scatter_add": (
        lambda a, i, s: a.scatter_add(1, i, s), (torch.randn(3, 4), torch.randint(0, 4, (3, 5)), torch.randn(3, 5))),
    "quantized, 8 bits": (
        lambda a: torch.ops.aten.fake_quantize_per_tensor_affine_cachemask(a, 0.005, 3, -128, 127), (X,)),
    "quantized, 4 bits": (lambda a: torch.fake_quantize_per_tensor_affine(a, 0.05, 0, -8, 7), (X,)),
    "quantized per channel": (
        lambda a: torch.ops.aten.fake_quantize_per_channel_affine_cachemask(a, SCALES, ZEROS, 1, 0, 255),
        (torch.randn(2, 3, 5),)),
    "bits of integers": (lambda a: a.view(torch.int8), (torch.tensor([0, 127, 128, 255], dtype=torch.uint8),)),
}


class Call(torch.nn.Module):
    def __init__(self, fn: Callable) -> None:
        super().__init__()
        self.fn = fn

    def forward(self, *args: Any) -> Any:
        return self.fn(*args)


def flat(o: Any) -> list[Any]:
    return [y for v in o for y in flat(v)] if isinstance(o, (tuple, list)) else [o]


@pytest.mark.parametrize("name", CASES)
def test_lowered(name: str) -> None:
    fn, args = CASES[name]
    wanted = flat(fn(*[t.clone() for t in args]))
    program = torch.export.export(Call(fn), args, strict=False)._program
    for opset in (13, 15, 18, 21, 25):
        data = program.write_onnx(opset=opset)
        model = onnx.load_model_from_string(data)
        onnx.checker.check_model(model, full_check=True)
        feeds = {i.name: t.contiguous().numpy() for i, t in zip(model.graph.input, args, strict=True)}
        found = runtime.InferenceSession(data, providers=["CPUExecutionProvider"]).run(None, feeds)
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a, b.detach().numpy(), rtol=1e-3, atol=1e-5, err_msg=f"opset {opset}")


def test_quantization_is_what_runtimes_recognize() -> None:
    program = torch.export.export(Call(lambda a: torch.fake_quantize_per_tensor_affine(a, 0.1, 3, 0, 255)), (X,))
    model = onnx.load_model_from_string(program._program.write_onnx())
    assert [n.op_type for n in model.graph.node] == ["QuantizeLinear", "DequantizeLinear"]


def test_bits_of_floats_from_opset_26_on() -> None:
    program = torch.export.export(Call(lambda a: a.view(torch.int32)), (X,))._program
    with pytest.raises(NotImplementedError, match="aten.view.dtype: bits as another type need opset 26"):
        program.write_onnx(opset=25)
    data = program.write_onnx(opset=26)
    onnx.checker.check_model(onnx.load_model_from_string(data), full_check=True)
    (found,) = torch._C.onnx_parse(data, "m").run([X])
    assert torch.equal(found, X.view(torch.int32))


def test_large_and_varying_matrices_are_refused() -> None:
    program = torch.export.export(Call(torch.linalg.inv), (torch.eye(65),))._program
    with pytest.raises(NotImplementedError, match="aten.linalg_inv_ex.default: this operator cannot be written"):
        program.write_onnx()
