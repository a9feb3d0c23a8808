// SPDX-License-Identifier: Apache-2.0
// A model as a program: its graph is interpreted under a capture. Dimensions with a name are
// symbolic and equal where the names are; those without a name are dynamic if nothing in the graph
// forbids it.
#include <ctype.h>
#include <string.h>

#include "base/budget.h"
#include "ingot/dims.h"
#include "onnx_read/reader.h"
#include "op/record.h"
#include "sym/env.h"

// Example sizes: all different, so that no two dimensions are equal by chance, and multiples of 32,
// so that networks that halve their images many times can be captured. When a node rejects them (a
// matrix needs 10 columns), the size is solved for and the capture starts again.
enum { FIRST_HINT = 64, HINT_STEP = 32, MAX_DIMS = 64, MAX_TRIES = 24 };

// The dynamic dimensions, numbered; those with the same name are one.
typedef struct dims {
  ig_map by_name;  // number of a dim_param, from 1
  size_t n;
  int64_t hint[MAX_DIMS];
  const ig_expr *symbol[MAX_DIMS];  // of the current capture
  bool solved[MAX_DIMS];
  bool lowered[MAX_DIMS];
} dims;

static size_t dim_of(ig_rd *r, dims *ds, const char *param) {
  ig_map_value *v = param ? ig_map_put(&ds->by_name, param) : NULL;
  if (param && !v) (void)ig_fail(r->c, IG_NOMEM, "out of memory");
  if (v && v->num) return v->num - 1;
  if (ds->n == MAX_DIMS) ig_rd_fail(r, IG_UNSUPPORTED, "more than %d dimensions vary", MAX_DIMS);
  if (!ig_rd_ok(r)) return 0;
  if (v) v->num = ds->n + 1;
  return ds->n++;
}

static bool is_identifier(const char *s) {
  if (!s || !(isalpha((unsigned char)*s) || *s == '_')) return false;
  for (; *s; s++) {
    if (!isalnum((unsigned char)*s) && *s != '_') return false;
  }
  return true;
}

// An example without data: only its sizes are used.
static ig_tensor *example_of(ig_rd *r, ig_dtype dtype, const int64_t *sizes, int ndim) {
  ig_meta m;
  ig_meta_init(&m, dtype, ig_device_cpu());
  m.ndim = ndim;
  for (int d = 0; d < ndim; d++) m.size[d] = ig_const(sizes[d]);
  ig_meta_contiguous(r->c, &m);
  return ig_tensor_make(r->c, &m, true);
}

static ig_tensor *declare_input(ig_rd *r, const ig_om_info *info, dims *ds, bool strict) {
  int64_t sizes[IG_MAX_DIM];
  ig_dim how[IG_MAX_DIM];
  size_t number[IG_MAX_DIM] = {0};
  const ig_om_type *t = &info->type;
  ig_dtype dtype = ig_rd_carrier(t->elem);
  if (t->kind != IG_OM_TENSOR_TYPE || !t->has_shape || dtype == IG_DTYPE_COUNT) {
    ig_rd_fail(r, IG_UNSUPPORTED,
               "input '%s' is not a tensor of known rank: the model can only be run", info->name);
    return NULL;
  }
  for (int d = 0; d < t->ndim && ig_rd_ok(r); d++) {
    how[d] = (ig_dim){.kind = IG_DIM_STATIC};
    sizes[d] = t->dims[d].value;
    if (sizes[d] >= 0) continue;
    const char *param = t->dims[d].param;
    number[d] = dim_of(r, ds, param);
    sizes[d] = ds->hint[number[d]];
    how[d] = strict && is_identifier(param)
                 ? (ig_dim){.kind = IG_DIM_NAMED, .name = param, .hi = INT64_MAX}
                 : (ig_dim){.kind = IG_DIM_AUTO};
  }
  ig_tensor *example = ig_rd_ok(r) ? example_of(r, dtype, sizes, t->ndim) : NULL;
  ig_tensor *x = example ? ig_capture_input_dims(r->c, info->name, NULL, example, how) : NULL;
  for (int d = 0; x && d < t->ndim; d++) {
    if (how[d].kind != IG_DIM_STATIC) ds->symbol[number[d]] = ig_sizes(x)[d].expr;
  }
  return x;
}

