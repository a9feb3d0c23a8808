// SPDX-License-Identifier: Apache-2.0
// Tensors from numbers and nested lists, and back.
#include "op/formula.h"
#include "script/builtin.h"
#include "script/numbers.h"
#include "script/rows.h"
#include "tensor/number.h"

typedef struct nested {
  const ig_sbuiltin_call *k;
  int64_t size[IG_MAX_DIM];
  int ndim;
  ig_dtype dtype;
  char *to;
} nested;

static ig_dtype dtype_of(const ig_sbuiltin_call *k, ig_stype_kind kind) {
  switch (kind) {
    case IG_STYPE_INT:
      return IG_I64;
    case IG_STYPE_FLOAT:
      return ig_ctx_default_dtype(k->c);
    case IG_STYPE_BOOL:
      return IG_BOOL;
    case IG_STYPE_COMPLEX:
      return ig_ctx_default_dtype(k->c) == IG_F64 ? IG_C128 : IG_C64;
    default:
      return IG_DTYPE_COUNT;
  }
}

static ig_stype_kind kind_of(ig_value v) {
  return v.kind == IG_KIND_INT     ? IG_STYPE_INT
         : v.kind == IG_KIND_FLOAT ? IG_STYPE_FLOAT
         : v.kind == IG_KIND_BOOL  ? IG_STYPE_BOOL
                                   : IG_STYPE_COMPLEX;
}

// The type of the numbers in a list of lists. A list of numbers of several types has none.
static const ig_stype *item_type(const ig_sbuiltin_call *k) {
  const ig_stype *type = k->node && k->node->n_in ? k->node->in[0]->type : NULL;
  if (!type) type = ig_sb_seq_at(k, 0)->head.type;
  while (type && type->kind == IG_STYPE_LIST) type = type->at[0];
  return type;
}

static bool measure(nested *t, ig_value v) {
  for (; ig_sobj_is(v, IG_SOBJ_LIST); t->ndim++) {
    const ig_sobj_seq *s = v.object;
    if (t->ndim == IG_MAX_DIM) {
      IG_SCRIPT_FAIL(t->k, "too many dimensions");
      return false;
    }
    t->size[t->ndim] = (int64_t)s->n;
    if (s->n == 0) return ++t->ndim;
    v = s->at[0];
  }
  return true;
}

static bool store(nested *t, ig_value v, int dim) {
  if (dim == t->ndim) {
    if (v.kind == IG_KIND_INT && v.i.expr)
      v = ig_of_i64(ig_sb_i64(&(ig_sbuiltin_call){.c = t->k->c, .in = &v}, 0));
    if (!ig_value_is_number(&v)) {
      IG_SCRIPT_FAIL(t->k, "expected numbers in the list");
      return false;
    }
    ig_element_store(t->to, t->dtype, &v);
    t->to += ig_dtype_size(t->dtype);
    return true;
  }
  const ig_sobj_seq *s = ig_sobj_is(v, IG_SOBJ_LIST) ? v.object : NULL;
  if (!s || s->n != (size_t)t->size[dim]) {
    IG_SCRIPT_FAIL(t->k, "Expected sequence of length %lld at dim %d (got %zu)",
                   (long long)t->size[dim], dim, s ? s->n : 0);
    return false;
  }
  for (size_t i = 0; i < s->n; i++) {
    if (!store(t, s->at[i], dim + 1)) return false;
  }
  return true;
}

// A number as a tensor without dimensions. Its elements are recorded where a capture is open.
static ig_tensor *of_number(const ig_sbuiltin_call *k, ig_value v) {
  const ig_value args[] = {v, ig_of_dtype(dtype_of(k, kind_of(v))), ig_none(), ig_none(),
                           ig_none()};
  ig_value outs[IG_MAX_RETURNS] = {ig_none()};
  ig_call_id_outs(k->c, IG_ID_SCALAR_TENSOR, args, 5, outs);
  return ig_value_tensor(&outs[0]);
}

// A number that an open capture does not know.
static bool is_symbolic(ig_value v) {
  if (v.kind == IG_KIND_INT) return v.i.expr != NULL;
  return v.kind == IG_KIND_FLOAT ? v.f_expr != NULL : v.kind == IG_KIND_BOOL && v.b_expr;
}

