# SPDX-License-Identifier: Apache-2.0
"""ingot.edit: what the operations make, judged by onnx's checker and by onnxruntime."""
from __future__ import annotations

import os
import pathlib
import subprocess
import tempfile

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

import ingot  # noqa: E402
from ingot import edit  # noqa: E402

RNG = np.random.default_rng(0)
ROOT = pathlib.Path(__file__).resolve().parents[2]
INGOT = pathlib.Path(os.environ.get("INGOT_BUILD", ROOT / "build/release")) / "ingot"


def model(nodes, inputs, outputs, weights=None, opset=17, values=()):
    info = lambda name, shape, kind=TensorProto.FLOAT: helper.make_tensor_value_info(name, kind, shape)  # noqa: E731
    graph = helper.make_graph(
        nodes, "g", [info(*i) for i in inputs], [info(*o) for o in outputs],
        [numpy_helper.from_array(np.asarray(w), n) for n, w in (weights or {}).items()], value_info=list(values))
    m = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    m.ir_version = 10
    return m


def run(m, feeds):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(m.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def mine(m, feeds):
    """The same in Ingot."""
    with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
        file.write(m.SerializeToString())
        file.flush()
        out = ingot.open(file.name)(**feeds)
    return out if isinstance(out, tuple) else (out,)


def agrees(before, after, feeds, rtol=1e-4, atol=1e-5, other=None):
    onnx.checker.check_model(after, full_check=True)
    for want, got in zip(run(before, feeds), run(after, other or feeds), strict=True):
        np.testing.assert_allclose(got.astype(want.dtype), want, rtol=rtol, atol=atol)
    for want, got in zip(run(after, other or feeds), mine(after, other or feeds), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def ops(m):
    return [n.op_type for n in m.graph.node]


def node(op, inputs, outputs, name="", **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), name=name or f"{op}_{outputs}", **attributes)


def f32(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


CASES = {
    "identity": ([node("Identity", "x", "a"), node("Relu", "a", "b"), node("Identity", "b", "y")], {}, ["Relu"]),
    "dropout": ([node("Dropout", "x", "a"), node("Relu", "a", "y")], {}, ["Relu"]),
    "transposes": ([node("Transpose", "x", "a", perm=[0, 2, 3, 1]), node("Transpose", "a", "b", perm=[0, 3, 1, 2]),
                    node("Relu", "b", "y")], {}, ["Relu"]),
    "one transpose": ([node("Transpose", "x", "a", perm=[0, 2, 3, 1]), node("Transpose", "a", "b", perm=[1, 0, 2, 3]),
                       node("Relu", "b", "y")], {}, ["Transpose", "Relu"]),
    "negations": ([node("Neg", "x", "a"), node("Neg", "a", "b"), node("Relu", "b", "y")], {}, ["Relu"]),
    "casts": ([node("Cast", "x", "a", to=TensorProto.DOUBLE), node("Cast", "a", "b", to=TensorProto.FLOAT),
               node("Relu", "b", "y")], {}, ["Relu"]),
    "narrow cast stays": ([node("Cast", "x", "a", to=TensorProto.FLOAT16), node("Cast", "a", "y", to=1)], {},
                          ["Cast", "Cast"]),
    "pad of nothing": ([node("Pad", "x p", "a"), node("Relu", "a", "y")], {"p": np.zeros(8, np.int64)}, ["Relu"]),
    "slice of all": ([node("Slice", "x s e", "a"), node("Relu", "a", "y")],
                     {"s": np.zeros(1, np.int64), "e": np.array([2**31])}, ["Relu"]),
    "slice of a part stays": ([node("Slice", "x s e a1 st", "a"), node("Relu", "a", "y")],
                              {"s": np.array([-1]), "e": np.array([-2**31]), "a1": np.array([0]),
                               "st": np.array([-1])}, ["Slice", "Relu"]),
    "slices": ([node("Slice", "x s e a2", "a"), node("Slice", "a s e a3", "y")],
               {"s": np.array([1]), "e": np.array([4]), "a2": np.array([2]), "a3": np.array([3])}, ["Slice"]),
    "reshapes": ([node("Reshape", "x s", "a"), node("Reshape", "a t", "y")],
                 {"s": np.array([0, -1]), "t": np.array([3, -1, 2])}, ["Reshape"]),
    "reshape back": ([node("Flatten", "x", "a"), node("Reshape", "a t", "b"), node("Relu", "b", "y")],
                     {"t": np.array([2, 3, 4, 5])}, ["Relu"]),
    "unsqueeze and squeeze": ([node("Unsqueeze", "x ax", "a"), node("Squeeze", "a ax", "b"), node("Relu", "b", "y")],
                              {"ax": np.array([1])}, ["Relu"]),
    "plus nothing": ([node("Add", "x z", "a"), node("Mul", "a o", "b"), node("Relu", "b", "y")],
                     {"z": np.zeros((1, 3, 1, 1), np.float32), "o": np.float32(1)}, ["Relu"]),
    "zeros that broadcast stay": ([node("Add", "x z", "y")], {"z": np.zeros((2, 2, 3, 4, 5), np.float32)}, ["Add"]),
    "common": ([node("Relu", "x", "a"), node("Relu", "x", "b"), node("Add", "a b", "y")], {}, ["Relu", "Add"]),
    "random numbers are not common": (
        [node("RandomNormalLike", "x", "a"), node("RandomNormalLike", "x", "b"), node("Sub", "a b", "c"),
         node("Mul", "c z", "y")], {"z": np.float32(0)},
        ["RandomNormalLike", "RandomNormalLike", "Sub", "Mul"]),
    "dead": ([node("Sigmoid", "x", "dead"), node("Relu", "x", "y")], {}, ["Relu"]),
    "constants": ([node("Constant", "", "c", value_float=2.0), node("Add", "c d", "e"), node("Mul", "x e", "y")],
                  {"d": np.float32(3)}, ["Mul"]),
    "shape": ([node("Shape", "x", "s"), node("Gather", "s i", "g"), node("Cast", "g", "f", to=1),
               node("Mul", "x f", "y")], {"i": np.array(2)}, ["Mul"]),
    "conv and norm": ([node("Conv", "x w", "a"), node("BatchNormalization", "a s b m v", "y")],
                      {"w": f32(4, 3, 2, 2), "s": f32(4), "b": f32(4), "m": f32(4), "v": np.abs(f32(4)) + 1},
                      ["Conv"]),
    "grouped conv and norm": ([node("Conv", "x w", "a", group=3), node("BatchNormalization", "a s b m v", "y")],
                              {"w": f32(6, 1, 2, 2), "s": f32(6), "b": f32(6), "m": f32(6), "v": np.abs(f32(6)) + 1},
                              ["Conv"]),
    "transposed conv and norm": (
        [node("ConvTranspose", "x w c", "a"), node("BatchNormalization", "a s b m v", "y")],
        {"w": f32(3, 4, 2, 2), "c": f32(4), "s": f32(4), "b": f32(4), "m": f32(4), "v": np.abs(f32(4)) + 1},
        ["ConvTranspose"]),
    "a conv that is read twice": (
        [node("Conv", "x w", "a"), node("BatchNormalization", "a s b m v", "n"), node("Add", "a n", "y")],
        {"w": f32(4, 3, 2, 2), "s": f32(4), "b": f32(4), "m": f32(4), "v": np.abs(f32(4)) + 1},
        ["Conv", "BatchNormalization", "Add"]),
    "conv, factor and offset": ([node("Conv", "x w", "a"), node("Mul", "a k", "b"), node("Add", "b o", "y")],
                                {"w": f32(4, 3, 2, 2), "k": f32(1, 4, 1, 1), "o": f32(4, 1, 1)}, ["Conv"]),
    "an offset per place stays": ([node("Conv", "x w", "a"), node("Add", "a o", "y")],
                                  {"w": f32(4, 3, 1, 1), "o": f32(1, 1, 4, 5)}, ["Conv", "Add"]),
    "padded conv": ([node("Pad", "x p", "a"), node("Conv", "a w", "y", pads=[0, 1, 0, 1])],
                    {"p": np.array([0, 0, 1, 2, 0, 0, 3, 0]), "w": f32(4, 3, 3, 3)}, ["Conv"]),
    "padding with ones stays": ([node("Pad", "x p one", "a"), node("Conv", "a w", "y")],
                                {"p": np.array([0, 0, 1, 1, 0, 0, 1, 1]), "one": np.float32(1), "w": f32(4, 3, 3, 3)},
                                ["Pad", "Conv"]),
    "gemm": ([node("Reshape", "x s", "a"), node("MatMul", "a w", "b"), node("Add", "b c", "y")],
             {"s": np.array([6, 20]), "w": f32(20, 7), "c": f32(7)}, ["Reshape", "Gemm"]),
    "a sum that grows stays": ([node("Reshape", "x s", "a"), node("MatMul", "a w", "b"), node("Add", "b c", "y")],
                               {"s": np.array([1, 120]), "w": f32(120, 7), "c": f32(5, 7)},
                               ["Reshape", "MatMul", "Add"]),
    "a factor of what was not there": (
        [node("Reshape", "x s", "a"), node("Gemm", "a w", "b", beta=0.5), node("Add", "b c", "y")],
        {"s": np.array([6, 20]), "w": f32(20, 7), "c": f32(7)}, ["Reshape", "Gemm", "Add"]),
    "concatenations": ([node("Relu", "x", "r"), node("Concat", "x r", "a", axis=1), node("Neg", "x", "n"),
                        node("Concat", "n a x", "y", axis=-3)], {}, ["Relu", "Neg", "Concat"]),
    "concatenations along two axes stay": ([node("Concat", "x x", "a", axis=1), node("Concat", "a a", "y", axis=0)],
                                           {}, ["Concat", "Concat"]),
    "an output twice": ([node("Relu", "x", "a"), node("Identity", "a", "y"), node("Identity", "a", "z"),
                         node("Sigmoid", "z", "u")], {}, None),
}


@pytest.mark.parametrize("name", CASES)
def test_simplify(name):
    nodes, weights, want = CASES[name]
    outputs = [("y", None)] + ([("z", None), ("u", None)] if name == "an output twice" else [])
    before = model(nodes, [("x", [2, 3, 4, 5])], outputs, weights)
    before = onnx.shape_inference.infer_shapes(before)
    after = edit.simplify(before)
    assert [o.name for o in after.graph.output] == [o.name for o in before.graph.output]
    if want is not None:
        assert ops(after) == want
    agrees(before, after, {"x": f32(2, 3, 4, 5)})


def test_simplify_a_number_made_a_matrix():
    before = model([node("Gather", "x i", "g"), node("Unsqueeze", "g ax", "y")], [("x", [5])], [("y", [1, 1])],
                   {"i": np.array(1), "ax": np.array([0, 1])})
    agrees(before, edit.simplify(before), {"x": f32(5)})


def test_simplify_of_nodes_with_odd_names():
    """Sum(a|b, c) is not Sum(a, b|c)."""
    names = ["a|b", "c", "a", "b|c"]
    nodes = [helper.make_node("Sum", names[:2], ["p"]), helper.make_node("Sum", names[2:], ["q"]),
             node("Sub", "p q", "y")]
    before = model(nodes, [(n, [3]) for n in names], [("y", [3])])
    agrees(before, edit.simplify(before), {n: f32(3) for n in names})


def test_simplify_of_a_call_without_results():
    nodes = [helper.make_node("F", ["x"], [], domain="mine"), node("Relu", "x", "y")]
    before = model(nodes, [("x", [2])], [("y", [2])])
    before.functions.append(helper.make_function("mine", "F", ["a"], [], [node("Neg", "a", "t")],
                                                 [helper.make_opsetid("", 17)]))
    before.opset_import.append(helper.make_opsetid("mine", 1))
    assert ops(edit.simplify(before)) == ["Relu"]


def test_simplify_before_opset_7():
    """Gemm broadcasts its third operand by itself since then."""
    nodes = [node("MatMul", "x w", "m"), node("Add", "m c", "s", broadcast=1), node("Reshape", "s t", "y")]
    before = model(nodes, [("x", [2, 3, 4])], [("y", [6, 5])], {"w": f32(4, 5), "c": f32(5), "t": np.array([6, 5])}, 6)
    assert ops(edit.simplify(before)) == ["MatMul", "Add", "Reshape"]


def test_simplify_keeps_dynamic_sizes():
    """Shapes that are partly known become constants, and hold for every size."""
    nodes = [node("Shape", "x", "s"), node("Gather", "s zero", "b"), node("Unsqueeze", "b ax", "u"),
             node("Concat", "u k", "t", axis=0), node("Reshape", "x t", "y")]
    weights = {"zero": np.array(0), "ax": np.array([0]), "k": np.array([2, 6])}
    before = model(nodes, [("x", ["n", 3, 4])], [("y", [None, 2, 6])], weights)
    after = edit.simplify(before)
    assert ops(after) == ["Reshape"]
    for n in (1, 2, 7):
        agrees(before, after, {"x": f32(n, 3, 4)})
    fixed = edit.simplify(before, sizes={"n": 2})
    assert fixed.graph.input[0].type.tensor_type.shape.dim[0].dim_value == 2
    agrees(before, fixed, {"x": f32(2, 3, 4)})


def test_simplify_takes_the_branch():
    yes = helper.make_graph([node("Relu", "x", "r")], "yes", [], [helper.make_tensor_value_info("r", 1, None)])
    no = helper.make_graph([node("Neg", "x", "r2")], "no", [], [helper.make_tensor_value_info("r2", 1, None)])
    nodes = [helper.make_node("If", ["c"], ["a"], then_branch=yes, else_branch=no), node("Sigmoid", "a", "y")]
    before = model(nodes, [("x", [2, 3])], [("y", [2, 3])], {"c": np.array(True)})
    after = edit.simplify(before)
    assert ops(after) == ["Relu", "Sigmoid"]
    agrees(before, after, {"x": f32(2, 3)})


def test_simplify_leaves_what_bodies_read():
    yes = helper.make_graph([node("Relu", "i", "r")], "yes", [], [helper.make_tensor_value_info("r", 1, None)])
    no = helper.make_graph([node("Neg", "j", "r2")], "no", [], [helper.make_tensor_value_info("r2", 1, None)])
    nodes = [node("Identity", "x", "i"), node("Identity", "x", "j"),
             helper.make_node("If", ["c"], ["y"], then_branch=yes, else_branch=no)]
    before = model(nodes, [("x", [2, 3]), ("c", [], TensorProto.BOOL)], [("y", [2, 3])])
    after = edit.simplify(before)
    assert ops(after) == ["If"]
    for c in (True, False):
        agrees(before, after, {"x": f32(2, 3), "c": np.array(c)})


def test_simplify_puts_functions_in_place():
    body = [helper.make_node("Add", ["a", "b"], ["t"]), helper.make_node("LeakyRelu", ["t"], ["o"])]
    body[1].attribute.append(onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT))
    fn = helper.make_function("mine", "AddLeaky", ["a", "b"], ["o"], body, [helper.make_opsetid("", 17)], ["slope"])
    nodes = [helper.make_node("AddLeaky", ["x", "x"], ["u"], domain="mine", slope=0.25),
             helper.make_node("AddLeaky", ["u", "x"], ["y"], domain="mine", slope=0.5)]
    before = model(nodes, [("x", [2, 3])], [("y", [2, 3])])
    before.functions.append(fn)
    before.opset_import.append(helper.make_opsetid("mine", 1))
    after = edit.simplify(before)
    assert ops(after) == ["Add", "LeakyRelu", "Add", "LeakyRelu"] and not after.functions
    agrees(before, after, {"x": f32(2, 3)})
    assert ops(edit.simplify(before, keep_functions=True)) == ["AddLeaky", "AddLeaky"]


def test_functions_that_call_functions_end():
    """Each of these calls the one before twice: 2^25 nodes."""
    before = model([helper.make_node("F24", ["x"], ["y"], domain="mine")], [("x", [2])], [("y", [2])])
    for i in range(25):
        op, domain = (f"F{i - 1}", "mine") if i else ("Neg", "")
        body = [helper.make_node(op, ["a"], ["t"], domain=domain), helper.make_node(op, ["t"], ["o"], domain=domain)]
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)]
        before.functions.append(helper.make_function("mine", f"F{i}", ["a"], ["o"], body, opsets))
    before.opset_import.append(helper.make_opsetid("mine", 1))
    with pytest.raises(Exception, match="more than 262144 nodes where they are called"):
        edit.simplify(before)


