// SPDX-License-Identifier: Apache-2.0
// Scaled dot product attention: the fused kernel, its gradient, and the same by matrix products.
#include "kernels/attention.h"

#include <math.h>

#include "op/formula.h"
#include "op/refuse.h"
#include "op/strides.h"
#include "ops/operand.h"
#include "tensor/copy.h"

static int64_t size_at(const ig_tensor *t, int d) {
  return ig_sizes(t)[d].value;
}

// [batch, heads, rows, columns] with contiguous columns: the tensor itself or a dense copy.
static const ig_tensor *rows_of(ig_ctx *c, const ig_tensor *t) {
  if (ig_strides(t)[3].value == 1 || size_at(t, 3) == 1) return t;
  ig_meta m;
  ig_meta_of(t, &m);
  m.offset = ig_const(0);
  ig_meta_contiguous(c, &m);
  ig_tensor *copy = ig_tensor_make(c, &m, false);
  if (copy) ig_tensor_copy(copy, t);
  return copy;
}

static ig_attention_strides strides_of(const ig_tensor *t) {
  const ig_int *s = ig_strides(t);
  return (ig_attention_strides){s[0].value, s[1].value, s[2].value};
}

// The mask as numbers to add, in the kernel's own type; bool means "may look".
static bool set_mask(ig_ctx *c, const ig_tensor *mask, ig_dtype work, ig_attention_shape *s) {
  if (!mask) return true;
  const ig_tensor *m = mask;
  if (mask->dtype == IG_BOOL) {
    ig_tensor *hidden = ig_logical_not(c, ig_tensor_alias(c, (ig_tensor *)mask));
    ig_value none = ig_of_f64(-INFINITY);
    ig_tensor *zeros =
        ig_zeros_with(c, ig_sizes_of(mask), ig_of_dtype(work), ig_none(), ig_none(), ig_none());
    m = ig_masked_fill_scalar(c, zeros, hidden, none);
  } else if (mask->dtype != work) {
    m = ig_cast(c, ig_tensor_alias(c, (ig_tensor *)mask), work);
  }
  if (!m) return false;
  int64_t strides[4];
  for (int d = 0; d < 4; d++) {
    int from = d - (4 - m->ndim);
    bool repeated = from < 0 || size_at(m, from) == 1;
    strides[d] = repeated ? 0 : ig_strides(m)[from].value;
  }
  s->mask = ig_tensor_data(m);
  s->mask_batch = strides[0];
  s->mask_head = strides[1];
  s->mask_row = strides[2];
  s->mask_col = strides[3];
  return true;
}

static double scale_of(const ig_value *scale, const ig_tensor *q) {
  return scale->kind == IG_KIND_FLOAT ? scale->f : 1 / sqrt((double)size_at(q, q->ndim - 1));
}

static ig_attention_shape geometry(const ig_tensor *q, const ig_tensor *k, const ig_tensor *v,
                                   bool causal, const ig_value *scale) {
  return (ig_attention_shape){.batch = size_at(q, 0),
                              .heads = size_at(q, 1),
                              .lq = size_at(q, 2),
                              .lk = size_at(k, 2),
                              .d = size_at(q, 3),
                              .dv = size_at(v, 3),
                              .scale = scale_of(scale, q),
                              .causal = causal,
                              .q = strides_of(q),
                              .k = strides_of(k),
                              .v = strides_of(v)};
}

#define FLASH "scaled_dot_product_flash_attention_for_cpu: "

static bool refuse_operand(ig_ctx *c, const char *what, const char *name) {
  if (c->status == IG_OK) ig_fail_text(c, IG_RUNTIME, FLASH "%s, found another %s", what, name);
  return false;
}

