# SPDX-License-Identifier: Apache-2.0
"""What PyTorch's TorchScript exporter refuses. Ingot's writer could write most of these calls; an export in the
original's way says what the original says, at the first call in the order of the graph. A rule belongs to one operator
and to the opsets whose translation has it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import ingot
from ingot import _C
from ingot.onnx import errors
from ingot.onnx import symbolic_helper as helper
from ingot.onnx._globals import GLOBALS
from ingot.onnx._internal import jit_utils, python_op, traced
from ingot.onnx._internal.registration import registry

_NEWEST = 1 << 30
_FLOATING = ("Float", "Double", "Half", "BFloat16")


class _Shown:
    """A value as errors show it: its text is that of the original's graph at the time."""

    def __init__(self, graph: traced.Graph, value: Any) -> None:
        self._graph, self._value = graph, graph.original(value)

    def __str__(self) -> str:
        return self._graph.text(self._value)

    def type(self) -> Any:
        return self._value.type()

    def debugName(self) -> str:  # noqa: N802  # as a value of a graph has it
        return self._value.debugName()

    def node(self) -> _Node:
        return _Node(self._graph, self._value.node())


class _Node:
    """The node of a value that is shown."""

    def __init__(self, graph: traced.Graph, node: Any) -> None:
        self._graph, self._node = graph, node

    def kind(self) -> str:
        return self._node.kind()

    def sourceRange(self) -> str:  # noqa: N802
        return "" if self.kind() == "prim::Param" else self._node.sourceRange()

    def inputs(self) -> list[_Shown]:
        return [_Shown(self._graph, value) for value in self._node.inputs()]

    def outputs(self) -> list[_Shown]:
        return [_Shown(self._graph, value) for value in self._node.outputs()]


class _Constant:
    """A list of integers as errors show it: a constant of its own."""

    def __init__(self, values: list[int]) -> None:
        self._value = jit_utils.constant(_C.Graph(), ingot.tensor(values, dtype=ingot.int64))

    def __str__(self) -> str:
        return str(self._value).replace("requires_grad=0, ", "")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._value, name)


class Call:
    """One call of the graph with its arguments, and the opset it would be translated to."""

    def __init__(self, graph: traced.Graph, node: Any, opset: int) -> None:
        self.graph, self.node, self.opset = graph, node, opset
        self.args = list(node.inputs())

    def shown(self, i: int) -> _Shown:
        return _Shown(self.graph, self.args[i])

    def is_known(self, i: int) -> bool:
        return i >= len(self.args) or _known(self.graph, self.args[i])

    def const(self, i: int, otherwise: Any = None) -> Any:
        """An argument as a Python value; `otherwise` if it is computed or missing."""
        found, value = _constant(self.args[i]) if i < len(self.args) else (False, None)
        return value if found else otherwise

    def is_none(self, i: int) -> bool:
        return i >= len(self.args) or self.args[i].node().mustBeNone()

    def sizes(self, i: int) -> list[int | None] | None:
        return self.graph.sizes(self.args[i])

    def has_open_rank(self, i: int) -> bool:
        """Whether inference does not find the rank either: that of what a loop or branch gives."""
        return self.sizes(i) is None and self.args[i].node().kind() in ("prim::Loop", "prim::If")

    def size(self, i: int, dim: int) -> int | None:
        sizes = self.sizes(i)
        return sizes[dim] if sizes and -len(sizes) <= dim < len(sizes) else None

    def dtype(self, i: int) -> str | None:
        """The name of an argument's element type, "Float"; None: not known."""
        kind = self.args[i].type()
        return kind.scalarType() if kind.kind() == "TensorType" else None

    def refuse(self, op: str, why: str | None = None, value: int | None = 0) -> None:
        name = op if why is None else f"{op}, {why}"
        helper._onnx_unsupported(name, None if value is None else self.shown(value))

    def later(self, op: str, opset: int, supported: int, why: str | None = None, value: int = 0) -> None:
        if why is None:
            helper._onnx_opset_unsupported(op, opset, supported, self.shown(value))
        helper._onnx_opset_unsupported_detailed(op, opset, supported, str(why), self.shown(value))

    def wrong(self, text: str, value: int = 0) -> None:
        raise errors.SymbolicValueError(text, self.shown(value))


