// SPDX-License-Identifier: Apache-2.0
// quantized::linear and its kin: packing, products with quantized and with plain operands.
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/qgemm.h"
#include "kernels/qrow.h"
#include "op/formula.h"
#include "op/native.h"
#include "op/quantized.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "ops/quant.h"

// ---- packing

static void prepack(ig_ctx *c, const ig_value *args, ig_value *outs) {
  if (!ig_check_quantized(c, c->op, args[0].tensor)) return;
  ig_packed *p = ig_packed_linear(c, args[0].tensor, ig_value_tensor(&args[1]));
  if (p) outs[0] = ig_of_native(&p->head);
}
static void prepack_half(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_packed *p = ig_packed_linear_half(c, args[0].tensor, ig_value_tensor(&args[1]));
  if (p) outs[0] = ig_of_native(&p->head);
}
static void unpack(ig_ctx *c, const ig_value *args, ig_value *outs) {
  const ig_packed *p = ig_packed_of(&args[0]);
  outs[0] = ig_of_tensor(ig_tensor_alias(c, p->weight));
  outs[1] = p->bias ? ig_of_tensor(ig_tensor_alias(c, p->bias)) : ig_none();
}

// ---- products

static bool check_sizes(ig_ctx *c, const ig_tensor *x, const ig_packed *p, ig_meta *out) {
  if (p->half || !p->ready) {
    ig_fail_text(c, IG_RUNTIME, "%s: the weight is packed for float16 products",
                 c->op->schema.name);
    return false;
  }
  if (x->ndim == 0) {
    ig_fail_text(c, IG_RUNTIME, "The dimension of input tensor should be larger than 0");
    return false;
  }
  if (!ig_int_eq_i64(c, ig_sizes(x)[x->ndim - 1], p->k)) {
    if (c->status != IG_OK) return false;
    ig_fail_text(c, IG_RUNTIME,
                 "The number of rows in the packB should be equal to K: %s: found %s columns, "
                 "expected %lld",
                 c->op->schema.name, ig_int_text(c, ig_sizes(x)[x->ndim - 1]), (long long)p->k);
    return false;
  }
  ig_meta_init(out, x->dtype, x->device);
  for (int d = 0; d + 1 < x->ndim; d++) ig_meta_push_dim(c, out, ig_sizes(x)[d]);
  ig_meta_push_dim(c, out, ig_const(p->n));
  return true;
}

typedef struct linear_job {
  int64_t k;
  int64_t n;
  ig_dtype dtype;  // of x: QU8 or QI8
  const uint8_t *x;
  int32_t zero;
  ig_requantize out;
  uint8_t *q;  // quantized results, or
  float *f;    // numbers
  float low;   // of the numbers
  const float *bias;
} linear_job;

// Signed integers become unsigned ones.
static const uint8_t *give_rows(void *user, int64_t first, int64_t rows, uint8_t *room,
                                int64_t *ld) {
  const linear_job *j = user;
  const uint8_t *from = j->x + first * j->k;
  if (j->dtype == IG_QU8 && j->k % 4 == 0) {
    *ld = j->k;
    return from;
  }
  for (int64_t r = 0; r < rows; r++) {
    uint8_t *row = room + r * *ld;
    if (j->dtype == IG_QI8) {
      ig_flip_sign(from + r * j->k, j->k, row);
    } else {
      memcpy(row, from + r * j->k, (size_t)j->k);
    }
    for (int64_t p = j->k; p < *ld; p++) row[p] = 0;
  }
  return room;
}

static void store_rows(void *user, int64_t first, int64_t rows, int64_t col, int64_t cols,
                       const int32_t *sums, int64_t ld) {
  const linear_job *j = user;
  if (j->q) {
    ig_requantize_rows(&j->out, sums, ld, rows, col, cols, j->q + first * j->n + col, j->n);
    return;
  }
  for (int64_t r = 0; r < rows; r++) {
    ig_rescale_row(j->out.multiplier + col, j->bias ? j->bias + col : NULL, j->low, sums + r * ld,
                   cols, j->f + (first + r) * j->n + col);
  }
}

static void multiply(ig_ctx *c, const ig_packed *p, int64_t m, linear_job *j) {
  int32_t zero = j->zero + (j->dtype == IG_QI8 ? 128 : 0);
  ig_qproduct product = {p->ready[0], m, zero, give_rows, store_rows, j};
  if (!ig_qgemm(&product)) (void)ig_fail(c, IG_NOMEM, "out of memory");
}

static int32_t lowest(ig_dtype d) {
  return d == IG_QI8 ? -128 : 0;
}

