// SPDX-License-Identifier: Apache-2.0
// Weights as 8- or 4-bit integers, and activations between QuantizeLinear and DequantizeLinear. A
// weight keeps its name: DequantizeLinear makes it from the integers, so that its readers are not
// touched.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cause.h"
#include "base/options.h"
#include "edit/calibrate.h"
#include "edit/work.h"
#include "mode/mode.h"
#include "onnx/proto_parse.h"
#include "op/interpret.h"
#include "tensor/copy.h"

typedef struct quantizing {
  ig_edit *e;
  const ig_quantize_options *o;
  ig_ed_work w;
  ig_ed_ranges ranges;
  ig_map readers;  // weight -> its state, see below
  ig_map inputs;   // activation -> its name behind the pair
  IG_VEC(ig_om_node) nodes;
  IG_VEC(const ig_om_tensor *) inits;
  IG_VEC(const char *) layers;  // results whose errors are measured
  ig_map scales;                // weight -> its scales
  ig_map makers;                // value -> its node + 1
} quantizing;

// Where a layer's weight is, and what it is made of.
typedef struct slot {
  const char *op;
  size_t weight;
  bool product;  // a matrix product: also in 4 bits
} slot;
static const slot slots[] = {{"MatMul", 1, true},
                             {"Gemm", 1, true},
                             {"Conv", 1, false},
                             {"ConvTranspose", 1, false},
                             {"Gather", 0, false}};

static const slot *slot_of(const ig_om_node *n) {
  for (size_t i = 0; i < sizeof slots / sizeof *slots; i++)
    if (ig_ed_is(n, slots[i].op)) return &slots[i];
  return NULL;
}

// The dimension of a weight whose members have a scale each; of 4-bit weights the one that is
// summed over.
static int axis_of(const ig_om_node *n, int ndim, bool summed) {
  bool turned = ig_ed_int(n, "transB", 0) != 0;
  if (ig_ed_is(n, "Gemm")) return turned == summed ? 1 : 0;
  if (ig_ed_is(n, "MatMul")) return summed ? ndim - 2 : ndim - 1;
  return ig_ed_is(n, "ConvTranspose") && ig_ed_int(n, "group", 1) == 1 ? 1 : 0;
}

static bool is_kept(quantizing *q, const ig_om_node *n) {
  for (size_t i = 0; i < q->o->nkeep; i++)
    if (ig_ed_node_is(n, q->o->keep[i])) return true;
  return false;
}

static void put_node(quantizing *q, const ig_om_node *n) {
  if (ig_ed_ok(q->e) && !ig_vec_push(q->e->c->alloc, &q->nodes, *n)) ig_ed_no_memory(q->e);
}

static void put_init(quantizing *q, const ig_om_tensor *t) {
  if (t && ig_ed_ok(q->e) && !ig_vec_push(q->e->c->alloc, &q->inits, t)) ig_ed_no_memory(q->e);
}

// ---- weights

// One weight as integers: sizes before the axis, along it, and behind it.
typedef struct grid {
  const ig_om_tensor *t;
  int axis;
  int64_t outer;
  int64_t n;
  int64_t inner;
  int64_t block;   // members of the axis that share a scale: 1, or a block of 4-bit weights
  int64_t blocks;  // along the axis
  bool per_row;    // a scale for every place beside the axis, too
  int limit;       // the largest integer
} grid;

static grid measure(const ig_om_tensor *t, int axis, int64_t block) {
  grid g = {.t = t, .axis = axis, .outer = 1, .inner = 1, .n = t->dims[axis], .limit = 127};
  for (int d = 0; d < axis; d++) g.outer *= t->dims[d];  // at most numel
  for (int d = axis + 1; d < t->ndim; d++) g.inner *= t->dims[d];
  g.block = block ? block : 1;
  g.blocks = (g.n + g.block - 1) / g.block;
  g.per_row = block != 0;
  if (block) g.limit = 7;
  return g;
}

