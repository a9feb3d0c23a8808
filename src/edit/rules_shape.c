// SPDX-License-Identifier: Apache-2.0
// Views and shape arithmetic: chains of views become one, shapes that are partly known become
// constants, neighbouring slices and concatenations are merged.
#include <string.h>

#include "edit/work.h"

enum { MOST = 16 };

static bool is_view(const ig_om_node *n) {
  static const char *const ops[] = {"Reshape", "Flatten", "Squeeze", "Unsqueeze"};
  for (size_t i = 0; n && i < sizeof ops / sizeof *ops; i++)
    if (ig_ed_is(n, ops[i])) return true;
  return false;
}

// The operand shape of a Reshape as numbers: 0 where the size is that of the input's dimension, -1
// for one that is not known. False: more than that is unknown.
static bool as_numbers(const ig_ed_value *in, int ndim, const int64_t *dims,
                       const void *const *exprs, int64_t *out) {
  int unknown = 0;
  bool zero = false;
  for (int d = 0; d < ndim; d++) zero |= dims[d] == 0;
  for (int d = 0; d < ndim; d++) {
    out[d] = dims[d];
    if (dims[d] >= 0 && !(exprs && exprs[d])) continue;
    bool copied = exprs && exprs[d] && d < in->ndim && in->exprs && in->exprs[d] == exprs[d];
    out[d] = copied ? 0 : -1;
    unknown += !copied;
  }
  if (unknown == 0) {
    // One of the copied sizes as -1 instead would do as well; 0 is the plainer text.
    return !zero;
  }
  return unknown <= 1 && !zero;
}

// The shape of a Reshape from its result's sizes.
static ig_ed_outcome reshape_known(ig_ed_work *w, ig_om_node *n) {
  const ig_ed_value *shape = ig_ed_val(w, ig_ed_in(n, 1));
  const ig_ed_value *in = ig_ed_val(w, ig_ed_in(n, 0));
  const ig_ed_value *out = ig_ed_val(w, n->outputs[0]);
  int64_t numbers[MOST];
  if (shape->init || shape->in || ig_ed_int(n, "allowzero", 0)) return IG_ED_KEPT;
  bool known = out->ndim >= 0 && out->ndim <= MOST && out->dims &&
               as_numbers(in, out->ndim, out->dims, out->exprs, numbers);
  int ndim = out->ndim;
  if (!known && shape->has_content && shape->n <= MOST) {
    // A -1 in the shape is what it is; expressions are sizes.
    ndim = (int)shape->n;
    bool minus = false;
    for (size_t i = 0; i < shape->n; i++)
      minus |= !shape->content_exprs[i] && shape->content[i] < 0;
    known = as_numbers(in, ndim, shape->content, shape->content_exprs, numbers);
    for (int d = 0; known && d < ndim; d++)
      if (numbers[d] == -1 && shape->content_exprs[d] && minus) known = false;
  }
  if (!known) return IG_ED_KEPT;
  const char *name = ig_ed_const_ints(w, numbers, (size_t)ndim, n->outputs[0]);
  ig_ed_set_input(w->e, n, 1, name);
  w->changed = true;
  return IG_ED_CHANGED;
}

// A view of a view is one view. Only zeros of the second shape look at the first's sizes.
static ig_ed_outcome reshape_chain(ig_ed_work *w, ig_om_node *n) {
  const ig_om_node *first = ig_ed_maker(w, ig_ed_in(n, 0));
  if (!is_view(first) || ig_ed_val(w, ig_ed_in(n, 0))->reads > 1) return IG_ED_KEPT;
  const ig_ed_value *base = ig_ed_val(w, ig_ed_in(first, 0));
  const ig_ed_value *middle = ig_ed_val(w, ig_ed_in(n, 0));
  size_t count = 0;
  const int64_t *shape = ig_ed_known_ints(w, ig_ed_in(n, 1), &count);
  if (!shape) return IG_ED_KEPT;
  for (size_t i = 0; i < count && !ig_ed_int(n, "allowzero", 0); i++)
    if (shape[i] == 0 && !ig_ed_same_dim(base, (int)i, middle, (int)i)) return IG_ED_KEPT;
  ig_ed_set_input(w->e, n, 0, base->name);
  return IG_ED_CHANGED;
}

