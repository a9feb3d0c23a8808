// SPDX-License-Identifier: Apache-2.0
#include "script/object.h"

#include <string.h>

#include "script/unit.h"
#include "tensor/tensor.h"

static void *no_memory(ig_ctx *c) {
  (void)ig_fail(c, IG_NOMEM, "out of memory");
  return NULL;
}

static ig_sobj head(ig_ctx *c, ig_sobj_kind kind, const ig_stype *type) {
  ig_sobj h = {.kind = kind, .alloc = c->alloc, .type = type};
  atomic_init(&h.refs, 1);
  return h;
}

void ig_svalue_retain(ig_value v) {
  if (v.kind == IG_KIND_TENSOR) ig_tensor_retain(v.tensor);
  if (v.kind != IG_KIND_OBJECT) return;
  ig_sobj *o = v.object;
  atomic_fetch_add_explicit(&o->refs, 1, memory_order_relaxed);
}

static void release_all(ig_alloc alloc, ig_value *at, size_t n, size_t cap) {
  for (size_t i = 0; i < n; i++) ig_svalue_release(at[i]);
  ig_mem_free(alloc, at, ig_mem_mul(cap, sizeof *at));
}

static void destroy(ig_sobj *o) {
  ig_alloc alloc = o->alloc;
  switch (o->kind) {
    case IG_SOBJ_STR:
      ig_mem_free(alloc, o, sizeof(ig_sobj_str) + ((ig_sobj_str *)o)->n + 1);
      break;
    case IG_SOBJ_LIST:
    case IG_SOBJ_TUPLE: {
      ig_sobj_seq *s = (ig_sobj_seq *)o;
      release_all(alloc, s->at, s->n, s->cap);
      ig_mem_free(alloc, s, sizeof *s);
      break;
    }
    default:
      break;
  }
}

void ig_svalue_release(ig_value v) {
  if (v.kind == IG_KIND_TENSOR) ig_tensor_release(v.tensor);
  if (v.kind != IG_KIND_OBJECT || !v.object) return;
  ig_sobj *o = v.object;
  if (atomic_fetch_sub_explicit(&o->refs, 1, memory_order_acq_rel) == 1) destroy(o);
}

ig_sobj_str *ig_sobj_str_make(ig_ctx *c, const char *text, size_t n) {
  ig_sobj_str *s = ig_mem_new(c->alloc, ig_mem_add(sizeof *s + 1, n));
  if (!s) return no_memory(c);
  s->head = head(c, IG_SOBJ_STR, NULL);
  s->n = n;
  memcpy(s->text, text, n);
  s->text[n] = '\0';
  return s;
}

ig_sobj_seq *ig_sobj_seq_make(ig_ctx *c, ig_sobj_kind kind, const ig_stype *type,
                              const ig_value *at, size_t n) {
  ig_sobj_seq *s = ig_mem_new(c->alloc, sizeof *s);
  ig_value *copy = ig_mem_new(c->alloc, ig_mem_mul(n ? n : 1, sizeof *copy));
  if (!s || !copy) {
    if (s) ig_mem_free(c->alloc, s, sizeof *s);
    if (copy) ig_mem_free(c->alloc, copy, ig_mem_mul(n ? n : 1, sizeof *copy));
    return no_memory(c);
  }
  *s = (ig_sobj_seq){.head = head(c, kind, type), .at = copy, .n = n, .cap = n ? n : 1};
  for (size_t i = 0; i < n; i++) {
    copy[i] = at[i];
    ig_svalue_retain(at[i]);
  }
  return s;
}
