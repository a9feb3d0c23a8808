// SPDX-License-Identifier: Apache-2.0
// The model checker: conformance with the standard beyond structural validity, which parsing has
// checked. IR version, operator sets, every node against the schema of its operator at the opset
// that is imported (numbers of inputs and outputs, attributes and their types), element types,
// sub-graphs, functions. All problems are reported, not only the first.
#include "onnx/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cause.h"

enum { MAX_PROBLEMS = 50 };

void ig_om_problem(ig_om_checker *k, const ig_om_graph *g, const ig_om_node *n, const char *fmt,
                   ...) {
  if (k->problems++ >= MAX_PROBLEMS) return;
  char text[1024];
  va_list args;
  va_start(args, fmt);
  (void)vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  if (k->problems > 1) ig_str_add(&k->text, "\n");
  if (k->function) ig_str_add(&k->text, "function '%s': ", k->function->name);
  if (n) {
    char room[256];
    ig_str_add(&k->text, "%s: ", ig_om_node_text(g, n, room, sizeof room));
  } else if (g) {
    ig_str_add(&k->text, "graph '%s': ", g->name);
  }
  ig_str_add(&k->text, "%s", text);
}

// ---- attributes

static const char *attr_type_name(unsigned type) {
  static const char *const names[IG_OM_ATTR_COUNT] = {
      "no type", "a float",         "an int",         "a string", "a tensor",
      "a graph", "floats",          "ints",           "strings",  "tensors",
      "graphs",  "a sparse tensor", "sparse tensors", "a type",   "types"};
  return type < IG_OM_ATTR_COUNT ? names[type] : "an unknown type";
}

static bool is_declared(const ig_om_function *f, const char *name) {
  for (size_t i = 0; i < f->nattrs; i++)
    if (strcmp(f->attrs[i], name) == 0) return true;
  for (size_t i = 0; i < f->ndefaults; i++)
    if (strcmp(f->defaults[i].name, name) == 0) return true;
  return false;
}

static void check_attr(ig_om_checker *k, const ig_om_graph *g, const ig_om_node *n, size_t i,
                       const ig_onnx_schema *schema) {
  const ig_om_attr *a = &n->attrs[i];
  for (size_t j = 0; j < i; j++) {
    if (strcmp(n->attrs[j].name, a->name) == 0)
      ig_om_problem(k, g, n, "attribute '%s' is given twice", a->name);
  }
  if (a->ref && !k->function)
    ig_om_problem(k, g, n, "attribute '%s' refers to '%s', which only functions may do", a->name,
                  a->ref);
  else if (a->ref && !is_declared(k->function, a->ref))
    ig_om_problem(k, g, n, "attribute '%s' refers to '%s', which the function does not declare",
                  a->name, a->ref);
  if (a->type == IG_OM_ATTR_UNDEFINED)
    ig_om_problem(k, g, n, "attribute '%s' has no type", a->name);
  else if (a->mixed && !k->loose && k->m->ir_version > 1)
    ig_om_problem(k, g, n, "attribute '%s': its type is not that of what it holds", a->name);
  if (!schema || a->type == IG_OM_ATTR_UNDEFINED) return;
  const ig_onnx_attr_schema *want = ig_onnx_schema_attr(schema, a->name);
  if (!want) {
    ig_om_problem(k, g, n, "attribute '%s' is unknown: %s-%d has no such attribute", a->name,
                  n->op_type, schema->since);
  } else if (want->type != a->type) {
    ig_om_problem(k, g, n, "attribute '%s' is %s; %s-%d wants %s", a->name, attr_type_name(a->type),
                  n->op_type, schema->since, attr_type_name(want->type));
  }
}

static void check_attrs(ig_om_checker *k, const ig_om_graph *g, const ig_om_node *n,
                        const ig_onnx_schema *schema) {
  for (size_t i = 0; i < n->nattrs; i++) check_attr(k, g, n, i, schema);
  for (size_t i = 0; schema && i < schema->nattrs; i++) {
    const ig_onnx_attr_schema *a = &ig_onnx_schema_attrs(schema)[i];
    const char *name = ig_onnx_schema_text(a->name);
    if (a->required && !ig_om_find_attr(n, name))
      ig_om_problem(k, g, n, "attribute '%s' (%s) is missing", name, attr_type_name(a->type));
  }
}

// ---- inputs and outputs

