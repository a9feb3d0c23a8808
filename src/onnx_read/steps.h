// SPDX-License-Identifier: Apache-2.0
// A run of a model one node at a time, whose values stay between the nodes: for plans, which
// compute most nodes by themselves. Nodes are those of the main graph, in order.
#ifndef ONNX_READ_STEPS_H_
#define ONNX_READ_STEPS_H_

#include "onnx_read/reader.h"

typedef struct ig_rd_steps ig_rd_steps;

// Inputs as in ig_onnx_run. NULL after an error.
ig_rd_steps *ig_rd_steps_open(ig_ctx *c, const ig_onnx_model *m, const ig_weight *inputs, size_t n);
void ig_rd_steps_close(ig_rd_steps *s);  // NULL is allowed
size_t ig_rd_steps_count(const ig_rd_steps *s);
const ig_om_node *ig_rd_steps_node(const ig_rd_steps *s, size_t node);

// Are all values known that the node reads, and those that graphs inside of it read?
bool ig_rd_steps_ready(const ig_rd_steps *s, size_t node);
// False after an error.
bool ig_rd_steps_run(ig_rd_steps *s, size_t node);
// The node is left to later runs: its results are not known, and what it reads is there as tensors.
// False after an error.
bool ig_rd_steps_leave(ig_rd_steps *s, size_t node);

// Values that are known now stay. Those of nodes that are run afterwards are dropped after their
// last reader, and all of them by ig_rd_steps_forget.
bool ig_rd_steps_settle(ig_rd_steps *s);
void ig_rd_steps_forget(ig_rd_steps *s);

// Calls fn for the tensors of the known values that the node reads, or computes.
typedef void ig_rd_visit(void *user, ig_tensor *t);
void ig_rd_steps_each_read(const ig_rd_steps *s, size_t node, ig_rd_visit *fn, void *user);
void ig_rd_steps_each_made(const ig_rd_steps *s, size_t node, ig_rd_visit *fn, void *user);
// The numbers that known values hold instead of a tensor.
typedef void ig_rd_visit_int(void *user, ig_int *i);
void ig_rd_steps_each_int(const ig_rd_steps *s, size_t node, ig_rd_visit_int *fn, void *user);

// An output of the model, in the innermost scope; false: it is not known, or an error.
bool ig_rd_steps_output(ig_rd_steps *s, size_t i, ig_value *out);

#endif
