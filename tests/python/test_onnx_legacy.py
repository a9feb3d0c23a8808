# SPDX-License-Identifier: Apache-2.0
"""torch.onnx.export(dynamo=False): options, names, axes."""

import io
import warnings

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

import ingot as torch  # noqa: E402
from ingot import nn  # noqa: E402
from ingot._subclasses.fake_tensor import FakeTensor, FakeTensorMode  # noqa: E402


def write(model, args, **options):
    sink = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(model, args, sink, dynamo=False, **options)
    return onnx.load_from_string(sink.getvalue())


def run(proto, *inputs):
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    return session.run(None, dict(zip(names, [i.numpy() for i in inputs], strict=False)))


def same(proto, model, *inputs):
    want = model(*inputs)
    want = want if isinstance(want, (list, tuple)) else [want]
    for a, b in zip(run(proto, *inputs), want, strict=True):
        np.testing.assert_allclose(a, b.detach().numpy(), rtol=1e-4, atol=1e-5)


def operators(proto):
    return [node.op_type for node in proto.graph.node if node.op_type != "Constant"]


def dims(value):
    return [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]


def types(proto):
    return [n.op_type for n in proto.graph.node]


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(3, 4)
        self.fc2 = nn.Linear(4, 10)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


def module(fn):
    class Call(nn.Module):
        def forward(self, *args):
            return fn(*args)

    return Call()


def test_names_of_inputs_outputs_and_nodes() -> None:
    proto = write(Net(), torch.ones(2, 3))
    assert [v.name for v in proto.graph.input] == ["onnx::Gemm_0"]
    assert [v.name for v in proto.graph.output] == ["7"]
    assert [n.name for n in proto.graph.node] == ["/fc1/Gemm", "/Relu", "/fc2/Gemm"]
    assert proto.opset_import[0].version == 17 and proto.ir_version == 8
    proto = write(Net(), torch.ones(2, 3), input_names=["x", "w"], output_names=["relu"])
    assert [v.name for v in proto.graph.input] == ["x"]
    assert [v.name for v in proto.graph.output] == ["relu"]
    assert [t.name for t in proto.graph.initializer] == ["w", "fc1.bias", "fc2.weight", "fc2.bias"]
    with pytest.raises(RuntimeError, match="number of output names provided"):
        write(Net(), torch.ones(2, 3), output_names=["a", "b"])


def test_a_named_axis_may_have_size_one() -> None:
    model = Net()
    proto = write(model, torch.ones(1, 3), input_names=["x"], dynamic_axes={"x": {0: "n"}})
    assert dims(proto.graph.input[0]) == ["n", 3] and dims(proto.graph.output[0]) == ["n", 10]
    same(proto, model, torch.randn(5, 3))
    axes = {"x": [0]}
    proto = write(model, torch.ones(2, 3), input_names=["x"], dynamic_axes=axes)
    assert dims(proto.graph.input[0]) == ["x_dynamic_axes_1", 3]
    assert axes == {"x": {0: "x_dynamic_axes_1"}}


def test_a_named_axis_that_the_model_fixes_keeps_its_name() -> None:
    model = module(lambda x: x.reshape(2, 6) + 1)
    proto = write(model, torch.ones(3, 4), input_names=["x"], output_names=["y"], dynamic_axes={"x": {0: "n"}})
    assert dims(proto.graph.input[0]) == ["n", 4] and dims(proto.graph.output[0]) == [2, 6]
    same(proto, model, torch.randn(3, 4))


def test_copies_are_no_nodes_and_constants_are() -> None:
    proto = write(module(lambda x, w: torch.matmul(x, w).detach().clone()), (torch.ones(3, 4), torch.ones(4, 5)))
    assert types(proto) == ["MatMul"] and proto.graph.output[0].name == "2"
    proto = write(module(lambda x: x * 2.5), (torch.ones(3),))
    assert types(proto) == ["Constant", "Mul"] and not proto.graph.initializer


def test_inputs_that_nothing_reads_are_left_out() -> None:
    proto = write(module(lambda x, y: x + 1), (torch.ones(3), torch.ones(2)), input_names=["a", "b"])
    assert [v.name for v in proto.graph.input] == ["a"]


def test_numbers_are_inputs() -> None:
    class Scaled(nn.Module):
        def forward(self, x, by=2.5):
            return x * by

    proto = write(Scaled(), (torch.ones(3), {"by": 3.0}), input_names=["x", "by"])
    assert [v.name for v in proto.graph.input] == ["x", "by"]


def test_the_mode_of_a_model_is_restored() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Dropout()).train()
    model[0].eval()
    assert types(write(model, torch.ones(1, 2))) == ["Gemm"]
    assert [m.training for m in model.modules()] == [True, False, True]
    with pytest.raises(Exception):  # noqa: B017
        write(model, torch.ones(1, 5))
    assert [m.training for m in model.modules()] == [True, False, True] and not torch.onnx.is_in_onnx_export()


