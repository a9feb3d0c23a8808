// SPDX-License-Identifier: Apache-2.0
// Layers of floats with clamped results (__torch__.torch.classes.xnnpack): their parts and states.
#include "op/formula.h"
#include "op/native.h"

enum { WEIGHT, BIAS, FIRST_LIST };

typedef struct parts {
  size_t n;
  size_t lists;  // of integers, behind the bias; then the groups
} parts;

static parts parts_of(ig_class cls) {
  switch (cls) {
    case IG_CLASS_CLAMPED_LINEAR:
      return (parts){4, 0};
    case IG_CLASS_CLAMPED_CONV:
      return (parts){8, 3};
    case IG_CLASS_CLAMPED_TRANSPOSED:
      return (parts){9, 4};
    default:
      return (parts){0, 0};
  }
}

size_t ig_clamped_parts(ig_class cls) {
  return parts_of(cls).n;
}

static void clamped_destroy(ig_ref *ref) {
  ig_clamped *p = (ig_clamped *)ref;
  ig_tensor_release(p->weight);
  ig_tensor_release(p->bias);
  ig_mem_free(p->head.alloc, p, sizeof *p);
}

// One number stands for both entries.
static bool take_list(const ig_value *v, ig_int *to) {
  size_t n = v->kind == IG_KIND_INTS ? v->ints.n : v->kind == IG_KIND_LIST ? v->list.n : 0;
  if (n != 1 && n != 2) return false;
  for (size_t i = 0; i < 2; i++) {
    size_t at = n == 1 ? 0 : i;
    if (v->kind == IG_KIND_LIST && v->list.at[at].kind != IG_KIND_INT) return false;
    to[i] = v->kind == IG_KIND_INTS ? v->ints.at[at] : v->list.at[at].i;
    if (to[i].expr) return false;
  }
  return true;
}

static bool take_bound(const ig_value *v, ig_value *to) {
  *to = *v;
  return v->kind == IG_KIND_NONE || v->kind == IG_KIND_INT || v->kind == IG_KIND_FLOAT;
}

static bool take(const parts *n, const ig_value *given, ig_clamped *p) {
  bool ok = given[WEIGHT].kind == IG_KIND_TENSOR &&
            (given[BIAS].kind == IG_KIND_TENSOR || given[BIAS].kind == IG_KIND_NONE);
  for (size_t i = 0; ok && i < n->lists; i++) ok = take_list(&given[FIRST_LIST + i], p->lists[i]);
  if (ok && n->lists) {
    const ig_value *groups = &given[FIRST_LIST + n->lists];
    ok = groups->kind == IG_KIND_INT && !groups->i.expr;
    p->groups = groups->i;
  }
  return ok && take_bound(&given[n->n - 2], &p->bounds[0]) &&
         take_bound(&given[n->n - 1], &p->bounds[1]);
}

ig_clamped *ig_clamped_make(ig_ctx *c, ig_class cls, const ig_value *given) {
  parts n = parts_of(cls);
  ig_clamped taken = {.head = {.ref = {1, clamped_destroy}, .alloc = c->alloc, .cls = cls}};
  if (c->status != IG_OK || !take(&n, given, &taken)) return NULL;
  ig_clamped *p = ig_mem_new(c->alloc, sizeof *p);
  if (!p) {
    (void)ig_fail(c, IG_NOMEM, "out of memory");
    return NULL;
  }
  *p = taken;
  p->weight = ig_tensor_retain(given[WEIGHT].tensor);
  p->bias = ig_tensor_retain(ig_value_tensor(&given[BIAS]));
  return ig_pool_add(c, &p->head.ref) ? p : NULL;
}

ig_value ig_clamped_state(ig_ctx *c, const ig_clamped *p) {
  parts n = parts_of(p->head.cls);
  ig_value *at = ig_scope_array(c, n.n, sizeof *at);
  if (!at) return ig_none();
  at[WEIGHT] = ig_of_tensor(p->weight);
  at[BIAS] = p->bias ? ig_of_tensor(p->bias) : ig_none();
  for (size_t i = 0; i < n.lists; i++) {
    ig_value *pair = ig_scope_array(c, 2, sizeof *pair);
    if (!pair) return ig_none();
    for (size_t k = 0; k < 2; k++) pair[k] = ig_of_i64(p->lists[i][k].value);
    at[FIRST_LIST + i] = ig_of_list(pair, 2);
  }
  if (n.lists) at[FIRST_LIST + n.lists] = ig_of_i64(p->groups.value);
  at[n.n - 2] = p->bounds[0];
  at[n.n - 1] = p->bounds[1];
  return (ig_value){.kind = IG_KIND_LIST, .seq = IG_SEQ_TUPLE, .list = {at, n.n}};
}
