// SPDX-License-Identifier: Apache-2.0
// Functionalization: interpretation under a recording context. A call that mutates is replaced by
// its functional form, whose result becomes the new value of the memory (pass/alias.h); views are
// recorded and tracked; composite operators that may alias or mutate are decomposed, and the calls
// of the decomposition are handled in the same way.
#include <stdio.h>
#include <string.h>

#include "op/call.h"
#include "op/formula.h"
#include "op/hop.h"
#include "pass/alias.h"
#include "pass/pass.h"

typedef struct functionalizer {
  ig_aliases aliases;
  const ig_program *p;
  bool *written;            // per placeholder, when done
  const ig_rewrite *apart;  // what else is decomposed; NULL: nothing
} functionalizer;

static bool taken_apart(const functionalizer *f, const ig_op *op, const ig_value *args,
                        ig_value *outs) {
  return f->apart && f->apart->fn(f->aliases.c, op, args, outs, f->apart->user);
}

static bool sync_value(functionalizer *f, const ig_value *v) {
  if (v->kind == IG_KIND_TENSOR) return ig_alias_sync(&f->aliases, v->tensor);
  for (size_t i = 0; v->kind == IG_KIND_LIST && i < v->list.n; i++) {
    if (!sync_value(f, &v->list.at[i])) return false;
  }
  return true;
}

static bool sync_args(functionalizer *f, const ig_op *op, const ig_value *args) {
  for (size_t i = 0; i < op->schema.nargs; i++) {
    if (!sync_value(f, &args[i])) return false;
  }
  return true;
}

static void record(functionalizer *f, const ig_op *op, const ig_value *args, ig_value *outs) {
  if (sync_args(f, op, args)) ig_pass_record(f->aliases.c, op, args, outs);
}

// ---- decomposition ----

static bool has_alias(const ig_op *op) {
  for (size_t i = 0; i < op->schema.nargs; i++) {
    if (op->schema.args[i].alias) return true;
  }
  return false;
}

static bool is_written(const ig_op *op) {
  for (size_t i = 0; i < op->schema.nargs; i++) {
    if (op->schema.args[i].written) return true;
  }
  return false;
}

static bool is_expanded(const ig_op *op) {
  if (!(op->facts & IG_FACT_IMPLICIT) || !ig_op_has_lowering(op)) return false;
  return has_alias(op) || op->def->may_alias;
}

static bool is_view(const ig_op *op) {
  const ig_schema *s = &op->schema;
  return s->nargs && s->args[0].alias && s->nrets == 1 && op->def->view;
}

// ---- conversions and literals ----

static const ig_value *arg_named(const ig_op *op, const ig_value *args, const char *name) {
  for (size_t i = 0; i < op->schema.nargs; i++) {
    if (strcmp(op->schema.args[i].name, name) == 0) return &args[i];
  }
  return NULL;
}

static bool converts_freely(const functionalizer *f) {
  return f->p && f->p->graph->free_conversions;
}

// x.to(...) is a copy even if nothing changes; since it may be x itself, it must not be modified,
// except in programs from scripts.
static void convert(functionalizer *f, const ig_op *op, const ig_value *args, ig_value *outs) {
  ig_ctx *c = f->aliases.c;
  const ig_op *copy = ig_op_at(c, IG_ID__TO_COPY);
  ig_value given[IG_MAX_ARGS];
  for (size_t i = 0; i < copy->schema.nargs; i++) {
    const ig_value *v = arg_named(op, args, copy->schema.args[i].name);
    given[i] = v ? *v : copy->schema.args[i].def;
  }
  const ig_value *other = arg_named(op, args, "other");
  if (other && other->kind == IG_KIND_TENSOR) {
    given[1] = ig_of_dtype(other->tensor->dtype);
    given[2] = (ig_value){.kind = IG_KIND_LAYOUT, .layout = IG_STRIDED};
    given[3] = ig_of_device(other->tensor->device);
  }
  record(f, copy, given, outs);
  if (!converts_freely(f)) ig_alias_freeze(&f->aliases, ig_value_tensor(&outs[0]));
}

static bool is_constant(const ig_tensor *t) {
  const ig_node *n = t->node;
  return n->kind == IG_NODE_ATTR || (ig_node_is_placeholder(n) && n->role == IG_INPUT_CONSTANT);
}

