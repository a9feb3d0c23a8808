// SPDX-License-Identifier: Apache-2.0
#include "op/bind.h"

#include <string.h>

#include "base/mem.h"
#include "ingot/aten.h"

// ---- candidates ----

bool ig_op_is_out(const ig_op *op) {
  const ig_schema *s = &op->schema;
  for (size_t i = s->npos; i < s->nargs; i++) {
    if (s->args[i].written) return true;
  }
  return false;
}

static bool has_self(const ig_schema *s) {
  return s->nargs > 0 && s->args[0].type == IG_TYPE_TENSOR && !s->args[0].list &&
         strcmp(s->args[0].name, "self") == 0;
}

static bool is_candidate(const ig_op *op, ig_call_style style) {
  if (style == IG_STYLE_OVERLOAD || style == IG_STYLE_PACKET) return true;
  if (style == IG_STYLE_METHOD && (!has_self(&op->schema) || ig_op_is_out(op))) return false;
  return !ig_op_is_hidden(op);
}

static size_t numbers_of(const ig_op *op) {
  size_t n = 0;
  for (size_t i = 0; i < op->schema.npos; i++) n += op->schema.args[i].type == IG_TYPE_SCALAR;
  return n;
}

static void insert(ig_overload_set *set, const ig_op *op) {
  size_t i = set->n++;
  size_t floor = 0;
  if (ig_op_is_out(op)) {
    floor = set->plain;
  } else {
    for (; i > set->plain; i--) set->at[i] = set->at[i - 1];
    set->plain++;
  }
  for (; i > floor && numbers_of(set->at[i - 1]) > numbers_of(op); i--) {
    set->at[i] = set->at[i - 1];
  }
  set->at[i] = op;
}

static size_t set_bytes(size_t n) {
  return ig_mem_add(sizeof(ig_overload_set), ig_mem_mul(n, sizeof(const ig_op *)));
}

static ig_overload_set *set_new(ig_ctx *c, const ig_op *first, ig_call_style style, size_t n) {
  ig_overload_set *set = ig_mem_new(c->alloc, set_bytes(n));
  if (!set) {
    (void)ig_fail(c, IG_NOMEM, "out of memory");
    return NULL;
  }
  *set = (ig_overload_set){
      .alloc = c->alloc, .style = style, .numbers = first->def->numbers_to_tensor};
  return set;
}

ig_overload_set *ig_overload_set_make(ig_ctx *c, const char *ns, const char *name,
                                      ig_call_style style) {
  const ig_op *first = ig_lib_overloads(c, ns, name);
  size_t n = 0;
  for (const ig_op *op = first; op; op = op->next) n += is_candidate(op, style);
  if (n == 0) return NULL;
  ig_overload_set *set = set_new(c, first, style, n);
  for (const ig_op *op = first; set && op; op = op->next) {
    if (is_candidate(op, style)) insert(set, op);
  }
  if (set && set->plain == 0) set->plain = set->n;
  return set;
}

ig_overload_set *ig_overload_set_of(ig_ctx *c, const ig_op *op) {
  ig_overload_set *set = set_new(c, op, IG_STYLE_OVERLOAD, 1);
  if (!set) return NULL;
  set->at[0] = op;
  set->n = set->plain = 1;
  return set;
}

void ig_overload_set_free(ig_overload_set *set) {
  if (set) ig_mem_free(set->alloc, set, set_bytes(set->n));
}

// ---- numbers in tensors without data ----

bool ig_reads_defer(ig_reads *r, ig_tensor *from, ig_int *i, ig_value *v) {
  if (r->n == IG_MAX_READS) return false;
  r->at[r->n++] = (ig_deferred_read){.from = from, .i = i, .v = v};
  return true;
}

static bool read_deferred(ig_ctx *c, ig_reads *r) {
  for (size_t k = 0; k < r->n; k++) {
    ig_value number[IG_MAX_RETURNS] = {ig_none()};
    ig_item(c, r->at[k].from, number);
    if (c->status != IG_OK) return false;
    if (r->at[k].i) *r->at[k].i = number[0].i;
    if (r->at[k].v) *r->at[k].v = number[0];
  }
  r->n = 0;
  return true;
}

// ---- matching ----

const char *ig_arg_keyword(ig_call_style style, const ig_op *op, size_t i) {
  const ig_arg *a = &op->schema.args[i];
  bool input =
      style == IG_STYLE_FUNCTION && a->type == IG_TYPE_TENSOR && strcmp(a->name, "self") == 0;
  return input ? "input" : a->name;
}

