// SPDX-License-Identifier: Apache-2.0
// ONNX of interpolation and grid sampling.
#include <math.h>
#include <string.h>

#include "onnx/writer.h"

// Sizes of the result; the ratio is theirs, unless the call gives another one. With the TorchScript
// conventions batch and channels are read together.
static const char *sizes_of(ig_onnx *x, const ig_onnx_call *call, const char *in) {
  const ig_int *sizes = ig_sizes(call->val);
  int64_t window[IG_MAX_DIM];
  bool known = x->options->torchscript && (sizes[0].expr || sizes[1].expr);
  for (int d = 2; d < call->val->ndim; d++) {
    known = known && !sizes[d].expr;
    window[d - 2] = sizes[d].value;
  }
  if (!known) return ig_onnx_sizes_name(x, call->val);
  int64_t from = 0;
  int64_t to = 2;
  const char *all = ig_onnx_emit1(x, "Shape", in, NULL);
  const char *start = ig_onnx_vector(x, &from, 1);
  const char *first = ig_onnx_slice(x, all, start, ig_onnx_vector(x, &to, 1), 0, 1, NULL);
  const char *both[] = {first, ig_onnx_vector(x, window, (size_t)call->val->ndim - 2)};
  return ig_onnx_concat(x, both, 2, 0, NULL);
}

static bool is_true(const ig_value *v) {
  return v->kind == IG_KIND_BOOL && v->b;
}

// The factors of a call that gives them: 1 for batch and channels. NULL: it gives sizes.
static const ig_value *factors_of(const ig_onnx_call *call) {
  for (size_t i = 2; i < call->node->op->schema.nargs; i++) {
    const ig_value *v = &call->args[i];
    bool plain = v->kind == IG_KIND_LIST && v->list.n;
    for (size_t k = 0; plain && k < v->list.n; k++) {
      plain = v->list.at[k].kind == IG_KIND_FLOAT && !v->list.at[k].f_expr;
    }
    if (plain) return v;
  }
  return NULL;
}

static const char *factors_name(ig_onnx *x, const ig_value *v) {
  enum { MOST = 3 };
  double at[2 + MOST] = {1, 1};
  size_t n = v->list.n < MOST ? v->list.n : MOST;
  for (size_t i = 0; i < n; i++) at[2 + i] = v->list.at[i].f;
  return ig_onnx_floats_vector(x, at, 2 + n);
}

typedef struct resize {
  const char *mode;
  const char *coordinates;
  const char *nearest;
  bool cubic;
} resize;

static bool is_whole(const ig_value *v) {
  for (size_t i = 0; i < v->list.n; i++) {
    const ig_value *f = &v->list.at[i];
    if (f->kind != IG_KIND_FLOAT || f->f_expr || f->f != (double)(int64_t)f->f) return false;
  }
  return true;
}

static void emit_resize(ig_onnx *x, const ig_onnx_call *call, const resize *r) {
  ig_dtype d = call->val->dtype == IG_F16 || call->val->dtype == IG_F32 ? call->val->dtype : IG_F32;
  const char *in = ig_onnx_operand(x, &call->args[0], d);
  ig_onnx_node node = {.op_type = "Resize",
                       .in = {in, "", "", ""},
                       .attrs = {ig_onnx_string("mode", r->mode),
                                 ig_onnx_string("coordinate_transformation_mode", r->coordinates),
                                 ig_onnx_string("nearest_mode", r->nearest)}};
  const ig_value *factors = factors_of(call);
  bool by_factors = factors && (x->options->torchscript || !is_whole(factors));
  if (by_factors) {
    node.in[2] = factors_name(x, factors);
    node.in[3] = NULL;
  } else {
    node.in[3] = sizes_of(x, call, in);
  }
  if (r->cubic) node.attrs[3] = ig_onnx_float("cubic_coeff_a", -0.75);
  (void)ig_onnx_emit_as(x, call, &node, d);
}

static void nearest(ig_onnx *x, const ig_onnx_call *call) {
  emit_resize(x, call, &(resize){"nearest", "asymmetric", "floor", false});
}
// floor((i + 0.5) ratio) is that place less a half, rounded, halves up.
static void exact(ig_onnx *x, const ig_onnx_call *call) {
  emit_resize(x, call, &(resize){"nearest", "half_pixel", "round_prefer_ceil", false});
}