// In training mode, running statistics are updated if there are any, though the schema does not say
// so.
static void batch_norm(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *w = ig_value_tensor(&args[1]);
  ig_tensor *b = ig_value_tensor(&args[2]);
  ig_tensor *mean = ig_value_tensor(&args[3]);
  ig_tensor *var = ig_value_tensor(&args[4]);
  if (!args[5].b) {
    ig__native_batch_norm_legit_no_training(c, x, w, b, mean, var, args[6].f, args[7].f, outs);
  } else if (mean && var) {
    ig__native_batch_norm_legit(c, x, w, b, mean, var, true, args[6].f, args[7].f, outs);
  } else {
    ig__native_batch_norm_legit_no_stats(c, x, w, b, true, args[6].f, args[7].f, outs);
  }
}

static bool special(functionalizer *f, const ig_op *op, const ig_value *args, ig_value *outs) {
  ig_ctx *c = f->aliases.c;
  if (op->def->converts) {
    convert(f, op, args, outs);
  } else if (op->number == IG_ID_LIFT_FRESH_COPY && !is_constant(args[0].tensor)) {
    outs[0] = ig_of_tensor(ig_clone(c, args[0].tensor));
  } else if (op->number == IG_ID_NATIVE_BATCH_NORM) {
    batch_norm(c, args, outs);
  } else {
    return false;
  }
  return true;
}

// ---- writing ----

// The operator that computes what this one writes; its results are those of op that are not
// operands, then one per mutated argument.
static const ig_op *functional_of(ig_ctx *c, const ig_op *op) {
  if (op->base) return op->base;
  const ig_op *found = op->def->functional ? ig_op_find(c, op->def->functional) : NULL;
  if (!found) {
    (void)ig_fail(c, IG_UNSUPPORTED, "it mutates its operands and has no functional form");
  }
  return found;
}

static ig_tensor *as_dtype(functionalizer *f, ig_tensor *t, ig_dtype dtype) {
  if (!t || t->dtype == dtype) return t;
  const ig_op *copy = ig_op_at(f->aliases.c, IG_ID__TO_COPY);
  ig_value args[IG_MAX_ARGS];
  ig_value outs[IG_MAX_RETURNS];
  args[0] = ig_of_tensor(t);
  for (size_t i = 1; i < copy->schema.nargs; i++) args[i] = copy->schema.args[i].def;
  args[1] = ig_of_dtype(dtype);
  args[2] = (ig_value){.kind = IG_KIND_LAYOUT, .layout = IG_STRIDED};
  ig_pass_record(f->aliases.c, copy, args, outs);
  return ig_value_tensor(&outs[0]);
}

static bool write(functionalizer *f, const ig_value *to, const ig_value *value) {
  ig_tensor *self = ig_value_tensor(to);
  ig_tensor *now = self ? as_dtype(f, ig_value_tensor(value), self->dtype) : NULL;
  return now && ig_alias_write(&f->aliases, self, now);
}

static bool has_decomposition(const ig_op *op) {
  return !op->user && (op->def->decompose || op->def->decompose_outs);
}

// Composite forms are decomposed. What a functional form is lowered to is not what the composite
// in-place form calls.
static void compute(functionalizer *f, const ig_op *op, const ig_op *plain, const ig_value *args,
                    ig_value *outs) {
  bool composite = (op->facts & IG_FACT_IMPLICIT) || is_expanded(plain);
  if (!sync_args(f, plain, args)) return;
  if (op != plain && (op->facts & IG_FACT_IMPLICIT) && has_decomposition(plain)) {
    ig_op_decompose(f->aliases.c, plain, args, outs);
  } else if (composite && ig_op_has_lowering(plain)) {
    ig_op_lower(f->aliases.c, plain, args, outs);
  } else if (!taken_apart(f, plain, args, outs)) {
    ig_pass_record(f->aliases.c, plain, args, outs);
  }
}

