// SPDX-License-Identifier: Apache-2.0
// Random operators. A seed makes a node draw the same numbers in every run.
#include <math.h>
#include <string.h>

#include "onnx_ops/twister.h"
#include "onnx_read/reader.h"

static ig_dtype out_type(ig_rd *r, ig_dtype otherwise) {
  int64_t elem = ig_rd_attr_int(r, "dtype", 0);
  ig_dtype d =
      elem ? ig_om_elem_dtype(elem > 0 && elem < IG_OM_ELEM_COUNT ? (int)elem : 0) : otherwise;
  if (d == IG_DTYPE_COUNT) ig_rd_fail(r, IG_INVALID, "attribute 'dtype' names no type of numbers");
  return d;
}

static bool shape_of(ig_rd *r, bool like, ig_int *sizes, size_t *n) {
  if (like) {
    const ig_tensor *t = ig_rd_in(r, 0);
    if (!t) return false;
    *n = (size_t)t->ndim;
    memcpy(sizes, ig_sizes(t), *n * sizeof *sizes);
    return true;
  }
  const int64_t *shape = ig_rd_attr_ints(r, "shape", n);
  if (!shape || *n > IG_MAX_DIM) {
    ig_rd_fail(r, IG_INVALID, "attribute 'shape' is missing or too long");
    return false;
  }
  for (size_t i = 0; i < *n; i++) sizes[i] = ig_const(shape[i]);
  return true;
}

// Seeded numbers come from a separate generator; under a capture they cannot.
static ig_tensor *seeded(ig_rd *r, const ig_int *sizes, size_t n, float seed, bool normal) {
  int64_t dims[IG_MAX_DIM];
  for (size_t i = 0; i < n; i++) dims[i] = ig_rd_plain(r, sizes[i]);
  ig_tensor *t = ig_rd_real(r, IG_F64, dims, (int)n);
  ig_twister *tw = ig_scope_push(r->c, sizeof *tw);
  if (!t || !tw) return NULL;
  uint32_t bits;
  memcpy(&bits, &seed, sizeof bits);
  bool whole = seed >= 0 && seed < 4294967040.0F && seed == floorf(seed);
  ig_twister_seed(tw, whole ? (uint32_t)seed : bits);
  double *at = ig_tensor_data(t);
  for (int64_t i = 0; i < ig_tensor_numel(t); i++) {
    double u = ig_twister_double(tw);
    if (normal) u = sqrt(-2 * log(1 - u)) * cos(2 * 3.141592653589793 * ig_twister_double(tw));
    at[i] = u;
  }
  return t;
}

static ig_tensor *draw(ig_rd *r, const ig_int *sizes, size_t n, bool normal) {
  if (!ig_rd_budget(r, sizes, n, IG_F64)) return NULL;
  const ig_om_attr *seed = ig_rd_attr(r, "seed");
  if (seed && seed->type == IG_OM_ATTR_FLOAT && !r->capture) {
    return seeded(r, sizes, n, seed->f, normal);
  }
  ig_value shape = ig_of_ints(sizes, n);
  ig_value f64 = ig_of_dtype(IG_F64);
  return normal ? ig_randn_with(r->c, shape, f64, ig_none(), ig_none(), ig_none())
                : ig_rand_with(r->c, shape, f64, ig_none(), ig_none(), ig_none());
}

static void fill(ig_rd *r, bool like, bool normal) {
  ig_int sizes[IG_MAX_DIM];
  size_t n = 0;
  if (!shape_of(r, like, sizes, &n)) return;
  ig_dtype d = out_type(r, like ? ig_rd_in(r, 0)->dtype : IG_F32);
  if (!ig_rd_ok(r)) return;
  double a = ig_rd_attr_float(r, normal ? "mean" : "low", 0);
  double b = ig_rd_attr_float(r, normal ? "scale" : "high", 1);
  ig_tensor *t = draw(r, sizes, n, normal);
  t = ig_rd_addn(r, ig_rd_muln(r, t, normal ? b : b - a), a);
  ig_rd_out(r, 0, ig_cast(r->c, t, d));
}
static void read_uniform(ig_rd *r) {
  fill(r, false, false);
}
static void read_normal(ig_rd *r) {
  fill(r, false, true);
}
static void read_uniform_like(ig_rd *r) {
  fill(r, true, false);
}
static void read_normal_like(ig_rd *r) {
  fill(r, true, true);
}

static void read_bernoulli(ig_rd *r) {
  ig_tensor *p = ig_rd_in(r, 0);
  if (!p) return;
  ig_dtype d = out_type(r, p->dtype);
  if (!ig_rd_ok(r)) return;
  ig_tensor *u = draw(r, ig_sizes(p), (size_t)p->ndim, false);
  ig_tensor *hit = u ? ig_lt_tensor(r->c, u, ig_cast(r->c, p, IG_F64)) : NULL;
  ig_rd_out(r, 0, ig_cast(r->c, hit, d));
}

// Gumbel's trick: the largest of log p plus noise is drawn with probability p.
static void read_multinomial(ig_rd *r) {
  ig_tensor *logits = ig_rd_in(r, 0);
  int64_t n = ig_rd_attr_int(r, "sample_size", 1);
  if (!logits || logits->ndim != 2 || n < 1 || n > 1 << 30) {
    ig_rd_fail(r, IG_INVALID, "expected 2 dimensions and a positive sample_size");
    return;
  }
  int64_t elem = ig_rd_attr_int(r, "dtype", IG_OM_INT32);
  ig_int sizes[3] = {ig_rd_size(r, logits, 0), ig_const(n), ig_rd_size(r, logits, 1)};
  ig_tensor *u = draw(r, sizes, 3, false);
  ig_tensor *inner = u ? ig_neg(r->c, ig_log(r->c, u)) : NULL;
  ig_tensor *noise = inner ? ig_neg(r->c, ig_log(r->c, inner)) : NULL;
  ig_tensor *x = ig_rd_unsqueeze(r, ig_cast(r->c, logits, IG_F64), 1);
  x = ig_rd_add(r, x, noise);
  ig_tensor *best = x ? ig_argmax_with(r->c, x, ig_of_i64(2), false) : NULL;
  ig_rd_out(r, 0, ig_cast(r->c, best, elem == IG_OM_INT64 ? IG_I64 : IG_I32));
}

const ig_rd_row ig_rd_rows_random[] = {
    {"RandomUniform", 1, read_uniform},
    {"RandomNormal", 1, read_normal},
    {"RandomUniformLike", 1, read_uniform_like},
    {"RandomNormalLike", 1, read_normal_like},
    {"Bernoulli", 15, read_bernoulli},
    {"Multinomial", 7, read_multinomial},
    {NULL, 0, NULL},
};
