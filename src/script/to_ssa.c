// SPDX-License-Identifier: Apache-2.0
// From variables to values. In this order:
// - every prim::If and prim::Loop gets outputs (and inputs) for the variables that it changes, as
//   loads and stores around it;
// - break and continue become prim::LoopContinuation with the values that the loop carries;
// - the block that computes a loop's condition is copied in front of the loop and moved to the end
//   of its body;
// - loads become what was stored last, and comprehensions lose their scope;
// - exits are removed, see exits.c.
#include <stdlib.h>
#include <string.h>

#include "script/compile.h"
#include "script/exits.h"

// Variables of a block: their types, later their values.
typedef struct frame frame;
struct frame {
  frame *parent;
  ig_map at;
  IG_VEC(const char *) names;
};

static bool no_memory(const ig_sgraph *g) {
  (void)ig_fail(g->c, IG_NOMEM, "out of memory");
  return false;
}

static frame open_frame(ig_sgraph *g, frame *parent) {
  return (frame){.parent = parent, .at = ig_map_make(g->c->alloc)};
}

static void close_frame(ig_sgraph *g, frame *f) {
  ig_map_free(&f->at);
  ig_vec_free(g->c->alloc, &f->names);
}

static void *find_here(const frame *f, const char *name) {
  const ig_map_value *v = ig_map_find(&f->at, name);
  return v ? v->ptr : NULL;
}

static void *find(const frame *f, const char *name) {
  for (; f; f = f->parent) {
    void *found = find_here(f, name);
    if (found) return found;
  }
  return NULL;
}

static bool set(ig_sgraph *g, frame *f, const char *name, const void *to) {
  ig_map_value *v = ig_map_put(&f->at, name);
  if (!v) return no_memory(g);
  if (!v->ptr && !ig_vec_push(g->c->alloc, &f->names, name)) return no_memory(g);
  v->ptr = (void *)to;
  return true;
}

static const char *name_of(const ig_snode *n) {
  return ig_snode_attr(n, "name")->value.str;
}

// ---- loads and stores around control flow

static bool set_variable(ig_snode *n, const char *name) {
  ig_sattr *a = n ? ig_snode_add_attr(n, "name", IG_SATTR_VALUE) : NULL;
  if (!a) return false;
  a->value = ig_of_str(name);  // lives in the graph already
  return true;
}

static ig_svalue *load(ig_sblock *b, ig_snode *before, const char *name, const ig_stype *type) {
  ig_snode *n = ig_sbuild_node(b, before, ig_sform_kind(IG_SFORM_LOAD), NULL, 0);
  return set_variable(n, name) ? ig_snode_add_output(n, type) : NULL;
}

static bool store(ig_sblock *b, ig_snode *before, const char *name, ig_svalue *v) {
  if (!v) return false;
  return set_variable(ig_sbuild_node(b, before, ig_sform_kind(IG_SFORM_STORE), &v, 1), name);
}

static bool add_block_input(ig_sblock *b, const ig_stype *type, const char *name) {
  ig_svalue *v = ig_sblock_add_input(b, type);
  return v && ig_svalue_set_name(b->graph, v, name) && store(b, b->first, name, v);
}

static bool add_block_output(ig_sblock *b, const ig_stype *type, const char *name) {
  ig_svalue *v = load(b, NULL, name, type);
  return v && ig_sblock_add_output(b, v);
}

// `$x` and `_1` are names of the compiler, which values do not take.
static bool is_meaningful(const char *name) {
  if (!name[0] || name[0] == '$') return false;
  return name[0] != '_' || name[1 + strspn(name + 1, "0123456789")] != '\0';
}

static bool add_node_output(ig_snode *n, const ig_stype *type, const char *name) {
  ig_svalue *v = ig_snode_add_output(n, type);
  if (!v) return false;
  if (is_meaningful(name) && !ig_svalue_set_name(n->owner->graph, v, name)) return false;
  return store(n->owner, n->next, name, v);
}

static bool add_node_input(ig_snode *n, const ig_stype *type, const char *name) {
  return ig_snode_add_input(n, load(n->owner, n, name, type));
}

static bool add_variables(ig_sblock *b, frame *f);

