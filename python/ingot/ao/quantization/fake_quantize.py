# SPDX-License-Identifier: Apache-2.0
"""Fake quantization: numbers are rounded as quantization would round them, and stay numbers."""

from __future__ import annotations

from typing import Any

import ingot
from ingot import Tensor
from ingot.ao.quantization.observer import (
    HistogramObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    _PartialWrapper,
    _with_args,
    default_fixed_qparams_range_0to1_observer,
    default_fixed_qparams_range_neg1to1_observer,
)  # fmt: skip
from ingot.ao.quantization.utils import is_per_channel, is_per_tensor
from ingot.nn import Module

__all__ = [
    "FakeQuantize", "FakeQuantizeBase", "FixedQParamsFakeQuantize", "FusedMovingAvgObsFakeQuantize",
    "default_affine_fixed_qparams_fake_quant", "default_dynamic_fake_quant", "default_embedding_fake_quant",
    "default_fake_quant", "default_fixed_qparams_range_0to1_fake_quant",
    "default_fixed_qparams_range_neg1to1_fake_quant", "default_fused_act_fake_quant",
    "default_fused_per_channel_wt_fake_quant", "default_fused_wt_fake_quant", "default_histogram_fake_quant",
    "default_per_channel_weight_fake_quant", "default_symmetric_fixed_qparams_fake_quant",
    "default_weight_fake_quant", "disable_fake_quant", "disable_observer", "enable_fake_quant", "enable_observer",
    "fused_per_channel_wt_fake_quant_range_neg_127_to_127", "fused_wt_fake_quant_range_neg_127_to_127",
]  # fmt: skip


def _is_per_channel(qscheme: Any) -> bool:
    return is_per_channel(qscheme)


def _is_per_tensor(qscheme: Any) -> bool:
    return is_per_tensor(qscheme)


def _is_symmetric_quant(qscheme: Any) -> bool:
    return qscheme in (ingot.per_tensor_symmetric, ingot.per_channel_symmetric)


