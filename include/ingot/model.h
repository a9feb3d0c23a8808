// SPDX-License-Identifier: Apache-2.0
// Model files of any kind: open, inspect and run them.
//
//   ig_model *m = NULL;
//   ig_session *s = NULL;
//   if (ig_model_open(c, "mlp.pt2", NULL, &m) == IG_OK && ig_session_create(c, m, &s) == IG_OK &&
//       ig_session_bind(s, "x", (int64_t[]){1, 8}, 2, data, sizeof data) == IG_OK &&
//       ig_session_run(s) == IG_OK) {
//     const ig_tensor *y = ig_session_output(s, NULL);
//   }
//   ig_session_free(s);
//   ig_model_free(m);
//
// The kind of a file is recognised by content, never by name. Files are untrusted until parsed:
// nothing in them is executed, and errors name what is rejected.
//
// Threads. An open model is immutable; any number of threads may use it at the same time. A session
// belongs to the context that it was created with, and so to one thread: one session per thread,
// over one model. Buffers that the model mutates belong to the session.
//
// Errors. Functions that can fail return an ig_status; ig_ctx_error of the context has the text.
// Errors of a context are sticky (ingot/ctx.h): call ig_ctx_clear before continuing after one.
//
// Stability. Structs of options begin with their size, so that a library can be newer than its
// caller: `ig_model_options o = {.size = sizeof o}`, the rest 0. Structs that the library returns
// are accessed through pointers and grow only at their end. docs/embedding.md has the whole policy.
#ifndef INGOT_MODEL_H_
#define INGOT_MODEL_H_

#include "ingot/program.h"

IG_BEGIN_DECLS

typedef struct ig_model ig_model;
typedef struct ig_session ig_session;
struct ig_limits;

// Kinds of files. New ones are added at the end. X(name, keyword used by the command, description)
#define IG_MODEL_KIND_LIST(X)                                 \
  X(PT2, "pt2", "exported program (.pt2)")                    \
  X(TORCHSCRIPT, "torchscript", "TorchScript archive")        \
  X(TORCH_SAVE, "torch", "torch.save file")                   \
  X(TORCH_LEGACY, "torch-legacy", "torch.save file (legacy)") \
  X(SAFETENSORS, "safetensors", "safetensors")                \
  X(NPZ, "npz", "NumPy archive (.npz)")                       \
  X(NPY, "npy", "NumPy array (.npy)")                         \
  X(ONNX, "onnx", "ONNX model")                               \
  X(COMPILED, "ingot", "compiled model (.ingot)")
typedef enum ig_model_kind {
#define X(name, word, text) IG_MODEL_##name,
  IG_MODEL_KIND_LIST(X)
#undef X
      IG_MODEL_KIND_COUNT
} ig_model_kind;
IG_API const char *ig_model_kind_word(ig_model_kind k);  // "pt2"
IG_API const char *ig_model_kind_text(ig_model_kind k);  // "exported program (.pt2)"

// ---- opening

typedef struct ig_model_options {
  size_t size;                     // sizeof(ig_model_options)
  const struct ig_limits *limits;  // NULL: the default ones (ingot/limits.h)
  // For inspection: an unsupported program does not make opening fail, but is listed among the
  // findings.
  bool inspect;
  // Convert ONNX models to programs (ig_model_program) where possible. Otherwise the model itself
  // is interpreted.
  bool program;
  // If not NULL: called with the current stage and the bytes done out of the total (0 of 0 if
  // unknown).
  void (*progress)(void *user, const char *stage, uint64_t done, uint64_t total);
  void *progress_user;
  bool copy;  // ig_model_open_bytes copies the bytes, which may go away then
} ig_model_options;

// Maps the file and parses it; weights stay pages of the file. IG_IO: system error; IG_SYNTAX:
// malformed, or not a model file; IG_UNSUPPORTED: valid but with unsupported contents. options may
// be NULL. The caller frees the model.
IG_API IG_MUST_USE ig_status ig_model_open(ig_ctx *c, const char *path,
                                           const ig_model_options *options, ig_model **out);
// The same for a file in memory. `name` is used in messages; the bytes must outlive the model and
// every tensor taken from it, unless options->copy is set. Files beside it (external data of ONNX)
// are not used.
IG_API IG_MUST_USE ig_status ig_model_open_bytes(ig_ctx *c, const char *name, const void *data,
                                                 size_t n, const ig_model_options *options,
                                                 ig_model **out);
