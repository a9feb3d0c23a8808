# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: UP006, UP035, UP045, F401, E501
"""Recurrent layers and cells for scripts. The layers differ in their states (one tensor, or two of an LSTM), the cells in
their operators; what they share is a macro below."""

from typing import List, Optional, Tuple

import ingot as torch
from ingot import Tensor
from ingot.jit._marks import _overload_method
from ingot.jit._sources.text import define, expanded
from ingot.nn.utils.rnn import PackedSequence

TORCH_NAME = "torch.nn.modules.rnn"


def _apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    return tensor.index_select(dim, permutation)


class RNNBase:
    __constants__ = [
        "mode",
        "input_size",
        "hidden_size",
        "num_layers",
        "bias",
        "batch_first",
        "dropout",
        "bidirectional",
        "proj_size",
    ]
    __attributes__ = ["_flat_weights_names", "_all_weights", "_flat_weights"]
    mode: str

    def _update_flat_weights(self):
        return

    def check_input(self, input: Tensor, batch_sizes: Optional[Tensor]) -> None:
        expected_input_dim = 2 if batch_sizes is not None else 3
        if input.dim() != expected_input_dim:
            raise RuntimeError(f"input must have {expected_input_dim} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Optional[Tensor]) -> Tuple[int, int, int]:
        if batch_sizes is not None:
            mini_batch = int(batch_sizes[0])
        else:
            mini_batch = input.size(0) if self.batch_first else input.size(1)
        num_directions = 2 if self.bidirectional else 1
        if self.proj_size > 0:
            expected_hidden_size = (self.num_layers * num_directions, mini_batch, self.proj_size)
        else:
            expected_hidden_size = (self.num_layers * num_directions, mini_batch, self.hidden_size)
        return expected_hidden_size

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size: Tuple[int, int, int], msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        if hx.size() != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Tensor, hidden: Tensor, batch_sizes: Optional[Tensor]) -> None:
        self.check_input(input, batch_sizes)
        expected_hidden_size = self.get_expected_hidden_size(input, batch_sizes)
        self.check_hidden_size(hidden, expected_hidden_size)

    def permute_hidden(self, hx: Tensor, permutation: Optional[Tensor]) -> Tensor:
        if permutation is None:
            return hx
        return _apply_permutation(hx, permutation)


_SHARED = {
    "overloads": """\
@_overload_method
def forward(self, input: Tensor, hx: Optional[@state] = None) -> Tuple[Tensor, @state]: ...

@_overload_method
def forward(self, input: PackedSequence, hx: Optional[@state] = None) -> Tuple[PackedSequence, @state]: ...
""",
    "directions": "num_directions = 2 if self.bidirectional else 1",
    "unpack": """\
input, batch_sizes, sorted_indices, unsorted_indices = input
max_batch_size = batch_sizes[0]""",
    "layout": """\
if input.dim() not in (2, 3):
    raise ValueError(f"@layer: Expected input to be 2D or 3D, got {input.dim()}D @found")
is_batched = input.dim() == 3
batch_dim = 0 if self.batch_first else 1
if not is_batched:
    input = input.unsqueeze(batch_dim)""",
    "one_state": """\
    if hx is not None:
        if hx.dim() != 2:
            raise RuntimeError(f"For unbatched 2-D input, hx should also be 2-D but got {hx.dim()}-D tensor")
        hx = hx.unsqueeze(1)
else:
    if hx is not None and hx.dim() != 3:
        raise RuntimeError(f"For batched 3-D input, hx should also be 3-D but got {hx.dim()}-D tensor")""",
    "unsorted": """\
max_batch_size = input.size(0) if self.batch_first else input.size(1)
sorted_indices = None
unsorted_indices = None""",
    "like": "dtype=input.dtype, device=input.device",
    "zeros": "torch.zeros(self.num_layers * num_directions, max_batch_size, self.hidden_size, @like)",
    "permuted": """\
else:
    hx = self.permute_hidden(hx, sorted_indices)""",
    "two_zeros": """\
h_zeros = torch.zeros(self.num_layers * num_directions, max_batch_size, real_hidden_size, @like)
c_zeros = @zeros
hx = (h_zeros, c_zeros)""",
    "two_dims": """\
if hx[0].dim() != @n or hx[1].dim() != @n:
    msg = ("For @batched @n-D input, hx and cx should "
           f"also be @n-D but got ({hx[0].dim()}-D, {hx[1].dim()}-D) tensors")
    raise RuntimeError(msg)""",
    "weights": "self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional",
    "packed": """\
if isinstance(orig_input, PackedSequence):
    output_packed = PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)
    return output_packed, self.permute_hidden(hidden, unsorted_indices)""",
    "unbatched": """\
if not is_batched:
    output = output.squeeze(batch_dim)
    hidden = @squeezed
return output, self.permute_hidden(hidden, unsorted_indices)""",
    "cell_sizes": """\
if input.dim() not in (1, 2):
    raise ValueError(f"@layer: Expected input to be 1D or 2D, got {input.dim()}D instead")""",
    "cell_state": """\
if hx is not None and hx.dim() not in (1, 2):
    raise ValueError(f"@layer: Expected hidden to be 1D or 2D, got {hx.dim()}D instead")
is_batched = input.dim() == 2
if not is_batched:
    input = input.unsqueeze(0)
if hx is None:
    hx = torch.zeros(input.size(0), self.hidden_size, @like)
else:
    hx = hx.unsqueeze(0) if not is_batched else hx""",
    "cell_weights": "input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh",
}

