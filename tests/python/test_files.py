# SPDX-License-Identifier: Apache-2.0
"""Files, from the outside: programs captured by Ingot and by the real PyTorch go through the command, into ONNX Runtime
and back into PyTorch, and the numbers agree. Who is not installed is skipped, visibly."""

import importlib
import json
import os
import pathlib
import subprocess
import zipfile
from collections.abc import Callable
from typing import Any

import numpy
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMAND = pathlib.Path(os.environ.get("INGOT_BUILD", ROOT / "build/release")) / "ingot"
DATA = ROOT / "tests/pt2/data"


def ingot(*words: object, code: int = 0) -> subprocess.CompletedProcess:
    done = subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done


# ---- the command


def test_our_archive_says_what_pytorch_says(tmp_path: pathlib.Path) -> None:
    """The text of the program is the same, byte for byte, but for the version of its writer."""
    for name in ("mlp", "cnn", "mixed"):
        ingot("convert", DATA / f"{name}.pt2", tmp_path / f"{name}.pt2")
        ours = zipfile.ZipFile(tmp_path / f"{name}.pt2")
        theirs = zipfile.ZipFile(DATA / f"{name}.pt2")
        assert ours.testzip() is None
        members = [member for member in theirs.namelist() if not member.endswith("sample_inputs/model.pt")]
        for member in members:
            if member.endswith("serialization_id"):
                continue
            a = ours.read(member)
            b = theirs.read(member)
            if member.endswith("model.json"):
                b = json.dumps(json.loads(b) | {"torch_version": json.loads(a)["torch_version"]}).encode()
            assert a == b, member


# ---- programs of both providers


def provider(name: str) -> Any:
    module = importlib.import_module(name) if name == "ingot" else pytest.importorskip(name)
    if not hasattr(module, "export"):
        pytest.skip(f"{name} has no export here")
    return module


