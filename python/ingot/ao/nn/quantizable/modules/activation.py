# SPDX-License-Identifier: Apache-2.0
"""Attention whose projections can be quantized; what lies between them stays float."""

from __future__ import annotations

from typing import Any

import ingot as torch
from ingot import Tensor

__all__ = ["MultiheadAttention"]


class MultiheadAttention(torch.nn.MultiheadAttention):
    """nn.MultiheadAttention with one linear layer per projection, and stubs around the float part."""

    _FLOAT_MODULE = torch.nn.MultiheadAttention

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, add_bias_kv: bool = False,
        add_zero_attn: bool = False, kdim: int | None = None, vdim: int | None = None, batch_first: bool = False,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        made = {"device": device, "dtype": dtype}
        super().__init__(
            embed_dim, num_heads, dropout, bias, add_bias_kv, add_zero_attn, kdim, vdim, batch_first, **made
        )
        self.linear_Q = torch.nn.Linear(self.embed_dim, self.embed_dim, bias=bias, **made)
        self.linear_K = torch.nn.Linear(self.kdim, self.embed_dim, bias=bias, **made)
        self.linear_V = torch.nn.Linear(self.vdim, self.embed_dim, bias=bias, **made)
        self.out_proj = torch.nn.Linear(self.embed_dim, self.embed_dim, bias=bias, **made)
        self.q_scaling_product = torch.ao.nn.quantized.FloatFunctional()
        self.quant_attn_output = torch.ao.quantization.QuantStub()
        self.quant_attn_output_weights = torch.ao.quantization.QuantStub()
        self.dequant_q = torch.ao.quantization.DeQuantStub()
        self.dequant_k = torch.ao.quantization.DeQuantStub()
        self.dequant_v = torch.ao.quantization.DeQuantStub()

    def _get_name(self) -> str:
        return "QuantizableMultiheadAttention"

    @classmethod
    def from_float(cls, other: Any) -> Any:
        """An observed layer with the weights of a float one."""
        assert type(other) is cls._FLOAT_MODULE
        assert hasattr(other, "qconfig"), "The float module must have 'qconfig'"
        made = cls(
            other.embed_dim, other.num_heads, other.dropout, other.in_proj_bias is not None,
            other.bias_k is not None, other.add_zero_attn, other.kdim, other.vdim, other.batch_first,
        )  # fmt: skip
        made.bias_k, made.bias_v = other.bias_k, other.bias_v
        made.qconfig = other.qconfig
        made.out_proj.weight, made.out_proj.bias = other.out_proj.weight, other.out_proj.bias
        n = other.embed_dim
        layers = (made.linear_Q, made.linear_K, made.linear_V)
        names = ("q_proj_weight", "k_proj_weight", "v_proj_weight")
        for i, (layer, name) in enumerate(zip(layers, names)):
            whole = other._qkv_same_embed_dim
            layer.weight = torch.nn.Parameter(
                other.in_proj_weight[i * n : (i + 1) * n].detach().clone() if whole else getattr(other, name).detach()
            )
            if other.in_proj_bias is not None:
                layer.bias = torch.nn.Parameter(other.in_proj_bias[i * n : (i + 1) * n].detach().clone())
        made._drop_joint_weights()
        made.train(other.training)
        prepare = torch.ao.quantization.prepare_qat if other.training else torch.ao.quantization.prepare
        return prepare(made, inplace=True)

    def _drop_joint_weights(self) -> None:
        """The linear layers have them."""
        for name in ("in_proj_weight", "in_proj_bias", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            setattr(self, name, None)

    def dequantize(self) -> Any:
        """A float layer with the weights of this one."""
        bias = self.linear_Q._weight_bias()[1] is not None
        made = self._FLOAT_MODULE(
            self.embed_dim, self.num_heads, self.dropout, bias, self.bias_k is not None, self.add_zero_attn, self.kdim,
            self.vdim, self.batch_first,
        )  # fmt: skip
        made.bias_k, made.bias_v = self.bias_k, self.bias_v
        n = self.embed_dim
        parts = [layer._weight_bias() for layer in (self.linear_Q, self.linear_K, self.linear_V)]
        with torch.no_grad():
            for i, (weight, b) in enumerate(parts):
                if made._qkv_same_embed_dim:
                    made.in_proj_weight[i * n : (i + 1) * n] = weight.dequantize()
                else:
                    getattr(made, ("q_proj_weight", "k_proj_weight", "v_proj_weight")[i]).copy_(weight.dequantize())
                if b is not None:
                    made.in_proj_bias[i * n : (i + 1) * n] = b
            weight, b = self.out_proj._weight_bias()
            made.out_proj.weight.copy_(weight.dequantize())
            if b is not None:
                made.out_proj.bias.copy_(b)
        return made

    @classmethod
    def from_observed(cls, other: Any) -> Any:
        raise NotImplementedError(
            "It looks like you are trying to prepare an MHA module. Please, see the examples on quantizable MHAs."
        )

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None,
        need_weights: bool = True, attn_mask: Tensor | None = None, average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> Any:  # fmt: skip
        return self._forward_impl(
            query, key, value, key_padding_mask, need_weights, attn_mask, average_attn_weights, is_causal
        )

    def _heads(self, t: Tensor, batch: int) -> Tensor:
        """[length, batch, embed] to [batch * heads, length, head]"""
        return t.contiguous().view(-1, batch * self.num_heads, self.head_dim).transpose(0, 1)

    def _scores_mask(self, shape: Any, attn_mask: Tensor | None, padding: Tensor | None, added: int) -> Tensor | None:
        """Both masks as numbers that are added to the scores, [batch * heads or 1, target, source]."""
        batch, target, source = shape
        mask = None
        if attn_mask is not None:
            mask = attn_mask.unsqueeze(0) if attn_mask.dim() == 2 else attn_mask
            if mask.dim() != 3 or mask.size(-1) != source or mask.size(-2) != target:
                raise RuntimeError(f"The size of the attn_mask is not correct: {tuple(attn_mask.shape)}.")
            if not mask.is_floating_point():
                mask = torch.zeros(mask.shape).masked_fill_(mask.to(torch.bool), float("-inf"))
            mask = torch.nn.functional.pad(mask, (0, added))
        if padding is not None:
            if not padding.is_floating_point():
                padding = torch.zeros(padding.shape).masked_fill_(padding.to(torch.bool), float("-inf"))
            padding = torch.nn.functional.pad(padding, (0, added)).view(batch, 1, 1, source + added)
            padding = padding.expand(-1, self.num_heads, -1, -1).reshape(batch * self.num_heads, 1, source + added)
            mask = padding if mask is None else mask + padding
        return mask

    def _forward_impl(
        self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None,
        need_weights: bool = True, attn_mask: Tensor | None = None, average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> Any:  # fmt: skip
        if attn_mask is not None and is_causal:
            raise AssertionError("Only allow causal mask or attn_mask")
        if is_causal:
            raise AssertionError("causal mask not supported by AO MHA module")
        if self.batch_first:
            query, key, value = (x.transpose(0, 1) for x in (query, key, value))
        target, batch, embed = query.size()
        source = key.size(0)
        assert self.embed_dim == embed
        assert key.size(0) == value.size(0) and key.size(1) == value.size(1)
        q = self.q_scaling_product.mul_scalar(self.linear_Q(query), float(self.head_dim) ** -0.5)
        q, k, v = self.dequant_q(q), self.dequant_k(self.linear_K(key)), self.dequant_v(self.linear_V(value))
        added = 0
        if self.bias_k is not None:
            k = torch.cat([k, self.bias_k.repeat(1, batch, 1)])
            v = torch.cat([v, self.bias_v.repeat(1, batch, 1)])
            added += 1
        q, k, v = (self._heads(x, batch) for x in (q, k, v))
        if self.add_zero_attn:
            k, v = (torch.cat([x, torch.zeros(x.size(0), 1, x.size(2), dtype=x.dtype)], dim=1) for x in (k, v))
            added += 1
        scores = torch.bmm(q, k.transpose(1, 2))
        mask = self._scores_mask((batch, target, source), attn_mask, key_padding_mask, added)
        if mask is not None:
            scores = scores + mask
        weights = torch.nn.functional.softmax(scores, dim=-1)
        weights = torch.nn.functional.dropout(weights, p=self.dropout, training=self.training)
        out = torch.bmm(weights, v)
        out = out.transpose(0, 1).contiguous().view(target, batch, self.embed_dim)
        out = out.transpose(0, 1) if self.batch_first else out
        out = self.out_proj(self.quant_attn_output(out))
        weights = self.quant_attn_output_weights(weights)
        if not need_weights:
            return out, None
        weights = weights.view(batch, self.num_heads, target, source + added)
        return out, weights.mean(dim=1) if average_attn_weights else weights
