// SPDX-License-Identifier: Apache-2.0
#include "script/trace.h"

#include <stdio.h>
#include <string.h>

#include "ingot/aten.h"
#include "op/call.h"
#include "op/native.h"
#include "op/tape.h"
#include "script/compile.h"
#include "script/interp.h"
#include "script/ir_edit.h"
#include "script/ir_pass.h"
#include "script/numbers.h"
#include "script/tensor_text.h"
#include "script/tracing.h"
#include "tensor/number.h"

// ---- life

static bool record_call(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs,
                        void *user);

ig_strace *ig_strace_create(ig_ctx *c, ig_sunit *u, const ig_strace_host *host, bool strict) {
  ig_strace *t = ig_mem_new(c->alloc, sizeof *t);
  if (!t) {
    (void)ig_fail(c, IG_NOMEM, "out of memory");
    return NULL;
  }
  *t = (ig_strace){.c = c, .u = ig_sunit_retain(u), .strict = strict};
  if (host) t->host = *host;
  t->tracer = (ig_rewrite){.fn = record_call, .user = t, .eager = true};
  t->attributes = ig_map_make(c->alloc);
  t->g = ig_sgraph_create(&u->types);
  if (t->g) t->block = t->g->body;
  if (t->g) return t;
  ig_strace_free(t);
  return NULL;
}

void ig_strace_free(ig_strace *t) {
  if (!t) return;
  ig_strace_end(t);
  for (size_t i = 0; i < t->cap; i++) {
    if (t->table[i].tensor) ig_tensor_release(t->table[i].tensor);
  }
  ig_mem_array_free(t->c->alloc, t->table, t->cap, sizeof *t->table);
  ig_map_free(&t->attributes);
  ig_vec_free(t->c->alloc, &t->objects);
  for (size_t i = 0; i < t->graphs.n; i++) ig_sgraph_free(t->graphs.at[i]);
  ig_vec_free(t->c->alloc, &t->graphs);
  ig_sgraph_free(t->g);
  ig_sunit_release(t->u);
  ig_mem_free(t->c->alloc, t, sizeof *t);
}

bool ig_strace_is_open(ig_strace *t) {
  if (!t->g) ig_fail_text(t->c, IG_RUNTIME, "the trace is finished: its graph was taken");
  return t->g != NULL;
}

bool ig_strace_begin(ig_strace *t) {
  if (!ig_strace_is_open(t)) return false;
  if (ig_strace_of(t->c)) {
    ig_fail_text(t->c, IG_RUNTIME, "Tracing can't be nested");
    return false;
  }
  t->mode = ig_mode_push(t->c, &(ig_mode_change){IG_MODE_REWRITE, {.rewrite = &t->tracer}});
  t->open = true;
  return true;
}

void ig_strace_end(ig_strace *t) {
  if (t->open) ig_mode_pop(t->c, &t->mode);
  t->open = false;
}

ig_strace *ig_strace_of(const ig_ctx *c) {
  const ig_rewrite *tracer = c->mode->rewrite;
  return tracer && tracer->fn == record_call ? tracer->user : NULL;
}

// ---- values of tensors

static size_t slot_of(const ig_strace *t, const ig_tensor *x) {
  size_t i = ((uintptr_t)x >> 4) * 0x9e3779b97f4a7c15U >> 20;
  for (i &= t->cap - 1; t->table[i].tensor && t->table[i].tensor != x;) i = (i + 1) & (t->cap - 1);
  return i;
}

static bool grow(ig_strace *t) {
  ig_straced *old = t->table;
  size_t cap = t->cap;
  size_t bigger = cap ? 2 * cap : 64;
  ig_straced *fresh = ig_mem_array(t->c->alloc, bigger, sizeof *fresh);
  if (!fresh) return ig_fail(t->c, IG_NOMEM, "out of memory") == IG_OK;
  t->table = fresh;
  t->cap = bigger;
  for (size_t i = 0; i < cap; i++) {
    if (old[i].tensor) t->table[slot_of(t, old[i].tensor)] = old[i];
  }
  ig_mem_array_free(t->c->alloc, old, cap, sizeof *old);
  return true;
}

static ig_svalue *find_value(const ig_strace *t, const ig_tensor *x) {
  if (!t->cap) return NULL;
  const ig_straced *at = &t->table[slot_of(t, x)];
  return at->tensor ? at->value : NULL;
}

bool ig_strace_set(ig_strace *t, ig_tensor *x, ig_svalue *v) {
  if (!v || (2 * t->n >= t->cap && !grow(t))) return false;
  ig_straced *at = &t->table[slot_of(t, x)];
  if (!at->tensor) {
    at->tensor = ig_tensor_retain(x);
    t->n++;
  }
  at->value = v;
  // A value of a called function or an attribute is shown with what it was in this run.
  if (v->type->kind == IG_STYPE_TENSOR && !(v->type->tensor && v->type->tensor->dtype >= 0)) {
    v->type = ig_stype_of_tensor(&t->u->types, x);
  }
  return v->type != NULL;
}

bool ig_strace_set_first(ig_strace *t, ig_tensor *x, ig_svalue *v) {
  return find_value(t, x) || ig_strace_set(t, x, v);
}

// ---- nodes

// Sources live as long as the unit, because graphs share ranges; equal ones are kept once.
static const ig_source *kept_source(ig_strace *t, const ig_source *given) {
  const char *text = NULL;
  ig_map_value *v = ig_map_keep(&t->u->sources, &t->u->arena, given->text, &text);
  if (v && v->ptr) return v->ptr;
  ig_source *source = v && text ? ig_arena_push(&t->u->arena, sizeof *source) : NULL;
  const char *file =
      source && given->file ? ig_arena_strn(&t->u->arena, given->file, strlen(given->file)) : NULL;
  if (!source || (given->file && !file)) {
    (void)ig_fail(t->c, IG_NOMEM, "out of memory");
    return NULL;
  }
  *source = (ig_source){.text = text,
                        .n = strlen(text),
                        .file = file,
                        .first_line = given->first_line,
                        .stack = true};
  v->ptr = source;
  return source;
}

