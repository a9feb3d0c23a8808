// SPDX-License-Identifier: Apache-2.0
// Where two runs begin to differ. First, values are paired that have the same numbers, whatever
// their names: candidates have equally many elements and nearly equal norms, since values that
// agree within a tolerance have norms that do. Then, from the outputs that differ, everything that
// they are computed from is visited as far as nothing is paired; the first of these values in the
// order of the run is where the difference begins. Its counterpart in the other run is computed
// from the same paired values.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/budget.h"
#include "model/trace.h"

#define NONE SIZE_MAX
enum {
  CANDIDATES = 48,  // values with a near norm that are compared
  ROOTS = 64,       // paired values that a value may be computed from
  EQUALS = 8,       // values of the same norm that are compared
};

typedef struct roots {
  size_t n;
  size_t *at;  // sorted
  bool many;   // more than there is room for
} roots;

typedef struct side {
  const ig_run_trace *t;
  size_t n;
  size_t *pair;  // by value: its partner, NONE
  double *norm;  // of the finite elements
  roots *roots;  // of values without a partner: the nearest values with one, as places in b
  bool *used;    // b: somebody's partner
  size_t *same;  // b: a value with the same elements, the same one for all of these
} side;

typedef struct matcher {
  ig_ctx *c;
  side a;
  side b;
  const ig_tolerance *tolerances;
  size_t *order;  // values of b by number of elements and norm
  ig_map names;   // of b: name -> the last place, plus one
} matcher;

static const ig_traced *at(const side *s, size_t i) {
  return &s->t->values.at[i];
}

// ---- tolerances

static ig_tolerance tolerance_of(const matcher *m, ig_dtype x, ig_dtype y) {
  ig_dtype coarse = ig_dtype_size(x) <= ig_dtype_size(y) ? x : y;
  ig_tolerance t = m->tolerances ? m->tolerances[coarse] : (ig_tolerance){-1, -1};
  ig_tolerance usual = ig_tolerance_of(coarse);
  return (ig_tolerance){t.rtol >= 0 ? t.rtol : usual.rtol, t.atol >= 0 ? t.atol : usual.atol};
}

static bool is_real(ig_dtype d) {
  return ig_dtype_is_float(d) || ig_dtype_is_complex(d);
}

static bool compare(const matcher *m, size_t i, size_t k, ig_tensor_diff *out) {
  ig_tensor *x = at(&m->a, i)->tensor;
  ig_tensor *y = at(&m->b, k)->tensor;
  ig_tolerance t = tolerance_of(m, x->dtype, y->dtype);
  ig_tensor_compare_flat(m->c, y, x, &t, out);
  return out->agrees;
}

// ---- candidates

static double norm_of(const ig_stats *s) {
  double finite = (double)(s->count - s->nans - s->infinities);
  double norm = sqrt(finite * (s->mean * s->mean + s->deviation * s->deviation));
  return isnan(norm) ? INFINITY : norm;  // of numbers too large to be added; sorting needs an order
}

// qsort has no argument for the matcher.
typedef struct key {
  int64_t count;
  double norm;
  size_t place;
} key;

static int by_norm(const void *x, const void *y) {
  const key *a = x;
  const key *b = y;
  if (a->count != b->count) return a->count < b->count ? -1 : 1;
  if (a->norm != b->norm) return a->norm < b->norm ? -1 : 1;
  return a->place < b->place ? -1 : a->place > b->place;
}

// The first of the values before keys[k] in the order that have the same elements, whatever their
// sizes; itself, if there is none.
static size_t first_equal(const matcher *m, const key *keys, size_t k) {
  const key *mine = &keys[k];
  ig_tensor *x = at(&m->b, mine->place)->tensor;
  for (size_t i = k; i-- > 0 && k - i <= EQUALS;) {
    ig_tensor_diff d;
    if (keys[i].count != mine->count || mine->norm - keys[i].norm > 1e-9 * mine->norm) break;
    ig_tensor *y = at(&m->b, keys[i].place)->tensor;
    if (x->dtype != y->dtype) continue;
    ig_tensor_compare_flat(m->c, x, y, &(ig_tolerance){0, 0}, &d);
    if (d.agrees) return m->b.same[keys[i].place];
  }
  return mine->place;
}

