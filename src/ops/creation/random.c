// SPDX-License-Identifier: Apache-2.0
// Random tensors. All draws come from op/random.h in the order of memory, from the given generator
// or the context's own.
#include <math.h>
#include <string.h>

#include "base/budget.h"
#include "op/call.h"
#include "op/formula.h"
#include "op/random.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "op/strides.h"
#include "ops/layout/expand.h"
#include "tensor/copy.h"
#include "tensor/number.h"

static ig_generator *generator_of(ig_ctx *c, const ig_op *op, const ig_value *args) {
  for (size_t i = 0; i < op->schema.nargs; i++) {
    if (args[i].kind == IG_KIND_GENERATOR) return args[i].generator;
  }
  return ig_generator_default(c);
}

// A complex tensor as real numbers with an additional dimension; any other unchanged.
static ig_tensor *real_view(ig_ctx *c, ig_tensor *t) {
  if (!ig_dtype_is_complex(t->dtype)) return t;
  ig_meta m;
  ig_meta_view(t, &m);
  m.dtype = ig_to_real(t->dtype);
  ig_int two = ig_const(2);
  for (int d = 0; d < m.ndim; d++) m.stride[d] = ig_int_mul(c, m.stride[d], two);
  m.offset = ig_int_mul(c, m.offset, two);
  ig_meta_push_dim(c, &m, two);
  if (c->status != IG_OK) return NULL;
  m.stride[m.ndim - 1] = ig_const(1);
  return ig_tensor_make(c, &m, false);
}

static bool is_standard_float(ig_dtype d) {
  return d == IG_F16 || d == IG_BF16 || d == IG_F32 || d == IG_F64;
}

static void uniform(ig_ctx *c, const ig_op *op, const ig_value *args, ig_tensor *t, double from,
                    double to) {
  ig_tensor *real = real_view(c, t);
  ig_generator *g = generator_of(c, op, args);
  if (!real || !g) return;
  if (!is_standard_float(real->dtype)) {
    ig_refuse_dtype(c, "check_uniform_bounds", t->dtype);
  } else if (from > to) {
    ig_fail_text(c, IG_RUNTIME,
                 "uniform_ expects to return a [from, to) range, but found from=%g > to=%g", from,
                 to);
  } else {
    ig_random_uniform(ig_draws_of(c), g, real, from, to);
  }
}

// Real and imaginary part share the variance. like: whose layout decides on the stream; t itself,
// or what t is a new value of.
static void normal(ig_ctx *c, const ig_op *op, const ig_value *args, ig_tensor *t,
                   const ig_tensor *like, double mean, double std) {
  ig_tensor *real = real_view(c, t);
  ig_generator *g = generator_of(c, op, args);
  if (!real || !g) return;
  if (!(std >= 0)) {
    ig_fail_text(c, IG_RUNTIME, "normal expects std >= 0.0, but found std %g", std);
  } else if (!is_standard_float(real->dtype)) {
    ig_refuse_dtype(c, "normal_kernel_cpu", t->dtype);
  } else {
    bool bulk = ig_random_is_bulk(real) && ig_tensor_is_dense(like);
    double each = real == t ? std : std / sqrt(2.0);
    ig_random_normals(ig_draws_of(c), g, real, bulk, mean, each);
  }
}

// Integers of a dtype: name as PyTorch's errors have it, smallest, largest.
typedef struct integer_range {
  const char *name;
  double lowest;
  double highest;
} integer_range;

