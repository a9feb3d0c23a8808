// SPDX-License-Identifier: Apache-2.0
// Comparing models: metadata, inputs and outputs, weights. Calls are in diff_calls.c.
#include "model/diff.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/options.h"
#include "ingot/stats.h"
#include "ingot/texts.h"

const char *ig_diff_part_word(ig_diff_part part) {
  switch (part) {
    case IG_DIFF_METADATA:
      return "metadata";
    case IG_DIFF_INPUTS:
      return "inputs";
    case IG_DIFF_OUTPUTS:
      return "outputs";
    case IG_DIFF_OPERATORS:
      return "operators";
    case IG_DIFF_NODES:
      return "nodes";
    case IG_DIFF_WEIGHTS:
      return "weights";
    default:
      return NULL;
  }
}

// ---- texts and changes

const char *ig_diff_take(ig_differ *d, ig_str *s) {
  char *text = s->failed ? NULL : ig_scope_push(d->c, s->n + 1);
  if (s->failed) (void)ig_fail(d->c, IG_NOMEM, "out of memory");
  if (text && s->n) memcpy(text, s->at, s->n);
  if (text) text[s->n] = 0;
  ig_str_free(s);
  return text;
}

const char *ig_diff_text(ig_differ *d, const char *fmt, ...) {
  char text[512];
  va_list args;
  va_start(args, fmt);
  int n = vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  size_t size = n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
  char *copy = ig_scope_push(d->c, size + 1);
  if (!copy) return NULL;
  memcpy(copy, text, size);
  copy[size] = 0;
  return copy;
}

ig_model_change *ig_diff_add(ig_differ *d, ig_diff_part part, const char *name, const char *before,
                             const char *after) {
  ig_model_change *change = ig_scope_push(d->c, sizeof *change);
  if (!change) return NULL;
  *change = (ig_model_change){part, name, before, after, NULL};
  if (ig_vec_push(d->c->alloc, &d->changes, change)) return change;
  (void)ig_fail(d->c, IG_NOMEM, "out of memory");
  return NULL;
}

// ---- names of sizes

static size_t word_length(const char *s) {
  size_t n = 0;
  if (!isalpha((unsigned char)s[0]) && s[0] != '_') return 0;
  while (isalnum((unsigned char)s[n]) || s[n] == '_') n++;
  return n;
}

static const char *word_of(ig_differ *d, const char *s, size_t n) {
  char *text = ig_scope_push(d->c, n + 1);
  if (!text) return NULL;
  memcpy(text, s, n);
  text[n] = 0;
  return text;
}

static const char *partner(const ig_map *names, const char *name) {
  const ig_map_value *v = ig_map_find(names, name);
  return v ? v->ptr : NULL;
}

// Does name a of one model correspond to name b of the other? Names without a partner must be
// equal or, if `meet`, are partners from then on.
static bool same_name(ig_differ *d, const char *a, const char *b, bool meet) {
  const char *there = partner(&d->names, a);
  const char *back = partner(&d->unnames, b);
  if (there || back) return there && back && strcmp(there, b) == 0 && strcmp(back, a) == 0;
  if (!meet) return strcmp(a, b) == 0;
  ig_map_value *to = ig_map_put(&d->names, a);
  ig_map_value *from = ig_map_put(&d->unnames, b);
  if (!to || !from) return ig_fail(d->c, IG_NOMEM, "out of memory") == IG_OK;
  to->ptr = (void *)b;
  from->ptr = (void *)a;
  return true;
}

bool ig_diff_same_sizes(ig_differ *d, const char *a, const char *b, bool meet) {
  for (;;) {
    size_t n = word_length(a);
    size_t m = word_length(b);
    if (!n != !m) return false;
    if (!n) {
      if (*a != *b) return false;
      if (!*a) return true;
      a++;
      b++;
      continue;
    }
    bool plain = a[n] == '(' || b[m] == '(' || a[n] == '[' || b[m] == '[';  // function or dtype
    const char *x = plain ? NULL : word_of(d, a, n);
    const char *y = plain ? NULL : word_of(d, b, m);
    if (!plain && (!x || !y)) return false;
    if (plain ? n != m || memcmp(a, b, n) != 0 : !same_name(d, x, y, meet)) return false;
    a += n;
    b += m;
  }
}

// ---- inputs and outputs

static void add_range(ig_str *s, const ig_model_dim *dim) {
  bool bounded = dim->hi != INT64_MAX;
  if (!dim->name || (dim->lo <= 0 && !bounded)) return;
  ig_str_add(s, ", %s %lld to ", dim->name, (long long)dim->lo);
  if (bounded) ig_str_add(s, "%lld", (long long)dim->hi);
  if (!bounded) ig_str_add(s, "any");
}

