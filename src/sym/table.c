// SPDX-License-Identifier: Apache-2.0
// The table of all expressions of an environment: interning, constants, symbols.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sym/build.h"

enum { FIRST_CAP = 256 };

void ig_exprs_init(ig_exprs *t, ig_alloc alloc) {
  *t = (ig_exprs){.arena = ig_arena_make(alloc), .names = ig_map_make(alloc)};
}

void ig_exprs_free(ig_exprs *t) {
  ig_alloc a = t->arena.alloc;
  ig_mem_array_free(a, t->slots, t->cap, sizeof *t->slots);
  ig_map_free(&t->names);
  ig_vec_free(a, &t->ranges);
  ig_arena_free(&t->arena);
}

ig_exprs *ig_expr_table(ig_ctx *c) {
  if (c->status != IG_OK) return NULL;
  if (c->mode->sym) return &c->mode->sym->exprs;
  (void)ig_fail(c, IG_RUNTIME, "a symbolic size is used after its capture was closed");
  return NULL;
}

static const ig_expr *no_memory(ig_ctx *c) {
  (void)ig_fail(c, IG_NOMEM, "out of memory");
  return NULL;
}

const ig_expr *ig_expr_overflow(ig_ctx *c) {
  if (c->status == IG_OK) (void)ig_fail(c, IG_OVERFLOW, "size arithmetic overflows");
  return NULL;
}

const ig_expr *ig_expr_too_large(ig_ctx *c) {
  (void)ig_fail(c, IG_UNSUPPORTED,
                "a symbolic expression grows beyond %d nodes, depth %d or %d terms",
                IG_EXPR_MAX_NODES / 2, IG_EXPR_MAX_DEPTH, IG_EXPR_MAX_TERMS);
  return NULL;
}

static uint32_t mix(uint64_t h, uint64_t v) {
  h = (h ^ v) * 0x9E3779B97F4A7C15u;
  return (uint32_t)(h >> 32) ^ (uint32_t)h;
}

static bool grow(ig_exprs *t) {
  size_t cap = t->cap ? t->cap * 2 : FIRST_CAP;
  ig_expr **slots = ig_mem_array(t->arena.alloc, cap, sizeof *slots);
  if (!slots) return false;
  for (size_t i = 0; i < t->cap; i++) {
    if (!t->slots[i]) continue;
    size_t k = t->slots[i]->hash & (cap - 1);
    while (slots[k]) k = (k + 1) & (cap - 1);
    slots[k] = t->slots[i];
  }
  ig_mem_array_free(t->arena.alloc, t->slots, t->cap, sizeof *slots);
  t->slots = slots;
  t->cap = cap;
  return true;
}

static bool same(const ig_expr *e, const ig_expr *proto, const ig_expr *const *args) {
  if (e->hash != proto->hash || e->kind != proto->kind || e->n != proto->n) return false;
  switch (e->kind) {
    case IG_EXPR_CONST:
    case IG_EXPR_RATIONAL:
      return e->num == proto->num && e->den == proto->den;
    case IG_EXPR_FLOAT:
      // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): -0.0 differs from 0.0
      return memcmp(&e->f, &proto->f, sizeof e->f) == 0;
    case IG_EXPR_BOOL:
      return e->value == proto->value;
    case IG_EXPR_SYMBOL:
      return false;
    default:
      return memcmp(e->args, args, e->n * sizeof *args) == 0;
  }
}

// Finds what equals proto with these arguments, or enters a copy (*fresh).
static ig_expr *enter(ig_ctx *c, ig_exprs *t, const ig_expr *proto, const ig_expr *const *args,
                      bool *fresh) {
  if (t->n * 4 >= t->cap * 3 && !grow(t)) {
    (void)no_memory(c);
    return NULL;
  }
  size_t k = proto->hash & (t->cap - 1);
  for (; t->slots[k]; k = (k + 1) & (t->cap - 1)) {
    if (same(t->slots[k], proto, args)) return t->slots[k];
  }
  ig_expr *e = ig_arena_push(&t->arena, ig_mem_add(sizeof *e, ig_mem_mul(proto->n, sizeof *args)));
  if (!e) {
    (void)no_memory(c);
    return NULL;
  }
  *e = *proto;
  e->age = ++t->age;
  if (proto->n) memcpy(e->args, args, proto->n * sizeof *args);
  t->slots[k] = e;
  t->n++;
  *fresh = true;
  return e;
}

