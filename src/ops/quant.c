// SPDX-License-Identifier: Apache-2.0
#include "ops/quant.h"

#include <math.h>

#include "op/formula.h"
#include "op/refuse.h"

// The first tensor decides the parameters; those with others are quantized again.
void ig_quant_cat(ig_ctx *c, const ig_value *args, ig_value *outs) {
  size_t n = args[0].list.n;
  const ig_tensor *first = args[0].list.at[0].tensor;
  ig_value *parts = ig_scope_array(c, n, sizeof *parts);
  if (!parts) return;
  for (size_t i = 0; i < n; i++) {
    ig_tensor *t = args[0].list.at[i].tensor;
    if (!t->quantizer || !first->quantizer) {
      ig_refuse_backend(c, "aten::qscheme", "CPU");
      return;
    }
    if (t->dtype != first->dtype) {
      ig_fail_text(c, IG_RUNTIME, "All dtypes must be the same.");
      return;
    }
    if (!ig_quantizer_is_uniform(t->quantizer)) {
      ig_fail_text(c, IG_RUNTIME, "Only per-tensor quantization is supported in 'cat'!");
      return;
    }
    if (!ig_quantizer_same(t->quantizer, first->quantizer)) {
      t = ig_quantize_as(c, ig_dequantized(c, t), t->dtype, first->quantizer);
    }
    parts[i] = ig_of_tensor(ig_tensor_integers(c, t));
  }
  if (c->status != IG_OK) return;
  ig_tensor *ints = ig_cat_with(c, ig_of_list(parts, n), args[1].i);
  outs[0] = ig_of_tensor(ig_tensor_quantized(c, ints, first->dtype, first->quantizer));
}

void ig_quant_stack(ig_ctx *c, const ig_value *args, ig_value *outs) {
  size_t n = args[0].list.n;
  ig_value *parts = ig_scope_array(c, n, sizeof *parts);
  if (!parts) return;
  for (size_t i = 0; i < n; i++) {
    parts[i] = ig_of_tensor(ig_unsqueeze(c, args[0].list.at[i].tensor, args[1].i));
  }
  if (c->status != IG_OK) return;
  outs[0] = ig_of_tensor(ig_cat_with(c, ig_of_list(parts, n), args[1].i));
}

void ig_quant_equal(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_tensor *a = args[0].tensor;
  ig_tensor *b = args[1].tensor;
  if (!a->quantizer || !b->quantizer) {
    ig_fail_text(c, IG_RUNTIME, "Expected both tensors to be quantized, or neither");
    return;
  }
  outs[0] = ig_of_bool(false);
  if (a->dtype != b->dtype || !ig_quantizer_same(a->quantizer, b->quantizer)) return;
  ig_value same[IG_MAX_RETURNS] = {{0}};
  ig_tensor *x = ig_tensor_integers(c, a);
  ig_tensor *y = ig_tensor_integers(c, b);
  if (c->status == IG_OK) ig_equal(c, x, y, same);
  outs[0] = same[0];
}

// self, dtype, layout, device, pin_memory, non_blocking, memory_format
void ig_quant_to_copy(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_tensor *self = args[0].tensor;
  if (args[1].kind == IG_KIND_DTYPE && args[1].dtype != self->dtype) {
    if (ig_dtype_is_quantized(args[1].dtype)) {
      ig_fail_text(c, IG_RUNTIME,
                   "Expected self.scalar_type() == src.scalar_type() to be true, but got false.  "
                   "(Could this error message be improved?  If so, please report an enhancement "
                   "request to PyTorch.)");
    } else {
      ig_fail_text(c, IG_RUNTIME,
                   "Creation of quantized tensor requires quantized dtype like torch.quint8");
    }
    return;
  }
  if (args[3].kind == IG_KIND_DEVICE && args[3].device.type != self->device.type) {
    ig_device_refuse(c, args[3].device);
    return;
  }
  outs[0] = ig_of_tensor(ig_clone_with(c, self, args[6]));
}

// self, src, non_blocking: between quantized tensors the parameters are copied as well.
void ig_quant_copy_into(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_tensor *self = args[0].tensor;
  ig_tensor *src = args[1].tensor;
  if (!self->quantizer) {
    ig_fail_text(c, IG_RUNTIME,
                 "Copying from quantized Tensor to non-quantized Tensor is not allowed, please use "
                 "dequantize to get a float Tensor from a quantized Tensor");
    return;
  }
  if (src->quantizer) {
    if (self->dtype != src->dtype) {
      ig_fail_text(c, IG_RUNTIME, "Quantized Copy only works with same scalar type");
      return;
    }
    ig_tensor *from = ig_tensor_integers(c, src);
    (void)ig_copy_(c, ig_tensor_integers(c, self), from);
    if (c->status == IG_OK) ig_tensor_set_quantizer(self, src->quantizer);
  } else {
    if (src->dtype != IG_F32) {
      ig_fail_text(c, IG_RUNTIME, "Quantized copy only works with kFloat as source Tensor");
      return;
    }
    ig_tensor *wide = ig_expand(c, ig_detach(c, src), ig_sizes_of(self));
    ig_tensor *q = wide ? ig_quantize_as(c, wide, self->dtype, self->quantizer) : NULL;
    ig_tensor *from = ig_tensor_integers(c, q);
    if (from) (void)ig_copy_(c, ig_tensor_integers(c, self), from);
  }
  if (c->status == IG_OK) outs[0] = args[0];
}