// Views that end where they began.
static ig_ed_outcome view_back(ig_ed_work *w, ig_om_node *n) {
  const ig_ed_value *out = ig_ed_val(w, n->outputs[0]);
  const ig_om_node *first = ig_ed_maker(w, ig_ed_in(n, 0));
  for (int steps = 0; is_view(first) && steps < MOST; steps++) {
    const ig_ed_value *base = ig_ed_val(w, ig_ed_in(first, 0));
    if (ig_ed_same_shape(base, out)) return ig_ed_drop(w, n, base->name);
    first = ig_ed_maker(w, base->name);
  }
  return IG_ED_KEPT;
}

// A linear layer over more than two dimensions whose result is reshaped anyway: its operand is made
// a matrix, which layers side by side share, and the layer is one Gemm.
static ig_ed_outcome reshape_linear(ig_ed_work *w, ig_om_node *n) {
  size_t count = 0;
  const int64_t *shape = ig_ed_known_ints(w, ig_ed_in(n, 1), &count);
  const ig_ed_value *sum = ig_ed_val(w, ig_ed_in(n, 0));
  const ig_om_node *add = ig_ed_maker_is(w, ig_ed_in(n, 0), "Add");
  if (!shape || !add || sum->reads > 1 || w->options->keep_fused || ig_ed_opset(w->e) < 7)
    return IG_ED_KEPT;
  for (size_t i = 0; i < count; i++)
    if (shape[i] == 0) return IG_ED_KEPT;  // a size of the operand that it has no more
  size_t k = ig_ed_maker_is(w, ig_ed_in(add, 0), "MatMul") ? 0 : 1;
  const ig_om_node *product = ig_ed_maker_is(w, ig_ed_in(add, k), "MatMul");
  const ig_ed_value *bias = ig_ed_val(w, ig_ed_in(add, 1 - k));
  const ig_ed_value *weight = ig_ed_val(w, product ? ig_ed_in(product, 1) : "");
  const ig_ed_value *x = ig_ed_val(w, product ? ig_ed_in(product, 0) : "");
  if (!product || ig_ed_val(w, ig_ed_in(add, k))->reads > 1 || bias->ndim != 1 ||
      weight->ndim != 2 || !weight->init || !ig_ed_is_real(weight->elem) || x->ndim < 3 ||
      weight->dims[0] < 1 || bias->dims[0] != weight->dims[1]) {
    return IG_ED_KEPT;
  }
  const ig_om_node layer = *product;
  const char *out = n->outputs[0];
  const int64_t matrix[] = {-1, weight->dims[0]};
  const char *in[] = {x->name, ig_ed_const_ints(w, matrix, 2, out), bias->name};
  const char *flat = ig_ed_fresh(w->e, x->name, "matrix");
  const char *result = ig_ed_fresh(w->e, out, "gemm");
  ig_om_node first = ig_ed_node(w->e, &layer, "Reshape", in, 2, flat);
  first.name = "";
  ig_ed_take(w, &first);
  in[0] = ig_ed_name(w, flat);
  in[1] = weight->name;
  ig_om_node gemm = ig_ed_node(w->e, &layer, "Gemm", in, 3, result);
  ig_ed_take(w, &gemm);
  ig_ed_set_input(w->e, n, 0, ig_ed_name(w, result));
  w->changed = true;
  return IG_ED_CHANGED;
}