IG_API ig_model *ig_model_retain(ig_model *m);
IG_API void ig_model_free(ig_model *m);  // Drops one reference. NULL is allowed.

// ---- inspection; everything is borrowed from the model

IG_API ig_model_kind ig_model_get_kind(const ig_model *m);
IG_API const char *ig_model_name(const ig_model *m);     // the path, or the given name
IG_API uint64_t ig_model_file_bytes(const ig_model *m);  // size of the file
// The program as stored in the file; NULL: a file of weights, or unsupported.
IG_API ig_program *ig_model_program(const ig_model *m);
// The same in functional form (inference IR): what a session runs. NULL: as above.
IG_API ig_program *ig_model_runnable(const ig_model *m);
// The model of an ONNX file (ingot/onnx.h); NULL: a file of another kind.
struct ig_onnx_model;
IG_API const struct ig_onnx_model *ig_model_onnx(const ig_model *m);

// One size of an input or output.
typedef struct ig_model_dim {
  const char *name;  // if dynamic: "s0", "2*s0 + 1", "batch"; NULL: static
  int64_t value;  // static: the size; dynamic: one that is consistent with the others; -1: unknown
  int64_t lo;     // inclusive bounds; a static size is both
  int64_t hi;     // INT64_MAX: none
} ig_model_dim;

typedef enum ig_port_role {
  IG_PORT_USER,    // an input or output of the user
  IG_PORT_BUFFER,  // output: new value of the buffer `target`
  IG_PORT_INPUT,   // output: new value of the input `target`
  IG_PORT_GRAD,    // output: gradient of `target`
  IG_PORT_TOKEN,   // token for ordered side effects
} ig_port_role;

// An input or output.
typedef struct ig_model_port {
  const char *name;
  ig_port_role role;
  const char *target;  // see the role; NULL: none
  ig_kind kind;        // IG_KIND_TENSOR: the next three hold; otherwise `value` or `texts` does
  ig_dtype dtype;      // IG_DTYPE_COUNT: not known
  int ndim;            // -1: not known
  const ig_model_dim *const *dims;
  ig_value value;  // not a tensor: the captured value
  bool texts;      // of kind IG_KIND_STR: an array of texts (ingot/texts.h); ndim and dims hold
} ig_model_port;
// Is it an array, of numbers or texts? Otherwise it has a value.
static inline bool ig_port_is_array(const ig_model_port *p) {
  return p->kind == IG_KIND_TENSOR || p->texts;
}
IG_API size_t ig_model_inputs(const ig_model *m, const ig_model_port *const **ports);
IG_API size_t ig_model_outputs(const ig_model *m, const ig_model_port *const **ports);
// Index of an input by name, or by "arg<i>" if no input has that name; -1: none.
IG_API int ig_model_find_input(const ig_model *m, const char *name);
// Index of an output: a user output by its name or "out<i>", a buffer by "mut_buf.<target>", an
// input by "mut_arg<i>"; -1: none.
IG_API int ig_model_find_output(const ig_model *m, const char *name);

// Valid sizes for input i: named dims as given by the caller, the others as in ig_model_dim.value,
// and derived ones computed from them (2*s0 + 1). sizes must have room for the input's ndim.
// IG_INVALID: the input's sizes are unknown, or a value is out of range.
typedef struct ig_dim_value {
  const char *name;  // "s0", "batch"
  int64_t value;
} ig_dim_value;
IG_API IG_MUST_USE ig_status ig_model_input_sizes(ig_ctx *c, const ig_model *m, size_t i,
                                                  const ig_dim_value *given, size_t n,
                                                  int64_t *sizes);

typedef enum ig_weight_role {
  IG_WEIGHT_PARAMETER,
  IG_WEIGHT_BUFFER,
  IG_WEIGHT_CONSTANT,
  IG_WEIGHT_ARRAY,  // the file does not say
} ig_weight_role;
typedef struct ig_model_weight {
  const char *name;  // "fc.weight"
  ig_weight_role role;
  ig_tensor *tensor;      // NULL: an array of texts
  const ig_value *texts;  // NULL: a tensor
} ig_model_weight;
IG_API size_t ig_model_weights(const ig_model *m, const ig_model_weight *const **weights);

