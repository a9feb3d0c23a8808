# SPDX-License-Identifier: Apache-2.0
"""What translations in Python call: constants and facts of values, and nodes whose form depends on the opset."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import ingot
from ingot import _C
from ingot.onnx import _constants, errors
from ingot.onnx._enums import TensorProtoDataType
from ingot.onnx._globals import GLOBALS
from ingot.onnx._type_utils import JitScalarType

__all__ = ["parse_args", "quantized_args"]

_ISSUES = _constants.PYTORCH_GITHUB_ISSUES_URL

# ---- constants ----


def _is_value(x: Any) -> bool:
    return isinstance(x, _C.Value)


def _is_none(x: Any) -> bool:
    return x is None or (_is_value(x) and x.node().mustBeNone())


def _is_onnx_constant(value: Any) -> bool:
    return value.node().kind() == "onnx::Constant"


def _is_constant(value: Any) -> bool:
    return not _is_value(value) or value.node().kind() in ("onnx::Constant", "prim::Constant")


def _is_packed_list(list_value: Any) -> bool:
    return _is_value(list_value) and list_value.node().kind() == "prim::ListConstruct"


def _is_tuple_construct(x: Any) -> bool:
    return x.node().kind() == "prim::TupleConstruct"


def _node_get(node: Any, key: str) -> Any:
    """An attribute of a node."""
    return getattr(node, node.kindOf(key))(key)


def _constant_of(value: Any) -> Any:
    node = value.node()
    if node.kind() == "prim::Constant":
        return value.toIValue()
    return _node_get(node, "value")


def _tensor_as(tensor: Any, desc: str) -> Any:
    if desc == "i":
        return int(tensor)
    if desc == "f":
        return float(tensor)
    if desc == "b":
        return bool(tensor)
    if desc == "s":
        return str(tensor)
    if desc in ("is", "fs"):
        return [int(v) if desc == "is" else float(v) for v in ingot.as_tensor(tensor).flatten().tolist()]
    return tensor


def _parse_arg(value: Any, desc: str, arg_name: str | None = None, node_name: str | None = None) -> Any:
    """An argument as the descriptor asks: i, f, b, s, t (tensor), is, fs (lists), v (the value itself), none."""
    if desc == "none":
        return value
    if desc == "v" or not _is_value(value):
        return value
    if _is_none(value):
        return None
    node = value.node()
    if node.kind() in ("onnx::Constant", "prim::Constant"):
        return _tensor_as(_constant_of(value), desc)
    if node.kind() == "prim::ListConstruct" and desc in ("is", "fs"):
        for item in node.inputs():
            if not _is_constant(item):
                raise errors.SymbolicValueError(
                    f"Failed to export a node '{item.node()}' (in list node {node}) because it is not constant. "
                    "Please try to make things (e.g. kernel sizes) static if possible.",
                    value,
                )
        return [_tensor_as(_constant_of(item), desc[0]) for item in node.inputs()]
    where = f" for argument '{arg_name}' of node '{node_name}'" if arg_name is not None else ""
    raise errors.SymbolicValueError(f"Expected node type 'onnx::Constant'{where}, got '{node.kind()}'.", value)


def _get_const(value: Any, desc: str, arg_name: str) -> Any:
    if not _is_constant(value):
        raise errors.SymbolicValueError(
            f"ONNX symbolic expected a constant value of the '{arg_name}' argument, got '{value}'", value
        )
    return _parse_arg(value, desc)


def _maybe_get_const(value: Any, descriptor: str) -> Any:
    if _is_value(value) and (_is_constant(value) or (descriptor in ("is", "fs") and _is_packed_list(value))):
        return _parse_arg(value, descriptor)
    return value


def _maybe_get_scalar(value: Any) -> Any:
    found = _maybe_get_const(value, "t")
    return found if isinstance(found, ingot.Tensor) and found.dim() == 0 else value


def _scalar(x: Any) -> Any:
    return x.item() if isinstance(x, ingot.Tensor) and x.numel() == 1 else None


def _unpack_list(list_value: Any) -> list[Any]:
    if not _is_packed_list(list_value):
        raise errors.SymbolicValueError(
            f"ONNX symbolic expected node type prim::ListConstruct, got '{list_value.node().kind()}'.", list_value
        )
    return list(list_value.node().inputs())


def _unpack_tuple(tuple_value: Any) -> tuple:
    if not _is_tuple_construct(tuple_value):
        raise errors.SymbolicValueError(
            f"ONNX symbolic expected node type 'prim::TupleConstruct', got '{tuple_value.node().kind()}'.", tuple_value
        )
    return tuple(tuple_value.node().inputs())


def parse_args(*arg_descriptors: str) -> Callable:
    """A decorator: the arguments of a translation after g as the descriptors ask."""

    def decorator(fn: Callable) -> Callable:
        fn._arg_descriptors = arg_descriptors  # type: ignore[attr-defined]

        @functools.wraps(fn)
        def wrapper(g: Any, *args: Any, **kwargs: Any) -> Any:
            names = list(inspect.signature(fn).parameters)[1:]
            if len(arg_descriptors) < len(args):
                raise AssertionError(
                    f"A mismatch between the number of arguments ({len(args)}) and their descriptors "
                    f"({len(arg_descriptors)}) was found at symbolic function '{fn.__name__}'. If you believe this is "
                    f"not due to custom symbolic implementation within your code or an external library, please file "
                    f"an issue at {_ISSUES}?template=bug-report.yml to report this bug."
                )
            names += [f"argument {i}" for i in range(len(names), len(args))]
            found = [
                _parse_arg(value, desc, name, fn.__name__)
                for value, desc, name in zip(args, arg_descriptors, names, strict=False)
            ]
            return fn(g, *found, **kwargs)

        return wrapper

    return decorator


def quantized_args(
    *arg_q_descriptors: bool, scale: float | None = None, zero_point: int | None = None, quantize_output: bool = True
) -> Callable:
    """A decorator that marks which arguments may be quantized; tensors that are not are passed as they are."""

    def decorator(fn: Callable) -> Callable:
        return fn

    return decorator


# ---- facts of values ----


def _is_tensor(x: Any) -> bool:
    return x.type().kind() == "TensorType"


def _is_list(x: Any) -> bool:
    return x.type().kind() == "ListType"


def _is_tensor_list(x: Any) -> bool:
    return _is_list(x) and x.type().getElementType().kind() == "TensorType"


def _is_scalar_list(x: Any) -> bool:
    return _is_list(x) and x.type().getElementType().kind() in ("IntType", "FloatType", "BoolType")


def _as_list_type(jit_type: Any) -> Any:
    return jit_type if jit_type.kind() == "ListType" else None


def is_complex_value(x: Any) -> bool:
    kind = JitScalarType.from_value(x, JitScalarType.UNDEFINED)
    return kind in (JitScalarType.COMPLEX32, JitScalarType.COMPLEX64, JitScalarType.COMPLEX128)


def _try_get_scalar_type(*args: Any) -> JitScalarType | None:
    for arg in args:
        found = JitScalarType.from_value(arg, JitScalarType.UNDEFINED)
        if found != JitScalarType.UNDEFINED:
            return found
    return None


def _type_promote_from_values(*args: Any) -> JitScalarType:
    found = [JitScalarType.from_value(arg, JitScalarType.UNDEFINED) for arg in args]
    known = [f for f in found if f != JitScalarType.UNDEFINED]
    if not known:
        return JitScalarType.UNDEFINED
    dtype = known[0].dtype()
    for other in known[1:]:
        dtype = ingot.promote_types(dtype, other.dtype())
    return JitScalarType.from_dtype(dtype)


def args_have_same_dtype(args: Sequence[Any]) -> bool:
    first = JitScalarType.from_value(args[0])
    return all(JitScalarType.from_value(arg) == first for arg in args)


def _is_fp(value: Any) -> bool:
    return JitScalarType.from_value(value, JitScalarType.UNDEFINED) in (
        JitScalarType.FLOAT, JitScalarType.DOUBLE, JitScalarType.HALF, JitScalarType.BFLOAT16,
    )  # fmt: skip


def _is_bool(value: Any) -> bool:
    return JitScalarType.from_value(value, JitScalarType.UNDEFINED) == JitScalarType.BOOL


def _get_tensor_rank(x: Any) -> int | None:
    return x.type().dim() if _is_tensor(x) else None


def _get_tensor_sizes(x: Any, allow_nonstatic: bool = True) -> list[int | None] | None:
    if not _is_tensor(x):
        return None
    return x.type().varyingSizes() if allow_nonstatic else x.type().sizes()


def _get_tensor_dim_size(x: Any, dim: int) -> int | None:
    sizes = _get_tensor_sizes(x)
    return sizes[dim] if sizes else None


# ---- refusals ----


def _unimplemented(op: str, msg: str, value: Any = None) -> None:
    _onnx_unsupported(f"{op}, {msg}", value)


def _onnx_unsupported(op_name: str, value: Any = None) -> NoReturn:
    text = (
        f"Unsupported: ONNX export of operator {op_name}. Please feel free to request support or submit a pull request "
        f"on PyTorch GitHub: {_ISSUES}"
    )
    if value is not None:
        raise errors.SymbolicValueError(text, value)
    raise errors.OnnxExporterError(text)


def _onnx_opset_unsupported(op_name: str, current_opset: int, supported_opset: int, value: Any = None) -> NoReturn:
    text = (
        f"Unsupported: ONNX export of {op_name} in opset {current_opset}. Please try opset version {supported_opset}."
    )
    if value is not None:
        raise errors.SymbolicValueError(text, value)
    raise errors.OnnxExporterError(text)


def _onnx_opset_unsupported_detailed(
    op_name: str, current_opset: int, supported_opset: int, reason: str, value: Any = None
) -> NoReturn:
    text = (
        f"Unsupported: ONNX export of {op_name} in opset {current_opset}. {reason}. Please try opset version "
        f"{supported_opset}."
    )
    if value is not None:
        raise errors.SymbolicValueError(text, value)
    raise errors.OnnxExporterError(text)


def _block_list_in_opset(name: str) -> Callable:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise errors.OnnxExporterError(
            f"ONNX export failed on {name}, which is not implemented for opset {GLOBALS.export_onnx_opset_version}. "
            "Try exporting with other opset versions."
        )

    return refuse


def check_training_mode(op_train_mode: int, op_name: str) -> None:
    mode = bool(op_train_mode)
    if GLOBALS.export_training == mode:
        return
    warnings.warn(
        f"ONNX export mode is set to {GLOBALS.training_mode}, but operator '{op_name}' is set to train={mode}. "
        f"Exporting with train={mode}.",
        stacklevel=2,
    )


# ---- nodes ----


def _long(values: Any) -> Any:
    return ingot.tensor(values, dtype=ingot.int64)


def _axes_node(g: Any, op: str, input: Any, axes_i: Sequence[int]) -> Any:
    if isinstance(axes_i, _C.Value):
        return g.op(op, input, axes_i)
    if g.opset >= 13:
        return g.op(op, input, g.op("Constant", value_t=_long(list(axes_i))))
    return g.op(op, input, axes_i=list(axes_i))


def _unsqueeze_helper(g: Any, input: Any, axes_i: Sequence[int]) -> Any:
    return _axes_node(g, "Unsqueeze", input, axes_i)


def _squeeze_helper(g: Any, input: Any, axes_i: Sequence[int]) -> Any:
    return _axes_node(g, "Squeeze", input, axes_i)


def _reducesum_helper(
    g: Any, input: Any, axes_i: Any = None, keepdims_i: int = 1, noop_with_empty_axes_i: int = 0
) -> Any:
    keepdims_i = _maybe_get_const(keepdims_i, "i")
    if g.opset >= 13:
        if axes_i is None:
            return g.op("ReduceSum", input, keepdims_i=keepdims_i, noop_with_empty_axes_i=noop_with_empty_axes_i)
        axes = axes_i if _is_value(axes_i) else g.op("Constant", value_t=_long(list(axes_i)))
        return g.op("ReduceSum", input, axes, keepdims_i=keepdims_i, noop_with_empty_axes_i=noop_with_empty_axes_i)
    return g.op("ReduceSum", input, axes_i=axes_i, keepdims_i=keepdims_i)


def _reshape_helper(g: Any, input: Any, shape: Any, allowzero: int = 0) -> Any:
    shape = _maybe_get_const(shape, "is")
    if not _is_value(shape):
        shape = g.op("Constant", value_t=_long(list(shape)))
    if g.opset <= 13:
        return g.op("Reshape", input, shape)
    return g.op("Reshape", input, shape, allowzero_i=allowzero)


def _slice_helper(g: Any, input: Any, axes: Any, starts: Any, ends: Any, steps: Any = None) -> Any:
    if g.opset <= 9:
        return g.op("Slice", input, axes_i=list(axes), starts_i=list(starts), ends_i=list(ends))

    def operand(v: Any) -> Any:
        return v if _is_value(v) else g.op("Constant", value_t=_long(list(v)))

    given = [operand(v) for v in (starts, ends, axes)]
    return g.op("Slice", input, *given, *([] if steps is None else [operand(steps)]))


def _select_helper(g: Any, self: Any, dim: int, index: Any, apply_reshape: bool = True) -> Any:
    found = _maybe_get_scalar(index)
    if not _is_value(found):
        index = g.op("Constant", value_t=ingot.as_tensor(found).to(ingot.int64))
    return g.op("Gather", self, index, axis_i=dim)


def _size_helper(g: Any, self: Any, dim: Any) -> Any:
    axis = _unsqueeze_helper(g, dim, [0]) if _is_value(dim) else g.op("Constant", value_t=_long([dim]))
    return g.op("Gather", g.op("Shape", self), axis, axis_i=0)


def _numel_helper(g: Any, self: Any) -> Any:
    return g.op("ReduceProd", g.op("Shape", self), keepdims_i=0)


def _topk_helper(
    g: Any, input: Any, k: Any, dim: int, largest: bool = True, sorted: bool = False, out: Any = None
) -> Any:
    if out is not None:
        _unimplemented("TopK", "Out parameter is not supported")
    k = g.op("Constant", value_t=_long([k])) if not _is_value(k) else _reshape_helper(g, k, [1])
    if g.opset <= 10:
        if not largest:
            _unimplemented("TopK", "Ascending is not supported")
        return g.op("TopK", input, k, axis_i=dim, outputs=2)
    return g.op("TopK", input, k, axis_i=dim, largest_i=int(largest), sorted_i=int(sorted), outputs=2)


def _generate_wrapped_number(g: Any, scalar: Any) -> Any:
    """A number as a tensor without dimensions."""
    if isinstance(scalar, float):
        return g.op("Constant", value_t=ingot.tensor(scalar, dtype=ingot.float64))
    return g.op("Constant", value_t=ingot.tensor(scalar))


def _if_scalar_type_as(self: Any, tensor: Any) -> Any:
    if _is_value(self):
        return self
    kind = JitScalarType.from_value(tensor, JitScalarType.UNDEFINED)
    return self if kind == JitScalarType.UNDEFINED else self.to(kind.dtype())


def _maybe_cast_to_type(g: Any, value: Any, jit_type: JitScalarType) -> Any:
    if JitScalarType.from_value(value, JitScalarType.UNDEFINED) != jit_type:
        return g.op("Cast", value, to_i=int(jit_type.onnx_type()))
    return value


def _handle_reduce_dim_none(g: Any, self: Any, op_name: str) -> Any:
    return g.op(op_name, self, keepdims_i=0)


def _optional_input_placeholder_tensor(g: Any) -> Any:
    from ingot.onnx._internal import jit_utils

    return jit_utils.none(g.graph)


def _flatten_helper(g: Any, input: Any, start_dim: int, end_dim: int, dim: int) -> Any:
    size = g.op("Shape", input)
    parts = []
    if start_dim > 0:
        parts.append(_slice_helper(g, size, axes=[0], starts=[0], ends=[start_dim]))
    parts.append(g.op("Constant", value_t=_long([-1])))
    if end_dim < dim - 1:
        parts.append(_slice_helper(g, size, axes=[0], starts=[end_dim + 1], ends=[dim]))
    return _reshape_helper(g, input, g.op("Concat", *parts, axis_i=0))


def quantize_helper(g: Any, tensor: Any, scale: Any, zero_point: Any, axis: Any = None) -> Any:
    if axis is not None and g.opset < 13:
        _onnx_opset_unsupported_detailed("QuantizeLinear", g.opset, 13, "Attribute axis is not supported.", tensor)
    given = {} if axis is None or _is_none(axis) else {"axis_i": _get_const(axis, "i", "axis")}
    return g.op("QuantizeLinear", tensor, scale, zero_point, **given)


def dequantize_helper(g: Any, qtensor: Any, qdtype: Any = None) -> tuple:
    values = _unpack_tuple(qtensor)
    return g.op("DequantizeLinear", *values[:3]), values[1], values[2], values[3] if len(values) > 3 else None


# ---- tables ----

cast_pytorch_to_onnx = {
    "Byte": TensorProtoDataType.UINT8,
    "Char": TensorProtoDataType.INT8,
    "Double": TensorProtoDataType.DOUBLE,
    "Float": TensorProtoDataType.FLOAT,
    "Half": TensorProtoDataType.FLOAT16,
    "Int": TensorProtoDataType.INT32,
    "Long": TensorProtoDataType.INT64,
    "Short": TensorProtoDataType.INT16,
    "Bool": TensorProtoDataType.BOOL,
    "ComplexFloat": TensorProtoDataType.COMPLEX64,
    "ComplexDouble": TensorProtoDataType.COMPLEX128,
    "BFloat16": TensorProtoDataType.BFLOAT16,
    "Undefined": TensorProtoDataType.UNDEFINED,
}
# The types up to bfloat16, which these tables have had since before there were others.
_OLD_TYPES = [JitScalarType(number) for number in range(JitScalarType.BFLOAT16 + 1)]
scalar_type_to_onnx = [kind.onnx_type() for kind in _OLD_TYPES]
scalar_name_to_pytorch = {
    kind.torch_name(): kind.scalar_name() for kind in _OLD_TYPES if kind != JitScalarType.COMPLEX32
}
scalar_type_to_pytorch_type = [
    getattr(ingot, row, None)
    for row in (
        "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex32", "complex64",
        "complex128", "bool", "qint8", "quint8", "qint32", "bfloat16",
    )
]  # fmt: skip
pytorch_name_to_type = {
    name: getattr(ingot, dtype)
    for name, dtype in (
        ("Byte", "uint8"), ("Char", "int8"), ("Double", "float64"), ("Float", "float32"), ("Half", "float16"),
        ("Int", "int32"), ("Long", "int64"), ("Short", "int16"), ("Bool", "bool"), ("ComplexFloat", "complex64"),
        ("ComplexDouble", "complex128"), ("QInt8", "qint8"), ("QUInt8", "quint8"), ("QInt32", "qint32"),
        ("BFloat16", "bfloat16"),
    )
    if hasattr(ingot, dtype)
}  # fmt: skip


def is_caffe2_aten_fallback() -> bool:
    return False


_quantized_ops: set[str] = set()


def __getattr__(name: str) -> Any:
    """The rest of the module, which needs the writer."""
    from ingot.onnx._internal import node_helpers

    if name in node_helpers.__all__:
        return getattr(node_helpers, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