// "float32[s0, 4], s0 2 to 64"
static const char *array_text(ig_differ *d, const ig_model_port *p) {
  ig_str s = ig_str_make(d->c->alloc);
  ig_str_add(&s, "%s[", p->texts ? "string" : ig_dtype_text(p->dtype));
  if (p->ndim < 0) ig_str_add(&s, "...");
  for (int i = 0; i < p->ndim; i++) {
    if (i) ig_str_add(&s, ", ");
    if (p->dims[i]->name) ig_str_add(&s, "%s", p->dims[i]->name);
    if (!p->dims[i]->name) ig_str_add(&s, "%lld", (long long)p->dims[i]->value);
  }
  ig_str_add(&s, "]");
  for (int i = 0; i < p->ndim; i++) add_range(&s, p->dims[i]);
  return ig_diff_take(d, &s);
}

static const char *value_text(ig_differ *d, const ig_model_port *p) {
  ig_str s = ig_str_make(d->c->alloc);
  if (p->kind == IG_KIND_INT && !p->value.i.expr) {
    ig_str_add(&s, "%lld", (long long)p->value.i.value);
  } else if (p->kind == IG_KIND_FLOAT) {
    ig_str_float(&s, p->value.f);
  } else if (p->kind == IG_KIND_BOOL) {
    ig_str_add(&s, "%s", p->value.b ? "True" : "False");
  } else if (p->kind == IG_KIND_STR) {
    ig_str_add(&s, "'%s'", p->value.str ? p->value.str : "");
  } else {
    ig_str_add(&s, "%s", p->kind == IG_KIND_NONE ? "None" : "a value");
  }
  return ig_diff_take(d, &s);
}

static const char *port_text(ig_differ *d, const ig_model_port *p) {
  return ig_port_is_array(p) ? array_text(d, p) : value_text(d, p);
}

static bool same_port(ig_differ *d, const ig_model_port *x, const char *a, const ig_model_port *y,
                      const char *b) {
  const char *to = x->target ? x->target : "";
  const char *other = y->target ? y->target : "";
  if (strcmp(x->name, y->name) != 0 || x->role != y->role || x->kind != y->kind) return false;
  if (strcmp(to, other) != 0) return false;
  return ig_port_is_array(x) ? ig_diff_same_sizes(d, a, b, true) : strcmp(a, b) == 0;
}

// Other differences are appended to the type.
static const char *full_text(ig_differ *d, const ig_model_port *p, const char *text, bool named) {
  static const char *const roles[] = {[IG_PORT_USER] = "",
                                      [IG_PORT_BUFFER] = " -> buffer ",
                                      [IG_PORT_INPUT] = " -> input ",
                                      [IG_PORT_GRAD] = ", gradient of ",
                                      [IG_PORT_TOKEN] = ", token "};
  bool target = p->role != IG_PORT_USER && p->target;
  return ig_diff_text(d, "%.160s%s%.200s%s%.100s", named ? p->name : "", named ? ": " : "", text,
                      roles[p->role], target ? p->target : "");
}

static void compare_ports(ig_differ *d, ig_diff_part part, ig_model_port *const *a, size_t n,
                          ig_model_port *const *b, size_t m) {
  for (size_t i = 0; (i < n || i < m) && d->c->status == IG_OK; i++) {
    const char *x = i < n ? port_text(d, a[i]) : NULL;
    const char *y = i < m ? port_text(d, b[i]) : NULL;
    const char *name = i < n ? a[i]->name : b[i]->name;
    if (x && y && same_port(d, a[i], x, b[i], y)) continue;
    bool renamed = x && y && strcmp(a[i]->name, b[i]->name) != 0;
    if (x) x = full_text(d, a[i], x, false);
    if (y) y = full_text(d, b[i], y, renamed);
    (void)ig_diff_add(d, part, name, x, y);
  }
}

// What exists in `from` but not in `to`.
static void compare_relations(ig_differ *d, const ig_model_relation *const *from, size_t n,
                              const ig_model_relation *const *to, size_t m, bool removed) {
  for (size_t i = 0; i < n; i++) {
    size_t k = 0;
    while (k < m && !(removed ? ig_diff_same_sizes(d, from[i]->text, to[k]->text, false)
                              : ig_diff_same_sizes(d, to[k]->text, from[i]->text, false))) {
      k++;
    }
    if (k < m) continue;
    (void)ig_diff_add(d, IG_DIFF_INPUTS, "relation", removed ? from[i]->text : NULL,
                      removed ? NULL : from[i]->text);
  }
}

