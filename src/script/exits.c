// SPDX-License-Identifier: Apache-2.0
// Early exits: return, break and continue inside of blocks.
//
// A block that may exit early gives two more results: whether it did, and the values it exits with;
// the other side gives prim::Uninitialized for those. What follows in the surrounding block stands
// under a prim::If on the former, and loops end by their condition. An If that only decides what
// the next If does is then merged with it, so that `if c: return a` followed by `return b` is one
// If.
#include "script/exits.h"

typedef enum status { WILL, MIGHT, WONT, THROWS } status;

// Whether a block exited, and the values it exited with.
typedef struct leaving {
  ig_svalue *exited;
  ig_svalue **at;
  size_t n;
} leaving;

typedef struct unit {
  const ig_stype *type;
  ig_svalue *value;
} unit;

typedef struct remover {
  ig_sgraph *g;
  ig_sform form;      // which exits are removed: IG_SFORM_RETURN or IG_SFORM_LOOP_CONTINUATION
  ig_sblock *target;  // where they go to
  ig_svalue *yes;
  ig_svalue *no;
  ig_svalue *throws;
  IG_VEC(unit) units;
  size_t depth;
  size_t max_depth;
  bool dead;  // there are values of removed nodes
} remover;

// In `uses`: the value is an output of the block; its node was removed.
enum { LISTED = 1, DEAD = 2 };

static bool no_memory(const ig_sgraph *g) {
  (void)ig_fail(g->c, IG_NOMEM, "out of memory");
  return false;
}

static bool remove_from(remover *r, ig_sblock *b, leaving *out);

// The value of a type that is never used. NULL after an error.
static ig_svalue *unit_of(remover *r, const ig_stype *type) {
  for (size_t i = 0; i < r->units.n; i++) {
    if (r->units.at[i].type == type) return r->units.at[i].value;
  }
  ig_sblock *b = r->g->body;
  unit u = {type,
            ig_sbuild_value(b, b->first, ig_sform_kind(IG_SFORM_UNINITIALIZED), NULL, 0, type)};
  if (!u.value) return NULL;
  if (!ig_vec_push(r->g->c->alloc, &r->units, u)) {
    (void)no_memory(r->g);
    return NULL;
  }
  return u.value;
}

static status status_of(const remover *r, const leaving *l) {
  if (l->exited == r->yes) return WILL;
  if (l->exited == r->no) return WONT;
  return l->exited == r->throws ? THROWS : MIGHT;
}

static leaving wont(const remover *r) {
  return (leaving){.exited = r->no};
}

static bool make_list(remover *r, leaving *l, size_t n) {
  l->at = n ? ig_arena_array(&r->g->arena, n, sizeof(ig_svalue *)) : NULL;
  l->n = n;
  return !n || l->at || no_memory(r->g);
}

static bool match_units(remover *r, leaving *l, ig_svalue *const *at, size_t n) {
  if (!make_list(r, l, n)) return false;
  for (size_t i = 0; i < n; i++) {
    l->at[i] = unit_of(r, ig_sbuild_now(at[i])->type);
    if (!l->at[i]) return false;
  }
  return true;
}

// ---- If and Loop

static bool add_if_outputs(ig_snode *n, ig_svalue *const *yes, ig_svalue *const *no, size_t count) {
  ig_stypes *types = n->owner->graph->types;
  for (size_t i = 0; i < count; i++) {
    if (!ig_sblock_add_output(n->blocks[0], yes[i])) return false;
    if (!ig_sblock_add_output(n->blocks[1], no[i])) return false;
    const ig_stype *a = ig_sbuild_now(yes[i])->type;
    const ig_stype *b = ig_sbuild_now(no[i])->type;
    if (!ig_snode_add_output(n, ig_stype_unify(types, a, b, true))) return false;
  }
  return true;
}

// If one branch throws, the other decides.
static status join(status yes, status no) {
  if (yes == THROWS) return no;
  if (no == THROWS) return yes;
  return yes == no && yes != MIGHT ? yes : MIGHT;
}

