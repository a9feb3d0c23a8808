# SPDX-License-Identifier: Apache-2.0
"""`ingot bisect` finds the call in which two programs differ, also in an ONNX file and on other runtimes."""
import json
import os
import pathlib
import random
import subprocess
import sys

import numpy
import pytest

import ingot as torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
INGOT = pathlib.Path(os.environ.get("INGOT_BUILD", ROOT / "build/release")) / "ingot"

pytestmark = pytest.mark.skipif(not INGOT.exists(), reason="the command is not built")


class Drawn(torch.nn.Module):
    """Layers of drawn kinds, each times a factor; one factor differs. A factor of 1 changes nothing, so that the
    numbers of the operand and of the product are the same in the first program."""

    def __init__(self, kinds: list[int], seed: int, wrong: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.kinds, self.wrong = kinds, wrong
        self.layers = torch.nn.ModuleList(torch.nn.Linear(8, 8) for _ in kinds)

    def forward(self, x):
        kept = x
        for i, (kind, layer) in enumerate(zip(self.kinds, self.layers, strict=True)):
            y = layer(x)
            choices = [
                lambda y=y: torch.relu(y),
                lambda y=y: torch.softmax(y, -1),
                lambda y=y, x=x: torch.cat([y[:, :4], x[:, 4:]], 1),
                lambda y=y: torch.layer_norm(y, (8,)),
                lambda y=y: y.reshape(-1, 2, 4).transpose(1, 2).reshape(-1, 8),
                lambda y=y, kept=kept: torch.tanh(y - kept),
            ]
            x = choices[kind]() * (1.01 if i == self.wrong else 1.0)
            kept = x if i % 3 == 2 else kept
        return x.sum(1), x


def bisect(*words, code: int = 1) -> dict:
    env = dict(os.environ, INGOT_PYTHON=sys.executable)
    command = [INGOT, "bisect", *map(str, words), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, env=env)
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("seed", range(10))
def test_drawn_programs(seed: int, tmp_path: pathlib.Path) -> None:
    drawn = random.Random(seed)
    kinds = [drawn.randrange(6) for _ in range(drawn.randrange(3, 8))]
    wrong = drawn.randrange(len(kinds))
    for name, place in (("a", -1), ("b", wrong)):
        program = torch.export.export(Drawn(kinds, seed, place).eval(), (torch.ones(3, 8),))
        torch.export.save(program, str(tmp_path / f"{name}.pt2"))
    products = [node.name for node in program.graph.nodes if "aten.mul" in str(node.target)]
    x = tmp_path / "x.npz"
    numpy.savez(x, x=numpy.random.default_rng(seed).standard_normal((3, 8)).astype("float32"))
    a, b, onnx = tmp_path / "a.pt2", tmp_path / "b.pt2", tmp_path / "b.onnx"
    subprocess.run([INGOT, "convert", b, onnx, "--no-check"], check=True, capture_output=True)
    for other in (b, onnx):
        found = bisect(a, other, "-i", x)
        assert found["first"]["a"]["name"] == products[wrong], (kinds, wrong, found["first"])
        assert found["first"]["b"]["name"] and found["first"]["a"]["line"]
        assert all(read["b"] for read in found["reads"] if read["a"]["operator"])  # what it reads agrees
    assert bisect(b, onnx, "-i", x, code=0)["first"] is None
    assert bisect(b, b, "-i", x, code=0)["first"] is None  # the plan


def renamed(source: pathlib.Path, target: pathlib.Path) -> None:
    """The same ONNX model, whose values have other names."""
    onnx = pytest.importorskip("onnx")
    model = onnx.load(str(source))
    kept = {v.name for v in [*model.graph.output, *model.graph.input, *model.graph.initializer]} | {""}
    for node in model.graph.node:
        node.name = ""
        node.input[:] = [i if i in kept else "v_" + i for i in node.input]
        node.output[:] = [o if o in kept else "v_" + o for o in node.output]
    del model.graph.value_info[:]
    target.write_bytes(model.SerializeToString())


class Small(torch.nn.Module):
    def __init__(self, how: str) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.one, self.two, self.how = torch.nn.Linear(4, 8), torch.nn.Linear(8, 2), how

    def forward(self, x):
        return self.two(torch.nn.functional.gelu(self.one(x), approximate=self.how))


@pytest.fixture
def small(tmp_path) -> pathlib.Path:
    for how in ("none", "tanh"):
        torch.export.save(torch.export.export(Small(how), (torch.ones(3, 4),)), str(tmp_path / f"{how}.pt2"))
        command = [INGOT, "convert", tmp_path / f"{how}.pt2", tmp_path / f"{how}.onnx", "--no-check"]
        subprocess.run(command, check=True, capture_output=True)
    numpy.savez(tmp_path / "x.npz", x=numpy.linspace(-3, 3, 12, dtype="float32").reshape(3, 4))
    return tmp_path


def test_names_need_not_agree(small) -> None:
    renamed(small / "tanh.onnx", small / "other.onnx")
    assert bisect(small / "tanh.pt2", small / "other.onnx", "-i", small / "x.npz", code=0)["first"] is None
    first = bisect(small / "none.pt2", small / "other.onnx", "-i", small / "x.npz")["first"]
    assert first["a"]["name"] == "gelu" and first["b"]["name"] == "v_gelu"


def test_onnxruntime(small) -> None:
    pytest.importorskip("onnxruntime")
    x = small / "x.npz"
    same = bisect(small / "tanh.onnx", small / "tanh.onnx", "-i", x, "--runtime-b", "onnxruntime", code=0)
    assert same["agree"] == same["values"] > 2
    other = bisect(small / "none.pt2", small / "tanh.onnx", "-i", x, "--runtime-b", "onnxruntime")
    assert other["first"]["a"]["name"] == "gelu" and other["b"]["runtime"] == "onnxruntime"
    long = small / "long.onnx"  # an input with a long name arrives
    subprocess.run([INGOT, "rename", small / "tanh.onnx", long, "x=" + 400 * "x"], check=True, capture_output=True)
    assert bisect(long, long, "--random", "--runtime-b", "onnxruntime", code=0)["first"] is None


def test_rounded_weights(small) -> None:
    """Before and after a change of a weight's precision."""
    class Rounded(Small):
        def __init__(self, digits: int) -> None:
            super().__init__("none")
            if digits:
                with torch.no_grad():
                    self.two.weight.copy_(torch.tensor(numpy.round(self.two.weight.detach().numpy() * digits) / digits))

    for digits in (0, 64):
        torch.export.save(torch.export.export(Rounded(digits), (torch.ones(3, 4),)), str(small / f"r{digits}.pt2"))
    found = bisect(small / "r0.pt2", small / "r64.pt2", "-i", small / "x.npz")
    assert found["first"]["a"]["name"] == "linear_1" and found["agree"] == 2
    wide = bisect(small / "r0.pt2", small / "r64.pt2", "-i", small / "x.npz", "--atol", "float32=0.2", code=0)
    assert wide["first"] is None