static void check_count(ig_om_checker *k, const ig_om_graph *g, const ig_om_node *n,
                        const char *what, size_t found, size_t low, size_t high) {
  if (found < low)
    ig_om_problem(k, g, n, "%zu %s; at least %zu needed", found, what, low);
  else if (high != IG_ONNX_ENDLESS && found > high)
    ig_om_problem(k, g, n, "%zu %s; at most %zu allowed", found, what, high);
}

// The only operator with output groups: either all training statistics are present or none.
static void check_batch_norm(ig_om_checker *k, const ig_om_graph *g, const ig_om_node *n,
                             const ig_onnx_schema *s) {
  size_t found = n->noutputs;
  bool right = found == 1 || (s->since >= 14 ? found == 3 : found == 4 || found == 5);
  if (!right)
    ig_om_problem(k, g, n, "%zu outputs; %s-%d has %s", found, n->op_type, s->since,
                  s->since >= 14 ? "1 or 3" : "1, 4 or 5");
}

static void check_ports(ig_om_checker *k, const ig_om_graph *g, const ig_om_node *n,
                        const ig_onnx_schema *s) {
  check_count(k, g, n, "inputs", n->ninputs, s->min_in, s->max_in);
  check_count(k, g, n, "outputs", n->noutputs, s->min_out, s->max_out);
  for (size_t i = 0; i < n->ninputs; i++) {
    const ig_onnx_param *p = ig_onnx_schema_input(s, i);
    if (p && p->option == IG_ONNX_SINGLE && !*n->inputs[i])
      ig_om_problem(k, g, n, "input %zu ('%s') is required and has no name", i,
                    ig_onnx_schema_text(p->name));
  }
  for (size_t i = 0; i < n->noutputs; i++) {
    const ig_onnx_param *p = ig_onnx_schema_output(s, i);
    if (p && p->option == IG_ONNX_SINGLE && !*n->outputs[i])
      ig_om_problem(k, g, n, "output %zu ('%s') is required and has no name", i,
                    ig_onnx_schema_text(p->name));
  }
}

// ---- nodes

static const char *shown_domain(const char *domain) {
  return *domain ? domain : "ai.onnx";
}

// The schema of a node; NULL: a custom operator, or a problem was reported.
static const ig_onnx_schema *schema_of(ig_om_checker *k, const ig_om_graph *g,
                                       const ig_om_node *n) {
  int64_t version = ig_om_opset_version(k->opsets, k->nopsets, n->domain);
  if (version <= 0) {
    ig_om_problem(k, g, n, "domain '%s' is used and not imported", shown_domain(n->domain));
    return NULL;
  }
  int64_t newest = ig_onnx_newest_opset(n->domain);
  if (newest == 0) return NULL;
  const ig_onnx_schema *s = ig_onnx_schema_find(n->domain, n->op_type, version);
  if (s && s->deprecated) {
    ig_om_problem(k, g, n, "%s is deprecated since opset %d; the model imports %lld", n->op_type,
                  s->since, (long long)version);
    return NULL;
  }
  if (s) return s;
  const ig_onnx_schema *first = ig_onnx_schema_first(n->domain, n->op_type);
  if (first)
    ig_om_problem(k, g, n, "%s exists from opset %d of '%s' on; the model imports %lld", n->op_type,
                  first->since, shown_domain(n->domain), (long long)version);
  else
    ig_om_problem(k, g, n, "'%s' has no operator %s (opset %lld)", shown_domain(n->domain),
                  n->op_type, (long long)version);
  return NULL;
}

static void check_graph(ig_om_checker *k, const ig_om_graph *g, const ig_om_scope *up);

static void check_subgraphs(ig_om_checker *k, const ig_om_scope *s, const ig_om_node *n) {
  for (size_t i = 0; i < n->nattrs; i++) {
    const ig_om_attr *a = &n->attrs[i];
    if (a->ref || (a->type != IG_OM_ATTR_GRAPH && a->type != IG_OM_ATTR_GRAPHS)) continue;
    for (size_t j = 0; j < a->n; j++) check_graph(k, a->graphs[j], s);
  }
}

// The i-th attribute if it is a graph.
static const ig_om_graph *body_at(const ig_om_node *n, size_t i) {
  const ig_om_attr *a = &n->attrs[i];
  return a->ref || a->type != IG_OM_ATTR_GRAPH ? NULL : a->graphs[0];
}

static void check_if(ig_om_checker *k, const ig_om_graph *g, const ig_om_node *n,
                     const ig_onnx_schema *schema) {
  (void)schema;
  for (size_t i = 0; i < n->nattrs; i++) {
    const ig_om_graph *body = body_at(n, i);
    if (body && body->noutputs != n->noutputs)
      ig_om_problem(k, g, n, "'%s' gives %zu values; %zu outputs need %zu", n->attrs[i].name,
                    body->noutputs, n->noutputs, n->noutputs);
  }
}