// input, output_size, align_corners, ...
static void interpolate(ig_onnx *x, const ig_onnx_call *call, const char *mode, bool cubic) {
  bool corners = ig_onnx_bool_of(x, &call->args[2]);
  emit_resize(x, call, &(resize){mode, corners ? "align_corners" : "half_pixel", "floor", cubic});
}
static void linear(ig_onnx *x, const ig_onnx_call *call) {
  interpolate(x, call, "linear", false);
}
static void cubic(ig_onnx *x, const ig_onnx_call *call) {
  interpolate(x, call, "cubic", true);
}

static bool is_none_list(const ig_value *v) {
  if (v->kind != IG_KIND_LIST) return ig_onnx_is_none(v);
  for (size_t i = 0; i < v->list.n; i++) {
    if (!ig_onnx_is_none(&v->list.at[i])) return false;
  }
  return true;
}

static bool float_image(const ig_value *v) {
  const ig_tensor *t = ig_onnx_tensor_of(v);
  return t && ig_dtype_is_float(t->dtype);
}

static bool plain_factors(const ig_value *v) {
  for (size_t i = 0; i < v->list.n; i++) {
    if (v->list.at[i].kind != IG_KIND_FLOAT || v->list.at[i].f_expr) return false;
  }
  return true;
}
// Dividing a place by a power of two does not round.
static bool is_power_of_two(const ig_value *v) {
  int exponent = 0;
  for (size_t i = 0; i < v->list.n; i++) {
    const ig_value *f = &v->list.at[i];
    if (f->kind != IG_KIND_FLOAT || f->f_expr || frexp(f->f, &exponent) != 0.5) return false;
  }
  return true;
}
// Other factors that are not whole decide which pixel is the nearest one; runtimes round
// differently. With known sizes the call is decomposed instead, and before opset 10 where the image
// shrinks, since Upsample only enlarges.
static bool exact_factors(int opset, const ig_value *v, const ig_tensor *in) {
  if (v->kind != IG_KIND_LIST) return is_none_list(v);
  bool dynamic = false;
  for (int d = 2; in && d < in->ndim; d++) dynamic |= ig_sizes(in)[d].expr != NULL;
  return plain_factors(v) && (dynamic || is_whole(v) || (opset >= 10 && is_power_of_two(v)));
}
// input, output_size, scale_factors
static bool nearest_can(int opset, const ig_value *args, size_t n) {
  return n == 3 && float_image(&args[0]) &&
         exact_factors(opset, &args[2], ig_onnx_tensor_of(&args[0]));
}
// input, output_size, align_corners, scale_factors
static bool linear_can(int opset, const ig_value *args, size_t n) {
  (void)opset;
  bool plain = args[3].kind == IG_KIND_LIST ? plain_factors(&args[3]) : is_none_list(&args[3]);
  return n == 4 && float_image(&args[0]) && plain;
}
// self, output_size, scales ...
static bool plain_nearest_can(int opset, const ig_value *args, size_t n) {
  (void)opset;
  for (size_t i = 2; i < n; i++) {
    if (!ig_onnx_is_none(&args[i])) return false;
  }
  return float_image(&args[0]);
}
// self, output_size, align_corners, scales ...
static bool plain_linear_can(int opset, const ig_value *args, size_t n) {
  (void)opset;
  for (size_t i = 3; i < n; i++) {
    if (!ig_onnx_is_none(&args[i]) && !is_true(&args[2])) return false;
  }
  return float_image(&args[0]);
}

// input, grid, interpolation_mode, padding_mode, align_corners
static bool grid_can(int opset, const ig_value *args, size_t n) {
  int ndim = n == 5 ? ig_onnx_ndim(&args[0]) : 0;
  return (opset >= 16 && ndim == 4) || (opset >= 20 && ndim == 5);
}
static void grid_sampler(ig_onnx *x, const ig_onnx_call *call) {
  static const char *const modes[][3] = {{"bilinear", "nearest", "bicubic"},
                                         {"linear", "nearest", "cubic"}};
  static const char *const paddings[] = {"zeros", "border", "reflection"};
  const ig_value *a = call->args;
  int64_t mode = ig_onnx_int_of(x, &a[2]);
  int64_t padding = ig_onnx_int_of(x, &a[3]);
  if (mode < 0 || mode > 2 || padding < 0 || padding > 2) return;
  ig_dtype d = ig_onnx_compute_type(x, "GridSample", call->val->dtype);
  const char *in = ig_onnx_operand(x, &a[0], d);
  ig_onnx_node node = {.op_type = "GridSample",
                       .in = {in, ig_onnx_operand(x, &a[1], d)},
                       .attrs = {ig_onnx_string("mode", modes[x->opset >= 20][mode]),
                                 ig_onnx_string("padding_mode", paddings[padding]),
                                 ig_onnx_int("align_corners", is_true(&a[4]))}};
  (void)ig_onnx_emit_as(x, call, &node, d);
}

