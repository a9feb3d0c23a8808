// SPDX-License-Identifier: Apache-2.0
// Losses made of other operators: regression, ranking, binary classification, embeddings.
// Decompositions follow PyTorch call by call, because exported programs contain them.
#include <math.h>

#include "op/formula.h"
#include "op/refuse.h"
#include "op/shape.h"

enum { REDUCE_NONE, REDUCE_MEAN, REDUCE_SUM };

static ig_tensor *reduced(ig_ctx *c, ig_tensor *loss, const ig_value *reduction) {
  int64_t how = ig_value_i64(c, reduction);
  return how == REDUCE_MEAN ? ig_mean(c, loss) : how == REDUCE_SUM ? ig_sum(c, loss) : loss;
}
static ig_tensor *above_zero(ig_ctx *c, ig_tensor *x) {
  return ig_clamp_min(c, x, ig_of_i64(0));
}

static ig_tensor *l1_loss_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *d = ig_sub_tensor(c, args[0].tensor, args[1].tensor);
  return reduced(c, ig_abs(c, d), &args[2]);
}
static ig_tensor *mse_loss_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *d = ig_sub_tensor(c, args[0].tensor, args[1].tensor);
  return reduced(c, ig_pow_tensor_scalar(c, d, ig_of_i64(2)), &args[2]);
}
static bool is_float(ig_ctx *c, const ig_value *v, const char *kernel) {
  return ig_check_float(c, kernel, v->tensor->dtype);
}
static ig_tensor *smooth_l1_loss_decompose(ig_ctx *c, const ig_value *args) {
  double beta = ig_value_f64(&args[3]);
  if (beta < 0) {
    ig_fail_text(c, IG_RUNTIME, "smooth_l1_loss does not support negative values for beta.");
    return NULL;
  }
  if (!is_float(c, &args[0], "smooth_l1_cpu")) return NULL;
  ig_tensor *d = ig_sub_tensor(c, args[0].tensor, args[1].tensor);
  d = ig_abs(c, d);
  ig_tensor *near = ig_lt_scalar(c, d, args[3]);
  ig_tensor *square = ig_mul_f64(c, ig_pow_tensor_scalar(c, d, ig_of_i64(2)), 0.5);
  square = ig_div_f64(c, square, beta);
  ig_value half = ig_of_f64(0.5 * beta);
  ig_tensor *loss = ig_where_self(c, near, square, ig_sub_value(c, d, &half));
  return reduced(c, loss, &args[2]);
}
static ig_tensor *huber_loss_decompose(ig_ctx *c, const ig_value *args) {
  double delta = ig_value_f64(&args[3]);
  if (!(delta > 0)) {
    ig_fail_text(c, IG_RUNTIME, "huber_loss does not support non-positive values for delta.");
    return NULL;
  }
  if (!is_float(c, &args[0], "huber_cpu")) return NULL;
  ig_tensor *d = ig_sub_tensor(c, args[0].tensor, args[1].tensor);
  d = ig_abs(c, d);
  ig_tensor *near = ig_lt_scalar(c, d, args[3]);
  ig_tensor *square = ig_mul_tensor(c, ig_mul_f64(c, d, 0.5), d);
  ig_value half = ig_of_f64(0.5 * delta);
  ig_tensor *line = ig_mul_f64(c, ig_sub_value(c, d, &half), delta);
  return reduced(c, ig_where_self(c, near, square, line), &args[2]);
}
static ig_tensor *soft_margin_loss_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *z = ig_mul_tensor(c, ig_neg(c, args[0].tensor), args[1].tensor);
  return reduced(c, ig_log1p(c, ig_exp(c, z)), &args[2]);
}

