// SPDX-License-Identifier: Apache-2.0
// Control flow: cond is If, while_loop is Loop, map and scan are Scan. Operands of a branch are
// captured from the enclosing graph; carried values of a body are its inputs. Regions that only
// change a mode are inlined.
#include <string.h>

#include "onnx/model.h"
#include "onnx/writer.h"
#include "op/hop.h"

enum { NODE_ATTRIBUTE = 5, ATTR_NAME = 1, ATTR_GRAPH = 6, ATTR_TYPE = 20 };

static const ig_graph *graph_of(ig_onnx *x, const ig_node *n, const ig_value *v) {
  if (v->kind == IG_KIND_NODE && v->node->sub) return v->node->sub;
  ig_onnx_refuse(x, n, "a sub-graph is missing");
  return NULL;
}

// ---- one copy of a sub-graph

// Its calls get new names: a sub-graph may be written more than once.
static void rename_calls(ig_onnx *x, const ig_graph *g) {
  for (const ig_node *n = g->first; n; n = n->next) {
    if (n->kind != IG_NODE_CALL) continue;
    ig_table_slot *known = ig_table_find(&x->folded, n);
    if (!known || !known->number)
      (void)ig_onnx_set_name(x, n, ig_onnx_fresh(x, x->outer ? "v" : n->name));
  }
}

// Binds a placeholder to the outer value `name`.
static void bind_name(ig_onnx *x, const ig_node *n, const char *name) {
  (void)ig_onnx_set_name(x, n, name);
  const ig_value *v = &n->val;
  if (v->kind == IG_KIND_TENSOR) {
    ig_onnx_learn(x, name, v->tensor);
  } else if (v->kind == IG_KIND_INT && v->i.expr) {
    ig_onnx_learn_scalar(x, name, v->i.expr);
  }
}

// Binds placeholders, in order, to operands; returns the next placeholder.
static const ig_node *bind_operands(ig_onnx *x, const ig_node *at, const ig_value *operands) {
  if (operands->kind != IG_KIND_LIST) return at;
  for (size_t i = 0; i < operands->list.n; i++) {
    while (at && !ig_node_is_placeholder(at)) at = at->next;
    if (!at) return NULL;
    const ig_value *v = &operands->list.at[i];
    if (at->users) {
      const char *name = ig_onnx_operand(x, v, IG_DTYPE_COUNT);
      (void)ig_onnx_set_name(x, at, name);
    }
    at = at->next;
  }
  return at;
}

static const ig_node *output_of(const ig_graph *g) {
  const ig_node *n = g->last;
  while (n && n->kind != IG_NODE_OUTPUT) n = n->prev;
  return n;
}

static void put_body(ig_onnx *x, const ig_graph *g) {
  const ig_node *outer = x->node;
  x->inside++;
  ig_onnx_put_nodes(x, g);
  x->inside--;
  x->node = outer;
}

// The results of a sub-graph: the elements of what it returns.
size_t ig_onnx_results_of(const ig_graph *g, const ig_value **at) {
  const ig_node *out = output_of(g);
  *at = out ? out->args : NULL;
  size_t n = out ? out->npos : 0;
  if (n == 1 && out->bare && out->args[0].kind == IG_KIND_LIST) {
    *at = out->args[0].list.at;
    n = out->args[0].list.n;
  }
  return n;
}

// ---- graphs as attributes

typedef struct mark {
  size_t attr;
  size_t graph;
  size_t scope;
  uint32_t field;
} mark;

static mark open_graph(ig_onnx *x, const char *name) {
  mark m;
  m.attr = ig_proto_open(&x->w, NODE_ATTRIBUTE);
  ig_proto_put_text(&x->w, ATTR_NAME, name);
  m.graph = ig_proto_open(&x->w, ATTR_GRAPH);
  ig_proto_put_text(&x->w, IG_ONNX_GRAPH_NAME, name);
  m.scope = ig_onnx_scope_open(x);
  m.field = x->node_field;
  x->node_field = IG_ONNX_GRAPH_NODE;
  return m;
}

static void close_graph(ig_onnx *x, mark m) {
  ig_onnx_scope_close(x, m.scope);
  x->node_field = m.field;
  ig_proto_close(&x->w, m.graph);
  ig_proto_put_int(&x->w, ATTR_TYPE, IG_ONNX_GRAPH);
  ig_proto_close(&x->w, m.attr);
}

