// SPDX-License-Identifier: Apache-2.0
// Programs: a graph, a signature that describes its inputs and outputs, and weights. A program is
// immutable, except for the elements of its weights; it may be shared between threads and outlive
// the context that made it.
#ifndef INGOT_PROGRAM_H_
#define INGOT_PROGRAM_H_

#include "ingot/graph.h"

IG_BEGIN_DECLS

typedef struct ig_program ig_program;

IG_API void ig_program_free(ig_program *p);  // Drops one reference. NULL is allowed.
IG_API ig_program *ig_program_retain(ig_program *p);

// Ends a capture as ig_capture_end does and makes a program of it: undeclared constants become
// inputs (c_lifted_tensor_0), dead nodes disappear, inputs keep their plain names.
IG_API IG_MUST_USE ig_status ig_capture_end_program(ig_ctx *c, const ig_value *outs, size_t n,
                                                    ig_program **out);

// The same for a program that assigned new tensors to parts of its state (declared to the capture):
// those are its first outputs, written back when it runs.
typedef struct ig_capture_write {
  ig_tensor *state;
  ig_tensor *value;
} ig_capture_write;
IG_API IG_MUST_USE ig_status ig_capture_end_writes(ig_ctx *c, const ig_capture_write *writes,
                                                   size_t nwrites, const ig_value *outs, size_t n,
                                                   ig_program **out);

IG_API const ig_graph *ig_program_graph(const ig_program *p);  // borrowed

// The signature.
typedef enum ig_input_kind {
  IG_INPUT_USER,
  IG_INPUT_PARAMETER,
  IG_INPUT_BUFFER,
  IG_INPUT_CONSTANT,
  IG_INPUT_OBJECT,
  IG_INPUT_TOKEN,
} ig_input_kind;
typedef struct ig_input_spec {
  ig_input_kind kind;
  const char *name;    // of the placeholder
  const char *target;  // "fc.weight"; NULL: a user input
  bool persistent;     // buffers
  ig_value value;      // a user input that is not a tensor: its fixed value; IG_KIND_NODE otherwise
} ig_input_spec;

typedef enum ig_output_kind {
  IG_OUTPUT_USER,
  IG_OUTPUT_LOSS,
  IG_OUTPUT_BUFFER_MUTATION,
  IG_OUTPUT_INPUT_MUTATION,
  IG_OUTPUT_GRAD_PARAMETER,
  IG_OUTPUT_GRAD_INPUT,
  IG_OUTPUT_TOKEN,
  IG_OUTPUT_PARAMETER_MUTATION,
} ig_output_kind;
typedef struct ig_output_spec {
  ig_output_kind kind;
  const char *name;    // of the node; NULL: a constant
  const char *target;  // the buffer, input or parameter; NULL: a user output
  ig_value value;      // a constant output; IG_KIND_NODE otherwise
} ig_output_spec;

IG_API size_t ig_program_inputs(const ig_program *p, const ig_input_spec **specs);
IG_API size_t ig_program_outputs(const ig_program *p, const ig_output_spec **specs);

// Weights by name, in order of declaration (or see ig_capture_order_state): state_dict (parameters
// and persistent buffers; all names of a shared tensor), or constants (the rest). Tensors are
// borrowed. Elsewhere this is an array by name: an input of ig_onnx_run, an array of a file. Such
// an array may hold texts (ingot/texts.h) instead of numbers; weights of programs never do.
typedef struct ig_weight {
  const char *name;
  ig_tensor *tensor;      // NULL: an array of texts
  const ig_value *texts;  // NULL: a tensor
} ig_weight;
IG_API size_t ig_program_state(const ig_program *p, const ig_weight **weights);
IG_API size_t ig_program_constants(const ig_program *p, const ig_weight **weights);
IG_API ig_tensor *ig_program_find_weight(const ig_program *p, const char *name);  // NULL: none

// Tree specifications of arguments and results in the host's format (JSON); "" if not set. May only
// be set before the program is shared.
IG_API void ig_program_set_specs(ig_ctx *c, ig_program *p, const char *in_spec,
                                 const char *out_spec);
IG_API const char *ig_program_in_spec(const ig_program *p);
IG_API const char *ig_program_out_spec(const ig_program *p);
// Further JSON texts of the host: user metadata of the module, and the fields of named tuples in
// the specs, {"name": {"field_names": ["x"]}}. NULL: none.
IG_API void ig_program_set_texts(ig_ctx *c, ig_program *p, const char *custom,
                                 const char *namedtuples);
IG_API const char *ig_program_custom(const ig_program *p);
IG_API const char *ig_program_namedtuples(const ig_program *p);
// The host's names of the function's arguments, before flattening; 0: unknown.
IG_API void ig_program_set_arg_names(ig_ctx *c, ig_program *p, const char *const *names, size_t n);
IG_API size_t ig_program_arg_names(const ig_program *p, const char *const **names);
// Paths of the modules that the program came from, in the order of the hierarchy, without the root.
// The host declares them all, also those that no node names; nodes may name further ones, which
// follow. The result lives in the current scope; NULL after an error.
IG_API void ig_program_set_modules(ig_ctx *c, ig_program *p, const char *const *paths, size_t n);
IG_API const char *const *ig_program_modules(ig_ctx *c, const ig_program *p, size_t *n);

// Runs on user inputs (one value each, including those that are not tensors, which must equal the
// captured ones). outs receives one value per user output. Mutated buffers are written back.
IG_API IG_MUST_USE ig_status ig_program_run(ig_ctx *c, const ig_program *p, const ig_value *inputs,
                                            size_t n, ig_value *outs);
IG_API size_t ig_program_user_inputs(const ig_program *p);
IG_API size_t ig_program_user_outputs(const ig_program *p);

// A new program over the same weights; see ig_graph_decompose.
IG_API IG_MUST_USE ig_status ig_program_decompose(ig_ctx *c, const ig_program *p,
                                                  const ig_decompose_args *args, ig_program **out);
// Loss and gradients of parameters: see ig_graph_joint.
IG_API IG_MUST_USE ig_status ig_program_joint(ig_ctx *c, const ig_program *p, ig_program **out);
// The same for user output `loss`; the other outputs keep their positions.
IG_API IG_MUST_USE ig_status ig_program_joint_at(ig_ctx *c, const ig_program *p, size_t loss,
                                                 ig_program **out);

// Printed forms, to be freed by ig_text_free. The code and graph forms are those of its graph.
IG_API char *ig_program_code(ig_ctx *c, const ig_program *p);
IG_API char *ig_program_text(ig_ctx *c, const ig_program *p);
IG_API char *ig_program_module_code(ig_ctx *c, const ig_program *p);  // ep.module().code

IG_END_DECLS

#endif
