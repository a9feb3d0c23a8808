# SPDX-License-Identifier: Apache-2.0
"""Programs as ONNX models: what the standard's checker and onnxruntime say of them, dims, names, files, control flow,
translations of the user. Who is not installed is skipped, visibly."""
from __future__ import annotations

import inspect
import io
import json
import pathlib
from typing import Any

import pytest

import ingot
from ingot import control_flow, nn
from ingot import onnx as ig_onnx
from ingot._higher_order_ops.scan import scan
from ingot._higher_order_ops.while_loop import while_loop
from ingot.export import Dim, export
from ingot.onnx import op

np = pytest.importorskip("numpy")
onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")


def flat(o: Any) -> list[Any]:
    return [y for v in o for y in flat(v)] if isinstance(o, (list, tuple)) else [o]


def model_of(ep: Any, **options: Any) -> Any:
    model = onnx.load_model_from_string(ep._program.write_onnx(**options))
    onnx.checker.check_model(model, full_check=True)
    return model


def agrees(ep: Any, module: nn.Module, *inputs: Any, **options: Any) -> Any:
    """The model of ep, run on other inputs, gives what the module gives."""
    model = model_of(ep, **options)
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for args in inputs:
        feeds = {info.name: t.numpy() for info, t in zip(session.get_inputs(), args, strict=True)}
        found = session.run(None, feeds)
        wanted = flat(module(*args))
        assert len(found) == len(wanted)
        for a, b in zip(found, wanted, strict=True):
            b = (b if isinstance(b, ingot.Tensor) else ingot.tensor(b)).detach().numpy()
            assert a.shape == b.shape and a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)
    return model


def module(fn: Any) -> nn.Module:
    names = ", ".join(inspect.signature(fn).parameters)
    scope = {"fn": fn, "nn": nn}
    exec(f"class Module(nn.Module):\n    def forward(self, {names}): return fn({names})", scope)
    return scope["Module"]()


r = ingot.randn


# ---- sizes


def test_named_dims_keep_their_names_expressions_and_ranges() -> None:
    m = module(lambda x: (x[:, 1:].flatten(1), x.shape[1] * 2))
    batch, seq = Dim("batch"), Dim("seq", min=3, max=100)
    ep = export(m, (r(2, 4, 4),), dynamic_shapes=({0: batch, 1: seq},))
    model = agrees(ep, m, (r(5, 7, 4),), (r(3, 3, 4),))
    dims = [[d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim] for v in model.graph.input]
    assert dims == [["batch", "seq", 4]]
    out = [d.dim_param for d in model.graph.output[0].type.tensor_type.shape.dim]
    assert out == ["batch", "4*seq - 4"]
    properties = {p.key: p.value for p in model.metadata_props}
    assert properties["ingot.range.seq"] == "[3, 100]"


def test_a_derived_dim_is_traced_back_to_its_root() -> None:
    m = module(lambda x: ingot.ones(x.shape[0] + 3) + x.shape[0])
    half = Dim("half", min=2, max=50)
    ep = export(m, (r(8, 2),), dynamic_shapes=({0: 2 * half},))
    agrees(ep, m, (r(6, 2),), (r(20, 2),))


@pytest.mark.parametrize("opset", [13, 18])
def test_arithmetic_on_sizes(opset: int) -> None:
    def fn(x: Any, y: Any) -> Any:
        a, b = x.shape[0], y.shape[0]
        n = ingot.sym_max(a, b) // 2 + a % 3
        return ingot.ones(n), x.new_zeros(a * b - 1), ingot.full((3,), a / b), x.reshape(-1) * (a - b)

    m = module(fn)
    ep = export(m, (r(5, 2), r(3, 2)), dynamic_shapes=({0: Dim("a", min=2)}, {0: Dim("b", min=2)}))
    agrees(ep, m, (r(4, 2), r(9, 2)), (r(2, 2), r(7, 2)), opset=opset)


def test_sizes_that_stand_in_the_data() -> None:
    m = module(lambda x: (x.nonzero(), x[x > 0] + 1))
    agrees(export(m, (r(4, 3),)), m, (r(4, 3),), (ingot.zeros(4, 3),))