// An output of a graph must be produced inside it, under a name of its own: others are copied.
static void put_output(ig_onnx *x, const ig_value *v) {
  const char *own = ig_onnx_as_output(x, ig_onnx_operand(x, v, IG_DTYPE_COUNT));
  const ig_tensor *t = ig_onnx_tensor_of(v);
  if (t) {
    ig_onnx_put_value_info(x, IG_ONNX_GRAPH_OUTPUT, own, t);
  } else {
    const ig_value *number = v->kind == IG_KIND_NODE ? &v->node->val : v;
    bool whole = number->kind == IG_KIND_INT;
    ig_onnx_put_scalar_info(x, IG_ONNX_GRAPH_OUTPUT, own,
                            whole                          ? IG_I64
                            : number->kind == IG_KIND_BOOL ? IG_BOOL
                                                           : IG_F32);
  }
}

static void put_input(ig_onnx *x, const ig_node *placeholder) {
  const char *own = ig_onnx_fresh(x, x->outer ? "v" : placeholder->name);
  const ig_value *v = &placeholder->val;
  if (v->kind == IG_KIND_TENSOR) {
    ig_onnx_put_value_info(x, IG_ONNX_GRAPH_INPUT, own, v->tensor);
  } else {
    ig_onnx_put_scalar_info(x, IG_ONNX_GRAPH_INPUT, own, v->kind == IG_KIND_INT ? IG_I64 : IG_BOOL);
  }
  bind_name(x, placeholder, own);
}

// Every result needs a name, even if it is unused.
const char **ig_onnx_result_names(ig_onnx *x, const ig_node *n, size_t count) {
  ig_table_slot *s = ig_table_find(&x->elements, n);
  const char **picked = s ? s->value : NULL;
  size_t have = picked ? (size_t)s->number : 0;
  const char **names = ig_onnx_push(x, ig_mem_mul(count + 1, sizeof *names));
  for (size_t i = 0; names && i < count; i++) {
    names[i] = i < have && picked[i] ? picked[i] : ig_onnx_fresh(x, x->outer ? "v" : n->name);
  }
  return names;
}

// Sizes and numbers that are known only from the results.
void ig_onnx_learn_list(ig_onnx *x, const ig_node *n, const char *const *names, size_t count) {
  for (size_t i = 0; n->val.kind == IG_KIND_LIST && i < count && i < n->val.list.n; i++) {
    const ig_value *v = &n->val.list.at[i];
    if (v->kind == IG_KIND_TENSOR) ig_onnx_learn(x, names[i], v->tensor);
    if (v->kind == IG_KIND_INT && v->i.expr && v->i.expr->kind == IG_EXPR_SYMBOL) {
      ig_onnx_learn_scalar(x, names[i], v->i.expr);
    }
  }
}

// ---- cond

static void put_branch(ig_onnx *x, const char *name, const ig_graph *g, const ig_value *operands) {
  mark m = open_graph(x, name);
  rename_calls(x, g);
  (void)bind_operands(x, g->first, operands);
  put_body(x, g);
  const ig_value *at = NULL;
  size_t n = ig_onnx_results_of(g, &at);
  for (size_t i = 0; i < n; i++) put_output(x, &at[i]);
  close_graph(x, m);
}

// pred, true graph, false graph, operands
static void put_cond(ig_onnx *x, const ig_node *n) {
  const ig_graph *yes = graph_of(x, n, &n->args[1]);
  const ig_graph *no = graph_of(x, n, &n->args[2]);
  if (!yes || !no) return;
  const ig_value *at = NULL;
  size_t count = ig_onnx_results_of(yes, &at);
  const char **names = ig_onnx_result_names(x, n, count);
  const char *pred = ig_onnx_operand(x, &n->args[0], IG_BOOL);
  if (!names) return;
  // Operands that have to be computed first are computed outside.
  for (size_t i = 0; n->args[3].kind == IG_KIND_LIST && i < n->args[3].list.n; i++) {
    (void)ig_onnx_operand(x, &n->args[3].list.at[i], IG_DTYPE_COUNT);
  }
  size_t open = ig_onnx_begin(
      x, &(ig_onnx_node){.op_type = "If", .in = {pred}, .outs = names, .nouts = count});
  put_branch(x, "then_branch", yes, &n->args[3]);
  put_branch(x, "else_branch", no, &n->args[3]);
  ig_onnx_end(x, open);
  ig_onnx_learn_list(x, n, names, count);
}