static ig_srange ask_place(ig_strace *t) {
  ig_source here = {0};
  if (!t->host.place || !t->host.place(t->host.user, &here)) return (ig_srange){0};
  const ig_source *source = kept_source(t, &here);
  return source ? (ig_srange){source, 0, source->n} : (ig_srange){0};
}

static ig_srange range_of(ig_strace *t) {
  if (!t->in_call) return ask_place(t);
  if (!t->is_placed) t->place = ask_place(t);
  t->is_placed = true;
  return t->place;
}

static void finish_node(ig_strace *t, ig_snode *n, bool placed) {
  n->scope = t->scope;
  if (placed) n->range = range_of(t);
  ig_snode_insert(n, t->block, NULL);
}

ig_snode *ig_strace_node(ig_strace *t, const char *kind, ig_svalue *const *in, size_t n,
                         bool placed) {
  for (size_t i = 0; i < n; i++) {
    if (!in[i]) return NULL;
  }
  ig_snode *node = ig_snode_create(t->g, kind, in, n);
  if (node) finish_node(t, node, placed);
  return node;
}

static const ig_stype *plain(ig_strace *t, ig_stype_kind kind) {
  return ig_stype_plain(&t->u->types, kind);
}

static ig_svalue *node_value(ig_strace *t, const char *kind, ig_svalue *const *in, size_t n,
                             const ig_stype *type, bool placed) {
  ig_snode *node = ig_strace_node(t, kind, in, n, placed);
  return node && type ? ig_snode_add_output(node, type) : NULL;
}

// The type of a constant; numbers of the language stand for dtypes, layouts and memory formats.
static const ig_stype *constant_type(ig_strace *t, ig_value *v) {
  switch (v->kind) {
    case IG_KIND_DTYPE:
      *v = ig_of_i64(ig_script_of_dtype(v->dtype));
      return plain(t, IG_STYPE_INT);
    case IG_KIND_LAYOUT:
      *v = ig_of_i64(ig_script_of_layout(v->layout));
      return plain(t, IG_STYPE_INT);
    case IG_KIND_MEMORY_FORMAT:
      *v = ig_of_i64(ig_script_of_memory_format(v->memory_format));
      return plain(t, IG_STYPE_INT);
    case IG_KIND_INT:
      return plain(t, IG_STYPE_INT);
    case IG_KIND_FLOAT:
      return plain(t, IG_STYPE_FLOAT);
    case IG_KIND_BOOL:
      return plain(t, IG_STYPE_BOOL);
    case IG_KIND_COMPLEX:
      return plain(t, IG_STYPE_COMPLEX);
    case IG_KIND_STR:
      return plain(t, IG_STYPE_STR);
    case IG_KIND_DEVICE:
      return plain(t, IG_STYPE_DEVICE);
    case IG_KIND_TENSOR:
      return ig_stype_of_tensor(&t->u->types, v->tensor);
    default:
      return plain(t, IG_STYPE_NONE);
  }
}

static ig_svalue *add_constant(ig_strace *t, const ig_value *given, bool placed) {
  ig_value v = *given;
  const ig_stype *type = constant_type(t, &v);
  bool none = type && type->kind == IG_STYPE_NONE;
  ig_snode *n = type ? ig_snode_create(t->g, "prim::Constant", NULL, 0) : NULL;
  ig_sattr *a = n && !none ? ig_snode_add_attr(n, "value", IG_SATTR_VALUE) : NULL;
  if (!n || (!none && !a)) return NULL;
  if (v.kind == IG_KIND_TENSOR && !ig_sgraph_keep(t->g, v.tensor)) return NULL;
  if (v.kind == IG_KIND_STR) {
    v.str = ig_arena_strn(&t->g->arena, v.str, strlen(v.str));
    if (!v.str) return NULL;
  }
  if (a) a->value = v;
  finish_node(t, n, placed && !none);
  return ig_snode_add_output(n, type);
}

ig_svalue *ig_strace_constant(ig_strace *t, const ig_value *v) {
  return add_constant(t, v, true);
}

static void refuse_constant(ig_strace *t, const ig_tensor *x) {
  ig_str s = ig_str_make(t->c->alloc);
  ig_tensor_print(&s, x);
  ig_fail_text(t->c, IG_RUNTIME,
               "Cannot insert a Tensor that requires grad as a constant. Consider making it a "
               "parameter or input, or detaching the gradient\nTensor:\n%s",
               s.failed ? "" : s.at);
  ig_str_free(&s);
}

ig_svalue *ig_strace_value(ig_strace *t, ig_tensor *x) {
  ig_svalue *v = find_value(t, x);
  if (v) {
    const char *name = !v->name && t->host.variable ? t->host.variable(t->host.user, x) : "";
    if (name[0] && !ig_svalue_set_name(t->g, v, name)) return NULL;
    return v;
  }
  // The body of a host's function is not differentiated.
  bool inside_host = t->block->node && t->block->node->host;
  if (ig_tape_requires_grad(x) && !inside_host) {
    refuse_constant(t, x);
    return NULL;
  }
  ig_value value = ig_of_tensor(x);
  return add_constant(t, &value, true);
}

// ---- arguments of a call

static ig_svalue *list_of(ig_strace *t, ig_svalue *const *at, size_t n, const ig_stype *item) {
  return node_value(t, "prim::ListConstruct", at, n, ig_stype_list(&t->u->types, item), false);
}

