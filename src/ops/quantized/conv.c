// SPDX-License-Identifier: Apache-2.0
// Quantized convolutions. Images are read and written with channels last; a product per group of
// channels, whose rows are the patches of the image.
#include <float.h>
#include <stdio.h>
#include <string.h>

#include "kernels/qgemm.h"
#include "kernels/qimage.h"
#include "kernels/qrow.h"
#include "kernels/scratch.h"
#include "op/formula.h"
#include "op/native.h"
#include "op/quantized.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "ops/quant.h"

// ---- geometry

// Sizes of a result along one dimension; false: none.
static bool result_size(const ig_packed *p, int d, int64_t in, int64_t *out) {
  int64_t kernel = ig_sizes(p->weight)[d + 2].value;  // concrete: packed
  int64_t reach = p->dilation[d] * (kernel - 1);
  if (p->transpose) {
    *out = (in - 1) * p->stride[d] - 2 * p->padding[d] + reach + p->output_padding[d] + 1;
  } else {
    int64_t room = in + 2 * p->padding[d] - reach - 1;
    *out = room < 0 ? 0 : room / p->stride[d] + 1;
  }
  return *out > 0;
}

static int64_t outputs_of(const ig_packed *p) {
  // concrete: packed weights are real
  return ig_sizes(p->weight)[p->transpose ? 1 : 0].value * (p->transpose ? p->groups : 1);
}
static int64_t inputs_of(const ig_packed *p) {
  // concrete: packed weights are real
  return ig_sizes(p->weight)[p->transpose ? 0 : 1].value * (p->transpose ? 1 : p->groups);
}

static ig_qimage image_of(const ig_packed *p, const ig_tensor *x) {
  ig_qimage g = {.n = ig_sizes(x)[0].value,
                 .channels = ig_sizes(x)[1].value,
                 .cin = inputs_of(p) / p->groups,
                 .cout = outputs_of(p) / p->groups};
  for (int d = 0; d < 3; d++) {
    int from = d - (3 - p->nd);
    bool real = from >= 0;
    g.in[d] = real ? ig_sizes(x)[from + 2].value : 1;
    g.kernel[d] = real ? ig_sizes(p->weight)[from + 2].value : 1;
    g.stride[d] = real ? p->stride[from] : 1;
    g.padding[d] = real ? p->padding[from] : 0;
    g.dilation[d] = real ? p->dilation[from] : 1;
    g.out[d] = 1;
    if (real) (void)result_size(p, from, g.in[d], &g.out[d]);
  }
  return g;
}

// "1, 3, 5, 5"
static const char *sizes_text(ig_ctx *c, const ig_tensor *t) {
  char *text = ig_scope_array(c, 256, 1);
  size_t used = 0;
  for (int d = 0; text && d < t->ndim && used < 200; d++) {
    int n =
        snprintf(text + used, 256 - used, "%s%s", d ? ", " : "", ig_int_text(c, ig_sizes(t)[d]));
    used += n > 0 ? (size_t)n : 0;
  }
  return text ? text : "";
}

// The operand with the packed number of spatial dimensions; one dimension is given as two.
static bool check_image(ig_ctx *c, const ig_tensor *x, const ig_packed *p) {
  if (!p) return false;
  if (x->ndim != p->nd + 2) {
    ig_fail_text(c, IG_RUNTIME, "%s: found an input with %d dimensions, expected %d",
                 c->op->schema.name, x->ndim, p->nd + 2);
  } else if (!ig_int_eq_i64(c, ig_sizes(x)[1], inputs_of(p)) && c->status == IG_OK) {
    ig_fail_text(c, IG_RUNTIME,
                 "[QConv%dD] Given groups=%lld, weight of size %s, expected input (NC%sHW) %s to "
                 "have %lld channels, but got %s channels instead",
                 p->nd, (long long)p->groups, sizes_text(c, p->weight), p->nd == 3 ? "D" : "",
                 sizes_text(c, x), (long long)inputs_of(p), ig_int_text(c, ig_sizes(x)[1]));
  }
  return c->status == IG_OK;
}

