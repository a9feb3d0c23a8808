// SPDX-License-Identifier: Apache-2.0
// A part of a model: from some values to others, by the names of values, nodes or modules.
#include <stdio.h>
#include <string.h>

#include "base/cause.h"
#include "base/options.h"
#include "edit/edit.h"
#include "onnx/proto_parse.h"

typedef struct extraction {
  ig_edit *e;
  ig_om_graph *g;
  ig_map made;   // value -> its node + 1
  ig_map infos;  // value -> its description
  ig_map from;   // values at which the part begins
  ig_map input;  // of the model
  IG_VEC(const char *) begins;
  IG_VEC(const char *) ends;
  bool *inside;  // by node: it belongs to the modules that are looked at
  bool *keep;    // by node
} extraction;

static void push(extraction *x, bool end, const char *name) {
  bool ok = end ? ig_vec_push(x->e->c->alloc, &x->ends, name)
                : ig_vec_push(x->e->c->alloc, &x->begins, name);
  if (!ok) ig_ed_no_memory(x->e);
}

static bool is_weight(const extraction *x, const char *name) {
  return !ig_map_find(&x->made, name) && !ig_map_find(&x->input, name);
}

// Everything that a node reads, bodies included.
static void reads_of(const ig_om_node *n, void (*fn)(void *user, const char *name), void *user) {
  for (size_t i = 0; i < n->ninputs; i++)
    if (*n->inputs[i]) fn(user, n->inputs[i]);
  for (size_t k = 0; k < n->nattrs; k++) {
    const ig_om_attr *a = &n->attrs[k];
    for (size_t j = 0; j < ig_ed_bodies(a); j++) {
      const ig_om_graph *g = a->graphs[j];
      for (size_t i = 0; i < g->nnodes; i++) reads_of(&g->nodes[i], fn, user);
      for (size_t i = 0; i < g->noutputs; i++) fn(user, g->outputs[i].name);
    }
  }
}

typedef struct border {
  extraction *x;
  ig_map seen;
} border;

static void enters(void *user, const char *name) {
  border *b = user;
  extraction *x = b->x;
  const ig_map_value *at = ig_map_find(&x->made, name);
  if (is_weight(x, name) || (at && x->inside[at->num - 1]) || ig_map_find(&b->seen, name)) return;
  (void)ig_ed_put(x->e, &b->seen, name);
  push(x, false, name);
}

static void leaves(void *user, const char *name) {
  border *b = user;
  const ig_map_value *at = ig_map_find(&b->x->made, name);
  if (!at || !b->x->inside[at->num - 1] || ig_map_find(&b->seen, name)) return;
  (void)ig_ed_put(b->x->e, &b->seen, name);
  push(b->x, true, name);
}

// The values at the border of the nodes that a name stands for; false: it stands for none.
static bool take_nodes(extraction *x, const char *name, bool end) {
  const ig_om_graph *g = x->g;
  bool any = false;
  for (size_t i = 0; i < g->nnodes; i++) {
    x->inside[i] = strcmp(g->nodes[i].name, name) == 0;
    any |= x->inside[i];
  }
  for (size_t i = 0; i < g->nnodes && !any; i++) {
    // A module, not an operator of that name.
    x->inside[i] = strcmp(g->nodes[i].op_type, name) != 0 && ig_ed_node_is(&g->nodes[i], name);
  }
  for (size_t i = 0; i < g->nnodes; i++) any |= x->inside[i];
  border b = {x, ig_map_make(x->e->c->alloc)};
  for (size_t i = 0; i < g->nnodes && ig_ed_ok(x->e); i++) {
    if (!end && x->inside[i]) reads_of(&g->nodes[i], enters, &b);
    if (end && !x->inside[i]) reads_of(&g->nodes[i], leaves, &b);
  }
  for (size_t i = 0; end && i < g->noutputs; i++) leaves(&b, g->outputs[i].name);
  ig_map_free(&b.seen);
  return any;
}

static ig_status unknown(extraction *x, const char *name) {
  enum { MOST = 4096 };  // nodes whose modules are suggested
  const ig_om_graph *g = x->g;
  size_t most = ig_mem_add(ig_mem_mul(g->nnodes, 3), g->ninputs);
  const char **names = ig_ed_push(x->e, most, sizeof *names);
  size_t n = 0;
  for (size_t i = 0; names && i < g->ninputs; i++) names[n++] = g->inputs[i].name;
  for (size_t i = 0; names && i < g->nnodes; i++) {
    char room[512];
    names[n++] = g->nodes[i].name;
    if (g->nodes[i].noutputs) names[n++] = g->nodes[i].outputs[0];
    const char *module = ig_ed_module(&g->nodes[i], room, sizeof room);
    bool fresh = *module != 0 && i < MOST;
    for (size_t k = 0; k < n && fresh; k++) fresh = strcmp(names[k], module) != 0;
    if (fresh) names[n++] = ig_ed_text(x->e, "%s", module);
  }
  return ig_ed_unknown(x->e, "value, node or module", name, names, n);
}

