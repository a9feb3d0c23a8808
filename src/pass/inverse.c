// SPDX-License-Identifier: Apache-2.0
// Writing through views: each view operator has an operator that puts a changed part back into what
// it was taken from.
#include <string.h>

#include "op/formula.h"
#include "pass/alias.h"

typedef ig_tensor *invert_fn(ig_ctx *c, const ig_alias_view *v, ig_tensor *base, ig_tensor *part);

static ig_tensor *invert_same(ig_ctx *c, const ig_alias_view *v, ig_tensor *base, ig_tensor *part) {
  (void)c;
  (void)v;
  (void)base;
  return part;
}

// select -> select_scatter(base, part, the view's own arguments)
static ig_tensor *invert_scatter(ig_ctx *c, const ig_alias_view *v, ig_tensor *base,
                                 ig_tensor *part) {
  char name[80];
  size_t n = strlen(v->op->schema.name);
  if (n + sizeof "aten::_scatter" > sizeof name) return NULL;
  memcpy(name, "aten::", 6);  // NOLINT(bugprone-not-null-terminated-result): more follows
  memcpy(name + 6, v->op->schema.name, n);
  memcpy(name + 6 + n, "_scatter", sizeof "_scatter");
  const ig_op *op = ig_op_find(c, name);
  if (!op) {
    (void)ig_fail(c, IG_UNSUPPORTED, "%s does not exist, so a view by %s cannot be written to",
                  name, v->op->target);
    return NULL;
  }
  ig_value args[IG_MAX_ARGS];
  ig_value outs[IG_MAX_RETURNS];
  args[0] = ig_of_tensor(base);
  args[1] = ig_of_tensor(part);
  for (size_t i = 2; i < op->schema.nargs; i++) args[i] = v->args[i - 2];
  ig_call(c, op, args, outs);
  return ig_value_tensor(&outs[0]);
}

static ig_tensor *invert_view(ig_ctx *c, const ig_alias_view *v, ig_tensor *base, ig_tensor *part) {
  if (strcmp(v->op->schema.overload, "dtype") == 0)
    return ig_view_dtype(c, part, ig_of_dtype(base->dtype));
  return ig_view(c, part, ig_sizes_of(base));
}

static ig_tensor *invert_expand(ig_ctx *c, const ig_alias_view *v, ig_tensor *base,
                                ig_tensor *part) {
  (void)v;
  ig_value like = ig_of_tensor(base);
  return ig_sum_to(c, part, &like);
}

static ig_tensor *invert_permute(ig_ctx *c, const ig_alias_view *v, ig_tensor *base,
                                 ig_tensor *part) {
  ig_int back[IG_MAX_DIM];
  const ig_value *order = &v->args[0];
  for (int d = 0; d < base->ndim; d++) {
    bool list = order->kind == IG_KIND_LIST;
    int64_t at = list ? order->list.at[d].i.value : order->ints.at[d].value;
    back[at < 0 ? at + base->ndim : at] = ig_const(d);
  }
  return ig_permute(c, part, ig_of_ints(back, (size_t)base->ndim));
}

static ig_tensor *invert_t(ig_ctx *c, const ig_alias_view *v, ig_tensor *base, ig_tensor *part) {
  (void)v;
  (void)base;
  return ig_t(c, part);
}

static ig_tensor *invert_transpose(ig_ctx *c, const ig_alias_view *v, ig_tensor *base,
                                   ig_tensor *part) {
  (void)base;
  return ig_transpose_int(c, part, v->args[0].i, v->args[1].i);
}

static ig_tensor *invert_unsqueeze(ig_ctx *c, const ig_alias_view *v, ig_tensor *base,
                                   ig_tensor *part) {
  (void)base;
  return ig_squeeze_dim(c, part, v->args[0].i);
}

static bool names_dim(const ig_alias_view *v, int ndim, int d) {
  if (v->op->schema.nargs == 1) return true;
  const ig_value *given = &v->args[0];
  size_t n = given->kind == IG_KIND_INTS ? given->ints.n : 1;
  for (size_t i = 0; i < n; i++) {
    int64_t at = given->kind == IG_KIND_INTS ? given->ints.at[i].value : given->i.value;
    if ((at < 0 ? at + ndim : at) == d) return true;
  }
  return false;
}

