# SPDX-License-Identifier: Apache-2.0
"""Activations and multi-head attention."""

from __future__ import annotations

from typing import Any

import ingot
from ingot._C import Tensor
from ingot.nn import functional as F
from ingot.nn import init
from ingot.nn.modules._simple import SimpleModule
from ingot.nn.modules.linear import NonDynamicallyQuantizableLinear
from ingot.nn.modules.module import Module
from ingot.nn.parameter import Parameter


class Threshold(SimpleModule):
    arguments, shows, function = "threshold, value, inplace=False", "threshold value", "threshold"


class ReLU(SimpleModule):
    arguments = "inplace=False"

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, self.inplace)


class RReLU(SimpleModule):
    arguments, shows, function = "lower=1.0 / 8, upper=1.0 / 3, inplace=False", "lower upper", "rrelu"
    modal = True


class Hardtanh(SimpleModule):
    arguments, shows = "min_val=-1.0, max_val=1.0, inplace=False", "min_val max_val"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)


class ReLU6(Hardtanh):
    arguments, shows = "inplace=False", ""
    min_val, max_val = 0.0, 6.0


class Sigmoid(SimpleModule):
    function, home = "sigmoid", ingot


class _Silent(SimpleModule):
    """A layer whose repr does not show `inplace`."""

    arguments = "inplace=False"

    def extra_repr(self) -> str:
        return ""


class Hardsigmoid(_Silent):
    function = "hardsigmoid"


class Hardswish(_Silent):
    function = "hardswish"


class Tanh(SimpleModule):
    function, home = "tanh", ingot


class SiLU(SimpleModule):
    arguments, function = "inplace=False", "silu"


class Mish(SimpleModule):
    arguments, function = "inplace=False", "mish"


class ELU(SimpleModule):
    arguments, shows, function = "alpha=1.0, inplace=False", "alpha", "elu"


class CELU(SimpleModule):
    arguments, shows, function = "alpha=1.0, inplace=False", "alpha", "celu"


class SELU(SimpleModule):
    arguments, function = "inplace=False", "selu"


class GLU(SimpleModule):
    arguments, shows, function = "dim=-1", "dim", "glu"


class GELU(SimpleModule):
    arguments, shows, function = "approximate='none'", "approximate", "gelu"


class Hardshrink(SimpleModule):
    arguments, function = "lambd=0.5", "hardshrink"

    def extra_repr(self) -> str:
        return f"{self.lambd}"


class Softshrink(Hardshrink):
    function = "softshrink"


class LeakyReLU(SimpleModule):
    arguments, shows, function = "negative_slope=0.01, inplace=False", "negative_slope", "leaky_relu"


class LogSigmoid(SimpleModule):
    function = "logsigmoid"


class Softplus(SimpleModule):
    arguments, shows, function = "beta=1.0, threshold=20.0", "beta threshold", "softplus"


class PReLU(Module):
    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(ingot.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class Softsign(SimpleModule):
    function = "softsign"


class Tanhshrink(SimpleModule):
    function = "tanhshrink"


class Softmin(SimpleModule):
    arguments, shows, function = "dim=None", "dim", "softmin"


class Softmax(SimpleModule):
    arguments, shows, function = "dim=None", "dim", "softmax"


class LogSoftmax(SimpleModule):
    arguments, shows, function = "dim=None", "dim", "log_softmax"


class Softmax2d(SimpleModule):
    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3)


class MultiheadAttention(Module):
    """Attention with several heads; inputs are (length, batch, embed), or (batch, length, embed) with batch_first."""

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and "
                f"num_heads={num_heads} instead"
            )
        super().__init__()
        options = {"device": device, "dtype": dtype}
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        same = self._qkv_same_embed_dim
        if same:
            self.in_proj_weight = Parameter(ingot.empty((3 * embed_dim, embed_dim), **options))
        for name, size in (("q", embed_dim), ("k", self.kdim), ("v", self.vdim)):
            weight = None if same else Parameter(ingot.empty((embed_dim, size), **options))
            self.register_parameter(f"{name}_proj_weight", weight)
        if not same:
            self.register_parameter("in_proj_weight", None)
        self.register_parameter("in_proj_bias", Parameter(ingot.empty(3 * embed_dim, **options)) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **options)
        self.bias_k = self.bias_v = None
        if add_bias_kv:
            self.bias_k = Parameter(ingot.empty((1, 1, embed_dim), **options))
            self.bias_v = Parameter(ingot.empty((1, 1, embed_dim), **options))
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        turned = self.batch_first and query.dim() == 3
        if turned:
            same_kv, same_qk = key is value, query is key
            query = query.transpose(1, 0)
            key = query if same_qk else key.transpose(1, 0)
            value = key if same_kv else value.transpose(1, 0)
        out, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (out.transpose(1, 0) if turned else out), weights
