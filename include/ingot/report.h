// SPDX-License-Identifier: Apache-2.0
// What stands in the way of an export: found in the program, with the user's line and an edit.
//
// An export that fails leaves the issues of its error in the context. A draft
// (ig_export_args.draft) does not fail on them: it asks the example values instead, and the program
// carries the report.
#ifndef INGOT_REPORT_H_
#define INGOT_REPORT_H_

#include "ingot/dims.h"

typedef enum ig_issue_kind {
  IG_ISSUE_DATA_DEPENDENT,  // a decision that only data can make
  IG_ISSUE_CONSTRAINT,      // the program demands more of its sizes than their dims say
  IG_ISSUE_NO_FAKE,         // an operator without a rule for fake tensors
  IG_ISSUE_WRONG_FAKE,      // a rule for fake tensors that its kernel contradicts
  IG_ISSUE_CALL,            // an operator refused its operands
} ig_issue_kind;

// Texts that are not known are NULL. All live as long as the report.
typedef struct ig_issue {
  ig_issue_kind kind;
  const char *file;  // of the user
  int line;
  const char *function;
  const char *source;     // text of that line
  const char *stack;      // all frames of the user
  const char *op;         // "aten.item.default"
  const char *operands;   // "self: f32[s0, 4], index: i64[u0]"
  const char *predicate;  // "Eq(u0, 1)"; CONSTRAINT: the guard, "Eq(s0, 4)"
  const char *answer;     // what the example said, "True"; NULL: nobody was asked
  const char *reason;     // a sentence
  const char *fix;        // an edit per line, the first is the one to try
  size_t times;           // how often it was met
} ig_issue;

typedef struct ig_report ig_report;

// The fixes of the last violation of dims.
IG_API size_t ig_report_fixes(const ig_report *r, const ig_dim_fix **fixes);
IG_API size_t ig_report_issues(const ig_report *r, const ig_issue **issues);
IG_API const char *ig_issue_kind_text(ig_issue_kind kind);  // "data_dependent"
// Printed for people and as JSON; the caller frees by ig_text_free. NULL: out of memory.
IG_API char *ig_report_text(ig_ctx *c, const ig_report *r);
IG_API char *ig_report_json(ig_ctx *c, const ig_report *r);

// Of a draft; NULL: the program is none. Borrowed.
IG_API const ig_report *ig_program_report(const ig_program *p);
// Of the error that the context has; NULL: nothing is known but the message. Until it is cleared.
IG_API const ig_report *ig_ctx_report(const ig_ctx *c);

#endif
