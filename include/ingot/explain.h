// SPDX-License-Identifier: Apache-2.0
// What lies behind an error: many have a code ("IG0103"), under which there is an explanation with
// the cause, an example and what to do. The code is data of the error and no part of its message.
// The same texts are printed by `ingot explain` and are pages of the documentation.
#ifndef INGOT_EXPLAIN_H_
#define INGOT_EXPLAIN_H_

#include "ingot/ctx.h"

IG_BEGIN_DECLS

// All texts are static. Paragraphs are separated by an empty line and have no other line breaks;
// words of programs are in backticks.
typedef struct ig_explanation {
  const char *code;     // "IG0103"
  const char *title;    // one line: "the zip archive is damaged"
  const char *cause;    // paragraphs: what happened and why it is an error
  const char *example;  // a Python program that raises it
  const char *message;  // the message of the example
  const char *remedy;   // paragraphs: what to do
} ig_explanation;

// Of the context's error; NULL: there is no error, or it has no code.
IG_API const ig_explanation *ig_ctx_explanation(const ig_ctx *c);

// By code: "IG0103"; case does not matter, and the letters and leading zeros may be missing. NULL:
// there is none.
IG_API const ig_explanation *ig_explain(const char *code);

// All of them, ordered by code; returns their number.
IG_API size_t ig_explanations(const ig_explanation *const **list);

// The whole explanation as plain text of lines up to `width` characters wide, in the innermost
// scope; NULL after an error.
IG_API const char *ig_explanation_text(ig_ctx *c, const ig_explanation *e, size_t width);

IG_END_DECLS

#endif
