// SPDX-License-Identifier: Apache-2.0
// Recurrent networks whose weights are quantized and whose activations are quantized by every
// product. A layer multiplies its whole input at once and its state step by step.
#include "op/formula.h"
#include "op/native.h"
#include "op/quantized.h"
#include "op/shape.h"
#include "ops/dense.h"

static ig_tensor *product(ig_ctx *c, ig_tensor *x, const ig_packed *cell, bool hidden) {
  ig_packed *w = hidden ? cell->w_hh : cell->w_ih;
  if (!x) return NULL;
  if (w->half) return ig_linear_with(c, x, w->weight, w->bias);
  ig_value args[] = {ig_of_tensor(x), ig_of_native(&w->head), ig_of_bool(cell->reduce_range)};
  return ig_call_id(c, IG_ID_QUANTIZED__LINEAR_DYNAMIC, args, 3);
}

static bool chunks(ig_ctx *c, ig_tensor *x, int64_t n, ig_tensor **out) {
  ig_value made[IG_MAX_RETURNS] = {{0}};
  if (!x) return false;
  ig_chunk_with(c, x, ig_const(n), ig_const(1), made);
  if (c->status != IG_OK || made[0].kind != IG_KIND_LIST || made[0].list.n != (size_t)n) {
    if (c->status == IG_OK)
      ig_fail_text(c, IG_RUNTIME, "the gates of a cell are not %lld parts", (long long)n);
    return false;
  }
  for (int64_t i = 0; i < n; i++) out[i] = made[0].list.at[i].tensor;
  return true;
}

typedef enum kind { LSTM, GRU, TANH, RELU } kind;
typedef struct state {
  ig_tensor *h;
  ig_tensor *c;
} state;

// One step: `x` is the input's product.
static state step(ig_ctx *c, kind how, ig_tensor *x, state s, const ig_packed *cell) {
  ig_tensor *hidden = product(c, s.h, cell, true);
  ig_tensor *g[4];
  ig_tensor *i[3];
  state next = {NULL, NULL};
  if (how == LSTM) {
    if (!chunks(c, ig_add_tensor(c, hidden, x), 4, g)) return next;
    ig_tensor *keep = ig_mul_tensor(c, ig_sigmoid(c, g[1]), s.c);
    ig_tensor *in = ig_sigmoid(c, g[0]);
    in = ig_mul_tensor(c, in, ig_tanh(c, g[2]));
    next.c = ig_add_tensor(c, keep, in);
    ig_tensor *out = ig_sigmoid(c, g[3]);
    next.h = ig_mul_tensor(c, out, ig_tanh(c, next.c));
  } else if (how == GRU) {
    if (!chunks(c, hidden, 3, g) || !chunks(c, x, 3, i)) return next;
    ig_tensor *reset = ig_sigmoid(c, ig_add_tensor(c, g[0], i[0]));
    ig_tensor *update = ig_sigmoid(c, ig_add_tensor(c, g[1], i[1]));
    ig_tensor *fresh = ig_add_tensor(c, i[2], ig_mul_tensor(c, g[2], reset));
    fresh = ig_tanh(c, fresh);
    ig_tensor *back = ig_mul_tensor(c, ig_sub_tensor(c, s.h, fresh), update);
    next.h = ig_add_tensor(c, back, fresh);
  } else {
    ig_tensor *sum = ig_add_tensor(c, hidden, x);
    next.h = how == TANH ? ig_tanh(c, sum) : ig_relu(c, sum);
  }
  return next;
}

// The rows of a sequence: `counts[t]` of step t, never more than before; NULL: all have the same.
typedef struct sequence {
  int64_t steps;
  const int64_t *counts;
  int64_t batch;
} sequence;

static ig_tensor *rows(ig_ctx *c, ig_tensor *t, int64_t from, int64_t n) {
  return ig_narrow(c, t, ig_const(0), ig_const(from), ig_const(n));
}
static ig_tensor *joined(ig_ctx *c, ig_tensor *a, ig_tensor *b) {
  ig_value pair[] = {ig_of_tensor(a), ig_of_tensor(b)};
  return a && b ? ig_cat_with(c, ig_of_list(pair, 2), ig_const(0)) : NULL;
}
static state rows_of(ig_ctx *c, state s, int64_t from, int64_t n) {
  s.h = rows(c, s.h, from, n);
  if (s.c) s.c = rows(c, s.c, from, n);
  return s;
}
static state join(ig_ctx *c, state a, state b) {
  a.h = joined(c, a.h, b.h);
  if (a.c) a.c = joined(c, a.c, b.c);
  return a;
}

