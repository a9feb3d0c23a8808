// SPDX-License-Identifier: Apache-2.0
// Entry points of the convolution. Operands are staged as planes of f32 or f64, the shape is made
// untransposed, and the fastest path is tried first; without memory the plain loops are used.
#include "kernels/conv.h"

#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
#include "kernels/conv_inner.h"
#include "kernels/conv_stage.h"

ig_conv ig_conv_make(ig_elem e, int64_t n, int64_t cin, int64_t cout) {
  ig_conv c = {.elem = e, .n = n, .cin = cin, .cout = cout, .groups = 1};
  for (int i = 0; i < 3; i++) c.in[i] = c.out[i] = c.kernel[i] = c.stride[i] = c.dilation[i] = 1;
  return c;
}

void ig_conv_set_out(ig_conv *c, const int64_t output_padding[3]) {
  for (int i = 0; i < 3; i++) {
    int64_t reach = c->dilation[i] * (c->kernel[i] - 1);
    int64_t pad = 2 * c->padding[i];
    if (c->transposed) {
      int64_t extra = output_padding ? output_padding[i] : 0;
      c->out[i] = (c->in[i] - 1) * c->stride[i] - pad + reach + extra + 1;
    } else {
      int64_t room = c->in[i] + pad - reach - 1;
      c->out[i] = room < 0 ? 0 : room / c->stride[i] + 1;
    }
  }
}

// ---- the three operations on planes ----

// w'[cg][og][taps reversed] per group: the weights of the convolution that gives dx.
static void turn_weights(const ig_conv *c, const float *w, float *out) {
  int64_t cg = c->cin / c->groups;
  int64_t og = c->cout / c->groups;
  int64_t taps = ig_conv_taps(c);
  for (int64_t g = 0; g < c->groups; g++)
    for (int64_t i = 0; i < cg; i++)
      for (int64_t o = 0; o < og; o++)
        for (int64_t t = 0; t < taps; t++)
          out[((g * cg + i) * og + o) * taps + t] =
              w[((g * og + o) * cg + i) * taps + taps - 1 - t];
}

// dx as the convolution of dy with the transposed weights. False: only possible for stride 1.
static bool turned_shape(const ig_conv *c, ig_conv *t) {
  *t = ig_conv_mirror(c);
  t->transposed = false;
  for (int i = 0; i < 3; i++) {
    int64_t reach = c->dilation[i] * (c->kernel[i] - 1);
    t->padding[i] = reach - c->padding[i];
    bool fits = t->in[i] + 2 * t->padding[i] - reach == t->out[i];
    if (c->stride[i] != 1 || t->padding[i] < 0 || !fits) return false;
  }
  return true;
}

static bool grad_input_turned(const ig_conv *c, const float *dy, const float *w, const float *bias,
                              float *dx) {
  ig_conv t;
  if (!turned_shape(c, &t) || !ig_conv_has_f32(&t)) return false;
  int64_t n = c->cout * (c->cin / c->groups) * ig_conv_taps(c);
  ig_conv_buffer b = ig_conv_buffer_get(IG_SCRATCH_CONV_3, ig_mem_mul((size_t)n, sizeof(float)));
  if (!b.data) return false;
  turn_weights(c, w, b.data);
  bool done = ig_conv_forward_f32(&t, dy, b.data, bias, dx);
  ig_conv_buffer_free(&b);
  return done;
}

static bool grad_input_planes(const ig_conv *c, const void *dy, const void *w, const void *bias,
                              void *dx) {
  if (c->elem == IG_ELEM_F32 && grad_input_turned(c, dy, w, bias, dx)) return true;
  return ig_conv_grad_input_cols(c, dy, w, bias, dx);
}

static bool forward_planes(const ig_conv *c, const void *x, const void *w, const void *bias,
                           void *y) {
  if (c->transposed) {
    ig_conv m = ig_conv_mirror(c);
    if (ig_conv_has_blocks(c) && ig_conv_forward_blocks(c, x, w, bias, y)) return true;
    return grad_input_planes(&m, x, w, bias, y);
  }
  if (c->elem == IG_ELEM_F32 && ig_conv_forward_f32(c, x, w, bias, y)) return true;
  return ig_conv_forward_cols(c, x, w, bias, y);
}

// ---- staging ----

typedef enum role { X, W, Y, BIAS, ROLES } role;