static const integer_range ranges[IG_DTYPE_COUNT] = {
    [IG_BOOL] = {"bool", 0, 1},
    [IG_U8] = {"unsigned char", 0, 255},
    [IG_I8] = {"signed char", -128, 127},
    [IG_I16] = {"short int", -32768, 32767},
    [IG_I32] = {"int", -2147483648.0, 2147483647.0},
    [IG_U16] = {"short unsigned int", 0, 65535},
    [IG_U32] = {"unsigned int", 0, 4294967295.0},
    [IG_U64] = {"long unsigned int", 0, 0x1p64},
    [IG_I64] = {"long int", -0x1p63, 0x1p63},
    [IG_F16] = {"c10::Half", -65504, 65504},
    [IG_BF16] = {"c10::BFloat16", -0x1.fep127, 0x1.fep127},
    [IG_F32] = {"float", -0x1.fffffep127, 0x1.fffffep127},
    [IG_F64] = {"double", -HUGE_VAL, HUGE_VAL},
};

static bool check_bounds(ig_ctx *c, ig_dtype dtype, int64_t from, int64_t to) {
  const integer_range *r = &ranges[dtype];
  if (from >= to) {
    ig_fail_text(c, IG_RUNTIME,
                 "random_ expects 'from' to be less than 'to', but got from=%lld >= to=%lld",
                 (long long)from, (long long)to);
  } else if (!r->name) {
    ig_fail_text(c, IG_RUNTIME,
                 "check_random_bounds handles only integral, floating-point and boolean types");
  } else if ((double)from < r->lowest || (double)from > r->highest) {
    ig_fail_text(c, IG_RUNTIME, "from is out of bounds for %s", r->name);
  } else if ((double)(to - 1) < r->lowest || (double)(to - 1) > r->highest) {
    ig_fail_text(c, IG_RUNTIME, "to - 1 is out of bounds for %s", r->name);
  }
  return c->status == IG_OK;
}

static void integers(ig_ctx *c, const ig_op *op, const ig_value *args, ig_tensor *t, int64_t from,
                     int64_t to) {
  ig_generator *g = generator_of(c, op, args);
  if (!g || !check_bounds(c, t->dtype, from, to)) return;
  ig_random_integers(ig_draws_of(c), g, t, from, (uint64_t)to - (uint64_t)from);
}

// From a number up to the largest of the dtype.
static void integers_from(ig_ctx *c, const ig_op *op, const ig_value *args, ig_tensor *t,
                          int64_t from) {
  static const uint64_t last[IG_DTYPE_COUNT] = {
      [IG_BOOL] = 1,         [IG_U8] = UINT8_MAX,  [IG_I8] = INT8_MAX,    [IG_I16] = INT16_MAX,
      [IG_I32] = INT32_MAX,  [IG_I64] = INT64_MAX, [IG_U16] = UINT16_MAX, [IG_U32] = UINT32_MAX,
      [IG_U64] = INT64_MAX,  [IG_F16] = 1U << 11,  [IG_BF16] = 1U << 8,   [IG_F32] = 1U << 24,
      [IG_F64] = 1ULL << 53,
  };
  ig_generator *g = generator_of(c, op, args);
  if (!g) return;
  uint64_t range = last[t->dtype] - (uint64_t)from + 1;
  if (range == 0) {
    ig_random_full_range(g, t);
  } else {
    ig_random_integers(ig_draws_of(c), g, t, from, range);
  }
}

static bool check_probability(ig_ctx *c, double p) {
  if (p >= 0 && p <= 1) return true;
  ig_fail_text(c, IG_RUNTIME, "bernoulli_ expects p to be in [0, 1], but got p=%g", p);
  return false;
}

static void bernoulli(ig_ctx *c, const ig_op *op, const ig_value *args, ig_tensor *t, double p) {
  ig_generator *g = generator_of(c, op, args);
  if (!g || !check_probability(c, p)) return;
  if (ig_dtype_is_complex(t->dtype) || t->dtype == IG_U16 || t->dtype == IG_U32 ||
      t->dtype == IG_U64) {
    ig_refuse_dtype(c, "bernoulli_scalar_cpu_", t->dtype);
    return;
  }
  ig_random_bernoulli(ig_draws_of(c), g, t, p);
}

