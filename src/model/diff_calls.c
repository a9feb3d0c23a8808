// SPDX-License-Identifier: Apache-2.0
// Comparing the calls of two models: the longest common subsequence of their steps, by callee and
// constants; the steps between two common ones are paired, first by operator, then in order. For
// each pair, operands and types are compared: an operand must be the partner of the other one's
// operand.
#include <stdlib.h>
#include <string.h>

#include "model/align.h"
#include "model/diff.h"

typedef struct pairing {
  ig_differ *d;
  const ig_steps *a;
  const ig_steps *b;
  int64_t *to;    // by step of a: its partner in b, or IG_UNALIGNED
  int64_t *back;  // by step of b
  bool *retyped;  // by step of a: its result types differ from its partner's
} pairing;

// ---- how often

typedef struct tally {
  const char *name;
  size_t before;
  size_t after;
} tally;

typedef struct tallies {
  ig_map index;  // name -> place in `at`, from 1
  IG_VEC(tally) list;
} tallies;

static bool count(ig_differ *d, tallies *t, const ig_steps *steps, bool after) {
  for (size_t i = 0; i < steps->n; i++) {
    const char *name = steps->at[i].target;
    if (strcmp(name, "return") == 0) continue;  // no operator
    ig_map_value *v = ig_map_put(&t->index, name);
    bool ok = v && (v->num || ig_vec_push(d->c->alloc, &t->list, (tally){.name = name}));
    if (!ok) return ig_fail(d->c, IG_NOMEM, "out of memory") == IG_OK;
    if (!v->num) v->num = t->list.n;
    tally *one = &t->list.at[v->num - 1];
    one->before += !after;
    one->after += after;
  }
  return true;
}

static int by_name(const void *x, const void *y) {
  return strcmp(((const tally *)x)->name, ((const tally *)y)->name);
}

static void compare_counts(ig_differ *d, const ig_steps *a, const ig_steps *b) {
  tallies t = {.index = ig_map_make(d->c->alloc)};
  if (count(d, &t, a, false) && count(d, &t, b, true)) {
    if (t.list.n) qsort(t.list.at, t.list.n, sizeof *t.list.at, by_name);
    for (size_t i = 0; i < t.list.n; i++) {
      const tally *one = &t.list.at[i];
      if (one->before == one->after) continue;
      const char *before = one->before ? ig_diff_text(d, "%zu", one->before) : NULL;
      const char *after = one->after ? ig_diff_text(d, "%zu", one->after) : NULL;
      (void)ig_diff_add(d, IG_DIFF_OPERATORS, one->name, before, after);
    }
  }
  ig_vec_free(d->c->alloc, &t.list);
  ig_map_free(&t.index);
}

// ---- partners

static void pair(const pairing *p, size_t i, size_t k) {
  p->to[i] = (int64_t)k;
  p->back[k] = (int64_t)i;
}

static bool is_return(const ig_step *s) {
  return strcmp(s->target, "return") == 0;
}

enum { AHEAD = 256 };  // steps that are searched for the same operator

// Steps [i, i1) of a and [k, k1) of b have no partners yet.
static void pair_gap(const pairing *p, size_t i, size_t i1, size_t k, size_t k1) {
  size_t from = k;
  for (size_t x = i; x < i1; x++) {
    size_t end = k1 - from > AHEAD ? from + AHEAD : k1;
    size_t y = from;
    while (y < end && strcmp(p->a->at[x].target, p->b->at[y].target) != 0) y++;
    if (y == end) continue;
    pair(p, x, y);
    from = y + 1;
  }
  // What remains between two such pairs counts as replaced, as far as both sides have equally many.
  while (i < i1) {
    size_t next = i;
    while (next < i1 && p->to[next] == IG_UNALIGNED) next++;
    size_t end = next < i1 ? (size_t)p->to[next] : k1;
    for (; i < next && k < end; i++, k++) {
      if (!is_return(&p->a->at[i]) && !is_return(&p->b->at[k])) pair(p, i, k);
    }
    i = next + 1;
    k = end + 1;
  }
}

static void pair_gaps(const pairing *p) {
  size_t i = 0;
  size_t k = 0;
  for (size_t next = 0; next <= p->a->n; next++) {
    bool end = next == p->a->n;
    if (!end && p->to[next] == IG_UNALIGNED) continue;
    size_t at = end ? p->b->n : (size_t)p->to[next];
    pair_gap(p, i, next, k, at);
    i = next + 1;
    k = at + 1;
  }
}

// ---- pairs

static bool same_operand(const pairing *p, const ig_step_operand *x, const ig_step_operand *y) {
  if ((x->step < 0) != (y->step < 0) || strcmp(x->label, y->label) != 0) return false;
  return x->step < 0 || p->to[x->step] == y->step;
}

static bool same_step(const pairing *p, const ig_step *x, const ig_step *y) {
  if (strcmp(x->key, y->key) != 0 || x->noperands != y->noperands) return false;
  for (size_t i = 0; i < x->noperands; i++) {
    if (!same_operand(p, &x->operands[i], &y->operands[i])) return false;
  }
  return true;
}

// Does an operand of the step also have a different type? Then its own difference is not reported
// again. Among operands that are not steps, only weights are reported separately.
static bool inherits_type(const pairing *p, const ig_step *x) {
  for (size_t i = 0; i < x->noperands; i++) {
    const ig_step_operand *o = &x->operands[i];
    if (o->step < 0 ? strncmp(o->label, "weight ", 7) != 0 : p->retyped[o->step]) return true;
  }
  return false;
}

