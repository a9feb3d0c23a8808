// SPDX-License-Identifier: Apache-2.0
// Shape inference: the model is interpreted under a capture whose graph is discarded. Dimensions
// without a number are unconstrained sizes, one per dim_param; the results therefore hold for all
// of them. Integers of small tensors are tracked (Shape, Gather, Concat, arithmetic). An unknown
// node has unknown results and does not stop inference. The model is written again with what was
// found in its value_info and outputs.
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/budget.h"
#include "base/str.h"
#include "codec/proto.h"
#include "onnx/check.h"
#include "onnx_read/infer.h"
#include "onnx_read/infer_rule.h"
#include "onnx_read/reader.h"
#include "op/record.h"
#include "sym/env.h"

enum { MAX_BYTES = 1 << 26 };
enum { GRAPH = 7, OUTPUT = 12, VALUE_INFO = 13 };  // fields of ModelProto and GraphProto

// What was inferred for one value. ndim < 0: only its element type.
typedef struct found {
  const char *name;
  int elem;
  int ndim;
  int64_t dims[IG_MAX_DIM];       // -1: see texts
  const char *texts[IG_MAX_DIM];  // NULL: unknown
  const void *exprs[IG_MAX_DIM];  // of dims; NULL: none that holds
  const int64_t *ints;            // its numbers; NULL: unknown
  size_t nints;
  const int64_t *content;  // its numbers, some of which may be expressions; NULL: unknown
  const void *const *content_exprs;
} found;

typedef struct inference {
  ig_ctx *c;
  const ig_onnx_model *m;
  ig_arena arena;
  ig_map sizes;  // dim_param -> number of its symbol, from 1
  IG_VEC(ig_int) symbols;
  IG_VEC(const char *) params;  // by that number
  IG_VEC(found *) values;
  IG_VEC(found *) inputs;
  ig_map by_name;  // of values, from 1
  size_t asserts;  // that were there before the node
  bool assumed;  // the result holds only if names denote the same size (or are 1): do not use names
  ig_om_checker checker;  // for element types; its problems are not reported
  ig_om_checker *strict;  // receives problems; NULL: none
  bool unknown;           // nothing was inferred for some value
  ig_om_scope scope;
} inference;

// ---- inputs

static ig_int size_of(inference *f, const char *param) {
  ig_map_value *v = param && *param ? ig_map_put(&f->sizes, param) : NULL;
  if (v && v->num) return f->symbols.at[v->num - 1];
  ig_int size = ig_capture_unbacked(f->c);
  if (!size.expr) return size;  // failed: no symbol
  ig_sym_constrain(f->c, size, 0, INT64_MAX, true);
  if (!ig_vec_push(f->c->alloc, &f->symbols, size) ||
      !ig_vec_push(f->c->alloc, &f->params, v ? param : NULL)) {
    (void)ig_fail(f->c, IG_NOMEM, "out of memory");
    return ig_const(0);
  }
  if (v) v->num = f->symbols.n;
  return size;
}

// NULL without an error: an unknown value.
static ig_rd_value *input_of(ig_rd *r, inference *f, const ig_om_info *info) {
  const ig_om_type *t = &info->type;
  ig_dtype dtype = ig_rd_carrier(t->elem);
  if (t->kind != IG_OM_TENSOR_TYPE || !t->has_shape || dtype == IG_DTYPE_COUNT ||
      t->ndim > IG_MAX_DIM) {
    return NULL;
  }
  ig_int sizes[IG_MAX_DIM];
  for (int d = 0; d < t->ndim; d++)
    sizes[d] = t->dims[d].value >= 0 ? ig_const(t->dims[d].value) : size_of(f, t->dims[d].param);
  ig_tensor *fake = ig_capture_input(f->c, info->name, dtype, sizes, t->ndim);
  return ig_rd_of_tensor(r, fake, t->elem);
}

// ---- results

