// SPDX-License-Identifier: Apache-2.0
// Nodes, attributes and constants.
#include <math.h>
#include <string.h>

#include "edit/edit.h"
#include "onnx/model.h"
#include "tensor/number.h"

bool ig_ed_is(const ig_om_node *n, const char *op) {
  return !n->domain[0] && !n->function && strcmp(n->op_type, op) == 0;
}

const char *ig_ed_in(const ig_om_node *n, size_t i) {
  return i < n->ninputs ? n->inputs[i] : "";
}

size_t ig_ed_bodies(const ig_om_attr *a) {
  bool graphs = a->type == IG_OM_ATTR_GRAPH || a->type == IG_OM_ATTR_GRAPHS;
  return graphs && !a->ref ? a->n : 0;
}

bool ig_ed_has_graphs(const ig_om_node *n) {
  for (size_t i = 0; i < n->nattrs; i++)
    if (n->attrs[i].type == IG_OM_ATTR_GRAPH || n->attrs[i].type == IG_OM_ATTR_GRAPHS) return true;
  return false;
}

ig_om_node ig_ed_node(ig_edit *e, const ig_om_node *like, const char *op, const char *const *in,
                      size_t nin, const char *out) {
  const char **inputs = ig_ed_push(e, nin, sizeof *inputs);
  const char **outputs = ig_ed_push(e, 1, sizeof *outputs);
  if (inputs && nin) memcpy(inputs, in, nin * sizeof *inputs);
  if (outputs) *outputs = out;
  return (ig_om_node){.name = like ? like->name : "",
                      .op_type = op,
                      .domain = "",
                      .overload = "",
                      .doc = like ? like->doc : "",
                      .ninputs = inputs ? nin : 0,
                      .inputs = inputs,
                      .noutputs = outputs ? 1 : 0,
                      .outputs = outputs,
                      .nmetadata = like ? like->nmetadata : 0,
                      .metadata = like ? like->metadata : NULL};
}

void ig_ed_set_input(ig_edit *e, ig_om_node *n, size_t i, const char *name) {
  size_t count = i < n->ninputs ? n->ninputs : i + 1;
  const char **inputs = ig_ed_push(e, count, sizeof *inputs);
  if (!inputs) return;
  for (size_t k = 0; k < count; k++) inputs[k] = k == i ? name : ig_ed_in(n, k);
  n->inputs = inputs;
  n->ninputs = count;
}

void ig_ed_cut_inputs(ig_om_node *n, size_t count) {
  if (n->ninputs > count) n->ninputs = count;
  while (n->ninputs && !*n->inputs[n->ninputs - 1]) n->ninputs--;
}

void ig_ed_drop_attr(ig_edit *e, ig_om_node *n, const char *name) {
  if (!ig_om_find_attr(n, name)) return;
  ig_om_attr *attrs = ig_ed_push(e, n->nattrs, sizeof *attrs);
  size_t kept = 0;
  for (size_t i = 0; attrs && i < n->nattrs; i++)
    if (strcmp(n->attrs[i].name, name) != 0) attrs[kept++] = n->attrs[i];
  n->attrs = attrs;
  n->nattrs = kept;
}

void ig_ed_set_attr(ig_edit *e, ig_om_node *n, const ig_om_attr *a) {
  ig_ed_drop_attr(e, n, a->name);
  ig_om_attr *attrs = ig_ed_push(e, n->nattrs + 1, sizeof *attrs);
  if (!attrs) return;
  if (n->nattrs) memcpy(attrs, n->attrs, n->nattrs * sizeof *attrs);
  attrs[n->nattrs++] = *a;
  n->attrs = attrs;
}

void ig_ed_set_int(ig_edit *e, ig_om_node *n, const char *name, int64_t i) {
  ig_ed_set_attr(e, n,
                 &(ig_om_attr){.name = name, .doc = "", .type = IG_OM_ATTR_INT, .n = 1, .i = i});
}

void ig_ed_set_ints(ig_edit *e, ig_om_node *n, const char *name, const int64_t *at, size_t count) {
  int64_t *copy = ig_ed_push(e, count, sizeof *copy);
  if (!copy) return;
  if (count) memcpy(copy, at, count * sizeof *copy);
  ig_ed_set_attr(
      e, n,
      &(ig_om_attr){.name = name, .doc = "", .type = IG_OM_ATTR_INTS, .n = count, .ints = copy});
}

int64_t ig_ed_int(const ig_om_node *n, const char *name, int64_t otherwise) {
  const ig_om_attr *a = ig_om_find_attr(n, name);
  return a && !a->ref && a->type == IG_OM_ATTR_INT ? a->i : otherwise;
}

