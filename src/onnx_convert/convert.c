// SPDX-License-Identifier: Apache-2.0
// The conversion of a model: graphs, sub-graphs and functions node by node; see convert.h.
#include "onnx_convert/convert.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/cause.h"
#include "ingot/file.h"
#include "onnx/check.h"
#include "onnx/model.h"
#include "onnx/proto_parse.h"
#include "onnx_read/infer.h"

enum { OLDEST = 7, MAX_REFUSED = 50, TRAINING_INFO = 20 };

bool ig_cv_refuse(ig_cv *v, const char *fmt, ...) {
  bool told = v->refused;
  v->refused = true;
  if (told || v->nrefused++ >= MAX_REFUSED) return true;
  char text[512];
  char room[256];
  va_list args;
  va_start(args, fmt);
  (void)vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  if (v->nrefused > 1) ig_str_add(&v->refusals, "\n");
  if (v->fn) ig_str_add(&v->refusals, "function '%s': ", v->fn->name);
  ig_str_add(&v->refusals, "%s: %s", ig_om_node_text(v->g, v->node, room, sizeof room), text);
  return true;
}

// ---- one node

static void learn_rank(ig_cv *v, const ig_om_node *n) {
  ig_cv_fact *f = ig_cv_has(n, IG_CV_SAME_RANK) ? ig_cv_fact_of(v, n->outputs[0]) : NULL;
  if (!f || f->ndim >= 0) return;
  int ndim = 0;
  for (size_t i = 0; i < n->ninputs; i++) {
    int k = ig_cv_ndim(v, n->inputs[i]);
    if (k < 0) return;
    if (k > ndim) ndim = k;
  }
  f->ndim = ndim;
  for (int d = 0; d < ndim; d++) f->dims[d] = -1;
}

// Records what is known about the results of a finished node; values of the original model are
// already known.
static void learn(ig_cv *v, const ig_om_node *n, const ig_onnx_schema *s) {
  ig_om_known vars[IG_OM_MAX_VARS];
  for (size_t i = 0; i < IG_OM_MAX_VARS; i++) vars[i].form = -1;
  if (s->nbounds > IG_OM_MAX_VARS) return;
  for (size_t i = 0; i < n->ninputs; i++) {
    const ig_onnx_param *p = ig_onnx_schema_input(s, i);
    ig_om_known t = ig_cv_known(v, n->inputs[i])->type;
    if (p && p->var != 0xff && !p->mixed && t.form >= 0) vars[p->var] = t;
  }
  for (size_t i = 0; i < n->noutputs; i++) {
    const ig_onnx_param *p = ig_onnx_schema_output(s, i);
    ig_cv_fact *f = p && *n->outputs[i] ? ig_cv_fact_of(v, n->outputs[i]) : NULL;
    if (f && f->type.form < 0) f->type = ig_om_result_type(n, s, p, vars);
  }
  const ig_om_tensor *t = ig_cv_has(n, IG_CV_CONSTANT) ? ig_cv_constant(v, n) : NULL;
  ig_cv_fact *f = t ? ig_cv_fact_of(v, n->outputs[0]) : NULL;
  if (!f) return;
  f->constant = t;
  f->type = (ig_om_known){IG_ONNX_FORM_TENSOR, t->elem};
  f->ndim = t->ndim;
  for (int d = 0; d < t->ndim; d++) f->dims[d] = t->dims[d];
}

// Results of If, Loop and Scan are those of their sub-graphs; a Loop has its condition before them.
static void learn_from_graphs(ig_cv *v, const ig_om_node *n) {
  size_t skip = ig_cv_has(n, IG_CV_CONDITION_FIRST) ? 1 : 0;
  const ig_om_attr *a = NULL;
  for (size_t i = 0; i < n->nattrs; i++)
    if (n->attrs[i].type == IG_OM_ATTR_GRAPH && !n->attrs[i].ref) a = &n->attrs[i];
  const ig_om_graph *g = a ? a->graphs[0] : NULL;
  for (size_t i = 0; g && i < n->noutputs && i + skip < g->noutputs; i++) {
    ig_cv_fact *f = *n->outputs[i] ? ig_cv_fact_of(v, n->outputs[i]) : NULL;
    if (f && f->type.form < 0) f->type = ig_cv_known(v, g->outputs[i + skip].name)->type;
  }
}

static void append(ig_cv *v, const ig_om_node *n, const ig_onnx_schema *s) {
  if (s) {
    learn(v, n, s);
    learn_rank(v, n);
    learn_from_graphs(v, n);
  }
  if (v->c->status == IG_OK && !ig_vec_push(v->c->alloc, &v->nodes, *n))
    (void)ig_fail(v->c, IG_NOMEM, "out of memory");
}