// Number of the scale of an element.
static int64_t scale_at(const grid *g, int64_t i) {
  int64_t place = i / g->inner % g->n / g->block;
  if (!g->per_row) return place;
  return (i / g->inner / g->n * g->blocks + place) * g->inner + i % g->inner;
}

static ig_om_tensor *scales_of(quantizing *q, const grid *g, const double *at, const char *name) {
  int64_t dims[IG_MAX_DIM];
  int ndim = 1;
  dims[0] = g->blocks;
  if (g->per_row) {
    ndim = g->t->ndim;
    memcpy(dims, g->t->dims, (size_t)ndim * sizeof *dims);
    dims[g->axis] = g->blocks;
  }
  ig_om_tensor *t = ig_ed_tensor(q->e, name, IG_OM_FLOAT, ndim, dims);
  double *scale = t ? ig_scope_array(q->e->c, (size_t)t->numel + 1, sizeof *scale) : NULL;
  if (!scale) return NULL;
  for (int64_t i = 0; i < t->numel; i++) scale[i] = 0;
  for (int64_t i = 0; i < g->t->numel; i++) {
    double *s = &scale[scale_at(g, i)];
    if (fabs(at[i]) > *s) *s = fabs(at[i]);
  }
  for (int64_t i = 0; i < t->numel; i++) {
    scale[i] = (double)(float)(scale[i] / g->limit);
    if (!(scale[i] > 0)) scale[i] = 1;  // all zeros, or numbers too small to be divided
  }
  ig_ed_store(t, scale);
  return t;
}

static int rounded(double x, int low, int high) {
  double r = nearbyint(x);
  return r < low ? low : r > high ? high : (int)r;
}

// Integers, and the error that they make: the norm of the difference relative to that of the
// weight.
static ig_om_tensor *integers_of(quantizing *q, const grid *g, const double *at,
                                 const ig_om_tensor *scales, const char *name, double *error) {
  bool four = g->per_row;
  ig_om_tensor *t =
      ig_ed_tensor(q->e, name, four ? IG_OM_INT4 : IG_OM_INT8, g->t->ndim, g->t->dims);
  const double *scale = t ? ig_ed_doubles(q->e, scales) : NULL;
  if (!scale) return NULL;
  uint8_t *raw = (uint8_t *)t->raw.at;
  double lost = 0;
  double all = 0;
  for (int64_t i = 0; i < t->numel; i++) {
    double s = scale[scale_at(g, i)];
    int x = rounded(at[i] / s, -g->limit, g->limit);
    double d = at[i] - x * s;
    lost += d * d;
    all += at[i] * at[i];
    if (!four) raw[i] = (uint8_t)(int8_t)x;
    if (four) raw[i / 2] |= (uint8_t)((x & 15) << (i % 2 * 4));
  }
  *error = all > 0 ? sqrt(lost / all) : 0;
  return t;
}

static bool all_finite(const double *at, int64_t n) {
  for (int64_t i = 0; at && i < n; i++)
    if (!isfinite(at[i])) return false;
  return at != NULL;
}

