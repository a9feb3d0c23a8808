# SPDX-License-Identifier: Apache-2.0
"""TorchScript archives of all releases run and agree; what is written again is the same."""

import os
import pathlib
import subprocess
import sys
import zipfile
from typing import Any

import numpy
import pytest

import ingot
from ingot import nn

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDENS = pathlib.Path(os.environ.get("INGOT_GOLDENS", ROOT.parent / "shared/goldens"))
BUILD = pathlib.Path(os.environ.get("INGOT_BUILD", ROOT / "build/release"))
COMMAND = BUILD / "ingot"
TOOL = BUILD / "tests/ts_archive_tool"
ARCHIVES = sorted(GOLDENS.glob("*/*.ts.pt")) + sorted(GOLDENS.glob("*/*.ptl"))


def name(path: pathlib.Path) -> str:
    return f"{path.parent.name}/{path.name}"


def inputs_of(path: pathlib.Path) -> list[pathlib.Path]:
    stem = path.name.split(".")[0]
    return [p for p in (path.parent / f"{stem}.io.npz", path.parent / f"{stem}.io2.npz") if p.exists()]


def run(*args: object) -> subprocess.CompletedProcess:
    return subprocess.run([str(a) for a in args], capture_output=True, text=True, check=False)


def sources(path: pathlib.Path) -> dict[str, str]:
    """Classes of every source of an archive, by the member's name without the folder."""
    with zipfile.ZipFile(path) as z:
        return {member.split("/", 1)[1]: z.read(member).decode() for member in z.namelist() if member.endswith(".py")}


@pytest.mark.skipif(not ARCHIVES, reason="no goldens")
@pytest.mark.parametrize("path", ARCHIVES, ids=name)
def test_archives_run_and_agree(path: pathlib.Path) -> None:
    for io in inputs_of(path):
        done = run(COMMAND, "run", path, "-i", io, "--check", io)
        assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not ARCHIVES, reason="no goldens")
