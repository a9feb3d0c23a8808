# SPDX-License-Identifier: Apache-2.0
"""The functional forms of the layers: thin wrappers of operators that reorder arguments, choose in-place variants and
check what the operators do not.

A name that is an operator with the same arguments (conv2d, gelu, ...) has no function here: the module looks it up."""

from __future__ import annotations

import math
import warnings
from typing import Any

import ingot as _t
from ingot._C import Tensor
from ingot.nn._arguments import repeat

Flag = bool | None
Maybe = Tensor | None

# Operators whose own arguments are those of the functional form.
_NAMES = """
    adaptive_avg_pool1d avg_pool1d avg_pool2d avg_pool3d bilinear celu_ channel_shuffle conv1d conv2d conv3d
    conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d cosine_similarity elu_ gelu hardshrink hardtanh_
    leaky_relu_ linear one_hot pairwise_distance pdist pixel_shuffle pixel_unshuffle prelu
    relu_ rrelu_ scaled_dot_product_attention selu_ softplus softshrink threshold_ relu6_
"""
_OPERATORS = {name: name for name in _NAMES.split()} | {
    "logsigmoid": "log_sigmoid", "native_channel_shuffle": "channel_shuffle",
}  # fmt: skip
_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def __getattr__(name: str) -> Any:
    if name not in _OPERATORS:
        raise AttributeError(f"module 'ingot.nn.functional' has no attribute {name!r}")
    found = globals()[name] = getattr(_t, _OPERATORS[name])
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_OPERATORS} - {"Any", "Flag", "Maybe", "annotations", "math", "repeat", "warnings"})


def _reduction(reduction: str, size_average: Flag = None, reduce: Flag = None) -> int:
    """The integer code of a reduction. The deprecated flags size_average and reduce take precedence if given."""
    if size_average is not None or reduce is not None:
        average, reduces = size_average is not False, reduce is not False
        reduction = ("mean" if average else "sum") if reduces else "none"
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.",
            stacklevel=3,
        )
    if reduction not in _REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return _REDUCTIONS[reduction]


def _reduced(loss: Tensor, reduction: str) -> Tensor:
    number = _reduction(reduction)
    return loss if number == 0 else loss.mean() if number == 1 else loss.sum()


