// SPDX-License-Identifier: Apache-2.0
// map, while_loop and scan: functions that are called repeatedly. Under a capture each becomes one
// sub-graph; outer values that it uses are passed after the given operands.
#include <string.h>

#include "base/budget.h"
#include "base/options.h"
#include "ingot/aten.h"
#include "op/formula.h"
#include "op/hop.h"
#include "sym/env.h"

// One slice along dimension 0 of each xs, in the innermost scope.
static bool slices(ig_ctx *c, const ig_value *xs, size_t n, int64_t dim, int64_t i, ig_value *out) {
  for (size_t k = 0; k < n; k++) {
    out[k] = ig_of_tensor(ig_select_int(c, xs[k].tensor, ig_const(dim), ig_const(i)));
  }
  return c->status == IG_OK;
}

// The common leading size; false after an error.
static bool leading(ig_ctx *c, const char *who, const ig_value *xs, size_t n, int64_t dim,
                    ig_int *out) {
  for (size_t i = 0; i < n; i++) {
    if (xs[i].kind != IG_KIND_TENSOR || xs[i].tensor->ndim <= dim) {
      ig_fail_text(c, IG_RUNTIME, "%s: xs[%zu] is %s, expected a tensor with dimension %lld", who,
                   i, ig_hop_describe(c, &xs[i]), (long long)dim);
      return false;
    }
    ig_int size = ig_sizes(xs[i].tensor)[dim];
    if (i == 0) *out = size;
    if (ig_int_eq(c, size, *out)) continue;
    if (c->status == IG_OK) {
      ig_fail_text(c, IG_RUNTIME,
                   "Leading dimensions of mapped xs must be consistent. Got xs[0] with %s and "
                   "xs[%zu] with %s.",
                   ig_int_text(c, *out), i, ig_int_text(c, size));
    }
    return false;
  }
  if (n == 0) {
    ig_fail_text(c, IG_RUNTIME, "%s: expected at least one tensor xs to map over", who);
    return false;
  }
  if (!ig_int_eq_i64(c, *out, 0)) return c->status == IG_OK;
  ig_fail_text(c, IG_RUNTIME, "Leading dimensions of mapped xs cannot be 0.");
  return false;
}

// Metadata of a slice.
static const ig_meta *slice_meta(ig_ctx *c, const ig_tensor *x, int64_t dim) {
  ig_meta *m = ig_scope_push(c, sizeof *m);
  if (!m) return NULL;
  ig_meta_of(x, m);
  for (int d = (int)dim; d + 1 < m->ndim; d++) {
    m->size[d] = m->size[d + 1];
    m->stride[d] = m->stride[d + 1];
  }
  m->ndim--;
  m->offset = ig_const(0);
  m->view_of = NULL;
  return m;
}

// Fake result of n stacked ones.
static ig_value stacked(ig_ctx *c, const ig_value *inner, ig_int n) {
  if (inner->kind != IG_KIND_TENSOR) {
    ig_fail_text(c, IG_BRANCH, "the function of a loop must return tensors, but result is %s",
                 ig_hop_describe(c, inner));
    return ig_none();
  }
  const ig_tensor *t = inner->tensor;
  ig_meta m;
  ig_meta_init(&m, t->dtype, t->device);
  m.ndim = t->ndim + 1;
  if (m.ndim > IG_MAX_DIM) {
    (void)ig_fail(c, IG_RUNTIME, "too many dimensions");
    return ig_none();
  }
  m.size[0] = n;
  for (int d = 0; d < t->ndim; d++) m.size[d + 1] = ig_sizes(t)[d];
  ig_meta_contiguous(c, &m);
  return ig_of_tensor(ig_tensor_make(c, &m, true));
}

// Results of all steps, kept until they are stacked: one row per step.
typedef struct rows {
  ig_value *at;
  size_t steps;
  size_t width;
} rows;

