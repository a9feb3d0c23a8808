// SPDX-License-Identifier: Apache-2.0
// Reading and writing a program as the JSON text of the export schema. Weights are not part of it.
#ifndef PT2_SCHEMA_H_
#define PT2_SCHEMA_H_

#include "base/str.h"
#include "pt2/archive.h"

enum { IG_PT2_SCHEMA_MAJOR = 8, IG_PT2_ATEN_OPSET = 10 };

// options may be NULL.
IG_MUST_USE ig_status ig_pt2_write_program(ig_ctx *c, const ig_program *p,
                                           const ig_save_options *options, ig_str *out);

// `text` is that of the member `name`. The weights must have been loaded in the innermost scope.
typedef struct ig_pt2_source {
  const char *name;
  ig_bytes text;
  const ig_pt2_weights *state;
  const ig_pt2_weights *constants;
  ig_arena *arena;  // lives until the program is read
  const ig_limits *limits;
  ig_pt2_origin *origin;  // receives versions and guards; NULL: not needed
  bool objects;           // custom objects become inputs without a value instead of an error
} ig_pt2_source;
IG_MUST_USE ig_status ig_pt2_read_program(ig_ctx *c, const ig_pt2_source *source, ig_program **out);

#endif
