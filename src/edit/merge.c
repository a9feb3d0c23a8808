// SPDX-License-Identifier: Apache-2.0
// Two models as one: outputs of the first are inputs of the second.
#include <string.h>

#include "base/cause.h"
#include "base/options.h"
#include "edit/edit.h"

typedef struct merging {
  ig_edit *e;
  ig_om_graph *g;  // of the second model
  const ig_onnx_model *other;
  const ig_merge_options *o;
  ig_map names;            // of the second model's values -> in the merged one
  ig_map nodes;            // likewise
  ig_map joined;           // outputs of the first that are inputs of the second
  const char **functions;  // of the second model, as they are called in the merged one
} merging;

static const ig_om_info *find(const ig_om_info *at, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++)
    if (strcmp(at[i].name, name) == 0) return &at[i];
  return NULL;
}

static ig_status no_port(merging *x, const char *kind, const char *name, const ig_om_info *at,
                         size_t n) {
  const char **names = ig_ed_push(x->e, n, sizeof *names);
  for (size_t i = 0; names && i < n; i++) names[i] = at[i].name;
  return ig_ed_unknown(x->e, kind, name, names, n);
}

static ig_status check_types(merging *x, const ig_om_info *a, const ig_om_info *b) {
  const ig_om_type *s = &a->type;
  const ig_om_type *t = &b->type;
  if (s->kind && t->kind && (s->kind != t->kind || (s->elem && t->elem && s->elem != t->elem)))
    return ig_fail(x->e->c, IG_MISMATCH, "%s: output '%s' is %s, input '%s' of %s takes %s",
                   x->e->m.name, a->name, ig_om_elem_text(s->elem), b->name, x->other->name,
                   ig_om_elem_text(t->elem));
  if (!s->has_shape || !t->has_shape) return IG_OK;
  if (s->ndim != t->ndim)
    return ig_fail(x->e->c, IG_MISMATCH,
                   "%s: output '%s' has %d dimensions, input '%s' of %s takes %d", x->e->m.name,
                   a->name, s->ndim, b->name, x->other->name, t->ndim);
  for (int d = 0; d < s->ndim; d++)
    if (s->dims[d].value >= 0 && t->dims[d].value >= 0 && s->dims[d].value != t->dims[d].value)
      return ig_fail(x->e->c, IG_MISMATCH,
                     "%s: dimension %d of output '%s' is %lld, input '%s' of %s takes %lld",
                     x->e->m.name, d, a->name, (long long)s->dims[d].value, b->name, x->other->name,
                     (long long)t->dims[d].value);
  return IG_OK;
}

static ig_status join(merging *x, const char *output, const char *input) {
  const ig_om_graph *g = x->e->m.graph;
  const ig_om_info *a = find(g->outputs, g->noutputs, output);
  const ig_om_info *b = find(x->g->inputs, x->g->ninputs, input);
  if (!a) return no_port(x, "output", output, g->outputs, g->noutputs);
  if (!b) return no_port(x, "input of the second model", input, x->g->inputs, x->g->ninputs);
  ig_map_value *at = ig_ed_put(x->e, &x->names, b->name);
  ig_map_value *used = ig_ed_put(x->e, &x->joined, a->name);
  if (!at || !used) return x->e->c->status;
  if (at->text)
    return ig_fail(x->e->c, IG_INVALID, "%s: input '%s' is joined twice", x->other->name, input);
  at->text = a->name;
  used->num = 1;
  return check_types(x, a, b);
}

static ig_status join_all(merging *x) {
  const ig_om_graph *g = x->e->m.graph;
  for (size_t i = 0; i < x->o->njoins; i++)
    IG_RETURN_IF_ERR(join(x, x->o->joins[i].output, x->o->joins[i].input));
  for (size_t i = 0; !x->o->njoins && i < g->noutputs; i++)
    if (find(x->g->inputs, x->g->ninputs, g->outputs[i].name))
      IG_RETURN_IF_ERR(join(x, g->outputs[i].name, g->outputs[i].name));
  if (x->joined.n) return IG_OK;
  return ig_fail(x->e->c, IG_INVALID,
                 "%s: no output has the name of an input of %s: say which are joined", x->e->m.name,
                 x->other->name);
}