def _constant(value: Any) -> tuple[bool, Any]:
    """Whether a value is a constant, and which."""
    node = value.node()
    if node.kind() == "prim::Constant":
        return True, value.toIValue()
    if node.kind() == "prim::ListConstruct":
        parts = [_constant(item) for item in node.inputs()]
        return all(found for found, _ in parts), [item for _, item in parts]
    return False, None


# What a static size is computed with on its way to an argument.
_NUMBERS = frozenset({
    "prim::NumToTensor", "aten::Int", "aten::add", "aten::sub", "aten::mul", "aten::div", "aten::floor_divide",
    "aten::remainder", "aten::neg", "prim::ListConstruct", "aten::floordiv", "aten::ScalarImplicit", "aten::item",
})  # fmt: skip


def _known(graph: traced.Graph, value: Any) -> bool:
    """Whether the original knows a number when it translates: it is constant, or made of sizes that are."""
    node = value.node()
    kind = node.kind()
    if kind == "prim::Constant":
        return True
    if kind == "aten::size":
        sizes = graph.sizes(next(iter(node.inputs())))
        return not graph.dynamic and sizes is not None and None not in sizes
    return kind in _NUMBERS and all(_known(graph, item) for item in node.inputs())


# ---- rules, by operator ----

_RULES: dict[str, list[tuple[int, int, Callable[[Call], None]]]] = {}


def _rule(*names: str, first: int = 7, last: int = _NEWEST) -> Callable:
    """A decorator: the rule of operators for the opsets from first to last."""

    def add(fn: Callable[[Call], None]) -> Callable[[Call], None]:
        for name in names:
            _RULES.setdefault(name, []).append((first, last, fn))
        return fn

    return add


def _operator_of(kind: str) -> str:
    return _key(kind).partition("::")[2].rstrip("_")


def _operator(call: Call) -> str:
    return _operator_of(call.node.kind())


@_rule("bitwise_not")
def _bitwise_not(call: Call) -> None:
    if call.dtype(0) not in ("Bool", None):
        call.wrong("ONNX export does NOT support exporting bitwise Not for non-boolean input values")


@_rule("bitwise_or")
def _bitwise_or(call: Call) -> None:
    for i, which in enumerate(("self", "other")):
        if call.dtype(i) not in ("Bool", None):
            call.wrong(f"ONNX export does NOT support exporting bitwise OR for non-boolean input values. {which}: ", i)


@_rule("__and", last=17)
@_rule("__or", "__xor")
def _bitwise(call: Call) -> None:
    what = {"__and": "AND", "__or": "OR", "__xor": "XOR"}[_operator(call)]
    for i in range(2):
        if call.dtype(i) not in ("Bool", None):
            call.wrong(f"ONNX export does NOT support exporting bitwise {what} for non-boolean input values", i)


@_rule("cumsum", "_unique2", last=10)
@_rule("index_put", last=10)
def _needs_eleven(call: Call) -> None:
    call.later(_operator(call), 9, 11)


@_rule("_unique", "_sample_dirichlet", "_standard_gamma")
def _never(call: Call) -> None:
    call.refuse(_operator(call))


@_rule("threshold")
def _threshold(call: Call) -> None:
    if call.const(1, 0) != 0:
        call.refuse("threshold", "non-zero threshold")
    if call.const(2, 0) != 0:
        call.refuse("threshold", "non-zero value")


@_rule("slice", last=9)
def _slice(call: Call) -> None:
    if len(call.args) != 5:
        return
    if call.const(4, 1) != 1:
        call.wrong("step!=1 is currently not supported")
    if not all(call.is_known(i) for i in (1, 2, 3)):
        call.wrong(
            "Unsupported: ONNX export of Slice with dynamic inputs. DynamicSlice is a deprecated experimental op. "
            "Please use statically allocated variables or export to a higher opset version."
        )