static bool has_symbolic(ig_value v, int depth) {
  const ig_sobj_seq *s = depth && ig_sobj_is(v, IG_SOBJ_LIST) ? v.object : NULL;
  for (size_t i = 0; s && i < s->n; i++) {
    if (has_symbolic(s->at[i], depth - 1)) return true;
  }
  return is_symbolic(v);
}

// The numbers of a list, one after the other, as tensors.
static bool collect(const nested *t, ig_value v, int dim, ig_value *at, size_t *n) {
  const ig_sobj_seq *s = dim < t->ndim && ig_sobj_is(v, IG_SOBJ_LIST) ? v.object : NULL;
  bool fits = dim == t->ndim ? ig_value_is_number(&v) : s && s->n == (size_t)t->size[dim];
  if (!fits) {
    IG_SCRIPT_FAIL(t->k, "expected lists of the same length, and numbers in them");
    return false;
  }
  for (size_t i = 0; s && i < s->n; i++) {
    if (!collect(t, s->at[i], dim + 1, at, n)) return false;
  }
  ig_tensor *number = s ? NULL : of_number(t->k, v);
  if (number) at[(*n)++] = ig_of_tensor(number);
  return t->k->c->status == IG_OK;
}

// A list some of whose numbers are known when the program runs is recorded.
static ig_tensor *of_symbolic_list(const nested *t) {
  ig_ctx *c = t->k->c;
  size_t total = 1;
  ig_int sizes[IG_MAX_DIM];
  for (int d = 0; d < t->ndim; d++) {
    sizes[d] = ig_const(t->size[d]);
    total = ig_mem_mul(total, (size_t)t->size[d]);
  }
  ig_value *at = ig_scope_array(c, total, sizeof *at);
  size_t n = 0;
  if (!at || !collect(t, t->k->in[0], 0, at, &n)) return NULL;
  ig_tensor *flat = ig_stack(c, ig_of_list(at, n));
  flat = flat ? ig_cast(c, flat, t->dtype) : NULL;
  return flat && t->ndim > 1 ? ig_view(c, flat, ig_of_ints(sizes, (size_t)t->ndim)) : flat;
}

static ig_tensor *of_list(const ig_sbuiltin_call *k) {
  nested t = {.k = k};
  const ig_stype *type = item_type(k);
  t.dtype = type ? dtype_of(k, type->kind) : IG_DTYPE_COUNT;
  bool empty = ig_sb_seq_at(k, 0)->n == 0;
  if (t.dtype == IG_DTYPE_COUNT && empty) t.dtype = ig_ctx_default_dtype(k->c);
  if (t.dtype == IG_DTYPE_COUNT) {
    IG_SCRIPT_FAIL(k, "Add new condition, expected Float, Complex, Int, or Bool but got%s",
                   type ? type->text : "?");
    return NULL;
  }
  if (!measure(&t, k->in[0])) return NULL;
  if (k->c->mode->capture && has_symbolic(k->in[0], t.ndim)) return of_symbolic_list(&t);
  ig_tensor *made = ig_tensor_empty(k->c, t.dtype, t.size, t.ndim);
  if (!made) return NULL;
  t.to = ig_tensor_data(made);
  if (!store(&t, k->in[0], 0)) return NULL;
  return k->c->mode->capture ? ig_lift_fresh(k->c, made) : made;
}

// dtype and device are arguments 1 and 2.
static ig_tensor *converted(const ig_sbuiltin_call *k, ig_tensor *t) {
  if (!t || (k->in[1].kind == IG_KIND_NONE && k->in[2].kind == IG_KIND_NONE)) return t;
  ig_dtype d = k->in[1].kind == IG_KIND_NONE ? t->dtype : ig_script_dtype(k->in[1].i.value);
  ig_device on = k->in[2].kind == IG_KIND_NONE ? t->device : k->in[2].device;
  if (d == IG_DTYPE_COUNT) {
    IG_SCRIPT_FAIL(k, "tensor(): dtype number %lld is not known", (long long)k->in[1].i.value);
    return NULL;
  }
  const ig_value device = ig_of_device(on);
  return ig_to_device(k->c, t, device, ig_of_dtype(d));
}

