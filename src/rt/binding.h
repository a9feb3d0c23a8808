// SPDX-License-Identifier: Apache-2.0
// The plan for one combination of input sizes: steps in the order of their execution, and the
// memory that they share.
#ifndef RT_BINDING_H_
#define RT_BINDING_H_

#include "base/cpu.h"
#include "ir/table.h"
#include "op/prepare.h"
#include "rt/plan.h"

typedef struct ig_chain ig_chain;
typedef struct ig_rt_layer ig_rt_layer;

// A call of a kernel, a chain of pointwise calls, a layer, or a node that is interpreted.
typedef struct ig_rt_step {
  const ig_op *op;      // NULL: not a single call
  ig_chain *chain;      // NULL: not a chain
  ig_rt_layer *layer;   // NULL: neither a layer nor a change of layout
  const ig_node *node;  // of the program that it belongs to; NULL: not known
  size_t part;          // of a model that is no graph: the node that it interprets
  ig_value *args;
  ig_value *outs;
  ig_prep *prep;  // NULL: the kernel takes memory by itself
  const struct ig_pack_held
      *held;     // what the kernel packs; NULL: nothing; given back with the binding
  bool dead;     // nobody uses its results
  bool joined;   // nothing to do: its operands lie where its result is
  bool sized;    // numbers among its arguments depend on the sizes of the inputs
  bool inexact;  // its sums have another order than those of the operators that it stands for
  double seconds;
  double start;  // in the last run that was timed, from its beginning
  double last;   // and how long it took
} ig_rt_step;

static inline bool ig_rt_is_interpreted(const ig_rt_step *s) {
  return !s->op && !s->chain && !s->layer;
}

typedef enum ig_rt_place {
  IG_PLACE_SLAB,    // at an offset of the plan's memory
  IG_PLACE_INPUT,   // memory of the caller
  IG_PLACE_OUTPUT,  // outlives the run
  IG_PLACE_PART,    // a part of another buffer
  IG_PLACE_FIXED,   // memory of a constant, of which the program shows as much as sizes say
} ig_rt_place;

#define IG_RT_NEVER UINT32_MAX

// Memory of one value and of its views. While the binding is made its tensors are fake; then they
// get an address and are real, without having moved.
typedef struct ig_rt_buffer {
  ig_storage *storage;     // retained
  const ig_tensor *whole;  // that it was made for, held by the binding
  ig_tensor *constant;     // FIXED: whose memory it is, held by the binding
  ig_int elements;         // from the beginning of the memory to its end, for the passes
  size_t bytes;            // for the current sizes
  ig_rt_place place;
  size_t index;      // INPUT: which one; OUTPUT: which group of outputs; PART: of which buffer
  uint32_t first;    // step that writes it
  uint32_t last;     // last step that reads it
  uint32_t until;    // the same while offsets are chosen; IG_RT_NEVER: given back
  bool pinned;       // an interpreted node may keep views of it
  int64_t takes;     // the buffer whose memory it takes over; -1: none
  size_t offset;     // SLAB; PART: at first from the beginning of the other buffer
  bool parts;        // others are parts of it
  bool placed;       // SLAB: the offset is known
  int64_t channels;  // the value is in blocks and has so many; 0: it is not in blocks
} ig_rt_buffer;

// Results that lie in one buffer, and memory for them. There are several sets, so that results of
// earlier runs can still be in use.
enum { IG_RT_SETS = 3 };
typedef struct ig_rt_group {
  size_t buffer;
  size_t members;  // outputs
} ig_rt_group;

typedef struct ig_rt_sets {
  ig_tensor *memory[IG_RT_SETS];  // bytes
  size_t set;                     // the one that the last run wrote
  void *direct;                   // the caller's memory instead; NULL: none
} ig_rt_sets;

typedef struct ig_rt_output {
  ig_value value;  // as planned; dynamic: the node of the program that computes it
  bool dynamic;    // an interpreted node computes it
  int64_t group;   // -1: not in memory of its own
  int64_t input;   // it shows this input; -1: none
  ig_plan_match match;
} ig_rt_output;