static void quantize_weight(quantizing *q, const ig_om_node *n, const ig_om_tensor *t) {
  ig_edit *e = q->e;
  bool four = q->o->how == IG_QUANTIZE_INT4;
  int64_t block = four ? (q->o->block ? q->o->block : 32) : 0;
  grid g = measure(t, axis_of(n, t->ndim, four), block);
  double error = 0;
  ig_scope s = ig_scope_open(e->c);
  double *at = ig_ed_doubles(e, t);
  bool finite = all_finite(at, t->numel);
  const char *name = ig_ed_text(e, "%s", t->name);
  ig_om_tensor *scales = finite ? scales_of(q, &g, at, ig_ed_fresh(e, name, "scale")) : NULL;
  ig_om_tensor *whole =
      scales ? integers_of(q, &g, at, scales, ig_ed_fresh(e, name, "quantized"), &error) : NULL;
  ig_scope_close(e->c, s);
  ig_edit_note text = {"quantized", name, n->op_type, four ? "int4 by blocks" : "int8 per channel",
                       error};
  if (!whole) {
    text.what = "kept";
    text.why = "it has numbers that are not finite";
    text.number = NAN;
  }
  ig_ed_note(e, &text);
  if (!whole) return;
  put_init(q, whole);
  put_init(q, scales);
  const char *in[] = {whole->name, scales->name};
  ig_om_node dq = ig_ed_node(e, NULL, "DequantizeLinear", in, 2, name);
  dq.name = ig_ed_text(e, "%s/DequantizeLinear", name);
  ig_ed_set_int(e, &dq, "axis", g.axis);
  if (four) ig_ed_set_int(e, &dq, "block_size", block);
  put_node(q, &dq);
  ig_map_value *known = ig_ed_put(e, &q->scales, name);
  if (known) known->ptr = scales;
}

typedef enum reading { UNREAD, BY_LAYERS, BY_OTHERS } reading;

// Which weights only layers read, that are to be quantized.
static void note_readers(quantizing *q, const ig_om_graph *g, bool inner) {
  for (size_t i = 0; i < g->nnodes && ig_ed_ok(q->e); i++) {
    const ig_om_node *n = &g->nodes[i];
    const slot *s = slot_of(n);
    bool layer = s && !inner && !is_kept(q, n) && (s->product || q->o->how != IG_QUANTIZE_INT4) &&
                 (strcmp(s->op, "Gather") != 0 || ig_ed_int(n, "axis", 0) == 0);
    for (size_t k = 0; k < n->ninputs; k++) {
      ig_map_value *at = ig_ed_put(q->e, &q->readers, n->inputs[k]);
      if (at && !(layer && k == s->weight)) at->num = BY_OTHERS;
      if (at && at->num == UNREAD) at->num = BY_LAYERS;
    }
    for (size_t k = 0; k < n->nattrs; k++) {
      const ig_om_attr *a = &n->attrs[k];
      for (size_t j = 0; j < ig_ed_bodies(a); j++) note_readers(q, a->graphs[j], true);
    }
  }
  for (size_t i = 0; i < g->noutputs; i++) {
    ig_map_value *at = ig_ed_put(q->e, &q->readers, g->outputs[i].name);
    if (at) at->num = BY_OTHERS;
  }
}

// The weight of a layer if it is one to be quantized; NULL otherwise.
static const ig_om_tensor *weight_of(quantizing *q, const ig_om_node *n) {
  const slot *s = slot_of(n);
  const char *name = s ? ig_ed_in(n, s->weight) : "";
  const ig_om_tensor *t = ig_ed_val(&q->w, name)->init;
  const ig_map_value *at = t ? ig_map_find(&q->readers, name) : NULL;
  bool fits = at && at->num == BY_LAYERS && t->elem == IG_OM_FLOAT && t->ndim >= 2 && t->numel > 0;
  if (q->o->how == IG_QUANTIZE_QDQ && s && strcmp(s->op, "Gather") == 0) fits = false;
  return fits ? t : NULL;
}

// ---- activations

static ig_om_tensor *number(quantizing *q, const char *base, const char *word, int elem, double x) {
  ig_om_tensor *t = ig_ed_tensor(q->e, ig_ed_fresh(q->e, base, word), elem, 0, NULL);
  if (t) ig_ed_store(t, &x);
  put_init(q, t);
  return t;
}

typedef struct affine {
  double scale;
  int zero;
} affine;

