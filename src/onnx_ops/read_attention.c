// SPDX-License-Identifier: Apache-2.0
// Attention, linear attention, rotary embedding, FlexAttention.
#include <math.h>
#include <string.h>

#include "onnx_read/reader.h"

static ig_tensor *count_to(ig_rd *r, ig_int n) {
  return ig_arange_with(r->c, ig_of_int(n), ig_of_dtype(IG_I64), ig_none(), ig_none(), ig_none());
}

// [batch, length, heads * size] -> [batch, heads, length, size]
static ig_tensor *split_heads(ig_rd *r, ig_tensor *t, int64_t heads) {
  if (!t) return NULL;
  if (heads < 1 || t->ndim != 3) {
    ig_rd_fail(r, IG_INVALID, "inputs of 3 dimensions need the numbers of heads");
    return NULL;
  }
  ig_int size = ig_int_floordiv(r->c, ig_rd_size(r, t, 2), ig_const(heads));
  ig_int sizes[4] = {ig_rd_size(r, t, 0), ig_rd_size(r, t, 1), ig_const(heads), size};
  static const int64_t perm[] = {0, 2, 1, 3};
  return ig_rd_permute(r, ig_rd_reshape(r, t, sizes, 4), perm, 4);
}

static ig_tensor *join_heads(ig_rd *r, ig_tensor *t) {
  static const int64_t perm[] = {0, 2, 1, 3};
  t = ig_rd_permute(r, t, perm, 4);
  if (!t) return NULL;
  ig_int sizes[3] = {ig_rd_size(r, t, 0), ig_rd_size(r, t, 1),
                     ig_int_mul(r->c, ig_rd_size(r, t, 2), ig_rd_size(r, t, 3))};
  return ig_rd_reshape(r, t, sizes, 3);
}

// Every key head serves several query heads, neighbours in order.
static ig_tensor *share_heads(ig_rd *r, ig_tensor *t, ig_int q_heads) {
  if (!t || ig_int_eq(r->c, ig_rd_size(r, t, 1), q_heads)) return t;
  int64_t mine = ig_rd_plain(r, ig_rd_size(r, t, 1));
  int64_t all = ig_rd_plain(r, q_heads);
  if (mine < 1 || all % mine) {
    ig_rd_fail(r, IG_MISMATCH, "%lld query heads for %lld key heads", (long long)all,
               (long long)mine);
    return NULL;
  }
  return ig_repeat_interleave_self_int_with(r->c, t, ig_const(all / mine), ig_of_i64(1), ig_none());
}

// true -> 0, false -> -inf
static ig_tensor *bias_of(ig_rd *r, ig_tensor *allowed, ig_dtype d) {
  if (!allowed) return NULL;
  ig_tensor *zero = ig_rd_scalar(r, 0, d);
  ig_tensor *minus = ig_rd_scalar(r, -INFINITY, d);
  return zero && minus ? ig_where_self(r->c, allowed, zero, minus) : NULL;
}

typedef struct attention {
  ig_tensor *q;  // [b, h, l, e]
  ig_tensor *k;
  ig_tensor *v;
  ig_tensor *past;    // of the keys; NULL: none
  ig_tensor *nonpad;  // [b]; NULL: none
  ig_int length;      // of the queries
  ig_int total;       // of the keys
} attention;

static ig_tensor *add_bias(ig_rd *r, ig_tensor *bias, ig_tensor *more) {
  return bias ? ig_rd_add(r, bias, more) : more;
}

// Where each query stands among the keys, [l, 1] or [b, 1, l, 1].
static ig_tensor *positions(ig_rd *r, const attention *a) {
  ig_tensor *at = ig_rd_unsqueeze(r, count_to(r, a->length), 1);
  if (!at) return NULL;
  if (a->past) {
    ig_value offset = ig_of_int(ig_rd_size(r, a->past, 2));
    return ig_add_value(r->c, at, &offset);
  }
  if (!a->nonpad) return at;
  ig_value length = ig_of_int(a->length);
  ig_tensor *offset = ig_sub_value(r->c, ig_cast(r->c, a->nonpad, IG_I64), &length);
  return ig_rd_add(r, at, ig_rd_along(r, offset, 0, 4));
}

