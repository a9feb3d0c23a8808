// SPDX-License-Identifier: Apache-2.0
// Nodes that become part of others: factors and offsets per channel in the weights of a layer,
// padding in a convolution, a matrix product and what is added to it in Gemm.
#include <math.h>
#include <string.h>

#include "edit/work.h"

// A layer with constant weights: out[n, c, ...] = W[c] * x + bias[c].
typedef struct layer {
  const ig_om_node *node;
  const ig_om_tensor *weight;
  const ig_om_tensor *bias;  // NULL: none
  int axis;                  // of the output's channels in the weight
  int64_t channels;
} layer;

static bool is_plain_gemm(const ig_om_node *n) {
  return ig_ed_is(n, "Gemm") && ig_ed_float(n, "alpha", 1) == 1 && ig_ed_float(n, "beta", 1) == 1;
}

// The layer that makes a value, if nothing else reads the value.
static bool find_layer(ig_ed_work *w, const char *name, layer *l) {
  *l = (layer){.node = ig_ed_maker(w, name)};
  const ig_ed_value *v = ig_ed_val(w, name);
  if (!l->node || v->reads > 1 || v->out) return false;
  bool conv = ig_ed_is(l->node, "Conv");
  bool turned = ig_ed_is(l->node, "ConvTranspose") && ig_ed_int(l->node, "group", 1) == 1;
  if (!conv && !turned && !is_plain_gemm(l->node)) return false;
  l->weight = ig_ed_val(w, ig_ed_in(l->node, 1))->init;
  l->bias = ig_ed_val(w, ig_ed_in(l->node, 2))->init;
  l->axis = conv ? 0 : turned ? 1 : ig_ed_int(l->node, "transB", 0) == 0;
  if (!l->weight || !ig_ed_is_real(l->weight->elem) || l->weight->ndim < 2) return false;
  l->channels = l->weight->dims[l->axis];
  if (*ig_ed_in(l->node, 2) && !l->bias) return false;
  bool fits = !l->bias || (l->bias->ndim == 1 && l->bias->dims[0] == l->channels &&
                           l->bias->elem == l->weight->elem);
  return fits && l->channels > 0;
}

// Numbers of a constant that belong to the channels of a layer's result, in the innermost scope;
// NULL: it is not constant, or belongs to other dimensions too.
static double *per_channel(ig_ed_work *w, const layer *l, const char *name, int ndim) {
  const ig_om_tensor *t = ig_ed_val(w, name)->init;
  if (!t || t->elem != l->weight->elem || t->ndim > ndim || ndim < 2) return NULL;
  if (t->numel != 1 && t->numel != l->channels) return NULL;
  for (int d = 0; d < t->ndim; d++)
    if (t->dims[d] != 1 && d + ndim - t->ndim != 1) return NULL;
  if (t->numel > 1 && ndim - t->ndim > 1) return NULL;
  double *at = ig_ed_doubles(w->e, t);
  double *all = at ? ig_scope_array(w->e->c, (size_t)l->channels, sizeof *all) : NULL;
  for (int64_t i = 0; all && i < l->channels; i++) all[i] = at[t->numel == 1 ? 0 : i];
  return all;
}

static ig_om_tensor *scaled(ig_ed_work *w, const layer *l, const double *scale) {
  const ig_om_tensor *t = l->weight;
  double *at = ig_ed_doubles(w->e, t);
  ig_om_tensor *to = at ? ig_ed_tensor(w->e, "", t->elem, t->ndim, t->dims) : NULL;
  if (!to) return NULL;
  int64_t inner = 1;
  for (int d = l->axis + 1; d < t->ndim; d++) inner *= t->dims[d];  // at most numel
  for (int64_t i = 0; i < t->numel; i++) at[i] *= scale[i / inner % l->channels];
  ig_ed_store(to, at);
  return to;
}

static ig_om_tensor *shifted(ig_ed_work *w, const layer *l, const double *scale,
                             const double *shift) {
  double *at = l->bias ? ig_ed_doubles(w->e, l->bias) : NULL;
  double *sum = ig_scope_array(w->e->c, (size_t)l->channels, sizeof *sum);
  ig_om_tensor *to = ig_ed_tensor(w->e, "", l->weight->elem, 1, &l->channels);
  for (int64_t i = 0; sum && i < l->channels; i++)
    sum[i] = (at ? at[i] : 0) * (scale ? scale[i] : 1) + (shift ? shift[i] : 0);
  if (sum && to) ig_ed_store(to, sum);
  return sum ? to : NULL;
}

