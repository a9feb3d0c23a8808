// SPDX-License-Identifier: Apache-2.0
// Packing parameters of quantized layers, and their states.
#include "op/native.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/qrow.h"
#include "op/formula.h"
#include "op/quantized.h"
#include "op/refuse.h"
#include "tensor/quantizer.h"

static const struct {
  const char *text;
  const char *state;
} classes[IG_CLASS_COUNT] = {
#define X(name, text, state) [IG_CLASS_##name] = {text, state},
    IG_CLASS_LIST(X)
#undef X
};

ig_class ig_class_find(const char *name, size_t n) {
  for (int i = 1; i < IG_CLASS_COUNT; i++) {
    if (strlen(classes[i].text) == n && strncmp(classes[i].text, name, n) == 0) return (ig_class)i;
  }
  return IG_CLASS_NONE;
}

const char *ig_class_text(ig_class cls) {
  return classes[cls].text;
}

const char *ig_class_state_type(ig_class cls) {
  return classes[cls].state;
}

static void packed_destroy(ig_ref *ref) {
  ig_packed *p = (ig_packed *)ref;
  for (int64_t g = 0; p->ready && g < p->groups; g++) ig_qweight_free(p->ready[g]);
  free((void *)p->ready);
  free(p->scales);
  free(p->depth);
  free(p->depth_sums);
  ig_tensor_release(p->weight);
  ig_tensor_release(p->bias);
  ig_tensor_release(p->b_ih);
  ig_tensor_release(p->b_hh);
  if (p->w_ih) ig_ref_release(&p->w_ih->head.ref);
  if (p->w_hh) ig_ref_release(&p->w_hh->head.ref);
  ig_mem_free(p->head.alloc, p, sizeof *p);
}

static ig_packed *packed_create(ig_ctx *c, ig_class cls) {
  ig_packed *p = c->status == IG_OK ? ig_mem_new(c->alloc, sizeof *p) : NULL;
  if (!p) {
    if (c->status == IG_OK) (void)ig_fail(c, IG_NOMEM, "out of memory");
    return NULL;
  }
  p->head = (ig_native){.ref = {1, packed_destroy}, .alloc = c->alloc, .cls = cls};
  p->groups = 1;
  return ig_pool_add(c, &p->head.ref) ? p : NULL;
}

// The weight dense, with scales that are floats, as the kernels use them.
static ig_tensor *settled(ig_ctx *c, ig_tensor *w) {
  ig_quantizer *q = w->quantizer;
  ig_tensor *ints = ig_contiguous(c, ig_tensor_integers(c, w));
  if (ig_quantizer_is_uniform(q)) {
    q = ig_quantizer_make(c, (double)(float)q->scale, q->zero_point);
  } else {
    ig_tensor *scales = ig_cast(c, ig_cast(c, q->scales, IG_F32), q->scales->dtype);
    q = ig_quantizer_make_channels(c, scales, q->zero_points, q->axis);
  }
  return ig_tensor_quantized(c, ints, w->dtype, q);
}

static bool check_weight(ig_ctx *c, const char *what, const ig_tensor *w, int ndim) {
  if (w->dtype != IG_QI8) {
    ig_fail_text(c, IG_RUNTIME, "expected scalar type QInt8 but found %s",
                 ig_dtype_title(w->dtype));
  } else if (w->ndim != ndim) {
    ig_fail_text(c, IG_RUNTIME, "%s: the weight has %d dimensions, expected %d", what, w->ndim,
                 ndim);
  } else if (ig_is_fake(w)) {
    ig_fail_text(c, IG_UNSUPPORTED, "%s: the weight is a fake tensor, which has no elements", what);
  }
  return c->status == IG_OK;
}

static bool check_bias(ig_ctx *c, const char *what, const ig_tensor *bias, int64_t n) {
  if (!bias) return true;
  if (bias->dtype != IG_F32 || bias->ndim != 1 || ig_sizes(bias)[0].value != n ||
      ig_is_fake(bias)) {
    ig_fail_text(c, IG_RUNTIME, "%s: bias should have %lld elements of float32: found %s, %lld",
                 what, (long long)n, ig_dtype_text(bias->dtype), (long long)ig_tensor_numel(bias));
  }
  return c->status == IG_OK;
}