static affine range_of(const quantizing *q, const ig_ed_range *r) {
  double low = r->low < 0 ? r->low : 0;
  double high = r->high > 0 ? r->high : 0;
  if (q->o->percentile > 0 && q->o->percentile < 100) {
    double most = ig_ed_percentile(r, q->o->percentile);
    if (low < -most) low = -most;
    if (high > most) high = most;
  }
  affine a = {(double)(float)((high - low) / 255), 0};
  if (!(a.scale > 0) || !isfinite(a.scale)) a.scale = 1;
  a.zero = rounded(-128 - low / a.scale, -128, 127);
  return a;
}

// The name of an activation behind QuantizeLinear and DequantizeLinear; itself: it was not seen.
static const char *paired(quantizing *q, const char *name, double *scale) {
  ig_edit *e = q->e;
  const ig_ed_range *r = ig_ed_range_of(&q->ranges, name);
  if (!r || !r->finite || ig_ed_val(&q->w, name)->elem != IG_OM_FLOAT) return name;
  affine a = range_of(q, r);
  *scale = a.scale;
  ig_map_value *at = ig_ed_put(e, &q->inputs, name);
  if (!at || at->text) return at ? at->text : name;
  ig_om_tensor *s = number(q, name, "scale", IG_OM_FLOAT, a.scale);
  ig_om_tensor *z = number(q, name, "zero_point", IG_OM_INT8, a.zero);
  if (!s || !z) return name;
  const char *whole = ig_ed_fresh(e, name, "quantized");
  const char *back = ig_ed_fresh(e, name, "dequantized");
  const char *in[] = {name, s->name, z->name};
  ig_om_node node = ig_ed_node(e, NULL, "QuantizeLinear", in, 3, whole);
  node.name = whole;
  put_node(q, &node);
  in[0] = whole;
  node = ig_ed_node(e, NULL, "DequantizeLinear", in, 3, back);
  node.name = back;
  put_node(q, &node);
  at->text = back;
  return back;
}

// The bias as 32-bit integers in the scale of the products.
static void quantize_bias(quantizing *q, ig_om_node *n, double scale, const ig_om_tensor *scales) {
  ig_edit *e = q->e;
  const char *name = ig_ed_in(n, 2);
  const ig_om_tensor *t = *name ? ig_ed_val(&q->w, name)->init : NULL;
  if (!t || t->elem != IG_OM_FLOAT || t->ndim != 1 || !scales || scales->ndim != 1 ||
      scales->numel != t->numel || ig_ed_float(n, "beta", 1) != 1 ||
      ig_ed_float(n, "alpha", 1) != 1)
    return;
  ig_scope s = ig_scope_open(e->c);
  double *at = ig_ed_doubles(e, t);
  double *by = ig_ed_doubles(e, scales);
  bool fits = all_finite(at, t->numel) && by != NULL;
  for (int64_t i = 0; fits && i < t->numel; i++) {
    by[i] = (double)(float)(by[i] * scale);
    at[i] = nearbyint(at[i] / by[i]);
    fits = fabs(at[i]) < INT32_MAX;
  }
  ig_om_tensor *whole =
      fits ? ig_ed_tensor(e, ig_ed_fresh(e, name, "quantized"), IG_OM_INT32, 1, t->dims) : NULL;
  ig_om_tensor *factors =
      whole ? ig_ed_tensor(e, ig_ed_fresh(e, name, "scale"), IG_OM_FLOAT, 1, t->dims) : NULL;
  if (factors) {
    ig_ed_store(whole, at);
    ig_ed_store(factors, by);
  }
  ig_scope_close(e->c, s);
  if (!factors) return;
  put_init(q, whole);
  put_init(q, factors);
  const char *in[] = {whole->name, factors->name};
  const char *out = ig_ed_fresh(e, name, "dequantized");
  ig_om_node dq = ig_ed_node(e, NULL, "DequantizeLinear", in, 2, out);
  dq.name = out;
  ig_ed_set_int(e, &dq, "axis", 0);
  put_node(q, &dq);
  ig_ed_set_input(e, n, 2, out);
}