static ig_tensor *mask_bias(ig_rd *r, const attention *a) {
  ig_tensor *mask = ig_rd_opt(r, 3);
  if (!mask || mask->ndim == 0) return mask;
  ig_int have = ig_rd_size(r, mask, -1);
  bool is_bool = mask->dtype == IG_BOOL;
  if (!ig_int_eq(r->c, have, a->total) && !ig_int_eq_i64(r->c, have, 1)) {
    ig_int pads[2] = {ig_const(0), ig_int_sub(r->c, a->total, have)};
    ig_value fill = is_bool ? ig_of_i64(0) : ig_of_f64(-INFINITY);
    mask = ig_constant_pad_nd_with(r->c, mask, ig_of_ints(pads, 2), fill);
  }
  return is_bool ? bias_of(r, mask, a->q->dtype) : ig_cast(r->c, mask, a->q->dtype);
}

static ig_tensor *all_bias(ig_rd *r, const attention *a) {
  int64_t left = ig_rd_attr_int(r, "left_window_size", -1);
  int64_t right = ig_rd_attr_int(r, "right_window_size", -1);
  bool causal = ig_rd_attr_int(r, "is_causal", 0);
  ig_dtype d = a->q->dtype;
  ig_tensor *bias = mask_bias(r, a);
  ig_tensor *at = causal || left >= 0 || right >= 0 ? positions(r, a) : NULL;
  ig_tensor *keys = at || a->nonpad ? count_to(r, a->total) : NULL;
  if (causal && at && keys) bias = add_bias(r, bias, bias_of(r, ig_le_tensor(r->c, keys, at), d));
  ig_tensor *behind = at && (left >= 0 || right >= 0) ? ig_rd_sub(r, at, keys) : NULL;
  if (left >= 0 && behind) {
    bias = add_bias(r, bias, bias_of(r, ig_le_scalar(r->c, behind, ig_of_i64(left)), d));
  }
  if (right >= 0 && behind) {
    bias = add_bias(r, bias, bias_of(r, ig_ge_scalar(r->c, behind, ig_of_i64(-right)), d));
  }
  if (a->nonpad && keys) {
    ig_tensor *valid = ig_rd_along(r, ig_cast(r->c, a->nonpad, IG_I64), 0, 4);
    bias = add_bias(r, bias, valid ? bias_of(r, ig_lt_tensor(r->c, keys, valid), d) : NULL);
  }
  return bias;
}

// Rows without any key to look at become zeros.
static ig_tensor *guard_rows(ig_rd *r, ig_tensor *prob, ig_tensor *bias) {
  if (!bias || !prob || bias->ndim == 0) return prob;
  ig_int last = ig_const(-1);
  ig_tensor *top = ig_amax_with(r->c, bias, ig_of_ints(&last, 1), true);
  ig_tensor *dead = top ? ig_eq_scalar(r->c, top, ig_of_f64(-INFINITY)) : NULL;
  return dead ? ig_masked_fill_scalar(r->c, prob, dead, ig_of_i64(0)) : NULL;
}

static ig_tensor *scores(ig_rd *r, const attention *a, double *softcap) {
  static const int64_t turn[] = {0, 1, 3, 2};
  const ig_om_attr *given = ig_rd_attr(r, "scale");
  double size = (double)ig_rd_plain(r, ig_rd_size(r, a->q, 3));
  double scale = sqrt(given && given->type == IG_OM_ATTR_FLOAT ? (double)given->f : 1 / sqrt(size));
  ig_tensor *factor = ig_rd_scalar(r, scale, a->q->dtype);
  ig_tensor *k = share_heads(r, a->k, ig_rd_size(r, a->q, 1));
  ig_tensor *q = ig_rd_mul(r, a->q, factor);
  k = ig_rd_mul(r, ig_rd_permute(r, k, turn, 4), factor);
  *softcap = ig_rd_attr_float(r, "softcap", 0);
  return q && k ? ig_rd_matmul(r, q, k) : NULL;
}

