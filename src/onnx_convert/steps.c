// SPDX-License-Identifier: Apache-2.0
// Changes between versions of an operator besides element types: attributes that became operands,
// names, defaults, semantics.
#include <stdio.h>
#include <string.h>

#include "onnx_convert/convert.h"
#include "onnx_convert/steps.h"

// ---- attributes that became operands

typedef enum form { INTS, ONE_INT, INT_SCALAR, LIKE_INPUT, FLOAT_SCALAR, FLOATS } form;

static const struct move {
  const char *op;
  int since;
  const char *attr;
  size_t input;
  form form;
} moves[] = {
    {"Squeeze", 13, "axes", 1, INTS},
    {"Unsqueeze", 13, "axes", 1, INTS},
    {"ReduceSum", 13, "axes", 1, INTS},
    {"ReduceL1", 18, "axes", 1, INTS},
    {"ReduceL2", 18, "axes", 1, INTS},
    {"ReduceLogSum", 18, "axes", 1, INTS},
    {"ReduceLogSumExp", 18, "axes", 1, INTS},
    {"ReduceMax", 18, "axes", 1, INTS},
    {"ReduceMean", 18, "axes", 1, INTS},
    {"ReduceMin", 18, "axes", 1, INTS},
    {"ReduceProd", 18, "axes", 1, INTS},
    {"ReduceSumSquare", 18, "axes", 1, INTS},
    {"Split", 13, "split", 1, INTS},
    {"Pad", 11, "pads", 1, INTS},
    {"Pad", 11, "value", 2, LIKE_INPUT},
    {"Clip", 11, "min", 1, LIKE_INPUT},
    {"Clip", 11, "max", 2, LIKE_INPUT},
    {"Slice", 10, "starts", 1, INTS},
    {"Slice", 10, "ends", 2, INTS},
    {"Slice", 10, "axes", 3, INTS},
    {"TopK", 10, "k", 1, ONE_INT},
    {"Dropout", 12, "ratio", 1, FLOAT_SCALAR},
    {"Upsample", 9, "scales", 1, FLOATS},
    {"DFT", 20, "axis", 2, INT_SCALAR},
};
enum { NMOVES = sizeof moves / sizeof *moves };

// Inside of a function: a constant that is the caller's attribute.
static const char *of_caller(ig_cv *v, const ig_om_attr *a, form f) {
  if (f != INTS && f != INT_SCALAR && f != FLOAT_SCALAR) {
    (void)ig_cv_refuse(v, "attribute '%s' is that of the caller ('%s'); inline the function",
                       a->name, a->ref);
    return "";
  }
  const char *name = f == INTS ? "value_ints" : f == INT_SCALAR ? "value_int" : "value_float";
  ig_om_attr *attr = ig_cv_push(v, sizeof *attr);
  const char **out = ig_cv_push(v, sizeof *out);
  if (!attr || !out) return "";
  *attr = (ig_om_attr){.name = name, .type = a->type, .ref = a->ref, .n = 1};
  *out = ig_cv_fresh(v, "Constant");
  ig_om_node n = {.op_type = "Constant", .attrs = attr, .nattrs = 1, .outputs = out, .noutputs = 1};
  ig_cv_node(v, &n, 12);
  return *out;
}

static const char *operand(ig_cv *v, const ig_om_node *n, const ig_om_attr *a, form f) {
  if (a->ref) return of_caller(v, a, f);
  ig_om_tensor *t = NULL;
  switch (f) {
    case INTS:
      return ig_cv_ints(v, a->ints, a->n);
    case ONE_INT:
      return ig_cv_ints(v, &a->i, 1);
    case INT_SCALAR:
      return ig_cv_number(v, IG_OM_INT64, "", (double)a->i);
    case FLOAT_SCALAR:
      return ig_cv_number(v, IG_OM_FLOAT, "", (double)a->f);
    case LIKE_INPUT:
      return ig_cv_number(v, 0, ig_cv_in(n, 0), (double)a->f);
    case FLOATS:
      t = ig_cv_tensor(v, IG_OM_FLOAT, (int64_t)a->n, false);
      if (t && a->n) memcpy((void *)t->raw.at, a->floats, a->n * sizeof *a->floats);
      return t ? ig_cv_const(v, t) : "";
  }
  return "";
}

static bool move_up(ig_cv *v, ig_om_node *n) {
  for (size_t i = 0; i < NMOVES; i++) {
    const struct move *m = &moves[i];
    if (m->since != v->at || strcmp(m->op, n->op_type) != 0) continue;
    const ig_om_attr *a = ig_om_find_attr(n, m->attr);
    if (!a) continue;
    ig_cv_set_input(v, n, m->input, operand(v, n, a, m->form));
    ig_cv_drop_attr(v, n, m->attr);
  }
  return v->refused;
}

// The operand as an attribute; false: its value is not known.
static bool as_attr(ig_cv *v, ig_om_node *n, const struct move *m) {
  ig_om_attr a = {.name = m->attr, .n = 1};
  const char *in = n->inputs[m->input];
  const float *floats = NULL;
  switch (m->form) {
    case INTS:
      a.type = IG_OM_ATTR_INTS;
      if (!ig_cv_known_ints(v, in, &a.ints, &a.n)) return false;
      break;
    case ONE_INT:
    case INT_SCALAR:
      a.type = IG_OM_ATTR_INT;
      if (!ig_cv_known_ints(v, in, &a.ints, &a.n) || a.n != 1) return false;
      a.i = a.ints[0];
      break;
    case LIKE_INPUT:
    case FLOAT_SCALAR:
      a.type = IG_OM_ATTR_FLOAT;
      if (!ig_cv_known_floats(v, in, &floats, &a.n) || a.n != 1) return false;
      a.f = floats[0];
      break;
    case FLOATS:
      a.type = IG_OM_ATTR_FLOATS;
      if (!ig_cv_known_floats(v, in, &a.floats, &a.n)) return false;
      break;
  }
  ig_cv_set_attr(v, n, &a);
  return true;
}