typedef struct chances {
  ig_generator *g;
  ig_dtype dtype;
  ig_dtype p_dtype;
  bool outside;
} chances;

static void chance_row(void *user, char *const *at, const int64_t *stride, int64_t n) {
  chances *j = user;
  char *to = at[0];
  const char *p = at[1];
  size_t size = ig_dtype_size(j->dtype);
  uint8_t images[2][16] = {{0}, {0}};
  ig_value one = ig_of_i64(1);
  ig_element_store(images[1], j->dtype, &one);
  for (int64_t i = 0; i < n; i++, to += stride[0], p += stride[1]) {
    double chance;
    ig_convert(&chance, IG_F64, p, j->p_dtype, 1);
    if (!(chance >= 0 && chance <= 1)) {
      j->outside = true;
      return;
    }
    bool hit =
        j->p_dtype == IG_F64 ? ig_random_f64(j->g) < chance : (double)ig_random_f32(j->g) < chance;
    memcpy(to, images[hit], size);
  }
}

// One probability per element.
static void bernoulli_each(ig_ctx *c, const ig_op *op, const ig_value *args, ig_tensor *t,
                           ig_tensor *p) {
  chances j = {generator_of(c, op, args), t->dtype, p->dtype, false};
  if (!j.g) return;
  if (!is_standard_float(p->dtype)) {
    ig_refuse_dtype(c, "bernoulli_tensor_cpu_p_", p->dtype);
    return;
  }
  ig_walk w;
  ig_walk_make(&w, t, (ig_tensor *[]){t, p}, 2);
  ig_walk_run(&w, INT64_MAX / 4, chance_row, &j);  // one thread: the order of draws matters
  if (j.outside) {
    ig_fail_text(c, IG_RUNTIME,
                 "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error "
                 "message be improved?  If so, please report an enhancement request to PyTorch.)");
  }
}

// Factories: sizes, then perhaps bounds and a generator, the four options last.
static void sizes_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  size_t at = op->schema.nargs - 4;
  bool whole = strncmp(op->schema.name, "randint", 7) == 0;
  ig_meta_options(c, args, at, whole ? IG_I64 : ig_ctx_default_dtype(c), out);
  for (size_t i = 0; i < at; i++) {
    if (args[i].kind == IG_KIND_INTS) ig_meta_sizes(c, &args[i], out);
  }
}

static void like_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  size_t at = op->schema.nargs - 5;
  ig_meta_options(c, args, at, args[0].tensor->dtype, out);
  if (c->status == IG_OK) ig_meta_copy_of(c, args[0].tensor, &args[at + 4], out);
}

static void rand_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  uniform(c, op, args, outs[0].tensor, 0, 1);
}

static void randn_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  normal(c, op, args, outs[0].tensor, outs[0].tensor, 0, 1);
}

// .variant: position of the upper bound; a lower one stands before it when it is not the first
// integer.
static void randint_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  int at = op->def->variant;
  bool has_low = at > 0 && args[at - 1].kind == IG_KIND_INT;
  int64_t low = has_low ? ig_value_i64(c, &args[at - 1]) : 0;
  integers(c, op, args, outs[0].tensor, low, ig_value_i64(c, &args[at]));
}

static void randperm_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  ig_meta_options(c, args, op->schema.nargs - 4, IG_I64, out);
  ig_value size = ig_of_ints(&args[0].i, 1);
  ig_meta_sizes(c, &size, out);
}

static void randperm_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  ig_tensor *t = outs[0].tensor;
  ig_generator *g = generator_of(c, op, args);
  ig_value n = ig_of_i64(ig_tensor_numel(t));
  bool supported = t->dtype != IG_BOOL && t->dtype != IG_U16 && t->dtype != IG_U32 &&
                   t->dtype != IG_U64 && !ig_dtype_is_complex(t->dtype);
  if (!supported) {
    ig_refuse_dtype(c, "randperm", t->dtype);
  } else if (g && ig_check_number(c, &n, t->dtype)) {
    ig_random_permutation(g, t);
  }
}