// squeeze_ and similar: self becomes another view of its memory. Below autograd, a detached literal
// is unchanged.
static void become_view(functionalizer *f, const ig_op *op, const ig_value *args) {
  ig_ctx *c = f->aliases.c;
  ig_value outs[IG_MAX_RETURNS];
  if (op->number == IG_ID_DETACH && taken_apart(f, op, args, outs)) return;
  ig_pass_record(c, op, args, outs);
  ig_tensor *view = ig_value_tensor(&outs[0]);
  if (view) (void)ig_alias_become(&f->aliases, op, args, args[0].tensor, view);
}

// A smaller tensor is a view of the old one.
static void resize(functionalizer *f, const ig_value *args) {
  ig_ctx *c = f->aliases.c;
  ig_tensor *self = args[0].tensor;
  ig_meta m;
  ig_meta_init(&m, self->dtype, self->device);
  for (size_t i = 0; i < args[1].ints.n; i++) ig_meta_push_dim(c, &m, args[1].ints.at[i]);
  ig_meta_contiguous(c, &m);
  ig_int before = ig_numel_of(c, self);
  ig_int after = ig_product(c, m.size, (size_t)m.ndim);
  if (c->status != IG_OK) return;
  if (!ig_int_is(c, after, IG_LE, before)) {
    ig_fail_text(c, IG_UNSUPPORTED, "resize_: a functional program cannot make a tensor larger");
    return;
  }
  const ig_op *op = ig_op_at(c, IG_ID_AS_STRIDED);
  ig_value view[] = {args[0], ig_of_ints(m.size, (size_t)m.ndim),
                     ig_of_ints(m.stride, (size_t)m.ndim), ig_none()};
  become_view(f, op, view);
}

// An out tensor, and what resize_as_ writes to, takes the sizes of what is written.
static bool fit(functionalizer *f, ig_tensor *to, const ig_tensor *from) {
  ig_ctx *c = f->aliases.c;
  bool same = to->ndim == from->ndim;
  for (int d = 0; same && d < to->ndim; d++) {
    same = ig_int_eq(c, ig_sizes(to)[d], ig_sizes(from)[d]);
  }
  if (same) return true;
  if (ig_alias_is_view(&f->aliases, to)) {
    // What is written could not be written back into the tensor that it is a view of.
    ig_fail_text(
        c, IG_RUNTIME,
        "a view cannot take the sizes of a result: found %d dimensions, expected the %d of "
        "the view with equal sizes. Write to a tensor of its own",
        from->ndim, to->ndim);
    return false;
  }
  ig_meta m;
  ig_meta_of(from, &m);
  m.dtype = to->dtype;
  return ig_keep_recorded(c, to) && ig_tensor_reshape_inplace(c, to, &m);
}

// Operators that write lists: the functional form returns one list per list that is written.
static void write_lists(functionalizer *f, const ig_op *op, const ig_value *args) {
  ig_ctx *c = f->aliases.c;
  ig_value results[IG_MAX_RETURNS];
  const ig_op *plain = functional_of(c, op);
  if (!plain) return;
  for (size_t i = 0; i < plain->schema.nrets; i++) results[i] = ig_none();
  compute(f, op, plain, args, results);
  size_t r = 0;
  for (size_t i = 0; i < op->schema.nargs && r < plain->schema.nrets && c->status == IG_OK; i++) {
    if (!op->schema.args[i].written) continue;
    const ig_value *now = &results[r++];
    for (size_t k = 0; now->kind == IG_KIND_LIST && k < now->list.n; k++) {
      if (!write(f, &args[i].list.at[k], &now->list.at[k])) return;
    }
  }
}

static void write_inplace(functionalizer *f, const ig_op *op, const ig_value *args,
                          ig_value *outs) {
  ig_ctx *c = f->aliases.c;
  if (op->schema.args[0].list) {
    write_lists(f, op, args);
    return;
  }
  ig_value results[IG_MAX_RETURNS];
  const ig_op *plain = NULL;
  if (op->number == IG_ID_RESIZE_) {
    resize(f, args);
  } else {
    plain = functional_of(c, op);
  }
  if (plain && plain->def->view) {
    become_view(f, plain, args);
  } else if (plain) {
    compute(f, op, plain, args, results);
    ig_tensor *now = c->status == IG_OK ? ig_value_tensor(&results[0]) : NULL;
    if (now && fit(f, args[0].tensor, now)) (void)write(f, &args[0], &results[0]);
  }
  outs[0] = args[0];
}