static void attend(ig_rd *r, attention *a, bool flat) {
  int64_t mode = ig_rd_attr_int(r, "qk_matmul_output_mode", 0);
  double softcap = 0;
  ig_tensor *bias = all_bias(r, a);
  ig_tensor *qk = ig_rd_ok(r) ? scores(r, a, &softcap) : NULL;
  ig_tensor *shown = qk;
  if (softcap > 0 && qk) {
    qk = ig_rd_muln(r, ig_tanh(r->c, ig_rd_muln(r, qk, 1 / softcap)), softcap);
    shown = qk;
  }
  ig_tensor *x = bias ? ig_rd_add(r, qk, bias) : qk;
  if (mode == 2) shown = x;
  int64_t precision = ig_rd_attr_int(r, "softmax_precision", 0);
  ig_dtype d = ig_om_elem_dtype(precision > 0 && precision < IG_OM_ELEM_COUNT ? (int)precision : 0);
  if (d != IG_DTYPE_COUNT) x = ig_cast(r->c, x, d);
  ig_tensor *prob = x ? ig_softmax_int(r->c, x, ig_const(-1)) : NULL;
  prob = ig_cast(r->c, guard_rows(r, prob, bias), a->q->dtype);
  if (mode == 3) shown = prob;
  ig_tensor *v = share_heads(r, a->v, ig_rd_size(r, a->q, 1));
  ig_tensor *y = prob && v ? ig_rd_matmul(r, prob, ig_cast(r->c, v, prob->dtype)) : NULL;
  ig_rd_out(r, 0, flat ? join_heads(r, y) : y);
  ig_rd_out(r, 1, a->k);
  ig_rd_out(r, 2, a->v);
  ig_rd_out(r, 3, ig_cast(r->c, shown, a->q->dtype));
}

static void read_attention(ig_rd *r) {
  attention a = {ig_rd_in(r, 0),  ig_rd_in(r, 1), ig_rd_in(r, 2), ig_rd_opt(r, 4),
                 ig_rd_opt(r, 6), ig_const(0),    ig_const(0)};
  ig_tensor *past_v = ig_rd_opt(r, 5);
  if (!a.q || !a.k || !a.v || !ig_rd_ok(r)) return;
  bool flat = a.q->ndim == 3;
  if (flat) {
    int64_t kv = ig_rd_attr_int(r, "kv_num_heads", 0);
    a.q = split_heads(r, a.q, ig_rd_attr_int(r, "q_num_heads", 0));
    a.k = split_heads(r, a.k, kv);
    a.v = split_heads(r, a.v, kv);
  }
  if (!a.q || !a.k || !a.v) return;
  if (a.q->ndim != 4 || a.k->ndim != 4 || a.v->ndim != 4 || (a.past != NULL) != (past_v != NULL)) {
    ig_rd_fail(r, IG_INVALID, "expected 3 or 4 dimensions, and both pasts or none");
    return;
  }
  if (a.past) {
    a.k = ig_rd_cat(r, (ig_tensor *[]){a.past, a.k}, 2, 2);
    a.v = ig_rd_cat(r, (ig_tensor *[]){past_v, a.v}, 2, 2);
  }
  if (!a.k || !a.v) return;
  a.length = ig_rd_size(r, a.q, 2);
  a.total = ig_rd_size(r, a.k, 2);
  attend(r, &a, flat);
}

// ---- FlexAttention

static ig_tensor *modify(ig_rd *r, const char *name, ig_tensor *t) {
  if (!t || !ig_rd_attr(r, name)) return t;
  const ig_om_graph *g = ig_rd_attr_graph(r, name);
  ig_rd_value *in = ig_rd_of_tensor(r, t, 0);
  ig_rd_value *outs[1] = {NULL};
  if (!g || !in || g->noutputs != 1 || g->ninputs != 1) {
    ig_rd_fail(r, IG_SYNTAX, "'%s' must have one input and one output", name);
    return NULL;
  }
  return ig_rd_graph(r, g, &in, 1, outs) ? ig_rd_tensor(r, outs[0]) : NULL;
}

