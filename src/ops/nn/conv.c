// SPDX-License-Identifier: Apache-2.0
// Convolutions: one operator over one to three dimensions, plain or transposed, and its gradients.
#include "kernels/conv.h"

#include <string.h>

#include "op/formula.h"
#include "op/refuse.h"
#include "op/strides.h"
#include "ops/reduce/reduce.h"
#include "tensor/copy.h"

// Positions of convolution's arguments: input, weight, bias, stride, padding, dilation, transposed,
// output_padding, groups; the backward form has them one later (grad_output in front).
typedef struct call {
  const ig_tensor *x;
  const ig_tensor *w;
  const ig_value *stride;
  const ig_value *padding;
  const ig_value *dilation;
  const ig_value *output_padding;
  bool transposed;
  ig_int groups;
} call;

static call call_of(const ig_value *args, size_t x, size_t options) {
  return (call){args[x].tensor,     args[x + 1].tensor, &args[options],      &args[options + 1],
                &args[options + 2], &args[options + 4], args[options + 3].b, args[options + 5].i};
}

// A list of one entry applies to every dimension.
static ig_int entry(const ig_value *list, int i) {
  return list->ints.n == 1 ? list->ints.at[0] : list->ints.at[i];
}

static void shape_text(ig_ctx *c, const ig_tensor *t, ig_str *s) {
  *s = ig_str_make(c->alloc);
  for (int d = 0; d < t->ndim; d++) {
    ig_str_add(s, "%s%s", d ? ", " : "", ig_int_text(c, ig_sizes(t)[d]));
  }
}

static bool check_rank(ig_ctx *c, const call *k) {
  if (k->w->ndim >= 3 && k->w->ndim <= 5 && k->x->ndim == k->w->ndim) return true;
  ig_str w;
  ig_str x;
  shape_text(c, k->w, &w);
  shape_text(c, k->x, &x);
  ig_fail_text(c, IG_RUNTIME,
               "Expected %dD (unbatched) or %dD (batched) input to conv%s%dd, but got input of "
               "size: [%s]",
               k->w->ndim - 1, k->w->ndim, k->transposed ? "_transpose" : "", k->w->ndim - 2,
               x.at ? x.at : "");
  ig_str_free(&w);
  ig_str_free(&x);
  return false;
}

static bool check_count(ig_ctx *c, const ig_value *list, const char *name, size_t n) {
  size_t have = list->ints.n;
  if (have == n || have == 1) return true;
  ig_fail_text(c, IG_RUNTIME,
               "expected %s to be a single integer value or a list of %zu values to match the "
               "convolution dimensions, but got %zu values",
               name, n, have);
  return false;
}

static bool check_lists(ig_ctx *c, const call *k) {
  size_t n = (size_t)k->x->ndim - 2;
  const ig_value *lists[] = {k->stride, k->padding, k->dilation, k->output_padding};
  static const char *const names[] = {"stride", "padding", "dilation", "output_padding"};
  for (int i = 0; i < 4; i++) {
    size_t have = lists[i]->ints.n;
    if (!check_count(c, lists[i], names[i], n)) return false;
    for (size_t d = 0; d < have; d++) {
      ig_int v = lists[i]->ints.at[d];
      if (!v.expr && v.value > INT32_MAX) {
        ig_fail_text(c, IG_RUNTIME, "integer out of range: %s of %s", names[i], ig_int_text(c, v));
        return false;
      }
      bool positive = i == 0 || i == 2;
      if (!v.expr && v.value < (positive ? 1 : 0)) {
        ig_fail_text(c, IG_RUNTIME,
                     positive ? "non-positive %s is not supported" : "negative %s is not supported",
                     names[i]);
        return false;
      }
    }
  }
  return true;
}

static bool check_channels(ig_ctx *c, const call *k, const ig_tensor *bias) {
  if (ig_int_is(c, k->groups, IG_LE, ig_const(0))) {
    ig_fail_text(c, IG_RUNTIME, "non-positive groups is not supported");
    return false;
  }
  ig_int per_group = k->transposed ? ig_sizes(k->w)[0] : ig_sizes(k->w)[1];
  ig_int want = k->transposed ? per_group : ig_int_mul(c, per_group, k->groups);
  if (!ig_int_eq(c, ig_sizes(k->x)[1], want)) {
    if (c->status != IG_OK) return false;
    ig_str w;
    ig_str x;
    shape_text(c, k->w, &w);
    shape_text(c, k->x, &x);
    ig_fail_text(c, IG_RUNTIME,
                 "Given %sgroups=%s, weight of size [%s], expected input[%s] to have %s channels, "
                 "but got %s channels instead",
                 k->transposed ? "transposed=1, " : "", ig_int_text(c, k->groups), w.at, x.at,
                 ig_int_text(c, want), ig_int_text(c, ig_sizes(k->x)[1]));
    ig_str_free(&w);
    ig_str_free(&x);
    return false;
  }
  ig_int first = ig_sizes(k->w)[0];
  bool few = ig_int_is(c, first, IG_LT, k->groups);
  if (few || !ig_int_eq_i64(c, ig_int_mod(c, first, k->groups), 0)) {
    if (c->status != IG_OK) return false;
    ig_fail_text(c, IG_RUNTIME,
                 "Given groups=%s, expected weight to be %s %s at dimension 0, but got weight of "
                 "size %s instead",
                 ig_int_text(c, k->groups), few ? "at least" : "divisible by",
                 ig_int_text(c, k->groups), ig_sizes_text(c, ig_sizes(k->w), (size_t)k->w->ndim));
    return false;
  }
  ig_int cout = k->transposed ? ig_int_mul(c, ig_sizes(k->w)[1], k->groups) : ig_sizes(k->w)[0];
  if (bias && (bias->ndim != 1 || !ig_int_eq(c, ig_sizes(bias)[0], cout))) {
    ig_fail_text(c, IG_RUNTIME,
                 "Given weight of size with %s output channels, expected bias to be 1-dimensional "
                 "with as many elements",
                 ig_int_text(c, cout));
    return false;
  }
  if (k->x->dtype != k->w->dtype || (bias && bias->dtype != k->x->dtype)) {
    const ig_tensor *other = k->x->dtype != k->w->dtype ? k->w : bias;
    ig_fail_text(c, IG_RUNTIME, "Input type (%s) and %s type (%s) should be the same",
                 ig_dtype_text(k->x->dtype), other == bias ? "bias" : "weight",
                 ig_dtype_text(other->dtype));
    return false;
  }
  return c->status == IG_OK;
}

