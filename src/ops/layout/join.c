// SPDX-License-Identifier: Apache-2.0
// Several tensors into one: cat, stack, padding.
#include <string.h>

#include "op/formula.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "op/strides.h"
#include "ops/quant.h"
#include "tensor/copy.h"

// An empty vector joins anything and adds nothing (an old habit of PyTorch that programs rely on).
static bool is_skipped(const ig_tensor *t) {
  // concrete: only a vector that is known to be empty
  return t->ndim == 1 && !ig_sizes(t)[0].expr && ig_sizes(t)[0].value == 0;
}

static const ig_tensor *first_joined(const ig_value *list) {
  for (size_t i = 0; i < list->list.n; i++) {
    if (!is_skipped(list->list.at[i].tensor)) return list->list.at[i].tensor;
  }
  return list->list.n ? list->list.at[0].tensor : NULL;
}

static bool check_list(ig_ctx *c, const ig_value *list, const char *what) {
  for (size_t i = 0; i < list->list.n; i++) {
    if (list->list.at[i].kind == IG_KIND_TENSOR) continue;
    ig_fail_text(c, IG_BAD_TYPE, "%s: element %zu of the list is not a Tensor", what, i);
    return false;
  }
  return true;
}

static void check_joined(ig_ctx *c, const ig_meta *out, const ig_tensor *t, int dim, size_t at) {
  if (t->ndim != out->ndim) {
    if (ig_is_fake(t)) {
      ig_fail_text(c, IG_RUNTIME,
                   "Number of dimensions of tensors must match.  Expected %d-D tensors, but got "
                   "%d-D for tensor number %zu in the list",
                   out->ndim, t->ndim, at);
    } else {
      ig_fail_text(c, IG_RUNTIME, "Tensors must have same number of dimensions: got %d and %d",
                   out->ndim, t->ndim);
    }
    return;
  }
  for (int d = 0; d < out->ndim; d++) {
    if (d == dim || ig_int_eq(c, out->size[d], ig_sizes(t)[d])) continue;
    if (c->status != IG_OK) return;
    ig_fail_text(c, IG_RUNTIME,
                 ig_is_fake(t) ? "Sizes of tensors must match except in dimension %d. Expected %s "
                                 "but got %s for tensor number %zu in the list"
                               : "Sizes of tensors must match except in dimension %d. Expected "
                                 "size %s but got size %s for tensor number %zu in the list.",
                 dim, ig_int_text(c, out->size[d]), ig_int_text(c, ig_sizes(t)[d]), at);
    return;
  }
}

// Channels last when all operands lie so.
static void cat_format(ig_ctx *c, const ig_value *list, ig_meta *out) {
  ig_memory_format format = IG_CONTIGUOUS;
  for (size_t i = 0; i < list->list.n; i++) {
    const ig_tensor *t = list->list.at[i].tensor;
    ig_memory_format own = ig_tensor_suggest_format(c, t);
    if (own == IG_CONTIGUOUS || (i > 0 && own != format)) return;
    format = own;
  }
  ig_meta_format(c, out, format);
  out->strided = true;
}

static void cat_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  const ig_value *list = &args[0];
  if (list->list.n == 0) {
    ig_fail_text(c, IG_INVALID, "torch.cat(): expected a non-empty list of Tensors");
    return;
  }
  if (!check_list(c, list, "torch.cat()")) return;
  for (size_t i = 0; i < list->list.n; i++) {
    if (list->list.at[i].tensor->ndim) continue;
    ig_fail_text(c, IG_RUNTIME, "zero-dimensional tensor (at position %zu) cannot be concatenated",
                 i);
    return;
  }
  const ig_tensor *first = first_joined(list);
  int dim = ig_wrap_dim(c, ig_value_i64(c, &args[1]), first->ndim);
  for (int d = 0; d < first->ndim; d++) ig_meta_push_dim(c, out, ig_sizes(first)[d]);
  if (c->status != IG_OK) return;
  ig_int total = ig_const(0);
  for (size_t i = 0; i < list->list.n && c->status == IG_OK; i++) {
    const ig_tensor *t = list->list.at[i].tensor;
    if (is_skipped(t)) continue;
    check_joined(c, out, t, dim, i);
    if (c->status == IG_OK) total = ig_int_add(c, total, ig_sizes(t)[dim]);
  }
  if (c->status != IG_OK) return;
  out->size[dim] = is_skipped(first) ? ig_const(0) : total;
  out->dtype = ig_promote(c, list->list.at, list->list.n);
  cat_format(c, list, out);
}

