// SPDX-License-Identifier: Apache-2.0
// Linear layers by panels of outputs, with weights of 4 to 32 bits. Fewer bits are fewer bytes,
// which is what products of few rows wait for; with many rows a panel stays in the cache, and its
// weights become floats once for several rows, or are multiplied as they are by inputs that were
// converted.
//
// Memory: the panels (ig_rows_kind says how), columns padded with zeros to whole steps and outputs
// to whole panels; a factor per output; for integers of 8 bits the sum of each output's weights.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/threads.h"
#include "kernels/layer_kernels.h"
#include "kernels/reduce_elem.h"

typedef struct form {
  ig_rows_kind kind;
  int columns;  // of a unit
  int step;     // columns
  int bits;
  int tall;  // rows of a tile: what registers hold
} form;

static const form *form_of(ig_layer_method m) {
  static const form forms[] = {
      {IG_ROWS_F32, 2, 2, 32, 6}, {IG_ROWS_BF16, 2, 2, 16, 6}, {IG_ROWS_F16, 2, 2, 16, 6},
      {IG_ROWS_INT8, 4, 4, 8, 6}, {IG_ROWS_INT4, 8, 32, 4, 3}, {IG_ROWS_INT8, 4, 4, 8, 6},
  };
  return &forms[m - IG_LAYER_ROWS];
}

static int64_t steps_of(const ig_layer *l) {
  int64_t step = form_of(l->method)->step;
  return (l->c.cin + step - 1) / step;
}

static int64_t panels_of(const ig_layer *l) {
  return (l->c.cout + l->f->outs - 1) / l->f->outs;
}

static int64_t unit_bytes(const ig_layer *l) {
  const form *f = form_of(l->method);
  return (int64_t)f->columns * f->bits / 8 * l->f->outs;
}

static int64_t step_bytes(const ig_layer *l) {
  const form *f = form_of(l->method);
  int64_t factors = f->kind == IG_ROWS_INT4 ? 2 * l->f->outs : 0;
  return f->step / f->columns * unit_bytes(l) + factors;
}

static int64_t panel_bytes(const ig_layer *l) {
  return steps_of(l) * step_bytes(l);
}

int64_t ig_layer_rows_floats(const ig_layer *l) {
  int64_t outs = panels_of(l) * l->f->outs;
  int64_t sums = form_of(l->method)->kind == IG_ROWS_INT8 ? outs : 0;
  return panels_of(l) * (panel_bytes(l) / 4) + outs + sums;
}

static float *factors_of(const ig_layer *l) {
  return l->w + panels_of(l) * (panel_bytes(l) / 4);
}

static int32_t *sums_of(const ig_layer *l) {
  return (int32_t *)(void *)(factors_of(l) + panels_of(l) * l->f->outs);
}

// ---- packing ----

typedef struct packing {
  const ig_layer *l;
  const float *w;
} packing;

static float largest_of(const float *w, int64_t n) {
  float most = 0.0f;
  for (int64_t i = 0; i < n; i++) {
    float v = fabsf(w[i]);
    if (!(v <= most)) most = v;
  }
  return most;
}

// A row that is not finite has a factor that is not: its results are NaN.
static float factor_of(const float *row, int64_t n, ig_rows_kind kind) {
  float most = largest_of(row, n);
  if (kind == IG_ROWS_F32 || kind == IG_ROWS_BF16 || kind == IG_ROWS_INT4) return 1.0f;
  if (!isfinite(most)) return NAN;
  if (kind == IG_ROWS_INT8) return most / 127;
  int exponent = 0;
  (void)frexpf(most, &exponent);
  return most > 0 ? ldexpf(1.0f, exponent - 15) : 0.0f;  // the largest below 2^15
}

static int32_t rounded(float v, float factor, int32_t low, int32_t high) {
  if (!(fabsf(factor) > 0)) return 0;
  float q = rintf(v / factor);
  return q > (float)high ? high : q < (float)low ? low : (int32_t)q;
}