def test_options_that_are_refused() -> None:
    x = torch.ones(2, 3)
    with pytest.raises(ValueError, match="Unsupported ONNX opset version: 6"):
        write(Net(), x, opset_version=6)
    with pytest.raises(ValueError, match="DataParallel is not supported"):
        write(nn.DataParallel(Net()), x)
    with pytest.raises(AttributeError, match="'function' object has no attribute 'modules'"):
        write(lambda x: x, x)
    with pytest.raises(ValueError, match="export_modules_as_functions"):
        write(Net(), x, export_modules_as_functions=True, opset_version=13)
    with pytest.raises(RuntimeError, match="Dynamic shape axis should be no more than the shape dimension"):
        write(Net(), x, input_names=["x"], dynamic_axes={"x": {5: "n"}})


def test_packed_sequences_are_padded_batches_with_lengths() -> None:
    class Packed(nn.Module):
        def __init__(self, kind, first):
            super().__init__()
            self.rnn = getattr(nn, kind)(3, 4, 2, bidirectional=True, batch_first=first, dropout=0.3)
            self.first = first

        def forward(self, x, lengths):
            packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=self.first, enforce_sorted=False)
            out, last = self.rnn(packed)
            out, _ = nn.utils.rnn.pad_packed_sequence(out, batch_first=self.first)
            return (out, *last) if isinstance(last, tuple) else (out, last)

    for kind in ("RNN", "GRU", "LSTM"):
        for first in (False, True):
            x = torch.randn(5, 3, 3)
            lengths = torch.tensor([2, 3, 1, 1, 3]) if first else torch.tensor([2, 5, 1])
            model = Packed(kind, first).eval()
            axes = {"x": {0: "a", 1: "b"}, "n": {0: "c"}}
            proto = write(model, (x, lengths), input_names=["x", "n"], dynamic_axes=axes)
            assert types(proto).count(kind) == 2
            same(proto, model, x, lengths)


def test_custom_symbolics() -> None:
    def relu(g, x):
        return g.op("my.domain::Relu6", x, low_f=0.0, name_s="r", sizes_i=[1, 2], words_s=["a", "b"])

    def clamp(g, x, low, high):
        raise RuntimeError("no")

    onnx_module = torch.onnx
    onnx_module.register_custom_op_symbolic("aten::relu", relu, 9)
    try:
        proto = write(nn.ReLU(), torch.ones(2), custom_opsets={"my.domain": 3, "unused": 1})
    finally:
        onnx_module.unregister_custom_op_symbolic("aten::relu", 9)
    (node,) = proto.graph.node
    assert (node.domain, node.op_type) == ("my.domain", "Relu6")
    assert {a.name for a in node.attribute} == {"low", "name", "sizes", "words"}
    assert [list(a.strings) for a in node.attribute if a.name == "words"] == [[b"a", b"b"]]
    assert {o.domain: o.version for o in proto.opset_import} == {"": 17, "my.domain": 3}
    assert types(write(nn.ReLU(), torch.ones(2))) == ["Relu"]
    onnx_module.register_custom_op_symbolic("aten::clamp", clamp, 17)
    try:
        mode = onnx_module.OperatorExportTypes.ONNX_ATEN_FALLBACK
        proto = write(module(lambda x: x.clamp(-1.0, 1.0)), torch.ones(2), operator_export_type=mode)
    finally:
        onnx_module.unregister_custom_op_symbolic("aten::clamp", 17)
    node = proto.graph.node[-1]
    found = {a.name: a.s.decode() for a in node.attribute}
    assert node.op_type == "ATen" and found == {"operator": "clamp", "overload_name": "Tensor"}


