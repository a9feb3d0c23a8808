// SPDX-License-Identifier: Apache-2.0
// Recording calls: what is appended for each of them, and which calls end a recording.
#include <string.h>

#include "capture/defer_parts.h"
#include "op/tape.h"

// ---- results

typedef struct wish {
  bool grad;  // a gradient is wanted
  bool write;
} wish;

// History belongs to what is computed; until then only requires_grad tells that there will be one.
static void strip(ig_tensor *t) {
  if (!t->autograd) return;
  bool wants = t->requires_grad;
  ig_autograd_free(t);
  t->autograd = NULL;
  t->requires_grad = wants;
}

static bool add_result(ig_ctx *c, ig_defer *d, ig_tensor *t, const wish *w) {
  const ig_table_slot *known = ig_table_find(&d->numbers, t);
  if (known) {  // an operand that was written, or that is the result
    return !w->write || !w->grad || ig_defer_grade(c, d, t);
  }
  strip(t);
  t->defer = d;
  if (t->storage->fake && !t->storage->defer) t->storage->defer = d;
  return ig_defer_value_add(c, d, t, false);
}

static bool add_results(ig_ctx *c, ig_defer *d, ig_value *outs, size_t n, const wish *w) {
  bool ok = true;
  for (size_t i = 0; ok && i < n; i++) {
    if (outs[i].kind == IG_KIND_TENSOR && outs[i].tensor) ok = add_result(c, d, outs[i].tensor, w);
    for (size_t k = 0; ok && outs[i].kind == IG_KIND_LIST && k < outs[i].list.n; k++) {
      const ig_value *v = &outs[i].list.at[k];
      if (v->kind == IG_KIND_TENSOR && v->tensor) ok = add_result(c, d, v->tensor, w);
    }
  }
  return ok;
}

// The memory is written when the recording is flushed; until then nobody may read it.
static bool cover(ig_ctx *c, ig_defer *d, ig_tensor *t, uint32_t version) {
  ig_storage *s = t->storage;
  if (s->fake) return true;
  ig_defer_write w = {s, version};
  if (!ig_vec_push(d->alloc, &d->writes, w))
    return (ig_fail(c, IG_NOMEM, "out of memory") == IG_OK);
  ig_ref_retain(&s->ref);
  s->fake = s->behind = true;
  s->defer = d;
  return true;
}

// ---- calls

static bool has_written(const ig_op *op) {
  for (size_t i = 0; i < op->schema.nargs; i++) {
    if (op->schema.args[i].written) return true;
  }
  return false;
}

static bool gives_tensors(const ig_op *op) {
  for (size_t i = 0; i < op->schema.nrets; i++) {
    if (op->schema.rets[i].type != IG_TYPE_TENSOR) return false;
  }
  return true;
}

static bool is_ours(const ig_defer *d, const ig_tensor *t) {
  const ig_table_slot *at = ig_table_find(&d->numbers, t);
  return at && !d->values.at[at->number].input;
}

// May the written operand be recorded? Reshaping and results given to tensors from outside are not.
static bool may_write(const ig_defer *d, const ig_op *op, const ig_tensor *t) {
  bool ours = is_ours(d, t);
  if ((ig_op_reshapes(op) && !ours) || ig_tensor_has_internal_overlap(t)) return false;
  return op->form != IG_FORM_OUT || (ours && !t->requires_grad);
}

static bool may_write_all(const ig_defer *d, const ig_op *op, const ig_value *v) {
  if (v->kind == IG_KIND_TENSOR) return may_write(d, op, v->tensor);
  bool ok = true;
  for (size_t k = 0; ok && v->kind == IG_KIND_LIST && k < v->list.n; k++) {
    ok = may_write_all(d, op, &v->list.at[k]);
  }
  return ok;
}

static bool all_written(const ig_defer *d, const ig_op *op, const ig_value *args) {
  for (size_t i = 0; i < op->schema.nargs; i++) {
    if (op->schema.args[i].written && !may_write_all(d, op, &args[i])) return false;
  }
  return true;
}

