// SPDX-License-Identifier: Apache-2.0
// If, Loop, Scan, SequenceMap. Eagerly they run their bodies; under a capture known branches are
// taken and known loops unrolled; others become cond, while_loop or scan.
#include <string.h>

#include "base/budget.h"
#include "ingot/hop.h"
#include "ir/table.h"
#include "onnx_read/reader.h"
#include "sym/env.h"

enum { MAX_UNROLL = 4096, MAX_COLLECTING = 5 };

// Without a capture there is nothing that could decide later: the model is only being planned.
static void refuse_unknown(ig_rd *r, const char *what) {
  if (!r->capture) ig_rd_fail(r, IG_DATA_DEPENDENT, "%s depends on data that is not there", what);
}

// Is the truth of a value known now?
static bool known_truth(ig_rd *r, ig_rd_value *v, bool *truth) {
  if (v->ints && v->nints == 1 && !v->ints[0].expr) {
    *truth = v->ints[0].value != 0;
    return true;
  }
  if (v->kind != IG_RD_TENSOR || !v->t || ig_tensor_is_fake(v->t)) {
    refuse_unknown(r, "a condition");
    return false;
  }
  if (ig_tensor_numel(v->t) != 1) {
    ig_rd_fail(r, IG_INVALID, "a condition of %lld elements", (long long)ig_tensor_numel(v->t));
    return false;
  }
  *truth = ig_tensor_get(v->t, 0) != 0;
  return true;
}

// ---- bodies as functions of a higher-order operator

typedef struct body {
  ig_rd *r;
  const ig_om_graph *g;
  size_t nin;       // leading values that are tensors of the call
  size_t noutputs;  // how many results are returned
  int *elems;       // their types, filled in
} body;

// Outer tensors that a body, `depth` graphs inside the current one, uses.
static void note_outside(const ig_rd *r, ig_om_ref ref, int depth, ig_table *out) {
  const ig_rd_frame *f = r->frame;
  for (int up = depth; up < ref.up && f; up++) f = f->up;
  const ig_rd_value *v = ref.up >= depth && f ? f->slots[ref.slot] : NULL;
  if (v && v->t && !ig_table_put(out, v->t)) (void)ig_fail(r->c, IG_NOMEM, "out of memory");
}

static void find_outside(const ig_rd *r, const ig_om_graph *g, int depth, ig_table *out) {
  for (size_t i = 0; i < g->noutputs; i++) note_outside(r, g->output_refs[i], depth, out);
  for (size_t i = 0; i < g->nnodes; i++) {
    const ig_om_node *n = &g->nodes[i];
    for (size_t k = 0; k < n->ninputs; k++) note_outside(r, n->in[k], depth, out);
    for (size_t a = 0; a < n->nattrs; a++) {
      for (size_t k = 0; n->attrs[a].graphs && k < n->attrs[a].n; k++) {
        find_outside(r, n->attrs[a].graphs[k], depth + 1, out);
      }
    }
  }
}

// Carried values. If the body also captures the initial tensor, it must be a different one: there
// it keeps its first value.
static void part_values(ig_rd *r, const ig_om_graph *g, ig_value *values, size_t n) {
  ig_table outside = ig_table_make(r->c->alloc);
  find_outside(r, g, 1, &outside);
  for (size_t i = 0; i < n && ig_rd_ok(r); i++) {
    ig_tensor *t = values[i].tensor;
    if (t && ig_table_find(&outside, t)) values[i] = ig_of_tensor(ig_clone(r->c, t));
  }
  ig_table_free(&outside);
}

static ig_value *to_values(ig_rd *r, ig_rd_value *const *vs, size_t n) {
  ig_value *out = ig_scope_array(r->c, n, sizeof *out);
  for (size_t i = 0; out && i < n; i++) out[i] = ig_of_tensor(ig_rd_tensor(r, vs[i]));
  return ig_rd_ok(r) ? out : NULL;
}

static const ig_value *call_body(ig_ctx *c, const ig_value *in, size_t n, size_t *nouts,
                                 void *user) {
  body *b = user;
  ig_rd *r = b->r;
  ig_rd_value **args = ig_scope_array(c, n, sizeof *args);
  ig_rd_value **outs = ig_scope_array(c, b->g->noutputs, sizeof *outs);
  if (!args || !outs) return NULL;
  for (size_t i = 0; i < n; i++) args[i] = ig_rd_of_tensor(r, ig_value_tensor(&in[i]), 0);
  if (!ig_rd_graph(r, b->g, args, b->nin, outs)) return NULL;
  *nouts = b->g->noutputs;
  for (size_t i = 0; i < *nouts && b->elems; i++) b->elems[i] = outs[i]->elem;
  return to_values(r, outs, *nouts);
}

// ---- If

