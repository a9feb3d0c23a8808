// SPDX-License-Identifier: Apache-2.0
// Inputs, attributes and outputs of the node being read.
#include <math.h>
#include <string.h>

#include "onnx_read/reader.h"
#include "sym/env.h"

// ---- inputs

bool ig_rd_has(const ig_rd *r, size_t i) {
  return i < r->nin && r->in[i];
}

ig_rd_value *ig_rd_val(ig_rd *r, size_t i) {
  if (ig_rd_has(r, i)) return r->in[i];
  ig_rd_fail(r, IG_INVALID, "input %zu is missing", i);
  return NULL;
}

ig_tensor *ig_rd_in(ig_rd *r, size_t i) {
  return ig_rd_tensor(r, ig_rd_val(r, i));
}

ig_tensor *ig_rd_opt(ig_rd *r, size_t i) {
  return ig_rd_has(r, i) ? ig_rd_tensor(r, r->in[i]) : NULL;
}

int ig_rd_elem(const ig_rd *r, size_t i) {
  return ig_rd_has(r, i) ? r->in[i]->elem : IG_OM_UNDEFINED;
}

static ig_int element(ig_rd *r, ig_tensor *t, int64_t i) {
  ig_value out = ig_none();
  if (t && t->ndim == 1) t = ig_rd_select(r, t, 0, i);
  if (t) ig__local_scalar_dense(r->c, t, &out);
  if (out.kind == IG_KIND_INT) return out.i;
  if (out.kind == IG_KIND_BOOL && !out.b_expr) return ig_const(out.b);
  ig_rd_fail(r, IG_UNSUPPORTED,
             "needs a data-dependent truth value, so the model cannot be converted to a program; "
             "it can be run");
  return ig_const(0);
}

const ig_int *ig_rd_ints(ig_rd *r, size_t i, size_t *n) {
  *n = 0;
  ig_rd_value *v = ig_rd_val(r, i);
  if (v && v->ints) {
    *n = v->nints;
    return v->ints;
  }
  ig_tensor *t = ig_rd_tensor(r, v);
  if (!t) return NULL;
  bool whole = ig_dtype_is_integral(t->dtype) || t->dtype == IG_BOOL;
  if (!whole || t->ndim > 1) {
    ig_rd_fail(r, IG_BAD_TYPE,
               "input %zu: found %s with %d dimensions, expected a list of integers", i,
               ig_dtype_text(t->dtype), t->ndim);
    return NULL;
  }
  int64_t count = t->ndim ? ig_rd_plain(r, ig_rd_size(r, t, 0)) : 1;
  ig_int *out = ig_scope_array(r->c, (size_t)count, sizeof *out);
  if (!out || !ig_rd_ok(r)) return NULL;
  const int64_t *data = ig_tensor_is_fake(t) ? NULL : ig_rd_bytes(r, t, IG_I64);
  for (int64_t k = 0; k < count; k++) out[k] = data ? ig_const(data[k]) : element(r, t, k);
  *n = ig_rd_ok(r) ? (size_t)count : 0;
  return ig_rd_ok(r) ? out : NULL;
}

ig_int ig_rd_size_in(ig_rd *r, ig_tensor *t, int64_t least) {
  ig_int n = element(r, t, 0);
  if (ig_rd_ok(r) && n.expr) ig_sym_constrain(r->c, n, least, INT64_MAX, true);
  return n;
}

ig_int ig_rd_one_int(ig_rd *r, size_t i) {
  size_t n = 0;
  const ig_int *at = ig_rd_ints(r, i, &n);
  if (at && n == 1) return at[0];
  ig_rd_fail(r, IG_INVALID, "input %zu: found %zu integers, expected 1", i, n);
  return ig_const(0);
}

const int64_t *ig_rd_consts(ig_rd *r, size_t i, size_t *n) {
  const ig_int *at = ig_rd_ints(r, i, n);
  int64_t *out = at ? ig_scope_array(r->c, *n, sizeof *out) : NULL;
  for (size_t k = 0; out && k < *n; k++) out[k] = ig_rd_plain(r, at[k]);
  if (!out) *n = 0;
  return out;
}

int64_t ig_rd_one_const(ig_rd *r, size_t i) {
  return ig_rd_plain(r, ig_rd_one_int(r, i));
}

const double *ig_rd_floats(ig_rd *r, size_t i, size_t *n) {
  ig_tensor *t = ig_rd_in(r, i);
  const double *at = t ? ig_rd_bytes(r, t, IG_F64) : NULL;
  *n = at ? (size_t)ig_tensor_numel(t) : 0;
  return at;
}