// Is an operand, or an element of a list, not there yet? An operand of another thread's recording
// is computed.
static bool any_pending(ig_ctx *c, const ig_defer *d, const ig_value *args, size_t n) {
  bool any = false;
  for (size_t i = 0; i < n; i++) {
    if (args[i].kind == IG_KIND_LIST) {
      any = any_pending(c, d, args[i].list.at, args[i].list.n) || any;
    } else if (args[i].kind == IG_KIND_TENSOR && args[i].tensor) {
      const ig_tensor *t = args[i].tensor;
      const ig_defer *owner = t->defer ? t->defer : t->storage->defer;
      if (owner && owner != d) (void)ig_defer_ready(c, t);
      any = any || owner == d;
    }
  }
  return any;
}

static bool is_recordable(ig_ctx *c, const ig_defer *d, const ig_op *op, const ig_value *args,
                          wish *w) {
  for (size_t i = 0; i < op->schema.nargs; i++) {
    if (!ig_defer_takes(&args[i])) return false;
  }
  if (!gives_tensors(op) || c->mode->fake) return false;
  w->grad = ig_tape_wanted(c, op, args) && !op->def->not_differentiable;
  w->write = has_written(op);
  return !w->write || all_written(d, op, args);
}

// Sizes and dtypes of the results, and whether they will require gradients.
static bool infer(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs, bool write) {
  bool no_grad = c->mode->no_grad || write;
  ig_mode_change change = {IG_MODE_REWRITE | IG_MODE_FAKE | IG_MODE_NO_GRAD,
                           {.rewrite = NULL, .fake = true, .no_grad = no_grad}};
  ig_mode_scope mode = ig_mode_push(c, &change);
  ig_scope s = ig_scope_open(c);
  ig_run(c, op, args, outs);
  ig_return_values(c, s, outs, op->schema.nrets);
  ig_mode_pop(c, &mode);
  return c->status == IG_OK;
}

// As a word: the same for calls that are made under the same modes.
static uint64_t modes_of(const ig_defer_call *call) {
  uint64_t w = call->no_grad;
  for (int i = 0; i < 2; i++) {
    bool on = call->autocast.at[i].on;
    w = w << 8 | (on ? (uint64_t)(call->autocast.at[i].dtype + 2) : 0);
  }
  return w;
}

static bool append(ig_ctx *c, ig_defer *d, const ig_op *op, const ig_value *given,
                   const ig_value *args) {
  ig_defer_call call = {.op = op, .no_grad = c->mode->no_grad, .autocast = c->mode->autocast};
  if (d->calls.n == 0) {
    d->modes = ig_defer_modes_of(c);
    d->no_grad = c->mode->no_grad;
  }
  bool ok = ig_defer_word(c, d, (uint64_t)(uintptr_t)op) && ig_defer_word(c, d, modes_of(&call));
  for (size_t i = 0; ok && i < op->schema.nargs; i++) {
    ok = ig_defer_arg(c, d, &op->schema.args[i], i, &given[i]);
  }
  call.args = ok ? ig_defer_copy(c, &d->arena, args, op->schema.nargs) : NULL;
  if (!call.args) return false;
  return ig_vec_push(d->alloc, &d->calls, call) || (ig_fail(c, IG_NOMEM, "out of memory") == IG_OK);
}

// What a call is about to write: the tensors and the versions of their memory.
typedef struct written {
  ig_tensor **at;
  uint32_t *versions;
  size_t n;
} written;

static size_t count_tensors(const ig_value *v) {
  size_t n = v->kind == IG_KIND_TENSOR && v->tensor;
  for (size_t k = 0; v->kind == IG_KIND_LIST && k < v->list.n; k++)
    n += count_tensors(&v->list.at[k]);
  return n;
}

static void collect(written *w, const ig_value *v) {
  if (v->kind == IG_KIND_TENSOR && v->tensor) {
    w->versions[w->n] = atomic_load(&v->tensor->storage->version);
    w->at[w->n++] = v->tensor;
  }
  for (size_t k = 0; v->kind == IG_KIND_LIST && k < v->list.n; k++) collect(w, &v->list.at[k]);
}

static bool is_written(const ig_op *op, size_t i) {
  return op->schema.args[i].written || (op->def->writes_too >> i & 1);
}

