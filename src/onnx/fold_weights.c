// SPDX-License-Identifier: Apache-2.0
// With the TorchScript conventions, nodes that only rearrange weights or compute with them are
// evaluated when the model is written: the result is an initializer "onnx::<reader>_<number>", and
// weights that nothing else reads are left out.
#include <stdio.h>
#include <string.h>

#include "ingot/aten.h"
#include "onnx/convention.h"
#include "onnx/model.h"

typedef struct ig_onnx_known {
  struct ig_onnx_known *next;
  ig_tensor *t;   // retained
  bool weight;    // or computed from one
  bool folded;    // not in x->tensors yet
  size_t at;      // otherwise its place there
  size_t number;  // of the results folded before
} known;

// The name under which a value is known: its own, or that of what it is a copy of. NULL: it is not.
static const char *known_name(const ig_onnx *x, const char *name) {
  while (name && name[0] && !ig_map_find(&x->known, name)) {
    ig_map_value *v = ig_map_find(&x->aliases, name);
    name = v ? v->text : NULL;
  }
  return name && name[0] ? name : NULL;
}

static known *find(const ig_onnx *x, const char *name) {
  const char *own = known_name(x, name);
  ig_map_value *v = own ? ig_map_find(&x->known, own) : NULL;
  return v ? v->ptr : NULL;
}

static bool applies(const ig_onnx *x) {
  return x->options->torchscript && !x->options->no_folding && !x->inside && !x->outer &&
         !x->options->weights_as_inputs && !x->functions;
}

static known *add(ig_onnx *x, const char *name, ig_tensor *t) {
  ig_map_value *v = ig_map_put(&x->known, name);
  if (!v) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  known *k = v && !v->ptr ? ig_onnx_push(x, sizeof *k) : NULL;
  if (!k) return NULL;
  k->t = ig_tensor_retain(t);
  k->next = x->all_known;
  x->all_known = k;
  v->ptr = k;
  return k;
}

void ig_onnx_know_weight(ig_onnx *x, const char *name, const ig_tensor *t) {
  if (!applies(x) || ig_tensor_is_fake(t)) return;
  known *k = add(x, name, (ig_tensor *)t);
  if (k) k->weight = true;
}

bool ig_onnx_is_constant(const ig_onnx *x, const char *name) {
  const known *k = find(x, name);
  return k && !k->weight;
}

bool ig_onnx_is_weight(const ig_onnx *x, const char *name) {
  const known *k = find(x, name);
  return k && k->weight;
}

const ig_tensor *ig_onnx_known_value(const ig_onnx *x, const char *name) {
  const known *k = find(x, name);
  return k ? k->t : NULL;
}

void ig_onnx_know_constant(ig_onnx *x, const char *name) {
  if (!applies(x) || !x->tensors.n) return;
  const struct ig_onnx_tensor *c = &x->tensors.at[x->tensors.n - 1];
  ig_foreign memory = {.data = (void *)c->data.at, .bytes = c->data.n};
  ig_scope s = ig_scope_open(x->c);
  ig_tensor *t = ig_tensor_wrap(x->c, c->dtype, c->dims, c->ndim, &memory);
  known *k = t ? add(x, name, t) : NULL;
  if (k) k->at = x->tensors.n - 1;
  ig_scope_close(x->c, s);
}

static void release_folds(const ig_onnx_folded *at, size_t n) {
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < IG_ONNX_FOLD_INPUTS; k++) ig_tensor_release(at[i].in[k]);
    for (size_t k = 0; k < IG_ONNX_FOLD_OUTPUTS; k++) ig_tensor_release(at[i].out[k]);
  }
}

void ig_onnx_known_free(ig_onnx *x) {
  for (known *k = x->all_known; k; k = k->next) ig_tensor_release(k->t);
  ig_map_free(&x->known);
  release_folds(x->folds.at, x->folds.n);
  release_folds(x->earlier.at, x->earlier.n);
  ig_vec_free(x->c->alloc, &x->folds);
  ig_vec_free(x->c->alloc, &x->earlier);
}

void ig_onnx_reuse_folds(ig_onnx *x, ig_onnx *earlier) {
  for (size_t i = 0; i < earlier->folds.n; i++) {
    ig_onnx_folded f = earlier->folds.at[i];
    if (!ig_vec_push(x->c->alloc, &x->earlier, f)) release_folds(&f, 1);
  }
  earlier->folds.n = 0;
}

// ---- results of an earlier evaluation

enum { MAX_COMPARED = 4096 };  // bytes