static void uniform_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  uniform(c, op, args, outs[0].tensor, ig_value_f64(&args[1]), ig_value_f64(&args[2]));
}

// The functional form draws what the in-place form would draw into self.
static void normal_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  normal(c, op, args, outs[0].tensor, args[0].tensor, ig_value_f64(&args[1]),
         ig_value_f64(&args[2]));
}

static void random_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  ig_tensor *t = outs[0].tensor;
  ig_generator *g = generator_of(c, op, args);
  if (ig_dtype_is_complex(t->dtype) || t->dtype == IG_U16 || t->dtype == IG_U32 ||
      t->dtype == IG_U64) {
    ig_refuse_dtype(c, "random_kernel_cpu", t->dtype);
  } else if (g) {
    ig_random_natural(g, t);
  }
}

static void random_to_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  integers(c, op, args, outs[0].tensor, 0, ig_value_i64(c, &args[1]));
}

static void random_from_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  int64_t from = ig_value_i64(c, &args[1]);
  if (args[2].kind == IG_KIND_NONE) {
    integers_from(c, op, args, outs[0].tensor, from);
  } else {
    integers(c, op, args, outs[0].tensor, from, ig_value_i64(c, &args[2]));
  }
}

static void bernoulli_p_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  if (!ig_check_writable(c, outs[0].tensor)) return;
  bernoulli(c, op, args, outs[0].tensor, ig_value_f64(&args[1]));
}

static void bernoulli_fake(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  (void)outs;
  (void)check_probability(c, ig_value_f64(&args[1]));
}

static void bernoulli_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  bernoulli_each(c, op, args, outs[0].tensor, args[0].tensor);
}

static void bernoulli_tensor_kernel(ig_ctx *c, const ig_op *op, const ig_value *args,
                                    ig_value *outs) {
  bernoulli_each(c, op, args, outs[0].tensor, args[1].tensor);
}

// p is expanded to self, not the other way round.
static void bernoulli_tensor_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  ig_meta wide;
  ig_value size = ig_sizes_of(args[0].tensor);
  ig_shape_copy(c, op, args, out);
  if (c->status == IG_OK) ig_meta_expand(c, args[1].tensor, &size, &wide);
}

// bernoulli(p): row-major whatever the layout of p.
static void dense_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  const ig_tensor *self = args[0].tensor;
  for (int d = 0; d < self->ndim; d++) ig_meta_push_dim(c, out, ig_sizes(self)[d]);
}

static void zero_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_zeros_of(c, v->args[0].tensor);
}

static void zero_both_vjp(ig_ctx *c, const ig_vjp *v) {
  for (size_t i = 0; i < 2; i++) {
    if (v->args[i].kind != IG_KIND_TENSOR) continue;
    IG_GRAD(v, i) = ig_zeros_of(c, v->args[i].tensor);
  }
}

// normal(mean, std) with a tensor on at least one side.
static void normal_pair_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  ig_broadcast(c, args, 2, out);
  ig_tensor *t = ig_value_tensor(&args[0]);
  out->dtype = (t ? t : args[1].tensor)->dtype;
}

static bool check_deviation(ig_ctx *c, const ig_tensor *std) {
  if (ig_dtype_is_complex(std->dtype)) {
    ig_fail_text(c, IG_RUNTIME, "normal expects standard deviation to be non-complex");
    return false;
  }
  for (int d = 0; d < std->ndim; d++) {  // elements that are repeated are looked at once
    bool repeated = ig_sizes(std)[d].value > 1 && ig_strides(std)[d].value == 0;
    if (repeated) std = ig_narrow(c, (ig_tensor *)std, ig_const(d), ig_const(0), ig_const(1));
    if (!std) return false;
  }
  int64_t n = ig_tensor_numel(std);
  for (int64_t i = 0; i < n; i++) {
    if (i % 4096 == 0 && !ig_step(c)) return false;
    if (ig_tensor_get(std, i) >= 0) continue;
    ig_fail_text(c, IG_RUNTIME, "normal expects all elements of std >= 0.0");
    return false;
  }
  return true;
}

