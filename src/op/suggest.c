// SPDX-License-Identifier: Apache-2.0
// The trials run in a separate context, on descriptions of the operands with the example sizes:
// nothing is recorded, guarded or computed.
#include "op/suggest.h"

#include <string.h>

#include "ingot/aten.h"
#include "op/formula.h"

enum { MAX_CHANGES = 64, WHOLE = -1 };

typedef enum what { CAST, TRANSPOSE, FLATTEN, NARROW, UNSQUEEZE, NUMBER } what;

// A replacement for one argument, or for one tensor of a list.
typedef struct change {
  size_t arg;
  int item;  // in the list, WHOLE: the argument itself
  what kind;
  ig_dtype dtype;  // CAST
  int64_t at;    // NARROW, UNSQUEEZE: the dimension; NUMBER: which of several, WHOLE: the only one
  int64_t size;  // NARROW
} change;

typedef struct trial {
  ig_ctx *c;
  const ig_op *op;
  ig_value args[IG_MAX_ARGS];
  change all[MAX_CHANGES];
  size_t n;
} trial;

static bool example(ig_int i, ig_int *out) {
  if (i.expr && !i.expr->hinted) return false;
  *out = ig_const(i.expr ? i.expr->value : i.value);
  return true;
}

static ig_tensor *describe(ig_ctx *c, const ig_tensor *t) {
  ig_meta m;
  ig_meta_init(&m, t->dtype, t->device);
  m.ndim = t->ndim;
  for (int d = 0; d < t->ndim; d++) {
    if (!example(ig_sizes(t)[d], &m.size[d])) return NULL;
  }
  ig_meta_contiguous(c, &m);
  return ig_tensor_make(c, &m, true);
}

// The argument with sizes of the example.
static bool plain(ig_ctx *c, const ig_value *in, ig_value *out) {
  *out = *in;
  size_t n = in->kind == IG_KIND_INTS ? in->ints.n : in->kind == IG_KIND_LIST ? in->list.n : 0;
  switch (in->kind) {
    case IG_KIND_TENSOR:
      out->tensor = describe(c, in->tensor);
      return out->tensor != NULL;
    case IG_KIND_INT:
      return example(in->i, &out->i);
    case IG_KIND_FLOAT:
      return !in->f_expr;
    case IG_KIND_BOOL:
      return !in->b_expr;
    case IG_KIND_INTS: {
      ig_int *at = ig_scope_array(c, n + 1, sizeof *at);
      for (size_t i = 0; at && i < n; i++) {
        if (!example(in->ints.at[i], &at[i])) return false;
      }
      out->ints.at = at;
      return at != NULL;
    }
    case IG_KIND_LIST: {
      ig_value *at = ig_scope_array(c, n + 1, sizeof *at);
      for (size_t i = 0; at && i < n; i++) {
        if (!plain(c, &in->list.at[i], &at[i])) return false;
      }
      out->list.at = at;
      return at != NULL;
    }
    default:
      return true;
  }
}

static void add(trial *t, change k) {
  if (t->n < MAX_CHANGES) t->all[t->n++] = k;
}

// Calls fn for every tensor among the arguments.
typedef void each_fn(trial *t, size_t arg, int item, const ig_tensor *x, const void *user);

static void each(trial *t, each_fn *fn, const void *user) {
  for (size_t i = 0; i < t->op->schema.nargs; i++) {
    const ig_value *v = &t->args[i];
    if (v->kind == IG_KIND_TENSOR) fn(t, i, WHOLE, v->tensor, user);
    for (size_t k = 0; v->kind == IG_KIND_LIST && k < v->list.n && k < 8; k++) {
      if (v->list.at[k].kind == IG_KIND_TENSOR) fn(t, i, (int)k, v->list.at[k].tensor, user);
    }
  }
}

typedef struct place {
  size_t arg;
  int item;
  const ig_tensor *x;
} place;

static void add_cast_like(trial *t, size_t arg, int item, const ig_tensor *other,
                          const void *user) {
  const place *p = user;
  (void)arg;
  (void)item;
  if (other->dtype == p->x->dtype) return;
  add(t, (change){.arg = p->arg, .item = p->item, .kind = CAST, .dtype = other->dtype});
}

