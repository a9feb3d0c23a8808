// SPDX-License-Identifier: Apache-2.0
// Integers that are known while a model is captured or planned: sizes, values computed from them,
// and constants. Nodes over such integers are evaluated without recording anything, so that shapes
// stay symbolic and exact. Whatever is not covered here is recorded like any other node.
#include <string.h>

#include "onnx_read/reader.h"

enum { MAX_KNOWN = 256 };

typedef struct list {
  const ig_int *at;
  size_t n;
  int ndim;
  int elem;
} list;

static bool known(ig_rd *r, size_t i, list *out) {
  if (!ig_rd_has(r, i) || r->in[i]->kind != IG_RD_TENSOR) return false;
  const ig_rd_value *v = r->in[i];
  out->elem = v->elem;
  if (v->ints) {
    out->at = v->ints;
    out->n = v->nints;
    out->ndim = v->ints_ndim;
    return true;
  }
  ig_tensor *t = v->t;
  if (!t || ig_tensor_is_fake(t) || t->ndim > 1 || ig_tensor_numel(t) > MAX_KNOWN) return false;
  if (t->dtype != IG_I64 && t->dtype != IG_I32 && t->dtype != IG_BOOL) return false;
  size_t n = (size_t)ig_tensor_numel(t);
  ig_int *at = ig_scope_array(r->c, n, sizeof *at);
  const int64_t *data = ig_rd_bytes(r, t, IG_I64);
  for (size_t k = 0; at && data && k < n; k++) at[k] = ig_const(data[k]);
  out->at = at;
  out->n = n;
  out->ndim = t->ndim;
  return at && data;
}

static bool give(ig_rd *r, const ig_int *at, size_t n, int ndim, int elem) {
  if (!at || n > MAX_KNOWN) return false;
  ig_rd_out_val(r, 0, ig_rd_of_ints(r, at, n, ndim, elem));
  return ig_rd_ok(r);
}

static bool all_plain(const list *l) {
  for (size_t i = 0; i < l->n; i++) {
    if (l->at[i].expr) return false;
  }
  return true;
}

// ---- moving

static bool fold_identity(ig_rd *r) {
  list x;
  return known(r, 0, &x) && give(r, x.at, x.n, x.ndim, x.elem);
}

static bool fold_cast(ig_rd *r) {
  list x;
  int64_t to = ig_rd_attr_int(r, "to", 0);
  if (!known(r, 0, &x) || (to != IG_OM_INT64 && to != IG_OM_INT32 && to != IG_OM_BOOL))
    return false;
  if (to == IG_OM_BOOL && x.elem != IG_OM_BOOL) return false;
  return give(r, x.at, x.n, x.ndim, (int)to);
}

static bool fold_gather(ig_rd *r) {
  list x;
  list index;
  if (!known(r, 0, &x) || !known(r, 1, &index) || x.ndim != 1 || !all_plain(&index)) return false;
  ig_int *out = ig_scope_array(r->c, index.n, sizeof *out);
  for (size_t i = 0; out && i < index.n; i++) {
    int64_t k = index.at[i].value;  // concrete: all_plain
    if (k < 0) k += (int64_t)x.n;
    if (k < 0 || k >= (int64_t)x.n) return false;
    out[i] = x.at[k];
  }
  return give(r, out, index.n, index.ndim, x.elem);
}

static bool fold_concat(ig_rd *r) {
  ig_int out[MAX_KNOWN];
  size_t n = 0;
  int elem = 0;
  for (size_t i = 0; i < r->nin; i++) {
    list x;
    if (!known(r, i, &x) || x.ndim != 1 || n + x.n > MAX_KNOWN) return false;
    if (x.n) memcpy(out + n, x.at, x.n * sizeof *out);
    n += x.n;
    elem = x.elem;
  }
  return give(r, out, n, 1, elem);
}

static bool fold_unsqueeze(ig_rd *r) {
  list x;
  return known(r, 0, &x) && x.ndim == 0 && give(r, x.at, 1, 1, x.elem);
}

static bool fold_squeeze(ig_rd *r) {
  list x;
  return known(r, 0, &x) && x.ndim == 1 && x.n == 1 && give(r, x.at, 1, 0, x.elem);
}

