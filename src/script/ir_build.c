// SPDX-License-Identifier: Apache-2.0
#include "script/ir_build.h"

#include <math.h>
#include <string.h>

#include "script/ir_edit.h"

static bool no_memory(const ig_sgraph *g) {
  (void)ig_fail(g->c, IG_NOMEM, "out of memory");
  return false;
}

// ---- nodes

void ig_sbuild_move_all(ig_sblock *from, ig_sblock *to, ig_snode *before) {
  while (from->first) ig_snode_insert(from->first, to, before);
}

ig_snode *ig_sbuild_node(ig_sblock *b, ig_snode *before, const char *kind, ig_svalue *const *in,
                         size_t n) {
  ig_snode *node = ig_snode_push(b, kind, in, n);
  if (node && before) ig_snode_insert(node, b, before);
  return node;
}

ig_svalue *ig_sbuild_value(ig_sblock *b, ig_snode *before, const char *kind, ig_svalue *const *in,
                           size_t n, const ig_stype *type) {
  ig_snode *node = ig_sbuild_node(b, before, kind, in, n);
  return node ? ig_snode_add_output(node, type) : NULL;
}

static ig_svalue *constant(ig_sblock *b, ig_snode *before, ig_stype_kind type, ig_value value) {
  const char *kind = ig_sform_kind(IG_SFORM_CONSTANT);
  const ig_stype *t = ig_stype_plain(b->graph->types, type);
  ig_svalue *v = t ? ig_sbuild_value(b, before, kind, NULL, 0, t) : NULL;
  ig_sattr *a = v ? ig_snode_add_attr(v->node, "value", IG_SATTR_VALUE) : NULL;
  if (a) a->value = value;
  return a ? v : NULL;
}

ig_svalue *ig_sbuild_int(ig_sblock *b, ig_snode *before, int64_t i) {
  return constant(b, before, IG_STYPE_INT, ig_of_i64(i));
}

ig_svalue *ig_sbuild_bool(ig_sblock *b, ig_snode *before, bool value) {
  return constant(b, before, IG_STYPE_BOOL, ig_of_bool(value));
}

// ---- operands and results

// One more element at a position. The room doubles whenever n is a power of two, as in ir.c.
static bool insert(ig_sgraph *g, ig_svalue ***list, size_t *n, size_t at, ig_svalue *v) {
  if (!v) return false;
  ig_svalue **from = *list;
  if ((*n & (*n - 1)) == 0) {
    ig_svalue **bigger = ig_arena_array(&g->arena, *n ? ig_mem_mul(*n, 2) : 1, sizeof *bigger);
    if (!bigger) return no_memory(g);
    if (*n) memcpy(bigger, from, ig_mem_mul(*n, sizeof *bigger));
    *list = from = bigger;
  }
  for (size_t i = (*n)++; i > at; i--) from[i] = from[i - 1];
  from[at] = v;
  return true;
}

bool ig_sbuild_insert_block_output(ig_sblock *b, size_t at, ig_svalue *v) {
  return insert(b->graph, &b->out, &b->n_out, at, v);
}

static ig_sgraph *graph_of(const ig_svalue *v) {
  return v->block ? v->block->graph : v->node->owner->graph;
}

bool ig_sbuild_copy_metadata(ig_svalue *v, const ig_svalue *from) {
  v->type = from->type;
  return !from->name || ig_svalue_set_name(graph_of(v), v, from->name);
}

// ---- replacing

ig_svalue *ig_sbuild_now(ig_svalue *v) {
  if (!v || !v->instead) return v;
  ig_svalue *last = v;
  while (last->instead) last = last->instead;
  while (v->instead) {  // the next one to ask finds it at once
    ig_svalue *next = v->instead;
    v->instead = last;
    v = next;
  }
  return last;
}

void ig_sbuild_replace(ig_svalue *v, ig_svalue *by) {
  v = ig_sbuild_now(v);
  by = ig_sbuild_now(by);
  if (v != by) v->instead = by;
}

static void settle(ig_sblock *b) {
  for (ig_snode *n = b->first; n; n = n->next) {
    for (size_t i = 0; i < n->n_in; i++) n->in[i] = ig_sbuild_now(n->in[i]);
    for (size_t i = 0; i < n->n_blocks; i++) settle(n->blocks[i]);
  }
  for (size_t i = 0; i < b->n_out; i++) b->out[i] = ig_sbuild_now(b->out[i]);
}

void ig_sbuild_settle(ig_sgraph *g) {
  settle(g->body);
}