static ig_tensor *floor_log(ig_ctx *c, ig_tensor *log) {
  ig_tensor *least = ig_new_full_with(c, log, ig_of_ints(NULL, 0), ig_of_i64(-100), ig_none(),
                                      ig_none(), ig_none(), ig_none());
  return ig_maximum(c, log, least);
}
// (y - 1) max(log(1 - x), -100) - y max(log x, -100)
static ig_tensor *binary_cross_entropy_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *y = args[1].tensor;
  bool same = x->ndim == y->ndim;
  for (int d = 0; d < x->ndim && same; d++) same = ig_int_eq(c, ig_sizes(x)[d], ig_sizes(y)[d]);
  if (!same) {
    ig_fail_text(c, IG_RUNTIME,
                 "binary_cross_entropy: target size %s is different from the input size %s",
                 ig_sizes_text(c, ig_sizes(y), (size_t)y->ndim),
                 ig_sizes_text(c, ig_sizes(x), (size_t)x->ndim));
    return NULL;
  }
  if (!is_float(c, &args[0], "binary_cross_entropy")) return NULL;
  ig_value one = ig_of_i64(1);
  ig_tensor *rest = ig_sub_value(c, y, &one);
  ig_tensor *low = floor_log(c, ig_log1p(c, ig_neg(c, x)));
  low = ig_mul_tensor(c, rest, low);
  ig_tensor *high = floor_log(c, ig_log(c, x));
  high = ig_mul_tensor(c, y, high);
  ig_tensor *loss = ig_sub_tensor(c, low, high);
  if (args[2].kind == IG_KIND_TENSOR) loss = ig_mul_tensor(c, loss, args[2].tensor);
  return reduced(c, loss, &args[3]);
}
// (1 - y) x - w log sigmoid x
static ig_tensor *with_logits_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *y = args[1].tensor;
  ig_tensor *w = ig_value_tensor(&args[3]);
  ig_value one = ig_of_i64(1);
  if (w) w = ig_add_value(c, ig_mul_tensor(c, ig_sub_value(c, w, &one), y), &one);
  ig_tensor *first = ig_mul_tensor(c, ig_rsub_scalar(c, y, one), x);
  ig_tensor *second = ig_log_sigmoid(c, x);
  if (w) second = ig_mul_tensor(c, w, second);
  ig_tensor *loss = ig_sub_tensor(c, first, second);
  if (args[2].kind == IG_KIND_TENSOR) loss = ig_mul_tensor(c, loss, args[2].tensor);
  return reduced(c, loss, &args[4]);
}

