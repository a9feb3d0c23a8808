// SPDX-License-Identifier: Apache-2.0
// Methods of lists. The elements tell what they are; lists of all types share these functions.
#include <string.h>

#include "base/budget.h"
#include "base/limits.h"
#include "op/formula.h"
#include "script/builtin.h"
#include "script/interp.h"

static ig_sobj_seq *self_of(const ig_sbuiltin_call *k) {
  return ig_sb_seq_at(k, 0);
}

static ig_sobj_seq *make(const ig_sbuiltin_call *k, const ig_value *at, size_t n) {
  const ig_stype *type = ig_sb_type(k, 0);
  return ig_sobj_seq_make(k->c, IG_SOBJ_LIST, type ? type : self_of(k)->head.type, at, n);
}

// Position of index argument i; false after an error.
static bool position(const ig_sbuiltin_call *k, size_t i, size_t *at) {
  const ig_sobj_seq *s = self_of(k);
  int64_t index = ig_sb_i64(k, i);
  if (index < 0) index += (int64_t)s->n;
  *at = (size_t)index;
  if (index >= 0 && *at < s->n) return k->c->status == IG_OK;
  IG_SCRIPT_FAIL(k, "list index out of range");
  return false;
}

static void retained(const ig_sbuiltin_call *k, ig_value v) {
  ig_svalue_retain(v);
  k->out[0] = v;
}

IG_BUILTIN(list_len) {
  ig_sb_int(k, (int64_t)self_of(k)->n);
}

IG_BUILTIN(list_append) {
  if (!ig_sobj_admits(k->c, &self_of(k)->head, k->in[1])) return;
  if (ig_sobj_seq_push(k->c, self_of(k), k->in[1]) && k->node && k->node->n_out) {
    retained(k, k->in[0]);
  }
}

IG_BUILTIN(list_insert) {
  ig_sobj_seq *s = self_of(k);
  int64_t i = ig_sb_i64(k, 1);
  int64_t n = (int64_t)s->n;
  if (i < 0) i = i < -n ? 0 : i + n;
  if (i > n) i = n;
  if (!ig_sobj_admits(k->c, &s->head, k->in[2]) || !ig_sobj_seq_reserve(k->c, s, 1)) return;
  for (int64_t j = n; j > i; j--) s->at[j] = s->at[j - 1];
  ig_svalue_retain(k->in[2]);
  s->at[i] = k->in[2];
  s->n++;
}

// Takes element `at` out; the reference goes to the caller.
static ig_value take(ig_sobj_seq *s, size_t at) {
  ig_value v = s->at[at];
  s->n--;
  for (size_t i = at; i < s->n; i++) s->at[i] = s->at[i + 1];
  return v;
}

IG_BUILTIN(list_pop) {
  size_t at = 0;
  if (self_of(k)->n == 0) {
    IG_SCRIPT_FAIL(k, "pop from empty list");
  } else if (position(k, 1, &at)) {
    k->out[0] = take(self_of(k), at);
  }
}

IG_BUILTIN(list_delete) {
  size_t at = 0;
  if (position(k, 1, &at)) ig_svalue_release(take(self_of(k), at));
}

IG_BUILTIN(list_clear) {
  ig_sobj_seq *s = self_of(k);
  while (s->n) ig_svalue_release(s->at[--s->n]);
}

static bool extend(const ig_sbuiltin_call *k, ig_sobj_seq *s, const ig_sobj_seq *by) {
  size_t n = by->n;  // it may be the list itself
  for (size_t i = 0; i < n; i++) {
    if (!ig_sobj_admits(k->c, &s->head, by->at[i])) return false;
  }
  if (!ig_sobj_seq_reserve(k->c, s, n)) return false;
  for (size_t i = 0; i < n; i++) {
    ig_svalue_retain(by->at[i]);
    s->at[s->n++] = by->at[i];
  }
  return true;
}

IG_BUILTIN(list_extend) {
  (void)extend(k, self_of(k), ig_sb_seq_at(k, 1));
}