static bool has_graphs(const ig_om_node *n) {
  for (size_t i = 0; i < n->nattrs; i++)
    if (n->attrs[i].type == IG_OM_ATTR_GRAPH || n->attrs[i].type == IG_OM_ATTR_GRAPHS) return true;
  return false;
}

// A type of the set that can represent every number of `elem`; 0: none.
static int wider(const ig_onnx_types *types, int elem) {
  static const uint8_t wide[][6] = {
      [IG_OM_BOOL] = {IG_OM_UINT8, IG_OM_INT32, IG_OM_INT64, IG_OM_FLOAT},
      [IG_OM_INT8] = {IG_OM_INT32, IG_OM_INT64, IG_OM_FLOAT, IG_OM_DOUBLE},
      [IG_OM_UINT8] = {IG_OM_INT32, IG_OM_INT64, IG_OM_FLOAT, IG_OM_DOUBLE},
      [IG_OM_INT16] = {IG_OM_INT32, IG_OM_INT64, IG_OM_FLOAT, IG_OM_DOUBLE},
      [IG_OM_UINT16] = {IG_OM_INT32, IG_OM_INT64, IG_OM_FLOAT, IG_OM_DOUBLE},
      [IG_OM_INT32] = {IG_OM_INT64, IG_OM_DOUBLE},
      [IG_OM_UINT32] = {IG_OM_INT64, IG_OM_UINT64, IG_OM_DOUBLE},
      [IG_OM_FLOAT16] = {IG_OM_FLOAT, IG_OM_DOUBLE},
      [IG_OM_BFLOAT16] = {IG_OM_FLOAT, IG_OM_DOUBLE},
  };
  if ((size_t)elem >= sizeof wide / sizeof *wide) return 0;
  for (const uint8_t *w = wide[elem]; *w; w++)
    if (types->forms[IG_ONNX_FORM_TENSOR] >> *w & 1) return *w;
  return 0;
}

// Casts around the operands and results of one type variable. True: the node was replaced.
static bool widen(ig_cv *v, ig_om_node *n, const ig_onnx_schema *s, int var, int to, int back) {
  const char **inputs = ig_cv_push(v, ig_mem_mul(n->ninputs, sizeof *inputs));
  const char **outputs = ig_cv_push(v, ig_mem_mul(n->noutputs, sizeof *outputs));
  if (!inputs || !outputs) return true;
  for (size_t i = 0; i < n->ninputs; i++) {
    const ig_onnx_param *p = ig_onnx_schema_input(s, i);
    bool cast = p && p->var == var && *n->inputs[i];
    inputs[i] = cast ? ig_cv_cast(v, n->inputs[i], to, NULL) : n->inputs[i];
  }
  for (size_t i = 0; i < n->noutputs; i++) {
    const ig_onnx_param *p = ig_onnx_schema_output(s, i);
    bool cast = p && p->var == var && *n->outputs[i];
    outputs[i] = cast ? ig_cv_fresh(v, n->op_type) : n->outputs[i];
  }
  ig_om_node inner = *n;
  inner.inputs = inputs;
  inner.outputs = outputs;
  ig_cv_node(v, &inner, v->at);
  for (size_t i = 0; i < n->noutputs; i++)
    if (outputs[i] != n->outputs[i]) (void)ig_cv_cast(v, outputs[i], back, n->outputs[i]);
  return true;
}

static bool keeps_types(const ig_om_node *n) {
  return ig_cv_has(n, IG_CV_KEEPS_TYPES) || has_graphs(n);
}

static bool fit_types(ig_cv *v, ig_om_node *n, const ig_onnx_schema *s) {
  for (size_t i = 0; i < n->ninputs; i++) {
    const ig_onnx_param *p = ig_onnx_schema_input(s, i);
    ig_om_known t = ig_cv_known(v, n->inputs[i])->type;
    if (!p || t.form < 0) continue;
    const ig_onnx_types *types = ig_onnx_param_types(s, p);
    if (types->forms[t.form] >> t.elem & 1) continue;
    bool can = t.form == IG_ONNX_FORM_TENSOR && p->var != 0xff && !p->mixed && !keeps_types(n);
    int to = can ? wider(types, t.elem) : 0;
    if (to) return widen(v, n, s, p->var, to, t.elem);
    return ig_cv_refuse(v, "%s-%d does not take '%s' of type %s", n->op_type, s->since,
                        n->inputs[i], ig_om_elem_text(t.elem));
  }
  for (size_t i = 0; i < n->noutputs; i++) {
    const ig_onnx_param *p = ig_onnx_schema_output(s, i);
    ig_om_known t = ig_cv_known(v, n->outputs[i])->type;
    if (p && t.form >= 0 && !(ig_onnx_param_types(s, p)->forms[t.form] >> t.elem & 1))
      return ig_cv_refuse(v, "%s-%d does not give '%s' of type %s", n->op_type, s->since,
                          n->outputs[i], ig_om_elem_text(t.elem));
  }
  return false;
}

