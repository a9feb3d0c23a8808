// SPDX-License-Identifier: Apache-2.0
// Invariants of a program between two stages, in addition to those of ig_graph_verify: arguments
// match the schemas of the operators, recorded values match schemas and shape rules, sub-graphs are
// valid, and the signature names existing nodes.
#include <string.h>

#include "base/cause.h"
#include "op/autocast.h"
#include "op/hop.h"
#include "op/op.h"
#include "op/refuse.h"
#include "pass/pass.h"

static bool wrong(ig_ctx *c, const ig_node *n, const char *what, const char *which) {
  if (c->status != IG_OK) return false;
  return ig_fail(c, IG_ASSERTION | IG_E_PROGRAM, "program: node '%s' (%s): %s%s%s", n->name,
                 n->target, what, which ? " " : "", which ? which : "") == IG_OK;
}

static bool differs(ig_ctx *c, const ig_node *n, const char *what, const char *found,
                    const char *expected) {
  return ig_fail(c, IG_ASSERTION | IG_E_PROGRAM,
                 "program: node '%s' (%s): found %s %s, expected %s by its operands", n->name,
                 n->target, what, found, expected) == IG_OK;
}

// ---- arguments ----

static bool is_number(ig_kind k) {
  return k == IG_KIND_INT || k == IG_KIND_FLOAT || k == IG_KIND_BOOL || k == IG_KIND_COMPLEX;
}

// A value that is not a list against a schema type. Numbers are accepted for tensors and for each
// other; host objects are not checked.
static bool item_fits(ig_type t, ig_kind k) {
  switch (t) {
    case IG_TYPE_TENSOR:
      return k == IG_KIND_TENSOR || is_number(k);
    case IG_TYPE_SCALAR:
    case IG_TYPE_INT:
    case IG_TYPE_SYMINT:
    case IG_TYPE_FLOAT:
    case IG_TYPE_BOOL:
    case IG_TYPE_COMPLEX:
      return is_number(k);
    case IG_TYPE_STR:
      return k == IG_KIND_STR;
    case IG_TYPE_DTYPE:
      return k == IG_KIND_DTYPE;
    case IG_TYPE_LAYOUT:
      return k == IG_KIND_LAYOUT;
    case IG_TYPE_DEVICE:
      return k == IG_KIND_DEVICE;
    case IG_TYPE_MEMORY_FORMAT:
      return k == IG_KIND_MEMORY_FORMAT;
    default:
      return true;
  }
}

static bool is_number_type(ig_type t) {
  return item_fits(t, IG_KIND_INT);
}

static const ig_value *value_of(const ig_value *v) {
  return v->kind == IG_KIND_NODE ? &v->node->val : v;
}

static bool arg_fits(const ig_arg *a, const ig_value *given) {
  const ig_value *v = value_of(given);
  bool unknown = v->kind == IG_KIND_NONE && given->kind == IG_KIND_NODE;  // nothing is recorded
  if (unknown || v->kind == IG_KIND_OBJECT) return true;
  if (v->kind == IG_KIND_NONE) {
    return a->optional || (a->has_default && a->def.kind == IG_KIND_NONE) ||
           a->type == IG_TYPE_GENERATOR || a->type == IG_TYPE_OTHER;
  }
  if (v->kind == IG_KIND_INTS) return a->list && is_number_type(a->type);
  if (!a->list) return item_fits(a->type, v->kind);
  if (v->kind != IG_KIND_LIST) return item_fits(a->type, v->kind) && v->kind != IG_KIND_TENSOR;
  for (size_t i = 0; i < v->list.n; i++) {
    const ig_value *item = value_of(&v->list.at[i]);
    bool absent =
        item->kind == IG_KIND_NONE && (a->item_optional || v->list.at[i].kind == IG_KIND_NODE);
    if (!absent && item->kind != IG_KIND_OBJECT && !item_fits(a->type, item->kind)) return false;
  }
  return true;
}