static void check_loop(ig_om_checker *k, const ig_om_graph *g, const ig_om_node *n,
                       const ig_onnx_schema *schema) {
  (void)schema;
  size_t given = n->ninputs > 2 ? n->ninputs : 2;
  for (size_t i = 0; i < n->nattrs; i++) {
    const ig_om_graph *body = body_at(n, i);
    if (body && body->noutputs < n->noutputs + 1)
      ig_om_problem(k, g, n, "'%s' gives %zu values; %zu outputs need at least %zu",
                    n->attrs[i].name, body->noutputs, n->noutputs, n->noutputs + 1);
    if (body && body->ninputs != given)
      ig_om_problem(k, g, n, "'%s' takes %zu values; %zu inputs give it %zu", n->attrs[i].name,
                    body->ninputs, n->ninputs, given);
  }
}

// What the schemas do not say.
static const struct {
  const char *op_type;
  void (*check)(ig_om_checker *k, const ig_om_graph *g, const ig_om_node *n,
                const ig_onnx_schema *s);
} rules[] = {
    {"BatchNormalization", check_batch_norm},
    {"If", check_if},
    {"Loop", check_loop},
};

static void check_rules(ig_om_checker *k, const ig_om_graph *g, const ig_om_node *n,
                        const ig_onnx_schema *s) {
  if (*n->domain) return;
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
    if (strcmp(rules[i].op_type, n->op_type) == 0) rules[i].check(k, g, n, s);
}

static void check_call(ig_om_checker *k, const ig_om_graph *g, const ig_om_node *n) {
  const ig_om_function *f = n->function;
  if (n->ninputs > f->body->ninputs)
    ig_om_problem(k, g, n, "%zu inputs; the function takes %zu", n->ninputs, f->body->ninputs);
  if (n->noutputs > f->body->noutputs)
    ig_om_problem(k, g, n, "%zu outputs; the function gives %zu", n->noutputs, f->body->noutputs);
  for (size_t i = 0; i < f->nattrs; i++) {
    if (!ig_om_find_attr(n, f->attrs[i]))
      ig_om_problem(k, g, n, "attribute '%s' is missing; the function gives it no value",
                    f->attrs[i]);
  }
  for (size_t i = 0; i < n->nattrs; i++) {
    if (!is_declared(f, n->attrs[i].name))
      ig_om_problem(k, g, n, "attribute '%s' is unknown to the function", n->attrs[i].name);
  }
}

static void check_node(ig_om_checker *k, ig_om_scope *s, const ig_om_node *n) {
  if (!*n->op_type) ig_om_problem(k, s->g, n, "has no operator (op_type is empty)");
  const ig_onnx_schema *schema = n->function ? NULL : schema_of(k, s->g, n);
  if (n->function) check_call(k, s->g, n);
  check_attrs(k, s->g, n, schema);
  if (schema) {
    check_ports(k, s->g, n, schema);
    ig_om_check_types(k, s, n, schema);
    check_rules(k, s->g, n, schema);
  }
  check_subgraphs(k, s, n);
}

// ---- graphs

static void check_info(ig_om_checker *k, const ig_om_graph *g, const char *what,
                       const ig_om_info *i, bool need_type) {
  if (!*i->name) ig_om_problem(k, g, NULL, "an %s has no name", what);
  const ig_om_type *t = &i->type;
  if (t->kind == IG_OM_NO_TYPE) {
    if (need_type) ig_om_problem(k, g, NULL, "%s '%s' has no type", what, i->name);
    return;
  }
  while (t->of && t->kind != IG_OM_MAP_TYPE) t = t->of;
  if (t->kind == IG_OM_TENSOR_TYPE && !ig_onnx_elem_name(t->elem))
    ig_om_problem(k, g, NULL, "%s '%s': %d is not an element type", what, i->name, t->elem);
  if (need_type && t == &i->type && t->kind == IG_OM_TENSOR_TYPE && !t->has_shape && !k->loose)
    ig_om_problem(k, g, NULL, "%s '%s' has no shape", what, i->name);
  for (int d = 0; d < t->ndim; d++) {
    if (t->dims[d].value < -1)
      ig_om_problem(k, g, NULL, "%s '%s': dimension %d is %lld", what, i->name, d,
                    (long long)t->dims[d].value);
  }
}