// ---- names

static void rename_value(merging *x, const char *name) {
  if (!*name) return;
  ig_map_value *at = ig_ed_put(x->e, &x->names, name);
  if (!at || at->text) return;
  const char *to = x->o->prefix ? ig_ed_text(x->e, "%s%s", x->o->prefix, name) : name;
  bool taken = ig_map_find(&x->e->names, to) != NULL;
  at->text = taken ? ig_ed_fresh(x->e, to, "merged") : to;
  (void)ig_ed_put(x->e, &x->e->names, at->text);
}

static const char *now(const merging *x, const char *name) {
  const ig_map_value *at = *name ? ig_map_find(&x->names, name) : NULL;
  return at && at->text ? at->text : name;
}

static void plan_names(merging *x, const ig_om_graph *g) {
  for (size_t i = 0; i < g->ninputs; i++) rename_value(x, g->inputs[i].name);
  for (size_t i = 0; i < g->ninits; i++) rename_value(x, g->inits[i]->name);
  for (size_t i = 0; i < g->nnodes && ig_ed_ok(x->e); i++) {
    const ig_om_node *n = &g->nodes[i];
    for (size_t k = 0; k < n->noutputs; k++) rename_value(x, n->outputs[k]);
    for (size_t k = 0; k < n->nattrs; k++) {
      const ig_om_attr *a = &n->attrs[k];
      for (size_t j = 0; j < ig_ed_bodies(a); j++) plan_names(x, a->graphs[j]);
    }
  }
}

static void rename_infos(merging *x, const ig_om_info **infos, size_t n) {
  ig_om_info *to = ig_ed_push(x->e, n, sizeof *to);
  for (size_t i = 0; to && i < n; i++) {
    to[i] = (*infos)[i];
    to[i].name = now(x, to[i].name);
  }
  if (to) *infos = to;
}

static void rename_list(merging *x, const char *const **list, size_t n) {
  const char **to = ig_ed_push(x->e, n, sizeof *to);
  for (size_t i = 0; to && i < n; i++) to[i] = now(x, (*list)[i]);
  if (to) *list = to;
}

static void rename_graph(merging *x, ig_om_graph *g) {
  rename_infos(x, &g->inputs, g->ninputs);
  rename_infos(x, &g->outputs, g->noutputs);
  rename_infos(x, &g->values, g->nvalues);
  const ig_om_tensor **inits = ig_ed_push(x->e, g->ninits, sizeof *inits);
  for (size_t i = 0; inits && i < g->ninits; i++) {
    ig_om_tensor *t = ig_ed_push(x->e, 1, sizeof *t);
    if (!t) return;
    *t = *g->inits[i];
    t->name = now(x, t->name);
    inits[i] = t;
  }
  if (inits) g->inits = inits;
  for (size_t i = 0; i < g->nnodes && ig_ed_ok(x->e); i++) {
    ig_om_node *n = &g->nodes[i];
    rename_list(x, &n->inputs, n->ninputs);
    rename_list(x, &n->outputs, n->noutputs);
    if (x->o->prefix && *n->name) n->name = ig_ed_text(x->e, "%s%s", x->o->prefix, n->name);
    while (*n->name && ig_map_find(&x->nodes, n->name) && ig_ed_ok(x->e))
      n->name = ig_ed_text(x->e, "%s_%zu", n->name, x->e->nfresh++);
    for (size_t k = 0; k < n->nattrs; k++) {
      const ig_om_attr *a = &n->attrs[k];
      for (size_t j = 0; j < ig_ed_bodies(a); j++) rename_graph(x, a->graphs[j]);
    }
  }
}

// ---- putting together

