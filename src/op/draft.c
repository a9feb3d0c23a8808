// SPDX-License-Identifier: Apache-2.0
// Real counterparts of fake tensors, and running calls on them.
#include "op/draft.h"

#include <string.h>

#include "ingot/aten.h"
#include "op/outside.h"
#include "op/random.h"
#include "op/record.h"

typedef struct pair {
  ig_tensor *fake;  // both retained
  ig_tensor *real;
} pair;

typedef struct reals {
  ig_table at;  // fake -> real
  IG_VEC(pair) all;
  ig_generator *generator;  // the user's own generator is not used
  bool followed;            // the kernel of the current call has already run
  bool gave;                // and produced its results
} reals;

static reals *reals_of(const ig_ctx *c) {
  return c->mode->draft ? c->mode->draft->values : NULL;
}

// ---- lifetime ----

ig_status ig_draft_open(ig_ctx *c) {
  if (c->status != IG_OK) return c->status;
  if (c->mode->draft) return ig_fail(c, IG_RUNTIME, "a draft is already open");
  ig_draft *d = ig_mem_new(c->alloc, sizeof *d);
  if (d) d->report = ig_report_create(c);
  if (!d || !d->report) {
    ig_mem_free(c->alloc, d, sizeof *d);
    return ig_fail(c, IG_NOMEM, "out of memory");
  }
  d->scope = ig_mode_push_draft(c, d);
  return IG_OK;
}

ig_report *ig_draft_close(ig_ctx *c) {
  ig_draft *d = c->mode->draft;
  if (!d) return NULL;
  ig_draft_end(c);
  ig_mode_pop(c, &d->scope);
  ig_report *r = d->report;
  ig_mem_free(c->alloc, d, sizeof *d);
  return r;
}

bool ig_draft_begin(ig_ctx *c) {
  if (!c->mode->draft) return true;
  ig_draft_end(c);
  ig_report_retry(c->mode->draft->report);
  reals *t = ig_mem_new(c->alloc, sizeof *t);
  const ig_generator *own = ig_generator_default(c);
  if (t && own) t->generator = ig_generator_copy(c, own);
  if (!t || !t->generator) {
    ig_mem_free(c->alloc, t, sizeof *t);
    return ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
  }
  t->at = ig_table_make(c->alloc);
  c->mode->draft->values = t;
  return true;
}

void ig_draft_end(ig_ctx *c) {
  reals *t = reals_of(c);
  if (!t) return;
  c->mode->draft->values = NULL;
  for (size_t i = 0; i < t->all.n; i++) {
    ig_tensor_release(t->all.at[i].fake);
    ig_tensor_release(t->all.at[i].real);
  }
  ig_vec_free(c->alloc, &t->all);
  ig_table_free(&t->at);
  ig_generator_free(t->generator);
  ig_mem_free(c->alloc, t, sizeof *t);
}

// ---- real counterparts ----

static void pair_up(ig_ctx *c, reals *t, ig_tensor *fake, ig_tensor *real) {
  ig_table_slot *slot = ig_table_put(&t->at, fake);
  if (!slot || !ig_vec_push(c->alloc, &t->all, ((pair){fake, real}))) {
    (void)ig_fail(c, IG_NOMEM, "out of memory");
    return;
  }
  slot->value = ig_tensor_retain(real);
  (void)ig_tensor_retain(fake);
}

void ig_draft_know(ig_ctx *c, ig_tensor *fake, ig_tensor *example) {
  reals *t = reals_of(c);
  if (!t || !fake || !example || ig_is_fake(example) || c->status != IG_OK) return;
  ig_outside o = ig_outside_enter(c, t->generator);
  ig_scope s = ig_scope_open(c);
  ig_tensor *copy = ig_clone(c, example);
  if (ig_outside_leave(c, &o) && copy) pair_up(c, t, fake, copy);
  ig_scope_close(c, s);
}

