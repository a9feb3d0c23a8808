// SPDX-License-Identifier: Apache-2.0
// A layer in one direction is one product for the inputs of all steps, then a loop over time: one
// product for the hidden state, and the cell. Shapes in comments: T steps, B rows, F features,
// H hidden, D directions, W = gates * H.
#include "ops/nn/rnn_run.h"

#include <string.h>

#include "base/cpu.h"
#include "base/threads.h"
#include "kernels/gemm.h"
#include "kernels/lstm.h"
#include "op/call.h"
#include "op/formula.h"
#include "op/prepare.h"
#include "ops/operand.h"

typedef struct sizes {
  ig_rnn_kind kind;
  int64_t steps;
  int64_t batch;
  int64_t features;
  int64_t hidden;
  int64_t width;  // of all gates
  int64_t layers;
  int64_t directions;
  bool biases;
  bool batch_first;
} sizes;

typedef struct rnn_state {
  sizes z;
  ig_operand x;
  ig_operand h0;
  ig_operand c0;
  ig_operand out;
  ig_operand hn;
  ig_operand cn;
  // Offsets of pieces.
  size_t gates;     // [T, B, W]: products of the inputs
  size_t sum;       // [B, W]
  size_t h;         // [B, H]
  size_t c;         // [B, H]
  size_t layer[2];  // [T, B, D * H]: outputs of the layers before the last, in turn
  size_t matrix;    // a weight that is not dense
  size_t vector;    // a bias that is not dense
} rnn_state;

// ---- what fits ----

// Order of the dimensions of inputs and outputs in memory: time, batch, features.
static uint64_t order_of(const sizes *z) {
  return z->batch_first ? 5 : IG_ROW_MAJOR;  // dimensions 0 and 2 innermost
}

static bool has_sizes(const ig_value *v, int ndim, const int64_t *want) {
  const ig_tensor *t = v->kind == IG_KIND_TENSOR ? v->tensor : NULL;
  bool same = t && t->dtype == IG_F32 && t->ndim == ndim;
  for (int d = 0; same && d < ndim; d++) {
    ig_int size = ig_sizes(t)[d];
    same = !size.expr && size.value == want[d];  // concrete: a kernel is planned for given sizes
  }
  return same;
}

static size_t per_cell(const sizes *z) {
  return z->biases ? 4 : 2;
}

static int64_t width_of_input(const sizes *z, int64_t layer) {
  return layer ? z->directions * z->hidden : z->features;
}

static bool weights_fit(const sizes *z, const ig_value *params) {
  size_t cells = (size_t)(z->layers * z->directions);
  if (params->list.n != cells * per_cell(z)) return false;
  for (size_t i = 0; i < cells; i++) {
    const ig_value *p = params->list.at + i * per_cell(z);
    int64_t in = width_of_input(z, (int64_t)i / z->directions);
    bool fit = has_sizes(&p[0], 2, (int64_t[]){z->width, in}) &&
               has_sizes(&p[1], 2, (int64_t[]){z->width, z->hidden});
    if (fit && z->biases) {
      fit = has_sizes(&p[2], 1, &z->width) && has_sizes(&p[3], 1, &z->width);
    }
    if (!fit) return false;
  }
  return true;
}

static const ig_value *hidden_of(ig_rnn_kind kind, const ig_value *hx) {
  return kind == IG_RNN_LSTM ? &hx->list.at[0] : hx;
}

