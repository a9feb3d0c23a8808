// SPDX-License-Identifier: Apache-2.0
// Reverse mode over the tape: entries in the order of their time, the latest first, so that all
// contributions to a gradient have arrived when an entry runs. The rules are plain calls: on real
// tensors they compute, under an open capture they are recorded, which is the only difference
// between backward and a joint graph; with gradients enabled they can be differentiated again.
//
// The state of a pass for an entry or a leaf is attached to it by a pointer, which hides that of an
// enclosing pass, if any: hooks may call backward.
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/options.h"
#include "grad/grad.h"
#include "op/formula.h"

typedef struct capture {
  uint32_t index;
  size_t input;
  struct capture *next;
} capture;

typedef struct work {
  struct sweep *sweep;
  ig_tape_entry *entry;  // or
  ig_tensor *leaf;
  void *outer;
  ig_tensor **grads;  // retained; one per result
  bool *owned;        // we own the sum: it may be modified
  size_t n;
  bool needed;        // runs: leads to a requested gradient
  size_t pending;     // leaf: contributions still missing
  capture *captures;  // inputs that are results of this entry, or this leaf
} work;

typedef struct sweep {
  ig_ctx *c;
  const ig_backward_args *args;
  ig_arena arena;
  IG_VEC(work *) entries;
  IG_VEC(work *) leaves;
  ig_edge *roots;  // per output
  ig_tensor **grads;
} sweep;

static bool no_memory(sweep *s) {
  (void)ig_fail(s->c, IG_NOMEM, "out of memory");
  return false;
}

static work *work_create(sweep *s, size_t n) {
  work *w = ig_arena_push(
      &s->arena, ig_mem_add(sizeof *w, ig_mem_mul(n, sizeof *w->grads + sizeof *w->owned)));
  if (!w) {
    (void)no_memory(s);
    return NULL;
  }
  w->sweep = s;
  w->n = n;
  w->grads = (ig_tensor **)(w + 1);
  w->owned = (bool *)(w->grads + n);
  return w;
}

static work *reach_entry(sweep *s, ig_tape_entry *e) {
  work *known = e->work;
  if (known && known->sweep == s) return known;
  work *w = work_create(s, e->nresults);
  if (!w || !ig_vec_push(s->c->alloc, &s->entries, w)) {
    (void)no_memory(s);
    return NULL;
  }
  w->entry = e;
  w->outer = known;
  e->work = w;
  return w;
}

static work *reach_leaf(sweep *s, ig_tensor *leaf) {
  struct ig_autograd *a = ig_tape_state(s->c, leaf);
  if (!a) return NULL;
  work *known = a->work;
  if (known && known->sweep == s) return known;
  work *w = work_create(s, 1);
  if (!w || !ig_vec_push(s->c->alloc, &s->leaves, w)) {
    (void)no_memory(s);
    return NULL;
  }
  w->leaf = ig_tensor_retain(leaf);
  w->outer = known;
  a->work = w;
  return w;
}

static work *reach(sweep *s, const ig_edge *e) {
  return e->entry ? reach_entry(s, e->entry) : reach_leaf(s, e->leaf);
}

static bool is_empty(const ig_edge *e) {
  return !e->entry && !e->leaf;
}

static work *target_of(const ig_edge *e) {
  return e->entry ? e->entry->work : e->leaf->autograd->work;
}

static int later_first(const void *a, const void *b) {
  uint64_t x = (*(work *const *)a)->entry->time;
  uint64_t y = (*(work *const *)b)->entry->time;
  return x < y ? 1 : x > y ? -1 : 0;
}