// "2*u0 + 1" with the names of the dimensions; NULL: some symbol has none.
static const char *named_text(inference *f, const ig_expr *e) {
  ig_str plain = ig_str_make(f->c->alloc);
  ig_str out = ig_str_make(f->c->alloc);
  ig_str_expr(&plain, e);
  bool ok = !plain.failed && plain.at;
  for (const char *p = ok ? plain.at : ""; ok && *p;) {
    bool word = isalpha((unsigned char)*p) || *p == '_';
    size_t n = 1;
    while (word && (isalnum((unsigned char)p[n]) || p[n] == '_')) n++;
    const char *name = NULL;
    for (size_t i = 0; word && i < f->symbols.n; i++) {
      const ig_expr *s = f->symbols.at[i].expr;
      if (strlen(s->name) == n && memcmp(s->name, p, n) == 0)
        name = f->params.at[i] ? f->params.at[i] : "";
    }
    bool symbol = word && p[0] == 'u' && n > 1 && isdigit((unsigned char)p[1]);
    ok = name ? *name != 0 : !symbol;
    if (name)
      ig_str_add(&out, "%s", name);
    else
      ig_str_add(&out, "%.*s", (int)n, p);
    p += n;
  }
  const char *text = ok && !out.failed ? ig_arena_strn(&f->arena, out.at, out.n) : NULL;
  ig_str_free(&plain);
  ig_str_free(&out);
  return text;
}

static const int64_t *numbers(inference *f, const ig_rd_value *v) {
  int64_t *at = v->ints ? ig_arena_array(&f->arena, v->nints + 1, sizeof *at) : NULL;
  for (size_t i = 0; at && i < v->nints; i++) {
    if (v->ints[i].expr) return NULL;
    at[i] = v->ints[i].value;
  }
  return at;
}

// The same with expressions.
static void describe_content(inference *f, found *to, const ig_rd_value *v) {
  int64_t *at = v->ints ? ig_arena_array(&f->arena, v->nints + 1, sizeof *at) : NULL;
  const void **exprs = at ? ig_arena_array(&f->arena, v->nints + 1, sizeof *exprs) : NULL;
  for (size_t i = 0; exprs && i < v->nints; i++) {
    if (v->ints[i].expr && f->assumed) return;
    at[i] = v->ints[i].expr ? -1 : v->ints[i].value;
    exprs[i] = v->ints[i].expr;
  }
  to->content = exprs ? at : NULL;
  to->content_exprs = exprs;
}

static void describe(inference *f, found *to, const ig_rd_value *v) {
  to->elem = v->elem;
  to->ints = numbers(f, v);
  to->nints = v->nints;
  describe_content(f, to, v);
  if (!v->t) {
    to->ndim = v->ints_ndim;
    to->dims[0] = (int64_t)v->nints;
    return;
  }
  to->ndim = v->t->ndim;
  for (int d = 0; d < to->ndim; d++) {
    ig_int size = ig_sizes(v->t)[d];
    to->dims[d] = size.expr ? -1 : size.value;  // a number: nothing is specialised
    to->texts[d] = size.expr && !f->assumed ? named_text(f, size.expr) : NULL;
    to->exprs[d] = f->assumed ? NULL : size.expr;
  }
}

static void keep(inference *f, const char *name, const found *what) {
  found *copy = ig_arena_push(&f->arena, sizeof *copy);
  ig_map_value *at = copy ? ig_map_put(&f->by_name, name) : NULL;
  if (!at || !ig_vec_push(f->c->alloc, &f->values, copy)) {
    (void)ig_fail(f->c, IG_NOMEM, "out of memory");
    return;
  }
  *copy = *what;
  copy->name = name;
  at->num = f->values.n;
}

static void keep_input(inference *f, const char *name, const ig_rd_value *v) {
  found *copy = v ? ig_arena_push(&f->arena, sizeof *copy) : NULL;
  if (!copy) return;
  describe(f, copy, v);
  copy->name = name;
  if (!ig_vec_push(f->c->alloc, &f->inputs, copy)) (void)ig_fail(f->c, IG_NOMEM, "out of memory");
}

