// SPDX-License-Identifier: Apache-2.0
// Running a model: inputs by name, checked when they are bound; buffers that the model mutates live
// in the session, so that sessions of several threads can share one model.
#include <stdio.h>
#include <string.h>

#include "base/budget.h"
#include "base/str.h"
#include "ingot/diff.h"
#include "ingot/dims.h"
#include "model/model.h"
#include "op/interpret.h"
#include "tensor/copy.h"
#include "tensor/texts.h"

struct ig_session {
  ig_ctx *c;
  ig_model *m;
  size_t nin;
  size_t nout;
  bool *given;         // per input
  ig_value *inputs;    // per input of the model; tensors retained, texts in `texts`
  ig_arena *texts;     // per input
  ig_value *outputs;   // per output of the model; tensors retained, lists and texts in `lists`
  size_t nweights;     // placeholders of the program
  ig_tensor **values;  // new values of its buffers, retained; NULL: the model's own
  ig_arena memory;     // the arrays above
  ig_arena lists;      // of the last run
  bool ran;
  void *state;  // of the format; NULL: not started
  ig_session_watch_fn *watch;
  void *watch_user;
};

static void retain(const ig_value *v) {
  if (v->kind == IG_KIND_TENSOR) (void)ig_tensor_retain(v->tensor);
  for (size_t i = 0; v->kind == IG_KIND_LIST && i < v->list.n; i++) retain(&v->list.at[i]);
}

static void release(ig_value *v) {
  if (v->kind == IG_KIND_TENSOR) ig_tensor_release(v->tensor);
  for (size_t i = 0; v->kind == IG_KIND_LIST && i < v->list.n; i++) {
    release((ig_value *)&v->list.at[i]);
  }
  *v = ig_none();
}

// ---- lifetime

static void *push(ig_session *s, size_t n, size_t size) {
  void *p = ig_arena_array(&s->memory, n, size);
  if (!p) (void)ig_fail(s->c, IG_NOMEM, "out of memory");
  return p;
}

static bool allocate(ig_session *s) {
  size_t nin = s->m->inputs.n;
  size_t nout = s->m->outputs.n;
  size_t nweights = s->m->runnable ? s->m->runnable->ninputs : 0;
  s->given = push(s, nin, sizeof *s->given);
  s->inputs = push(s, nin, sizeof *s->inputs);
  s->texts = push(s, nin, sizeof *s->texts);
  s->outputs = push(s, nout, sizeof *s->outputs);
  s->values = push(s, nweights, sizeof *s->values);
  if (s->c->status != IG_OK) return false;
  for (size_t i = 0; i < nin; i++) s->texts[i] = ig_arena_make(s->c->alloc);
  s->nin = nin;  // the counts are valid, so that a partially created session can be freed
  s->nout = nout;
  s->nweights = nweights;
  return true;
}

ig_status ig_session_create(ig_ctx *c, ig_model *m, ig_session **out) {
  *out = NULL;
  if (c->status != IG_OK) return c->status;
  if (m->format->no_run) {
    return ig_fail(c, IG_UNSUPPORTED, "%s: %s", m->name, m->format->no_run);
  }
  if (!m->runnable && !m->format->run) {
    const char *why = m->findings.n ? m->findings.at[0]->text : "the file holds no program to run";
    return ig_fail(c, IG_UNSUPPORTED, "%s: %s", m->name, why);
  }
  ig_session *s = ig_mem_new(c->alloc, sizeof *s);
  if (!s) return ig_fail(c, IG_NOMEM, "out of memory");
  s->c = c;
  s->m = ig_model_retain(m);
  s->memory = ig_arena_make(c->alloc);
  s->lists = ig_arena_make(c->alloc);
  if (!allocate(s)) {
    ig_session_free(s);
    return c->status;
  }
  ig_session_reset(s);
  *out = s;
  return IG_OK;
}

static void forget_outputs(ig_session *s) {
  for (size_t i = 0; i < s->nout; i++) release(&s->outputs[i]);
  ig_arena_free(&s->lists);
  s->lists = ig_arena_make(s->c->alloc);
  s->ran = false;
}

