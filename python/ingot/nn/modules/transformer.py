# SPDX-License-Identifier: Apache-2.0
"""Transformer encoders and decoders out of attention, linear and norm layers."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import ingot
from ingot._C import Tensor
from ingot.nn import functional as F
from ingot.nn import init
from ingot.nn._attention import canonical_mask
from ingot.nn.modules.activation import GELU, MultiheadAttention, ReLU
from ingot.nn.modules.container import ModuleList
from ingot.nn.modules.dropout import Dropout
from ingot.nn.modules.linear import Linear
from ingot.nn.modules.module import Module
from ingot.nn.modules.normalization import LayerNorm


def _causal_mask(size: int, device: Any = None, dtype: Any = None) -> Tensor:
    """-inf above the diagonal, 0 elsewhere."""
    full = ingot.full((size, size), float("-inf"), dtype=dtype or ingot.get_default_dtype(), device=device)
    return ingot.triu(full, diagonal=1)


def _is_causal(mask: Tensor | None, given: bool | None, size: int | None) -> bool:
    """is_causal as given; otherwise, whether the mask is the causal mask of that size."""
    if given is not None or mask is None:
        return given is True
    if size is None or tuple(mask.shape) != (size, size):
        return False
    return bool((mask == _causal_mask(size, mask.device, mask.dtype)).all())


def _length(source: Tensor, batch_first: bool) -> int | None:
    if source.is_nested if hasattr(source, "is_nested") else False:
        return None
    return source.size(0) if source.dim() == 2 else source.size(1 if batch_first else 0)


def _activation(activation: Any) -> Callable:
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return F.relu if activation == "relu" else F.gelu


class _Layer(Module):
    """The feed-forward part that encoder and decoder layers share."""

    def _feed_forward_parts(
        self, d_model: int, dim: int, dropout: float, norms: int, eps: float, bias: bool, options: dict
    ) -> None:
        self.linear1 = Linear(d_model, dim, bias=bias, **options)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim, d_model, bias=bias, **options)
        for i in range(norms):
            setattr(self, f"norm{i + 1}", LayerNorm(d_model, eps=eps, bias=bias, **options))
        for i in range(norms):
            setattr(self, f"dropout{i + 1}", Dropout(dropout))

    def _attend(self, attention: Module, dropout: Module, x: Tensor, memory: Tensor, masks: tuple) -> Tensor:
        attn_mask, padding, causal = masks
        result = attention(
            x, memory, memory, attn_mask=attn_mask, key_padding_mask=padding, is_causal=causal, need_weights=False
        )
        return dropout(result[0])

    def _feed_forward(self, x: Tensor, dropout: Module) -> Tensor:
        return dropout(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerEncoderLayer(_Layer):
    """Self-attention and a feed-forward network, each with a residual and a norm."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias=bias, batch_first=batch_first, **options)
        self._feed_forward_parts(d_model, dim_feedforward, dropout, 2, layer_norm_eps, bias, options)
        self.norm_first = norm_first
        self.activation = _activation(activation)

    @property
    def activation_relu_or_gelu(self) -> int:
        """1: ReLU, 2: GELU, 0: another activation."""
        kinds = ((F.relu, ReLU), (F.gelu, GELU))
        return next((i for i, (f, cls) in enumerate(kinds, 1)
                     if self.activation is f or isinstance(self.activation, cls)), 0)  # fmt: skip

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        padding = canonical_mask(src_key_padding_mask, "src_key_padding_mask", None, "src_mask", src.dtype)
        mask = canonical_mask(src_mask, "src_mask", None, "", src.dtype)
        masks = (mask, padding, is_causal)
        x = src
        if self.norm_first:
            normed = self.norm1(x)
            x = x + self._attend(self.self_attn, self.dropout1, normed, normed, masks)
            return x + self._feed_forward(self.norm2(x), self.dropout2)
        x = self.norm1(x + self._attend(self.self_attn, self.dropout1, x, x, masks))
        return self.norm2(x + self._feed_forward(x, self.dropout2))


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the memory and a feed-forward network."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options = {"device": device, "dtype": dtype}
        attention = {"dropout": dropout, "batch_first": batch_first, "bias": bias, **options}
        self.self_attn = MultiheadAttention(d_model, nhead, **attention)
        self.multihead_attn = MultiheadAttention(d_model, nhead, **attention)
        self._feed_forward_parts(d_model, dim_feedforward, dropout, 3, layer_norm_eps, bias, options)
        self.norm_first = norm_first
        self.activation = _activation(activation)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory_mask, memory_key_padding_mask, memory_is_causal)
        x = tgt
        if self.norm_first:
            normed = self.norm1(x)
            x = x + self._attend(self.self_attn, self.dropout1, normed, normed, own)
            x = x + self._attend(self.multihead_attn, self.dropout2, self.norm2(x), memory, other)
            return x + self._feed_forward(self.norm3(x), self.dropout3)
        x = self.norm1(x + self._attend(self.self_attn, self.dropout1, x, x, own))
        x = self.norm2(x + self._attend(self.multihead_attn, self.dropout2, x, memory, other))
        return self.norm3(x + self._feed_forward(x, self.dropout3))


class TransformerEncoder(Module):
    """A stack of encoder layers."""

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(encoder_layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm
        self.enable_nested_tensor, self.use_nested_tensor, self.mask_check = enable_nested_tensor, False, mask_check

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        padding = canonical_mask(src_key_padding_mask, "src_key_padding_mask", None, "mask", src.dtype)
        mask = canonical_mask(mask, "mask", None, "", src.dtype)
        batch_first = self.layers[0].self_attn.batch_first
        is_causal = _is_causal(mask, is_causal, _length(src, batch_first))
        for layer in self.layers:
            src = layer(src, src_mask=mask, is_causal=is_causal, src_key_padding_mask=padding)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """A stack of decoder layers."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(decoder_layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        batch_first = self.layers[0].self_attn.batch_first
        tgt_is_causal = _is_causal(tgt_mask, tgt_is_causal, _length(tgt, batch_first))
        for layer in self.layers:
            tgt = layer(
                tgt,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=tgt_is_causal,
                memory_is_causal=memory_is_causal,
            )
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder and a decoder."""

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options = {"device": device, "dtype": dtype}
        shared = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)

        def norm() -> LayerNorm:
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **options)

        if custom_encoder is not None:
            self.encoder = custom_encoder
        else:
            layer = TransformerEncoderLayer(*shared, **options)
            self.encoder = TransformerEncoder(layer, num_encoder_layers, norm())
        if custom_decoder is not None:
            self.decoder = custom_decoder
        else:
            layer = TransformerDecoderLayer(*shared, **options)
            self.decoder = TransformerDecoder(layer, num_decoder_layers, norm())
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def _reset_parameters(self) -> None:
        for param in self.parameters():
            if param.dim() > 1:
                init.xavier_uniform_(param)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        batch = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch) != tgt.size(batch):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        return _causal_mask(sz, device, dtype)


def _get_activation_fn(activation: str) -> Any:
    """The function of a name: relu or gelu."""
    if activation == "relu":
        return F.relu
    if activation == "gelu":
        return F.gelu
    raise RuntimeError(f"activation should be relu/gelu, not {activation}")