# ---- state, inputs, outputs


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", ingot.zeros(1))
        self.fc = nn.Linear(3, 2)

    def forward(self, x: Any, y: Any = None, scale: int = 2) -> Any:
        self.count.add_(1)
        return {"out": self.fc(x) * scale, "none": None, "count": self.count + 0}


def test_changed_buffers_come_first_and_none_is_no_output() -> None:
    ep = export(Counter(), (r(4, 3), None, 3))
    model = model_of(ep)
    assert [i.name for i in model.graph.input] == ["x"]
    assert len(model.graph.output) == 3
    assert {t.name for t in model.graph.initializer} >= {"fc.weight", "fc.bias", "count"}
    program = ig_onnx.dynamo_export(ep)
    x = r(4, 3)
    for engine in ("ingot", "onnxruntime"):
        program.runtime = engine
        found = program(x, None, 3)
        assert float(found[0][0]) == 1.0 and float(ep.state_dict["count"][0]) == 0.0
    torch_outputs = ep.module()(x, None, 3)
    adapted = program.adapt_torch_outputs_to_onnx(torch_outputs)
    assert len(adapted) == len(found)
    for a, b in zip(found, adapted, strict=True):
        np.testing.assert_allclose(a, b.detach().numpy(), rtol=1e-3, atol=1e-5)


def test_a_program_for_training_is_made_functional() -> None:
    ep = ingot.export.export_for_training(Counter(), (r(4, 3),))
    program = ig_onnx.dynamo_export(ep)
    for engine in ("ingot", "onnxruntime"):
        program.runtime = engine
        found = program(r(4, 3))
        assert len(found) == 3 and float(found[0][0]) == 1.0
    assert float(ep.state_dict["count"][0]) == 0.0


def test_given_names_win_over_those_of_nodes() -> None:
    m = module(lambda x, y: (x + y, x * y))
    model = model_of(export(m, (r(2), r(2))), input_names=["add", "b"], output_names=["x", "y"])
    assert [i.name for i in model.graph.input] == ["add", "b"]
    assert [o.name for o in model.graph.output] == ["x", "y"]


def test_given_names_must_differ() -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(2, 2)

        def forward(self, x: Any, y: Any) -> Any:
            return self.fc(x) + y, x - y

    program = export(Two(), (r(2), r(2)))._program
    wrong = {
        "input_names: names of inputs and outputs cannot be duplicated: 'a'": {"input_names": ["a", "a"]},
        "output_names: names of inputs and outputs cannot be duplicated: 'b'": {"output_names": ["b", "b"]},
        "output_names: names of inputs and outputs cannot be duplicated: 'c'":
            {"input_names": ["c"], "output_names": ["d", "c"]},
        "input_names: 'fc.weight' is the name of a weight": {"input_names": ["fc.weight"]},
        "input_names: a name is empty": {"input_names": [""]},
    }
    for text, names in wrong.items():
        with pytest.raises(ValueError, match=text):
            program.write_onnx(**names)


def test_inputs_and_constants_as_outputs() -> None:
    m = module(lambda x: (x, x, 3, x.relu(), 2.5))
    ep = export(m, (r(2, 2),))
    agrees(ep, m, (r(2, 2),))


def test_the_same_program_gives_the_same_bytes() -> None:
    ep = export(Counter(), (r(4, 3),))
    assert ep._program.write_onnx() == ep._program.write_onnx()


# ---- opsets


@pytest.mark.parametrize("opset", range(13, 29))
def test_every_opset(opset: int) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
            self.layer, self.group = nn.LayerNorm(8), nn.GroupNorm(2, 8)

        def forward(self, x: Any) -> Any:
            y = nn.functional.gelu(self.group(self.norm(self.conv(x)))).mean((2, 3))
            y = self.layer(y)
            a, b = y.split(4, dim=-1)
            return (a * b).sum(-1), y.max(-1).indices, nn.functional.pad(y, (1, 2)), y.clamp(-1, 1).squeeze()

    net = Net().eval()
    ep = export(net, (r(2, 3, 8, 8),))
    model = model_of(ep, opset=opset)
    assert model.opset_import[0].version == opset
    assert model.ir_version == onnx.helper.OP_SET_ID_VERSION_MAP[("ai.onnx", opset)]
    if opset <= 22:
        agrees(ep, net, (r(2, 3, 8, 8),), opset=opset)


