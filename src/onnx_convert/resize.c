// SPDX-License-Identifier: Apache-2.0
// Steps of Resize: opset 10 has scales and one coordinate transformation; 11 has all of them, and
// sizes; 13 makes operands optional; 18 resizes chosen axes.
#include <string.h>

#include "onnx_convert/steps.h"

enum { ROI = 1, SCALES = 2, SIZES = 3 };

static const char *no_floats(ig_cv *v) {
  ig_om_tensor *t = ig_cv_tensor(v, IG_OM_FLOAT, 0, false);
  return t ? ig_cv_const(v, t) : "";
}

bool ig_cv_resize_up(ig_cv *v, ig_om_node *n) {
  const char *scales = ig_cv_in(n, 1);
  ig_cv_set_input(v, n, ROI, no_floats(v));
  ig_cv_set_input(v, n, SCALES, scales);
  ig_cv_set_text(v, n, "coordinate_transformation_mode", "asymmetric");
  if (ig_cv_is(v, n, "mode", "nearest", "nearest")) ig_cv_set_text(v, n, "nearest_mode", "floor");
  return v->refused;
}

static bool enlarges_by_whole_numbers(ig_cv *v, const ig_om_node *n) {
  const float *at = NULL;
  size_t count = 0;
  if (!ig_cv_known_floats(v, ig_cv_in(n, SCALES), &at, &count) || count == 0) return false;
  for (size_t i = 0; i < count; i++)
    if (!(at[i] >= 1 && at[i] < 1e6F && at[i] == (float)(int)at[i])) return false;
  return true;
}

bool ig_cv_resize_down_11(ig_cv *v, ig_om_node *n) {
  const char *mode = "coordinate_transformation_mode";
  bool nearest = ig_cv_is(v, n, "mode", "nearest", "nearest");
  bool linear = ig_cv_is(v, n, "mode", "linear", "nearest");
  bool asymmetric = ig_cv_is(v, n, mode, "asymmetric", "half_pixel");
  bool floors = ig_cv_is(v, n, "nearest_mode", "floor", "round_prefer_floor");
  // Centers of pixels that are repeated n times are nearest to the pixel that is repeated.
  bool repeats = nearest && ig_cv_is(v, n, mode, "half_pixel", "half_pixel") &&
                 (ig_cv_is(v, n, "nearest_mode", "round_prefer_floor", "round_prefer_floor") ||
                  ig_cv_is(v, n, "nearest_mode", "round_prefer_ceil", "round_prefer_floor")) &&
                 enlarges_by_whole_numbers(v, n);
  if (!repeats && !(asymmetric && (linear || (nearest && floors))))
    return ig_cv_refuse(v, "this way to place the pixels exists from opset 11 on");
  const float *at = NULL;
  size_t count = 0;
  const char *scales = ig_cv_in(n, SCALES);
  bool none = !*scales || (ig_cv_known_floats(v, scales, &at, &count) && count == 0);
  if (none && *ig_cv_in(n, SIZES))
    scales = ig_cv_value(v, n, "Div(Cast<to=1>($3), Cast<to=1>(Shape($0)))");
  ig_cv_set_input(v, n, 1, scales);
  ig_cv_cut_inputs(n, 2);
  static const char *const attrs[] = {"coordinate_transformation_mode", "nearest_mode",
                                      "cubic_coeff_a", "exclude_outside", "extrapolation_value"};
  for (size_t i = 0; i < sizeof attrs / sizeof *attrs; i++) ig_cv_drop_attr(v, n, attrs[i]);
  return v->refused;
}

bool ig_cv_resize_down_13(ig_cv *v, ig_om_node *n) {
  for (size_t i = ROI; i <= SCALES; i++)
    if (!*ig_cv_in(n, i)) ig_cv_set_input(v, n, i, no_floats(v));
  return v->refused;
}

// Sizes or scales of all axes, where some were given.
static bool of_all_axes(ig_cv *v, ig_om_node *n, const ig_om_attr *axes) {
  const ig_cv_fact *x = ig_cv_known(v, ig_cv_in(n, 0));
  const int64_t *sizes = NULL;
  const float *scales = NULL;
  size_t count = 0;
  bool scaled = *ig_cv_in(n, SCALES) != 0;
  bool known = x->ndim >= 0 && !*ig_cv_in(n, ROI) &&
               (scaled ? ig_cv_known_floats(v, n->inputs[SCALES], &scales, &count)
                       : ig_cv_known_ints(v, ig_cv_in(n, SIZES), &sizes, &count)) &&
               count == axes->n;
  ig_om_tensor *t =
      known ? ig_cv_tensor(v, scaled ? IG_OM_FLOAT : IG_OM_INT64, x->ndim, false) : NULL;
  for (int d = 0; t && d < x->ndim; d++) {
    float scale = 1;
    int64_t size = x->dims[d];
    for (size_t i = 0; i < axes->n; i++) {
      if ((axes->ints[i] < 0 ? axes->ints[i] + x->ndim : axes->ints[i]) != d) continue;
      if (scaled) scale = scales[i];
      if (!scaled) size = sizes[i];
    }
    known = known && (scaled || size >= 0);
    if (scaled) ((float *)t->raw.at)[d] = scale;
    if (!scaled) ((int64_t *)t->raw.at)[d] = size;
  }
  if (!known)
    return ig_cv_refuse(v,
                        "axes exist from opset 18 on; the shape of '%s' and the %s must be known",
                        ig_cv_in(n, 0), scaled ? "scales" : "sizes");
  if (t) ig_cv_set_input(v, n, scaled ? SCALES : SIZES, ig_cv_const(v, t));
  ig_cv_drop_attr(v, n, "axes");
  return v->refused;
}

bool ig_cv_resize_down_18(ig_cv *v, ig_om_node *n) {
  const ig_om_attr *axes = ig_om_find_attr(n, "axes");
  return axes && !axes->ref ? of_all_axes(v, n, axes) : false;
}

bool ig_cv_resize_down_19(ig_cv *v, ig_om_node *n) {
  if (ig_cv_is(v, n, "coordinate_transformation_mode", "half_pixel_symmetric", "half_pixel"))
    return ig_cv_refuse(v, "'half_pixel_symmetric' exists from opset 19 on");
  return v->refused;
}
