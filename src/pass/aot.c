// SPDX-License-Identifier: Apache-2.0
// A captured graph as a functional graph with its gradients, in three steps:
// 1. Study: a run with gradients tells which inputs are written, what outputs share memory with and
//    which of them have a gradient.
// 2. Joint: the graph, writes and views included, is run with gradients once more and
// differentiated
//    with tangents as seeds. Autograd sees writes as it does in eager mode, so a write under
//    no_grad or through a view has the gradient that it has there.
// 3. Functionalization of the result.
#include "ingot/aot.h"

#include <stdio.h>

#include "capture/dims.h"
#include "ingot/aten.h"
#include "op/formula.h"
#include "op/record.h"
#include "op/tape.h"
#include "pass/pass.h"

typedef struct tracer {
  ig_ctx *c;
  const ig_graph *g;
  ig_aot *a;
  ig_meta *tangents;  // of each; the innermost scope owns them
  size_t *bases;      // outputs whose base is an extra output
  size_t nbases;
  bool studied;        // what is written is known
  ig_value *handles;   // of each input: what the graph reads and writes, itself or a copy
  uint32_t *versions;  // of the handles before the graph runs
  ig_tensor **seeds;   // the tangents
} tracer;

// ---- calls ----

static void repeat_detach(ig_ctx *c, int times, ig_value *v) {
  const ig_op *op = ig_op_at(c, IG_ID_DETACH);
  for (int i = 0; i < times && c->status == IG_OK; i++) {
    ig_value last = *v;
    ig_pass_record(c, op, &last, v);
  }
}

// Results that are saved for their own gradient are detached twice when they are saved and twice
// when they are read.
static bool is_detached(const ig_tape_entry *e, size_t i) {
  bool saved = e->kind == IG_ENTRY_OP && (e->op->keep_outs >> i & 1) != 0;
  unsigned with = e->op ? e->op->def->diff_results : 0;
  bool graded = with == 0 || (with >> i & 1) != 0;
  const ig_tensor *t = e->outs[i].kind == IG_KIND_TENSOR ? e->outs[i].tensor : NULL;
  return saved && graded && t && (ig_dtype_is_float(t->dtype) || ig_dtype_is_complex(t->dtype));
}

enum { DETACHES_OF_SAVED = 2 };

static void detach_results(ig_ctx *c, ig_tape_entry *e) {
  for (size_t i = 0; i < e->nouts && c->status == IG_OK; i++) {
    if (!is_detached(e, i)) continue;
    ig_value v = e->outs[i];
    repeat_detach(c, DETACHES_OF_SAVED, &v);
    if (c->status == IG_OK) e->outs[i].tensor->node = v.tensor->node;
  }
}

static void before_entry(ig_ctx *c, ig_tensor **grads, size_t n, ig_tensor *const *of_results,
                         size_t nresults, void *user) {
  (void)grads;
  (void)n;
  (void)of_results;
  (void)nresults;
  detach_results(c, user);
}

static bool has_lists(const ig_op *op) {
  for (size_t i = 0; i < op->schema.nrets; i++) {
    if (op->schema.rets[i].list) return true;
  }
  return false;
}

static void keep_results(ig_ctx *c, const ig_op *op, const ig_value *outs) {
  ig_tape_entry *e = NULL;
  for (size_t i = 0; i < op->schema.nrets && !e; i++) {
    const ig_tensor *t = outs[i].kind == IG_KIND_TENSOR ? outs[i].tensor : NULL;
    if (t && t->autograd) e = t->autograd->entry;
  }
  if (!e || e->called != op || has_lists(op)) return;
  bool any = false;
  for (size_t i = 0; i < e->nouts; i++) any = any || is_detached(e, i);
  if (!any) return;
  detach_results(c, e);
  ig_grad_fn_hook hook = {.pre = true, .fn = before_entry, .user = e};
  if (c->status == IG_OK) (void)ig_grad_fn_add_hook(c, e, &hook);
}