static size_t place_of(const ig_schema *s, const char *key) {
  size_t i = 0;
  while (i < s->nargs && strcmp(s->args[i].name, key) != 0) i++;
  return i;
}

// One value per argument of the schema: given, or the default. False after an error.
static bool bind(ig_ctx *c, const ig_node *n, const ig_value **args) {
  const ig_schema *s = &n->op->schema;
  if (n->npos > s->nargs) return wrong(c, n, "has too many arguments", NULL);
  for (size_t i = 0; i < s->nargs; i++) args[i] = NULL;
  for (size_t i = 0; i < n->npos + n->nkw; i++) {
    size_t at = i < n->npos ? i : place_of(s, n->keys[i - n->npos]);
    if (at == s->nargs) return wrong(c, n, "has an unknown argument", n->keys[i - n->npos]);
    if (args[at]) return wrong(c, n, "has an argument twice:", s->args[at].name);
    if (!arg_fits(&s->args[at], &n->args[i])) {
      return wrong(c, n, "has an argument that does not match the schema:", s->args[at].name);
    }
    args[at] = &n->args[i];
  }
  for (size_t i = 0; i < s->nargs; i++) {
    if (args[i]) continue;
    if (!s->args[i].has_default && !s->args[i].optional) {
      return wrong(c, n, "lacks the argument", s->args[i].name);
    }
    args[i] = &s->args[i].def;
  }
  return true;
}

// ---- results ----

static bool result_fits(const ig_arg *r, const ig_value *v) {
  if (v->kind == IG_KIND_NONE || v->kind == IG_KIND_OBJECT) return true;
  if (r->list) return v->kind == IG_KIND_LIST;
  if (r->type == IG_TYPE_TENSOR) return v->kind == IG_KIND_TENSOR;
  return item_fits(r->type, v->kind);
}

static bool check_results(ig_ctx *c, const ig_node *n) {
  const ig_schema *s = &n->op->schema;
  const ig_value *v = &n->val;
  if (v->kind == IG_KIND_NONE) return true;
  if (s->nrets == 0) return wrong(c, n, "has a value, but its operator returns nothing", NULL);
  if (s->nrets == 1) {
    return result_fits(&s->rets[0], v) || wrong(c, n, "has a value of another kind", NULL);
  }
  if (v->kind != IG_KIND_LIST || v->list.n != s->nrets) {
    return wrong(c, n, "does not have one value per result", NULL);
  }
  for (size_t i = 0; i < s->nrets; i++) {
    if (!result_fits(&s->rets[i], &v->list.at[i])) {
      return wrong(c, n, "has a value of another kind", NULL);
    }
  }
  return true;
}

// ---- shape rules ----

static bool wants_ints(const ig_arg *a) {
  return a->list && (a->type == IG_TYPE_INT || a->type == IG_TYPE_SYMINT);
}

// An argument with nodes replaced by values; lists live in the innermost scope.
static bool evaluate(ig_ctx *c, const ig_arg *a, const ig_value *from, ig_value *to) {
  *to = *value_of(from);
  if (to->kind != IG_KIND_LIST) return true;
  size_t n = to->list.n;
  ig_value *items = ig_scope_array(c, n, sizeof *items);
  ig_int *ints = ig_scope_array(c, n, sizeof *ints);
  if (!items || !ints) return false;
  for (size_t i = 0; i < n; i++) {
    items[i] = *value_of(&to->list.at[i]);
    ints[i] = items[i].kind == IG_KIND_BOOL ? ig_const(items[i].b) : items[i].i;
  }
  to->list.at = items;
  if (wants_ints(a)) *to = ig_of_ints(ints, n);
  return true;
}

