// SPDX-License-Identifier: Apache-2.0
// Regions of a graph with a different grad mode become sub-graphs that are called through
// wrap_with_set_grad_enabled, autocast regions become sub-graphs that are called through
// wrap_with_autocast. Every change of the mode begins a region; all regions are numbered, including
// those that need no sub-graph, and the numbers name the sub-graphs. Changes inside an autocast
// region are handled in its sub-graph.
#include <stdio.h>
#include <string.h>

#include "op/autocast.h"
#include "op/grad_mode.h"
#include "op/hop.h"
#include "pass/pass.h"

// A region of nodes with the other mode.
typedef struct region {
  ig_graph *g;
  ig_table map;                  // old node -> node in g
  IG_VEC(ig_node *) operands;    // outer nodes that it uses, in order
  IG_VEC(const ig_node *) outs;  // its nodes that others use, in the order of use
  const ig_node *first;
  const ig_node *entered;  // the node that enters autocast
} region;

typedef struct wrapper {
  ig_ctx *c;
  bool casts;  // regions of autocast, not of the grad mode
  const ig_graph *from;
  ig_graph *to;
  ig_node **map;  // by old index: node of `to`
  size_t *where;  // by old index: 1 + number of the region; 0: none
  bool *given;    // by old index: is among the outs of its region
  region *at;
  size_t n;
  size_t wrapped;  // sub-graphs so far
  region *open;    // the copier copies into this one
} wrapper;

static bool is_switch(const ig_node *n, bool casts) {
  return casts ? ig_node_autocast(n) != IG_SWITCH_NONE : ig_node_is_grad_mode(n, NULL);
}

static bool has_switches(const ig_graph *g, bool casts) {
  if (!g) return false;
  for (const ig_node *n = g->has_host ? g->first : NULL; n; n = n->next) {
    if (is_switch(n, casts)) return true;
  }
  for (size_t i = 0; i < g->subs.n; i++) {
    if (has_switches(g->subs.at[i].graph, casts)) return true;
  }
  return false;
}

static size_t count_switches(const ig_graph *g, bool casts) {
  size_t n = 0;
  for (const ig_node *m = g->first; m; m = m->next) n += is_switch(m, casts);
  return n;
}

// Does n begin the next region? `state`: for the grad mode whether it is on, for autocast how many
// regions are open.
static bool begins_stretch(const wrapper *w, const ig_node *n, size_t *state) {
  bool enabled = *state != 0;
  ig_autocast_switch way = w->casts ? ig_node_autocast(n) : IG_SWITCH_NONE;
  if (!w->casts) {
    bool begins = ig_node_is_grad_mode(n, &enabled);
    *state = enabled;
    return begins;
  }
  if (way == IG_SWITCH_ENTER) return (*state)++ == 0;
  return way == IG_SWITCH_EXIT && *state > 0 && --*state == 0;
}

// The region of each node, and which of a region's values others use.
static bool survey(wrapper *w) {
  size_t usual = w->casts ? 0 : !w->from->no_grad;
  size_t state = usual;
  size_t current = 0;
  for (const ig_node *n = w->from->first; n; n = n->next) {
    if (begins_stretch(w, n, &state)) {
      current++;
      if (w->casts) w->at[current].entered = state ? n : NULL;
      continue;
    }
    bool other = n->kind != IG_NODE_OUTPUT && state != usual;
    if (other && !w->at[current].first) w->at[current].first = n;
    w->where[n->index] = other ? current + 1 : 0;
    for (size_t i = 0; i < n->ninputs; i++) {
      const ig_node *in = n->inputs[i];
      size_t home = w->where[in->index];
      if (!home || home == w->where[n->index] || w->given[in->index]) continue;
      w->given[in->index] = true;
      if (!ig_vec_push(w->c->alloc, &w->at[home - 1].outs, in)) return ig_no_memory(w->c);
    }
  }
  return true;
}

static ig_node *outside(void *user, const ig_node *n) {
  const wrapper *w = user;
  return w->map[n->index];
}

