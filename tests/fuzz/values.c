// SPDX-License-Identifier: Apache-2.0
#include "values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "ingot/aten.h"
#include "op/formula.h"
#include "op/random.h"
#include "sample.h"
#include "tensor/number.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const ig_dtype dtypes[] = {IG_F32, IG_F64, IG_I64, IG_BOOL,     IG_F16,   IG_BF16,
                                  IG_C64, IG_U8,  IG_I32, IG_I8,       IG_I16,   IG_C128,
                                  IG_U16, IG_U32, IG_U64, IG_F8E4M3FN, IG_F8E5M2};

static const char *const words[] = {
    "mean",     "sum",   "none",      "floor",   "trunc",   "reflect",  "constant", "replicate",
    "circular", "tanh",  "ij",        "xy",      "raise",   "left",     "right",    "amax",
    "amin",     "prod",  "ortho",     "forward", "reduced", "complete", "r",        "L",
    "",         "bogus", "ij,jk->ik", "...i,i",  "cpu",     "cuda:1",   "meta",     "linear",
};

int64_t fuzz_int(draw *d) {
  static const int64_t odd[] = {INT64_MAX,
                                INT64_MIN,
                                (int64_t)1 << 62,
                                (int64_t)1 << 61,
                                (int64_t)1 << 40,
                                (int64_t)1 << 33,
                                (int64_t)1 << 32,
                                (int64_t)1 << 31,
                                INT32_MAX,
                                INT32_MIN,
                                65536,
                                -1 - ((int64_t)1 << 40),
                                INT64_MAX - 1,
                                INT64_MIN + 1,
                                1000,
                                -1000};
  unsigned how = draw_byte(d);
  if (how < 192) return (int64_t)(how % 16) - 5;
  if (how < 250) return odd[how % COUNT(odd)];
  return draw_i64(d);
}

static double odd_float(draw *d) {
  static const double odd[] = {0,      1,        -1,        0.5, -0.0, 2,     1e-3,  1e30,
                               -1e300, INFINITY, -INFINITY, NAN, 1e19, 255.5, 1e-310};
  return odd[draw_below(d, COUNT(odd))];
}

static ig_dtype any_dtype(draw *d) {
  return dtypes[draw_below(d, COUNT(dtypes))];
}

static ig_value any_number(draw *d) {
  switch (draw_below(d, 4)) {
    case 0:
      return ig_of_i64(fuzz_int(d));
    case 1:
      return ig_of_f64(odd_float(d));
    case 2:
      return ig_of_bool(draw_byte(d) & 1);
    default:
      return ig_of_complex(odd_float(d), odd_float(d));
  }
}

// Elements: a pattern, or one number everywhere.
static void fill(draw *d, ig_tensor *t) {
  size_t n = (size_t)ig_tensor_numel(t);
  size_t size = ig_dtype_size(t->dtype);
  unsigned how = draw_byte(d);
  char *at = ig_tensor_data(t);
  if (how >= 200) {
    ig_value v = any_number(d);
    ig_fill(at, t->dtype, n, &v);
    return;
  }
  uint32_t state = how * 2654435761U + 1;
  bool whole = t->dtype == IG_BOOL || ig_dtype_is_integral(t->dtype);
  for (size_t i = 0; i < n; i++) {
    state = state * 1664525U + 1013904223U;
    double u = (double)(state >> 8) / (1 << 24);
    ig_value v = whole ? ig_of_i64((int64_t)(u * (how < 128 ? 4 : 200))) : ig_of_f64(4 * u - 2);
    ig_element_store(at + i * size, t->dtype, &v);
  }
}

static ig_tensor *fresh(ig_ctx *c, draw *d) {
  static const uint8_t sizes_of[] = {2, 3, 1, 4, 0, 5, 2, 7, 3, 1, 2, 16};
  int64_t sizes[6];
  ig_dtype dtype = any_dtype(d);
  int ndim = (int)draw_below(d, 6);
  int64_t total = 1;
  for (int k = 0; k < ndim; k++) {
    sizes[k] = sizes_of[draw_below(d, COUNT(sizes_of))];
    if (total * sizes[k] > 4096) sizes[k] = 1;
    total *= sizes[k];
  }
  ig_tensor *t = ig_tensor_empty(c, dtype, sizes, ndim);
  if (t) fill(d, t);
  return t;
}

