# SPDX-License-Identifier: Apache-2.0
"""Observers: modules that look at the tensors passing through them and choose scales and zero points."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import ingot
from ingot import Tensor, nn
from ingot.ao.quantization.utils import (
    calculate_qmin_qmax,
    check_min_max_valid,
    is_per_channel,
    is_per_tensor,
    validate_qmin_qmax,
)  # fmt: skip

__all__ = [
    "FixedQParamsObserver", "HistogramObserver", "MinMaxObserver", "MovingAverageMinMaxObserver",
    "MovingAveragePerChannelMinMaxObserver", "NoopObserver", "ObserverBase", "PerChannelMinMaxObserver",
    "PlaceholderObserver", "RecordingObserver", "ReuseInputObserver", "UniformQuantizationObserverBase",
    "default_affine_fixed_qparams_observer", "default_debug_observer", "default_dynamic_quant_observer",
    "default_fixed_qparams_range_0to1_observer", "default_fixed_qparams_range_neg1to1_observer",
    "default_float_qparams_observer", "default_histogram_observer", "default_observer",
    "default_per_channel_weight_observer", "default_placeholder_observer", "default_reuse_input_observer",
    "default_symmetric_fixed_qparams_observer", "default_weight_observer", "get_observer_state_dict",
    "load_observer_state_dict", "per_channel_weight_observer_range_neg_127_to_127",
    "weight_observer_range_neg_127_to_127",
]  # fmt: skip

_EPS = 1.1920928955078125e-07  # torch.finfo(torch.float32).eps


class _PartialWrapper:
    """A class with some of its arguments; with_args adds more."""

    def __init__(self, p: partial[Any]) -> None:
        self.p = p
        self.callable_args: dict[str, Any] = {}

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        late = {name: make() for name, make in self.callable_args.items() if name not in keywords}
        return self.p(*args, **{**keywords, **late})

    def __repr__(self) -> str:
        return repr(self.p) + repr(self.callable_args)

    def with_args(self, **kwargs: Any) -> _PartialWrapper:
        return _with_args(self, **kwargs)

    def with_callable_args(self, **kwargs: Any) -> _PartialWrapper:
        made = _PartialWrapper(partial(self))
        made.callable_args = {**self.callable_args, **kwargs}
        return made


def _with_args(cls_or_self: Any, **kwargs: Any) -> _PartialWrapper:
    return _PartialWrapper(partial(cls_or_self, **kwargs))


def _with_callable_args(cls_or_self: Any, **kwargs: Any) -> _PartialWrapper:
    return _PartialWrapper(partial(cls_or_self)).with_callable_args(**kwargs)


class ObserverBase(nn.Module):
    """Knows the dtype that values shall be quantized to."""

    def __init__(self, dtype: Any, is_dynamic: bool = False) -> None:
        super().__init__()
        self.dtype = dtype
        self.is_dynamic = is_dynamic

    def forward(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def calculate_qparams(self, **kwargs: Any) -> Any:
        raise NotImplementedError

    with_args = classmethod(_with_args)
    with_callable_args = classmethod(_with_callable_args)


class UniformQuantizationObserverBase(ObserverBase):
    """Scale and zero point from the smallest and the largest value."""

    _version = 3
    eps: Tensor

    def __init__(
        self, dtype: Any = ingot.quint8, qscheme: Any = ingot.per_tensor_affine, reduce_range: bool = False,
        quant_min: int | None = None, quant_max: int | None = None, factory_kwargs: Any = None, eps: float = _EPS,
        is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(dtype=dtype, is_dynamic=is_dynamic, **kwargs)
        self.qscheme = qscheme
        if reduce_range:
            warnings.warn(
                "Please use quant_min and quant_max to specify the range for observers. "
                "                    reduce_range will be deprecated in a future release of PyTorch.",
                stacklevel=2,
            )
        self.reduce_range = reduce_range
        self.register_buffer("eps", ingot.tensor([eps], **(factory_kwargs or {})))
        assert is_per_tensor(qscheme) or is_per_channel(qscheme), "Default Observer only works for uniform schemes"
        self.has_customized_qrange = quant_min is not None and quant_max is not None
        if self.has_customized_qrange:
            validate_qmin_qmax(quant_min, quant_max)
        self.quant_min, self.quant_max = calculate_qmin_qmax(
            quant_min, quant_max, self.has_customized_qrange, self.dtype, self.reduce_range
        )

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any) -> None:
        if local_metadata.get("version", None) in (None, 1):
            state_dict[prefix + "eps"] = ingot.tensor([_EPS])  # a buffer since version 2
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    def _validate_qmin_qmax(self, quant_min: int, quant_max: int) -> None:
        validate_qmin_qmax(quant_min, quant_max)

    def _calculate_qparams(self, min_val: Tensor, max_val: Tensor) -> tuple[Tensor, Tensor]:
        if not check_min_max_valid(min_val, max_val):
            return ingot.tensor([1.0]), ingot.tensor([0])
        low, high = self.quant_min, self.quant_max
        steps = float(high - low)
        below = ingot.min(min_val, ingot.zeros_like(min_val))
        above = ingot.max(max_val, ingot.zeros_like(max_val))
        zero = ingot.zeros(below.size(), dtype=ingot.int64)
        if self.qscheme in (ingot.per_tensor_symmetric, ingot.per_channel_symmetric):
            scale = ingot.max(ingot.max(-below, above) / (steps / 2), self.eps)
            if self.dtype in (ingot.quint8, ingot.uint8):
                middle = (low + high) // 2 if self.has_customized_qrange else 128
                zero = ingot.full(zero.size(), middle, dtype=ingot.int64)
        elif self.qscheme is ingot.per_channel_affine_float_qparams:
            scale = (max_val - min_val) / steps
            scale = ingot.where(scale > self.eps, scale, ingot.ones_like(scale))
            zero = -1 * min_val / scale
        else:
            scale = ingot.max((above - below) / steps, self.eps)
            zero = ingot.clamp(low - ingot.round(below / scale).to(ingot.int32), low, high)
        if scale.dim() == 0:
            scale = scale.reshape(1)
        if zero.dim() == 0:
            zero = zero.reshape(1)
        return scale, zero

    def reset_min_max_vals(self) -> None:
        raise NotImplementedError("Cannot reset min/max values in the given observer.")


_ObserverBase = UniformQuantizationObserverBase


class MinMaxObserver(UniformQuantizationObserverBase):
    """The extremes of all values so far."""

    min_val: Tensor
    max_val: Tensor

    def __init__(
        self, dtype: Any = ingot.quint8, qscheme: Any = ingot.per_tensor_affine, reduce_range: bool = False,
        quant_min: int | None = None, quant_max: int | None = None, factory_kwargs: Any = None, eps: float = _EPS,
        is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        if not is_per_tensor(qscheme):
            raise NotImplementedError(
                "MinMaxObserver's qscheme only support torch.per_tensor_symmetric                     and "
                "torch.per_tensor_affine."
            )
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs)
        self.register_buffer("min_val", ingot.tensor(float("inf"), **(factory_kwargs or {})))
        self.register_buffer("max_val", ingot.tensor(float("-inf"), **(factory_kwargs or {})))
        if qscheme is ingot.per_tensor_symmetric and reduce_range and dtype is ingot.quint8:
            raise NotImplementedError(
                "Cannot reduce range for symmetric                                        quantization for quint8"
            )

    def forward(self, x_orig: Tensor) -> Tensor:
        if x_orig.numel() == 0:
            return x_orig
        low, high = ingot.aminmax(x_orig.detach().to(self.min_val.dtype))
        self.min_val.copy_(ingot.min(low, self.min_val))
        self.max_val.copy_(ingot.max(high, self.max_val))
        return x_orig

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}"

    def reset_min_max_vals(self) -> None:
        self.min_val.copy_(ingot.tensor(float("inf")))
        self.max_val.copy_(ingot.tensor(float("-inf")))


class MovingAverageMinMaxObserver(MinMaxObserver):
    """A moving average of the extremes of each batch."""

    def __init__(
        self, averaging_constant: float = 0.01, dtype: Any = ingot.quint8, qscheme: Any = ingot.per_tensor_affine,
        reduce_range: bool = False, quant_min: int | None = None, quant_max: int | None = None, eps: float = _EPS,
        is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        if not is_per_tensor(qscheme):
            raise NotImplementedError(
                f"MovingAverageMinMaxObserver's qscheme only support                     torch.per_tensor_symmetric "
                f"and torch.per_tensor_affine.                     but got: {qscheme}"
            )
        self.averaging_constant = averaging_constant
        if is_dynamic and averaging_constant != 1:
            raise NotImplementedError(
                "MovingAverageMinMaxObserver doesn't support dynamic quantization for "
                f"averaging constant of {averaging_constant}"
            )
        super().__init__(
            dtype=dtype, qscheme=qscheme, reduce_range=reduce_range, quant_min=quant_min, quant_max=quant_max,
            eps=eps, is_dynamic=is_dynamic, **kwargs,
        )  # fmt: skip

    def forward(self, x_orig: Tensor) -> Tensor:
        if x_orig.numel() == 0:
            return x_orig
        low, high = ingot.aminmax(x_orig.detach().to(self.min_val.dtype))
        if not (self.min_val == float("inf") and self.max_val == float("-inf")):
            low = self.min_val + self.averaging_constant * (low - self.min_val)
            high = self.max_val + self.averaging_constant * (high - self.max_val)
        self.min_val.copy_(low)
        self.max_val.copy_(high)
        return x_orig


class PerChannelMinMaxObserver(UniformQuantizationObserverBase):
    """The extremes along one dimension."""

    min_val: Tensor
    max_val: Tensor

    def __init__(
        self, ch_axis: int = 0, dtype: Any = ingot.quint8, qscheme: Any = ingot.per_channel_affine,
        reduce_range: bool = False, quant_min: int | None = None, quant_max: int | None = None,
        factory_kwargs: Any = None, eps: float = _EPS, is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        if not is_per_channel(qscheme):
            raise NotImplementedError(
                "PerChannelMinMaxObserver's qscheme only support                     torch.per_channel_symmetric, "
                "torch.per_channel_affine and torch.per_channel_affine_float_qparams."
            )
        if is_dynamic:
            raise NotImplementedError("PerChannelMinMaxObserver doesn't support dynamic quantization")
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs)
        self.ch_axis = ch_axis
        self.register_buffer("min_val", ingot.tensor([], **(factory_kwargs or {})))
        self.register_buffer("max_val", ingot.tensor([], **(factory_kwargs or {})))
        if qscheme is ingot.per_channel_symmetric and reduce_range and dtype is ingot.quint8:
            raise NotImplementedError("Cannot reduce range for symmetric quantization for quint8")

    def _extremes(self, x_orig: Tensor) -> tuple[Tensor, Tensor]:
        x = x_orig.detach()
        order = list(range(x.dim()))
        order[self.ch_axis], order[0] = 0, self.ch_axis
        return ingot.aminmax(ingot.flatten(x.permute(order).to(self.min_val.dtype), 1), dim=1)

    def _store(self, low: Tensor, high: Tensor) -> None:
        self.min_val.resize_(low.shape)
        self.max_val.resize_(high.shape)
        self.min_val.copy_(low)
        self.max_val.copy_(high)

    def forward(self, x_orig: Tensor) -> Tensor:
        if x_orig.numel() == 0:
            return x_orig
        low, high = self._extremes(x_orig)
        if self.min_val.numel() and self.max_val.numel():
            low, high = ingot.min(low, self.min_val), ingot.max(high, self.max_val)
        self._store(low, high)
        return x_orig

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}"

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, metadata: Any, strict: bool, missing: Any, unexpected: Any, errors: Any
    ) -> None:
        version = metadata.get("version", None)
        old = version is not None and version < 3
        names = ("min_vals", "max_vals") if old else ("min_val", "max_val")
        for name, mine in zip(names, ("min_val", "max_val")):
            key = prefix + name
            if key in state_dict:
                getattr(self, mine).resize_(state_dict[key].shape)
                if old:
                    getattr(self, mine).copy_(state_dict[key])
            elif strict:
                missing.append(key)
        if not strict or not old:
            super()._load_from_state_dict(state_dict, prefix, metadata, False, missing, unexpected, errors)

    def reset_min_max_vals(self) -> None:
        self.min_val = ingot.rand(0)
        self.max_val = ingot.rand(0)


class MovingAveragePerChannelMinMaxObserver(PerChannelMinMaxObserver):
    """A moving average of the extremes along one dimension."""

    def __init__(
        self, averaging_constant: float = 0.01, ch_axis: int = 0, dtype: Any = ingot.quint8,
        qscheme: Any = ingot.per_channel_affine, reduce_range: bool = False, quant_min: int | None = None,
        quant_max: int | None = None, eps: float = _EPS, is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        if is_dynamic:
            raise NotImplementedError("MovingAveragePerChannelMinMaxObserver doesn't support dynamic quantization")
        super().__init__(
            ch_axis=ch_axis, dtype=dtype, qscheme=qscheme, reduce_range=reduce_range, quant_min=quant_min,
            quant_max=quant_max, eps=eps, is_dynamic=is_dynamic, **kwargs,
        )  # fmt: skip
        self.averaging_constant = averaging_constant

    def forward(self, x_orig: Tensor) -> Tensor:
        if x_orig.numel() == 0:
            return x_orig
        low, high = self._extremes(x_orig)
        if self.min_val.numel() and self.max_val.numel():
            low = self.min_val + self.averaging_constant * (low - self.min_val)
            high = self.max_val + self.averaging_constant * (high - self.max_val)
        self._store(low, high)
        return x_orig


class HistogramObserver(UniformQuantizationObserverBase):
    """A histogram of all values; the range is the one with the least squared error of quantization."""

    histogram: Tensor
    min_val: Tensor
    max_val: Tensor

    def __init__(
        self, bins: int = 2048, dtype: Any = ingot.quint8, qscheme: Any = ingot.per_tensor_affine,
        reduce_range: bool = False, quant_min: int | None = None, quant_max: int | None = None,
        factory_kwargs: Any = None, eps: float = _EPS, is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        if not is_per_tensor(qscheme):
            raise NotImplementedError(
                "HistogramObserver's qscheme only support torch.per_tensor_symmetric                     and "
                "torch.per_tensor_affine."
            )
        if is_dynamic:
            raise NotImplementedError("HistogramObserver doesn't support dynamic quantization")
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs)
        self.bins = bins
        self.register_buffer("histogram", ingot.zeros(bins, **(factory_kwargs or {})))
        self.register_buffer("min_val", ingot.tensor(float("inf"), **(factory_kwargs or {})))
        self.register_buffer("max_val", ingot.tensor(float("-inf"), **(factory_kwargs or {})))
        self.dst_nbins = 2 ** (32 if dtype in (ingot.qint32, ingot.int32) else 16 if dtype is ingot.int16 else 8)
        self.upsample_rate = 16

    def _error(self, first: int, last: int) -> float:
        """The squared error if values between two bins are quantized: the integral over every bin."""
        width = (self.max_val.item() - self.min_val.item()) / self.bins
        step = width * (last - first + 1) / self.dst_nbins
        if step == 0.0:
            return 0.0
        begin = (ingot.arange(self.bins) - first) * width
        end = begin + width
        top = self.dst_nbins - 1
        of_begin = ingot.clamp(ingot.div(begin, step, rounding_mode="floor"), 0, top)
        of_end = ingot.clamp(ingot.div(end, step, rounding_mode="floor"), 0, top)
        density = self.histogram / width
        half = ingot.tensor(step / 2)

        def between(a: Tensor, b: Tensor) -> Tensor:
            return density * ((b * b * b - a * a * a) / 3)

        norm = ingot.zeros(self.bins)
        norm += between(begin - (of_begin + 0.5) * step, ingot.ones(self.bins) * (step / 2))
        norm += (of_end - of_begin - 1) * between(-half, half)
        norm += between(-half, end - (of_end * step + step / 2))
        return norm.sum().item()

    def _non_linear_param_search(self) -> tuple[Tensor, Tensor]:
        """Narrows the range from both sides, always where fewer values are lost, while the error shrinks."""
        assert self.histogram.size()[0] == self.bins, "bins mismatch"
        width = (self.max_val - self.min_val) / self.bins
        total = ingot.sum(self.histogram).item()
        sums = ingot.cumsum(self.histogram, dim=0).tolist()
        step, alpha, beta = 1e-5, 0.0, 1.0
        start, end = 0, self.bins - 1
        least = float("inf")
        while alpha < beta:
            next_alpha, next_beta = alpha + step, beta - step
            left, right = start, end
            while left < end and sums[left] < _as_float32(next_alpha * total):
                left += 1
            while right > start and sums[right] > _as_float32(next_beta * total):
                right -= 1
            next_start, next_end = start, end
            if left - start > end - right:
                next_start, alpha = left, next_alpha
            else:
                next_end, beta = right, next_beta
            if (next_start, next_end) == (start, end):
                continue
            error = self._error(next_start, next_end)
            if error > least:
                break
            least, start, end = error, next_start, next_end
        return self.min_val + width * start, self.min_val + width * (end + 1)

    def _spread(self, low: Tensor, high: Tensor) -> Tensor:
        """The histogram in the bins of a wider range."""
        fine = self.histogram.repeat_interleave(self.upsample_rate) / self.upsample_rate
        n = self.bins * self.upsample_rate
        size = (self.max_val - self.min_val) / n
        middles = ingot.linspace(self.min_val.item(), self.max_val.item(), n + 1)[:-1] + 0.5 * size
        edges = ingot.linspace(low.item(), high.item(), self.bins + 1)
        at = ingot.clamp(ingot.bucketize(middles, edges, right=True) - 1, 0, self.bins - 1)
        return ingot.bincount(at, weights=fine, minlength=self.bins)

    def _combined(self, added: Tensor, low: Tensor, high: Tensor) -> Tensor:
        if self.min_val == self.max_val:
            one = ingot.histc(self.min_val, bins=self.bins, min=low.item(), max=high.item())
            return one * ingot.sum(added) + added
        return added + self._spread(low, high)

    def reset_histogram(self, x: Tensor, min_val: Tensor, max_val: Tensor) -> None:
        self.min_val.copy_(min_val)
        self.max_val.copy_(max_val)
        self.histogram.copy_(ingot.histc(x, self.bins, min=min_val.item(), max=max_val.item()))

    def forward(self, x_orig: Tensor) -> Tensor:
        if x_orig.numel() == 0:
            return x_orig
        x = x_orig.detach()
        low, high = ingot.aminmax(x)
        if low == -float("inf") or high == float("inf"):
            warnings.warn("torch.inf detected in input tensor, ignoring input", stacklevel=2)
            x = x[x.abs() != float("inf")]
            if x.numel() == 0:
                return x_orig
            low, high = ingot.aminmax(x)
        if self.min_val == float("inf") or self.max_val == float("-inf"):
            self.reset_histogram(x, low, high)
            return x_orig
        low, high = ingot.min(self.min_val, low), ingot.max(self.max_val, high)
        added = ingot.histc(x, self.bins, min=low.item(), max=high.item())
        if low == self.min_val and high == self.max_val:
            self.histogram.copy_(self.histogram + added)
        else:
            self.histogram.copy_(self._combined(added, low, high))
            self.min_val.copy_(low)
            self.max_val.copy_(high)
        return x_orig

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        if self.min_val == float("inf") and self.max_val == float("-inf"):
            warnings.warn(
                "must run observer before calling calculate_qparams.                                    Returning "
                "default scale and zero point ",
                stacklevel=2,
            )
            return ingot.tensor([1.0]), ingot.tensor([0])
        assert self.bins == len(self.histogram), (
            "The number of bins in histogram should be equal to the number of bins supplied while making this observer"
        )
        return self._calculate_qparams(*self._non_linear_param_search())

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, metadata: Any, strict: bool, missing: Any, unexpected: Any, errors: Any
    ) -> None:
        version = metadata.get("version", None)
        if version is None or version < 3:
            for name in ("min_val", "max_val"):
                if state_dict.get(prefix + name) is not None and state_dict[prefix + name].shape == (0,):
                    state_dict[prefix + name] = ingot.tensor(float("inf" if name == "min_val" else "-inf"))
        for name in ("min_val", "max_val"):
            if prefix + name in state_dict:
                setattr(self, name, state_dict[prefix + name])
            elif strict:
                missing.append(prefix + name)
        super()._load_from_state_dict(state_dict, prefix, metadata, strict, missing, unexpected, errors)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}"


def _as_float32(x: float) -> float:
    return ingot.tensor(x).item()


class FixedQParamsObserver(ObserverBase):
    """Parameters that are given."""

    scale: Tensor
    zero_point: Tensor

    def __init__(
        self, scale: float, zero_point: int, dtype: Any = ingot.quint8, qscheme: Any = ingot.per_tensor_affine,
        quant_min: int = 0, quant_max: int = 255, is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        if is_dynamic:
            raise NotImplementedError("FixedQParamsObserver doesn't support dynamic quantization")
        super().__init__(dtype=dtype, is_dynamic=is_dynamic, **kwargs)
        self.quant_min = quant_min
        self.quant_max = quant_max
        self.register_buffer("scale", ingot.tensor([scale], dtype=ingot.float32))
        self.register_buffer("zero_point", ingot.tensor([zero_point], dtype=ingot.int32))
        self.dtype = dtype
        self.qscheme = qscheme

    def forward(self, X: Tensor) -> Tensor:
        return X

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        return self.scale, self.zero_point


class PlaceholderObserver(ObserverBase):
    """Only says what values shall become."""

    def __init__(
        self, dtype: Any = ingot.float32, custom_op_name: str = "", compute_dtype: Any = None,
        quant_min: int | None = None, quant_max: int | None = None, qscheme: Any = None, eps: float | None = None,
        is_dynamic: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(dtype=dtype, is_dynamic=is_dynamic)
        self.qscheme = ingot.per_tensor_affine if qscheme is None else qscheme
        self.quant_min = quant_min
        self.quant_max = quant_max
        self.eps = 2**-12 if eps is None else eps
        self.custom_op = custom_op_name
        if compute_dtype:
            self.is_dynamic = True
            warnings.warn("Please use `is_dynamic` instead of `compute_dtype`. ", stacklevel=2)

    def forward(self, x: Tensor) -> Tensor:
        return x

    def extra_repr(self) -> str:
        return f"dtype={self.dtype}, is_dynamic={self.is_dynamic}"

    def calculate_qparams(self) -> Any:
        raise Exception("calculate_qparams should not be called for PlaceholderObserver")  # noqa: TRY002


class RecordingObserver(ObserverBase):
    """Keeps the tensors themselves, for debugging."""

    def __init__(self, dtype: Any = ingot.quint8) -> None:
        super().__init__(dtype=dtype, is_dynamic=False)
        self.tensor_val: list[Tensor] = []

    def forward(self, x: Tensor) -> Tensor:
        self.tensor_val.append(x.clone())
        return x

    def calculate_qparams(self) -> Any:
        raise Exception("calculate_qparams should not be called for RecordingObserver")  # noqa: TRY002

    def get_tensor_value(self) -> list[Tensor]:
        return self.tensor_val


class NoopObserver(ObserverBase):
    """Does nothing; for dtypes that are not quantized."""

    def __init__(self, dtype: Any = ingot.float16, custom_op_name: str = "") -> None:
        super().__init__(dtype=dtype, is_dynamic=False)
        self.dtype = dtype
        self.custom_op = custom_op_name

    def forward(self, x: Tensor) -> Tensor:
        return x

    def calculate_qparams(self) -> Any:
        raise Exception("calculate_qparams should not be called for NoopObserver")  # noqa: TRY002


class ReuseInputObserver(ObserverBase):
    """The parameters of the input hold for the output."""

    def __init__(self) -> None:
        super().__init__(ingot.quint8, is_dynamic=False)

    def forward(self, x: Tensor) -> Tensor:
        return x

    def calculate_qparams(self) -> Any:
        raise Exception("calculate_qparams should not be called for ReuseInputObserver")  # noqa: TRY002


def _is_activation_post_process(module: Any) -> bool:
    from ingot.ao.quantization.fake_quantize import FakeQuantizeBase

    return isinstance(module, (ObserverBase, FakeQuantizeBase))


def get_observer_state_dict(mod: Any) -> dict[str, Any]:
    """The states of the observers alone."""
    return {k: v for k, v in mod.state_dict().items() if "activation_post_process" in k}


def load_observer_state_dict(mod: Any, obs_dict: Any) -> None:
    missing: list[str] = []
    unexpected: list[str] = []
    for name, module in mod.named_modules():
        if _is_activation_post_process(module):
            module._load_from_state_dict(obs_dict, name + ".", {}, True, missing, unexpected, [])
    for what, keys in (("Missing", missing), ("Unexpected", unexpected)):
        for key in keys:
            if "observer" in key or "activation_post_process" in key:
                raise Exception(f"{what} keys for observer {key} in state_dict")  # noqa: TRY002


default_observer = MinMaxObserver.with_args(quant_min=0, quant_max=127)
default_placeholder_observer = PlaceholderObserver
default_debug_observer = RecordingObserver
default_weight_observer = MinMaxObserver.with_args(dtype=ingot.qint8, qscheme=ingot.per_tensor_symmetric)
_NARROW = {"dtype": ingot.qint8, "quant_min": -127, "quant_max": 127, "eps": 2**-12}
weight_observer_range_neg_127_to_127 = MinMaxObserver.with_args(qscheme=ingot.per_tensor_symmetric, **_NARROW)
default_histogram_observer = HistogramObserver.with_args(quant_min=0, quant_max=127)
default_per_channel_weight_observer = PerChannelMinMaxObserver.with_args(
    dtype=ingot.qint8, qscheme=ingot.per_channel_symmetric
)
per_channel_weight_observer_range_neg_127_to_127 = PerChannelMinMaxObserver.with_args(
    qscheme=ingot.per_channel_symmetric, **_NARROW
)
default_dynamic_quant_observer = PlaceholderObserver.with_args(
    dtype=ingot.quint8, quant_min=0, quant_max=255, is_dynamic=True
)
default_float_qparams_observer = PerChannelMinMaxObserver.with_args(
    dtype=ingot.quint8, qscheme=ingot.per_channel_affine_float_qparams, ch_axis=0
)
default_fixed_qparams_range_neg1to1_observer = FixedQParamsObserver.with_args(
    scale=2.0 / 256.0, zero_point=128, dtype=ingot.quint8, quant_min=0, quant_max=255
)
default_fixed_qparams_range_0to1_observer = FixedQParamsObserver.with_args(
    scale=1.0 / 256.0, zero_point=0, dtype=ingot.quint8, quant_min=0, quant_max=255
)
default_symmetric_fixed_qparams_observer = default_fixed_qparams_range_neg1to1_observer
default_affine_fixed_qparams_observer = default_fixed_qparams_range_0to1_observer
default_reuse_input_observer = ReuseInputObserver
