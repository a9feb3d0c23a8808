// SPDX-License-Identifier: Apache-2.0
// Operators of ai.onnx.ml except trees: encoders, scalers, linear models, support vectors.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "onnx_ops/ml.h"

// ---- post transforms, shared with trees

static ig_tensor *logistic(ig_rd *r, ig_tensor *t) {
  return t ? ig_sigmoid(r->c, t) : NULL;
}

ig_tensor *ig_rd_post_transform(ig_rd *r, ig_tensor *t, const char *how) {
  if (!t || strcmp(how, "NONE") == 0) return t;
  if (strcmp(how, "LOGISTIC") == 0) return logistic(r, t);
  if (strcmp(how, "SOFTMAX") == 0) return ig_softmax_int(r->c, t, ig_const(-1));
  if (strcmp(how, "SOFTMAX_ZERO") == 0) {  // zeros stay zeros and count for nothing
    ig_tensor *zero = ig_eq_scalar(r->c, t, ig_of_i64(0));
    ig_tensor *hidden = zero ? ig_masked_fill_scalar(r->c, t, zero, ig_of_f64(-INFINITY)) : NULL;
    ig_tensor *y = hidden ? ig_softmax_int(r->c, hidden, ig_const(-1)) : NULL;
    return y ? ig_masked_fill_scalar(r->c, y, zero, ig_of_i64(0)) : NULL;
  }
  if (strcmp(how, "PROBIT") == 0) {
    ig_tensor *x = ig_rd_addn(r, ig_rd_muln(r, t, 2), -1);
    return x ? ig_rd_muln(r, ig_erfinv(r->c, x), 1.41421356237309515) : NULL;
  }
  ig_rd_fail(r, IG_INVALID, "attribute 'post_transform': found '%s'", how);
  return NULL;
}

static ig_tensor *floats_attr(ig_rd *r, const char *name, size_t *n) {
  const float *at = ig_rd_attr_floats(r, name, n);
  return at ? ig_rd_constant(r, IG_F32, at, (int64_t)*n) : NULL;
}

// ---- features

static void read_array_feature_extractor(ig_rd *r) {
  ig_tensor *t = ig_rd_in(r, 0);
  ig_tensor *index = ig_rd_in(r, 1);
  if (!t || !index || t->ndim < 1) return;
  ig_int all = ig_numel_of(r->c, index);
  if (t->ndim == 1) t = ig_rd_unsqueeze(r, t, 0);
  index = ig_rd_reshape(r, index, &all, 1);
  ig_rd_out(r, 0, index && t ? ig_index_select(r->c, t, ig_const(t->ndim - 1), index) : NULL);
}

static void read_binarizer(ig_rd *r) {
  ig_tensor *t = ig_rd_in(r, 0);
  double threshold = ig_rd_attr_float(r, "threshold", 0);
  ig_tensor *on = t ? ig_gt_scalar(r->c, t, ig_of_f64(threshold)) : NULL;
  ig_rd_out(r, 0, on ? ig_cast(r->c, on, t->dtype) : NULL);
}

static void read_imputer(ig_rd *r) {
  ig_tensor *t = ig_rd_in(r, 0);
  if (!t) return;
  bool whole = ig_dtype_is_integral(t->dtype);
  size_t n = 0;
  ig_tensor *fill = NULL;
  ig_tensor *missing = NULL;
  if (whole) {
    const int64_t *at = ig_rd_attr_ints(r, "imputed_value_int64s", &n);
    fill = at ? ig_rd_constant(r, IG_I64, at, (int64_t)n) : NULL;
    missing = ig_eq_scalar(r->c, t, ig_of_i64(ig_rd_attr_int(r, "replaced_value_int64", 0)));
  } else {
    fill = floats_attr(r, "imputed_value_floats", &n);
    double old = ig_rd_attr_float(r, "replaced_value_float", 0);
    missing = isnan(old) ? ig_isnan(r->c, t) : ig_eq_scalar(r->c, t, ig_of_f64(old));
  }
  if (!fill || !missing) {
    ig_rd_fail(r, IG_INVALID, "the imputed values are missing");
    return;
  }
  fill = ig_cast(r->c, fill, t->dtype);
  if (n == 1) fill = ig_rd_reshape(r, fill, NULL, 0);
  ig_rd_out(r, 0, fill ? ig_where_self(r->c, missing, fill, t) : NULL);
}