static ig_ed_outcome reshape(ig_ed_work *w, ig_om_node *n) {
  ig_ed_outcome done = view_back(w, n);
  if (ig_ed_opset(w->e) < 5) return done;
  if (done == IG_ED_KEPT) done = reshape_known(w, n);
  if (done == IG_ED_KEPT) done = reshape_chain(w, n);
  return done == IG_ED_KEPT ? reshape_linear(w, n) : done;
}

// Squeeze, Unsqueeze and Flatten behind another view, which nothing else reads: one Reshape.
static ig_ed_outcome view(ig_ed_work *w, ig_om_node *n) {
  ig_ed_outcome done = view_back(w, n);
  if (done != IG_ED_KEPT || ig_ed_opset(w->e) < 5) return done;
  const ig_om_node *first = ig_ed_maker(w, ig_ed_in(n, 0));
  if (!is_view(first) || ig_ed_val(w, ig_ed_in(n, 0))->reads > 1) return IG_ED_KEPT;
  const ig_ed_value *out = ig_ed_val(w, n->outputs[0]);
  const ig_ed_value *base = ig_ed_val(w, ig_ed_in(first, 0));
  int64_t numbers[MOST];
  if (out->ndim < 0 || out->ndim > MOST || !out->dims ||
      !as_numbers(base, out->ndim, out->dims, out->exprs, numbers)) {
    return IG_ED_KEPT;
  }
  const char *in[] = {base->name, ig_ed_const_ints(w, numbers, (size_t)out->ndim, n->outputs[0])};
  *n = ig_ed_node(w->e, n, "Reshape", in, 2, n->outputs[0]);
  return IG_ED_CHANGED;
}

// Sizes that are those of the operand need not be computed: Expand takes 1 for them.
static ig_ed_outcome expand(ig_ed_work *w, ig_om_node *n) {
  const ig_ed_value *shape = ig_ed_val(w, ig_ed_in(n, 1));
  const ig_ed_value *in = ig_ed_val(w, ig_ed_in(n, 0));
  int64_t numbers[MOST];
  if (shape->init || shape->in || !shape->has_content || shape->n > MOST || in->ndim < 0)
    return IG_ED_KEPT;
  for (size_t i = 0; i < shape->n; i++) {
    int d = (int)i + in->ndim - (int)shape->n;
    const void *expr = shape->content_exprs[i];
    numbers[i] = shape->content[i];
    if (!expr) continue;
    if (d < 0 || in->exprs[d] != expr) return IG_ED_KEPT;
    numbers[i] = 1;
  }
  ig_ed_set_input(w->e, n, 1, ig_ed_const_ints(w, numbers, shape->n, n->outputs[0]));
  w->changed = true;
  return IG_ED_CHANGED;
}

// ---- slices

// Starts, ends, axes and steps of a Slice as constants; false: not known.
typedef struct cut {
  size_t n;
  int64_t start[MOST];
  int64_t end[MOST];
  int64_t axis[MOST];
  int64_t step[MOST];
} cut;

static bool read_cut(ig_ed_work *w, const ig_om_node *n, int ndim, cut *c) {
  size_t count[4];
  const int64_t *at[4];
  for (size_t i = 0; i < 4; i++) {
    at[i] = ig_ed_known_ints(w, ig_ed_in(n, i + 1), &count[i]);
    if (!at[i] && (i < 2 || *ig_ed_in(n, i + 1))) return false;
    if (at[i] && (count[i] != count[0] || count[i] > MOST)) return false;
  }
  c->n = count[0];
  for (size_t i = 0; i < c->n; i++) {
    c->start[i] = at[0][i];
    c->end[i] = at[1][i];
    c->axis[i] = at[2] ? at[2][i] : (int64_t)i;
    c->step[i] = at[3] ? at[3][i] : 1;
    if (c->axis[i] < 0) c->axis[i] += ndim;
  }
  return true;
}

static bool apart(const cut *a, const cut *b) {
  for (size_t i = 0; i < a->n; i++)
    for (size_t k = 0; k < b->n; k++)
      if (a->axis[i] == b->axis[k]) return false;
  return a->n + b->n <= MOST;
}

