// SPDX-License-Identifier: Apache-2.0
// Replaces operators by their decompositions: interpretation under a recording context in which the
// decomposition is called instead of the operator. Its own calls are handled in the same way, so
// nested decompositions need no second pass.
#include <string.h>

#include "base/options.h"
#include "ingot/aten.h"
#include "ingot/library.h"
#include "op/grad_mode.h"
#include "pass/pass.h"

// The table as sets of operators, so that a query about a node is one lookup.
typedef struct table {
  const ig_decompose_args *args;
  ig_table also;
  ig_table preserve;
} table;

static bool add_all(ig_ctx *c, ig_table *set, const char *const *names) {
  for (; names && *names; names++) {
    const ig_op *op = ig_op_find(c, *names);
    if (!op) return ig_fail(c, IG_INVALID, "decompose: unknown operator '%s'", *names) == IG_OK;
    if (!ig_table_put(set, op)) return ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
  }
  return true;
}

static bool table_fill(ig_ctx *c, table *t) {
  t->also = t->preserve = ig_table_make(c->alloc);
  return add_all(c, &t->also, t->args->also) && add_all(c, &t->preserve, t->args->preserve);
}

static void table_free(table *t) {
  ig_table_free(&t->also);
  ig_table_free(&t->preserve);
}

bool ig_op_is_traced_apart(const ig_op *op) {
  // Not op->composite: how an operator is computed here does not matter to programs.
  return !op->base && ig_op_has_lowering(op) && (op->facts & (IG_FACT_IMPLICIT | IG_FACT_TRACED));
}

static bool applies(const table *t, const ig_op *op) {
  if (op->base || !ig_op_has_lowering(op)) return false;
  if (ig_op_is_traced_apart(op)) return true;
  if (t->args->level == IG_DECOMPOSE_CORE && (op->facts & IG_FACT_DECOMP)) return true;
  return t->also.n && ig_table_find(&t->also, op);
}

static void detach(ig_ctx *c, const table *t, int times, ig_value *value) {
  const ig_op *op = ig_op_at(c, IG_ID_DETACH);
  for (int i = 0; i < times && c->status == IG_OK; i++) {
    ig_value last = *value;
    if (applies(t, op)) {
      ig_op_lower(c, op, &last, value);
    } else {
      ig_pass_record(c, op, &last, value);
    }
  }
}

// What PyTorch's second trace of a program does, whatever the table: a literal has become a
// constant, and its copy is like any other; a detach is repeated, and reinterpreted numbers that
// have no gradient are detached.
static bool trace_again(ig_ctx *c, const table *t, const ig_op *op, const ig_value *args,
                        ig_value *outs) {
  const ig_forms *forms = ig_release_forms(c->mode->capture->release);
  if (op->number == IG_ID_LIFT_FRESH_COPY) {
    outs[0] = ig_of_tensor(ig_clone(c, args[0].tensor));
    return true;
  }
  if (op->number == IG_ID_DETACH) {
    outs[0] = args[0];
    detach(c, t, forms->detaches, outs);
    return true;
  }
  if (op->number != IG_ID_VIEW_DTYPE) return false;
  ig_pass_record(c, op, args, outs);
  ig_dtype dtype = args[1].dtype;
  if (!ig_dtype_is_float(dtype) && !ig_dtype_is_complex(dtype)) {
    detach(c, t, forms->detaches_of_reinterpreted, outs);
  }
  return true;
}

// The first trace of a program below autograd: a literal was detached in-place, every other detach
// is repeated.
static bool trace_once(ig_ctx *c, const table *t, const ig_op *op, const ig_value *args,
                       ig_value *outs) {
  if (op->number != IG_ID_DETACH) return false;
  const ig_node *n = args[0].tensor->node;
  bool call = n && n->kind == IG_NODE_CALL && n->callee == IG_CALLEE_OP;
  outs[0] = args[0];
  if (!call || n->op->number != IG_ID_LIFT_FRESH_COPY) {
    detach(c, t, ig_release_forms(c->mode->capture->release)->detaches, outs);
  }
  return true;
}

static bool decompose(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs,
                      void *user) {
  const table *t = user;
  if (t->preserve.n && ig_table_find(&t->preserve, op)) return false;
  const ig_decompose_args *a = t->args;
  if (a->keep && a->keep(op, args, a->user)) return false;
  if (a->replace && a->replace(c, op, args, outs, a->user)) return true;
  if (c->status != IG_OK) return false;
  if (a->once ? trace_once(c, t, op, args, outs) : trace_again(c, t, op, args, outs)) return true;
  if (!applies(t, op)) return false;
  ig_op_lower(c, op, args, outs);
  return true;
}

void ig_graph_drop_grad_modes(ig_graph *g) {
  for (ig_node *n = g->has_host ? g->first : NULL, *next = NULL; n; n = next) {
    next = n->next;
    if (ig_node_is_grad_mode(n, NULL)) ig_graph_erase(g, n);
  }
  for (size_t i = 0; i < g->subs.n; i++) ig_graph_drop_grad_modes(g->subs.at[i].graph);
}