static void stop(ig_session *s) {
  if (s->state) s->m->format->stop(s->c, s->state);
  s->state = NULL;
}

static ig_status start(ig_session *s) {
  const ig_model_format *f = s->m->format;
  if (!f->start || s->state) return IG_OK;
  s->state = f->start(s->c, s->m);
  return s->state ? IG_OK : s->c->status;
}

static ig_status run_format(ig_session *s, ig_value *outs) {
  IG_RETURN_IF_ERR(start(s));
  return s->m->format->run(s->c, s->m, s->state, s->inputs, outs);
}

void ig_session_reset(ig_session *s) {
  forget_outputs(s);
  stop(s);
  for (size_t i = 0; i < s->nin; i++) {
    const ig_model_port *p = s->m->inputs.at[i];
    if (s->given[i]) release(&s->inputs[i]);
    ig_arena_free(&s->texts[i]);
    s->texts[i] = ig_arena_make(s->c->alloc);
    s->given[i] = !ig_port_is_array(p);
    s->inputs[i] = s->given[i] ? p->value : ig_none();
  }
  for (size_t i = 0; i < s->nweights; i++) {
    ig_tensor_release(s->values[i]);
    s->values[i] = NULL;
  }
}

void ig_session_free(ig_session *s) {
  if (!s) return;
  ig_session_reset(s);
  ig_model_free(s->m);
  ig_arena_free(&s->memory);
  ig_arena_free(&s->lists);
  ig_mem_free(s->c->alloc, s, sizeof *s);
}

// ---- inputs

static ig_status no_input(const ig_session *s, const char *name) {
  ig_str text = ig_str_make(s->c->alloc);
  for (size_t i = 0; i < s->nin; i++) {
    ig_str_add(&text, "%s%s", i ? ", " : "", s->m->inputs.at[i]->name);
  }
  ig_status st = ig_fail(s->c, IG_NOT_FOUND, "%s: no input '%s'; the model takes: %s", s->m->name,
                         name, text.at ? text.at : "nothing");
  ig_str_free(&text);
  return st;
}

static ig_status bad_size(const ig_session *s, const ig_model_port *p, int d, int64_t size) {
  const ig_model_dim *dim = p->dims[d];
  if (!dim->name) {
    return ig_fail(s->c, IG_MISMATCH, "%s: input '%s': dim %d: found size %lld, expected %lld",
                   s->m->name, p->name, d, (long long)size, (long long)dim->value);
  }
  char hi[32] = "";
  if (dim->hi != INT64_MAX) (void)snprintf(hi, sizeof hi, " to %lld", (long long)dim->hi);
  return ig_fail(s->c, IG_MISMATCH,
                 "%s: input '%s': dim %d (%s): found size %lld, expected %lld%s%s", s->m->name,
                 p->name, d, dim->name, (long long)size, (long long)dim->lo, hi,
                 hi[0] ? "" : " or more");
}

// Sizes 0 and 1 are accepted where the program was captured for sizes from 2 on, as in PyTorch.
static bool fits(const ig_model_dim *dim, int64_t size) {
  if (!dim->name) return dim->value < 0 || size == dim->value;
  return (dim->lo <= 2 || size >= dim->lo) && size <= dim->hi;
}

static ig_status check_sizes(const ig_session *s, const ig_model_port *p, const int64_t *sizes,
                             int ndim) {
  if (p->ndim < 0) return IG_OK;
  if (ndim != p->ndim) {
    return ig_fail(s->c, IG_MISMATCH, "%s: input '%s': found %d dimensions, expected %d",
                   s->m->name, p->name, ndim, p->ndim);
  }
  for (int d = 0; d < ndim; d++) {
    if (!fits(p->dims[d], sizes[d])) return bad_size(s, p, d, sizes[d]);
  }
  return IG_OK;
}