// The copy of a constant that a program begins with: there is nothing to detach it from.
static bool is_literal(const ig_tensor *t) {
  const ig_node *n = t->node;
  return n && n->kind == IG_NODE_CALL && n->callee == IG_CALLEE_OP &&
         n->op->number == IG_ID_LIFT_FRESH_COPY;
}

static bool lower(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs, void *user) {
  (void)user;
  if (op->number == IG_ID_DETACH && is_literal(args[0].tensor)) {
    outs[0] = args[0];
    return true;
  }
  if (!ig_op_is_traced_apart(op)) return false;
  ig_op_lower(c, op, args, outs);
  return true;
}

// Writes to arguments other than self, and those that the schema does not tell of: running
// statistics, in training. They count before the call, because the gradient may read what was
// written.
static void note_writes(const ig_op *op, const ig_value *args) {
  bool idle = op->number == IG_ID_NATIVE_BATCH_NORM && !args[5].b;
  if (op->form != IG_FORM_PLAIN || idle) return;
  for (size_t i = 0; i < op->schema.nargs; i++) {
    bool written = op->schema.args[i].written || (op->def->writes_too >> i & 1) != 0;
    if (written && args[i].kind == IG_KIND_TENSOR) ig_tensor_bump(args[i].tensor);
  }
}

// An in-place call overwrites what its gradient needs: the graph copies it first. NULL: it does
// not.
static ig_node *copy_overwritten(ig_ctx *c, const ig_op *op, const ig_value *args) {
  bool needs = op->form == IG_FORM_INPLACE && op->base && (op->base->keep & 1) != 0;
  if (!needs || c->mode->no_grad) return NULL;
  ig_mode_scope mode = ig_mode_push_grad(c, false);
  ig_value given[] = {args[0], ig_none()};
  ig_value copy = ig_none();
  ig_pass_record(c, ig_op_at(c, IG_ID_CLONE), given, &copy);
  ig_mode_pop(c, &mode);
  return c->status == IG_OK ? copy.tensor->node : NULL;
}

// The entry of the call that has just written t; for a view it is a part of its base's history.
static const ig_tape_entry *entry_of_write(const ig_tensor *t) {
  const ig_tensor *base = t && t->autograd ? t->autograd->base : NULL;
  const ig_tensor *owner = base && base->autograd ? base : t;
  const ig_tape_entry *e = owner && owner->autograd ? owner->autograd->entry : NULL;
  return e && e->kind == IG_ENTRY_SLICES ? e->inner : e;
}

// Also for other operands that are the same tensor: x.mul_(x).
static void read_copy(const ig_op *op, const ig_value *args, const ig_value *outs, ig_node *old) {
  const ig_tape_entry *e = entry_of_write(outs[0].kind == IG_KIND_TENSOR ? outs[0].tensor : NULL);
  if (!e || e->called != op) return;
  for (size_t i = 0; i < op->schema.nargs; i++) {
    bool same = args[i].kind == IG_KIND_TENSOR && args[i].tensor == args[0].tensor;
    if (same && e->args[i].kind == IG_KIND_TENSOR) e->args[i].tensor->node = old;
  }
}

// Only the parts of the operator have a gradient.
static bool is_taken_apart(const ig_op *op) {
  return !op->def->vjp && ig_op_has_decomposition(op) && !op->def->not_differentiable;
}

static bool trace(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs, void *user) {
  if (op->number == IG_ID_DETACH && !is_literal(args[0].tensor)) {
    outs[0] = args[0];
    repeat_detach(c, ig_release_forms(c->mode->capture->release)->detaches, outs);
    return true;
  }
  if (lower(c, op, args, outs, user)) return true;
  bool wanted = ig_tape_wanted(c, op, args);
  if (wanted && !op->base && is_taken_apart(op)) {
    ig_op_decompose(c, op, args, outs);
    return true;
  }
  if (wanted && op->base && op->form == IG_FORM_INPLACE && is_taken_apart(op->base)) {
    ig_write_parts(c, op->base, args, args[0].tensor);
    outs[0] = args[0];
    return true;
  }
  ig_node *old = wanted ? copy_overwritten(c, op, args) : NULL;
  note_writes(op, args);
  ig_pass_record(c, op, args, outs);
  if (wanted && c->status == IG_OK) keep_results(c, op, outs);
  if (old && c->status == IG_OK) read_copy(op, args, outs, old);
  return true;
}

