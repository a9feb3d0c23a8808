# SPDX-License-Identifier: Apache-2.0
"""Makers of random models: elementwise operators, along axes, arranging."""
from __future__ import annotations

import numpy as np
from onnx import helper, numpy_helper

from onnx_draw import FLOATS, NUMBERS, SIGNED, UNSIGNED, Draw, maker

# ---- elementwise


@maker(13, "Abs", "Neg", "Sign", "Identity", "Relu")
def signed(d: Draw) -> list[str]:
    x = d.array(d.type(), d.shape())
    return d.node([d.feed(x if d.op == "Sign" and x.dtype.kind == "f" else d.strange(x))])  # nan has no sign


@maker(
    13,
    "Floor",
    "Ceil",
    "Exp",
    "Sin",
    "Cos",
    "Tan",
    "Tanh",
    "Sigmoid",
    "Erf",
    "Atan",
    "Sinh",
    "Cosh",
    "Asinh",
    "Softplus",
    "Softsign",
    "Selu",
    "IsNaN",
    "Reciprocal",
    "Round",
)
def unary(d: Draw) -> list[str]:
    return d.node([d.feed(d.strange(d.array(d.type(*FLOATS), d.shape())))])


@maker(14, "HardSwish")
@maker(18, "Mish")
def later_unary(d: Draw) -> list[str]:
    return unary(d)


@maker(13, "Sqrt", "Log", "Acos", "Asin", "Acosh", "Atanh")
def bounded_unary(d: Draw) -> list[str]:
    low, high = {"Sqrt": (0, 4), "Log": (0.1, 4), "Acosh": (1, 4)}.get(d.op, (-0.99, 0.99))
    return d.node([d.feed(d.strange(d.array(d.type(*FLOATS), d.shape(), low, high)))])


@maker(13, "Elu", "LeakyRelu", "Celu", "ThresholdedRelu", "HardSigmoid", "Shrink", "IsInf")
def unary_with(d: Draw) -> list[str]:
    choices = {
        "HardSigmoid": {"alpha": 0.3, "beta": 0.4},
        "Shrink": {"bias": 0.5, "lambd": 1.5},
        "IsInf": {"detect_negative": d.int(0, 1), "detect_positive": d.int(0, 1)},
    }
    given = choices.get(d.op, {"alpha": d.one_of(0.2, 1.5)})
    return d.node([d.feed(d.strange(d.array(d.type(*FLOATS), d.shape())))], **d.maybe(**given))


@maker(20, "Gelu")
def gelu(d: Draw) -> list[str]:
    return d.node([d.feed(d.array("float32", d.shape()))], **d.maybe(approximate=d.one_of("none", "tanh")))


@maker(24, "Swish")
def swish(d: Draw) -> list[str]:
    return d.node([d.feed(d.array("float32", d.shape()))], **d.maybe(alpha=0.7))


@maker(13, "Add", "Sub", "Mul")
def arithmetic(d: Draw) -> list[str]:
    kind, shape = d.type(), d.shape()
    return d.node([d.feed(d.strange(d.array(kind, d.broadcast(shape)))), d.feed(d.array(kind, shape))])


@maker(13, "Div")
def divide(d: Draw) -> list[str]:
    kind, shape = d.type(), d.shape()
    below = d.array(kind, shape)
    below[below == 0] = 1
    return d.node([d.feed(d.array(kind, d.broadcast(shape), -100, 100)), d.feed(below)])


@maker(13, "Mod")
def mod(d: Draw) -> list[str]:
    kind, shape = d.type(), d.shape()
    below = d.array(kind, shape)
    below[below == 0] = 1
    fmod = 1 if kind.startswith("float") else d.int(0, 1)
    return d.node([d.feed(d.array(kind, d.broadcast(shape), -100, 100)), d.feed(below)], fmod=fmod)


@maker(13, "Pow")
def power(d: Draw) -> list[str]:
    kind, other, shape = d.type(*FLOATS, "int32", "int64"), d.type(*FLOATS, "int32", "int64", at=1), d.shape()
    return d.node([d.feed(d.array(kind, d.broadcast(shape), 1, 4)), d.feed(d.array(other, shape, 0, 3))])


@maker(13, "And", "Or", "Xor")
def logic(d: Draw) -> list[str]:
    shape = d.shape()
    return d.node([d.feed(d.array("bool", d.broadcast(shape))), d.feed(d.array("bool", shape))])


