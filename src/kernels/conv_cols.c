// SPDX-License-Identifier: Apache-2.0
// Convolutions of f32 and f64 as im2col and matrix products, one image and group at a time:
//   y[og][P] = w[og][K] * cols[K][P],  dcols = w^T * dy,  dw += dy * cols^T,  K = cg * taps.
// Where the window is one element and nothing is strided or padded, the image is its own columns.
#include "base/threads.h"
#include "kernels/conv_inner.h"
#include "kernels/conv_stage.h"
#include "kernels/gemm.h"
#include "kernels/pool.h"
#include "kernels/scratch.h"

typedef struct sizes {
  int64_t cg;  // channels per group
  int64_t og;
  int64_t k;
  int64_t in;
  int64_t out;
  size_t elem;
  bool plain;  // the image is its own columns
} sizes;

static sizes sizes_of(const ig_conv *c) {
  sizes s = {.cg = c->cin / c->groups,
             .og = c->cout / c->groups,
             .in = ig_conv_in(c),
             .out = ig_conv_out(c)};
  s.k = s.cg * ig_conv_taps(c);
  s.elem = ig_elem_size(c->elem);
  s.plain = ig_conv_taps(c) == 1;
  for (int i = 0; i < 3; i++)
    s.plain = s.plain && c->stride[i] == 1 && c->padding[i] == 0 && c->in[i] == c->out[i];
  return s;
}

static ig_pool window_of(const ig_conv *c) {
  ig_pool p = ig_pool_make(c->elem, c->cin / c->groups, 1);
  for (int i = 0; i < 3; i++) {
    p.in[i] = c->in[i];
    p.out[i] = c->out[i];
    p.kernel[i] = c->kernel[i];
    p.stride[i] = c->stride[i];
    p.padding[i] = c->padding[i];
    p.dilation[i] = c->dilation[i];
  }
  return p;
}

static ig_conv_buffer columns(const sizes *s) {
  if (s->plain) return (ig_conv_buffer){NULL, false};
  return ig_conv_buffer_get(IG_SCRATCH_CONV_0, (size_t)(s->k * s->out) * s->elem);
}

static const char *at(const void *p, int64_t i, size_t size) {
  return (const char *)p + (size_t)i * size;
}
static char *to(void *p, int64_t i, size_t size) {
  return (char *)p + (size_t)i * size;
}

// out[m][n] = a * b (+ out if add), strides in elements.
typedef struct product {
  int64_t m;
  int64_t n;
  int64_t k;
  const void *a;
  int64_t a_rs;
  int64_t a_cs;
  const void *b;
  int64_t b_rs;
  int64_t b_cs;
  bool add;
  void *out;
} product;

static void multiply(ig_elem e, const product *p) {
  if (e == IG_ELEM_F32)
    ig_gemm_f32(p->m, p->n, p->k, 1.0f, p->a, p->a_rs, p->a_cs, p->b, p->b_rs, p->b_cs,
                p->add ? 1.0f : 0.0f, p->out, p->n);
  else
    ig_gemm_f64(p->m, p->n, p->k, 1.0, p->a, p->a_rs, p->a_cs, p->b, p->b_rs, p->b_cs,
                p->add ? 1.0 : 0.0, p->out, p->n);
}

// The same with other factors needs the same, since they are 0 and 1.
static void need_product(ig_elem e, const product *p, ig_need *need) {
  ig_gemm_plan plan;
  if (e == IG_ELEM_F32)
    ig_gemm_prepare_f32(1, p->m, p->n, p->k, 1, 0, p->a_rs, p->a_cs, 0, p->b_rs, p->b_cs, 0, 0,
                        p->n, &plan, need);
  else
    ig_gemm_prepare_f64(1, p->m, p->n, p->k, 1, 0, p->a_rs, p->a_cs, 0, p->b_rs, p->b_cs, 0, 0,
                        p->n, &plan, need);
}

static void need_columns(const sizes *s, ig_need *need) {
  if (s->plain) return;
  ig_need_caller(need, IG_SCRATCH_CONV_0, ig_mem_mul((size_t)(s->k * s->out), s->elem));
}

void ig_conv_need_cols(const ig_conv *c, ig_need *need) {
  sizes s = sizes_of(c);
  product p = {.m = s.og, .n = s.out, .k = s.k, .a_rs = s.k, .a_cs = 1, .b_rs = s.out, .b_cs = 1};
  need_columns(&s, need);
  need_product(c->elem, &p, need);
}

void ig_conv_need_grad_input_cols(const ig_conv *c, ig_need *need) {
  sizes s = sizes_of(c);
  product p = {.m = s.k, .n = s.out, .k = s.og, .a_rs = 1, .a_cs = s.k, .b_rs = s.out, .b_cs = 1};
  need_columns(&s, need);
  need_product(c->elem, &p, need);
}

