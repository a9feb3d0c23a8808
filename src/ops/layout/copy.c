// SPDX-License-Identifier: Apache-2.0
// Copies: clone, conversion of dtype and device, copy_, fill, repeat, resize_.
#include "tensor/copy.h"
#include "tensor/geometry.h"

#include <string.h>

#include "op/formula.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "op/strides.h"
#include "ops/quant.h"

static void clone_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  ig_meta_copy_of(c, args[0].tensor, &args[1], out);
}

static void copy_self_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)c;
  (void)op;
  if (outs[0].tensor != args[0].tensor) ig_tensor_copy(outs[0].tensor, args[0].tensor);
}

static void clone_vjp(ig_ctx *c, const ig_vjp *v) {
  (void)c;
  IG_GRAD(v, 0) = v->grad;
}

static void to_copy_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  ig_meta_options(c, args, 1, args[0].tensor->dtype, out);
  if (c->status == IG_OK) ig_meta_copy_of(c, args[0].tensor, &args[6], out);
}

static void to_copy_vjp(ig_ctx *c, const ig_vjp *v) {
  const ig_tensor *self = v->args[0].tensor;
  bool same = v->grad && self->dtype == v->grad->dtype && self->device.type == v->grad->device.type;
  if (same) {
    IG_GRAD(v, 0) = v->grad;
  } else {
    ig_value strided = {.kind = IG_KIND_LAYOUT, .layout = IG_STRIDED};
    IG_GRAD(v, 0) = ig__to_copy_with(c, v->grad, ig_of_dtype(self->dtype), strided,
                                     ig_of_device(self->device), ig_none(), false, ig_none());
  }
}

static bool same_device(const ig_tensor *t, const ig_value *device) {
  if (device->kind != IG_KIND_DEVICE) return true;
  bool any = device->device.index < 0 || t->device.index < 0;
  return t->device.type == device->device.type && (any || t->device.index == device->device.index);
}

static bool same_format(ig_ctx *c, const ig_tensor *t, const ig_value *format) {
  if (format->kind != IG_KIND_MEMORY_FORMAT || format->memory_format == IG_PRESERVE) return true;
  return ig_tensor_suggest_format(c, t) == format->memory_format;
}

typedef struct target {
  ig_value dtype;
  ig_value layout;
  ig_value device;
  ig_value pin;
  bool non_blocking;
  bool copy;
  ig_value format;
} target;

// self when nothing would change, unless a copy is asked for.
static ig_tensor *to(ig_ctx *c, ig_tensor *self, const target *t) {
  bool same_dtype = t->dtype.kind != IG_KIND_DTYPE || t->dtype.dtype == self->dtype;
  if (!t->copy && same_dtype && same_device(self, &t->device) && same_format(c, self, &t->format)) {
    return self;
  }
  return ig__to_copy_with(c, self, t->dtype, t->layout, t->device, t->pin, t->non_blocking,
                          t->format);
}

static ig_tensor *to_dtype_decompose(ig_ctx *c, const ig_value *args) {
  target t = {args[1], ig_none(), ig_none(), ig_none(), args[2].b, args[3].b, args[4]};
  return to(c, args[0].tensor, &t);
}

static ig_tensor *to_device_decompose(ig_ctx *c, const ig_value *args) {
  target t = {args[2], ig_none(), args[1], ig_none(), args[3].b, args[4].b, args[5]};
  return to(c, args[0].tensor, &t);
}

static ig_tensor *to_dtype_layout_decompose(ig_ctx *c, const ig_value *args) {
  target t = {args[1], args[2], args[3], args[4], args[5].b, args[6].b, args[7]};
  return to(c, args[0].tensor, &t);
}

static ig_tensor *to_other_decompose(ig_ctx *c, const ig_value *args) {
  const ig_tensor *other = args[1].tensor;
  ig_value strided = {.kind = IG_KIND_LAYOUT, .layout = IG_STRIDED};
  target t = {ig_of_dtype(other->dtype),
              strided,
              ig_of_device(other->device),
              ig_none(),
              args[2].b,
              args[3].b,
              args[4]};
  return to(c, args[0].tensor, &t);
}

