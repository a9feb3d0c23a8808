# SPDX-License-Identifier: Apache-2.0
"""More of torch.onnx.symbolic_helper: nodes that translations have in common. What the writer translates itself is
asked of it."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import ingot
from ingot.onnx import errors
from ingot.onnx import symbolic_helper as helper
from ingot.onnx._enums import TensorProtoDataType
from ingot.onnx._type_utils import JitScalarType


def _call(name: str, g: Any, *args: Any) -> Any:
    from ingot.onnx._internal import translations

    return translations.call(name, g, *args)


def _given(*args: Any) -> list[Any]:
    """Arguments up to the last that is given."""
    out = list(args)
    while out and out[-1] is None:
        out.pop()
    return out


# ---- what the writer translates ----


def _max_helper(g: Any, self: Any, dim_or_y: Any = None, keepdim: Any = None) -> Any:
    return _extreme("max", g, self, dim_or_y, keepdim)


def _min_helper(g: Any, self: Any, dim_or_y: Any = None, keepdim: Any = None) -> Any:
    return _extreme("min", g, self, dim_or_y, keepdim)


def _extreme(name: str, g: Any, self: Any, dim_or_y: Any, keepdim: Any) -> Any:
    """All elements, two tensors, or along a dim: values and positions."""
    if dim_or_y is not None and keepdim is None:
        return _call(f"{name}imum", g, self, dim_or_y)
    return _call(name, g, self, *_given(dim_or_y, keepdim))


def _argmin_argmax_helper(g: Any, input: Any, dim: Any, keepdim: bool, op_name: str) -> Any:
    return _call(op_name.lower(), g, input, dim, bool(keepdim))


def _scatter_helper(g: Any, self: Any, dim: Any, index: Any, src: Any) -> Any:
    return _call("scatter", g, self, dim, index, src)


def _arange_helper(g: Any, *args: Any) -> Any:
    return _call("arange", g, *args)


def _var_mean_helper(g: Any, input: Any, dim: Any, correction: Any, keepdim: Any) -> Any:
    if dim is None:
        return _call("var_mean", g, input, None, correction, bool(keepdim))
    return _call("var_mean", g, input, dim, correction, bool(keepdim))


def _linalg_vector_norm_helper(
    g: Any, self: Any, ord: float, dim: Sequence[int] | None, keepdim: bool, dtype: Any
) -> Any:
    dim = None if dim is None or helper._is_none(dim) else dim
    return _call("linalg_vector_norm", g, self, ord, dim, bool(keepdim))


def _embedding_bag_helper(
    g: Any, embedding_matrix: Any, indices: Any, offsets: Any, scale_grad_by_freq: Any, mode: Any, sparse: Any,
    per_sample_weights: Any, include_last_offset: Any, padding_idx: Any,
) -> Any:  # fmt: skip
    return _call(
        "embedding_bag", g, embedding_matrix, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights,
        include_last_offset, padding_idx,
    )  # fmt: skip


# ---- nodes ----


def _lt_helper(g: Any, input: Any, other: Any) -> Any:
    return g.op("Less", input, other)


def _sort_helper(g: Any, input: Any, dim: int, decending: bool = True, out: Any = None) -> Any:
    if out is not None:
        helper._unimplemented("Sort", "Out parameter is not supported")
    axis = g.op("Constant", value_t=ingot.tensor([dim], dtype=ingot.int64))
    size = g.op("Gather", g.op("Shape", input), axis, axis_i=0)
    if g.opset <= 10:
        if not decending:
            helper._unimplemented("Sort", "Ascending is not supported")
        return g.op("TopK", input, size, axis_i=dim, outputs=2)
    return g.op("TopK", input, size, axis_i=dim, largest_i=int(decending), outputs=2)


def _unbind_helper(g: Any, self: Any, dim: Any, _outputs: int | None) -> Any:
    axis = helper._get_const(dim, "i", "dim") if helper._is_value(dim) else dim
    if _outputs is None:
        one = g.op("Constant", value_t=ingot.tensor(1, dtype=ingot.int64))
        return g.op("SplitToSequence", self, one, axis_i=axis, keepdims_i=0)
    parts = g.op("Split", self, axis_i=axis, outputs=_outputs)
    parts = [parts] if _outputs == 1 else parts
    return [helper._squeeze_helper(g, part, [axis]) for part in parts]


def _repeat_interleave_split_helper(g: Any, self: Any, reps: int, dim: int) -> list[Any]:
    """The slices of a tensor along a dim, one each."""
    if g.opset <= 12:
        parts = g.op("Split", self, split_i=[1] * reps, axis_i=dim, outputs=reps)
    else:
        sizes = g.op("Constant", value_t=ingot.tensor([1] * reps, dtype=ingot.int64))
        parts = g.op("Split", self, sizes, axis_i=dim, outputs=reps)
    return [parts] if reps == 1 else list(parts)


def _repeat_interleave_single_value_repeat_helper(g: Any, self: Any, repeats: Any, dim: int) -> Any:
    return _call("repeat_interleave", g, self, repeats, dim)


def _op_with_optional_float_cast(g: Any, op_name: str, *args: Any, **kwargs: Any) -> Any:
    """A node for floats only: other operands are cast before it and the result after it, from `opset_before` on not."""
    before = kwargs.pop("opset_before", None)
    target = kwargs.pop("target_float_t", JitScalarType.FLOAT)
    inputs = list(args)
    own = JitScalarType.from_value(inputs[0], JitScalarType.UNDEFINED)
    cast = (before is None or g.opset < before) and own != JitScalarType.UNDEFINED and not helper._is_fp(inputs[0])
    if cast:
        for i, value in enumerate(inputs):
            if helper._is_tensor(value):
                inputs[i] = g.op("Cast", value, to_i=int(target.onnx_type()))
    out = g.op(op_name, *inputs, **kwargs)
    return g.op("Cast", out, to_i=int(own.onnx_type())) if cast else out


def _maybe_cast_reduce_op_input(g: Any, self: Any) -> Any:
    """Reductions of integers narrower than 64 bits are 64 bits wide."""
    kind = JitScalarType.from_value(self, JitScalarType.UNDEFINED)
    wide = (JitScalarType.UNDEFINED, JitScalarType.INT64)
    if not helper._is_fp(self) and kind not in wide:
        return g.op("Cast", self, to_i=int(TensorProtoDataType.INT64))
    return self


def _reduce_op_symbolic_helper(onnx_op_name: str, allow_multi_dim_support: bool = True) -> Callable:
    """The translation of a reduction: fn(g, self, dim=None, keepdim=None)."""

    def symbolic(g: Any, self: Any, dim: Any = None, keepdim: Any = None) -> Any:
        self = _maybe_cast_reduce_op_input(g, self)
        if dim is None or dim == ():
            return helper._handle_reduce_dim_none(g, self, onnx_op_name)
        dims = helper._get_const(dim, "is" if allow_multi_dim_support else "i", "dim")
        dims = list(dims) if allow_multi_dim_support else [dims]
        keep = helper._get_const(keepdim, "i", "keepdim")
        if g.opset < 18:
            return g.op(onnx_op_name, self, axes_i=dims, keepdims_i=keep)
        axes = g.op("Constant", value_t=ingot.tensor(dims, dtype=ingot.int64))
        return g.op(onnx_op_name, self, axes, keepdims_i=keep)

    return symbolic


def _reduce_with_dtype_helper(onnx_op: str, name: str, allow_multi_dim_support: bool = True) -> Callable:
    """The translation of a reduction with a dtype: fn(g, self, dtype) or fn(g, self, dim, keepdim, dtype)."""
    plain = _reduce_op_symbolic_helper(onnx_op, allow_multi_dim_support)

    def symbolic(g: Any, self: Any, *args: Any) -> Any:
        dtype = args[-1] if len(args) in (1, 3) else None
        if dtype is not None and not helper._is_none(dtype):
            number = helper._get_const(dtype, "i", "dtype")
            self = g.op("Cast", self, to_i=int(JitScalarType(number).onnx_type()))
        return plain(g, self, *(args[:2] if len(args) >= 2 else ()))

    return symbolic


def _overload_by_arg_count(fn: Callable) -> Callable:
    """A translation with one function per number of arguments, which `fn` lists."""

    @functools.wraps(fn)
    def wrapper(g: Any, *args: Any) -> Any:
        for overload in fn(g, *args):
            descriptors = overload._arg_descriptors
            if len(descriptors) == len(args):
                return overload(g, *args)
        return helper._unimplemented(f"aten::{fn.__name__}", f"with {len(args)} arguments")

    return wrapper


def _apply_params(*args: Any, **kwargs: Any) -> Callable:
    """A decorator that calls the function with these arguments."""

    def apply(fn: Callable) -> Any:
        return fn(*args, **kwargs)

    return apply


def _arange_cast_helper(g: Any, end: Any, start: Any = None, step: Any = None, dtype: Any = None) -> tuple:
    """The type of a range and its bounds in that type."""
    given = [value for value in (end, start, step) if value is not None]
    if dtype is None or (helper._is_value(dtype) and helper._is_none(dtype)):
        kinds = [JitScalarType.from_value(value, JitScalarType.INT64) for value in given if helper._is_value(value)]
        known = all(
            k in (JitScalarType.INT64, JitScalarType.INT, JitScalarType.INT16, JitScalarType.INT8) for k in kinds
        )
        kind = JitScalarType.INT64 if known else JitScalarType.from_dtype(ingot.get_default_dtype())
    else:
        kind = JitScalarType(helper._parse_arg(dtype, "i"))

    def cast(value: Any) -> Any:
        return None if value is None else g.op("Cast", value, to_i=int(kind.onnx_type()))

    return kind, cast(end), cast(start), cast(step)


def _avgpool_helper(
    tuple_fn: Callable, padding: Any, kernel_size: Any, stride: Any, divisor_override: Any, name: str
) -> tuple:
    if divisor_override and divisor_override.node().kind() != "prim::Constant":
        helper._unimplemented(name, "divisor_override")
    return tuple(tuple_fn(padding))


def _batchnorm_helper(g: Any, input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any) -> tuple:
    """The operands of BatchNormalization, with ones and zeros for what is missing."""
    channels = helper._get_tensor_dim_size(input, 1)
    kind = JitScalarType.from_value(input, JitScalarType.FLOAT).dtype()

    def operand(value: Any, fill: float) -> Any:
        if value is not None and not helper._is_none(value):
            return value
        if channels is None:
            raise errors.SymbolicValueError("Unsupported: ONNX export of batch_norm for unknown channel size.", input)
        return g.op("Constant", value_t=ingot.full([channels], fill, dtype=kind))

    return (
        operand(weight, 1.0), operand(bias, 0.0), operand(running_mean, 0.0), operand(running_var, 1.0),
    )  # fmt: skip


def _get_dim_for_cross(x: Any, dim: int | None) -> int | None:
    """The dim of a cross product: without one the first of size 3."""
    if dim == -1:
        return dim + helper._get_tensor_rank(x)
    if dim is None:
        sizes = helper._get_tensor_sizes(x) or []
        return next((i for i, size in enumerate(sizes) if size == 3), None)
    return dim


def _is_split_static(split_size_or_sizes: Any, _outputs: int | None) -> bool:
    """Whether a split has a number of parts, of sizes, that is known."""
    if _outputs is None:
        return False
    if helper._is_value(split_size_or_sizes) and split_size_or_sizes.node().kind() != "onnx::Constant":
        return False
    return True


def _index_fill_reshape_helper(g: Any, self: Any, dim: Any, index: Any) -> tuple:
    """The shape of a tensor and an index for all of its elements along a dim."""
    rank = helper._get_tensor_rank(self)
    if rank is None:
        return helper._unimplemented("index_fill", "input rank not accessible")  # type: ignore[return-value]
    value = helper._parse_arg(dim, "i")
    index = helper._unsqueeze_helper(g, index, [i for i in range(rank) if i != value])
    shape = g.op("Shape", self)
    return shape, g.op("Expand", index, shape)


# ---- interpolation ----


def _interpolate_warning(interpolate_mode: str) -> None:
    op = "onnx:Resize" if ingot.onnx.GLOBALS.export_onnx_opset_version >= 10 else "onnx:Upsample"
    warnings.warn(
        f"You are trying to export the model with {op} for ONNX opset version "
        f"{ingot.onnx.GLOBALS.export_onnx_opset_version}. This operator might cause results to not match the expected "
        "results by PyTorch.\nONNX's Upsample/Resize operator did not match Pytorch's Interpolation until opset 11. "
        "Attributes to determine how to transform the input were added in onnx:Resize in opset 11 to support Pytorch's "
        "behavior (like coordinate_transformation_mode and nearest_mode).\nWe recommend using opset 11 and above for "
        "models using this operator.",
        stacklevel=2,
    )


def _interpolate_get_scales_if_available(g: Any, scales: Sequence[Any]) -> Any:
    """The scales of all dims if they are known; None: they are not."""
    if not scales or helper._is_none(scales[0]):
        return None
    found = helper._maybe_get_const(scales[0], "fs")
    if not isinstance(found, (list, tuple, ingot.Tensor)):
        return None
    values = [1.0, 1.0, *[float(v) for v in found]]
    return g.op("Constant", value_t=ingot.tensor(values, dtype=ingot.float32))


def _interpolate_size_to_scales(g: Any, input: Any, output_size: Any, dim: int) -> Any:
    """The scales of all dims for the sizes of the last ones."""
    sizes = helper._maybe_get_const(output_size, "is")
    if helper._is_value(sizes):
        shape = helper._slice_helper(g, g.op("Shape", input), axes=[0], starts=[2], ends=[2**63 - 1])
        wanted = g.op("Cast", output_size, to_i=int(TensorProtoDataType.FLOAT))
        spatial = g.op("Div", wanted, g.op("Cast", shape, to_i=int(TensorProtoDataType.FLOAT)))
        ones = g.op("Constant", value_t=ingot.ones(2, dtype=ingot.float32))
        return g.op("Concat", ones, spatial, axis_i=0)
    own = helper._get_tensor_sizes(input)
    scales = [1.0 if i < 2 else float(sizes[-(dim - i)]) / float(own[-(dim - i)]) for i in range(dim)]
    return g.op("Constant", value_t=ingot.tensor(scales, dtype=ingot.float32))


def _interpolate_get_scales(g: Any, scale_factor: Any, dim: int) -> Any:
    ones = g.op("Constant", value_t=ingot.ones(2, dtype=ingot.float32))
    if helper._is_packed_list(scale_factor) or helper._get_tensor_rank(scale_factor):
        return g.op("Concat", ones, scale_factor, axis_i=0)
    one = helper._unsqueeze_helper(g, scale_factor, [0])
    one = g.op("Cast", one, to_i=int(TensorProtoDataType.FLOAT))
    return g.op("Concat", ones, *[one] * (dim - 2), axis_i=0)


def _interpolate_get_scales_and_mode(
    g: Any, input: Any, size: Any, scale_factor: Any, mode: Any, align_corners: Any
) -> tuple:
    mode = helper._maybe_get_const(mode, "s")
    mode = "linear" if "linear" in mode else "cubic" if "cubic" in mode else mode
    _interpolate_warning(mode)
    if not helper._is_none(align_corners) and helper._maybe_get_const(align_corners, "b"):
        helper._unimplemented("interpolate", "align_corners == True")
    rank = helper._get_tensor_rank(input)
    if rank is None:
        helper._unimplemented("interpolate", "missing input shape")
    if not helper._is_none(scale_factor):
        return _interpolate_get_scales(g, scale_factor, rank), mode
    if not helper._is_none(size):
        return _interpolate_size_to_scales(g, input, size, rank), mode
    return helper._unimplemented("interpolate", "Both size and scales are None in __interpolate")  # type: ignore


def _get_interpolate_attributes(g: Any, mode: str, args: Sequence[Any]) -> tuple:
    """(scales, align_corners) of the arguments after the size."""
    if mode == "nearest":
        return _interpolate_get_scales_if_available(g, args[0:]), None
    return _interpolate_get_scales_if_available(g, args[1:]), args[0]


def _interpolate_helper(name: str, dim: int, interpolate_mode: str) -> Callable:
    """The translation of an upsampling operator: fn(g, input, output_size, *args)."""

    def symbolic(g: Any, input: Any, output_size: Any, *args: Any) -> Any:
        return _call(name, g, input, output_size, *args)

    return symbolic


# ---- quantized values ----


def _unpack_quantized_tensor(tuple_value: Any) -> tuple:
    """The parts of a quantized value: integers, scale, zero point, and the axis if it has one."""
    if not helper._is_tuple_construct(tuple_value):
        raise errors.SymbolicValueError(
            f"ONNX symbolic expected the output of `{tuple_value.node()}` to be a quantized tensor. Is this likely due "
            "to missing support for quantized "
            f"`{tuple_value.node().kind()}`. Please create an issue on https://github.com/pytorch/pytorch/issues",
            tuple_value,
        )
    return tuple(tuple_value.node().inputs())


def requantize_bias_helper(g: Any, bias: Any, input_scale: Any, weight_scale: Any, axis: Any = None) -> Any:
    """A bias as 32-bit integers with the scale of the product."""
    from ingot.onnx._internal import jit_utils

    scale = g.op("Mul", weight_scale, input_scale)
    shape = g.op("Shape", scale)
    zero = g.op("ConstantOfShape", shape, value_t=ingot.tensor([0], dtype=ingot.int32))
    given = {} if axis is None or helper._is_none(axis) else {"axis_i": helper._get_const(axis, "i", "axis")}
    made = g.op("QuantizeLinear", bias, scale, zero, **given)
    parts = [made, scale, zero, *([] if axis is None else [jit_utils._const(g, axis)])]
    return g.op("prim::TupleConstruct", *parts)


_OWN = ("_call", "_given", "_extreme")
__all__ = [name for name, value in list(globals().items()) if inspect.isfunction(value) and name not in _OWN]