static ig_ed_outcome slice(ig_ed_work *w, ig_om_node *n) {
  const ig_om_node *first = ig_ed_maker_is(w, ig_ed_in(n, 0), "Slice");
  const ig_ed_value *base = first ? ig_ed_val(w, ig_ed_in(first, 0)) : NULL;
  cut a;
  cut b;
  if (!first || ig_ed_opset(w->e) < 10 || base->ndim < 0 ||
      ig_ed_val(w, ig_ed_in(n, 0))->reads > 1 || !read_cut(w, first, base->ndim, &a) ||
      !read_cut(w, n, base->ndim, &b) || !apart(&a, &b)) {
    return IG_ED_KEPT;
  }
  for (size_t i = 0; i < b.n; i++, a.n++) {
    a.start[a.n] = b.start[i];
    a.end[a.n] = b.end[i];
    a.axis[a.n] = b.axis[i];
    a.step[a.n] = b.step[i];
  }
  const char *out = n->outputs[0];
  const char *in[5] = {base->name};
  in[1] = ig_ed_const_ints(w, a.start, a.n, out);
  in[2] = ig_ed_const_ints(w, a.end, a.n, out);
  in[3] = ig_ed_const_ints(w, a.axis, a.n, out);
  in[4] = ig_ed_const_ints(w, a.step, a.n, out);
  *n = ig_ed_node(w->e, n, "Slice", in, 5, out);
  return IG_ED_CHANGED;
}

// ---- shapes

static int64_t concat_axis(ig_ed_work *w, const ig_om_node *n) {
  int64_t axis = ig_ed_int(n, "axis", 1);  // 1: before opset 4
  int ndim = ig_ed_val(w, n->outputs[0])->ndim;
  return axis < 0 && ndim > 0 ? axis + ndim : axis;
}

// The operands of a concatenation in the concatenation, along the same axis, which nothing else
// reads.
static ig_ed_outcome concat_chain(ig_ed_work *w, ig_om_node *n) {
  for (size_t i = 0; i < n->ninputs; i++) {
    const ig_om_node *first = ig_ed_maker_is(w, n->inputs[i], "Concat");
    if (!first || ig_ed_val(w, n->inputs[i])->reads > 1 || first->ninputs == 0) continue;
    int64_t axis = concat_axis(w, n);
    if (axis < 0 || axis != concat_axis(w, first)) continue;
    size_t count = ig_mem_add(n->ninputs, first->ninputs) - 1;
    const char **in = ig_ed_push(w->e, count, sizeof *in);
    if (!in) return IG_ED_KEPT;
    for (size_t k = 0; k < count; k++) {
      bool inner = k >= i && k < i + first->ninputs;
      in[k] = inner ? first->inputs[k - i] : n->inputs[k < i ? k : k - first->ninputs + 1];
    }
    n->inputs = in;
    n->ninputs = count;
    return IG_ED_CHANGED;
  }
  return IG_ED_KEPT;
}

// Concatenated vectors: neighbours that are constant become one.
static ig_ed_outcome concat_known(ig_ed_work *w, ig_om_node *n) {
  const ig_ed_value *out = ig_ed_val(w, n->outputs[0]);
  bool vector = out->ndim == 1 && out->elem == IG_OM_INT64;
  if (!vector || n->ninputs < 2) return IG_ED_KEPT;
  for (size_t i = 0; i + 1 < n->ninputs; i++) {
    size_t count[2];
    const int64_t *a = ig_ed_known_ints(w, n->inputs[i], &count[0]);
    const int64_t *b = ig_ed_known_ints(w, n->inputs[i + 1], &count[1]);
    int64_t both[256];
    if (!a || !b || count[0] + count[1] > 256) continue;
    if (count[0]) memcpy(both, a, count[0] * sizeof *both);
    if (count[1]) memcpy(both + count[0], b, count[1] * sizeof *both);
    const char **in = ig_ed_push(w->e, n->ninputs, sizeof *in);
    if (!in) return IG_ED_KEPT;
    for (size_t k = 0; k + 1 < n->ninputs; k++) in[k] = n->inputs[k + (k > i)];
    in[i] = ig_ed_const_ints(w, both, count[0] + count[1], n->outputs[0]);
    n->inputs = in;
    n->ninputs--;
    w->changed = true;
    return IG_ED_CHANGED;
  }
  return IG_ED_KEPT;
}

