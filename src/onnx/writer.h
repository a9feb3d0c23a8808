// SPDX-License-Identifier: Apache-2.0
// Writing ONNX: the interface of the operator rows. A row is called for one node of the graph, with
// one value per schema argument (defaults filled in), and emits ONNX nodes, the last of which
// produces call->out. Unsupported calls are collected, so that one error lists them all; other
// errors are sticky in the context, and emitting after one does nothing: rows have no error
// branches. One file per operator family, one table of rows each.
#ifndef ONNX_WRITER_H_
#define ONNX_WRITER_H_

#include "base/arena.h"
#include "base/map.h"
#include "base/str.h"
#include "codec/proto.h"
#include "ingot/file.h"
#include "ir/graph.h"
#include "op/op.h"

// A value that can be reused while the graph in which it was created is open.
typedef struct ig_onnx_made {
  const char *name;
  size_t scope;
} ig_onnx_made;

// Where a symbol comes from: a dimension of a tensor (which is k * symbol + c), or a number.
typedef struct ig_onnx_source {
  const char *tensor;
  int dim;   // -1: the tensor is the number itself, as a vector of one element
  int ndim;  // of the tensor
  int64_t k;
  int64_t c;
  size_t scope;
} ig_onnx_source;

struct ig_onnx_functions;

// A node, or several that are written as one, evaluated when the model was written
// (fold_weights.c).
enum { IG_ONNX_FOLD_INPUTS = 6, IG_ONNX_FOLD_OUTPUTS = 2 };
typedef struct ig_onnx_folded {
  const char *op;  // a static text
  ig_tensor *in[IG_ONNX_FOLD_INPUTS];
  ig_tensor *out[IG_ONNX_FOLD_OUTPUTS];
} ig_onnx_folded;

// Axes that a node has as an operand.
typedef struct ig_onnx_axes {
  const ig_node *node;  // whose call it belongs to
  size_t inside;
  size_t n;
  int64_t at[IG_MAX_DIM];
  const char *name;
} ig_onnx_axes;

typedef struct ig_onnx {
  ig_ctx *c;
  const ig_program *p;
  const ig_graph *g;  // the graph whose nodes are written: the program's, or a sub-graph
  const ig_onnx_options *options;
  int opset;
  int least;          // the opset that the model is converted to afterwards, or the same
  ig_proto_writer w;  // ModelProto; while nodes are emitted, inside its graph
  ig_arena arena;
  ig_map rows;        // target -> ig_onnx_row
  ig_map constants;   // text of a constant -> its name
  ig_map dim_names;   // symbol -> the user's name of it
  ig_map outputs;     // names of outputs so far
  ig_map added;       // names of weights so far; not with the TorchScript conventions
  ig_table names;     // node -> its name in the file, if different
  ig_table elements;  // node with several results -> their names (const char **)
  ig_table sources;   // symbol -> ig_onnx_source
  ig_table folded;    // node -> its known constant result, retained
  ig_table numbers;   // expression -> ig_onnx_made (emit_number.c)
  ig_table vectors;   // the same, as a vector of one element
  IG_VEC(struct ig_onnx_tensor) tensors;  // initializers, written after the nodes
  IG_VEC(const char *) domains;           // of custom operators
  IG_VEC(bool) scopes;                    // by graph number: is it still open?
  size_t scope;                           // the innermost open one
  size_t inside;                          // how many sub-graphs deep
  const ig_node *node;                    // the one that is being written, for its metadata
  ig_map local;                           // value made inside a sub-graph -> its scope + 1
  const ig_node *step;                    // what counts the rounds of a Loop, which does so itself
  struct ig_report *refused;              // calls without an ONNX equivalent; NULL: none so far
  size_t temps;
  // Functions of the model (functions.h), NULL: none; and, while one of them is written:
  struct ig_onnx_functions *functions;
  struct ig_onnx *outer;                  // the model; NULL: this is it
  const char *path;                       // of the module
  uint32_t node_field;                    // of the message that nodes go into
  size_t flushed;                         // constants that are nodes already
  IG_VEC(struct ig_onnx_weight) weights;  // that it takes
  ig_table shared;                        // in the model: weight of a function -> its name
  ig_map readers;                         // with the TorchScript conventions: name -> first reader
  ig_map makers;                          // value -> the operator that makes it, and its number
  ig_map node_names;                      // and how often each was wanted
  ig_map aliases;                         // value -> the value that it is a copy of
  ig_map known;                           // name -> weight or constant (fold_weights.c)
  struct ig_onnx_known *all_known;
  IG_VEC(struct ig_onnx_folded) folds;    // what was evaluated, in order
  IG_VEC(struct ig_onnx_folded) earlier;  // when the model was written before
  ig_table equal;                         // node -> the one that computes the same
  struct ig_onnx_written *written;        // calls by their arguments (convention_equal.c)
  ig_map counted;                         // numbers of the program that PyTorch's exporter has once
  ig_map inferred;                        // value -> ig_onnx_inferred (sizes.h)
  IG_VEC(const char *) unknown_sizes;     // their names, by number; NULL: none yet
  ig_onnx_axes axes;                      // the last ones
  size_t nfolded;                         // nodes that were evaluated
  size_t nvalues;                         // of the model before that, 0: not known yet
  const ig_map *renames;                  // value -> the name that it has instead; NULL: none
  size_t nmade;                           // values so far
  const char **output_order;              // names of the outputs written
  size_t noutput_order;
  size_t nweight_names;   // given names that weights have taken
  size_t *first_names;    // see ig_onnx_first_names; NULL: not known yet
  const char *data_name;  // of the file of weights; NULL: they are in the model
  uint64_t external;      // its bytes so far
} ig_onnx;

