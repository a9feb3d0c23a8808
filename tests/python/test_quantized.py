# SPDX-License-Identifier: Apache-2.0
"""Quantized tensors and operators against recorded results of PyTorch 2.5.1, and the eager flow of quantization."""

from __future__ import annotations

import copy
import io
import json
import math
import os
import pickle
import warnings

import pytest

import ingot as torch
from ingot import nn
from ingot._subclasses.fake_tensor import FakeTensorMode
from ingot.ao import quantization as tq
from quantized_cases import CASES, describe, names

with open(os.path.join(os.path.dirname(__file__), "quantized.json"), encoding="utf-8") as f:
    RECORDS = json.load(f)
# Integers may differ by one where a sum lies halfway between two: PyTorch's kernels sum floats in another order.
STEP = 1


def same(got: object, want: object, where: str) -> None:
    if isinstance(want, dict) and "dtype" in want:
        for key in ("dtype", "shape", "scheme", "zero", "axis"):
            assert got.get(key) == want.get(key), (where, key)
        if "scale" in want:
            assert got["scale"] == pytest.approx(want["scale"], rel=1e-6), where
        quantized = "scheme" in want
        for a, b in zip(got["v"], want["v"], strict=True):
            assert abs(a - b) <= STEP if quantized else a == pytest.approx(b, rel=1e-5, abs=1e-6), (where, a, b)
        if quantized:  # at ties only
            assert sum(a != b for a, b in zip(got["v"], want["v"])) <= 1 + len(want["v"]) // 20, where
    elif isinstance(want, list):
        assert len(got) == len(want), where
        for a, b in zip(got, want):
            same(a, b, where)
    elif isinstance(want, float):
        assert got == pytest.approx(want, rel=1e-6), where
    else:
        assert got == want, where


def test_the_records_are_those_of_the_cases():
    assert [case for case, _ in RECORDS] == CASES


@pytest.mark.parametrize("case,want", RECORDS, ids=range(len(RECORDS)))
def test_recorded_calls(case, want):
    if isinstance(want, dict) and "error" in want:
        with pytest.raises(Exception) as caught:
            eval(case, names(torch))
        assert type(caught.value).__name__ == want["error"], case
        assert str(caught.value).startswith(want["text"][:80]), case
        return
    same(describe(torch, eval(case, names(torch))), want, case)


def test_no_operator_computes_on_the_integers_by_accident():
    """An operator refuses a quantized tensor, or gives what its numbers give."""
    x = torch.tensor([[-1.0, 0.5], [2.0, 0.25]])
    q = torch.quantize_per_tensor(x, 0.25, 100, torch.quint8)
    for name in ("abs", "neg", "exp", "sum", "prod", "cumsum", "square", "sqrt", "tril", "std", "var", "mean", "roll"):
        try:
            got = getattr(torch, name)(*((q, 0) if name == "cumsum" else (q, 1) if name == "roll" else (q,)))
        except (NotImplementedError, RuntimeError):
            continue
        want = getattr(torch, name)(x)
        assert got.is_quantized
        assert (got.dequantize() - want).abs().max().item() <= 0.25


def test_copies_pickles_and_files_keep_the_parameters():
    q = torch.quantize_per_tensor(torch.randn(3, 4), 0.1, 7, torch.quint8)
    c = torch.quantize_per_channel(torch.randn(3, 4), torch.rand(4) + 0.1, torch.arange(4), 1, torch.qint8)
    packed = torch.ops.quantized.linear_prepack(torch.quantize_per_tensor(torch.randn(3, 4), 0.1, 0, torch.qint8), None)
    stream = io.BytesIO()
    torch.save({"q": q, "c": c}, stream)
    stream.seek(0)
    loaded = torch.load(stream)
    for a, b in ((copy.deepcopy(q), q), (pickle.loads(pickle.dumps(c)), c), (loaded["q"], q), (loaded["c"], c)):
        assert torch.equal(a, b)
    again = pickle.loads(pickle.dumps(packed))
    assert torch.equal(again.unpack()[0], packed.unpack()[0])


