// SPDX-License-Identifier: Apache-2.0
// Where sizes come from: every symbolic expression of a program with its range, the first value
// that has it, and the user's source line; and what the program checks about them.
#include <string.h>

#include "base/map.h"
#include "ingot/dims.h"
#include "model/dim_names.h"
#include "op/op.h"
#include "pt2/archive.h"
#include "sym/env.h"

typedef struct collector {
  ig_ctx *c;
  ig_map met;  // texts of expressions
  ig_dim_names names;
  IG_VEC(ig_model_symbol *) symbols;
  IG_VEC(ig_model_relation *) relations;
  const ig_range_entry *ranges;
  size_t nranges;
} collector;

static bool no_memory(const collector *k) {
  return ig_fail(k->c, IG_NOMEM, "out of memory") == IG_OK;
}

static const char *keep(const collector *k, const char *text, size_t n) {
  char *copy = ig_scope_push(k->c, n + 1);
  if (!copy) return NULL;
  memcpy(copy, text, n);
  copy[n] = 0;
  return copy;
}

// The text with the names that the inputs have for sizes.
static const char *shown(const collector *k, const char *text) {
  ig_str s = ig_str_make(k->c->alloc);
  ig_dim_names_put(&k->names, &s, text);
  const char *kept = s.failed ? NULL : keep(k, s.at, s.n);
  if (!kept) (void)no_memory(k);
  ig_str_free(&s);
  return kept;
}

// ---- the user's line

static void locate(const ig_node *n, const char **file, int *line, const char **source) {
  ig_frame at = ig_node_location(n);
  *file = at.file;
  *line = at.line;
  *source = at.code;
}

// ---- symbols

static void set_range(const collector *k, const ig_expr *e, const char *text, ig_model_symbol *s) {
  ig_vrange r = ig_expr_range(k->c, e);
  s->lo = r.lo < INT64_MIN ? INT64_MIN : (int64_t)r.lo;
  s->hi = r.hi > INT64_MAX ? INT64_MAX : (int64_t)r.hi;
  for (size_t i = 0; i < k->nranges; i++) {
    if (strcmp(k->ranges[i].text, text) != 0) continue;
    s->lo = k->ranges[i].lo;
    s->hi = k->ranges[i].hi;
  }
}

static bool add_symbol(collector *k, const ig_node *n, const ig_expr *e, int dim) {
  ig_str text = ig_str_make(k->c->alloc);
  ig_str_expr(&text, e);
  const char *own = text.failed ? NULL : keep(k, text.at, text.n);
  ig_str_free(&text);
  ig_map_value *known = own ? ig_map_put(&k->met, own) : NULL;
  if (!known) return no_memory(k);
  if (known->ptr) return true;
  ig_model_symbol *s = ig_scope_push(k->c, sizeof *s);
  const char *name = shown(k, own);
  if (!s || !name) return false;
  *s = (ig_model_symbol){
      .name = name, .value = n->name, .dim = dim, .input = ig_node_is_placeholder(n)};
  known->ptr = s;
  set_range(k, e, own, s);
  locate(n, &s->file, &s->line, &s->source);
  return ig_vec_push(k->c->alloc, &k->symbols, s) || no_memory(k);
}

static bool add_value(collector *k, const ig_node *n, const ig_value *v) {
  if (v->kind == IG_KIND_INT && v->i.expr) return add_symbol(k, n, v->i.expr, -1);
  for (size_t i = 0; v->kind == IG_KIND_LIST && i < v->list.n; i++) {
    if (!add_value(k, n, &v->list.at[i])) return false;
  }
  for (int d = 0; v->kind == IG_KIND_TENSOR && d < v->tensor->ndim; d++) {
    ig_int size = ig_tensor_size(v->tensor, d);
    if (size.expr && !add_symbol(k, n, size.expr, d)) return false;
  }
  return true;
}

static bool add_graph(collector *k, const ig_graph *g) {
  for (const ig_node *n = g->first; n; n = n->next) {
    if (!add_value(k, n, &n->val)) return false;
  }
  for (size_t i = 0; i < g->subs.n; i++) {
    if (!add_graph(k, g->subs.at[i].graph)) return false;
  }
  return true;
}

// Copies a vector of pointers into the innermost scope.
static const void *hand_out(collector *k, const void *at, size_t n, size_t *count) {
  void *copy = ig_scope_array(k->c, n + 1, sizeof(void *));
  *count = copy ? n : 0;
  if (copy && n) memcpy(copy, at, n * sizeof(void *));
  return copy;
}

