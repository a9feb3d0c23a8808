// SPDX-License-Identifier: Apache-2.0
// Costs by module. Arithmetic is counted in the program's Core ATen form, in which every product is
// one of few operators; memory in the form that runs. Both name the module of each call.
#include "ingot/layers.h"

#include <stdio.h>
#include <string.h>

#include "base/budget.h"
#include "base/cause.h"
#include "ingot/aten.h"
#include "ingot/file.h"
#include "model/dim_names.h"
#include "op/op.h"

enum { MAX_DEPTH = 1000 };

typedef struct layer {
  ig_layer out;
  ig_int flops;
  ig_int bytes;
  struct layer *parent;  // NULL: the model
  struct layer *child;
  struct layer *last;
  struct layer *next;
} layer;

typedef struct costs {
  ig_ctx *c;
  const ig_model *m;
  ig_arena arena;
  ig_map by_path;
  layer *root;
  size_t n;
  const ig_dim_value *given;
  size_t ngiven;
  ig_dim_names names;
} costs;

static layer *no_memory(const costs *k) {
  (void)ig_fail(k->c, IG_NOMEM, "out of memory");
  return NULL;
}

// ---- modules

static layer *new_layer(costs *k, layer *parent, const char *path, const char *type) {
  if (parent && parent->out.depth >= MAX_DEPTH) {
    (void)ig_fail(k->c, IG_UNSUPPORTED, "modules are nested more than %d deep", MAX_DEPTH);
    return NULL;
  }
  layer *l = ig_arena_push(&k->arena, sizeof *l);
  ig_map_value *at = ig_map_put(&k->by_path, path);
  if (!l || !at) return no_memory(k);
  at->ptr = l;
  l->out.path = path;
  l->out.type = type;
  l->out.depth = parent ? parent->out.depth + 1 : 0;
  l->flops = l->bytes = ig_const(0);
  l->parent = parent;
  if (parent && parent->last) parent->last->next = l;
  if (parent && !parent->last) parent->child = l;
  if (parent) parent->last = l;
  k->n++;
  return l;
}

// The innermost module of a node.
static layer *layer_of(costs *k, const ig_node *n) {
  const ig_module_level *levels = NULL;
  size_t depth = ig_node_modules(n, &levels);
  layer *at = k->root;
  if (ig_modules_are_none(levels, depth)) depth = 0;
  for (size_t i = 0; i < depth && at; i++) {
    if (!levels[i].path[0]) {
      if (!k->root->out.type[0]) k->root->out.type = levels[i].type;
      continue;
    }
    ig_map_value *found = ig_map_find(&k->by_path, levels[i].path);
    at = found ? found->ptr : new_layer(k, at, levels[i].path, levels[i].type);
  }
  return at;
}

// ---- arithmetic

static ig_int product(const costs *k, const ig_value *v, ig_int factor) {
  for (int d = 0; v->kind == IG_KIND_TENSOR && d < v->tensor->ndim; d++) {
    factor = ig_int_mul(k->c, factor, ig_tensor_size(v->tensor, d));
  }
  return factor;
}

static const ig_value *operand(const ig_node *n, size_t i) {
  bool node = i < n->npos && n->args[i].kind == IG_KIND_NODE;
  const ig_value *v = node ? &n->args[i].node->val : NULL;
  return v && v->kind == IG_KIND_TENSOR ? v : NULL;
}

// Every element of the result is a sum of as many products as the left matrix has columns.
static ig_int matrix_flops(const costs *k, const ig_node *n, size_t left) {
  const ig_value *a = operand(n, left);
  if (!a || a->tensor->ndim < 1) return ig_const(0);
  ig_int columns = ig_tensor_size(a->tensor, a->tensor->ndim - 1);
  return product(k, &n->val, ig_int_mul(k->c, ig_const(2), columns));
}

// Every element of the result (of the input, if it is transposed) meets one filter.
static ig_int convolution_flops(const costs *k, const ig_node *n) {
  enum { INPUT = 0, WEIGHT = 1, TRANSPOSED = 6 };
  const ig_value *x = operand(n, INPUT);
  const ig_value *w = operand(n, WEIGHT);
  bool transposed =
      n->npos > TRANSPOSED && n->args[TRANSPOSED].kind == IG_KIND_BOOL && n->args[TRANSPOSED].b;
  if (!x || !w || w->tensor->ndim < 1) return ig_const(0);
  ig_int f = ig_const(2);
  for (int d = 1; d < w->tensor->ndim; d++) {
    f = ig_int_mul(k->c, f, ig_tensor_size(w->tensor, d));
  }
  return product(k, transposed ? x : &n->val, f);
}

