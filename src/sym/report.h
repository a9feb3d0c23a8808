// SPDX-License-Identifier: Apache-2.0
// Collecting issues. A report belongs to a draft, or to the first error of a context.
#ifndef SYM_REPORT_H_
#define SYM_REPORT_H_

#include "ingot/report.h"
#include "sym/env.h"

struct ig_report {
  ig_ref ref;
  ig_alloc alloc;
  ig_arena arena;
  IG_VEC(ig_issue) issues;
  IG_VEC(ig_dim_fix) fixes;  // of the last violation of dims
  bool printed;              // the message of the error contains the issues
  ig_ref *script;            // what a script raised and where, see script/failure.h; NULL: nothing
};

ig_report *ig_report_create(ig_ctx *c);  // one reference; NULL: out of memory
// Copies the texts; the same issue at the same location is only counted. Fills in location (file,
// line, source, stack) and operator if `issue` has none.
void ig_report_add(ig_ctx *c, ig_report *r, const ig_issue *issue);
// The program is captured again, with other dims: drops the issues, which will be found again.
void ig_report_retry(ig_report *r);
// Adds to the draft if there is one, otherwise to the context's error.
void ig_issue_tell(ig_ctx *c, const ig_issue *issue);
// The message of the context's error contains the issues: hosts need not show them beside it.
void ig_report_printed(ig_ctx *c);
// Makes r, which is retained, the report of the context's error.
void ig_report_attach(ig_ctx *c, ig_report *r);
void ig_fixes_tell(ig_ctx *c, const ig_dim_fix *fixes, size_t n);  // texts are copied

// An expression as the user would write it: n % 2 == 0, with the user's names for symbols where
// known. The replacements are added to `how` (may be NULL): "`u0` with n".
void ig_str_python(ig_ctx *c, ig_str *s, const ig_expr *e, ig_str *how);

// A check that would resolve a query.
typedef struct ig_remedy {
  const char *text;  // "torch._check(n > 3)"
  bool is_size;      // declares that a symbol is a size
} ig_remedy;
// All of them, sizes first, in the innermost scope; `how` as above.
const ig_remedy *ig_remedies(ig_ctx *c, const ig_expr *e, ig_str *how, size_t *n);

// A draft: example values of unbacked symbols.
typedef struct ig_draft {
  ig_report *report;
  void *values;  // example tensors, see op/draft.h
  ig_mode_scope scope;
} ig_draft;
// The value of an expression under the examples; false: some symbol has none.
bool ig_env_example(ig_ctx *c, const ig_expr *e, ig_hint *out);
void ig_env_set_example(ig_ctx *c, const ig_expr *symbol, const ig_hint *value);

#endif