static ig_tensor *expanded(ig_ctx *c, draw *d, ig_tensor *t) {
  static const int64_t counts[] = {
      2,        3, 0, 1, (int64_t)1 << 31, (int64_t)1 << 40, (int64_t)1 << 61, (int64_t)1 << 62,
      INT64_MAX};
  ig_int sizes[IG_MAX_DIM];
  int ndim = t->ndim;
  if (ndim >= 8) return t;
  sizes[0] = ig_const(counts[draw_below(d, COUNT(counts))]);
  for (int k = 0; k < ndim; k++) sizes[k + 1] = ig_sizes(t)[k];
  return ig_expand(c, t, ig_of_ints(sizes, (size_t)ndim + 1));
}

// A view that a rule would reject: rows that overlap.
static ig_tensor *overlapping(ig_ctx *c, ig_tensor *t) {
  ig_int two[] = {ig_const(2), ig_const(2)};
  ig_int one[] = {ig_const(1), ig_const(1)};
  int64_t n = ig_tensor_numel(t);
  return n < 3 || n > 100000
             ? t
             : ig_as_strided(c, ig_contiguous(c, t), ig_of_ints(two, 2), ig_of_ints(one, 2));
}

static ig_int dim_of(draw *d, const ig_tensor *t) {
  return ig_const((int64_t)draw_below(d, t->ndim ? (size_t)t->ndim : 1));
}

// Quantized, with one scale or with one for every index of a dimension.
static ig_tensor *quantized(ig_ctx *c, draw *d, ig_tensor *t) {
  static const ig_dtype kinds[] = {IG_QU8, IG_QI8, IG_QI32};
  ig_value dtype = ig_of_dtype(kinds[draw_below(d, COUNT(kinds))]);
  if (t->quantizer || ig_tensor_numel(t) > 4096) return t;
  ig_tensor *x = ig_cast(c, t, IG_F32);
  unsigned how = draw_byte(d);
  if (how & 1 || t->ndim == 0 || !x) {
    double scale = how & 2 ? odd_float(d) : 0.05;
    int64_t zero = how & 4 ? fuzz_int(d) : (int64_t)(how >> 4);
    return ig_quantize_per_tensor(c, x, scale, ig_const(zero), dtype);
  }
  ig_int axis = dim_of(d, t);
  int64_t n = ig_sizes(t)[axis.value].value;
  ig_tensor *scales = ig_tensor_empty(c, how & 2 ? IG_F32 : IG_F64, &n, 1);
  ig_tensor *zeros = ig_tensor_empty(c, how & 4 ? IG_F32 : IG_I64, &n, 1);
  if (scales) fill(d, scales);
  if (zeros) fill(d, zeros);
  return ig_quantize_per_channel(c, x, scales, zeros, axis, dtype);
}

// Another tensor that is made of t: other strides, sizes, dtype, elements.
static ig_tensor *variant(ig_ctx *c, draw *d, ig_tensor *t) {
  bool dims = t->ndim > 0;
  unsigned how = draw_byte(d);
  if (how >= 224) return quantized(c, d, t);
  switch (how % 14) {
    case 0:
      return ig_cast(c, t, any_dtype(d));
    case 1:
      return dims ? ig_transpose_int(c, t, ig_const(0), dim_of(d, t)) : t;
    case 2:
    case 3:
      return expanded(c, d, t);
    case 4:
      return dims ? ig_slice_tensor_with(c, t, dim_of(d, t), ig_none(), ig_none(), ig_const(2)) : t;
    case 5:
      return dims ? ig_slice_tensor_with(c, t, dim_of(d, t), ig_none(), ig_of_i64(0), ig_const(1))
                  : t;
    case 6:
      return dims && ig_sizes(t)[0].value > 0 ? ig_select_int(c, t, ig_const(0), ig_const(0)) : t;
    case 7:
      return t->ndim < 8 ? ig_unsqueeze(c, t, dim_of(d, t)) : t;
    case 8:
      return overlapping(c, t);
    case 9:
      return ig_tensor_fake(c, t);
    case 10: {
      ig_tensor *copy = ig_tensor_numel(t) <= 4096 ? ig_clone(c, t) : NULL;
      if (copy && ig_tensor_is_dense(copy) && !copy->quantizer) fill(d, copy);
      return copy ? copy : t;
    }
    case 11:
      return dims ? ig_slice_tensor_with(c, t, dim_of(d, t), ig_of_i64(1), ig_none(), ig_const(1))
                  : t;
    case 12: {
      ig_int flat = ig_const(-1);
      return ig_tensor_numel(t) > 4096 ? t : ig_reshape(c, t, ig_of_ints(&flat, 1));
    }
    default:
      return fresh(c, d);
  }
}