static ig_tensor *real_of(const reals *t, const ig_tensor *fake) {
  const ig_table_slot *slot = ig_table_find(&t->at, fake);
  return slot ? slot->value : NULL;
}

void ig_draft_share(ig_ctx *c, ig_tensor *fake, const ig_tensor *other) {
  reals *t = reals_of(c);
  ig_tensor *real = t && fake ? real_of(t, other) : NULL;
  if (real) pair_up(c, t, fake, real);
}

// ---- operands ----

static bool real_int(ig_ctx *c, ig_int i, ig_int *out) {
  ig_hint v;
  *out = i;
  if (!i.expr) return true;
  if (!ig_env_example(c, i.expr, &v) || v.sort != IG_SORT_INT) return false;
  *out = ig_const((int64_t)v.i);
  return true;
}

static bool real_number(ig_ctx *c, const ig_value *v, ig_value *out) {
  const ig_expr *e = ig_value_expr(v);
  ig_hint h;
  *out = *v;
  if (!e) return true;
  if (!ig_env_example(c, e, &h)) return false;
  if (v->kind == IG_KIND_INT) *out = ig_of_i64((int64_t)h.i);
  if (v->kind == IG_KIND_BOOL) *out = ig_of_bool(h.i != 0);
  if (v->kind == IG_KIND_FLOAT) {
    *out = ig_of_f64(h.sort == IG_SORT_FLOAT ? h.f : (double)h.i / (double)(h.den ? h.den : 1));
  }
  return true;
}

static bool real_value(ig_ctx *c, const reals *t, const ig_value *v, ig_value *out);

static bool real_list(ig_ctx *c, const reals *t, const ig_value *v, ig_value *out) {
  *out = *v;
  if (v->kind == IG_KIND_INTS) {
    ig_int *ints = ig_scope_array(c, v->ints.n, sizeof *ints);
    for (size_t i = 0; ints && i < v->ints.n; i++) {
      if (!real_int(c, v->ints.at[i], &ints[i])) return false;
    }
    out->ints.at = ints;
    return ints != NULL;
  }
  ig_value *items = ig_scope_array(c, v->list.n, sizeof *items);
  for (size_t i = 0; items && i < v->list.n; i++) {
    if (!real_value(c, t, &v->list.at[i], &items[i])) return false;
  }
  out->list.at = items;
  return items != NULL;
}

static bool real_value(ig_ctx *c, const reals *t, const ig_value *v, ig_value *out) {
  *out = *v;
  switch (v->kind) {
    case IG_KIND_TENSOR:
      if (!ig_is_fake(v->tensor)) return true;
      out->tensor = real_of(t, v->tensor);
      return out->tensor != NULL;
    case IG_KIND_INTS:
    case IG_KIND_LIST:
      return real_list(c, t, v, out);
    case IG_KIND_NODE: {
      const ig_node *n = v->node;
      if (n->kind == IG_NODE_ATTR && n->sub) {
        *out = ig_of_graph(n->sub);
        return true;
      }
      return real_value(c, t, &n->val, out);
    }
    default:
      return real_number(c, v, out);
  }
}

// ---- results ----

static void learn_int(ig_ctx *c, const ig_expr *e, int64_t value) {
  ig_hint h = {.sort = IG_SORT_INT, .i = value, .den = 1};
  if (e && e->kind == IG_EXPR_SYMBOL && !e->backed) ig_env_set_example(c, e, &h);
}

static void learn_bool(ig_ctx *c, const ig_expr *e, bool value) {
  bool one = e && e->kind == IG_EXPR_EQ && e->n == 2;
  if (!one) return;
  for (size_t i = 0; i < 2; i++) {
    if (ig_expr_is_int(e->args[1 - i], 1)) learn_int(c, e->args[i], value);
  }
}

