# SPDX-License-Identifier: Apache-2.0
"""torch.onnx.export(dynamo=False), call by call: the model gives what the module gives, also for other sizes and other
values than those of the example, and has the nodes that are expected."""

import io
import warnings

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

import ingot as torch  # noqa: E402
import ingot.nn.functional as F  # noqa: E402
from ingot import nn  # noqa: E402


def module(fn):
    class Call(nn.Module):
        def forward(self, *args):
            return fn(*args)

    return Call()


def write(model, args, **options):
    sink = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(model, args, sink, dynamo=False, **{"opset_version": 17, **options})
    return onnx.load_from_string(sink.getvalue())


def check(model, args, *others, tolerance=1e-5, **options):
    proto = write(model, args, **options)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    for given in (args, *others):
        want = model(*[a.clone() for a in given])
        want = want if isinstance(want, (list, tuple)) else [want]
        got = session.run(None, dict(zip(names, [a.numpy() for a in given], strict=True)))
        for a, b in zip(got, want, strict=True):
            assert a.shape == tuple(b.shape)
            np.testing.assert_allclose(a, b.detach().numpy(), rtol=1e-4, atol=tolerance)
    return proto


def operators(proto):
    return [n.op_type for n in proto.graph.node if n.op_type != "Constant"]


def dims(value):
    return [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]


def axes(*names):
    return {"input_names": list(names), "dynamic_axes": {name: {0: "n"} for name in names}}


X = torch.arange(18.0).reshape(3, 6) - 7


@pytest.mark.parametrize(
    "fn",
    [
        lambda x, k: x[:, :k],
        lambda x, k: x[:, k:],
        lambda x, k: x[:, k : k + 1],
        lambda x, k: x[:, -k:],
        lambda x, k: x[..., 1:k],
    ],
)
def test_a_slice_by_a_tensor_varies_with_it(fn) -> None:
    check(module(fn), (X, torch.tensor(2)), (X, torch.tensor(4)), (X, torch.tensor(1)))


def test_squeezing_everything_is_decided_when_the_model_runs() -> None:
    proto = check(module(lambda x: x[None].squeeze()), (X,), (X[:1],), **axes("x"))
    assert operators(proto) == ["Unsqueeze", "Squeeze"]


def test_strides_over_a_tensor_of_dynamic_size() -> None:
    check(module(lambda x: x.contiguous().as_strided((2, 2), (1, 1))), (X,), (X[:2],), **axes("x"))


def test_a_script_takes_a_tensor_for_a_number() -> None:
    class Scale(nn.Module):
        def forward(self, x, k: int):
            return x * k

    check(torch.jit.script(Scale()), (X, torch.tensor(3)))


# ---- quantized


class Quantized(nn.Module):
    def __init__(self):
        super().__init__()
        self.quant = torch.ao.quantization.QuantStub()
        self.conv = nn.Conv2d(3, 4, 3)
        self.fc = nn.Linear(16, 5)
        self.dequant = torch.ao.quantization.DeQuantStub()

    def forward(self, x):
        x = self.conv(self.quant(x))
        return self.dequant(self.fc(x.reshape(x.size(0), -1)))


def quantized():
    torch.manual_seed(0)
    model = Quantized().eval()
    model.qconfig = torch.ao.quantization.get_default_qconfig("qnnpack")
    torch.ao.quantization.prepare(model, inplace=True)
    model(torch.randn(2, 3, 4, 4))
    return torch.ao.quantization.convert(model, inplace=True)


def test_sizes_of_quantized_tensors() -> None:
    q = torch.quantize_per_tensor(X, 0.1, 0, torch.quint8)
    assert torch.ops.aten.size.int(q, 1) == 6
    assert torch.ops.aten.stride.int(q, 0) == 6


def test_quantized_weights_stay_integers() -> None:
    model = quantized()
    proto = check(model, (torch.randn(2, 3, 4, 4),))
    bytes_ = [n for n in proto.graph.node if n.op_type == "Constant" and n.attribute[0].t.data_type == 3]
    assert [list(n.attribute[0].t.dims) for n in bytes_ if n.attribute[0].t.dims] == [[4, 3, 3, 3], [5, 16]]