// ---- handles of inputs ----

// An input that is written may be a leaf, which only a copy of it allows. The copy of a tensor with
// gaps has the same gaps: what is a view of one is a view of the other. An expanded tensor has no
// such copy.
static ig_tensor *copy_of(ig_ctx *c, ig_tensor *t) {
  if (ig_tensor_is_dense_permuted(t) || ig_tensor_has_internal_overlap(t)) return ig_clone(c, t);
  ig_value size = ig_of_ints(ig_sizes(t), (size_t)t->ndim);
  ig_value stride = ig_of_ints(ig_strides(t), (size_t)t->ndim);
  ig_tensor *copy = ig_new_empty_strided(c, t, size, stride);
  return copy ? ig_copy_(c, copy, t) : NULL;
}

static bool add_tangents(tracer *t) {
  for (size_t i = 0; i < t->a->ntangents; i++) {
    char name[32];
    (void)snprintf(name, sizeof name, "tangents_%zu", i + 1);
    ig_placeholder p = {.role = IG_INPUT_USER, .name = name, .path = name, .late = true};
    t->seeds[i] = ig_record_placeholder(t->c, &p, &t->tangents[i]);
    if (!t->seeds[i]) return false;
  }
  return true;
}

// Until it is known what is written, all that may need a copy is copied.
static bool is_copied(const tracer *t, size_t i, const ig_tensor *input) {
  return input->requires_grad && (!t->studied || t->a->inputs[i].written);
}

static bool take_inputs(ig_ctx *c, ig_value *inputs, size_t n, void *user) {
  tracer *t = user;
  if (!add_tangents(t)) return false;
  for (size_t i = 0; i < n && c->status == IG_OK; i++) {
    t->handles[i] = inputs[i];
    if (inputs[i].kind != IG_KIND_TENSOR) continue;
    ig_tensor *in = inputs[i].tensor;
    if (is_copied(t, i, in)) in = copy_of(c, in);
    if (!in) return false;
    t->versions[i] = ig_tensor_version(in);
    t->handles[i] = inputs[i] = ig_of_tensor(in);
  }
  return c->status == IG_OK;
}

// ---- study ----

static bool same_number(ig_int a, ig_int b) {
  return a.expr == b.expr && (a.expr || a.value == b.value);  // concrete: no query
}

// Has the input another layout in the end? The copy of an expanded one is contiguous.
static bool is_reshaped(const tracer *t, size_t i, const ig_tensor *input, const ig_tensor *now) {
  ig_meta m;
  ig_meta_of(input, &m);
  bool copied = is_copied(t, i, input);
  if (copied && ig_tensor_has_internal_overlap(input)) ig_meta_contiguous(t->c, &m);
  bool same = m.ndim == now->ndim;
  for (int d = 0; same && d < m.ndim; d++) {
    same = same_number(m.size[d], ig_sizes(now)[d]) && same_number(m.stride[d], ig_strides(now)[d]);
  }
  return !same;
}

static void study_inputs(tracer *t, const ig_value *handles) {
  const ig_node *p = t->g->first;
  t->a->nwrites = 0;
  for (size_t i = 0; i < t->a->ninputs; i++, p = p->next) {
    if (handles[i].kind != IG_KIND_TENSOR) continue;
    const ig_tensor *now = handles[i].tensor;
    bool reshaped = is_reshaped(t, i, p->val.tensor, now);
    bool changed = ig_tensor_version(now) != t->versions[i];
    t->a->inputs[i] = (ig_aot_input){.written = reshaped || changed,
                                     .reshaped = reshaped,
                                     .requires_grad = ig_tape_requires_grad(now)};
    t->a->nwrites += t->a->inputs[i].written;
  }
}

static const ig_tensor *base_of(const ig_tensor *t) {
  return t->autograd ? t->autograd->base : NULL;
}

