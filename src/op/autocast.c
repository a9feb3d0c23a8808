// SPDX-License-Identifier: Apache-2.0
#include "op/autocast.h"

#include <string.h>

#include "ingot/aten.h"
#include "ingot/autocast.h"
#include "op/record.h"

typedef enum policy { NONE, SHORT, FLOAT, WIDEST } policy;

// Names of operators, all overloads; lists as PyTorch has them.
static const char *const shorts[] = {
    "conv1d",
    "conv2d",
    "conv3d",
    "bmm",
    "mm",
    "linalg_vecdot",
    "baddbmm",
    "addmm",
    "_addmm_activation",
    "addbmm",
    "linear",
    "matmul",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "prelu",
    "scaled_dot_product_attention",
    NULL,
};
static const char *const floats[] = {
    "avg_pool3d",
    "binary_cross_entropy",
    "grid_sampler",
    "polar",
    "prod",
    "quantile",
    "nanquantile",
    "stft",
    "cdist",
    "grid_sampler_2d",
    "grid_sampler_3d",
    "trace",
    "view_as_complex",
    "cholesky",
    "cholesky_inverse",
    "cholesky_solve",
    "inverse",
    "lu_solve",
    "orgqr",
    "ormqr",
    "pinverse",
    "max_pool3d",
    "max_unpool2d",
    "max_unpool3d",
    "adaptive_avg_pool3d",
    "reflection_pad1d",
    "reflection_pad2d",
    "replication_pad1d",
    "replication_pad2d",
    "replication_pad3d",
    "mse_loss",
    "cosine_embedding_loss",
    "nll_loss",
    "nll_loss2d",
    "hinge_embedding_loss",
    "poisson_nll_loss",
    "smooth_l1_loss",
    "cross_entropy_loss",
    "l1_loss",
    "huber_loss",
    "margin_ranking_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "multi_margin_loss",
    "ctc_loss",
    "kl_div",
    "multilabel_margin_loss",
    "binary_cross_entropy_with_logits",
    "linalg_cond",
    "linalg_matrix_rank",
    "linalg_solve",
    "linalg_cholesky",
    "linalg_svdvals",
    "linalg_eigvals",
    "linalg_eigvalsh",
    "linalg_inv",
    "linalg_householder_product",
    "linalg_tensorinv",
    "linalg_tensorsolve",
    "geqrf",
    "qr",
    "svd",
    "triangular_solve",
    "fractional_max_pool2d",
    "fractional_max_pool3d",
    "adaptive_max_pool3d",
    "linalg_qr",
    "linalg_cholesky_ex",
    "linalg_svd",
    "linalg_eig",
    "linalg_eigh",
    "linalg_lstsq",
    "linalg_inv_ex",
    NULL,
};
// On other devices than the CPU also these.
static const char *const more_floats[] = {
    "acos",
    "asin",
    "cosh",
    "erfinv",
    "exp",
    "expm1",
    "log",
    "log10",
    "log2",
    "log1p",
    "reciprocal",
    "rsqrt",
    "sinh",
    "tan",
    "pow",
    "softplus",
    "layer_norm",
    "group_norm",
    "norm",
    "cosine_similarity",
    "softmax",
    "log_softmax",
    "cumprod",
    "cumsum",
    "dist",
    "renorm",
    "logsumexp",
    "sum",
    "native_layer_norm",
    NULL,
};
static const char *const widests[] = {"stack", "cat", "index_copy", NULL};

static bool is_listed(const char *const *list, const char *name) {
  for (; *list; list++) {
    if ((*list)[0] == name[0] && strcmp(*list, name) == 0) return true;
  }
  return false;
}

static policy policy_of(const ig_op *op, bool cpu) {
  const char *name = op->schema.name;
  if (op->user || op->form != IG_FORM_PLAIN || strcmp(op->schema.ns, "aten") != 0) return NONE;
  if (is_listed(shorts, name)) return SHORT;
  if (is_listed(floats, name) || strncmp(name, "fft_", 4) == 0) return FLOAT;
  if (!cpu && is_listed(more_floats, name)) return FLOAT;
  return is_listed(widests, name) ? WIDEST : NONE;
}

// Is t a tensor whose type a region decides?
static bool is_open(const ig_ctx *c, const ig_value *v) {
  if (v->kind != IG_KIND_TENSOR) return false;
  const ig_tensor *t = v->tensor;
  bool on = c->autocast[t->device.type == IG_DEVICE_CPU ? 0 : 1].on;
  return on && ig_dtype_is_float(t->dtype) && t->dtype != IG_F64;
}

static bool first_open(const ig_ctx *c, const ig_value *v, const ig_tensor **found) {
  if (is_open(c, v)) *found = v->tensor;
  for (size_t i = 0; v->kind == IG_KIND_LIST && i < v->list.n && !*found; i++) {
    (void)first_open(c, &v->list.at[i], found);
  }
  return *found != NULL;
}

static void widen(const ig_ctx *c, const ig_value *v, ig_dtype *widest) {
  if (is_open(c, v) && v->tensor->dtype == IG_F32) *widest = IG_F32;
  for (size_t i = 0; v->kind == IG_KIND_LIST && i < v->list.n; i++) {
    widen(c, &v->list.at[i], widest);
  }
}