// What the largest element of a group, with its sign, takes -8 times: the eight values on its side
// are one more than those on the other.
static float factor_of_group(const float *v, int64_t n) {
  float most = 0.0f;
  for (int64_t i = 0; i < n; i++) {
    if (!(fabsf(v[i]) <= fabsf(most))) most = v[i];
  }
  return isfinite(most) ? most / -8 : NAN;
}

// The element of a row as it lies in a word, in the lowest bits.
static uint32_t narrowed(float v, float factor, ig_rows_kind kind) {
  switch (kind) {
    case IG_ROWS_BF16:
      return ig_bf16_put(v);
    case IG_ROWS_F16:
      return factor > 0 ? ig_f16_put(v / factor) : 0;
    case IG_ROWS_INT8:
      return (uint32_t)rounded(v, factor, -127, 127) & 0xff;
    default:
      return (uint32_t)rounded(v, factor, -8, 7) & 0xf;
  }
}

// One unit of one output; the factor is that of the row or of the group.
static void pack_unit(const ig_layer *l, const float *v, float factor, int64_t lane, char *to) {
  const form *f = form_of(l->method);
  int64_t lanes = l->f->lanes;
  char *vector = to + lane / lanes * lanes * f->columns * f->bits / 8;
  int64_t at = lane % lanes;
  uint32_t word = 0;
  for (int i = 0; i < f->columns; i++) {
    uint16_t half;
    switch (f->kind) {
      case IG_ROWS_F32:
        memcpy(vector + (i * lanes + at) * 4, &v[i], 4);
        break;
      case IG_ROWS_F16:
        half = (uint16_t)narrowed(v[i], factor, f->kind);
        memcpy(vector + (i * lanes + at) * 2, &half, 2);
        break;
      default:
        word |= narrowed(v[i], factor, f->kind) << (i * f->bits);
    }
  }
  if (f->kind != IG_ROWS_F32 && f->kind != IG_ROWS_F16) memcpy(vector + at * 4, &word, 4);
}

// A step of one output: v holds its columns, zeros beyond the last.
static void pack_step(const ig_layer *l, const float *v, float factor, int64_t lane, char *to) {
  const form *f = form_of(l->method);
  if (f->kind == IG_ROWS_INT4) {
    uint16_t half = ig_bf16_put(factor_of_group(v, f->step));
    memcpy(to + f->step / f->columns * unit_bytes(l) + lane * 2, &half, 2);
    factor = ig_bf16_get(half);  // rounded to it, not to what it stands for
  }
  for (int i = 0; i < f->step; i += f->columns, to += unit_bytes(l)) {
    pack_unit(l, v + i, factor, lane, to);
  }
}

static void pack_row(const packing *p, int64_t o, char *panel) {
  const ig_layer *l = p->l;
  const form *f = form_of(l->method);
  int64_t n = l->c.cin;
  const float *row = o < l->c.cout ? p->w + o * n : NULL;
  float factor = row ? factor_of(row, n, f->kind) : 0.0f;
  float v[IG_ROWS_STEP] = {0};
  for (int64_t i = 0; i < n; i += f->step, panel += step_bytes(l)) {
    for (int64_t k = 0; k < f->step; k++) v[k] = row && i + k < n ? row[i + k] : 0.0f;
    pack_step(l, v, factor, o % l->f->outs, panel);
  }
  factors_of(l)[o] = factor;
  if (f->kind != IG_ROWS_INT8) return;
  int32_t sum = 0;
  for (int64_t i = 0; row && i < n; i++) sum += rounded(row[i], factor, -127, 127);
  sums_of(l)[o] = sum;
}

static void pack_panels(void *arg, int64_t begin, int64_t end) {
  const packing *p = arg;
  int64_t outs = p->l->f->outs;
  for (int64_t q = begin; q < end; q++) {
    char *panel = (char *)p->l->w + q * panel_bytes(p->l);
    for (int64_t k = 0; k < outs; k++) pack_row(p, q * outs + k, panel);
  }
}

void ig_layer_fill_rows(const ig_layer *l, const float *w) {
  packing p = {l, w};
  ig_parallel_for(panels_of(l), 65536 / (panel_bytes(l) + 1) + 1, pack_panels, &p);
}

// ---- running ----

