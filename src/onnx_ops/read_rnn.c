// SPDX-License-Identifier: Apache-2.0
// RNN, GRU, LSTM: every direction, activation, peephole, clip, length per batch. Step by step as
// plain formulas, or ATen's own operator where it is equivalent.
#include <string.h>

#include "onnx_read/reader.h"

enum { MAX_ACTIVATIONS = 6, MAX_STEPS = 1 << 16 };

typedef struct activation {
  char name[24];
  double alpha;
  double beta;
} activation;

typedef struct rnn {
  int kind;  // gates: 1 RNN, 3 GRU, 4 LSTM
  int64_t hidden;
  int64_t steps;
  ig_int batch;
  ig_dtype dtype;
  double clip;        // 0: none
  bool linear_first;  // GRU: linear_before_reset
  bool coupled;       // LSTM: input_forget
  ig_tensor *lens;    // [batch] int64; NULL: all whole
  activation act[3];
  // of one direction
  ig_tensor *w;  // [gates * hidden, input] transposed
  ig_tensor *r;
  ig_tensor *wb;  // [gates * hidden]; NULL: none
  ig_tensor *rb;
  ig_tensor *p;  // LSTM peepholes [3 * hidden]; NULL: none
} rnn;

static ig_tensor *activate(ig_rd *r, ig_tensor *x, const activation *a) {
  if (!x) return NULL;
  const char *n = a->name;
  if (strcmp(n, "sigmoid") == 0) return ig_sigmoid(r->c, x);
  if (strcmp(n, "tanh") == 0) return ig_tanh(r->c, x);
  if (strcmp(n, "relu") == 0) return ig_relu(r->c, x);
  if (strcmp(n, "affine") == 0) return ig_rd_addn(r, ig_rd_muln(r, x, a->alpha), a->beta);
  if (strcmp(n, "leakyrelu") == 0) return ig_leaky_relu_with(r->c, x, ig_of_f64(a->alpha));
  if (strcmp(n, "elu") == 0)
    return ig_elu_with(r->c, x, ig_of_f64(a->alpha), ig_of_i64(1), ig_of_i64(1));
  if (strcmp(n, "softplus") == 0) return ig_softplus(r->c, x);
  if (strcmp(n, "softsign") == 0) return ig_rd_div(r, x, ig_rd_addn(r, ig_abs(r->c, x), 1));
  if (strcmp(n, "hardsigmoid") == 0) {
    x = ig_rd_addn(r, ig_rd_muln(r, x, a->alpha), a->beta);
    return x ? ig_clamp_with(r->c, x, ig_of_i64(0), ig_of_i64(1)) : NULL;
  }
  if (strcmp(n, "scaledtanh") == 0) {
    x = ig_rd_muln(r, x, a->beta);
    return x ? ig_rd_muln(r, ig_tanh(r->c, x), a->alpha) : NULL;
  }
  if (strcmp(n, "thresholdedrelu") == 0) {
    ig_tensor *above = ig_gt_scalar(r->c, x, ig_of_f64(a->alpha));
    return above ? ig_where_scalarother(r->c, above, x, ig_of_f64(0)) : NULL;
  }
  ig_rd_fail(r, IG_UNSUPPORTED, "activation '%s'", n);
  return NULL;
}

// Default parameters of activations.
static void defaults(activation *a) {
  static const struct {
    const char *name;
    double alpha;
    double beta;
  } known[] = {{"leakyrelu", 0.01, 0},    {"elu", 1, 0},    {"hardsigmoid", 0.2, 0.5},
               {"thresholdedrelu", 1, 0}, {"affine", 1, 0}, {"scaledtanh", 1, 1}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (strcmp(a->name, known[i].name) != 0) continue;
    a->alpha = known[i].alpha;
    a->beta = known[i].beta;
  }
}

