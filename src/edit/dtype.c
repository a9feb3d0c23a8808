// SPDX-License-Identifier: Apache-2.0
// float32 as float16 or bfloat16. Nodes compute in the narrow type where their operator takes it;
// others, and those whose numbers it cannot hold, stay, with Casts beside them. A value whose name
// must keep its type (inputs and outputs of the model, what sub-graphs read) stays float32 under
// that name.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cause.h"
#include "base/options.h"
#include "edit/calibrate.h"
#include "edit/work.h"
#include "onnx/check.h"
#include "onnx/proto_parse.h"
#include "tensor/number.h"

typedef struct narrowing {
  ig_edit *e;
  const ig_dtype_options *o;
  int elem;
  double most;   // the largest number of the type
  ig_ed_work w;  // types of values
  ig_ed_ranges ranges;
  ig_map wide;    // value -> its name as float32; absent: it has none
  ig_map narrow;  // value -> its name in the narrow type
  IG_VEC(ig_om_node) nodes;
  IG_VEC(const ig_om_tensor *) inits;
} narrowing;

// Operators that lose too much, or whose results are sizes and counts.
static bool must_stay(const ig_om_node *n) {
  static const char *const ops[] = {"Range",
                                    "CumSum",
                                    "NonMaxSuppression",
                                    "RoiAlign",
                                    "TopK",
                                    "RandomNormal",
                                    "RandomUniform",
                                    "RandomNormalLike",
                                    "RandomUniformLike",
                                    "Multinomial",
                                    "Bernoulli",
                                    "DequantizeLinear",
                                    "QuantizeLinear",
                                    "DynamicQuantizeLinear",
                                    "EyeLike",
                                    "GridSample",
                                    "ReduceLogSumExp",
                                    "ReduceSumSquare",
                                    "Einsum",
                                    "BlackmanWindow",
                                    "HannWindow",
                                    "HammingWindow",
                                    "MelWeightMatrix",
                                    "DFT",
                                    "STFT",
                                    "Det",
                                    "LpNormalization",
                                    "CastLike",
                                    "Constant"};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
    if (ig_ed_is(n, ops[i])) return true;
  return false;
}

static void note(narrowing *x, const char *what, const ig_om_node *n, const char *why,
                 double number) {
  const ig_edit_note text = {what, *n->name || !n->noutputs ? n->name : n->outputs[0], n->op_type,
                             why, number};
  ig_ed_note(x->e, &text);
}

static bool is_float(narrowing *x, const char *name) {
  return *name && ig_ed_val(&x->w, name)->elem == IG_OM_FLOAT;
}

// The type variables of a node that can be narrow: bits.
static uint32_t narrow_vars(narrowing *x, const ig_om_node *n, const ig_onnx_schema *s) {
  uint32_t can = 0;
  for (uint8_t i = 0; i < s->nbounds && i < 32; i++) {
    for (size_t k = 0; k < n->ninputs + n->noutputs; k++) {
      bool in = k < n->ninputs;
      const char *name = in ? n->inputs[k] : n->outputs[k - n->ninputs];
      const ig_onnx_param *p =
          in ? ig_onnx_schema_input(s, k) : ig_onnx_schema_output(s, k - n->ninputs);
      if (!p || p->var != i || !is_float(x, name)) continue;
      const ig_onnx_types *types = ig_onnx_param_types(s, p);
      if (in && types->forms[IG_ONNX_FORM_TENSOR] >> x->elem & 1) can |= 1u << i;
    }
  }
  return can;
}

// The largest absolute value that a node has to do with.
static double extent(narrowing *x, const ig_om_node *n, const char **of) {
  double most = 0;
  *of = "";
  for (size_t k = 0; k < n->ninputs + n->noutputs; k++) {
    const char *name = k < n->ninputs ? n->inputs[k] : n->outputs[k - n->ninputs];
    const ig_ed_range *r = is_float(x, name) ? ig_ed_range_of(&x->ranges, name) : NULL;
    const ig_om_tensor *t = is_float(x, name) ? ig_ed_val(&x->w, name)->init : NULL;
    double here = r ? r->largest : 0;
    ig_scope s = ig_scope_open(x->e->c);
    const double *at = t && t->numel > 1 ? ig_ed_doubles(x->e, t) : NULL;
    for (int64_t i = 0; at && i < t->numel; i++)
      if (isfinite(at[i]) && fabs(at[i]) > here) here = fabs(at[i]);
    ig_scope_close(x->e->c, s);
    if (here <= most) continue;
    most = here;
    *of = name;
  }
  return most;
}