typedef struct job {
  const ig_layer *l;
  const ig_layer_io *io;
  int64_t rows;
  uint32_t *words;  // inputs that were converted; NULL: they are not
  int64_t row_words;
  ig_narrow_row *scales;  // of their rows, NULL: bf16
  void (*dots)(const ig_rows_dots *d);
} job;

// What multiplies converted inputs; NULL: they stay f32.
static void (*dots_of(const ig_layer *l, int64_t rows))(const ig_rows_dots *) {
  if (rows < IG_LAYER_MANY) return NULL;
#if defined(__x86_64__)
  bool wide = l->f == &ig_layer_kernels_avx512;
  if (l->method == IG_LAYER_BF16 && wide && ig_cpu_has_bf16()) return ig_rows_dots_bf16_avx512;
  if (l->method == IG_LAYER_DYNAMIC8 && wide && ig_cpu_has_dot8()) return ig_rows_dots8_vnni_avx512;
#endif
  return l->method == IG_LAYER_DYNAMIC8 ? l->f->dots8 : NULL;
}

static int64_t words_of(const ig_layer *l) {
  int columns = form_of(l->method)->columns;
  return (l->c.cin + columns - 1) / columns;
}

static int64_t rows_of(const ig_conv *c) {
  return c->n * ig_conv_in(c);
}

void ig_layer_need_rows(const ig_layer *l, const ig_conv *c, ig_need *need) {
  int64_t rows = rows_of(c);
  if (!dots_of(l, rows)) return;
  size_t words = ig_mem_mul((size_t)rows, (size_t)words_of(l));
  ig_need_caller(need, IG_SCRATCH_CONV_1, ig_mem_mul(words, sizeof(uint32_t)));
  ig_need_caller(need, IG_SCRATCH_CONV_2, ig_mem_mul((size_t)rows, sizeof(ig_narrow_row)));
}

static void convert_rows(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  int64_t n = j->l->c.cin;
  for (int64_t r = begin; r < end; r++) {
    uint32_t *to = j->words + r * j->row_words;
    if (j->scales)
      ig_narrow_bytes(n, j->row_words, j->io->x + r * n, to, &j->scales[r]);
    else
      ig_narrow_bf16(n, j->row_words, j->io->x + r * n, to);
  }
}

// Sums of floats of a tile of rows; the columns that are no whole step come last.
static void multiply(const job *j, const char *panel, int64_t row, int rows, float *sums) {
  const ig_layer *l = j->l;
  const form *f = form_of(l->method);
  int64_t n = l->c.cin;
  int64_t whole = n / f->step;
  const float *x = j->io->x + row * n;
  ig_rows_tile t = {.rows = rows, .w = panel, .steps = whole, .x = x, .x_row = n, .first = true};
  t.sums = sums;
  l->f->rows(f->kind, &t);
  int64_t left = n - whole * f->step;
  if (!left) return;
  float end[IG_ROWS_TALL * IG_ROWS_STEP] = {0};
  for (int r = 0; r < rows; r++) {
    for (int64_t i = 0; i < left; i++) end[r * f->step + i] = x[r * n + whole * f->step + i];
  }
  t = (ig_rows_tile){
      .rows = rows, .w = panel + whole * step_bytes(l), .steps = 1, .x = end, .x_row = f->step};
  t.sums = sums;
  l->f->rows(f->kind, &t);
}

// The same of converted inputs.
static void multiply_words(const job *j, const char *panel, int64_t row, int rows, int64_t first,
                           float *sums) {
  const ig_layer *l = j->l;
  int64_t outs = l->f->outs;
  int32_t whole[IG_ROWS_TALL * IG_ROWS_OUTS];
  ig_rows_dots d = {.rows = rows,
                    .w = panel,
                    .units = j->row_words,
                    .x = j->words + row * j->row_words,
                    .x_row = j->row_words,
                    .sums = j->scales ? (void *)whole : sums};
  j->dots(&d);
  const int32_t *all = sums_of(l) + first;
  for (int r = 0; j->scales && r < rows; r++) {
    ig_narrow_row s = j->scales[row + r];
    for (int64_t o = 0; o < outs; o++) {
      int64_t exact = whole[r * outs + o] - (int64_t)s.zero * all[o];
      sums[r * outs + o] = (float)exact * s.scale;
    }
  }
}

