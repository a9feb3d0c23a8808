// SPDX-License-Identifier: Apache-2.0
// A layer in one direction is one product for the inputs of all steps, then a loop over time: one
// product for the hidden state, and the cell. Both directions of a layer may run side by side; so
// may layers in one direction, one some steps behind the other. Shapes in comments: T steps, B
// rows, F features, H hidden, D directions, W = gates * H.
#include "ops/nn/rnn_run.h"

#include "base/cpu.h"
#include "base/threads.h"
#include "kernels/gemm.h"
#include "kernels/lstm.h"
#include "op/call.h"
#include "op/formula.h"
#include "op/prepare.h"
#include "ops/nn/rnn_matrix.h"
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
  bool packed;      // the weights are
  bool kept;        // for all runs (ig_exec.packed)
  int64_t chunk;    // steps that a cell takes at a time
  int64_t running;  // cells that may run side by side: each has a part of every piece that follows
  // Offsets of pieces.
  size_t gates;     // [chunk, B, W]: sums of the inputs, the biases, and then of the hidden state
  size_t sum;       // [B, W]: GRU, sums of the hidden state
  size_t bias;      // [2, W]: of gates, of sum
  size_t h;         // [B, H]
  size_t c;         // [B, H]
  size_t weights;   // both matrices, packed
  size_t layer[2];  // [T, B, D * H]: outputs of the layers before the last, in turn
  size_t matrix;    // a weight that is not dense, where none is packed
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

// Weights that many steps use are packed first. Where a single row waits for memory, it does so for
// packed weights as well.
static bool should_pack(const sizes *z) {
  enum { STEPS = 16 };
  size_t bytes = ig_mem_mul(ig_mem_mul((size_t)z->width, (size_t)z->hidden), sizeof(float));
  return z->steps >= STEPS && (z->batch > 1 || bytes / 5 <= ig_cpu_l2() / 4);
}

// Layers in one direction need no more of the layer before than the steps so far: each takes a
// chunk of steps when that layer has done so, while it takes the next one.
static int64_t chunk_of(const sizes *z) {
  enum { PRODUCTS = 2 << 20, CHUNKS = 16 };  // that are worth a task; at most so many tasks
  if (ig_threads_get() == 1 || z->directions > 1 || z->layers == 1) return z->steps;
  double each = (double)z->batch * (double)z->width * (double)z->hidden;  // of a step
  double least = (double)PRODUCTS / each + 1;
  int64_t even = (z->steps + CHUNKS - 1) / CHUNKS;
  if (least >= (double)z->steps) return z->steps;
  return (int64_t)least > even ? (int64_t)least : even;
}

static int64_t running_of(const rnn_state *s) {
  if (!s->packed || ig_threads_get() == 1) return 1;
  return s->chunk < s->z.steps ? s->z.layers : s->z.directions;
}

