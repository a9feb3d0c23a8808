# SPDX-License-Identifier: Apache-2.0
from ingot.ao.nn.quantized.dynamic.modules.conv import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)  # fmt: skip
from ingot.ao.nn.quantized.dynamic.modules.linear import Linear
from ingot.ao.nn.quantized.dynamic.modules.rnn import GRU, LSTM, GRUCell, LSTMCell, RNNCell

__all__ = [
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "GRU", "GRUCell", "LSTM",
    "LSTMCell", "Linear", "RNNCell",
]  # fmt: skip