// Everything reachable from the roots.
static bool collect(sweep *s) {
  for (size_t i = 0; i < s->args->noutputs; i++) {
    if (!reach(s, &s->roots[i])) return false;
  }
  for (size_t k = 0; k < s->entries.n; k++) {
    const ig_tape_entry *e = s->entries.at[k]->entry;
    for (size_t i = 0; i < e->nslots; i++) {
      if (!is_empty(&e->edges[i]) && !reach(s, &e->edges[i])) return false;
    }
  }
  if (s->entries.n) qsort(s->entries.at, s->entries.n, sizeof *s->entries.at, later_first);
  return true;
}

// Inputs register on what was reached; unreachable ones get no gradient.
static bool mark_inputs(sweep *s) {
  for (size_t i = 0; i < s->args->ninputs; i++) {
    if (!ig_tape_undivide(s->c, s->args->inputs[i])) return false;
    ig_edge e = ig_edge_of(s->c, s->args->inputs[i]);
    work *w = NULL;
    if (e.entry) w = e.entry->work;
    if (e.leaf && e.leaf->autograd) w = e.leaf->autograd->work;
    ig_edge_drop(&e);
    if (!w || w->sweep != s) continue;
    uint32_t index = w->entry ? s->args->inputs[i]->autograd->index : 0;
    capture *wish = ig_arena_push(&s->arena, sizeof *wish);
    if (!wish) return no_memory(s);
    *wish = (capture){index, i, w->captures};
    w->captures = wish;
  }
  return s->c->status == IG_OK;
}

static bool wants(const sweep *s, const ig_edge *e) {
  if (is_empty(e)) return false;
  if (!s->args->inputs) return true;
  const work *w = target_of(e);
  return w->needed || w->captures;
}

static void mark_needed(sweep *s) {
  for (size_t k = s->entries.n; k-- > 0;) {
    work *w = s->entries.at[k];
    for (size_t i = 0; i < w->entry->nslots; i++) {
      const ig_edge *e = &w->entry->edges[i];
      if (!wants(s, e)) continue;
      w->needed = true;
      if (e->leaf) target_of(e)->pending++;
    }
  }
  for (size_t i = 0; i < s->args->noutputs; i++) {
    if (s->roots[i].leaf) target_of(&s->roots[i])->pending++;
  }
}

static bool deliver(sweep *s, work *w, uint32_t index, ig_tensor *g) {
  ig_tensor *old = w->grads[index];
  ig_tensor *sum = ig_grad_plus(s->c, old, g, w->owned[index]);
  if (!sum) return false;
  w->owned[index] = old != NULL;
  if (sum == old) return true;
  w->grads[index] = ig_tensor_retain(sum);
  ig_tensor_release(old);
  return true;
}

// Passes a gradient to the inputs that requested it.
static bool answer(sweep *s, const work *w, uint32_t index, ig_tensor *g) {
  for (const capture *wish = w->captures; wish; wish = wish->next) {
    if (wish->index != index) continue;
    if (s->args->accumulate) {
      if (!w->leaf && !ig_grad_accumulate(s->c, s->args->inputs[wish->input], g)) return false;
    } else {
      s->grads[wish->input] = ig_tensor_retain(g);
    }
  }
  return true;
}

static bool keep_grad(sweep *s, const ig_tape_entry *e, uint32_t index, ig_tensor *g) {
  for (size_t i = 0; i < e->retainers.n; i++) {
    ig_retainer r = e->retainers.at[i];
    if (r.index == index && !ig_grad_accumulate(s->c, r.tensor, g)) return false;
  }
  return true;
}

// All contributions have arrived: hooks, then .grad or the result.
static bool finish_leaf(sweep *s, work *w) {
  ig_ctx *c = s->c;
  ig_tensor *t = w->leaf;
  ig_tensor *g = w->grads[0];
  if (!g) return true;
  const struct ig_autograd *a = t->autograd;
  if (a->entry) {
    ig_fail_text(c, IG_RUNTIME, "leaf variable has been moved into the graph interior");
    return false;
  }
  ig_scope scope = ig_scope_open(c);
  ig_tensor *after = ig_hooks_call(c, &a->hooks, IG_HOOK_TENSOR, 0, g);
  bool ok = after && answer(s, w, 0, after);
  bool store = !s->args->inputs || (s->args->accumulate && w->captures);
  if (ok && store && t->requires_grad) {
    ok = ig_grad_accumulate(c, t, after);
    if (ok) (void)ig_hooks_call(c, &t->autograd->hooks, IG_HOOK_ACCUMULATED, 0, t);
  }
  ig_scope_close(c, scope);
  ig_tensor_release(w->grads[0]);
  w->grads[0] = NULL;
  return ok && c->status == IG_OK;
}