static void read_flex_attention(ig_rd *r) {
  static const int64_t turn[] = {0, 1, 3, 2};
  ig_tensor *q = ig_rd_in(r, 0);
  ig_tensor *k = ig_rd_in(r, 1);
  ig_tensor *v = ig_rd_in(r, 2);
  if (!q || !k || !v || q->ndim != 4 || k->ndim != 4 || v->ndim != 4) {
    ig_rd_fail(r, IG_INVALID, "expected 4 dimensions");
    return;
  }
  const ig_om_attr *given = ig_rd_attr(r, "scale");
  double scale = given ? (double)given->f : 1 / sqrt((double)ig_rd_plain(r, ig_rd_size(r, q, 3)));
  int64_t precision =
      ig_rd_attr_int(r, "softmax_precision", q->dtype == IG_F64 ? IG_OM_DOUBLE : IG_OM_FLOAT);
  ig_dtype d = ig_om_elem_dtype(precision > 0 && precision < IG_OM_ELEM_COUNT ? (int)precision : 0);
  if (d == IG_DTYPE_COUNT) d = IG_F32;
  k = ig_rd_permute(r, share_heads(r, k, ig_rd_size(r, q, 1)), turn, 4);
  v = share_heads(r, v, ig_rd_size(r, q, 1));
  ig_tensor *x = k ? ig_rd_matmul(r, q, k) : NULL;
  x = ig_cast(r->c, ig_rd_muln(r, x, scale), d);
  x = modify(r, "score_mod", x);
  x = x ? ig_softmax_int(r->c, x, ig_const(-1)) : NULL;
  x = ig_cast(r->c, modify(r, "prob_mod", x), q->dtype);
  ig_rd_out(r, 0, x && v ? ig_rd_matmul(r, x, v) : NULL);
}

// ---- LinearAttention: one step of the recurrence after another

typedef struct linear {
  ig_tensor *q;  // [b, h, t, dk], likewise the others
  ig_tensor *k;
  ig_tensor *v;
  ig_tensor *decay;  // [b, h, t, dk or 1]
  ig_tensor *beta;   // [b, h, t, 1]
  bool delta;
} linear;

// state [b, h, dk, dv]
static ig_tensor *linear_step(ig_rd *r, const linear *l, ig_tensor *state, int64_t t) {
  ig_tensor *k = ig_rd_unsqueeze(r, ig_rd_select(r, l->k, 2, t), 3);  // [b, h, dk, 1]
  ig_tensor *v = ig_rd_unsqueeze(r, ig_rd_select(r, l->v, 2, t), 2);  // [b, h, 1, dv]
  if (l->decay) {
    ig_tensor *g = ig_rd_unsqueeze(r, ig_rd_select(r, l->decay, 2, t), 3);
    state = g ? ig_rd_mul(r, state, ig_exp(r->c, g)) : NULL;
  }
  if (l->delta && state && k) {
    int64_t dk = 2;
    ig_tensor *seen = ig_rd_sum(r, ig_rd_mul(r, state, k), &dk, 1, true);
    v = ig_rd_sub(r, v, seen);
    ig_tensor *beta = ig_rd_unsqueeze(r, ig_rd_select(r, l->beta, 2, t), 3);
    v = ig_rd_mul(r, v, beta);
  }
  return ig_rd_add(r, state, ig_rd_mul(r, k, v));
}

static bool linear_inputs(ig_rd *r, linear *l, int64_t qh, int64_t kvh, ig_dtype d) {
  const char *rule = ig_rd_attr_text(r, "update_rule", "gated_delta");
  bool gated = strncmp(rule, "gated", 5) == 0;
  l->delta = strstr(rule, "delta") != NULL;
  l->q = split_heads(r, ig_cast(r->c, ig_rd_in(r, 0), d), qh);
  l->k = split_heads(r, ig_cast(r->c, ig_rd_in(r, 1), d), kvh);
  l->v = split_heads(r, ig_cast(r->c, ig_rd_in(r, 2), d), kvh);
  if (gated) l->decay = split_heads(r, ig_cast(r->c, ig_rd_in(r, 4), d), kvh);
  if (l->delta) {
    ig_tensor *beta = ig_cast(r->c, ig_rd_in(r, 5), d);
    bool one = beta && beta->ndim == 3 && ig_int_eq_i64(r->c, ig_rd_size(r, beta, 2), 1);
    l->beta = one ? ig_rd_unsqueeze(r, beta, 1) : split_heads(r, beta, kvh);
  }
  return ig_rd_ok(r);
}

