// SPDX-License-Identifier: Apache-2.0
// Reading an ONNX operator is a formula: a function that makes the node's outputs from its inputs
// by ATen calls. The same function serves eager execution (real tensors) and capture (fake tensors,
// symbolic sizes), like every formula: errors are sticky, results belong to the innermost scope, at
// most one recording call in an argument list.
#ifndef ONNX_READ_READER_H_
#define ONNX_READ_READER_H_

#include "ingot/aten.h"
#include "onnx/proto_model.h"
#include "op/formula.h"
#include "tensor/copy.h"
#include "tensor/number.h"

typedef enum ig_rd_kind {
  IG_RD_TENSOR,
  IG_RD_STRINGS,
  IG_RD_SEQUENCE,
  IG_RD_OPTIONAL,  // no item: empty
  IG_RD_MAP,       // keys and values by turns
} ig_rd_kind;

// A value of a running model. Types that ATen lacks are represented by wider ones: sub-byte
// integers by int8 and uint8, small floats by float32; `elem` is the actual type. A tensor of at
// most one dimension whose integers are known (possibly symbolic) keeps them in `ints`; then `t`
// may be NULL until it is needed.
typedef struct ig_rd_value {
  ig_ref ref;
  ig_alloc alloc;
  ig_rd_kind kind;
  int elem;  // ig_om_elem; of a sequence: of its tensors, if it is empty
  ig_tensor *t;
  const struct ig_graph *made_in;  // the capture in which t was created from ints
  ig_int *ints;                    // NULL: not known
  size_t nints;
  int ints_ndim;
  int ndim;  // strings
  int64_t *dims;
  size_t nstrings;
  ig_bytes *strings;
  size_t nitems;
  struct ig_rd_value **items;
} ig_rd_value;

typedef struct ig_rd_frame {
  const ig_om_graph *g;
  ig_rd_value **slots;
  struct ig_rd_frame *up;      // of the graph around this one
  const ig_om_function *fn;    // called function; NULL: not the body of one
  const ig_om_node *call;      // the node that calls it
  struct ig_rd_frame *caller;  // and the frame of that
  const ig_om_opset *opsets;
  size_t nopsets;
  bool keeps;  // values stay after their last reader
} ig_rd_frame;

typedef struct ig_rd ig_rd;
typedef void ig_rd_fn(ig_rd *r);

// An operator since a version; the last row that is not newer than the model's opset applies.
typedef struct ig_rd_row {
  const char *op_type;
  int since;
  ig_rd_fn *fn;
} ig_rd_row;

struct ig_rd {
  ig_ctx *c;
  const ig_onnx_model *m;
  bool capture;
  bool noted;
  int calls;              // graphs in graphs
  int collecting;         // loops in loops that collect results
  int64_t bytes_limit;    // of one result
  ig_map rows;            // "domain\1op_type" -> first row
  ig_arena keys;          // of rows
  ig_rd_value **weights;  // of the main graph, where they were made before; NULL: from the file
  // Shape inference: a node of the main graph that fails, or uses unknown values, has unknown
  // results instead of an error. Called for every error before it is dropped, and after every such
  // node.
  void (*told)(ig_rd *r, const ig_om_node *n, void *user);
  void (*failed)(ig_rd *r, const ig_om_node *n, void *user);
  void *told_user;
  ig_rd_frame *frame;
  // the node being read
  const ig_om_node *node;
  int64_t version;
  ig_rd_value **in;
  size_t nin;
  ig_rd_value **out;
  size_t nout;
};

// ---- running (run.c)

ig_status ig_rd_init(ig_rd *r, ig_ctx *c, const ig_onnx_model *m);
void ig_rd_done(ig_rd *r);
// A sub-graph of the current node (or the main graph) on values; outs belong to
// the innermost scope.
bool ig_rd_graph(ig_rd *r, const ig_om_graph *g, ig_rd_value *const *in, size_t n,
                 ig_rd_value **outs);
// The parts of that, for callers that compute the nodes of the main graph one by one: an open frame
// is the current one.
bool ig_rd_open_frame(ig_rd *r, ig_rd_frame *f, ig_rd_value *const *in, size_t n);
bool ig_rd_node(ig_rd *r, const ig_om_node *n);
void ig_rd_close_frame(ig_rd *r, ig_rd_frame *f, ig_rd_frame *before);
// Sets an error IG_... prefixed with the node. No value.
void ig_rd_fail(ig_rd *r, ig_cause why, const char *fmt, ...) IG_PRINTF(3, 4);
static inline bool ig_rd_ok(const ig_rd *r) {
  return r->c->status == IG_OK;
}

// ---- values (value.c); all belong to the innermost scope, NULL after an error

ig_rd_value *ig_rd_of_tensor(ig_rd *r, ig_tensor *t,
                             int elem);  // elem 0: by its dtype
ig_rd_value *ig_rd_of_ints(ig_rd *r, const ig_int *at, size_t n, int ndim, int elem);
ig_rd_value *ig_rd_of_strings(ig_rd *r, const ig_bytes *at, size_t n, const int64_t *dims,
                              int ndim);
