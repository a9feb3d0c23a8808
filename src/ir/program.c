// SPDX-License-Identifier: Apache-2.0
#include "ir/program.h"

#include <stdio.h>
#include <string.h>

static void program_destroy(ig_ref *ref) {
  ig_program *p = (ig_program *)ref;
  for (size_t i = 0; i < p->nstate; i++) ig_tensor_release(p->state[i].tensor);
  for (size_t i = 0; i < p->nconstants; i++) ig_tensor_release(p->constants[i].tensor);
  ig_graph_free(p->graph);
  if (p->origin_free) p->origin_free(p->origin);
  ig_ref_release(p->report);
  ig_arena_free(&p->arena);
  ig_mem_free(p->alloc, p, sizeof *p);
}

void ig_program_free(ig_program *p) {
  if (p) ig_ref_release(&p->ref);
}

ig_program *ig_program_retain(ig_program *p) {
  if (p) ig_ref_retain(&p->ref);
  return p;
}

static bool describe_inputs(ig_ctx *c, ig_program *p) {
  p->ninputs = ig_graph_input_count(p->graph);
  p->inputs = ig_arena_array(&p->arena, p->ninputs, sizeof *p->inputs);
  if (!p->inputs) return ig_no_memory(c);
  size_t i = 0;
  for (ig_node *n = p->graph->first; i < p->ninputs; n = n->next) {
    if (!ig_node_is_placeholder(n)) continue;
    bool user = n->role == IG_INPUT_USER;
    bool fixed = user && n->val.kind != IG_KIND_TENSOR;
    p->inputs[i++] = (ig_input_spec){.kind = n->role,
                                     .name = n->name,
                                     .target = user ? NULL : n->path,
                                     .persistent = n->persistent,
                                     .value = fixed ? n->val : ig_of_node(n)};
  }
  return true;
}

static bool describe_outputs(ig_ctx *c, ig_program *p, const ig_output_kind *kinds,
                             const char *const *targets) {
  const ig_node *out = p->graph->last;
  p->noutputs = ig_graph_output_count(p->graph);
  p->outputs = ig_arena_array(&p->arena, p->noutputs, sizeof *p->outputs);
  if (!p->outputs) return ig_no_memory(c);
  for (size_t i = 0; i < p->noutputs; i++) {
    ig_output_spec *o = &p->outputs[i];
    o->kind = kinds ? kinds[i] : IG_OUTPUT_USER;
    o->value = out->args[i];
    o->name = out->args[i].kind == IG_KIND_NODE ? out->args[i].node->name : NULL;
    const char *target = targets ? targets[i] : NULL;
    if (target) o->target = ig_arena_strn(&p->arena, target, strlen(target));
    if (target && !o->target) return ig_no_memory(c);
  }
  return true;
}

static bool is_saved(ig_state_kind kind) {
  return kind == IG_STATE_PARAMETER || kind == IG_STATE_BUFFER;
}

static void add_saved(ig_program *p) {
  const ig_graph *g = p->graph;
  for (size_t i = 0; i < g->state.n; i++) {
    const ig_state *s = &g->state.at[i];
    if (!is_saved(s->kind) || s->unread) continue;
    p->state[p->nstate++] = (ig_weight){s->name, ig_tensor_retain(s->tensor), NULL};
  }
}

static void add_constants(ig_program *p, ig_state_kind kind) {
  const ig_graph *g = p->graph;
  for (size_t i = 0; i < g->state.n; i++) {
    const ig_state *s = &g->state.at[i];
    if (s->kind != kind || s->unread) continue;
    p->constants[p->nconstants++] = (ig_weight){s->name, ig_tensor_retain(s->tensor), NULL};
  }
}

static bool collect_weights(ig_ctx *c, ig_program *p) {
  size_t bytes = ig_mem_mul(p->graph->state.n, sizeof *p->state) + 1;
  p->state = ig_arena_push(&p->arena, bytes);
  p->constants = ig_arena_push(&p->arena, bytes);
  if (!p->state || !p->constants) return ig_no_memory(c);
  add_saved(p);
  for (int kind = IG_STATE_PARAMETER; kind <= IG_STATE_CONSTANT; kind++) {
    if (!is_saved((ig_state_kind)kind)) add_constants(p, (ig_state_kind)kind);
  }
  return true;
}

ig_program *ig_program_create(ig_ctx *c, ig_graph *g, const ig_output_kind *kinds,
                              const char *const *targets) {
  ig_program *p = c->status == IG_OK ? ig_mem_new(c->alloc, sizeof *p) : NULL;
  if (!p) {
    (void)ig_no_memory(c);  // first: the location in its text may be a text of the graph
    ig_graph_free(g);
    return NULL;
  }
  p->ref = (ig_ref){1, program_destroy};
  p->alloc = c->alloc;
  p->arena = ig_arena_make(c->alloc);
  p->graph = g;
  p->in_spec = p->out_spec = "";
  if (describe_inputs(c, p) && describe_outputs(c, p, kinds, targets) && collect_weights(c, p)) {
    return p;
  }
  ig_program_free(p);
  return NULL;
}