// x [rows of all steps][features]; the outputs alike; *last the states of all rows.
static ig_tensor *layer(ig_ctx *c, kind how, ig_tensor *x, const sequence *q, state s,
                        const ig_packed *cell, bool backward, state *last) {
  ig_tensor *in = product(c, x, cell, false);
  ig_value *outs = ig_scope_array(c, (size_t)q->steps + 1, sizeof *outs);
  int64_t *starts = ig_scope_array(c, (size_t)q->steps + 1, sizeof *starts);
  if (!outs || !starts) return NULL;
  int64_t at = 0;
  for (int64_t t = 0; t < q->steps; t++) {
    starts[t] = at;
    at += q->counts ? q->counts[t] : q->batch;
  }
  state all = s;  // states of every row, finished or not
  for (int64_t k = 0; k < q->steps && c->status == IG_OK; k++) {
    int64_t t = backward ? q->steps - 1 - k : k;
    int64_t n = q->counts ? q->counts[t] : q->batch;
    state now = n == q->batch ? all : rows_of(c, all, 0, n);
    now = step(c, how, rows(c, in, starts[t], n), now, cell);
    outs[t] = ig_of_tensor(now.h);
    all = n == q->batch ? now : join(c, now, rows_of(c, all, n, q->batch - n));
  }
  *last = all;
  return c->status == IG_OK ? ig_cat_with(c, ig_of_list(outs, (size_t)q->steps), ig_const(0))
                            : NULL;
}

typedef struct network {
  kind how;
  const ig_value *params;  // cells
  int64_t layers;
  bool bidirectional;
} network;

// x [rows][features]; h and c [layers * directions][batch][hidden]
static ig_tensor *run(ig_ctx *c, const network *n, ig_tensor *x, const sequence *q, ig_tensor *h,
                      ig_tensor *cells, ig_value *outs) {
  int directions = n->bidirectional ? 2 : 1;
  size_t total = (size_t)n->layers * (size_t)directions;
  if (n->params->kind != IG_KIND_LIST || n->params->list.n != total || total == 0) {
    ig_fail_text(c, IG_RUNTIME, "quantized network: found %zu cells, expected %zu",
                 n->params->kind == IG_KIND_LIST ? n->params->list.n : 0, total);
    return NULL;
  }
  ig_value *hs = ig_scope_array(c, total, sizeof *hs);
  ig_value *cs = ig_scope_array(c, total, sizeof *cs);
  if (!hs || !cs) return NULL;
  for (size_t i = 0; i < total && c->status == IG_OK; i += (size_t)directions) {
    ig_tensor *parts[2] = {NULL, NULL};
    for (int d = 0; d < directions && c->status == IG_OK; d++) {
      ig_int at = ig_const((int64_t)i + d);
      state s = {.h = ig_select_int(c, h, ig_const(0), at)};
      if (cells) s.c = ig_select_int(c, cells, ig_const(0), at);
      state last = {NULL, NULL};
      if (c->status != IG_OK) return NULL;
      parts[d] = layer(c, n->how, x, q, s, ig_packed_of(&n->params->list.at[i + (size_t)d]), d == 1,
                       &last);
      hs[i + (size_t)d] = ig_of_tensor(last.h);
      cs[i + (size_t)d] = ig_of_tensor(last.c);
    }
    x = parts[0];
    if (directions == 2 && c->status == IG_OK) {
      ig_value pair[] = {ig_of_tensor(parts[0]), ig_of_tensor(parts[1])};
      x = ig_cat_with(c, ig_of_list(pair, 2), ig_const(-1));
    }
  }
  if (c->status != IG_OK) return NULL;
  outs[1] = ig_of_tensor(ig_stack_with(c, ig_of_list(hs, total), ig_const(0)));
  if (cells) outs[2] = ig_of_tensor(ig_stack_with(c, ig_of_list(cs, total), ig_const(0)));
  return x;
}

// input [time][batch][features], or batch first
static void dense(ig_ctx *c, const network *n, ig_tensor *x, ig_tensor *h, ig_tensor *cells,
                  bool batch_first, ig_value *outs) {
  if (x->ndim != 3 || !h) {
    ig_fail_text(c, IG_RUNTIME, "quantized network: found an input of %d dimensions, expected 3",
                 x->ndim);
    return;
  }
  if (batch_first) x = ig_transpose_int(c, x, ig_const(0), ig_const(1));
  if (!x) return;
  sequence q = {.steps = ig_sizes(x)[0].value, .batch = ig_sizes(x)[1].value};
  ig_tensor *flat = ig_flatten_using_ints_with(c, x, ig_const(0), ig_const(1));
  ig_tensor *y = run(c, n, flat, &q, h, cells, outs);
  if (!y) return;
  ig_int sizes[3] = {ig_const(q.steps), ig_const(q.batch), ig_const(-1)};
  y = ig_view(c, y, ig_of_ints(sizes, 3));
  if (batch_first) y = ig_transpose_int(c, y, ig_const(0), ig_const(1));
  outs[0] = ig_of_tensor(y);
}

