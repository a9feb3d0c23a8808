// SPDX-License-Identifier: Apache-2.0
// The graph of a program as a module runs it: weights are attributes again, and what the program
// wrote to buffers and inputs is copied back at the end. A copy node by node: nothing is computed.
#include <stdio.h>
#include <string.h>

#include "pass/pass.h"

typedef struct unlifter {
  ig_ctx *c;
  const ig_program *p;
  ig_graph *to;
  ig_node **map;  // by index of the old node
  bool *written;  // by index: its new value is written back
} unlifter;

static bool copy_value(const unlifter *u, const ig_value *from, ig_value *to) {
  *to = *from;
  if (from->kind == IG_KIND_NODE) to->node = u->map[from->node->index];
  if (from->kind != IG_KIND_LIST) return true;
  ig_value *items = ig_scope_push(u->c, from->list.n * sizeof *items + 1);
  to->list.at = items;
  for (size_t i = 0; items && i < from->list.n; i++) {
    if (!copy_value(u, &from->list.at[i], &items[i])) return false;
  }
  return items != NULL;
}

// The new graph's nodes own descriptions of their own: a tensor knows one node only.
static bool copy_val(const unlifter *u, const ig_value *from, ig_value *to) {
  *to = *from;
  if (from->kind == IG_KIND_TENSOR) {
    ig_tensor *t = ig_tensor_twin(u->c, from->tensor);
    if (t) t->requires_grad = from->tensor->requires_grad;
    to->tensor = t;
    return t != NULL;
  }
  if (from->kind != IG_KIND_LIST) return true;
  ig_value *items = ig_scope_push(u->c, from->list.n * sizeof *items + 1);
  to->list.at = items;
  for (size_t i = 0; items && i < from->list.n; i++) {
    if (!copy_val(u, &from->list.at[i], &items[i])) return false;
  }
  return items != NULL;
}

static bool push_copy(unlifter *u, const ig_node *n, ig_node *proto, const char *name) {
  ig_scope s = ig_scope_open(u->c);
  size_t count = n->npos + n->nkw;
  ig_value list = ig_of_list(n->args, count);
  ig_value args;
  bool ok = copy_value(u, &list, &args) && copy_val(u, &n->val, &proto->val);
  if (ok) {
    proto->args = args.list.at;
    proto->inputs = NULL;
    proto->ninputs = proto->users = proto->mark = 0;
    for (size_t i = 0; i < IG_META_KEY_COUNT; i++) {
      if (n->meta[i]) proto->meta[i] = ig_graph_keep_text(u->c, u->to, n->meta[i]);
    }
    (void)ig_ctx_at(u->c, n->file, n->line);
    u->map[n->index] = ig_graph_push(u->c, u->to, proto, name);
  }
  ig_scope_close(u->c, s);
  return ok && u->map[n->index];
}

// The other nodes keep their names.
static bool is_taken(const unlifter *u, const ig_node *n, const char *name) {
  const ig_node *other = ig_graph_find(u->p->graph, name);
  return other && other != n && (!ig_node_is_placeholder(other) || other->role == IG_INPUT_USER);
}

static bool copy_placeholder(unlifter *u, const ig_node *n) {
  ig_node proto = *n;
  proto.target = NULL;
  proto.path = ig_graph_keep_text(u->c, u->to, n->path ? n->path : n->name);
  if (n->role == IG_INPUT_USER) return push_copy(u, n, &proto, n->name);
  if (n->users == 0 && !u->written[n->index]) return true;  // unused weights are left out
  char text[256];
  char name[288];
  (void)ig_name_of_path("", n->path, text, sizeof text);
  (void)snprintf(name, sizeof name, "%s", text);
  for (int k = 1; is_taken(u, n, name); k++) (void)snprintf(name, sizeof name, "%s_%d", text, k);
  proto.kind = IG_NODE_ATTR;
  proto.target = proto.path;
  return push_copy(u, n, &proto, name);
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
  return o->kind == IG_OUTPUT_BUFFER_MUTATION || o->kind == IG_OUTPUT_INPUT_MUTATION;
}