static void read_normalizer(ig_rd *r) {
  ig_tensor *t = ig_rd_in(r, 0);
  const char *norm = ig_rd_attr_text(r, "norm", "MAX");
  if (!t || t->ndim < 1) return;
  t = ig_cast(r->c, t, IG_F32);
  int64_t last = -1;
  ig_int dim = ig_const(-1);
  ig_tensor *d = NULL;
  if (strcmp(norm, "MAX") == 0) {
    d = ig_amax_with(r->c, t, ig_of_ints(&dim, 1), true);
  } else if (strcmp(norm, "L1") == 0) {
    d = ig_rd_sum(r, ig_abs(r->c, t), &last, 1, true);
  } else {
    d = ig_rd_sum(r, ig_mul_tensor(r->c, t, t), &last, 1, true);
    d = d ? ig_sqrt(r->c, d) : NULL;
  }
  ig_tensor *zero = d ? ig_eq_scalar(r->c, d, ig_of_i64(0)) : NULL;
  d = zero ? ig_masked_fill_scalar(r->c, d, zero, ig_of_i64(1)) : NULL;
  ig_rd_out(r, 0, ig_rd_div(r, t, d));
}

static void read_scaler(ig_rd *r) {
  ig_tensor *t = ig_cast(r->c, ig_rd_in(r, 0), IG_F32);
  size_t n = 0;
  ig_tensor *offset = floats_attr(r, "offset", &n);
  if (offset) t = ig_rd_sub(r, t, offset);
  ig_tensor *scale = floats_attr(r, "scale", &n);
  ig_rd_out(r, 0, scale ? ig_rd_mul(r, t, scale) : t);
}

static void read_feature_vectorizer(ig_rd *r) {
  ig_tensor **parts = ig_scope_array(r->c, r->nin, sizeof *parts);
  for (size_t i = 0; parts && i < r->nin; i++) {
    ig_tensor *t = ig_cast(r->c, ig_rd_in(r, i), IG_F32);
    parts[i] = t && t->ndim == 1 ? ig_rd_unsqueeze(r, t, 0) : t;
  }
  if (parts && ig_rd_ok(r)) ig_rd_out(r, 0, ig_rd_cat(r, parts, r->nin, 1));
}

static void read_one_hot(ig_rd *r) {
  const ig_rd_value *v = ig_rd_val(r, 0);
  size_t n = 0;
  bool zeros = ig_rd_attr_int(r, "zeros", 1);
  const ig_bytes *texts = ig_rd_attr_strings(r, "cats_strings", &n);
  const int64_t *numbers = texts ? NULL : ig_rd_attr_ints(r, "cats_int64s", &n);
  if (!v || (!texts && !numbers)) {
    ig_rd_fail(r, IG_INVALID, "the categories are missing");
    return;
  }
  if (numbers) {
    ig_tensor *t = ig_rd_unsqueeze(r, ig_cast(r->c, ig_rd_in(r, 0), IG_I64), -1);
    ig_tensor *cats = ig_rd_constant(r, IG_I64, numbers, (int64_t)n);
    ig_tensor *on = t && cats ? ig_eq_tensor(r->c, t, cats) : NULL;
    ig_rd_out(r, 0, ig_cast(r->c, on, IG_F32));
    return;
  }
  int64_t dims[IG_MAX_DIM];
  if (v->kind != IG_RD_STRINGS || v->ndim >= IG_MAX_DIM) {
    ig_rd_fail(r, IG_BAD_TYPE, "expected strings");
    return;
  }
  for (int d = 0; d < v->ndim; d++) dims[d] = v->dims[d];
  dims[v->ndim] = (int64_t)n;
  ig_tensor *out = ig_rd_real(r, IG_F32, dims, v->ndim + 1);
  for (size_t i = 0; out && i < v->nstrings; i++) {
    bool found = false;
    for (size_t k = 0; k < n; k++) {
      bool hit = v->strings[i].n == texts[k].n &&
                 (texts[k].n == 0 || memcmp(v->strings[i].at, texts[k].at, texts[k].n) == 0);
      ((float *)ig_tensor_data(out))[i * n + k] = hit;
      found |= hit;
    }
    if (!found && !zeros) ig_rd_fail(r, IG_INVALID, "string %zu is in no category", i);
  }
  ig_rd_out(r, 0, out);
}

