// SPDX-License-Identifier: Apache-2.0
// Convolution by plain loops, for every element type and both memory layouts: the reference in
// tests, the path for integers, and the path without scratch memory. A transposed convolution is
// the input gradient of the convolution with input and output swapped.
#include "base/threads.h"
#include "kernels/conv.h"
#include "kernels/conv_inner.h"

typedef struct shape {
  const ig_conv *c;
  int64_t taps;  // kd * kh * kw
  // Distances between neighbours, in elements.
  int64_t x_image;
  int64_t x_channel;
  int64_t x_pixel;
  int64_t y_image;
  int64_t y_channel;
  int64_t y_pixel;
} shape;

typedef struct job {
  void (*fn)(const struct job *j, int64_t begin, int64_t end);
  shape s;
  const void *a;
  const void *b;
  const void *bias;
  void *out;
} job;

// Output position whose k-th window element is input position i, or -1.
static int64_t from(const ig_conv *c, int dim, int64_t i, int64_t k) {
  int64_t at = i + c->padding[dim] - k * c->dilation[dim];
  if (at < 0 || at % c->stride[dim] != 0) return -1;
  at /= c->stride[dim];
  return at < c->out[dim] ? at : -1;
}

#define CAT2(a, b) a##_##b
#define CAT(a, b) CAT2(a, b)
#define NAME(x) CAT(TAG, x)

#define ADD(a, b) ((a) + (b))
#define MUL(a, b) ((a) * (b))
#define TAG f32
#define T float
#define A float
#define LOAD(t) (t)
#define STORE(v) (v)
#include "kernels/conv_ref.inc"
#undef TAG
#undef T
#undef A

#define TAG f64
#define T double
#define A double
#include "kernels/conv_ref.inc"
#undef TAG
#undef T
#undef A
#undef LOAD
#undef STORE

#define T uint16_t
#define A float
#define TAG f16
#define LOAD(t) ig_f16_get(t)
#define STORE(v) ig_f16_put(v)
#include "kernels/conv_ref.inc"
#undef TAG
#undef LOAD
#undef STORE

#define TAG bf16
#define LOAD(t) ig_bf16_get(t)
#define STORE(v) ig_bf16_put(v)
#include "kernels/conv_ref.inc"
#undef TAG
#undef LOAD
#undef STORE
#undef T
#undef A
#undef ADD
#undef MUL

// Integers wrap: unsigned arithmetic, then cut to the type's width.
#define A uint64_t
#define ADD(a, b) ((a) + (b))
#define MUL(a, b) ((a) * (b))
#define LOAD(t) ((uint64_t)(t))
#define STORE(v) ((T)(v))
#define TAG w8
#define T uint8_t
#include "kernels/conv_ref.inc"
#undef TAG
#undef T

#define TAG w16
#define T uint16_t
#include "kernels/conv_ref.inc"
#undef TAG
#undef T

#define TAG w32
#define T uint32_t
#include "kernels/conv_ref.inc"
#undef TAG
#undef T

#define TAG w64
#define T uint64_t
#include "kernels/conv_ref.inc"
#undef TAG
#undef T

typedef void kernel(const job *j, int64_t begin, int64_t end);
typedef enum which { FORWARD, GRAD_INPUT, GRAD_WEIGHT } which;

#define ROW(tag) \
  { tag##_forward, tag##_grad_input, tag##_grad_weight }

static kernel *find(ig_elem e, which k) {
  static kernel *const floats[4][3] = {ROW(f32), ROW(f64), ROW(f16), ROW(bf16)};
  static kernel *const ints[4][3] = {ROW(w8), ROW(w16), ROW(w32), ROW(w64)};
  if (e <= IG_ELEM_BF16) return floats[e][k];
  switch (ig_elem_size(e)) {
    case 1:
      return ints[0][k];
    case 2:
      return ints[1][k];
    case 4:
      return ints[2][k];
    default:
      return ints[3][k];
  }
}

static void run(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  j->fn(j, begin, end);
}

static shape shape_of(const ig_conv *c) {
  int64_t in = c->in[0] * c->in[1] * c->in[2];
  int64_t out = c->out[0] * c->out[1] * c->out[2];
  shape s = {.c = c,
             .taps = c->kernel[0] * c->kernel[1] * c->kernel[2],
             .x_image = in * c->cin,
             .y_image = out * c->cout};
  s.x_channel = c->channels_last ? 1 : in;
  s.x_pixel = c->channels_last ? c->cin : 1;
  s.y_channel = c->channels_last ? 1 : out;
  s.y_pixel = c->channels_last ? c->cout : 1;
  return s;
}

static void start(const ig_conv *c, which k, const void *a, const void *b, const void *bias,
                  void *out) {
  job j = {.fn = find(c->elem, k), .s = shape_of(c), .a = a, .b = b, .bias = bias, .out = out};
  int64_t tasks = k == FORWARD      ? c->n * c->cout
                  : k == GRAD_INPUT ? c->n * c->cin
                                    : c->cout * (c->cin / c->groups);
  ig_parallel_for(tasks, 1, run, &j);
}

void ig_conv_forward_ref(const ig_conv *c, const void *x, const void *w, const void *bias,
                         void *y) {
  ig_conv m = ig_conv_mirror(c);
  if (c->transposed)
    start(&m, GRAD_INPUT, x, w, bias, y);
  else
    start(c, FORWARD, x, w, bias, y);
}

void ig_conv_grad_input_ref(const ig_conv *c, const void *dy, const void *w, void *dx) {
  ig_conv m = ig_conv_mirror(c);
  if (c->transposed)
    start(&m, FORWARD, dy, w, NULL, dx);
  else
    start(c, GRAD_INPUT, dy, w, NULL, dx);
}

void ig_conv_grad_weight_ref(const ig_conv *c, const void *dy, const void *x, void *dw) {
  ig_conv m = ig_conv_mirror(c);
  if (c->transposed)
    start(&m, GRAD_WEIGHT, x, dy, NULL, dw);
  else
    start(c, GRAD_WEIGHT, dy, x, NULL, dw);
}
