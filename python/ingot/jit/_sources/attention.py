# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: UP006, UP007, UP035, UP045
"""nn.MultiheadAttention for scripts."""

from typing import Optional, Tuple

import ingot.nn.functional as F
from ingot import Tensor

TORCH_NAME = "torch.nn.modules.activation"


class MultiheadAttention:
    __constants__ = ["batch_first"]
    __attributes__ = [
        "embed_dim",
        "kdim",
        "vdim",
        "_qkv_same_embed_dim",
        "num_heads",
        "dropout",
        "head_dim",
        "bias_k",
        "bias_v",
        "add_zero_attn",
    ]
    bias_k: Optional[Tensor]
    bias_v: Optional[Tensor]

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Optional[Tensor] = None,
        need_weights: bool = True,
        attn_mask: Optional[Tensor] = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> Tuple[Tensor, Optional[Tensor]]:
        turned = self.batch_first and query.dim() == 3
        if turned:
            one_input = query is key and key is value  # stays one, which is projected at once
            query = query.transpose(0, 1)
            key = query if one_input else key.transpose(0, 1)
            value = query if one_input else value.transpose(0, 1)
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
            self.training,
            key_padding_mask,
            need_weights,
            attn_mask,
            not self._qkv_same_embed_dim,
            self.q_proj_weight,
            self.k_proj_weight,
            self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return out.transpose(0, 1) if turned else out, weights
