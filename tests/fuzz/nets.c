// SPDX-License-Identifier: Apache-2.0
#include "nets.h"

#include "fuzz.h"
#include "ingot/aten.h"
#include "nets_layers.h"
#include "op/formula.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

enum { RECURRENT_WEIGHTS = 16 };

// ---- arguments

// The usual number, rarely one that no layer should have.
int64_t net_number(net *n, int64_t usual) {
  return draw_chance(n->d, 1) ? fuzz_int(n->d) : usual;
}

int64_t net_between(net *n, int64_t first, int64_t last) {
  return net_number(n, first + (int64_t)draw_below(n->d, (size_t)(last - first + 1)));
}

ig_value net_repeated(net *n, int64_t v, size_t count) {
  ig_int *at = ig_scope_array(n->c, count + 1, sizeof *at);
  for (size_t i = 0; at && i < count; i++) at[i] = ig_const(v);
  return at ? ig_of_ints(at, count) : ig_none();
}

ig_value net_ints(net *n, const int64_t *v, size_t count) {
  ig_int *at = ig_scope_array(n->c, count + 1, sizeof *at);
  for (size_t i = 0; at && i < count; i++) at[i] = ig_const(v[i]);
  return at ? ig_of_ints(at, count) : ig_none();
}

ig_value net_list(net *n, ig_tensor *const *v, size_t count) {
  ig_value *at = ig_scope_array(n->c, count + 1, sizeof *at);
  for (size_t i = 0; at && i < count; i++) at[i] = ig_of_tensor(v[i]);
  return at ? ig_of_list(at, count) : ig_none();
}

int64_t net_size(const ig_tensor *t, int dim) {
  return dim < t->ndim ? ig_sizes(t)[dim].value : 1;
}

int64_t net_last_size(const ig_tensor *t) {
  return t->ndim ? net_size(t, t->ndim - 1) : 1;
}

// Weights in the dtype of the network; NULL: not made.
ig_tensor *net_weights(net *n, const int64_t *sizes, int ndim, double scale, double shift) {
  ig_tensor *t = ig_tensor_empty(n->c, IG_F32, sizes, ndim);
  for (int64_t i = 0; t && i < ig_tensor_numel(t); i++) {
    n->seed = n->seed * 1664525U + 1013904223U;
    ((float *)ig_tensor_data(t))[i] =
        (float)(((double)(n->seed >> 8) / 8388608.0 - 1) * scale + shift);
  }
  if (t && n->x && n->x->dtype != IG_F32 && !n->x->quantizer)
    t = ig_to_dtype(n->c, t, ig_of_dtype(n->x->dtype));
  ig_ctx_clear(n->c);
  return t;
}

ig_tensor *net_vector(net *n, int64_t size, double scale, double shift) {
  return net_weights(n, &size, 1, scale, shift);
}

// ---- calls

// The leading arguments, the others by default; NULL: refused.
ig_tensor *net_call(net *n, unsigned id, const ig_value *given, size_t count) {
  const ig_lib *lib = ig_lib_get(n->c);
  fuzz_call f = {.op = lib ? &lib->ops[id] : NULL, .raw = true};
  ig_value outs[IG_MAX_RETURNS];
  if (!f.op) return NULL;
  for (size_t i = 0; i < f.op->schema.nargs; i++) {
    f.args[i] = i < count ? given[i] : f.op->schema.args[i].def;
    f.from[i] = -1;
  }
  return fuzz_program_call(n->p, &f, outs) ? ig_value_tensor(&outs[0]) : NULL;
}

ig_tensor *net_unary(net *n, unsigned id, ig_tensor *x) {
  return x ? net_call(n, id, (ig_value[]){ig_of_tensor(x)}, 1) : NULL;
}

ig_tensor *net_binary(net *n, unsigned id, ig_tensor *a, ig_tensor *b) {
  return a && b ? net_call(n, id, (ig_value[]){ig_of_tensor(a), ig_of_tensor(b)}, 2) : NULL;
}