def test_a_quantized_dtype_needs_a_quantizer():
    for make in (lambda: torch.empty(2, dtype=torch.quint8), lambda: torch.ones(2).to(torch.qint8)):
        with pytest.raises(RuntimeError):
            make()


# ---- the eager flow


def t(seed, *shape):
    n = math.prod(shape)
    return torch.tensor([((i * 7919 + seed * 104729) % 1009) / 1009 * 4 - 2 for i in range(n)]).reshape(shape)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.quant = tq.QuantStub()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.bn = nn.BatchNorm2d(8)
        self.relu = nn.ReLU()
        self.fc = nn.Linear(8, 5)
        self.dequant = tq.DeQuantStub()

    def forward(self, x):
        x = self.relu(self.bn(self.conv(self.quant(x))))
        return self.dequant(self.fc(x.mean([2, 3])))


def quantized_net(qconfig=None):
    torch.manual_seed(1)
    m = tq.fuse_modules(Net().eval(), [["conv", "bn", "relu"]])
    m.qconfig = qconfig or tq.get_default_qconfig("fbgemm")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prepared = tq.prepare(m)
        for seed in range(3):
            prepared(t(seed, 2, 3, 8, 8))
        return m, tq.convert(prepared)


def test_prepare_and_convert():
    m, q = quantized_net()
    assert type(q.conv).__name__ == "ConvReLU2d" and type(q.fc).__module__.endswith("quantized.modules.linear")
    x = t(9, 2, 3, 8, 8)
    assert (m(x) - q(x)).abs().max() < 0.1 * m(x).abs().max() + 0.05
    other = tq.convert(tq.prepare(m))
    other.load_state_dict(q.state_dict())
    assert torch.equal(other(x), q(x))


def test_dynamic_quantization():
    m = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4)).eval()
    q = tq.quantize_dynamic(m, {nn.Linear}, dtype=torch.qint8)
    x = t(3, 5, 6)
    assert (m(x) - q(x)).abs().max() < 0.1
    lstm = nn.LSTM(6, 5, num_layers=2, bidirectional=True).eval()
    quantized = tq.quantize_dynamic(nn.Sequential(lstm))[0]
    for a, b in zip(lstm(t(4, 3, 2, 6))[1], quantized(t(4, 3, 2, 6))[1]):
        assert (a - b).abs().max() < 0.05


def test_training_with_fake_quantization():
    m = tq.fuse_modules_qat(Net().train(), [["conv", "bn", "relu"]])
    m.qconfig = tq.get_default_qat_qconfig("fbgemm")
    prepared = tq.prepare_qat(m)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(3):
            prepared(t(seed, 2, 3, 8, 8)).sum().backward()
        assert prepared.conv.weight.grad.abs().sum() > 0
        q = tq.convert(prepared.eval())
    x = t(9, 2, 3, 8, 8)
    assert (prepared(x) - q(x)).abs().max() < 0.15


def test_scripts_traces_and_archives():
    _, q = quantized_net()
    x = t(9, 2, 3, 8, 8)
    want = q(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced = torch.jit.trace(q, (x,))
    stream = io.BytesIO()
    torch.jit.save(traced, stream)
    stream.seek(0)
    loaded = torch.jit.load(stream)
    assert torch.equal(traced(x), want) and torch.equal(loaded(x), want)


# ---- scripts, settings and layers that nn has


def test_scripts_know_quantized_tensors():
    def f(x: torch.Tensor) -> bool:
        return x.is_quantized

    q = torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8)
    assert torch.jit.script(f)(q) and not torch.jit.script(f)(torch.ones(2))