static void cond_capture(ig_rd *r, const ig_om_graph *yes, const ig_om_graph *no) {
  ig_value pred = ig_of_tensor(ig_rd_in(r, 0));
  int *elems = ig_scope_array(r->c, yes->noutputs, sizeof *elems);
  if (!elems || !ig_rd_ok(r)) return;
  if (yes->noutputs != no->noutputs) {
    ig_rd_fail(r, IG_SYNTAX, "the branches have %zu and %zu outputs", yes->noutputs, no->noutputs);
    return;
  }
  body bodies[2] = {{r, yes, 0, yes->noutputs, elems}, {r, no, 0, no->noutputs, NULL}};
  ig_branch branches[2] = {{.fn = call_body, .user = &bodies[0]},
                           {.fn = call_body, .user = &bodies[1]}};
  ig_cond_args args = {.size = sizeof args, .pred = &pred, .yes = &branches[0], .no = &branches[1]};
  size_t n = 0;
  const ig_value *outs = ig_cond(r->c, &args, &n);
  for (size_t i = 0; outs && i < n; i++) {
    ig_rd_out_elem(r, i, ig_value_tensor(&outs[i]), elems[i]);
  }
}

static void read_if(ig_rd *r) {
  const ig_om_graph *yes = ig_rd_attr_graph(r, "then_branch");
  const ig_om_graph *no = ig_rd_attr_graph(r, "else_branch");
  ig_rd_value *pred = ig_rd_val(r, 0);
  bool truth = false;
  if (!yes || !no || !pred) return;
  if (!known_truth(r, pred, &truth)) {
    cond_capture(r, yes, no);
    return;
  }
  const ig_om_graph *g = truth ? yes : no;
  ig_rd_value **outs = ig_scope_array(r->c, g->noutputs, sizeof *outs);
  if (!outs || !ig_rd_graph(r, g, NULL, 0, outs)) return;
  for (size_t i = 0; i < g->noutputs; i++) ig_rd_out_val(r, i, outs[i]);
}

// ---- lists of results to be stacked

typedef struct pile {
  IG_VEC(ig_rd_value *) at;
} pile;

static bool pile_add(ig_rd *r, pile *p, ig_rd_value *v) {
  if (!ig_vec_push(r->c->alloc, &p->at, v)) {
    (void)ig_fail(r->c, IG_NOMEM, "out of memory");
    return false;
  }
  (void)ig_rd_retain(v);  // not before: a push that fails does not evaluate its operand
  return true;
}

static void piles_free(ig_rd *r, pile *p, size_t n) {
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < p[i].at.n; k++) ig_rd_release(p[i].at.at[k]);
    ig_vec_free(r->c->alloc, &p[i].at);
  }
}

// The results of a body that did not run, according to its declaration.
static ig_tensor *empty_stack(ig_rd *r, const ig_om_info *info) {
  ig_int sizes[IG_MAX_DIM] = {ig_const(0)};
  int ndim = 1;
  for (int d = 0; d < info->type.ndim && ndim < IG_MAX_DIM; d++) {
    int64_t v = info->type.dims[d].value;
    sizes[ndim++] = ig_const(v < 0 ? 0 : v);
  }
  ig_dtype dtype = ig_rd_carrier(info->type.elem);
  if (dtype == IG_DTYPE_COUNT) dtype = IG_F32;
  return ig_rd_full(r, sizes, (size_t)ndim, 0, dtype);
}

static ig_rd_value *stack_pile(ig_rd *r, const pile *p, const ig_om_info *info, int64_t axis,
                               bool reverse) {
  size_t n = p->at.n;
  if (n == 0) return ig_rd_of_tensor(r, empty_stack(r, info), info->type.elem);
  if (p->at.at[0]->kind == IG_RD_STRINGS) {
    ig_rd_fail(r, IG_UNSUPPORTED, "stacks strings");
    return NULL;
  }
  ig_tensor **parts = ig_scope_array(r->c, n, sizeof *parts);
  for (size_t i = 0; parts && i < n; i++) {
    parts[reverse ? n - 1 - i : i] = ig_rd_tensor(r, p->at.at[i]);
  }
  return parts ? ig_rd_of_tensor(r, ig_rd_stack(r, parts, n, axis), p->at.at[0]->elem) : NULL;
}

// ---- Loop

typedef struct loop {
  const ig_om_graph *g;
  size_t ncarried;
  size_t nscans;
  int64_t trips;  // -1: no limit
  ig_rd_value **carried;
  pile *scans;
} loop;