// The same weight, or an equal constant.
static bool is_same_operand(const ig_tensor *a, const ig_tensor *b) {
  if (!a || !b || a == b) return a == b;
  bool same =
      a->dtype == b->dtype && a->ndim == b->ndim && ig_tensor_is_dense(a) && ig_tensor_is_dense(b);
  for (int d = 0; same && d < a->ndim; d++)
    same = ig_tensor_size(a, d).value == ig_tensor_size(b, d).value;
  if (!same || ig_tensor_data(a) == ig_tensor_data(b)) return same;
  size_t n = ig_mem_mul((size_t)ig_tensor_numel(a), ig_dtype_size(a->dtype));
  return n <= MAX_COMPARED && memcmp(ig_tensor_data(a), ig_tensor_data(b), n) == 0;
}

bool ig_onnx_find_folded(const ig_onnx *x, ig_onnx_folded *f) {
  const ig_onnx_folded *e = x->folds.n < x->earlier.n ? &x->earlier.at[x->folds.n] : NULL;
  if (!e || e->op != f->op) return false;
  for (size_t i = 0; i < IG_ONNX_FOLD_INPUTS; i++)
    if (!is_same_operand(e->in[i], f->in[i])) return false;
  memcpy(f->out, e->out, sizeof f->out);
  return true;
}

void ig_onnx_keep_folded(ig_onnx *x, ig_onnx_folded f) {
  for (size_t i = 0; i < IG_ONNX_FOLD_INPUTS; i++) f.in[i] = ig_tensor_retain(f.in[i]);
  for (size_t i = 0; i < IG_ONNX_FOLD_OUTPUTS; i++) f.out[i] = ig_tensor_retain(f.out[i]);
  if (!ig_vec_push(x->c->alloc, &x->folds, f)) release_folds(&f, 1);
}

// ---- evaluation

enum { MAX_IN = 4 };
typedef struct args {
  const ig_onnx_node *n;
  ig_tensor *in[MAX_IN];
} args;

static const ig_onnx_attr *attr_of(const ig_onnx_node *n, const char *name) {
  for (size_t i = 0; n->attrs[i].name; i++)
    if (strcmp(n->attrs[i].name, name) == 0) return &n->attrs[i];
  return NULL;
}

// Element i of an operand of integers.
static int64_t number(const args *a, size_t k, size_t i) {
  return ((const int64_t *)ig_tensor_data(a->in[k]))[i];
}

static bool is_lone(const args *a, size_t k) {
  return a->in[k] && a->in[k]->dtype == IG_I64 && ig_tensor_numel(a->in[k]) == 1;
}

static ig_tensor *transpose(ig_ctx *c, const args *a) {
  const ig_onnx_attr *perm = attr_of(a->n, "perm");
  ig_int dims[IG_MAX_DIM];
  if (!perm || perm->n > IG_MAX_DIM) return NULL;
  for (size_t i = 0; i < perm->n; i++) dims[i] = ig_const(perm->ints[i]);
  return ig_permute(c, a->in[0], ig_of_ints(dims, perm->n));
}

static ig_tensor *unsqueeze(ig_ctx *c, const args *a) {
  ig_tensor *t = a->in[1] && a->in[1]->dtype == IG_I64 ? a->in[0] : NULL;
  int64_t n = t ? ig_tensor_numel(a->in[1]) : 0;
  for (int64_t i = 0; i < n; i++) {  // in rising order, or one that counts from the end
    int64_t axis = number(a, 1, (size_t)i);
    if (n > 1 && (axis < 0 || (i && axis <= number(a, 1, (size_t)i - 1)))) return NULL;
    t = ig_unsqueeze(c, t, ig_const(axis));
  }
  return t;
}

static ig_tensor *squeeze(ig_ctx *c, const args *a) {
  return is_lone(a, 1) ? ig_squeeze_dim(c, a->in[0], ig_const(number(a, 1, 0))) : NULL;
}

static ig_tensor *gather(ig_ctx *c, const args *a) {
  const ig_onnx_attr *axis = attr_of(a->n, "axis");
  if (!axis || !a->in[1] || a->in[1]->ndim != 1) return NULL;
  return ig_index_select(c, a->in[0], ig_const(axis->i), a->in[1]);
}

static ig_tensor *slice(ig_ctx *c, const args *a) {
  if (!is_lone(a, 1) || !is_lone(a, 2) || !is_lone(a, 3)) return NULL;
  return ig_slice_tensor_with(c, a->in[0], ig_const(number(a, 3, 0)), ig_of_i64(number(a, 1, 0)),
                              ig_of_i64(number(a, 2, 0)), ig_const(1));
}