static bool written_by(ig_ctx *c, const ig_op *op, const ig_value *args, written *w) {
  size_t n = 0;
  for (size_t i = 0; i < op->schema.nargs; i++)
    n += is_written(op, i) ? count_tensors(&args[i]) : 0;
  w->n = 0;
  w->at = ig_scope_array(c, n + 1, sizeof(ig_tensor *));
  w->versions = ig_scope_array(c, n + 1, sizeof *w->versions);
  if (!w->at || !w->versions) return false;
  for (size_t i = 0; i < op->schema.nargs; i++) {
    if (is_written(op, i)) collect(w, &args[i]);
  }
  return true;
}

// One past the last element, counted from the start of the memory.
static int64_t end_of(const ig_tensor *t) {
  int64_t end = t->offset.value + 1;
  for (int i = 0; i < t->ndim; i++) {
    end += (ig_sizes(t)[i].value - 1) * ig_strides(t)[i].value;
  }
  return end;
}

// What ig_tensor_overlap says of memory that is there: views of one memory, neither equal nor
// apart.
static bool is_partial(const ig_tensor *a, const ig_tensor *b) {
  if (a->storage != b->storage) return false;
  if (ig_tensor_numel(a) == 0 || ig_tensor_numel(b) == 0) return false;
  if (end_of(a) <= b->offset.value || end_of(b) <= a->offset.value) return false;
  bool same = a->offset.value == b->offset.value && a->dtype == b->dtype && a->ndim == b->ndim;
  for (int i = 0; i < a->ndim && same; i++) {
    same = ig_sizes(a)[i].value == ig_sizes(b)[i].value &&
           (ig_sizes(a)[i].value == 1 || ig_strides(a)[i].value == ig_strides(b)[i].value);
  }
  return !same && ig_tensor_is_dense_permuted(a) && ig_tensor_is_dense_permuted(b);
}

// Does an operand show part of the memory that t writes?
static bool overlaps(const ig_tensor *t, const ig_value *args, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (args[i].kind == IG_KIND_LIST && overlaps(t, args[i].list.at, args[i].list.n)) return true;
    if (args[i].kind != IG_KIND_TENSOR || !args[i].tensor || args[i].tensor == t) continue;
    if (is_partial(t, args[i].tensor)) return true;
  }
  return false;
}

static ig_defer_value *value_of(const ig_defer *d, const ig_tensor *t) {
  const ig_table_slot *at = ig_table_find(&d->numbers, t);
  return at ? &d->values.at[at->number] : NULL;
}

// How the view t of `of` was taken decides whether autograd lets it be written; views of views
// inherit it.
static void note_view(const ig_ctx *c, const ig_defer *d, const ig_tensor *of, const ig_tensor *t,
                      bool many) {
  ig_defer_value *v = t && t != of && t->storage == of->storage ? value_of(d, t) : NULL;
  const ig_defer_value *base = value_of(d, of);
  if (!v || v->input) return;
  v->root = ig_defer_root(d, of);
  v->untracked = (c->mode->no_grad && of->requires_grad) || (base && base->untracked);
  v->one_of_many = (many && !c->mode->no_grad) || (base && base->one_of_many);
  const struct ig_autograd *outside = of->autograd;
  if (outside && outside->base && outside->creation != IG_CREATED_PLAIN) v->untracked = true;
}

static void note_views(const ig_ctx *c, const ig_defer *d, const ig_op *op, const ig_value *args,
                       const ig_value *outs) {
  const ig_tensor *of = args[0].kind == IG_KIND_TENSOR ? args[0].tensor : NULL;
  if (!of || op->def->detaches || op->schema.nargs == 0 || op->schema.nrets == 0) return;
  if (outs[0].kind == IG_KIND_TENSOR) note_view(c, d, of, outs[0].tensor, false);
  for (size_t k = 0; outs[0].kind == IG_KIND_LIST && k < outs[0].list.n; k++) {
    const ig_value *v = &outs[0].list.at[k];
    if (v->kind == IG_KIND_TENSOR) note_view(c, d, of, v->tensor, true);
  }
}