static void pair_inputs(quantizing *q, ig_om_node *n) {
  double scale = 0;
  for (size_t i = 0; i < 2 && i < n->ninputs; i++) {
    if (ig_ed_val(&q->w, n->inputs[i])->init) continue;
    double own = 0;
    const char *name = paired(q, n->inputs[i], &own);
    if (i == 0) scale = own;
    if (name != n->inputs[i]) ig_ed_set_input(q->e, n, i, name);
  }
  const ig_map_value *at = ig_map_find(&q->scales, ig_ed_in(n, 1));
  if (scale > 0 && at) quantize_bias(q, n, scale, at->ptr);
}

// ---- the model

// Does a node over weights alone make the value?
static bool is_of_weights(quantizing *q, const char *name) {
  const ig_om_graph *g = q->e->m.graph;
  const ig_map_value *at = ig_map_find(&q->makers, name);
  const ig_om_node *n = at && at->num ? &g->nodes[at->num - 1] : NULL;
  for (size_t i = 0; n && i < n->ninputs; i++)
    if (*n->inputs[i] && !ig_ed_val(&q->w, n->inputs[i])->init) return false;
  return n != NULL && n->ninputs > 0;
}

static void take(quantizing *q, const ig_om_node *node) {
  ig_om_node n = *node;
  const slot *s = slot_of(&n);
  const ig_om_tensor *t = s && !is_kept(q, &n) ? weight_of(q, &n) : NULL;
  bool computed = s && s->product && !is_kept(q, &n) && n.ninputs > 1 &&
                  q->o->how != IG_QUANTIZE_QDQ && !ig_ed_val(&q->w, n.inputs[1])->init &&
                  is_of_weights(q, n.inputs[1]);
  if (computed) {
    const ig_edit_note text = {"kept", *n.name ? n.name : n.outputs[0], n.op_type,
                               "its weight is computed; ingot simplify does so ahead", NAN};
    ig_ed_note(q->e, &text);
  }
  bool products = ig_ed_is(&n, "MatMul") && !is_kept(q, &n) && q->o->how == IG_QUANTIZE_QDQ;
  if (t && !ig_map_find(&q->scales, t->name)) quantize_weight(q, &n, t);
  bool done = t && ig_map_find(&q->scales, t->name);
  if ((done || products) && q->o->how == IG_QUANTIZE_QDQ) pair_inputs(q, &n);
  if ((done || products) && !ig_vec_push(q->e->c->alloc, &q->layers, n.outputs[0]))
    ig_ed_no_memory(q->e);
  put_node(q, &n);
}

static void finish(quantizing *q) {
  ig_edit *e = q->e;
  ig_om_graph *g = e->m.graph;
  ig_om_node *nodes = ig_ed_push(e, q->nodes.n, sizeof *nodes);
  const ig_om_tensor **inits = ig_ed_push(e, ig_mem_add(g->ninits, q->inits.n), sizeof *inits);
  if (!nodes || !inits) return;
  if (q->nodes.n) memcpy(nodes, q->nodes.at, q->nodes.n * sizeof *nodes);
  g->nodes = nodes;
  g->nnodes = q->nodes.n;
  ig_map used = ig_map_make(e->c->alloc);
  for (size_t i = 0; i < g->nnodes; i++)
    for (size_t k = 0; k < g->nodes[i].ninputs; k++)
      (void)ig_ed_put(e, &used, g->nodes[i].inputs[k]);
  size_t n = 0;
  for (size_t i = 0; i < g->ninits; i++) {
    const char *name = g->inits[i]->name;
    // The quantized ones are results now; of biases only those that nothing reads go.
    bool read = ig_map_find(&q->readers, name) != NULL;
    bool gone = ig_map_find(&q->scales, name) != NULL ||
                (read && !ig_map_find(&used, name) && !ig_ed_val(&q->w, name)->inner &&
                 !ig_ed_val(&q->w, name)->out && !ig_ed_val(&q->w, name)->in);
    if (!gone) inits[n++] = g->inits[i];
  }
  for (size_t i = 0; i < q->inits.n; i++) inits[n++] = q->inits.at[i];
  g->inits = inits;
  g->ninits = n;
  g->nvalues = 0;
  ig_map_free(&used);
}