static void check_sparse(ig_om_checker *k, const ig_om_graph *g, const ig_om_sparse *s) {
  const ig_om_tensor *v = s->values;
  const ig_om_tensor *at = s->indices;
  if (v->ndim != 1)
    ig_om_problem(k, g, NULL, "sparse '%s': values have %d dimensions, not 1", v->name, v->ndim);
  if (at->elem != IG_OM_INT64)
    ig_om_problem(k, g, NULL, "sparse '%s': indices are not int64", v->name);
  if (at->ndim != 1 && at->ndim != 2)
    ig_om_problem(k, g, NULL, "sparse '%s': indices have %d dimensions, not 1 or 2", v->name,
                  at->ndim);
  else if (v->ndim == 1 && at->dims[0] != v->dims[0])
    ig_om_problem(k, g, NULL, "sparse '%s': %lld indices for %lld values", v->name,
                  (long long)at->dims[0], (long long)v->dims[0]);
  else if (at->ndim == 2 && at->dims[1] != s->ndim)
    ig_om_problem(k, g, NULL, "sparse '%s': indices name %lld dimensions of %d", v->name,
                  (long long)at->dims[1], s->ndim);
}

static bool is_input(const ig_om_graph *g, const char *name) {
  for (size_t i = 0; i < g->ninputs; i++)
    if (strcmp(g->inputs[i].name, name) == 0) return true;
  return false;
}

static void check_declared(ig_om_checker *k, const ig_om_graph *g, bool main) {
  if (!*g->name && !k->function) ig_om_problem(k, NULL, NULL, "a graph has no name");
  for (size_t i = 0; i < g->ninputs; i++) check_info(k, g, "input", &g->inputs[i], main);
  for (size_t i = 0; i < g->noutputs; i++) check_info(k, g, "output", &g->outputs[i], main);
  for (size_t i = 0; i < g->nvalues; i++)
    check_info(k, g, "intermediate value", &g->values[i], false);
  for (size_t i = 0; i < g->nsparse; i++) check_sparse(k, g, g->sparse[i]);
  for (size_t i = 0; i < g->ninits; i++) {
    if (!*g->inits[i]->name) ig_om_problem(k, g, NULL, "initializer %zu has no name", i);
    if (k->m->ir_version < 4 && !is_input(g, g->inits[i]->name))
      ig_om_problem(k, g, NULL, "initializer '%s' is not an input, which IR version %lld requires",
                    g->inits[i]->name, (long long)k->m->ir_version);
  }
}

static void know_inputs(ig_om_scope *s) {
  const ig_om_graph *g = s->g;
  for (size_t i = 0; i < g->nslots; i++) s->values[i].form = -1;
  for (size_t i = 0; i < g->ninits; i++)
    s->values[g->init_slots[i]] = (ig_om_known){IG_ONNX_FORM_TENSOR, g->inits[i]->elem};
  for (size_t i = 0; i < g->ninputs; i++) {
    ig_om_known t = ig_om_known_of_type(&g->inputs[i].type);
    if (t.form >= 0) s->values[g->input_slots[i]] = t;
  }
}

// Results whose type was found may not contradict what the graph declares.
static void check_outputs(ig_om_checker *k, const ig_om_scope *s) {
  for (size_t i = 0; i < s->g->noutputs; i++) {
    ig_om_known want = ig_om_known_of_type(&s->g->outputs[i].type);
    if (want.form < 0 || s->g->output_refs[i].up != 0) continue;
    ig_om_known got = s->values[s->g->output_refs[i].slot];
    if (got.form >= 0 && (got.form != want.form || got.elem != want.elem))
      ig_om_problem(k, s->g, NULL, "output '%s' is declared %s and computed as %s",
                    s->g->outputs[i].name, ig_onnx_elem_name(want.elem),
                    ig_onnx_elem_name(got.elem));
  }
}

static void check_graph(ig_om_checker *k, const ig_om_graph *g, const ig_om_scope *up) {
  check_declared(k, g, !up && !k->function);
  size_t size = ig_mem_mul(g->nslots + 1, sizeof(ig_om_known));
  ig_om_scope s = {.g = g, .up = up, .values = ig_mem_new(k->c->alloc, size)};
  if (!s.values) {
    (void)ig_fail(k->c, IG_NOMEM, "out of memory");
    return;
  }
  know_inputs(&s);
  for (size_t i = 0; i < g->nnodes; i++) check_node(k, &s, &g->nodes[i]);
  check_outputs(k, &s);
  ig_mem_free(k->c->alloc, s.values, size);
}

// ---- the model