// Weights keep their names; integers and the like become constants of the program only if some
// operator uses them.
static bool declare_weights(ig_rd *r, ig_rd_value **values) {
  const ig_om_graph *g = r->m->graph;
  for (size_t i = 0; i < g->ninits && ig_rd_ok(r); i++) {
    values[i] = ig_rd_of_data(r, g->inits[i]);
    ig_tensor *t = values[i] ? values[i]->t : NULL;
    if (t && ig_dtype_is_float(t->dtype)) {
      (void)ig_capture_state(r->c, IG_STATE_PARAMETER, g->inits[i]->name, t);
    }
  }
  for (size_t i = 0; i < g->ninits && ig_rd_ok(r); i++) {
    ig_tensor *t = values[i] ? values[i]->t : NULL;
    if (t && !ig_dtype_is_float(t->dtype)) {
      ig_capture_name(r->c, IG_STATE_CONSTANT, g->inits[i]->name, t);
    }
  }
  return ig_rd_ok(r);
}

static bool declare(ig_rd *r, ig_rd_value **inputs, dims *ds, bool strict) {
  const ig_om_graph *g = r->m->graph;
  ig_rd_value **weights = ig_scope_array(r->c, g->ninits, sizeof *weights);
  // The same order gives the same numbers in every trial.
  ds->n = 0;
  ig_map_free(&ds->by_name);
  ds->by_name = ig_map_make(r->c->alloc);
  bool ok = weights && declare_weights(r, weights);
  for (size_t i = 0; ok && i < g->ninputs; i++) {
    inputs[i] = NULL;
    if (g->input_defaults[i]) continue;
    ig_tensor *t = declare_input(r, &g->inputs[i], ds, strict);
    inputs[i] = ig_rd_of_tensor(r, t, g->inputs[i].type.elem);
    ok = inputs[i] != NULL;
  }
  // Initializers take part as inputs of the frame: the tensors that were declared are meant.
  for (size_t k = 0; ok && k < g->ninits; k++) {
    for (size_t i = 0; i < g->ninputs; i++) {
      if (g->input_slots[i] == g->init_slots[k]) inputs[i] = weights[k];
    }
  }
  r->weights = weights;
  return ok && ig_capture_inputs_done(r->c) == IG_OK;
}

// ---- sizes required by nodes

typedef struct trial {
  const dims *ds;
  size_t which;
  int64_t value;
} trial;

static bool look_up(void *user, const ig_expr *symbol, ig_hint *out) {
  const trial *t = user;
  if (!symbol->hinted) return false;
  *out = (ig_hint){.sort = IG_SORT_INT, .i = symbol->value, .den = 1};
  if (symbol == t->ds->symbol[t->which]) out->i = t->value;
  return true;
}

// Left minus right of a relation for a value of one dimension.
static bool difference(const dims *ds, const ig_expr *e, size_t which, int64_t value,
                       int64_t *out) {
  trial t = {ds, which, value};
  ig_hint a;
  ig_hint b;
  if (!ig_expr_eval(e->args[0], look_up, &t, &a) || !ig_expr_eval(e->args[1], look_up, &t, &b)) {
    return false;
  }
  if (a.sort != IG_SORT_INT || b.sort != IG_SORT_INT) return false;
  ig_wide d = a.i - b.i;
  *out = (int64_t)d;
  return d == *out;
}

// A size of dimension `which` that makes both sides equal, if they are linear in it.
static bool solve_for(const dims *ds, const ig_expr *e, size_t which, int64_t *out) {
  int64_t h = ds->hint[which];
  int64_t at = 0;
  int64_t next = 0;
  int64_t check = 1;
  if (!difference(ds, e, which, h, &at) || !difference(ds, e, which, h + 1, &next)) return false;
  int64_t slope = next - at;
  if (slope == 0 || at % slope) return false;
  *out = h - at / slope;
  return *out >= 1 && *out < 1 << 24 && difference(ds, e, which, *out, &check) && check == 0;
}

static bool is_order(const ig_expr *e) {
  return e->kind == IG_EXPR_LT || e->kind == IG_EXPR_LE || e->kind == IG_EXPR_GT ||
         e->kind == IG_EXPR_GE;
}

// A size below the bound, divisible as often as may be, that no other dimension has.
static int64_t below(const dims *ds, int64_t bound) {
  for (int64_t unit = HINT_STEP; unit > 0; unit /= 2) {
    for (int64_t size = (bound - 1) / unit * unit; size > 1; size -= unit) {
      bool taken = false;
      for (size_t k = 0; k < ds->n; k++) taken = taken || ds->hint[k] == size;
      if (!taken) return size;
    }
  }
  return bound;
}

