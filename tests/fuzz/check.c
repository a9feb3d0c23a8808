// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "fuzz.h"
#include "ingot/aten.h"
#include "ingot/file.h"
#include "ingot/grad.h"
#include "ingot/pass.h"
#include "op/call.h"
#include "op/formula.h"
#include "planned.h"
#include "pt2/archive.h"
#include "tensor/copy.h"
#include "tensor/number.h"

enum { MAX_COMPARED = 1 << 14 };

// Gradients of what was computed, and gradients of those.
static void backward(fuzz_program *p) {
  ig_tensor *leaves[FUZZ_INPUTS];
  ig_tensor *grads[FUZZ_INPUTS];
  size_t n = 0;
  for (size_t i = 0; i < p->ninputs; i++) {
    ig_tensor *t = p->pool.at[p->inputs[i]].tensor;
    if (ig_tensor_requires_grad(t)) leaves[n++] = t;
  }
  for (size_t i = p->pool.n; n && i-- > 0;) {
    ig_tensor *t = ig_value_tensor(&p->pool.at[i]);
    if (!t || ig_is_fake(t) || !ig_tensor_requires_grad(t) || ig_tensor_numel(t) > 100000) continue;
    ig_tensor *loss = ig_sum(p->c, ig_abs(p->c, t));
    bool twice = draw_chance(&p->d, 30);
    ig_backward_args run = {.size = sizeof run,
                            .outputs = &loss,
                            .noutputs = 1,
                            .inputs = leaves,
                            .ninputs = n,
                            .allow_unused = true,
                            .create_graph = twice,
                            .retain_graph = true};
    fuzz_show("backward of result %zu\n", i);
    fuzz_calls++;
    ig_tensor *again = NULL;
    if (loss && ig_backward(p->c, &run, grads) == IG_OK) {
      for (size_t k = 0; twice && k < n; k++) {
        bool more = grads[k] && ig_tensor_requires_grad(grads[k]);
        ig_tensor *part = more ? ig_sum(p->c, ig_abs(p->c, grads[k])) : NULL;
        again = again && part && again->dtype == part->dtype ? ig_add_tensor(p->c, again, part)
                : again                                      ? again
                                                             : part;
      }
      run.outputs = &again;
      run.create_graph = false;
      fuzz_calls += again != NULL;
      if (again) (void)!ig_backward(p->c, &run, grads);
    }
    ig_ctx_clear(p->c);
    if (!draw_chance(&p->d, 40)) break;
  }
}

static _Noreturn void report(const ig_value *real, const ig_value *found, size_t i,
                             const char *form) {
  fuzz_show_always = true;
  fuzz_show_value(real);
  fuzz_show(" eager, ");
  fuzz_show_value(found);
  fuzz_show(" %s\n", form);
  fuzz_finding("value %zu: the %s result differs", i, form);
}

// Fake results match real ones.
static void run_fake(fuzz_program *p) {
  ig_tensor *fakes[FUZZ_INPUTS];
  fuzz_pool pool;
  if (p->torn) return;
  for (size_t i = 0; i < p->ninputs; i++) fakes[i] = ig_tensor_fake(p->c, p->originals[i]);
  if (fuzz_program_replay(p->c, p, fakes, &pool)) {
    for (size_t i = 0; i < p->pool.n; i++) {
      const ig_tensor *real = ig_value_tensor(&p->pool.at[i]);
      const ig_tensor *fake = ig_value_tensor(&pool.at[i]);
      if (!real || !fake || ig_tensor_is_symbolic(fake)) continue;
      bool same = fuzz_fails_allocations() || p->quantized || fuzz_same_look(real, fake);
      if (!same) report(&p->pool.at[i], &pool.at[i], i, "fake");
    }
  }
  ig_ctx_clear(p->c);
}

// ---- captured

// The results of a program with gradients, computed once more without them: operators may then use
// another implementation (matmul folds or does not), which rounds differently.
static fuzz_pool ungraded;

