// SPDX-License-Identifier: Apache-2.0
// An opened TorchScript archive, and what its sources declare.
#ifndef TS_ARCHIVE_H_
#define TS_ARCHIVE_H_

#include "arrays/torch_zip.h"
#include "base/map.h"
#include "ingot/script.h"

struct ig_ts {
  ig_alloc alloc;
  ig_arena arena;
  ig_file *file;
  ig_torch_zip zip;
  bool open;  // zip is
  int64_t bytecode;
  ig_object *root;
  ig_object *constants;
  ig_object *lite;
  ig_object *traced;  // what a trace was made with: method -> inputs, without data; NULL: no trace
  ig_map classes;     // "__torch__.Mlp" -> ig_ts_class
  IG_VEC(struct ig_ts_class *) all_classes;
  IG_VEC(ig_ts_member) members;
  IG_VEC(ig_ts_source) sources;
  IG_VEC(ig_ts_weight) weights;
  IG_VEC(ig_ts_module) modules;
};

// The names that a class lists as its parameters and buffers.
typedef struct ig_ts_class {
  ig_map roles;  // name -> ig_ts_role plus one
} ig_ts_class;

// From memory that is part of `owner`: for tests.
IG_MUST_USE ig_status ig_ts_parse(ig_ctx *c, const char *name, ig_bytes bytes, ig_file *owner,
                                  const ig_limits *limits, ig_ts **out);
// Fills ts->classes from ts->sources.
IG_MUST_USE ig_status ig_ts_read_classes(ig_ctx *c, ig_ts *ts);
const ig_ts_class *ig_ts_find_class(const ig_ts *ts, const char *name);  // NULL: not declared

#endif