def test_an_unknown_opset_is_refused() -> None:
    ep = export(module(lambda x: x + 1), (r(2),))
    with pytest.raises(ValueError, match="opset 6 is not known, 7 to 28 are"):
        ep._program.write_onnx(opset=6)


@pytest.mark.parametrize("opset", range(7, 13))
def test_opsets_before_those_of_the_writer(opset: int, tmp_path: pathlib.Path) -> None:
    """Written at opset 13 and converted, as bytes and as a file; what cannot be expressed there is reported."""
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 8)).eval()
    model = agrees(export(net, (r(2, 3, 8, 8),)), net, (r(2, 3, 8, 8),), opset=opset)
    assert model.opset_import[0].version == opset
    x = r(2, 3, 8, 8)
    program = ig_onnx.export(net, (x,), tmp_path / "net.onnx", opset_version=opset, dynamo=True)
    assert onnx.load(tmp_path / "net.onnx").opset_import[0].version == opset
    np.testing.assert_allclose(program(x)[0].numpy(), net(x).detach().numpy(), rtol=1e-3, atol=1e-5)
    with pytest.raises(ig_onnx.OnnxExporterError, match="opset"):
        ig_onnx.export(module(lambda x: ingot.linalg.det(x)), (r(3, 3),), opset_version=7)


# ---- types


@pytest.mark.parametrize("name", ["float16", "float64", "uint8", "int8", "int16", "int32", "int64", "bool"])
def test_types(name: str) -> None:
    dtype = getattr(ingot, name)

    def fn(x: Any) -> Any:
        y = x.to(ingot.int64) if dtype == ingot.bool else x
        return x.to(ingot.float32) + 1, y + y, x == x, ingot.cat([x, x]), y.max(), y * 2 - 1, x[0]

    m = module(fn)
    x = (r(3, 4) * 5).abs().to(dtype)
    agrees(export(m, (x,)), m, (x,))


def test_bfloat16_and_float8_are_written() -> None:
    m = module(lambda x: (x.sin() + 1).to(ingot.float8_e4m3fn).to(ingot.float32))
    model = model_of(export(m, (r(3).to(ingot.bfloat16),)), opset=19)
    assert model.graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.BFLOAT16


def test_every_call_without_counterpart_is_listed_with_its_line() -> None:
    def fn(x: Any) -> Any:
        a = ingot.nextafter(x, x + 1)
        b = ingot.igamma(x, x)
        return a + b + ingot.igamma(x, x + 1)

    ep = export(module(fn), (r(3, 3).abs(),))
    with pytest.raises(ig_onnx.OnnxExporterError) as caught:
        ig_onnx.dynamo_export(ep)
    lines = str(caught.value).splitlines()
    assert sum("aten.igamma.default: this operator cannot be written as ONNX" in line for line in lines) == 2
    assert any("aten.nextafter.default" in line and "test_onnx_export.py:" in line for line in lines)
    found = caught.value.onnx_program.diagnostic_context.diagnostics
    assert {d.file for d in found} == {"test_onnx_export.py"} and len(found) == 3
    assert [d.message.partition(":")[0] for d in found] == ["aten.nextafter.default"] + 2 * ["aten.igamma.default"]
    first = fn.__code__.co_firstlineno
    assert [d.line - first for d in found] == [1, 2, 3]
    with pytest.raises(NotImplementedError) as plain:
        ep._program.write_onnx()
    assert [i["line"] - first for i in plain.value.issues] == [1, 2, 3]
    assert plain.value.issues[0]["source"] == "a = ingot.nextafter(x, x + 1)"
    assert {i["kind"] for i in plain.value.issues} == {"format"}


BOTH = {"num_layers": 2, "bidirectional": True, "batch_first": True}


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("options", [{}, BOTH, {"bias": False}])
def test_recurrent_networks_are_one_node_per_layer(kind: str, options: dict) -> None:
    net = getattr(nn, kind)(3, 4, **options).eval()
    model = agrees(export(net, (r(5, 2, 3),)), net, (r(5, 2, 3),))
    assert [n.op_type for n in model.graph.node].count(kind) == options.get("num_layers", 1)


# ---- control flow