static bool fold_reshape(ig_rd *r) {
  list x;
  list shape;
  if (!known(r, 0, &x) || !known(r, 1, &shape) || !all_plain(&shape) || shape.n > 1) return false;
  if (shape.n == 0) return x.n == 1 && give(r, x.at, 1, 0, x.elem);
  int64_t want = shape.at[0].value;  // concrete: all_plain
  return (want == -1 || want == (int64_t)x.n) && give(r, x.at, x.n, 1, x.elem);
}

static bool one_number(ig_rd *r, size_t i, int64_t otherwise, int64_t *out) {
  list x;
  *out = otherwise;
  if (!ig_rd_has(r, i)) return true;
  if (!known(r, i, &x) || x.n != 1 || !all_plain(&x)) return false;
  *out = x.at[0].value;  // concrete: all_plain
  return true;
}

static int64_t clamp(int64_t v, int64_t n) {
  if (v < 0) v = v < -n ? 0 : v + n;
  return v > n ? n : v;
}

static bool fold_slice(ig_rd *r) {
  list x;
  int64_t start = 0;
  int64_t end = 0;
  int64_t step = 1;
  if (!known(r, 0, &x) || x.ndim != 1) return false;
  if (r->version < 10) {
    size_t n = 0;
    const int64_t *at = ig_rd_attr_ints(r, "starts", &n);
    if (!at || n != 1) return false;
    start = at[0];
    at = ig_rd_attr_ints(r, "ends", &n);
    if (!at || n != 1) return false;
    end = at[0];
  } else if (!one_number(r, 1, 0, &start) || !one_number(r, 2, 0, &end) ||
             !one_number(r, 4, 1, &step)) {
    return false;
  }
  if (step < 1) return false;
  start = clamp(start, (int64_t)x.n);
  end = clamp(end, (int64_t)x.n);
  ig_int out[MAX_KNOWN];
  size_t n = 0;
  for (int64_t i = start; i < end && n < MAX_KNOWN; i += step) {
    out[n++] = x.at[i];
    if (step > MAX_KNOWN) break;
  }
  return give(r, out, n, 1, x.elem);
}

static bool fold_cast_like(ig_rd *r) {
  list x;
  int to = ig_rd_elem(r, 1);
  if (!known(r, 0, &x) || (to != IG_OM_INT64 && to != IG_OM_INT32)) return false;
  return give(r, x.at, x.n, x.ndim, to);
}

static bool fold_expand(ig_rd *r) {
  list x;
  list shape;
  ig_int out[MAX_KNOWN];
  if (!known(r, 0, &x) || !known(r, 1, &shape) || !all_plain(&shape) || shape.n > 1) return false;
  int64_t want = shape.n ? shape.at[0].value : 1;  // concrete: all_plain
  size_t n = want == 1 ? x.n : (size_t)want;
  if (want < 1 || n > MAX_KNOWN || (x.n != 1 && x.n != n)) return false;
  for (size_t i = 0; i < n; i++) out[i] = x.at[x.n == 1 ? 0 : i];
  return give(r, out, n, x.ndim || shape.n ? 1 : 0, x.elem);
}

static bool fold_scatter(ig_rd *r) {
  list x;
  list index;
  list updates;
  ig_int out[MAX_KNOWN];
  const char *how = ig_rd_attr_text(r, "reduction", "none");
  if (!known(r, 0, &x) || !known(r, 1, &index) || !known(r, 2, &updates) || !all_plain(&index) ||
      x.ndim != 1 || index.n != updates.n || x.n > MAX_KNOWN || strcmp(how, "none") != 0) {
    return false;
  }
  for (size_t i = 0; i < x.n; i++) out[i] = x.at[i];
  for (size_t i = 0; i < index.n; i++) {
    int64_t k = index.at[i].value;  // concrete: all_plain
    if (k < 0) k += (int64_t)x.n;
    if (k < 0 || k >= (int64_t)x.n) return false;
    out[k] = updates.at[i];
  }
  return give(r, out, x.n, 1, x.elem);
}

// ---- computing

typedef bool number_fn(ig_rd *r, ig_int a, ig_int b, ig_int *out);

