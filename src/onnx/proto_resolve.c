// SPDX-License-Identifier: Apache-2.0
// Names become slots. This checks that every name is defined once and shadows no outer one, that
// nothing is used before it is defined (so there are no cycles), that attribute references occur
// only in functions, and that functions are not recursive.
#include <stdio.h>
#include <string.h>

#include "base/cause.h"
#include "onnx/proto_parse.h"

enum { MAX_CALLS = 64 };  // functions in functions

typedef struct scope {
  ig_om_graph *g;
  ig_map names;         // slot + 1
  IG_VEC(size_t) last;  // per slot: the last node that reads it, SIZE_MAX: the graph returns it
  size_t node;          // being resolved
  struct scope *up;
} scope;

typedef struct resolver {
  ig_ctx *c;
  ig_onnx_model *m;
  ig_map functions;  // index + 1
  bool in_function;
} resolver;

static void no_memory(resolver *r) {
  (void)ig_fail(r->c, IG_NOMEM, "out of memory");
}

static void *push(resolver *r, size_t size) {
  void *at = r->c->status == IG_OK ? ig_arena_push(&r->m->arena, size ? size : 1) : NULL;
  if (!at && r->c->status == IG_OK) no_memory(r);
  return at;
}

// The scope that defines a name, and its distance; NULL: none.
static scope *find_visible(scope *s, const char *name, int *up) {
  *up = 0;
  while (s && !ig_map_find(&s->names, name)) {
    s = s->up;
    ++*up;
  }
  return s;
}

// A new slot for `name`; IG_SYNTAX: the name is taken, here or, unless it may hide what is there,
// around.
static uint32_t define(resolver *r, scope *s, const char *name, bool hides) {
  int up = 0;
  if (find_visible(s, name, &up) && !(up && hides)) {
    (void)ig_fail(r->c, IG_SYNTAX | IG_E_ONNX_MODEL,
                  "%s: graph '%s': value '%s' is defined twice%s", r->m->name, s->g->name, name,
                  up ? " (an outer graph has it, too)" : "");
    return IG_OM_NO_SLOT;
  }
  ig_map_value *v = ig_map_put(&s->names, name);
  if (!v || !ig_vec_push(r->c->alloc, &s->last, s->node) || s->last.n >= IG_OM_NO_SLOT) {
    no_memory(r);
    return IG_OM_NO_SLOT;
  }
  v->num = s->last.n;
  return (uint32_t)(s->last.n - 1);
}

static void will_be_made(resolver *r, const scope *s, const ig_om_node *n, const char *name) {
  char room[256];
  const char *who = ig_om_node_text(s->g, n, room, sizeof room);
  for (size_t i = s->node; i < s->g->nnodes; i++) {
    for (size_t k = 0; k < s->g->nodes[i].noutputs; k++) {
      if (strcmp(s->g->nodes[i].outputs[k], name) != 0) continue;
      (void)ig_fail(r->c, IG_SYNTAX | IG_E_ONNX_MODEL,
                    "%s: %s reads '%s', which only node %zu (%s) makes: the nodes are not in order "
                    "or form a circle",
                    r->m->name, who, name, i, s->g->nodes[i].op_type);
      return;
    }
  }
  (void)ig_fail(r->c, IG_SYNTAX | IG_E_ONNX_MODEL, "%s: %s reads '%s', which nothing defines",
                r->m->name, who, name);
}

// Resolves a name, which is used by the current node of each scope in between.
static bool look_up(scope *s, const char *name, size_t reader, ig_om_ref *out) {
  int up = 0;
  scope *at = find_visible(s, name, &up);
  const ig_map_value *v = at ? ig_map_find(&at->names, name) : NULL;
  if (!v) return false;
  *out = (ig_om_ref){up, (uint32_t)(v->num - 1)};
  size_t *last = &at->last.at[out->slot];
  size_t by = up ? at->node : reader;
  if (*last != SIZE_MAX) *last = by;
  return true;
}

static ig_status resolve_graph(resolver *r, ig_om_graph *g, scope *up);

static const ig_om_function *find_function(resolver *r, const ig_om_node *n) {
  if (!r->m->nfunctions) return NULL;
  char key[512];
  int len = snprintf(key, sizeof key, "%s\1%s\1%s", n->domain, n->op_type, n->overload);
  if (len < 0 || (size_t)len >= sizeof key) return NULL;
  ig_map_value *v = ig_map_find(&r->functions, key);
  return v ? &r->m->functions[v->num - 1] : NULL;
}