// ---- while_loop

// The condition for values of these names, computed here. What it learns of their sizes does not
// hold behind it: another round has others.
static const char *put_condition(ig_onnx *x, const ig_graph *g, const char *const *names, size_t n,
                                 const ig_value *more) {
  size_t outer = ig_onnx_scope_open(x);
  rename_calls(x, g);
  const ig_node *at = g->first;
  for (size_t i = 0; i < n && at && ig_node_is_placeholder(at); i++, at = at->next) {
    bind_name(x, at, names[i]);
  }
  (void)bind_operands(x, at, more);
  put_body(x, g);
  const ig_value *result = NULL;
  bool given = ig_onnx_results_of(g, &result) > 0;
  const char *name = given ? ig_onnx_operand(x, result, IG_BOOL) : ig_onnx_number(x, IG_BOOL, 0);
  ig_onnx_scope_close(x, outer);
  return name;
}

// A loop whose course Loop takes itself: at most as many rounds as the bound says, and as long as
// the flag is true. Neither is carried.
static void put_course(ig_onnx *x, const ig_node *n, const ig_graph *body,
                       const ig_onnx_course *course) {
  const ig_value *carried = &n->args[2];
  size_t count = carried->list.n;
  const char **in = ig_onnx_push(x, ig_mem_mul(count + 3, sizeof *in));
  const char **names = ig_onnx_result_names(x, n, count);
  const char **kept = ig_onnx_push(x, ig_mem_mul(count + 1, sizeof *kept));
  if (!in || !names || !kept) return;
  size_t nkept = 0;
  in[0] = course->bounded ? ig_onnx_scalar_size(x, course->bound) : "";
  in[1] = course->flag < count ? ig_onnx_operand(x, &carried->list.at[course->flag], IG_BOOL) : "";
  for (size_t i = 0; i < count; i++) {
    if (i == course->counter || i == course->flag) continue;
    kept[nkept] = names[i];
    in[2 + nkept++] = ig_onnx_operand(x, &carried->list.at[i], IG_DTYPE_COUNT);
  }
  size_t open = ig_onnx_begin(
      x, &(ig_onnx_node){
             .op_type = "Loop", .many = in, .nmany = nkept + 2, .outs = kept, .nouts = nkept});
  mark m = open_graph(x, "body");
  const char *round = ig_onnx_fresh(x, "iteration");
  const char *again = ig_onnx_fresh(x, "again");
  ig_onnx_put_scalar_info(x, IG_ONNX_GRAPH_INPUT, round, IG_I64);
  ig_onnx_put_scalar_info(x, IG_ONNX_GRAPH_INPUT, again, IG_BOOL);
  rename_calls(x, body);
  const ig_node *at = body->first;
  for (size_t i = 0; i < count && at && ig_node_is_placeholder(at); i++, at = at->next) {
    bool own = i != course->counter && i != course->flag;
    if (own) put_input(x, at);
    if (!own) bind_name(x, at, i == course->counter ? round : again);
  }
  (void)bind_operands(x, at, &n->args[3]);
  const ig_node *outer = x->step;
  x->step = course->step;
  put_body(x, body);
  x->step = outer;
  const ig_value *next = NULL;
  (void)ig_onnx_results_of(body, &next);
  if (course->flag < count && !course->steady)
    again = ig_onnx_operand(x, &next[course->flag], IG_BOOL);
  again = ig_onnx_as_output(x, again);
  ig_onnx_put_scalar_info(x, IG_ONNX_GRAPH_OUTPUT, again, IG_BOOL);
  for (size_t i = 0; i < count; i++)
    if (i != course->counter && i != course->flag) put_output(x, &next[i]);
  close_graph(x, m);
  ig_onnx_end(x, open);
  ig_onnx_learn_list(x, n, names, count);
}