static void normal_pair_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  ig_tensor *out = outs[0].tensor;
  ig_tensor *std = ig_value_tensor(&args[1]);
  ig_mode_scope mode = ig_mode_push_grad(c, false);
  ig_scope scope = ig_scope_open(c);
  ig_tensor *t = out;
  if (!std || check_deviation(c, std)) {
    normal(c, op, args, out, out, 0, std ? 1 : ig_value_f64(&args[1]));
  }
  if (std) t = ig_mul_tensor(c, t, std);
  t = ig_add_value(c, t, &args[0]);
  if (t && c->status == IG_OK) ig_tensor_copy(out, t);
  ig_scope_close(c, scope);
  ig_mode_pop(c, &mode);
}

static void normal_sized_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  ig_meta_options(c, args, 4, ig_ctx_default_dtype(c), out);
  ig_meta_sizes(c, &args[2], out);
}

static void normal_sized_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  normal(c, op, args, outs[0].tensor, outs[0].tensor, ig_value_f64(&args[0]),
         ig_value_f64(&args[1]));
}

IG_OP(rand) = {
    .schema =
        "aten::rand(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? "
        "device=None, bool? pin_memory=None) -> Tensor",
    .shape = sizes_shape,
    .kernel = rand_kernel,
    .random = true,
    .samples = "[2,3] | [] | [0] | [20], dtype=f64 | [3], dtype=f16",
    .not_differentiable = true,  // not a function of operands
};

IG_OP(rand_generator) = {
    .schema =
        "aten::rand.generator(SymInt[] size, *, Generator? generator, ScalarType? dtype=None, "
        "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    .shape = sizes_shape,
    .kernel = rand_kernel,
    .random = true,
    .samples = "[2,3], generator=None",
    .not_differentiable = true,  // not a function of operands
};

IG_OP(rand_like) = {
    .schema =
        "aten::rand_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? "
        "device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
    .shape = like_shape,
    .kernel = rand_kernel,
    .random = true,
    .samples = "f32[2,3] | f32[4,2].T | f32[2], dtype=f64",
    .not_differentiable = true,  // not a function of operands
};

IG_OP(randn) = {
    .schema =
        "aten::randn(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? "
        "device=None, bool? pin_memory=None) -> Tensor",
    .shape = sizes_shape,
    .kernel = randn_kernel,
    .random = true,
    .samples = "[2,3] | [] | [0] | [20], dtype=f64 | [17], dtype=bf16 | [3], dtype=c64",
    .not_differentiable = true,  // not a function of operands
};

IG_OP(randn_generator) = {
    .schema =
        "aten::randn.generator(SymInt[] size, *, Generator? generator, ScalarType? dtype=None, "
        "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    .shape = sizes_shape,
    .kernel = randn_kernel,
    .random = true,
    .samples = "[2,3], generator=None",
    .not_differentiable = true,  // not a function of operands
};

IG_OP(randn_like) = {
    .schema =
        "aten::randn_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? "
        "device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
    .shape = like_shape,
    .kernel = randn_kernel,
    .random = true,
    .samples = "f32[2,3] | f32[4,2].T | f32[2], dtype=f64",
    .not_differentiable = true,  // not a function of operands
};

IG_OP(randint) = {
    .schema =
        "aten::randint(SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? layout=None, "
        "Device? device=None, bool? pin_memory=None) -> Tensor",
    .shape = sizes_shape,
    .kernel = randint_kernel,
    .variant = 0,
    .random = true,
    .samples = "5, [2,3] | 5, [4], dtype=f32",
    .not_differentiable = true,  // not a function of operands
};

