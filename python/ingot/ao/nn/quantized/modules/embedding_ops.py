# SPDX-License-Identifier: Apache-2.0
"""Embeddings with quantized rows."""

from __future__ import annotations

from typing import Any

import ingot as torch
from ingot import Tensor
from ingot.ao.nn.quantized.modules.utils import _hide_packed_params_repr, _quantize_weight

__all__ = ["Embedding", "EmbeddingBag", "EmbeddingPackedParams"]


class EmbeddingPackedParams(torch.nn.Module):
    """The rows of an embedding, quantized one by one."""

    _version = 1

    def __init__(self, num_embeddings, embedding_dim, dtype=torch.quint8):
        super().__init__()
        self.dtype = dtype
        if self.dtype != torch.quint8:
            raise NotImplementedError(f"Unsupported dtype on quantized embedding! Supports quint8. Got dtype: {dtype}")
        scales = torch.ones(num_embeddings, dtype=torch.float)
        zero_points = torch.zeros(num_embeddings, dtype=torch.float)
        wq = torch._empty_per_channel_affine_quantized(
            [num_embeddings, embedding_dim], scales=scales, zero_points=zero_points, axis=0, dtype=self.dtype
        )
        self.set_weight(wq)

    @torch.jit.export
    def set_weight(self, weight: torch.Tensor) -> None:
        self._packed_weight = torch.ops.quantized.embedding_bag_prepack(weight)

    @torch.jit.export
    def _weight(self):
        return torch.ops.quantized.embedding_bag_unpack(self._packed_weight)

    def forward(self, x):
        return x

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "dtype"] = self.dtype
        destination[prefix + "_packed_weight"] = self._weight()

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, metadata: Any, strict: bool, missing: Any, unexpected: Any, errors: Any
    ) -> None:
        self.dtype = state_dict.pop(prefix + "dtype")
        self.set_weight(state_dict.pop(prefix + "_packed_weight"))
        super()._load_from_state_dict(state_dict, prefix, metadata, False, missing, unexpected, errors)

    def __repr__(self) -> str:
        return self._weight().__repr__()


class Embedding(torch.nn.Module):
    """Rows by their numbers."""

    _version = 1

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None,
        max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
        sparse: bool = False, _weight: Tensor | None = None, dtype=torch.quint8,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.dtype = dtype
        if _weight is None:
            scales = torch.ones(num_embeddings, dtype=torch.float)
            zero_points = torch.zeros(num_embeddings, dtype=torch.float)
            _weight = torch._empty_per_channel_affine_quantized(
                [num_embeddings, embedding_dim], scales=scales, zero_points=zero_points, axis=0, dtype=torch.quint8
            )
        assert list(_weight.shape) == [num_embeddings, embedding_dim], (
            "Shape of weight does not match num_embeddings and embedding_dim"
        )
        self._packed_params = EmbeddingPackedParams(num_embeddings, embedding_dim, dtype)
        self._packed_params.set_weight(_weight)

    def forward(self, indices: Tensor) -> Tensor:
        return torch.ops.quantized.embedding_byte(self._packed_params._packed_weight, indices)

    def _get_name(self) -> str:
        return "QuantizedEmbedding"

    def __repr__(self) -> str:
        return _hide_packed_params_repr(self, EmbeddingPackedParams)

    def extra_repr(self) -> str:
        return (
            f"num_embeddings={self.num_embeddings}, embedding_dim={self.embedding_dim}, dtype={self.dtype}, "
            f"qscheme={self.weight().qscheme()}"
        )

    def set_weight(self, w: torch.Tensor) -> None:
        self._packed_params.set_weight(w)

    def weight(self):
        return self._packed_params._weight()

    @classmethod
    def _quantized(cls, mod: Any, default: Any) -> Any:
        if hasattr(mod, "weight_fake_quant"):
            observer = mod.weight_fake_quant
        else:
            assert hasattr(mod, "qconfig"), "Embedding input float module must have qconfig defined"
            observer = mod.qconfig.weight() if mod.qconfig is not None and mod.qconfig.weight is not None else default()
        assert observer.dtype == torch.quint8, (
            f"The only supported dtype for nnq.Embedding is torch.quint8, got {observer.dtype}"
        )
        observer(mod.weight)
        weight = mod.weight.detach().float()
        return _quantize_weight(weight, observer)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Embedding:
        from ingot.ao.quantization import default_float_qparams_observer

        weight = cls._quantized(mod, default_float_qparams_observer)
        made = cls(mod.num_embeddings, mod.embedding_dim)
        made.set_weight(weight)
        return made


class EmbeddingBag(Embedding):
    """Sums of rows."""

    _version = 1

    def __init__(
        self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None, norm_type: float = 2.0,
        scale_grad_by_freq: bool = False, mode: str = "sum", sparse: bool = False, _weight: Tensor | None = None,
        include_last_offset: bool = False, dtype=torch.quint8,
    ) -> None:  # fmt: skip
        super().__init__(num_embeddings, embedding_dim, _weight=_weight, dtype=dtype)
        self.mode = mode
        self.pruned_weights = False
        self.include_last_offset = include_last_offset
        self.dtype = dtype

    def forward(
        self, indices: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None,
        compressed_indices_mapping: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        return torch.ops.quantized.embedding_bag_byte(
            self._packed_params._packed_weight, indices, offsets, False, 0, self.pruned_weights, per_sample_weights,
            compressed_indices_mapping, self.include_last_offset,
        )  # fmt: skip

    def _get_name(self) -> str:
        return "QuantizedEmbeddingBag"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> EmbeddingBag:
        from ingot.ao.quantization.observer import default_float_qparams_observer

        weight = cls._quantized(mod, default_float_qparams_observer)
        made = cls(
            mod.num_embeddings, mod.embedding_dim, max_norm=mod.max_norm, norm_type=mod.norm_type, mode=mod.mode,
            include_last_offset=mod.include_last_offset,
        )  # fmt: skip
        made.set_weight(weight)
        return made