static void set_name(activation *a, ig_bytes text) {
  size_t n = text.n < sizeof a->name - 1 ? text.n : sizeof a->name - 1;
  for (size_t i = 0; i < n; i++) {
    char ch = (char)text.at[i];
    a->name[i] = (char)(ch >= 'A' && ch <= 'Z' ? ch + 32 : ch);
  }
  a->name[n] = 0;
}

// Activations of one direction: names, then parameters in the order of those that take them.
static void take_activations(ig_rd *r, rnn *x, size_t dir) {
  static const char *const usual[5][3] = {
      [1] = {"tanh"}, [3] = {"sigmoid", "tanh"}, [4] = {"sigmoid", "tanh", "tanh"}};
  size_t per = x->kind == 1 ? 1 : x->kind == 3 ? 2 : 3;
  size_t n = 0;
  size_t na = 0;
  size_t nb = 0;
  const ig_bytes *names = ig_rd_attr_strings(r, "activations", &n);
  const float *alpha = ig_rd_attr_floats(r, "activation_alpha", &na);
  const float *beta = ig_rd_attr_floats(r, "activation_beta", &nb);
  for (size_t i = 0; i < per; i++) {
    size_t at = dir * per + i;
    activation *a = &x->act[i];
    *a = (activation){.alpha = 0, .beta = 0};
    const char *name = usual[x->kind][i];
    set_name(a, names && at < n ? names[at] : (ig_bytes){(const uint8_t *)name, strlen(name)});
    defaults(a);
    if (alpha && at < na) a->alpha = (double)alpha[at];
    if (beta && at < nb) a->beta = (double)beta[at];
  }
}

static ig_tensor *clipped(ig_rd *r, const rnn *x, ig_tensor *t) {
  if (x->clip <= 0 || !t) return t;
  return ig_clamp_with(r->c, t, ig_of_f64(-x->clip), ig_of_f64(x->clip));
}

static ig_tensor *gate(ig_rd *r, const rnn *x, ig_tensor *all, int64_t i) {
  return ig_rd_slice(r, all, -1, i * x->hidden, (i + 1) * x->hidden, 1);
}

static ig_tensor *plus(ig_rd *r, ig_tensor *t, ig_tensor *more) {
  return more ? ig_rd_add(r, t, more) : t;
}

static ig_tensor *product(ig_rd *r, ig_tensor *a, ig_tensor *b) {
  return a && b ? ig_matmul(r->c, a, b) : NULL;
}

// ---- one step; in: x W^T + Wb of this step, [batch, gates * hidden]

static ig_tensor *rnn_step(ig_rd *r, const rnn *x, ig_tensor *in, ig_tensor *h) {
  ig_tensor *t = plus(r, ig_rd_add(r, in, product(r, h, x->r)), x->rb);
  return activate(r, clipped(r, x, t), &x->act[0]);
}

static ig_tensor *gru_step(ig_rd *r, const rnn *x, ig_tensor *in, ig_tensor *h) {
  ig_tensor *rh = plus(r, product(r, h, x->r), x->rb);
  ig_tensor *z = ig_rd_add(r, gate(r, x, in, 0), gate(r, x, rh, 0));
  z = activate(r, clipped(r, x, z), &x->act[0]);
  ig_tensor *reset = ig_rd_add(r, gate(r, x, in, 1), gate(r, x, rh, 1));
  reset = activate(r, clipped(r, x, reset), &x->act[0]);
  ig_tensor *inner = NULL;
  if (x->linear_first) {
    inner = ig_rd_mul(r, reset, gate(r, x, rh, 2));
  } else {
    ig_tensor *part = ig_rd_slice(r, x->r, 1, 2 * x->hidden, 3 * x->hidden, 1);
    inner = product(r, ig_rd_mul(r, reset, h), part);
    if (x->rb) inner = ig_rd_add(r, inner, gate(r, x, x->rb, 2));
  }
  ig_tensor *n = ig_rd_add(r, gate(r, x, in, 2), inner);
  n = activate(r, clipped(r, x, n), &x->act[1]);
  // (1 - z) n + z h
  ig_tensor *d = ig_rd_mul(r, z, ig_rd_sub(r, h, n));
  return ig_rd_add(r, n, d);
}