// query, key, value: [batch, heads, rows, columns], equal except for their rows.
static bool check_operands(ig_ctx *c, const ig_value *args) {
  static const char *const names[] = {"query", "key", "value"};
  const ig_tensor *q = args[0].tensor;
  const ig_tensor *k = args[1].tensor;
  for (int i = 0; i < 3; i++) {
    const ig_tensor *t = args[i].tensor;
    if (t->ndim != 4)
      return refuse_operand(c, "Accept only 4 dims inputs shape of {B, H, T, K}", names[i]);
    if (t->dtype != q->dtype)
      return refuse_operand(c, "Q/K/V should have the same data type", names[i]);
    bool same = ig_int_eq(c, ig_sizes(q)[0], ig_sizes(t)[0]) &&
                ig_int_eq(c, ig_sizes(q)[1], ig_sizes(t)[1]) &&
                ig_int_eq(c, ig_sizes(q)[3], ig_sizes(t)[3]);
    if (!same)
      return refuse_operand(c, "Q/K/V should have the same batch, heads and head size", names[i]);
    if (i == 2 && !ig_int_eq(c, ig_sizes(k)[2], ig_sizes(t)[2]))
      return refuse_operand(c, "K/V should have the same length", names[i]);
  }
  return c->status == IG_OK;
}

// The mask broadcasts to [batch, heads, query rows, key rows].
static bool check_mask(ig_ctx *c, const ig_value *args, const ig_tensor *mask) {
  const ig_tensor *q = args[0].tensor;
  if (!mask) return true;
  bool typed = mask->dtype == IG_BOOL || ig_dtype_is_float(mask->dtype);
  if (!typed || (mask->ndim != 2 && mask->ndim != 4))
    return refuse_operand(c, "Attention mask must be bool or floating with dim in {2, 4}", "mask");
  ig_int want[] = {ig_sizes(q)[0], ig_sizes(q)[1], ig_sizes(q)[2], ig_sizes(args[1].tensor)[2]};
  for (int d = 0; d < mask->ndim; d++) {
    ig_int size = ig_sizes(mask)[d];
    bool fits = ig_int_eq_i64(c, size, 1) || ig_int_eq(c, size, want[4 - mask->ndim + d]);
    if (!fits) return refuse_operand(c, "Attention mask must broadcast to {B, H, Tq, Tk}", "mask");
  }
  return c->status == IG_OK;
}

// [batch, head, row, ...]: dense, but the heads of a row lie side by side.
static void heads_inside(ig_ctx *c, ig_meta *m) {
  ig_int step = ig_const(1);
  static const int order[] = {3, 1, 2, 0};
  for (int i = 0; i < 4; i++) {
    int d = order[i];
    if (d >= m->ndim) continue;
    m->stride[d] = step;
    step = ig_int_mul(c, step, m->size[d]);
  }
  m->strided = true;
}

// query, key, value, dropout_p, is_causal, *, attn_mask, scale -> output, logsumexp
static void flash_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *q = args[0].tensor;
  (void)op;
  if (!check_operands(c, args) || !check_mask(c, args, ig_value_tensor(&args[5]))) return;
  if (args[3].f != 0) {
    ig_fail_text(c, IG_RUNTIME, FLASH "Currently do not support dropout > 0");
    return;
  }
  if (!ig_check_float(c, "flash_attention", q->dtype)) return;
  // With the layout of the query, whose heads are usually columns of one product: then they can be
  // joined without a copy. The kernel needs contiguous columns.
  ig_int dims[] = {ig_sizes(q)[0], ig_sizes(q)[1], ig_sizes(q)[2], ig_sizes(q)[3]};
  ig_value preserve = ig_none();
  ig_meta_copy_of(c, q, &preserve, &out[0]);
  if (!out[0].strided || out[0].stride[3].expr || out[0].stride[3].value != 1) {
    heads_inside(c, &out[0]);
  }
  for (int d = 0; d < 3; d++) ig_meta_push_dim(c, &out[1], dims[d]);
  out[1].dtype = q->dtype == IG_F64 ? IG_F64 : IG_F32;
  heads_inside(c, &out[1]);
}

// How the mask becomes numbers to add.
typedef enum mask_way { MASK_NONE, MASK_AS_IT_IS, MASK_CONVERTED, MASK_TRUTHS } mask_way;

typedef struct flash_state {
  ig_attention_shape shape;  // without the mask's memory
  ig_operand operand[3];     // query, key, value: columns side by side
  mask_way mask;
  ig_operand mask_from;  // dense
  size_t mask_to;        // truths as numbers
  ig_operand sums;       // logsumexp, row by row
} flash_state;

