# SPDX-License-Identifier: Apache-2.0
from ingot.ao.nn.quantizable.modules.activation import MultiheadAttention
from ingot.ao.nn.quantizable.modules.rnn import LSTM, LSTMCell

__all__ = ["LSTM", "LSTMCell", "MultiheadAttention"]
