// SPDX-License-Identifier: Apache-2.0
// Views and writing through them. A view knows its base. Writing to a view changes the base, so the
// base gets a history that says "unchanged except for this part" (SLICES), and every other view of
// that base recomputes its history when it is next used.
#include <string.h>

#include "ingot/aten.h"
#include "op/call.h"
#include "op/tape.h"

static void step_destroy(ig_ref *ref) {
  ig_view_step *s = (ig_view_step *)ref;
  if (s->parent) ig_ref_release(&s->parent->ref);
  ig_tensor_release(s->input);
  ig_tensor_release(s->output);
  ig_mem_free(s->alloc, s, sizeof *s);
}

static ig_view_step *retain_step(ig_view_step *s) {
  if (s) ig_ref_retain(&s->ref);
  return s;
}

static ig_view_step *step_create(ig_ctx *c, const ig_op *op, const ig_value *args, ig_tensor *out,
                                 ig_view_step *parent) {
  ig_tensor *input = ig_tensor_shell(c, args[0].tensor);
  ig_tensor *output = ig_tensor_shell(c, out);
  ig_view_step *s = input && output ? ig_mem_new(c->alloc, sizeof *s) : NULL;
  if (!s) {
    (void)ig_fail(c, IG_NOMEM, "out of memory");
    return NULL;
  }
  s->ref = (ig_ref){1, step_destroy};
  s->alloc = c->alloc;
  s->parent = retain_step(parent);
  s->op = op;
  s->input = ig_tensor_retain(input);
  s->output = ig_tensor_retain(output);
  for (size_t i = 1; i < op->schema.nargs && i <= 4; i++) s->args[i - 1] = args[i];
  return s;
}

void ig_tape_relate(ig_ctx *c, const ig_op *op, const ig_value *args, ig_tensor *out,
                    ig_creation creation) {
  ig_tensor *self = args[0].tensor;
  out->inference = self->inference;
  if (self->inference || self == out) return;
  struct ig_autograd *from = self->autograd;
  struct ig_autograd *a = ig_tape_state(c, out);
  if (!a) return;
  bool nested = from && from->base;
  ig_view_step *step = nested ? retain_step(from->step) : NULL;
  if (out->dtype != self->dtype && op) {
    ig_view_step *longer = step_create(c, op, args, out, step);
    if (step) ig_ref_release(&step->ref);
    step = longer;
  }
  if (a->step) ig_ref_release(&a->step->ref);
  a->step = step;
  ig_tensor *base = ig_tensor_retain(nested ? from->base : self);
  ig_tensor_release(a->base);
  a->base = base;
  a->base_epoch = ig_tape_epoch(base);
  a->creation = creation == IG_CREATED_PLAIN && nested ? from->creation : creation;
}

static bool same_ints(const ig_int *a, const ig_int *b, int n) {
  for (int i = 0; i < n; i++) {
    if (a[i].value != b[i].value || a[i].expr != b[i].expr) return false;
  }
  return true;
}

static bool same_geometry(const ig_tensor *a, const ig_tensor *b) {
  return a->ndim == b->ndim && same_ints(a->dims, b->dims, 2 * a->ndim) &&
         same_ints(&a->offset, &b->offset, 1);
}

// The elements of t that correspond to the view `shell` of `of`.
static ig_tensor *strided(ig_ctx *c, ig_tensor *t, const ig_tensor *of, const ig_tensor *shell) {
  if (!t || same_geometry(of, shell)) return t;
  const ig_op *op = ig_op_at(c, IG_ID_AS_STRIDED);
  if (!op) return NULL;
  size_t n = (size_t)shell->ndim;
  ig_int offset = ig_int_add(c, ig_int_sub(c, shell->offset, of->offset), t->offset);
  ig_value args[] = {ig_of_tensor(t), ig_of_ints(ig_sizes(shell), n),
                     ig_of_ints(ig_strides(shell), n), ig_of_int(offset)};
  ig_value out[IG_MAX_RETURNS];
  ig_call(c, op, args, out);
  return out[0].kind == IG_KIND_TENSOR ? out[0].tensor : NULL;
}