static bool is_default(const ig_om_attr *a, const char *text) {
  char *end = NULL;
  if (a->ref) return false;
  if (a->type == IG_OM_ATTR_INT) return strtoll(text, &end, 10) == a->i && end != text;
  if (a->type == IG_OM_ATTR_FLOAT) return strtof(text, &end) == a->f && end != text;
  if (a->type == IG_OM_ATTR_STRING)
    return a->s.n == strlen(text) && (!a->s.n || memcmp(a->s.at, text, a->s.n) == 0);
  return false;
}

static bool all_ones(const ig_om_attr *a) {
  if (a->ref || a->type != IG_OM_ATTR_INTS) return false;
  for (size_t i = 0; i < a->n; i++)
    if (a->ints[i] != 1) return false;
  return true;
}

// Checks a node of version `from` against an older one. True: replaced or rejected.
static bool fit(ig_cv *v, ig_om_node *n, const ig_onnx_schema *from, const ig_onnx_schema *to) {
  for (size_t i = n->nattrs; i-- > 0;) {
    if (i >= n->nattrs) continue;  // dropped together with others of its name
    const ig_om_attr *a = &n->attrs[i];
    if (ig_onnx_schema_attr(to, a->name)) continue;
    const ig_onnx_attr_schema *was = ig_onnx_schema_attr(from, a->name);
    if (!was) continue;  // no version has it: that is for the checker to say
    bool plain = was && was->value && is_default(a, ig_onnx_schema_text(was->value));
    if (!plain && !(strcmp(a->name, "dilations") == 0 && all_ones(a)))
      return ig_cv_refuse(v, "attribute '%s' exists from opset %d on", a->name, from->since);
    ig_cv_drop_attr(v, n, a->name);
  }
  ig_cv_cut_inputs(n, n->ninputs);
  while (n->noutputs && !*n->outputs[n->noutputs - 1]) n->noutputs--;
  if (to->max_in != IG_ONNX_ENDLESS && n->ninputs > to->max_in)
    return ig_cv_refuse(v, "input %zu ('%s') exists from opset %d on", n->ninputs - 1,
                        n->inputs[n->ninputs - 1], from->since);
  if (to->max_out != IG_ONNX_ENDLESS && n->noutputs > to->max_out)
    return ig_cv_refuse(v, "output %zu ('%s') exists from opset %d on", n->noutputs - 1,
                        n->outputs[n->noutputs - 1], from->since);
  return fit_types(v, n, to);
}

static const ig_cv_row *find_row(const char *op, int since) {
  for (const ig_cv_row *r = ig_cv_rows; r->op; r++)
    if (r->since == since && strcmp(r->op, op) == 0) return r;
  return NULL;
}

// One version newer; true: the node was replaced or rejected.
static bool step_up(ig_cv *v, ig_om_node *n, const ig_onnx_schema *s) {
  int64_t next = s->since;
  const ig_onnx_schema *to = s;
  while (to == s) to = ig_onnx_schema_find("", n->op_type, ++next);
  const ig_cv_row *r = find_row(n->op_type, to->since);
  v->at = to->since;
  if (to->since <= OLDEST)
    return ig_cv_refuse(v, "%s-%d is older than opset %d", n->op_type, s->since, OLDEST);
  if (r && r->up) return r->up(v, n);
  if (to->deprecated)
    return ig_cv_refuse(v, "%s is deprecated since opset %d", n->op_type, to->since);
  return false;
}

static bool step_down(ig_cv *v, ig_om_node *n, const ig_onnx_schema *s) {
  const ig_cv_row *r = find_row(n->op_type, s->since);
  v->at = s->since - 1;
  const char *op = n->op_type;
  if (r && r->down) {
    if (r->down(v, n)) return true;
  } else if (ig_cv_expand_operator(v, n, s->since)) {
    return true;
  }
  const ig_onnx_schema *to = ig_onnx_schema_find("", n->op_type, v->at);
  if (!to || to->deprecated)
    return ig_cv_refuse(v, "%s exists from opset %d on, and is not expressed by others", n->op_type,
                        s->since);
  return strcmp(op, n->op_type) == 0 ? fit(v, n, s, to) : false;
}

