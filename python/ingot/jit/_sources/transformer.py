# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: UP006, UP007, UP035, UP045
"""Transformers for scripts."""

from typing import Optional

import ingot as torch
from ingot import Tensor
from ingot.jit._sources.attention_function import added_mask

TORCH_NAME = "torch.nn.modules.transformer"


# is_causal as given; otherwise, whether the mask is the causal one for this input.
def _is_causal(mask: Optional[Tensor], given: Optional[bool], x: Tensor, batch_first: bool) -> bool:
    if given is not None:
        return given
    if mask is None:
        return False
    length = x.size(1) if batch_first and x.dim() == 3 else x.size(0)
    if mask.shape != [length, length]:
        return False
    triangle = torch.full([length, length], float("-inf"), dtype=mask.dtype, device=mask.device).triu(1)
    return bool((mask == triangle).all())


class TransformerEncoderLayer:
    __constants__ = ["norm_first"]
    __attributes__ = ["activation_relu_or_gelu", "activation"]
    norm_first: bool

    def forward(
        self,
        src: Tensor,
        src_mask: Optional[Tensor] = None,
        src_key_padding_mask: Optional[Tensor] = None,
        is_causal: bool = False,
    ) -> Tensor:
        padding = added_mask(src_key_padding_mask, "src_key_padding_mask", src_mask, "src_mask", src.dtype)
        mask = added_mask(src_mask, "src_mask", None, "", src.dtype)
        x = self.norm1(src) if self.norm_first else src
        x = src + self.dropout1(self.self_attn(x, x, x, padding, False, mask, is_causal=is_causal)[0])
        if self.norm_first:
            return x + self._feed_forward(self.norm2(x))
        x = self.norm1(x)
        return self.norm2(x + self._feed_forward(x))

    def _feed_forward(self, x: Tensor) -> Tensor:
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerDecoderLayer:
    __constants__ = ["norm_first"]
    __attributes__ = ["activation"]
    norm_first: bool

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Optional[Tensor] = None,
        memory_mask: Optional[Tensor] = None,
        tgt_key_padding_mask: Optional[Tensor] = None,
        memory_key_padding_mask: Optional[Tensor] = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        x = self.norm1(tgt) if self.norm_first else tgt
        own = self.self_attn(x, x, x, tgt_key_padding_mask, False, tgt_mask, is_causal=tgt_is_causal)[0]
        x = tgt + self.dropout1(own)
        if not self.norm_first:
            x = self.norm1(x)
        asking = self.norm2(x) if self.norm_first else x
        found = self.multihead_attn(
            asking, memory, memory, memory_key_padding_mask, False, memory_mask, is_causal=memory_is_causal
        )[0]
        x = x + self.dropout2(found)
        if self.norm_first:
            return x + self._feed_forward(self.norm3(x))
        x = self.norm2(x)
        return self.norm3(x + self._feed_forward(x))

    def _feed_forward(self, x: Tensor) -> Tensor:
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerEncoder:
    __constants__ = ["norm"]
    num_layers: int

    def forward(
        self,
        src: Tensor,
        mask: Optional[Tensor] = None,
        src_key_padding_mask: Optional[Tensor] = None,
        is_causal: Optional[bool] = None,
    ) -> Tensor:
        padding = added_mask(src_key_padding_mask, "src_key_padding_mask", mask, "mask", src.dtype)
        mask = added_mask(mask, "mask", None, "", src.dtype)
        causal = _is_causal(mask, is_causal, src, self.layers[0].self_attn.batch_first)
        for layer in self.layers:
            src = layer(src, src_mask=mask, src_key_padding_mask=padding, is_causal=causal)
        if self.norm is not None:
            src = self.norm(src)
        return src


class TransformerDecoder:
    __constants__ = ["norm"]
    num_layers: int

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Optional[Tensor] = None,
        memory_mask: Optional[Tensor] = None,
        tgt_key_padding_mask: Optional[Tensor] = None,
        memory_key_padding_mask: Optional[Tensor] = None,
        tgt_is_causal: Optional[bool] = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        causal = _is_causal(tgt_mask, tgt_is_causal, tgt, self.layers[0].self_attn.batch_first)
        for layer in self.layers:
            tgt = layer(
                tgt,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )
        if self.norm is not None:
            tgt = self.norm(tgt)
        return tgt


class Transformer:
    d_model: int
    nhead: int
    batch_first: bool

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Optional[Tensor] = None,
        tgt_mask: Optional[Tensor] = None,
        memory_mask: Optional[Tensor] = None,
        src_key_padding_mask: Optional[Tensor] = None,
        tgt_key_padding_mask: Optional[Tensor] = None,
        memory_key_padding_mask: Optional[Tensor] = None,
        src_is_causal: Optional[bool] = None,
        tgt_is_causal: Optional[bool] = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        batches = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batches) != tgt.size(batches):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        return self.decoder(
            tgt,
            self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal),
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )
