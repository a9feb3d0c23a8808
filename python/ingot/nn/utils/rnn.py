# SPDX-License-Identifier: Apache-2.0
"""Sequences of different lengths: packed for recurrent layers, or padded."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import ingot
from ingot._C import Tensor

# Who packs instead: (input, lengths, batch_first, enforce_sorted) -> PackedSequence. Exporters to formats whose
# recurrent operators take padded batches set it.
_packer: contextvars.ContextVar[Callable | None] = contextvars.ContextVar("packer", default=None)


@contextlib.contextmanager
def packing(fn: Callable | None) -> Iterator[None]:
    """While the block runs, `fn` packs sequences."""
    token = _packer.set(fn)
    try:
        yield
    finally:
        _packer.reset(token)


class _PackedFields(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_PackedFields):
    """All steps of a batch of sequences, longest first, without padding; batch_sizes[t] is the number of sequences that
    have step t."""

    def __new__(
        cls,
        data: Tensor,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        if isinstance(data, (list, tuple)) and batch_sizes is None:
            data, batch_sizes = data
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is not None and batch_sizes.device.type != "cpu" and not batch_sizes.is_meta:
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually. "
                "They should be instantiated by "
                "functions like pack_sequence and pack_padded_sequences in nn.utils.rnn. "
                "https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence"
            )
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        options = {k: v for k, v in kwargs.items() if k in ("device", "non_blocking", "copy")}
        indices = (
            None if i is None else i.to(data.device, **options) for i in (self.sorted_indices, self.unsorted_indices)
        )
        return type(self)(data, self.batch_sizes, *indices)

    def _cast(self, dtype: Any) -> PackedSequence:
        return self.to(dtype=dtype)

    def double(self) -> PackedSequence:
        return self._cast(ingot.float64)

    def float(self) -> PackedSequence:
        return self._cast(ingot.float32)

    def half(self) -> PackedSequence:
        return self._cast(ingot.float16)

    def long(self) -> PackedSequence:
        return self._cast(ingot.int64)

    def int(self) -> PackedSequence:
        return self._cast(ingot.int32)

    def short(self) -> PackedSequence:
        return self._cast(ingot.int16)

    def char(self) -> PackedSequence:
        return self._cast(ingot.int8)

    def byte(self) -> PackedSequence:
        return self._cast(ingot.uint8)

    def cpu(self, *args: Any, **kwargs: Any) -> PackedSequence:
        return self.to(*args, device="cpu", **kwargs)

    @property
    def is_cuda(self) -> bool:
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        return False

    def pin_memory(self) -> PackedSequence:
        raise NotImplementedError("PackedSequence.pin_memory: Ingot has no pinned memory")


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    if permutation is None:
        return None
    if permutation.is_meta:
        return ingot.empty_like(permutation)
    steps = ingot.arange(0, permutation.numel(), device=permutation.device)
    return ingot.empty_like(permutation).scatter_(0, permutation, steps)


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Packs a padded batch. lengths have to be in descending order unless enforce_sorted is False, which sorts them."""
    packer = _packer.get()
    if packer is not None:
        return packer(input, lengths, batch_first, enforce_sorted)
    if not isinstance(lengths, Tensor):
        lengths = ingot.as_tensor(lengths, dtype=ingot.int64, device="cpu")
    lengths = lengths.to(ingot.int64)
    sorted_indices = None
    if not enforce_sorted:
        lengths, sorted_indices = ingot.sort(lengths, descending=True)
        sorted_indices = sorted_indices.to(input.device)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    data, batch_sizes = ingot._pack_padded_sequence(input, lengths, batch_first)
    return PackedSequence(data, batch_sizes, sorted_indices, None)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """The padded batch and the lengths."""
    own = getattr(sequence, "_pad", None)
    if own is not None:
        return own(batch_first, padding_value, total_length)
    longest = sequence.batch_sizes.size(0)
    if total_length is not None:
        if total_length < longest:
            raise ValueError(
                f"Expected total_length to be at least the length of the longest sequence in input, but got "
                f"total_length={total_length} and "
                f"max sequence length being {longest}"
            )
        longest = total_length
    padded, lengths = ingot._pad_packed_sequence(
        sequence.data, sequence.batch_sizes, batch_first, padding_value, longest
    )
    order = sequence.unsorted_indices
    if order is not None:
        return padded.index_select(0 if batch_first else 1, order), lengths[order.cpu()]
    return padded, lengths


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Stack sequences of different lengths, padded to the longest."""
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    sequences = sequences.unbind(0) if isinstance(sequences, Tensor) else tuple(sequences)
    return ingot.pad_sequence(sequences, batch_first, padding_value, padding_side)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences of a padded batch."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [rows[: int(n)] for rows, n in zip(padded_sequences, lengths)]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack a list of sequences."""
    lengths = ingot.as_tensor([s.size(0) for s in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences of a packed batch."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