static ig_int flops_of(const costs *k, const ig_node *n) {
  if (n->val.kind != IG_KIND_TENSOR) return ig_const(0);
  switch (n->op->number) {
    case IG_ID_MM:
    case IG_ID_BMM:
      return matrix_flops(k, n, 0);
    case IG_ID_ADDMM:
    case IG_ID_BADDBMM:
      return matrix_flops(k, n, 1);
    case IG_ID_CONVOLUTION:
      return convolution_flops(k, n);
    default:
      return ig_const(0);
  }
}

static ig_int bytes_of(const costs *k, const ig_value *v) {
  ig_int sum = ig_const(0);
  if (v->kind == IG_KIND_TENSOR) {
    return product(k, v, ig_const((int64_t)ig_dtype_size(v->tensor->dtype)));
  }
  for (size_t i = 0; v->kind == IG_KIND_LIST && i < v->list.n; i++) {
    sum = ig_int_add(k->c, sum, bytes_of(k, &v->list.at[i]));
  }
  return sum;
}

static bool walk(costs *k, const ig_graph *g, bool arithmetic) {
  for (const ig_node *n = g->first; n && ig_step(k->c); n = n->next) {
    if (n->kind != IG_NODE_CALL || n->callee != IG_CALLEE_OP) continue;
    bool view = atomic_load(&n->op->facts) & IG_FACT_VIEW;
    layer *l = layer_of(k, n);
    if (!l) return false;
    if (arithmetic) l->flops = ig_int_add(k->c, l->flops, flops_of(k, n));
    if (!arithmetic && !view) l->bytes = ig_int_add(k->c, l->bytes, bytes_of(k, &n->val));
  }
  for (size_t i = 0; i < g->subs.n && k->c->status == IG_OK; i++) {
    if (!walk(k, g->subs.at[i].graph, arithmetic)) return false;
  }
  return k->c->status == IG_OK;
}

static bool walk_program(costs *k, const ig_program *p, bool arithmetic) {
  ig_mode_scope mode = ig_mode_push_sym(k->c, p->graph->sym);
  bool ok = walk(k, p->graph, arithmetic);
  ig_mode_pop(k->c, &mode);
  return ok;
}

// ---- weights

static void add_weight(layer *l, const ig_model_weight *w) {
  int64_t n = ig_tensor_numel(w->tensor);
  if (w->role == IG_WEIGHT_PARAMETER || w->role == IG_WEIGHT_ARRAY) l->out.parameters += n;
  l->out.weight_bytes += n * (int64_t)ig_dtype_size(ig_tensor_dtype(w->tensor));
}

// The innermost module whose path begins the name; sums go up later.
static bool add_weights(costs *k) {
  ig_map met = ig_map_make(k->c->alloc);
  bool ok = true;
  for (size_t i = 0; ok && i < k->m->weights.n; i++) {
    const ig_model_weight *w = k->m->weights.at[i];
    if (!w->tensor) continue;
    char key[40];
    (void)snprintf(key, sizeof key, "%p", (const void *)w->tensor);
    const char *kept = NULL;
    ok = ig_map_keep(&met, &k->arena, key, &kept) != NULL;
    if (!kept) continue;
    char *path = ig_arena_strn(&k->arena, w->name, strlen(w->name));
    layer *l = NULL;
    ok = ok && path;
    for (char *dot = path ? strrchr(path, '.') : NULL; dot && !l; dot = strrchr(path, '.')) {
      *dot = 0;
      const ig_map_value *at = ig_map_find(&k->by_path, path);
      l = at ? at->ptr : NULL;
    }
    if (ok) add_weight(l ? l : k->root, w);
  }
  ig_map_free(&met);
  if (!ok && k->c->status == IG_OK) (void)no_memory(k);
  return ok;
}

// ---- results