// All sizes are numbers, so that a rule makes no queries.
static bool is_static(const ig_value *v) {
  switch (v->kind) {
    case IG_KIND_TENSOR:
      return !ig_tensor_is_symbolic(v->tensor);
    case IG_KIND_INT:
      return !v->i.expr;
    case IG_KIND_FLOAT:
      return !v->f_expr;
    case IG_KIND_BOOL:
      return !v->b_expr;
    case IG_KIND_LIST:
      for (size_t i = 0; i < v->list.n; i++) {
        if (!is_static(&v->list.at[i])) return false;
      }
      return true;
    case IG_KIND_INTS:
      for (size_t i = 0; i < v->ints.n; i++) {
        if (v->ints.at[i].expr) return false;
      }
      return true;
    case IG_KIND_OBJECT:
    case IG_KIND_NODE:
    case IG_KIND_GRAPH:
      return false;
    default:
      return true;
  }
}

static const ig_tensor *first_tensor(const ig_value *args, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (args[i].kind == IG_KIND_TENSOR) return args[i].tensor;
    const ig_tensor *t =
        args[i].kind == IG_KIND_LIST ? first_tensor(args[i].list.at, args[i].list.n) : NULL;
    if (t) return t;
  }
  return NULL;
}

static bool has_rule(const ig_op *op) {
  return op->form == IG_FORM_PLAIN && op->def && op->def->shape && op->schema.nrets == 1 &&
         !op->schema.rets[0].list && !op->user;
}

// The sizes and dtype that the rule computes for the recorded operands.
static bool check_rule(ig_ctx *c, const ig_node *n, const ig_value *const *given) {
  const ig_op *op = n->op;
  const ig_tensor *t = n->val.tensor;
  ig_value args[IG_MAX_ARGS];
  for (size_t i = 0; i < op->schema.nargs; i++) {
    if (!evaluate(c, &op->schema.args[i], given[i], &args[i])) return false;
    if (!is_static(&args[i])) return true;
  }
  const ig_tensor *first = first_tensor(args, op->schema.nargs);
  if (!first) return true;
  ig_meta m;
  ig_meta_init(&m, first->dtype, first->device);
  op->def->shape(c, op, args, &m);
  if (c->status != IG_OK) return false;
  if (m.absent) return true;
  if (m.dtype != t->dtype) {
    return differs(c, n, "dtype", ig_dtype_text(t->dtype), ig_dtype_text(m.dtype));
  }
  bool same = m.ndim == t->ndim;
  for (int d = 0; same && d < m.ndim; d++) same = m.size[d].value == ig_sizes(t)[d].value;
  return same || differs(c, n, "sizes", ig_sizes_text(c, ig_sizes(t), (size_t)t->ndim),
                         ig_sizes_text(c, m.size, (size_t)m.ndim));
}

static bool check_call(ig_ctx *c, const ig_node *n, bool casts) {
  const ig_value *args[IG_MAX_ARGS];
  if (n->op->schema.nargs > IG_MAX_ARGS || !bind(c, n, args)) return c->status == IG_OK;
  if (!check_results(c, n)) return false;
  bool one = n->val.kind == IG_KIND_TENSOR && !ig_tensor_is_symbolic(n->val.tensor);
  return !one || casts || n->given || !has_rule(n->op) || check_rule(c, n, args);
}

// ---- graphs and signatures ----

static bool reads(const ig_node *user, const ig_node *n, const ig_use *use) {
  for (size_t i = 0; i < user->ninputs; i++) {
    if (user->inputs[i] == n) return &user->reads[i] == use;
  }
  return false;
}

// The users of a node: linked both ways, each with the node among its operands.
static bool check_uses(ig_ctx *c, const ig_node *n) {
  const ig_use *before = NULL;
  size_t count = 0;
  for (const ig_use *use = n->first_use; use; before = use, use = use->next, count++) {
    if (use->prev != before) return wrong(c, n, "has users that are not linked both ways", NULL);
    if (!use->user || use->user->graph != n->graph || use->user->erased) {
      return wrong(c, n, "is used by a node that is not in the graph", NULL);
    }
    if (!reads(use->user, n, use)) {
      return wrong(c, n, "is not among the operands of its user", use->user->name);
    }
  }
  if (n->last_use != before) return wrong(c, n, "has a last user that is not the last", NULL);
  return count == n->users || wrong(c, n, "has a wrong count of users", NULL);
}