static bool number_add(ig_rd *r, ig_int a, ig_int b, ig_int *out) {
  int64_t v = 0;
  if (!a.expr && !b.expr && !ig_checked_add(a.value, b.value, &v)) return false;
  *out = ig_int_add(r->c, a, b);
  return true;
}
static bool number_sub(ig_rd *r, ig_int a, ig_int b, ig_int *out) {
  int64_t v = 0;
  if (!a.expr && !b.expr && __builtin_sub_overflow(a.value, b.value, &v)) return false;
  *out = ig_int_sub(r->c, a, b);
  return true;
}
static bool number_mul(ig_rd *r, ig_int a, ig_int b, ig_int *out) {
  int64_t v = 0;
  if (!a.expr && !b.expr && !ig_checked_mul(a.value, b.value, &v)) return false;
  *out = ig_int_mul(r->c, a, b);
  return true;
}
// Division is towards zero; for sizes over positive numbers that is the floor.
static bool number_div(ig_rd *r, ig_int a, ig_int b, ig_int *out) {
  if (b.expr || b.value <= 0 || (!a.expr && a.value < 0)) return false;
  *out = ig_int_floordiv(r->c, a, b);
  return true;
}
static bool number_mod(ig_rd *r, ig_int a, ig_int b, ig_int *out) {
  if (b.expr || b.value <= 0 || (!a.expr && a.value < 0)) return false;
  *out = ig_int_mod(r->c, a, b);
  return true;
}
static bool number_min(ig_rd *r, ig_int a, ig_int b, ig_int *out) {
  *out = ig_int_min(r->c, a, b);
  return true;
}
static bool number_max(ig_rd *r, ig_int a, ig_int b, ig_int *out) {
  *out = ig_int_max(r->c, a, b);
  return true;
}
static bool number_equal(ig_rd *r, ig_int a, ig_int b, ig_int *out) {
  (void)r;
  // A size is never negative, whatever it is.
  bool apart = (a.expr && !b.expr && b.value < 0) || (b.expr && !a.expr && a.value < 0);
  bool same = a.expr && a.expr == b.expr;
  if ((a.expr || b.expr) && !apart && !same) return false;
  *out = ig_const(same || (!apart && a.value == b.value));
  return true;
}
static bool plain(ig_int a, ig_int b) {
  return !a.expr && !b.expr;
}
static bool number_less(ig_rd *r, ig_int a, ig_int b, ig_int *out) {
  (void)r;
  *out = ig_const(a.value < b.value);
  return plain(a, b);
}
static bool number_greater(ig_rd *r, ig_int a, ig_int b, ig_int *out) {
  (void)r;
  *out = ig_const(a.value > b.value);
  return plain(a, b);
}
static bool number_and(ig_rd *r, ig_int a, ig_int b, ig_int *out) {
  (void)r;
  *out = ig_const(a.value && b.value);
  return plain(a, b);
}
static bool number_or(ig_rd *r, ig_int a, ig_int b, ig_int *out) {
  (void)r;
  *out = ig_const(a.value || b.value);
  return plain(a, b);
}

// Applies another operand: out[0 .. *n) becomes fn(out, y), either of which may be a single number.
static bool combine_with(ig_rd *r, number_fn *fn, const list *y, ig_int *out, size_t *n) {
  if (y->n != *n && y->n != 1 && *n != 1) return false;
  size_t m = y->n > *n ? y->n : *n;
  if (y->n == 0 || *n == 0) m = 0;
  for (size_t i = m; i-- > 0;) {  // from the end: out[0] may serve all
    if (!fn(r, out[*n == 1 ? 0 : i], y->at[y->n == 1 ? 0 : i], &out[i])) return false;
  }
  *n = m;
  return true;
}

static bool combine(ig_rd *r, number_fn *fn, bool truth) {
  list x;
  ig_int out[MAX_KNOWN];
  if (!known(r, 0, &x) || x.n > MAX_KNOWN) return false;
  size_t n = x.n;
  int ndim = x.ndim;
  for (size_t i = 0; i < n; i++) out[i] = x.at[i];
  for (size_t k = 1; k < r->nin; k++) {
    list y;
    if (!known(r, k, &y) || y.n > MAX_KNOWN || !combine_with(r, fn, &y, out, &n)) return false;
    ndim = ndim > y.ndim ? ndim : y.ndim;
  }
  return give(r, out, n, ndim, truth ? IG_OM_BOOL : x.elem);
}

#define FOLD(name, fn, truth)     \
  static bool name(ig_rd *r) {    \
    return combine(r, fn, truth); \
  }
