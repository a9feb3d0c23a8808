# SPDX-License-Identifier: Apache-2.0
"""torch.onnx.verification.verify on small models: exported with dynamo=False, run by onnxruntime, compared with the
module on the example and on other sizes."""

import warnings

import pytest

onnxruntime = pytest.importorskip("onnxruntime")

import ingot as torch  # noqa: E402
import ingot.nn.functional as F  # noqa: E402
from ingot import Tensor, nn  # noqa: E402
from ingot.ao import quantization as q  # noqa: E402
from ingot.ao.nn import quantized as nnq  # noqa: E402
from ingot.ao.nn.intrinsic import quantized as fused  # noqa: E402
from ingot.onnx import verification  # noqa: E402


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def verify(model, *args, others=(), opset=17, dynamic=(), **options):
    """others: arguments of other sizes; dynamic: for every argument its axes that may differ."""
    names = [f"x{i}" for i in range(len(args))] if dynamic else None
    axes = {f"x{i}": {axis: f"x{i}_{axis}" for axis in row} for i, row in enumerate(dynamic)} if dynamic else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        verification.verify(
            model,
            args,
            input_names=names,
            dynamic_axes=axes,
            additional_test_inputs=list(others) or None,
            opset_version=opset,
            options=verification.VerificationOptions(**options),
        )


def call(fn):
    class Call(nn.Module):
        def forward(self, *args):
            return fn(*args)

    return Call()


# ---- quantized tensors as arguments and results


def quantized(*sizes, dtype=torch.quint8):
    return torch.quantize_per_tensor(torch.randn(*sizes), 0.1, 10, dtype)


def weighted(module, *sizes, scales=None):
    """A quantized layer with weights; scales: one per channel."""
    numbers = torch.randn(*sizes)
    if scales is None:
        weight = torch.quantize_per_tensor(numbers, 0.1, 0, torch.qint8)
    else:
        zeros = torch.zeros(len(scales), dtype=torch.int64)
        weight = torch.quantize_per_channel(numbers, scales, zeros, 0, torch.qint8)
    module.set_weight_bias(weight, torch.randn(sizes[0]))
    module.scale, module.zero_point = 0.3, 8
    return module


def norm_parts():
    return nn.Parameter(torch.ones(6)), nn.Parameter(torch.zeros(6)), 0.1, 10


# One step of the grid may differ where a value lies between two.
STEPS = {"acceptable_error_percentage": 0.1, "atol": 1e-2}