// Columns side by side: the tensor as it lies, or a dense copy, with the strides of either.
static ig_operand plan_rows(ig_need *n, const ig_tensor *t, ig_attention_strides *strides) {
  if (ig_strides(t)[3].value == 1 || size_at(t, 3) == 1) {
    *strides = strides_of(t);
    return (ig_operand){.dtype = t->dtype};
  }
  int64_t head = size_at(t, 2) * size_at(t, 3);
  *strides = (ig_attention_strides){size_at(t, 1) * head, head, size_at(t, 3)};
  return ig_operand_copy(n, t, t->dtype, IG_ROW_MAJOR, 0);
}

static void plan_mask(ig_need *n, const ig_tensor *mask, ig_dtype work, flash_state *s) {
  s->mask = !mask                    ? MASK_NONE
            : mask->dtype == IG_BOOL ? MASK_TRUTHS
            : mask->dtype == work    ? MASK_AS_IT_IS
                                     : MASK_CONVERTED;
  if (!mask) return;
  if (s->mask != MASK_AS_IT_IS) {
    ig_dtype d = s->mask == MASK_TRUTHS ? IG_BOOL : work;
    s->mask_from = ig_operand_plan(n, mask, d, IG_ROW_MAJOR);
  }
  if (s->mask == MASK_TRUTHS) {
    s->mask_to = ig_need_take(n, (size_t)ig_tensor_numel(mask), ig_dtype_size(work));
  }
  int64_t strides[4];
  int64_t step = 1;
  for (int d = 3; d >= 0; d--) {
    int from = d - (4 - mask->ndim);
    bool repeated = from < 0 || size_at(mask, from) == 1;
    strides[d] = repeated ? 0 : s->mask == MASK_AS_IT_IS ? ig_strides(mask)[from].value : step;
    if (from >= 0) step *= size_at(mask, from);
  }
  s->shape.mask_batch = strides[0];
  s->shape.mask_head = strides[1];
  s->shape.mask_row = strides[2];
  s->shape.mask_col = strides[3];
}

static void flash_prepare(ig_ctx *c, const ig_op *op, const ig_value *args, const ig_value *outs,
                          ig_prep *p) {
  (void)c;
  (void)op;
  IG_STATE(flash_state, s, p);
  const ig_tensor *q = args[0].tensor;
  s->shape = geometry(q, args[1].tensor, args[2].tensor, args[4].b, &args[6]);
  ig_attention_strides *strides[3] = {&s->shape.q, &s->shape.k, &s->shape.v};
  for (int i = 0; i < 3; i++) s->operand[i] = plan_rows(&p->need, args[i].tensor, strides[i]);
  s->shape.out = strides_of(outs[0].tensor);
  plan_mask(&p->need, ig_value_tensor(&args[5]), outs[1].tensor->dtype, s);
  s->sums = ig_operand_plan(&p->need, outs[1].tensor, outs[1].tensor->dtype, IG_ROW_MAJOR);
  if (ig_tensor_numel(outs[0].tensor) == 0) return;
  (q->dtype == IG_F32   ? ig_attention_need_f32
   : q->dtype == IG_F64 ? ig_attention_need_f64
                        : ig_attention_need_half)(&s->shape, &p->need);
}

// The mask as numbers to add, in the kernel's own type; true means "may look".
static const void *read_mask(const ig_exec *x, ig_dtype work) {
  const flash_state *s = x->state;
  const ig_tensor *mask = ig_value_tensor(&x->args[5]);
  if (s->mask == MASK_NONE) return NULL;
  if (s->mask == MASK_AS_IT_IS) return ig_tensor_data(mask);
  const void *from = ig_operand_read(x, &s->mask_from, mask);
  if (s->mask == MASK_CONVERTED) return from;
  const uint8_t *may = from;
  void *to = x->memory + s->mask_to;
  int64_t n = ig_tensor_numel(mask);
  for (int64_t i = 0; i < n; i++) {
    if (work == IG_F64)
      ((double *)to)[i] = may[i] ? 0 : -INFINITY;
    else
      ((float *)to)[i] = may[i] ? 0 : -INFINITY;
  }
  return to;
}