static bool move_down(ig_cv *v, ig_om_node *n) {
  size_t kept = n->ninputs;
  for (size_t i = 0; i < NMOVES; i++) {
    const struct move *m = &moves[i];
    if (m->since != v->at + 1 || strcmp(m->op, n->op_type) != 0) continue;
    if (m->input < kept) kept = m->input;
    const char *in = ig_cv_in(n, m->input);
    if (*in && !as_attr(v, n, m))
      return ig_cv_refuse(v, "'%s' must be a constant: before opset %d it is the attribute '%s'",
                          in, m->since, m->attr);
  }
  ig_cv_cut_inputs(n, kept);
  return false;
}

// ---- axes

// Before 11 axes are not negative.
static bool positive_axes(ig_cv *v, ig_om_node *n) {
  const ig_om_attr *a = ig_om_find_attr(n, "axis");
  if (!a) a = ig_om_find_attr(n, "axes");
  if (!a || a->ref) return false;
  const int64_t *at = a->type == IG_OM_ATTR_INTS ? a->ints : &a->i;
  bool negative = false;
  for (size_t i = 0; i < a->n; i++) negative = negative || at[i] < 0;
  if (!negative) return false;
  int ndim = ig_cv_ndim(v, ig_cv_in(n, 0));
  if (ndim < 0)
    return ig_cv_refuse(v,
                        "before opset 11 axes count from the front, and the rank of '%s' is not "
                        "known",
                        ig_cv_in(n, 0));
  if (ig_cv_has(n, IG_CV_ADDS_AXES)) ndim += (int)a->n;
  if (ig_cv_has(n, IG_CV_ADDS_AXIS)) ndim += 1;
  int64_t *own = ig_cv_push(v, ig_mem_mul(a->n, sizeof *own));
  if (!own) return true;
  for (size_t i = 0; i < a->n; i++) own[i] = at[i] < 0 ? at[i] + ndim : at[i];
  ig_om_attr b = *a;
  b.ints = own;
  b.i = own[0];
  ig_cv_set_attr(v, n, &b);
  return false;
}

static bool reduce_down(ig_cv *v, ig_om_node *n) {
  const int64_t *axes = NULL;
  size_t count = 0;
  bool none = n->ninputs < 2 || !*n->inputs[1] ||
              (ig_cv_known_ints(v, n->inputs[1], &axes, &count) && count == 0);
  bool noop = ig_cv_int(v, n, "noop_with_empty_axes", 0) != 0;
  ig_cv_drop_attr(v, n, "noop_with_empty_axes");
  if (none) ig_cv_cut_inputs(n, 1);
  if (!none || !noop) return move_down(v, n);
  if (ig_cv_has(n, IG_CV_IDENTITY_OF_ONE)) return ig_cv_expand(v, n, "Identity($0)");
  return ig_cv_refuse(v, "noop_with_empty_axes exists from opset %lld on", (long long)v->at + 1);
}

// ---- Softmax and similar: until 12 the axes from `axis` on are one, from 13 on it is one axis

static bool last_axis(ig_cv *v, const ig_om_node *n, int64_t axis) {
  int ndim = ig_cv_ndim(v, ig_cv_in(n, 0));
  return axis == -1 || (ndim >= 0 && axis == ndim - 1);
}

static bool softmax_up(ig_cv *v, ig_om_node *n) {
  int64_t axis = ig_cv_int(v, n, "axis", 1);
  if (v->refused) return true;
  ig_cv_set_int(v, n, "axis", -1);
  if (last_axis(v, n, axis)) return false;
  char text[128];
  (void)snprintf(text, sizeof text, "Reshape(%s<axis=-1>(Flatten<axis=%lld>($0)), Shape($0))",
                 n->op_type, (long long)axis);
  return ig_cv_expand(v, n, text);
}

static bool softmax_down(ig_cv *v, ig_om_node *n) {
  int64_t axis = ig_cv_int(v, n, "axis", -1);
  int ndim = ig_cv_ndim(v, ig_cv_in(n, 0));
  if (v->refused) return true;
  if (last_axis(v, n, axis)) {
    ig_cv_set_int(v, n, "axis", ndim > 0 ? ndim - 1 : -1);
    return false;
  }
  if (ndim < 0) return ig_cv_refuse(v, "the rank of '%s' is not known", ig_cv_in(n, 0));
  // Swaps the axis with the last one, and back.
  if (axis < 0) axis += ndim;
  char perm[256] = "";
  for (int d = 0; d < ndim; d++) {
    int to = d == axis ? ndim - 1 : d == ndim - 1 ? (int)axis : d;
    size_t used = strlen(perm);
    (void)snprintf(perm + used, sizeof perm - used, "%s%d", d ? ", " : "", to);
  }
  char text[768];
  (void)snprintf(text, sizeof text, "Transpose<perm=[%s]>(%s<axis=-1>(Transpose<perm=[%s]>($0)))",
                 perm, n->op_type, perm);
  return ig_cv_expand(v, n, text);
}

// ---- names

