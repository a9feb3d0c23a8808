// SPDX-License-Identifier: Apache-2.0
#include "onnx_read/steps.h"

#include <string.h>

#include "onnx_read/session.h"

struct ig_rd_steps {
  ig_rd r;
  ig_rd_frame frame;
  bool *kept;  // per slot; NULL: not settled
};

// ---- lifetime

static bool open_frame(ig_rd_steps *s, const ig_weight *inputs, size_t n) {
  const ig_onnx_model *m = s->r.m;
  ig_rd_value **in = ig_rd_take_inputs(&s->r, inputs, n);
  s->frame =
      (ig_rd_frame){.g = m->graph, .opsets = m->opsets, .nopsets = m->nopsets, .keeps = true};
  return in && ig_rd_open_frame(&s->r, &s->frame, in, m->graph->ninputs);
}

ig_rd_steps *ig_rd_steps_open(ig_ctx *c, const ig_onnx_model *m, const ig_weight *inputs,
                              size_t n) {
  if (c->status != IG_OK) return NULL;
  ig_rd_steps *s = ig_mem_new(c->alloc, sizeof *s);
  if (!s) {
    (void)ig_fail(c, IG_NOMEM, "out of memory");
    return NULL;
  }
  ig_scope scope = ig_scope_open(c);
  bool ok = ig_rd_init(&s->r, c, m) == IG_OK && open_frame(s, inputs, n);
  ig_scope_close(c, scope);
  if (ok) return s;
  ig_rd_steps_close(s);
  return NULL;
}

void ig_rd_steps_close(ig_rd_steps *s) {
  if (!s) return;
  ig_alloc alloc = s->r.c->alloc;
  size_t n = s->r.m->graph->nslots;
  ig_rd_close_frame(&s->r, &s->frame, NULL);
  ig_rd_done(&s->r);
  ig_mem_array_free(alloc, s->kept, n + 1, sizeof *s->kept);
  ig_mem_free(alloc, s, sizeof *s);
}

size_t ig_rd_steps_count(const ig_rd_steps *s) {
  return s->frame.g->nnodes;
}

const ig_om_node *ig_rd_steps_node(const ig_rd_steps *s, size_t node) {
  return &s->frame.g->nodes[node];
}

// ---- what a node reads

typedef void slot_fn(void *user, uint32_t slot);

static void each_ref(const ig_om_ref *refs, size_t n, int depth, slot_fn *fn, void *user) {
  for (size_t i = 0; i < n; i++) {
    if (refs[i].up == depth) fn(user, refs[i].slot);
  }
}

// The slots of the main graph that a node reads which stands `depth` graphs inside of it.
static void each_slot(const ig_om_node *n, int depth, slot_fn *fn, void *user) {
  each_ref(n->in, n->ninputs, depth, fn, user);
  for (size_t a = 0; a < n->nattrs; a++) {
    for (size_t k = 0; n->attrs[a].graphs && k < n->attrs[a].n; k++) {
      const ig_om_graph *g = n->attrs[a].graphs[k];
      for (size_t i = 0; i < g->nnodes; i++) each_slot(&g->nodes[i], depth + 1, fn, user);
      each_ref(g->output_refs, g->noutputs, depth + 1, fn, user);
    }
  }
}

typedef struct asker {
  const ig_rd_frame *frame;
  bool known;
} asker;

static void ask(void *user, uint32_t slot) {
  asker *a = user;
  a->known = a->known && a->frame->slots[slot];
}

bool ig_rd_steps_ready(const ig_rd_steps *s, size_t node) {
  asker a = {&s->frame, true};
  each_slot(ig_rd_steps_node(s, node), 0, ask, &a);
  return a.known;
}

typedef struct visitor {
  const ig_rd_frame *frame;
  ig_rd_visit *fn;
  void *user;
} visitor;

static void visit_value(const visitor *v, const ig_rd_value *x) {
  if (!x) return;
  if (x->t) v->fn(v->user, x->t);
  for (size_t i = 0; i < x->nitems; i++) visit_value(v, x->items[i]);
}

static void visit(void *user, uint32_t slot) {
  const visitor *v = user;
  visit_value(v, v->frame->slots[slot]);
}

void ig_rd_steps_each_read(const ig_rd_steps *s, size_t node, ig_rd_visit *fn, void *user) {
  visitor v = {&s->frame, fn, user};
  each_slot(ig_rd_steps_node(s, node), 0, visit, &v);
}