// Before opset 9 constants are floats; others are initializers. True: it was one.
static bool as_initializer(ig_cv *v, const ig_om_node *n) {
  bool constant = v->target < 9 && ig_cv_has(n, IG_CV_CONSTANT) && !v->fn;
  const ig_om_tensor *value = constant ? ig_cv_constant(v, n) : NULL;
  if (!value || value->elem == IG_OM_FLOAT || value->elem == IG_OM_DOUBLE) return false;
  ig_om_tensor *t = ig_cv_push(v, sizeof *t);
  ig_cv_fact *f = ig_cv_fact_of(v, n->outputs[0]);
  if (!t || !f) return true;
  *t = *value;
  t->name = n->outputs[0];
  *f = (ig_cv_fact){.type = {IG_ONNX_FORM_TENSOR, t->elem}, .ndim = t->ndim, .constant = t};
  for (int d = 0; d < t->ndim; d++) f->dims[d] = t->dims[d];
  if (!ig_vec_push(v->c->alloc, &v->inits, t)) (void)ig_fail(v->c, IG_NOMEM, "out of memory");
  return true;
}

void ig_cv_node(ig_cv *v, ig_om_node *n, int64_t at) {
  int64_t outer = v->at;
  const ig_om_node *from = v->node;
  if (!n->name) n->name = "";
  if (!n->domain) n->domain = "";
  if (!n->overload) n->overload = "";
  if (!n->doc) n->doc = "";
  if (from && !n->nmetadata) {
    n->metadata = from->metadata;
    n->nmetadata = from->nmetadata;
  }
  v->at = at;
  bool done = as_initializer(v, n);
  while (!done) {
    if (v->refused || v->c->status != IG_OK) break;
    const ig_onnx_schema *s = ig_onnx_schema_find("", n->op_type, v->at);
    const ig_onnx_schema *t = ig_onnx_schema_find("", n->op_type, v->target);
    if (!s || s->deprecated) {
      (void)ig_cv_refuse(v, "%s is not an operator of opset %lld", n->op_type, (long long)v->at);
      break;
    }
    if (s == t) {
      if (!fit_types(v, n, s)) append(v, n, s);
      break;
    }
    if (v->at <= v->target ? step_up(v, n, s) : step_down(v, n, s)) break;
  }
  v->at = outer;
}

// ---- graphs

static ig_om_graph *convert_graph(ig_cv *v, const ig_om_graph *g);

static void convert_graphs_of(ig_cv *v, ig_om_node *n) {
  if (!has_graphs(n)) return;
  ig_om_attr *attrs = ig_cv_push(v, ig_mem_mul(n->nattrs, sizeof *attrs));
  if (!attrs) return;
  memcpy(attrs, n->attrs, n->nattrs * sizeof *attrs);
  for (size_t i = 0; i < n->nattrs; i++) {
    ig_om_attr *a = &attrs[i];
    if (a->ref || (a->type != IG_OM_ATTR_GRAPH && a->type != IG_OM_ATTR_GRAPHS)) continue;
    ig_om_graph **graphs = ig_cv_push(v, ig_mem_mul(a->n, sizeof *graphs));
    for (size_t k = 0; graphs && k < a->n; k++) graphs[k] = convert_graph(v, a->graphs[k]);
    a->graphs = graphs;
  }
  n->attrs = attrs;
}

static void know_type(ig_cv *v, const ig_om_info *info) {
  ig_cv_fact *f = *info->name ? ig_cv_fact_of(v, info->name) : NULL;
  ig_om_known t = ig_om_known_of_type(&info->type);
  if (!f || t.form < 0) return;
  f->type = t;
  if (!info->type.has_shape || f->ndim >= 0) return;
  f->ndim = info->type.ndim;
  for (int d = 0; d < f->ndim; d++) f->dims[d] = info->type.dims[d].value;
}

static void forget(ig_cv *v, const char *name) {
  ig_map_value *at = ig_map_find(&v->facts, name);
  if (at) at->ptr = NULL;
}

static void know_graph(ig_cv *v, const ig_om_graph *g, bool main) {
  // A sub-graph beside this one may have used the same names.
  for (size_t i = 0; !main && i < g->ninputs; i++) forget(v, g->inputs[i].name);
  for (size_t i = 0; !main && i < g->ninits; i++) forget(v, g->inits[i]->name);
  for (size_t i = 0; !main && i < g->nnodes; i++)
    for (size_t k = 0; k < g->nodes[i].noutputs; k++) forget(v, g->nodes[i].outputs[k]);
  for (size_t i = 0; i < g->ninputs; i++) know_type(v, &g->inputs[i]);
  for (size_t i = 0; i < g->nvalues; i++) know_type(v, &g->values[i]);
  for (size_t i = 0; i < g->noutputs; i++) know_type(v, &g->outputs[i]);
  for (size_t i = 0; i < g->ninits; i++) {
    const ig_om_tensor *t = g->inits[i];
    ig_cv_fact *f = ig_cv_fact_of(v, t->name);
    if (!f) return;
    *f = (ig_cv_fact){.type = {IG_ONNX_FORM_TENSOR, t->elem}, .ndim = t->ndim, .constant = t};
    for (int d = 0; d < t->ndim; d++) f->dims[d] = t->dims[d];
  }
  // An initializer that the caller may replace is not a constant.
  for (size_t i = 0; v->to.ir_version >= 4 && i < g->ninputs; i++) {
    ig_cv_fact *f = ig_cv_fact_of(v, g->inputs[i].name);
    if (f) f->constant = NULL;
  }
}

