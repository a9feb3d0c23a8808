# SPDX-License-Identifier: Apache-2.0
"""ONNX models from opset to opset: what comes out is valid there and computes the same, or every node that cannot be
said is named."""
from __future__ import annotations

import copy
import os
import pathlib
import subprocess
import warnings

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from onnx.backend.test import loader
    from onnx.backend.test.runner import Runner

import ingot.onnx.backend as backend  # noqa: E402
import test_onnx_backend as node_tests  # noqa: E402
from ingot.onnx.errors import ConversionError  # noqa: E402
from ingot.onnx.version_converter import convert_file, convert_version  # noqa: E402

make, F, I64 = onnx.helper, onnx.TensorProto.FLOAT, onnx.TensorProto.INT64
BUILD = pathlib.Path(os.environ.get("INGOT_BUILD", pathlib.Path(__file__).parents[2] / "build" / "release"))
NEWEST = onnx.defs.onnx_opset_version()


def opset_of(model: onnx.ModelProto) -> int:
    return {o.domain: o.version for o in model.opset_import}.get("", 0)


def info(name: str, shape: list | int, elem: int = F) -> onnx.ValueInfoProto:
    """A number: the rank, sizes unknown."""
    return make.make_tensor_value_info(name, elem, [None] * shape if isinstance(shape, int) else shape)


def ints(name: str, values: list[int]) -> onnx.TensorProto:
    return make.make_tensor(name, I64, [len(values)], values)


def model_of(nodes: list, opset: int, inputs: list, outputs: list, inits: list = (), **more: object) -> onnx.ModelProto:
    graph = make.make_graph(nodes, "g", inputs, outputs, inits)
    domains = [make.make_opsetid("", opset), *(make.make_opsetid(d, 1) for d in more.pop("domains", ()))]
    return make.make_model(graph, opset_imports=domains, ir_version=8, **more)


def same(model: onnx.ModelProto, opset: int, *inputs: np.ndarray) -> onnx.ModelProto:
    """Converts, checks, and runs both; the converted model."""
    new = convert_version(model, opset)
    assert opset_of(new) == opset
    onnx.checker.check_model(new, full_check=True)
    for a, b in zip(backend.run_model(model, list(inputs)), backend.run_model(new, list(inputs)), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-5, atol=1e-6)
    return new


def ops(model: onnx.ModelProto) -> list[str]:
    return [n.op_type for n in model.graph.node]


# ---- the standard's node tests

# Until 12 (18 for AveragePool) shape inference counts a window that begins in the padding behind the data.
WINDOWS = {"test_averagepool_2d_ceil_last_window_starts_on_pad", "test_maxpool_2d_ceil_output_size_reduce_by_one"}


def baked(model: onnx.ModelProto, inputs: list) -> tuple[onnx.ModelProto, list]:
    """Small operands behind the first as constants, so that they can become attributes."""
    model = copy.deepcopy(model)
    model.ir_version = max(model.ir_version, 4)
    kept = []
    for k, (port, array) in enumerate(zip(list(model.graph.input), inputs, strict=False)):
        plain = isinstance(array, np.ndarray) and array.ndim <= 1 and array.dtype.kind in "if"
        if k and plain and array.size <= 16 and port.type.HasField("tensor_type"):
            model.graph.initializer.append(onnx.numpy_helper.from_array(array, port.name))
            model.graph.input.remove(port)
        else:
            kept.append(array)
    return model, kept


def judge(case: object, model: onnx.ModelProto, inputs: list, expected: list, target: int) -> str:
    try:
        new = convert_version(model, target)
    except ConversionError:
        return "refused"
    try:
        onnx.checker.check_model(new, full_check=True)
    except onnx.shape_inference.InferenceError:
        with pytest.raises(onnx.shape_inference.InferenceError):  # not the fault of the conversion
            onnx.checker.check_model(model, full_check=True)
    Runner.assert_similar_outputs(expected, list(backend.prepare(new).run(inputs)), rtol=case.rtol, atol=case.atol)
    return "same"


