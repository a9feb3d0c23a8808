// SPDX-License-Identifier: Apache-2.0
// Attention that is written as products: softmax(scale * q k^T + mask) v. Heads are batches of the
// products, [batch * heads, rows, columns].
#include "op/formula.h"
#include "rt/forms.h"

typedef struct attention {
  ig_rt_form form;
  ig_ctx *c;
  ig_int batch;
  ig_int heads;
  ig_int rows;      // of the query
  ig_int keys;      //
  ig_tensor *q;     // [batch, heads, rows, columns]
  ig_tensor *k;     // [batch, heads, keys, columns]
  ig_tensor *v;     // [batch, heads, keys, width]
  ig_tensor *mask;  // NULL: none
  double scale;
  const ig_rt_step *first;  // the product of queries and keys
  const ig_rt_step *softmax;
} attention;

static ig_int size_at(const ig_tensor *t, int d) {
  return ig_sizes(t)[d];
}

static ig_int stride_at(const ig_tensor *t, int d) {
  return ig_strides(t)[d];
}

static bool is_equal(const attention *a, ig_int x, ig_int y) {
  return ig_int_eq(a->c, x, y);
}

static bool is_one(const attention *a, ig_int x) {
  return ig_int_eq_i64(a->c, x, 1);
}

// t is [batch * heads, rows, columns]: seen with separate heads, as it is or transposed. NULL after
// an error.
static ig_tensor *by_heads(const attention *a, ig_tensor *t, bool across) {
  int row = across ? 2 : 1;
  int col = across ? 1 : 2;
  ig_int head = stride_at(t, 0);
  ig_int sizes[] = {a->batch, a->heads, size_at(t, row), size_at(t, col)};
  ig_int strides[] = {ig_int_mul(a->c, a->heads, head), head, stride_at(t, row), stride_at(t, col)};
  return ig_rt_view(a->form.b, t, sizes, strides, 4);
}

// Does t, [batch * heads, ...], show all of `from`, [batch, heads, ...]?
static bool joins_heads(const attention *a, const ig_tensor *t, const ig_tensor *from) {
  if (from->ndim != 4 || t->storage != from->storage || !is_equal(a, t->offset, from->offset) ||
      !is_equal(a, size_at(from, 0), a->batch) || !is_equal(a, size_at(from, 1), a->heads)) {
    return false;
  }
  ig_int image = ig_int_mul(a->c, stride_at(t, 0), a->heads);
  bool same = (is_one(a, a->heads) || is_equal(a, stride_at(t, 0), stride_at(from, 1))) &&
              (is_one(a, a->batch) || is_equal(a, image, stride_at(from, 0)));
  for (int d = 1; d < 3; d++) {
    same = same && is_equal(a, size_at(t, d), size_at(from, d + 1)) &&
           (is_one(a, size_at(t, d)) || is_equal(a, stride_at(t, d), stride_at(from, d + 1)));
  }
  return same;
}

// The step with this role whose result, [batch, heads, ...], t shows; NULL: there is none.
static const ig_rt_step *made_by_heads(attention *a, const ig_tensor *t, ig_role role) {
  const ig_rt_step *s = ig_form_producer(a->form.b, t);
  if (!s || !joins_heads(a, t, s->outs[0].tensor)) return NULL;
  return ig_form_made_by(&a->form, s->outs[0].tensor, role);
}

// An operand of the first product; a number that it was multiplied with becomes part of the scale.
static ig_tensor *operand(attention *a, ig_tensor *t, bool across) {
  static const ig_role roles[] = {IG_ROLE_TIMES, IG_ROLE_OVER};
  for (int i = 0; i < 2; i++) {
    double number = 0;
    const ig_rt_step *s = made_by_heads(a, t, roles[i]);
    ig_tensor *x = s ? ig_form_unscaled(&a->form, s->outs[0].tensor, &number) : NULL;
    if (!x) continue;
    a->scale *= number;
    int row = across ? 3 : 2;
    int col = across ? 2 : 3;
    ig_int sizes[] = {a->batch, a->heads, size_at(x, row), size_at(x, col)};
    ig_int strides[] = {stride_at(x, 0), stride_at(x, 1), stride_at(x, row), stride_at(x, col)};
    return ig_rt_view(a->form.b, x, sizes, strides, 4);
  }
  return by_heads(a, t, across);
}