static bool renamed(ig_om_node *n, const char *op) {
  n->op_type = op;
  return false;
}
static bool to_resize(ig_cv *v, ig_om_node *n) {
  (void)v;
  return renamed(n, "Resize");
}
static bool to_upsample(ig_cv *v, ig_om_node *n) {
  (void)v;
  return renamed(n, "Upsample");
}
static bool to_scatter_elements(ig_cv *v, ig_om_node *n) {
  (void)v;
  return renamed(n, "ScatterElements");
}
static bool to_scatter(ig_cv *v, ig_om_node *n) {
  (void)v;
  return renamed(n, "Scatter");
}

static const char *const grid_modes[][2] = {{"bilinear", "linear"}, {"bicubic", "cubic"}};

static bool grid_up(ig_cv *v, ig_om_node *n) {
  for (size_t i = 0; i < 2; i++) {
    if (!ig_cv_is(v, n, "mode", grid_modes[i][0], "bilinear")) continue;
    ig_cv_set_text(v, n, "mode", grid_modes[i][1]);
    break;
  }
  return v->refused;
}

static bool grid_down(ig_cv *v, ig_om_node *n) {
  int ndim = ig_cv_ndim(v, ig_cv_in(n, 0));
  if (ndim >= 0 && ndim != 4)
    return ig_cv_refuse(v, "grids of %d dimensions exist from opset 20 on", ndim);
  for (size_t i = 0; i < 2; i++) {
    if (!ig_cv_is(v, n, "mode", grid_modes[i][1], "linear")) continue;
    ig_cv_set_text(v, n, "mode", grid_modes[i][0]);
    break;
  }
  return v->refused;
}

static bool roi_up(ig_cv *v, ig_om_node *n) {
  if (!ig_om_find_attr(n, "coordinate_transformation_mode"))
    ig_cv_set_text(v, n, "coordinate_transformation_mode", "output_half_pixel");
  return false;
}

static bool roi_down(ig_cv *v, ig_om_node *n) {
  const char *attr = "coordinate_transformation_mode";
  if (!ig_cv_is(v, n, attr, "output_half_pixel", "half_pixel"))
    return ig_cv_refuse(v, "'half_pixel' exists from opset 16 on");
  ig_cv_drop_attr(v, n, attr);
  return false;
}

// ---- normalization

static bool batch_norm_up_9(ig_cv *v, ig_om_node *n) {
  if (!ig_cv_int(v, n, "spatial", 1)) return ig_cv_refuse(v, "spatial=0 exists until opset 8");
  ig_cv_drop_attr(v, n, "spatial");
  return v->refused;
}

static bool batch_norm_up_14(ig_cv *v, ig_om_node *n) {
  if (n->noutputs == 1) return false;
  for (size_t i = 3; i < n->noutputs; i++)
    if (*n->outputs[i])
      return ig_cv_refuse(v, "the output '%s' exists until opset 13", n->outputs[i]);
  if (n->noutputs > 3) n->noutputs = 3;
  ig_cv_set_int(v, n, "training_mode", 1);
  return false;
}

static bool batch_norm_down(ig_cv *v, ig_om_node *n) {
  if (ig_cv_int(v, n, "training_mode", 0))
    return ig_cv_refuse(v, "training_mode exists from opset 14 on");
  ig_cv_drop_attr(v, n, "training_mode");
  return v->refused;
}

// "[-2, -1]": the axes from `axis` on, counted from behind; false: the rank is needed and unknown.
static bool trailing_axes(ig_cv *v, const ig_om_node *n, char *room, size_t size) {
  int64_t axis = ig_cv_int(v, n, "axis", -1);
  int ndim = ig_cv_ndim(v, ig_cv_in(n, 0));
  if (axis >= 0 && ndim < 0) return false;
  if (axis >= 0) axis -= ndim;
  size_t used = (size_t)snprintf(room, size, "[");
  for (int64_t a = axis; a < 0 && used < size; a++)
    used +=
        (size_t)snprintf(room + used, size - used, "%s%lld", a > axis ? ", " : "", (long long)a);
  return used + 1 < size && snprintf(room + used, size - used, "]") > 0;
}

static float float_attr(const ig_om_node *n, const char *name, float otherwise) {
  const ig_om_attr *a = ig_om_find_attr(n, name);
  return a && !a->ref && a->type == IG_OM_ATTR_FLOAT ? a->f : otherwise;
}

// Statistics are computed in float, whatever the input is (stash_type).
static bool norm_down(ig_cv *v, ig_om_node *n, bool centered) {
  char axes[128];
  char text[1024];
  int elem = ig_cv_elem(v, ig_cv_in(n, 0));
  if (!trailing_axes(v, n, axes, sizeof axes))
    return ig_cv_refuse(v, "the rank of '%s' is not known", ig_cv_in(n, 0));
  bool cast = elem == IG_OM_FLOAT16 || elem == IG_OM_BFLOAT16;
  bool bias = n->ninputs > 2 && *n->inputs[2];
  char head[192] = "d = Identity(x)";
  if (centered)
    (void)snprintf(head, sizeof head, "%%1 = ReduceMean<axes=%s>(x); d = Sub(x, out1)", axes);
  (void)snprintf(text, sizeof text,
                 "x = %s; %s; %%2 = Reciprocal(Sqrt(Add(ReduceMean<axes=%s>(Mul(d, d)), %.9g%s))); "
                 "y = %sMul(d, out2)%s; %s",
                 cast ? "Cast<to=1>($0)" : "$0", head, axes,
                 (double)float_attr(n, "epsilon", 1e-5F), cast ? "f" : "",
                 cast ? "Cast<to=$0>(" : "", cast ? ")" : "",
                 bias ? "Add(Mul(y, $1), $2)" : "Mul(y, $1)");
  return ig_cv_expand(v, n, text);
}

static bool layer_norm_down(ig_cv *v, ig_om_node *n) {
  return norm_down(v, n, true);
}
static bool rms_norm_down(ig_cv *v, ig_om_node *n) {
  return norm_down(v, n, false);
}