@pytest.mark.parametrize("target", [8, 11, 13, 18, NEWEST])
def test_node_tests(target: int) -> None:
    skip = {*node_tests.known(), *(WINDOWS if target < 19 else ())}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = [c for c in loader.load_model_tests(kind="node") if c.name not in skip]
    count = {"up": {"same": 0, "refused": 0}, "down": {"same": 0, "refused": 0}}
    for case in cases:
        model = case.model if case.model is not None else onnx.load(os.path.join(case.model_dir, "model.onnx"))
        opset = opset_of(model)
        if not opset or opset == target:
            continue
        inputs, expected = node_tests.data_sets(case, model)[0]
        model, inputs = baked(model, inputs)
        count["up" if opset < target else "down"][judge(case, model, inputs, expected, target)] += 1
    assert count["up"]["refused"] == 0, count
    assert count["down"]["same"] >= count["down"]["refused"] * (0.5 if target < 13 else 1.5), count


# ---- attributes and operands

X = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)


def test_axes_become_operands_and_back() -> None:
    nodes = [make.make_node("Unsqueeze", ["x"], ["a"], axes=[0]), make.make_node("ReduceMean", ["a"], ["y"], axes=[-1])]
    old = model_of(nodes, 11, [info("x", [2, 3, 4])], [info("y", 4)])
    new = same(old, 18, X)
    assert ops(new) == ["Constant", "Unsqueeze", "Constant", "ReduceMean"]
    back = same(new, 11, X)
    assert ops(back) == ["Unsqueeze", "ReduceMean"]
    assert list(back.graph.node[0].attribute[0].ints) == [0]


def test_softmax_over_several_axes() -> None:
    node = make.make_node("Softmax", ["x"], ["y"], axis=1)
    old = model_of([node], 11, [info("x", [2, 3, 4])], [info("y", [2, 3, 4])])
    assert ops(same(old, 13, X)) == ["Flatten", "Softmax", "Shape", "Reshape"]
    unknown = model_of([node], 11, [info("x", 3)], [info("y", 3)])
    same(unknown, 13, X)
    new = model_of([node], 13, [info("x", [2, 3, 4])], [info("y", [2, 3, 4])])
    assert ops(same(new, 9, X)) == ["Transpose", "Softmax", "Transpose"]


def test_operands_that_are_not_constant() -> None:
    model = model_of([make.make_node("Squeeze", ["x", "axes"], ["y"], name="s")], 13,
                     [info("x", [1, 3]), info("axes", [1], I64)], [info("y", 1)])
    with pytest.raises(ConversionError, match=r"model: opset 12: node 's' \(Squeeze\): 'axes' must be a constant: "
                                              r"before opset 13 it is the attribute 'axes'"):
        convert_version(model, 12)


def test_computed_constants_are_found() -> None:
    model = model_of([make.make_node("Shape", ["w"], ["s1"]), make.make_node("Slice", ["x", "zero", "s1"], ["y"])], 10,
                     [info("x", [5])], [info("y", 1)], [ints("zero", [0]), make.make_tensor("w", F, [3], [0, 0, 0])])
    new = same(model, 9, np.arange(5, dtype=np.float32))
    assert list({a.name: a.ints for a in new.graph.node[-1].attribute}["ends"]) == [3]


def test_all_refusals_are_told() -> None:
    nodes = [make.make_node("Col2Im", ["x", "s", "s"], ["a"], name="one"),
             make.make_node("StringConcat", ["t", "t"], ["b"])]
    model = model_of(nodes, 20, [info("x", [1, 4, 4]), info("s", [2], I64), info("t", [1], onnx.TensorProto.STRING)],
                     [info("a", 4), info("b", 1, onnx.TensorProto.STRING)])
    with pytest.raises(ConversionError) as error:
        convert_version(model, 17)
    assert str(error.value).split("\n") == [
        "model: 2 nodes cannot be said in opset 17:",
        "node 'one' (Col2Im): exists from opset 18 on; to express it by others the elements must be floats and the "
        "shapes of image and blocks known",
        "node 1 (StringConcat): StringConcat exists from opset 20 on, and is not expressed by others"]


