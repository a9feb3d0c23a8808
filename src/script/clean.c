// SPDX-License-Identifier: Apache-2.0
// What the compiler does to a graph after it is in SSA form, in the order of ig_sgraph_clean.
#include <stdlib.h>
#include <string.h>

#include "script/compile.h"
#include "script/passes.h"

static bool no_memory(const ig_sgraph *g) {
  (void)ig_fail(g->c, IG_NOMEM, "out of memory");
  return false;
}

// ---- loops with a trip count and a condition

static bool is_modified(const ig_snode *n) {
  const ig_sblock *body = n->blocks[0];
  bool first = false;
  bool next = false;
  int64_t most = 0;
  bool always = ig_sbuild_as_bool(n->in[1], &first) && first &&
                ig_sbuild_as_bool(body->out[0], &next) && next;
  bool unbounded = ig_sbuild_as_int(n->in[0], &most) && most == INT64_MAX && !body->in[0]->uses;
  return !always && !unbounded;
}

static ig_svalue *compute(ig_sblock *b, ig_snode *before, ig_soperation op, ig_svalue *left,
                          ig_svalue *right, ig_stype_kind type) {
  if (!left || !right) return NULL;
  ig_svalue *in[] = {left, right};
  return ig_sbuild_value(b, before, ig_soperation_kind(op), in, 2,
                         ig_stype_plain(b->graph->types, type));
}

static bool canonicalize_loop(ig_snode *n) {
  ig_sblock *b = n->owner;
  ig_sblock *body = n->blocks[0];
  ig_svalue *trips = n->in[0];
  ig_svalue *zero = ig_sbuild_int(b, n, 0);
  ig_svalue *one = ig_sbuild_int(b, n, 1);
  ig_svalue *first = compute(b, n, IG_SOPERATION_GT, trips, zero, IG_STYPE_BOOL);
  ig_svalue *most = ig_sbuild_int(b, n, INT64_MAX);
  bool always = false;
  if (!ig_sbuild_as_bool(n->in[1], &always) || !always) {
    first = compute(b, n, IG_SOPERATION_AND, first, n->in[1], IG_STYPE_BOOL);
  }
  if (!one || !first || !most) return false;
  n->in[0] = most;
  n->in[1] = first;
  const ig_stype *type = zero->type;
  if (!ig_snode_add_output(n, type) || !ig_snode_add_input(n, zero)) return false;
  ig_svalue *counter = ig_sblock_add_input(body, type);
  if (!counter || !ig_svalue_set_name(b->graph, body->in[0], "")) return false;
  ig_sbuild_replace(body->in[0], counter);
  ig_svalue *next = compute(body, NULL, IG_SOPERATION_ADD, counter, one, IG_STYPE_INT);
  if (!next || !ig_sblock_add_output(body, next)) return false;
  ig_svalue *more = compute(body, NULL, IG_SOPERATION_LT, next, trips, IG_STYPE_BOOL);
  body->out[0] = compute(body, NULL, IG_SOPERATION_AND, more, body->out[0], IG_STYPE_BOOL);
  return body->out[0] != NULL;
}

static bool canonicalize_loops(ig_sblock *b) {
  for (ig_snode *n = b->first; n; n = n->next) {
    for (size_t i = 0; i < n->n_blocks; i++) {
      if (!canonicalize_loops(n->blocks[i])) return false;
    }
    if (ig_sform_of(n) != IG_SFORM_LOOP || !is_modified(n)) continue;
    if (!canonicalize_loop(n)) return false;
  }
  return true;
}

// The old counter stays an input of the block, without uses.
bool ig_sgraph_canonicalize_loops(ig_sgraph *g) {
  ig_sbuild_count_uses(g);
  bool ok = canonicalize_loops(g->body);
  ig_sbuild_settle(g);
  return ok;
}

// ---- names of operators

// The node again under another name. NULL after an error.
static ig_snode *rename_node(ig_snode *n, const char *kind) {
  ig_snode *fresh = ig_sbuild_node(n->owner, n, kind, n->in, n->n_in);
  if (!fresh || !ig_snode_copy_attrs(fresh, n)) return NULL;
  for (size_t i = 0; i < n->n_out; i++) {
    ig_svalue *v = ig_snode_add_output(fresh, n->out[i]->type);
    if (!v || !ig_sbuild_copy_metadata(v, n->out[i])) return NULL;
    ig_sbuild_replace(n->out[i], v);
  }
  ig_snode_remove(n);
  return fresh;
}