// ---- LabelEncoder, CategoryMapper: lists of keys and values

typedef struct labels {
  size_t n;
  const ig_bytes *texts;
  const double *numbers;
  int elem;  // of numbers
} labels;

static bool labels_of_tensor(ig_rd *r, const ig_om_tensor *t, labels *out) {
  *out = (labels){.n = (size_t)t->numel, .elem = t->elem};
  if (t->elem == IG_OM_STRING) {
    out->texts = t->strings;
  } else {
    out->numbers = ig_rd_bytes(r, ig_rd_tensor(r, ig_rd_of_data(r, t)), IG_F64);
  }
  return ig_rd_ok(r);
}

// "keys" or "values" in whichever attribute they are.
static bool take_labels(ig_rd *r, const char *prefix, labels *out) {
  char name[40];
  *out = (labels){0};
  (void)snprintf(name, sizeof name, "%s_tensor", prefix);
  const ig_om_attr *a = ig_rd_attr(r, name);
  if (a && a->type == IG_OM_ATTR_TENSOR) return labels_of_tensor(r, a->tensors[0], out);
  (void)snprintf(name, sizeof name, "%s_strings", prefix);
  out->texts = ig_rd_attr_strings(r, name, &out->n);
  out->elem = IG_OM_STRING;
  if (out->texts) return true;
  (void)snprintf(name, sizeof name, "%s_int64s", prefix);
  const int64_t *ints = ig_rd_attr_ints(r, name, &out->n);
  size_t nfloats = 0;
  (void)snprintf(name, sizeof name, "%s_floats", prefix);
  const float *floats = ints ? NULL : ig_rd_attr_floats(r, name, &nfloats);
  if (!ints) out->n = nfloats;
  out->elem = ints ? IG_OM_INT64 : IG_OM_FLOAT;
  double *numbers = ig_scope_array(r->c, out->n, sizeof *numbers);
  for (size_t i = 0; numbers && i < out->n; i++)
    numbers[i] = ints ? (double)ints[i] : (double)floats[i];
  out->numbers = numbers;
  return numbers && (ints || floats);
}

static size_t find_text(const labels *keys, ig_bytes s) {
  for (size_t i = keys->n; i-- > 0;) {
    ig_bytes k = keys->texts[i];
    if (k.n == s.n && (s.n == 0 || memcmp(k.at, s.at, s.n) == 0)) return i;
  }
  return SIZE_MAX;
}

static size_t find_number(const labels *keys, double v) {
  for (size_t i = keys->n; i-- > 0;) {
    if (keys->numbers[i] == v || (isnan(v) && isnan(keys->numbers[i]))) return i;
  }
  return SIZE_MAX;
}

// Which key each element is: SIZE_MAX none.
static size_t *find_keys(ig_rd *r, const ig_rd_value *v, const labels *keys, size_t *n,
                         int64_t *dims, int *ndim) {
  bool text = v->kind == IG_RD_STRINGS;
  if (text != (keys->texts != NULL)) {
    ig_rd_fail(r, IG_BAD_TYPE, "the input is of another type than the keys");
    return NULL;
  }
  ig_tensor *t = text ? NULL : ig_rd_in(r, 0);
  const double *numbers = t ? ig_rd_bytes(r, t, IG_F64) : NULL;
  if (!text && !numbers) return NULL;
  *ndim = text ? v->ndim : t->ndim;
  for (int d = 0; d < *ndim; d++)
    dims[d] = text ? v->dims[d] : ig_sizes(t)[d].value;  // concrete: bytes
  *n = text ? v->nstrings : (size_t)ig_tensor_numel(t);
  size_t *at = ig_scope_array(r->c, *n, sizeof *at);
  for (size_t i = 0; at && i < *n; i++) {
    at[i] = text ? find_text(keys, v->strings[i]) : find_number(keys, numbers[i]);
  }
  return at;
}