// Multipliers of sums, and the bias in their units; false after an error.
static bool prepare_output(ig_ctx *c, const ig_packed *p, int64_t n, float x_scale,
                           const ig_quantizer *q, ig_requantize *out) {
  float *multiplier = ig_scope_array(c, (size_t)n, sizeof *multiplier);
  float *bias = p->bias ? ig_scope_array(c, (size_t)n, sizeof *bias) : NULL;
  if (!multiplier || (p->bias && !bias)) return false;
  const float *given = p->bias ? ig_tensor_data(p->bias) : NULL;
  for (int64_t i = 0; i < n; i++) {
    float unit = x_scale * p->scales[i];
    multiplier[i] = q ? unit / (float)q->scale : unit;
    if (bias) bias[i] = given[i] / unit;
  }
  out->multiplier = multiplier;
  out->bias = bias;
  return true;
}

static void linear_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *x = args[0].tensor;
  if (!ig_check_quantized(c, op, x) || !check_sizes(c, x, ig_packed_of(&args[1]), out)) return;
  if (x->dtype != IG_QU8 && x->dtype != IG_QI8) {
    ig_fail_text(c, IG_RUNTIME,
                 "quantized::linear (fbgemm): The data type of input should be quint8, found %s",
                 ig_dtype_text(x->dtype));
    return;
  }
  if (!ig_quantizer_is_uniform(x->quantizer)) {
    ig_fail_text(c, IG_RUNTIME, "quantized::linear: the input must be quantized per tensor");
    return;
  }
  out->quantizer = ig_quantizer_make(c, ig_scale_of(c, &args[2]), ig_value_i64(c, &args[3]));
}

enum { PLAIN, RELU };
static void linear_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  const ig_packed *p = ig_packed_of(&args[1]);
  ig_tensor *q = outs[0].tensor;
  const ig_quantizer *xq = args[0].tensor->quantizer;
  ig_scope s = ig_scope_open(c);
  ig_tensor *ints = ig_contiguous(c, ig_tensor_integers(c, args[0].tensor));
  linear_job j = {.k = p->k,
                  .n = p->n,
                  .dtype = args[0].tensor->dtype,
                  .x = ints ? ig_tensor_data(ints) : NULL,
                  .zero = (int32_t)xq->zero_point,
                  .q = ig_tensor_data(q)};
  j.out = (ig_requantize){.zero = (int32_t)q->quantizer->zero_point,
                          .low = lowest(q->dtype),
                          .high = lowest(q->dtype) + 255};
  if (op->def->variant == RELU && j.out.low < j.out.zero) j.out.low = j.out.zero;
  if (ints && prepare_output(c, p, p->n, (float)xq->scale, q->quantizer, &j.out)) {
    multiply(c, p, p->n ? ig_tensor_numel(q) / p->n : 0, &j);
  }
  ig_scope_close(c, s);
}

// Numbers, quantized on the way with parameters that fit them.
static void dynamic_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *x = args[0].tensor;
  (void)op;
  if (x->dtype != IG_F32) {
    ig_fail_text(c, IG_RUNTIME,
                 "quantized::linear_dynamic: the input has dtype %s, expected float32",
                 ig_dtype_text(x->dtype));
    return;
  }
  (void)check_sizes(c, x, ig_packed_of(&args[1]), out);
}

static void dynamic_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  const ig_packed *p = ig_packed_of(&args[1]);
  ig_scope s = ig_scope_open(c);
  ig_tensor *x = ig_contiguous(c, ig_tensor_alias(c, args[0].tensor));
  float low = 0;
  float high = 0;
  double scale = 1;
  int64_t zero = 0;
  ig_quant_extremes(c, x, &low, &high);
  ig_quant_choose((double)low, (double)high, 0, 255, args[2].b, &scale, &zero);
  ig_tensor *q = ig_quantize_with(c, x, IG_QU8, scale, zero);
  linear_job j = {.k = p->k,
                  .n = p->n,
                  .dtype = IG_QU8,
                  .x = q ? ig_tensor_data(q) : NULL,
                  .zero = (int32_t)zero,
                  .f = ig_tensor_data(outs[0].tensor),
                  .bias = p->bias ? ig_tensor_data(p->bias) : NULL,
                  .low = op->def->variant == RELU ? 0 : -FLT_MAX};
  if (q && prepare_output(c, p, p->n, (float)scale, NULL, &j.out)) {
    multiply(c, p, p->n ? ig_tensor_numel(outs[0].tensor) / p->n : 0, &j);
  }
  ig_scope_close(c, s);
}

