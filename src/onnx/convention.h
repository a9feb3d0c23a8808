// SPDX-License-Identifier: Apache-2.0
// The conventions of PyTorch's TorchScript exporter (ig_onnx_options.torchscript): names and what
// is left out. The nodes are those of every other model.
#ifndef ONNX_CONVENTION_H_
#define ONNX_CONVENTION_H_

#include "onnx/writer.h"

// A node is emitted: who reads its inputs and who makes its outputs is noted. Returns its name.
const char *ig_onnx_convention_node(ig_onnx *x, const ig_onnx_node *n, const char *out);
// The constants of a node that are its attributes at the opset of the file are not counted.
void ig_onnx_skip_attributes(ig_onnx *x, const ig_onnx_node *n);
// A call is written: values that PyTorch's exporter has beyond those of its nodes are counted.
void ig_onnx_count_call(ig_onnx *x, const ig_node *n);
bool ig_onnx_is_read(const ig_onnx *x, const char *name);
// The name that the caller gave to an axis of an input or output; NULL: none.
const char *ig_onnx_axis_name(const ig_onnx *x, const char *value, int axis);
// The name of an axis of an output whose size is computed.
const char *ig_onnx_made_axis(ig_onnx *x, const char *value, int axis);
// The name of a value in the file: copies have that of the original, outputs of the model their
// own.
const char *ig_onnx_file_name(const ig_onnx *x, const char *name);
const char *ig_onnx_maker_of(const ig_onnx *x, const char *name);  // its operator, "": none
bool ig_onnx_is_made(const ig_onnx *x, const char *name);          // by a node
// Sets all names of inputs and outputs in `options`, after `first` has been written, and in
// `renames` those of the values that the outputs are.
bool ig_onnx_complete_names(ig_onnx *x, const ig_onnx *first, ig_onnx_options *options,
                            ig_map *renames);
// A product of matrices that is only added to something is written with its sum, as one Gemm:
// whether n is such a product, and whether the call is such a sum, which is then written.
bool ig_onnx_is_summand(const ig_onnx *x, const ig_node *n);
bool ig_onnx_put_sum(ig_onnx *x, const ig_onnx_call *call);
// Nodes on weights (fold_weights.c): what is known of a name; whether a node was evaluated, whose
// result then has the name `out`; and that a node reads values, some of which may be such results.
void ig_onnx_know_weight(ig_onnx *x, const char *name, const ig_tensor *t);
void ig_onnx_know_constant(ig_onnx *x, const char *name);  // the last tensor added
void ig_onnx_known_free(ig_onnx *x);
// The results of the evaluation f->op of f->in when the model was written before, where nodes are
// evaluated in the same order; false: there are none. And what the next writing finds; out of
// memory, it evaluates again.
bool ig_onnx_find_folded(const ig_onnx *x, ig_onnx_folded *f);
void ig_onnx_keep_folded(ig_onnx *x, ig_onnx_folded f);
// The model is written again: what was evaluated before is not evaluated again.
void ig_onnx_reuse_folds(ig_onnx *x, ig_onnx *earlier);
bool ig_onnx_fold_node(ig_onnx *x, const ig_onnx_node *n, const char *out);
void ig_onnx_read_folded(ig_onnx *x, const ig_onnx_node *n);
bool ig_onnx_know_folded(ig_onnx *x, const char *name, ig_tensor *t);  // a new weight
ig_tensor *ig_onnx_known_weight(const ig_onnx *x, const ig_node *n);   // NULL: not known
// Whether a call was written before with the same arguments: its results then have those names.
bool ig_onnx_repeats(ig_onnx *x, const ig_onnx_call *call);
// A convolution that only a normalization reads is written with it (convention_fuse.c).
bool ig_onnx_is_normalized(ig_onnx *x, const ig_node *n);
bool ig_onnx_put_normalized(ig_onnx *x, const ig_onnx_call *call);
// Sizes that PyTorch's exporter infers (convention_sizes.c): an input of the model; a node that was
// emitted; the result of a call; and what it calls an axis of a value with ndim axes, or *text NULL
// and its size. False: it knows nothing of the value.
void ig_onnx_note_input(ig_onnx *x, const char *name, const ig_tensor *t);
void ig_onnx_note_sizes(ig_onnx *x, const ig_onnx_node *n, const char *out);
void ig_onnx_note_result(ig_onnx *x, const ig_onnx_call *call);
bool ig_onnx_inferred_axis(ig_onnx *x, const char *value, int axis, int ndim, const char **text,
                           int64_t *number);
const ig_tensor *ig_onnx_known_value(const ig_onnx *x, const char *name);  // NULL: not known
bool ig_onnx_is_constant(const ig_onnx *x, const char *name);  // of the writer, not a weight
bool ig_onnx_is_weight(const ig_onnx *x, const char *name);    // or computed from one
// The name of a weight: that of the program, or a given one beyond those of the inputs; a name that
// an input or output has is changed.
const char *ig_onnx_weight_name(ig_onnx *x, const char *name);
// The inputs that the model has, before unread ones are left out.
size_t ig_onnx_input_count(const ig_onnx *x);
size_t ig_onnx_value_count(ig_onnx *x);  // inputs, weights and results of nodes

#endif