static bool leaf_done(sweep *s, work *w) {
  return --w->pending > 0 || finish_leaf(s, w);
}

static void call_many(ig_ctx *c, const ig_hooks *hooks, ig_hook_kind kind, ig_tensor **grads,
                      size_t n, ig_tensor *const *of_results, size_t nresults) {
  for (size_t i = 0; i < hooks->n && c->status == IG_OK; i++) {
    ig_hook *h = hooks->at[i];
    if (h->kind != kind || h->removed) continue;
    ig_ref_retain(&h->ref);  // it may remove itself
    h->many(c, grads, n, of_results, nresults, h->user);
    ig_hook_release(h);
  }
}

// Gradients of the results: first for the hooks of tensors, then for the inputs that requested
// them.
static bool arrive(sweep *s, work *w, ig_tensor **grads) {
  ig_tape_entry *e = w->entry;
  for (uint32_t i = 0; i < w->n; i++) {
    grads[i] = w->grads[i];
    if (!grads[i]) continue;
    grads[i] = ig_hooks_call(s->c, &e->hooks, IG_HOOK_TENSOR, i, grads[i]);
    if (!grads[i] || !keep_grad(s, e, i, grads[i]) || !answer(s, w, i, grads[i])) return false;
  }
  return s->c->status == IG_OK;
}

static bool pass_on(sweep *s, const ig_tape_entry *e, ig_tensor *const *d) {
  for (size_t i = 0; i < e->nslots; i++) {
    if (d[i] && !deliver(s, target_of(&e->edges[i]), e->edges[i].index, d[i])) return false;
  }
  return true;
}

static bool run_entry(sweep *s, work *w) {
  ig_ctx *c = s->c;
  ig_tape_entry *e = w->entry;
  ig_tensor **grads = ig_scope_array(c, w->n, sizeof *grads);
  ig_tensor **d = ig_scope_array(c, e->nslots, sizeof *d);
  bool *wanted = ig_scope_array(c, e->nslots, sizeof *wanted);
  if (!grads || !d || !wanted || !arrive(s, w, grads)) return false;
  if (!w->needed) return true;
  for (size_t i = 0; i < e->nslots; i++) wanted[i] = wants(s, &e->edges[i]);
  call_many(c, &e->hooks, IG_HOOK_PRE, grads, w->n, grads, w->n);
  if (c->status != IG_OK || !ig_entry_apply(c, e, grads, wanted, d)) return false;
  call_many(c, &e->hooks, IG_HOOK_POST, d, e->nslots, grads, w->n);
  if (c->status != IG_OK || !pass_on(s, e, d)) return false;
  if (!s->args->retain_graph) ig_entry_free_bytes(c, e);
  return c->status == IG_OK;
}

static bool run(sweep *s) {
  for (size_t k = 0; k < s->entries.n; k++) {
    work *w = s->entries.at[k];
    bool any = false;
    for (size_t i = 0; i < w->n; i++) any = any || w->grads[i];
    ig_scope scope = ig_scope_open(s->c);
    bool ok = !any || run_entry(s, w);
    ig_scope_close(s->c, scope);
    for (size_t i = 0; i < w->n; i++) {
      ig_tensor_release(w->grads[i]);
      w->grads[i] = NULL;
    }
    for (size_t i = 0; ok && i < w->entry->nslots; i++) {
      const ig_edge *e = &w->entry->edges[i];
      if (e->leaf && wants(s, e)) ok = leaf_done(s, target_of(e));
    }
    if (!ok) return false;
  }
  return true;
}

