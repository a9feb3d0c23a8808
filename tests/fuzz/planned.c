// SPDX-License-Identifier: Apache-2.0
#include "planned.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "ingot/library.h"
#include "ir/program.h"
#include "op/interpret.h"
#include "rt/plan.h"
#include "tensor/copy.h"
#include "values.h"

enum { MAX_OUTPUTS = 64, MAX_COMPARED = 1 << 20 };

static bool same_bytes(const ig_tensor *a, const ig_tensor *b) {
  size_t bytes = (size_t)ig_tensor_numel(a) * ig_dtype_size(a->dtype);
  if (bytes > MAX_COMPARED) return true;
  char *x = malloc(2 * bytes + 1);
  bool same = true;
  if (x) {
    ig_tensor_read(a, a->dtype, x);
    ig_tensor_read(b, b->dtype, x + bytes);
    same = memcmp(x, x + bytes, bytes) == 0;
  }
  free(x);
  return same;
}

// Sums in another order, of numbers among which none is so large that order decides.
static bool close_elements(const ig_tensor *a, const ig_tensor *b) {
  size_t n = (size_t)ig_tensor_numel(a);
  if (n > MAX_COMPARED / sizeof(double)) return true;
  double *x = malloc(2 * n * sizeof *x + 1);
  double largest = 0;
  bool same = true;
  if (x) {
    ig_tensor_read(a, IG_F64, x);
    ig_tensor_read(b, IG_F64, x + n);
    for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs(x[i]));
    for (size_t i = 0; i < n && largest < 1e6; i++) {
      same = same && (isnan(x[i]) || fabs(x[i] - x[n + i]) <= 1e-3 * (1 + largest));
    }
  }
  free(x);
  return same;
}

// Elements that were computed from reordered sums by further operators may be anything.
static bool same_elements(const ig_tensor *a, const ig_tensor *b, ig_plan_match match) {
  if (match == IG_MATCH_BITS) return same_bytes(a, b);
  return match == IG_MATCH_DERIVED || close_elements(a, b);
}

static bool same_tensor(const ig_tensor *a, const ig_tensor *b, ig_plan_match match) {
  if (a->dtype != b->dtype || a->ndim != b->ndim || ig_is_fake(a) != ig_is_fake(b)) return false;
  for (int d = 0; d < 2 * a->ndim; d++) {
    bool free_stride = d >= a->ndim && ig_sizes(a)[d - a->ndim].value < 2;
    if (!free_stride && a->dims[d].value != b->dims[d].value) return false;
  }
  return ig_is_fake(a) || a->quantizer || ig_tensor_numel(a) == 0 || same_elements(a, b, match);
}

static void compare(const ig_plan *plan, const ig_value *expected, const ig_value *found, size_t n,
                    unsigned without) {
  for (size_t i = 0; i < n; i++) {
    bool same = expected[i].kind == found[i].kind &&
                (found[i].kind != IG_KIND_TENSOR ||
                 same_tensor(expected[i].tensor, found[i].tensor, ig_plan_output_match(plan, i)));
    if (same) continue;
    fuzz_show_always = true;
    fuzz_show_value(&expected[i]);
    fuzz_show(" interpreted, ");
    fuzz_show_value(&found[i]);
    fuzz_show(" planned\n");
    fuzz_finding("output %zu of the plan without %u differs", i, without);
  }
}

static bool is_functional(const ig_graph *g) {
  for (const ig_node *n = g->first; n; n = n->next) {
    if (n->kind == IG_NODE_CALL && n->callee == IG_CALLEE_OP && ig_op_mutates(n->op)) return false;
  }
  return g->last && g->last->kind == IG_NODE_OUTPUT && g->last->npos <= MAX_OUTPUTS;
}

static void run_one(ig_ctx *c, const ig_plan_source *source, const ig_value *values,
                    const ig_value *expected, bool deterministic, unsigned without) {
  ig_value outs[MAX_OUTPUTS];
  ig_plan *plan = ig_plan_create(c, source, without);
  for (int run = 0; plan && run < 2; run++) {
    ig_scope s = ig_scope_open(c);
    ig_status st = ig_plan_run(plan, values, NULL, outs);
    fuzz_calls += source->noutputs;
    if (st == IG_OK && deterministic) compare(plan, expected, outs, source->noutputs, without);
    bool excused = st == IG_OK || st == IG_NOMEM || !deterministic;
    if (!excused) fuzz_finding("the plan refuses what ran: %s", ig_ctx_error(c));
    ig_ctx_clear(c);
    ig_scope_close(c, s);
  }
  ig_ctx_clear(c);
  ig_plan_free(plan);
}

// The same when all inputs but one are constants, such as the weights of layers.
static void run_with_constants(ig_ctx *c, const ig_plan_source *source, const ig_value *values,
                               const ig_value *expected, bool deterministic) {
  ig_scope s = ig_scope_open(c);
  bool *constant = ig_scope_array(c, source->ninputs + 1, sizeof *constant);
  for (size_t kept = 0; constant && kept < source->ninputs && kept < 3; kept++) {
    ig_plan_source one = *source;
    if (source->constant[kept]) continue;
    for (size_t i = 0; i < source->ninputs; i++) constant[i] = i != kept;
    one.constant = constant;
    run_one(c, &one, values, expected, deterministic, 0);
    run_one(c, &one, values, expected, deterministic, IG_PLAN_ALL_SIZES);
    run_one(c, &one, values, expected, deterministic, IG_PLAN_NO_LAYERS);
  }
  ig_scope_close(c, s);
}

void fuzz_run_planned(ig_ctx *c, const ig_program *p, const ig_value *inputs, size_t n,
                      bool deterministic) {
  const ig_graph *g = p->graph;
  ig_scope s = ig_scope_open(c);
  ig_value *values = ig_scope_array(c, p->ninputs + 1, sizeof *values);
  bool *constant = ig_scope_array(c, p->ninputs + 1, sizeof *constant);
  size_t k = 0;
  size_t user = 0;
  for (const ig_node *x = g->first; values && constant && x; x = x->next) {
    if (!ig_node_is_placeholder(x)) continue;
    constant[k] = x->role != IG_INPUT_USER;
    values[k] = !constant[k] && user < n ? inputs[user++] : ig_of_tensor(x->constant);
    k++;
  }
  ig_value expected[MAX_OUTPUTS];
  ig_mode_scope mode = ig_mode_push_grad(c, false);
  bool ok = values && constant && is_functional(g);
  // What the interpreter refuses is planned too: kernels must not rely on checks of others.
  bool ran = ok && ig_graph_run(c, g, values, p->ninputs, expected) == IG_OK;
  deterministic = deterministic && ran;
  ig_ctx_clear(c);
  ig_plan_source source = {
      .graph = g, .ninputs = p->ninputs, .constant = constant, .noutputs = ok ? g->last->npos : 0};
  for (unsigned without = 0; ok && without < 8; without++) {
    run_one(c, &source, values, expected, deterministic, without);
  }
  const unsigned symbolic[] = {IG_PLAN_ALL_SIZES, IG_PLAN_ALL_SIZES | IG_PLAN_NO_LAYERS};
  for (size_t i = 0; ok && i < sizeof symbolic / sizeof *symbolic; i++) {
    run_one(c, &source, values, expected, deterministic, symbolic[i]);
  }
  if (ok) run_with_constants(c, &source, values, expected, deterministic);
  ig_mode_pop(c, &mode);
  ig_scope_close(c, s);
}
