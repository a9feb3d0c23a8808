// SPDX-License-Identifier: Apache-2.0
// Parsing graphs: GraphProto, NodeProto, AttributeProto, ValueInfoProto, TypeProto.
#include <string.h>

#include "base/cause.h"
#include "onnx/proto_parse.h"

void *ig_om_push(ig_om_parser *p, size_t size) {
  if (p->c->status != IG_OK) return NULL;
  void *at = ig_arena_push(&p->m->arena, size);
  if (!at) (void)ig_fail(p->c, IG_NOMEM, "out of memory");
  return at;
}

void *ig_om_settle(ig_om_parser *p, void *at, size_t n, size_t cap, size_t elem) {
  void *to = n ? ig_om_push(p, ig_mem_mul(n, elem)) : NULL;
  if (to) memcpy(to, at, n * elem);
  ig_mem_array_free(p->c->alloc, at, cap, elem);
  return to;
}

static void kept(ig_om_parser *p, bool ok) {
  if (!ok) (void)ig_fail(p->c, IG_NOMEM, "out of memory");
}
#define PUSH(p, vec, item) kept((p), ig_vec_push((p)->c->alloc, (vec), (item)))

static const char *text(ig_om_parser *p, ig_proto *in, const ig_proto_field *f) {
  const char *s = ig_proto_text(in, f, &p->m->arena);
  return s ? s : "";
}

// Charges one value to the budget against small files that expand to large models.
static bool spend(ig_om_parser *p, size_t *left, const char *what) {
  if (*left) return (*left)--, true;
  (void)ig_fail(p->c, IG_SYNTAX | IG_E_READER_LIMIT, "%s: more %s than the limits allow",
                p->m->name, what);
  return false;
}

bool ig_om_parse_entry(ig_om_parser *p, ig_proto *in, ig_om_entry *out) {
  *out = (ig_om_entry){"", ""};
  ig_proto_field f;
  while (ig_proto_next(in, &f)) {
    if (f.number == 1) out->key = text(p, in, &f);
    if (f.number == 2) out->value = text(p, in, &f);
  }
  return p->c->status == IG_OK && spend(p, &p->m->values_left, "entries");
}

// ---- types

static void parse_dim(ig_om_parser *p, ig_proto *in, ig_om_dim *out) {
  *out = (ig_om_dim){.value = -1};
  ig_proto_field f;
  while (ig_proto_next(in, &f)) {
    if (f.number == 1) out->value = ig_proto_int(in, &f);
    if (f.number == 2) out->param = text(p, in, &f);
    if (f.number == 3) out->denotation = text(p, in, &f);
  }
  if (out->param && !out->param[0]) out->param = NULL;
  if (out->value < -1) out->value = -1;
}

static void parse_shape(ig_om_parser *p, ig_proto *in, ig_om_type *out) {
  IG_VEC(ig_om_dim) dims = {0};
  ig_proto_field f;
  while (ig_proto_next(in, &f)) {
    if (f.number != 1) continue;
    ig_om_dim d;
    ig_proto sub = ig_proto_message(in, &f);
    parse_dim(p, &sub, &d);
    PUSH(p, &dims, d);
  }
  if (dims.n > IG_MAX_DIM) {
    (void)ig_fail(p->c, IG_SYNTAX | IG_E_ONNX_MODEL,
                  "%s: a shape of %zu dimensions, expected at most %d", p->m->name, dims.n,
                  IG_MAX_DIM);
  }
  out->has_shape = true;
  out->ndim = (int)dims.n;
  out->dims = IG_OM_SETTLE(p, &dims);
}

static void parse_tensor_type(ig_om_parser *p, ig_proto *in, ig_om_type *out) {
  ig_proto_field f;
  while (ig_proto_next(in, &f)) {
    if (f.number == 1) out->elem = (int)ig_proto_int(in, &f);
    if (f.number == 2) {
      ig_proto sub = ig_proto_message(in, &f);
      parse_shape(p, &sub, out);
    }
  }
}