static ig_int out_size(ig_ctx *c, const call *k, int d) {
  ig_int in = ig_sizes(k->x)[d + 2];
  ig_int kernel = ig_sizes(k->w)[d + 2];
  ig_int less = ig_int_sub(c, kernel, ig_const(1));
  ig_int reach = ig_int_mul(c, entry(k->dilation, d), less);
  ig_int pads = ig_int_mul(c, entry(k->padding, d), ig_const(2));
  if (k->transposed) {
    ig_int size = ig_int_mul(c, ig_int_sub(c, in, ig_const(1)), entry(k->stride, d));
    size = ig_int_sub(c, size, pads);
    size = ig_int_add(c, size, reach);
    size = ig_int_add(c, size, entry(k->output_padding, d));
    return ig_int_add(c, size, ig_const(1));
  }
  ig_int room = ig_int_sub(c, ig_int_add(c, in, pads), reach);
  room = ig_int_sub(c, room, ig_const(1));
  if (ig_int_is(c, room, IG_LT, ig_const(0))) {
    ig_fail_text(c, IG_RUNTIME,
                 "Calculated padded input size per channel: (%s). Kernel size: (%s). Kernel size "
                 "can't be greater than actual input size",
                 ig_int_text(c, ig_int_add(c, in, pads)),
                 ig_int_text(c, ig_int_add(c, reach, ig_const(1))));
  }
  return ig_int_add(c, ig_int_floordiv(c, room, entry(k->stride, d)), ig_const(1));
}

static bool is_channels_last(ig_ctx *c, const ig_tensor *t) {
  return ig_tensor_suggest_format(c, t) != IG_CONTIGUOUS;
}

static void format_like(ig_ctx *c, bool last, ig_meta *m) {
  if (!last) return;
  ig_meta_format(c, m, m->ndim == 4 ? IG_CHANNELS_LAST : IG_CHANNELS_LAST_3D);
  m->strided = true;
}

static bool wants_channels_last(ig_ctx *c, const call *k) {
  return k->x->ndim >= 4 && (is_channels_last(c, k->x) || is_channels_last(c, k->w));
}

static void conv_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  call k = call_of(args, 0, 3);
  (void)op;
  if (!check_rank(c, &k) || !check_lists(c, &k)) return;
  if (!check_channels(c, &k, ig_value_tensor(&args[2]))) return;
  for (int d = 2; d < k.x->ndim; d++) {
    bool nothing = ig_int_eq_i64(c, ig_sizes(k.x)[0], 0) || ig_int_eq_i64(c, ig_sizes(k.x)[1], 0);
    if (nothing || !ig_int_eq_i64(c, ig_sizes(k.x)[d], 0)) continue;
    ig_fail_text(c, IG_RUNTIME,
                 "Only zero batch or zero channel inputs are supported, but got input shape: %s",
                 ig_sizes_text(c, ig_sizes(k.x), (size_t)k.x->ndim));
    return;
  }
  ig_meta_push_dim(c, out, ig_sizes(k.x)[0]);
  ig_int cout = k.transposed ? ig_int_mul(c, ig_sizes(k.w)[1], k.groups) : ig_sizes(k.w)[0];
  ig_meta_push_dim(c, out, cout);
  for (int d = 0; d + 2 < k.x->ndim; d++) ig_meta_push_dim(c, out, out_size(c, &k, d));
  format_like(c, wants_channels_last(c, &k), out);
}

static ig_conv geometry(ig_ctx *c, const call *k, const ig_int *out, bool last) {
  int nd = k->x->ndim - 2;
  int64_t groups = ig_int_specialize(c, k->groups);
  int64_t w0 = ig_sizes(k->w)[0].value;
  int64_t w1 = ig_sizes(k->w)[1].value;
  ig_conv g = ig_conv_make(ig_elem_of(k->x->dtype), ig_sizes(k->x)[0].value,
                           k->transposed ? w0 : w1 * groups, k->transposed ? w1 * groups : w0);
  g.channels_last = last;
  g.transposed = k->transposed;
  g.groups = groups;
  for (int d = 0; d < nd; d++) {
    int at = 3 - nd + d;
    g.in[at] = ig_sizes(k->x)[d + 2].value;
    g.out[at] = out[d + 2].value;
    g.kernel[at] = ig_sizes(k->w)[d + 2].value;
    g.stride[at] = entry(k->stride, d).value;
    g.padding[at] = entry(k->padding, d).value;
    g.dilation[at] = entry(k->dilation, d).value;
  }
  return g;
}

