// SPDX-License-Identifier: Apache-2.0
// One function per class of modules. The tree of modules is the one that unflattening makes: a
// graph per module, children first. Inside a function names are numbered from 0 and nodes have no
// origin metadata, so that two modules of one class have equal bodies, and then share a function. A
// function has no initializers: weights are inputs, passed through from the model, and constants
// are nodes.
#include "onnx/functions.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "onnx/convention.h"
#include "onnx/model.h"

#define DOMAIN "ingot.modules"

enum { FUNCTION_NAME = 1, FUNCTION_INPUT = 4, FUNCTION_OUTPUT = 5, FUNCTION_NODE = 7 };
enum { FUNCTION_OPSET = 9, FUNCTION_DOMAIN = 10, OPSET_DOMAIN = 1, OPSET_VERSION = 2 };
enum { MODEL_FUNCTION = 25, ATTR_NAME = 1, ATTR_TENSOR = 5, ATTR_TYPE = 20, TYPE_TENSOR = 4 };
enum { NODE_OUTPUT = 2, NODE_OP_TYPE = 4, NODE_ATTRIBUTE = 5 };

// ---- classes of modules

static void learn_classes(ig_onnx *x, const ig_module_stack *stack) {
  for (size_t i = 0; stack && i < stack->n; i++) {
    const char *key = ig_onnx_keep(x, stack->at[i].path);
    ig_map_value *v = key ? ig_map_put(&x->functions->classes, key) : NULL;
    if (v && !v->ptr) v->ptr = (void *)ig_onnx_keep(x, stack->at[i].type);
    if (!v) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  }
}

static void learn_all_classes(ig_onnx *x, const ig_graph *g) {
  const ig_module_stack *last = NULL;
  for (const ig_node *n = g->first; n; n = n->next) {
    if (n->meta.modules != last) learn_classes(x, n->meta.modules);
    last = n->meta.modules;
  }
}

// The class's own name, as an identifier; "Module" where nothing is known.
static void class_name(ig_onnx *x, const char *module, char *out, size_t cap) {
  const ig_map_value *v = ig_map_find(&x->functions->classes, module);
  const char *text = v && v->ptr ? v->ptr : "Module";
  const char *dot = strrchr(text, '.');
  (void)snprintf(out, cap, "%s", dot ? dot + 1 : text);
  for (char *p = out; *p; p++) {
    if (!isalnum((unsigned char)*p)) *p = '_';
  }
}

// ---- inside a function

static const char *counted(ig_onnx *f, const char *prefix, size_t i) {
  char text[32];
  (void)snprintf(text, sizeof text, "%s%zu", prefix, i);
  return ig_onnx_keep(f, text);
}

// The input for a weight; the same tensor is one input.
static const char *weight_input(ig_onnx *f, const ig_tensor *t, const char *path) {
  for (size_t i = 0; i < f->weights.n; i++) {
    if (f->weights.at[i].tensor == t) return f->weights.at[i].input;
  }
  ig_onnx_weight w = {t, ig_onnx_keep(f->outer, path), counted(f->outer, "w", f->weights.n)};
  if (!ig_vec_push(f->c->alloc, &f->weights, w)) (void)ig_fail(f->c, IG_NOMEM, "out of memory");
  return w.input;
}

static void join_path(char *out, size_t cap, const char *base, const char *name) {
  (void)snprintf(out, cap, "%s%s%s", base, base[0] ? "." : "", name);
}

void ig_onnx_take_weight(ig_onnx *x, const ig_node *n) {
  char path[512];
  join_path(path, sizeof path, x->path, n->target);
  (void)ig_onnx_set_name(x, n, weight_input(x, n->constant, path));
}