static bool remove_from_if(remover *r, ig_snode *n, leaving *out) {
  leaving yes;
  leaving no;
  if (!remove_from(r, n->blocks[0], &yes) || !remove_from(r, n->blocks[1], &no)) return false;
  status yes_status = status_of(r, &yes);
  status no_status = status_of(r, &no);
  status both = join(yes_status, no_status);
  *out = both == THROWS ? (leaving){.exited = r->throws} : wont(r);
  if (both == THROWS || both == WONT) return true;

  if (yes_status == WONT || yes_status == THROWS) {
    if (!match_units(r, &yes, no.at, no.n)) return false;
  } else if (no_status == WONT || no_status == THROWS) {
    if (!match_units(r, &no, yes.at, yes.n)) return false;
  }
  if (both == MIGHT && !add_if_outputs(n, &yes.exited, &no.exited, 1)) return false;
  ig_svalue *exited = both == MIGHT ? n->out[n->n_out - 1] : r->yes;
  size_t first = n->n_out;
  if (!add_if_outputs(n, yes.at, no.at, yes.n) || !make_list(r, out, yes.n)) return false;
  out->exited = exited;
  for (size_t i = 0; i < yes.n; i++) out->at[i] = n->out[first + i];
  return true;
}

static ig_snode *add_if(ig_sblock *b, ig_snode *before, ig_svalue *condition) {
  ig_snode *n = ig_sbuild_node(b, before, ig_sform_kind(IG_SFORM_IF), &condition, 1);
  return n && ig_snode_add_block(n) && ig_snode_add_block(n) ? n : NULL;
}

// One more value that the loop carries. result_first: the result is numbered before the
// input of the body. NULL after an error.
static ig_svalue *carry(ig_snode *loop, ig_svalue *before, ig_svalue *after, bool result_first) {
  const ig_stype *type = ig_sbuild_now(after)->type;
  ig_sblock *body = loop->blocks[0];
  ig_svalue *out = result_first ? ig_snode_add_output(loop, type) : NULL;
  if (result_first && !out) return NULL;
  if (!ig_snode_add_input(loop, before) || !ig_sblock_add_input(body, type)) return NULL;
  if (!ig_sblock_add_output(body, after)) return NULL;
  return out ? out : ig_snode_add_output(loop, type);
}

static bool remove_from_loop(remover *r, ig_snode *n, leaving *out) {
  ig_sblock *body = n->blocks[0];
  leaving in;
  if (!remove_from(r, body, &in)) return false;
  *out = wont(r);
  // A body that throws may not have been entered.
  if (status_of(r, &in) == WONT || status_of(r, &in) == THROWS) return true;

  // The loop ends when something left it.
  ig_snode *choose = add_if(body, NULL, in.exited);
  bool ok = choose && ig_sblock_add_output(choose->blocks[0], r->no) &&
            ig_sblock_add_output(choose->blocks[1], body->out[0]);
  ig_svalue *next = ok ? ig_snode_add_output(choose, r->no->type) : NULL;
  if (!next) return false;
  body->out[0] = next;

  out->exited = carry(n, r->no, in.exited, false);
  if (!out->exited || !make_list(r, out, in.n)) return false;
  for (size_t i = 0; i < in.n; i++) {
    ig_svalue *none = unit_of(r, ig_sbuild_now(in.at[i])->type);
    out->at[i] = none ? carry(n, none, in.at[i], true) : NULL;
    if (!out->at[i]) return false;
  }
  return true;
}

// ---- what follows an exit

static void mark_outputs(ig_sblock *b, size_t from, size_t to) {
  for (size_t i = 0; i < b->n_out; i++) {
    ig_svalue *v = ig_sbuild_now(b->out[i]);
    if (v->uses == from) v->uses = to;
  }
}

// Nothing behind an exit runs. Outputs of the block that were made there are never used.
static bool remove_behind(remover *r, ig_sblock *b, const ig_snode *last) {
  if (b->last == last) return true;
  mark_outputs(b, 0, LISTED);
  while (b->last != last) {
    ig_snode *n = b->last;
    for (size_t i = 0; i < n->n_out; i++) {
      ig_svalue *v = n->out[i];
      ig_svalue *none = v->uses == LISTED ? unit_of(r, v->type) : v;
      if (!none) return false;
      if (none != v) ig_sbuild_replace(v, none);
      if (none == v) v->uses = DEAD;
    }
    r->dead = true;
    ig_snode_remove(n);
  }
  mark_outputs(b, LISTED, 0);
  return true;
}

