// SPDX-License-Identifier: Apache-2.0
// quantized::add, mul and cat in their forms: with given parameters of the result, with a number,
// and into a given tensor.
#include <math.h>

#include "base/threads.h"
#include "kernels/qrow.h"
#include "op/formula.h"
#include "op/quantized.h"
#include "op/shape.h"

// The numbers of a quantized operand; NULL and an error for another one.
static ig_tensor *numbers(ig_ctx *c, ig_tensor *t) {
  return ig_check_quantized(c, c->op, t) ? ig_dequantized(c, t) : NULL;
}

typedef enum operation { ADD, ADD_RELU, MUL, MUL_RELU } operation;

static bool has_relu(operation how) {
  return how == ADD_RELU || how == MUL_RELU;
}

// ---- eight bits, the same elements in the same order: in one pass

static bool is_direct(ig_ctx *c, const ig_tensor *a, const ig_tensor *b) {
  bool ok = !c->mode->capture && a->dtype != IG_QI32 && !ig_is_fake(a) && !ig_is_fake(b) &&
            ig_quantizer_is_uniform(a->quantizer) && ig_quantizer_is_uniform(b->quantizer) &&
            a->ndim == b->ndim && ig_tensor_is_dense_permuted(a);
  for (int d = 0; ok && d < a->ndim; d++) {
    // concrete: neither operand is fake
    bool size = ig_sizes(a)[d].value == ig_sizes(b)[d].value;
    // concrete: as above
    ok = size && ig_strides(a)[d].value == ig_strides(b)[d].value;
  }
  return ok;
}

typedef struct binary_job {
  ig_qbinary how;
  bool add;
  bool is_signed;
  const uint8_t *a;
  const uint8_t *b;
  uint8_t *out;
} binary_job;

static void run_binary(void *user, int64_t begin, int64_t end) {
  const binary_job *j = user;
  int64_t n = end - begin;
  const uint8_t *a = j->a + begin;
  const uint8_t *b = j->b + begin;
  uint8_t *out = j->out + begin;
  if (j->is_signed) {
    (j->add ? ig_qadd_i8 : ig_qmul_i8)(&j->how, (const int8_t *)a, (const int8_t *)b, n,
                                       (int8_t *)out);
  } else {
    (j->add ? ig_qadd_u8 : ig_qmul_u8)(&j->how, a, b, n, out);
  }
}

enum { GRAIN = 1 << 15 };

static void limits(ig_dtype d, int64_t *low, int64_t *high);

static ig_tensor *directly(ig_ctx *c, ig_tensor *qa, ig_tensor *qb, operation how, double scale,
                           int64_t zero) {
  int64_t low = 0;
  int64_t high = 0;
  limits(qa->dtype, &low, &high);
  if (zero < low || zero > high) {
    ig_fail_text(c, IG_RUNTIME, "quantize_tensor_per_tensor_affine zero_point %lld is %s bound.",
                 (long long)zero, zero < low ? "below lower" : "above upper");
    return NULL;
  }
  ig_meta m;
  ig_meta_of(qa, &m);
  m.offset = ig_const(0);
  m.quantizer = ig_quantizer_make(c, scale, zero);
  ig_tensor *out = c->status == IG_OK ? ig_tensor_make(c, &m, false) : NULL;
  if (!out) return NULL;
  if (has_relu(how) && low < zero) low = zero;
  const ig_quantizer *a = qa->quantizer;
  const ig_quantizer *b = qb->quantizer;
  binary_job j = {.how = {.scale = {(float)a->scale, (float)b->scale},
                          .zero = {(float)a->zero_point, (float)b->zero_point},
                          .inverse = 1.0F / (float)scale,
                          .to = (float)zero,
                          .low = (float)low,
                          .high = (float)high},
                  .add = how == ADD || how == ADD_RELU,
                  .is_signed = qa->dtype == IG_QI8,
                  .a = ig_tensor_data(qa),
                  .b = ig_tensor_data(qb),
                  .out = ig_tensor_data(out)};
  ig_parallel_for(ig_tensor_numel(out), GRAIN, run_binary, &j);
  return out;
}