// Sequences and optionals have their type in field 1, maps the key there and the value in 2.
static void parse_nested_type(ig_om_parser *p, ig_proto *in, bool map, ig_om_type *out) {
  ig_om_type *of = ig_om_push(p, sizeof *of);
  ig_proto_field f;
  while (of && ig_proto_next(in, &f)) {
    if (map && f.number == 1) out->elem = (int)ig_proto_int(in, &f);
    if (f.number == (map ? 2 : 1)) {
      ig_proto sub = ig_proto_message(in, &f);
      ig_om_parse_type(p, &sub, of);
    }
  }
  out->of = of;
}

void ig_om_parse_type(ig_om_parser *p, ig_proto *in, ig_om_type *out) {
  static const ig_om_kind kinds[] = {
      [1] = IG_OM_TENSOR_TYPE, [4] = IG_OM_SEQUENCE_TYPE, [5] = IG_OM_MAP_TYPE,
      [7] = IG_OM_OPAQUE_TYPE, [8] = IG_OM_SPARSE_TYPE,   [9] = IG_OM_OPTIONAL_TYPE};
  *out = (ig_om_type){0};
  ig_proto_field f;
  while (ig_proto_next(in, &f)) {
    if (f.number == 6) {
      out->denotation = text(p, in, &f);
    } else if (f.number < sizeof kinds / sizeof *kinds && kinds[f.number]) {
      out->kind = kinds[f.number];
      ig_proto sub = ig_proto_message(in, &f);
      if (f.number == 1 || f.number == 8) parse_tensor_type(p, &sub, out);
      if (f.number == 4 || f.number == 5 || f.number == 9) {
        parse_nested_type(p, &sub, f.number == 5, out);
      }
    }
  }
}

bool ig_om_parse_info(ig_om_parser *p, ig_proto *in, ig_om_info *out) {
  *out = (ig_om_info){.name = "", .doc = ""};
  IG_VEC(ig_om_entry) metadata = {0};
  ig_proto_field f;
  while (ig_proto_next(in, &f)) {
    if (f.number == 1) out->name = text(p, in, &f);
    if (f.number == 3) out->doc = text(p, in, &f);
    if (f.number != 2 && f.number != 4) continue;
    ig_proto sub = ig_proto_message(in, &f);
    if (f.number == 2) {
      ig_om_parse_type(p, &sub, &out->type);
    } else {
      ig_om_entry e;
      if (ig_om_parse_entry(p, &sub, &e)) PUSH(p, &metadata, e);
    }
  }
  out->nmetadata = metadata.n;
  out->metadata = IG_OM_SETTLE(p, &metadata);
  return p->c->status == IG_OK && spend(p, &p->m->values_left, "values");
}

// ---- attributes

typedef struct attr_lists {
  ig_proto_ints ints;
  ig_proto_floats floats;
  IG_VEC(ig_bytes) strings;
  IG_VEC(const ig_om_tensor *) tensors;
  IG_VEC(ig_om_graph *) graphs;
  IG_VEC(const ig_om_sparse *) sparses;
  IG_VEC(ig_om_type) types;
} attr_lists;

static void attr_message(ig_om_parser *p, ig_proto *in, const ig_proto_field *f, attr_lists *l) {
  ig_proto sub = ig_proto_message(in, f);
  switch (f->number) {
    case 5:
    case 10: {
      const ig_om_tensor *t = ig_om_parse_tensor(p, &sub);
      if (t) PUSH(p, &l->tensors, t);
      break;
    }
    case 6:
    case 11: {
      ig_om_graph *g = ig_om_parse_graph(p, &sub);
      if (g) PUSH(p, &l->graphs, g);
      break;
    }
    case 22:
    case 23: {
      const ig_om_sparse *s = ig_om_parse_sparse(p, &sub);
      if (s) PUSH(p, &l->sparses, s);
      break;
    }
    default: {
      ig_om_type t;
      ig_om_parse_type(p, &sub, &t);
      PUSH(p, &l->types, t);
      break;
    }
  }
}

