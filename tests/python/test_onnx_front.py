# SPDX-License-Identifier: Apache-2.0
"""torch.onnx.export as its users call it: names and number of outputs, dynamic_axes, numbers that stand in tensors.
Every model is run by onnxruntime."""
import pytest

import ingot as torch
from ingot.utils import _pytree as pytree

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


class _Call(torch.nn.Module):
    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def forward(self, *args):
        return self.fn(*args)


def _model(fn, args, **options):
    module = fn if isinstance(fn, torch.nn.Module) else _Call(fn)
    return onnx.load_from_string(torch.onnx.export(module, args, verbose=False, verify=True, **options).model_bytes)


def _names(values):
    return [value.name for value in values]


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: x.chunk(2, 1)[0],
        lambda x: x.chunk(2, 1)[1],
        lambda x: x.split([1, 2, 1], 1)[1],
        lambda x: x.tensor_split(3, 1)[2],
    ],
)
def test_pieces_that_nobody_reads_have_names(fn):
    model = _model(fn, (torch.randn(2, 4),))
    for node in model.graph.node:
        assert all(node.output), node
    session = onnxruntime.InferenceSession(model.SerializeToString())
    x = torch.randn(2, 4)
    assert session.run(None, {session.get_inputs()[0].name: x.numpy()})[0].tolist() == fn(x).tolist()


@pytest.mark.parametrize(
    "fn, names",
    [
        (lambda x: (x + 1, torch.ones(3)), ["a", "b"]),
        (lambda x: torch.ones(3), ["a"]),
        (lambda x: (lambda t: (x, t, t * 2))(torch.ones(2)), ["a", "b", "c"]),
    ],
)
def test_constant_outputs_under_given_names(fn, names):
    model = _model(fn, (torch.randn(2, 4),), output_names=names)
    assert _names(model.graph.output) == names
    made = [name for node in model.graph.node for name in node.output]
    assert not set(made) & set(_names(model.graph.initializer))
    onnx.checker.check_model(model, full_check=True)
    onnxruntime.InferenceSession(model.SerializeToString())


def test_what_a_model_writes_is_no_output_of_export():
    def write(x):
        x.add_(3)
        return x * 2

    assert len(_model(write, (torch.ones(2),)).graph.output) == 1
    norm = torch.nn.BatchNorm1d(4).train()
    model = _model(norm, (torch.randn(3, 4),))
    assert len(model.graph.output) == 1
    assert not [name for name in _names(model.graph.initializer) if "running" in name or "tracked" in name]
    assert len(torch.onnx.dynamo_export(norm, torch.randn(3, 4)).model_proto.graph.output) == 4


@pytest.mark.parametrize(
    "module, shape, axes",
    [
        (torch.nn.GRU(4, 5, bidirectional=True), (3, 2, 4), {0: "time", 1: "batch"}),
        (torch.nn.LSTM(4, 5, num_layers=2, batch_first=True), (1, 3, 4), {0: "batch", 1: "time"}),
        (torch.nn.RNN(4, 5), (3, 1, 4), {0: "time", 1: "batch"}),
        (torch.nn.PixelShuffle(2), (1, 8, 3, 3), {0: "batch", 2: "height", 3: "width"}),
        (torch.nn.PixelShuffle(2), (1, 8, 3, 3), {1: "channels"}),
        (torch.nn.Linear(3, 2), (1, 3), {0: "batch"}),
    ],
)
def test_named_axes_stay_symbolic(module, shape, axes):
    x = torch.randn(*shape)
    model = _model(module, (x,), input_names=["x"], dynamic_axes={"x": axes})
    dims = model.graph.input[0].type.tensor_type.shape.dim
    assert {axis: dims[axis].dim_param for axis in axes} == axes
    session = onnxruntime.InferenceSession(model.SerializeToString())
    grown = [2 * n if i in axes else n for i, n in enumerate(shape)]
    for sizes in (shape, grown):
        y = torch.randn(*sizes)
        with torch.no_grad():
            want = pytree.tree_leaves(module(y))
        for found, expected in zip(session.run(None, {"x": y.numpy()}), want, strict=True):
            torch.testing.assert_close(torch.tensor(found), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "fn, args",
    [
        (lambda x: torch.full((2,), x.sum()), (torch.ones(3),)),
        (lambda t: torch.arange(t), (torch.tensor(3),)),
        (lambda x, t: x.topk(t)[0], (torch.arange(8.0).reshape(2, 4), torch.tensor(2))),
        (lambda t: torch.zeros([t, 3]), (torch.tensor(3),)),
        (lambda x, t: x.view(t, 4), (torch.arange(8.0), torch.tensor(2))),
        (lambda x, t: torch.add(x, x, alpha=t), (torch.ones(3), torch.tensor(2))),
    ],
)
def test_tensors_without_dimensions_stand_for_numbers(fn, args):
    model = _model(fn, args)
    assert len(model.graph.input) == len(args)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    feeds = {i.name: a.numpy() for i, a in zip(session.get_inputs(), args, strict=True)}
    torch.testing.assert_close(torch.tensor(session.run(None, feeds)[0]), fn(*args))
