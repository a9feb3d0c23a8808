// SPDX-License-Identifier: Apache-2.0
// Program -> file: options, lowering to a program that has rows for all its calls, and external
// weights where the model would exceed protobuf's limit. Their offsets are aligned, so that a
// reader can map them.
#include <stdio.h>
#include <string.h>

#include "base/cause.h"
#include "base/options.h"
#include "ingot/library.h"
#include "onnx/convention.h"
#include "onnx/functions.h"
#include "onnx/lower.h"
#include "onnx/model.h"
#include "op/call.h"
#include "op/hop.h"
#include "sym/report.h"

#define MAX_MODEL_BYTES INT32_MAX  // what protobuf allows a message to be

// ---- lowering

const ig_onnx_row *ig_onnx_find_row(const ig_onnx *x, const char *target) {
  ig_map_value *v = ig_map_find(&x->rows, target);
  return v ? v->ptr : NULL;
}

// Whether a row writes this call: most take real numbers only.
static bool suits(const ig_onnx *x, const ig_onnx_row *row, const ig_value *args, size_t n) {
  if (!row || (ig_onnx_is_complex_call(args, n) && !ig_onnx_row_takes_complex(row))) return false;
  return !row->can || row->can(x->least, args, n);
}

static bool translated(const ig_onnx *x, const char *target) {
  return x->options->translates && x->options->translates(target, x->options->user);
}

static bool keep(const ig_op *op, const ig_value *args, void *user) {
  const ig_onnx *x = user;
  if (translated(x, op->target)) return true;
  return suits(x, ig_onnx_find_row(x, op->target), args, op->schema.nargs);
}

// Whether some call has no row, its row declines the arguments, or a region of autocast implies
// casts: then the program is interpreted again.
static bool needs_lowering(const ig_onnx *x, const ig_graph *g) {
  for (const ig_node *n = g->first; n; n = n->next) {
    if (n->kind == IG_NODE_ATTR && n->sub && needs_lowering(x, n->sub)) return true;
    if (n->kind != IG_NODE_CALL) continue;
    if (n->callee == IG_CALLEE_HOP && n->hop == &ig_hop_autocast) return true;
    if (n->callee != IG_CALLEE_OP || !n->op) continue;
    if (translated(x, n->target)) continue;
    const ig_onnx_row *row = ig_onnx_find_row(x, n->target);
    ig_value args[IG_MAX_ARGS];
    if (!row || n->op->schema.nargs > IG_MAX_ARGS) return true;
    ig_onnx_fill_args(n, args);
    if (!suits(x, row, args, n->op->schema.nargs)) return true;
  }
  return false;
}

static const ig_onnx_lowering *find_lowering(const ig_op *op) {
  for (const ig_onnx_lowering *l = ig_onnx_lowerings; l->target; l++) {
    if (strcmp(l->target, op->target) == 0) return l;
  }
  return NULL;
}

static bool replace(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs, void *user) {
  const ig_onnx *x = user;
  const ig_onnx_lowering *l = find_lowering(op);
  bool complex_rule = ig_onnx_has_complex_rule(op, args);
  if ((l || complex_rule) && !ig_check_call(c, op, args)) return false;
  if (complex_rule && ig_onnx_lower_complex(c, op, args, outs)) return true;
  if (l && c->status == IG_OK && l->fn(c, x->opset, args, outs)) return true;
  // Any decomposition is better than none.
  if (op->base || !ig_op_has_decomposition(op)) return false;
  ig_op_decompose(c, op, args, outs);
  return true;
}

static bool is_input_size(const ig_graph *g, const ig_expr *symbol) {
  for (const ig_node *n = g->first; n; n = n->next) {
    if (!ig_node_is_placeholder(n) || n->val.kind != IG_KIND_TENSOR) continue;
    for (int d = 0; d < n->val.tensor->ndim; d++) {
      if (ig_sizes(n->val.tensor)[d].expr == symbol) return true;
    }
  }
  return false;
}