// A sub-graph in which autocast is enabled.
static bool is_autocast_body(const ig_node *n) {
  for (const ig_use *use = n->first_use; use; use = use->next) {
    if (use->user->callee == IG_CALLEE_HOP && use->user->hop == &ig_hop_autocast) return true;
  }
  return false;
}

// casts: autocast is enabled around the graph. The casts that it implies may not be nodes, and then
// no shape rule applies: the recorded operands are not those of the call.
static bool check_graph(ig_ctx *c, const ig_graph *g, bool casts) {
  if (ig_graph_verify(c, g) != IG_OK) return false;
  size_t regions = casts;
  for (const ig_node *n = g->first; n; n = n->next) {
    ig_autocast_switch to = ig_node_autocast(n);
    regions += to == IG_SWITCH_ENTER;
    regions -= to == IG_SWITCH_EXIT && regions > 0;
    ig_scope s = ig_scope_open(c);
    bool call = n->kind == IG_NODE_CALL && n->callee == IG_CALLEE_OP;
    bool ok = check_uses(c, n) && (!call || check_call(c, n, regions > 0));
    ig_scope_close(c, s);
    if (!ok) return false;
    if (n->sub && !check_graph(c, n->sub, regions > 0 || is_autocast_body(n))) return false;
  }
  return true;
}

static bool bad_signature(ig_ctx *c, const char *what, const char *name) {
  return ig_fail(c, IG_ASSERTION | IG_E_PROGRAM,
                 "program: the signature's %s '%s' is not the graph's", what,
                 name ? name : "?") == IG_OK;
}

static bool check_inputs(ig_ctx *c, const ig_program *p) {
  const ig_node *n = p->graph->first;
  for (size_t i = 0; i < p->ninputs; i++, n = n->next) {
    const ig_input_spec *in = &p->inputs[i];
    if (!n || !ig_node_is_placeholder(n) || strcmp(n->name, in->name) != 0 || n->role != in->kind) {
      return bad_signature(c, "input", in->name);
    }
    if (in->kind != IG_INPUT_USER && !in->target) return bad_signature(c, "weight", in->name);
  }
  return !n || !ig_node_is_placeholder(n) || bad_signature(c, "missing input", n->name);
}

// Is there an input with that target, or a user input with that name?
static bool has_target(const ig_program *p, const ig_output_spec *o) {
  for (size_t i = 0; i < p->ninputs; i++) {
    const ig_input_spec *in = &p->inputs[i];
    bool user = o->kind == IG_OUTPUT_INPUT_MUTATION || o->kind == IG_OUTPUT_GRAD_INPUT;
    if (strcmp(user ? in->name : in->target ? in->target : "", o->target) == 0) return true;
  }
  return false;
}

static bool check_outputs(ig_ctx *c, const ig_program *p) {
  const ig_node *last = p->graph->last;
  if (last->npos != p->noutputs) {
    return ig_fail(c, IG_ASSERTION | IG_E_PROGRAM,
                   "program: found %zu outputs, expected %zu by the signature", last->npos,
                   p->noutputs) == IG_OK;
  }
  for (size_t i = 0; i < p->noutputs; i++) {
    const ig_output_spec *o = &p->outputs[i];
    const ig_value *v = &last->args[i];
    bool same = v->kind != IG_KIND_NODE || (o->name && strcmp(v->node->name, o->name) == 0);
    if (!same) return bad_signature(c, "output", o->name);
    if (ig_output_is_write(o) && (!o->target || !has_target(p, o))) {
      return bad_signature(c, "target", o->target);
    }
  }
  return true;
}

ig_status ig_program_verify(ig_ctx *c, const ig_program *p) {
  if (c->status != IG_OK) return c->status;
  if (check_graph(c, p->graph, c->mode->autocasts) && check_inputs(c, p)) (void)check_outputs(c, p);
  return c->status;
}