// The port of an input, its number in *index; NULL after an error.
static const ig_model_port *find_port(const ig_session *s, const char *name, bool tensor,
                                      size_t *index) {
  *index = 0;
  if (s->c->status != IG_OK) return NULL;
  int i = ig_model_find_input(s->m, name);
  if (i < 0) {
    (void)no_input(s, name);
    return NULL;
  }
  *index = (size_t)i;
  const ig_model_port *port = s->m->inputs.at[i];
  if ((port->kind == IG_KIND_TENSOR) == tensor) return port;
  (void)ig_fail(s->c, IG_BAD_TYPE, "%s: input '%s' is %s", s->m->name, port->name,
                port->texts ? "an array of texts"
                : tensor    ? "not a tensor"
                            : "a tensor");
  return NULL;
}

// Sizes behind the first 0 are not known: lists of nothing end there.
static ig_status check_texts(const ig_session *s, const ig_model_port *p, const ig_value *value) {
  int64_t sizes[IG_MAX_DIM];
  int ndim = 0;
  if (!ig_texts_measure(value, sizes, &ndim)) {
    return ig_fail(s->c, IG_BAD_TYPE,
                   "%s: input '%s': expected a text or lists of texts of equal lengths", s->m->name,
                   p->name);
  }
  bool empty = ndim && sizes[ndim - 1] == 0;
  for (; empty && ndim < p->ndim; ndim++) {
    sizes[ndim] = p->dims[ndim]->name ? p->dims[ndim]->lo : p->dims[ndim]->value;
  }
  return check_sizes(s, p, sizes, ndim);
}

static ig_status set_texts(ig_session *s, size_t i, const ig_value *value) {
  const ig_model_port *p = s->m->inputs.at[i];
  IG_RETURN_IF_ERR(check_texts(s, p, value));
  ig_arena fresh = ig_arena_make(s->c->alloc);
  ig_value copy = *value;
  if (!ig_texts_copy(s->c, &fresh, &copy)) {
    ig_arena_free(&fresh);
    return s->c->status;
  }
  ig_arena_free(&s->texts[i]);
  s->texts[i] = fresh;
  s->inputs[i] = copy;
  s->given[i] = true;
  return IG_OK;
}

ig_status ig_session_set_value(ig_session *s, const char *name, const ig_value *value) {
  size_t i = 0;
  const ig_model_port *p = find_port(s, name, false, &i);
  if (!p) return s->c->status;
  if (p->texts) return set_texts(s, i, value);
  bool plain = value->kind == IG_KIND_INT || value->kind == IG_KIND_FLOAT ||
               value->kind == IG_KIND_BOOL || value->kind == IG_KIND_NONE;
  if (!plain || value->kind != p->kind) {
    return ig_fail(s->c, IG_BAD_TYPE, "%s: input '%s': not the kind of value that was captured",
                   s->m->name, p->name);
  }
  s->inputs[i] = *value;
  return IG_OK;
}

ig_status ig_session_set(ig_session *s, const char *name, ig_tensor *t) {
  size_t i = 0;
  const ig_model_port *p = find_port(s, name, true, &i);
  if (!p) return s->c->status;
  if (!t || ig_tensor_is_fake(t)) {
    return ig_fail(s->c, IG_INVALID, "%s: input '%s': the tensor has no data", s->m->name, name);
  }
  if (p->dtype != IG_DTYPE_COUNT && t->dtype != p->dtype) {
    return ig_fail(s->c, IG_BAD_TYPE, "%s: input '%s': found %s, expected %s", s->m->name, p->name,
                   ig_dtype_text(t->dtype), ig_dtype_text(p->dtype));
  }
  int64_t sizes[IG_MAX_DIM];
  for (int d = 0; d < t->ndim; d++) sizes[d] = ig_tensor_size(t, d).value;
  IG_RETURN_IF_ERR(check_sizes(s, p, sizes, t->ndim));
  (void)ig_tensor_retain(t);
  release(&s->inputs[i]);
  s->inputs[i] = ig_of_tensor(t);
  s->given[i] = true;
  return IG_OK;
}