// Outputs over the same memory; single: only those that are not one of several results of a view.
static size_t count_sharing(const ig_value *outs, size_t n, const ig_tensor *t, bool single) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++) {
    if (outs[i].kind != IG_KIND_TENSOR || outs[i].tensor->storage != t->storage) continue;
    bool many = outs[i].tensor->autograd && outs[i].tensor->autograd->creation == IG_CREATED_MULTI;
    count += !(single && many);
  }
  return count;
}

static size_t find_tensor(const ig_value *list, size_t n, const ig_tensor *t) {
  size_t i = 0;
  while (i < n && !(list[i].kind == IG_KIND_TENSOR && list[i].tensor == t)) i++;
  return i;
}

static ig_aot_output of_input(const ig_value *outs, size_t n, const ig_value *handles,
                              size_t ninputs, const ig_tensor *t) {
  size_t input = find_tensor(handles, ninputs, t);
  if (ig_tape_requires_grad(t) && input == ninputs && !count_sharing(outs, n, t, true)) {
    return (ig_aot_output){IG_AOT_PLAIN, 0, true};
  }
  ig_aot_alias how = input < ninputs ? IG_AOT_INPUT : IG_AOT_OF_INPUT;
  for (size_t i = 0; input == ninputs && i < ninputs; i++) {
    if (handles[i].kind == IG_KIND_TENSOR && handles[i].tensor->storage == t->storage) input = i;
  }
  return (ig_aot_output){how, input, ig_tape_requires_grad(t)};
}

static bool over_input(const ig_value *handles, size_t n, const ig_tensor *t) {
  for (size_t i = 0; i < n; i++) {
    if (handles[i].kind == IG_KIND_TENSOR && handles[i].tensor->storage == t->storage) return true;
  }
  return false;
}

// Was t detached from the input whose memory it shows, and written with a gradient? The views that
// lead to it from the input have no such history.
static bool has_own_history(const ig_value *handles, size_t n, const ig_tensor *t) {
  if (!ig_tape_requires_grad(t) || !over_input(handles, n, t)) return false;
  const ig_tensor *base = base_of(t) ? base_of(t) : t;
  for (size_t i = 0; i < n; i++) {
    const ig_tensor *in = handles[i].kind == IG_KIND_TENSOR ? handles[i].tensor : NULL;
    if (in && (in == base || base_of(in) == base)) return false;
  }
  return true;
}

static ig_aot_output of_intermediate(tracer *t, const ig_value *outs, size_t n, size_t i) {
  const ig_tensor *o = outs[i].tensor;
  const ig_tensor *base = base_of(o);
  bool graded = ig_tape_requires_grad(o);
  if (!base || !graded || !ig_tape_requires_grad(base)) {
    return (ig_aot_output){IG_AOT_PLAIN, 0, graded};
  }
  // Who writes to a part of an expanded output writes to its base: a gradient needs the base.
  bool alone = count_sharing(outs, n, o, false) == 1 && !ig_tensor_has_internal_overlap(o);
  if (alone || !count_sharing(outs, n, o, true)) {
    return (ig_aot_output){IG_AOT_OF_HIDDEN, 0, graded};
  }
  size_t output = find_tensor(outs, n, base);
  if (output < n) return (ig_aot_output){IG_AOT_OF_OUTPUT, output, graded};
  for (size_t k = 0; k < t->nbases; k++) {
    if (base_of(outs[t->bases[k]].tensor) == base) {
      return (ig_aot_output){IG_AOT_OF_BASE, k, graded};
    }
  }
  t->bases[t->nbases++] = i;
  return (ig_aot_output){IG_AOT_OF_NEW_BASE, t->nbases - 1, graded};
}

static bool has_tangent(const ig_aot_output *o) {
  return o->requires_grad && (o->alias == IG_AOT_PLAIN || o->alias == IG_AOT_OF_HIDDEN);
}

static bool is_contiguous(const ig_meta *m) {
  int64_t step = 1;
  for (int d = m->ndim - 1; d >= 0; d--) {
    bool one = m->size[d].value == 1;  // concrete: by the example sizes, no query
    if (!one && m->stride[d].value != step) return false;
    if (!ig_checked_mul(step, m->size[d].value, &step)) return false;
  }
  return true;
}