class FakeQuantizeBase(Module):
    """Observing and rounding, both of which can be switched off."""

    fake_quant_enabled: Tensor
    observer_enabled: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("fake_quant_enabled", ingot.tensor([1], dtype=ingot.uint8))
        self.register_buffer("observer_enabled", ingot.tensor([1], dtype=ingot.uint8))

    def forward(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def calculate_qparams(self, **kwargs: Any) -> Any:
        raise NotImplementedError

    def enable_fake_quant(self, enabled: bool = True) -> None:
        self.fake_quant_enabled[0] = 1 if enabled else 0

    def disable_fake_quant(self) -> None:
        self.enable_fake_quant(False)

    def enable_observer(self, enabled: bool = True) -> None:
        self.observer_enabled[0] = 1 if enabled else 0

    def disable_observer(self) -> None:
        self.enable_observer(False)

    @classmethod
    def with_args(cls, **kwargs: Any) -> _PartialWrapper:
        made = _with_args(cls, **kwargs)
        made.__module__ = "torch.ao.quantization.fake_quantize"
        return made


class FakeQuantize(FakeQuantizeBase):
    """Rounds with the parameters that an observer chooses."""

    scale: Tensor
    zero_point: Tensor

    def __init__(
        self, observer: Any = MovingAverageMinMaxObserver, quant_min: int | None = None,
        quant_max: int | None = None, is_dynamic: bool = False, **observer_kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        if quant_min is not None and quant_max is not None:
            assert quant_min <= quant_max, "quant_min must be less than or equal to quant_max"
            dtype = observer_kwargs.get("dtype", ingot.quint8)
            if hasattr(observer, "p"):
                dtype = getattr(observer, "p", {}).keywords.get("dtype", dtype)
            bounds = {ingot.quint8: (0, 255), ingot.qint8: (-128, 127), ingot.qint32: (-(2**31), 2**31 - 1)}
            low, high = bounds.get(dtype, (quant_min, quant_max))
            assert low <= quant_min, "quant_min out of bound"
            assert quant_max <= high, "quant_max out of bound"
            observer_kwargs.update(quant_min=quant_min, quant_max=quant_max)
        observer_kwargs["is_dynamic"] = is_dynamic
        self.activation_post_process = observer(**observer_kwargs)
        self.quant_min = self.activation_post_process.quant_min
        self.quant_max = self.activation_post_process.quant_max
        self.is_dynamic = self.activation_post_process.is_dynamic
        floats = self.activation_post_process.qscheme is ingot.per_channel_affine_float_qparams
        self.register_buffer("scale", ingot.tensor([1.0], dtype=ingot.float32))
        self.register_buffer("zero_point", ingot.tensor([0], dtype=ingot.float32 if floats else ingot.int32))
        self.dtype = self.activation_post_process.dtype
        self.qscheme = self.activation_post_process.qscheme
        self.ch_axis = getattr(self.activation_post_process, "ch_axis", -1)
        assert is_per_channel(self.qscheme) or is_per_tensor(self.qscheme), (
            "Only per channel and per tensor quantization are supported in fake quantize"
            + " got qscheme: "
            + str(self.qscheme)
        )
        self.is_per_channel = is_per_channel(self.qscheme)

    def calculate_qparams(self) -> Any:
        return self.activation_post_process.calculate_qparams()

    def forward(self, X: Tensor) -> Tensor:
        if self.observer_enabled[0] == 1:
            self.activation_post_process(X.detach())
            scale, zero_point = self.calculate_qparams()
            if self.scale.shape != scale.shape:
                self.scale.resize_(scale.shape)
                self.zero_point.resize_(zero_point.shape)
            self.scale.copy_(scale)
            self.zero_point.copy_(zero_point)
        if self.fake_quant_enabled[0] == 1:
            if self.is_per_channel:
                return ingot.fake_quantize_per_channel_affine(
                    X, self.scale, self.zero_point, self.ch_axis, self.quant_min, self.quant_max
                )
            return ingot.fake_quantize_per_tensor_affine(X, self.scale, self.zero_point, self.quant_min, self.quant_max)
        return X

    def extra_repr(self) -> str:
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, observer_enabled={self.observer_enabled}, quant_min="
            f"{self.activation_post_process.quant_min}, quant_max={self.activation_post_process.quant_max}, dtype="
            f"{self.dtype}, qscheme={self.qscheme}, ch_axis={self.ch_axis}, scale={self.scale}, zero_point="
            f"{self.zero_point}"
        )

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "scale"] = self.scale
        destination[prefix + "zero_point"] = self.zero_point

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, metadata: Any, strict: bool, missing: Any, unexpected: Any, errors: Any
    ) -> None:
        for name in ("scale", "zero_point"):  # their sizes are not known before
            if prefix + name in state_dict:
                getattr(self, name).resize_(state_dict[prefix + name].shape)
            elif strict:
                missing.append(prefix + name)
        super()._load_from_state_dict(state_dict, prefix, metadata, strict, missing, unexpected, errors)


class FixedQParamsFakeQuantize(FakeQuantize):
    """Rounds with given parameters."""

    def __init__(self, observer: Any) -> None:
        super().__init__(observer=observer)
        self.scale = self.activation_post_process.scale
        self.zero_point = self.activation_post_process.zero_point

    def calculate_qparams(self) -> Any:
        return self.scale, self.zero_point

    def extra_repr(self) -> str:
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, observer_enabled={self.observer_enabled}, scale="
            f"{self.scale}, zero_point={self.zero_point}, dtype={self.dtype}, quant_min="
            f"{self.activation_post_process.quant_min}, quant_max={self.activation_post_process.quant_max}, qscheme="
            f"{self.qscheme}"
        )


