// SPDX-License-Identifier: Apache-2.0
// Recurrent networks: lstm, gru, rnn_tanh, rnn_relu on dense and on packed sequences. A layer is
// one product for all inputs, then a loop over time; packed sequences have fewer rows at later
// steps. These are the formulas; dense float32 sequences have kernels (rnn_run.c).
#include <string.h>

#include "op/formula.h"
#include "ops/lower.h"
#include "ops/nn/rnn_run.h"
#include "tensor/copy.h"

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

typedef struct network {
  ig_ctx *ctx;
  cell_kind kind;
  const ig_value *params;  // a list
  bool has_biases;
  int64_t layers;
  double dropout;
  bool train;
  bool bidirectional;
  bool projected;
  const int64_t *batch_sizes;  // packed: rows per step; NULL: dense [time, batch, features]
  int64_t steps;
} network;

static size_t per_cell(const network *n) {
  return (n->has_biases ? 4U : 2U) + n->projected;
}

static weights weights_of(const network *n, size_t cell) {
  const ig_value *p = n->params->list.at + cell * per_cell(n);
  weights w = {.ih = p[0].tensor, .hh = p[1].tensor};
  if (n->has_biases) {
    w.b_ih = p[2].tensor;
    w.b_hh = p[3].tensor;
  }
  if (n->projected) w.hr = p[n->has_biases ? 4 : 2].tensor;
  return w;
}

static ig_tensor *part(ig_ctx *c, ig_tensor *t, int64_t i, ig_int size) {
  ig_int begin = ig_int_mul(c, size, ig_const(i));
  ig_int end = ig_int_add(c, begin, size);
  return ig_slice_tensor_with(c, t, ig_const(1), ig_of_int(begin), ig_of_int(end), ig_const(1));
}

// i, f, g, o stand side by side in the gates.
static state lstm_step(ig_ctx *c, ig_tensor *x, state s, const weights *w) {
  ig_tensor *gates = ig_linear_with(c, s.h, w->hh, w->b_hh);
  gates = ig_add_tensor(c, gates, x);
  if (!gates || !s.c) return (state){NULL, NULL};
  ig_int size = ig_sizes(s.c)[1];
  ig_tensor *i = ig_sigmoid(c, part(c, gates, 0, size));
  ig_tensor *f = ig_sigmoid(c, part(c, gates, 1, size));
  ig_tensor *g = ig_tanh(c, part(c, gates, 2, size));
  ig_tensor *o = ig_sigmoid(c, part(c, gates, 3, size));
  ig_tensor *kept = ig_mul_tensor(c, f, s.c);
  ig_tensor *added = ig_mul_tensor(c, i, g);
  ig_tensor *next = ig_add_tensor(c, kept, added);
  ig_tensor *h = ig_mul_tensor(c, o, ig_tanh(c, next));
  if (w->hr) h = ig_linear(c, h, w->hr);
  return (state){h, next};
}

// r, z, n
static state gru_step(ig_ctx *c, ig_tensor *x, state s, const weights *w) {
  ig_tensor *hidden = ig_linear_with(c, s.h, w->hh, w->b_hh);
  if (!hidden || !x || !s.h) return (state){NULL, NULL};
  ig_int size = ig_sizes(s.h)[1];
  ig_tensor *r = part(c, x, 0, size);
  r = ig_sigmoid(c, ig_add_tensor(c, r, part(c, hidden, 0, size)));
  ig_tensor *z = part(c, x, 1, size);
  z = ig_sigmoid(c, ig_add_tensor(c, z, part(c, hidden, 1, size)));
  ig_tensor *inner = ig_mul_tensor(c, part(c, hidden, 2, size), r);
  ig_tensor *n = ig_tanh(c, ig_add_tensor(c, part(c, x, 2, size), inner));
  ig_tensor *d = ig_mul_tensor(c, ig_sub_tensor(c, s.h, n), z);
  return (state){ig_add_tensor(c, d, n), NULL};
}

static state plain_step(ig_ctx *c, ig_tensor *x, state s, const weights *w, bool relu) {
  ig_tensor *hidden = ig_linear_with(c, s.h, w->hh, w->b_hh);
  hidden = ig_add_tensor(c, hidden, x);
  return (state){relu ? ig_relu(c, hidden) : ig_tanh(c, hidden), NULL};
}

static state step(const network *n, ig_tensor *x, state s, const weights *w) {
  switch (n->kind) {
    case LSTM:
      return lstm_step(n->ctx, x, s, w);
    case GRU:
      return gru_step(n->ctx, x, s, w);
    default:
      return plain_step(n->ctx, x, s, w, n->kind == RELU);
  }
}