// ---- errors of layers

typedef struct watching {
  quantizing *q;
  ig_map kept;   // result -> tensor of the original
  bool compare;  // the second run
} watching;

static void on_value(void *user, const char *name, const char *target, const ig_value *v) {
  watching *w = user;
  ig_edit *e = w->q->e;
  ig_map_value *at = ig_map_find(&w->kept, name);
  if (!at || v->kind != IG_KIND_TENSOR || !ig_dtype_is_float(ig_tensor_dtype(v->tensor))) return;
  if (!w->compare) {
    ig_tensor_release(at->ptr);
    at->ptr = ig_tensor_retain(v->tensor);
    return;
  }
  const ig_tensor *was = at->ptr;
  int64_t n = ig_tensor_numel(v->tensor);
  if (!was || ig_tensor_numel(was) != n) return;
  ig_scope s = ig_scope_open(e->c);
  float *a = ig_scope_array(e->c, (size_t)n + 1, sizeof *a);
  float *b = ig_scope_array(e->c, (size_t)n + 1, sizeof *b);
  if (a && b) {
    double lost = 0;
    double all = 0;
    ig_tensor_read(was, IG_F32, a);
    ig_tensor_read(v->tensor, IG_F32, b);
    for (int64_t i = 0; i < n; i++) {
      double d = (double)a[i] - (double)b[i];
      lost += d * d;
      all += (double)a[i] * (double)a[i];
    }
    const ig_edit_note text = {"layer", name, target, "error of its result",
                               all > 0 ? sqrt(lost / all) : sqrt(lost)};
    ig_ed_note(e, &text);
  }
  ig_scope_close(e->c, s);
}

static ig_status run_watched(watching *w, const ig_onnx_model *m) {
  ig_edit *e = w->q->e;
  const ig_edit_run *run = &w->q->o->runs[0];
  const ig_watch watch = {on_value, w};
  ig_scope s = ig_scope_open(e->c);
  ig_value *outs = ig_scope_array(e->c, m->graph->noutputs + 1, sizeof *outs);
  const ig_mode_change change = {IG_MODE_WATCH, {.watch = &watch}};
  ig_mode_scope mode = ig_mode_push(e->c, &change);
  ig_status st = outs ? ig_onnx_run(e->c, m, run->inputs, run->n, outs) : e->c->status;
  ig_mode_pop(e->c, &mode);
  ig_scope_close(e->c, s);
  return st;
}

// Bodies are shared by both models, and know the places of values in one of them.
static ig_status compare_layers(quantizing *q, ig_onnx_model *before) {
  watching w = {.q = q, .kept = ig_map_make(q->e->c->alloc)};
  for (size_t i = 0; i < q->layers.n; i++) (void)ig_ed_put(q->e, &w.kept, q->layers.at[i]);
  before->arena = ig_arena_make(q->e->c->alloc);
  ig_status st = ig_om_resolve(q->e->c, before);
  if (st == IG_OK) st = run_watched(&w, before);
  ig_arena_free(&before->arena);
  w.compare = true;
  if (st == IG_OK) st = ig_om_resolve(q->e->c, &q->e->m);
  if (st == IG_OK) st = run_watched(&w, &q->e->m);
  for (size_t i = 0; i < q->layers.n; i++) {
    ig_map_value *at = ig_map_find(&w.kept, q->layers.at[i]);
    if (at && at->ptr) ig_tensor_release(at->ptr);
    if (at) at->ptr = NULL;
  }
  ig_map_free(&w.kept);
  return st;
}

