// SPDX-License-Identifier: Apache-2.0
// Graphs: capture, printing, rewriting, running. A graph does not change after its capture has
// ended, except by passes that are documented to change it. It may be moved between contexts and
// threads.
#ifndef INGOT_GRAPH_H_
#define INGOT_GRAPH_H_

#include "ingot/op.h"

IG_BEGIN_DECLS

// Between begin and end every ig_call of this context is recorded instead of executed. Captures do
// not nest (IG_RUNTIME).
IG_API IG_MUST_USE ig_status ig_capture_begin(ig_ctx *c);
IG_API bool ig_capture_is_open(const ig_ctx *c);

// A fresh size symbol s0, s1, ... with example value `hint` and range [lo, hi]. IG_INVALID: hint
// outside.
IG_API ig_int ig_capture_dim(ig_ctx *c, int64_t hint, int64_t lo, int64_t hi);
IG_API ig_int ig_capture_unbacked(ig_ctx *c);  // u0, u1, ...: a size read from data

// Placeholders, in graph order: parameters, buffers, constants, inputs. All return fake tensors.
//
// An input, by sizes or like an example (whose elements are not read).
IG_API ig_tensor *ig_capture_input(ig_ctx *c, const char *name, ig_dtype dtype, const ig_int *sizes,
                                   int ndim);
IG_API ig_tensor *ig_capture_input_like(ig_ctx *c, const char *name, ig_tensor *example);
// An input that is not a tensor (int, float, bool, string, None): the capture specializes on its
// value.
IG_API void ig_capture_input_value(ig_ctx *c, const char *name, const ig_value *value);

// State of the program: "fc.weight" becomes p_fc_weight, b_..., c_.... From then on the tensor
// `value` itself also represents the placeholder, so that a model can keep using its own
// parameters. The same tensor declared twice (shared weights) has one placeholder and both names.
typedef enum ig_state_kind {
  IG_STATE_PARAMETER,
  IG_STATE_BUFFER,
  IG_STATE_TEMPORARY,  // a non-persistent buffer
  IG_STATE_CONSTANT,
} ig_state_kind;
IG_API ig_tensor *ig_capture_state(ig_ctx *c, ig_state_kind kind, const char *name,
                                   ig_tensor *value);
// Another name of a tensor. alias: with its own placeholder, which represents the tensor from then
// on. name: without one; a constant (such as an attribute of a model) gets its placeholder, under
// the first of its names, when a call reads it, and is not a constant of the program if no call
// does.
IG_API ig_tensor *ig_capture_alias(ig_ctx *c, ig_state_kind kind, const char *name,
                                   ig_tensor *value);
IG_API void ig_capture_name(ig_ctx *c, ig_state_kind kind, const char *name, ig_tensor *value);
// Another placeholder of a tensor, under a name that it already has; see ig_capture_arrange_state.
IG_API ig_tensor *ig_capture_again(ig_ctx *c, ig_state_kind kind, const char *name,
                                   ig_tensor *value);
// Sets the order of the state in the program, after all of it is declared; placeholders do not
// move. Names that are not listed come last.
IG_API void ig_capture_order_state(ig_ctx *c, const char *const *names, size_t n);
// Arranges the state in the order in which the program read it, after all calls are recorded: the
// given placeholders (from ig_capture_state and similar functions) come first, in this order; other
// state that no call reads is not an input of the program. groups: NULL, or equal numbers for
// placeholders of the same tensor, of which the last replaces the others.
IG_API void ig_capture_arrange_state(ig_ctx *c, ig_tensor *const *state, const size_t *groups,
                                     size_t n);
static inline ig_tensor *ig_capture_param(ig_ctx *c, const char *name, ig_tensor *value) {
  return ig_capture_state(c, IG_STATE_PARAMETER, name, value);
}
static inline ig_tensor *ig_capture_buffer(ig_ctx *c, const char *name, ig_tensor *value) {
  return ig_capture_state(c, IG_STATE_BUFFER, name, value);
}

// Metadata of the nodes recorded from now on, not interpreted here; the text is copied, NULL: none.
typedef enum ig_meta_key {
  IG_META_TORCH_FN,  // "linear_1;builtin_function_or_method.linear"
  IG_META_SOURCE_FN,
  IG_META_CUSTOM,  // JSON: what the user attached
  IG_META_KEY_COUNT
} ig_meta_key;
IG_API void ig_capture_set_meta(ig_ctx *c, ig_meta_key key, const char *text);

// The frames of the nodes recorded from now on, outermost first; copied. NULL: unknown.
IG_API void ig_capture_set_frames(ig_ctx *c, const ig_frame *frames, size_t n);

// A module that is being called. The enclosing modules of a call, outermost first, are its module
// stack.
typedef struct ig_module_level {
  const char *key;   // "L__self___fc"
  const char *path;  // "fc"; the program itself is ""
  const char *type;  // "torch.nn.modules.linear.Linear"
} ig_module_level;
// The module stack of the nodes recorded from now on; copied. NULL: unknown.
IG_API void ig_capture_set_modules(ig_ctx *c, const ig_module_level *levels, size_t n);

// Ends the capture even after an error, which it returns; then *out is NULL. The caller frees the
// graph. Real tensors that calls used but that were not declared are attributes of the graph.
// ig_capture_end_program (ingot/program.h) ends it with a program.
IG_API IG_MUST_USE ig_status ig_capture_end(ig_ctx *c, const ig_value *outs, size_t n,
                                            ig_graph **out);
IG_API void ig_capture_abort(ig_ctx *c);  // Ends the capture, if one is open, and discards it.
IG_API void ig_graph_free(ig_graph *g);   // NULL is allowed.

