// SPDX-License-Identifier: Apache-2.0
// The calls of a program or of an ONNX model as one sequence, in which sub-graphs follow the call
// that has them and end with a step "return".
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "ir/print.h"
#include "model/diff.h"
#include "model/text.h"
#include "onnx/proto_model.h"

typedef struct walker {
  ig_differ *d;
  ig_steps *out;
  bool first;  // of the two models
} walker;

// Weights that the second model has under another name have that name.
static const char *weight_name(const walker *w, const char *name) {
  const ig_map_value *to = w->first ? ig_map_find(&w->d->renamed, name) : NULL;
  return to ? to->text : name;
}

void ig_steps_free(ig_steps *s) {
  ig_mem_array_free(s->alloc, s->at, s->cap, sizeof *s->at);
}

static bool push_step(const walker *w, const ig_step *step) {
  w->out->alloc = w->d->c->alloc;
  if (ig_vec_push(w->out->alloc, w->out, *step)) return true;
  return ig_fail(w->d->c, IG_NOMEM, "out of memory") == IG_OK;
}

static ig_step_operand labelled(const char *label) {
  return (ig_step_operand){-1, label ? label : ""};
}

// ---- programs

// References by node index: what a use of the node refers to.
typedef struct graph_walk {
  const walker *w;
  const ig_graph *g;
  const char *path;  // "" or "true_graph_0."
  ig_step_operand *refs;
  const char **blanks;  // "_" for every node
  ig_step_operand *operands;
  size_t n;
  size_t cap;
} graph_walk;

static void collect(graph_walk *k, const ig_value *v) {
  if (v->kind == IG_KIND_NODE && k->n < k->cap) k->operands[k->n++] = k->refs[v->node->index];
  for (size_t i = 0; v->kind == IG_KIND_LIST && i < v->list.n; i++) collect(k, &v->list.at[i]);
}

static size_t count_operands(const ig_value *v) {
  size_t n = v->kind == IG_KIND_NODE;
  for (size_t i = 0; v->kind == IG_KIND_LIST && i < v->list.n; i++) {
    n += count_operands(&v->list.at[i]);
  }
  return n;
}

static const char *call_text(const graph_walk *k, const ig_node *n, const char *target,
                             const char *const *names) {
  ig_str s = ig_str_make(k->w->d->c->alloc);
  ig_printer p = {.s = &s, .form = IG_TEXT_CODE, .names = names, .host = k->g->host};
  ig_str_add(&s, "%s(", target);
  ig_print_values(&p, n->args, n->npos);
  for (size_t i = 0; i < n->nkw; i++) {
    ig_str_add(&s, "%s%s=", n->npos + i ? ", " : "", n->keys[i]);
    ig_print_value(&p, &n->args[n->npos + i]);
  }
  ig_str_add(&s, ")");
  return ig_diff_take(k->w->d, &s);
}

void ig_steps_type(ig_str *s, const ig_value *v) {
  if (v->kind == IG_KIND_TENSOR) {
    ig_str_add(s, "%s[", ig_dtype_text(v->tensor->dtype));
    for (int d = 0; d < v->tensor->ndim; d++) {
      if (d) ig_str_add(s, ", ");
      ig_str_int(s, ig_tensor_size(v->tensor, d));
    }
    ig_str_add(s, "]");
  } else if (v->kind == IG_KIND_LIST) {
    for (size_t i = 0; i < v->list.n; i++) {
      if (i) ig_str_add(s, ", ");
      ig_steps_type(s, &v->list.at[i]);
    }
  } else if (v->kind == IG_KIND_INT) {
    ig_str_int(s, v->i);
  }
}

static const char *type_text(const walker *w, const ig_value *v) {
  ig_str s = ig_str_make(w->d->c->alloc);
  ig_steps_type(&s, v);
  return ig_diff_take(w->d, &s);
}