// cond graph, body graph, carried, further operands
static void put_while(ig_onnx *x, const ig_node *n) {
  const ig_graph *test = graph_of(x, n, &n->args[0]);
  const ig_graph *body = graph_of(x, n, &n->args[1]);
  const ig_value *carried = &n->args[2];
  if (!test || !body || carried->kind != IG_KIND_LIST) return;
  ig_onnx_course course;
  if (ig_onnx_read_course(x, n, test, body, &course)) {
    put_course(x, n, body, &course);
    return;
  }
  size_t count = carried->list.n;
  const char **in = ig_onnx_push(x, ig_mem_mul(count + 3, sizeof *in));
  const char **next = ig_onnx_push(x, ig_mem_mul(count + 1, sizeof *next));
  const char **names = ig_onnx_result_names(x, n, count);
  if (!in || !next || !names) return;
  in[0] = "";
  for (size_t i = 0; i < count; i++) {
    in[i + 2] = ig_onnx_operand(x, &carried->list.at[i], IG_DTYPE_COUNT);
  }
  in[1] = put_condition(x, test, in + 2, count, &n->args[3]);
  size_t open = ig_onnx_begin(
      x, &(ig_onnx_node){
             .op_type = "Loop", .many = in, .nmany = count + 2, .outs = names, .nouts = count});
  mark m = open_graph(x, "body");
  ig_onnx_put_scalar_info(x, IG_ONNX_GRAPH_INPUT, ig_onnx_fresh(x, "iteration"), IG_I64);
  ig_onnx_put_scalar_info(x, IG_ONNX_GRAPH_INPUT, ig_onnx_fresh(x, "again"), IG_BOOL);
  rename_calls(x, body);
  const ig_node *at = body->first;
  for (size_t i = 0; i < count && at && ig_node_is_placeholder(at); i++, at = at->next) {
    put_input(x, at);
  }
  (void)bind_operands(x, at, &n->args[3]);
  put_body(x, body);
  const ig_value *results = NULL;
  size_t given = ig_onnx_results_of(body, &results);
  for (size_t i = 0; i < count && i < given; i++) {
    next[i] = ig_onnx_operand(x, &results[i], IG_DTYPE_COUNT);
  }
  const char *again = put_condition(x, test, next, given < count ? given : count, &n->args[3]);
  again = ig_onnx_as_output(x, again);
  ig_onnx_put_scalar_info(x, IG_ONNX_GRAPH_OUTPUT, again, IG_BOOL);
  for (size_t i = 0; i < given; i++) put_output(x, &results[i]);
  close_graph(x, m);
  ig_onnx_end(x, open);
  ig_onnx_learn_list(x, n, names, count);
}

// ---- map and scan

typedef struct scan {
  const ig_graph *body;
  const ig_value *init;  // NULL: none
  const ig_value *xs;
  const ig_value *more;
  int64_t dim;
  bool reverse;
} scan;

static void emit_scan(ig_onnx *x, const ig_node *n, const scan *s) {
  size_t states = s->init ? s->init->list.n : 0;
  size_t inputs = s->xs->list.n;
  const ig_value *results = NULL;
  size_t count = ig_onnx_results_of(s->body, &results);
  const char **names = ig_onnx_result_names(x, n, count);
  const char **in = ig_onnx_push(x, ig_mem_mul(ig_mem_add(states, inputs) + 1, sizeof *in));
  size_t most = inputs > count ? inputs : count;
  int64_t *axes = ig_onnx_push(x, ig_mem_mul(most + 1, sizeof *axes));
  int64_t *ways = ig_onnx_push(x, ig_mem_mul(most + 1, sizeof *ways));
  if (!names || !in || !axes || !ways || count < states) return;
  for (size_t i = 0; i < states; i++) {
    in[i] = ig_onnx_operand(x, &s->init->list.at[i], IG_DTYPE_COUNT);
  }
  for (size_t i = 0; i < inputs; i++) {
    in[states + i] = ig_onnx_operand(x, &s->xs->list.at[i], IG_DTYPE_COUNT);
  }
  for (size_t i = 0; i < most; i++) axes[i] = s->dim;
  for (size_t i = 0; i < most; i++) ways[i] = s->reverse;
  ig_onnx_node node = {.op_type = "Scan",
                       .many = in,
                       .nmany = states + inputs,
                       .attrs = {ig_onnx_int("num_scan_inputs", (int64_t)inputs),
                                 ig_onnx_ints("scan_input_axes", axes, inputs),
                                 ig_onnx_ints("scan_input_directions", ways, inputs)},
                       .outs = names,
                       .nouts = count};
  // Results are stacked along dimension 0, whichever dimension is scanned.
  if (count > states) {
    node.attrs[3] = ig_onnx_ints("scan_output_directions", ways, count - states);
  }
  size_t open = ig_onnx_begin(x, &node);
  mark m = open_graph(x, "body");
  rename_calls(x, s->body);
  const ig_node *at = s->body->first;
  for (size_t i = 0; i < states + inputs && at && ig_node_is_placeholder(at); i++, at = at->next) {
    put_input(x, at);
  }
  (void)bind_operands(x, at, s->more);
  put_body(x, s->body);
  for (size_t i = 0; i < count; i++) put_output(x, &results[i]);
  close_graph(x, m);
  ig_onnx_end(x, open);
  ig_onnx_learn_list(x, n, names, count);
}