// The node of the open region for an old one; operands are in the order of use.
static ig_node *inside(void *user, const ig_node *n) {
  wrapper *w = user;
  region *r = w->open;
  ig_table_slot *slot = ig_table_put(&r->map, n);
  if (slot && slot->value) return slot->value;
  ig_node *before = r->g->first;
  while (before && ig_node_is_placeholder(before)) before = before->next;
  ig_node proto = {.kind = IG_NODE_PLACEHOLDER, .role = IG_INPUT_USER, .val = n->val};
  char number[32];
  (void)snprintf(number, sizeof number, "arg%zu_1", r->operands.n);
  ig_node *p =
      slot ? ig_graph_insert(w->c, r->g, before, &proto, w->casts ? number : n->name) : NULL;
  if (!p || !ig_vec_push(w->c->alloc, &r->operands, (ig_node *)n)) {
    (void)ig_no_memory(w->c);
    return NULL;
  }
  slot->value = p;
  return p;
}

static ig_status wrap_regions(ig_ctx *c, const ig_graph *g, bool casts, ig_graph **out);

// A sub-graph may contain regions.
static bool wrap_sub(const wrapper *w, ig_node *copy) {
  ig_ctx *c = w->c;
  bool any = copy && copy->kind == IG_NODE_ATTR && copy->sub && has_switches(copy->sub, w->casts);
  if (!any) return copy != NULL;
  ig_graph *sub = NULL;
  if (wrap_regions(c, copy->sub, w->casts, &sub) != IG_OK) return false;
  ig_node_set_attr(copy, NULL, sub, NULL);
  bool ok = ig_graph_set_sub(c, copy->graph, copy->target, sub);
  ig_graph_free(sub);
  return ok;
}

static bool copy_inside(wrapper *w, region *r, const ig_node *n) {
  w->open = r;
  ig_node_copier k = {w->c, r->g, inside, w, false};
  ig_node *copy = ig_copy_node(&k, n, NULL, n->name, NULL, NULL);
  ig_table_slot *slot = copy ? ig_table_put(&r->map, n) : NULL;
  if (!slot) return ig_no_memory(w->c);
  slot->value = copy;
  return wrap_sub(w, copy);
}

static bool end_region(const wrapper *w, region *r) {
  ig_scope s = ig_scope_open(w->c);
  ig_value *args = ig_scope_array(w->c, r->outs.n, sizeof *args);
  for (size_t i = 0; args && i < r->outs.n; i++) {
    args[i] = ig_of_node(ig_table_find(&r->map, r->outs.at[i])->value);
  }
  ig_node proto = {.kind = IG_NODE_OUTPUT,
                   .target = "output",
                   .bare = r->outs.n == 1 && !w->casts,
                   .args = args,
                   .npos = r->outs.n};
  bool ok = args && ig_graph_push(w->c, r->g, &proto, "output");
  ig_scope_close(w->c, s);
  return ok;
}

// The metadata of `from`, a node of the old graph.
static void take_meta(const wrapper *w, ig_node *proto, const ig_node *from) {
  (void)ig_graph_keep_meta(w->c, w->to, &from->meta, &proto->meta);
}

static bool is_taken(const ig_graph *g, const char *name) {
  bool taken = false;
  for (size_t i = 0; i < g->subs.n && !taken; i++) taken = strcmp(g->subs.at[i].name, name) == 0;
  return taken;
}

static ig_node *push_attr(wrapper *w, const region *r, size_t number) {
  char name[48];
  do (void)snprintf(name, sizeof name, "submod_%zu", number++);
  while (is_taken(w->from, name) || is_taken(w->to, name));  // regions of the other kind have some
  ig_node proto = {.kind = IG_NODE_ATTR, .sub = r->g};
  proto.target = ig_graph_set_sub(w->c, w->to, name, r->g);
  take_meta(w, &proto, r->outs.n == 1 ? r->outs.at[0] : r->first);  // as the call that reads it
  (void)snprintf(name, sizeof name, "submod_%zu", w->n + w->wrapped++);
  return proto.target ? ig_graph_push(w->c, w->to, &proto, name) : NULL;
}