struct ig_onnx_row;
typedef struct ig_onnx_call {
  const ig_node *node;
  const struct ig_onnx_row *row;
  const ig_value *args;  // one per schema argument
  const ig_tensor *val;  // the result, or the first of several; describes dtype and sizes
  const char *out;       // name of that result
  const char **outs;     // names of all results; NULL members are unused
  size_t nouts;
} ig_onnx_call;

typedef void ig_onnx_fn(ig_onnx *x, const ig_onnx_call *call);
// Whether a row can write a call (arguments are tensors, not nodes); otherwise it is decomposed.
typedef bool ig_onnx_can(int opset, const ig_value *args, size_t n);
typedef struct ig_onnx_row {
  const char *target;  // "aten.relu.default"
  ig_onnx_fn *fn;
  const char *op_type;  // for functions that serve several rows
  ig_onnx_can *can;     // NULL: every call
} ig_onnx_row;

// Families. A table ends with a row without a target.
extern const ig_onnx_row ig_onnx_pointwise[];
extern const ig_onnx_row ig_onnx_unary[];
extern const ig_onnx_row ig_onnx_activation[];
extern const ig_onnx_row ig_onnx_bitwise[];
extern const ig_onnx_row ig_onnx_fill[];
extern const ig_onnx_row ig_onnx_random[];
extern const ig_onnx_row ig_onnx_sort[];
extern const ig_onnx_row ig_onnx_index[];
extern const ig_onnx_row ig_onnx_scatter[];
extern const ig_onnx_row ig_onnx_pieces[];
extern const ig_onnx_row ig_onnx_linear[];
extern const ig_onnx_row ig_onnx_conv[];
extern const ig_onnx_row ig_onnx_signal[];
extern const ig_onnx_row ig_onnx_complex[];
extern const ig_onnx_row ig_onnx_pool[];
extern const ig_onnx_row ig_onnx_loss[];
extern const ig_onnx_row ig_onnx_resize[];
extern const ig_onnx_row ig_onnx_norm[];
extern const ig_onnx_row ig_onnx_attention[];
extern const ig_onnx_row ig_onnx_quant[];
extern const ig_onnx_row ig_onnx_rnn[];
extern const ig_onnx_row ig_onnx_shape[];
extern const ig_onnx_row ig_onnx_reduce[];
extern const ig_onnx_row ig_onnx_packed_rnn[];
extern const ig_onnx_row *const ig_onnx_families[];  // of the library's operators; NULL at the end
extern const ig_onnx_row *const ig_onnx_host_families[];  // of operators that a host defines