// The layer with a factor and an offset per channel (NULL: none) in place of node n.
static ig_ed_outcome merge(ig_ed_work *w, ig_om_node *n, const layer *l, const double *scale,
                           const double *shift) {
  const char *out = n->outputs[0];
  ig_om_node to = *l->node;
  const char **outputs = ig_ed_push(w->e, 1, sizeof *outputs);
  ig_om_tensor *weight = scale ? scaled(w, l, scale) : NULL;
  bool biased = l->bias || shift;
  ig_om_tensor *bias = biased ? shifted(w, l, scale, shift) : NULL;
  if (!outputs || (scale && !weight) || (biased && !bias)) return IG_ED_KEPT;
  *outputs = out;
  to.outputs = outputs;
  to.noutputs = 1;
  if (weight) ig_ed_set_input(w->e, &to, 1, ig_ed_constant(w, weight, out));
  if (bias) ig_ed_set_input(w->e, &to, 2, ig_ed_constant(w, bias, out));
  *n = to;
  w->changed = true;
  return IG_ED_CHANGED;
}

static ig_ed_outcome batch_norm(ig_ed_work *w, ig_om_node *n) {
  layer l;
  double *p[4];
  if (!ig_ed_only_first(w, n) || ig_ed_int(n, "training_mode", 0) || ig_ed_opset(w->e) < 9 ||
      !find_layer(w, ig_ed_in(n, 0), &l)) {
    return IG_ED_KEPT;
  }
  for (size_t i = 0; i < 4; i++) {
    const ig_om_tensor *t = ig_ed_val(w, ig_ed_in(n, i + 1))->init;
    bool fits = t && t->ndim == 1 && t->dims[0] == l.channels;
    p[i] = fits ? ig_ed_doubles(w->e, t) : NULL;
    if (!p[i]) return IG_ED_KEPT;
  }
  double epsilon = ig_ed_float(n, "epsilon", (double)1e-5F);
  for (int64_t i = 0; i < l.channels; i++) {
    double scale = p[0][i] / sqrt(p[3][i] + epsilon);
    double shift = p[1][i] - p[2][i] * scale;
    if (!isfinite(scale) || !isfinite(shift)) return IG_ED_KEPT;
    p[0][i] = scale;
    p[1][i] = shift;
  }
  return merge(w, n, &l, p[0], p[1]);
}

// A layer's result plus, or times, a constant per channel.
static ig_ed_outcome with_constant(ig_ed_work *w, ig_om_node *n, double sign, bool product) {
  for (size_t i = 0; i < (sign < 0 ? 1u : 2u); i++) {
    layer l;
    const ig_ed_value *x = ig_ed_val(w, ig_ed_in(n, i));
    if (!find_layer(w, ig_ed_in(n, i), &l) || ig_ed_is(l.node, "Gemm")) continue;
    double *at = per_channel(w, &l, ig_ed_in(n, 1 - i), x->ndim);
    if (!at) continue;
    for (int64_t k = 0; k < l.channels; k++) {
      at[k] *= sign;
      if (!isfinite(at[k])) return IG_ED_KEPT;
    }
    return merge(w, n, &l, product ? at : NULL, product ? NULL : at);
  }
  return IG_ED_KEPT;
}

static ig_ed_outcome mul(ig_ed_work *w, ig_om_node *n) {
  return with_constant(w, n, 1, true);
}
static ig_ed_outcome sub(ig_ed_work *w, ig_om_node *n) {
  return with_constant(w, n, -1, false);
}

// ---- matrix products

// Does c broadcast to a matrix of n columns without giving it more rows?
static bool is_row(const ig_ed_value *c, const ig_ed_value *product) {
  if (c->ndim < 0 || c->ndim > 2) return false;
  if (c->ndim == 0) return true;
  const int last = c->ndim - 1;
  bool columns = c->dims[last] == 1 || ig_ed_same_dim(c, last, product, 1);
  return columns && (c->ndim < 2 || c->dims[0] == 1 || ig_ed_same_dim(c, 0, product, 0));
}