// The nodes from `first` on run only if nothing exited before.
static bool guard(remover *r, ig_sblock *b, ig_snode *first, const leaving *before, leaving *out) {
  ig_snode *n = add_if(b, first, before->exited);
  if (!n) return false;
  while (n->next) ig_snode_insert(n->next, n->blocks[1], NULL);
  leaving none;
  if (!match_units(r, &none, b->out, b->n_out)) return false;
  for (size_t i = 0; i < b->n_out; i++) {
    ig_svalue *v = b->out[i];
    if (!ig_sblock_add_output(n->blocks[0], none.at[i])) return false;
    if (!ig_sblock_add_output(n->blocks[1], v)) return false;
    b->out[i] = ig_snode_add_output(n, ig_sbuild_now(v)->type);
    if (!b->out[i]) return false;
  }
  ig_snode *again =
      ig_sbuild_node(n->blocks[0], NULL, ig_sform_kind(r->form), before->at, before->n);
  return again && remove_from_if(r, n, out);
}

static bool is_target(const remover *r, const ig_sblock *b) {
  if (r->form == IG_SFORM_LOOP_CONTINUATION) {
    return b->node && ig_sform_of(b->node) == IG_SFORM_LOOP;
  }
  return !b->node || ig_sform_of(b->node) == IG_SFORM_CLOSURE;
}

// The block's outputs are what it exited with, if it did.
static bool arrive(remover *r, ig_sblock *b, const leaving *in) {
  if (status_of(r, in) == MIGHT) {
    ig_snode *choose = add_if(b, NULL, in->exited);
    leaving none;
    if (!choose || !match_units(r, &none, in->at, in->n)) return false;
    ig_svalue **otherwise = b->n_out == in->n ? b->out : none.at;
    if (!add_if_outputs(choose, in->at, otherwise, in->n)) return false;
    b->n_out = 0;
    for (size_t i = 0; i < choose->n_out; i++) {
      if (!ig_sblock_add_output(b, choose->out[i])) return false;
    }
  }
  if (status_of(r, in) == WILL) {
    b->n_out = 0;
    for (size_t i = 0; i < in->n; i++) {
      if (!ig_sblock_add_output(b, in->at[i])) return false;
    }
  }
  return true;
}

static bool remove_at(remover *r, ig_snode *n, leaving *out) {
  ig_sform form = ig_sform_of(n);
  switch (form) {
    case IG_SFORM_RAISE:
      *out = (leaving){.exited = r->throws};
      return true;
    case IG_SFORM_RETURN:
    case IG_SFORM_LOOP_CONTINUATION:
      if (form != r->form) return true;
      *out = (leaving){r->yes, n->in, n->n_in};
      ig_snode_remove(n);
      return true;
    case IG_SFORM_IF:
      return remove_from_if(r, n, out);
    case IG_SFORM_LOOP:
      return remove_from_loop(r, n, out);
    case IG_SFORM_WITH:
      return remove_from(r, n->blocks[0], out);
    case IG_SFORM_CLOSURE: {
      leaving own;  // of the closure itself
      return n->n_blocks == 0 || remove_from(r, n->blocks[0], &own);
    }
    default:
      return true;
  }
}

static bool remove_from_nodes(remover *r, ig_sblock *b, leaving *out) {
  *out = wont(r);
  for (ig_snode *n = b->first, *next; n; n = next) {
    next = n->next;
    ig_snode *before = n->prev;
    if (!remove_at(r, n, out)) return false;
    status s = status_of(r, out);
    if (s == WONT) continue;
    if (s == MIGHT) return !next || guard(r, b, next, out, out);
    bool gone = before ? before->next != n : b->first != n;
    return remove_behind(r, b, gone ? before : n);
  }
  return true;
}

static bool remove_from(remover *r, ig_sblock *b, leaving *out) {
  if (++r->depth > r->max_depth) {
    (void)ig_fail(r->g->c, IG_LIMIT, "early exits nest blocks more than %zu deep", r->max_depth);
    return false;
  }
  ig_sblock *outer = r->target;
  if (is_target(r, b)) r->target = b;
  bool ok = remove_from_nodes(r, b, out);
  if (ok && r->target == b) {
    ok = arrive(r, b, out);
    *out = wont(r);
  }
  r->target = outer;
  r->depth--;
  return ok;
}