// Second names of arguments: NumPy's, and the names that functions have for self.
static const char *const aliases[][2] = {{"dim", "axis"},  {"keepdim", "keepdims"}, {"input", "x"},
                                         {"input", "a"},   {"input", "x1"},         {"other", "x2"},
                                         {"self", "input"}};

static size_t find_keyword(ig_call_style style, const ig_given *g, const ig_op *op, size_t i) {
  const char *name = ig_arg_keyword(style, op, i);
  size_t none = g->npos + g->nkw;
  size_t at = g->ops->keyword(g, op, i, name);
  if (at < none || style == IG_STYLE_OVERLOAD || style == IG_STYLE_PACKET) return at;
  for (size_t k = 0; k < sizeof aliases / sizeof *aliases; k++) {
    if (strcmp(aliases[k][0], name) != 0) continue;
    if (style == IG_STYLE_METHOD && strcmp(name, "self") == 0) continue;
    at = g->ops->keyword(g, NULL, i, aliases[k][1]);
    if (at < none) return at;
  }
  return none;
}

bool ig_bind_spreads(const ig_overload_set *set, const ig_given *g, const ig_op *op, size_t i) {
  const ig_schema *s = &op->schema;
  const ig_arg *a = &s->args[i];
  bool ints = a->list && (a->type == IG_TYPE_INT || a->type == IG_TYPE_SYMINT);
  if (!ints || s->npos != i + 1 || g->npos <= i) return false;
  switch (set->style) {
    case IG_STYLE_FUNCTION:
      if (i != 0) return false;
      break;
    case IG_STYLE_METHOD:
      if (i != 1) return false;
      break;
    case IG_STYLE_NAME:
      if (i > 1) return false;
      break;
    default:
      return false;
  }
  return g->ops->is_integer(g, i);
}

static size_t outs_of(const ig_schema *s) {
  size_t n = 0;
  for (size_t i = s->npos; i < s->nargs; i++) n += s->args[i].written;
  return n;
}

// How far the binding of one candidate has come.
typedef struct cursor {
  size_t pos;       // positional arguments used
  size_t keywords;  // keywords used
  size_t outs;      // elements of out= used
} cursor;

static ig_match bind_one(const ig_overload_set *set, const ig_op *op, ig_given *g, size_t i,
                         cursor *at, ig_value *v) {
  const ig_schema *s = &op->schema;
  const ig_arg *a = &s->args[i];
  size_t from = g->npos + g->nkw;
  if (i < s->npos && at->pos < g->npos) {
    if (a->list && ig_bind_spreads(set, g, op, i)) {
      at->pos = g->npos;
      return g->ops->take_integers(g, i, a, v);
    }
    from = at->pos++;
  } else if (g->out && i >= s->npos && a->written) {
    return g->ops->take_out(g, at->outs++, outs_of(s), v);
  } else if (g->nkw > 0) {
    from = find_keyword(set->style, g, op, i);
    at->keywords += from < g->npos + g->nkw;
  }
  if (from < g->npos + g->nkw) return g->ops->take(g, from, a, set->numbers && !a->written, v);
  *v = a->def;
  return a->has_default ? IG_MATCH_TAKEN : IG_MATCH_OTHER;
}

static ig_match bind(const ig_overload_set *set, const ig_op *op, ig_given *g, ig_value *values) {
  cursor at = {.keywords = g->consumed};
  g->reads.n = 0;
  if (g->ops->reset) g->ops->reset(g);
  for (size_t i = 0; i < op->schema.nargs; i++) {
    ig_match taken = bind_one(set, op, g, i, &at, &values[i]);
    if (taken != IG_MATCH_TAKEN) return taken;
  }
  return at.pos == g->npos && at.keywords == g->nkw ? IG_MATCH_TAKEN : IG_MATCH_OTHER;
}

const ig_op *ig_bind(ig_ctx *c, const ig_overload_set *set, ig_given *g, ig_value *values,
                     ig_match *answer) {
  bool exact = set->style == IG_STYLE_OVERLOAD || set->style == IG_STYLE_PACKET;
  size_t end = g->out || exact || set->style == IG_STYLE_NAME ? set->n : set->plain;
  *answer = IG_MATCH_OTHER;
  for (size_t i = g->out ? set->plain : 0; i < end; i++) {
    *answer = bind(set, set->at[i], g, values);
    if (*answer == IG_MATCH_REFUSED) return NULL;
    if (*answer == IG_MATCH_OTHER) continue;
    return g->reads.n == 0 || read_deferred(c, &g->reads) ? set->at[i] : NULL;
  }
  return NULL;
}