static void flash_run(const ig_exec *x) {
  const flash_state *s = x->state;
  ig_tensor *out = x->outs[0].tensor;
  ig_tensor *sums = x->outs[1].tensor;
  if (ig_tensor_numel(out) == 0) {
    ig_value zero = ig_of_i64(0);
    ig_tensor_fill(sums, &zero);
    return;
  }
  ig_attention_shape shape = s->shape;
  shape.mask = read_mask(x, sums->dtype);
  const void *at[3];
  for (int i = 0; i < 3; i++) at[i] = ig_operand_read(x, &s->operand[i], x->args[i].tensor);
  void *to = ig_tensor_data(out);
  void *lse = s->sums.copied ? (void *)(x->memory + s->sums.at) : ig_tensor_data(sums);
  bool ok = true;
  if (out->dtype == IG_F32) ok = ig_attention_f32(&shape, at[0], at[1], at[2], to, lse);
  if (out->dtype == IG_F64) ok = ig_attention_f64(&shape, at[0], at[1], at[2], to, lse);
  if (out->dtype == IG_F16) ok = ig_attention_f16(&shape, at[0], at[1], at[2], to, lse);
  if (out->dtype == IG_BF16) ok = ig_attention_bf16(&shape, at[0], at[1], at[2], to, lse);
  if (!ok) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  ig_operand_write(x, &s->sums, sums);
}

// grad_out, query, key, value, out, logsumexp, dropout_p, is_causal, *, attn_mask, scale
static void backward_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  if (!check_operands(c, args + 1) || !check_mask(c, args + 1, ig_value_tensor(&args[8]))) return;
  const ig_tensor *q = args[1].tensor;
  for (int i = 0; i < 6; i++) {
    const ig_tensor *t = args[i].tensor;  // grad_out, out and logsumexp have the rows of the query
    if ((i > 0 && i < 4) || (i == 5 && ig_is_fake(t))) continue;  // programs may pass the softmax
    bool same = t->ndim == (i == 5 ? 3 : 4) && (i == 5 || t->dtype == q->dtype);
    for (int d = 0; d < t->ndim && same; d++) same = ig_int_eq(c, ig_sizes(t)[d], ig_sizes(q)[d]);
    if (!same) {
      (void)refuse_operand(c, "the gradient, the output and logsumexp must fit the query",
                           op->schema.args[i].name);
      return;
    }
  }
  for (int i = 0; i < 3; i++) {
    const ig_tensor *t = args[i + 1].tensor;
    for (int d = 0; d < t->ndim; d++) ig_meta_push_dim(c, &out[i], ig_sizes(t)[d]);
    out[i].dtype = t->dtype;
    heads_inside(c, &out[i]);
  }
}

static void backward_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  ig_scope scope = ig_scope_open(c);
  const ig_tensor *t[5];
  for (int i = 0; i < 5; i++) t[i] = rows_of(c, args[i].tensor);
  if (c->status == IG_OK) {
    const ig_tensor *q = t[1];
    ig_attention_shape s = geometry(q, t[2], t[3], args[7].b, &args[9]);
    s.out = strides_of(t[4]);
    ig_attention_grads g = {strides_of(t[0]), strides_of(outs[0].tensor),
                            strides_of(outs[1].tensor), strides_of(outs[2].tensor)};
    ig_dtype work = q->dtype == IG_F64 ? IG_F64 : IG_F32;
    bool ok = set_mask(c, ig_value_tensor(&args[8]), work, &s);
    const ig_tensor *sums = args[5].tensor;
    size_t count = (size_t)ig_tensor_numel(sums);
    int64_t rows =
        ig_tensor_size(q, 0).value * ig_tensor_size(q, 1).value * ig_tensor_size(q, 2).value;
    // The rule for shapes lets any logsumexp without data pass, and a plan checks no shape again.
    if ((int64_t)count != rows) {
      (void)refuse_operand(c, "the gradient, the output and logsumexp must fit the query",
                           op->schema.args[5].name);
    }
    void *lse = ig_scope_array(c, count, ig_dtype_size(work));
    if (lse) ig_tensor_read(sums, work, lse);
    ok = ok && lse && c->status == IG_OK;
    bool empty = count == 0 || ig_tensor_numel(t[2]) == 0;
    ig_value zero = ig_of_i64(0);
    for (int i = 0; i < 3 && ok && empty; i++) ig_tensor_fill(outs[i].tensor, &zero);
    const void *p[5];
    void *d[3];
    for (int i = 0; i < 5; i++) p[i] = ig_tensor_data(t[i]);
    for (int i = 0; i < 3; i++) d[i] = ig_tensor_data(outs[i].tensor);
#define BACKWARD(name) \
  ig_attention_backward_##name(&s, &g, p[0], p[1], p[2], p[3], p[4], lse, d[0], d[1], d[2])
    bool run = ok && !empty;
    if (run && q->dtype == IG_F32) ok = BACKWARD(f32);
    if (run && q->dtype == IG_F64) ok = BACKWARD(f64);
    if (run && q->dtype == IG_F16) ok = BACKWARD(f16);
    if (run && q->dtype == IG_BF16) ok = BACKWARD(bf16);
#undef BACKWARD
    if (!ok && c->status == IG_OK) (void)ig_fail(c, IG_NOMEM, "out of memory");
  }
  ig_scope_close(c, scope);
}