static void packed(ig_ctx *c, const network *n, ig_tensor *x, ig_tensor *sizes, ig_tensor *h,
                   ig_tensor *cells, ig_value *outs) {
  const int64_t *counts = ig_dense_read(c, sizes, IG_I64);
  sequence q = {.steps = ig_tensor_numel(sizes), .counts = counts};
  if (!counts || q.steps == 0 || !h) return;
  q.batch = counts[0];
  outs[0] = ig_of_tensor(run(c, n, x, &q, h, cells, outs));
}

static bool states_of(ig_ctx *c, const ig_value *hx, ig_tensor **h, ig_tensor **cells) {
  if (hx->kind != IG_KIND_LIST || hx->list.n != 2) {
    ig_fail_text(c, IG_RUNTIME, "lstm expects two hidden states");
    return false;
  }
  *h = hx->list.at[0].tensor;
  *cells = hx->list.at[1].tensor;
  return true;
}

// input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first, ...
static void lstm_input(ig_ctx *c, const ig_value *a, ig_value *outs) {
  network n = {LSTM, &a[2], ig_value_i64(c, &a[4]), a[7].b};
  ig_tensor *h = NULL;
  ig_tensor *cells = NULL;
  if (states_of(c, &a[1], &h, &cells)) dense(c, &n, a[0].tensor, h, cells, a[8].b, outs);
}
static void gru_input(ig_ctx *c, const ig_value *a, ig_value *outs) {
  network n = {GRU, &a[2], ig_value_i64(c, &a[4]), a[7].b};
  dense(c, &n, a[0].tensor, a[1].tensor, NULL, a[8].b, outs);
}
// data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional, ...
static void lstm_data(ig_ctx *c, const ig_value *a, ig_value *outs) {
  network n = {LSTM, &a[3], ig_value_i64(c, &a[5]), a[8].b};
  ig_tensor *h = NULL;
  ig_tensor *cells = NULL;
  if (states_of(c, &a[2], &h, &cells)) packed(c, &n, a[0].tensor, a[1].tensor, h, cells, outs);
}
static void gru_data(ig_ctx *c, const ig_value *a, ig_value *outs) {
  network n = {GRU, &a[3], ig_value_i64(c, &a[5]), a[8].b};
  packed(c, &n, a[0].tensor, a[1].tensor, a[2].tensor, NULL, outs);
}

// ---- cells: input, hx, w_ih, w_hh, b_ih, b_hh

static state cell(ig_ctx *c, const ig_value *a, kind how, state s) {
  ig_packed *made = ig_packed_cell(c, ig_packed_of(&a[2]), ig_packed_of(&a[3]), NULL, NULL, true);
  if (!made) return (state){NULL, NULL};
  return step(c, how, product(c, a[0].tensor, made, false), s, made);
}
static void lstm_cell(ig_ctx *c, const ig_value *a, ig_value *outs) {
  state s = {NULL, NULL};
  if (!states_of(c, &a[1], &s.h, &s.c)) return;
  s = cell(c, a, LSTM, s);
  outs[0] = ig_of_tensor(s.h);
  outs[1] = ig_of_tensor(s.c);
}
static ig_tensor *gru_cell(ig_ctx *c, const ig_value *a) {
  return cell(c, a, GRU, (state){a[1].tensor, NULL}).h;
}
static ig_tensor *tanh_cell(ig_ctx *c, const ig_value *a) {
  return cell(c, a, TANH, (state){a[1].tensor, NULL}).h;
}
static ig_tensor *relu_cell(ig_ctx *c, const ig_value *a) {
  return cell(c, a, RELU, (state){a[1].tensor, NULL}).h;
}

// w_ih, w_hh, bias_ih, bias_hh, reduce_range
static void make_cell(ig_ctx *c, const ig_value *a, ig_value *outs) {
  ig_packed *p =
      ig_packed_cell(c, ig_packed_of(&a[0]), ig_packed_of(&a[1]), a[2].tensor, a[3].tensor, a[4].b);
  if (p) outs[0] = ig_of_native(&p->head);
}
static void make_half_cell(ig_ctx *c, const ig_value *a, ig_value *outs) {
  ig_packed *p = ig_packed_cell(c, ig_packed_of(&a[0]), ig_packed_of(&a[1]), NULL, NULL, false);
  if (p) outs[0] = ig_of_native(&p->head);
}

