# SPDX-License-Identifier: Apache-2.0
"""What quantized modules share."""

from __future__ import annotations

import abc
from typing import Any

import ingot
from ingot import Tensor, nn

__all__ = ["WeightedQuantizedModule"]


class WeightedQuantizedModule(nn.Module, metaclass=abc.ABCMeta):
    """A module whose weight is quantized and packed."""


def _quantize_weight(float_wt: Tensor, observer: Any) -> Tensor:
    scale, zero_point = observer.calculate_qparams()
    if observer.qscheme in (ingot.per_tensor_symmetric, ingot.per_tensor_affine):
        return ingot.quantize_per_tensor(float_wt, float(scale), int(zero_point), observer.dtype)
    if observer.qscheme in (ingot.per_channel_symmetric, ingot.per_channel_affine):
        scale, zero_point = scale.to(ingot.float64), zero_point.to(ingot.int64)
    elif observer.qscheme is ingot.per_channel_affine_float_qparams:
        scale, zero_point = scale.to(ingot.float32), zero_point.to(ingot.float32)
    else:
        raise ValueError(f"Unexpected qscheme {observer.qscheme}")
    return ingot.quantize_per_channel(float_wt, scale, zero_point, observer.ch_axis, observer.dtype)


def _hide_packed_params_repr(self: Any, params: Any) -> str:
    """The representation of a module without its packed parameters, which print tensors."""
    extra = self.extra_repr()
    inner = []
    for key, module in self._modules.items():
        if isinstance(module, params):
            continue
        text = repr(module).split("\n")
        inner.append(f"({key}): " + "\n".join([text[0], *("  " + line for line in text[1:])]))
    lines = (extra.split("\n") if extra else []) + inner
    out = self._get_name() + "("
    if len(lines) == 1 and not inner:
        return out + lines[0] + ")"
    return out + ("\n  " + "\n  ".join(lines) + "\n" if lines else "") + ")"


def _pair_from_first(inp: Any) -> Any:
    return (inp, inp) if isinstance(inp, int) else inp


def _output_params(observer: Any) -> tuple[float, int]:
    """Scale and zero point that an observer chose for the results of a module."""
    scale, zero_point = observer.calculate_qparams()
    return float(scale), int(zero_point)