static ig_tensor *ones(ig_ctx *c, ig_tensor *out, size_t i) {
  ig_int numel = ig_numel_of(c, out);
  if (!ig_int_eq_i64(c, numel, 1)) {
    if (c->status == IG_OK) {
      ig_fail_text(c, IG_RUNTIME, "grad can be implicitly created only for scalar outputs");
    }
    return NULL;
  }
  if (!ig_dtype_is_float(out->dtype)) {
    ig_fail_text(c, IG_RUNTIME,
                 "grad can be implicitly created only for real scalar outputs but got torch.%s",
                 ig_dtype_text(out->dtype));
    return NULL;
  }
  (void)i;
  const ig_op *op = ig_op_at(c, IG_ID_ONES_LIKE);
  if (!op) return NULL;
  ig_value args[] = {ig_of_tensor(out), ig_none(),         ig_none(),
                     ig_none(),         ig_of_bool(false), ig_of_memory_format(IG_PRESERVE)};
  ig_value outs[IG_MAX_RETURNS];
  ig_call(c, op, args, outs);
  return ig_value_tensor(&outs[0]);
}

static ig_tensor *check_seed(ig_ctx *c, ig_tensor *out, ig_tensor *g, size_t i) {
  bool same = out->ndim == g->ndim;
  for (int d = 0; same && d < out->ndim; d++) same = ig_int_eq(c, ig_sizes(out)[d], ig_sizes(g)[d]);
  char a[256];
  char b[256];
  if (!same) {
    ig_fail_text(c, IG_RUNTIME,
                 "Mismatch in shape: grad_output[%zu] has a shape of torch.Size(%s) and "
                 "output[%zu] has a shape of torch.Size(%s).",
                 i, ig_grad_sizes_text(c, g, a, sizeof a), i,
                 ig_grad_sizes_text(c, out, b, sizeof b));
    return NULL;
  }
  if (ig_dtype_is_complex(out->dtype) != ig_dtype_is_complex(g->dtype)) {
    ig_fail_text(c, IG_RUNTIME,
                 "For complex Tensors, both grad_output and output are required to have the same "
                 "dtype. Mismatch in dtype: grad_output[%zu] has a dtype of torch.%s and "
                 "output[%zu] has a dtype of torch.%s.",
                 i, ig_dtype_text(g->dtype), i, ig_dtype_text(out->dtype));
    return NULL;
  }
  return ig_cast(c, g, out->dtype);
}

static bool seed(sweep *s) {
  const ig_backward_args *a = s->args;
  for (size_t i = 0; i < a->noutputs; i++) {
    ig_tensor *out = a->outputs[i];
    ig_tensor *g = a->seeds ? a->seeds[i] : NULL;
    g = g ? check_seed(s->c, out, g, i) : ones(s->c, out, i);
    if (!g || !deliver(s, target_of(&s->roots[i]), s->roots[i].index, g)) return false;
  }
  return true;
}

static bool check(sweep *s) {
  const ig_backward_args *a = s->args;
  for (size_t i = 0; i < a->noutputs; i++) {
    if (!a->outputs[i] || !ig_tape_requires_grad(a->outputs[i])) {
      ig_fail_text(s->c, IG_RUNTIME,
                   "element %zu of tensors does not require grad and does not have a grad_fn", i);
      return false;
    }
  }
  if (a->inputs && a->ninputs == 0) {
    ig_fail_text(s->c, IG_RUNTIME, "`inputs` argument to `%s()` cannot be empty.",
                 a->accumulate ? "backward" : "grad");
    return false;
  }
  for (size_t i = 0; a->inputs && i < a->ninputs; i++) {
    if (a->inputs[i] && ig_tape_requires_grad(a->inputs[i])) continue;
    ig_fail_text(s->c, IG_RUNTIME, "%s",
                 a->accumulate ? "can't retain_grad on Tensor that has requires_grad=False"
                               : "One of the differentiated Tensors does not require grad");
    return false;
  }
  return true;
}