static ig_tensor *lstm_step(ig_rd *r, const rnn *x, ig_tensor *in, ig_tensor *h, ig_tensor **cell) {
  ig_tensor *all = plus(r, ig_rd_add(r, in, product(r, h, x->r)), x->rb);
  ig_tensor *g[4];
  for (int i = 0; i < 4; i++) g[i] = gate(r, x, all, i);  // i o f c
  if (x->p) g[0] = ig_rd_add(r, g[0], ig_rd_mul(r, gate(r, x, x->p, 0), *cell));
  if (x->p) g[2] = ig_rd_add(r, g[2], ig_rd_mul(r, gate(r, x, x->p, 2), *cell));
  ig_tensor *i = activate(r, clipped(r, x, g[0]), &x->act[0]);
  ig_tensor *f = x->coupled ? ig_rd_addn(r, ig_rd_muln(r, i, -1), 1)
                            : activate(r, clipped(r, x, g[2]), &x->act[0]);
  ig_tensor *fresh = activate(r, clipped(r, x, g[3]), &x->act[1]);
  ig_tensor *kept = ig_rd_mul(r, f, *cell);
  *cell = ig_rd_add(r, kept, ig_rd_mul(r, i, fresh));
  if (x->p) g[1] = ig_rd_add(r, g[1], ig_rd_mul(r, gate(r, x, x->p, 1), *cell));
  ig_tensor *o = activate(r, clipped(r, x, g[1]), &x->act[0]);
  return ig_rd_mul(r, o, activate(r, *cell, &x->act[2]));
}

// The new value if step t is within the sequence, else the old one.
static ig_tensor *choose(ig_rd *r, ig_tensor *inside, ig_tensor *fresh, ig_tensor *old) {
  return inside && fresh && old ? ig_where_self(r->c, inside, fresh, old) : fresh;
}

// One direction over [steps, batch, input]: ys [steps, batch, hidden], h and cell the last ones.
static ig_tensor *run_direction(ig_rd *r, const rnn *x, ig_tensor *seq, bool back, ig_tensor **h,
                                ig_tensor **cell) {
  ig_tensor **ys = ig_scope_array(r->c, (size_t)x->steps, sizeof *ys);
  ig_tensor *in = plus(r, product(r, seq, x->w), x->wb);
  for (int64_t k = 0; ys && k < x->steps && ig_rd_ok(r); k++) {
    int64_t t = back ? x->steps - 1 - k : k;
    ig_tensor *row = ig_rd_select(r, in, 0, t);
    ig_tensor *inside = NULL;
    if (x->lens) {
      inside = ig_gt_scalar(r->c, x->lens, ig_of_i64(t));
      inside = ig_rd_unsqueeze(r, inside, 1);
    }
    ig_tensor *old = *cell;
    ig_tensor *y = x->kind == 1   ? rnn_step(r, x, row, *h)
                   : x->kind == 3 ? gru_step(r, x, row, *h)
                                  : lstm_step(r, x, row, *h, cell);
    if (x->kind == 4) *cell = choose(r, inside, *cell, old);
    *h = choose(r, inside, y, *h);
    ys[t] = inside ? ig_rd_mul(r, y, ig_cast(r->c, inside, x->dtype)) : y;
  }
  return ys && ig_rd_ok(r) ? ig_rd_stack(r, ys, (size_t)x->steps, 0) : NULL;
}