// A region of a tensor: sizes, strides, and the elements before it.
typedef struct region {
  int ndim;
  int64_t size[IG_MAX_DIM];
  int64_t stride[IG_MAX_DIM];
  int64_t offset;
} region;

static void region_of(const ig_tensor *t, region *b) {
  b->ndim = t->ndim;
  b->offset = 0;
  for (int d = 0; d < t->ndim; d++) {
    b->size[d] = ig_sizes(t)[d].value;
    b->stride[d] = ig_strides(t)[d].value;
  }
}

// Regions of the same sizes.
static void copy_region(const ig_tensor *out, const region *to, const ig_tensor *t,
                        const region *from) {
  for (int d = 0; d < to->ndim; d++) {
    if (to->size[d] == 0) return;
  }
  char *there = (char *)ig_tensor_data(out) + to->offset * (int64_t)ig_dtype_size(out->dtype);
  char *here = (char *)ig_tensor_data(t) + from->offset * (int64_t)ig_dtype_size(t->dtype);
  ig_strided_copy(to->ndim, to->size, (ig_strided){there, out->dtype, to->stride},
                  (ig_strided){here, t->dtype, from->stride});
}

static void cat_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  ig_tensor *out = outs[0].tensor;
  int dim = ig_wrap_dim(c, ig_value_i64(c, &args[1]), out->ndim);
  region to;
  region from;
  region_of(out, &to);
  for (size_t i = 0; i < args[0].list.n; i++) {
    const ig_tensor *t = args[0].list.at[i].tensor;
    if (is_skipped(t)) continue;
    region_of(t, &from);
    to.size[dim] = from.size[dim];
    copy_region(out, &to, t, &from);
    to.offset += from.size[dim] * to.stride[dim];
  }
}

static void cat_vjp(ig_ctx *c, const ig_vjp *v) {
  const ig_value *list = &v->args[0];
  int dim = ig_wrap_dim(c, ig_value_i64(c, &v->args[1]), v->grad ? v->grad->ndim : 1);
  ig_int start = ig_const(0);
  for (size_t i = 0; i < list->list.n && c->status == IG_OK; i++) {
    const ig_tensor *t = list->list.at[i].tensor;
    if (is_skipped(t)) {
      IG_GRAD_AT(v, 0, i) = ig_zeros_of(c, t);
      continue;
    }
    ig_int end = ig_int_add(c, start, ig_sizes(t)[dim]);
    if (v->wanted[v->at[0] + i]) {
      ig_tensor *g = ig_slice_tensor_with(c, v->grad, ig_const(dim), ig_of_int(start),
                                          ig_of_int(end), ig_const(1));
      IG_GRAD_AT(v, 0, i) = ig_cast(c, g, t->dtype);
    }
    start = end;
  }
}

static ig_tensor *concat_decompose(ig_ctx *c, const ig_value *args) {
  return ig_cat_with(c, args[0], args[1].i);
}

static void stack_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  const ig_value *list = &args[0];
  if (list->list.n == 0) {
    ig_fail_text(c, IG_RUNTIME, "stack expects a non-empty TensorList");
    return;
  }
  if (!check_list(c, list, "torch.stack()")) return;
  const ig_tensor *first = list->list.at[0].tensor;
  int dim = ig_wrap_dim(c, ig_value_i64(c, &args[1]), first->ndim + 1);
  for (size_t i = 1; i < list->list.n && c->status == IG_OK; i++) {
    const ig_tensor *t = list->list.at[i].tensor;
    bool same = t->ndim == first->ndim;
    for (int d = 0; d < first->ndim && same; d++) {
      same = ig_int_eq(c, ig_sizes(first)[d], ig_sizes(t)[d]);
    }
    if (same || c->status != IG_OK) continue;
    bool fake = ig_is_fake(t);
    ig_fail_text(c, fake ? IG_ASSERTION : IG_RUNTIME,
                 fake ? "stack expects each tensor to be equal size, but got torch.Size(%s) at "
                        "entry 0 and torch.Size(%s) at entry %zu"
                      : "stack expects each tensor to be equal size, but got %s at entry 0 and %s "
                        "at entry %zu",
                 ig_sizes_text(c, ig_sizes(first), (size_t)first->ndim),
                 ig_sizes_text(c, ig_sizes(t), (size_t)t->ndim), i);
  }
  for (int d = 0; d <= first->ndim && c->status == IG_OK; d++) {
    if (d == dim) {
      ig_meta_push_dim(c, out, ig_const((int64_t)list->list.n));
      continue;
    }
    ig_int size = ig_sizes(first)[d < dim ? d : d - 1];
    if (d == dim + 1) size.origin = NULL;  // what is left of the joined dimension, cut again
    ig_meta_push_dim(c, out, size);
  }
  out->dtype = ig_promote(c, list->list.at, list->list.n);
}

