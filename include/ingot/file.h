// SPDX-License-Identifier: Apache-2.0
// Programs and tensors in files.
//
// Files are hostile until parsed: what is malformed is refused with IG_SYNTAX and a text that says
// what and where, what is not supported with IG_UNSUPPORTED, what the system refuses with IG_IO.
// Weights of a loaded program are the pages of the mapped file; writing to them changes only this
// process's memory. Files are written under a temporary name and appear whole or not at all.
#ifndef INGOT_FILE_H_
#define INGOT_FILE_H_

#include "ingot/limits.h"
#include "ingot/object.h"
#include "ingot/program.h"

// .pt2 archives. Read: all that torch.export.save wrote, from PyTorch 2.1 on. Written: what 2.8 and
// newer read, or what 2.5 to 2.7 read. The same program gives the same bytes.
typedef struct ig_extra_file {
  const char *name;
  const void *data;
  size_t n;
} ig_extra_file;
typedef struct ig_opset {
  const char *name;  // "aten"
  int64_t version;
} ig_opset;
// The older ones hold their weights as a file of torch.save, in which there is a pickle.
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
  const void *packed;         // or the same as the bytes of a file of torch.save
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

// What the file of a loaded program has besides; passes do not hand it on. Borrowed from p.
IG_API size_t ig_program_extra_files(const ig_program *p, const ig_extra_file **files);
// The examples, a tuple (arguments, keyword arguments) that the caller frees; NULL: there are none.
// They are parsed when they are asked for.
IG_API IG_MUST_USE ig_status ig_program_examples(ig_ctx *c, const ig_program *p, ig_object **out);
// Facts ("schema", "8.20"), and parts that are never loaded ("data/aotinductor/model/a.so", "why").
typedef struct ig_origin_fact {
  const char *name;
  const char *value;
} ig_origin_fact;
IG_API size_t ig_program_facts(const ig_program *p, const ig_origin_fact **facts);
IG_API size_t ig_program_findings(const ig_program *p, const ig_origin_fact **findings);

// ONNX. The program is brought into a form that ONNX can say first: functional, and taken apart
// where ONNX has no operator of its own. IG_UNSUPPORTED lists every call that has no counterpart,
// one per line with the user's line.
enum { IG_ONNX_OPSET_OLDEST = 13, IG_ONNX_OPSET_DEFAULT = 18, IG_ONNX_OPSET_NEWEST = 28 };
typedef enum ig_onnx_external {
  IG_ONNX_EXTERNAL_AUTO,    // weights in a file beside the model when it would pass 2 GiB
  IG_ONNX_EXTERNAL_NEVER,   // IG_UNSUPPORTED then
  IG_ONNX_EXTERNAL_ALWAYS,  // all weights of 1 KiB and more
} ig_onnx_external;
struct ig_onnx;
struct ig_onnx_call;
typedef struct ig_onnx_options {
  int opset;  // 0: the default
  ig_onnx_external external;
  const char *const *input_names;  // of the first inputs, instead of those of the placeholders
  size_t ninput_names;
  const char *const *output_names;
  size_t noutput_names;
  bool functions;               // one function per class of modules
  bool weights_as_inputs;       // weights are inputs of the model and not in the file
  bool initializers_as_inputs;  // weights are inputs with defaults
  bool no_metadata;             // no source locations, module paths, ranges
  bool no_node_names;
  bool no_folding;           // calls on constants stay calls
  bool user_outputs;         // new values of buffers and inputs are no outputs of the model
  const ig_weight *weights;  // instead of those of the program, by name
  size_t nweights;
  const ig_opset *opsets;  // versions of domains that are not the standard's; all are imported
  size_t nopsets;
  // Operators that the caller writes: whether it does ("aten.add.Tensor"), and doing it (see
  // onnx/writer.h). False: it failed, the context says why.
  bool (*translates)(const char *target, void *user);
  bool (*translate)(struct ig_onnx *x, const struct ig_onnx_call *call, void *user);
  void *user;
} ig_onnx_options;
// options may be NULL. External weights are in path + ".data".
IG_API IG_MUST_USE ig_status ig_program_save_onnx(ig_ctx *c, const ig_program *p, const char *path);
IG_API IG_MUST_USE ig_status ig_program_save_onnx_as(ig_ctx *c, const ig_program *p,
                                                     const ig_onnx_options *options,
                                                     const char *path);
// Into a sink; no external weights. NULL: only tells whether it can be written.
struct ig_sink;
IG_API IG_MUST_USE ig_status ig_program_write_onnx(ig_ctx *c, const ig_program *p,
                                                   const ig_onnx_options *options,
                                                   struct ig_sink *sink);

// Named tensors. What is loaded, and the list, belong to the innermost scope; tensors are pages of
// the file where its alignment allows, and bytes that elements cannot have (bools other than 0 and
// 1) are put right in this process's memory. NumPy's files may also hold arrays of texts
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

// By content: safetensors, NumPy's .npz and .npy (one array, called "arr_0"), or a file of
// torch.save that holds a dictionary of tensors. limits NULL: the default ones.
IG_API IG_MUST_USE ig_status ig_tensors_open(ig_ctx *c, const char *path, const ig_limits *limits,
                                             ig_tensor_list *out);
// By the name's ending: .safetensors, .pt and .pth (as torch.save writes a dictionary), .npy (one
// tensor), otherwise NumPy's .npz. bfloat16 and float8 are not known to NumPy: IG_UNSUPPORTED names
// the array.
IG_API IG_MUST_USE ig_status ig_tensors_write(ig_ctx *c, const char *path,
                                              const ig_tensor_list *list);
// Arrays for NumPy; element types that it lacks become unsigned integers of the same bits.
IG_API IG_MUST_USE ig_status ig_tensors_write_bits(ig_ctx *c, const char *path,
                                                   const ig_tensor_list *list);

// The same without metadata.
IG_API IG_MUST_USE ig_status ig_tensors_load(ig_ctx *c, const char *path, const ig_weight **list,
                                             size_t *n);
IG_API IG_MUST_USE ig_status ig_tensors_save(ig_ctx *c, const char *path, const ig_weight *list,
                                             size_t n);

#endif
