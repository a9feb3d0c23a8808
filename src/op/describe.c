// SPDX-License-Identifier: Apache-2.0
// Operands of a call in one line: types and sizes of tensors, values of numbers.
#include "op/draft.h"
#include "op/record.h"

static void add_value(ig_str *s, const ig_value *v);

static void add_tensor(ig_str *s, const ig_tensor *t) {
  static const char *const shorts[] = {
      [IG_F16] = "f16", [IG_BF16] = "bf16", [IG_F32] = "f32", [IG_F64] = "f64", [IG_I8] = "i8",
      [IG_I16] = "i16", [IG_I32] = "i32",   [IG_I64] = "i64", [IG_U8] = "u8",   [IG_BOOL] = "b8"};
  size_t n = sizeof shorts / sizeof *shorts;
  const char *name = (size_t)t->dtype < n ? shorts[t->dtype] : NULL;
  ig_str_add(s, "%s[", name ? name : ig_dtype_text(t->dtype));
  for (int d = 0; d < t->ndim; d++) {
    if (d) ig_str_add(s, ", ");
    ig_str_int(s, ig_sizes(t)[d]);
  }
  ig_str_add(s, "]");
}

static void add_list(ig_str *s, const ig_value *v) {
  size_t n = v->kind == IG_KIND_INTS ? v->ints.n : v->list.n;
  ig_str_add(s, "[");
  for (size_t i = 0; i < n; i++) {
    if (i) ig_str_add(s, ", ");
    if (v->kind == IG_KIND_INTS) {
      ig_str_int(s, v->ints.at[i]);
    } else {
      add_value(s, &v->list.at[i]);
    }
  }
  ig_str_add(s, "]");
}

static void add_value(ig_str *s, const ig_value *v) {
  const ig_expr *e = v->kind == IG_KIND_FLOAT  ? v->f_expr
                     : v->kind == IG_KIND_BOOL ? v->b_expr
                                               : NULL;
  if (e) {
    ig_str_expr(s, e);
    return;
  }
  switch (v->kind) {
    case IG_KIND_TENSOR:
      add_tensor(s, v->tensor);
      break;
    case IG_KIND_INT:
      ig_str_int(s, v->i);
      break;
    case IG_KIND_FLOAT:
      ig_str_float(s, v->f);
      break;
    case IG_KIND_BOOL:
      ig_str_add(s, v->b ? "True" : "False");
      break;
    case IG_KIND_STR:
      ig_str_add(s, "'%s'", v->str);
      break;
    case IG_KIND_DTYPE:
      ig_str_add(s, "%s", ig_dtype_text(v->dtype));
      break;
    case IG_KIND_INTS:
    case IG_KIND_LIST:
      add_list(s, v);
      break;
    case IG_KIND_NONE:
      ig_str_add(s, "None");
      break;
    default:
      ig_str_add(s, "...");
      break;
  }
}

void ig_op_describe(const ig_ctx *c, ig_str *out) {
  const ig_value *args = c->op_args;
  const ig_schema *schema = c->op ? &c->op->schema : NULL;
  bool first = true;
  for (size_t i = 0; schema && args && i < schema->nargs; i++) {
    if (ig_arg_is_default(&schema->args[i], &args[i])) continue;
    ig_str_add(out, "%s%s: ", first ? "" : ", ", schema->args[i].name);
    add_value(out, &args[i]);
    first = false;
  }
}
