// SPDX-License-Identifier: Apache-2.0
// Any bytes as the text of a graph: it is refused with words, or it runs under small limits, with
// values of the types that its inputs claim, and gives values or an error.
#include <string.h>

#include "ingot/limits.h"
#include "script/interp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { DEPTH = 6, MAX_VALUES = 16 };

static ig_value make_value(ig_ctx *c, const ig_stype *t, int depth);

static ig_value make_seq(ig_ctx *c, const ig_stype *t, int depth) {
  bool tuple = t->kind == IG_STYPE_TUPLE;
  ig_sobj_seq *s =
      ig_sobj_seq_make(c, tuple ? IG_SOBJ_TUPLE : IG_SOBJ_LIST, t, NULL, tuple ? t->n : 2);
  for (size_t i = 0; s && i < s->n; i++) s->at[i] = make_value(c, t->at[tuple ? i : 0], depth - 1);
  return s ? ig_of_sobj(s) : ig_none();
}

static ig_value make_dict(ig_ctx *c, const ig_stype *t, int depth) {
  ig_sobj_dict *d = ig_sobj_dict_make(c, t);
  ig_value key = make_value(c, t->at[0], depth - 1);
  ig_value value = make_value(c, t->at[1], depth - 1);
  if (d) (void)ig_sobj_dict_put(c, d, key, value);
  ig_svalue_release(key);
  ig_svalue_release(value);
  return d ? ig_of_sobj(d) : ig_none();
}

static ig_value make_tensor(ig_ctx *c) {
  const int64_t sizes[2] = {2, 3};
  ig_scope s = ig_scope_open(c);
  ig_tensor *x = ig_tensor_empty(c, IG_F32, sizes, 2);
  for (int i = 0; x && i < 6; i++) ((float *)ig_tensor_data(x))[i] = (float)i - 2.5F;
  ig_value v = x ? ig_of_tensor(ig_tensor_retain(x)) : ig_none();
  ig_scope_close(c, s);
  return v;
}

// A value of the type; None where there is none.
static ig_value make_value(ig_ctx *c, const ig_stype *t, int depth) {
  if (depth == 0) return ig_none();
  switch (t->kind) {
    case IG_STYPE_TENSOR:
      return make_tensor(c);
    case IG_STYPE_INT:
    case IG_STYPE_NUMBER:
      return ig_of_i64(3);
    case IG_STYPE_FLOAT:
      return ig_of_f64(1.5);
    case IG_STYPE_COMPLEX:
      return ig_of_complex(1, -2);
    case IG_STYPE_BOOL:
      return ig_of_bool(true);
    case IG_STYPE_DEVICE:
      return ig_of_device(ig_device_cpu());
    case IG_STYPE_STR: {
      ig_sobj_str *s = ig_sobj_str_make(c, "a b", 3);
      return s ? ig_of_sobj(s) : ig_none();
    }
    case IG_STYPE_LIST:
    case IG_STYPE_TUPLE:
      return make_seq(c, t, depth);
    case IG_STYPE_DICT:
      return make_dict(c, t, depth);
    case IG_STYPE_OPTIONAL:
    case IG_STYPE_UNION:
      return make_value(c, t->at[0], depth - 1);
    default:
      return ig_none();
  }
}

static void run(ig_ctx *c, ig_sunit *u, const ig_sgraph *g) {
  size_t n = g->body->n_in;
  ig_value in[MAX_VALUES];
  ig_value out[MAX_VALUES];
  if (n > MAX_VALUES || g->body->n_out > MAX_VALUES) return;
  for (size_t i = 0; i < n; i++) in[i] = make_value(c, g->body->in[i]->type, DEPTH);
  if (ig_sgraph_run(c, u, g, in, n, out) == IG_OK) {
    ig_str s = ig_str_make(c->alloc);
    for (size_t i = 0; i < g->body->n_out; i++) {
      (void)ig_svalue_print(c, &s, out[i]);
      ig_svalue_release(out[i]);
    }
    ig_str_free(&s);
  } else if (!ig_ctx_error(c)[0]) {
    __builtin_trap();
  }
  for (size_t i = 0; i < n; i++) ig_svalue_release(in[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  ig_ctx *c = NULL;
  if (n > 1 << 16 || ig_ctx_create(NULL, &c) != IG_OK) return 0;
  ig_limits limits = ig_limits_default();
  limits.max_work = 2000;
  limits.max_memory = 64 << 20;
  limits.max_depth = 64;
  ig_ctx_set_limits(c, &limits);
  ig_str text = ig_str_make(c->alloc);
  ig_str_add(&text, "%.*s", (int)n, (const char *)data);
  ig_sunit *u = ig_sunit_create(c);
  ig_sgraph *g = u && text.at ? ig_sgraph_parse(&u->types, NULL, text.at) : NULL;
  if (g) run(c, u, g);
  ig_sgraph_free(g);
  if (u) ig_sunit_release(u);
  ig_str_free(&text);
  ig_ctx_free(c);
  return 0;
}