static void clear_uses(ig_sblock *b) {
  for (size_t i = 0; i < b->n_in; i++) b->in[i]->uses = 0;
  for (ig_snode *n = b->first; n; n = n->next) {
    for (size_t i = 0; i < n->n_blocks; i++) clear_uses(n->blocks[i]);
    for (size_t i = 0; i < n->n_out; i++) n->out[i]->uses = 0;
  }
}

static void count_uses(ig_sblock *b) {
  for (ig_snode *n = b->first; n; n = n->next) {
    for (size_t i = 0; i < n->n_in; i++) ig_sbuild_now(n->in[i])->uses++;
    for (size_t i = 0; i < n->n_blocks; i++) count_uses(n->blocks[i]);
  }
  for (size_t i = 0; i < b->n_out; i++) ig_sbuild_now(b->out[i])->uses++;
}

void ig_sbuild_count_uses(ig_sgraph *g) {
  clear_uses(g->body);
  count_uses(g->body);
}

// ---- copying

static ig_svalue *outside_value(const ig_soutside *o, ig_svalue *v) {
  v = ig_sbuild_now(v);
  if (v->copy) return v->copy;
  return o ? o->value(o->user, v) : v;
}

// Results take type and name; those of nodes in a block take them twice, and so names of the
// originals move on by two. That is how PyTorch numbers them.
static ig_snode *copy_node(ig_sblock *into, ig_snode *before, ig_snode *n,
                           const ig_soutside *outside) {
  ig_snode *copy = ig_sbuild_node(into, before, n->kind, NULL, 0);
  if (!copy) return NULL;
  for (size_t i = 0; i < n->n_out; i++) {
    ig_svalue *v = ig_snode_add_output(copy, n->out[i]->type);
    if (!v || !ig_sbuild_copy_metadata(v, n->out[i])) return NULL;
  }
  if (!ig_snode_copy_attrs(copy, n)) return NULL;
  for (size_t i = 0; i < n->n_in; i++) {
    if (!ig_snode_add_input(copy, outside_value(outside, n->in[i]))) return NULL;
  }
  for (size_t i = 0; i < n->n_blocks; i++) {
    ig_sblock *b = ig_snode_add_block(copy);
    if (!b || !ig_sbuild_copy_block(b, n->blocks[i], outside)) return NULL;
  }
  return copy;
}

void ig_sbuild_forget(ig_sblock *b) {
  for (size_t i = 0; i < b->n_in; i++) b->in[i]->copy = NULL;
  for (ig_snode *n = b->first; n; n = n->next) {
    for (size_t i = 0; i < n->n_out; i++) n->out[i]->copy = NULL;
  }
}

bool ig_sbuild_copy_nodes(ig_sblock *into, ig_snode *before, ig_sblock *from,
                          const ig_soutside *outside) {
  for (ig_snode *n = from->first; n; n = n->next) {
    ig_snode *copy = copy_node(into, before, n, outside);
    if (!copy) return false;
    for (size_t i = 0; i < n->n_out; i++) n->out[i]->copy = copy->out[i];
  }
  return true;
}

static bool copy_block(ig_sblock *into, ig_sblock *from, const ig_soutside *outside) {
  for (size_t i = 0; i < from->n_in; i++) {
    ig_svalue *v = ig_sblock_add_input(into, from->in[i]->type);
    if (!v || !ig_sbuild_copy_metadata(v, from->in[i])) return false;
    from->in[i]->copy = v;
  }
  for (ig_snode *n = from->first; n; n = n->next) {
    ig_snode *copy = copy_node(into, NULL, n, outside);
    if (!copy) return false;
    for (size_t i = 0; i < n->n_out; i++) {
      n->out[i]->copy = copy->out[i];
      if (!ig_sbuild_copy_metadata(copy->out[i], n->out[i])) return false;
    }
  }
  for (size_t i = 0; i < from->n_out; i++) {
    if (!ig_sblock_add_output(into, outside_value(outside, from->out[i]))) return false;
  }
  return true;
}

bool ig_sbuild_copy_block(ig_sblock *into, ig_sblock *from, const ig_soutside *outside) {
  bool ok = copy_block(into, from, outside);
  ig_sbuild_forget(from);
  return ok;
}

// ---- asking

bool ig_sbuild_is_constant(const ig_svalue *v) {
  return !v->block && v->node && ig_sform_of(v->node) == IG_SFORM_CONSTANT;
}