// A gradient has the layout of its output, where that is a permutation of a contiguous one.
static void add_tangent(tracer *t, const ig_tensor *like) {
  ig_meta *m = &t->tangents[t->a->ntangents];
  ig_meta_of(like, m);
  m->offset = ig_const(0);
  if (!ig_tensor_is_dense_permuted(like)) ig_meta_contiguous(t->c, m);
  t->a->contiguous[t->a->ntangents++] = is_contiguous(m);
}

static void study_tangents(tracer *t, const ig_value *outs, const ig_value *handles) {
  ig_aot *a = t->a;
  for (size_t i = 0; i < a->ninputs; i++) {
    if (a->inputs[i].written && a->inputs[i].requires_grad) add_tangent(t, handles[i].tensor);
  }
  for (size_t i = 0; i < a->noutputs; i++) {
    if (has_tangent(&a->outputs[i])) add_tangent(t, outs[i].tensor);
  }
  for (size_t i = 0; i < t->nbases; i++) add_tangent(t, base_of(outs[t->bases[i]].tensor));
}

static const ig_value *study(ig_ctx *c, const ig_value *inputs, size_t ninputs,
                             const ig_value *outs, size_t *n, void *user) {
  (void)inputs;
  (void)ninputs;
  tracer *t = user;
  ig_aot *a = t->a;
  const ig_value *handles = t->handles;
  study_inputs(t, handles);
  t->nbases = 0;
  a->ntangents = 0;
  for (size_t i = 0; i < a->noutputs; i++) {
    if (outs[i].kind != IG_KIND_TENSOR) continue;
    const ig_tensor *o = outs[i].tensor;
    a->refused = a->refused || has_own_history(handles, a->ninputs, o);
    a->outputs[i] = over_input(handles, a->ninputs, o)
                        ? of_input(outs, a->noutputs, handles, a->ninputs, o)
                        : of_intermediate(t, outs, a->noutputs, i);
  }
  study_tangents(t, outs, handles);
  *n = 0;
  return c->status == IG_OK ? outs : NULL;
}

static bool study_once(tracer *t, bool grad) {
  ig_transform how = {
      .rewrite = {.fn = trace}, .grad = grad, .start = take_inputs, .finish = study, .user = t};
  ig_graph *gone = NULL;
  bool ok = ig_graph_transform(t->c, t->g, &how, &gone) == IG_OK;
  ig_graph_free(gone);
  return ok;
}

// Was an expanded input copied although it is not written? What is no view of it may be one of the
// copy.
static bool has_other_views(const tracer *t) {
  const ig_node *p = t->g->first;
  for (size_t i = 0; i < t->a->ninputs; i++, p = p->next) {
    const ig_tensor *in = p->val.kind == IG_KIND_TENSOR ? p->val.tensor : NULL;
    if (!in || t->a->inputs[i].written || !in->requires_grad) continue;
    if (ig_tensor_has_internal_overlap(in)) return true;
  }
  return false;
}

static bool run_study(tracer *t, bool grad) {
  if (!study_once(t, grad) || t->a->refused) return false;
  t->studied = true;
  if (!has_other_views(t)) return true;
  t->a->ntangents = 0;  // they are not there yet
  return study_once(t, grad);
}

// ---- joint ----

typedef struct seeds {
  ig_tensor **outputs;
  ig_tensor **seeds;  // one per output
  size_t n;
} seeds;

static void seed(seeds *s, ig_tensor *output) {
  s->outputs[s->n++] = output;
}