static void flash_vjp(ig_ctx *c, const ig_vjp *v) {
  const ig_value *a = v->args;
  if (!v->grads[0]) return;
  ig_value d[IG_MAX_RETURNS];
  ig__scaled_dot_product_flash_attention_for_cpu_backward_with(
      c, v->grads[0], a[0].tensor, a[1].tensor, a[2].tensor, v->outs[0].tensor, v->outs[1].tensor,
      a[3].f, a[4].b, ig_value_tensor(&a[5]), a[6], d);
  if (c->status != IG_OK) return;
  for (int i = 0; i < 3; i++) IG_GRAD(v, i) = ig_value_tensor(&d[i]);
}

// By plain products
// ---------------------------------------------------------------------------------

// Heads of keys and values that several query heads share are repeated.
static ig_tensor *repeat_heads(ig_ctx *c, ig_tensor *t, const ig_tensor *q) {
  if (t->ndim < 3 || q->ndim < 3 || t->ndim == IG_MAX_DIM) {
    ig_fail_text(c, IG_RUNTIME,
                 "scaled_dot_product_attention: enable_gqa needs a dimension of heads, but got %d "
                 "and %d dimensions",
                 q->ndim, t->ndim);
    return NULL;
  }
  ig_int have = ig_sizes(t)[t->ndim - 3];
  ig_int want = ig_sizes(q)[q->ndim - 3];
  if (ig_int_eq(c, have, want)) return t;
  ig_int times = ig_int_floordiv(c, want, have);
  ig_int sizes[IG_MAX_DIM];
  int n = t->ndim;
  ig_tensor *wide = ig_unsqueeze(c, t, ig_const(n - 2));
  for (int d = 0; d < n + 1; d++) sizes[d] = ig_sizes(t)[d < n - 2 ? d : d - 1];
  sizes[n - 2] = times;
  wide = ig_expand(c, wide, ig_of_ints(sizes, (size_t)n + 1));
  for (int d = 0; d < n; d++) sizes[d] = ig_sizes(t)[d];
  sizes[n - 3] = want;
  wide = ig_clone_with(c, wide, ig_of_memory_format(IG_CONTIGUOUS));
  return ig_view(c, wide, ig_of_ints(sizes, (size_t)n));
}

static ig_tensor *causal_mask(ig_ctx *c, const ig_tensor *q, const ig_tensor *k) {
  int rows = ig_wrap_dim(c, -2, q->ndim);
  int columns = ig_wrap_dim(c, -2, k->ndim);
  if (c->status != IG_OK) return NULL;
  ig_int sizes[] = {ig_sizes(q)[rows], ig_sizes(k)[columns]};
  ig_value layout = {.kind = IG_KIND_LAYOUT, .layout = IG_STRIDED};
  ig_tensor *all = ig_ones_with(c, ig_of_ints(sizes, 2), ig_of_dtype(IG_BOOL), layout,
                                ig_of_device(q->device), ig_none());
  return ig_tril(c, all);
}

// A bool mask is true where attention is allowed; elsewhere the score is -inf.
static ig_tensor *additive(ig_ctx *c, ig_tensor *mask, ig_dtype dtype) {
  if (!mask || mask->dtype != IG_BOOL) return mask;
  ig_tensor *zero = ig_scalar_tensor_with(c, ig_of_f64(0), ig_of_dtype(dtype), ig_none(),
                                          ig_of_device(mask->device), ig_none());
  ig_tensor *hidden = ig_logical_not(c, mask);
  return ig_where_scalarself(c, hidden, ig_of_f64(-INFINITY), zero);
}