static ig_tensor *reshape(ig_ctx *c, const args *a) {
  ig_int sizes[IG_MAX_DIM];
  int64_t n = a->in[1] && a->in[1]->dtype == IG_I64 ? ig_tensor_numel(a->in[1]) : IG_MAX_DIM + 1;
  if (n > IG_MAX_DIM) return NULL;
  for (int64_t i = 0; i < n; i++) {
    if (number(a, 1, (size_t)i) == 0) return NULL;
    sizes[i] = ig_const(number(a, 1, (size_t)i));
  }
  return ig_reshape(c, a->in[0], ig_of_ints(sizes, (size_t)n));
}

static ig_tensor *concat(ig_ctx *c, const args *a) {
  const ig_onnx_attr *axis = attr_of(a->n, "axis");
  ig_value list[MAX_IN];
  size_t n = 0;
  for (; n < MAX_IN && a->in[n]; n++) list[n] = ig_of_tensor(a->in[n]);
  return axis ? ig_cat_with(c, ig_of_list(list, n), ig_const(axis->i)) : NULL;
}

// Arithmetic of floating-point tensors; that of integers rounds and wraps in its own way.
static bool are_floats(const args *a) {
  bool two = a->in[1] != NULL;
  return ig_dtype_is_float(a->in[0]->dtype) && (!two || a->in[1]->dtype == a->in[0]->dtype);
}

static ig_tensor *add_two(ig_ctx *c, const args *a) {
  return a->in[1] && are_floats(a) ? ig_add_tensor(c, a->in[0], a->in[1]) : NULL;
}

static ig_tensor *subtract(ig_ctx *c, const args *a) {
  return a->in[1] && are_floats(a) ? ig_sub_tensor(c, a->in[0], a->in[1]) : NULL;
}

static ig_tensor *multiply(ig_ctx *c, const args *a) {
  return a->in[1] && are_floats(a) ? ig_mul_tensor(c, a->in[0], a->in[1]) : NULL;
}

static ig_tensor *divide(ig_ctx *c, const args *a) {
  return a->in[1] && are_floats(a) ? ig_div_tensor(c, a->in[0], a->in[1]) : NULL;
}

static ig_tensor *negate(ig_ctx *c, const args *a) {
  return are_floats(a) ? ig_neg(c, a->in[0]) : NULL;
}

static ig_tensor *root(ig_ctx *c, const args *a) {
  return are_floats(a) ? ig_sqrt(c, a->in[0]) : NULL;
}

// The axes are an attribute, from opset 18 on an operand; without any all are meant.
static ig_tensor *norm(ig_ctx *c, const args *a, int64_t order) {
  const ig_onnx_attr *axes = attr_of(a->n, "axes");
  const ig_onnx_attr *keep = attr_of(a->n, "keepdims");
  ig_int dims[IG_MAX_DIM];
  size_t n = axes ? axes->n : 0;
  bool operand = !axes && a->in[1];
  if (operand && a->in[1]->dtype != IG_I64) return NULL;
  if (operand) n = (size_t)ig_tensor_numel(a->in[1]);
  if (!ig_dtype_is_float(a->in[0]->dtype) || n > IG_MAX_DIM) return NULL;
  for (size_t i = 0; i < n; i++) dims[i] = ig_const(operand ? number(a, 1, i) : axes->ints[i]);
  return ig_linalg_vector_norm_with(c, a->in[0], ig_of_i64(order),
                                    n ? ig_of_ints(dims, n) : ig_none(), !keep || keep->i != 0,
                                    ig_none());
}

static ig_tensor *norm_one(ig_ctx *c, const args *a) {
  return norm(c, a, 1);
}

static ig_tensor *norm_two(ig_ctx *c, const args *a) {
  return norm(c, a, 2);
}

// The operators that PyTorch's exporter folds and that rows apply to weights.
static const struct {
  const char *op;
  ig_tensor *(*fn)(ig_ctx *c, const args *a);
} table[] = {{"Transpose", transpose}, {"Unsqueeze", unsqueeze}, {"Squeeze", squeeze},
             {"Gather", gather},       {"Slice", slice},         {"Reshape", reshape},
             {"Concat", concat},       {"Add", add_two},         {"Sub", subtract},
             {"Mul", multiply},        {"Div", divide},          {"Neg", negate},
             {"Sqrt", root},           {"ReduceL1", norm_one},   {"ReduceL2", norm_two}};