// The tensor's memory if it has the layout of the kernel, else a copy that does.
static const void *laid_out(ig_ctx *c, const ig_tensor *t, bool last) {
  ig_meta m;
  ig_meta_of(t, &m);
  m.offset = ig_const(0);
  if (last) {
    ig_meta_format(c, &m, t->ndim == 4 ? IG_CHANNELS_LAST : IG_CHANNELS_LAST_3D);
  } else {
    ig_meta_contiguous(c, &m);
  }
  bool same = true;
  for (int d = 0; d < t->ndim; d++) {
    bool one = ig_sizes(t)[d].value == 1;
    same = same && (one || m.stride[d].value == ig_strides(t)[d].value);
  }
  if (same) return ig_tensor_data(t);
  ig_tensor *copy = ig_tensor_make(c, &m, false);
  if (!copy) return NULL;
  ig_tensor_copy(copy, t);
  return ig_tensor_data(copy);
}

// No input channels: nothing is added to the bias.
static void only_bias(const ig_tensor *bias, ig_tensor *out) {
  ig_value zero = ig_of_i64(0);
  if (!bias) {
    ig_tensor_fill(out, &zero);
    return;
  }
  int64_t size[IG_MAX_DIM];
  int64_t to[IG_MAX_DIM];
  int64_t from[IG_MAX_DIM] = {0};
  for (int d = 0; d < out->ndim; d++) {
    size[d] = ig_sizes(out)[d].value;
    to[d] = ig_strides(out)[d].value;
  }
  from[1] = ig_strides(bias)[0].value;
  if (ig_tensor_numel(out) == 0) return;
  ig_strided_copy(out->ndim, size, (ig_strided){ig_tensor_data(out), out->dtype, to},
                  (ig_strided){ig_tensor_data(bias), bias->dtype, from});
}

// Complex tensors by their parts: real numbers first, then imaginary ones.
typedef struct parts {
  ig_tensor *re;
  ig_tensor *im;
} parts;

static parts parts_of(ig_ctx *c, const ig_tensor *t) {
  if (!t) return (parts){NULL, NULL};
  ig_dtype real = ig_to_real(t->dtype);
  size_t n = (size_t)ig_tensor_numel(t);
  int64_t sizes[IG_MAX_DIM];
  for (int d = 0; d < t->ndim; d++) sizes[d] = ig_sizes(t)[d].value;
  parts p = {ig_tensor_empty(c, real, sizes, t->ndim), NULL};
  p.im = ig_tensor_empty(c, real, sizes, t->ndim);
  size_t size = ig_dtype_size(real);
  char *both = ig_scope_array(c, ig_mem_mul(2, n), size);
  if (!p.re || !p.im || !both) return (parts){NULL, NULL};
  ig_tensor_read(t, t->dtype, both);
  for (size_t i = 0; i < n; i++) {
    memcpy((char *)ig_tensor_data(p.re) + i * size, both + 2 * i * size, size);
    memcpy((char *)ig_tensor_data(p.im) + i * size, both + (2 * i + 1) * size, size);
  }
  return p;
}

static void join_parts(ig_ctx *c, parts p, ig_tensor *out) {
  size_t n = (size_t)ig_tensor_numel(out);
  if (!p.re || !p.im || c->status != IG_OK) return;
  size_t size = ig_dtype_size(p.re->dtype);
  char *both = ig_scope_array(c, ig_mem_mul(4, n), size);
  if (!both) return;
  char *re = both + 2 * n * size;
  char *im = re + n * size;
  ig_tensor_read(p.re, p.re->dtype, re);
  ig_tensor_read(p.im, p.im->dtype, im);
  for (size_t i = 0; i < n; i++) {
    memcpy(both + 2 * i * size, re + i * size, size);
    memcpy(both + (2 * i + 1) * size, im + i * size, size);
  }
  int64_t sizes[IG_MAX_DIM];
  for (int d = 0; d < out->ndim; d++) sizes[d] = ig_sizes(out)[d].value;
  ig_foreign memory = {.data = both, .bytes = 2 * n * size};
  ig_tensor *joined = ig_tensor_wrap(c, out->dtype, sizes, out->ndim, &memory);
  if (joined) ig_tensor_copy(out, joined);
}

// Gradients by the conjugated operands: g conj(w), g conj(x), and the sum of g.
static void backward_complex(ig_ctx *c, const ig_value *args, ig_value *outs) {
  parts g = parts_of(c, args[0].tensor);
  parts x = parts_of(c, args[1].tensor);
  parts w = parts_of(c, args[2].tensor);
  ig_value d[4][IG_MAX_RETURNS];
  ig_tensor *const gs[] = {g.re, g.im, g.im, g.re};
  ig_tensor *const xs[] = {x.re, x.im, x.re, x.im};
  ig_tensor *const ws[] = {w.re, w.im, w.re, w.im};
  for (int k = 0; k < 4; k++) {
    ig_convolution_backward(c, gs[k], xs[k], ws[k], args[3], args[4], args[5], args[6], args[7].b,
                            args[8], args[9].i, args[10], d[k]);
  }
  for (int i = 0; i < 3 && c->status == IG_OK; i++) {
    if (outs[i].kind != IG_KIND_TENSOR) continue;
    parts p = {d[0][i].tensor, d[2][i].tensor};
    if (i < 2) {  // re: g.re u.re + g.im u.im; im: g.im u.re - g.re u.im
      p.re = ig_add_tensor(c, p.re, d[1][i].tensor);
      p.im = ig_sub_tensor(c, p.im, d[3][i].tensor);
    }
    join_parts(c, p, outs[i].tensor);
  }
}