const ig_onnx_row *ig_onnx_find_row(const ig_onnx *x, const char *target);  // NULL: none
// Only these rows write complex numbers; others get pairs of real ones (pairs.h).
bool ig_onnx_row_takes_complex(const ig_onnx_row *row);

// For operators without a row and without a suitable decomposition: equivalent ATen calls. False:
// not this one.
typedef struct ig_onnx_lowering {
  const char *target;
  bool (*fn)(ig_ctx *c, int opset, const ig_value *args, ig_value *outs);
} ig_onnx_lowering;
extern const ig_onnx_lowering ig_onnx_lowerings[];
// Targets of lowerings that a partition of a graph takes as it takes rows; NULL at the end.
extern const char *const ig_onnx_lowered_whole[];

// ---- emitting

typedef struct ig_onnx_attr {
  const char *name;
  int type;  // AttributeProto.AttributeType
  int64_t i;
  float f;
  const int64_t *ints;
  const float *floats;
  const char *s;
  const char *const *strings;
  const struct ig_onnx_tensor *tensor;
  size_t n;
} ig_onnx_attr;
enum {
  IG_ONNX_FLOAT = 1,
  IG_ONNX_INT = 2,
  IG_ONNX_STRING = 3,
  IG_ONNX_TENSOR = 4,
  IG_ONNX_GRAPH = 5,
  IG_ONNX_FLOATS = 6,
  IG_ONNX_INTS = 7,
  IG_ONNX_STRINGS = 8  // strings, or s n times
};

static inline ig_onnx_attr ig_onnx_int(const char *name, int64_t i) {
  return (ig_onnx_attr){.name = name, .type = IG_ONNX_INT, .i = i};
}
static inline ig_onnx_attr ig_onnx_float(const char *name, double f) {
  return (ig_onnx_attr){.name = name, .type = IG_ONNX_FLOAT, .f = (float)f};
}
static inline ig_onnx_attr ig_onnx_string(const char *name, const char *s) {
  return (ig_onnx_attr){.name = name, .type = IG_ONNX_STRING, .s = s};
}
static inline ig_onnx_attr ig_onnx_ints(const char *name, const int64_t *at, size_t n) {
  return (ig_onnx_attr){.name = name, .type = IG_ONNX_INTS, .ints = at, .n = n};
}

