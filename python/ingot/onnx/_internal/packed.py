# SPDX-License-Identifier: Apache-2.0
"""Packed sequences in models: ONNX's recurrent operators take padded batches and the lengths, so nothing is packed. The
batch stays as it is beside its lengths; a recurrent layer is one operator, made for the export, that takes both."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import ingot
from ingot.library import Library
from ingot.nn.utils import rnn

SPACE = "ingot_packed"
_TAIL = "Tensor[] params, bool has_biases, int num_layers, bool bidirectional, bool batch_first"
_SCHEMAS = {
    "lstm": f"lstm(Tensor input, Tensor lengths, Tensor h, Tensor c, {_TAIL}) -> (Tensor, Tensor, Tensor)",
    "gru": f"gru(Tensor input, Tensor lengths, Tensor h, {_TAIL}) -> (Tensor, Tensor)",
    "rnn_tanh": f"rnn_tanh(Tensor input, Tensor lengths, Tensor h, {_TAIL}) -> (Tensor, Tensor)",
    "rnn_relu": f"rnn_relu(Tensor input, Tensor lengths, Tensor h, {_TAIL}) -> (Tensor, Tensor)",
}


class _BatchSizes:
    """How many sequences have each step, computed only if somebody asks for more than the size of the batch."""

    def __init__(self, padded: Any, lengths: Any, batch_first: bool) -> None:
        self.padded, self.lengths, self.batch_first = padded, lengths, batch_first

    def tensor(self) -> Any:
        steps = ingot.arange(self.size(0))
        return (self.lengths.unsqueeze(0) > steps.unsqueeze(1)).sum(1)

    def size(self, dim: int | None = None) -> Any:
        steps = self.padded.size(1 if self.batch_first else 0)
        return ingot.Size([steps]) if dim is None else steps

    def __getitem__(self, index: Any) -> Any:
        # The first step has them all: sequences are not empty.
        if isinstance(index, int) and index == 0:
            return self.padded.size(0 if self.batch_first else 1)
        return self.tensor()[index]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tensor(), name)


class UnpackedSequence(rnn.PackedSequence):
    """A padded batch and its lengths in the place of a packed sequence."""

    batch_first: bool
    lengths: Any

    def __new__(cls, padded: Any, lengths: Any, batch_first: bool) -> UnpackedSequence:
        made = tuple.__new__(cls, (padded, _BatchSizes(padded, lengths, batch_first), None, None))
        made.batch_first = batch_first
        made.lengths = lengths
        return made

    def _pad(self, batch_first: bool, padding_value: float, total_length: Any) -> tuple[Any, Any]:
        """What pad_packed_sequence gives."""
        out = self.data if batch_first == self.batch_first else self.data.transpose(0, 1)
        dim = 1 if batch_first else 0
        if total_length is not None:
            missing = total_length - out.size(dim)
            widths = [0, 0] * (out.dim() - 1 - dim) + [0, missing]
            out = ingot.nn.functional.pad(out, widths)
        if padding_value != 0:
            steps = ingot.arange(out.size(dim))
            inside = steps.unsqueeze(0) < self.lengths.unsqueeze(1)
            inside = inside if batch_first else inside.t()
            inside = inside.reshape([*inside.shape, *[1] * (out.dim() - 2)])
            out = ingot.where(inside, out, padding_value)
        return out, self.lengths

    def _run(self, layer: Any, states: list[Any] | None) -> tuple[Any, list[Any]]:
        """What a recurrent layer gives, and its last states."""
        data = self.data if self.batch_first == layer.batch_first else self.data.transpose(0, 1)
        if states is None:
            batch = data.size(0 if layer.batch_first else 1)
            options = {"dtype": data.dtype, "device": data.device}
            shapes = [layer._hidden_shape(batch, size) for _, size in layer._state_sizes()]
            states = [ingot.zeros(shape, **options) for shape in shapes]
        operator = getattr(getattr(ingot.ops, SPACE), layer.mode.lower())
        out, *last = operator(
            data, self.lengths, *states, list(layer._flat_weights), layer.bias, layer.num_layers, layer.bidirectional,
            layer.batch_first,
        )  # fmt: skip
        return UnpackedSequence(out, self.lengths, layer.batch_first), last


def _pack(padded: Any, lengths: Any, batch_first: bool, enforce_sorted: bool) -> UnpackedSequence:
    """Unsorted batches need not be sorted: nothing is packed."""
    if not isinstance(lengths, ingot.Tensor):
        lengths = ingot.as_tensor(lengths, dtype=ingot.int64)
    return UnpackedSequence(padded, lengths, batch_first)


def _fake(name: str) -> Any:
    def run(padded: Any, lengths: Any, *rest: Any) -> tuple:
        states = rest[: 2 if name == "lstm" else 1]
        params, _, layers, bidirectional, _ = rest[len(states) :]
        width = states[0].size(2) * (2 if bidirectional else 1)
        out = padded.new_empty((padded.size(0), padded.size(1), width))
        return (out, *[ingot.empty_like(s) for s in states])

    return run


def _real(name: str) -> Any:
    def run(padded: Any, lengths: Any, *rest: Any) -> tuple:
        states = list(rest[: 2 if name == "lstm" else 1])
        params, biases, layers, bidirectional, batch_first = rest[len(states) :]
        with rnn.packing(None):
            packed = rnn.pack_padded_sequence(padded, lengths.cpu().to(ingot.int64), batch_first, False)
            states = [s.index_select(1, packed.sorted_indices) for s in states]
            hx = states if name == "lstm" else states[0]
            tail = (params, biases, layers, 0.0, False, bidirectional)
            out, *last = getattr(ingot, name)(packed.data, packed.batch_sizes, hx, *tail)
            steps = padded.size(1 if batch_first else 0)
            made = rnn.PackedSequence(out, packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices)
            out, _ = rnn.pad_packed_sequence(made, batch_first, total_length=steps)
        return (out, *[s.index_select(1, packed.unsorted_indices) for s in last])

    return run


@contextlib.contextmanager
def kept_padded() -> Iterator[None]:
    """While a model is captured for ONNX, sequences are not packed. The operators on padded ones exist from the first
    of them on."""
    made: list[Library] = []

    def pack(*args: Any, **kwargs: Any) -> Any:
        if not made:
            made.append(Library(SPACE, "FRAGMENT"))
            for name, schema in _SCHEMAS.items():
                made[0].define(schema)
                made[0].impl(name, _real(name), "CompositeExplicitAutograd")
                made[0]._register_fake(name, _fake(name))
        return _pack(*args, **kwargs)

    try:
        with rnn.packing(pack):
            yield
    finally:
        for library in made:
            library._destroy()