static ig_tensor *with_ints(net *n, unsigned id, ig_tensor *x, const int64_t *v, size_t count) {
  return x ? net_call(n, id, (ig_value[]){ig_of_tensor(x), net_ints(n, v, count)}, 2) : NULL;
}

// ---- layers: the new value, NULL if they do not apply or are refused

// Images [n, c, h, w], signals [n, c, t] and volumes, forward and transposed.
static ig_tensor *convolution(net *n) {
  ig_tensor *x = n->x;
  if (x->ndim < 3 || x->ndim > 5) return NULL;
  size_t space = (size_t)x->ndim - 2;
  int64_t in = net_size(x, 1);
  int64_t groups = draw_chance(n->d, 70) ? 1 : draw_chance(n->d, 50) ? in : net_between(n, 1, 4);
  bool transposed = draw_chance(n->d, 15);
  bool several = groups > 1 && groups < 64;
  int64_t out =
      several ? net_number(n, groups * (1 + draw_chance(n->d, 50))) : net_between(n, 1, 24);
  int64_t kernel = draw_chance(n->d, 50) ? 3 : net_between(n, 1, 5);
  int64_t sizes[5] = {transposed ? in : out, transposed ? out : in, kernel, kernel, kernel};
  if (groups > 0) sizes[1] /= groups;
  if (draw_chance(n->d, 15)) sizes[x->ndim - 1] = net_between(n, 1, 4);
  ig_value stride = net_repeated(n, draw_chance(n->d, 70) ? 1 : net_between(n, 1, 3), space);
  ig_value padding =
      net_repeated(n, draw_chance(n->d, 60) ? kernel / 2 : net_between(n, 0, 3), space);
  ig_value dilation = net_repeated(n, draw_chance(n->d, 85) ? 1 : net_between(n, 1, 3), space);
  ig_tensor *w = net_weights(n, sizes, x->ndim, 0.4, 0);
  ig_tensor *b = draw_chance(n->d, 60) ? net_vector(n, out, 1, 0) : NULL;
  if (!w) return NULL;
  if (x->ndim == 4 && !transposed) {
    const ig_value given[] = {ig_of_tensor(x), ig_of_tensor(w), ig_of_tensor(b),  stride,
                              padding,         dilation,        ig_of_i64(groups)};
    return net_call(n, IG_ID_CONV2D, given, COUNT(given));
  }
  const ig_value given[] = {
      ig_of_tensor(x), ig_of_tensor(w),        ig_of_tensor(b),           stride,           padding,
      dilation,        ig_of_bool(transposed), net_repeated(n, 0, space), ig_of_i64(groups)};
  return net_call(n, IG_ID_CONVOLUTION, given, COUNT(given));
}

static ig_tensor *batch_norm(net *n) {
  if (n->x->ndim < 2) return NULL;
  int64_t channels = net_number(n, net_size(n->x, 1));
  ig_tensor *w = draw_chance(n->d, 80) ? net_vector(n, channels, 0.2, 1) : NULL;
  ig_tensor *b = w ? net_vector(n, channels, 1, 0) : NULL;
  ig_tensor *mean = net_vector(n, channels, 1, 0);
  ig_tensor *variance = net_vector(n, channels, 0.2, 1);
  const ig_value given[] = {ig_of_tensor(n->x), ig_of_tensor(w),        ig_of_tensor(b),
                            ig_of_tensor(mean), ig_of_tensor(variance), ig_of_bool(false),
                            ig_of_f64(0.1),     ig_of_f64(1e-5),        ig_of_bool(false)};
  return mean && variance ? net_call(n, IG_ID_BATCH_NORM, given, COUNT(given)) : NULL;
}