static void check_opsets(ig_om_checker *k) {
  for (size_t i = 0; i < k->nopsets; i++) {
    const ig_om_opset *o = &k->opsets[i];
    int64_t newest = ig_onnx_newest_opset(o->domain);
    if (o->version < 1)
      ig_om_problem(k, NULL, NULL, "opset %lld of '%s' is not a valid version",
                    (long long)o->version, shown_domain(o->domain));
    else if (newest && o->version > newest)
      ig_om_problem(k, NULL, NULL, "opset %lld of '%s' is not known: %lld is the newest",
                    (long long)o->version, shown_domain(o->domain), (long long)newest);
    for (size_t j = 0; j < i; j++) {
      if (strcmp(k->opsets[j].domain, o->domain) == 0)
        ig_om_problem(k, NULL, NULL, "domain '%s' is imported twice", shown_domain(o->domain));
    }
  }
}

static void check_metadata(ig_om_checker *k) {
  const ig_onnx_model *m = k->m;
  ig_map seen = ig_map_make(k->c->alloc);
  for (size_t i = 0; i < m->nmetadata; i++) {
    ig_map_value *v = ig_map_put(&seen, m->metadata[i].key);
    if (!v)
      (void)ig_fail(k->c, IG_NOMEM, "out of memory");
    else if (v->num++)
      ig_om_problem(k, NULL, NULL, "metadata '%s' is given twice", m->metadata[i].key);
  }
  ig_map_free(&seen);
}

static void check_all(ig_om_checker *k) {
  const ig_onnx_model *m = k->m;
  if (!k->loose) check_metadata(k);
  if (m->ir_version < 1)
    ig_om_problem(k, NULL, NULL, "ir_version is missing or %lld", (long long)m->ir_version);
  else if (m->ir_version > ig_onnx_newest_ir())
    ig_om_problem(k, NULL, NULL, "ir_version %lld is not known: %lld is the newest",
                  (long long)m->ir_version, (long long)ig_onnx_newest_ir());
  if (m->ir_version >= 3 && m->nopsets == 0)
    ig_om_problem(k, NULL, NULL, "no operator set is imported");
  if (m->ir_version > 0 && m->ir_version < 3 && m->nopsets)
    ig_om_problem(k, NULL, NULL, "operator sets are imported, which IR version %lld does not have",
                  (long long)m->ir_version);
  if (m->nfunctions && m->ir_version < 8)
    ig_om_problem(k, NULL, NULL, "functions need IR version 8; the model has %lld",
                  (long long)m->ir_version);
  for (size_t i = 0; i < m->nfunctions; i++) {
    k->function = &m->functions[i];
    k->opsets = m->functions[i].opsets;
    k->nopsets = m->functions[i].nopsets;
    check_opsets(k);
    check_graph(k, m->functions[i].body, NULL);
  }
  // Models before IR version 3 import nothing and use the first operator set.
  static const ig_om_opset first = {.domain = "", .version = 1};
  k->function = NULL;
  k->opsets = m->nopsets == 0 && m->ir_version < 3 ? &first : m->opsets;
  k->nopsets = k->opsets == &first ? 1 : m->nopsets;
  check_opsets(k);
  check_graph(k, m->graph, NULL);
}

ig_status ig_om_check_report(ig_om_checker *k) {
  ig_ctx *c = k->c;
  const char *name = k->m->name;
  if (k->problems > MAX_PROBLEMS) ig_str_add(&k->text, "\n%zu more", k->problems - MAX_PROBLEMS);
  if (c->status == IG_OK && k->text.failed) (void)ig_fail(c, IG_NOMEM, "out of memory");
  if (c->status == IG_OK && k->problems == 1)
    ig_fail_text(c, IG_INVALID | IG_E_ONNX_MODEL, "%s: %s", name, k->text.at);
  else if (c->status == IG_OK && k->problems)
    ig_fail_text(c, IG_INVALID | IG_E_ONNX_MODEL, "%s: %zu problems:\n%s", name, k->problems,
                 k->text.at);
  ig_str_free(&k->text);
  return c->status;
}

ig_status ig_om_check(ig_ctx *c, const ig_onnx_model *m, bool loose) {
  if (c->status != IG_OK) return c->status;
  ig_om_checker k = {.c = c, .m = m, .loose = loose, .text = ig_str_make(c->alloc)};
  check_all(&k);
  return ig_om_check_report(&k);
}

ig_status ig_onnx_check(ig_ctx *c, const ig_onnx_model *m) {
  return ig_om_check(c, m, false);
}
