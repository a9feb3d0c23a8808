// SPDX-License-Identifier: Apache-2.0
// Small local simplifications, which make constants of conditions and ends of casts.
#include "script/compile.h"
#include "script/passes.h"

static bool is_none(const ig_svalue *v) {
  if (v->type->kind == IG_STYPE_NONE) return true;
  return v->type->kind == IG_STYPE_OPTIONAL && ig_sbuild_is_constant(v) && v->node->n_attrs == 0;
}

static bool is_something(const ig_svalue *v) {
  return !ig_stype_has_none(v->type) && v->type->kind != IG_STYPE_ANY;
}

// A comparison of None with what cannot be None is known.
static bool compare_none(ig_snode *n, bool equal, bool *changed) {
  for (size_t i = 0; i < 2; i++) {
    const ig_svalue *a = ig_sbuild_now(n->in[i]);
    const ig_svalue *b = ig_sbuild_now(n->in[1 - i]);
    if (!is_none(a) || !is_something(b)) continue;
    ig_svalue *known = ig_sbuild_bool(n->owner, n, !equal);
    if (!known) return false;
    ig_sbuild_replace(n->out[0], known);
    *changed = true;
    return true;
  }
  return true;
}

// `True if c else False` is c.
static void choose_condition(ig_snode *n, bool *changed) {
  for (size_t i = 0; i < n->n_out; i++) {
    bool yes = false;
    bool no = true;
    if (n->out[i]->type->kind != IG_STYPE_BOOL || n->out[i]->instead) continue;
    (void)ig_sbuild_as_bool(ig_sbuild_now(n->blocks[0]->out[i]), &yes);
    (void)ig_sbuild_as_bool(ig_sbuild_now(n->blocks[1]->out[i]), &no);
    if (!yes || no) continue;
    ig_sbuild_replace(n->out[i], n->in[0]);
    *changed = true;
  }
}

// A number that was made a tensor only to be a number again.
static void drop_round_trip(ig_snode *n, bool *changed) {
  if (n->n_in != 1 || n->n_out != 1) return;
  const ig_svalue *v = ig_sbuild_now(n->in[0]);
  bool made = !v->block && v->node && ig_sform_of(v->node) == IG_SFORM_NUMBER_TO_TENSOR;
  if (!made || v->node->n_in != 1) return;
  ig_svalue *number = ig_sbuild_now(v->node->in[0]);
  if (number->type != n->out[0]->type) return;
  ig_sbuild_replace(n->out[0], number);
  *changed = true;
}

static void drop_cast(ig_snode *n, bool *changed) {
  ig_svalue *v = ig_sbuild_now(n->in[0]);
  if (!ig_stype_is_subtype(v->type, n->out[0]->type)) return;
  ig_sbuild_replace(n->out[0], v);
  *changed = true;
}

static bool simplify_block(ig_sblock *b, bool *changed) {
  for (ig_snode *n = b->first; n; n = n->next) {
    for (size_t i = 0; i < n->n_blocks; i++) {
      if (!simplify_block(n->blocks[i], changed)) return false;
    }
    bool ok = true;
    switch (ig_sform_of(n)) {
      case IG_SFORM_IF:
        choose_condition(n, changed);
        break;
      case IG_SFORM_IS:
        ok = compare_none(n, true, changed);
        break;
      case IG_SFORM_IS_NOT:
        ok = compare_none(n, false, changed);
        break;
      case IG_SFORM_UNCHECKED_CAST:
        drop_cast(n, changed);
        break;
      case IG_SFORM_TO_NUMBER:
        drop_round_trip(n, changed);
        break;
      default:
        break;
    }
    if (!ok) return false;
  }
  return true;
}

bool ig_sgraph_simplify(ig_sunit *u, ig_sgraph *g) {
  bool changed = false;
  if (!ig_sbuild_check(g, true)) return false;
  bool ok = simplify_block(g->body, &changed);
  ig_sbuild_settle(g);
  return ok && (!changed || ig_sgraph_remove_dead(u, g));
}