ig_status ig_session_bind(ig_session *s, const char *name, const int64_t *sizes, int ndim,
                          const void *data, size_t bytes) {
  size_t i = 0;
  const ig_model_port *p = find_port(s, name, true, &i);
  if (!p) return s->c->status;
  if (ndim < 0 || ndim > IG_MAX_DIM) {
    return ig_fail(s->c, IG_INVALID, "%s: input '%s': %d dimensions", s->m->name, p->name, ndim);
  }
  if (p->dtype == IG_DTYPE_COUNT) {
    return ig_fail(s->c, IG_BAD_TYPE,
                   "%s: input '%s': the file does not say its type; set a tensor (ig_session_set)",
                   s->m->name, p->name);
  }
  IG_RETURN_IF_ERR(check_sizes(s, p, sizes, ndim));
  ig_scope scope = ig_scope_open(s->c);
  ig_foreign memory = {.data = (void *)data, .bytes = bytes};
  ig_tensor *t = ig_tensor_wrap(s->c, p->dtype, sizes, ndim, &memory);
  ig_status st = t ? ig_session_set(s, name, t) : s->c->status;
  if (!t) ig_note(s->c, "in input '%s' of %s", p->name, s->m->name);
  ig_scope_close(s->c, scope);
  return st;
}

const ig_value *ig_session_input_at(const ig_session *s, size_t i) {
  return i < s->nin && s->given[i] ? &s->inputs[i] : NULL;
}

ig_status ig_session_copy_inputs(const ig_session *from, ig_session *to) {
  size_t k = 0;
  for (size_t i = 0; i < from->nin; i++) {
    const ig_value *v = ig_session_input_at(from, i);
    if (!v || !ig_port_is_array(from->m->inputs.at[i])) continue;
    while (k < to->nin && !ig_port_is_array(to->m->inputs.at[k])) k++;
    if (k == to->nin) break;
    const char *name = to->m->inputs.at[k++]->name;
    IG_RETURN_IF_ERR(v->kind == IG_KIND_TENSOR ? ig_session_set(to, name, v->tensor)
                                               : ig_session_set_value(to, name, v));
  }
  return IG_OK;
}

ig_status ig_session_set_examples(ig_session *s) {
  ig_scope scope = ig_scope_open(s->c);
  ig_status st = ig_model_set_examples(s->c, s->m, s);
  ig_scope_close(s->c, scope);
  return st;
}

// ---- running

static ig_status all_given(const ig_session *s) {
  for (size_t i = 0; i < s->nin; i++) {
    if (s->given[i]) continue;
    return ig_fail(s->c, IG_INVALID, "%s: input '%s' was not given", s->m->name,
                   s->m->inputs.at[i]->name);
  }
  return IG_OK;
}

static ig_status check_relations(const ig_session *s) {
  const char **paths = ig_scope_array(s->c, s->nin + 1, sizeof *paths);
  if (!paths) return s->c->status;
  for (size_t i = 0; i < s->nin; i++) paths[i] = s->m->inputs.at[i]->name;
  return ig_program_check_inputs(s->c, s->m->runnable, s->inputs, paths, s->nin);
}

// One value per placeholder: weights, buffers as this session has them, inputs.
static const ig_value *arguments(const ig_session *s) {
  const ig_graph *g = s->m->runnable->graph;
  ig_value *values = ig_scope_array(s->c, s->nweights + 1, sizeof *values);
  size_t k = 0;
  size_t user = 0;
  for (const ig_node *n = g->first; values && n; n = n->next) {
    if (!ig_node_is_placeholder(n)) continue;
    values[k] = n->role == IG_INPUT_USER ? s->inputs[user++]
                : s->values[k]           ? ig_of_tensor(s->values[k])
                : n->constant            ? ig_of_tensor(n->constant)
                                         : ig_none();  // tokens have none
    k++;
  }
  return values;
}

static ig_status run_program(const ig_session *s, ig_value *outs) {
  IG_RETURN_IF_ERR(check_relations(s));
  const ig_value *values = arguments(s);
  if (!values) return s->c->status;
  return ig_graph_run(s->c, s->m->runnable->graph, values, s->nweights, outs);
}