// A dimension that was found to be above a bound: something was sliced to that size (the rows of a
// table, up to the sequence length) and then did not fit. A smaller example passes. True: try
// again.
static bool lower_one(const ig_env *env, dims *ds) {
  for (size_t back = env->guards.n; back-- > 0;) {
    const ig_expr *e = env->guards.at[back].expr;
    if (!is_order(e) || e->n != 2) continue;
    for (size_t k = 0; k < ds->n; k++) {
      bool left = e->args[0] == ds->symbol[k] && e->args[1]->kind == IG_EXPR_CONST;
      bool right = e->args[1] == ds->symbol[k] && e->args[0]->kind == IG_EXPR_CONST;
      int64_t bound = left ? e->args[1]->value : right ? e->args[0]->value : 0;
      if (ds->solved[k] || ds->lowered[k] || bound < 3 || ds->hint[k] < bound) continue;
      ds->hint[k] = below(ds, bound);
      ds->lowered[k] = true;
      return true;
    }
  }
  return false;
}

// The last "not equal" results before the error determine the required size. True: try again.
static bool repair(const ig_rd *r, dims *ds) {
  const ig_env *env = r->c->mode->sym ? r->c->mode->sym->env : NULL;
  for (size_t back = 0; env && back < env->guards.n && back < 16; back++) {
    const ig_expr *e = env->guards.at[env->guards.n - 1 - back].expr;
    if (e->kind != IG_EXPR_NE || e->n != 2 || ig_expr_is_int(e->args[1], 1)) continue;
    for (size_t k = ds->n; k-- > 0;) {
      int64_t size = 0;
      if (ds->solved[k] || !ds->symbol[k] || !ig_expr_has(e, ds->symbol[k])) continue;
      if (!solve_for(ds, e, k, &size)) continue;
      ds->hint[k] = size;
      ds->solved[k] = true;
      return true;
    }
  }
  return env && lower_one(env, ds);
}

static ig_status capture(ig_rd *r, dims *ds, bool strict, bool *again, ig_program **out) {
  const ig_om_graph *g = r->m->graph;
  ig_rd_value **inputs = ig_scope_array(r->c, g->ninputs, sizeof *inputs);
  ig_rd_value **results = ig_scope_array(r->c, g->noutputs, sizeof *results);
  ig_value *outs = ig_scope_array(r->c, g->noutputs, sizeof *outs);
  if (!inputs || !results || !outs) return r->c->status;
  IG_RETURN_IF_ERR(ig_capture_begin(r->c));
  if (declare(r, inputs, ds, strict) && ig_rd_graph(r, g, inputs, g->ninputs, results)) {
    for (size_t i = 0; i < g->noutputs; i++) {
      ig_tensor *t = ig_rd_tensor(r, results[i]);
      outs[i] = ig_of_tensor(t ? ig_record_fake(r->c, t) : NULL);
    }
    (void)ig_capture_solve(r->c, NULL);  // its error is the one that the end returns
  } else {
    ig_status st = r->c->status;
    *again = !ig_status_is_final(st) && st != IG_UNSUPPORTED && repair(r, ds);
  }
  if (!ig_rd_ok(r)) {
    ig_capture_abort(r->c);
    return r->c->status;
  }
  return ig_capture_end_program(r->c, outs, g->noutputs, out);
}

static ig_status try_capture(ig_ctx *c, const ig_onnx_model *m, dims *ds, bool strict,
                             ig_program **out) {
  for (int i = 0;; i++) {
    ig_scope s = ig_scope_open(c);
    ig_rd r;
    bool again = false;
    ig_status st = ig_rd_init(&r, c, m);
    r.capture = true;
    if (st == IG_OK) st = capture(&r, ds, strict, &again, out);
    ig_rd_done(&r);
    ig_scope_close(c, s);
    if (!again || i == MAX_TRIES) return st;
    ig_ctx_clear(c);
  }
}

ig_status ig_onnx_program(ig_ctx *c, const ig_onnx_model *m, ig_program **out) {
  *out = NULL;
  IG_RETURN_IF_ERR(c->status);
  ig_mode_scope mode = ig_mode_push_grad(c, false);
  dims ds = {.by_name = ig_map_make(c->alloc)};
  for (int i = 0; i < MAX_DIMS; i++) ds.hint[i] = FIRST_HINT + HINT_STEP * i;
  const ig_account outer = ig_account_open(c, &c->limits);
  ig_status st = try_capture(c, m, &ds, true, out);
  if (st == IG_USER_ERROR || st == IG_CONSTRAINT) {
    // The graph does not allow all its named dimensions to be dynamic: those that cannot are fixed.
    ig_ctx_clear(c);
    st = try_capture(c, m, &ds, false, out);
  }
  ig_account_close(c, &outer);
  ig_map_free(&ds.by_name);
  ig_mode_pop(c, &mode);
  return st;
}
