// SPDX-License-Identifier: Apache-2.0
// Operators that only compare: computed on the bytes of quantized tensors where their layout allows
// it, on numbers otherwise.
#include "base/threads.h"
#include "kernels/qimage.h"
#include "kernels/qrow.h"
#include "op/formula.h"
#include "ops/quant.h"

static bool has_bytes(ig_ctx *c, const ig_tensor *t) {
  return !c->mode->capture && !ig_is_fake(t) && t->dtype != IG_QI32 &&
         ig_quantizer_is_uniform(t->quantizer);
}

static ig_tensor *like(ig_ctx *c, const ig_tensor *t) {
  ig_meta m;
  ig_meta_of(t, &m);
  m.offset = ig_const(0);
  return ig_tensor_make(c, &m, false);
}

typedef struct max_job {
  const uint8_t *x;
  uint8_t *out;
  bool is_signed;
  int32_t low;
  ig_qimage g;
} max_job;

enum { GRAIN = 1 << 16 };

static void run_relu(void *user, int64_t begin, int64_t end) {
  const max_job *j = user;
  if (j->is_signed) {
    ig_qmax_i8((const int8_t *)j->x + begin, end - begin, (int8_t)j->low, (int8_t *)j->out + begin);
  } else {
    ig_qmax_u8(j->x + begin, end - begin, (uint8_t)j->low, j->out + begin);
  }
}

void ig_quant_relu(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_tensor *q = args[0].tensor;
  if (has_bytes(c, q) && ig_tensor_is_dense_permuted(q)) {
    ig_tensor *out = like(c, q);
    if (!out) return;
    max_job j = {.x = ig_tensor_data(q),
                 .out = ig_tensor_data(out),
                 .is_signed = q->dtype == IG_QI8,
                 .low = (int32_t)q->quantizer->zero_point};
    ig_parallel_for(ig_tensor_numel(q), GRAIN, run_relu, &j);
    outs[0] = ig_of_tensor(out);
    return;
  }
  ig_tensor *x = ig_relu(c, ig_dequantized(c, q));
  outs[0] = ig_of_tensor(x ? ig_quantize_as(c, x, q->dtype, q->quantizer) : NULL);
}

static void run_max_pool(void *user, int64_t begin, int64_t end) {
  const max_job *j = user;
  ig_qimage_max(&j->g, j->x, begin, end, j->out);
}

// The result without its elements, by the shape rule of the plain operator.
static ig_tensor *pooled_room(ig_ctx *c, const ig_tensor *q, const ig_value *a) {
  ig_meta m;
  ig_meta_of(q, &m);
  m.dtype = IG_F32;
  m.quantizer = NULL;
  m.offset = ig_const(0);
  ig_tensor *y = ig_tensor_make(c, &m, true);
  y = y ? ig_max_pool2d_with(c, y, a[1], a[2], a[3], a[4], a[5].b) : NULL;
  if (!y) return NULL;
  ig_meta_of(y, &m);
  m.dtype = q->dtype;
  m.quantizer = (ig_quantizer *)q->quantizer;
  return ig_tensor_make(c, &m, false);
}

// The geometry of a pooling of quint8 with channels last; false: something else.
static bool pool_image(ig_ctx *c, ig_tensor *q, const ig_value *a, const ig_tensor *out,
                       ig_qimage *g) {
  if (!has_bytes(c, q) || q->dtype != IG_QU8 || q->ndim != 4 || !out) return false;
  if (ig_tensor_suggest_format(c, q) != IG_CHANNELS_LAST) return false;
  if (!ig_tensor_is_dense_permuted(q)) return false;
  *g = (ig_qimage){.n = ig_sizes(q)[0].value,
                   .channels = ig_sizes(q)[1].value,
                   .in = {1, ig_sizes(q)[2].value, ig_sizes(q)[3].value},
                   .out = {1, ig_sizes(out)[2].value, ig_sizes(out)[3].value},
                   .kernel = {1},
                   .stride = {1},
                   .dilation = {1}};
  const ig_value *stride = a[2].ints.n ? &a[2] : &a[1];
  for (size_t d = 0; d < 2; d++) {  // one number stands for both
    g->kernel[d + 1] = a[1].ints.at[a[1].ints.n > 1 ? d : 0].value;
    g->stride[d + 1] = stride->ints.at[stride->ints.n > 1 ? d : 0].value;
    g->padding[d + 1] = a[3].ints.at[a[3].ints.n > 1 ? d : 0].value;
    g->dilation[d + 1] = a[4].ints.at[a[4].ints.n > 1 ? d : 0].value;
  }
  return true;
}

// self, kernel_size, stride, padding, dilation, ceil_mode
void ig_quant_max_pool2d(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_tensor *q = args[0].tensor;
  max_job j = {0};
  ig_tensor *out = has_bytes(c, q) && q->dtype == IG_QU8 ? pooled_room(c, q, args) : NULL;
  if (c->status != IG_OK) return;
  if (pool_image(c, q, args, out, &j.g)) {
    j.x = ig_tensor_data(q);
    j.out = ig_tensor_data(out);
    int64_t pixels = j.g.n * j.g.out[1] * j.g.out[2];
    ig_parallel_for(pixels, 64, run_max_pool, &j);
    outs[0] = ig_of_tensor(out);
    return;
  }
  ig_tensor *x =
      ig_max_pool2d_with(c, ig_dequantized(c, q), args[1], args[2], args[3], args[4], args[5].b);
  outs[0] = ig_of_tensor(x ? ig_quantize_as(c, x, q->dtype, q->quantizer) : NULL);
}