// Does autograd refuse the write because of how the view was taken?
static bool is_refused_write(ig_ctx *c, const ig_defer *d, const ig_op *op, const ig_value *args) {
  for (size_t i = 0; d->calls.n && !c->mode->no_grad && i < op->schema.nargs; i++) {
    bool tensor = op->schema.args[i].written && args[i].kind == IG_KIND_TENSOR && args[i].tensor;
    const ig_defer_value *v = tensor ? value_of(d, args[i].tensor) : NULL;
    if (v && (v->untracked || (v->one_of_many && ig_tape_wanted(c, op, args)))) return true;
  }
  return false;
}

// t is a recorded view: is its memory that of a leaf from outside, and wants one of them a
// gradient? What was declared to want one may be a view itself.
static bool is_of_leaf(const ig_ctx *c, const ig_defer *d, const ig_tensor *t) {
  const ig_tensor *root = ig_defer_root(d, t);
  bool outside = !c->mode->no_grad && root != t && !is_ours(d, root);
  bool wanted = outside && (root->requires_grad || t->requires_grad);
  return wanted && !(root->autograd && root->autograd->entry) && !ig_defer_is_graded(d, root);
}

// Would the write be refused? The error is then that of the call itself.
static bool are_writable(ig_ctx *c, const ig_defer *d, const ig_op *op, const ig_value *args,
                         const written *w) {
  if (is_refused_write(c, d, op, args)) return false;
  for (size_t i = 0; i < w->n; i++) {
    if (overlaps(w->at[i], args, op->schema.nargs)) return false;
    if (is_of_leaf(c, d, w->at[i])) return false;
    // What was written with a gradient was checked then, and has a history now.
    if (is_ours(d, w->at[i]) || ig_defer_is_graded(d, w->at[i])) continue;
    if (!ig_tape_may_write(c, op, w->at[i])) return false;
    if (!c->mode->no_grad && !ig_tape_check_view_write(c, w->at[i])) return false;
  }
  return true;
}

// Does a view show more of a memory than its operand does? Whether that is there is not known
// before the memory is.
static bool reaches_out(const ig_value *args, const ig_value *outs, size_t nouts) {
  const ig_tensor *of = args[0].kind == IG_KIND_TENSOR ? args[0].tensor : NULL;
  const ig_tensor *t = nouts && outs[0].kind == IG_KIND_TENSOR ? outs[0].tensor : NULL;
  if (!of || !t || t == of || t->storage != of->storage || !of->storage->fake) return false;
  if (ig_tensor_numel(t) == 0) return false;
  size_t width = ig_dtype_size(of->dtype);
  size_t have = ig_tensor_numel(of) ? (size_t)end_of(of) * width : 0;
  if (of->storage->behind) have = of->storage->bytes;
  return (size_t)end_of(t) > have / ig_dtype_size(t->dtype);
}

// False: nothing was recorded, and the context may have an error.
static bool record(ig_ctx *c, ig_defer *d, const ig_op *op, const ig_value *given,
                   const ig_value *args, ig_value *outs, const wish *w) {
  written by = {0};
  bool writes = w->write || op->def->writes_too;
  if (writes && !written_by(c, op, args, &by)) return false;
  if (w->write && !are_writable(c, d, op, args, &by)) return false;
  if (!infer(c, op, args, outs, w->write)) return false;
  if (op->schema.nargs && reaches_out(args, outs, op->schema.nrets)) return false;
  if (!append(c, d, op, given, args)) return true;
  for (size_t i = 0; i < by.n; i++) {
    if (!cover(c, d, by.at[i], by.versions[i])) return true;
  }
  if (!add_results(c, d, outs, op->schema.nrets, w)) return true;
  note_views(c, d, op, args, outs);
  ig_defer_call *call = &d->calls.at[d->calls.n - 1];
  call->outs = ig_defer_copy(c, &d->arena, outs, op->schema.nrets);
  return true;
}

static bool is_plain_answer(const ig_value *outs, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (outs[i].kind == IG_KIND_TENSOR || outs[i].kind == IG_KIND_LIST || !ig_defer_takes(&outs[i]))
      return false;
  }
  return true;
}