// Scale and bias are per group until 20, per channel from 21 on.
static bool group_norm_up(ig_cv *v, ig_om_node *n) {
  long long groups = (long long)ig_cv_int(v, n, "num_groups", 1);
  for (size_t i = 1; i <= 2 && !v->refused; i++) {
    const char *wide =
        ig_cv_value(v, n,
                    "k = Div(Slice(Shape($0), [1], [2]), [%lld]); "
                    "Reshape(Expand(Unsqueeze($%zu, [1]), Concat<axis=0>([1], k)), [-1])",
                    groups, i);
    ig_cv_set_input(v, n, i, wide);
  }
  return v->refused;
}

static bool group_norm_down(ig_cv *v, ig_om_node *n) {
  long long groups = (long long)ig_cv_int(v, n, "num_groups", 1);
  bool per_channel = v->at + 1 >= 21;
  char text[640];
  (void)snprintf(
      text, sizeof text,
      "s = Shape($0); x = Reshape($0, [0, %lld, -1]); c = Sub(x, ReduceMean<axes=[-1]>(x)); "
      "y = Div(c, Sqrt(Add(ReduceMean<axes=[-1]>(Mul(c, c)), @epsilon))); "
      "z = %s; Reshape(Add(Mul(z, Unsqueeze($1, [1])), Unsqueeze($2, [1])), s)",
      groups, per_channel ? "Reshape(y, Concat<axis=0>(Slice(s, [0], [2]), [-1]))" : "Identity(y)");
  return v->refused || ig_cv_expand(v, n, text);
}

// ---- others

static bool constant_down(ig_cv *v, ig_om_node *n) {
  const ig_om_tensor *t = ig_cv_constant(v, n);
  const ig_om_tensor **list = ig_cv_push(v, sizeof *list);
  if (!t || !list) return ig_cv_refuse(v, "only tensors are constants before opset 12");
  *list = t;
  n->nattrs = 0;
  ig_cv_set_attr(
      v, n, &(ig_om_attr){.name = "value", .type = IG_OM_ATTR_TENSOR, .n = 1, .tensors = list});
  return false;
}

static bool constant_of_shape_down(ig_cv *v, ig_om_node *n) {
  const ig_om_attr *a = ig_om_find_attr(n, "value");
  const ig_om_tensor *t = a && !a->ref ? a->tensors[0] : ig_cv_tensor(v, IG_OM_FLOAT, 1, false);
  if (!t) return true;
  ig_cv_set_input(v, n, 1, ig_cv_const(v, t));
  return ig_cv_expand(v, n, "Expand($1, $0)");
}

static bool cast_like_down(ig_cv *v, ig_om_node *n) {
  int elem = ig_cv_elem(v, ig_cv_in(n, 1));
  if (!elem)
    return ig_cv_refuse(v, "CastLike exists from opset 15 on, and the type of '%s' is not known",
                        ig_cv_in(n, 1));
  (void)ig_cv_cast(v, ig_cv_in(n, 0), elem, n->outputs[0]);
  return true;
}

// Saturation is about float8.
static bool cast_down(ig_cv *v, ig_om_node *n) {
  int64_t to = ig_cv_int(v, n, "to", 0);
  if (to < IG_OM_F8E4M3FN || to > IG_OM_F8E5M2FNUZ) ig_cv_drop_attr(v, n, "saturate");
  return false;
}

static bool clip_down(ig_cv *v, ig_om_node *n) {
  const float *at = NULL;
  size_t count = 0;
  bool low = *ig_cv_in(n, 1) != 0;
  bool high = *ig_cv_in(n, 2) != 0;
  bool known = (!low || ig_cv_known_floats(v, n->inputs[1], &at, &count)) &&
               (!high || ig_cv_known_floats(v, n->inputs[2], &at, &count));
  if (known) return move_down(v, n);
  return ig_cv_expand(v, n,
                      low && high ? "Min(Max($0, $1), $2)"
                      : low       ? "Max($0, $1)"
                                  : "Min($0, $2)");
}

static bool dft_up(ig_cv *v, ig_om_node *n) {
  if (!ig_om_find_attr(n, "axis")) ig_cv_set_int(v, n, "axis", 1);
  return move_up(v, n);
}
static bool dft_down(ig_cv *v, ig_om_node *n) {
  if (move_down(v, n)) return true;
  if (!ig_om_find_attr(n, "axis")) ig_cv_set_int(v, n, "axis", -2);
  ig_cv_cut_inputs(n, 2);
  return false;
}

static bool dropout_down_12(ig_cv *v, ig_om_node *n) {
  const ig_om_tensor *t = ig_cv_known(v, ig_cv_in(n, 2))->constant;
  bool training = *ig_cv_in(n, 2) && !(t && t->raw.n == 1 && t->raw.at[0] == 0);
  if (training) return ig_cv_refuse(v, "training_mode exists from opset 12 on");
  ig_cv_drop_attr(v, n, "seed");
  return move_down(v, n);
}

// The mask is a bool from 10 on, and of the type of the data before.
static bool dropout_mask(ig_cv *v, ig_om_node *n, int back) {
  if (n->noutputs < 2 || !*n->outputs[1]) return false;
  if (!back) return ig_cv_refuse(v, "the type of '%s' is not known", ig_cv_in(n, 0));
  const char **outs = ig_cv_push(v, ig_mem_mul(2, sizeof *outs));
  if (!outs) return true;
  outs[0] = n->outputs[0];
  outs[1] = ig_cv_fresh(v, "mask");
  const char *mask = n->outputs[1];
  n->outputs = outs;
  ig_cv_node(v, n, v->at);
  (void)ig_cv_cast(v, outs[1], back, mask);
  return true;
}
static bool dropout_up_10(ig_cv *v, ig_om_node *n) {
  return dropout_mask(v, n, ig_cv_elem(v, ig_cv_in(n, 0)));
}
static bool dropout_down_10(ig_cv *v, ig_om_node *n) {
  return dropout_mask(v, n, IG_OM_BOOL);
}