static ig_tensor *rows(ig_ctx *c, ig_tensor *t, int64_t begin, int64_t end) {
  if (!t) return NULL;
  return ig_slice_tensor_with(c, t, ig_const(0), ig_of_i64(begin), ig_of_i64(end), ig_const(1));
}

static state rows_of(const network *n, state s, int64_t begin, int64_t end) {
  state part_of = {rows(n->ctx, s.h, begin, end), NULL};
  if (s.c) part_of.c = rows(n->ctx, s.c, begin, end);
  return part_of;
}

static ig_tensor *joined(ig_ctx *c, ig_tensor *a, ig_tensor *b) {
  ig_value both[] = {ig_of_tensor(a), ig_of_tensor(b)};
  return a && b ? ig_cat_with(c, ig_of_list(both, 2), ig_const(0)) : NULL;
}

// Rows of one step of the input product.
static ig_tensor *input_at(const network *n, ig_tensor *gates, int64_t t, int64_t offset) {
  if (!n->batch_sizes) return ig_select_int(n->ctx, gates, ig_const(0), ig_const(t));
  return rows(n->ctx, gates, offset, offset + n->batch_sizes[t]);
}

static state joined_states(const network *n, state a, state b) {
  state s = {joined(n->ctx, a.h, b.h), NULL};
  if (a.c) s.c = joined(n->ctx, a.c, b.c);
  return s;
}

// Forwards through a packed sequence rows drop out: their last states are set aside.
static state drop_rows(const network *n, state s, int64_t keep, int64_t have, state *done) {
  if (keep == have) return s;
  state gone = rows_of(n, s, keep, have);
  *done = done->h ? joined_states(n, gone, *done) : gone;
  return rows_of(n, s, 0, keep);
}

// Backwards rows come in with their initial states.
static state add_rows(const network *n, state s, state initial, int64_t have, int64_t want) {
  if (have == want) return s;
  return joined_states(n, s, rows_of(n, initial, have, want));
}

// One layer in one direction; `out` gets the outputs of all steps in order of time.
static state run_cell(const network *n, ig_tensor *x, state initial, const weights *w, bool reverse,
                      ig_tensor **out) {
  ig_ctx *c = n->ctx;
  ig_tensor *gates = ig_linear_with(c, x, w->ih, w->b_ih);
  ig_value *outs = ig_scope_array(c, (size_t)n->steps, sizeof *outs);
  state done = {NULL, NULL};
  state s = initial;
  int64_t offset = 0;
  int64_t have = n->batch_sizes ? n->batch_sizes[reverse ? n->steps - 1 : 0] : 0;
  if (!outs) return s;
  if (n->batch_sizes && reverse) {
    for (int64_t t = 0; t < n->steps; t++) offset += n->batch_sizes[t];
    s = rows_of(n, initial, 0, have);
  }
  for (int64_t k = 0; k < n->steps && c->status == IG_OK; k++) {
    int64_t t = reverse ? n->steps - 1 - k : k;
    if (n->batch_sizes) {
      int64_t want = n->batch_sizes[t];
      s = reverse ? add_rows(n, s, initial, have, want) : drop_rows(n, s, want, have, &done);
      have = want;
      if (reverse) offset -= want;
    }
    s = step(n, input_at(n, gates, t, offset), s, w);
    outs[t] = ig_of_tensor(s.h);
    if (n->batch_sizes && !reverse) offset += have;
  }
  if (c->status != IG_OK) return s;
  ig_value list = ig_of_list(outs, (size_t)n->steps);
  *out = n->batch_sizes ? ig_cat_with(c, list, ig_const(0)) : ig_stack_with(c, list, ig_const(0));
  return done.h ? joined_states(n, s, done) : s;
}

static state initial_of(const network *n, ig_tensor *h, ig_tensor *cell, size_t at) {
  ig_int i = ig_const((int64_t)at);
  state s = {ig_select_int(n->ctx, h, ig_const(0), i), NULL};
  if (cell) s.c = ig_select_int(n->ctx, cell, ig_const(0), i);
  return s;
}