// One iteration; *go: is there another? False after an error.
static bool loop_round(ig_rd *r, loop *l, int64_t i, bool *go) {
  ig_scope s = ig_scope_open(r->c);
  size_t n = l->ncarried + 2;
  ig_rd_value **in = ig_scope_array(r->c, n, sizeof *in);
  ig_rd_value **outs = ig_scope_array(r->c, l->g->noutputs, sizeof *outs);
  ig_int number = ig_const(i);
  ig_int yes = ig_const(1);
  bool ok = in && outs && ig_step(r->c);
  if (ok) {
    in[0] = ig_rd_of_ints(r, &number, 1, 0, IG_OM_INT64);
    in[1] = ig_rd_of_ints(r, &yes, 1, 0, IG_OM_BOOL);
    for (size_t k = 0; k < l->ncarried; k++) in[2 + k] = l->carried[k];
    ok = ig_rd_graph(r, l->g, in, n < l->g->ninputs ? n : l->g->ninputs, outs);
  }
  if (ok && !known_truth(r, outs[0], go)) {
    ig_rd_fail(r, IG_UNSUPPORTED, "its end depends on the data, and it collects results");
    ok = false;
  }
  for (size_t k = 0; ok && k < l->ncarried; k++) {
    ig_rd_value *old = l->carried[k];
    l->carried[k] = ig_rd_retain(outs[1 + k]);
    ig_rd_release(old);
  }
  for (size_t k = 0; ok && k < l->nscans; k++) {
    ok = pile_add(r, &l->scans[k], outs[1 + l->ncarried + k]);
  }
  ig_scope_close(r->c, s);
  return ok && ig_rd_ok(r);
}

static void loop_unroll(ig_rd *r, loop *l, bool go) {
  l->carried = ig_scope_array(r->c, l->ncarried, sizeof *l->carried);
  l->scans = ig_scope_array(r->c, l->nscans, sizeof *l->scans);
  if (!l->carried || !l->scans) return;
  memset(l->scans, 0, l->nscans * sizeof *l->scans);
  for (size_t k = 0; k < l->ncarried; k++) l->carried[k] = ig_rd_retain(ig_rd_val(r, 2 + k));
  bool ok = ig_rd_ok(r);
  for (int64_t i = 0; ok && go && (l->trips < 0 || i < l->trips); i++) {
    if (r->capture && i >= MAX_UNROLL) ig_rd_fail(r, IG_UNSUPPORTED, "too many rounds to unroll");
    ok = ig_rd_ok(r) && loop_round(r, l, i, &go);
  }
  for (size_t k = 0; ok && k < l->ncarried; k++) ig_rd_out_val(r, k, ig_rd_keep(r, l->carried[k]));
  for (size_t k = 0; ok && k < l->nscans; k++) {
    const ig_om_info *info = &l->g->outputs[1 + l->ncarried + k];
    ig_rd_out_val(r, l->ncarried + k, stack_pile(r, &l->scans[k], info, 0, false));
  }
  for (size_t k = 0; k < l->ncarried; k++) ig_rd_release(l->carried[k]);
  piles_free(r, l->scans, l->nscans);
}

// Under a capture: carried values are the iteration number, the condition, the loop's own, and then
// the collected results: one tensor per result, with a row per iteration.
typedef struct while_state {
  ig_rd *r;
  loop *l;
  ig_tensor *trips;   // NULL: no limit
  ig_int rounds;      // of a loop that collects
  bool collects;      // this time
  ig_tensor **rows;   // results of an iteration, of the last captured body; only sizes matter
  int *elems;         // and its types
  uint32_t unbacked;  // unbacked symbols before
} while_state;

static const ig_value *while_cond(ig_ctx *c, const ig_value *in, size_t n, size_t *nouts,
                                  void *user) {
  while_state *w = user;
  (void)n;
  ig_value *out = ig_scope_push(c, sizeof *out);
  ig_tensor *go = ig_value_tensor(&in[1]);
  if (w->collects) {
    go = ig_lt_scalar(c, ig_value_tensor(&in[0]), ig_of_int(w->rounds));
  } else if (w->trips) {
    ig_tensor *left = ig_lt_tensor(c, ig_value_tensor(&in[0]), w->trips);
    go = left && go ? ig_logical_and(c, left, go) : NULL;
  }
  if (!out || !go) return NULL;
  *out = ig_of_tensor(go);
  *nouts = 1;
  return out;
}

// Remembers the collected results of an iteration. Their sizes must not depend on the data of an
// iteration.
static void note_rows(while_state *w, ig_rd_value *const *outs) {
  ig_rd *r = w->r;
  for (size_t i = 0; i < w->l->nscans && ig_rd_ok(r); i++) {
    ig_rd_value *v = outs[1 + w->l->ncarried + i];
    ig_tensor *t = ig_rd_tensor(r, v);
    for (int d = 0; t && d < t->ndim; d++) {
      size_t n = 0;
      ig_int size = ig_sizes(t)[d];
      const ig_expr *const *symbols = size.expr ? ig_expr_symbols(r->c, size.expr, &n) : NULL;
      for (size_t k = 0; symbols && k < n; k++) {
        if (symbols[k]->backed || symbols[k]->number < w->unbacked) continue;
        ig_rd_fail(
            r, IG_UNSUPPORTED,
            "collects results whose sizes depend on the data of each iteration, so the model "
            "cannot become a program; it can be run");
      }
    }
    ig_tensor_release(w->rows[i]);
    w->rows[i] = t ? ig_tensor_retain(t) : NULL;
    w->elems[i] = v->elem;
  }
}

