// SPDX-License-Identifier: Apache-2.0
// Constants: known integers, and nodes whose operands are constant. Such a node is a model of its
// own, which is run.
#include <string.h>

#include "base/budget.h"
#include "edit/work.h"
#include "onnx/proto_parse.h"
#include "onnx_read/reader.h"

enum { MAX_FOLDED = 1 << 24, MAX_UNKNOWN = 1 << 16, MAX_WORK = 1 << 20 };
static const uint64_t max_all = UINT64_C(1) << 31;

// Results that take the place of a node's, one per result.
static ig_ed_outcome become(ig_ed_work *w, ig_om_node *n, ig_om_tensor *t) {
  ig_ed_value *v = ig_ed_val_put(w, n->outputs[0]);
  if (!v || !t) return IG_ED_KEPT;
  w->changed = true;
  w->folded += t->raw.n;
  if (v->out) {
    const ig_om_tensor **list = ig_ed_push(w->e, 1, sizeof *list);
    if (!list) return IG_ED_KEPT;
    *list = t;
    *n = ig_ed_node(w->e, n, "Constant", NULL, 0, n->outputs[0]);
    ig_ed_set_attr(
        w->e, n,
        &(ig_om_attr){
            .name = "value", .doc = "", .type = IG_OM_ATTR_TENSOR, .n = 1, .tensors = list});
    v->init = t;
    return IG_ED_CHANGED;
  }
  t->name = n->outputs[0];
  v->init = t;
  v->elem = t->elem;
  v->ndim = t->ndim;
  v->dims = t->dims;
  v->exprs = ig_ed_push(w->e, (size_t)t->ndim, sizeof *v->exprs);
  if (!ig_vec_push(w->e->c->alloc, &w->inits, (const ig_om_tensor *)t)) ig_ed_no_memory(w->e);
  return IG_ED_GONE;
}

// ---- Constant

static ig_om_tensor *of_numbers(ig_edit *e, int elem, bool scalar, const void *at, size_t n) {
  ig_om_tensor *t = ig_ed_tensor(e, "", elem, scalar ? 0 : 1, &(int64_t){(int64_t)n});
  if (t && t->raw.n) memcpy((void *)t->raw.at, at, t->raw.n);
  return t;
}

static ig_om_tensor *value_of(ig_edit *e, const ig_om_node *n) {
  const ig_om_attr *a = n->nattrs == 1 ? &n->attrs[0] : NULL;
  if (!a || a->ref) return NULL;
  if (a->type == IG_OM_ATTR_INT) return of_numbers(e, IG_OM_INT64, true, &a->i, 1);
  if (a->type == IG_OM_ATTR_FLOAT) return of_numbers(e, IG_OM_FLOAT, true, &a->f, 1);
  if (a->type == IG_OM_ATTR_INTS) return of_numbers(e, IG_OM_INT64, false, a->ints, a->n);
  if (a->type == IG_OM_ATTR_FLOATS) return of_numbers(e, IG_OM_FLOAT, false, a->floats, a->n);
  ig_om_tensor *t = a->type == IG_OM_ATTR_TENSOR ? ig_ed_push(e, 1, sizeof *t) : NULL;
  if (t) *t = *a->tensors[0];
  return t;
}

// ---- known integers

static ig_om_tensor *of_content(ig_ed_work *w, const ig_ed_value *v) {
  static const uint8_t sizes[] = {[IG_OM_INT64] = 8, [IG_OM_INT32] = 4, [IG_OM_BOOL] = 1};
  size_t size = v->elem > 0 && v->elem < (int)sizeof sizes ? sizes[v->elem] : 0;
  if (!v->has_content || !size || v->ndim < 0 || v->ndim > 1) return NULL;
  for (size_t i = 0; i < v->n; i++)
    if (v->content_exprs[i]) return NULL;
  ig_om_tensor *t = ig_ed_tensor(w->e, "", v->elem, v->ndim, &(int64_t){(int64_t)v->n});
  for (size_t i = 0; t && i < v->n; i++) {
    int64_t wide = v->content[i];
    int32_t narrow = (int32_t)wide;
    uint8_t truth = wide != 0;
    const void *from = size == 8 ? (const void *)&wide : size == 4 ? (const void *)&narrow : &truth;
    memcpy((uint8_t *)t->raw.at + i * size, from, size);
  }
  return t;
}

// ---- computing