static const ig_node *find_input(const ig_graph *g, const char *name) {
  for (const ig_node *n = g->first; n && ig_node_is_placeholder(n); n = n->next) {
    if (strcmp(n->name, name) == 0) return n;
  }
  return NULL;
}

ig_status ig_program_name_inputs(ig_ctx *c, ig_program *p, const ig_map *shown) {
  if (c->status != IG_OK || !p->graph->unnamed) return c->status;
  const ig_node **written = ig_arena_array(&p->arena, p->noutputs, sizeof *written);
  if (!written) return ig_fail(c, IG_NOMEM, "out of memory");
  for (size_t i = 0; i < p->noutputs; i++) {
    bool input = p->outputs[i].kind == IG_OUTPUT_INPUT_MUTATION;
    written[i] = input ? find_input(p->graph, p->outputs[i].target) : NULL;
  }
  if (!ig_graph_rename_placeholders(c, p->graph, shown)) return c->status;
  const ig_node *n = p->graph->first;
  for (size_t i = 0; i < p->ninputs; i++, n = n->next) p->inputs[i].name = n->name;
  for (size_t i = 0; i < p->noutputs; i++) {
    ig_output_spec *o = &p->outputs[i];
    if (o->value.kind == IG_KIND_NODE) o->name = o->value.node->name;
    if (written[i]) o->target = written[i]->name;
  }
  return ig_graph_verify(c, p->graph);
}

static ig_node *first_user_input(const ig_graph *g) {
  ig_node *n = g->first;
  while (n && ig_node_is_placeholder(n) && n->role != IG_INPUT_USER) n = n->next;
  return n;
}

// The first declared name of a constant; all of them now count as used. NULL: it has none.
static const char *declared_name(ig_graph *g, const ig_tensor *t) {
  const char *name = NULL;
  for (size_t i = 0; i < g->state.n; i++) {
    ig_state *s = &g->state.at[i];
    if (!s->unread || s->tensor != t) continue;
    s->unread = false;
    if (!name) name = s->name;
  }
  return name;
}

// The path of the innermost module of a node; "" is the program itself.
static const char *module_path(const ig_node *n) {
  const ig_module_stack *stack = n->meta.modules;
  return stack && stack->n > 1 ? stack->at[stack->n - 1].path : "";
}

// A literal is named by its number, below the module that created it. Some numbers may be taken by
// an earlier pass.
static const char *invent_name(ig_ctx *c, ig_graph *g, const ig_node *n, size_t *number) {
  char name[256];
  char text[256];
  const char *module = module_path(n);
  if (strlen(module) >= sizeof name / 2) module = "";
  do {
    (void)snprintf(name, sizeof name, "%s%slifted_tensor_%zu", module, *module ? "." : "",
                   (*number)++);
  } while (ig_map_find(&g->names, ig_name_of_path("c_", name, text, sizeof text)));
  ig_state s = {IG_STATE_CONSTANT, ig_graph_keep_text(c, g, name), n->constant, false};
  if (!s.name) return NULL;
  if (!ig_vec_push(g->alloc, &g->state, s)) {
    (void)ig_no_memory(c);
    return NULL;
  }
  (void)ig_tensor_retain(n->constant);
  return s.name;
}

bool ig_graph_lift_constants(ig_ctx *c, ig_graph *g) {
  if (!g->has_attr) return true;
  ig_node *before = first_user_input(g);
  size_t count = 0;
  for (ig_node *n = g->first, *next = NULL; n; n = next) {
    next = n->next;
    if (n->kind != IG_NODE_ATTR || !n->constant) continue;
    const char *path = declared_name(g, n->constant);
    n->persistent = path && g->strict;  // in a strict capture it was a buffer until here
    if (!path) path = invent_name(c, g, n, &count);
    char name[256];
    n->kind = IG_NODE_PLACEHOLDER;
    g->placeholders++;
    n->role = IG_INPUT_CONSTANT;
    n->path = path;
    n->target = n->name;
    n->meta = (ig_metadata){.modules = NULL};
    if (!path || !ig_graph_rename(c, g, n, ig_name_of_path("c_", path, name, sizeof name))) {
      return false;
    }
    ig_graph_move(g, n, before);
  }
  return true;
}

const ig_report *ig_program_report(const ig_program *p) {
  return (const ig_report *)p->report;
}

void ig_program_set_report(ig_program *p, ig_report *r) {
  if (r) ig_ref_retain((ig_ref *)r);
  ig_ref_release(p->report);
  p->report = (ig_ref *)r;
}