static void run_network(const network *n, ig_tensor *x, ig_tensor *h, ig_tensor *cell,
                        ig_value *outs) {
  ig_ctx *c = n->ctx;
  size_t directions = n->bidirectional ? 2 : 1;
  size_t cells = (size_t)n->layers * directions;
  ig_value *hs = ig_scope_array(c, ig_mem_mul(2, cells), sizeof *hs);
  for (size_t layer = 0; hs && layer < (size_t)n->layers && c->status == IG_OK; layer++) {
    ig_tensor *out[2] = {NULL, NULL};
    for (size_t d = 0; d < directions; d++) {
      size_t at = layer * directions + d;
      weights w = weights_of(n, at);
      state s = run_cell(n, x, initial_of(n, h, cell, at), &w, d == 1, &out[d]);
      hs[at] = ig_of_tensor(s.h);
      hs[cells + at] = ig_of_tensor(s.c);
    }
    x = out[0];
    if (directions == 2 && c->status == IG_OK) {
      ig_value both[] = {ig_of_tensor(out[0]), ig_of_tensor(out[1])};
      x = ig_cat_with(c, ig_of_list(both, 2), ig_const(-1));
    }
    bool last = layer + 1 == (size_t)n->layers;
    if (n->dropout > 0 && n->train && !last) x = ig_dropout(c, x, n->dropout, true);
  }
  if (!hs || c->status != IG_OK) return;
  outs[0] = ig_of_tensor(x);
  outs[1] = ig_of_tensor(ig_stack_with(c, ig_of_list(hs, cells), ig_const(0)));
  if (cell) outs[2] = ig_of_tensor(ig_stack_with(c, ig_of_list(hs + cells, cells), ig_const(0)));
}

static bool check_params(const network *n) {
  // No network has more layers than parameters, and then the product below fits.
  if (n->layers < 0 || (uint64_t)n->layers > n->params->list.n) {
    ig_fail_text(n->ctx, IG_RUNTIME, "rnn: found %zu parameters, which do not fit %lld layers",
                 n->params->list.n, (long long)n->layers);
    return false;
  }
  size_t want = (size_t)n->layers * (n->bidirectional ? 2 : 1) * per_cell(n);
  if (n->params->list.n == want) return true;
  ig_fail_text(n->ctx, IG_RUNTIME, "rnn: found %zu parameters, expected %zu", n->params->list.n,
               want);
  return false;
}

static bool check_ranks(ig_ctx *c, const ig_tensor *x, int rank, const ig_tensor *h,
                        const ig_tensor *cell) {
  if (x->ndim == rank && h->ndim == 3 && (!cell || cell->ndim == 3)) return true;
  ig_fail_text(c, IG_RUNTIME,
               "rnn: expected a %d-D input and 3-D hidden states, found %d-D and %d-D", rank,
               x->ndim, cell && h->ndim == 3 ? cell->ndim : h->ndim);
  return false;
}

// How many rows each step of a packed sequence has: positive numbers that do not grow.
static const int64_t *read_batch_sizes(ig_ctx *c, const ig_tensor *t, int64_t *steps) {
  if (ig_is_fake(t)) {
    ig_fail_text(c, IG_UNSUPPORTED,
                 "the batch sizes of a packed sequence are data-dependent, but their values are "
                 "needed here");
    return NULL;
  }
  if (t->ndim != 1 || t->dtype != IG_I64 || ig_tensor_numel(t) == 0) {
    ig_fail_text(c, IG_RUNTIME, "batch_sizes: expected a 1-D int64 tensor that is not empty");
    return NULL;
  }
  *steps = ig_tensor_numel(t);
  int64_t *sizes = ig_scope_array(c, (size_t)*steps, sizeof *sizes);
  if (!sizes) return NULL;
  ig_tensor_read(t, IG_I64, sizes);
  for (int64_t i = 0; i < *steps; i++) {
    if (sizes[i] >= 1 && sizes[i] <= INT32_MAX && (i == 0 || sizes[i] <= sizes[i - 1])) continue;
    ig_fail_text(c, IG_RUNTIME, "batch_sizes: expected positive numbers that do not grow");
    return NULL;
  }
  return sizes;
}

