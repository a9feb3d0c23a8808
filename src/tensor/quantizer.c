// SPDX-License-Identifier: Apache-2.0
#include "tensor/quantizer.h"

#include <string.h>

const char *ig_quant_scheme_text(ig_quant_scheme s) {
  static const char *const texts[IG_QSCHEME_COUNT] = {
      [IG_PER_TENSOR_AFFINE] = "per_tensor_affine",
      [IG_PER_CHANNEL_AFFINE] = "per_channel_affine",
      [IG_PER_TENSOR_SYMMETRIC] = "per_tensor_symmetric",
      [IG_PER_CHANNEL_SYMMETRIC] = "per_channel_symmetric",
      [IG_PER_CHANNEL_FLOAT] = "per_channel_affine_float_qparams",
  };
  return texts[s];
}

static void quantizer_destroy(ig_ref *ref) {
  ig_quantizer *q = (ig_quantizer *)ref;
  ig_tensor_release(q->scales);
  ig_tensor_release(q->zero_points);
  ig_mem_free(q->alloc, q, sizeof *q);
}

static ig_quantizer *quantizer_create(ig_ctx *c) {
  ig_quantizer *q = c->status == IG_OK ? ig_mem_new(c->alloc, sizeof *q) : NULL;
  if (!q) {
    if (c->status == IG_OK) (void)ig_fail(c, IG_NOMEM, "out of memory");
    return NULL;
  }
  q->ref = (ig_ref){1, quantizer_destroy};
  q->alloc = c->alloc;
  return ig_pool_add(c, &q->ref) ? q : NULL;
}

ig_quantizer *ig_quantizer_make(ig_ctx *c, double scale, int64_t zero_point) {
  ig_quantizer *q = quantizer_create(c);
  if (!q) return NULL;
  q->scale = scale;
  q->zero_point = zero_point;
  return q;
}

ig_quantizer *ig_quantizer_make_channels(ig_ctx *c, ig_tensor *scales, ig_tensor *zero_points,
                                         int axis) {
  ig_quantizer *q = scales && zero_points ? quantizer_create(c) : NULL;
  if (!q) return NULL;
  q->scheme = ig_dtype_is_float(zero_points->dtype) ? IG_PER_CHANNEL_FLOAT : IG_PER_CHANNEL_AFFINE;
  q->scales = ig_tensor_retain(scales);
  q->zero_points = ig_tensor_retain(zero_points);
  q->axis = axis;
  return q;
}

static bool same_elements(const ig_tensor *a, const ig_tensor *b) {
  if (a == b) return true;
  int64_t n = ig_tensor_numel(a);
  if (a->dtype != b->dtype || n != ig_tensor_numel(b)) return false;
  const void *x = ig_tensor_data(a);
  const void *y = ig_tensor_data(b);
  // admitted: both tensors have memory for their elements
  return n == 0 || (x && y && memcmp(x, y, (size_t)n * ig_dtype_size(a->dtype)) == 0);
}

void ig_quantized_range(ig_dtype d, int64_t *low, int64_t *high) {
  *low = d == IG_QU8 ? 0 : d == IG_QI8 ? -128 : INT32_MIN;
  *high = d == IG_QU8 ? 255 : d == IG_QI8 ? 127 : INT32_MAX;
}

bool ig_quantizer_fits(const ig_quantizer *q, ig_dtype d) {
  int64_t low = 0;
  int64_t high = 0;
  ig_quantized_range(d, &low, &high);
  if (ig_quantizer_is_uniform(q)) return q->zero_point >= low && q->zero_point <= high;
  if (q->scheme == IG_PER_CHANNEL_FLOAT) return true;
  const int64_t *zeros = ig_tensor_data(q->zero_points);
  int64_t n = ig_tensor_numel(q->zero_points);
  bool fits = true;
  for (int64_t i = 0; i < n; i++) fits = fits && zeros[i] >= low && zeros[i] <= high;
  return fits;
}

bool ig_quantizer_same(const ig_quantizer *a, const ig_quantizer *b) {
  if (a == b) return true;
  if (a->scheme != b->scheme || a->axis != b->axis) return false;
  if (ig_quantizer_is_uniform(a)) return a->scale == b->scale && a->zero_point == b->zero_point;
  return same_elements(a->scales, b->scales) && same_elements(a->zero_points, b->zero_points);
}

static ig_tensor *retyped(ig_ctx *c, ig_tensor *t, ig_dtype dtype, ig_quantizer *q) {
  if (!t || c->status != IG_OK) return NULL;
  ig_meta m;
  ig_meta_view(t, &m);
  m.dtype = dtype;
  m.quantizer = q;
  ig_tensor *other = ig_tensor_make(c, &m, true);
  if (!other) return NULL;
  other->inference = t->inference;
  other->node = t->node;
  return other;
}

ig_tensor *ig_tensor_integers(ig_ctx *c, ig_tensor *t) {
  return t ? retyped(c, t, ig_dtype_carrier(t->dtype), NULL) : NULL;
}

ig_tensor *ig_tensor_quantized(ig_ctx *c, ig_tensor *integers, ig_dtype dtype, ig_quantizer *q) {
  return q ? retyped(c, integers, dtype, q) : NULL;
}

void ig_tensor_set_quantizer(ig_tensor *t, ig_quantizer *q) {
  if (q) ig_ref_retain(&q->ref);
  if (t->quantizer) ig_ref_release(&t->quantizer->ref);
  t->quantizer = q;
}