IG_BUILTIN(list_add_inplace) {
  if (extend(k, self_of(k), ig_sb_seq_at(k, 1))) retained(k, k->in[0]);
}

IG_BUILTIN(list_add) {
  ig_sobj_seq *s = make(k, self_of(k)->at, self_of(k)->n);
  if (s) (void)extend(k, s, ig_sb_seq_at(k, 1));
  ig_sb_object(k, s);
}

IG_BUILTIN(list_reverse) {
  ig_sobj_seq *s = self_of(k);
  for (size_t i = 0; i < s->n / 2; i++) {
    ig_value held = s->at[i];
    s->at[i] = s->at[s->n - 1 - i];
    s->at[s->n - 1 - i] = held;
  }
}

IG_BUILTIN(list_copy) {
  ig_sb_object(k, make(k, self_of(k)->at, self_of(k)->n));
}

// Times element list and number, in either order.
static bool repeat(const ig_sbuiltin_call *k, ig_sobj_seq *s, size_t n, int64_t times) {
  size_t more = times > 1 ? ig_mem_mul(n, (size_t)times - 1) : 0;
  if (!ig_spend(k->c, more / 16) || !ig_sobj_seq_reserve(k->c, s, more)) return false;
  for (size_t i = 0; i < more; i++) {
    ig_svalue_retain(s->at[i]);
    s->at[s->n++] = s->at[i];
  }
  return true;
}

IG_BUILTIN(list_mul) {
  bool number_first = k->in[0].kind == IG_KIND_INT;
  const ig_sobj_seq *of = ig_sb_seq_at(k, number_first);
  int64_t times = ig_sb_i64(k, !number_first);
  ig_sobj_seq *s =
      ig_sobj_seq_make(k->c, IG_SOBJ_LIST, of->head.type, of->at, times > 0 ? of->n : 0);
  if (s) (void)repeat(k, s, s->n, times);
  ig_sb_object(k, s);
}

IG_BUILTIN(list_mul_inplace) {
  int64_t times = ig_sb_i64(k, 1);
  if (times <= 0) ig_sb_list_clear(k);
  if (repeat(k, self_of(k), self_of(k)->n, times)) retained(k, k->in[0]);
}

// ---- elements

IG_BUILTIN(list_item) {
  size_t at = 0;
  if (position(k, 1, &at)) retained(k, self_of(k)->at[at]);
}

IG_BUILTIN(list_set) {
  size_t at = 0;
  if (!position(k, 1, &at) || !ig_sobj_admits(k->c, &self_of(k)->head, k->in[2])) return;
  ig_value old = self_of(k)->at[at];
  ig_svalue_retain(k->in[2]);
  self_of(k)->at[at] = k->in[2];
  ig_svalue_release(old);
  if (k->node && k->node->n_out) retained(k, k->in[0]);
}

int64_t ig_sb_slice(const ig_sbuiltin_call *k, size_t n, size_t *count, int64_t *step) {
  int64_t length = (int64_t)n;
  *step = ig_sb_i64(k, 3);
  if (*step == 0) {
    IG_SCRIPT_FAIL(k, "slice step cannot be zero");
    return 0;
  }
  bool back = *step < 0;
  int64_t start = back ? length - 1 : 0;
  int64_t end = back ? -1 : length;
  for (size_t i = 1; i < 3; i++) {
    if (k->in[i].kind == IG_KIND_NONE) continue;
    int64_t v = ig_sb_i64(k, i);
    if (v == INT64_MAX && !back) continue;
    if (v < 0) v = v < -length ? -1 : v + length;
    if (v < 0) v = back ? -1 : 0;
    if (v >= length) v = back ? length - 1 : length;
    *(i == 1 ? &start : &end) = v;
  }
  uint64_t span = 0;
  if (!back && start < end) span = (uint64_t)(end - start);
  if (back && start > end) span = (uint64_t)(start - end);
  uint64_t by = back ? 0 - (uint64_t)*step : (uint64_t)*step;
  *count = (size_t)(span / by + (span % by != 0));
  return start;
}