IG_OP(quantized_lstm_input) = {
    .schema =
        "aten::quantized_lstm.input(Tensor input, Tensor[] hx, "
        "__torch__.torch.classes.rnn.CellParamsBase[] params, bool has_biases, int num_layers, "
        "float dropout, bool train, bool bidirectional, bool batch_first, *, ScalarType? "
        "dtype=None, bool use_dynamic=False) -> (Tensor, Tensor, Tensor)",
    .decompose_outs = lstm_input,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized_lstm_data) = {
    .schema =
        "aten::quantized_lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, "
        "__torch__.torch.classes.rnn.CellParamsBase[] params, bool has_biases, int num_layers, "
        "float dropout, bool train, bool bidirectional, *, ScalarType? dtype=None, bool "
        "use_dynamic=False) -> (Tensor, Tensor, Tensor)",
    .decompose_outs = lstm_data,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized_gru_input) = {
    .schema =
        "aten::quantized_gru.input(Tensor input, Tensor hx, "
        "__torch__.torch.classes.rnn.CellParamsBase[] params, bool has_biases, int num_layers, "
        "float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)",
    .decompose_outs = gru_input,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized_gru_data) = {
    .schema =
        "aten::quantized_gru.data(Tensor data, Tensor batch_sizes, Tensor hx, "
        "__torch__.torch.classes.rnn.CellParamsBase[] params, bool has_biases, int num_layers, "
        "float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)",
    .decompose_outs = gru_data,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__quantized_lstm_cell_dynamic) = {
    .schema =
        "quantized::quantized_lstm_cell_dynamic(Tensor input, Tensor[] hx, "
        "__torch__.torch.classes.quantized.LinearPackedParamsBase w_ih, "
        "__torch__.torch.classes.quantized.LinearPackedParamsBase w_hh, Tensor bias_ih, Tensor "
        "bias_hh) -> (Tensor, Tensor)",
    .decompose_outs = lstm_cell,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__make_quantized_cell_params_dynamic) = {
    .schema =
        "quantized::make_quantized_cell_params_dynamic(__torch__.torch.classes.quantized."
        "LinearPackedParamsBase w_ih, __torch__.torch.classes.quantized.LinearPackedParamsBase "
        "w_hh, Tensor bias_ih, Tensor bias_hh, bool reduce_range=False) -> "
        "__torch__.torch.classes.rnn.CellParamsBase",
    .decompose_outs = make_cell,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__make_quantized_cell_params_fp16) = {
    .schema =
        "quantized::make_quantized_cell_params_fp16(__torch__.torch.classes.quantized."
        "LinearPackedParamsBase w_ih, __torch__.torch.classes.quantized.LinearPackedParamsBase "
        "w_hh) -> __torch__.torch.classes.rnn.CellParamsBase",
    .decompose_outs = make_half_cell,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__quantized_gru_cell_dynamic) = {
    .schema =
        "quantized::quantized_gru_cell_dynamic(Tensor input, Tensor hx, "
        "__torch__.torch.classes.quantized.LinearPackedParamsBase w_ih, "
        "__torch__.torch.classes.quantized.LinearPackedParamsBase w_hh, Tensor b_ih, Tensor b_hh) "
        "-> Tensor",
    .decompose = gru_cell,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__quantized_rnn_tanh_cell_dynamic) = {
    .schema =
        "quantized::quantized_rnn_tanh_cell_dynamic(Tensor input, Tensor hx, "
        "__torch__.torch.classes.quantized.LinearPackedParamsBase w_ih, "
        "__torch__.torch.classes.quantized.LinearPackedParamsBase w_hh, Tensor b_ih, Tensor b_hh) "
        "-> Tensor",
    .decompose = tanh_cell,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
IG_OP(quantized__quantized_rnn_relu_cell_dynamic) = {
    .schema =
        "quantized::quantized_rnn_relu_cell_dynamic(Tensor input, Tensor hx, "
        "__torch__.torch.classes.quantized.LinearPackedParamsBase w_ih, "
        "__torch__.torch.classes.quantized.LinearPackedParamsBase w_hh, Tensor b_ih, Tensor b_hh) "
        "-> Tensor",
    .decompose = relu_cell,
    .not_differentiable = true,
    .quantized = IG_QUANT_OWN,
};
