// SPDX-License-Identifier: Apache-2.0
// Overload resolution: the first schema that takes the given values; a second round lets numbers
// stand for tensors, as PyTorch does for x + 1.
#include <string.h>

#include "base/str.h"
#include "op/formula.h"
#include "op/op.h"
#include "op/refuse.h"

typedef struct binding {
  ig_value args[IG_MAX_ARGS];
  ig_int ints[IG_MAX_DIM];
  size_t used;
} binding;

typedef enum strictness { STRICT, LENIENT } strictness;

static bool fits_item(const ig_arg *a, const ig_value *v) {
  if (v->kind == IG_KIND_NONE) return a->item_optional;
  switch (a->type) {
    case IG_TYPE_TENSOR:
      return v->kind == IG_KIND_TENSOR;
    case IG_TYPE_FLOAT:
      return v->kind == IG_KIND_FLOAT || v->kind == IG_KIND_INT;
    case IG_TYPE_BOOL:
      return v->kind == IG_KIND_BOOL;
    case IG_TYPE_SCALAR:
      return ig_value_is_number(v);
    case IG_TYPE_STR:
      return v->kind == IG_KIND_STR;
    case IG_TYPE_INT:
    case IG_TYPE_SYMINT:
      return v->kind == IG_KIND_INT;
    default:
      return false;
  }
}

static bool fits_list(const ig_arg *a, const ig_value *v) {
  bool of_ints = a->type == IG_TYPE_INT || a->type == IG_TYPE_SYMINT;
  if (v->kind == IG_KIND_INTS) {
    return of_ints || v->ints.n == 0 || a->type == IG_TYPE_FLOAT || a->type == IG_TYPE_SCALAR;
  }
  if (v->kind == IG_KIND_INT) return of_ints && a->fixed > 0;
  if (v->kind != IG_KIND_LIST) return false;
  for (size_t i = 0; i < v->list.n; i++) {
    if (!fits_item(a, &v->list.at[i])) return false;
  }
  return true;
}

// A 0-d tensor where a number is expected is read out, unless it wants a gradient or is symbolic.
static bool tensor_as_number(const ig_value *v, ig_type type) {
  if (v->kind != IG_KIND_TENSOR || v->tensor->ndim != 0 || v->tensor->requires_grad) return false;
  ig_dtype d = v->tensor->dtype;
  if (type == IG_TYPE_INT || type == IG_TYPE_SYMINT) return ig_dtype_is_integral(d);
  return type == IG_TYPE_SCALAR || type == IG_TYPE_FLOAT;
}

static bool fits(const ig_op *op, size_t i, const ig_value *v, strictness how) {
  const ig_arg *a = &op->schema.args[i];
  if (v->kind == IG_KIND_NONE) return a->optional;
  if (a->list) return fits_list(a, v);
  bool lenient = how == LENIENT;
  switch (a->type) {
    case IG_TYPE_TENSOR:
      return v->kind == IG_KIND_TENSOR ||
             (lenient && i > 0 && ig_value_is_number(v) && ig_op_takes_number(op, i));
    case IG_TYPE_SCALAR:
      return ig_value_is_number(v) || (lenient && tensor_as_number(v, a->type));
    case IG_TYPE_INT:
    case IG_TYPE_SYMINT:
      return v->kind == IG_KIND_INT || (lenient && tensor_as_number(v, a->type));
    case IG_TYPE_FLOAT:
      return v->kind == IG_KIND_FLOAT || v->kind == IG_KIND_INT ||
             (lenient && (v->kind == IG_KIND_BOOL || tensor_as_number(v, a->type)));
    case IG_TYPE_BOOL:
      return v->kind == IG_KIND_BOOL;
    case IG_TYPE_COMPLEX:
      return ig_value_is_number(v);
    case IG_TYPE_STR:
      return v->kind == IG_KIND_STR;
    case IG_TYPE_DTYPE:
      return v->kind == IG_KIND_DTYPE;
    case IG_TYPE_LAYOUT:
      return v->kind == IG_KIND_LAYOUT;
    case IG_TYPE_DEVICE:
      return v->kind == IG_KIND_DEVICE || v->kind == IG_KIND_STR;
    case IG_TYPE_MEMORY_FORMAT:
      return v->kind == IG_KIND_MEMORY_FORMAT;
    case IG_TYPE_GENERATOR:
      return v->kind == IG_KIND_GENERATOR;
    default:
      return false;
  }
}

