# SPDX-License-Identifier: Apache-2.0
"""Shape inference of ONNX models: what is inferred holds for all sizes, and unknown values do not stop it."""
import random

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
backend = pytest.importorskip("ingot.onnx.backend")
shape_inference = pytest.importorskip("ingot.onnx.shape_inference")
F, I64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64


def model(nodes: list, inputs: dict, outputs: list[str], constants: dict | None = None):
    ports = [onnx.helper.make_tensor_value_info(name, kind, dims) for name, (kind, dims) in inputs.items()]
    results = [onnx.helper.make_value_info(name, onnx.TypeProto()) for name in outputs]
    weights = [onnx.numpy_helper.from_array(np.array(value), name) for name, value in (constants or {}).items()]
    graph = onnx.helper.make_graph(nodes, "g", ports, results, weights)
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)


def shapes(m) -> dict:  # type: ignore[no-untyped-def]
    out = {}
    for value in [*m.graph.value_info, *m.graph.output]:
        t = value.type.tensor_type
        dims = None
        if t.HasField("shape"):
            dims = [d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in t.shape.dim]
        out[value.name] = (t.elem_type, dims)
    return out


def node(op: str, inputs: str, outputs: str, **attributes: object):
    return onnx.helper.make_node(op, inputs.split(), outputs.split(), **attributes)


CASES = {
    "named": ([node("Relu", "x", "y")], {"x": (F, ["n", 4])}, {"y": (F, ["n", 4])}, {}),
    "product": ([node("MatMul", "x w", "y")], {"x": (F, ["n", "t", 8])}, {"y": (F, ["n", "t", 3])},
                {"w": np.zeros((8, 3), np.float32)}),
    "expression": ([node("Concat", "x x", "y", axis=0)], {"x": (F, ["n", 4])}, {"y": (F, ["2*n", 4])}, {}),
    "shape chain": ([node("Shape", "x", "s"), node("Gather", "s i", "d"), node("Concat", "d m", "t", axis=0),
                     node("Reshape", "x t", "y")], {"x": (F, ["n", 4, 5])},
                    {"s": (I64, [3]), "d": (I64, [1]), "t": (I64, [2]), "y": (F, ["n", 20])},
                    {"i": np.array([0]), "m": np.array([20])}),
    "halved": ([node("Shape", "x", "s"), node("Gather", "s i", "d"), node("Div", "d two", "h"),
                node("ConstantOfShape", "h", "y")], {"x": (F, ["n"])}, {"y": (F, ["(n//2)"])},
               {"i": np.array([0]), "two": np.array([2])}),
    "unnamed": ([node("Neg", "x", "y")], {"x": (F, [None, 4])}, {"y": (F, [None, 4])}, {}),
    "no rank": ([node("Neg", "x", "y"), node("Add", "y y", "z")], {"x": (F, None)},
                {"y": (F, None), "z": (F, None)}, {}),
    "two names": ([node("Add", "x z", "y"), node("Relu", "x", "r")], {"x": (F, ["n"]), "z": (F, ["m"])},
                  {"y": (F, [None]), "r": (F, ["n"])}, {}),
    "clamped slice": ([node("Slice", "x a b", "y")], {"x": (F, ["n", 9])}, {"y": (F, None)},
                      {"a": np.array([0]), "b": np.array([5])}),
    "data": ([node("NonZero", "x", "y"), node("Cast", "y", "z", to=F)], {"x": (F, ["n", 4])},
             {"y": (I64, [2, None]), "z": (F, [2, None])}, {}),
    "unknown operator": ([onnx.helper.make_node("Strange", ["x"], ["y"], domain="com.example"), node("Abs", "y", "z"),
                          node("Abs", "x", "r")], {"x": (F, ["n"])}, {"r": (F, ["n"])}, {}),
    "wrong": ([node("MatMul", "x x", "y"), node("Abs", "x", "r")], {"x": (F, [3, 4])}, {"r": (F, [3, 4])}, {}),
}


@pytest.mark.parametrize("name", CASES)
def test_cases(name: str) -> None:
    nodes, inputs, want, constants = CASES[name]
    m = model(nodes, inputs, list(want), constants)
    got = shapes(shape_inference.infer_shapes(m))
    for value, (elem, dims) in want.items():
        assert got[value][0] == elem, value
        if name == "clamped slice":  # either nothing, or an expression that clamps
            assert got[value][1] is None or got[value][1][0] != 5
        else:
            assert got[value][1] == dims, value


def test_declared_counts() -> None:
    m = model([node("NonZero", "x", "y"), node("Abs", "x", "z")], {"x": (F, ["n"])}, ["z"])
    m.graph.value_info.append(onnx.helper.make_tensor_value_info("y", I64, [1, "found"]))
    got = shapes(shape_inference.infer_shapes(m))
    assert got["y"] == (I64, [1, "found"]) and got["z"] == (F, ["n"])


def test_bytes_and_errors() -> None:
    m = model([node("Abs", "x", "z")], {"x": (F, ["n"])}, ["z"])
    data = m.SerializeToString()
    again = onnx.ModelProto.FromString(shape_inference.infer_shapes(data))
    assert shapes(again)["z"] == (F, ["n"]) and again.graph.node == m.graph.node
    with pytest.raises(RuntimeError):
        shape_inference.infer_shapes(data[:-2])


def test_holds_for_every_size() -> None:
    """Random chains of operators on random sizes: what is inferred for names agrees with what runs."""
    r = random.Random(3)
    for _ in range(60):
        nodes, value, rank = [], "x", 2
        for k in range(r.randrange(1, 6)):
            kind = r.randrange(5)
            out = f"v{k}"
            if kind == 0:
                nodes.append(node("Concat", f"{value} {value}", out, axis=r.randrange(rank)))
            elif kind == 1:
                nodes.append(node("Transpose", value, out, perm=r.sample(range(rank), rank)))
            elif kind == 2:
                nodes.append(node("Unsqueeze", f"{value} zero", out))
                rank += 1
            elif kind == 3:
                nodes.append(node("Flatten", value, out, axis=r.randrange(rank + 1)))
                rank = 2
            else:
                nodes.append(node("Add", f"{value} one", out))
            value = out
        m = model(nodes, {"x": (F, ["n", "m"])}, [value], {"zero": np.array([0]), "one": np.float32(1)})
        dims = shapes(shape_inference.infer_shapes(m))[value][1]
        assert dims is not None and None not in dims, m
        run = backend.prepare(m)
        for n, k in ((1, 1), (2, 7), (5, 3)):
            found = np.asarray(run.run([np.zeros((n, k), np.float32)])[0]).shape
            assert [eval(str(d), {"n": n, "m": k}) for d in dims] == list(found)  # noqa: S307