static ig_step_operand placeholder_ref(const graph_walk *k, const ig_node *n, size_t *user,
                                       size_t *all) {
  ig_differ *d = k->w->d;
  size_t i = (*all)++;
  if (k->path[0]) return labelled(ig_diff_text(d, "%s arg %zu", k->path, i));
  if (n->role != IG_INPUT_USER) {
    return labelled(ig_diff_text(d, "weight %s", weight_name(k->w, n->path ? n->path : n->name)));
  }
  return labelled(ig_diff_text(d, "input %zu", (*user)++));
}

static bool add_call(graph_walk *k, const ig_node *n, const char *target) {
  ig_differ *d = k->w->d;
  k->n = 0;
  k->cap = 0;
  for (size_t i = 0; i < n->npos + n->nkw; i++) k->cap += count_operands(&n->args[i]);
  k->operands = ig_scope_array(d->c, k->cap, sizeof *k->operands);
  if (!k->operands) return false;
  for (size_t i = 0; i < n->npos + n->nkw; i++) collect(k, &n->args[i]);
  ig_step step = {.from = n,
                  .name = ig_diff_text(d, "%s%s", k->path, n->name),
                  .target = target,
                  .key = call_text(k, n, target, k->blanks),
                  .text = call_text(k, n, target, NULL),
                  .type = n->kind == IG_NODE_OUTPUT ? NULL : type_text(k->w, &n->val),
                  .operands = k->operands,
                  .noperands = k->n};
  if (d->c->status != IG_OK) return false;
  k->refs[n->index] = (ig_step_operand){(int64_t)k->w->out->n, ""};
  return push_step(k->w, &step);
}

static bool walk_graph(const walker *w, const ig_graph *g, const char *path);

static bool walk_node(graph_walk *k, const ig_node *n, size_t *user, size_t *all) {
  ig_differ *d = k->w->d;
  if (n->kind == IG_NODE_PLACEHOLDER) {
    k->refs[n->index] = placeholder_ref(k, n, user, all);
  } else if (n->kind == IG_NODE_ATTR) {
    k->refs[n->index] = labelled(ig_diff_text(d, "attribute %s", n->target));
  } else if (n->kind == IG_NODE_CALL && n->callee == IG_CALLEE_GETITEM && n->npos == 2 &&
             n->args[0].kind == IG_KIND_NODE && n->args[1].kind == IG_KIND_INT) {
    ig_step_operand of = k->refs[n->args[0].node->index];
    of.label = ig_diff_text(d, "%s.%lld", of.label, (long long)n->args[1].i.value);
    k->refs[n->index] = of;
  } else {
    return add_call(k, n, n->kind == IG_NODE_OUTPUT ? "return" : n->target);
  }
  return d->c->status == IG_OK;
}

static bool walk_graph(const walker *w, const ig_graph *g, const char *path) {
  ig_ctx *c = w->d->c;
  graph_walk k = {.w = w, .g = g, .path = path};
  k.refs = ig_scope_array(c, g->next_index, sizeof *k.refs);
  k.blanks = ig_scope_array(c, g->next_index, sizeof *k.blanks);
  if (!k.refs || !k.blanks) return false;
  for (size_t i = 0; i < g->next_index; i++) {
    k.refs[i] = labelled(NULL);
    k.blanks[i] = "_";
  }
  size_t user = 0;
  size_t all = 0;
  for (const ig_node *n = g->first; n; n = n->next) {
    if (!walk_node(&k, n, &user, &all)) return false;
  }
  for (size_t i = 0; i < g->subs.n; i++) {
    const char *inner = ig_diff_text(w->d, "%s%s.", path, g->subs.at[i].name);
    if (!inner || !walk_graph(w, g->subs.at[i].graph, inner)) return false;
  }
  return true;
}

