// SPDX-License-Identifier: Apache-2.0
// Lifetimes of buffers, and their offsets in one block of memory. Buffers are placed in the order
// in which they are written, each into the smallest gap that holds it: what was freed last tends to
// be used next, while it is still in the cache.
#include "rt/layer.h"

enum { ALIGN = 64 };

typedef struct visitor {
  const ig_binding *b;
  uint32_t step;
  bool pins;
  bool *used;  // per buffer
  bool any;
} visitor;

static size_t number_of(const ig_binding *b, const ig_rt_buffer *x) {
  return (size_t)(x - b->buffers.at);
}

// ---- dead steps

static void mark_used(void *user, ig_tensor *t) {
  const visitor *v = user;
  const ig_rt_buffer *x = ig_rt_find(v->b, t);
  if (x) v->used[number_of(v->b, x)] = true;
}

static void ask_used(void *user, ig_tensor *t) {
  visitor *v = user;
  const ig_rt_buffer *x = ig_rt_find(v->b, t);
  v->any = v->any || (x && (v->used[number_of(v->b, x)] || x->place == IG_PLACE_OUTPUT));
}

// Checks have no results, and interpreted nodes may do anything.
static bool is_dead(const ig_rt_step *s, visitor *v) {
  if (!s->layer && (!s->op || s->op->schema.nrets == 0)) return false;
  v->any = false;
  ig_rt_each_result(s, ask_used, v);
  return !v->any;
}

// Results beside the one that is wanted: indices of maxima.
static void drop_spare(const ig_rt_step *s, visitor *v) {
  unsigned spare = s->op && !s->dead ? ig_role_of(s->op)->spare : 0;
  for (size_t i = 0; spare >> i; i++) {
    if (!(spare >> i & 1U)) continue;
    v->any = false;
    ig_rt_each(&s->outs[i], ask_used, v);
    if (!v->any) s->outs[i] = ig_none();
  }
}

void ig_rt_drop(ig_binding *b) {
  size_t n = 0;
  for (size_t i = 0; i < b->steps.n; i++) {
    if (!b->steps.at[i].dead) b->steps.at[n++] = b->steps.at[i];
  }
  b->steps.n = n;
}

static bool drop_dead(ig_binding *b) {
  ig_ctx *c = b->plan->c;
  visitor v = {.b = b, .used = ig_mem_array(c->alloc, b->buffers.n + 1, sizeof *v.used)};
  if (!v.used) return ig_no_memory(c);
  for (size_t i = 0; i <= b->buffers.n; i++) v.used[i] = false;
  for (size_t i = b->steps.n; i-- > 0;) {
    ig_rt_step *s = &b->steps.at[i];
    s->dead = is_dead(s, &v);
    drop_spare(s, &v);
    if (!s->dead) ig_rt_each_operand(b, s, mark_used, &v);
  }
  ig_mem_array_free(c->alloc, v.used, b->buffers.n + 1, sizeof *v.used);
  ig_rt_drop(b);
  return true;
}

// ---- lifetimes

static void begin(void *user, ig_tensor *t) {
  const visitor *v = user;
  ig_rt_buffer *x = ig_rt_find(v->b, t);
  if (x) x->first = x->last = v->step;
}

static void extend(void *user, ig_tensor *t) {
  const visitor *v = user;
  ig_rt_buffer *x = ig_rt_find(v->b, t);
  if (!x) return;
  x->last = v->step;
  x->pinned = x->pinned || v->pins;
}

bool ig_rt_find_lifetimes(ig_binding *b) {
  if (!drop_dead(b)) return false;
  for (size_t i = 0; i < b->buffers.n; i++) {
    b->buffers.at[i].first = b->buffers.at[i].last = IG_RT_NEVER;
    b->buffers.at[i].pinned = false;
  }
  visitor v = {.b = b};
  for (size_t i = 0; i < b->steps.n; i++) {
    const ig_rt_step *s = &b->steps.at[i];
    v.step = (uint32_t)i;
    v.pins = ig_rt_is_interpreted(s);
    ig_rt_each_result(s, begin, &v);
    ig_rt_each_operand(b, s, extend, &v);
  }
  for (size_t i = 0; i < b->buffers.n; i++) {
    ig_rt_buffer *x = &b->buffers.at[i];
    if (x->pinned) x->last = IG_RT_NEVER;
  }
  return true;
}

// ---- uses

typedef struct counter {
  const ig_binding *b;
  ig_rt_use *uses;
  size_t step;
} counter;

static void count_use(void *user, ig_tensor *t) {
  const counter *k = user;
  const ig_rt_buffer *x = ig_rt_find(k->b, t);
  ig_rt_use *u = x ? &k->uses[number_of(k->b, x)] : NULL;
  if (u) *u = (ig_rt_use){u->count + 1, k->step};
}