FOLD(fold_add, number_add, false)
FOLD(fold_sub, number_sub, false)
FOLD(fold_mul, number_mul, false)
FOLD(fold_div, number_div, false)
FOLD(fold_mod, number_mod, false)
FOLD(fold_min, number_min, false)
FOLD(fold_max, number_max, false)
FOLD(fold_equal, number_equal, true)
FOLD(fold_less, number_less, true)
FOLD(fold_greater, number_greater, true)
FOLD(fold_and, number_and, true)
FOLD(fold_or, number_or, true)

static bool fold_not(ig_rd *r) {
  list x;
  ig_int out[MAX_KNOWN];
  if (!known(r, 0, &x) || !all_plain(&x) || x.n > MAX_KNOWN) return false;
  for (size_t i = 0; i < x.n; i++) out[i] = ig_const(!x.at[i].value);  // concrete: all_plain
  return give(r, out, x.n, x.ndim, IG_OM_BOOL);
}

// Sizes are never negative.
static bool fold_abs(ig_rd *r) {
  list x;
  ig_int out[MAX_KNOWN];
  if (!known(r, 0, &x) || x.n > MAX_KNOWN) return false;
  for (size_t i = 0; i < x.n; i++) {
    bool negative = !x.at[i].expr && x.at[i].value < 0;
    if (negative && x.at[i].value == INT64_MIN) return false;
    out[i] = negative ? ig_const(-x.at[i].value) : x.at[i];
  }
  return give(r, out, x.n, x.ndim, x.elem);
}

static bool fold_where(ig_rd *r) {
  list cond;
  list a;
  list b;
  ig_int out[MAX_KNOWN];
  if (!known(r, 0, &cond) || !known(r, 1, &a) || !known(r, 2, &b) || !all_plain(&cond))
    return false;
  size_t n = cond.n > a.n ? cond.n : a.n;
  n = b.n > n ? b.n : n;
  if ((cond.n != n && cond.n != 1) || (a.n != n && a.n != 1) || (b.n != n && b.n != 1) ||
      n > MAX_KNOWN) {
    return false;
  }
  for (size_t i = 0; i < n; i++) {
    bool yes = cond.at[cond.n == 1 ? 0 : i].value != 0;  // concrete: all_plain
    out[i] = yes ? a.at[a.n == 1 ? 0 : i] : b.at[b.n == 1 ? 0 : i];
  }
  int ndim = cond.ndim | a.ndim | b.ndim;
  return give(r, out, n, ndim, a.elem);
}

static bool reduce(ig_rd *r, number_fn *fn, int64_t start) {
  list x;
  if (!known(r, 0, &x) || x.ndim != 1 || x.elem == IG_OM_BOOL) return false;
  if (ig_rd_attr_int(r, "noop_with_empty_axes", 0)) return false;
  ig_int out = x.n ? x.at[0] : ig_const(start);
  for (size_t i = 1; i < x.n; i++) {
    if (!fn(r, out, x.at[i], &out)) return false;
  }
  return give(r, &out, 1, ig_rd_attr_int(r, "keepdims", 1) ? 1 : 0, x.elem);
}
static bool fold_prod(ig_rd *r) {
  return reduce(r, number_mul, 1);
}
static bool fold_reduce_sum(ig_rd *r) {
  return reduce(r, number_add, 0);
}

static bool fold_constant_of_shape(ig_rd *r) {
  list shape;
  const ig_om_attr *a = ig_rd_attr(r, "value");
  if (!known(r, 0, &shape) || !all_plain(&shape) || shape.n > 1 || !a ||
      a->type != IG_OM_ATTR_TENSOR || a->tensors[0]->elem != IG_OM_INT64 ||
      a->tensors[0]->numel != 1) {
    return false;
  }
  int64_t v = 0;
  memcpy(&v, a->tensors[0]->raw.at, sizeof v);
  int64_t n = shape.n ? shape.at[0].value : 1;  // concrete: all_plain
  ig_int out[MAX_KNOWN];
  if (n < 0 || n > MAX_KNOWN) return false;
  for (int64_t i = 0; i < n; i++) out[i] = ig_const(v);
  return give(r, out, (size_t)n, (int)shape.n, IG_OM_INT64);
}