static void result_meta(ig_ctx *c, const ig_tensor *x, const ig_packed *p, ig_meta *out) {
  ig_meta_init(out, x->dtype, x->device);
  ig_meta_push_dim(c, out, ig_sizes(x)[0]);
  ig_meta_push_dim(c, out, ig_const(outputs_of(p)));
  for (int d = 0; d < p->nd; d++) {
    int64_t size = 0;
    // concrete: the kernels of quantized tensors have no symbolic sizes
    if (!result_size(p, d, ig_sizes(x)[d + 2].value, &size)) {
      ig_fail_text(c, IG_RUNTIME,
                   "[QConv%dD] each dimension of output tensor should be greater than 0", p->nd);
      return;
    }
    ig_meta_push_dim(c, out, ig_const(size));
  }
  ig_meta_format(c, out, p->nd == 3 ? IG_CHANNELS_LAST_3D : IG_CHANNELS_LAST);
  out->strided = true;
}

// ---- products

typedef struct conv_job {
  const ig_packed *p;
  ig_qimage g;
  const uint8_t *x;  // [n][d][h][w][channels], unsigned
  int32_t zero;
  int64_t group;
  ig_requantize out;
  uint8_t *q;
  float *f;
  float low;
  const float *bias;
  int32_t *columns;       // transposed: all products of a group
  uint8_t outside;        // what the image has beyond its borders: the zero point
  const uint8_t *border;  // a pixel of it
  const int32_t *first;   // each channel by itself: the part of its sum that comes from zero points
} conv_job;

static bool is_pointwise(const ig_qimage *g) {
  for (int d = 0; d < 3; d++) {
    if (g->kernel[d] != 1 || g->stride[d] != 1 || g->padding[d] != 0) return false;
  }
  return g->cin % 4 == 0;
}

static const uint8_t *give_patches(void *user, int64_t first, int64_t rows, uint8_t *room,
                                   int64_t *ld) {
  const conv_job *j = user;
  const ig_qimage *g = &j->g;
  if (is_pointwise(g)) {
    *ld = g->channels;
    return j->x + first * g->channels + j->group * g->cin;
  }
  ig_qimage_patches(g, j->x, j->group, j->outside, first, rows, room, *ld);
  return room;
}

static void store_pixels(void *user, int64_t first, int64_t rows, int64_t col, int64_t cols,
                         const int32_t *sums, int64_t ld) {
  const conv_job *j = user;
  int64_t channels = j->g.cout * j->p->groups;
  int64_t channel = j->group * j->g.cout + col;
  int64_t at = first * channels + channel;
  if (j->q) {
    ig_requantize_rows(&j->out, sums, ld, rows, channel, cols, j->q + at, channels);
    return;
  }
  for (int64_t r = 0; r < rows; r++, at += channels) {
    ig_rescale_row(j->out.multiplier + channel, j->bias ? j->bias + channel : NULL, j->low,
                   sums + r * ld, cols, j->f + at);
  }
}

enum { DEPTH_GRAIN = 16 };

static void depth_pixels(void *user, int64_t begin, int64_t end) {
  const conv_job *j = user;
  const ig_qimage *g = &j->g;
  int64_t channels = g->channels;
  int32_t *sums = ig_scratch_array(IG_SCRATCH_CONV_0, (size_t)channels, sizeof *sums);
  const uint8_t *taps[IG_PACKED_TAPS];
  if (!sums) return;  // reserved by the caller
  int64_t at[4];
  int64_t n = g->kernel[0] * g->kernel[1] * g->kernel[2];
  int64_t right = (g->in[2] - 1 + g->padding[2] - (g->kernel[2] - 1) * g->dilation[2]);
  bool inside = false;
  ig_qimage_locate(g->out, begin, at);
  for (int64_t pixel = begin; pixel < end; pixel++, ig_qimage_advance(g->out, at)) {
    // Within a row, the taps of the next pixel are a stride further.
    if (inside && at[3] && at[3] * g->stride[2] <= right) {
      for (int64_t t = 0; t < n; t++) taps[t] += g->stride[2] * channels;
    } else {
      inside = ig_qimage_taps(g, j->x, j->border, at, taps);
    }
    ig_qdepth(channels, n, taps, j->p->depth, j->first, sums);
    store_pixels(user, pixel, 1, 0, channels, sums, channels);
  }
}

