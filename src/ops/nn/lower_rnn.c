// SPDX-License-Identifier: Apache-2.0
// PyTorch's decompositions of recurrent networks: one step after another, every state with a
// leading dimension of 1, the outputs joined at the end.
#include "op/formula.h"
#include "ops/lower.h"

typedef enum cell_kind { LSTM, GRU, TANH, RELU } cell_kind;

typedef struct state {
  ig_tensor *h;
  ig_tensor *c;  // LSTM
} state;

// Weights of one layer in one direction.
typedef struct weights {
  ig_tensor *ih;
  ig_tensor *hh;
  ig_tensor *b_ih;
  ig_tensor *b_hh;
  ig_tensor *hr;  // LSTM with projection
} weights;

static void chunked(ig_ctx *c, ig_tensor *t, int64_t n, int64_t dim, ig_value *out) {
  ig_chunk_with(c, t, ig_const(n), ig_const(dim), out);
}

static ig_tensor *part(const ig_value *list, size_t i) {
  return list->kind == IG_KIND_LIST && i < list->list.n ? list->list.at[i].tensor : NULL;
}

static state lstm_step(ig_ctx *c, ig_tensor *x, state s, const weights *w) {
  ig_tensor *gates = ig_linear_with(c, s.h, w->hh, w->b_hh);
  gates = ig_add_tensor(c, gates, x);
  ig_value four;
  chunked(c, gates, 4, 2, &four);
  if (c->status != IG_OK) return s;
  ig_tensor *in = ig_sigmoid(c, part(&four, 0));
  ig_tensor *forget = ig_sigmoid(c, part(&four, 1));
  ig_tensor *cell = ig_tanh(c, part(&four, 2));
  ig_tensor *out = ig_sigmoid(c, part(&four, 3));
  ig_tensor *kept = ig_mul_tensor(c, forget, s.c);
  ig_tensor *added = ig_mul_tensor(c, in, cell);
  ig_tensor *next = ig_add_tensor(c, kept, added);
  ig_tensor *h = ig_mul_tensor(c, out, ig_tanh(c, next));
  if (w->hr) h = ig_linear(c, h, w->hr);
  return (state){h, next};
}

static state gru_step(ig_ctx *c, ig_tensor *x, state s, const weights *w) {
  ig_value in;
  ig_value hidden;
  chunked(c, x, 3, 1, &in);
  chunked(c, ig_linear_with(c, s.h, w->hh, w->b_hh), 3, 2, &hidden);
  if (c->status != IG_OK) return s;
  ig_tensor *r = ig_sigmoid(c, ig_add_tensor(c, part(&hidden, 0), part(&in, 0)));
  ig_tensor *z = ig_sigmoid(c, ig_add_tensor(c, part(&hidden, 1), part(&in, 1)));
  ig_tensor *inner = ig_mul_tensor(c, part(&hidden, 2), r);
  ig_tensor *n = ig_tanh(c, ig_add_tensor(c, part(&in, 2), inner));
  ig_tensor *d = ig_mul_tensor(c, ig_sub_tensor(c, s.h, n), z);
  return (state){ig_add_tensor(c, d, n), NULL};
}

static state step(ig_ctx *c, cell_kind kind, ig_tensor *x, state s, const weights *w) {
  if (kind == LSTM) return lstm_step(c, x, s, w);
  if (kind == GRU) return gru_step(c, x, s, w);
  ig_tensor *sum = ig_add_tensor(c, ig_linear_with(c, s.h, w->hh, w->b_hh), x);
  bool relu = kind == RELU;
  return (state){relu ? ig_relu(c, sum) : ig_tanh(c, sum), NULL};
}

// x [time, batch, features], states [batch, hidden]; out [time, batch, hidden].
static state layer(ig_ctx *c, cell_kind kind, ig_tensor *x, state s, const weights *w, bool reverse,
                   ig_tensor **out) {
  static const ig_int first = {.value = 0};
  bool lstm = kind == LSTM;
  if (lstm) {
    s.h = ig_unsqueeze(c, s.h, first);
    s.c = ig_unsqueeze(c, s.c, first);
  }
  ig_tensor *all = ig_linear_with(c, x, w->ih, w->b_ih);
  if (reverse) all = ig_flip(c, all, ig_of_ints(&first, 1));
  if (!lstm) s.h = ig_unsqueeze(c, s.h, first);
  ig_value list = ig_none();
  ig_unbind_int(c, all, &list);
  size_t n = list.kind == IG_KIND_LIST ? list.list.n : 0;
  ig_value *steps = ig_scope_array(c, n, sizeof *steps);
  for (size_t i = 0; steps && i < n && c->status == IG_OK; i++) {
    s = step(c, kind, list.list.at[i].tensor, s, w);
    steps[reverse ? n - 1 - i : i] = ig_of_tensor(s.h);
  }
  *out = NULL;
  if (!steps || c->status != IG_OK) return s;
  *out = ig_cat(c, ig_of_list(steps, n));
  // PyTorch drops the batch dimension here, which is only right for a batch of one.
  bool single = lstm && !ig_sizes(s.h)[1].expr && ig_int_eq_i64(c, ig_sizes(s.h)[1], 1);
  ig_int time = single ? ig_const(1) : first;
  s.h = ig_squeeze_dim(c, s.h, time);
  if (s.c) s.c = ig_squeeze_dim(c, s.c, time);
  return s;
}