@maker(13, "Not")
def negation(d: Draw) -> list[str]:
    return d.node([d.feed(d.array("bool", d.shape()))])


@maker(13, "Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual")
def compare(d: Draw) -> list[str]:
    kind, shape = d.type(), d.shape()
    a, b = d.strange(d.array(kind, d.broadcast(shape))), d.strange(d.array(kind, shape))
    return d.node([d.feed(np.round(a)), d.feed(np.round(b))])


@maker(18, "BitwiseAnd", "BitwiseOr", "BitwiseXor")
def bitwise(d: Draw) -> list[str]:
    kind, shape = d.type(*SIGNED, *UNSIGNED), d.shape()
    return d.node([d.feed(d.strange(d.array(kind, d.broadcast(shape)))), d.feed(d.strange(d.array(kind, shape)))])


@maker(18, "BitwiseNot")
def bitwise_not(d: Draw) -> list[str]:
    return d.node([d.feed(d.strange(d.array(d.type(*SIGNED, *UNSIGNED), d.shape())))])


@maker(13, "BitShift")
def shift(d: Draw) -> list[str]:
    kind, shape = d.type(*UNSIGNED), d.shape()
    values = [d.feed(d.strange(d.array(kind, shape, 0, 200))), d.feed(d.array(kind, shape, 0, 5))]
    return d.node(values, direction=d.one_of("LEFT", "RIGHT"))


@maker(13, "Max", "Min", "Mean", "Sum")
def variadic(d: Draw) -> list[str]:
    kind, shape = d.type(), d.shape()
    return d.node([d.feed(d.array(kind, d.broadcast(shape))) for _ in range(d.int(1, 3))])


@maker(13, "PRelu")
def prelu(d: Draw) -> list[str]:
    kind, shape = d.type(*FLOATS), d.shape(1)
    return d.node([d.feed(d.array(kind, shape)), d.feed(d.array(kind, d.broadcast(shape)))])


@maker(13, "Clip")
def clip(d: Draw) -> list[str]:
    kind = d.type()
    ends = [d.feed(np.asarray(v, kind)) if d.chance(0.7) else "" for v in (1, 3)]
    return d.node([d.feed(d.array(kind, d.shape())), *ends])


@maker(13, "Where")
def where(d: Draw) -> list[str]:
    kind, shape = d.type(at=1), d.shape()
    parts = [d.feed(d.array(kind, d.broadcast(shape))) for _ in range(2)]
    return d.node([d.feed(d.array("bool", d.broadcast(shape))), *parts])


@maker(13, "Cast")
def cast(d: Draw) -> list[str]:
    low, to = d.type(*NUMBERS, "bool"), d.one_of(*NUMBERS, "bool")
    a = d.array(low, d.shape(), 0, 100)
    return d.node([d.feed(a)], to=helper.np_dtype_to_tensor_dtype(np.dtype(to)))


@maker(15, "CastLike")
def cast_like(d: Draw) -> list[str]:
    kinds = (*NUMBERS, "bool")
    return d.node([d.feed(d.array(d.type(*kinds), d.shape(), 0, 100)), d.feed(d.array(d.type(*kinds), d.shape()))])


@maker(13, "Dropout")
def dropout(d: Draw) -> list[str]:
    inputs = [d.feed(d.array(d.type(*FLOATS), d.shape()))]
    if d.chance():
        inputs += [d.feed(np.float32(0.4)), d.feed(np.array(False))]
    return d.node(inputs, d.int(1, 2))


# ---- along axes


@maker(13, "Softmax", "LogSoftmax", "Hardmax")
def softmax(d: Draw) -> list[str]:
    shape = d.shape(1)
    return d.node([d.feed(d.array(d.type(*FLOATS), shape))], **d.maybe(axis=d.axis(len(shape))))


