// SPDX-License-Identifier: Apache-2.0
#include "ingot/aten.h"
#include "nets_layers.h"
#include "op/formula.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

// Weights of eight bits, with one scale or one per output channel.
static ig_tensor *bytes(net *n, const int64_t *sizes, int ndim, int axis) {
  ig_tensor *w = net_weights(n, sizes, ndim, 1, 0);
  if (!w) return NULL;
  if (draw_chance(n->d, 50)) {
    w = ig_quantize_per_tensor(n->c, w, 0.01, ig_const(net_between(n, -2, 2)), ig_of_dtype(IG_QI8));
  } else {
    ig_tensor *scales = net_vector(n, net_number(n, sizes[axis]), 0.005, 0.01);
    ig_tensor *zeros = scales ? ig_to_dtype(n->c, scales, ig_of_dtype(IG_I64)) : NULL;
    w = zeros ? ig_quantize_per_channel(n->c, w, scales, zeros, ig_const(axis), ig_of_dtype(IG_QI8))
              : NULL;
  }
  ig_ctx_clear(n->c);
  return w;
}

// The packed weights of a layer; false: refused.
static bool pack(net *n, unsigned id, const ig_value *given, size_t count, ig_value *out) {
  ig_value outs[IG_MAX_RETURNS];
  ig_call_id_outs(n->c, id, given, count, outs);
  bool ok = ig_ctx_status(n->c) == IG_OK;
  ig_ctx_clear(n->c);
  *out = outs[0];
  return ok;
}

static ig_tensor *run_packed(net *n, unsigned id, const ig_value *packed) {
  const ig_value given[] = {ig_of_tensor(n->x), *packed, ig_of_f64(0.05),
                            ig_of_i64(net_between(n, 0, 3))};
  return net_call(n, id, given, COUNT(given));
}

static ig_tensor *run_dynamic(net *n, unsigned id, const ig_value *packed) {
  const ig_value given[] = {ig_of_tensor(n->x), *packed, ig_of_bool(draw_chance(n->d, 50))};
  return net_call(n, id, given, COUNT(given));
}

static ig_tensor *linear(net *n) {
  int64_t out = net_between(n, 1, 20);
  ig_tensor *w = bytes(n, (int64_t[]){out, net_number(n, net_last_size(n->x))}, 2, 0);
  ig_tensor *b = w && draw_chance(n->d, 60) ? net_vector(n, out, 1, 0) : NULL;
  ig_value packed;
  const ig_value given[] = {ig_of_tensor(w), ig_of_tensor(b)};
  if (!w || !pack(n, IG_ID_QUANTIZED__LINEAR_PREPACK, given, COUNT(given), &packed)) return NULL;
  if (!n->x->quantizer) return run_dynamic(n, IG_ID_QUANTIZED__LINEAR_DYNAMIC, &packed);
  return run_packed(
      n, draw_chance(n->d, 50) ? IG_ID_QUANTIZED__LINEAR : IG_ID_QUANTIZED__LINEAR_RELU, &packed);
}

static ig_tensor *convolution(net *n) {
  if (n->x->ndim != 4) return NULL;
  int64_t in = net_size(n->x, 1);
  int64_t groups = draw_chance(n->d, 70) ? 1 : in;
  int64_t out = groups > 1 ? in : net_between(n, 1, 20);
  int64_t kernel = net_between(n, 1, 3);
  ig_tensor *w = bytes(n, (int64_t[]){out, groups ? in / groups : in, kernel, kernel}, 4, 0);
  ig_tensor *b = w && draw_chance(n->d, 60) ? net_vector(n, out, 1, 0) : NULL;
  ig_value packed;
  const ig_value given[] = {ig_of_tensor(w),
                            ig_of_tensor(b),
                            net_repeated(n, net_between(n, 1, 2), 2),
                            net_repeated(n, net_between(n, 0, 2), 2),
                            net_repeated(n, net_between(n, 1, 2), 2),
                            ig_of_i64(groups)};
  if (!w || !pack(n, IG_ID_QUANTIZED__CONV2D_PREPACK, given, COUNT(given), &packed)) return NULL;
  if (!n->x->quantizer) return run_dynamic(n, IG_ID_QUANTIZED__CONV2D_DYNAMIC, &packed);
  return run_packed(
      n, draw_chance(n->d, 50) ? IG_ID_QUANTIZED__CONV2D__NEW : IG_ID_QUANTIZED__CONV2D_RELU__NEW,
      &packed);
}