static ig_tensor *combined(ig_ctx *c, ig_tensor *qa, ig_tensor *qb, operation how, double scale,
                           int64_t zero) {
  if (!ig_check_quantized(c, c->op, qa) || !ig_check_quantized(c, c->op, qb)) return NULL;
  if (qa->dtype != qb->dtype) {
    ig_fail_text(c, IG_RUNTIME, "%s: operands should have same data type.", c->op->schema.name);
    return NULL;
  }
  bool add = how == ADD || how == ADD_RELU;
  if (c->status == IG_OK && is_direct(c, qa, qb)) return directly(c, qa, qb, how, scale, zero);
  ig_tensor *a = numbers(c, qa);
  ig_tensor *b = numbers(c, qb);
  ig_tensor *x = add ? ig_add_tensor(c, a, b) : ig_mul_tensor(c, a, b);
  if (has_relu(how)) x = ig_relu(c, x);
  return x ? ig_quantize_with(c, x, qa->dtype, scale, zero) : NULL;
}

// qa, qb, scale, zero_point
static ig_tensor *given(ig_ctx *c, const ig_value *a, operation how) {
  return combined(c, a[0].tensor, a[1].tensor, how, ig_scale_of(c, &a[2]), ig_value_i64(c, &a[3]));
}
static ig_tensor *add(ig_ctx *c, const ig_value *a) {
  return given(c, a, ADD);
}
static ig_tensor *add_relu(ig_ctx *c, const ig_value *a) {
  return given(c, a, ADD_RELU);
}
static ig_tensor *mul(ig_ctx *c, const ig_value *a) {
  return given(c, a, MUL);
}
static ig_tensor *mul_relu(ig_ctx *c, const ig_value *a) {
  return given(c, a, MUL_RELU);
}

// ---- with a number

static void limits(ig_dtype d, int64_t *low, int64_t *high) {
  *low = d == IG_QU8 ? 0 : d == IG_QI8 ? -128 : INT32_MIN;
  *high = d == IG_QU8 ? 255 : d == IG_QI8 ? 127 : INT32_MAX;
}

static ig_tensor *relu_if(ig_ctx *c, ig_tensor *q, bool relu) {
  return relu ? ig_relu(c, q) : q;
}

static bool is_uniform(ig_ctx *c, const ig_tensor *q) {
  if (!ig_check_quantized(c, c->op, q)) return false;
  if (ig_quantizer_is_uniform(q->quantizer)) return true;
  ig_fail_text(c, IG_RUNTIME, "%s: Only per tensor quantization is supported", c->op->schema.name);
  return false;
}

// The sum moves the zero point; where there is no room for it, the scale grows instead.
static ig_tensor *plus_number(ig_ctx *c, ig_tensor *q, double number, bool relu) {
  if (!is_uniform(c, q)) return NULL;
  double scale = q->quantizer->scale;
  int64_t zero = q->quantizer->zero_point;
  int64_t low = 0;
  int64_t high = 0;
  limits(q->dtype, &low, &high);
  // As floating-point numbers: the number may be anything.
  double steps = nearbyint(number / (double)(float)scale);
  double moved = (double)zero - steps;
  if (moved >= (double)low && moved <= (double)high) {
    ig_tensor *ints = ig_clone(c, ig_tensor_integers(c, q));
    ig_quantizer *p = ig_quantizer_make(c, scale, (int64_t)moved);
    return relu_if(c, ig_tensor_quantized(c, ints, q->dtype, p), relu);
  }
  bool below = moved < (double)low;
  double span = (double)(high - low);
  double wider = (below ? (double)high - moved : moved - (double)low) / span * scale;
  ig_tensor *x = ig_add_f64(c, ig_dequantized(c, q), steps * scale);
  if (relu) x = ig_relu(c, x);
  return ig_quantize_with(c, x, q->dtype, wider, below ? low : high);
}