Case = tuple[Callable[[Any], Callable], Callable[[Any], tuple]]
CASES: dict[str, Case] = {
    "linear": (lambda t: t.nn.Linear(4, 3), lambda t: (t.randn(2, 4),)),
    "linear_3d": (lambda t: t.nn.Linear(4, 3), lambda t: (t.randn(2, 5, 4),)),
    "linear_no_bias": (lambda t: t.nn.Linear(4, 3, bias=False), lambda t: (t.randn(2, 4),)),
    "addmm": (
        lambda t: lambda a, b, c: t.addmm(a, b, c, beta=2, alpha=0.5),
        lambda t: (t.randn(2, 5), t.randn(2, 3), t.randn(3, 5)),
    ),
    "mm": (lambda t: t.mm, lambda t: (t.randn(2, 3), t.randn(3, 5))),
    "matmul": (lambda t: lambda a, b: (a @ b, a @ b[0]), lambda t: (t.randn(2, 4, 3), t.randn(2, 3, 5))),
    "bmm": (lambda t: t.bmm, lambda t: (t.randn(2, 4, 3), t.randn(2, 3, 5))),
    "baddbmm": (
        lambda t: lambda a, b, c: t.baddbmm(a, b, c, beta=2, alpha=3),
        lambda t: (t.randn(2, 4, 5), t.randn(2, 4, 3), t.randn(2, 3, 5)),
    ),
    "embedding": (lambda t: t.nn.Embedding(5, 3), lambda t: (t.tensor([[0, 4], [2, 2]]),)),
    "activations": (
        lambda t: (
            lambda x: [
                f(x)
                for f in (
                    t.relu,
                    t.sigmoid,
                    t.tanh,
                    t.nn.functional.gelu,
                    t.nn.functional.silu,
                    t.nn.functional.hardtanh,
                )
            ]
        ),
        lambda t: (t.randn(3, 5) * 3,),
    ),
    "gelu_tanh": (lambda t: lambda x: t.nn.functional.gelu(x, approximate="tanh"), lambda t: (t.randn(3, 5),)),
    "unary": (
        lambda t: lambda x: [f(x) for f in (t.exp, t.neg, t.abs, t.round, t.sin, t.cos, t.reciprocal, t.isnan)],
        lambda t: (t.randn(3, 5) * 3,),
    ),
    "positive": (lambda t: lambda x: (t.log(x), t.sqrt(x), t.rsqrt(x)), lambda t: (t.rand(3, 5) + 0.5,)),
    "arithmetic": (
        lambda t: (
            lambda x, y: (
                x + y,
                x - y,
                x * y,
                x / y,
                x + 1,
                2 - x,
                x * 2.5,
                x / 4,
                t.add(x, y, alpha=3),
                t.sub(x, y, alpha=2),
                x**2,
            )
        ),
        lambda t: (t.randn(3, 5), t.randn(5) + 3),
    ),
    "integers": (
        lambda t: lambda x, y: (x + y, x * 2, x + 1.5, x / 2, t.maximum(x, y), t.minimum(x, y)),
        lambda t: (t.tensor([1, -2, 3]), t.tensor([4, 5, -6])),
    ),
    "promotion": (lambda t: lambda x, y: (x + y, x * y), lambda t: (t.tensor([1, -2, 3]), t.randn(3))),
    "compare": (
        lambda t: lambda x, y: (x < y, x <= y, x > y, x >= y, x == y, x != y, x > 0, x == 0.5),
        lambda t: (t.randn(6).round(), t.randn(6).round()),
    ),
    "logic": (
        lambda t: lambda x, y: (t.logical_and(x, y), t.logical_or(x, y), t.logical_xor(x, y), t.logical_not(x)),
        lambda t: (t.tensor([True, False, True]), t.tensor([True, True, False])),
    ),
    "where_clamp": (
        lambda t: lambda x: (t.where(x > 0, x, x * 2), t.clamp(x, -1, 1), t.clamp(x, min=0), t.clamp(x, max=0.5)),
        lambda t: (t.randn(4, 3),),
    ),
    "softmax": (
        lambda t: lambda x: (t.softmax(x, -1), t.softmax(x, 0), t.log_softmax(x, 1)),
        lambda t: (t.randn(3, 4, 5),),
    ),
    "conv1d": (lambda t: t.nn.Conv1d(2, 4, 3, stride=2, padding=1), lambda t: (t.randn(2, 2, 9),)),
    "conv2d": (
        lambda t: t.nn.Conv2d(4, 6, 3, stride=2, padding=1, dilation=2, groups=2),
        lambda t: (t.randn(2, 4, 9, 11),),
    ),
    "conv2d_unbatched": (lambda t: t.nn.Conv2d(2, 3, (2, 3), bias=False), lambda t: (t.randn(2, 5, 6),)),
    "conv2d_same": (lambda t: t.nn.Conv2d(2, 3, 4, padding="same"), lambda t: (t.randn(1, 2, 7, 7),)),
    "conv_transpose2d": (
        lambda t: t.nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2),
        lambda t: (t.randn(2, 4, 5, 6),),
    ),
    "max_pool2d": (
        lambda t: (
            lambda x: (
                t.nn.functional.max_pool2d(x, 2),
                t.nn.functional.max_pool2d(x, 3, 2, 1),
                t.nn.functional.max_pool2d(x, (2, 3), 2, ceil_mode=True),
            )
        ),
        lambda t: (t.randn(2, 3, 7, 9),),
    ),
    "avg_pool2d": (
        lambda t: (
            lambda x: (
                t.nn.functional.avg_pool2d(x, 2),
                t.nn.functional.avg_pool2d(x, 3, 2, 1),
                t.nn.functional.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
            )
        ),
        lambda t: (t.randn(2, 3, 8, 8),),
    ),
    "adaptive_avg_pool2d": (
        lambda t: lambda x: (t.nn.functional.adaptive_avg_pool2d(x, 1), t.nn.functional.adaptive_avg_pool2d(x, (4, 2))),
        lambda t: (t.randn(2, 3, 8, 8),),
    ),
    "batch_norm": (lambda t: t.nn.BatchNorm2d(3), lambda t: (t.randn(2, 3, 4, 4),)),
    "batch_norm_1d": (lambda t: t.nn.BatchNorm1d(3, affine=False), lambda t: (t.randn(4, 3),)),
    "layer_norm": (lambda t: t.nn.LayerNorm((3, 4)), lambda t: (t.randn(2, 3, 4),)),
    "layer_norm_plain": (lambda t: t.nn.LayerNorm((3, 4), elementwise_affine=False), lambda t: (t.randn(2, 3, 4),)),
    "views": (
        lambda t: (
            lambda x: (
                x.view(6, 4),
                x.reshape(-1),
                t.flatten(x, 1),
                x.unsqueeze(1),
                x[:, :1].squeeze(1),
                x.transpose(0, 2),
                x.permute(1, 2, 0),
                x.contiguous() + 1,
            )
        ),
        lambda t: (t.randn(2, 3, 4),),
    ),
    "pieces": (lambda t: lambda x: (x[1:3], x[:, ::2], x[1], x[:, -1], x[..., 1:]), lambda t: (t.randn(4, 6, 3),)),
    "split": (lambda t: lambda x: (*x.split(2, 1), *x.chunk(3, 0), *t.split(x, [1, 4], 1)), lambda t: (t.randn(6, 5),)),
    "cat": (
        lambda t: lambda x, y: (t.cat([x, y], 1), t.stack([x, x * 2], 1), t.cat([x, y]).t()),
        lambda t: (t.randn(2, 3), t.randn(2, 3)),
    ),
    "expand": (lambda t: lambda x: x.expand(4, 3).clone(), lambda t: (t.randn(1, 3),)),
    "reduce": (
        lambda t: (
            lambda x: (
                x.mean(),
                x.mean(1),
                x.mean((0, 2), keepdim=True),
                x.sum(),
                x.sum(-1),
                x.amax(1),
                x.amin((0, 1)),
                x.max(),
                x.min(),
                x.argmax(1),
                x.argmin(0, keepdim=True),
            )
        ),
        lambda t: (t.randn(3, 4, 5),),
    ),
    "dropout": (lambda t: t.nn.Dropout(0.5), lambda t: (t.randn(3, 4),)),
    "input_as_output": (lambda t: lambda x: (x, x + 1, x), lambda t: (t.randn(3),)),
    "empty": (lambda t: lambda x: (x.reshape(3, 0), x + 1), lambda t: (t.randn(0, 3),)),
}