static void run_now(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  ig_mode_scope mode = ig_mode_push(c, &(ig_mode_change){IG_MODE_REWRITE, {.rewrite = NULL}});
  ig_call(c, op, args, outs);
  ig_mode_pop(c, &mode);
}

static void forget_error(ig_ctx *c, const ig_defer *d) {
  ig_ctx_clear(c);
  d->host.forgive(d->host.user);
}

static bool is_exposed(const ig_defer *d, const ig_value *values, size_t n) {
  bool any = false;
  for (size_t i = 0; !any && i < n; i++) {
    const ig_value *v = &values[i];
    if (v->kind == IG_KIND_LIST) any = is_exposed(d, v->list.at, v->list.n);
    if (v->kind != IG_KIND_TENSOR || !v->tensor) continue;
    for (size_t k = 0; !any && k < d->exposed.n; k++) any = d->exposed.at[k] == v->tensor->storage;
  }
  return any;
}

static bool same_modes(const ig_defer_modes *a, const ig_defer_modes *b) {
  return a->device.type == b->device.type && a->device.index == b->device.index &&
         a->inference == b->inference && a->dtype == b->dtype;
}

// Did a shape rule refuse the operands, whatever their elements are?
static bool is_wrong(const ig_ctx *c) {
  return c->status == IG_INVALID || c->status == IG_RUNTIME || c->status == IG_BAD_TYPE;
}

// What is done to the results is not recorded with them: their histories and views are those of
// single calls.
static void flush_exposed(ig_ctx *c, ig_defer *d, const ig_op *op) {
  ig_mode_scope mode = ig_defer_push_need(c, &(ig_defer_need){.history = true});
  (void)ig_defer_flush(c, d, IG_DEFER_VALUE, op);
  ig_mode_pop(c, &mode);
}

// given: args with the marks of numbers.
static void take_call(ig_ctx *c, ig_defer *d, const ig_op *op, const ig_value *given,
                      const ig_value *args, ig_value *outs) {
  wish w = {0};
  ig_defer_modes now = ig_defer_modes_of(c);
  if (d->calls.n && !same_modes(&now, &d->modes)) {
    if (!ig_defer_flush(c, d, IG_DEFER_MODE, op)) return;
  }
  bool pending = any_pending(c, d, args, op->schema.nargs);
  if (c->status != IG_OK || !ig_defer_grade_operands(c, d, args, op->schema.nargs)) return;
  if (is_recordable(c, d, op, args, &w)) {
    if (record(c, d, op, given, args, outs, &w)) {
      if (d->exposed.n && is_exposed(d, args, op->schema.nargs)) flush_exposed(c, d, op);
      return;
    }
    if (c->status == IG_NOMEM) return;
    if (is_wrong(c)) d->wrong = ig_arena_strn(&d->arena, c->message, strlen(c->message));
    // Without elements it has no results, or it is wrong: it says so itself when it runs.
    forget_error(c, d);
  } else if (pending && !gives_tensors(op)) {
    // A question about metadata has an answer without elements.
    if (infer(c, op, args, outs, false) && is_plain_answer(outs, op->schema.nrets)) return;
    forget_error(c, d);
  }
  bool order = pending || ig_op_is_random(op) || has_written(op) || op->def->writes_too;
  ig_defer_need need = {.history = is_refused_write(c, d, op, args)};
  ig_mode_scope mode = ig_defer_push_need(c, need.history ? &need : c->mode->need);
  bool ready = !(order || d->whole) || ig_defer_flush(c, d, IG_DEFER_CALL, op);
  ig_mode_pop(c, &mode);
  d->wrong = NULL;
  if (ready) run_now(c, op, args, outs);
}

bool ig_defer_record(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs, void *user) {
  ig_defer *d = user;
  ig_defer_wait(c, d);
  if (d->busy || c->mode->capture) return false;
  d->seen = true;
  ig_value room[IG_MAX_ARGS];
  ig_scope s = ig_scope_open(c);
  const ig_value *plain = ig_defer_plain(c, op, args, room);
  if (plain) take_call(c, d, op, args, plain, outs);
  ig_return_values(c, s, outs, plain ? op->schema.nrets : 0);
  return true;
}