// There is a state for every cell, and the weights of every cell fit it.
static bool check_cells(const network *n, const ig_tensor *h, const ig_tensor *cell) {
  ig_ctx *c = n->ctx;
  static const int gates[] = {[LSTM] = 4, [GRU] = 3, [TANH] = 1, [RELU] = 1};
  int64_t cells = n->layers * (n->bidirectional ? 2 : 1);
  if (ig_int_is(c, ig_sizes(h)[0], IG_LT, ig_const(cells))) {
    ig_fail_text(c, IG_RUNTIME,
                 "Expected more hidden states in stacked_rnn: found %s, expected %lld",
                 ig_int_text(c, ig_sizes(h)[0]), (long long)cells);
    return false;
  }
  ig_int hidden = ig_sizes(cell ? cell : h)[2];
  ig_int rows = ig_int_mul(c, hidden, ig_const(gates[n->kind]));
  for (size_t i = 0; i < (size_t)cells && c->status == IG_OK; i++) {
    weights w = weights_of(n, i);
    bool fits = w.ih->ndim == 2 && w.hh->ndim == 2 && ig_int_eq(c, ig_sizes(w.ih)[0], rows) &&
                ig_int_eq(c, ig_sizes(w.hh)[0], rows);
    if (fits || c->status != IG_OK) continue;
    ig_fail_text(c, IG_RUNTIME,
                 "rnn: the weights of cell %zu do not fit a hidden state of %s: expected %s rows",
                 i, ig_int_text(c, hidden), ig_int_text(c, rows));
  }
  return c->status == IG_OK;
}

static bool is_projected(const ig_tensor *h, const ig_tensor *cell) {
  return cell && h->ndim && cell->ndim &&
         ig_sizes(h)[h->ndim - 1].value !=
             ig_sizes(cell)[cell->ndim - 1].value;  // concrete: widths
}

// Is this the shape inference of a call that is not decomposed? Then one step tells of all, and
// their number may be dynamic.
static bool only_sizes_matter(const ig_ctx *c, ig_int steps) {
  bool several = steps.expr || steps.value > 1;
  return several && c->mode->fake && !c->mode->capture && c->mode->no_grad;
}

// The results of any number of steps have the sizes that one step gives, but for the time.
static void infer_network(network *n, ig_tensor *x, ig_tensor *h, ig_tensor *cell, ig_value *outs) {
  ig_ctx *c = n->ctx;
  ig_int steps = ig_sizes(x)[0];
  n->steps = 1;
  x = ig_slice_tensor_with(c, x, ig_const(0), ig_of_i64(0), ig_of_i64(1), ig_const(1));
  run_network(n, x, h, cell, outs);
  if (c->status != IG_OK) return;
  ig_tensor *one = outs[0].tensor;
  ig_int sizes[] = {steps, ig_sizes(one)[1], ig_sizes(one)[2]};
  ig_value size = ig_of_ints(sizes, 3);
  outs[0] = ig_of_tensor(ig_new_empty(c, one, size));
}

// input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first
static void run_input(ig_ctx *c, const ig_value *args, cell_kind kind, ig_tensor *h,
                      ig_tensor *cell, ig_value *outs) {
  network n = {.ctx = c,
               .kind = kind,
               .params = &args[2],
               .has_biases = args[3].b,
               .layers = ig_value_i64(c, &args[4]),
               .dropout = args[5].f,
               .train = args[6].b,
               .bidirectional = args[7].b,
               .projected = is_projected(h, cell)};
  ig_tensor *x = args[0].tensor;
  if (!check_ranks(c, x, 3, h, cell) || !check_params(&n) || !check_cells(&n, h, cell)) return;
  if (args[8].b) x = ig_transpose_int(c, x, ig_const(0), ig_const(1));
  if (x && only_sizes_matter(c, ig_sizes(x)[0])) {
    infer_network(&n, x, h, cell, outs);
  } else {
    n.steps = x ? ig_int_specialize(c, ig_sizes(x)[0]) : 0;
    if (c->status == IG_OK && n.steps == 0) {
      ig_fail_text(c, IG_RUNTIME, "Expected sequence length to be larger than 0 in RNN");
    }
    run_network(&n, x, h, cell, outs);
  }
  if (args[8].b && c->status == IG_OK) {
    outs[0] = ig_of_tensor(ig_transpose_int(c, outs[0].tensor, ig_const(0), ig_const(1)));
  }
}

// data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional
static void run_data(ig_ctx *c, const ig_value *args, cell_kind kind, ig_tensor *h, ig_tensor *cell,
                     ig_value *outs) {
  network n = {.ctx = c,
               .kind = kind,
               .params = &args[3],
               .has_biases = args[4].b,
               .layers = ig_value_i64(c, &args[5]),
               .dropout = args[6].f,
               .train = args[7].b,
               .bidirectional = args[8].b,
               .projected = is_projected(h, cell)};
  const ig_tensor *sizes = args[1].tensor;
  if (sizes->ndim == 1 && ig_int_eq_i64(c, ig_sizes(sizes)[0], 0)) {
    ig_fail_text(c, IG_INVALID, "batch_sizes: expected at least one step, found none");
    return;
  }
  n.batch_sizes = read_batch_sizes(c, sizes, &n.steps);
  if (!n.batch_sizes || !check_ranks(c, args[0].tensor, 2, h, cell)) return;
  if (!check_params(&n) || !check_cells(&n, h, cell)) return;
  run_network(&n, args[0].tensor, h, cell, outs);
}