# Activations


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    return _t.relu_(input) if inplace else _t.relu(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    return _t.relu6_(input) if inplace else _t.relu6(input)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    return _t.elu_(input, alpha) if inplace else _t.elu(input, alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    return _t.selu_(input) if inplace else _t.selu(input)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    return _t.celu_(input, alpha) if inplace else _t.celu(input, alpha)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    return _t.silu_(input) if inplace else _t.silu(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    return _t.mish_(input) if inplace else _t.mish(input)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    return _t.leaky_relu_(input, negative_slope) if inplace else _t.leaky_relu(input, negative_slope)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return _t.hardtanh_(input, min_val, max_val) if inplace else _t.hardtanh(input, min_val, max_val)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    return _t.hardswish_(input) if inplace else _t.hardswish(input)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    return _t.hardsigmoid_(input) if inplace else _t.hardsigmoid(input)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    return _t.threshold_(input, threshold, value) if inplace else _t.threshold(input, threshold, value)


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    return _t.rrelu_(input, lower, upper, training) if inplace else _t.rrelu(input, lower, upper, training)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    return _t.glu(input, dim)


def sigmoid(input: Tensor) -> Tensor:
    return input.sigmoid()


def tanh(input: Tensor) -> Tensor:
    return input.tanh()


def softsign(input: Tensor) -> Tensor:
    return input / (input.abs() + 1)


def tanhshrink(input: Tensor) -> Tensor:
    return input - input.tanh()


def _softmax_dim(name: str, ndim: int) -> int:
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=3,
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    dim = _softmax_dim("softmax", input.dim()) if dim is None else dim
    return input.softmax(dim) if dtype is None else input.softmax(dim, dtype=dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    dim = _softmax_dim("softmin", input.dim()) if dim is None else dim
    return (-input).softmax(dim) if dtype is None else (-input).softmax(dim, dtype=dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    dim = _softmax_dim("log_softmax", input.dim()) if dim is None else dim
    return input.log_softmax(dim) if dtype is None else input.log_softmax(dim, dtype=dtype)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    gumbels = -_t.empty_like(logits).exponential_().log()
    soft = ((logits + gumbels) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    picked = _t.zeros_like(logits).scatter_(dim, index, 1.0)
    return picked - soft.detach() + soft


# Dropout


def _dropout(name: str, input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    return getattr(_t, name + "_" if inplace else name)(input, p, training)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    return _dropout("dropout", input, p, training, inplace)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    return _dropout("alpha_dropout", input, p, training, inplace)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    return _dropout("feature_alpha_dropout", input, p, training, inplace)


def _channel_dropout(dims: int, input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    """Drops whole channels of (N, C, spatial). An unbatched input gets a batch dimension for the call."""
    if input.dim() not in (dims + 1, dims + 2):
        message = f"dropout{dims}d: Received a {input.dim()}-D input to dropout{dims}d, "
        message += f"but expected {dims + 1}-D or {dims + 2}-D"
        if dims == 1:
            raise RuntimeError(message)
        warnings.warn(message, stacklevel=3)
    if dims == 2 or input.dim() == dims + 2:
        return _dropout("feature_dropout", input, p, training, inplace)
    if inplace:
        _dropout("feature_dropout", input.unsqueeze_(0), p, training, True)
        return input.squeeze_(0)
    return _dropout("feature_dropout", input.unsqueeze(0), p, training, False).squeeze(0)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    return _channel_dropout(1, input, p, training, inplace)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    return _channel_dropout(2, input, p, training, inplace)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    return _channel_dropout(3, input, p, training, inplace)


# Pooling


def _max_pool(dims: int, input: Tensor, args: tuple, return_indices: bool) -> Any:
    kernel_size, stride, *rest = args
    stride = [] if stride is None else stride
    name = f"max_pool{dims}d_with_indices" if return_indices else f"max_pool{dims}d"
    return getattr(_t, name)(input, kernel_size, stride, *rest)


def max_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    return _max_pool(1, input, (kernel_size, stride, padding, dilation, ceil_mode), return_indices)


def max_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    return _max_pool(2, input, (kernel_size, stride, padding, dilation, ceil_mode), return_indices)


def max_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    return _max_pool(3, input, (kernel_size, stride, padding, dilation, ceil_mode), return_indices)


def _full_output_size(input: Tensor, output_size: Any, dims: int) -> Any:
    """None entries of an adaptive output size mean the input's own size."""
    if not isinstance(output_size, (tuple, list)):
        return [output_size] * dims
    if len(output_size) == 1:
        output_size = list(output_size) * dims
    sizes = input.shape[-dims:]
    if len(sizes) < dims or len(output_size) != dims:
        raise ValueError(f"Input dimension should be at least {dims + 1}")
    return [own if wanted is None else wanted for own, wanted in zip(sizes, output_size)]


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    return _t.adaptive_avg_pool2d(input, _full_output_size(input, output_size, 2))


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    return _t.adaptive_avg_pool3d(input, _full_output_size(input, output_size, 3))


def _adaptive_max_pool(dims: int, input: Tensor, output_size: Any, return_indices: bool) -> Any:
    values = getattr(_t, f"adaptive_max_pool{dims}d")(input, _full_output_size(input, output_size, dims))
    return values if return_indices else values[0]


def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    return _adaptive_max_pool(1, input, output_size, return_indices)


def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    return _adaptive_max_pool(2, input, output_size, return_indices)


def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    return _adaptive_max_pool(3, input, output_size, return_indices)


def _lp_pool(dims: int, input: Tensor, norm_type: float, kernel_size: Any, stride: Any, ceil_mode: bool) -> Tensor:
    powers = input.pow(norm_type)
    stride = [] if stride is None else stride
    out = getattr(_t, f"avg_pool{dims}d")(powers, kernel_size, stride, 0, ceil_mode)
    count = math.prod(repeat(kernel_size, dims))
    return (_t.sign(out) * relu(_t.abs(out))).mul(count).pow(1.0 / norm_type)


def lp_pool1d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    return _lp_pool(3, input, norm_type, kernel_size, stride, ceil_mode)


def _max_unpool(dims: int, input: Tensor, indices: Tensor, args: tuple) -> Tensor:
    kernel_size, stride, padding, output_size = args
    kernel = repeat(kernel_size, dims)
    steps = kernel if stride is None else repeat(stride, dims)
    pads = repeat(padding, dims)
    own = input.shape[-dims:]
    natural = [(n - 1) * s + k - 2 * p for n, s, k, p in zip(own, steps, kernel, pads)]
    if output_size is None:
        sizes = natural
    else:
        sizes = list(output_size)[-dims:]
        if len(output_size) not in (dims, dims + 2):
            raise ValueError(
                f"output_size should be a sequence containing {dims} or {dims + 2} elements, but it has a length of "
                f"'{len(output_size)}'"
            )
        for d, (found, default, step) in enumerate(zip(sizes, natural, steps)):
            if not default - step < found < default + step:
                raise ValueError(
                    f'invalid output_size "{sizes}" (dim {d} must be between {default - step} and {default + step})'
                )
    if dims == 1:
        return _t.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), [sizes[0], 1]).squeeze(-1)
    if dims == 2:
        return _t.max_unpool2d(input, indices, sizes)
    return _t.max_unpool3d(input, indices, sizes, steps, pads)


def max_unpool1d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    return _max_unpool(1, input, indices, (kernel_size, stride, padding, output_size))


def max_unpool2d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    return _max_unpool(2, input, indices, (kernel_size, stride, padding, output_size))


def max_unpool3d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    return _max_unpool(3, input, indices, (kernel_size, stride, padding, output_size))


def _fractional_max_pool(
    dims: int, input: Tensor, kernel_size: Any, output_size: Any, output_ratio: Any, return_indices: bool, samples: Any
) -> Any:
    if output_size is None and output_ratio is None:
        raise ValueError(f"fractional_max_pool{dims}d requires specifying either an output_size or an output_ratio")
    if output_size is None:
        ratios = repeat(output_ratio, dims)
        output_size = [int(n * r) for n, r in zip(input.shape[-dims:], ratios)]
    if samples is None:
        batch = 1 if input.dim() == dims + 1 else input.size(0)
        samples = _t.rand(batch, input.size(-dims - 1), dims, dtype=input.dtype, device=input.device)
    values = getattr(_t, f"fractional_max_pool{dims}d")(
        input, repeat(kernel_size, dims), repeat(output_size, dims), samples
    )
    return values if return_indices else values[0]


def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Maybe = None,
) -> Any:
    return _fractional_max_pool(2, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)


def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Maybe = None,
) -> Any:
    return _fractional_max_pool(3, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)


# Normalization


def _check_values_per_channel(size: Any) -> None:
    values = size[0]
    for n in size[2:]:
        values = values * n
    if values == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")


def batch_norm(
    input: Tensor,
    running_mean: Maybe,
    running_var: Maybe,
    weight: Maybe = None,
    bias: Maybe = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    if training:
        _check_values_per_channel(input.size())
    return _t.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, True)


def instance_norm(
    input: Tensor,
    running_mean: Maybe = None,
    running_var: Maybe = None,
    weight: Maybe = None,
    bias: Maybe = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    if use_input_stats and math.prod(input.shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.size()}")
    return _t.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True)


def layer_norm(
    input: Tensor, normalized_shape: Any, weight: Maybe = None, bias: Maybe = None, eps: float = 1e-5
) -> Tensor:
    return _t.layer_norm(input, normalized_shape, weight, bias, eps)


def rms_norm(input: Tensor, normalized_shape: Any, weight: Maybe = None, eps: float | None = None) -> Tensor:
    return _t.rms_norm(input, normalized_shape, weight, eps)


def group_norm(input: Tensor, num_groups: int, weight: Maybe = None, bias: Maybe = None, eps: float = 1e-5) -> Tensor:
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    size = input.size()
    _check_values_per_channel([size[0] * size[1] // num_groups, num_groups, *size[2:]])
    return _t.group_norm(input, num_groups, weight, bias, eps)


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    if input.dim() < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {input.dim()} dimensions)")
    if input.numel() == 0:
        return input
    squares = input.mul(input)
    shape = input.size()
    # Channels become the axis that a pooling window slides over.
    flat = squares.unsqueeze(1) if input.dim() == 3 else squares.view(shape[0], 1, shape[1], shape[2], -1)
    before, after = size // 2, (size - 1) // 2
    if input.dim() == 3:
        means = _t.avg_pool2d(pad(flat, (0, 0, before, after)), (size, 1), stride=1).squeeze(1)
    else:
        means = _t.avg_pool3d(pad(flat, (0, 0, 0, 0, before, after)), (size, 1, 1), stride=1).squeeze(1).view(shape)
    return input / means.mul(alpha).add(k).pow(beta)


def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Maybe = None) -> Tensor:
    dims = [dim] if isinstance(dim, int) else dim
    norms = _t.linalg_vector_norm(input, p, dims, True).clamp_min(eps).expand_as(input)
    return input / norms if out is None else _t.div(input, norms, out=out)


# Embeddings


def _padding_index(padding_idx: int | None, rows: int) -> int:
    if padding_idx is None:
        return -1
    if padding_idx >= rows or padding_idx < -rows:
        raise AssertionError("Padding_idx must be within num_embeddings")
    return padding_idx + rows if padding_idx < 0 else padding_idx


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    padding = -1 if padding_idx is None else _padding_index(padding_idx, weight.size(0))
    if max_norm is not None:
        input = input.contiguous()
        _t.embedding_renorm_(weight.detach(), input, max_norm, norm_type)
    return _t.embedding(weight, input, padding, scale_grad_by_freq, sparse)


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Maybe = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Maybe = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, "
            f"then it must have the same shape as the input ({input.shape})"
        )
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError(
                f"if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                f"sequences. "
                f"However, found offsets of type {type(offsets)}"
            )
        offsets = _t.arange(0, input.numel(), input.size(1), dtype=input.dtype, device=input.device)
        input = input.reshape(-1)
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)
    elif input.dim() != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    elif offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    elif offsets.dim() != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    modes = {"sum": 0, "mean": 1, "max": 2}
    if mode not in modes:
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            f"embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
            f"(got mode='{mode}'). "
            "Please open a feature request on GitHub."
        )
    if max_norm is not None:
        with _t.no_grad():
            _t.embedding_renorm_(weight, input, max_norm, norm_type)
    return _t.embedding_bag(
        weight,
        input,
        offsets,
        scale_grad_by_freq,
        modes[mode],
        sparse,
        per_sample_weights,
        include_last_offset,
        padding_idx,
    )[0]


# Shapes and images


def pad(input: Tensor, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    return _t.pad(input, pad, mode, value)


def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    return _t.im2col(input, *(repeat(v, 2) for v in (kernel_size, dilation, padding, stride)))


def fold(
    input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    return _t.col2im(input, *(repeat(v, 2) for v in (output_size, kernel_size, dilation, padding, stride)))


_UPSAMPLE = {  # mode: {dimensions of the input: operator}
    "nearest": {3: "upsample_nearest1d", 4: "upsample_nearest2d", 5: "upsample_nearest3d"},
    "nearest-exact": {3: "_upsample_nearest_exact1d", 4: "_upsample_nearest_exact2d", 5: "_upsample_nearest_exact3d"},
    "linear": {3: "upsample_linear1d"},
    "bilinear": {4: "upsample_bilinear2d"},
    "trilinear": {5: "upsample_trilinear3d"},
    "bicubic": {4: "upsample_bicubic2d"},
}


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: Flag = None,
    recompute_scale_factor: Flag = None,
    antialias: bool = False,
) -> Tensor:
    aligned_modes = ("linear", "bilinear", "bicubic", "trilinear")
    if mode in aligned_modes:
        align_corners = bool(align_corners)
    elif align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    dims = input.dim() - 2
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    for what, value in (("output shape", size), ("scale_factor", scale_factor)):
        if isinstance(value, (list, tuple)) and len(value) != dims:
            raise ValueError(
                f"Input and {what} must have the same number of spatial dimensions, but got input with spatial "
                f"dimensions of "
                f"{list(input.shape[2:])} and {what} of {value}. Please provide input tensor in (N, C, d1, d2, "
                f"...,dK) format "
                f"and {what} in (d1, d2, ...,dK) format."
            )
    if size is not None and recompute_scale_factor:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    sizes = None if size is None else list(repeat(size, dims))
    scales = None if scale_factor is None else [float(s) for s in repeat(scale_factor, dims)]
    if mode == "area":
        if sizes is None:
            sizes = [math.floor(n * s) for n, s in zip(input.shape[2:], scales)]
        return getattr(_t, f"adaptive_avg_pool{dims}d")(input, sizes)
    if scales is not None and recompute_scale_factor:
        sizes, scales = [math.floor(n * s) for n, s in zip(input.shape[2:], scales)], None
    if antialias and not (mode in ("bilinear", "bicubic") and input.dim() == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as input"
        )
    name = _UPSAMPLE.get(mode, {}).get(input.dim())
    if name is None:
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.dim()}D) for the modes: nearest | "
            f"linear | bilinear | bicubic | "
            f"trilinear | area | nearest-exact (got {mode})"
        )
    if antialias:
        name = f"_{name}_aa"
    vec = getattr(_t.ops.aten, name).vec
    return vec(input, sizes, align_corners, scales) if mode in aligned_modes else vec(input, sizes, scales)