static bool is_bool(const ig_svalue *v) {
  return v->type->kind == IG_STYPE_BOOL;
}

static bool normalize(ig_snode *n) {
  const char *other = n->n_blocks ? NULL : ig_sform_alias(n->kind);
  if (other) return rename_node(n, other) != NULL;
  ig_sform form = ig_sform_of(n);
  // Subtracting from a number has no other name: a tensor comes first in aten::sub.
  bool swaps = form == IG_SFORM_SUBTRACTED_FROM && n->n_in == 3;
  if (swaps && n->in[1]->type->kind == IG_STYPE_TENSOR) {
    ig_snode *fresh = rename_node(n, ig_soperation_kind(IG_SOPERATION_SUB));
    if (!fresh) return false;
    ig_svalue *self = fresh->in[0];
    fresh->in[0] = fresh->in[1];
    fresh->in[1] = self;
    return true;
  }
  // Truth values have no identity.
  bool compares = form == IG_SFORM_IS || form == IG_SFORM_IS_NOT;
  if (!compares || !is_bool(n->in[0]) || !is_bool(n->in[1])) return true;
  return rename_node(n, ig_soperation_kind(form == IG_SFORM_IS ? IG_SOPERATION_EQ
                                                               : IG_SOPERATION_NE)) != NULL;
}

static bool normalize_block(ig_sblock *b) {
  for (ig_snode *n = b->first, *next; n; n = next) {
    next = n->next;
    for (size_t i = 0; i < n->n_blocks; i++) {
      if (!normalize_block(n->blocks[i])) return false;
    }
    if (!normalize(n)) return false;
  }
  return true;
}

bool ig_sgraph_normalize_operators(ig_sgraph *g) {
  bool ok = normalize_block(g->body);
  ig_sbuild_settle(g);
  return ok;
}

// ---- closures

// What a closure takes from around it, in the order of first use: a tuple beside the closure, which
// is the one input of its graph.
typedef struct captures {
  ig_snode *pack;
  ig_snode *unpack;
  IG_VEC(ig_svalue *) from;
} captures;

static ig_svalue *capture(void *user, ig_svalue *v) {
  captures *k = user;
  ig_svalue *inside = ig_snode_add_output(k->unpack, v->type);
  if (!inside || !ig_sbuild_copy_metadata(inside, v)) return NULL;
  if (!ig_snode_add_input(k->pack, v)) return NULL;
  if (!ig_vec_push(k->pack->owner->graph->c->alloc, &k->from, v)) {
    (void)no_memory(k->pack->owner->graph);
    return NULL;
  }
  v->copy = inside;
  return inside;
}

static const ig_stype *tuple_of(ig_stypes *types, const ig_snode *n) {
  const ig_stype **at = ig_arena_array(&types->arena, n->n_in + 1, sizeof *at);
  if (!at) return NULL;
  for (size_t i = 0; i < n->n_in; i++) at[i] = n->in[i]->type;
  return ig_stype_tuple(types, at, n->n_in);
}

static bool copy_body(ig_sgraph *to, ig_sblock *from, captures *k) {
  ig_soutside outside = {capture, k};
  bool ok = ig_sbuild_copy_block(to->body, from, &outside);
  for (size_t i = 0; i < k->from.n; i++) k->from.at[i]->copy = NULL;
  ig_vec_free(to->c->alloc, &k->from);
  return ok;
}