@maker(
    13,
    "ReduceSum",
    "ReduceMax",
    "ReduceMin",
    "ReduceMean",
    "ReduceProd",
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceSumSquare",
)
def reduction(d: Draw) -> list[str]:
    whole = ("int32", "int64") if d.op in ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd") else ()  # no rounding
    kind, shape = d.type(*FLOATS, *whole), d.shape(1)
    if 0 in shape:
        shape = [1 if n == 0 else n for n in shape]
    axes = d.r.sample(range(len(shape)), d.int(0, len(shape)))
    axes = [a - len(shape) if d.chance(0.3) else a for a in axes]
    keep = d.maybe(keepdims=d.int(0, 1))
    x = d.feed(d.array(kind, shape, 1 if d.op == "ReduceLogSum" else -3, 3))
    if d.opset < (13 if d.op == "ReduceSum" else 18):
        return d.node([x], axes=axes or None, **keep)
    return d.node([x, d.ints(axes) if d.chance(0.8) else ""], **keep, **d.maybe(noop_with_empty_axes=d.int(0, 1)))


@maker(13, "ArgMax", "ArgMin")
def arg(d: Draw) -> list[str]:
    shape = [max(n, 1) for n in d.shape(1)]
    given = d.maybe(axis=d.axis(len(shape)), keepdims=d.int(0, 1), select_last_index=d.int(0, 1))
    return d.node([d.feed(np.round(d.array(d.type(), shape)))], **given)


@maker(13, "CumSum")
def cumsum(d: Draw) -> list[str]:
    shape = d.shape(1)
    x, axis = d.feed(d.array(d.type(*FLOATS, "int32", "int64"), shape)), d.ints(d.axis(len(shape)))
    return d.node([x, axis], **d.maybe(exclusive=d.int(0, 1), reverse=d.int(0, 1)))


@maker(26, "CumProd")
def cumprod(d: Draw) -> list[str]:
    return cumsum(d)


@maker(28, "SwiGLU")
def swiglu(d: Draw) -> list[str]:
    shape = d.shape()
    kind = d.one_of("float32", "float16")
    return d.node([d.feed(d.array(kind, shape)), d.feed(d.array(kind, shape))], **d.maybe(alpha=1.7))


@maker(26, "BitCast")
def bit_cast(d: Draw) -> list[str]:
    kind, to = d.one_of(("float32", "int32"), ("int32", "float32"), ("float64", "int64"), ("int64", "uint64"),
                        ("float16", "uint16"), ("int8", "uint8"))
    elem = helper.np_dtype_to_tensor_dtype(np.dtype(to))
    return d.node([d.feed(d.array(kind, d.shape(), 0 if to.startswith("float") else -4))], to=elem)


@maker(13, "TopK")
def topk(d: Draw) -> list[str]:
    shape = [max(n, 1) for n in d.shape(1)]
    axis = d.axis(len(shape))
    x = d.feed(d.n.permutation(int(np.prod(shape))).reshape(shape).astype(d.type(*FLOATS, "int64", "int32")))
    k = d.ints([d.int(0, shape[axis])])
    return d.node([x, k], 2, axis=axis, largest=d.int(0, 1), sorted=1)


@maker(13, "LpNormalization")
def lp_norm(d: Draw) -> list[str]:
    shape = d.shape(1)
    return d.node([d.feed(d.array(d.type(*FLOATS), shape))], **d.maybe(axis=d.axis(len(shape)), p=d.int(1, 2)))


@maker(13, "MeanVarianceNormalization")
def mvn(d: Draw) -> list[str]:
    shape = [d.int(2, 4) for _ in range(4)]
    return d.node([d.feed(d.array("float32", shape))], **d.maybe(axes=[0, 2, 3]))


@maker(17, "LayerNormalization")
def layer_norm(d: Draw) -> list[str]:
    kind, shape = d.type(*FLOATS), [d.int(2, 4) for _ in range(d.int(1, 4))]
    axis = d.axis(len(shape))
    inner = shape[axis:]
    weights = [d.feed(d.array(kind, inner)) for _ in range(d.int(1, 2))]
    return d.node([d.feed(d.array(kind, shape)), *weights], axis=axis, **d.maybe(epsilon=1e-3))


@maker(23, "RMSNormalization")
def rms_norm(d: Draw) -> list[str]:
    shape = [d.int(2, 4) for _ in range(d.int(1, 4))]
    axis = d.axis(len(shape))
    return d.node([d.feed(d.array("float32", shape)), d.feed(d.array("float32", shape[axis:]))], axis=axis)