typedef struct ig_rt_shown {
  ig_tensor *at[IG_RT_SETS];
  ig_tensor *bound;  // over the caller's memory; NULL: none yet
} ig_rt_shown;

typedef struct ig_rt_symbols ig_rt_symbols;
typedef struct ig_rt_frame ig_rt_frame;

// Steps for all sizes that take the same ones, or for one combination of sizes. The numbers in
// tensors, arguments and layers are those of the current frame (frame.h).
typedef struct ig_binding {
  ig_plan *plan;
  struct ig_binding *next;
  // Key: what the inputs are like.
  ig_value *inputs;  // tensors: fake ones
  ig_dtype dtype;    // the default one
  int threads;
  ig_cpu level;  // layers are laid out for it

  bool interpreted;  // nothing was planned
  bool empty;        // the sizes of the last frame leave a tensor without elements
  ig_arena memory;   // arrays
  IG_VEC(ig_rt_step) steps;
  IG_VEC(ig_rt_buffer) buffers;
  IG_VEC(ig_tensor *) held;
  ig_table by_storage;  // storage -> number of its buffer, -1: no longer
  void *run;            // of a model that is no graph, with the values of its nodes; NULL: none
  ig_value *env;        // per node of the graph; interpreted ones: only while it runs
  bool *dynamic;        // per node: its value is known only when it runs
  ig_rt_output *outputs;
  IG_VEC(ig_rt_group) groups;
  ig_rt_symbols *symbols;  // sizes that vary; NULL: all are numbers
  ig_rt_frame *frames;     // the last one used first
  ig_rt_frame *frame;      // the current one; NULL: none
  ig_rt_sets *sets;        // of the current frame, per group
  ig_rt_shown *shown;      // of the current frame, per output
  size_t slab;             // bytes
  size_t work;             // bytes
  char *base;              // where buffers lie now; NULL: nowhere yet
  uint64_t runs;
} ig_binding;

struct ig_plan {
  ig_ctx *c;
  ig_plan_source source;
  unsigned without;
  struct ig_packs *packs;
  bool *constant;
  bool numbers;       // plans with sizes that vary failed: each combination has its own
  bool *interpreted;  // per node: numbers instead of symbols do not help it; NULL: not known
  size_t nnodes;
  ig_binding *bindings;  // the last one used first
  size_t nbindings;
  void *slab;  // shared by all bindings: only one runs at a time
  size_t slab_size;
  void *work;
  size_t work_size;
  bool timed;
  ig_plan_tell *tell;  // NULL: nobody watches
  void *tell_user;
  const ig_plan_measure *measure;  // of a run that is measured; NULL: none
  ig_str text;                     // the last one that ig_plan_profile_at gave
};

// ---- making one (trace.c): steps as the interpreter would call them. False after an error; what
// could not be planned is no error.
bool ig_rt_trace(ig_binding *b, const ig_value *inputs);
// Copies a value into the binding and retains its tensors. False: out of memory, or a kind of value
// that plans do not hold (no error is set then).
bool ig_rt_keep(ig_binding *b, ig_value *v);
bool ig_rt_hold(ig_binding *b, ig_tensor *t);
// Memory for a fake tensor that has none yet; buffers may move.
bool ig_rt_add_buffer(ig_binding *b, ig_tensor *t, ig_rt_place place, size_t index);
// False after an error; p is as the kernel needs it otherwise.
bool ig_rt_prepare_step(ig_binding *b, const ig_rt_step *s, ig_prep *p);
// What the kernel packs of constants, once for all frames; false after an error.
bool ig_rt_pack_step(ig_binding *b, ig_rt_step *s, ig_prep *p);
// The buffer of a tensor; NULL: a constant.
ig_rt_buffer *ig_rt_find(const ig_binding *b, const ig_tensor *t);

// Calls fn for every tensor of a value.
void ig_rt_each(const ig_value *v, ig_rt_visit *fn, void *user);
// The operands of a step. Interpreted nodes: those that were planned.
void ig_rt_each_operand(const ig_binding *b, const ig_rt_step *s, ig_rt_visit *fn, void *user);
void ig_rt_each_result(const ig_rt_step *s, ig_rt_visit *fn, void *user);