LAYERS = {
    "linear": (lambda: weighted(nnq.Linear(4, 5), 5, 4), (3, 4)),
    "linear by channel": (lambda: weighted(nnq.Linear(4, 5), 5, 4, scales=torch.rand(5) * 0.1 + 0.01), (3, 4)),
    "linear and relu": (lambda: weighted(fused.LinearReLU(4, 5), 5, 4), (3, 4)),
    "conv1d": (lambda: weighted(nnq.Conv1d(2, 4, 2), 4, 2, 2), (1, 2, 5)),
    "conv2d": (lambda: weighted(nnq.Conv2d(2, 4, 2), 4, 2, 2, 2), (1, 2, 5, 5)),
    "conv2d and relu": (lambda: weighted(fused.ConvReLU2d(2, 4, 2), 4, 2, 2, 2), (1, 2, 5, 5)),
    "conv3d": (lambda: weighted(nnq.Conv3d(2, 4, 2), 4, 2, 2, 2, 2), (1, 2, 4, 4, 4)),
    "hardswish": (lambda: nnq.Hardswish(0.1, 10), (2, 6)),
    "sigmoid": (lambda: nnq.Sigmoid(0.1, 10), (2, 6)),
    "leaky_relu": (lambda: nnq.LeakyReLU(0.1, 10, 0.2), (2, 6)),
    "layer_norm": (lambda: nnq.LayerNorm(6, *norm_parts()), (2, 6)),
    "group_norm": (lambda: nnq.GroupNorm(2, 6, *norm_parts()), (2, 6, 4, 4)),
    "instance_norm": (lambda: nnq.InstanceNorm2d(6, *norm_parts()), (2, 6, 4, 4)),
    "relu": (nn.ReLU, (2, 6)),
    "max_pool": (lambda: nn.MaxPool2d(2), (1, 2, 6, 6)),
    "avg_pool": (lambda: nn.AvgPool2d(2), (1, 2, 6, 6)),
    "upsample": (lambda: nn.Upsample(scale_factor=2), (1, 2, 6, 6)),
    "flatten": (nn.Flatten, (1, 2, 3)),
    "dequantize": (nnq.DeQuantize, (2, 6)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_quantized_layers(name):
    make, sizes = LAYERS[name]
    verify(make().eval(), quantized(*sizes), **STEPS)


def test_quantized_arguments_and_results():
    verify(nn.ReLU(), quantized(2, 3, dtype=torch.qint8), **STEPS)
    verify(call(lambda x: torch.quantize_per_tensor(x, 0.1, 10, torch.quint8)), torch.randn(2, 3), **STEPS)
    verify(call(lambda x, y: torch.ops.quantized.cat([x, y], 1, 0.1, 4)), quantized(2, 3), quantized(2, 3), **STEPS)
    verify(call(lambda x, y: (y + 1, x.view(3, 2))), quantized(2, 3), torch.randn(2), **STEPS)


def test_names_of_quantized_arguments():
    import io

    onnx = pytest.importorskip("onnx")
    sink = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(nn.ReLU(), (quantized(2, 3),), sink, dynamo=False, output_names=["y"])
    graph = onnx.load_from_string(sink.getvalue()).graph
    kinds = [(i.name, i.type.tensor_type.elem_type) for i in graph.input]
    assert kinds == [("input_value", 2), ("input_scale", 11), ("input_zero_point", 7)]
    assert [o.type.tensor_type.elem_type for o in graph.output] == [2, 1, 2]
    assert graph.output[0].name == "y"


def test_unpacked_tensors():
    x = quantized(2, 3)
    value, scale, zero = torch.onnx.utils.unpack_quantized_tensor(x)
    assert (value.dtype, scale.dtype, zero.dtype) == (torch.uint8, torch.float64, torch.int64)
    _, scale, zero = torch.onnx.utils.unpack_quantized_tensor(x, cast_onnx_accepted=False)
    assert (scale.dtype, zero.dtype) == (torch.float32, torch.uint8)
    torch.testing.assert_close(x, x)
    with pytest.raises(AssertionError, match="not close"):
        torch.testing.assert_close(x, torch.quantize_per_tensor(torch.ones(2, 3), 0.1, 10, torch.quint8))


def test_scale_of_a_buffer_is_data():
    """A quantizer has numbers: the scale that an exported program reads from a buffer is not its hint, 0."""

    class Reads(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("scale", torch.tensor(0.1))

        def forward(self, x):
            return torch.quantize_per_tensor(x, self.scale.item(), 10, torch.quint8).dequantize()

    with pytest.raises(Exception, match="data-dependent"):
        torch.export.export(Reads(), (torch.randn(3),))
    verify(Reads(), torch.randn(3), **STEPS)


# ---- simulated quantization


@pytest.mark.parametrize("limits", [(0, 255), (-128, 127), (0, 127)])
def test_simulated_quantization_with_tensors(limits):
    class Simulated(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("scale", torch.tensor([0.1]))
            self.register_buffer("zero", torch.tensor([3], dtype=torch.int32))

        def forward(self, x):
            return torch.fake_quantize_per_tensor_affine(x, self.scale, self.zero, *limits)

    verify(Simulated(), torch.randn(4, 3), atol=1e-2)


def test_prepared_model():
    fake = q.FakeQuantize(observer=q.MovingAverageMinMaxObserver, quant_min=0, quant_max=255)
    fake(torch.randn(3, 4))
    fake.disable_observer()
    verify(fake.eval(), torch.randn(4, 3), atol=1e-1)


# ---- attributes that a trace follows


@pytest.mark.parametrize("dim", [0, 1, None])
def test_weight_norm(dim):
    verify(torch.nn.utils.weight_norm(nn.Linear(3, 4), dim=dim), torch.randn(2, 3))


def test_spectral_norm():
    verify(torch.nn.utils.spectral_norm(nn.Linear(3, 4)), torch.randn(2, 3))


def test_frozen_script():
    verify(torch.jit.freeze(torch.jit.script(nn.Sequential(nn.Linear(3, 4), nn.ReLU()).eval())), torch.randn(2, 3))


# ---- sizes and numbers that are known when the model runs


class SizesAsTensor(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.tensor([[x.size(0), 2], [x.size(1), 4]]).float() * x.sum()


def test_list_of_sizes_as_tensor():
    model = torch.jit.script(SizesAsTensor())
    verify(model, torch.randn(2, 3), others=[(torch.randn(5, 4),)], dynamic=[(0, 1)], flatten=False)


def test_linspace_of_sizes_and_data():
    verify(
        call(lambda x: torch.linspace(0.0, 1.0, x.size(0))),
        torch.randn(4),
        others=[(torch.randn(7),), (torch.randn(1),)],
        dynamic=[(0,)],
    )
    verify(call(lambda a, b: torch.linspace(a, b, 5)), torch.tensor(1.0), torch.tensor(7.0))


def test_squeeze_of_an_axis_that_may_be_one():
    verify(call(lambda x: x.squeeze(1)), torch.randn(2, 3, 4), others=[(torch.randn(2, 1, 4),)], dynamic=[(0, 1, 2)])


def test_windows_of_dynamic_sizes():
    """What is known of the sizes shares parts of products; all axes stay dynamic."""

    def windows(x):
        b, h, w, c = x.shape
        x = x.view(b, h // 2, 2, w // 2, 2, c)
        return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, 2, 2, c)

    verify(call(windows), torch.randn(1, 4, 6, 3), others=[(torch.randn(2, 6, 4, 3),)], dynamic=[(0, 1, 2)])


# ---- operators


@pytest.mark.parametrize("reduce", ["sum", "prod", "amax", "amin"])
def test_scatter_reduce(reduce):
    index = torch.tensor([[0, 1, 2], [2, 0, 2]])
    verify(
        call(lambda x, i, s: x.scatter_reduce(0, i, s, reduce=reduce)), torch.rand(3, 3) + 0.1, index, torch.rand(2, 3)
    )


def test_multinomial():
    certain = torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    verify(call(lambda p: torch.multinomial(p, 1)), certain)
    verify(call(lambda p: torch.multinomial(p, 4, replacement=True)), certain)
    verify(call(lambda p: torch.multinomial(p, 2, replacement=True)), certain[0])


def test_copy_into_an_argument():
    def copied(x, v):
        x[...] = v
        return x + F.relu(v)

    verify(call(copied), torch.randn(3, 4), torch.randn(4), remained_onnx_input_idx=[1])