// Weights of one direction, transposed for products with rows on the left.
static void take_weights(ig_rd *r, rnn *x, int64_t dir) {
  static const int64_t swap[] = {1, 0};
  int64_t n = x->kind * x->hidden;
  x->w = ig_rd_permute(r, ig_rd_select(r, ig_rd_in(r, 1), 0, dir), swap, 2);
  x->r = ig_rd_permute(r, ig_rd_select(r, ig_rd_in(r, 2), 0, dir), swap, 2);
  x->wb = x->rb = x->p = NULL;
  if (ig_rd_has(r, 3)) {
    ig_tensor *b = ig_rd_select(r, ig_rd_in(r, 3), 0, dir);
    x->wb = ig_rd_slice(r, b, 0, 0, n, 1);
    x->rb = ig_rd_slice(r, b, 0, n, 2 * n, 1);
  }
  if (x->kind == 4 && ig_rd_has(r, 7)) x->p = ig_rd_select(r, ig_rd_in(r, 7), 0, dir);
}

// The state to start with, of one direction.
static ig_tensor *start(ig_rd *r, const rnn *x, size_t input, int64_t dir, bool batch_first) {
  if (ig_rd_has(r, input)) return ig_rd_select(r, ig_rd_in(r, input), batch_first ? 1 : 0, dir);
  ig_int sizes[2] = {x->batch, ig_const(x->hidden)};
  return ig_rd_full(r, sizes, 2, 0, x->dtype);
}

// ---- ATen's operator: the same gates in another order, no extras, sequences of any length

// Rows of the gates in ATen's order.
static ig_tensor *reorder(ig_rd *r, const rnn *x, ig_tensor *t) {
  static const int64_t orders[5][4] = {[1] = {0}, [3] = {1, 0, 2}, [4] = {0, 2, 3, 1}};
  ig_tensor *parts[4];
  if (x->kind == 1) return t;
  for (int i = 0; i < x->kind; i++) {
    int64_t k = orders[x->kind][i];
    parts[i] = ig_rd_slice(r, t, 0, k * x->hidden, (k + 1) * x->hidden, 1);
  }
  return ig_rd_cat(r, parts, (size_t)x->kind, 0);
}

// Does ATen have exactly this?
static bool is_plain(ig_rd *r, rnn *x, size_t dirs) {
  if (x->clip > 0 || x->coupled || ig_rd_has(r, 4) || ig_rd_has(r, 7)) return false;
  if (x->kind == 3 && !x->linear_first) return false;
  for (size_t d = 0; d < dirs; d++) {
    take_activations(r, x, d);
    bool relu = x->kind == 1 && strcmp(x->act[0].name, "relu") == 0;
    const char *first = x->kind == 1 ? "tanh" : "sigmoid";
    if (!relu && strcmp(x->act[0].name, first) != 0) return false;
    if (x->kind >= 3 && strcmp(x->act[1].name, "tanh") != 0) return false;
    if (x->kind == 4 && strcmp(x->act[2].name, "tanh") != 0) return false;
    if (x->kind == 1 && d && relu != (strcmp(x->act[0].name, "relu") == 0)) return false;
  }
  return true;
}

// Parameters of all directions: input, hidden, and their biases if there are any.
static ig_value plain_params(ig_rd *r, const rnn *x, size_t dirs, bool biased) {
  size_t per = biased ? 4 : 2;
  int64_t n = x->kind * x->hidden;
  ig_value *at = ig_scope_array(r->c, ig_mem_mul(dirs, per), sizeof *at);
  for (size_t d = 0; at && d < dirs; d++) {
    ig_tensor *w = ig_rd_select(r, ig_rd_in(r, 1), 0, (int64_t)d);
    at[d * per] = ig_of_tensor(reorder(r, x, w));
    w = ig_rd_select(r, ig_rd_in(r, 2), 0, (int64_t)d);
    at[d * per + 1] = ig_of_tensor(reorder(r, x, w));
    ig_tensor *b = biased ? ig_rd_select(r, ig_rd_in(r, 3), 0, (int64_t)d) : NULL;
    if (!biased) continue;
    at[d * per + 2] = ig_of_tensor(reorder(r, x, ig_rd_slice(r, b, 0, 0, n, 1)));
    at[d * per + 3] = ig_of_tensor(reorder(r, x, ig_rd_slice(r, b, 0, n, 2 * n, 1)));
  }
  return at ? ig_of_list(at, dirs * per) : ig_none();
}