typedef struct conv_state {
  ig_conv shape;
  ig_operand operand[3];  // input, weight, bias
  bool has_room;          // the kernel takes a piece of memory
  size_t room;
  // Complex numbers: real and imaginary parts of each operand, the four products, the result.
  size_t parts[3];
  size_t products;
  ig_operand result;
} conv_state;

static void prepare_complex(const ig_value *args, const ig_tensor *out, conv_state *s,
                            ig_need *need) {
  ig_dtype real = ig_to_real(out->dtype);
  for (int i = 0; i < 3; i++) {
    const ig_tensor *t = ig_value_tensor(&args[i]);
    if (!t) continue;
    s->operand[i] = ig_operand_copy(need, t, t->dtype, IG_ROW_MAJOR, 0);
    s->parts[i] =
        ig_need_take(need, ig_mem_mul(2, (size_t)ig_tensor_numel(t)), ig_dtype_size(real));
  }
  size_t n = (size_t)ig_tensor_numel(out);
  s->products = ig_need_take(need, ig_mem_mul(4, n), ig_dtype_size(real));
  s->result = ig_operand_copy(need, out, out->dtype, IG_ROW_MAJOR, 0);
}

static void conv_prepare(ig_ctx *c, const ig_op *op, const ig_value *args, const ig_value *outs,
                         ig_prep *p) {
  IG_STATE(conv_state, s, p);
  call k = call_of(args, 0, 3);
  const ig_tensor *out = outs[0].tensor;
  bool complex = ig_dtype_is_complex(out->dtype);
  if (!complex && ig_elem_of(out->dtype) == IG_ELEM_COUNT) {
    ig_refuse_dtype(c, op->schema.name, out->dtype);
    return;
  }
  bool last = !complex && wants_channels_last(c, &k);
  s->shape = geometry(c, &k, ig_sizes(out), last);
  if (c->status != IG_OK) return;
  if (complex) {
    s->shape.elem = ig_elem_of(ig_to_real(out->dtype));
    prepare_complex(args, out, s, &p->need);
  } else {
    s->operand[0] =
        ig_operand_plan(&p->need, k.x, k.x->dtype, last ? IG_CHANNELS_INNERMOST : IG_ROW_MAJOR);
    s->operand[1] = ig_operand_plan(&p->need, k.w, k.w->dtype, IG_ROW_MAJOR);
    s->operand[2] = ig_operand_maybe(&p->need, &args[2], out->dtype);
  }
  s->has_room = ig_tensor_numel(k.w) && ig_tensor_numel(out) &&
                ig_conv_need(&s->shape, args[2].kind == IG_KIND_TENSOR, &p->need, &s->room);
}

// Pairs as two rows, real parts first, and back.
static void split_pairs(const char *from, char *to, size_t n, size_t size) {
  for (size_t i = 0; i < n; i++) {
    memcpy(to + i * size, from + 2 * i * size, size);
    memcpy(to + (n + i) * size, from + (2 * i + 1) * size, size);
  }
}

// (rr - ii, ri + ir) of n elements each.
#define JOIN_PAIRS(type)                                   \
  for (size_t i = 0; i < n; i++) {                         \
    const type *y = from;                                  \
    ((type *)to)[2 * i] = y[i] - y[n + i];                 \
    ((type *)to)[2 * i + 1] = y[2 * n + i] + y[3 * n + i]; \
  }
static void join_pairs(ig_dtype real, const void *from, void *to, size_t n) {
  if (real == IG_F64) {
    JOIN_PAIRS(double)
  } else {
    JOIN_PAIRS(float)
  }
}

static void *room_of(const ig_exec *x) {
  const conv_state *s = x->state;
  return s->has_room ? x->memory + s->room : NULL;
}

// (x + iy)(u + iv): four real convolutions.
static void run_complex(const ig_exec *x) {
  const conv_state *s = x->state;
  ig_tensor *out = x->outs[0].tensor;
  ig_dtype real = ig_to_real(out->dtype);
  size_t size = ig_dtype_size(real);
  const char *part[3][2] = {{NULL}};
  for (int i = 0; i < 3; i++) {
    const ig_tensor *t = ig_value_tensor(&x->args[i]);
    if (!t) continue;
    char *to = x->memory + s->parts[i];
    size_t n = (size_t)ig_tensor_numel(t);
    split_pairs(ig_operand_read(x, &s->operand[i], t), to, n, size);
    part[i][0] = to;
    part[i][1] = to + n * size;
  }
  static const int which[4][3] = {{0, 0, 0}, {1, 1, -1}, {0, 1, 1}, {1, 0, -1}};  // x, w, bias
  size_t n = (size_t)ig_tensor_numel(out);
  char *y = x->memory + s->products;
  for (int i = 0; i < 4; i++) {
    const char *bias = which[i][2] < 0 ? NULL : part[2][which[i][2]];
    ig_conv_forward_in(&s->shape, part[0][which[i][0]], part[1][which[i][1]], bias,
                       y + (size_t)i * n * size, room_of(x));
  }
  join_pairs(real, y, x->memory + s->result.at, n);
  ig_operand_write(x, &s->result, out);
}