const ig_graph *ig_program_graph(const ig_program *p) {
  return p->graph;
}
size_t ig_program_inputs(const ig_program *p, const ig_input_spec **specs) {
  *specs = p->inputs;
  return p->ninputs;
}
size_t ig_program_outputs(const ig_program *p, const ig_output_spec **specs) {
  *specs = p->outputs;
  return p->noutputs;
}
size_t ig_program_state(const ig_program *p, const ig_weight **weights) {
  *weights = p->state;
  return p->nstate;
}
size_t ig_program_constants(const ig_program *p, const ig_weight **weights) {
  *weights = p->constants;
  return p->nconstants;
}

ig_tensor *ig_program_find_weight(const ig_program *p, const char *name) {
  for (size_t i = 0; i < p->nstate; i++) {
    if (strcmp(p->state[i].name, name) == 0) return p->state[i].tensor;
  }
  for (size_t i = 0; i < p->nconstants; i++) {
    if (strcmp(p->constants[i].name, name) == 0) return p->constants[i].tensor;
  }
  return NULL;
}

void ig_program_set_specs(ig_ctx *c, ig_program *p, const char *in_spec, const char *out_spec) {
  const char *in = ig_arena_strn(&p->arena, in_spec, strlen(in_spec));
  const char *out = ig_arena_strn(&p->arena, out_spec, strlen(out_spec));
  if (!in || !out) {
    (void)ig_no_memory(c);
    return;
  }
  p->in_spec = in;
  p->out_spec = out;
}

static const char *keep_text(ig_ctx *c, ig_program *p, const char *text) {
  const char *kept = text ? ig_arena_strn(&p->arena, text, strlen(text)) : NULL;
  if (text && !kept) (void)ig_no_memory(c);
  return kept;
}

void ig_program_set_texts(ig_ctx *c, ig_program *p, const char *custom, const char *namedtuples) {
  p->custom = keep_text(c, p, custom);
  p->namedtuples = keep_text(c, p, namedtuples);
}

const char *ig_program_custom(const ig_program *p) {
  return p->custom;
}
const char *ig_program_namedtuples(const ig_program *p) {
  return p->namedtuples;
}

// NULL after an error.
static const char **keep_names(ig_ctx *c, ig_program *p, const char *const *names, size_t n) {
  const char **at = ig_arena_array(&p->arena, n + 1, sizeof *at);
  for (size_t i = 0; at && i < n; i++) {
    at[i] = ig_arena_strn(&p->arena, names[i], strlen(names[i]));
    if (!at[i]) at = NULL;
  }
  if (!at) (void)ig_no_memory(c);
  return at;
}

void ig_program_set_arg_names(ig_ctx *c, ig_program *p, const char *const *names, size_t n) {
  const char **at = keep_names(c, p, names, n);
  if (!at) return;
  p->arg_names = at;
  p->narg_names = n;
}

void ig_program_set_modules(ig_ctx *c, ig_program *p, const char *const *paths, size_t n) {
  const char **at = keep_names(c, p, paths, n);
  if (!at) return;
  p->modules = at;
  p->nmodules = n;
}

const char *const *ig_program_modules(ig_ctx *c, const ig_program *p, size_t *n) {
  size_t nseen = 0;
  const char *const *seen = ig_graph_modules(c, p->graph, &nseen);
  *n = 0;
  const char **all = seen ? ig_scope_array(c, ig_mem_add(p->nmodules, nseen), sizeof *all) : NULL;
  ig_map known = ig_map_make(c->alloc);
  bool ok = all != NULL;
  for (size_t i = 0; ok && i < p->nmodules + nseen; i++) {
    const char *path = i < p->nmodules ? p->modules[i] : seen[i - p->nmodules];
    ig_map_value *v = ig_map_put(&known, path);
    ok = v != NULL;
    if (v && !v->num) all[(*n)++] = path;
    if (v) v->num = 1;
  }
  ig_map_free(&known);
  if (!ok && c->status == IG_OK) (void)ig_no_memory(c);
  return ok ? all : NULL;
}

size_t ig_program_arg_names(const ig_program *p, const char *const **names) {
  *names = p->arg_names;
  return p->narg_names;
}

const char *ig_program_in_spec(const ig_program *p) {
  return p->in_spec;
}
const char *ig_program_out_spec(const ig_program *p) {
  return p->out_spec;
}

size_t ig_program_user_inputs(const ig_program *p) {
  size_t n = 0;
  for (size_t i = 0; i < p->ninputs; i++) n += p->inputs[i].kind == IG_INPUT_USER;
  return n;
}

size_t ig_program_user_outputs(const ig_program *p) {
  size_t n = 0;
  for (size_t i = 0; i < p->noutputs; i++) {
    n += p->outputs[i].kind == IG_OUTPUT_USER || p->outputs[i].kind == IG_OUTPUT_LOSS;
  }
  return n;
}