def test_attention_of_any_sizes() -> None:
    """Grouped heads, a past, a mask that is too short, windows: at opsets without Attention, whatever the sizes are."""
    numbers = np.random.default_rng(0)
    def draw(*shape: int) -> np.ndarray:
        return numbers.standard_normal(shape).astype(np.float32)
    node = make.make_node("Attention", ["q", "k", "v", "mask", "pk", "pv"], ["y", "key", "value", "qk"], is_causal=1,
                          left_window_size=3, softcap=2.0, qk_matmul_output_mode=2, name="heads")
    ports = [info("q", ["b", "h", "l", "e"]), info("k", ["b", "g", "s", "e"]), info("v", ["b", "g", "s", "f"]),
             info("mask", ["l", "m"]), info("pk", ["b", "g", "p", "e"]), info("pv", ["b", "g", "p", "f"])]
    model = model_of([node], 25, ports, [info(name, 4) for name in ("y", "key", "value", "qk")])
    for b, h, g, n, s, p in ((2, 4, 2, 3, 5, 2), (1, 3, 3, 2, 4, 1)):
        given = [draw(b, h, n, 8), draw(b, g, s, 8), draw(b, g, s, 6), draw(n, s), draw(b, g, p, 8), draw(b, g, p, 6)]
        for opset in (13, 18, 23, 24):
            same(model, opset, *given)
    flat = make.make_node("Attention", ["q", "k", "v"], ["y"], q_num_heads=4, kv_num_heads=2, scale=0.3)
    model = model_of([flat], 23, [info("q", 3), info("k", 3), info("v", 3)], [info("y", 3)])
    same(model, 13, draw(2, 3, 16), draw(2, 5, 8), draw(2, 5, 12))
    unknown = make.make_tensor_value_info("q", F, None)
    model = model_of([flat], 23, [unknown, info("k", 3), info("v", 3)], [info("y", 3)])
    with pytest.raises(ConversionError, match="the rank of 'q' must be known"):
        convert_version(model, 18)


@pytest.mark.parametrize("mixed", [0, 1])
def test_rotary_embedding_of_any_sizes(mixed: int) -> None:
    numbers = np.random.default_rng(0)
    ids = np.array([[0, 2, 1], [3, 1, 4]])
    cos, sin = (numbers.standard_normal((9, 3)).astype(np.float32) for _ in range(2))
    node = make.make_node("RotaryEmbedding", ["x", "c", "s", "i"], ["y"], interleaved=mixed, rotary_embedding_dim=6)
    model = model_of([node], 23, [info("x", 4), info("c", 2), info("s", 2), info("i", 2, I64)], [info("y", 4)])
    same(model, 13, numbers.standard_normal((2, 4, 3, 8)).astype(np.float32), cos, sin, ids)
    node = make.make_node("RotaryEmbedding", ["x", "c", "s"], ["y"], interleaved=mixed, num_heads=2)
    model = model_of([node], 23, [info("x", 3), info("c", 3), info("s", 3)], [info("y", 3)])
    same(model, 13, numbers.standard_normal((2, 3, 12)).astype(np.float32), cos[ids], sin[ids])


def test_col2im_is_a_convolution() -> None:
    numbers = np.random.default_rng(0)
    for image, block, more in (([5, 7], [2, 3], {"strides": [2, 2], "pads": [1, 0, 1, 1]}),
                               ([6, 6], [2, 2], {"dilations": [2, 1]}), ([9], [3], {"strides": [2]}),
                               ([4, 4, 4], [2, 2, 2], {"strides": [3, 2, 1]})):
        n = len(image)
        pads, steps, wide = (more.get(k, [d] * n * (2 if k == "pads" else 1)) for k, d in
                             (("pads", 0), ("strides", 1), ("dilations", 1)))
        length = np.prod([(image[i] + pads[i] + pads[i + n] - wide[i] * (block[i] - 1) - 1) // steps[i] + 1
                          for i in range(n)])
        node = make.make_node("Col2Im", ["x", "i", "b"], ["y"], **more)
        model = model_of([node], 18, [info("x", 3)], [info("y", n + 2)], [ints("i", image), ints("b", block)])
        for channels in (1, 3):
            x = numbers.standard_normal((2, channels * int(np.prod(block)), int(length))).astype(np.float32)
            assert "ConvTranspose" in ops(same(model, 13, x))