class Branches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: Any, y: Any) -> Any:
        def inner(a: Any, b: Any) -> Any:
            return ingot.cond(b.sum() > 0, lambda a: self.fc(a), lambda a: a + a.shape[0], (a,))

        return ingot.cond(x.sum() > 0, inner, lambda a, b: a - b, (x, y))


def test_nested_branches() -> None:
    m = Branches()
    b = Dim("b", min=2, max=20)
    ep = export(m, (r(5, 3), r(5, 3)), dynamic_shapes=({0: b}, {0: b}), strict=False)
    one = ingot.ones(4, 3)
    agrees(ep, m, (one, one), (one, -one), (-one, one), (r(7, 3), r(7, 3)))


def test_loops() -> None:
    m = module(lambda i, x: while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, x * 2), (i, x)))
    ep = export(m, (ingot.tensor(0), r(2, 3)), strict=False)
    agrees(ep, m, (ingot.tensor(0), r(2, 3)), (ingot.tensor(3), r(2, 3)), (ingot.tensor(9), r(2, 3)))


@pytest.mark.parametrize("dim, reverse", [(0, False), (1, True)])
def test_scans(dim: int, reverse: bool) -> None:
    m = module(lambda init, xs: scan(lambda c, x: (c + x, c * x), init, xs, dim=dim, reverse=reverse))
    ep = export(m, (r(2, 3), r(*((4, 2, 3) if dim == 0 else (2, 4, 3)))), strict=False)
    agrees(ep, m, (r(2, 3), r(*((4, 2, 3) if dim == 0 else (2, 4, 3)))))


@pytest.mark.parametrize("enabled", [False, True])
def test_regions_of_autocast_are_written_with_their_casts(enabled: bool) -> None:
    class Rotary(nn.Module):
        def forward(self, x, y):
            with ingot.autocast("cpu", dtype=ingot.bfloat16, enabled=enabled):
                z = x @ y
            return z.float() + 1

    ep = export(Rotary(), (r(2, 3), r(3, 4)))
    assert "wrap_with_autocast" in str(ep.graph)
    model = model_of(ep)
    types = {onnx.TensorProto.DataType.Name(n.attribute[0].i) for n in model.graph.node if n.op_type == "Cast"}
    assert types == ({"BFLOAT16", "FLOAT"} if enabled else set())
    if not enabled:  # onnxruntime has no products of bfloat16
        agrees(ep, Rotary(), (r(2, 3), r(3, 4)))


def test_map() -> None:
    m = module(lambda xs, y: control_flow.map(lambda a, b: a * b + 1, xs, y))
    ep = export(m, (r(4, 2, 3), r(2, 3)), dynamic_shapes=({0: Dim("n", min=2)}, None), strict=False)
    agrees(ep, m, (r(6, 2, 3), r(2, 3)))


# ---- files


def test_external_weights_are_aligned_and_read_back(tmp_path: pathlib.Path) -> None:
    net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
    ep = export(net, (r(3, 64),))
    path = tmp_path / "net.onnx"
    ig_onnx.dynamo_export(ep).save(path, external_data=True)
    model = onnx.load(path, load_external_data=False)
    entries = [{e.key: e.value for e in t.external_data} for t in model.graph.initializer if t.external_data]
    assert entries and all(e["location"] == "net.onnx.data" and int(e["offset"]) % 4096 == 0 for e in entries)
    onnx.checker.check_model(str(path), full_check=True)
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    x = r(3, 64)
    found = session.run(None, {"input": x.numpy()})[0]
    np.testing.assert_allclose(found, net(x).detach().numpy(), rtol=1e-3, atol=1e-5)


def test_a_weight_that_two_inputs_of_the_program_take_is_written_once() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.e = nn.Embedding(20, 8)

        def forward(self, i: Any) -> Any:
            return self.e(i).mean(1) @ self.e.weight.t()

    module = Tied()
    i = ingot.randint(0, 20, (2, 7))
    ep = export(module, (i,))
    assert [w.name for w in model_of(ep).graph.initializer].count("e.weight") == 1
    agrees(ep, module, (i,))


def test_weights_as_inputs_and_with_defaults() -> None:
    ep = export(nn.Linear(3, 2), (r(4, 3),))
    model = model_of(ep, weights_as_inputs=True)
    assert [i.name for i in model.graph.input] == ["input", "weight", "bias"] and not model.graph.initializer
    model = model_of(ep, initializers_as_inputs=True)
    assert len(model.graph.input) == 3 and len(model.graph.initializer) == 2