static bool report_pair(const pairing *p, size_t at, const ig_step *x, const ig_step *y) {
  ig_differ *d = p->d;
  bool types = x->type && y->type && !ig_diff_same_sizes(d, x->type, y->type, true);
  bool same = same_step(p, x, y);
  p->retyped[at] = types;
  types = types && !inherits_type(p, x);
  if (same && !types) return true;
  const char *before = x->text;
  const char *after = y->text;
  if (types) {
    ig_str s = ig_str_make(d->c->alloc);
    ig_str_add(&s, "%s -> %s", x->text, x->type);
    before = ig_diff_take(d, &s);
    s = ig_str_make(d->c->alloc);
    ig_str_add(&s, "%s -> %s", y->text, y->type);
    after = ig_diff_take(d, &s);
  }
  (void)ig_diff_add(d, IG_DIFF_NODES, x->name, before, after);
  return false;
}

static void tell(const ig_differ *d, const ig_step *x, const ig_step *y, bool same) {
  if (d->on_pair) d->on_pair(d->pair_user, x ? x->from : NULL, y ? y->from : NULL, same);
}

// In the order of both, removed steps before added ones.
static void report(const pairing *p) {
  size_t k = 0;
  for (size_t i = 0; i <= p->a->n && p->d->c->status == IG_OK; i++) {
    const ig_step *x = i < p->a->n ? &p->a->at[i] : NULL;
    if (x && p->to[i] == IG_UNALIGNED) {
      (void)ig_diff_add(p->d, IG_DIFF_NODES, x->name, x->text, NULL);
      tell(p->d, x, NULL, false);
      continue;
    }
    size_t at = x ? (size_t)p->to[i] : p->b->n;
    for (; k < at; k++) {
      if (p->back[k] != IG_UNALIGNED) continue;
      (void)ig_diff_add(p->d, IG_DIFF_NODES, p->b->at[k].name, NULL, p->b->at[k].text);
      tell(p->d, NULL, &p->b->at[k], false);
    }
    if (x) tell(p->d, x, &p->b->at[at], report_pair(p, i, x, &p->b->at[at]));
    k = at + 1;
  }
}

// Numbers for keys: equal ones have equal numbers.
static bool number(ig_differ *d, ig_map *known, const ig_steps *steps, size_t *out) {
  for (size_t i = 0; i < steps->n; i++) {
    ig_map_value *v = ig_map_put(known, steps->at[i].key);
    if (!v) return ig_fail(d->c, IG_NOMEM, "out of memory") == IG_OK;
    if (!v->num) v->num = known->n;
    out[i] = v->num;
  }
  return true;
}

static void compare_nodes(ig_differ *d, const ig_steps *a, const ig_steps *b) {
  ig_ctx *c = d->c;
  pairing p = {.d = d, .a = a, .b = b};
  size_t *x = ig_scope_array(c, a->n, sizeof *x);
  size_t *y = ig_scope_array(c, b->n, sizeof *y);
  p.to = ig_scope_array(c, a->n, sizeof *p.to);
  p.back = ig_scope_array(c, b->n, sizeof *p.back);
  p.retyped = ig_scope_push(c, a->n + 1);
  if (!x || !y || !p.to || !p.back || !p.retyped) return;
  memset(p.retyped, 0, a->n);
  ig_map known = ig_map_make(c->alloc);
  bool ok = number(d, &known, a, x) && number(d, &known, b, y);
  ig_map_free(&known);
  if (!ok) return;
  if (!ig_align(c->alloc, x, a->n, y, b->n, p.to)) {
    (void)ig_fail(c, IG_NOMEM, "out of memory");
    return;
  }
  for (size_t k = 0; k < b->n; k++) p.back[k] = IG_UNALIGNED;
  for (size_t i = 0; i < a->n; i++) {
    if (p.to[i] != IG_UNALIGNED) p.back[p.to[i]] = (int64_t)i;
  }
  pair_gaps(&p);
  report(&p);
}

// ---- both

static const char *program_text(ig_differ *d, const ig_model *m) {
  if (!m->program) return NULL;
  return ig_diff_text(d, "%zu nodes", ig_graph_node_count(m->program->graph));
}

void ig_diff_calls(ig_differ *d) {
  bool onnx = ig_model_onnx(d->a) && ig_model_onnx(d->b);
  ig_steps a = {0};
  ig_steps b = {0};
  if (!onnx && (!d->a->program || !d->b->program)) {
    const char *before = program_text(d, d->a);
    const char *after = program_text(d, d->b);
    if (before || after) (void)ig_diff_add(d, IG_DIFF_NODES, "program", before, after);
    return;
  }
  bool ok = onnx ? ig_steps_of_onnx(d, d->a, &a) && ig_steps_of_onnx(d, d->b, &b)
                 : ig_steps_of_program(d, d->a, &a) && ig_steps_of_program(d, d->b, &b);
  if (ok && (d->options.parts & IG_DIFF_OPERATORS)) compare_counts(d, &a, &b);
  if (ok && (d->options.parts & IG_DIFF_NODES)) compare_nodes(d, &a, &b);
  ig_steps_free(&a);
  ig_steps_free(&b);
}