def test_quantized_weights_are_not_folded():
    before = mlp()
    small = edit.quantize(before)
    assert ops(edit.simplify(small)).count("DequantizeLinear") == 2


def mlp(opset=17, batch="n"):
    nodes = [node("Gemm", "x w b", "h", name="/fc1/Gemm", transB=1), node("Relu", "h", "r", name="/act/Relu"),
             node("MatMul", "r v", "m", name="/fc2/MatMul"), node("Add", "m c", "y", name="/fc2/Add")]
    weights = {"w": f32(32, 48), "b": f32(32), "v": f32(32, 8), "c": f32(8)}
    return model(nodes, [("x", [batch, 48])], [("y", [batch, 8])], weights, opset)


def relative(a, b):
    return np.linalg.norm(a.astype(np.float64) - b) / np.linalg.norm(b)


@pytest.mark.parametrize("how, opset, limit", [("int8", 13, 0.02), ("int8", 21, 0.02), ("int4", 21, 0.2),
                                               ("qdq", 17, 0.05)])
def test_quantize(how, opset, limit):
    before = mlp(opset)
    notes = []
    inputs = [{"x": f32(4, 48)} for _ in range(3)]
    after = edit.quantize(before, how, inputs=inputs, notes=notes)
    onnx.checker.check_model(after, full_check=True)
    kinds = {i.data_type for i in after.graph.initializer}
    assert (TensorProto.INT4 if how == "int4" else TensorProto.INT8) in kinds
    assert not {i.name for i in after.graph.initializer} & {"w", "v"}
    error = relative(run(after, inputs[0])[0], run(before, inputs[0])[0])
    assert 0 < error < limit
    assert {n.name for n in notes if n.what == "layer"} == {"h", "m"}
    assert all(n.number < limit for n in notes)
    assert relative(mine(after, inputs[0])[0], run(after, inputs[0])[0]) < 0.02  # ties of rounding apart