static ig_status merge_opsets(merging *x) {
  ig_onnx_model *m = &x->e->m;
  ig_om_opset *to = ig_ed_push(x->e, ig_mem_add(m->nopsets, x->other->nopsets), sizeof *to);
  size_t n = m->nopsets;
  if (!to) return x->e->c->status;
  if (n) memcpy(to, m->opsets, n * sizeof *to);
  for (size_t i = 0; i < x->other->nopsets; i++) {
    const ig_om_opset *o = &x->other->opsets[i];
    int64_t here = ig_om_opset_version(m->opsets, m->nopsets, o->domain);
    if (here && here != o->version)
      return ig_fail(
          x->e->c, IG_UNSUPPORTED,
          "%s imports opset %lld of '%s', %s %lld: convert one of them first, with ingot "
          "convert --opset",
          m->name, (long long)here, *o->domain ? o->domain : "ai.onnx", x->other->name,
          (long long)o->version);
    if (!here) to[n++] = *o;
  }
  m->opsets = to;
  m->nopsets = n;
  return IG_OK;
}

// Where a function is, by its three names; n: nowhere.
static size_t function_at(const ig_om_function *at, size_t n, const char *domain, const char *name,
                          const char *overload) {
  size_t i = 0;
  while (i < n && (strcmp(at[i].name, name) != 0 || strcmp(at[i].domain, domain) != 0 ||
                   strcmp(at[i].overload, overload) != 0))
    i++;
  return i;
}

// The name of a function of the second model where the first one has its name too.
static const char *function_name(merging *x, const ig_om_function *f) {
  const ig_onnx_model *a = &x->e->m;
  const ig_onnx_model *b = x->other;
  const char *name = f->name;
  bool taken =
      function_at(a->functions, a->nfunctions, f->domain, name, f->overload) < a->nfunctions;
  for (size_t i = 1; taken && ig_ed_ok(x->e); i++) {
    name = ig_ed_text(x->e, "%s_merged_%zu", f->name, i);
    taken =
        function_at(a->functions, a->nfunctions, f->domain, name, f->overload) < a->nfunctions ||
        function_at(b->functions, b->nfunctions, f->domain, name, f->overload) < b->nfunctions;
  }
  return name;
}

static void rename_calls(merging *x, ig_om_graph *g) {
  for (size_t i = 0; g && i < g->nnodes && ig_ed_ok(x->e); i++) {
    ig_om_node *n = &g->nodes[i];
    size_t count = x->other->nfunctions;
    size_t at = function_at(x->other->functions, count, n->domain, n->op_type, n->overload);
    if (at < count) n->op_type = x->functions[at];
    for (size_t k = 0; k < n->nattrs; k++) {
      const ig_om_attr *a = &n->attrs[k];
      for (size_t j = 0; j < ig_ed_bodies(a); j++) rename_calls(x, a->graphs[j]);
    }
  }
}

static ig_status merge_functions(merging *x) {
  ig_edit *e = x->e;
  size_t n = e->m.nfunctions;
  size_t more = x->other->nfunctions;
  if (!more) return IG_OK;
  ig_om_function *to = ig_ed_push(e, ig_mem_add(n, more), sizeof *to);
  x->functions = ig_ed_push(e, more, sizeof *x->functions);
  if (!to || !x->functions) return e->c->status;
  if (n) memcpy(to, e->m.functions, n * sizeof *to);
  for (size_t i = 0; i < more; i++) {
    x->functions[i] = function_name(x, &x->other->functions[i]);
    to[n + i] = x->other->functions[i];
    to[n + i].mark = 0;
    to[n + i].name = x->functions[i];
    to[n + i].body = ig_ed_copy_graph(e, x->other->functions[i].body);
  }
  for (size_t i = 0; i < more; i++) rename_calls(x, to[n + i].body);
  rename_calls(x, x->g);
  e->m.functions = to;
  e->m.nfunctions = n + more;
  return e->c->status;
}