static ig_value *push_values(ig_ctx *c, size_t n) {
  return ig_scope_push(c, (n + 2) * sizeof(ig_value));
}

static ig_int *push_ints(ig_ctx *c, size_t n) {
  return ig_scope_push(c, (n + 2) * sizeof(ig_int));
}

// Anything at all.
static ig_value wild(ig_ctx *c, draw *d) {
  switch (draw_below(d, 14)) {
    case 0:
      return ig_none();
    case 1:
    case 2:
      return any_number(d);
    case 3:
      return ig_of_str(words[draw_below(d, COUNT(words))]);
    case 4:
      return ig_of_dtype(any_dtype(d));
    case 5: {
      ig_device device = {(int16_t)draw_below(d, IG_DEVICE_COUNT),
                          (int16_t)((int)draw_below(d, 3) - 1)};
      return ig_of_device(device);
    }
    case 6:
      return ig_of_memory_format((ig_memory_format)draw_below(d, IG_MEMORY_FORMAT_COUNT));
    case 7:
      return (ig_value){.kind = IG_KIND_LAYOUT,
                        .layout = (ig_layout)draw_below(d, IG_LAYOUT_COUNT)};
    case 8:
      return (ig_value){.kind = IG_KIND_GENERATOR, .generator = ig_generator_default(c)};
    case 9:
    case 10: {
      size_t n = draw_below(d, 8);
      ig_int *at = push_ints(c, n);
      for (size_t i = 0; at && i < n; i++) at[i] = ig_const(fuzz_int(d));
      return at ? ig_of_ints(at, n) : ig_none();
    }
    case 11: {
      size_t n = draw_below(d, 4);
      ig_value *at = push_values(c, n);
      for (size_t i = 0; at && i < n; i++)
        at[i] = draw_byte(d) & 1 ? ig_of_tensor(fresh(c, d)) : any_number(d);
      return at ? ig_of_list(at, n) : ig_none();
    }
    default:
      return ig_of_tensor(fresh(c, d));
  }
}

static void change_ints(ig_ctx *c, draw *d, ig_value *v) {
  size_t n = v->ints.n;
  ig_int *at = push_ints(c, n);
  if (!at) return;
  if (n) memcpy(at, v->ints.at, n * sizeof *at);
  switch (draw_below(d, 4)) {
    case 0:
      if (n) n--;
      break;
    case 1:
      at[n++] = ig_const(fuzz_int(d));
      break;
    default:
      if (n) at[draw_below(d, n)] = ig_const(fuzz_int(d));
  }
  *v = ig_of_ints(at, n);
}

static void change(ig_ctx *c, draw *d, const fuzz_pool *pool, ig_value *v);

static void change_list(ig_ctx *c, draw *d, const fuzz_pool *pool, ig_value *v) {
  size_t n = v->list.n;
  ig_value *at = push_values(c, n);
  if (!at) return;
  if (n) memcpy(at, v->list.at, n * sizeof *at);
  switch (draw_below(d, 4)) {
    case 0:
      if (n) n--;
      break;
    case 1:
      at[n] = n ? at[0] : ig_of_tensor(fresh(c, d));
      n++;
      break;
    default:
      if (n) change(c, d, pool, &at[draw_below(d, n)]);
  }
  *v = ig_of_list(at, n);
}

static ig_tensor *from_pool(draw *d, const fuzz_pool *pool) {
  size_t first = draw_below(d, pool->n ? pool->n : 1);
  for (size_t i = 0; i < pool->n; i++) {
    const ig_value *v = &pool->at[(first + i) % pool->n];
    if (v->kind == IG_KIND_TENSOR) return v->tensor;
  }
  return NULL;
}

