# SPDX-License-Identifier: Apache-2.0
"""Every recorded call of every operator as a program of its own, written as ONNX: the checker accepts it; onnxruntime
(or the standard's reference, where onnxruntime lacks a type or an opset) and Ingot's own reader give what Ingot gives.
With sizes as they are and with sizes that may vary; at several opsets. What a row refuses must be in
onnx_refused.json, which says why."""
from __future__ import annotations

import functools
import json
import pathlib
import zlib
from typing import Any

import pytest

import ingot

np = pytest.importorskip("numpy")
onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

from recorded_calls import load_records, make_inputs  # noqa: E402

HERE = pathlib.Path(__file__).parent
REFUSED = json.loads((HERE / "onnx_refused.json").read_text())
ROWS = frozenset(ingot._C.onnx_targets())
OPSETS = (13, 15, 17, 18, 20, 22, 28)
# Other numbers each time, or none that anybody set.
RANDOM = ("rand", "bernoulli", "normal", "uniform", "dropout", "empty", "rrelu", "resize_", "multinomial")
# Where one element more along every size makes another problem of it, or the program has a number for a size.
NOT_GROWN = {
    "cov_0": "its decomposition has the number of observations as a number, as PyTorch's has",
    "searchsorted_1": "the sequence is no longer sorted",
    "searchsorted_2": "the sequence is no longer sorted",
    "split_dyn": "one piece more",
    "lstm_cell_0": "gates are a quarter of the rows",
}
TOLERANCE = {"float16": (5e-3, 5e-3), "bfloat16": (3e-2, 3e-2)}


class Call(ingot.nn.Module):
    def __init__(self, fn: Any) -> None:
        super().__init__()
        self.fn = fn

    def forward(self, *args: Any) -> Any:
        return self.fn(*args)


def flat(o: Any) -> list[Any]:
    if isinstance(o, (list, tuple)):
        return [y for v in o for y in flat(v)]
    return [] if o is None or isinstance(o, str) else [o]


def exported(fn: Any, inputs: list[Any], dynamic: bool) -> Any:
    shapes = None
    if dynamic:
        shapes = (tuple({i: ingot.export.Dim.AUTO for i in range(t.dim())} for t in inputs),)
    return ingot.export.export(Call(fn), tuple(inputs), dynamic_shapes=shapes, strict=False)


@functools.lru_cache(maxsize=1)
def settings() -> Any:
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return options


def real(t: Any) -> Any:
    """Complex numbers are pairs of real ones in a file."""
    return ingot.view_as_real(t) if t.is_complex() else t


def run(model: Any, inputs: list[Any]) -> list[Any]:
    feeds = {i.name: real(t.detach()).contiguous().numpy() for i, t in zip(model.graph.input, inputs, strict=True)}
    try:
        session = runtime.InferenceSession(model.SerializeToString(), settings(), providers=["CPUExecutionProvider"])
    except Exception as error:
        known = ("NOT_IMPLEMENTED", "Unsupported model IR version", "opset")
        assert any(word in str(error) for word in known), error
        from onnx.reference import ReferenceEvaluator

        return ReferenceEvaluator(model).run(None, feeds)
    return session.run(None, feeds)


def run_ingot(data: bytes, inputs: list[Any]) -> list[Any]:
    """By Ingot's own reader."""
    found = ingot._C.onnx_parse(data, "model").run([real(t.detach()) for t in inputs])
    return [(t.to(ingot.float32) if t.dtype == ingot.bfloat16 else t).contiguous().numpy() for t in found]


def compare(found: list[Any], wanted: list[Any], values: bool) -> None:
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        b = real((b if isinstance(b, ingot.Tensor) else ingot.tensor(b)).detach())
        rtol, atol = TOLERANCE.get(str(b.dtype).rpartition(".")[2], (1e-3, 1e-5))
        if b.dtype == ingot.bfloat16:
            a, b = np.asarray(a).astype(np.float32), b.to(ingot.float32)
        b = b.contiguous().numpy()
        a = np.asarray(a)
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        if values:
            np.testing.assert_allclose(a.astype(np.float64), b.astype(np.float64), rtol=rtol, atol=atol)


