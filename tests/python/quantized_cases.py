# SPDX-License-Identifier: Apache-2.0
"""Calls on quantized tensors for PyTorch and for Ingot; tools/make_quantized.py records what PyTorch gives."""

from __future__ import annotations

import math
from typing import Any


def names(torch: Any) -> dict[str, Any]:
    """What the expressions of CASES may use."""

    def t(seed: int, *shape: int) -> Any:
        n = math.prod(shape)
        values = [((i * 7919 + seed * 104729) % 1009) / 1009 * 4 - 2 for i in range(n)]
        return torch.tensor(values).reshape(shape)

    def qu(seed: int, *shape: int, scale: float = 0.031, zero: int = 60) -> Any:
        return torch.quantize_per_tensor(t(seed, *shape), scale, zero, torch.quint8)

    def qi(seed: int, *shape: int, scale: float = 0.017, zero: int = 0) -> Any:
        return torch.quantize_per_tensor(t(seed, *shape), scale, zero, torch.qint8)

    def qc(seed: int, *shape: int, axis: int = 0) -> Any:
        n = shape[axis]
        scales = torch.tensor([0.011 + 0.003 * (i % 5) for i in range(n)])
        return torch.quantize_per_channel(t(seed, *shape), scales, torch.zeros(n, dtype=torch.long), axis, torch.qint8)

    def small(seed: int, *shape: int) -> Any:
        """Half of the range, so that PyTorch's kernels do not saturate."""
        return torch.quantize_per_tensor(t(seed, *shape), 0.034, 62, torch.quint8)

    Q = torch.ops.quantized

    def linear(x: Any, w: Any, b: Any, op: str = "linear") -> Any:
        return getattr(Q, op)(x, Q.linear_prepack(w, b), 0.09, 50)

    def dynamic(x: Any, w: Any, b: Any, reduce: bool = True) -> Any:
        return Q.linear_dynamic(x, Q.linear_prepack(w, b), reduce)

    def conv(nd: int, x: Any, w: Any, b: Any, stride: int = 1, padding: int = 0, dilation: int = 1, groups: int = 1,
             relu: bool = False) -> Any:  # fmt: skip
        packed = getattr(Q, f"conv{nd}d_prepack")(w, b, [stride] * nd, [padding] * nd, [dilation] * nd, groups)
        return getattr(Q, f"conv{nd}d" + ("_relu" if relu else ""))(x, packed, 0.11, 40)

    def transposed(
        nd: int, x: Any, w: Any, b: Any, stride: int = 1, padding: int = 0, more: int = 0, groups: int = 1
    ) -> Any:
        packed = getattr(Q, f"conv_transpose{nd}d_prepack")(
            w, b, [stride] * nd, [padding] * nd, [more] * nd, [1] * nd, groups
        )
        return getattr(Q, f"conv_transpose{nd}d")(x, packed, 0.2, 60)

    return {"torch": torch, "F": torch.nn.functional, **locals()}


def describe(torch: Any, v: Any) -> Any:
    """A result as plain data."""
    if isinstance(v, torch.Tensor):
        out: dict[str, Any] = {"dtype": str(v.dtype).rpartition(".")[2], "shape": list(v.shape)}
        if v.is_quantized:
            out["v"] = v.int_repr().flatten().tolist()
            out["scheme"] = str(v.qscheme()).rpartition(".")[2]
            if out["scheme"] == "per_tensor_affine":
                out["scale"], out["zero"] = v.q_scale(), v.q_zero_point()
            else:
                out["scale"] = v.q_per_channel_scales().tolist()
                out["zero"], out["axis"] = v.q_per_channel_zero_points().tolist(), v.q_per_channel_axis()
        else:
            out["v"] = v.flatten().tolist()
        return out
    if isinstance(v, (tuple, list)):
        return [describe(torch, item) for item in v]
    return v if isinstance(v, (int, float, bool, str, type(None))) else str(v)


