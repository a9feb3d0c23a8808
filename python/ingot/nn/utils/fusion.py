# SPDX-License-Identifier: Apache-2.0
"""A batch norm in inference is linear: it becomes part of the layer before it."""

from __future__ import annotations

import copy
from typing import Any

import ingot
from ingot import Tensor

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A convolution that computes what a convolution and its batch norm compute in inference."""
    assert not (conv.training or bn.training), "Fusion only for eval!"
    fused = copy.deepcopy(conv)
    assert bn.running_mean is not None and bn.running_var is not None
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_conv_bn_weights(
    conv_w: Any, conv_b: Any, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Any, bn_b: Any,
    transpose: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """Weight and bias of that convolution."""
    bias = ingot.zeros_like(bn_rm) if conv_b is None else conv_b
    scale = ingot.rsqrt(bn_rv + bn_eps)
    factor = (ingot.ones_like(bn_rm) if bn_w is None else bn_w) * scale
    shape = [1, -1] if transpose else [-1, 1]
    weight = (conv_w * factor.reshape(shape + [1] * (conv_w.dim() - 2))).to(conv_w.dtype)
    shift = ingot.zeros_like(bn_rm) if bn_b is None else bn_b
    bias = ((bias - bn_rm) * scale * (1 if bn_w is None else bn_w) + shift).to(bias.dtype)
    grad = conv_w.requires_grad
    return ingot.nn.Parameter(weight, grad), ingot.nn.Parameter(bias, grad if conv_b is None else conv_b.requires_grad)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A linear layer that computes what a linear layer and its batch norm compute in inference."""
    assert not (linear.training or bn.training), "Fusion only for eval!"
    assert linear.out_features == bn.num_features or bn.num_features == 1, (
        "To fuse, linear.out_features == bn.num_features or bn.num_features == 1"
    )
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: Any, linear_b: Any, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Any, bn_b: Any
) -> tuple[Any, Any]:
    bias = ingot.zeros_like(bn_rm) if linear_b is None else linear_b
    scale = bn_w * ingot.rsqrt(bn_rv + bn_eps)
    weight = linear_w * scale.unsqueeze(-1).to(linear_w.dtype)
    bias = ((bias - bn_rm) * scale + bn_b).to(bias.dtype)
    return ingot.nn.Parameter(weight, linear_w.requires_grad), ingot.nn.Parameter(bias, linear_w.requires_grad)