// input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first
static bool fits(const ig_op *op, const ig_value *args, sizes *z) {
  static const int gates[] = {
      [IG_RNN_LSTM] = 4, [IG_RNN_GRU] = 3, [IG_RNN_TANH] = 1, [IG_RNN_RELU] = 1};
  enum { MOST = 1 << 28 };  // of a size: sums and products of a few of them fit 64 bits
  *z =
      (sizes){.kind = (ig_rnn_kind)op->def->variant, .biases = args[3].b, .batch_first = args[8].b};
  bool lstm = z->kind == IG_RNN_LSTM;
  if (args[4].i.expr || (lstm && args[1].list.n != 2)) return false;
  const ig_tensor *x = args[0].tensor;
  const ig_value *h = hidden_of(z->kind, &args[1]);
  z->layers = args[4].i.value;
  z->directions = args[7].b ? 2 : 1;
  bool drops = args[5].f > 0 && args[6].b && z->layers > 1;
  if (drops || z->layers < 1 || (uint64_t)z->layers > args[2].list.n) return false;
  if (x->ndim != 3 || h->kind != IG_KIND_TENSOR || h->tensor->ndim != 3) return false;
  z->steps = ig_sizes(x)[z->batch_first ? 1 : 0].value;  // concrete: compared below
  z->batch = ig_sizes(x)[z->batch_first ? 0 : 1].value;  // concrete: compared below
  z->features = ig_sizes(x)[2].value;                    // concrete: compared below
  z->hidden = ig_sizes(h->tensor)[2].value;              // concrete: compared below
  z->width = gates[z->kind] * z->hidden;
  const int64_t all[] = {z->steps, z->batch, z->features, z->hidden};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (all[i] < 1 || all[i] > MOST) return false;
  }
  const int64_t dense[] = {z->steps, z->batch, z->features};
  const int64_t first[] = {z->batch, z->steps, z->features};
  const int64_t states[] = {z->layers * z->directions, z->batch, z->hidden};
  return has_sizes(&args[0], 3, z->batch_first ? first : dense) && has_sizes(h, 3, states) &&
         (!lstm || has_sizes(&args[1].list.at[1], 3, states)) && weights_fit(z, &args[2]);
}

// ---- preparing ----

// Weights that are larger than the L2 cache are read forwards and backwards alternately, in chunks:
// what was read last is still cached.
static int64_t chunks_of(const sizes *z) {
  enum { CHUNKS = 8 };
  size_t bytes = ig_mem_mul((size_t)(z->width * z->hidden), sizeof(float));
  bool turns = z->batch == 1 && ig_threads_get() == 1 && bytes > ig_cpu_l2() / 4 * 3;
  return turns ? CHUNKS : 1;
}

// y [m, n] += x [m, k] by w [n, k]
static void need_product(int64_t m, int64_t n, int64_t k, int64_t y_stride, ig_need *need) {
  ig_gemm_plan plan;
  if (n > 0) {
    ig_gemm_prepare_f32(1, m, n, k, 1, 0, k, 1, 0, 1, k, 1, 0, y_stride, &plan, need);
  }
}

static void need_products(const sizes *z, ig_need *need) {
  int64_t rows = z->steps * z->batch;
  need_product(rows, z->width, z->features, z->width, need);
  if (z->layers > 1) need_product(rows, z->width, width_of_input(z, 1), z->width, need);
  int64_t part = z->width / chunks_of(z);
  need_product(z->batch, part, z->hidden, z->width, need);
  need_product(z->batch, part + 1, z->hidden, z->width, need);
}

// Room for a copy of the largest weight and of a bias, if one of them is not dense.
static void need_weights(const ig_value *params, ig_need *need, rnn_state *s) {
  size_t most[] = {0, 0};
  for (size_t i = 0; i < params->list.n; i++) {
    const ig_tensor *t = params->list.at[i].tensor;
    ig_need alone = ig_need_make(false);
    bool copied = ig_operand_plan(&alone, t, IG_F32, IG_ROW_MAJOR).copied;
    size_t n = (size_t)ig_tensor_numel(t);
    size_t *at = &most[t->ndim == 1];
    if (copied && n > *at) *at = n;
  }
  s->matrix = ig_need_take(need, most[0], sizeof(float));
  s->vector = ig_need_take(need, most[1], sizeof(float));
}

static size_t product(int64_t a, int64_t b, int64_t c) {
  return ig_mem_mul(ig_mem_mul((size_t)a, (size_t)b), (size_t)c);
}

