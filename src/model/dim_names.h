// SPDX-License-Identifier: Apache-2.0
// Names of sizes as the description of the inputs has them. A program that was made from an ONNX
// model has symbols of its own, which nobody should see beside those names.
#ifndef MODEL_DIM_NAMES_H_
#define MODEL_DIM_NAMES_H_

#include "base/str.h"
#include "ingot/file.h"
#include "model/model.h"

typedef struct ig_dim_names {
  ig_ctx *c;
  IG_VEC(ig_text_pair) pairs;  // a symbol and what it is shown as
} ig_dim_names;

// Those of the inputs of a program of the model. False: out of memory, the context has the error.
bool ig_dim_names_find(ig_dim_names *names, const ig_model *m, const ig_program *p);
void ig_dim_names_free(ig_dim_names *names);
// What the symbol that is the n characters at `word` is shown as; NULL: as it is.
const char *ig_dim_names_of(const ig_dim_names *names, const char *word, size_t n);
// The text of an expression with all symbols as they are shown.
void ig_dim_names_put(const ig_dim_names *names, ig_str *s, const char *text);

#endif