@maker(15, "BatchNormalization")
def batch_norm(d: Draw) -> list[str]:
    shape = [d.int(1, 4) for _ in range(d.int(2, 4))]
    c = [shape[1]]
    operands = [d.feed(d.array("float32", c, 0.5 if i == 3 else -2, 2)) for i in range(4)]
    training = d.chance(0.2)
    return d.node(
        [d.feed(d.array("float32", shape)), *operands],
        3 if training else 1,
        training_mode=int(training),
        **d.maybe(epsilon=1e-2, momentum=0.8),
    )


@maker(13, "InstanceNormalization")
def instance_norm(d: Draw) -> list[str]:
    shape = [d.int(1, 4) for _ in range(d.int(3, 4))]
    weights = [d.feed(d.array("float32", [shape[1]])) for _ in range(2)]
    return d.node([d.feed(d.array("float32", shape)), *weights], **d.maybe(epsilon=1e-2))


@maker(18, "GroupNormalization")
def group_norm(d: Draw) -> list[str]:
    groups = d.int(1, 3)
    shape = [d.int(1, 3), groups * d.int(1, 2), *(d.int(1, 4) for _ in range(d.int(1, 2)))]
    c = [shape[1]] if d.opset >= 21 else [groups]
    weights = [d.feed(d.array("float32", c)) for _ in range(2)]
    return d.node([d.feed(d.array("float32", shape)), *weights], num_groups=groups, **d.maybe(epsilon=1e-2))


@maker(13, "LRN")
def lrn(d: Draw) -> list[str]:
    shape = [d.int(1, 3), d.int(1, 6), d.int(1, 3), d.int(1, 3)]
    return d.node([d.feed(d.array("float32", shape))], size=d.one_of(1, 3, 5), **d.maybe(alpha=0.1, beta=0.5, bias=2.0))


# ---- arranging


@maker(13, "Reshape")
def reshape(d: Draw) -> list[str]:
    shape = d.shape(0)
    to = list(shape)
    d.r.shuffle(to)
    if len(to) > 1 and d.chance():
        to[:2] = [to[0] * to[1]]
    allow = d.int(0, 1) if d.opset >= 14 else None
    if 0 in shape and d.opset < 14:
        to = shape
    elif 0 in shape:
        allow = 1
    elif to and d.chance():
        to[d.r.randrange(len(to))] = -1
    elif to and shape and not allow and to[0] == shape[0] and d.chance():
        to[0] = 0
    return d.node([d.feed(d.array(d.type(*NUMBERS, "bool"), shape)), d.ints(np.array(to, "int64"))], allowzero=allow)


@maker(13, "Transpose")
def transpose(d: Draw) -> list[str]:
    shape = d.shape(1)
    perm = d.r.sample(range(len(shape)), len(shape))
    return d.node([d.feed(d.array(d.type(*NUMBERS, "bool"), shape))], **d.maybe(perm=perm))


@maker(13, "Squeeze")
def squeeze(d: Draw) -> list[str]:
    shape = d.shape(1)
    axes = [i for i, n in enumerate(shape) if n == 1 and d.chance(0.7)]
    axes = [a - len(shape) if d.chance(0.3) else a for a in axes]
    return d.node([d.feed(d.array(d.type(), shape)), d.ints(axes) if axes else ""])


@maker(13, "Unsqueeze")
def unsqueeze(d: Draw) -> list[str]:
    shape = d.shape()
    rank = len(shape) + d.int(1, 2)
    axes = d.r.sample(range(rank), rank - len(shape))
    return d.node([d.feed(d.array(d.type(), shape)), d.ints([a - rank if d.chance(0.3) else a for a in axes])])


@maker(13, "Flatten")
def flatten(d: Draw) -> list[str]:
    shape = d.shape(1)
    return d.node([d.feed(d.array(d.type(), shape))], **d.maybe(axis=d.int(-len(shape), len(shape))))


@maker(13, "Concat")
def concat(d: Draw) -> list[str]:
    kind, shape = d.type(*NUMBERS, "bool"), d.shape(1)
    axis = d.axis(len(shape))
    parts = []
    for _ in range(d.int(1, 3)):
        shape[axis] = d.int(0, 3)
        parts.append(d.feed(d.array(kind, shape)))
    return d.node(parts, axis=axis)


