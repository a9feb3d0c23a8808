# SPDX-License-Identifier: Apache-2.0
"""Translations in Python that call others: symbolic_opsetN, symbolic_helper, the registry; as libraries write them."""

import importlib
import io
import warnings

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

import ingot as torch  # noqa: E402
from ingot import nn  # noqa: E402
from ingot.onnx import symbolic_helper as helper  # noqa: E402
from ingot.onnx import symbolic_opset9, symbolic_opset11, utils  # noqa: E402
from ingot.onnx._internal.registration import OverrideDict, registry  # noqa: E402


class Call(nn.Module):
    """A call of an operator that has no translation of its own at the opsets of the tests."""

    def forward(self, *args):
        return torch.special.i1(args[0]), *args[1:]


def export(symbolic, args, name="aten::special_i1", opset=13, **options):
    sink = io.BytesIO()
    torch.onnx.register_custom_op_symbolic(name, symbolic, 9)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(Call(), args, sink, opset_version=opset, dynamo=False, **options)
    finally:
        torch.onnx.unregister_custom_op_symbolic(name, 9)
    return onnx.load_from_string(sink.getvalue())


def run(proto, *arrays):
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, dict(zip([i.name for i in session.get_inputs()], arrays, strict=False)))[0]


def types(proto):
    return [n.op_type for n in proto.graph.node]


X = torch.tensor([[0.5, -1.0, 2.0], [3.0, 0.25, -0.5]])
CALLS = [
    ("relu", (), torch.relu),
    ("add", (2.0, 1), lambda x: x + 2),
    ("clamp", (0.0, 1.0), lambda x: x.clamp(0, 1)),
    ("softmax", (1, None), lambda x: x.softmax(1)),
    ("mean", ([1], True, None), lambda x: x.mean(1, True)),
    ("sum", ([0], False, None), lambda x: x.sum(0)),
    ("transpose", (0, 1), lambda x: x.transpose(0, 1)),
    ("permute", ([1, 0],), lambda x: x.permute(1, 0)),
    ("unsqueeze", (0,), lambda x: x.unsqueeze(0)),
    ("slice", (1, 0, 2, 1), lambda x: x[:, :2]),
    ("select", (0, 1), lambda x: x[1]),
    ("reshape", ([3, 2],), lambda x: x.reshape(3, 2)),
    ("flatten", (0, 1), lambda x: x.flatten()),
    ("to", (6, False, False, None), lambda x: x.float()),
    ("sigmoid", (), torch.sigmoid),
    ("gelu", ("none",), nn.functional.gelu),
    ("leaky_relu", (0.2,), lambda x: nn.functional.leaky_relu(x, 0.2)),
    ("constant_pad_nd", ([1, 1], 0.5), lambda x: nn.functional.pad(x, (1, 1), value=0.5)),
    ("repeat", ([2, 1],), lambda x: x.repeat(2, 1)),
    ("expand", ([4, 2, 3], False), lambda x: x.expand(4, 2, 3)),
    ("cumsum", (1, None), lambda x: x.cumsum(1)),
    ("norm", (2, [1], False), lambda x: x.norm(2, 1)),
]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(("name", "args", "eager"), CALLS, ids=[row[0] for row in CALLS])
def test_translations_of_the_writer(name, args, eager, dynamic):
    """Every translation is a function of the modules, with constants as Python values or as values of the graph."""
    fn = getattr(importlib.import_module("ingot.onnx.symbolic_opset13"), name)
    options = {"input_names": ["x"], "dynamic_axes": {"x": {0: "n"}}} if dynamic else {}
    proto = export(lambda g, x: fn(g, x, *args), (X,), **options)
    np.testing.assert_allclose(run(proto, X.numpy()), eager(X).numpy(), rtol=1e-5, atol=1e-6)


def test_values_of_the_graph_as_arguments():
    def symbolic(g, x):
        low = g.op("Constant", value_t=torch.tensor(0.0))
        product = symbolic_opset9.mul(g, x, x)
        return symbolic_opset11.clamp(g, symbolic_opset9.add(g, product, x), low, None)

    want = (X * X + X).clamp(min=0)
    np.testing.assert_allclose(run(export(symbolic, (X,)), X.numpy()), want.numpy(), rtol=1e-6)


def test_lists_and_several_results():
    def joined(g, x):
        parts = symbolic_opset9.split(g, x, 1, 1)
        return symbolic_opset9.cat(g, [parts[2], parts[0], parts[1]], 1)

    np.testing.assert_allclose(run(export(joined, (X,)), X.numpy()), X[:, [2, 0, 1]].numpy())

    def best(g, x):
        values, _ = symbolic_opset11.topk(g, x, 2, 1, True, True)
        return values

    np.testing.assert_allclose(run(export(best, (X,)), X.numpy()), X.topk(2, 1)[0].numpy())


def test_results_of_other_domains():
    """Of a user's node nothing is known; a translation can follow it all the same."""
    proto = export(lambda g, x: symbolic_opset9.relu(g, g.op("my::Op", x)), (X,))
    assert types(proto) == ["Op", "Relu"]