static void conv_run(const ig_exec *x) {
  const conv_state *s = x->state;
  ig_tensor *out = x->outs[0].tensor;
  const ig_tensor *bias = ig_value_tensor(&x->args[2]);
  if (ig_tensor_numel(x->args[1].tensor) == 0) {
    only_bias(bias, out);
    return;
  }
  if (ig_tensor_numel(out) == 0) return;
  if (ig_dtype_is_complex(out->dtype)) {
    run_complex(x);
    return;
  }
  const void *from = ig_operand_read(x, &s->operand[0], x->args[0].tensor);
  const void *w = ig_operand_read(x, &s->operand[1], x->args[1].tensor);
  const void *b = ig_operand_read(x, &s->operand[2], bias);
  ig_conv_forward_in(&s->shape, from, w, b, ig_tensor_data(out), room_of(x));
}

// grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding,
// groups, output_mask
static void backward_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  call k = call_of(args, 1, 4);
  const ig_tensor *g = args[0].tensor;
  (void)op;
  const ig_value *mask = args[10].list.at;
  if (!check_rank(c, &k) || !check_lists(c, &k) || !check_channels(c, &k, NULL)) return;
  ig_int cout = k.transposed ? ig_int_mul(c, ig_sizes(k.w)[1], k.groups) : ig_sizes(k.w)[0];
  bool same = g->ndim == k.x->ndim && g->dtype == k.x->dtype &&
              ig_int_eq(c, ig_sizes(g)[0], ig_sizes(k.x)[0]) && ig_int_eq(c, ig_sizes(g)[1], cout);
  for (int d = 0; d + 2 < k.x->ndim && same; d++) {
    same = ig_int_eq(c, ig_sizes(g)[d + 2], out_size(c, &k, d));
  }
  if (!same) {
    if (c->status != IG_OK) return;
    ig_str text;
    shape_text(c, g, &text);
    ig_fail_text(c, IG_RUNTIME,
                 "convolution_backward: grad_output of size [%s] does not fit the input and weight",
                 text.at ? text.at : "");
    ig_str_free(&text);
    return;
  }
  for (int d = 0; d < k.x->ndim; d++) ig_meta_push_dim(c, &out[0], ig_sizes(k.x)[d]);
  for (int d = 0; d < k.w->ndim; d++) ig_meta_push_dim(c, &out[1], ig_sizes(k.w)[d]);
  ig_meta_push_dim(c, &out[2], ig_sizes(args[0].tensor)[1]);
  for (int i = 0; i < 3; i++) {
    out[i].absent = !mask[i].b;
    out[i].dtype = k.x->dtype;
  }
  format_like(c, wants_channels_last(c, &k), &out[0]);
}

static void backward_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  call k = call_of(args, 1, 4);
  ig_scope s = ig_scope_open(c);
  if (ig_dtype_is_complex(k.x->dtype)) {
    ig_mode_scope mode = ig_mode_push_grad(c, false);
    backward_complex(c, args, outs);
    ig_mode_pop(c, &mode);
    ig_scope_close(c, s);
    return;
  }
  if (!ig_dtype_is_float(k.x->dtype) || ig_elem_of(k.x->dtype) == IG_ELEM_COUNT) {
    ig_refuse_dtype(c, op->schema.name, k.x->dtype);
  }
  bool last = wants_channels_last(c, &k);
  ig_conv g = geometry(c, &k, ig_sizes(args[0].tensor), last);
  const void *dy = laid_out(c, args[0].tensor, last);
  const void *x = laid_out(c, k.x, last);
  const void *w = laid_out(c, k.w, false);
  bool empty = ig_tensor_numel(k.w) == 0 || ig_tensor_numel(k.x) == 0;
  for (int i = 0; i < 2 && empty && c->status == IG_OK; i++) {
    ig_value zero = ig_of_i64(0);
    if (outs[i].kind == IG_KIND_TENSOR) ig_tensor_fill(outs[i].tensor, &zero);
  }
  if (c->status == IG_OK) {
    if (outs[0].kind == IG_KIND_TENSOR && !empty) {
      ig_conv_grad_input(&g, dy, w, ig_tensor_data(outs[0].tensor));
    }
    if (outs[1].kind == IG_KIND_TENSOR && !empty) {
      ig_conv_grad_weight(&g, dy, x, ig_tensor_data(outs[1].tensor));
    }
    if (outs[2].kind == IG_KIND_TENSOR) {
      ig_conv_grad_bias(&g, dy, ig_tensor_data(outs[2].tensor));
    }
  }
  ig_scope_close(c, s);
}

static void conv_vjp(ig_ctx *c, const ig_vjp *v) {
  const ig_value *a = v->args;
  bool bias = a[2].kind == IG_KIND_TENSOR && IG_WANTED(v, 2);
  ig_value mask[] = {ig_of_bool(IG_WANTED(v, 0)), ig_of_bool(IG_WANTED(v, 1)), ig_of_bool(bias)};
  ig_int channels = ig_sizes(v->grad)[1];
  ig_value sizes = a[2].kind == IG_KIND_TENSOR ? ig_of_ints(&channels, 1) : ig_none();
  ig_value d[IG_MAX_RETURNS];
  ig_convolution_backward(c, v->grad, a[0].tensor, a[1].tensor, sizes, a[3], a[4], a[5], a[6].b,
                          a[7], a[8].i, ig_of_list(mask, 3), d);
  if (c->status != IG_OK) return;
  IG_GRAD(v, 0) = ig_value_tensor(&d[0]);
  IG_GRAD(v, 1) = ig_value_tensor(&d[1]);
  if (bias) IG_GRAD(v, 2) = ig_value_tensor(&d[2]);
}

