# SPDX-License-Identifier: Apache-2.0
"""The ONNX checker: what it says of each fault, and that it refuses whatever onnx.checker refuses."""
import random
import warnings
from collections.abc import Callable

import pytest

import ingot
from ingot.onnx import checker
from ingot.onnx.errors import CheckerError

onnx = pytest.importorskip("onnx")
F = onnx.TensorProto.FLOAT


def model(nodes: list, opset: int = 17, inputs: dict | None = None, outputs: dict | None = None, **graph: object):
    def ports(given: dict) -> list:
        return [onnx.helper.make_tensor_value_info(name, kind, [2, 3]) for name, kind in given.items()]

    body = onnx.helper.make_graph(nodes, "g", ports({"x": F, "y": F} if inputs is None else inputs),
                                  ports(outputs or {"z": F}), **graph)
    return onnx.helper.make_model(body, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=8)


def node(op: str, inputs: list[str], outputs: list[str], **attributes: object):
    return onnx.helper.make_node(op, inputs, outputs, name="n", **attributes)


def changed(change: Callable) -> object:
    m = model([node("Add", ["x", "y"], ["z"])])
    change(m)
    return m


CASES = {
    "fine": (lambda: model([node("Add", ["x", "y"], ["z"])]), None),
    "attribute": (lambda: model([node("Add", ["x", "y"], ["z"], extra=1)], 9),
                  "model: node 'n' (Add): attribute 'extra' is unknown: Add-7 has no such attribute"),
    "attribute type": (lambda: model([node("Concat", ["x", "y"], ["z"], axis=0.5)]),
                       "model: node 'n' (Concat): attribute 'axis' is a float; Concat-13 wants an int"),
    "attribute missing": (lambda: model([node("Concat", ["x", "y"], ["z"])]),
                          "model: node 'n' (Concat): attribute 'axis' (an int) is missing"),
    "operator": (lambda: model([node("Addd", ["x", "y"], ["z"])]),
                 "model: node 'n' (Addd): 'ai.onnx' has no operator Addd (opset 17)"),
    "too early": (lambda: model([node("Gelu", ["x"], ["z"])]),
                  "model: node 'n' (Gelu): Gelu exists from opset 20 of 'ai.onnx' on; the model imports 17"),
    "deprecated": (lambda: model([node("Scatter", ["x", "i", "y"], ["z"])], inputs={"x": F, "y": F, "i": 7}),
                   "model: node 'n' (Scatter): Scatter is deprecated since opset 11; the model imports 17"),
    "inputs": (lambda: model([node("Add", ["x"], ["z"])]), "model: node 'n' (Add): 1 inputs; at least 2 needed"),
    "outputs": (lambda: model([node("Add", ["x", "y"], ["z", "w"])]),
                "model: node 'n' (Add): 2 outputs; at most 1 allowed"),
    "empty input": (lambda: model([node("Add", ["x", ""], ["z"])]),
                    "model: node 'n' (Add): input 1 ('B') is required and has no name"),
    "types differ": (lambda: model([node("Add", ["x", "y"], ["z"])], inputs={"x": F, "y": onnx.TensorProto.INT64}),
                     "model: node 'n' (Add): input 'x' is tensor(float) and input 'y' is tensor(int64); "
                     "they must be of one type (T)"),
    "type asked for": (lambda: model([node("RandomNormal", [], ["z"], shape=[2, 3], dtype=6)]),
                       "model: node 'n' (RandomNormal): attribute 'dtype' is int32, "
                       "which RandomNormal-1 does not give"),
    "type": (lambda: model([node("Not", ["x"], ["z"])]),
             "model: 2 problems:\nnode 'n' (Not): input 'x' ('X') is tensor(float), which Not-1 does not take\n"
             "graph 'g': output 'z' is declared float and computed as bool"),
    "domain": (lambda: model([onnx.helper.make_node("F", ["x"], ["z"], domain="com.example", name="n")]),
               "model: node 'n' (F): domain 'com.example' is used and not imported"),
    "ir": (lambda: changed(lambda m: setattr(m, "ir_version", 0)), ...),
    "new ir": (lambda: changed(lambda m: setattr(m, "ir_version", 99)),
               "model: ir_version 99 is not known: 14 is the newest"),
    "new opset": (lambda: changed(lambda m: setattr(m.opset_import[0], "version", 99)),
                  "model: opset 99 of 'ai.onnx' is not known: 28 is the newest"),
    "no opset": (lambda: changed(lambda m: m.ClearField("opset_import")),
                 "model: 2 problems:\nno operator set is imported\n"
                 "node 'n' (Add): domain 'ai.onnx' is used and not imported"),
    "graph name": (lambda: changed(lambda m: m.graph.ClearField("name")), "model: a graph has no name"),
    "order": (lambda: model([node("Add", ["w", "y"], ["z"]), onnx.helper.make_node("Neg", ["x"], ["w"])]), ...),
    "twice": (lambda: model([node("Add", ["x", "y"], ["z"]), onnx.helper.make_node("Neg", ["x"], ["z"])]), ...),
}