static bool put_row(ig_ctx *c, rows *r, size_t step, const ig_value *outs, size_t n) {
  if (step == 0 && !r->at) {
    r->width = n;
    r->at = ig_scope_array(c, ig_mem_mul(r->steps, n) + 1, sizeof *r->at);
    if (r->at) memset(r->at, 0, r->steps * n * sizeof *r->at);
  }
  if (!r->at) return false;
  if (n != r->width) return ig_fail(c, IG_RUNTIME, "the number of results changes") == IG_OK;
  for (size_t i = 0; i < n; i++) r->at[step * n + i] = outs[i];
  return true;
}

static const ig_value *stack_rows(ig_ctx *c, const rows *r) {
  ig_value *out = ig_scope_array(c, r->width + 1, sizeof *out);
  ig_value *column = ig_scope_array(c, r->steps + 1, sizeof *column);
  if (!out || !column) return NULL;
  for (size_t k = 0; k < r->width; k++) {
    for (size_t i = 0; i < r->steps; i++) {
      const ig_value *v = &r->at[i * r->width + k];
      if (v->kind != IG_KIND_TENSOR) {
        ig_fail_text(c, IG_RUNTIME, "the function of a loop must return tensors, not %s",
                     ig_hop_describe(c, v));
        return NULL;
      }
      column[i] = *v;
    }
    out[k] = ig_of_tensor(ig_stack(c, ig_of_list(column, r->steps)));
  }
  return c->status == IG_OK ? out : NULL;
}

// ---- map ----

static const ig_value *map_capture(ig_ctx *c, const ig_branch *body, const ig_value *xs, size_t nxs,
                                   const ig_value *args, size_t nargs, ig_int size, size_t *nouts) {
  size_t n = nxs + nargs;
  ig_value *operands = ig_scope_array(c, n + 1, sizeof *operands);
  const ig_meta **likes = ig_scope_array(c, n + 1, sizeof *likes);
  if (!operands || !likes) return NULL;
  for (size_t i = 0; i < n; i++) {
    operands[i] = i < nxs ? xs[i] : args[i - nxs];
    likes[i] = i < nxs ? slice_meta(c, xs[i].tensor, 0) : NULL;
  }
  ig_branch_inputs in = {.who = "map", .operands = operands, .n = n, .likes = likes};
  ig_graph *sub = ig_branch_capture(c, body, &in);
  if (sub) sub->last->listed = !c->mode->capture->strict;  // as the functions of PyTorch return it
  const ig_value *inner = sub ? ig_branch_outputs(c, sub, nouts) : NULL;
  ig_value *results = inner ? ig_scope_array(c, *nouts + 1, sizeof *results) : NULL;
  for (size_t i = 0; results && i < *nouts; i++) results[i] = stacked(c, &inner[i], size);
  ig_node *node = results && c->status == IG_OK ? ig_record_sub(c, "body_graph", sub) : NULL;
  bool ok = false;
  if (node) {
    ig_value given[] = {ig_of_node(node), ig_of_list(xs, nxs),
                        ig_branch_operands(c, args, nargs, sub, n, IG_SEQ_LIST)};
    ok = ig_hop_record(c, &ig_hop_map, given, 3, NULL, 0, results, *nouts);
  }
  ig_graph_free(sub);
  return ok ? results : NULL;
}

const ig_value *ig_map_over(ig_ctx *c, const ig_branch *body, const ig_value *xs, size_t nxs,
                            const ig_value *args, size_t nargs, size_t *nouts) {
  *nouts = 0;
  ig_int size = ig_const(0);
  if (c->status != IG_OK || !leading(c, "map", xs, nxs, 0, &size)) return NULL;
  if (c->mode->capture) return map_capture(c, body, xs, nxs, args, nargs, size, nouts);
  ig_value *in = ig_scope_array(c, ig_mem_add(nxs + 1, nargs), sizeof *in);
  rows r = {.steps = (size_t)ig_int_guard(c, size)};
  for (size_t i = 0; in && i < nargs; i++) in[nxs + i] = args[i];
  for (size_t i = 0; in && i < r.steps; i++) {
    if (!slices(c, xs, nxs, 0, (int64_t)i, in)) return NULL;
    const ig_value *outs = ig_branch_run(c, body, in, nxs + nargs, nouts);
    if (!outs || !put_row(c, &r, i, outs, *nouts)) return NULL;
  }
  return in ? stack_rows(c, &r) : NULL;
}