enum { IG_ONNX_MAX_ATTRS = 10, IG_ONNX_MAX_INPUTS = 8 };
// An ONNX node. Lists end with the first unset member: an attribute without name, an input of NULL
// ("" is an omitted input). `many` replaces `in` where there may be more.
typedef struct ig_onnx_node {
  const char *op_type;
  const char *domain;  // NULL: the default domain
  const char *in[IG_ONNX_MAX_INPUTS + 1];
  const char *const *many;
  size_t nmany;
  ig_onnx_attr attrs[IG_ONNX_MAX_ATTRS + 1];
  const char *out;          // NULL: a fresh name
  const char *const *outs;  // replaces `out` if there are several; NULL members are omitted
  size_t nouts;
} ig_onnx_node;
// Returns the (first) output's name, never NULL.
const char *ig_onnx_emit(ig_onnx *x, const ig_onnx_node *n);
static inline const char *ig_onnx_emit1(ig_onnx *x, const char *op, const char *a,
                                        const char *out) {
  return ig_onnx_emit(x, &(ig_onnx_node){.op_type = op, .in = {a}, .out = out});
}
static inline const char *ig_onnx_emit2(ig_onnx *x, const char *op, const char *a, const char *b,
                                        const char *out) {
  return ig_onnx_emit(x, &(ig_onnx_node){.op_type = op, .in = {a, b}, .out = out});
}
static inline const char *ig_onnx_emit3(ig_onnx *x, const char *op, const char *a, const char *b,
                                        const char *c, const char *out) {
  return ig_onnx_emit(x, &(ig_onnx_node){.op_type = op, .in = {a, b, c}, .out = out});
}
// With the TorchScript conventions, n values that PyTorch's exporter has before the next node,
// where fewer nodes do here: what has no name of its own is named by how many values come before
// it.
void ig_onnx_count_values(ig_onnx *x, size_t n);
// The same for a number of the program, which the graph has once, however often it is used.
// written: as a constant of this use.
void ig_onnx_count_number(ig_onnx *x, int64_t v, bool written);
// The domain for a node in the form of the opset that the model ends at; NULL: the default one.
const char *ig_onnx_final_domain(const ig_onnx *x, const char *op_type);
// `out` is `in`: an Identity, or with the TorchScript conventions another name for it.
void ig_onnx_same(ig_onnx *x, const char *in, const char *out);
// A node whose body follows: close it with ig_onnx_end after its attributes. Used for nodes that
// contain graphs.
size_t ig_onnx_begin(ig_onnx *x, const ig_onnx_node *n);
void ig_onnx_end(ig_onnx *x, size_t mark);

// Operators that changed over the opsets.
const char *ig_onnx_reduce_node(ig_onnx *x, const char *op, const char *in, const int64_t *axes,
                                size_t n, bool keep, const char *out);  // n 0: all axes
const char *ig_onnx_unsqueeze(ig_onnx *x, const char *in, int64_t axis, const char *out);
const char *ig_onnx_squeeze(ig_onnx *x, const char *in, int64_t axis, const char *out);
const char *ig_onnx_transpose(ig_onnx *x, const char *in, const int64_t *perm, size_t n,
                              const char *out);
const char *ig_onnx_gather(ig_onnx *x, const char *in, const char *index, int64_t axis,
                           const char *out);
// Part of one axis; starts and ends are names of vectors of one int64.
const char *ig_onnx_slice(ig_onnx *x, const char *in, const char *start, const char *end,
                          int64_t axis, int64_t step, const char *out);
const char *ig_onnx_concat(ig_onnx *x, const char *const *names, size_t n, int64_t axis,
                           const char *out);

const char *ig_onnx_cast(ig_onnx *x, const char *name, ig_dtype dtype, const char *out);
// Constants: equal ones share one initializer.
const char *ig_onnx_number(ig_onnx *x, ig_dtype dtype, double v);
const char *ig_onnx_integer(ig_onnx *x, ig_dtype dtype, int64_t v);         // exact
const char *ig_onnx_vector(ig_onnx *x, const int64_t *at, size_t n);        // int64
const char *ig_onnx_floats_vector(ig_onnx *x, const double *at, size_t n);  // float32
const char *ig_onnx_filled(ig_onnx *x, ig_dtype dtype, int64_t n, double v);
// A constant of n elements under its own key; *fresh: the caller fills the memory it returns.
void *ig_onnx_constant(ig_onnx *x, const char *key, ig_dtype dtype, const int64_t *dims, int ndim,
                       const char **name);
void *ig_onnx_push(
    ig_onnx *x, size_t size);  // Zeroed memory that lives until the model is written; NULL: error.
const char *ig_onnx_keep(ig_onnx *x, const char *text);      // a copy
const char *ig_onnx_fresh(ig_onnx *x, const char *op_type);  // an unused name
bool ig_onnx_set_name(ig_onnx *x, const ig_node *n, const char *name);

// ---- operands

