// SPDX-License-Identifier: Apache-2.0
// Running one entry of the tape: unpacking saved tensors, calling its rule, checking the results.
//
// Data that was freed or overwritten in the meantime is unpacked as shells, which have no data.
// Whatever a rule computes from a shell is fake, so a fake gradient shows that the rule needed the
// data, and only then is it an error. PyTorch decides the same by saving per gradient formula.
#include <stdio.h>
#include <string.h>

#include "grad/grad.h"
#include "op/formula.h"

const char *ig_grad_sizes_text(ig_ctx *c, const ig_tensor *t, char *text, size_t cap) {
  size_t n = (size_t)snprintf(text, cap, "[");
  for (int d = 0; d < t->ndim && n < cap; d++) {
    const char *size = ig_int_text(c, ig_sizes(t)[d]);
    n += (size_t)snprintf(text + n, cap - n, "%s%s", d ? ", " : "", size);
  }
  if (n < cap) (void)snprintf(text + n, cap - n, "]");
  return text;
}

static const char *type_text(ig_dtype d) {
  static const char *const names[IG_DTYPE_COUNT] = {[IG_BOOL] = "Bool",
                                                    [IG_U8] = "Byte",
                                                    [IG_I8] = "Char",
                                                    [IG_I16] = "Short",
                                                    [IG_I32] = "Int",
                                                    [IG_I64] = "Long",
                                                    [IG_U16] = "UInt16",
                                                    [IG_U32] = "UInt32",
                                                    [IG_U64] = "UInt64",
                                                    [IG_F16] = "Half",
                                                    [IG_BF16] = "BFloat16",
                                                    [IG_F32] = "Float",
                                                    [IG_F64] = "Double",
                                                    [IG_C64] = "ComplexFloat",
                                                    [IG_C128] = "ComplexDouble",
                                                    [IG_F8E4M3FN] = "Float8_e4m3fn",
                                                    [IG_F8E5M2] = "Float8_e5m2",
                                                    [IG_QI8] = "QInt8",
                                                    [IG_QU8] = "QUInt8",
                                                    [IG_QI32] = "QInt32"};
  return names[d];
}

void ig_stale_fail(ig_ctx *c, const ig_stale *why) {
  if (why->freed) {
    ig_fail_text(c, IG_RUNTIME,
                 "Trying to backward through the graph a second time (or directly access saved "
                 "tensors after they have already been freed). Saved intermediate values of the "
                 "graph are freed when you call .backward() or autograd.grad(). Specify "
                 "retain_graph=True if you need to backward through the graph a second time or if "
                 "you need to access saved tensors after calling backward.");
    return;
  }
  char sizes[256];
  char name[128];
  char from[192] = "";
  const ig_tensor *t = why->saved->tensor;
  if (why->edge.entry) {
    ig_entry_short_name(why->edge.entry, name, sizeof name);
    (void)snprintf(from, sizeof from, ", which is output %u of %s,", why->edge.index, name);
  }
  ig_fail_text(c, IG_RUNTIME,
               "one of the variables needed for gradient computation has been modified by an "
               "inplace operation: [torch.%sTensor %s]%s is at version %u; expected version %u "
               "instead. Hint: enable anomaly detection to find the operation that failed to "
               "compute its gradient, with torch.autograd.set_detect_anomaly(True, "
               "check_nan=False).",
               type_text(t->dtype), ig_grad_sizes_text(c, t, sizes, sizeof sizes), from,
               ig_tensor_version(t), why->saved->version);
}

// The alias gets back the history that the tensor had when it was saved.
static ig_tensor *with_history(ig_ctx *c, const ig_saved *s, const ig_edge *edge) {
  ig_tensor *t = ig_tensor_alias(c, s->tensor);
  if (t) (void)ig_tape_set_history(c, t, edge->entry, edge->index);
  return t;
}