static void stack_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  ig_tensor *out = outs[0].tensor;
  int dim = ig_wrap_dim(c, ig_value_i64(c, &args[1]), out->ndim);
  region to;
  region from;
  region_of(out, &to);
  int64_t step = to.stride[dim];
  to.ndim--;
  for (int d = dim; d < to.ndim; d++) {
    to.size[d] = to.size[d + 1];
    to.stride[d] = to.stride[d + 1];
  }
  for (size_t i = 0; i < args[0].list.n; i++, to.offset += step) {
    const ig_tensor *t = args[0].list.at[i].tensor;
    region_of(t, &from);
    copy_region(out, &to, t, &from);
  }
}

// Joined along an existing dimension, which is then cut in two; a new last dimension is made first.
static ig_tensor *stack_decompose(ig_ctx *c, const ig_value *args) {
  size_t n = args[0].list.n;
  if (n == 0) return NULL;
  const ig_tensor *first = args[0].list.at[0].tensor;
  int dim = ig_wrap_dim(c, ig_value_i64(c, &args[1]), first->ndim + 1);
  if (c->status != IG_OK) return NULL;
  if (dim == first->ndim) {
    ig_value *list = ig_scope_array(c, n, sizeof *list);
    for (size_t i = 0; list && i < n; i++) {
      list[i] = ig_of_tensor(ig_unsqueeze(c, args[0].list.at[i].tensor, ig_const(dim)));
    }
    return list ? ig_cat_with(c, ig_of_list(list, n), args[1].i) : NULL;
  }
  ig_int sizes[IG_MAX_DIM + 1];
  for (int d = 0; d <= first->ndim; d++) {
    sizes[d] = d == dim ? ig_const((int64_t)n) : ig_sizes(first)[d < dim ? d : d - 1];
  }
  ig_tensor *joined = ig_cat_with(c, args[0], ig_const(dim));
  return ig_view(c, joined, ig_of_ints(sizes, (size_t)first->ndim + 1));
}

static void stack_vjp(ig_ctx *c, const ig_vjp *v) {
  const ig_value *list = &v->args[0];
  for (size_t i = 0; i < list->list.n; i++) {
    if (!v->wanted[v->at[0] + i]) continue;
    ig_tensor *g = ig_select_int(c, v->grad, v->args[1].i, ig_const((int64_t)i));
    IG_GRAD_AT(v, 0, i) = ig_cast(c, g, list->list.at[i].tensor->dtype);
  }
}

// pad lists (before, after) per dimension, the last one first. Negative ones crop.
static ig_int pad_at(const ig_value *pad, int ndim, int d, int side) {
  size_t i = 2 * (size_t)(ndim - 1 - d) + (size_t)side;
  return i < pad->ints.n ? pad->ints.at[i] : ig_const(0);
}

