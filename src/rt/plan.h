// SPDX-License-Identifier: Apache-2.0
// Plans: a program is run symbolically once, which gives a flat list of kernel calls; sizes that
// vary are expressions in it. For each combination of sizes the calls are prepared and get memory
// at fixed offsets; later runs with these sizes only execute the list. What cannot be planned
// (control flow, sizes that depend on data, custom operators) is interpreted inside the same list.
// docs/runtime.md describes the stages.
//
// A plan belongs to one context, and so to one thread.
#ifndef RT_PLAN_H_
#define RT_PLAN_H_

#include "base/str.h"
#include "ir/graph.h"
#include "kernels/layer.h"

typedef struct ig_plan ig_plan;

// Parts that can be switched off, for tests and for finding the cause of a difference.
enum {
  IG_PLAN_NO_CHAINS = 1,   // pointwise operators run one by one
  IG_PLAN_NO_REUSE = 2,    // every value has memory of its own
  IG_PLAN_NO_LAYERS = 4,   // convolutions are those of the interpreter, and so are all bits
  IG_PLAN_NO_SYMBOLS = 8,  // every combination of sizes has a plan of its own
  IG_PLAN_ALL_SIZES = 16,  // sizes of inputs vary, also where the program does not say so
};

// A size that varies from run to run. Two with the same expression or name are always equal.
typedef struct ig_plan_dim {
  const ig_expr *expr;
  const char *name;  // NULL: equal to no other
} ig_plan_dim;

typedef void ig_rt_visit(void *user, ig_tensor *t);
typedef void ig_rt_visit_size(void *user, ig_int *size);

// A model that is no graph as a list of nodes, which a plan runs one by one. A run of it keeps
// values; while a plan is made they are fake, and real later.
typedef struct ig_plan_nodes {
  void *(*open)(ig_ctx *c, void *user, const ig_value *inputs);  // a run; NULL after an error
  void (*close)(void *run);
  size_t (*count)(const void *run);
  bool (*is_ready)(const void *run, size_t node);  // is all known that it reads?
  bool (*compute)(void *run, size_t node);         // false after an error
  // The node is left to later runs: its results are not known, and what it reads is there as
  // tensors. False after an error.
  bool (*leave)(void *run, size_t node);
  // What is known now stays. What is computed afterwards is gone after its last reader, and all of
  // it after `forget`. False after an error.
  bool (*settle)(void *run);
  void (*forget)(void *run);
  void (*each_operand)(const void *run, size_t node, ig_rt_visit *fn, void *user);
  void (*each_result)(const void *run, size_t node, ig_rt_visit *fn, void *user);
  // Numbers that follow from sizes, among what the node reads beside tensors.
  void (*each_size)(const void *run, size_t node, ig_rt_visit_size *fn, void *user);
  // Output i of the model, in the innermost scope; false: not known, or an error.
  bool (*output)(void *run, size_t i, ig_value *out);
  const char *(*name)(const void *run, size_t node);
  const char *(*target)(const void *run, size_t node);
} ig_plan_nodes;

// What is planned: a graph, or else a function that runs the model on values.
typedef struct ig_plan_source {
  const ig_graph *graph;  // outlives the plan
  // Without a graph: runs the model; results belong to the innermost scope. It only computes
  // through ig_call.
  ig_status (*run)(ig_ctx *c, void *user, const ig_value *inputs, ig_value *outs);
  const ig_plan_nodes *nodes;  // the same node by node; NULL: planned as a whole, or not at all
  // If not NULL: called once per combination of sizes, before it is planned.
  ig_status (*admit)(ig_ctx *c, void *user, const ig_value *inputs);
  // Without a graph, whose placeholders say so: does size d of this input vary? NULL: none does.
  bool (*varies)(void *user, size_t input, int d, ig_plan_dim *out);
  void *user;
  size_t ninputs;
  const bool *constant;  // per input: the same tensor in every run; NULL: none is
  size_t noutputs;
  struct ig_packs *packs;  // shared with other plans of the model; NULL: none
  ig_layer_method narrow;  // of linear layers, whatever their rows; IG_LAYER_NONE: f32
} ig_plan_source;