@pytest.mark.parametrize("how", ["int8", "int4", "qdq"])
def test_quantize_of_tiny_numbers(how):
    """Scales of such weights and inputs are 0 in float32."""
    before = model([node("MatMul", "x w", "y")], [("x", [2, 32])], [("y", [2, 4])],
                   {"w": np.full((32, 4), 1e-45, np.float32)}, 21)
    x = {"x": np.full((2, 32), 1e-43, np.float32)}
    after = edit.quantize(before, how, inputs=[x], percentile=99.9 if how == "qdq" else 0)
    assert np.abs(run(after, x)[0]).max() < 1e-30


def test_quantize_leaves_products_in_float16():
    half = TensorProto.FLOAT16
    before = model([node("MatMul", "x w", "y")], [("x", [2, 32], half), ("w", [32, 4], half)], [("y", [2, 4], half)])
    x = {"x": f32(2, 32).astype(np.float16), "w": f32(32, 4).astype(np.float16)}
    assert ops(edit.quantize(before, "qdq", inputs=[x])) == ["MatMul"]


def test_quantize_refuses():
    with pytest.raises(RuntimeError, match="opset 17; these weights need 21"):
        edit.quantize(mlp(), "int4")
    with pytest.raises(ValueError, match="inputs to calibrate with"):
        edit.quantize(mlp(), "qdq")
    kept = edit.quantize(mlp(), keep=["fc2"])
    assert {"v"} <= {i.name for i in kept.graph.initializer}