ig_rd_value *ig_rd_of_items(ig_rd *r, ig_rd_kind kind, ig_rd_value *const *items, size_t n);
ig_rd_value *ig_rd_of_data(ig_rd *r, const ig_om_tensor *d);
ig_rd_value *ig_rd_of_sparse(ig_rd *r, const ig_om_sparse *s);
ig_rd_value *ig_rd_keep(ig_rd *r,
                        ig_rd_value *v);  // one more reference for the innermost scope
static inline ig_rd_value *ig_rd_retain(ig_rd_value *v) {
  if (v) ig_ref_retain(&v->ref);
  return v;
}
static inline void ig_rd_release(ig_rd_value *v) {
  if (v) ig_ref_release(&v->ref);
}
ig_tensor *ig_rd_tensor(ig_rd *r,
                        ig_rd_value *v);  // created from its integers if necessary
ig_dtype ig_rd_carrier(int elem);         // IG_DTYPE_COUNT: strings, unknown types
ig_tensor *ig_rd_real(ig_rd *r, ig_dtype dtype, const int64_t *dims,
                      int ndim);  // empty, real
ig_tensor *ig_rd_constant(ig_rd *r, ig_dtype dtype, const void *data,
                          int64_t n);  // 1-d, copied
ig_tensor *ig_rd_scalar(ig_rd *r, double v, ig_dtype dtype);
// Dense memory of a real tensor in `dtype`; NULL and an error if it has no data (a capture).
const void *ig_rd_bytes(ig_rd *r, ig_tensor *t, ig_dtype dtype);

// ---- strings (strings.c)

// The numbers first, first + 1, ... in the shape of strings.
ig_tensor *ig_rd_places(ig_rd *r, const ig_rd_value *v, size_t first);
// Runs the formula of an operator that moves elements on the numbers of strings. False: the current
// node is no such operator, or has no strings.
bool ig_rd_move_strings(ig_rd *r, ig_rd_fn *fn);

// ---- inputs of the current node

bool ig_rd_has(const ig_rd *r, size_t i);
ig_rd_value *ig_rd_val(ig_rd *r, size_t i);  // required
ig_tensor *ig_rd_in(ig_rd *r, size_t i);     // must be a tensor
ig_tensor *ig_rd_opt(ig_rd *r, size_t i);    // NULL: absent
int ig_rd_elem(const ig_rd *r, size_t i);    // 0: absent
// The integers of an input of at most one dimension, symbolic where they depend
// on sizes, read from data otherwise.
const ig_int *ig_rd_ints(ig_rd *r, size_t i, size_t *n);
ig_int ig_rd_one_int(ig_rd *r, size_t i);
// The only element of t, an integer, as a size of at least `least`: an unbacked symbol if it is not
// known now.
ig_int ig_rd_size_in(ig_rd *r, ig_tensor *t, int64_t least);
const int64_t *ig_rd_consts(ig_rd *r, size_t i,
                            size_t *n);  // plain numbers, specialised
int64_t ig_rd_one_const(ig_rd *r, size_t i);
const double *ig_rd_floats(ig_rd *r, size_t i,
                           size_t *n);  // elements of a real tensor
double ig_rd_one_float(ig_rd *r, size_t i);

// ---- attributes of the current node (references followed)

const ig_om_attr *ig_rd_attr(ig_rd *r, const char *name);  // NULL: none
int64_t ig_rd_attr_int(ig_rd *r, const char *name, int64_t otherwise);
double ig_rd_attr_float(ig_rd *r, const char *name, double otherwise);
const char *ig_rd_attr_text(ig_rd *r, const char *name, const char *otherwise);
const int64_t *ig_rd_attr_ints(ig_rd *r, const char *name,
                               size_t *n);  // NULL: none (n 0)
const float *ig_rd_attr_floats(ig_rd *r, const char *name, size_t *n);
const ig_bytes *ig_rd_attr_strings(ig_rd *r, const char *name, size_t *n);
const ig_om_graph *ig_rd_attr_graph(ig_rd *r,
                                    const char *name);  // required
bool ig_rd_text_is(ig_bytes b, const char *text);

// ---- outputs

void ig_rd_out(ig_rd *r, size_t i, ig_tensor *t);  // elem by its dtype
void ig_rd_out_elem(ig_rd *r, size_t i, ig_tensor *t, int elem);
void ig_rd_out_like(ig_rd *r, size_t i, ig_tensor *t,
                    size_t input);  // elem of an input
void ig_rd_out_val(ig_rd *r, size_t i, ig_rd_value *v);
bool ig_rd_wants(const ig_rd *r, size_t i);  // Is output i used?

// ---- helpers for formulas (words.c)

int ig_rd_axis(ig_rd *r, int64_t axis,
               int ndim);                    // IG_INVALID: out of range; then 0