@pytest.mark.parametrize("name", CASES)
def test_texts(name: str) -> None:
    make, text = CASES[name]
    if text is None:
        checker.check_model(make())
        return
    with pytest.raises(CheckerError) as caught:
        checker.check_model(make())
    if text is not ...:  # the parser's own refusals have their texts tested with the parser
        assert str(caught.value) == text


def test_torch_name() -> None:
    fine = model([node("Add", ["x", "y"], ["z"])])
    ingot._C._check_onnx_proto(fine.SerializeToString())
    with pytest.raises(RuntimeError):
        ingot._C._check_onnx_proto(b"")
    with pytest.raises(RuntimeError, match="malformed|ends|length|model"):
        ingot._C._check_onnx_proto(fine.SerializeToString()[:-3])


def mutate(r: random.Random, m) -> None:  # type: ignore[no-untyped-def]
    n = r.choice(m.graph.node)
    kind = r.randrange(12)
    if kind == 0 and n.attribute:
        n.attribute.remove(r.choice(n.attribute))
    elif kind == 1:
        n.attribute.append(onnx.helper.make_attribute("another", 1))
    elif kind == 2 and n.attribute:
        name = r.choice(n.attribute).name
        n.attribute.remove(next(a for a in n.attribute if a.name == name))
        n.attribute.append(onnx.helper.make_attribute(name, [1.5, 2.5]))
    elif kind == 3:
        n.op_type += "X"
    elif kind == 4 and n.input:
        n.input.pop()
    elif kind == 5:
        n.input.append(n.input[0] if n.input else "")
    elif kind == 6:
        n.output.append("another")
    elif kind == 7:
        m.opset_import[0].version = r.choice([1, 5, 7, 9, 11, 13])
    elif kind == 8:
        m.ir_version = r.choice([0, 1, 3, 99])
    elif kind == 9:
        m.graph.name = ""
    elif kind == 10 and n.input:
        n.input[r.randrange(len(n.input))] = ""
    elif n.input:
        n.input[0] = "nowhere"


def test_refuses_what_onnx_refuses() -> None:
    """Models of the standard's own tests pass; of damaged ones, all that onnx.checker refuses are refused."""
    from onnx.backend.test.case.node import collect_testcases

    warnings.simplefilter("ignore")
    r = random.Random(7)
    ops = ("BatchNormalization", "Clip", "Concat", "If", "Loop", "Slice")
    cases = [t.model for t in collect_testcases(None) if t.model.graph.node[0].op_type in ops]
    for m in cases:
        ingot._C._check_onnx_proto(m.SerializeToString())
    refused = 0
    for _ in range(400):
        m = onnx.ModelProto()
        m.CopyFrom(r.choice(cases))
        mutate(r, m)
        data = m.SerializeToString()
        try:
            onnx.checker.check_model(data)
        except Exception:
            refused += 1
            with pytest.raises(RuntimeError):
                ingot._C._check_onnx_proto(data)
    assert refused > 200
