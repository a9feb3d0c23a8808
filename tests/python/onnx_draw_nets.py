# SPDX-License-Identifier: Apache-2.0
"""Makers of random models: products, windows, recurrent, quantized, losses, signals, attention, control flow."""
from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from onnx_draw import FLOATS, Draw, maker

# ---- products, windows


@maker(13, "MatMul")
def matmul(d: Draw) -> list[str]:
    kind, n, k, m = d.type(*FLOATS, "int32", "int64"), d.int(1, 4), d.int(1, 4), d.int(1, 4)
    outer = [d.int(1, 3) for _ in range(d.int(0, 2))]
    a, b = [*d.broadcast(outer), n, k], [*outer, k, m]
    if d.chance(0.15):
        a = [k]
    elif d.chance(0.15):
        b = [k]
    return d.node([d.feed(d.array(kind, a)), d.feed(d.array(kind, b))])


@maker(13, "Gemm")
def gemm(d: Draw) -> list[str]:
    kind, n, k, m = d.type("float32", "float64"), d.int(1, 4), d.int(1, 4), d.int(1, 4)
    ta, tb = d.int(0, 1), d.int(0, 1)
    c = d.feed(d.array(kind, d.broadcast([n, m]))) if d.chance(0.7) else ""
    a, b = d.array(kind, [k, n] if ta else [n, k]), d.array(kind, [m, k] if tb else [k, m])
    return d.node([d.feed(a), d.feed(b), c], transA=ta, transB=tb, **d.maybe(alpha=0.5, beta=1.5))


@maker(13, "MatMulInteger")
def matmul_integer(d: Draw) -> list[str]:
    ka, kb, n, k, m = d.type("uint8", "int8"), d.type("uint8", "int8", at=1), d.int(1, 4), d.int(1, 4), d.int(1, 4)
    a, b = d.feed(d.array(ka, [n, k], 0, 100)), d.feed(d.array(kb, [k, m], 0, 100))
    zero_a = d.feed(np.asarray(d.int(0, 50), ka)) if d.chance(0.7) else ""
    zero_b = d.feed(d.array(kb, [m] if d.chance() else [], 0, 50)) if d.chance(0.7) else ""
    return d.node([a, b, zero_a, zero_b])


def window(d: Draw, dims: int, transposed: bool = False) -> tuple[dict[str, Any], list[int], list[int]]:
    kernel = [d.int(1, 3) for _ in range(dims)]
    given: dict[str, Any] = {}
    if d.chance():
        given["strides"] = [d.int(1, 3) for _ in range(dims)]
    if d.chance(0.3):
        given["dilations"] = [d.int(1, 2) for _ in range(dims)]
    dilated = [(k - 1) * e + 1 for k, e in zip(kernel, given.get("dilations", [1] * dims), strict=True)]
    if d.chance(0.3):  # others disagree with the standard where SAME meets dilations
        given["auto_pad"] = "VALID" if "dilations" in given else d.one_of("SAME_UPPER", "SAME_LOWER", "VALID")
    elif d.chance():
        given["pads"] = [d.int(0, k - 1) for k in kernel + kernel]
    size = [d.int(n, n + 4) for n in dilated]
    return given, kernel, size


@maker(13, "Conv")
def conv(d: Draw) -> list[str]:
    dims = d.int(1, 3)
    given, kernel, size = window(d, dims)
    group, per = d.one_of(1, 1, 2, 3), d.int(1, 2)
    out = group * d.int(1, 2)
    kind = d.type("float32", "float32", "float64")
    x, w = d.feed(d.array(kind, [d.int(1, 2), group * per, *size])), d.feed(d.array(kind, [out, per, *kernel]))
    b = d.feed(d.array(kind, [out])) if d.chance() else ""
    return d.node([x, w, b], **given, **d.maybe(kernel_shape=kernel), **({"group": group} if group > 1 else {}))