// y (log y - x), written so that y = 0 gives 0
static ig_tensor *kl_div_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *y = args[1].tensor;
  ig_tensor *loss = NULL;
  if (args[3].b) {
    ig_tensor *d = ig_sub_tensor(c, y, x);
    loss = ig_mul_tensor(c, ig_exp(c, y), d);
  } else {
    ig_tensor *prod = ig_mul_tensor(c, y, x);
    loss = ig_sub_tensor(c, ig_xlogy_tensor(c, y, y), prod);
  }
  return reduced(c, loss, &args[2]);
}
// input, target, log_input, full, eps, reduction
static ig_tensor *poisson_nll_loss_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *y = args[1].tensor;
  ig_tensor *loss = NULL;
  if (args[2].b) {
    ig_tensor *prod = ig_mul_tensor(c, y, x);
    loss = ig_sub_tensor(c, ig_exp(c, x), prod);
  } else {
    ig_tensor *log = ig_log(c, ig_add_scalar(c, x, args[4]));
    loss = ig_sub_tensor(c, x, ig_mul_tensor(c, y, log));
  }
  if (args[3].b) {
    ig_tensor *round = ig_mul_scalar(c, y, ig_of_f64(2 * 3.14159265358979323846));
    round = ig_mul_scalar(c, ig_log(c, round), ig_of_f64(0.5));
    ig_tensor *stirling = ig_mul_tensor(c, y, ig_log(c, y));
    stirling = ig_sub_tensor(c, stirling, y);
    stirling = ig_add_tensor(c, stirling, round);
    ig_tensor *small = ig_le_scalar(c, y, ig_of_i64(1));
    stirling = ig_masked_fill_scalar(c, stirling, small, ig_of_i64(0));
    loss = ig_add_tensor(c, loss, stirling);
  }
  return reduced(c, loss, &args[5]);
}
static ig_tensor *zeros_for(ig_ctx *c, ig_tensor *x) {
  return ig_zeros_like_with(c, x, ig_none(), ig_none(), ig_none(), ig_none(),
                            ig_of_memory_format(IG_CONTIGUOUS));
}
// number - x the way ATen's C++ writes it
static ig_tensor *number_minus(ig_ctx *c, ig_value number, ig_tensor *x) {
  ig_tensor *room = ig_empty_like_with(c, x, ig_none(), ig_none(), ig_none(), ig_none(),
                                       ig_of_memory_format(IG_PRESERVE));
  ig_tensor *filled = ig_fill_scalar(c, room, number);
  return ig_sub_tensor(c, filled, x);
}
static ig_tensor *hinge_embedding_loss_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *y = args[1].tensor;
  ig_tensor *zeros = zeros_for(c, x);
  ig_tensor *diff = above_zero(c, number_minus(c, args[2], x));
  ig_tensor *far = ig_where_self(c, ig_ne_scalar(c, y, ig_of_i64(1)), diff, zeros);
  ig_tensor *near = ig_where_self(c, ig_ne_scalar(c, y, ig_of_i64(-1)), x, zeros);
  return reduced(c, ig_add_tensor(c, far, near), &args[3]);
}
static ig_tensor *margin_ranking_loss_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *d = ig_sub_tensor(c, args[0].tensor, args[1].tensor);
  ig_tensor *z = ig_mul_tensor(c, ig_neg(c, args[2].tensor), d);
  return reduced(c, above_zero(c, ig_add_scalar(c, z, args[3])), &args[4]);
}
static ig_tensor *sum_of_squares(ig_ctx *c, ig_tensor *a, ig_tensor *b, ig_value dim) {
  return ig_sum_dim_intlist(c, ig_mul_tensor(c, a, b), dim);
}
// input1, input2, target, margin, reduction
static ig_tensor *cosine_embedding_loss_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *y = args[1].tensor;
  ig_tensor *t = args[2].tensor;
  if (t->ndim > 1 || x->ndim != t->ndim + 1 || y->ndim != t->ndim + 1) {
    ig_fail_text(c, IG_RUNTIME,
                 "%dD target tensor expects %dD input tensors, but found inputs with sizes %s and "
                 "%s.",
                 t->ndim, t->ndim + 1, ig_sizes_text(c, ig_sizes(x), (size_t)x->ndim),
                 ig_sizes_text(c, ig_sizes(y), (size_t)y->ndim));
    return NULL;
  }
  ig_int last = ig_const(t->ndim);
  ig_value dim = ig_of_ints(&last, 1);
  ig_value eps = ig_of_f64((double)(float)1e-12);
  ig_tensor *prod = sum_of_squares(c, x, y, dim);
  ig_tensor *a = ig_add_scalar(c, sum_of_squares(c, x, x, dim), eps);
  ig_tensor *b = ig_add_scalar(c, sum_of_squares(c, y, y, dim), eps);
  ig_tensor *cos = ig_div_tensor(c, prod, ig_sqrt(c, ig_mul_tensor(c, a, b)));
  ig_tensor *zeros = zeros_for(c, cos);
  ig_tensor *pos = number_minus(c, ig_of_i64(1), cos);
  ig_tensor *neg = above_zero(c, ig_sub_scalar(c, cos, args[3]));
  pos = ig_where_self(c, ig_eq_scalar(c, t, ig_of_i64(1)), pos, zeros);
  neg = ig_where_self(c, ig_eq_scalar(c, t, ig_of_i64(-1)), neg, zeros);
  return reduced(c, ig_add_tensor(c, pos, neg), &args[4]);
}
// x1, x2, p, eps, keepdim
static ig_tensor *pairwise_distance_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *y = args[1].tensor;
  int ndim = x->ndim > y->ndim ? x->ndim : y->ndim;
  ig_int last = ig_const(ndim - 1);
  ig_tensor *d = ig_add_scalar(c, ig_sub_tensor(c, x, y), args[3]);
  return ig_norm_scalaropt_dim_with(c, d, args[2], ig_of_ints(&last, 1), args[4].b);
}
// anchor, positive, negative, margin, p, eps, swap, reduction
static ig_tensor *triplet_margin_loss_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *a = args[0].tensor;
  int ndim = a->ndim;
  if (ndim != args[1].tensor->ndim || ndim != args[2].tensor->ndim) {
    ig_fail_text(c, IG_RUNTIME,
                 "The anchor, positive, and negative tensors are expected to have the same number "
                 "of dimensions, but got: anchor %dD, positive %dD, and negative %dD inputs",
                 ndim, args[1].tensor->ndim, args[2].tensor->ndim);
    return NULL;
  }
  double p = ig_value_f64(&args[4]);
  double eps = ig_value_f64(&args[5]);
  ig_tensor *near = ig_pairwise_distance_with(c, a, args[1].tensor, p, eps, false);
  ig_tensor *far = ig_pairwise_distance_with(c, a, args[2].tensor, p, eps, false);
  if (args[6].b) {
    ig_tensor *side = ig_pairwise_distance_with(c, args[1].tensor, args[2].tensor, p, eps, false);
    far = ig_minimum(c, far, side);
  }
  ig_tensor *loss = ig_sub_tensor(c, ig_add_scalar(c, near, args[3]), far);
  return reduced(c, above_zero(c, loss), &args[7]);
}
// At least `min`. PyTorch writes in place and keeps the bound out of the history.
static ig_tensor *bounded(ig_ctx *c, ig_tensor *t, ig_value min) {
  if (c->mode->capture) return ig_clamp_min(c, t, min);
  ig_mode_scope mode = ig_mode_push_grad(c, false);
  t = ig_clamp_min_(c, t, min);
  ig_mode_pop(c, &mode);
  return t;
}
// x1, x2, dim, eps
static ig_tensor *cosine_similarity_decompose(ig_ctx *c, const ig_value *args) {
  ig_value both[] = {args[0], args[1]};
  ig_dtype d = ig_promote(c, both, 2);
  ig_meta m;
  ig_meta_init(&m, d, args[0].tensor->device);
  if (!ig_dtype_is_float(d) && !ig_dtype_is_complex(d)) {
    ig_fail_text(c, IG_RUNTIME,
                 "expected common dtype to be floating point, yet common dtype is %s",
                 ig_dtype_title(d));
    return NULL;
  }
  ig_broadcast(c, both, 2, &m);
  if (c->status != IG_OK) return NULL;
  ig_tensor *x = args[0].tensor;
  ig_tensor *y = args[1].tensor;
  ig_value sizes = ig_of_ints(m.size, (size_t)m.ndim);
  if (x->ndim != m.ndim || y->ndim != m.ndim) {
    x = ig_expand(c, x, sizes);
    y = ig_expand(c, y, sizes);
  }
  x = ig_cast(c, x, d);
  y = ig_cast(c, y, d);
  ig_int at = args[2].i;
  ig_value dim = ig_of_ints(&at, 1);
  ig_tensor *nx = ig_linalg_vector_norm_with(c, x, ig_of_i64(2), dim, true, ig_none());
  nx = ig_clone(c, nx);
  ig_tensor *ny = ig_linalg_vector_norm_with(c, y, ig_of_i64(2), dim, true, ig_none());
  ny = ig_clone(c, ny);
  nx = bounded(c, nx, args[3]);
  ny = bounded(c, ny, args[3]);
  ig_tensor *b = ig_div_tensor(c, y, ny);
  ig_tensor *a = ig_div_tensor(c, x, nx);
  return ig_sum_dim_intlist(c, ig_mul_tensor(c, a, b), dim);
}
// self, target, p, margin, weight, reduction
static ig_tensor *multi_margin_loss_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = ig_atleast_2d(c, args[0].tensor);
  ig_tensor *t = ig_atleast_1d(c, args[1].tensor);
  if (!x || !t) return NULL;
  double p = ig_value_f64(&args[2]);
  if (p != 1 && p != 2) {
    ig_fail_text(c, IG_RUNTIME, "only p == 1 and p == 2 supported");
    return NULL;
  }
  if (x->ndim != 2 || ig_int_eq_i64(c, ig_sizes(x)[1], 0) || t->ndim != 1 ||
      !ig_int_eq(c, ig_sizes(t)[0], ig_sizes(x)[0])) {
    ig_fail_text(c, IG_RUNTIME,
                 "Expected non-empty vector or matrix with optional 0-dim batch size, but got: %s",
                 ig_sizes_text(c, ig_sizes(x), (size_t)x->ndim));
    return NULL;
  }
  if (!is_float(c, &args[0], "multi_margin_loss")) return NULL;
  t = ig_unsqueeze(c, t, ig_const(1));
  ig_tensor *u = ig_gather(c, x, ig_const(1), t);
  ig_tensor *z = ig_add_tensor(c, ig_rsub_scalar(c, u, args[3]), x);
  z = above_zero(c, z);
  if (p == 2) z = ig_mul_tensor(c, z, z);
  if (args[4].kind == IG_KIND_TENSOR) {
    ig_value index[] = {ig_of_tensor(t)};
    z = ig_mul_tensor(c, z, ig_index_tensor(c, args[4].tensor, ig_of_list(index, 1)));
  }
  ig_tensor *at = ig_arange_with(c, ig_of_int(ig_sizes(x)[1]), ig_none(), ig_none(),
                                 ig_of_device(x->device), ig_of_bool(false));
  z = ig_where_scalarother(c, ig_ne_tensor(c, at, t), z, ig_of_i64(0));
  int64_t how = ig_value_i64(c, &args[5]);
  if (how == REDUCE_MEAN) return ig_mean(c, z);
  if (how == REDUCE_SUM) return ig_div_int(c, ig_sum(c, z), ig_sizes(x)[1]);
  ig_int one = ig_const(1);
  return ig_mean_dim(c, z, ig_of_ints(&one, 1));
}

