// SPDX-License-Identifier: Apache-2.0
// Tensors from sizes alone: empty, full and their _like and new_ forms. Options are read by
// ig_meta_options; devices without memory give fake results.
#include "op/formula.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "op/strides.h"

// The dtype of a number if none is given.
static ig_dtype dtype_of_number(const ig_ctx *c, const ig_value *v) {
  ig_dtype f = ig_ctx_default_dtype(c);
  switch (v->kind) {
    case IG_KIND_BOOL:
      return IG_BOOL;
    case IG_KIND_INT:
      return IG_I64;
    case IG_KIND_COMPLEX:
      return f == IG_F64 ? IG_C128 : IG_C64;
    default:
      return f;
  }
}

static void nothing_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)c;
  (void)op;
  (void)args;
  (void)outs;
}

static void zeros_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)c;
  (void)op;
  (void)args;
  ig_tensor_zero(outs[0].tensor);
}

static void ones_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)c;
  (void)op;
  (void)args;
  ig_value one = ig_of_i64(1);
  ig_tensor_fill(outs[0].tensor, &one);
}

// .variant of the record is the position of the number.
static void full_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  const ig_value *number = &args[op->def->variant];
  if (ig_check_number(c, number, outs[0].tensor->dtype)) ig_tensor_fill(outs[0].tensor, number);
}

static void empty_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  ig_meta_options(c, args, 1, ig_ctx_default_dtype(c), out);
  ig_meta_sizes(c, &args[0], out);
  if (args[5].kind != IG_KIND_MEMORY_FORMAT || c->status != IG_OK) return;
  if (args[5].memory_format == IG_PRESERVE) {
    ig_fail_text(c, IG_RUNTIME, "unsupported memory format Preserve");
    return;
  }
  ig_meta_format(c, out, args[5].memory_format);
  out->strided = true;
}

static void sizes_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  for (size_t i = 0; i < args[0].ints.n && op->def->kernel == zeros_kernel; i++) {
    if (ig_use_as_size(c, args[0].ints.at[i]) || c->status != IG_OK) continue;
    ig_fail_text(c, IG_RUNTIME, "zeros: Dimension size must be non-negative.");
    return;
  }
  ig_meta_options(c, args, 1, ig_ctx_default_dtype(c), out);
  ig_meta_sizes(c, &args[0], out);
}

static void full_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  ig_meta_options(c, args, 2, dtype_of_number(c, &args[1]), out);
  ig_meta_sizes(c, &args[0], out);
}

static void scalar_tensor_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  ig_meta_options(c, args, 1, ig_ctx_default_dtype(c), out);
}

static void set_strides(ig_ctx *c, const ig_value *stride, ig_meta *out) {
  if (c->status != IG_OK) return;
  if (stride->ints.n != (size_t)out->ndim) {
    ig_fail_text(c, IG_RUNTIME,
                 "dimensionality of sizes (%d) must match dimensionality of strides (%zu)",
                 out->ndim, stride->ints.n);
    return;
  }
  out->strided = true;
  for (int d = 0; d < out->ndim; d++) {
    out->stride[d] = stride->ints.at[d];
    if (!ig_int_is(c, out->stride[d], IG_LT, ig_const(0))) continue;
    ig_fail_text(c, IG_RUNTIME, "Storage size calculation overflowed with sizes=%s and strides=%s",
                 ig_sizes_text(c, out->size, (size_t)out->ndim),
                 ig_sizes_text(c, stride->ints.at, stride->ints.n));
  }
}

static void empty_strided_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  ig_meta_options(c, args, 2, ig_ctx_default_dtype(c), out);
  ig_meta_sizes(c, &args[0], out);
  set_strides(c, &args[1], out);
}

static void new_empty_strided_shape(ig_ctx *c, const ig_op *op, const ig_value *args,
                                    ig_meta *out) {
  (void)op;
  ig_meta_options(c, args, 3, args[0].tensor->dtype, out);
  ig_meta_sizes(c, &args[1], out);
  set_strides(c, &args[2], out);
}