// Unpacked weights that are larger than the L2 cache are read forwards and backwards alternately,
// in chunks: what was read last is still cached.
static int64_t chunks_of(const sizes *z) {
  enum { CHUNKS = 8 };
  size_t bytes = ig_mem_mul(ig_mem_mul((size_t)z->width, (size_t)z->hidden), sizeof(float));
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

// What products with unpacked weights need.
static void need_products(const sizes *z, ig_need *need) {
  int64_t rows = z->steps * z->batch;
  need_product(rows, z->width, z->features, z->width, need);
  if (z->layers > 1) need_product(rows, z->width, width_of_input(z, 1), z->width, need);
  int64_t part = z->width / chunks_of(z);
  need_product(z->batch, part, z->hidden, z->width, need);
  need_product(z->batch, part + 1, z->hidden, z->width, need);
}

// Floats of a copy of the largest weight that is not dense.
static size_t largest_copy(const ig_value *params) {
  size_t most = 0;
  for (size_t i = 0; i < params->list.n; i++) {
    const ig_tensor *t = params->list.at[i].tensor;
    ig_need alone = ig_need_make(false);
    bool copied = t->ndim == 2 && ig_operand_plan(&alone, t, IG_F32, IG_ROW_MAJOR).copied;
    size_t n = (size_t)ig_tensor_numel(t);
    if (copied && n > most) most = n;
  }
  return most;
}

// Floats of the parts of pieces, one for each cell that runs.
static size_t aligned(size_t n) {
  return ig_mem_add(n, 15) / 16 * 16;
}
static size_t product(int64_t a, int64_t b, int64_t c) {
  return ig_mem_mul(ig_mem_mul((size_t)a, (size_t)b), (size_t)c);
}
static size_t gates_floats(const rnn_state *s) {
  return aligned(product(s->chunk, s->z.batch, s->z.width));
}
static size_t sum_floats(const sizes *z) {
  return z->kind == IG_RNN_GRU ? aligned(product(z->batch, z->width, 1)) : 0;
}
static size_t state_floats(const sizes *z) {
  return aligned(product(z->batch, z->hidden, 1));
}
static size_t bias_floats(const sizes *z) {
  return aligned(product(2, z->width, 1));
}
// The hidden state's matrix follows that of the inputs.
static size_t input_floats(const sizes *z, int64_t layer) {
  return ig_rnn_matrix_floats(z->width, width_of_input(z, layer));
}
static size_t cell_floats(const sizes *z, int64_t layer) {
  return ig_mem_add(input_floats(z, layer), ig_rnn_matrix_floats(z->width, z->hidden));
}
static size_t weights_floats(const sizes *z) {
  size_t first = cell_floats(z, 0);
  size_t later = z->layers > 1 ? cell_floats(z, 1) : 0;
  return first > later ? first : later;
}
// Before those of cell `at`, if all lie behind each other.
static size_t floats_before(const sizes *z, int64_t at) {
  int64_t first = at < z->directions ? at : z->directions;
  size_t later = at > first ? ig_mem_mul((size_t)(at - first), cell_floats(z, 1)) : 0;
  return ig_mem_add(ig_mem_mul((size_t)first, cell_floats(z, 0)), later);
}

static void take_pieces(ig_need *need, rnn_state *s) {
  const sizes *z = &s->z;
  bool lstm = z->kind == IG_RNN_LSTM;
  size_t n = (size_t)s->running;
  s->gates = ig_need_take(need, ig_mem_mul(n, gates_floats(s)), sizeof(float));
  s->sum = ig_need_take(need, ig_mem_mul(n, sum_floats(z)), sizeof(float));
  s->bias = ig_need_take(need, ig_mem_mul(n, bias_floats(z)), sizeof(float));
  s->h = ig_need_take(need, ig_mem_mul(n, state_floats(z)), sizeof(float));
  s->c = ig_need_take(need, lstm ? ig_mem_mul(n, state_floats(z)) : 0, sizeof(float));
  size_t weights = s->packed && !s->kept ? ig_mem_mul(n, weights_floats(z)) : 0;
  s->weights = ig_need_take(need, weights, sizeof(float));
  for (int64_t i = 0; i < 2; i++) {
    size_t out = z->layers > i + 1 ? product(z->steps, z->batch, z->directions * z->hidden) : 0;
    s->layer[i] = ig_need_take(need, out, sizeof(float));
  }
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
  s->x = ig_operand_plan(need, args[0].tensor, IG_F32, order_of(z));
  s->h0 = ig_operand_plan(need, hidden_of(z->kind, &args[1])->tensor, IG_F32, IG_ROW_MAJOR);
  s->out = ig_operand_plan(need, outs[0].tensor, IG_F32, order_of(z));
  s->hn = ig_operand_plan(need, outs[1].tensor, IG_F32, IG_ROW_MAJOR);
  if (z->kind == IG_RNN_LSTM) {
    s->c0 = ig_operand_plan(need, args[1].list.at[1].tensor, IG_F32, IG_ROW_MAJOR);
    s->cn = ig_operand_plan(need, outs[2].tensor, IG_F32, IG_ROW_MAJOR);
  }
  s->packed = should_pack(z);
  s->kept = s->packed && p->packs;
  size_t all = floats_before(z, z->layers * z->directions);
  p->packed_size = s->kept ? ig_mem_mul(all, sizeof(float)) : 0;
  s->chunk = s->packed ? chunk_of(z) : z->steps;
  s->running = running_of(s);
  take_pieces(need, s);
  if (s->packed) return;
  s->matrix = ig_need_take(need, largest_copy(&args[2]), sizeof(float));
  need_products(z, need);
}

// ---- running ----

// Everything that cells share.
typedef struct network {
  const ig_exec *x;
  const rnn_state *s;
  const float *in;  // [T, B, F]
  float *out;       // [T, B, D * H]
  const float *h0;  // [layers * D, B, H]; so are the others
  const float *c0;
  float *hn;
  float *cn;
  int64_t round;
  int64_t first;  // layer of the round
} network;

// One layer in one direction.
typedef struct cell {
  const sizes *z;
  const ig_value *params;
  const float *in;  // [T, B, width]
  int64_t width;
  float *out;  // [T, B, D * H], from the first column of the direction on
  bool reverse;
  float *gates;
  float *sum;
  float *bias;
  float *h;
  float *c;
  const float *input;   // the matrix of the inputs, packed; NULL: it is not
  const float *hidden;  // that of the state
  float *weights;       // where both are to be packed; NULL: they were, or none is
} cell;

static float *piece(const network *n, size_t at, size_t floats, int64_t i) {
  return (float *)(void *)(n->x->memory + at) + floats * (size_t)i;
}

static cell cell_of(const network *n, int64_t layer, int64_t direction) {
  const rnn_state *s = n->s;
  const sizes *z = &s->z;
  int64_t at = s->chunk < z->steps ? layer : direction % s->running;
  int64_t column = direction * z->hidden;
  cell l = {
      .z = z,
      .params = n->x->args[2].list.at + (size_t)(layer * z->directions + direction) * per_cell(z),
      .in = layer ? piece(n, s->layer[(layer - 1) % 2], 0, 0) : n->in,
      .width = width_of_input(z, layer),
      .out = layer + 1 == z->layers ? n->out : piece(n, s->layer[layer % 2], 0, 0),
      .reverse = direction == 1,
      .gates = piece(n, s->gates, gates_floats(s), at),
      .sum = piece(n, s->sum, sum_floats(z), at),
      .bias = piece(n, s->bias, bias_floats(z), at),
      .h = piece(n, s->h, state_floats(z), at),
      .c = piece(n, s->c, z->kind == IG_RNN_LSTM ? state_floats(z) : 0, at)};
  l.out += column;
  if (s->kept) {
    l.input = (const float *)n->x->packed + floats_before(z, layer * z->directions + direction);
  } else if (s->packed) {
    l.input = l.weights = piece(n, s->weights, weights_floats(z), at);
  }
  if (l.input) l.hidden = l.input + input_floats(z, layer);
  return l;
}

// y [i] = v [i], or 0; or that is added.
static void read_vector(const ig_value *v, bool add, int64_t n, float *y) {
  const float *data = v ? ig_tensor_data(v->tensor) : NULL;
  int64_t stride = v ? ig_strides(v->tensor)[0].value : 0;
  for (int64_t i = 0; i < n; i++) {
    float x = data ? data[i * stride] : 0;
    y[i] = add ? y[i] + x : x;
  }
}

static void read_biases(const cell *l) {
  const sizes *z = l->z;
  bool apart = z->kind == IG_RNN_GRU;
  read_vector(z->biases ? &l->params[2] : NULL, false, z->width, l->bias);
  if (apart || z->biases) {
    float *to = apart ? l->bias + z->width : l->bias;
    read_vector(z->biases ? &l->params[3] : NULL, !apart, z->width, to);
  }
}

static void pack_matrix(const ig_value *v, int64_t width, float *to) {
  const ig_int *strides = ig_strides(v->tensor);
  ig_rnn_matrix_pack(width, ig_sizes(v->tensor)[1].value, ig_tensor_data(v->tensor),
                     strides[0].value, strides[1].value, to);
}

static void copy(int64_t n, const float *from, float *to) {
  for (int64_t i = 0; i < n; i++) to[i] = from[i];
}

// Both matrices of a cell.
static void pack_cell(const sizes *z, int64_t layer, const ig_value *params, float *to) {
  pack_matrix(&params[0], z->width, to);
  pack_matrix(&params[1], z->width, to + input_floats(z, layer));
}

void ig_rnn_pack(const ig_exec *x, void *to) {
  const rnn_state *s = x->state;
  const sizes *z = &s->z;
  for (int64_t at = 0; at < z->layers * z->directions; at++) {
    const ig_value *params = x->args[2].list.at + (size_t)at * per_cell(z);
    pack_cell(z, at / z->directions, params, (float *)to + floats_before(z, at));
  }
}

static void start_cell(const network *n, const cell *l, int64_t at) {
  const sizes *z = l->z;
  int64_t count = z->batch * z->hidden;
  copy(count, n->h0 + at * count, l->h);
  if (n->c0) copy(count, n->c0 + at * count, l->c);
  read_biases(l);
  if (l->weights) pack_cell(z, at / z->directions, l->params, l->weights);
}

static void end_cell(const network *n, const cell *l, int64_t at) {
  int64_t count = l->z->batch * l->z->hidden;
  copy(count, l->h, n->hn + at * count);
  if (n->cn) copy(count, l->c, n->cn + at * count);
}

// rows of y [rows, width] = x
static void fill_rows(int64_t rows, int64_t width, const float *x, float *y) {
  for (int64_t r = 0; r < rows; r++) copy(width, x, y + r * width);
}

static const float *dense(const network *n, const ig_value *v) {
  ig_need alone = ig_need_make(false);
  ig_operand o = ig_operand_plan(&alone, v->tensor, IG_F32, IG_ROW_MAJOR);
  o.at = n->s->matrix;
  return ig_operand_read(n->x, &o, v->tensor);
}

// Sums of the inputs of `count` steps, which begin at step t.
static void add_inputs(const network *n, const cell *l, int64_t t, int64_t count) {
  const sizes *z = l->z;
  int64_t rows = count * z->batch;
  const float *in = l->in + t * z->batch * l->width;
  fill_rows(rows, z->width, l->bias, l->gates);
  if (l->input) {
    ig_rnn_matrix_add(rows, z->width, l->width, in, l->input, false, l->gates);
  } else {
    const float *w = dense(n, &l->params[0]);
    ig_gemm_f32(rows, z->width, l->width, 1, in, l->width, 1, w, 1, l->width, 1, l->gates,
                z->width);
  }
}

// sum [B, W] += h [B, H] by hh [W, H], or the packed matrix where there is one, at step k.
static void add_hidden(const cell *l, const float *hh, int64_t k, float *sum) {
  const sizes *z = l->z;
  if (l->hidden) {
    ig_rnn_matrix_add(z->batch, z->width, z->hidden, l->h, l->hidden, k % 2, sum);
    return;
  }
  int64_t chunks = chunks_of(z);
  for (int64_t p = 0; p < chunks; p++) {
    int64_t at = k % 2 ? chunks - 1 - p : p;
    int64_t from = z->width * at / chunks;
    int64_t count = z->width * (at + 1) / chunks - from;
    ig_gemm_f32(z->batch, count, z->hidden, 1, l->h, z->hidden, 1, hh + from * z->hidden, 1,
                z->hidden, 1, sum + from, z->width);
  }
}

static void step(const cell *l, const float *hh, int64_t k, float *gates) {
  const sizes *z = l->z;
  if (z->kind == IG_RNN_GRU) {
    fill_rows(z->batch, z->width, l->bias + z->width, l->sum);
    add_hidden(l, hh, k, l->sum);
    ig_gru_cell_f32(z->batch, z->hidden, gates, l->sum, l->h);
    return;
  }
  add_hidden(l, hh, k, gates);
  if (z->kind == IG_RNN_LSTM) {
    ig_lstm_cell_f32(z->batch, z->hidden, gates, l->c, l->h);
  } else {
    ig_rnn_cell_f32(z->batch * z->width, z->kind == IG_RNN_RELU, gates, l->h);
  }
}

// The chunk-th steps of a cell.
static void run_cell(const network *n, int64_t layer, int64_t direction, int64_t chunk) {
  const sizes *z = &n->s->z;
  cell l = cell_of(n, layer, direction);
  int64_t at = layer * z->directions + direction;
  int64_t from = chunk * n->s->chunk;
  int64_t count = z->steps - from < n->s->chunk ? z->steps - from : n->s->chunk;
  if (from == 0) start_cell(n, &l, at);
  add_inputs(n, &l, from, count);
  const float *hh = l.hidden ? NULL : dense(n, &l.params[1]);
  for (int64_t k = 0; k < count; k++) {
    int64_t t = l.reverse ? count - 1 - k : k;
    step(&l, hh, k, l.gates + t * z->batch * z->width);
    float *to = l.out + (from + t) * z->batch * z->directions * z->hidden;
    for (int64_t b = 0; b < z->batch; b++) {
      copy(z->hidden, l.h + b * z->hidden, to + b * z->directions * z->hidden);
    }
  }
  if (from + count == z->steps) end_cell(n, &l, at);
}

static void run_task(void *arg, int64_t i) {
  const network *n = arg;
  int64_t layer = n->first + i / n->s->z.directions;
  run_cell(n, layer, i % n->s->z.directions, n->round - layer);
}

// In round r layer l takes chunk r - l, if there is one.
static void run_rounds(network *n) {
  const sizes *z = &n->s->z;
  int64_t chunks = (z->steps + n->s->chunk - 1) / n->s->chunk;
  for (n->round = 0; n->round < z->layers + chunks - 1; n->round++) {
    n->first = n->round < chunks ? 0 : n->round - chunks + 1;
    int64_t last = n->round < z->layers ? n->round : z->layers - 1;
    int64_t tasks = (last - n->first + 1) * z->directions;
    if (n->s->running > 1) {
      ig_parallel_tasks(tasks, run_task, n);
    } else {
      for (int64_t i = 0; i < tasks; i++) run_task(n, i);
    }
  }
}

// The memory of a result, or of the copy that is put there in the end.
static float *place(const ig_exec *x, const ig_operand *o, const ig_value *v) {
  return o->copied ? (float *)(void *)(x->memory + o->at) : ig_tensor_data(v->tensor);
}

void ig_rnn_run(const ig_exec *x) {
  const rnn_state *s = x->state;
  bool lstm = s->z.kind == IG_RNN_LSTM;
  const ig_value *hx = &x->args[1];
  network n = {.x = x,
               .s = s,
               .in = ig_operand_read(x, &s->x, x->args[0].tensor),
               .out = place(x, &s->out, &x->outs[0]),
               .h0 = ig_operand_read(x, &s->h0, hidden_of(s->z.kind, hx)->tensor),
               .c0 = lstm ? ig_operand_read(x, &s->c0, hx->list.at[1].tensor) : NULL,
               .hn = place(x, &s->hn, &x->outs[1]),
               .cn = lstm ? place(x, &s->cn, &x->outs[2]) : NULL};
  run_rounds(&n);
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