static void *joined_arrays(merging *x, const void *a, size_t n, const void *b, size_t m,
                           size_t size) {
  uint8_t *to = ig_ed_push(x->e, ig_mem_add(n, m), size);
  if (to && n) memcpy(to, a, ig_mem_mul(n, size));
  if (to && m) memcpy(to + ig_mem_mul(n, size), b, ig_mem_mul(m, size));
  return to;
}

static void merge_ports(merging *x) {
  ig_om_graph *a = x->e->m.graph;
  ig_om_graph *b = x->g;
  ig_om_info *inputs = ig_ed_push(x->e, ig_mem_add(a->ninputs, b->ninputs), sizeof *inputs);
  ig_om_info *outputs = ig_ed_push(x->e, ig_mem_add(a->noutputs, b->noutputs), sizeof *outputs);
  if (!inputs || !outputs) return;
  size_t n = 0;
  for (size_t i = 0; i < a->ninputs; i++) inputs[n++] = a->inputs[i];
  for (size_t i = 0; i < b->ninputs; i++)
    if (!ig_map_find(&x->joined, b->inputs[i].name)) inputs[n++] = b->inputs[i];
  a->inputs = inputs;
  a->ninputs = n;
  n = 0;
  for (size_t i = 0; i < a->noutputs; i++)
    if (x->o->keep_joined || !ig_map_find(&x->joined, a->outputs[i].name))
      outputs[n++] = a->outputs[i];
  for (size_t i = 0; i < b->noutputs; i++)
    if (!find(outputs, n, b->outputs[i].name)) outputs[n++] = b->outputs[i];
  a->outputs = outputs;
  a->noutputs = n;
}

static ig_status merge(merging *x) {
  ig_edit *e = x->e;
  ig_om_graph *a = e->m.graph;
  ig_om_graph *b = x->g;
  if (b->nsparse)
    return ig_fail(e->c, IG_UNSUPPORTED, "%s: sparse weights are not merged", x->other->name);
  IG_RETURN_IF_ERR(merge_opsets(x));
  IG_RETURN_IF_ERR(join_all(x));
  for (size_t i = 0; i < a->nnodes; i++) (void)ig_ed_put(e, &x->nodes, a->nodes[i].name);
  plan_names(x, b);
  rename_graph(x, b);
  IG_RETURN_IF_ERR(merge_functions(x));
  merge_ports(x);
  a->nodes = joined_arrays(x, a->nodes, a->nnodes, b->nodes, b->nnodes, sizeof *a->nodes);
  a->inits = joined_arrays(x, a->inits, a->ninits, b->inits, b->ninits, sizeof *a->inits);
  a->nvalues = 0;
  if (!ig_ed_ok(e)) return e->c->status;
  a->nnodes += b->nnodes;
  a->ninits += b->ninits;
  if (e->m.ir_version < x->other->ir_version) e->m.ir_version = x->other->ir_version;
  return IG_OK;
}

ig_status ig_edit_merge(ig_edit *e, ig_onnx_model *other, const ig_merge_options *options) {
  ig_merge_options o;
  IG_OPTIONS_TAKE(&o, options, keep_joined);
  IG_RETURN_IF_ERR(ig_ed_begin(e));
  if (!ig_vec_push(e->c->alloc, &e->sources, other))
    return ig_fail(e->c, IG_NOMEM, "out of memory");
  (void)ig_onnx_retain(other);
  merging x = {.e = e,
               .g = ig_ed_copy_graph(e, other->graph),
               .other = other,
               .o = &o,
               .names = ig_map_make(e->c->alloc),
               .nodes = ig_map_make(e->c->alloc),
               .joined = ig_map_make(e->c->alloc)};
  ig_status st = x.g ? merge(&x) : e->c->status;
  ig_map_free(&x.names);
  ig_map_free(&x.nodes);
  ig_map_free(&x.joined);
  IG_RETURN_IF_ERR(st);
  IG_RETURN_IF_ERR(ig_ed_end(e));
  IG_RETURN_IF_ERR(ig_ed_infer(e));
  return ig_ed_end(e);
}
