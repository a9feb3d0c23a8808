// SPDX-License-Identifier: Apache-2.0
#include "script/form.h"

#include <stdlib.h>
#include <string.h>

#define N_OF(a) (sizeof(a) / sizeof(a)[0])

typedef struct row {
  const char *kind;
  ig_sform form;
  bool effects;
} row;

// Sorted by kind.
static const row rows[] = {
    {"aten::Float", IG_SFORM_TO_NUMBER, false},
    {"aten::FloatImplicit", IG_SFORM_TO_NUMBER, false},
    {"aten::Int", IG_SFORM_TO_NUMBER, false},
    {"aten::IntImplicit", IG_SFORM_TO_NUMBER, false},
    {"aten::ScalarImplicit", IG_SFORM_TO_NUMBER, false},
    {"aten::__is__", IG_SFORM_IS, false},
    {"aten::__isnot__", IG_SFORM_IS_NOT, false},
    {"aten::manual_seed", IG_SFORM_PLAIN, true},
    {"aten::rsub", IG_SFORM_SUBTRACTED_FROM, false},
    {"aten::save", IG_SFORM_PLAIN, true},
    {"aten::size", IG_SFORM_SIZE, false},
    {"aten::wait", IG_SFORM_WAIT, false},
    {"aten::warn", IG_SFORM_WARN, true},
    {"prim::BreakStmt", IG_SFORM_BREAK, true},
    {"prim::CallFunction", IG_SFORM_CALL_FUNCTION, true},
    {"prim::CallMethod", IG_SFORM_CALL_METHOD, true},
    {"prim::Closure", IG_SFORM_CLOSURE, false},
    {"prim::ComprehensionScope", IG_SFORM_COMPREHENSION, true},
    {"prim::Constant", IG_SFORM_CONSTANT, false},
    {"prim::ContinueStmt", IG_SFORM_CONTINUE, true},
    {"prim::CreateObject", IG_SFORM_CREATE_OBJECT, false},
    {"prim::DictConstruct", IG_SFORM_DICT_CONSTRUCT, false},
    {"prim::Enter", IG_SFORM_ENTER, true},
    {"prim::Exit", IG_SFORM_EXIT, true},
    {"prim::GetAttr", IG_SFORM_GET_ATTR, false},
    {"prim::If", IG_SFORM_IF, false},
    {"prim::ListConstruct", IG_SFORM_LIST_CONSTRUCT, false},
    {"prim::ListUnpack", IG_SFORM_LIST_UNPACK, false},
    {"prim::Load", IG_SFORM_LOAD, false},
    {"prim::Loop", IG_SFORM_LOOP, false},
    {"prim::LoopContinuation", IG_SFORM_LOOP_CONTINUATION, true},
    {"prim::NumToTensor", IG_SFORM_NUMBER_TO_TENSOR, false},
    {"prim::Print", IG_SFORM_PLAIN, true},
    {"prim::RaiseException", IG_SFORM_RAISE, true},
    {"prim::ReturnStmt", IG_SFORM_RETURN, true},
    {"prim::SetAttr", IG_SFORM_SET_ATTR, true},
    {"prim::Store", IG_SFORM_STORE, true},
    {"prim::TupleConstruct", IG_SFORM_TUPLE_CONSTRUCT, false},
    {"prim::TupleIndex", IG_SFORM_TUPLE_INDEX, false},
    {"prim::TupleSlice", IG_SFORM_TUPLE_SLICE, false},
    {"prim::TupleUnpack", IG_SFORM_TUPLE_UNPACK, false},
    {"prim::Uninitialized", IG_SFORM_UNINITIALIZED, false},
    {"prim::With", IG_SFORM_WITH, true},
    {"prim::fork", IG_SFORM_FORK, false},
    {"prim::forkClosure", IG_SFORM_FORK_CLOSURE, false},
    {"prim::isinstance", IG_SFORM_ISINSTANCE, false},
    {"prim::unchecked_cast", IG_SFORM_UNCHECKED_CAST, false},
};

static int compare_row(const void *key, const void *at) {
  return strcmp(key, ((const row *)at)->kind);
}

static const row *find(const char *kind) {
  return bsearch(kind, rows, N_OF(rows), sizeof rows[0], compare_row);
}

void ig_snode_set_kind(ig_snode *n, const char *kind) {
  const row *r = find(kind);
  bool python = kind[0] == '^';
  n->kind = kind;
  n->form = python ? IG_SFORM_PYTHON : r ? (int)r->form : IG_SFORM_PLAIN;
  n->effects = python || (r && r->effects);
}

ig_sform ig_sform_of(const ig_snode *n) {
  return (ig_sform)n->form;
}

const char *ig_sform_kind(ig_sform form) {
  for (size_t i = 0; i < N_OF(rows); i++) {
    if (rows[i].form == form) return rows[i].kind;
  }
  return NULL;
}

bool ig_snode_has_effects(const ig_snode *n) {
  return n->effects;
}

