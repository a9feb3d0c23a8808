// SPDX-License-Identifier: Apache-2.0
// The structure of a recording as words, its numbers as slots, and how numbers were computed.
#include <string.h>

#include "capture/defer_parts.h"

// ---- the structure

static bool out_of_memory(ig_ctx *c) {
  return ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
}

bool ig_defer_word(ig_ctx *c, ig_defer *d, uint64_t w) {
  return ig_vec_push(d->alloc, &d->words, w) || out_of_memory(c);
}

// Expressions travel with the numbers of a call as origins, which only captures have otherwise.
// They end here: no tensor gets one.
static const ig_origin marks[IG_DEFER_MOST_EXPRS + 1];

ig_int ig_defer_int(int64_t value, uint32_t expr) {
  return (ig_int){.value = value, .origin = expr ? &marks[expr] : NULL};
}
static bool is_marked(ig_int i) {
  return i.origin >= marks && i.origin < marks + IG_DEFER_MOST_EXPRS + 1;
}
static uint32_t expr_of(ig_int i) {
  return is_marked(i) ? (uint32_t)(i.origin - marks) : 0;
}

bool ig_defer_slot_add(ig_ctx *c, ig_defer *d, ig_int value, ig_defer_kind kind, size_t of,
                       size_t index) {
  ig_defer_slot s = {value.value, kind, (uint32_t)of, (uint32_t)index, expr_of(value)};
  return ig_vec_push(d->alloc, &d->slots, s) || out_of_memory(c);
}

bool ig_defer_value_add(ig_ctx *c, ig_defer *d, ig_tensor *t, bool input) {
  ig_table_slot *at = ig_table_put(&d->numbers, t);
  ig_defer_value v = {.tensor = t, .input = input};
  size_t number = d->values.n;
  if (!at || !ig_vec_push(d->alloc, &d->values, v)) return out_of_memory(c);
  (void)ig_tensor_retain(t);
  at->number = (int64_t)number;
  if (input && !ig_vec_push(d->alloc, &d->inputs, (uint32_t)number)) return out_of_memory(c);
  return true;
}

// The number of an operand; a tensor that was not made here becomes an input.
static bool number_of(ig_ctx *c, ig_defer *d, ig_tensor *t, int64_t *number) {
  const ig_table_slot *at = ig_table_find(&d->numbers, t);
  *number = at ? at->number : (int64_t)d->values.n;
  return at || ig_defer_value_add(c, d, t, true);
}

static ig_defer_kind kind_of_int(const ig_arg *a) {
  if (a->type == IG_TYPE_SYMINT) return IG_SLOT_SIZE_ARG;
  bool operand = a->type == IG_TYPE_SCALAR || a->type == IG_TYPE_TENSOR || a->type == IG_TYPE_FLOAT;
  return operand ? IG_SLOT_SCALAR : IG_SLOT_CONSTANT;
}

bool ig_defer_is_float_slot(const ig_arg *a, const ig_value *v) {
  return v->kind == IG_KIND_FLOAT && a->type == IG_TYPE_TENSOR;
}

static uint64_t bits_of(double f) {
  uint64_t w = 0;
  memcpy(&w, &f, sizeof w);
  return w;
}

static bool add_text(ig_ctx *c, ig_defer *d, const char *text) {
  size_t n = strlen(text);
  bool ok = ig_defer_word(c, d, n);
  for (size_t i = 0; ok && i < n; i += 8) {
    uint64_t w = 0;
    memcpy(&w, text + i, n - i < 8 ? n - i : 8);
    ok = ig_defer_word(c, d, w);
  }
  return ok;
}