// The name of an operand, converted to dtype if it has another one (IG_DTYPE_COUNT: as it is). A
// plain number becomes a constant, a symbolic one a computation. None gives "".
const char *ig_onnx_operand(ig_onnx *x, const ig_value *v, ig_dtype dtype);
// The dtype in which an ONNX operator computes for a tensor of dtype d: d itself, or a wider one.
ig_dtype ig_onnx_compute_type(const ig_onnx *x, const char *op_type, ig_dtype d);
// The last node of a call, which computes in d: its result is converted to the call's dtype.
const char *ig_onnx_emit_as(ig_onnx *x, const ig_onnx_call *call, const ig_onnx_node *node,
                            ig_dtype d);
// `name`, of dtype d, is the result.
const char *ig_onnx_finish(ig_onnx *x, const ig_onnx_call *call, const char *name, ig_dtype d);
// The tensor of an operand; NULL: not a tensor.
const ig_tensor *ig_onnx_tensor_of(const ig_value *v);
bool ig_onnx_same_sizes(const ig_tensor *a, const ig_tensor *b);  // false: one is NULL
int ig_onnx_ndim(const ig_value *v);                              // 0: not a tensor
// A dimension that may count from the end.
int64_t ig_onnx_dim(ig_onnx *x, const ig_value *v, int ndim);
// The size of a dimension; one that does not exist is refused.
ig_int ig_onnx_size_at(ig_onnx *x, const ig_tensor *t, int64_t axis);
// A list of integers; a single integer, or a list of one, is repeated `want` times (0: unchanged).
size_t ig_onnx_int_list(ig_onnx *x, const ig_value *v, int64_t *out, size_t cap, size_t want);
// The same with symbols kept.
size_t ig_onnx_symint_list(ig_onnx *x, const ig_value *v, ig_int *out, size_t cap, size_t want);
ig_int ig_onnx_symint_of(ig_onnx *x, const ig_value *v);
int64_t ig_onnx_int_of(ig_onnx *x, const ig_value *v);
double ig_onnx_float_of(ig_onnx *x, const ig_value *v);
bool ig_onnx_bool_of(ig_onnx *x, const ig_value *v);
bool ig_onnx_is_symbolic(const ig_value *v);  // a number that is known only when the model runs
static inline bool ig_onnx_is_none(const ig_value *v) {
  return v->kind == IG_KIND_NONE;
}

// ---- numbers that are known when the model runs

const char *ig_onnx_size(ig_onnx *x, ig_int i);                        // vector of one int64
const char *ig_onnx_shape_of(ig_onnx *x, const ig_int *at, size_t n);  // vector of n int64
const char *ig_onnx_number_of(ig_onnx *x, const ig_expr *e);   // one element (emit_number.c)
bool ig_onnx_has_sources(const ig_onnx *x, const ig_expr *e);  // can be computed here
const char *ig_onnx_scalar_size(ig_onnx *x, ig_int i);         // an int64 without dimensions
ig_dtype ig_onnx_number_type(const ig_expr *e);
const char *ig_onnx_scalar_of(ig_onnx *x, const ig_expr *e, ig_dtype dtype);  // no dimensions
const char *ig_onnx_sizes_name(ig_onnx *x, const ig_tensor *t);  // the sizes of t, as a vector
// The sizes of the result; those of the first operand if they are the same and not known.
const char *ig_onnx_result_sizes(ig_onnx *x, const ig_onnx_call *call);
const char *ig_onnx_constant_of_shape(ig_onnx *x, const char *sizes, ig_dtype d, const ig_value *v,
                                      const char *out);
// Learns symbols from the sizes of a tensor.
void ig_onnx_learn(ig_onnx *x, const char *name, const ig_tensor *t);
void ig_onnx_learn_number(ig_onnx *x, const char *name, const ig_expr *e);
void ig_onnx_learn_scalar(ig_onnx *x, const char *name, const ig_expr *e);  // without dimensions
// A tensor of one element in the form that numbers have.
const char *ig_onnx_as_number(ig_onnx *x, const char *in, int ndim);

// ---- graphs