static bool push_items(const wrapper *w, const region *r, ig_node *call) {
  for (size_t i = 0; i < r->outs.n; i++) {
    const ig_node *out = r->outs.at[i];
    ig_value args[] = {ig_of_node(call), ig_of_i64((int64_t)i)};
    ig_node proto = {.kind = IG_NODE_CALL,
                     .callee = IG_CALLEE_GETITEM,
                     .target = "_operator.getitem",
                     .args = args,
                     .npos = 2,
                     .val = out->val};
    take_meta(w, &proto, out);
    const char *name = w->casts ? "getitem" : out->name;
    w->map[out->index] = ig_graph_push(w->c, w->to, &proto, name);
    if (!w->map[out->index]) return false;
  }
  return true;
}

// The operator's arguments before the sub-graph.
static size_t settings(const wrapper *w, const region *r, ig_value *args) {
  if (!w->casts) {
    args[0] = ig_of_bool(w->from->no_grad);
    return 1;
  }
  for (size_t i = 0; i < 4; i++) args[i] = r->entered->args[i];
  return 4;
}

// The call has the name and the metadata of its only result; several results are getitem nodes with
// theirs. An autocast region always returns a tuple.
static bool push_call(wrapper *w, const region *r, size_t number) {
  ig_ctx *c = w->c;
  const ig_hop *hop = w->casts ? &ig_hop_autocast : &ig_hop_set_grad;
  ig_node *attr = push_attr(w, r, number);
  ig_value *args = ig_scope_array(c, r->operands.n + 5, sizeof *args);
  ig_value *vals = ig_scope_array(c, r->outs.n, sizeof *vals);
  if (!attr || !args || !vals) return false;
  size_t n = settings(w, r, args);
  args[n++] = ig_of_node(attr);
  for (size_t i = 0; i < r->operands.n; i++) {
    args[n++] = ig_of_node(w->map[r->operands.at[i]->index]);
  }
  for (size_t i = 0; i < r->outs.n; i++) vals[i] = r->outs.at[i]->val;
  bool one = r->outs.n == 1;
  bool bare = one && !w->casts;
  ig_node proto = {.kind = IG_NODE_CALL,
                   .callee = IG_CALLEE_HOP,
                   .hop = hop,
                   .target = hop->path,
                   .effect = r->outs.n == 0,
                   .args = args,
                   .npos = n,
                   .val = bare ? vals[0] : ig_of_list(vals, r->outs.n)};
  take_meta(w, &proto, one ? r->outs.at[0] : r->first);
  if (!bare && proto.meta.text[IG_META_TORCH_FN]) {
    proto.meta.text[IG_META_TORCH_FN] =
        w->casts ? "wrap_with_autocast;WrapWithAutocast.wrap_with_autocast"
                 : "wrap_with_set_grad_enabled;WrapWithSetGradEnabled.wrap_with_set_grad_enabled";
    proto.meta.text[IG_META_SOURCE_FN] = NULL;
  }
  ig_node *call = ig_graph_push(c, w->to, &proto, one ? r->outs.at[0]->name : hop->base);
  if (call && bare) w->map[r->outs.at[0]->index] = call;
  return call && (bare || push_items(w, r, call));
}

// Regions inside the region.
static bool wrap_inner(const wrapper *w, region *r) {
  if (!w->casts || !has_switches(r->g, true)) return true;
  ig_graph *inner = NULL;
  if (wrap_regions(w->c, r->g, true, &inner) != IG_OK) return false;
  ig_graph_free(r->g);
  r->g = inner;
  return true;
}

static bool copy_region(wrapper *w, size_t number) {
  region *r = &w->at[number];
  r->map = ig_table_make(w->c->alloc);
  r->g = ig_graph_create(w->c, w->from->sym);
  if (!r->g) return false;
  r->g->host = w->from->host;
  r->g->release = w->from->release;
  r->g->no_grad = w->from->no_grad == w->casts;
  const ig_node *n = r->first;
  for (; n && w->where[n->index] == number + 1; n = n->next) {
    if (!copy_inside(w, r, n)) return false;
  }
  ig_scope s = ig_scope_open(w->c);
  bool ok = end_region(w, r) && ig_graph_verify(w->c, r->g) == IG_OK && wrap_inner(w, r) &&
            push_call(w, r, number);
  ig_scope_close(w->c, s);
  return ok;
}