// src must broadcast to the sizes of self.
static void check_fits(ig_ctx *c, const ig_tensor *self, const ig_tensor *src) {
  ig_meta m;
  ig_meta_of(self, &m);
  ig_broadcast_sizes(c, &m, ig_sizes(src), src->ndim);
  bool fits = m.ndim == self->ndim;
  for (int d = 0; d < m.ndim && fits && c->status == IG_OK; d++) {
    fits = ig_int_eq(c, m.size[d], ig_sizes(self)[d]);
  }
  if (fits || c->status != IG_OK) return;
  ig_fail_text(c, IG_RUNTIME, "output with shape %s doesn't match the broadcast shape %s",
               ig_sizes_text(c, ig_sizes(self), (size_t)self->ndim),
               ig_sizes_text(c, m.size, (size_t)m.ndim));
}

// The result is self after the write, with its strides; those of an expanded tensor name elements
// more than once.
static void copy_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *self = args[0].tensor;
  check_fits(c, self, args[1].tensor);
  if (c->status != IG_OK) return;
  ig_shape_like(c, op, args, out);
  if (c->status != IG_OK || ig_tensor_has_internal_overlap(self)) return;
  for (int i = 0; i < out->ndim; i++) out->stride[i] = ig_strides(self)[i];
}

static void copy_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  if (ig_tensor_overlap(outs[0].tensor, args[1].tensor) == IG_OVERLAP_PARTIAL) {
    ig_fail_text(c, IG_RUNTIME,
                 "unsupported operation: some elements of the input tensor and the written-to "
                 "tensor refer to a single memory location. Please clone() the tensor before "
                 "performing the operation.");
    return;
  }
  ig_tensor_copy(outs[0].tensor, args[1].tensor);
}

static void copy_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_zeros_of(c, v->args[0].tensor);
  if (!IG_WANTED(v, 1)) return;
  ig_tensor *g = ig_sum_to(c, v->grad, &v->args[1]);
  IG_GRAD(v, 1) = ig_cast(c, g, v->args[1].tensor->dtype);
}

// zero has no second argument; the others have a number or a 0-d tensor.
static void fill_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  ig_tensor *t = outs[0].tensor;
  if (op->schema.nargs == 1) {
    ig_tensor_zero(t);
  } else if (args[1].kind == IG_KIND_TENSOR) {
    ig_tensor_copy(t, args[1].tensor);
  } else if (ig_check_number(c, &args[1], t->dtype)) {
    ig_tensor_fill(t, &args[1]);
  }
}

static void fill_tensor_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  if (args[1].kind == IG_KIND_TENSOR && args[1].tensor->ndim != 0) {
    ig_fail_text(c, IG_RUNTIME,
                 "fill_ only supports 0-dimension value tensor but got tensor with %d dimensions.",
                 args[1].tensor->ndim);
    return;
  }
  ig_shape_like(c, op, args, out);
}

static void fill_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_zeros_of(c, v->args[0].tensor);
}

static void fill_tensor_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_zeros_of(c, v->args[0].tensor);
  if (v->args[1].kind != IG_KIND_TENSOR || !IG_WANTED(v, 1)) return;
  ig_tensor *g = ig_sum_to(c, v->grad, &v->args[1]);
  IG_GRAD(v, 1) = ig_cast(c, g, v->args[1].tensor->dtype);
}

static ig_tensor *fill_decompose(ig_ctx *c, const ig_value *args) {
  return ig_full_like_with(c, args[0].tensor, args[1], ig_none(), ig_none(), ig_none(),
                           ig_of_bool(false), ig_none());
}

static ig_tensor *fill_tensor_decompose(ig_ctx *c, const ig_value *args) {
  return ig_copy(c, args[0].tensor, args[1].tensor);
}