static ig_tensor *times_number(ig_ctx *c, ig_tensor *q, double number, bool relu) {
  if (!is_uniform(c, q)) return NULL;
  double scale = q->quantizer->scale;
  int64_t zero = q->quantizer->zero_point;
  int64_t low = 0;
  int64_t high = 0;
  limits(q->dtype, &low, &high);
  ig_tensor *ints = ig_tensor_integers(c, q);
  if (number > 0) {
    ints = ig_clone(c, ints);
    scale *= number;
  } else if (number == 0) {
    ints = ig_zeros_like(c, ints);
    scale = 1;
    zero = 0;
  } else {
    ig_tensor *turned = ig_neg(c, ig_cast(c, ints, IG_I64));
    ints = ig_cast(
        c, ig_add_value(c, turned, &(ig_value){.kind = IG_KIND_INT, .i = ig_const(low + high)}),
        ig_dtype_carrier(q->dtype));
    scale *= -number;
    zero = high - (zero - low);
  }
  ig_quantizer *p = ig_quantizer_make(c, scale, zero);
  return relu_if(c, ig_tensor_quantized(c, ints, q->dtype, p), relu);
}

static double number_of(ig_ctx *c, const ig_value *v) {
  if (v->kind != IG_KIND_TENSOR) return ig_value_f64(v);
  ig_value out[IG_MAX_RETURNS] = {{0}};
  ig_item(c, v->tensor, out);
  return c->status == IG_OK ? ig_scale_of(c, &out[0]) : 0;
}
static ig_tensor *with_number(ig_ctx *c, const ig_value *q, const ig_value *number, operation how) {
  double x = number_of(c, number);
  if (c->status != IG_OK) return NULL;
  return (how == ADD || how == ADD_RELU ? plus_number : times_number)(c, q->tensor, x,
                                                                      has_relu(how));
}
static ig_tensor *add_number(ig_ctx *c, const ig_value *a) {
  return with_number(c, &a[0], &a[1], ADD);
}
static ig_tensor *add_number_relu(ig_ctx *c, const ig_value *a) {
  return with_number(c, &a[0], &a[1], ADD_RELU);
}
static ig_tensor *mul_number(ig_ctx *c, const ig_value *a) {
  return with_number(c, &a[0], &a[1], MUL);
}
static ig_tensor *mul_number_relu(ig_ctx *c, const ig_value *a) {
  return with_number(c, &a[0], &a[1], MUL_RELU);
}
static ig_tensor *number_add(ig_ctx *c, const ig_value *a) {
  return with_number(c, &a[1], &a[0], ADD);
}
static ig_tensor *number_add_relu(ig_ctx *c, const ig_value *a) {
  return with_number(c, &a[1], &a[0], ADD_RELU);
}
static ig_tensor *number_mul(ig_ctx *c, const ig_value *a) {
  return with_number(c, &a[1], &a[0], MUL);
}
static ig_tensor *number_mul_relu(ig_ctx *c, const ig_value *a) {
  return with_number(c, &a[1], &a[0], MUL_RELU);
}

// ---- cat

static ig_tensor *joined(ig_ctx *c, const ig_value *a, bool relu) {
  size_t n = a[0].kind == IG_KIND_LIST ? a[0].list.n : 0;
  ig_value *parts = ig_scope_array(c, n, sizeof *parts);
  if (!parts || n == 0) {
    if (c->status == IG_OK) ig_fail_text(c, IG_RUNTIME, "quantized::cat: the list is empty");
    return NULL;
  }
  const ig_tensor *first = a[0].list.at[0].tensor;
  for (size_t i = 0; i < n; i++) {
    ig_tensor *t = a[0].list.at[i].tensor;
    if (!is_uniform(c, t)) return NULL;
    if (t->dtype != first->dtype) {
      ig_fail_text(c, IG_RUNTIME, "All dtypes must be the same.");
      return NULL;
    }
    parts[i] = ig_of_tensor(ig_dequantized(c, t));
  }
  double scale = a[2].kind == IG_KIND_NONE ? first->quantizer->scale : ig_scale_of(c, &a[2]);
  int64_t zero = a[3].kind == IG_KIND_NONE ? first->quantizer->zero_point : ig_value_i64(c, &a[3]);
  if (c->status != IG_OK) return NULL;
  ig_tensor *x = ig_cat_with(c, ig_of_list(parts, n), a[1].i);
  if (relu) x = ig_relu(c, x);
  return x ? ig_quantize_with(c, x, first->dtype, scale, zero) : NULL;
}
static ig_tensor *cat(ig_ctx *c, const ig_value *a) {
  return joined(c, a, false);
}
static ig_tensor *cat_relu(ig_ctx *c, const ig_value *a) {
  return joined(c, a, true);
}

