// SPDX-License-Identifier: Apache-2.0
// Running a model on values of every kind, for hosts that have them (ingot/onnx.h only has
// tensors).
#ifndef ONNX_READ_SESSION_H_
#define ONNX_READ_SESSION_H_

#include "onnx_read/reader.h"

// in: one value per input without a default, in order (NULL: absent, for optionals). outs: one per
// output, in the innermost scope. The reader must be initialised.
ig_status ig_rd_run(ig_rd *r, ig_rd_value *const *in, size_t n, ig_rd_value **outs);

// Values for inputs that are given by name, one per input of the main graph (NULL: its default).
// NULL after an error.
ig_rd_value **ig_rd_take_inputs(ig_rd *r, const ig_weight *inputs, size_t n);
// As ig_onnx_run gives it; name: of the output, for messages.
ig_value ig_rd_to_value(ig_rd *r, const char *name, ig_rd_value *v);

#endif
