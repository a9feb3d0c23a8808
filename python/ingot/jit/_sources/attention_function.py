# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: UP006, UP007, UP035, UP045, B028
"""torch.nn.functional for scripts: attention."""

import math
import warnings
from typing import List, Optional, Tuple

import ingot as torch
from ingot import Tensor
from ingot.jit._sources.functional import pad

TORCH_NAME = "torch.nn.functional"


# The mask as numbers that are added: -inf where a boolean mask is true.
def added_mask(
    mask: Optional[Tensor], name: str, other: Optional[Tensor], other_name: str, dtype: int
) -> Optional[Tensor]:
    if mask is None:
        return None
    boolean = mask.dtype == torch.bool
    if not boolean and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {name} are supported")
    if other is not None and other.dtype != mask.dtype:
        warnings.warn(f"Support for mismatched {name} and {other_name} is deprecated. Use same type for both instead.")
    if boolean:
        return torch.zeros_like(mask, dtype=dtype).masked_fill_(mask, float("-inf"))
    return mask


# A mask for a key that was added behind the others: it is attended to.
def _for_one_more(mask: Optional[Tensor]) -> Optional[Tensor]:
    if mask is None:
        return None
    return pad(mask, (0, 1))


# Ends with an error if numbers of dimensions do not fit. True: there is a dimension of batches.
def _has_batches(
    query: Tensor, key: Tensor, value: Tensor, padding: Optional[Tensor], mask: Optional[Tensor], heads: int
) -> bool:
    dims = query.dim()
    if dims != 2 and dims != 3:
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {dims}-D query tensor")
    kind = "batched (3-D)" if dims == 3 else "unbatched (2-D)"
    if key.dim() != dims or value.dim() != dims:
        raise AssertionError(
            f"For {kind} `query`, expected `key` and `value` to be {dims}-D but found {key.dim()}-D and "
            f"{value.dim()}-D tensors respectively"
        )
    if padding is not None:
        if padding.dim() != dims - 1:
            raise AssertionError(
                f"For {kind} `query`, expected `key_padding_mask` to be `None` or {dims - 1}-D but found "
                f"{padding.dim()}-D tensor instead"
            )
    if mask is not None:
        if mask.dim() != 2 and mask.dim() != 3:
            raise AssertionError(
                f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found {mask.dim()}-D tensor "
                "instead"
            )
        if dims == 2 and mask.dim() == 3 and mask.shape != [heads, query.size(0), key.size(0)]:
            raise AssertionError(
                f"Expected `attn_mask` shape to be {(heads, query.size(0), key.size(0))} but got {mask.shape}"
            )
    return dims == 3


# Three dimensions: one row or all of them, queries, keys.
def _by_rows(mask: Tensor, rows: int, queries: int, keys: int) -> Tensor:
    if mask.dim() == 2:
        if mask.shape != [queries, keys]:
            raise RuntimeError(f"The shape of the 2D attn_mask is {mask.shape}, but should be {(queries, keys)}.")
        return mask.unsqueeze(0)
    if mask.shape != [rows, queries, keys]:
        raise RuntimeError(f"The shape of the 3D attn_mask is {mask.shape}, but should be {(rows, queries, keys)}.")
    return mask


# Inputs times weights; the bias is that of all three.
def _project(inputs: List[Tensor], weights: List[Tensor], bias: Optional[Tensor]) -> List[Tensor]:
    projected: List[Tensor] = []
    for k in range(3):
        if bias is None:
            projected.append(torch.linear(inputs[k], weights[k]))
        else:
            projected.append(torch.linear(inputs[k], weights[k], bias.chunk(3)[k]))
    return projected


# From (length, batch, embed) to (batch * heads, length, embed / heads).
def _split_heads(x: Tensor, rows: int, size: int) -> Tensor:
    return x.reshape(x.size(0), rows, size).transpose(0, 1)


