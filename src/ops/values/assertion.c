// SPDX-License-Identifier: Apache-2.0
// Assertions on tensors, as saved programs contain them.
#include "ingot/aten.h"
#include "op/formula.h"

// ---- assertions
static void check_element(ig_ctx *c, const ig_tensor *t, const char *message) {
  if (ig_tensor_numel(t) != 1) {
    ig_fail_text(c, IG_RUNTIME, "Boolean value of Tensor with %s is ambiguous",
                 ig_tensor_numel(t) == 0 ? "no values" : "more than one value");
  } else if (ig_tensor_get(t, 0) == 0) {
    ig_fail_text(c, IG_RUNTIME, "%s", message);
  }
}

static void assert_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  outs[0] = ig_none();
  check_element(c, args[0].tensor, "Expected Tensor with single nonzero value, but got zero");
}

static void assert_msg_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  outs[0] = ig_none();
  check_element(c, args[0].tensor, args[1].str);
}

static void assert_fake(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)c;
  (void)op;
  (void)args;
  outs[0] = ig_none();
}

IG_OP(_assert_async) = {
    .schema = "aten::_assert_async(Tensor self) -> ()",
    .check = IG_CHECK_TENSOR,
    .kernel = assert_kernel,
    .takes_no_memory = true,
    .fake = assert_fake,
    .samples = "bool[]:ones | f32[1]:ones",
    .not_differentiable = true,  // no result
};
IG_OP(_assert_async_msg) = {
    .schema = "aten::_assert_async.msg(Tensor self, str assert_msg) -> ()",
    .check = IG_CHECK_TENSOR,
    .kernel = assert_msg_kernel,
    .takes_no_memory = true,
    .fake = assert_fake,
    .samples = "bool[]:ones, 'must hold' | f32[1]:ones, 'must hold'",
    .not_differentiable = true,  // no result
};

static bool same_dims(ig_ctx *c, const ig_value *want, const ig_int *have, int n) {
  if (want->kind == IG_KIND_NONE) return true;
  if (want->kind != IG_KIND_INTS || want->ints.n != (size_t)n) return false;
  for (int i = 0; i < n; i++) {
    if (!ig_int_eq(c, want->ints.at[i], have[i])) return false;
  }
  return true;
}

static void metadata_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  const ig_tensor *t = args[0].tensor;
  (void)op;
  outs[0] = ig_none();
  const char *wrong = NULL;
  if (!same_dims(c, &args[1], ig_sizes(t), t->ndim)) wrong = "sizes";
  if (!wrong && !same_dims(c, &args[2], ig_strides(t), t->ndim)) wrong = "strides";
  if (!wrong && args[3].kind == IG_KIND_DTYPE && args[3].dtype != t->dtype) {
    ig_fail_text(c, IG_RUNTIME, "Tensor dtype mismatch! Expected: %s, Got: %s",
                 ig_dtype_text(args[3].dtype), ig_dtype_text(t->dtype));
  }
  if (wrong) ig_fail_text(c, IG_RUNTIME, "Tensor %s mismatch!", wrong);
}

IG_OP(_assert_tensor_metadata) = {
    .schema =
        "aten::_assert_tensor_metadata(Tensor a, SymInt[]? size=None, SymInt[]? stride=None, "
        "ScalarType? dtype=None) -> ()",
    .check = IG_CHECK_METADATA,
    .kernel = metadata_kernel,
    .takes_no_memory = true,
    .fake = metadata_kernel,
    .samples = "f32[2,3] | f32[2,3], dtype=f32",
    .not_differentiable = true,  // no result
};

// ---- assertions as functions of a token: what depends on their result comes after the check

static ig_tensor *make_token_decompose(ig_ctx *c, const ig_value *args) {
  ig_dtype dtype = args[0].kind == IG_KIND_DTYPE ? args[0].dtype : IG_F32;
  return ig_empty_memory_format_with(c, ig_of_ints(NULL, 0), ig_of_dtype(dtype), args[1], args[2],
                                     args[3], args[4]);
}

static ig_tensor *assert_token_decompose(ig_ctx *c, const ig_value *args) {
  ig_value none;
  ig__assert_async_msg(c, args[0].tensor, args[1], &none);
  return ig_clone(c, args[2].tensor);
}

static ig_tensor *range_token_decompose(ig_ctx *c, const ig_value *args) {
  ig_value none;
  ig_sym_constrain_range_with(c, args[0], args[1], args[2], &none);
  return ig_clone(c, args[3].tensor);
}

static ig_tensor *size_token_decompose(ig_ctx *c, const ig_value *args) {
  ig_value none;
  ig_sym_constrain_range_for_size_with(c, args[0], args[1], args[2], &none);
  return ig_clone(c, args[3].tensor);
}

IG_OP(_make_dep_token) = {
    .schema =
        "aten::_make_dep_token(*, ScalarType? dtype=None, Layout? layout=None, Device? "
        "device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
    .decompose = make_token_decompose,
    .random = true,
    .samples = "dtype=f32",
    .not_differentiable = true,  // a constant
};
IG_OP(_functional_assert_async_msg) = {
    .schema =
        "aten::_functional_assert_async.msg(Tensor self, str assert_msg, Tensor dep_token) -> "
        "Tensor",
    .decompose = assert_token_decompose,
    .samples = "bool[]:ones, 'must hold', f32[] | f32[1]:ones, 'must hold', f32[]",
    .not_differentiable = true,  // a token is not data
};
IG_OP(_functional_sym_constrain_range) = {
    .schema =
        "aten::_functional_sym_constrain_range(Scalar size, int? min, int? max, Tensor dep_token) "
        "-> Tensor",
    .decompose = range_token_decompose,
    .samples = "5, None, None, f32[] | 5, 0, 9, f32[]",
    .not_differentiable = true,  // a token is not data
};
IG_OP(_functional_sym_constrain_range_for_size) = {
    .schema =
        "aten::_functional_sym_constrain_range_for_size(Scalar size, int? min, int? max, Tensor "
        "dep_token) -> Tensor",
    .decompose = size_token_decompose,
    .samples = "5, None, None, f32[] | 5, 0, 9, f32[]",
    .not_differentiable = true,  // a token is not data
};