@maker(13, "Split")
def split(d: Draw) -> list[str]:
    shape = [max(n, 1) for n in d.shape(1)]
    axis = d.axis(len(shape))
    parts = d.int(1, min(3, shape[axis]))
    x = d.feed(d.array(d.type(), shape))
    if d.chance() or (d.opset < 18 and shape[axis] % parts):
        cuts = sorted(d.int(0, shape[axis]) for _ in range(parts - 1))
        sizes = np.diff([0, *cuts, shape[axis]])
        return d.node([x, d.ints(sizes)], parts, axis=axis)
    return d.node([x], parts, axis=axis, num_outputs=parts if d.opset >= 18 else None)


@maker(13, "Slice")
def slice_(d: Draw) -> list[str]:
    shape = d.shape(1)
    axes = d.r.sample(range(len(shape)), d.int(1, len(shape)))
    if d.chance(0.3):
        axes = list(range(len(axes)))
    starts = [d.int(-6, 6) for _ in axes]
    steps = [d.one_of(1, 1, 2, -1, -2, 3) for _ in axes]
    ends = [d.one_of(d.int(-6, 6), 2**31 - 1 if step > 0 else -(2**31)) for step in steps]
    kind = d.one_of("int32", "int64")
    named = axes == list(range(len(axes))) and d.chance()
    inputs = [d.feed(d.array(d.type(), shape)), d.ints(starts, kind), d.ints(ends, kind)]
    inputs.append("" if named else d.ints([a - len(shape) if d.chance(0.3) else a for a in axes], kind))
    inputs.append(d.ints(steps, kind) if d.chance(0.7) else "")
    return d.node(inputs)


@maker(13, "Gather")
def gather(d: Draw) -> list[str]:
    shape = [max(n, 1) for n in d.shape(1)]
    axis = d.axis(len(shape))
    index = d.array(d.one_of("int32", "int64"), d.shape(0, 2), -shape[axis], shape[axis] - 1)
    return d.node(
        [d.feed(d.array(d.type(), shape)), d.feed(index)], **(d.maybe(axis=axis) if axis == 0 else {"axis": axis})
    )


@maker(13, "GatherElements")
def gather_elements(d: Draw) -> list[str]:
    shape = [max(n, 1) for n in d.shape(1)]
    axis = d.axis(len(shape))
    small = [d.int(1, n) for n in shape]
    index = d.array("int64", small, -shape[axis], shape[axis] - 1)
    return d.node([d.feed(d.array(d.type(), shape)), d.feed(index)], axis=axis)


@maker(13, "GatherND")
def gather_nd(d: Draw) -> list[str]:
    shape = [max(n, 1) for n in d.shape(1)]
    batch = d.int(0, len(shape) - 1) if d.chance() else 0
    depth = d.int(1, len(shape) - batch)
    outer = shape[:batch] + d.shape(0, 2)
    if batch == len(outer) and d.chance():
        outer = outer + [2]
    columns = [d.n.integers(-n, n, outer) for n in shape[batch : batch + depth]]
    return d.node([d.feed(d.array(d.type(), shape)), d.feed(np.stack(columns, -1))], batch_dims=batch or None)


@maker(16, "ScatterElements")
def scatter_elements(d: Draw) -> list[str]:
    kind, shape = d.type("float32", "float64", "int32", "int64"), [max(n, 1) for n in d.shape(1)]
    axis = d.axis(len(shape))
    how = d.one_of("none", "add", "mul", *(["max", "min"] if d.opset >= 18 else []))
    small = [d.int(1, n) for n in shape]
    if how == "none":  # one writer per element
        index = np.argsort(d.n.random(shape), axis=axis)[tuple(slice(n) for n in small)]
        index = index - shape[axis] * d.n.integers(0, 2, index.shape)
    else:
        index = d.array("int64", small, -shape[axis], shape[axis] - 1)
    return d.node(
        [d.feed(d.array(kind, shape)), d.feed(index), d.feed(d.array(kind, small))],
        axis=axis,
        **({} if how == "none" and d.chance() else {"reduction": how}),
    )