@pytest.mark.parametrize("dtype, kind", [(ingot.float16, TensorProto.FLOAT16), (ingot.bfloat16, TensorProto.BFLOAT16)])
def test_dtype(dtype, kind):
    before = mlp()
    after = edit.convert_dtype(before, dtype)
    onnx.checker.check_model(after, full_check=True)
    assert {i.data_type for i in after.graph.initializer} == {kind}
    assert after.graph.input[0].type.tensor_type.elem_type == TensorProto.FLOAT
    if dtype is ingot.float16:
        x = {"x": f32(3, 48)}
        assert 0 < relative(run(after, x)[0], run(before, x)[0]) < 5e-3
        io = edit.convert_dtype(before, dtype, convert_io=True)
        assert io.graph.input[0].type.tensor_type.elem_type == kind and "Cast" not in ops(io)
        assert run(io, {"x": x["x"].astype(np.float16)})[0].dtype == np.float16


@pytest.mark.parametrize("n", [2, 70])
def test_dtype_of_many_outputs(n):
    names = [f"y{i}" for i in range(n)]
    before = model([node("Split", "x", " ".join(names), num_outputs=n)], [("x", [n, 3])],
                   [(name, [1, 3]) for name in names], opset=18)
    x = f32(n, 3)
    outer = edit.convert_dtype(before, ingot.float16)
    onnx.checker.check_model(outer, full_check=True)
    assert {y.dtype for y in run(outer, {"x": x})} == {np.dtype(np.float32)}
    kept = edit.convert_dtype(before, ingot.float16, convert_io=True, keep=["Split"])
    onnx.checker.check_model(kept, full_check=True)
    np.testing.assert_array_equal(np.concatenate(run(kept, {"x": x.astype(np.float16)})), x.astype(np.float16))


