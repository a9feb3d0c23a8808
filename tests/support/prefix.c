// SPDX-License-Identifier: Apache-2.0
// Builds recorded expressions from their prefix form.
#include "prefix.h"

#include <stdlib.h>
#include <string.h>

#include "sym/build.h"

static const struct {
  const char *name;
  ig_expr_kind kind;
} functions[] = {
    {"add", IG_EXPR_ADD},
    {"sub", IG_EXPR_SUB},
    {"mul", IG_EXPR_MUL},
    {"float_mul", IG_EXPR_MUL},
    {"neg", IG_EXPR_NEG},
    {"abs", IG_EXPR_ABS},
    {"pow", IG_EXPR_POW},
    {"floordiv", IG_EXPR_FLOORDIV},
    {"mod", IG_EXPR_MOD},
    {"cleandiv", IG_EXPR_CLEANDIV},
    {"min", IG_EXPR_MIN},
    {"max", IG_EXPR_MAX},
    {"int_truediv", IG_EXPR_INT_TRUEDIV},
    {"float_truediv", IG_EXPR_FLOAT_TRUEDIV},
    {"float_pow", IG_EXPR_FLOAT_POW},
    {"sqrt", IG_EXPR_SQRT},
    {"sym_float", IG_EXPR_TO_FLOAT},
    {"ceil", IG_EXPR_CEIL},
    {"floor", IG_EXPR_FLOOR},
    {"trunc", IG_EXPR_TRUNC},
    {"round", IG_EXPR_ROUND},
    {"eq", IG_EXPR_EQ},
    {"ne", IG_EXPR_NE},
    {"lt", IG_EXPR_LT},
    {"le", IG_EXPR_LE},
    {"gt", IG_EXPR_GT},
    {"ge", IG_EXPR_GE},
    {"and", IG_EXPR_AND},
    {"or", IG_EXPR_OR},
    {"not", IG_EXPR_NOT},
};

const ig_expr *test_prefix_build(ig_ctx *c, const ig_json *j) {
  if (j->kind == IG_JSON_STRING) return ig_expr_find(c, j->text);
  if (j->kind == IG_JSON_INT) return ig_expr_of_i64(c, j->i);
  if (j->kind != IG_JSON_ARRAY || j->n < 2 || j->n > 4) return NULL;
  const char *name = j->items[0].text;
  if (strcmp(name, "flt") == 0) return ig_expr_of_float(c, strtod(j->items[1].text, NULL));
  const ig_expr *a[3] = {NULL, NULL, NULL};
  for (size_t i = 1; i < j->n; i++) {
    a[i - 1] = test_prefix_build(c, &j->items[i]);
    if (!a[i - 1]) return NULL;
  }
  if (strcmp(name, "ite") == 0) {
    const ig_expr *args[] = {a[1], a[0], a[2], ig_expr_of_bool(c, true)};
    return ig_expr_make(c, IG_EXPR_PIECEWISE, args, 4);
  }
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    if (strcmp(functions[i].name, name) != 0) continue;
    ig_expr_kind kind = functions[i].kind;
    return ig_expr_make(c, kind == IG_EXPR_MOD ? ig_mod_kind(a[0], a[1]) : kind, a, j->n - 1);
  }
  return NULL;
}