@_rule("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d")
@_rule("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
def _adaptive_pool(call: Call) -> None:
    name = _operator(call)
    if not call.is_known(1):
        call.refuse("adaptive pooling, since output_size is not constant.")
    target = call.const(1)
    if not isinstance(target, list):
        return
    ones = all(size == 1 for size in target)
    if ones:
        return
    sizes = call.sizes(0)
    if sizes is None and not call.graph.dynamic:
        return  # inside a script; inference finds them
    spatial = None if sizes is None else sizes[2:]
    if spatial is None or None in spatial:
        call.refuse(name, "input size not accessible")
        return
    if any(size % wanted for size, wanted in zip(spatial, target, strict=False)):  # type: ignore[operator]
        helper._onnx_unsupported(f"{name}, output size that are not factor of input size", _Constant(target))


@_rule("avg_pool1d", "avg_pool2d", "avg_pool3d", last=9)
def _avg_pool(call: Call) -> None:
    if not call.is_none(6):
        call.refuse(_operator(call), "divisor_override", None)


@_rule("max_pool1d", "max_pool2d", "max_pool3d", last=9)
@_rule("max_pool1d_with_indices", "max_pool2d_with_indices", "max_pool3d_with_indices", last=9)
def _max_pool(call: Call) -> None:
    if any(step != 1 for step in call.const(4, [])):
        call.refuse(_operator(call), "dilation")


@_rule("unfold")
def _unfold(call: Call) -> None:
    known = call.is_known(2) and call.is_known(3)
    if call.size(0, call.const(1, 0)) is None and (known or call.opset < 12):
        call.refuse("Unfold", "input size not accessible")


@_rule("sort", last=9)
def _sort(call: Call) -> None:
    if call.size(0, call.const(1, -1)) is None:
        call.refuse("Sort", "input size not accessible")


@_rule("topk", last=9)
def _topk(call: Call) -> None:
    _must_be_known(call, 1, "k", "topk")
    if call.const(3, True) is False:
        call.refuse("TopK", "Ascending TopK is not supported")


@_rule("topk", first=10, last=10)
def _topk_10(call: Call) -> None:
    if call.const(3, True) is False:
        call.refuse("TopK", "Ascending is not supported", None)


@_rule("pixel_shuffle")
def _pixel_shuffle(call: Call) -> None:
    sizes = call.sizes(0)
    if sizes is not None and len(sizes) != 4:
        call.refuse("pixel_shuffle", "only support 4d input", 0 if call.opset < 11 else None)


@_rule("pixel_unshuffle")
def _pixel_unshuffle(call: Call) -> None:
    sizes = call.sizes(0)
    if sizes is not None and len(sizes) != 4:
        call.refuse("pixel_unshuffle", "only support 4d input")


@_rule("index_add")
def _index_add(call: Call) -> None:
    if call.const(4, 1) != 1:
        call.refuse("index_add", "alpha != 1")


@_rule("scatter_reduce", first=16)
def _scatter_reduce(call: Call) -> None:
    if call.const(4) == "mean":
        raise errors.OnnxExporterError("ONNX does not support mean reduction for scatter_reduce")
    if call.const(5, True) is False:
        raise errors.OnnxExporterError("ONNX does not support include_self=False for scatter_reduce")


@_rule("linalg_vector_norm", last=10)
def _vector_norm(call: Call) -> None:
    if call.const(1) == 0:
        call.later("linalg_vector_norm", 9, 11, "ord=0 not supported")


@_rule("linalg_matrix_norm")
def _matrix_norm(call: Call) -> None:
    order = call.const(1)
    if order == "nuc":
        call.refuse("linalg.matrix_norm", "ord==nuc")
    if not isinstance(order, str) and order in (2, -2):
        call.refuse("linalg.matrix_norm", "ord==2")


@_rule("lstm", "gru", "rnn_tanh", "rnn_relu")
def _recurrent(call: Call) -> None:
    warnings.warn(
        "Exporting a model to ONNX with a batch_size other than 1, with a variable length with "
        f"{_operator(call).upper()} can cause an error when running the ONNX model with a different batch size. Make "
        "sure to save the model with a batch size of 1, or define the initial states (h0/c0) as inputs of the model. ",
        stacklevel=2,
    )


def _is_packed(call: Call) -> bool:
    """A recurrent network takes (input, hx, params, biases, layers, dropout, train, bidirectional, batch_first), of
    packed sequences (data, sizes, hx, params, ...)."""
    return call.args[3].type().kind() == "ListType"


@_rule("lstm")
def _lstm(call: Call) -> None:
    packed = _is_packed(call)
    listed = call.args[3 if packed else 2].node()
    params = list(listed.inputs()) if listed.kind() == "prim::ListConstruct" else []
    biases, layers = call.const(4 if packed else 3), call.const(5 if packed else 4)
    both = call.const(8 if packed else 7)
    if params and layers and len(params) != layers * (4 if biases else 2) * (2 if both else 1):
        call.refuse("LSTM", "LSTMs with projections")


@_rule("lstm", "gru", "rnn_tanh", "rnn_relu")
def _recurrent_dropout(call: Call) -> None:
    first = 6 if _is_packed(call) else 5
    if call.const(first, 0) and call.const(first + 1, False):
        call.refuse("RNN/GRU/LSTM", "dropout in training mode")


@_rule("embedding_bag", last=9)
def _embedding_bag(call: Call) -> None:
    call.refuse("embedding_bag")


@_rule("embedding_bag", first=10)
def _embedding_bag_padding(call: Call) -> None:
    padding = call.const(8)
    if padding is not None and padding >= 0:
        raise RuntimeError("embedding_bag with padding_idx")


@_rule("embedding")
def _embedding(call: Call) -> None:
    if not GLOBALS.export_training:
        return
    if call.const(3, False):
        call.wrong(
            "Unsupported: ONNX export of embedding with scale_grad_by_freq=True for training mode. ONNX does not "
            "support scaling the gradients."
        )
    if call.const(2, -1) >= 0:
        warnings.warn(
            "Warning: ONNX export of embedding with padding_idx >= 0 for training mode. ONNX does not support not "
            "updating the embedding vector at padding_idx during training.",
            stacklevel=2,
        )


@_rule("multinomial")
def _multinomial(call: Call) -> None:
    if not call.is_none(3):
        call.refuse("Multinomial", "generator is not supported for multinomial")
    if call.const(2) is False and call.const(1, 1) > 1:
        call.refuse("Multinomial", "replacement=False when num_samples > 1 is not supported for multinomial")


@_rule("alpha_dropout", "feature_dropout", "feature_alpha_dropout")
def _dropout(call: Call) -> None:
    if call.const(2):
        call.refuse(f"aten::{_operator(call)}", "training mode")


@_rule("grid_sampler", first=16, last=19)
def _grid_sampler(call: Call) -> None:
    sizes = call.sizes(0)
    if sizes is not None and len(sizes) == 5:
        call.refuse("GridSample with 5D volumetric input", None, None)


@_rule("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d", last=10)
def _upsample(call: Call) -> None:
    if call.const(2):
        call.refuse(_operator(call), "align_corners == True")


@_rule("maximum", "minimum", last=11)
def _extreme(call: Call) -> None:
    kinds = call.dtype(0), call.dtype(1)
    if None not in kinds and kinds[0] not in _FLOATING and kinds[0] != kinds[1]:
        name = "Max" if _operator(call) == "maximum" else "Min"
        call.wrong(f"Inputs of {name} must have same dtype.Got {kinds[0]} and {kinds[1]}", 1)


@_rule("gather")
def _gather(call: Call) -> None:
    if call.const(3):
        call.refuse("gather", "sparse_grad == True", 0 if call.opset < 11 else None)


@_rule("elu")
def _elu(call: Call) -> None:
    if call.const(2, 1) != 1:
        call.refuse("ELU", "does not support scale in ONNX")
    if call.const(3, 1) != 1:
        call.refuse("ELU", "does not support input_scale in ONNX")


@_rule("fake_quantize_per_tensor_affine", last=12)
def _fake_quantize_10(call: Call) -> None:
    bounds = call.const(3), call.const(4)
    if bounds == (0, 127):
        call.later(
            "fake_quantize_per_tensor_affine", 10, 13, "Quantize range (0, 127) not supported, requires opset 13 Clip"
        )
    if None not in bounds and bounds not in ((0, 255), (-128, 127)):
        call.wrong(
            f"For (quant_min, quant_max), ONNX allows only (0, 255) and (-128, 127). Got ({bounds[0]}, {bounds[1]})"
        )


@_rule("fake_quantize_per_tensor_affine", "fake_quantize_per_channel_affine", first=13)
def _fake_quantize_13(call: Call) -> None:
    at = 3 if _operator(call) == "fake_quantize_per_tensor_affine" else 4
    bounds = call.const(at), call.const(at + 1)
    if None not in bounds and bounds not in ((0, 255), (-128, 127), (0, 127)):
        call.wrong(
            "For (quant_min, quant_max), ONNX allows only (0, 127), (0, 255) and (-128, 127). "
            f"Got ({bounds[0]}, {bounds[1]})"
        )


@_rule("stft", first=17)
def _stft(call: Call) -> None:
    if call.const(7):
        call.wrong("STFT does not currently support complex types")


@_rule("repeat_interleave", last=12)
def _repeat_interleave(call: Call) -> None:
    dim = call.const(2)
    if dim is not None and len(call.args) > 1 and call.size(0, dim) is None and call.sizes(0) is not None:
        call.later("repeat_interleave", 9, 13, "Unsupported along dimension with unknown input size")


@_rule("split", "split_with_sizes", "unbind", "unsafe_chunk", last=10)
def _split(call: Call) -> None:
    uses = [use.user.kind() for use in call.node.output().uses()]
    if "prim::ListUnpack" not in uses:
        call.later(_operator(call), 9, 11, "Dynamic number of outputs not supported")


@_rule("group_norm")
def _group_norm(call: Call) -> None:
    if call.has_open_rank(0):
        call.refuse("group_norm", "unknown input rank")


@_rule("batch_norm")
def _batch_norm(call: Call) -> None:
    helper.check_training_mode(bool(call.const(5, False)), "batch_norm")


@_rule("instance_norm")
def _instance_norm(call: Call) -> None:
    helper.check_training_mode(bool(call.const(5, False)), "instance_norm")


@_rule("dropout")
def _plain_dropout(call: Call) -> None:
    helper.check_training_mode(bool(call.const(2, False)), "dropout")


@_rule("squeeze")
def _squeeze(call: Call) -> None:
    dim = call.const(1) if len(call.args) == 2 else None
    sizes = call.sizes(0)
    if type(dim) is not int or sizes is None:
        return
    dim %= max(len(sizes), 1)
    said = f"This model contains a squeeze operation on dimension {dim}"
    static = (
        f"{said}. The size of this dimension in the given input is {sizes[dim]}. The model will be exported without "
        "the squeeze node. If the model is intended to be used with dynamic input shapes, please "
    )
    if call.opset >= 11:
        if sizes[dim] not in (1, None):
            warnings.warn(f"{static}export with dynamic_axes argument.", stacklevel=2)
    elif sizes[dim] is None:
        warnings.warn(
            f"{said} on an input with unknown shape. Note that if the size of dimension {dim} of the input is not 1, "
            "the ONNX model will return an error. Opset version 11 supports squeezing on non-singleton dimensions, it "
            "is recommended to export this model using opset version 11 or higher.",
            stacklevel=2,
        )
    elif sizes[dim] != 1:
        warnings.warn(f"{static}use opset version 11 to export the model.", stacklevel=2)
    else:
        warnings.warn(
            f"{said}. If the model is intended to be used with dynamic input shapes, please use opset version 11 to "
            "export the model.",
            stacklevel=2,
        )


# The number of the last type of elements that translations know.
_LAST_TYPE = 20


@_rule("to")
def _to(call: Call) -> None:
    for i in range(1, len(call.args)):
        number = call.const(i)
        if type(number) is int and number > _LAST_TYPE and i < 3:
            raise ValueError(f"{number} is not a valid JitScalarType")


@_rule("tensordot")
def _tensordot(call: Call) -> None:
    for i, which in ((0, "input_a"), (1, "input_b")):
        if call.has_open_rank(i):
            call.wrong(f"Unsupported: ONNX export of tensordot for tensor({which}) of unknown rank.", i)


# ---- arguments that a translation takes as constants ----


def _must_be_known(call: Call, i: int, name: str, operator: str) -> None:
    """An argument that is a number of the node, not a value."""
    if call.is_known(i):
        return
    value = call.graph.original(call.args[i])
    if value.node().kind() == "prim::ListConstruct":
        for item in value.node().inputs():
            if not _known(call.graph, item):
                raise errors.SymbolicValueError(
                    f"Failed to export a node '{_node_text(call.graph, item)}' (in list node "
                    f"{_node_text(call.graph, value)}) because it is not constant. Please try to make things (e.g. "
                    "kernel sizes) static if possible.",
                    _Shown(call.graph, value),
                )
    raise errors.SymbolicValueError(
        f"Expected node type 'onnx::Constant' for argument '{name}' of node '{operator}', got '{value.node().kind()}'.",
        call.shown(i),
    )


def _node_text(graph: traced.Graph, value: Any) -> str:
    if graph.is_param(value):
        return f"{', '.join(map(graph.declaration, graph.inputs()))} = prim::Param()\n"
    return f"{value.node()}\n"


# By operator the positions and names of such arguments; the translation has the operator's name.
_CONSTANTS: dict[str, tuple[tuple[int, str], ...]] = {
    "std": ((1, "dim"),), "var": ((1, "dim"),), "transpose": ((1, "dim0"), (2, "dim1")), "permute": ((1, "dims"),),
    "softmax": ((1, "dim"),), "log_softmax": ((1, "dim"),), "pixel_shuffle": ((1, "upscale_factor"),),
    "glu": ((1, "dim"),), "flatten": ((1, "start_dim"), (2, "end_dim")), "logsumexp": ((1, "dim"),),
    "argmax": ((2, "keepdim"),), "group_norm": ((1, "num_groups"),), "layer_norm": ((1, "normalized_shape"),),
}  # fmt: skip


def _check_constants(call: Call) -> None:
    name = _operator(call)
    for i, argument in _CONSTANTS.get(name, ()):
        _must_be_known(call, i, argument, name)


# ---- the walk ----


def _key(kind: str) -> str:
    """The name under which the registry has a node: the one of several, without the underscore of an operator that
    writes in place."""
    kind = _C._operator_name(kind)
    return kind[:-1] if kind.endswith("_") else kind


def _writes(node: Any) -> bool:
    return "!)" in node.schema()


# Calls whose result is a part of their first operand.
_VIEWS = frozenset({"aten::slice", "aten::select", "aten::view", "aten::unsqueeze", "aten::squeeze", "aten::transpose"})


def _base(value: Any) -> Any:
    """What a view is a part of."""
    while value.node().kind() in _VIEWS:
        value = next(iter(value.node().inputs()))
    return value


def calls(graph: traced.Graph) -> list[Any]:
    """The nodes that would be translated, in order."""
    return _C._calls(graph.graph)


def _is_tensor(kind: Any) -> bool:
    return kind.kind() == "TensorType" or (kind.kind() == "ListType" and _is_tensor(kind.getElementType()))


# Calls that only look at a value's type, or that a pass before the translation replaces.
_REPLACED = frozenset({"aten::_unwrap_optional", "aten::conj", "aten::warn"})


def _has_translation(node: Any, opset: int) -> bool:
    name = _key(node.kind())
    if name in _REPLACED or registry.is_registered_op(name, opset):
        return True
    if node.kind() == "aten::copy_" and next(iter(node.inputs())).node().kind() in (*_VIEWS, "prim::Param"):
        return True
    # A list that is taken apart at once has a length that is known.
    uses = [use.user.kind() for use in node.output().uses()] if node.outputsSize() == 1 else []
    if name == "aten::chunk" and "prim::ListUnpack" in uses:
        return True
    return registry.get_function_group(name) is None and not any(_is_tensor(v.type()) for v in node.outputs())


def unsupported(graph: traced.Graph, opset: int) -> Iterator[str]:
    """The operators of a graph that have no translation at an opset, in order."""
    for node in calls(graph):
        if node.kind().startswith("aten::") and not _has_translation(node, opset):
            yield _key(node.kind())


# Calls that are index_put, which opset 11 has, if what they write to is a part of a tensor.
_PART_WRITES = frozenset({"aten::copy_", "aten::fill_", "aten::zero_"})


def _check_writes(graph: traced.Graph, node: Any) -> None:
    target = next(iter(node.inputs()), None)
    if target is not None and target.node().kind() in _VIEWS:
        helper._onnx_opset_unsupported("index_put", 9, 11, _Shown(graph, _base(target)))


def _check_pairs(graph: traced.Graph) -> None:
    """What packs sequences and what pads them again become parts of the operators in between."""
    pair = {"aten::_pack_padded_sequence", "aten::_pad_packed_sequence"}
    if len(pair & _C._kinds(graph.graph)) == 1:
        alone = [node for node in traced.nodes_of(graph.graph) if node.kind() in pair]
        raise RuntimeError(
            "ONNX export failed: Cannot export individual pack_padded_sequence or pad_packed_sequence; these "
            f"operations must occur in pairs.\n\nUsage of this operation occurred at:\n{alone[-1].sourceRange()}"
        )


def warn_of_writes(graph: traced.Graph) -> None:
    """A model in ONNX does not change its inputs, nor its weights."""
    if not any(kind.startswith("aten::") and kind.endswith("_") for kind in _C._kinds(graph.graph)):
        return
    for node in traced.nodes_of(graph.graph):
        target = next(iter(node.inputs()), None)
        if target is None or not node.kind().startswith("aten::") or not node.kind().endswith("_"):
            continue
        if graph.is_param(target) and _writes(node):
            warnings.warn(
                f"ONNX Preprocess - Removing mutation from node {node.kind()} on block input: "
                f"'{target.debugName()}'. This changes graph semantics. (Triggered internally at "
                "../torch/csrc/jit/passes/onnx/remove_inplace_ops_for_onnx.cpp:349.)",
                stacklevel=2,
            )


def check(graph: traced.Graph, opset: int) -> None:
    """Raises what the original raises for the first call that it does not translate."""
    _check_calls(graph, opset)
    _check_pairs(graph)


class _Kind:
    """What all calls of one operator have in common at an opset."""

    def __init__(self, kind: str, opset: int) -> None:
        self.name = _key(kind)
        self.group = registry.get_function_group(self.name)
        self.is_custom = self.group is not None and self.group.custom(opset) is not None
        self.is_registered = self.name in _REPLACED or registry.is_registered_op(self.name, opset)
        self.writes_parts = kind in _PART_WRITES and opset < 11
        operator = _operator_of(kind)
        self.takes_constants = operator in _CONSTANTS
        self.rules = [rule for first, last, rule in _RULES.get(operator, ()) if first <= opset <= last]


def _check_calls(graph: traced.Graph, opset: int) -> None:
    kinds: dict[str, _Kind] = {}
    for node in calls(graph):
        kind = node.kind()
        cls = getattr(node.pyobj(), "__self__", None) if kind == "prim::PythonOp" else None
        if isinstance(cls, type) and not python_op.is_kept(cls):
            _check_calls(traced.Graph(node.g("Subgraph"), 0), opset)
        if not kind.startswith("aten::"):
            continue
        known = kinds.get(kind) or kinds.setdefault(kind, _Kind(kind, opset))
        if known.is_custom:
            continue
        if not known.is_registered and not _has_translation(node, opset):
            later = None if known.group is None else known.group.get_min_supported()
            raise errors.UnsupportedOperatorError(known.name, opset, later)
        if known.writes_parts:
            _check_writes(graph, node)
        if known.takes_constants or known.rules:
            call = Call(graph, node, opset)
            _check_constants(call)
            for rule in known.rules:
                rule(call)