static ig_status check_options(const ig_edit *e, const ig_quantize_options *o) {
  int64_t least = o->how == IG_QUANTIZE_INT4 ? 21 : 13;
  if (ig_ed_opset(e) < least)
    return ig_fail(
        e->c, IG_UNSUPPORTED,
        "%s: opset %lld; these weights need %lld: ingot convert in.onnx out.onnx --opset "
        "%lld",
        e->m.name, (long long)ig_ed_opset(e), (long long)least, (long long)least);
  if (o->how == IG_QUANTIZE_QDQ && !o->nruns)
    return ig_fail(e->c, IG_INVALID, "%s: quantizing activations needs inputs to calibrate with",
                   e->m.name);
  if (o->block < 0 || (o->block && (o->block < 16 || o->block > 1 << 16)))
    return ig_fail(e->c, IG_INVALID, "%s: blocks of %d, expected 16 to 65536", e->m.name, o->block);
  if (o->percentile < 0 || o->percentile > 100)
    return ig_fail(e->c, IG_INVALID, "%s: percentile %g, expected 0 to 100", e->m.name,
                   o->percentile);
  return IG_OK;
}

static ig_status quantize(quantizing *q) {
  ig_edit *e = q->e;
  ig_om_graph before = *e->m.graph;
  ig_onnx_model old = e->m;
  old.graph = &before;
  bool qdq = q->o->how == IG_QUANTIZE_QDQ;
  if (qdq) {
    ig_map_free(&q->ranges.at);
    IG_RETURN_IF_ERR(ig_ed_measure(e, q->o->runs, q->o->nruns, q->o->percentile > 0, &q->ranges));
  }
  IG_RETURN_IF_ERR(ig_ed_work_open(&q->w));
  note_readers(q, e->m.graph, false);
  for (size_t i = 0; i < e->m.graph->nnodes; i++) {
    const ig_om_node *n = &e->m.graph->nodes[i];
    ig_map_value *at = n->noutputs ? ig_ed_put(e, &q->makers, n->outputs[0]) : NULL;
    if (at) at->num = i + 1;
  }
  for (size_t i = 0; i < e->m.graph->nnodes && ig_ed_ok(e); i++) take(q, &e->m.graph->nodes[i]);
  if (ig_ed_ok(e)) finish(q);
  if (q->o->how == IG_QUANTIZE_INT4 && e->m.ir_version < 10) e->m.ir_version = 10;
  IG_RETURN_IF_ERR(ig_ed_end(e));
  return q->o->nruns ? compare_layers(q, &old) : IG_OK;
}

ig_status ig_edit_quantize(ig_edit *e, const ig_quantize_options *options) {
  ig_quantize_options o;
  IG_OPTIONS_TAKE(&o, options, nruns);
  IG_RETURN_IF_ERR(ig_ed_begin(e));
  IG_RETURN_IF_ERR(check_options(e, &o));
  ig_alloc a = e->c->alloc;
  quantizing q = {.e = e,
                  .o = &o,
                  .w = {.e = e, .g = e->m.graph},
                  .ranges = {.e = e, .at = ig_map_make(a)},
                  .readers = ig_map_make(a),
                  .inputs = ig_map_make(a),
                  .scales = ig_map_make(a),
                  .makers = ig_map_make(a)};
  ig_status st = quantize(&q);
  ig_map_free(&q.w.values);
  ig_map_free(&q.w.hidden);
  ig_map_free(&q.w.same);
  ig_map_free(&q.ranges.at);
  ig_map_free(&q.readers);
  ig_map_free(&q.inputs);
  ig_map_free(&q.scales);
  ig_map_free(&q.makers);
  ig_vec_free(a, &q.nodes);
  ig_vec_free(a, &q.inits);
  ig_vec_free(a, &q.layers);
  IG_RETURN_IF_ERR(st);
  IG_RETURN_IF_ERR(ig_ed_infer(e));
  return ig_ed_end(e);
}