// Decomposing a call may specialize a dynamic size: an input still has it, and a guard fixes it.
// Such a model would be wrong for other sizes.
static void refuse_fixed_sizes(ig_onnx *x, const ig_graph *g) {
  const ig_env *env = g->sym ? g->sym->env : NULL;
  for (size_t i = 0; env && i < env->guards.n; i++) {
    const ig_guard *guard = &env->guards.at[i];
    const ig_expr *e = guard->expr;
    if (e->kind != IG_EXPR_EQ || e->n != 2) continue;
    bool fixes = e->args[0]->kind == IG_EXPR_SYMBOL && e->args[1]->kind == IG_EXPR_CONST;
    if (!fixes || !is_input_size(g, e->args[0])) continue;
    ig_node where = {.name = "", .target = "taking the program apart", .file = guard->file};
    where.line = guard->line;
    ig_onnx_refuse(x, &where, "size %s, which varies, would be fixed to %lld", e->args[0]->name,
                   (long long)e->args[1]->value);
  }
}

// With the TorchScript conventions a program that writes nothing is written as it was captured:
// functionalizing it would take composite views apart, which have operators of their own.
static bool updates_statistics(const ig_node *n) {
  bool norm = n->op->number == IG_ID_BATCH_NORM || n->op->number == IG_ID_INSTANCE_NORM;
  ig_value args[IG_MAX_ARGS];
  if (norm) ig_onnx_fill_args(n, args);
  return norm && args[5].kind == IG_KIND_BOOL && args[5].b && !ig_onnx_is_none(&args[3]);
}

static bool writes(const ig_graph *g) {
  for (const ig_node *n = g->first; n; n = n->next) {
    if (n->kind == IG_NODE_ATTR && n->sub && writes(n->sub)) return true;
    if (n->kind != IG_NODE_CALL) continue;
    if (n->callee == IG_CALLEE_HOST) return true;
    if (n->callee != IG_CALLEE_OP || !n->op) continue;
    if (ig_op_mutates(n->op) || updates_statistics(n)) return true;
  }
  return false;
}

static ig_status lower(ig_onnx *x, const ig_program *p, ig_program **out) {
  *out = NULL;
  ig_program *functional = NULL;
  bool whole = x->options->torchscript && !writes(ig_program_graph(p));
  if (ig_program_is_training(p) && !whole) {
    IG_RETURN_IF_ERR(ig_program_functionalize(x->c, p, &functional));
    p = functional;
  }
  ig_status st = IG_OK;
  if (needs_lowering(x, ig_program_graph(p))) {
    ig_decompose_args args = {.size = sizeof args,
                              .level = IG_DECOMPOSE_CORE,
                              .functional = whole,
                              .replace = replace,
                              .keep = keep};
    args.user = x;
    st = ig_program_decompose(x->c, p, &args, out);
    refuse_fixed_sizes(x, ig_program_graph(p));
    ig_program_free(functional);
  } else {
    *out = functional ? functional : ig_program_retain((ig_program *)p);
  }
  return st;
}

// ---- state

static ig_status index_families(ig_onnx *x, const ig_onnx_row *const *family) {
  for (; *family; family++) {
    for (const ig_onnx_row *row = *family; row->target; row++) {
      ig_map_value *v = ig_map_put(&x->rows, row->target);
      if (!v) return ig_fail(x->c, IG_NOMEM, "out of memory");
      v->ptr = (void *)row;
    }
  }
  return IG_OK;
}

static ig_status index_rows(ig_onnx *x) {
  IG_RETURN_IF_ERR(index_families(x, ig_onnx_families));
  return index_families(x, ig_onnx_host_families);
}

void ig_onnx_state_init(ig_onnx *x) {
  ig_alloc alloc = x->c->alloc;
  x->w = ig_proto_writer_make(alloc);
  x->arena = ig_arena_make(alloc);
  x->rows = x->constants = x->dim_names = x->outputs = x->added = x->local = ig_map_make(alloc);
  x->readers = x->makers = x->node_names = x->aliases = x->known = x->inferred = x->counted =
      ig_map_make(alloc);
  x->names = x->elements = x->sources = x->numbers = x->vectors = x->equal = ig_table_make(alloc);
  x->folded = x->shared = ig_table_make(alloc);
  x->node_field = IG_ONNX_GRAPH_NODE;
  x->path = "";
  (void)ig_onnx_scope_open(x);
}