static int64_t kernel_of(const ig_packed *p) {
  int64_t n = 1;
  for (int d = 0; d < p->nd; d++) n *= ig_sizes(p->weight)[d + 2].value;
  return n;
}

// Each channel by itself: k weights for each of n channels.
static void make_depth(ig_ctx *c, ig_packed *p, const int8_t *integers, const int32_t *zero,
                       int64_t n, int64_t k) {
  int64_t size = ig_qdepth_size(n, k);
  int16_t *plain = ig_scope_array(c, ig_mem_mul((size_t)n, (size_t)k), sizeof *plain);
  p->depth = size < 0 ? NULL : ig_kernel_array((size_t)size + 1, sizeof *p->depth);
  p->depth_sums = ig_kernel_array((size_t)n + 1, sizeof *p->depth_sums);
  if (!plain || !p->depth || !p->depth_sums) {
    (void)ig_fail(c, IG_NOMEM, "out of memory");
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    int32_t sum = 0;
    for (int64_t t = 0; t < k; t++) {
      plain[t * n + i] = (int16_t)(integers[i * k + t] - zero[i]);
      sum += plain[t * n + i];
    }
    p->depth_sums[i] = sum;
  }
  ig_qdepth_pack(n, k, plain, p->depth);
}

// `integers` are [groups * n][k], dense. Scales and zero points are one, or one per row.
static void make_ready(ig_ctx *c, ig_packed *p, const int8_t *integers, int64_t n, int64_t k) {
  const ig_quantizer *q = p->weight->quantizer;
  size_t rows = ig_mem_mul((size_t)n, (size_t)p->groups);
  bool uniform = ig_quantizer_is_uniform(q);
  const double *scales = uniform ? NULL : ig_tensor_data(q->scales);
  const int64_t *zeros = uniform ? NULL : ig_tensor_data(q->zero_points);
  int32_t *zero = ig_scope_array(c, rows, sizeof *zero);
  p->n = n;
  p->k = k;
  p->scales = ig_kernel_array(rows + 1, sizeof *p->scales);
  p->ready = ig_kernel_array((size_t)p->groups, sizeof *p->ready);
  if (!zero || !p->scales || !p->ready) {
    free((void *)p->ready);
    p->ready = NULL;
    (void)ig_fail(c, IG_NOMEM, "out of memory");
    return;
  }
  for (size_t i = 0; i < rows; i++) {
    p->scales[i] = (float)(scales ? scales[i] : q->scale);
    zero[i] = (int32_t)(zeros ? zeros[i] : q->zero_point);
  }
  bool ok = true;
  if (p->groups > 1 && n == 1 && !p->transpose && k == kernel_of(p) && k <= IG_PACKED_TAPS) {
    free((void *)p->ready);
    p->ready = NULL;
    make_depth(c, p, integers, zero, (int64_t)rows, k);
    return;
  }
  for (int64_t g = 0; g < p->groups; g++) {
    p->ready[g] = ig_qweight_create(n, k, integers + g * n * k, zero + g * n);
    ok = ok && p->ready[g];
  }
  if (!ok) (void)ig_fail(c, IG_NOMEM, "out of memory");
}

static bool check_channels(ig_ctx *c, const char *what, const ig_tensor *w, int axis, int64_t n) {
  const ig_quantizer *q = w->quantizer;
  if (ig_quantizer_is_uniform(q)) return true;
  if (q->scheme == IG_PER_CHANNEL_AFFINE && q->axis == axis && ig_tensor_numel(q->scales) == n) {
    return true;
  }
  ig_fail_text(c, IG_RUNTIME,
               "%s: the weight is quantized along dimension %d, expected per tensor or along %d",
               what, q->axis, axis);
  return false;
}