@maker(13, "ConvInteger")
def conv_integer(d: Draw) -> list[str]:
    given, kernel, size = window(d, 2)
    c, out = d.int(1, 2), d.int(1, 2)
    x, w = d.feed(d.array("uint8", [1, c, *size], 0, 100)), d.feed(d.array("uint8", [out, c, *kernel], 0, 100))
    return d.node([x, w, d.feed(np.asarray(d.int(0, 50), "uint8")) if d.chance() else ""], **given)


@maker(13, "ConvTranspose")
def conv_transpose(d: Draw) -> list[str]:
    dims = d.int(1, 2)
    given, kernel, size = window(d, dims)
    strides = given.get("strides", [1] * dims)
    if any(s > k for s, k in zip(strides, kernel, strict=True)):
        given.pop("auto_pad", None)  # onnxruntime has no negative pads
    if d.chance(0.3) and "auto_pad" not in given:
        given["output_padding"] = [d.int(0, s - 1) for s in strides]
    group, per_in, per_out = d.one_of(1, 1, 2), d.int(1, 2), d.int(1, 2)
    x, w = (
        d.array("float32", [d.int(1, 2), group * per_in, *size]),
        d.array("float32", [group * per_in, per_out, *kernel]),
    )
    b = d.feed(d.array("float32", [group * per_out])) if d.chance() else ""
    return d.node([d.feed(x), d.feed(w), b], **given, **d.maybe(kernel_shape=kernel), group=group)


@maker(13, "MaxPool", "AveragePool", "LpPool")
def pool(d: Draw) -> list[str]:
    dims = d.int(1, 3)
    given, kernel, size = window(d, dims)
    if "SAME" in given.get("auto_pad", ""):
        kernel = [max(k, s) for k, s in zip(kernel, given.get("strides", [1] * dims), strict=True)]
    if d.opset < 19 and d.op == "AveragePool" or d.opset < 18 and d.op == "LpPool":
        given.pop("dilations", None)
    if d.op == "LpPool":
        if d.opset >= 18 and d.chance(0.3):
            given["ceil_mode"] = 1
        given |= d.maybe(p=d.one_of(1, 2, 3))
    else:
        given |= d.maybe(ceil_mode=d.int(0, 1))
    if d.op == "AveragePool":
        given |= d.maybe(count_include_pad=d.int(0, 1))
    indices = d.op == "MaxPool" and d.chance(0.4)
    if indices and d.chance(0.3):
        given["storage_order"] = 1
    kind = "float32" if d.chance(0.8) else d.type("float64", "uint8", "int8") if d.op == "MaxPool" else "float32"
    x = d.feed(d.array(kind, [d.int(1, 2), d.int(1, 3), *size]))
    return d.node([x], 2 if indices else 1, kernel_shape=kernel, **given)