static ig_svalue *int_value(ig_strace *t, ig_int i) {
  if (ig_sorigin_of(i)) return ig_sorigin_of(i);
  ig_value v = ig_of_i64(i.value);
  return add_constant(t, &v, true);
}

static ig_svalue **value_room(ig_strace *t, size_t n) {
  ig_svalue **at = ig_arena_array(&t->g->arena, ig_mem_add(n, 1), sizeof *at);
  if (!at) (void)ig_fail(t->c, IG_NOMEM, "out of memory");
  return at;
}

static ig_svalue *ints_value(ig_strace *t, const ig_int *ints, size_t n) {
  ig_svalue **at = value_room(t, n);
  for (size_t i = 0; at && i < n; i++) {
    if (!(at[i] = int_value(t, ints[i]))) return NULL;
  }
  return at ? list_of(t, at, n, plain(t, IG_STYPE_INT)) : NULL;
}

// A number where the schema has a tensor: a tensor without dimensions.
static ig_svalue *number_tensor(ig_strace *t, const ig_value *v) {
  static const ig_dtype dtypes[IG_KIND_COUNT] = {[IG_KIND_INT] = IG_I64,
                                                 [IG_KIND_FLOAT] = IG_F64,
                                                 [IG_KIND_BOOL] = IG_BOOL,
                                                 [IG_KIND_COMPLEX] = IG_C128};
  if (v->kind == IG_KIND_INT && ig_sorigin_of(v->i)) return ig_sorigin_of(v->i);
  ig_tensor *x = ig_tensor_empty(t->c, dtypes[v->kind], NULL, 0);
  if (!x) return NULL;
  ig_element_store(ig_tensor_data(x), x->dtype, v);
  ig_value value = ig_of_tensor(x);
  return add_constant(t, &value, true);
}

static ig_svalue *arg_value(ig_strace *t, const ig_arg *a, const ig_value *v);

static ig_svalue *list_value(ig_strace *t, const ig_arg *a, const ig_value *v) {
  static const ig_stype_kind kinds[IG_KIND_COUNT] = {[IG_KIND_FLOAT] = IG_STYPE_FLOAT,
                                                     [IG_KIND_BOOL] = IG_STYPE_BOOL,
                                                     [IG_KIND_STR] = IG_STYPE_STR,
                                                     [IG_KIND_INT] = IG_STYPE_INT};
  bool tensors = a->type == IG_TYPE_TENSOR;
  const ig_stype *item = plain(t, IG_STYPE_TENSOR);
  if (tensors && a->item_optional) item = ig_stype_optional(&t->u->types, item);
  if (!tensors) {
    item = plain(t, v->list.n ? kinds[v->list.at[0].kind] : IG_STYPE_FLOAT);
    if (a->cls) {
      item = ig_stype_named(&t->u->types, IG_STYPE_CLASS, ig_class_text((ig_class)a->cls), NULL);
    }
  }
  ig_svalue **at = value_room(t, v->list.n);
  for (size_t i = 0; at && i < v->list.n; i++) {
    const ig_value *e = &v->list.at[i];
    at[i] = e->kind == IG_KIND_TENSOR   ? ig_strace_value(t, e->tensor)
            : e->kind == IG_KIND_NATIVE ? arg_value(t, a, e)
                                        : add_constant(t, e, true);
    if (!at[i]) return NULL;
  }
  return at && item ? list_of(t, at, v->list.n, item) : NULL;
}

static ig_svalue *arg_value(ig_strace *t, const ig_arg *a, const ig_value *v) {
  switch (v->kind) {
    case IG_KIND_TENSOR:
      return ig_strace_value(t, v->tensor);
    case IG_KIND_INTS:
      return ints_value(t, v->ints.at, v->ints.n);
    case IG_KIND_LIST:
      return list_value(t, a, v);
    case IG_KIND_INT:
      if (a->type == IG_TYPE_TENSOR) return number_tensor(t, v);
      return int_value(t, v->i);
    case IG_KIND_FLOAT:
    case IG_KIND_BOOL:
    case IG_KIND_COMPLEX:
      return a->type == IG_TYPE_TENSOR ? number_tensor(t, v) : add_constant(t, v, true);
    case IG_KIND_GENERATOR: {  // not part of the graph
      ig_value none = ig_none();
      return add_constant(t, &none, false);
    }
    case IG_KIND_NATIVE: {
      ig_svalue *known = ig_strace_object(t, v->native);
      if (!known) {
        ig_fail_text(
            t->c, IG_RUNTIME,
            "Tracer cannot get value trace for an object of type %s: it is no attribute of "
            "the traced module",
            ig_class_text(v->native->cls));
      }
      return known;
    }
    default:
      return add_constant(t, v, true);
  }
}

// ---- what is recorded, and as what

// Operators that the graph shows by what they consist of.
static bool is_transparent(const ig_op *op) {
  switch (op->number) {
    case IG_ID_CONV1D:
    case IG_ID_CONV2D:
    case IG_ID_CONV3D:
    case IG_ID_CONV_TRANSPOSE1D:
    case IG_ID_CONV_TRANSPOSE2D_INPUT:
    case IG_ID_CONV_TRANSPOSE3D_INPUT:
    case IG_ID_LSTM_CELL:
    case IG_ID_GRU_CELL:
    case IG_ID_RNN_TANH_CELL:
    case IG_ID_RNN_RELU_CELL:
      return true;
    default:
      return false;
  }
}

static bool gives_tensor(const ig_op *op) {
  for (size_t i = 0; i < op->schema.nrets; i++) {
    if (op->schema.rets[i].type == IG_TYPE_TENSOR) return true;
  }
  return false;
}

static size_t arg_named(const ig_op *op, const char *name) {
  for (size_t i = 0; i < op->schema.nargs; i++) {
    if (strcmp(op->schema.args[i].name, name) == 0) return i;
  }
  return SIZE_MAX;
}