// The size that another operand has there, counted from the last dimension.
static void add_narrow_like(trial *t, size_t arg, int item, const ig_tensor *other,
                            const void *user) {
  const place *p = user;
  (void)arg;
  (void)item;
  for (int d = 1; d <= p->x->ndim && d <= other->ndim; d++) {
    int64_t size = ig_sizes(other)[other->ndim - d].value;
    if (size <= 1 || size >= ig_sizes(p->x)[p->x->ndim - d].value) continue;
    add(t, (change){.arg = p->arg, .item = p->item, .kind = NARROW, .at = -d, .size = size});
  }
}

static void change_tensor(trial *t, size_t arg, int item, const ig_tensor *x, const void *user) {
  (void)user;
  place p = {arg, item, x};
  each(t, add_cast_like, &p);
  ig_dtype other = ig_dtype_is_float(x->dtype) ? IG_I64 : IG_F32;
  add(t, (change){.arg = arg, .item = item, .kind = CAST, .dtype = other});
  if (x->ndim > 1) add(t, (change){.arg = arg, .item = item, .kind = TRANSPOSE});
  if (x->ndim > 1) add(t, (change){.arg = arg, .item = item, .kind = FLATTEN});
  each(t, add_narrow_like, &p);
  add(t, (change){.arg = arg, .item = item, .kind = UNSQUEEZE, .at = 0});
  add(t, (change){.arg = arg, .item = item, .kind = UNSQUEEZE, .at = -1});
}

// -1 instead of a dimension, or instead of one of some sizes.
static void change_numbers(trial *t, size_t arg) {
  static const char *const names[] = {"dim", "size", "shape"};
  const ig_value *v = &t->args[arg];
  bool known = false;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    known = known || strcmp(t->op->schema.args[arg].name, names[i]) == 0;
  }
  if (known && v->kind == IG_KIND_INT) {
    add(t, (change){.arg = arg, .item = WHOLE, .kind = NUMBER, .at = WHOLE});
  }
  for (size_t i = 0; known && v->kind == IG_KIND_INTS && i < v->ints.n; i++) {
    add(t, (change){.arg = arg, .item = WHOLE, .kind = NUMBER, .at = (int64_t)i});
  }
}

static ig_tensor *changed(ig_ctx *c, ig_tensor *x, const change *k) {
  switch (k->kind) {
    case CAST:
      return ig_to_dtype(c, x, ig_of_dtype(k->dtype));
    case TRANSPOSE:
      return ig_transpose_int(c, x, ig_const(-2), ig_const(-1));
    case FLATTEN:
      return ig_flatten_using_ints(c, x);
    case NARROW:
      return ig_narrow(c, x, ig_const(k->at), ig_const(0), ig_const(k->size));
    default:
      return ig_unsqueeze(c, x, ig_const(k->at));
  }
}

static bool apply(ig_ctx *c, ig_value *v, const change *k) {
  if (k->kind == NUMBER && k->at == WHOLE) {
    *v = ig_of_i64(-1);
  } else if (k->kind == NUMBER) {
    ig_int *at = ig_scope_array(c, v->ints.n, sizeof *at);
    if (!at) return false;
    memcpy(at, v->ints.at, v->ints.n * sizeof *at);
    at[k->at] = ig_const(-1);
    v->ints.at = at;
  } else if (k->item == WHOLE) {
    v->tensor = changed(c, v->tensor, k);
  } else {
    ig_value *at = ig_scope_array(c, v->list.n, sizeof *at);
    if (!at) return false;
    memcpy(at, v->list.at, v->list.n * sizeof *at);
    at[k->item].tensor = changed(c, at[k->item].tensor, k);
    v->list.at = at;
  }
  return c->status == IG_OK;
}

static bool works(const trial *t, const change *a, const change *b) {  // NULL: no change
  ig_value args[IG_MAX_ARGS];
  ig_value outs[IG_MAX_RETURNS];
  memcpy(args, t->args, sizeof args);
  ig_scope s = ig_scope_open(t->c);
  // What the operator makes by itself (masks, ranges) has no data either.
  ig_mode_scope mode = ig_mode_push(t->c, &(ig_mode_change){IG_MODE_FAKE, {.fake = true}});
  if ((!a || apply(t->c, &args[a->arg], a)) && (!b || apply(t->c, &args[b->arg], b))) {
    ig_call(t->c, t->op, args, outs);
  }
  ig_mode_pop(t->c, &mode);
  bool ok = t->c->status == IG_OK;
  ig_scope_close(t->c, s);
  ig_ctx_clear(t->c);
  return ok;
}