// query, key, value, attn_mask, dropout_p, is_causal, dropout_mask, *, scale, enable_gqa
static void math_decompose(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_tensor *q = args[0].tensor;
  ig_tensor *k = args[1].tensor;
  ig_tensor *v = args[2].tensor;
  ig_tensor *mask = ig_value_tensor(&args[3]);
  // Half of the scale on either side keeps the scores small.
  bool given = args[7].kind == IG_KIND_FLOAT;
  if (!given && q->ndim == 0) {
    ig_fail_text(c, IG_BAD_INDEX, "Dimension specified as -1 but tensor has no dimensions");
    return;
  }
  double scale =
      given ? args[7].f : 1 / sqrt((double)ig_int_specialize(c, ig_sizes(q)[q->ndim - 1]));
  double root = sqrt(fabs(scale));
  ig_tensor *left = ig_mul_scalar(c, q, ig_of_f64(scale < 0 ? -root : root));
  if (args[5].b) {
    if (mask) {
      ig_fail_text(c, IG_RUNTIME,
                   "_scaled_dot_product_attention: Explicit attn_mask should not be "
                   "set when is_causal=True");
      return;
    }
    mask = causal_mask(c, q, k);
  }
  mask = additive(c, mask, q->dtype);
  if (args[8].kind == IG_KIND_BOOL && args[8].b) {
    k = repeat_heads(c, k, q);
    v = repeat_heads(c, v, q);
  }
  if (c->status != IG_OK) return;
  ig_tensor *turned = ig_transpose_int(c, k, ig_const(-2), ig_const(-1));
  ig_tensor *right = ig_mul_scalar(c, turned, ig_of_f64(root));
  ig_tensor *scores = ig_matmul(c, left, right);
  if (mask) scores = ig_add_tensor(c, scores, mask);
  ig_tensor *p = ig__safe_softmax(c, scores, ig_const(-1));
  if (args[4].f > 0) {
    ig_tensor *drop = ig_value_tensor(&args[6]);
    if (drop) {
      ig_tensor *hidden = ig_logical_not(c, drop);
      ig_tensor *kept = ig_masked_fill_scalar(c, p, hidden, ig_of_i64(0));
      ig_tensor *scaled = ig_mul_f64(c, v, 1 / (1 - args[4].f));
      outs[0] = ig_of_tensor(ig_matmul(c, kept, scaled));
      outs[1] = ig_of_tensor(p);
      return;
    }
    p = ig_dropout(c, p, args[4].f, true);
  }
  outs[0] = ig_of_tensor(ig_matmul(c, p, v));
  outs[1] = ig_of_tensor(p);
}

static bool last_is_dense(ig_ctx *c, const ig_tensor *t) {
  return ig_int_eq_i64(c, ig_strides(t)[t->ndim - 1], 1);
}

// As PyTorch 2.5 chooses, since strides of the result and what decomposes follow from it.
static bool fused_applies(ig_ctx *c, const ig_value *args) {
  const ig_tensor *q = args[0].tensor;
  const ig_tensor *k = args[1].tensor;
  const ig_tensor *v = args[2].tensor;
  const ig_tensor *mask = ig_value_tensor(&args[3]);
  bool same = q->ndim == 4 && k->ndim == 4 && v->ndim == 4 && q->dtype == k->dtype &&
              k->dtype == v->dtype && ig_dtype_is_float(q->dtype) && q->dtype != IG_F8E4M3FN &&
              q->dtype != IG_F8E5M2;
  if (!same || args[4].f > 0 || args[7].b || q->device.type != IG_DEVICE_CPU) return false;
  if (mask && (mask->requires_grad || (mask->ndim != 2 && mask->ndim != 4))) return false;
  for (int d = 0; d < 4; d++) {
    bool compare = d != 2;
    if (compare && !ig_int_eq(c, ig_sizes(q)[d], ig_sizes(k)[d])) return false;
    if (!ig_int_eq(c, ig_sizes(k)[d], ig_sizes(v)[d])) return false;
    if (ig_int_eq_i64(c, ig_sizes(q)[d], 0) || ig_int_eq_i64(c, ig_sizes(k)[d], 0)) return false;
  }
  if (!last_is_dense(c, q) || !last_is_dense(c, k) || !last_is_dense(c, v)) return false;
  if (mask && !last_is_dense(c, mask)) return false;
  return c->status == IG_OK;
}