static ig_tensor *transposed(net *n) {
  if (n->x->ndim != 4 || !n->x->quantizer) return NULL;
  int64_t out = net_between(n, 1, 8);
  int64_t kernel = net_between(n, 1, 3);
  ig_tensor *w = bytes(n, (int64_t[]){net_size(n->x, 1), out, kernel, kernel}, 4, 1);
  ig_value packed;
  const ig_value given[] = {ig_of_tensor(w),
                            ig_none(),
                            net_repeated(n, net_between(n, 1, 2), 2),
                            net_repeated(n, net_between(n, 0, 1), 2),
                            net_repeated(n, net_between(n, 0, 1), 2),
                            net_repeated(n, 1, 2),
                            ig_of_i64(1)};
  if (!w || !pack(n, IG_ID_QUANTIZED__CONV_TRANSPOSE2D_PREPACK, given, COUNT(given), &packed))
    return NULL;
  return run_packed(n, IG_ID_QUANTIZED__CONV_TRANSPOSE2D, &packed);
}

static ig_tensor *combine(net *n) {
  static const unsigned ids[] = {IG_ID_QUANTIZED__ADD, IG_ID_QUANTIZED__ADD_RELU,
                                 IG_ID_QUANTIZED__MUL, IG_ID_QUANTIZED__MUL_RELU};
  ig_tensor *other = n->saved ? n->saved : n->x;
  if (draw_chance(n->d, 30)) {
    ig_tensor *const both[] = {n->x, other};
    const ig_value joined[] = {net_list(n, both, 2), ig_of_i64(net_between(n, 0, 3)),
                               ig_of_f64(0.1), ig_of_i64(net_number(n, 2))};
    return net_call(n, IG_ID_QUANTIZED__CAT, joined, COUNT(joined));
  }
  const ig_value given[] = {ig_of_tensor(n->x), ig_of_tensor(other), ig_of_f64(0.1),
                            ig_of_i64(net_number(n, 1))};
  return net_call(n, ids[draw_below(n->d, COUNT(ids))], given, COUNT(given));
}

static ig_tensor *norm(net *n) {
  int64_t channels = net_number(n, net_size(n->x, 1));
  ig_tensor *v[] = {net_vector(n, channels, 0.2, 1), net_vector(n, channels, 1, 0),
                    net_vector(n, channels, 1, 0), net_vector(n, channels, 0.2, 1)};
  const ig_value given[] = {ig_of_tensor(n->x), ig_of_tensor(v[0]), ig_of_tensor(v[1]),
                            ig_of_tensor(v[2]), ig_of_tensor(v[3]), ig_of_f64(1e-5),
                            ig_of_f64(0.05),    ig_of_i64(1)};
  if (!v[0] || !v[1] || !v[2] || !v[3]) return NULL;
  return net_call(n, n->x->ndim == 4 ? IG_ID_QUANTIZED__BATCH_NORM2D : IG_ID_QUANTIZED__BATCH_NORM,
                  given, COUNT(given));
}

// Operators that take quantized tensors as they are.
static ig_tensor *plain(net *n) {
  static const unsigned ids[] = {IG_ID_RELU,        IG_ID_SIGMOID, IG_ID_TANH,
                                 IG_ID_HARDSIGMOID, IG_ID_CLONE,   IG_ID_HARDSWISH,
                                 IG_ID_RELU6,       IG_ID_ELU,     IG_ID_FLATTEN_USING_INTS};
  if (n->x->ndim == 4 && draw_chance(n->d, 40)) {
    const ig_value given[] = {ig_of_tensor(n->x), net_repeated(n, net_between(n, 1, 3), 2),
                              net_repeated(n, net_between(n, 1, 2), 2)};
    return net_call(n, draw_chance(n->d, 50) ? IG_ID_MAX_POOL2D : IG_ID_AVG_POOL2D, given,
                    COUNT(given));
  }
  return net_unary(n, ids[draw_below(n->d, COUNT(ids))], n->x);
}

static ig_tensor *quantize(net *n) {
  static const ig_dtype dtypes[] = {IG_QU8, IG_QU8, IG_QI8, IG_QI32};
  const ig_value given[] = {ig_of_tensor(n->x), ig_of_f64(0.05), ig_of_i64(net_between(n, 0, 9)),
                            ig_of_dtype(dtypes[draw_below(n->d, COUNT(dtypes))])};
  return net_call(n, IG_ID_QUANTIZE_PER_TENSOR, given, COUNT(given));
}

ig_tensor *net_quantized(net *n) {
  static ig_tensor *(*const layers[])(net * n) = {convolution, linear,     combine,
                                                  plain,       transposed, norm};
  if (!n->x->quantizer)
    return draw_chance(n->d, 60) ? quantize(n) : draw_chance(n->d, 50) ? linear(n) : convolution(n);
  for (int tries = 0; tries < 6; tries++) {
    ig_tensor *next = draw_chance(n->d, 10) ? net_unary(n, IG_ID_DEQUANTIZE_SELF, n->x)
                                            : layers[draw_below(n->d, COUNT(layers))](n);
    if (next) n->x = next;
    if (!n->x->quantizer) break;
  }
  return n->x;
}
