// SPDX-License-Identifier: Apache-2.0
// Issues that prevent an export or the writing of a file, with the user's source line and a
// suggested edit.
//
// An export that fails leaves the issues of its error in the context. A draft
// (ig_export_args.draft) does not fail on them: it consults the example values instead, and the
// program has the report.
#ifndef INGOT_REPORT_H_
#define INGOT_REPORT_H_

#include "ingot/dims.h"

IG_BEGIN_DECLS

typedef enum ig_issue_kind {
  IG_ISSUE_DATA_DEPENDENT,  // a data-dependent decision
  IG_ISSUE_CONSTRAINT,      // the program requires more of its sizes than their dims declare
  IG_ISSUE_NO_FAKE,         // an operator without a fake kernel
  IG_ISSUE_WRONG_FAKE,      // a fake kernel that contradicts the real one
  IG_ISSUE_CALL,            // an operator rejected its operands
  IG_ISSUE_FORMAT,          // a call that the file format cannot express
} ig_issue_kind;

// Unknown texts are NULL. All live as long as the report.
typedef struct ig_issue {
  ig_issue_kind kind;
  const char *file;  // of the user
  int line;
  const char *function;
  const char *source;      // text of that line
  const ig_frame *frames;  // all frames of the user, outermost first; the last one is file and line
  size_t nframes;
  const char *op;         // "aten.item.default"
  const char *operands;   // "self: f32[s0, 4], index: i64[u0]"
  const char *predicate;  // "Eq(u0, 1)"; CONSTRAINT: the guard, "Eq(s0, 4)"
  const char *answer;     // the example's answer, "True"; NULL: not asked
  const char *reason;     // a sentence
  const char *fix;        // one edit per line, the best first
  size_t times;           // how often it occurred
} ig_issue;

typedef struct ig_report ig_report;

// The fixes of the last violation of dims.
IG_API size_t ig_report_fixes(const ig_report *r, const ig_dim_fix **fixes);
IG_API size_t ig_report_issues(const ig_report *r, const ig_issue **issues);
IG_API const char *ig_issue_kind_text(ig_issue_kind kind);  // "data_dependent"
// As text and as JSON; the caller frees it with ig_text_free. NULL: out of memory.
IG_API char *ig_report_text(ig_ctx *c, const ig_report *r);
IG_API char *ig_report_json(ig_ctx *c, const ig_report *r);

// The report of a draft; NULL: the program is not a draft. Borrowed.
IG_API const ig_report *ig_program_report(const ig_program *p);
// The report of the context's error; NULL: there is only the message. Valid until the error is
// cleared.
IG_API const ig_report *ig_ctx_report(const ig_ctx *c);

IG_END_DECLS

#endif
