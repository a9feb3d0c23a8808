// SPDX-License-Identifier: Apache-2.0
// Any bytes as an ONNX model that follows the standard: a few nodes of any operators in any of
// their versions, with operands and attributes of the types that their schemas name, some of them
// changed afterwards; used as onnx_use.h says. This reaches the operators, where changed bytes of a
// file mostly end in its parser.
#include <string.h>

#include "codec/proto.h"
#include "draw.h"
#include "fuzz.h"
#include "mutate.h"
#include "onnx/schema.h"
#include "onnx_use.h"

enum { MAX_MEMORY = 32 << 20, NODES = 3, OPERANDS = 8, MAX_ELEMENTS = 256, ELEMS = 24 };
#define COUNT(a) (sizeof(a) / sizeof *(a))

// Field numbers of the messages.
enum {
  MODEL_IR = 1,
  MODEL_GRAPH = 7,
  MODEL_OPSET = 8,
  GRAPH_NODE = 1,
  GRAPH_NAME = 2,
  GRAPH_WEIGHT = 5,
  GRAPH_INPUT = 11,
  GRAPH_OUTPUT = 12,
  NODE_INPUT = 1,
  NODE_OUTPUT = 2,
  NODE_OP = 4,
  NODE_ATTR = 5,
  NODE_DOMAIN = 7,
  ATTR_NAME = 1,
  ATTR_F = 2,
  ATTR_I = 3,
  ATTR_S = 4,
  ATTR_T = 5,
  ATTR_G = 6,
  ATTR_FLOATS = 7,
  ATTR_INTS = 8,
  ATTR_STRINGS = 9,
  ATTR_TYPE = 20,
  TENSOR_DIMS = 1,
  TENSOR_TYPE = 2,
  TENSOR_STRINGS = 6,
  TENSOR_NAME = 8,
  TENSOR_RAW = 9,
};
// AttributeProto.AttributeType.
enum { A_FLOAT = 1, A_INT, A_STRING, A_TENSOR, A_GRAPH, A_FLOATS, A_INTS, A_STRINGS };
enum { E_FLOAT = 1, E_INT64 = 7, E_STRING = 8, E_BOOL = 9 };

static const char *const words[] = {
    "NOTSET",        "SAME_UPPER", "SAME_LOWER", "VALID",   "constant",  "reflect",
    "edge",          "wrap",       "nearest",    "linear",  "cubic",     "bilinear",
    "align_corners", "mean",       "sum",        "none",    "forward",   "reverse",
    "bidirectional", "Relu",       "Tanh",       "Sigmoid", "DCR",       "CRD",
    "add",           "mul",        "max",        "min",     "ij,jk->ik", "LEFT",
    "RIGHT",         "tanh",       "",           "a b",     "[a-z]+",    "MAX",
    "SOFTMAX",       "LOGISTIC",   "BRANCH_LEQ", "LEAF",    "TF",        "LINEAR",
    "RBF",
};

typedef struct maker {
  draw *d;
  ig_proto_writer *w;
  int names;        // of values so far
  int64_t base[4];  // sizes that operands tend to have
  size_t rank;
  int results[NODES * 4];  // names of results of earlier nodes
  size_t nresults;
} maker;

static int64_t small_int(draw *d) {
  unsigned how = draw_byte(d);
  if (how < 240) return (int64_t)(how % 8) - 2;
  static const int64_t odd[] = {INT64_MAX, INT64_MIN, (int64_t)1 << 40, 65536, -1000, 100};
  return odd[how % COUNT(odd)];
}

static const char *word(draw *d) {
  return words[draw_below(d, COUNT(words))];
}

// Bits of an element; 4-bit types share their bytes.
static size_t bits_of(int elem) {
  static const uint8_t bits[ELEMS] = {0,  32, 8,  8,   16, 16, 32, 64, 0, 8, 16, 64,
                                      32, 64, 64, 128, 16, 8,  8,  8,  8, 4, 4,  4};
  return elem < ELEMS ? bits[elem] : 0;
}