IG_OP(randint_generator) = {
    .schema =
        "aten::randint.generator(SymInt high, SymInt[] size, *, Generator? generator, ScalarType? "
        "dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    .shape = sizes_shape,
    .kernel = randint_kernel,
    .variant = 0,
    .random = true,
    .samples = "5, [2,3], generator=None",
    .not_differentiable = true,  // not a function of operands
};

IG_OP(randint_low) = {
    .schema =
        "aten::randint.low(SymInt low, SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? "
        "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    .shape = sizes_shape,
    .kernel = randint_kernel,
    .variant = 1,
    .random = true,
    .samples = "-3, 5, [2,3] | 2, 5, [4], dtype=i32",
    .not_differentiable = true,  // not a function of operands
};

IG_OP(randint_low_generator) = {
    .schema =
        "aten::randint.low_generator(SymInt low, SymInt high, SymInt[] size, *, Generator? "
        "generator, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? "
        "pin_memory=None) -> Tensor",
    .shape = sizes_shape,
    .kernel = randint_kernel,
    .variant = 1,
    .random = true,
    .samples = "-3, 5, [2,3], generator=None",
    .not_differentiable = true,  // not a function of operands
};

IG_OP(randint_like) = {
    .schema =
        "aten::randint_like(Tensor self, SymInt high, *, ScalarType? dtype=None, Layout? "
        "layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? "
        "memory_format=None) -> Tensor",
    .shape = like_shape,
    .kernel = randint_kernel,
    .variant = 1,
    .random = true,
    .samples = "f32[2,3], 5 | i64[3], 4",
    .not_differentiable = true,  // not a function of operands
};

IG_OP(randint_like_low_dtype) = {
    .schema =
        "aten::randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, ScalarType? "
        "dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, "
        "MemoryFormat? memory_format=None) -> Tensor",
    .shape = like_shape,
    .kernel = randint_kernel,
    .variant = 2,
    .random = true,
    .samples = "f32[2,3], -2, 5",
    .not_differentiable = true,  // not a function of operands
};

IG_OP(randperm) = {
    .schema =
        "aten::randperm(SymInt n, *, ScalarType? dtype=4, Layout? layout=None, Device? "
        "device=None, bool? pin_memory=None) -> Tensor",
    .shape = randperm_shape,
    .kernel = randperm_kernel,
    .random = true,
    .samples = "5 | 0 | 4, dtype=f32",
    .not_differentiable = true,  // not a function of operands
};

IG_OP(randperm_generator) = {
    .schema =
        "aten::randperm.generator(SymInt n, *, Generator? generator, ScalarType? dtype=4, Layout? "
        "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    .shape = randperm_shape,
    .kernel = randperm_kernel,
    .random = true,
    .samples = "5, generator=None",
    .not_differentiable = true,  // not a function of operands
};

IG_OP(uniform) = {
    .schema =
        "aten::uniform(Tensor self, float from=0., float to=1., *, Generator? generator=None) -> "
        "Tensor",
    .shape = ig_shape_copy,
    .kernel = uniform_kernel,
    .vjp = zero_vjp,
    .keep = "",
    .alias_out = true,
    .random = true,
    .samples = "f32[2,3] | f32[4,2].T, -1., 2.",
};

IG_OP(normal_functional) = {
    .schema =
        "aten::normal_functional(Tensor self, float mean=0., float std=1., *, Generator? "
        "generator=None) -> Tensor",
    .shape = ig_shape_copy,
    .kernel = normal_kernel,
    .vjp = zero_vjp,
    .keep = "",
    .alias_out = true,
    .random = true,
    .samples = "f32[2,3] | f32[4,2].T, -1., 2. | f32[20], 1., 0.",
};

IG_OP(random) = {
    .schema = "aten::random(Tensor self, *, Generator? generator=None) -> Tensor",
    .shape = ig_shape_copy,
    .kernel = random_kernel,
    .vjp = zero_vjp,
    .keep = "",
    .alias_out = true,
    .random = true,
    .samples = "f32[2,3] | i64[3] | bool[3]",
};