static ig_tensor *group_norm(net *n) {
  if (n->x->ndim < 2) return NULL;
  int64_t channels = net_size(n->x, 1);
  int64_t groups = channels % 2 ? 1 : net_between(n, 1, 2);
  ig_tensor *w = draw_chance(n->d, 70) ? net_vector(n, net_number(n, channels), 0.2, 1) : NULL;
  const ig_value given[] = {ig_of_tensor(n->x), ig_of_i64(groups), ig_of_tensor(w),
                            ig_of_tensor(w)};
  return net_call(n, IG_ID_GROUP_NORM, given, COUNT(given));
}

static ig_tensor *layer_norm(net *n) {
  int64_t size = net_number(n, net_last_size(n->x));
  ig_tensor *w = draw_chance(n->d, 80) ? net_vector(n, size, 0.2, 1) : NULL;
  const ig_value given[] = {ig_of_tensor(n->x), net_ints(n, &size, 1), ig_of_tensor(w),
                            ig_of_tensor(w)};
  return net_call(n, IG_ID_LAYER_NORM, given, COUNT(given));
}

static ig_tensor *activation(net *n) {
  static const unsigned ids[] = {
      IG_ID_RELU,     IG_ID_RELU,        IG_ID_RELU6, IG_ID_SILU,       IG_ID_GELU, IG_ID_HARDSWISH,
      IG_ID_SIGMOID,  IG_ID_HARDSIGMOID, IG_ID_ELU,   IG_ID_LEAKY_RELU, IG_ID_TANH, IG_ID_MISH,
      IG_ID_SOFTPLUS, IG_ID_HARDTANH,    IG_ID_RELU_, IG_ID_ABS,        IG_ID_NEG,  IG_ID_EXP};
  return net_unary(n, ids[draw_below(n->d, COUNT(ids))], n->x);
}

static ig_tensor *clamp(net *n) {
  const ig_value given[] = {ig_of_tensor(n->x), draw_chance(n->d, 80) ? ig_of_f64(-0.5) : ig_none(),
                            draw_chance(n->d, 80) ? ig_of_i64(net_between(n, -1, 6)) : ig_none()};
  return net_call(n, IG_ID_CLAMP, given, COUNT(given));
}

// As exporters write it: x * sigmoid(x), or GELU by erf.
static ig_tensor *formula(net *n) {
  ig_tensor *x = n->x;
  if (draw_chance(n->d, 50))
    return net_binary(n, IG_ID_MUL_TENSOR, x, net_unary(n, IG_ID_SIGMOID, x));
  ig_tensor *y = net_call(n, IG_ID_MUL_SCALAR,
                          (ig_value[]){ig_of_tensor(x), ig_of_f64(0.7071067811865476)}, 2);
  y = net_unary(n, IG_ID_ERF, y);
  if (y) y = net_call(n, IG_ID_ADD_SCALAR, (ig_value[]){ig_of_tensor(y), ig_of_i64(1)}, 2);
  y = net_binary(n, IG_ID_MUL_TENSOR, x, y);
  return y ? net_call(n, IG_ID_MUL_SCALAR, (ig_value[]){ig_of_tensor(y), ig_of_f64(0.5)}, 2) : NULL;
}

static ig_tensor *pool(net *n) {
  if (n->x->ndim != 4) return NULL;
  int64_t kernel = net_between(n, 1, 3);
  ig_value stride = net_repeated(n, net_between(n, 1, 2), 2);
  ig_value padding = net_repeated(n, draw_chance(n->d, 70) ? 0 : net_between(n, 0, 2), 2);
  const ig_value most[] = {ig_of_tensor(n->x),
                           net_repeated(n, kernel, 2),
                           stride,
                           padding,
                           net_repeated(n, draw_chance(n->d, 90) ? 1 : net_between(n, 1, 2), 2),
                           ig_of_bool(draw_chance(n->d, 30))};
  const ig_value average[] = {ig_of_tensor(n->x),
                              net_repeated(n, kernel, 2),
                              stride,
                              padding,
                              ig_of_bool(draw_chance(n->d, 30)),
                              ig_of_bool(draw_chance(n->d, 50))};
  switch (draw_below(n->d, 4)) {
    case 0:
      return net_call(n, IG_ID_MAX_POOL2D, most, COUNT(most));
    case 1:
      return net_call(n, IG_ID_AVG_POOL2D, average, COUNT(average));
    case 2:
      return net_call(n, IG_ID_ADAPTIVE_AVG_POOL2D,
                      (ig_value[]){ig_of_tensor(n->x), net_repeated(n, net_between(n, 1, 3), 2)},
                      2);
    default: {
      const ig_value given[] = {ig_of_tensor(n->x), net_ints(n, (int64_t[]){2, 3}, 2),
                                ig_of_bool(draw_chance(n->d, 70))};
      return net_call(n, IG_ID_MEAN_DIM, given, COUNT(given));
    }
  }
}

