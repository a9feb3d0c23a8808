# SPDX-License-Identifier: Apache-2.0
"""LSTM with quantized products and sums."""

from __future__ import annotations

from typing import Any

import ingot as torch
from ingot.ao.nn.quantizable.modules import rnn as _rnn

__all__ = ["LSTM"]


class LSTM(_rnn.LSTM):
    """Made from an observed torch.ao.nn.quantizable.LSTM by convert()."""

    _FLOAT_MODULE = _rnn.LSTM  # type: ignore[assignment]

    def _get_name(self) -> str:
        return "QuantizedLSTM"

    @classmethod
    def from_float(cls, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            "It looks like you are trying to convert a non-observed LSTM module. Please, see the examples on "
            "quantizable LSTMs."
        )

    @classmethod
    def from_observed(cls, other: Any) -> LSTM:
        assert isinstance(other, cls._FLOAT_MODULE)
        made = torch.ao.quantization.convert(other, inplace=False, remove_qconfig=True)
        made.__class__ = cls
        return made