IG_OP(random_to) = {
    .schema = "aten::random.to(Tensor self, int to, *, Generator? generator=None) -> Tensor",
    .shape = ig_shape_copy,
    .kernel = random_to_kernel,
    .vjp = zero_vjp,
    .keep = "",
    .alias_out = true,
    .random = true,
    .samples = "f32[2,3], 5 | i64[3], 5",
};

IG_OP(random_from) = {
    .schema =
        "aten::random.from(Tensor self, int from, int? to, *, Generator? generator=None) -> Tensor",
    .shape = ig_shape_copy,
    .kernel = random_from_kernel,
    .vjp = zero_vjp,
    .keep = "",
    .alias_out = true,
    .random = true,
    .samples = "f32[2,3], -2, 5 | i64[3], 1, None",
};

IG_OP(bernoulli) = {
    .schema = "aten::bernoulli(Tensor self, *, Generator? generator=None) -> Tensor",
    .shape = dense_shape,
    .kernel = bernoulli_kernel,
    .vjp = zero_vjp,
    .keep = "",
    .random = true,
    .samples = "f32[2,3]:u | f32[4,2].T:u",
};

IG_OP(bernoulli_p) = {
    .schema = "aten::bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor",
    .shape = ig_shape_copy,
    .kernel = bernoulli_p_kernel,
    .vjp = zero_vjp,
    .keep = "",
    .random = true,
    .samples = "f32[2,3], 0.5 | bool[4], 0.1",
};

IG_OP(bernoulli_tensor) = {
    .schema =
        "aten::bernoulli.Tensor(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor",
    .shape = bernoulli_tensor_shape,
    .kernel = bernoulli_tensor_kernel,
    .vjp = zero_both_vjp,
    .keep = "",
    .alias_out = true,
    .random = true,
    .samples = "f32[2,3], f32[2,3]:u | f32[2,3], f32[3]:u",
};

IG_OP(bernoulli__float) = {
    .schema =
        "aten::bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> "
        "Tensor(a!)",
    .functional = "aten::bernoulli.p",
    .kernel = bernoulli_p_kernel,
    .fake = bernoulli_fake,
    .vjp = zero_vjp,
    .keep = "",
    .random = true,
    .samples = "f32[2,3], 0.5 | bool[4], 0.1",
};

IG_OP(normal_tensor_float) = {
    .schema =
        "aten::normal.Tensor_float(Tensor mean, float std=1., *, Generator? generator=None) -> "
        "Tensor",
    .shape = normal_pair_shape,
    .kernel = normal_pair_kernel,
    .vjp = zero_both_vjp,
    .keep = "",
    .random = true,
    .samples = "f32[2,3], 2.",
};

IG_OP(normal_float_tensor) = {
    .schema =
        "aten::normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor",
    .shape = normal_pair_shape,
    .kernel = normal_pair_kernel,
    .vjp = zero_both_vjp,
    .keep = "",
    .random = true,
    .samples = "1., f32[2,3]:+",
};

IG_OP(normal_tensor_tensor) = {
    .schema =
        "aten::normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> "
        "Tensor",
    .shape = normal_pair_shape,
    .kernel = normal_pair_kernel,
    .vjp = zero_both_vjp,
    .keep = "",
    .random = true,
    .samples = "f32[2,1], f32[3]:+",
};

IG_OP(normal_float_float) = {
    .schema =
        "aten::normal.float_float(float mean, float std, SymInt[] size, *, Generator? "
        "generator=None, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
        "pin_memory=None) -> Tensor",
    .shape = normal_sized_shape,
    .kernel = normal_sized_kernel,
    .random = true,
    .samples = "1., 2., [2,3]",
    .not_differentiable = true,  // not a function of operands
};