// Where the formula gave nothing, or only under an assumption: the rule of the standard.
static void apply_rule(ig_rd *r, inference *f, size_t i, int elem) {
  ig_rd_value *v = r->out[i];
  ig_rd_shape shape;
  ig_dtype dtype = ig_rd_carrier(elem);
  if ((v && !f->assumed) || dtype == IG_DTYPE_COUNT || !ig_rd_rule(r, i, &shape)) return;
  if (v && (v->kind != IG_RD_TENSOR || !v->t || v->t->ndim != shape.ndim)) return;
  for (int d = 0; d < shape.ndim; d++)
    if (!shape.known[d])
      shape.dims[d] = v && !ig_sizes(v->t)[d].expr ? ig_sizes(v->t)[d] : size_of(f, NULL);
  const char *name = r->node->outputs[i];
  ig_tensor *fake = ig_capture_input(r->c, name, dtype, shape.dims, shape.ndim);
  if (!fake) return;
  r->out[i] = ig_rd_of_tensor(r, fake, elem);
  f->assumed = false;
}

// A rule with invalid operands gives no result.
static void try_rule(ig_rd *r, inference *f, size_t i, int elem) {
  apply_rule(r, f, i, elem);
  if (ig_rd_ok(r) || ig_status_is_final(r->c->status)) return;
  ig_ctx_clear(r->c);
  r->noted = false;
}

static void told(ig_rd *r, const ig_om_node *n, void *user) {
  inference *f = user;
  const ig_onnx_schema *schema =
      n->function ? NULL : ig_onnx_schema_find(n->domain, n->op_type, r->version);
  if (schema) ig_om_check_types(&f->checker, &f->scope, n, schema);
  const ig_env *env = ig_env_get(r->c);
  f->assumed = env && env->asserts.n > f->asserts;
  f->asserts = env ? env->asserts.n : 0;
  for (size_t i = 0; i < n->noutputs && ig_rd_ok(r); i++) {
    if (!*n->outputs[i] || n->out[i] == IG_OM_NO_SLOT) continue;
    ig_om_known type = f->scope.values[n->out[i]];
    bool assumed = f->assumed;
    bool tensor = type.form == IG_ONNX_FORM_TENSOR;
    try_rule(r, f, i, r->out[i] ? r->out[i]->elem : tensor ? type.elem : IG_OM_UNDEFINED);
    const ig_rd_value *v = r->out[i];
    f->unknown |= !v;
    found what = {.ndim = -1};
    if (v && v->kind == IG_RD_TENSOR)
      describe(f, &what, v);
    else if (type.form == IG_ONNX_FORM_TENSOR)
      what.elem = type.elem;
    if (what.elem) {
      f->scope.values[n->out[i]] = (ig_om_known){IG_ONNX_FORM_TENSOR, what.elem};
      keep(f, n->outputs[i], &what);
    }
    f->assumed = assumed;
  }
}

static bool is_fixed(const ig_rd_value *v) {
  for (int d = 0; v && v->t && d < v->t->ndim; d++)
    if (ig_sizes(v->t)[d].expr) return false;
  for (size_t i = 0; v && v->ints && i < v->nints; i++)
    if (v->ints[i].expr) return false;
  return true;
}

// An error is a problem of the model if every size was a number and nothing was data-dependent;
// others only mean that the formula cannot decide.
static void failed(ig_rd *r, const ig_om_node *n, void *user) {
  inference *f = user;
  ig_status st = r->c->status;
  bool fault = st == IG_INVALID || st == IG_MISMATCH || st == IG_RUNTIME || st == IG_BAD_INDEX;
  bool plain = !n->function;
  if (!f->strict || !fault) return;
  for (size_t i = 0; i < n->nattrs; i++) plain &= n->attrs[i].type != IG_OM_ATTR_GRAPH;
  for (size_t i = 0; i < r->nin && plain; i++) plain = is_fixed(r->in[i]);
  if (!plain && (f->symbols.n || f->unknown)) return;
  char who[256];
  const char *text = ig_ctx_error(r->c);
  const char *said = strstr(text, ig_om_node_text(f->m->graph, n, who, sizeof who));
  if (said && said[strlen(who)] == ':') text = said + strlen(who) + 2;
  ig_om_problem(f->strict, f->m->graph, n, "%.*s", (int)strcspn(text, "\n"), text);
}