const ig_expr *ig_expr_of_num(ig_ctx *c, ig_num v) {
  ig_exprs *t = ig_expr_table(c);
  bool fresh = false;
  if (!t) return NULL;
  ig_expr proto = {.kind = v.is_float ? IG_EXPR_FLOAT
                           : v.q == 1 ? IG_EXPR_CONST
                                      : IG_EXPR_RATIONAL,
                   .nodes = v.is_float ? 1 : 2,
                   .depth = 1,
                   .backed = true,
                   .hinted = true};
  if (v.is_float) {
    uint64_t bits = 0;
    proto.sort = IG_SORT_FLOAT;
    proto.f = v.f;
    memcpy(&bits, &v.f, sizeof bits);
    proto.hash = mix(7, bits);
  } else {
    proto.sort = v.q == 1 ? IG_SORT_INT : IG_SORT_RATIONAL;
    proto.num = v.p;
    proto.den = v.q;
    proto.hinted = v.q == 1 && ig_wide_fits(v.p);
    if (proto.hinted) proto.value = (int64_t)v.p;
    proto.hash = mix(mix((uint64_t)v.p, (uint64_t)(v.p >> 64)) + 3u, (uint64_t)v.q);
  }
  return enter(c, t, &proto, NULL, &fresh);
}

const ig_expr *ig_expr_of_i64(ig_ctx *c, int64_t i) {
  return ig_expr_of_num(c, ig_num_int(i));
}
const ig_expr *ig_expr_of_wide(ig_ctx *c, ig_wide i) {
  return ig_expr_of_num(c, ig_num_int(i));
}
const ig_expr *ig_expr_of_int(ig_ctx *c, ig_int i) {
  return i.expr ? i.expr : ig_expr_of_i64(c, i.value);
}
const ig_expr *ig_expr_of_float(ig_ctx *c, double f) {
  return ig_expr_of_num(c, ig_num_float(f));
}

const ig_expr *ig_expr_of_bool(ig_ctx *c, bool b) {
  ig_exprs *t = ig_expr_table(c);
  bool fresh = false;
  if (!t) return NULL;
  ig_expr proto = {.kind = IG_EXPR_BOOL,
                   .sort = IG_SORT_BOOL,
                   .hash = mix(11, b),
                   .nodes = 2,
                   .depth = 1,
                   .backed = true,
                   .hinted = true,
                   .value = b};
  return enter(c, t, &proto, NULL, &fresh);
}

const ig_expr *ig_expr_of_hint(ig_ctx *c, const ig_hint *h) {
  switch (h->sort) {
    case IG_SORT_BOOL:
      return ig_expr_of_bool(c, h->i != 0);
    case IG_SORT_FLOAT:
      return ig_expr_of_float(c, h->f);
    case IG_SORT_RATIONAL:
      return ig_expr_of_num(c, (ig_num){.p = h->i, .q = h->den});
    default:
      return ig_expr_of_wide(c, h->i);
  }
}

const ig_expr *ig_expr_of_value(ig_ctx *c, const ig_value *v) {
  if (c->status != IG_OK) return NULL;
  switch (v->kind) {
    case IG_KIND_INT:
      return ig_expr_of_int(c, v->i);
    case IG_KIND_FLOAT:
      return v->f_expr ? v->f_expr : ig_expr_of_float(c, v->f);
    case IG_KIND_BOOL:
      return v->b_expr ? v->b_expr : ig_expr_of_bool(c, v->b);
    default:
      (void)ig_fail(c, IG_INVALID, "a number is expected in symbolic arithmetic");
      return NULL;
  }
}

void ig_value_of_expr(const ig_expr *e, ig_value *out) {
  bool plain = e->kind == IG_EXPR_CONST || e->kind == IG_EXPR_FLOAT || e->kind == IG_EXPR_BOOL;
  const ig_expr *expr = plain && e->hinted ? NULL : e;
  if (e->sort == IG_SORT_BOOL) {
    *out = (ig_value){.kind = IG_KIND_BOOL, .b = e->value != 0, .b_expr = expr};
  } else if (e->sort == IG_SORT_INT) {
    *out = ig_of_int((ig_int){.value = e->value, .expr = expr});
  } else {
    *out = (ig_value){.kind = IG_KIND_FLOAT, .f = e->f, .f_expr = expr};
  }
}

