// SPDX-License-Identifier: Apache-2.0
// Calls with values from C: which value fits which argument, and how it is adapted. The choice of
// the overload is the binder's (op/bind.h).
#include <string.h>

#include "base/str.h"
#include "op/bind.h"
#include "op/formula.h"
#include "op/native.h"
#include "op/refuse.h"
#include "tensor/number.h"

// ---- one value for one argument ----

static bool is_int_type(ig_type type) {
  return type == IG_TYPE_INT || type == IG_TYPE_SYMINT;
}

// A 0-d tensor stands for its number, unless it requires grad.
static bool tensor_is_number(const ig_value *v, ig_type type) {
  if (v->kind != IG_KIND_TENSOR || v->tensor->ndim != 0 || v->tensor->requires_grad) return false;
  ig_dtype d = v->tensor->dtype;
  if (is_int_type(type)) return ig_dtype_is_integral(d);
  if (type == IG_TYPE_FLOAT) return !ig_dtype_is_complex(d);
  return type == IG_TYPE_SCALAR;
}

// One element, not a list.
static bool fits_item(const ig_arg *a, const ig_value *v) {
  switch (a->type) {
    case IG_TYPE_TENSOR:
      return v->kind == IG_KIND_TENSOR;
    case IG_TYPE_SCALAR:
      return ig_value_is_number(v) || tensor_is_number(v, a->type);
    case IG_TYPE_INT:
    case IG_TYPE_SYMINT:
      return v->kind == IG_KIND_INT || tensor_is_number(v, a->type);
    case IG_TYPE_FLOAT:
      return v->kind == IG_KIND_FLOAT || v->kind == IG_KIND_INT || v->kind == IG_KIND_BOOL ||
             tensor_is_number(v, a->type);
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

static bool fits_list(const ig_arg *a, const ig_value *v) {
  if (v->kind == IG_KIND_INTS) {
    return is_int_type(a->type) || v->ints.n == 0 || a->type == IG_TYPE_FLOAT ||
           a->type == IG_TYPE_SCALAR;
  }
  if (v->kind == IG_KIND_INT) return is_int_type(a->type) && a->fixed > 0;
  if (v->kind != IG_KIND_LIST) return false;
  for (size_t i = 0; i < v->list.n; i++) {
    const ig_value *item = &v->list.at[i];
    if (item->kind == IG_KIND_NONE ? !a->item_optional : !fits_item(a, item)) return false;
  }
  return true;
}

static bool fits(const ig_arg *a, const ig_value *v, bool numbers) {
  if (v->kind == IG_KIND_NONE) return a->optional;
  if (a->list) return fits_list(a, v);
  return fits_item(a, v) || (numbers && a->type == IG_TYPE_TENSOR && ig_value_is_number(v));
}

bool ig_op_fits(const ig_op *op, size_t i, const ig_value *v) {
  // Users write x - 1; PyTorch's decompositions also pass 1 - x to the Tensor overload.
  return fits(&op->schema.args[i], v, ig_op_takes_number(op, i));
}

// ---- adapting ----

typedef struct given_values {
  ig_given base;
  ig_ctx *c;
  const ig_bound *call;
} given_values;

// One element as the type wants it.
static ig_match adapt_item(given_values *g, ig_type type, const ig_value *v, ig_value *out) {
  *out = *v;
  if (v->kind == IG_KIND_TENSOR && type != IG_TYPE_TENSOR) {
    if (ig_is_fake(v->tensor)) {
      return ig_reads_defer(&g->base.reads, v->tensor, NULL, out) ? IG_MATCH_TAKEN : IG_MATCH_OTHER;
    }
    *out = ig_element_load(ig_tensor_data(v->tensor), v->tensor->dtype);
  }
  if (type == IG_TYPE_DEVICE && v->kind == IG_KIND_STR) {
    ig_device d;
    if (!ig_device_parse(v->str, &d)) {
      ig_fail_text(g->c, IG_RUNTIME, "Invalid device string: '%s'", v->str);
      return IG_MATCH_REFUSED;
    }
    *out = ig_of_device(d);
  } else if (type == IG_TYPE_FLOAT && out->kind == IG_KIND_INT && !out->i.expr) {
    *out = ig_of_f64((double)out->i.value);
  } else if (type == IG_TYPE_FLOAT && out->kind == IG_KIND_BOOL && !out->b_expr) {
    *out = ig_of_f64(out->b);
  }
  return IG_MATCH_TAKEN;
}

static ig_match adapt_int(given_values *g, const ig_value *v, ig_int *out) {
  if (v->kind == IG_KIND_INT) {
    *out = v->i;
    return IG_MATCH_TAKEN;
  }
  if (!tensor_is_number(v, IG_TYPE_INT)) return IG_MATCH_OTHER;
  if (ig_is_fake(v->tensor)) {
    return ig_reads_defer(&g->base.reads, v->tensor, out, NULL) ? IG_MATCH_TAKEN : IG_MATCH_OTHER;
  }
  *out = ig_element_load(ig_tensor_data(v->tensor), v->tensor->dtype).i;
  return IG_MATCH_TAKEN;
}

// n integers out of values; step 0 repeats the first, as kernel_size=3 means [3, 3].
static ig_match adapt_ints(given_values *g, const ig_value *v, size_t n, size_t step,
                           ig_value *out) {
  ig_int *at = ig_scope_array(g->c, n, sizeof *at);
  if (!at) return IG_MATCH_REFUSED;
  for (size_t i = 0; i < n; i++) {
    ig_match taken = adapt_int(g, &v[i * step], &at[i]);
    if (taken != IG_MATCH_TAKEN) return taken;
  }
  *out = ig_of_ints(at, n);
  return IG_MATCH_TAKEN;
}

static ig_match adapt_list(given_values *g, const ig_arg *a, const ig_value *v, ig_value *out) {
  bool ints = v->kind == IG_KIND_INTS;
  if (is_int_type(a->type)) {
    *out = *v;
    if (ints) return IG_MATCH_TAKEN;
    return v->kind == IG_KIND_INT ? adapt_ints(g, v, (size_t)a->fixed, 0, out)
                                  : adapt_ints(g, v->list.at, v->list.n, 1, out);
  }
  size_t n = ints ? v->ints.n : v->list.n;
  ig_value *at = ig_scope_array(g->c, n, sizeof *at);
  if (!at) return IG_MATCH_REFUSED;
  for (size_t i = 0; i < n; i++) {
    ig_value item = ints ? ig_of_int(v->ints.at[i]) : v->list.at[i];
    ig_match taken = adapt_item(g, a->type, &item, &at[i]);
    if (taken != IG_MATCH_TAKEN) return taken;
  }
  *out = ig_of_list(at, n);
  return IG_MATCH_TAKEN;
}

// ---- what the binder asks ----

static size_t value_keyword(const ig_given *base, const ig_op *op, size_t i, const char *name) {
  (void)op;
  (void)i;
  const given_values *g = (const given_values *)base;
  size_t k = 0;
  while (k < base->nkw && strcmp(g->call->keys[k], name) != 0) k++;
  return base->npos + k;
}

static ig_match value_take(ig_given *base, size_t at, const ig_arg *a, bool numbers,
                           ig_value *out) {
  given_values *g = (given_values *)base;
  const ig_value *v = &g->call->values[at];
  if (!fits(a, v, numbers)) return IG_MATCH_OTHER;
  *out = *v;
  if (v->kind == IG_KIND_NONE) return IG_MATCH_TAKEN;
  return a->list ? adapt_list(g, a, v, out) : adapt_item(g, a->type, v, out);
}

static bool value_is_integer(const ig_given *base, size_t at) {
  const ig_value *v = &((const given_values *)base)->call->values[at];
  return v->kind == IG_KIND_INT || tensor_is_number(v, IG_TYPE_INT);
}

static ig_match value_take_integers(ig_given *base, size_t first, const ig_arg *a, ig_value *out) {
  (void)a;
  given_values *g = (given_values *)base;
  return adapt_ints(g, g->call->values + first, base->npos - first, 1, out);
}

static const ig_given_ops of_values = {.keyword = value_keyword,
                                       .take = value_take,
                                       .is_integer = value_is_integer,
                                       .take_integers = value_take_integers};

// ---- calls ----

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
  return v->kind == IG_KIND_NATIVE ? ig_class_text(v->native->cls) : classes[v->kind];
}

static void print_found(ig_str *s, const ig_bound *call) {
  for (size_t i = 0; i < call->npos + call->nkw; i++) {
    bool key = i >= call->npos;
    ig_str_add(s, "%s%s%s%s", i ? ", " : "", key ? call->keys[i - call->npos] : "", key ? "=" : "",
               ig_value_class(&call->values[i]));
  }
}

static void no_overload(ig_ctx *c, const ig_bound *call, const ig_overload_set *set) {
  ig_str s = ig_str_make(c->alloc);
  print_found(&s, call);
  ig_fail_text(c, IG_BAD_TYPE,
               "%s() received an invalid combination of arguments - got (%s), but expected one of:",
               call->name, s.at ? s.at : "");
  ig_str_free(&s);
  for (size_t i = 0; i < set->n; i++) ig_note(c, "%s", set->at[i]->schema.text);
}

static void call_set(ig_ctx *c, const ig_overload_set *set, const ig_bound *call,
                     const ig_op **chosen, ig_value *outs) {
  given_values g = {{.ops = &of_values, .npos = call->npos, .nkw = call->nkw}, c, call};
  ig_value values[IG_MAX_ARGS];
  ig_match answer = IG_MATCH_OTHER;
  const ig_op *op = ig_bind(c, set, &g.base, values, &answer);
  if (chosen) *chosen = op;
  if (op) {
    ig_call(c, op, values, outs);
  } else if (c->status == IG_OK) {
    no_overload(c, call, set);
  }
}

void ig_call_bound(ig_ctx *c, const ig_bound *call, const ig_op **chosen, ig_value *outs) {
  outs[0] = ig_none();
  if (chosen) *chosen = NULL;
  if (c->status != IG_OK) return;
  ig_overload_set *set = ig_overload_set_make(c, call->ns, call->name, IG_STYLE_NAME);
  if (set) {
    call_set(c, set, call, chosen, outs);
  } else if (c->status == IG_OK) {
    (void)ig_fail(c, IG_NOT_FOUND, "no operator is called '%s'", call->name);
  }
  ig_overload_set_free(set);
}

void ig_call_overload(ig_ctx *c, const ig_op *op, const ig_bound *call, ig_value *outs) {
  outs[0] = ig_none();
  if (c->status != IG_OK) return;
  ig_overload_set *set = ig_overload_set_of(c, op);
  if (set) call_set(c, set, call, NULL, outs);
  ig_overload_set_free(set);
}