def test_locations_and_module_paths_are_metadata() -> None:
    net = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
    node = model_of(export(net, (r(4, 3),))).graph.node[0]
    properties = {p.key: p.value for p in node.metadata_props}
    assert properties["pkg.torch.onnx.fx_node"] == "linear" and "Linear" in properties["pkg.torch.onnx.nn_module_stack"]
    bare = model_of(export(net, (r(4, 3),)), metadata=False, node_names=False).graph.node[0]
    assert not bare.metadata_props and not bare.name


def test_a_random_draw_is_not_stored_as_a_weight() -> None:
    class Noisy(nn.Module):
        def forward(self, x: Any) -> Any:
            return x + ingot.binomial(ingot.full((3,), 10.0), ingot.full((3,), 0.5))

    ep = export(Noisy(), (ingot.zeros(3),))
    with pytest.raises(Exception, match="aten.binomial.default"):
        model_of(ep)


def test_constants_are_folded_unless_told() -> None:
    m = module(lambda x: x + ingot.arange(4).to(ingot.float32) * 2)
    ep = export(m, (r(4),))
    assert [n.op_type for n in model_of(ep).graph.node] == ["Add"]
    assert len(model_of(ep, folding=False).graph.node) > 1


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(8), nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x: Any, shift: Any) -> Any:
        y = self.down(nn.functional.gelu(self.up(self.norm(x))))
        return x + ingot.cond(y.sum() > 0, lambda y: y * 2, lambda y: y - 1, (y,)) + shift, y.reshape(x.shape[0], -1)


class Layers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer() for _ in range(4))

    def forward(self, x: Any, shift: Any) -> Any:
        for layer in self.layers:
            x, rest = layer(x, shift)
        return x, rest


@pytest.mark.parametrize("opset", [13, 18])
def test_one_function_per_class_of_modules(opset: int) -> None:
    net = Layers()
    n = Dim("n", min=2)
    ep = export(net, (r(4, 8), r(8)), dynamic_shapes=({0: n}, None), strict=False)
    model = agrees(ep, net, (r(5, 8), r(8)), functions=True, opset=opset)
    names = [f.name for f in model.functions]
    assert {"Layer", "LayerNorm", "Linear"} <= set(names) and len(names) < 4 * 4
    calls = [n.op_type for n in model.graph.node if n.domain == "ingot.modules"]
    # The first layer reads the size, which the last one uses.
    assert len(calls) == 4 and calls[1] == calls[2]
    assert {t.name for t in model.graph.initializer} >= {"layers.0.up.weight", "layers.2.norm.bias"}
    assert not model_of(ep).functions


def test_a_program_that_writes_state_has_no_functions() -> None:
    assert not model_of(export(Counter(), (r(4, 3),)), functions=True).functions


def test_refusals_inside_functions_are_reported() -> None:
    class Bad(nn.Module):
        def forward(self, x: Any) -> Any:
            return ingot.igamma(x, x)

    with pytest.raises(NotImplementedError, match="aten.igamma.default"):
        export(nn.Sequential(Bad(), nn.ReLU()), (r(3).abs(),))._program.write_onnx(functions=True)


# ---- torch.onnx


def test_export_checks_itself_and_prints_errors(capsys: Any, tmp_path: pathlib.Path) -> None:
    net = nn.Linear(3, 2)
    path = tmp_path / "linear.onnx"
    program = ig_onnx.export(net, (r(4, 3),), path, dynamo=True, input_names=["x"], dynamic_axes={"x": {0: "n"}})
    assert "output 0: max abs error" in capsys.readouterr().err
    assert onnx.load(path).graph.input[0].type.tensor_type.shape.dim[0].dim_param == "n"
    assert program is not None and isinstance(program(r(7, 3))[0], ingot.Tensor)
    ig_onnx.export(net, (r(4, 3),), dynamo=True, verify=False)
    assert not capsys.readouterr().err


def test_a_stream_takes_the_model() -> None:
    stream = io.BytesIO()
    ig_onnx.export(nn.ReLU(), (r(2),), stream, dynamo=True, verify=False)
    assert onnx.load_model_from_string(stream.getvalue()).graph.node[0].op_type == "Relu"