// Elements are mostly small numbers in the type's own representation.
static void put_elements(maker *m, int elem, size_t n) {
  uint8_t raw[MAX_ELEMENTS * 16] = {0};
  size_t size = bits_of(elem) / 8;
  for (size_t i = 0; i < n && size; i++) {
    unsigned b = i < 8 ? draw_byte(m->d) : (unsigned)i * 7 % 5;
    int64_t v = elem == E_BOOL ? b & 1
                : b < 250      ? (int64_t)(b % 7) - (elem == E_INT64 ? 1 : 0)
                               : INT64_MIN + (int64_t)b;
    float f[2] = {(float)(b % 7) - 2 + (float)(b > 200) * 0.5F, 1};
    double g[2] = {f[0], 1};
    uint16_t half = (uint16_t)(b < 250 ? (elem == 10 ? 0x3C00 : 0x3F80) + b : 0x7FC0);
    const void *from = &v;  // as many bytes of it as an element has
    if (elem == 1 || elem == 14) from = f;
    if (elem == 11 || elem == 15) from = g;
    if (elem == 10 || elem == 16) from = &half;
    memcpy(raw + i * size, from, size);
  }
  ig_proto_put_blob(m->w, TENSOR_RAW, raw, size ? n * size : (n + 1) / 2);
}

static void draw_sizes(maker *m, int elem, int64_t *sizes, size_t *rank) {
  unsigned how = draw_byte(m->d);
  if (elem == E_INT64 && how < 160) {  // axes, shapes, counts
    *rank = how < 20 ? 0 : 1;
    sizes[0] = (int64_t)(how % 4) + 1;
  } else if (how < 190) {
    *rank = m->rank;
    memcpy(sizes, m->base, sizeof m->base);
  } else {
    *rank = how % 5 > 3 ? 3 : how % 5;
    for (size_t k = 0; k < *rank; k++) sizes[k] = (int64_t)draw_below(m->d, 5);
  }
}

static void put_tensor(maker *m, uint32_t field, const char *name, int elem) {
  int64_t sizes[4] = {0};
  size_t rank = 0;
  draw_sizes(m, elem, sizes, &rank);
  size_t n = 1;
  for (size_t k = 0; k < rank; k++) {
    if (n * (size_t)sizes[k] > MAX_ELEMENTS) sizes[k] = 1;
    n *= (size_t)sizes[k];
  }
  size_t at = ig_proto_open(m->w, field);
  ig_proto_put_packed_ints(m->w, TENSOR_DIMS, sizes, rank);
  ig_proto_put_int(m->w, TENSOR_TYPE, elem);
  if (name) ig_proto_put_text(m->w, TENSOR_NAME, name);
  for (size_t i = 0; elem == E_STRING && i < n; i++)
    ig_proto_put_text(m->w, TENSOR_STRINGS, word(m->d));
  if (elem != E_STRING) put_elements(m, elem, n);
  ig_proto_close(m->w, at);
}

static void name_value(int k, char text[16]) {
  int n = 0;
  text[n++] = 'v';
  for (int scale = 1000; scale; scale /= 10) text[n++] = (char)('0' + k / scale % 10);
  text[n] = 0;
}

// An element type of the set, the usual ones first.
static int pick_elem(draw *d, const ig_onnx_types *types) {
  static const uint8_t usual[] = {E_FLOAT, E_INT64, 11, 6, E_BOOL, 2, E_STRING, 3, 10};
  uint32_t mask = types->forms[IG_ONNX_FORM_TENSOR];
  bool odd = draw_chance(d, 25);
  for (size_t i = 0; !odd && i < COUNT(usual); i++) {
    if (mask >> usual[i] & 1) return usual[i];
  }
  size_t first = draw_below(d, ELEMS);
  for (size_t i = 0; i < ELEMS; i++) {
    size_t e = (first + i) % ELEMS;
    if (e && mask >> e & 1) return (int)e;
  }
  return E_FLOAT;
}