// MatMul of matrices, and Gemm without a third operand, take what is added to them.
static ig_ed_outcome gemm_of(ig_ed_work *w, ig_om_node *n, size_t i) {
  const ig_ed_value *product = ig_ed_val(w, ig_ed_in(n, i));
  const ig_ed_value *c = ig_ed_val(w, ig_ed_in(n, 1 - i));
  const ig_om_node *first = ig_ed_maker(w, ig_ed_in(n, i));
  bool matmul = first && ig_ed_is(first, "MatMul");
  bool gemm = first && ig_ed_is(first, "Gemm") && !*ig_ed_in(first, 2) &&
              ig_ed_float(first, "beta", 1) == 1;  // which had nothing to multiply so far
  bool real =
      ig_ed_is_real(product->elem) && (product->elem != IG_OM_BFLOAT16 || ig_ed_opset(w->e) >= 13);
  if ((!matmul && !gemm) || product->reads > 1 || product->out || product->ndim != 2 || !real ||
      ig_ed_opset(w->e) < 7 || ig_ed_val(w, ig_ed_in(first, 0))->ndim != 2 ||
      ig_ed_val(w, ig_ed_in(first, 1))->ndim != 2 || !is_row(c, product)) {
    return IG_ED_KEPT;
  }
  const char *in[] = {ig_ed_in(first, 0), ig_ed_in(first, 1), c->name};
  ig_om_node to = ig_ed_node(w->e, first, "Gemm", in, 3, n->outputs[0]);
  if (gemm) {
    to.attrs = first->attrs;
    to.nattrs = first->nattrs;
  }
  *n = to;
  w->changed = true;
  return IG_ED_CHANGED;
}

static ig_ed_outcome add(ig_ed_work *w, ig_om_node *n) {
  ig_ed_outcome done = with_constant(w, n, 1, false);
  if (done == IG_ED_KEPT) done = gemm_of(w, n, 0);
  return done == IG_ED_KEPT ? gemm_of(w, n, 1) : done;
}

// Transposed operands.
static ig_ed_outcome gemm(ig_ed_work *w, ig_om_node *n) {
  static const char *const names[] = {"transA", "transB"};
  for (size_t i = 0; i < 2; i++) {
    const ig_om_node *turn = ig_ed_maker_is(w, ig_ed_in(n, i), "Transpose");
    if (!turn || ig_ed_val(w, ig_ed_in(n, i))->ndim != 2) continue;
    const ig_om_attr *perm = ig_om_find_attr(turn, "perm");
    if (perm && (perm->n != 2 || perm->ints[0] != 1)) continue;
    ig_ed_set_input(w->e, n, i, ig_ed_name(w, ig_ed_in(turn, 0)));
    ig_ed_set_int(w->e, n, names[i], ig_ed_int(n, names[i], 0) == 0);
    w->changed = true;
    return IG_ED_CHANGED;
  }
  return IG_ED_KEPT;
}

// ---- padding

static ig_ed_outcome conv(ig_ed_work *w, ig_om_node *n) {
  enum { MOST = 16 };
  const ig_om_node *pad = ig_ed_maker_is(w, ig_ed_in(n, 0), "Pad");
  const ig_ed_value *x = ig_ed_val(w, ig_ed_in(n, 0));
  if (!pad || !ig_ed_text_is(n, "auto_pad", "NOTSET", "NOTSET") ||
      !ig_ed_text_is(pad, "mode", "constant", "constant") || *ig_ed_in(pad, 3) || x->ndim < 3) {
    return IG_ED_KEPT;
  }
  size_t count = 0;
  const int64_t *by = ig_ed_axes(w, pad, "pads", 1, &count);
  bool zero =
      *ig_ed_in(pad, 2) ? ig_ed_all(w, ig_ed_in(pad, 2), 0) : ig_ed_float(pad, "value", 0) == 0;
  size_t ndim = (size_t)x->ndim;
  if (!by || !zero || count != 2 * ndim || count > MOST) return IG_ED_KEPT;
  const ig_om_attr *pads = ig_om_find_attr(n, "pads");
  size_t space = ndim - 2;
  int64_t both[MOST];
  if (pads && pads->n != 2 * space) return IG_ED_KEPT;
  for (size_t i = 0; i < count; i++) {
    size_t d = i % ndim;
    size_t k = i / ndim * space + d - 2;
    if (by[i] < 0 || (d < 2 && by[i])) return IG_ED_KEPT;
    if (d >= 2 && !ig_checked_add(by[i], pads ? pads->ints[k] : 0, &both[k])) return IG_ED_KEPT;
  }
  ig_ed_set_input(w->e, n, 0, ig_ed_name(w, ig_ed_in(pad, 0)));
  ig_ed_set_ints(w->e, n, "pads", both, 2 * space);
  w->changed = true;
  return IG_ED_CHANGED;
}

const ig_ed_row ig_ed_rows_fuse[] = {
    {"BatchNormalization", batch_norm, true},
    {"Mul", mul, true},
    {"Sub", sub, true},
    {"Add", add, true},
    {"Gemm", gemm, true},
    {"Conv", conv, true},
    {NULL, NULL, false},
};