static bool lift_closure(ig_sunit *u, ig_snode *n) {
  ig_sgraph *g = n->owner->graph;
  const char *construct = ig_sform_kind(IG_SFORM_TUPLE_CONSTRUCT);
  const ig_stype *none = ig_stype_plain(g->types, IG_STYPE_NONE);
  ig_svalue *pack = none ? ig_sbuild_value(n->owner, n->next, construct, NULL, 0, none) : NULL;
  ig_sgraph *graph = pack ? ig_snode_add_graph(n, "Subgraph") : NULL;
  ig_svalue *context = graph ? ig_sblock_add_input(graph->body, none) : NULL;
  if (!context || !ig_svalue_set_name(graph, context, "context")) return false;
  captures k = {.pack = pack->node};
  k.unpack = ig_sbuild_node(graph->body, NULL, ig_sform_kind(IG_SFORM_TUPLE_UNPACK), &context, 1);
  if (!k.unpack || !copy_body(graph, n->blocks[0], &k)) return false;
  n->n_blocks = 0;
  ig_svalue *parts[] = {n->out[0], pack};
  ig_svalue *both = ig_sbuild_value(n->owner, k.pack->next, construct, parts, 2, none);
  if (!both) return false;
  pack->type = context->type = tuple_of(g->types, k.pack);
  both->type = pack->type ? tuple_of(g->types, both->node) : NULL;
  // Whoever uses the closure stands behind it in its block.
  for (ig_snode *user = both->node->next; user; user = user->next) {
    for (size_t i = 0; i < user->n_in; i++) {
      if (user->in[i] == n->out[0]) user->in[i] = both;
    }
  }
  return both->type && ig_sgraph_clean(u, graph);
}

// The inputs of the graph become the elements of its one input, the tuple.
static bool spread_context(ig_sgraph *g, const ig_snode *context) {
  ig_svalue *tuple = g->body->in[0];
  ig_snode *unpack = g->body->first;
  while (unpack && !(unpack->n_in == 1 && unpack->in[0] == tuple)) unpack = unpack->next;
  bool known = unpack && ig_sform_of(unpack) == IG_SFORM_TUPLE_UNPACK;
  for (size_t i = 0; i < context->n_in; i++) {
    ig_svalue *v = ig_sblock_insert_input(g->body, i, context->in[i]->type);
    if (!v || !ig_sbuild_copy_metadata(v, context->in[i])) return false;
    if (known && i < unpack->n_out) ig_sbuild_replace(unpack->out[i], v);
  }
  if (known) ig_snode_remove(unpack);
  ig_sblock_remove_input(g->body, g->body->n_in - 1);
  ig_sbuild_settle(g);
  return true;
}

// The closure's graph, with what it captured as operands.
static bool fork_closure(ig_sunit *u, ig_snode *n) {
  const ig_snode *both = n->in[0]->block ? NULL : n->in[0]->node;
  bool made = both && ig_sform_of(both) == IG_SFORM_TUPLE_CONSTRUCT && both->n_in == 2 &&
              !both->in[0]->block && !both->in[1]->block;
  const ig_snode *closure = made ? both->in[0]->node : NULL;
  const ig_snode *context = made ? both->in[1]->node : NULL;
  const ig_sattr *body = closure ? ig_snode_attr(closure, "Subgraph") : NULL;
  bool known = body && body->kind == IG_SATTR_GRAPH && body->graph->body->n_in == 1 &&
               ig_sform_of(closure) == IG_SFORM_CLOSURE &&
               ig_sform_of(context) == IG_SFORM_TUPLE_CONSTRUCT;
  if (!known) {
    (void)ig_fail(u->c, IG_INVALID, "%s: only a closure of the same block can be forked", n->kind);
    return false;
  }
  ig_snode *fork =
      ig_sbuild_node(n->owner, n->next, ig_sform_kind(IG_SFORM_FORK), context->in, context->n_in);
  ig_svalue *out = fork ? ig_snode_add_output(fork, n->out[0]->type) : NULL;
  if (!out || !ig_sbuild_copy_metadata(out, n->out[0])) return false;
  fork->range = n->range;
  fork->place = n->place;
  ig_sgraph *graph = ig_snode_add_graph(fork, "Subgraph");
  if (!graph || !ig_sbuild_copy_block(graph->body, body->graph->body, NULL)) return false;
  if (!spread_context(graph, context)) return false;
  ig_sbuild_replace(n->out[0], out);
  ig_snode_remove(n);
  return ig_sgraph_clean(u, graph);
}

