// SPDX-License-Identifier: Apache-2.0
// Nodes that give what they get, pairs that undo each other, repetitions.
#include <string.h>

#include "edit/work.h"

static const ig_ed_value *in_of(ig_ed_work *w, const ig_om_node *n, size_t i) {
  return ig_ed_val(w, ig_ed_in(n, i));
}

static const ig_ed_value *out_of(ig_ed_work *w, const ig_om_node *n) {
  return ig_ed_val(w, n->outputs[0]);
}

static ig_ed_outcome pass(ig_ed_work *w, ig_om_node *n) {
  return ig_ed_drop(w, n, ig_ed_in(n, 0));
}

// A node whose result has the sizes of its operand.
static ig_ed_outcome pass_if_same(ig_ed_work *w, ig_om_node *n) {
  return ig_ed_same_shape(in_of(w, n, 0), out_of(w, n)) ? pass(w, n) : IG_ED_KEPT;
}

static ig_ed_outcome dropout(ig_ed_work *w, ig_om_node *n) {
  bool training = *ig_ed_in(n, 2) && !ig_ed_all(w, ig_ed_in(n, 2), 0);
  if (ig_ed_opset(w->e) < 7) training = ig_ed_int(n, "is_test", 0) == 0;
  return training ? IG_ED_KEPT : pass(w, n);
}

// ---- types

// Does every number of type a exist in type b?
static bool holds(int a, int b) {
  static const struct {
    uint8_t narrow;
    uint8_t wide;
  } pairs[] = {
      {IG_OM_FLOAT16, IG_OM_FLOAT}, {IG_OM_FLOAT16, IG_OM_DOUBLE}, {IG_OM_BFLOAT16, IG_OM_FLOAT},
      {IG_OM_FLOAT, IG_OM_DOUBLE},  {IG_OM_INT32, IG_OM_INT64},    {IG_OM_INT8, IG_OM_INT32},
      {IG_OM_INT8, IG_OM_INT64},    {IG_OM_UINT8, IG_OM_INT32},    {IG_OM_UINT8, IG_OM_INT64},
      {IG_OM_BOOL, IG_OM_INT64},    {IG_OM_BOOL, IG_OM_INT32},     {IG_OM_BOOL, IG_OM_FLOAT},
  };
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
    if (pairs[i].narrow == a && pairs[i].wide == b) return true;
  return a == b;
}

static ig_ed_outcome cast(ig_ed_work *w, ig_om_node *n) {
  const ig_ed_value *x = in_of(w, n, 0);
  int to = (int)ig_ed_int(n, "to", 0);
  if (x->elem && x->elem == to) return pass(w, n);
  const ig_om_node *first = ig_ed_maker_is(w, ig_ed_in(n, 0), "Cast");
  if (!first) return IG_ED_KEPT;
  const ig_ed_value *from = ig_ed_val(w, ig_ed_in(first, 0));
  if (!from->elem || !holds(from->elem, x->elem) || from->init) return IG_ED_KEPT;
  ig_ed_set_input(w->e, n, 0, from->name);
  return IG_ED_CHANGED;
}

static ig_ed_outcome cast_like(ig_ed_work *w, ig_om_node *n) {
  const ig_ed_value *x = in_of(w, n, 0);
  const ig_ed_value *like = in_of(w, n, 1);
  if (!like->elem) return IG_ED_KEPT;
  if (x->elem == like->elem) return pass(w, n);
  ig_om_node to = ig_ed_node(w->e, n, "Cast", n->inputs, 1, n->outputs[0]);
  ig_ed_set_int(w->e, &to, "to", like->elem);
  *n = to;
  return IG_ED_CHANGED;
}

// ---- pairs

static ig_ed_outcome twice_undoes(ig_ed_work *w, ig_om_node *n) {
  const ig_om_node *first = ig_ed_maker_is(w, ig_ed_in(n, 0), n->op_type);
  return first ? ig_ed_drop(w, n, ig_ed_in(first, 0)) : IG_ED_KEPT;
}