ig_num ig_expr_num(const ig_expr *e) {
  return e->kind == IG_EXPR_FLOAT ? ig_num_float(e->f) : (ig_num){.p = e->num, .q = e->den};
}

bool ig_hint_of(const ig_expr *e, ig_hint *out) {
  *out = (ig_hint){.sort = e->sort, .i = e->value, .den = 1, .f = e->f};
  if (e->kind == IG_EXPR_CONST || e->kind == IG_EXPR_RATIONAL) {
    out->i = e->num;
    out->den = e->den;
    return true;
  }
  return e->hinted;
}

static uint32_t digits_of(const char *name) {
  uint32_t n = 0;
  for (const char *p = name + (*name != 0); *p; p++) {
    if (*p < '0' || *p > '9' || n > 100000000) return 0;
    n = n * 10 + (uint32_t)(*p - '0');
  }
  return n;
}

static ig_symbol_info info_by_name(const char *name) {
  bool size = name[0] == 's' && name[1] >= '0' && name[1] <= '9';
  ig_symbol_info info = {.sort = IG_SORT_INT, .positive = size};
  if (name[0] == 'z') info.sort = IG_SORT_FLOAT;  // zf0, zuf0: symbolic floats
  info.range = info.sort == IG_SORT_FLOAT ? ig_vrange_all(IG_SORT_FLOAT)
               : size                     ? ig_vrange_ints(1, IG_WIDE_MAX)
                                          : ig_vrange_all(IG_SORT_INT);
  return info;
}

const ig_expr *ig_expr_find(ig_ctx *c, const char *name) {
  ig_map_value *known = c->mode->sym ? ig_map_find(&c->mode->sym->exprs.names, name) : NULL;
  return known ? known->ptr : NULL;
}

static const ig_expr *new_symbol(ig_ctx *c, ig_exprs *t, const char *name,
                                 const ig_symbol_info *info) {
  bool fresh = false;
  ig_expr proto = {.kind = IG_EXPR_SYMBOL,
                   .sort = info->sort,
                   .hash = mix(13, t->ranges.n),
                   .nodes = 2,
                   .depth = 1,
                   .backed = info->backed,
                   .hinted = info->backed,
                   .positive = info->positive,
                   .value = info->backed ? info->hint : 0,
                   .f = info->backed ? info->fhint : 0};
  proto.name = ig_arena_strn(&t->arena, name, strlen(name));
  proto.index = (uint32_t)t->ranges.n;
  proto.number = digits_of(name);
  if (!proto.name || !ig_vec_push(t->arena.alloc, &t->ranges, info->range)) return no_memory(c);
  ig_expr *e = enter(c, t, &proto, NULL, &fresh);
  ig_map_value *slot = e ? ig_map_put(&t->names, e->name) : NULL;
  if (!slot) return e ? no_memory(c) : NULL;
  slot->ptr = e;
  return e;
}

const ig_expr *ig_expr_symbol(ig_ctx *c, const char *name, const ig_symbol_info *info) {
  ig_exprs *t = ig_expr_table(c);
  if (!t) return NULL;
  const ig_expr *known = ig_expr_find(c, name);
  if (known) return known;
  ig_symbol_info by_name = info_by_name(name);
  return new_symbol(c, t, name, info ? info : &by_name);
}

ig_vrange ig_symbol_range(ig_ctx *c, const ig_expr *symbol) {
  return c->mode->sym && symbol->index < c->mode->sym->exprs.ranges.n
             ? c->mode->sym->exprs.ranges.at[symbol->index]
             : ig_vrange_all(symbol->sort);
}

void ig_symbol_set_range(ig_ctx *c, const ig_expr *symbol, ig_vrange r) {
  if (!c->mode->sym || symbol->index >= c->mode->sym->exprs.ranges.n) return;
  c->mode->sym->exprs.ranges.at[symbol->index] = r;
  c->mode->sym->exprs.epoch++;
}

static bool hint_of_arg(void *user, const ig_expr *e, ig_hint *out) {
  (void)user;
  return ig_hint_of(e, out);
}