static bool fold_range(ig_rd *r) {
  int64_t v[3];
  list first;
  if (!known(r, 0, &first) || first.elem != IG_OM_INT64) return false;
  for (size_t i = 0; i < 3; i++) {
    if (!one_number(r, i, 0, &v[i])) return false;
  }
  ig_int out[MAX_KNOWN];
  size_t n = 0;
  if (v[2] == 0 || v[0] > INT32_MAX || v[0] < INT32_MIN || v[1] > INT32_MAX || v[1] < INT32_MIN ||
      v[2] > INT32_MAX || v[2] < INT32_MIN) {
    return false;
  }
  for (int64_t i = v[0]; v[2] > 0 ? i < v[1] : i > v[1]; i += v[2]) {
    if (n == MAX_KNOWN) return false;
    out[n++] = ig_const(i);
  }
  return give(r, out, n, 1, IG_OM_INT64);
}

static const struct {
  const char *op_type;
  bool (*fn)(ig_rd *r);
} folds[] = {
    {"Identity", fold_identity},
    {"Cast", fold_cast},
    {"CastLike", fold_cast_like},
    {"Expand", fold_expand},
    {"ScatterElements", fold_scatter},
    {"Gather", fold_gather},
    {"Concat", fold_concat},
    {"Unsqueeze", fold_unsqueeze},
    {"Squeeze", fold_squeeze},
    {"Reshape", fold_reshape},
    {"Slice", fold_slice},
    {"Add", fold_add},
    {"Sub", fold_sub},
    {"Mul", fold_mul},
    {"Div", fold_div},
    {"Mod", fold_mod},
    {"Min", fold_min},
    {"Max", fold_max},
    {"Equal", fold_equal},
    {"Less", fold_less},
    {"Greater", fold_greater},
    {"And", fold_and},
    {"Or", fold_or},
    {"Not", fold_not},
    {"Abs", fold_abs},
    {"Where", fold_where},
    {"ReduceProd", fold_prod},
    {"ReduceSum", fold_reduce_sum},
    {"ConstantOfShape", fold_constant_of_shape},
    {"Range", fold_range},
};

// ---- constants

enum { MAX_CONSTANT = 1024 };

static bool is_among(const char *const *names, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++) {
    if (strcmp(names[i], name) == 0) return true;
  }
  return false;
}

bool ig_rd_is_random(const ig_om_node *n) {
  static const char *const names[] = {"Bernoulli",        "Dropout",       "Multinomial",
                                      "RandomNormal",     "RandomUniform", "RandomNormalLike",
                                      "RandomUniformLike"};
  return !n->domain[0] && is_among(names, sizeof names / sizeof *names, n->op_type);
}

// Is every input a small tensor whose elements are known? Weights are not folded.
static bool is_constant(const ig_rd *r) {
  static const char *const never[] = {"Constant", "Identity", "If", "Loop", "Scan", "SequenceMap"};
  if (is_among(never, sizeof never / sizeof *never, r->node->op_type)) return false;
  if (ig_rd_is_random(r->node)) return false;
  if (r->nin == 0) return false;
  for (size_t i = 0; i < r->nin; i++) {
    const ig_rd_value *v = r->in[i];
    if (!v) continue;
    if (v->kind != IG_RD_TENSOR) return false;
    for (size_t k = 0; k < v->nints; k++) {
      if (v->ints[k].expr) return false;
    }
    if (v->ints) continue;
    if (!v->t || ig_tensor_is_fake(v->t) || ig_tensor_numel(v->t) > MAX_CONSTANT) return false;
  }
  return true;
}

bool ig_rd_compute(ig_rd *r, ig_rd_fn *fn) {
  if (!is_constant(r)) return false;
  for (size_t i = 0; i < r->nin; i++) {
    if (r->in[i]) (void)ig_rd_tensor(r, r->in[i]);  // known integers become real tensors first
  }
  ig_mode_scope mode = ig_mode_push_capture(r->c, NULL);
  r->capture = false;
  fn(r);
  r->capture = true;
  ig_mode_pop(r->c, &mode);
  return true;
}

bool ig_rd_fold(ig_rd *r) {
  if (r->node->domain[0]) return false;
  for (size_t i = 0; i < sizeof folds / sizeof *folds; i++) {
    if (strcmp(folds[i].op_type, r->node->op_type) == 0) return folds[i].fn(r);
  }
  return false;
}