int64_t ig_rd_plain(ig_rd *r, ig_int size);  // specialised
// The size of a dimension, counted from the end if it is negative. IG_INVALID: the tensor does not
// have it; then 1. A model may give an operand any rank, so formulas do not index ig_sizes.
ig_int ig_rd_size(ig_rd *r, const ig_tensor *t, int dim);
// A size that is known is another one than a kernel expects.
bool ig_rd_differs(ig_int size, int64_t expected);
// Rejects results larger than the limit before they are allocated.
bool ig_rd_budget(ig_rd *r, const ig_int *sizes, size_t n, ig_dtype dtype);
ig_tensor *ig_rd_reshape(ig_rd *r, ig_tensor *t, const ig_int *sizes, size_t n);
ig_tensor *ig_rd_permute(ig_rd *r, ig_tensor *t, const int64_t *perm, size_t n);
ig_tensor *ig_rd_unsqueeze(ig_rd *r, ig_tensor *t, int64_t dim);
ig_tensor *ig_rd_squeeze(ig_rd *r, ig_tensor *t, int64_t dim);
ig_tensor *ig_rd_slice(ig_rd *r, ig_tensor *t, int64_t dim, int64_t from, int64_t to, int64_t step);
ig_tensor *ig_rd_select(ig_rd *r, ig_tensor *t, int64_t dim, int64_t index);
ig_tensor *ig_rd_cat(ig_rd *r, ig_tensor *const *ts, size_t n, int64_t dim);
ig_tensor *ig_rd_stack(ig_rd *r, ig_tensor *const *ts, size_t n, int64_t dim);
ig_tensor *ig_rd_add(ig_rd *r, ig_tensor *a, ig_tensor *b);
ig_tensor *ig_rd_sub(ig_rd *r, ig_tensor *a, ig_tensor *b);
ig_tensor *ig_rd_mul(ig_rd *r, ig_tensor *a, ig_tensor *b);
ig_tensor *ig_rd_div(ig_rd *r, ig_tensor *a,
                     ig_tensor *b);  // integers: towards zero
ig_tensor *ig_rd_shift_right(ig_rd *r, ig_tensor *a, ig_tensor *by);
ig_tensor *ig_rd_addn(ig_rd *r, ig_tensor *a, double b);
ig_tensor *ig_rd_muln(ig_rd *r, ig_tensor *a, double b);
ig_tensor *ig_rd_sum(ig_rd *r, ig_tensor *t, const int64_t *dims, size_t n, bool keep);
ig_tensor *ig_rd_mean(ig_rd *r, ig_tensor *t, const int64_t *dims, size_t n, bool keep);
ig_tensor *ig_rd_full(ig_rd *r, const ig_int *sizes, size_t n, double v, ig_dtype dtype);
ig_tensor *ig_rd_cast(ig_rd *r, ig_tensor *t, int from, int to,
                      bool saturate);  // element types
ig_tensor *ig_rd_matmul(ig_rd *r, ig_tensor *a, ig_tensor *b);
// [C] -> [1, C, 1, ...] of ndim dimensions, C at `axis`
ig_tensor *ig_rd_along(ig_rd *r, ig_tensor *t, int axis, int ndim);
// Integers that ATen does not compare (uint16 and wider) as int64 in the same order, and back;
// others unchanged.
ig_tensor *ig_rd_ordered(ig_rd *r, ig_tensor *t);
ig_tensor *ig_rd_unordered(ig_rd *r, ig_tensor *t, ig_dtype dtype);

// ---- known integers (known.c): evaluates the node without recording anything; false: impossible.
bool ig_rd_fold(ig_rd *r);
bool ig_rd_is_random(const ig_om_node *n);  // Is it random, at least with some attributes? Under a
                                            // capture: a node over small constants is evaluated now
                                            // instead of recorded; false: not such a node.
bool ig_rd_compute(ig_rd *r, ig_rd_fn *fn);

// ---- operators by family, each table ended by an empty row
extern const ig_rd_row ig_rd_rows_math[];
extern const ig_rd_row ig_rd_rows_cast[];
extern const ig_rd_row ig_rd_rows_shape[];
extern const ig_rd_row ig_rd_rows_index[];
extern const ig_rd_row ig_rd_rows_scatter[];
extern const ig_rd_row ig_rd_rows_reduce[];
extern const ig_rd_row ig_rd_rows_conv[];
extern const ig_rd_row ig_rd_rows_pool[];
extern const ig_rd_row ig_rd_rows_norm[];
extern const ig_rd_row ig_rd_rows_linear[];
extern const ig_rd_row ig_rd_rows_quant[];
extern const ig_rd_row ig_rd_rows_rnn[];
extern const ig_rd_row ig_rd_rows_resize[];
extern const ig_rd_row ig_rd_rows_image[];
extern const ig_rd_row ig_rd_rows_signal[];
extern const ig_rd_row ig_rd_rows_random[];
extern const ig_rd_row ig_rd_rows_sequence[];
extern const ig_rd_row ig_rd_rows_control[];
extern const ig_rd_row ig_rd_rows_string[];
extern const ig_rd_row ig_rd_rows_attention[];
extern const ig_rd_row ig_rd_rows_loss[];
extern const ig_rd_row ig_rd_rows_ml[];
extern const ig_rd_row ig_rd_rows_tree[];
extern const ig_rd_row ig_rd_rows_train[];
extern const ig_rd_row ig_rd_rows_preview[];

#endif