static void know_types(inference *f) {
  const ig_om_graph *g = f->m->graph;
  for (size_t i = 0; i < g->nslots; i++) f->scope.values[i].form = -1;
  for (size_t i = 0; i < g->ninits; i++)
    f->scope.values[g->init_slots[i]] = (ig_om_known){IG_ONNX_FORM_TENSOR, g->inits[i]->elem};
  for (size_t i = 0; i < g->ninputs; i++)
    f->scope.values[g->input_slots[i]] = ig_om_known_of_type(&g->inputs[i].type);
}

static ig_status interpret(ig_rd *r, inference *f) {
  const ig_om_graph *g = f->m->graph;
  ig_rd_value **inputs = ig_scope_array(r->c, g->ninputs, sizeof *inputs);
  ig_rd_value **results = ig_scope_array(r->c, g->noutputs, sizeof *results);
  size_t size = ig_mem_mul(g->nslots + 1, sizeof(ig_om_known));
  f->scope = (ig_om_scope){.g = g, .values = ig_scope_push(r->c, size)};
  f->checker = (ig_om_checker){.c = r->c,
                               .m = f->m,
                               .opsets = f->m->opsets,
                               .nopsets = f->m->nopsets,
                               .text = ig_str_make(r->c->alloc)};
  if (!inputs || !results || !f->scope.values) return r->c->status;
  know_types(f);
  for (size_t i = 0; i < g->ninputs; i++)
    inputs[i] = g->input_defaults[i] ? NULL : input_of(r, f, &g->inputs[i]);
  for (size_t i = 0; i < g->ninputs; i++) keep_input(f, g->inputs[i].name, inputs[i]);
  r->told = told;
  r->failed = failed;
  r->told_user = f;
  (void)ig_rd_graph(r, g, inputs, g->ninputs, results);
  ig_str_free(&f->checker.text);
  return r->c->status;
}

// ---- writing

static void put_shape(ig_proto_writer *w, const found *v) {
  size_t shape = ig_proto_open(w, 2);
  for (int d = 0; d < v->ndim; d++) {
    size_t dim = ig_proto_open(w, 1);
    if (v->dims[d] >= 0)
      ig_proto_put_int(w, 1, v->dims[d]);
    else if (v->texts[d])
      ig_proto_put_text(w, 2, v->texts[d]);
    ig_proto_close(w, dim);
  }
  ig_proto_close(w, shape);
}

static void put_info(ig_proto_writer *w, uint32_t field, const found *v) {
  size_t info = ig_proto_open(w, field);
  ig_proto_put_text(w, 1, v->name);
  size_t type = ig_proto_open(w, 2);
  size_t tensor = ig_proto_open(w, 1);
  ig_proto_put_int(w, 1, v->elem);
  if (v->ndim >= 0) put_shape(w, v);
  ig_proto_close(w, tensor);
  ig_proto_close(w, type);
  ig_proto_close(w, info);
}

// Declared numbers must equal the inferred ones.
static void compare(const inference *f, const found *v, const ig_om_info *declared) {
  const ig_om_type *t = &declared->type;
  if (!v || t->kind != IG_OM_TENSOR_TYPE) return;
  if (t->elem && t->elem != v->elem)
    ig_om_problem(f->strict, f->m->graph, NULL, "'%s' is declared %s and computed as %s", v->name,
                  ig_onnx_elem_name(t->elem), ig_onnx_elem_name(v->elem));
  if (v->ndim < 0 || !t->has_shape) return;
  if (t->ndim != v->ndim) {
    ig_om_problem(f->strict, f->m->graph, NULL, "'%s' is declared with %d dimensions and has %d",
                  v->name, t->ndim, v->ndim);
    return;
  }
  for (int d = 0; d < v->ndim; d++) {
    int64_t said = t->dims[d].value;
    if (said >= 0 && v->dims[d] >= 0 && said != v->dims[d])
      ig_om_problem(f->strict, f->m->graph, NULL,
                    "'%s': size %d is declared %lld and computed as %lld", v->name, d,
                    (long long)said, (long long)v->dims[d]);
  }
}