static void compare_inputs(ig_differ *d) {
  compare_ports(d, IG_DIFF_INPUTS, d->a->inputs.at, d->a->inputs.n, d->b->inputs.at,
                d->b->inputs.n);
  const ig_model_relation *const *x = NULL;
  const ig_model_relation *const *y = NULL;
  size_t n = ig_model_relations(d->c, d->a, &x);
  size_t m = ig_model_relations(d->c, d->b, &y);
  compare_relations(d, x, n, y, m, true);
  compare_relations(d, y, m, x, n, false);
}

// ---- metadata

static bool same_fact(const ig_model_fact *a, const ig_model_fact *b) {
  return a->group == b->group && strcmp(a->name, b->name) == 0;
}

// What m says of fact i of `of`: a file may give a name several times, which are compared in order.
static const char *fact(const ig_model *m, const ig_model *of, size_t i) {
  size_t earlier = 0;
  for (size_t k = 0; k < i; k++) earlier += same_fact(of->facts.at[k], of->facts.at[i]);
  for (size_t k = 0; k < m->facts.n; k++) {
    bool same = same_fact(m->facts.at[k], of->facts.at[i]);
    if (same && earlier == 0) return m->facts.at[k]->value;
    earlier -= same;
  }
  return NULL;
}

static void compare_facts(ig_differ *d) {
  for (size_t i = 0; i < d->a->facts.n; i++) {
    const ig_model_fact *f = d->a->facts.at[i];
    const char *other = fact(d->b, d->a, i);
    if (other && strcmp(other, f->value) == 0) continue;
    (void)ig_diff_add(d, IG_DIFF_METADATA, f->name, f->value, other);
  }
  for (size_t i = 0; i < d->b->facts.n; i++) {
    const ig_model_fact *f = d->b->facts.at[i];
    if (!fact(d->a, d->b, i)) (void)ig_diff_add(d, IG_DIFF_METADATA, f->name, NULL, f->value);
  }
}

static int64_t find_extra(const ig_model *m, const char *name) {
  for (size_t i = 0; i < m->members.n; i++) {
    if (m->members.at[i]->extra && strcmp(m->members.at[i]->name, name) == 0) return (int64_t)i;
  }
  return -1;
}

static bool same_member(ig_differ *d, size_t i, size_t k) {
  const void *x = NULL;
  const void *y = NULL;
  size_t n = 0;
  size_t m = 0;
  if (ig_model_member_data(d->c, d->a, i, &x, &n) != IG_OK ||
      ig_model_member_data(d->c, d->b, k, &y, &m) != IG_OK) {
    return false;
  }
  return n == m && (n == 0 || memcmp(x, y, n) == 0);
}

static const char *member_text(ig_differ *d, const ig_model *m, int64_t i) {
  if (i < 0) return NULL;
  return ig_diff_text(d, "%llu bytes", (unsigned long long)m->members.at[i]->bytes);
}

static void compare_extras(ig_differ *d) {
  for (size_t i = 0; i < d->a->members.n; i++) {
    const ig_model_member *x = d->a->members.at[i];
    int64_t k = x->extra ? find_extra(d->b, x->name) : -1;
    if (!x->extra || (k >= 0 && same_member(d, i, (size_t)k))) continue;
    const char *before = member_text(d, d->a, (int64_t)i);
    (void)ig_diff_add(d, IG_DIFF_METADATA, x->name, before, member_text(d, d->b, k));
  }
  for (size_t i = 0; i < d->b->members.n; i++) {
    const ig_model_member *y = d->b->members.at[i];
    if (!y->extra || find_extra(d->a, y->name) >= 0) continue;
    (void)ig_diff_add(d, IG_DIFF_METADATA, y->name, NULL, member_text(d, d->b, (int64_t)i));
  }
}

// Files of different kinds have no metadata in common: only the difference of kind is reported.
static void compare_metadata(ig_differ *d) {
  if (d->a->format->kind != d->b->format->kind) {
    (void)ig_diff_add(d, IG_DIFF_METADATA, "kind", ig_model_kind_text(d->a->format->kind),
                      ig_model_kind_text(d->b->format->kind));
    return;
  }
  compare_facts(d);
  compare_extras(d);
}

// ---- weights