static void learn(ig_ctx *c, reals *t, const ig_value *fake, const ig_value *real) {
  if (fake->kind != real->kind) return;
  if (fake->kind == IG_KIND_TENSOR) {
    if (!fake->tensor || !real->tensor) return;
    bool known = real_of(t, fake->tensor) == real->tensor;
    for (int d = 0; d < fake->tensor->ndim && d < real->tensor->ndim; d++) {
      learn_int(c, ig_sizes(fake->tensor)[d].expr, ig_sizes(real->tensor)[d].value);
    }
    if (!known && ig_is_fake(fake->tensor)) pair_up(c, t, fake->tensor, real->tensor);
  } else if (fake->kind == IG_KIND_INT) {
    learn_int(c, fake->i.expr, real->i.value);
  } else if (fake->kind == IG_KIND_BOOL) {
    learn_bool(c, fake->b_expr, real->b);
  } else if (fake->kind == IG_KIND_FLOAT && fake->f_expr) {
    ig_hint h = {.sort = IG_SORT_FLOAT, .f = real->f};
    bool symbol = fake->f_expr->kind == IG_EXPR_SYMBOL && !fake->f_expr->backed;
    if (symbol) ig_env_set_example(c, fake->f_expr, &h);
  }
  for (size_t i = 0; fake->kind == IG_KIND_LIST && i < fake->list.n && i < real->list.n; i++) {
    learn(c, t, &fake->list.at[i], &real->list.at[i]);
  }
}

// Runs the kernel on the real tensors; results live in the innermost scope.
static bool run(ig_ctx *c, const reals *t, const ig_op *op, const ig_value *args, ig_value *outs) {
  ig_value real[IG_MAX_ARGS];
  for (size_t i = 0; i < op->schema.nargs; i++) {
    if (!real_value(c, t, &args[i], &real[i])) return false;
  }
  ig_outside o = ig_outside_enter(c, t->generator);
  ig_call(c, op, real, outs);
  return ig_outside_leave(c, &o);
}

// ---- fake kernels of custom operators ----

static void tell(ig_ctx *c, const ig_op *op, ig_issue_kind kind, const char *reason,
                 const char *fix) {
  ig_issue issue = {.kind = kind, .op = op->target, .reason = reason, .fix = fix};
  ig_str s = ig_str_make(c->alloc);
  ig_op_describe(c, &s);
  issue.operands = s.at;
  ig_issue_tell(c, &issue);
  ig_str_free(&s);
}

// The only operand size that has the same value for the example; NULL: none, or several.
static void add_size(ig_str *s, const ig_op *op, const ig_value *real, int64_t size) {
  const char *name = NULL;
  int at = 0;
  size_t found = 0;
  for (size_t i = 0; i < op->schema.nargs; i++) {
    const ig_tensor *t = real[i].kind == IG_KIND_TENSOR ? real[i].tensor : NULL;
    for (int d = 0; t && d < t->ndim; d++) {
      if (ig_sizes(t)[d].value != size) continue;
      found++;
      name = op->schema.args[i].name;
      at = d;
    }
  }
  if (found == 1) {
    ig_str_add(s, "%s.shape[%d]", name, at);
  } else {
    ig_str_add(s, "torch.library.get_ctx().new_dynamic_size()");
  }
}

static void add_rule(ig_str *s, const ig_op *op, const ig_value *real, const ig_value *outs) {
  const ig_schema *schema = &op->schema;
  ig_str_add(s, "@torch.library.register_fake(\"%s::%s\")\ndef _(", schema->ns, schema->name);
  for (size_t i = 0; i < schema->nargs; i++) {
    ig_str_add(s, "%s%s", i ? ", " : "", schema->args[i].name);
  }
  ig_str_add(s, "):\n    return ");
  for (size_t k = 0; k < schema->nrets; k++) {
    const ig_tensor *t = outs[k].kind == IG_KIND_TENSOR ? outs[k].tensor : NULL;
    if (k) ig_str_add(s, ", ");
    if (!t) {
      ig_str_add(s, "...");
      continue;
    }
    ig_str_add(s, "torch.empty((");
    for (int d = 0; d < t->ndim; d++) {
      add_size(s, op, real, ig_sizes(t)[d].value);
      ig_str_add(s, d + 1 < t->ndim ? ", " : t->ndim == 1 ? "," : "");
    }
    ig_str_add(s, "), dtype=torch.%s)", ig_dtype_text(t->dtype));
  }
  ig_str_add(s, schema->nrets ? "  # sizes as in the example\n" : "None\n");
}