def test_fake_quantization_has_no_unread_constants() -> None:
    proto = check(module(lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 255)), (X,))
    assert len(proto.graph.node) == 4


# ---- what is computed twice


@pytest.mark.parametrize(
    ("fn", "expected"),
    [
        (lambda x: (x + 1) * (x + 1), ["Add", "Mul"]),
        (lambda x: torch.relu(x) + torch.relu(x) * torch.relu(x), ["Relu", "Mul", "Add"]),
        (lambda x: x.sort(1)[0] + x.sort(1)[0], ["TopK", "Add"]),
        (lambda x: (x.exp(), x.exp()), ["Exp", "Exp"]),
        (lambda x: torch.relu(x) + torch.relu(x + 0.5), ["Relu", "Add", "Relu", "Add"]),
    ],
)
def test_equal_calls_are_written_once(fn, expected) -> None:
    assert operators(check(module(fn), (X,), (X * 2,))) == expected


def test_equal_random_calls_are_two() -> None:
    proto = write(module(lambda x: torch.rand_like(x) + torch.rand_like(x)), (X,))
    assert operators(proto).count("RandomUniformLike") == 2


def test_a_branch_computes_for_itself() -> None:
    class Choose(nn.Module):
        def forward(self, x):
            if bool(x.sum() > 0):
                y = x.exp() + 1
            else:
                y = x.exp() - 1
            return y * x.exp()

    check(torch.jit.script(Choose()), (X,), (-X,), tolerance=1e-2)


# ---- losses


SCORES = torch.randn(4, 5)
CLASSES = torch.tensor([0, 1, 4, 2])
WEIGHT = torch.arange(1.0, 6.0)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("ignored", [-100, 1])
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_losses_of_classes_are_one_node(reduction, ignored, weight) -> None:
    options = {"reduction": reduction, "ignore_index": ignored, "weight": weight}
    other = (SCORES[:3] * 2, torch.tensor([1, 3, 3]))
    given = (SCORES, CLASSES)
    model = module(lambda x, t: F.cross_entropy(x, t, **options))
    assert operators(check(model, given, other, **axes("x", "t"))) == ["SoftmaxCrossEntropyLoss"]
    model = module(lambda x, t: F.nll_loss(x, t, **options))
    assert operators(check(model, given, other, **axes("x", "t"))) == ["NegativeLogLikelihoodLoss"]


@pytest.mark.parametrize(
    "fn",
    [
        lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1),
        lambda x, t: F.cross_entropy(x, x.softmax(1)) + t.sum() * 0,
        lambda x, t: F.cross_entropy(x[0], t[0]),
    ],
)
def test_other_losses_are_composed(fn) -> None:
    assert "SoftmaxCrossEntropyLoss" not in operators(check(module(fn), (SCORES, CLASSES), opset_version=17))


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_the_square_of_a_difference_is_a_product(reduction) -> None:
    proto = check(module(lambda x, y: F.mse_loss(x, y, reduction=reduction)), (X, X * 2))
    assert operators(proto)[:2] == ["Sub", "Mul"]


# ---- operators of their own


IMAGE = torch.randn(2, 3, 6, 6)