// physical_layout lists the dimensions from the outermost in memory to the innermost.
static void empty_permuted_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  bool seen[IG_MAX_DIM] = {false};
  ig_meta_options(c, args, 2, ig_ctx_default_dtype(c), out);
  ig_meta_sizes(c, &args[0], out);
  if (c->status != IG_OK) return;
  if (args[1].ints.n != (size_t)out->ndim) {
    ig_fail_text(c, IG_RUNTIME,
                 "Number of dimensions in size does not match the length of the physical_layout; "
                 "i.e. len(size) = %d is not equal to len(physical_layout) = %zu",
                 out->ndim, args[1].ints.n);
    return;
  }
  ig_int step = ig_const(1);
  out->strided = true;
  for (int k = out->ndim - 1; k >= 0; k--) {
    int64_t d = ig_int_specialize(c, args[1].ints.at[k]);
    if (d < 0 || d >= out->ndim) {
      ig_fail_text(c, IG_RUNTIME,
                   "Dimension out of range (expected to be between 0 and %d, but got %lld at index "
                   "%d).  NB: negative dims not currently supported; file an issue if you want it.",
                   out->ndim - 1, (long long)d, k);
      return;
    }
    if (seen[d]) {
      ig_fail_text(c, IG_RUNTIME, "Duplicate dim not allowed");
      return;
    }
    seen[d] = true;
    out->stride[d] = step;
    bool empty = !out->size[d].expr && out->size[d].value == 0;  // concrete: constants only
    if (!empty) step = ig_int_mul(c, step, out->size[d]);
  }
}

// empty_like, zeros_like, ones_like: options at 1, memory format at 5.
static void like_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  size_t at = op->schema.nargs - 5;
  ig_meta_options(c, args, at, args[0].tensor->dtype, out);
  if (c->status == IG_OK) ig_meta_copy_of(c, args[0].tensor, &args[at + 4], out);
}

// new_empty, new_zeros, new_ones, new_full: sizes at 1, options last.
static void new_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  ig_meta_options(c, args, op->schema.nargs - 4, args[0].tensor->dtype, out);
  ig_meta_sizes(c, &args[1], out);
}

// What PyTorch's decompositions write out: every option.
typedef struct options {
  ig_value dtype;
  ig_value layout;
  ig_value device;
  ig_value pin;
} options;

static options options_of(const ig_value *args, ig_dtype dtype, ig_device device) {
  ig_value strided = {.kind = IG_KIND_LAYOUT, .layout = IG_STRIDED};
  return (options){
      args[0].kind == IG_KIND_DTYPE ? args[0] : ig_of_dtype(dtype),
      args[1].kind == IG_KIND_LAYOUT ? args[1] : strided,
      args[2].kind == IG_KIND_DEVICE ? args[2] : ig_of_device(device),
      args[3].kind == IG_KIND_BOOL ? args[3] : ig_of_bool(false),
  };
}

// 0 and 1 as numbers of the dtype: False and True for bool.
static ig_value filling(ig_value number, ig_value dtype) {
  bool truth = dtype.kind == IG_KIND_DTYPE && dtype.dtype == IG_BOOL && number.kind == IG_KIND_INT;
  return truth ? ig_of_bool(number.i.value != 0) : number;  // concrete: 0 or 1
}

static ig_tensor *full_of(ig_ctx *c, ig_value size, ig_value number, options o) {
  number = filling(number, o.dtype);
  return ig_full_with(c, size, number, o.dtype, o.layout, o.device, o.pin);
}

static ig_tensor *zeros_decompose(ig_ctx *c, const ig_value *args) {
  options o = options_of(args + 1, ig_ctx_default_dtype(c), ig_device_cpu());
  return full_of(c, args[0], ig_of_i64(0), o);
}

static ig_tensor *ones_decompose(ig_ctx *c, const ig_value *args) {
  options o = options_of(args + 1, ig_ctx_default_dtype(c), ig_device_cpu());
  return full_of(c, args[0], ig_of_i64(1), o);
}

static ig_tensor *new_number(ig_ctx *c, const ig_value *args, size_t at, ig_value number) {
  options o = options_of(args + at, args[0].tensor->dtype, args[0].tensor->device);
  return full_of(c, args[1], number, o);
}

static ig_tensor *new_full_decompose(ig_ctx *c, const ig_value *args) {
  return new_number(c, args, 3, args[2]);
}

static ig_tensor *new_zeros_decompose(ig_ctx *c, const ig_value *args) {
  return new_number(c, args, 2, ig_of_i64(0));
}

static ig_tensor *new_ones_decompose(ig_ctx *c, const ig_value *args) {
  return new_number(c, args, 2, ig_of_i64(1));
}

static ig_tensor *new_empty_decompose(ig_ctx *c, const ig_value *args) {
  options o = options_of(args + 2, args[0].tensor->dtype, args[0].tensor->device);
  return ig_empty_memory_format_with(c, args[1], o.dtype, o.layout, o.device, o.pin, ig_none());
}