// Factories say where their result lives, and that it is not pinned.
static ig_value explicit_option(const ig_op *op, size_t i, const ig_value *args) {
  const ig_arg *a = &op->schema.args[i];
  bool factory = arg_named(op, "pin_memory") != SIZE_MAX && op->number != IG_ID_TO_DTYPE_LAYOUT;
  if (!factory || args[i].kind != IG_KIND_NONE) return args[i];
  bool of_tensor = op->schema.nargs && op->schema.args[0].type == IG_TYPE_TENSOR;
  if (a->type == IG_TYPE_DEVICE && !of_tensor) {
    return (ig_value){.kind = IG_KIND_DEVICE, .device = ig_device_cpu()};
  }
  if (a->type == IG_TYPE_BOOL && strcmp(a->name, "pin_memory") == 0) return ig_of_bool(false);
  return args[i];
}

// aten::convolution has four more arguments in a graph: switches of the libraries behind it.
static bool add_conv_switches(ig_strace *t, ig_snode *n) {
  static const bool switches[] = {false, false, true, true};
  for (size_t i = 0; i < sizeof switches / sizeof *switches; i++) {
    ig_value v = ig_of_bool(switches[i]);
    ig_svalue *s = add_constant(t, &v, true);
    if (!s || !ig_snode_add_input(n, s)) return false;
  }
  return true;
}

static ig_snode *record_node(ig_strace *t, const ig_op *op, const ig_value *args) {
  bool conv = op->number == IG_ID_CONVOLUTION;
  char kind[256];
  (void)snprintf(kind, sizeof kind, "%s::%s", op->schema.ns,
                 conv ? "_convolution" : op->schema.name);
  ig_snode *n = ig_snode_create(t->g, kind, NULL, 0);
  for (size_t i = 0; n && i < op->schema.nargs; i++) {
    ig_value v = explicit_option(op, i, args);
    ig_svalue *s = arg_value(t, &op->schema.args[i], &v);
    if (!s || !ig_snode_add_input(n, s)) return NULL;
  }
  if (n && conv && !add_conv_switches(t, n)) return NULL;
  if (n) finish_node(t, n, true);
  return n;
}

// ---- results

static bool unpack(ig_strace *t, const char *kind, const ig_value *v, ig_svalue *of,
                   const ig_stype *const *types) {
  ig_snode *n = ig_strace_node(t, kind, &of, 1, false);
  if (!n) return false;
  size_t count = v->list.n;
  for (size_t i = 0; i < count; i++) {
    const ig_stype *type = types ? types[i] : plain(t, IG_STYPE_TENSOR);
    if (!type || !ig_snode_add_output(n, type)) return false;
  }
  for (size_t i = 0; i < count; i++) {
    if (!ig_strace_set_value(t, &v->list.at[i], n->out[i])) return false;
  }
  return true;
}

bool ig_strace_set_value(ig_strace *t, const ig_value *v, ig_svalue *to) {
  if (v->kind == IG_KIND_TENSOR) return ig_strace_set(t, v->tensor, to);
  if (v->kind == IG_KIND_LIST && v->seq == IG_SEQ_TUPLE) {
    return unpack(t, "prim::TupleUnpack", v, to, to->type->at);
  }
  if (v->kind == IG_KIND_LIST && v->seq == IG_SEQ_LIST) {
    return unpack(t, "prim::ListUnpack", v, to, NULL);
  }
  if (v->kind == IG_KIND_NONE) return true;
  static const char *const kinds[IG_KIND_COUNT] = {[IG_KIND_INT] = "Int",
                                                   [IG_KIND_FLOAT] = "Double",
                                                   [IG_KIND_BOOL] = "Bool",
                                                   [IG_KIND_STR] = "String"};
  ig_fail_text(t->c, IG_RUNTIME,
               "Tracer cannot set value trace for type %s. Supported types are tensor, tensor "
               "list, and tuple of tensors.",
               kinds[v->kind] ? kinds[v->kind] : "Object");
  return false;
}

static bool record_results(ig_strace *t, const ig_op *op, ig_snode *n, const ig_value *outs) {
  for (size_t i = 0; i < op->schema.nrets; i++) {
    const ig_stype *type = plain(t, IG_STYPE_TENSOR);
    if (outs[i].kind == IG_KIND_LIST) type = ig_stype_list(&t->u->types, type);
    if (op->schema.rets[i].type == IG_TYPE_INT || op->schema.rets[i].type == IG_TYPE_SYMINT) {
      type = plain(t, IG_STYPE_INT);
    }
    if (!type || !ig_snode_add_output(n, type)) return false;
  }
  for (size_t i = 0; i < op->schema.nrets; i++) {
    bool traced = outs[i].kind == IG_KIND_TENSOR || outs[i].kind == IG_KIND_LIST;
    if (traced && !ig_strace_set_value(t, &outs[i], n->out[i])) return false;
  }
  return true;
}

static void compute(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  ig_mode_scope mode = ig_strace_pause(c);
  ig_call(c, op, args, outs);
  ig_mode_pop(c, &mode);
}

static bool record_call(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs,
                        void *user) {
  ig_strace *t = user;
  if (is_transparent(op)) {
    ig_run(c, op, args, outs);
    return true;
  }
  if (!gives_tensor(op)) {
    compute(c, op, args, outs);
    return true;
  }
  ig_scope s = ig_scope_open(c);
  ig_mode_scope mode = ig_strace_pause(c);
  t->in_call = true;
  t->is_placed = false;
  ig_snode *n = record_node(t, op, args);
  t->in_call = false;
  ig_mode_pop(c, &mode);
  if (n) compute(c, op, args, outs);
  if (c->status == IG_OK && n) (void)record_results(t, op, n, outs);
  ig_return_values(c, s, outs, op->schema.nrets);
  return true;
}