static void attr_field(ig_om_parser *p, ig_proto *in, const ig_proto_field *f, ig_om_attr *a,
                       attr_lists *l) {
  switch (f->number) {
    case 1:
      a->name = text(p, in, f);
      break;
    case 2:
      a->f = ig_proto_float(in, f);
      break;
    case 3:
      a->i = ig_proto_int(in, f);
      break;
    case 4:
      a->s = ig_proto_blob(in, f);
      break;
    case 7:
      (void)ig_proto_add_floats(in, f, &l->floats);
      break;
    case 8:
      (void)ig_proto_add_ints(in, f, &l->ints);
      break;
    case 9:
      PUSH(p, &l->strings, ig_proto_blob(in, f));
      break;
    case 13:
      a->doc = text(p, in, f);
      break;
    case 20:
      a->type = (ig_om_attr_type)ig_proto_int(in, f);
      break;
    case 21:
      a->ref = text(p, in, f);
      break;
    case 5:
    case 6:
    case 10:
    case 11:
    case 14:
    case 15:
    case 22:
    case 23:
      attr_message(p, in, f, l);
      break;
    default:
      break;
  }
}

// How many elements the attribute has under its type; 1 for the plain ones.
static size_t attr_count(ig_om_attr_type type, const attr_lists *l) {
  switch (type) {
    case IG_OM_ATTR_FLOATS:
      return l->floats.n;
    case IG_OM_ATTR_INTS:
      return l->ints.n;
    case IG_OM_ATTR_STRINGS:
      return l->strings.n;
    case IG_OM_ATTR_TENSOR:
    case IG_OM_ATTR_TENSORS:
      return l->tensors.n;
    case IG_OM_ATTR_GRAPH:
    case IG_OM_ATTR_GRAPHS:
      return l->graphs.n;
    case IG_OM_ATTR_SPARSE:
    case IG_OM_ATTR_SPARSES:
      return l->sparses.n;
    case IG_OM_ATTR_TYPE:
    case IG_OM_ATTR_TYPES:
      return l->types.n;
    default:
      return 1;
  }
}

// Old writers omit the type: it is inferred from the contents.
static const struct {
  unsigned field;
  ig_om_attr_type type;
} by_field[] = {{2, IG_OM_ATTR_FLOAT},   {3, IG_OM_ATTR_INT},     {4, IG_OM_ATTR_STRING},
                {5, IG_OM_ATTR_TENSOR},  {6, IG_OM_ATTR_GRAPH},   {7, IG_OM_ATTR_FLOATS},
                {8, IG_OM_ATTR_INTS},    {9, IG_OM_ATTR_STRINGS}, {10, IG_OM_ATTR_TENSORS},
                {11, IG_OM_ATTR_GRAPHS}, {14, IG_OM_ATTR_TYPE},   {15, IG_OM_ATTR_TYPES},
                {22, IG_OM_ATTR_SPARSE}, {23, IG_OM_ATTR_SPARSES}};

enum { NFIELDS = sizeof by_field / sizeof *by_field };

static ig_om_attr_type guess_type(unsigned seen) {
  for (size_t i = 0; i < NFIELDS; i++) {
    if (seen & 1u << by_field[i].field) return by_field[i].type;
  }
  return IG_OM_ATTR_UNDEFINED;
}

static bool is_kind(const ig_om_attr *a, ig_om_attr_type one, ig_om_attr_type many) {
  return !a->ref && (a->type == one || a->type == many);
}

// Only the list that the type names is kept: a list that is not NULL has `n` elements.
static void settle_lists(ig_om_parser *p, ig_om_attr *a, attr_lists *l) {
  a->ints = IG_OM_SETTLE(p, &l->ints);
  a->floats = IG_OM_SETTLE(p, &l->floats);
  a->strings = IG_OM_SETTLE(p, &l->strings);
  a->tensors = IG_OM_SETTLE(p, &l->tensors);
  a->graphs = IG_OM_SETTLE(p, &l->graphs);
  a->sparses = IG_OM_SETTLE(p, &l->sparses);
  a->types = IG_OM_SETTLE(p, &l->types);
  if (!is_kind(a, IG_OM_ATTR_INTS, IG_OM_ATTR_INTS)) a->ints = NULL;
  if (!is_kind(a, IG_OM_ATTR_FLOATS, IG_OM_ATTR_FLOATS)) a->floats = NULL;
  if (!is_kind(a, IG_OM_ATTR_STRINGS, IG_OM_ATTR_STRINGS)) a->strings = NULL;
  if (!is_kind(a, IG_OM_ATTR_TENSOR, IG_OM_ATTR_TENSORS)) a->tensors = NULL;
  if (!is_kind(a, IG_OM_ATTR_GRAPH, IG_OM_ATTR_GRAPHS)) a->graphs = NULL;
  if (!is_kind(a, IG_OM_ATTR_SPARSE, IG_OM_ATTR_SPARSES)) a->sparses = NULL;
  if (!is_kind(a, IG_OM_ATTR_TYPE, IG_OM_ATTR_TYPES)) a->types = NULL;
}