static ig_tensor *upsample(net *n) {
  if (n->x->ndim != 4) return NULL;
  ig_value sizes = net_ints(n, (int64_t[]){net_between(n, 1, 12), net_between(n, 1, 12)}, 2);
  if (draw_chance(n->d, 50))
    return net_call(n, IG_ID_UPSAMPLE_NEAREST2D, (ig_value[]){ig_of_tensor(n->x), sizes}, 2);
  const ig_value given[] = {ig_of_tensor(n->x), sizes, ig_of_bool(draw_chance(n->d, 50))};
  return net_call(n, IG_ID_UPSAMPLE_BILINEAR2D, given, COUNT(given));
}

// With an earlier value: residuals, gates, concatenations of channels.
static ig_tensor *combine(net *n) {
  static const unsigned ids[] = {IG_ID_ADD_TENSOR, IG_ID_ADD_TENSOR, IG_ID_MUL_TENSOR,
                                 IG_ID_SUB_TENSOR, IG_ID_ADD__TENSOR};
  if (!n->saved) return NULL;
  if (draw_chance(n->d, 60))
    return net_binary(n, ids[draw_below(n->d, COUNT(ids))], n->x, n->saved);
  ig_tensor *const both[] = {n->x, n->saved, n->x};
  size_t count = 2 + draw_below(n->d, 2);
  int64_t dim = n->x->ndim > 1 ? net_between(n, 1, n->x->ndim - 1) : 0;
  return net_call(n, IG_ID_CAT, (ig_value[]){net_list(n, both, count), ig_of_i64(dim)}, 2);
}

// A constant per channel, or of one element.
static ig_tensor *scale(net *n) {
  static const unsigned ids[] = {IG_ID_MUL_TENSOR, IG_ID_ADD_TENSOR, IG_ID_DIV_TENSOR,
                                 IG_ID_SUB_TENSOR};
  int64_t sizes[IG_MAX_DIM];
  int dim = draw_chance(n->d, 70) && n->x->ndim > 1 ? 1 : n->x->ndim - 1;
  for (int i = 0; i < n->x->ndim; i++) sizes[i] = i == dim ? net_size(n->x, i) : 1;
  ig_tensor *w = net_weights(n, sizes, n->x->ndim, 0.5, 1);
  return net_binary(n, ids[draw_below(n->d, COUNT(ids))], n->x, w);
}

static ig_tensor *linear(net *n) {
  int64_t out = net_between(n, 1, 24);
  int64_t in = net_number(n, net_last_size(n->x));
  ig_tensor *w = net_weights(n, (int64_t[]){out, in}, 2, 0.4, 0);
  ig_tensor *b = draw_chance(n->d, 70) ? net_vector(n, out, 1, 0) : NULL;
  const ig_value given[] = {ig_of_tensor(n->x), ig_of_tensor(w), ig_of_tensor(b)};
  if (!w) return NULL;
  if (draw_chance(n->d, 70)) return net_call(n, IG_ID_LINEAR, given, COUNT(given));
  return net_binary(n, IG_ID_MATMUL, n->x, net_weights(n, (int64_t[]){in, out}, 2, 0.4, 0));
}