// y[channels][n] = bias per row.
static void fill_bias(ig_elem e, const void *bias, int64_t channels, int64_t n, void *y) {
  for (int64_t c = 0; c < channels; c++) {
    if (e == IG_ELEM_F32)
      for (int64_t i = 0; i < n; i++) ((float *)y)[c * n + i] = ((const float *)bias)[c];
    else
      for (int64_t i = 0; i < n; i++) ((double *)y)[c * n + i] = ((const double *)bias)[c];
  }
}

static void add_bias(ig_elem e, const void *bias, int64_t channels, int64_t n, void *y) {
  for (int64_t c = 0; c < channels; c++) {
    if (e == IG_ELEM_F32)
      for (int64_t i = 0; i < n; i++) ((float *)y)[c * n + i] += ((const float *)bias)[c];
    else
      for (int64_t i = 0; i < n; i++) ((double *)y)[c * n + i] += ((const double *)bias)[c];
  }
}

bool ig_conv_forward_cols(const ig_conv *c, const void *x, const void *w, const void *bias,
                          void *y) {
  sizes s = sizes_of(c);
  ig_pool window = window_of(c);
  ig_conv_buffer buffer = columns(&s);
  void *cols = buffer.data;
  if (!s.plain && !cols) return false;
  for (int64_t i = 0; i < c->n * c->groups; i++) {
    int64_t g = i % c->groups;
    const void *image = at(x, i * s.cg * s.in, s.elem);
    void *out = to(y, i * s.og * s.out, s.elem);
    if (!s.plain) ig_pool_im2col(&window, s.elem, image, cols);
    if (bias) fill_bias(c->elem, at(bias, g * s.og, s.elem), s.og, s.out, out);
    product p = {.m = s.og,
                 .n = s.out,
                 .k = s.k,
                 .a = at(w, g * s.og * s.k, s.elem),
                 .a_rs = s.k,
                 .a_cs = 1,
                 .b = s.plain ? image : cols,
                 .b_rs = s.out,
                 .b_cs = 1,
                 .add = bias != NULL,
                 .out = out};
    multiply(c->elem, &p);
  }
  ig_conv_buffer_free(&buffer);
  return true;
}

bool ig_conv_grad_input_cols(const ig_conv *c, const void *dy, const void *w, const void *bias,
                             void *dx) {
  sizes s = sizes_of(c);
  ig_pool window = window_of(c);
  ig_conv_buffer buffer = columns(&s);
  void *cols = buffer.data;
  if (!s.plain && !cols) return false;
  for (int64_t i = 0; i < c->n * c->groups; i++) {
    int64_t g = i % c->groups;
    void *image = to(dx, i * s.cg * s.in, s.elem);
    product p = {.m = s.k,
                 .n = s.out,
                 .k = s.og,
                 .a = at(w, g * s.og * s.k, s.elem),
                 .a_rs = 1,
                 .a_cs = s.k,
                 .b = at(dy, i * s.og * s.out, s.elem),
                 .b_rs = s.out,
                 .b_cs = 1,
                 .out = s.plain ? image : cols};
    multiply(c->elem, &p);
    if (!s.plain) ig_pool_col2im(&window, cols, image);
    if (bias) add_bias(c->elem, at(bias, g * s.cg, s.elem), s.cg, s.in, image);
  }
  ig_conv_buffer_free(&buffer);
  return true;
}

bool ig_conv_grad_weight_cols(const ig_conv *c, const void *dy, const void *x, void *dw) {
  sizes s = sizes_of(c);
  ig_pool window = window_of(c);
  ig_conv_buffer buffer = columns(&s);
  void *cols = buffer.data;
  if (!s.plain && !cols) return false;
  if (c->n == 0) memset(dw, 0, (size_t)(c->cout * s.k) * s.elem);
  for (int64_t i = 0; i < c->n * c->groups; i++) {
    int64_t g = i % c->groups;
    const void *image = at(x, i * s.cg * s.in, s.elem);
    if (!s.plain) ig_pool_im2col(&window, s.elem, image, cols);
    product p = {.m = s.og,
                 .n = s.k,
                 .k = s.out,
                 .a = at(dy, i * s.og * s.out, s.elem),
                 .a_rs = s.out,
                 .a_cs = 1,
                 .b = s.plain ? image : cols,
                 .b_rs = 1,
                 .b_cs = s.out,
                 .add = i >= c->groups,
                 .out = to(dw, g * s.og * s.k, s.elem)};
    multiply(c->elem, &p);
  }
  ig_conv_buffer_free(&buffer);
  return true;
}