static ig_tensor *replay_step(ig_ctx *c, ig_tensor *base, const ig_tensor *of,
                              const ig_view_step *step) {
  const ig_tensor *from = of;
  ig_tensor *t = base;
  if (step->parent) {
    t = replay_step(c, base, of, step->parent);
    from = step->parent->output;
  }
  t = strided(c, t, from, step->input);
  if (!t) return NULL;
  ig_value args[5] = {ig_of_tensor(t)};
  memcpy(args + 1, step->args, sizeof step->args);
  ig_value out[IG_MAX_RETURNS];
  ig_call(c, step->op, args, out);
  return out[0].kind == IG_KIND_TENSOR ? out[0].tensor : NULL;
}

ig_tensor *ig_tape_replay(ig_ctx *c, ig_tensor *base, const ig_tensor *of, const ig_view_step *step,
                          const ig_tensor *shell) {
  if (!step) return strided(c, base, of, shell);
  return strided(c, replay_step(c, base, of, step), step->output, shell);
}

// Creates the same view again, only for its history.
void ig_tape_refresh(ig_ctx *c, ig_tensor *t) {
  if (!ig_tape_is_stale(t) || c->status != IG_OK) return;
  struct ig_autograd *a = t->autograd;
  uint32_t epoch = ig_tape_epoch(a->base);
  if (!a->base->requires_grad) {
    a->base_epoch = epoch;
    return;
  }
  enum { ALL = IG_MODE_CAPTURE | IG_MODE_REWRITE | IG_MODE_NO_GRAD | IG_MODE_INFERENCE };
  ig_mode_scope mode = ig_mode_push(c, &(ig_mode_change){.set = ALL});  // the tape, nothing else
  ig_scope s = ig_scope_open(c);
  ig_tensor *again = ig_tape_replay(c, a->base, a->base, a->step, t);
  if (again && again->autograd && again->autograd->entry) {
    (void)ig_tape_set_history(c, t, again->autograd->entry, again->autograd->index);
  }
  ig_scope_close(c, s);
  ig_mode_pop(c, &mode);
  a->base_epoch = epoch;
}

// ---- leaves that are views of what is written

typedef struct search {
  ig_ctx *c;
  ig_table seen;
  IG_VEC(const ig_tape_entry *) waiting;
} search;

static bool visit(search *s, const ig_tape_entry *e) {
  if (!e || ig_table_find(&s->seen, e)) return true;
  if (ig_table_put(&s->seen, e) && ig_vec_push(s->c->alloc, &s->waiting, e)) return true;
  (void)ig_fail(s->c, IG_NOMEM, "out of memory");
  return false;
}

static bool any_to_view(search *s, const ig_edge *edges, size_t n, const ig_tensor *base) {
  for (size_t i = 0; i < n; i++) {
    const struct ig_autograd *leaf = edges[i].leaf ? edges[i].leaf->autograd : NULL;
    if ((leaf && leaf->base == base) || !visit(s, edges[i].entry)) return true;
  }
  return false;
}

// Does a history lead to a leaf that is a view of `base`? After an error: true.
static bool leads_to_view(search *s, const ig_tensor *base) {
  while (s->waiting.n) {
    const ig_tape_entry *e = s->waiting.at[--s->waiting.n];
    if (!visit(s, e->group) || !visit(s, e->inner)) return true;
    if (any_to_view(s, e->edges, e->nslots, base)) return true;
    if (any_to_view(s, e->saved_edges, e->nsaved, base)) return true;
  }
  return false;
}

// The base would own a history that retains the leaf, which retains the base: none would ever be
// freed.
bool ig_tape_check_cycle(ig_ctx *c, const ig_tape_entry *e, const ig_tensor *self) {
  const ig_tensor *base = self->autograd && self->autograd->base ? self->autograd->base : self;
  if (!base->autograd || !base->autograd->leaf_views) return true;
  search s = {.c = c, .seen = ig_table_make(c->alloc)};
  bool found = !visit(&s, e) || leads_to_view(&s, base);
  ig_table_free(&s.seen);
  ig_vec_free(c->alloc, &s.waiting);
  if (!found) return true;
  ig_fail_text(c, IG_RUNTIME,
               "%s: an operand of this in-place operation was computed from a leaf Variable that "
               "requires grad and is a view of the tensor being written, so that the leaf would "
               "depend on itself. Write to a clone(), or make the leaf from one.",
               e->called ? e->called->schema.name : "backward");
  return false;
}