void ig_onnx_flush_constants(ig_onnx *x) {
  while (x->flushed < x->tensors.n) {
    struct ig_onnx_tensor *t = &x->tensors.at[x->flushed++];
    if (t->is_unread) x->nmade++;
    if (t->is_weight || t->is_shared || t->is_unread) continue;
    t->is_node = true;
    if (x->options->torchscript) {
      (void)ig_onnx_convention_node(x, &(ig_onnx_node){.op_type = "Constant"}, t->name);
    }
    size_t node = ig_proto_open(&x->w, x->node_field);
    ig_proto_put_text(&x->w, NODE_OUTPUT, ig_onnx_file_name(x, t->name));
    ig_proto_put_text(&x->w, NODE_OP_TYPE, "Constant");
    size_t attr = ig_proto_open(&x->w, NODE_ATTRIBUTE);
    ig_proto_put_text(&x->w, ATTR_NAME, "value");
    size_t tensor = ig_proto_open(&x->w, ATTR_TENSOR);
    t->name = ig_onnx_file_name(x, t->name);
    ig_onnx_put_tensor(x, t);
    ig_proto_close(&x->w, tensor);
    ig_proto_put_int(&x->w, ATTR_TYPE, TYPE_TENSOR);
    ig_proto_close(&x->w, attr);
    ig_proto_close(&x->w, node);
  }
}

// ---- calls

static const ig_onnx_function *find_function(const ig_onnx *x, const char *path) {
  const ig_onnx_functions *all = x->functions;
  for (size_t i = all->all.n; i-- > 0;) {
    if (strcmp(all->all.at[i].path, path) == 0) return &all->all.at[i];
  }
  return NULL;
}

// In the model a weight is an initializer, in a function an input.
static const char *weight_name(ig_onnx *x, const ig_onnx_weight *w) {
  if (x->outer) return weight_input(x, w->tensor, w->path);
  ig_table_slot *s = ig_table_put(&x->shared, w->tensor);
  if (!s) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  if (s && !s->value) s->value = (void *)ig_onnx_add_shared(x, w->path, w->tensor);
  return s ? s->value : "";
}

void ig_onnx_put_module(ig_onnx *x, const ig_node *n) {
  char path[512];
  join_path(path, sizeof path, x->path, n->target);
  const ig_onnx_function *f = x->functions ? find_function(x, path) : NULL;
  if (!f) {
    ig_onnx_refuse(x, n, "a call of a module cannot be written as ONNX");
    return;
  }
  size_t count = n->npos + f->nweights;
  const char **in = ig_onnx_push(x, ig_mem_mul(count + 1, sizeof *in));
  for (size_t i = 0; in && i < n->npos; i++) {
    in[i] = ig_onnx_operand(x, &n->args[i], IG_DTYPE_COUNT);
  }
  for (size_t i = 0; in && i < f->nweights; i++) in[n->npos + i] = weight_name(x, &f->weights[i]);
  ig_onnx_node node = {.op_type = f->name, .domain = DOMAIN, .many = in, .nmany = count};
  const char **outs = NULL;
  if (n->val.kind != IG_KIND_TENSOR) {
    outs = ig_onnx_result_names(x, n, f->nresults);
    node.outs = outs;
    node.nouts = f->nresults;
  } else {
    node.out = ig_onnx_own_name(x, n);
  }
  if (!in || (n->val.kind != IG_KIND_TENSOR && !outs)) return;
  (void)ig_onnx_emit(x, &node);
  if (n->val.kind == IG_KIND_TENSOR) ig_onnx_learn(x, node.out, n->val.tensor);
  for (const ig_use *u = n->first_use; outs && u; u = u->next) {  // each pick knows its value
    ig_table_slot *picked = ig_table_find(&x->names, u->user);
    const char *name = picked ? picked->value : u->user->name;
    if (u->user->val.kind == IG_KIND_TENSOR && u->user->kind == IG_NODE_CALL &&
        u->user->callee == IG_CALLEE_GETITEM) {
      ig_onnx_learn(x, name, u->user->val.tensor);
    }
  }
}

// ---- writing one function