def test_dynamic_shapes_of_all_inputs() -> None:
    options = ig_onnx.ExportOptions(dynamic_shapes=True)
    program = ig_onnx.dynamo_export(lambda x, y: x.sum(0) + y, r(3, 4), r(4), export_options=options)
    x, y = r(8, 5), r(5)
    np.testing.assert_allclose(program(x, y)[0], (x.sum(0) + y).numpy(), rtol=1e-4, atol=1e-5)


def test_translations_of_the_user() -> None:
    def translate(x: Any) -> Any:
        assert x.dtype == ingot.float32 and tuple(x.shape) == (3,)
        return ig_onnx.op.Add(ig_onnx.op.Relu(x), ig_onnx.op.opset())

    ep = export(module(lambda x: ingot.lgamma(x) * 2), (r(3).abs(),))
    registry = ig_onnx.OnnxRegistry()
    assert not registry.is_registered_op("aten", "lgamma") and registry.is_registered_op("aten", "relu")
    registry.register_op(lambda x: ig_onnx.op.Custom("Lgamma", x, domain="my.ops"), "aten", "lgamma")
    program = ig_onnx.dynamo_export(ep, export_options=ig_onnx.ExportOptions(onnx_registry=registry))
    assert [(o.domain, o.version) for o in program.model_proto.opset_import] == [("", 18), ("my.ops", 1)]
    table = {ingot.ops.aten.lgamma.default: lambda x: ig_onnx.op.Cast(translate(x), to=1)}
    with pytest.raises(RuntimeError, match="only be called inside"):
        ig_onnx.op.Relu(None)
    program = ig_onnx.export(ep, dynamo=True, custom_translation_table=table, verify=False)
    assert "Lgamma" not in [n.op_type for n in program.model_proto.graph.node]


def test_what_a_translation_raises_is_raised() -> None:
    def bad(x: Any) -> Any:
        raise KeyError("my own error")

    ep = export(module(lambda x: x.sin()), (r(3),))
    with pytest.raises(KeyError, match="my own error"):
        ig_onnx.export(ep, dynamo=True, custom_translation_table={ingot.ops.aten.sin.default: bad}, verify=False)


def test_a_model_without_data_takes_weights_when_saved(tmp_path: pathlib.Path) -> None:
    real = nn.Linear(3, 2)
    with ig_onnx.enable_fake_mode() as context:
        fake = nn.Linear(3, 2)
        x = r(4, 3)
    program = ig_onnx.dynamo_export(fake, x, export_options=ig_onnx.ExportOptions(fake_context=context))
    path = tmp_path / "fake.onnx"
    program.save(path, model_state=real.state_dict())
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    x = r(4, 3)
    found = session.run(None, {session.get_inputs()[0].name: x.numpy()})[0]
    np.testing.assert_allclose(found, real(x).detach().numpy(), rtol=1e-3, atol=1e-5)


def test_diagnostics_are_sarif(tmp_path: pathlib.Path) -> None:
    program = ig_onnx.export(nn.ReLU(), (r(2),), dynamo=True)
    with pytest.raises(ValueError, match=".sarif"):
        program.save_diagnostics(tmp_path / "report.txt")
    program.save_diagnostics(tmp_path / "report.sarif")
    log = json.loads((tmp_path / "report.sarif").read_text())
    assert log["version"] == "2.1.0" and "max abs error" in log["runs"][0]["results"][0]["message"]["text"]


class Sum(nn.Module):
    def forward(self, *inputs: Any) -> Any:
        return sum(inputs) * 2


def test_dynamic_axes_of_the_older_interface() -> None:
    args = (ingot.ones(2, 3), ingot.ones(2, 3))
    axes = {"a": {0: "batch"}, "b": {0: "batch"}}
    program = ig_onnx.export(Sum(), args, dynamo=True, input_names=["a", "b"], dynamic_axes=axes, verify=False)
    dims = [[d.dim_param or d.dim_value for d in i.type.tensor_type.shape.dim] for i in program.model_proto.graph.input]
    assert dims == [["batch", 3], ["batch", 3]]

    class Two(nn.Module):
        def forward(self, x: Any, y: Any) -> Any:
            return x + y.sum(0)

    program = ig_onnx.export(Two(), args, dynamo=True, dynamic_axes={"y": [0]}, verify=False)  # names of the arguments
    assert program.model_proto.graph.input[1].type.tensor_type.shape.dim[0].dim_param == "y_dim_0"