static bool find_roots(sweep *s) {
  size_t n = s->args->noutputs;
  s->roots = ig_arena_array(&s->arena, n, sizeof *s->roots);
  if (!s->roots) return no_memory(s);
  for (size_t i = 0; i < n; i++) s->roots[i] = ig_edge_of(s->c, s->args->outputs[i]);
  return s->c->status == IG_OK;
}

static bool check_unused(sweep *s) {
  const ig_backward_args *a = s->args;
  for (size_t i = 0; a->inputs && i < a->ninputs && !a->accumulate; i++) {
    if (s->grads[i]) continue;
    if (a->materialize_grads) {
      s->grads[i] = ig_tensor_retain(ig_zeros_of(s->c, a->inputs[i]));
    } else if (!a->allow_unused) {
      ig_fail_text(s->c, IG_RUNTIME,
                   "The differentiated Tensor at index %zu appears to not have been used in the "
                   "graph. Set allow_unused=True if this is the desired behavior.",
                   i);
      return false;
    }
  }
  return s->c->status == IG_OK;
}

static void clean_up(sweep *s) {
  for (size_t k = s->entries.n; k-- > 0;) {
    work *w = s->entries.at[k];
    for (size_t i = 0; i < w->n; i++) ig_tensor_release(w->grads[i]);
    w->entry->work = w->outer;
  }
  for (size_t k = s->leaves.n; k-- > 0;) {
    work *w = s->leaves.at[k];
    ig_tensor_release(w->grads[0]);
    w->leaf->autograd->work = w->outer;
    ig_tensor_release(w->leaf);
  }
  for (size_t i = 0; s->roots && i < s->args->noutputs; i++) ig_edge_drop(&s->roots[i]);
  ig_vec_free(s->c->alloc, &s->entries);
  ig_vec_free(s->c->alloc, &s->leaves);
  ig_arena_free(&s->arena);
}

static bool sweep_run(sweep *s) {
  if (!check(s) || !find_roots(s) || !collect(s)) return false;
  if (s->args->inputs && !mark_inputs(s)) return false;
  mark_needed(s);
  ig_scope scope = ig_scope_open(s->c);
  bool ok = seed(s);
  ig_scope_close(s->c, scope);
  for (size_t i = 0; ok && i < s->args->noutputs; i++) {
    if (s->roots[i].leaf) ok = leaf_done(s, target_of(&s->roots[i]));
  }
  return ok && run(s) && check_unused(s);
}

ig_status ig_backward(ig_ctx *c, const ig_backward_args *given, ig_tensor **grads) {
  ig_backward_args all;
  IG_OPTIONS_TAKE(&all, given, accumulate);
  const ig_backward_args *args = &all;
  bool answers = args->inputs && !args->accumulate;
  for (size_t i = 0; answers && i < args->ninputs; i++) grads[i] = NULL;
  if (c->status != IG_OK) return c->status;
  sweep s = {.c = c, .args = args, .arena = ig_arena_make(c->alloc), .grads = grads};
  const char *target = c->op_target;
  ig_mode_scope mode = ig_mode_push_grad(c, args->create_graph);
  c->op_target = NULL;
  (void)sweep_run(&s);
  clean_up(&s);
  ig_mode_pop(c, &mode);
  c->op_target = target;
  for (size_t i = 0; answers && i < args->ninputs; i++) {
    if (!grads[i]) continue;
    if (c->status != IG_OK) {
      ig_tensor_release(grads[i]);
      grads[i] = NULL;
    } else if (!ig_pool_add(c, &grads[i]->ref)) {
      grads[i] = NULL;
    }
  }
  return c->status;
}