static bool lstm_states(ig_ctx *c, const ig_value *hx) {
  if (hx->list.n == 2) return true;
  ig_fail_text(c, IG_RUNTIME, "lstm expects two hidden states");
  return false;
}

static void lstm_input(ig_ctx *c, const ig_value *args, ig_value *outs) {
  if (!lstm_states(c, &args[1])) return;
  run_input(c, args, LSTM, args[1].list.at[0].tensor, args[1].list.at[1].tensor, outs);
}
static void lstm_data(ig_ctx *c, const ig_value *args, ig_value *outs) {
  if (!lstm_states(c, &args[2])) return;
  run_data(c, args, LSTM, args[2].list.at[0].tensor, args[2].list.at[1].tensor, outs);
}
static void gru_input(ig_ctx *c, const ig_value *args, ig_value *outs) {
  run_input(c, args, GRU, args[1].tensor, NULL, outs);
}
static void gru_data(ig_ctx *c, const ig_value *args, ig_value *outs) {
  run_data(c, args, GRU, args[2].tensor, NULL, outs);
}
static void tanh_input(ig_ctx *c, const ig_value *args, ig_value *outs) {
  run_input(c, args, TANH, args[1].tensor, NULL, outs);
}
static void tanh_data(ig_ctx *c, const ig_value *args, ig_value *outs) {
  run_data(c, args, TANH, args[2].tensor, NULL, outs);
}
static void relu_input(ig_ctx *c, const ig_value *args, ig_value *outs) {
  run_input(c, args, RELU, args[1].tensor, NULL, outs);
}
static void relu_data(ig_ctx *c, const ig_value *args, ig_value *outs) {
  run_data(c, args, RELU, args[2].tensor, NULL, outs);
}

// Packing -----------------------------------------------------------------------------------------

static const int64_t *read_lengths(ig_ctx *c, const ig_tensor *t, int64_t batch, int64_t time) {
  if (t->ndim != 1 || t->dtype != IG_I64 || ig_tensor_numel(t) != batch || batch == 0) {
    ig_fail_text(
        c, IG_RUNTIME,
        "Expected `len(lengths)` to be equal to batch_size, but got %lld (batch_size=%lld)",
        (long long)ig_tensor_numel(t), (long long)batch);
    return NULL;
  }
  int64_t *at = ig_scope_array(c, (size_t)batch, sizeof *at);
  if (!at) return NULL;
  ig_tensor_read(t, IG_I64, at);
  for (int64_t b = 0; b < batch && c->status == IG_OK; b++) {
    if (at[b] <= 0) {
      ig_fail_text(c, IG_RUNTIME,
                   "Length of all samples has to be greater than 0, but found an element in "
                   "'lengths' that is <= 0");
    } else if (b && at[b] > at[b - 1]) {
      ig_fail_text(c, IG_RUNTIME,
                   "`lengths` array must be sorted in decreasing order when `enforce_sorted` is "
                   "True. You can pass `enforce_sorted=False` to pack_padded_sequence and/or "
                   "pack_sequence to sidestep this requirement if you do not need ONNX "
                   "exportability.");
    } else if (at[b] > time) {
      ig_fail_text(c, IG_RUNTIME, "lengths: found %lld, expected at most %lld", (long long)at[b],
                   (long long)time);
    }
  }
  return c->status == IG_OK ? at : NULL;
}

