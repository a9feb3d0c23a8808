# SPDX-License-Identifier: Apache-2.0
"""LSTM written out, so that observers see every product and sum."""

from __future__ import annotations

import numbers
import warnings
from typing import Any

import ingot as torch
from ingot import Tensor

__all__ = ["LSTM", "LSTMCell"]


class LSTMCell(torch.nn.Module):
    """One step of an LSTM."""

    _FLOAT_MODULE = torch.nn.LSTMCell

    def __init__(
        self, input_dim: int, hidden_dim: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        functional = torch.ao.nn.quantized.FloatFunctional
        made = {"device": device, "dtype": dtype}
        self.input_size = input_dim
        self.hidden_size = hidden_dim
        self.bias = bias
        self.igates = torch.nn.Linear(input_dim, 4 * hidden_dim, bias=bias, **made)
        self.hgates = torch.nn.Linear(hidden_dim, 4 * hidden_dim, bias=bias, **made)
        self.gates = functional()
        self.input_gate = torch.nn.Sigmoid()
        self.forget_gate = torch.nn.Sigmoid()
        self.cell_gate = torch.nn.Tanh()
        self.output_gate = torch.nn.Sigmoid()
        self.fgate_cx = functional()
        self.igate_cgate = functional()
        self.fgate_cx_igate_cgate = functional()
        self.ogate_cy = functional()
        self.initial_hidden_state_qparams: tuple[float, int] = (1.0, 0)
        self.initial_cell_state_qparams: tuple[float, int] = (1.0, 0)
        self.hidden_state_dtype = torch.quint8
        self.cell_state_dtype = torch.quint8

    def forward(self, x: Tensor, hidden: Any = None) -> Any:
        if hidden is None or hidden[0] is None or hidden[1] is None:
            hidden = self.initialize_hidden(x.shape[0], x.is_quantized)
        hx, cx = hidden
        gates = self.gates.add(self.igates(x), self.hgates(hx))
        input_gate, forget_gate, cell_gate, out_gate = gates.chunk(4, 1)
        input_gate = self.input_gate(input_gate)
        forget_gate = self.forget_gate(forget_gate)
        cell_gate = self.cell_gate(cell_gate)
        out_gate = self.output_gate(out_gate)
        kept = self.fgate_cx.mul(forget_gate, cx)
        added = self.igate_cgate.mul(input_gate, cell_gate)
        cy = self.fgate_cx_igate_cgate.add(kept, added)
        return self.ogate_cy.mul(out_gate, torch.tanh(cy)), cy

    def initialize_hidden(self, batch_size: int, is_quantized: bool = False) -> tuple[Tensor, Tensor]:
        h, c = torch.zeros((batch_size, self.hidden_size)), torch.zeros((batch_size, self.hidden_size))
        if is_quantized:
            h = torch.quantize_per_tensor(h, *self.initial_hidden_state_qparams, self.hidden_state_dtype)
            c = torch.quantize_per_tensor(c, *self.initial_cell_state_qparams, self.cell_state_dtype)
        return h, c

    def _get_name(self) -> str:
        return "QuantizableLSTMCell"

    @classmethod
    def from_params(cls, wi: Tensor, wh: Tensor, bi: Any = None, bh: Any = None) -> LSTMCell:
        """A cell with given weights."""
        assert (bi is None) == (bh is None)
        made = cls(wi.shape[1], wh.shape[1], bias=bi is not None)
        made.igates.weight = torch.nn.Parameter(wi)
        made.hgates.weight = torch.nn.Parameter(wh)
        if bi is not None:
            made.igates.bias = torch.nn.Parameter(bi)
            made.hgates.bias = torch.nn.Parameter(bh)
        return made

    @classmethod
    def from_float(cls, other: Any, use_precomputed_fake_quant: bool = False) -> LSTMCell:
        assert type(other) is cls._FLOAT_MODULE
        assert hasattr(other, "qconfig"), "The float module must have 'qconfig'"
        made = cls.from_params(other.weight_ih, other.weight_hh, other.bias_ih, other.bias_hh)
        for module in (made, made.igates, made.hgates):
            module.qconfig = other.qconfig
        return made


class _LSTMSingleLayer(torch.nn.Module):
    """A cell along a sequence."""

    def __init__(
        self, input_dim: int, hidden_dim: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.cell = LSTMCell(input_dim, hidden_dim, bias=bias, device=device, dtype=dtype)

    def forward(self, x: Tensor, hidden: Any = None) -> Any:
        result = []
        for i in range(x.shape[0]):
            hidden = self.cell(x[i], hidden)
            result.append(hidden[0])
        return torch.stack(result, 0), hidden

    @classmethod
    def from_params(cls, *args: Any, **kwargs: Any) -> _LSTMSingleLayer:
        cell = LSTMCell.from_params(*args, **kwargs)
        made = cls(cell.input_size, cell.hidden_size, cell.bias)
        made.cell = cell
        return made


class _LSTMLayer(torch.nn.Module):
    """One layer, in one direction or in both."""

    def __init__(
        self, input_dim: int, hidden_dim: int, bias: bool = True, batch_first: bool = False,
        bidirectional: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.batch_first = batch_first
        self.bidirectional = bidirectional
        self.layer_fw = _LSTMSingleLayer(input_dim, hidden_dim, bias=bias, device=device, dtype=dtype)
        if bidirectional:
            self.layer_bw = _LSTMSingleLayer(input_dim, hidden_dim, bias=bias, device=device, dtype=dtype)

    def forward(self, x: Tensor, hidden: Any = None) -> Any:
        if self.batch_first:
            x = x.transpose(0, 1)
        hx, cx = (None, None) if hidden is None else hidden
        both = self.bidirectional
        first = None if hx is None else (hx[0], cx[0]) if both else (hx, cx)
        result, (h, c) = self.layer_fw(x, first)
        if both:
            back, (h_back, c_back) = self.layer_bw(x.flip(0), None if hx is None else (hx[1], cx[1]))
            result = torch.cat([result, back.flip(0)], result.dim() - 1)
            h, c = torch.stack([h, h_back], 0), torch.stack([c, c_back], 0)
        if self.batch_first:
            result = result.transpose(0, 1)
        return result, (h, c)

    @classmethod
    def from_float(cls, other: Any, layer_idx: int = 0, qconfig: Any = None, **kwargs: Any) -> _LSTMLayer:
        """Layer layer_idx of a float LSTM."""
        assert hasattr(other, "qconfig") or qconfig is not None
        bidirectional = kwargs.get("bidirectional", other.bidirectional)
        first = other.input_size if layer_idx == 0 else other.hidden_size * (2 if other.bidirectional else 1)
        made = cls(
            kwargs.get("input_size", first), kwargs.get("hidden_size", other.hidden_size),
            kwargs.get("bias", other.bias), kwargs.get("batch_first", other.batch_first), bidirectional,
        )  # fmt: skip
        made.qconfig = getattr(other, "qconfig", qconfig)
        for name, suffix in (("layer_fw", ""), ("layer_bw", "_reverse"))[: 2 if bidirectional else 1]:
            parts = (f"{part}_l{layer_idx}{suffix}" for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
            setattr(made, name, _LSTMSingleLayer.from_params(*(getattr(other, part, None) for part in parts)))
        return made


class LSTM(torch.nn.Module):
    """An LSTM whose parts can be observed and quantized."""

    _FLOAT_MODULE = torch.nn.LSTM

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
        dropout: float = 0.0, bidirectional: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.training = False
        if not isinstance(dropout, numbers.Number) or not 0 <= dropout <= 1 or isinstance(dropout, bool):
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if dropout > 0 and num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                f"num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}",
                stacklevel=2,
            )
        made = {"bias": bias, "batch_first": False, "bidirectional": bidirectional, "device": device, "dtype": dtype}
        wide = hidden_size * (2 if bidirectional else 1)
        self.layers = torch.nn.ModuleList(
            _LSTMLayer(wide if i else input_size, hidden_size, **made) for i in range(num_layers)
        )

    def _state(self, x: Tensor, hidden: Any) -> Any:
        """The state of every layer: (h, c), or two of each."""
        directions = 2 if self.bidirectional else 1
        if hidden is None:
            zeros = torch.zeros(directions, x.size(1), self.hidden_size, dtype=torch.float)
            zeros.squeeze_(0)
            if x.is_quantized:
                zeros = torch.quantize_per_tensor(zeros, scale=1.0, zero_point=0, dtype=x.dtype)
            return [(zeros, zeros)] * self.num_layers
        parts = []
        for state in hidden:
            shaped = state.reshape(self.num_layers, directions, state.shape[-2], state.shape[-1])
            parts.append([shaped[i].squeeze(0) if directions == 1 else shaped[i] for i in range(self.num_layers)])
        return list(zip(*parts))

    def forward(self, x: Tensor, hidden: Any = None) -> Any:
        if self.batch_first:
            x = x.transpose(0, 1)
        finals = []
        states = self._state(x, hidden)
        for i, layer in enumerate(self.layers):
            x, final = layer(x, states[i])
            finals.append(final)
            if i + 1 < self.num_layers:
                x = torch.nn.functional.dropout(x, p=self.dropout, training=self.training)
        h, c = ([final[k] for final in finals] for k in range(2))
        hx, cx = torch.stack(h), torch.stack(c)
        if self.bidirectional:  # [layers, 2, batch, hidden]
            hx, cx = (t.reshape(-1, t.shape[-2], t.shape[-1]) for t in (hx, cx))
        if self.batch_first:
            x = x.transpose(0, 1)
        return x, (hx, cx)

    def _get_name(self) -> str:
        return "QuantizableLSTM"

    @classmethod
    def from_float(cls, other: Any, qconfig: Any = None) -> LSTM:
        """An observed LSTM with the weights of a float one."""
        assert isinstance(other, cls._FLOAT_MODULE)
        assert hasattr(other, "qconfig") or qconfig
        made = cls(
            other.input_size, other.hidden_size, other.num_layers, other.bias, other.batch_first, other.dropout,
            other.bidirectional,
        )  # fmt: skip
        made.qconfig = getattr(other, "qconfig", qconfig)
        for i in range(other.num_layers):
            made.layers[i] = _LSTMLayer.from_float(other, i, qconfig, batch_first=False)
        if other.training:
            made.train()
            return torch.ao.quantization.prepare_qat(made, inplace=True)
        made.eval()
        return torch.ao.quantization.prepare(made, inplace=True)

    @classmethod
    def from_observed(cls, other: Any) -> Any:
        raise NotImplementedError(
            "It looks like you are trying to convert a non-quantizable LSTM module. Please, see the examples on "
            "quantizable LSTMs."
        )