// What the program calls, the most frequent first, sub-graphs included.
typedef struct ig_model_operator {
  const char *name;  // "aten.add.Tensor", "Conv"
  size_t count;
} ig_model_operator;
IG_API size_t ig_model_operators(const ig_model *m, const ig_model_operator *const **operators);

// Versions, producers and metadata as texts.
typedef enum ig_fact_group { IG_FACT_VERSION, IG_FACT_METADATA } ig_fact_group;
typedef struct ig_model_fact {
  ig_fact_group group;
  const char *name;   // "schema", "torch", "producer"
  const char *value;  // "8.20"
} ig_model_fact;
IG_API size_t ig_model_facts(const ig_model *m, const ig_model_fact *const **facts);

// Members of an archive.
typedef struct ig_model_member {
  const char *name;
  uint64_t bytes;  // unpacked
  bool extra;      // a file that the user added; `name` is as the user gave it
} ig_model_member;
IG_API size_t ig_model_members(const ig_model *m, const ig_model_member *const **members);
// The bytes of a member, in the innermost scope or in the mapped file. IG_BAD_INDEX.
IG_API IG_MUST_USE ig_status ig_model_member_data(ig_ctx *c, const ig_model *m, size_t i,
                                                  const void **data, size_t *n);

// What opening found that a caller may want to know: what is unsupported and why.
typedef struct ig_model_finding {
  ig_status code;     // IG_OK: only ignored
  const char *where;  // member, node, operator; "" when it is the whole file
  const char *text;
  const char *explanation;  // the code of its explanation (ingot/explain.h); NULL: none
} ig_model_finding;
IG_API size_t ig_model_findings(const ig_model *m, const ig_model_finding *const **findings);

// Symbolic sizes and numbers of the program: each expression with the first value that has it
// (inputs come first) and the user's source line. In the innermost scope. Like ig_model_relations
// and ig_model_input_sizes it queries the program's symbols, which must not happen from two threads
// at a time for one model.
typedef struct ig_model_symbol {
  const char *name;   // "s0", "2*s0 + 1", "u0"
  int64_t lo;         // inclusive bounds
  int64_t hi;         // INT64_MAX: none
  const char *value;  // name of an input or node
  int dim;            // dim of that value; -1: the value is a number
  bool input;         // it is an input
  const char *file;   // user's line; NULL: not known
  int line;
  const char *source;  // text of that line; NULL: not known
} ig_model_symbol;
IG_API size_t ig_model_symbols(ig_ctx *c, const ig_model *m, const ig_model_symbol *const **list);

// Relations between them, as the program checks them when it runs. In the innermost scope.
typedef struct ig_model_relation {
  const char *text;
  const char *file;  // as above
  int line;
  const char *source;
} ig_model_relation;
IG_API size_t ig_model_relations(ig_ctx *c, const ig_model *m,
                                 const ig_model_relation *const **list);

// Checks every rule of the loader and the verifier, including the checksums of all members; nothing
// is run. The error is the first problem. options may be NULL.
IG_API IG_MUST_USE ig_status ig_model_verify(ig_ctx *c, const ig_model *m,
                                             const ig_model_options *options);

// ---- running

// IG_UNSUPPORTED: the file contains no program, or one that cannot be run; the message says which.
// The session keeps the model alive; it must be freed before its context.
IG_API IG_MUST_USE ig_status ig_session_create(ig_ctx *c, ig_model *m, ig_session **out);
IG_API void ig_session_free(ig_session *s);  // NULL is allowed.