static ig_tensor *zero_decompose(ig_ctx *c, const ig_value *args) {
  return ig_full_like_with(c, args[0].tensor, ig_of_i64(0), ig_none(), ig_none(), ig_none(),
                           ig_of_bool(false), ig_of_memory_format(IG_PRESERVE));
}

static void conj_c64(const ig_tile_args *t) {
  const ig_c64 *x = t->in[0];
  ig_c64 *o = t->out;
  for (size_t i = 0; i < t->n; i++) o[i] = (ig_c64){x[i].re, -x[i].im};
}

static void conj_c128(const ig_tile_args *t) {
  const ig_c128 *x = t->in[0];
  ig_c128 *o = t->out;
  for (size_t i = 0; i < t->n; i++) o[i] = (ig_c128){x[i].re, -x[i].im};
}

static void conj_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_conj_of(c, v->grad);
}

static ig_tensor *conj_physical_decompose(ig_ctx *c, const ig_value *args) {
  return ig_dtype_is_complex(args[0].tensor->dtype) ? ig__conj_physical(c, args[0].tensor)
                                                    : args[0].tensor;
}

static void repeat_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  const ig_tensor *self = args[0].tensor;
  int lead = (int)args[1].ints.n - self->ndim;
  if (lead < 0) {
    ig_fail_text(c, IG_RUNTIME,
                 "Number of dimensions of repeat dims can not be smaller than number of dimensions "
                 "of tensor");
    return;
  }
  for (int d = 0; d < (int)args[1].ints.n; d++) {
    ig_int size = d < lead ? ig_const(1) : ig_sizes(self)[d - lead];
    ig_meta_push_dim(c, out, ig_int_mul(c, size, args[1].ints.at[d]));
  }
  for (int d = 0; d < out->ndim && c->status == IG_OK; d++) {
    if (!ig_int_is(c, out->size[d], IG_LT, ig_const(0))) continue;
    ig_fail_text(c, IG_RUNTIME, "Trying to create tensor with negative dimension %s: %s",
                 ig_int_text(c, out->size[d]), ig_sizes_text(c, out->size, (size_t)out->ndim));
  }
}

// Every dimension of the result is seen as two, copies and elements; self repeats along the first.
static void repeat_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  const ig_tensor *self = args[0].tensor;
  const ig_tensor *out = outs[0].tensor;
  int lead = out->ndim - self->ndim;
  int64_t size[IG_MAX_DIM];
  int64_t to[IG_MAX_DIM];
  int64_t from[IG_MAX_DIM];
  int n = 0;
  if (ig_tensor_numel(out) == 0) return;
  for (int d = 0; d < out->ndim; d++) {
    int64_t have = d < lead ? 1 : ig_sizes(self)[d - lead].value;
    int64_t stride = ig_strides(out)[d].value;
    const int64_t sizes[2] = {args[1].ints.at[d].value, have};
    const int64_t to_strides[2] = {have * stride, stride};
    const int64_t from_strides[2] = {0, d < lead ? 0 : ig_strides(self)[d - lead].value};
    for (int k = 0; k < 2; k++) {
      if (sizes[k] == 1) continue;
      if (n == IG_MAX_DIM) {
        (void)ig_fail(c, IG_RUNTIME, "repeat: more than %d dimensions with their copies",
                      IG_MAX_DIM);
        return;
      }
      size[n] = sizes[k];
      to[n] = to_strides[k];
      from[n++] = from_strides[k];
    }
  }
  ig_strided_copy(n, size, (ig_strided){ig_tensor_data(out), out->dtype, to},
                  (ig_strided){ig_tensor_data(self), self->dtype, from});
}