void ig_onnx_state_init(ig_onnx *x);
void ig_onnx_state_free(ig_onnx *x);
const char *ig_onnx_own_name(ig_onnx *x, const ig_node *n);  // of a node's result
// Names for all results of a node with several; unused ones get fresh names.
const char **ig_onnx_result_names(ig_onnx *x, const ig_node *n, size_t count);
void ig_onnx_learn_list(ig_onnx *x, const ig_node *n, const char *const *names, size_t count);
// A value as an output of the sub-graph that is being written: a copy of what is made outside of
// it, of its inputs, and of what is an output already.
const char *ig_onnx_as_output(ig_onnx *x, const char *name);
// What a sub-graph returns; their number.
size_t ig_onnx_results_of(const ig_graph *g, const ig_value **at);

// How a while_loop goes on, where Loop does that itself (flow_course.c). false: it does not.
#define IG_ONNX_NO_VALUE SIZE_MAX
typedef struct ig_onnx_course {
  size_t counter;       // the carried value that counts the rounds from 0 on; or IG_ONNX_NO_VALUE
  size_t flag;          // the one that says whether there is another round; the same
  const ig_node *step;  // of the body: what counts; NULL: nothing
  bool steady;          // it stays true
  bool bounded;         // there are at most `bound` rounds
  ig_int bound;
} ig_onnx_course;
bool ig_onnx_read_course(const ig_onnx *x, const ig_node *n, const ig_graph *test,
                         const ig_graph *body, ig_onnx_course *course);
struct ig_onnx_tensor;
// The data of a tensor in the byte order of files.
ig_bytes ig_onnx_little(ig_onnx *x, const struct ig_onnx_tensor *t);
void ig_onnx_put_tensor(ig_onnx *x, const struct ig_onnx_tensor *t);  // fields of a TensorProto
const char *ig_onnx_add_shared(ig_onnx *x, const char *path, const ig_tensor *t);
// Folds the call if all its operands are known; its result is then written when it is used.
bool ig_onnx_fold(ig_onnx *x, const ig_node *n, const ig_value *args);
// The same for a call that fills a tensor of known sizes with a number, whatever its operands are:
// with the TorchScript conventions.
bool ig_onnx_fold_filled(ig_onnx *x, const ig_onnx_call *call, const ig_value *number);
void ig_onnx_fold_free(ig_onnx *x);
const char *ig_onnx_add_tensor(ig_onnx *x, const char *name, const ig_tensor *t);
const char *ig_onnx_add_weight(ig_onnx *x, const char *name, const ig_tensor *t);
// For every input of the program the first one that is the same weight: with the TorchScript
// conventions a weight of several names has the first. NULL after an error.
const size_t *ig_onnx_first_names(ig_onnx *x);
// Whether the model already has an equal weight that `name` may stand for, which it then does.
bool ig_onnx_share_weight(ig_onnx *x, const char *name, const ig_tensor *t);
void ig_onnx_put_model(ig_onnx *x);
void ig_onnx_add_weights(ig_onnx *x);
void ig_onnx_put_nodes(ig_onnx *x, const ig_graph *g);
void ig_onnx_fill_args(const ig_node *n, ig_value *args);  // one per schema argument
void ig_onnx_put_hop(ig_onnx *x, const ig_node *n);
void ig_onnx_put_value_info(ig_onnx *x, uint32_t field, const char *name, const ig_tensor *t);
void ig_onnx_put_scalar_info(ig_onnx *x, uint32_t field, const char *name, ig_dtype dtype);
size_t ig_onnx_scope_open(ig_onnx *x);  // returns the enclosing scope
void ig_onnx_scope_close(ig_onnx *x, size_t outer);

// "aten.foo.default: <text> (model.py:14)"; all of them are combined into one IG_UNSUPPORTED error.
void ig_onnx_refuse(ig_onnx *x, const ig_node *n, const char *fmt, ...) IG_PRINTF(3, 4);

// The version of a custom domain: the caller's choice, or 1.
int ig_onnx_domain_version(const ig_onnx *x, const char *domain);
int64_t ig_onnx_elem_type(ig_dtype d);  // TensorProto.DataType

#endif