bool ig_steps_of_program(ig_differ *d, const ig_model *m, ig_steps *out) {
  walker w = {d, out, m == d->a};
  ig_mode_scope mode = ig_mode_push_sym(d->c, m->program->graph->sym);
  bool ok = walk_graph(&w, m->program->graph, "");
  ig_mode_pop(d->c, &mode);
  return ok;
}

// ---- ONNX

typedef struct onnx_walk {
  const walker *w;
  const ig_om_graph *g;
  const char *path;
  ig_step_operand *refs;  // by slot
  const struct onnx_walk *up;
} onnx_walk;

enum { MAX_SORTED = 64 };
enum {
  SHOWN = 8
};  // elements of a constant that are printed; a longer one is shown by its checksum

static void add_elements(ig_str *s, const ig_om_tensor *t) {
  unsigned bits = ig_om_elem_bits(t->elem);
  bool real = t->elem == IG_OM_FLOAT || t->elem == IG_OM_DOUBLE;
  bool whole = t->elem == IG_OM_INT64 || t->elem == IG_OM_INT32 || t->elem == IG_OM_BOOL;
  if (t->numel > SHOWN || !(real || whole)) {
    ig_str_add(s, " #%016llx",
               (unsigned long long)ig_hash_bytes(IG_HASH_BASIS, t->raw.at, t->raw.n));
    return;
  }
  for (int64_t i = 0; i < t->numel; i++) {
    const uint8_t *at = t->raw.at + (size_t)i * (bits / 8);
    int64_t x = *at;
    int32_t y = 0;
    float f = 0;
    double g = 0;
    memcpy(&f, at, bits == 32 ? 4 : 0);
    memcpy(&g, at, bits == 64 ? 8 : 0);
    memcpy(&x, at, bits == 64 ? 8 : 0);
    memcpy(&y, at, bits == 32 ? 4 : 0);
    ig_str_add(s, " ");
    if (real) ig_str_float(s, bits == 32 ? (double)f : g);
    if (whole) ig_str_add(s, "%lld", (long long)(bits == 32 ? y : x));
  }
}

static void add_tensor(ig_str *s, const ig_om_tensor *t) {
  ig_str_add(s, "%s[", ig_om_elem_text(t->elem));
  for (int d = 0; d < t->ndim; d++) {
    ig_str_add(s, "%s%lld", d ? ", " : "", (long long)t->dims[d]);
  }
  ig_str_add(s, "]");
  if (!t->strings) {
    add_elements(s, t);
    return;
  }
  for (int64_t i = 0; i < t->numel; i++) {
    ig_str_add(s, " '%.*s'", (int)(t->strings[i].n < 200 ? t->strings[i].n : 200),
               (const char *)t->strings[i].at);
  }
}

static void add_string(ig_str *s, ig_bytes b) {
  bool whole = b.n <= 200;
  ig_str_add(s, "'%.*s'", (int)(whole ? b.n : 200), b.at ? (const char *)b.at : "");
  if (!whole)
    ig_str_add(s, " #%016llx", (unsigned long long)ig_hash_bytes(IG_HASH_BASIS, b.at, b.n));
}

static void add_item(ig_str *s, const ig_om_attr *a, size_t i) {
  switch (a->type) {
    case IG_OM_ATTR_FLOAT:
      ig_str_float(s, a->f);
      break;
    case IG_OM_ATTR_INT:
      ig_str_add(s, "%lld", (long long)a->i);
      break;
    case IG_OM_ATTR_STRING:
      add_string(s, a->s);
      break;
    case IG_OM_ATTR_FLOATS:
      ig_str_float(s, a->floats[i]);
      break;
    case IG_OM_ATTR_INTS:
      ig_str_add(s, "%lld", (long long)a->ints[i]);
      break;
    case IG_OM_ATTR_STRINGS:
      add_string(s, a->strings[i]);
      break;
    case IG_OM_ATTR_TENSOR:
    case IG_OM_ATTR_TENSORS:
      add_tensor(s, a->tensors[i]);
      break;
    case IG_OM_ATTR_SPARSE:
    case IG_OM_ATTR_SPARSES:
      add_tensor(s, a->sparses[i]->values);
      add_tensor(s, a->sparses[i]->indices);
      break;
    case IG_OM_ATTR_TYPE:
    case IG_OM_ATTR_TYPES:
      ig_str_add(s, "type %d of %s", (int)a->types[i].kind, ig_om_elem_text(a->types[i].elem));
      break;
    default:  // a graph: its nodes are steps
      ig_str_add(s, "graph");
      break;
  }
}