static ig_tensor *like_number(ig_ctx *c, const ig_value *args, ig_value number) {
  number =
      filling(number, args[1].kind == IG_KIND_DTYPE ? args[1] : ig_of_dtype(args[0].tensor->dtype));
  ig_value pin = args[4].kind == IG_KIND_BOOL ? args[4] : ig_of_bool(false);
  ig_value format =
      args[5].kind == IG_KIND_MEMORY_FORMAT ? args[5] : ig_of_memory_format(IG_PRESERVE);
  return ig_full_like_with(c, args[0].tensor, number, args[1], args[2], args[3], pin, format);
}

static ig_tensor *zeros_like_decompose(ig_ctx *c, const ig_value *args) {
  return like_number(c, args, ig_of_i64(0));
}

static ig_tensor *ones_like_decompose(ig_ctx *c, const ig_value *args) {
  return like_number(c, args, ig_of_i64(1));
}

// A memory format is passed on; otherwise the dimension order in memory is recorded.
static ig_tensor *empty_like_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *self = args[0].tensor;
  options o = options_of(args + 1, self->dtype, self->device);
  bool keeps = args[5].kind != IG_KIND_MEMORY_FORMAT || args[5].memory_format == IG_PRESERVE;
  if (!keeps) {
    return ig_empty_memory_format_with(c, ig_sizes_of(self), o.dtype, o.layout, o.device, o.pin,
                                       args[5]);
  }
  ig_meta m;
  ig_int order[IG_MAX_DIM];
  ig_meta_init(&m, self->dtype, self->device);
  ig_meta_copy_of(c, self, &args[5], &m);
  for (int d = 0; d < m.ndim; d++) {
    int at = d;
    // concrete: the order in memory is decided by hints
    for (; at > 0 && m.stride[order[at - 1].value].value < m.stride[d].value; at--) {
      order[at] = order[at - 1];
    }
    order[at] = ig_const(d);
  }
  return ig_empty_permuted_with(c, ig_sizes_of(self), ig_of_ints(order, (size_t)m.ndim), o.dtype,
                                o.layout, o.device, o.pin);
}

IG_OP(empty_memory_format) = {
    .schema =
        "aten::empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
        "Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
    .shape = empty_shape,
    .kernel = nothing_kernel,
    .takes_no_memory = true,
    .random = true,
    .samples = "[2,3] | [] | [0,2] | [2,3], dtype=i64 | [2], device='meta'",
    .not_differentiable = true,  // a constant
};

IG_OP(empty_strided) = {
    .schema =
        "aten::empty_strided(SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, Layout? "
        "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    .shape = empty_strided_shape,
    .kernel = nothing_kernel,
    .takes_no_memory = true,
    .random = true,
    .samples = "[2,3], [1,2] | [], [] | [2,3], [6,2], dtype=f64",
    .not_differentiable = true,  // a constant
};

IG_OP(empty_permuted) = {
    .schema =
        "aten::empty_permuted(SymInt[] size, int[] physical_layout, *, ScalarType? dtype=None, "
        "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    .shape = empty_permuted_shape,
    .kernel = nothing_kernel,
    .takes_no_memory = true,
    .random = true,
    .samples = "[2,3,4], [2,0,1] | [], [] | [2,3], [0,1], dtype=f64",
    .not_differentiable = true,  // a constant
};

IG_OP(empty_like) = {
    .schema =
        "aten::empty_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? "
        "device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
    .quantized = IG_QUANT_SAME,
    .shape = like_shape,
    .kernel = nothing_kernel,
    .takes_no_memory = true,
    .decompose = empty_like_decompose,
    .random = true,
    .samples = "f32[2,3] | f32[4,2].T | f32[2,3,4,5].cl | f32[2,4].s2 | i64[3], dtype=f32",
    .not_differentiable = true,  // a constant
};

IG_OP(new_empty) = {
    .schema =
        "aten::new_empty(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? "
        "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    .shape = new_shape,
    .kernel = nothing_kernel,
    .takes_no_memory = true,
    .decompose = new_empty_decompose,
    .random = true,
    .samples = "f32[2,3], [4] | i64[2], [2,2], dtype=f32",
    .not_differentiable = true,  // a constant
};