// Images become sequences of pixels, sequences signals, and dims change places.
static ig_tensor *rearrange(net *n) {
  ig_tensor *x = n->x;
  const ig_value flatten[] = {ig_of_tensor(x), ig_of_i64(x->ndim > 2 ? 2 : 0), ig_of_i64(-1)};
  const ig_value swap[] = {ig_of_tensor(x), ig_of_i64(net_between(n, 0, x->ndim)), ig_of_i64(-1)};
  const ig_value last[] = {ig_of_tensor(x), ig_of_memory_format(IG_CHANNELS_LAST)};
  const ig_value expand[] = {ig_of_tensor(x), ig_of_i64(-1)};
  switch (draw_below(n->d, 5)) {
    case 0:
      return net_call(n, IG_ID_FLATTEN_USING_INTS, flatten, COUNT(flatten));
    case 1:
      return net_call(n, IG_ID_TRANSPOSE_INT, swap, COUNT(swap));
    case 2:
      return net_call(n, IG_ID_CONTIGUOUS, last, x->ndim == 4 ? 2 : 1);
    case 3:
      return x->ndim < 4 ? net_call(n, IG_ID_UNSQUEEZE, expand, COUNT(expand)) : NULL;
    default:
      return net_unary(n, IG_ID_CLONE, x);
  }
}

static ig_tensor *cut(net *n) {
  int64_t dim = net_between(n, 0, n->x->ndim ? n->x->ndim - 1 : 0);
  if (draw_chance(n->d, 30)) {
    int64_t pads[] = {net_between(n, -1, 2), net_between(n, 0, 2)};
    return with_ints(n, IG_ID_CONSTANT_PAD_ND, n->x, pads, 2);
  }
  const ig_value given[] = {ig_of_tensor(n->x), ig_of_i64(dim), ig_of_i64(net_between(n, 0, 2)),
                            ig_of_i64(net_between(n, -1, 12)), ig_of_i64(net_between(n, 1, 2))};
  return net_call(n, IG_ID_SLICE_TENSOR, given, COUNT(given));
}

static ig_tensor *softmax(net *n) {
  const ig_value given[] = {ig_of_tensor(n->x), ig_of_i64(net_between(n, -1, 1))};
  return net_call(n, IG_ID_SOFTMAX_INT, given, COUNT(given));
}

// [n, t, heads * size] -> [n, heads, t, size]
static ig_tensor *heads_of(net *n, ig_tensor *x, int64_t heads) {
  if (!x) return NULL;
  int64_t sizes[] = {net_size(x, 0), net_size(x, 1), heads, -1};
  ig_tensor *y = with_ints(n, IG_ID_VIEW, x, sizes, 4);
  return with_ints(n, IG_ID_PERMUTE, y, (int64_t[]){0, 2, 1, 3}, 4);
}

static ig_tensor *projection(net *n, int64_t out) {
  ig_tensor *w = net_weights(n, (int64_t[]){out, net_last_size(n->x)}, 2, 0.4, 0);
  return net_binary(n, IG_ID_LINEAR, n->x, w);
}