typedef struct staged {
  ig_conv c;  // planes, compute type
  ig_conv_stage how[ROLES];
  size_t at[ROLES];  // offsets of the staged operands
  bool used[ROLES];  // false: the caller's tensor serves
  size_t bytes;      // of all
  char *room;
  bool owned;  // to be freed
} staged;

static const void *staged_in(const staged *s, role r, const void *p) {
  if (!s->used[r]) return p;
  ig_conv_stage_in(&s->how[r], p, s->room + s->at[r]);
  return s->room + s->at[r];
}
static void *staged_out(const staged *s, role r, void *p) {
  return s->used[r] ? s->room + s->at[r] : p;
}
static void staged_put(const staged *s, role r, void *p) {
  if (s->used[r]) ig_conv_stage_out(&s->how[r], s->room + s->at[r], p);
}

static void staged_free(staged *s) {
  if (s->owned) free(s->room);
}

// What is staged, and where.
static void stage_plan(const ig_conv *c, bool bias, staged *s) {
  int64_t taps = ig_conv_taps(c);
  *s = (staged){.c = *c};
  s->how[X] = (ig_conv_stage){c->elem, c->channels_last, c->n, c->cin, ig_conv_in(c)};
  s->how[Y] = (ig_conv_stage){c->elem, c->channels_last, c->n, c->cout, ig_conv_out(c)};
  s->how[W] = (ig_conv_stage){c->elem, false, 1, c->cout * (c->cin / c->groups), taps};
  s->how[BIAS] = (ig_conv_stage){c->elem, false, 1, c->cout, 1};
  s->c.channels_last = false;
  if (ig_elem_is_half(c->elem)) s->c.elem = IG_ELEM_F32;
  size_t size = ig_elem_size(s->c.elem);
  for (int r = 0; r < ROLES; r++) {
    const ig_conv_stage *h = &s->how[r];
    if (ig_conv_stage_is_plain(h) || (r == BIAS && !bias)) continue;
    size_t bytes = ig_mem_mul((size_t)(h->n * h->channels * h->pixels), size);
    s->used[r] = true;
    s->at[r] = s->bytes;
    s->bytes = ig_mem_add(s->bytes, ig_mem_add(bytes, 63) / 64 * 64);
  }
}

// room: NULL where the caller has none. False: no memory, nothing is held.
static bool stage(const ig_conv *c, bool bias, void *room, staged *s) {
  stage_plan(c, bias, s);
  s->room = room;
  if (room || s->bytes == 0) return true;
  s->room = s->bytes < IG_SIZE_NONE ? malloc(s->bytes) : NULL;
  s->owned = true;
  return s->room != NULL;
}

static bool is_int(const ig_conv *c) {
  return c->elem > IG_ELEM_BF16;
}
static bool is_empty(const ig_conv *c) {
  return c->n <= 0 || c->cout <= 0 || ig_conv_out(c) <= 0;
}

void ig_conv_forward_in(const ig_conv *c, const void *x, const void *w, const void *bias, void *y,
                        void *room) {
  staged s;
  if (is_empty(c)) return;
  // No input at all: the loops write the bias.
  if (is_int(c) || c->cin <= 0 || ig_conv_in(c) <= 0 || !stage(c, bias, room, &s)) {
    ig_conv_forward_ref(c, x, w, bias, y);
    return;
  }
  const void *b = bias ? staged_in(&s, BIAS, bias) : NULL;
  bool done =
      forward_planes(&s.c, staged_in(&s, X, x), staged_in(&s, W, w), b, staged_out(&s, Y, y));
  if (done) staged_put(&s, Y, y);
  staged_free(&s);
  if (!done) ig_conv_forward_ref(c, x, w, bias, y);
}

void ig_conv_forward(const ig_conv *c, const void *x, const void *w, const void *bias, void *y) {
  ig_conv_forward_in(c, x, w, bias, y, NULL);
}

static void need_planes(const ig_conv *c, ig_need *need) {
  ig_conv m = ig_conv_mirror(c);
  ig_conv t;
  bool plain = c->elem == IG_ELEM_F32;
  if (!c->transposed) {
    if (plain && ig_conv_has_f32(c))
      ig_conv_need_f32(c, need);
    else
      ig_conv_need_cols(c, need);
  } else if (ig_conv_has_blocks(c)) {
    ig_conv_need_blocks(c, need);
  } else if (plain && turned_shape(&m, &t) && ig_conv_has_f32(&t)) {
    int64_t n = m.cout * (m.cin / m.groups) * ig_conv_taps(&m);
    ig_need_caller(need, IG_SCRATCH_CONV_3, ig_mem_mul((size_t)n, sizeof(float)));
    ig_conv_need_f32(&t, need);
  } else {
    ig_conv_need_grad_input_cols(&m, need);
  }
}

