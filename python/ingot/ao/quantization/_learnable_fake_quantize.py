# SPDX-License-Identifier: Apache-2.0
"""Fake quantization that learns its scale and zero point."""

from __future__ import annotations

from typing import Any

import ingot
from ingot import Tensor
from ingot.ao.quantization.fake_quantize import FakeQuantizeBase
from ingot.nn import Parameter

__all__: list[str] = []


class _LearnableFakeQuantize(FakeQuantizeBase):
    """Scale and zero point are parameters: first estimated by an observer, then trained."""

    def __init__(
        self, observer: Any, quant_min: int = 0, quant_max: int = 255, scale: float = 1.0, zero_point: float = 0.0,
        channel_len: int = -1, use_grad_scaling: bool = False, **observer_kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        assert quant_min < quant_max, "quant_min must be strictly less than quant_max."
        self.quant_min = quant_min
        self.quant_max = quant_max
        observer_kwargs.update(quant_min=quant_min, quant_max=quant_max)
        self.use_grad_scaling = use_grad_scaling
        assert channel_len == -1 or (isinstance(channel_len, int) and channel_len > 0), (
            "Channel size must be a positive integer."
        )
        n = 1 if channel_len == -1 else channel_len
        self.scale = Parameter(ingot.tensor([scale] * n))
        self.zero_point = Parameter(ingot.tensor([zero_point] * n))
        self.activation_post_process = observer(**observer_kwargs)
        limits = ingot.iinfo(self.activation_post_process.dtype)
        assert limits.min <= quant_min, "quant_min out of bound"
        assert quant_max <= limits.max, "quant_max out of bound"
        self.dtype = self.activation_post_process.dtype
        self.qscheme = self.activation_post_process.qscheme
        self.ch_axis = getattr(self.activation_post_process, "ch_axis", -1)
        for name, value in (
            ("fake_quant_enabled", ingot.tensor([1], dtype=ingot.uint8)),
            ("static_enabled", ingot.tensor([1], dtype=ingot.uint8)),
            ("learning_enabled", ingot.tensor([0], dtype=ingot.uint8)),
            ("eps", ingot.tensor([ingot.finfo(ingot.float32).eps])),
        ):
            self.register_buffer(name, value)
        self.bitwidth = (quant_max - quant_min + 1).bit_length() - 1

    def _switch(self, learn: bool, estimate: bool) -> Any:
        return self.toggle_qparam_learning(learn).toggle_fake_quant(True).toggle_observer_update(estimate)

    def enable_param_learning(self) -> Any:
        """Train scale and zero point."""
        return self._switch(True, False)

    def enable_static_estimate(self) -> None:
        """Let the observer choose them."""
        self._switch(False, True)

    def enable_static_observation(self) -> None:
        """Let the observer look on without rounding."""
        self.toggle_qparam_learning(False).toggle_fake_quant(False).toggle_observer_update(True)

    def toggle_observer_update(self, enabled: bool = True) -> Any:
        self.static_enabled[0] = int(enabled)
        return self

    def enable_observer(self, enabled: bool = True) -> None:
        self.toggle_observer_update(enabled)

    def toggle_qparam_learning(self, enabled: bool = True) -> Any:
        self.learning_enabled[0] = int(enabled)
        self.scale.requires_grad = enabled
        self.zero_point.requires_grad = enabled
        return self

    def toggle_fake_quant(self, enabled: bool = True) -> Any:
        self.fake_quant_enabled[0] = int(enabled)
        return self

    def observe_quant_params(self) -> None:
        print(f"_LearnableFakeQuantize Scale: {self.scale.detach()}")
        print(f"_LearnableFakeQuantize Zero Point: {self.zero_point.detach()}")

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        self.scale.data.clamp_(min=self.eps.item())
        zero_point = self.zero_point.detach().round().clamp(self.quant_min, self.quant_max).long()
        return self.scale.detach(), zero_point

    def forward(self, X: Tensor) -> Tensor:
        if self.static_enabled[0] == 1:
            self.activation_post_process(X.detach())
            scale, zero_point = self.activation_post_process.calculate_qparams()
            self.scale.data.copy_(scale)
            self.zero_point.data.copy_(zero_point)
        else:
            self.scale.data.clamp_(min=self.eps.item())
        if self.fake_quant_enabled[0] != 1:
            return X
        if self.qscheme in (ingot.per_channel_symmetric, ingot.per_tensor_symmetric):
            self.zero_point.data.zero_()
        factor = 1.0 / (X.numel() * self.quant_max) ** 0.5 if self.use_grad_scaling else 1.0
        if self.qscheme in (ingot.per_channel_symmetric, ingot.per_channel_affine):
            return ingot._fake_quantize_learnable_per_channel_affine(
                X, self.scale, self.zero_point, self.ch_axis, self.quant_min, self.quant_max, factor
            )
        return ingot._fake_quantize_learnable_per_tensor_affine(
            X, self.scale, self.zero_point, self.quant_min, self.quant_max, factor
        )
