// SPDX-License-Identifier: Apache-2.0
// Gradients that recorded writes bring: what is written, and all views that share its history,
// require gradients from the write on, although the history is made by the flush. Tensors from
// elsewhere get their own state back before it, because the flush repeats the writes.
#include "capture/defer_parts.h"
#include "op/tape.h"

const ig_tensor *ig_defer_root(const ig_defer *d, const ig_tensor *t) {
  const ig_table_slot *at = ig_table_find(&d->numbers, t);
  const ig_defer_value *v = at ? &d->values.at[at->number] : NULL;
  if (v && !v->input) return v->root ? v->root : t;
  return t->autograd && t->autograd->base ? t->autograd->base : t;
}

bool ig_defer_is_graded(const ig_defer *d, const ig_tensor *t) {
  for (size_t i = 0; i < d->graded.n; i++) {
    if (d->graded.at[i] == t) return true;
  }
  return false;
}

static bool can_require(const ig_tensor *t) {
  return !t->requires_grad && (ig_dtype_is_float(t->dtype) || ig_dtype_is_complex(t->dtype));
}

static bool grade_outside(ig_ctx *c, ig_defer *d, ig_tensor *t) {
  if (!can_require(t)) return true;
  if (!ig_vec_push(d->alloc, &d->graded, t)) return ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
  ig_tensor_retain(t)->requires_grad = true;
  return true;
}

bool ig_defer_grade(ig_ctx *c, ig_defer *d, ig_tensor *t) {
  const ig_tensor *root = ig_defer_root(d, t);
  bool ok = true;
  for (size_t i = 0; ok && i < d->values.n; i++) {
    ig_defer_value *v = &d->values.at[i];
    if (v->tensor->storage != t->storage || ig_defer_root(d, v->tensor) != root) continue;
    if (v->input) {
      ok = grade_outside(c, d, v->tensor);
    } else if (can_require(v->tensor)) {
      v->tensor->requires_grad = true;
    }
  }
  // The base of a view from elsewhere need not have been used.
  struct ig_autograd *a = t->autograd;
  return ok && (!a || !a->base || grade_outside(c, d, a->base));
}

bool ig_defer_grade_operands(ig_ctx *c, ig_defer *d, const ig_value *args, size_t n) {
  bool ok = true;
  for (size_t i = 0; ok && d->graded.n && i < n; i++) {
    if (args[i].kind == IG_KIND_LIST)
      ok = ig_defer_grade_operands(c, d, args[i].list.at, args[i].list.n);
    ig_tensor *t = args[i].kind == IG_KIND_TENSOR ? args[i].tensor : NULL;
    if (!t || t->requires_grad || ig_table_find(&d->numbers, t)) continue;
    if (ig_defer_is_graded(d, ig_defer_root(d, t))) ok = grade_outside(c, d, t);
  }
  return ok;
}

void ig_defer_ungrade(ig_defer *d) {
  for (size_t i = 0; i < d->graded.n; i++) {
    d->graded.at[i]->requires_grad = false;
    ig_tensor_release(d->graded.at[i]);
  }
  d->graded.n = 0;
}