@pytest.mark.parametrize("nd", [1, 2, 3])
def test_batch_norm_is_folded_after_training(nd):
    conv, bn = getattr(nn, f"Conv{nd}d"), getattr(nn, f"BatchNorm{nd}d")
    torch.manual_seed(nd)
    m = tq.QuantWrapper(nn.Sequential(conv(3, 4, 3, padding=1), bn(4)))
    m = tq.fuse_modules_qat(m.train(), [["module.0", "module.1"]])
    m.qconfig = tq.get_default_qat_qconfig("qnnpack")
    prepared = tq.prepare_qat(m)
    with torch.no_grad():
        prepared.module[0].bn.running_mean.fill_(0.7)
        prepared.module[0].bn.bias.fill_(0.4)
    x = t(nd, 2, 3, *[6] * nd)
    prepared(x)
    prepared.eval()
    want = prepared(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert (tq.convert(prepared)(x) - want).abs().max() < 0.1


def test_packed_parameters_of_traces_become_constants_of_onnx():
    onnx = pytest.importorskip("onnx")
    _, q = quantized_net()
    x = t(9, 2, 3, 8, 8)
    stream = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(torch.jit.trace(q, (x,)), (x,), stream, opset_version=13)
        kinds = [n.op_type for n in onnx.load_from_string(stream.getvalue()).graph.node]
        assert "QuantizeLinear" in kinds and "Conv" in kinds
        stream = io.BytesIO()
        mode = torch.onnx.OperatorExportTypes.ONNX_ATEN_FALLBACK
        _, plain = quantized_net(tq.default_qconfig)
        torch.onnx.export(plain, (x,), stream, opset_version=9, operator_export_type=mode)
        kinds = [n.op_type for n in onnx.load_from_string(stream.getvalue()).graph.node]
        assert "ATen" in kinds and "QuantizeLinear" not in kinds


@pytest.mark.parametrize("kind", ["lstm", "attention"])
def test_layers_made_of_parts(kind):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.quant = tq.QuantStub()
            self.inner = nn.LSTM(8, 6, 2, bidirectional=True) if kind == "lstm" else nn.MultiheadAttention(8, 2)
            self.dequant = tq.DeQuantStub()

        def forward(self, x):
            x = self.quant(x)
            return self.dequant(self.inner(x)[0] if kind == "lstm" else self.inner(x, x, x)[0])

    torch.manual_seed(3)
    m = Model().eval()
    m.qconfig = tq.default_qconfig
    prepared = tq.prepare(m)
    x = t(4, 5, 2, 8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert (prepared(x) - m(x)).abs().max() < 1e-5
        q = tq.convert(prepared)
    assert repr(q.inner).startswith("QuantizedLSTM" if kind == "lstm" else "QuantizedMultiheadAttention")
    assert (q(x) - m(x)).abs().max() < 0.1 * m(x).abs().max() + 0.03


def test_learned_scales():
    scale, zero = torch.tensor([0.1], requires_grad=True), torch.tensor([3.0], requires_grad=True)
    x = torch.tensor([-1.0, 0.04, 0.26, 9.0], requires_grad=True)
    y = torch._fake_quantize_learnable_per_tensor_affine(x, scale, zero, 0, 15, 0.5)
    y.sum().backward()
    assert y.tolist() == pytest.approx([-0.3, 0.0, 0.3, 1.2])
    assert x.grad.tolist() == [0.0, 1.0, 1.0, 0.0]
    # What is clipped gives its distance from the zero point; the rest its error of rounding.
    assert scale.grad.item() == pytest.approx(0.5 * (-3 + -0.4 + 0.4 + 12), rel=1e-4)
    assert zero.grad.item() == pytest.approx(-0.5 * 2 * 0.1)


def test_settings_of_a_model():
    mapping = tq.QConfigMapping().set_global(tq.default_qconfig).set_object_type(nn.Linear, None)
    mapping.set_module_name_object_type_order("a", nn.Linear, 0, None)
    assert tq.QConfigMapping.from_dict(mapping.to_dict()).to_dict() == mapping.to_dict()
    usual = tq.get_default_qconfig_mapping("x86")
    assert usual.object_type_qconfigs[nn.Sigmoid].activation().scale == 1 / 256
    assert len(usual.object_type_qconfigs) == 23


def test_layouts_are_those_that_pytorch_suggests():
    q = torch.quantize_per_tensor(torch.rand(4, 3).t(), 0.1, 0, torch.quint8)
    assert q.stride() == (4, 1)
    last = torch.rand(1, 3, 4, 4).contiguous(memory_format=torch.channels_last)
    q = torch.quantize_per_tensor(last, 0.1, 0, torch.quint8)
    assert q.stride() == last.stride() and q.dequantize().stride() == last.stride()
    assert nn.functional.max_pool2d(q, 3, 2, 1).stride() == (12, 1, 6, 3)


@pytest.mark.parametrize("dtype", ["quint8", "qint8"])
def test_bytes_and_numbers_agree(dtype):
    """What is computed on bytes is what PyTorch computes on numbers, also beyond whole vectors."""
    kind = getattr(torch, dtype)
    zero = 60 if dtype == "quint8" else -7
    a = torch.quantize_per_tensor(t(1, 1, 5, 7, 9), 0.02, zero, kind)
    b = torch.quantize_per_tensor(t(2, 1, 5, 7, 9), 0.03, zero + 3, kind)
    for name in ("add", "add_relu", "mul", "mul_relu"):
        x, y = a.dequantize(), b.dequantize()
        z = x + y if name.startswith("add") else x * y
        want = torch.quantize_per_tensor(z.relu() if name.endswith("relu") else z, 0.05, zero, kind)
        got = getattr(torch.ops.quantized, name)(a, b, 0.05, zero)
        assert torch.equal(got.int_repr(), want.int_repr()), name
    assert torch.equal(torch.relu(a).dequantize(), a.dequantize().relu())
    last = a.contiguous(memory_format=torch.channels_last)
    pooled = nn.functional.max_pool2d(last, 3, 2, 1, ceil_mode=True)
    assert torch.equal(pooled.dequantize(), nn.functional.max_pool2d(a.dequantize(), 3, 2, 1, ceil_mode=True))


@pytest.mark.parametrize("groups,kernel,dilation", [(1, 3, 1), (1, 3, 2), (2, 3, 1), (20, 3, 1), (20, 5, 2), (1, 1, 1)])
def test_convolutions_of_full_ranges_are_exact(groups, kernel, dilation):
    """Activations and weights of all 8 bits, whose pairs of products leave 16 bits; odd numbers of channels."""
    for dtype, zero in ((torch.quint8, 117), (torch.qint8, -11)):
        x = torch.quantize_per_tensor(t(3, 2, 20, 9, 8) * 4, 0.03, zero, dtype)
        w = torch.quantize_per_tensor(t(4, 20, 20 // groups, kernel, kernel), 0.0156, 3, torch.qint8)
        pad = [dilation * (kernel // 2)] * 2
        packed = torch.ops.quantized.conv2d_prepack(w, None, [2, 1], pad, [dilation] * 2, groups)
        got = torch.ops.quantized.conv2d(x, packed, 0.9, 100 if dtype is torch.quint8 else 2)
        want = nn.functional.conv2d(
            x.dequantize().double(), w.dequantize().double(), None, [2, 1], pad, dilation, groups
        )
        want = torch.quantize_per_tensor(want.float(), 0.9, got.q_zero_point(), dtype)
        assert (got.int_repr().int() - want.int_repr().int()).abs().max() <= 1
        assert (got.int_repr() != want.int_repr()).sum() <= got.numel() // 200


def test_batch_norm_by_itself():
    m = tq.QuantWrapper(nn.BatchNorm2d(4)).eval()
    m.qconfig = tq.default_qconfig
    prepared = tq.prepare(m)
    x = t(1, 2, 4, 5, 5)
    prepared(x)
    q = tq.convert(prepared)
    assert (q(x) - m(x)).abs().max() < 0.05
    assert q.state_dict()["module.scale"].shape == (1,)  # as PyTorch has it
    assert torch.equal(torch.jit.script(q)(x), q(x))


def test_views_of_real_tensors_in_fake_mode_keep_real_scales():
    scales, zeros = torch.tensor([0.1, 0.2, 0.3, 0.4]), torch.zeros(4, dtype=torch.long)
    q = torch.quantize_per_channel(t(1, 2, 4), scales, zeros, 1, torch.qint8)
    with FakeTensorMode(allow_non_fake_inputs=True):
        part = q[:, 1:4:2]
        row = q.select(0, 1)
    assert torch.equal(part.q_per_channel_scales(), scales[1:4:2].double())
    assert torch.equal(part.dequantize(), q.dequantize()[:, 1:4:2])
    assert torch.equal(row.dequantize(), q.dequantize()[1])