def test_scan_with_and_without_batches() -> None:
    body = make.make_graph([make.make_node("Add", ["s", "x"], ["t"]), make.make_node("Mul", ["t", "t"], ["y"])], "body",
                           [info("s", [2]), info("x", [2])], [info("t", [2]), info("y", [2])])
    numbers = np.random.default_rng(0)
    old = model_of([make.make_node("Scan", ["", "s", "x"], ["t", "y"], body=body, num_scan_inputs=1, directions=[1])],
                   8, [info("s", [3, 2]), info("x", [3, 5, 2])], [info("t", [3, 2]), info("y", [3, 5, 2])])
    old.ir_version = 3
    given = numbers.standard_normal((3, 2)).astype(np.float32), numbers.standard_normal((3, 5, 2)).astype(np.float32)
    for opset in (9, 13, NEWEST):
        same(old, opset, *given)
    new = model_of([make.make_node("Scan", ["s", "x"], ["t", "y"], body=body, num_scan_inputs=1,
                                   scan_input_directions=[1])],
                   13, [info("s", [2]), info("x", [5, 2])], [info("t", [2]), info("y", [5, 2])])
    same(new, 8, given[0][0], given[1][0])


def test_sub_graphs_may_hide_names() -> None:
    """What is known of a name outside counts outside: here "axes" are constants there, and an input inside."""
    body = make.make_graph([make.make_node("ReduceSum", ["x", "axes"], ["t"], keepdims=0),
                            make.make_node("Identity", ["go"], ["g"])], "body",
                           [info("i", [], I64), info("go", [], 9), info("axes", [1], I64)],
                           [info("g", [], 9), info("axes_", [1], I64), info("t", 1)])
    body.node.append(make.make_node("Identity", ["axes"], ["axes_"]))
    nodes = [make.make_node("Loop", ["n", "", "start"], ["last", "sums"], body=body),
             make.make_node("Unsqueeze", ["x", "axes"], ["y"])]
    model = model_of(nodes, 13, [info("x", [3, 3]), info("start", [1], I64)],
                     [info("last", [1], I64), info("sums", 2), info("y", 3)],
                     [ints("axes", [2]), make.make_tensor("n", I64, [], [2])])
    onnx.checker.check_model(model, full_check=True)
    x = np.arange(9, dtype=np.float32).reshape(3, 3)
    same(model, 18, x, np.array([1]))
    with pytest.raises(ConversionError, match=r"ReduceSum.*'axes' must be a constant"):
        convert_version(model, 11)


def test_types_are_widened() -> None:
    a = np.array([100, 200], dtype=np.uint8)
    model = model_of([make.make_node("Add", ["x", "x"], ["y"])], 14, [info("x", [2], 2)], [info("y", [2], 2)])
    assert ops(same(model, 13, a)) == ["Cast", "Cast", "Add", "Cast"]
    model = model_of([make.make_node("Clip", ["x", "lo"], ["y"])], 13, [info("x", [2], 6)], [info("y", [2], 6)],
                     [make.make_tensor("lo", 6, [], [3])])
    same(model, 10, np.array([1, 9], dtype=np.int32))


def test_functions_of_opset_20_in_13() -> None:
    for approximate in ("none", "tanh"):
        model = model_of([make.make_node("Gelu", ["x"], ["y"], approximate=approximate)], 20, [info("x", [2, 3, 4])],
                         [info("y", [2, 3, 4])])
        assert "Gelu" not in ops(same(model, 13, X))
    model = model_of([make.make_node("LayerNormalization", ["x", "w", "b"], ["y", "m", "s"], axis=1)], 17,
                     [info("x", [2, 3, 4]), info("w", [3, 4]), info("b", [3, 4])], [info(n, 3) for n in "yms"])
    same(model, 13, X, X[0], X[1])


# ---- what no program can express

def test_sub_graphs_and_sequences() -> None:
    body = make.make_graph(
        [make.make_node("Unsqueeze", ["xi"], ["u"], axes=[0]),
         make.make_node("SequenceInsert", ["seq", "u"], ["seq_out"]), make.make_node("Identity", ["go"], ["go_out"])],
        "body", [info("i", [], I64), info("go", [], 9), make.make_tensor_sequence_value_info("seq", F, None)],
        [info("go_out", [], 9), make.make_tensor_sequence_value_info("seq_out", F, None)])
    nodes = [make.make_node("SequenceEmpty", [], ["empty"]), make.make_node("Identity", ["x"], ["xi"]),
             make.make_node("Loop", ["n", "", "empty"], ["all"], body=body),
             make.make_node("ConcatFromSequence", ["all"], ["y"], axis=0)]
    model = model_of(nodes, 12, [info("x", [2, 3, 4]), info("n", [], I64)], [info("y", 4)])
    new = same(model, 21, X, np.array(3))
    inner = new.graph.node[2].attribute[0].g.node
    assert [n.op_type for n in inner] == ["Constant", "Unsqueeze", "SequenceInsert", "Identity"]
    same(new, 13, X, np.array(3))