// Input pixels as rows, for transposed convolutions.
static const uint8_t *give_pixels(void *user, int64_t first, int64_t rows, uint8_t *room,
                                  int64_t *ld) {
  const conv_job *j = user;
  const ig_qimage *g = &j->g;
  const uint8_t *from = j->x + first * g->channels + j->group * g->cin;
  if (g->cin % 4 == 0) {
    *ld = g->channels;
    return from;
  }
  for (int64_t r = 0; r < rows; r++) {
    memcpy(room + r * *ld, from + r * g->channels, (size_t)g->cin);
    for (int64_t k = g->cin; k < *ld; k++) room[r * *ld + k] = 0;
  }
  return room;
}
static void keep_columns(void *user, int64_t first, int64_t rows, int64_t col, int64_t cols,
                         const int32_t *sums, int64_t ld) {
  const conv_job *j = user;
  for (int64_t r = 0; r < rows; r++) {
    memcpy(j->columns + (first + r) * j->p->n + col, sums + r * ld, (size_t)cols * sizeof *sums);
  }
}

// What reaches an output pixel: for every tap the input pixel that is spread to it.
static void gather_pixels(void *user, int64_t begin, int64_t end) {
  const conv_job *j = user;
  const ig_qimage *g = &j->g;
  int32_t *sums = ig_scratch_array(IG_SCRATCH_CONV_0, (size_t)g->cout, sizeof *sums);
  if (!sums) return;
  for (int64_t pixel = begin; pixel < end; pixel++) {
    int64_t at[4];
    ig_qimage_locate(g->out, pixel, at);
    memset(sums, 0, (size_t)g->cout * sizeof *sums);
    int64_t taps = g->kernel[0] * g->kernel[1] * g->kernel[2];
    for (int64_t t = 0; t < taps; t++) {
      int64_t tap[4];
      ig_qimage_locate(g->kernel, t, tap);
      int64_t from = at[0];
      bool inside = true;
      for (int d = 0; d < 3 && inside; d++) {
        int64_t i = at[d + 1] + g->padding[d] - tap[d + 1] * g->dilation[d];
        inside = i >= 0 && i % g->stride[d] == 0 && i / g->stride[d] < g->in[d];
        from = from * g->in[d] + i / g->stride[d];
      }
      if (!inside) continue;
      const int32_t *add = j->columns + from * j->p->n + t * g->cout;
      for (int64_t k = 0; k < g->cout; k++) sums[k] += add[k];
    }
    store_pixels(user, pixel, 1, 0, g->cout, sums, g->cout);
  }
}

static int64_t volume(const int64_t *size) {
  return size[0] * size[1] * size[2];
}

static void spread(ig_ctx *c, conv_job *j) {
  int64_t pixels = j->g.n * volume(j->g.in);
  int64_t shape[2] = {pixels, j->p->n};
  ig_tensor *columns = ig_tensor_empty(c, IG_I32, shape, 2);
  if (!columns) return;
  j->columns = ig_tensor_data(columns);
  for (j->group = 0; j->group < j->p->groups; j->group++) {
    ig_qproduct product = {j->p->ready[j->group], pixels, j->zero, give_pixels, keep_columns, j};
    if (!ig_qgemm(&product)) {
      (void)ig_fail(c, IG_NOMEM, "out of memory");
      return;
    }
    ig_parallel_for(j->g.n * volume(j->g.out), DEPTH_GRAIN, gather_pixels, j);
  }
}

static bool prepare_depth(ig_ctx *c, conv_job *j) {
  int64_t channels = j->g.channels;
  uint8_t *border = ig_scope_array(c, (size_t)channels, sizeof *border);
  int32_t *first = ig_scope_array(c, (size_t)channels, sizeof *first);
  if (!border || !first) return false;
  memset(border, j->outside, (size_t)channels);
  for (int64_t i = 0; i < channels; i++) first[i] = -j->zero * j->p->depth_sums[i];
  j->border = border;
  j->first = first;
  return true;
}