static void map_call(ig_ctx *c, const ig_node *n, const ig_value *args, ig_value *out) {
  if (n->npos != 3 || args[0].kind != IG_KIND_GRAPH || args[1].kind != IG_KIND_LIST ||
      args[2].kind != IG_KIND_LIST) {
    (void)ig_fail(c, IG_INVALID, "%s: expected a sub-graph and two lists", n->name);
    return;
  }
  ig_branch body = ig_branch_of(&args[0]);
  size_t nouts = 0;
  const ig_value *outs = ig_map_over(c, &body, args[1].list.at, args[1].list.n, args[2].list.at,
                                     args[2].list.n, &nouts);
  if (outs) *out = ig_of_list(outs, nouts);
}

const ig_hop ig_hop_map = {
    .name = "map_impl",
    .base = "map_impl",
    .classes = {[IG_RELEASE_2_5] = "MapImpl", [IG_RELEASE_2_5_FX] = "MapImpl"},
    .path = "torch.ops.higher_order.map_impl",
    .slots = {IG_SLOT_GRAPH, IG_SLOT_LIST, IG_SLOT_LIST},
    .call = map_call,
};

// ---- while_loop ----

typedef struct loop {
  const ig_branch *cond;
  const ig_branch *body;
  const ig_value *in;  // carried, then extra
  size_t ncarried;
  size_t n;
} loop;

// Both sub-graphs get the outer values that either uses.
static bool share(ig_ctx *c, const loop *l, ig_graph *cond, ig_graph *body, const ig_value **all,
                  size_t *n) {
  size_t cap = cond->operands.n + body->operands.n;
  ig_value *out = ig_scope_array(c, cap + 1, sizeof *out);
  if (!out) return false;
  *n = cond->operands.n;
  for (size_t i = 0; i < *n; i++) out[i] = cond->operands.at[i];
  for (size_t i = l->n; i < body->operands.n; i++) {
    size_t k = l->n;
    while (k < *n && !ig_nested_same(&out[k], &body->operands.at[i])) k++;
    if (k == *n) out[(*n)++] = body->operands.at[i];
  }
  *all = out;
  return ig_nested_arrange(c, cond, out, *n) && ig_nested_arrange(c, body, out, *n);
}

static bool loop_check(ig_ctx *c, const loop *l, const ig_meta *const *likes, const ig_graph *cond,
                       const ig_graph *body) {
  size_t n = 0;
  const ig_value *outs = ig_branch_outputs(c, cond, &n);
  bool pred = outs && n == 1 &&
              (outs[0].kind == IG_KIND_BOOL ||
               (outs[0].kind == IG_KIND_TENSOR && outs[0].tensor->dtype == IG_BOOL));
  if (outs && !pred) {
    ig_fail_text(c, IG_BRANCH,
                 "Expected cond_fn of while_loop to return a bool or a boolean tensor of one "
                 "element, but got %s",
                 n == 1 ? ig_hop_describe(c, &outs[0]) : "another number of results");
  }
  if (!pred) return false;
  outs = ig_branch_outputs(c, body, &n);
  if (outs && n != l->ncarried) {
    ig_fail_text(c, IG_BRANCH,
                 "Expected body_fn of while_loop to return as many results as there are carried "
                 "inputs, %zu, but got %zu",
                 l->ncarried, n);
    return false;
  }
  for (size_t i = 0; outs && i < n; i++) {
    if (likes[i] || ig_hop_alike(&outs[i], &l->in[i])) continue;
    ig_fail_text(c, IG_BRANCH,
                 "Expected result %zu of body_fn of while_loop to be like carried input %zu: found "
                 "%s, expected %s",
                 i, i, ig_hop_describe(c, &outs[i]), ig_hop_describe(c, &l->in[i]));
    return false;
  }
  return outs != NULL;
}