bool ig_conv_need(const ig_conv *c, bool bias, ig_need *need, size_t *room) {
  staged s;
  *room = 0;
  if (is_empty(c) || is_int(c) || c->cin <= 0 || ig_conv_in(c) <= 0) return false;
  if (!need->planned && !c->channels_last && !ig_elem_is_half(c->elem)) return false;
  stage_plan(c, bias, &s);
  if (need->planned) need_planes(&s.c, need);
  if (s.bytes == 0) return false;
  *room = ig_need_take(need, s.bytes, 1);
  return true;
}

// ---- prepared weights ----

struct ig_conv_pack {
  void *plain;   // as given: for the plain loops
  float *ready;  // converted; transposed if `turned`
  bool turned;
};

void ig_conv_pack_free(ig_conv_pack *p) {
  if (!p) return;
  free(p->plain);
  free(p->ready);
  free(p);
}

// The f32 kernels read plain weights without packing; what is saved is the conversion of half types
// and the transposition of weights.
ig_conv_pack *ig_conv_pack_create(const ig_conv *c, const void *w) {
  ig_conv m = ig_conv_mirror(c);
  ig_conv t;
  bool half = ig_elem_is_half(c->elem);
  bool turned = c->transposed && turned_shape(&m, &t) && ig_conv_has_f32(&t);
  if (is_int(c) || c->elem == IG_ELEM_F64 || !(half || turned)) return NULL;
  size_t n = (size_t)(c->cout * (c->cin / c->groups) * ig_conv_taps(c));
  size_t size = ig_elem_size(c->elem);
  ig_conv_pack *p = calloc(1, sizeof *p);
  if (!p) return NULL;
  p->turned = turned;
  p->plain = ig_kernel_array(n, size);
  p->ready = ig_kernel_array(n, sizeof(float));
  float *wide = half && turned ? ig_kernel_array(n, sizeof(float)) : NULL;
  if (!p->plain || !p->ready || (half && turned && !wide)) {
    free(wide);
    ig_conv_pack_free(p);
    return NULL;
  }
  memcpy(p->plain, w, n * size);
  if (half) ig_elem_widen(c->elem, w, wide ? wide : p->ready, (int64_t)n);
  if (turned) turn_weights(&m, wide ? wide : w, p->ready);
  free(wide);
  return p;
}

static bool packed_planes(const ig_conv *c, const ig_conv_pack *p, const void *x, const void *bias,
                          void *y) {
  ig_conv t;
  ig_conv m = ig_conv_mirror(c);
  if (!p->turned) return forward_planes(c, x, p->ready, bias, y);
  return turned_shape(&m, &t) && ig_conv_forward_f32(&t, x, p->ready, bias, y);
}

void ig_conv_forward_packed(const ig_conv *c, const ig_conv_pack *p, const void *x,
                            const void *bias, void *y) {
  staged s;
  if (is_empty(c)) return;
  if (c->cin <= 0 || ig_conv_in(c) <= 0 || !stage(c, bias, NULL, &s)) {
    ig_conv_forward_ref(c, x, p->plain, bias, y);
    return;
  }
  const void *b = bias ? staged_in(&s, BIAS, bias) : NULL;
  bool done = packed_planes(&s.c, p, staged_in(&s, X, x), b, staged_out(&s, Y, y));
  if (done) staged_put(&s, Y, y);
  staged_free(&s);
  if (!done) ig_conv_forward_ref(c, x, p->plain, bias, y);
}

void ig_conv_grad_input(const ig_conv *c, const void *dy, const void *w, void *dx) {
  staged s;
  if (c->n <= 0 || c->cin <= 0 || ig_conv_in(c) <= 0) return;
  if (is_int(c) || c->cout <= 0 || ig_conv_out(c) <= 0 || !stage(c, false, NULL, &s)) {
    ig_conv_grad_input_ref(c, dy, w, dx);
    return;
  }
  const void *g = staged_in(&s, Y, dy);
  const void *v = staged_in(&s, W, w);
  void *out = staged_out(&s, X, dx);
  ig_conv m = ig_conv_mirror(&s.c);
  bool done = c->transposed ? forward_planes(&m, g, v, NULL, out)
                            : grad_input_planes(&s.c, g, v, NULL, out);
  if (done) staged_put(&s, X, dx);
  staged_free(&s);
  if (!done) ig_conv_grad_input_ref(c, dy, w, dx);
}

