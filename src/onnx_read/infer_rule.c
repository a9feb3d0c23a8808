// SPDX-License-Identifier: Apache-2.0
#include "onnx_read/infer_rule.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

// A rule has one text per result, divided by ';', of terms divided by blanks:
//
//   =1        the sizes of input 1
//   *         what all inputs broadcast to
//   %0,3      the product of the matrices of inputs 0 and 3
//   &         the inputs joined along attribute 'axis'
//   0.1       size 1 of input 0
//   1.0/name  the same; the other of the two if the attribute is set
//   1.1-      sizes 1 to the last but one of input 1
//   ~         as many unknown sizes as input 0 has more dimensions
//   @name,0   an integer of the attribute, 1 if it is absent
//   ?  3      unknown; a number
//
// "#4" in front: of a first input with 4 dimensions; "!name": unless the attribute is set.
typedef struct rule {
  const char *ops;  // with a blank around each
  const char *text;
} rule;

static const rule rules[] = {
    {" Add Sub Mul Div Pow Mod And Or Xor Equal Greater Less GreaterOrEqual LessOrEqual BitwiseAnd "
     "BitwiseOr BitwiseXor BitShift Max Min Mean Sum Where ",
     "*"},
    {" InstanceNormalization GroupNormalization LayerNormalization RMSNormalization LRN PRelu Clip "
     "LpNormalization MeanVarianceNormalization QuantizeLinear DequantizeLinear RotaryEmbedding "
     "ScatterElements ScatterND Scatter TensorScatter ReverseSequence CumSum CumProd Trilu Hardmax "
     "Softmax LogSoftmax ",
     "=0"},
    {" BatchNormalization ", "=0;=3;=4"},
    {" Dropout ", "=0;=0"},
    {" GatherElements ", "=1"},
    {" MatMul MatMulInteger ", "%0,1"},
    {" QLinearMatMul ", "%0,3"},
    {" Gemm ", "0.0/transA 1.1/transB"},
    {" Concat ", "&"},
    {" Conv ConvInteger ", "0.0 1.0 ~"},
    {" QLinearConv ", "0.0 3.0 ~"},
    {" ConvTranspose ", "0.0 ? ~"},
    {" MaxPool AveragePool LpPool MaxUnpool ", "0.0 0.1 ~;0.0 0.1 ~"},
    {" LSTM GRU RNN ", "!layout 0.0 1.0 0.1 2.2;1.0 0.1 2.2;1.0 0.1 2.2"},
    {" Attention ", "#4 0.0 0.1 0.2 2.3"},
    {" Attention ", "#3 0.0 0.1 ?"},
    {" GridSample ", "0.0 0.1 1.1-"},
    {" RoiAlign ", "1.0 0.1 @output_height @output_width"},
    {" MaxRoiPool ", "1.0 0.1 @pooled_shape,0 @pooled_shape,1"},
    {" NonMaxSuppression ", "? 3"},
    {" Resize Upsample Tile Pad Slice CenterCropPad DFT ", "~"},
    {" STFT ", "0.0 ? ? 2"},
    {" DepthToSpace SpaceToDepth ", "0.0 ? ? ?"},
};

// ---- terms

static ig_tensor *operand(ig_rd *r, size_t i) {
  return ig_rd_has(r, i) && r->in[i]->kind == IG_RD_TENSOR ? ig_rd_tensor(r, r->in[i]) : NULL;
}

static bool is_set(ig_rd *r, const char *name, size_t n) {
  const ig_om_attr *a = NULL;
  for (size_t i = 0; i < r->node->nattrs && !a; i++)
    if (strncmp(r->node->attrs[i].name, name, n) == 0 && !r->node->attrs[i].name[n])
      a = ig_rd_attr(r, r->node->attrs[i].name);
  return a && a->type == IG_OM_ATTR_INT && a->i;
}

static bool push(ig_rd_shape *s, bool known, ig_int size) {
  if (s->ndim >= IG_MAX_DIM) return false;
  s->known[s->ndim] = known;
  s->dims[s->ndim++] = size;
  return true;
}

static bool push_size(ig_rd_shape *s, const ig_tensor *t, int d) {
  bool there = t && d < t->ndim;
  return push(s, there, there ? ig_sizes(t)[d] : ig_const(0));
}

// What two sizes broadcast to: a number but 1 wins, and what stands beside 1.
static void meet(ig_rd_shape *s, int d, ig_int size) {
  ig_int have = s->dims[d];
  bool one = !size.expr && size.value == 1;
  bool had_one = s->known[d] && !have.expr && have.value == 1;
  bool number = !size.expr && !one;
  bool had_number = s->known[d] && !have.expr && !had_one;
  bool same = s->known[d] && have.expr && have.expr == size.expr;
  if (one || had_number || same) return;
  s->known[d] = had_one || number;
  s->dims[d] = size;
}

static bool broadcast(ig_rd *r, ig_rd_shape *s) {
  for (size_t i = 0; i < r->nin; i++) {
    const ig_tensor *t = operand(r, i);
    if (!t) return false;
    s->ndim = t->ndim > s->ndim ? t->ndim : s->ndim;
  }
  for (int d = 0; d < s->ndim; d++) {
    s->known[d] = true;
    s->dims[d] = ig_const(1);
  }
  for (size_t i = 0; i < r->nin; i++) {
    const ig_tensor *t = operand(r, i);
    for (int d = 0; d < t->ndim; d++) meet(s, s->ndim - t->ndim + d, ig_sizes(t)[d]);
  }
  return true;
}