ig_rt_use *ig_rt_count_uses(const ig_binding *b) {
  counter k = {.b = b, .uses = ig_scope_array(b->plan->c, b->buffers.n + 1, sizeof *k.uses)};
  for (size_t i = 0; k.uses && i <= b->buffers.n; i++) k.uses[i] = (ig_rt_use){0, 0};
  for (; k.uses && k.step < b->steps.n; k.step++) {
    ig_rt_each_operand(b, &b->steps.at[k.step], count_use, &k);
  }
  return k.uses;
}

// ---- offsets

typedef struct gap {
  size_t offset;
  size_t bytes;
} gap;

typedef struct allocator {
  ig_binding *b;
  IG_VEC(gap) gaps;  // by offset; never two that touch
  size_t end;
  uint32_t step;
  ig_rt_step *at;
  bool ok;
} allocator;

static size_t rounded(size_t bytes) {
  return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static void remove_gap(allocator *a, size_t i) {
  a->gaps.n--;
  for (; i < a->gaps.n; i++) a->gaps.at[i] = a->gaps.at[i + 1];
}

static size_t take(allocator *a, size_t bytes) {
  size_t best = a->gaps.n;
  for (size_t i = 0; i < a->gaps.n; i++) {
    size_t have = a->gaps.at[i].bytes;
    if (have >= bytes && (best == a->gaps.n || have < a->gaps.at[best].bytes)) best = i;
  }
  if (best < a->gaps.n) {
    size_t offset = a->gaps.at[best].offset;
    a->gaps.at[best].offset += bytes;
    a->gaps.at[best].bytes -= bytes;
    if (a->gaps.at[best].bytes == 0) remove_gap(a, best);
    return offset;
  }
  size_t offset = a->end;
  if (a->gaps.n) {  // the last gap grows
    const gap *last = &a->gaps.at[a->gaps.n - 1];
    if (last->offset + last->bytes == a->end) {
      offset = last->offset;
      a->gaps.n--;
    }
  }
  a->end = ig_mem_add(offset, bytes);
  a->ok = a->ok && a->end < IG_SIZE_NONE;
  return offset;
}

static bool join(allocator *a, size_t i) {
  if (i + 1 >= a->gaps.n) return false;
  gap *x = &a->gaps.at[i];
  if (x->offset + x->bytes != x[1].offset) return false;
  x->bytes += x[1].bytes;
  remove_gap(a, i + 1);
  return true;
}

static void give(allocator *a, size_t offset, size_t bytes) {
  gap none = {0, 0};
  if (bytes == 0) return;
  if (!ig_vec_push(a->b->plan->c->alloc, &a->gaps, none)) {
    a->ok = false;
    return;
  }
  size_t i = a->gaps.n - 1;
  for (; i > 0 && a->gaps.at[i - 1].offset > offset; i--) a->gaps.at[i] = a->gaps.at[i - 1];
  a->gaps.at[i] = (gap){offset, bytes};
  (void)join(a, i);
  if (i > 0) (void)join(a, i - 1);
}

bool ig_rt_same_sizes(ig_ctx *c, const ig_tensor *a, const ig_tensor *b) {
  if (a->ndim != b->ndim) return false;
  for (int d = 0; d < a->ndim; d++) {
    if (!ig_int_eq(c, ig_sizes(a)[d], ig_sizes(b)[d])) return false;
  }
  return true;
}

bool ig_rt_same_layout(ig_ctx *c, const ig_tensor *a, const ig_tensor *b) {
  if (a->ndim != b->ndim || a->dtype != b->dtype || !ig_int_eq(c, a->offset, b->offset)) {
    return false;
  }
  for (int d = 0; d < a->ndim; d++) {
    ig_int size = ig_sizes(a)[d];
    if (!ig_int_eq(c, size, ig_sizes(b)[d])) return false;
    if (ig_int_eq_i64(c, size, 1)) continue;
    if (!ig_int_eq(c, ig_strides(a)[d], ig_strides(b)[d])) return false;
  }
  return true;
}

bool ig_rt_is_dense(ig_ctx *c, const ig_tensor *t) {
  return ig_tensor_is_symbolic(t) ? ig_tensor_is_contiguous(c, t) : ig_tensor_is_dense(t);
}

ig_int ig_rt_numel(ig_ctx *c, const ig_tensor *t) {
  ig_int n = ig_const(1);
  for (int d = 0; d < t->ndim; d++) n = ig_int_mul(c, n, ig_sizes(t)[d]);
  return n;
}

bool ig_rt_is_whole(ig_ctx *c, const ig_rt_buffer *x, const ig_tensor *t) {
  return x && t->dtype == x->whole->dtype && ig_int_eq_i64(c, t->offset, 0) &&
         ig_rt_is_dense(c, t) && ig_int_eq(c, ig_rt_numel(c, t), x->elements);
}

// Can the result of the current step be written over this operand, element by element?
static bool dies_here(const allocator *a, const ig_rt_buffer *x, const ig_rt_buffer *result) {
  // A part of it may be another operand.
  return x && x->place == IG_PLACE_SLAB && !x->parts && x->until == a->step &&
         x->first != a->step && rounded(x->bytes) == rounded(result->bytes);
}

static void take_over(allocator *a, ig_rt_buffer *result, ig_rt_buffer *operand) {
  result->takes = (int64_t)number_of(a->b, operand);
  result->offset = operand->offset;
  operand->until = IG_RT_NEVER;  // its memory is given back with that of the result
}

static bool reuse_operand(allocator *a, ig_tensor *t, ig_rt_buffer *result) {
  const ig_rt_step *s = a->at;
  ig_ctx *c = a->b->plan->c;
  if (a->b->plan->without & IG_PLAN_NO_REUSE) return false;
  if (s->chain) {
    for (size_t k = 0;; k++) {
      ig_tensor *operand = ig_chain_overwritable(c, s->chain, t, k);
      if (!operand) return false;
      ig_rt_buffer *x = ig_rt_find(a->b, operand);
      if (!dies_here(a, x, result)) continue;
      take_over(a, result, x);
      return true;
    }
  }
  if (!s->op || !s->op->pointwise || ig_op_has_kernel(s->op)) return false;
  for (size_t i = 0; i < s->op->operands; i++) {
    if (s->args[i].kind != IG_KIND_TENSOR || !ig_rt_same_layout(c, s->args[i].tensor, t)) continue;
    ig_rt_buffer *x = ig_rt_find(a->b, s->args[i].tensor);
    if (!dies_here(a, x, result)) continue;
    // Another operand may show the same memory in another order.
    size_t views = 0;
    for (size_t k = 0; k < s->op->operands; k++) {
      views += s->args[k].kind == IG_KIND_TENSOR && s->args[k].tensor->storage == x->storage &&
               !ig_rt_same_layout(c, s->args[k].tensor, t);
    }
    if (views) continue;
    take_over(a, result, x);
    return true;
  }
  return false;
}

// The buffer that memory is taken for: that of the tensor, or the one that it is a part of.
static ig_rt_buffer *taken_for(const allocator *a, const ig_tensor *t) {
  ig_rt_buffer *x = ig_rt_find(a->b, t);
  return x && x->place == IG_PLACE_PART ? &a->b->buffers.at[x->index] : x;
}

static void place_result(void *user, ig_tensor *t) {
  allocator *a = user;
  ig_rt_buffer *x = taken_for(a, t);
  if (!x || x->place != IG_PLACE_SLAB || x->placed) return;
  x->placed = true;
  if (x->parts || !reuse_operand(a, t, x)) x->offset = take(a, rounded(x->bytes));
}

static void free_if_last(allocator *a, ig_rt_buffer *x) {
  if (!x || x->place != IG_PLACE_SLAB || x->until != a->step) return;
  x->until = IG_RT_NEVER;
  if (!(a->b->plan->without & IG_PLAN_NO_REUSE)) give(a, x->offset, rounded(x->bytes));
}

static void free_visited(void *user, ig_tensor *t) {
  allocator *a = user;
  free_if_last(a, taken_for(a, t));
}

// Where the parts of concatenated values begin, from the beginning of the result.
static void place_parts(ig_binding *b, const ig_rt_step *s) {
  size_t at = 0;
  for (size_t i = 0; s->joined && i < s->args[0].list.n; i++) {
    ig_rt_buffer *x = ig_rt_find(b, s->args[0].list.at[i].tensor);
    x->offset = at;
    at += x->bytes;
  }
}

bool ig_rt_place_buffers(ig_binding *b) {
  ig_ctx *c = b->plan->c;
  allocator a = {.b = b, .ok = true};
  for (size_t i = 0; i < b->buffers.n; i++) {
    ig_rt_buffer *x = &b->buffers.at[i];
    x->until = x->last;
    x->takes = -1;
    x->placed = false;
  }
  for (size_t i = 0; i < b->steps.n; i++) place_parts(b, &b->steps.at[i]);
  for (size_t i = 0; i < b->steps.n && a.ok; i++) {
    a.step = (uint32_t)i;
    a.at = &b->steps.at[i];
    ig_rt_each_result(a.at, place_result, &a);
    ig_rt_each_operand(b, a.at, free_visited, &a);
    ig_rt_each_result(a.at, free_visited, &a);
  }
  ig_vec_free(c->alloc, &a.gaps);
  for (size_t i = 0; i < b->buffers.n; i++) {
    ig_rt_buffer *x = &b->buffers.at[i];
    if (x->place == IG_PLACE_PART) x->offset += b->buffers.at[x->index].offset;
  }
  b->slab = a.end;
  return a.ok || ig_no_memory(c);
}