// Steps rely on what the schema guarantees.
static bool is_sound(ig_cv *v, const ig_om_node *n) {
  const ig_onnx_schema *s = ig_onnx_schema_find("", n->op_type, v->source);
  if (!s) return true;  // rejected where it is looked up
  if (n->ninputs < s->min_in || n->noutputs < s->min_out || n->noutputs == 0)
    return !ig_cv_refuse(v, "%zu inputs and %zu outputs; at least %d and %d needed", n->ninputs,
                         n->noutputs, s->min_in, s->min_out ? s->min_out : 1);
  if (n->ninputs > s->max_in || n->noutputs > s->max_out)  // IG_ONNX_ENDLESS is more than any
    return !ig_cv_refuse(v, "%zu inputs and %zu outputs; at most %d and %d allowed", n->ninputs,
                         n->noutputs, s->max_in, s->max_out);
  for (size_t i = 0; i < n->nattrs; i++) {
    const ig_onnx_attr_schema *a = ig_onnx_schema_attr(s, n->attrs[i].name);
    if (a && a->type != n->attrs[i].type)
      return !ig_cv_refuse(v, "attribute '%s' has the wrong type", n->attrs[i].name);
  }
  return true;
}

static void convert_node(ig_cv *v, const ig_om_node *from) {
  ig_om_node n = *from;
  v->refused = false;
  convert_graphs_of(v, &n);
  v->node = from;
  if (strcmp(n.domain, IG_ONNX_CONVERTED_DOMAIN) == 0) {
    n.domain = "";
    append(v, &n, NULL);
  } else if (*n.domain || n.function)
    append(v, &n, NULL);
  else if (is_sound(v, &n))
    ig_cv_node(v, &n, v->source);
}

// What is known about names that a sub-graph shadows: saved before it, restored after it.
static const char *hiding(const ig_om_graph *g, size_t i) {
  return i < g->ninputs ? g->inputs[i].name : g->inits[i - g->ninputs]->name;
}

static ig_cv_fact **keep_hidden(ig_cv *v, const ig_om_graph *g) {
  ig_cv_fact **kept =
      ig_cv_push(v, ig_mem_mul(ig_mem_add(g->ninputs, g->ninits), sizeof(ig_cv_fact *)));
  for (size_t i = 0; kept && i < g->ninputs + g->ninits; i++) {
    const ig_map_value *at = ig_map_find(&v->facts, hiding(g, i));
    kept[i] = at ? at->ptr : NULL;
  }
  return kept;
}

static void restore_hidden(ig_cv *v, const ig_om_graph *g, ig_cv_fact *const *kept) {
  for (size_t i = g->ninputs + g->ninits; kept && i-- > 0;) {
    ig_map_value *at = ig_map_find(&v->facts, hiding(g, i));
    if (at) at->ptr = kept[i];
  }
}

static ig_om_graph *convert_graph(ig_cv *v, const ig_om_graph *g) {
  ig_om_graph *to = ig_cv_push(v, sizeof *to);
  ig_cv_fact **hidden = v->g ? keep_hidden(v, g) : NULL;
  if (!to) return NULL;
  ig_cv saved = *v;
  memset(&v->nodes, 0, sizeof v->nodes);
  memset(&v->inits, 0, sizeof v->inits);
  v->g = g;
  know_graph(v, g, !saved.g && !v->fn);
  for (size_t i = 0; i < g->nnodes && v->c->status == IG_OK; i++) convert_node(v, &g->nodes[i]);
  *to = *g;
  const ig_om_tensor **inits =
      ig_cv_push(v, ig_mem_mul(ig_mem_add(g->ninits, v->inits.n), sizeof *inits));
  if (inits && g->ninits) memcpy(inits, g->inits, g->ninits * sizeof *inits);
  if (inits && v->inits.n) memcpy(inits + g->ninits, v->inits.at, v->inits.n * sizeof *inits);
  to->inits = inits;
  to->ninits = inits ? g->ninits + v->inits.n : 0;
  to->nnodes = v->nodes.n;
  to->nodes = ig_cv_push(v, ig_mem_mul(v->nodes.n, sizeof *to->nodes));
  if (to->nodes && v->nodes.n) memcpy(to->nodes, v->nodes.at, v->nodes.n * sizeof *to->nodes);
  ig_vec_free(v->c->alloc, &v->nodes);
  ig_vec_free(v->c->alloc, &v->inits);
  memcpy(&v->nodes, &saved.nodes, sizeof v->nodes);
  memcpy(&v->inits, &saved.inits, sizeof v->inits);
  if (saved.g) restore_hidden(v, g, hidden);
  v->g = saved.g;
  v->node = saved.node;
  v->refused = saved.refused;
  return to;
}