bool ig_defer_arg(ig_ctx *c, ig_defer *d, const ig_arg *a, size_t i, const ig_value *v) {
  int64_t number = 0;
  bool ok = ig_defer_word(c, d, (uint64_t)v->kind);
  switch (v->kind) {
    case IG_KIND_NONE:
      return ok;
    case IG_KIND_TENSOR:
      return ok && number_of(c, d, v->tensor, &number) && ig_defer_word(c, d, (uint64_t)number);
    case IG_KIND_INT:
      return ok && ig_defer_slot_add(c, d, v->i, kind_of_int(a), d->calls.n, i);
    case IG_KIND_FLOAT:
      if (ig_defer_is_float_slot(a, v)) {
        ig_int bits = ig_const((int64_t)bits_of(v->f));
        return ok && ig_defer_slot_add(c, d, bits, IG_SLOT_FLOAT, d->calls.n, i);
      }
      return ok && ig_defer_word(c, d, bits_of(v->f));
    case IG_KIND_COMPLEX:
      return ok && ig_defer_word(c, d, bits_of(v->z.re)) && ig_defer_word(c, d, bits_of(v->z.im));
    case IG_KIND_BOOL:
      return ok && ig_defer_word(c, d, v->b);
    case IG_KIND_STR:
      return ok && add_text(c, d, v->str);
    case IG_KIND_DTYPE:
      return ok && ig_defer_word(c, d, (uint64_t)v->dtype);
    case IG_KIND_DEVICE:
      return ok && ig_defer_word(c, d, (uint64_t)v->device.type << 16 | (uint16_t)v->device.index);
    case IG_KIND_LAYOUT:
      return ok && ig_defer_word(c, d, (uint64_t)v->layout);
    case IG_KIND_MEMORY_FORMAT:
      return ok && ig_defer_word(c, d, (uint64_t)v->memory_format);
    case IG_KIND_INTS:
      ok = ok && ig_defer_word(c, d, v->ints.n);
      for (size_t k = 0; ok && k < v->ints.n; k++) {
        ok = ig_defer_slot_add(c, d, v->ints.at[k], kind_of_int(a), d->calls.n, i);
      }
      return ok;
    case IG_KIND_LIST:
      ok = ok && ig_defer_word(c, d, (uint64_t)v->seq) && ig_defer_word(c, d, v->list.n);
      for (size_t k = 0; ok && k < v->list.n; k++) ok = ig_defer_arg(c, d, a, i, &v->list.at[k]);
      return ok;
    default:
      return false;
  }
}

bool ig_defer_takes(const ig_value *v) {
  switch (v->kind) {
    case IG_KIND_INT:
      return !v->i.expr;
    case IG_KIND_FLOAT:
      return !v->f_expr;
    case IG_KIND_BOOL:
      return !v->b_expr;
    case IG_KIND_INTS:
      for (size_t k = 0; k < v->ints.n; k++) {
        if (v->ints.at[k].expr) return false;
      }
      return true;
    case IG_KIND_LIST:
      for (size_t k = 0; k < v->list.n; k++) {
        if (!ig_defer_takes(&v->list.at[k])) return false;
      }
      return true;
    case IG_KIND_TENSOR:
      // Fake tensors that are not ours stay what they are.
      return v->tensor && (!ig_is_fake(v->tensor) || ig_tensor_waits(v->tensor));
    case IG_KIND_GENERATOR:
    case IG_KIND_OBJECT:
    case IG_KIND_OP:
    case IG_KIND_GRAPH:
    case IG_KIND_NODE:
      return false;
    default:
      return true;
  }
}

static bool copy_value(ig_ctx *c, ig_arena *arena, ig_value *v) {
  if (v->kind == IG_KIND_INTS && v->ints.n) {
    ig_int *at = ig_arena_array(arena, v->ints.n, sizeof *at);
    if (!at) return out_of_memory(c);
    memcpy(at, v->ints.at, v->ints.n * sizeof *at);
    v->ints.at = at;
  } else if (v->kind == IG_KIND_STR) {
    v->str = ig_arena_strn(arena, v->str, strlen(v->str));
    if (!v->str) return out_of_memory(c);
  } else if (v->kind == IG_KIND_LIST && v->list.n) {
    ig_value *at = ig_arena_array(arena, v->list.n, sizeof *at);
    if (!at) return out_of_memory(c);
    memcpy(at, v->list.at, v->list.n * sizeof *at);
    v->list.at = at;
    for (size_t k = 0; k < v->list.n; k++) {
      if (!copy_value(c, arena, &at[k])) return false;
    }
  }
  return true;
}