static const ig_value *loop_record(ig_ctx *c, const loop *l, const ig_meta *const *likes,
                                   ig_graph *cond, ig_graph *body, size_t *nouts) {
  const ig_value *all = NULL;
  size_t n = 0;
  if (!loop_check(c, l, likes, cond, body) || !share(c, l, cond, body, &all, &n)) return NULL;
  ig_value *results = ig_scope_array(c, l->ncarried + 1, sizeof *results);
  if (!results) return NULL;
  *nouts = l->ncarried;
  for (size_t i = 0; i < l->ncarried; i++) {
    results[i] =
        likes[i] ? ig_of_tensor(ig_tensor_make(c, likes[i], true)) : ig_branch_result(c, &l->in[i]);
  }
  cond->last->bare = true;
  if (!ig_hop_number_inputs(c, cond, 0) || !ig_hop_number_inputs(c, body, 0)) return NULL;
  ig_node *a = ig_record_sub(c, "while_loop_cond_graph", cond);
  ig_node *b = a ? ig_record_sub(c, "while_loop_body_graph", body) : NULL;
  if (!b) return NULL;
  ig_value carried = ig_of_list(all, l->ncarried);
  ig_value extra = ig_of_list(all + l->ncarried, n - l->ncarried);
  carried.seq = extra.seq = IG_SEQ_TUPLE;
  ig_value args[] = {ig_of_node(a), ig_of_node(b), carried, extra};
  return ig_hop_record(c, &ig_hop_while_loop, args, 4, NULL, 0, results, *nouts) ? results : NULL;
}

// The sizes of carried values that a round changes: both the rounds and what follows the loop get
// the value with sizes of its own. True: one more size is of that kind.
static bool widen(ig_ctx *c, const loop *l, const ig_graph *body, const ig_meta **likes) {
  size_t n = 0;
  const ig_value *outs = ig_branch_outputs(c, body, &n);
  bool more = false;
  for (size_t i = 0; outs && i < n && i < l->ncarried; i++) {
    more |= ig_hop_widen(c, &l->in[i], &outs[i], &likes[i]);
  }
  return more && c->status == IG_OK;
}

// A sub-graph that is captured again has placeholders with such sizes already.
static void widen_as_before(ig_ctx *c, const loop *l, const ig_meta **likes) {
  const ig_node *p = l->body->graph ? l->body->graph->first : NULL;
  for (size_t i = 0; i < l->ncarried && p && ig_node_is_placeholder(p); i++, p = p->next) {
    if (ig_hop_has_own_size(&p->val)) (void)ig_hop_widen(c, &l->in[i], &p->val, &likes[i]);
  }
}

static const ig_value *loop_capture(ig_ctx *c, const loop *l, size_t *nouts) {
  const ig_meta **likes = ig_scope_array(c, l->n + 1, sizeof *likes);
  if (!likes) return NULL;
  for (size_t i = 0; i < l->n; i++) likes[i] = NULL;
  widen_as_before(c, l, likes);
  ig_branch_inputs in = {.who = "while_loop", .operands = l->in, .n = l->n, .likes = likes};
  ig_graph *cond = NULL;
  ig_graph *body = NULL;
  do {  // every further round widens one more size
    ig_graph_free(cond);
    ig_graph_free(body);
    cond = ig_branch_capture(c, l->cond, &in);
    body = cond ? ig_branch_capture(c, l->body, &in) : NULL;
  } while (body && widen(c, l, body, likes));
  const ig_value *out = body ? loop_record(c, l, likes, cond, body, nouts) : NULL;
  ig_graph_free(cond);
  ig_graph_free(body);
  return out;
}