static void change(ig_ctx *c, draw *d, const fuzz_pool *pool, ig_value *v) {
  if (draw_chance(d, 8)) {
    *v = wild(c, d);
    return;
  }
  switch (v->kind) {
    case IG_KIND_TENSOR: {
      ig_tensor *old = draw_chance(d, 40) ? from_pool(d, pool) : NULL;
      *v = ig_of_tensor(old ? old : variant(c, d, v->tensor));
      break;
    }
    case IG_KIND_INT:
      *v = ig_of_i64(fuzz_int(d));
      break;
    case IG_KIND_FLOAT:
      *v = ig_of_f64(odd_float(d));
      break;
    case IG_KIND_BOOL:
      *v = ig_of_bool(!v->b);
      break;
    case IG_KIND_STR:
      *v = ig_of_str(words[draw_below(d, COUNT(words))]);
      break;
    case IG_KIND_DTYPE:
      *v = ig_of_dtype(any_dtype(d));
      break;
    case IG_KIND_INTS:
      change_ints(c, d, v);
      break;
    case IG_KIND_LIST:
      change_list(c, d, pool, v);
      break;
    default:
      *v = wild(c, d);
  }
}

// Arguments by schema alone.
static ig_value plain(ig_ctx *c, draw *d, const ig_arg *a) {
  if (a->has_default && !draw_chance(d, 30)) return a->def;
  if (a->list && a->type != IG_TYPE_TENSOR) {
    size_t n = a->fixed ? (size_t)a->fixed : draw_below(d, 5);
    ig_int *at = push_ints(c, n);
    for (size_t i = 0; at && i < n; i++) at[i] = ig_const((int64_t)draw_below(d, 5));
    return at ? ig_of_ints(at, n) : ig_none();
  }
  if (a->list) {
    size_t n = draw_below(d, 4);
    ig_value *at = push_values(c, n);
    for (size_t i = 0; at && i < n; i++) at[i] = ig_of_tensor(fresh(c, d));
    return at ? ig_of_list(at, n) : ig_none();
  }
  switch (a->type) {
    case IG_TYPE_TENSOR:
      return ig_of_tensor(fresh(c, d));
    case IG_TYPE_INT:
    case IG_TYPE_SYMINT:
      return ig_of_i64((int64_t)draw_below(d, 6) - 1);
    case IG_TYPE_SCALAR:
    case IG_TYPE_COMPLEX:
      return any_number(d);
    case IG_TYPE_FLOAT:
      return ig_of_f64(odd_float(d));
    case IG_TYPE_BOOL:
      return ig_of_bool(draw_byte(d) & 1);
    case IG_TYPE_STR:
      return ig_of_str(words[draw_below(d, COUNT(words))]);
    case IG_TYPE_DTYPE:
      return ig_of_dtype(any_dtype(d));
    default:
      return ig_none();
  }
}

static const char *nth_sample(draw *d, const char *text) {
  size_t n = 1;
  for (const char *p = text; *p; p++) n += *p == '|';
  for (size_t skip = draw_below(d, n); skip && *text; skip--) {
    text += strcspn(text, "|");
    if (*text) text++;
  }
  return text;
}

static sample_how any_how(draw *d) {
  static const ig_dtype floats[] = {IG_F32,  IG_F32, IG_F64, IG_F32, IG_F16,
                                    IG_BF16, IG_C64, IG_I64, IG_F64};
  sample_how how = {.floats = floats[draw_below(d, COUNT(floats))]};
  if (draw_chance(d, 12)) {
    how.from = (int64_t)draw_below(d, 5) + 2;
    how.to = draw_byte(d) & 1;
  }
  how.flat = draw_chance(d, 3);
  how.special = draw_chance(d, 6);
  return how;
}

// Lists move out of the sample into the scope.
static bool keep(ig_ctx *c, ig_value *v) {
  if (v->kind == IG_KIND_INTS) {
    ig_int *at = push_ints(c, v->ints.n);
    if (!at) return false;
    if (v->ints.n) memcpy(at, v->ints.at, v->ints.n * sizeof *at);
    v->ints.at = at;
  } else if (v->kind == IG_KIND_LIST) {
    ig_value *at = push_values(c, v->list.n);
    if (!at) return false;
    if (v->list.n) memcpy(at, v->list.at, v->list.n * sizeof *at);
    v->list.at = at;
    for (size_t i = 0; i < v->list.n; i++) {
      if (!keep(c, &at[i])) return false;
    }
  } else if (v->kind == IG_KIND_STR) {
    size_t n = strlen(v->str) + 1;
    char *at = ig_scope_push(c, n);
    if (!at) return false;
    memcpy(at, v->str, n);
    v->str = at;
  }
  return true;
}