static bool sort_values(matcher *m) {
  key *keys = ig_scope_array(m->c, m->b.n + 1, sizeof *keys);
  m->order = ig_scope_array(m->c, m->b.n + 1, sizeof *m->order);
  if (!keys || !m->order) return false;
  for (size_t k = 0; k < m->b.n; k++) keys[k] = (key){at(&m->b, k)->stats.count, m->b.norm[k], k};
  if (m->b.n) qsort(keys, m->b.n, sizeof *keys, by_norm);
  for (size_t k = 0; k < m->b.n; k++) {
    m->order[k] = keys[k].place;
    m->b.same[m->order[k]] = first_equal(m, keys, k);
  }
  return true;
}

// The first position in the order whose value has `count` elements and at least this norm.
static size_t lower(const matcher *m, int64_t count, double norm) {
  size_t lo = 0;
  size_t hi = m->b.n;
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    size_t k = m->order[mid];
    int64_t n = at(&m->b, k)->stats.count;
    if (n < count || (n == count && m->b.norm[k] < norm)) {
      lo = mid + 1;
    } else {
      hi = mid;
    }
  }
  return lo;
}

static bool comparable(const ig_traced *x, const ig_traced *y) {
  ig_dtype a = x->tensor->dtype;
  ig_dtype b = y->tensor->dtype;
  return a == b || (ig_dtype_is_float(a) && ig_dtype_is_float(b));
}

// The partner by numbers; NONE. One of the same name comes first, then one that is nobody's yet.
static size_t partner_of(const matcher *m, size_t i) {
  const ig_traced *x = at(&m->a, i);
  ig_tensor_diff d;
  const ig_map_value *named = x->name[0] ? ig_map_find(&m->names, x->name) : NULL;
  if (named && comparable(x, at(&m->b, named->num - 1)) && compare(m, i, named->num - 1, &d)) {
    return named->num - 1;
  }
  // The norm of the difference is at most atol * sqrt(n) + rtol * norm.
  ig_tolerance t = tolerance_of(m, x->tensor->dtype, IG_F16);
  ig_tolerance own = tolerance_of(m, x->tensor->dtype, x->tensor->dtype);
  if (own.rtol > t.rtol || !is_real(x->tensor->dtype)) t = own;
  double slack = t.atol * sqrt((double)x->stats.count) + (t.rtol + 1e-9) * m->a.norm[i] + 1e-12;
  size_t found = NONE;
  size_t tried = 0;
  for (size_t p = lower(m, x->stats.count, m->a.norm[i] - slack); p < m->b.n; p++) {
    size_t k = m->order[p];
    const ig_traced *y = at(&m->b, k);
    if (y->stats.count != x->stats.count || m->b.norm[k] > m->a.norm[i] + slack) break;
    if (tried == CANDIDATES) break;
    if (!comparable(x, y) || (found != NONE && m->b.used[k])) continue;
    tried++;
    if (!compare(m, i, k, &d)) continue;
    if (!m->b.used[k]) return k;
    found = k;
  }
  return found;
}

static bool pair_values(matcher *m) {
  for (size_t i = 0; i < m->a.n; i++) {
    if (!ig_step(m->c) || m->c->status != IG_OK) return false;
    size_t k = partner_of(m, i);
    m->a.pair[i] = k;
    if (k == NONE) continue;
    if (m->b.pair[k] == NONE) m->b.pair[k] = i;
    m->b.used[k] = true;
  }
  // Values of b that nobody took, but that equal one that somebody did.
  for (size_t k = 0; k < m->b.n; k++) {
    size_t same = m->b.same[k];
    if (m->b.pair[k] == NONE) m->b.pair[k] = m->b.pair[same];
  }
  return true;
}