static bool gemm_down(ig_cv *v, ig_om_node *n) {
  if (!*ig_cv_in(n, 2)) ig_cv_set_input(v, n, 2, ig_cv_number(v, 0, ig_cv_in(n, 0), 0));
  return v->refused;
}

// Before 8 the operands of Max, Min, Sum and Mean have one shape.
static bool equal_shapes(ig_cv *v, ig_om_node *n) {
  const ig_cv_fact *a = ig_cv_known(v, ig_cv_in(n, 0));
  for (size_t i = 1; i < n->ninputs; i++) {
    const ig_cv_fact *b = ig_cv_known(v, n->inputs[i]);
    bool same = a->ndim >= 0 && a->ndim == b->ndim;
    for (int d = 0; same && d < a->ndim; d++) same = a->dims[d] >= 0 && a->dims[d] == b->dims[d];
    if (!same)
      return ig_cv_refuse(v, "before opset 8 the operands have one shape; '%s' may have another",
                          n->inputs[i]);
  }
  return false;
}

// From 18 on an optional may be a tensor or a sequence, or not be there.
static bool has_element_down(ig_cv *v, ig_om_node *n) {
  ig_om_known t = ig_cv_known(v, ig_cv_in(n, 0))->type;
  bool absent = !*ig_cv_in(n, 0);
  bool plain = t.form == IG_ONNX_FORM_TENSOR || t.form == IG_ONNX_FORM_SEQUENCE;
  if (!absent && !plain) return false;
  ig_cv_set_input(v, n, 0, ig_cv_number(v, IG_OM_BOOL, "", absent ? 0 : 1));
  return ig_cv_expand(v, n, "Identity($0)");
}

static bool get_element_down(ig_cv *v, ig_om_node *n) {
  ig_om_known t = ig_cv_known(v, ig_cv_in(n, 0))->type;
  bool plain = t.form == IG_ONNX_FORM_TENSOR || t.form == IG_ONNX_FORM_SEQUENCE;
  return plain && ig_cv_expand(v, n, "Identity($0)");
}

static bool pad_down_18(ig_cv *v, ig_om_node *n) {
  const int64_t *axes = NULL;
  const int64_t *pads = NULL;
  size_t naxes = 0;
  size_t npads = 0;
  if (!*ig_cv_in(n, 3)) return false;
  int ndim = ig_cv_ndim(v, ig_cv_in(n, 0));
  bool known = ndim >= 0 && ig_cv_known_ints(v, n->inputs[3], &axes, &naxes) &&
               ig_cv_known_ints(v, n->inputs[1], &pads, &npads) && npads == 2 * naxes;
  if (!known)
    return ig_cv_refuse(v, "axes exist from opset 18 on; the rank, pads and axes must be known");
  int64_t *all = ig_cv_push(v, ig_mem_mul(ig_mem_mul(2, (size_t)ndim), sizeof *all));
  for (size_t i = 0; all && i < naxes; i++) {
    int64_t axis = axes[i] < 0 ? axes[i] + ndim : axes[i];
    if (axis < 0 || axis >= ndim)
      return ig_cv_refuse(v, "axis %lld of %d", (long long)axes[i], ndim);
    all[axis] = pads[i];
    all[axis + ndim] = pads[i + naxes];
  }
  if (!all) return true;
  ig_cv_set_input(v, n, 1, ig_cv_ints(v, all, 2 * (size_t)ndim));
  ig_cv_cut_inputs(n, 3);
  return false;
}

static bool pad_down_19(ig_cv *v, ig_om_node *n) {
  return ig_cv_is(v, n, "mode", "wrap", "constant") &&
         ig_cv_refuse(v, "'wrap' exists from opset 19 on");
}

static bool per_tensor(ig_cv *v, ig_om_node *n) {
  const ig_cv_fact *scale = ig_cv_known(v, ig_cv_in(n, 1));
  if (scale->ndim >= 1 && !(scale->ndim == 1 && scale->dims[0] == 1))
    return ig_cv_refuse(v, "scales per axis exist from opset 13 on");
  ig_cv_drop_attr(v, n, "axis");
  return false;
}

static bool reshape_down(ig_cv *v, ig_om_node *n) {
  const int64_t *shape = NULL;
  size_t count = 0;
  bool zero = !ig_cv_known_ints(v, ig_cv_in(n, 1), &shape, &count);
  for (size_t i = 0; i < count; i++) zero = zero || shape[i] == 0;
  if (!zero) ig_cv_drop_attr(v, n, "allowzero");
  return false;
}