static ig_status resolve_attrs(resolver *r, scope *s, const ig_om_node *n) {
  for (size_t i = 0; i < n->nattrs; i++) {
    const ig_om_attr *a = &n->attrs[i];
    if (a->ref && !r->in_function) {
      return ig_fail(r->c, IG_SYNTAX | IG_E_ONNX_MODEL,
                     "%s: node '%s' (%s): attribute '%s' refers to '%s' of a function, but stands "
                     "in none",
                     r->m->name, n->name, n->op_type, a->name, a->ref);
    }
    bool graphs = a->type == IG_OM_ATTR_GRAPH || a->type == IG_OM_ATTR_GRAPHS;
    for (size_t k = 0; graphs && !a->ref && k < a->n; k++) {
      IG_RETURN_IF_ERR(resolve_graph(r, a->graphs[k], s));
    }
  }
  return IG_OK;
}

static ig_status resolve_node(resolver *r, scope *s, ig_om_node *n) {
  ig_om_ref *in = push(r, ig_mem_mul(n->ninputs, sizeof *in));
  uint32_t *out = push(r, ig_mem_mul(n->noutputs, sizeof *out));
  if (!in || !out) return r->c->status;
  for (size_t i = 0; i < n->ninputs; i++) {
    in[i] = (ig_om_ref){-1, IG_OM_NO_SLOT};
    if (n->inputs[i][0] && !look_up(s, n->inputs[i], s->node, &in[i])) {
      will_be_made(r, s, n, n->inputs[i]);
      return r->c->status;
    }
  }
  IG_RETURN_IF_ERR(resolve_attrs(r, s, n));
  for (size_t i = 0; i < n->noutputs; i++) {
    out[i] = IG_OM_NO_SLOT;
    if (n->outputs[i][0]) out[i] = define(r, s, n->outputs[i], false);
  }
  n->in = in;
  n->out = out;
  n->function = find_function(r, n);
  return r->c->status;
}

// Per node, the slots that can be freed after it: those whose last user it is.
static ig_status list_drops(resolver *r, scope *s) {
  ig_om_graph *g = s->g;
  size_t *counts = ig_mem_array(r->c->alloc, g->nnodes + 1, sizeof *counts);
  if (!counts) return no_memory(r), r->c->status;
  for (size_t i = 0; i < s->last.n; i++)
    counts[s->last.at[i] < g->nnodes ? s->last.at[i] : g->nnodes]++;
  for (size_t i = 0; i < g->nnodes; i++) {
    g->nodes[i].drops = push(r, ig_mem_mul(counts[i], sizeof(uint32_t)));
    g->nodes[i].ndrops = 0;
  }
  for (size_t i = 0; i < s->last.n && r->c->status == IG_OK; i++) {
    if (s->last.at[i] >= g->nnodes) continue;
    ig_om_node *n = &g->nodes[s->last.at[i]];
    ((uint32_t *)n->drops)[n->ndrops++] = (uint32_t)i;
  }
  ig_mem_array_free(r->c->alloc, counts, g->nnodes + 1, sizeof *counts);
  return r->c->status;
}

static uint32_t init_slot(resolver *r, scope *s, const char *name, bool *defaults) {
  ig_om_graph *g = s->g;
  ig_map_value *v = ig_map_find(&s->names, name);
  if (!v || v->num > g->ninputs) return define(r, s, name, true);
  for (size_t i = 0; i < g->ninputs; i++) {
    if (g->input_slots[i] != v->num - 1) continue;
    if (defaults[i]) {
      (void)ig_fail(r->c, IG_SYNTAX | IG_E_ONNX_MODEL,
                    "%s: graph '%s': initializer '%s' is defined twice", r->m->name, g->name, name);
    }
    defaults[i] = true;
    break;
  }
  return (uint32_t)(v->num - 1);
}

static ig_status define_inputs(resolver *r, scope *s) {
  ig_om_graph *g = s->g;
  uint32_t *inputs = push(r, ig_mem_mul(g->ninputs, sizeof *inputs));
  bool *defaults = push(r, ig_mem_mul(g->ninputs, sizeof *defaults));
  uint32_t *inits = push(r, ig_mem_mul(g->ninits, sizeof *inits));
  uint32_t *sparse = push(r, ig_mem_mul(g->nsparse, sizeof *sparse));
  if (!inputs || !defaults || !inits || !sparse) return r->c->status;
  g->input_slots = inputs;
  g->input_defaults = defaults;
  g->init_slots = inits;
  g->sparse_slots = sparse;
  for (size_t i = 0; i < g->ninputs; i++) inputs[i] = define(r, s, g->inputs[i].name, true);
  IG_RETURN_IF_ERR(r->c->status);
  for (size_t i = 0; i < g->ninits; i++) inits[i] = init_slot(r, s, g->inits[i]->name, defaults);
  for (size_t i = 0; i < g->nsparse; i++) {
    sparse[i] = init_slot(r, s, g->sparse[i]->values->name, defaults);
  }
  return r->c->status;
}