// [dirs, batch, hidden]
static ig_tensor *plain_start(ig_rd *r, const rnn *x, size_t input, size_t dirs, bool batch_first) {
  static const int64_t swap[] = {1, 0, 2};
  if (!ig_rd_has(r, input)) {
    ig_int sizes[3] = {ig_const((int64_t)dirs), x->batch, ig_const(x->hidden)};
    return ig_rd_full(r, sizes, 3, 0, x->dtype);
  }
  ig_tensor *t = ig_rd_in(r, input);
  return batch_first ? ig_rd_permute(r, t, swap, 3) : t;
}

static void run_plain(ig_rd *r, const rnn *x, ig_tensor *seq, size_t dirs, bool back,
                      bool batch_first) {
  static const int64_t swap[] = {1, 0, 2};
  static const int64_t to_dirs[] = {0, 2, 1, 3};
  static const int64_t to_batch[] = {1, 0, 2, 3};
  ig_int zero = ig_const(0);
  bool biased = ig_rd_has(r, 3);
  if (back) seq = ig_flip(r->c, seq, ig_of_ints(&zero, 1));
  ig_value params = plain_params(r, x, dirs, biased);
  ig_value state[2] = {ig_of_tensor(plain_start(r, x, 5, dirs, batch_first)), ig_none()};
  if (x->kind == 4) state[1] = ig_of_tensor(plain_start(r, x, 6, dirs, batch_first));
  ig_value outs[3] = {ig_none(), ig_none(), ig_none()};
  if (!ig_rd_ok(r) || !seq) return;
  ig_int one = ig_const(1);
  bool both = dirs == 2;
  if (x->kind == 4) {
    ig_lstm_input(r->c, seq, ig_of_list(state, 2), params, biased, one, 0, false, both, false,
                  outs);
  } else if (x->kind == 3) {
    ig_gru_input(r->c, seq, state[0].tensor, params, biased, one, 0, false, both, false, outs);
  } else if (strcmp(x->act[0].name, "relu") == 0) {
    ig_rnn_relu_input(r->c, seq, state[0].tensor, params, biased, one, 0, false, both, false, outs);
  } else {
    ig_rnn_tanh_input(r->c, seq, state[0].tensor, params, biased, one, 0, false, both, false, outs);
  }
  ig_tensor *y = ig_value_tensor(&outs[0]);
  if (!y) return;
  if (back) y = ig_flip(r->c, y, ig_of_ints(&zero, 1));
  ig_int sizes[4] = {ig_rd_size(r, seq, 0), x->batch, ig_const((int64_t)dirs), ig_const(x->hidden)};
  y = ig_rd_reshape(r, y, sizes, 4);
  ig_rd_out(r, 0, ig_rd_permute(r, y, batch_first ? to_batch : to_dirs, 4));
  for (size_t i = 1; i < 3; i++) {
    ig_tensor *t = ig_value_tensor(&outs[i]);
    ig_rd_out(r, i, batch_first && t ? ig_rd_permute(r, t, swap, 3) : t);
  }
}