static bool mark_written(unlifter *u) {
  for (size_t i = 0; i < u->p->noutputs; i++) {
    const ig_output_spec *o = &u->p->outputs[i];
    if (!is_write(o)) continue;
    const ig_node *n = target_of(u, o);
    if (!n) {
      return ig_fail(u->c, IG_ASSERTION, "no input is named '%s', which the program writes",
                     o->target) == IG_OK;
    }
    u->written[n->index] = true;
  }
  return true;
}

static bool write_back(unlifter *u, const ig_output_spec *o) {
  const ig_op *op = ig_op_find(u->c, "aten::copy_");
  ig_node *to = u->map[target_of(u, o)->index];
  if (!to || !op || o->value.kind != IG_KIND_NODE) return false;
  ig_value args[] = {ig_of_node(to), ig_of_node(u->map[o->value.node->index])};
  ig_scope s = ig_scope_open(u->c);
  ig_tensor *t = ig_tensor_twin(u->c, to->val.tensor);
  ig_node proto = {.kind = IG_NODE_CALL,
                   .callee = IG_CALLEE_OP,
                   .op = op,
                   .target = op->target,
                   .effect = true,
                   .args = args,
                   .npos = 2,
                   .val = ig_of_tensor(t)};
  bool ok = t && ig_graph_push(u->c, u->to, &proto, "copy__default");
  ig_scope_close(u->c, s);
  return ok;
}

static bool copy_output(unlifter *u, const ig_node *n) {
  const ig_program *p = u->p;
  for (size_t i = 0; i < p->noutputs; i++) {
    if (is_write(&p->outputs[i]) && !write_back(u, &p->outputs[i])) return false;
  }
  ig_scope s = ig_scope_open(u->c);
  ig_value *args = ig_scope_push(u->c, n->npos * sizeof *args + 1);
  size_t k = 0;
  bool ok = args != NULL;
  for (size_t i = 0; ok && i < n->npos; i++) {
    if (!is_write(&p->outputs[i])) ok = copy_value(u, &n->args[i], &args[k++]);
  }
  ig_node proto = {.kind = IG_NODE_OUTPUT, .target = "output", .args = args, .npos = k};
  ok = ok && ig_graph_push(u->c, u->to, &proto, "output");
  ig_scope_close(u->c, s);
  return ok;
}

static bool copy_node(unlifter *u, const ig_node *n) {
  if (ig_node_is_placeholder(n)) return copy_placeholder(u, n);
  if (n->kind == IG_NODE_OUTPUT) return copy_output(u, n);
  ig_node proto = *n;
  proto.target = ig_graph_keep_text(u->c, u->to, n->target);
  if (!n->sub) return push_copy(u, n, &proto, n->name);
  proto.sub = ig_graph_find_sub(u->to, n->target);
  if (proto.sub) return push_copy(u, n, &proto, n->name);
  proto.sub = ig_graph_copy(u->c, n->sub);  // a module's sub-graphs are its own
  bool ok = proto.sub && ig_graph_set_sub(u->c, u->to, n->target, proto.sub) &&
            push_copy(u, n, &proto, n->name);
  ig_graph_free(proto.sub);
  return ok;
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

ig_status ig_program_unlift(ig_ctx *c, const ig_program *p, ig_graph **out) {
  *out = NULL;
  if (c->status != IG_OK) return c->status;
  size_t count = p->graph->next_index;
  size_t bytes = count * (sizeof(ig_node *) + sizeof(bool)) + 1;
  unlifter u = {.c = c, .p = p, .to = ig_graph_create(c, p->graph->sym)};
  u.map = ig_mem_new(c->alloc, bytes);
  if (!u.map) (void)ig_fail(c, IG_NOMEM, "out of memory");
  u.written = (bool *)(u.map + count);
  const char *file = c->file;
  int line = c->line;
  void (*locate)(ig_ctx *, void *) = c->locate;
  c->locate = NULL;  // nodes keep their locations
  bool ok = u.map && u.to && mark_written(&u) && copy_all(&u);
  c->locate = locate;
  (void)ig_ctx_at(c, file, line);
  ig_mem_free(c->alloc, u.map, bytes);
  if (ok && ig_graph_verify(c, u.to) == IG_OK) {
    *out = u.to;
  } else {
    ig_graph_free(u.to);
  }
  return c->status;
}