static bool append_grads(const tracer *t, const ig_value *inputs, seeds *s, ig_value *all,
                         size_t *n) {
  ig_ctx *c = t->c;
  size_t count = t->a->ninputs;
  ig_tensor **wanted = ig_scope_array(c, count, sizeof *wanted);
  ig_tensor **grads = ig_pass_zeros(c, count, sizeof *grads);
  if (!wanted || !grads) return false;
  size_t k = 0;
  for (size_t i = 0; i < count; i++) {
    bool tensor = inputs[i].kind == IG_KIND_TENSOR;
    if (tensor && inputs[i].tensor->requires_grad) wanted[k++] = inputs[i].tensor;
  }
  ig_backward_args args = {.size = sizeof args,
                           .outputs = s->outputs,
                           .noutputs = s->n,
                           .seeds = s->seeds,
                           .inputs = wanted,
                           .ninputs = k,
                           .allow_unused = true};
  if (k && ig_backward(c, &args, grads) != IG_OK) {
    t->a->refused = c->status != IG_NOMEM;
    return false;
  }
  k = 0;
  for (size_t i = 0; i < count; i++) {
    bool graded = inputs[i].kind == IG_KIND_TENSOR && inputs[i].tensor->requires_grad;
    ig_tensor *g = graded ? grads[k++] : NULL;
    all[(*n)++] = g ? ig_of_tensor(g) : ig_none();
  }
  return true;
}

// outs, handles -> written inputs, outs, bases, gradients
static const ig_value *join(ig_ctx *c, const ig_value *inputs, size_t ninputs, const ig_value *outs,
                            size_t *n, void *user) {
  const tracer *t = user;
  const ig_aot *a = t->a;
  const ig_value *handles = t->handles;
  seeds s = {.seeds = t->seeds};
  size_t most = ig_mem_mul(2, ig_mem_add(a->ninputs, a->noutputs));
  s.outputs = ig_scope_array(c, a->ntangents + 1, sizeof *s.outputs);
  ig_value *all = ig_scope_array(c, most, sizeof *all);
  (void)ninputs;
  if (!s.outputs || !all) return NULL;
  *n = 0;
  for (size_t i = 0; i < a->ninputs; i++) {
    if (!a->inputs[i].written) continue;
    all[(*n)++] = handles[i];
    if (a->joint && a->inputs[i].requires_grad) seed(&s, handles[i].tensor);
  }
  for (size_t i = 0; i < a->noutputs; i++) {
    all[(*n)++] = outs[i];
    if (a->joint && has_tangent(&a->outputs[i])) seed(&s, outs[i].tensor);
  }
  for (size_t i = 0; i < t->nbases && a->joint; i++) {
    ig_tensor *base = (ig_tensor *)base_of(outs[t->bases[i]].tensor);
    all[(*n)++] = ig_of_tensor(base);
    seed(&s, base);
  }
  if (a->joint && !append_grads(t, inputs, &s, all, n)) return NULL;
  return c->status == IG_OK ? all : NULL;
}

static bool name_inputs(ig_ctx *c, ig_graph *g, const ig_aot *a) {
  ig_node *p = g->first;
  for (size_t i = 0; i < a->ninputs; i++, p = p->next) {
    char name[32];
    (void)snprintf(name, sizeof name, a->joint ? "primals_%zu" : "arg%zu_1", i + a->joint);
    if (!ig_graph_set_name(c, g, p, name)) return false;
    p->target = p->name;
    p->path = p->name;
  }
  return true;
}

// ---- sizes that turned out to be fixed ----

static bool is_fixed(const ig_value *v) {
  return v->kind == IG_KIND_NODE && v->node->val.kind == IG_KIND_INT && !v->node->val.i.expr;
}

static bool has_fixed(const ig_value *v) {
  bool any = is_fixed(v);
  for (size_t i = 0; v->kind == IG_KIND_LIST && i < v->list.n && !any; i++) {
    any = has_fixed(&v->list.at[i]);
  }
  return any;
}

static bool fix_value(ig_ctx *c, ig_value *v) {
  if (is_fixed(v)) *v = v->node->val;
  if (v->kind != IG_KIND_LIST || !has_fixed(v)) return true;
  ig_value *items = ig_scope_array(c, v->list.n, sizeof *items);
  for (size_t i = 0; items && i < v->list.n; i++) {
    items[i] = v->list.at[i];
    if (!fix_value(c, &items[i])) return false;
  }
  v->list.at = items;
  return items != NULL;
}