static ig_tensor *product(ig_ctx *c, const ig_value *a) {
  ig_tensor *x = numbers(c, a[0].tensor);
  ig_tensor *y = numbers(c, a[1].tensor);
  x = ig_matmul(c, x, y);
  return x ? ig_quantize_with(c, x, a[0].tensor->dtype, ig_scale_of(c, &a[2]),
                              ig_value_i64(c, &a[3]))
           : NULL;
}

IG_OP(quantized__add) = {
    .schema = "quantized::add(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor qc",
    .decompose = add,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__add_relu) = {
    .schema = "quantized::add_relu(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor qc",
    .decompose = add_relu,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__mul) = {
    .schema = "quantized::mul(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor qc",
    .decompose = mul,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__mul_relu) = {
    .schema = "quantized::mul_relu(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor qc",
    .decompose = mul_relu,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__add__scalar) = {
    .schema = "quantized::add.Scalar(Tensor qa, Scalar b) -> Tensor qc",
    .decompose = add_number,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__add__scalar2) = {
    .schema = "quantized::add.Scalar2(Scalar b, Tensor qa) -> Tensor qc",
    .decompose = number_add,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__add_scalar) = {
    .schema = "quantized::add_scalar(Tensor qa, Scalar b) -> Tensor qc",
    .decompose = add_number,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__add_scalar__tensor) = {
    .schema = "quantized::add_scalar.Tensor(Tensor qa, Tensor b) -> Tensor qc",
    .decompose = add_number,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__add_relu__scalar) = {
    .schema = "quantized::add_relu.Scalar(Tensor qa, Scalar b) -> Tensor qc",
    .decompose = add_number_relu,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__add_relu__scalar2) = {
    .schema = "quantized::add_relu.Scalar2(Scalar b, Tensor qa) -> Tensor qc",
    .decompose = number_add_relu,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__add_scalar_relu) = {
    .schema = "quantized::add_scalar_relu(Tensor qa, Scalar b) -> Tensor qc",
    .decompose = add_number_relu,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__add_scalar_relu__tensor) = {
    .schema = "quantized::add_scalar_relu.Tensor(Tensor qa, Tensor b) -> Tensor qc",
    .decompose = add_number_relu,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__mul__scalar) = {
    .schema = "quantized::mul.Scalar(Tensor qa, Scalar b) -> Tensor qc",
    .decompose = mul_number,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__mul__scalar2) = {
    .schema = "quantized::mul.Scalar2(Scalar b, Tensor qa) -> Tensor qc",
    .decompose = number_mul,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__mul_scalar) = {
    .schema = "quantized::mul_scalar(Tensor qa, Scalar b) -> Tensor qc",
    .decompose = mul_number,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__mul_scalar__tensor) = {
    .schema = "quantized::mul_scalar.Tensor(Tensor qa, Tensor b) -> Tensor qc",
    .decompose = mul_number,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__mul_relu__scalar) = {
    .schema = "quantized::mul_relu.Scalar(Tensor qa, Scalar b) -> Tensor qc",
    .decompose = mul_number_relu,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__mul_relu__scalar2) = {
    .schema = "quantized::mul_relu.Scalar2(Scalar b, Tensor qa) -> Tensor qc",
    .decompose = number_mul_relu,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__mul_scalar_relu) = {
    .schema = "quantized::mul_scalar_relu(Tensor qa, Scalar b) -> Tensor qc",
    .decompose = mul_number_relu,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__mul_scalar_relu__tensor) = {
    .schema = "quantized::mul_scalar_relu.Tensor(Tensor qa, Tensor b) -> Tensor qc",
    .decompose = mul_number_relu,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__cat) = {
    .schema = "quantized::cat(Tensor[] qx, int dim, float? scale, int? zero_point) -> Tensor",
    .decompose = cat,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__cat_relu) = {
    .schema = "quantized::cat_relu(Tensor[] qx, int dim, float? scale, int? zero_point) -> Tensor",
    .decompose = cat_relu,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__matmul) = {
    .schema = "quantized::matmul(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor qc",
    .decompose = product,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(_quantized__add) = {
    .schema = "_quantized::add(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor qc",
    .decompose = add,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