// ---- sizes

static ig_tensor *number_as_tensor(ig_strace *t, int64_t number, ig_svalue *v) {
  // Its type says less than that of other tensors: nothing about gradients.
  const ig_stype *type = ig_stype_traced(
      &t->u->types,
      &(ig_stensor){.dtype = IG_I64, .ndim = -1, .requires_grad = -1, .device = "cpu"});
  ig_svalue *as = v ? node_value(t, "prim::NumToTensor", &v, 1, type, false) : NULL;
  ig_tensor *x = as ? ig_tensor_empty(t->c, IG_I64, NULL, 0) : NULL;
  if (!x) return NULL;
  ig_value value = ig_of_i64(number);
  ig_element_store(ig_tensor_data(x), IG_I64, &value);
  return ig_strace_set(t, x, as) ? x : NULL;
}

ig_tensor *ig_strace_size(ig_strace *t, ig_tensor *x, int dim) {
  ig_mode_scope mode = ig_strace_pause(t->c);
  ig_value d = ig_of_i64(dim);
  if (dim < 0) dim += x->ndim;
  ig_svalue *in[2] = {ig_strace_value(t, x), NULL};
  in[1] = in[0] ? add_constant(t, &d, true) : NULL;
  ig_svalue *size = node_value(t, "aten::size", in, 2, plain(t, IG_STYPE_INT), true);
  ig_tensor *out = number_as_tensor(t, ig_sizes(x)[dim].value, size);
  ig_mode_pop(t->c, &mode);
  return out;
}

ig_tensor *ig_strace_numel(ig_strace *t, ig_tensor *x) {
  ig_mode_scope mode = ig_strace_pause(t->c);
  ig_svalue *of = ig_strace_value(t, x);
  ig_svalue *n = node_value(t, "aten::numel", &of, 1, plain(t, IG_STYPE_INT), true);
  ig_tensor *out = number_as_tensor(t, ig_tensor_numel(x), n);
  ig_mode_pop(t->c, &mode);
  return out;
}

bool ig_strace_int(ig_strace *t, ig_tensor *x, bool scalar, ig_int *out) {
  ig_svalue *v = find_value(t, x);
  if (ig_is_fake(x)) {
    *out = ig_const(0);
    return ig_fail(t->c, IG_RUNTIME, "a trace needs the number in a tensor without data") == IG_OK;
  }
  *out = ig_element_load(ig_tensor_data(x), x->dtype).i;
  if (!v) return true;
  if (!(v = ig_strace_value(t, x))) return false;
  ig_sorigin *origin = ig_arena_push(&t->g->arena, sizeof *origin);
  const ig_stype *type = plain(t, scalar ? IG_STYPE_NUMBER : IG_STYPE_INT);
  ig_snode *n = ig_snode_create(t->g, scalar ? "aten::ScalarImplicit" : "aten::Int", &v, 1);
  if (!origin || !n || !type) return ig_fail(t->c, IG_NOMEM, "out of memory") == IG_OK;
  n->scope = t->scope;
  // Right behind what it reads: the newest use comes first.
  bool input = v->block != NULL;
  ig_sblock *home = ig_svalue_home(v);
  ig_snode_insert(n, home, input ? home->first : v->node->next);
  origin->value = ig_snode_add_output(n, type);
  out->origin = &origin->head;
  return origin->value != NULL;
}

// ---- inputs

static const ig_stype *type_of_input(ig_strace *t, const ig_value *v) {
  ig_stypes *types = &t->u->types;
  const ig_stype *tensor = plain(t, IG_STYPE_TENSOR);
  if (v->kind == IG_KIND_TENSOR) return ig_stype_of_tensor(types, v->tensor);
  if (v->kind != IG_KIND_LIST) {
    ig_value copy = *v;
    return constant_type(t, &copy);
  }
  if (v->seq == IG_SEQ_DICT || v->seq == IG_SEQ_LIST) {
    // The items of a list or dict have one type, without shapes.
    size_t first = v->seq == IG_SEQ_DICT;
    const ig_stype *item = v->list.n > first ? type_of_input(t, &v->list.at[first]) : tensor;
    if (item && item->kind == IG_STYPE_TENSOR) item = tensor;
    if (v->seq == IG_SEQ_LIST) return ig_stype_list(types, item);
    return ig_stype_dict(types, plain(t, IG_STYPE_STR), item);
  }
  const ig_stype **at = ig_arena_array(&t->g->arena, ig_mem_add(v->list.n, 1), sizeof *at);
  for (size_t i = 0; at && i < v->list.n; i++) {
    if (!(at[i] = type_of_input(t, &v->list.at[i]))) return NULL;
  }
  return at ? ig_stype_tuple(types, at, v->list.n) : NULL;
}

static bool bind_input(ig_strace *t, ig_value *v, ig_svalue *to);

static bool bind_dict(ig_strace *t, ig_value *items, size_t n, ig_svalue *of) {
  const ig_stype *type = of->type->n == 2 ? of->type->at[1] : NULL;
  for (size_t i = 0; i + 1 < n; i += 2) {
    ig_svalue *in[2] = {of, add_constant(t, &items[i], false)};
    ig_svalue *v = in[1] ? node_value(t, "aten::__getitem__", in, 2, type, true) : NULL;
    if (!v || !bind_input(t, &items[i + 1], v)) return false;
  }
  return true;
}