// Declarations of the model are kept where they say more: numbers and names of dimensions.
static void merge(found *v, const ig_om_type *declared) {
  if (declared->kind != IG_OM_TENSOR_TYPE || !declared->has_shape) return;
  if (v->ndim < 0) {
    v->ndim = declared->ndim <= IG_MAX_DIM ? declared->ndim : -1;
    for (int d = 0; d < v->ndim; d++) {
      v->dims[d] = declared->dims[d].value;
      v->texts[d] = declared->dims[d].param;
    }
    return;
  }
  for (int d = 0; d < v->ndim && v->ndim == declared->ndim; d++) {
    if (v->dims[d] >= 0) continue;
    v->dims[d] = declared->dims[d].value;
    if (declared->dims[d].param && *declared->dims[d].param) v->texts[d] = declared->dims[d].param;
  }
}

static found *find_value(const inference *f, const char *name) {
  const ig_map_value *v = ig_map_find(&f->by_name, name);
  return v && f->values.at ? f->values.at[v->num - 1] : NULL;
}

static void copy_field(ig_proto_writer *w, const ig_proto_field *field) {
  if (field->wire == IG_PROTO_LEN)
    ig_proto_put_borrowed(w, field->number, field->bytes);
  else if (field->wire == IG_PROTO_VARINT)
    ig_proto_put_int(w, field->number, (int64_t)field->value);
}

static bool is_output(const ig_om_graph *g, const char *name) {
  for (size_t i = 0; i < g->noutputs; i++)
    if (strcmp(g->outputs[i].name, name) == 0) return true;
  return false;
}

static void write_graph(inference *f, ig_proto *graph, ig_proto_writer *w) {
  const ig_om_graph *g = f->m->graph;
  ig_proto_field field;
  for (size_t i = 0; i < g->nvalues; i++) {
    found *v = find_value(f, g->values[i].name);
    if (v) merge(v, &g->values[i].type);
  }
  size_t output = 0;
  size_t value = 0;
  while (ig_proto_next(graph, &field)) {
    if (field.number == OUTPUT && field.wire == IG_PROTO_LEN && output < g->noutputs) {
      const ig_om_info *info = &g->outputs[output++];
      found *v = find_value(f, info->name);
      bool plain = info->type.kind == IG_OM_TENSOR_TYPE || info->type.kind == IG_OM_NO_TYPE;
      if (v && plain) merge(v, &info->type);
      if (v && plain && !(info->type.elem && info->type.elem != v->elem))
        put_info(w, OUTPUT, v);
      else
        copy_field(w, &field);
    } else if (field.number == VALUE_INFO && field.wire == IG_PROTO_LEN && value < g->nvalues) {
      const ig_om_info *info = &g->values[value++];
      if (!find_value(f, info->name)) copy_field(w, &field);
    } else {
      copy_field(w, &field);
    }
  }
  for (size_t i = 0; i < f->values.n; i++)
    if (!is_output(g, f->values.at[i]->name)) put_info(w, VALUE_INFO, f->values.at[i]);
}

static ig_status write_model(inference *f, ig_bytes data, ig_sink *sink) {
  ig_proto_writer w = ig_proto_writer_make(f->c->alloc);
  ig_proto p = ig_proto_make(f->c, f->m->name, data);
  ig_proto_field field;
  while (ig_proto_next(&p, &field)) {
    if (field.number != GRAPH || field.wire != IG_PROTO_LEN) {
      copy_field(&w, &field);
      continue;
    }
    ig_proto graph = ig_proto_message(&p, &field);
    size_t mark = ig_proto_open(&w, GRAPH);
    write_graph(f, &graph, &w);
    ig_proto_close(&w, mark);
  }
  ig_status st = f->c->status;
  if (st == IG_OK && w.failed) st = ig_fail(f->c, IG_NOMEM, "out of memory");
  if (st == IG_OK) st = ig_proto_write(f->c, &w, sink);
  ig_proto_writer_free(&w);
  return st;
}