static void pad_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  const ig_tensor *self = args[0].tensor;
  size_t n = args[1].ints.n;
  if (n % 2) {
    ig_fail_text(c, IG_RUNTIME, "Length of pad must be even but instead it equals %zu", n);
    return;
  }
  if (n > 2 * (size_t)self->ndim) {
    ig_fail_text(c, IG_RUNTIME,
                 "Length of pad should be no more than twice the number of dimensions of the "
                 "input. Pad length is %zuwhile the input has %ddimensions.",
                 n, self->ndim);
    return;
  }
  for (int d = 0; d < self->ndim && c->status == IG_OK; d++) {
    ig_int size = ig_sizes(self)[d];
    if (2 * (size_t)(self->ndim - d) > n) {  // beyond the pads
      ig_meta_push_dim(c, out, size);
      continue;
    }
    size = ig_int_add(c, size, pad_at(&args[1], self->ndim, d, 0));
    size = ig_int_add(c, size, pad_at(&args[1], self->ndim, d, 1));
    if (ig_int_is(c, size, IG_LT, ig_const(0))) {
      ig_fail_text(c, IG_RUNTIME, "narrow(): length must be non-negative.");
      return;
    }
    ig_meta_push_dim(c, out, size);
  }
  ig_memory_format format = ig_tensor_suggest_format(c, self);
  if (format == IG_CONTIGUOUS || c->status != IG_OK) return;
  ig_meta_format(c, out, format);
  out->strided = true;
}

// Cuts both sides down to the elements that they share.
static void pad_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  const ig_tensor *self = args[0].tensor;
  ig_tensor *out = outs[0].tensor;
  if (!ig_check_number(c, &args[2], out->dtype)) return;
  ig_tensor_fill(out, &args[2]);
  region to = {0};
  region from = {0};
  region_of(out, &to);
  region_of(self, &from);
  for (int d = 0; d < self->ndim; d++) {
    int64_t before = pad_at(&args[1], self->ndim, d, 0).value;
    int64_t after = pad_at(&args[1], self->ndim, d, 1).value;
    int64_t kept = from.size[d] + (before < 0 ? before : 0) + (after < 0 ? after : 0);
    if (kept <= 0) return;
    if (before < 0) from.offset -= before * from.stride[d];
    if (before > 0) to.offset += before * to.stride[d];
    from.size[d] = to.size[d] = kept;
  }
  copy_region(out, &to, self, &from);
}

static void pad_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_int back[2 * IG_MAX_DIM];
  size_t n = v->args[1].ints.n;
  for (size_t i = 0; i < n; i++) back[i] = ig_int_sub(c, ig_const(0), v->args[1].ints.at[i]);
  IG_GRAD(v, 0) = ig_constant_pad_nd(c, v->grad, ig_of_ints(back, n));
}

typedef enum pad_mode {
  PAD_CONSTANT,
  PAD_REFLECT,
  PAD_REPLICATE,
  PAD_CIRCULAR,
  PAD_MODES
} pad_mode;

static pad_mode pad_mode_of(ig_ctx *c, const char *text) {
  static const char *const names[] = {"constant", "reflect", "replicate", "circular"};
  int m = 0;
  while (m < PAD_MODES && strcmp(names[m], text) != 0) m++;
  if (m == PAD_MODES) {
    ig_fail_text(c, IG_UNSUPPORTED, "Unrecognised padding mode %s", text);
    m = PAD_CONSTANT;
  }
  return (pad_mode)m;
}

// Padding that PyTorch refuses: reflected and repeated pixels must be there.
static bool check_pad(ig_ctx *c, pad_mode mode, ig_int size, ig_int before, ig_int after, int dim) {
  for (int side = 0; side < 2; side++) {
    ig_int pad = side ? after : before;
    bool fits = mode == PAD_REFLECT    ? ig_int_is(c, pad, IG_LT, size)
                : mode == PAD_CIRCULAR ? ig_int_is(c, pad, IG_LE, size)
                                       : true;
    if (c->status != IG_OK) return false;
    if (fits) continue;
    if (mode == PAD_REFLECT) {
      ig_fail_text(c, IG_RUNTIME,
                   "Argument #4: Padding size should be less than the corresponding input "
                   "dimension, but got: padding (%s, %s) at dimension %d of size %s",
                   ig_int_text(c, before), ig_int_text(c, after), dim, ig_int_text(c, size));
    } else {
      ig_fail_text(c, IG_RUNTIME, "Padding value causes wrapping around more than once.");
    }
    return false;
  }
  return true;
}