static const char *weight_text(ig_differ *d, const ig_model_weight *w) {
  ig_str s = ig_str_make(d->c->alloc);
  int64_t sizes[IG_MAX_DIM];
  int ndim = 0;
  const char *type = "string";
  if (w->tensor) {
    type = ig_dtype_text(w->tensor->dtype);
    ndim = w->tensor->ndim;
    for (int i = 0; i < ndim; i++) sizes[i] = ig_tensor_size(w->tensor, i).value;
  } else if (w->texts) {
    (void)ig_texts_measure(w->texts, sizes, &ndim);
  }
  ig_str_add(&s, "%s[", type);
  for (int i = 0; i < ndim; i++) ig_str_add(&s, "%s%lld", i ? ", " : "", (long long)sizes[i]);
  ig_str_add(&s, "]");
  return ig_diff_take(d, &s);
}

static void compare_weight(ig_differ *d, const ig_model_weight *x, const ig_model_weight *y) {
  ig_tensor_diff *numbers = ig_scope_push(d->c, sizeof *numbers);
  if (!numbers) return;
  if (x->texts || y->texts) {
    if (x->texts && y->texts && ig_texts_equal(x->texts, y->texts)) return;
    (void)ig_diff_add(d, IG_DIFF_WEIGHTS, x->name, weight_text(d, x), weight_text(d, y));
    return;
  }
  const ig_tolerance *by = d->options.tolerances ? &d->options.tolerances[x->tensor->dtype] : NULL;
  bool given = by && (by->rtol >= 0 || by->atol >= 0);
  ig_tensor_compare(d->c, y->tensor, x->tensor, given ? by : &d->options.weights, numbers);
  if (numbers->agrees) return;
  const char *before = weight_text(d, x);
  const char *after = weight_text(d, y);
  ig_model_change *change = ig_diff_add(d, IG_DIFF_WEIGHTS, x->name, before, after);
  if (change && !numbers->why[0]) change->numbers = numbers;
}

static bool index_weights(ig_differ *d, const ig_model *m, ig_map *out) {
  for (size_t i = 0; i < m->weights.n; i++) {
    ig_map_value *v = ig_map_put(out, m->weights.at[i]->name);
    if (!v) return ig_fail(d->c, IG_NOMEM, "out of memory") == IG_OK;
    v->ptr = m->weights.at[i];
  }
  return true;
}

static bool same_elements(ig_differ *d, const ig_model_weight *x, const ig_model_weight *y) {
  ig_tensor_diff numbers;
  if (!x->tensor || !y->tensor) return false;
  ig_tensor_compare(d->c, y->tensor, x->tensor, &(ig_tolerance){0, 0}, &numbers);
  return numbers.agrees && numbers.n > 1;  // a single number says little
}

static uint64_t hash_of(ig_differ *d, const ig_model_weight *w) {
  ig_stats stats = {.hash = 0};
  if (w->tensor) (void)ig_tensor_stats(d->c, w->tensor, &stats);
  return stats.hash;
}

// The weight of b that only b has a name for and that has the elements of w.
static const ig_model_weight *find_elements(ig_differ *d, const ig_map *mine,
                                            const uint64_t *hashes, const ig_model_weight *w) {
  uint64_t hash = hash_of(d, w);
  for (size_t k = 0; k < d->b->weights.n; k++) {
    const ig_model_weight *y = d->b->weights.at[k];
    if (hashes[k] != hash || ig_map_find(mine, y->name) || ig_map_find(&d->taken, y->name))
      continue;
    if (same_elements(d, w, y)) return y;
  }
  return NULL;
}

// Weights that one file has under another name than the other are found by their elements.
static bool pair_weights(ig_differ *d, const ig_map *mine, const ig_map *other) {
  uint64_t *hashes = ig_scope_array(d->c, d->b->weights.n + 1, sizeof *hashes);
  if (!hashes) return false;
  for (size_t k = 0; k < d->b->weights.n; k++) {
    const ig_model_weight *y = d->b->weights.at[k];
    hashes[k] = ig_map_find(mine, y->name) ? 0 : hash_of(d, y);
  }
  for (size_t i = 0; i < d->a->weights.n && d->c->status == IG_OK; i++) {
    const ig_model_weight *x = d->a->weights.at[i];
    const ig_model_weight *y =
        ig_map_find(other, x->name) ? NULL : find_elements(d, mine, hashes, x);
    ig_map_value *to = y ? ig_map_put(&d->renamed, x->name) : NULL;
    ig_map_value *back = y ? ig_map_put(&d->taken, y->name) : NULL;
    if (y && (!to || !back)) return ig_fail(d->c, IG_NOMEM, "out of memory") == IG_OK;
    if (to) to->text = y->name;
    if (back) back->num = 1;
  }
  return d->c->status == IG_OK;
}