bool ig_op_fits(const ig_op *op, size_t i, const ig_value *v) {
  const ig_arg *a = &op->schema.args[i];
  // Users write x - 1; decompositions of PyTorch also give 1 - x to the Tensor overload.
  bool number = a->type == IG_TYPE_TENSOR && !a->list && ig_value_is_number(v);
  return (number && ig_op_takes_number(op, i)) || fits(op, i, v, LENIENT);
}

// x.view(2, 3): trailing integers fill the first positional list.
static size_t pack_ints(const ig_bound *call, size_t i, binding *b, ig_value *out) {
  size_t n = 0;
  ig_int *at = b->ints + b->used;
  while (i + n < call->npos && b->used + n < IG_MAX_DIM &&
         call->values[i + n].kind == IG_KIND_INT) {
    at[n] = call->values[i + n].i;
    n++;
  }
  b->used += n;
  *out = ig_of_ints(at, n);
  return n;
}

static const ig_value *keyword(const ig_bound *call, const char *name) {
  for (size_t k = 0; k < call->nkw; k++) {
    if (strcmp(call->keys[k], name) == 0) return &call->values[call->npos + k];
  }
  if (strcmp(name, "self") == 0) return keyword(call, "input");  // torch.add(input=x, other=y)
  return NULL;
}

// A list of boxed integers as the schema wants it; empty lists have no type of their own.
static bool unbox(ig_ctx *c, const ig_value *v, ig_value *out) {
  ig_int *at = ig_scope_array(c, v->list.n, sizeof *at);
  for (size_t i = 0; at && i < v->list.n; i++) at[i] = v->list.at[i].i;
  *out = ig_of_ints(at, v->list.n);
  return at != NULL;
}

// [1, 2] where floats or numbers are expected.
static bool box(ig_ctx *c, const ig_value *v, ig_value *out) {
  ig_value *at = ig_scope_array(c, v->ints.n, sizeof *at);
  for (size_t i = 0; at && i < v->ints.n; i++) at[i] = ig_of_int(v->ints.at[i]);
  *out = ig_of_list(at, v->ints.n);
  return at != NULL;
}

// The value as the schema wants it: lone integers in lists, device texts, numbers out of tensors.
static bool adapt(ig_ctx *c, const ig_arg *a, const ig_value *v, binding *b, ig_value *out) {
  *out = *v;
  bool of_ints = a->type == IG_TYPE_INT || a->type == IG_TYPE_SYMINT;
  if (a->list && of_ints && v->kind == IG_KIND_LIST) {
    if (!unbox(c, v, out)) return false;
  } else if (a->list && !of_ints && v->kind == IG_KIND_INTS && v->ints.n) {
    if (!box(c, v, out)) return false;
  } else if (a->list && v->kind == IG_KIND_INT) {
    size_t n = (size_t)a->fixed;
    if (b->used + n > IG_MAX_DIM) return false;
    ig_int *at = b->ints + b->used;
    for (size_t i = 0; i < n; i++) at[i] = v->i;
    b->used += n;
    *out = ig_of_ints(at, n);
  } else if (a->type == IG_TYPE_DEVICE && v->kind == IG_KIND_STR) {
    ig_device d;
    if (!ig_device_parse(v->str, &d)) {
      ig_fail_text(c, IG_RUNTIME, "Invalid device string: '%s'", v->str);
      return false;
    }
    *out = ig_of_device(d);
  } else if (a->type == IG_TYPE_FLOAT && !a->list && v->kind == IG_KIND_INT && !v->i.expr) {
    *out = ig_of_f64((double)v->i.value);
  } else if (v->kind == IG_KIND_TENSOR && a->type != IG_TYPE_TENSOR) {
    const ig_op *item = ig_op_at(c, IG_ID__LOCAL_SCALAR_DENSE);
    if (item) ig_call(c, item, v, out);
    if (a->type == IG_TYPE_FLOAT && out->kind == IG_KIND_INT)
      *out = ig_of_f64((double)out->i.value);
  }
  return c->status == IG_OK;
}

typedef enum outcome { NO, YES, ERROR } outcome;