// Which element of a dimension stands at each place of the padded one.
static ig_tensor *pad_index(ig_ctx *c, pad_mode mode, ig_int size, ig_int before, ig_int after,
                            ig_device device) {
  ig_value start = ig_of_int(ig_int_sub(c, ig_const(0), before));
  ig_value end = ig_of_int(ig_size_add(c, size, after));
  ig_tensor *i = ig_arange_start_with(c, start, end, ig_none(), ig_none(), ig_of_device(device),
                                      ig_of_bool(false));
  ig_value last = ig_of_int(ig_size_sub(c, size, ig_const(1)));
  if (mode == PAD_REPLICATE) return ig_clamp_with(c, i, ig_of_i64(0), last);
  if (mode == PAD_CIRCULAR) return ig_remainder_scalar(c, i, ig_of_int(size));
  i = ig_abs(c, i);  // n-1 - |n-1 - |i||
  i = ig_rsub_scalar(c, i, last);
  i = ig_abs(c, i);
  return ig_rsub_scalar(c, i, last);
}

// Dimensions of `padded` pairs, the outermost first.
static ig_tensor *pad_by_index(ig_ctx *c, pad_mode mode, ig_tensor *x, const ig_value *pad) {
  int padded = (int)(pad->ints.n / 2);
  if (pad->ints.n % 2 != 0 || (x->ndim != padded + 1 && x->ndim != padded + 2)) {
    ig_fail_text(c, IG_RUNTIME, "Expected a %dD or %dD tensor to pad by %zu numbers, but got %dD",
                 padded + 1, padded + 2, pad->ints.n, x->ndim);
    return NULL;
  }
  for (int k = padded - 1; k >= 0 && x; k--) {
    int dim = x->ndim - 1 - k;
    ig_int before = pad->ints.at[2 * k];
    ig_int after = pad->ints.at[2 * k + 1];
    if (!check_pad(c, mode, ig_sizes(x)[dim], before, after, dim)) return NULL;
    ig_value index[IG_MAX_DIM];
    for (int d = 0; d < x->ndim; d++) index[d] = ig_none();
    index[dim] = ig_of_tensor(pad_index(c, mode, ig_sizes(x)[dim], before, after, x->device));
    if (c->status == IG_OK) x = ig_index_tensor(c, x, ig_of_list(index, (size_t)x->ndim));
  }
  return x;
}

static ig_tensor *reflection_pad(ig_ctx *c, const ig_value *args) {
  return pad_by_index(c, PAD_REFLECT, args[0].tensor, &args[1]);
}
static ig_tensor *replication_pad(ig_ctx *c, const ig_value *args) {
  return pad_by_index(c, PAD_REPLICATE, args[0].tensor, &args[1]);
}

static ig_tensor *any_pad_decompose(ig_ctx *c, const ig_value *args) {
  static const unsigned ids[2][3] = {
      {IG_ID_REFLECTION_PAD1D, IG_ID_REFLECTION_PAD2D, IG_ID_REFLECTION_PAD3D},
      {IG_ID_REPLICATION_PAD1D, IG_ID_REPLICATION_PAD2D, IG_ID_REPLICATION_PAD3D},
  };
  pad_mode mode = pad_mode_of(c, args[2].str);
  ig_tensor *x = args[0].tensor;
  size_t n = args[1].ints.n;
  if (c->status != IG_OK) return NULL;
  if (mode == PAD_CONSTANT) {
    ig_value value = args[3].kind == IG_KIND_NONE ? ig_of_f64(0) : args[3];
    return ig_constant_pad_nd_with(c, x, args[1], value);
  }
  int padded = (int)(n / 2);
  if (n % 2 != 0 || padded < 1 || padded > 3 || (x->ndim != padded + 1 && x->ndim != padded + 2)) {
    ig_fail_text(c, IG_UNSUPPORTED,
                 "Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now");
    return NULL;
  }
  if (mode == PAD_CIRCULAR) return pad_by_index(c, mode, x, &args[1]);
  return ig_call_id(c, ids[mode == PAD_REPLICATE][padded - 1], args, 2);
}

