# SPDX-License-Identifier: Apache-2.0
"""The standard's own node tests, run by Ingot's backend; and ONNX models that were written by PyTorch.

`onnx_backend_known.json` lists what does not pass, with the reason: whatever else fails is an error, and so is an entry
that passes after all.
"""
from __future__ import annotations

import json
import os
import pathlib
import warnings

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    loader = pytest.importorskip("onnx.backend.test.loader")
    from onnx.backend.test.runner import Runner

import ingot  # noqa: E402
import ingot.onnx.backend as backend  # noqa: E402

HERE = pathlib.Path(__file__).parent
GOLDENS = HERE.parent.parent.parent / "shared" / "goldens"


def known() -> dict[str, str]:
    lists = json.loads((HERE / "onnx_backend_known.json").read_text(encoding="utf-8"))
    old = tuple(int(x) for x in onnx.__version__.split(".")[:2]) < (1, 18)
    return {**lists["every version"], **lists["1.17" if old else "1.18 and later"]}


def arrays(item: object, kind: onnx.TypeProto | None = None) -> object:
    if isinstance(item, onnx.TensorProto):
        return onnx.numpy_helper.to_array(item)
    if isinstance(item, (str, os.PathLike)):
        data = pathlib.Path(item).read_bytes()
        if kind.HasField("sequence_type"):
            return onnx.numpy_helper.to_list(onnx.SequenceProto.FromString(data))
        if kind.HasField("optional_type"):
            return onnx.numpy_helper.to_optional(onnx.OptionalProto.FromString(data))
        return onnx.numpy_helper.to_array(onnx.TensorProto.FromString(data))
    return item


def data_sets(case: object, model: onnx.ModelProto) -> list[tuple[list[object], list[object]]]:
    if case.data_sets:  # new versions keep them in memory
        return [([arrays(x) for x in i], [arrays(x) for x in o]) for i, o in case.data_sets]
    found = []
    for folder in sorted(pathlib.Path(case.model_dir).glob("test_data_set*")):
        ins = [arrays(folder / f"input_{k}.pb", v.type) for k, v in enumerate(model.graph.input)
               if (folder / f"input_{k}.pb").exists()]
        outs = [arrays(folder / f"output_{k}.pb", v.type) for k, v in enumerate(model.graph.output)
                if (folder / f"output_{k}.pb").exists()]
        found.append((ins, outs))
    return found


def run(case: object) -> str:
    """"" if the case passes, otherwise what went wrong."""
    model = case.model if case.model is not None else onnx.load(os.path.join(case.model_dir, "model.onnx"))
    try:
        prepared = backend.prepare(model)
        for inputs, expected in data_sets(case, model):
            found = list(prepared.run(inputs))
            Runner.assert_similar_outputs(expected, found, rtol=case.rtol, atol=case.atol)
    except Exception as e:  # every way to fail is counted
        return f"{type(e).__name__}: {e}"
    return ""


def test_node_tests() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = loader.load_model_tests(kind="node")
        failed = {c.name: why for c in cases if (why := run(c))}
    listed = known()
    fresh = {name: why[:300] for name, why in failed.items() if name not in listed}
    assert not fresh
    random = {name for name, why in listed.items() if why.startswith("random")}
    names = {c.name for c in cases}
    stale = [name for name in listed if name in names and name not in failed and name not in random]
    assert not stale, "these pass: take them off the list"
    assert len(cases) > 1000
    assert len(failed) <= 0.03 * len(cases)


def test_backend_refuses_other_devices() -> None:
    node = onnx.helper.make_node("Relu", ["x"], ["y"])
    assert backend.supports_device("CPU")
    assert not backend.supports_device("CUDA")
    (y,) = backend.run_node(node, [np.array([-1.0, 2.0], np.float32)])
    assert y.tolist() == [0.0, 2.0]
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "g", [], []))
    with pytest.raises(ValueError, match="CUDA"):
        backend.prepare(model, "CUDA")


def same(found: object, expected: np.ndarray) -> None:
    array = backend._to_array(found)
    if array.dtype.name == "bfloat16":  # kept as bits in .npz
        array = array.view(np.uint16)
    np.testing.assert_allclose(array, expected, rtol=1e-3, atol=1e-4)


def golden_files() -> list[pathlib.Path]:
    own = sorted((HERE / "onnx_models").glob("*.onnx"))
    return own + (sorted(GOLDENS.glob("*/*.onnx")) if GOLDENS.is_dir() else [])