// Self-attention over a sequence, as the operator or written out.
static ig_tensor *attention(net *n) {
  if (n->x->ndim != 3) return NULL;
  int64_t heads = 1 + (int64_t)draw_below(n->d, 3);
  int64_t width = net_number(n, heads * (1 + (int64_t)draw_below(n->d, 8)));
  ig_tensor *q = heads_of(n, projection(n, width), heads);
  ig_tensor *k = q ? heads_of(n, projection(n, width), heads) : NULL;
  ig_tensor *v = k ? heads_of(n, projection(n, width), heads) : NULL;
  ig_tensor *y = NULL;
  if (!v) return NULL;
  int64_t length = net_size(n->x, 1);
  ig_tensor *mask =
      draw_chance(n->d, 40) ? net_weights(n, (int64_t[]){1, 1, length, length}, 4, 2, 0) : NULL;
  if (draw_chance(n->d, 40)) {
    const ig_value given[] = {ig_of_tensor(q), ig_of_tensor(k), ig_of_tensor(v),
                              ig_of_tensor(mask)};
    y = net_call(n, IG_ID_SCALED_DOT_PRODUCT_ATTENTION, given, COUNT(given));
  } else {
    const ig_value swap[] = {ig_of_tensor(k), ig_of_i64(2), ig_of_i64(3)};
    ig_tensor *scores = net_binary(n, IG_ID_MATMUL, q, net_call(n, IG_ID_TRANSPOSE_INT, swap, 3));
    if (scores)
      scores = net_call(n, IG_ID_MUL_SCALAR, (ig_value[]){ig_of_tensor(scores), ig_of_f64(0.3)}, 2);
    if (mask) scores = net_binary(n, IG_ID_ADD_TENSOR, scores, mask);
    if (scores)
      scores = net_call(n, IG_ID_SOFTMAX_INT, (ig_value[]){ig_of_tensor(scores), ig_of_i64(-1)}, 2);
    y = net_binary(n, IG_ID_MATMUL, scores, v);
  }
  y = with_ints(n, IG_ID_PERMUTE, y, (int64_t[]){0, 2, 1, 3}, 4);
  int64_t sizes[] = {net_size(n->x, 0), length, width};
  return with_ints(n, IG_ID_RESHAPE, y, sizes, 3);
}

// LSTM, GRU and plain recurrent layers over sequences [n, t, c].
static ig_tensor *recurrent(net *n) {
  static const struct {
    unsigned id;
    int64_t gates;
    size_t states;
  } kinds[] = {{IG_ID_LSTM_INPUT, 4, 2}, {IG_ID_GRU_INPUT, 3, 1}, {IG_ID_RNN_TANH_INPUT, 1, 1}};
  if (n->x->ndim != 3) return NULL;
  size_t kind = draw_below(n->d, COUNT(kinds));
  int64_t hidden = 1 + (int64_t)draw_below(n->d, 9);
  int64_t layers = 1 + (int64_t)draw_below(n->d, 2);
  int64_t ways = 1 + draw_chance(n->d, 30);
  bool biases = draw_chance(n->d, 70);
  bool first = draw_chance(n->d, 60);
  ig_tensor *params[RECURRENT_WEIGHTS];
  size_t nparams = 0;
  for (int64_t i = 0; i < layers * ways; i++) {
    int64_t in = i < ways ? net_last_size(n->x) : hidden * ways;
    int64_t rows = kinds[kind].gates * hidden;
    params[nparams++] = net_weights(n, (int64_t[]){rows, net_number(n, in)}, 2, 0.4, 0);
    params[nparams++] = net_weights(n, (int64_t[]){rows, hidden}, 2, 0.4, 0);
    if (biases) params[nparams++] = net_vector(n, rows, 0.5, 0);
    if (biases) params[nparams++] = net_vector(n, rows, 0.5, 0);
  }
  for (size_t i = 0; i < nparams; i++) {
    if (!params[i]) return NULL;
  }
  int64_t sizes[] = {layers * ways, net_size(n->x, first ? 0 : 1), hidden};
  ig_tensor *states[] = {net_weights(n, sizes, 3, 0.5, 0), net_weights(n, sizes, 3, 0.5, 0)};
  if (!states[0] || !states[1]) return NULL;
  const ig_value given[] = {
      ig_of_tensor(n->x),
      kinds[kind].states == 2 ? net_list(n, states, 2) : ig_of_tensor(states[0]),
      net_list(n, params, nparams),
      ig_of_bool(biases),
      ig_of_i64(layers),
      ig_of_f64(0),
      ig_of_bool(false),
      ig_of_bool(ways == 2),
      ig_of_bool(first)};
  return net_call(n, kinds[kind].id, given, COUNT(given));
}

// Rounded to eight bits and back, in one step.
static ig_tensor *quantize(net *n) {
  const ig_value given[] = {ig_of_tensor(n->x), ig_of_f64(0.05), ig_of_i64(net_between(n, -3, 3)),
                            ig_of_i64(net_number(n, -128)), ig_of_i64(net_number(n, 127))};
  return net_call(n, IG_ID_FAKE_QUANTIZE_PER_TENSOR_AFFINE, given, COUNT(given));
}