static outcome bind(ig_ctx *c, const ig_op *op, const ig_bound *call, strictness how, binding *b) {
  const ig_schema *s = &op->schema;
  size_t pos = 0;
  size_t kw = 0;
  b->used = 0;
  // First look without touching anything, then adapt: a call that fits no schema has no effect.
  const ig_value *chosen[IG_MAX_ARGS];
  ig_value packed;
  for (size_t i = 0; i < s->nargs; i++) {
    const ig_arg *a = &s->args[i];
    const ig_value *v = i < s->npos && pos < call->npos ? &call->values[pos] : NULL;
    bool of_ints = a->list && (a->type == IG_TYPE_INT || a->type == IG_TYPE_SYMINT);
    if (v && of_ints && v->kind == IG_KIND_INT && pos == i && i <= 1 && !b->used &&
        (a->fixed == 0 || call->npos > pos + 1) && i + 1 >= s->npos) {
      pos += pack_ints(call, pos, b, &packed);
      chosen[i] = &packed;
      continue;
    }
    if (v) {
      pos++;
    } else {
      v = keyword(call, a->name);
      kw += v != NULL;
    }
    if (v ? !fits(op, i, v, how) : !a->has_default) return NO;
    chosen[i] = v;
  }
  if (pos != call->npos || kw != call->nkw) return NO;
  for (size_t i = 0; i < s->nargs; i++) {
    if (!chosen[i]) {
      b->args[i] = s->args[i].def;
    } else if (chosen[i] == &packed) {
      b->args[i] = packed;
    } else if (!adapt(c, &s->args[i], chosen[i], b, &b->args[i])) {
      return ERROR;
    }
  }
  return YES;
}

const char *ig_value_class(const ig_value *v) {
  static const char *const classes[] = {[IG_KIND_NONE] = "NoneType",
                                        [IG_KIND_TENSOR] = "Tensor",
                                        [IG_KIND_INT] = "int",
                                        [IG_KIND_FLOAT] = "float",
                                        [IG_KIND_BOOL] = "bool",
                                        [IG_KIND_COMPLEX] = "complex",
                                        [IG_KIND_STR] = "str",
                                        [IG_KIND_DTYPE] = "torch.dtype",
                                        [IG_KIND_DEVICE] = "torch.device",
                                        [IG_KIND_LAYOUT] = "torch.layout",
                                        [IG_KIND_MEMORY_FORMAT] = "torch.memory_format",
                                        [IG_KIND_GENERATOR] = "torch.Generator",
                                        [IG_KIND_INTS] = "list of ints",
                                        [IG_KIND_LIST] = "list",
                                        [IG_KIND_NODE] = "node",
                                        [IG_KIND_OBJECT] = "object",
                                        [IG_KIND_OP] = "operator",
                                        [IG_KIND_GRAPH] = "graph"};
  return classes[v->kind];
}

static void print_found(ig_str *s, const ig_bound *call) {
  for (size_t i = 0; i < call->npos + call->nkw; i++) {
    bool key = i >= call->npos;
    ig_str_add(s, "%s%s%s%s", i ? ", " : "", key ? call->keys[i - call->npos] : "", key ? "=" : "",
               ig_value_class(&call->values[i]));
  }
}

static void no_overload(ig_ctx *c, const ig_bound *call, const ig_op *first, bool only) {
  ig_str s = ig_str_make(c->alloc);
  print_found(&s, call);
  ig_fail_text(c, IG_BAD_TYPE,
               "%s() received an invalid combination of arguments - got (%s), but expected one of:",
               call->name, s.at ? s.at : "");
  ig_str_free(&s);
  for (const ig_op *op = first; op; op = only ? NULL : op->next) {
    ig_note(c, "%s", op->schema.text);
  }
}

void ig_call_bound(ig_ctx *c, const ig_bound *call, const ig_op **chosen, ig_value *outs) {
  outs[0] = ig_none();
  if (chosen) *chosen = NULL;
  if (c->status != IG_OK) return;
  const ig_op *first = ig_lib_overloads(c, call->ns, call->name);
  if (!first) {
    (void)ig_fail(c, IG_NOT_FOUND, "no operator is called '%s'", call->name);
    return;
  }
  binding b;
  for (int how = STRICT; how <= LENIENT; how++) {
    for (const ig_op *op = first; op; op = op->next) {
      if (ig_op_is_hidden(op)) continue;
      outcome o = bind(c, op, call, (strictness)how, &b);
      if (o == ERROR) return;
      if (o == NO) continue;
      if (chosen) *chosen = op;
      ig_call(c, op, b.args, outs);
      return;
    }
  }
  no_overload(c, call, first, false);
}

void ig_call_overload(ig_ctx *c, const ig_op *op, const ig_bound *call, ig_value *outs) {
  binding b;
  outs[0] = ig_none();
  if (c->status != IG_OK) return;
  outcome o = bind(c, op, call, LENIENT, &b);
  if (o == YES) ig_call(c, op, b.args, outs);
  if (o == NO) no_overload(c, call, op, true);
}