static void read_linear_attention(ig_rd *r) {
  int64_t qh = ig_rd_attr_int(r, "q_num_heads", 0);
  int64_t kvh = ig_rd_attr_int(r, "kv_num_heads", 0);
  linear l = {0};
  ig_tensor *q = ig_rd_in(r, 0);
  ig_tensor *past = ig_rd_opt(r, 3);
  if (!q || qh < 1 || kvh < 1 || qh % kvh) {
    ig_rd_fail(r, IG_INVALID, "q_num_heads must be a multiple of kv_num_heads");
    return;
  }
  ig_dtype d = q->dtype == IG_F64 ? IG_F64 : IG_F32;
  if (!linear_inputs(r, &l, qh, kvh, d)) return;
  ig_int sizes[4] = {ig_rd_size(r, l.k, 0), ig_const(kvh), ig_rd_size(r, l.k, 3),
                     ig_rd_size(r, l.v, 3)};
  ig_dtype state_type = past ? past->dtype : q->dtype;
  ig_tensor *state = past ? ig_cast(r->c, past, d) : ig_rd_full(r, sizes, 4, 0, d);
  double scale = ig_rd_attr_float(r, "scale", 0);
  if (scale == 0) scale = 1 / sqrt((double)ig_rd_plain(r, ig_rd_size(r, l.q, 3)));
  int64_t length = ig_rd_plain(r, ig_rd_size(r, l.q, 2));
  ig_tensor **ys = ig_scope_array(r->c, (size_t)length, sizeof *ys);
  for (int64_t t = 0; ys && t < length && ig_rd_ok(r); t++) {
    state = linear_step(r, &l, state, t);
    ig_tensor *shared = share_heads(r, state, ig_const(qh));
    ig_tensor *row = ig_rd_unsqueeze(r, ig_rd_select(r, l.q, 2, t), 2);  // [b, h, 1, dk]
    ig_tensor *y = row && shared ? ig_rd_matmul(r, row, shared) : NULL;
    ys[t] = ig_rd_squeeze(r, y, 2);
  }
  if (!ys || !ig_rd_ok(r)) return;
  if (length == 0) {
    ig_rd_fail(r, IG_INVALID, "a sequence of length 0");
    return;
  }
  ig_tensor *y = ig_rd_muln(r, ig_rd_stack(r, ys, (size_t)length, 2), scale);
  ig_rd_out(r, 0, ig_cast(r->c, join_heads(r, y), q->dtype));
  ig_rd_out(r, 1, ig_cast(r->c, state, state_type));
}

// ---- RotaryEmbedding

static ig_tensor *cache_rows(ig_rd *r, ig_tensor *cache, ig_tensor *ids) {
  if (!cache || !ids) return cache;
  if (cache->ndim != 2 || ids->ndim != 2) {
    ig_rd_fail(r, IG_INVALID, "expected caches and positions of 2 dimensions, found %d and %d",
               cache->ndim, ids->ndim);
    return NULL;
  }
  ig_int all = ig_numel_of(r->c, ids);
  ig_tensor *flat = ig_rd_reshape(r, ids, &all, 1);
  ig_tensor *rows = flat ? ig_index_select(r->c, cache, ig_const(0), flat) : NULL;
  ig_int sizes[3] = {ig_rd_size(r, ids, 0), ig_rd_size(r, ids, 1), ig_rd_size(r, cache, 1)};
  return ig_rd_reshape(r, rows, sizes, 3);
}

