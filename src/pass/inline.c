// SPDX-License-Identifier: Apache-2.0
// Ranges of data-dependent numbers and sizes that the program itself does not compare: a strict
// capture still checks both ends, as tensors that must be true.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ingot/aten.h"
#include "pass/placer.h"

// A call that no line of the program stands for: "ge_0;builtin_function_or_method.ge".
static bool name_call(ig_placer *p, ig_node *n, const char *cls, const char *name) {
  if (!n) return false;
  n->meta.stack = NULL;
  return ig_placer_describe(p, n, cls, name);
}

static ig_node *insert_named(ig_placer *p, unsigned id, const ig_value *args, size_t npos,
                             const ig_value *val, const char *name) {
  const ig_op *op = ig_op_at(p->c, id);
  if (!op) return NULL;
  ig_node proto = {.kind = IG_NODE_CALL,
                   .callee = IG_CALLEE_OP,
                   .op = op,
                   .target = op->target,
                   .effect = val->kind != IG_KIND_TENSOR,
                   .args = args,
                   .npos = npos,
                   .val = *val};
  ig_node *n = ig_placer_insert(p, &proto, name);
  return name_call(p, n, "OpOverload", strchr(op->target, '.') + 1) ? n : NULL;
}

static bool check_bound(ig_placer *p, ig_node *size, ig_expr_kind kind, int64_t bound,
                        const char *message) {
  ig_ctx *c = p->c;
  ig_scope s = ig_scope_open(c);
  const ig_expr *limit = ig_expr_of_i64(c, bound);
  const ig_expr *holds = limit ? ig_expr_make2(c, kind, size->val.i.expr, limit) : NULL;
  ig_value sides[] = {ig_of_node(size), ig_of_i64(bound)};
  ig_node *asked = holds ? ig_placer_insert_call(p, kind, sides, 2, holds) : NULL;
  bool ok = name_call(p, asked, "builtin_function_or_method", kind == IG_EXPR_GE ? "ge" : "le");
  ig_meta m;
  ig_meta_init(&m, IG_F32, ig_device_cpu());
  ig_value number = ig_of_tensor(ok ? ig_tensor_make(c, &m, true) : NULL);
  ig_value given = ig_of_node(asked);
  ig_node *tensor = number.tensor ? insert_named(p, IG_ID_SCALAR_TENSOR, &given, 1, &number,
                                                 "scalar_tensor_default")
                                  : NULL;
  ig_value args[] = {ig_of_node(tensor), ig_of_str(message)};
  ig_value none = ig_none();
  ok = tensor &&
       insert_named(p, IG_ID__ASSERT_ASYNC_MSG, args, 2, &none, "_assert_async_msg") != NULL;
  ig_scope_close(c, s);
  return ok;
}

// Whether an assertion reads n, which may be through a size, a question and a tensor.
static bool reaches_assertion(const ig_node *n, int steps) {
  if (n->kind == IG_NODE_CALL && n->op && n->op->def->check == IG_CHECK_TENSOR) return true;
  for (const ig_use *u = n->first_use; u && steps; u = u->next) {
    if (reaches_assertion(u->user, steps - 1)) return true;
  }
  return false;
}

// A program that is captured again has its assertions already.
static bool is_checked(const ig_node *n, int dim) {
  enum { SIZE_TO_ASSERTION = 3 };
  for (const ig_use *u = n->first_use; u; u = u->next) {
    const ig_node *size = u->user;
    bool same = size->kind == IG_NODE_CALL && size->callee == IG_CALLEE_SIZE && size->npos == 2 &&
                size->args[1].kind == IG_KIND_INT && size->args[1].i.value == dim;
    if (same && reaches_assertion(size, SIZE_TO_ASSERTION)) return true;
  }
  return false;
}

// `number` lies in the range of u; `what` it is: "nonzero.shape[0]".
static bool check_range(ig_placer *p, const ig_expr *u, ig_node *number, const char *what) {
  const ig_symbol *symbol = ig_env_symbol(p->c, u);
  if (!symbol) return false;
  int64_t lo = 0;
  int64_t hi = 0;
  ig_placer_range(p, symbol, &lo, &hi);
  ig_str s = ig_str_make(p->c->alloc);
  ig_str_add(&s, "%s is outside of inline constraint [%" PRId64 ", %" PRId64 "].", what, lo, hi);
  bool ok = s.failed ? ig_fail(p->c, IG_NOMEM, "out of memory") == IG_OK
                     : check_bound(p, number, IG_EXPR_GE, lo, s.at) &&
                           check_bound(p, number, IG_EXPR_LE, hi, s.at);
  ig_str_free(&s);
  return ok;
}

static bool is_unlimited(ig_ctx *c, const ig_expr *u) {
  return ig_symbol_range(c, u).lo <= (ig_wide)INT64_MIN;
}

bool ig_placer_check_size(ig_placer *p, const ig_expr *u, ig_node *n, int dim) {
  enum { DIM_CHARACTERS = 32 };
  if (is_unlimited(p->c, u) || is_checked(n, dim)) return true;
  ig_node *size = ig_placer_insert_size(p, u, n, dim);
  if (!name_call(p, size, "OpOverload", "sym_size.int")) return false;
  size_t length = strlen(n->name) + DIM_CHARACTERS;
  char *what = ig_scope_push(p->c, length);
  if (!what) return false;
  (void)snprintf(what, length, "%s.shape[%d]", n->name, dim);
  return check_range(p, u, size, what);
}

// Whether a comparison with the number is asserted already.
static bool is_compared(const ig_node *n) {
  enum { COMPARISON_TO_ASSERTION = 2 };
  for (const ig_use *u = n->first_use; u; u = u->next) {
    bool arithmetic = u->user->kind == IG_NODE_CALL && u->user->callee == IG_CALLEE_SYM;
    if (arithmetic && reaches_assertion(u->user, COMPARISON_TO_ASSERTION)) return true;
  }
  return false;
}

bool ig_placer_check_number(ig_placer *p, const ig_expr *u, ig_node *n) {
  if (is_unlimited(p->c, u) || ig_placer_is_stated(n, IG_ID_SYM_CONSTRAIN_RANGE)) return true;
  return is_compared(n) || check_range(p, u, n, n->name);
}