static bool rnn_init(ig_rd *r, rnn *x, ig_tensor *seq, size_t *dirs, bool *first_back) {
  ig_tensor *w = ig_rd_in(r, 1);
  ig_tensor *rw = ig_rd_in(r, 2);
  if (!seq || !w || !rw || seq->ndim != 3 || w->ndim != 3 || rw->ndim != 3) {
    ig_rd_fail(r, IG_INVALID, "expected inputs of 3 dimensions");
    return false;
  }
  const char *direction = ig_rd_attr_text(r, "direction", "forward");
  *dirs = strcmp(direction, "bidirectional") == 0 ? 2 : 1;
  *first_back = strcmp(direction, "reverse") == 0;
  x->hidden = ig_rd_attr_int(r, "hidden_size", ig_rd_plain(r, ig_rd_size(r, rw, 2)));
  x->steps = 0;
  x->batch = ig_rd_size(r, seq, 1);
  x->dtype = seq->dtype;
  x->clip = ig_rd_attr_float(r, "clip", 0);
  x->linear_first = ig_rd_attr_int(r, "linear_before_reset", 0);
  x->coupled = ig_rd_attr_int(r, "input_forget", 0);
  // Divided, because hidden_size may be any number.
  int64_t rows = ig_rd_plain(r, ig_rd_size(r, w, 1));
  bool fits = ig_rd_plain(r, ig_rd_size(r, w, 0)) == (int64_t)*dirs && x->hidden > 0 &&
              rows % x->kind == 0 && rows / x->kind == x->hidden &&
              ig_rd_plain(r, ig_rd_size(r, rw, 1)) == rows &&
              ig_rd_plain(r, ig_rd_size(r, rw, 0)) == (int64_t)*dirs;
  if (!fits) {
    ig_rd_fail(r, IG_MISMATCH, "weights, hidden_size and direction do not fit each other");
    return false;
  }
  x->lens = ig_rd_has(r, 4) ? ig_cast(r->c, ig_rd_in(r, 4), IG_I64) : NULL;
  return ig_rd_ok(r);
}

static void run(ig_rd *r, int kind) {
  static const int64_t swap[] = {1, 0, 2};
  rnn x = {.kind = kind};
  size_t dirs = 1;
  bool first_back = false;
  bool batch_first = ig_rd_attr_int(r, "layout", 0);
  ig_tensor *seq = ig_rd_in(r, 0);
  if (batch_first && seq && seq->ndim == 3) seq = ig_rd_permute(r, seq, swap, 3);
  if (!rnn_init(r, &x, seq, &dirs, &first_back)) return;
  if (is_plain(r, &x, dirs)) {
    run_plain(r, &x, seq, dirs, first_back, batch_first);
    return;
  }
  x.steps = ig_rd_plain(r, ig_rd_size(r, seq, 0));
  if (x.steps < 1 || x.steps > MAX_STEPS) {
    ig_rd_fail(r, IG_INVALID, "a sequence of length %lld", (long long)x.steps);
    return;
  }
  ig_tensor *ys[2];
  ig_tensor *hs[2];
  ig_tensor *cells[2] = {NULL, NULL};
  for (size_t d = 0; d < dirs && ig_rd_ok(r); d++) {
    take_activations(r, &x, d);
    take_weights(r, &x, (int64_t)d);
    hs[d] = start(r, &x, 5, (int64_t)d, batch_first);
    if (kind == 4) cells[d] = start(r, &x, 6, (int64_t)d, batch_first);
    ys[d] = run_direction(r, &x, seq, d == 1 || first_back, &hs[d], &cells[d]);
  }
  if (!ig_rd_ok(r)) return;
  // Y [steps, dirs, batch, hidden] or [batch, steps, dirs, hidden]
  static const int64_t batch_perm[] = {2, 0, 1, 3};
  ig_tensor *y = ig_rd_stack(r, ys, dirs, 1);
  ig_rd_out(r, 0, batch_first ? ig_rd_permute(r, y, batch_perm, 4) : y);
  ig_rd_out(r, 1, ig_rd_stack(r, hs, dirs, batch_first ? 1 : 0));
  if (kind == 4) ig_rd_out(r, 2, ig_rd_stack(r, cells, dirs, batch_first ? 1 : 0));
}

static void read_rnn(ig_rd *r) {
  run(r, 1);
}
static void read_gru(ig_rd *r) {
  run(r, 3);
}
static void read_lstm(ig_rd *r) {
  run(r, 4);
}

const ig_rd_row ig_rd_rows_rnn[] = {
    {"RNN", 1, read_rnn},
    {"GRU", 1, read_gru},
    {"LSTM", 1, read_lstm},
    {NULL, 0, NULL},
};