static void check_call(ig_ctx *c, const ig_value *args) {
  static const char *const names[] = {"query", "key", "value"};
  for (int i = 0; i < 3; i++) {
    if (args[i].tensor->ndim < 2) {
      ig_fail_text(c, IG_RUNTIME,
                   "scaled_dot_product_attention: Expected query, key, and value to all be  at "
                   "least 2 dimensional, but got %s with %d dimensions",
                   names[i], args[i].tensor->ndim);
    } else if (args[i].tensor->dtype != args[0].tensor->dtype) {
      ig_fail_text(c, IG_RUNTIME,
                   "Expected query, key, and value to have the same dtype, but got query.dtype: %s "
                   "%s.dtype: %s",
                   ig_dtype_text(args[0].tensor->dtype), names[i],
                   ig_dtype_text(args[i].tensor->dtype));
    }
  }
}

// query, key, value, attn_mask, dropout_p, is_causal, *, scale, enable_gqa
static ig_tensor *sdpa_decompose(ig_ctx *c, const ig_value *args) {
  check_call(c, args);
  if (c->status != IG_OK) return NULL;
  ig_value outs[IG_MAX_RETURNS];
  bool fused = fused_applies(c, args);
  ig_tensor *mask = additive(c, ig_value_tensor(&args[3]), args[0].tensor->dtype);
  if (c->status != IG_OK) return NULL;
  if (fused) {
    ig__scaled_dot_product_flash_attention_for_cpu_with(c, args[0].tensor, args[1].tensor,
                                                        args[2].tensor, args[4].f, args[5].b, mask,
                                                        args[6], outs);
  } else {
    ig__scaled_dot_product_attention_math_with(c, args[0].tensor, args[1].tensor, args[2].tensor,
                                               mask, args[4].f, args[5].b, NULL, args[6], args[7].b,
                                               outs);
  }
  return ig_value_tensor(&outs[0]);
}

// Rows of the batch side by side, as a query has them that was [rows, batch, heads * columns].
// concrete: the order in memory is decided by hints
static bool rows_come_first(const ig_tensor *q) {
  const ig_int *s = ig_strides(q);
  return s[2].value > s[0].value && s[0].value > s[1].value;
}

// A copy in which the heads can be joined without another one.
static ig_tensor *lay_out(ig_ctx *c, ig_tensor *t, const ig_tensor *q) {
  ig_value dense = ig_of_memory_format(IG_CONTIGUOUS);
  if (!rows_come_first(q)) {
    ig_tensor *turned = ig_transpose_int(c, t, ig_const(1), ig_const(2));
    turned = ig_clone_with(c, turned, dense);
    return ig_transpose_int(c, turned, ig_const(1), ig_const(2));
  }
  ig_int there[] = {ig_const(2), ig_const(0), ig_const(1), ig_const(3)};
  ig_int back[] = {ig_const(1), ig_const(2), ig_const(0), ig_const(3)};
  ig_tensor *turned = ig_permute(c, t, ig_of_ints(there, 4));
  turned = ig_clone_with(c, turned, dense);
  return ig_permute(c, turned, ig_of_ints(back, 4));
}

// In programs the second result is the softmax, as PyTorch has it.
static void flash_lower(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig__scaled_dot_product_attention_math_with(c, args[0].tensor, args[1].tensor, args[2].tensor,
                                             ig_value_tensor(&args[5]), args[3].f, args[4].b, NULL,
                                             args[6], false, outs);
  if (c->status == IG_OK) outs[0] = ig_of_tensor(lay_out(c, outs[0].tensor, args[0].tensor));
}