static ig_value cast(ig_ctx *c, const ig_value *v, ig_dtype to) {
  if (is_open(c, v) && v->tensor->dtype != to) {
    return ig_of_tensor(ig_to_dtype(c, v->tensor, ig_of_dtype(to)));
  }
  const ig_tensor *any = NULL;
  if (v->kind != IG_KIND_LIST || !first_open(c, v, &any)) return *v;
  ig_value out = *v;
  ig_value *items = ig_scope_push(c, v->list.n * sizeof *items + 1);
  for (size_t i = 0; items && i < v->list.n; i++) items[i] = cast(c, &v->list.at[i], to);
  out.list.at = items;
  return items ? out : ig_none();
}

const ig_value *ig_autocast_args(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *room) {
  const ig_tensor *first = NULL;
  for (size_t i = 0; i < op->schema.nargs && !first; i++) (void)first_open(c, &args[i], &first);
  if (!first) return args;
  bool cpu = first->device.type == IG_DEVICE_CPU;
  policy p = policy_of(op, cpu);
  if (p == NONE) return args;
  ig_dtype to = p == FLOAT ? IG_F32 : p == SHORT ? (ig_dtype)c->autocast[!cpu].dtype : first->dtype;
  for (size_t i = 0; i < op->schema.nargs && p == WIDEST; i++) widen(c, &args[i], &to);
  for (size_t i = op->schema.nargs; i-- > 0;) room[i] = cast(c, &args[i], to);  // as PyTorch does
  return c->status == IG_OK ? room : NULL;
}

// ---- the regions ----

void ig_autocast_set(ig_ctx *c, ig_device_type device, ig_autocast state) {
  size_t at = device != IG_DEVICE_CPU;
  c->autocast[at].on = state.on;
  c->autocast[at].dtype = (int)state.dtype;
  c->autocasts = c->autocast[0].on || c->autocast[1].on;
}

ig_autocast ig_autocast_get(const ig_ctx *c, ig_device_type device) {
  size_t at = device != IG_DEVICE_CPU;
  int dtype = c->autocast[at].dtype;
  if (dtype < 0) dtype = at ? IG_F16 : IG_BF16;
  return (ig_autocast){c->autocast[at].on, (ig_dtype)dtype};
}

// ---- switches as nodes ----

static const char enter[] = "torch.amp.autocast_mode._enter_autocast";
static const char leave[] = "torch.amp.autocast_mode._exit_autocast";

static ig_node *push_switch(ig_ctx *c, const char *target, const char *base, const ig_value *args,
                            size_t n, void *host_fn) {
  if (!c->capture || !c->capture->implied_casts || c->status != IG_OK) return NULL;
  ig_node proto = {.kind = IG_NODE_CALL,
                   .callee = IG_CALLEE_HOST,
                   .target = target,
                   .host_fn = host_fn,
                   .effect = true,
                   .args = args,
                   .npos = n,
                   .val = ig_none()};
  return ig_record_node(c, &proto, base);
}

void ig_record_autocast(ig_ctx *c, const char *device, ig_dtype dtype, bool enabled,
                        void *host_fn) {
  ig_value args[] = {ig_of_str(device), ig_of_dtype(dtype), ig_of_bool(enabled), ig_none()};
  (void)push_switch(c, enter, "_enter_autocast", args, 4, host_fn);
}

ig_autocast_switch ig_node_autocast(const ig_node *n) {
  if (n->kind != IG_NODE_CALL || n->callee != IG_CALLEE_HOST) return IG_SWITCH_NONE;
  if (strcmp(n->target, enter) == 0 && n->npos == 4) return IG_SWITCH_ENTER;
  return strcmp(n->target, leave) == 0 && n->npos == 1 ? IG_SWITCH_EXIT : IG_SWITCH_NONE;
}

void ig_record_autocast_end(ig_ctx *c, void *host_fn) {
  size_t closed = 0;
  ig_node *n = c->capture && c->capture->implied_casts ? c->capture->last : NULL;
  for (; n; n = n->prev) {
    ig_autocast_switch way = ig_node_autocast(n);
    if (way == IG_SWITCH_ENTER && closed == 0) break;
    closed += way == IG_SWITCH_EXIT;
    closed -= way == IG_SWITCH_ENTER;
  }
  if (!n) return;
  ig_value arg = ig_of_node(n);
  (void)push_switch(c, leave, "_exit_autocast", &arg, 1, host_fn);
}

static ig_device_type device_of(const ig_value *v) {
  return v->kind == IG_KIND_STR && strcmp(v->str, "cpu") == 0 ? IG_DEVICE_CPU : IG_DEVICE_CUDA;
}

ig_value ig_autocast_step(ig_ctx *c, const ig_node *n, const ig_value *before) {
  bool begins = ig_node_autocast(n) == IG_SWITCH_ENTER;
  const ig_node *first = begins ? n : n->args[0].kind == IG_KIND_NODE ? n->args[0].node : NULL;
  if (!first || first->npos != 4 || first->args[1].kind != IG_KIND_DTYPE) return ig_none();
  ig_device_type device = device_of(&first->args[0]);
  ig_autocast now = ig_autocast_get(c, device);
  if (begins) {
    ig_record_autocast(c, first->args[0].str, first->args[1].dtype, first->args[2].b, n->host_fn);
    ig_autocast_set(c, device, (ig_autocast){first->args[2].b, first->args[1].dtype});
    return ig_of_i64(2 * (int64_t)now.dtype + now.on);
  }
  ig_record_autocast_end(c, n->host_fn);
  if (before && before->kind == IG_KIND_INT) {
    ig_autocast_set(c, device,
                    (ig_autocast){before->i.value % 2 != 0, (ig_dtype)(before->i.value / 2)});
  }
  return ig_none();
}