static void map_labels(ig_rd *r, const labels *keys, const labels *values, ig_bytes text,
                       double number) {
  const ig_rd_value *v = ig_rd_val(r, 0);
  int64_t dims[IG_MAX_DIM];
  int ndim = 0;
  size_t n = 0;
  if (!v) return;
  if (keys->n != values->n) {
    ig_rd_fail(r, IG_INVALID, "%zu keys for %zu values", keys->n, values->n);
    return;
  }
  const size_t *at = find_keys(r, v, keys, &n, dims, &ndim);
  if (!at) return;
  if (values->texts) {
    ig_bytes *out = ig_scope_array(r->c, n, sizeof *out);
    for (size_t i = 0; out && i < n; i++) out[i] = at[i] == SIZE_MAX ? text : values->texts[at[i]];
    if (out) ig_rd_out_val(r, 0, ig_rd_of_strings(r, out, n, dims, ndim));
    return;
  }
  ig_tensor *out = ig_rd_real(r, IG_F64, dims, ndim);
  for (size_t i = 0; out && i < n; i++) {
    ((double *)ig_tensor_data(out))[i] = at[i] == SIZE_MAX ? number : values->numbers[at[i]];
  }
  ig_rd_out_elem(r, 0, ig_rd_cast(r, out, IG_OM_DOUBLE, values->elem, true), values->elem);
}

static void default_text(ig_rd *r, ig_bytes *out) {
  *out = (ig_bytes){(const uint8_t *)"_Unused", 7};
  const ig_om_attr *a = ig_rd_attr(r, "default_string");
  if (a && a->type == IG_OM_ATTR_STRING) *out = a->s;
}

// Names and numbers, whichever way the input asks for.
static void map_both(ig_rd *r, const labels *names, const labels *numbers) {
  const ig_rd_value *v = ig_rd_val(r, 0);
  bool from_text = v && v->kind == IG_RD_STRINGS;
  ig_bytes text;
  default_text(r, &text);
  double number = (double)ig_rd_attr_int(r, "default_int64", -1);
  map_labels(r, from_text ? names : numbers, from_text ? numbers : names, text, number);
}

static void read_label_encoder_1(ig_rd *r) {
  size_t n = 0;
  const ig_bytes *classes = ig_rd_attr_strings(r, "classes_strings", &n);
  double *at = ig_scope_array(r->c, n, sizeof *at);
  if (!classes || !at) return;
  for (size_t i = 0; i < n; i++) at[i] = (double)i;
  map_both(r, &(labels){n, classes, NULL, IG_OM_STRING}, &(labels){n, NULL, at, IG_OM_INT64});
}

static void read_label_encoder(ig_rd *r) {
  labels keys;
  labels values;
  ig_bytes text;
  if (!take_labels(r, "keys", &keys) || !take_labels(r, "values", &values)) {
    ig_rd_fail(r, IG_INVALID, "keys or values are missing");
    return;
  }
  bool floats = values.elem == IG_OM_FLOAT || values.elem == IG_OM_DOUBLE;
  double number = floats ? ig_rd_attr_float(r, "default_float", -0.0)
                         : (double)ig_rd_attr_int(r, "default_int64", -1);
  default_text(r, &text);
  const ig_om_attr *d = ig_rd_attr(r, "default_tensor");
  labels given;
  if (d && d->type == IG_OM_ATTR_TENSOR && d->tensors[0]->numel == 1 &&
      labels_of_tensor(r, d->tensors[0], &given)) {
    if (given.texts) text = given.texts[0];
    if (given.numbers) number = given.numbers[0];
  }
  map_labels(r, &keys, &values, text, number);
}

static void read_category_mapper(ig_rd *r) {
  labels names = {.elem = IG_OM_STRING};
  size_t n = 0;
  names.texts = ig_rd_attr_strings(r, "cats_strings", &names.n);
  const int64_t *ints = ig_rd_attr_ints(r, "cats_int64s", &n);
  double *at = ig_scope_array(r->c, n, sizeof *at);
  if (!names.texts || !ints || !at) {
    ig_rd_fail(r, IG_INVALID, "the categories are missing");
    return;
  }
  for (size_t i = 0; i < n; i++) at[i] = (double)ints[i];
  map_both(r, &names, &(labels){n, NULL, at, IG_OM_INT64});
}