def _attend(q: Tensor, k: Tensor, v: Tensor, mask: Optional[Tensor], dropout_p: float) -> Tuple[Tensor, Tensor]:
    scaled = q * math.sqrt(1.0 / float(q.size(-1)))
    if mask is None:
        scores = torch.bmm(scaled, k.transpose(-2, -1))
    else:
        scores = torch.baddbmm(mask, scaled, k.transpose(-2, -1))
    weights = scores.softmax(-1)
    if dropout_p > 0.0:
        weights = torch.dropout(weights, dropout_p, True)
    return torch.bmm(weights, v), weights


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Optional[Tensor],
    in_proj_bias: Optional[Tensor],
    bias_k: Optional[Tensor],
    bias_v: Optional[Tensor],
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Optional[Tensor],
    training: bool = True,
    key_padding_mask: Optional[Tensor] = None,
    need_weights: bool = True,
    attn_mask: Optional[Tensor] = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Optional[Tensor] = None,
    k_proj_weight: Optional[Tensor] = None,
    v_proj_weight: Optional[Tensor] = None,
    static_k: Optional[Tensor] = None,
    static_v: Optional[Tensor] = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> Tuple[Tensor, Optional[Tensor]]:
    batched = _has_batches(query, key, value, key_padding_mask, attn_mask, num_heads)
    one_input = query is key and key is value
    if not batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    queries, batch, embed = query.shape
    rows = batch * num_heads
    size = embed // num_heads

    padding = added_mask(key_padding_mask, "key_padding_mask", attn_mask, "attn_mask", query.dtype)
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    # The operator makes the triangle itself where nothing else is masked and no weights are wanted.
    is_causal = is_causal and padding is None and not need_weights
    mask: Optional[Tensor] = None
    if not is_causal:
        mask = added_mask(attn_mask, "attn_mask", None, "", query.dtype)
    if embed != embed_dim_to_check:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {embed}")
    if size * num_heads != embed:
        raise AssertionError(f"embed_dim {embed} not divisible by num_heads {num_heads}")

    if use_separate_proj_weight:
        if key.shape[:2] != value.shape[:2]:
            raise AssertionError(
                f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}"
            )
        assert q_proj_weight is not None, "use_separate_proj_weight is True but q_proj_weight is None"
        assert k_proj_weight is not None, "use_separate_proj_weight is True but k_proj_weight is None"
        assert v_proj_weight is not None, "use_separate_proj_weight is True but v_proj_weight is None"
        projected = _project([query, key, value], [q_proj_weight, k_proj_weight, v_proj_weight], in_proj_bias)
    else:
        if key.shape != value.shape:
            raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
        assert in_proj_weight is not None, "use_separate_proj_weight is False but in_proj_weight is None"
        if one_input:
            projected = torch.linear(query, in_proj_weight, in_proj_bias).chunk(3, -1)
        else:
            projected = _project([query, key, value], in_proj_weight.chunk(3), in_proj_bias)
    q, k, v = projected[0], projected[1], projected[2]

    if mask is not None:
        mask = _by_rows(mask, rows, queries, key.size(0))
    if bias_k is not None and bias_v is not None:
        assert static_k is None, "bias cannot be added to static key."
        assert static_v is None, "bias cannot be added to static value."
        k = torch.cat([k, bias_k.repeat(1, batch, 1)])
        v = torch.cat([v, bias_v.repeat(1, batch, 1)])
        mask, padding = _for_one_more(mask), _for_one_more(padding)
    else:
        assert bias_k is None and bias_v is None
    q = _split_heads(q, rows, size)
    k = _split_heads(k, rows, size) if static_k is None else static_k
    v = _split_heads(v, rows, size) if static_v is None else static_v
    if k.size(0) != rows or k.size(2) != size:
        raise AssertionError(f"static_k has shape {k.shape}, expected {rows} rows of vectors of {size}")
    if v.size(0) != rows or v.size(2) != size:
        raise AssertionError(f"static_v has shape {v.shape}, expected {rows} rows of vectors of {size}")
    if add_zero_attn:
        k, v = torch.cat([k, k.new_zeros([rows, 1, size])], 1), torch.cat([v, v.new_zeros([rows, 1, size])], 1)
        mask, padding = _for_one_more(mask), _for_one_more(padding)

    keys = k.size(1)
    if padding is not None:
        if padding.shape != [batch, keys]:
            raise AssertionError(f"expecting key_padding_mask shape of {(batch, keys)}, but got {padding.shape}")
        by_rows = padding.view(batch, 1, 1, keys).expand(-1, num_heads, -1, -1).reshape(rows, 1, keys)
        mask = by_rows if mask is None else mask + by_rows
    dropout_p = dropout_p if training else 0.0

    weights: Optional[Tensor] = None
    if need_weights:
        out, all_weights = _attend(q, k, v, mask, dropout_p)
        all_weights = all_weights.view(batch, num_heads, queries, keys)
        if average_attn_weights:
            all_weights = all_weights.mean(dim=1)
        weights = all_weights if batched else all_weights.squeeze(0)
    else:
        if mask is not None:
            mask = mask.unsqueeze(0) if mask.size(0) == 1 else mask.view(batch, num_heads, -1, keys)
        out = torch.scaled_dot_product_attention(
            q.view(batch, num_heads, queries, size),
            k.view(batch, num_heads, keys, size),
            v.view(batch, num_heads, keys, size),
            mask,
            dropout_p,
            is_causal,
        ).reshape(rows, queries, size)
    out = torch.linear(out.transpose(0, 1).reshape(queries, batch, embed), out_proj_weight, out_proj_bias)
    return out if batched else out.squeeze(1), weights