// layout=1 has the batch first.
static bool rnn_down(ig_cv *v, ig_om_node *n) {
  static const char *const states[] = {"$0", "", "", "", "", "$5", "$6"};
  bool batch_first = ig_cv_int(v, n, "layout", 0) == 1;
  ig_cv_drop_attr(v, n, "layout");
  if (!batch_first || v->refused) return v->refused;
  ig_om_node inner = *n;
  for (size_t i = 0; i < n->ninputs && i < 7; i++) {
    if (*states[i] && *n->inputs[i])
      ig_cv_set_input(v, &inner, i, ig_cv_value(v, n, "Transpose<perm=[1, 0, 2]>(%s)", states[i]));
  }
  const char **outs = ig_cv_push(v, ig_mem_mul(n->noutputs, sizeof *outs));
  if (!outs) return true;
  for (size_t i = 0; i < n->noutputs; i++) outs[i] = *n->outputs[i] ? ig_cv_fresh(v, "state") : "";
  inner.outputs = outs;
  ig_cv_node(v, &inner, v->at);
  for (size_t i = 0; i < n->noutputs; i++) {
    if (!*outs[i]) continue;
    ig_om_node back = {
        .op_type = n->op_type, .inputs = &outs[i], .ninputs = 1, .outputs = &n->outputs[i]};
    back.noutputs = 1;
    (void)ig_cv_expand(
        v, &back, i == 0 ? "Transpose<perm=[2, 0, 1, 3]>($0)" : "Transpose<perm=[1, 0, 2]>($0)");
  }
  return true;
}

static bool shape_down(ig_cv *v, ig_om_node *n) {
  bool part = ig_om_find_attr(n, "start") || ig_om_find_attr(n, "end");
  if (!part) return false;
  long long start = (long long)ig_cv_int(v, n, "start", 0);
  long long end = (long long)ig_cv_int(v, n, "end", INT64_MAX);
  char text[128];
  (void)snprintf(text, sizeof text, "Slice(Shape($0), [%lld], [%lld])", start, end);
  return v->refused || ig_cv_expand(v, n, text);
}

static bool slice_down(ig_cv *v, ig_om_node *n) {
  const int64_t *steps = NULL;
  size_t count = 0;
  bool ones = !*ig_cv_in(n, 4) || ig_cv_known_ints(v, n->inputs[4], &steps, &count);
  for (size_t i = 0; i < count; i++) ones = ones && steps[i] == 1;
  if (!ones) return ig_cv_refuse(v, "steps exist from opset 10 on");
  return move_down(v, n);
}

static bool split_up(ig_cv *v, ig_om_node *n) {
  if (!*ig_cv_in(n, 1)) ig_cv_set_int(v, n, "num_outputs", (int64_t)n->noutputs);
  return false;
}

// From 18 on the last part may be smaller; before, the sizes must be given in that case.
static bool split_down(ig_cv *v, ig_om_node *n) {
  ig_cv_drop_attr(v, n, "num_outputs");
  if (*ig_cv_in(n, 1)) return false;
  const ig_cv_fact *x = ig_cv_known(v, ig_cv_in(n, 0));
  int64_t axis = ig_cv_int(v, n, "axis", 0);
  int64_t parts = (int64_t)n->noutputs;
  int64_t at = axis < 0 && x->ndim >= 0 ? axis + x->ndim : axis;
  if (v->refused) return true;
  if (x->ndim >= 0 && at >= 0 && at < x->ndim && x->dims[at] >= 0 && x->dims[at] % parts == 0)
    return false;
  ig_str text = ig_str_make(v->c->alloc);
  long long past = axis == -1 || axis == INT64_MAX ? INT64_MAX : (long long)axis + 1;
  ig_str_add(&text,
             "d = Slice(Shape($0), [%lld], [%lld]); c = Div(Add(d, [%lld]), [%lld]); "
             "l = Sub(d, Mul(c, [%lld])); ",
             (long long)axis, past, (long long)parts - 1, (long long)parts, (long long)parts - 1);
  // Concat takes few operands here: the sizes are c, repeated, and l.
  ig_str_add(&text, "Concat<axis=0>(Expand(c, [%lld]), l)", (long long)parts - 1);
  if (!text.failed) ig_cv_set_input(v, n, 1, ig_cv_value(v, n, "%s", text.at));
  ig_str_free(&text);
  return v->refused;
}

// The number of elements becomes an attribute, which is not 0.
static bool top_k_count_down(ig_cv *v, ig_om_node *n) {
  if (move_down(v, n)) return true;
  if (ig_cv_int(v, n, "k", 1) > 0) return v->refused;
  return ig_cv_refuse(v, "before opset 10 'k' is at least 1");
}

static bool top_k_down(ig_cv *v, ig_om_node *n) {
  bool smallest = ig_cv_int(v, n, "largest", 1) == 0;
  ig_cv_drop_attr(v, n, "largest");
  ig_cv_drop_attr(v, n, "sorted");  // sorted is also valid if the order does not matter
  if (!smallest || v->refused) return v->refused;
  ig_om_node inner = *n;
  ig_cv_set_input(v, &inner, 0, ig_cv_value(v, n, "Neg($0)"));
  const char **outs = ig_cv_push(v, ig_mem_mul(n->noutputs, sizeof *outs));
  if (!outs) return true;
  for (size_t i = 0; i < n->noutputs; i++) outs[i] = n->outputs[i];
  outs[0] = ig_cv_fresh(v, "TopK");
  inner.outputs = outs;
  ig_cv_node(v, &inner, v->at);
  ig_om_node back = {.op_type = n->op_type, .inputs = outs, .ninputs = 1, .outputs = n->outputs};
  back.noutputs = 1;
  return ig_cv_expand(v, &back, "Neg($0)");
}

// ---- element types that older versions lack

static bool is_whole(ig_cv *v, const char *name) {
  int elem = ig_cv_elem(v, name);
  return elem == IG_OM_INT32 || elem == IG_OM_INT64 || elem == IG_OM_UINT32 || elem == IG_OM_UINT64;
}

static bool is_real(ig_cv *v, const char *name) {
  int elem = ig_cv_elem(v, name);
  return elem == IG_OM_FLOAT || elem == IG_OM_DOUBLE || elem == IG_OM_FLOAT16;
}