static bool is_matrices(const attention *a, const ig_value *v) {
  const ig_tensor *t = ig_value_tensor(v);
  return t && t->dtype == IG_F32 && !t->quantizer && t->ndim == 3 &&
         ig_int_is(a->c, ig_rt_numel(a->c, t), IG_GT, ig_const(0));
}

static bool is_read_once(const attention *a, const ig_rt_use *uses, const ig_tensor *t) {
  const ig_rt_buffer *x = ig_rt_find(a->form.b, t);
  return x->place == IG_PLACE_SLAB && uses[x - a->form.b->buffers.at].count == 1;
}

// The mask with four dimensions; NULL: it is broadcast in another way, or after an error.
static ig_tensor *mask_of(const attention *a, ig_tensor *t) {
  ig_int want[] = {a->batch, a->heads, a->rows, a->keys};
  ig_int sizes[4];
  ig_int strides[4];
  if (t->dtype != IG_F32 || t->quantizer || t->ndim > 4) return NULL;
  for (int d = 0; d < 4; d++) {
    int from = d - (4 - t->ndim);
    sizes[d] = from < 0 ? ig_const(1) : size_at(t, from);
    bool repeated = is_one(a, sizes[d]);
    strides[d] = repeated ? ig_const(0) : stride_at(t, from);
    if (!repeated && !is_equal(a, sizes[d], want[d])) return NULL;
  }
  return ig_rt_view(a->form.b, t, sizes, strides, 4);
}

// Scores as the softmax reads them: the product, with a mask and a scale. NULL: they are none, or
// after an error.
static const ig_rt_step *read_scores(attention *a, ig_tensor *t) {
  const ig_rt_step *sum = ig_form_made_by(&a->form, t, IG_ROLE_ADD);
  if (!sum) {
    double number = 1;
    ig_tensor *rest = ig_form_unscaled(&a->form, t, &number);
    if (rest) a->scale *= number;
    return ig_form_made_flat(&a->form, rest ? rest : t, IG_ROLE_MATRICES);
  }
  if (!ig_value_is(&sum->args[2], 1)) return NULL;
  for (int i = 0; i < 2 && !a->mask; i++) {
    ig_tensor *scores = ig_value_tensor(&sum->args[i]);
    ig_tensor *mask = ig_value_tensor(&sum->args[1 - i]);
    if (!scores || !mask || !ig_rt_same_sizes(a->c, scores, t)) continue;
    double number = 1;
    ig_tensor *rest = ig_form_unscaled(&a->form, scores, &number);
    const ig_rt_step *s = ig_form_made_flat(&a->form, rest ? rest : scores, IG_ROLE_MATRICES);
    if (!s) continue;
    a->mask = mask_of(a, mask);
    if (rest) a->scale *= number;
    return a->mask ? s : NULL;
  }
  return NULL;
}

// Is the last dimension the one that sums up to one?
static bool is_over_keys(const ig_rt_step *softmax) {
  const ig_tensor *t = softmax->args[0].tensor;
  int64_t dim = softmax->args[1].i.value;
  return dim == -1 || dim == t->ndim - 1;
}

// Fills in everything but the values; false: it is no attention, or after an error.
static bool find(attention *a, const ig_rt_use *uses, const ig_rt_step *last) {
  if (!is_matrices(a, &last->args[0]) || !is_matrices(a, &last->args[1])) return false;
  const ig_rt_step *soft = ig_form_made_flat(&a->form, last->args[0].tensor, IG_ROLE_SOFTMAX);
  if (!soft || !is_over_keys(soft) || !is_read_once(a, uses, soft->outs[0].tensor)) return false;
  ig_tensor *t = soft->args[0].tensor;
  if (t->dtype != IG_F32 || t->ndim < 3 || t->ndim > 4) return false;
  a->batch = t->ndim == 4 ? size_at(t, 0) : ig_const(1);
  a->heads = size_at(t, t->ndim - 3);
  a->rows = size_at(t, t->ndim - 2);
  a->keys = size_at(t, t->ndim - 1);
  const ig_rt_step *first = read_scores(a, t);
  if (!first || !is_matrices(a, &first->args[0]) || !is_matrices(a, &first->args[1])) return false;
  if (!is_read_once(a, uses, first->outs[0].tensor)) return false;
  a->first = first;
  a->softmax = soft;
  if (!is_equal(a, size_at(first->outs[0].tensor, 1), a->rows) ||
      !is_equal(a, size_at(first->outs[0].tensor, 2), a->keys)) {
    return false;
  }
  a->q = operand(a, first->args[0].tensor, false);
  a->k = a->q ? operand(a, first->args[1].tensor, true) : NULL;
  a->v = a->k ? by_heads(a, last->args[1].tensor, false) : NULL;
  return a->v != NULL;
}