// Why a node stays float32; NULL: it need not.
static const char *reason(narrowing *x, const ig_om_node *n, uint32_t vars) {
  for (size_t i = 0; i < x->o->nkeep; i++)
    if (ig_ed_node_is(n, x->o->keep[i])) return "as asked";
  if (n->function) return "a call of a function; ingot simplify replaces it by its nodes";
  if (n->domain[0]) return "not an operator of the standard";
  if (ig_ed_has_graphs(n)) return "it has a body, which stays float32";
  if (must_stay(n)) return "its operator needs the precision";
  return vars ? NULL : "its operator does not take the type";
}

static bool has_floats(narrowing *x, const ig_om_node *n) {
  for (size_t i = 0; i < n->ninputs; i++)
    if (is_float(x, n->inputs[i])) return true;
  for (size_t i = 0; i < n->noutputs; i++)
    if (is_float(x, n->outputs[i])) return true;
  return false;
}

// ---- values in both types

static void put_node(narrowing *x, const ig_om_node *n) {
  if (ig_ed_ok(x->e) && !ig_vec_push(x->e->c->alloc, &x->nodes, *n)) ig_ed_no_memory(x->e);
}

static void set(narrowing *x, ig_map *map, const char *value, const char *name) {
  ig_map_value *at = ig_ed_put(x->e, map, value);
  if (at) at->text = name;
}

static const char *get(const ig_map *map, const char *value) {
  const ig_map_value *at = ig_map_find(map, value);
  return at ? at->text : NULL;
}

static void put_cast(narrowing *x, const char *from, const char *to, int elem) {
  ig_om_node cast = ig_ed_node(x->e, NULL, "Cast", &from, 1, to);
  cast.name = to;
  ig_ed_set_int(x->e, &cast, "to", elem);
  put_node(x, &cast);
}

// A weight in the narrow type. Single numbers that are too large, as masks have them, become the
// largest one.
static const char *narrow_weight(narrowing *x, const ig_om_tensor *t, const char *name) {
  ig_edit *e = x->e;
  ig_scope s = ig_scope_open(e->c);
  double *at = ig_ed_doubles(e, t);
  ig_om_tensor *to = at ? ig_ed_tensor(e, name, x->elem, t->ndim, t->dims) : NULL;
  if (to) {
    for (int64_t i = 0; i < t->numel; i++) {
      if (!isfinite(at[i]) || fabs(at[i]) <= x->most) continue;
      const ig_edit_note text = {"clamped", t->name, "", "too large for the type", at[i]};
      ig_ed_note(e, &text);
      at[i] = at[i] < 0 ? -x->most : x->most;
    }
    ig_ed_store(to, at);
    if (!ig_vec_push(e->c->alloc, &x->inits, (const ig_om_tensor *)to)) ig_ed_no_memory(e);
  }
  ig_scope_close(e->c, s);
  return to ? name : t->name;
}

static const char *as_narrow(narrowing *x, const char *value) {
  const char *name = get(&x->narrow, value);
  if (name) return name;
  const ig_om_tensor *t = ig_ed_val(&x->w, value)->init;
  name = ig_ed_fresh(x->e, value, x->elem == IG_OM_FLOAT16 ? "float16" : "bfloat16");
  if (t)
    (void)narrow_weight(x, t, name);
  else
    put_cast(x, value, name, x->elem);
  set(x, &x->narrow, value, name);
  return name;
}

static const char *as_wide(narrowing *x, const char *value) {
  const char *name = get(&x->wide, value);
  if (name) return name;
  const char *from = get(&x->narrow, value);
  if (!from) return value;  // float32 from the start
  name = ig_ed_fresh(x->e, value, "float32");
  put_cast(x, from, name, IG_OM_FLOAT);
  set(x, &x->wide, value, name);
  return name;
}

// Must a result keep its type under its name?
static bool is_held(narrowing *x, const char *name) {
  const ig_ed_value *v = ig_ed_val(&x->w, name);
  return v->inner || (v->out && !x->o->convert_io);
}

// ---- nodes