void ig_quant_choose(double low, double high, int64_t least, int64_t most, bool reduce,
                     double *scale, int64_t *zero) {
  const double smallest = (double)6.1e-5F;
  if (reduce) {
    least /= 2;
    most /= 2;
  }
  double steps = (double)(most - least);
  low = low < 0 ? low : 0;
  high = high > 0 ? high : 0;
  *scale = (high - low) / steps;
  if ((float)*scale == 0.0F || isinf(1.0F / (float)*scale)) *scale = 0.1;
  if (*scale < smallest) {
    double grow = smallest / *scale;
    *scale = smallest;
    if (low == 0) {
      high = smallest * steps;
    } else if (high == 0) {
      low = -smallest * steps;
    } else {
      low *= grow;
      high *= grow;
    }
  }
  double at_low = (double)least - low / *scale;
  double at_high = (double)most - high / *scale;
  double error_low = fabs((double)least) - fabs(low / *scale);
  double error_high = fabs((double)most) - fabs(high / *scale);
  double best = error_low < error_high ? at_low : at_high;
  *zero = !(best > (double)least) ? least : best > (double)most ? most : (int64_t)nearbyint(best);
}

void ig_quant_extremes(ig_ctx *c, ig_tensor *x, float *low, float *high) {
  *low = 0;
  *high = 0;
  if (!x || ig_tensor_numel(x) == 0) return;
  if (x->dtype != IG_F32) {
    ig_fail_text(c, IG_RUNTIME, "expected scalar type Float but found %s",
                 ig_dtype_title(x->dtype));
    return;
  }
  ig_tensor *least = ig_amin(c, x);
  ig_tensor *most = ig_amax(c, x);
  if (c->status != IG_OK || ig_is_fake(least)) return;
  *low = *(const float *)ig_tensor_data(least);
  *high = *(const float *)ig_tensor_data(most);
}

// ---- views of tensors with one scale per channel

static ig_quantizer *with_axis(ig_ctx *c, const ig_quantizer *q, int axis) {
  return ig_quantizer_make_channels(c, q->scales, q->zero_points, axis);
}

ig_quantizer *ig_channels_same(ig_ctx *c, const ig_value *args, const ig_tensor *out) {
  (void)c;
  (void)out;
  return args[0].tensor->quantizer;
}

ig_quantizer *ig_channels_select(ig_ctx *c, const ig_value *args, const ig_tensor *out) {
  (void)out;
  const ig_tensor *self = args[0].tensor;
  const ig_quantizer *q = self->quantizer;
  int dim = ig_wrap_dim(c, ig_value_i64(c, &args[1]), self->ndim);
  if (dim != q->axis) return with_axis(c, q, dim < q->axis ? q->axis - 1 : q->axis);
  if (ig_is_fake(q->scales)) {
    ig_fail_text(
        c, IG_UNSUPPORTED,
        "a channel of a quantized tensor cannot be selected where its scales have no data");
    return NULL;
  }
  int64_t at = ig_value_i64(c, &args[2]);
  int64_t n = ig_tensor_numel(q->scales);
  if (at < 0) at += n;
  if (at < 0 || at >= n) {
    ig_fail_text(c, IG_RUNTIME, "channel %lld of %lld", (long long)at, (long long)n);
    return NULL;
  }
  return ig_quantizer_make(c, ig_tensor_get(q->scales, at),
                           (int64_t)ig_tensor_get(q->zero_points, at));
}

ig_quantizer *ig_channels_slice(ig_ctx *c, const ig_value *args, const ig_tensor *out) {
  (void)out;
  const ig_tensor *self = args[0].tensor;
  ig_quantizer *q = self->quantizer;
  int dim = ig_wrap_dim(c, ig_value_i64(c, &args[1]), self->ndim);
  if (dim != q->axis) return q;
  ig_int first = ig_const(0);
  ig_tensor *scales = ig_slice_tensor_with(c, q->scales, first, args[2], args[3], args[4].i);
  ig_tensor *zeros = ig_slice_tensor_with(c, q->zero_points, first, args[2], args[3], args[4].i);
  scales = ig_contiguous(c, scales);
  zeros = ig_contiguous(c, zeros);
  return ig_quantizer_make_channels(c, scales, zeros, q->axis);
}

// Dimensions of size 1 before the axis may have gone; the axis itself must stay.
ig_quantizer *ig_channels_squeeze(ig_ctx *c, const ig_value *args, const ig_tensor *out) {
  const ig_tensor *self = args[0].tensor;
  const ig_quantizer *q = self->quantizer;
  int kept = 0;  // dimensions of the result that were found so far
  for (int d = 0; d < self->ndim; d++) {
    bool stays = kept < out->ndim && ig_sizes(out)[kept].value == ig_sizes(self)[d].value &&
                 ig_strides(out)[kept].value == ig_strides(self)[d].value;
    if (d == q->axis) {
      if (stays) return with_axis(c, q, kept);
      ig_fail_text(
          c, IG_RUNTIME,
          "Squeeze is only possible on non-axis dimension for Per-Channel Quantized Tensors.");
      return NULL;
    }
    kept += stays;
  }
  return NULL;
}

ig_quantizer *ig_channels_unsqueeze(ig_ctx *c, const ig_value *args, const ig_tensor *out) {
  const ig_quantizer *q = args[0].tensor->quantizer;
  int dim = ig_wrap_dim(c, ig_value_i64(c, &args[1]), out->ndim);
  return with_axis(c, q, dim <= q->axis ? q->axis + 1 : q->axis);
}
