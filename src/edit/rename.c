// SPDX-License-Identifier: Apache-2.0
// Other names for inputs, outputs, values, nodes and dimensions.
#include <stdio.h>
#include <string.h>

#include "base/cause.h"
#include "edit/edit.h"

typedef struct renaming {
  ig_edit *e;
  ig_map values;  // old -> new
  ig_map dims;
  ig_map nodes;
} renaming;

// What a rule makes of a name; NULL: nothing.
static const char *made(ig_edit *e, const ig_rename *r, const char *name) {
  ig_bytes part;
  if (!*name || !ig_ed_matches(r->from, name, &part)) return NULL;
  const char *star = strchr(r->from, '*') ? strchr(r->to, '*') : NULL;
  if (!star) return ig_ed_text(e, "%s", r->to);
  return ig_ed_text(e, "%.*s%.*s%s", (int)(star - r->to), r->to, (int)part.n, (const char *)part.at,
                    star + 1);
}

static bool is_port(const ig_om_info *infos, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++)
    if (strcmp(infos[i].name, name) == 0) return true;
  return false;
}

static bool concerns(const ig_edit *e, const ig_rename *r, const char *name) {
  const ig_om_graph *g = e->m.graph;
  bool in = is_port(g->inputs, g->ninputs, name);
  bool out = is_port(g->outputs, g->noutputs, name);
  return r->kind == IG_RENAME_ANY || (r->kind == IG_RENAME_INPUT && in) ||
         (r->kind == IG_RENAME_OUTPUT && out) || (r->kind == IG_RENAME_VALUE && !in && !out);
}

static void put(renaming *r, ig_map *map, const char *from, const char *to) {
  ig_map_value *at = ig_ed_put(r->e, map, from);
  if (at && !at->text) at->text = to;
}

static size_t apply_to(renaming *r, const ig_rename *rule, const char *name) {
  const char *to = concerns(r->e, rule, name) ? made(r->e, rule, name) : NULL;
  if (to) put(r, &r->values, name, to);
  return to != NULL;
}

static size_t plan_values(renaming *r, const ig_rename *rule) {
  const ig_om_graph *g = r->e->m.graph;
  size_t n = 0;
  for (size_t i = 0; i < g->ninputs; i++) n += apply_to(r, rule, g->inputs[i].name);
  for (size_t i = 0; i < g->ninits; i++)
    if (!ig_map_find(&r->values, g->inits[i]->name)) n += apply_to(r, rule, g->inits[i]->name);
  for (size_t i = 0; i < g->nnodes && ig_ed_ok(r->e); i++)
    for (size_t k = 0; k < g->nodes[i].noutputs; k++)
      n += apply_to(r, rule, g->nodes[i].outputs[k]);
  return n;
}

static size_t plan_nodes(renaming *r, const ig_rename *rule) {
  const ig_om_graph *g = r->e->m.graph;
  size_t n = 0;
  for (size_t i = 0; i < g->nnodes && ig_ed_ok(r->e); i++) {
    const char *to = made(r->e, rule, g->nodes[i].name);
    if (to) put(r, &r->nodes, g->nodes[i].name, to);
    n += to != NULL;
  }
  return n;
}

// Names of the dimensions of inputs and outputs, possibly several times. NULL after an error.
static const char **dim_names(ig_edit *e, size_t *n) {
  const ig_om_graph *g = e->m.graph;
  size_t most = ig_mem_mul(ig_mem_add(g->ninputs, g->noutputs), IG_MAX_DIM);
  const char **names = ig_ed_push(e, most, sizeof *names);
  *n = 0;
  for (size_t i = 0; names && i < g->ninputs + g->noutputs; i++) {
    const ig_om_type *t = i < g->ninputs ? &g->inputs[i].type : &g->outputs[i - g->ninputs].type;
    for (int d = 0; d < t->ndim; d++)
      if (t->dims[d].value < 0 && t->dims[d].param) names[(*n)++] = t->dims[d].param;
  }
  return names;
}

static size_t plan_dims(renaming *r, const ig_rename *rule) {
  size_t count = 0;
  size_t n = 0;
  const char **names = dim_names(r->e, &count);
  for (size_t i = 0; names && i < count; i++) {
    const char *to = made(r->e, rule, names[i]);
    if (to) put(r, &r->dims, names[i], to);
    n += to != NULL;
  }
  return n;
}

