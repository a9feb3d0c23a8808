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