IG_BUILTIN(list_slice) {
  const ig_sobj_seq *s = self_of(k);
  size_t n = 0;
  int64_t step = 1;
  int64_t at = ig_sb_slice(k, s->n, &n, &step);
  ig_sobj_seq *part = k->c->status == IG_OK ? make(k, NULL, n) : NULL;
  for (size_t i = 0; part && i < n; i++) {
    part->at[i] = s->at[at + (int64_t)i * step];
    ig_svalue_retain(part->at[i]);
  }
  ig_sb_object(k, part);
}

// ---- equal elements

// SIZE_MAX: there is none.
static size_t find(const ig_sbuiltin_call *k, ig_value v) {
  const ig_sobj_seq *s = self_of(k);
  for (size_t i = 0; i < s->n && k->c->status == IG_OK; i++) {
    if (ig_sb_equal(k, s->at[i], v)) return i;
  }
  return SIZE_MAX;
}

IG_BUILTIN(list_contains) {
  ig_sb_bool(k, find(k, k->in[1]) != SIZE_MAX);
}

IG_BUILTIN(list_index) {
  size_t at = find(k, k->in[1]);
  if (k->c->status != IG_OK) return;
  if (at != SIZE_MAX) {
    ig_sb_int(k, (int64_t)at);
    return;
  }
  ig_str s = ig_str_make(k->c->alloc);
  if (ig_svalue_print(k->c, &s, k->in[1])) {
    IG_SCRIPT_FAIL(k, "'%s' is not in list", s.at ? s.at : "");
  }
  ig_str_free(&s);
}

IG_BUILTIN(list_count) {
  const ig_sobj_seq *s = self_of(k);
  int64_t n = 0;
  for (size_t i = 0; i < s->n && k->c->status == IG_OK; i++) {
    n += ig_sb_equal(k, s->at[i], k->in[1]);
  }
  ig_sb_int(k, n);
}

IG_BUILTIN(list_remove) {
  size_t at = find(k, k->in[1]);
  if (k->c->status != IG_OK) return;
  if (at == SIZE_MAX)
    IG_SCRIPT_FAIL(k, "list.remove(x): x not in list");
  else
    ig_svalue_release(take(self_of(k), at));
}

static bool equal(const ig_sbuiltin_call *k) {
  const ig_sobj_seq *a = ig_sb_seq_at(k, 0);
  const ig_sobj_seq *b = ig_sb_seq_at(k, 1);
  bool same = a->n == b->n;
  for (size_t i = 0; same && i < a->n; i++) {
    ig_value x = a->at[i];
    ig_value y = b->at[i];
    bool ints = x.kind == IG_KIND_INT && y.kind == IG_KIND_INT;
    same = ints ? ig_int_eq(k->c, x.i, y.i) : ig_sb_equal(k, x, y);
  }
  return same;
}

IG_BUILTIN(list_eq) {
  ig_sb_bool(k, equal(k));
}
IG_BUILTIN(list_ne) {
  ig_sb_bool(k, !equal(k));
}

// ---- all elements

IG_BUILTIN(list_sum) {
  const ig_sobj_seq *s = self_of(k);
  const ig_stype *type = ig_sb_type(k, 0);
  bool real = type && type->kind == IG_STYPE_FLOAT;
  bool complex_sum = type && type->kind == IG_STYPE_COMPLEX;
  ig_value sum = complex_sum ? ig_of_complex(0, 0) : real ? ig_of_f64(0) : ig_of_i64(0);
  for (size_t i = 0; i < s->n && k->c->status == IG_OK; i++) {
    if (!ig_value_is_number(&s->at[i])) {
      IG_SCRIPT_FAIL(k, "sum(): expected numbers in the list");
      return;
    }
    const ig_value pair[2] = {sum, s->at[i]};
    ig_sbuiltin_call add = *k;
    add.in = pair;
    add.n_in = 2;
    add.out = &sum;
    ig_sb_add(&add);
  }
  k->out[0] = sum;
}

