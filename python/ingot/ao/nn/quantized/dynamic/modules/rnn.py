# SPDX-License-Identifier: Apache-2.0
"""Recurrent networks with quantized weights; activations are quantized by every product."""

from __future__ import annotations

from typing import Any

import ingot as torch
from ingot import Tensor, nn
from ingot.ao.nn.quantized.modules.utils import _hide_packed_params_repr, _quantize_weight
from ingot.nn.utils.rnn import PackedSequence

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]

_GATES = {"LSTM": 4, "GRU": 3}
_OPS = torch.ops.quantized


def _packed(weight: Tensor, bias: Any, dtype: Any, observer: Any = None) -> Any:
    """A weight with its bias, packed; observed before if an observer is given."""
    if dtype == torch.qint8:
        if observer is not None:
            observer(weight)
            weight = _quantize_weight(weight.detach().float(), observer)
        return _OPS.linear_prepack(weight, bias)
    return _OPS.linear_prepack_fp16(weight.detach().float(), bias)


def _cell_params(w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, dtype: Any) -> Any:
    if dtype == torch.qint8:
        return _OPS.make_quantized_cell_params_dynamic(w_ih, w_hh, b_ih, b_hh, True)
    return _OPS.make_quantized_cell_params_fp16(w_ih, w_hh)


class PackedParameter(torch.nn.Module):
    """The packed parameters of a cell."""

    def __init__(self, param):
        super().__init__()
        self.param = param

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "param"] = self.param

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, metadata: Any, strict: bool, missing: Any, unexpected: Any, errors: Any
    ) -> None:
        self.param = state_dict[prefix + "param"]
        super()._load_from_state_dict(state_dict, prefix, metadata, False, missing, unexpected, errors)


class RNNBase(torch.nn.Module):
    _version = 2
    _FLOAT_MODULE: Any = nn.RNNBase

    def __init__(self, mode, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
                 bidirectional=False, dtype=torch.qint8):  # fmt: skip
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.dtype = dtype
        self.version = 2
        self.training = False
        if mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        cells = []
        for layer in range(num_layers):
            for _ in range(2 if bidirectional else 1):
                features = input_size if layer == 0 else hidden_size * (2 if bidirectional else 1)
                cells.append(PackedParameter(self._empty_cell(features, _GATES[mode] * hidden_size)))
        self._all_weight_values = torch.nn.ModuleList(cells)

    def _empty_cell(self, features: int, gates: int) -> Any:
        biases = [torch.randn(gates).to(dtype=torch.float) for _ in range(2)]
        shapes = [(gates, features), (gates, self.hidden_size)]
        if self.dtype == torch.qint8:
            weights = [torch.quantize_per_tensor(torch.randn(*s), 1, 0, torch.qint8) for s in shapes]
        else:
            weights = [torch.randn(*s) for s in shapes]
        w_ih, w_hh = (_packed(w, b, self.dtype) for w, b in zip(weights, biases))
        return _cell_params(w_ih, w_hh, *biases, self.dtype)

    def _get_name(self) -> str:
        return "DynamicQuantizedRNN"

    def extra_repr(self) -> str:
        s = f"{self.input_size}, {self.hidden_size}"
        for name, usual in (("num_layers", 1), ("bias", True), ("batch_first", False), ("dropout", 0)):
            if getattr(self, name) != usual:
                s += f", {name}={getattr(self, name)}"
        if self.bidirectional is not False:
            s += f", bidirectional={self.bidirectional}"
        return s

    def __repr__(self) -> str:
        return _hide_packed_params_repr(self, (PackedParameter, nn.ModuleList))

    def _cells(self) -> list[Any]:
        return [m.param for m in self._all_weight_values]

    def _zeros(self, batch: int, dtype: Any) -> Tensor:
        directions = 2 if self.bidirectional else 1
        return torch.zeros(self.num_layers * directions, batch, self.hidden_size, dtype=dtype)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        assert type(mod) in {nn.LSTM, nn.GRU}, (
            "nn.quantized.dynamic.RNNBase.from_float only works for nn.LSTM and nn.GRU"
        )
        assert hasattr(mod, "qconfig"), "Input float module must have qconfig defined"
        observer = _weight_observer(mod)
        dtype = observer().dtype
        if dtype not in (torch.qint8, torch.float16):
            raise RuntimeError(f"Unsupported dtype for dynamic RNN quantization: {dtype}")
        made = cls(
            mod.input_size, mod.hidden_size, mod.num_layers, mod.bias, mod.batch_first, mod.dropout,
            mod.bidirectional, dtype,
        )  # fmt: skip
        assert mod.bias
        cells = []
        for layer in range(mod.num_layers):
            for suffix in ("", "_reverse") if mod.bidirectional else ("",):
                end = f"_l{layer}{suffix}"
                b_ih, b_hh = (getattr(mod, f"bias_{n}{end}").detach() for n in ("ih", "hh"))
                w_ih = _packed(getattr(mod, "weight_ih" + end), b_ih, dtype, observer())
                w_hh = _packed(getattr(mod, "weight_hh" + end), b_hh, dtype, observer())
                cells.append(PackedParameter(_cell_params(w_ih, w_hh, b_ih, b_hh, dtype)))
        made._all_weight_values = torch.nn.ModuleList(cells)
        return made