@pytest.mark.parametrize("path", [p for p in ARCHIVES if p.parent.name in ("2.1.2", "2.13.0")], ids=name)
def test_copies_have_the_same_sources_and_run(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    copy = tmp_path / "copy.pt"
    done = run(TOOL, "copy", path, copy)
    assert done.returncode == 0, done.stderr
    if "lstm" not in path.name:  # the names of several results of one call are lost
        assert sources(copy) == sources(path)
    # NumPy stores bfloat16 as bits, and only the record of a trace's inputs, which copies lack, tells which these are.
    for io in inputs_of(path) if "dtypes" not in path.name else []:
        done = run(COMMAND, "run", copy, "-i", io, "--check", io)
        assert done.returncode == 0, done.stderr
    again = tmp_path / "again" / "copy.pt"
    again.parent.mkdir()
    assert run(TOOL, "copy", copy, again).returncode == 0
    assert again.read_bytes() == copy.read_bytes()


@pytest.mark.skipif(not ARCHIVES, reason="no goldens")
def test_copies_are_read_by_pytorch(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("torch")
    script = (
        "import sys, torch, numpy\n"
        "m = torch.jit.load(sys.argv[1])\n"
        "io = numpy.load(sys.argv[2])\n"
        "out = m(*[torch.from_numpy(io[f'arg{i}']) for i in range(sum(k.startswith('arg') for k in io))])\n"
        "torch.testing.assert_close(out, torch.from_numpy(io['out0']), rtol=1e-5, atol=1e-6)\n"
    )
    for model in ("mlp", "conv", "encoder", "cond"):
        path = GOLDENS / "2.13.0" / f"{model}.ts.pt"
        copy = tmp_path / f"{model}.pt"
        assert run(TOOL, "copy", path, copy).returncode == 0
        done = run(sys.executable, "-c", script, copy, inputs_of(path)[0])
        assert done.returncode == 0, done.stderr


class Hooked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x: ingot.Tensor) -> ingot.Tensor:
        return self.fc(x)


def before(self: Any, inputs: tuple[ingot.Tensor]) -> tuple[ingot.Tensor]:
    return (inputs[0] + 1,)


def behind(self: Any, inputs: tuple[ingot.Tensor], output: ingot.Tensor) -> ingot.Tensor:
    return output * 2


def test_hooks_of_a_loaded_module_run(tmp_path: pathlib.Path) -> None:
    module = Hooked()
    module.register_forward_pre_hook(before)
    module.register_forward_hook(behind)
    script = ingot.jit.script(module)
    x = ingot.ones(1, 2)
    want = script(x)
    ingot.jit.save(script, tmp_path / "m.pt")
    assert ingot.equal(ingot.jit.load(tmp_path / "m.pt")(x), want)
    numpy.savez(tmp_path / "io.npz", arg0=x.numpy(), out0=want.detach().numpy())
    done = run(COMMAND, "run", tmp_path / "m.pt", "-i", tmp_path / "io.npz", "--check", tmp_path / "io.npz")
    assert done.returncode == 0, done.stderr


PHONE = [
    0.10875, 0.015839, 0.0, 0.0, 0.001654, 0.0, 0.119692, 0.001319, 0.0,
    0.079672, 0.023375, 0.0, 0.0, 0.065211, 0.0, 0.127633, 0.037705, 0.0,
]  # fmt: skip


def test_models_for_phones_run_and_convert(tmp_path: pathlib.Path) -> None:
    """golden_phone.ptl is what optimize_for_mobile of PyTorch 2.5.1 wrote: layers are objects with clamped results."""
    onnxruntime = pytest.importorskip("onnxruntime")
    path = pathlib.Path(__file__).parent / "golden_phone.ptl"
    x = ingot.arange(2 * 2 * 7 * 4.0).reshape(2, 2, 7, 4) / 50 - 1
    m = ingot.jit.load(path)
    want = ingot.tensor(PHONE).reshape(2, 3, 3)
    ingot.testing.assert_close(m(x), want, rtol=0, atol=2e-6)
    m.save(tmp_path / "copy.pt")
    assert ingot.equal(ingot.jit.load(tmp_path / "copy.pt")(x), m(x))
    assert "sound" in run(COMMAND, "verify", path).stdout
    ingot.onnx.export(m, (x,), tmp_path / "phone.onnx", input_names=["x"], dynamo=False)
    (found,) = onnxruntime.InferenceSession(tmp_path / "phone.onnx").run(None, {"x": x.numpy()})
    numpy.testing.assert_allclose(found, want.numpy(), atol=2e-6)


def test_clamped_layers_refuse_what_they_cannot_run() -> None:
    pack = ingot.ops.prepacked.conv2d_clamp_prepack
    w = ingot.ones(4, 2, 3, 3)
    layer = pack(w, None, [1], [0], [1], 1, None, 2)
    assert ingot.ops.prepacked.conv2d_clamp_run(ingot.ones(1, 2, 3, 3), layer).flatten().tolist() == [2.0] * 4
    with pytest.raises(RuntimeError, match="a list of 2 values, but got 3 values"):
        pack(w, None, [1, 1, 1], [0], [1], 1)
    with pytest.raises(RuntimeError, match="to have 2 channels, but got 3 channels"):
        ingot.ops.prepacked.conv2d_clamp_run(ingot.ones(1, 3, 3, 3), layer)
    with pytest.raises(TypeError, match=r"'W_prepack': found __torch__\.torch\.classes\.xnnpack\.Conv2dOpContext"):
        ingot.ops.prepacked.linear_clamp_run(ingot.ones(1, 3), layer)


class OtherNames(nn.Module):
    """The receiver may have any name."""

    def __init__(this) -> None:
        super().__init__()
        this.count = 0

    def forward(this, x: ingot.Tensor) -> ingot.Tensor:
        for i in range(2):
            x = this.step(x, i)
        return x

    @ingot.jit.export
    def step(this, x: ingot.Tensor, i: int) -> ingot.Tensor:
        this.count = i
        return x * 2 + this.count


def test_receivers_with_other_names(tmp_path: pathlib.Path) -> None:
    m = ingot.jit.script(OtherNames())
    m.save(tmp_path / "m.pt")
    for again in (m, ingot.jit.load(tmp_path / "m.pt")):
        assert again(ingot.ones(1)).item() == 5.0


def test_a_padded_batch_is_no_nested_tensor() -> None:
    @ingot.jit.script
    def f(x: ingot.Tensor, mask: ingot.Tensor) -> ingot.Tensor:
        if not ingot._nested_tensor_from_mask_left_aligned(x, mask):
            x = x + 1
        return x

    assert f(ingot.ones(1, 2, 1), ingot.tensor([[True, False]])).tolist() == [[[2.0], [2.0]]]
