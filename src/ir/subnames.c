// SPDX-License-Identifier: Apache-2.0
// Late naming: placeholders of a sub-graph get the names of the operands in the enclosing graph,
// and in every graph all other nodes are renamed in favour of the placeholders.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/graph.h"

enum { CAP = 240 };

static bool take(ig_ctx *c, ig_graph *g, ig_node *n, const char *name) {
  const char *kept =
      strcmp(n->name, name) == 0 ? n->name : ig_arena_strn(&g->arena, name, strlen(name));
  ig_map_value *slot = kept ? ig_map_put(&g->names, kept) : NULL;
  if (!slot) return ig_no_memory(c);
  slot->ptr = n;
  if (ig_node_is_placeholder(n) || n->target == n->name) n->target = kept;
  n->name = kept;
  return true;
}

// "add_1" continues from 1, "add" from 0; a placeholder keeps its suffix.
static bool take_free(ig_ctx *c, ig_graph *g, ig_node *n, const char *wish) {
  if (wish == n->name) {  // its own, if no earlier one has it
    ig_map_value *slot = ig_map_put(&g->names, wish);
    if (!slot) return ig_no_memory(c);
    if (!slot->ptr) {
      slot->ptr = n;
      if (ig_node_is_placeholder(n)) n->target = wish;
      return true;
    }
  }
  char name[CAP];
  size_t length = strlen(wish);
  size_t k = length;
  long number = 0;
  while (k > 0 && isdigit((unsigned char)wish[k - 1])) k--;
  bool numbered = k < length && k > 1 && wish[k - 1] == '_' && length - k < 10;
  if (numbered && !ig_node_is_placeholder(n)) {
    number = strtol(wish + k, NULL, 10);
    length = k - 1;
  }
  (void)snprintf(name, sizeof name, "%s", wish);
  while (ig_map_find(&g->names, name)) {
    (void)snprintf(name, sizeof name, "%.*s_%ld", (int)length, wish, ++number);
  }
  return take(c, g, n, name);
}

// Flat operands: the arguments after the last sub-graph.
typedef struct operands {
  const ig_value *args;  // the next argument
  size_t nargs;
  size_t at;  // within a list
} operands;

static const ig_value *next(operands *o) {
  for (; o->nargs; o->args++, o->nargs--, o->at = 0) {
    const ig_value *v = o->args;
    if (v->kind == IG_KIND_LIST && o->at < v->list.n) return &v->list.at[o->at++];
    if (v->kind != IG_KIND_NODE) continue;  // a number that is not an operand
    o->args++;
    o->nargs--;
    o->at = 0;
    return v;
  }
  return NULL;
}

static bool rename_sub(ig_ctx *c, ig_graph *g, operands o, bool keep) {
  ig_map_free(&g->names);
  g->names = ig_map_make(g->alloc);
  if (!ig_map_reserve(&g->names, g->n)) return ig_no_memory(c);
  for (ig_node *n = g->first; n; n = n->next) {
    const ig_value *outer = ig_node_is_placeholder(n) && !keep ? next(&o) : NULL;
    const char *wish = outer && outer->kind == IG_KIND_NODE ? outer->node->name : n->name;
    if (!take_free(c, g, n, wish)) return false;
  }
  return true;
}

bool ig_graph_name_rest(ig_ctx *c, ig_graph *g, size_t keep) {
  ig_map_free(&g->names);
  g->names = ig_map_make(g->alloc);
  for (ig_node *n = g->first; n; n = n->next) {
    bool ok = keep ? take(c, g, n, n->name) : take_free(c, g, n, n->name);
    if (!ok) return false;
    keep -= keep > 0;
  }
  return true;
}

static bool is_sub(const ig_value *v) {
  return v->kind == IG_KIND_NODE && v->node->kind == IG_NODE_ATTR && v->node->sub;
}

bool ig_graph_name_subs(ig_ctx *c, ig_graph *g) {
  for (ig_node *n = g->has_hop ? g->first : NULL; n; n = n->next) {
    if (n->kind != IG_NODE_CALL || n->callee != IG_CALLEE_HOP) continue;
    size_t last = 0;
    for (size_t i = 0; i < n->npos; i++) last = is_sub(&n->args[i]) ? i + 1 : last;
    for (size_t i = 0; i < last; i++) {
      if (!is_sub(&n->args[i])) continue;
      ig_graph *sub = n->args[i].node->sub;
      operands o = {n->args + last, n->npos - last, 0};
      if (!rename_sub(c, sub, o, n->hop->numbered) || !ig_graph_name_subs(c, sub)) return false;
    }
  }
  return true;
}