static ig_tensor *put_row(ig_rd *r, ig_tensor *rows, ig_tensor *round, ig_tensor *row) {
  ig_value at = ig_of_tensor(ig_rd_unsqueeze(r, round, 0));
  return ig_index_put(r->c, rows, ig_of_list(&at, 1), ig_rd_unsqueeze(r, row, 0));
}

static const ig_value *while_body(ig_ctx *c, const ig_value *in, size_t n, size_t *nouts,
                                  void *user) {
  while_state *w = user;
  ig_rd *r = w->r;
  const ig_om_graph *g = w->l->g;
  size_t own = w->l->ncarried + 2;
  ig_rd_value **args = ig_scope_array(c, own, sizeof *args);
  ig_rd_value **outs = ig_scope_array(c, g->noutputs, sizeof *outs);
  ig_value *results = ig_scope_array(c, n, sizeof *results);
  if (!args || !outs || !results || !ig_step(r->c)) return NULL;
  for (size_t i = 0; i < own; i++) args[i] = ig_rd_of_tensor(r, ig_value_tensor(&in[i]), 0);
  if (!ig_rd_graph(r, g, args, g->ninputs < own ? g->ninputs : own, outs)) return NULL;
  results[0] = ig_of_tensor(ig_rd_addn(r, ig_value_tensor(&in[0]), 1));
  for (size_t i = 1; i < own; i++) {
    ig_tensor *t = ig_rd_tensor(r, outs[i - 1]);
    // A value that is passed through would be an operand itself, which a loop cannot return.
    if (t && t == ig_value_tensor(&in[i])) t = ig_clone(c, t);
    results[i] = ig_of_tensor(t);
  }
  if (!w->collects) note_rows(w, outs);
  for (size_t i = own; i < n; i++) {
    ig_tensor *row = ig_rd_tensor(r, outs[i - 1]);
    ig_tensor *rows = ig_value_tensor(&in[i]);
    results[i] = ig_of_tensor(put_row(r, rows, ig_value_tensor(&in[0]), row));
  }
  *nouts = n;
  return ig_rd_ok(r) ? results : NULL;
}

// The initial values of a loop; `n` in total.
static ig_value *loop_start(ig_rd *r, const while_state *w, size_t n) {
  const loop *l = w->l;
  ig_value *carried = ig_scope_array(r->c, n, sizeof *carried);
  if (!carried) return NULL;
  carried[0] = ig_of_tensor(ig_rd_full(r, NULL, 0, 0, IG_I64));
  ig_tensor *go = ig_rd_opt(r, 1);
  if (go && go->ndim) go = ig_rd_reshape(r, go, NULL, 0);
  carried[1] = ig_of_tensor(go ? go : ig_rd_full(r, NULL, 0, 1, IG_BOOL));
  for (size_t i = 0; i < l->ncarried; i++) carried[2 + i] = ig_of_tensor(ig_rd_in(r, 2 + i));
  part_values(r, l->g, carried, l->ncarried + 2);
  for (size_t i = l->ncarried + 2; i < n; i++) {
    const ig_tensor *row = w->rows[i - l->ncarried - 2];
    ig_int sizes[IG_MAX_DIM] = {w->rounds};
    if (!row || row->ndim + 1 > IG_MAX_DIM) {
      ig_rd_fail(r, IG_UNSUPPORTED, "collects results of too many dimensions");
      return NULL;
    }
    for (int d = 0; d < row->ndim; d++) sizes[d + 1] = ig_sizes(row)[d];
    carried[i] = ig_of_tensor(ig_rd_full(r, sizes, (size_t)row->ndim + 1, 0, row->dtype));
  }
  return ig_rd_ok(r) ? carried : NULL;
}

static const ig_value *loop_record(ig_rd *r, while_state *w, size_t *nouts) {
  size_t n = w->l->ncarried + 2 + (w->collects ? w->l->nscans : 0);
  const ig_value *carried = loop_start(r, w, n);
  ig_branch cond = {.fn = while_cond, .user = w};
  ig_branch step = {.fn = while_body, .user = w};
  return carried ? ig_while_loop(r->c, &cond, &step, carried, n, NULL, 0, nouts) : NULL;
}

enum { MAX_LOOKED_AT = 100000 };  // nodes, those of functions once per call

// A model that draws random numbers in a loop cannot run it twice.
static bool draws(const ig_om_graph *g, int64_t *left) {
  for (size_t i = 0; i < g->nnodes; i++) {
    if (--*left < 0) return true;  // perhaps
    const ig_om_node *n = &g->nodes[i];
    if (ig_rd_is_random(n) || (n->function && draws(n->function->body, left))) return true;
    for (size_t a = 0; a < n->nattrs; a++) {
      for (size_t k = 0; n->attrs[a].graphs && k < n->attrs[a].n; k++) {
        if (draws(n->attrs[a].graphs[k], left)) return true;
      }
    }
  }
  return false;
}

