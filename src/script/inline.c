// SPDX-License-Identifier: Apache-2.0
// Inlining: calls of functions and methods are replaced by the bodies of what they call. The bodies
// are inlined themselves and simplified, once per function.
#include "script/compile.h"
#include "script/ir_pass.h"
#include "script/passes.h"

enum { MAX_CALLS = 200 };  // nested

static bool inline_in(ig_ctx *c, ig_sunit *u, ig_sblock *b, size_t depth);

// The function's graph, inlined and simplified. NULL after an error.
static ig_sgraph *body_of(ig_ctx *c, ig_sunit *u, ig_sfunction *f, size_t depth) {
  if (f->optimized) return f->optimized;
  if (depth > MAX_CALLS) {
    ig_fail_text(c, IG_LIMIT, "calls nested more than %d deep", MAX_CALLS);
    return NULL;
  }
  if (!ig_sfunction_ensure(c, f)) return NULL;
  ig_sgraph *g = f->graph ? ig_sgraph_copy(f->graph) : NULL;
  bool ok = g && ig_sbuild_check(g, true) && inline_in(c, u, g->body, depth + 1);
  if (g) ig_sbuild_settle(g);
  ok = ok && ig_sgraph_simplify(u, g) && ig_sgraph_fold_constants(u, g) &&
       ig_sgraph_pool_constants(g);
  if (ok) return f->optimized = g;
  ig_sgraph_free(g);
  return NULL;
}

static ig_svalue *not_outside(void *user, ig_svalue *v) {
  ig_sgraph *g = user;
  (void)ig_fail(g->c, IG_INVALID, "%%%s: a value of another graph is used",
                v->name ? v->name : "?");
  return NULL;
}

static bool inline_call(ig_ctx *c, ig_snode *call, ig_sfunction *f, ig_sgraph *graph) {
  size_t first = ig_sform_of(call) == IG_SFORM_CALL_FUNCTION;  // the function itself
  ig_sblock *body = graph->body;
  if (call->n_in != body->n_in + first || call->n_out != body->n_out) {
    ig_fail_text(c, IG_RUNTIME,
                 "%s: a call has %zu arguments and %zu results, expected %zu and %zu", f->qualified,
                 call->n_in - first, call->n_out, body->n_in, body->n_out);
    return false;
  }
  ig_sgraph *g = call->owner->graph;
  for (size_t i = 0; i < body->n_in; i++) body->in[i]->copy = ig_sbuild_now(call->in[i + first]);
  ig_soutside outside = {not_outside, g};
  bool ok = ig_sbuild_copy_nodes(call->owner, call, body, &outside);
  for (size_t i = 0; ok && i < call->n_out; i++) {
    ig_svalue *v = body->out[i]->copy;
    if (!v) return not_outside(g, body->out[i]) != NULL;
    if (call->out[i]->name) ok = ig_svalue_set_name(g, v, call->out[i]->name);
    ig_sbuild_replace(call->out[i], v);
  }
  ig_sbuild_forget(body);
  ig_snode_remove(call);
  return ok;
}

static bool inline_in(ig_ctx *c, ig_sunit *u, ig_sblock *b, size_t depth) {
  for (ig_snode *n = b->first, *next; n; n = next) {
    next = n->next;
    ig_sfunction *f = ig_snode_callee(n);
    if (f && !f->host_run) {
      ig_sgraph *body = body_of(c, u, f, depth);
      if (!body || !inline_call(c, n, f, body)) return false;
      continue;
    }
    for (size_t i = 0; i < n->n_blocks; i++) {
      if (!inline_in(c, u, n->blocks[i], depth)) return false;
    }
  }
  return true;
}

bool ig_sgraph_inline(ig_ctx *c, ig_sunit *u, ig_sgraph *g) {
  bool ok = ig_sbuild_check(g, true) && inline_in(c, u, g->body, 0);
  ig_sbuild_settle(g);
  return ok;
}