const ig_value *ig_sbuild_constant(const ig_svalue *v) {
  const ig_sattr *a = ig_sbuild_is_constant(v) ? ig_snode_attr(v->node, "value") : NULL;
  return a && a->kind == IG_SATTR_VALUE ? &a->value : NULL;
}

bool ig_sbuild_as_bool(const ig_svalue *v, bool *out) {
  const ig_value *value = ig_sbuild_constant(v);
  if (!value || value->kind != IG_KIND_BOOL) return false;
  *out = value->b;
  return true;
}

bool ig_sbuild_as_int(const ig_svalue *v, int64_t *out) {
  const ig_value *value = ig_sbuild_constant(v);
  if (!value || value->kind != IG_KIND_INT) return false;
  *out = value->i.value;
  return true;
}

// Zeros differ by their sign.
static bool same_number(double a, double b) {
  return a == b && !signbit(a) == !signbit(b);
}

static bool same_literal(const ig_value *a, const ig_value *b) {
  if (a->kind != b->kind) return false;
  switch (a->kind) {
    case IG_KIND_NONE:
      return true;
    case IG_KIND_INT:
      return a->i.value == b->i.value;
    case IG_KIND_BOOL:
      return a->b == b->b;
    case IG_KIND_FLOAT:
      return same_number(a->f, b->f);
    case IG_KIND_COMPLEX:
      return same_number(a->z.re, b->z.re) && same_number(a->z.im, b->z.im);
    case IG_KIND_STR:
      return strcmp(a->str, b->str) == 0;
    case IG_KIND_DEVICE:
      return a->device.type == b->device.type && a->device.index == b->device.index;
    case IG_KIND_TENSOR:
      return a->tensor == b->tensor;
    case IG_KIND_OBJECT:
      return a->object == b->object;
    case IG_KIND_LIST:
      if (a->list.n != b->list.n || a->seq != b->seq) return false;
      for (size_t i = 0; i < a->list.n; i++) {
        if (!same_literal(&a->list.at[i], &b->list.at[i])) return false;
      }
      return true;
    default:
      return false;
  }
}

bool ig_sbuild_same_constant(const ig_snode *a, const ig_snode *b) {
  bool constants = ig_sform_of(a) == IG_SFORM_CONSTANT && ig_sform_of(b) == IG_SFORM_CONSTANT;
  if (!constants || a->n_attrs != b->n_attrs || a->n_out != 1 || b->n_out != 1) return false;
  if (a->out[0]->type != b->out[0]->type) return false;
  for (size_t i = 0; i < a->n_attrs; i++) {
    const ig_sattr *x = &a->attrs[i];
    const ig_sattr *y = &b->attrs[i];
    if (strcmp(x->name, y->name) != 0 || x->kind != y->kind) return false;
    if (x->kind != IG_SATTR_VALUE || !same_literal(&x->value, &y->value)) return false;
  }
  return true;
}

// ---- checking

typedef struct shape {
  ig_sform form;
  size_t n_in;
  size_t n_out;
  size_t n_blocks;
} shape;

enum { ANY = 1 << 20 };

// Of nodes whose number of operands, results and blocks is fixed.
static const shape shapes[] = {
    {IG_SFORM_CONSTANT, 0, 1, 0},
    {IG_SFORM_UNINITIALIZED, 0, 1, 0},
    {IG_SFORM_IF, 1, ANY, 2},
    {IG_SFORM_LOOP, ANY, ANY, ANY},
    {IG_SFORM_STORE, 1, 0, 0},
    {IG_SFORM_LOAD, 0, 1, 0},
    {IG_SFORM_BREAK, 0, 0, 0},
    {IG_SFORM_CONTINUE, 0, 0, 0},
    {IG_SFORM_RETURN, 1, 0, 0},
    {IG_SFORM_COMPREHENSION, 0, 0, 1},
    {IG_SFORM_CLOSURE, 0, 1, ANY},
    {IG_SFORM_FORK_CLOSURE, 1, 1, 0},
    {IG_SFORM_ENTER, 1, ANY, 0},
    {IG_SFORM_EXIT, ANY, ANY, 0},
    {IG_SFORM_TUPLE_CONSTRUCT, ANY, 1, 0},
    {IG_SFORM_TUPLE_UNPACK, 1, ANY, 0},
    {IG_SFORM_TUPLE_INDEX, 2, 1, 0},
    {IG_SFORM_TUPLE_SLICE, 1, 1, 0},
    {IG_SFORM_LIST_CONSTRUCT, ANY, 1, 0},
    {IG_SFORM_DICT_CONSTRUCT, ANY, 1, 0},
    {IG_SFORM_UNCHECKED_CAST, 1, 1, 0},
    {IG_SFORM_ISINSTANCE, 1, 1, 0},
    {IG_SFORM_GET_ATTR, 1, 1, 0},
    {IG_SFORM_SET_ATTR, 2, 0, 0},
    {IG_SFORM_IS, 2, 1, 0},
    {IG_SFORM_IS_NOT, 2, 1, 0},
    {IG_SFORM_CREATE_OBJECT, 0, 1, 0},
    {IG_SFORM_WAIT, 1, ANY, 0},
};