double ig_rd_one_float(ig_rd *r, size_t i) {
  size_t n = 0;
  const double *at = ig_rd_floats(r, i, &n);
  if (at && n == 1) return at[0];
  ig_rd_fail(r, IG_INVALID, "input %zu: found %zu numbers, expected 1", i, n);
  return 0;
}

// ---- attributes

// Inside a function an attribute may stand for one of the caller's, or for a
// default.
static const ig_om_attr *follow(const ig_rd_frame *f, const ig_om_attr *a) {
  while (a && a->ref) {
    while (f && !f->fn) f = f->up;
    if (!f) return NULL;
    const char *name = a->ref;
    a = ig_om_find_attr(f->call, name);
    for (size_t i = 0; !a && i < f->fn->ndefaults; i++) {
      if (strcmp(f->fn->defaults[i].name, name) == 0) a = &f->fn->defaults[i];
    }
    f = f->caller;
  }
  return a;
}

const ig_om_attr *ig_rd_attr(ig_rd *r, const char *name) {
  return follow(r->frame, ig_om_find_attr(r->node, name));
}

static const ig_om_attr *typed(ig_rd *r, const char *name, ig_om_attr_type type, const char *what) {
  const ig_om_attr *a = ig_rd_attr(r, name);
  if (a && a->type != type) {
    ig_rd_fail(r, IG_BAD_TYPE, "attribute '%s': found type %d, expected %s", name, (int)a->type,
               what);
    return NULL;
  }
  return a;
}

int64_t ig_rd_attr_int(ig_rd *r, const char *name, int64_t otherwise) {
  const ig_om_attr *a = typed(r, name, IG_OM_ATTR_INT, "an integer");
  return a ? a->i : otherwise;
}

double ig_rd_attr_float(ig_rd *r, const char *name, double otherwise) {
  const ig_om_attr *a = typed(r, name, IG_OM_ATTR_FLOAT, "a float");
  return a ? (double)a->f : otherwise;
}

const char *ig_rd_attr_text(ig_rd *r, const char *name, const char *otherwise) {
  const ig_om_attr *a = typed(r, name, IG_OM_ATTR_STRING, "a string");
  if (!a) return otherwise;
  char *text = ig_scope_push(r->c, a->s.n + 1);
  if (!text) return otherwise;
  if (a->s.n) memcpy(text, a->s.at, a->s.n);
  text[a->s.n] = 0;
  return text;
}

const int64_t *ig_rd_attr_ints(ig_rd *r, const char *name, size_t *n) {
  static const int64_t none[1];
  const ig_om_attr *a = typed(r, name, IG_OM_ATTR_INTS, "integers");
  *n = a ? a->n : 0;
  return a && a->n ? a->ints : a ? none : NULL;
}

const float *ig_rd_attr_floats(ig_rd *r, const char *name, size_t *n) {
  static const float none[1];
  const ig_om_attr *a = typed(r, name, IG_OM_ATTR_FLOATS, "floats");
  *n = a ? a->n : 0;
  return a && a->n ? a->floats : a ? none : NULL;
}

const ig_bytes *ig_rd_attr_strings(ig_rd *r, const char *name, size_t *n) {
  static const ig_bytes none[1];
  const ig_om_attr *a = typed(r, name, IG_OM_ATTR_STRINGS, "strings");
  *n = a ? a->n : 0;
  return a && a->n ? a->strings : a ? none : NULL;
}

const ig_om_graph *ig_rd_attr_graph(ig_rd *r, const char *name) {
  const ig_om_attr *a = typed(r, name, IG_OM_ATTR_GRAPH, "a graph");
  if (a) return a->graphs[0];
  ig_rd_fail(r, IG_INVALID, "attribute '%s' is missing", name);
  return NULL;
}

bool ig_rd_text_is(ig_bytes b, const char *text) {
  return b.n == strlen(text) && (b.n == 0 || memcmp(b.at, text, b.n) == 0);
}

// ---- outputs

void ig_rd_out_val(ig_rd *r, size_t i, ig_rd_value *v) {
  if (i < r->nout) r->out[i] = v;
}

void ig_rd_out_elem(ig_rd *r, size_t i, ig_tensor *t, int elem) {
  if (i < r->nout) r->out[i] = ig_rd_of_tensor(r, t, elem);
}

void ig_rd_out(ig_rd *r, size_t i, ig_tensor *t) {
  ig_rd_out_elem(r, i, t, IG_OM_UNDEFINED);
}

void ig_rd_out_like(ig_rd *r, size_t i, ig_tensor *t, size_t input) {
  ig_rd_out_elem(r, i, t, ig_rd_elem(r, input));
}

bool ig_rd_wants(const ig_rd *r, size_t i) {
  return i < r->nout && r->node->outputs[i][0];
}