static ig_status unknown(ig_edit *e, const ig_rename *rule) {
  static const char *const kinds[] = {
      [IG_RENAME_ANY] = "value", [IG_RENAME_INPUT] = "input", [IG_RENAME_OUTPUT] = "output",
      [IG_RENAME_NODE] = "node", [IG_RENAME_VALUE] = "value", [IG_RENAME_DIM] = "dimension"};
  const ig_om_graph *g = e->m.graph;
  if (rule->kind == IG_RENAME_DIM) {
    size_t count = 0;
    const char **dims = dim_names(e, &count);
    return dims ? ig_ed_unknown(e, kinds[rule->kind], rule->from, dims, count) : e->c->status;
  }
  size_t most = ig_mem_add(ig_mem_add(g->ninputs, g->noutputs), ig_mem_add(g->nnodes, g->ninits));
  const char **names = ig_ed_push(e, most, sizeof *names);
  size_t n = 0;
  bool any = rule->kind == IG_RENAME_ANY;
  for (size_t i = 0; names && i < g->ninputs && (any || rule->kind == IG_RENAME_INPUT); i++)
    names[n++] = g->inputs[i].name;
  for (size_t i = 0; names && i < g->noutputs && (any || rule->kind == IG_RENAME_OUTPUT); i++)
    names[n++] = g->outputs[i].name;
  for (size_t i = 0; names && i < g->nnodes && n < most; i++) {
    const ig_om_node *node = &g->nodes[i];
    if (rule->kind == IG_RENAME_NODE) names[n++] = node->name;
    if ((any || rule->kind == IG_RENAME_VALUE) && node->noutputs) names[n++] = node->outputs[0];
  }
  for (size_t i = 0; names && i < g->ninits && n < most; i++)
    if (any || rule->kind == IG_RENAME_VALUE) names[n++] = g->inits[i]->name;
  return ig_ed_unknown(e, kinds[rule->kind], rule->from, names, n);
}

// ---- carrying it out

static const char *now(const ig_map *map, const char *name) {
  const ig_map_value *at = name && *name ? ig_map_find(map, name) : NULL;
  return at && at->text ? at->text : name;
}

static bool is_input_dim(const ig_om_graph *g, const char *name) {
  for (size_t i = 0; i < g->ninputs; i++)
    for (int d = 0; d < g->inputs[i].type.ndim; d++) {
      const ig_om_dim *dim = &g->inputs[i].type.dims[d];
      if (dim->value < 0 && dim->param && strcmp(dim->param, name) == 0) return true;
    }
  return false;
}

// A dimension of an input is a name, whatever is in it ("n-all"), unless all words in it are names
// of other dimensions of inputs: "2*batch + 1".
static bool is_name(ig_edit *e, const char *text) {
  if (!is_input_dim(e->m.graph, text)) return false;
  size_t n = 0;
  for (const char *at = text; (at = ig_ed_find_word(at, &n)); at += n) {
    const char *word = ig_ed_text(e, "%.*s", (int)n, at);
    if (strcmp(word, text) == 0 || !is_input_dim(e->m.graph, word)) return true;
  }
  return false;
}

// Dimensions of results may be expressions of the names.
static const char *dim_now(renaming *r, const char *text) {
  ig_edit *e = r->e;
  const char *plain = now(&r->dims, text);
  if (!text || plain != text || !r->dims.n || is_name(e, text)) return plain;
  ig_str s = ig_str_make(e->c->alloc);
  const char *from = text;
  bool changed = false;
  size_t n = 0;
  for (const char *at = text; (at = ig_ed_find_word(at, &n)); at += n) {
    const char *word = ig_ed_text(e, "%.*s", (int)n, at);
    const char *other = now(&r->dims, word);
    changed = changed || other != word;
    ig_str_add(&s, "%.*s%s", (int)(at - from), from, other);
    from = at + n;
  }
  const char *to = changed ? ig_ed_text(e, "%s%s", s.at, from) : text;
  if (s.failed) ig_ed_no_memory(e);
  ig_str_free(&s);
  return to;
}

static void rename_list(renaming *r, const char *const **list, size_t n) {
  const char **to = ig_ed_push(r->e, n, sizeof *to);
  for (size_t i = 0; to && i < n; i++) to[i] = now(&r->values, (*list)[i]);
  if (to) *list = to;
}

static void rename_infos(renaming *r, const ig_om_info **infos, size_t n) {
  ig_om_info *to = ig_ed_push(r->e, n, sizeof *to);
  for (size_t i = 0; to && i < n; i++) {
    to[i] = (*infos)[i];
    to[i].name = now(&r->values, to[i].name);
    ig_om_type *t = &to[i].type;
    ig_om_dim *dims = ig_ed_push(r->e, (size_t)t->ndim, sizeof *dims);
    for (int d = 0; dims && d < t->ndim; d++) {
      dims[d] = t->dims[d];
      dims[d].param = dim_now(r, dims[d].param);
    }
    if (dims) t->dims = dims;
  }
  if (to) *infos = to;
}