// How a session runs. By default it plans: the first run with a combination of input sizes lays out
// memory and prepares every kernel, later ones only execute and allocate nothing, provided that the
// results of earlier runs were dropped.
enum {
  IG_SESSION_NO_CHAINS = 1,  // pointwise operators run one by one
  IG_SESSION_NO_REUSE = 2,   // every value has memory of its own
  IG_SESSION_NO_LAYERS = 4,  // convolutions are not prepared as layers, so results have the bits of
                             // operators called one by one
  IG_SESSION_NO_SYMBOLS = 8,  // every combination of sizes is planned anew
};
// Precision of the weights of linear layers, by request. Sums and results are f32, and so are
// inputs if nothing else is said; everything else is f32. A layer has one form for any number of
// rows.
typedef enum ig_precision {
  IG_PRECISION_DEFAULT,  // that of a compiled model, otherwise f32
  IG_PRECISION_F32,
  IG_PRECISION_INT8,  // integers of 8 bits, with one factor per output
  IG_PRECISION_BF16,  // with 8 rows or more inputs too, on processors that multiply bf16
  IG_PRECISION_F16,
  IG_PRECISION_INT4,  // integers of 4 bits, with one factor per 32 inputs of an output
  // INT8; with 8 rows or more inputs are rounded to 256 values per row and multiplied as integers.
  IG_PRECISION_DYNAMIC_INT8,
  IG_PRECISION_COUNT
} ig_precision;
// "f32", "int8", "bf16", "f16", "int4", "dynamic_int8"; NULL: IG_PRECISION_DEFAULT and what is
// none.
IG_API const char *ig_precision_name(ig_precision p);
typedef struct ig_session_options {
  size_t size;       // sizeof(ig_session_options)
  bool interpret;    // no plan: operators are called one by one
  unsigned without;  // parts of planning that are switched off, to find the cause of a difference
  ig_precision precision;
  // Threads that a run may use, including the one that calls it. 0: as many as the process says
  // (ingot/threads.h).
  int threads;
  // Of every run, if not NULL, instead of those that the model was opened with: work, time, and
  // live bytes of the session's context while it runs. Copied.
  const struct ig_limits *limits;
} ig_session_options;
// options may be NULL.
IG_API IG_MUST_USE ig_status ig_session_create_with(ig_ctx *c, ig_model *m,
                                                    const ig_session_options *options,
                                                    ig_session **out);
// Another session of the same model with the same options, for the thread of c. They share the
// weights; inputs and buffers are not copied.
IG_API IG_MUST_USE ig_status ig_session_clone(ig_ctx *c, const ig_session *s, ig_session **out);

// Binds a tensor to an input until another one is bound. dtype and sizes are checked at once
// (IG_BAD_TYPE, IG_MISMATCH naming the dimension), relations between inputs when the session runs.
// IG_NOT_FOUND lists the existing inputs. The session never writes to its elements.
IG_API IG_MUST_USE ig_status ig_session_set(ig_session *s, const char *name, ig_tensor *t);
// The same for the caller's memory: row-major elements of the input's dtype, not copied. It must
// stay valid and may be changed between runs.
IG_API IG_MUST_USE ig_status ig_session_bind(ig_session *s, const char *name, const int64_t *sizes,
                                             int ndim, const void *data, size_t bytes);
// An input that is not a tensor. It must have the captured kind and, unless the program keeps it
// dynamic, the captured value; that is checked when the session runs. An input that takes texts is
// given an array of texts (ingot/texts.h), which is copied; its sizes are checked like those of
// tensors.
IG_API IG_MUST_USE ig_status ig_session_set_value(ig_session *s, const char *name,
                                                  const ig_value *value);
// Binds the example in the file to every input. IG_NOT_FOUND: there is none.
IG_API IG_MUST_USE ig_status ig_session_set_examples(ig_session *s);
// The value bound to an input, by index; NULL: none. Borrowed until another one is bound.
IG_API const ig_value *ig_session_input_at(const ig_session *s, size_t i);
// Resets inputs, outputs and the state of buffers.
IG_API void ig_session_reset(ig_session *s);

// Runs on what was given. Inputs that are no arrays have the values that were captured. Outputs of
// the last run are gone. IG_INVALID names an input that was not given.
IG_API IG_MUST_USE ig_status ig_session_run(ig_session *s);
// Ends the run in progress, or else the next one, with IG_CANCELLED before its next step; from any
// thread or a signal handler. After ig_ctx_clear the session runs again.
IG_API void ig_session_cancel(ig_session *s);

// What a layer loses by low precision.
typedef struct ig_layer_report {
  const char *name;    // of the first node of the program that it computes, or of its weight
  const char *target;  // "aten.linear.default", or several with + between them
  double error;
  bool kept;  // in f32
} ig_layer_report;

// Writes the model and the weights that the plan for these inputs has packed to a file
// (docs/formats.md): a process that opens it finds them there instead of packing them. Inputs that
// were not given are zeros of the sizes that the model states. Packed weights are for the
// instruction set of this process; with another one the file is valid, and weights are packed
// again. A failure leaves an old file in place. IG_UNSUPPORTED: TorchScript code, which is not
// planned: capture it first (ig_session_export). options may be NULL.
typedef struct ig_compile_options {
  size_t size;  // sizeof(ig_compile_options)
  // As in ig_model_options.
  void (*progress)(void *user, const char *stage, uint64_t done, uint64_t total);
  void *progress_user;
  // For sessions of low precision, if greater than 0: the model is run on the inputs that were
  // given, and layers whose results have a larger error than this stay f32: the norm of the
  // difference that the layer's weights make, relative to the norm of its results.
  double loss;
  // If not NULL: called for every layer that was measured.
  void (*report)(void *user, const struct ig_layer_report *layer);
  void *report_user;
} ig_compile_options;
IG_API IG_MUST_USE ig_status ig_session_compile(ig_session *s, const char *path,
                                                const ig_compile_options *options);