static int compare_names(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void sort_names(frame *f) {
  if (f->names.n) qsort(f->names.at, f->names.n, sizeof f->names.at[0], compare_names);
}

// A variable is a result where one branch defines it and it is known at the end of the other.
static bool join(ig_snode *n, const frame *yes, const frame *no, const char *name) {
  ig_sgraph *g = n->owner->graph;
  const ig_stype *a = find(yes, name);
  const ig_stype *b = find(no, name);
  if (!a || !b) return true;
  const ig_stype *type = ig_stype_unify(g->types, a, b, true);
  return type && add_block_output(n->blocks[0], a, name) &&
         add_block_output(n->blocks[1], b, name) && add_node_output(n, type, name);
}

static bool join_all(ig_snode *n, const frame *yes, const frame *no) {
  size_t i = 0;
  size_t k = 0;
  while (i < yes->names.n || k < no->names.n) {  // both sorted
    const char *a = i < yes->names.n ? yes->names.at[i] : NULL;
    const char *b = k < no->names.n ? no->names.at[k] : NULL;
    int order = !a ? 1 : !b ? -1 : strcmp(a, b);
    i += order <= 0;
    k += order >= 0;
    if (!join(n, yes, no, order <= 0 ? a : b)) return false;
  }
  return true;
}

static bool add_if(ig_snode *n, frame *f) {
  ig_sgraph *g = n->owner->graph;
  frame yes = open_frame(g, f);
  frame no = open_frame(g, f);
  bool ok = add_variables(n->blocks[0], &yes) && add_variables(n->blocks[1], &no);
  sort_names(&yes);
  sort_names(&no);
  ok = ok && join_all(n, &yes, &no);
  close_frame(g, &yes);
  close_frame(g, &no);
  return ok;
}

// A variable is carried by a loop that defines it, unless only the body knows it.
static bool carry(ig_snode *n, const frame *outside, const frame *body, const char *name) {
  const ig_stype *before = find(outside, name);
  const ig_stype *after = find_here(body, name);
  if (!before) return true;
  const ig_stype *type = ig_stype_unify(n->owner->graph->types, before, after, true);
  return type && add_node_input(n, before, name) && add_block_input(n->blocks[0], type, name) &&
         add_block_output(n->blocks[0], after, name) && add_node_output(n, type, name);
}

static bool add_loop(ig_snode *n, frame *f) {
  ig_sgraph *g = n->owner->graph;
  frame body = open_frame(g, f);
  bool ok = add_variables(n->blocks[0], &body);
  sort_names(&body);
  for (size_t i = 0; ok && i < body.names.n; i++) ok = carry(n, f, &body, body.names.at[i]);
  close_frame(g, &body);
  return ok;
}

static bool add_inner(ig_snode *n, frame *f) {
  ig_sgraph *g = n->owner->graph;
  frame inner = open_frame(g, f);
  bool ok = true;
  for (size_t i = 0; ok && i < n->n_blocks; i++) ok = add_variables(n->blocks[i], &inner);
  close_frame(g, &inner);
  return ok;
}

// The stores that an inner node got stand behind it and are met here.
static bool add_variables(ig_sblock *b, frame *f) {
  bool ok = true;
  for (ig_snode *n = b->first; n && ok; n = n->next) {
    switch (ig_sform_of(n)) {
      case IG_SFORM_IF:
        ok = add_if(n, f);
        break;
      case IG_SFORM_LOOP:
        ok = add_loop(n, f);
        break;
      case IG_SFORM_CLOSURE:
      case IG_SFORM_COMPREHENSION:
        ok = add_inner(n, f);
        break;
      case IG_SFORM_STORE:
        ok = set(b->graph, f, name_of(n), n->in[0]->type);
        break;
      default:
        break;
    }
  }
  return ok;
}

// ---- break and continue

typedef struct loops {
  ig_svalue *no;   // the condition of a loop that is left
  ig_snode *loop;  // NULL: outside of loops
} loops;

static bool continue_loops(ig_sblock *b, loops *l);

static bool continue_closure(ig_sblock *b) {
  loops l = {.no = ig_sbuild_bool(b, b->first, false)};
  return l.no && continue_loops(b, &l);
}

// Loads of the carried variables, as at the end of the body.
static bool add_carried(ig_snode *n, const ig_snode *loop) {
  const ig_sblock *body = loop->blocks[0];
  for (size_t i = 0; i < body->n_out; i++) {
    const ig_snode *end = body->out[i]->node;
    if (!add_node_input(n, end->out[0]->type, name_of(end))) return false;
  }
  return true;
}

static bool continue_loop(ig_snode *n, const loops *l, bool leave) {
  if (!l->loop) {
    (void)ig_fail(n->owner->graph->c, IG_INVALID, "%s stands outside of a loop", n->kind);
    return false;
  }
  ig_snode *to =
      ig_sbuild_node(n->owner, n->next, ig_sform_kind(IG_SFORM_LOOP_CONTINUATION), NULL, 0);
  ig_svalue *next = l->no;
  if (to && !leave) {
    ig_sblock *condition = ig_snode_add_block(to);
    if (!condition || !ig_sbuild_copy_block(condition, l->loop->blocks[1], NULL)) return false;
    ig_sbuild_move_all(condition, n->owner, n);
    next = condition->out[0];
    to->n_blocks = 0;
  }
  ig_snode_remove(n);
  return to && ig_snode_add_input(to, next) && add_carried(to, l->loop);
}

static bool continue_loops(ig_sblock *b, loops *l) {
  bool ok = true;
  for (ig_snode *n = b->first, *next; n && ok; n = next) {
    next = n->next;
    ig_sform form = ig_sform_of(n);
    switch (form) {
      case IG_SFORM_CLOSURE:
        ok = n->n_blocks == 0 || continue_closure(n->blocks[0]);
        break;
      case IG_SFORM_LOOP: {
        loops inner = {l->no, n};
        ok = continue_loops(n->blocks[0], &inner);
        break;
      }
      case IG_SFORM_BREAK:
      case IG_SFORM_CONTINUE:
        ok = continue_loop(n, l, form == IG_SFORM_BREAK);
        break;
      default:
        for (size_t i = 0; ok && i < n->n_blocks; i++) ok = continue_loops(n->blocks[i], l);
    }
  }
  return ok;
}

// ---- conditions of loops

static bool inline_condition(ig_snode *n) {
  ig_sblock *condition = n->blocks[1];
  ig_sblock *copy = ig_snode_add_block(n);
  if (!copy || !ig_sbuild_copy_block(copy, condition, NULL)) return false;
  ig_sbuild_move_all(copy, n->owner, n);
  ig_sbuild_move_all(condition, n->blocks[0], NULL);
  n->n_blocks = 1;
  return ig_snode_insert_input(n, 1, copy->out[0]) &&
         ig_sbuild_insert_block_output(n->blocks[0], 0, condition->out[0]);
}

static bool inline_conditions(ig_sblock *b) {
  bool ok = true;
  for (ig_snode *n = b->first; n && ok; n = n->next) {
    for (size_t i = 0; ok && i < n->n_blocks; i++) ok = inline_conditions(n->blocks[i]);
    if (ok && ig_sform_of(n) == IG_SFORM_LOOP) ok = inline_condition(n);
  }
  return ok;
}

// ---- loads

static bool erase_variables(ig_sblock *b, frame *outside);

static bool erase_load(ig_snode *n, const frame *f) {
  ig_svalue *v = find(f, name_of(n));
  if (!v) {
    (void)ig_fail(n->owner->graph->c, IG_INVALID, "%s: nothing was stored as '%s' before", n->kind,
                  name_of(n));
    return false;
  }
  ig_sbuild_replace(n->out[0], v);
  ig_snode_remove(n);
  return true;
}

static bool erase_node(ig_snode *n, frame *f) {
  ig_sblock *b = n->owner;
  ig_sform form = ig_sform_of(n);
  if (form == IG_SFORM_STORE) {
    ig_snode_remove(n);
    return set(b->graph, f, name_of(n), ig_sbuild_now(n->in[0]));
  }
  if (form == IG_SFORM_LOAD) return erase_load(n, f);
  for (size_t i = 0; i < n->n_blocks; i++) {
    if (!erase_variables(n->blocks[i], f)) return false;
  }
  if (form != IG_SFORM_COMPREHENSION) return true;
  ig_sbuild_move_all(n->blocks[0], b, n);
  ig_snode_remove(n);
  return true;
}

static bool erase_variables(ig_sblock *b, frame *outside) {
  frame f = open_frame(b->graph, outside);
  bool ok = true;
  for (ig_snode *n = b->first, *next; n && ok; n = next) {
    next = n->next;
    ok = erase_node(n, &f);
  }
  close_frame(b->graph, &f);
  return ok;
}

// ---- entry point

bool ig_sgraph_to_ssa(ig_sgraph *g) {
  if (!ig_sbuild_check(g, false)) return false;
  frame f = open_frame(g, NULL);
  bool ok = add_variables(g->body, &f);
  close_frame(g, &f);
  ok = ok && continue_closure(g->body) && inline_conditions(g->body) &&
       erase_variables(g->body, NULL);
  ig_sbuild_settle(g);
  return ok && ig_sgraph_remove_exits(g);
}