def test_functions_with_a_symbolic_are_one_node() -> None:
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, by):
            return x * 2 + by

        @staticmethod
        def symbolic(g, x, by):
            return g.op("my::Twice", x, by_i=by)

    class Plain(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.sin()

    proto = write(module(lambda x: Twice.apply(Plain.apply(x), 3) + 1), torch.ones(2))
    assert [n.op_type for n in proto.graph.node if n.op_type != "Constant"] == ["Sin", "Twice", "Add"]


def test_a_model_as_text_and_as_a_graph() -> None:
    text = torch.onnx.export_to_pretty_string(Net(), torch.ones(2, 3))
    assert 'Node {type: "Gemm"' in text and "initializers: [TensorProto shape: [4 3]" in text
    graph, weights, out = torch.onnx.utils._model_to_graph(Net().eval(), (torch.ones(2, 3),))
    assert [n.kind() for n in graph.nodes()] == ["onnx::Gemm", "onnx::Relu", "onnx::Gemm"]
    assert list(weights) == ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"] and tuple(out.shape) == (2, 10)
    assert all(n.sourceRange() for n in graph.nodes())


def test_verify() -> None:
    torch.onnx.verification.verify(Net(), torch.ones(2, 3), opset_version=15)
    model = module(lambda x: x + torch.rand(3))
    with pytest.raises(AssertionError):
        torch.onnx.verification.verify(model, torch.ones(3), opset_version=15)


def test_a_size_of_one_that_decides_the_rank() -> None:
    model = module(lambda x: x.squeeze(1) * 2)
    proto = write(model, torch.ones(3, 1, 4), input_names=["x"], dynamic_axes={"x": {0: "a", 1: "b"}})
    same(proto, model, torch.randn(3, 1, 4))
    assert dims(proto.graph.input[0]) == ["a", "b", 4]


class _Dictionary(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        d = {"a": x, "b": x + 1}
        return d["a"] * d["b"]


def test_a_script_may_use_dictionaries_on_the_way() -> None:
    model = torch.jit.script(_Dictionary())
    same(write(model, torch.ones(2)), model, torch.randn(2))


def test_loops_read_what_was_before_them():
    """A value that a loop carries, and reads as it was before the loop, is two values."""

    class Loop(nn.Module):
        def forward(self, x):
            y = x
            for i in range(x.size(0)):
                y = y + x[i]
            return y

    x = torch.arange(12.0).reshape(3, 4)
    script = torch.jit.script(Loop())
    proto = write(script, (x,), input_names=["x"], dynamic_axes={"x": {0: "n"}}, opset_version=13)
    same(proto, script, x)
    same(proto, script, torch.arange(20.0).reshape(5, 4))


def test_conditions_of_numbers_that_loops_carry():
    class While(nn.Module):
        def forward(self, x):
            i = 0
            while i < 3 and bool(x.sum() < 100):
                x = x * 2 + 1
                i += 1
            return x

    class Inner(nn.Module):
        def forward(self, x):
            i = 0
            while bool(x.sum() < 100):
                if i < 2:
                    x = x * 2 + 1
                else:
                    x = x * 3
                i += 1
            return x

    for model in (torch.jit.script(While()), torch.jit.script(Inner())):
        proto = write(model, (torch.ones(3),))
        for start in (0.0, 1.0, 20.0, 60.0):
            same(proto, model, torch.full((3,), start))


def test_sizes_that_are_data():
    from ingot.onnx.operators import reshape_from_tensor_shape, shape_as_tensor

    class Same(nn.Module):
        def forward(self, x):
            y = x.repeat(5, 1, 1)
            return reshape_from_tensor_shape(y * 2, shape_as_tensor(y))

    traced = torch.jit.trace(Same(), torch.zeros(1, 2, 3))
    proto = write(traced, (torch.zeros(1, 2, 3),), input_names=["x"], dynamic_axes={"x": [0]})
    assert {"Shape", "Reshape"} <= set(types(proto))
    same(proto, Same(), torch.randn(4, 2, 3))
    with pytest.raises(Exception, match="argument 'shape': its elements are not known"):
        write(module(lambda x, s: reshape_from_tensor_shape(x, s)), (torch.zeros(2, 3), torch.tensor([3, 2])))


# Nodes in the form of an opset that the writer itself converts to, as symbolics of users give them.
OLD_FORMS = {
    "Unsqueeze": (11, lambda g, x: g.op("Unsqueeze", x, axes_i=[0])),
    "helper": (11, lambda g, x: torch.onnx.symbolic_helper._unsqueeze_helper(g, x, [0])),
    "Slice": (9, lambda g, x: g.op("Slice", x, axes_i=[1], starts_i=[0], ends_i=[2])),
    "TopK": (9, lambda g, x: g.op("TopK", x, k_i=2, axis_i=1, outputs=2)[0]),
    "Pad": (9, lambda g, x: g.op("Pad", x, pads_i=[0, 1, 0, 1], mode_s="constant")),
    "Clip": (9, lambda g, x: g.op("Clip", x, min_f=0.0, max_f=1.0)),
    "Upsample": (
        9,
        lambda g, x: g.op("Upsample", x, g.op("Constant", value_t=torch.tensor([2.0, 1.0])), mode_s="nearest"),
    ),
}


@pytest.mark.parametrize("form", OLD_FORMS)
def test_symbolics_below_the_oldest_opset_of_the_writer(form) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    opset, symbolic = OLD_FORMS[form]

    class M(torch.nn.Module):
        def forward(self, x):
            return torch.cumsum(x, 1).abs()

    sink = io.BytesIO()
    torch.onnx.register_custom_op_symbolic("aten::cumsum", lambda g, x, dim, dtype: symbolic(g, x), opset)
    try:
        torch.onnx.export(M(), (torch.randn(2, 3),), sink, opset_version=opset, dynamo=False, input_names=["x"])
    finally:
        torch.onnx.unregister_custom_op_symbolic("aten::cumsum", opset)
    model = onnx.load_from_string(sink.getvalue())
    assert [(o.domain, o.version) for o in model.opset_import] == [("", opset)]
    onnx.checker.check_model(model)
    session = onnxruntime.InferenceSession(sink.getvalue(), providers=["CPUExecutionProvider"])
    (got,) = session.run(None, {"x": torch.tensor([[-1.0, -0.5, 0.0], [0.5, 1.0, 1.5]]).numpy()})
    want = {
        "Unsqueeze": [[[1.0, 0.5, 0.0], [0.5, 1.0, 1.5]]],
        "helper": [[[1.0, 0.5, 0.0], [0.5, 1.0, 1.5]]],
        "Slice": [[1.0, 0.5], [0.5, 1.0]],
        "TopK": [[0.0, 0.5], [1.5, 1.0]],
        "Pad": [[0.0, 1.0, 0.5, 0.0, 0.0], [0.0, 0.5, 1.0, 1.5, 0.0]],
        "Clip": [[0.0, 0.0, 0.0], [0.5, 1.0, 1.0]],
        "Upsample": [[1.0, 0.5, 0.0], [1.0, 0.5, 0.0], [0.5, 1.0, 1.5], [0.5, 1.0, 1.5]],
    }[form]
    assert got.tolist() == want


@pytest.mark.parametrize("opset", [7, 9, 11, 12])
def test_dropout_in_training_is_one_node(opset) -> None:
    sink = io.BytesIO()
    training = torch.onnx.TrainingMode.TRAINING
    torch.onnx.export(
        torch.nn.Dropout(0.25), (torch.randn(2, 3),), sink, opset_version=opset, training=training, dynamo=False
    )
    model = onnx.load_from_string(sink.getvalue())
    onnx.checker.check_model(model)
    (node,) = [node for node in model.graph.node if node.op_type != "Constant"]
    assert node.op_type == "Dropout"
    assert opset >= 12 or node.attribute[0].f == 0.25


def written(model, args, **options):
    sink = io.BytesIO()
    torch.onnx.export(model, args, sink, dynamo=False, input_names=["x"], **options)
    model = onnx.load_from_string(sink.getvalue())
    onnx.checker.check_model(model)
    return model, onnxruntime.InferenceSession(sink.getvalue(), providers=["CPUExecutionProvider"])


class Applied(nn.Module):
    def __init__(self, fn) -> None:
        super().__init__()
        self.fn = fn

    def forward(self, x):
        return self.fn(x)


class Assigned(nn.Module):
    def forward(self, x):
        x = x.clone()
        x[torch.tensor([2, 0])] = x[:2] * 2
        return x


@pytest.mark.parametrize(
    "model, nodes",
    [
        (nn.Softplus(beta=2), ["Mul", "Softplus", "Div"]),
        (nn.CELU(0.7), ["Celu"]),
        (Assigned(), ["Slice", "Mul", "Unsqueeze", "ScatterND"]),
        (nn.GLU(), ["Split", "Sigmoid", "Mul"]),
        (Applied(lambda x: nn.functional.selu(x + 0, inplace=True)), ["Add", "Selu"]),
        (Applied(lambda x: torch.mv(x, x[0])), ["Gather", "MatMul"]),
        (Applied(lambda x: ((x > 0) * (x < 3)).float()), ["Greater", "Less", "And", "Cast"]),
        (Applied(lambda x: x.repeat_interleave(2, 0)), ["Unsqueeze", "Tile", "Reshape"]),
        (Applied(lambda x: x.repeat_interleave(2)), ["Reshape", "Unsqueeze", "Tile", "Reshape"]),
        (Applied(lambda x: torch.einsum("...i,...i->...", x, x)), ["Einsum"]),
        (Applied(lambda x: torch.einsum("...i->...", x[None] * x[0])), ["Unsqueeze", "Gather", "Mul", "Einsum"]),
        (
            Applied(lambda x: nn.functional.interpolate(x[None, None], scale_factor=0.5)),
            ["Unsqueeze", "Unsqueeze", "Resize"],
        ),
    ],
    ids=[
        "Softplus", "CELU", "Assigned", "GLU", "selu_", "mv", "and", "interleave", "interleave_all", "einsum",
        "einsum_more", "half",
    ],
)  # fmt: skip
def test_few_nodes(model, nodes) -> None:
    proto, session = written(model, (torch.randn(3, 4),), opset_version=17)
    assert [n.op_type for n in proto.graph.node if n.op_type != "Constant"] == nodes
    x = torch.linspace(-30, 30, 12).reshape(3, 4)
    np.testing.assert_allclose(session.run(None, {"x": x.numpy()})[0], model(x).numpy(), rtol=1e-5, atol=1e-6)


def test_a_number_as_output_needs_no_copy() -> None:
    class M(nn.Module):
        def forward(self, x):
            return x.size(0)

    proto, session = written(M(), (torch.randn(3, 4),), dynamic_axes={"x": {0: "rows"}}, output_names=["n"])
    assert [n.op_type for n in proto.graph.node] == ["Shape", "Constant", "Gather"]
    assert session.run(["n"], {"x": np.zeros((7, 4), np.float32)})[0] == 7


@pytest.mark.parametrize("make", [nn.RNN, nn.GRU, nn.LSTM])
def test_weights_of_two_directions_come_after_their_biases(make) -> None:
    model = make(3, 4, bidirectional=True).eval()
    proto, session = written(model, (torch.randn(5, 2, 3),))
    gates = model.weight_ih_l0.shape[0]
    assert [list(w.dims) for w in proto.graph.initializer] == [[2, 2 * gates], [2, gates, 3], [2, gates, 4]]
    x = torch.randn(5, 2, 3)
    np.testing.assert_allclose(session.run(None, {"x": x.numpy()})[0], model(x)[0].detach().numpy(), atol=1e-5)


def test_an_axis_after_padding_is_named_by_the_values_before_it() -> None:
    class M(nn.Module):
        def forward(self, x):
            return nn.functional.pad(x, (1, 1))

    proto, _ = written(M(), (torch.randn(3, 4),), opset_version=17)
    assert proto.graph.output[0].type.tensor_type.shape.dim[0].dim_param == "Pad24_dim_0"


# ---- axes of outputs: what the original's shape inference finds, one operator each ----

INFERRED = {
    "view": (lambda x, y: x.view(x.shape[0], -1), "x0 x1", ["Reshape", "Reshape"]),
    "reshape": (lambda x, y: x.reshape(x.shape[0], x.shape[1], 2, 2), "x0 x1", ["x0", "x1", 2, 2]),
    "flatten": (lambda x, y: x.flatten(1), "x0 x1", ["x0", "Flatten"]),
    "zeros": (lambda x, y: torch.zeros(x.shape[0], 4), "x0", ["ConstantOfShape", "ConstantOfShape"]),
    "zeros_like": (lambda x, y: torch.zeros_like(x), "x0", ["x0", 3, 4]),
    "expand_as": (lambda x, y: x[:, :1].expand_as(x), "x0", ["Expand", "Expand", "Expand"]),
    "arange": (lambda x, y: torch.arange(x.shape[0]).unsqueeze(0) + 1, "x0", [1, "Add"]),
    "cat": (lambda x, y: torch.cat([x, y], 2), "x0 y0", ["Concat", 3, 8]),
    "stack": (lambda x, y: torch.stack([x, y]), "x0 y0", [2, "Concat", 3, 4]),
    "add": (lambda x, y: x + y, "x0", ["Add", 3, 4]),
    "add_lower": (lambda x, y: x + y[0, 0], "x0", ["x0", 3, 4]),
    "slice": (lambda x, y: x[:, 1:], "x0 x1", ["x0", "Slice", 4]),
    "flip": (lambda x, y: x.flip(0), "", [2, 3, 4]),
    "matmul": (lambda x, y: x.matmul(y.transpose(1, 2)), "x0 x1", ["MatMul", "x1", 3]),
    "sort": (lambda x, y: x.sort(1)[0], "x0", ["TopK", "TopK", "TopK"]),
    "topk": (lambda x, y: x.topk(2, 2)[0], "x0", ["x0", 3, 2]),
    "split": (lambda x, y: x.split(1, 1)[0], "x1", [2, "Split", 4]),
    "repeat": (lambda x, y: x.repeat(1, 1, 2), "x0", ["Tile", 3, 8]),
    "interpolate": (lambda x, y: nn.functional.interpolate(x, scale_factor=2), "x0", ["Resize", 3, 8]),
    "where": (lambda x, y: torch.where(x > 0, x, y), "x0", [2, 3, 4]),
    "einsum": (lambda x, y: torch.einsum("bij,bkj->bik", x, y), "x0", ["Einsum", "Einsum", "Einsum"]),
    "one_hot": (lambda x, y: nn.functional.one_hot(x[0, 0].long(), 5), "", [4, "OneHot"]),
}


@pytest.mark.parametrize("name", INFERRED)
def test_axes_are_named_by_what_is_inferred(name) -> None:
    fn, named, want = INFERRED[name]
    axes: dict = {}
    for text in named.split():
        axes.setdefault(text[0], {})[int(text[1])] = text
    options = {"dynamic_axes": axes} if axes else {}
    proto = write(module(fn), (torch.rand(2, 3, 4), torch.rand(2, 3, 4)), input_names=["x", "y"], opset_version=17,
                  **options)  # fmt: skip
    (out,) = proto.graph.output
    made = {f"{op}{out.name}_dim_{d}": op for op in types(proto) for d in range(4)}
    assert [made.get(dim, dim) for dim in dims(out)] == want


# Numbers in the names of values, as PyTorch 2.5.1 has them.
@pytest.mark.parametrize(
    "make, opset, weights, outputs",
    [
        (lambda: nn.RNN(3, 4), 9, ["onnx::RNN_24", "onnx::RNN_25", "onnx::RNN_26"], ["22", "21"]),
        (lambda: nn.RNN(3, 4), 13, ["onnx::RNN_30", "onnx::RNN_31", "onnx::RNN_32"], ["28", "26"]),
        (lambda: nn.GRU(3, 4), 9, ["onnx::GRU_56", "onnx::GRU_57", "onnx::GRU_58"], ["38", "37"]),
        (lambda: nn.PReLU(2), 13, ["onnx::PRelu_5"], ["4"]),
    ],
)
def test_values_are_numbered_at_the_opset_of_the_file(make, opset, weights, outputs) -> None:
    proto = write(make().eval(), (torch.rand(5, 2, 3),), opset_version=opset)
    assert [w.name for w in proto.graph.initializer] == weights
    assert [o.name for o in proto.graph.output] == outputs


@pytest.mark.parametrize(
    "fn, opset, name",
    [
        (lambda x: x[1:], 9, "1"),
        (lambda x: x[1:], 11, "8"),
        (lambda x: x[1:], 13, "12"),
        (lambda x: x.topk(2)[0], 13, "4"),
        (lambda x: torch.sum(x, 1), 11, "1"),
    ],
)
def test_outputs_are_numbered_at_the_opset_of_the_file(fn, opset, name) -> None:
    proto = write(module(fn), (torch.rand(3, 4),), input_names=["x"], opset_version=opset)
    assert [o.name for o in proto.graph.output] == [name]


def test_an_input_that_is_only_asked_for_sizes_stays_an_input() -> None:
    asking = module(lambda x, y: x.reshape(-1, y.size(1)) * (y + 1).shape[1])
    given = torch.randn(4, 3), torch.randn(5, 6)
    proto = write(asking, given, input_names=["x", "y"], dynamic_axes={"y": {0: "n"}})
    assert [v.name for v in proto.graph.input] == ["x", "y"]
    same(proto, asking, *given)
    # Sizes of an input without named axes are numbers, and so are those that nothing uses.
    proto = write(asking, given, input_names=["x", "y"], dynamic_axes={"x": {0: "n"}})
    assert [v.name for v in proto.graph.input] == ["x"]
    unused = module(lambda x, y: (x + 1, y.size(1))[0])
    proto = write(unused, given, input_names=["x", "y"], dynamic_axes={"y": {0: "n"}})
    assert [v.name for v in proto.graph.input] == ["x"]


def test_a_script_keeps_inputs_that_are_only_asked_for_sizes() -> None:
    @torch.jit.script
    def columns(x, y):
        return x.reshape(-1, y.size(1))

    given = torch.randn(4, 3), torch.randn(5, 6)
    proto = write(columns, given, input_names=["x", "y"], dynamic_axes={"y": {0: "n"}})
    assert [v.name for v in proto.graph.input] == ["x", "y"]
    same(proto, columns, *given)


def test_equal_weights_that_are_rearranged_are_one_initializer() -> None:
    layer = nn.Linear(3, 3, bias=False)
    other = nn.Linear(3, 3, bias=False)
    other.load_state_dict(layer.state_dict())
    model = nn.Sequential(layer, other)
    given = torch.randn(2, 4, 3)
    proto = write(model, given)
    assert types(proto) == ["MatMul", "MatMul"]
    assert len(proto.graph.initializer) == 1
    same(proto, model, given)


def test_a_tied_weight_has_its_first_name() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    model[1].weight = model[0].weight
    proto = write(model, torch.ones(2, 3))
    assert [t.name for t in proto.graph.initializer] == ["0.weight", "0.bias", "1.bias"]
    assert [v.name for v in proto.graph.output] == ["5"]
    same(proto, model, torch.randn(2, 3))


class Weighted(nn.Module):
    def __init__(self, compute) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.randn(4, 3, 2))
        self.compute = compute

    def forward(self, x):
        return x + self.compute(self.w)


@pytest.mark.parametrize(
    "compute",
    [
        lambda w: w.transpose(0, 1).contiguous().sum((1, 2)),  # a copy of a rearranged weight
        lambda w: w.transpose(0, 1).contiguous().view(3, -1).norm(dim=1),
        lambda w: (w.abs() + 1).sum((0, 2)) + (w.transpose(0, 1).contiguous() * 2).sum((1, 2)),
    ],
)
def test_copies_of_rearranged_weights_are_read(compute) -> None:
    model = Weighted(compute)
    same(write(model, torch.ones(3)), model, torch.randn(3))


@pytest.mark.parametrize("opset", [13, 17, 18])
def test_arithmetic_of_weights_is_done_ahead(opset) -> None:
    model = Weighted(lambda w: -((w * 3 - w + w.norm(p=1)) / (w.norm(dim=0, keepdim=True) + 1)).sqrt())
    with torch.no_grad():
        model.w.copy_(model.w.abs())
    given = torch.randn(4, 3, 2)
    proto = write(model, given, opset_version=opset)
    assert types(proto) == ["Add"]
    want = model(given).detach().numpy()
    assert np.isfinite(want).all()
    np.testing.assert_allclose(run(proto, given)[0], want, rtol=1e-5)
    proto = write(model, given, opset_version=opset, do_constant_folding=False)
    assert "Sqrt" in types(proto)
    np.testing.assert_allclose(run(proto, given)[0], want, rtol=1e-4)


def test_inputs_of_scripts_have_their_names() -> None:
    class Pair(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(3, 3)

        def forward(self, x, y: tuple[torch.Tensor, torch.Tensor]):
            return self.fc(x) + y[0] * y[1]

    given = torch.randn(2, 3), (torch.randn(2, 3), torch.randn(3))
    proto = write(torch.jit.script(Pair()), given)
    assert [v.name for v in proto.graph.input] == ["x.1", "onnx::Mul_1", "onnx::Mul_2"]


@pytest.mark.parametrize(
    ("fn", "operators", "given"),
    [
        (lambda x: torch.arange(5) + x, ["Constant", "Add"], lambda: [torch.randn(5)]),
        (lambda x, i: x[:, i], ["Gather"], lambda: [torch.randn(3, 5), torch.tensor([4, 0], dtype=torch.int32)]),
        (lambda x, m: x[:, m], None, lambda: [torch.randn(3, 2), torch.tensor([False, True])]),
        (
            lambda x, m: x[m],
            ["NonZero", "Transpose", "GatherND"],
            lambda: [torch.randn(3, 2), torch.tensor([0, 1, 1], dtype=torch.uint8)],
        ),
        (torch.dot, ["MatMul"], lambda: [torch.randn(4), torch.randn(4)]),
        (torch.dot, ["MatMul"], lambda: [torch.tensor([1, 2]), torch.tensor([3, 4])]),
    ],
)
def test_operands_are_not_converted_where_nothing_asks_for_it(fn, operators, given) -> None:
    model = module(fn)
    proto = write(model, tuple(given()))
    assert operators is None or types(proto) == operators
    same(proto, model, *given())


@pytest.mark.parametrize("make", [torch.zeros_like, torch.ones_like, lambda x: x.new_full((2, 3), 4)])
def test_tensors_filled_with_a_number_are_constants_where_sizes_are_known(make) -> None:
    model = module(lambda x, y: x + make(y))
    given = torch.randn(2, 3), torch.randn(2, 3)
    proto = write(model, given, input_names=["x", "y"])
    assert types(proto) == ["Constant", "Add"] and len(proto.graph.input) == 1
    same(proto, model, *given)
    model = module(lambda x: x + torch.zeros_like(x))
    proto = write(model, given[:1], input_names=["x"], dynamic_axes={"x": {0: "n"}})
    assert types(proto) == ["Shape", "ConstantOfShape", "Add"]
    same(proto, model, torch.randn(5, 3))


# ---- one run, one copy


class _Seen(nn.Module):
    """Remembers whether its runs had data."""

    def __init__(self, decides: bool) -> None:
        super().__init__()
        self.decides = decides
        self.had_data: list[bool] = []
        self.linear = nn.Linear(3, 3)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.had_data.append(not isinstance(x, FakeTensor))
        self.calls += 1
        x = self.linear(x).view(x.shape[0], -1)
        if self.decides and x.sum() > 1e9:
            return x
        return x * 2


def test_nothing_is_computed_to_export_a_model() -> None:
    model = _Seen(False).eval()
    torch.onnx.export(model, (torch.randn(2, 3),), io.BytesIO(), dynamo=False)
    assert not any(model.had_data)


def test_a_model_that_decides_by_data_runs_once_on_it() -> None:
    model = _Seen(True).eval()
    with pytest.warns(torch.jit.TracerWarning):
        torch.onnx.export(model, (torch.randn(2, 3),), io.BytesIO(), dynamo=False)
    assert any(model.had_data)
    assert model.calls.item() == 1  # what the run without data did to the state is undone


def test_a_trace_without_data_has_no_numbers() -> None:
    x = FakeTensorMode().from_tensor(torch.tensor(2))
    with pytest.raises(RuntimeError, match="without data"):
        torch.jit.trace(lambda i: torch.ones(4)[:i], (x,), check_trace=False)


def test_files_and_buffers_have_the_same_bytes(tmp_path) -> None:
    model = nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.Flatten(), nn.Linear(12, 70000)).eval()
    args = (torch.randn(1, 2, 4, 4),)

    class Other(io.RawIOBase):
        pieces: list[bytes] = []

        def write(self, data):
            self.pieces.append(data)
            return len(data)

    buffer = io.BytesIO(b"head")
    buffer.seek(0, io.SEEK_END)
    torch.onnx.export(model, args, buffer, dynamo=False)
    torch.onnx.export(model, args, tmp_path / "m.onnx", dynamo=False)
    torch.onnx.export(model, args, Other(), dynamo=False)
    data = (tmp_path / "m.onnx").read_bytes()
    assert buffer.getvalue() == b"head" + data
    assert Other.pieces == [data]  # one piece, as a file of the user's may want it


class OldNames(nn.Module):
    """Calls that older programs spell by operators which are other calls today."""

    def forward(self, x, w):
        same = torch.ops.aten._convolution_mode(x, w, None, [1, 1], "same", [1, 1], 1)
        places = torch._dim_arange(x, 3)
        return torch.ops.aten.lift(same) + places, torch._cast_Int(x * 3, False), torch._cast_Half(x)


@pytest.mark.parametrize("opset", [9, 13, 17])
def test_operators_with_old_names(opset) -> None:
    model, w = OldNames(), torch.randn(3, 2, 3, 3)
    axes = {"x": {0: "n", 3: "width"}}
    proto = write(model, (torch.randn(1, 2, 5, 5), w), input_names=["x", "w"], dynamic_axes=axes, opset_version=opset)
    same(proto, model, torch.randn(2, 2, 5, 7), w)


def test_hard_swish_before_it_was_an_operator() -> None:
    model = nn.Hardswish()
    proto = write(model, torch.ones(4), opset_version=13)
    assert operators(proto) == ["HardSigmoid", "Mul"]
    same(proto, model, torch.linspace(-6, 6, 9)[:4])


def test_ellipses_of_different_lengths_are_not_einsum() -> None:
    model = Applied(lambda x: torch.einsum("...i,...i->...", x, x[0]))
    proto = write(model, torch.randn(2, 3, 4), opset_version=17)
    assert "Einsum" not in operators(proto)
    same(proto, model, torch.randn(2, 3, 4))


def test_a_size_that_the_call_leaves_open_is_not_computed() -> None:
    model = Applied(lambda x: x.view(-1, x.size(2)))
    proto = write(model, torch.randn(2, 3, 4), input_names=["x"], dynamic_axes={"x": {0: "b", 2: "c"}})
    assert operators(proto) == ["Shape", "Gather", "Unsqueeze", "Concat", "Reshape"]
    same(proto, model, torch.randn(5, 3, 2))


@pytest.mark.parametrize("dim", [0, 1])
def test_repeated_elements_of_dynamic_sizes(dim) -> None:
    model = Applied(lambda x: x.repeat_interleave(3, dim))
    axes = {"x": {0: "b", 2: "c"}}
    proto = write(model, torch.randn(2, 3, 4), input_names=["x"], dynamic_axes=axes, opset_version=17)
    same(proto, model, torch.randn(5, 3, 2))


def test_attention_of_different_inputs_is_traced_and_its_weights_are_taken_apart_ahead() -> None:
    torch.manual_seed(0)
    model = nn.MultiheadAttention(4, 2, batch_first=True).eval()
    args = torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 4)
    proto = write(model, args, input_names=["q", "k", "v"], dynamic_axes={"q": {1: "n"}, "k": {1: "m"}, "v": {1: "m"}})
    assert not {"Split", "Expand", "Slice"} & set(operators(proto))
    same(proto, model, *args)
    same(proto, model, torch.randn(2, 1, 4), torch.randn(2, 7, 4), torch.randn(2, 7, 4))


