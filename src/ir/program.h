// SPDX-License-Identifier: Apache-2.0
// A program: graph, signature, weights. Made from a finished graph whose placeholders know their
// roles; the rest of the signature is derived from that.
#ifndef IR_PROGRAM_H_
#define IR_PROGRAM_H_

#include "ingot/report.h"
#include "ir/graph.h"

struct ig_program {
  ig_ref ref;
  ig_alloc alloc;
  ig_arena arena;
  ig_graph *graph;
  ig_input_spec *inputs;
  size_t ninputs;
  ig_output_spec *outputs;
  size_t noutputs;
  ig_weight *state;  // tensors retained
  size_t nstate;
  ig_weight *constants;  // tensors retained
  size_t nconstants;
  const char *in_spec;
  const char *out_spec;
  const char **arg_names;
  size_t narg_names;
  const char **modules;  // paths in the hierarchy that it was captured from; NULL: not known
  size_t nmodules;
  const char *custom;       // what the user attached to the module, as JSON; NULL: nothing
  const char *namedtuples;  // {"name": {"field_names": [...]}} of the specs, as JSON; NULL: none
  bool training;            // as captured: may mutate its operands
  // Further contents of the file that it was loaded from, and the function that frees them; NULL:
  // none.
  struct ig_pt2_origin *origin;
  void (*origin_free)(struct ig_pt2_origin *origin);
  ig_ref *report;  // of a draft; NULL: none
};

// A new value of a weight or an input, written back when the program runs.
static inline bool ig_output_is_write(const ig_output_spec *o) {
  return o->kind == IG_OUTPUT_BUFFER_MUTATION || o->kind == IG_OUTPUT_INPUT_MUTATION ||
         o->kind == IG_OUTPUT_PARAMETER_MUTATION;
}

// Takes ownership of the graph, even after an error (then NULL). `kinds` and `targets` describe
// outputs;
// NULL: all are the user's.
ig_program *ig_program_create(ig_ctx *c, ig_graph *g, const ig_output_kind *kinds,
                              const char *const *targets);

void ig_program_set_report(ig_program *p, ig_report *r);  // retained; before p is shared

// Names the placeholders of a graph that was captured without names (graph->unnamed). Before the
// program is shared. `shown`, if any: path of a weight -> path that it is named after.
ig_status ig_program_name_inputs(ig_ctx *c, ig_program *p, const ig_map *shown);

// What a program's placeholders and outputs are. Inputs in the order of the placeholders; an
// object's value is the text of its class. Weights are found by their targets in `state`.
typedef struct ig_signature {
  const ig_input_spec *inputs;
  size_t ninputs;
  const ig_output_kind *kinds;
  const char *const *targets;
  size_t noutputs;
  const ig_state *state;
  size_t nstate;
} ig_signature;
// A program over g, a graph that a host has edited or made, with the specs and names of p (NULL:
// none). IG_INVALID: the signature does not match the graph.
IG_MUST_USE ig_status ig_program_resign(ig_ctx *c, const ig_program *p, ig_graph *g,
                                        const ig_signature *s, ig_program **out);

// Undeclared constants become placeholders c_lifted_tensor_0 before the user inputs.
bool ig_graph_lift_constants(ig_ctx *c, ig_graph *g);

#endif