// ---- linear models

// One score for two classes: scores of both; *best is 1 where the second is meant.
static ig_tensor *two_scores(ig_rd *r, ig_tensor *score, const char *post, ig_tensor **best) {
  bool is_logistic = strcmp(post, "LOGISTIC") == 0;
  double limit = strcmp(post, "NONE") == 0 ? 0 : 0.5;
  ig_tensor *p = is_logistic ? logistic(r, score) : score;
  ig_tensor *yes = p ? ig_gt_scalar(r->c, p, ig_of_f64(limit)) : NULL;
  *best = ig_rd_squeeze(r, ig_cast(r->c, yes, IG_I64), 1);
  ig_tensor *no = ig_rd_muln(r, p, -1);
  if (is_logistic) no = ig_rd_addn(r, no, 1);
  ig_tensor *both = no && p ? ig_rd_cat(r, (ig_tensor *[]){no, p}, 2, 1) : NULL;
  return is_logistic ? both : ig_rd_post_transform(r, both, post);
}

static void text_labels(ig_rd *r, ig_tensor *best, const ig_bytes *texts, size_t ntexts) {
  const int64_t *at = ig_rd_bytes(r, best, IG_I64);
  int64_t n = at ? ig_tensor_numel(best) : 0;
  ig_bytes *out = ig_scope_array(r->c, (size_t)n, sizeof *out);
  for (int64_t i = 0; at && out && i < n; i++) {
    if (at[i] < 0 || (size_t)at[i] >= ntexts) {
      ig_rd_fail(r, IG_INVALID, "class %lld has no label", (long long)at[i]);
      return;
    }
    out[i] = texts[at[i]];
  }
  if (out && at) ig_rd_out_val(r, 0, ig_rd_of_strings(r, out, (size_t)n, &n, 1));
}

// scores [n, classes]; the label is the best class. Two classes may have one score.
void ig_rd_classify(ig_rd *r, ig_tensor *scores, const char *post, bool binary) {
  size_t nints = 0;
  size_t nstrings = 0;
  const int64_t *ints = ig_rd_attr_ints(r, "classlabels_ints", &nints);
  if (!ints) ints = ig_rd_attr_ints(r, "classlabels_int64s", &nints);
  const ig_bytes *texts = ig_rd_attr_strings(r, "classlabels_strings", &nstrings);
  if (!scores || !ig_rd_ok(r)) return;
  ig_tensor *best = NULL;
  if (binary) {
    scores = two_scores(r, scores, post, &best);
  } else {
    best = ig_argmax_with(r->c, scores, ig_of_i64(1), false);
    scores = ig_rd_post_transform(r, scores, post);
  }
  ig_rd_out(r, 1, scores);
  if (texts) {
    text_labels(r, best, texts, nstrings);
    return;
  }
  ig_tensor *table = ints ? ig_rd_constant(r, IG_I64, ints, (int64_t)nints) : NULL;
  ig_rd_out(r, 0, table && best ? ig_index_select(r->c, table, ig_const(0), best) : best);
}

// x W^T + b with W [classes, features]
static ig_tensor *linear_scores(ig_rd *r, int64_t classes) {
  ig_tensor *x = ig_cast(r->c, ig_rd_in(r, 0), IG_F32);
  size_t n = 0;
  size_t nb = 0;
  ig_tensor *w = floats_attr(r, "coefficients", &n);
  ig_tensor *b = floats_attr(r, "intercepts", &nb);
  if (!x || !w) return NULL;
  if (x->ndim == 1) x = ig_rd_unsqueeze(r, x, 0);
  if (classes < 1 || n % (size_t)classes || x->ndim != 2) {
    ig_rd_fail(r, IG_INVALID, "%zu coefficients for %lld targets", n, (long long)classes);
    return NULL;
  }
  ig_int sizes[2] = {ig_const(classes), ig_const((int64_t)n / classes)};
  w = ig_rd_reshape(r, w, sizes, 2);
  return w ? ig_linear_with(r->c, x, w, nb == (size_t)classes ? b : NULL) : NULL;
}