// A literal is a constant of the captured program, whose element the capture knows.
static ig_tensor *of_literal(const ig_sbuiltin_call *k, ig_value v) {
  ig_dtype dtype = dtype_of(k, kind_of(v));
  ig_tensor *made = ig_tensor_empty(k->c, dtype, NULL, 0);
  if (!made) return NULL;
  ig_element_store(ig_tensor_data(made), dtype, &v);
  return ig_lift_fresh(k->c, made);
}

static ig_tensor *of_value(const ig_sbuiltin_call *k) {
  ig_value v = k->in[0];
  if (v.kind == IG_KIND_TENSOR) return v.tensor;
  if (ig_sobj_is(v, IG_SOBJ_LIST)) return of_list(k);
  if (ig_srows_is(v)) return ig_srows_stacked(k->c, v, NULL);
  bool literal = k->c->mode->capture && !is_symbolic(v) && ig_value_is_number(&v);
  return literal ? of_literal(k, v) : of_number(k, v);
}

IG_BUILTIN(tensor_make) {
  ig_tensor *t = converted(k, of_value(k));
  if (t && ig_sb_truth(k->c, k->in[3])) ig_tensor_set_requires_grad(k->c, t, true);
  ig_sb_tensor(k, k->c->status == IG_OK ? t : NULL);
}

IG_BUILTIN(tensor_as) {
  ig_sb_tensor(k, converted(k, of_value(k)));
}

IG_BUILTIN(number_to_tensor) {
  ig_sb_tensor(k, of_number(k, k->in[0]));
}

IG_BUILTIN(list_to_tensor) {
  ig_sb_tensor(k, of_list(k));
}

IG_BUILTIN(size_of_ints) {
  ig_sb_pass(k);
}

// ---- back

typedef struct reader {
  const ig_sbuiltin_call *k;
  const char *at;
  const ig_tensor *t;
} reader;

static ig_value element(reader *r, const ig_stype *type) {
  ig_value v = ig_element_load(r->at, r->t->dtype);
  r->at += ig_dtype_size(r->t->dtype);
  if (type && type->kind == IG_STYPE_FLOAT) return ig_of_f64(ig_sb_f64(r->k->c, v));
  return v;
}

static ig_value read_dim(reader *r, int dim, const ig_stype *type) {
  if (dim == r->t->ndim) return element(r, type);
  size_t n = (size_t)ig_sizes(r->t)[dim].value;  // concrete: the tensor is real
  ig_sobj_seq *s = ig_sobj_seq_make(r->k->c, IG_SOBJ_LIST, type, NULL, n);
  const ig_stype *inner = type && type->kind == IG_STYPE_LIST ? type->at[0] : NULL;
  for (size_t i = 0; s && i < n; i++) s->at[i] = read_dim(r, dim + 1, inner);
  return s ? ig_of_sobj(s) : ig_none();
}

// Elements that a capture does not know: each is read by a call of its own and becomes a symbol.
static ig_value read_fakes(const ig_sbuiltin_call *k, ig_tensor *t, const ig_stype *type) {
  ig_ctx *c = k->c;
  if (t->ndim == 0) return ig_sb_element(c, t);
  if (ig_sizes(t)[0].expr) {
    ig_fail_text(c, IG_OUTPUT_DATA, "tolist(): the length of the list is not known");
    return ig_none();
  }
  size_t n = (size_t)ig_sizes(t)[0].value;  // concrete: no symbol
  ig_sobj_seq *s = ig_sobj_seq_make(c, IG_SOBJ_LIST, type, NULL, n);
  const ig_stype *inner = type && type->kind == IG_STYPE_LIST ? type->at[0] : NULL;
  for (size_t i = 0; s && i < n; i++) {
    ig_tensor *row = ig_select_int(c, t, ig_const(0), ig_const((int64_t)i));
    s->at[i] = row ? read_fakes(k, row, inner) : ig_none();
  }
  return s ? ig_of_sobj(s) : ig_none();
}

