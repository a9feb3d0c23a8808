// SPDX-License-Identifier: Apache-2.0
// ATen schema text, parsed:
// aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
#ifndef OP_SCHEMA_H_
#define OP_SCHEMA_H_

#include "base/arena.h"
#include "base/ctx.h"
#include "ingot/tensor.h"

typedef enum ig_type {
  IG_TYPE_TENSOR,
  IG_TYPE_SCALAR,
  IG_TYPE_INT,
  IG_TYPE_SYMINT,
  IG_TYPE_FLOAT,
  IG_TYPE_BOOL,
  IG_TYPE_COMPLEX,
  IG_TYPE_STR,
  IG_TYPE_DTYPE,
  IG_TYPE_LAYOUT,
  IG_TYPE_DEVICE,
  IG_TYPE_MEMORY_FORMAT,
  IG_TYPE_GENERATOR,
  IG_TYPE_OTHER,  // Storage, Stream, Dimname, classes: only None is accepted
} ig_type;

typedef struct ig_arg {
  const char *name;  // "" for unnamed returns
  ig_type type;
  int cls;  // ig_class of a class that the library has; 0: another type
  bool list;
  bool item_optional;  // Tensor?[]
  int fixed;           // int[2]: a single int is expanded to a list of that length; 0: not
  // Exceptions to that length, from src/op/aten.tsv.
  bool any_length;    // int[1] of dimensions: any number of them
  bool may_be_empty;  // stride of pooling: [] means the kernel size
  bool optional;
  bool aliased;  // Tensor(a)
  bool written;  // Tensor(a!)
  char alias;    // 'a'; 0: none
  bool has_default;
  ig_value def;
} ig_arg;

typedef struct ig_schema {
  const char *text;
  const char *ns;
  const char *name;
  const char *overload;  // "default" when the text has none
  ig_arg *args;
  size_t nargs;
  size_t npos;     // the rest is keyword-only
  size_t options;  // first of dtype, layout, device, pin_memory of a factory; nargs: it is none
  ig_arg *rets;
  size_t nrets;
} ig_schema;

// Everything lives in the arena. IG_SYNTAX reports the column.
ig_status ig_schema_parse(ig_ctx *c, ig_arena *arena, const char *text, ig_schema *out);

#endif