def test_functions_of_the_model() -> None:
    axes = onnx.AttributeProto(name="axes", ref_attr_name="over", type=onnx.AttributeProto.INTS)
    reduce = make.make_node("ReduceMax", ["a"], ["b"], keepdims=0)
    reduce.attribute.append(axes)
    function = make.make_function("my", "Most", ["a"], ["b"], [reduce], [make.make_opsetid("", 13)], ["over"])
    model = model_of([make.make_node("Most", ["x"], ["y"], domain="my", over=[1])], 13, [info("x", [2, 3, 4])],
                     [info("y", 2)], domains=["my"], functions=[function])
    new = same(model, 18, X)
    assert new.functions[0].opset_import[0].version == 18
    assert [n.op_type for n in new.functions[0].node] == ["Constant", "ReduceMax"]


def test_everything_else_stays() -> None:
    model = model_of([make.make_node("Relu", ["x"], ["y"], name="r")], 13, [info("x", ["n", 3])], [info("y", ["n", 3])])
    model.metadata_props.add(key="who", value="me")
    model.graph.node[0].metadata_props.add(key="line", value="7")
    model.graph.quantization_annotation.add(tensor_name="y")
    model.producer_name, model.graph.doc_string = "somebody", "text"
    new = convert_version(model, 14)
    expected = copy.deepcopy(model)
    expected.opset_import[0].version = 14
    assert new == expected


def test_files_with_external_data(tmp_path: pathlib.Path) -> None:
    weight = onnx.numpy_helper.from_array(np.arange(4096, dtype=np.float32).reshape(64, 64), "w")
    nodes = [make.make_node("MatMul", ["x", "w"], ["a"]), make.make_node("ReduceSum", ["a"], ["y"], axes=[1])]
    model = model_of(nodes, 11, [info("x", [2, 64])], [info("y", 2)], [weight])
    x = np.ones((2, 64), dtype=np.float32)
    expected = backend.run_model(model, [x])[0]
    onnx.save(model, tmp_path / "old.onnx", save_as_external_data=True, size_threshold=0, location="weights")
    (tmp_path / "other").mkdir()
    convert_file(tmp_path / "old.onnx", tmp_path / "other" / "new.onnx", 15)
    new = onnx.load(tmp_path / "other" / "new.onnx")
    onnx.checker.check_model(new, full_check=True)
    np.testing.assert_allclose(backend.run_model(new, [x])[0], expected)


def test_bad_requests() -> None:
    model = model_of([make.make_node("Relu", ["x"], ["y"])], 13, [info("x", [2])], [info("y", [2])])
    for opset in (6, NEWEST + 20):
        with pytest.raises(ConversionError, match=rf"ONNX: opset {opset} is not known, 7 to \d+ are"):
            convert_version(model, opset)
    with pytest.raises(ConversionError, match="not an ONNX model"):
        convert_version(b"", 13)


def is_sound(path: pathlib.Path) -> bool:
    try:
        onnx.checker.check_model(onnx.load(path), full_check=True)
    except onnx.shape_inference.InferenceError:
        return False
    return True