// Is there another iteration? -1 after an error.
static int goes_on(ig_ctx *c, const loop *l, const ig_value *in) {
  size_t n = 0;
  const ig_value *pred = ig_branch_run(c, l->cond, in, l->n, &n);
  if (!pred) return -1;
  if (n == 1 && pred->kind == IG_KIND_BOOL) {
    bool yes = ig_bool_guard(c, pred);
    return c->status == IG_OK ? yes : -1;
  }
  if (n != 1 || pred->kind != IG_KIND_TENSOR) {
    ig_fail_text(c, IG_RUNTIME,
                 "cond_fn of while_loop must return a bool or a boolean scalar tensor");
    return -1;
  }
  ig_value out[IG_MAX_RETURNS];
  ig_call(c, ig_op_at(c, IG_ID_ITEM), pred, out);
  return c->status == IG_OK ? ig_value_f64(&out[0]) != 0 : -1;
}

static void release_all(ig_value *held, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (held[i].kind == IG_KIND_TENSOR) ig_tensor_release(held[i].tensor);
  }
}
// One iteration: 1 and the carried values in `next`, retained; 0 if there is none; -1 after an
// error.
static int loop_round(ig_ctx *c, const loop *l, const ig_value *in, ig_value *next) {
  size_t n = 0;
  ig_scope s = ig_scope_open(c);
  int more = goes_on(c, l, in);
  if (more == 1 && !ig_step(c)) more = -1;
  const ig_value *outs = more == 1 ? ig_branch_run(c, l->body, in, l->n, &n) : NULL;
  if (more == 1 && !outs) more = -1;
  if (outs && n != l->ncarried) {
    ig_fail_text(c, IG_RUNTIME,
                 "body_fn of while_loop must return %zu results, as many as carried inputs, but "
                 "got %zu",
                 l->ncarried, n);
    more = -1;
  }
  for (size_t i = 0; more == 1 && i < n; i++) {
    next[i] = outs[i];
    if (next[i].kind == IG_KIND_TENSOR) (void)ig_tensor_retain(next[i].tensor);
  }
  ig_scope_close(c, s);
  return more;
}
// Temporaries of an iteration are freed with it; only the carried values outlive it.
static const ig_value *loop_run(ig_ctx *c, const loop *l, size_t *nouts) {
  ig_value *in = ig_scope_array(c, l->n + 1, sizeof *in);
  ig_value *next = ig_scope_array(c, l->ncarried + 1, sizeof *next);
  if (!in || !next) return NULL;
  memcpy(in, l->in, l->n * sizeof *in);
  bool held = false;
  int more = 1;
  const ig_account outer = ig_account_open(c, &c->limits);
  while ((more = loop_round(c, l, in, next)) == 1) {
    if (held) release_all(in, l->ncarried);
    memcpy(in, next, l->ncarried * sizeof *in);
    held = true;
  }
  ig_account_close(c, &outer);
  for (size_t i = 0; held && i < l->ncarried; i++) {
    if (in[i].kind == IG_KIND_TENSOR) (void)ig_pool_add(c, &in[i].tensor->ref);
  }
  *nouts = more < 0 ? 0 : l->ncarried;
  return more < 0 || c->status != IG_OK ? NULL : in;
}

const ig_value *ig_while_loop(ig_ctx *c, const ig_branch *cond, const ig_branch *body,
                              const ig_value *carried, size_t ncarried, const ig_value *extra,
                              size_t nextra, size_t *nouts) {
  *nouts = 0;
  if (c->status != IG_OK) return NULL;
  ig_value *in = ig_scope_array(c, ig_mem_add(ncarried + 1, nextra), sizeof *in);
  if (!in) return NULL;
  for (size_t i = 0; i < ncarried; i++) in[i] = carried[i];
  for (size_t i = 0; i < nextra; i++) in[ncarried + i] = extra[i];
  loop l = {cond, body, in, ncarried, ncarried + nextra};
  return c->mode->capture ? loop_capture(c, &l, nouts) : loop_run(c, &l, nouts);
}