def test_names_of_nodes_folding_and_versions_of_domains() -> None:
    def plain(**options: Any) -> Any:
        return ig_onnx.export(Sum(), (ingot.ones(2), ingot.ones(2)), dynamo=True, verify=False, **options).model_proto

    assert all(n.name for n in plain().graph.node)
    assert not any(n.name for n in plain(add_node_names=False).graph.node)
    assert {o.domain: o.version for o in plain(custom_opsets={"my.ops": 3}).opset_import} == {"": 18, "my.ops": 3}

    class Constant(nn.Module):
        def forward(self, x: Any) -> Any:
            return x + ingot.arange(3) * 2

    def count(**options: Any) -> int:
        program = ig_onnx.export(Constant(), (ingot.ones(3),), dynamo=True, verify=False, **options)
        return len(program.model_proto.graph.node)

    assert count() < count(do_constant_folding=False) == count(optimize=False)
    table = {ingot.ops.aten.mul.Tensor: lambda x, y: op.Custom("Mine", x, domain="my.ops")}
    model = plain(custom_translation_table=table, custom_opsets={"my.ops": 7})
    assert {o.domain: o.version for o in model.opset_import} == {"": 18, "my.ops": 7}


# ---- much data


def test_models_with_much_data_run_out_of_a_file(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Above a size limit nothing is copied: engines map the saved file, or one that exists as long as they read it."""
    from ingot.onnx import _program

    def no_bytes(self: Any) -> bytes:
        raise AssertionError("the model was copied")

    net, x = nn.Linear(64, 8), r(2, 64)
    wanted = net(x).detach().numpy()
    monkeypatch.setattr(_program, "MUCH", 1024)
    monkeypatch.setattr(_program.ONNXProgram, "model_bytes", property(no_bytes))
    for engine in ("ingot", "onnxruntime"):
        for file in (None, tmp_path / "net.onnx"):
            program = ig_onnx.export(net, (x,), file, runtime=engine, dynamo=True)
            assert [d.level for d in program.diagnostic_context.diagnostics] == ["none"]
            np.testing.assert_allclose(program(x)[0].numpy(), wanted, rtol=1e-3, atol=1e-5)


def test_the_self_check_tells_and_stops_nobody(capfd: pytest.CaptureFixture) -> None:
    ig_onnx.dynamo_export(module(lambda x: (x * 2, x.relu())), r(3))
    told = capfd.readouterr().err.splitlines()
    assert told == [f"[ingot.onnx] output {i}: max abs error 0, max rel error 0" for i in (0, 1)]
    table = {ingot.ops.aten.lgamma.default: lambda x: op.Custom("Lgamma", x, domain="my.ops")}
    ig_onnx.export(module(lambda x: ingot.lgamma(x)), (r(3),), custom_translation_table=table)
    assert "not checked: model: node 'node_Lgamma::0' (Lgamma): there is no operator 'Lgamma'" in capfd.readouterr().err
    with pytest.raises(NotImplementedError, match="there is no operator 'Lgamma'"):
        ig_onnx.export(module(lambda x: ingot.lgamma(x)), (r(3),), custom_translation_table=table, verify=True)


def test_words_of_the_newer_interface() -> None:
    """Names for sizes, several translations of one operator, no unknown arguments."""
    net = module(lambda x, y: x.relu() + y)
    program = ig_onnx.export(net, (r(3, 4), r(3, 4)), dynamic_shapes=({0: "batch"}, [*{"batch"}, None]))
    dims = [[d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim] for v in program.model_proto.graph.input]
    assert dims == [["batch", 4], ["batch", 4]]
    table = {ingot.ops.aten.relu.default: [lambda x: op.Max(x, 0.0), None]}
    program = ig_onnx.export(net, (r(3, 4), r(3, 4)), custom_translation_table=table)
    assert "Max" in [node.op_type for node in program.model_proto.graph.node] and "opset=18" in repr(program)
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
        ig_onnx.export(net, (r(3, 4), r(3, 4)), nonsense=1)
