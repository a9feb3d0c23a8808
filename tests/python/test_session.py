# SPDX-License-Identifier: Apache-2.0
"""Sessions: every kind of file as a function of arrays, and plans against the interpreter, bit for bit, on the node
tests of ONNX, the archives of PyTorch's releases and programs of our own."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import ingot
from ingot import nn

HERE = pathlib.Path(__file__).parent
PROGRAMS = sorted((HERE.parent / "pt2" / "data").rglob("*.pt2"))
# Without layers a plan gives the interpreter's bits.
SWITCHES = [("layers",), ("chains", "layers"), ("reuse", "layers"), ("chains", "reuse", "layers")]


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


def near(found: object, expected: object) -> bool:
    """The same up to the order of sums."""
    if isinstance(found, (tuple, list)):
        return len(found) == len(expected) and all(map(near, found, expected))
    if isinstance(found, ingot.Tensor) and found.is_floating_point() and found.numel():
        if found.dtype != expected.dtype or found.shape != expected.shape or found.stride() != expected.stride():
            return False
        a, b = found.double().numpy(), expected.double().numpy()
        return np.allclose(a, b, rtol=1e-4, atol=1e-4 * np.abs(np.nan_to_num(b)).max(), equal_nan=True)
    return same(found, expected)


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


def test_models_in_memory(tmp_path: pathlib.Path) -> None:
    path = save(tmp_path)
    args = ingot.rand(3, 8), ingot.rand(8)
    want = ingot.open(path)(*args)
    content = path.read_bytes()
    with path.open("rb") as stream:
        sessions = [ingot.open(content), ingot.open(bytearray(content)), ingot.open(stream)]
    sessions.append(ingot.open(ingot.export.load(path)))
    del content
    for session in sessions:
        assert same(session(*args), want) and "aten." in session.plan(*args)
    with pytest.raises(ValueError, match="bytes"):
        ingot.open(b"no model")
    with pytest.raises(OSError, match="none.pt2"):
        ingot.open(tmp_path / "none.pt2")


def test_threads_and_the_end_of_a_call(tmp_path: pathlib.Path) -> None:
    path = save(tmp_path)
    args = ingot.rand(3, 8), ingot.rand(8)
    session = ingot.open(path, threads=1)
    want = session(*args)
    session.reset()
    session.cancel()
    with pytest.raises(KeyboardInterrupt):
        session(*args)
    assert same(session(*args), want)
    with pytest.raises(ValueError, match="threads: found 0"):
        ingot.open(path, threads=0)


def test_misaligned_arrays_are_copied(tmp_path: pathlib.Path) -> None:
    """An array in a file or buffer may lie at any byte; kernels read elements at multiples of their size."""
    run = ingot.open(save(tmp_path))
    x = np.random.rand(4, 8).astype(np.float32)
    bytes_ = np.zeros(x.nbytes + 1, np.uint8)
    away = bytes_[1:].view(np.float32).reshape(x.shape)
    away[...] = x
    assert not away.flags.aligned
    scale = np.ones(8, np.float32)
    assert np.array_equal(run(away, scale)[0], run(x, scale)[0])
    assert ingot.tensor(away).tolist() == x.tolist()
    with pytest.raises(ValueError, match="not aligned"):
        ingot.from_numpy(away)


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
    assert "aten.silu.default + aten.add.Tensor" in session.plan(*args)
    written = ingot.open(tmp_path / "block.pt2", without=("layers",))
    assert "aten.sigmoid.default + aten.mul.Tensor + aten.add.Tensor" in written.plan(*args)
    steps = session.profile(*args, runs=2)
    assert steps[0].target.startswith("aten.") and all(step.runs == 2 and step.seconds > 0 for step in steps)
    apart = ingot.open(tmp_path / "block.pt2", without=("chains", "layers"))
    assert "+ aten" not in apart.plan(*args)
    with pytest.raises(ValueError, match="'speed'"):
        ingot.open(tmp_path / "block.pt2", without=("speed",))


def test_threads_share_a_session(tmp_path: pathlib.Path) -> None:
    session = ingot.open(save(tmp_path))
    scale = np.random.rand(8).astype(np.float32)
    inputs = [np.random.rand(n % 5 + 1, 8).astype(np.float32) for n in range(12)]
    expected = [session(x, scale)[0].copy() for x in inputs]
    found: dict[tuple[int, int], np.ndarray] = {}

    def work(thread: int) -> None:
        for turn in range(20):
            for i, x in enumerate(inputs):
                found[thread, i] = session(x, scale)[0].copy()
            session.plan() if turn % 7 == thread else None

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 48 and all(np.array_equal(y, expected[i]) for (_, i), y in found.items())


def test_operators_in_python_and_other_threads(tmp_path: pathlib.Path) -> None:
    sessions: list[ingot._session.Session] = []
    nested: list[str] = []

    @ingot.library.custom_op("session_test::twice", mutates_args=())
    def twice(x: ingot.Tensor) -> ingot.Tensor:
        if x[0] > 5:
            try:
                sessions[0](x)
            except RuntimeError as error:
                nested.append(str(error))
        return x * 2

    @twice.register_fake
    def _(x: ingot.Tensor) -> ingot.Tensor:
        return ingot.empty_like(x)

    class Model(ingot.nn.Module):
        def forward(self, x: ingot.Tensor) -> ingot.Tensor:
            return twice(x) + 1

    ingot.export.save(ingot.export.export(Model(), (ingot.rand(3),)), tmp_path / "m.pt2")
    sessions.append(ingot.open(tmp_path / "m.pt2"))
    assert np.array_equal(sessions[0](np.float32([1, 2, 3])), np.float32([3, 5, 7]))
    assert np.array_equal(sessions[0](np.float32([6, 2, 3])), np.float32([13, 5, 7]))
    assert len(nested) == 1 and "by an operator of its own model" in nested[0]


def test_what_arrays_are(tmp_path: pathlib.Path) -> None:
    session = ingot.open(save(tmp_path))
    x, scale = np.random.rand(6, 8).astype(np.float32), np.random.rand(8).astype(np.float32)
    expected = session(x[::2], scale)[0].copy()
    x.setflags(write=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y = session(x[::2], scale)[0]
    assert np.array_equal(y, expected) and y.flags.writeable and y.dtype == np.float32
    y[:] = 0  # memory of its own
    del session
    assert not y.any()
    with pytest.raises(TypeError, match="numpy.object_"):
        ingot.open(tmp_path / "block.pt2")(np.array([None]), scale)
    with pytest.raises(RuntimeError, match="invalid capsule"):
        ingot.open(tmp_path / "block.pt2")("text", scale)


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
    session = ingot.open(path)
    for args, want in zip(rounds, expected, strict=True):
        assert near(session(*args), want)


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


class Branching(nn.Module):
    def __init__(self, positions: bool) -> None:
        super().__init__()
        self.positions = positions
        self.inner = nn.Linear(8, 8)

    def forward(self, x: ingot.Tensor) -> tuple[ingot.Tensor, ...]:
        y = ingot.tanh(self.inner(x))
        if self.positions:
            return y.exp() + y, ingot.nonzero(y > 0), y[1:].sum() * x.shape[0]
        z = ingot.cond(y.sum() > 0, lambda a: a * 2, lambda a: a - 1, (y,))
        return z + y, y.exp(), x


@pytest.mark.parametrize("positions", [False, True])
def test_plans_with_interpreted_nodes_serve_all_sizes(tmp_path: pathlib.Path, positions: bool) -> None:
    shapes = ({0: ingot.export.Dim("rows", min=1, max=64)},)
    program = ingot.export.export(Branching(positions), (ingot.rand(5, 8),), dynamic_shapes=shapes)
    ingot.export.save(program, tmp_path / "branching.pt2")
    reference = ingot.open(tmp_path / "branching.pt2", interpret=True)
    sessions = [ingot.open(tmp_path / "branching.pt2", without=words) for words in SWITCHES]
    for rows in (5, 3, 2, 6, 1, 7, 4, 5):
        x = ingot.rand(rows, 8) - 0.5
        want = reference(x)
        assert all(same(session(x), want) for session in sessions)
        text = sessions[0].plan(x)
        assert "  interpreted  " in text
        # Positions are tried with numbers first; one row broadcasts.
        assert "sizes: 1 of the inputs vary" in text or rows in ((1, 5) if positions else (1,))


# ---- ONNX models of which only some nodes can be planned


class Mixed:
    """Makers of such models: a small net, whose value y is planned, and nodes that depend on data."""

    NET = (("MatMul", "x W", "a"), ("Relu", "a", "b"), ("MatMul", "b V", "c"), ("Tanh", "c", "y"))

    def __init__(self) -> None:
        self.onnx = pytest.importorskip("onnx")
        generator = np.random.default_rng(0)
        self.constants = {
            "W": generator.standard_normal((8, 256)).astype(np.float32) / 4,
            "V": generator.standard_normal((256, 8)).astype(np.float32) / 16,
            "zero": np.float32(0),
        }

    def node(self, row: tuple) -> object:
        kind, inputs, outputs, *attributes = row
        names = ["" if name == "-" else name for name in inputs.split()]
        return self.onnx.helper.make_node(kind, names, outputs.split(), **(attributes[0] if attributes else {}))

    def value(self, name: str, kind: str = "FLOAT", shape: object = None) -> object:
        return self.onnx.helper.make_tensor_value_info(name, getattr(self.onnx.TensorProto, kind), shape)

    def graph(self, rows: list, inputs: list, outputs: list) -> object:
        return self.onnx.helper.make_graph([self.node(row) for row in rows], "g", inputs, outputs)

    def model(self, rows: list, inputs: list, outputs: str) -> object:
        graph = self.graph(
            [*self.NET, *rows], [self.value("x", "FLOAT", ["n", 8]), *inputs], [self.value(v) for v in outputs.split()]
        )
        graph.initializer.extend(self.onnx.numpy_helper.from_array(np.asarray(v), k) for k, v in self.constants.items())
        return self.onnx.helper.make_model(
            graph, opset_imports=[self.onnx.helper.make_opsetid("", 18)], ir_version=9
        ).SerializeToString()

    def branches(self, first: list, second: list, result: str) -> dict:
        return {
            "then_branch": self.graph(first, [], [self.value(result)]),
            "else_branch": self.graph(second, [], [self.value(result)]),
        }

    def loop(self, rows: list, results: str) -> dict:
        inputs = [self.value("i", "INT64", []), self.value("go", "BOOL", []), self.value("acc")]
        outputs = [self.value("go2", "BOOL", []), *map(self.value, results.split())]
        return {"body": self.graph([("Identity", "go", "go2"), *rows], inputs, outputs)}

    def choice(self) -> object:
        rows = [
            ("ReduceSum", "y", "s", {"keepdims": 0}),
            ("Greater", "s zero", "positive"),
            ("If", "positive", "z", self.branches([("Mul", "y y", "r")], [("Neg", "x", "r")], "r")),
            ("Add", "z y", "o"),
        ]
        return self.model(rows, [], "o y")

    def nested(self) -> object:
        inner = self.branches([("Add", "acc y", "q")], [("Sub", "acc x", "q")], "q")
        body = [("ReduceSum", "acc", "s", {"keepdims": 0}), ("Less", "s zero", "lt"), ("If", "lt", "next", inner)]
        rows = [("Loop", "k - y", "last sums", self.loop(body, "next s")), ("Exp", "y", "e")]
        return self.model(rows, [self.value("k", "INT64", [])], "last sums e")

    def positions(self) -> object:
        rows = [("Greater", "y zero", "m"), ("NonZero", "m", "at"), ("Transpose", "at", "t"), ("Exp", "y", "e")]
        return self.model(rows, [], "e t")

    def sequence(self) -> object:
        rows = [("SequenceConstruct", "y x", "list"), ("SequenceAt", "list k", "o"), ("Neg", "y", "n")]
        return self.model(rows, [self.value("k", "INT64", [])], "o n")

    def aliases(self) -> object:
        kept = self.branches([("Identity", "y", "r")], [("Identity", "x", "r")], "r")
        rows = [("If", "k", "z", kept), ("Identity", "x", "same"), ("Identity", "z", "again")]
        return self.model(rows, [self.value("k", "BOOL", [])], "z same again y")

    def draws(self) -> object:
        rows = [("RandomNormalLike", "y", "r"), ("Shape", "r", "s"), ("Mul", "y y", "o")]
        return self.model(rows, [], "o s")


@pytest.mark.parametrize("kind", ["choice", "nested", "positions", "sequence", "aliases", "draws"])
def test_onnx_nodes_are_interpreted_by_themselves(tmp_path: pathlib.Path, kind: str) -> None:
    path = tmp_path / "mixed.onnx"
    path.write_bytes(getattr(Mixed(), kind)())
    reference = ingot.open(path, interpret=True)
    exact, session = ingot.open(path, without=("layers",)), ingot.open(path)
    generator = np.random.default_rng(1)
    kept = []
    for rows in (3, 1, 2, 5, 3, 0, 7, 3):
        for k in (1, 0):
            args = [generator.standard_normal((rows, 8)).astype(np.float32)]
            args += [np.array(k, bool if port.dtype == "bool" else np.int64) for port in reference.inputs[1:]]
            want = reference(*args)
            found = exact(*args)
            assert all(a.tobytes() == b.tobytes() and a.shape == b.shape for a, b in zip(found, want, strict=True))
            for a, b in zip(session(*args), want, strict=True):
                assert a.shape == b.shape and np.allclose(a, b, rtol=1e-4, atol=1e-5)
            kept.append((found, [a.copy() for a in found]))
    for found, copies in kept:  # results of earlier runs stay as they are
        assert all(a.tobytes() == b.tobytes() for a, b in zip(found, copies, strict=True))
    text = session.plan(*args)
    assert "  interpreted  " in text and "  prepared  " in text
    steps = session.profile(*args)
    assert any(step.interpreted for step in steps) and any(not step.interpreted for step in steps)


# ---- random nets of convolutions


class RandomNet(nn.Module):
    """Convolutions of all kinds with what may follow them, values that are used twice, returned, viewed or joined."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.random = np.random.default_rng(seed)
        self.layers = nn.ModuleList()
        self.plan = []
        self.shapes = [(self.pick(1, 3, 8, 20), self.pick(9, 16, 31), self.pick(8, 13, 24))]
        self.batch = self.pick(1, 1, 2)
        for _ in range(self.pick(4, 8, 12)):
            getattr(self, f"add_{self.pick('conv', 'conv', 'conv', 'sum', 'cat', 'pool', 'point', 'part')}")()
        self.wanted = sorted({len(self.shapes) - 1, *self.random.integers(1, len(self.shapes), 2).tolist()})

    def pick(self, *values: object) -> object:
        return values[self.random.integers(len(values))]

    def source(self) -> int:
        return int(self.random.integers(max(0, len(self.shapes) - 3), len(self.shapes)))

    def note(self, fn: object, sources: list[int], shape: tuple[int, ...]) -> None:
        self.plan.append((fn, sources))
        self.shapes.append(shape)

    def add_conv(self) -> None:
        at = self.source()
        channels, height, width = self.shapes[at]
        kernel, stride, dilation = self.pick(1, 1, 2, 3, 3, 3, 5), self.pick(1, 1, 1, 2), self.pick(1, 1, 1, 2)
        groups = self.pick(1, 1, 1, 2, channels)
        groups = groups if channels % groups == 0 else 1
        out = groups * self.pick(1, 2, 3) if groups > 1 and self.pick(0, 1) else channels
        out = self.pick(2, 8, 11, 16, 24, 40) if groups == 1 else out
        padding = self.pick(0, kernel // 2, kernel // 2)
        if dilation * (kernel - 1) + 1 > min(height, width) + 2 * padding:
            kernel, padding = 1, 0
        if groups == 1 and self.pick(0, 0, 0, 1):
            layer = nn.ConvTranspose2d(channels, out, self.pick(2, 3), 2, bias=bool(self.pick(0, 1)))
        else:
            bias = bool(self.pick(0, 1))
            layer = nn.Conv2d(channels, out, kernel, stride, padding, dilation, groups, bias=bias)
        modules = [layer]
        if self.pick(0, 1):
            norm = nn.BatchNorm2d(out, affine=bool(self.pick(0, 1, 1)))
            norm.running_mean.copy_(ingot.from_numpy(self.random.normal(size=out)).float())
            norm.running_var.copy_(ingot.from_numpy(self.random.uniform(0.5, 2, out)).float())
            modules.append(norm)
        acts = [None, nn.ReLU(), nn.ReLU6(), nn.SiLU(), nn.Hardswish(), nn.Hardtanh(-0.5, 2), nn.Sigmoid(), nn.GELU()]
        act = self.pick(*acts)
        module = nn.Sequential(*modules, *([act] if act else [])).eval()
        self.layers.append(module)
        with ingot.no_grad():
            _, *shape = module(ingot.zeros(1, channels, height, width)).shape
        self.note(module, [at], tuple(shape))

    def add_sum(self) -> None:
        at = self.source()
        other = [i for i, shape in enumerate(self.shapes) if shape == self.shapes[at]][0]
        act = self.pick(lambda y: y, ingot.relu)
        self.note(lambda x, y: act(x + y), [at, other], self.shapes[at])

    def add_cat(self) -> None:
        at = self.source()
        same = [i for i, shape in enumerate(self.shapes) if shape[1:] == self.shapes[at][1:]]
        channels = sum(self.shapes[i][0] for i in same)
        self.note(lambda *xs: ingot.cat(xs, 1), same, (channels, *self.shapes[at][1:]))

    def add_pool(self) -> None:
        at = self.source()
        pool = self.pick(nn.MaxPool2d(3, 2, 1), nn.MaxPool2d(2), nn.AvgPool2d(2), nn.AdaptiveAvgPool2d((3, 2)))
        if min(self.shapes[at][1:]) < 4:
            return
        _, *shape = pool(ingot.zeros(1, *self.shapes[at])).shape
        self.note(pool, [at], tuple(shape))

    def add_point(self) -> None:
        at = self.source()
        channels = self.shapes[at][0]
        scale = ingot.from_numpy(self.random.normal(size=(channels, 1, 1))).float()
        forms = [
            lambda x: x * ingot.sigmoid(x.mean((2, 3), keepdim=True)),
            lambda x: x * scale - 0.5,
            lambda x: ingot.tanh(x) + x.abs(),
            lambda x: x + scale,
        ]
        self.note(self.pick(*forms), [at], self.shapes[at])

    def add_part(self) -> None:
        at = self.source()
        channels, height, width = self.shapes[at]
        half = max(1, channels // 2)
        forms = [
            (lambda x: x[:, :half], (half, height, width)),
            (lambda x: x[:, :, 1:], (channels, height - 1, width)),
            (lambda x: x.transpose(2, 3), (channels, width, height)),
        ]
        form, shape = self.pick(*forms)
        if min(shape) > 1:
            self.note(form, [at], shape)

    def forward(self, x: ingot.Tensor) -> tuple[ingot.Tensor, ...]:
        values = [x]
        for fn, sources in self.plan:
            values.append(fn(*[values[i] for i in sources]))
        return tuple(values[i] for i in self.wanted)


def assert_sizes_agree(path: pathlib.Path, inputs: list[object]) -> None:
    """All inputs in turn, twice: by plans as by the interpreter, which is asked once."""
    reference = ingot.open(path, interpret=True)
    want = [reference(x) for x in inputs]
    for switches in ((), ("chains",), ("reuse",), ("layers",), ("symbols",)):
        session = ingot.open(path, without=switches)
        agree = same if switches == ("layers",) else near
        for x, expected in [*zip(inputs, want, strict=True)] * 2:
            assert agree(session(x), expected), (switches, x.shape)
            assert ("sizes: " in session.plan(x)) == ("symbols" not in switches)


@pytest.mark.parametrize("seed", range(30))
def test_random_nets_of_all_sizes(tmp_path: pathlib.Path, seed: int) -> None:
    net = RandomNet(seed).eval()
    random = np.random.default_rng(seed)
    channels, height, width = net.shapes[0]
    dims = {0: ingot.export.Dim.AUTO, 2: ingot.export.Dim.AUTO}
    inputs = [
        ingot.from_numpy(random.normal(size=(batch, channels, rows, width))).float()
        for batch, rows in [(3, height), (2, height), (5, height + 8), (2, height + 7), (4, height + 16), (3, height)]
    ]
    program = ingot.export.export(net, (inputs[0],), dynamic_shapes=(dims,))
    ingot.export.save(program, tmp_path / "net.pt2")
    allowed = []
    reference = ingot.open(tmp_path / "net.pt2", interpret=True)
    for x in inputs:
        try:
            reference(x)
            allowed.append(x)
        except RuntimeError:  # the program fixed its height, or a relation to it
            assert x.shape[2] != height
    assert_sizes_agree(tmp_path / "net.pt2", allowed)


class RandomRows(nn.Module):
    """What programs do with rows of a number that varies: products, norms, attention, views, tables, counting."""

    WIDTH = 24

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.random = np.random.default_rng(seed)
        self.layers = nn.ModuleList()
        self.register_buffer("table", ingot.from_numpy(self.random.normal(size=(300, self.WIDTH))).float())
        kinds = ("linear", "norm", "attention", "view", "table", "count", "point", "cat", "pad", "softmax")
        self.plan = [getattr(self, f"make_{kinds[self.random.integers(len(kinds))]}")() for _ in range(6)]

    def keep(self, module: nn.Module) -> nn.Module:
        self.layers.append(module)
        return module

    def make_linear(self) -> object:
        up, down = self.keep(nn.Linear(self.WIDTH, 32)), self.keep(nn.Linear(32, self.WIDTH))
        return lambda x: x + down(ingot.nn.functional.gelu(up(x)))

    def make_norm(self) -> object:
        return self.keep(nn.LayerNorm(self.WIDTH))

    def make_attention(self) -> object:
        inner = self.keep(nn.Linear(self.WIDTH, 3 * self.WIDTH))

        def attend(x: ingot.Tensor) -> ingot.Tensor:
            batch, rows, width = x.shape
            q, k, v = (y.view(batch, rows, 3, -1).transpose(1, 2) for y in inner(x).chunk(3, -1))
            scores = q @ k.transpose(-1, -2) / width**0.5
            mask = ingot.full((rows, rows), -1e9).triu(1)
            return x + (ingot.softmax(scores + mask, -1) @ v).transpose(1, 2).reshape(batch, rows, width)

        return attend

    def make_view(self) -> object:
        return lambda x: x.transpose(0, 1).reshape(-1, 8, 3).flip(1).reshape(x.shape[1], x.shape[0], -1).transpose(0, 1)

    def make_table(self) -> object:
        return lambda x: x + self.table[: x.shape[1]]

    def make_count(self) -> object:
        return lambda x: x * ingot.arange(x.shape[1])[:, None] / x.shape[1]

    def make_point(self) -> object:
        return lambda x: ingot.tanh(x) * x.shape[0] - x.abs() * 0.5

    def make_cat(self) -> object:
        return lambda x: ingot.cat((x, x.exp().clamp(max=4)), 1).reshape(x.shape[0], 2, x.shape[1], -1)[:, 1] - x

    def make_pad(self) -> object:
        return lambda x: ingot.nn.functional.pad(x, (0, 0, 1, 0))[:, :-1] + x

    def make_softmax(self) -> object:
        return lambda x: ingot.softmax(x, 1) * x.shape[1] - x.mean(1, keepdim=True)

    def forward(self, x: ingot.Tensor) -> tuple[ingot.Tensor, int]:
        for fn in self.plan:
            x = fn(x)
        return x, x.shape[1] * 2


@pytest.mark.parametrize("seed", range(40))
def test_random_rows_of_all_sizes(tmp_path: pathlib.Path, seed: int) -> None:
    net = RandomRows(seed).eval()
    random = np.random.default_rng(seed)
    dims = {0: ingot.export.Dim("batch", min=2), 1: ingot.export.Dim("rows", min=4, max=128)}
    shapes = [(3, 10), (2, 12), (5, 9), (2, 40), (3, 10), (4, 5), (9, 64)]
    inputs = [ingot.from_numpy(random.normal(size=(*shape, net.WIDTH))).float() for shape in shapes]
    ingot.export.save(ingot.export.export(net, (inputs[0],), dynamic_shapes=(dims,)), tmp_path / "net.pt2")
    assert_sizes_agree(tmp_path / "net.pt2", inputs)


@pytest.mark.parametrize("seed", range(12))
def test_onnx_models_of_all_sizes(tmp_path: pathlib.Path, seed: int) -> None:
    """Sizes that a model computes with, in tensors, are known without their elements."""
    net = RandomRows(seed).eval()
    random = np.random.default_rng(seed)
    shapes = [(3, 10), (2, 12), (5, 9), (2, 40), (3, 10)]
    inputs = [ingot.from_numpy(random.normal(size=(*shape, net.WIDTH))).float() for shape in shapes]
    axes = {"x": {0: "batch", 1: "rows"}}
    ingot.onnx.export(net, (inputs[0],), tmp_path / "net.onnx", input_names=["x"], dynamic_axes=axes, dynamo=False)
    assert_sizes_agree(tmp_path / "net.onnx", inputs)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_recurrent_layers_of_all_sizes(tmp_path: pathlib.Path, kind: type[nn.Module], bidirectional: bool) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = kind(8, 12, 2, batch_first=True, bidirectional=bidirectional)

        def forward(self, x: ingot.Tensor) -> ingot.Tensor:
            return self.inner(x)[0]

    dims = {0: ingot.export.Dim("batch", min=2), 1: ingot.export.Dim("steps", min=2)}
    inputs = [ingot.randn(*shape, 8) for shape in ((3, 5), (2, 9), (7, 2), (3, 5))]
    program = ingot.export.export(Net().eval(), (inputs[0],), dynamic_shapes=(dims,))
    ingot.export.save(program, tmp_path / "net.pt2")
    assert_sizes_agree(tmp_path / "net.pt2", inputs)


@pytest.mark.parametrize("seed", range(40))
def test_random_nets(tmp_path: pathlib.Path, seed: int) -> None:
    net = RandomNet(seed).eval()
    x = ingot.from_numpy(np.random.default_rng(seed).normal(size=(net.batch, *net.shapes[0]))).float()
    ingot.export.save(ingot.export.export(net, (x,)), tmp_path / "net.pt2")
    want = ingot.open(tmp_path / "net.pt2", interpret=True)(x)
    for switches in ((), ("chains",), ("reuse",)):
        session = ingot.open(tmp_path / "net.pt2", without=switches)
        for _ in range(2):
            assert near(session(x), want), switches
    session = ingot.open(tmp_path / "net.pt2", without=("layers",))
    assert same(session(x), want) and " layer " not in session.plan(x)


# ---- compiled models


def compiled_net(folder: pathlib.Path, kind: str) -> tuple[pathlib.Path, np.ndarray]:
    ingot.manual_seed(3)
    net = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2))
    net = nn.Sequential(net, nn.ReLU(), nn.Flatten(), nn.Linear(32 * 7 * 7, 16)).eval()
    x = ingot.randn(9, 3, 16, 16)
    path = folder / f"net.{kind}"
    if kind == "pt2":
        batch = ingot.export.Dim("batch")
        ingot.export.save(ingot.export.export(net, (x,), dynamic_shapes=({0: batch},)), path)
    else:
        ingot.onnx.export(net, (x,), dynamo=True, verify=False).save(path, external_data=kind == "external.onnx")
    return path, x.numpy()