static bool malformed(const ig_snode *n, const char *what) {
  (void)ig_fail(n->owner->graph->c, IG_INVALID, "%s: a node of this kind %s", n->kind, what);
  return false;
}

static bool fits(size_t found, size_t want) {
  return want == ANY || found == want;
}

static bool has_name(const ig_snode *n) {
  const ig_sattr *a = ig_snode_attr(n, "name");
  return a && a->kind == IG_SATTR_VALUE && a->value.kind == IG_KIND_STR;
}

// Before the graph is in SSA form a loop has its trip count and a block for its condition.
static bool check_loop(const ig_snode *n, bool ssa) {
  if (!ssa) {
    bool good = n->n_in == 1 && n->n_out == 0 && n->n_blocks == 2 && n->blocks[0]->n_in == 1 &&
                n->blocks[0]->n_out == 0 && n->blocks[1]->n_in == 0 && n->blocks[1]->n_out == 1;
    return good || malformed(n, "has a trip count, a body and a block for its condition");
  }
  bool good = n->n_in == n->n_out + 2 && n->n_blocks == 1 && n->blocks[0]->n_in == n->n_out + 1 &&
              n->blocks[0]->n_out == n->n_out + 1;
  return good || malformed(n, "carries as many values into its block as out of it");
}

static bool check_node(const ig_snode *n, bool ssa) {
  ig_sform form = ig_sform_of(n);
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    const shape *s = &shapes[i];
    if (s->form != form) continue;
    if (!fits(n->n_in, s->n_in)) return malformed(n, "has another number of operands");
    if (!fits(n->n_out, s->n_out)) return malformed(n, "has another number of results");
    if (!fits(n->n_blocks, s->n_blocks)) return malformed(n, "has another number of blocks");
  }
  if (form == IG_SFORM_LOOP) return check_loop(n, ssa);
  if (form == IG_SFORM_CLOSURE) {
    return n->n_blocks <= 1 || malformed(n, "has one block");
  }
  bool variable = form == IG_SFORM_STORE || form == IG_SFORM_LOAD;
  bool attribute = form == IG_SFORM_GET_ATTR || form == IG_SFORM_SET_ATTR;
  if ((variable || attribute) && !has_name(n)) return malformed(n, "has an attribute name");
  if (form == IG_SFORM_IF) {
    for (size_t i = 0; i < 2; i++) {
      bool good = n->blocks[i]->n_in == 0 && n->blocks[i]->n_out == n->n_out;
      if (!good) return malformed(n, "has blocks with as many outputs as it has results");
    }
  }
  bool statement = variable || form == IG_SFORM_BREAK || form == IG_SFORM_CONTINUE ||
                   form == IG_SFORM_RETURN || form == IG_SFORM_COMPREHENSION;
  if (ssa && statement) return malformed(n, "stands only in graphs with variables");
  if (form == IG_SFORM_LOOP_CONTINUATION || form == IG_SFORM_WITH) {
    return malformed(n, "exists only inside of the compiler");
  }
  return true;
}

static bool check_block(const ig_sblock *b, bool ssa, size_t depth, size_t max_depth) {
  if (depth > max_depth) {
    (void)ig_fail(b->graph->c, IG_LIMIT, "blocks nested more than %zu deep", max_depth);
    return false;
  }
  for (const ig_snode *n = b->first; n; n = n->next) {
    if (!check_node(n, ssa)) return false;
    for (size_t i = 0; i < n->n_blocks; i++) {
      if (!check_block(n->blocks[i], ssa, depth + 1, max_depth)) return false;
    }
  }
  return true;
}

bool ig_sbuild_check(ig_sgraph *g, bool ssa) {
  // Early exits nest what follows them: a graph of the compiler is deeper than its source.
  return check_block(g->body, ssa, 0, 4 * (size_t)ig_ctx_limits(g->c).max_depth);
}