@maker(16, "ScatterND")
def scatter_nd(d: Draw) -> list[str]:
    kind, shape = d.type("float32", "float64", "int32", "int64"), [max(n, 1) for n in d.shape(1)]
    depth = d.int(1, len(shape))
    how = d.one_of("none", "add", "mul", *(["max", "min"] if d.opset >= 18 else []))
    places = int(np.prod(shape[:depth]))
    count = d.int(1, places)
    flat = d.r.sample(range(places), count) if how == "none" else [d.r.randrange(places) for _ in range(count)]
    index = np.stack(np.unravel_index(flat, shape[:depth]), -1)
    updates = d.array(kind, [count, *shape[depth:]])
    return d.node(
        [d.feed(d.array(kind, shape)), d.feed(index), d.feed(updates)],
        **({} if how == "none" and d.chance() else {"reduction": how}),
    )


@maker(13, "Expand")
def expand(d: Draw) -> list[str]:
    shape = d.shape(1)
    return d.node(
        [d.feed(d.array(d.type(), d.broadcast(shape))), d.ints(d.broadcast(shape) if d.chance(0.3) else shape)]
    )


@maker(13, "Tile")
def tile(d: Draw) -> list[str]:
    shape = d.shape(1)
    return d.node([d.feed(d.array(d.type(), shape)), d.ints([d.int(0 if d.chance(0.1) else 1, 3) for _ in shape])])


@maker(13, "Pad")
def pad(d: Draw) -> list[str]:
    shape = [max(n, 1) for n in d.shape(1)]
    kind = d.type("float32", "float64", "int32", "int64", "uint8", "bool")
    mode = d.one_of("constant", "reflect", "edge", *(["wrap"] if d.opset >= 19 else []))
    axes = list(range(len(shape)))
    given = d.opset >= 18 and d.chance(0.4)
    if given:
        axes = d.r.sample(axes, d.int(1, len(axes)))

    def amount(n: int) -> int:
        return d.int(0, {"constant": 3, "edge": 3, "reflect": n - 1, "wrap": n}[mode])

    pads = [amount(shape[a]) for a in axes] + [amount(shape[a]) for a in axes]
    if mode == "constant" and d.chance(0.3):
        pads[0] = -d.int(0, shape[axes[0]] - 1)
    value = d.feed(np.asarray(1, kind)) if d.chance() else ""
    inputs = [d.feed(d.array(kind, shape)), d.ints(pads), value]
    return d.node(
        [*inputs, d.ints(axes) if given else ""], **({} if mode == "constant" and d.chance() else {"mode": mode})
    )


@maker(13, "Shape")
def shape_of(d: Draw) -> list[str]:
    ends = d.maybe(start=d.int(-3, 3), end=d.int(-3, 4)) if d.opset >= 15 else {}
    return d.node([d.feed(d.array(d.type(), d.shape()), constant=False)], **ends)


@maker(13, "Size")
def size_of(d: Draw) -> list[str]:
    return d.node([d.feed(d.array(d.type(), d.shape()), constant=False)])


@maker(13, "ConstantOfShape")
def constant_of_shape(d: Draw) -> list[str]:
    value = numpy_helper.from_array(d.array(d.one_of(*NUMBERS, "bool"), [1]))
    return d.node([d.ints(np.array(d.shape(), "int64"))], **d.maybe(value=value))


@maker(13, "Range")
def range_(d: Draw) -> list[str]:
    kind = d.type("float32", "float64", "int32", "int64", "int16")
    step = d.one_of(-2, -1, 1, 2, 3)
    return d.node([d.feed(np.asarray(v, kind), d.chance(0.7)) for v in (d.int(-5, 5), d.int(-5, 5), step)])


@maker(13, "OneHot")
def one_hot(d: Draw) -> list[str]:
    shape, depth = d.shape(0, 3), d.int(1, 5)
    index = d.array(d.one_of("int64", "int32", "float32"), shape, -depth - 1, depth)
    values = d.array(d.one_of("float32", "int64", "int32"), [2])
    return d.node(
        [d.feed(np.round(index)), d.ints([depth] if d.chance() else depth), d.feed(values)],
        **d.maybe(axis=d.int(-len(shape) - 1, len(shape))),
    )


@maker(13, "EyeLike")
def eye(d: Draw) -> list[str]:
    to = helper.np_dtype_to_tensor_dtype(np.dtype(d.one_of("float32", "int64", "float64", "int32")))
    return d.node([d.feed(d.array(d.type(), [d.int(1, 5), d.int(1, 5)]))], **d.maybe(dtype=to, k=d.int(-3, 3)))