// A fake tensor of the same kind with unknown sizes.
static ig_tensor *like(ig_ctx *c, const ig_tensor *real) {
  ig_meta m;
  ig_meta_init(&m, real->dtype, real->device);
  for (int d = 0; d < real->ndim; d++) {
    ig_int size = ig_sym_unbacked(c);
    ig_sym_constrain(c, size, 0, INT64_MAX, true);
    ig_meta_push_dim(c, &m, size);
    learn_int(c, size.expr, ig_sizes(real)[d].value);
  }
  ig_meta_contiguous(c, &m);
  return c->status == IG_OK ? ig_tensor_make(c, &m, true) : NULL;
}

static void imitate(ig_ctx *c, reals *t, const ig_op *op, const ig_value *args,
                    const ig_value *real, ig_value *outs) {
  t->gave = true;
  for (size_t k = 0; k < op->schema.nrets && c->status == IG_OK; k++) {
    outs[k] = real[k];
    if (real[k].kind != IG_KIND_TENSOR) continue;
    // An operand that the kernel returns is returned itself.
    for (size_t i = 0; i < op->schema.nargs; i++) {
      bool same = args[i].kind == IG_KIND_TENSOR && real_of(t, args[i].tensor) == real[k].tensor;
      if (same) outs[k] = args[i];
    }
    if (outs[k].tensor != real[k].tensor) continue;
    outs[k].tensor = like(c, real[k].tensor);
    if (outs[k].tensor) pair_up(c, t, outs[k].tensor, real[k].tensor);
  }
}

static void suggest(ig_ctx *c, reals *t, const ig_op *op, const ig_value *args,
                    const ig_value *real, ig_issue_kind kind, const char *reason) {
  ig_value operands[IG_MAX_ARGS];
  ig_str fix = ig_str_make(c->alloc);
  bool ok = true;
  for (size_t i = 0; i < op->schema.nargs; i++) ok = ok && real_value(c, t, &args[i], &operands[i]);
  if (ok) add_rule(&fix, op, operands, real);
  tell(c, op, kind, reason, fix.at);
  ig_str_free(&fix);
}

bool ig_draft_invent(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  reals *t = reals_of(c);
  ig_value real[IG_MAX_RETURNS];
  if (!t || c->status != IG_OK) return false;
  ig_scope s = ig_scope_open(c);
  bool ok = run(c, t, op, args, real);
  if (ok) {
    ig_str reason = ig_str_make(c->alloc);
    ig_str_add(&reason, "torch.ops.%s is missing a fake kernel implementation.", op->target);
    suggest(c, t, op, args, real, IG_ISSUE_NO_FAKE, reason.at);
    ig_str_free(&reason);
    imitate(c, t, op, args, real, outs);
    t->followed = true;
  }
  ig_return_values(c, s, outs, ok ? op->schema.nrets : 0);
  return ok;
}

bool ig_draft_gave(const ig_ctx *c) {
  const reals *t = reals_of(c);
  return t && t->gave;
}

static ig_value again(ig_ctx *c, const ig_value *v) {
  if (v->kind != IG_KIND_TENSOR) return *v;
  ig_meta m;
  ig_meta old;
  ig_meta_of(v->tensor, &old);
  ig_meta_init(&m, old.dtype, old.device);
  for (int d = 0; d < old.ndim; d++) {
    const ig_expr *e = old.size[d].expr;
    bool own = e && e->kind == IG_EXPR_SYMBOL && !e->backed;
    ig_meta_push_dim(c, &m, own ? ig_sym_unbacked(c) : old.size[d]);
  }
  ig_meta_contiguous(c, &m);
  return c->status == IG_OK ? ig_of_tensor(ig_tensor_make(c, &m, true)) : ig_none();
}