// Both gradients are linear in grad_output, so the second derivative is convolutions again.
static void backward_vjp(ig_ctx *c, const ig_vjp *v) {
  const ig_value *a = v->args;
  ig_tensor *gx = v->grads[0];
  ig_tensor *gw = v->grads[1];
  ig_tensor *gb = v->grads[2];
  bool transposed = a[7].b;
  if (IG_WANTED(v, 0)) {
    ig_tensor *d = NULL;
    if (gx) {
      d = ig_convolution(c, gx, a[2].tensor, NULL, a[4], a[5], a[6], transposed, a[8], a[9].i);
    }
    if (gw) {
      ig_tensor *part =
          ig_convolution(c, a[1].tensor, gw, NULL, a[4], a[5], a[6], transposed, a[8], a[9].i);
      d = d ? ig_add_tensor(c, d, part) : part;
    }
    if (gb) {
      ig_int sizes[5] = {ig_const(1), ig_sizes(gb)[0], ig_const(1), ig_const(1), ig_const(1)};
      size_t n = (size_t)a[0].tensor->ndim;
      ig_tensor *part =
          ig_expand(c, ig_view(c, gb, ig_of_ints(sizes, n)), ig_sizes_of(a[0].tensor));
      d = d ? ig_add_tensor(c, d, part) : part;
    }
    IG_GRAD(v, 0) = d;
  }
  ig_value outs[IG_MAX_RETURNS];
  if (gw && IG_WANTED(v, 1)) {
    ig_value mask[] = {ig_of_bool(true), ig_of_bool(false), ig_of_bool(false)};
    ig_convolution_backward(c, a[0].tensor, a[1].tensor, gw, ig_none(), a[4], a[5], a[6],
                            transposed, a[8], a[9].i, ig_of_list(mask, 3), outs);
    IG_GRAD(v, 1) = ig_value_tensor(&outs[0]);
  }
  if (gx && IG_WANTED(v, 2)) {
    ig_value mask[] = {ig_of_bool(false), ig_of_bool(true), ig_of_bool(false)};
    ig_convolution_backward(c, a[0].tensor, gx, a[2].tensor, ig_none(), a[4], a[5], a[6],
                            transposed, a[8], a[9].i, ig_of_list(mask, 3), outs);
    IG_GRAD(v, 2) = ig_value_tensor(&outs[1]);
  }
}

// conv1d .. conv3d: an input without batch gets one, a list of one entry is spread.
static ig_tensor *convolve(ig_ctx *c, const ig_value *args, const ig_value *padding,
                           bool transposed, const ig_value *output_padding,
                           const ig_value *dilation, ig_int groups) {
  ig_tensor *x = args[0].tensor;
  const ig_tensor *w = args[1].tensor;
  bool single = x->ndim == w->ndim - 1;
  if (!single && x->ndim != w->ndim) {
    call k = {.x = x, .w = w, .transposed = transposed};
    (void)check_rank(c, &k);
    return NULL;
  }
  if (single) x = ig_unsqueeze(c, x, ig_const(0));
  ig_tensor *out = ig_convolution(c, x, args[1].tensor, ig_value_tensor(&args[2]), args[3],
                                  *padding, *dilation, transposed, *output_padding, groups);
  return single ? ig_squeeze_dim(c, out, ig_const(0)) : out;
}

// Does the weight have the dimensions of conv<nd>d?
static bool is_conv(ig_ctx *c, const ig_value *args, int nd, bool transposed) {
  if (args[1].tensor->ndim == nd + 2) return true;
  ig_str x;
  shape_text(c, args[1].tensor, &x);
  ig_fail_text(c, IG_RUNTIME, "Expected %dD weight for conv%s%dd, but got weight of size: [%s]",
               nd + 2, transposed ? "_transpose" : "", nd, x.at ? x.at : "");
  ig_str_free(&x);
  return false;
}

static ig_tensor *conv_nd(ig_ctx *c, const ig_value *args, int nd) {
  ig_int zeros[3] = {{.value = 0}, {.value = 0}, {.value = 0}};
  ig_value none = ig_of_ints(zeros, (size_t)nd);
  if (!is_conv(c, args, nd, false)) return NULL;
  return convolve(c, args, &args[4], false, &none, &args[5], args[6].i);
}

static ig_tensor *conv_transpose_nd(ig_ctx *c, const ig_value *args, int nd) {
  if (!is_conv(c, args, nd, true)) return NULL;
  return convolve(c, args, &args[4], true, &args[5], &args[7], args[6].i);
}