static ig_status take(extraction *x, const char *name, bool end) {
  if (ig_map_find(&x->made, name) || ig_map_find(&x->input, name)) {
    push(x, end, name);
  } else if (!take_nodes(x, name, end)) {
    return unknown(x, name);
  }
  return x->e->c->status;
}

// ---- the part

static const ig_om_info *info_of(extraction *x, const char *name) {
  const ig_map_value *at = ig_map_find(&x->infos, name);
  if (at && at->ptr) return at->ptr;
  ig_om_info *info = ig_ed_push(x->e, 1, sizeof *info);
  if (info) *info = (ig_om_info){.name = name, .doc = ""};
  return info;
}

typedef struct walk {
  extraction *x;
  size_t *stack;
  size_t n;
  const char *missing;  // an input of the model that the part needs
} walk;

static void need(void *user, const char *name) {
  walk *w = user;
  extraction *x = w->x;
  if (ig_map_find(&x->from, name)) return;
  const ig_map_value *at = ig_map_find(&x->made, name);
  if (!at && ig_map_find(&x->input, name)) w->missing = name;
  if (!at || x->keep[at->num - 1]) return;
  x->keep[at->num - 1] = true;
  w->stack[w->n++] = at->num - 1;
}

// Nodes that the ends need, back to the beginnings.
static ig_status walk_back(extraction *x, bool given) {
  walk w = {x, ig_ed_push(x->e, x->g->nnodes, sizeof *w.stack), 0, NULL};
  if (!w.stack) return x->e->c->status;
  for (size_t i = 0; i < x->ends.n; i++) need(&w, x->ends.at[i]);
  while (w.n) {
    size_t i = w.stack[--w.n];
    reads_of(&x->g->nodes[i], need, &w);
    if (w.missing && given)
      return ig_fail(x->e->c, IG_INVALID,
                     "%s: the part needs input '%s' of the model too (for node %zu, %s '%s'): add "
                     "it to 'from', or begin later",
                     x->e->m.name, w.missing, i, x->g->nodes[i].op_type, x->g->nodes[i].name);
  }
  return x->e->c->status;
}

typedef struct readers {
  ig_edit *e;
  ig_map used;
} readers;

static void read_by(void *user, const char *name) {
  readers *r = user;
  (void)ig_ed_put(r->e, &r->used, name);
}

// A node that is needed for another of its results makes values too at which the part begins: these
// get other names.
static void rename_begins(extraction *x, ig_om_node *n) {
  for (size_t i = 0; i < n->noutputs; i++) {
    if (!*n->outputs[i] || !ig_map_find(&x->from, n->outputs[i])) continue;
    const char **outputs = ig_ed_push(x->e, n->noutputs, sizeof *outputs);
    if (!outputs) return;
    memcpy(outputs, n->outputs, n->noutputs * sizeof *outputs);
    outputs[i] = ig_ed_fresh(x->e, n->outputs[i], "unused");
    n->outputs = outputs;
  }
}

static void cut(extraction *x) {
  ig_edit *e = x->e;
  ig_om_graph *g = x->g;
  readers r = {e, ig_map_make(e->c->alloc)};
  ig_om_node *nodes = ig_ed_push(e, g->nnodes, sizeof *nodes);
  size_t n = 0;
  for (size_t i = 0; nodes && i < g->nnodes; i++) {
    if (!x->keep[i]) continue;
    nodes[n] = g->nodes[i];
    rename_begins(x, &nodes[n++]);
    reads_of(&g->nodes[i], read_by, &r);
  }
  for (size_t i = 0; i < x->ends.n; i++) read_by(&r, x->ends.at[i]);
  const ig_om_tensor **inits = ig_ed_push(e, g->ninits, sizeof *inits);
  size_t ninits = 0;
  for (size_t i = 0; inits && i < g->ninits; i++)
    if (ig_map_find(&r.used, g->inits[i]->name)) inits[ninits++] = g->inits[i];
  ig_om_info *inputs = ig_ed_push(e, ig_mem_add(x->begins.n, g->ninputs), sizeof *inputs);
  size_t nin = 0;
  for (size_t i = 0; inputs && i < x->begins.n; i++)
    if (ig_map_find(&r.used, x->begins.at[i])) inputs[nin++] = *info_of(x, x->begins.at[i]);
  for (size_t i = 0; inputs && i < g->ninputs; i++) {
    bool weight = g->input_defaults[i] && ig_map_find(&r.used, g->inputs[i].name);
    if (weight && !ig_map_find(&x->from, g->inputs[i].name)) inputs[nin++] = g->inputs[i];
  }
  ig_om_info *outputs = ig_ed_push(e, x->ends.n, sizeof *outputs);
  for (size_t i = 0; outputs && i < x->ends.n; i++) outputs[i] = *info_of(x, x->ends.at[i]);
  ig_om_info *values = ig_ed_push(e, g->nvalues, sizeof *values);
  size_t nvalues = 0;
  for (size_t i = 0; values && i < g->nvalues; i++) {
    const ig_map_value *at = ig_map_find(&x->made, g->values[i].name);
    bool port = ig_map_find(&x->from, g->values[i].name) != NULL;
    for (size_t k = 0; k < x->ends.n; k++) port |= strcmp(x->ends.at[k], g->values[i].name) == 0;
    if (at && x->keep[at->num - 1] && !port) values[nvalues++] = g->values[i];
  }
  ig_map_free(&r.used);
  if (!ig_ed_ok(e)) return;
  g->nodes = nodes;
  g->nnodes = n;
  g->inits = inits;
  g->ninits = ninits;
  g->inputs = inputs;
  g->ninputs = nin;
  g->outputs = outputs;
  g->noutputs = x->ends.n;
  g->values = values;
  g->nvalues = nvalues;
}