static void loop_call(ig_ctx *c, const ig_node *n, const ig_value *args, ig_value *out) {
  if (n->npos != 4 || args[0].kind != IG_KIND_GRAPH || args[1].kind != IG_KIND_GRAPH ||
      args[2].kind != IG_KIND_LIST || args[3].kind != IG_KIND_LIST) {
    (void)ig_fail(c, IG_INVALID, "%s: expected two sub-graphs and two tuples", n->name);
    return;
  }
  ig_branch cond = ig_branch_of(&args[0]);
  ig_branch body = ig_branch_of(&args[1]);
  size_t nouts = 0;
  const ig_value *outs = ig_while_loop(c, &cond, &body, args[2].list.at, args[2].list.n,
                                       args[3].list.at, args[3].list.n, &nouts);
  if (outs) *out = ig_of_list(outs, nouts);
}

const ig_hop ig_hop_while_loop = {
    .name = "while_loop",
    .base = "while_loop",
    .path = "torch.ops.higher_order.while_loop",
    .slots = {IG_SLOT_TEST, IG_SLOT_GRAPH, IG_SLOT_LIST, IG_SLOT_LIST},
    .tuples = true,
    .numbered = true,
    .call = loop_call,
};

// ---- scan ----

static const ig_value *scan_capture(ig_ctx *c, const ig_scan_args *a, ig_int size, size_t *nouts) {
  size_t n = a->ninit + a->nxs + a->nextra;
  ig_value *operands = ig_scope_array(c, n + 1, sizeof *operands);
  const ig_meta **likes = ig_scope_array(c, n + 1, sizeof *likes);
  if (!operands || !likes) return NULL;
  for (size_t i = 0; i < n; i++) {
    size_t k = i - a->ninit;
    bool x = i >= a->ninit && k < a->nxs;
    operands[i] = i < a->ninit ? a->init[i] : x ? a->xs[k] : a->extra[k - a->nxs];
    likes[i] = x ? slice_meta(c, a->xs[k].tensor, a->dim) : NULL;
  }
  ig_branch_inputs in = {.who = "scan", .operands = operands, .n = n, .likes = likes};
  ig_graph *sub = ig_branch_capture(c, a->combine, &in);
  const ig_value *inner = sub ? ig_branch_outputs(c, sub, nouts) : NULL;
  if (inner && *nouts < a->ninit) {
    ig_fail_text(c, IG_BRANCH, "combine_fn of scan must return %zu carries, but got %zu results",
                 a->ninit, *nouts);
  }
  for (size_t i = 0; inner && c->status == IG_OK && i < a->ninit; i++) {
    if (ig_hop_alike(&inner[i], &a->init[i])) continue;
    ig_fail_text(c, IG_BRANCH, "carry %zu of combine_fn of scan is %s, expected %s as in init", i,
                 ig_hop_describe(c, &inner[i]), ig_hop_describe(c, &a->init[i]));
  }
  ig_value *results = inner ? ig_scope_array(c, *nouts + 1, sizeof *results) : NULL;
  for (size_t i = 0; results && c->status == IG_OK && i < *nouts; i++) {
    results[i] = i < a->ninit ? ig_branch_result(c, &inner[i]) : stacked(c, &inner[i], size);
  }
  ig_node *node =
      results && c->status == IG_OK ? ig_record_sub(c, "scan_combine_graph", sub) : NULL;
  bool ok = false;
  if (node) {
    ig_value given[] = {
        ig_of_node(node),          ig_of_list(a->init, a->ninit),
        ig_of_list(a->xs, a->nxs), ig_of_i64(a->dim),
        ig_of_bool(a->reverse),    ig_branch_operands(c, a->extra, a->nextra, sub, n, IG_SEQ_LIST)};
    ok = ig_hop_record(c, &ig_hop_scan, given, 6, NULL, 0, results, *nouts);
  }
  ig_graph_free(sub);
  return ok ? results : NULL;
}