def test_dtype_keeps_what_overflows():
    before = mlp()
    big = numpy_helper.from_array(numpy_helper.to_array(before.graph.initializer[2]) * np.float32(1e6), "v")
    before.graph.initializer[2].CopyFrom(big)
    notes = []
    after = edit.convert_dtype(before, ingot.float16, notes=notes)
    assert ("overflow", "/fc2/MatMul") in {(n.what, n.name) for n in notes}
    x = {"x": f32(3, 48)}
    assert relative(run(after, x)[0], run(before, x)[0]) < 5e-3
    # Activations overflow only on inputs that show it.
    notes.clear()
    edit.convert_dtype(mlp(), ingot.float16, inputs=[{"x": f32(2, 48) * 1e5}], notes=notes)
    assert "/fc1/Gemm" in {n.name for n in notes if n.what == "overflow"}


def test_extract():
    before = mlp()
    x = {"x": f32(3, 48)}
    front = edit.extract(before, end="r")
    back = edit.extract(before, "r")
    assert ops(front) == ["Gemm", "Relu"] and ops(back) == ["MatMul", "Add"]
    onnx.checker.check_model(front, full_check=True)
    middle = run(front, x)[0]
    np.testing.assert_array_equal(run(back, {"r": middle})[0], run(before, x)[0])
    assert ops(edit.extract(before, "fc2", "fc2")) == ["MatMul", "Add"]
    assert {i.name for i in front.graph.initializer} == {"w", "b"}
    agrees(before, edit.merge(front, back), x, rtol=0, atol=0)
    split = model([node("Split", "x", "a b", num_outputs=2), node("Relu", "a", "c"), node("Add", "c b", "y")],
                  [("x", [4])], [("y", [2])], opset=18)
    part = edit.extract(split, ["a", "x"])  # the node that makes `a` is needed for `b`
    onnx.checker.check_model(part, full_check=True)
    np.testing.assert_array_equal(run(part, {"a": np.ones(2, np.float32), "x": np.zeros(4, np.float32)})[0], 1)
    with pytest.raises(Exception, match="no value, node or module 'fc3'; the most similar are"):
        edit.extract(before, "fc3")