// Values of removed nodes that something still names, which never runs.
static bool bury(remover *r, ig_svalue **at, size_t n) {
  for (size_t i = 0; i < n; i++) {
    at[i] = ig_sbuild_now(at[i]);
    if (at[i]->uses == DEAD) at[i] = unit_of(r, at[i]->type);
    if (!at[i]) return false;
  }
  return true;
}

static bool bury_in(remover *r, ig_sblock *b) {
  for (ig_snode *n = b->first; n; n = n->next) {
    if (!bury(r, n->in, n->n_in)) return false;
    for (size_t i = 0; i < n->n_blocks; i++) {
      if (!bury_in(r, n->blocks[i])) return false;
    }
  }
  return bury(r, b->out, b->n_out);
}

static void clear_marks(ig_sblock *b) {
  for (size_t i = 0; i < b->n_in; i++) b->in[i]->uses = 0;
  for (ig_snode *n = b->first; n; n = n->next) {
    for (size_t i = 0; i < n->n_out; i++) n->out[i]->uses = 0;
    for (size_t i = 0; i < n->n_blocks; i++) clear_marks(n->blocks[i]);
  }
}

static bool remove_exits(ig_sgraph *g, ig_sform form) {
  ig_snode *first = g->body->first;
  remover r = {.g = g, .form = form, .max_depth = 4 * (size_t)ig_ctx_limits(g->c).max_depth};
  clear_marks(g->body);
  r.yes = ig_sbuild_bool(g->body, first, true);
  r.no = ig_sbuild_bool(g->body, first, false);
  r.throws = r.no ? unit_of(&r, r.no->type) : NULL;
  leaving out;
  bool ok = r.yes && r.throws && remove_from(&r, g->body, &out);
  if (ok && r.dead) ok = bury_in(&r, g->body);
  ig_sbuild_settle(g);
  ig_vec_free(g->c->alloc, &r.units);
  return ok;
}

// ---- with

// Does something in the block leave it by a return, break or continue?
static bool leaves(const ig_sblock *b, bool in_loop) {
  for (const ig_snode *n = b->first; n; n = n->next) {
    ig_sform form = ig_sform_of(n);
    if (form == IG_SFORM_RETURN || (form == IG_SFORM_LOOP_CONTINUATION && !in_loop)) return true;
    for (size_t i = 0; form != IG_SFORM_CLOSURE && i < n->n_blocks; i++) {
      if (leaves(n->blocks[i], in_loop || form == IG_SFORM_LOOP)) return true;
    }
  }
  return false;
}

static bool export_values(ig_snode *with, ig_svalue **at, size_t n) {
  const ig_sblock *body = with->blocks[0];
  for (size_t i = 0; i < n; i++) {
    ig_svalue *v = at[i];
    if (v->block || v->node->owner != body) continue;
    if (!v->copy) {
      v->copy = ig_snode_add_output(with, v->type);
      if (!v->copy || !ig_sblock_add_output(with->blocks[0], v)) return false;
    }
    at[i] = v->copy;
  }
  return true;
}

// What is made in the body and used outside of it is a result of the node, because the body may be
// left before.
static bool export_from(ig_snode *with, ig_sblock *b) {
  for (ig_snode *n = b->first; n; n = n->next) {
    if (n == with) continue;
    if (!export_values(with, n->in, n->n_in)) return false;
    for (size_t i = 0; i < n->n_blocks; i++) {
      if (!export_from(with, n->blocks[i])) return false;
    }
  }
  return export_values(with, b->out, b->n_out);
}

// Enter, nodes, Exit becomes Enter and one node with the rest in blocks, so that exits pass it.
static bool gather_with(ig_snode *enter, ig_snode *exit) {
  ig_snode *n = ig_sbuild_node(enter->owner, enter->next, ig_sform_kind(IG_SFORM_WITH), NULL, 0);
  if (!n || !ig_snode_add_block(n) || !ig_snode_add_block(n)) return false;
  ig_sblock *body = n->blocks[0];
  while (n->next != exit) ig_snode_insert(n->next, body, NULL);
  ig_snode_insert(exit, n->blocks[1], NULL);
  if (!leaves(body, false)) return true;
  bool ok = export_from(n, n->owner->graph->body);
  ig_sbuild_forget(body);
  return ok;
}