// The largest first size of the sequences.
static bool longest_sequence(ig_ctx *c, const ig_value *list, ig_int *longest) {
  *longest = ig_const(0);
  if (!check_list(c, list, "pad_sequence")) return false;
  for (size_t i = 0; i < list->list.n; i++) {
    const ig_tensor *t = list->list.at[i].tensor;
    if (t->ndim == 0) {
      ig_fail_text(c, IG_RUNTIME, "pad_sequence: expected sequences of at least one dimension");
      return false;
    }
    if (ig_int_is(c, *longest, IG_LT, ig_sizes(t)[0])) *longest = ig_sizes(t)[0];
  }
  return true;
}

// Pads every sequence to the longest and stacks them.
static ig_tensor *pad_sequence_decompose(ig_ctx *c, const ig_value *args) {
  const ig_value *list = &args[0];
  const char *side = args[3].str;
  if (list->list.n == 0) {
    ig_fail_text(c, IG_RUNTIME, "received an empty list of sequences");
    return NULL;
  }
  bool left = side[0] == 'l';
  ig_int longest;
  if (!longest_sequence(c, list, &longest)) return NULL;
  ig_value *padded = ig_scope_array(c, list->list.n, sizeof *padded);
  if (!padded) return NULL;
  for (size_t i = 0; i < list->list.n; i++) {
    ig_tensor *t = list->list.at[i].tensor;
    ig_int pad[2 * IG_MAX_DIM];
    size_t n = 2 * (size_t)t->ndim;
    for (size_t k = 0; k < n; k++) pad[k] = ig_const(0);
    pad[n - (left ? 2 : 1)] = ig_int_sub(c, longest, ig_sizes(t)[0]);
    padded[i] = ig_of_tensor(ig_constant_pad_nd_with(c, t, ig_of_ints(pad, n), args[2]));
  }
  return ig_stack_with(c, ig_of_list(padded, list->list.n), ig_const(args[1].b ? 0 : 1));
}

// In programs every sequence is written into a row of a filled tensor.
static ig_tensor *pad_sequence_lower(ig_ctx *c, const ig_value *args) {
  const ig_value *list = &args[0];
  size_t count = list->list.n;
  if (count == 0) return pad_sequence_decompose(c, args);
  ig_tensor *first = list->list.at[0].tensor;
  if (first->ndim == 0 || args[3].str[0] == 'l') return pad_sequence_decompose(c, args);
  ig_int longest;
  if (!longest_sequence(c, list, &longest)) return NULL;
  ig_int sizes[IG_MAX_DIM + 1];
  sizes[args[1].b ? 0 : 1] = ig_const((int64_t)count);
  sizes[args[1].b ? 1 : 0] = longest;
  for (int d = 1; d < first->ndim; d++) sizes[d + 1] = ig_sizes(first)[d];
  ig_tensor *out = ig_new_full_with(c, first, ig_of_ints(sizes, (size_t)first->ndim + 1), args[2],
                                    ig_none(), ig_none(), ig_none(), ig_of_bool(false));
  ig_int dim = ig_const(args[1].b ? 0 : 1);
  for (size_t i = 0; i < count && out; i++) {
    ig_tensor *t = list->list.at[i].tensor;
    ig_int pad[2 * IG_MAX_DIM];
    size_t n = 2 * (size_t)t->ndim;
    for (size_t k = 0; k < n; k++) pad[k] = ig_const(0);
    pad[n - 1] = ig_size_sub(c, longest, ig_sizes(t)[0]);
    ig_tensor *row = ig_constant_pad_nd_with(c, t, ig_of_ints(pad, n), args[2]);
    out = ig_select_scatter(c, out, row, dim, ig_const((int64_t)i));
  }
  return out;
}