// Sums over the copies.
static void repeat_vjp(ig_ctx *c, const ig_vjp *v) {
  const ig_tensor *self = v->args[0].tensor;
  if (!IG_WANTED(v, 0)) return;
  const ig_value *repeats = &v->args[1];
  int lead = (int)repeats->ints.n - self->ndim;
  ig_int sizes[IG_MAX_DIM];
  ig_int dims[IG_MAX_DIM];
  size_t n = 0;
  size_t summed = 0;
  if (repeats->ints.n + (size_t)self->ndim > IG_MAX_DIM) {
    (void)ig_fail(c, IG_UNSUPPORTED, "gradient of repeat in %zu dimensions", repeats->ints.n);
    return;
  }
  for (int d = 0; d < (int)repeats->ints.n; d++) {
    dims[summed++] = ig_const((int64_t)n);
    sizes[n++] = repeats->ints.at[d];
    if (d >= lead) sizes[n++] = ig_sizes(self)[d - lead];
  }
  if (summed == 0) {
    IG_GRAD(v, 0) = v->grad;
    return;
  }
  ig_tensor *g = ig_reshape(c, v->grad, ig_of_ints(sizes, n));
  IG_GRAD(v, 0) = ig_sum_dim_intlist_with(c, g, ig_of_ints(dims, summed), false, ig_none());
}

static void resize_meta(ig_ctx *c, const ig_value *args, ig_meta *m) {
  ig_meta_of(args[0].tensor, m);
  ig_meta_sizes(c, &args[1], m);
  if (c->status != IG_OK) return;
  if (args[2].kind == IG_KIND_MEMORY_FORMAT && args[2].memory_format == IG_PRESERVE) {
    ig_fail_text(c, IG_RUNTIME, "Unsupported memory format Preserve");
    return;
  }
  ig_meta_format(c, m,
                 args[2].kind == IG_KIND_MEMORY_FORMAT ? args[2].memory_format : IG_CONTIGUOUS);
}

static void resize_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  (void)outs;
  ig_tensor *self = args[0].tensor;
  ig_meta m;
  if (self->requires_grad) {
    ig_fail_text(c, IG_RUNTIME, "cannot resize variables that require grad");
    return;
  }
  resize_meta(c, args, &m);
  if (c->status != IG_OK) return;
  int64_t bytes = 0;
  if (!ig_geometry_admit(c, &m, NULL, ig_is_fake(self), &bytes)) return;
  if (ig_storage_reserve(c, self->storage, (size_t)bytes)) {
    (void)ig_tensor_reshape_inplace(c, self, &m);
  }
}

static void resize_fake(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  (void)outs;
  ig_meta m;
  resize_meta(c, args, &m);
  if (c->status == IG_OK) (void)ig_tensor_reshape_inplace(c, args[0].tensor, &m);
}

// The first elements of the memory of self; those beyond it are zero.
static void resized_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  resize_meta(c, args, out);
  out->offset = ig_const(0);
  out->strided = true;
}
static void resized_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  ig_scope scope = ig_scope_open(c);
  ig_tensor *dense = ig_clone(c, args[0].tensor);
  ig_tensor *out = outs[0].tensor;
  if (dense) {
    size_t size = ig_dtype_size(out->dtype);
    size_t to = (size_t)ig_tensor_numel(out) * size;
    size_t from = (size_t)ig_tensor_numel(dense) * size;
    if (to) memset(ig_tensor_data(out), 0, to);
    if (to && from) memcpy(ig_tensor_data(out), ig_tensor_data(dense), to < from ? to : from);
  }
  ig_scope_close(c, scope);
}

// self, the_template, memory_format as arguments of resize.
static void as_resize(const ig_value *args, ig_value *resize) {
  bool given = args[2].kind == IG_KIND_MEMORY_FORMAT;
  resize[0] = args[0];
  resize[1] = ig_sizes_of(args[1].tensor);
  resize[2] = given ? args[2] : ig_of_memory_format(IG_CONTIGUOUS);
}
static ig_tensor *resize_as_decompose(ig_ctx *c, const ig_value *args) {
  ig_value resize[3];
  as_resize(args, resize);
  return ig_resize_with(c, resize[0].tensor, resize[1], resize[2]);
}
static void resize_as_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  ig_value resize[3];
  as_resize(args, resize);
  resize_kernel(c, op, resize, outs);
}
static void resize_as_fake(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  ig_value resize[3];
  as_resize(args, resize);
  resize_fake(c, op, resize, outs);
}