static ig_ed_outcome twice_is_once(ig_ed_work *w, ig_om_node *n) {
  return ig_ed_maker_is(w, ig_ed_in(n, 0), n->op_type) ? pass(w, n) : IG_ED_KEPT;
}

// No result of these is below zero, so that Relu and Abs keep it.
static bool is_not_negative(ig_ed_work *w, const char *name) {
  static const char *const ops[] = {"Relu", "Sigmoid", "Softmax", "Abs", "Exp", "Sqrt", "Softplus"};
  const ig_om_node *n = ig_ed_maker(w, name);
  for (size_t i = 0; n && i < sizeof ops / sizeof *ops; i++)
    if (ig_ed_is(n, ops[i])) return true;
  return false;
}

static ig_ed_outcome positive(ig_ed_work *w, ig_om_node *n) {
  return is_not_negative(w, ig_ed_in(n, 0)) ? pass(w, n) : IG_ED_KEPT;
}

static ig_ed_outcome clip(ig_ed_work *w, ig_om_node *n) {
  bool none = !*ig_ed_in(n, 1) && !*ig_ed_in(n, 2) && !n->nattrs;
  return none ? pass(w, n) : IG_ED_KEPT;
}

// ---- numbers that change nothing

// Operand i is all `number`, and the other one has the sizes of the result.
static ig_ed_outcome neutral(ig_ed_work *w, ig_om_node *n, size_t i, double number) {
  const ig_ed_value *other = in_of(w, n, 1 - i);
  const ig_ed_value *out = out_of(w, n);
  if (!out->elem || other->elem != out->elem || !ig_ed_all(w, ig_ed_in(n, i), number))
    return IG_ED_KEPT;
  const ig_ed_value *c = in_of(w, n, i);
  bool scalar = c->init && c->init->numel == 1 && c->ndim <= 1 && (c->ndim == 0 || other->ndim > 0);
  if (!scalar && !ig_ed_same_shape(other, out)) return IG_ED_KEPT;
  return ig_ed_drop(w, n, ig_ed_in(n, 1 - i));
}

static ig_ed_outcome add(ig_ed_work *w, ig_om_node *n) {
  ig_ed_outcome first = neutral(w, n, 0, 0);
  return first != IG_ED_KEPT ? first : neutral(w, n, 1, 0);
}
static ig_ed_outcome sub(ig_ed_work *w, ig_om_node *n) {
  return neutral(w, n, 1, 0);
}
static ig_ed_outcome mul(ig_ed_work *w, ig_om_node *n) {
  ig_ed_outcome first = neutral(w, n, 0, 1);
  return first != IG_ED_KEPT ? first : neutral(w, n, 1, 1);
}
static ig_ed_outcome one_behind(ig_ed_work *w, ig_om_node *n) {
  return neutral(w, n, 1, 1);
}

static ig_ed_outcome where(ig_ed_work *w, ig_om_node *n) {
  bool yes = ig_ed_all(w, ig_ed_in(n, 0), 1);
  if (!yes && !ig_ed_all(w, ig_ed_in(n, 0), 0)) return IG_ED_KEPT;
  const char *chosen = ig_ed_in(n, yes ? 1 : 2);
  return ig_ed_same_shape(ig_ed_val(w, chosen), out_of(w, n)) ? ig_ed_drop(w, n, chosen)
                                                              : IG_ED_KEPT;
}

static ig_ed_outcome one_operand(ig_ed_work *w, ig_om_node *n) {
  return n->ninputs == 1 ? pass(w, n) : IG_ED_KEPT;
}

static ig_ed_outcome one_piece(ig_ed_work *w, ig_om_node *n) {
  return n->noutputs == 1 && in_of(w, n, 0)->elem == out_of(w, n)->elem ? pass_if_same(w, n)
                                                                        : IG_ED_KEPT;
}

static ig_ed_outcome pad(ig_ed_work *w, ig_om_node *n) {
  size_t count = 0;
  const int64_t *pads = ig_ed_axes(w, n, "pads", 1, &count);
  for (size_t i = 0; i < count; i++)
    if (pads && pads[i]) return IG_ED_KEPT;
  return pads ? pass(w, n) : IG_ED_KEPT;
}

