// SPDX-License-Identifier: Apache-2.0
// Nodes of a graph -> nodes of an ONNX graph: finds the row of every call. Numbers (sizes and what
// is computed from them) are written where they are needed, not here. Parameters and buffers that
// are used are initializers under their own names; their data is written from the tensors to the
// file without a copy if they are dense.
#include <stdio.h>
#include <string.h>

#include "onnx/convention.h"
#include "onnx/functions.h"
#include "onnx/lower.h"
#include "onnx/model.h"
#include "op/shape.h"
#include "tensor/copy.h"

// ---- weights

// The bytes of a weight in row-major order.
static ig_bytes weight_bytes(ig_onnx *x, const ig_tensor *t) {
  size_t n = (size_t)ig_tensor_numel(t) * ig_dtype_size(t->dtype);
  if (n == 0 || ig_tensor_is_dense(t)) return (ig_bytes){ig_tensor_data(t), n};
  void *copy = ig_onnx_push(x, n);
  if (copy) ig_tensor_read(t, t->dtype, copy);
  return (ig_bytes){copy, copy ? n : 0};
}

static void push_tensor(ig_onnx *x, const char *name, const ig_tensor *t, bool weight) {
  int64_t *dims = ig_onnx_push(x, ig_mem_mul((size_t)t->ndim + 1, sizeof *dims));
  if (!dims) return;
  struct ig_onnx_tensor w = {.name = name, .dtype = t->dtype, .ndim = t->ndim, .dims = dims};
  for (int d = 0; d < t->ndim; d++) dims[d] = ig_tensor_size(t, d).value;
  if (ig_dtype_is_complex(t->dtype)) {  // pairs of real numbers, as they lie in memory
    w.dtype = ig_to_real(t->dtype);
    dims[w.ndim++] = 2;
  }
  if (!ig_tensor_is_fake(t)) w.data = weight_bytes(x, t);
  w.is_weight = weight;
  if (!ig_vec_push(x->c->alloc, &x->tensors, w)) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
}

// A folded result. A graph outside the one that is being written may read it later too.
const char *ig_onnx_add_tensor(ig_onnx *x, const char *name, const ig_tensor *t) {
  push_tensor(x, name, t, false);
  if (x->tensors.n && x->inside && !x->outer) x->tensors.at[x->tensors.n - 1].is_shared = true;
  return name;
}

const char *ig_onnx_add_weight(ig_onnx *x, const char *name, const ig_tensor *t) {
  push_tensor(x, name, t, true);
  return name;
}

// A weight that only functions use.
const char *ig_onnx_add_shared(ig_onnx *x, const char *path, const ig_tensor *t) {
  const char *name = ig_graph_find(x->g, path) ? ig_onnx_fresh(x, path) : path;
  push_tensor(x, name, t, true);
  return name;
}

static const ig_tensor *given_weight(const ig_onnx *x, const char *name) {
  for (size_t i = 0; i < x->options->nweights; i++) {
    if (strcmp(x->options->weights[i].name, name) == 0) return x->options->weights[i].tensor;
  }
  return NULL;
}

static bool same_bytes(const struct ig_onnx_tensor *a, const ig_tensor *b, ig_bytes bytes) {
  bool same = a->dtype == b->dtype && a->ndim == b->ndim && a->data.n == bytes.n;
  for (int d = 0; same && d < b->ndim; d++) same = a->dims[d] == ig_tensor_size(b, d).value;
  return same && (a->data.at == bytes.at || !bytes.n || memcmp(a->data.at, bytes.at, bytes.n) == 0);
}

// With the TorchScript conventions equal weights are one initializer; while a model is trained only
// those that share memory.
bool ig_onnx_share_weight(ig_onnx *x, const char *name, const ig_tensor *t) {
  const ig_onnx_options *o = x->options;
  bool stored = !o->weights_as_inputs && !o->initializers_as_inputs && !x->functions;
  if (!o->torchscript || !stored || x->outer || !ig_tensor_is_dense(t)) return false;
  ig_bytes bytes = weight_bytes(x, t);
  for (size_t i = 0; i < x->tensors.n; i++) {
    const struct ig_onnx_tensor *w = &x->tensors.at[i];
    if (!w->is_weight || !same_bytes(w, t, bytes)) continue;
    if (o->training && w->data.at != bytes.at) continue;
    if (strcmp(w->name, name) == 0) continue;  // a value may have the name of another weight
    ig_onnx_same(x, w->name, name);
    return true;
  }
  return false;
}

// Has a weight of that name been added? A program may take one weight through several inputs.
static bool is_added(ig_onnx *x, const char *name) {
  ig_map_value *at = ig_map_put(&x->added, name);
  if (!at) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  bool before = !at || at->num;
  if (at) at->num = 1;
  return before;
}