@pytest.mark.parametrize("kind", ["pt2", "onnx", "external.onnx"])
def test_compiled_models_give_the_same_bits(tmp_path: pathlib.Path, kind: str) -> None:
    path, x = compiled_net(tmp_path, kind)
    target = tmp_path / "net.ingot"
    expected = ingot.open(path)(x)
    ingot.compile_file(path, target, x)
    for other in tmp_path.glob("net.*"):
        if other != target:
            other.unlink()  # the file needs nothing beside it
    session = ingot.open(target)
    assert np.array_equal(session(x), expected)
    assert [p.name for p in session.inputs] == ["input"]
    if kind == "pt2":  # other sizes than those that were compiled
        assert np.allclose(session(x[:2]), expected[:2], rtol=1e-5, atol=1e-6)


def test_compiled_models_from_arrays_that_were_not_given(tmp_path: pathlib.Path) -> None:
    path = save(tmp_path)
    session = ingot.open(path)
    session.compile(tmp_path / "block.ingot")
    compiled = ingot.open(tmp_path / "block.ingot")
    args = (ingot.rand(4, 8), ingot.rand(8))
    for _ in range(2):  # the buffer counts on
        assert same(compiled(*args), session(*args))


def test_compiled_models_of_other_machines(tmp_path: pathlib.Path) -> None:
    path, x = compiled_net(tmp_path, "onnx")
    np.save(tmp_path / "x.npy", x)
    code = "import sys, ingot; ingot.compile_file(sys.argv[1], sys.argv[2])"
    done = subprocess.run(
        [sys.executable, "-c", code, path, tmp_path / "net.ingot"], env={**os.environ, "INGOT_CPU": "base"}
    )
    assert done.returncode == 0
    assert np.array_equal(ingot.open(tmp_path / "net.ingot")(x), ingot.open(path)(x))