def test_rename():
    before = mlp()
    after = edit.rename(before, {"x": "image", "y": "scores"})
    x = f32(2, 48)
    agrees(before, after, {"x": x}, 0, 0, other={"image": x})
    after = edit.rename(after, {"/fc1/*": "first/*"}, kind="node")
    assert after.graph.node[0].name == "first/Gemm"
    after = edit.rename(after, {"n": "batch"}, kind="dim")
    assert after.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    with pytest.raises(ValueError, match="'h' and 'r' would both be called 'r'"):
        edit.rename(before, {"h": "r"})
    with pytest.raises(Exception, match="no dimension 'm'; the most similar are 'n'($| )"):
        edit.rename(before, {"m": "batch"}, kind="dim")
    with pytest.raises(Exception, match="no input 'z'; the most similar are 'x'"):
        edit.rename(before, {"z": "u"}, kind="input")


def test_sizes():
    before = mlp()
    fixed = edit.fix_sizes(before, {"n": 3})
    assert [d.dim_value for d in fixed.graph.output[0].type.tensor_type.shape.dim] == [3, 8]
    agrees(before, fixed, {"x": f32(3, 48)}, 0, 0)
    free = edit.free_sizes(fixed, {"x:0": "batch"})
    agrees(before, free, {"x": f32(5, 48)}, 0, 0)
    assert edit.fix_sizes(before, {"x:0": 3}) == fixed
    with pytest.raises(Exception, match="no size 'm'; the most similar are"):
        edit.fix_sizes(before, {"m": 3})