// Nodes that stay although their operands are constant: they say how a weight is stored.
static bool stays(const ig_om_node *n) {
  static const char *const ops[] = {"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
    if (ig_ed_is(n, ops[i])) return true;
  return ig_rd_is_random(n);
}

static bool fits(ig_ed_work *w, const ig_om_node *n) {
  uint64_t limit = w->options->max_folded ? w->options->max_folded : MAX_FOLDED;
  uint64_t operands = 0;
  for (size_t i = 0; i < n->ninputs; i++) {
    const ig_ed_value *v = ig_ed_val(w, n->inputs[i]);
    if (*n->inputs[i] && !v->init) return false;
    if (v->init) operands += v->init->raw.n;
  }
  uint64_t results = 0;
  for (size_t i = 0; i < n->noutputs; i++) {
    const ig_ed_value *v = ig_ed_val(w, n->outputs[i]);
    if (!*n->outputs[i] || (i && !v->reads)) continue;
    ig_dtype dtype = ig_om_elem_dtype(v->elem);
    if (i || dtype == IG_DTYPE_COUNT || ig_om_elem_bits(v->elem) != ig_dtype_size(dtype) * 8)
      return false;
    uint64_t bytes = ig_dtype_size(dtype);
    if (v->ndim < 0 && operands > MAX_UNKNOWN) return false;
    for (int d = 0; d < v->ndim; d++) {
      if (v->dims[d] < 0 && operands > MAX_UNKNOWN) return false;
      uint64_t size = v->dims[d] < 0 ? 1 : (uint64_t)v->dims[d];
      if (size && bytes > UINT64_MAX / size) return false;
      bytes *= size;
    }
    results += bytes;
  }
  return (results <= limit || results <= operands) && w->folded + results <= max_all;
}

static ig_om_tensor *of_value(ig_edit *e, const ig_value *v, int elem) {
  if (v->kind != IG_KIND_TENSOR || !v->tensor || ig_om_elem_of(ig_tensor_dtype(v->tensor)) != elem)
    return NULL;
  const ig_tensor *x = v->tensor;
  int64_t dims[IG_MAX_DIM];
  for (int d = 0; d < x->ndim; d++) dims[d] = ig_sizes(x)[d].value;  // concrete: of a run
  ig_om_tensor *t = ig_ed_tensor(e, "", elem, x->ndim, dims);
  if (t && t->raw.n) ig_tensor_read(x, ig_tensor_dtype(x), (void *)t->raw.at);
  return t;
}

// The node alone, over its operands as initializers.
static ig_om_tensor *run(ig_ed_work *w, const ig_om_node *n) {
  ig_edit *e = w->e;
  ig_onnx_model m = e->m;
  ig_om_graph g = {.name = "constant", .doc = "", .nnodes = 1, .noutputs = 1};
  ig_om_node node = *n;
  ig_om_info out = {.name = n->outputs[0], .doc = ""};
  const ig_om_tensor **inits = ig_ed_push(e, n->ninputs, sizeof *inits);
  if (!inits) return NULL;
  for (size_t i = 0; i < n->ninputs; i++) {
    const ig_om_tensor *t = ig_ed_val(w, n->inputs[i])->init;
    ig_om_tensor *named = t ? ig_ed_push(e, 1, sizeof *named) : NULL;
    bool twice = false;
    for (size_t k = 0; k < i; k++) twice |= strcmp(n->inputs[k], n->inputs[i]) == 0;
    if (!named || twice) continue;
    *named = *t;
    named->name = n->inputs[i];
    inits[g.ninits++] = named;
  }
  node.noutputs = 1;
  g.nodes = &node;
  g.outputs = &out;
  g.inits = inits;
  m.graph = &g;
  m.nfunctions = 0;
  m.arena = ig_arena_make(e->c->alloc);
  ig_value result = ig_none();
  const ig_limits limits = {.size = sizeof limits, .max_work = MAX_WORK};
  const ig_account outer = ig_account_open(e->c, &limits);
  ig_scope s = ig_scope_open(e->c);  // its tensors lie in the model, which ends with this function
  ig_status st = ig_om_resolve(e->c, &m);
  if (st == IG_OK) st = ig_onnx_run(e->c, &m, NULL, 0, &result);
  ig_account_close(e->c, &outer);
  bool more = e->c->account.left > 0;
  ig_om_tensor *t = NULL;
  if (st == IG_OK) t = of_value(e, &result, ig_ed_val(w, n->outputs[0])->elem);
  ig_scope_close(e->c, s);
  ig_arena_free(&m.arena);
  // What cannot be computed stays as it is.
  if (st != IG_OK && (!ig_status_is_final(st) || (st == IG_LIMIT && more))) ig_ctx_clear(e->c);
  return t;
}

ig_ed_outcome ig_ed_fold(ig_ed_work *w, ig_om_node *n) {
  if (n->function || n->noutputs == 0 || !*n->outputs[0]) return IG_ED_KEPT;
  const ig_ed_value *v = ig_ed_val(w, n->outputs[0]);
  if (ig_ed_is(n, "Constant")) {
    ig_om_tensor *t = v->out ? NULL : value_of(w->e, n);
    return t ? become(w, n, t) : IG_ED_KEPT;
  }
  if (ig_ed_has_graphs(n) || !ig_ed_only_first(w, n)) return IG_ED_KEPT;
  ig_om_tensor *t = of_content(w, v);
  if (!t && !stays(n) && fits(w, n) &&
      ig_onnx_schema_find(n->domain, n->op_type,
                          ig_om_opset_version(w->e->m.opsets, w->e->m.nopsets, n->domain)))
    t = run(w, n);
  return t ? become(w, n, t) : IG_ED_KEPT;
}