def test_scripts_are_not_compiled(tmp_path: pathlib.Path) -> None:
    ingot.jit.script(nn.Linear(2, 2)).save(tmp_path / "model.pt")
    with pytest.raises(Exception, match="TorchScript code is not planned"):
        ingot.compile_file(tmp_path / "model.pt", tmp_path / "model.ingot")
    assert not (tmp_path / "model.ingot").exists()


@pytest.mark.parametrize(
    ("precision", "text", "most"),
    [
        ("bf16", "bf16", 0.005),
        ("f16", "f16", 0.0005),
        ("int8", "int8", 0.02),
        ("int4", "int4", 0.3),
        ("dynamic_int8", "dynamic int8", 0.03),
    ],
)
def test_narrow_weights(tmp_path: pathlib.Path, precision: str, text: str, most: float) -> None:
    ingot.manual_seed(5)
    net = nn.Sequential(nn.Linear(200, 300), nn.GELU(), nn.Linear(300, 31), nn.ReLU(), nn.Linear(31, 9, bias=False))
    x = ingot.randn(64, 200)
    batch = ingot.export.Dim("batch")
    ingot.export.save(ingot.export.export(net.eval(), (x,), dynamic_shapes=({0: batch},)), tmp_path / "net.pt2")
    plain = ingot.open(tmp_path / "net.pt2")
    small = ingot.open(tmp_path / "net.pt2", precision=precision)
    for rows in (1, 2, 7, 8, 64):
        a, b = plain(x[:rows].numpy()), small(x[:rows].numpy())
        assert not np.array_equal(a, b)
        assert np.linalg.norm(a - b) < most * np.linalg.norm(a)
    small(x[:7].numpy())
    assert f"{text} 7 rows 200->300" in small.plan()
    ingot.compile_file(tmp_path / "net.pt2", tmp_path / "net.ingot", x[:1].numpy(), precision=precision)
    compiled = ingot.open(tmp_path / "net.ingot")
    for rows in (1, 64):  # one form of the weights for all sizes
        assert np.array_equal(compiled(x[:rows].numpy()), small(x[:rows].numpy()))
    f32 = ingot.open(tmp_path / "net.ingot", precision="f32")
    assert np.array_equal(f32(x[:1].numpy()), plain(x[:1].numpy()))


def test_unknown_precision(tmp_path: pathlib.Path) -> None:
    with pytest.raises(ValueError, match="expected one of f32, int8, bf16"):
        ingot.open(tmp_path / "net.pt2", precision="int3")
