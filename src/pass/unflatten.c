// SPDX-License-Identifier: Apache-2.0
// The tree of modules of a program. One walk over the nodes, with a frame per module that is open:
// a node whose module stack goes deeper opens a frame, one that leaves the stack closes it. An
// outer value that a frame uses becomes its first placeholder, and the first argument of the call
// in the parent. Weights are placeholders until the tree is complete; then each moves into the
// modules under whose path its name is.
#include <stdio.h>
#include <string.h>

#include "ingot/aten.h"
#include "pass/pass.h"
#include "pass/tree.h"

typedef struct frame {
  struct unflattener *u;
  struct frame *parent;
  const ig_module_stack *stack;  // its first `depth` levels are those of the frame
  size_t depth;
  const char *path;
  ig_graph *g;
  ig_node *call;                  // in the parent's graph
  ig_table map;                   // old node -> corresponding node here
  ig_table inputs;                // old node -> placeholder here
  IG_VEC(const ig_node *) order;  // keys of map, oldest first
} frame;

typedef struct unflattener {
  ig_ctx *c;
  ig_graph *flat;
  ig_module_tree *tree;
  ig_arena arena;
  bool *seen;  // by index of the old node: copied already
} unflattener;

// ---- module stacks ----

// NULL: outside all modules.
static const ig_module_stack *stack_of(const ig_node *n) {
  return n->meta.modules && n->meta.modules->n ? n->meta.modules : NULL;
}

static bool inside(const frame *f, const ig_module_stack *l) {
  if (!l || l == f->stack) return true;  // without a module: the current one
  if (l->n < f->depth) return false;
  for (size_t i = 1; i < f->depth; i++) {
    if (strcmp(l->at[i].path, f->stack->at[i].path) != 0) return false;
  }
  return true;
}

// ---- frames ----

static bool remember(frame *f, const ig_node *n, ig_node *value) {
  ig_table_slot *slot = ig_table_put(&f->map, n);
  if (!slot || !ig_vec_push(f->u->c->alloc, &f->order, n)) return ig_no_memory(f->u->c);
  slot->value = value;
  return true;
}

static ig_node *add_placeholder(frame *f, const ig_node *n) {
  ig_node proto = {.kind = IG_NODE_PLACEHOLDER, .val = n->val, .role = IG_INPUT_USER};
  if (ig_node_is_placeholder(n) && n->role != IG_INPUT_USER) {  // a weight, until it is moved
    proto.role = n->role;
    proto.constant = n->constant;
    proto.object = n->object;
    proto.path = n->path;
    if (n->object && !ig_graph_keep_object(f->u->c, f->g, n->object)) return NULL;
    if (n->path && !(proto.path = ig_graph_keep_text(f->u->c, f->g, n->path))) return NULL;
  }
  ig_table_slot *slot = ig_table_put(&f->inputs, n);
  ig_node *p = slot ? ig_graph_insert(f->u->c, f->g, f->g->first, &proto, n->name) : NULL;
  if (slot) slot->value = p;
  if (!slot) (void)ig_no_memory(f->u->c);
  return p;
}

static ig_node *remap(void *user, const ig_node *n);

// Placeholders are prepended, and so are arguments.
static bool add_argument(const frame *f, const ig_node *n) {
  ig_ctx *c = f->u->c;
  ig_node *value = remap(f->parent, n);
  ig_scope s = ig_scope_open(c);
  ig_value *args = value ? ig_scope_array(c, f->call->npos + 1, sizeof *args) : NULL;
  bool ok = args != NULL;
  if (ok) {
    args[0] = ig_of_node(value);
    for (size_t i = 0; i < f->call->npos; i++) args[i + 1] = f->call->args[i];
    ok = ig_node_set_args(c, f->call, args, f->call->npos + 1, 0, NULL);
  }
  ig_scope_close(c, s);
  return ok;
}

static ig_node *remap(void *user, const ig_node *n) {
  frame *f = user;
  const ig_table_slot *slot = ig_table_find(&f->map, n);
  if (!slot) slot = ig_table_find(&f->inputs, n);
  if (slot) return slot->value;
  ig_node *p = add_placeholder(f, n);
  if (!p || (f->parent && !add_argument(f, n))) return NULL;
  return p;
}

static bool copy_node(frame *f, const ig_node *n) {
  ig_node_copier k = {f->u->c, f->g, remap, f, false};
  ig_node *copy = ig_copy_node(&k, n, NULL, n->name, NULL, NULL);
  f->u->seen[n->index] = true;
  return copy && remember(f, n, copy);
}

