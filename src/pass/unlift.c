// SPDX-License-Identifier: Apache-2.0
// The graph of a program as a module runs it: weights are attributes again, and what the program
// wrote to buffers and inputs is copied back at the end. It is copied node by node, without
// evaluation.
#include <stdio.h>
#include <string.h>

#include "ingot/aten.h"
#include "pass/pass.h"

typedef struct unlifter {
  ig_node_copier copier;
  const ig_program *p;
  ig_node **map;  // by index of the old node
  bool *written;  // by index: its new value is written back
} unlifter;

static ig_node *mapped(void *user, const ig_node *n) {
  const unlifter *u = user;
  return u->map[n->index];
}

// The other nodes keep their names.
static bool is_taken(const unlifter *u, const ig_node *n, const char *name) {
  const ig_node *other = ig_graph_find(u->p->graph, name);
  return other && other != n && (!ig_node_is_placeholder(other) || other->role == IG_INPUT_USER);
}

// A weight becomes an attribute under its path.
static void as_attribute(ig_node *proto, const void *with) {
  (void)with;
  proto->kind = IG_NODE_ATTR;
  proto->target = proto->path;
}

static bool copy_placeholder(unlifter *u, const ig_node *n) {
  bool user = n->role == IG_INPUT_USER;
  bool unused = !user && n->users == 0 && !u->written[n->index];
  if (unused && !ig_release_forms(u->p->graph->release)->reads_unused) return true;
  char text[256];
  char name[288];
  (void)snprintf(name, sizeof name, "%s", n->name);
  if (!user) {
    (void)ig_name_of_path("", n->path, text, sizeof text);
    (void)snprintf(name, sizeof name, "%s", text);
    for (int k = 1; is_taken(u, n, name); k++) (void)snprintf(name, sizeof name, "%s_%d", text, k);
  }
  ig_node *copy = ig_copy_node(&u->copier, n, NULL, name, user ? NULL : as_attribute, NULL);
  u->map[n->index] = copy;
  return copy != NULL;
}

static const ig_node *target_of(const unlifter *u, const ig_output_spec *o) {
  for (size_t i = 0; i < u->p->ninputs; i++) {
    const ig_input_spec *in = &u->p->inputs[i];
    bool user = o->kind == IG_OUTPUT_INPUT_MUTATION;
    if (user != (in->kind == IG_INPUT_USER)) continue;
    const char *name = user ? in->name : in->target;
    if (strcmp(name, o->target) == 0) return ig_graph_find(u->p->graph, in->name);
  }
  return NULL;
}

static bool is_write(const ig_output_spec *o) {
  return ig_output_is_write(o);
}

static bool mark_written(unlifter *u) {
  for (size_t i = 0; i < u->p->noutputs; i++) {
    const ig_output_spec *o = &u->p->outputs[i];
    if (!is_write(o)) continue;
    const ig_node *n = target_of(u, o);
    if (!n) {
      return ig_fail(u->copier.c, IG_ASSERTION, "no input is named '%s', which the program writes",
                     o->target) == IG_OK;
    }
    u->written[n->index] = true;
  }
  return true;
}

static bool write_back(unlifter *u, const ig_output_spec *o) {
  ig_ctx *c = u->copier.c;
  const ig_op *op = ig_op_at(c, IG_ID_COPY_);
  ig_node *to = u->map[target_of(u, o)->index];
  if (!to || !op || o->value.kind != IG_KIND_NODE) return false;
  ig_value args[] = {ig_of_node(to), ig_of_node(u->map[o->value.node->index])};
  ig_node proto = {.kind = IG_NODE_CALL,
                   .callee = IG_CALLEE_OP,
                   .op = op,
                   .target = op->target,
                   .effect = true,
                   .args = args,
                   .npos = 2,
                   .val = to->val};
  return ig_graph_push(c, u->copier.to, &proto, "copy__default") != NULL;
}

static bool copy_output(unlifter *u, const ig_node *n) {
  const ig_program *p = u->p;
  ig_ctx *c = u->copier.c;
  for (size_t i = 0; i < p->noutputs; i++) {
    if (is_write(&p->outputs[i]) && !write_back(u, &p->outputs[i])) return false;
  }
  ig_scope s = ig_scope_open(c);
  ig_value *args = ig_scope_array(c, n->npos, sizeof *args);
  size_t k = 0;
  bool ok = args != NULL;
  for (size_t i = 0; ok && i < n->npos; i++) {
    if (!is_write(&p->outputs[i])) ok = ig_copy_value(&u->copier, &n->args[i], &args[k++]);
  }
  ig_node proto = {.kind = IG_NODE_OUTPUT, .target = "output", .args = args, .npos = k};
  ok = ok && ig_graph_push(c, u->copier.to, &proto, "output");
  ig_scope_close(c, s);
  return ok;
}

static bool copy_node(unlifter *u, const ig_node *n) {
  if (ig_node_is_placeholder(n)) return copy_placeholder(u, n);
  if (n->kind == IG_NODE_OUTPUT) return copy_output(u, n);
  u->map[n->index] = ig_copy_node(&u->copier, n, NULL, n->name, NULL, NULL);
  return u->map[n->index] != NULL;
}

// User inputs come first: they are what the module is called with.
static bool copy_all(unlifter *u) {
  const ig_graph *g = u->p->graph;
  for (const ig_node *n = g->first; n; n = n->next) {
    bool user = ig_node_is_placeholder(n) && n->role == IG_INPUT_USER;
    if (user && !copy_node(u, n)) return false;
  }
  for (const ig_node *n = g->first; n; n = n->next) {
    bool user = ig_node_is_placeholder(n) && n->role == IG_INPUT_USER;
    if (!user && !copy_node(u, n)) return false;
  }
  return true;
}

static ig_status unlift(ig_ctx *c, const ig_program *p, ig_graph **out) {
  size_t count = p->graph->next_index;
  size_t bytes = count * (sizeof(ig_node *) + sizeof(bool)) + 1;
  ig_graph *to = ig_graph_create(c, p->graph->sym);
  if (to) to->release = p->graph->release;
  unlifter u = {.copier = {c, to, mapped, NULL, true}, .p = p};
  u.copier.user = &u;
  u.map = ig_mem_new(c->alloc, bytes);
  if (!u.map) (void)ig_fail(c, IG_NOMEM, "out of memory");
  u.written = (bool *)(u.map + count);
  const char *file = c->file;
  int line = c->line;
  void (*locate)(ig_ctx *, void *) = c->locate;
  c->locate = NULL;  // nodes keep their locations
  bool ok = u.map && to && mark_written(&u) && copy_all(&u);
  c->locate = locate;
  (void)ig_ctx_at(c, file, line);
  ig_mem_free(c->alloc, u.map, bytes);
  if (ok && ig_graph_verify(c, to) == IG_OK) {
    *out = to;
  } else {
    ig_graph_free(to);
  }
  return c->status;
}

ig_status ig_program_unlift(ig_ctx *c, const ig_program *p, ig_graph **out) {
  *out = NULL;
  if (c->status != IG_OK) return c->status;
  ig_scope s = ig_scope_open(c);
  ig_program view;
  const ig_program *plain = ig_pass_shed_tokens(c, p, &view);
  if (plain) (void)unlift(c, plain, out);
  ig_graph_free(view.graph);
  ig_scope_close(c, s);
  return c->status;
}