static ig_status infer(inference *f) {
  ig_ctx *c = f->c;
  ig_scope s = ig_scope_open(c);
  ig_rd r;
  ig_status st = ig_rd_init(&r, c, f->m);
  r.capture = true;
  r.bytes_limit = MAX_BYTES;  // of what is computed from constants on the way
  if (st == IG_OK) st = ig_capture_begin(c);
  if (st == IG_OK) c->mode->capture->sizes_only = true;
  if (st == IG_OK) st = interpret(&r, f);
  ig_capture_abort(c);
  ig_rd_done(&r);
  ig_scope_close(c, s);
  return st;
}

static inference begin(ig_ctx *c, const ig_onnx_model *m, ig_om_checker *strict, ig_status *st) {
  inference f = {.c = c,
                 .m = m,
                 .strict = strict,
                 .arena = ig_arena_make(c->alloc),
                 .sizes = ig_map_make(c->alloc),
                 .by_name = ig_map_make(c->alloc)};
  ig_mode_scope mode = ig_mode_push_grad(c, false);
  const ig_account outer = ig_account_open(c, &c->limits);
  *st = infer(&f);
  ig_account_close(c, &outer);
  ig_mode_pop(c, &mode);
  return f;
}

static void end(inference *f) {
  ig_map_free(&f->sizes);
  ig_map_free(&f->by_name);
  ig_vec_free(f->c->alloc, &f->symbols);
  ig_vec_free(f->c->alloc, &f->params);
  ig_vec_free(f->c->alloc, &f->values);
  ig_vec_free(f->c->alloc, &f->inputs);
  ig_arena_free(&f->arena);
}

ig_status ig_onnx_infer(ig_ctx *c, const ig_onnx_model *m, const void *data, size_t n,
                        struct ig_sink *sink) {
  IG_RETURN_IF_ERR(c->status);
  ig_status st = IG_OK;
  inference f = begin(c, m, NULL, &st);
  if (st == IG_OK) st = write_model(&f, (ig_bytes){data, n}, sink);
  end(&f);
  return st;
}

ig_status ig_onnx_check_shapes(ig_ctx *c, const ig_onnx_model *m) {
  IG_RETURN_IF_ERR(ig_onnx_check(c, m));
  ig_status st = IG_OK;
  ig_om_checker k = {.c = c, .m = m, .text = ig_str_make(c->alloc)};
  inference f = begin(c, m, &k, &st);
  for (size_t i = 0; i < m->graph->noutputs; i++)
    compare(&f, find_value(&f, m->graph->outputs[i].name), &m->graph->outputs[i]);
  for (size_t i = 0; i < m->graph->nvalues; i++)
    compare(&f, find_value(&f, m->graph->values[i].name), &m->graph->values[i]);
  end(&f);
  return ig_om_check_report(&k);
}

static void put_exact(const ig_rd_infer_sink *to, const found *v) {
  if (!to->exact) return;
  const ig_rd_exact e = {v->elem,  v->ndim,    v->dims,         v->exprs, v->content != NULL,
                         v->nints, v->content, v->content_exprs};
  to->exact(to->user, v->name, &e);
}

ig_status ig_rd_infer(ig_ctx *c, const ig_onnx_model *m, const ig_rd_infer_sink *to) {
  IG_RETURN_IF_ERR(c->status);
  ig_status st = IG_OK;
  inference f = begin(c, m, NULL, &st);
  for (size_t i = 0; st == IG_OK && i < f.inputs.n; i++) put_exact(to, f.inputs.at[i]);
  for (size_t i = 0; st == IG_OK && i < f.values.n; i++) {
    const found *v = f.values.at[i];
    put_exact(to, v);
    if (to->value) to->value(to->user, v->name, v->elem, v->ndim, v->dims);
    if (to->type) to->type(to->user, v->name, v->elem, v->ndim, v->dims, v->texts);
    if (v->ints && to->numbers) to->numbers(to->user, v->name, v->elem, v->ndim, v->ints, v->nints);
  }
  end(&f);
  return st == IG_OK ? c->status : st;
}