// The inputs and weights of a sub-graph hide those names of the graph around it.
static void rename_body(renaming *r, ig_om_graph *g);

static void rename_node(renaming *r, ig_om_node *n) {
  rename_list(r, &n->inputs, n->ninputs);
  rename_list(r, &n->outputs, n->noutputs);
  for (size_t k = 0; k < n->nattrs; k++) {
    const ig_om_attr *a = &n->attrs[k];
    for (size_t j = 0; j < ig_ed_bodies(a); j++) rename_body(r, a->graphs[j]);
  }
}

static void rename_body(renaming *r, ig_om_graph *g) {
  size_t own = ig_mem_add(g->ninputs, g->ninits);
  const char **names = ig_ed_push(r->e, own, sizeof *names);
  ig_map_value *kept = ig_ed_push(r->e, own, sizeof *kept);
  size_t n = 0;
  if (!names || !kept) return;
  for (size_t i = 0; i < own; i++) {
    const char *name = i < g->ninputs ? g->inputs[i].name : g->inits[i - g->ninputs]->name;
    ig_map_value *at = ig_map_find(&r->values, name);
    if (!at || !at->text) continue;
    names[n] = name;
    kept[n++] = *at;
    at->text = NULL;
  }
  for (size_t i = 0; i < g->nnodes && ig_ed_ok(r->e); i++) rename_node(r, &g->nodes[i]);
  rename_infos(r, &g->inputs, g->ninputs);
  rename_infos(r, &g->outputs, g->noutputs);
  rename_infos(r, &g->values, g->nvalues);
  for (size_t i = 0; i < n; i++) *ig_map_find(&r->values, names[i]) = kept[i];
}

static void rename_all(renaming *r) {
  ig_om_graph *g = r->e->m.graph;
  rename_infos(r, &g->inputs, g->ninputs);
  rename_infos(r, &g->outputs, g->noutputs);
  rename_infos(r, &g->values, g->nvalues);
  const ig_om_tensor **inits = ig_ed_push(r->e, g->ninits, sizeof *inits);
  for (size_t i = 0; inits && i < g->ninits; i++) {
    ig_om_tensor *t = ig_ed_push(r->e, 1, sizeof *t);
    if (!t) return;
    *t = *g->inits[i];
    t->name = now(&r->values, t->name);
    inits[i] = t;
  }
  if (inits) g->inits = inits;
  for (size_t i = 0; i < g->nnodes && ig_ed_ok(r->e); i++) {
    rename_node(r, &g->nodes[i]);
    g->nodes[i].name = now(&r->nodes, g->nodes[i].name);
  }
}

// Two values with one name would be one.
static ig_status check_clashes(renaming *r) {
  ig_edit *e = r->e;
  const char **old = ig_ed_push(e, e->names.n, sizeof *old);
  ig_map seen = ig_map_make(e->c->alloc);
  size_t n = old ? ig_map_keys(&e->names, old) : 0;
  for (size_t i = 0; i < n && ig_ed_ok(e); i++) {
    const char *to = now(&r->values, old[i]);
    ig_map_value *at = ig_ed_put(e, &seen, to);
    if (at && at->text && (to != old[i] || strcmp(now(&r->values, at->text), at->text) != 0))
      (void)ig_fail(e->c, IG_INVALID, "%s: '%s' and '%s' would both be called '%s'", e->m.name,
                    strcmp(at->text, old[i]) < 0 ? at->text : old[i],
                    strcmp(at->text, old[i]) < 0 ? old[i] : at->text, to);
    if (at) at->text = old[i];
  }
  ig_map_free(&seen);
  return e->c->status;
}

ig_status ig_edit_rename(ig_edit *e, const ig_rename *names, size_t n) {
  IG_RETURN_IF_ERR(ig_ed_begin(e));
  renaming r = {e, ig_map_make(e->c->alloc), ig_map_make(e->c->alloc), ig_map_make(e->c->alloc)};
  ig_status st = IG_OK;
  for (size_t i = 0; i < n && st == IG_OK; i++) {
    size_t found = names[i].kind == IG_RENAME_NODE  ? plan_nodes(&r, &names[i])
                   : names[i].kind == IG_RENAME_DIM ? plan_dims(&r, &names[i])
                                                    : plan_values(&r, &names[i]);
    st = e->c->status;
    if (st == IG_OK && !found) st = unknown(e, &names[i]);
  }
  if (st == IG_OK) st = check_clashes(&r);
  if (st == IG_OK) rename_all(&r);
  ig_map_free(&r.values);
  ig_map_free(&r.dims);
  ig_map_free(&r.nodes);
  return st == IG_OK ? ig_ed_end(e) : st;
}