static ig_ed_outcome tile(ig_ed_work *w, ig_om_node *n) {
  size_t count = 0;
  const int64_t *times = ig_ed_known_ints(w, ig_ed_in(n, 1), &count);
  for (size_t i = 0; i < count; i++)
    if (times && times[i] != 1) return IG_ED_KEPT;
  return times ? pass(w, n) : IG_ED_KEPT;
}

static ig_ed_outcome slice(ig_ed_work *w, ig_om_node *n) {
  size_t count = 0;
  const int64_t *steps =
      ig_ed_opset(w->e) < 10 ? NULL : ig_ed_known_ints(w, ig_ed_in(n, 4), &count);
  if (*ig_ed_in(n, 4) && !steps) return IG_ED_KEPT;
  for (size_t i = 0; i < count; i++)
    if (steps[i] != 1) return IG_ED_KEPT;
  return pass_if_same(w, n);
}

// The merged permutation of two transpositions; one that moves nothing is none.
static ig_ed_outcome transpose(ig_ed_work *w, ig_om_node *n) {
  enum { MOST = 16 };
  const ig_ed_value *x = in_of(w, n, 0);
  int64_t perm[MOST];
  const ig_om_attr *a = ig_om_find_attr(n, "perm");
  size_t count = a && a->type == IG_OM_ATTR_INTS ? a->n : x->ndim >= 0 ? (size_t)x->ndim : 0;
  if (count > MOST || (!a && x->ndim < 0)) return IG_ED_KEPT;
  for (size_t i = 0; i < count; i++) perm[i] = a ? a->ints[i] : (int64_t)(count - 1 - i);
  bool still = true;
  for (size_t i = 0; i < count; i++) still &= perm[i] == (int64_t)i;
  if (still) return pass(w, n);
  const ig_om_node *first = ig_ed_maker_is(w, ig_ed_in(n, 0), "Transpose");
  const ig_om_attr *b = first ? ig_om_find_attr(first, "perm") : NULL;
  if (!first || (b && b->n != count)) return IG_ED_KEPT;
  int64_t both[MOST];
  for (size_t i = 0; i < count; i++) {
    if (perm[i] < 0 || perm[i] >= (int64_t)count) return IG_ED_KEPT;
    both[i] = b ? b->ints[perm[i]] : (int64_t)count - 1 - perm[i];
  }
  ig_ed_set_input(w->e, n, 0, ig_ed_in(first, 0));
  ig_ed_set_ints(w->e, n, "perm", both, count);
  return IG_ED_CHANGED;
}

const ig_ed_row ig_ed_rows_identity[] = {
    {"Identity", pass, false},
    {"Dropout", dropout, false},
    {"Cast", cast, false},
    {"CastLike", cast_like, false},
    {"Not", twice_undoes, false},
    {"Neg", twice_undoes, false},
    {"BitwiseNot", twice_undoes, false},
    {"Relu", positive, false},
    {"Abs", positive, false},
    {"Ceil", twice_is_once, false},
    {"Floor", twice_is_once, false},
    {"Round", twice_is_once, false},
    {"Sign", twice_is_once, false},
    {"Clip", clip, false},
    {"Add", add, false},
    {"Sub", sub, false},
    {"Mul", mul, false},
    {"Div", one_behind, false},
    {"Pow", one_behind, false},
    {"Where", where, false},
    {"Concat", one_operand, false},
    {"Sum", one_operand, false},
    {"Max", one_operand, false},
    {"Min", one_operand, false},
    {"Mean", one_operand, false},
    {"Split", one_piece, false},
    {"Pad", pad, false},
    {"Tile", tile, false},
    {"Expand", pass_if_same, false},
    {"Slice", slice, false},
    {"Reshape", pass_if_same, false},
    {"Flatten", pass_if_same, false},
    {"Squeeze", pass_if_same, false},
    {"Unsqueeze", pass_if_same, false},
    {"Transpose", transpose, false},
    {NULL, NULL, false},
};