static void keep_node(narrowing *x, const ig_om_node *n) {
  ig_om_node to = *n;
  for (size_t i = 0; i < n->ninputs; i++) {
    if (!is_float(x, n->inputs[i])) continue;
    const char *name = as_wide(x, n->inputs[i]);
    if (name != n->inputs[i]) ig_ed_set_input(x->e, &to, i, name);
  }
  const char **outputs = ig_ed_push(x->e, n->noutputs, sizeof *outputs);
  if (!outputs) return;
  for (size_t i = 0; i < n->noutputs; i++) {
    outputs[i] = n->outputs[i];
    if (!is_float(x, outputs[i]) || !ig_ed_val(&x->w, outputs[i])->out || !x->o->convert_io)
      continue;
    // The name becomes that of the narrow one.
    outputs[i] = ig_ed_fresh(x->e, n->outputs[i], "float32");
    set(x, &x->wide, n->outputs[i], outputs[i]);
    set(x, &x->narrow, n->outputs[i], n->outputs[i]);
  }
  to.outputs = outputs;
  put_node(x, &to);
  for (size_t i = 0; i < n->noutputs; i++)
    if (outputs[i] != n->outputs[i]) put_cast(x, outputs[i], n->outputs[i], x->elem);
}

static void narrow_node(narrowing *x, const ig_om_node *n, const ig_onnx_schema *s, uint32_t vars) {
  ig_om_node to = *n;
  for (size_t i = 0; i < n->ninputs; i++) {
    const ig_onnx_param *p = ig_onnx_schema_input(s, i);
    if (!is_float(x, n->inputs[i]) || !p) continue;
    bool narrow = p->var < 32 && vars >> p->var & 1;
    const char *name = narrow ? as_narrow(x, n->inputs[i]) : as_wide(x, n->inputs[i]);
    if (name != n->inputs[i]) ig_ed_set_input(x->e, &to, i, name);
  }
  const char **outputs = ig_ed_push(x->e, n->noutputs, sizeof *outputs);
  if (!outputs) return;
  for (size_t i = 0; i < n->noutputs; i++) {
    const ig_onnx_param *p = ig_onnx_schema_output(s, i);
    outputs[i] = n->outputs[i];
    bool narrow = p && p->var < 32 && vars >> p->var & 1 && is_float(x, n->outputs[i]);
    if (!narrow) continue;
    if (is_held(x, n->outputs[i])) outputs[i] = ig_ed_fresh(x->e, n->outputs[i], "narrow");
    set(x, &x->narrow, n->outputs[i], outputs[i]);
  }
  to.outputs = outputs;
  put_node(x, &to);
  for (size_t i = 0; i < n->noutputs; i++) {
    if (outputs[i] == n->outputs[i]) continue;
    put_cast(x, outputs[i], n->outputs[i], IG_OM_FLOAT);
    set(x, &x->wide, n->outputs[i], n->outputs[i]);
  }
}

// Casts to float32 and constants of sizes are made in the narrow type at once. True: it was one.
static bool narrow_source(narrowing *x, const ig_om_node *n) {
  bool cast = ig_ed_is(n, "Cast") && ig_ed_int(n, "to", 0) == IG_OM_FLOAT;
  bool fill = ig_ed_is(n, "ConstantOfShape");
  bool held = n->noutputs != 1 || is_held(x, n->outputs[0]) ||
              (x->o->convert_io && ig_ed_val(&x->w, n->outputs[0])->out);
  const ig_ed_range *r = n->noutputs ? ig_ed_range_of(&x->ranges, n->outputs[0]) : NULL;
  if ((!cast && !fill) || held || !is_float(x, n->outputs[0]) || (r && r->largest > x->most))
    return false;
  for (size_t i = 0; i < x->o->nkeep; i++)
    if (ig_ed_node_is(n, x->o->keep[i])) return false;
  // Whole numbers that the type does not have (positions, sizes) stay.
  if (cast && ig_ed_val(&x->w, ig_ed_in(n, 0))->elem != IG_OM_BOOL) return false;
  ig_om_node to = *n;
  if (cast) ig_ed_set_int(x->e, &to, "to", x->elem);
  if (fill) {
    const ig_om_attr *a = ig_om_find_attr(n, "value");
    const ig_om_tensor **list = ig_ed_push(x->e, 1, sizeof *list);
    ig_scope s = ig_scope_open(x->e->c);
    double zero = 0;
    const double *at =
        a && a->type == IG_OM_ATTR_TENSOR ? ig_ed_doubles(x->e, a->tensors[0]) : &zero;
    ig_om_tensor *t = ig_ed_tensor(x->e, "value", x->elem, 1, &(int64_t){1});
    bool fits = at && t && list && (!isfinite(at[0]) || fabs(at[0]) <= x->most);
    if (fits) ig_ed_store(t, at);
    ig_scope_close(x->e->c, s);
    if (!fits) return false;
    *list = t;
    ig_ed_set_attr(
        x->e, &to,
        &(ig_om_attr){
            .name = "value", .doc = "", .type = IG_OM_ATTR_TENSOR, .n = 1, .tensors = list});
  }
  set(x, &x->narrow, n->outputs[0], n->outputs[0]);
  put_node(x, &to);
  return true;
}