// ---- roots: the nearest values with partners

static void add_root(roots *r, size_t place) {
  size_t i = r->n;
  while (i > 0 && r->at[i - 1] > place) i--;
  if (i > 0 && r->at[i - 1] == place) return;
  r->many = r->many || r->n == ROOTS;
  if (r->many) return;
  memmove(r->at + i + 1, r->at + i, (r->n - i) * sizeof *r->at);
  r->at[i] = place;
  r->n++;
}

// One place in b for all values that were found equal, within the tolerance, to one value of a.
static size_t class_of(const matcher *m, size_t k) {
  size_t i = m->b.pair[k];
  size_t first = i != NONE && m->a.pair[i] != NONE ? m->a.pair[i] : k;
  return m->b.same[first];
}

// The roots of what a value reads. r->at has room for ROOTS places.
static void collect_roots(const matcher *m, const side *s, size_t i, roots *r) {
  const ig_traced *v = at(s, i);
  for (size_t k = 0; k < v->nreads; k++) {
    size_t from = s->t->reads.at[v->read + k];
    if (s->pair[from] != NONE) {
      add_root(r, class_of(m, s == &m->a ? s->pair[from] : from));
    } else {
      const roots *more = &s->roots[from];
      for (size_t j = 0; j < more->n; j++) add_root(r, more->at[j]);
      r->many = r->many || more->many;
    }
  }
}

static bool find_roots(const matcher *m, const side *s) {
  for (size_t i = 0; i < s->n; i++) {
    size_t room[ROOTS];
    roots mine = {.at = room};
    if (s->pair[i] != NONE) continue;
    collect_roots(m, s, i, &mine);
    size_t *kept = ig_scope_array(m->c, mine.n + 1, sizeof *kept);
    if (!kept) return false;
    memcpy(kept, mine.at, mine.n * sizeof *kept);
    s->roots[i] = (roots){mine.n, kept, mine.many};
  }
  return true;
}

static bool same_roots(const roots *x, const roots *y) {
  return !x->many && !y->many && x->n == y->n && x->n &&
         memcmp(x->at, y->at, x->n * sizeof *x->at) == 0;
}

// Could value k of b be what value i of a is? Both have no partner.
static bool corresponds(const matcher *m, size_t i, size_t k) {
  const ig_traced *x = at(&m->a, i);
  const ig_traced *y = at(&m->b, k);
  return m->b.pair[k] == NONE && !y->given && x->stats.count == y->stats.count &&
         comparable(x, y) && same_roots(&m->a.roots[i], &m->b.roots[k]);
}

// Of several, the one of the same name; else, if both runs have equally many, the one in the same
// position; else the last.
static size_t counterpart_of(const matcher *m, size_t i) {
  size_t alike = 0;
  size_t before = 0;
  for (size_t k = 0; k < m->a.n; k++) {
    const ig_traced *x = at(&m->a, k);
    bool same = m->a.pair[k] == NONE && !x->given && x->stats.count == at(&m->a, i)->stats.count &&
                same_roots(&m->a.roots[i], &m->a.roots[k]);
    alike += same;
    before += same && k < i;
  }
  size_t found = 0;
  size_t last = NONE;
  size_t same_position = NONE;
  for (size_t k = 0; k < m->b.n; k++) {
    if (!corresponds(m, i, k)) continue;
    if (at(&m->a, i)->name[0] && strcmp(at(&m->a, i)->name, at(&m->b, k)->name) == 0) return k;
    if (found == before) same_position = k;
    found++;
    last = k;
  }
  return found == alike ? same_position : last;
}

// ---- the first difference

// The place of an output; NONE: there are fewer. In a format without state, new values of buffers
// are outputs like others; otherwise only the user's correspond.
static size_t output_at(const matcher *m, const side *s, size_t number) {
  bool every = m->a.t->outputs.n == m->b.t->outputs.n;
  for (size_t i = 0; i < s->t->outputs.n; i++) {
    const ig_run_trace_output_of *o = &s->t->outputs.at[i];
    if ((every || o->user) && number-- == 0) return o->place;
  }
  return NONE;
}

