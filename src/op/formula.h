// SPDX-License-Identifier: Apache-2.0
// Helpers for decompositions and gradients, beside the generated calls of ingot/aten.h. They record
// like any call, accept NULL and then return NULL.
#ifndef OP_FORMULA_H_
#define OP_FORMULA_H_

#include "ingot/aten.h"
#include "op/op.h"
#include "op/shape.h"

// x op v where v is a tensor or a number.
ig_tensor *ig_add_value(ig_ctx *c, ig_tensor *x, const ig_value *v);
ig_tensor *ig_sub_value(ig_ctx *c, ig_tensor *x, const ig_value *v);
ig_tensor *ig_mul_value(ig_ctx *c, ig_tensor *x, const ig_value *v);
ig_tensor *ig_div_value(ig_ctx *c, ig_tensor *x, const ig_value *v);
ig_tensor *ig_add_f64(ig_ctx *c, ig_tensor *x, double v);
ig_tensor *ig_mul_f64(ig_ctx *c, ig_tensor *x, double v);
ig_tensor *ig_div_f64(ig_ctx *c, ig_tensor *x, double v);
ig_tensor *ig_mul_int(ig_ctx *c, ig_tensor *x, ig_int v);
ig_tensor *ig_div_int(ig_ctx *c, ig_tensor *x, ig_int v);
ig_tensor *ig_conj_of(ig_ctx *c, ig_tensor *x);  // x itself when real

bool ig_value_is_number(const ig_value *v);     // int, float, bool, complex
double ig_value_f64(const ig_value *v);         // of a number; symbolic: its hint
bool ig_value_is(const ig_value *v, double x);  // a constant number equal to x
ig_tensor *ig_value_tensor(const ig_value *v);  // the tensor or NULL

// True where a formula may take a shortcut, because its steps are not observable: real tensors, no
// gradient, no capture.
bool ig_unwatched(const ig_ctx *c, const ig_value *args, size_t n);

ig_value ig_sizes_of(const ig_tensor *t);  // borrowed from t; none for NULL
ig_int ig_numel_of(ig_ctx *c, const ig_tensor *t);
// Arithmetic on sizes that appears in programs as written.
ig_int ig_size_add(ig_ctx *c, ig_int a, ig_int b);
ig_int ig_size_sub(ig_ctx *c, ig_int a, ig_int b);
ig_int ig_size_mul(ig_ctx *c, ig_int a, ig_int b);
ig_int ig_size_floordiv(ig_ctx *c, ig_int a, ig_int b);
ig_int ig_size_mod(ig_ctx *c, ig_int a, ig_int b);
void ig_size_show(ig_ctx *c, ig_int v);  // while recording: the number becomes a node now
// The same if it was computed and is no size itself, in releases that do not wait for its reader.
void ig_size_show_sum(ig_ctx *c, ig_int v);
ig_int ig_product(ig_ctx *c, const ig_int *sizes, size_t n);

// Reverses broadcasting: sums g to the sizes of `like` (a tensor value; others: g itself), and
// drops the imaginary part if like is real.
ig_tensor *ig_sum_to(ig_ctx *c, ig_tensor *g, const ig_value *like);
// A gradient that PyTorch refuses to compute, named in its words ("nextafter"): an error and NULL.
ig_tensor *ig_no_derivative(ig_ctx *c, const char *what);
void ig_vjp_refuse(ig_ctx *c, const ig_vjp *v);  // a .vjp: the same, in the operator's name
ig_tensor *ig_cast(ig_ctx *c, ig_tensor *x, ig_dtype dtype);  // x itself when it has the dtype
ig_tensor *ig_zeros_of(ig_ctx *c, const ig_tensor *like);     // zeros, sizes and dtype of `like`
// Restores the dimensions that a reduction without keepdim removed.
ig_tensor *ig_unreduce(ig_ctx *c, ig_tensor *g, const bool *reduced, int ndim);

#endif