static void write_out(functionalizer *f, const ig_op *op, const ig_value *args, ig_value *outs) {
  ig_ctx *c = f->aliases.c;
  const ig_schema *s = &op->schema;
  ig_value plain[IG_MAX_ARGS];
  ig_value results[IG_MAX_RETURNS];
  ig_out_args(op, args, plain);
  size_t n = s->nrets ? s->nrets : 1;
  for (size_t i = 0; i < n; i++) results[i] = ig_none();
  compute(f, op, op->base, plain, results);
  for (size_t i = 0; i < n && c->status == IG_OK; i++) {
    const ig_value *to = &args[s->nargs - n + i];
    bool list = to->kind == IG_KIND_LIST && results[i].kind == IG_KIND_LIST;
    size_t count = list ? to->list.n : 1;
    for (size_t k = 0; k < count; k++) {
      const ig_value *item = list ? &to->list.at[k] : to;
      const ig_value *value = list ? &results[i].list.at[k] : &results[i];
      if (item->kind != IG_KIND_TENSOR || value->kind != IG_KIND_TENSOR) return;
      if (!fit(f, item->tensor, value->tensor) || !write(f, item, value)) return;
    }
    if (s->nrets) outs[i] = *to;
  }
}

// A custom operator, of which only the schema is known.
static void write_opaque(functionalizer *f, const ig_op *op, const ig_value *args, ig_value *outs) {
  ig_ctx *c = f->aliases.c;
  size_t n = 0;
  if (!sync_args(f, op, args)) return;
  const ig_value *results = ig_auto_functionalized(c, op, args, &n);
  if (!results) return;
  size_t k = op->schema.nrets ? op->schema.nrets : 1;
  for (size_t i = 0; i < op->schema.nargs && c->status == IG_OK; i++) {
    if (!op->schema.args[i].written) continue;
    const ig_value *value = &results[k++];
    size_t count = args[i].kind == IG_KIND_LIST ? args[i].list.n : 1;
    for (size_t j = 0; j < count; j++) {
      bool list = args[i].kind == IG_KIND_LIST;
      const ig_value *to = list ? &args[i].list.at[j] : &args[i];
      const ig_value *from = list ? &value->list.at[j] : value;
      if (to->kind == IG_KIND_TENSOR && !write(f, to, from)) return;
    }
  }
  for (size_t i = 0; i < op->schema.nrets; i++) outs[i] = results[i];
}

// Mutated arguments in the middle, as in batch normalization.
static void write_some(functionalizer *f, const ig_op *op, const ig_value *args, ig_value *outs) {
  ig_ctx *c = f->aliases.c;
  const ig_op *plain = functional_of(c, op);
  ig_value results[IG_MAX_RETURNS];
  if (!plain) return;
  compute(f, op, plain, args, results);
  size_t k = op->schema.nrets;
  for (size_t i = 0; i < op->schema.nargs && c->status == IG_OK; i++) {
    if (op->schema.args[i].written && k < plain->schema.nrets)
      (void)write(f, &args[i], &results[k++]);
  }
  for (size_t i = 0; i < op->schema.nrets; i++) outs[i] = results[i];
}

static void mutate(functionalizer *f, const ig_op *op, const ig_value *args, ig_value *outs) {
  if (op->base && op->form == IG_FORM_OUT) {
    write_out(f, op, args, outs);
  } else if (op->user && ig_op_has_lowering(op) && (op->facts & IG_FACT_IMPLICIT)) {
    ig_op_lower(f->aliases.c, op, args, outs);
  } else if (op->user) {
    write_opaque(f, op, args, outs);
  } else if (op->form == IG_FORM_INPLACE) {
    write_inplace(f, op, args, outs);
  } else {
    write_some(f, op, args, outs);
  }
}

// ---- the handler ----

