// SPDX-License-Identifier: Apache-2.0
// Names of functions of the history, as PyTorch gives them: AddBackward0 for aten::add. Where
// several overloads of an operator have rules of their own, PyTorch numbers them.
#include <stdio.h>
#include <string.h>

#include "op/tape.h"

typedef struct row {
  const char *target;
  int number;
} row;

// Overloads whose number is not 0.
static const row numbers[] = {
    {"aten._convolution.default", 1},
    {"aten._ctc_loss.Tensor", 1},
    {"aten._cudnn_ctc_loss.Tensor", 1},
    {"aten._foreach_maximum.ScalarList", 1},
    {"aten._foreach_minimum.ScalarList", 1},
    {"aten._foreach_pow.ScalarAndTensor", 2},
    {"aten._foreach_pow.ScalarList", 1},
    {"aten._native_batch_norm_legit.no_stats", 1},
    {"aten._test_autograd_multiple_dispatch.ntonly", 1},
    {"aten._to_sparse.default", 1},
    {"aten.acosh_.default", 1},
    {"aten.add.Scalar", 1},
    {"aten.as_strided_.default", 1},
    {"aten.asinh_.default", 1},
    {"aten.atanh_.default", 1},
    {"aten.bernoulli_.Tensor", 1},
    {"aten.bernoulli_.float", 2},
    {"aten.celu_.default", 1},
    {"aten.clamp.default", 1},
    {"aten.clamp_max.Tensor", 1},
    {"aten.clamp_min.Tensor", 1},
    {"aten.conj_physical_.default", 1},
    {"aten.copysign.Scalar", 1},
    {"aten.div.Scalar", 1},
    {"aten.div.Scalar_mode", 3},
    {"aten.div.Tensor_mode", 2},
    {"aten.elu_.default", 1},
    {"aten.eq_.Tensor", 1},
    {"aten.fill.Tensor", 1},
    {"aten.fill_.Scalar", 2},
    {"aten.fill_.Tensor", 3},
    {"aten.fmod.Tensor", 1},
    {"aten.ge_.Tensor", 1},
    {"aten.gt_.Tensor", 1},
    {"aten.index_fill.int_Tensor", 1},
    {"aten.le_.Tensor", 1},
    {"aten.leaky_relu_.default", 1},
    {"aten.lerp.Tensor", 1},
    {"aten.lt_.Tensor", 1},
    {"aten.masked_fill.Tensor", 1},
    {"aten.max.default", 1},
    {"aten.mean.dim", 1},
    {"aten.median.dim", 1},
    {"aten.min.default", 1},
    {"aten.miopen_ctc_loss.Tensor", 1},
    {"aten.mul.Scalar", 1},
    {"aten.nanmedian.dim", 1},
    {"aten.ne_.Tensor", 1},
    {"aten.norm.ScalarOpt_dim", 1},
    {"aten.norm.ScalarOpt_dim_dtype", 3},
    {"aten.norm.ScalarOpt_dtype", 2},
    {"aten.normal.Tensor_Tensor", 3},
    {"aten.normal.Tensor_float", 1},
    {"aten.normal.float_Tensor", 2},
    {"aten.polygamma_.default", 1},
    {"aten.pow.Scalar", 2},
    {"aten.pow.Tensor_Tensor", 1},
    {"aten.prod.dim_int", 1},
    {"aten.random_.default", 2},
    {"aten.random_.to", 1},
    {"aten.remainder.Tensor", 1},
    {"aten.round.decimals", 1},
    {"aten.rrelu_with_noise_.default", 1},
    {"aten.rsub.Scalar", 1},
    {"aten.scatter.value", 1},
    {"aten.sort.stable", 1},
    {"aten.special_xlog1py.other_scalar", 2},
    {"aten.special_xlog1py.self_scalar", 1},
    {"aten.special_zeta.other_scalar", 2},
    {"aten.special_zeta.self_scalar", 1},
    {"aten.squeeze.dim", 1},
    {"aten.squeeze.dims", 2},
    {"aten.squeeze_.default", 3},
    {"aten.squeeze_.dim", 4},
    {"aten.squeeze_.dims", 5},
    {"aten.sub.Scalar", 1},
    {"aten.sum.dim_IntList", 1},
    {"aten.t_.default", 1},
    {"aten.threshold_.default", 1},
    {"aten.transpose_.default", 1},
    {"aten.unsqueeze_.default", 1},
    {"aten.xlogy.Scalar_Other", 2},
    {"aten.xlogy.Scalar_Self", 1},
};

static int number_of(const char *target) {
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    if (strcmp(numbers[i].target, target) == 0) return numbers[i].number;
  }
  return 0;
}

static bool ends_with(const char *text, size_t n, const char *end) {
  size_t m = strlen(end);
  return n > m && memcmp(text + n - m, end, m) == 0;
}

// leaky_relu -> LeakyRelu, _softmax -> Softmax, avg_pool2d -> AvgPool2D, nll_loss_forward ->
// NllLoss
static void camel_case(const char *name, size_t len, char *text, size_t cap) {
  if (ends_with(name, len, "_forward")) len -= strlen("_forward");
  size_t n = 0;
  bool upper = true;
  for (size_t i = 0; i < len && n + 1 < cap; i++) {
    char letter = name[i];
    bool lower = letter >= 'a' && letter <= 'z';
    if (letter != '_') text[n++] = (char)(upper && lower ? letter - 'a' + 'A' : letter);
    upper = !lower && !(letter >= 'A' && letter <= 'Z');
  }
  text[n] = 0;
}

// What an entry shows: itself, or the call that it is a part of.
static const ig_op *shown(const ig_tape_entry *e) {
  return e->face ? e->face->called : e->called;
}

// Copies instead of views are named after the view.
static size_t view_length(const ig_op *op) {
  size_t n = strlen(op->schema.name);
  bool copy = ends_with(op->schema.name, n, "_copy") && strcmp(op->schema.name, "_to_copy") != 0;
  return copy ? n - strlen("_copy") : n;
}

void ig_entry_short_name(const ig_tape_entry *e, char *text, size_t cap) {
  if (e->kind == IG_ENTRY_SLICES) {
    (void)snprintf(text, cap, "CopySlices");
  } else if (e->kind == IG_ENTRY_CUSTOM) {
    size_t len = strlen(e->name);
    bool suffix = ends_with(e->name, len, "Backward");
    (void)snprintf(text, cap, "%.*s", (int)(suffix ? len - 8 : len), e->name);
  } else {
    const ig_op *op = shown(e);
    camel_case(op->schema.name, view_length(op), text, cap);
  }
}

const char *ig_grad_fn_name(const ig_grad_fn *f, char *text, size_t cap) {
  if (f->kind == IG_ENTRY_CUSTOM) {
    (void)snprintf(text, cap, "%s", f->name);
    return text;
  }
  ig_entry_short_name(f, text, cap);
  size_t n = strlen(text);
  if (f->kind == IG_ENTRY_OP) {
    const ig_op *op = shown(f);
    (void)snprintf(text + n, cap - n, "Backward%d%s", number_of(op->target),
                   op->schema.name + view_length(op));
  }
  return text;
}