// The arrays of `source` are copied. NULL after an error.
ig_plan *ig_plan_create(ig_ctx *c, const ig_plan_source *source, unsigned without);
void ig_plan_free(ig_plan *p);  // NULL is allowed

// Memory of the caller for a result; data NULL: none.
typedef struct ig_plan_target {
  void *data;
  size_t bytes;
} ig_plan_target;

// Runs on one value per input. outs belong to the innermost scope; a result's memory is used again
// by a later run as soon as nobody but the plan refers to it. targets: one per output, or NULL; a
// result that has one is in that memory afterwards, row-major. IG_MISMATCH: it has another size.
ig_status ig_plan_run(ig_plan *p, const ig_value *inputs, const ig_plan_target *targets,
                      ig_value *outs);

// How an output of the last run agrees with that of the interpreter.
typedef enum ig_plan_match {
  IG_MATCH_BITS,
  IG_MATCH_SUMS,     // sums of layers: other roundings (rt/layer.h states the bound)
  IG_MATCH_DERIVED,  // computed by further operators from such sums
} ig_plan_match;
ig_plan_match ig_plan_output_match(const ig_plan *p, size_t output);

// One line per step for the sizes of these inputs, which are planned if necessary: what is called,
// shapes, where in memory; then totals.
ig_status ig_plan_print(ig_plan *p, const ig_value *inputs, ig_str *out);

// A layer with narrow weights in a run on given inputs: the error of its results.
typedef struct ig_plan_loss {
  const char *name;    // as in ig_plan_time
  const char *target;  //
  const ig_tensor *weight;
  double error;
  bool kept;
} ig_plan_loss;
typedef struct ig_plan_measure {
  double most;  // layers with a larger error are f32 from now on, in all plans of the model
  void (*report)(void *user, const ig_plan_loss *loss);  // NULL: none
  void *user;
} ig_plan_measure;
// Runs on these inputs and measures every layer with narrow weights; plans are made anew.
ig_status ig_plan_measure_losses(ig_plan *p, const ig_value *inputs, const ig_plan_measure *m);

// A value that a step of a run computes, or an input of the run.
typedef struct ig_plan_value {
  const char *name;    // as in ig_plan_time; an input: ""
  const char *target;  // an input: ""
  ig_tensor *tensor;   // row-major memory of its own, in the innermost scope. Values that the plan
                       // holds in blocks of channels are [images, channels, pixels].
  const void *place;   // what it lies in: the same for its views, during one run
  const void *const *reads;  // the places that the step reads
  size_t nreads;
} ig_plan_value;
typedef void ig_plan_tell(void *user, const ig_plan_value *v);
// From now on runs by plan call fn for every value, in order; interpreted ones do not. NULL ends
// that.
void ig_plan_watch(ig_plan *p, ig_plan_tell *fn, void *user);

// Seconds per step of the runs since this was called with true; the sum of each step so far can be
// read with ig_plan_profile_at. Runs take longer meanwhile.
void ig_plan_profile(ig_plan *p, bool on);

typedef struct ig_plan_time {
  const char *name;    // of the first node of the program that the step computes; "": none
  const char *target;  // "aten.add.Tensor", or several with + between them
  bool interpreted;
  double seconds;  // all runs together
  uint64_t runs;
  double start;  // of the last run: seconds from its beginning
  double last;   // and how long it took there
  double flops;  // of a run; 0: none, or not known
  double bytes;  // that a run reads and writes at least
} ig_plan_time;
// The steps of the last run; false: there are no more. Texts are valid until the next call.
bool ig_plan_profile_at(ig_plan *p, size_t i, ig_plan_time *out);

#endif