@maker(14, "Trilu")
def trilu(d: Draw) -> list[str]:
    k = d.ints(d.int(-5, 5)) if d.chance() else ""
    return d.node([d.feed(d.array(d.type(*NUMBERS, "bool"), d.shape(2))), k], **d.maybe(upper=d.int(0, 1)))


@maker(13, "DepthToSpace", "SpaceToDepth")
def depth(d: Draw) -> list[str]:
    b, n, c, h, w = d.int(1, 3), d.int(1, 2), d.int(1, 2), d.int(1, 3), d.int(1, 3)
    kind = d.type("float32", "float64")
    if d.op == "SpaceToDepth":
        return d.node([d.feed(d.array(kind, [n, c, h * b, w * b]))], blocksize=b)
    return d.node([d.feed(d.array(kind, [n, c * b * b, h, w]))], blocksize=b, **d.maybe(mode=d.one_of("DCR", "CRD")))


@maker(13, "NonZero")
def nonzero(d: Draw) -> list[str]:
    return d.node([d.feed(np.round(d.array(d.type("float32", "int64", "bool", "int32", "uint8"), d.shape(1))))])


@maker(13, "Compress")
def compress(d: Draw) -> list[str]:
    shape = [max(n, 1) for n in d.shape(1)]
    axis = d.axis(len(shape)) if d.chance(0.7) else None
    n = shape[axis] if axis is not None else int(np.prod(shape))
    return d.node([d.feed(d.array(d.type(), shape)), d.feed(d.array("bool", [d.int(1, n)]))], axis=axis)


@maker(13, "Unique")
def unique(d: Draw) -> list[str]:
    shape = [max(n, 1) for n in d.shape(1, 3)]
    given = d.maybe(axis=d.axis(len(shape)), sorted=d.int(0, 1))
    return d.node(
        [d.feed(np.round(d.array(d.type("float32", "int64", "float64", "int8"), shape, -2, 2)))], d.int(1, 4), **given
    )


@maker(13, "ReverseSequence")
def reverse_sequence(d: Draw) -> list[str]:
    shape = [d.int(1, 4) for _ in range(d.int(2, 3))]
    batch = d.int(0, 1)
    lengths = d.n.integers(0 if d.chance(0.1) else 1, shape[1 - batch] + 1, [shape[batch]])
    return d.node([d.feed(d.array(d.type(), shape)), d.feed(lengths)], batch_axis=batch, time_axis=1 - batch)


@maker(18, "CenterCropPad")
def center(d: Draw) -> list[str]:
    shape = [max(n, 1) for n in d.shape(1)]
    axes = d.r.sample(range(len(shape)), d.int(1, len(shape)))
    all_axes = d.chance()
    to = [d.int(1, 6) for _ in (shape if all_axes else axes)]
    return d.node([d.feed(d.array(d.type("float32", "int64"), shape)), d.ints(to)], axes=None if all_axes else axes)


@maker(13, "Einsum")
def einsum(d: Draw) -> list[str]:
    text = d.one_of(
        "ij,jk->ik",
        "ij,jk",
        "bij,bjk->bik",
        "ii->i",
        "ij->ji",
        "...ij,...jk->...ik",
        "i,j->ij",
        "ij->",
        "ijk,k->ij",
        "bhd,bkd->bhk",
        "ij,ij->i",
        "...i->...",
        "ii",
        "i j -> j i",
    )
    sizes = {c: d.int(1, 4) for c in "abcdefghijklmnopqrstuvwxyz"}
    more = [d.int(1, 3) for _ in range(d.int(0, 2))]
    operands = []
    for term in text.split("->")[0].replace(" ", "").split(","):
        shape = more if "..." in term else []
        operands.append(
            d.feed(d.array(d.type("float32", "float64"), [*shape, *(sizes[c] for c in term.replace("...", ""))]))
        )
    kinds = {a.dtype for n, a in d.inputs} | {numpy_helper.to_array(w).dtype for w in d.weights}
    if len(kinds) > 1:
        d.inputs = [(n, a.astype("float32")) for n, a in d.inputs]
        d.weights = [numpy_helper.from_array(numpy_helper.to_array(w).astype("float32"), w.name) for w in d.weights]
    return d.node(operands, equation=text)


@maker(13, "Det")
def det(d: Draw) -> list[str]:
    n = d.int(1, 4)
    return d.node([d.feed(d.array("float32", [*d.shape(0, 2), n, n]))])