// ---- unused constants

static void note(ig_cv *v, ig_map *names, const char *name) {
  if (!ig_map_put(names, name)) (void)ig_fail(v->c, IG_NOMEM, "out of memory");
}

static void note_reads(ig_cv *v, ig_map *reads, const ig_om_graph *g) {
  for (size_t i = 0; i < g->noutputs; i++) note(v, reads, g->outputs[i].name);
  for (size_t i = 0; i < g->nnodes; i++) {
    const ig_om_node *n = &g->nodes[i];
    for (size_t k = 0; k < n->ninputs; k++) note(v, reads, n->inputs[k]);
    for (size_t k = 0; k < n->nattrs; k++) {
      const ig_om_attr *a = &n->attrs[k];
      bool graphs = a->type == IG_OM_ATTR_GRAPH || a->type == IG_OM_ATTR_GRAPHS;
      for (size_t j = 0; graphs && !a->ref && j < a->n; j++) note_reads(v, reads, a->graphs[j]);
    }
  }
}

// The constants that nothing read from the start, which stay.
static void note_idle(ig_cv *v, ig_map *idle, const ig_map *before, const ig_om_graph *g) {
  for (size_t i = 0; i < g->ninits; i++)
    if (!ig_map_find(before, g->inits[i]->name)) note(v, idle, g->inits[i]->name);
  for (size_t i = 0; i < g->nnodes; i++) {
    const ig_om_node *n = &g->nodes[i];
    const char *out = n->noutputs ? n->outputs[0] : "";
    if (ig_cv_has(n, IG_CV_CONSTANT) && !ig_map_find(before, out)) note(v, idle, out);
    for (size_t k = 0; k < n->nattrs; k++) {
      const ig_om_attr *a = &n->attrs[k];
      bool graphs = a->type == IG_OM_ATTR_GRAPH || a->type == IG_OM_ATTR_GRAPHS;
      for (size_t j = 0; graphs && !a->ref && j < a->n; j++)
        note_idle(v, idle, before, a->graphs[j]);
    }
  }
}

// Operands that became attributes leave unused constants, which are removed.
static void sweep(ig_om_graph *g, const ig_map *idle, const ig_map *reads) {
  size_t kept = 0;
  for (size_t i = 0; i < g->nnodes; i++) {
    ig_om_node *n = &g->nodes[i];
    const char *out = n->noutputs ? n->outputs[0] : "";
    bool constant = ig_cv_has(n, IG_CV_CONSTANT);
    if (!constant || ig_map_find(reads, out) || ig_map_find(idle, out)) g->nodes[kept++] = *n;
    for (size_t k = 0; k < n->nattrs; k++) {
      const ig_om_attr *a = &n->attrs[k];
      bool graphs = a->type == IG_OM_ATTR_GRAPH || a->type == IG_OM_ATTR_GRAPHS;
      for (size_t j = 0; graphs && !a->ref && j < a->n; j++) sweep(a->graphs[j], idle, reads);
    }
  }
  g->nnodes = kept;
}

static bool is_input(const ig_om_graph *g, const char *name) {
  for (size_t i = 0; i < g->ninputs; i++)
    if (strcmp(g->inputs[i].name, name) == 0) return true;
  return false;
}

static void sweep_weights(ig_cv *v, ig_om_graph *g, const ig_map *idle, const ig_map *reads) {
  const ig_om_tensor **inits = ig_cv_push(v, ig_mem_mul(g->ninits, sizeof *inits));
  size_t kept = 0;
  for (size_t i = 0; inits && i < g->ninits; i++) {
    const char *name = g->inits[i]->name;
    bool dead = !ig_map_find(idle, name) && !ig_map_find(reads, name) && !is_input(g, name);
    if (!dead) inits[kept++] = g->inits[i];
  }
  g->inits = inits;
  g->ninits = inits ? kept : 0;
}

static void sweep_model(ig_cv *v, const ig_om_graph *from, ig_om_graph *to) {
  ig_map before = ig_map_make(v->c->alloc);
  ig_map idle = ig_map_make(v->c->alloc);
  ig_map reads = ig_map_make(v->c->alloc);
  note_reads(v, &before, from);
  note_idle(v, &idle, &before, from);
  note_reads(v, &reads, to);
  sweep(to, &idle, &reads);
  sweep_weights(v, to, &idle, &reads);
  ig_map_free(&before);
  ig_map_free(&idle);
  ig_map_free(&reads);
}

