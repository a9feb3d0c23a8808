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
#include "ingot/program.h"

// .pt2 archives, as torch.export.save of PyTorch 2.13 writes them.
IG_API IG_MUST_USE ig_status ig_program_save(ig_ctx *c, const ig_program *p, const char *path);
IG_API IG_MUST_USE ig_status ig_program_load(ig_ctx *c, const char *path, ig_program **out);

// ONNX. The program is brought into a form that ONNX can say first: functional, and taken apart
// where ONNX has no operator of its own. IG_UNSUPPORTED lists every call that has no counterpart,
// one per line with the user's line.
enum { IG_ONNX_OPSET_OLDEST = 13, IG_ONNX_OPSET_DEFAULT = 18, IG_ONNX_OPSET_NEWEST = 28 };
typedef enum ig_onnx_external {
  IG_ONNX_EXTERNAL_AUTO,    // weights in a file beside the model when it would pass 2 GiB
  IG_ONNX_EXTERNAL_NEVER,   // IG_UNSUPPORTED then
  IG_ONNX_EXTERNAL_ALWAYS,  // all weights of 1 KiB and more
} ig_onnx_external;
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
  const ig_weight *weights;  // instead of those of the program, by name
  size_t nweights;
} ig_onnx_options;
// options may be NULL. External weights are in path + ".data".
IG_API IG_MUST_USE ig_status ig_program_save_onnx(ig_ctx *c, const ig_program *p, const char *path);
IG_API IG_MUST_USE ig_status ig_program_save_onnx_as(ig_ctx *c, const ig_program *p,
                                                     const ig_onnx_options *options,
                                                     const char *path);
// Into a sink; no external weights.
struct ig_sink;
IG_API IG_MUST_USE ig_status ig_program_write_onnx(ig_ctx *c, const ig_program *p,
                                                   const ig_onnx_options *options,
                                                   struct ig_sink *sink);

// Named tensors. What is loaded, and the list, belong to the innermost scope; tensors are pages of
// the file where its alignment allows, and bytes that elements cannot have (bools other than 0 and
// 1) are put right in this process's memory.
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
// By the name's ending: .safetensors, .pt and .pth (as torch.save writes a dictionary), otherwise
// NumPy's .npz. bfloat16 and float8 are not known to NumPy: IG_UNSUPPORTED names the array.
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
