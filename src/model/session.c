// SPDX-License-Identifier: Apache-2.0
// Sessions: inputs by name, checked when they are bound; buffers that the model mutates live in the
// session, so that sessions of several threads can share one model. session_run.c runs them.
#include <stdio.h>
#include <string.h>

#include "base/cause.h"
#include "base/limits.h"
#include "base/options.h"
#include "base/str.h"
#include "ingot/diff.h"
#include "model/session.h"
#include "tensor/copy.h"
#include "tensor/texts.h"

void ig_session_retain(const ig_value *v) {
  if (v->kind == IG_KIND_TENSOR) (void)ig_tensor_retain(v->tensor);
  for (size_t i = 0; v->kind == IG_KIND_LIST && i < v->list.n; i++)
    ig_session_retain(&v->list.at[i]);
}

void ig_session_release(ig_value *v) {
  if (v->kind == IG_KIND_TENSOR) ig_tensor_release(v->tensor);
  for (size_t i = 0; v->kind == IG_KIND_LIST && i < v->list.n; i++) {
    ig_session_release((ig_value *)&v->list.at[i]);
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
  s->args = push(s, nweights, sizeof *s->args);
  s->results = push(s, nout, sizeof *s->results);
  s->targets = push(s, nout, sizeof *s->targets);
  if (s->c->status != IG_OK) return false;
  for (size_t i = 0; i < nin; i++) s->texts[i] = ig_arena_make(s->c->alloc);
  s->nin = nin;  // the counts are valid, so that a partially created session can be freed
  s->nout = nout;
  s->nweights = nweights;
  return true;
}

ig_status ig_session_create(ig_ctx *c, ig_model *m, ig_session **out) {
  return ig_session_create_with(c, m, NULL, out);
}

ig_status ig_session_clone(ig_ctx *c, const ig_session *s, ig_session **out) {
  return ig_session_create_with(c, s->m, &s->options, out);
}

static ig_session_options complete(const ig_session_options *given) {
  ig_session_options o;
  IG_OPTIONS_TAKE(&o, given, precision);
  return o;
}

ig_status ig_session_create_with(ig_ctx *c, ig_model *m, const ig_session_options *options,
                                 ig_session **out) {
  *out = NULL;
  if (c->status != IG_OK) return c->status;
  if (m->format->no_run) {
    return ig_fail(c, IG_UNSUPPORTED | IG_E_NO_PROGRAM, "%s: %s", m->name, m->format->no_run);
  }
  if (!m->runnable && !m->format->run) {
    const char *why = m->findings.n ? m->findings.at[0]->text : "the file holds no program to run";
    return ig_fail(c, IG_UNSUPPORTED | IG_E_NO_PROGRAM, "%s: %s", m->name, why);
  }
  ig_session *s = ig_mem_new(c->alloc, sizeof *s);
  if (!s) return ig_fail(c, IG_NOMEM, "out of memory");
  s->c = c;
  s->m = ig_model_retain(m);
  s->options = complete(options);
  s->limits = s->options.limits ? ig_limits_of(c, s->options.limits) : m->limits;
  if (s->options.limits) s->options.limits = &s->limits;
  if (s->options.threads < 0) s->options.threads = 0;
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

void ig_session_forget_outputs(ig_session *s) {
  for (size_t i = 0; i < s->nout; i++) ig_session_release(&s->outputs[i]);
  ig_arena_free(&s->lists);
  s->lists = ig_arena_make(s->c->alloc);
  s->ran = false;
}

static void stop(ig_session *s) {
  if (s->state) s->m->format->stop(s->c, s->state);
  s->state = NULL;
}

void ig_session_reset(ig_session *s) {
  ig_session_forget_outputs(s);
  stop(s);
  for (size_t i = 0; i < s->nin; i++) {
    const ig_model_port *p = s->m->inputs.at[i];
    if (s->given[i]) ig_session_release(&s->inputs[i]);
    ig_arena_free(&s->texts[i]);
    s->texts[i] = ig_arena_make(s->c->alloc);
    s->given[i] = !ig_port_is_array(p);
    s->inputs[i] = s->given[i] ? p->value : ig_none();
  }
  for (size_t i = 0; i < s->nweights; i++) {
    ig_tensor_release(s->values[i]);
    s->values[i] = NULL;
  }
  for (size_t i = 0; i < s->nout; i++) s->targets[i] = (ig_plan_target){NULL, 0};
  s->bound = false;
}

void ig_session_free(ig_session *s) {
  if (!s) return;
  ig_session_reset(s);
  ig_plan_free(s->plan);
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
  ig_status st =
      ig_fail(s->c, IG_NOT_FOUND | IG_E_INPUT_UNKNOWN, "%s: no input '%s'; the model takes: %s",
              s->m->name, name, text.at ? text.at : "nothing");
  ig_str_free(&text);
  return st;
}

static ig_status bad_size(const ig_session *s, const ig_model_port *p, int d, int64_t size) {
  const ig_model_dim *dim = p->dims[d];
  if (!dim->name) {
    return ig_fail(s->c, IG_MISMATCH | IG_E_INPUT_SIZE,
                   "%s: input '%s': dim %d: found size %lld, expected %lld", s->m->name, p->name, d,
                   (long long)size, (long long)dim->value);
  }
  char hi[32] = "";
  if (dim->hi != INT64_MAX) (void)snprintf(hi, sizeof hi, " to %lld", (long long)dim->hi);
  return ig_fail(s->c, IG_MISMATCH | IG_E_INPUT_SIZE,
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
    return ig_fail(s->c, IG_MISMATCH | IG_E_INPUT_SIZE,
                   "%s: input '%s': found %d dimensions, expected %d", s->m->name, p->name, ndim,
                   p->ndim);
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
  (void)ig_fail(s->c, IG_BAD_TYPE | IG_E_INPUT_TYPE, "%s: input '%s' is %s", s->m->name, port->name,
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
    return ig_fail(s->c, IG_BAD_TYPE | IG_E_INPUT_TYPE,
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
    return ig_fail(s->c, IG_BAD_TYPE | IG_E_INPUT_TYPE,
                   "%s: input '%s': not the kind of value that was captured", s->m->name, p->name);
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
    return ig_fail(s->c, IG_BAD_TYPE | IG_E_INPUT_TYPE, "%s: input '%s': found %s, expected %s",
                   s->m->name, p->name, ig_dtype_text(t->dtype), ig_dtype_text(p->dtype));
  }
  int64_t sizes[IG_MAX_DIM];
  for (int d = 0; d < t->ndim; d++) sizes[d] = ig_tensor_size(t, d).value;
  IG_RETURN_IF_ERR(check_sizes(s, p, sizes, t->ndim));
  (void)ig_tensor_retain(t);
  ig_session_release(&s->inputs[i]);
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
    return ig_fail(s->c, IG_BAD_TYPE | IG_E_INPUT_TYPE,
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

ig_status ig_session_bind_output(ig_session *s, const char *name, void *data, size_t bytes) {
  if (s->c->status != IG_OK) return s->c->status;
  int i = find_output(s, name);
  if (i < 0 || s->m->outputs.at[i]->kind != IG_KIND_TENSOR) {
    return ig_fail(s->c, IG_NOT_FOUND, "%s: no output '%s' that is a tensor", s->m->name,
                   name ? name : "out0");
  }
  s->targets[i] = (ig_plan_target){data, bytes};
  s->bound = false;
  for (size_t k = 0; k < s->nout; k++) s->bound = s->bound || s->targets[k].data;
  return IG_OK;
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