// State that depends on the model being written, and not on the program.
void ig_onnx_state_free(ig_onnx *x) {
  ig_alloc alloc = x->c->alloc;
  ig_vec_free(alloc, &x->tensors);
  ig_vec_free(alloc, &x->scopes);
  ig_vec_free(alloc, &x->domains);
  ig_vec_free(alloc, &x->weights);
  ig_vec_free(alloc, &x->unknown_sizes);
  ig_onnx_functions_free(x);
  ig_table *tables[] = {&x->names,   &x->elements, &x->sources, &x->numbers,
                        &x->vectors, &x->shared,   &x->equal};
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) ig_table_free(tables[i]);
  ig_map *maps[] = {&x->rows,     &x->constants, &x->dim_names,  &x->outputs,
                    &x->readers,  &x->makers,    &x->node_names, &x->aliases,
                    &x->inferred, &x->counted,   &x->added,      &x->local};
  for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) ig_map_free(maps[i]);
  ig_onnx_fold_free(x);
  ig_onnx_known_free(x);
  ig_ref_release(x->refused ? &x->refused->ref : NULL);
  ig_arena_free(&x->arena);
  ig_proto_writer_free(&x->w);
}

static void add_refusal(ig_str *s, const ig_issue *i) {
  const char *slash = i->file ? strrchr(i->file, '/') : NULL;
  ig_str_add(s, "%s: %s", i->op, i->reason);
  if (i->file) ig_str_add(s, " (%s:%d)", slash ? slash + 1 : i->file, i->line);
}

