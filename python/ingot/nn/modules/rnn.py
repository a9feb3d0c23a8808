# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers (one operator call for a whole sequence) and cells (one step)."""

from __future__ import annotations

import math
import numbers
import warnings
from typing import Any

import ingot
from ingot import _C
from ingot._C import Tensor
from ingot.nn import init
from ingot.nn.modules.module import Module
from ingot.nn.parameter import Parameter
from ingot.nn.utils.rnn import PackedSequence

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


class RNNBase(Module):
    """Parameters, checks and the call that RNN, LSTM and GRU share."""

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        self._check_constants(dropout)
        gates = _GATES.get(mode)
        if gates is None:
            raise ValueError("Unrecognized RNN mode: " + mode)
        real = proj_size if proj_size > 0 else hidden_size
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse")[: 2 if bidirectional else 1]:
                width = input_size if layer == 0 else real * (2 if bidirectional else 1)
                shapes = {"weight_ih": (gates * hidden_size, width), "weight_hh": (gates * hidden_size, real)}
                if bias:
                    shapes.update(bias_ih=(gates * hidden_size,), bias_hh=(gates * hidden_size,))
                if proj_size > 0:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                names = [f"{name}_l{layer}{suffix}" for name in shapes]
                for name, shape in zip(names, shapes.values()):
                    setattr(self, name, Parameter(ingot.empty(shape, device=device, dtype=dtype)))
                self._all_weights.append(names)
        self.reset_parameters()

    def _check_constants(self, dropout: Any) -> None:
        if not isinstance(dropout, numbers.Number) or isinstance(dropout, bool) or not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if dropout > 0 and self.num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                f"num_layers greater than 1, but got dropout={dropout} and num_layers={self.num_layers}",
                stacklevel=4,
            )
        if not isinstance(self.hidden_size, int):
            raise TypeError(f"hidden_size should be of type int, got: {type(self.hidden_size).__name__}")
        if self.hidden_size <= 0:
            raise ValueError("hidden_size must be greater than zero")
        if self.num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if self.proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Parameter]:
        return [getattr(self, name) for name in self._flat_weights_names]

    @property
    def all_weights(self) -> list[list[Parameter]]:
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """The weights are used where they are; nothing to do on this device."""

    def reset_parameters(self) -> None:
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        rank = 2 if batch_sizes is not None else 3
        if input.dim() != rank:
            raise RuntimeError(f"input must have {rank} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )

    def _hidden_shape(self, batch: int, size: int) -> tuple[int, int, int]:
        return self.num_layers * (2 if self.bidirectional else 1), batch, size

    @staticmethod
    def check_hidden_size(hx: Tensor, expected: tuple, msg: str = "Expected hidden size {}, got {}") -> None:
        if tuple(hx.size()) != expected:
            raise RuntimeError(msg.format(expected, list(hx.size())))

    def _state_sizes(self) -> list[tuple[str, int]]:
        return [("hidden", self.proj_size or self.hidden_size)]

    def _run(self, input: Any, states: list[Tensor] | None) -> tuple[Any, list[Tensor]]:
        """Calls the operator; the hidden states are a list. Who calls it is not compiled, as in PyTorch."""
        if _C.compile_is_whole():
            _C.compile_break("TorchDynamo purposely graph breaks on RNN, GRU, LSTMs")
        _C.compile_leave()
        own = getattr(input, "_run", None)
        if own is not None:
            return own(self, states)
        packed = isinstance(input, PackedSequence)
        batch_sizes = sorted_indices = unsorted_indices = None
        batched = True
        if packed:
            data, batch_sizes, sorted_indices, unsorted_indices = input
            batch = int(batch_sizes[0])
        else:
            data = input
            if data.dim() not in (2, 3):
                raise ValueError(f"{self._get_name()}: Expected input to be 2D or 3D, got {data.dim()}D instead")
            batched = data.dim() == 3
            if not batched:
                data = data.unsqueeze(0 if self.batch_first else 1)
            batch = data.size(0 if self.batch_first else 1)
        if states is None:
            options = {"dtype": data.dtype, "device": data.device}
            states = [ingot.zeros(self._hidden_shape(batch, size), **options) for _, size in self._state_sizes()]
        else:
            self._check_ranks(states, batched, packed)
            states = [s if batched else s.unsqueeze(1) for s in states]
            states = [_permute(s, sorted_indices) for s in states]
        self.check_input(data, batch_sizes)
        for (name, size), state in zip(self._state_sizes(), states):
            text = f"Expected {name} size {{}}, got {{}}"
            self.check_hidden_size(state, self._hidden_shape(batch, size), text)
        out, *states = self._call(data, batch_sizes, states)
        if packed:
            out = PackedSequence(out, batch_sizes, sorted_indices, unsorted_indices)
        elif not batched:
            out = out.squeeze(0 if self.batch_first else 1)
        states = [_permute(s, unsorted_indices) for s in states]
        return out, [s if batched else s.squeeze(1) for s in states]

    def _check_ranks(self, states: list[Tensor], batched: bool, packed: bool) -> None:
        if packed or all(s.dim() == (3 if batched else 2) for s in states):
            return
        what, rank = ("batched 3-D", 3) if batched else ("unbatched 2-D", 2)
        if len(states) == 2:
            dims = f"({states[0].dim()}-D, {states[1].dim()}-D) tensors"
            raise RuntimeError(f"For {what} input, hx and cx should also be {rank}-D but got {dims}")
        raise RuntimeError(f"For {what} input, hx should also be {rank}-D but got {states[0].dim()}-D tensor")

    def _call(self, data: Tensor, batch_sizes: Tensor | None, states: list[Tensor]) -> tuple:
        operator = getattr(ingot, self.mode.lower())
        hx = states if self.mode == "LSTM" else states[0]
        tail = (self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        if batch_sizes is None:
            return operator(data, hx, *tail, self.batch_first)
        return operator(data, batch_sizes, hx, *tail)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.proj_size != 0:
            text += f", proj_size={self.proj_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if self.batch_first is not False:
            text += f", batch_first={self.batch_first}"
        if self.dropout != 0:
            text += f", dropout={self.dropout}"
        if self.bidirectional is not False:
            text += f", bidirectional={self.bidirectional}"
        return text


def _permute(state: Tensor, order: Tensor | None) -> Tensor:
    return state if order is None else state.index_select(1, order)


class RNN(RNNBase):
    """An Elman network with tanh or relu."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            nonlinearity, args = args[3], (*args[:3], *args[4:])
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{nonlinearity.upper()}", *args, **kwargs)
        self.nonlinearity = nonlinearity

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple:
        out, (state,) = self._run(input, None if hx is None else [hx])
        return out, state


class GRU(RNNBase):
    """A gated recurrent unit network."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple:
        out, (state,) = self._run(input, None if hx is None else [hx])
        return out, state


class LSTM(RNNBase):
    """A long short-term memory network."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def _state_sizes(self) -> list[tuple[str, int]]:
        return [("hidden[0]", self.proj_size or self.hidden_size), ("hidden[1]", self.hidden_size)]

    def forward(self, input: Any, hx: tuple[Tensor, Tensor] | None = None) -> tuple:
        out, states = self._run(input, None if hx is None else list(hx))
        return out, tuple(states)


class RNNCellBase(Module):
    """One time step. A subclass sets the number of gates."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size
        shapes = {"weight_ih": (rows, input_size), "weight_hh": (rows, hidden_size)}
        shapes.update(bias_ih=(rows,), bias_hh=(rows,))
        for name, shape in shapes.items():
            wanted = bias or name.startswith("weight")
            value = Parameter(ingot.empty(shape, device=device, dtype=dtype)) if wanted else None
            self.register_parameter(name, value)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _batched(self, input: Tensor, states: list[Tensor] | None, count: int) -> tuple[Tensor, list[Tensor], bool]:
        name = self._get_name()
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        for i, state in enumerate(states or ()):
            if state.dim() not in (1, 2):
                what = "hidden" if count == 1 else f"hx[{i}]"
                raise ValueError(f"{name}: Expected {what} to be 1D or 2D, got {state.dim()}D instead")
        batched = input.dim() == 2
        input = input if batched else input.unsqueeze(0)
        if states is None:
            zeros = ingot.zeros((input.size(0), self.hidden_size), dtype=input.dtype, device=input.device)
            states = [zeros] * count
        elif not batched:
            states = [s.unsqueeze(0) for s in states]
        return input, states, batched

    def _weights(self) -> tuple:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            text += f", nonlinearity={self.nonlinearity}"
        return text


class RNNCell(RNNCellBase):
    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        input, (state,), batched = self._batched(input, None if hx is None else [hx], 1)
        operator = ingot.rnn_tanh_cell if self.nonlinearity == "tanh" else ingot.rnn_relu_cell
        out = operator(input, state, *self._weights())
        return out if batched else out.squeeze(0)


class LSTMCell(RNNCellBase):
    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        input, states, batched = self._batched(input, None if hx is None else list(hx), 2)
        hidden, cell = ingot.lstm_cell(input, states, *self._weights())
        return (hidden, cell) if batched else (hidden.squeeze(0), cell.squeeze(0))


class GRUCell(RNNCellBase):
    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        input, (state,), batched = self._batched(input, None if hx is None else [hx], 1)
        out = ingot.gru_cell(input, state, *self._weights())
        return out if batched else out.squeeze(0)