static bool given_size(void *user, const ig_expr *symbol, ig_hint *out) {
  const costs *k = user;
  const char *shown = ig_dim_names_of(&k->names, symbol->name, strlen(symbol->name));
  for (size_t i = 0; i < k->ngiven; i++) {
    if (strcmp(k->given[i].name, shown ? shown : symbol->name) != 0) continue;
    *out = (ig_hint){.sort = IG_SORT_INT, .i = k->given[i].value, .den = 1};
    return true;
  }
  return false;
}

static const char *text_of(costs *k, ig_int x, int64_t *value) {
  ig_hint h;
  *value = x.expr ? -1 : x.value;
  if (x.expr && ig_expr_eval(x.expr, given_size, k, &h) && h.sort == IG_SORT_INT && h.i >= 0 &&
      h.i < INT64_MAX) {
    *value = (int64_t)h.i;
    x = ig_const(*value);
  }
  ig_str plain = ig_str_make(k->c->alloc);
  ig_str s = ig_str_make(k->c->alloc);
  ig_str_int(&plain, x);
  ig_dim_names_put(&k->names, &s, plain.failed ? "" : plain.at);
  s.failed = s.failed || plain.failed;
  ig_str_free(&plain);
  char *text = s.failed ? NULL : ig_scope_array(k->c, s.n + 1, 1);
  if (text) memcpy(text, s.at, s.n + 1);
  ig_str_free(&s);
  if (!text) (void)no_memory(k);
  return text;
}

static const char *copy(costs *k, const char *text) {
  char *s = ig_scope_array(k->c, strlen(text) + 1, 1);
  if (s) memcpy(s, text, strlen(text) + 1);
  return s;
}

// Depth first: a module before those in it; their costs are added to it.
static size_t list_layers(costs *k, layer *l, ig_layer *out, size_t at) {
  size_t mine = at++;
  for (layer *in = l->child; in && k->c->status == IG_OK; in = in->next) {
    at = list_layers(k, in, out, at);
    l->flops = ig_int_add(k->c, l->flops, in->flops);
    l->bytes = ig_int_add(k->c, l->bytes, in->bytes);
    l->out.parameters += in->out.parameters;
    l->out.weight_bytes += in->out.weight_bytes;
  }
  out[mine] = l->out;
  out[mine].path = copy(k, l->out.path);
  out[mine].type = copy(k, l->out.type);
  out[mine].flops = text_of(k, l->flops, &out[mine].flops_value);
  out[mine].activations = text_of(k, l->bytes, &out[mine].activations_value);
  return at;
}

static void count(costs *k, const ig_layer **list, size_t *n) {
  ig_program *core = NULL;
  ig_program *p = ig_model_runnable(k->m);
  k->root = new_layer(k, NULL, "", "");
  ig_decompose_args args = {.size = sizeof args, .level = IG_DECOMPOSE_CORE};
  bool ok = k->root && ig_dim_names_find(&k->names, k->m, p) && walk_program(k, p, false) &&
            ig_program_decompose(k->c, p, &args, &core) == IG_OK && walk_program(k, core, true) &&
            add_weights(k);
  ig_layer *out = ok ? ig_scope_array(k->c, k->n, sizeof *out) : NULL;
  if (out) {
    ig_mode_scope mode = ig_mode_push_sym(k->c, core->graph->sym);
    *n = list_layers(k, k->root, out, 0);
    ig_mode_pop(k->c, &mode);
    *list = out;
  }
  ig_program_free(core);
}

ig_status ig_model_layers(ig_ctx *c, const ig_model *m, const ig_dim_value *given, size_t ngiven,
                          const ig_layer **list, size_t *n) {
  *list = NULL;
  *n = 0;
  if (c->status != IG_OK) return c->status;
  if (!ig_model_runnable(m)) {
    return ig_fail(c, IG_UNSUPPORTED | IG_E_NO_PROGRAM, "%s: it has no program", m->name);
  }
  costs k = {.c = c,
             .m = m,
             .arena = ig_arena_make(c->alloc),
             .given = given,
             .ngiven = ngiven,
             .names = {.c = c}};
  k.by_path = ig_map_make(c->alloc);
  count(&k, list, n);
  ig_map_free(&k.by_path);
  ig_dim_names_free(&k.names);
  ig_arena_free(&k.arena);
  return c->status;
}