size_t ig_model_symbols(ig_ctx *c, const ig_model *m, const ig_model_symbol *const **list) {
  *list = NULL;
  size_t n = 0;
  if (c->status != IG_OK || !m->program || !m->program->graph->sym) return 0;
  collector k = {.c = c, .met = ig_map_make(c->alloc), .names = {.c = c}};
  k.nranges = ig_program_ranges(c, m->program, &k.ranges);
  ig_mode_scope mode = ig_mode_push_sym(c, m->program->graph->sym);
  bool ok = ig_dim_names_find(&k.names, m, m->program) && add_graph(&k, m->program->graph);
  ig_mode_pop(c, &mode);
  if (ok) *list = hand_out(&k, (const void *)k.symbols.at, k.symbols.n, &n);
  ig_map_free(&k.met);
  ig_dim_names_free(&k.names);
  ig_vec_free(c->alloc, &k.symbols);
  return n;
}

// ---- relations

static bool add_relation(collector *k, const char *own, const ig_node *n) {
  const char *text = shown(k, own);
  if (!text) return false;
  for (size_t i = 0; i < k->relations.n; i++) {
    if (strcmp(k->relations.at[i]->text, text) == 0) return true;
  }
  ig_model_relation *r = ig_scope_push(k->c, sizeof *r);
  if (!r) return false;
  *r = (ig_model_relation){.text = text};
  if (n) locate(n, &r->file, &r->line, &r->source);
  return ig_vec_push(k->c->alloc, &k->relations, r) || no_memory(k);
}

static bool add_expression(collector *k, const ig_expr *e, const ig_node *n) {
  ig_str text = ig_str_make(k->c->alloc);
  ig_str_expr(&text, e);
  bool ok = text.failed ? no_memory(k) : add_relation(k, text.at, n);
  ig_str_free(&text);
  return ok;
}

static bool is_assertion(const ig_node *n) {
  return n->kind == IG_NODE_CALL && n->op && ig_op_is_check(n->op);
}

// What a call asserts: the symbolic truth of its operand, or what its message says.
static bool add_assertion(collector *k, const ig_node *n) {
  for (size_t i = 0; i < n->npos + n->nkw; i++) {
    const ig_value *v = &n->args[i];
    const ig_value *truth = v->kind == IG_KIND_NODE ? &v->node->val : v;
    if (truth->kind == IG_KIND_BOOL && truth->b_expr) return add_expression(k, truth->b_expr, n);
    if (v->kind == IG_KIND_STR) return add_relation(k, v->str, n);
  }
  return true;
}

static bool add_assertions(collector *k, const ig_graph *g) {
  for (const ig_node *n = g->first; n; n = n->next) {
    if (is_assertion(n) && !add_assertion(k, n)) return false;
  }
  for (size_t i = 0; i < g->subs.n; i++) {
    if (!add_assertions(k, g->subs.at[i].graph)) return false;
  }
  return true;
}

// Relations of the inputs that the file declares.
static bool add_written_guards(collector *k, const ig_program *p) {
  for (size_t i = 0; p->origin && i < p->origin->guards.n; i++) {
    const char *text = p->origin->guards.at[i];
    if (!add_relation(k, text, NULL)) return false;
  }
  return true;
}

// With the sizes that equal others written by these, as the inputs are. What is true then is the
// very condition by which they are equal.
static bool add_guards(collector *k, const ig_graph *g) {
  const ig_env *env = g->sym->env;
  ig_mode_scope mode = ig_mode_push_sym(k->c, g->sym);
  bool ok = true;
  for (size_t i = 0; ok && env && i < env->guards.n; i++) {
    const ig_expr *e = ig_env_find(k->c, env->guards.at[i].expr);
    ok = e && (e->kind == IG_EXPR_BOOL || add_expression(k, e, NULL));
  }
  ig_mode_pop(k->c, &mode);
  return ok;
}

size_t ig_model_relations(ig_ctx *c, const ig_model *m, const ig_model_relation *const **list) {
  *list = NULL;
  size_t n = 0;
  if (c->status != IG_OK || !m->program) return 0;
  collector k = {.c = c, .names = {.c = c}};
  if (ig_dim_names_find(&k.names, m, m->program) && add_written_guards(&k, m->program) &&
      add_guards(&k, m->program->graph) && add_assertions(&k, m->program->graph)) {
    *list = hand_out(&k, (const void *)k.relations.at, k.relations.n, &n);
  }
  ig_dim_names_free(&k.names);
  ig_vec_free(c->alloc, &k.relations);
  return n;
}