static bool copy_state(const wrapper *w) {
  for (size_t i = 0; i < w->from->state.n; i++) {
    ig_state s = w->from->state.at[i];
    s.name = ig_graph_keep_text(w->c, w->to, s.name);
    if (!s.name || !ig_vec_push(w->to->alloc, &w->to->state, s)) return ig_no_memory(w->c);
    (void)ig_tensor_retain(s.tensor);
  }
  return true;
}

static bool copy_all(wrapper *w) {
  ig_node_copier k = {w->c, w->to, outside, w, false};
  size_t done = 0;
  if (!copy_state(w)) return false;
  for (const ig_node *n = w->from->first; n; n = n->next) {
    size_t home = w->where[n->index];
    if (!home && is_switch(n, w->casts)) continue;
    if (home > done) {
      done = home;
      if (!copy_region(w, home - 1)) return false;
    }
    if (home) continue;
    ig_node *copy = ig_copy_node(&k, n, NULL, n->name, NULL, NULL);
    w->map[n->index] = copy;
    if (!wrap_sub(w, copy)) return false;
  }
  return true;
}

static void free_regions(wrapper *w) {
  for (size_t i = 0; w->at && i < w->n; i++) {
    region *r = &w->at[i];
    ig_graph_free(r->g);
    if (r->map.cap) ig_table_free(&r->map);
    ig_vec_free(w->c->alloc, &r->operands);
    ig_vec_free(w->c->alloc, &r->outs);
  }
}

static ig_status wrap_regions(ig_ctx *c, const ig_graph *g, bool casts, ig_graph **out) {
  *out = NULL;
  if (c->status != IG_OK) return c->status;
  ig_scope s = ig_scope_open(c);
  wrapper w = {.c = c, .casts = casts, .from = g, .n = count_switches(g, casts) + 1};
  w.to = ig_graph_create(c, g->sym);
  size_t n = g->next_index;
  size_t bytes =
      n * (sizeof *w.map + sizeof *w.where + sizeof *w.given) + ig_mem_mul(w.n, sizeof *w.at) + 1;
  w.at = ig_mem_new(c->alloc, bytes);
  if (!w.at) (void)ig_no_memory(c);
  bool ok = w.to && w.at;
  if (ok) {
    w.to->host = g->host;
    w.to->release = g->release;
    w.to->lifted = g->lifted;
    w.to->no_grad = g->no_grad;
    w.to->unnamed = g->unnamed;
    w.map = (ig_node **)(w.at + w.n);
    w.where = (size_t *)(w.map + n);
    w.given = (bool *)(w.where + n);
    ok = survey(&w) && copy_all(&w);
  }
  free_regions(&w);
  ig_mem_free(c->alloc, w.at, bytes);
  ig_scope_close(c, s);
  if (ok && ig_graph_verify(c, w.to) == IG_OK) {
    *out = w.to;
  } else {
    ig_graph_free(w.to);
  }
  return c->status;
}

ig_status ig_graph_wrap_grad_regions(ig_ctx *c, const ig_graph *g, ig_graph **out) {
  return wrap_regions(c, g, false, out);
}

ig_status ig_program_wrap_grad_regions(ig_ctx *c, ig_program *p, ig_program **out) {
  *out = NULL;
  if (c->status != IG_OK) return c->status;
  ig_graph *g = ig_graph_retain(p->graph);
  for (int casts = 1; casts >= 0 && c->status == IG_OK; casts--) {
    if (!has_switches(g, casts)) continue;
    ig_graph *wrapped = NULL;
    if (wrap_regions(c, g, casts, &wrapped) != IG_OK) break;
    ig_graph_free(g);
    g = wrapped;
  }
  if (c->status != IG_OK || g == p->graph) {
    ig_graph_free(g);
    *out = c->status == IG_OK ? ig_program_retain(p) : NULL;
    return c->status;
  }
  *out = ig_pass_program(c, p, g, NULL, NULL);
  if (*out) (*out)->training = p->training;
  return c->status;
}
