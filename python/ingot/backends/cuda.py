# SPDX-License-Identifier: Apache-2.0
"""torch.backends.cuda: settings of a device that is not there, and of scaled_dot_product_attention."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ingot.backends._settings import Settings
from ingot.nn.attention import SDPBackend, _enable_backend, _is_enabled

matmul = Settings(
    "torch.backends.cuda.matmul",
    {
        "allow_tf32": False, "allow_fp16_reduced_precision_reduction": True,
        "allow_bf16_reduced_precision_reduction": True, "allow_fp16_accumulation": False, "fp32_precision": "none",
    },
    {},
)  # fmt: skip


def is_built() -> bool:
    return False


def _switch(backend: SDPBackend) -> tuple[Callable[[], bool], Callable[[bool], None]]:
    """The query and the switch of one implementation of attention."""

    def enabled() -> bool:
        return _is_enabled(backend)

    def enable(enabled: bool) -> None:
        _enable_backend(backend, bool(enabled))

    return enabled, enable


flash_sdp_enabled, enable_flash_sdp = _switch(SDPBackend.FLASH_ATTENTION)
mem_efficient_sdp_enabled, enable_mem_efficient_sdp = _switch(SDPBackend.EFFICIENT_ATTENTION)
math_sdp_enabled, enable_math_sdp = _switch(SDPBackend.MATH)
cudnn_sdp_enabled, enable_cudnn_sdp = _switch(SDPBackend.CUDNN_ATTENTION)


class SDPAParams:
    """The operands of a call of scaled_dot_product_attention, for the questions below."""

    def __init__(
        self,
        query: Any,
        key: Any,
        value: Any,
        attn_mask: Any,
        dropout: float,
        is_causal: bool,
        enable_gqa: bool = False,
    ) -> None:
        self.query, self.key, self.value, self.attn_mask = query, key, value, attn_mask
        self.dropout, self.is_causal, self.enable_gqa = dropout, is_causal, enable_gqa


def is_flash_attention_available() -> bool:
    return False


def can_use_flash_attention(params: SDPAParams, debug: bool = False) -> bool:
    """The kernels of GPUs are asked for: there are none."""
    return False


can_use_efficient_attention = can_use_cudnn_attention = can_use_flash_attention


@contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> Iterator[None]:
    """The implementations of attention that may run in the block."""
    wanted = {
        SDPBackend.FLASH_ATTENTION: enable_flash, SDPBackend.MATH: enable_math,
        SDPBackend.EFFICIENT_ATTENTION: enable_mem_efficient, SDPBackend.CUDNN_ATTENTION: enable_cudnn,
    }  # fmt: skip
    before = {backend: _is_enabled(backend) for backend in wanted}
    try:
        for backend, on in wanted.items():
            _enable_backend(backend, on)
        yield
    finally:
        for backend, on in before.items():
            _enable_backend(backend, on)