static bool bind_input(ig_strace *t, ig_value *v, ig_svalue *to) {
  if (v->kind == IG_KIND_TENSOR) {
    if (find_value(t, v->tensor)) {
      ig_tensor *again = ig_tensor_alias(t->c, v->tensor);
      if (!again) return false;
      *v = ig_of_tensor(again);
    }
    return ig_strace_set(t, v->tensor, to);
  }
  if (v->kind != IG_KIND_LIST) return true;
  ig_value *items = (ig_value *)v->list.at;
  if (v->seq == IG_SEQ_DICT) return bind_dict(t, items, v->list.n, to);
  bool tuple = v->seq == IG_SEQ_TUPLE;
  ig_snode *n = ig_strace_node(t, tuple ? "prim::TupleUnpack" : "prim::ListUnpack", &to, 1, false);
  for (size_t i = 0; n && i < v->list.n; i++) {
    if (!ig_snode_add_output(n, to->type->at[tuple ? i : 0])) return false;
  }
  for (size_t i = 0; n && i < v->list.n; i++) {
    if (!bind_input(t, &items[i], n->out[i])) return false;
  }
  return n != NULL;
}

bool ig_strace_input(ig_strace *t, const char *name, ig_value *v) {
  if (!ig_strace_is_open(t)) return false;
  const ig_stype *type = type_of_input(t, v);
  ig_svalue *in = type ? ig_sblock_add_input(t->g->body, type) : NULL;
  if (!in || (name && name[0] && !ig_svalue_set_name(t->g, in, name))) return false;
  return bind_input(t, v, in);
}

// ---- outputs

#define STRICT_TEXT                                                                             \
  " might cause the trace to be incorrect, this is only valid if the container structure does " \
  "not change based on the module's inputs. Consider using a constant container instead (e.g. " \
  "for `list`, use a `tuple` instead. for `dict`, use a `NamedTuple` instead). If you "         \
  "absolutely need this and know the side effects, pass strict=False to trace() to allow this " \
  "behavior."

static ig_svalue *output_value(ig_strace *t, const ig_value *v);

static ig_svalue *output_items(ig_strace *t, const ig_value *v, size_t first, size_t step,
                               const char *kind, const ig_stype *type) {
  size_t n = v->list.n / step;
  ig_svalue **at = value_room(t, v->list.n);
  const ig_stype **types = ig_arena_array(&t->g->arena, ig_mem_add(n, 1), sizeof *types);
  if (!at || !types) return NULL;
  for (size_t i = 0; i < n; i++) {
    size_t k = step == 2 ? 2 * i + 1 : i;
    ig_svalue *e = output_value(t, &v->list.at[step * i + first]);
    if (!e) return NULL;
    at[step == 2 ? k : i] = e;
    types[i] = e->type;
  }
  for (size_t i = 0; step == 2 && i < n; i++) {
    if (!(at[2 * i] = add_constant(t, &v->list.at[2 * i], false))) return NULL;
  }
  if (!type) type = ig_stype_tuple(&t->u->types, types, n);
  return node_value(t, kind, at, v->list.n, type, false);
}

static ig_svalue *output_value(ig_strace *t, const ig_value *v) {
  const ig_stype *tensor = plain(t, IG_STYPE_TENSOR);
  if (v->kind == IG_KIND_TENSOR) {
    ig_svalue *found = find_value(t, v->tensor);
    if (found) return found;
    ig_str s = ig_str_make(t->c->alloc);
    ig_tensor_print(&s, v->tensor);
    ig_fail_text(t->c, IG_RUNTIME,
                 "output %zu (%s) of traced region did not have observable data dependence with "
                 "trace inputs; this probably indicates your program cannot be understood by the "
                 "tracer.",
                 t->g->body->n_out + 1, s.failed ? "" : s.at);
    ig_str_free(&s);
    return NULL;
  }
  if (v->kind == IG_KIND_LIST && v->seq == IG_SEQ_TUPLE) {
    return output_items(t, v, 0, 1, "prim::TupleConstruct", NULL);
  }
  if (v->kind == IG_KIND_LIST && v->seq == IG_SEQ_LIST) {
    if (t->strict && t->host.warn) {
      t->host.warn(t->host.user, "Encountering a list at the output of the tracer" STRICT_TEXT);
    }
    return output_items(t, v, 0, 1, "prim::ListConstruct", ig_stype_list(&t->u->types, tensor));
  }
  if (v->kind == IG_KIND_LIST && v->seq == IG_SEQ_DICT) {
    if (t->strict) {
      ig_fail_text(t->c, IG_RUNTIME, "Encountering a dict at the output of the tracer" STRICT_TEXT);
      return NULL;
    }
    const ig_stype *type = ig_stype_dict(&t->u->types, plain(t, IG_STYPE_STR), tensor);
    return output_items(t, v, 1, 2, "prim::DictConstruct", type);
  }
  ig_fail_text(t->c, IG_RUNTIME,
               "Only tensors, lists, tuples of tensors, or dictionary of tensors can be output "
               "from traced functions");
  return NULL;
}

bool ig_strace_output(ig_strace *t, const ig_value *v) {
  if (!ig_strace_is_open(t)) return false;
  ig_sblock *body = t->g->body;
  t->block = body;
  ig_svalue *out = output_value(t, v);
  return out && ig_sblock_add_output(body, out);
}

// ---- calls of scripts

static ig_svalue *script_value(ig_strace *t, ig_value v);

static ig_svalue *script_items(ig_strace *t, const ig_sobj_seq *seq) {
  ig_svalue **at = value_room(t, seq->n);
  for (size_t i = 0; at && i < seq->n; i++) {
    if (!(at[i] = script_value(t, seq->at[i]))) return NULL;
  }
  bool list = seq->head.kind == IG_SOBJ_LIST;
  const char *kind = list ? "prim::ListConstruct" : "prim::TupleConstruct";
  return at ? node_value(t, kind, at, seq->n, seq->head.type, false) : NULL;
}