// Arguments out of a sample of the record that the operator has or is derived from.
static bool from_sample(ig_ctx *c, draw *d, const ig_op *op, ig_value *args, bool *set) {
  static sample s;
  const ig_op *record = op->base ? op->base : op;
  if (!record->def->samples || draw_chance(d, 6)) return false;
  const char *text = nth_sample(d, record->def->samples);
  if (!sample_parse(c, record, &text, any_how(d), &s)) return false;
  for (size_t i = 0; i < op->schema.nargs; i++) {
    for (size_t k = 0; k < record->schema.nargs; k++) {
      if (strcmp(op->schema.args[i].name, record->schema.args[k].name) != 0) continue;
      args[i] = s.args[k];
      if (!keep(c, &args[i])) return false;
      set[i] = true;
    }
  }
  return true;
}

// Memory for results: mostly valid, as a new empty tensor is.
static ig_value out_tensor(ig_ctx *c, draw *d, const fuzz_call *call) {
  int64_t none = 0;
  ig_dtype dtype = IG_F32;
  for (size_t i = 0; i < call->op->schema.nargs; i++) {
    const ig_value *v = &call->args[i];
    if (v->kind == IG_KIND_TENSOR && i == 0) dtype = v->tensor->dtype;
    if (v->kind == IG_KIND_TENSOR && draw_chance(d, 8)) return *v;  // also an operand
  }
  if (draw_chance(d, 20)) return ig_of_tensor(fresh(c, d));
  return ig_of_tensor(ig_tensor_empty(c, dtype, &none, 1));
}

// Operators by a hash of their names, so that an input means the same call when others are added.
typedef struct entry {
  uint16_t hash;
  const ig_op *op;
} entry;

static int by_hash(const void *a, const void *b) {
  const entry *x = a;
  const entry *y = b;
  return x->hash != y->hash ? x->hash - y->hash : strcmp(x->op->target, y->op->target);
}

const ig_op *fuzz_pick(ig_ctx *c, draw *d) {
  static entry *table;
  static size_t n;
  const ig_lib *lib = ig_lib_get(c);
  if (lib && !table) {
    table = malloc(lib->n * sizeof *table);
    for (size_t i = 0; table && i < lib->n; i++) {
      uint32_t h = 2166136261U;
      for (const char *p = lib->ops[i].target; *p; p++) h = (h ^ (uint8_t)*p) * 16777619U;
      table[i] = (entry){(uint16_t)(h ^ h >> 16), &lib->ops[i]};
    }
    if (!table) return NULL;
    n = lib->n;
    qsort(table, n, sizeof *table, by_hash);
  }
  size_t want = draw_below(d, 65536);
  size_t lo = 0;
  for (size_t hi = n; lo < hi;) {
    size_t mid = lo + (hi - lo) / 2;
    if (table[mid].hash < want)
      lo = mid + 1;
    else
      hi = mid;
  }
  return n ? table[lo % n].op : NULL;
}

bool fuzz_make_call(ig_ctx *c, draw *d, const ig_op *op, const fuzz_pool *pool, fuzz_call *out) {
  bool set[IG_MAX_ARGS] = {false};
  out->op = op;
  out->raw = draw_chance(d, 15);
  for (size_t i = 0; i < op->schema.nargs; i++) {
    out->args[i] = ig_none();
    out->from[i] = -1;
  }
  (void)from_sample(c, d, op, out->args, set);
  ig_ctx_clear(c);  // a sample that cannot be made in this dtype
  for (size_t i = 0; i < op->schema.nargs; i++) {
    const ig_arg *a = &op->schema.args[i];
    if (!set[i])
      out->args[i] = op->form == IG_FORM_OUT && a->written ? out_tensor(c, d, out) : plain(c, d, a);
  }
  for (size_t i = 0; i < op->schema.nargs; i++) {
    ig_value *v = &out->args[i];
    if (!draw_chance(d, v->kind == IG_KIND_TENSOR ? 25 : 12)) continue;
    size_t k = draw_below(d, pool->n ? pool->n : 1);
    if (v->kind == IG_KIND_INT && pool->n && pool->at[k].kind == IG_KIND_INT) {
      *v = pool->at[k];
      out->from[i] = (int)k;
    } else {
      change(c, d, pool, v);
    }
    if (ig_ctx_status(c) != IG_OK) *v = ig_none();  // a view that is rejected
    ig_ctx_clear(c);
  }
  return true;
}
