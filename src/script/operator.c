// SPDX-License-Identifier: Apache-2.0
#include "script/operator.h"

#include <stdlib.h>
#include <string.h>

#include "op/bind.h"
#include "script/overload_order.h"

static void *no_memory(ig_sunit *u) {
  (void)ig_fail(u->c, IG_NOMEM, "out of memory");
  return NULL;
}

// ---- the overloads of a name

typedef struct candidate {
  const ig_op *op;
  size_t rank;
  size_t found;
} candidate;

static int compare(const void *x, const void *y) {
  const candidate *a = x;
  const candidate *b = y;
  if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
  return a->found < b->found ? -1 : 1;
}

enum { MAX_OVERLOADS = 64 };

// ATen and custom operators in the order of trial.
static size_t collect(ig_sunit *u, const char *name, candidate *at) {
  const char *colons = strstr(name, "::");
  char ns[64];
  size_t length = colons ? (size_t)(colons - name) : 0;
  if (length == 0 || length >= sizeof ns) return 0;
  memcpy(ns, name, length);
  ns[length] = '\0';
  const char *bare = colons + 2;
  size_t n = 0;
  for (const ig_op *op = ig_lib_overloads(u->c, ns, bare); op && n < MAX_OVERLOADS; op = op->next) {
    size_t rank = ig_overload_rank(bare, op->schema.overload);
    if (rank == IG_OVERLOAD_HIDDEN) continue;
    if (ig_op_is_out(op)) rank += 2 * IG_OVERLOAD_UNRANKED;
    at[n] = (candidate){op, rank, n};
    n++;
  }
  qsort(at, n, sizeof *at, compare);
  return n;
}

static bool is_named(const ig_sschema *s, const char *overload) {
  return strcmp(s->overload, overload) == 0;
}

const ig_soperators *ig_soperators_named(ig_sunit *u, const char *name) {
  const char *kept = NULL;
  ig_map_value *slot = ig_map_keep(&u->operators, &u->arena, name, &kept);
  if (!slot) return no_memory(u);
  if (slot->ptr) return slot->ptr;
  candidate found[MAX_OVERLOADS];
  size_t n_found = collect(u, name, found);
  ig_sbuiltins rows = ig_sbuiltins_named(name);
  ig_soperators *all = ig_arena_push(&u->arena, sizeof *all);
  ig_soperator *at = ig_arena_array(&u->arena, ig_mem_add(n_found + 1, rows.n), sizeof *at);
  if (!all || !at) return no_memory(u);
  for (size_t i = 0; i < n_found; i++) {
    const ig_sschema *schema = ig_sschema_parse(&u->types, found[i].op->schema.text);
    if (!schema) return NULL;
    at[all->n++] = (ig_soperator){.schema = schema, .op = found[i].op};
  }
  size_t from_aten = all->n;
  for (size_t i = 0; i < rows.n; i++) {
    const ig_sschema *schema = ig_sschema_parse(&u->types, rows.at[i].schema);
    if (!schema) return NULL;
    bool known = false;
    for (size_t k = 0; k < from_aten; k++) known |= is_named(at[k].schema, schema->overload);
    if (!known) at[all->n++] = (ig_soperator){.schema = schema, .builtin = &rows.at[i]};
  }
  all->at = at;
  slot = ig_map_find(&u->operators, name);
  if (slot) slot->ptr = all;
  return all;
}

// ---- matching types

static bool has_variables(const ig_stype *t) {
  if (t->kind == IG_STYPE_VAR) return true;
  for (size_t i = 0; i < t->n; i++) {
    if (has_variables(t->at[i])) return true;
  }
  return false;
}

static bool bind_variable(ig_stypes *types, const ig_stype *formal, const ig_stype *actual,
                          ig_sbinding *b) {
  for (size_t i = 0; i < b->n; i++) {
    if (strcmp(b->name[i], formal->name) != 0) continue;
    const ig_stype *both = ig_stype_unify(types, b->type[i], actual, false);
    if (both) b->type[i] = both;
    return both != NULL;
  }
  if (b->n == IG_MAX_TYPE_VARS) return false;
  b->name[b->n] = formal->name;
  b->type[b->n++] = actual;
  return true;
}

static bool match_items(ig_stypes *types, const ig_stype *formal, const ig_stype *actual,
                        ig_sbinding *b) {
  if (formal->n != actual->n) return false;
  for (size_t i = 0; i < formal->n; i++) {
    if (!ig_stype_match(types, formal->at[i], actual->at[i], b)) return false;
  }
  return true;
}

bool ig_stype_match(ig_stypes *types, const ig_stype *formal, const ig_stype *actual,
                    ig_sbinding *b) {
  if (!has_variables(formal)) return ig_stype_is_subtype(actual, formal);
  if (formal->kind == IG_STYPE_VAR) return bind_variable(types, formal, actual, b);
  if (formal->kind == IG_STYPE_OPTIONAL) {
    if (actual->kind == IG_STYPE_NONE) return true;
    const ig_stype *of = actual->kind == IG_STYPE_OPTIONAL ? actual->at[0] : actual;
    return ig_stype_match(types, formal->at[0], of, b);
  }
  return formal->kind == actual->kind && match_items(types, formal, actual, b);
}

const ig_stype *ig_stype_bind(ig_stypes *t, const ig_stype *formal, const ig_sbinding *b) {
  if (!has_variables(formal)) return formal;
  if (formal->kind == IG_STYPE_VAR) {
    for (size_t i = 0; i < b->n; i++) {
      if (strcmp(b->name[i], formal->name) == 0) return b->type[i];
    }
    return NULL;
  }
  const ig_stype *at[8] = {NULL};
  if (formal->n > 8) return NULL;
  for (size_t i = 0; i < formal->n; i++) {
    if (!(at[i] = ig_stype_bind(t, formal->at[i], b))) return NULL;
  }
  switch (formal->kind) {
    case IG_STYPE_LIST:
      return ig_stype_list(t, at[0]);
    case IG_STYPE_DICT:
      return ig_stype_dict(t, at[0], at[1]);
    case IG_STYPE_OPTIONAL:
      return ig_stype_optional(t, at[0]);
    case IG_STYPE_FUTURE:
      return ig_stype_future(t, at[0]);
    case IG_STYPE_TUPLE:
      return ig_stype_tuple(t, at, formal->n);
    default:
      return NULL;
  }
}

// ---- the operator of a node

static bool takes(ig_sunit *u, const ig_sschema *s, const ig_snode *n) {
  if (s->vararg ? n->n_in < s->n_params : n->n_in != s->n_params) return false;
  if (!s->varret && n->n_out != s->n_results) return false;
  ig_sbinding b = {0};
  for (size_t i = 0; i < s->n_params; i++) {
    if (!ig_stype_match(&u->types, s->params[i].type, n->in[i]->type, &b)) return false;
  }
  return true;
}

const ig_soperator *ig_soperator_of_node(ig_sunit *u, const ig_snode *n) {
  const ig_soperators *all = ig_soperators_named(u, n->kind);
  for (size_t i = 0; all && i < all->n; i++) {
    if (takes(u, all->at[i].schema, n)) return &all->at[i];
  }
  return NULL;
}
