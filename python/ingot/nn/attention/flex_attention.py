# SPDX-License-Identifier: Apache-2.0
"""torch.nn.attention.flex_attention: attention whose scores and mask a function changes.

The functions take one score and its indices (batch, head, query, key). They are called once, with tensors of indices
that broadcast against each other in the place of single indices.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import ingot
from ingot._C import Tensor

__all__ = [
    "AuxOutput", "AuxRequest", "BlockMask", "and_masks", "create_block_mask", "create_mask", "create_nested_block_mask",
    "flex_attention", "noop_mask", "or_masks",
]  # fmt: skip

_DEFAULT_SPARSE_BLOCK_SIZE = 128
_LARGE_SPARSE_BLOCK_SIZE = 1 << 30


class AuxRequest(NamedTuple):
    """Which further results flex_attention returns."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """Further results of flex_attention."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def _identity(score: Tensor, b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
    return score


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """Nothing is masked."""
    return batch.new_ones((), dtype=ingot.bool)


def and_masks(*mask_mods: Callable) -> Callable:
    """The mask of positions that all masks keep."""
    if not all(callable(m) for m in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def combined(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        result = b.new_ones((), dtype=ingot.bool)
        for mask in mask_mods:
            result = result & mask(b, h, q_idx, kv_idx)
        return result

    return combined


def or_masks(*mask_mods: Callable) -> Callable:
    """The mask of positions that one of the masks keeps."""
    if not all(callable(m) for m in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def combined(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        result = b.new_zeros((), dtype=ingot.bool)
        for mask in mask_mods:
            result = result | mask(b, h, q_idx, kv_idx)
        return result

    return combined


def _indices(batch: int, heads: int, queries: int, keys: int, device: Any) -> tuple[Tensor, ...]:
    """Indices of all positions, one dimension each."""
    sizes = (batch, heads, queries, keys)
    return tuple(
        ingot.arange(n, device=device).view([n if d == i else 1 for d in range(4)]) for i, n in enumerate(sizes)
    )


def create_mask(mod_fn: Callable, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = "cpu") -> Tensor:  # noqa: N803
    """The mask as a tensor [B, H, Q_LEN, KV_LEN]: of bool for a mask function, of scores for a score function."""
    import inspect

    shape = (B or 1, H or 1, Q_LEN, KV_LEN)
    at = _indices(*shape, device)
    if len([p for p in inspect.signature(mod_fn).parameters.values() if p.default is p.empty]) == 5:
        out = mod_fn(ingot.zeros(shape, device=device), *at)
        return ingot.where(ingot.isneginf(out), False, True).expand(shape)
    return mod_fn(*at).expand(shape)


def _blocks(dense: Tensor) -> tuple[Tensor, Tensor]:
    """Of a matrix of blocks: how many there are per row, and their columns, present ones first."""
    whole = dense.to(dtype=ingot.int32)
    counts = whole.sum(dim=-1).to(ingot.int32)
    order = ingot.argsort(whole, dim=-1, descending=True, stable=True).to(ingot.int32)
    return counts.contiguous(), order.contiguous()


def _dense(counts: Tensor, indices: Tensor) -> Tensor:
    """The matrix of blocks again."""
    columns = indices.shape[-1]
    valid = ingot.arange(columns, device=counts.device) < counts.unsqueeze(-1)
    out = ingot.zeros(*indices.shape, dtype=ingot.int32, device=counts.device)
    return out.scatter_add_(-1, indices.to(ingot.int64), valid.to(ingot.int32)).clamp_(max=1)


def _transposed(counts: Tensor | None, indices: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
    if counts is None or indices is None:
        return None, None
    return _blocks(_dense(counts, indices).transpose(-2, -1))


class BlockMask:
    """A mask in blocks: which blocks of keys every block of queries sees, in part or wholly, and the function for the
    positions inside of a block."""

    def __init__(
        self, seq_lengths: tuple[int, int], kv_num_blocks: Tensor, kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None, full_kv_indices: Tensor | None, q_num_blocks: Tensor | None,
        q_indices: Tensor | None,
        full_q_num_blocks: Tensor | None, full_q_indices: Tensor | None, BLOCK_SIZE: tuple[int, int],  # noqa: N803
        mask_mod: Callable,
    ) -> None:  # fmt: skip
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        self.seq_lengths = seq_lengths
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices
        self.BLOCK_SIZE = BLOCK_SIZE
        self.mask_mod = mask_mod

    @classmethod
    def from_kv_blocks(
        cls, kv_num_blocks: Tensor, kv_indices: Tensor, full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None, BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,  # noqa: N803
        mask_mod: Callable | None = None, seq_lengths: tuple[int, int] | None = None, compute_q_blocks: bool = True,
    ) -> BlockMask:  # fmt: skip
        """A mask from the blocks of keys of every block of queries."""
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided or omitted")
        size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
        lengths = seq_lengths or (kv_indices.shape[-2] * size[0], kv_indices.shape[-1] * size[1])
        q_num, q_idx, full_q_num, full_q_idx = None, None, None, None
        if compute_q_blocks:
            q_num, q_idx = _transposed(kv_num_blocks, kv_indices)
            full_q_num, full_q_idx = _transposed(full_kv_num_blocks, full_kv_indices)
        return cls(
            lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, q_num, q_idx, full_q_num,
            full_q_idx, size, mask_mod if mask_mod is not None else noop_mask,
        )  # fmt: skip

    def as_tuple(self, flatten: bool = True) -> tuple:
        """Everything that the mask is made of."""
        tensors = (
            self.kv_num_blocks, self.kv_indices, self.full_kv_num_blocks, self.full_kv_indices, self.q_num_blocks,
            self.q_indices, self.full_q_num_blocks, self.full_q_indices,
        )  # fmt: skip
        if flatten:
            return (*self.seq_lengths, *tensors, *self.BLOCK_SIZE, self.mask_mod)
        return (self.seq_lengths, *tensors, self.BLOCK_SIZE, self.mask_mod)

    @property
    def shape(self) -> tuple[int, ...]:
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self) -> int:
        return math.prod(self.shape)

    def sparsity(self) -> float:
        """Percent of the positions in blocks that are not computed."""
        computed = int(self.kv_num_blocks.sum())
        if self.full_kv_num_blocks is not None:
            computed += int(self.full_kv_num_blocks.sum())
        return 100 * (1 - computed * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1] / self.numel())

    def to_dense(self) -> Tensor:
        """A matrix with 1 for every block that is seen."""
        part = _dense(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is None or self.full_kv_indices is None:
            return part
        return part | _dense(self.full_kv_num_blocks, self.full_kv_indices)

    def _change(self, change: Callable[[Tensor], Tensor]) -> BlockMask:
        lengths, *tensors, size, mask = self.as_tuple(flatten=False)
        return BlockMask(lengths, *(None if t is None else change(t) for t in tensors), size, mask)

    def to(self, device: Any) -> BlockMask:
        return self._change(lambda t: t.to(device))

    def __getitem__(self, index: Any) -> BlockMask:
        """A part of the batch, of the heads or of the blocks of queries."""
        index = (index,) if not isinstance(index, tuple) else index
        index = tuple(slice(i, i + 1 or None) if isinstance(i, int) else i for i in index)
        full = self.full_kv_num_blocks is not None
        return BlockMask.from_kv_blocks(
            self.kv_num_blocks[index], self.kv_indices[index], self.full_kv_num_blocks[index] if full else None,
            self.full_kv_indices[index] if full else None, self.BLOCK_SIZE, None, None, self.q_indices is not None,
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%)"


def create_block_mask(
    mask_mod: Callable, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = "cpu",  # noqa: N803
    BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE, _compile: bool = False,  # noqa: N803
    separate_full_blocks: bool = True,
) -> BlockMask:  # fmt: skip
    """The blocks of a mask function."""
    size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    pad_q, pad_kv = -Q_LEN % size[0], -KV_LEN % size[1]
    mask = ingot.nn.functional.pad(mask, (0, pad_kv, 0, pad_q))
    b, h, q, kv = mask.shape
    inside = mask.view(b, h, q // size[0], size[0], kv // size[1], size[1]).permute(0, 1, 2, 4, 3, 5)
    seen = inside.sum(dim=[-2, -1])
    if separate_full_blocks:
        full = seen == size[0] * size[1]
        part_num, part_idx = _blocks((seen > 0) & ~full)
        full_num, full_idx = _blocks(full)
    else:
        part_num, part_idx = _blocks(seen > 0)
        full_num = full_idx = None
    return BlockMask.from_kv_blocks(part_num, part_idx, full_num, full_idx, size, mask_mod, (Q_LEN, KV_LEN), True)


def create_nested_block_mask(*args: Any, **kwargs: Any) -> BlockMask:
    raise NotImplementedError("create_nested_block_mask: there are no nested tensors")


def _allowed(mask: BlockMask, at: tuple[Tensor, ...], queries: int, keys: int) -> Tensor:
    """The positions that a block mask keeps: those of its function, in the blocks that it has."""
    keep = mask.mask_mod(*at)
    blocks = mask.to_dense().to(ingot.bool)
    rows, columns = at[2].flatten() // mask.BLOCK_SIZE[0], at[3].flatten() // mask.BLOCK_SIZE[1]
    part = blocks.index_select(-2, rows).index_select(-1, columns)
    if mask.full_kv_num_blocks is not None and mask.full_kv_indices is not None:
        full = _dense(mask.full_kv_num_blocks, mask.full_kv_indices).to(ingot.bool)
        keep = keep | full.index_select(-2, rows).index_select(-1, columns)
    return keep & part


def flex_attention(
    query: Tensor, key: Tensor, value: Tensor, score_mod: Callable | None = None, block_mask: BlockMask | None = None,
    scale: float | None = None, enable_gqa: bool = False, return_lse: bool = False, kernel_options: Any = None, *,
    return_aux: AuxRequest | None = None,
) -> Any:  # fmt: skip
    """softmax(score_mod(query @ key^T * scale)) @ value over the positions of block_mask."""
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if tensor.dim() != 4:
            raise ValueError(f"Expected {name} to be 4-dimensional, got {tensor.dim()}D")
    if query.dtype != key.dtype or query.dtype != value.dtype:
        raise ValueError(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {query.dtype}, "
            f"key.dtype: {key.dtype}, and value.dtype: {value.dtype} instead."
        )
    heads = query.shape[1]
    if heads != key.shape[1]:
        if not enable_gqa:
            raise ValueError(
                f"Expect query and key/value to have the same number of heads but got Hq={heads} and "
                f"Hkv={key.shape[1]}. Try setting enable_gqa=True for GQA."
            )
        if heads % key.shape[1] != 0:
            raise ValueError(
                f"Expect number of query heads to be a multiple of kv heads for GQA but got Hq={heads} and "
                f"Hkv={key.shape[1]}."
            )
        key = key.repeat_interleave(heads // key.shape[1], dim=1)
        value = value.repeat_interleave(heads // value.shape[1], dim=1)
    if block_mask is not None and (
        query.shape[-2] > block_mask.seq_lengths[0] or key.shape[-2] > block_mask.seq_lengths[1]
    ):
        raise ValueError(
            f"block_mask was created for block_mask.shape={block_mask.shape} but got q_len={query.shape[-2]} and "
            f"kv_len={key.shape[-2]}. As the block mask was created for a smaller length than you're using it for, "
            "you likely need to create a new block mask."
        )
    scale = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    work = query.dtype if query.dtype is ingot.float64 else ingot.float32
    scores = (query @ key.transpose(-2, -1)).to(work) * scale
    if score_mod is not None or block_mask is not None:
        at = _indices(query.shape[0], heads, query.shape[-2], key.shape[-2], query.device)
        if score_mod is not None:
            scores = score_mod(scores, *at).expand(scores.shape)
        if block_mask is not None:
            scores = ingot.where(_allowed(block_mask, at, query.shape[-2], key.shape[-2]), scores, -float("inf"))
    lse = scores.logsumexp(dim=-1)
    empty = (scores == -float("inf")).all(dim=-1, keepdim=True)
    weights = scores.softmax(dim=-1).masked_fill(empty, 0.0)
    out = weights.to(query.dtype) @ value
    if return_aux is not None:
        top = scores.amax(dim=-1) if return_aux.max_scores else None
        return out, AuxOutput(lse if return_aux.lse else None, top)
    return (out, lse) if return_lse else out