static void convolve(ig_ctx *c, conv_job *j) {
  int64_t pixels = j->g.n * volume(j->g.out);
  if (j->p->transpose) {
    spread(c, j);
    return;
  }
  j->outside = (uint8_t)j->zero;
  if (j->p->depth) {
    if (prepare_depth(c, j)) ig_parallel_for(pixels, DEPTH_GRAIN, depth_pixels, j);
    return;
  }
  for (j->group = 0; j->p->ready && j->group < j->p->groups; j->group++) {
    ig_qproduct product = {j->p->ready[j->group], pixels, j->zero, give_patches, store_pixels, j};
    if (!ig_qgemm(&product)) {
      (void)ig_fail(c, IG_NOMEM, "out of memory");
      return;
    }
  }
}

// Multipliers of sums and the bias in their units, per output channel.
static bool prepare_output(ig_ctx *c, const ig_packed *p, float x_scale, const ig_quantizer *q,
                           ig_requantize *out) {
  size_t n = (size_t)outputs_of(p);
  float *multiplier = ig_scope_array(c, n, sizeof *multiplier);
  float *bias = p->bias ? ig_scope_array(c, n, sizeof *bias) : NULL;
  if (!multiplier || (p->bias && !bias)) return false;
  const float *given = p->bias ? ig_tensor_data(p->bias) : NULL;
  for (size_t i = 0; i < n; i++) {
    // Transposed weights have one scale.
    float unit = x_scale * p->scales[p->transpose ? 0 : i];
    multiplier[i] = q ? unit / (float)q->scale : unit;
    if (bias) bias[i] = given[i] / unit;
  }
  out->multiplier = multiplier;
  out->bias = bias;
  return true;
}

// The integers of x with channels last, unsigned; the zero point follows.
static const uint8_t *last_of(ig_ctx *c, ig_tensor *ints, int nd, int32_t *zero) {
  ig_value format = ig_of_memory_format(nd == 3 ? IG_CHANNELS_LAST_3D : IG_CHANNELS_LAST);
  ig_tensor *t = ig_contiguous_with(c, ints, format);
  if (!t || t->dtype == IG_U8) return t ? ig_tensor_data(t) : NULL;
  int64_t n = ig_tensor_numel(t);
  uint8_t *made = ig_scope_array(c, (size_t)n, sizeof *made);
  if (made) ig_flip_sign(ig_tensor_data(t), n, made);
  *zero += 128;
  return made;
}

static int32_t lowest(ig_dtype d) {
  return d == IG_QI8 ? -128 : 0;
}

enum { PLAIN, RELU };

// qx, packed, ..., output_scale, output_zero_point: the last two.
static const ig_value *qparams_of(const ig_op *op, const ig_value *args) {
  return &args[op->schema.nargs - 2];
}

static void conv_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *x = args[0].tensor;
  const ig_packed *p = ig_packed_of(&args[1]);
  const ig_value *q = qparams_of(op, args);
  if (!ig_check_quantized(c, op, x) || !check_image(c, x, p)) return;
  if ((x->dtype != IG_QU8 && x->dtype != IG_QI8) || !ig_quantizer_is_uniform(x->quantizer)) {
    ig_fail_text(c, IG_RUNTIME, "%s: found an input of %s, expected quint8, quantized per tensor",
                 op->schema.name, ig_dtype_text(x->dtype));
    return;
  }
  result_meta(c, x, p, out);
  out->quantizer = ig_quantizer_make(c, ig_scale_of(c, &q[0]), ig_value_i64(c, &q[1]));
}

static void conv_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  const ig_packed *p = ig_packed_of(&args[1]);
  ig_tensor *x = args[0].tensor;
  ig_tensor *q = outs[0].tensor;
  ig_scope s = ig_scope_open(c);
  conv_job j = {.p = p,
                .g = image_of(p, x),
                .zero = (int32_t)x->quantizer->zero_point,
                .q = ig_tensor_data(q)};
  j.x = last_of(c, ig_tensor_integers(c, x), p->nd, &j.zero);
  j.out = (ig_requantize){.zero = (int32_t)q->quantizer->zero_point,
                          .low = lowest(q->dtype),
                          .high = lowest(q->dtype) + 255};
  if (op->def->variant == RELU && j.out.low < j.out.zero) j.out.low = j.out.zero;
  bool ok = j.x && prepare_output(c, p, (float)x->quantizer->scale, q->quantizer, &j.out);
  if (ok && ig_tensor_numel(q)) convolve(c, &j);
  ig_scope_close(c, s);
}