// A graph that gives constants, for operators with branches and bodies.
static void put_graph(maker *m) {
  char text[16];
  size_t at = ig_proto_open(m->w, ATTR_G);
  size_t nins = draw_below(m->d, 4);
  size_t nouts = 1 + draw_below(m->d, 3);
  ig_proto_put_text(m->w, GRAPH_NAME, "body");
  int first = m->names;
  for (size_t i = 0; i < nins; i++) {
    name_value(m->names++, text);
    size_t in = ig_proto_open(m->w, GRAPH_INPUT);
    ig_proto_put_text(m->w, 1, text);
    ig_proto_close(m->w, in);
  }
  for (size_t i = 0; i < nouts; i++) {
    if (i < nins) {
      name_value(first + (int)i, text);
    } else {
      name_value(m->names++, text);
      put_tensor(m, GRAPH_WEIGHT, text, i == 0 ? E_BOOL : E_FLOAT);
    }
    size_t out = ig_proto_open(m->w, GRAPH_OUTPUT);
    ig_proto_put_text(m->w, 1, text);
    ig_proto_close(m->w, out);
  }
  ig_proto_close(m->w, at);
}

static void put_attr(maker *m, const ig_onnx_attr_schema *a) {
  int64_t ints[4];
  float floats[4];
  size_t at = ig_proto_open(m->w, NODE_ATTR);
  size_t n = draw_below(m->d, 5);
  ig_proto_put_text(m->w, ATTR_NAME, ig_onnx_schema_text(a->name));
  ig_proto_put_int(m->w, ATTR_TYPE, a->type);
  switch (a->type) {
    case A_FLOAT:
      ig_proto_put_float(m->w, ATTR_F, (float)small_int(m->d) * 0.5F);
      break;
    case A_INT:
      ig_proto_put_int(m->w, ATTR_I, small_int(m->d));
      break;
    case A_STRING:
      ig_proto_put_text(m->w, ATTR_S, word(m->d));
      break;
    case A_TENSOR:
      put_tensor(m, ATTR_T, NULL, draw_byte(m->d) & 1 ? E_INT64 : E_FLOAT);
      break;
    case A_GRAPH:
      put_graph(m);
      break;
    case A_FLOATS:
      for (size_t i = 0; i < n; i++) floats[i] = (float)small_int(m->d) * 0.5F;
      ig_proto_put_packed_floats(m->w, ATTR_FLOATS, floats, n);
      break;
    case A_INTS:
      for (size_t i = 0; i < n; i++) ints[i] = small_int(m->d);
      ig_proto_put_packed_ints(m->w, ATTR_INTS, ints, n);
      break;
    case A_STRINGS:
      for (size_t i = 0; i < n; i++) ig_proto_put_text(m->w, ATTR_STRINGS, word(m->d));
      break;
    default:
      break;
  }
  ig_proto_close(m->w, at);
}

static void put_node(maker *m, const ig_onnx_schema *s) {
  char names[OPERANDS][16];
  int elems[OPERANDS];
  int vars[16] = {0};
  size_t most = s->max_in < OPERANDS ? s->max_in : OPERANDS;
  size_t n = s->min_in > most ? most : s->min_in + draw_below(m->d, most - s->min_in + 1);
  for (size_t i = 0; i < n; i++) {
    const ig_onnx_param *p = ig_onnx_schema_input(s, i);
    const ig_onnx_types *types = p ? ig_onnx_param_types(s, p) : NULL;
    bool left = p && p->option == IG_ONNX_OPTIONAL && draw_chance(m->d, 30);
    names[i][0] = 0;
    if (!types || left) continue;
    if (m->nresults && draw_chance(m->d, 40)) {
      name_value(m->results[draw_below(m->d, m->nresults)], names[i]);
      continue;
    }
    int *var = p->var < COUNT(vars) && !p->mixed ? &vars[p->var] : NULL;
    elems[i] = var && *var ? *var : pick_elem(m->d, types);
    if (var) *var = elems[i];
    name_value(m->names++, names[i]);
    put_tensor(m, GRAPH_WEIGHT, names[i], elems[i]);
  }
  size_t at = ig_proto_open(m->w, GRAPH_NODE);
  for (size_t i = 0; i < n; i++) ig_proto_put_text(m->w, NODE_INPUT, names[i]);
  size_t nouts = s->min_out ? s->min_out : 1;
  if (s->max_out > nouts && draw_chance(m->d, 40)) nouts++;
  for (size_t i = 0; i < nouts && i < 4; i++) {
    char text[16];
    m->results[m->nresults++] = m->names;
    name_value(m->names++, text);
    ig_proto_put_text(m->w, NODE_OUTPUT, text);
  }
  ig_proto_put_text(m->w, NODE_OP, ig_onnx_schema_text(s->name));
  ig_proto_put_text(m->w, NODE_DOMAIN, ig_onnx_schema_text(s->domain));
  for (size_t i = 0; i < s->nattrs; i++) {
    const ig_onnx_attr_schema *a = &ig_onnx_schema_attrs(s)[i];
    if (a->required || draw_chance(m->d, 35)) put_attr(m, a);
  }
  ig_proto_close(m->w, at);
}