// Matrices (numbers and vectors count as rows) along the diagonal, zeros beside them.
static ig_tensor *zero_block(ig_ctx *c, ig_int rows, ig_int cols, ig_dtype dtype,
                             ig_device device) {
  ig_int size[] = {rows, cols};
  return ig_zeros_with(c, ig_of_ints(size, 2), ig_of_dtype(dtype), ig_none(), ig_of_device(device),
                       ig_none());
}
static ig_tensor *block_diag(ig_ctx *c, const ig_value *args) {
  size_t n = args[0].list.n;
  ig_value *block = ig_scope_array(c, n + 1, sizeof *block);
  if (!block) return NULL;
  if (n == 0) {
    ig_fail_text(c, IG_RUNTIME, "torch.block_diag expected at least one tensor, found none");
    return NULL;
  }
  ig_dtype dtype = args[0].list.at[0].tensor->dtype;
  ig_int all = ig_const(0);
  for (size_t i = 0; i < n; i++) {
    ig_tensor *t = args[0].list.at[i].tensor;
    if (t->ndim > 2) {
      ig_fail_text(c, IG_RUNTIME,
                   "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input %zu has "
                   "%d dimensions",
                   i, t->ndim);
      return NULL;
    }
    dtype = ig_dtype_promote(dtype, t->dtype);
    ig_int row[] = {ig_const(1), ig_const(-1)};
    if (t->ndim < 2) t = ig_view(c, ig_contiguous(c, t), ig_of_ints(row, 2));
    if (!t) return NULL;
    block[i] = ig_of_tensor(t);
    all = ig_int_add(c, all, ig_sizes(t)[1]);
  }
  ig_int before = ig_const(0);
  for (size_t i = 0; i < n && c->status == IG_OK; i++) {
    ig_tensor *t = ig_cast(c, block[i].tensor, dtype);
    if (!t) return NULL;
    ig_int rows = ig_sizes(t)[0];
    ig_int after = ig_int_sub(c, ig_int_sub(c, all, before), ig_sizes(t)[1]);
    ig_tensor *left = zero_block(c, rows, before, dtype, t->device);
    ig_tensor *right = zero_block(c, rows, after, dtype, t->device);
    ig_value row[] = {ig_of_tensor(left), ig_of_tensor(t), ig_of_tensor(right)};
    before = ig_int_add(c, before, ig_sizes(t)[1]);
    if (c->status == IG_OK) {
      block[i] = ig_of_tensor(ig_cat_with(c, ig_of_list(row, 3), ig_const(1)));
    }
  }
  return c->status == IG_OK ? ig_cat(c, ig_of_list(block, n)) : NULL;
}
IG_OP(block_diag) = {
    .schema = "aten::block_diag(Tensor[] tensors) -> Tensor",
    .decompose = block_diag,
    .samples = "(f32[2,3], f32[2], f32[]) | (f32[1,2], f64[2,2])",
};

IG_OP(cat) = {
    .schema = "aten::cat(Tensor[] tensors, int dim=0) -> Tensor",
    .on_quantized = ig_quant_cat,
    .autocast = IG_AUTOCAST_WIDEST,
    .shape = cat_shape,
    .kernel = cat_kernel,
    .takes_no_memory = true,
    .vjp = cat_vjp,
    .keep = "",
    .samples =
        "(f32[2,3], f32[4,3]) | (f32[2,3], f32[2,1]), 1 | (f32[3], f32[0], f32[2]) | (f32[4,2].T, "
        "f32[2,4]), -2 | (f32[2], i64[3]) | (f32[0], f32[2,3]) | (f32[2,3,2,2].cl, "
        "f32[2,2,2,2].cl), 1",
};

IG_OP(concat) = {
    .schema = "aten::concat(Tensor[] tensors, int dim=0) -> Tensor",
    .decompose = concat_decompose,
    .samples = "(f32[2,3], f32[4,3]) | (f32[2,3], f32[2,1]), 1",
};

IG_OP(concatenate) = {
    .schema = "aten::concatenate(Tensor[] tensors, int dim=0) -> Tensor",
    .decompose = concat_decompose,
    .samples = "(f32[2,3], f32[4,3]) | (f32[2,3], f32[2,1]), 1",
};

IG_OP(stack) = {
    .schema = "aten::stack(Tensor[] tensors, int dim=0) -> Tensor",
    .on_quantized = ig_quant_stack,
    .autocast = IG_AUTOCAST_WIDEST,
    .shape = stack_shape,
    .kernel = stack_kernel,
    .takes_no_memory = true,
    .decompose = stack_decompose,
    .vjp = stack_vjp,
    .keep = "",
    .samples =
        "(f32[2,3], f32[2,3]) | (f32[2,3], f32[3,2].T), -1 | (f32[], f32[]) | (f32[4],), 1 | "
        "(f32[2], i64[2]) | (f32[2,3], f32[2,3]), 1",
};