static bool product(ig_rd *r, size_t i, size_t k, ig_rd_shape *s) {
  const ig_tensor *a = operand(r, i);
  const ig_tensor *b = operand(r, k);
  if (!a || !b || !a->ndim || !b->ndim) return false;
  int ra = a->ndim > 2 ? a->ndim - 2 : 0;
  int rb = b->ndim > 2 ? b->ndim - 2 : 0;
  for (int d = 0; d < (ra > rb ? ra : rb); d++) (void)push(s, true, ig_const(1));
  for (int d = 0; d < ra; d++) meet(s, s->ndim - ra + d, ig_sizes(a)[d]);
  for (int d = 0; d < rb; d++) meet(s, s->ndim - rb + d, ig_sizes(b)[d]);
  return (a->ndim < 2 || push_size(s, a, a->ndim - 2)) &&
         (b->ndim < 2 || push_size(s, b, b->ndim - 1));
}

// Sizes beside the axis are equal: a number tells most.
static bool joined(ig_rd *r, ig_rd_shape *s) {
  for (size_t i = 0; i < r->nin; i++) {
    const ig_tensor *t = operand(r, i);
    if (!t || !t->ndim || (i && t->ndim != s->ndim)) return false;
    int axis = ig_rd_axis(r, ig_rd_attr_int(r, "axis", 0), t->ndim);
    for (int d = 0; d < t->ndim; d++) {
      ig_int size = ig_sizes(t)[d];
      if (i == 0)
        (void)push(s, true, size);
      else if (d == axis)
        s->dims[d] = ig_int_add(r->c, s->dims[d], size);
      else if (s->dims[d].expr && !size.expr)
        s->dims[d] = size;
    }
  }
  return ig_rd_ok(r);
}

// "0.1", "1.0/name", "1.1-"
static bool sizes(ig_rd *r, const char *p, ig_rd_shape *s) {
  const ig_tensor *t = operand(r, (size_t)(p[0] - '0'));
  int d = p[2] - '0';
  if (p[3] == '/' && is_set(r, p + 4, strcspn(p + 4, " ;"))) d = 1 - d;
  if (p[3] != '-') return push_size(s, t, d);
  for (; t && d < t->ndim - 1; d++) (void)push_size(s, t, d);
  return t != NULL;
}

static bool attribute(ig_rd *r, const char *p, ig_rd_shape *s) {
  size_t n = strcspn(p, " ;,");
  for (size_t i = 0; i < r->node->nattrs; i++) {
    const char *name = r->node->attrs[i].name;
    if (strncmp(name, p, n) != 0 || name[n]) continue;
    const ig_om_attr *a = ig_rd_attr(r, name);
    size_t k = p[n] == ',' ? (size_t)(p[n + 1] - '0') : 0;
    if (a && a->type == IG_OM_ATTR_INT) return push(s, true, ig_const(a->i));
    return a && a->type == IG_OM_ATTR_INTS && k < a->n && push(s, true, ig_const(a->ints[k]));
  }
  return push(s, true, ig_const(1));
}

static bool term(ig_rd *r, const char *p, ig_rd_shape *s) {
  const ig_tensor *first = operand(r, 0);
  const ig_tensor *whole = *p == '=' ? operand(r, (size_t)(p[1] - '0')) : NULL;
  switch (*p) {
    case '=':
      for (int d = 0; whole && d < whole->ndim; d++) (void)push_size(s, whole, d);
      return whole != NULL;
    case '*':
      return broadcast(r, s);
    case '&':
      return joined(r, s);
    case '%':
      return product(r, (size_t)(p[1] - '0'), (size_t)(p[3] - '0'), s);
    case '~':
      while (first && s->ndim < first->ndim) (void)push(s, false, ig_const(0));
      return first != NULL;
    case '@':
      return attribute(r, p + 1, s);
    case '?':
      return push(s, false, ig_const(0));
    default:
      return p[1] == '.' ? sizes(r, p, s) : push(s, true, ig_const(strtoll(p, NULL, 10)));
  }
}

static bool holds(ig_rd *r, const char *p) {
  const ig_tensor *t = operand(r, 0);
  if (*p == '#') return t && t->ndim == p[1] - '0';
  return *p != '!' || !is_set(r, p + 1, strcspn(p + 1, " "));
}

static bool is_of(const char *ops, const char *op) {
  size_t n = strlen(op);
  for (const char *p = strstr(ops, op); p; p = strstr(p + 1, op))
    if (p[-1] == ' ' && p[n] == ' ') return true;
  return false;
}

bool ig_rd_rule(ig_rd *r, size_t i, ig_rd_shape *out) {
  *out = (ig_rd_shape){0};
  if (r->node->domain[0] || !r->node->op_type[0]) return false;
  for (size_t k = 0; k < sizeof rules / sizeof *rules; k++) {
    const char *p = rules[k].text;
    if (!is_of(rules[k].ops, r->node->op_type) || !holds(r, p)) continue;
    if (*p == '#' || *p == '!') p += strcspn(p, " ") + 1;
    for (; i && p; i--) {
      p = strchr(p, ';');
      p = p ? p + 1 : NULL;
    }
    bool ok = p != NULL;
    while (ok && *p && *p != ';') {
      ok = term(r, p, out);
      p += strcspn(p, " ;");
      p += *p == ' ';
    }
    return ok && ig_rd_ok(r);
  }
  return false;
}