static size_t row_of(const char *op) {
  size_t i = 0;
  while (i < sizeof table / sizeof *table && strcmp(table[i].op, op) != 0) i++;
  return i;
}

// The operands, if all are known and one of them is a weight.
static bool collect(const ig_onnx *x, const ig_onnx_node *n, args *a) {
  bool weight = false;
  size_t count = n->many ? n->nmany : 0;
  while (!n->many && n->in[count]) count++;
  if (count == 0 || count > MAX_IN) return false;
  for (size_t i = 0; i < count; i++) {
    const known *k = find(x, (n->many ? n->many : n->in)[i]);
    if (!k) return false;
    a->in[i] = k->t;
    weight = weight || k->weight;
  }
  return weight;
}

// Constants that only this node reads are no nodes of the model.
static void drop_constants(ig_onnx *x, const ig_onnx_node *n) {
  size_t count = n->many ? n->nmany : 0;
  while (!n->many && n->in[count]) count++;
  for (size_t i = 0; i < count; i++) {
    const known *k = find(x, (n->many ? n->many : n->in)[i]);
    if (k && !k->weight && k->at >= x->flushed) x->tensors.at[k->at].is_unread = true;
  }
}

bool ig_onnx_know_folded(ig_onnx *x, const char *name, ig_tensor *t) {
  if (t) t = ig_contiguous(x->c, t);
  known *k = t && ig_ctx_status(x->c) == IG_OK && !ig_is_fake(t) ? add(x, name, t) : NULL;
  if (!k) return false;
  k->weight = k->folded = true;
  k->number = x->nfolded++;
  return true;
}

bool ig_onnx_fold_node(ig_onnx *x, const ig_onnx_node *n, const char *out) {
  args a = {.n = n};
  size_t row = applies(x) && n->nouts == 0 ? row_of(n->op_type) : sizeof table / sizeof *table;
  if (row == sizeof table / sizeof *table || !collect(x, n, &a)) return false;
  ig_ctx *c = x->c;
  ig_mode_scope mode = ig_mode_push_sym(c, NULL);
  ig_scope s = ig_scope_open(c);
  ig_onnx_folded f = {.op = table[row].op};
  memcpy(f.in, a.in, sizeof a.in);
  ig_tensor *t = NULL;
  if (!ig_onnx_find_folded(x, &f) && (t = table[row].fn(c, &a))) f.out[0] = ig_contiguous(c, t);
  bool done = ig_onnx_know_folded(x, out, f.out[0]);
  if (done) ig_onnx_keep_folded(x, f);
  ig_scope_close(c, s);
  ig_mode_pop(c, &mode);
  if (done) drop_constants(x, n);
  if (done) ig_onnx_skip_attributes(x, n);
  if (done) x->nmade++;
  return done;
}

ig_tensor *ig_onnx_known_weight(const ig_onnx *x, const ig_node *n) {
  ig_table_slot *s = applies(x) ? ig_table_find(&x->names, n) : NULL;
  const known *k = s ? find(x, s->value) : NULL;
  return k && k->weight && ig_dtype_is_float(k->t->dtype) ? k->t : NULL;
}

// The operand that was folded before the other ones and is not in the model yet; NULL: none.
static const char *next_folded(const ig_onnx *x, const ig_onnx_node *n) {
  const char *const *in = n->many ? n->many : n->in;
  const char *name = NULL;
  const known *least = NULL;
  for (size_t i = 0; n->many ? i < n->nmany : in[i] != NULL; i++) {
    const known *k = find(x, in[i]);
    if (!k || !k->folded || (least && least->number < k->number)) continue;
    name = known_name(x, in[i]);
    least = k;
  }
  return name;
}

static void add_folded(ig_onnx *x, const char *name, const char *op_type) {
  known *k = find(x, name);
  k->folded = false;
  if (ig_onnx_share_weight(x, name, k->t)) return;
  char text[96];
  (void)snprintf(text, sizeof text, "onnx::%.60s_%zu", op_type, x->nvalues + k->number);
  const char *own = ig_onnx_keep(x, text);
  (void)ig_onnx_add_weight(x, own, k->t);
  ig_map_value *v = ig_map_put(&x->aliases, name);
  if (!v) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  if (v) v->text = own;
}

void ig_onnx_read_folded(ig_onnx *x, const ig_onnx_node *n) {
  for (const char *name = NULL; (name = next_folded(x, n));) add_folded(x, name, n->op_type);
}