void ig_steps_attr(ig_str *s, const ig_om_attr *a) {
  if (a->ref) {
    ig_str_add(s, "@%s", a->ref);
    return;
  }
  bool list = a->type == IG_OM_ATTR_FLOATS || a->type == IG_OM_ATTR_INTS || a->n != 1;
  if (list) ig_str_add(s, "[");
  for (size_t i = 0; i < a->n; i++) {
    if (i) ig_str_add(s, ", ");
    add_item(s, a, i);
  }
  if (list) ig_str_add(s, "]");
}

// The attribute whose name comes next in the alphabet (of very many: in the file); NULL: none.
static const ig_om_attr *next_attr(const ig_om_node *n, const ig_om_attr *last) {
  const ig_om_attr *best = NULL;
  if (n->nattrs > MAX_SORTED) {
    const ig_om_attr *next = last ? last + 1 : n->attrs;
    return next < n->attrs + n->nattrs ? next : NULL;
  }
  for (size_t i = 0; i < n->nattrs; i++) {
    const ig_om_attr *a = &n->attrs[i];
    if (last && strcmp(a->name, last->name) <= 0) continue;
    if (!best || strcmp(a->name, best->name) < 0) best = a;
  }
  return best;
}

static const char *node_text(const onnx_walk *k, const ig_om_node *n, const char *target,
                             bool named) {
  ig_str s = ig_str_make(k->w->d->c->alloc);
  ig_str_add(&s, "%s(", target);
  for (size_t i = 0; i < n->ninputs; i++) {
    const char *name = n->in[i].up < 0 ? "" : named ? n->inputs[i] : "_";
    ig_str_add(&s, "%s%s", i ? ", " : "", name);
  }
  bool any = n->ninputs > 0;
  for (const ig_om_attr *a = next_attr(n, NULL); a; a = next_attr(n, a), any = true) {
    if (any) ig_str_add(&s, ", ");
    ig_str_add(&s, "%s=", a->name);
    ig_steps_attr(&s, a);
  }
  ig_str_add(&s, ")");
  return ig_diff_take(k->w->d, &s);
}

static ig_step_operand resolve(const onnx_walk *k, ig_om_ref ref) {
  if (ref.up < 0) return labelled("none");
  for (int32_t up = 0; k && up < ref.up; up++) k = k->up;
  return k ? k->refs[ref.slot] : labelled("none");
}

static bool walk_onnx(const walker *w, const ig_om_graph *g, const char *path, const onnx_walk *up);

static bool walk_bodies(const onnx_walk *k, const ig_om_node *n, const char *name) {
  for (size_t a = 0; a < n->nattrs; a++) {
    for (size_t i = 0; n->attrs[a].graphs && i < n->attrs[a].n; i++) {
      const char *path = ig_diff_text(k->w->d, "%s.%s.", name, n->attrs[a].name);
      if (!path || !walk_onnx(k->w, n->attrs[a].graphs[i], path, k)) return false;
    }
  }
  return true;
}