// How a body ends its loop, if it was begun at all.
typedef enum ending { NEVER_ENDS, ENDS_AT_ONCE, ENDS_BY_DATA } ending;

static ending constant_ending(const ig_om_node *n) {
  const ig_om_attr *a = ig_om_find_attr(n, "value");
  if (!a || a->ref || a->type != IG_OM_ATTR_TENSOR) return ENDS_BY_DATA;
  const ig_om_tensor *t = a->tensors[0];
  if (t->elem != IG_OM_BOOL || t->numel != 1 || t->raw.n != 1) return ENDS_BY_DATA;
  return t->raw.at[0] ? NEVER_ENDS : ENDS_AT_ONCE;
}

// What the body gives as the condition of the next iteration: what it was given, a constant, or
// something that it computes.
static ending find_ending(const ig_om_graph *g) {
  static const char *const keep_truth[] = {"Identity", "Cast"};
  if (!g->noutputs || g->ninputs < 2) return ENDS_BY_DATA;
  ig_om_ref at = g->output_refs[0];
  for (size_t i = g->nnodes; i-- > 0 && at.up == 0;) {
    const ig_om_node *n = &g->nodes[i];
    if (n->noutputs != 1 || n->out[0] != at.slot) continue;
    if (*n->domain || n->function) return ENDS_BY_DATA;
    if (strcmp(n->op_type, "Constant") == 0) return constant_ending(n);
    bool keeps = false;
    for (size_t k = 0; k < sizeof keep_truth / sizeof *keep_truth; k++)
      keeps = keeps || strcmp(n->op_type, keep_truth[k]) == 0;
    if (!keeps || n->ninputs != 1) return ENDS_BY_DATA;
    at = n->in[0];
  }
  return at.up == 0 && at.slot == g->input_slots[1] ? NEVER_ENDS : ENDS_BY_DATA;
}

// The number of iterations of a loop that collects results: the trip count, if nothing else ends
// it, and otherwise counted by the same loop without collecting.
static void find_rounds(ig_rd *r, while_state *w, const ig_value *counted) {
  ig_rd_value *m = ig_rd_has(r, 0) ? r->in[0] : NULL;
  int64_t left = MAX_LOOKED_AT;
  bool go = true;
  bool always = (!ig_rd_has(r, 1) || (known_truth(r, r->in[1], &go) && go)) &&
                find_ending(w->l->g) == NEVER_ENDS;
  if (always && m && m->ints && m->nints == 1) {
    w->rounds = ig_int_max(r->c, m->ints[0], ig_const(0));
  } else if (always && w->trips) {
    w->rounds = ig_rd_size_in(r, ig_clamp_min(r->c, w->trips, ig_of_i64(0)), 0);
  } else if (draws(w->l->g, &left)) {
    ig_rd_fail(r, IG_UNSUPPORTED,
               "collects results over a data-dependent number of iterations, and draws random "
               "numbers, so the model cannot become a program; it can be run");
  } else {
    w->rounds = ig_rd_size_in(r, ig_value_tensor(&counted[0]), 0);
  }
}

static void loop_capture(ig_rd *r, loop *l) {
  while_state w = {.r = r, .l = l, .trips = ig_rd_opt(r, 0)};
  w.rows = ig_scope_array(r->c, l->nscans, sizeof *w.rows);
  w.elems = ig_scope_array(r->c, l->nscans, sizeof *w.elems);
  w.unbacked = r->c->mode->sym ? r->c->mode->sym->counts[0] : 0;
  if (!w.rows || !w.elems) return;
  memset(w.rows, 0, l->nscans * sizeof *w.rows);
  if (w.trips && w.trips->ndim) w.trips = ig_rd_reshape(r, w.trips, NULL, 0);
  // Bodies are captured twice, and so are the loops in them.
  if (l->nscans && r->collecting >= MAX_COLLECTING) {
    ig_rd_fail(r, IG_UNSUPPORTED, "collects results inside more than %d loops that do so",
               (int)MAX_COLLECTING);
  }
  r->collecting += l->nscans > 0;
  size_t n = 0;
  const ig_value *outs = ig_rd_ok(r) ? loop_record(r, &w, &n) : NULL;
  if (outs && l->nscans) {
    find_rounds(r, &w, outs);
    w.collects = true;
    outs = ig_rd_ok(r) ? loop_record(r, &w, &n) : NULL;
  }
  for (size_t i = 0; outs && i + 2 < n; i++) {
    ig_tensor *t = ig_value_tensor(&outs[2 + i]);
    if (i < l->ncarried) ig_rd_out_like(r, i, t, 2 + i);
    if (i >= l->ncarried) ig_rd_out_elem(r, i, t, w.elems[i - l->ncarried]);
  }
  r->collecting -= l->nscans > 0;
  for (size_t i = 0; i < l->nscans; i++) ig_tensor_release(w.rows[i]);
}