static bool open_frame(frame *f, unflattener *u, frame *parent, const ig_module_stack *stack,
                       size_t depth) {
  *f = (frame){.u = u, .parent = parent, .stack = stack, .depth = depth};
  f->map = f->inputs = ig_table_make(u->c->alloc);
  f->g = ig_graph_create(u->c, u->flat->sym);
  if (!f->g) return false;
  f->g->host = u->flat->host;
  f->g->release = u->flat->release;
  if (!parent) {
    f->path = "";
    return true;
  }
  const char *full = stack->at[depth - 1].path;
  size_t above = strlen(parent->path);
  bool child = above && strncmp(full, parent->path, above) == 0 && full[above] == '.';
  const char *name = child ? full + above + 1 : full;
  char path[512];
  (void)snprintf(path, sizeof path, "%s%s%s", parent->path, above ? "." : "", name);
  f->path = ig_arena_strn(&u->arena, path, strlen(path));
  ig_node proto = {.kind = IG_NODE_MODULE};
  proto.target = ig_graph_keep_text(u->c, parent->g, name);
  if (!f->path || !proto.target) return ig_no_memory(u->c);
  f->call = ig_graph_push(u->c, parent->g, &proto, name);
  return f->call != NULL;
}

static void close_frame(frame *f) {
  ig_graph_free(f->g);
  ig_table_free(&f->map);
  ig_table_free(&f->inputs);
  ig_vec_free(f->u->c->alloc, &f->order);
}

static bool is_read_outside(const frame *f, const ig_node *n) {
  for (const ig_use *use = n->first_use; use; use = use->next) {
    if (!f->u->seen[use->user->index]) return true;
  }
  return false;
}

// The call in the parent is the only result, or the list of them.
static bool hand_over(const frame *f, const ig_node *const *outs, size_t n) {
  if (n == 1) return remember(f->parent, outs[0], f->call);
  for (size_t i = 0; i < n; i++) {
    ig_value args[] = {ig_of_node(f->call), ig_of_i64((int64_t)i)};
    ig_node proto = {.kind = IG_NODE_CALL,
                     .callee = IG_CALLEE_GETITEM,
                     .target = "_operator.getitem",
                     .args = args,
                     .npos = 2,
                     .val = outs[i]->val};
    ig_node *item = ig_graph_push(f->u->c, f->parent->g, &proto, "getitem");
    if (!item || !remember(f->parent, outs[i], item)) return false;
  }
  return true;
}

// Values that are used later are the results; a single one is returned unwrapped, several as a
// list.
static bool finish_frame(frame *f) {
  ig_ctx *c = f->u->c;
  size_t n = 0;
  const ig_node **outs = ig_scope_array(c, f->order.n, sizeof *outs);
  ig_value *values = ig_scope_array(c, f->order.n, sizeof *values);
  if (!outs || !values) return false;
  for (size_t i = 0; i < f->order.n; i++) {
    if (!is_read_outside(f, f->order.at[i])) continue;
    outs[n] = f->order.at[i];
    values[n++] = ig_of_node(ig_table_find(&f->map, f->order.at[i])->value);
  }
  ig_value list = ig_of_list(values, n);
  ig_node proto = {.kind = IG_NODE_OUTPUT,
                   .target = "output",
                   .bare = true,
                   .args = n == 1 ? values : &list,
                   .npos = 1};
  if (!ig_graph_push(c, f->g, &proto, "output")) return false;
  if (n == 1 && !ig_node_set_val(c, f->call, &outs[0]->val)) return false;
  return hand_over(f, outs, n);
}

static const ig_node *run(frame *f, const ig_node *n);

static const ig_node *run_child(frame *f, const ig_node *n, const ig_module_stack *l) {
  unflattener *u = f->u;
  frame child;
  const ig_node *next = NULL;
  ig_scope s = ig_scope_open(u->c);
  if (open_frame(&child, u, f, l, f->depth + 1)) {
    next = run(&child, n);
    if (next && !finish_frame(&child)) next = NULL;
    const char *name = child.call->target;
    const char *key = l->at[child.depth - 1].key;
    if (next && !ig_module_tree_add(u->c, u->tree, child.path, key, child.g, &name)) next = NULL;
    if (next) child.call->target = ig_graph_keep_text(u->c, f->g, name);
    if (next && !child.call->target) next = NULL;
  }
  close_frame(&child);
  ig_scope_close(u->c, s);
  return next;
}

// Copies nodes from n on until one does not belong here; that one, NULL after an error.
static const ig_node *run(frame *f, const ig_node *n) {
  while (n && n->kind != IG_NODE_OUTPUT) {
    const ig_module_stack *l = stack_of(n);
    if (!inside(f, l)) return n;
    if (l && l->n > f->depth) {
      n = run_child(f, n, l);
    } else {
      n = copy_node(f, n) ? n->next : NULL;
    }
  }
  return n;
}

static bool run_root(frame *f) {
  const ig_node *n = f->u->flat->first;
  for (; n && ig_node_is_placeholder(n); n = n->next) {
    ig_node_copier k = {f->u->c, f->g, remap, f, false};
    ig_node *p = ig_copy_node(&k, n, NULL, n->name, NULL, NULL);
    ig_table_slot *slot = p ? ig_table_put(&f->inputs, n) : NULL;
    if (!slot) return ig_no_memory(f->u->c);
    slot->value = p;
  }
  if (!run(f, n)) return false;
  ig_node_copier k = {f->u->c, f->g, remap, f, false};
  return ig_copy_node(&k, f->u->flat->last, NULL, "output", NULL, NULL) != NULL;
}