static const ig_value *scan_run(ig_ctx *c, const ig_scan_args *a, int64_t size, size_t *nouts) {
  size_t n = a->ninit + a->nxs + a->nextra;
  ig_value *in = ig_scope_array(c, n + 1, sizeof *in);
  if (!in) return NULL;
  for (size_t i = 0; i < a->ninit; i++) in[i] = a->init[i];
  for (size_t i = 0; i < a->nextra; i++) in[a->ninit + a->nxs + i] = a->extra[i];
  rows r = {.steps = (size_t)size};
  for (int64_t i = 0; i < size; i++) {
    int64_t at = a->reverse ? size - 1 - i : i;
    if (!slices(c, a->xs, a->nxs, a->dim, at, in + a->ninit)) return NULL;
    const ig_value *outs = ig_branch_run(c, a->combine, in, n, nouts);
    if (!outs) return NULL;
    if (*nouts < a->ninit) {
      ig_fail_text(c, IG_RUNTIME, "combine_fn of scan must return %zu carries", a->ninit);
      return NULL;
    }
    if (!r.at && !put_row(c, &r, 0, outs + a->ninit, *nouts - a->ninit)) return NULL;
    if (!put_row(c, &r, (size_t)at, outs + a->ninit, *nouts - a->ninit)) return NULL;
    memcpy(in, outs, a->ninit * sizeof *in);
  }
  const ig_value *ys = stack_rows(c, &r);
  ig_value *results =
      ys ? ig_scope_array(c, ig_mem_add(a->ninit + 1, r.width), sizeof *results) : NULL;
  if (!results) return NULL;
  memcpy(results, in, a->ninit * sizeof *in);
  if (r.width) memcpy(results + a->ninit, ys, r.width * sizeof *ys);
  *nouts = a->ninit + r.width;
  return results;
}

const ig_value *ig_scan(ig_ctx *c, const ig_scan_args *given, size_t *nouts) {
  *nouts = 0;
  ig_int size = ig_const(0);
  ig_scan_args a;
  IG_OPTIONS_TAKE(&a, given, reverse);
  if (c->status != IG_OK) return NULL;
  if (a.nxs && a.xs[0].kind == IG_KIND_TENSOR && a.dim < 0) a.dim += a.xs[0].tensor->ndim;
  if (a.dim < 0) {
    ig_fail_text(c, IG_BAD_INDEX, "scan: dimension %lld is out of range", (long long)given->dim);
    return NULL;
  }
  if (!leading(c, "scan", a.xs, a.nxs, a.dim, &size)) return NULL;
  if (c->mode->capture) return scan_capture(c, &a, size, nouts);
  return scan_run(c, &a, ig_int_guard(c, size), nouts);
}

static void scan_call(ig_ctx *c, const ig_node *n, const ig_value *args, ig_value *out) {
  if (n->npos != 6 || args[0].kind != IG_KIND_GRAPH || args[1].kind != IG_KIND_LIST ||
      args[2].kind != IG_KIND_LIST || args[5].kind != IG_KIND_LIST) {
    (void)ig_fail(c, IG_INVALID, "%s: expected a sub-graph, lists, a dimension and a direction",
                  n->name);
    return;
  }
  ig_branch combine = ig_branch_of(&args[0]);
  ig_scan_args a = {.size = sizeof a,
                    .combine = &combine,
                    .init = args[1].list.at,
                    .ninit = args[1].list.n,
                    .xs = args[2].list.at,
                    .nxs = args[2].list.n,
                    .extra = args[5].list.at,
                    .nextra = args[5].list.n,
                    .dim = args[3].i.value,
                    .reverse = args[4].b};
  size_t nouts = 0;
  const ig_value *outs = ig_scan(c, &a, &nouts);
  if (outs) *out = ig_of_list(outs, nouts);
}

const ig_hop ig_hop_scan = {
    .name = "scan",
    .base = "scan",
    .path = "torch.ops.higher_order.scan",
    .slots = {IG_SLOT_GRAPH, IG_SLOT_LIST, IG_SLOT_LIST, IG_SLOT_DIM, IG_SLOT_FLAG, IG_SLOT_LIST},
    .since = 6,
    .call = scan_call,
};