IG_OP(clone) = {
    .schema = "aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
    .quantized = IG_QUANT_SAME,
    .shape = clone_shape,
    .kernel = copy_self_kernel,
    .takes_no_memory = true,
    .vjp = clone_vjp,
    .keep = "",
    .samples = "f32[3,5] | f32[4,2].T | f32[2,3,4,5].cl | f32[2,4].s2 | f32[] | f32[0,3] | bool[3]",
};

IG_OP(_to_copy) = {
    .schema =
        "aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? "
        "device=None, bool? pin_memory=None, bool non_blocking=False, MemoryFormat? "
        "memory_format=None) -> Tensor",
    .on_quantized = ig_quant_to_copy,
    .numbers_to_tensor = true,
    .shape = to_copy_shape,
    .kernel = copy_self_kernel,
    .takes_no_memory = true,
    .vjp = to_copy_vjp,
    .keep = "",
    .samples =
        "f32[3,5] | f32[4,2].T, dtype=f64 | f32[3,5], dtype=f16 | f32[3,5], dtype=bf16 | i64[3], "
        "dtype=f32 | f32[4], dtype=i32 | f32[4], dtype=bool | f32[2], dtype=c64 | bool[3], "
        "dtype=i64 | f32[2,4].s2, dtype=f64",
};

IG_OP(to_dtype) = {
    .schema =
        "aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool "
        "copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
    .numbers_to_tensor = true,
    .converts = true,
    .decompose = to_dtype_decompose,
    .samples = "f32[3], f64 | f32[3], f32 | f32[3], f32, False, True | i64[3], bool",
};

IG_OP(to_device) = {
    .schema =
        "aten::to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, "
        "bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
    .numbers_to_tensor = true,
    .converts = true,
    .decompose = to_device_decompose,
    .samples = "f32[3], 'cpu', f64 | f32[3], 'cpu', f32",
};

IG_OP(to_dtype_layout) = {
    .schema =
        "aten::to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, "
        "Device? device=None, bool? pin_memory=None, bool non_blocking=False, bool copy=False, "
        "MemoryFormat? memory_format=None) -> Tensor(a)",
    .numbers_to_tensor = true,
    .converts = true,
    .decompose = to_dtype_layout_decompose,
    .samples = "f32[3] | f32[3], dtype=f64 | f32[3], device='cpu', copy=True",
};

IG_OP(to_other) = {
    .schema =
        "aten::to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, "
        "MemoryFormat? memory_format=None) -> Tensor(a)",
    .numbers_to_tensor = true,
    .converts = true,
    .decompose = to_other_decompose,
    .samples = "f32[3], f64[1] | f32[3], f32[2]",
};

IG_OP(copy) = {
    .schema = "aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor",
    .inplace_quantized = ig_quant_copy_into,
    .numbers_to_tensor = true,
    .shape = copy_shape,
    .kernel = copy_kernel,
    .takes_no_memory = true,
    .vjp = copy_vjp,
    .inplace_history = "CopyBackwards",
    .keep = "",
    .alias_out = true,
    .samples =
        "f32[3,5], f32[3,5] | f32[3,5], f32[5] | f32[4,2].T, f32[2,1] | f32[3], i64[3] | f32[2], "
        "f32[]",
};

IG_OP(fill_scalar) = {
    .schema = "aten::fill.Scalar(Tensor self, Scalar value) -> Tensor",
    .quantized = IG_QUANT_FLOAT,
    .shape = ig_shape_like,
    .kernel = fill_kernel,
    .takes_no_memory = true,
    .decompose = fill_decompose,
    .vjp = fill_vjp,
    .keep = "",
    .alias_out = true,
    .samples = "f32[3,5], 1.5 | f32[4,2].T, 2 | i64[3], 7 | bool[2], True | c64[2], 1+2j",
};