void ig_rd_steps_each_made(const ig_rd_steps *s, size_t node, ig_rd_visit *fn, void *user) {
  const ig_om_node *n = ig_rd_steps_node(s, node);
  visitor v = {&s->frame, fn, user};
  for (size_t i = 0; i < n->noutputs; i++) {
    if (n->out[i] != IG_OM_NO_SLOT) visit(&v, n->out[i]);
  }
}

typedef struct int_visitor {
  const ig_rd_frame *frame;
  ig_rd_visit_int *fn;
  void *user;
} int_visitor;

static void visit_ints(const int_visitor *v, const ig_rd_value *x) {
  if (!x) return;
  for (size_t i = 0; x->ints && i < x->nints; i++) v->fn(v->user, &x->ints[i]);
  for (size_t i = 0; i < x->nitems; i++) visit_ints(v, x->items[i]);
}

static void visit_slot_ints(void *user, uint32_t slot) {
  const int_visitor *v = user;
  visit_ints(v, v->frame->slots[slot]);
}

void ig_rd_steps_each_int(const ig_rd_steps *s, size_t node, ig_rd_visit_int *fn, void *user) {
  int_visitor v = {&s->frame, fn, user};
  each_slot(ig_rd_steps_node(s, node), 0, visit_slot_ints, &v);
}

// ---- values

// A value that is known by its numbers gets a tensor when somebody needs one. One that was made for
// a node which could not be planned is computed by nobody, so it is made anew.
static bool dress(ig_rd_steps *s, ig_rd_value *v) {
  bool ok = true;
  if (v->ints && v->t && ig_tensor_is_fake(v->t)) {
    ig_tensor_release(v->t);
    v->t = NULL;
  }
  if (v->ints) ok = ig_rd_tensor(&s->r, v) != NULL;
  for (size_t i = 0; ok && i < v->nitems; i++) ok = dress(s, v->items[i]);
  return ok;
}

typedef struct dresser {
  ig_rd_steps *s;
  bool ok;
} dresser;

static void dress_slot(void *user, uint32_t slot) {
  dresser *d = user;
  ig_rd_value *v = d->s->frame.slots[slot];
  d->ok = d->ok && (!v || dress(d->s, v));
}

static void forget(ig_rd_steps *s, uint32_t slot) {
  if (slot == IG_OM_NO_SLOT || (s->kept && s->kept[slot])) return;
  ig_rd_release(s->frame.slots[slot]);
  s->frame.slots[slot] = NULL;
}

bool ig_rd_steps_run(ig_rd_steps *s, size_t node) {
  const ig_om_node *n = ig_rd_steps_node(s, node);
  s->r.noted = false;
  bool ok = ig_rd_node(&s->r, n);
  s->r.node = NULL;
  for (size_t i = 0; ok && s->kept && i < n->ndrops; i++) forget(s, n->drops[i]);
  return ok;
}

bool ig_rd_steps_leave(ig_rd_steps *s, size_t node) {
  const ig_om_node *n = ig_rd_steps_node(s, node);
  for (size_t i = 0; i < n->noutputs; i++) forget(s, n->out[i]);
  ig_scope scope = ig_scope_open(s->r.c);
  dresser d = {s, true};
  each_slot(n, 0, dress_slot, &d);
  ig_scope_close(s->r.c, scope);
  return d.ok;
}

bool ig_rd_steps_settle(ig_rd_steps *s) {
  size_t n = s->frame.g->nslots;
  s->kept = ig_mem_array(s->r.c->alloc, n + 1, sizeof *s->kept);
  if (!s->kept) return ig_fail(s->r.c, IG_NOMEM, "out of memory") == IG_OK;
  for (size_t i = 0; i < n; i++) s->kept[i] = s->frame.slots[i] != NULL;
  return true;
}

void ig_rd_steps_forget(ig_rd_steps *s) {
  for (size_t i = 0; i < s->frame.g->nslots; i++) forget(s, (uint32_t)i);
}

bool ig_rd_steps_output(ig_rd_steps *s, size_t i, ig_value *out) {
  const ig_om_graph *g = s->frame.g;
  ig_rd_value *v = s->frame.slots[g->output_refs[i].slot];
  if (!v) return false;
  *out = ig_rd_to_value(&s->r, g->outputs[i].name, v);
  return ig_rd_ok(&s->r);
}