def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: Flag = None
) -> Tensor:
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def _choice(what: str, value: str, choices: tuple[str, ...]) -> int:
    if value not in choices:
        listed = ", ".join(f"'{c}'" for c in choices[:-1]) + f" or '{choices[-1]}'"
        raise ValueError(f"nn.functional.grid_sample(): expected {what} to be {listed}, but got: '{value}'")
    return choices.index(value)


def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: Flag = None
) -> Tensor:
    return _t.grid_sampler(
        input,
        grid,
        _choice("mode", mode, ("bilinear", "nearest", "bicubic")),
        _choice("padding_mode", padding_mode, ("zeros", "border", "reflection")),
        bool(align_corners),
    )


def affine_grid(theta: Tensor, size: Any, align_corners: Flag = None) -> Tensor:
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    rows = {4: 2, 5: 3}.get(len(size))
    if rows is None:
        raise NotImplementedError(
            f"affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size "
            f"{size}."
        )
    if theta.dim() != 3 or theta.shape[-2] != rows or theta.shape[-1] != rows + 1:
        raise ValueError(
            f"Expected a batch of {rows}D affine matrices of shape Nx{rows}x{rows + 1} for size {size}. Got "
            f"{theta.shape}."
        )
    return _t.affine_grid_generator(theta, size, bool(align_corners))


