// SPDX-License-Identifier: Apache-2.0
// Loops. Those over tuples and containers of modules are unrolled, because their elements differ
// in type.
#include "script/emitter.h"

typedef bool body_fn(ig_emitter *e, void *user);

static bool assign_element(ig_emitter *e, const ig_tree *target, ig_srange where,
                           const ig_sugar *value) {
  ig_sugar v = *value;
  return ig_emit_assign(e, target, where, &v, NULL);
}

static bool unrolled(ig_emitter *e, const ig_tree *target, const ig_sugar *values, size_t n,
                     ig_srange where, body_fn *body, void *user) {
  ig_sloop kept = e->loop;
  e->loop = IG_SLOOP_UNROLLED;
  bool ok = true;
  for (size_t i = 0; ok && i < n; i++) {
    ig_sugar item;
    ok = ig_emit_static_item(e, where, values, i, &item) &&
         assign_element(e, target, target->range, &item) && body(e, user);
    if (ig_emit_block_exits(e, e->frame->block)) break;
  }
  e->loop = kept;
  return ok;
}

// The body of a loop with its counter; what it assigns stays in its own frame.
static bool loop_body(ig_emitter *e, ig_snode *node, const ig_tree *target, const ig_sugar *values,
                      ig_srange where, body_fn *body, void *user) {
  ig_sblock *block = node->blocks[0];
  ig_svalue *counter = ig_sblock_add_input(block, ig_emit_plain(e, IG_STYPE_INT));
  ig_sframe frame;
  if (!counter || !ig_frame_push(e, block, &frame)) return false;
  ig_sloop kept = e->loop;
  e->loop = IG_SLOOP_LOOP;
  bool ok = true;
  if (values) {
    ig_sugar item;
    ok = ig_emit_item(e, where, values, counter, &item) && assign_element(e, target, where, &item);
  }
  ok = ok && body(e, user);
  e->loop = kept;
  ig_frame_pop(e, &frame);
  ig_frame_free(&frame);
  return ok;
}

// A loop with its two blocks, the body empty; the condition is a constant or compiled into its
// block.
static ig_snode *open_loop(ig_emitter *e, ig_srange where, ig_svalue *count, const ig_tree *cond) {
  ig_svalue *forever = cond ? NULL : ig_emit_bool(e, where, true);
  if (!count || (!cond && !forever)) return NULL;
  ig_snode *node = ig_emit_node(e, "prim::Loop", where, &count, 1);
  ig_sblock *body = node ? ig_snode_add_block(node) : NULL;
  ig_sblock *test = body ? ig_snode_add_block(node) : NULL;
  ig_sframe frame;
  if (!ig_frame_push(e, test, &frame)) return NULL;
  ig_svalue *v = forever;
  if (cond) v = ig_emit_to_bool(e, cond->range, ig_emit_expr(e, cond, NULL));
  bool ok = v && ig_sblock_add_output(test, v);
  ig_frame_pop(e, &frame);
  ig_frame_free(&frame);
  return ok ? node : NULL;
}

bool ig_emit_loop_over(ig_emitter *e, const ig_tree *target, const ig_sugar *values,
                       ig_srange where, body_fn *body, void *user) {
  size_t n = 0;
  if (!ig_emit_static_length(e, where, values, &n)) return false;
  if (n != SIZE_MAX) return unrolled(e, target, values, n, where, body, user);
  ig_svalue *count = ig_emit_length(e, where, values);
  ig_snode *node = open_loop(e, where, count, NULL);
  return node && loop_body(e, node, target, values, where, body, user);
}

bool ig_emit_for(ig_emitter *e, const ig_tree *target, const ig_tree *over, ig_srange where,
                 body_fn *body, void *user) {
  ig_sugar s;
  ig_sugar values;
  return ig_emit_sugar(e, over, 1, NULL, &s) && ig_emit_iterable(e, where, &s, &values) &&
         ig_emit_loop_over(e, target, &values, where, body, user);
}

static bool while_body(ig_emitter *e, void *user) {
  return ig_emit_block(e, user);
}

bool ig_emit_while(ig_emitter *e, const ig_tree *t) {
  ig_svalue *forever = ig_emit_number(e, t->range, ig_of_i64(INT64_MAX));
  ig_snode *node = forever ? open_loop(e, t->range, forever, t->at[0]) : NULL;
  return node && loop_body(e, node, NULL, NULL, t->range, while_body, t->at[1]);
}