// input [time, batch, ..] and lengths that do not grow -> rows of all steps, rows per step.
static void pack_padded(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_tensor *x = args[0].tensor;
  const ig_tensor *lengths = args[1].tensor;
  if (ig_is_fake(lengths)) {
    ig_fail_text(
        c, IG_UNSUPPORTED,
        "the lengths of sequences are data-dependent, but their values are needed to pack");
    return;
  }
  if (x->ndim < 2) {
    ig_fail_text(c, IG_RUNTIME, "_pack_padded_sequence: expected at least 2 dimensions, found %d",
                 x->ndim);
    return;
  }
  for (int d = 0; d < x->ndim; d++) {
    if (!ig_int_eq_i64(c, ig_sizes(x)[d], 0)) continue;
    ig_fail_text(c, IG_RUNTIME, "Cannot pack empty tensors.");
    return;
  }
  if (args[2].b) x = ig_transpose_int(c, x, ig_const(0), ig_const(1));
  if (!x) return;
  int64_t batch = ig_int_specialize(c, ig_sizes(x)[1]);
  int64_t time = ig_int_specialize(c, ig_sizes(x)[0]);
  const int64_t *at = read_lengths(c, lengths, batch, time);
  if (!at) return;
  int64_t steps = at[0];
  ig_tensor *sizes = ig_tensor_empty(c, IG_I64, &steps, 1);
  ig_value *parts = ig_scope_array(c, (size_t)steps, sizeof *parts);
  if (!sizes || !parts) return;
  int64_t *counts = ig_tensor_data(sizes);
  for (int64_t t = 0; t < steps; t++) {
    int64_t n = 0;
    while (n < batch && at[n] > t) n++;
    counts[t] = n;
    ig_tensor *all = ig_select_int(c, x, ig_const(0), ig_const(t));
    parts[t] = ig_of_tensor(rows(c, all, 0, n));
  }
  if (c->status != IG_OK) return;
  outs[0] = ig_of_tensor(ig_cat_with(c, ig_of_list(parts, (size_t)steps), ig_const(0)));
  outs[1] = ig_of_tensor(sizes);
}

// Rows of each step out of packed data, filled up to the batch: [time, batch, ..].
typedef struct padding {
  const int64_t *counts;
  int64_t steps;
  int64_t time;
  ig_int batch;
  ig_value fill;
} padding;

static ig_tensor *pad_step(ig_ctx *c, const padding *p, ig_tensor *data, int64_t offset,
                           int64_t have) {
  ig_int sizes[IG_MAX_DIM];
  ig_tensor *mine = have ? rows(c, data, offset, offset + have) : NULL;
  ig_int missing = ig_int_sub(c, p->batch, ig_const(have));
  if (have && ig_int_eq_i64(c, missing, 0)) return mine;
  memcpy(sizes, ig_sizes(data), (size_t)data->ndim * sizeof *sizes);
  sizes[0] = missing;
  ig_tensor *rest =
      ig_full_with(c, ig_of_ints(sizes, (size_t)data->ndim), p->fill, ig_of_dtype(data->dtype),
                   ig_none(), ig_of_device(data->device), ig_none());
  return have ? joined(c, mine, rest) : rest;
}

static ig_tensor *pad_steps(ig_ctx *c, const padding *p, ig_tensor *data, bool batch_first) {
  ig_value *parts = ig_scope_array(c, (size_t)p->time, sizeof *parts);
  int64_t offset = 0;
  for (int64_t t = 0; parts && t < p->time && c->status == IG_OK; t++) {
    int64_t have = t < p->steps ? p->counts[t] : 0;
    parts[t] = ig_of_tensor(pad_step(c, p, data, offset, have));
    offset += have;
  }
  if (!parts || c->status != IG_OK) return NULL;
  ig_tensor *out = ig_stack_with(c, ig_of_list(parts, (size_t)p->time), ig_const(0));
  return batch_first ? ig_transpose_int(c, out, ig_const(0), ig_const(1)) : out;
}

// grad, input_size, batch_sizes, batch_first
static ig_tensor *pack_padded_backward(ig_ctx *c, const ig_value *args) {
  bool first = args[3].b;
  padding p = {.fill = ig_of_i64(0)};
  p.counts = read_batch_sizes(c, args[2].tensor, &p.steps);
  if (!p.counts) return NULL;
  if (args[1].ints.n < 2 || args[0].tensor->ndim < 1) {
    ig_fail_text(c, IG_RUNTIME, "_pack_padded_sequence_backward: input_size has %zu dimensions",
                 args[1].ints.n);
    return NULL;
  }
  p.batch = args[1].ints.at[first ? 0 : 1];
  p.time = ig_int_specialize(c, args[1].ints.at[first ? 1 : 0]);
  return pad_steps(c, &p, args[0].tensor, first);
}