// ---- writes ----

static ig_node *find_target(const ig_program *p, ig_graph *flat, const ig_output_spec *o) {
  for (size_t i = 0; i < p->ninputs; i++) {
    const ig_input_spec *in = &p->inputs[i];
    if (in->kind == IG_INPUT_USER || strcmp(in->target, o->target) != 0) continue;
    return (ig_node *)ig_graph_find(flat, in->name);
  }
  return NULL;
}

// The new value is copied where it is computed, and its users use the copy.
static bool write_here(ig_ctx *c, ig_graph *flat, ig_node *to, ig_node *value) {
  const ig_op *op = ig_op_at(c, IG_ID_COPY_);
  if (!to || !op) return ig_fail(c, IG_ASSERTION, "a mutated input is missing") == IG_OK;
  if (to == value) return true;
  ig_node *before = value->next;
  while (before && ig_node_is_placeholder(before)) before = before->next;
  ig_value args[] = {ig_of_node(to), ig_of_node(value)};
  // PyTorch uses its name without an overload.
  char packet[96];
  (void)snprintf(packet, sizeof packet, "%s.%s", op->schema.ns, op->schema.name);
  const char *target = ig_graph_keep_text(c, flat, packet);
  if (!target) return false;
  ig_node proto = {.kind = IG_NODE_CALL,
                   .callee = IG_CALLEE_OP,
                   .op = op,
                   .target = target,
                   .effect = true,
                   .args = args,
                   .npos = 2,
                   .val = value->val};
  proto.meta = value->meta;
  ig_node *copy = ig_graph_insert(c, flat, before, &proto, "copy_");
  return copy && ig_graph_replace(c, flat, value, copy);
}

static bool writes_state(const ig_output_spec *o) {
  return ig_output_is_write(o) && o->kind != IG_OUTPUT_INPUT_MUTATION;
}

// State is written where its new value is computed. New values of inputs stay outputs, which the
// caller of the outermost module writes.
static bool write_in_place(ig_ctx *c, const ig_program *p, ig_graph *flat) {
  ig_node *out = flat->last;
  ig_scope s = ig_scope_open(c);
  ig_value *rest = ig_scope_array(c, out->npos, sizeof *rest);
  size_t n = 0;
  bool ok = rest != NULL;
  for (size_t i = 0; ok && i < p->noutputs; i++) {
    const ig_output_spec *o = &p->outputs[i];
    if (writes_state(o) && out->args[i].kind == IG_KIND_NODE) {
      ok = write_here(c, flat, find_target(p, flat, o), out->args[i].node);
    }
  }
  for (size_t i = 0; ok && i < p->noutputs; i++) {
    const ig_output_spec *o = &p->outputs[i];
    if (!writes_state(o)) rest[n++] = out->args[i];
  }
  ok = ok && ig_node_set_args(c, out, rest, n, 0, NULL);
  ig_scope_close(c, s);
  return ok;
}

static bool unflatten(unflattener *u) {
  frame root;
  const char *name = "";
  bool ok = open_frame(&root, u, NULL, NULL, 1) &&
            ig_module_tree_add(u->c, u->tree, "", NULL, root.g, &name) && run_root(&root);
  close_frame(&root);
  return ok;
}

static ig_status unflatten_program(ig_ctx *c, const ig_program *p, ig_module_tree **out) {
  unflattener u = {.c = c, .arena = ig_arena_make(c->alloc)};
  u.flat = ig_graph_copy(c, p->graph);
  u.tree = u.flat ? ig_module_tree_create(c) : NULL;
  bool ok = u.tree && write_in_place(c, p, u.flat);
  size_t bytes = u.flat ? ig_mem_mul(u.flat->next_index, sizeof *u.seen) + 1 : 1;
  u.seen = ok ? ig_mem_new(c->alloc, bytes) : NULL;
  if (ok && !u.seen) (void)ig_no_memory(c);
  ok = u.seen && unflatten(&u) && ig_module_tree_sink(c, u.tree, p);
  ig_mem_free(c->alloc, u.seen, bytes);
  ig_graph_free(u.flat);
  ig_arena_free(&u.arena);
  if (ok) {
    *out = u.tree;
  } else {
    ig_module_tree_free(u.tree);
  }
  return c->status;
}

ig_status ig_program_unflatten(ig_ctx *c, const ig_program *p, ig_module_tree **out) {
  *out = NULL;
  if (c->status != IG_OK) return c->status;
  ig_scope s = ig_scope_open(c);
  ig_program view;
  const ig_program *plain = ig_pass_shed_tokens(c, p, &view);
  if (plain) (void)unflatten_program(c, plain, out);
  ig_graph_free(view.graph);
  ig_scope_close(c, s);
  return c->status;
}