// padding="same": half of dilation * (kernel - 1) on either side; an odd rest pads the far side.
static ig_tensor *conv_padding(ig_ctx *c, const ig_value *args, int nd) {
  const ig_tensor *w = args[1].tensor;
  if (!is_conv(c, args, nd, false)) return NULL;
  if (!check_count(c, &args[3], "stride", (size_t)nd)) return NULL;
  if (!check_count(c, &args[5], "dilation", (size_t)nd)) return NULL;
  ig_int pads[3] = {{.value = 0}, {.value = 0}, {.value = 0}};
  ig_int extra[6];
  bool uneven = false;
  ig_value copy[7];
  memcpy(copy, args, sizeof copy);
  if (strcmp(args[4].str, "same") == 0) {
    for (int d = 0; d < nd; d++) {
      if (!ig_int_eq_i64(c, entry(&args[3], d), 1)) {
        ig_fail_text(c, IG_RUNTIME, "padding='same' is not supported for strided convolutions");
        return NULL;
      }
      ig_int less = ig_int_sub(c, ig_sizes(w)[d + 2], ig_const(1));
      ig_int total = ig_int_mul(c, entry(&args[5], d), less);
      pads[d] = ig_int_floordiv(c, total, ig_const(2));
      ig_int odd = ig_int_mod(c, total, ig_const(2));
      extra[2 * (nd - 1 - d)] = ig_const(0);
      extra[2 * (nd - 1 - d) + 1] = odd;
      uneven = uneven || ig_int_eq_i64(c, odd, 1);
    }
  } else if (strcmp(args[4].str, "valid") == 0) {
    ig_int zero = ig_const(0);
    ig_value no_padding = ig_of_ints(&zero, 1);
    return convolve(c, copy, &no_padding, false, &no_padding, &args[5], args[6].i);
  } else {
    ig_fail_text(c, IG_RUNTIME, "Invalid padding string: '%s'", args[4].str);
    return NULL;
  }
  if (uneven) {
    ig_value amount = ig_of_ints(extra, 2 * (size_t)nd);
    copy[0] = ig_of_tensor(ig_constant_pad_nd(c, args[0].tensor, amount));
    if (copy[0].kind != IG_KIND_TENSOR) return NULL;
  }
  ig_value padding = ig_of_ints(pads, (size_t)nd);
  ig_int zeros[3] = {{.value = 0}, {.value = 0}, {.value = 0}};
  ig_value none = ig_of_ints(zeros, (size_t)nd);
  return convolve(c, copy, &padding, false, &none, &args[5], args[6].i);
}

#define FORMS(nd)                                                            \
  static ig_tensor *conv##nd##d(ig_ctx *c, const ig_value *args) {           \
    return conv_nd(c, args, nd);                                             \
  }                                                                          \
  static ig_tensor *conv##nd##d_padding(ig_ctx *c, const ig_value *args) {   \
    return conv_padding(c, args, nd);                                        \
  }                                                                          \
  static ig_tensor *conv_transpose##nd##d(ig_ctx *c, const ig_value *args) { \
    return conv_transpose_nd(c, args, nd);                                   \
  }
FORMS(1)
FORMS(2)
FORMS(3)

// The number of axes is that of the weight.
static ig_tensor *convolution_mode(ig_ctx *c, const ig_value *args) {
  int nd = args[1].tensor->ndim - 2;
  if (nd < 1 || nd > 3) {
    ig_fail_text(c, IG_RUNTIME,
                 "_convolution_mode: expected a weight of 3 to 5 dimensions, got one of %d",
                 args[1].tensor->ndim);
    return NULL;
  }
  return conv_padding(c, args, nd);
}

IG_OP(convolution) = {
    .schema =
        "aten::convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, "
        "SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, "
        "SymInt groups) -> Tensor",
    .shape = conv_shape,
    .prepare = conv_prepare,
    .run = conv_run,
    .vjp = conv_vjp,
    .keep = "input, weight",
    .samples =
        "f32[2,3,6,5], f32[4,3,3,3], f32[4], [1,1], [1,1], [1,1], False, [0,0], 1 | "
        "f32[1,4,7], f32[6,2,3], None, [2], [0], [1], False, [0], 2 | "
        "f32[1,2,4,4], f32[2,3,2,2], f32[3], [2,2], [0,0], [1,1], True, [1,1], 1 | "
        "f32[1,3,5,5], f32[3,1,3,3], None, [1,1], [1,1], [1,1], False, [0,0], 3 | "
        "f32[1,2,3,4,4], f32[2,2,2,2,2], f32[2], [1,1,1], [0,0,0], [1,2,1], False, "
        "[0,0,0], 1 | f32[2,3,4,4].cl, f32[2,3,1,1], None, [1,1], [0,0], [1,1], False, "
        "[0,0], 1 | f32[0,3,4,4], f32[2,3,1,1], None, [1,1], [0,0], [1,1], False, [0,0], 1",
    .waive = "size 3=0: without input channels PyTorch gives no output channels",
};
IG_OP(convolution_backward) = {
    .schema =
        "aten::convolution_backward(Tensor grad_output, Tensor input, Tensor weight, "
        "SymInt[]? bias_sizes, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool "
        "transposed, SymInt[] output_padding, SymInt groups, bool[3] output_mask) -> "
        "(Tensor, Tensor, Tensor)",
    .shape = backward_shape,
    .kernel = backward_kernel,
    .vjp = backward_vjp,
    .keep = "grad_output, input, weight",
    .samples =
        "f32[2,4,4,3], f32[2,3,4,3], f32[4,3,3,3], [4], [1,1], [1,1], [1,1], False, [0,0], "
        "1, (True, True, True) | f32[1,6,3], f32[1,4,7], f32[6,2,3], None, [2], [0], [1], "
        "False, [0], 2, (True, True, False)",
    .waive = "size 3=0: without input channels PyTorch gives no output channels",
};

#define CONV_SAMPLES_2D                                                                          \
  "f32[2,3,6,5], f32[4,3,3,3], f32[4] | f32[3,6,5], f32[4,3,3,3] | f32[1,4,5,5], f32[4,1,3,3], " \
  "None, [2,2], [1,1], [1,1], 4"

