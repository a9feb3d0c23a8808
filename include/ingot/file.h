// SPDX-License-Identifier: Apache-2.0
// Programs and tensors in files.
//
// Files are untrusted until parsed: malformed input is an error IG_SYNTAX whose message says what
// and where, unsupported input IG_UNSUPPORTED, system errors IG_IO. Weights of a loaded program are
// the pages of the mapped file; writing to them changes only this process's memory. Files are
// written atomically, under a temporary name first.
#ifndef INGOT_FILE_H_
#define INGOT_FILE_H_

#include "ingot/limits.h"
#include "ingot/object.h"
#include "ingot/program.h"

IG_BEGIN_DECLS

// .pt2 archives. Read: the output of torch.export.save of PyTorch 2.1 and newer. Written: files for
// PyTorch 2.8 and newer, or for 2.5 to 2.7. The same program gives the same bytes.
typedef struct ig_extra_file {
  const char *name;
  const void *data;
  size_t n;
} ig_extra_file;
typedef struct ig_opset {
  const char *name;  // "aten"
  int64_t version;
} ig_opset;
// The older layouts store weights as a torch.save file, which contains a pickle.
typedef enum ig_pt2_layout {
  IG_PT2_NEWEST,   // schema 8.20: PyTorch 2.8 and newer
  IG_PT2_FOR_2_6,  // schema 8.2: PyTorch 2.6 and 2.7, and newer ones
  IG_PT2_FOR_2_5,  // schema 7.3: PyTorch 2.5 alone
} ig_pt2_layout;
typedef struct ig_save_options {
  size_t size;  // sizeof(ig_save_options)
  ig_pt2_layout layout;
  const ig_extra_file *extra;
  size_t nextra;
  const ig_opset *opsets;  // besides {"aten": 10}
  size_t nopsets;
  const ig_object *examples;  // a tuple (arguments, keyword arguments); NULL: none
  const void *packed;         // or the same as the bytes of a torch.save file
  size_t npacked;
  const char *root;  // folder inside the archive; NULL: "archive", or like the file
} ig_save_options;
typedef struct ig_load_options {
  size_t size;              // sizeof(ig_load_options)
  const ig_limits *limits;  // NULL: the default ones
  bool objects;             // custom objects become inputs without a value instead of an error
} ig_load_options;

IG_API IG_MUST_USE ig_status ig_program_save(ig_ctx *c, const ig_program *p, const char *path);
IG_API IG_MUST_USE ig_status ig_program_save_as(ig_ctx *c, const ig_program *p,
                                                const ig_save_options *options, const char *path);
IG_API IG_MUST_USE ig_status ig_program_load(ig_ctx *c, const char *path, ig_program **out);
IG_API IG_MUST_USE ig_status ig_program_load_with(ig_ctx *c, const char *path,
                                                  const ig_load_options *options, ig_program **out);

// Further contents of the file of a loaded program; passes do not propagate them. Borrowed from p.
IG_API size_t ig_program_extra_files(const ig_program *p, const ig_extra_file **files);
// The examples, a tuple (arguments, keyword arguments) that the caller frees; NULL: there are none.
// They are parsed on demand.
IG_API IG_MUST_USE ig_status ig_program_examples(ig_ctx *c, const ig_program *p, ig_object **out);
// Facts ("schema", "8.20"), and parts that are never loaded ("data/aotinductor/model/a.so", "why").
typedef struct ig_origin_fact {
  const char *name;
  const char *value;
} ig_origin_fact;
IG_API size_t ig_program_facts(const ig_program *p, const ig_origin_fact **facts);
IG_API size_t ig_program_findings(const ig_program *p, const ig_origin_fact **findings);