// The weights of a cell out of the list of parameters.
static weights weights_of(const ig_value *params, size_t cell, bool biases, bool projected) {
  size_t per_cell = (biases ? 4U : 2U) + projected;
  const ig_value *p = params->list.at + cell * per_cell;
  weights w = {.ih = p[0].tensor, .hh = p[1].tensor};
  if (biases) {
    w.b_ih = p[2].tensor;
    w.b_hh = p[3].tensor;
  }
  if (projected) w.hr = p[biases ? 4 : 2].tensor;
  return w;
}

// No network has more layers than parameters, and then the product fits.
static bool check_params(ig_ctx *c, const ig_value *args, size_t per_cell) {
  int64_t layers = ig_value_i64(c, &args[4]);
  size_t n = args[2].list.n;
  if (layers >= 0 && (uint64_t)layers <= n &&
      (size_t)layers * (args[7].b ? 2 : 1) * per_cell == n) {
    return true;
  }
  ig_fail_text(c, IG_RUNTIME, "rnn: found %zu parameters, which do not fit %lld layers", n,
               (long long)layers);
  return false;
}

// input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first
static void network(ig_ctx *c, const ig_value *args, cell_kind kind, ig_tensor *h, ig_tensor *cell,
                    ig_value *outs) {
  ig_tensor *x = args[0].tensor;
  if (h->ndim != 3 || (cell && cell->ndim != 3)) {
    ig_fail_text(c, IG_RUNTIME, "rnn: the state has %d dimensions, expected 3",
                 h->ndim != 3 ? h->ndim : cell->ndim);
    return;
  }
  size_t ways = args[7].b ? 2 : 1;
  bool projected = cell && !ig_int_eq(c, ig_sizes(h)[2], ig_sizes(cell)[2]);
  if (!check_params(c, args, (args[3].b ? 4U : 2U) + projected)) return;
  size_t layers = (size_t)ig_value_i64(c, &args[4]);
  ig_value hidden = ig_none();
  ig_value cells = ig_none();
  ig_unbind_int(c, h, &hidden);
  if (cell) ig_unbind_int(c, cell, &cells);
  if (args[8].b) x = ig_transpose_int(c, x, ig_const(0), ig_const(1));
  ig_value *last = ig_scope_array(c, ig_mem_mul(ig_mem_mul(2, layers), ways), sizeof *last);
  if (!last || c->status != IG_OK) return;
  for (size_t i = 0; i < layers && c->status == IG_OK; i++) {
    ig_value out[2];
    for (size_t d = 0; d < ways; d++) {
      size_t at = i * ways + d;
      weights w = weights_of(&args[2], at, args[3].b, projected);
      state s = {part(&hidden, at), cell ? part(&cells, at) : NULL};
      ig_tensor *all = NULL;
      s = layer(c, kind, x, s, &w, d == 1, &all);
      out[d] = ig_of_tensor(all);
      last[at] = ig_of_tensor(s.h);
      last[layers * ways + at] = ig_of_tensor(s.c);
    }
    if (c->status != IG_OK) return;
    x = ways == 2 ? ig_cat_with(c, ig_of_list(out, 2), ig_const(2)) : out[0].tensor;
    if (args[5].f > 0 && args[6].b && i + 1 < layers) x = ig_dropout(c, x, args[5].f, true);
  }
  if (args[8].b) x = ig_transpose_int(c, x, ig_const(0), ig_const(1));
  outs[0] = ig_of_tensor(x);
  outs[1] = ig_of_tensor(ig_stack(c, ig_of_list(last, layers * ways)));
  if (cell) outs[2] = ig_of_tensor(ig_stack(c, ig_of_list(last + layers * ways, layers * ways)));
}

void ig_lower_lstm(ig_ctx *c, const ig_value *args, ig_value *outs) {
  if (args[1].list.n != 2) {
    ig_fail_text(c, IG_RUNTIME, "lstm expects two hidden states");
    return;
  }
  network(c, args, LSTM, args[1].list.at[0].tensor, args[1].list.at[1].tensor, outs);
}
void ig_lower_gru(ig_ctx *c, const ig_value *args, ig_value *outs) {
  network(c, args, GRU, args[1].tensor, NULL, outs);
}
void ig_lower_rnn_tanh(ig_ctx *c, const ig_value *args, ig_value *outs) {
  network(c, args, TANH, args[1].tensor, NULL, outs);
}
void ig_lower_rnn_relu(ig_ctx *c, const ig_value *args, ig_value *outs) {
  network(c, args, RELU, args[1].tensor, NULL, outs);
}