def dims(info):
    return [d.dim_param or d.dim_value or None for d in info.type.tensor_type.shape.dim]


def test_names_in_expressions_of_sizes():
    """A name is one word of an expression: `n` is not in `n_max`."""
    nodes = [node("Concat", "x x", "y", axis=0), node("Identity", "z", "w")]
    before = model(nodes, [("x", ["n", "n_max"]), ("z", ["n-all", "n2"])],
                   [("y", ["2*n", "n_max"]), ("w", ["n-all", "n2"])])  # fmt: skip
    fixed = edit.fix_sizes(before, {"n": 3})
    assert dims(fixed.graph.input[0]) == [3, "n_max"] and dims(fixed.graph.output[0]) == [6, "n_max"]
    assert dims(fixed.graph.input[1])[1] == dims(fixed.graph.output[1])[1] == "n2"
    named = edit.rename(before, {"n": "batch"}, kind="dim")
    assert dims(named.graph.input[0]) == ["batch", "n_max"] and dims(named.graph.output[0]) == ["2*batch", "n_max"]
    assert dims(named.graph.input[1]) == dims(named.graph.output[1]) == ["n-all", "n2"]


def test_free_size_of_a_baked_number():
    nodes = [node("Reshape", "x s", "a"), node("Relu", "a", "y")]
    before = model(nodes, [("x", [2, 12])], [("y", [2, 3, 4])], {"s": np.array([2, 3, 4])})
    after = edit.free_sizes(before, {"x:0": "n"})
    assert run(after, {"x": f32(5, 12)})[0].shape == (5, 3, 4)
    onnx.checker.check_model(after, full_check=True)
    needs = model([node("Add", "x c", "y")], [("x", [2, 3])], [("y", [2, 3])], {"c": f32(2, 3)})
    with pytest.raises(ValueError, match="node 'Add_y'"):
        edit.free_sizes(needs, {"x:0": "n"})


def test_merge_clashes():
    first = mlp()
    second = model([node("Mul", "x w", "y", name="/fc1/Gemm")], [("x", ["n", 8])], [("y", ["n", 8])], {"w": f32(8)})
    both = edit.merge(first, second, {"y": "x"})
    onnx.checker.check_model(both, full_check=True)
    x = {"x": f32(2, 48)}
    np.testing.assert_array_equal(run(both, x)[0], run(second, {"x": run(first, x)[0]})[0])
    prefixed = edit.merge(first, second, {"y": "x"}, prefix="post/", keep_joined=True)
    assert [o.name for o in prefixed.graph.output] == ["y", "post/y"]
    with pytest.raises(RuntimeError, match="takes"):
        edit.merge(first, model([node("Relu", "x", "z")], [("x", ["n", 9])], [("z", ["n", 9])]), {"y": "x"})
    with pytest.raises(RuntimeError, match="imports opset 17 of 'ai.onnx', model 18"):
        edit.merge(first, model([node("Relu", "x", "z")], [("x", ["n", 8])], [("z", ["n", 8])], opset=18), {"y": "x"})


def test_split_weights(tmp_path):
    before = mlp()
    split = tmp_path / "split.onnx"
    edit.split_weights(before, split, min_size=1100)
    light = onnx.load(split, load_external_data=False)
    assert {i.name for i in light.graph.initializer if i.external_data} == {"w"}
    agrees(before, onnx.load(split), {"x": f32(2, 48)}, 0, 0)
    whole = tmp_path / "whole.onnx"
    edit.split_weights(str(split), whole, join=True)
    assert not (tmp_path / "whole.onnx.data").exists()
    agrees(before, onnx.load(whole), {"x": f32(2, 48)}, 0, 0)