# Losses


def _weighted(losses: Tensor, weight: Maybe, reduction: int) -> Tensor:
    """The reduction of a loss with elementwise weights; the mean is divided by the sum of the weights."""
    losses = losses * weight
    if reduction == 0:
        return losses
    return losses.sum() / weight.sum() if reduction == 1 else losses.sum()


def _warn_sizes(name: str, input: Tensor, target: Tensor) -> None:
    if input.size() != target.size():
        warnings.warn(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will "
            f"likely lead to incorrect "
            "results due to broadcasting. Please ensure they have the same size.",
            stacklevel=3,
        )


def _pair_loss(name: str, input: Tensor, target: Tensor, weight: Maybe, reduction: int, *args: Any) -> Tensor:
    """Elementwise losses of an input and a target whose shapes broadcast."""
    _warn_sizes(name, input, target)
    input, target = _t.broadcast_tensors(input, target)
    if weight is None:
        return getattr(_t, name)(input, target, reduction, *args)
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    return _weighted(getattr(_t, name)(input, target, 0, *args), weight, reduction)


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
    weight: Maybe = None,
) -> Tensor:
    return _pair_loss("mse_loss", input, target, weight, _reduction(reduction, size_average, reduce))


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
    weight: Maybe = None,
) -> Tensor:
    return _pair_loss("l1_loss", input, target, weight, _reduction(reduction, size_average, reduce))


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    number = _reduction(reduction, size_average, reduce)
    if beta == 0.0:
        return _pair_loss("l1_loss", input, target, None, number)
    return _pair_loss("smooth_l1_loss", input, target, None, number, beta)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Maybe = None
) -> Tensor:
    return _pair_loss("huber_loss", input, target, weight, _reduction(reduction), delta)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Maybe = None,
    size_average: Flag = None,
    ignore_index: int = -100,
    reduce: Flag = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    number = _reduction(reduction, size_average, reduce)
    return _t.cross_entropy_loss(input, target, weight, number, ignore_index, label_smoothing)


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Maybe = None,
    size_average: Flag = None,
    ignore_index: int = -100,
    reduce: Flag = None,
    reduction: str = "mean",
) -> Tensor:
    return _t.nll_loss_nd(input, target, weight, _reduction(reduction, size_average, reduce), ignore_index)


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: Flag = None,
    eps: float = 1e-8,
    reduce: Flag = None,
    reduction: str = "mean",
) -> Tensor:
    number = _reduction(reduction, size_average, reduce)
    return _t.poisson_nll_loss(input, target, log_input, full, eps, number)