static bool functionalize(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs,
                          void *user) {
  functionalizer *f = user;
  if (special(f, op, args, outs)) return true;
  if (is_written(op)) {
    mutate(f, op, args, outs);
  } else if (taken_apart(f, op, args, outs)) {
    return true;
  } else if (is_expanded(op)) {
    ig_op_lower(c, op, args, outs);
  } else if (is_view(op)) {
    // The result of a view is updated when it is used, so the operand need not be.
    ig_pass_record(c, op, args, outs);
    if (c->status == IG_OK) (void)ig_alias_relate(&f->aliases, op, args, &outs[0]);
  } else {
    record(f, op, args, outs);
    // In a program it may stand for a call that returned its operand; a graph has real copies.
    bool passes = op->number == IG_ID__TO_COPY || op->number == IG_ID_DROPOUT;
    if (f->p && passes && !converts_freely(f)) {
      ig_alias_freeze(&f->aliases, ig_value_tensor(&outs[0]));
    }
  }
  return true;
}

static void sync_outputs(ig_ctx *c, const ig_value *values, size_t n, void *user) {
  (void)c;
  ig_value list = ig_of_list(values, n);
  (void)sync_value(user, &list);
}

// The output that is already the placeholder's new value, because the program assigned one.
static bool is_assigned(const ig_program *p, const ig_node *n, size_t *at) {
  for (size_t i = 0; i < p->noutputs; i++) {
    const ig_output_spec *o = &p->outputs[i];
    bool named = o->kind == IG_OUTPUT_BUFFER_MUTATION && n->role != IG_INPUT_USER && n->path;
    *at = i;
    if (named && strcmp(o->target, n->path) == 0) return true;
  }
  return false;
}

// Only elements are written back: an input whose metadata changed (transpose_, resize_) would have
// to be returned itself.
static bool keeps_layout(ig_ctx *c, const ig_node *n, size_t i, const ig_tensor *now) {
  const ig_tensor *was = n->val.kind == IG_KIND_TENSOR ? n->val.tensor : NULL;
  bool same = !was || was->ndim == now->ndim;
  for (int d = 0; was && same && d < was->ndim; d++) {
    same = ig_int_eq(c, ig_sizes(was)[d], ig_sizes(now)[d]) &&
           ig_int_eq(c, ig_strides(was)[d], ig_strides(now)[d]);
  }
  if (same) return true;
  ig_fail_text(c, IG_RUNTIME,
               "Found an input that received a metadata mutation, through e.g. a call to "
               "`.resize_()` or `.transpose_()`.\nThis is currently banned in the aot_export "
               "workflow. If you need this functionality, please file a github issue.\nIt is %s "
               "(placeholder %zu). Take a view instead: x.transpose(0, 1) for x.transpose_(0, 1).",
               n->path ? n->path : "an argument", i);
  return false;
}

// Views that are outputs are regenerated at the end, outside all modules and functions of the
// program: their source is the operator itself, numbered from 1. A lowering keeps the last
// function.
static bool describe_views(ig_ctx *c, const functionalizer *f, ig_node *first) {
  const ig_module_stack *none = ig_graph_keep_levels(c, c->mode->capture, NULL, 0);
  for (ig_node *n = first; n; n = n->next) {
    n->meta.modules = none;
    n->meta.text[IG_META_SOURCE_FN] = NULL;
    if (f->apart || n->callee != IG_CALLEE_OP || !n->meta.text[IG_META_TORCH_FN]) continue;
    size_t count = 1;
    for (const ig_node *k = first; k != n; k = k->next) count += k->op == n->op;
    const char *name = strchr(n->op->target, '.') + 1;
    char text[256];
    (void)snprintf(text, sizeof text, "%s_%zu;OpOverload.%s", name, count, name);
    n->meta.text[IG_META_TORCH_FN] = ig_graph_keep_text(c, c->mode->capture, text);
    if (!n->meta.text[IG_META_TORCH_FN]) return false;
  }
  return none != NULL;
}

// outs -> new values of written placeholders, the other outs
static const ig_value *finish(ig_ctx *c, const ig_value *inputs, size_t ninputs,
                              const ig_value *outs, size_t *n, void *user) {
  functionalizer *f = user;
  ig_value *all = ig_scope_array(c, ninputs + *n, sizeof *all);
  if (!all) return NULL;
  size_t k = 0;
  const ig_node *p = f->p->graph->first;
  for (size_t i = 0; i < ninputs; i++, p = p->next) {
    bool tensor = inputs[i].kind == IG_KIND_TENSOR;
    size_t at = 0;
    if (tensor && !keeps_layout(c, p, i, inputs[i].tensor)) return NULL;
    bool assigned = tensor && is_assigned(f->p, p, &at);
    f->written[i] = assigned || (tensor && ig_alias_is_written(&f->aliases, inputs[i].tensor));
    if (f->written[i]) all[k++] = assigned ? outs[at] : inputs[i];
  }
  size_t writes = k;
  for (size_t i = 0; i < *n; i++) {
    if (f->p->outputs[i].kind != IG_OUTPUT_BUFFER_MUTATION) all[k++] = outs[i];
  }
  *n = k;
  sync_outputs(c, all, writes, f);
  const ig_node *last = c->mode->capture->last;
  sync_outputs(c, all + writes, k - writes, f);
  bool any = last && last->next && c->status == IG_OK;
  return (!any || describe_views(c, f, last->next)) && c->status == IG_OK ? all : NULL;
}