ig_packed *ig_packed_linear(ig_ctx *c, ig_tensor *weight, ig_tensor *bias) {
  const char *what = "quantized::linear_prepack";
  if (!check_weight(c, what, weight, 2)) return NULL;
  int64_t n = ig_sizes(weight)[0].value;
  int64_t k = ig_sizes(weight)[1].value;
  if (!check_bias(c, what, bias, n) || !check_channels(c, what, weight, 0, n)) return NULL;
  ig_packed *p = packed_create(c, IG_CLASS_LINEAR);
  ig_tensor *w = p ? settled(c, weight) : NULL;
  if (!w) return NULL;
  p->weight = ig_tensor_retain(w);
  p->bias = ig_tensor_retain(bias ? ig_contiguous(c, bias) : NULL);
  make_ready(c, p, ig_tensor_data(w), n, k);
  return c->status == IG_OK ? p : NULL;
}

ig_packed *ig_packed_linear_half(ig_ctx *c, ig_tensor *weight, ig_tensor *bias) {
  ig_packed *p = packed_create(c, IG_CLASS_LINEAR);
  if (!p || !weight) return NULL;
  ig_tensor *w = ig_cast(c, ig_cast(c, ig_contiguous(c, weight), IG_F16), IG_F32);
  p->half = true;
  p->weight = ig_tensor_retain(w);
  p->bias = ig_tensor_retain(bias ? ig_contiguous(c, bias) : NULL);
  return c->status == IG_OK ? p : NULL;
}

// [cout][cin / groups][kernel] to rows of [kernel][cin / groups], as images with channels last are
// read. A transposed weight is [cin][cout / groups][kernel].
static ig_tensor *rows_of(ig_ctx *c, ig_tensor *ints, const ig_packed *p) {
  ig_int order[5];
  int nd = p->nd;
  if (!p->transpose) {
    order[0] = ig_const(0);
    for (int d = 0; d < nd; d++) order[d + 1] = ig_const(d + 2);
    order[nd + 1] = ig_const(1);
    return ig_contiguous(c, ig_permute(c, ints, ig_of_ints(order, (size_t)nd + 2)));
  }
  // One product per group: rows are the inner channels, results are spread over the image.
  int64_t cin = ig_sizes(ints)[0].value;
  ig_int split[6] = {ig_const(p->groups), ig_const(cin / p->groups)};
  for (int d = 0; d <= nd; d++) split[d + 2] = ig_sizes(ints)[d + 1];
  ints = ig_view(c, ints, ig_of_ints(split, (size_t)nd + 3));
  ig_int turn[6] = {ig_const(0)};
  for (int d = 0; d < nd; d++) turn[d + 1] = ig_const(d + 3);
  turn[nd + 1] = ig_const(2);
  turn[nd + 2] = ig_const(1);
  return ig_contiguous(c, ig_permute(c, ints, ig_of_ints(turn, (size_t)nd + 3)));
}

static bool check_geometry(ig_ctx *c, const ig_packed *p, const ig_tensor *w) {
  bool ok = p->groups > 0;
  for (int d = 0; d < p->nd; d++) {
    ok = ok && p->stride[d] > 0 && p->dilation[d] > 0 && p->padding[d] >= 0 &&
         p->output_padding[d] >= 0 && ig_sizes(w)[d + 2].value > 0;
  }
  ok = ok && ig_sizes(w)[0].value % p->groups == 0 && ig_sizes(w)[1].value > 0;
  if (!ok) {
    ig_fail_text(c, IG_RUNTIME,
                 "quantized::conv_prepack: strides and dilations must be positive, paddings not "
                 "negative, and the channels divisible by the groups");
  }
  return ok;
}

// The layout in which PyTorch gives a packed weight back: inputs innermost.
static ig_tensor *with_channels_last(ig_ctx *c, ig_tensor *w, const ig_packed *p) {
  if (!w) return NULL;
  ig_value format = ig_of_memory_format(p->nd == 3 ? IG_CHANNELS_LAST_3D : IG_CHANNELS_LAST);
  ig_tensor *ints = ig_tensor_integers(c, w);
  if (p->transpose) ints = ig_transpose_int(c, ints, ig_const(0), ig_const(1));
  ints = ig_contiguous_with(c, ints, format);
  if (p->transpose) ints = ig_transpose_int(c, ints, ig_const(0), ig_const(1));
  return ig_tensor_quantized(c, ints, w->dtype, w->quantizer);
}