static void index_graph(extraction *x) {
  const ig_om_graph *g = x->g;
  for (size_t i = 0; i < g->nnodes; i++) {
    for (size_t k = 0; k < g->nodes[i].noutputs; k++) {
      ig_map_value *at =
          *g->nodes[i].outputs[k] ? ig_ed_put(x->e, &x->made, g->nodes[i].outputs[k]) : NULL;
      if (at) at->num = i + 1;
    }
  }
  for (size_t i = 0; i < g->ninputs + g->noutputs + g->nvalues; i++) {
    const ig_om_info *info = i < g->ninputs ? &g->inputs[i]
                             : i < g->ninputs + g->noutputs
                                 ? &g->outputs[i - g->ninputs]
                                 : &g->values[i - g->ninputs - g->noutputs];
    ig_map_value *at = ig_ed_put(x->e, &x->infos, info->name);
    if (at && !at->ptr) at->ptr = (void *)info;
    if (i < g->ninputs && !g->input_defaults[i]) (void)ig_ed_put(x->e, &x->input, info->name);
  }
}

// Each name once.
static void dedupe(extraction *x) {
  size_t n = 0;
  for (size_t i = 0; i < x->ends.n; i++) {
    bool twice = false;
    for (size_t k = 0; k < n; k++) twice |= strcmp(x->ends.at[k], x->ends.at[i]) == 0;
    if (!twice) x->ends.at[n++] = x->ends.at[i];
  }
  x->ends.n = n;
  n = 0;
  for (size_t i = 0; i < x->begins.n; i++) {
    bool twice = ig_map_find(&x->from, x->begins.at[i]) != NULL;
    if (!twice) (void)ig_ed_put(x->e, &x->from, x->begins.at[i]);
    if (!twice) x->begins.at[n++] = x->begins.at[i];
  }
  x->begins.n = n;
}

static ig_status extract(extraction *x, const ig_extract_options *o) {
  const ig_om_graph *g = x->g;
  index_graph(x);
  x->inside = ig_ed_push(x->e, g->nnodes, sizeof *x->inside);
  x->keep = ig_ed_push(x->e, g->nnodes, sizeof *x->keep);
  if (!x->inside || !x->keep) return x->e->c->status;
  for (size_t i = 0; i < o->nfrom; i++) IG_RETURN_IF_ERR(take(x, o->from[i], false));
  for (size_t i = 0; i < o->nto; i++) IG_RETURN_IF_ERR(take(x, o->to[i], true));
  for (size_t i = 0; !o->nfrom && i < g->ninputs; i++)
    if (!g->input_defaults[i]) push(x, false, g->inputs[i].name);
  for (size_t i = 0; !o->nto && i < g->noutputs; i++) push(x, true, g->outputs[i].name);
  dedupe(x);
  if (!x->ends.n)
    return ig_fail(x->e->c, IG_INVALID, "%s: nothing reads what the part gives", x->e->m.name);
  for (size_t i = 0; i < x->ends.n; i++)
    if (ig_map_find(&x->from, x->ends.at[i]))
      return ig_fail(x->e->c, IG_INVALID, "%s: the part begins and ends at '%s'", x->e->m.name,
                     x->ends.at[i]);
  IG_RETURN_IF_ERR(walk_back(x, o->nfrom > 0));
  cut(x);
  return x->e->c->status;
}

ig_status ig_edit_extract(ig_edit *e, const ig_extract_options *options) {
  ig_extract_options o;
  IG_OPTIONS_TAKE(&o, options, nto);
  IG_RETURN_IF_ERR(ig_ed_begin(e));
  IG_RETURN_IF_ERR(ig_ed_infer(e));
  IG_RETURN_IF_ERR(ig_ed_end(e));
  extraction x = {.e = e,
                  .g = e->m.graph,
                  .made = ig_map_make(e->c->alloc),
                  .infos = ig_map_make(e->c->alloc),
                  .from = ig_map_make(e->c->alloc),
                  .input = ig_map_make(e->c->alloc)};
  ig_status st = extract(&x, &o);
  ig_map_free(&x.made);
  ig_map_free(&x.infos);
  ig_map_free(&x.from);
  ig_map_free(&x.input);
  ig_vec_free(e->c->alloc, &x.begins);
  ig_vec_free(e->c->alloc, &x.ends);
  return st == IG_OK ? ig_ed_end(e) : st;
}