static void take(narrowing *x, const ig_om_node *n) {
  const ig_onnx_schema *s = ig_onnx_schema_find(n->domain, n->op_type, ig_ed_opset(x->e));
  uint32_t vars = s && !n->function ? narrow_vars(x, n, s) : 0;
  if (!has_floats(x, n)) {
    put_node(x, n);
    return;
  }
  if (narrow_source(x, n)) return;
  const char *why = reason(x, n, vars);
  const char *of = "";
  double most = why ? 0 : extent(x, n, &of);
  if (!why && most <= x->most) {
    narrow_node(x, n, s, vars);
    return;
  }
  if (why)
    note(x, "kept", n, why, NAN);
  else
    note(x, "overflow", n, ig_ed_text(x->e, "'%s' has a number of", of), most);
  keep_node(x, n);
}

// ---- the model

// Constants as weights, so that they are known.
static void lift_constants(ig_edit *e) {
  ig_om_graph *g = e->m.graph;
  size_t kept = 0;
  size_t ninits = g->ninits;
  const ig_om_tensor **inits = ig_ed_push(e, ig_mem_add(ninits, g->nnodes), sizeof *inits);
  if (!inits) return;
  if (ninits) memcpy(inits, g->inits, ninits * sizeof *inits);
  for (size_t i = 0; i < g->nnodes && ig_ed_ok(e); i++) {
    const ig_om_node *n = &g->nodes[i];
    const ig_om_attr *a = ig_ed_is(n, "Constant") && n->nattrs == 1 ? &n->attrs[0] : NULL;
    ig_om_tensor *t = NULL;
    bool out = false;
    for (size_t k = 0; a && k < g->noutputs; k++)
      out |= strcmp(g->outputs[k].name, n->outputs[0]) == 0;
    if (a && !out && a->type == IG_OM_ATTR_TENSOR && (t = ig_ed_push(e, 1, sizeof *t)))
      *t = *a->tensors[0];
    if (a && !out && a->type == IG_OM_ATTR_FLOAT && (t = ig_ed_tensor(e, "", IG_OM_FLOAT, 0, NULL)))
      memcpy((void *)t->raw.at, &a->f, sizeof a->f);
    if (t) {
      t->name = n->outputs[0];
      inits[ninits++] = t;
    } else {
      g->nodes[kept++] = g->nodes[i];
    }
  }
  g->nnodes = kept;
  g->inits = inits;
  g->ninits = ninits;
}

static void convert_ports(narrowing *x) {
  ig_om_graph *g = x->e->m.graph;
  ig_om_info *inputs = ig_ed_push(x->e, g->ninputs, sizeof *inputs);
  ig_om_info *outputs = ig_ed_push(x->e, g->noutputs, sizeof *outputs);
  for (size_t i = 0; inputs && i < g->ninputs; i++) {
    inputs[i] = g->inputs[i];
    bool held = g->input_defaults[i] || ig_ed_val(&x->w, inputs[i].name)->inner;
    if (!is_float(x, inputs[i].name) || held) continue;
    inputs[i].type.elem = x->elem;
    set(x, &x->narrow, inputs[i].name, inputs[i].name);
  }
  for (size_t i = 0; outputs && i < g->noutputs; i++) {
    outputs[i] = g->outputs[i];
    if (is_float(x, outputs[i].name) && !ig_ed_val(&x->w, outputs[i].name)->inner)
      outputs[i].type.elem = x->elem;
  }
  if (!inputs || !outputs) return;
  g->inputs = inputs;
  g->outputs = outputs;
}