// Printed forms; the caller frees the text with ig_text_free. NULL after an error (out of memory).
IG_API char *ig_graph_code(ig_ctx *c, const ig_graph *g);    // def forward(self, x): ...
IG_API char *ig_graph_text(ig_ctx *c, const ig_graph *g);    // graph(): %x : [num_users=1] ...
IG_API char *ig_graph_guards(ig_ctx *c, const ig_graph *g);  // one guard per line
IG_API void ig_text_free(ig_ctx *c, char *text);             // NULL is allowed.

// Access to nodes, in order; borrowed.
typedef enum ig_node_kind {
  IG_NODE_PLACEHOLDER,
  IG_NODE_ATTR,    // get_attr of a constant tensor, a sub-graph or an opaque object
  IG_NODE_CALL,    // call_function: an operator, getitem, arithmetic on symbolic numbers ...
  IG_NODE_OUTPUT,  // last node
  IG_NODE_MODULE,  // call_module: a module of the host, by path
  IG_NODE_METHOD,  // call_method: a method of the first operand, by name
} ig_node_kind;
IG_API size_t ig_graph_node_count(const ig_graph *g);
IG_API const ig_node *ig_graph_first(const ig_graph *g);
IG_API const ig_node *ig_node_next(const ig_node *n);
IG_API const ig_node *ig_graph_find(const ig_graph *g, const char *name);  // NULL: none
IG_API ig_node_kind ig_node_get_kind(const ig_node *n);
IG_API const char *ig_node_name(const ig_node *n);
IG_API const char *ig_node_target(const ig_node *n);  // "aten.add.Tensor", "_operator.getitem"
IG_API const ig_op *ig_node_op(const ig_node *n);     // NULL: not an operator
IG_API const char *ig_node_meta(const ig_node *n, ig_meta_key key);  // NULL: none
// The frames in which it was recorded, outermost first, borrowed; *frames is NULL if unknown.
IG_API size_t ig_node_frames(const ig_node *n, const ig_frame **frames);
// The innermost of them, or the location that was set by ig_ctx_at; file is NULL if unknown.
IG_API ig_frame ig_node_location(const ig_node *n);
// Its module stack, borrowed; *levels is NULL if unknown.
IG_API size_t ig_node_modules(const ig_node *n, const ig_module_level **levels);
// Whether a stack is the one that PyTorch gives to nodes outside all modules.
IG_API bool ig_modules_are_none(const ig_module_level *levels, size_t n);
// The value: a fake tensor, a number, or a list of those.
IG_API const ig_value *ig_node_val(const ig_node *n);
// Positional arguments, then keyword arguments; operands have kind IG_KIND_NODE, lists
// IG_KIND_LIST.
IG_API size_t ig_node_args(const ig_node *n, const ig_value **args);
IG_API size_t ig_node_kwargs(const ig_node *n, const ig_value **args, const char *const **keys);
IG_API size_t ig_node_users(const ig_node *n);  // distinct nodes that use it
// Sub-graphs (branches and bodies of higher-order operators) by attribute name, in order.
IG_API size_t ig_graph_sub_count(const ig_graph *g);
IG_API ig_graph *ig_graph_sub(const ig_graph *g, size_t i, const char **name);  // borrowed
IG_API ig_graph *ig_graph_find_sub(const ig_graph *g, const char *name);        // NULL: none

// Runs on real tensors: one value per placeholder, in order. outs gets one value per output.
IG_API size_t ig_graph_input_count(const ig_graph *g);
IG_API size_t ig_graph_output_count(const ig_graph *g);
IG_API IG_MUST_USE ig_status ig_graph_run(ig_ctx *c, const ig_graph *g, const ig_value *inputs,
                                          size_t n, ig_value *outs);

// A new graph in which operators are replaced by their decompositions.
typedef enum ig_decompose_level {
  IG_DECOMPOSE_COMPOSITE,  // composite operators only: run_decompositions({})
  IG_DECOMPOSE_CORE,       // also those that Core ATen lacks: run_decompositions()
} ig_decompose_level;
typedef struct ig_decompose_args {
  size_t size;  // sizeof(ig_decompose_args)
  ig_decompose_level level;
  const char *const *also;      // further targets, "aten.leaky_relu.default"; terminated by NULL
  const char *const *preserve;  // targets to keep; terminated by NULL
  // The calls come directly from a capture, not from a program that PyTorch would trace a second
  // time: literals stay literals and detaching one is a no-op.
  bool once;
  bool functional;  // a program of training level that writes nothing: not lowered first
  bool whole;       // calls whose results nobody reads stay
  // If not NULL, called before the built-in decompositions: replaces a call by other calls (which
  // are decomposed in turn) and fills outs, or returns false.
  bool (*replace)(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs, void *user);
  // If not NULL: whether a call is kept, called before everything else. There is one value per
  // schema argument.
  bool (*keep)(const ig_op *op, const ig_value *args, void *user);
  void *user;
} ig_decompose_args;
IG_API IG_MUST_USE ig_status ig_graph_decompose(ig_ctx *c, const ig_graph *g,
                                                const ig_decompose_args *args, ig_graph **out);

// Forward and backward in one graph: returns output 0 of g (the loss, one element), followed by the
// gradient of each placeholder that requires grad, in order.
IG_API IG_MUST_USE ig_status ig_graph_joint(ig_ctx *c, const ig_graph *g, ig_graph **out);

IG_API size_t
ig_graph_dce(ig_graph *g);  // Removes calls without users or side effects; returns how many.
// Returns IG_ASSERTION with the first violated invariant. Runs after every pass in debug builds.
IG_API IG_MUST_USE ig_status ig_graph_verify(ig_ctx *c, const ig_graph *g);

IG_END_DECLS

#endif
