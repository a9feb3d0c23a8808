# SPDX-License-Identifier: Apache-2.0
"""Models with data-dependent sizes as programs: each runs as it stands, as a program and as ONNX written from that
program, with the numbers of onnxruntime. Names of sub-graphs may hide those outside."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

import ingot  # noqa: E402
from ingot.onnx import backend  # noqa: E402

make = onnx.helper
port = make.make_tensor_value_info
FLOAT, INT, BOOL = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64, onnx.TensorProto.BOOL
Feeds = dict[str, np.ndarray]
Case = tuple[onnx.ModelProto, list[Feeds]]


def model(nodes: list, inputs: list, outputs: list, opset: int = 18) -> onnx.ModelProto:
    graph = make.make_graph(nodes, "g", inputs, outputs)
    return make.make_model(graph, opset_imports=[make.make_opsetid("", opset)], ir_version=8)


def drawn(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def unique(ordered: int, axis: int | None) -> Case:
    kind = FLOAT if axis is None else INT
    given = {} if axis is None else {"axis": axis}
    first = [None] if axis is None else [None, None]
    m = model(
        [make.make_node("Unique", ["x"], ["y", "first", "where", "count"], sorted=ordered, **given)],
        [port("x", kind, ["n", "m"])],
        [port("y", kind, first), *(port(name, INT, [None]) for name in ("first", "where", "count"))],
    )
    dtype = np.float32 if axis is None else np.int64
    return m, [{"x": drawn(s).integers(0, 3, shape).astype(dtype)} for s, shape in enumerate([(3, 4), (2, 7), (5, 5)])]


def boxes(r: np.random.Generator, batch: int, n: int) -> np.ndarray:
    corner = r.random((batch, n, 2)) * 10
    return np.concatenate([corner, corner + r.random((batch, n, 2)) * 5], -1).astype(np.float32)


def suppression(center: int) -> Case:
    inputs = [
        port("boxes", FLOAT, ["B", "N", 4]),
        port("scores", FLOAT, ["B", "C", "N"]),
        port("most", INT, []),
        port("iou", FLOAT, [1]),
        port("least", FLOAT, []),
    ]
    m = model(
        [make.make_node("NonMaxSuppression", [v.name for v in inputs], ["y"], center_point_box=center)],
        inputs,
        [port("y", INT, [None, 3])],
    )
    feeds = []
    for batch, classes, n, most, iou, least in [
        (1, 1, 6, 3, 0.5, 0.1),
        (2, 3, 20, 5, 0.3, 0.2),
        (1, 2, 30, 100, 0.4, 0.5),
    ]:
        r = drawn(n)
        feeds.append(
            {
                "boxes": boxes(r, batch, n),
                "scores": r.random((batch, classes, n)).astype(np.float32),
                "most": np.array(most),
                "iou": np.array([iou], np.float32),
                "least": np.array(least, np.float32),
            }
        )
    return m, feeds


def regions(mode: str, how: str) -> Case:
    m = model(
        [
            make.make_node(
                "RoiAlign",
                ["x", "boxes", "batch"],
                ["y"],
                mode=mode,
                output_height=3,
                output_width=2,
                sampling_ratio=0,
                spatial_scale=0.5,
                coordinate_transformation_mode=how,
            )
        ],
        [port("x", FLOAT, ["B", 3, "H", "W"]), port("boxes", FLOAT, ["K", 4]), port("batch", INT, ["K"])],
        [port("y", FLOAT, ["K", 3, 3, 2])],
    )
    feeds = []
    for k in (4, 7):
        r = drawn(k)
        feeds.append(
            {
                "x": r.standard_normal((2, 3, 9, 11)).astype(np.float32),
                "boxes": boxes(r, 1, k)[0] * np.float32(1.3),
                "batch": r.integers(0, 2, k),
            }
        )
    return m, feeds


def by_limit() -> onnx.NodeProto:
    return make.make_node("Less", ["total", "limit"], ["go_on"])


def unchanged() -> onnx.NodeProto:
    return make.make_node("Identity", ["go"], ["go_on"])


def always(truth: bool) -> onnx.NodeProto:
    return make.make_node("Constant", [], ["go_on"], value=onnx.numpy_helper.from_array(np.array(truth)))


def body(condition: onnx.NodeProto) -> onnx.GraphProto:
    """Adds the x from outside, which is also what the sum begins with, and collects squares and totals."""
    nodes = [
        make.make_node("Add", ["s", "x"], ["more"]),
        make.make_node("Mul", ["more", "more"], ["square"]),
        make.make_node("ReduceSum", ["more"], ["total"], keepdims=0),
    ]
    return make.make_graph(
        [*nodes, condition],
        "body",
        [port("i", INT, []), port("go", BOOL, []), port("s", FLOAT, ["d"])],
        [port("go_on", BOOL, []), port("more", FLOAT, ["d"]), port("square", FLOAT, ["d"]), port("total", FLOAT, [])],
    )


COLLECTED = [port("z", FLOAT, ["d"]), port("squares", FLOAT, [None, "d"]), port("totals", FLOAT, [None])]
COLLECTS = ["z", "squares", "totals"]


def counted_loop(condition: onnx.NodeProto) -> Case:
    m = model(
        [make.make_node("Loop", ["n", "", "x"], COLLECTS, body=body(condition))],
        [port("n", INT, []), port("x", FLOAT, ["d"])],
        COLLECTED,
    )
    return m, [{"n": np.array(n), "x": drawn(d).random(d).astype(np.float32)} for n, d in ((3, 2), (1, 4))]


def sized_loop() -> Case:
    nodes = [
        make.make_node("Shape", ["x"], ["sizes"]),
        make.make_node("Squeeze", ["sizes"], ["n"]),
        make.make_node("Loop", ["n", "", "x"], COLLECTS, body=body(unchanged())),
    ]
    m = model(nodes, [port("x", FLOAT, ["d"])], COLLECTED)
    return m, [{"x": np.arange(1, d, dtype=np.float32)} for d in (3, 6)]


def ending_loop(limited: bool) -> Case:
    m = model(
        [make.make_node("Loop", ["n" if limited else "", "go", "x"], COLLECTS, body=body(by_limit()))],
        [port("x", FLOAT, ["d"]), port("limit", FLOAT, []), port("go", BOOL, [])]
        + ([port("n", INT, [])] if limited else []),
        COLLECTED,
    )
    feeds = []
    for d, limit, n in ((2, 9, 2), (4, 30, 50)):
        feed = {
            "x": drawn(d).random(d).astype(np.float32) + 1,
            "limit": np.array(limit, np.float32),
            "go": np.array(True),
        }
        feeds.append(feed | ({"n": np.array(n)} if limited else {}))
    return m, feeds


CASES: dict[str, Callable[[], Case]] = {
    **{f"unique-{o}-{a}": lambda o=o, a=a: unique(o, a) for o in (0, 1) for a in (None, 0, 1)},
    **{f"suppression-{c}": lambda c=c: suppression(c) for c in (0, 1)},
    **{
        f"regions-{m}-{h}": lambda m=m, h=h: regions(m, h)
        for m in ("avg", "max")
        for h in ("half_pixel", "output_half_pixel")
    },
    "counted-loop": lambda: counted_loop(unchanged()),
    "counted-loop-true": lambda: counted_loop(always(True)),
    "counted-loop-false": lambda: counted_loop(always(False)),
    "sized-loop": sized_loop,
    "ending-loop": lambda: ending_loop(False),
    "ending-loop-with-limit": lambda: ending_loop(True),
}


def session(data: bytes) -> runtime.InferenceSession:
    options = runtime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    return runtime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def same(found: list, expected: list) -> None:
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_programs_whose_sizes_stand_in_the_data(name: str, tmp_path: pathlib.Path) -> None:
    m, feeds = CASES[name]()
    onnx.checker.check_model(m)
    data = m.SerializeToString()
    theirs = session(data)
    read = ingot._C.onnx_parse(data, "m")
    program = read.program()
    program.save_onnx(str(tmp_path / "back.onnx"))
    onnx.checker.check_model(str(tmp_path / "back.onnx"), full_check=True)
    back = session((tmp_path / "back.onnx").read_bytes())
    for feed in feeds:
        expected = theirs.run(None, feed)
        same(list(backend.run_model(m, feed)), expected)
        out = program(*(backend._to_value(feed[name], 0) for name, _, _ in read.inputs))
        same([backend._to_array(v) for v in (out if isinstance(out, (list, tuple)) else [out])], expected)
        same(back.run(None, {v.name: feed[v.name] for v in back.get_inputs()}), expected)


def test_a_table_cut_to_the_length_of_a_sequence() -> None:
    """The example size of a dimension must not be larger than a table that is sliced up to it (rotary embeddings)."""
    rows = np.arange(64 * 4, dtype=np.float32).reshape(64, 4)
    consts = {"table": rows, "zero": np.array([0])}
    nodes = [
        make.make_node("Shape", ["x"], ["end"], start=1, end=2),
        make.make_node("Slice", ["table", "zero", "end", "zero"], ["part"]),
        make.make_node("Mul", ["x", "part"], ["y"]),
    ]  # fmt: skip
    inits = [onnx.numpy_helper.from_array(v, k) for k, v in consts.items()]
    graph = make.make_graph(nodes, "g", [port("x", FLOAT, ["b", "t", 4])], [port("y", FLOAT, ["b", "t", 4])], inits)
    m = make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=8)
    program = ingot._C.onnx_parse(m.SerializeToString(), "m").program()
    for t in (3, 64):
        x = np.ones((2, t, 4), np.float32)
        np.testing.assert_array_equal(program(ingot.from_numpy(x))[0].numpy(), x * rows[:t])
    with pytest.raises(Exception, match="64"):
        program(ingot.ones(2, 65, 4))


@pytest.mark.parametrize("low, high, calls", [
    (-1.0, 1.0, ["clamp"]), (None, 1.0, ["clamp"]), (-1.0, None, ["clamp"]), (None, None, []),
    (float("nan"), 1.0, ["maximum", "minimum"]),
])  # fmt: skip
def test_bounds_that_are_known_are_numbers(low: float | None, high: float | None, calls: list[str]) -> None:
    """Layers take a clamp with numbers into themselves."""
    known = [onnx.numpy_helper.from_array(np.array(v, np.float32), k) for k, v in (("l", low), ("h", high))
             if v is not None]  # fmt: skip
    names = ["x", "l" if low is not None else "", "h" if high is not None else ""]
    graph = make.make_graph([make.make_node("Clip", names, ["y"])], "g", [port("x", FLOAT, ["n"])],
                            [port("y", FLOAT, ["n"])], known)  # fmt: skip
    m = make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=8)
    program = ingot._C.onnx_parse(m.SerializeToString(), "m").program()
    assert [f"aten.{name}.default" in str(program.graph) for name in ("clamp", "maximum", "minimum")] == [
        name in calls for name in ("clamp", "maximum", "minimum")
    ]
    x = np.array([-3, -0.5, np.nan, 0.5, 3], np.float32)
    if "clamp" in calls:
        (expected,) = session(m.SerializeToString()).run(None, {"x": x})
        (found,) = program(ingot.tensor(x))
        np.testing.assert_array_equal(found.numpy(), expected)


def test_a_loop_of_no_rounds_collects_nothing() -> None:
    program = ingot._C.onnx_parse(counted_loop(unchanged())[0].SerializeToString(), "m").program()
    z, squares, totals = program(ingot.tensor(0), ingot.ones(3))
    assert z.tolist() == [1, 1, 1] and squares.shape == (0, 3) and totals.shape == (0,)


def test_what_a_loop_cannot_collect_is_named() -> None:
    nodes = [
        make.make_node("RandomUniform", [], ["r"], shape=[1]),
        make.make_node("Squeeze", ["r"], ["q"]),
        make.make_node("Less", ["q", "limit"], ["go_on"]),
    ]
    drawing = make.make_graph(
        nodes, "body", [port("i", INT, []), port("go", BOOL, [])], [port("go_on", BOOL, []), port("r", FLOAT, [1])]
    )
    m = model(
        [make.make_node("Loop", ["", "go"], ["rs"], body=drawing, name="draws")],
        [port("limit", FLOAT, []), port("go", BOOL, [])],
        [port("rs", FLOAT, [None, 1])],
    )
    with pytest.raises(NotImplementedError, match=r"node 'draws' \(Loop\): collects .* draws random numbers"):
        ingot._C.onnx_parse(m.SerializeToString(), "m").program()
    nodes = [make.make_node("NonZero", ["x"], ["at"]), make.make_node("Identity", ["go"], ["go_on"])]
    ragged = make.make_graph(
        nodes, "body", [port("i", INT, []), port("go", BOOL, [])], [port("go_on", BOOL, []), port("at", INT, [1, None])]
    )
    m = model(
        [make.make_node("Loop", ["n", ""], ["all"], body=ragged, name="ragged")],
        [port("x", FLOAT, [3]), port("n", INT, [])],
        [port("all", INT, [None, 1, None])],
    )
    with pytest.raises(NotImplementedError, match=r"node 'ragged' \(Loop\): collects results whose sizes"):
        ingot._C.onnx_parse(m.SerializeToString(), "m").program()


def weight(name: str, array: np.ndarray) -> onnx.TensorProto:
    return onnx.numpy_helper.from_array(array, name)


HOSTILE = {
    "rotary": (
        onnx.helper.make_node("RotaryEmbedding", ["x", "c", "c", "i"], ["y"]),
        [weight("x", np.ones((1, 2, 2, 4), "f4")), weight("c", np.float32(1)), weight("i", np.int64(0))],
        "positions of 2 dimensions, found 0 and 0",
    ),
    "crop": (
        onnx.helper.make_node("CenterCropPad", ["x", "s"], ["y"], axes=[3]),
        [weight("x", np.float32(1)), weight("s", np.array([2], "i8"))],
        "axis 3 is out of range for 0 dimensions",
    ),
    "svm": (
        onnx.helper.make_node(
            "SVMClassifier",
            ["x"],
            ["y", "z"],
            domain="ai.onnx.ml",
            vectors_per_class=[-(2**63), -(2**63)],
            support_vectors=[1.0, 2.0],
            coefficients=[1.0],
            rho=[1.0],
            classlabels_ints=[0, 1],
        ),
        [weight("x", np.ones((1, 2), "f4"))],
        r"vectors_per_class\[0\]",
    ),
    "reverse": (
        onnx.helper.make_node("ReverseSequence", ["x", "s"], ["y"], time_axis=2**63 - 1, batch_axis=5),
        [weight("x", np.ones((2, 2), "f4")), weight("s", np.array([1, 1], "i8"))],
        "0 and 1 are time and batch",
    ),
    "trips": (
        onnx.helper.make_node("Loop", ["none", "", "x"], COLLECTS, body=body(unchanged())),
        [weight("x", np.float32(1))],
        "found 0 trip counts",
    ),
    "concat": (
        onnx.helper.make_node("Concat", [], ["y"], axis=0),
        [weight("x", np.float32(1))],
        "0 inputs; at least 1 needed",
    ),
    "required": (
        onnx.helper.make_node("MatMul", ["x", ""], ["y"]),
        [weight("x", np.ones((2, 2), "f4"))],
        r"input 1 \('B'\) is required and has no name",
    ),
    "too many": (
        onnx.helper.make_node("Relu", ["x", "x"], ["y"]),
        [weight("x", np.ones((2, 2), "f4"))],
        "2 inputs; at most 1 allowed",
    ),
    "results": (
        onnx.helper.make_node("Split", ["x"], []),
        [weight("x", np.ones((2, 2), "f4"))],
        "0 outputs; at least 1 needed",
    ),
    "grams": (
        onnx.helper.make_node(
            "TfIdfVectorizer",
            ["x"],
            ["y"],
            mode="TF",
            min_gram_length=-1,
            max_gram_length=1,
            max_skip_count=1,
            ngram_counts=[0],
            ngram_indexes=[0],
            pool_int64s=[1],
        ),
        [weight("x", np.array([1, 2], "i8"))],
        "n-grams of -1 to 1 tokens",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_operands_that_an_operator_does_not_expect(name: str) -> None:
    node, inits, text = HOSTILE[name]
    outputs = [onnx.helper.make_value_info(o, onnx.TypeProto()) for o in node.output]
    none = onnx.helper.make_node("Shape", [inits[0].name], ["none"])  # of length 0 if that has no dimensions
    graph = onnx.helper.make_graph([none, node], "g", [], outputs, inits)
    opsets = [onnx.helper.make_opsetid("", 23), onnx.helper.make_opsetid("ai.onnx.ml", 3)]
    made = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10)
    with pytest.raises(Exception, match=text):
        backend.run_model(made, [])