static const ig_node *output_of(const ig_graph *g) {
  const ig_node *n = g->last;
  while (n && n->kind != IG_NODE_OUTPUT) n = n->prev;
  return n;
}

static void bind_inputs(ig_onnx *f, const ig_graph *g) {
  size_t i = 0;
  for (const ig_node *n = g->first; n; n = n->next) {
    if (!ig_node_is_placeholder(n)) continue;
    const char *name = counted(f, "x", i++);
    (void)ig_onnx_set_name(f, n, name);
    ig_proto_put_text(&f->w, FUNCTION_INPUT, name);
    if (n->val.kind == IG_KIND_TENSOR) ig_onnx_learn(f, name, n->val.tensor);
  }
}

// Numbers are learned after the constants that this needs can be written.
static void bind_numbers(ig_onnx *f, const ig_graph *g) {
  size_t i = 0;
  for (const ig_node *n = g->first; n; n = n->next) {
    if (!ig_node_is_placeholder(n)) continue;
    const ig_expr *e = n->val.kind == IG_KIND_INT ? n->val.i.expr : NULL;
    const char *name = counted(f, "x", i++);
    if (e) ig_onnx_learn_scalar(f, name, e);
  }
}

static size_t put_results(ig_onnx *f, const ig_graph *g) {
  const ig_node *out = output_of(g);
  const ig_value *at = out ? out->args : NULL;
  size_t n = out ? out->npos : 0;
  if (n == 1 && out->bare && out->args[0].kind == IG_KIND_LIST) {
    at = out->args[0].list.at;
    n = out->args[0].list.n;
  }
  for (size_t i = 0; i < n; i++) {
    const char *name = ig_onnx_operand(f, &at[i], IG_DTYPE_COUNT);
    name = ig_onnx_emit1(f, "Identity", name, counted(f, "y", i));
    ig_proto_put_text(&f->w, FUNCTION_OUTPUT, name);
  }
  return n;
}

static void put_opset(ig_onnx *f, const char *domain, int version) {
  size_t opset = ig_proto_open(&f->w, FUNCTION_OPSET);
  ig_proto_put_text(&f->w, OPSET_DOMAIN, domain);
  ig_proto_put_int(&f->w, OPSET_VERSION, version);
  ig_proto_close(&f->w, opset);
}

static size_t put_body(ig_onnx *f, const ig_graph *g) {
  bind_inputs(f, g);
  bind_numbers(f, g);
  ig_onnx_put_nodes(f, g);
  size_t n = put_results(f, g);
  for (size_t i = 0; i < f->weights.n; i++) {
    ig_proto_put_text(&f->w, FUNCTION_INPUT, f->weights.at[i].input);
  }
  put_opset(f, "", f->opset);
  for (size_t i = 0; i < f->domains.n; i++)
    put_opset(f, f->domains.at[i], ig_onnx_domain_version(f, f->domains.at[i]));
  ig_proto_put_text(&f->w, FUNCTION_DOMAIN, DOMAIN);
  return n;
}

// A function with the same body keeps its name; others of the class are numbered.
static const char *name_of(ig_onnx *x, const char *module, ig_bytes body) {
  char base[128];
  char text[160];
  class_name(x, module, base, sizeof base);
  size_t others = 0;
  for (size_t i = 0; i < x->functions->all.n; i++) {
    const ig_onnx_function *f = &x->functions->all.at[i];
    size_t length = strlen(base);
    if (strncmp(f->name, base, length) != 0) continue;
    if (f->name[length] != 0 && strncmp(f->name + length, "__", 2) != 0) continue;
    if (f->body.n == body.n && memcmp(f->body.at, body.at, body.n) == 0) return f->name;
    bool first = true;
    for (size_t k = 0; k < i; k++) first = first && x->functions->all.at[k].name != f->name;
    others += first;
  }
  (void)snprintf(text, sizeof text, others ? "%s__%zu" : "%s", base, others);
  return ig_onnx_keep(x, text);
}