void ig_rnn_prepare(ig_ctx *c, const ig_op *op, const ig_value *args, const ig_value *outs,
                    ig_prep *p) {
  IG_STATE(rnn_state, s, p);
  *s = (rnn_state){.gates = 0};
  if (!fits(op, args, &s->z)) {
    (void)ig_fail(c, IG_UNSUPPORTED, "only dense float32 sequences of fixed sizes can be planned");
    return;
  }
  const sizes *z = &s->z;
  ig_need *need = &p->need;
  bool lstm = z->kind == IG_RNN_LSTM;
  s->x = ig_operand_plan(need, args[0].tensor, IG_F32, order_of(z));
  s->h0 = ig_operand_plan(need, hidden_of(z->kind, &args[1])->tensor, IG_F32, IG_ROW_MAJOR);
  s->out = ig_operand_plan(need, outs[0].tensor, IG_F32, order_of(z));
  s->hn = ig_operand_plan(need, outs[1].tensor, IG_F32, IG_ROW_MAJOR);
  if (lstm) {
    s->c0 = ig_operand_plan(need, args[1].list.at[1].tensor, IG_F32, IG_ROW_MAJOR);
    s->cn = ig_operand_plan(need, outs[2].tensor, IG_F32, IG_ROW_MAJOR);
  }
  s->gates = ig_need_take(need, product(z->steps, z->batch, z->width), sizeof(float));
  s->sum = ig_need_take(need, product(z->batch, z->width, 1), sizeof(float));
  s->h = ig_need_take(need, product(z->batch, z->hidden, 1), sizeof(float));
  s->c = ig_need_take(need, lstm ? product(z->batch, z->hidden, 1) : 0, sizeof(float));
  for (int64_t i = 0; i < 2; i++) {
    size_t n = z->layers > i + 1 ? product(z->steps, z->batch, z->directions * z->hidden) : 0;
    s->layer[i] = ig_need_take(need, n, sizeof(float));
  }
  need_weights(&args[2], need, s);
  need_products(z, need);
}

// ---- running ----

static const float *weight(const ig_exec *x, const ig_value *v, size_t at) {
  ig_need alone = ig_need_make(false);
  ig_operand o = ig_operand_plan(&alone, v->tensor, IG_F32, IG_ROW_MAJOR);
  o.at = at;
  return ig_operand_read(x, &o, v->tensor);
}

// rows of y [rows, width] = bias, or 0
static void fill_rows(int64_t rows, int64_t width, const float *bias, float *y) {
  size_t bytes = ig_mem_mul((size_t)width, sizeof *y);
  for (int64_t r = 0; r < rows; r++, y += width) {
    if (bias) memcpy(y, bias, bytes);
    if (!bias) memset(y, 0, bytes);
  }
}

static void add_rows(int64_t n, const float *x, float *y) {
  for (int64_t i = 0; i < n; i++) y[i] += x[i];
}

// sum [B, W] += h [B, H] by hh [W, H], at step k.
static void add_hidden(const sizes *z, int64_t k, const float *h, const float *hh, float *sum) {
  int64_t chunks = chunks_of(z);
  for (int64_t p = 0; p < chunks; p++) {
    int64_t at = k % 2 ? chunks - 1 - p : p;
    int64_t from = z->width * at / chunks;
    int64_t count = z->width * (at + 1) / chunks - from;
    ig_gemm_f32(z->batch, count, z->hidden, 1, h, z->hidden, 1, hh + from * z->hidden, 1, z->hidden,
                1, sum + from, z->width);
  }
}

// One layer in one direction.
typedef struct cell {
  const float *in;  // [T, B, in]
  int64_t width;
  float *out;  // [T, B, D * H], from the first column of the direction on
  bool reverse;
  const ig_value *params;
  float *h;  // [B, H]: the initial state, then the last one
  float *c;
} cell;

static void step(const sizes *z, const float *gates, float *sum, const cell *l) {
  int64_t n = z->batch * z->width;
  if (z->kind != IG_RNN_GRU) add_rows(n, gates, sum);
  switch (z->kind) {
    case IG_RNN_LSTM:
      ig_lstm_cell_f32(z->batch, z->hidden, sum, l->c, l->h);
      break;
    case IG_RNN_GRU:
      ig_gru_cell_f32(z->batch, z->hidden, gates, sum, l->h);
      break;
    default:
      ig_rnn_cell_f32(n, z->kind == IG_RNN_RELU, sum, l->h);
  }
}

static void run_cell(const ig_exec *x, const rnn_state *s, const cell *l) {
  const sizes *z = &s->z;
  float *gates = (float *)(void *)(x->memory + s->gates);
  float *sum = (float *)(void *)(x->memory + s->sum);
  int64_t rows = z->steps * z->batch;
  const float *ih = weight(x, &l->params[0], s->matrix);
  const float *b_ih = z->biases ? weight(x, &l->params[2], s->vector) : NULL;
  fill_rows(rows, z->width, b_ih, gates);
  ig_gemm_f32(rows, z->width, l->width, 1, l->in, l->width, 1, ih, 1, l->width, 1, gates, z->width);
  const float *hh = weight(x, &l->params[1], s->matrix);
  const float *b_hh = z->biases ? weight(x, &l->params[3], s->vector) : NULL;
  size_t bytes = ig_mem_mul((size_t)z->hidden, sizeof *sum);
  for (int64_t k = 0; k < z->steps; k++) {
    int64_t t = l->reverse ? z->steps - 1 - k : k;
    fill_rows(z->batch, z->width, b_hh, sum);
    add_hidden(z, k, l->h, hh, sum);
    step(z, gates + t * z->batch * z->width, sum, l);
    float *to = l->out + t * z->batch * z->directions * z->hidden;
    for (int64_t b = 0; b < z->batch; b++) {
      memcpy(to + b * z->directions * z->hidden, l->h + b * z->hidden, bytes);
    }
  }
}