// False: this is unknown, and nothing is compared with it.
static bool run_ungraded(fuzz_program *p) {
  ig_tensor *inputs[FUZZ_INPUTS];
  for (size_t i = 0; i < p->ninputs; i++) {
    inputs[i] = fuzz_copied(p->c, p->originals[i]);
    if (!inputs[i]) return false;
  }
  if (!fuzz_program_replay(p->c, p, inputs, &ungraded)) {
    bool excused = ig_ctx_status(p->c) == IG_NOMEM || !p->comparable;
    if (!excused) fuzz_finding("without gradients it refuses what ran: %s", ig_ctx_error(p->c));
    return false;
  }
  for (size_t i = 0; i < p->noutputs && p->comparable; i++) {
    const ig_value *real = &p->pool.at[p->outputs[i]];
    const ig_value *found = &ungraded.at[p->outputs[i]];
    if (found->kind != IG_KIND_TENSOR || !fuzz_same_look(real->tensor, found->tensor))
      report(real, found, p->outputs[i], "ungraded");
  }
  return true;
}

static bool same_number(const ig_c128 *a, const ig_c128 *b) {
  bool re = a->re == b->re || (isnan(a->re) && isnan(b->re));
  return re && (a->im == b->im || (isnan(a->im) && isnan(b->im)));
}

static bool same_elements(const ig_tensor *a, const ig_tensor *b) {
  int64_t n = ig_tensor_numel(a);
  if (n > MAX_COMPARED || ig_is_fake(a) || ig_is_fake(b)) return true;
  ig_c128 *x = malloc((size_t)n * sizeof *x + 1);
  ig_c128 *y = malloc((size_t)n * sizeof *y + 1);
  bool same = true;
  if (x && y) {
    ig_tensor_read(a, IG_C128, x);
    ig_tensor_read(b, IG_C128, y);
    for (int64_t i = 0; same && i < n; i++) same = same_number(&x[i], &y[i]);
  }
  free(x);
  free(y);
  return same;
}

// How the results of a program are compared with the eager ones.
typedef enum closeness { LOOKS, VALUES } closeness;

static void run_captured(fuzz_program *p, const ig_program *ep, closeness how, const char *form) {
  const fuzz_pool *eager = p->grads ? &ungraded : &p->pool;
  ig_value inputs[FUZZ_INPUTS];
  ig_value outs[FUZZ_POOL];
  size_t ninputs = fuzz_program_free_inputs(p);
  if (ig_program_user_outputs(ep) > FUZZ_POOL || ig_program_user_inputs(ep) != ninputs) return;
  for (size_t i = 0; i < ninputs; i++) {
    ig_tensor *t = fuzz_copied(p->c, p->originals[i]);
    if (!t) return;
    inputs[i] = ig_of_tensor(t);
  }
  fuzz_show("run %s\n", form);
  fuzz_calls += p->nsteps;
  if (ig_program_run(p->c, ep, inputs, ninputs, outs) != IG_OK) {
    fuzz_show("  refused: %s\n", ig_ctx_error(p->c));
    bool excused = ig_ctx_status(p->c) == IG_NOMEM || !p->comparable;
    if (!excused && how == VALUES)
      fuzz_finding("the %s program refuses what ran: %s", form, ig_ctx_error(p->c));
    ig_ctx_clear(p->c);
    fuzz_run_planned(p->c, ep, inputs, ninputs, false);
    return;
  }
  for (size_t i = 0; i < p->noutputs && p->comparable; i++) {
    const ig_value *expected = &eager->at[p->outputs[i]];
    const ig_tensor *real = ig_value_tensor(expected);
    const ig_tensor *found = ig_value_tensor(&outs[i]);
    if (!real || !found) continue;
    if (!fuzz_same_look(real, found) || (how == VALUES && !same_elements(real, found)))
      report(expected, &outs[i], p->outputs[i], form);
  }
  fuzz_run_planned(p->c, ep, inputs, ninputs, p->comparable);
}