// body graph, xs, operands
static void put_map(ig_onnx *x, const ig_node *n) {
  scan s = {.body = graph_of(x, n, &n->args[0]), .xs = &n->args[1], .more = &n->args[2]};
  if (s.body && s.xs->kind == IG_KIND_LIST) emit_scan(x, n, &s);
}

// combine graph, init, xs, dim, reverse, operands
static void put_scan(ig_onnx *x, const ig_node *n) {
  scan s = {.body = graph_of(x, n, &n->args[0]),
            .init = &n->args[1],
            .xs = &n->args[2],
            .more = &n->args[5],
            .dim = ig_onnx_int_of(x, &n->args[3]),
            .reverse = ig_onnx_bool_of(x, &n->args[4])};
  bool lists = s.init->kind == IG_KIND_LIST && s.xs->kind == IG_KIND_LIST;
  if (s.body && lists) emit_scan(x, n, &s);
}

// ---- inlined regions

static void put_inline(ig_onnx *x, const ig_node *n) {
  size_t graph = ig_hop_find_slot(n->hop, IG_SLOT_GRAPH);
  const ig_graph *g = graph < n->npos ? graph_of(x, n, &n->args[graph]) : NULL;
  if (!g) return;
  rename_calls(x, g);
  const ig_node *at = g->first;
  for (size_t i = graph + 1; i < n->npos && at; i++) {
    if (n->args[i].kind == IG_KIND_LIST) {
      at = bind_operands(x, at, &n->args[i]);
    } else {
      ig_value one = ig_of_list(&n->args[i], 1);
      at = bind_operands(x, at, &one);
    }
  }
  put_body(x, g);
  const ig_value *results = NULL;
  size_t count = ig_onnx_results_of(g, &results);
  if (n->val.kind != IG_KIND_LIST && count == 1) {
    ig_table_slot *s = ig_table_find(&x->names, n);
    const char *own = s ? s->value : n->name;
    const char *name = ig_onnx_operand(x, &results[0], IG_DTYPE_COUNT);
    ig_onnx_same(x, name, own);
    return;
  }
  const char **names = ig_onnx_result_names(x, n, count);
  for (size_t i = 0; names && i < count; i++) {
    const char *name = ig_onnx_operand(x, &results[i], IG_DTYPE_COUNT);
    if (ig_onnx_tensor_of(&results[i])) ig_onnx_same(x, name, names[i]);
  }
}

void ig_onnx_put_hop(ig_onnx *x, const ig_node *n) {
  static const struct {
    const ig_hop *hop;
    void (*put)(ig_onnx *x, const ig_node *n);
  } rows[] = {
      {&ig_hop_cond, put_cond}, {&ig_hop_while_loop, put_while}, {&ig_hop_map, put_map},
      {&ig_hop_scan, put_scan}, {&ig_hop_set_grad, put_inline},  {&ig_hop_strict_mode, put_inline},
  };
  size_t slots = ig_hop_slot_count(n->hop);
  bool rest = ig_hop_find_slot(n->hop, IG_SLOT_REST) < slots;
  bool fits = rest ? n->npos + 1 >= slots : n->npos == slots;
  for (size_t i = 0; fits && i < sizeof rows / sizeof *rows; i++) {
    if (rows[i].hop != n->hop) continue;
    rows[i].put(x, n);
    return;
  }
  ig_onnx_refuse(x, n, "this higher-order operator cannot be written as ONNX");
}