def test_models_of_pytorch(tmp_path: pathlib.Path) -> None:
    """Written by PyTorch at opset 18: down to 13 and up to the newest they agree with what PyTorch computed."""
    for path in node_tests.golden_files():
        record = path.parent / f"{path.name.split('.')[0]}.io.npz"
        arrays = np.load(record)
        inputs = [arrays[k] for k in arrays.files if k.startswith("arg")]
        sound = is_sound(path)  # some releases wrote shapes that do not hold
        for opset in (13, 15, 17, 21, NEWEST):
            try:
                convert_file(path, tmp_path / "m.onnx", opset)
            except ConversionError as e:
                assert opset < 18 and "node" in str(e), (path.name, opset, str(e))
                continue
            new = onnx.load(tmp_path / "m.onnx")
            onnx.checker.check_model(new, full_check=sound)
            found = backend.run_model(new, inputs)
            for k, key in enumerate(k for k in arrays.files if k.startswith("out")):
                got = found[k].view(np.uint16) if found[k].dtype.name == "bfloat16" else found[k]
                np.testing.assert_allclose(got, arrays[key], rtol=1e-3, atol=1e-4, err_msg=f"{path.name} {opset}")


def test_onnxruntime_agrees(tmp_path: pathlib.Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    runtime.set_default_logger_severity(4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = [c for c in loader.load_model_tests(kind="node") if "_expanded" not in c.name][::4]
    ran = 0
    for case in cases:
        model = case.model if case.model is not None else onnx.load(os.path.join(case.model_dir, "model.onnx"))
        opset = opset_of(model)
        if opset < 7 or case.name in node_tests.known() or case.name in WINDOWS:
            continue
        model, inputs = baked(model, node_tests.data_sets(case, model)[0][0])
        for target in (12, 17, 21):
            try:
                new = convert_version(model, target)
                feed = dict(zip((i.name for i in model.graph.input), inputs, strict=True))
                expected = runtime.InferenceSession(model.SerializeToString()).run(None, feed)
            except Exception:  # neither the conversion's nor the runtime's refusal is the point
                continue
            try:
                found = runtime.InferenceSession(new.SerializeToString()).run(None, feed)
            except Exception as e:
                assert "NOT_IMPLEMENTED" in str(e), (case.name, target, str(e))
                continue
            for a, b in zip(expected, found, strict=True):
                if isinstance(a, np.ndarray) and a.dtype.kind in "fiub":
                    if "attention" in case.name:  # what is masked: the lowest number there, -inf in the standard
                        a = np.where(a <= np.finfo(a.dtype).min, -np.inf, a)
                    np.testing.assert_allclose(b, a, rtol=1e-3, atol=1e-5, err_msg=f"{case.name} {target}")
            ran += 1
    assert ran > 300


def test_the_command(tmp_path: pathlib.Path) -> None:
    command = BUILD / "ingot"
    if not command.exists():
        pytest.skip("the command is not built here")
    nodes = [make.make_node("SplitToSequence", ["x"], ["s"]),
             make.make_node("ConcatFromSequence", ["s"], ["y"], axis=0)]
    model = model_of(nodes, 13, [info("x", [2, 3])], [info("y", 2)])
    onnx.save(model, tmp_path / "a.onnx")
    done = subprocess.run([command, "convert", "a.onnx", "b.onnx", "--opset", "21"], cwd=tmp_path,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "agrees" in done.stderr
    assert opset_of(onnx.load(tmp_path / "b.onnx")) == 21


@pytest.mark.parametrize(("opset", "to"), [(9, 15), (13, 14)])
def test_fewer_outputs_than_training_has(opset, to):
    names = ["x", "s", "b", "m", "v"]
    node = make.make_node("BatchNormalization", names, ["y", "mean"])
    inputs = [info("x", [2, 3, 4]), *(info(name, [3]) for name in names[1:])]
    model = model_of([node], opset, inputs, [info("y", [2, 3, 4]), info("mean", [3])])
    with pytest.raises(ConversionError, match="2 outputs; BatchNormalization-1[45] has 1 or 3"):
        convert_version(model, to)


def test_more_outputs_than_the_operator_has():
    node = make.make_node("Dropout", ["x"], ["y", "mask", "z", "w"])
    model = model_of([node], 7, [info("x", [2])], [info("y", [2])])
    with pytest.raises(ConversionError, match="at most 1 and 2 allowed"):
        convert_version(model, 13)


def test_an_axis_that_no_tensor_has():
    node = make.make_node("GatherElements", ["x", "i"], ["y"], axis=2**63 - 1)
    model = model_of([node], 13, [info("x", [2]), info("i", [2], I64)], [info("y", [2])])
    with pytest.raises(ConversionError, match="axis 9223372036854775807 is out of range for 1 dimensions"):
        convert_version(model, 10)