#define PAIRS "f32[3], f32[3] | f32[2,3], f32[2,3], 0 | f32[3], f32[3], 2"

IG_OP(l1_loss) = {
    .schema = "aten::l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = l1_loss_decompose,
    .samples = PAIRS,
};
IG_OP(mse_loss) = {
    .schema = "aten::mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = mse_loss_decompose,
    .samples = PAIRS,
};
IG_OP(smooth_l1_loss) = {
    .schema =
        "aten::smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float "
        "beta=1.) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = smooth_l1_loss_decompose,
    .samples = "f32[3], f32[3] | f32[3], f32[3], 0, 0.5",
};
IG_OP(huber_loss) = {
    .schema =
        "aten::huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.) "
        "-> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = huber_loss_decompose,
    .samples = "f32[3], f32[3] | f32[3], f32[3], 0, 0.5",
};
IG_OP(soft_margin_loss) = {
    .schema = "aten::soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = soft_margin_loss_decompose,
    .samples = PAIRS,
};
IG_OP(binary_cross_entropy) = {
    .schema =
        "aten::binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, "
        "int reduction=1) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = binary_cross_entropy_decompose,
    .samples =
        "f32[3]:u, f32[3]:u | f32[3]:u, f32[3]:u, f32[3]:+, 0 | f32[3]:u, f32[3]:u, "
        "None, 2",
};
IG_OP(binary_cross_entropy_with_logits) = {
    .schema =
        "aten::binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? "
        "weight=None, Tensor? pos_weight=None, int reduction=1) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = with_logits_decompose,
    .samples =
        "f32[3], f32[3]:u | f32[2,3], f32[2,3]:u, None, f32[3]:+, 2 | f32[3], "
        "f32[3]:u, f32[3]:+, None, 0",
};
IG_OP(kl_div) = {
    .schema =
        "aten::kl_div(Tensor self, Tensor target, int reduction=1, *, bool "
        "log_target=False) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = kl_div_decompose,
    .samples = "f32[3], f32[3]:+ | f32[3], f32[3], 0, log_target=True",
};
IG_OP(poisson_nll_loss) = {
    .schema =
        "aten::poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool "
        "full, float eps, int reduction) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = poisson_nll_loss_decompose,
    .samples =
        "f32[3], f32[3]:+, True, False, 0.00000001, 1 | f32[3]:+, f32[3]:+, False, "
        "True, 0.00000001, 0",
};
IG_OP(hinge_embedding_loss) = {
    .schema =
        "aten::hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int "
        "reduction=1) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = hinge_embedding_loss_decompose,
    .samples = "f32[3], f32[3]:ones | f32[3], f32[3], 0.5, 0",
};
IG_OP(margin_ranking_loss) = {
    .schema =
        "aten::margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float "
        "margin=0., int reduction=1) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = margin_ranking_loss_decompose,
    .samples = "f32[3], f32[3], f32[3]:ones | f32[3], f32[3], f32[3]:ones, 0.3, 2",
};
IG_OP(cosine_embedding_loss) = {
    .schema =
        "aten::cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, "
        "float margin=0., int reduction=1) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = cosine_embedding_loss_decompose,
    .samples = "f32[2,3], f32[2,3], f32[2]:ones | f32[3], f32[3], f32[]:ones, 0.2, 0",
};
IG_OP(pairwise_distance) = {
    .schema =
        "aten::pairwise_distance(Tensor x1, Tensor x2, float p=2., float "
        "eps=9.9999999999999995e-07, bool keepdim=False) -> Tensor",
    .decompose = pairwise_distance_decompose,
    .samples = "f32[2,3], f32[2,3] | f32[2,3], f32[2,3], 1., 0.000001, True",
};
IG_OP(triplet_margin_loss) = {
    .schema =
        "aten::triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, "
        "float margin=1., float p=2., float eps=9.9999999999999995e-07, bool "
        "swap=False, int reduction=1) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = triplet_margin_loss_decompose,
    .samples =
        "f32[2,3], f32[2,3], f32[2,3] | f32[2,3], f32[2,3], f32[2,3], 0.5, 2., "
        "0.000001, True, 0",
};
IG_OP(cosine_similarity) = {
    .schema =
        "aten::cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> "
        "Tensor",
    .autocast = IG_AUTOCAST_F32_DEVICE,
    .decompose = cosine_similarity_decompose,
    .samples = "f32[2,3], f32[2,3] | f32[3], f32[3], 0, 0.000001",
};
IG_OP(multi_margin_loss) = {
    .schema =
        "aten::multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar "
        "margin=1, Tensor? weight=None, int reduction=1) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = multi_margin_loss_decompose,
    .samples =
        "f32[2,3], i64[2]:<3 | f32[2,3], i64[2]:<3, 2, 0.5, f32[3]:+, 0 | f32[3], "
        "i64[]:<3, reduction=2",
    .waive = "special: NaN is not the largest there; size 2=0: a mean of nothing",
};