class FusedMovingAvgObsFakeQuantize(FakeQuantize):
    """Observes a moving average and rounds in one operator."""

    def __init__(
        self, observer: Any = MovingAverageMinMaxObserver, quant_min: int = 0, quant_max: int = 255,
        is_dynamic: bool = False, **observer_kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(observer, quant_min, quant_max, is_dynamic, **observer_kwargs)
        assert isinstance(
            self.activation_post_process, (MovingAverageMinMaxObserver, MovingAveragePerChannelMinMaxObserver)
        ), "Fused observer+fake_quant module only works with MovingAverageMinMaxObserver"
        self.register_buffer("fake_quant_enabled", ingot.tensor([1], dtype=ingot.int64))
        self.register_buffer("observer_enabled", ingot.tensor([1], dtype=ingot.int64))
        self.is_symmetric_quant = _is_symmetric_quant(self.activation_post_process.qscheme)

    def calculate_qparams(self) -> Any:
        return self.activation_post_process.calculate_qparams()

    def extra_repr(self) -> str:
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, observer_enabled={self.observer_enabled}, scale="
            f"{self.scale}, zero_point={self.zero_point}, dtype={self.dtype}, quant_min="
            f"{self.activation_post_process.quant_min}, quant_max={self.activation_post_process.quant_max}, qscheme="
            f"{self.qscheme}, reduce_range={self.activation_post_process.reduce_range}"
        )

    def forward(self, X: Tensor) -> Tensor:
        seen = self.activation_post_process
        return ingot.fused_moving_avg_obs_fake_quant(
            X, self.observer_enabled, self.fake_quant_enabled, seen.min_val, seen.max_val, self.scale,
            self.zero_point, seen.averaging_constant, seen.quant_min, seen.quant_max, self.ch_axis,
            self.is_per_channel, self.is_symmetric_quant,
        )  # fmt: skip


_SIGNED = {"quant_min": -128, "quant_max": 127, "dtype": ingot.qint8}
_NARROW = {"quant_min": -127, "quant_max": 127, "dtype": ingot.qint8, "eps": 2**-12}
_BYTES = {"quant_min": 0, "quant_max": 255, "dtype": ingot.quint8}
_PER_CHANNEL = MovingAveragePerChannelMinMaxObserver

default_fake_quant = FakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, qscheme=ingot.per_tensor_affine, reduce_range=True, **_BYTES
)
default_weight_fake_quant = FakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, qscheme=ingot.per_tensor_symmetric, reduce_range=False, **_SIGNED
)
default_dynamic_fake_quant = FakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, is_dynamic=True, averaging_constant=1, **_BYTES
)
default_fixed_qparams_range_neg1to1_fake_quant = FixedQParamsFakeQuantize.with_args(
    observer=default_fixed_qparams_range_neg1to1_observer
)
default_fixed_qparams_range_0to1_fake_quant = FixedQParamsFakeQuantize.with_args(
    observer=default_fixed_qparams_range_0to1_observer
)
default_symmetric_fixed_qparams_fake_quant = default_fixed_qparams_range_neg1to1_fake_quant
default_affine_fixed_qparams_fake_quant = default_fixed_qparams_range_0to1_fake_quant
default_per_channel_weight_fake_quant = FakeQuantize.with_args(
    observer=_PER_CHANNEL, qscheme=ingot.per_channel_symmetric, reduce_range=False, ch_axis=0, **_SIGNED
)
default_embedding_fake_quant = FakeQuantize.with_args(
    observer=_PER_CHANNEL, qscheme=ingot.per_channel_affine_float_qparams, ch_axis=0, averaging_constant=1, **_BYTES
)
default_histogram_fake_quant = FakeQuantize.with_args(
    observer=HistogramObserver, qscheme=ingot.per_tensor_affine, reduce_range=True, **_BYTES
)
default_fused_act_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(observer=MovingAverageMinMaxObserver, **_BYTES)
default_fused_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, qscheme=ingot.per_tensor_symmetric, **_SIGNED
)
default_fused_per_channel_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(
    observer=_PER_CHANNEL, qscheme=ingot.per_channel_symmetric, **_SIGNED
)
fused_wt_fake_quant_range_neg_127_to_127 = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, qscheme=ingot.per_tensor_symmetric, **_NARROW
)
fused_per_channel_wt_fake_quant_range_neg_127_to_127 = FusedMovingAvgObsFakeQuantize.with_args(
    observer=_PER_CHANNEL, qscheme=ingot.per_channel_symmetric, **_NARROW
)


def disable_fake_quant(mod: Any) -> None:
    if isinstance(mod, FakeQuantizeBase):
        mod.disable_fake_quant()


def enable_fake_quant(mod: Any) -> None:
    if isinstance(mod, FakeQuantizeBase):
        mod.enable_fake_quant()


def disable_observer(mod: Any) -> None:
    if isinstance(mod, FakeQuantizeBase):
        mod.disable_observer()


def enable_observer(mod: Any) -> None:
    if isinstance(mod, FakeQuantizeBase):
        mod.enable_observer()