def grown(ep: Any, inputs: list[Any]) -> list[Any]:
    """The inputs with one element more along every size that may vary."""
    found = []
    specs = [s for s in ep._program.input_specs if s[0] == "USER_INPUT"]
    for (_, _, _, _, fake), t in zip(specs, inputs, strict=True):
        for d in range(t.dim()):
            if isinstance(fake.shape[d], ingot.SymInt) and t.shape[d]:
                t = ingot.cat([t, t.narrow(d, 0, 1)], d)
        found.append(t)
    return found


def check_other_sizes(ep: Any, model: Any, inputs: list[Any], values: bool) -> None:
    inputs = grown(ep, inputs)
    try:
        ep._program.check_inputs(tuple(inputs), None)
        wanted = flat(ep.module()(*[t.clone() for t in inputs]))
    except Exception:
        return  # these sizes do not go together
    mutated = len([s for s in ep._program.output_specs if s[0] != "USER_OUTPUT"])
    compare(run(model, inputs)[mutated:], wanted, values)


RECORDS = load_records()


def function(record: dict):  # type: ignore[no-untyped-def]
    scope = {"torch": ingot, "F": ingot.nn.functional}
    exec(record["source"], scope)
    made = scope["f"]
    names = record["source"].partition("(")[2].partition(")")[0]
    return (lambda *args: made(None, *args)) if names.startswith("self") else made


def candidates() -> list[dict]:
    """Records that Ingot runs and captures."""
    return [r for r in RECORDS if "out" in r]


def opset_of(record: dict) -> int:
    """Another opset for each record, always the same."""
    return OPSETS[zlib.crc32(record["name"].encode()) % len(OPSETS)]


@pytest.mark.parametrize("how", ["static", "dynamic"])
@pytest.mark.parametrize("record", candidates(), ids=lambda r: r["name"])
def test_record(record: dict, how: str) -> None:
    fn = function(record)
    try:
        inputs = make_inputs(record, ingot)
        wanted = flat(fn(*[t.clone() for t in inputs]))
        if how == "dynamic" and not any(t.dim() for t in inputs):
            pytest.skip("no sizes")
        ep = exported(fn, inputs, how == "dynamic")
    except pytest.skip.Exception:
        raise
    except Exception as error:
        pytest.skip(f"not captured: {str(error).splitlines()[0][:60]}")
    mutated = [s for s in ep._program.output_specs if s[0] != "USER_OUTPUT"]
    try:
        data = ep._program.write_onnx()
    except NotImplementedError as error:
        # An operator without a row is no surprise; a row that refuses a call must be known to.
        targets = {line.partition(":")[0] for line in str(error).splitlines()}
        assert record["name"] in REFUSED[how] or not targets & ROWS, str(error)
        return
    model = onnx.load_model_from_string(data)
    onnx.checker.check_model(model, full_check=True)
    values = not any(word in record["source"] for word in RANDOM)
    compare(run_ingot(data, inputs)[len(mutated) :], wanted, values)
    if any(t.dtype in (ingot.bfloat16,) for t in inputs):
        return  # numpy has no such type
    compare(run(model, inputs)[len(mutated) :], wanted, values)
    if how == "dynamic" and record["name"] not in NOT_GROWN:
        check_other_sizes(ep, model, inputs, values)
    elif how == "static":
        try:
            model = onnx.load_model_from_string(ep._program.write_onnx(opset=opset_of(record)))
        except NotImplementedError as error:
            assert "opset" in str(error)
            return
        onnx.checker.check_model(model, full_check=True)
        compare(run(model, inputs)[len(mutated) :], wanted, values)


def test_what_is_refused_has_a_reason() -> None:
    assert all(text for how in REFUSED.values() for text in how.values())
    names = {r["name"] for r in RECORDS}
    assert all(name in names for how in REFUSED.values() for name in how)
