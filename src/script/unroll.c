// SPDX-License-Identifier: Apache-2.0
// Loops with a small known number of turns become that many copies of their body.
#include "script/passes.h"

enum { MAX_TURNS = 64, MAX_NODES = 32 };

static size_t count_nodes(const ig_sblock *b) {
  size_t count = 0;
  for (const ig_snode *n = b->first; n && count <= MAX_NODES; n = n->next) {
    count++;
    for (size_t i = 0; i < n->n_blocks; i++) count += count_nodes(n->blocks[i]);
  }
  return count;
}

bool ig_sloop_is_short(const ig_snode *n, int64_t turns) {
  bool first = false;
  bool next = false;
  const ig_sblock *body = n->blocks[0];
  return turns >= 0 && turns < MAX_TURNS && ig_sbuild_as_bool(n->in[1], &first) && first &&
         ig_sbuild_as_bool(body->out[0], &next) && next && count_nodes(body) <= MAX_NODES;
}

static bool is_short(const ig_snode *n, int64_t *turns) {
  return ig_sbuild_as_int(n->in[0], turns) && ig_sloop_is_short(n, *turns);
}

static bool unroll(ig_snode *n, int64_t turns) {
  ig_sblock *body = n->blocks[0];
  ig_sgraph *g = n->owner->graph;
  ig_svalue **carried = ig_arena_array(&g->arena, n->n_out + 1, sizeof *carried);
  if (!carried) return ig_fail(g->c, IG_NOMEM, "out of memory") == IG_OK;
  for (size_t i = 0; i < n->n_out; i++) carried[i] = n->in[i + 2];
  for (int64_t turn = 0; turn < turns; turn++) {
    body->in[0]->copy = ig_sbuild_int(n->owner, n, turn);
    if (!body->in[0]->copy) return false;
    for (size_t i = 0; i < n->n_out; i++) body->in[i + 1]->copy = carried[i];
    bool ok = ig_sbuild_copy_nodes(n->owner, n, body, NULL);
    for (size_t i = 0; ok && i < n->n_out; i++) {
      ig_svalue *v = ig_sbuild_now(body->out[i + 1]);
      carried[i] = v->copy ? v->copy : v;
    }
    ig_sbuild_forget(body);
    if (!ok) return false;
  }
  for (size_t i = 0; i < n->n_out; i++) ig_sbuild_replace(n->out[i], carried[i]);
  ig_snode_remove(n);
  return true;
}

static bool unroll_in(ig_sblock *b, bool *changed) {
  for (ig_snode *n = b->first, *next; n; n = next) {
    next = n->next;
    for (size_t i = 0; i < n->n_blocks; i++) {
      if (!unroll_in(n->blocks[i], changed)) return false;
    }
    int64_t turns = 0;
    if (ig_sform_of(n) != IG_SFORM_LOOP || !is_short(n, &turns)) continue;
    if (!unroll(n, turns)) return false;
    *changed = true;
  }
  return true;
}

bool ig_sgraph_unroll_loops(ig_sgraph *g, bool *changed) {
  *changed = false;
  bool ok = ig_sbuild_check(g, true) && unroll_in(g->body, changed);
  ig_sbuild_settle(g);
  return ok;
}