// ---- where the result goes

// The copy, if nothing else reads the result, that puts the heads of a row side by side.
static ig_rt_step *copy_of(const attention *a, const ig_rt_use *uses, const ig_tensor *y) {
  ig_binding *b = a->form.b;
  if (!is_read_once(a, uses, y) || !ig_rt_is_dense(a->c, y)) return NULL;
  ig_rt_step *s = &b->steps.at[uses[ig_rt_find(b, y) - b->buffers.at].step];
  if (!s->op || s->sized || ig_role_of(s->op)->role != IG_ROLE_COPY) return NULL;
  const ig_tensor *from = s->args[0].tensor;
  const ig_tensor *to = s->outs[0].tensor;
  ig_int width = size_at(y, 2);
  ig_int head = ig_int_mul(a->c, a->rows, width);
  ig_int sizes[] = {a->batch, a->rows, a->heads, width};
  ig_int strides[] = {ig_int_mul(a->c, a->heads, head), width, head, ig_const(1)};
  bool same = from->ndim == 4 && ig_rt_same_sizes(a->c, from, to) && to->dtype == IG_F32 &&
              ig_rt_is_dense(a->c, to) && is_equal(a, from->offset, y->offset);
  for (int d = 0; same && d < 4; d++) {
    same = is_equal(a, size_at(from, d), sizes[d]) &&
           (is_one(a, sizes[d]) || is_equal(a, stride_at(from, d), strides[d]));
  }
  return same ? s : NULL;
}

// The result by heads: in the memory of the copy, or else where the product has it.
static ig_tensor *result_of(const attention *a, ig_rt_step *copy, ig_tensor *y) {
  if (!copy) return by_heads(a, y, false);
  ig_int width = size_at(y, 2);
  ig_int row = ig_int_mul(a->c, a->heads, width);
  ig_int sizes[] = {a->batch, a->heads, a->rows, width};
  ig_int strides[] = {ig_int_mul(a->c, a->rows, row), width, row, ig_const(1)};
  copy->dead = true;
  return ig_rt_view(a->form.b, copy->outs[0].tensor, sizes, strides, 4);
}

// The kernel reads rows whose columns lie side by side.
static bool has_columns(const attention *a, const ig_tensor *t) {
  return ig_int_eq_i64(a->c, stride_at(t, 3), 1) || is_one(a, size_at(t, 3));
}

static bool set_layer(const attention *a, ig_rt_step *s, ig_tensor *y) {
  ig_binding *b = a->form.b;
  ig_rt_layer *l = ig_arena_push(&b->memory, sizeof *l);
  if (!l) return ig_no_memory(b->plan->c);
  *l = (ig_rt_layer){.work = IG_WORK_ATTENTION,
                     .x = a->q,
                     .y = y,
                     .keys = a->k,
                     .values = a->v,
                     .mask = a->mask,
                     .ops = {a->first->op, a->softmax->op, s->op},
                     .nops = 3};
  l->attention = (ig_attention_shape){.scale = a->scale, .nan_rows = true};
  *s = (ig_rt_step){.layer = l, .node = s->node, .inexact = true};
  return true;
}

bool ig_form_find_attention(ig_binding *b, const ig_rt_use *uses, size_t i) {
  ig_ctx *c = b->plan->c;
  ig_rt_step *last = &b->steps.at[i];
  attention a = {.form = {b, i}, .c = c, .scale = 1};
  ig_tensor *y = last->outs[0].tensor;
  bool found = find(&a, uses, last) && ig_form_is_undisturbed(&a.form, last) &&
               has_columns(&a, a.q) && has_columns(&a, a.k) && has_columns(&a, a.v);
  if (!found) return c->status == IG_OK;
  ig_tensor *to = result_of(&a, copy_of(&a, uses, y), y);
  return to && set_layer(&a, last, to);
}