static void read_linear_regressor(ig_rd *r) {
  ig_tensor *y = linear_scores(r, ig_rd_attr_int(r, "targets", 1));
  ig_rd_out(r, 0, ig_rd_post_transform(r, y, ig_rd_attr_text(r, "post_transform", "NONE")));
}

static void read_linear_classifier(ig_rd *r) {
  size_t nints = 0;
  size_t nstrings = 0;
  size_t nb = 0;
  (void)ig_rd_attr_ints(r, "classlabels_ints", &nints);
  (void)ig_rd_attr_strings(r, "classlabels_strings", &nstrings);
  (void)ig_rd_attr_floats(r, "intercepts", &nb);
  size_t classes = nints ? nints : nstrings;
  bool binary = classes == 2 && nb == 1;
  ig_tensor *y = linear_scores(r, binary ? 1 : (int64_t)classes);
  ig_rd_classify(r, y, ig_rd_attr_text(r, "post_transform", "NONE"), binary);
}

// ---- support vectors

static ig_tensor *kernel(ig_rd *r, ig_tensor *x, ig_tensor *vectors) {
  static const int64_t swap[] = {1, 0};
  const char *type = ig_rd_attr_text(r, "kernel_type", "LINEAR");
  size_t n = 0;
  const float *p = ig_rd_attr_floats(r, "kernel_params", &n);
  double gamma = p && n > 0 ? (double)p[0] : 0;
  double coef = p && n > 1 ? (double)p[1] : 0;
  double degree = p && n > 2 ? (double)p[2] : 0;
  if (!x || !vectors) return NULL;
  if (strcmp(type, "RBF") == 0) {
    ig_tensor *a = ig_rd_unsqueeze(r, x, 1);
    ig_tensor *d = ig_rd_sub(r, a, ig_rd_unsqueeze(r, vectors, 0));
    int64_t last = 2;
    d = d ? ig_rd_sum(r, ig_mul_tensor(r->c, d, d), &last, 1, false) : NULL;
    d = ig_rd_muln(r, d, -gamma);
    return d ? ig_exp(r->c, d) : NULL;
  }
  ig_tensor *dot = ig_matmul(r->c, x, ig_rd_permute(r, vectors, swap, 2));
  if (strcmp(type, "LINEAR") == 0) return dot;
  dot = ig_rd_addn(r, ig_rd_muln(r, dot, gamma), coef);
  if (!dot) return NULL;
  return strcmp(type, "SIGMOID") == 0 ? ig_tanh(r->c, dot)
                                      : ig_pow_tensor_scalar(r->c, dot, ig_of_f64(degree));
}

static void read_svm_regressor(ig_rd *r) {
  ig_tensor *x = ig_cast(r->c, ig_rd_in(r, 0), IG_F32);
  int64_t count = ig_rd_attr_int(r, "n_supports", 0);
  size_t n = 0;
  size_t nc = 0;
  size_t nrho = 0;
  ig_tensor *coefficients = floats_attr(r, "coefficients", &nc);
  ig_tensor *vectors = floats_attr(r, "support_vectors", &n);
  const float *rho = ig_rd_attr_floats(r, "rho", &nrho);
  if (!x || !coefficients || x->ndim != 2) {
    ig_rd_fail(r, IG_INVALID, "expected 2 dimensions and coefficients");
    return;
  }
  ig_tensor *k = NULL;
  if (count > 0 && vectors && n % (size_t)count == 0) {
    ig_int sizes[2] = {ig_const(count), ig_const((int64_t)n / count)};
    k = kernel(r, x, ig_rd_reshape(r, vectors, sizes, 2));
  } else {
    k = x;
  }
  ig_int column[2] = {ig_const((int64_t)nc), ig_const(1)};
  ig_tensor *w = ig_rd_reshape(r, coefficients, column, 2);
  ig_tensor *y = k && w ? ig_matmul(r->c, k, w) : NULL;
  if (rho && nrho) y = ig_rd_addn(r, y, (double)rho[0]);
  if (ig_rd_attr_int(r, "one_class", 0) && y) {
    ig_tensor *yes = ig_gt_scalar(r->c, y, ig_of_i64(0));
    y = yes ? ig_rd_addn(r, ig_rd_muln(r, ig_cast(r->c, yes, IG_F32), 2), -1) : NULL;
  }
  ig_rd_out(r, 0, ig_rd_post_transform(r, y, ig_rd_attr_text(r, "post_transform", "NONE")));
}