// data, batch_sizes, batch_first, padding_value, total_length -> padded, lengths
static void pad_packed(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_tensor *data = args[0].tensor;
  padding p = {.fill = args[3]};
  p.counts = read_batch_sizes(c, args[1].tensor, &p.steps);
  if (!p.counts) return;
  int64_t total = ig_value_i64(c, &args[4]);
  int64_t batch = p.counts[0];
  if (total > 0 && total < p.steps) {
    ig_fail_text(c, IG_RUNTIME,
                 "Expected total_length to be at least the length of the longest sequence in "
                 "input, but got total_length=%lld and max sequence length being %lld",
                 (long long)total, (long long)p.steps);
    return;
  }
  if (data->ndim < 1) {
    ig_fail_text(c, IG_RUNTIME, "_pad_packed_sequence: expected data with at least 1 dimension");
    return;
  }
  p.time = total > 0 ? total : p.steps;
  p.batch = ig_const(batch);
  ig_tensor *lengths = ig_tensor_empty(c, IG_I64, &batch, 1);
  if (!lengths) return;
  int64_t *length = ig_tensor_data(lengths);
  for (int64_t t = 0; t < p.steps; t++) {
    for (int64_t b = 0; b < p.counts[t]; b++) length[b] = t + 1;
  }
  ig_tensor *out = pad_steps(c, &p, data, args[2].b);
  if (c->status != IG_OK) return;
  outs[0] = ig_of_tensor(out);
  outs[1] = ig_of_tensor(lengths);
}

#define SIMPLE(name)                                                                    \
  "f32[3,2,4], f32[1,2,5], (f32[" name ",4], f32[" name ",5], f32[" name "], f32[" name \
  "]), True, 1, 0.0, False, False, False"
#define BOTH(name)                                                                           \
  " | f32[2,3,4], f32[2,2,5], (f32[" name ",4], f32[" name ",5], f32[" name ",4], f32[" name \
  ",5]), "                                                                                   \
  "False, 1, 0.0, False, True, True"

// Far from the poles of the complex tanh.
#define SLOW_BOTH                                                                             \
  " | f32[2,3,4], f32[2,2,5]:u, (f32[5,4]:u, f32[5,5]:u, f32[5,4]:u, f32[5,5]:u), False, 1, " \
  "0.0, False, True, True"
#define PACKED(name)                                                                  \
  " | f32[6,4], i64{3,2,1}, f32[2,3,5], (f32[" name ",4], f32[" name ",5], f32[" name \
  ",4], f32[" name ",5]), False, 1, 0.0, False, True"