static void attr_finish(ig_om_parser *p, ig_om_attr *a, attr_lists *l, unsigned seen) {
  for (size_t i = 0; i < NFIELDS; i++)
    a->mixed |= (seen & 1u << by_field[i].field) && by_field[i].type != a->type;
  if (!a->type) a->type = guess_type(seen);
  a->n = a->ref ? 0 : attr_count(a->type, l);
  settle_lists(p, a, l);
  if (p->c->status != IG_OK || a->ref) return;
  bool single = a->type == IG_OM_ATTR_TENSOR || a->type == IG_OM_ATTR_GRAPH ||
                a->type == IG_OM_ATTR_SPARSE || a->type == IG_OM_ATTR_TYPE;
  if (a->type <= IG_OM_ATTR_UNDEFINED || a->type >= IG_OM_ATTR_COUNT || (single && a->n != 1)) {
    (void)ig_fail(p->c, IG_SYNTAX | IG_E_ONNX_MODEL,
                  "%s: attribute '%s': type %d does not fit what it holds", p->m->name, a->name,
                  (int)a->type);
  }
}

void ig_om_parse_attr(ig_om_parser *p, ig_proto *in, ig_om_attr *out) {
  *out = (ig_om_attr){.name = "", .doc = ""};
  attr_lists l = {0};
  unsigned seen = 0;
  ig_proto_field f;
  while (ig_proto_next(in, &f)) {
    if (f.number < 32) seen |= 1u << f.number;
    attr_field(p, in, &f, out, &l);
  }
  if (out->ref && !out->ref[0]) out->ref = NULL;
  attr_finish(p, out, &l, seen);
}

// ---- nodes

static void node_field(ig_om_parser *p, ig_proto *in, const ig_proto_field *f, ig_om_node *n) {
  const char **at = f->number == 3   ? &n->name
                    : f->number == 4 ? &n->op_type
                    : f->number == 6 ? &n->doc
                    : f->number == 7 ? &n->domain
                    : f->number == 8 ? &n->overload
                                     : NULL;
  if (at) *at = text(p, in, f);
}

bool ig_om_parse_node(ig_om_parser *p, ig_proto *in, ig_om_node *out) {
  *out = (ig_om_node){.name = "", .op_type = "", .domain = "", .overload = "", .doc = ""};
  IG_VEC(const char *) inputs = {0};
  IG_VEC(const char *) outputs = {0};
  IG_VEC(ig_om_attr) attrs = {0};
  IG_VEC(ig_om_entry) metadata = {0};
  IG_VEC(ig_proto_field) rest = {0};
  ig_proto_field f;
  while (ig_proto_next(in, &f)) {
    if (f.number == 1) {
      PUSH(p, &inputs, text(p, in, &f));
    } else if (f.number == 2) {
      PUSH(p, &outputs, text(p, in, &f));
    } else if (f.number == 5) {
      ig_om_attr a;
      ig_proto sub = ig_proto_message(in, &f);
      ig_om_parse_attr(p, &sub, &a);
      PUSH(p, &attrs, a);
    } else if (f.number == 9) {
      ig_om_entry e;
      ig_proto sub = ig_proto_message(in, &f);
      if (ig_om_parse_entry(p, &sub, &e)) PUSH(p, &metadata, e);
    } else if (f.number > 9) {
      PUSH(p, &rest, f);
    } else {
      node_field(p, in, &f, out);
    }
  }
  out->rest.n = rest.n;
  out->rest.at = IG_OM_SETTLE(p, &rest);
  if (strcmp(out->domain, "ai.onnx") == 0) out->domain = "";
  out->ninputs = inputs.n;
  out->inputs = IG_OM_SETTLE(p, &inputs);
  out->noutputs = outputs.n;
  out->outputs = IG_OM_SETTLE(p, &outputs);
  out->nattrs = attrs.n;
  out->attrs = IG_OM_SETTLE(p, &attrs);
  out->nmetadata = metadata.n;
  out->metadata = IG_OM_SETTLE(p, &metadata);
  return p->c->status == IG_OK && spend(p, &p->m->nodes_left, "nodes");
}