ig_value *ig_defer_copy(ig_ctx *c, ig_arena *arena, const ig_value *from, size_t n) {
  ig_value *to = ig_arena_array(arena, n + 1, sizeof *to);
  if (!to) (void)out_of_memory(c);
  for (size_t i = 0; to && i < n; i++) {
    to[i] = from[i];
    if (!copy_value(c, arena, &to[i])) return NULL;
  }
  return to;
}

static bool has_marks(const ig_value *v) {
  if (v->kind == IG_KIND_INT) return is_marked(v->i);
  bool any = false;
  for (size_t k = 0; v->kind == IG_KIND_INTS && k < v->ints.n; k++)
    any = any || is_marked(v->ints.at[k]);
  for (size_t k = 0; v->kind == IG_KIND_LIST && k < v->list.n; k++)
    any = any || has_marks(&v->list.at[k]);
  return any;
}

static bool unmark(ig_ctx *c, ig_value *v) {
  if (v->kind == IG_KIND_INT) {
    v->i.origin = NULL;
  } else if (v->kind == IG_KIND_INTS) {
    ig_int *at = ig_scope_array(c, v->ints.n + 1, sizeof *at);
    for (size_t k = 0; at && k < v->ints.n; k++)
      at[k] = (ig_int){.value = v->ints.at[k].value, .expr = v->ints.at[k].expr};
    v->ints.at = at;
    return at != NULL;
  } else if (v->kind == IG_KIND_LIST) {
    ig_value *at = ig_scope_array(c, v->list.n + 1, sizeof *at);
    for (size_t k = 0; at && k < v->list.n; k++) {
      at[k] = v->list.at[k];
      if (!unmark(c, &at[k])) return false;
    }
    v->list.at = at;
    return at != NULL;
  }
  return true;
}

const ig_value *ig_defer_plain(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *room) {
  bool any = false;
  for (size_t i = 0; i < op->schema.nargs; i++) any = any || has_marks(&args[i]);
  for (size_t i = 0; any && i < op->schema.nargs; i++) {
    room[i] = args[i];
    if (has_marks(&args[i]) && !unmark(c, &room[i])) return NULL;
  }
  return any ? room : args;
}

// ---- how numbers were computed

static uint64_t way_of(const ig_defer *d, const ig_defer_expr *e) {
  uint64_t h = (uint64_t)e->kind + 1;
  if (e->kind == IG_EXPR_CONST) return h * 31 + (uint64_t)e->value;
  if (e->kind == IG_EXPR_SYMBOL) return h * 31 + e->dim;
  uint64_t a = d->exprs.at[e->a - 1].way;
  return (h * 31 + a) * 0x9e3779b97f4a7c15U + d->exprs.at[e->b - 1].way;
}

static bool has_element(const ig_defer *d, const ig_defer_expr *e) {
  if (e->kind == IG_EXPR_CONST) return false;
  if (e->kind == IG_EXPR_SYMBOL) return !e->tensor;
  return d->exprs.at[e->a - 1].element || d->exprs.at[e->b - 1].element;
}

uint32_t ig_defer_expr_add(ig_defer *d, const ig_defer_expr *e) {
  if (d->exprs.n == IG_DEFER_MOST_EXPRS) return 0;
  ig_defer_expr own = *e;
  own.element = has_element(d, e);
  own.way = way_of(d, e);
  return ig_vec_push(d->alloc, &d->exprs, own) ? (uint32_t)d->exprs.n : 0;
}

uint32_t ig_defer_expr_combine(ig_defer *d, ig_expr_kind kind, uint32_t a, uint32_t b, int64_t x,
                               int64_t y, int64_t value) {
  if (!a && !b) return 0;
  if (!a) a = ig_defer_expr_add(d, &(ig_defer_expr){.kind = IG_EXPR_CONST, .value = x});
  if (!b) b = ig_defer_expr_add(d, &(ig_defer_expr){.kind = IG_EXPR_CONST, .value = y});
  if (!a || !b) return 0;
  return ig_defer_expr_add(d, &(ig_defer_expr){.kind = kind, .a = a, .b = b, .value = value});
}