static bool add_node(onnx_walk *k, const ig_om_node *n) {
  ig_differ *d = k->w->d;
  ig_step_operand *operands = ig_scope_array(d->c, n->ninputs, sizeof *operands);
  if (!operands) return false;
  for (size_t i = 0; i < n->ninputs; i++) operands[i] = resolve(k, n->in[i]);
  const char *own = n->noutputs && n->outputs[0][0] ? n->outputs[0] : n->name;
  const char *target = ig_diff_text(d, "%s%s%s", n->domain, n->domain[0] ? "." : "", n->op_type);
  const char *name = ig_diff_text(d, "%s%s", k->path, own ? own : "");
  if (!target || !name) return false;
  ig_step step = {.from = n,
                  .name = name,
                  .target = target,
                  .key = node_text(k, n, target, false),
                  .text = node_text(k, n, target, true),
                  .operands = operands,
                  .noperands = n->ninputs};
  for (size_t i = 0; i < n->noutputs; i++) {
    if (n->out[i] == IG_OM_NO_SLOT) continue;
    k->refs[n->out[i]] = (ig_step_operand){(int64_t)k->w->out->n, ig_diff_text(d, "%zu", i)};
  }
  if (d->c->status != IG_OK || !push_step(k->w, &step)) return false;
  return walk_bodies(k, n, name);
}

static bool add_return(const onnx_walk *k) {
  ig_differ *d = k->w->d;
  const ig_om_graph *g = k->g;
  ig_step_operand *operands = ig_scope_array(d->c, g->noutputs, sizeof *operands);
  ig_str s = ig_str_make(d->c->alloc);
  for (size_t i = 0; operands && i < g->noutputs; i++) {
    operands[i] = resolve(k, g->output_refs[i]);
    ig_str_add(&s, "%s%s", i ? ", " : "", g->outputs[i].name);
  }
  const char *names = ig_diff_take(d, &s);
  if (!operands || !names) return false;
  ig_step step = {.name = ig_diff_text(d, "%soutput", k->path),
                  .target = "return",
                  .key = ig_diff_text(d, "return %zu", g->noutputs),
                  .text = ig_diff_text(d, "return(%s)", names),
                  .operands = operands,
                  .noperands = g->noutputs};
  return d->c->status == IG_OK && push_step(k->w, &step);
}

static bool walk_onnx(const walker *w, const ig_om_graph *g, const char *path,
                      const onnx_walk *up) {
  ig_differ *d = w->d;
  onnx_walk k = {.w = w, .g = g, .path = path, .up = up};
  k.refs = ig_scope_array(d->c, g->nslots, sizeof *k.refs);
  if (!k.refs) return false;
  for (size_t i = 0; i < g->nslots; i++) k.refs[i] = labelled(NULL);
  size_t given = 0;
  for (size_t i = 0; i < g->ninputs; i++) {
    if (g->input_defaults && g->input_defaults[i]) continue;
    const char *label =
        path[0] ? ig_diff_text(d, "%s arg %zu", path, i) : ig_diff_text(d, "input %zu", given++);
    k.refs[g->input_slots[i]] = labelled(label);
  }
  for (size_t i = 0; i < g->ninits; i++) {
    k.refs[g->init_slots[i]] =
        labelled(ig_diff_text(d, "%sweight %s", path, weight_name(w, g->inits[i]->name)));
  }
  for (size_t i = 0; i < g->nsparse; i++) {
    const char *name = g->sparse[i]->values->name;
    k.refs[g->sparse_slots[i]] = labelled(ig_diff_text(d, "%sweight %s", path, name));
  }
  for (size_t i = 0; i < g->nnodes; i++) {
    if (!add_node(&k, &g->nodes[i])) return false;
  }
  return d->c->status == IG_OK && add_return(&k);
}

bool ig_steps_of_onnx(ig_differ *d, const ig_model *m, ig_steps *out) {
  const ig_onnx_model *o = m->inner;
  walker w = {d, out, m == d->a};
  if (!walk_onnx(&w, o->graph, "", NULL)) return false;
  for (size_t i = 0; i < o->nfunctions; i++) {
    const char *path = ig_diff_text(d, "%s.", o->functions[i].name);
    if (!path || !walk_onnx(&w, o->functions[i].body, path, NULL)) return false;
  }
  return true;
}