IG_OP(constant_pad_nd) = {
    .schema = "aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor",
    .quantized = IG_QUANT_FLOAT,
    .shape = pad_shape,
    .kernel = pad_kernel,
    .takes_no_memory = true,
    .vjp = pad_vjp,
    .keep = "",
    .samples =
        "f32[2,3], [1,2] | f32[2,3], [1,0,0,2], 1.5 | f32[4,3].T, [-1,1] | f32[2,3,4], "
        "[0,0,-1,-1,1,1] | i64[3], [1,1], 7 | f32[0], [2,1]",
};

IG_OP(pad) = {
    .schema =
        "aten::pad(Tensor self, SymInt[] pad, str mode=\"constant\", float? value=None) -> Tensor",
    .decompose = any_pad_decompose,
    .samples =
        "f32[2,3], [1,2] | f32[2,3], [1,0,0,2], 'constant', 1.5 | f32[2,3,4], [1,2], "
        "'reflect' | f32[1,2,3,4], [1,0,2,1], 'replicate' | f32[1,2,3,4], [1,2,0,1], "
        "'circular' | f32[2,5], [2,1], 'replicate'",
};

#define PAD1 "f32[2,5], [2,1] | f32[1,2,4], [0,3]"
#define PAD2 "f32[2,4,5], [2,1,0,3] | f32[1,2,4,3], [1,1,2,2]"
#define PAD3 "f32[2,3,4,5], [2,1,0,3,1,1] | f32[1,1,3,4,3], [1,1,2,2,0,1]"
#define PADDING(how) .decompose = how
IG_OP(reflection_pad1d) = {
    .schema = "aten::reflection_pad1d(Tensor self, SymInt[2] padding) -> Tensor",
    .quantized = IG_QUANT_FLOAT,
    .autocast = IG_AUTOCAST_F32,
    PADDING(reflection_pad),
    .samples = PAD1,
    .waive = "size 2=0: PyTorch refuses it",
};
IG_OP(reflection_pad2d) = {
    .schema = "aten::reflection_pad2d(Tensor self, SymInt[4] padding) -> Tensor",
    .quantized = IG_QUANT_FLOAT,
    .autocast = IG_AUTOCAST_F32,
    PADDING(reflection_pad),
    .samples = PAD2,
    .waive = "size 2=0: PyTorch refuses it",
};
IG_OP(reflection_pad3d) = {
    .schema = "aten::reflection_pad3d(Tensor self, SymInt[6] padding) -> Tensor",
    PADDING(reflection_pad),
    .samples = PAD3,
    .waive = "size 2=0: PyTorch refuses it",
};
IG_OP(replication_pad1d) = {
    .schema = "aten::replication_pad1d(Tensor self, SymInt[2] padding) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    PADDING(replication_pad),
    .samples = PAD1,
    .waive =
        "size 2=0: PyTorch refuses it; size 5=0: RuntimeError in PyTorch, IndexError here; size "
        "4=0: RuntimeError in PyTorch, IndexError here",
};
IG_OP(replication_pad2d) = {
    .schema = "aten::replication_pad2d(Tensor self, SymInt[4] padding) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    PADDING(replication_pad),
    .samples = PAD2,
    .waive =
        "size 2=0: PyTorch refuses it; size 4=0: RuntimeError in PyTorch, IndexError here; size "
        "5=0: RuntimeError in PyTorch, IndexError here; size 3=0: RuntimeError in PyTorch, "
        "IndexError here",
};
IG_OP(replication_pad3d) = {
    .schema = "aten::replication_pad3d(Tensor self, SymInt[6] padding) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    PADDING(replication_pad),
    .samples = PAD3,
    .waive =
        "size 2=0: PyTorch refuses it; size 3=0: RuntimeError in PyTorch, IndexError here; size "
        "4=0: RuntimeError in PyTorch, IndexError here",
};
IG_OP(pad_sequence) = {
    .schema =
        "aten::pad_sequence(Tensor[] sequences, bool batch_first=False, float padding_value=0., "
        "str "
        "padding_side=\"right\") -> Tensor",
    .decompose = pad_sequence_decompose,
    .lower = pad_sequence_lower,
    .samples =
        "(f32[2,3], f32[4,3]) | (f32[2], f32[5], f32[1]), True, 1.5 | (f32[2], f32[3]), True, 0., "
        "'left'",
};