static ig_tensor *rotate(ig_rd *r, ig_tensor *x, ig_tensor *cos, ig_tensor *sin, int64_t dim) {
  bool mixed = ig_rd_attr_int(r, "interleaved", 0);
  int64_t half = dim / 2;
  ig_tensor *a = mixed ? ig_rd_slice(r, x, 3, 0, dim, 2) : ig_rd_slice(r, x, 3, 0, half, 1);
  ig_tensor *b = mixed ? ig_rd_slice(r, x, 3, 1, dim, 2) : ig_rd_slice(r, x, 3, half, dim, 1);
  cos = ig_rd_unsqueeze(r, cos, 2);
  sin = ig_rd_unsqueeze(r, sin, 2);
  ig_tensor *ca = ig_rd_mul(r, cos, a);
  ig_tensor *re = ig_rd_sub(r, ca, ig_rd_mul(r, sin, b));
  ig_tensor *sa = ig_rd_mul(r, sin, a);
  ig_tensor *im = ig_rd_add(r, sa, ig_rd_mul(r, cos, b));
  if (!re || !im) return NULL;
  if (!mixed) return ig_rd_cat(r, (ig_tensor *[]){re, im}, 2, 3);
  ig_tensor *pairs = ig_rd_stack(r, (ig_tensor *[]){re, im}, 2, 4);
  ig_int sizes[4] = {ig_rd_size(r, x, 0), ig_rd_size(r, x, 1), ig_rd_size(r, x, 2), ig_const(dim)};
  return ig_rd_reshape(r, pairs, sizes, 4);
}

static void read_rotary(ig_rd *r) {
  static const int64_t perm[] = {0, 2, 1, 3};
  ig_tensor *input = ig_rd_in(r, 0);
  ig_tensor *ids = ig_rd_opt(r, 3);
  ig_tensor *cos = cache_rows(r, ig_rd_in(r, 1), ids);
  ig_tensor *sin = cache_rows(r, ig_rd_in(r, 2), ids);
  int64_t heads = ig_rd_attr_int(r, "num_heads", 0);
  if (!input || !cos || !sin) return;
  if (cos->ndim != 3 || sin->ndim != 3 || input->ndim < 3 || input->ndim > 4 ||
      (input->ndim == 3 && heads < 1)) {
    ig_rd_fail(r, IG_INVALID, "expected 3 dimensions and num_heads, or 4, and caches by position");
    return;
  }
  ig_tensor *x = input;
  if (input->ndim == 3) {
    ig_int size = ig_int_floordiv(r->c, ig_rd_size(r, x, 2), ig_const(heads));
    ig_int sizes[4] = {ig_rd_size(r, x, 0), ig_rd_size(r, x, 1), ig_const(heads), size};
    x = ig_rd_reshape(r, x, sizes, 4);
  } else {
    x = ig_rd_permute(r, x, perm, 4);
  }
  if (!x) return;
  int64_t size = ig_rd_plain(r, ig_rd_size(r, x, 3));
  int64_t dim = ig_rd_attr_int(r, "rotary_embedding_dim", 0);
  if (dim == 0) dim = size;
  if (dim < 2 || dim % 2 || dim > size) {
    ig_rd_fail(r, IG_INVALID, "rotation of %lld of %lld elements", (long long)dim, (long long)size);
    return;
  }
  ig_tensor *y = rotate(r, x, cos, sin, dim);
  if (dim < size && y)
    y = ig_rd_cat(r, (ig_tensor *[]){y, ig_rd_slice(r, x, 3, dim, size, 1)}, 2, 3);
  y = input->ndim == 3 ? ig_rd_reshape(r, y, ig_sizes(input), 3) : ig_rd_permute(r, y, perm, 4);
  ig_rd_out(r, 0, y);
}

const ig_rd_row ig_rd_rows_attention[] = {
    {"Attention", 23, read_attention},
    {"LinearAttention", 27, read_linear_attention},
    {"RotaryEmbedding", 23, read_rotary},
    {NULL, 0, NULL},
};

const ig_rd_row ig_rd_rows_preview[] = {
    {"FlexAttention", 1, read_flex_attention},
    {NULL, 0, NULL},
};