static ig_tensor *convert(net *n) {
  static const ig_dtype dtypes[] = {IG_F32, IG_F64, IG_F16, IG_BF16, IG_I64};
  const ig_value given[] = {ig_of_tensor(n->x),
                            ig_of_dtype(dtypes[draw_below(n->d, COUNT(dtypes))])};
  return net_call(n, IG_ID_TO_DTYPE, given, COUNT(given));
}

// How often a layer is drawn.
static const struct {
  ig_tensor *(*add)(net *n);
  unsigned weight;
} kinds[] = {{convolution, 24}, {activation, 16},   {batch_norm, 10}, {combine, 10},
             {linear, 10},      {pool, 6},          {rearrange, 8},   {scale, 6},
             {attention, 5},    {recurrent, 4},     {layer_norm, 4},  {formula, 4},
             {cut, 4},          {clamp, 3},         {upsample, 3},    {group_norm, 3},
             {softmax, 2},      {net_quantized, 8}, {quantize, 2},    {convert, 2}};

static ig_tensor *add_layer(net *n) {
  if (n->x->quantizer && draw_chance(n->d, 90)) return net_quantized(n);
  unsigned sum = 0;
  for (size_t i = 0; i < COUNT(kinds); i++) sum += kinds[i].weight;
  size_t at = draw_below(n->d, sum);
  size_t kind = 0;
  while (at >= kinds[kind].weight) at -= kinds[kind++].weight;
  return kinds[kind].add(n);
}

static ig_tensor *input(net *n) {
  int ndim = draw_chance(n->d, 65) ? 4 : 2 + (int)draw_below(n->d, 4);
  int64_t sizes[IG_MAX_DIM];
  static const ig_dtype rare[] = {IG_F64, IG_F16, IG_BF16, IG_C64};
  size_t most = ndim > 4 ? 4 : 12;
  for (int i = 0; i < ndim; i++) sizes[i] = 1 + (int64_t)draw_below(n->d, i == 0 ? 3 : most);
  if (draw_chance(n->d, 25) && ndim > 1) sizes[1] = 8 * (1 + (int64_t)draw_below(n->d, 3));
  if (draw_chance(n->d, 2)) sizes[draw_below(n->d, (size_t)ndim)] = 0;
  ig_tensor *x = net_weights(n, sizes, ndim, 2, 0);
  if (x && draw_chance(n->d, 12))
    x = ig_to_dtype(n->c, x, ig_of_dtype(rare[draw_below(n->d, COUNT(rare))]));
  ig_ctx_clear(n->c);
  return x;
}

// The last result, and others now and then.
static void choose_outputs(fuzz_program *p) {
  for (size_t k = 0; k < p->nsteps; k++) {
    bool last = k + 1 == p->nsteps;
    for (size_t i = 0; i < p->steps[k].count; i++) {
      size_t at = p->steps[k].first + i;
      if (p->pool.at[at].kind == IG_KIND_TENSOR && (last || draw_chance(&p->d, 4)))
        p->outputs[p->noutputs++] = at;
    }
  }
}

void fuzz_net_make(ig_ctx *c, draw d, bool grads, fuzz_program *p) {
  fuzz_program_begin(c, d, grads, p);
  net n = {.p = p, .c = c, .d = &p->d, .seed = 1 + draw_byte(&p->d)};
  n.x = input(&n);
  while (n.x && !draw_ended(&p->d) && p->nsteps < FUZZ_CALLS) {
    ig_tensor *next = add_layer(&n);
    ig_ctx_clear(c);
    if (next) n.x = next;
    if (draw_chance(&p->d, 20)) n.saved = n.x;
  }
  if (p->torn) p->comparable = false;
  p->fixed = !grads;
  choose_outputs(p);
}
