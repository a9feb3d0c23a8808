// SPDX-License-Identifier: Apache-2.0
#include "base/budget.h"

#include "base/cause.h"
#include "base/clock.h"
#include "base/limits.h"

// ---- memory

typedef struct budget {
  ig_alloc inner;
  atomic_ullong held;  // live bytes; and ALIVE while the context is there
  atomic_ullong limit;
  atomic_size_t refused;
} budget;

static const unsigned long long alive = 1ull << 63;

static void give(budget *b, unsigned long long bytes) {
  if (atomic_fetch_sub_explicit(&b->held, bytes, memory_order_acq_rel) == bytes) {
    ig_mem_free(b->inner, b, sizeof *b);
  }
}

static bool take(budget *b, size_t bytes) {
  unsigned long long limit = atomic_load_explicit(&b->limit, memory_order_relaxed);
  unsigned long long now =
      atomic_fetch_add_explicit(&b->held, bytes, memory_order_relaxed) & ~alive;
  if (now <= limit && bytes <= limit - now) return true;
  atomic_fetch_sub_explicit(&b->held, bytes, memory_order_relaxed);
  atomic_store_explicit(&b->refused, bytes, memory_order_relaxed);
  return false;
}

// Growing charges the difference first, so that a rejected block is unchanged.
static void *counted(void *user, void *ptr, size_t old_size, size_t new_size) {
  budget *b = user;
  if (new_size > old_size && (new_size > SIZE_MAX / 2 || !take(b, new_size - old_size))) {
    return NULL;
  }
  ig_alloc inner = b->inner;
  void *p = inner.fn(inner.user, ptr, old_size, new_size);
  if (new_size > old_size && !p) give(b, new_size - old_size);
  if (new_size < old_size && (p || new_size == 0)) give(b, old_size - new_size);
  return p;
}

static budget *budget_of(ig_alloc a) {
  return a.fn == counted ? a.user : NULL;
}

bool ig_budget_create(ig_alloc inner, uint64_t limit, ig_alloc *out) {
  budget *b = ig_mem_new(inner, sizeof *b);
  if (!b) return false;
  b->inner = inner;
  atomic_init(&b->held, alive);
  atomic_init(&b->limit, limit);
  *out = (ig_alloc){counted, b};
  return true;
}

void ig_budget_leave(ig_alloc a) {
  give(budget_of(a), alive);
}

ig_alloc ig_budget_inner(ig_alloc a) {
  const budget *b = budget_of(a);
  return b ? b->inner : a;
}

void ig_budget_set(ig_alloc a, uint64_t limit) {
  budget *b = budget_of(a);
  if (b) atomic_store_explicit(&b->limit, limit, memory_order_relaxed);
}

uint64_t ig_budget_live(ig_alloc a) {
  budget *b = budget_of(a);
  return b ? atomic_load_explicit(&b->held, memory_order_relaxed) & ~alive : 0;
}

uint64_t ig_budget_limit(ig_alloc a) {
  budget *b = budget_of(a);
  return b ? atomic_load_explicit(&b->limit, memory_order_relaxed) : UINT64_MAX;
}

bool ig_budget_take(ig_alloc a, size_t bytes) {
  budget *b = budget_of(a);
  return !b || take(b, bytes);
}

void ig_budget_give(ig_alloc a, size_t bytes) {
  budget *b = budget_of(a);
  if (b) give(b, bytes);
}

size_t ig_budget_refused(ig_alloc a) {
  budget *b = budget_of(a);
  return b ? atomic_exchange_explicit(&b->refused, 0, memory_order_relaxed) : 0;
}

// ---- work and time

enum { STRIDE = 16 };  // steps between two checks of the account and the host

// So that the check happens at the first step beyond the budget.
static void set_pace(ig_ctx *c) {
  uint64_t most = c->account.until ? 1 : STRIDE;
  c->stride = c->account.left < most ? (uint32_t)c->account.left + 1 : (uint32_t)most;
  c->pace = c->stride;
}

