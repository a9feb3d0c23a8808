// SPDX-License-Identifier: Apache-2.0
// Geometry and filling of padded images.
#include "kernels/conv_image.h"

// Number of distinct (k * dilation) % stride for k < kernel, and the rank of one among them.
// With g = gcd(stride, dilation), remainders repeat after stride / g steps, in the order met.
static int64_t cycle(int64_t stride, int64_t dilation) {
  int64_t a = stride;
  int64_t b = dilation % stride;
  while (b != 0) {
    int64_t t = a % b;
    a = b;
    b = t;
  }
  return stride / a;
}

static int64_t count_phases(const ig_conv *c, int dim) {
  int64_t n = cycle(c->stride[dim], c->dilation[dim]);
  return c->kernel[dim] < n ? c->kernel[dim] : n;
}

// In floating point, which does not overflow.
bool ig_conv_image_is_wasteful(const ig_conv *c) {
  enum { SMALL = 1 << 20, FACTOR = 16 };
  double image = (double)(c->out[0] - 1) * (double)c->stride[0] +
                 (double)(c->kernel[0] - 1) * (double)c->dilation[0] + 1;
  for (int d = 1; d < 3; d++) {
    double reach = (double)(c->kernel[d] - 1) * (double)c->dilation[d] / (double)c->stride[d];
    image *= ((double)c->out[d] + reach) * (double)count_phases(c, d);
  }
  double shown = (double)ig_conv_in(c) + (double)ig_conv_out(c);
  return image > SMALL && image > FACTOR * shown;
}

ig_conv_image ig_conv_image_make(const ig_conv *c) {
  ig_conv_image m = {.c = c};
  m.rows = c->out[1] + (c->kernel[1] - 1) * c->dilation[1] / c->stride[1];
  m.cols = c->out[2] + (c->kernel[2] - 1) * c->dilation[2] / c->stride[2];
  m.depth = (c->out[0] - 1) * c->stride[0] + (c->kernel[0] - 1) * c->dilation[0] + 1;
  m.phases[0] = (int)count_phases(c, 1);
  m.phases[1] = (int)count_phases(c, 2);
  m.plane = m.rows * m.cols * m.phases[0] * m.phases[1];
  m.channel = m.plane * m.depth;
  m.alias = c->padding[0] == 0 && c->padding[1] == 0 && c->padding[2] == 0 && c->stride[1] == 1 &&
            c->stride[2] == 1 && m.rows == c->in[1] && m.cols == c->in[2];
  if (m.alias) {
    m.depth = c->in[0];
    m.channel = m.plane * m.depth;
  }
  return m;
}

void ig_conv_image_offsets(const ig_conv_image *m, int64_t *off) {
  const ig_conv *c = m->c;
  for (int64_t i = 0; i < c->cin / c->groups; i++) {
    for (int64_t kd = 0; kd < c->kernel[0]; kd++) {
      int64_t plane = i * m->channel + kd * c->dilation[0] * m->plane;
      for (int64_t kh = 0; kh < c->kernel[1]; kh++) {
        for (int64_t kw = 0; kw < c->kernel[2]; kw++) {
          int64_t phase = kh % m->phases[0] * m->phases[1] + kw % m->phases[1];
          int64_t row = kh * c->dilation[1] / c->stride[1];
          int64_t col = kw * c->dilation[2] / c->stride[2];
          *off++ = plane + (phase * m->rows + row) * m->cols + col;
        }
      }
    }
  }
}

// Positions q of [0, n) with 0 <= q * stride + shift < in.
static void bounds(int64_t n, int64_t stride, int64_t shift, int64_t in, int64_t *lo, int64_t *hi) {
  *lo = shift < 0 ? (-shift + stride - 1) / stride : 0;
  *hi = in > shift ? (in - shift + stride - 1) / stride : 0;
  if (*hi > n) *hi = n;
  if (*hi < *lo) *hi = *lo;
}

void ig_conv_image_fill(const ig_conv_image *m, const ig_conv_kernels *f, const float *x,
                        float *image) {
  const ig_conv *c = m->c;
  for (int64_t d = 0; d < m->depth; d++) {
    int64_t id = d - c->padding[0];
    bool empty = id < 0 || id >= c->in[0];
    for (int64_t ph = 0; ph < m->phases[0]; ph++) {
      for (int64_t pw = 0; pw < m->phases[1]; pw++, image += m->rows * m->cols) {
        int64_t top = ph * c->dilation[1] % c->stride[1] - c->padding[1];
        int64_t left = pw * c->dilation[2] % c->stride[2] - c->padding[2];
        ig_conv_phase p = {.rows = m->rows,
                           .cols = m->cols,
                           .row_step = c->stride[1] * c->in[2],
                           .step = c->stride[2]};
        bounds(m->rows, c->stride[1], top, c->in[1], &p.top, &p.bottom);
        bounds(m->cols, c->stride[2], left, c->in[2], &p.lo, &p.hi);
        if (empty) p.bottom = p.top;
        f->fill(&p, x + ((empty ? 0 : id) * c->in[1] + top) * c->in[2] + left, image);
      }
    }
  }
}