ig_tensor *ig_saved_unpack(ig_ctx *c, const ig_saved *s, const ig_edge *edge, bool freed,
                           ig_stale *why) {
  ig_tensor *t = s->tensor;
  if (!t || !s->bytes || c->status != IG_OK) return t;
  bool gone = freed;
  if (gone || ig_tensor_version(t) != s->version) {
    ig_stale found = {s, edge ? *edge : (ig_edge){0}, gone};
    if (!why || (!gone && ig_is_fake(t))) {
      ig_stale_fail(c, &found);
      return NULL;
    }
    if (!why->saved) *why = found;
    return gone ? t : ig_tensor_shell(c, t);
  }
  if (c->mode->no_grad || !edge || !edge->entry) return t;
  return with_history(c, s, edge);
}

static bool unpack_args(ig_ctx *c, const ig_tape_entry *e, ig_value *args, ig_stale *why) {
  for (size_t i = 0; i < e->nargs; i++) {
    size_t slot = e->at[i];
    args[i] = e->args[i];
    if (args[i].kind == IG_KIND_TENSOR) {
      args[i].tensor = ig_saved_unpack(c, &e->kept[slot], &e->edges[slot], e->freed, why);
    } else if (args[i].kind == IG_KIND_LIST && e->op->schema.args[i].type == IG_TYPE_TENSOR) {
      size_t n = args[i].list.n;
      ig_value *items = ig_scope_array(c, n, sizeof *items);
      for (size_t k = 0; items && k < n; k++) {
        items[k] = args[i].list.at[k];
        if (items[k].kind != IG_KIND_TENSOR) continue;
        const ig_edge *edge = &e->edges[slot + k];
        items[k].tensor = ig_saved_unpack(c, &e->kept[slot + k], edge, e->freed, why);
      }
      args[i].list.at = items;
    }
  }
  return c->status == IG_OK;
}

// Results are results of e itself, if they have a history.
static bool unpack_outs(ig_ctx *c, ig_tape_entry *e, ig_value *outs, ig_stale *why) {
  uint32_t k = 0;
  for (size_t i = 0; i < e->nouts; i++) {
    outs[i] = e->outs[i];
    if (outs[i].kind != IG_KIND_LIST) {
      unsigned with = e->op->def->diff_results;
      ig_edge self = {with == 0 || with >> i & 1 ? e : NULL, NULL, k};
      bool tensor = outs[i].kind == IG_KIND_TENSOR;
      if (tensor) outs[i].tensor = ig_saved_unpack(c, &e->results[k], &self, e->freed, why);
      k++;
      continue;
    }
    size_t n = outs[i].list.n;
    ig_value *items = ig_scope_array(c, n, sizeof *items);
    for (size_t j = 0; items && j < n; j++, k++) {
      ig_edge self = {e, NULL, k};
      items[j] = outs[i].list.at[j];
      if (items[j].kind != IG_KIND_TENSOR) continue;
      items[j].tensor = ig_saved_unpack(c, &e->results[k], &self, e->freed, why);
    }
    outs[i].list.at = items;
  }
  return c->status == IG_OK;
}

static bool any_fake(ig_tensor *const *t, size_t n, const bool *wanted) {
  for (size_t i = 0; i < n; i++) {
    if ((!wanted || wanted[i]) && t[i] && ig_is_fake(t[i])) return true;
  }
  return false;
}

// The first gradient, or zeros if the rule has only one and none came.
static ig_tensor *first_grad(ig_ctx *c, const ig_tape_entry *e, ig_tensor *const *grads) {
  if (grads[0] || e->nresults != 1) return grads[0];
  return e->results[0].tensor ? ig_zeros_of(c, e->results[0].tensor) : NULL;
}

static bool apply_missing(ig_ctx *c, const ig_tape_entry *e) {
  const ig_schema *s = &e->called->schema;
  ig_fail_text(c, IG_RUNTIME, "derivative for %s::%s is not implemented", s->ns, s->name);
  return false;
}

