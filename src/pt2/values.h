// SPDX-License-Identifier: Apache-2.0
// Values of the export schema: numbers of dtypes, layouts and memory formats, devices, sizes,
// tensor metadata and arguments, each in both directions.
#ifndef PT2_VALUES_H_
#define PT2_VALUES_H_

#include "codec/json.h"
#include "ir/graph.h"
#include "op/schema.h"
#include "tensor/tensor.h"

// ---- writing; errors go into the ctx

// The name of a node in the file: results of a multi-result call are named after their getitem.
typedef const char *ig_pt2_namer(void *user, const ig_node *n);

typedef struct ig_pt2_out {
  ig_ctx *c;
  ig_json_writer *w;
  ig_pt2_namer *name;
  void (*graph)(void *user, const ig_node *attribute);  // writes the sub-graph that it reads
  void *user;
  bool old_none;    // None is [] instead of true
  bool old_floats;  // infinities are bare words instead of strings
  bool infix;       // expressions as s0 + 1, and no dtype after bfloat16: the schema of 2.5
} ig_pt2_out;

void ig_pt2_put_named(ig_pt2_out *o, const char *union_key,
                      const char *name);                   // {"k": {"name": n}}
void ig_pt2_put_number(ig_pt2_out *o, const ig_value *v);  // SymInt, SymFloat, SymBool
void ig_pt2_put_tensor_meta(ig_pt2_out *o, const ig_tensor *t, bool requires_grad);
// `type` (may be NULL) is the element type of an empty list. Lists that mix tensors and numbers,
// which the schema lacks, are written as {"as_arguments": [Argument]}, which PyTorch rejects by
// name.
void ig_pt2_put_argument(ig_pt2_out *o, const ig_value *v, const ig_arg *type);

const char *ig_pt2_object_class(const ig_node *n);             // of a placeholder that is an object
extern const char *const ig_pt2_meta_keys[IG_META_KEY_COUNT];  // "torch_fn" ...
#define IG_PT2_STACK_TRACE "stack_trace"
#define IG_PT2_MODULE_STACK "nn_module_stack"

#define IG_PT2_FORMS "ingot.forms"  // Ingot's own metadata: the release that the program prints as
#define IG_PT2_READER_NAMES "get_attr"  // Ingot's own metadata: names of nodes that read sub-graphs

// Numbers of the schema; the COUNT of the kind: unknown.
ig_dtype ig_pt2_dtype_find(int64_t number);  // 14 was uint16 up to schema 7
ig_layout ig_pt2_layout_find(int64_t number);
ig_memory_format ig_pt2_memory_format_find(int64_t number);

// ---- reading

typedef struct ig_pt2_in {
  ig_ctx *c;
  const char *file;     // name of the JSON member, for messages
  ig_bytes text;        // for line numbers
  ig_arena *arena;      // for values that are lists
  const ig_map *names;  // name -> ig_node *: the nodes defined so far in the graph being read
  ig_map *exprs;        // text -> ig_expr *: expressions that were parsed; NULL: there are none
  int64_t major;        // of the schema; 0: not a program, but a list of weights
  int64_t minor;
  // A sub-graph among the arguments: the node that reads it. NULL: not here.
  ig_value (*sub)(void *user, const ig_json *v);
  void *user;
} ig_pt2_in;

// Fails with "file: line 1 column 7: text".
ig_status ig_pt2_fail(const ig_pt2_in *in, const ig_json *at, ig_cause why, const char *fmt, ...)
    IG_PRINTF(4, 5);
// Required members of a given kind; NULL after an error.
const ig_json *ig_pt2_get(const ig_pt2_in *in, const ig_json *object, const char *key,
                          ig_json_kind kind);
const char *ig_pt2_get_text(const ig_pt2_in *in, const ig_json *object, const char *key);
int64_t ig_pt2_get_int(const ig_pt2_in *in, const ig_json *object, const char *key);
// The only member of a union (in schemas 1 and 2, the only one that is not null); NULL after an
// error.
const ig_json_member *ig_pt2_union(const ig_pt2_in *in, const ig_json *v);

ig_int ig_pt2_get_size(const ig_pt2_in *in, const ig_json *v);  // SymInt
// SymInt, SymFloat or SymBool: a number, possibly symbolic. None after an error.
ig_value ig_pt2_get_number(const ig_pt2_in *in, const ig_json *v);
// The text of SymExpr, which was a plain string in old schemas; NULL: not an expression.
const char *ig_pt2_expr_text(const ig_json *v);
bool ig_pt2_name_is_plain(
    const char *name);  // Names must be valid because they appear in printed code.
bool ig_pt2_get_tensor_meta(const ig_pt2_in *in, const ig_json *v, ig_meta *out, bool *grad);
ig_value ig_pt2_get_argument(const ig_pt2_in *in, const ig_json *v);

#endif