// ---- the model

static void note_names(ig_cv *v, const ig_om_graph *g) {
  for (size_t i = 0; i < g->ninputs; i++) (void)ig_map_put(&v->names, g->inputs[i].name);
  for (size_t i = 0; i < g->ninits; i++) (void)ig_map_put(&v->names, g->inits[i]->name);
  for (size_t i = 0; i < g->nnodes; i++) {
    const ig_om_node *n = &g->nodes[i];
    for (size_t k = 0; k < n->noutputs; k++) (void)ig_map_put(&v->names, n->outputs[k]);
    for (size_t k = 0; k < n->nattrs; k++) {
      const ig_om_attr *a = &n->attrs[k];
      bool graphs = a->type == IG_OM_ATTR_GRAPH || a->type == IG_OM_ATTR_GRAPHS;
      for (size_t j = 0; graphs && !a->ref && j < a->n; j++) note_names(v, a->graphs[j]);
    }
  }
}

static void inferred(void *user, const char *name, int elem, int ndim, const int64_t *dims) {
  ig_cv *v = user;
  ig_cv_fact *f = ig_cv_fact_of(v, name);
  if (!f) return;
  f->type = (ig_om_known){IG_ONNX_FORM_TENSOR, elem};
  f->ndim = ndim;
  for (int d = 0; d < ndim; d++) f->dims[d] = dims[d];
}

// Integers that inference could follow to their numbers.
static void inferred_ints(void *user, const char *name, int elem, int ndim, const int64_t *at,
                          size_t n) {
  ig_cv *v = user;
  ig_cv_fact *f = elem == IG_OM_INT64 ? ig_cv_fact_of(v, name) : NULL;
  ig_om_tensor *t = f ? ig_cv_tensor(v, elem, (int64_t)n, ndim == 0) : NULL;
  if (!t) return;
  if (n) memcpy((void *)t->raw.at, at, n * sizeof *at);
  f->constant = t;
}

static const ig_om_opset *set_opset(ig_cv *v, const ig_om_opset *at, size_t n, size_t *count) {
  ig_om_opset *opsets = ig_cv_push(v, ig_mem_mul(n, sizeof *opsets));
  *count = 0;
  for (size_t i = 0; opsets && i < n; i++) {
    if (strcmp(at[i].domain, IG_ONNX_CONVERTED_DOMAIN) == 0) continue;
    ig_om_opset *to = &opsets[(*count)++];
    *to = at[i];
    if (!*to->domain) to->version = v->target;
  }
  return opsets;
}

static void convert_functions(ig_cv *v, const ig_onnx_model *m) {
  ig_om_function *to = ig_cv_push(v, ig_mem_mul(m->nfunctions, sizeof *to));
  for (size_t i = 0; to && i < m->nfunctions; i++) {
    const ig_om_function *f = &m->functions[i];
    to[i] = *f;
    v->fn = f;
    v->source = ig_om_opset_version(f->opsets, f->nopsets, "");
    ig_map_free(&v->facts);
    v->facts = ig_map_make(v->c->alloc);
    if (v->source == 0) continue;  // nothing of the default domain
    to[i].body = convert_graph(v, f->body);
    to[i].opsets = set_opset(v, f->opsets, f->nopsets, &to[i].nopsets);
  }
  v->fn = NULL;
  v->to.functions = to;
}

// Whether all initializers are inputs, which they need not be from IR version 4 on.
static bool has_inputs_only(ig_ctx *c, const ig_om_graph *g) {
  ig_map inputs = ig_map_make(c->alloc);
  bool all = g->nsparse == 0 && g->ninits <= g->ninputs;
  for (size_t i = 0; all && i < g->ninputs; i++) {
    all = ig_map_put(&inputs, g->inputs[i].name);
    if (!all) (void)ig_fail(c, IG_NOMEM, "out of memory");
  }
  for (size_t i = 0; all && i < g->ninits; i++) all = ig_map_find(&inputs, g->inits[i]->name);
  ig_map_free(&inputs);
  for (size_t i = 0; all && i < g->nnodes; i++) {
    const ig_om_node *n = &g->nodes[i];
    for (size_t k = 0; all && k < n->nattrs; k++) {
      const ig_om_attr *a = &n->attrs[k];
      for (size_t j = 0; all && a->graphs && j < a->n; j++) all = has_inputs_only(c, a->graphs[j]);
    }
  }
  return all;
}