// qx is a plain tensor that is quantized on the way: qx, packed, reduce_range
static void dynamic_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *x = args[0].tensor;
  const ig_packed *p = ig_packed_of(&args[1]);
  if (x->dtype != IG_F32) {
    ig_fail_text(c, IG_RUNTIME, "%s: found an input of %s, expected float32", op->schema.name,
                 ig_dtype_text(x->dtype));
    return;
  }
  if (check_image(c, x, p)) result_meta(c, x, p, out);
}
static void dynamic_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  const ig_packed *p = ig_packed_of(&args[1]);
  ig_scope s = ig_scope_open(c);
  ig_tensor *x = ig_tensor_alias(c, args[0].tensor);
  float low = 0;
  float high = 0;
  double scale = 1;
  int64_t zero = 0;
  ig_quant_extremes(c, x, &low, &high);
  ig_quant_choose((double)low, (double)high, 0, 255, args[2].b, &scale, &zero);
  ig_tensor *q = ig_quantize_with(c, x, IG_QU8, scale, zero);
  conv_job j = {.p = p,
                .g = image_of(p, args[0].tensor),
                .zero = (int32_t)zero,
                .f = ig_tensor_data(outs[0].tensor),
                .bias = p->bias ? ig_tensor_data(p->bias) : NULL,
                .low = -FLT_MAX};
  j.x = q ? last_of(c, ig_tensor_integers(c, q), p->nd, &j.zero) : NULL;
  bool ok = j.x && prepare_output(c, p, (float)scale, NULL, &j.out);
  if (ok && ig_tensor_numel(outs[0].tensor)) convolve(c, &j);
  ig_scope_close(c, s);
}

// What the kernels compute, for programs.
static ig_tensor *conv_formula(ig_ctx *c, const ig_value *args, bool relu, bool quantize) {
  const ig_packed *p = ig_packed_of(&args[1]);
  ig_tensor *given = args[0].tensor;
  ig_int at[4][3];
  const int64_t *parts[] = {p->stride, p->padding, p->dilation, p->output_padding};
  for (int k = 0; k < 4; k++) {
    for (int d = 0; d < p->nd; d++) at[k][d] = ig_const(parts[k][d]);
  }
  size_t n = (size_t)p->nd;
  const ig_value *q = qparams_of(c->op, args);
  double scale = quantize ? ig_scale_of(c, &q[0]) : 1;
  int64_t zero = quantize ? ig_value_i64(c, &q[1]) : 0;
  ig_tensor *x = ig_dequantized(c, given);
  ig_tensor *y = ig_convolution(c, x, ig_dequantized(c, p->weight), p->bias, ig_of_ints(at[0], n),
                                ig_of_ints(at[1], n), ig_of_ints(at[2], n), p->transpose,
                                ig_of_ints(at[3], n), ig_const(p->groups));
  if (relu) y = ig_relu(c, y);
  return quantize && y ? ig_quantize_with(c, y, given->dtype, scale, zero) : y;
}
static ig_tensor *conv_lower(ig_ctx *c, const ig_value *args) {
  return conv_formula(c, args, false, true);
}
static ig_tensor *conv_relu_lower(ig_ctx *c, const ig_value *args) {
  return conv_formula(c, args, true, true);
}
static ig_tensor *dynamic_lower(ig_ctx *c, const ig_value *args) {
  return conv_formula(c, args, false, false);
}

// ---- one dimension: the same with a height of 1

static ig_tensor *flat(ig_ctx *c, const ig_value *args, unsigned id, size_t n) {
  ig_value given[IG_MAX_ARGS];
  if (args[0].tensor->ndim != 3) {
    ig_fail_text(c, IG_RUNTIME, "%s: Input shape must be `(N, C, L)`!", c->op->schema.name);
    return NULL;
  }
  for (size_t i = 0; i < n; i++) given[i] = args[i];
  given[0] = ig_of_tensor(ig_unsqueeze(c, args[0].tensor, ig_const(2)));
  return ig_squeeze_dim(c, ig_call_id(c, id, given, n), ig_const(2));
}
static ig_tensor *conv1(ig_ctx *c, const ig_value *args) {
  if (!ig_check_quantized(c, c->op, args[0].tensor)) return NULL;
  return flat(c, args, IG_ID_QUANTIZED__CONV2D__NEW, 4);
}
static ig_tensor *conv1_relu(ig_ctx *c, const ig_value *args) {
  if (!ig_check_quantized(c, c->op, args[0].tensor)) return NULL;
  return flat(c, args, IG_ID_QUANTIZED__CONV2D_RELU__NEW, 4);
}
static ig_tensor *conv1_dynamic(ig_ctx *c, const ig_value *args) {
  return flat(c, args, IG_ID_QUANTIZED__CONV2D_DYNAMIC, 3);
}