class _Deciding(nn.Module):
    def forward(self, x, flag, y, n=3, f=2.0, late=False):
        z = x * n if flag else x * f
        return z if late else z + y


@pytest.mark.parametrize(
    "given, names",
    [((True,), ["x", "y", "n"]), ((False,), ["x", "y", "f"]), ((True, 5, 1.5, True), ["x", "n"])],
)
def test_numbers_that_decide_are_no_inputs_and_numbers_that_are_read_are(given, names) -> None:
    model = _Deciding()
    args = (torch.ones(2, 3), given[0], torch.ones(2, 3), *given[1:])
    all_names = ["x", "flag", "y", "n", "f", "late"]
    proto = write(model, args, input_names=all_names, dynamic_axes={"x": {0: "b"}, "y": {0: "b"}})
    assert [i.name for i in proto.graph.input] == names
    assert dims(proto.graph.input[0]) == ["b", 3]


def test_a_model_that_cannot_be_copied_has_named_axes_of_size_one() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = nn.utils.weight_norm(nn.Conv1d(2, 3, 3))
    proto = write(model, torch.randn(1, 2, 6), input_names=["x"], dynamic_axes={"x": {0: "b", 2: "n"}})
    same(proto, model, torch.randn(4, 2, 9))


@pytest.mark.parametrize("opset, version", [(7, 3), (8, 3), (9, 4)])
def test_ir_version_where_initializers_are_inputs(opset, version) -> None:
    proto = write(nn.Linear(2, 3), torch.ones(1, 2), opset_version=opset)
    assert proto.ir_version == version
    onnx.checker.check_model(proto)