static void read_loop(ig_rd *r) {
  loop l = {.g = ig_rd_attr_graph(r, "body"), .trips = -1};
  if (!l.g) return;
  l.ncarried = r->nin > 2 ? r->nin - 2 : 0;
  if (l.g->noutputs < 1 + l.ncarried) {
    ig_rd_fail(r, IG_SYNTAX, "the body has %zu outputs for %zu carried values", l.g->noutputs,
               l.ncarried);
    return;
  }
  l.nscans = l.g->noutputs - 1 - l.ncarried;
  bool go = true;
  bool known = true;
  if (ig_rd_has(r, 1)) known = known_truth(r, r->in[1], &go);
  if (ig_rd_has(r, 0)) {
    const ig_rd_value *m = r->in[0];
    if (m->ints && m->nints != 1) {
      ig_rd_fail(r, IG_INVALID, "found %zu trip counts, expected one", m->nints);
      return;
    }
    bool constant = (m->ints && !m->ints[0].expr) || (m->t && !ig_tensor_is_fake(m->t));
    if (!constant) refuse_unknown(r, "a trip count");
    if (constant) l.trips = ig_rd_one_const(r, 0);
    known &= constant;
    if (constant && l.trips < 0) l.trips = 0;
  }
  if (!ig_rd_ok(r)) return;
  if (r->capture && (!known || find_ending(l.g) == ENDS_BY_DATA || l.trips < 0)) {
    loop_capture(r, &l);
  } else {
    loop_unroll(r, &l, go);
  }
}

// ---- Scan

typedef struct scan {
  const ig_om_graph *g;
  size_t nstate;
  size_t nxs;
  size_t nys;
  int64_t length;
  ig_rd_value **state;
  ig_tensor **xs;
  int *elems;
  int *axes;
  bool *back;
  pile *ys;
} scan;

static int64_t attr_at(ig_rd *r, const char *name, size_t i) {
  size_t n = 0;
  const int64_t *at = ig_rd_attr_ints(r, name, &n);
  return at && i < n ? at[i] : 0;
}

static bool scan_round(ig_rd *r, scan *s, int64_t i) {
  ig_scope scope = ig_scope_open(r->c);
  ig_rd_value **in = ig_scope_array(r->c, ig_mem_add(s->nstate, s->nxs), sizeof *in);
  ig_rd_value **outs = ig_scope_array(r->c, s->g->noutputs, sizeof *outs);
  bool ok = in && outs && ig_step(r->c);
  for (size_t k = 0; ok && k < s->nstate; k++) in[k] = s->state[k];
  for (size_t k = 0; ok && k < s->nxs; k++) {
    int64_t at = s->back[k] ? s->length - 1 - i : i;
    in[s->nstate + k] = ig_rd_of_tensor(r, ig_rd_select(r, s->xs[k], s->axes[k], at), s->elems[k]);
  }
  ok = ok && ig_rd_graph(r, s->g, in, s->nstate + s->nxs, outs);
  for (size_t k = 0; ok && k < s->nstate; k++) {
    ig_rd_value *old = s->state[k];
    s->state[k] = ig_rd_retain(outs[k]);
    ig_rd_release(old);
  }
  for (size_t k = 0; ok && k < s->nys; k++) ok = pile_add(r, &s->ys[k], outs[s->nstate + k]);
  ig_scope_close(r->c, scope);
  return ok && ig_rd_ok(r);
}

// Runs over all slices; results in outs. `first`: where the inputs of the scan begin.
static void scan_all(ig_rd *r, scan *s, bool old, ig_rd_value **outs) {
  for (size_t k = 0; k < s->nstate; k++) s->state[k] = ig_rd_retain(s->state[k]);
  memset(s->ys, 0, s->nys * sizeof *s->ys);
  bool ok = ig_rd_ok(r);
  for (int64_t i = 0; ok && i < s->length; i++) ok = scan_round(r, s, i);
  for (size_t k = 0; ok && k < s->nstate; k++) outs[k] = ig_rd_keep(r, s->state[k]);
  for (size_t k = 0; ok && k < s->nys; k++) {
    int64_t axis = old ? 0 : attr_at(r, "scan_output_axes", k);
    bool back = !old && attr_at(r, "scan_output_directions", k);
    outs[s->nstate + k] = stack_pile(r, &s->ys[k], &s->g->outputs[s->nstate + k], axis, back);
  }
  for (size_t k = 0; k < s->nstate; k++) ig_rd_release(s->state[k]);
  piles_free(r, s->ys, s->nys);
}