ig_status ig_graph_decompose(ig_ctx *c, const ig_graph *g, const ig_decompose_args *args,
                             ig_graph **out) {
  ig_decompose_args all;
  IG_OPTIONS_TAKE(&all, args, user);
  if (!args) all.level = IG_DECOMPOSE_CORE;
  *out = NULL;
  if (c->status != IG_OK) return c->status;
  table known = {.args = &all};
  ig_transform t = {.rewrite = {.fn = decompose, .user = &known}};
  if (table_fill(c, &known)) (void)ig_graph_transform(c, g, &t, out);
  table_free(&known);
  if (!*out) return c->status;
  ig_graph_drop_grad_modes(*out);
  if (!known.args->whole) (void)ig_graph_dce(*out);
  if (ig_graph_verify(c, *out) == IG_OK) return IG_OK;
  ig_graph_free(*out);
  *out = NULL;
  return c->status;
}

static bool writes(const ig_graph *g) {
  for (const ig_node *n = g->first; n; n = n->next) {
    if (n->kind == IG_NODE_CALL && n->callee == IG_CALLEE_OP && ig_op_mutates(n->op)) return true;
    if (n->kind == IG_NODE_ATTR && n->sub && writes(n->sub)) return true;
  }
  return false;
}

static ig_status lower(ig_ctx *c, const ig_program *p, const ig_decompose_args *args,
                       ig_program **out) {
  ig_graph *g = NULL;
  IG_RETURN_IF_ERR(ig_graph_decompose(c, p->graph, args, &g));
  *out = ig_pass_program(c, p, g, NULL, NULL);
  if (!*out || !writes((*out)->graph)) return c->status;
  // What a custom decomposition mutates.
  ig_program *lowered = *out;
  *out = NULL;
  ig_status st = ig_program_functionalize(c, lowered, out);
  ig_program_free(lowered);
  return st;
}

// Together with functionalization, as in PyTorch's single trace of the program.
static ig_status lower_once(ig_ctx *c, const ig_program *p, const ig_decompose_args *args,
                            ig_program **out) {
  ig_decompose_args once = *args;
  once.once = true;
  table known = {.args = &once};
  ig_rewrite apart = {.fn = decompose, .user = &known};
  if (table_fill(c, &known)) (void)ig_pass_functionalize(c, p, &apart, out);
  table_free(&known);
  if (!*out) return c->status;
  ig_graph_drop_grad_modes((*out)->graph);
  return c->status;
}

static bool same_sizes(const ig_tensor *a, const ig_tensor *b) {
  bool same = a->dtype == b->dtype && a->ndim == b->ndim;
  for (int d = 0; same && d < a->ndim; d++) {
    ig_int x = ig_sizes(a)[d];
    ig_int y = ig_sizes(b)[d];
    same = x.expr == y.expr && (x.expr || x.value == y.value);  // concrete: no query is made
  }
  return same;
}

// A buffer that is overwritten completely becomes the written value.
static void drop_copies(ig_ctx *c, ig_program *p) {
  for (size_t i = 0; p && i < p->noutputs && c->status == IG_OK; i++) {
    ig_output_spec *o = &p->outputs[i];
    ig_node *n = o->value.kind == IG_KIND_NODE ? o->value.node : NULL;
    bool copy = o->kind == IG_OUTPUT_BUFFER_MUTATION && n && n->kind == IG_NODE_CALL &&
                n->callee == IG_CALLEE_OP && n->op->number == IG_ID_COPY && n->npos >= 2;
    ig_node *source = copy && n->args[1].kind == IG_KIND_NODE ? n->args[1].node : NULL;
    if (!source || source->val.kind != IG_KIND_TENSOR ||
        !same_sizes(n->val.tensor, source->val.tensor)) {
      continue;
    }
    if (!ig_graph_replace(c, p->graph, n, source)) return;
    o->value.node = source;
    o->name = source->name;
    ig_graph_erase(p->graph, n);
  }
}

ig_status ig_program_decompose(ig_ctx *c, const ig_program *p, const ig_decompose_args *args,
                               ig_program **out) {
  *out = NULL;
  // The first step of a training program only lowers to functional operators, whatever the table.
  static const ig_decompose_args composite = {.size = sizeof composite,
                                              .level = IG_DECOMPOSE_COMPOSITE};
  if (p->training && !(args && args->functional)) {
    IG_RETURN_IF_ERR(lower_once(c, p, &composite, out));
    drop_copies(c, *out);
    if (*out) IG_RETURN_IF_ERR(ig_program_renew_asserts(c, *out));
    bool first = *out && ig_release_forms((*out)->graph->release)->sizes_first;
    if (first && !ig_program_read_sizes_first(c, *out)) return c->status;
    return c->status;
  }
  return args && args->once ? lower_once(c, p, args, out) : lower(c, p, args, out);
}