// An argument of a script: numbers are constants, wherever they come from.
static ig_svalue *script_value(ig_strace *t, ig_value v) {
  if (v.kind == IG_KIND_TENSOR) return ig_strace_value(t, v.tensor);
  if (ig_sobj_is(v, IG_SOBJ_LIST) || ig_sobj_is(v, IG_SOBJ_TUPLE)) return script_items(t, v.object);
  if (ig_sobj_is(v, IG_SOBJ_STR)) {
    v = (ig_value){.kind = IG_KIND_STR, .str = ((const ig_sobj_str *)v.object)->text};
  }
  if (v.kind != IG_KIND_OBJECT) {
    if (v.kind == IG_KIND_INT) v = ig_of_i64(v.i.value);
    return add_constant(t, &v, true);
  }
  ig_svalue *known = ig_strace_object(t, v.object);
  if (!known) {
    ig_fail_text(t->c, IG_RUNTIME, "Tracer cannot get value trace for an object of type %s",
                 ig_sobj_of(v)->type ? ig_sobj_of(v)->type->text : "Object");
  }
  return known;
}

// What a script returned: tensors, lists and tuples of them.
static bool set_script_value(ig_strace *t, ig_value v, ig_svalue *to) {
  if (!ig_sobj_is(v, IG_SOBJ_LIST) && !ig_sobj_is(v, IG_SOBJ_TUPLE)) {
    return ig_strace_set_value(t, &v, to);
  }
  const ig_sobj_seq *seq = v.object;
  bool tuple = seq->head.kind == IG_SOBJ_TUPLE;
  ig_snode *n = ig_strace_node(t, tuple ? "prim::TupleUnpack" : "prim::ListUnpack", &to, 1, false);
  for (size_t i = 0; n && i < seq->n; i++) {
    if (!ig_snode_add_output(n, to->type->at[tuple ? i : 0])) return false;
  }
  for (size_t i = 0; n && i < seq->n; i++) {
    if (!set_script_value(t, seq->at[i], n->out[i])) return false;
  }
  return n != NULL;
}

// The first input of a call: the function itself.
static ig_svalue *function_value(ig_strace *t, ig_sfunction *f) {
  ig_snode *n = ig_snode_create(t->g, "prim::Constant", NULL, 0);
  ig_sattr *name = n ? ig_snode_add_attr(n, "name", IG_SATTR_VALUE) : NULL;
  const ig_stype *type = ig_stype_named(&t->u->types, IG_STYPE_FUNCTION, f->qualified, f);
  if (!name || !type) return NULL;
  name->value = (ig_value){.kind = IG_KIND_STR, .str = f->name};
  finish_node(t, n, false);
  return ig_snode_add_output(n, type);
}

static bool record_script(ig_strace *t, ig_sfunction *f, const ig_value *args, ig_value result) {
  size_t n = f->n_params;
  ig_svalue **in = value_room(t, n + 1);
  if (!in) return false;
  for (size_t i = 0; i < n; i++) {
    if (!(in[i + 1] = script_value(t, args[i]))) return false;
  }
  if (!f->owner && !(in[0] = function_value(t, f))) return false;
  ig_snode *call = f->owner ? ig_strace_node(t, "prim::CallMethod", in + 1, n, false)
                            : ig_strace_node(t, "prim::CallFunction", in, n + 1, false);
  ig_sattr *name = call && f->owner ? ig_snode_add_attr(call, "name", IG_SATTR_VALUE) : NULL;
  if (name) name->value = (ig_value){.kind = IG_KIND_STR, .str = f->name};
  if (!call || (f->owner && !name)) return false;
  ig_svalue *out = ig_snode_add_output(call, f->result);
  return out && set_script_value(t, result, out);
}

bool ig_strace_call(ig_strace *t, ig_sfunction *f, const ig_value *args, ig_value *result) {
  // The script of a module that is no part of the traced one is traced like other code.
  bool part =
      !f->owner || (ig_sobj_is(args[0], IG_SOBJ_INSTANCE) && ig_strace_object(t, args[0].object));
  if (!part) return ig_sfunction_run(t->c, f, args, result) == IG_OK;
  ig_mode_scope mode = ig_strace_pause(t->c);
  bool ok = ig_sfunction_run(t->c, f, args, result) == IG_OK;
  ig_mode_pop(t->c, &mode);
  if (!ok) return false;
  if (record_script(t, f, args, *result)) return true;
  ig_svalue_release(*result);
  *result = ig_none();
  return false;
}

// ---- calls of the host

ig_snode *ig_strace_open_host(ig_strace *t, ig_sfunction *f, ig_tensor *const *tensors, size_t n) {
  ig_svalue **in = value_room(t, n);
  for (size_t i = 0; in && i < n; i++) {
    if (!(in[i] = ig_strace_value(t, tensors[i]))) return NULL;
  }
  ig_str kind = ig_str_make(t->c->alloc);
  ig_str_add(&kind, "^%s", f->name);
  ig_snode *call = in && !kind.failed ? ig_strace_node(t, kind.at, in, n, true) : NULL;
  ig_str_free(&kind);
  ig_sblock *body = call ? ig_snode_add_block(call) : NULL;
  if (!body) return NULL;
  call->host = f;
  t->block = body;
  return call;
}

static void leave_host(ig_strace *t, ig_snode *call) {
  t->block = call->owner;
  call->n_blocks = 0;
}

void ig_strace_drop_host(ig_strace *t, ig_snode *call) {
  leave_host(t, call);
  ig_snode_remove(call);
}

// Is a value an operand of the call, or made in its body?
static bool is_of_call(const ig_snode *call, const ig_svalue *v) {
  for (size_t i = 0; i < call->n_in; i++) {
    if (call->in[i] == v) return true;
  }
  const ig_sblock *home = ig_svalue_home(v);
  while (home && home != call->blocks[0]) home = home->node ? home->node->owner : NULL;
  return home != NULL;
}

