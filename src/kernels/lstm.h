// SPDX-License-Identifier: Apache-2.0
// The pointwise half of a step of recurrent networks.
#ifndef KERNELS_LSTM_H_
#define KERNELS_LSTM_H_

#include <stdbool.h>
#include <stdint.h>

// gates [batch][4][hidden] hold i, f, g, o before their activations; cell [batch][hidden] is
// updated in place, h [batch][hidden] is written: c = sigmoid(f) c + sigmoid(i) tanh(g),
// h = sigmoid(o) tanh(c).
void ig_lstm_cell_f32(int64_t batch, int64_t hidden, const float *gates, float *cell, float *h);
// x and gates [batch][3][hidden] hold the parts of r, z, n that come from the input and from the
// state; h [batch][hidden] is updated: r = sigmoid(xr + hr), z = sigmoid(xz + hz),
// n = tanh(xn + r hn), h = (h - n) z + n.
void ig_gru_cell_f32(int64_t batch, int64_t hidden, const float *x, const float *gates, float *h);
// h = tanh(sum), or relu: n elements.
void ig_rnn_cell_f32(int64_t n, bool relu, const float *sum, float *h);

#endif