const char *ig_soperation_kind(ig_soperation operation) {
  static const char *const kinds[] = {
      [IG_SOPERATION_ADD] = "aten::add",     [IG_SOPERATION_SUB] = "aten::sub",
      [IG_SOPERATION_AND] = "aten::__and__", [IG_SOPERATION_EQ] = "aten::eq",
      [IG_SOPERATION_NE] = "aten::ne",       [IG_SOPERATION_GT] = "aten::gt",
      [IG_SOPERATION_LT] = "aten::lt",
  };
  return kinds[operation];
}

// Names that stand for another operator. Sorted.
typedef struct alias {
  const char *kind;
  const char *name;
} alias;

static const alias aliases[] = {
    {"aten::absolute", "aten::abs"},
    {"aten::absolute_", "aten::abs_"},
    {"aten::adjoint", "aten::mH"},
    {"aten::arccos", "aten::acos"},
    {"aten::arccos_", "aten::acos_"},
    {"aten::arccosh", "aten::acosh"},
    {"aten::arccosh_", "aten::acosh_"},
    {"aten::arcsin", "aten::asin"},
    {"aten::arcsin_", "aten::asin_"},
    {"aten::arcsinh", "aten::asinh"},
    {"aten::arcsinh_", "aten::asinh_"},
    {"aten::arctan", "aten::atan"},
    {"aten::arctan2", "aten::atan2"},
    {"aten::arctan2_", "aten::atan2_"},
    {"aten::arctan_", "aten::atan_"},
    {"aten::arctanh", "aten::atanh"},
    {"aten::arctanh_", "aten::atanh_"},
    {"aten::clip", "aten::clamp"},
    {"aten::clip_", "aten::clamp_"},
    {"aten::concat", "aten::cat"},
    {"aten::concatenate", "aten::cat"},
    {"aten::det", "aten::linalg_det"},
    {"aten::divide", "aten::div"},
    {"aten::divide_", "aten::div_"},
    {"aten::fix", "aten::trunc"},
    {"aten::fix_", "aten::trunc_"},
    {"aten::ger", "aten::outer"},
    {"aten::greater", "aten::gt"},
    {"aten::greater_", "aten::gt_"},
    {"aten::greater_equal", "aten::ge"},
    {"aten::greater_equal_", "aten::ge_"},
    {"aten::inverse", "aten::linalg_inv"},
    {"aten::less", "aten::lt"},
    {"aten::less_", "aten::lt_"},
    {"aten::less_equal", "aten::le"},
    {"aten::less_equal_", "aten::le_"},
    {"aten::linalg_matmul", "aten::matmul"},
    {"aten::matrix_exp", "aten::linalg_matrix_exp"},
    {"aten::matrix_power", "aten::linalg_matrix_power"},
    {"aten::moveaxis", "aten::movedim"},
    {"aten::multiply", "aten::mul"},
    {"aten::multiply_", "aten::mul_"},
    {"aten::negative", "aten::neg"},
    {"aten::negative_", "aten::neg_"},
    {"aten::not_equal", "aten::ne"},
    {"aten::not_equal_", "aten::ne_"},
    {"aten::orgqr", "aten::linalg_householder_product"},
    {"aten::row_stack", "aten::vstack"},
    {"aten::special_digamma", "aten::digamma"},
    {"aten::special_erf", "aten::erf"},
    {"aten::special_erfc", "aten::erfc"},
    {"aten::special_erfinv", "aten::erfinv"},
    {"aten::special_exp2", "aten::exp2"},
    {"aten::special_expit", "aten::sigmoid"},
    {"aten::special_expm1", "aten::expm1"},
    {"aten::special_gammainc", "aten::igamma"},
    {"aten::special_gammaincc", "aten::igammac"},
    {"aten::special_gammaln", "aten::lgamma"},
    {"aten::special_i0", "aten::i0"},
    {"aten::special_log1p", "aten::log1p"},
    {"aten::special_log_softmax", "aten::log_softmax"},
    {"aten::special_logit", "aten::logit"},
    {"aten::special_logsumexp", "aten::logsumexp"},
    {"aten::special_multigammaln", "aten::mvlgamma"},
    {"aten::special_polygamma", "aten::polygamma"},
    {"aten::special_psi", "aten::digamma"},
    {"aten::special_round", "aten::round"},
    {"aten::special_sinc", "aten::sinc"},
    {"aten::special_softmax", "aten::softmax"},
    {"aten::special_xlogy", "aten::xlogy"},
    {"aten::subtract", "aten::sub"},
    {"aten::subtract_", "aten::sub_"},
    {"aten::swapaxes", "aten::transpose"},
    {"aten::swapaxes_", "aten::transpose_"},
    {"aten::swapdims", "aten::transpose"},
    {"aten::swapdims_", "aten::transpose_"},
    {"aten::true_divide", "aten::div"},
    {"aten::true_divide_", "aten::div_"},
};

static int compare_alias(const void *key, const void *at) {
  return strcmp(key, ((const alias *)at)->kind);
}

const char *ig_sform_alias(const char *kind) {
  const alias *a = bsearch(kind, aliases, N_OF(aliases), sizeof aliases[0], compare_alias);
  return a ? a->name : NULL;
}