// The memory of a result, or of the copy that is put there in the end.
static float *place(const ig_exec *x, const ig_operand *o, const ig_value *v) {
  return o->copied ? (float *)(void *)(x->memory + o->at) : ig_tensor_data(v->tensor);
}

void ig_rnn_run(const ig_exec *x) {
  const rnn_state *s = x->state;
  const sizes *z = &s->z;
  bool lstm = z->kind == IG_RNN_LSTM;
  const ig_value *hx = &x->args[1];
  const float *in = ig_operand_read(x, &s->x, x->args[0].tensor);
  const float *h0 = ig_operand_read(x, &s->h0, hidden_of(z->kind, hx)->tensor);
  const float *c0 = lstm ? ig_operand_read(x, &s->c0, hx->list.at[1].tensor) : NULL;
  float *hn = place(x, &s->hn, &x->outs[1]);
  float *cn = lstm ? place(x, &s->cn, &x->outs[2]) : NULL;
  float *h = (float *)(void *)(x->memory + s->h);
  float *c = (float *)(void *)(x->memory + s->c);
  int64_t n = z->batch * z->hidden;
  size_t bytes = ig_mem_mul((size_t)n, sizeof *h);
  for (int64_t layer = 0; layer < z->layers; layer++) {
    bool last = layer + 1 == z->layers;
    float *out =
        last ? place(x, &s->out, &x->outs[0]) : (float *)(void *)(x->memory + s->layer[layer % 2]);
    for (int64_t d = 0; d < z->directions; d++) {
      int64_t at = layer * z->directions + d;
      memcpy(h, h0 + at * n, bytes);
      if (lstm) memcpy(c, c0 + at * n, bytes);
      cell l = {.in = in,
                .width = width_of_input(z, layer),
                .out = out + d * z->hidden,
                .reverse = d == 1,
                .params = x->args[2].list.at + (size_t)at * per_cell(z),
                .h = h,
                .c = c};
      run_cell(x, s, &l);
      memcpy(hn + at * n, h, bytes);
      if (lstm) memcpy(cn + at * n, c, bytes);
    }
    in = out;
  }
  ig_operand_write(x, &s->out, x->outs[0].tensor);
  ig_operand_write(x, &s->hn, x->outs[1].tensor);
  if (lstm) ig_operand_write(x, &s->cn, x->outs[2].tensor);
}

// ---- eager calls ----

void ig_rnn_infer(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  ig_scope s = ig_scope_open(c);
  ig_op_decompose(c, op, args, outs);
  ig_return_values(c, s, outs, op->schema.nrets);
}

static bool make_results(ig_ctx *c, const sizes *z, ig_value *outs) {
  int64_t out[] = {z->steps, z->batch, z->directions * z->hidden};
  int64_t states[] = {z->layers * z->directions, z->batch, z->hidden};
  ig_tensor *y = ig_tensor_empty(c, IG_F32, out, 3);
  ig_tensor *h = ig_tensor_empty(c, IG_F32, states, 3);
  ig_tensor *cell_state = z->kind == IG_RNN_LSTM ? ig_tensor_empty(c, IG_F32, states, 3) : NULL;
  if (z->batch_first) y = ig_transpose_int(c, y, ig_const(0), ig_const(1));
  if (c->status != IG_OK) return false;
  outs[0] = ig_of_tensor(y);
  outs[1] = ig_of_tensor(h);
  if (cell_state) outs[2] = ig_of_tensor(cell_state);
  return true;
}

void ig_rnn_compute(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  sizes z;
  if (!fits(op, args, &z)) {
    ig_rnn_infer(c, op, args, outs);
  } else if (make_results(c, &z, outs)) {
    ig_prepare_and_run(c, op, args, outs);
  }
}