static void keep_function(ig_onnx *x, ig_onnx *f, const ig_module_entry *entry, size_t nresults) {
  ig_sink sink = ig_sink_memory(x->c->alloc);
  ig_status st = ig_proto_write(x->c, &f->w, &sink);
  if (st == IG_OK) st = ig_sink_close(x->c, &sink);
  ig_onnx_function made = {.path = entry->path, .nweights = f->weights.n, .nresults = nresults};
  uint8_t *body = ig_onnx_push(x, sink.n + 1);
  ig_onnx_weight *weights = ig_onnx_push(x, ig_mem_mul(f->weights.n + 1, sizeof *weights));
  if (st == IG_OK && body && weights) {
    memcpy(body, sink.at, sink.n);
    if (f->weights.n) memcpy(weights, f->weights.at, f->weights.n * sizeof *weights);
    made.weights = weights;
    made.body = (ig_bytes){body, sink.n};
    made.name = name_of(x, entry->module, made.body);
    if (!ig_vec_push(x->c->alloc, &x->functions->all, made)) {
      (void)ig_fail(x->c, IG_NOMEM, "out of memory");
    }
  }
  ig_sink_drop(&sink);
}

static void write_function(ig_onnx *x, const ig_module_entry *entry) {
  ig_onnx_options bare = *x->options;
  bare.no_metadata = true;
  ig_onnx f = {.c = x->c, .p = x->p, .g = entry->graph, .options = &bare, .opset = x->opset};
  ig_onnx_state_init(&f);
  f.rows = x->rows;
  f.functions = x->functions;
  f.outer = x;
  f.path = entry->path;
  f.inside = 1;
  f.node_field = FUNCTION_NODE;
  size_t n = put_body(&f, entry->graph);
  if (ig_ctx_status(x->c) == IG_OK) keep_function(x, &f, entry, n);
  f.rows = ig_map_make(x->c->alloc);  // they are the model's
  ig_onnx_state_free(&f);
}

// ---- the model

static bool writes_state(const ig_program *p) {
  const ig_output_spec *out = NULL;
  size_t n = ig_program_outputs(p, &out);
  for (size_t i = 0; i < n; i++) {
    if (out[i].kind != IG_OUTPUT_USER) return true;
  }
  return false;
}

const ig_graph *ig_onnx_functions_make(ig_onnx *x) {
  if (writes_state(x->p)) return NULL;
  x->functions = ig_onnx_push(x, sizeof *x->functions);
  if (!x->functions) return NULL;
  x->functions->classes = ig_map_make(x->c->alloc);
  learn_all_classes(x, x->g);
  if (ig_program_unflatten(x->c, x->p, &x->functions->tree) != IG_OK) return NULL;
  const ig_module_entry *at = NULL;
  size_t n = ig_module_tree_entries(x->functions->tree, &at);
  for (size_t i = 1; i < n && ig_ctx_status(x->c) == IG_OK; i++) write_function(x, &at[i]);
  return n ? at[0].graph : NULL;
}

void ig_onnx_put_functions(ig_onnx *x) {
  for (size_t i = 0; x->functions && i < x->functions->all.n; i++) {
    const ig_onnx_function *f = &x->functions->all.at[i];
    bool seen = false;
    for (size_t k = 0; k < i; k++) seen = seen || x->functions->all.at[k].name == f->name;
    if (seen) continue;
    size_t mark = ig_proto_open(&x->w, MODEL_FUNCTION);
    ig_proto_put_text(&x->w, FUNCTION_NAME, f->name);
    ig_proto_put_raw(&x->w, f->body.at, f->body.n);
    ig_proto_close(&x->w, mark);
  }
}

void ig_onnx_functions_free(ig_onnx *x) {
  if (!x->functions || x->outer) return;
  ig_vec_free(x->c->alloc, &x->functions->all);
  ig_map_free(&x->functions->classes);
  ig_module_tree_free(x->functions->tree);
}