static bool uses_only_own(const ig_snode *call, const ig_sblock *b) {
  for (const ig_snode *n = b->first; n; n = n->next) {
    for (size_t i = 0; i < n->n_in; i++) {
      if (!is_of_call(call, n->in[i])) return false;
    }
    for (size_t i = 0; i < n->n_blocks; i++) {
      if (!uses_only_own(call, n->blocks[i])) return false;
    }
  }
  return true;
}

// The body as the graph of the call. A body that uses other values gives none.
static bool make_body(ig_strace *t, ig_snode *call, ig_tensor *const *inner, size_t n) {
  const ig_sblock *body = call->blocks[0];
  if (!uses_only_own(call, body)) return true;
  for (size_t i = 0; i < n; i++) {
    const ig_svalue *v = inner[i] ? find_value(t, inner[i]) : NULL;
    if (!v || !is_of_call(call, v)) return true;
  }
  ig_sgraph *g = ig_snode_add_graph(call, "Subgraph");
  if (!g) return false;
  ig_svalue_map m = ig_svalue_map_make(g);
  for (size_t i = 0; i < call->n_in; i++) {
    ig_svalue *v = ig_sblock_add_input(g->body, call->in[i]->type);
    if (!v || !ig_svalue_map_put(&m, call->in[i], v)) return false;
    if (call->in[i]->name && !ig_svalue_set_name(g, v, call->in[i]->name)) return false;
  }
  if (!ig_sblock_copy_nodes(&m, body, g->body, NULL, true)) return false;
  for (size_t i = 0; i < n; i++) {
    ig_svalue *v = ig_svalue_map_get(&m, find_value(t, inner[i]));
    if (!v || !ig_sblock_add_output(g->body, v)) return false;
  }
  return true;
}

static const ig_stype *type_of_result(ig_strace *t, const ig_tensor *x) {
  return x ? ig_stype_of_tensor(&t->u->types, x) : plain(t, IG_STYPE_TENSOR);
}

bool ig_strace_close_host(ig_strace *t, ig_snode *call, const ig_strace_results *r) {
  bool ok = make_body(t, call, r->inner, r->n);
  leave_host(t, call);
  size_t n = r->n;
  const ig_stype **types =
      ok ? ig_arena_array(&t->g->arena, ig_mem_add(n, 1), sizeof *types) : NULL;
  if (!types) return ok && ig_fail(t->c, IG_NOMEM, "out of memory") == IG_OK;
  for (size_t i = 0; i < n; i++) {
    if (!(types[i] = type_of_result(t, r->outs[i]))) return false;
  }
  const ig_stype *type = r->tuple ? ig_stype_tuple(&t->u->types, types, n) : types[0];
  ig_svalue *out = type ? ig_snode_add_output(call, type) : NULL;
  if (!out || !r->tuple) return out && (!r->outs[0] || ig_strace_set(t, r->outs[0], out));
  ig_snode *parts = ig_strace_node(t, "prim::TupleUnpack", &out, 1, false);
  for (size_t i = 0; parts && i < n; i++) {
    if (!ig_snode_add_output(parts, types[i])) return false;
  }
  for (size_t i = 0; parts && i < n; i++) {
    if (r->outs[i] && !ig_strace_set(t, r->outs[i], parts->out[i])) return false;
  }
  return parts != NULL;
}

// ---- the finished graph

static ig_sgraph *take(ig_strace *t) {
  ig_strace_end(t);
  ig_sgraph *g = t->g;
  t->g = NULL;
  return g;
}

ig_sgraph *ig_strace_finish(ig_strace *t) {
  if (t->c->status != IG_OK || !ig_strace_is_open(t) || !ig_strace_lower_scopes(t)) return NULL;
  return take(t);
}

ig_sfunction *ig_strace_function(ig_sunit *u, ig_sclass *owner, const char *name,
                                 const char *qualified, ig_sgraph *g) {
  ig_sfunction *f = ig_sunit_add_function(u, owner, name, qualified);
  size_t n = g->body->n_in;
  ig_sparam *params = f ? ig_arena_array(&u->arena, ig_mem_add(n, 1), sizeof *params) : NULL;
  if (!params) {
    ig_sgraph_free(g);
    return NULL;
  }
  for (size_t i = 0; i < n; i++) {
    const ig_svalue *v = g->body->in[i];
    char made[32];
    (void)snprintf(made, sizeof made, "argument_%zu", i);
    const char *text = v->name ? v->name : made;
    const char *dot = strrchr(text, '.');
    bool numbered = dot && dot[1] && dot[1 + strspn(dot + 1, "0123456789")] == '\0';
    size_t length = numbered ? (size_t)(dot - text) : strlen(text);
    params[i] = (ig_sparam){.name = ig_arena_strn(&u->arena, text, length),
                            .type = ig_stype_without_shapes(&u->types, v->type)};
    if (!params[i].name || !params[i].type) return NULL;
  }
  f->params = params;
  f->n_params = n;
  f->graph = g;
  f->result =
      g->body->n_out == 1 ? ig_stype_without_shapes(&u->types, g->body->out[0]->type) : NULL;
  return f->result ? f : NULL;
}

ig_sfunction *ig_strace_finish_method(ig_strace *t, const char *name) {
  if (t->c->status != IG_OK || !ig_strace_is_open(t)) return NULL;
  if (!t->self) {
    ig_fail_text(t->c, IG_RUNTIME, "%s: no module is traced", name);
    return NULL;
  }
  if (!ig_strace_lower_scopes(t)) return NULL;
  char qualified[512];
  (void)snprintf(qualified, sizeof qualified, "%s.%s", t->self->type->name, name);
  return ig_strace_function(t->u, t->self, name, qualified, take(t));
}
