// SPDX-License-Identifier: Apache-2.0
// ONNX of recurrent networks: one operator per layer, both directions in it. PyTorch and ONNX order
// the gates differently, so rows of the weights are permuted.
#include <stdio.h>
#include <string.h>

#include "onnx/writer.h"
#include "tensor/copy.h"

typedef struct rnn {
  const char *op;      // "LSTM"
  const char *active;  // RNN: "Tanh" or "Relu"
  int64_t gates;
  int64_t order[4];     // the position of each PyTorch gate in ONNX
  int64_t parts[3][2];  // the same as intervals of gates
} rnn;

static const rnn lstm_kind = {
    "LSTM", NULL, 4, {0, 3, 1, 2}, {{0, 1}, {3, 4}, {1, 3}}};  // i f g o -> i o f g
static const rnn gru_kind = {
    "GRU", NULL, 3, {1, 0, 2}, {{1, 2}, {0, 1}, {2, 3}}};  // r z n -> z r n
static const rnn tanh_kind = {"RNN", "Tanh", 1, {0}, {{0, 1}}};
static const rnn relu_kind = {"RNN", "Relu", 1, {0}, {{0, 1}}};

// One call, its numbers read: input, hx, params, has_biases, num_layers, dropout, train,
// bidirectional, batch_first
typedef struct state {
  const rnn *kind;
  const ig_value *params;
  int64_t hidden;
  int64_t layers;
  size_t dirs;
  bool biases;
  bool batch_first;
  ig_dtype dtype;
  const char *lengths;  // of the sequences; "": all are as long as the batch
} state;

static bool is_true(const ig_value *v) {
  return v->kind == IG_KIND_BOOL && v->b;
}

static bool drops(const ig_value *dropout, const ig_value *train, const ig_value *layers) {
  bool some = dropout->kind == IG_KIND_FLOAT && dropout->f > 0;
  return some && is_true(train) && layers->kind == IG_KIND_INT && layers->i.value > 1;
}

static bool rnn_can(int opset, const ig_value *args, size_t n) {
  (void)opset;
  if (n != 9 || ig_onnx_ndim(&args[0]) != 3 || args[2].kind != IG_KIND_LIST) return false;
  if (drops(&args[5], &args[6], &args[4]) || args[4].kind != IG_KIND_INT) return false;
  size_t dirs = is_true(&args[7]) ? 2 : 1;
  size_t each = is_true(&args[3]) ? 4 : 2;
  if (args[2].list.n != each * dirs * (size_t)args[4].i.value || args[2].list.n == 0) return false;
  const ig_tensor *r = ig_onnx_tensor_of(&args[2].list.at[1]);
  return r && r->ndim == 2 && !ig_sizes(r)[1].expr;  // a projection has more weights
}

// With the TorchScript conventions, where weights are rearranged when the model is written.
static const char *in_parts(ig_onnx *x, const state *s, const char *name) {
  const char *parts[3];
  for (size_t i = 0; i < 3; i++) {
    int64_t from = s->kind->parts[i][0] * s->hidden;
    int64_t to = s->kind->parts[i][1] * s->hidden;
    const char *start = ig_onnx_vector(x, &from, 1);
    const char *end = ig_onnx_vector(x, &to, 1);
    parts[i] = ig_onnx_slice(x, name, start, end, 0, 1, NULL);
  }
  return ig_onnx_concat(x, parts, 3, 0, NULL);
}

// Rows by gate, in ONNX's order.
static const char *reordered(ig_onnx *x, const state *s, const ig_value *v) {
  const char *name = ig_onnx_operand(x, v, s->dtype);
  if (s->kind->gates == 1) return name;
  if (x->options->torchscript) return in_parts(x, s, name);
  size_t n = (size_t)(s->kind->gates * s->hidden);
  int64_t *rows = ig_onnx_push(x, ig_mem_mul(n, sizeof *rows));
  for (size_t i = 0; rows && i < n; i++) {
    int64_t gate = (int64_t)i / s->hidden;
    rows[i] = s->kind->order[gate] * s->hidden + (int64_t)i % s->hidden;
  }
  return rows ? ig_onnx_gather(x, name, ig_onnx_vector(x, rows, n), 0, NULL) : name;
}

// The weights of one direction of a layer: of the input, of the state, and both biases in a row.
enum { WEIGHTS = 3 };