static ig_tensor *half_product(ig_ctx *c, const ig_value *args, bool relu) {
  const ig_packed *p = ig_packed_of(&args[1]);
  if (!p->half) {
    ig_fail_text(c, IG_RUNTIME, "%s: the weight is packed for integer products",
                 c->op->schema.name);
    return NULL;
  }
  ig_tensor *y = ig_linear_with(c, args[0].tensor, p->weight, p->bias);
  return relu ? ig_relu(c, y) : y;
}
static ig_tensor *linear_half(ig_ctx *c, const ig_value *args) {
  return half_product(c, args, false);
}
static ig_tensor *linear_half_relu(ig_ctx *c, const ig_value *args) {
  return half_product(c, args, true);
}

// X, W_prepack, scale, zero_point[, negative_slope]
static ig_tensor *then(ig_ctx *c, const ig_value *args, bool leaky) {
  const ig_packed *p = ig_packed_of(&args[1]);
  if (!ig_check_quantized(c, c->op, args[0].tensor) || p->half) return NULL;
  ig_tensor *x = ig_dequantized(c, args[0].tensor);
  ig_tensor *y = ig_linear_with(c, x, ig_dequantized(c, p->weight), p->bias);
  y = leaky ? ig_leaky_relu_with(c, y, args[4]) : ig_tanh(c, y);
  return y ? ig_quantize_with(c, y, args[0].tensor->dtype, ig_scale_of(c, &args[2]),
                              ig_value_i64(c, &args[3]))
           : NULL;
}
static ig_tensor *linear_leaky(ig_ctx *c, const ig_value *args) {
  return then(c, args, true);
}
static ig_tensor *linear_tanh(ig_ctx *c, const ig_value *args) {
  return then(c, args, false);
}

// What the kernels compute, for programs.
static ig_tensor *linear_formula(ig_ctx *c, const ig_value *args, bool relu, bool quantize) {
  const ig_packed *p = ig_packed_of(&args[1]);
  ig_tensor *x = ig_dequantized(c, args[0].tensor);
  ig_tensor *y = ig_linear_with(c, x, ig_dequantized(c, p->weight), p->bias);
  if (relu) y = ig_relu(c, y);
  if (!quantize || !y) return y;
  return ig_quantize_with(c, y, args[0].tensor->dtype, ig_scale_of(c, &args[2]),
                          ig_value_i64(c, &args[3]));
}
static ig_tensor *linear_lower(ig_ctx *c, const ig_value *args) {
  return linear_formula(c, args, false, true);
}
static ig_tensor *linear_relu_lower(ig_ctx *c, const ig_value *args) {
  return linear_formula(c, args, true, true);
}
static ig_tensor *dynamic_lower(ig_ctx *c, const ig_value *args) {
  return linear_formula(c, args, false, false);
}
static ig_tensor *dynamic_relu_lower(ig_ctx *c, const ig_value *args) {
  return linear_formula(c, args, true, false);
}

// X, X_scale, X_zero_point, W_prepack
static ig_tensor *simulated(ig_ctx *c, const ig_value *args, bool relu) {
  ig_tensor *q = ig_quantize_with(c, args[0].tensor, IG_QU8, ig_scale_of(c, &args[1]),
                                  ig_value_i64(c, &args[2]));
  const ig_packed *p = ig_packed_of(&args[3]);
  if (!q || p->half) return NULL;
  ig_tensor *x = ig_dequantized(c, q);
  ig_tensor *y = ig_linear_with(c, x, ig_dequantized(c, p->weight), p->bias);
  return relu ? ig_relu(c, y) : y;
}
static ig_tensor *linear_simulated(ig_ctx *c, const ig_value *args) {
  return simulated(c, args, false);
}
static ig_tensor *linear_simulated_relu(ig_ctx *c, const ig_value *args) {
  return simulated(c, args, true);
}