@maker(13, "GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(d: Draw) -> list[str]:
    shape = [d.int(1, 4) for _ in range(d.int(3, 5))]
    return d.node([d.feed(d.array("float32", shape))], p=d.int(1, 3) if d.op == "GlobalLpPool" else None)


@maker(13, "MaxUnpool")
def max_unpool(d: Draw) -> list[str]:
    n, c, h, w, k = d.int(1, 2), d.int(1, 2), d.int(1, 3), d.int(1, 3), d.int(2, 3)
    index = np.stack([np.sort(d.n.permutation(h * w * k * k)[: h * w]) + i * h * w * k * k for i in range(n * c)])
    return d.node(
        [d.feed(d.array("float32", [n, c, h, w])), d.feed(index.reshape(n, c, h, w))],
        kernel_shape=[k, k],
        strides=[k, k],
    )


@maker(13, "MaxRoiPool")
def max_roi_pool(d: Draw) -> list[str]:
    rois = np.array(
        [[0, *sorted((d.int(0, 4), d.int(0, 4))), d.int(4, 6), d.int(4, 6)] for _ in range(d.int(1, 3))], "float32"
    )
    return d.node(
        [d.feed(d.array("float32", [1, 2, 8, 8])), d.feed(rois)],
        pooled_shape=[d.int(1, 3), d.int(1, 3)],
        **d.maybe(spatial_scale=0.5),
    )


@maker(16, "RoiAlign")
def roi_align(d: Draw) -> list[str]:
    k = d.int(1, 3)
    corner = d.n.uniform(0, 4, (k, 2))
    rois = np.concatenate([corner, corner + d.n.uniform(1, 5, (k, 2))], 1).astype("float32")
    given = d.maybe(
        mode=d.one_of("avg", "max"),
        output_height=2,
        output_width=3,
        sampling_ratio=d.int(0, 2),
        spatial_scale=0.5,
        coordinate_transformation_mode=d.one_of("half_pixel", "output_half_pixel"),
    )
    if given.get("mode") == "max":
        given["mode"] = "avg"  # engines differ in what the largest is of
    return d.node([d.feed(d.array("float32", [2, 2, 8, 8])), d.feed(rois), d.feed(d.n.integers(0, 2, [k]))], **given)


@maker(13, "NonMaxSuppression")
def nms(d: Draw) -> list[str]:
    batches, classes, k = d.int(1, 2), d.int(1, 2), d.int(1, 6)
    corner = d.n.uniform(0, 4, (batches, k, 2))
    boxes = np.concatenate([corner, corner + d.n.uniform(1, 4, (batches, k, 2))], 2).astype("float32")
    scores = d.n.permutation(batches * classes * k).reshape(batches, classes, k).astype("float32") / 10
    limits = [
        d.feed(np.array([d.int(0, 4)])) if d.chance(0.9) else "",
        d.feed(np.array([0.4], "float32")) if d.chance() else "",
        d.feed(np.array([0.3], "float32")) if d.chance() else "",
    ]
    return d.node([d.feed(boxes), d.feed(scores), *limits], **d.maybe(center_point_box=d.int(0, 1)))


@maker(13, "Resize")
def resize(d: Draw) -> list[str]:
    shape = [1, d.int(1, 2), d.int(1, 5), d.int(1, 5)]
    mode = d.one_of("nearest", "linear", "cubic")
    how = d.one_of(
        "half_pixel",
        "pytorch_half_pixel",
        "align_corners",
        "asymmetric",
        *(["half_pixel_symmetric"] if d.opset >= 19 else []),
    )
    given: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": how}
    if mode == "nearest":
        given |= d.maybe(nearest_mode=d.one_of("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"))
    if mode == "cubic":
        given |= d.maybe(cubic_coeff_a=-0.5, exclude_outside=d.int(0, 1))
    if d.opset >= 18 and mode != "nearest" and d.chance(0.3):
        given["antialias"] = 1
        given["coordinate_transformation_mode"] = d.one_of("half_pixel", "align_corners", "asymmetric")
    x = d.feed(d.array("float32", shape))
    if d.chance() and how not in (
        "align_corners",
        "pytorch_half_pixel",
    ):  # of a size that is no whole number there are two readings
        scales = np.array([1, 1, d.one_of(0.5, 0.6, 2, 1.5, 1), d.one_of(0.5, 2, 3, 0.8)], "float32")
        return d.node([x, "", d.feed(scales, d.chance(0.8))], **given)
    return d.node([x, "", "", d.ints([1, shape[1], d.int(1, 7), d.int(1, 7)])], **given)


@maker(16, "GridSample")
def grid_sample(d: Draw) -> list[str]:
    linear, cubic = ("linear", "cubic") if d.opset >= 20 else ("bilinear", "bicubic")
    shape, grid = [d.int(1, 2), d.int(1, 2), d.int(1, 4), d.int(1, 4)], [d.int(1, 4), d.int(1, 4), 2]
    given = d.maybe(
        mode=d.one_of(linear, "nearest", cubic),
        align_corners=d.int(0, 1),
        padding_mode=d.one_of("zeros", "border", "reflection"),
    )
    return d.node(
        [d.feed(d.array("float32", shape)), d.feed(d.array("float32", [shape[0], *grid], -1.3, 1.3))], **given
    )


@maker(20, "AffineGrid")
def affine_grid(d: Draw) -> list[str]:
    n, dims = d.int(1, 2), d.int(2, 3)
    size = [n, 1, *(d.int(2, 4) for _ in range(dims))]  # the position of a single point is undefined
    return d.node([d.feed(d.array("float32", [n, dims, dims + 1])), d.ints(size)], **d.maybe(align_corners=d.int(0, 1)))


@maker(18, "Col2Im")
def col2im(d: Draw) -> list[str]:
    block, pads, strides, dil = (
        [d.int(1, 2) for _ in range(2)],
        [0] * 4,
        [d.int(1, 2) for _ in range(2)],
        [d.int(1, 2) for _ in range(2)],
    )
    if d.chance():
        pads = [d.int(0, 1) for _ in range(4)]
    image = [d.int(3, 6) for _ in range(2)]
    steps = [(image[i] + pads[i] + pads[i + 2] - dil[i] * (block[i] - 1) - 1) // strides[i] + 1 for i in range(2)]
    x = d.feed(d.array("float32", [d.int(1, 2), d.int(1, 2) * block[0] * block[1], steps[0] * steps[1]]))
    return d.node([x, d.ints(image), d.ints(block)], pads=pads, strides=strides, dilations=dil)


# ---- recurrent


@maker(14, "LSTM", "GRU", "RNN")
def recurrent(d: Draw) -> list[str]:
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[d.op]
    t, b, i, h = d.int(1, 3), d.int(1, 3), d.int(1, 3), d.int(1, 3)
    way = d.one_of("forward", "reverse", "bidirectional")
    k = 2 if way == "bidirectional" else 1
    x, w, r = (
        d.array("float32", [t, b, i]),
        d.array("float32", [k, gates * h, i], -1, 1),
        d.array("float32", [k, gates * h, h], -1, 1),
    )
    inputs = [
        d.feed(x),
        d.feed(w),
        d.feed(r),
        d.feed(d.array("float32", [k, 2 * gates * h], -1, 1)) if d.chance() else "",
    ]
    lengths = d.chance(0.3)
    inputs.append(d.feed(d.n.integers(1, t + 1, [b]).astype("int32")) if lengths else "")
    inputs.append(d.feed(d.array("float32", [k, b, h])) if d.chance() else "")
    if d.op == "LSTM":
        inputs.append(d.feed(d.array("float32", [k, b, h])) if d.chance() else "")
        inputs.append(d.feed(d.array("float32", [k, 3 * h])) if d.chance(0.3) else "")
    given = {"hidden_size": h, "direction": way} | d.maybe(clip=0.7)
    if d.op == "GRU":
        given |= d.maybe(linear_before_reset=d.int(0, 1))
    if d.chance(0.3):
        each = {"LSTM": ["Sigmoid", "Tanh", "Relu"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Relu"]}[d.op]
        given["activations"] = each * k
    return d.node(inputs, 3 if d.op == "LSTM" else 2, **given)


# ---- quantized


@maker(13, "QuantizeLinear")
def quantize(d: Draw) -> list[str]:
    shape, kind = [d.int(1, 4) for _ in range(d.int(1, 3))], d.one_of("uint8", "int8")
    axis = d.axis(len(shape))
    per = [shape[axis]] if d.chance() else []
    scale = d.feed(d.array("float32", per, 0.1, 0.5))
    zero = d.feed(d.array(kind, per, 0, 20)) if d.chance(0.8) else ""
    return d.node([d.feed(d.array("float32", shape, -30, 30)), scale, zero], axis=axis)


@maker(13, "DequantizeLinear")
def dequantize(d: Draw) -> list[str]:
    shape, kind = [d.int(1, 4) for _ in range(d.int(1, 3))], d.one_of("uint8", "int8", "int32")
    axis = d.axis(len(shape))
    per = [shape[axis]] if d.chance() else []
    zero = d.feed(d.array(kind, per, 0, 20)) if kind != "int32" and d.chance(0.8) else ""
    return d.node([d.feed(d.array(kind, shape, -100, 100)), d.feed(d.array("float32", per, 0.1, 0.5)), zero], axis=axis)


@maker(13, "DynamicQuantizeLinear")
def dynamic_quantize(d: Draw) -> list[str]:
    return d.node([d.feed(d.array("float32", [d.int(1, 4) for _ in range(d.int(1, 3))]))], 3)


@maker(13, "QLinearMatMul")
def qlinear_matmul(d: Draw) -> list[str]:
    n, k, m = d.int(1, 4), d.int(1, 4), d.int(1, 4)

    def quantized(shape: list[int]) -> list[str]:
        return [d.feed(d.array("uint8", shape, 0, 255)), d.feed(np.float32(0.1)), d.feed(np.uint8(100))]

    return d.node([*quantized([n, k]), *quantized([k, m]), d.feed(np.float32(2)), d.feed(np.uint8(120))])


@maker(13, "QLinearConv")
def qlinear_conv(d: Draw) -> list[str]:
    given, kernel, size = window(d, 2)
    c, out = d.int(1, 2), d.int(1, 2)

    def quantized(shape: list[int]) -> list[str]:
        return [d.feed(d.array("uint8", shape, 0, 255)), d.feed(np.float32(0.1), True), d.feed(np.uint8(100), True)]

    bias = d.feed(d.array("int32", [out], -100, 100), True) if d.chance() else ""
    return d.node(
        [
            *quantized([1, c, *size]),
            *quantized([out, c, *kernel]),
            d.feed(np.float32(2), True),
            d.feed(np.uint8(120), True),
            bias,
        ],
        **given,
    )


# ---- losses, signals, attention


@maker(13, "NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(d: Draw) -> list[str]:
    n, c = d.int(1, 3), d.int(1, 4)
    more = [d.int(1, 3) for _ in range(d.int(0, 2))]
    given = d.maybe(reduction=d.one_of("none", "mean", "sum"), ignore_index=d.int(0, c - 1))
    target = d.n.integers(0, c, [n, *more])
    if given.get("ignore_index") is not None and given.get("reduction", "mean") == "mean" and d.op:
        target.reshape(-1)[0] = (given["ignore_index"] + 1) % c
        if c == 1:
            given.pop("ignore_index")
    weight = d.feed(d.array("float32", [c], 0.5, 2)) if d.chance() else ""
    outs = 2 if d.op.startswith("Soft") and d.chance() else 1
    return d.node([d.feed(d.array("float32", [n, c, *more])), d.feed(target), weight], outs, **given)


@maker(17, "DFT")
def dft(d: Draw) -> list[str]:
    n, t = d.int(1, 3), d.int(2, 6)
    parts = d.int(1, 2)
    onesided, inverse = int(parts == 1 and d.chance()), 0
    if not onesided and parts == 2:
        inverse = d.int(0, 1)
    length = d.ints(d.int(2, 7)) if d.chance() else ""
    x = d.feed(d.array("float32", [n, t, parts]))
    if d.opset >= 20:
        return d.node([x, length, d.ints(1)], onesided=onesided, inverse=inverse)
    return d.node([x, length], axis=1, onesided=onesided, inverse=inverse)


@maker(17, "HannWindow", "HammingWindow", "BlackmanWindow")
def window_function(d: Draw) -> list[str]:
    return d.node([d.ints(d.int(2, 9))], **d.maybe(periodic=d.int(0, 1)))


@maker(17, "MelWeightMatrix")
def mel(d: Draw) -> list[str]:
    values = [
        np.int64(d.int(2, 6)),
        np.int64(d.one_of(16, 32)),
        np.int64(8000),
        np.float32(0),
        np.float32(d.one_of(3000, 4000)),
    ]
    return d.node([d.feed(v, True) for v in values])


@maker(17, "STFT")
def stft(d: Draw) -> list[str]:
    t, frame, step = d.int(8, 12), d.one_of(4, 8), d.int(1, 4)
    win = d.feed(d.array("float32", [frame], 0.5, 1)) if d.chance() else ""
    return d.node(
        [d.feed(d.array("float32", [d.int(1, 2), t, 1])), d.ints(step), win, d.ints(frame)], **d.maybe(onesided=1)
    )


@maker(23, "Attention")
def attention(d: Draw) -> list[str]:
    b, kv, group, s, t, e = d.int(1, 2), d.int(1, 2), d.int(1, 2), d.int(1, 3), d.int(1, 3), d.one_of(2, 4)
    q, k, v = (d.array("float32", [b, n, m, e]) for n, m in ((kv * group, s), (kv, t), (kv, t)))
    given = d.maybe(is_causal=d.int(0, 1), scale=0.4, softcap=2.0)
    mask = d.feed(d.array(d.one_of("float32", "bool"), d.one_of([s, t], [b, 1, s, t]))) if d.chance(0.3) else ""
    if mask and d.chance():
        given["is_causal"] = 0
    if d.chance(0.3):

        def flat(a: np.ndarray) -> np.ndarray:
            return a.transpose(0, 2, 1, 3).reshape(b, a.shape[2], -1)

        return d.node(
            [d.feed(flat(q)), d.feed(flat(k)), d.feed(flat(v)), mask], q_num_heads=kv * group, kv_num_heads=kv, **given
        )
    return d.node([d.feed(q), d.feed(k), d.feed(v), mask], **given)


@maker(23, "RotaryEmbedding")
def rotary(d: Draw) -> list[str]:
    b, h, s, e = d.int(1, 2), d.int(1, 2), d.int(1, 3), d.one_of(2, 4)
    caches = [d.feed(d.array("float32", [5, e // 2], -1, 1)) for _ in range(2)]
    return d.node(
        [d.feed(d.array("float32", [b, h, s, e])), *caches, d.feed(d.n.integers(0, 5, [b, s]))],
        **d.maybe(interleaved=d.int(0, 1)),
    )


@maker(27, "LinearAttention")
def linear_attention(d: Draw) -> list[str]:
    b, kv, group, s, e, f = d.int(1, 2), d.int(1, 2), d.int(1, 2), d.int(1, 3), d.int(1, 3), d.int(1, 3)
    rule = d.one_of("linear", "gated", "delta", "gated_delta")
    sizes = [("float32", [b, s, n]) for n in (kv * group * e, kv * e, kv * f)]
    operands = [d.feed(d.array(kind, shape, -1, 1)) for kind, shape in sizes]
    operands.append(d.feed(d.array("float32", [b, kv, e, f])) if d.chance() else "")
    operands.append(d.feed(d.array("float32", [b, s, kv * e], -1, 0)) if "gated" in rule else "")
    operands.append(d.feed(d.array("float32", [b, s, kv], 0, 1)) if "delta" in rule else "")
    return d.node(operands, 2, q_num_heads=kv * group, kv_num_heads=kv, update_rule=rule, **d.maybe(scale=0.3))


@maker(27, "CausalConvWithState")
def causal_conv(d: Draw) -> list[str]:
    b, c, s, k = d.int(1, 2), d.int(1, 3), d.int(1, 4), d.int(2, 3)
    operands = [d.feed(d.array("float32", shape)) for shape in ([b, c, s], [c, 1, k])]
    operands.append(d.feed(d.array("float32", [c])) if d.chance() else "")
    operands.append(d.feed(d.array("float32", [b, c, k - 1])) if d.chance() else "")
    return d.node(operands, 2, **d.maybe(activation=d.one_of("none", "silu")))


@maker(24, "TensorScatter")
def tensor_scatter(d: Draw) -> list[str]:
    b, s, e, n = d.int(1, 3), d.int(2, 5), d.int(1, 3), d.int(1, 2)
    kind = d.one_of("float32", "int64")
    mode = d.one_of("linear", "circular")
    at = d.n.integers(0, s if mode == "circular" else s - n + 1, [b])
    return d.node([d.feed(d.array(kind, [b, s, e])), d.feed(d.array(kind, [b, n, e])), d.feed(at)], mode=mode)


# ---- control flow, sequences


def body(
    d: Draw, nodes: list, outputs: list[tuple[str, int, Any]], inputs: list[tuple[str, int, Any]] = ()
) -> onnx.GraphProto:
    def ports(given: Any) -> list:
        return [helper.make_tensor_value_info(*port) for port in given]

    return helper.make_graph(nodes, d.name("body"), ports(inputs), ports(outputs))


@maker(13, "If")
def if_(d: Draw) -> list[str]:
    shape = d.shape(1)
    x = d.feed(d.array("float32", shape))
    arms = {}
    for arm in ("then_branch", "else_branch"):
        out = d.name("o")
        arms[arm] = body(d, [helper.make_node(d.one_of("Relu", "Neg", "Exp"), [x], [out])], [(out, 1, None)])
    return d.node([d.feed(np.asarray(d.chance()))], **arms)


@maker(13, "Loop")
def loop(d: Draw) -> list[str]:
    shape = d.shape(1, 2)
    names = [d.name("l") for _ in range(7)]
    i, go, state, on, after, row, one = names
    nodes = [
        helper.make_node("Identity", [go], [on]),
        helper.make_node("Cast", [i], [one], to=1),
        helper.make_node(d.one_of("Add", "Mul"), [state, one], [after]),
        helper.make_node("Neg", [state], [row]),
    ]
    graph = body(
        d, nodes, [(on, 9, []), (after, 1, shape), (row, 1, shape)], [(i, 7, []), (go, 9, []), (state, 1, shape)]
    )
    return d.node(
        [d.ints(d.int(0, 4)), d.feed(np.asarray(True)) if d.chance() else "", d.feed(d.array("float32", shape))],
        2,
        body=graph,
    )


@maker(13, "Scan")
def scan(d: Draw) -> list[str]:
    t, n = d.int(1, 4), d.int(1, 3)
    s, x, after, row = (d.name("s") for _ in range(4))
    nodes = [helper.make_node(d.one_of("Add", "Mul", "Max"), [s, x], [after]), helper.make_node("Neg", [after], [row])]
    graph = body(d, nodes, [(after, 1, [n]), (row, 1, [n])], [(s, 1, [n]), (x, 1, [n])])
    axis, out = d.int(0, 1), d.int(-1, 1)
    given = {
        "scan_input_axes": [axis],
        "scan_output_axes": [out],
        "scan_input_directions": [d.int(0, 1)],
        "scan_output_directions": [d.int(0, 1)],
    }
    xs = d.array("float32", [t, n] if axis == 0 else [n, t])
    return d.node([d.feed(d.array("float32", [n])), d.feed(xs)], 2, body=graph, num_scan_inputs=1, **given)


@maker(13, "SplitToSequence")
def sequences(d: Draw) -> list[str]:
    shape = [d.int(1, 4), d.int(1, 3)]
    axis = d.int(0, 1)
    size = d.ints(d.int(1, shape[axis])) if d.chance() else ""
    keep = {} if size else d.maybe(keepdims=d.int(0, 1))
    parts = d.node([d.feed(d.array("float32", shape)), size], axis=axis, **keep)
    if d.chance(0.3):
        return d.node(parts, op="SequenceLength")
    if d.chance():
        return d.node([*parts, d.ints(d.one_of(0, -1))], op="SequenceAt")
    if keep.get("keepdims", 1) == 1:
        return d.node(parts, op="ConcatFromSequence", axis=axis)
    return d.node(parts, op="ConcatFromSequence", axis=d.int(0, 1), new_axis=1)


@maker(13, "Constant")
def constant(d: Draw) -> list[str]:
    given = d.one_of(
        {"value_int": 3},
        {"value_float": 2.5},
        {"value_ints": [1, 2]},
        {"value_floats": [1.5, 2.0]},
        {"value": numpy_helper.from_array(d.array("float32", d.shape()))},
    )
    return d.node([], **given)