@pytest.mark.parametrize("way", ["run", "program"])
def test_models_of_pytorch(way: str) -> None:
    """Every model agrees with what PyTorch computed, as it stands and as a program, on all recorded inputs."""
    files = golden_files()
    assert len(files) >= 6
    for path in files:
        model = ingot._C.onnx_open(str(path))
        program = model.program() if way == "program" else None
        base = path.name.split(".")[0]
        for record in (path.parent / f"{base}.io.npz", path.parent / f"{base}.io2.npz"):
            if not record.exists():
                continue
            z = np.load(record)
            ins = [z[k] for k in z.files if k.startswith("arg")]
            values = [backend._to_value(a, elem) for a, (_, elem, _) in zip(ins, model.inputs, strict=True)]
            found = model.run(values) if way == "run" else program(*values)
            found = list(found) if isinstance(found, (list, tuple)) else [found]
            for k, key in enumerate(k for k in z.files if k.startswith("out")):
                same(found[k], z[key])


def test_named_dimensions_are_symbolic() -> None:
    x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["batch", 4])
    out = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    nodes = [
        onnx.helper.make_node("Shape", ["x"], ["shape"]),
        onnx.helper.make_node("Gather", ["shape", "zero"], ["batch"]),
        onnx.helper.make_node("Mul", ["batch", "four"], ["all"]),
        onnx.helper.make_node("Reshape", ["x", "all"], ["y"]),
    ]
    zero = onnx.helper.make_tensor("zero", onnx.TensorProto.INT64, [1], [0])
    four = onnx.helper.make_tensor("four", onnx.TensorProto.INT64, [1], [4])
    graph = onnx.helper.make_graph(nodes, "g", [x], [out], [zero, four])
    data = onnx.helper.make_model(graph).SerializeToString()
    program = ingot._C.onnx_parse(data, "m").program()
    for n in (3, 7):  # neither is the size that the capture used
        (y,) = program(ingot.ones(n, 4))
        assert y.shape == (4 * n,)


def test_errors_name_the_node() -> None:
    node = onnx.helper.make_node("Conv", ["x", "w"], ["y"], name="stem", strides=[0, 1])
    with pytest.raises(ValueError, match=r"node 'stem' \(Conv\): attribute 'strides': found 0, expected 1 to"):
        backend.run_node(node, [np.zeros((1, 1, 4, 4), np.float32), np.zeros((1, 1, 3, 3), np.float32)])
    node = onnx.helper.make_node("NoSuchThing", ["x"], ["y"])
    with pytest.raises(NotImplementedError, match="there is no operator 'NoSuchThing' in domain 'ai.onnx'"):
        backend.run_node(node, [np.zeros(1, np.float32)])


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("how", ["half_pixel", "output_half_pixel"])
def test_roi_align_is_a_program(mode: str, how: str) -> None:
    """With a sampling ratio, for images and boxes of any number and size."""
    make = onnx.helper
    node = make.make_node("RoiAlign", ["x", "boxes", "batch"], ["y"], output_height=3, output_width=2, sampling_ratio=2,
                          spatial_scale=0.5, mode=mode, coordinate_transformation_mode=how)
    ports = [make.make_tensor_value_info("x", 1, ["n", 4, "h", "w"]), make.make_tensor_value_info("boxes", 1, ["k", 4]),
             make.make_tensor_value_info("batch", 7, ["k"])]
    graph = make.make_graph([node], "g", ports, [make.make_tensor_value_info("y", 1, ["k", 4, 3, 2])])
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 16)], ir_version=8)
    program = ingot._C.onnx_parse(model.SerializeToString(), "m").program()
    numbers = np.random.default_rng(0)
    for boxes, height, width in ((5, 8, 9), (3, 12, 7)):
        x = numbers.standard_normal((2, 4, height, width)).astype(np.float32)
        corners = (numbers.random((boxes, 4)) * 30 - 5).astype(np.float32)  # some outside, some inside out
        batch = numbers.integers(0, 2, boxes)
        (y,) = program(*(ingot.from_numpy(a) for a in (x, corners, batch)))
        np.testing.assert_allclose(y.numpy(), backend.run_model(model, [x, corners, batch])[0], rtol=1e-3, atol=1e-4)