static void put_opset(ig_proto_writer *w, const char *domain, int64_t version) {
  size_t at = ig_proto_open(w, MODEL_OPSET);
  ig_proto_put_text(w, 1, domain);
  ig_proto_put_int(w, 2, version);
  ig_proto_close(w, at);
}

// Nodes of the opset of the first one, so that its version is the one that is meant.
static void put_model(draw *d, ig_proto_writer *w) {
  maker m = {.d = d, .w = w};
  const ig_onnx_schema *s = ig_onnx_schema_at(draw_below(d, ig_onnx_schema_count()));
  const char *domain = ig_onnx_schema_text(s->domain);
  int64_t opset = s->since < 7 && !*domain ? 7 : s->since;
  ig_proto_put_int(w, MODEL_IR, 10);
  put_opset(w, domain, opset);
  if (*domain) put_opset(w, "", 17);
  m.rank = draw_below(d, 5);
  for (size_t k = 0; k < 4; k++)
    m.base[k] = (int64_t)draw_below(d, 4) + (draw_chance(d, 90) ? 1 : 0);
  size_t at = ig_proto_open(w, MODEL_GRAPH);
  ig_proto_put_text(w, GRAPH_NAME, "g");
  put_node(&m, s);
  for (int k = 1; k < NODES && draw_chance(d, 35); k++) {
    const ig_onnx_schema *other = ig_onnx_schema_at(draw_below(d, ig_onnx_schema_count()));
    if (strcmp(ig_onnx_schema_text(other->domain), domain) != 0) continue;
    other = ig_onnx_schema_find(domain, ig_onnx_schema_text(other->name), opset);
    if (other) put_node(&m, other);
  }
  for (size_t i = 0; i < m.nresults; i++) {
    char text[16];
    name_value(m.results[i], text);
    size_t out = ig_proto_open(w, GRAPH_OUTPUT);
    ig_proto_put_text(w, 1, text);
    ig_proto_close(w, out);
  }
  ig_proto_close(w, at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  ig_ctx *c = fuzz_open(MAX_MEMORY);
  if (!c) return 0;
  draw d = {data, n};
  bool changed = draw_chance(&d, 15);
  int opset = 7 + (int)draw_below(&d, 22);
  ig_proto_writer w = ig_proto_writer_make(c->alloc);
  ig_sink sink = ig_sink_memory(c->alloc);
  ig_str text = ig_str_make(c->alloc);
  put_model(&d, &w);
  if (ig_proto_write(c, &w, &sink) == IG_OK) {
    ig_bytes bytes = {sink.at, sink.n};
    if (changed && fuzz_mutate_proto(c, &d, bytes, &text))
      bytes = (ig_bytes){(const uint8_t *)text.at, text.n};
    ig_ctx_clear(c);
    fuzz_calls++;
    fuzz_onnx_use(c, bytes.at, bytes.n, opset);
  }
  ig_str_free(&text);
  ig_sink_drop(&sink);
  ig_proto_writer_free(&w);
  fuzz_close(c);
  return 0;
}