// theta, size, align_corners
static bool affine_can(int opset, const ig_value *args, size_t n) {
  const ig_tensor *theta = n == 3 ? ig_onnx_tensor_of(&args[0]) : NULL;
  return opset >= 20 && theta && (theta->dtype == IG_F32 || theta->dtype == IG_F64);
}
static void affine_grid(ig_onnx *x, const ig_onnx_call *call) {
  ig_int sizes[IG_MAX_DIM];
  size_t n = ig_onnx_symint_list(x, &call->args[1], sizes, IG_MAX_DIM, 0);
  const char *theta = ig_onnx_operand(x, &call->args[0], call->val->dtype);
  (void)ig_onnx_emit(
      x, &(ig_onnx_node){.op_type = "AffineGrid",
                         .in = {theta, ig_onnx_shape_of(x, sizes, n)},
                         .attrs = {ig_onnx_int("align_corners", is_true(&call->args[2]))},
                         .out = call->out});
}

// self, upscale_factor
static bool image_can(int opset, const ig_value *args, size_t n) {
  (void)opset;
  (void)n;
  return ig_onnx_ndim(&args[0]) == 4;
}
static void pixel_shuffle(ig_onnx *x, const ig_onnx_call *call) {
  const char *in = ig_onnx_operand(x, &call->args[0], IG_DTYPE_COUNT);
  (void)ig_onnx_emit(
      x, &(ig_onnx_node){.op_type = "DepthToSpace",
                         .in = {in},
                         .attrs = {ig_onnx_int("blocksize", ig_onnx_int_of(x, &call->args[1])),
                                   ig_onnx_string("mode", "CRD")},
                         .out = call->out});
}

const ig_onnx_row ig_onnx_resize[] = {
    {"aten.upsample_nearest1d.vec", nearest, NULL, nearest_can},
    {"aten.upsample_nearest1d.default", nearest, NULL, plain_nearest_can},
    {"aten.upsample_nearest2d.vec", nearest, NULL, nearest_can},
    {"aten.upsample_nearest2d.default", nearest, NULL, plain_nearest_can},
    {"aten.upsample_nearest3d.vec", nearest, NULL, nearest_can},
    {"aten.upsample_nearest3d.default", nearest, NULL, plain_nearest_can},
    {"aten._upsample_nearest_exact1d.vec", exact, NULL, nearest_can},
    {"aten._upsample_nearest_exact1d.default", exact, NULL, plain_nearest_can},
    {"aten._upsample_nearest_exact2d.vec", exact, NULL, nearest_can},
    {"aten._upsample_nearest_exact2d.default", exact, NULL, plain_nearest_can},
    {"aten._upsample_nearest_exact3d.vec", exact, NULL, nearest_can},
    {"aten._upsample_nearest_exact3d.default", exact, NULL, plain_nearest_can},
    {"aten.upsample_linear1d.vec", linear, NULL, linear_can},
    {"aten.upsample_linear1d.default", linear, NULL, plain_linear_can},
    {"aten.upsample_bilinear2d.vec", linear, NULL, linear_can},
    {"aten.upsample_bilinear2d.default", linear, NULL, plain_linear_can},
    {"aten.upsample_trilinear3d.vec", linear, NULL, linear_can},
    {"aten.upsample_trilinear3d.default", linear, NULL, plain_linear_can},
    {"aten.upsample_bicubic2d.vec", cubic, NULL, linear_can},
    {"aten.upsample_bicubic2d.default", cubic, NULL, plain_linear_can},
    {"aten.grid_sampler_2d.default", grid_sampler, NULL, grid_can},
    {"aten.grid_sampler_3d.default", grid_sampler, NULL, grid_can},
    {"aten.affine_grid_generator.default", affine_grid, NULL, affine_can},
    {"aten.grid_sampler.default", grid_sampler, NULL, grid_can},
    {"aten.pixel_shuffle.default", pixel_shuffle, NULL, image_can},
    {NULL, NULL, NULL, NULL},
};
