// SPDX-License-Identifier: Apache-2.0
// Recurrent networks on dense float32 sequences, prepared and run: the whole call needs no memory
// but what it states. Other calls are left to the formula (rnn.c).
#ifndef OPS_NN_RNN_RUN_H_
#define OPS_NN_RNN_RUN_H_

#include "op/op.h"

// The .variant of the records.
typedef enum ig_rnn_kind { IG_RNN_LSTM, IG_RNN_GRU, IG_RNN_TANH, IG_RNN_RELU } ig_rnn_kind;

// The kernel: prepares and runs what can be, and leaves the rest to the decomposition; and the same
// on fake operands, which is the decomposition alone.
ig_kernel_fn ig_rnn_compute;
ig_kernel_fn ig_rnn_infer;
ig_prepare_fn ig_rnn_prepare;  // IG_UNSUPPORTED: only the formula computes it
ig_run_fn ig_rnn_run;
ig_pack_fn ig_rnn_pack;  // of the weights

#endif
