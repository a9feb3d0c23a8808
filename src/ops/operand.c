// SPDX-License-Identifier: Apache-2.0
#include "ops/operand.h"

#include "tensor/copy.h"

// Sizes, and strides of a dense copy, by dimensions of the tensor.
typedef struct layout {
  int64_t size[IG_MAX_DIM];
  int64_t from[IG_MAX_DIM];
  int64_t to[IG_MAX_DIM];
  int64_t numel;
} layout;

static bool has(uint64_t bits, int d) {
  return bits >> d & 1;
}

static void lay_out(const ig_tensor *t, uint64_t last, uint64_t once, layout *l) {
  l->numel = 1;
  for (int pass = 1; pass >= 0; pass--) {
    for (int d = t->ndim - 1; d >= 0; d--) {
      if (has(last, d) != (pass == 1)) continue;
      l->size[d] = has(once, d) ? 1 : ig_sizes(t)[d].value;
      l->from[d] = ig_strides(t)[d].value;
      l->to[d] = l->numel;
      l->numel *= l->size[d];
    }
  }
}

static bool lies_so(const ig_tensor *t, uint64_t last) {
  int64_t step = 1;
  for (int pass = 1; pass >= 0; pass--) {
    for (int d = t->ndim - 1; d >= 0; d--) {
      int64_t size = ig_sizes(t)[d].value;
      if (has(last, d) != (pass == 1) || size == 1) continue;
      if (size == 0) return true;
      if (ig_strides(t)[d].value != step) return false;
      step *= size;
    }
  }
  return true;
}

ig_operand ig_operand_copy(ig_need *n, const ig_tensor *t, ig_dtype dtype, uint64_t last,
                           uint64_t once) {
  ig_operand o = {.copied = true, .dtype = dtype, .last = last, .once = once};
  int64_t numel = 1;
  for (int d = 0; d < t->ndim; d++) numel *= has(once, d) ? 1 : ig_sizes(t)[d].value;
  o.at = ig_need_take(n, (size_t)numel, ig_dtype_size(dtype));
  return o;
}

ig_operand ig_operand_plan(ig_need *n, const ig_tensor *t, ig_dtype dtype, uint64_t last) {
  if (t->dtype == dtype && lies_so(t, last)) return (ig_operand){.dtype = dtype};
  return ig_operand_copy(n, t, dtype, last, 0);
}

ig_operand ig_operand_maybe(ig_need *n, const ig_value *v, ig_dtype dtype) {
  if (v->kind != IG_KIND_TENSOR) return (ig_operand){.dtype = dtype};
  return ig_operand_plan(n, v->tensor, dtype, IG_ROW_MAJOR);
}

const void *ig_operand_read(const ig_exec *x, const ig_operand *o, const ig_tensor *t) {
  static const double nothing[2] = {0};
  if (!t) return NULL;
  if (!o->copied) {
    const void *data = ig_tensor_data(t);
    return data ? data : nothing;
  }
  void *to = x->memory + o->at;
  layout l;
  lay_out(t, o->last, o->once, &l);
  if (l.numel) {
    ig_strided_copy(t->ndim, l.size, (ig_strided){to, o->dtype, l.to},
                    (ig_strided){ig_tensor_data(t), t->dtype, l.from});
  }
  return to;
}

void ig_operand_write(const ig_exec *x, const ig_operand *o, ig_tensor *t) {
  if (!t || !o->copied) return;
  layout l;
  lay_out(t, o->last, o->once, &l);
  if (l.numel == 0) return;
  ig_strided_copy(t->ndim, l.size, (ig_strided){ig_tensor_data(t), t->dtype, l.from},
                  (ig_strided){x->memory + o->at, o->dtype, l.to});
}