static ig_program *assemble(ig_ctx *c, const functionalizer *f, ig_graph *g) {
  size_t n = ig_graph_output_count(g);
  ig_output_kind *kinds = ig_scope_array(c, n, sizeof *kinds);
  const char **targets = ig_scope_array(c, n, sizeof *targets);
  if (!kinds || !targets) {
    ig_graph_free(g);
    return NULL;
  }
  size_t k = 0;
  size_t i = 0;
  for (const ig_node *p = g->first; p && ig_node_is_placeholder(p); p = p->next, i++) {
    if (!f->written[i]) continue;
    bool user = p->role == IG_INPUT_USER;
    kinds[k] = user ? IG_OUTPUT_INPUT_MUTATION : IG_OUTPUT_BUFFER_MUTATION;
    targets[k++] = user ? p->name : p->path;
  }
  for (size_t j = 0; j < f->p->noutputs; j++) {
    if (f->p->outputs[j].kind == IG_OUTPUT_BUFFER_MUTATION) continue;
    kinds[k] = f->p->outputs[j].kind;
    targets[k++] = f->p->outputs[j].target;
  }
  return ig_pass_program(c, f->p, g, kinds, targets);
}

// NOLINTBEGIN(readability-non-const-parameter): the type of the callback
static const ig_value *finish_graph(ig_ctx *c, const ig_value *inputs, size_t ninputs,
                                    const ig_value *outs, size_t *n, void *user) {
  (void)inputs;
  (void)ninputs;
  sync_outputs(c, outs, *n, user);
  return c->status == IG_OK ? outs : NULL;
}
// NOLINTEND(readability-non-const-parameter)

ig_status ig_graph_functionalize(ig_ctx *c, const ig_graph *g, const ig_rewrite *apart,
                                 ig_graph **out) {
  *out = NULL;
  if (c->status != IG_OK) return c->status;
  functionalizer f = {.aliases = ig_aliases_make(c), .apart = apart};
  f.aliases.rewrite = apart;
  ig_transform t = {.rewrite = {.fn = functionalize, .user = &f, .settle = sync_outputs},
                    .finish = finish_graph,
                    .user = &f};
  (void)ig_graph_transform(c, g, &t, out);
  ig_aliases_free(&f.aliases);
  if (*out) (void)ig_graph_dce(*out);
  return c->status;
}

ig_status ig_program_functionalize(ig_ctx *c, const ig_program *p, ig_program **out) {
  return ig_pass_functionalize(c, p, NULL, out);
}

ig_status ig_pass_functionalize(ig_ctx *c, const ig_program *p, const ig_rewrite *apart,
                                ig_program **out) {
  *out = NULL;
  if (c->status != IG_OK) return c->status;
  ig_scope s = ig_scope_open(c);
  functionalizer f = {.aliases = ig_aliases_make(c), .p = p, .apart = apart};
  f.aliases.rewrite = apart;
  f.written = ig_scope_array(c, p->ninputs, sizeof *f.written);
  ig_transform t = {.rewrite = {.fn = functionalize, .user = &f, .settle = sync_outputs},
                    .renew = !p->graph->strict,
                    .keep_regions = !apart,
                    .finish = finish,
                    .user = &f};
  ig_graph *g = NULL;
  bool ok = f.written && ig_graph_transform(c, p->graph, &t, &g) == IG_OK;
  ig_aliases_free(&f.aliases);
  if (ok) *out = assemble(c, &f, g);
  ig_scope_close(c, s);
  return c->status;
}