// Every pair of classes votes; the label is the class with most votes, the scores are the pairs'.
static ig_tensor *svm_pairs(ig_rd *r, ig_tensor *k, const int64_t *per, size_t classes,
                            int64_t total) {
  size_t nc = 0;
  size_t nrho = 0;
  const float *coefficients = ig_rd_attr_floats(r, "coefficients", &nc);
  const float *rho = ig_rd_attr_floats(r, "rho", &nrho);
  size_t pairs = classes * (classes - 1) / 2;
  int64_t dims[2] = {total, (int64_t)pairs};
  if (!coefficients || nc != (classes - 1) * (size_t)total || !rho || nrho < pairs) {
    ig_rd_fail(r, IG_INVALID, "coefficients or rho do not fit %zu classes", classes);
    return NULL;
  }
  ig_tensor *w = ig_rd_real(r, IG_F32, dims, 2);
  if (!w) return NULL;
  float *at = ig_tensor_data(w);
  memset(at, 0, (size_t)total * pairs * sizeof *at);
  int64_t start_i = 0;
  size_t pair = 0;
  for (size_t i = 0; i < classes; start_i += per[i], i++) {
    int64_t start_j = start_i + per[i];
    for (size_t j = i + 1; j < classes; start_j += per[j], j++, pair++) {
      for (int64_t s = 0; s < per[i]; s++) {
        at[(size_t)(start_i + s) * pairs + pair] =
            coefficients[(int64_t)(j - 1) * total + start_i + s];
      }
      for (int64_t s = 0; s < per[j]; s++) {
        at[(size_t)(start_j + s) * pairs + pair] = coefficients[(int64_t)i * total + start_j + s];
      }
    }
  }
  ig_tensor *b = ig_rd_constant(r, IG_F32, rho, (int64_t)pairs);
  ig_tensor *y = k ? ig_matmul(r->c, k, w) : NULL;
  return ig_rd_add(r, y, b);
}

static void read_svm_classifier(ig_rd *r) {
  ig_tensor *x = ig_cast(r->c, ig_rd_in(r, 0), IG_F32);
  size_t classes = 0;
  size_t n = 0;
  size_t nprob = 0;
  const int64_t *per = ig_rd_attr_ints(r, "vectors_per_class", &classes);
  ig_tensor *vectors = floats_attr(r, "support_vectors", &n);
  (void)ig_rd_attr_floats(r, "prob_a", &nprob);
  int64_t total = 0;
  for (size_t i = 0; per && i < classes; i++) {
    if (per[i] < 0 || per[i] > 1 << 24) {
      ig_rd_fail(r, IG_INVALID, "vectors_per_class[%zu] is %lld, expected 0 to 2^24", i,
                 (long long)per[i]);
      return;
    }
    total += per[i];
  }
  if (!x || !vectors || classes < 2 || classes > 1024 || total < 1 || n % (size_t)total || nprob ||
      !ig_rd_ok(r)) {
    ig_rd_fail(r, IG_UNSUPPORTED, "a classifier without vectors, or with probabilities");
    return;
  }
  ig_int sizes[2] = {ig_const(total), ig_const((int64_t)n / total)};
  ig_tensor *k = kernel(r, x, ig_rd_reshape(r, vectors, sizes, 2));
  ig_tensor *scores = svm_pairs(r, k, per, classes, total);
  if (!scores) return;
  // votes [n, classes]: a positive score is a vote for the first of the pair
  int64_t dims[2] = {(int64_t)(classes * (classes - 1) / 2), (int64_t)classes};
  ig_tensor *first = ig_rd_real(r, IG_F32, dims, 2);
  ig_tensor *second = ig_rd_real(r, IG_F32, dims, 2);
  if (!first || !second) return;
  memset(ig_tensor_data(first), 0, (size_t)(dims[0] * dims[1]) * sizeof(float));
  memset(ig_tensor_data(second), 0, (size_t)(dims[0] * dims[1]) * sizeof(float));
  size_t pair = 0;
  for (size_t i = 0; i < classes; i++) {
    for (size_t j = i + 1; j < classes; j++, pair++) {
      ((float *)ig_tensor_data(first))[pair * classes + i] = 1;
      ((float *)ig_tensor_data(second))[pair * classes + j] = 1;
    }
  }
  ig_tensor *yes = ig_cast(r->c, ig_gt_scalar(r->c, scores, ig_of_i64(0)), IG_F32);
  ig_tensor *no = ig_rd_addn(r, ig_rd_muln(r, yes, -1), 1);
  ig_tensor *votes = yes ? ig_matmul(r->c, yes, first) : NULL;
  votes = no ? ig_rd_add(r, votes, ig_matmul(r->c, no, second)) : NULL;
  ig_rd_classify(r, votes, "NONE", false);
  ig_rd_out(r, 1, ig_rd_post_transform(r, scores, ig_rd_attr_text(r, "post_transform", "NONE")));
}