// ---- stages after that, in this order
bool ig_rt_find_lifetimes(ig_binding *b);  // steps whose results nobody uses are dropped first
bool ig_rt_make_layers(ig_binding *b);
bool ig_rt_make_chains(ig_binding *b);
bool ig_rt_match_outputs(ig_binding *b);  // which outputs depend on reordered sums
void ig_rt_join(ig_binding *b);
bool ig_rt_place_buffers(ig_binding *b);  // for the current sizes

void ig_rt_drop(ig_binding *b);  // dead steps

// ---- layers
void ig_layer_each_operand(const ig_rt_layer *l, ig_rt_visit *fn, void *user);
void ig_layer_each_result(const ig_rt_layer *l, ig_rt_visit *fn, void *user);
void ig_rt_size_layer(ig_rt_layer *l);  // the current sizes of its tensors become its own
bool ig_rt_prepare_layer(ig_binding *b, ig_rt_layer *l, ig_need *need);  // false after an error
void ig_rt_use_need(ig_rt_layer *l, const ig_need *need);
// The sizes that a layer has beside those of its tensors.
void ig_rt_each_size(ig_rt_layer *l, ig_rt_visit_size *fn, void *user);
void ig_rt_run_layer(ig_ctx *c, const ig_rt_layer *l, void *work);
void ig_rt_free_layers(ig_binding *b);
void ig_rt_measure_layer(ig_binding *b, const ig_rt_step *s);  // after it has run
void ig_layer_print(const ig_rt_layer *l, ig_str *out);

// ---- chains
// The k-th operand whose memory the result t may be written over; NULL: there are no more.
ig_tensor *ig_chain_overwritable(ig_ctx *c, const ig_chain *chain, const ig_tensor *t, size_t k);
void ig_chain_each_operand(const ig_chain *chain, ig_rt_visit *fn, void *user);
void ig_chain_each_result(const ig_chain *chain, ig_rt_visit *fn, void *user);
void ig_chain_run(ig_ctx *c, const ig_chain *chain);
void ig_chain_print(const ig_chain *chain, ig_str *out);

// ---- outputs
bool ig_rt_make_outputs(ig_binding *b);
bool ig_rt_open_outputs(ig_binding *b, const ig_plan_target *targets);
bool ig_rt_close_outputs(ig_binding *b, const ig_value *inputs, const ig_plan_target *targets,
                         ig_value *outs);
// Results that are elsewhere are copied into the caller's memory.
bool ig_rt_fill_targets(ig_plan *p, const ig_plan_target *targets, const ig_value *outs);
void ig_rt_free_sets(const ig_binding *b, ig_rt_sets *sets, ig_rt_shown *shown);

// ---- costs of a run of a step, for the current sizes
double ig_rt_flops(const ig_rt_step *s);
double ig_rt_bytes(const ig_binding *b, const ig_rt_step *s);

void ig_rt_print(const ig_binding *b, ig_str *out);
void ig_rt_print_target(const ig_binding *b, const ig_rt_step *s, ig_str *out);
// Of the node that the step belongs to; "": not known.
const char *ig_rt_name_of(const ig_binding *b, const ig_rt_step *s);

// ---- watching (tell.c)
void ig_rt_tell_inputs(ig_binding *b, const ig_value *inputs);
void ig_rt_tell(ig_binding *b, const ig_rt_step *s);  // after it has run

// ---- questions about sizes. While a binding is made sizes may be symbolic; answers then hold for
// all sizes that the binding serves, because they are recorded as guards.
bool ig_rt_same_sizes(ig_ctx *c, const ig_tensor *a, const ig_tensor *b);
// Same sizes and the same strides where they matter.
bool ig_rt_same_layout(ig_ctx *c, const ig_tensor *a, const ig_tensor *b);
bool ig_rt_is_dense(ig_ctx *c, const ig_tensor *t);
ig_int ig_rt_numel(ig_ctx *c, const ig_tensor *t);
// Does the tensor show all of the buffer, in order?
bool ig_rt_is_whole(ig_ctx *c, const ig_rt_buffer *x, const ig_tensor *t);

#endif