void ig_draft_give(ig_ctx *c, const ig_node *n, ig_value *outs) {
  size_t count = n->op->schema.nrets;
  for (size_t k = 0; k < count && c->status == IG_OK; k++) {
    outs[k] = again(c, count == 1 ? &n->val : &n->val.list.at[k]);
  }
}

// How the fake kernel's result k differs from the kernel's; false: they agree.
static bool differs(ig_ctx *c, const ig_value *fake, const ig_value *real, ig_str *why) {
  if (fake->kind != IG_KIND_TENSOR || real->kind != IG_KIND_TENSOR) return false;
  const ig_tensor *a = fake->tensor;
  const ig_tensor *b = real->tensor;
  if (a->dtype != b->dtype) {
    ig_str_add(why, "mismatch between fake dtype %s and real dtype %s", ig_dtype_text(a->dtype),
               ig_dtype_text(b->dtype));
    return true;
  }
  if (a->ndim != b->ndim) {
    ig_str_add(why, "mismatch between fake rank %d and real rank %d", a->ndim, b->ndim);
    return true;
  }
  for (int d = 0; d < a->ndim; d++) {
    ig_int size;
    int64_t want = ig_sizes(b)[d].value;
    if (!real_int(c, ig_sizes(a)[d], &size) || size.value == want) continue;
    ig_str_add(why, "mismatch between fake size %s and real size %lld of dimension %d",
               ig_int_text(c, ig_sizes(a)[d]), (long long)want, d);
    return true;
  }
  return false;
}

void ig_draft_follow(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  reals *t = reals_of(c);
  ig_value real[IG_MAX_RETURNS];
  if (!t || c->status != IG_OK) return;
  if (t->followed) {
    t->followed = false;
    return;
  }
  t->gave = false;
  ig_scope s = ig_scope_open(c);
  bool replaced = false;
  if (run(c, t, op, args, real)) {
    ig_str why = ig_str_make(c->alloc);
    for (size_t k = 0; k < op->schema.nrets; k++) learn(c, t, &outs[k], &real[k]);
    for (size_t k = 0; op->user && k < op->schema.nrets && !replaced; k++) {
      replaced = differs(c, &outs[k], &real[k], &why);
    }
    if (replaced) {
      ig_str reason = ig_str_make(c->alloc);
      ig_str_add(&reason,
                 "torch.ops.%s has a fake kernel implementation, but it has incorrect behavior, "
                 "based on the real kernel: %s.",
                 op->target, why.at);
      suggest(c, t, op, args, real, IG_ISSUE_WRONG_FAKE, reason.at);
      ig_str_free(&reason);
      imitate(c, t, op, args, real, outs);
    }
    ig_str_free(&why);
  }
  if (replaced) {
    ig_return_values(c, s, outs, op->schema.nrets);
  } else {
    ig_scope_close(c, s);
  }
}

void ig_draft_follow_node(ig_ctx *c, const ig_node *n) {
  reals *t = reals_of(c);
  if (!t || c->status != IG_OK || !n->hop) return;
  ig_scope s = ig_scope_open(c);
  size_t count = n->npos + n->nkw;
  ig_value *args = ig_scope_array(c, count, sizeof *args);
  bool ok = args != NULL;
  for (size_t i = 0; ok && i < count; i++) ok = real_value(c, t, &n->args[i], &args[i]);
  if (ok) {
    ig_value out = ig_none();
    ig_outside o = ig_outside_enter(c, t->generator);
    n->hop->call(c, n, args, &out);
    if (ig_outside_leave(c, &o)) learn(c, t, &n->val, &out);
  }
  ig_scope_close(c, s);
}