// Before 11 only integers and truth values are compared. NaN is equal to nothing.
static bool equal_down(ig_cv *v, ig_om_node *n) {
  if (!is_real(v, ig_cv_in(n, 0))) return false;
  return ig_cv_expand(v, n, "Not(Or(Or(Less($0, $1), Greater($0, $1)), Or(IsNaN($0), IsNaN($1))))");
}

// Before 12 bounds are of real numbers.
static bool clip_whole_down(ig_cv *v, ig_om_node *n) {
  if (!is_whole(v, ig_cv_in(n, 0))) return false;
  bool low = *ig_cv_in(n, 1) != 0;
  bool high = *ig_cv_in(n, 2) != 0;
  return ig_cv_expand(v, n,
                      low && high ? "a = Where(Less($0, $1), $1, $0); Where(Greater(a, $2), $2, a)"
                      : low       ? "Where(Less($0, $1), $1, $0)"
                      : high      ? "Where(Greater($0, $2), $2, $0)"
                                  : "Identity($0)");
}

static bool extreme_down(ig_cv *v, ig_om_node *n, const char *text) {
  bool pair = n->ninputs == 2 && is_whole(v, ig_cv_in(n, 0));
  return pair && ig_cv_expand(v, n, text);
}
static bool max_down(ig_cv *v, ig_om_node *n) {
  return extreme_down(v, n, "Where(Less($0, $1), $1, $0)");
}
static bool min_down(ig_cv *v, ig_om_node *n) {
  return extreme_down(v, n, "Where(Greater($0, $1), $1, $0)");
}

static bool pow_down(ig_cv *v, ig_om_node *n) {
  if (!is_whole(v, ig_cv_in(n, 0))) return false;
  return ig_cv_expand(v, n, "Cast<to=$0>(Pow(Cast<to=11>($0), Cast<to=11>($1)))");
}

// Padding integers: before 11 in double. The pads stay an operand here, and become an attribute
// with the next step.
static bool pad_down(ig_cv *v, ig_om_node *n) {
  if (!is_whole(v, ig_cv_in(n, 0))) return move_down(v, n);
  ig_om_node inner = *n;
  const char **outs = ig_cv_push(v, sizeof *outs);
  if (!outs) return true;
  *outs = ig_cv_fresh(v, n->op_type);
  int elem = ig_cv_elem(v, n->inputs[0]);
  ig_cv_set_input(v, &inner, 0, ig_cv_cast(v, n->inputs[0], IG_OM_DOUBLE, NULL));
  const int64_t *fill = NULL;
  size_t count = 0;
  if (*ig_cv_in(n, 2) && ig_cv_known_ints(v, n->inputs[2], &fill, &count) && count == 1)
    ig_cv_set_input(v, &inner, 2, ig_cv_number(v, IG_OM_DOUBLE, "", (double)fill[0]));
  inner.outputs = outs;
  ig_cv_node(v, &inner, v->at + 1);
  (void)ig_cv_cast(v, *outs, elem, n->outputs[0]);
  return true;
}

// With fmod the sign is that of the dividend, otherwise that of the divisor. Of real numbers it is
// not expressible: a quotient is rounded, and those of infinities are lost.
static bool mod_down(ig_cv *v, ig_om_node *n) {
  bool fmod = ig_cv_int(v, n, "fmod", 0) != 0;
  if (v->refused) return true;
  if (!is_whole(v, ig_cv_in(n, 0))) return false;
  if (fmod) return ig_cv_expand(v, n, "Sub($0, Mul($1, Div($0, $1)))");
  return ig_cv_expand(v, n,
                      "r = Sub($0, Mul($1, Div($0, $1))); Where(And(Not(Equal(r, 0)), "
                      "Xor(Less(r, 0), Less($1, 0))), Add(r, $1), r)");
}

// Columns before rows: each block of channels is spread over rows, then over columns.
static bool depth_to_space_down(ig_cv *v, ig_om_node *n) {
  if (!ig_cv_is(v, n, "mode", "CRD", "DCR")) return v->refused;
  char text[256];
  int64_t side = ig_cv_int(v, n, "blocksize", 1);
  (void)snprintf(text, sizeof text,
                 "s = Reshape(Unsqueeze($0, [2, 3]), [0, -1, %lld, %lld, 0, 0]); "
                 "r = Reshape(Transpose<perm=[0, 1, 4, 2, 5, 3]>(s), [0, 0, -1, 1, 0, 0]); "
                 "Squeeze(Reshape(r, [0, 0, 0, 0, -1, 1]), [3, 5])",
                 (long long)side, (long long)side);
  return ig_cv_expand(v, n, text);
}

// As many ones as there are steps; where they are not zero counts from 0 on.
#define STEPS                                                  \
  "k = Cast<to=7>(Relu(Cast<to=1>(n))); "                      \
  "i = Squeeze(NonZero(Expand(1i, Unsqueeze(k, [0]))), [0]); " \
  "Add($0, Mul(Cast<to=$0>(i), $2))"
static bool range_down(ig_cv *v, ig_om_node *n) {
  return ig_cv_expand(v, n,
                      is_whole(v, ig_cv_in(n, 0))
                          ? "n = Div(Add(Sub($1, $0), Sub($2, Sign($2))), $2); " STEPS
                          : "n = Ceil(Div(Sub($1, $0), $2)); " STEPS);
}

// Before 12 nothing is dropped by Dropout: the random numbers are nodes.
static bool dropout_training_down(ig_cv *v, ig_om_node *n) {
  const ig_om_tensor *t = ig_cv_known(v, ig_cv_in(n, 2))->constant;
  bool training = t && t->raw.n == 1 && t->raw.at[0] == 1;
  if (!training || (n->noutputs > 1 && *n->outputs[1])) return dropout_down_12(v, n);
  return ig_cv_expand(
      v, n,
      "p = Cast<to=$0>($1); Mul($0, Div(Cast<to=$0>(Not(Less(RandomUniformLike($0), "
      "p))), Sub(1, p)))");
}