def _weight_observer(mod: Any) -> Any:
    if mod.qconfig is not None and mod.qconfig.weight is not None:
        return mod.qconfig.weight
    from ingot.ao.quantization.qconfig import default_dynamic_qconfig

    return default_dynamic_qconfig.weight


def _permuted(tensor: Tensor, order: Any) -> Tensor:
    return tensor if order is None else tensor.index_select(1, order)


class LSTM(RNNBase):
    """An LSTM with quantized weights."""

    _FLOAT_MODULE = nn.LSTM

    def __init__(self, *args, **kwargs):
        super().__init__("LSTM", *args, **kwargs)

    def _get_name(self) -> str:
        return "DynamicQuantizedLSTM"

    def forward(self, input, hx=None):
        if isinstance(input, PackedSequence):
            data, sizes, order, unsorted = input
            batch = int(sizes[0])
        else:
            data, sizes, order, unsorted = input, None, None, None
            batch = input.size(0) if self.batch_first else input.size(1)
        if hx is None:
            hx = (self._zeros(batch, data.dtype), self._zeros(batch, data.dtype))
        else:
            hx = (_permuted(hx[0], order), _permuted(hx[1], order))
        if sizes is None:
            result = torch.quantized_lstm(
                data, hx, self._cells(), self.bias, self.num_layers, float(self.dropout), self.training,
                self.bidirectional, self.batch_first, dtype=self.dtype, use_dynamic=True,
            )  # fmt: skip
        else:
            result = torch.quantized_lstm(
                data, sizes, hx, self._cells(), self.bias, self.num_layers, float(self.dropout), self.training,
                self.bidirectional, dtype=self.dtype, use_dynamic=True,
            )  # fmt: skip
        output = result[0] if sizes is None else PackedSequence(result[0], sizes, order, unsorted)
        return output, (_permuted(result[1], unsorted), _permuted(result[2], unsorted))


class GRU(RNNBase):
    """A GRU with quantized weights."""

    _FLOAT_MODULE = nn.GRU

    def __init__(self, *args, **kwargs):
        super().__init__("GRU", *args, **kwargs)

    def _get_name(self) -> str:
        return "DynamicQuantizedGRU"

    def forward(self, input, hx=None):
        if isinstance(input, PackedSequence):
            data, sizes, order, unsorted = input
            batch = int(sizes[0])
        else:
            data, sizes, order, unsorted = input, None, None, None
            batch = input.size(0) if self.batch_first else input.size(1)
        hx = self._zeros(batch, data.dtype) if hx is None else _permuted(hx, order)
        if sizes is None:
            result = torch.quantized_gru(
                data, hx, self._cells(), self.bias, self.num_layers, self.dropout, self.training, self.bidirectional,
                self.batch_first,
            )  # fmt: skip
        else:
            result = torch.quantized_gru(
                data, sizes, hx, self._cells(), self.bias, self.num_layers, self.dropout, self.training,
                self.bidirectional,
            )  # fmt: skip
        output = result[0] if sizes is None else PackedSequence(result[0], sizes, order, unsorted)
        return output, _permuted(result[1], unsorted)