static bool is_true(const ig_sbuiltin_call *k, ig_value v) {
  if (ig_sobj_is(v, IG_SOBJ_STR)) return ((const ig_sobj_str *)v.object)->n > 0;
  return ig_sb_truth(k->c, v);
}

IG_BUILTIN(list_all) {
  const ig_sobj_seq *s = self_of(k);
  bool all = true;
  for (size_t i = 0; all && i < s->n; i++) all = is_true(k, s->at[i]);
  ig_sb_bool(k, all);
}

IG_BUILTIN(list_any) {
  const ig_sobj_seq *s = self_of(k);
  bool any = false;
  for (size_t i = 0; !any && i < s->n; i++) any = is_true(k, s->at[i]);
  ig_sb_bool(k, any);
}

// ---- order

// A comparison may run a script, which may change the lists that the values are in: whoever
// compares elements holds them.
static bool less_within(const ig_sbuiltin_call *k, ig_value a, ig_value b, size_t depth);

static bool less(const ig_sbuiltin_call *k, ig_value a, ig_value b) {
  return less_within(k, a, b, ig_limits_of(k->c, NULL).max_depth);
}

static bool less_seq(const ig_sbuiltin_call *k, const ig_sobj_seq *a, const ig_sobj_seq *b,
                     size_t depth) {
  for (size_t i = 0; i < a->n && i < b->n; i++) {
    ig_value x = a->at[i];
    ig_value y = b->at[i];
    ig_svalue_retain(x);
    ig_svalue_retain(y);
    bool before = less_within(k, x, y, depth);
    bool behind = !before && k->c->status == IG_OK && less_within(k, y, x, depth);
    ig_svalue_release(x);
    ig_svalue_release(y);
    if (before || behind || k->c->status != IG_OK) return before;
  }
  return a->n < b->n;
}

// The class says what comes first.
static bool less_instance(const ig_sbuiltin_call *k, ig_value a, ig_value b) {
  const ig_sobj_instance *o = a.object;
  ig_sfunction *lt = ig_sclass_method(o->cls, "__lt__");
  const ig_value args[2] = {a, b};
  ig_value answer = ig_none();
  if (!lt) {
    IG_SCRIPT_FAIL(k, "%s does not define a __lt__ method", o->head.type->name);
    return false;
  }
  if (lt->n_params != 2) {
    IG_SCRIPT_FAIL(k, "%s does not compare two objects", lt->qualified);
    return false;
  }
  bool before = ig_sfunction_run(k->c, lt, args, &answer) == IG_OK && ig_sb_truth(k->c, answer);
  ig_svalue_release(answer);
  return before;
}

static bool less_within(const ig_sbuiltin_call *k, ig_value a, ig_value b, size_t depth) {
  if (!ig_step(k->c)) return false;
  if (depth == 0) {
    ig_fail_text(k->c, IG_LIMIT, "elements are nested too deeply to be compared");
    return false;
  }
  const ig_value pair[2] = {a, b};
  ig_value answer = ig_of_bool(false);
  ig_sbuiltin_call ask = *k;
  ask.in = pair;
  ask.n_in = 2;
  ask.out = &answer;
  bool numbers = ig_value_is_number(&a) && ig_value_is_number(&b);
  bool same =
      a.kind == b.kind && (a.kind != IG_KIND_OBJECT ||
                           ((const ig_sobj *)a.object)->kind == ((const ig_sobj *)b.object)->kind);
  if (!numbers && (!same || (a.kind != IG_KIND_TENSOR && a.kind != IG_KIND_OBJECT))) {
    IG_SCRIPT_FAIL(k, "elements of these types have no order");
    return false;
  }
  if (a.kind == IG_KIND_TENSOR) {
    ig_tensor *first = ig_lt_tensor(k->c, a.tensor, b.tensor);
    return first && ig_sb_truth(k->c, ig_sb_element(k->c, first));
  }
  if (ig_sobj_is(a, IG_SOBJ_INSTANCE)) return less_instance(k, a, b);
  if (ig_sobj_is(a, IG_SOBJ_TUPLE) || ig_sobj_is(a, IG_SOBJ_LIST)) {
    return less_seq(k, a.object, b.object, depth - 1);
  }
  if (a.kind == IG_KIND_OBJECT && !ig_sobj_is(a, IG_SOBJ_STR)) {
    IG_SCRIPT_FAIL(k, "elements of this type have no order");
    return false;
  }
  ig_sb_lt(&ask);
  return answer.b;
}