// New values of buffers are the initial values of the next run.
static void keep_buffers(ig_session *s) {
  for (size_t i = 0; s->m->runnable && i < s->nout; i++) {
    const ig_model_port *p = s->m->outputs.at[i];
    if (p->role != IG_PORT_BUFFER || s->outputs[i].kind != IG_KIND_TENSOR) continue;
    for (size_t k = 0; k < s->nweights; k++) {
      const char *target = s->m->runnable->inputs[k].target;
      if (!target || strcmp(target, p->target) != 0) continue;
      ig_tensor *fresh = ig_tensor_retain(s->outputs[i].tensor);
      ig_tensor_release(s->values[k]);
      s->values[k] = fresh;
    }
  }
}

ig_status ig_session_run(ig_session *s) {
  ig_ctx *c = s->c;
  if (c->status != IG_OK) return c->status;
  IG_RETURN_IF_ERR(all_given(s));
  forget_outputs(s);
  ig_scope scope = ig_scope_open(c);
  ig_value *outs = ig_scope_array(c, s->nout + 1, sizeof *outs);
  ig_watch watch = {s->watch, s->watch_user};
  ig_mode_change change = {IG_MODE_NO_GRAD | IG_MODE_WATCH,
                           {.no_grad = true, .watch = s->watch ? &watch : NULL}};
  ig_mode_scope mode = ig_mode_push(c, &change);
  const ig_account outer = ig_account_open(c, &s->m->limits);
  ig_status st = !outs ? c->status : s->m->runnable ? run_program(s, outs) : run_format(s, outs);
  ig_account_close(c, &outer);
  ig_mode_pop(c, &mode);
  for (size_t i = 0; outs && i < s->nout && st == IG_OK; i++) {
    if (!ig_texts_copy(c, &s->lists, &outs[i])) st = c->status;
  }
  for (size_t i = 0; outs && i < s->nout && st == IG_OK; i++) {
    retain(&outs[i]);
    s->outputs[i] = outs[i];
  }
  ig_scope_close(c, scope);
  if (st != IG_OK) return st;
  keep_buffers(s);
  s->ran = true;
  return IG_OK;
}

ig_status ig_session_export(ig_session *s, ig_program **out) {
  *out = NULL;
  if (s->c->status != IG_OK) return s->c->status;
  if (!s->m->format->export) {
    return ig_fail(s->c, IG_UNSUPPORTED, "%s: %s", s->m->name,
                   s->m->program ? "it has a program already" : "it cannot be captured");
  }
  IG_RETURN_IF_ERR(all_given(s));
  IG_RETURN_IF_ERR(start(s));
  const ig_account outer = ig_account_open(s->c, &s->m->limits);
  ig_status st = s->m->format->export(s->c, s->m, s->state, s->inputs, out);
  ig_account_close(s->c, &outer);
  return st;
}

// ---- outputs

const ig_value *ig_session_output_at(const ig_session *s, size_t i) {
  return s->ran && i < s->nout ? &s->outputs[i] : NULL;
}

static int find_output(const ig_session *s, const char *name) {
  return ig_model_find_output(s->m, name ? name : "out0");
}

const ig_tensor *ig_session_output(const ig_session *s, const char *name) {
  int i = find_output(s, name);
  const ig_value *v = i < 0 ? NULL : ig_session_output_at(s, (size_t)i);
  return v && v->kind == IG_KIND_TENSOR ? v->tensor : NULL;
}

ig_status ig_session_read(ig_session *s, const char *name, void *data, size_t bytes) {
  if (s->c->status != IG_OK) return s->c->status;
  if (!s->ran) return ig_fail(s->c, IG_INVALID, "%s: not run yet", s->m->name);
  const ig_tensor *t = ig_session_output(s, name);
  if (!t) {
    return ig_fail(s->c, IG_NOT_FOUND, "%s: no output '%s' that is a tensor", s->m->name,
                   name ? name : "out0");
  }
  size_t have = (size_t)ig_tensor_numel(t) * ig_dtype_size(t->dtype);
  if (bytes != have) {
    return ig_fail(s->c, IG_MISMATCH, "%s: output '%s' has %zu bytes, the caller's memory %zu",
                   s->m->name, name ? name : "out0", have, bytes);
  }
  if (have) ig_tensor_read(t, t->dtype, data);
  return IG_OK;
}

void ig_session_watch(ig_session *s, ig_session_watch_fn *fn, void *user) {
  s->watch = fn;
  s->watch_user = user;
}