class RNNCellBase(torch.nn.Module):
    __constants__ = ["input_size", "hidden_size", "bias"]
    _GATES = 1

    def __init__(self, input_size, hidden_size, bias=True, num_chunks=4, dtype=torch.qint8):
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        self.weight_dtype = dtype
        n = num_chunks * hidden_size
        self.bias_ih = torch.randn(n).to(dtype=torch.float) if bias else None
        self.bias_hh = torch.randn(n).to(dtype=torch.float) if bias else None
        weights = [torch.randn(n, input_size), torch.randn(n, hidden_size)]
        if dtype == torch.qint8:
            weights = [torch.quantize_per_tensor(w, 1, 0, torch.qint8) for w in weights]
        self._packed_weight_ih = _packed(weights[0], self.bias_ih, dtype)
        self._packed_weight_hh = _packed(weights[1], self.bias_hh, dtype)

    def _get_name(self) -> str:
        return "DynamicQuantizedRNNBase"

    def extra_repr(self) -> str:
        s = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            s += f", bias={self.bias}"
        nonlinearity = getattr(self, "nonlinearity", "tanh")
        return s if nonlinearity == "tanh" else s + f", nonlinearity={nonlinearity}"

    def check_forward_input(self, input):
        if input.size(1) != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {input.size(1)}, expected {self.input_size}")

    def _state(self, input: Tensor, hx: Any) -> Any:
        return torch.zeros(input.size(0), self.hidden_size, dtype=input.dtype) if hx is None else hx

    def _arguments(self) -> tuple[Any, ...]:
        return self._packed_weight_ih, self._packed_weight_hh, self.bias_ih, self.bias_hh

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        assert type(mod) in {nn.LSTMCell, nn.GRUCell, nn.RNNCell}, (
            "nn.quantized.dynamic.RNNCellBase.from_float                                  only works for nn.LSTMCell, "
            "nn.GRUCell and nn.RNNCell"
        )
        observer = _weight_observer(mod)
        dtype = observer().dtype
        more = {"nonlinearity": mod.nonlinearity} if type(mod) is nn.RNNCell else {}
        made = cls(mod.input_size, mod.hidden_size, bias=mod.bias, dtype=dtype, **more)
        assert mod.bias
        made.bias_ih = mod.bias_ih.detach()
        made.bias_hh = mod.bias_hh.detach()
        made._packed_weight_ih = _packed(mod.weight_ih, made.bias_ih, dtype, observer())
        made._packed_weight_hh = _packed(mod.weight_hh, made.bias_hh, dtype, observer())
        return made

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "_packed_weight_ih"] = self._packed_weight_ih
        destination[prefix + "_packed_weight_hh"] = self._packed_weight_hh

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, metadata: Any, strict: bool, missing: Any, unexpected: Any, errors: Any
    ) -> None:
        self._packed_weight_ih = state_dict.pop(prefix + "_packed_weight_ih")
        self._packed_weight_hh = state_dict.pop(prefix + "_packed_weight_hh")
        super()._load_from_state_dict(state_dict, prefix, metadata, False, missing, unexpected, errors)


class RNNCell(RNNCellBase):
    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", dtype=torch.qint8):
        super().__init__(input_size, hidden_size, bias, num_chunks=1, dtype=dtype)
        self.nonlinearity = nonlinearity

    def _get_name(self) -> str:
        return "DynamicQuantizedRNNCell"

    def forward(self, input, hx=None):
        self.check_forward_input(input)
        hx = self._state(input, hx)
        if self.nonlinearity == "tanh":
            return _OPS.quantized_rnn_tanh_cell_dynamic(input, hx, *self._arguments())
        if self.nonlinearity == "relu":
            return _OPS.quantized_rnn_relu_cell_dynamic(input, hx, *self._arguments())
        raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")


class LSTMCell(RNNCellBase):
    def __init__(self, input_size, hidden_size, bias=True, dtype=torch.qint8):
        super().__init__(input_size, hidden_size, bias, num_chunks=4, dtype=dtype)

    def _get_name(self) -> str:
        return "DynamicQuantizedLSTMCell"

    def forward(self, input, hx=None):
        self.check_forward_input(input)
        hx = (self._state(input, None),) * 2 if hx is None else hx
        return _OPS.quantized_lstm_cell_dynamic(input, hx, *self._arguments())


class GRUCell(RNNCellBase):
    def __init__(self, input_size, hidden_size, bias=True, dtype=torch.qint8):
        super().__init__(input_size, hidden_size, bias, num_chunks=3, dtype=dtype)

    def _get_name(self) -> str:
        return "DynamicQuantizedGRUCell"

    def forward(self, input, hx=None):
        self.check_forward_input(input)
        return _OPS.quantized_gru_cell_dynamic(input, self._state(input, hx), *self._arguments())
