# SPDX-License-Identifier: Apache-2.0
"""Initial values of parameters. Each function draws from the generator in PyTorch's order, so equal seeds give equal
weights."""

from __future__ import annotations

import math
import warnings
from typing import Any

import ingot
from ingot._C import Tensor
from ingot._compat import level

_GAINS = {
    "linear": 1.0, "conv1d": 1.0, "conv2d": 1.0, "conv3d": 1.0, "conv_transpose1d": 1.0, "conv_transpose2d": 1.0,
    "conv_transpose3d": 1.0,
    "sigmoid": 1.0, "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4,
}  # fmt: skip


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """The recommended gain of the weights before a nonlinearity."""
    if nonlinearity in _GAINS:
        return _GAINS[nonlinearity]
    if nonlinearity == "leaky_relu":
        if param is None:
            slope = 0.01
        elif isinstance(param, (int, float)) and not isinstance(param, bool):
            slope = param
        else:
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    with ingot.no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    with ingot.no_grad():
        return tensor.normal_(mean, std, generator=generator)


def constant_(tensor: Tensor, val: float) -> Tensor:
    with ingot.no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    with ingot.no_grad():
        return tensor.zero_()


def eye_(tensor: Tensor) -> Tensor:
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with ingot.no_grad():
        return tensor.copy_(ingot.eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Convolution weights that pass the input channels through."""
    if tensor.dim() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.size(0) % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = tensor.size(0) // groups
    center = tuple(n // 2 for n in tensor.shape[2:])
    with ingot.no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(per_group, tensor.size(1))):
                tensor[(group * per_group + channel, channel, *center)] = 1
    return tensor


def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> Tensor:
    """Values of a normal distribution truncated to [a, b]: by the inverse of its distribution function, as 2.5 draws
    them; at the level 2.13 by rejection."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be "
            "incorrect.",
            stacklevel=2,
        )
    by = _trunc_normal_rejected if level().rejects else _trunc_normal_inverted
    with ingot.no_grad():
        return by(tensor, mean, std, a, b, generator)


def _normal_below(x: float) -> float:
    """The distribution function of the standard normal distribution."""
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def _trunc_normal_inverted(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any) -> Tensor:
    low, high = _normal_below((a - mean) / std), _normal_below((b - mean) / std)
    tensor.uniform_(2 * low - 1, 2 * high - 1, generator=generator).erfinv_()
    return tensor.mul_(std * math.sqrt(2.0)).add_(mean).clamp_(min=a, max=b)


def _trunc_normal_rejected(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any) -> Tensor:
    """The proposals are uniform where the interval is improbable, and normal elsewhere."""

    def draw_normal() -> tuple[Tensor, Tensor]:
        values = ingot.empty_like(tensor).normal_(mean, std, generator=generator)
        return values, (values >= a) & (values <= b)

    def draw_uniform() -> tuple[Tensor, Tensor]:
        values = ingot.empty_like(tensor).uniform_(a, b, generator=generator)
        chances = ((values - mean) / std).pow(2) * -0.5 - top
        return values, ingot.empty_like(tensor).uniform_(generator=generator).log_() <= chances

    if tensor.is_meta:
        return tensor
    top = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2  # of the logarithm of the density
    probable = _normal_below((b - mean) / std) - _normal_below((a - mean) / std) > 0.3
    draw = draw_normal if probable else draw_uniform
    values, done = draw()
    while not bool(done.all()):
        others, good = draw()
        values, done = ingot.where(done, values, others), done | good
    return tensor.copy_(values)


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.size(1) * field, tensor.size(0) * field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    std = gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    std = gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))
    return normal_(tensor, 0.0, std, generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    return calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))


def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Orthonormal rows (or columns) of the tensor as a matrix."""
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows, columns = tensor.size(0), tensor.numel() // tensor.size(0)
    with ingot.no_grad():
        flat = ingot.empty((rows, columns), dtype=tensor.dtype, device=tensor.device).normal_(0, 1, generator=generator)
        if rows < columns:
            flat = flat.t()
        q, r = ingot.linalg_qr(flat)
        q = q * ingot.diagonal(r).sign()
        if rows < columns:
            q = q.t()
        tensor.view_as(q).copy_(q)
        return tensor.mul_(gain)


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Normal values; a fraction of each column is set to zero."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with ingot.no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[ingot.randperm(rows)[:zeros], column] = 0
    return tensor


def _older(name: str) -> Any:
    """The name without underscore, which warns."""
    new = globals()[name + "_"]

    def call(*args: Any, **kwargs: Any) -> Any:
        import warnings

        warnings.warn(
            f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`.", FutureWarning, stacklevel=2
        )
        return new(*args, **kwargs)

    call.__name__ = name
    call.__doc__ = f"The older name of {name}_."
    return call


for _name in (
    "uniform", "normal", "constant", "eye", "dirac", "xavier_uniform", "xavier_normal", "kaiming_uniform",
    "kaiming_normal", "orthogonal", "sparse",
):  # fmt: skip
    globals()[_name] = _older(_name)