// qx, qaccum, packed, scale, zero_point
static ig_tensor *conv_then_add(ig_ctx *c, const ig_value *a, bool relu) {
  const ig_packed *p = ig_packed_of(&a[2]);
  if (!ig_check_quantized(c, c->op, a[0].tensor) || !ig_check_quantized(c, c->op, a[1].tensor)) {
    return NULL;
  }
  ig_int at[3][2];
  for (int d = 0; d < 2; d++) {
    at[0][d] = ig_const(p->stride[d]);
    at[1][d] = ig_const(p->padding[d]);
    at[2][d] = ig_const(p->dilation[d]);
  }
  ig_tensor *x = ig_dequantized(c, a[0].tensor);
  ig_tensor *w = ig_dequantized(c, p->weight);
  ig_tensor *y = ig_conv2d_with(c, x, w, p->bias, ig_of_ints(at[0], 2), ig_of_ints(at[1], 2),
                                ig_of_ints(at[2], 2), ig_const(p->groups));
  ig_tensor *more = ig_dequantized(c, a[1].tensor);
  y = ig_add_tensor(c, y, more);
  if (relu) y = ig_relu(c, y);
  return y ? ig_quantize_with(c, y, a[0].tensor->dtype, ig_scale_of(c, &a[3]),
                              ig_value_i64(c, &a[4]))
           : NULL;
}
static ig_tensor *conv_add(ig_ctx *c, const ig_value *a) {
  return conv_then_add(c, a, false);
}
static ig_tensor *conv_add_relu(ig_ctx *c, const ig_value *a) {
  return conv_then_add(c, a, true);
}

