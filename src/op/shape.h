// SPDX-License-Identifier: Apache-2.0
// Shared shape rules, type promotion and the pointwise driver.
#ifndef OP_SHAPE_H_
#define OP_SHAPE_H_

#include "op/op.h"
#include "sym/env.h"

ig_shape_fn ig_shape_pointwise;  // broadcast, promote (by .promote), strides as PyTorch's iterators
ig_shape_fn ig_shape_compare;    // the same with result bool
ig_shape_fn ig_shape_like;       // sizes, strides (if dense) and dtype of argument 0
ig_shape_fn ig_shape_copy;       // of a copy of argument 0: its order of dimensions without gaps

// Type promotion, exactly as torch.result_type: tensors with dimensions, then 0-d tensors, then
// numbers, each lower class only raising the category (bool < int < float < complex). Elements of
// `v` that are neither tensors nor numbers are ignored.
ig_dtype ig_promote(const ig_ctx *c, const ig_value *v, size_t n);
ig_dtype ig_dtype_promote(ig_dtype a, ig_dtype b);   // torch.promote_types
bool ig_dtype_can_cast(ig_dtype from, ig_dtype to);  // torch.can_cast
ig_dtype ig_to_float(const ig_ctx *c, ig_dtype d);   // integers and bool -> default dtype
ig_dtype ig_to_real(ig_dtype d);                     // complex64 -> float32 ...
ig_dtype ig_accumulate_dtype(ig_dtype d);            // sums of integers and bool are int64
// The compute dtype of a pointwise call.
ig_dtype ig_computing_dtype(const ig_ctx *c, const ig_op *op, const ig_value *args);

// Common size of tensors among `v`, aligned at the last dimension, into m->size and m->ndim.
// IG_RUNTIME with PyTorch's message if they do not broadcast.
void ig_broadcast(ig_ctx *c, const ig_value *v, size_t n, ig_meta *m);
// Adds another shape to it.
void ig_broadcast_sizes(ig_ctx *c, ig_meta *m, const ig_int *sizes, int ndim);

// Is t row-major, asked in the same way as PyTorch (so that the same guards are recorded)?
bool ig_ask_contiguous(ig_ctx *c, const ig_tensor *t);

// Runs the tile over real operands into `out`, of any strides and of any dtype that the compute
// dtype can be cast to. IG_UNSUPPORTED: no tile for the compute dtype.
void ig_pointwise_run(ig_ctx *c, const ig_op *op, const ig_value *args, ig_tensor *out);
// The same in two steps; see op/prepare.h.
void ig_pointwise_prepare(ig_ctx *c, const ig_op *op, const ig_value *args, const ig_tensor *out,
                          ig_prep *p);
void ig_pointwise_execute(const ig_exec *x);

// Dimension `dim` of a tensor with ndim dimensions, negative counted from the end; a 0-d tensor
// counts as 1-d. IG_BAD_INDEX with PyTorch's message; then the result is 0.
int ig_wrap_dim(ig_ctx *c, int64_t dim, int ndim);
// A dim argument: constant, or specialized if symbolic.
int64_t ig_value_i64(ig_ctx *c, const ig_value *v);  // integer or bool value of an argument
int64_t ig_int_specialize(ig_ctx *c, ig_int i);      // guards on i == hint, returns the hint; in a
                                                 // draft that of the example if there is no other;
                                                 // IG_DATA_DEPENDENT if there is none

// A set of dimensions from `int[1]? dim`: None or [] means all (if none_is_all). IG_RUNTIME when
// one appears twice.
void ig_dims_of(ig_ctx *c, const ig_value *dim, int ndim, bool none_is_all, bool *in_set);
// Sizes of a reduction result.
void ig_meta_reduce(ig_ctx *c, const ig_tensor *self, const bool *reduced, bool keepdim,
                    ig_meta *out);

// Factories: dtype, layout, device, pin_memory at args[i..i+3]; `dtype` when none is given.
void ig_meta_options(ig_ctx *c, const ig_value *args, size_t i, ig_dtype dtype, ig_meta *out);
// A number is used as a size: false if it is negative. An unbacked one becomes size-like.
bool ig_use_as_size(ig_ctx *c, ig_int size);
// Sizes from an int list; IG_RUNTIME: a negative one.
void ig_meta_sizes(ig_ctx *c, const ig_value *sizes, ig_meta *out);

#endif