// A symbol that equals a number is read as that number.
static bool fix_numbers(ig_ctx *c, ig_graph *g) {
  ig_graph_settle(c, g);
  for (ig_node *n = g->first; n && c->status == IG_OK; n = n->next) {
    size_t count = n->npos + n->nkw;
    ig_value args = ig_of_list(n->args, count);
    if (n->kind == IG_NODE_OUTPUT || !has_fixed(&args)) continue;
    ig_scope s = ig_scope_open(c);
    bool ok = fix_value(c, &args) && ig_node_set_args(c, n, args.list.at, n->npos, n->nkw, n->keys);
    ig_scope_close(c, s);
    if (!ok) return false;
  }
  return c->status == IG_OK;
}

static bool functional(tracer *t, const ig_graph *g) {
  ig_rewrite apart = {.fn = lower};
  ig_graph *out = NULL;
  if (ig_graph_functionalize(t->c, g, &apart, &out) != IG_OK) {
    t->a->refused = t->c->status == IG_UNSUPPORTED;
    return false;
  }
  t->a->graph = out;
  ig_graph_drop_grad_modes(out);
  if (!fix_numbers(t->c, out)) return false;
  (void)ig_graph_dce(out);
  return name_inputs(t->c, out, t->a) && ig_graph_verify(t->c, out) == IG_OK;
}

static bool run_joint(tracer *t) {
  ig_transform how = {.rewrite = {.fn = trace},
                      .grad = t->a->joint,
                      .start = take_inputs,
                      .finish = join,
                      .user = t};
  ig_graph *joint = NULL;
  bool ok = ig_graph_transform(t->c, t->g, &how, &joint) == IG_OK && functional(t, joint);
  ig_graph_free(joint);
  return ok;
}

// ---- all of it ----

// An output with a gradient that leads to an input.
static bool is_differentiable(const ig_aot *a) {
  for (size_t i = 0; i < a->noutputs; i++) {
    if (a->outputs[i].requires_grad) return true;
  }
  for (size_t i = 0; i < a->ninputs; i++) {
    if (a->inputs[i].written && a->inputs[i].requires_grad) return true;
  }
  return false;
}

static ig_aot *aot_new(ig_ctx *c, const ig_graph *g) {
  ig_aot *a = ig_mem_new(c->alloc, sizeof *a);
  if (!a) {
    (void)ig_fail(c, IG_NOMEM, "out of memory");
    return NULL;
  }
  a->ninputs = ig_graph_input_count(g);
  a->noutputs = ig_graph_output_count(g);
  a->alloc = c->alloc;
  a->inputs = ig_mem_array(c->alloc, a->ninputs, sizeof *a->inputs);
  a->outputs = ig_mem_array(c->alloc, a->noutputs, sizeof *a->outputs);
  a->most_tangents = a->ninputs + 2 * a->noutputs + 1;
  a->contiguous = ig_mem_array(c->alloc, a->most_tangents, sizeof *a->contiguous);
  if (a->inputs && a->outputs && a->contiguous) return a;
  ig_aot_free(a);
  (void)ig_fail(c, IG_NOMEM, "out of memory");
  return NULL;
}

ig_status ig_aot_create(ig_ctx *c, const ig_graph *g, bool grad, ig_aot **out) {
  *out = NULL;
  if (c->status != IG_OK) return c->status;
  ig_scope s = ig_scope_open(c);
  tracer t = {.c = c, .g = g, .a = aot_new(c, g)};
  if (t.a) {
    t.tangents = ig_scope_array(c, t.a->most_tangents, sizeof *t.tangents);
    t.bases = ig_scope_array(c, t.a->noutputs + 1, sizeof *t.bases);
    t.handles = ig_scope_array(c, t.a->ninputs + 1, sizeof *t.handles);
    t.versions = ig_scope_array(c, t.a->ninputs + 1, sizeof *t.versions);
    t.seeds = ig_scope_array(c, t.a->most_tangents, sizeof *t.seeds);
  }
  bool room = t.a && t.tangents && t.bases && t.handles && t.versions && t.seeds;
  bool ok = room && run_study(&t, grad);
  if (ok) {
    t.a->joint = grad && is_differentiable(t.a);
    t.a->nbases = t.a->joint ? t.nbases : 0;
    if (!t.a->joint) t.a->ntangents = 0;
    ok = run_joint(&t);
  }
  ig_scope_close(c, s);
  if (!ok && t.a && t.a->refused) {
    ig_ctx_clear(c);
    ok = true;
  }
  if (ok) {
    *out = t.a;
  } else {
    ig_aot_free(t.a);
  }
  return c->status;
}

