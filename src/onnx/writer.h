// SPDX-License-Identifier: Apache-2.0
// Writing ONNX: what the rows of operators see. A row is called for one node of the graph, with one
// value per schema argument (defaults filled in), and emits ONNX nodes, the last of which produces
// call->out. Errors are sticky in the context; emitting after one does nothing, so rows have no
// error branches. One file per operator family, one table of rows each.
#ifndef ONNX_WRITER_H_
#define ONNX_WRITER_H_

#include "base/arena.h"
#include "base/map.h"
#include "codec/proto.h"
#include "ir/graph.h"
#include "op/op.h"

enum { IG_ONNX_OPSET = 18, IG_ONNX_IR_VERSION = 8 };

typedef struct ig_onnx {
  ig_ctx *c;
  const ig_program *p;
  const ig_graph *g;
  ig_proto_writer w;  // ModelProto; while nodes are emitted, inside its graph
  ig_arena arena;
  ig_map rows;        // target -> ig_onnx_row
  ig_map constants;   // text of a constant -> its name
  ig_table names;     // node -> its name in the file, where that is not its own
  ig_table elements;  // node with several results -> their names (const char **)
  IG_VEC(struct ig_onnx_tensor) tensors;  // initializers, written after the nodes
  size_t temps;
} ig_onnx;

struct ig_onnx_row;
typedef struct ig_onnx_call {
  const ig_node *node;
  const struct ig_onnx_row *row;
  const ig_value *args;  // one per schema argument
  const ig_tensor *val;  // the result, or the first of several; describes dtype and sizes
  const char *out;       // name of that result
  const char **outs;     // names of all results; NULL members are not used by anybody
  size_t nouts;
} ig_onnx_call;

typedef void ig_onnx_fn(ig_onnx *x, const ig_onnx_call *call);
typedef struct ig_onnx_row {
  const char *target;  // "aten.relu.default"
  ig_onnx_fn *fn;
  const char *op_type;  // for functions that serve several rows
} ig_onnx_row;

// Families. A table ends with a row without target.
extern const ig_onnx_row ig_onnx_pointwise[];
extern const ig_onnx_row ig_onnx_linear[];
extern const ig_onnx_row ig_onnx_window[];
extern const ig_onnx_row ig_onnx_norm[];
extern const ig_onnx_row ig_onnx_shape[];
extern const ig_onnx_row ig_onnx_reduce[];

// ---- emitting

typedef struct ig_onnx_attr {
  const char *name;
  int type;  // AttributeProto.AttributeType
  int64_t i;
  float f;
  const int64_t *ints;
  size_t n;
} ig_onnx_attr;
enum { IG_ONNX_FLOAT = 1, IG_ONNX_INT = 2, IG_ONNX_INTS = 7 };

static inline ig_onnx_attr ig_onnx_int(const char *name, int64_t i) {
  return (ig_onnx_attr){.name = name, .type = IG_ONNX_INT, .i = i};
}
static inline ig_onnx_attr ig_onnx_float(const char *name, double f) {
  return (ig_onnx_attr){.name = name, .type = IG_ONNX_FLOAT, .f = (float)f};
}
static inline ig_onnx_attr ig_onnx_ints(const char *name, const int64_t *at, size_t n) {
  return (ig_onnx_attr){.name = name, .type = IG_ONNX_INTS, .ints = at, .n = n};
}

enum { IG_ONNX_MAX_ATTRS = 8, IG_ONNX_MAX_INPUTS = 8 };
// An ONNX node. Lists end with the first unset member: an attribute without name, an input of NULL
// ("" is an input that is left out). `many` replaces `in` where there may be more.
typedef struct ig_onnx_node {
  const char *op_type;
  const char *in[IG_ONNX_MAX_INPUTS + 1];
  const char *const *many;
  size_t nmany;
  ig_onnx_attr attrs[IG_ONNX_MAX_ATTRS + 1];
  const char *out;          // NULL: a fresh name
  const char *const *outs;  // replaces `out` where there are several; NULL members are left out
  size_t nouts;
} ig_onnx_node;
// Returns the (first) output's name, never NULL.
const char *ig_onnx_emit(ig_onnx *x, const ig_onnx_node *n);

// The name of an operand, converted to dtype if it has another one (IG_DTYPE_COUNT: as it is). A
// plain number becomes a constant. None gives "".
const char *ig_onnx_operand(ig_onnx *x, const ig_value *v, ig_dtype dtype);
const char *ig_onnx_cast(ig_onnx *x, const char *name, ig_dtype dtype, const char *out);
// Constants: equal ones are one initializer.
const char *ig_onnx_number(ig_onnx *x, ig_dtype dtype, double v);
const char *ig_onnx_vector(ig_onnx *x, const int64_t *at, size_t n);  // int64
const char *ig_onnx_filled(ig_onnx *x, ig_dtype dtype, int64_t n, double v);
void *ig_onnx_push(ig_onnx *x, size_t size);  // Zeroed memory for the time of writing; NULL: error.

// ---- looking at operands

// The tensor that an operand stands for; NULL: it is none.
const ig_tensor *ig_onnx_tensor_of(const ig_value *v);
// Sizes as plain numbers; IG_UNSUPPORTED when symbolic. Returns their count, 0 after an error.
int ig_onnx_sizes(ig_onnx *x, const ig_tensor *t, int64_t *sizes);
// A list of integers; a lone integer, or a list of one, is repeated `want` times (0: as it is).
size_t ig_onnx_int_list(ig_onnx *x, const ig_value *v, int64_t *out, size_t cap, size_t want);
int64_t ig_onnx_int_of(ig_onnx *x, const ig_value *v);
double ig_onnx_float_of(ig_onnx *x, const ig_value *v);
bool ig_onnx_bool_of(ig_onnx *x, const ig_value *v);
static inline bool ig_onnx_is_none(const ig_value *v) {
  return v->kind == IG_KIND_NONE;
}
// Fails with IG_UNSUPPORTED: "aten.foo.default: <text>: cannot be written as ONNX (model.py:14)".
void ig_onnx_refuse(ig_onnx *x, const ig_node *n, const char *fmt, ...) IG_PRINTF(3, 4);

int64_t ig_onnx_elem_type(ig_dtype d);  // TensorProto.DataType

#endif