static bool apply_op(ig_ctx *c, ig_tape_entry *e, ig_tensor *const *grads, const bool *wanted,
                     ig_tensor **d) {
  if (!e->op->def->vjp) return apply_missing(c, e);
  if (e->called->form == IG_FORM_INPLACE && e->op->def->inplace_not_differentiable) {
    char words[128];
    (void)snprintf(words, sizeof words, "inplace version of %s", e->op->schema.name);
    (void)ig_no_derivative(c, words);
    return false;
  }
  ig_value args[IG_MAX_ARGS];
  ig_value outs[IG_MAX_RETURNS] = {{0}};
  ig_stale why = {0};
  if (!unpack_args(c, e, args, &why) || !unpack_outs(c, e, outs, &why)) return false;
  ig_vjp v = {.op = e->op,
              .args = args,
              .outs = outs,
              .grads = grads,
              .grad = first_grad(c, e, grads),
              .out = outs[0].kind == IG_KIND_TENSOR ? outs[0].tensor : NULL,
              .at = e->at,
              .wanted = wanted,
              .d = d};
  e->op->def->vjp(c, &v);
  bool missed =
      c->status != IG_OK || (any_fake(d, e->nslots, wanted) && !any_fake(grads, e->nresults, NULL));
  if (why.saved && missed) {
    ig_ctx_clear(c);
    ig_stale_fail(c, &why);
  } else if (c->status != IG_OK) {
    ig_aside(c, "in the gradient of %s", e->op->target);
  }
  return c->status == IG_OK;
}

static bool apply_custom(ig_ctx *c, ig_tape_entry *e, ig_tensor *const *grads, ig_tensor **d) {
  for (size_t i = 0; e->divided && i < e->nresults; i++) d[i] = grads[i];
  if (e->divided) return true;
  ig_tensor **given = ig_scope_array(c, e->nresults, sizeof *given);
  if (!given) return false;
  for (size_t i = 0; i < e->nresults; i++) {
    const ig_tensor *like = e->results[i].tensor;
    bool zeros = !grads[i] && e->materialize && like;
    given[i] = zeros ? ig_zeros_of(c, like) : grads[i];
  }
  if (c->status == IG_OK) e->backward(c, e, given, d, e->user);
  return c->status == IG_OK;
}

static void call(ig_ctx *c, unsigned id, const ig_value *args, ig_value *outs) {
  const ig_op *op = ig_op_at(c, id);
  if (op) ig_call(c, op, args, outs);
}

// A new tensor with the sizes and strides of `like` and the elements of g.
static ig_tensor *copy_like(ig_ctx *c, ig_tensor *g, const ig_tensor *like) {
  size_t n = (size_t)like->ndim;
  ig_value out[IG_MAX_RETURNS] = {{0}};
  ig_value made[] = {ig_of_tensor(g),
                     ig_of_ints(ig_sizes(like), n),
                     ig_of_ints(ig_strides(like), n),
                     ig_of_dtype(g->dtype),
                     ig_none(),
                     ig_none(),
                     ig_none()};
  call(c, IG_ID_NEW_EMPTY_STRIDED, made, out);
  ig_value args[] = {out[0], ig_of_tensor(g), ig_of_bool(false)};
  if (c->status == IG_OK) call(c, IG_ID_COPY_, args, out);
  return c->status == IG_OK ? ig_value_tensor(&out[0]) : NULL;
}

static ig_tensor *clone(ig_ctx *c, ig_tensor *t) {
  ig_value out[IG_MAX_RETURNS] = {{0}};
  call(c, IG_ID_CLONE, (ig_value[]){ig_of_tensor(t), ig_none()}, out);
  return c->status == IG_OK ? ig_value_tensor(&out[0]) : NULL;
}

// The gradient of the base with the modified part replaced: there, the gradient of the written
// value continues to the previous value.
static bool apply_slices(ig_ctx *c, ig_tape_entry *e, ig_tensor *const *grads, const bool *wanted,
                         ig_tensor **d) {
  ig_tape_entry *inner = e->inner;
  const ig_tensor *base = e->results[0].tensor;
  if (!grads[0]) return true;
  ig_tensor **in = ig_scope_array(c, inner->nresults, sizeof *in);
  bool *want = in ? ig_scope_array(c, inner->nslots, sizeof *want) : NULL;
  ig_tensor *all = want ? copy_like(c, grads[0], base) : NULL;
  ig_tensor *part = all ? ig_tape_replay(c, all, base, e->view_step, e->view) : NULL;
  if (!part) return false;
  memset(in, 0, inner->nresults * sizeof *in);
  in[e->inner_index] = clone(c, part);
  for (size_t i = 0; i < inner->nslots; i++) want[i] = wanted[1 + i];
  want[inner->self_slot] = wanted[0];
  if (!in[e->inner_index] || !ig_entry_apply(c, inner, in, want, d + 1)) return false;
  if (!wanted[0]) return true;
  ig_tensor *rest = d[1 + inner->self_slot];
  d[1 + inner->self_slot] = NULL;
  if (!rest) rest = ig_zeros_of(c, part);
  ig_value out[IG_MAX_RETURNS];
  call(c, IG_ID_COPY_, (ig_value[]){ig_of_tensor(part), ig_of_tensor(rest), ig_of_bool(false)},
       out);
  d[0] = all;
  return c->status == IG_OK;
}

