// SPDX-License-Identifier: Apache-2.0
// TorchScript archives (torch.jit.save, also for the lite interpreter): what is in them, their
// sources as text, weights and constants as tensors. Nothing is executed; sessions of a model
// (ingot/model.h) run them.
#ifndef INGOT_SCRIPT_H_
#define INGOT_SCRIPT_H_

#include "ingot/object.h"

IG_BEGIN_DECLS

typedef struct ig_ts ig_ts;

typedef struct ig_ts_member {
  const char *name;  // under the archive's folder: "code/__torch__.py"
  uint64_t size;     // unpacked
} ig_ts_member;

typedef struct ig_ts_source {
  const char *name;  // "__torch__/torch/nn/modules/linear.py"
  const char *text;
} ig_ts_source;

typedef enum ig_ts_role { IG_TS_PARAMETER, IG_TS_BUFFER, IG_TS_ATTRIBUTE } ig_ts_role;

typedef struct ig_ts_weight {
  const char *name;  // "body.0.weight"
  ig_ts_role role;   // as the class declares it; IG_TS_ATTRIBUTE: a tensor that is neither
  ig_tensor *tensor;
} ig_ts_weight;

typedef struct ig_ts_module {
  const char *name;        // "body.0"; the root is ""
  const char *class_name;  // "__torch__.torch.nn.modules.linear.Linear"
  bool training;
} ig_ts_module;

// Weights are pages of the mapped file. IG_UNSUPPORTED: an unknown format version, or a file before
// version 3, which has no pickles. limits NULL: the default ones.
IG_API IG_MUST_USE ig_status ig_ts_open(ig_ctx *c, const char *path, const ig_limits *limits,
                                        ig_ts **out);
IG_API void ig_ts_free(ig_ts *ts);  // NULL is allowed.

// The graphs of all methods of the root and of the modules in it, compiled from the sources;
// inlined: with the bodies of what they call. Free it with ig_text_free. NULL after an error.
IG_API char *ig_ts_graphs(ig_ctx *c, const ig_ts *ts, bool inlined);

IG_API int ig_ts_version(
    const ig_ts *ts);  // of the file format, which determines the semantics of operators
// The bytecode's version of a file for the lite interpreter; 0: it has no bytecode.
IG_API int64_t ig_ts_bytecode(const ig_ts *ts);
// All lists and what they point at live as long as the archive.
IG_API size_t ig_ts_members(const ig_ts *ts, const ig_ts_member **list);
IG_API size_t ig_ts_sources(const ig_ts *ts, const ig_ts_source **list);
IG_API size_t ig_ts_weights(const ig_ts *ts, const ig_ts_weight **list);
IG_API size_t ig_ts_modules(const ig_ts *ts, const ig_ts_module **list);
IG_API const ig_object *ig_ts_constants(const ig_ts *ts);  // a tuple: CONSTANTS.c0, c1 ...
IG_API const ig_object *ig_ts_root(const ig_ts *ts);       // the module: an INSTANCE
IG_API const ig_object *ig_ts_lite(const ig_ts *ts);  // the bytecode as plain values; NULL: none

IG_END_DECLS

#endif