static bool lift_in(ig_sunit *u, ig_sblock *b, ig_sform form) {
  for (ig_snode *n = b->first, *next; n; n = next) {
    next = n->next;
    bool found = ig_sform_of(n) == form;
    if (found && form == IG_SFORM_CLOSURE && n->n_blocks && !lift_closure(u, n)) return false;
    if (found && form == IG_SFORM_FORK_CLOSURE && !fork_closure(u, n)) return false;
    for (size_t i = 0; !found && i < n->n_blocks; i++) {
      if (!lift_in(u, n->blocks[i], form)) return false;
    }
  }
  return true;
}

bool ig_sgraph_lift_closures(ig_sunit *u, ig_sgraph *g) {
  bool ok = lift_in(u, g->body, IG_SFORM_CLOSURE) && lift_in(u, g->body, IG_SFORM_FORK_CLOSURE);
  ig_sbuild_settle(g);
  return ok;
}

// ---- tuples

static const ig_snode *construction(ig_svalue *v) {
  v = ig_sbuild_now(v);
  const ig_snode *made = v->block ? NULL : v->node;
  return made && ig_sform_of(made) == IG_SFORM_TUPLE_CONSTRUCT ? made : NULL;
}

static bool forward_slice(ig_snode *n, const ig_snode *made) {
  const ig_sattr *from = ig_snode_attr(n, "beg");
  const ig_sattr *to = ig_snode_attr(n, "end");
  bool known = from && to && from->value.kind == IG_KIND_INT && to->value.kind == IG_KIND_INT;
  int64_t first = known ? from->value.i.value : -1;
  int64_t end = known ? to->value.i.value : -1;
  if (first < 0 || end < first || (uint64_t)end > made->n_in) return true;
  ig_svalue *part = ig_sbuild_value(n->owner, n, ig_sform_kind(IG_SFORM_TUPLE_CONSTRUCT),
                                    made->in + first, (size_t)(end - first), n->out[0]->type);
  if (part) ig_sbuild_replace(n->out[0], part);
  return part != NULL;
}

static bool forward_tuple(ig_snode *n) {
  ig_sform form = ig_sform_of(n);
  if (form != IG_SFORM_TUPLE_UNPACK && form != IG_SFORM_TUPLE_INDEX &&
      form != IG_SFORM_TUPLE_SLICE) {
    return true;
  }
  const ig_snode *made = construction(n->in[0]);
  if (!made) return true;
  if (form == IG_SFORM_TUPLE_SLICE) return forward_slice(n, made);
  if (form == IG_SFORM_TUPLE_INDEX) {
    int64_t i = 0;
    if (!ig_sbuild_as_int(ig_sbuild_now(n->in[1]), &i)) return true;
    if (i < 0) i += (int64_t)made->n_in;
    if (i >= 0 && (uint64_t)i < made->n_in) ig_sbuild_replace(n->out[0], made->in[i]);
    return true;
  }
  for (size_t i = 0; made->n_in == n->n_out && i < n->n_out; i++) {
    ig_sbuild_replace(n->out[i], made->in[i]);
  }
  return true;
}

static bool forward_in(ig_sblock *b) {
  for (ig_snode *n = b->first; n; n = n->next) {
    if (!forward_tuple(n)) return false;
    for (size_t i = 0; i < n->n_blocks; i++) {
      if (!forward_in(n->blocks[i])) return false;
    }
  }
  return true;
}

bool ig_sgraph_forward_tuples(ig_sgraph *g) {
  bool ok = forward_in(g->body);
  ig_sbuild_settle(g);
  return ok;
}

// ---- order of outputs

// Positions of first uses, in `uses`: uses are numbered in the order of the text. 0: none.
typedef struct order {
  ig_svalue *value;
  size_t first;
  size_t at;
} order;

static int compare_order(const void *x, const void *y) {
  const order *a = x;
  const order *b = y;
  if (!a->first != !b->first) return a->first ? -1 : 1;
  if (a->first != b->first) return a->first < b->first ? -1 : 1;
  return a->at < b->at ? -1 : a->at > b->at;
}

static void permute(ig_svalue **at, const order *by, size_t n, ig_svalue **scratch) {
  for (size_t i = 0; i < n; i++) scratch[i] = at[by[i].at];
  for (size_t i = 0; i < n; i++) at[i] = scratch[i];
}