// ONNX. The program is first lowered to a form that ONNX can express: functional, and decomposed
// where ONNX has no equivalent operator. IG_UNSUPPORTED lists every call without an equivalent, one
// per line with the user's source line.
enum { IG_ONNX_OPSET_OLDEST = 13, IG_ONNX_OPSET_DEFAULT = 18, IG_ONNX_OPSET_NEWEST = 28 };
typedef enum ig_onnx_external {
  IG_ONNX_EXTERNAL_AUTO,    // external weights if the model would exceed 2 GiB
  IG_ONNX_EXTERNAL_NEVER,   // then IG_UNSUPPORTED
  IG_ONNX_EXTERNAL_ALWAYS,  // all weights of 1 KiB and more
} ig_onnx_external;
struct ig_onnx;
struct ig_onnx_call;
// The name of one axis of an input or output.
typedef struct ig_onnx_axis {
  const char *value;
  int64_t axis;
  const char *name;
} ig_onnx_axis;
// An output that is a sequence: the pieces of `size` of its tensor along `dim`, of which the last
// may be smaller; 0: its slices, without that dimension; -1: pieces of the lengths that the next
// result of the program states, which is no output. From opset 11 on.
typedef struct ig_onnx_sequence {
  size_t output;  // by its number among the results of the program
  int64_t dim;
  int64_t size;
} ig_onnx_sequence;
typedef struct ig_onnx_options {
  size_t size;       // sizeof(ig_onnx_options)
  int opset;         // 0: the default
  int converted_to;  // an older opset that the caller converts the model to; 0: none
  ig_onnx_external external;
  // Of the first inputs, instead of those of the placeholders; with `torchscript` one may be empty.
  const char *const *input_names;
  size_t ninput_names;
  const char *const *output_names;
  size_t noutput_names;
  bool functions;               // one function per class of modules
  bool weights_as_inputs;       // weights are inputs of the model and not stored
  bool initializers_as_inputs;  // weights are inputs with defaults
  bool no_metadata;             // omit source locations, module paths, ranges
  bool no_node_names;
  bool no_folding;           // no constant folding
  bool user_outputs;         // new values of buffers and inputs are not outputs of the model
  const ig_weight *weights;  // instead of those of the program, by name
  size_t nweights;
  const ig_opset *opsets;  // versions of custom domains; all are imported
  size_t nopsets;
  const ig_onnx_axis *axes;  // how axes are named, whatever their size in the program
  size_t naxes;
  bool none_outputs;  // from opset 15 on, None among the results is an output, an empty optional
  const ig_onnx_sequence *sequences;
  size_t nsequences;
  // Inputs, by number, that the caller's model asks for their sizes: with `torchscript` they are
  // inputs of the file even if no node of it reads them, because the sizes are numbers in it.
  const size_t *measured_inputs;
  size_t nmeasured_inputs;
  // The conventions of PyTorch's TorchScript exporter: constants are nodes, inputs that nothing
  // reads and versions of unused domains are left out, nodes are named by module path ("/fc/Gemm"),
  // unnamed inputs and outputs by reader and number ("onnx::Gemm_0", "7"), sizes that are computed
  // by the output ("Concaty_dim_0"); names beyond the inputs rename weights.
  bool torchscript;
  // With these: the model is trained further. Equal weights stay apart and are not combined.
  bool training;
  // Operators that the caller translates: whether it translates one ("aten.add.Tensor"), and the
  // translation (see onnx/writer.h). False: it failed; the error is in the context.
  bool (*translates)(const char *target, void *user);
  bool (*translate)(struct ig_onnx *x, const struct ig_onnx_call *call, void *user);
  void *user;
} ig_onnx_options;
// options may be NULL. External weights are in path + ".data".
IG_API IG_MUST_USE ig_status ig_program_save_onnx(ig_ctx *c, const ig_program *p, const char *path);
IG_API IG_MUST_USE ig_status ig_program_save_onnx_as(ig_ctx *c, const ig_program *p,
                                                     const ig_onnx_options *options,
                                                     const char *path);
// Into a sink; no external weights. NULL: only checks whether the program can be written.
struct ig_sink;
IG_API IG_MUST_USE ig_status ig_program_write_onnx(ig_ctx *c, const ig_program *p,
                                                   const ig_onnx_options *options,
                                                   struct ig_sink *sink);

// Named tensors. The loaded tensors and the list belong to the innermost scope. Tensors are pages
// of the file where its alignment allows; invalid elements (bools other than 0 and 1) are
// normalized in this process's memory. NumPy's files may also hold arrays of texts
// (ig_weight.texts), no other format does: IG_UNSUPPORTED names the array.
typedef struct ig_text_pair {
  const char *key;
  const char *value;
} ig_text_pair;
typedef struct ig_tensor_list {
  const ig_weight *at;
  size_t n;
  const ig_text_pair *metadata;  // safetensors: its __metadata__, in the order of the file
  size_t n_metadata;
} ig_tensor_list;

// By content: safetensors, NumPy's .npz and .npy (one array, called "arr_0"), or a torch.save file
// that contains a dictionary of tensors. limits NULL: the default ones.
IG_API IG_MUST_USE ig_status ig_tensors_open(ig_ctx *c, const char *path, const ig_limits *limits,
                                             ig_tensor_list *out);
// By the file extension: .safetensors, .pt and .pth (as torch.save writes a dictionary), .npy (one
// tensor), otherwise NumPy's .npz. NumPy has no bfloat16 and float8: IG_UNSUPPORTED names the
// array.
IG_API IG_MUST_USE ig_status ig_tensors_write(ig_ctx *c, const char *path,
                                              const ig_tensor_list *list);
// Arrays for NumPy; dtypes that it lacks become unsigned integers with the same bits.
IG_API IG_MUST_USE ig_status ig_tensors_write_bits(ig_ctx *c, const char *path,
                                                   const ig_tensor_list *list);

// The same without metadata.
IG_API IG_MUST_USE ig_status ig_tensors_load(ig_ctx *c, const char *path, const ig_weight **list,
                                             size_t *n);
IG_API IG_MUST_USE ig_status ig_tensors_save(ig_ctx *c, const char *path, const ig_weight *list,
                                             size_t n);

IG_END_DECLS

#endif
