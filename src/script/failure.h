// SPDX-License-Identifier: Apache-2.0
// Why a script failed, as data: what was raised, and where the script was.
#ifndef SCRIPT_FAILURE_H_
#define SCRIPT_FAILURE_H_

#include "base/str.h"
#include "sym/report.h"

typedef struct ig_sfailure {
  ig_ref ref;
  ig_alloc alloc;
  bool raised;    // by the script itself: raise and assert
  char *cls;      // the class as Python names it, "builtins.ValueError"; NULL: none was named
  char *message;  // without class and frames
  ig_str frames;  // as the text quotes them, outermost first
} ig_sfailure;

// The failure of the context's error; NULL: there is none, or no script was running.
const ig_sfailure *ig_ctx_sfailure(const ig_ctx *c);

// Fails the context with IG_RUNTIME; `raised` of its failure is set.
void ig_script_raise(ig_ctx *c, const char *cls, const char *message);
// A run ends with an error: puts its frames around those of runs below it, and words the text. What
// is no error of the program (limits, memory, questions of a capture) keeps its own text.
void ig_script_explain(ig_ctx *c, const char *frames);

// Replaces the text of the error; its data stay.
void ig_script_reword(ig_ctx *c, const char *text);

#endif