// ---- ZipMap: a map from label to score per row

static void read_zip_map(ig_rd *r) {
  ig_tensor *x = ig_rd_in(r, 0);
  const float *data = ig_rd_bytes(r, x, IG_F32);
  size_t n = 0;
  const ig_bytes *texts = ig_rd_attr_strings(r, "classlabels_strings", &n);
  const int64_t *ints = texts ? NULL : ig_rd_attr_ints(r, "classlabels_int64s", &n);
  if (!data || (!texts && !ints)) return;
  int64_t columns = x->ndim ? ig_rd_size(r, x, -1).value : 1;  // concrete: x has bytes
  if (columns != (int64_t)n || n == 0) {
    ig_rd_fail(r, IG_MISMATCH, "%zu labels for %lld columns", n, (long long)columns);
    return;
  }
  size_t rows = (size_t)(ig_tensor_numel(x) / columns);
  ig_rd_value **maps = ig_scope_array(r->c, rows, sizeof *maps);
  ig_rd_value **items = ig_scope_array(r->c, ig_mem_mul(2, n), sizeof *items);
  for (size_t i = 0; maps && items && i < rows && ig_rd_ok(r); i++) {
    for (size_t k = 0; k < n; k++) {
      ig_int number = ig_const(ints ? ints[k] : 0);
      items[2 * k] = texts ? ig_rd_of_strings(r, &texts[k], 1, NULL, 0)
                           : ig_rd_of_ints(r, &number, 1, 0, IG_OM_INT64);
      ig_tensor *score = ig_rd_scalar(r, (double)data[i * n + k], IG_F32);
      items[2 * k + 1] = ig_rd_of_tensor(r, score, 0);
    }
    maps[i] = ig_rd_of_items(r, IG_RD_MAP, items, 2 * n);
  }
  if (maps && ig_rd_ok(r)) ig_rd_out_val(r, 0, ig_rd_of_items(r, IG_RD_SEQUENCE, maps, rows));
}

const ig_rd_row ig_rd_rows_ml[] = {
    {"ArrayFeatureExtractor", 1, read_array_feature_extractor},
    {"Binarizer", 1, read_binarizer},
    {"CategoryMapper", 1, read_category_mapper},
    {"FeatureVectorizer", 1, read_feature_vectorizer},
    {"Imputer", 1, read_imputer},
    {"LabelEncoder", 1, read_label_encoder_1},
    {"LabelEncoder", 2, read_label_encoder},
    {"LinearClassifier", 1, read_linear_classifier},
    {"LinearRegressor", 1, read_linear_regressor},
    {"Normalizer", 1, read_normalizer},
    {"OneHotEncoder", 1, read_one_hot},
    {"SVMClassifier", 1, read_svm_classifier},
    {"SVMRegressor", 1, read_svm_regressor},
    {"Scaler", 1, read_scaler},
    {"ZipMap", 1, read_zip_map},
    {NULL, 0, NULL},
};