@pytest.mark.parametrize("opset", [9, 10])
def test_pixels_are_shuffled_before_an_operator_did_so(opset) -> None:
    model = nn.PixelShuffle(2)
    axes = {"x": {0: "b", 2: "h"}}
    proto = write(model, torch.randn(2, 8, 3, 4), input_names=["x"], dynamic_axes=axes, opset_version=opset)
    same(proto, model, torch.randn(1, 8, 5, 4))
    read = {name for node in proto.graph.node for name in node.input}
    assert all(node.output[0] in read for node in proto.graph.node if node.op_type == "Constant")


@pytest.mark.parametrize("opset", [11, 13])
@pytest.mark.parametrize("place", [0, 1])
def test_pieces_of_dynamic_lengths_are_slices(opset, place) -> None:
    model = Applied(lambda x: x.chunk(2)[place])
    proto = write(model, torch.randn(4, 3), input_names=["x"], dynamic_axes={"x": {0: "b"}}, opset_version=opset)
    assert operators(proto).count("Slice") == 1
    same(proto, model, torch.randn(6, 3))


def test_a_minimum_of_a_float_and_integers_is_converted_at_old_opsets() -> None:
    class Least(nn.Module):
        def forward(self, x, y):
            return torch.minimum(x, y)

    args = torch.randn(3), torch.arange(3)
    same(write(Least(), args, opset_version=9), Least(), *args)