static int64_t ir_version(const ig_cv *v, const ig_onnx_model *m, int64_t source) {
  static const uint8_t old[] = {3, 3, 4, 5, 6, 7};  // opsets 7 to 12
  int64_t target = v->target;
  int64_t needed =
      target < IG_ONNX_OPSET_OLDEST ? old[target - OLDEST] : ig_onnx_ir_version((int)target);
  if (m->nfunctions && needed < 8) needed = 8;
  if (needed == 3 && has_inputs_only(v->c, v->to.graph)) return needed;
  if (needed == 3) needed = 4;
  bool keep =
      target < source ? m->ir_version < needed && m->ir_version >= 4 : m->ir_version > needed;
  return keep ? m->ir_version : needed;
}

static ig_status convert(ig_cv *v, const ig_onnx_model *m) {
  v->source = ig_om_opset_version(m->opsets, m->nopsets, "");
  if (v->target == 0) v->target = v->source;
  for (size_t i = 0; i < m->rest.n; i++) {
    if (m->rest.at[i].number == TRAINING_INFO)
      return ig_fail(v->c, IG_UNSUPPORTED | IG_E_ONNX_CONVERSION,
                     "%s: training information cannot be converted", m->name);
  }
  note_names(v, m->graph);
  for (size_t i = 0; i < m->nfunctions; i++) note_names(v, m->functions[i].body);
  IG_RETURN_IF_ERR(ig_rd_infer(
      v->c, m, &(ig_rd_infer_sink){.value = inferred, .numbers = inferred_ints, .user = v}));
  v->to.opsets = set_opset(v, m->opsets, m->nopsets, &v->to.nopsets);
  v->to.graph = convert_graph(v, m->graph);
  convert_functions(v, m);
  int64_t source = ig_om_opset_version(m->opsets, m->nopsets, "");
  IG_RETURN_IF_ERR(v->c->status);
  if (v->refusals.failed) return ig_fail(v->c, IG_NOMEM, "out of memory");
  if (v->nrefused == 1)
    ig_fail_text(v->c, IG_UNSUPPORTED | IG_E_ONNX_CONVERSION, "%s: opset %lld: %s", m->name,
                 (long long)v->target, v->refusals.at);
  else if (v->nrefused)
    ig_fail_text(v->c, IG_UNSUPPORTED | IG_E_ONNX_CONVERSION,
                 "%s: %zu nodes cannot be said in opset %lld:\n%s", m->name, v->nrefused,
                 (long long)v->target, v->refusals.at);
  IG_RETURN_IF_ERR(v->c->status);
  v->to.ir_version = ir_version(v, m, source);
  IG_RETURN_IF_ERR(v->c->status);
  sweep_model(v, m->graph, v->to.graph);
  IG_RETURN_IF_ERR(ig_om_resolve(v->c, &v->to));
  return v->unchecked ? IG_OK : ig_om_check(v->c, &v->to, true);
}

static ig_status check_request(ig_ctx *c, const ig_onnx_model *m, int opset) {
  int64_t source = ig_om_opset_version(m->opsets, m->nopsets, "");
  int64_t newest = ig_onnx_newest_opset("");
  if (opset && (opset < OLDEST || opset > newest))
    return ig_fail(c, IG_INVALID | IG_E_ONNX_OPSET, "ONNX: opset %d is not known, %d to %lld are",
                   opset, OLDEST, (long long)newest);
  if (source < 1 || source > newest)
    return ig_fail(c, IG_UNSUPPORTED | IG_E_ONNX_CONVERSION,
                   "%s: it imports opset %lld of the default domain; 1 to %lld are known", m->name,
                   (long long)source, (long long)newest);
  return IG_OK;
}

ig_status ig_onnx_convert(ig_ctx *c, const ig_onnx_model *m, int opset, ig_onnx_external how,
                          const char *path, struct ig_sink *sink) {
  return ig_cv_convert(c, m, opset, how, path, sink, false);
}

ig_status ig_cv_convert(ig_ctx *c, const ig_onnx_model *m, int opset, ig_onnx_external how,
                        const char *path, struct ig_sink *sink, bool unchecked) {
  IG_RETURN_IF_ERR(c->status);
  IG_RETURN_IF_ERR(check_request(c, m, opset));
  ig_scope s = ig_scope_open(c);
  ig_cv v = {.c = c,
             .to = *m,
             .target = opset,
             .unchecked = unchecked,
             .facts = ig_map_make(c->alloc),
             .names = ig_map_make(c->alloc),
             .refusals = ig_str_make(c->alloc)};
  v.to.arena = ig_arena_make(c->alloc);
  ig_status st = convert(&v, m);
  if (st == IG_OK && (path || sink)) st = ig_om_write(c, &v.to, how, path, sink);
  ig_vec_free(c->alloc, &v.nodes);
  ig_vec_free(c->alloc, &v.inits);
  ig_map_free(&v.facts);
  ig_map_free(&v.names);
  ig_str_free(&v.refusals);
  ig_arena_free(&v.to.arena);
  ig_scope_close(c, s);
  return st;
}