static void add_name(const trial *t, ig_str *out, const change *k) {
  ig_str_add(out, "%s", t->op->schema.args[k->arg].name);
  if (k->item != WHOLE) ig_str_add(out, "[%d]", k->item);
}

// The suffix after the name of a tensor.
static void add_method(ig_str *out, const change *k) {
  switch (k->kind) {
    case CAST:
      ig_str_add(out, ".to(torch.%s)", ig_dtype_text(k->dtype));
      break;
    case TRANSPOSE:
      ig_str_add(out, ".transpose(-2, -1)");
      break;
    case FLATTEN:
      ig_str_add(out, ".flatten()");
      break;
    case NARROW:
      ig_str_add(out, ".narrow(%lld, 0, %lld)", (long long)k->at, (long long)k->size);
      break;
    default:
      ig_str_add(out, ".unsqueeze(%lld)", (long long)k->at);
      break;
  }
}

static void add_numbers(const trial *t, ig_str *out, const change *k) {
  const ig_value *v = &t->args[k->arg];
  ig_str_add(out, k->at == WHOLE ? "-1" : "[");
  for (size_t i = 0; k->at != WHOLE && i < v->ints.n; i++) {
    long long number = (int64_t)i == k->at ? -1 : (long long)v->ints.at[i].value;
    ig_str_add(out, "%s%lld%s", i ? ", " : "", number, i + 1 < v->ints.n ? "" : "]");
  }
}

static void tell(const trial *t, ig_str *out, const change *a, const change *b) {
  bool same = b && a->arg == b->arg && a->item == b->item;
  ig_str_add(out, "pass ");
  for (const change *k = a; k; k = k == a ? b : NULL) {
    if (k == b && same) break;
    if (k == b) ig_str_add(out, " and ");
    if (k->kind == NUMBER) {
      add_numbers(t, out, k);
    } else {
      add_name(t, out, k);
      add_method(out, k);
      if (same) add_method(out, b);
      if (t->op->schema.args[k->arg].written) ig_str_add(out, ".clone()");  // a cast is not written
    }
    ig_str_add(out, " as ");
    add_name(t, out, k);
  }
}

// Operands that may be replaced: not the one that the operator mutates.
static void search_written(const trial *t, ig_str *out) {
  for (size_t i = 0; i < t->op->schema.nargs; i++) {
    const ig_arg *a = &t->op->schema.args[i];
    if (!a->written || t->args[i].kind != IG_KIND_TENSOR) continue;
    ig_str_add(out, "pass %s.clone() as %s", a->name, a->name);
    return;
  }
}

// The first change that helps, then the first two.
static void search(const trial *t, ig_str *out) {
  for (size_t i = 0; i < t->n; i++) {
    if (works(t, &t->all[i], NULL)) {
      tell(t, out, &t->all[i], NULL);
      return;
    }
  }
  for (size_t i = 0; i < t->n; i++) {
    for (size_t k = i + 1; k < t->n; k++) {
      if (works(t, &t->all[i], &t->all[k])) {
        tell(t, out, &t->all[i], &t->all[k]);
        return;
      }
    }
  }
}

void ig_op_suggest(const ig_op *op, const ig_value *args, ig_str *out) {
  if (op->user) return;  // its implementations belong to the host and its context
  trial t = {.op = op};
  if (ig_ctx_create(NULL, &t.c) != IG_OK) return;
  ig_scope s = ig_scope_open(t.c);
  bool ok = true;
  for (size_t i = 0; ok && i < op->schema.nargs; i++) ok = plain(t.c, &args[i], &t.args[i]);
  if (ok) {
    for (size_t i = 0; i < op->schema.nargs; i++) change_numbers(&t, i);
    each(&t, change_tensor, NULL);
    (works(&t, NULL, NULL) ? search_written : search)(&t, out);
  }
  ig_scope_close(t.c, s);
  ig_ctx_free(t.c);
}
