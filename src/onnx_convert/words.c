// SPDX-License-Identifier: Apache-2.0
// Helpers for steps: attributes, inputs and constants of nodes that are being converted.
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "onnx_convert/convert.h"
#include "tensor/number.h"

void *ig_cv_push(ig_cv *v, size_t size) {
  void *at = v->c->status == IG_OK ? ig_arena_push(&v->to.arena, size ? size : 1) : NULL;
  if (!at && v->c->status == IG_OK) (void)ig_fail(v->c, IG_NOMEM, "out of memory");
  return at;
}

const char *ig_cv_fresh(ig_cv *v, const char *word) {
  const char *base = v->node && v->node->noutputs ? v->node->outputs[0] : "";
  size_t room = strlen(base) + strlen(word) + 32;
  char *name = ig_cv_push(v, room);
  while (name) {
    (void)snprintf(name, room, "%s/%s_%zu", base, word, v->nfresh++);
    if (!ig_map_find(&v->names, name)) break;
  }
  return name ? name : "";
}

// ---- facts

ig_cv_fact *ig_cv_fact_of(ig_cv *v, const char *name) {
  ig_map_value *at = ig_map_put(&v->facts, name);
  if (at && !at->ptr) {
    ig_cv_fact *f = ig_cv_push(v, sizeof *f);
    if (f) *f = (ig_cv_fact){.type.form = -1, .ndim = -1};
    at->ptr = f;
  }
  if (!at && v->c->status == IG_OK) (void)ig_fail(v->c, IG_NOMEM, "out of memory");
  return at ? at->ptr : NULL;
}

const ig_cv_fact *ig_cv_known(ig_cv *v, const char *name) {
  static const ig_cv_fact nothing = {.type.form = -1, .ndim = -1};
  const ig_map_value *at = *name ? ig_map_find(&v->facts, name) : NULL;
  return at && at->ptr ? at->ptr : &nothing;
}

const char *ig_cv_in(const ig_om_node *n, size_t i) {
  return i < n->ninputs ? n->inputs[i] : "";
}

int ig_cv_elem(ig_cv *v, const char *name) {
  ig_om_known t = ig_cv_known(v, name)->type;
  return t.form == IG_ONNX_FORM_TENSOR ? t.elem : 0;
}

int ig_cv_ndim(ig_cv *v, const char *name) {
  return ig_cv_known(v, name)->ndim;
}

// ---- nodes

void ig_cv_set_input(ig_cv *v, ig_om_node *n, size_t i, const char *name) {
  size_t count = i < n->ninputs ? n->ninputs : i + 1;
  const char **inputs = ig_cv_push(v, ig_mem_mul(count, sizeof *inputs));
  if (!inputs) return;
  for (size_t k = 0; k < count; k++) inputs[k] = k == i ? name : ig_cv_in(n, k);
  n->inputs = inputs;
  n->ninputs = count;
}

void ig_cv_cut_inputs(ig_om_node *n, size_t count) {
  if (n->ninputs > count) n->ninputs = count;
  while (n->ninputs && !*n->inputs[n->ninputs - 1]) n->ninputs--;
}

void ig_cv_set_attr(ig_cv *v, ig_om_node *n, const ig_om_attr *a) {
  ig_cv_drop_attr(v, n, a->name);
  ig_om_attr *attrs = ig_cv_push(v, ig_mem_mul(n->nattrs + 1, sizeof *attrs));
  if (!attrs) return;
  if (n->nattrs) memcpy(attrs, n->attrs, n->nattrs * sizeof *attrs);
  attrs[n->nattrs++] = *a;
  n->attrs = attrs;
}

void ig_cv_set_int(ig_cv *v, ig_om_node *n, const char *name, int64_t i) {
  ig_cv_set_attr(v, n, &(ig_om_attr){.name = name, .type = IG_OM_ATTR_INT, .n = 1, .i = i});
}

void ig_cv_set_text(ig_cv *v, ig_om_node *n, const char *name, const char *s) {
  ig_bytes bytes = {(const uint8_t *)s, strlen(s)};
  ig_cv_set_attr(v, n, &(ig_om_attr){.name = name, .type = IG_OM_ATTR_STRING, .n = 1, .s = bytes});
}

