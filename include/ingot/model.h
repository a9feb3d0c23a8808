// SPDX-License-Identifier: Apache-2.0
// Model files of any kind: open one, look into it, run it.
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
// What a file is, is told by its content, never by its name. Files are hostile until parsed:
// nothing found in one is executed, and what is refused is named.
//
// Threads. A model does not change once it is open; any number of threads may use one at the same
// time. A session belongs to the context that it was created with, and so to one thread: one
// session per thread, over one model. Buffers that the model writes belong to the session.
//
// Errors. Functions that can fail return an ig_status; ig_ctx_error of the context has the text.
// Errors of a context are sticky (ingot/ctx.h): ig_ctx_clear before going on after one.
//
// Stability. Structs that the caller fills begin with their size, so that a library can be newer
// than its caller: `ig_model_options o = {.size = sizeof o}`, the rest 0. Structs that the library
// hands out are reached through pointers and grow only at their end.
#ifndef INGOT_MODEL_H_
#define INGOT_MODEL_H_

#include "ingot/program.h"

typedef struct ig_model ig_model;
typedef struct ig_session ig_session;
struct ig_limits;

// Kinds of files. New ones are added at the end.
// X(name, word used by the command, text)
#define IG_MODEL_KIND_LIST(X)                                 \
  X(PT2, "pt2", "exported program (.pt2)")                    \
  X(TORCHSCRIPT, "torchscript", "TorchScript archive")        \
  X(TORCH_SAVE, "torch", "torch.save file")                   \
  X(TORCH_LEGACY, "torch-legacy", "torch.save file (legacy)") \
  X(SAFETENSORS, "safetensors", "safetensors")                \
  X(NPZ, "npz", "NumPy archive (.npz)")                       \
  X(NPY, "npy", "NumPy array (.npy)")                         \
  X(ONNX, "onnx", "ONNX model")
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
  // To look only: a program inside that is refused does not make opening fail, but is listed among
  // the findings.
  bool inspect;
  // Of ONNX, too, a program is made (ig_model_program), where that is possible. Otherwise such a
  // model runs as it stands.
  bool program;
  // If not NULL: told what is being done, and how many of how many bytes are done (0 of 0 when that
  // is not known).
  void (*progress)(void *user, const char *stage, uint64_t done, uint64_t total);
  void *progress_user;
} ig_model_options;

// Maps the file and reads what is in it; weights stay pages of the file. IG_IO: the system refuses
// it; IG_SYNTAX: it is malformed, or no model file; IG_UNSUPPORTED: it is sound but holds what is
// not supported. options may be NULL. The caller frees.
IG_API IG_MUST_USE ig_status ig_model_open(ig_ctx *c, const char *path,
                                           const ig_model_options *options, ig_model **out);
// The same for a file in memory. `name` is used in messages; the bytes must outlive the model and
// every tensor taken from it. Files beside it (external data of ONNX) are not looked for.
IG_API IG_MUST_USE ig_status ig_model_open_bytes(ig_ctx *c, const char *name, const void *data,
                                                 size_t n, const ig_model_options *options,
                                                 ig_model **out);
IG_API ig_model *ig_model_retain(ig_model *m);
IG_API void ig_model_free(ig_model *m);  // Drops one reference. NULL is allowed.

// ---- looking; everything is borrowed from the model

IG_API ig_model_kind ig_model_get_kind(const ig_model *m);
IG_API const char *ig_model_name(const ig_model *m);     // the path, or the name that was given
IG_API uint64_t ig_model_file_bytes(const ig_model *m);  // size of the file
// The program, as the file has it; NULL: a file of weights, or refused.
IG_API ig_program *ig_model_program(const ig_model *m);
// The same without writes to its operands (inference IR): what a session runs. NULL: as above.
IG_API ig_program *ig_model_runnable(const ig_model *m);
// The model of an ONNX file (ingot/onnx.h); NULL: a file of another kind.
struct ig_onnx_model;
IG_API const struct ig_onnx_model *ig_model_onnx(const ig_model *m);

// One size of an input or output.
typedef struct ig_model_dim {
  const char *name;  // of a dynamic one: "s0", "2*s0 + 1", "batch"; NULL: fixed
  int64_t value;     // fixed: the size; dynamic: one that fits with the others; -1: not known
  int64_t lo;        // bounds, both included; a fixed one has its size
  int64_t hi;        // INT64_MAX: none
} ig_model_dim;

typedef enum ig_port_role {
  IG_PORT_USER,    // an input or output of the caller
  IG_PORT_BUFFER,  // output: new value of the buffer `target`
  IG_PORT_INPUT,   // output: new value of the input `target`
  IG_PORT_GRAD,    // output: gradient of `target`
  IG_PORT_TOKEN,   // of effects
} ig_port_role;

// An input or output.
typedef struct ig_model_port {
  const char *name;
  ig_port_role role;
  const char *target;  // see the role; NULL: none
  ig_kind kind;        // IG_KIND_TENSOR: the next three hold; otherwise `value` or `texts` does
  ig_dtype dtype;
  int ndim;  // -1: not known
  const ig_model_dim *const *dims;
  ig_value value;  // no tensor: what the program was captured with
  bool texts;      // of kind IG_KIND_STR: an array of texts (ingot/texts.h); ndim and dims hold
} ig_model_port;
// Is it an array, of numbers or texts? Otherwise it has a value.
static inline bool ig_port_is_array(const ig_model_port *p) {
  return p->kind == IG_KIND_TENSOR || p->texts;
}
IG_API size_t ig_model_inputs(const ig_model *m, const ig_model_port *const **ports);
IG_API size_t ig_model_outputs(const ig_model *m, const ig_model_port *const **ports);
// Number of an input by its name, or by "arg<i>" if none is called so; -1: none.
IG_API int ig_model_find_input(const ig_model *m, const char *name);
// Number of an output: a caller's by its name or "out<i>", a buffer by "mut_buf.<target>", an input
// by "mut_arg<i>"; -1: none.
IG_API int ig_model_find_output(const ig_model *m, const char *name);

