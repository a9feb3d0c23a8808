// SPDX-License-Identifier: Apache-2.0
// The pointwise half of an LSTM step.
#ifndef KERNELS_LSTM_H_
#define KERNELS_LSTM_H_

#include <stdint.h>

// gates [batch][4][hidden] hold i, f, g, o before their activations; cell [batch][hidden] is
// updated in place, h [batch][hidden] is written: c = sigmoid(f) c + sigmoid(i) tanh(g),
// h = sigmoid(o) tanh(c).
void ig_lstm_cell_f32(int64_t batch, int64_t hidden, const float *gates, float *cell, float *h);

#endif