static bool same_sizes(ig_ctx *c, const ig_tensor *a, const ig_tensor *b) {
  if (a->ndim != b->ndim) return false;
  for (int i = 0; i < a->ndim; i++) {
    if (!ig_int_eq(c, ig_sizes(a)[i], ig_sizes(b)[i])) return false;
  }
  return true;
}

static bool expands_to(ig_ctx *c, const ig_tensor *small, const ig_tensor *large) {
  int lead = large->ndim - small->ndim;
  if (lead < 0) return false;
  for (int i = 0; i < small->ndim; i++) {
    if (!ig_int_eq(c, ig_sizes(small)[i], ig_sizes(large)[i + lead]) &&
        !ig_int_eq_i64(c, ig_sizes(small)[i], 1)) {
      return false;
    }
  }
  return true;
}

// A gradient has the sizes and dtype of its operand; broadcasting and promotion are undone here.
static ig_tensor *fit(ig_ctx *c, const ig_tape_entry *e, size_t slot, ig_tensor *g,
                      ig_tensor *like) {
  char name[128];
  char found[256];
  char wanted[256];
  if (!same_sizes(c, g, like)) {
    if (!expands_to(c, like, g)) {
      if (c->status != IG_OK) return NULL;
      ig_fail_text(c, IG_RUNTIME,
                   "Function %s returned an invalid gradient at index %zu - got %s but expected "
                   "shape compatible with %s",
                   ig_grad_fn_name(e, name, sizeof name), slot,
                   ig_grad_sizes_text(c, g, found, sizeof found),
                   ig_grad_sizes_text(c, like, wanted, sizeof wanted));
      return NULL;
    }
    ig_value to = ig_of_tensor(like);
    g = ig_sum_to(c, g, &to);
  }
  if (!g || g->dtype == like->dtype) return g;
  if (ig_dtype_is_complex(g->dtype) && !ig_dtype_is_complex(like->dtype)) {
    ig_value to = ig_of_tensor(like);
    g = ig_sum_to(c, g, &to);
  }
  return ig_cast(c, g, like->dtype);
}

static bool fit_all(ig_ctx *c, const ig_tape_entry *e, const bool *wanted, ig_tensor **d) {
  for (size_t i = 0; i < e->nslots; i++) {
    ig_tensor *like = e->kept[i].tensor;
    if (!wanted[i]) d[i] = NULL;
    if (!d[i] || !like) continue;
    if (d[i]->dtype == like->dtype && same_sizes(c, d[i], like)) continue;
    d[i] = fit(c, e, i, d[i], like);
    if (!d[i]) return false;
  }
  return c->status == IG_OK;
}

bool ig_entry_apply(ig_ctx *c, ig_tape_entry *e, ig_tensor *const *grads, const bool *wanted,
                    ig_tensor **d) {
  memset(d, 0, e->nslots * sizeof *d);
  bool ok = false;
  switch (e->kind) {
    case IG_ENTRY_OP:
      ok = apply_op(c, e, grads, wanted, d);
      break;
    case IG_ENTRY_CUSTOM:
      ok = apply_custom(c, e, grads, d);
      break;
    case IG_ENTRY_SLICES:
      ok = apply_slices(c, e, grads, wanted, d);
      break;
    case IG_ENTRY_MISSING:
      ok = apply_missing(c, e);
      break;
    case IG_ENTRY_GROUP:  // no edge leads to one
      break;
  }
  return ok && fit_all(c, e, wanted, d);
}
