// SPDX-License-Identifier: Apache-2.0
// Running a whole model eagerly.
#include "onnx_read/session.h"

#include <string.h>

// Is v what the model declares? Names what is wrong.
static bool check_input(ig_rd *r, const ig_om_info *info, const ig_rd_value *v) {
  if (!v || info->type.kind != IG_OM_TENSOR_TYPE || v->kind != IG_RD_TENSOR) return true;
  if (info->type.elem && v->elem != info->type.elem) {
    ig_rd_fail(r, IG_BAD_TYPE, "input '%s': found %s, expected %s", info->name,
               ig_om_elem_text(v->elem), ig_om_elem_text(info->type.elem));
    return false;
  }
  if (!info->type.has_shape || !v->t) return true;
  if (v->t->ndim != info->type.ndim) {
    ig_rd_fail(r, IG_MISMATCH, "input '%s': found %d dimensions, expected %d", info->name,
               v->t->ndim, info->type.ndim);
    return false;
  }
  for (int d = 0; d < v->t->ndim; d++) {
    int64_t want = info->type.dims[d].value;
    int64_t found = ig_sizes(v->t)[d].value;  // concrete: inputs of a run are real
    if (want < 0 || want == found) continue;
    ig_rd_fail(r, IG_MISMATCH, "input '%s': dimension %d: found %lld, expected %lld", info->name, d,
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
      ig_rd_fail(r, IG_INVALID, "input '%s' is missing", g->inputs[i].name);
      return r->c->status;
    }
  }
  if (k != n) {
    ig_rd_fail(r, IG_INVALID, "found %zu inputs, expected %zu", n, k);
    return r->c->status;
  }
  (void)ig_rd_graph(r, g, all, g->ninputs, outs);
  return r->c->status;
}

// ---- ig_onnx_run

static ig_value to_value(ig_rd *r, ig_rd_value *v) {
  if (!v || (v->kind == IG_RD_OPTIONAL && v->nitems == 0)) return ig_none();
  if (v->kind == IG_RD_TENSOR) return ig_of_tensor(ig_rd_tensor(r, v));
  size_t n = v->kind == IG_RD_STRINGS ? v->nstrings : v->nitems;
  ig_value *list = ig_scope_array(r->c, n, sizeof *list);
  for (size_t i = 0; list && i < n; i++) {
    if (v->kind != IG_RD_STRINGS) {
      list[i] = to_value(r, v->items[i]);
      continue;
    }
    char *text = ig_scope_push(r->c, v->strings[i].n + 1);
    if (!text) return ig_none();
    if (v->strings[i].n) memcpy(text, v->strings[i].at, v->strings[i].n);
    text[v->strings[i].n] = 0;
    list[i] = ig_of_str(text);
  }
  if (!list) return ig_none();
  if (v->kind == IG_RD_OPTIONAL) return list[0];
  ig_value out = ig_of_list(list, n);
  if (v->kind == IG_RD_MAP) out.seq = IG_SEQ_DICT;
  return out;
}

static ig_status run_named(ig_rd *r, const ig_weight *inputs, size_t n, ig_value *outs) {
  const ig_om_graph *g = r->m->graph;
  ig_rd_value **in = ig_scope_array(r->c, g->ninputs, sizeof *in);
  ig_rd_value **results = ig_scope_array(r->c, g->noutputs, sizeof *results);
  if (!in || !results) return r->c->status;
  for (size_t i = 0; i < g->ninputs; i++) in[i] = NULL;
  for (size_t k = 0; k < n; k++) {
    size_t i = 0;
    while (i < g->ninputs && strcmp(g->inputs[i].name, inputs[k].name) != 0) i++;
    if (i == g->ninputs) {
      ig_rd_fail(r, IG_NOT_FOUND, "there is no input '%s'", inputs[k].name);
      return r->c->status;
    }
    in[i] = ig_rd_of_tensor(r, inputs[k].tensor, 0);
    if (!check_input(r, &g->inputs[i], in[i])) return r->c->status;
  }
  for (size_t i = 0; i < g->ninputs; i++) {
    if (in[i] || g->input_defaults[i]) continue;
    ig_rd_fail(r, IG_INVALID, "input '%s' is missing", g->inputs[i].name);
    return r->c->status;
  }
  if (ig_rd_graph(r, g, in, g->ninputs, results)) {
    for (size_t i = 0; i < g->noutputs; i++) outs[i] = to_value(r, results[i]);
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