static void flash_formula(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_value both[IG_MAX_RETURNS];
  ig__scaled_dot_product_attention_math_with(c, args[0].tensor, args[1].tensor, args[2].tensor,
                                             ig_value_tensor(&args[5]), args[3].f, args[4].b, NULL,
                                             args[6], false, both);
  if (c->status != IG_OK) return;
  const ig_tensor *q = args[0].tensor;
  outs[0] = ig_of_tensor(lay_out(c, both[0].tensor, q));
  // The fused form also gives log(sum(exp(score))) per row.
  ig_tensor *mask = args[4].b ? causal_mask(c, q, args[1].tensor) : ig_value_tensor(&args[5]);
  ig_tensor *keys = ig_transpose_int(c, args[1].tensor, ig_const(-2), ig_const(-1));
  ig_tensor *scores = ig_mul_f64(c, ig_matmul(c, args[0].tensor, keys), scale_of(&args[6], q));
  mask = additive(c, mask, q->dtype);
  if (mask) scores = ig_add_tensor(c, scores, mask);
  ig_int last = ig_const(-1);
  ig_tensor *top = ig_amax_with(c, scores, ig_of_ints(&last, 1), true);
  ig_tensor *sum = ig_exp(c, ig_sub_tensor(c, scores, top));
  sum = ig_sum_dim_intlist(c, sum, ig_of_ints(&last, 1));
  ig_tensor *shift = ig_squeeze_dim(c, top, last);
  ig_tensor *lse = ig_add_tensor(c, ig_log(c, sum), shift);
  outs[1] = ig_of_tensor(ig_cast(c, lse, q->dtype == IG_F64 ? IG_F64 : IG_F32));
}

IG_OP(scaled_dot_product_attention) = {
    .schema =
        "aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? "
        "attn_mask=None, float dropout_p=0., bool is_causal=False, *, float? scale=None, "
        "bool enable_gqa=False) -> Tensor",
    .autocast = IG_AUTOCAST_LOWER,
    .decompose = sdpa_decompose,
    .samples =
        "f32[1,2,3,4], f32[1,2,5,4], f32[1,2,5,4] | f32[1,2,4,4], f32[1,2,4,4], "
        "f32[1,2,4,4], is_causal=True | f32[2,3,4], f32[2,5,4], f32[2,5,4], f32[3,5] | "
        "f32[1,2,3,4], f32[1,2,5,4], f32[1,2,5,4], f32[3,5], scale=0.3 | f32[1,4,3,4], "
        "f32[1,2,5,4], f32[1,2,5,4], enable_gqa=True",
    .waive =
        "special: a row with NaN is NaN, where PyTorch has some zeros; second: PyTorch has none "
        "for "
        "the fused kernel",
};
IG_OP(_scaled_dot_product_attention_math) = {
    .schema =
        "aten::_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, "
        "Tensor? attn_mask=None, float dropout_p=0., bool is_causal=False, Tensor? "
        "dropout_mask=None, *, float? scale=None, bool enable_gqa=False) -> (Tensor, Tensor)",
    .decompose_outs = math_decompose,
    .samples =
        "f32[1,2,3,4], f32[1,2,5,4], f32[1,2,5,4] | f32[2,4,4], f32[2,4,4], f32[2,4,4], "
        "is_causal=True",
};
IG_OP(_scaled_dot_product_flash_attention_for_cpu) = {
    .schema =
        "aten::_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor "
        "value, float dropout_p=0., bool is_causal=False, *, Tensor? attn_mask=None, float? "
        "scale=None) -> (Tensor output, Tensor logsumexp)",
    .shape = flash_shape,
    .prepare = flash_prepare,
    .run = flash_run,
    .decompose_outs = flash_formula,
    .lower_outs = flash_lower,
    .vjp = flash_vjp,
    .diff_results = 1,
    .samples =
        "f32[1,2,3,4], f32[1,2,5,4], f32[1,2,5,4] | f32[1,2,4,4], f32[1,2,4,4], "
        "f32[1,2,4,4], is_causal=True",
    .waive =
        "second: PyTorch has none; lowering: its second result is the softmax in PyTorch; special: "
        "a "
        "row with NaN is NaN, where PyTorch has some zeros; "
        "size 4=0: PyTorch crashes for those of 0",
};
IG_OP(_scaled_dot_product_flash_attention_for_cpu_backward) = {
    .schema =
        "aten::_scaled_dot_product_flash_attention_for_cpu_backward(Tensor grad_out, Tensor query, "
        "Tensor key, Tensor value, Tensor out, Tensor logsumexp, float dropout_p, bool is_causal, "
        "*, Tensor? attn_mask=None, float? scale=None) -> (Tensor grad_query, Tensor grad_key, "
        "Tensor grad_value)",
    .shape = backward_shape,
    .kernel = backward_kernel,
    .samples =
        "f32[1,2,3,4], f32[1,2,3,4], f32[1,2,5,4], f32[1,2,5,4], f32[1,2,3,4], "
        "f32[1,2,3]:+, 0.0, False",
};