static void add_weight(ig_onnx *x, const ig_node *n, const char *name, const ig_tensor *t) {
  const ig_tensor *other = given_weight(x, name);
  if (other) t = other;
  if (ig_tensor_is_fake(t) && !x->options->weights_as_inputs) {
    (void)ig_fail(x->c, IG_INVALID, "weight '%s' has no data: it is a fake tensor", name);
    return;
  }
  // A weight may have the name of a node; then it keeps the name of its placeholder.
  const char *own = ig_graph_find(x->g, name) ? n->name : name;
  if (x->options->torchscript) own = ig_onnx_weight_name(x, name);
  ig_onnx_know_weight(x, own, t);
  (void)ig_onnx_set_name(x, n, own);
  if (!x->options->torchscript && is_added(x, own)) return;
  if (!ig_onnx_share_weight(x, own, t)) push_tensor(x, own, t, true);
}

// A tensor that the model's code made is a constant, and what is computed from it is folded.
static void add_constant(ig_onnx *x, const ig_node *n, const ig_tensor *t) {
  ig_table_slot *slot = ig_table_put(&x->folded, n);
  if (!slot) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  if (slot) slot->value = ig_tensor_retain((ig_tensor *)t);
}

static const ig_tensor *weight_of(const ig_onnx *x, const ig_input_spec *in) {
  bool weight = in->kind != IG_INPUT_USER && in->kind != IG_INPUT_TOKEN && in->target;
  return weight ? ig_program_find_weight(x->p, in->target) : NULL;
}

static bool is_same_tensor(const ig_tensor *a, const ig_tensor *b) {
  bool same = a->storage == b->storage && a->dtype == b->dtype && a->ndim == b->ndim &&
              a->offset.value == b->offset.value;
  for (int d = 0; same && d < a->ndim; d++) {
    same = ig_sizes(a)[d].value == ig_sizes(b)[d].value &&
           ig_strides(a)[d].value == ig_strides(b)[d].value;
  }
  return same;
}

const size_t *ig_onnx_first_names(ig_onnx *x) {
  const ig_input_spec *in = NULL;
  size_t n = ig_program_inputs(x->p, &in);
  if (x->first_names) return x->first_names;
  x->first_names = ig_onnx_push(x, ig_mem_mul(n + 1, sizeof *x->first_names));
  ig_table seen = ig_table_make(x->c->alloc);
  for (size_t i = 0; x->first_names && i < n; i++) {
    const ig_tensor *t = x->options->torchscript ? weight_of(x, &in[i]) : NULL;
    ig_table_slot *s = t ? ig_table_put(&seen, t->storage) : NULL;
    if (t && !s) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
    const ig_input_spec *first = s ? s->value : NULL;
    bool same = first && is_same_tensor(t, weight_of(x, first));
    if (s && !first) s->value = (void *)&in[i];
    x->first_names[i] = same ? (size_t)(first - in) : i;
  }
  ig_table_free(&seen);
  return x->first_names;
}

// The input whose placeholder is read of those that are the weight i, which is the first of them.
static size_t read_one(const ig_onnx *x, const ig_input_spec *in, size_t n, size_t i) {
  for (size_t j = i; j < n; j++) {
    const ig_node *node = x->first_names[j] == i ? ig_graph_find(x->g, in[j].name) : NULL;
    if (node && node->users) return j;
  }
  return i;
}

void ig_onnx_add_weights(ig_onnx *x) {
  const ig_input_spec *in = NULL;
  size_t n = ig_program_inputs(x->p, &in);
  const size_t *first = ig_onnx_first_names(x);
  for (size_t i = 0; first && i < n; i++) {
    size_t j = read_one(x, in, n, first[i]);
    if (first[i] != i && j == i) continue;  // written under its first name
    if (first[i] != i) j = i;
    const ig_node *node = ig_graph_find(x->g, in[j].name);
    if (in[j].kind == IG_INPUT_USER || !node || node->users == 0) continue;
    const ig_tensor *t = weight_of(x, &in[j]);
    bool made = in[j].kind == IG_INPUT_CONSTANT && x->options->torchscript;
    if (t && made && !ig_tensor_is_fake(t) && !x->functions) {
      add_constant(x, node, t);
    } else if (t) {
      add_weight(x, node, in[i].target, t);
    } else if (in[j].kind != IG_INPUT_TOKEN) {
      ig_onnx_refuse(x, node, "this input is not a tensor: it cannot be written as ONNX");
    }
  }
}

// ---- names

static bool is_getitem(const ig_node *n) {
  return n->kind == IG_NODE_CALL && n->callee == IG_CALLEE_GETITEM;
}

static const char **elements_of(ig_onnx *x, const ig_node *n) {
  ig_table_slot *s = ig_table_find(&x->elements, n);
  return s ? s->value : NULL;
}