def test_large_numbers_without_a_sign_are_in_order() -> None:
    """uint64 beyond what int64 holds: compared, sorted, and the largest found."""
    a = np.array([1, 2**63, 2**64 - 1, 5], dtype=np.uint64)
    b = np.array([2**63 + 5, 2**63, 7, 5], dtype=np.uint64)
    pairs = {"Less": np.less, "GreaterOrEqual": np.greater_equal, "Equal": np.equal, "Max": np.maximum,
             "Min": np.minimum}
    for op_type, expected in pairs.items():
        (found,) = backend.run_node(onnx.helper.make_node(op_type, ["a", "b"], ["c"]), [a, b], opset=18)
        np.testing.assert_array_equal(found, expected(a, b), err_msg=op_type)
    single = {"ReduceMax": [2**64 - 1], "ReduceMin": [1], "ArgMax": [2], "ArgMin": [0]}
    for op_type, expected in single.items():
        (found,) = backend.run_node(onnx.helper.make_node(op_type, ["a"], ["c"]), [a], opset=18)
        assert found.tolist() == expected, op_type
    node = onnx.helper.make_node("TopK", ["a", "k"], ["v", "i"])
    values, places = backend.run_node(node, [a, np.array([2])], opset=18)
    assert (values.tolist(), places.tolist()) == ([2**64 - 1, 2**63], [2, 1])
    c = np.array([3, 2**63 + 1, 2**64 - 1, 2], dtype=np.uint64)
    divided = {"Div": np.floor_divide, "Mod": np.remainder}
    for op_type, expected in divided.items():
        for left, right in ((a, c), (c, b), (b, np.uint64(1) << np.arange(60, 64, dtype=np.uint64))):
            (found,) = backend.run_node(onnx.helper.make_node(op_type, ["a", "b"], ["c"]), [left, right], opset=18)
            np.testing.assert_array_equal(found, expected(left, right), err_msg=op_type)
    by = np.array([0, 1, 63, 2], dtype=np.uint64)
    shift = onnx.helper.make_node("BitShift", ["a", "b"], ["c"], direction="RIGHT")
    (found,) = backend.run_node(shift, [b, by], opset=18)
    np.testing.assert_array_equal(found, b >> by)
    for op_type, expected in {"Sign": np.ones(4, np.uint64), "Abs": a}.items():
        (found,) = backend.run_node(onnx.helper.make_node(op_type, ["a"], ["c"]), [a], opset=18)
        np.testing.assert_array_equal(found, expected, err_msg=op_type)


def test_ends_of_slices_and_empty_axes() -> None:
    """Backwards from before the first element there is the first; sums over nothing have no first element."""
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    node = onnx.helper.make_node("Slice", ["x", "s", "e", "a", "t"], ["y"])
    ends = [np.array([v]) for v in (-9, -(2**31), 1, -1)]
    (y,) = backend.run_node(node, [x, *ends], opset=18)
    np.testing.assert_array_equal(y, x[:, :1])
    node = onnx.helper.make_node("CumSum", ["x", "a"], ["y"], exclusive=1)
    (y,) = backend.run_node(node, [np.zeros((2, 0), np.float32), np.array(1)], opset=18)
    assert y.shape == (2, 0)
    (y,) = backend.run_node(onnx.helper.make_node("Hardmax", ["x"], ["y"]), [np.zeros((2, 0), np.float32)], opset=18)
    assert y.shape == (2, 0)


def test_pads_are_lower_than_any_integer() -> None:
    node = onnx.helper.make_node("MaxPool", ["x"], ["y", "i"], kernel_shape=[2, 2], auto_pad="SAME_LOWER")
    y, places = backend.run_node(node, [np.zeros((1, 1, 2, 2), np.uint8)], opset=18)
    assert not y.any() and places.tolist() == [[[[0, 0], [0, 0]]]]


def test_programs_of_many_free_sizes_need_no_memory() -> None:
    """The examples of a capture are sizes only: five that vary make no tensor of their product."""
    make = onnx.helper
    node = make.make_node("GlobalAveragePool", ["x"], ["y"])
    port = make.make_tensor_value_info("x", 1, list("nctwh"))
    graph = make.make_graph([node], "g", [port], [make.make_tensor_value_info("y", 1, [None] * 5)])
    program = ingot._C.onnx_parse(make.make_model(graph).SerializeToString(), "m").program()
    (y,) = program(ingot.ones(2, 3, 4, 5, 6))
    assert y.shape == (2, 3, 1, 1, 1)