IG_OP(fill_tensor) = {
    .schema = "aten::fill.Tensor(Tensor self, Tensor value) -> Tensor",
    .quantized = IG_QUANT_FLOAT,
    .shape = fill_tensor_shape,
    .kernel = fill_kernel,
    .takes_no_memory = true,
    .decompose = fill_tensor_decompose,
    .vjp = fill_tensor_vjp,
    .keep = "",
    .alias_out = true,
    .samples = "f32[3,5], f32[] | f32[4,2].T, i64[]",
};

IG_OP(zero) = {
    .schema = "aten::zero(Tensor self) -> Tensor",
    .shape = ig_shape_like,
    .kernel = fill_kernel,
    .takes_no_memory = true,
    .decompose = zero_decompose,
    .vjp = fill_vjp,
    .keep = "",
    .alias_out = true,
    .samples = "f32[3,5] | f32[4,2].T | i64[3]",
};

IG_OP(repeat) = {
    .schema = "aten::repeat(Tensor self, SymInt[] repeats) -> Tensor",
    .quantized = IG_QUANT_SAME,
    .shape = repeat_shape,
    .kernel = repeat_kernel,
    .takes_no_memory = true,
    .vjp = repeat_vjp,
    .keep = "",
    .samples = "f32[2,3], [2,2] | f32[3], [2,1,2] | f32[], [3] | f32[4,2].T, [1,3] | f32[2], [0]",
};

IG_OP(resize_) = {
    .schema =
        "aten::resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None) -> "
        "Tensor(a!)",
    .quantized = IG_QUANT_OWN,
    .resizes = true,
    .functional = "aten::resize",
    .kernel = resize_kernel,
    .fake = resize_fake,
    .random = true,
    .samples = "f32[2,3], [3,2] | f32[2,3], [2] | f32[2,3], [3,4]",
    .not_differentiable = true,  // refused for tensors that require grad
};

IG_OP(resize) = {
    .schema =
        "aten::resize(Tensor self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor",
    .shape = resized_shape,
    .kernel = resized_kernel,
    .samples = "f32[2,3], [3,2] | f32[2,3], [2] | f32[3,2].T, [4]",
    .waive =
        "strided: it shows memory; size 2=0: what is new has any value; size 3=0: what is new has "
        "any value; 0-d: what is new has any value",
};

IG_OP(resize_as) = {
    .schema =
        "aten::resize_as(Tensor self, Tensor the_template, *, MemoryFormat? memory_format=None) -> "
        "Tensor",
    .decompose = resize_as_decompose,
    .samples = "f32[2,3], f32[3,2] | f32[2,3], f32[2]",
};

IG_OP(resize_as_) = {
    .schema =
        "aten::resize_as_(Tensor(a!) self, Tensor the_template, *, MemoryFormat? "
        "memory_format=None) -> Tensor(a!)",
    .resizes = true,
    .functional = "aten::resize_as",
    .kernel = resize_as_kernel,
    .fake = resize_as_fake,
    .random = true,
    .samples = "f32[2,3], f32[3,2] | f32[2,3], f32[2] | f32[2,3], f32[3,4]",
    .not_differentiable = true,  // refused for tensors that require grad
};

IG_OP(_conj_physical) = {
    .schema = "aten::_conj_physical(Tensor self) -> Tensor",
    .shape = ig_shape_pointwise,
    .tile = {[IG_C64] = conj_c64, [IG_C128] = conj_c128},
    .vjp = conj_vjp,
    .keep = "",
    .samples = "c64[3] | c128[2,2].T",
};

IG_OP(conj_physical) = {
    .schema = "aten::conj_physical(Tensor self) -> Tensor",
    .may_alias = true,
    .decompose = conj_physical_decompose,
    .samples = "f32[3] | c64[3] | c128[2,2].T",
};