def test_modules():
    assert "relu" in dir(symbolic_opset9) and "cumsum" in dir(symbolic_opset11)
    assert symbolic_opset11.relu is symbolic_opset9.relu
    with pytest.raises(AttributeError, match="symbolic_opset9' has no attribute 'einsum'"):
        getattr(symbolic_opset9, "einsum")  # noqa: B009
    for opset in range(7, 21):
        importlib.import_module(f"ingot.onnx.symbolic_opset{opset}")


def test_registry_gives_functions():
    """mmdeploy asks the registry for the translation that it wraps."""
    group = registry.get_function_group("aten::relu")
    plain = group.get(13)

    def wrapped(g, x):
        return g.op("my::Wrapped", plain(g, x))

    proto = export(wrapped, (X,))
    assert types(proto) == ["Relu", "Wrapped"]
    with pytest.raises(KeyError):
        registry.get_function_group("aten::einsum")[9]


def test_type_errors_say_which_operator():
    with pytest.raises(
        TypeError, match=r"takes 1 positional argument but 2 were given \n\(Occurred when translating special_i1\)\."
    ):
        export(lambda g: g.op("Relu"), (X,))  # fmt: skip


def test_helpers():
    def symbolic(g, x):
        values, _ = helper._sort_helper(g, x, 1, False)
        parts = helper._repeat_interleave_split_helper(g, values, 3, 1)
        return helper._op_with_optional_float_cast(g, "Relu", parts[0])

    want = torch.relu(X.sort(1)[0][:, :1])
    np.testing.assert_allclose(run(export(symbolic, (X,)), X.numpy()), want.numpy())
    reduce = helper._reduce_op_symbolic_helper("ReduceMax")

    def largest(g, x):
        return reduce(g, x, g.op("Constant", value_t=torch.tensor([1])), g.op("Constant", value_t=torch.tensor(0)))

    np.testing.assert_allclose(run(export(largest, (X,)), X.numpy()), X.amax(1).numpy())
    np.testing.assert_allclose(run(export(lambda g, x: helper._max_helper(g, x), (X,)), X.numpy()), X.max().numpy())
    assert not hasattr(helper, "_nothing_of_that_name")


def test_parts_of_an_export():
    """Tools walk the graph of a trace, and its form in ONNX."""
    model = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
    graph, out = utils._trace_and_get_graph_from_model(model, (X,))
    assert [n.kind() for n in graph.nodes()] == ["aten::linear", "aten::relu"] and out.shape == (2, 2)
    graph, parameters, _, _ = utils._create_jit_graph(model, (X,))
    assert list(utils._get_named_param_dict(graph, parameters)) == ["0.weight", "0.bias"]
    found = utils._optimize_graph(graph, torch.onnx.OperatorExportTypes.ONNX)
    assert [n.kind() for n in found.nodes()] == ["onnx::Gemm", "onnx::Relu"]
    graph, refused = utils.unconvertible_ops(Call(), (X,), opset_version=17)
    assert refused == ["aten::special_i1"] and "aten::special_i1" in str(graph)
    modes = torch.onnx.OperatorExportTypes
    assert utils._should_aten_fallback("aten::relu", 13, modes.ONNX_ATEN)
    assert not utils._should_aten_fallback("aten::relu", 13, modes.ONNX_ATEN_FALLBACK)
    assert utils._setup_trace_module_map(model, [nn.Linear]) == {f"{nn.Linear.__module__}.Linear"}


def test_override_dict():
    table = OverrideDict()
    table.set_base("a", 1)
    table.override("a", 2)
    table.override("b", 3)
    assert (table["a"], table.get("b"), table.in_base("b"), table.overridden("a"), len(table)) == (2, 3, False, True, 2)
    table.remove_override("a")
    table.remove_override("b")
    assert (table["a"], "b" in table, list(table)) == (1, False, ["a"])


def test_log(capsys):
    torch.onnx.log("silent")
    torch.onnx.enable_log()
    try:
        torch.onnx.log("said ", 1)
    finally:
        torch.onnx.disable_log()
    assert capsys.readouterr().out == "said 1\n" and not torch.onnx.is_onnx_log_enabled()
    with pytest.raises(RuntimeError):
        torch.onnx.set_log_stream("paper")


def test_unnamed_inputs_have_the_namespace_of_their_reader() -> None:
    class Two(nn.Module):
        def forward(self, x, y):
            return torch.special.i1(x) + y

    sink = io.BytesIO()
    utils.register_custom_op_symbolic("aten::special_i1", lambda g, x: g.op("my.domain::Bessel", x), 9)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(Two(), (X, X), sink, dynamo=False, custom_opsets={"my.domain": 1})
            modes = torch.onnx.OperatorExportTypes
            aten = io.BytesIO()
            torch.onnx.export(Two(), (X, X), aten, dynamo=False, operator_export_type=modes.ONNX_ATEN)
    finally:
        utils.unregister_custom_op_symbolic("aten::special_i1", 9)
    names = [v.name for v in onnx.load_from_string(sink.getvalue()).graph.input]
    assert names == ["my.domain::Bessel_0", "onnx::Add_1"]
    names = [v.name for v in onnx.load_from_string(aten.getvalue()).graph.input]
    assert [name for name in names if name.startswith("aten::ATen_")]