// Sums and products of 64-bit hints, the common case. False: something else, or too large.
static bool set_int_hint(ig_expr *e) {
  int64_t v = e->kind == IG_EXPR_MUL;
  if ((e->kind != IG_EXPR_ADD && e->kind != IG_EXPR_MUL) || e->sort != IG_SORT_INT) return false;
  for (size_t i = 0; i < e->n; i++) {
    const ig_expr *a = e->args[i];
    bool ok = a && a->hinted &&
              (e->kind == IG_EXPR_ADD ? ig_checked_add(v, a->value, &v)
                                      : ig_checked_mul(v, a->value, &v));
    if (!ok) return false;
  }
  e->value = v;
  e->hinted = true;
  return true;
}

static void set_hint(ig_expr *e) {
  ig_hint h = {0};
  if (e->backed && set_int_hint(e)) return;
  if (!e->backed || !ig_expr_fold_args(e, hint_of_arg, NULL, &h)) return;
  if (h.sort == IG_SORT_FLOAT) {
    e->f = h.f;
    e->hinted = true;
  } else if (h.sort != IG_SORT_RATIONAL && ig_wide_fits(h.i)) {
    e->value = (int64_t)h.i;
    e->hinted = true;
  }
}

const ig_expr *ig_expr_intern(ig_ctx *c, ig_expr_kind kind, ig_expr_sort sort,
                              const ig_expr *const *args, size_t n) {
  ig_exprs *t = ig_expr_table(c);
  bool fresh = false;
  if (!t) return NULL;
  ig_expr proto = {.kind = kind, .sort = sort, .n = (uint32_t)n};
  uint64_t h = (uint64_t)kind + 17;
  for (size_t i = 0; i < n; i++) h = (h ^ args[i]->age) * 0x9E3779B97F4A7C15u + (h >> 29);
  proto.hash = mix(h, n);
  ig_expr *e = enter(c, t, &proto, args, &fresh);
  if (!e || !fresh) return e;
  size_t nodes = kind == IG_EXPR_PIECEWISE ? 2 + n : 2;
  e->backed = true;
  for (size_t i = 0; i < n; i++) {
    nodes += args[i]->nodes;
    if (args[i]->depth >= e->depth) e->depth = args[i]->depth;
    e->backed = e->backed && args[i]->backed;
  }
  e->depth++;
  e->nodes = nodes > UINT32_MAX ? UINT32_MAX : (uint32_t)nodes;
  set_hint(e);
  return nodes > IG_EXPR_MAX_NODES || e->depth > IG_EXPR_MAX_DEPTH ? ig_expr_too_large(c) : e;
}

void ig_list_init(ig_list *l, ig_ctx *c) {
  l->alloc = c->alloc;
  l->at = l->few;
  l->n = 0;
  l->cap = sizeof l->few / sizeof *l->few;
}

bool ig_list_push(ig_ctx *c, ig_list *l, const ig_expr *e) {
  if (!e) return false;
  if (l->n == l->cap) {
    const ig_expr **more = ig_mem_array(l->alloc, ig_mem_mul(2, l->cap), sizeof *more);
    if (!more) return no_memory(c) != NULL;
    memcpy(more, l->at, l->n * sizeof *more);
    ig_list_free(l);
    l->at = more;
    l->cap *= 2;
  }
  l->at[l->n++] = e;
  return true;
}

// Stable, and fast for nearly sorted input.
void ig_list_sort(ig_list *l, int (*cmp)(const ig_expr *, const ig_expr *)) {
  for (size_t i = 1; i < l->n; i++) {
    const ig_expr *e = l->at[i];
    size_t lo = 0;
    size_t hi = i;
    if (cmp(l->at[i - 1], e) <= 0) continue;
    while (lo < hi) {
      size_t mid = (lo + hi) / 2;
      if (cmp(l->at[mid], e) <= 0) {
        lo = mid + 1;
      } else {
        hi = mid;
      }
    }
    memmove(&l->at[lo + 1], &l->at[lo], (i - lo) * sizeof *l->at);
    l->at[lo] = e;
  }
}

void ig_list_free(ig_list *l) {
  if (l->at != l->few) ig_mem_array_free(l->alloc, l->at, l->cap, sizeof *l->at);
}