// All calls without an ONNX equivalent are reported in one error.
static ig_status report(ig_onnx *x) {
  const ig_issue *at = NULL;
  size_t n = ig_report_issues(x->refused, &at);
  if (ig_ctx_status(x->c) != IG_OK || !x->refused) return ig_ctx_status(x->c);
  ig_str s = ig_str_make(x->c->alloc);
  if (n > 1) {
    ig_str_add(&s, "%zu calls cannot be written as ONNX (opset %d):\n", n, x->opset);
  }
  for (size_t i = 0; i < n; i++) {
    ig_str_add(&s, "%s", i ? "\n" : "");
    add_refusal(&s, &at[i]);
  }
  if (s.failed || !n) {  // an issue that could not be stored is a call that is not written
    (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  } else {
    ig_fail_text(x->c, IG_UNSUPPORTED | IG_E_ONNX_CALL, "%s", s.at);
    ig_report_attach(x->c, x->refused);
    ig_report_printed(x->c);
  }
  ig_str_free(&s);
  return ig_ctx_status(x->c);
}

static uint64_t weight_total(const ig_program *p) {
  uint64_t total = 0;
  const ig_weight *w = NULL;
  size_t n = ig_program_state(p, &w);
  for (int round = 0; round < 2; round++) {
    for (size_t i = 0; i < n; i++) {
      if (!ig_tensor_is_fake(w[i].tensor)) {
        total += (uint64_t)ig_tensor_numel(w[i].tensor) * ig_dtype_size(w[i].tensor->dtype);
      }
    }
    n = ig_program_constants(p, &w);
  }
  return total;
}

typedef struct target {
  const char *path;  // NULL: into the sink
  ig_sink *sink;
} target;

static ig_status put_data(ig_onnx *x, const char *path, ig_sink *sink) {
  IG_RETURN_IF_ERR(ig_sink_file(x->c, path, sink));
  for (size_t i = 0; i < x->tensors.n; i++) {
    const struct ig_onnx_tensor *t = &x->tensors.at[i];
    if (!t->is_external) continue;
    ig_sink_zeros(sink, (size_t)(t->offset - sink->total));
    ig_bytes data = ig_onnx_little(x, t);
    ig_sink_put(sink, data.at, data.n);
  }
  return ig_sink_finish(x->c, sink);
}

// The weights and the model replace older ones only when both are written.
static ig_status put_file(ig_onnx *x, const char *path, const char *data_path) {
  ig_sink data = ig_sink_memory(x->c->alloc);
  ig_sink sink = ig_sink_memory(x->c->alloc);
  ig_status st = x->external ? put_data(x, data_path, &data) : IG_OK;
  if (st == IG_OK) st = ig_sink_file(x->c, path, &sink);
  if (st == IG_OK) st = ig_proto_write(x->c, &x->w, &sink);
  if (st == IG_OK) st = ig_sink_finish(x->c, &sink);
  if (st == IG_OK) st = ig_sink_close(x->c, &data);
  if (st == IG_OK) st = ig_sink_close(x->c, &sink);
  ig_sink_drop(&data);
  ig_sink_drop(&sink);
  return st;
}

static ig_status put(ig_onnx *x, const target *to, const char *data_path) {
  if (x->w.failed) return ig_fail(x->c, IG_NOMEM, "out of memory");
  if (x->w.total > MAX_MODEL_BYTES && (to->path || to->sink)) {
    return ig_fail(
        x->c, IG_UNSUPPORTED,
        "%s: the model has %llu bytes, an ONNX file at most 2 GB: save it with its weights "
        "in a file beside it",
        to->path ? to->path : "ONNX", (unsigned long long)x->w.total);
  }
  if (to->path) return put_file(x, to->path, data_path);
  ig_sink *s = to->sink;
  if (!s) return IG_OK;
  size_t total = (size_t)x->w.total;
  bool room =
      s->fd >= 0 || s->write || ig_mem_grow(s->alloc, (void **)&s->at, &s->cap, 1, s->n + total);
  return room ? ig_proto_write(x->c, &x->w, s) : ig_fail(x->c, IG_NOMEM, "out of memory");
}

// The lowered program; the caller frees it.
static ig_status prepare(ig_onnx *x, const ig_program *p, ig_program **out) {
  IG_RETURN_IF_ERR(lower(x, p, out));
  if (!x->options->user_outputs) return IG_OK;
  ig_program *lowered = *out;
  ig_status st = ig_program_drop_writes(x->c, lowered, out);
  ig_program_free(lowered);
  return st;
}

// Writes the model once without keeping it, to learn who reads its inputs and how many values come
// before its outputs: with the TorchScript conventions they are named by that. What was evaluated
// is used again and refers to constants of `first`, which is freed after x has been written.
static void find_names(ig_onnx *x, ig_onnx *first, ig_onnx_options *options, ig_map *renames) {
  *first = (ig_onnx){.c = x->c, .options = x->options, .opset = x->opset, .p = x->p, .g = x->g};
  first->least = x->least;
  ig_onnx_state_init(first);
  if (index_rows(first) == IG_OK) ig_onnx_put_model(first);
  if (ig_ctx_status(x->c) == IG_OK && ig_onnx_complete_names(x, first, options, renames)) {
    x->options = options;
    x->renames = renames;
    x->nvalues = ig_onnx_value_count(first);
  }
  ig_onnx_reuse_folds(x, first);
}

static ig_status write_program(ig_onnx *x, const ig_program *p, const target *to) {
  ig_program *lowered = NULL;
  IG_RETURN_IF_ERR(prepare(x, p, &lowered));
  x->p = lowered;
  x->g = ig_program_graph(lowered);
  const ig_onnx_options *given = x->options;
  ig_onnx_options named = *given;
  ig_map renames = ig_map_make(x->c->alloc);
  size_t length = to->path ? strlen(to->path) : 0;
  char *data_path = length ? ig_onnx_push(x, length + sizeof ".data") : NULL;
  if (data_path) (void)snprintf(data_path, length + sizeof ".data", "%s.data", to->path);
  const char *slash = data_path ? strrchr(data_path, '/') : NULL;
  ig_onnx_external how = x->options->external;
  bool large = weight_total(lowered) > MAX_MODEL_BYTES - (64 << 20);  // room for the nodes
  if (data_path && (how == IG_ONNX_EXTERNAL_ALWAYS || (how == IG_ONNX_EXTERNAL_AUTO && large))) {
    x->data_name = slash ? slash + 1 : data_path;
  }
  ig_mode_scope mode = ig_mode_push_sym(x->c, x->g->sym);
  bool twice = given->torchscript;
  ig_onnx first;
  if (twice) find_names(x, &first, &named, &renames);
  const ig_graph *root = x->options->functions ? ig_onnx_functions_make(x) : NULL;
  if (root) x->g = root;
  if (ig_ctx_status(x->c) == IG_OK) ig_onnx_put_model(x);
  ig_mode_pop(x->c, &mode);
  ig_status st = report(x);
  if (st == IG_OK) st = put(x, to, data_path);
  if (twice) ig_onnx_state_free(&first);
  x->options = given;
  x->renames = NULL;
  ig_map_free(&renames);
  ig_program_free(lowered);
  return st;
}

// Names given by the caller must be unique, and differ from those of weights.
static ig_status check_names(ig_ctx *c, const ig_program *p, const ig_onnx_options *options) {
  ig_map seen = ig_map_make(c->alloc);
  size_t n = options->ninput_names + options->noutput_names;
  for (size_t i = 0; i < n && ig_ctx_status(c) == IG_OK; i++) {
    bool input = i < options->ninput_names;
    const char *name =
        input ? options->input_names[i] : options->output_names[i - options->ninput_names];
    const char *what = input ? "input_names" : "output_names";
    ig_map_value *v = ig_map_put(&seen, name);
    if (!v) {
      (void)ig_fail(c, IG_NOMEM, "out of memory");
    } else if (!*name) {
      (void)ig_fail(c, IG_INVALID | IG_E_ONNX_NAMES, "ONNX: %s: a name is empty", what);
    } else if (v->num++) {
      (void)ig_fail(c, IG_INVALID | IG_E_ONNX_NAMES,
                    "ONNX: %s: names of inputs and outputs cannot be duplicated: '%s'", what, name);
    } else if (ig_program_find_weight(p, name)) {
      (void)ig_fail(c, IG_INVALID | IG_E_ONNX_NAMES,
                    "ONNX: %s: '%s' is the name of a weight; choose another one", what, name);
    }
  }
  ig_map_free(&seen);
  return ig_ctx_status(c);
}

static ig_status write_to(ig_ctx *c, const ig_program *p, const ig_onnx_options *given,
                          const target *to) {
  ig_onnx_options all;
  IG_OPTIONS_TAKE(&all, given, user);
  const ig_onnx_options *options = &all;
  if (ig_ctx_status(c) != IG_OK) return ig_ctx_status(c);
  int opset = options->opset ? options->opset : IG_ONNX_OPSET_DEFAULT;
  if (opset < IG_ONNX_OPSET_OLDEST || opset > IG_ONNX_OPSET_NEWEST) {
    return ig_fail(c, IG_INVALID | IG_E_ONNX_OPSET, "ONNX: opset %d is not known, %d to %d are",
                   opset, IG_ONNX_OPSET_OLDEST, IG_ONNX_OPSET_NEWEST);
  }
  if (!options->torchscript) IG_RETURN_IF_ERR(check_names(c, p, options));
  ig_onnx x = {.c = c, .options = options, .opset = opset, .least = opset};
  if (options->converted_to) x.least = options->converted_to;
  ig_onnx_state_init(&x);
  ig_status st = index_rows(&x);
  if (st == IG_OK) st = write_program(&x, p, to);
  if (st == IG_OK) st = ig_ctx_status(c);
  ig_onnx_state_free(&x);
  return st;
}

ig_status ig_program_write_onnx(ig_ctx *c, const ig_program *p, const ig_onnx_options *options,
                                ig_sink *sink) {
  return write_to(c, p, options, &(target){.sink = sink});
}

ig_status ig_program_save_onnx_as(ig_ctx *c, const ig_program *p, const ig_onnx_options *options,
                                  const char *path) {
  return write_to(c, p, options, &(target){.path = path});
}

ig_status ig_program_save_onnx(ig_ctx *c, const ig_program *p, const char *path) {
  return ig_program_save_onnx_as(c, p, NULL, path);
}