// ---- the table

#define AXIS(op) \
  { op, 11, NULL, positive_axes }
#define REDUCE(op)               \
  AXIS(op), {                    \
    op, 18, move_up, reduce_down \
  }

const ig_cv_row ig_cv_rows[] = {
    AXIS("ArgMax"),
    AXIS("ArgMin"),
    AXIS("Compress"),
    AXIS("Concat"),
    AXIS("Flatten"),
    AXIS("Gather"),
    AXIS("Hardmax"),
    AXIS("LogSoftmax"),
    AXIS("OneHot"),
    AXIS("ReduceSum"),
    AXIS("Softmax"),
    AXIS("Split"),
    AXIS("Squeeze"),
    AXIS("Unsqueeze"),
    REDUCE("ReduceL1"),
    REDUCE("ReduceL2"),
    REDUCE("ReduceLogSum"),
    REDUCE("ReduceLogSumExp"),
    REDUCE("ReduceMax"),
    REDUCE("ReduceMean"),
    REDUCE("ReduceMin"),
    REDUCE("ReduceProd"),
    REDUCE("ReduceSumSquare"),
    {"ReduceSum", 13, move_up, reduce_down},
    {"Attention", 23, NULL, ig_cv_attention_down},
    {"Attention", 24, NULL, ig_cv_attention_down},
    {"Attention", 25, NULL, ig_cv_attention_down},
    {"BatchNormalization", 9, batch_norm_up_9, NULL},
    {"BatchNormalization", 14, batch_norm_up_14, batch_norm_down},
    {"Cast", 19, NULL, cast_down},
    {"CastLike", 15, NULL, cast_like_down},
    {"Clip", 11, move_up, clip_down},
    {"Clip", 12, NULL, clip_whole_down},
    {"Col2Im", 18, NULL, ig_cv_col2im_down},
    {"Constant", 12, NULL, constant_down},
    {"ConstantOfShape", 9, NULL, constant_of_shape_down},
    {"DFT", 20, dft_up, dft_down},
    {"DepthToSpace", 11, NULL, depth_to_space_down},
    {"DequantizeLinear", 13, NULL, per_tensor},
    {"Dropout", 10, dropout_up_10, dropout_down_10},
    {"Dropout", 12, move_up, dropout_training_down},
    {"Equal", 11, NULL, equal_down},
    {"GRU", 14, NULL, rnn_down},
    {"GatherElements", 11, NULL, ig_cv_gather_elements_down},
    {"GatherND", 11, NULL, ig_cv_gather_nd_down},
    {"Gemm", 11, NULL, gemm_down},
    {"GridSample", 20, grid_up, grid_down},
    {"GroupNormalization", 18, NULL, group_norm_down},
    {"GroupNormalization", 21, group_norm_up, group_norm_down},
    {"Hardmax", 13, softmax_up, softmax_down},
    {"LSTM", 14, NULL, rnn_down},
    {"LayerNormalization", 17, NULL, layer_norm_down},
    {"LogSoftmax", 13, softmax_up, softmax_down},
    {"Max", 8, NULL, equal_shapes},
    {"Max", 12, NULL, max_down},
    {"Mean", 8, NULL, equal_shapes},
    {"Min", 8, NULL, equal_shapes},
    {"Min", 12, NULL, min_down},
    {"Mod", 10, NULL, mod_down},
    {"OptionalGetElement", 18, NULL, get_element_down},
    {"OptionalHasElement", 18, NULL, has_element_down},
    {"Pad", 11, move_up, pad_down},
    {"Pad", 18, NULL, pad_down_18},
    {"Pad", 19, NULL, pad_down_19},
    {"Pow", 12, NULL, pow_down},
    {"QuantizeLinear", 13, NULL, per_tensor},
    {"RMSNormalization", 23, NULL, rms_norm_down},
    {"RNN", 14, NULL, rnn_down},
    {"Range", 11, NULL, range_down},
    {"Reshape", 14, NULL, reshape_down},
    {"Resize", 10, NULL, to_upsample},
    {"Resize", 11, ig_cv_resize_up, ig_cv_resize_down_11},
    {"Resize", 13, NULL, ig_cv_resize_down_13},
    {"Resize", 18, NULL, ig_cv_resize_down_18},
    {"Resize", 19, NULL, ig_cv_resize_down_19},
    {"RoiAlign", 16, roi_up, roi_down},
    {"RotaryEmbedding", 23, NULL, ig_cv_rotary_down},
    {"Scan", 9, ig_cv_scan_up, ig_cv_scan_down},
    {"Scatter", 11, to_scatter_elements, NULL},
    {"ScatterElements", 11, NULL, to_scatter},
    {"ScatterND", 11, NULL, ig_cv_scatter_nd_down},
    {"Shape", 15, NULL, shape_down},
    {"Slice", 10, move_up, slice_down},
    {"Softmax", 13, softmax_up, softmax_down},
    {"Split", 13, move_up, move_down},
    {"Split", 18, split_up, split_down},
    {"Squeeze", 13, move_up, move_down},
    {"Sum", 8, NULL, equal_shapes},
    {"TopK", 10, move_up, top_k_count_down},
    {"TopK", 11, NULL, top_k_down},
    {"Unsqueeze", 13, move_up, move_down},
    {"Upsample", 9, move_up, move_down},
    {"Upsample", 10, to_resize, NULL},
    {NULL, 0, NULL, NULL},
};