def as_module(t: Any, body: Callable) -> Any:
    if isinstance(body, t.nn.Module):
        return body.eval()

    class Wrapped(t.nn.Module):
        def forward(self, *args: Any) -> Any:
            return body(*args)

    return Wrapped().eval()


def leaves(value: Any) -> list:
    return [leaf for item in value for leaf in leaves(item)] if isinstance(value, (tuple, list)) else [value]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("source", ["ingot", "torch"])
def test_onnx_runtime_agrees(name: str, source: str, tmp_path: pathlib.Path) -> None:
    onnx = pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    t = provider(source)
    t.manual_seed(0)
    make, make_args = CASES[name]
    module = as_module(t, make(t))
    args = make_args(t)
    t.export.save(t.export.export(module, args), tmp_path / "m.pt2")
    ingot("convert", tmp_path / "m.pt2", tmp_path / "m.onnx")
    onnx.checker.check_model(str(tmp_path / "m.onnx"), full_check=True)
    session = runtime.InferenceSession(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"])
    feeds = {i.name: a.numpy() for i, a in zip(session.get_inputs(), args, strict=True)}
    with t.no_grad():
        want = [leaf.numpy() for leaf in leaves(module(*args))]
    got = session.run(None, feeds)
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        numpy.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_pytorch_loads_what_ingot_wrote(name: str, tmp_path: pathlib.Path) -> None:
    t = provider("torch")
    t.manual_seed(0)
    make, make_args = CASES[name]
    module = as_module(t, make(t))
    args = make_args(t)
    first = t.export.export(module, args)
    t.export.save(first, tmp_path / "a.pt2")
    ingot("convert", tmp_path / "a.pt2", tmp_path / "b.pt2")
    second = t.export.load(tmp_path / "b.pt2")
    assert str(second.graph) == str(t.export.load(tmp_path / "a.pt2").graph)
    with t.no_grad():
        for a, b in zip(leaves(second.module()(*args)), leaves(module(*args)), strict=True):
            assert t.equal(a, b) or t.allclose(a, b)


@pytest.mark.parametrize("name", CASES)
def test_pytorch_runs_what_ingot_captured(name: str, tmp_path: pathlib.Path) -> None:
    torch = provider("torch")
    t = provider("ingot")
    t.manual_seed(0)
    make, make_args = CASES[name]
    module = as_module(t, make(t))
    args = make_args(t)
    t.export.save(t.export.export(module, args), tmp_path / "m.pt2")
    program = torch.export.load(tmp_path / "m.pt2")
    with t.no_grad(), torch.no_grad():
        want = leaves(module(*args))
        got = leaves(program.module()(*[torch.from_numpy(a.numpy()) for a in args]))
    for a, b in zip(got, want, strict=True):
        numpy.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-5)