static void report_weight(ig_differ *d, const ig_map *other, const ig_model_weight *w) {
  const ig_map_value *same = ig_map_find(other, w->name);
  const ig_map_value *moved = same ? NULL : ig_map_find(&d->renamed, w->name);
  const char *type = same ? NULL : weight_text(d, w);
  if (same) {
    compare_weight(d, w, same->ptr);
  } else if (moved) {
    (void)ig_diff_add(d, IG_DIFF_WEIGHTS, w->name, type,
                      ig_diff_text(d, "%.300s: %.150s", moved->text, type ? type : ""));
  } else {
    (void)ig_diff_add(d, IG_DIFF_WEIGHTS, w->name, type, NULL);
  }
}

static void compare_weights(ig_differ *d, const ig_map *mine, const ig_map *other) {
  for (size_t i = 0; i < d->a->weights.n && d->c->status == IG_OK; i++) {
    report_weight(d, other, d->a->weights.at[i]);
  }
  for (size_t i = 0; i < d->b->weights.n && d->c->status == IG_OK; i++) {
    const ig_model_weight *w = d->b->weights.at[i];
    if (ig_map_find(mine, w->name) || ig_map_find(&d->taken, w->name)) continue;
    (void)ig_diff_add(d, IG_DIFF_WEIGHTS, w->name, NULL, weight_text(d, w));
  }
}

// ---- all parts

static void compare_parts(ig_differ *d, const ig_map *mine, const ig_map *other) {
  unsigned parts = d->options.parts ? d->options.parts : (unsigned)IG_DIFF_ALL;
  if (parts & IG_DIFF_METADATA) compare_metadata(d);
  if (parts & IG_DIFF_INPUTS) compare_inputs(d);
  if (parts & IG_DIFF_OUTPUTS) {
    compare_ports(d, IG_DIFF_OUTPUTS, d->a->outputs.at, d->a->outputs.n, d->b->outputs.at,
                  d->b->outputs.n);
  }
  d->options.parts = parts;
  if (parts & (IG_DIFF_OPERATORS | IG_DIFF_NODES)) ig_diff_calls(d);
  if (parts & IG_DIFF_WEIGHTS) compare_weights(d, mine, other);
}

static void compare(ig_differ *d) {
  ig_map mine = ig_map_make(d->c->alloc);
  ig_map other = ig_map_make(d->c->alloc);
  bool ok = index_weights(d, d->a, &mine) && index_weights(d, d->b, &other);
  if (ok && pair_weights(d, &mine, &other)) compare_parts(d, &mine, &other);
  ig_map_free(&mine);
  ig_map_free(&other);
}

static void begin(ig_differ *d) {
  d->names = ig_map_make(d->c->alloc);
  d->unnames = ig_map_make(d->c->alloc);
  d->renamed = ig_map_make(d->c->alloc);
  d->taken = ig_map_make(d->c->alloc);
}

static void end(ig_differ *d) {
  ig_vec_free(d->c->alloc, &d->changes);
  ig_map_free(&d->names);
  ig_map_free(&d->unnames);
  ig_map_free(&d->renamed);
  ig_map_free(&d->taken);
}

bool ig_model_pairs(ig_ctx *c, const ig_model *a, const ig_model *b,
                    void (*fn)(void *user, const void *a, const void *b, bool same), void *user) {
  bool onnx = ig_model_onnx(a) && ig_model_onnx(b);
  if (c->status != IG_OK || (!onnx && (!a->program || !b->program))) return false;
  ig_differ d = {.c = c, .a = a, .b = b, .on_pair = fn, .pair_user = user};
  d.options.parts = IG_DIFF_INPUTS | IG_DIFF_NODES;  // inputs say which sizes correspond
  begin(&d);
  compare(&d);
  end(&d);
  return c->status == IG_OK;
}

ig_status ig_model_diff(ig_ctx *c, const ig_model *a, const ig_model *b,
                        const ig_diff_options *options, const ig_model_change *const **list,
                        size_t *n) {
  *list = NULL;
  *n = 0;
  if (c->status != IG_OK) return c->status;
  ig_differ d = {.c = c, .a = a, .b = b};
  IG_OPTIONS_TAKE(&d.options, options, weights);
  begin(&d);
  compare(&d);
  ig_model_change **copy = ig_scope_array(c, d.changes.n + 1, sizeof *copy);
  if (copy && d.changes.n) memcpy((void *)copy, d.changes.at, d.changes.n * sizeof *copy);
  if (copy && c->status == IG_OK) {
    *list = (const ig_model_change *const *)copy;
    *n = d.changes.n;
  }
  end(&d);
  return c->status;
}