// Merges runs from `from` into `to`; equal elements keep their order.
static void merge(const ig_sbuiltin_call *k, const ig_value *from, ig_value *to, size_t lo,
                  size_t mid, size_t hi, bool reverse) {
  size_t a = lo;
  size_t b = mid;
  for (size_t i = lo; i < hi; i++) {
    bool second =
        b < hi && (a == mid || (reverse ? less(k, from[a], from[b]) : less(k, from[b], from[a])));
    to[i] = second ? from[b++] : from[a++];
  }
}

static void sort(const ig_sbuiltin_call *k, ig_sobj_seq *s, bool reverse) {
  size_t n = s->n;
  ig_scope scope = ig_scope_open(k->c);
  ig_value *from = ig_scope_array(k->c, n, sizeof *from);
  ig_value *to = ig_scope_array(k->c, n, sizeof *to);
  for (size_t i = 0; from && i < n; i++) from[i] = s->at[i];
  for (size_t i = 0; from && i < n; i++) ig_svalue_retain(from[i]);
  bool held = from != NULL;
  for (size_t width = 1; from && to && width < n && ig_spend(k->c, n / 16 + 1); width *= 2) {
    for (size_t lo = 0; lo < n; lo += 2 * width) {
      size_t mid = lo + width < n ? lo + width : n;
      size_t hi = mid + width < n ? mid + width : n;
      merge(k, from, to, lo, mid, hi, reverse);
    }
    ig_value *swap = from;
    from = to;
    to = swap;
  }
  // The list gets the references; what it holds now is released, whether it is the same or not.
  bool same = held && k->c->status == IG_OK && s->n == n;
  for (size_t i = 0; same && i < n; i++) {
    ig_value old = s->at[i];
    s->at[i] = from[i];
    from[i] = old;
  }
  for (size_t i = 0; held && i < n; i++) ig_svalue_release(from[i]);
  ig_scope_close(k->c, scope);
}

IG_BUILTIN(list_sort) {
  sort(k, self_of(k), ig_sb_truth(k->c, k->in[1]));
}

IG_BUILTIN(list_sorted) {
  ig_sobj_seq *s = make(k, self_of(k)->at, self_of(k)->n);
  if (s) sort(k, s, false);
  ig_sb_object(k, s);
}

static void extreme(const ig_sbuiltin_call *k, const char *name, bool most) {
  const ig_sobj_seq *s = self_of(k);
  if (s->n == 0) {
    IG_SCRIPT_FAIL(k, "%s() arg is an empty sequence", name);
    return;
  }
  ig_value best = s->at[0];
  ig_svalue_retain(best);
  for (size_t i = 1; i < s->n && k->c->status == IG_OK; i++) {
    ig_value v = s->at[i];
    ig_svalue_retain(v);
    bool better = most ? less(k, best, v) : less(k, v, best);
    ig_svalue_release(better ? best : v);
    if (better) best = v;
  }
  k->out[0] = best;
}

IG_BUILTIN(list_min) {
  extreme(k, "min", false);
}
IG_BUILTIN(list_max) {
  extreme(k, "max", true);
}

IG_BUILTIN(lists_min) {
  retained(k, k->in[less(k, k->in[1], k->in[0])]);
}
IG_BUILTIN(lists_max) {
  retained(k, k->in[less(k, k->in[0], k->in[1])]);
}