static bool scan_prepare(ig_rd *r, scan *s, size_t first) {
  s->g = ig_rd_attr_graph(r, "body");
  int64_t nxs = ig_rd_attr_int(r, "num_scan_inputs", 0);
  if (!s->g) return false;
  if (nxs < 1 || (size_t)nxs > r->nin - first || r->nin < first ||
      s->g->noutputs < r->nin - first - (size_t)nxs) {
    ig_rd_fail(r, IG_INVALID, "attribute 'num_scan_inputs' is %lld", (long long)nxs);
    return false;
  }
  s->nxs = (size_t)nxs;
  s->nstate = r->nin - first - s->nxs;
  s->nys = s->g->noutputs - s->nstate;
  s->state = ig_scope_array(r->c, s->nstate, sizeof *s->state);
  s->xs = ig_scope_array(r->c, s->nxs, sizeof *s->xs);
  s->elems = ig_scope_array(r->c, s->nxs, sizeof *s->elems);
  s->axes = ig_scope_array(r->c, s->nxs, sizeof *s->axes);
  s->back = ig_scope_array(r->c, s->nxs, sizeof *s->back);
  s->ys = ig_scope_array(r->c, s->nys, sizeof *s->ys);
  if (!s->state || !s->xs || !s->elems || !s->axes || !s->back || !s->ys) return false;
  for (size_t k = 0; k < s->nstate; k++) s->state[k] = ig_rd_val(r, first + k);
  for (size_t k = 0; k < s->nxs && ig_rd_ok(r); k++) {
    s->xs[k] = ig_rd_in(r, first + s->nstate + k);
    s->elems[k] = ig_rd_elem(r, first + s->nstate + k);
  }
  return ig_rd_ok(r);
}

// Scan of a dynamic length: every sequence along dimension 0, forwards.
static void scan_capture(ig_rd *r, scan *s) {
  ig_value *init = to_values(r, s->state, s->nstate);
  ig_value *xs = ig_scope_array(r->c, s->nxs, sizeof *xs);
  int *elems = ig_scope_array(r->c, s->g->noutputs, sizeof *elems);
  if (!init || !xs || !elems) return;
  part_values(r, s->g, init, s->nstate);
  for (size_t k = 0; k < s->nxs; k++) {
    ig_tensor *x = ig_movedim_int(r->c, s->xs[k], ig_const(s->axes[k]), ig_const(0));
    ig_int zero = ig_const(0);
    if (s->back[k] && x) x = ig_flip(r->c, x, ig_of_ints(&zero, 1));
    xs[k] = ig_of_tensor(x);
  }
  body b = {r, s->g, s->nstate + s->nxs, s->g->noutputs, elems};
  ig_branch combine = {.fn = call_body, .user = &b};
  ig_scan_args args = {.size = sizeof args,
                       .combine = &combine,
                       .init = init,
                       .ninit = s->nstate,
                       .xs = xs,
                       .nxs = s->nxs};
  size_t n = 0;
  const ig_value *outs = ig_rd_ok(r) ? ig_scan(r->c, &args, &n) : NULL;
  for (size_t i = 0; outs && i < n; i++) {
    ig_tensor *t = ig_value_tensor(&outs[i]);
    ig_int zero = ig_const(0);
    if (i >= s->nstate && attr_at(r, "scan_output_directions", i - s->nstate) && t) {
      t = ig_flip(r->c, t, ig_of_ints(&zero, 1));
    }
    int64_t axis = i >= s->nstate ? attr_at(r, "scan_output_axes", i - s->nstate) : 0;
    if (axis && t) t = ig_movedim_int(r->c, t, ig_const(0), ig_const(axis));
    ig_rd_out_elem(r, i, t, elems[i]);
  }
}

static void read_scan(ig_rd *r) {
  scan s;
  if (!scan_prepare(r, &s, 0)) return;
  ig_int length = ig_const(0);
  for (size_t k = 0; k < s.nxs; k++) {
    s.axes[k] = ig_rd_axis(r, attr_at(r, "scan_input_axes", k), s.xs[k]->ndim);
    s.back[k] = attr_at(r, "scan_input_directions", k) != 0;
    if (!ig_rd_ok(r)) return;
    ig_int size = ig_sizes(s.xs[k])[s.axes[k]];
    if (k && !ig_int_eq(r->c, size, length))
      ig_rd_fail(r, IG_MISMATCH, "inputs of different lengths");
    length = size;
  }
  if (!ig_rd_ok(r)) return;
  if (length.expr) {
    scan_capture(r, &s);
    return;
  }
  s.length = length.value;  // concrete: no expression
  ig_rd_value **outs = ig_scope_array(r->c, s.g->noutputs, sizeof *outs);
  if (!outs) return;
  scan_all(r, &s, false, outs);
  for (size_t i = 0; i < s.g->noutputs && ig_rd_ok(r); i++) ig_rd_out_val(r, i, outs[i]);
}

