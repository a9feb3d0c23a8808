// SPDX-License-Identifier: Apache-2.0
#include "op/grad_mode.h"

#include <stdio.h>
#include <string.h>

#include "op/record.h"

const char ig_grad_mode_target[] = "torch._C._set_grad_enabled";
static const char base[] = "_set_grad_enabled";

void ig_record_grad_mode(ig_ctx *c, bool enabled, void *host_fn) {
  if (!c->mode->capture || c->status != IG_OK) return;
  ig_value arg = ig_of_bool(enabled);
  ig_node proto = {.kind = IG_NODE_CALL,
                   .callee = IG_CALLEE_HOST,
                   .target = ig_grad_mode_target,
                   .host_fn = host_fn,
                   .effect = true,
                   .args = &arg,
                   .npos = 1,
                   .val = ig_none()};
  (void)ig_record_node(c, &proto, base);
}

bool ig_node_is_grad_mode(const ig_node *n, bool *enabled) {
  bool yes = n->kind == IG_NODE_CALL && n->callee == IG_CALLEE_HOST && n->npos == 1 &&
             n->args[0].kind == IG_KIND_BOOL && strcmp(n->target, ig_grad_mode_target) == 0;
  if (yes && enabled) *enabled = n->args[0].b;
  return yes;
}

// Gives the node that number.
static bool renumber(ig_ctx *c, ig_graph *g, ig_node *n, size_t number) {
  char text[128];
  (void)snprintf(text, sizeof text, number ? "%s_%zu" : "%s", base, number);
  if (!ig_graph_set_name(c, g, n, text)) return false;
  if (!n->meta.text[IG_META_TORCH_FN]) return true;
  (void)snprintf(text, sizeof text, "%s_%zu;builtin_function_or_method.%s", base, number + 1, base);
  n->meta.text[IG_META_TORCH_FN] = ig_graph_keep_text(c, g, text);
  return n->meta.text[IG_META_TORCH_FN] != NULL;
}

void ig_graph_merge_grad_modes(ig_ctx *c, ig_graph *g, bool enabled) {
  size_t kept = 0;
  for (ig_node *n = g->has_host ? g->first : NULL, *next = NULL; n; n = next) {
    next = n->next;
    bool to = enabled;
    if (!ig_node_is_grad_mode(n, &to)) continue;
    bool replaced = next && ig_node_is_grad_mode(next, NULL);
    if (replaced || to == enabled) {
      ig_graph_erase(g, n);
    } else {
      enabled = to;
      if (!renumber(c, g, n, kept++)) return;
    }
  }
}

bool ig_graph_no_grad(const ig_graph *g) {
  bool enabled = !g->no_grad;
  for (const ig_node *n = g->has_host ? g->last : NULL; n; n = n->prev) {
    if (ig_node_is_grad_mode(n, &enabled)) break;
  }
  return !enabled;
}