void ig_aot_free(ig_aot *a) {
  if (!a) return;
  ig_alloc alloc = a->alloc;
  ig_graph_free(a->graph);
  ig_mem_array_free(alloc, a->inputs, a->ninputs, sizeof *a->inputs);
  ig_mem_array_free(alloc, a->outputs, a->noutputs, sizeof *a->outputs);
  ig_mem_array_free(alloc, a->contiguous, a->most_tangents, sizeof *a->contiguous);
  ig_mem_free(alloc, a, sizeof *a);
}

// ---- views ----

static ig_node *output_node(const ig_aot *a, size_t i) {
  const ig_value *v = &a->graph->last->args[i];
  return v->kind == IG_KIND_NODE ? v->node : NULL;
}

// The node of the base: the new value of a written input, an input, an output, a base.
static ig_node *base_node(const ig_aot *a, const ig_aot_output *o) {
  size_t writes = 0;
  ig_node *p = a->graph->first;
  switch (o->alias) {
    case IG_AOT_OF_INPUT:
      for (size_t i = 0; i < o->base; i++, p = p->next) writes += a->inputs[i].written;
      return a->inputs[o->base].written ? output_node(a, writes) : p;
    case IG_AOT_OF_OUTPUT:
      return output_node(a, a->nwrites + o->base);
    case IG_AOT_OF_BASE:
    case IG_AOT_OF_NEW_BASE:
      return a->joint ? output_node(a, a->nwrites + a->noutputs + o->base) : NULL;
    default:
      return NULL;
  }
}

// Is n a number that can be computed from the sizes of base and from the symbolic inputs?
static bool is_number_of(const ig_node *n, const ig_node *base) {
  if (n == base) return true;
  if (n->val.kind != IG_KIND_INT) return false;
  if (ig_node_is_placeholder(n)) return true;
  for (size_t i = 0; i < n->ninputs; i++) {
    if (!is_number_of(n->inputs[i], base)) return false;
  }
  return n->ninputs != 0;
}

// Is n made from base by views and arithmetic on sizes alone?
static bool is_view_of(const ig_node *n, const ig_node *base) {
  while (n != base) {
    bool call = n->kind == IG_NODE_CALL && n->ninputs;
    bool view = call && n->callee == IG_CALLEE_OP && n->op->def->view;
    bool item = call && n->callee == IG_CALLEE_GETITEM;
    if (!view && !item) return false;
    for (size_t i = 1; i < n->ninputs; i++) {
      if (!is_number_of(n->inputs[i], base)) return false;
    }
    n = n->inputs[0];
  }
  return true;
}

ig_status ig_aot_view(ig_ctx *c, const ig_aot *a, size_t i, ig_graph **out) {
  *out = NULL;
  if (c->status != IG_OK) return c->status;
  if (i >= a->noutputs) return ig_fail(c, IG_INVALID, "no output %zu", i);
  ig_node *base = base_node(a, &a->outputs[i]);
  ig_node *n = output_node(a, a->nwrites + i);
  if (!base || !n || !is_view_of(n, base)) return IG_OK;
  ig_scope s = ig_scope_open(c);
  ig_node **inputs = ig_scope_array(c, a->ninputs + 1, sizeof *inputs);
  size_t count = 0;
  if (inputs) inputs[count++] = base;
  ig_node *p = a->graph->first;
  for (size_t k = 0; inputs && k < a->ninputs; k++, p = p->next) {
    if (p->val.kind == IG_KIND_INT && p != base) inputs[count++] = p;
  }
  ig_value view = ig_of_node(n);
  if (inputs) *out = ig_pass_extract(c, a->graph, inputs, count, &view, 1, NULL);
  ig_scope_close(c, s);
  return c->status;
}