// Opset 8: everything has a batch in front, and every batch may have its own length.
static void scan_batch(ig_rd *r, const scan *whole, int64_t b, const int64_t *lens, pile *results) {
  ig_scope scope = ig_scope_open(r->c);
  scan s = *whole;
  size_t n = s.g->noutputs;
  ig_rd_value **outs = ig_scope_array(r->c, n, sizeof *outs);
  s.state = ig_scope_array(r->c, s.nstate, sizeof *s.state);
  s.xs = ig_scope_array(r->c, s.nxs, sizeof *s.xs);
  if (outs && s.state && s.xs) {
    for (size_t k = 0; k < s.nstate; k++) {
      ig_tensor *t = ig_rd_select(r, ig_rd_tensor(r, whole->state[k]), 0, b);
      s.state[k] = ig_rd_of_tensor(r, t, whole->state[k]->elem);
    }
    for (size_t k = 0; k < s.nxs; k++) {
      s.xs[k] = ig_rd_select(r, whole->xs[k], 0, b);
      s.axes[k] = 0;
      s.back[k] = attr_at(r, "directions", k) != 0;
    }
    if (lens && lens[b] >= 0 && lens[b] < s.length) s.length = lens[b];
    if (ig_rd_ok(r)) scan_all(r, &s, true, outs);
    for (size_t i = 0; i < n && ig_rd_ok(r); i++) (void)pile_add(r, &results[i], outs[i]);
  }
  ig_scope_close(r->c, scope);
}

static void read_scan_8(ig_rd *r) {
  scan s;
  if (!scan_prepare(r, &s, 1)) return;
  size_t nlens = 0;
  const int64_t *lens = ig_rd_has(r, 0) ? ig_rd_consts(r, 0, &nlens) : NULL;
  if (s.xs[0]->ndim < 2 || !ig_rd_ok(r)) {
    ig_rd_fail(r, IG_INVALID, "expected 2 or more dimensions");
    return;
  }
  int64_t batches = ig_rd_plain(r, ig_rd_size(r, s.xs[0], 0));
  s.length = ig_rd_plain(r, ig_rd_size(r, s.xs[0], 1));
  if (lens && nlens != (size_t)batches) {
    ig_rd_fail(r, IG_MISMATCH, "%zu lengths for %lld batches", nlens, (long long)batches);
    return;
  }
  size_t n = s.g->noutputs;
  pile *results = ig_scope_array(r->c, n, sizeof *results);
  if (!results) return;
  memset(results, 0, n * sizeof *results);
  for (int64_t b = 0; b < batches && ig_rd_ok(r); b++) scan_batch(r, &s, b, lens, results);
  for (size_t i = 0; i < n && ig_rd_ok(r); i++) {
    ig_rd_out_val(r, i, stack_pile(r, &results[i], &s.g->outputs[i], 0, false));
  }
  piles_free(r, results, n);
}

// ---- SequenceMap

static void read_sequence_map(ig_rd *r) {
  const ig_om_graph *g = ig_rd_attr_graph(r, "body");
  ig_rd_value *first = ig_rd_val(r, 0);
  if (!g || !first) return;
  if (first->kind != IG_RD_SEQUENCE) {
    ig_rd_fail(r, IG_BAD_TYPE, "input 0 is not a sequence");
    return;
  }
  pile *results = ig_scope_array(r->c, g->noutputs, sizeof *results);
  if (!results) return;
  memset(results, 0, g->noutputs * sizeof *results);
  for (size_t i = 0; i < first->nitems && ig_rd_ok(r); i++) {
    ig_scope s = ig_scope_open(r->c);
    ig_rd_value **in = ig_scope_array(r->c, r->nin, sizeof *in);
    ig_rd_value **outs = ig_scope_array(r->c, g->noutputs, sizeof *outs);
    for (size_t k = 0; in && k < r->nin; k++) {
      ig_rd_value *v = ig_rd_val(r, k);
      bool list = v && v->kind == IG_RD_SEQUENCE;
      if (list && v->nitems != first->nitems)
        ig_rd_fail(r, IG_MISMATCH, "sequences of different lengths");
      in[k] = list && ig_rd_ok(r) ? v->items[i] : v;
    }
    bool ok = in && outs && ig_rd_ok(r) && ig_rd_graph(r, g, in, r->nin, outs);
    for (size_t k = 0; ok && k < g->noutputs; k++) ok = pile_add(r, &results[k], outs[k]);
    ig_scope_close(r->c, s);
  }
  for (size_t k = 0; k < g->noutputs && ig_rd_ok(r); k++) {
    ig_rd_out_val(r, k, ig_rd_of_items(r, IG_RD_SEQUENCE, results[k].at.at, results[k].at.n));
  }
  piles_free(r, results, g->noutputs);
}

const ig_rd_row ig_rd_rows_control[] = {
    {"If", 1, read_if},
    {"Loop", 1, read_loop},
    {"Scan", 8, read_scan_8},
    {"Scan", 9, read_scan},
    {"SequenceMap", 17, read_sequence_map},
    {NULL, 0, NULL},
};
