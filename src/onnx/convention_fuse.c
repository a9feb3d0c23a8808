// SPDX-License-Identifier: Apache-2.0
// A convolution whose only reader is a normalization with known statistics, as PyTorch's
// TorchScript exporter writes it for inference: one Conv with weights of its own.
#include "ingot/aten.h"
#include "onnx/convention.h"

static bool is_conv(const ig_node *n) {
  if (n->kind != IG_NODE_CALL || n->callee != IG_CALLEE_OP || !n->op || n->users != 1) return false;
  size_t id = n->op->number;
  return id == IG_ID_CONV1D || id == IG_ID_CONV2D || id == IG_ID_CONV3D;
}

static bool is_norm(const ig_node *n) {
  return n->kind == IG_NODE_CALL && n->callee == IG_CALLEE_OP && n->op &&
         n->op->number == IG_ID_BATCH_NORM;
}

static ig_tensor *weight_of(const ig_onnx *x, const ig_value *v) {
  return v->kind == IG_KIND_NODE ? ig_onnx_known_weight(x, v->node) : NULL;
}

// The convolution that the normalization n is written with; NULL: none.
static const ig_node *conv_of(const ig_onnx *x, const ig_node *n) {
  if (!x->options->torchscript || x->options->training || !is_norm(n)) return NULL;
  ig_value a[IG_MAX_ARGS];
  ig_onnx_fill_args(n, a);
  if (a[0].kind != IG_KIND_NODE || !is_conv(a[0].node) || a[5].kind != IG_KIND_BOOL || a[5].b)
    return NULL;
  for (size_t i = 1; i < 5; i++)
    if (!weight_of(x, &a[i])) return NULL;
  ig_value c[IG_MAX_ARGS];
  ig_onnx_fill_args(a[0].node, c);
  bool bias = ig_onnx_is_none(&c[2]) || weight_of(x, &c[2]);
  return weight_of(x, &c[1]) && bias ? a[0].node : NULL;
}

bool ig_onnx_is_normalized(ig_onnx *x, const ig_node *n) {
  bool is = is_conv(n) && n->first_use && conv_of(x, n->first_use->user) == n;
  if (is) x->nmade++;
  return is;
}

// scale = weight / sqrt(var + eps); w * scale, (b - mean) * scale + bias
static void combine(ig_ctx *c, ig_tensor *w, ig_tensor *b, ig_tensor *const *norm, double eps,
                    ig_tensor **out) {
  ig_tensor *std = ig_sqrt(c, ig_add_scalar(c, norm[3], ig_of_f64(eps)));
  ig_tensor *scale = ig_div_tensor(c, norm[0], std);
  ig_int sizes[IG_MAX_DIM];
  for (int d = 0; d < w->ndim; d++) sizes[d] = ig_const(d ? 1 : -1);
  ig_tensor *rows = ig_view(c, scale, ig_of_ints(sizes, (size_t)w->ndim));
  ig_tensor *off = b ? ig_sub_tensor(c, b, norm[2]) : ig_neg(c, norm[2]);
  out[0] = ig_mul_tensor(c, w, rows);
  out[1] = ig_add_tensor(c, ig_mul_tensor(c, off, scale), norm[1]);
}

bool ig_onnx_put_normalized(ig_onnx *x, const ig_onnx_call *call) {
  const ig_node *conv = conv_of(x, call->node);
  ig_map_value *row = conv ? ig_map_find(&x->rows, conv->target) : NULL;
  if (!row) return false;
  ig_ctx *c = x->c;
  ig_value args[IG_MAX_ARGS];
  ig_onnx_fill_args(conv, args);
  ig_tensor *norm[4];
  for (size_t i = 0; i < 4; i++) norm[i] = weight_of(x, &call->args[i + 1]);
  ig_tensor *bias = ig_onnx_is_none(&args[2]) ? NULL : weight_of(x, &args[2]);
  ig_mode_scope mode = ig_mode_push_sym(c, NULL);
  ig_scope s = ig_scope_open(c);
  static const char fused[] = "Conv and BatchNormalization";
  ig_tensor *w = weight_of(x, &args[1]);
  ig_onnx_folded f = {.op = fused, .in = {w, bias, norm[0], norm[1], norm[2], norm[3]}};
  ig_tensor **both = f.out;
  if (!ig_onnx_find_folded(x, &f))
    combine(c, w, bias, norm, ig_onnx_float_of(x, &call->args[7]), both);
  const char *names[2] = {ig_onnx_fresh(x, "weight"), ig_onnx_fresh(x, "bias")};
  bool ok = ig_onnx_know_folded(x, names[0], both[0]) && ig_onnx_know_folded(x, names[1], both[1]);
  if (ok) ig_onnx_keep_folded(x, f);
  ig_scope_close(c, s);
  ig_mode_pop(c, &mode);
  if (!ok) return false;
  // The row of the convolution reads the new weights under the nodes of the old ones.
  const ig_node *held[2] = {args[1].node, call->args[2].node};
  const char *old[2];
  for (size_t i = 0; i < 2; i++) {
    old[i] = ig_onnx_own_name(x, held[i]);
    (void)ig_onnx_set_name(x, held[i], names[i]);
  }
  args[2] = call->args[2];
  ig_onnx_call own = *call;
  own.node = conv;
  own.row = row->ptr;
  own.args = args;
  own.row->fn(x, &own);
  for (size_t i = 0; i < 2; i++) (void)ig_onnx_set_name(x, held[i], old[i]);
  return true;
}