static void run_panels(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  const ig_layer *l = j->l;
  int64_t outs = l->f->outs;
  int64_t tall = j->dots ? IG_ROWS_TALL : form_of(l->method)->tall;
  float sums[IG_ROWS_TALL * IG_ROWS_OUTS];
  for (int64_t q = begin; q < end; q++) {
    const char *panel = (const char *)l->w + q * panel_bytes(l);
    int64_t first = q * outs;
    int64_t n = l->c.cout - first < outs ? l->c.cout - first : outs;
    for (int64_t r = 0; r < j->rows; r += tall) {
      int rows = (int)(j->rows - r < tall ? j->rows - r : tall);
      if (j->dots)
        multiply_words(j, panel, r, rows, first, sums);
      else
        multiply(j, panel, r, rows, sums);
      for (int k = 0; k < rows; k++) {
        ig_layer_finish_row(l, j->io, r + k, first, n, factors_of(l) + first, sums + k * outs);
      }
    }
  }
}

bool ig_layer_run_rows(const ig_layer *l, const ig_conv *c, const ig_layer_io *io) {
  enum { LEAST = 48 << 10 };  // bytes of weights and products, some microseconds
  job j = {.l = l, .io = io, .rows = rows_of(c)};
  j.dots = dots_of(l, j.rows);
  if (j.dots) {
    j.row_words = words_of(l);
    size_t words = ig_mem_mul((size_t)j.rows, (size_t)j.row_words);
    j.words = ig_scratch_array(IG_SCRATCH_CONV_1, words, sizeof *j.words);
    j.scales = ig_scratch_array(IG_SCRATCH_CONV_2, (size_t)j.rows, sizeof *j.scales);
    if (!j.words || !j.scales) return false;
    if (l->method == IG_LAYER_BF16) j.scales = NULL;
    ig_parallel_for(j.rows, 16384 / (l->c.cin + 1) + 1, convert_rows, &j);
  }
  int64_t work = panel_bytes(l) + l->c.cin * l->f->outs * (j.rows - 1) / 8;
  ig_parallel_for(panels_of(l), LEAST / (work + 1) + 1, run_panels, &j);
  return true;
}

// ---- what is lost ----

static double loss_of(const ig_layer *l, int64_t rows, const float *x, const float *w,
                      const float *y) {
  double error = 0;
  double total = 0;
  int64_t in = l->c.cin;
  for (int64_t r = 0; r < rows; r++) {
    for (int64_t o = 0; o < l->c.cout; o++) {
      double sum = (double)l->bias[o];
      for (int64_t i = 0; i < in; i++) sum += (double)w[o * in + i] * (double)x[r * in + i];
      double off = (double)y[r * l->c.cout + o] - sum;
      error += off * off;
      total += sum * sum;
    }
  }
  return total > 0 ? sqrt(error / total) : error > 0 ? INFINITY : 0;
}

double ig_layer_loss(const ig_layer *l, int64_t rows, const float *x, const float *w) {
  enum { SOME = 2 * IG_LAYER_MANY };  // rows that are looked at: as many as take the way of many
  int64_t in = l->c.cin;
  int64_t some = rows < SOME ? rows : SOME;
  float *part = ig_kernel_array((size_t)some, ig_mem_mul((size_t)in, sizeof *part));
  float *y = ig_kernel_array((size_t)some, ig_mem_mul((size_t)l->c.cout, sizeof *y));
  double loss = INFINITY;
  if (part && y) {
    for (int64_t r = 0; r < some; r++) {
      memcpy(part + r * in, x + r * rows / some * in, ig_mem_mul((size_t)in, sizeof *x));
    }
    ig_conv c = l->c;
    c.n = 1;
    c.in[0] = c.in[1] = c.out[0] = c.out[1] = 1;
    c.in[2] = c.out[2] = some;
    ig_layer_io io = {.x = part, .y = y};
    if (ig_layer_run_rows(l, &c, &io)) loss = loss_of(l, some, part, w, y);
  }
  free(part);
  free(y);
  return loss;
}