void ig_cv_drop_attr(ig_cv *v, ig_om_node *n, const char *name) {
  if (!ig_om_find_attr(n, name)) return;
  ig_om_attr *attrs = ig_cv_push(v, ig_mem_mul(n->nattrs, sizeof *attrs));
  size_t kept = 0;
  for (size_t i = 0; attrs && i < n->nattrs; i++)
    if (strcmp(n->attrs[i].name, name) != 0) attrs[kept++] = n->attrs[i];
  n->attrs = attrs;
  n->nattrs = kept;
}

// The attribute, if the node contains its value.
static const ig_om_attr *given(ig_cv *v, const ig_om_node *n, const char *name) {
  const ig_om_attr *a = ig_om_find_attr(n, name);
  if (!a || !a->ref) return a;
  (void)ig_cv_refuse(v, "attribute '%s' is that of the caller ('%s'); inline the function", name,
                     a->ref);
  return NULL;
}

int64_t ig_cv_int(ig_cv *v, const ig_om_node *n, const char *name, int64_t otherwise) {
  const ig_om_attr *a = given(v, n, name);
  return a && a->type == IG_OM_ATTR_INT ? a->i : otherwise;
}

bool ig_cv_is(ig_cv *v, const ig_om_node *n, const char *name, const char *text,
              const char *otherwise) {
  const ig_om_attr *a = given(v, n, name);
  if (!a || a->type != IG_OM_ATTR_STRING) return strcmp(text, otherwise) == 0;
  return a->s.n == strlen(text) && memcmp(a->s.at, text, a->s.n) == 0;
}

// ---- constants

static ig_om_tensor *of_strings(ig_cv *v, const ig_bytes *at, size_t n, bool scalar) {
  ig_om_tensor *t = ig_cv_tensor(v, IG_OM_STRING, (int64_t)n, scalar);
  if (t) t->strings = at;
  return t;
}

const ig_om_tensor *ig_cv_constant(ig_cv *v, const ig_om_node *n) {
  const ig_om_attr *a = n->nattrs == 1 ? &n->attrs[0] : NULL;
  if (!a || a->ref) return NULL;
  if (a->type == IG_OM_ATTR_TENSOR) return a->tensors[0];
  if (a->type == IG_OM_ATTR_STRING) return of_strings(v, &a->s, 1, true);
  if (a->type == IG_OM_ATTR_STRINGS) return of_strings(v, a->strings, a->n, false);
  bool ints = a->type == IG_OM_ATTR_INT || a->type == IG_OM_ATTR_INTS;
  bool floats = a->type == IG_OM_ATTR_FLOAT || a->type == IG_OM_ATTR_FLOATS;
  bool scalar = a->type == IG_OM_ATTR_INT || a->type == IG_OM_ATTR_FLOAT;
  if (!ints && !floats) return NULL;
  ig_om_tensor *t = ig_cv_tensor(v, ints ? IG_OM_INT64 : IG_OM_FLOAT, (int64_t)a->n, scalar);
  const void *from = ints ? (scalar ? (const void *)&a->i : (const void *)a->ints)
                          : (scalar ? (const void *)&a->f : (const void *)a->floats);
  if (t && t->raw.n) memcpy((void *)t->raw.at, from, t->raw.n);
  return t;
}

const char *ig_cv_const(ig_cv *v, const ig_om_tensor *t) {
  const ig_om_tensor **list = ig_cv_push(v, sizeof *list);
  ig_om_attr *attr = ig_cv_push(v, sizeof *attr);
  const char **out = ig_cv_push(v, sizeof *out);
  if (!list || !attr || !out) return "";
  *list = t;
  *attr = (ig_om_attr){.name = "value", .type = IG_OM_ATTR_TENSOR, .n = 1, .tensors = list};
  *out = ig_cv_fresh(v, "Constant");
  ig_om_node n = {.op_type = "Constant", .attrs = attr, .nattrs = 1, .outputs = out, .noutputs = 1};
  ig_cv_node(v, &n, v->target);
  return *out;
}

ig_om_tensor *ig_cv_tensor(ig_cv *v, int elem, int64_t n, bool scalar) {
  ig_om_tensor *t = ig_cv_push(v, sizeof *t);
  int64_t *dims = ig_cv_push(v, sizeof *dims);
  size_t bytes = (size_t)n * ig_om_elem_bits(elem) / 8;
  uint8_t *raw = ig_cv_push(v, bytes + 1);
  if (!t || !dims || !raw) return NULL;
  *dims = n;
  *t = (ig_om_tensor){.name = "",
                      .doc = "",
                      .elem = elem,
                      .ndim = scalar ? 0 : 1,
                      .dims = dims,
                      .numel = n,
                      .raw = {raw, bytes}};
  return t;
}