bool ig_tape_check_view_write(ig_ctx *c, ig_tensor *self) {
  const struct ig_autograd *a = self->autograd;
  if (!a || !a->base || a->creation == IG_CREATED_PLAIN) return true;
  char name[128] = "";
  if (a->entry) ig_entry_short_name(a->entry, name, sizeof name);
  bool inference = a->creation == IG_CREATED_INFERENCE;
  bool no_grad = a->creation == IG_CREATED_NO_GRAD || a->creation == IG_CREATED_MULTI_NO_GRAD;
  if (no_grad || inference) {
    const char *mode = inference ? "inference_mode" : "no_grad";
    ig_fail_text(c, IG_RUNTIME,
                 "A view was created in %s and is being modified inplace %s. Given that this use "
                 "case is ambiguous and error-prone, it is forbidden. You can clarify your code by "
                 "moving both the view and the inplace either both inside the %s block (if you "
                 "don't want the inplace to be tracked) or both outside (if you want the inplace "
                 "to be tracked).",
                 inference ? "inference mode" : "no_grad mode",
                 inference ? "in normal mode" : "with grad mode enabled", mode);
  } else if (a->creation == IG_CREATED_MULTI) {
    ig_fail_text(c, IG_RUNTIME,
                 "Output %u of %s is a view and is being modified inplace. This view is the output "
                 "of a function that returns multiple views. Such functions do not allow the "
                 "output views to be modified inplace. You should replace the inplace operation by "
                 "an out-of-place one.",
                 a->index, name);
  } else {
    ig_fail_text(c, IG_RUNTIME,
                 "Output %u of %s is a view and is being modified inplace. This view was created "
                 "inside a custom Function (or because an input was returned as-is) and the "
                 "autograd logic to handle view+inplace would override the custom backward "
                 "associated with the custom Function, leading to incorrect gradients. This "
                 "behavior is forbidden. You can fix this by cloning the output of the custom "
                 "Function.",
                 a->index, name);
  }
  return false;
}

// Slot 0: the previous base; then the operands of the in-place call.
static ig_tape_entry *slices(ig_ctx *c, ig_tensor *t, ig_tape_entry *inner, uint32_t index) {
  struct ig_autograd *a = t->autograd;
  void *room = NULL;
  size_t extra = sizeof(ig_value) + sizeof(ig_saved);
  ig_tape_entry *e = ig_entry_create(c, IG_ENTRY_SLICES, 1 + inner->nslots, extra, &room);
  if (!e) return NULL;
  ig_ref_retain(&inner->ref);
  e->inner = inner;
  e->inner_index = index;
  e->view = ig_tensor_retain(ig_tensor_shell(c, t));
  e->view_step = retain_step(a->step);
  e->edges[0] = ig_edge_of(c, a->base);
  for (size_t i = 0; i < inner->nslots; i++) {
    // The gradient of the written value is a part of the base's gradient.
    if (i != inner->self_slot) e->edges[1 + i] = ig_edge_copy(inner->edges[i]);
  }
  e->outs = room;
  e->results = (ig_saved *)(e->outs + 1);
  e->nouts = e->nresults = 1;
  bool ok = ig_entry_keep(c, &e->kept[0], a->base, false) &&
            ig_entry_keep_result(c, &e->results[0], a->base, false) && e->view;
  e->outs[0] = ig_of_tensor(e->results[0].tensor);
  ig_entry_stamp(c, e);
  if (ok) return e;
  ig_ref_release(&e->ref);
  return NULL;
}

bool ig_tape_rebase(ig_ctx *c, ig_tensor *t, ig_tape_entry *e, uint32_t index) {
  struct ig_autograd *a = t->autograd;
  if (!a || !a->base) return ig_tape_set_history(c, t, e, index);
  ig_tape_entry *s = slices(c, t, e, index);
  if (!s) return false;
  bool ok = ig_tape_set_history(c, a->base, s, 0);
  ig_ref_release(&s->ref);
  if (ok) ig_tape_refresh(c, t);
  return ok && c->status == IG_OK;
}