IG_OP(quantized__conv2d__new) = {
    .schema =
        "quantized::conv2d.new(Tensor qx, __torch__.torch.classes.quantized.Conv2dPackedParamsBase "
        "packed_weight, float output_scale, int output_zero_point) -> Tensor",
    .shape = conv_shape,
    .kernel = conv_kernel,
    .lower = conv_lower,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__conv2d) = {
    .schema =
        "quantized::conv2d(Tensor qx, __torch__.torch.classes.quantized.Conv2dPackedParamsBase "
        "weight, int[] stride, int[] padding, int[] dilation, int groups, float output_scale, int "
        "output_zero_point) -> Tensor",
    .shape = conv_shape,
    .kernel = conv_kernel,
    .lower = conv_lower,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__conv3d__new) = {
    .schema =
        "quantized::conv3d.new(Tensor qx, __torch__.torch.classes.quantized.Conv3dPackedParamsBase "
        "packed_weight, float output_scale, int output_zero_point) -> Tensor",
    .shape = conv_shape,
    .kernel = conv_kernel,
    .lower = conv_lower,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__conv3d) = {
    .schema =
        "quantized::conv3d(Tensor qx, __torch__.torch.classes.quantized.Conv3dPackedParamsBase "
        "weight, int[] stride, int[] padding, int[] dilation, int groups, float output_scale, int "
        "output_zero_point) -> Tensor",
    .shape = conv_shape,
    .kernel = conv_kernel,
    .lower = conv_lower,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__conv_transpose2d) = {
    .schema =
        "quantized::conv_transpose2d(Tensor qx, "
        "__torch__.torch.classes.quantized.Conv2dPackedParamsBase packed_weight, float "
        "output_scale, int output_zero_point) -> Tensor",
    .shape = conv_shape,
    .kernel = conv_kernel,
    .lower = conv_lower,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__conv_transpose3d) = {
    .schema =
        "quantized::conv_transpose3d(Tensor qx, "
        "__torch__.torch.classes.quantized.Conv3dPackedParamsBase packed_weight, float "
        "output_scale, int output_zero_point) -> Tensor",
    .shape = conv_shape,
    .kernel = conv_kernel,
    .lower = conv_lower,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__conv2d_relu__new) = {
    .schema =
        "quantized::conv2d_relu.new(Tensor qx, "
        "__torch__.torch.classes.quantized.Conv2dPackedParamsBase packed_weight, float "
        "output_scale, int output_zero_point) -> Tensor",
    .shape = conv_shape,
    .kernel = conv_kernel,
    .lower = conv_relu_lower,
    .quantized = IG_QUANT_OWN,
    .variant = RELU,
    .not_differentiable = true,
};
IG_OP(quantized__conv2d_relu) = {
    .schema =
        "quantized::conv2d_relu(Tensor qx, "
        "__torch__.torch.classes.quantized.Conv2dPackedParamsBase weight, int[] stride, int[] "
        "padding, int[] dilation, int groups, float output_scale, int output_zero_point) -> Tensor",
    .shape = conv_shape,
    .kernel = conv_kernel,
    .lower = conv_relu_lower,
    .quantized = IG_QUANT_OWN,
    .variant = RELU,
    .not_differentiable = true,
};
IG_OP(quantized__conv3d_relu__new) = {
    .schema =
        "quantized::conv3d_relu.new(Tensor qx, "
        "__torch__.torch.classes.quantized.Conv3dPackedParamsBase packed_weight, float "
        "output_scale, int output_zero_point) -> Tensor",
    .shape = conv_shape,
    .kernel = conv_kernel,
    .lower = conv_relu_lower,
    .quantized = IG_QUANT_OWN,
    .variant = RELU,
    .not_differentiable = true,
};
IG_OP(quantized__conv3d_relu) = {
    .schema =
        "quantized::conv3d_relu(Tensor qx, "
        "__torch__.torch.classes.quantized.Conv3dPackedParamsBase weight, int[] stride, int[] "
        "padding, int[] dilation, int groups, float output_scale, int output_zero_point) -> Tensor",
    .shape = conv_shape,
    .kernel = conv_kernel,
    .lower = conv_relu_lower,
    .quantized = IG_QUANT_OWN,
    .variant = RELU,
    .not_differentiable = true,
};
IG_OP(quantized__conv1d) = {
    .schema =
        "quantized::conv1d(Tensor qx, __torch__.torch.classes.quantized.Conv2dPackedParamsBase "
        "packed_weight, float output_scale, int output_zero_point) -> Tensor",
    .decompose = conv1,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__conv_transpose1d) = {
    .schema =
        "quantized::conv_transpose1d(Tensor qx, "
        "__torch__.torch.classes.quantized.Conv2dPackedParamsBase packed_weight, float "
        "output_scale, int output_zero_point) -> Tensor",
    .decompose = conv1,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(_quantized__conv2d) = {
    .schema =
        "_quantized::conv2d(Tensor qx, __torch__.torch.classes.quantized.Conv2dPackedParamsBase "
        "packed_weight, float output_scale, int output_zero_point) -> Tensor",
    .shape = conv_shape,
    .kernel = conv_kernel,
    .lower = conv_lower,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(_quantized__conv3d) = {
    .schema =
        "_quantized::conv3d(Tensor qx, __torch__.torch.classes.quantized.Conv3dPackedParamsBase "
        "packed_weight, float output_scale, int output_zero_point) -> Tensor",
    .shape = conv_shape,
    .kernel = conv_kernel,
    .lower = conv_lower,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(_quantized__conv_transpose2d) = {
    .schema =
        "_quantized::conv_transpose2d(Tensor qx, "
        "__torch__.torch.classes.quantized.Conv2dPackedParamsBase packed_weight, float "
        "output_scale, int output_zero_point) -> Tensor",
    .shape = conv_shape,
    .kernel = conv_kernel,
    .lower = conv_lower,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(_quantized__conv2d_relu) = {
    .schema =
        "_quantized::conv2d_relu(Tensor qx, "
        "__torch__.torch.classes.quantized.Conv2dPackedParamsBase packed_weight, float "
        "output_scale, int output_zero_point) -> Tensor",
    .shape = conv_shape,
    .kernel = conv_kernel,
    .lower = conv_relu_lower,
    .quantized = IG_QUANT_OWN,
    .variant = RELU,
    .not_differentiable = true,
};
IG_OP(_quantized__conv3d_relu) = {
    .schema =
        "_quantized::conv3d_relu(Tensor qx, "
        "__torch__.torch.classes.quantized.Conv3dPackedParamsBase packed_weight, float "
        "output_scale, int output_zero_point) -> Tensor",
    .shape = conv_shape,
    .kernel = conv_kernel,
    .lower = conv_relu_lower,
    .quantized = IG_QUANT_OWN,
    .variant = RELU,
    .not_differentiable = true,
};
IG_OP(_quantized__conv_transpose1d) = {
    .schema =
        "_quantized::conv_transpose1d(Tensor qx, "
        "__torch__.torch.classes.quantized.Conv2dPackedParamsBase packed_weight, float "
        "output_scale, int output_zero_point) -> Tensor",
    .decompose = conv1,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__conv1d_relu) = {
    .schema =
        "quantized::conv1d_relu(Tensor qx, "
        "__torch__.torch.classes.quantized.Conv2dPackedParamsBase packed_weight, float "
        "output_scale, int output_zero_point) -> Tensor",
    .decompose = conv1_relu,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__conv2d_dynamic) = {
    .schema =
        "quantized::conv2d_dynamic(Tensor qx, "
        "__torch__.torch.classes.quantized.Conv2dPackedParamsBase packed_weight, bool "
        "reduce_range=False) -> Tensor",
    .shape = dynamic_shape,
    .kernel = dynamic_kernel,
    .lower = dynamic_lower,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__conv3d_dynamic) = {
    .schema =
        "quantized::conv3d_dynamic(Tensor qx, "
        "__torch__.torch.classes.quantized.Conv3dPackedParamsBase packed_weight, bool "
        "reduce_range=False) -> Tensor",
    .shape = dynamic_shape,
    .kernel = dynamic_kernel,
    .lower = dynamic_lower,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__conv_transpose2d_dynamic) = {
    .schema =
        "quantized::conv_transpose2d_dynamic(Tensor qx, "
        "__torch__.torch.classes.quantized.Conv2dPackedParamsBase packed_weight, bool "
        "reduce_range=False) -> Tensor",
    .shape = dynamic_shape,
    .kernel = dynamic_kernel,
    .lower = dynamic_lower,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__conv_transpose3d_dynamic) = {
    .schema =
        "quantized::conv_transpose3d_dynamic(Tensor qx, "
        "__torch__.torch.classes.quantized.Conv3dPackedParamsBase packed_weight, bool "
        "reduce_range=False) -> Tensor",
    .shape = dynamic_shape,
    .kernel = dynamic_kernel,
    .lower = dynamic_lower,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__conv1d_dynamic) = {
    .schema =
        "quantized::conv1d_dynamic(Tensor qx, "
        "__torch__.torch.classes.quantized.Conv2dPackedParamsBase packed_weight, bool "
        "reduce_range=False) -> Tensor",
    .decompose = conv1_dynamic,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__conv_transpose1d_dynamic) = {
    .schema =
        "quantized::conv_transpose1d_dynamic(Tensor qx, "
        "__torch__.torch.classes.quantized.Conv2dPackedParamsBase packed_weight, bool "
        "reduce_range=False) -> Tensor",
    .decompose = conv1_dynamic,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__conv2d_add) = {
    .schema =
        "quantized::conv2d_add(Tensor qx, Tensor qaccum, "
        "__torch__.torch.classes.quantized.Conv2dPackedParamsBase packed_weight, float "
        "output_scale, int output_zero_point) -> Tensor",
    .decompose = conv_add,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
IG_OP(quantized__conv2d_add_relu) = {
    .schema =
        "quantized::conv2d_add_relu(Tensor qx, Tensor qaccum, "
        "__torch__.torch.classes.quantized.Conv2dPackedParamsBase packed_weight, float "
        "output_scale, int output_zero_point) -> Tensor",
    .decompose = conv_add_relu,
    .quantized = IG_QUANT_OWN,
    .not_differentiable = true,
};