IG_OP(quantized__linear_prepack) = {
    .schema =
        "quantized::linear_prepack(Tensor W, Tensor? B=None) -> "
        "__torch__.torch.classes.quantized.LinearPackedParamsBase W_prepack",
    .decompose_outs = prepack,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__linear_prepack_fp16) = {
    .schema =
        "quantized::linear_prepack_fp16(Tensor W, Tensor? B=None) -> "
        "__torch__.torch.classes.quantized.LinearPackedParamsBase W_prepack",
    .decompose_outs = prepack_half,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__linear) = {
    .schema =
        "quantized::linear(Tensor X, __torch__.torch.classes.quantized.LinearPackedParamsBase "
        "W_prepack, float Y_scale_i, int Y_zero_point_i) -> Tensor Y",
    .shape = linear_shape,
    .kernel = linear_kernel,
    .lower = linear_lower,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__linear_dynamic) = {
    .schema =
        "quantized::linear_dynamic(Tensor X, "
        "__torch__.torch.classes.quantized.LinearPackedParamsBase W_prepack, bool "
        "reduce_range=False) -> Tensor Y",
    .shape = dynamic_shape,
    .kernel = dynamic_kernel,
    .lower = dynamic_lower,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(_quantized__linear_prepack) = {
    .schema =
        "_quantized::linear_prepack(Tensor W, Tensor? B=None) -> "
        "__torch__.torch.classes.quantized.LinearPackedParamsBase W_prepack",
    .decompose_outs = prepack,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(_quantized__linear_prepack_fp16) = {
    .schema =
        "_quantized::linear_prepack_fp16(Tensor W, Tensor? B=None) -> "
        "__torch__.torch.classes.quantized.LinearPackedParamsBase W_prepack",
    .decompose_outs = prepack_half,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(_quantized__linear) = {
    .schema =
        "_quantized::linear(Tensor X, __torch__.torch.classes.quantized.LinearPackedParamsBase "
        "W_prepack, float Y_scale_i, int Y_zero_point_i) -> Tensor Y",
    .shape = linear_shape,
    .kernel = linear_kernel,
    .lower = linear_lower,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(_quantized__linear_dynamic) = {
    .schema =
        "_quantized::linear_dynamic(Tensor X, "
        "__torch__.torch.classes.quantized.LinearPackedParamsBase W_prepack, bool "
        "reduce_range=False) -> Tensor Y",
    .shape = dynamic_shape,
    .kernel = dynamic_kernel,
    .lower = dynamic_lower,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__linear_unpack) = {
    .schema =
        "quantized::linear_unpack(__torch__.torch.classes.quantized.LinearPackedParamsBase "
        "W_prepack) -> (Tensor W_origin, Tensor? B_origin)",
    .decompose_outs = unpack,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__linear_unpack_fp16) = {
    .schema =
        "quantized::linear_unpack_fp16(__torch__.torch.classes.quantized.LinearPackedParamsBase "
        "W_prepack) -> (Tensor W_origin, Tensor? B_origin)",
    .decompose_outs = unpack,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__linear_relu) = {
    .schema =
        "quantized::linear_relu(Tensor X, __torch__.torch.classes.quantized.LinearPackedParamsBase "
        "W_prepack, float Y_scale_i, int Y_zero_point_i) -> Tensor Y",
    .shape = linear_shape,
    .kernel = linear_kernel,
    .lower = linear_relu_lower,
    .quantized = IG_QUANT_OWN,
    .variant = RELU,
    .not_differentiable = true,
};
IG_OP(quantized__linear_relu_dynamic) = {
    .schema =
        "quantized::linear_relu_dynamic(Tensor X, "
        "__torch__.torch.classes.quantized.LinearPackedParamsBase W_prepack, bool "
        "reduce_range=False) -> Tensor Y",
    .shape = dynamic_shape,
    .kernel = dynamic_kernel,
    .lower = dynamic_relu_lower,
    .variant = RELU,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__linear_dynamic_fp16) = {
    .schema =
        "quantized::linear_dynamic_fp16(Tensor X, "
        "__torch__.torch.classes.quantized.LinearPackedParamsBase W_prepack) -> Tensor Y",
    .decompose = linear_half,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__linear_relu_dynamic_fp16) = {
    .schema =
        "quantized::linear_relu_dynamic_fp16(Tensor X, "
        "__torch__.torch.classes.quantized.LinearPackedParamsBase W_prepack) -> Tensor Y",
    .decompose = linear_half_relu,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__linear_leaky_relu) = {
    .schema =
        "quantized::linear_leaky_relu(Tensor X, "
        "__torch__.torch.classes.quantized.LinearPackedParamsBase W_prepack, float Y_scale_i, int "
        "Y_zero_point_i, float negative_slope) -> Tensor Y",
    .decompose = linear_leaky,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__linear_tanh) = {
    .schema =
        "quantized::linear_tanh(Tensor X, __torch__.torch.classes.quantized.LinearPackedParamsBase "
        "W_prepack, float Y_scale_i, int Y_zero_point_i) -> Tensor Y",
    .decompose = linear_tanh,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__linear_with_input_q_dq_qweight_dq_output_fp32) = {
    .schema =
        "quantized::linear_with_input_q_dq_qweight_dq_output_fp32(Tensor X, float X_scale, int "
        "X_zero_point, __torch__.torch.classes.quantized.LinearPackedParamsBase W_prepack) -> "
        "Tensor Y",
    .decompose = linear_simulated,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__linear_with_input_q_dq_qweight_dq_relu_output_fp32) = {
    .schema =
        "quantized::linear_with_input_q_dq_qweight_dq_relu_output_fp32(Tensor X, float X_scale, "
        "int X_zero_point, __torch__.torch.classes.quantized.LinearPackedParamsBase W_prepack) -> "
        "Tensor Y",
    .decompose = linear_simulated_relu,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
