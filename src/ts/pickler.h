// SPDX-License-Identifier: Apache-2.0
// Values of scripts as a pickle with the opcodes of TorchScript's own pickler. What is shared is
// written once; storages are numbered in the order of first use.
#ifndef TS_PICKLER_H_
#define TS_PICKLER_H_

#include "codec/pickle.h"
#include "ir/table.h"
#include "script/unit.h"
#include "tensor/tensor.h"

typedef struct ig_ts_pickler {
  ig_ctx *c;
  ig_str text;
  ig_pickle_writer w;
  ig_arena arena;
  ig_map words;    // strings and globals -> memo number plus one
  ig_table memo;   // object, tensor or storage -> memo number plus one
  ig_table types;  // named types of `classes`
  IG_VEC(const ig_storage *) storages;
  IG_VEC(size_t) bytes;              // of each storage: whole elements
  IG_VEC(ig_dtype) dtypes;           // and what they are
  IG_VEC(const ig_stype *) classes;  // of the objects, in the order of first use
  IG_VEC(ig_value) kept;             // what is written: a script that runs meanwhile may drop it
  size_t depth;
} ig_ts_pickler;

ig_ts_pickler ig_ts_pickler_make(ig_ctx *c);
void ig_ts_pickler_free(ig_ts_pickler *p);
// type: what a list or dict holds; NULL: as the value itself says. False after an error.
bool ig_ts_pickler_value(ig_ts_pickler *p, ig_value v);
void ig_ts_pickler_string(ig_ts_pickler *p, const char *text, size_t n);
void ig_ts_pickler_global(ig_ts_pickler *p, const char *module, const char *name);
bool ig_ts_pickler_failed(ig_ts_pickler *p);  // out of memory: fails the context

#endif