def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    number = _reduction(reduction)
    if isinstance(var, (int, float)):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * _t.ones_like(input)
    elif _t.any(var < 0):
        raise ValueError("var has negative entry/entries")
    if var.size() != input.size():
        if input.size()[:-1] == var.size():
            var = _t.unsqueeze(var, -1)
        elif not (input.size()[:-1] == var.size()[:-1] and var.size(-1) == 1):
            raise ValueError("var is of incorrect size")
    var = var.clone()
    with _t.no_grad():
        var.clamp_(min=eps)
    loss = 0.5 * (_t.log(var) + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return loss if number == 0 else loss.mean() if number == 1 else loss.sum()


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    if reduction == "batchmean":
        loss = _t.kl_div(input, target, 2, log_target=log_target)
        return loss / input.size(0) if input.dim() else loss
    return _t.kl_div(input, target, _reduction(reduction, size_average, reduce), log_target=log_target)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Maybe = None,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
) -> Tensor:
    number = _reduction(reduction, size_average, reduce)
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is "
            f"deprecated. "
            "Please ensure they have the same size."
        )
    if weight is not None:
        weight = weight.expand(_t.broadcast_shapes(weight.size(), target.size()))
    return _t.binary_cross_entropy(input, target, weight, number)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Maybe = None,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
    pos_weight: Maybe = None,
) -> Tensor:
    number = _reduction(reduction, size_average, reduce)
    if target.size() != input.size():
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    return _t.binary_cross_entropy_with_logits(input, target, weight, pos_weight, number)


from ingot.nn._attention import multi_head_attention_forward  # noqa: E402, F401
from ingot.nn._losses import (  # noqa: E402, F401
    cosine_embedding_loss,
    ctc_loss,
    hinge_embedding_loss,
    margin_ranking_loss,
    multi_margin_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    soft_margin_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