void ig_conv_grad_weight(const ig_conv *c, const void *dy, const void *x, void *dw) {
  staged s;
  if (c->cin <= 0 || c->cout <= 0) return;
  if (is_int(c) || is_empty(c) || ig_conv_in(c) <= 0 || !stage(c, false, NULL, &s)) {
    ig_conv_grad_weight_ref(c, dy, x, dw);
    return;
  }
  const void *g = staged_in(&s, Y, dy);
  const void *v = staged_in(&s, X, x);
  void *out = staged_out(&s, W, dw);
  ig_conv m = ig_conv_mirror(&s.c);
  bool done = c->transposed ? ig_conv_grad_weight_cols(&m, v, g, out)
                            : ig_conv_grad_weight_cols(&s.c, g, v, out);
  if (done) staged_put(&s, W, dw);
  staged_free(&s);
  if (!done) ig_conv_grad_weight_ref(c, dy, x, dw);
}

// ---- gradient of the bias ----

typedef struct bias_job {
  const ig_conv *c;
  const void *dy;
  void *db;
} bias_job;

// Sum over images and pixels of one channel, rows of pixels in double (integers wrap in 64 bits).
#define CHANNEL_SUM(name, T, A, B, LOAD, STORE)                           \
  static void name(const bias_job *j, int64_t channel) {                  \
    const ig_conv *c = j->c;                                              \
    int64_t pixels = ig_conv_out(c);                                      \
    int64_t step = c->channels_last ? c->cout : 1;                        \
    B total = 0;                                                          \
    for (int64_t n = 0; n < c->n; n++) {                                  \
      const T *p = (const T *)j->dy + n * c->cout * pixels;               \
      p += channel * (c->channels_last ? 1 : pixels);                     \
      for (int64_t i = 0; i < pixels; i += 256) {                         \
        int64_t stop = pixels - i < 256 ? pixels : i + 256;               \
        A s[4] = {0};                                                     \
        for (int64_t q = i; q < stop; q++) s[q & 3] += LOAD(p[q * step]); \
        total += (B)((s[0] + s[1]) + (s[2] + s[3]));                      \
      }                                                                   \
    }                                                                     \
    ((T *)j->db)[channel] = STORE(total);                                 \
  }

#define SAME(v) (v)
#define U64(v) ((uint64_t)(v))
#define CUT8(v) ((uint8_t)(v))
#define CUT16(v) ((uint16_t)(v))
#define CUT32(v) ((uint32_t)(v))
#define TO_FLOAT(v) ((float)(v))
#define TO_F16(v) ig_f16_put((float)(v))
#define TO_BF16(v) ig_bf16_put((float)(v))
CHANNEL_SUM(sum_f32, float, float, double, SAME, TO_FLOAT)
CHANNEL_SUM(sum_f64, double, double, double, SAME, SAME)
CHANNEL_SUM(sum_f16, uint16_t, float, double, ig_f16_get, TO_F16)
CHANNEL_SUM(sum_bf16, uint16_t, float, double, ig_bf16_get, TO_BF16)
CHANNEL_SUM(sum_w8, uint8_t, uint64_t, uint64_t, U64, CUT8)
CHANNEL_SUM(sum_w16, uint16_t, uint64_t, uint64_t, U64, CUT16)
CHANNEL_SUM(sum_w32, uint32_t, uint64_t, uint64_t, U64, CUT32)
CHANNEL_SUM(sum_w64, uint64_t, uint64_t, uint64_t, U64, U64)

static void bias_range(void *arg, int64_t begin, int64_t end) {
  const bias_job *j = arg;
  static void (*const floats[4])(const bias_job *, int64_t) = {sum_f32, sum_f64, sum_f16, sum_bf16};
  static void (*const ints[9])(const bias_job *, int64_t) = {
      [1] = sum_w8, [2] = sum_w16, [4] = sum_w32, [8] = sum_w64};
  ig_elem e = j->c->elem;
  for (int64_t i = begin; i < end; i++)
    (e <= IG_ELEM_BF16 ? floats[e] : ints[ig_elem_size(e)])(j, i);
}

void ig_conv_grad_bias(const ig_conv *c, const void *dy, void *db) {
  bias_job j = {c, dy, db};
  ig_parallel_for(c->cout, 1, bias_range, &j);
}