ig_packed *ig_packed_convolution(ig_ctx *c, ig_tensor *weight, ig_tensor *bias,
                                 const ig_packed_conv *how) {
  const char *what = "quantized::conv_prepack";
  if (!check_weight(c, what, weight, how->nd + 2)) return NULL;
  ig_packed *p = packed_create(c, how->nd == 3 ? IG_CLASS_CONV3D : IG_CLASS_CONV2D);
  if (!p) return NULL;
  p->nd = how->nd;
  p->transpose = how->transpose;
  for (int d = 0; d < how->nd; d++) {
    p->stride[d] = how->stride[d];
    p->padding[d] = how->padding[d];
    p->dilation[d] = how->dilation[d];
    p->output_padding[d] = how->output_padding ? how->output_padding[d] : 0;
  }
  p->groups = how->groups;
  if (!check_geometry(c, p, weight)) {
    p->groups = 0;
    return NULL;
  }
  int64_t outer = ig_sizes(weight)[0].value;
  int64_t inner = ig_sizes(weight)[1].value;
  int64_t cout = p->transpose ? inner * p->groups : outer;
  ig_tensor *w = with_channels_last(c, settled(c, weight), p);
  if (!w || !check_bias(c, what, bias, cout)) return NULL;
  if (p->transpose && !ig_quantizer_is_uniform(w->quantizer)) {
    ig_fail_text(c, IG_RUNTIME,
                 "quantized::conv_transpose: weights quantized per channel are not supported");
    return NULL;
  }
  if (!check_channels(c, what, w, 0, outer)) return NULL;
  p->weight = ig_tensor_retain(w);
  p->bias = ig_tensor_retain(bias ? ig_contiguous(c, bias) : NULL);
  ig_tensor *rows = rows_of(c, ig_tensor_integers(c, w), p);
  if (!rows) return NULL;
  if (p->transpose) {
    make_ready(c, p, ig_tensor_data(rows), kernel_of(p) * inner, outer / p->groups);
  } else {
    make_ready(c, p, ig_tensor_data(rows), outer / p->groups, kernel_of(p) * inner);
  }
  return c->status == IG_OK ? p : NULL;
}

ig_packed *ig_packed_embedding(ig_ctx *c, ig_tensor *weight) {
  if (!weight->quantizer || weight->dtype != IG_QU8 || weight->ndim != 2 ||
      weight->quantizer->scheme != IG_PER_CHANNEL_FLOAT) {
    ig_fail_text(
        c, IG_RUNTIME,
        "Expect embedding_bag weights to be quantized using kPerChannelAffineFloatQParams");
    return NULL;
  }
  ig_packed *p = packed_create(c, IG_CLASS_EMBEDDING);
  ig_tensor *w = p ? ig_contiguous(c, weight) : NULL;
  if (!w) return NULL;
  p->weight = ig_tensor_retain(w);
  return p;
}

ig_packed *ig_packed_cell(ig_ctx *c, ig_packed *w_ih, ig_packed *w_hh, ig_tensor *b_ih,
                          ig_tensor *b_hh, bool reduce_range) {
  ig_packed *p = packed_create(c, IG_CLASS_CELL);
  if (!p) return NULL;
  ig_ref_retain(&w_ih->head.ref);
  ig_ref_retain(&w_hh->head.ref);
  p->w_ih = w_ih;
  p->w_hh = w_hh;
  p->b_ih = ig_tensor_retain(b_ih);
  p->b_hh = ig_tensor_retain(b_hh);
  p->reduce_range = reduce_range;
  return p;
}

// ---- states

static ig_value keep_list(ig_ctx *c, ig_seq seq, const ig_value *at, size_t n) {
  ig_value *kept = ig_scope_array(c, n, sizeof *kept);
  if (!kept) return ig_none();
  for (size_t i = 0; i < n; i++) kept[i] = at[i];
  return (ig_value){.kind = IG_KIND_LIST, .seq = seq, .list = {kept, n}};
}
#define LIST(c, ...)                                   \
  keep_list(c, IG_SEQ_LIST, (ig_value[]){__VA_ARGS__}, \
            sizeof((ig_value[]){__VA_ARGS__}) / sizeof(ig_value))