// Captures a run on what was given as a program, for models that have code rather than a program:
// TorchScript archives. The sizes of the inputs are fixed; numbers among the inputs are constants.
// The caller frees the program. IG_UNSUPPORTED: a model of another kind.
IG_API IG_MUST_USE ig_status ig_session_export(ig_session *s, ig_program **out);

// A result of the last run, by name (see ig_model_find_output); name NULL: the first. Borrowed
// until the session runs again. NULL: no such output, not run, or not a tensor.
IG_API const ig_tensor *ig_session_output(const ig_session *s, const char *name);
IG_API const ig_value *ig_session_output_at(const ig_session *s, size_t i);
// Copies the elements of a result, row-major, into the caller's memory. IG_MISMATCH: the memory
// does not have the size of the result.
IG_API IG_MUST_USE ig_status ig_session_read(ig_session *s, const char *name, void *data,
                                             size_t bytes);

// From the next run on a result is written to the caller's memory, row-major; name as above. Runs
// fail with IG_MISMATCH if the memory does not have the size of the result. NULL: the session's own
// memory again.
IG_API IG_MUST_USE ig_status ig_session_bind_output(ig_session *s, const char *name, void *data,
                                                    size_t bytes);

// The plan for what was given, as text: one line per step with its operands, results and where they
// lie, then totals. The caller frees it with ig_text_free (ingot/graph.h). NULL after an error.
IG_API char *ig_session_plan_text(ig_session *s);

// Measures the steps of runs from now on, or no longer; ig_session_profile_at gives the steps of
// the last run, with the sums over all runs since.
typedef struct ig_session_step {
  const char *name;    // of the first node of the program that it computes; "": not known
  const char *target;  // "aten.mm.default", or the parts of a chain with + between them
  bool interpreted;
  double seconds;
  uint64_t runs;
} ig_session_step;
IG_API void ig_session_profile(ig_session *s, bool on);
// Texts are valid until the next call. False: there are no more, or the session does not plan.
IG_API bool ig_session_profile_at(ig_session *s, size_t i, ig_session_step *out);

// What step i of the last run cost.
typedef struct ig_session_cost {
  size_t size;   // sizeof(ig_session_cost) of the caller
  double flops;  // multiplications and additions of a run; 0: none, or not known
  double
      bytes;  // of its operands, results and packed weights: what a run reads and writes at least
  double start;  // seconds from the beginning of the last run that was measured
  double last;   // seconds that it took there
} ig_session_cost;
IG_API bool ig_session_cost_at(const ig_session *s, size_t i, ig_session_cost *out);
// The last run that was measured as a Chrome trace (JSON), which trace viewers show on a time axis:
// one event per step, with its cost. The caller frees it with ig_text_free. NULL after an error.
IG_API char *ig_session_trace_text(ig_session *s);

// fn is called with every value that a run computes, in order. It must not keep the value, but may
// retain its tensors. NULL disables it.
typedef void ig_session_watch_fn(void *user, const char *name, const char *target,
                                 const ig_value *value);
IG_API void ig_session_watch(ig_session *s, ig_session_watch_fn *fn, void *user);

// The same without switching the plan off: values as its steps compute them. fn gets the inputs
// first. Runs that are interpreted call nothing.
typedef struct ig_session_value {
  const char *name;    // as in ig_session_step; an input: ""
  const char *target;  //
  ig_tensor *tensor;   // a copy in the innermost scope. Values that the plan holds in blocks of
                       // channels are [images, channels, pixels].
  const void *place;   // what it lies in: the same for its views, during one run
  const void *const *reads;  // the places that the step reads
  size_t nreads;
} ig_session_value;
typedef void ig_session_tell_fn(void *user, const ig_session_value *value);
IG_API void ig_session_watch_steps(ig_session *s, ig_session_tell_fn *fn, void *user);

IG_END_DECLS

#endif