static ig_status resolve_outputs(resolver *r, scope *s) {
  ig_om_graph *g = s->g;
  ig_om_ref *refs = push(r, ig_mem_mul(g->noutputs, sizeof *refs));
  if (!refs) return r->c->status;
  g->output_refs = refs;
  for (size_t i = 0; i < g->noutputs; i++) {
    if (!look_up(s, g->outputs[i].name, SIZE_MAX, &refs[i])) {
      return ig_fail(r->c, IG_SYNTAX | IG_E_ONNX_MODEL,
                     "%s: graph '%s': nothing defines its output '%s'", r->m->name, g->name,
                     g->outputs[i].name);
    }
  }
  return IG_OK;
}

static ig_status resolve_inside(resolver *r, scope *s) {
  IG_RETURN_IF_ERR(define_inputs(r, s));
  // Unused inputs and initializers are kept until the end.
  for (size_t i = 0; i < s->last.n; i++) s->last.at[i] = s->g->nnodes;
  for (s->node = 0; s->node < s->g->nnodes; s->node++) {
    IG_RETURN_IF_ERR(resolve_node(r, s, &s->g->nodes[s->node]));
  }
  IG_RETURN_IF_ERR(resolve_outputs(r, s));
  s->g->nslots = s->last.n;
  return list_drops(r, s);
}

static ig_status resolve_graph(resolver *r, ig_om_graph *g, scope *up) {
  scope s = {.g = g, .names = ig_map_make(r->c->alloc), .up = up};
  g->outer = up ? up->g : NULL;
  ig_status st = resolve_inside(r, &s);
  ig_map_free(&s.names);
  ig_vec_free(r->c->alloc, &s.last);
  return st;
}

// ---- functions

static ig_status name_functions(resolver *r) {
  for (size_t i = 0; i < r->m->nfunctions; i++) {
    const ig_om_function *f = &r->m->functions[i];
    size_t size = strlen(f->domain) + strlen(f->name) + strlen(f->overload) + 3;
    char *key = push(r, size);
    if (!key) return r->c->status;
    (void)snprintf(key, size, "%s\1%s\1%s", f->domain, f->name, f->overload);
    ig_map_value *v = ig_map_put(&r->functions, key);
    if (!v) return no_memory(r), r->c->status;
    if (v->num) {
      return ig_fail(r->c, IG_SYNTAX | IG_E_ONNX_MODEL,
                     "%s: function '%s' of domain '%s' is defined twice", r->m->name, f->name,
                     f->domain);
    }
    v->num = i + 1;
  }
  return IG_OK;
}

static ig_status find_circle(resolver *r, const ig_om_graph *g, int depth);

static ig_status find_circle_in(resolver *r, ig_om_function *f, int depth) {
  if (f->mark == 2) return IG_OK;
  if (f->mark == 1 || depth > MAX_CALLS) {
    return ig_fail(r->c, IG_SYNTAX | IG_E_ONNX_MODEL, "%s: function '%s' of domain '%s' %s",
                   r->m->name, f->name, f->domain,
                   f->mark == 1 ? "calls itself" : "is called through too many others");
  }
  f->mark = 1;
  IG_RETURN_IF_ERR(find_circle(r, f->body, depth + 1));
  f->mark = 2;
  return IG_OK;
}

static ig_status find_circle(resolver *r, const ig_om_graph *g, int depth) {
  for (size_t i = 0; i < g->nnodes; i++) {
    const ig_om_node *n = &g->nodes[i];
    if (n->function) IG_RETURN_IF_ERR(find_circle_in(r, (ig_om_function *)n->function, depth));
    for (size_t k = 0; k < n->nattrs; k++) {
      bool graphs = n->attrs[k].type == IG_OM_ATTR_GRAPH || n->attrs[k].type == IG_OM_ATTR_GRAPHS;
      for (size_t j = 0; graphs && !n->attrs[k].ref && j < n->attrs[k].n; j++) {
        IG_RETURN_IF_ERR(find_circle(r, n->attrs[k].graphs[j], depth));
      }
    }
  }
  return IG_OK;
}

static ig_status resolve_all(resolver *r) {
  IG_RETURN_IF_ERR(name_functions(r));
  r->in_function = true;
  for (size_t i = 0; i < r->m->nfunctions; i++) {
    IG_RETURN_IF_ERR(resolve_graph(r, r->m->functions[i].body, NULL));
  }
  for (size_t i = 0; i < r->m->nfunctions; i++) {
    IG_RETURN_IF_ERR(find_circle_in(r, &r->m->functions[i], 0));
  }
  r->in_function = false;
  return resolve_graph(r, r->m->graph, NULL);
}

ig_status ig_om_resolve(ig_ctx *c, ig_onnx_model *m) {
  resolver r = {.c = c, .m = m, .functions = ig_map_make(c->alloc)};
  ig_status st = resolve_all(&r);
  ig_map_free(&r.functions);
  return st;
}