CASES = [
    "qu(1, 3, 4)",
    "qi(2, 5)",
    "qc(3, 4, 3)",
    "qc(3, 4, 3, axis=1)",
    "qu(1, 3, 4).dequantize()",
    "torch.quantize_per_tensor(t(1, 9), 0.1, 5, torch.qint32)",
    "torch.quantize_per_tensor(t(1, 9), torch.tensor(0.1), torch.tensor(5), torch.quint8)",
    "torch.quantize_per_tensor([t(1, 3), t(2, 2)], torch.tensor([0.1, 0.2]), torch.tensor([3, 4]), torch.quint8)",
    "torch.quantize_per_tensor_dynamic(t(4, 3, 5), torch.quint8, False)",
    "torch.quantize_per_tensor_dynamic(t(4, 3, 5).abs(), torch.qint8, True)",
    "torch.quantize_per_tensor_dynamic(t(4, 3, 5) * 1e-7, torch.quint8, True)",
    "torch._choose_qparams_per_tensor(t(4, 3, 5), True)",
    "torch.quantize_per_channel(t(1, 3, 4), torch.tensor([0.1, 0.2, 0.3]), torch.tensor([1.5, 2.0, 0.25]), 0, torch.quint8)",  # noqa: E501
    "torch.quantize_per_channel(t(1, 3, 4), torch.tensor([0.1, 0.2]), torch.tensor([1, 2]), 0, torch.qint8)",
    "torch.quantize_per_tensor(t(1, 3), 0.1, 300, torch.quint8)",
    "torch.quantize_per_tensor(t(1, 3).double(), 0.1, 3, torch.quint8)",
    "torch._make_per_tensor_quantized_tensor(torch.tensor([1, 2, 255], dtype=torch.uint8), 0.5, 1)",
    "torch._make_per_channel_quantized_tensor(torch.tensor([[1], [2]], dtype=torch.int8), torch.tensor([0.5, 0.2]), torch.tensor([1, 0]), 0)",  # noqa: E501
    "qu(1, 3, 4).t()",
    "qu(1, 3, 4)[1:, ::2]",
    "qu(1, 3, 4).reshape(2, 6)",
    "qu(1, 3, 4).permute(1, 0).contiguous()",
    "qu(1, 3, 4).unbind()",
    "torch.stack([qu(1, 3), qu(2, 3)])",
    "torch.cat([qu(1, 3), qu(2, 3, scale=0.05, zero=3)])",
    "qc(3, 4, 3)[1]",
    "qc(3, 4, 3)[1:3]",
    "qc(3, 4, 3)[:, 1:]",
    "qc(3, 4, 3).unsqueeze(0)",
    "qc(3, 4, 3).t()",
    "qc(3, 4, 3).clone()",
    "qu(1, 3, 4).clone().copy_(t(9, 3, 4))",
    "qu(1, 3, 4).clone().copy_(qu(2, 3, 4, scale=0.5))",
    "qu(1, 3, 4).flip(0)",
    "qu(1, 3, 4).index_select(1, torch.tensor([2, 0]))",
    "qu(1, 3, 4).topk(2)",
    "qu(1, 3, 4).sort()",
    "qu(1, 3, 4).max(1)",
    "qu(1, 3, 4).masked_fill(t(1, 3, 4) > 0, 1.0)",
    "qu(1, 3, 4)[0, 0].item()",
    "torch.equal(qu(1, 3), qu(1, 3))",
    "torch.equal(qu(1, 3), qu(1, 3, zero=61))",
    "qu(1, 3, 4).relu()",
    "qu(1, 3, 4).sigmoid()",
    "qi(1, 3, 4).sigmoid()",
    "qu(1, 3, 4).tanh()",
    "qi(1, 3, 4).tanh()",
    "qu(1, 3, 4).clamp(-0.5, 1.0)",
    "F.leaky_relu(qu(1, 3, 4), 0.1)",
    "F.hardtanh(qu(1, 3, 4))",
    "F.hardsigmoid(qu(1, 3, 4))",
    "F.threshold(qu(1, 3, 4), 0.1, 0.5)",
    "qu(1, 3, 4).mean(1)",
    "qu(1, 3, 4) == qu(2, 3, 4)",
    "qu(1, 3, 4) > 0.2",
    "F.max_pool2d(qu(1, 1, 2, 6, 6), 3, 2, 1)",
    "F.avg_pool2d(qu(1, 1, 2, 6, 6), 2)",
    "F.adaptive_avg_pool2d(qu(1, 1, 2, 6, 6), 2)",
    "F.interpolate(qu(1, 1, 2, 3, 3), scale_factor=2)",
    "F.pad(qu(1, 1, 2, 3), [1, 2])",
    "qu(1, 3, 4) + qu(1, 3, 4)",
    "-qu(1, 3, 4)",
    "qu(1, 3, 4).argmax()",
    "torch.mm(qu(1, 3, 3), qu(1, 3, 3))",
    "F.softmax(qu(1, 3, 4), 1)",
    "qu(1, 3, 4).to(torch.float32)",
    "t(1, 3).copy_(qu(1, 3))",
    "t(1, 3).q_scale()",
    "qc(1, 3, 4).q_scale()",
    "Q.add(qu(1, 3, 4), qu(2, 3, 4), 0.05, 70)",
    "Q.add_relu(qu(1, 3, 4), qu(2, 3, 4), 0.05, 7)",
    "Q.mul(qu(1, 3, 4), qu(2, 3, 4), 0.05, 70)",
    "Q.mul_relu(qu(1, 3, 4), qu(2, 3, 4), 0.05, 7)",
    "Q.add_scalar(qu(1, 3, 4), 0.5)",
    "Q.add_scalar(qu(1, 3, 4), 9.5)",
    "Q.add_scalar_relu(qu(1, 3, 4), -9.5)",
    "Q.mul_scalar(qu(1, 3, 4), 1.5)",
    "Q.mul_scalar(qu(1, 3, 4), -1.5)",
    "Q.mul_scalar(qu(1, 3, 4), 0.0)",
    "Q.cat([qu(1, 3), qu(2, 3)], 0, 0.04, 64)",
    "Q.relu6(qu(1, 3, 4, scale=0.1, zero=100))",
    "Q.leaky_relu(qu(1, 3, 4), 0.2, False, 0.03, 40)",
    "Q.hardswish(qu(1, 3, 4), 0.03, 40)",
    "Q.sigmoid(qu(1, 3, 4), 0.005, 2)",
    "Q.elu(qu(1, 3, 4), 0.03, 40, 1.0)",
    "Q.celu(qu(1, 3, 4), 0.03, 40, 1.0)",
    "Q.layer_norm(qu(1, 3, 4), [4], t(5, 4), t(6, 4), 1e-5, 0.03, 100)",
    "Q.group_norm(qu(1, 2, 4, 3), 2, t(5, 4), t(6, 4), 1e-5, 0.03, 100)",
    "Q.instance_norm(qu(1, 2, 4, 3), t(5, 4), t(6, 4), 1e-5, 0.03, 100)",
    "Q.batch_norm2d(qu(1, 2, 3, 2, 2), t(5, 3), t(6, 3), t(7, 3), t(8, 3).abs() + 0.5, 1e-5, 0.03, 100)",
    "linear(small(1, 5, 7), qi(2, 4, 7), t(3, 4))",
    "linear(small(1, 5, 7), qi(2, 4, 7), None)",
    "linear(small(1, 5, 7), qc(2, 4, 7), t(3, 4))",
    "linear(small(1, 5, 7), qc(2, 4, 7), t(3, 4), 'linear_relu')",
    "linear(small(1, 2, 3, 40), qc(2, 33, 40), t(3, 33))",
    "linear(small(1, 70, 130), qc(2, 50, 130), t(3, 50))",
    "dynamic(t(1, 5, 7), qi(2, 4, 7), t(3, 4))",
    "dynamic(t(1, 5, 7), qc(2, 4, 7), None)",
    "Q.linear_unpack(Q.linear_prepack(qc(2, 4, 7), t(3, 4)))",
    "Q.linear(t(1, 5, 7), Q.linear_prepack(qi(2, 4, 7), None), 0.1, 3)",
    "conv(2, small(1, 2, 3, 6, 6), qi(2, 4, 3, 3, 3), t(3, 4))",
    "conv(2, small(1, 2, 3, 6, 6), qc(2, 4, 3, 3, 3), t(3, 4), padding=1, relu=True)",
    "conv(2, small(1, 2, 4, 7, 7), qc(2, 6, 2, 3, 3), None, stride=2, padding=1, groups=2)",
    "conv(2, small(1, 1, 4, 7, 7), qc(2, 4, 1, 3, 3), t(3, 4), padding=2, dilation=2, groups=4)",
    "conv(1, small(1, 2, 3, 9), qc(2, 4, 3, 3), t(3, 4), padding=1)",
    "conv(3, small(1, 1, 2, 4, 4, 4), qc(2, 3, 2, 2, 2, 2), t(3, 3))",
    "transposed(2, small(1, 1, 3, 4, 4), qi(2, 3, 2, 3, 3), t(3, 2), stride=2, padding=1, more=1)",
    "transposed(1, small(1, 1, 3, 6), qi(2, 3, 2, 3), None)",
    "Q.conv2d_prepack(qc(2, 4, 3, 3, 3), t(3, 4), [1, 2], [0, 1], [1, 1], 1).__getstate__()",
    "Q.conv2d_stride(Q.conv2d_prepack(qc(2, 4, 3, 3, 3), None, [1, 2], [0, 1], [1, 1], 1))",
    "Q.embedding_byte(Q.embedding_bag_prepack(torch.quantize_per_channel(t(1, 5, 4), torch.tensor([0.1, 0.2, 0.1, 0.3, 0.2]), torch.tensor([1.5, 2.0, 0.5, 1.0, 0.0]), 0, torch.quint8)), torch.tensor([0, 3, 3]))",  # noqa: E501
    "torch.fake_quantize_per_tensor_affine(t(1, 7), 0.1, 3, 0, 31)",
]