// Dimensions of size 1 come back, first to last.
static ig_tensor *invert_squeeze(ig_ctx *c, const ig_alias_view *v, ig_tensor *base,
                                 ig_tensor *part) {
  for (int d = 0; d < base->ndim; d++) {
    if (!names_dim(v, base->ndim, d) || !ig_int_eq_i64(c, ig_sizes(base)[d], 1)) continue;
    part = ig_unsqueeze(c, part, ig_const(d));
  }
  return part;
}

static int dim_of(const ig_value *v, int ndim) {
  return (int)(v->i.value < 0 ? v->i.value + ndim : v->i.value);
}

// split and its kin: the piece is a slice.
static ig_tensor *invert_split(ig_ctx *c, const ig_alias_view *v, ig_tensor *base,
                               ig_tensor *part) {
  int dim = dim_of(&v->args[1], base->ndim);
  ig_int start = ig_const(0);
  ig_int end;
  if (v->args[0].kind == IG_KIND_INT) {
    start = ig_int_mul(c, v->args[0].i, ig_const((int64_t)v->index));
    end = ig_int_add(c, start, ig_sizes(part)[dim]);
  } else {
    const ig_int *sizes = v->args[0].ints.at;
    for (size_t i = 0; i < v->index; i++) start = ig_int_add(c, start, sizes[i]);
    end = ig_int_add(c, start, sizes[v->index]);
  }
  return ig_slice_scatter_with(c, base, part, ig_const(dim), ig_of_int(start), ig_of_int(end),
                               ig_const(1));
}

static ig_tensor *invert_unbind(ig_ctx *c, const ig_alias_view *v, ig_tensor *base,
                                ig_tensor *part) {
  return ig_select_scatter(c, base, part, v->args[0].i, ig_const((int64_t)v->index));
}

static ig_tensor *invert_unfold(ig_ctx *c, const ig_alias_view *v, ig_tensor *base,
                                ig_tensor *part) {
  return ig_unfold_backward(c, part, ig_sizes_of(base), v->args[0].i, v->args[1].i, v->args[2].i);
}

static ig_tensor *invert_as_real(ig_ctx *c, const ig_alias_view *v, ig_tensor *base,
                                 ig_tensor *part) {
  (void)v;
  (void)base;
  return ig_view_as_complex(c, part);
}
static ig_tensor *invert_as_complex(ig_ctx *c, const ig_alias_view *v, ig_tensor *base,
                                    ig_tensor *part) {
  (void)v;
  (void)base;
  return ig_view_as_real(c, part);
}

// _conj, _neg_view: twice is nothing.
static ig_tensor *invert_again(ig_ctx *c, const ig_alias_view *v, ig_tensor *base,
                               ig_tensor *part) {
  (void)base;
  ig_value args[] = {ig_of_tensor(part)};
  ig_value outs[IG_MAX_RETURNS];
  ig_call(c, v->op, args, outs);
  return ig_value_tensor(&outs[0]);
}

static const struct {
  const char *name;
  invert_fn *invert;
} inverses[] = {
    {"alias", invert_same},
    {"detach", invert_same},
    {"lift_fresh", invert_same},
    {"select", invert_scatter},
    {"slice", invert_scatter},
    {"diagonal", invert_scatter},
    {"as_strided", invert_scatter},
    {"view", invert_view},
    {"expand", invert_expand},
    {"permute", invert_permute},
    {"t", invert_t},
    {"transpose", invert_transpose},
    {"unsqueeze", invert_unsqueeze},
    {"squeeze", invert_squeeze},
    {"split", invert_split},
    {"split_with_sizes", invert_split},
    {"unbind", invert_unbind},
    {"unfold", invert_unfold},
    {"view_as_real", invert_as_real},
    {"view_as_complex", invert_as_complex},
    {"_conj", invert_again},
    {"_neg_view", invert_again},
};

ig_tensor *ig_alias_invert(ig_ctx *c, const ig_alias_view *view, ig_tensor *base, ig_tensor *part) {
  if (!base || !part) return NULL;
  for (size_t i = 0; i < sizeof inverses / sizeof *inverses; i++) {
    if (strcmp(inverses[i].name, view->op->schema.name) == 0) {
      return inverses[i].invert(c, view, base, part);
    }
  }
  (void)ig_fail(c, IG_UNSUPPORTED, "a view by %s cannot be written to", view->op->target);
  return NULL;
}