def with_function(slope):
    """y = leaky(x @ w) twice, by a function whose inner values have names of the graph around it."""
    body = [node("MatMul", "a w", "t"), node("LeakyRelu", "t", "o", alpha=slope)]
    nodes = [node("Layer", "x w", "t", domain="mine", name="one"), node("Layer", "t w", "y", domain="mine", name="two")]
    m = model(nodes, [("x", ["n", 4])], [("y", ["n", 4])], {"w": f32(4, 4)})
    m.functions.append(helper.make_function("mine", "Layer", ["a", "w"], ["o"], body, [helper.make_opsetid("", 17)]))
    m.opset_import.append(helper.make_opsetid("mine", 1))
    return m


def test_merge_of_functions_with_one_name():
    first, second = with_function(0.1), with_function(0.5)
    both = edit.merge(first, second, {"y": "x"})
    onnx.checker.check_model(both, full_check=True)
    assert [f.name for f in both.functions] == ["Layer", "Layer_merged_1"]
    x = {"x": f32(2, 4)}
    np.testing.assert_array_equal(run(both, x)[0], run(second, {"x": run(first, x)[0]})[0])


@pytest.mark.skipif(not INGOT.exists(), reason="the command is not built")
def test_values_in_functions_have_names_of_their_own(tmp_path):
    """The check of the part compares t of the graph, not t in a call."""
    onnx.save(with_function(0.1), tmp_path / "m.onnx")
    done = subprocess.run([INGOT, "extract", "m.onnx", "part.onnx", "--to", "t"], cwd=tmp_path, capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 0 and "agrees" in done.stderr, done.stderr


def test_rename_of_sizes_in_bodies_and_inputs():
    info = lambda name, shape, kind=TensorProto.FLOAT: helper.make_tensor_value_info(name, kind, shape)  # noqa: E731
    body = helper.make_graph(
        [node("Relu", "s", "s2"), node("Identity", "c", "c2")], "body",
        [info("i", [], TensorProto.INT64), info("c", [], TensorProto.BOOL), info("s", ["n", 4])],
        [info("c2", [], TensorProto.BOOL), info("s2", ["n", 4])])
    nodes = [node("Loop", "k _ x", "a", body=body), node("Relu", "z", "b")]
    nodes[0].input[1] = ""
    inputs = [("x", ["n", 4]), ("z", ["2*n + 1"]), ("v", ["n-all"])]
    before = model(nodes, inputs, [("a", ["n", 4]), ("b", ["2*n + 1"])], {"k": np.array(2)})
    after = edit.rename(before, {"n": "rows"}, kind="dim")
    inner = after.graph.node[0].attribute[0].g
    assert dims(inner.input[2]) == dims(inner.output[1]) == ["rows", 4]
    assert [dims(i) for i in after.graph.input] == [["rows", 4], ["2*rows + 1"], ["n-all"]]


def test_dtype_where_weights_are_inputs():
    """Up to IR version 3 all of them are; no caller means to give them."""
    before = model([node("Gemm", "x w b", "y", transB=1)], [("x", [2, 4]), ("w", [3, 4]), ("b", [3])], [("y", [2, 3])],
                   {"w": f32(3, 4), "b": f32(3)}, opset=8)
    before.ir_version = 3
    after = edit.convert_dtype(before, ingot.float16, convert_io=True)
    assert {i.data_type for i in after.graph.initializer} == {TensorProto.FLOAT16} and ops(after) == ["Gemm"]
    before.ir_version = 8  # here a caller may
    kept = edit.convert_dtype(before, ingot.float16, convert_io=True)
    onnx.checker.check_model(kept, full_check=True)
    x = f32(2, 4)
    for half in (after, kept):
        np.testing.assert_allclose(run(half, {"x": x.astype(np.float16)})[0], run(before, {"x": x})[0], 1e-2, 1e-2)


def test_dtype_of_sparse_weights():
    before = model([node("MatMul", "x w", "y")], [("x", ["n", 4])], [("y", ["n", 3])])
    values = helper.make_tensor("w", TensorProto.FLOAT, [3], [1.0, 2.0, 3.0])
    before.graph.sparse_initializer.append(
        helper.make_sparse_tensor(values, helper.make_tensor("i", TensorProto.INT64, [3], [0, 5, 10]), [4, 3]))
    after = edit.convert_dtype(before, ingot.float16)
    x = {"x": f32(2, 4)}
    np.testing.assert_allclose(run(after, x)[0], run(before, x)[0], rtol=1e-2, atol=1e-2)