_RNN = """
class RNN(RNNBase):
    __attributes__ = ["nonlinearity", *RNNBase.__attributes__]

    @overloads
    def forward(self, input, hx=None):
        self._update_flat_weights()
        @directions
        orig_input = input
        if isinstance(orig_input, PackedSequence):
            @unpack
            if hx is None:
                hx = @zeros
            @permuted
        else:
            batch_sizes = None
            @layout
            @one_state
            @unsorted
            if hx is None:
                hx = @zeros
            @permuted
        assert hx is not None
        self.check_forward_args(input, hx, batch_sizes)
        assert self.mode == "RNN_TANH" or self.mode == "RNN_RELU"
        if batch_sizes is None:
            if self.mode == "RNN_TANH":
                result = torch.rnn_tanh(input, hx, @weights, self.batch_first)
            else:
                result = torch.rnn_relu(input, hx, @weights, self.batch_first)
        else:
            if self.mode == "RNN_TANH":
                result = torch.rnn_tanh(input, batch_sizes, hx, @weights)
            else:
                result = torch.rnn_relu(input, batch_sizes, hx, @weights)
        output = result[0]
        hidden = result[1]
        @packed
        @unbatched

class RNNCell:
    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]
    nonlinearity: str

    def forward(self, input: Tensor, hx: Optional[Tensor] = None) -> Tensor:
        @cell_sizes
        @cell_state
        if self.nonlinearity == "tanh":
            ret = torch.rnn_tanh_cell(@cell_weights)
        elif self.nonlinearity == "relu":
            ret = torch.rnn_relu_cell(@cell_weights)
        else:
            ret = input
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        if not is_batched:
            ret = ret.squeeze(0)
        return ret
"""