@pytest.mark.parametrize(
    ("fn", "given", "opset", "expected"),
    [
        (lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True), IMAGE, 17, ["MaxPool", "MaxPool", "Slice", "Sub"]),
        (lambda x: F.adaptive_max_pool1d(x, 2), IMAGE[:, :, 0], 17, ["MaxPool"]),
        (lambda x: F.adaptive_avg_pool3d(x, 1), IMAGE[:, :, None], 17, ["GlobalAveragePool"]),
        (lambda x: torch.outer(x, x), X[0], 17, ["Einsum"]),
        (lambda x: torch.outer(x, x), X[0].long(), 17, ["Unsqueeze", "Mul"]),
        (lambda x: torch.rsqrt(x), X.abs() + 1, 17, ["Sqrt", "Div"]),
        (lambda x: torch.add(x, 3, alpha=0.5), X, 17, ["Add"]),
        (lambda x: x.movedim(1, 1) + 1, X, 17, ["Add"]),
        (lambda x: x <= 2, X.long(), 11, ["Greater", "Not"]),
        (lambda x: x << 2, torch.tensor([1, 3, 200], dtype=torch.uint8), 17, ["BitShift"]),
        (lambda x: x.tril(), X > 0, 17, ["Trilu"]),
        (lambda x: F.layer_norm(x, (2, 6)), torch.randn(3, 2, 6), 17, ["LayerNormalization"]),
        (lambda x: torch.var(x, 1, unbiased=False), X, 18, ["ReduceMean", "Sub", "Mul", "ReduceMean"]),
    ],
)
def test_nodes(fn, given, opset, expected) -> None:
    assert operators(check(module(fn), (given,), opset_version=opset)) == expected


def test_an_index_without_dimensions() -> None:
    proto = check(module(lambda x, i: torch.index_select(x, 1, i)), (X, torch.tensor(2)), (X, torch.tensor(0)))
    assert operators(proto) == ["Reshape", "Gather"]


def test_reductions_of_a_call_share_their_axes() -> None:
    proto = write(module(lambda x: torch.aminmax(x, dim=1)), (X,), opset_version=18)
    assert [n.op_type for n in proto.graph.node] == ["Constant", "ReduceMin", "ReduceMax"]


def test_grids_in_space() -> None:
    volume, grid = torch.randn(1, 1, 3, 3, 3), torch.rand(1, 2, 2, 2, 3) * 2 - 1
    model = module(lambda x, g: F.grid_sample(x, g, align_corners=False))
    assert operators(check(model, (volume, grid), opset_version=20)) == ["GridSample"]
    model = module(lambda t: F.affine_grid(t, (1, 1, 3, 4), align_corners=True))
    assert operators(check(model, (torch.randn(1, 2, 3),), opset_version=20)) == ["AffineGrid"]


def test_random_numbers_of_known_sizes_need_no_operand() -> None:
    proto = write(module(lambda x: torch.rand(3, 6) + x), (X,))
    assert operators(proto) == ["RandomUniform", "Add"]
    proto = write(module(torch.bernoulli), (X.sigmoid(),))
    assert operators(proto) == ["Bernoulli"]


def test_differences_of_sizes_are_subtracted() -> None:
    proto = check(module(lambda x: x[1 : x.size(0) - 1]), (X,), (torch.randn(6, 6),), **axes("x"))
    assert operators(proto) == ["Shape", "Gather", "Sub", "Unsqueeze", "Slice"]


def test_an_identity_of_dynamic_size() -> None:
    proto = check(module(lambda x: torch.eye(x.size(0), 5)), (X,), (X[:2],), **axes("x"))
    assert operators(proto)[-2:] == ["ConstantOfShape", "EyeLike"]


@pytest.mark.parametrize("make", [nn.RNN, nn.GRU, nn.LSTM])
def test_constant_states_of_layers_are_constants(make) -> None:
    class Layers(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = make(3, 4, num_layers=2, bidirectional=True)

        def forward(self, x):
            out, state = self.layers(x)
            return (out, *state) if isinstance(state, tuple) else (out, state)

    proto = check(Layers(), (torch.randn(5, 2, 3),), tolerance=1e-4)
    assert "Slice" not in operators(proto)


def test_an_unknown_size_has_one_name() -> None:
    proto = check(module(lambda x: torch.where(x > 0)), (X,), (X * -1,), input_names=["x"])
    assert dims(proto.graph.output[0]) == dims(proto.graph.output[1])


def test_the_rest_of_a_shape_with_named_sizes_is_known() -> None:
    model = module(lambda x: x.flatten(1).unflatten(1, (2, -1)))
    proto = check(model, (torch.randn(2, 4, 3),), (torch.randn(5, 4, 3),), **axes("x"))
    assert dims(proto.graph.output[0]) == ["n", 2, 6]