static void direction_weights(ig_onnx *x, const state *s, int64_t layer, size_t d,
                              const char **out) {
  size_t each = s->biases ? 4 : 2;
  const ig_value *at = &s->params->list.at[((size_t)layer * s->dirs + d) * each];
  for (size_t k = 0; k < 2; k++) out[k] = reordered(x, s, &at[k]);
  if (!s->biases) return;
  const char *both[2];
  for (size_t k = 0; k < 2; k++) both[k] = reordered(x, s, &at[2 + k]);
  out[2] = ig_onnx_concat(x, both, 2, 0, NULL);
}

// Those of a layer: every direction is a row.
static void layer_weights(ig_onnx *x, const state *s, int64_t layer, const char **out) {
  const char *rows[WEIGHTS][2];
  const char *one[WEIGHTS];
  size_t n = s->biases ? 3 : 2;
  out[2] = "";
  for (size_t d = 0; d < s->dirs; d++) {
    direction_weights(x, s, layer, d, one);
    for (size_t k = 0; k < n; k++) rows[k][d] = ig_onnx_unsqueeze(x, one[k], 0, NULL);
  }
  // Of two directions the biases come first, as PyTorch's exporter has them.
  for (size_t i = 0; i < n; i++) {
    size_t k = s->dirs == 2 && s->biases ? (i + 2) % 3 : i;
    out[k] = s->dirs == 1 ? rows[k][0] : ig_onnx_concat(x, rows[k], 2, 0, NULL);
  }
}

// PyTorch's exporter expands constant states to the batch, with nodes that it evaluates later:
// Shape, Gather, Unsqueeze, Concat, Expand and their constants.
static const ig_tensor *constant_of(const ig_onnx *x, const ig_value *v) {
  bool may = x->options->torchscript && v->kind == IG_KIND_NODE;
  ig_table_slot *known = may ? ig_table_find(&x->folded, v->node) : NULL;
  return known ? known->value : NULL;
}

// Those of several layers; NULL: not constant.
static const ig_tensor *constant_states(const ig_onnx *x, const state *s, const ig_value *v) {
  const ig_tensor *t = s->layers > 1 ? constant_of(x, v) : NULL;
  bool fits = t && t->ndim == 3 && ig_tensor_is_dense(t) &&
              ig_sizes(t)[0].value == s->layers * (int64_t)s->dirs;
  return fits ? t : NULL;
}

// The first state of a layer, of those of all layers in a constant.
static const char *constant_rows(ig_onnx *x, const state *s, const ig_tensor *t, const char *name,
                                 int64_t layer) {
  char key[160];
  const char *out = "";
  int64_t dims[IG_MAX_DIM];
  for (int d = 0; d < t->ndim; d++) dims[d] = ig_sizes(t)[d].value;
  size_t size = ig_mem_mul((size_t)ig_tensor_numel(t), ig_dtype_size(s->dtype));
  uint8_t *all = ig_onnx_push(x, ig_mem_add(size, 1));
  (void)snprintf(key, sizeof key, "%s %.100s of layer %lld", ig_dtype_text(s->dtype), name,
                 (long long)layer);
  dims[0] = (int64_t)s->dirs;
  uint8_t *rows = all ? ig_onnx_constant(x, key, s->dtype, dims, t->ndim, &out) : NULL;
  if (!rows) return out;
  ig_tensor_read(t, s->dtype, all);
  size_t part = size / (size_t)s->layers;
  memcpy(rows, all + part * (size_t)layer, part);  // admitted: one of the equal parts of `all`
  return out;
}

// The rows of the first states `v` that belong to a layer. all: its name; "": constant.
static const char *layer_state(ig_onnx *x, const state *s, const ig_value *v, const char *all,
                               int64_t layer) {
  if (s->layers == 1) return all;
  const ig_tensor *known = all[0] ? NULL : constant_states(x, s, v);
  if (known) return constant_rows(x, s, known, v->node->name, layer);
  int64_t from = layer * (int64_t)s->dirs;
  int64_t to = from + (int64_t)s->dirs;
  const char *start = ig_onnx_vector(x, &from, 1);
  return ig_onnx_slice(x, all, start, ig_onnx_vector(x, &to, 1), 0, 1, NULL);
}

