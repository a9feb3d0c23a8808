# SPDX-License-Identifier: Apache-2.0
"""The functional form of multi-head attention: projections, masks, attention, output projection."""

from __future__ import annotations

import math
from typing import Any

import ingot as _t
from ingot._C import Tensor


def canonical_mask(
    mask: Tensor | None, mask_name: str, other_type: Any, other_name: str, target_type: Any, check_other: bool = True
) -> Tensor | None:
    """A mask that is added: boolean masks become 0 and -inf."""
    if mask is None:
        return None
    if mask.dtype != _t.bool and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if mask.is_floating_point():
        return mask
    return _t.zeros_like(mask, dtype=target_type).masked_fill_(mask, float("-inf"))


def _in_projection_packed(q: Tensor, k: Tensor, v: Tensor, w: Tensor, b: Tensor | None) -> tuple:
    """Query, key and value from one weight of three stacked parts, with as few products as the inputs allow."""
    size = q.size(-1)
    if k is v:
        if q is k:
            packed = _t.linear(q, w, b)
            parts = packed.unflatten(-1, (3, size)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
            return parts[0], parts[1], parts[2]
        w_q, w_kv = w.split([size, size * 2])
        b_q, b_kv = (None, None) if b is None else b.split([size, size * 2])
        queries = _t.linear(q, w_q, b_q)
        packed = _t.linear(k, w_kv, b_kv)
        parts = packed.unflatten(-1, (2, size)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
        return queries, parts[0], parts[1]
    weights = w.chunk(3)
    biases = (None, None, None) if b is None else b.chunk(3)
    return tuple(_t.linear(x, weight, bias) for x, weight, bias in zip((q, k, v), weights, biases))


def _check_shapes(
    query: Tensor, key: Tensor, value: Tensor, padding: Tensor | None, mask: Tensor | None, heads: int
) -> bool:
    """True if there is a batch dimension."""
    batched = query.dim() == 3
    kind = "batched (3-D)" if batched else "unbatched (2-D)"
    if query.dim() not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {query.dim()}-D query tensor"
        )
    if not key.dim() == value.dim() == query.dim():
        raise AssertionError(
            f"For {kind} `query`, expected `key` and `value` to be {query.dim()}-D but found {key.dim()}-D and "
            f"{value.dim()}-D tensors respectively"
        )
    if padding is not None and padding.dim() != query.dim() - 1:
        raise AssertionError(
            f"For {kind} `query`, expected `key_padding_mask` to be `None` or {query.dim() - 1}-D but found "
            f"{padding.dim()}-D tensor instead"
        )
    if mask is not None and mask.dim() not in (2, 3):
        raise AssertionError(
            f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found {mask.dim()}-D tensor instead"
        )
    if mask is not None and not batched and mask.dim() == 3:
        expected = (heads, query.shape[0], key.shape[0])
        if tuple(mask.shape) != expected:
            raise AssertionError(f"Expected `attn_mask` shape to be {expected} but got {tuple(mask.shape)}")
    return batched


def _project(
    query: Tensor, key: Tensor, value: Tensor, packed: Tensor | None, bias: Tensor | None, separate: tuple
) -> tuple:
    if packed is not None:
        return _in_projection_packed(query, key, value, packed, bias)
    for name, weight in zip("qkv", separate):
        if weight is None:
            raise AssertionError(f"use_separate_proj_weight is True but {name}_proj_weight is None")
    biases = (None, None, None) if bias is None else bias.chunk(3)
    return tuple(_t.linear(x, w, b) for x, w, b in zip((query, key, value), separate, biases))


def _mask_3d(mask: Tensor, rows: int, target: int, source: int) -> Tensor:
    if mask.dim() == 2:
        if tuple(mask.shape) != (target, source):
            raise RuntimeError(f"The shape of the 2D attn_mask is {mask.shape}, but should be {(target, source)}.")
        return mask.unsqueeze(0)
    if mask.dim() == 3:
        if tuple(mask.shape) != (rows, target, source):
            raise RuntimeError(
                f"The shape of the 3D attn_mask is {mask.shape}, but should be {(rows, target, source)}."
            )
        return mask
    raise RuntimeError(f"attn_mask's dimension {mask.dim()} is not supported")


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention of (length, batch, embed) tensors; returns the output and, if wanted, the weights."""
    batched = _check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        same = key is value, query is key
        query = query.unsqueeze(1)
        key = query if same[1] else key.unsqueeze(1)
        value = key if same[0] else value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    target, batch, embed = query.shape
    source = key.shape[0]
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
    key_padding_mask = canonical_mask(key_padding_mask, "key_padding_mask", None, "attn_mask", query.dtype)
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None  # the attention operator makes the triangle itself
    else:
        attn_mask = canonical_mask(attn_mask, "attn_mask", None, "", query.dtype)
        if key_padding_mask is not None:
            is_causal = False
    if embed != embed_dim_to_check:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {embed}")
    head = embed // num_heads
    if head * num_heads != embed:
        raise AssertionError(f"embed_dim {embed} not divisible by num_heads {num_heads}")
    if use_separate_proj_weight:
        if key.shape[:2] != value.shape[:2]:
            raise AssertionError(
                f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}"
            )
    elif key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
    separate = (q_proj_weight, k_proj_weight, v_proj_weight)
    packed = None if use_separate_proj_weight else in_proj_weight
    if not use_separate_proj_weight and packed is None:
        raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
    q, k, v = _project(query, key, value, packed, in_proj_bias, separate)
    if attn_mask is not None:
        attn_mask = _mask_3d(attn_mask, batch * num_heads, target, source)
    if bias_k is not None and bias_v is not None:
        k = _t.cat([k, bias_k.repeat(1, batch, 1)])
        v = _t.cat([v, bias_v.repeat(1, batch, 1)])
        attn_mask = None if attn_mask is None else _t.pad(attn_mask, (0, 1))
        key_padding_mask = None if key_padding_mask is None else _t.pad(key_padding_mask, (0, 1))
    rows = batch * num_heads
    q = q.view(target, rows, head).transpose(0, 1)
    k = k.view(k.shape[0], rows, head).transpose(0, 1) if static_k is None else static_k
    v = v.view(v.shape[0], rows, head).transpose(0, 1) if static_v is None else static_v
    if add_zero_attn:
        k = _t.cat([k, _t.zeros((rows, 1, head), dtype=k.dtype, device=k.device)], dim=1)
        v = _t.cat([v, _t.zeros((rows, 1, head), dtype=v.dtype, device=v.device)], dim=1)
        attn_mask = None if attn_mask is None else _t.pad(attn_mask, (0, 1))
        key_padding_mask = None if key_padding_mask is None else _t.pad(key_padding_mask, (0, 1))
    source = k.size(1)
    if key_padding_mask is not None:
        if tuple(key_padding_mask.shape) != (batch, source):
            raise AssertionError(
                f"expecting key_padding_mask shape of {(batch, source)}, but got {key_padding_mask.shape}"
            )
        padding = key_padding_mask.view(batch, 1, 1, source).expand(-1, num_heads, -1, -1).reshape(rows, 1, source)
        attn_mask = padding if attn_mask is None else attn_mask + padding
    dropout_p = dropout_p if training else 0.0
    options = (out_proj_weight, out_proj_bias, batched)
    if need_weights:
        return _with_weights(q, k, v, attn_mask, dropout_p, num_heads, average_attn_weights, *options)
    if attn_mask is not None:
        one = attn_mask.size(0) == 1 and attn_mask.dim() == 3
        attn_mask = attn_mask.unsqueeze(0) if one else attn_mask.view(batch, num_heads, -1, source)
    q = q.view(batch, num_heads, target, head)
    k = k.view(batch, num_heads, source, head)
    v = v.view(batch, num_heads, source, head)
    out = _t.scaled_dot_product_attention(q, k, v, attn_mask, dropout_p, is_causal)
    out = out.permute(2, 0, 1, 3).contiguous().view(batch * target, embed)
    out = _t.linear(out, out_proj_weight, out_proj_bias)
    out = out.view(target, batch, out.size(1))
    return (out if batched else out.squeeze(1)), None


def _with_weights(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    dropout_p: float,
    heads: int,
    average: bool,
    out_weight: Tensor,
    out_bias: Tensor | None,
    batched: bool,
) -> tuple[Tensor, Tensor]:
    rows, target, head = q.shape
    batch, source = rows // heads, k.size(1)
    scaled = q * math.sqrt(1.0 / float(head))
    if mask is None:
        weights = _t.bmm(scaled, k.transpose(-2, -1))
    else:
        weights = _t.baddbmm(mask, scaled, k.transpose(-2, -1))
    weights = weights.softmax(-1)
    if dropout_p > 0.0:
        weights = _t.dropout(weights, dropout_p, True)
    out = _t.bmm(weights, v).transpose(0, 1).contiguous().view(target * batch, heads * head)
    out = _t.linear(out, out_weight, out_bias)
    out = out.view(target, batch, out.size(1))
    weights = weights.view(batch, heads, target, source)
    if average:
        weights = weights.mean(dim=1)
    return (out, weights) if batched else (out.squeeze(1), weights.squeeze(0))
