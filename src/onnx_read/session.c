// SPDX-License-Identifier: Apache-2.0
// Running a whole model eagerly.
#include "onnx_read/session.h"

#include <string.h>

#include "base/cause.h"
#include "tensor/texts.h"

// Does v match the declaration? Reports the mismatch.
static bool check_input(ig_rd *r, const ig_om_info *info, const ig_rd_value *v) {
  bool strings = v && v->kind == IG_RD_STRINGS;
  if (!v || info->type.kind != IG_OM_TENSOR_TYPE || (v->kind != IG_RD_TENSOR && !strings)) {
    return true;
  }
  if (info->type.elem && v->elem != info->type.elem) {
    ig_rd_fail(r, IG_BAD_TYPE | IG_E_INPUT_TYPE, "input '%s': found %s, expected %s", info->name,
               ig_om_elem_text(v->elem), ig_om_elem_text(info->type.elem));
    return false;
  }
  if (!info->type.has_shape || (!strings && !v->t)) return true;
  int ndim = strings ? v->ndim : v->t->ndim;
  if (ndim != info->type.ndim) {
    ig_rd_fail(r, IG_MISMATCH | IG_E_INPUT_SIZE, "input '%s': found %d dimensions, expected %d",
               info->name, ndim, info->type.ndim);
    return false;
  }
  for (int d = 0; d < ndim; d++) {
    int64_t want = info->type.dims[d].value;
    // concrete: inputs of a run are real
    int64_t found = strings ? v->dims[d] : ig_sizes(v->t)[d].value;
    if (want < 0 || want == found) continue;
    ig_rd_fail(r, IG_MISMATCH | IG_E_INPUT_SIZE,
               "input '%s': dimension %d: found %lld, expected %lld", info->name, d,
               (long long)found, (long long)want);
    return false;
  }
  return true;
}

ig_status ig_rd_run(ig_rd *r, ig_rd_value *const *in, size_t n, ig_rd_value **outs) {
  const ig_om_graph *g = r->m->graph;
  ig_rd_value **all = ig_scope_array(r->c, g->ninputs, sizeof *all);
  if (!all) return r->c->status;
  size_t k = 0;
  for (size_t i = 0; i < g->ninputs; i++) {
    all[i] = NULL;
    if (g->input_defaults[i]) continue;
    if (k < n) all[i] = in[k++];
    if (!check_input(r, &g->inputs[i], all[i])) return r->c->status;
    bool optional = g->inputs[i].type.kind == IG_OM_OPTIONAL_TYPE;
    if (!all[i] && optional) all[i] = ig_rd_of_items(r, IG_RD_OPTIONAL, NULL, 0);
    if (!all[i]) {
      ig_rd_fail(r, IG_INVALID | IG_E_INPUT_MISSING, "input '%s' is missing", g->inputs[i].name);
      return r->c->status;
    }
  }
  if (k != n) {
    ig_rd_fail(r, IG_INVALID | IG_E_INPUT_MISSING, "found %zu inputs, expected %zu", n, k);
    return r->c->status;
  }
  (void)ig_rd_graph(r, g, all, g->ninputs, outs);
  return r->c->status;
}

// ---- ig_onnx_run

// name: of the output, for messages.
static ig_value to_texts(ig_rd *r, const char *name, const ig_rd_value *v) {
  const char **texts = ig_scope_array(r->c, v->nstrings + 1, sizeof *texts);
  for (size_t i = 0; texts && i < v->nstrings; i++) {
    const ig_bytes *s = &v->strings[i];
    if (s->n && memchr(s->at, 0, s->n)) {
      ig_rd_fail(r, IG_UNSUPPORTED, "output '%s': element %zu has a NUL inside of its text", name,
                 i);
      return ig_none();
    }
    char *text = ig_scope_push(r->c, s->n + 1);
    if (!text) return ig_none();
    if (s->n) memcpy(text, s->at, s->n);
    text[s->n] = 0;
    texts[i] = text;
  }
  const ig_value *out = texts ? ig_texts_make(r->c, name, texts, v->dims, v->ndim) : NULL;
  return out ? *out : ig_none();
}

ig_value ig_rd_to_value(ig_rd *r, const char *name, ig_rd_value *v) {
  if (!v || (v->kind == IG_RD_OPTIONAL && v->nitems == 0)) return ig_none();
  if (v->kind == IG_RD_TENSOR) return ig_of_tensor(ig_rd_tensor(r, v));
  if (v->kind == IG_RD_STRINGS) return to_texts(r, name, v);
  ig_value *list = ig_scope_array(r->c, v->nitems, sizeof *list);
  for (size_t i = 0; list && i < v->nitems; i++) list[i] = ig_rd_to_value(r, name, v->items[i]);
  if (!list) return ig_none();
  if (v->kind == IG_RD_OPTIONAL) return list[0];
  ig_value out = ig_of_list(list, v->nitems);
  if (v->kind == IG_RD_MAP) out.seq = IG_SEQ_DICT;
  return out;
}