static void read(const ig_sbuiltin_call *k, ig_tensor *t, const ig_stype *type) {
  if (t && ig_is_fake(t) && k->c->mode->capture) {
    k->out[0] = read_fakes(k, t, type);
    return;
  }
  t = t ? ig_contiguous(k->c, t) : NULL;
  if (!t) return;
  if (ig_is_fake(t)) {
    ig_fail_text(k->c, IG_OUTPUT_DATA, "tolist(): the elements of a fake tensor are not known");
    return;
  }
  reader r = {k, ig_tensor_data(t), t};
  k->out[0] = read_dim(&r, 0, type);
}

IG_BUILTIN(tensor_to_list) {
  read(k, k->in[0].tensor, ig_sb_type(k, 0));
}

// x.tolist(), whose type is declared: so many dimensions, such elements.
IG_BUILTIN(tensor_tolist) {
  const ig_stype *type = ig_sb_type(k, 0);
  if (k->n_in < 2 || k->in[0].kind != IG_KIND_TENSOR || k->in[1].kind != IG_KIND_INT) {
    IG_SCRIPT_FAIL(k, "tolist(): expected a Tensor");
    return;
  }
  int64_t dims = ig_sb_i64(k, 1);
  ig_tensor *t = k->in[0].tensor;
  if (t->ndim != dims) {
    IG_SCRIPT_FAIL(
        k, "Output annotation list dimension and runtime tensor dimension must match for tolist()");
    return;
  }
  const ig_stype *item = type;
  while (item && item->kind == IG_STYPE_LIST) item = item->at[0];
  bool fits = !item || (item->kind == IG_STYPE_FLOAT     ? ig_dtype_is_float(t->dtype)
                        : item->kind == IG_STYPE_INT     ? ig_dtype_is_integral(t->dtype)
                        : item->kind == IG_STYPE_COMPLEX ? ig_dtype_is_complex(t->dtype)
                                                         : t->dtype == IG_BOOL);
  if (!fits) {
    IG_SCRIPT_FAIL(k,
                   "Output annotation element type and runtime tensor element type must match for "
                   "tolist()");
    return;
  }
  read(k, t, type);
}

// ---- several tensors

// Tensors, then the dimension.
static void join(const ig_sbuiltin_call *k, unsigned id) {
  if (k->n_in == 0) {
    IG_SCRIPT_FAIL(k, "expected tensors and a dimension");
    return;
  }
  const ig_value args[2] = {ig_of_list(k->in, k->n_in - 1), k->in[k->n_in - 1]};
  ig_value outs[IG_MAX_RETURNS] = {ig_none()};
  ig_call_id_outs(k->c, id, args, 2, outs);
  ig_sb_tensor(k, ig_value_tensor(&outs[0]));
}

IG_BUILTIN(stack) {
  join(k, IG_ID_STACK);
}

IG_BUILTIN(concat) {
  join(k, IG_ID_CAT);
}

// ---- indices without None, which have a type of their own

// The operator takes the same arguments, and None among the indices.
static void index_with(const ig_sbuiltin_call *k, unsigned id) {
  const ig_sobj_seq *indices = ig_sb_seq_at(k, 1);
  ig_value args[5];
  ig_value outs[IG_MAX_RETURNS] = {ig_none()};
  for (size_t i = 0; i < k->n_in && i < 5; i++) args[i] = k->in[i];
  args[1] = ig_of_list(indices->at, indices->n);
  ig_call_id_outs(k->c, id, args, k->n_in, outs);
  ig_sb_tensor(k, ig_value_tensor(&outs[0]));
}

IG_BUILTIN(index) {
  index_with(k, IG_ID_INDEX_TENSOR);
}
IG_BUILTIN(unsafe_index) {
  index_with(k, IG_ID__UNSAFE_INDEX_TENSOR);
}
IG_BUILTIN(index_put) {
  index_with(k, IG_ID_INDEX_PUT);
}
IG_BUILTIN(unsafe_index_put) {
  index_with(k, IG_ID__UNSAFE_INDEX_PUT);
}
IG_BUILTIN(index_put_inplace) {
  index_with(k, IG_ID_INDEX_PUT_);
}