// The name of a node in the file; inside a sub-graph names must differ from those outside.
const char *ig_onnx_own_name(ig_onnx *x, const ig_node *n) {
  ig_table_slot *s = ig_table_find(&x->names, n);
  if (s) return s->value;
  if (x->inside == 0) return n->name;
  const char *name = ig_onnx_fresh(x, x->outer ? "v" : n->name);
  (void)ig_onnx_set_name(x, n, name);
  return name;
}

// How many results a node has: the elements of its value; of a module, as many as are picked.
static size_t result_count(ig_onnx *x, const ig_node *n) {
  if (n->val.kind == IG_KIND_LIST) return n->val.list.n;
  size_t count = 0;
  bool module = n->kind == IG_NODE_MODULE && n->val.kind != IG_KIND_TENSOR;
  for (const ig_use *u = module ? n->first_use : NULL; u; u = u->next) {
    if (!is_getitem(u->user) || u->user->npos < 2) continue;
    int64_t i = ig_onnx_int_of(x, &u->user->args[1]);
    if (i >= 0 && (size_t)i >= count) count = (size_t)i + 1;
  }
  return count;
}

static void make_elements(ig_onnx *x, const ig_node *n) {
  bool call = n->kind == IG_NODE_CALL || n->kind == IG_NODE_MODULE;
  if (!call || (n->val.kind != IG_KIND_LIST && n->kind != IG_NODE_MODULE)) return;
  size_t count = result_count(x, n);
  if (n->val.kind != IG_KIND_LIST && count == 0) return;
  ig_table_slot *s = ig_table_put(&x->elements, n);
  if (!s) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  if (!s) return;
  s->value = ig_onnx_push(x, ig_mem_mul(count + 1, sizeof(char *)));
  s->number = (int64_t)count;
}

// Results that a getitem picks have its name. Called for all nodes before any is emitted.
static void name_elements(ig_onnx *x, const ig_graph *g) {
  for (const ig_node *n = g->first; n; n = n->next) {
    make_elements(x, n);
    if (!is_getitem(n) || n->npos < 2 || n->args[0].kind != IG_KIND_NODE) continue;
    ig_table_slot *s = ig_table_find(&x->elements, n->args[0].node);
    const char **names = s ? s->value : NULL;
    int64_t i = ig_onnx_int_of(x, &n->args[1]);
    int64_t count = names ? s->number : 0;
    if (i < 0) i += count;
    if (i < 0 || i >= count) continue;
    if (names[i]) (void)ig_onnx_set_name(x, n, names[i]);  // picked twice: one name
    if (!names[i]) names[i] = ig_onnx_own_name(x, n);
  }
}

// ---- calls

void ig_onnx_fill_args(const ig_node *n, ig_value *args) {
  const ig_schema *s = &n->op->schema;
  for (size_t i = 0; i < s->nargs; i++) {
    args[i] = i < n->npos ? n->args[i] : s->args[i].has_default ? s->args[i].def : ig_none();
    for (size_t k = 0; k < n->nkw; k++) {
      if (strcmp(n->keys[k], s->args[i].name) == 0) args[i] = n->args[n->npos + k];
    }
  }
}

// A number read from data: x.item().
static void put_number(ig_onnx *x, const ig_node *n) {
  const ig_value *v = &n->val;
  const ig_expr *e = v->kind == IG_KIND_INT     ? v->i.expr
                     : v->kind == IG_KIND_FLOAT ? v->f_expr
                     : v->kind == IG_KIND_BOOL  ? v->b_expr
                                                : NULL;
  size_t count = 0;
  const ig_expr *const *symbols = e ? ig_expr_symbols(x->c, e, &count) : NULL;
  if (count == 1) e = symbols[0];  // a truth value is known by an integer that is 1
  if (!e || e->kind != IG_EXPR_SYMBOL || n->npos == 0 || !ig_onnx_tensor_of(&n->args[0])) return;
  if (ig_table_find(&x->sources, e)) return;  // a size of some tensor
  ig_dtype want = ig_onnx_number_type(e);
  const ig_tensor *t = ig_onnx_tensor_of(&n->args[0]);
  const char *in = ig_onnx_operand(x, &n->args[0], IG_DTYPE_COUNT);
  const char *name = ig_onnx_as_number(x, in, t->ndim);
  if (t->dtype != want) name = ig_onnx_cast(x, name, want, NULL);
  ig_onnx_learn_number(x, name, e);
}

static bool refuse_complex(ig_onnx *x, const ig_node *n) {
  if (n->op && ig_onnx_row_takes_complex(ig_onnx_find_row(x, n->target))) return false;
  bool found =
      ig_onnx_is_complex_call(&n->val, 1) || ig_onnx_is_complex_call(n->args, n->npos + n->nkw);
  if (found) ig_onnx_refuse(x, n, "this call on complex numbers cannot be written as ONNX");
  return found;
}