IG_OP(lstm_input) = {
    .schema =
        "aten::lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int "
        "num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> "
        "(Tensor, Tensor, Tensor)",
    .kernel = ig_rnn_compute,
    .fake = ig_rnn_infer,
    .prepare = ig_rnn_prepare,
    .run = ig_rnn_run,
    .pack = ig_rnn_pack,
    .packs = 1U << 2,
    .variant = IG_RNN_LSTM,
    .decompose_outs = lstm_input,
    .lower_outs = ig_lower_lstm,
    .samples =
        "f32[3,2,4], (f32[1,2,5], f32[1,2,5]), (f32[20,4], f32[20,5], f32[20], f32[20]), "
        "True, 1, 0.0, False, False, False | f32[2,3,4], (f32[2,2,5], f32[2,2,5]), "
        "(f32[20,4], f32[20,5], f32[20,4], f32[20,5]), False, 1, 0.0, False, True, True",
    .waive = "refusal: the class depends on the kernel that PyTorch takes",
};
IG_OP(lstm_data) = {
    .schema =
        "aten::lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, Tensor[] params, bool "
        "has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> "
        "(Tensor, Tensor, Tensor)",
    .decompose_outs = lstm_data,
    .samples =
        "f32[3,4], i64[3]:ones, (f32[1,1,5], f32[1,1,5]), (f32[20,4], f32[20,5], f32[20], "
        "f32[20]), True, 1, 0.0, False, False | f32[6,4], i64{3,2,1}, (f32[2,3,5], f32[2,3,5]), "
        "(f32[20,4], f32[20,5], f32[20,4], f32[20,5]), False, 1, 0.0, False, True",
    .waive =
        "fake: batch sizes depend on the data; symbolic: batch sizes depend on the data; size 5=1: "
        "PyTorch broadcasts a hidden state of 1",
};
IG_OP(gru_input) = {
    .schema =
        "aten::gru.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int "
        "num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> "
        "(Tensor, Tensor)",
    .kernel = ig_rnn_compute,
    .fake = ig_rnn_infer,
    .prepare = ig_rnn_prepare,
    .run = ig_rnn_run,
    .pack = ig_rnn_pack,
    .packs = 1U << 2,
    .variant = IG_RNN_GRU,
    .decompose_outs = gru_input,
    .lower_outs = ig_lower_gru,
    .samples = SIMPLE("15") BOTH("15"),
};
IG_OP(gru_data) = {
    .schema =
        "aten::gru.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool "
        "has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> "
        "(Tensor, Tensor)",
    .decompose_outs = gru_data,
    .samples =
        "f32[3,4], i64[3]:ones, f32[1,1,5], (f32[15,4], f32[15,5], f32[15], f32[15]), True, 1, "
        "0.0, False, False" PACKED("15"),
    .waive = "fake: batch sizes depend on the data; symbolic: batch sizes depend on the data",
};
IG_OP(rnn_tanh_input) = {
    .schema =
        "aten::rnn_tanh.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int "
        "num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> "
        "(Tensor, Tensor)",
    .kernel = ig_rnn_compute,
    .fake = ig_rnn_infer,
    .prepare = ig_rnn_prepare,
    .run = ig_rnn_run,
    .pack = ig_rnn_pack,
    .packs = 1U << 2,
    .variant = IG_RNN_TANH,
    .decompose_outs = tanh_input,
    .lower_outs = ig_lower_rnn_tanh,
    .samples = SIMPLE("5") SLOW_BOTH,
};
IG_OP(rnn_tanh_data) = {
    .schema =
        "aten::rnn_tanh.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, "
        "bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> "
        "(Tensor, Tensor)",
    .decompose_outs = tanh_data,
    .samples =
        "f32[3,4], i64[3]:ones, f32[1,1,5], (f32[5,4], f32[5,5], f32[5], f32[5]), True, 1, "
        "0.0, False, False" PACKED("5"),
    .waive = "fake: batch sizes depend on the data; symbolic: batch sizes depend on the data",
};
IG_OP(rnn_relu_input) = {
    .schema =
        "aten::rnn_relu.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int "
        "num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> "
        "(Tensor, Tensor)",
    .kernel = ig_rnn_compute,
    .fake = ig_rnn_infer,
    .prepare = ig_rnn_prepare,
    .run = ig_rnn_run,
    .pack = ig_rnn_pack,
    .packs = 1U << 2,
    .variant = IG_RNN_RELU,
    .decompose_outs = relu_input,
    .lower_outs = ig_lower_rnn_relu,
    .samples = SIMPLE("5") BOTH("5"),
};
IG_OP(rnn_relu_data) = {
    .schema =
        "aten::rnn_relu.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, "
        "bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> "
        "(Tensor, Tensor)",
    .decompose_outs = relu_data,
    .samples =
        "f32[3,4], i64[3]:ones, f32[1,1,5], (f32[5,4], f32[5,5], f32[5], f32[5]), True, 1, "
        "0.0, False, False" PACKED("5"),
    .waive = "fake: batch sizes depend on the data; symbolic: batch sizes depend on the data",
};
IG_OP(_pack_padded_sequence) = {
    .schema =
        "aten::_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> "
        "(Tensor, Tensor)",
    .decompose_outs = pack_padded,
    .samples =
        "f32[3,2,4], i64[2]:ones, False | f32[3,1,2], i64[1]:ones, False | f32[2,3,4], i64{3,1}, "
        "True "
        "| f32[4,3], i64{4,2,2}, False",
    .waive = "fake: lengths depend on the data; symbolic: lengths depend on the data",
};
IG_OP(_pack_padded_sequence_backward) = {
    .schema =
        "aten::_pack_padded_sequence_backward(Tensor grad, SymInt[] input_size, Tensor "
        "batch_sizes, bool batch_first) -> Tensor",
    .decompose = pack_padded_backward,
    .samples = "f32[2,4], [3,1,4], i64[2]:ones, False | f32[4,2], [2,3,2], i64{2,1,1}, True",
    .waive =
        "fake: batch sizes depend on the data; symbolic: batch sizes depend on the data; size 2=0: "
        "input_size tells them; size 4=0: input_size tells them; size 4=1: input_size tells them; "
        "size 2=1: input_size tells them",
};
IG_OP(_pad_packed_sequence) = {
    .schema =
        "aten::_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, "
        "Scalar padding_value, int total_length) -> (Tensor, Tensor)",
    .decompose_outs = pad_packed,
    .samples =
        "f32[3,4], i64[3]:ones, False, 0.0, 0 | f32[3,4], i64[3]:ones, True, 1.5, 5 | f32[6], "
        "i64{3,2,1}, False, 0.5, 0",
    .waive = "fake: batch sizes depend on the data; symbolic: batch sizes depend on the data",
};