// The values that outputs which differ are computed from, as far as these have no partners.
static bool *suspects(const matcher *m, bool *any) {
  const ig_run_trace *a = m->a.t;
  bool *is = ig_scope_array(m->c, m->a.n + 1, sizeof *is);
  if (!is) return NULL;
  memset(is, 0, m->a.n * sizeof *is);
  *any = false;
  for (size_t o = 0; o < a->outputs.n; o++) {
    size_t i = output_at(m, &m->a, o);
    size_t k = output_at(m, &m->b, o);
    ig_tensor_diff d;
    if (i == NONE || k == NONE || compare(m, i, k, &d)) continue;
    is[i] = *any = true;
    m->a.pair[i] = NONE;
  }
  for (size_t i = m->a.n; i-- > 0;) {
    const ig_traced *v = at(&m->a, i);
    for (size_t k = 0; is[i] && k < v->nreads; k++) {
      size_t from = a->reads.at[v->read + k];
      if (m->a.pair[from] == NONE && !at(&m->a, from)->given) is[from] = true;
    }
  }
  return is;
}

static ig_run_trace_pair pair_of(const matcher *m, size_t i, size_t k) {
  ig_run_trace_pair p = {.a = (int64_t)i, .b = k == NONE ? -1 : (int64_t)k};
  if (k != NONE) (void)compare(m, i, k, &p.diff);
  return p;
}

// Of an output that differs, the counterpart is the output.
static size_t output_of(const matcher *m, size_t i) {
  for (size_t o = 0; o < m->a.t->outputs.n; o++) {
    if (output_at(m, &m->a, o) == i) return output_at(m, &m->b, o);
  }
  return NONE;
}

// Is value y of b what value j of a should be? Both are computed from the same values, but differ.
// j may have a partner all the same: a call that changes nothing in a (a factor of 1) has the
// numbers of its operand.
static bool is_hidden(const matcher *m, size_t j, size_t y) {
  size_t room[2][ROOTS];
  roots mine = {.at = room[0]};
  roots other = {.at = room[1]};
  const ig_traced *v = at(&m->a, j);
  const ig_traced *w = at(&m->b, y);
  ig_tensor_diff d;
  if (v->given || w->given || v->stats.count != w->stats.count || !comparable(v, w)) return false;
  collect_roots(m, &m->a, j, &mine);
  collect_roots(m, &m->b, y, &other);
  return same_roots(&mine, &other) && !compare(m, j, y, &d);
}

// The difference may begin before a pair (i, k) that differs: in something that i and k read.
static bool step_back(const matcher *m, size_t *i, size_t *k) {
  const ig_traced *v = at(&m->a, *i);
  const ig_traced *w = at(&m->b, *k);
  for (size_t x = 0; x < w->nreads; x++) {
    size_t y = m->b.t->reads.at[w->read + x];
    if (m->b.pair[y] != NONE) continue;
    for (size_t n = 0; n < v->nreads; n++) {
      size_t j = m->a.t->reads.at[v->read + n];
      if (j >= *i || y >= *k || !is_hidden(m, j, y)) continue;
      *i = j;
      *k = y;
      return true;
    }
  }
  return false;
}

static bool find_first(const matcher *m, ig_divergence *out) {
  bool *is = suspects(m, &out->in_outputs);
  if (!is) return false;
  size_t alone = NONE;
  for (size_t i = 0; i < m->a.n && !out->found; i++) {
    if (!is[i]) continue;
    size_t k = counterpart_of(m, i);
    if (k == NONE) k = output_of(m, i);
    if (k == NONE && alone == NONE) alone = i;
    if (k == NONE) continue;
    size_t first = i;
    while (step_back(m, &first, &k)) continue;
    m->a.pair[first] = NONE;
    out->first = pair_of(m, first, k);
    out->found = true;
  }
  if (!out->found && alone != NONE) {
    out->first = pair_of(m, alone, NONE);
    out->found = true;
  }
  return true;
}