IG_OP(new_empty_strided) = {
    .schema =
        "aten::new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, *, ScalarType? "
        "dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    .shape = new_empty_strided_shape,
    .kernel = nothing_kernel,
    .takes_no_memory = true,
    .random = true,
    .samples = "f32[2,3], [4,2], [1,4]",
    .not_differentiable = true,  // a constant
};

IG_OP(full) = {
    .schema =
        "aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? "
        "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    .shape = full_shape,
    .kernel = full_kernel,
    .takes_no_memory = true,
    .variant = 1,
    .samples =
        "[2,3], 1.5 | [], 2 | [0], True | [2], 1+2j | [3], 7, dtype=f16 | [2,2], 1, dtype=bool",
    .not_differentiable = true,  // a constant
};

IG_OP(zeros) = {
    .schema =
        "aten::zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? "
        "device=None, bool? pin_memory=None) -> Tensor",
    .shape = sizes_shape,
    .kernel = zeros_kernel,
    .takes_no_memory = true,
    .decompose = zeros_decompose,
    .samples = "[2,3] | [] | [0] | [3], dtype=bool",
    .not_differentiable = true,  // a constant
};

IG_OP(ones) = {
    .schema =
        "aten::ones(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? "
        "device=None, bool? pin_memory=None) -> Tensor",
    .shape = sizes_shape,
    .kernel = ones_kernel,
    .takes_no_memory = true,
    .decompose = ones_decompose,
    .samples = "[2,3] | [] | [0] | [3], dtype=bool | [2], dtype=c64",
    .not_differentiable = true,  // a constant
};

IG_OP(scalar_tensor) = {
    .schema =
        "aten::scalar_tensor(Scalar s, *, ScalarType? dtype=None, Layout? layout=None, Device? "
        "device=None, bool? pin_memory=None) -> Tensor",
    .shape = scalar_tensor_shape,
    .kernel = full_kernel,
    .takes_no_memory = true,
    .variant = 0,
    .samples = "2 | 1.5 | True, dtype=bool | 3, dtype=i64",
    .not_differentiable = true,  // a constant
};

IG_OP(full_like) = {
    .schema =
        "aten::full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, Layout? "
        "layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? "
        "memory_format=None) -> Tensor",
    .shape = like_shape,
    .kernel = full_kernel,
    .takes_no_memory = true,
    .variant = 1,
    .samples =
        "f32[2,3], 1.5 | f32[4,2].T, 2 | i64[3], 2 | f32[2,4].s2, 1 | i64[2], 2.5, dtype=f32",
    .not_differentiable = true,  // a constant
};

IG_OP(zeros_like) = {
    .schema =
        "aten::zeros_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? "
        "device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
    .shape = like_shape,
    .kernel = zeros_kernel,
    .takes_no_memory = true,
    .decompose = zeros_like_decompose,
    .samples = "f32[2,3] | f32[4,2].T | i64[3], dtype=f32 | f32[2,4].s2 | f32[]",
    .not_differentiable = true,  // a constant
};

IG_OP(ones_like) = {
    .schema =
        "aten::ones_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? "
        "device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
    .quantized = IG_QUANT_FLOAT,
    .shape = like_shape,
    .kernel = ones_kernel,
    .takes_no_memory = true,
    .decompose = ones_like_decompose,
    .samples = "f32[2,3] | f32[4,2].T | i64[3], dtype=f32 | f32[2,4].s2 | f32[]",
    .not_differentiable = true,  // a constant
};

IG_OP(new_full) = {
    .schema =
        "aten::new_full(Tensor self, SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, "
        "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    .shape = new_shape,
    .kernel = full_kernel,
    .takes_no_memory = true,
    .decompose = new_full_decompose,
    .variant = 2,
    .samples = "f32[2,3], [4], 1.5 | i64[2], [2,2], 3",
    .not_differentiable = true,  // a constant
};

IG_OP(new_zeros) = {
    .schema =
        "aten::new_zeros(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? "
        "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    .shape = new_shape,
    .kernel = zeros_kernel,
    .takes_no_memory = true,
    .decompose = new_zeros_decompose,
    .samples = "f32[2,3], [4] | i64[2], [2,2], dtype=f32",
    .not_differentiable = true,  // a constant
};

IG_OP(new_ones) = {
    .schema =
        "aten::new_ones(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? "
        "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    .shape = new_shape,
    .kernel = ones_kernel,
    .takes_no_memory = true,
    .decompose = new_ones_decompose,
    .samples = "f32[2,3], [4] | i64[2], [2,2], dtype=f32",
    .not_differentiable = true,  // a constant
};