double ig_ed_float(const ig_om_node *n, const char *name, double otherwise) {
  const ig_om_attr *a = ig_om_find_attr(n, name);
  return a && !a->ref && a->type == IG_OM_ATTR_FLOAT ? (double)a->f : otherwise;
}

bool ig_ed_text_is(const ig_om_node *n, const char *name, const char *text, const char *otherwise) {
  const ig_om_attr *a = ig_om_find_attr(n, name);
  if (!a || a->ref || a->type != IG_OM_ATTR_STRING) return strcmp(text, otherwise) == 0;
  return a->s.n == strlen(text) && (!a->s.n || memcmp(a->s.at, text, a->s.n) == 0);
}

// ---- constants

bool ig_ed_is_real(int elem) {
  return elem == IG_OM_FLOAT || elem == IG_OM_FLOAT16 || elem == IG_OM_BFLOAT16 ||
         elem == IG_OM_DOUBLE;
}

int64_t ig_ed_opset(const ig_edit *e) {
  return ig_om_opset_version(e->m.opsets, e->m.nopsets, "");
}

ig_om_tensor *ig_ed_tensor(ig_edit *e, const char *name, int elem, int ndim, const int64_t *dims) {
  ig_om_tensor *t = ig_ed_push(e, 1, sizeof *t);
  int64_t *copy = ig_ed_push(e, (size_t)ndim, sizeof *copy);
  int64_t numel = 1;
  for (int d = 0; d < ndim; d++)
    if (!ig_checked_mul(numel, dims[d], &numel)) numel = INT64_MAX;
  size_t bits = ig_mem_mul((size_t)numel, ig_om_elem_bits(elem));
  size_t bytes = ig_mem_add(bits, 7) / 8;
  uint8_t *raw = bits == IG_SIZE_NONE ? NULL : ig_ed_push(e, bytes + 1, 1);
  if (!t || !copy || !raw) {
    ig_ed_no_memory(e);
    return NULL;
  }
  if (ndim) memcpy(copy, dims, (size_t)ndim * sizeof *copy);
  *t = (ig_om_tensor){.name = name,
                      .doc = "",
                      .elem = elem,
                      .ndim = ndim,
                      .dims = copy,
                      .numel = numel,
                      .raw = {raw, bytes}};
  return t;
}

ig_om_tensor *ig_ed_ints(ig_edit *e, const char *name, const int64_t *at, size_t n) {
  ig_om_tensor *t = ig_ed_tensor(e, name, IG_OM_INT64, 1, &(int64_t){(int64_t)n});
  if (t && n) memcpy((void *)t->raw.at, at, n * sizeof *at);
  return t;
}

double *ig_ed_doubles(ig_edit *e, const ig_om_tensor *t) {
  ig_dtype dtype = ig_om_elem_dtype(t->elem);
  bool whole = dtype != IG_DTYPE_COUNT && ig_om_elem_bits(t->elem) == ig_dtype_size(dtype) * 8;
  if (!whole || ig_dtype_is_complex(dtype) || !ig_ed_ok(e)) return NULL;
  double *to = ig_scope_array(e->c, (size_t)t->numel + 1, sizeof *to);
  void *copy = ig_scope_push(e->c, t->raw.n + 1);  // raw bytes need not be aligned
  if (!to || !copy) return NULL;
  if (t->raw.n) memcpy(copy, t->raw.at, t->raw.n);
  ig_convert(to, IG_F64, copy, dtype, (size_t)t->numel);
  return to;
}

void ig_ed_store(ig_om_tensor *t, const double *from) {
  ig_convert((void *)t->raw.at, ig_om_elem_dtype(t->elem), from, IG_F64, (size_t)t->numel);
}

int64_t *ig_ed_int_list(ig_edit *e, const ig_om_tensor *t) {
  bool wide = t->elem == IG_OM_INT64;
  if ((!wide && t->elem != IG_OM_INT32) || !ig_ed_ok(e)) return NULL;
  int64_t *to = ig_scope_array(e->c, (size_t)t->numel + 1, sizeof *to);
  for (int64_t i = 0; to && i < t->numel; i++) {
    int32_t narrow = 0;
    if (wide) memcpy(&to[i], t->raw.at + i * 8, sizeof to[i]);
    if (!wide) memcpy(&narrow, t->raw.at + i * 4, sizeof narrow);
    if (!wide) to[i] = narrow;
  }
  return to;
}