_LSTM = """
class LSTM(RNNBase):
    def get_expected_cell_size(self, input: Tensor, batch_sizes: Optional[Tensor]) -> Tuple[int, int, int]:
        if batch_sizes is not None:
            mini_batch = int(batch_sizes[0])
        else:
            mini_batch = input.size(0) if self.batch_first else input.size(1)
        @directions
        expected_hidden_size = (self.num_layers * num_directions, mini_batch, self.hidden_size)
        return expected_hidden_size

    def check_forward_args(self, input: Tensor, hidden: @state, batch_sizes: Optional[Tensor]) -> None:
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden[0], self.get_expected_hidden_size(input, batch_sizes),
                               "Expected hidden[0] size {}, got {}")
        self.check_hidden_size(hidden[1], self.get_expected_cell_size(input, batch_sizes),
                               "Expected hidden[1] size {}, got {}")

    def permute_hidden(self, hx: @state, permutation: Optional[Tensor]) -> @state:
        if permutation is None:
            return hx
        return _apply_permutation(hx[0], permutation), _apply_permutation(hx[1], permutation)

    @overloads
    def forward(self, input, hx=None):
        self._update_flat_weights()
        orig_input = input
        batch_sizes = None
        @directions
        real_hidden_size = self.proj_size if self.proj_size > 0 else self.hidden_size
        if isinstance(orig_input, PackedSequence):
            @unpack
            if hx is None:
                @two_zeros
            @permuted
        else:
            @layout
            @unsorted
            if hx is None:
                @two_zeros
                self.check_forward_args(input, hx, batch_sizes)
            else:
                if is_batched:
                    @dims_batched
                else:
                    @dims_unbatched
                    hx = (hx[0].unsqueeze(1), hx[1].unsqueeze(1))
                self.check_forward_args(input, hx, batch_sizes)
                hx = self.permute_hidden(hx, sorted_indices)
        if batch_sizes is None:
            result = torch.lstm(input, hx, @weights, self.batch_first)
        else:
            result = torch.lstm(input, batch_sizes, hx, @weights)
        output = result[0]
        hidden = result[1:]
        @packed
        else:
            @unbatched

class LSTMCell:
    __constants__ = ["input_size", "hidden_size", "bias"]
    input_size: int

    def forward(self, input: Tensor, hx: Optional[@state] = None) -> @state:
        @cell_sizes
        if hx is not None:
            for idx, value in enumerate(hx):
                if value.dim() not in (1, 2):
                    raise ValueError(f"LSTMCell: Expected hx[{idx}] to be 1D or 2D, got {value.dim()}D instead")
        is_batched = input.dim() == 2
        if not is_batched:
            input = input.unsqueeze(0)
        if hx is None:
            zeros = torch.zeros(input.size(0), self.hidden_size, @like)
            hx = (zeros, zeros)
        else:
            hx = (hx[0].unsqueeze(0), hx[1].unsqueeze(0)) if not is_batched else hx
        ret = torch.lstm_cell(@cell_weights)
        if not is_batched:
            ret = (ret[0].squeeze(0), ret[1].squeeze(0))
        return ret
"""

_GRU = """
class GRU(RNNBase):
    @overloads
    def forward(self, input, hx=None):
        self._update_flat_weights()
        orig_input = input
        if isinstance(orig_input, PackedSequence):
            @unpack
            if hx is None:
                @directions
                hx = @zeros
            @permuted
        else:
            batch_sizes = None
            @layout
            @one_state
            @unsorted
            if hx is None:
                @directions
                hx = @zeros
            @permuted
        self.check_forward_args(input, hx, batch_sizes)
        if batch_sizes is None:
            result = torch.gru(input, hx, @weights, self.batch_first)
        else:
            result = torch.gru(input, batch_sizes, hx, @weights)
        output = result[0]
        hidden = result[1]
        @packed
        else:
            @unbatched

class GRUCell:
    __constants__ = ["input_size", "hidden_size", "bias"]
    input_size: int

    def forward(self, input: Tensor, hx: Optional[Tensor] = None) -> Tensor:
        @cell_sizes
        @cell_state
        ret = torch.gru_cell(@cell_weights)
        if not is_batched:
            ret = ret.squeeze(0)
        return ret
"""


def _text(text: str, layer: str, *, found: str, state: str, squeezed: str) -> str:
    """The layer and the cell of a kind; macros may contain others."""
    names = {"found": found, "state": state, "squeezed": squeezed}
    dims = _SHARED["two_dims"]
    for batched, n in (("batched", "3"), ("unbatched", "2")):
        names[f"dims_{batched}"] = dims.replace("@batched", batched).replace("@n", n)
    layer_text, _, cell = text.partition(f"class {layer}Cell")
    parts = (
        (layer_text, {**_SHARED, **names, "layer": layer}),
        (f"class {layer}Cell{cell}", {**_SHARED, **names, "layer": f"{layer}Cell"}),
    )
    return "".join(expanded(part, macros) for part, macros in parts)


_PAIR = "Tuple[Tensor, Tensor]"
define(
    globals(),
    _text(_RNN, "RNN", found="tensor instead", state="Tensor", squeezed="hidden.squeeze(1)")
    + _text(_LSTM, "LSTM", found="instead", state=_PAIR, squeezed="(hidden[0].squeeze(1), hidden[1].squeeze(1))")
    + _text(_GRU, "GRU", found="instead", state="Tensor", squeezed="hidden.squeeze(1)"),
)