#define TUPLE(c, ...)                                   \
  keep_list(c, IG_SEQ_TUPLE, (ig_value[]){__VA_ARGS__}, \
            sizeof((ig_value[]){__VA_ARGS__}) / sizeof(ig_value))

// int16: spatial dimensions, strides, paddings, dilations, output paddings, groups, transposed
static ig_tensor *settings_of(ig_ctx *c, const ig_packed *p) {
  int64_t n = 4 * p->nd + 3;
  ig_tensor *t = ig_tensor_empty(c, IG_I16, &n, 1);
  if (!t) return NULL;
  int16_t *to = ig_tensor_data(t);
  *to++ = (int16_t)p->nd;
  const int64_t *parts[] = {p->stride, p->padding, p->dilation, p->output_padding};
  for (int k = 0; k < 4; k++) {
    for (int d = 0; d < p->nd; d++) *to++ = (int16_t)parts[k][d];
  }
  *to++ = (int16_t)p->groups;
  *to = (int16_t)p->transpose;
  return t;
}

static ig_value conv_state(ig_ctx *c, const ig_packed *p) {
  ig_value settings = ig_of_tensor(settings_of(c, p));
  ig_value tensors = LIST(c, settings, ig_of_tensor(p->weight));
  ig_value optional = LIST(c, ig_of_tensor(p->bias));
  return TUPLE(c, ig_of_str("2"), tensors, optional);
}

static ig_value cell_state(ig_ctx *c, const ig_packed *p) {
  ig_value biases = LIST(c, ig_of_tensor(p->b_ih), ig_of_tensor(p->b_hh));
  if (!p->b_ih) biases = keep_list(c, IG_SEQ_LIST, NULL, 0);
  ig_value doubles = keep_list(c, IG_SEQ_LIST, NULL, 0);
  ig_value longs =
      p->b_ih ? LIST(c, ig_of_i64(p->reduce_range)) : keep_list(c, IG_SEQ_LIST, NULL, 0);
  ig_value weights = LIST(c, ig_of_native(&p->w_ih->head), ig_of_native(&p->w_hh->head));
  const char *kind = p->w_ih->half ? "quantized_fp16" : "quantized_dynamic";
  return TUPLE(c, ig_of_str(kind), biases, doubles, longs, weights);
}

ig_value ig_native_state(ig_ctx *c, const ig_native *o) {
  if (ig_clamped_parts(o->cls)) return ig_clamped_state(c, (const ig_clamped *)o);
  const ig_packed *p = (const ig_packed *)o;
  switch (o->cls) {
    case IG_CLASS_LINEAR:
      return TUPLE(c, ig_of_tensor(p->weight), ig_of_tensor(p->bias));
    case IG_CLASS_CONV2D:
    case IG_CLASS_CONV3D:
      return conv_state(c, p);
    case IG_CLASS_EMBEDDING: {
      ig_value weights = LIST(c, ig_of_tensor(p->weight));
      ig_value doubles = keep_list(c, IG_SEQ_LIST, NULL, 0);
      ig_value bits = LIST(c, ig_of_i64(8));
      return TUPLE(c, ig_of_i64(1), weights, doubles, bits);
    }
    case IG_CLASS_CELL:
      return cell_state(c, p);
    default:
      return ig_none();
  }
}

static bool is_list(const ig_value *v, size_t n) {
  return v->kind == IG_KIND_LIST && v->list.n == n;
}
static bool is_tensor(const ig_value *v) {
  return v->kind == IG_KIND_TENSOR;
}
static bool is_optional(const ig_value *v) {
  return is_tensor(v) || v->kind == IG_KIND_NONE;
}

static ig_native *bad_state(ig_ctx *c, ig_class cls) {
  ig_fail_text(c, IG_RUNTIME, "the state of a %s object is not a %s", ig_class_text(cls),
               ig_class_state_type(cls));
  return NULL;
}