// Sizes for input i that fit the model: those of named dims as the caller wants them, the others as
// in ig_model_dim.value, and what depends on them accordingly (2*s0 + 1). sizes must have room for
// the input's ndim. IG_INVALID: the input's sizes are not known, or a value is out of range.
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
  IG_WEIGHT_ARRAY,  // the file does not tell
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
// The bytes of a member, in the innermost scope or where they lie in the file. IG_BAD_INDEX.
IG_API IG_MUST_USE ig_status ig_model_member_data(ig_ctx *c, const ig_model *m, size_t i,
                                                  const void **data, size_t *n);

// What opening found that a caller may want to know: what is refused and why.
typedef struct ig_model_finding {
  ig_status code;     // IG_OK: merely left alone
  const char *where;  // member, node, operator; "" when it is the whole file
  const char *text;
} ig_model_finding;
IG_API size_t ig_model_findings(const ig_model *m, const ig_model_finding *const **findings);

// Sizes and numbers of the program that are not fixed: each expression with the value that has it
// first (inputs come first) and the user's line that made it. In the innermost scope. Like
// ig_model_relations and ig_model_input_sizes it asks the program's symbols: for one model not from
// two threads at a time.
typedef struct ig_model_symbol {
  const char *name;   // "s0", "2*s0 + 1", "u0"
  int64_t lo;         // bounds, both included
  int64_t hi;         // INT64_MAX: none
  const char *value;  // name of an input or node
  int dim;            // of that value; -1: it is a number
  bool input;         // it is an input
  const char *file;   // user's line; NULL: not known
  int line;
  const char *source;  // text of that line; NULL: not known
} ig_model_symbol;
IG_API size_t ig_model_symbols(ig_ctx *c, const ig_model *m, const ig_model_symbol *const **list);

// What must hold between them, as the program checks it when it runs. In the innermost scope.
typedef struct ig_model_relation {
  const char *text;
  const char *file;  // as above
  int line;
  const char *source;
} ig_model_relation;
IG_API size_t ig_model_relations(ig_ctx *c, const ig_model *m,
                                 const ig_model_relation *const **list);

// Every rule of the loader and the verifier, checksums of all members included; nothing is run. The
// first thing that is wrong is the error. options may be NULL.
IG_API IG_MUST_USE ig_status ig_model_verify(ig_ctx *c, const ig_model *m,
                                             const ig_model_options *options);

// ---- running

// IG_UNSUPPORTED: the file holds no program, or one that cannot be run; the text says which. The
// session keeps the model alive; it must be freed before its context.
IG_API IG_MUST_USE ig_status ig_session_create(ig_ctx *c, ig_model *m, ig_session **out);
IG_API void ig_session_free(ig_session *s);  // NULL is allowed.

// Gives an input a tensor, which is kept until it is given another. dtype and sizes are checked at
// once (IG_BAD_TYPE, IG_MISMATCH naming the dimension), relations between inputs when the session
// runs. IG_NOT_FOUND lists the inputs there are. Its elements are never written by the session.
IG_API IG_MUST_USE ig_status ig_session_set(ig_session *s, const char *name, ig_tensor *t);
// The same for the caller's own memory: row-major elements of the input's dtype, not copied. It
// must stay there and may be changed between runs.
IG_API IG_MUST_USE ig_status ig_session_bind(ig_session *s, const char *name, const int64_t *sizes,
                                             int ndim, const void *data, size_t bytes);
// An input that is no tensor. It must be of the kind that was captured and, unless the program left
// it open, have the value that was captured; that is checked when the session runs. An input that
// takes texts is given an array of texts (ingot/texts.h), which is copied; its sizes are checked
// like those of tensors.
IG_API IG_MUST_USE ig_status ig_session_set_value(ig_session *s, const char *name,
                                                  const ig_value *value);
// Gives every input the example that the file has. IG_NOT_FOUND: it has none.
IG_API IG_MUST_USE ig_status ig_session_set_examples(ig_session *s);
// What an input will be run on, by number; NULL: not given. Borrowed until it is given another.
IG_API const ig_value *ig_session_input_at(const ig_session *s, size_t i);
// Forgets inputs, outputs and the state of buffers.
IG_API void ig_session_reset(ig_session *s);

// Runs on what was given. Inputs that are no arrays have the values that were captured. Outputs of
// the last run are gone. IG_INVALID names an input that was not given.
IG_API IG_MUST_USE ig_status ig_session_run(ig_session *s);

// A result of the last run, by name or number (ig_model_find_output); name NULL: the first.
// Borrowed until the session runs again. NULL: no such output, not run, or no tensor.
IG_API const ig_tensor *ig_session_output(const ig_session *s, const char *name);
IG_API const ig_value *ig_session_output_at(const ig_session *s, size_t i);
// Copies the elements of a result, row-major, into the caller's memory. IG_MISMATCH: it does not
// have the size of the result.
IG_API IG_MUST_USE ig_status ig_session_read(ig_session *s, const char *name, void *data,
                                             size_t bytes);

// fn is called with every value that a run computes, in order. It must not keep the value, but may
// retain its tensors. NULL switches it off.
typedef void ig_session_watch_fn(void *user, const char *name, const char *target,
                                 const ig_value *value);
IG_API void ig_session_watch(ig_session *s, ig_session_watch_fn *fn, void *user);

#endif
