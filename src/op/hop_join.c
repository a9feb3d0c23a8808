// SPDX-License-Identifier: Apache-2.0
// Results of branches, and values that a loop carries, whose sizes differ. Where scripts record
// their conditions they are allowed: the size is a symbol of its own, which the program reads from
// the result.
#include "op/hop.h"
#include "op/shape.h"
#include "sym/env.h"

bool ig_hop_joins(const ig_ctx *c, const ig_value *a, const ig_value *b) {
  if (!ig_env_records_choices(c)) return false;
  if (a->kind != IG_KIND_TENSOR || b->kind != IG_KIND_TENSOR) return false;
  const ig_tensor *x = a->tensor;
  const ig_tensor *y = b->tensor;
  return x->dtype == y->dtype && x->ndim == y->ndim && x->device.type == y->device.type;
}

static bool is_same(ig_int a, ig_int b) {
  return a.expr == b.expr && (a.expr || a.value == b.value);
}

static ig_meta *copied(ig_ctx *c, const ig_tensor *t) {
  ig_meta *m = ig_scope_array(c, 1, sizeof *m);
  if (!m) return NULL;
  ig_meta_init(m, t->dtype, t->device);
  for (int d = 0; d < t->ndim; d++) ig_meta_push_dim(c, m, ig_sizes(t)[d]);
  return m;
}

bool ig_hop_widen(ig_ctx *c, const ig_value *a, const ig_value *b, const ig_meta **like) {
  if (!ig_hop_joins(c, a, b)) return false;
  ig_meta *m = NULL;
  for (int d = 0; d < a->tensor->ndim && c->status == IG_OK; d++) {
    ig_int size = ig_sizes(a->tensor)[d];
    bool own = *like && !is_same((*like)->size[d], size);
    if (own || is_same(size, ig_sizes(b->tensor)[d])) continue;
    if (!m) m = copied(c, a->tensor);
    for (int k = 0; m && *like && k < m->ndim; k++) m->size[k] = (*like)->size[k];
    if (!m) return false;
    m->size[d] = ig_sym_unbacked(c);
    if (!ig_use_as_size(c, m->size[d])) return false;
    *like = m;
  }
  if (m) ig_meta_contiguous(c, m);
  return m != NULL;
}

bool ig_hop_has_own_size(const ig_value *v) {
  if (v->kind != IG_KIND_TENSOR) return false;
  for (int d = 0; d < v->tensor->ndim; d++) {
    const ig_expr *e = ig_sizes(v->tensor)[d].expr;
    if (e && e->kind == IG_EXPR_SYMBOL && !e->backed) return true;
  }
  return false;
}