static bool gather_withs(ig_sblock *b) {
  ig_alloc alloc = b->graph->c->alloc;
  IG_VEC(ig_snode *) open = {NULL, 0, 0};
  bool ok = true;
  for (ig_snode *n = b->first, *next; n && ok; n = next) {
    next = n->next;
    ig_sform form = ig_sform_of(n);
    for (size_t i = 0; ok && i < n->n_blocks; i++) ok = gather_withs(n->blocks[i]);
    if (ok && form == IG_SFORM_ENTER && !ig_vec_push(alloc, &open, n)) ok = no_memory(b->graph);
    if (!ok || form != IG_SFORM_EXIT || !n->n_in || !open.n) continue;
    if (open.at[open.n - 1]->in[0] == n->in[0]) ok = gather_with(open.at[--open.n], n);
  }
  ig_vec_free(alloc, &open);
  return ok;
}

static bool spread_withs(ig_sblock *b) {
  for (ig_snode *n = b->first, *next; n; n = next) {
    next = n->next;
    if (ig_sform_of(n) == IG_SFORM_WITH) {
      ig_sblock *body = n->blocks[0];
      ig_sblock *exit = n->blocks[1];
      next = body->first ? body->first : exit->first ? exit->first : n->next;
      ig_sbuild_move_all(body, b, n);
      ig_sbuild_move_all(exit, b, n);
      for (size_t i = 0; i < n->n_out; i++) ig_sbuild_replace(n->out[i], body->out[i]);
      ig_snode_remove(n);
      continue;
    }
    for (size_t i = 0; i < n->n_blocks; i++) {
      if (!spread_withs(n->blocks[i])) return false;
    }
  }
  return true;
}

// ---- two Ifs in a row

typedef struct merge {
  const ig_snode *first;
  const ig_sblock *branch;  // of the first, which the second is copied into
} merge;

// A result of the first If is an output of its branch.
static ig_svalue *merged_value(void *user, ig_svalue *v) {
  const merge *m = user;
  if (v->block || v->node != m->first) return v;
  for (size_t i = 0; i < m->first->n_out; i++) {
    if (m->first->out[i] == v) return ig_sbuild_now(m->branch->out[i]);
  }
  return v;
}

static bool merge_ifs(ig_snode *first, bool *merged) {
  *merged = false;
  ig_snode *second = first->next;
  if (!second || ig_sform_of(first) != IG_SFORM_IF || ig_sform_of(second) != IG_SFORM_IF)
    return true;
  const ig_svalue *condition = ig_sbuild_now(second->in[0]);
  size_t at = 0;
  while (at < first->n_out && first->out[at] != condition) at++;
  if (at == first->n_out) return true;
  bool known[2];
  if (!ig_sbuild_as_bool(ig_sbuild_now(first->blocks[0]->out[at]), &known[0])) return true;
  if (!ig_sbuild_as_bool(ig_sbuild_now(first->blocks[1]->out[at]), &known[1])) return true;
  if (known[0] == known[1]) return true;  // constant folding does that without copies

  for (size_t i = 0; i < 2; i++) {
    merge m = {first, first->blocks[i]};
    ig_soutside outside = {merged_value, &m};
    if (!ig_sbuild_copy_block(first->blocks[i], second->blocks[known[i] ? 0 : 1], &outside)) {
      return false;
    }
  }
  for (size_t i = 0; i < second->n_out; i++) {
    ig_svalue *v = ig_snode_add_output(first, second->out[i]->type);
    if (!v || !ig_sbuild_copy_metadata(v, second->out[i])) return false;
    ig_sbuild_replace(second->out[i], v);
  }
  *merged = true;
  ig_snode_remove(second);
  return true;
}

static bool merge_all(ig_sblock *b) {
  bool merged = false;
  for (ig_snode *n = b->first; n; n = merged ? n : n->next) {
    for (size_t i = 0; i < n->n_blocks; i++) {
      if (!merge_all(n->blocks[i])) return false;
    }
    if (!merge_ifs(n, &merged)) return false;
  }
  return true;
}

bool ig_sgraph_remove_exits(ig_sgraph *g) {
  bool ok = gather_withs(g->body) && remove_exits(g, IG_SFORM_LOOP_CONTINUATION) &&
            remove_exits(g, IG_SFORM_RETURN) && merge_all(g->body);
  ok = ok && spread_withs(g->body);
  ig_sbuild_settle(g);
  return ok;
}