IG_OP(conv1d) = {
    .schema =
        "aten::conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], "
        "SymInt[1] padding=[0], SymInt[1] dilation=[1], SymInt groups=1) -> Tensor",
    .autocast = IG_AUTOCAST_LOWER,
    .decompose = conv1d,
    .samples =
        "f32[2,3,7], f32[4,3,3], f32[4] | f32[3,7], f32[4,3,3] | f32[1,4,9], f32[4,2,3], "
        "None, [2], [1], [2], 2",
    .waive = "size 3=0: without input channels PyTorch gives no output channels",
};
IG_OP(conv2d) = {
    .schema =
        "aten::conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, "
        "1], SymInt[2] padding=[0, 0], SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor",
    .autocast = IG_AUTOCAST_LOWER,
    .decompose = conv2d,
    .samples = CONV_SAMPLES_2D,
    .waive = "size 3=0: without input channels PyTorch gives no output channels",
};
IG_OP(conv3d) = {
    .schema =
        "aten::conv3d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], "
        "SymInt[3] padding=[0, 0, 0], SymInt[3] dilation=[1, 1, 1], SymInt groups=1) -> Tensor",
    .autocast = IG_AUTOCAST_LOWER,
    .decompose = conv3d,
    .samples = "f32[1,2,3,4,4], f32[3,2,2,2,2], f32[3]",
    .waive = "size 2=0: without input channels PyTorch gives no output channels",
};
IG_OP(conv1d_padding) = {
    .schema =
        "aten::conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] "
        "stride=[1], str padding=\"valid\", SymInt[1] dilation=[1], SymInt groups=1) -> Tensor",
    .autocast = IG_AUTOCAST_LOWER,
    .decompose = conv1d_padding,
    .samples =
        "f32[2,3,7], f32[4,3,3], f32[4], [1], 'same' | f32[1,3,7], f32[4,3,2], None, [1], "
        "'same' | f32[1,3,7], f32[4,3,2], None, [2], 'valid'",
    .waive = "size 3=0: PyTorch takes kernels of size 0 for negative padding",
};
IG_OP(conv2d_padding) = {
    .schema =
        "aten::conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] "
        "stride=[1, 1], str padding=\"valid\", SymInt[2] dilation=[1, 1], SymInt groups=1) -> "
        "Tensor",
    .autocast = IG_AUTOCAST_LOWER,
    .decompose = conv2d_padding,
    .samples = "f32[1,3,6,5], f32[2,3,3,2], f32[2], [1,1], 'same'",
    .waive = "size 3=0: PyTorch takes kernels of size 0 for negative padding",
};
IG_OP(_convolution_mode) = {
    .schema =
        "aten::_convolution_mode(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, str "
        "padding, SymInt[] dilation, SymInt groups) -> Tensor",
    .decompose = convolution_mode,
    .samples =
        "f32[1,3,6,5], f32[2,3,3,2], f32[2], [1,1], 'same', [1,1], 1 | f32[2,3,7], f32[4,3,3], "
        "None, [2], 'valid', [1], 1",
    .waive = "size 3=0: PyTorch takes kernels of size 0 for negative padding",
};
IG_OP(conv3d_padding) = {
    .schema =
        "aten::conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] "
        "stride=[1, 1, 1], str padding=\"valid\", SymInt[3] dilation=[1, 1, 1], SymInt "
        "groups=1) -> Tensor",
    .autocast = IG_AUTOCAST_LOWER,
    .decompose = conv3d_padding,
    .samples = "f32[1,2,3,4,4], f32[3,2,2,2,2], None, [1,1,1], 'same'",
    .waive = "size 2=0: PyTorch takes kernels of size 0 for negative padding",
};
IG_OP(conv_transpose1d) = {
    .schema =
        "aten::conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] "
        "stride=[1], SymInt[1] padding=[0], SymInt[1] output_padding=[0], SymInt groups=1, "
        "SymInt[1] dilation=[1]) -> Tensor",
    .autocast = IG_AUTOCAST_LOWER,
    .decompose = conv_transpose1d,
    .samples = "f32[1,2,4], f32[2,3,3], f32[3], [2], [1], [1]",
    .waive = "size 3=0: without input channels PyTorch gives no output channels",
};
IG_OP(conv_transpose2d_input) = {
    .schema =
        "aten::conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, "
        "SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], SymInt[2] output_padding=[0, 0], "
        "SymInt groups=1, SymInt[2] dilation=[1, 1]) -> Tensor",
    .autocast = IG_AUTOCAST_LOWER,
    .decompose = conv_transpose2d,
    .samples =
        "f32[1,2,4,3], f32[2,3,2,2], f32[3], [2,2] | f32[2,4,3], f32[2,1,3,3], None, [1,1], "
        "[1,1], [0,0], 2",
};
IG_OP(conv_transpose3d_input) = {
    .schema =
        "aten::conv_transpose3d.input(Tensor input, Tensor weight, Tensor? bias=None, "
        "SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0], SymInt[3] "
        "output_padding=[0, 0, 0], SymInt groups=1, SymInt[3] dilation=[1, 1, 1]) -> Tensor",
    .autocast = IG_AUTOCAST_LOWER,
    .decompose = conv_transpose3d,
    .samples = "f32[1,2,2,3,3], f32[2,2,2,2,2], f32[2]",
    .waive = "special: padding times infinity is NaN",
};