static ig_ed_outcome concat(ig_ed_work *w, ig_om_node *n) {
  ig_ed_outcome done = concat_chain(w, n);
  return done == IG_ED_KEPT ? concat_known(w, n) : done;
}

// A number that is taken out of a vector and made a vector again: Gather with a vector of one
// index.
static ig_ed_outcome unsqueeze(ig_ed_work *w, ig_om_node *n) {
  const ig_om_node *gather = ig_ed_maker_is(w, ig_ed_in(n, 0), "Gather");
  const ig_ed_value *middle = ig_ed_val(w, ig_ed_in(n, 0));
  if (!gather || middle->ndim != 0 || middle->reads > 1) return view(w, n);
  size_t count = 0;
  const int64_t *index = ig_ed_known_ints(w, ig_ed_in(gather, 1), &count);
  const ig_ed_value *from = ig_ed_val(w, ig_ed_in(gather, 0));
  bool vector = ig_ed_val(w, n->outputs[0])->ndim == 1;
  if (!index || count != 1 || from->ndim != 1 || !vector) return IG_ED_KEPT;
  const char *in[] = {from->name, ig_ed_const_ints(w, index, 1, n->outputs[0])};
  *n = ig_ed_node(w->e, n, "Gather", in, 2, n->outputs[0]);
  w->changed = true;
  return IG_ED_CHANGED;
}

// ---- zeros

static bool is_zero(ig_ed_work *w, const char *name) {
  static const char *const moves[] = {"Slice",    "Expand",    "Reshape", "Squeeze",
                                      "Identity", "Transpose", "Tile",    "Unsqueeze"};
  for (int step = 0; step < MOST; step++) {
    if (ig_ed_all(w, name, 0)) return true;
    const ig_om_node *n = ig_ed_maker(w, name);
    if (!n) return false;
    const ig_om_attr *a = ig_om_find_attr(n, "value");
    if (ig_ed_is(n, "ConstantOfShape")) {
      const ig_om_tensor *t = a && a->type == IG_OM_ATTR_TENSOR ? a->tensors[0] : NULL;
      const double *at = t ? ig_ed_doubles(w->e, t) : NULL;
      return !a || (at && t->numel == 1 && at[0] == 0);
    }
    bool moved = false;
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) moved |= ig_ed_is(n, moves[i]);
    if (!moved) return false;
    name = ig_ed_in(n, 0);
  }
  return false;
}

// Without initial states they are zero.
static ig_ed_outcome recurrent(ig_ed_work *w, ig_om_node *n) {
  ig_ed_outcome done = IG_ED_KEPT;
  for (size_t i = 5; i < n->ninputs && i < 7; i++) {
    if (!*n->inputs[i] || !is_zero(w, n->inputs[i])) continue;
    ig_ed_set_input(w->e, n, i, "");
    done = IG_ED_CHANGED;
  }
  ig_ed_cut_inputs(n, n->ninputs);
  return done;
}

const ig_ed_row ig_ed_rows_shape[] = {
    {"LSTM", recurrent, false},      {"GRU", recurrent, false}, {"RNN", recurrent, false},
    {"Reshape", reshape, false},     {"Flatten", view, false},  {"Squeeze", view, false},
    {"Unsqueeze", unsqueeze, false}, {"Expand", expand, false}, {"Slice", slice, false},
    {"Concat", concat, false},       {NULL, NULL, false},
};