static void learn_results(ig_onnx *x, const ig_onnx_call *call, const ig_value *val) {
  if (val->kind == IG_KIND_TENSOR) ig_onnx_learn(x, call->out, val->tensor);
  for (size_t i = 0; val->kind == IG_KIND_LIST && i < call->nouts; i++) {
    if (call->outs[i] && val->list.at[i].kind == IG_KIND_TENSOR) {
      ig_onnx_learn(x, call->outs[i], val->list.at[i].tensor);
    }
  }
}

// A custom operator: the user's translation is called.
static bool put_translated(ig_onnx *x, const ig_onnx_call *call) {
  const ig_onnx_options *o = x->options;
  if (!o->translates || !o->translates(call->node->target, o->user)) return false;
  if (!o->translate(x, call, o->user)) {
    (void)ig_fail(x->c, IG_RUNTIME, "%s: the translation failed", call->node->target);
  }
  return true;
}

static void put_row(ig_onnx *x, const ig_onnx_call *call) {
  const ig_node *n = call->node;
  if (!call->val && !call->outs) {
    ig_onnx_refuse(x, n, "a result that is not a tensor cannot be written as ONNX");
    return;
  }
  if (put_translated(x, call) || ig_onnx_put_sum(x, call) || ig_onnx_put_normalized(x, call))
    return;
  const ig_onnx_row *row = call->row;
  if (!row || (row->can && !row->can(x->least, call->args, n->op->schema.nargs))) {
    ig_onnx_refuse(x, n, "this operator cannot be written as ONNX (opset %d)", x->opset);
    return;
  }
  row->fn(x, call);
}

static void put_op(ig_onnx *x, const ig_node *n) {
  // The model has no side effects, and ONNX has no assertions.
  if (n->users == 0 || (n->op && ig_op_is_check(n->op)) || refuse_complex(x, n)) return;
  const ig_value *val = &n->val;
  if (val->kind == IG_KIND_INT || val->kind == IG_KIND_FLOAT || val->kind == IG_KIND_BOOL) {
    put_number(x, n);
    return;
  }
  ig_value args[IG_MAX_ARGS];
  if (!n->op || n->op->schema.nargs > IG_MAX_ARGS) return;
  ig_onnx_fill_args(n, args);
  if (!x->options->no_folding && ig_onnx_fold(x, n, args)) return;
  if (n == x->step || ig_onnx_is_summand(x, n) || ig_onnx_is_normalized(x, n)) return;
  ig_onnx_call call = {.node = n, .row = ig_onnx_find_row(x, n->target), .args = args};
  call.out = ig_onnx_own_name(x, n);
  call.outs = elements_of(x, n);
  if (call.outs) {
    call.nouts = val->list.n;
    call.out = call.nouts ? call.outs[0] : NULL;
    val = call.nouts ? &val->list.at[0] : val;
  }
  if (call.outs && !call.nouts) return;
  call.val = val->kind == IG_KIND_TENSOR ? val->tensor : NULL;
  if (x->options->torchscript && ig_onnx_repeats(x, &call)) {
    learn_results(x, &call, &n->val);
    return;
  }
  if (x->options->torchscript) ig_onnx_count_call(x, n);
  put_row(x, &call);
  if (x->options->torchscript) ig_onnx_note_result(x, &call);
  learn_results(x, &call, &n->val);
}

static void put_call(ig_onnx *x, const ig_node *n) {
  switch (n->callee) {
    case IG_CALLEE_OP:
      put_op(x, n);
      break;
    case IG_CALLEE_HOP:
      ig_onnx_put_hop(x, n);
      break;
    case IG_CALLEE_HOST:
      if (n->users) ig_onnx_refuse(x, n, "a call of the host cannot be written as ONNX");
      break;
    default:
      break;  // results of others, numbers
  }
}

void ig_onnx_put_nodes(ig_onnx *x, const ig_graph *g) {
  name_elements(x, g);
  for (const ig_node *n = g->first; n && ig_ctx_status(x->c) == IG_OK; n = n->next) {
    x->node = n;
    if (n->kind == IG_NODE_CALL) put_call(x, n);
    if (n->kind == IG_NODE_ATTR && n->constant) {
      if (x->outer) ig_onnx_take_weight(x, n);
      if (!x->outer) add_weight(x, n, n->target, n->constant);
    }
    if (n->kind == IG_NODE_MODULE) ig_onnx_put_module(x, n);
    if (n->kind == IG_NODE_METHOD) {
      ig_onnx_refuse(x, n, "a call of a method cannot be written as ONNX");
    }
  }
  x->node = NULL;
}