// Values of the same name that differ although no output does.
static void find_named(const matcher *m, ig_divergence *out) {
  for (size_t i = 0; i < m->a.n && !out->found; i++) {
    const ig_traced *x = at(&m->a, i);
    const ig_map_value *named = x->name[0] ? ig_map_find(&m->names, x->name) : NULL;
    if (m->a.pair[i] != NONE || !named || x->given) continue;
    if (!corresponds(m, i, named->num - 1)) continue;
    out->first = pair_of(m, i, named->num - 1);
    out->found = true;
  }
}

static bool fill(const matcher *m, ig_divergence *out) {
  ig_run_trace_pair *pairs = ig_scope_array(m->c, m->a.n + 1, sizeof *pairs);
  const ig_traced *v = out->found ? at(&m->a, (size_t)out->first.a) : NULL;
  size_t nreads = v ? v->nreads : 0;
  ig_run_trace_pair *reads = ig_scope_array(m->c, nreads + 1, sizeof *reads);
  if (!pairs || !reads) return false;
  for (size_t i = 0; i < m->a.n; i++) {
    if (at(&m->a, i)->given) continue;
    out->values++;
    if (m->a.pair[i] == NONE) continue;
    out->agree++;
    pairs[out->npairs++] = pair_of(m, i, m->a.pair[i]);
  }
  for (size_t k = 0; k < nreads; k++) {
    size_t from = m->a.t->reads.at[v->read + k];
    reads[k] = pair_of(m, from, m->a.pair[from]);
  }
  out->pairs = pairs;
  out->reads = reads;
  out->nreads = nreads;
  return m->c->status == IG_OK;
}

static bool prepare(ig_ctx *c, side *s, const ig_run_trace *t) {
  *s = (side){.t = t, .n = t->values.n};
  s->pair = ig_scope_array(c, s->n + 1, sizeof *s->pair);
  s->norm = ig_scope_array(c, s->n + 1, sizeof *s->norm);
  s->roots = ig_scope_array(c, s->n + 1, sizeof *s->roots);
  s->used = ig_scope_array(c, s->n + 1, sizeof *s->used);
  s->same = ig_scope_array(c, s->n + 1, sizeof *s->same);
  if (!s->pair || !s->norm || !s->roots || !s->used || !s->same) return false;
  for (size_t i = 0; i < s->n; i++) {
    s->pair[i] = NONE;
    s->norm[i] = norm_of(&t->values.at[i].stats);
    s->roots[i] = (roots){.n = 0};
    s->used[i] = false;
  }
  return true;
}

static bool index_names(matcher *m) {
  for (size_t k = 0; k < m->b.n; k++) {
    ig_map_value *v = at(&m->b, k)->name[0] ? ig_map_put(&m->names, at(&m->b, k)->name) : NULL;
    if (v) v->num = k + 1;
    if (!v && at(&m->b, k)->name[0]) return ig_fail(m->c, IG_NOMEM, "out of memory") == IG_OK;
  }
  return true;
}

ig_status ig_run_trace_compare(ig_ctx *c, const ig_run_trace *a, const ig_run_trace *b,
                               const ig_tolerance *tolerances, ig_divergence *out) {
  *out = (ig_divergence){.first = {-1, -1, {.worst = -1}}};
  if (c->status != IG_OK) return c->status;
  matcher m = {.c = c, .tolerances = tolerances, .names = ig_map_make(c->alloc)};
  bool ok = prepare(c, &m.a, a) && prepare(c, &m.b, b) && index_names(&m) && sort_values(&m) &&
            pair_values(&m) && find_roots(&m, &m.a) && find_roots(&m, &m.b) && find_first(&m, out);
  if (ok && !out->found) find_named(&m, out);
  if (ok) (void)fill(&m, out);
  ig_map_free(&m.names);
  return c->status;
}