static bool order_results(ig_snode *n, bool loop) {
  ig_sgraph *g = n->owner->graph;
  if (n->n_out < 2) return true;
  order *by = ig_arena_array(&g->arena, n->n_out, sizeof *by);
  ig_svalue **scratch = ig_arena_array(&g->arena, n->n_out, sizeof *scratch);
  if (!by || !scratch) return no_memory(g);
  bool sorted = true;
  for (size_t i = 0; i < n->n_out; i++) {
    by[i] = (order){n->out[i], n->out[i]->uses, i};
    sorted = sorted && (!i || compare_order(&by[i - 1], &by[i]) < 0);
  }
  if (sorted) return true;
  qsort(by, n->n_out, sizeof *by, compare_order);
  permute(n->out, by, n->n_out, scratch);
  for (size_t i = 0; i < n->n_blocks; i++) permute(n->blocks[i]->out + loop, by, n->n_out, scratch);
  if (!loop) return true;
  permute(n->in + 2, by, n->n_out, scratch);
  permute(n->blocks[0]->in + 1, by, n->n_out, scratch);
  return true;
}

static void see(ig_svalue *const *at, size_t n, size_t end) {
  for (size_t i = n; i-- > 0;) at[i]->uses = end + i + 1;
}

// Walks backwards. `here` counts down from a number larger than that of all uses, so that the value
// of `uses` is that of the first use among those behind the node.
static bool order_block(ig_sblock *b, size_t *here) {
  *here -= b->n_out;
  see(b->out, b->n_out, *here);
  for (ig_snode *n = b->last; n; n = n->prev) {
    ig_sform form = ig_sform_of(n);
    bool loop = form == IG_SFORM_LOOP;
    if ((loop || form == IG_SFORM_IF) && !order_results(n, loop)) return false;
    for (size_t i = n->n_blocks; i-- > 0;) {
      if (!order_block(n->blocks[i], here)) return false;
    }
    *here -= n->n_in;
    see(n->in, n->n_in, *here);
  }
  return true;
}

static size_t count_operands(const ig_sblock *b) {
  size_t count = b->n_out;
  for (const ig_snode *n = b->first; n; n = n->next) {
    count += n->n_in;
    for (size_t i = 0; i < n->n_blocks; i++) count += count_operands(n->blocks[i]);
  }
  return count;
}

static void clear_uses(ig_sblock *b) {
  for (size_t i = 0; i < b->n_in; i++) b->in[i]->uses = 0;
  for (ig_snode *n = b->first; n; n = n->next) {
    for (size_t i = 0; i < n->n_out; i++) n->out[i]->uses = 0;
    for (size_t i = 0; i < n->n_blocks; i++) clear_uses(n->blocks[i]);
  }
}

bool ig_sgraph_order_outputs(ig_sgraph *g) {
  size_t here = count_operands(g->body);
  clear_uses(g->body);
  return order_block(g->body, &here);
}

// ---- warnings

static bool number_warnings(ig_sunit *u, ig_sblock *b) {
  for (ig_snode *n = b->first; n; n = n->next) {
    for (size_t i = 0; i < n->n_blocks; i++) {
      if (!number_warnings(u, n->blocks[i])) return false;
    }
    if (ig_sform_of(n) != IG_SFORM_WARN) continue;
    ig_snode_remove_attr(n, "warn_id");
    ig_sattr *a = ig_snode_add_attr(n, "warn_id", IG_SATTR_VALUE);
    if (!a) return false;
    a->value = ig_of_i64((int64_t)u->next_warning++);
  }
  return true;
}

bool ig_sgraph_number_warnings(ig_sunit *u, ig_sgraph *g) {
  return number_warnings(u, g->body);
}

// ---- all of them

bool ig_sgraph_clean(ig_sunit *u, ig_sgraph *g) {
  return ig_sbuild_check(g, true) && ig_sgraph_canonicalize_loops(g) &&
         ig_sgraph_normalize_operators(g) && ig_sgraph_lift_closures(u, g) &&
         ig_sgraph_forward_tuples(g) && ig_sgraph_remove_dead(u, g) &&
         ig_sgraph_fold_constants(u, g) && ig_sgraph_pool_constants(g) &&
         ig_sgraph_order_outputs(g) && ig_sgraph_number_warnings(u, g);
}