const char *ig_cv_ints(ig_cv *v, const int64_t *at, size_t n) {
  ig_om_tensor *t = ig_cv_tensor(v, IG_OM_INT64, (int64_t)n, false);
  if (!t) return "";
  if (n) memcpy((void *)t->raw.at, at, n * sizeof *at);
  return ig_cv_const(v, t);
}

const char *ig_cv_number(ig_cv *v, int elem, const char *like, double x) {
  if (!elem) elem = ig_cv_elem(v, like);
  bool unknown = !elem;
  if (unknown) elem = IG_OM_FLOAT;
  ig_dtype dtype = ig_om_elem_dtype(elem);
  if (dtype == IG_DTYPE_COUNT) {
    (void)ig_cv_refuse(v, "no constants of type %s", ig_om_elem_text(elem));
    return "";
  }
  ig_om_tensor *t = ig_cv_tensor(v, elem, 1, true);
  if (!t) return "";
  bool whole = !ig_dtype_is_float(dtype);
  ig_value number = whole ? ig_of_i64((int64_t)x) : (ig_value){.kind = IG_KIND_FLOAT, .f = x};
  ig_fill((void *)t->raw.at, dtype, 1, &number);
  const char *name = ig_cv_const(v, t);
  if (!unknown) return name;
  const char **in = ig_cv_push(v, ig_mem_mul(2, sizeof *in));
  const char **out = ig_cv_push(v, sizeof *out);
  if (!in || !out) return "";
  in[0] = name;
  in[1] = like;
  *out = ig_cv_fresh(v, "CastLike");
  ig_om_node cast = {
      .op_type = "CastLike", .inputs = in, .ninputs = 2, .outputs = out, .noutputs = 1};
  ig_cv_node(v, &cast, 15);
  return *out;
}

static bool is_of(const ig_om_tensor *t, int elem) {
  return t && t->elem == elem && t->ndim <= 1;
}

bool ig_cv_known_ints(ig_cv *v, const char *name, const int64_t **at, size_t *n) {
  const ig_om_tensor *t = ig_cv_known(v, name)->constant;
  *n = 0;
  if (is_of(t, IG_OM_INT32)) {
    int64_t *wide = ig_cv_push(v, ig_mem_mul((size_t)t->numel, sizeof *wide) + 1);
    int32_t x = 0;
    for (int64_t i = 0; wide && i < t->numel; i++) {
      memcpy(&x, t->raw.at + i * 4, sizeof x);
      wide[i] = x;
    }
    *at = wide;
  } else if (is_of(t, IG_OM_INT64)) {
    int64_t *copy = ig_cv_push(v, t->raw.n + 1);  // raw bytes need not be aligned
    if (copy && t->raw.n) memcpy(copy, t->raw.at, t->raw.n);
    *at = copy;
  } else {
    return false;
  }
  *n = (size_t)t->numel;
  return *at != NULL;
}

bool ig_cv_known_floats(ig_cv *v, const char *name, const float **at, size_t *n) {
  const ig_om_tensor *t = ig_cv_known(v, name)->constant;
  ig_dtype dtype = t && t->ndim <= 1 ? ig_om_elem_dtype(t->elem) : IG_DTYPE_COUNT;
  if (dtype == IG_DTYPE_COUNT) return false;
  float *wide = ig_cv_push(v, ig_mem_mul((size_t)t->numel, sizeof *wide) + 1);
  void *copy = ig_cv_push(v, t->raw.n + 1);  // raw bytes need not be aligned
  if (!wide || !copy) return false;
  if (t->raw.n) memcpy(copy, t->raw.at, t->raw.n);
  ig_convert(wide, IG_F32, copy, dtype, (size_t)t->numel);
  *at = wide;
  *n = (size_t)t->numel;
  return true;
}

const char *ig_cv_cast(ig_cv *v, const char *name, int elem, const char *out) {
  const char **in = ig_cv_push(v, sizeof *in);
  const char **outs = ig_cv_push(v, sizeof *outs);
  if (!in || !outs) return "";
  *in = name;
  *outs = out ? out : ig_cv_fresh(v, "Cast");
  ig_om_node n = {.op_type = "Cast", .inputs = in, .ninputs = 1, .outputs = outs, .noutputs = 1};
  ig_cv_set_int(v, &n, "to", elem);
  ig_cv_node(v, &n, v->target);
  return *outs;
}
