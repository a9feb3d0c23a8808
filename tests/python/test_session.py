# SPDX-License-Identifier: Apache-2.0
"""Sessions: every kind of file as a function of arrays, and plans against the interpreter, bit for bit, on the node
tests of ONNX, the archives of PyTorch's releases and programs of our own."""
from __future__ import annotations

import pathlib
import warnings

import numpy as np
import pytest

import ingot
from ingot import nn

HERE = pathlib.Path(__file__).parent
PROGRAMS = sorted((HERE.parent / "pt2" / "data").rglob("*.pt2"))
SWITCHES = [(), ("chains",), ("reuse",), ("chains", "reuse")]


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(8, 8)
        self.register_buffer("count", ingot.zeros(1))

    def forward(self, x: ingot.Tensor, scale: ingot.Tensor) -> tuple[ingot.Tensor, ingot.Tensor]:
        self.count.add_(1)
        y = self.inner(x)
        return ingot.sigmoid(y) * y + scale, y.mean(0) + self.count


def save(folder: pathlib.Path) -> pathlib.Path:
    batch = ingot.export.Dim("batch")
    args = (ingot.rand(4, 8), ingot.rand(8))
    program = ingot.export.export(Block(), args, dynamic_shapes={"x": {0: batch}, "scale": None})
    ingot.export.save(program, folder / "block.pt2")
    return folder / "block.pt2"


def same(found: object, expected: object) -> bool:
    if isinstance(found, (tuple, list)):
        return len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(found, ingot.Tensor):
        bits = {1: ingot.int8, 2: ingot.int16, 4: ingot.int32, 8: ingot.int64}
        if found.dtype != expected.dtype or found.shape != expected.shape:
            return False
        plain = found.is_complex() and ingot.view_as_real(found) or found
        other = expected.is_complex() and ingot.view_as_real(expected) or expected
        if plain.dtype == ingot.bool:
            return bool((plain == other).all())
        kind = bits[plain.element_size()]
        return bool((plain.contiguous().view(kind) == other.contiguous().view(kind)).all())
    return found == expected


def test_calls_by_position_and_name(tmp_path: pathlib.Path) -> None:
    session = ingot.open(save(tmp_path))
    assert [port.name for port in session.inputs] == ["x", "scale"]
    assert session.inputs[0].dtype == "float32" and session.inputs[1].shape == (8,)
    assert isinstance(session.inputs[0].shape[0], str) and len(session.outputs) == 2
    x, scale = np.random.rand(3, 8).astype(np.float32), np.random.rand(8).astype(np.float32)
    first = session(x, scale)
    assert all(isinstance(y, np.ndarray) for y in first)
    again = session(scale=ingot.from_numpy(scale), x=ingot.from_numpy(x))
    assert all(isinstance(y, ingot.Tensor) for y in again)
    assert np.array_equal(first[0], again[0].numpy())
    np.testing.assert_allclose(again[1].numpy() - first[1], 1, rtol=1e-5)  # the buffer counts
    session.reset()
    assert np.array_equal(session(x, scale)[1], first[1])
    with pytest.raises(TypeError, match="given twice"):
        session(x, x=x)
    with pytest.raises(TypeError, match="at most 2"):
        session(x, scale, x)
    with pytest.raises(RuntimeError, match="dim 1: found size 3, expected 8"):
        session(np.zeros((2, 3), np.float32), scale)


def test_results_stay_as_they_are(tmp_path: pathlib.Path) -> None:
    session = ingot.open(save(tmp_path), interpret=False)
    reference = ingot.open(tmp_path / "block.pt2", interpret=True)
    scale = ingot.rand(8)
    inputs = [ingot.rand(n, 8) for n in (2, 5, 2, 2, 5, 2, 2)]
    kept = [session(x, scale) for x in inputs]
    assert all(same(found, reference(x, scale)) for found, x in zip(kept, inputs, strict=True))


def test_plan_and_profile(tmp_path: pathlib.Path) -> None:
    session = ingot.open(save(tmp_path))
    args = ingot.rand(3, 8), ingot.rand(8)
    assert "aten.sigmoid.default + aten.mul.Tensor + aten.add.Tensor" in session.plan(*args)
    steps = session.profile(*args, runs=2)
    assert steps[0].target.startswith("aten.") and all(step.runs == 2 and step.seconds > 0 for step in steps)
    apart = ingot.open(tmp_path / "block.pt2", without=("chains",))
    assert "+ aten" not in apart.plan(*args)
    with pytest.raises(ValueError, match="'speed'"):
        ingot.open(tmp_path / "block.pt2", without=("speed",))


def sizes(port: object) -> list[int]:
    return [3 if isinstance(size, str) else size for size in port.shape]


def draw(port: object, generator: np.random.Generator) -> object:
    dtype = getattr(ingot, port.dtype)
    if dtype.is_floating_point or dtype.is_complex:
        return ingot.from_numpy(generator.normal(size=sizes(port))).to(dtype)
    return ingot.from_numpy(generator.integers(0, 2, sizes(port))).to(dtype)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_programs_agree_with_the_interpreter(path: pathlib.Path) -> None:
    try:
        reference = ingot.open(path, interpret=True)
    except (NotImplementedError, ValueError) as error:
        pytest.skip(str(error))
    generator = np.random.default_rng(0)
    if any(port.dtype is None or port.shape is None for port in reference.inputs):
        pytest.skip("an input is not a tensor")
    rounds = [[draw(port, generator) for port in reference.inputs] for _ in range(2)]
    try:
        expected = [reference(*args) for args in rounds]
    except RuntimeError as error:
        pytest.skip(f"refuses random inputs: {error}")
    for without in SWITCHES:
        session = ingot.open(path, without=without)
        for args, want in zip(rounds, expected, strict=True):
            assert same(session(*args), want), without


# ---- the node tests of ONNX


def node_cases() -> list[object]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loader = pytest.importorskip("onnx.backend.test.loader")
        return loader.load_model_tests(kind="node")


def test_node_tests_agree_with_the_interpreter(tmp_path: pathlib.Path) -> None:
    onnx = pytest.importorskip("onnx")
    compared = 0
    for case in node_cases():
        model = case.model or onnx.load(pathlib.Path(case.model_dir) / "model.onnx")
        path = tmp_path / "model.onnx"
        path.write_bytes(model.SerializeToString())
        try:
            reference = ingot.open(path, interpret=True)
        except (NotImplementedError, ValueError, RuntimeError):
            continue
        if any(port.dtype is None or port.shape is None for port in reference.inputs):
            continue
        generator = np.random.default_rng(compared)
        args = [draw(port, generator) for port in reference.inputs]
        try:
            want = reference(*args)
            again = reference(*args)
        except Exception:
            continue
        if not same(again, want):  # random numbers
            continue
        for without in (SWITCHES[0], SWITCHES[-1]):
            session = ingot.open(path, without=without)
            assert same(session(*args), want), (case.name, without)
        compared += 1
    assert compared > 500