static void used_by(ig_edit *e, ig_map *used, const ig_om_graph *g) {
  for (size_t i = 0; i < g->nnodes && ig_ed_ok(e); i++) {
    const ig_om_node *n = &g->nodes[i];
    for (size_t k = 0; k < n->ninputs; k++) (void)ig_ed_put(e, used, n->inputs[k]);
    for (size_t k = 0; k < n->nattrs; k++) {
      const ig_om_attr *a = &n->attrs[k];
      for (size_t j = 0; j < ig_ed_bodies(a); j++) used_by(e, used, a->graphs[j]);
    }
  }
  for (size_t i = 0; i < g->noutputs; i++) (void)ig_ed_put(e, used, g->outputs[i].name);
}

static void finish(narrowing *x) {
  ig_edit *e = x->e;
  ig_om_graph *g = e->m.graph;
  ig_om_node *nodes = ig_ed_push(e, x->nodes.n, sizeof *nodes);
  if (!nodes) return;
  if (x->nodes.n) memcpy(nodes, x->nodes.at, x->nodes.n * sizeof *nodes);
  g->nodes = nodes;
  g->nnodes = x->nodes.n;
  ig_map used = ig_map_make(e->c->alloc);
  used_by(e, &used, g);
  const ig_om_tensor **inits = ig_ed_push(e, ig_mem_add(g->ninits, x->inits.n), sizeof *inits);
  size_t n = 0;
  for (size_t i = 0; inits && i < g->ninits; i++)
    if (ig_map_find(&used, g->inits[i]->name) || ig_ed_val(&x->w, g->inits[i]->name)->in)
      inits[n++] = g->inits[i];
  for (size_t i = 0; inits && i < x->inits.n; i++) inits[n++] = x->inits.at[i];
  g->inits = inits;
  g->ninits = inits ? n : 0;
  g->nvalues = 0;
  ig_map_free(&used);
}

static ig_status narrow(narrowing *x) {
  ig_edit *e = x->e;
  if (x->o->nruns) IG_RETURN_IF_ERR(ig_ed_measure(e, x->o->runs, x->o->nruns, false, &x->ranges));
  IG_RETURN_IF_ERR(ig_ed_work_open(&x->w));
  if (x->o->convert_io) convert_ports(x);
  for (size_t i = 0; i < e->m.graph->nnodes && ig_ed_ok(e); i++) take(x, &e->m.graph->nodes[i]);
  if (ig_ed_ok(e)) finish(x);
  return e->c->status;
}

ig_status ig_edit_dtype(ig_edit *e, const ig_dtype_options *options) {
  ig_dtype_options o;
  IG_OPTIONS_TAKE(&o, options, nruns);
  if (o.dtype != IG_F16 && o.dtype != IG_BF16)
    return ig_fail(e->c, IG_INVALID, "%s: weights become float16 or bfloat16, not %s", e->m.name,
                   ig_dtype_text(o.dtype));
  IG_RETURN_IF_ERR(ig_ed_begin(e));
  ig_ed_fix_weights(e);
  lift_constants(e);
  IG_RETURN_IF_ERR(ig_ed_end(e));
  bool half = o.dtype == IG_F16;
  ig_alloc a = e->c->alloc;
  narrowing x = {.e = e,
                 .o = &o,
                 .elem = half ? IG_OM_FLOAT16 : IG_OM_BFLOAT16,
                 .most = half ? 65504 : (double)3.38953139e38F,
                 .w = {.e = e, .g = e->m.graph},
                 .ranges = {.e = e, .at = ig_map_make(a)},
                 .wide = ig_map_make(a),
                 .narrow = ig_map_make(a)};
  ig_status st = narrow(&x);
  ig_map_free(&x.w.values);
  ig_map_free(&x.w.hidden);
  ig_map_free(&x.w.same);
  ig_map_free(&x.ranges.at);
  ig_map_free(&x.wide);
  ig_map_free(&x.narrow);
  ig_vec_free(a, &x.nodes);
  ig_vec_free(a, &x.inits);
  IG_RETURN_IF_ERR(st);
  IG_RETURN_IF_ERR(ig_ed_end(e));
  IG_RETURN_IF_ERR(ig_ed_infer(e));
  return ig_ed_end(e);
}