static void print_program(ig_ctx *c, const ig_program *ep) {
  ig_text_free(c, ig_program_text(c, ep));
  char *code = ig_program_code(c, ep);
  if (code) fuzz_show("%s\n", code);
  ig_text_free(c, code);
  ig_text_free(c, ig_program_module_code(c, ep));
}

static void through_file(fuzz_program *p, const ig_program *ep) {
  ig_ctx *c = p->c;
  ig_sink sink = ig_sink_memory(c->alloc);
  ig_program *again = NULL;
  if (ig_program_write(c, ep, NULL, &sink) == IG_OK && ig_sink_close(c, &sink) == IG_OK) {
    ig_bytes bytes = {sink.at, sink.n};
    if (ig_program_load_bytes(c, "fuzz", bytes, NULL, NULL, &again) == IG_OK) {
      run_captured(p, again, VALUES, "loaded");
    } else if (ig_ctx_status(c) != IG_NOMEM) {
      fuzz_finding("what was saved is refused: %s", ig_ctx_error(c));
    }
  } else {
    fuzz_show("not saved: %s\n", ig_ctx_error(c));
  }
  ig_ctx_clear(c);
  ig_program_free(again);
  ig_sink_drop(&sink);
}

static void through_onnx(fuzz_program *p, const ig_program *ep) {
  ig_sink sink = ig_sink_memory(p->c->alloc);
  if (ig_program_write_onnx(p->c, ep, NULL, &sink) != IG_OK)
    fuzz_show("no ONNX: %s\n", ig_ctx_error(p->c));
  ig_ctx_clear(p->c);
  ig_sink_drop(&sink);
}

static void passes(fuzz_program *p, const ig_program *ep, unsigned what) {
  ig_ctx *c = p->c;
  ig_program *next = NULL;
  print_program(c, ep);
  ig_ctx_clear(c);
  if (ig_program_functionalize(c, ep, &next) == IG_OK) {
    print_program(c, next);
    run_captured(p, next, VALUES, "functional");
    if (what & FUZZ_WITH_FILE) through_file(p, next);
    if (what & FUZZ_WITH_ONNX) through_onnx(p, next);
    ig_graph *g = NULL;
    ig_module_tree *tree = NULL;
    if (ig_program_unlift(c, next, &g) == IG_OK) ig_graph_free(g);
    ig_ctx_clear(c);
    if (ig_program_unflatten(c, next, &tree) == IG_OK) ig_module_tree_free(tree);
    ig_ctx_clear(c);
  } else {
    fuzz_show("not functional: %s\n", ig_ctx_error(c));
  }
  ig_ctx_clear(c);
  ig_program_free(next);
  next = NULL;
  if (what & FUZZ_WITH_DECOMPOSE) {
    ig_decompose_args how = {
        .size = sizeof how,
        .level = draw_byte(&p->d) & 1 ? IG_DECOMPOSE_CORE : IG_DECOMPOSE_COMPOSITE};
    if (ig_program_decompose(c, ep, &how, &next) == IG_OK) {
      print_program(c, next);
      run_captured(p, next, LOOKS, "decomposed");
    } else {
      fuzz_show("not taken apart: %s\n", ig_ctx_error(c));
    }
    ig_ctx_clear(c);
    ig_program_free(next);
  }
}

void fuzz_program_check(fuzz_program *p, unsigned what) {
  ig_ctx *c = p->c;
  if (fuzz_fails_allocations()) p->comparable = false;
  if (what & FUZZ_WITH_GRAD) backward(p);
  if (what & FUZZ_WITH_FAKE) run_fake(p);
  if (what & FUZZ_WITH_EXPORT && p->nsteps) {
    if (p->grads && !run_ungraded(p)) p->comparable = false;
    ig_ctx_clear(c);
    ig_program *ep = fuzz_program_export(p, what & FUZZ_WITH_DIMS, what & FUZZ_WITH_DRAFT);
    if (ep) {
      run_captured(p, ep, VALUES, "captured");
      passes(p, ep, what);
    }
    ig_program_free(ep);
  }
  // Unreachable blocks are reported as leaks.
  memset(&ungraded, 0, sizeof ungraded);
}
