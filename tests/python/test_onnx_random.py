# SPDX-License-Identifier: Apache-2.0
"""Random small models (onnx_random.py): Ingot against onnxruntime, its checker against onnx.checker, its shapes against
those of the onnx package and of the run. INGOT_RANDOM_MODELS=20000 tries as many instead of a few hundred."""
from __future__ import annotations

import os
import random
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
reference = pytest.importorskip("onnx.reference")
runtime = pytest.importorskip("onnxruntime")

import ingot  # noqa: E402
import onnx_random  # noqa: E402
from ingot.onnx import backend, checker, shape_inference, version_converter  # noqa: E402

COUNT = int(os.environ.get("INGOT_RANDOM_MODELS", "400"))


def models() -> Iterator[tuple[int, onnx_random.Model]]:
    warnings.simplefilter("ignore")
    for seed in range(COUNT):
        yield seed, onnx_random.model(seed)


RUNTIME_OPSET = 25  # the newest that onnxruntime has all kernels for


def ran(proto: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> list[Any]:
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    session = runtime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def judged(m: onnx_random.Model) -> list[Any] | None:
    """What onnxruntime computes, of newer opsets after the conversion to an older one; or the onnx package, whose
    reference has errors of its own (it joins what a Loop collects). None: none can."""
    judges = [lambda: ran(m.proto, m.feeds),
              lambda: ran(version_converter.convert_version(m.proto, RUNTIME_OPSET), m.feeds),
              lambda: reference.ReferenceEvaluator(m.proto).run(None, m.feeds)]
    for judge in judges:
        try:
            return judge()
        except Exception:  # noqa: S112  # kernels are missing for many types
            continue
    return None


def differs(found: Any, expected: Any) -> str | None:
    if isinstance(expected, list):
        pairs = zip(found, expected, strict=True)
        return next((text for a, b in pairs if (text := differs(a, b))), None)
    a, b = np.asarray(found), np.asarray(expected)
    if a.dtype != b.dtype or a.shape != b.shape:
        return f"{a.dtype} {a.shape}, expected {b.dtype} {b.shape}"
    if a.dtype.kind != "f":
        return None if np.array_equal(a, b) else f"{a.tolist()}, expected {b.tolist()}"
    rtol = 2e-2 if a.dtype == np.float16 else 1e-3
    with np.errstate(all="ignore"):
        near = np.allclose(a.astype("f8"), b.astype("f8"), rtol=rtol, atol=rtol / 10, equal_nan=True)
    return None if near else f"{a.tolist()}, expected {b.tolist()}"


def wrong(found: Any, expected: Any) -> str | None:
    return next((f"output {i}: {text}" for i, (a, b) in enumerate(zip(found, expected, strict=True))
                 if (text := differs(a, b))), None)


def test_values() -> None:
    bad, compared = {}, 0
    for seed, m in models():
        expected = judged(m)
        found = list(backend.run_model(m.proto, m.feeds))
        if expected is not None:
            compared += 1
            if text := wrong(found, expected):
                bad[seed] = (m.proto.graph.node[0].op_type, text)
    assert not bad
    assert compared > 0.95 * COUNT


def test_programs_and_other_opsets() -> None:
    """What becomes a program, or a model at another opset, gives the same."""
    bad, captured, converted = {}, 0, 0
    for seed, m in models():
        name = m.proto.graph.node[0].op_type
        expected = list(backend.run_model(m.proto, m.feeds))
        model = ingot._C.onnx_parse(m.proto.SerializeToString(), "m")
        try:
            out = model.program()(*(backend._to_value(m.feeds[port], 0) for port, _, _ in model.inputs))
            captured += 1
        except (NotImplementedError, RuntimeError):  # a data-dependent number
            out = None
        if out is not None:
            out = [backend._to_array(v) for v in (out if isinstance(out, (list, tuple)) else [out])]
            if text := wrong(out, expected):
                bad[seed, "program"] = (name, text)
        opset = random.Random(seed).choice([8, 11, 13, 15, 17, 18, 20, 21, 23, 25, onnx_random.NEWEST])
        try:
            other = version_converter.convert_version(m.proto, opset)
        except version_converter.ConversionError:
            continue
        converted += 1
        if text := wrong(list(backend.run_model(other, m.feeds)), expected):
            bad[seed, opset] = (name, text)
    assert not bad
    assert captured > 0.9 * COUNT and converted > 0.8 * COUNT


def shapes(m: onnx.ModelProto) -> dict[str, list | None]:
    out = {}
    for value in m.graph.output:
        if value.type.HasField("tensor_type"):
            t = value.type.tensor_type
            dims = [d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in t.shape.dim]
            out[value.name] = dims if t.HasField("shape") else None
    return out


FUNCTIONS = {"Max": max, "Min": min, "Mod": lambda a, b: a % b}


@pytest.mark.parametrize("names", [False, True])
def test_inferred_shapes(names: bool) -> None:
    """What is inferred is what comes out; and there are few sizes that the onnx package knows and Ingot does not."""
    bad, less, all_sizes = {}, [], 0
    for seed, m in models():
        sizes = onnx_random.named(seed, m.proto) if names else {}
        found = backend.run_model(m.proto, m.feeds)
        mine = shapes(shape_inference.infer_shapes(m.proto))
        theirs = shapes(onnx.shape_inference.infer_shapes(m.proto, data_prop=True))
        for value, array in zip(m.proto.graph.output, found, strict=True):
            dims = mine.get(value.name)
            known = theirs.get(value.name)
            if isinstance(array, list) or dims is None:
                continue
            told = [eval(str(d), FUNCTIONS | sizes) if d is not None else n  # noqa: S307
                    for d, n in zip(dims, array.shape, strict=False)]
            if len(dims) != array.ndim or told != list(array.shape):
                bad[seed] = (m.proto.graph.node[0].op_type, dims, array.shape)
            all_sizes += len(dims)
            less += [m.proto.graph.node[0].op_type for d, k in zip(dims, known or [], strict=False)
                     if d is None and k is not None and not str(k).startswith("unk__")]
    assert not bad
    assert len(less) < (0.1 if names else 0.03) * all_sizes, less


def refused(check: Any, data: bytes, *full: bool) -> str | None:
    try:
        check(data, *full)
    except Exception as error:
        return str(error)
    return None


def test_damaged_models() -> None:
    """What onnx.checker refuses is refused; what it takes is refused only by rules that docs/onnx.md tells."""
    stricter = ("is imported twice", "is unknown", "is not an element type", "is not known", "stands in none",
                "which nothing defines", "computed as", "functions need IR version 8",
                "does not take", "must be of one type", "bytes, expected", "outputs need")
    missed, more, counts = {}, {}, [0, 0]
    for seed, m in models():
        damage = random.Random(seed)
        for _ in range(2):
            broken = onnx.ModelProto()
            broken.CopyFrom(m.proto)
            onnx_random.damage(damage, broken)
            data = broken.SerializeToString()
            theirs, mine = refused(onnx.checker.check_model, data), refused(ingot._C._check_onnx_proto, data)
            counts[theirs is None] += 1
            if theirs and not mine:
                missed[seed] = theirs
            if not theirs and mine and not any(text in mine for text in stricter):
                more[seed] = mine
    assert not missed
    assert not more
    assert min(counts) > 0.2 * COUNT


def test_shapes_are_checked_when_asked() -> None:
    """full_check: no sound model is refused, operands that do not fit and sizes declared wrong are."""
    for seed, m in models():
        text = refused(ingot._C._check_onnx_proto, m.proto.SerializeToString(), True)
        if text:
            assert refused(onnx.checker.check_model, m.proto, True), (seed, text)
    make = onnx.helper
    port = make.make_tensor_value_info
    add = make.make_node("Add", ["x", "y"], ["z"], name="n")
    cases = {
        "model: node 'n' (Add): Attempting to broadcast a dimension of length 2 at -1! Mismatching argument at index 1 "
        "had torch.Size([2]); but expected shape should be broadcastable to [3]": ([3], [2], [3]),
        "model: graph 'g': 'z': size 0 is declared 4 and computed as 3": ([3], [3], [4]),
        "model: graph 'g': 'z' is declared with 2 dimensions and has 1": ([3], [3], [3, 1]),
    }
    for text, dims in cases.items():
        ports = [port(name, 1, shape) for name, shape in zip("xyz", dims, strict=True)]
        model = make.make_model(make.make_graph([add], "g", ports[:2], ports[2:]),
                                opset_imports=[make.make_opsetid("", 17)], ir_version=8)
        checker.check_model(model)
        with pytest.raises(checker.CheckerError) as caught:
            checker.check_model(model, full_check=True)
        assert str(caught.value) == text