// Sizes behind the first 0 are those that the model declares: lists of nothing end there.
static void complete_sizes(const ig_om_info *info, int64_t *sizes, int *ndim) {
  bool empty = *ndim && sizes[*ndim - 1] == 0;
  for (; empty && info->type.has_shape && *ndim < info->type.ndim; (*ndim)++) {
    int64_t want = info->type.dims[*ndim].value;
    sizes[*ndim] = want < 0 ? 0 : want;
  }
}

static ig_rd_value *of_texts(ig_rd *r, const ig_om_info *info, const ig_value *value) {
  int64_t sizes[IG_MAX_DIM];
  int ndim = 0;
  if (!ig_texts_measure(value, sizes, &ndim)) {
    ig_rd_fail(r, IG_BAD_TYPE | IG_E_INPUT_TYPE,
               "input '%s': expected a text or lists of texts of equal lengths", info->name);
    return NULL;
  }
  size_t n = ig_texts_read(value, NULL, 0);
  const char **texts = ig_scope_array(r->c, n + 1, sizeof *texts);
  ig_bytes *bytes = ig_scope_array(r->c, n + 1, sizeof *bytes);
  if (!texts || !bytes) return NULL;
  (void)ig_texts_read(value, texts, n);
  for (size_t i = 0; i < n; i++) bytes[i] = (ig_bytes){(const uint8_t *)texts[i], strlen(texts[i])};
  complete_sizes(info, sizes, &ndim);
  return ig_rd_of_strings(r, bytes, n, sizes, ndim);
}

ig_rd_value **ig_rd_take_inputs(ig_rd *r, const ig_weight *inputs, size_t n) {
  const ig_om_graph *g = r->m->graph;
  ig_rd_value **in = ig_scope_array(r->c, g->ninputs, sizeof *in);
  if (!in) return NULL;
  for (size_t i = 0; i < g->ninputs; i++) in[i] = NULL;
  for (size_t k = 0; k < n; k++) {
    size_t i = 0;
    while (i < g->ninputs && strcmp(g->inputs[i].name, inputs[k].name) != 0) i++;
    if (i == g->ninputs) {
      ig_rd_fail(r, IG_NOT_FOUND | IG_E_INPUT_UNKNOWN, "there is no input '%s'", inputs[k].name);
      return NULL;
    }
    if (!inputs[k].texts && !inputs[k].tensor) {
      ig_rd_fail(r, IG_INVALID | IG_E_INPUT_TYPE, "input '%s' has neither a tensor nor texts",
                 inputs[k].name);
      return NULL;
    }
    in[i] = inputs[k].texts ? of_texts(r, &g->inputs[i], inputs[k].texts)
                            : ig_rd_of_tensor(r, inputs[k].tensor, 0);
    if (!in[i] || !check_input(r, &g->inputs[i], in[i])) return NULL;
  }
  for (size_t i = 0; i < g->ninputs; i++) {
    if (in[i] || g->input_defaults[i]) continue;
    ig_rd_fail(r, IG_INVALID | IG_E_INPUT_MISSING, "input '%s' is missing", g->inputs[i].name);
    return NULL;
  }
  return in;
}

static ig_status run_named(ig_rd *r, const ig_weight *inputs, size_t n, ig_value *outs) {
  const ig_om_graph *g = r->m->graph;
  ig_rd_value **results = ig_scope_array(r->c, g->noutputs, sizeof *results);
  ig_rd_value **in = results ? ig_rd_take_inputs(r, inputs, n) : NULL;
  if (!in) return r->c->status;
  if (ig_rd_graph(r, g, in, g->ninputs, results)) {
    for (size_t i = 0; i < g->noutputs; i++) {
      outs[i] = ig_rd_to_value(r, g->outputs[i].name, results[i]);
    }
  }
  return r->c->status;
}

ig_status ig_onnx_run(ig_ctx *c, const ig_onnx_model *m, const ig_weight *inputs, size_t n,
                      ig_value *outs) {
  IG_RETURN_IF_ERR(c->status);
  for (size_t i = 0; i < m->graph->noutputs; i++) outs[i] = ig_none();
  ig_rd r;
  ig_mode_scope mode = ig_mode_push_grad(c, false);
  ig_status st = ig_rd_init(&r, c, m);
  if (st == IG_OK) st = run_named(&r, inputs, n, outs);
  ig_rd_done(&r);
  ig_mode_pop(c, &mode);
  return st;
}