// Charges the steps since the last check. False: budget exceeded.
static bool settle(ig_ctx *c, uint64_t more) {
  ig_account *a = &c->account;
  uint64_t used = c->stride - c->pace;
  bool ok = a->left == UINT64_MAX || (more <= a->left && used <= a->left - more);
  if (a->left != UINT64_MAX) a->left = ok ? a->left - used - more : 0;
  set_pace(c);
  return ok;
}

static bool in_time(ig_ctx *c) {
  const ig_account *a = &c->account;
  if (!a->until || ig_clock_coarse() <= a->until) return true;
  (void)ig_fail(c, IG_LIMIT | IG_E_TIME_LIMIT,
                "stopped after the limit of %llu ms; if it may take longer, raise max_millis of "
                "ig_limits (--max-time)",
                (unsigned long long)a->max_millis);
  return false;
}

static bool go_on(ig_ctx *c) {
  if (atomic_load_explicit(&c->cancelled, memory_order_relaxed)) {
    atomic_store_explicit(&c->cancelled, false, memory_order_relaxed);
    (void)ig_fail(c, IG_CANCELLED, "cancelled");
    return false;
  }
  if (c->poll && !c->poll(c)) {
    if (c->status == IG_OK) (void)ig_fail(c, IG_HOST, "stopped by the host");
    return false;
  }
  return in_time(c);
}

bool ig_spend(ig_ctx *c, uint64_t work) {
  if (c->status != IG_OK) return false;
  if (!settle(c, work)) {
    (void)ig_fail(c, IG_LIMIT | IG_E_WORK_LIMIT,
                  "stopped after the limit of %llu units of work (operator calls, loop iterations; "
                  "making a node costs %d); if it may do more, raise max_work of ig_limits",
                  (unsigned long long)c->account.max_work, IG_WORK_NODE);
    return false;
  }
  return go_on(c);
}

bool ig_look(ig_ctx *c) {
  return ig_spend(c, 0);
}

void ig_account_init(ig_ctx *c, uint64_t max_work, uint64_t max_millis) {
  c->account = (ig_account){.left = max_work ? max_work : UINT64_MAX,
                            .given = max_work ? max_work : UINT64_MAX,
                            .until = max_millis ? ig_clock_coarse() + max_millis : 0,
                            .max_work = max_work,
                            .max_millis = max_millis};
  set_pace(c);
}

ig_account ig_account_open(ig_ctx *c, const ig_limits *limits) {
  (void)settle(c, 0);
  const ig_account outer = c->account;
  ig_account_init(c, limits->max_work, limits->max_millis);
  ig_account *a = &c->account;
  if (outer.left < a->left) {
    a->left = a->given = outer.left;
    a->max_work = outer.max_work;
  }
  if (outer.until && (!a->until || outer.until < a->until)) {
    a->until = outer.until;
    a->max_millis = outer.max_millis;
  }
  set_pace(c);
  return outer;
}

void ig_account_close(ig_ctx *c, const ig_account *outer) {
  (void)settle(c, 0);
  uint64_t used = c->account.given - c->account.left;
  c->account = *outer;
  if (outer->left != UINT64_MAX) c->account.left -= used < outer->left ? used : outer->left;
  set_pace(c);
}

void ig_cancel(ig_ctx *c) {
  atomic_store_explicit(&c->cancelled, true, memory_order_relaxed);
}

void ig_ctx_set_limits(ig_ctx *c, const ig_limits *limits) {
  const ig_limits given = ig_limits_given(limits);
  c->limits = ig_limits_fill(&given);
  ig_budget_set(c->alloc, c->limits.max_memory);
  ig_account_init(c, given.max_work, given.max_millis);
}

ig_limits ig_ctx_limits(const ig_ctx *c) {
  return c->limits;
}

uint64_t ig_ctx_memory(const ig_ctx *c) {
  return ig_budget_live(c->alloc);
}