static ig_packed *conv_from(ig_ctx *c, ig_class cls, const ig_value *s) {
  int nd = cls == IG_CLASS_CONV3D ? 3 : 2;
  const ig_value *tensors = &s->list.at[1];
  const ig_value *optional = &s->list.at[2];
  bool ok = s->list.at[0].kind == IG_KIND_STR && is_list(tensors, 2) && is_list(optional, 1) &&
            is_tensor(&tensors->list.at[0]) && is_tensor(&tensors->list.at[1]) &&
            is_optional(&optional->list.at[0]);
  ig_tensor *t = ok ? tensors->list.at[0].tensor : NULL;
  if (!t || t->dtype != IG_I16 || t->ndim != 1 || ig_tensor_numel(t) != 4 * nd + 3 ||
      ig_is_fake(t) || (int)ig_tensor_get(t, 0) != nd) {
    (void)bad_state(c, cls);
    return NULL;
  }
  int64_t at[15];
  for (int i = 0; i < 4 * nd + 2; i++) at[i] = (int64_t)ig_tensor_get(t, i + 1);
  ig_packed_conv how = {.nd = nd,
                        .stride = at,
                        .padding = at + nd,
                        .dilation = at + 2 * nd,
                        .output_padding = at + 3 * nd,
                        .groups = at[4 * nd],
                        .transpose = at[4 * nd + 1] != 0};
  return ig_packed_convolution(c, tensors->list.at[1].tensor,
                               ig_value_tensor(&optional->list.at[0]), &how);
}

static ig_packed *cell_from(ig_ctx *c, const ig_value *s) {
  const ig_value *biases = &s->list.at[1];
  const ig_value *numbers = &s->list.at[3];
  const ig_value *weights = &s->list.at[4];
  bool ints = numbers->kind == IG_KIND_INTS;
  size_t n = ints ? numbers->ints.n : numbers->kind == IG_KIND_LIST ? numbers->list.n : 0;
  bool ok = is_list(weights, 2) && biases->kind == IG_KIND_LIST &&
            (biases->list.n == 0 || biases->list.n == 2);
  for (size_t i = 0; ok && i < 2; i++) {
    const ig_packed *w = ig_packed_of(&weights->list.at[i]);
    ok = w && w->head.cls == IG_CLASS_LINEAR && (!biases->list.n || is_tensor(&biases->list.at[i]));
  }
  if (!ok) {
    (void)bad_state(c, IG_CLASS_CELL);
    return NULL;
  }
  bool reduce = n && (ints ? numbers->ints.at[0].value : numbers->list.at[0].i.value) != 0;
  bool any = biases->list.n == 2;
  return ig_packed_cell(c, ig_packed_of(&weights->list.at[0]), ig_packed_of(&weights->list.at[1]),
                        any ? biases->list.at[0].tensor : NULL,
                        any ? biases->list.at[1].tensor : NULL, reduce);
}

ig_native *ig_native_from_state(ig_ctx *c, ig_class cls, const ig_value *s) {
  static const size_t parts[IG_CLASS_COUNT] = {[IG_CLASS_LINEAR] = 2,
                                               [IG_CLASS_CONV2D] = 3,
                                               [IG_CLASS_CONV3D] = 3,
                                               [IG_CLASS_EMBEDDING] = 4,
                                               [IG_CLASS_CELL] = 5};
  size_t clamped = ig_clamped_parts(cls);
  if (!is_list(s, clamped ? clamped : parts[cls])) return bad_state(c, cls);
  if (clamped) {
    ig_clamped *made = ig_clamped_make(c, cls, s->list.at);
    if (!made && c->status == IG_OK) return bad_state(c, cls);
    return made ? &made->head : NULL;
  }
  const ig_value *at = s->list.at;
  ig_packed *p = NULL;
  if (cls == IG_CLASS_LINEAR) {
    if (!is_tensor(&at[0]) || !is_optional(&at[1])) return bad_state(c, cls);
    bool half = !at[0].tensor->quantizer;
    p = (half ? ig_packed_linear_half : ig_packed_linear)(c, at[0].tensor, ig_value_tensor(&at[1]));
  } else if (cls == IG_CLASS_EMBEDDING) {
    if (!is_list(&at[1], 1) || !is_tensor(&at[1].list.at[0])) return bad_state(c, cls);
    p = ig_packed_embedding(c, at[1].list.at[0].tensor);
  } else if (cls == IG_CLASS_CELL) {
    p = cell_from(c, s);
  } else {
    p = conv_from(c, cls, s);
  }
  return p ? &p->head : NULL;
}