// Sequence, last h, last c; names of the results into outs.
static void emit_layer(ig_onnx *x, const state *s, const char *in, const char *h, const char *c,
                       int64_t layer, const char **outs) {
  bool lstm = s->kind->gates == 4;
  const char *w[WEIGHTS];
  layer_weights(x, s, layer, w);
  for (size_t i = 0; i < 3; i++) outs[i] = ig_onnx_fresh(x, s->kind->op);
  ig_onnx_node node = {.op_type = s->kind->op,
                       .in = {in, w[0], w[1], w[2], s->lengths, h, lstm ? c : NULL},
                       .attrs = {ig_onnx_int("hidden_size", s->hidden)},
                       .outs = outs,
                       .nouts = lstm ? 3 : 2};
  size_t n = 1;
  if (s->dirs == 2) node.attrs[n++] = ig_onnx_string("direction", "bidirectional");
  if (s->kind->gates == 3) node.attrs[n++] = ig_onnx_int("linear_before_reset", 1);
  if (s->kind->active) {  // one per direction
    node.attrs[n] = (ig_onnx_attr){
        .name = "activations", .type = IG_ONNX_STRINGS, .s = s->kind->active, .n = s->dirs};
  }
  (void)ig_onnx_emit(x, &node);
}

static void swap_batch(ig_onnx *x, const char **name) {
  static const int64_t perm[] = {1, 0, 2};
  *name = ig_onnx_transpose(x, *name, perm, 3, NULL);
}

// [seq, dirs, batch, hidden] -> [seq, batch, dirs * hidden]
static const char *merged(ig_onnx *x, const state *s, const char *y) {
  if (s->dirs == 1) return ig_onnx_squeeze(x, y, 1, NULL);
  static const int64_t perm[] = {0, 2, 1, 3};
  static const int64_t sizes[] = {0, 0, -1};
  y = ig_onnx_transpose(x, y, perm, 4, NULL);
  return ig_onnx_emit2(x, "Reshape", y, ig_onnx_vector(x, sizes, 3), NULL);
}

static void give(ig_onnx *x, const ig_onnx_call *call, size_t i, const char *name, ig_dtype d) {
  if (i >= call->nouts || !call->outs[i]) return;
  ig_onnx_call one = *call;
  one.out = call->outs[i];
  (void)ig_onnx_finish(x, &one, name, d);
}

// All layers of a call, from the first states h and c (NULL: none).
static void put_layers(ig_onnx *x, const ig_onnx_call *call, const state *s, const ig_value *first,
                       const ig_value *cell) {
  const char *in = ig_onnx_operand(x, &call->args[0], s->dtype);
  if (s->batch_first) swap_batch(x, &in);
  // Constant states are written by layer.
  bool parts = constant_states(x, s, first) && (!cell || constant_states(x, s, cell));
  const char *h = parts ? "" : ig_onnx_operand(x, first, s->dtype);
  const char *c = cell && !parts ? ig_onnx_operand(x, cell, s->dtype) : "";
  // PyTorch's exporter cuts each of them out of all, where bounds are operands by three numbers.
  size_t cuts = x->least >= 10 ? 1 + 3 * (size_t)s->layers : 1;
  if (parts) ig_onnx_count_values(x, cell ? 2 * cuts : cuts);
  size_t expanded = constant_of(x, first) ? (cell ? 2 : 1) : 0;
  if (!s->lengths[0]) ig_onnx_count_values(x, 1);  // the lengths are None
  if (expanded == 2) x->nmade--;                   // equal constants are one there
  const char **last = ig_onnx_push(x, ig_mem_mul(ig_mem_mul(2, (size_t)s->layers), sizeof *last));
  for (int64_t i = 0; last && i < s->layers; i++) {
    const char *outs[3];
    const char *h0 = layer_state(x, s, first, h, i);
    ig_onnx_count_values(x, expanded * (x->least >= 13 ? 11 : 9));
    if (!s->biases) ig_onnx_count_values(x, 1);
    emit_layer(x, s, in, h0, cell ? layer_state(x, s, cell, c, i) : NULL, i, outs);
    x->nfolded += expanded * (s->layers == 1 ? 1 : 2);
    in = merged(x, s, outs[0]);
    last[i] = outs[1];
    last[s->layers + i] = outs[2];
  }
  if (!last) return;
  if (s->batch_first) swap_batch(x, &in);
  give(x, call, 0, in, s->dtype);
  size_t n = (size_t)s->layers;
  for (size_t i = 0; i < (cell ? 2U : 1U); i++) {
    const char *all = n == 1 ? last[i] : ig_onnx_concat(x, last + i * n, n, 0, NULL);
    give(x, call, i + 1, all, s->dtype);
  }
}