// ---- graphs

typedef IG_VEC(ig_om_info) infos;
typedef struct graph_lists {
  IG_VEC(ig_om_node) nodes;
  infos inputs;
  infos outputs;
  infos values;
  IG_VEC(const ig_om_tensor *) inits;
  IG_VEC(const ig_om_sparse *) sparse;
  IG_VEC(ig_om_entry) metadata;
  IG_VEC(ig_proto_field) rest;
} graph_lists;

static void graph_value(ig_om_parser *p, ig_proto *sub, uint32_t number, graph_lists *l) {
  ig_om_info v;
  if (!ig_om_parse_info(p, sub, &v)) return;
  infos *to = number == 11 ? &l->inputs : number == 12 ? &l->outputs : &l->values;
  PUSH(p, to, v);
}

static void graph_weight(ig_om_parser *p, ig_proto *sub, bool sparse, graph_lists *l) {
  const ig_om_tensor *t = sparse ? NULL : ig_om_parse_tensor(p, sub);
  const ig_om_sparse *s = sparse ? ig_om_parse_sparse(p, sub) : NULL;
  if ((!t && !s) || !spend(p, &p->m->values_left, "values")) return;
  if (t) PUSH(p, &l->inits, t);
  if (s) PUSH(p, &l->sparse, s);
}

static void graph_message(ig_om_parser *p, ig_proto *sub, uint32_t number, graph_lists *l) {
  ig_om_node n;
  ig_om_entry e;
  switch (number) {
    case 1:
      if (ig_om_parse_node(p, sub, &n)) PUSH(p, &l->nodes, n);
      break;
    case 5:
    case 15:
      graph_weight(p, sub, number == 15, l);
      break;
    case 16:
      if (ig_om_parse_entry(p, sub, &e)) PUSH(p, &l->metadata, e);
      break;
    default:
      graph_value(p, sub, number, l);
      break;
  }
}

static void graph_finish(ig_om_parser *p, ig_om_graph *g, graph_lists *l) {
  g->nnodes = l->nodes.n;
  g->nodes = IG_OM_SETTLE(p, &l->nodes);
  g->ninputs = l->inputs.n;
  g->inputs = IG_OM_SETTLE(p, &l->inputs);
  g->noutputs = l->outputs.n;
  g->outputs = IG_OM_SETTLE(p, &l->outputs);
  g->nvalues = l->values.n;
  g->values = IG_OM_SETTLE(p, &l->values);
  g->ninits = l->inits.n;
  g->inits = IG_OM_SETTLE(p, &l->inits);
  g->nsparse = l->sparse.n;
  g->sparse = IG_OM_SETTLE(p, &l->sparse);
  g->nmetadata = l->metadata.n;
  g->metadata = IG_OM_SETTLE(p, &l->metadata);
  g->rest.n = l->rest.n;
  g->rest.at = IG_OM_SETTLE(p, &l->rest);
}

ig_om_graph *ig_om_parse_graph(ig_om_parser *p, ig_proto *in) {
  ig_om_graph *g = ig_om_push(p, sizeof *g);
  if (!g) return NULL;
  if (++p->graph_depth > IG_OM_MAX_DEPTH) {
    (void)ig_fail(p->c, IG_SYNTAX | IG_E_READER_LIMIT, "%s: graphs nested more than %d deep",
                  p->m->name, IG_OM_MAX_DEPTH);
  }
  *g = (ig_om_graph){.name = "", .doc = ""};
  graph_lists l = {0};
  ig_proto_field f;
  while (ig_proto_next(in, &f)) {
    if (f.number == 2) g->name = text(p, in, &f);
    if (f.number == 10) g->doc = text(p, in, &f);
    bool message = f.number == 1 || f.number == 5 || (f.number >= 11 && f.number <= 13) ||
                   f.number == 15 || f.number == 16;
    if (!message && f.number != 2 && f.number != 10) PUSH(p, &l.rest, f);
    if (!message) continue;
    ig_proto sub = ig_proto_message(in, &f);
    graph_message(p, &sub, f.number, &l);
  }
  p->graph_depth--;
  graph_finish(p, g, &l);
  return p->c->status == IG_OK ? g : NULL;
}