static void emit_rnn(ig_onnx *x, const ig_onnx_call *call, const rnn *kind) {
  const ig_value *a = call->args;
  bool lstm = kind->gates == 4;
  state s = {.kind = kind, .params = &a[2], .layers = ig_onnx_int_of(x, &a[4]), .lengths = ""};
  s.dirs = is_true(&a[7]) ? 2 : 1;
  s.biases = is_true(&a[3]);
  s.batch_first = is_true(&a[8]);
  s.hidden = ig_sizes(ig_onnx_tensor_of(&a[2].list.at[1]))[1].value;
  s.dtype = ig_onnx_compute_type(x, kind->op, call->val->dtype);
  const ig_value *first = lstm ? &a[1].list.at[0] : &a[1];
  put_layers(x, call, &s, first, lstm ? &a[1].list.at[1] : NULL);
}

// Padded batches with lengths, as the exporter captures packed sequences: input, lengths, h, (c,)
// params, has_biases, num_layers, bidirectional, batch_first
static void emit_packed(ig_onnx *x, const ig_onnx_call *call, const rnn *kind) {
  const ig_value *a = call->args;
  const ig_value *rest = a + (kind->gates == 4 ? 4 : 3);
  state s = {.kind = kind, .params = rest, .layers = ig_onnx_int_of(x, &rest[2])};
  s.dirs = is_true(&rest[3]) ? 2 : 1;
  s.biases = is_true(&rest[1]);
  s.batch_first = is_true(&rest[4]);
  s.hidden = ig_sizes(ig_onnx_tensor_of(&rest[0].list.at[1]))[1].value;
  s.dtype = ig_onnx_compute_type(x, kind->op, call->val->dtype);
  s.lengths = ig_onnx_operand(x, &a[1], IG_I32);
  put_layers(x, call, &s, &a[2], kind->gates == 4 ? &a[3] : NULL);
}

static bool packed_can(int opset, const ig_value *args, size_t n) {
  (void)opset;
  const ig_value *params = n >= 8 ? &args[n - 5] : NULL;
  return params && params->kind == IG_KIND_LIST && params->list.n >= 2 &&
         ig_onnx_tensor_of(&params->list.at[1]) != NULL;
}

static void lstm(ig_onnx *x, const ig_onnx_call *call) {
  emit_rnn(x, call, &lstm_kind);
}
static void gru(ig_onnx *x, const ig_onnx_call *call) {
  emit_rnn(x, call, &gru_kind);
}
static void rnn_tanh(ig_onnx *x, const ig_onnx_call *call) {
  emit_rnn(x, call, &tanh_kind);
}
static void rnn_relu(ig_onnx *x, const ig_onnx_call *call) {
  emit_rnn(x, call, &relu_kind);
}

static void packed_lstm(ig_onnx *x, const ig_onnx_call *call) {
  emit_packed(x, call, &lstm_kind);
}
static void packed_gru(ig_onnx *x, const ig_onnx_call *call) {
  emit_packed(x, call, &gru_kind);
}
static void packed_tanh(ig_onnx *x, const ig_onnx_call *call) {
  emit_packed(x, call, &tanh_kind);
}
static void packed_relu(ig_onnx *x, const ig_onnx_call *call) {
  emit_packed(x, call, &relu_kind);
}

const ig_onnx_row ig_onnx_rnn[] = {
    {"aten.lstm.input", lstm, NULL, rnn_can},
    {"aten.gru.input", gru, NULL, rnn_can},
    {"aten.rnn_tanh.input", rnn_tanh, NULL, rnn_can},
    {"aten.rnn_relu.input", rnn_relu, NULL, rnn_can},
    {NULL, NULL, NULL, NULL},
};

// Layers over packed sequences: operators that the exporter of the host defines for its captures.
const ig_onnx_row ig_onnx_packed_rnn[] = {
    {"ingot_packed.lstm.default", packed_lstm, NULL, packed_can},
    {"ingot_packed.gru.default", packed_gru, NULL, packed_can},
    {"ingot_packed.rnn_tanh.default", packed_tanh, NULL, packed_can},
    {"ingot_packed.rnn_relu.default", packed_relu, NULL, packed_can},
    {NULL, NULL, NULL, NULL},
};
