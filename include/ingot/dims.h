// SPDX-License-Identifier: Apache-2.0
// Dynamic dimensions: declaring which sizes of the inputs of a capture may vary, solving for what
// the trace requires of them, and checking inputs when the program runs.
//
//   ig_dim batch = {.kind = IG_DIM_NAMED, .name = "batch", .lo = 2, .hi = 64};
//   ig_tensor *x = ig_capture_input_dims(c, "x", NULL, example, (ig_dim[]){batch, {0}});
//   ... the trace ...
//   ig_capture_solve(c, NULL);  // IG_USER_ERROR: "Constraints violated (batch)! ..." with fixes
#ifndef INGOT_DIMS_H_
#define INGOT_DIMS_H_

#include "ingot/program.h"

IG_BEGIN_DECLS

typedef enum ig_dim_kind {
  IG_DIM_STATIC,   // static, as in the example
  IG_DIM_INT,      // the number `lo`, which the example must have
  IG_DIM_NAMED,    // any size in [lo, hi]; equal names are equal sizes
  IG_DIM_DERIVED,  // k * root + c
  IG_DIM_AUTO,     // whatever the trace allows
  IG_DIM_DYNAMIC,  // the same, but more than one value
} ig_dim_kind;

typedef struct ig_dim {
  ig_dim_kind kind;
  const char *name;  // NAMED: "dx"; DERIVED: its text, "2*dx + 1"
  const char *root;  // DERIVED: name of the root
  int64_t lo;        // NAMED; DERIVED: of the root. 0: none
  int64_t hi;        // the same; INT64_MAX: none
  int64_t k;         // DERIVED
  int64_t c;
} ig_dim;

// An input like `example` with one ig_dim per dimension (NULL: all static). `source` is the tensor
// in messages, NULL: "L['name']". IG_CONSTRAINT: the example contradicts a dim.
IG_API ig_tensor *ig_capture_input_dims(ig_ctx *c, const char *name, const char *source,
                                        ig_tensor *example, const ig_dim *dims);
// After the last input; ig_capture_solve does it if it was not done.
IG_API ig_status ig_capture_inputs_done(ig_ctx *c);

typedef struct ig_solve_options {
  size_t size;                // sizeof(ig_solve_options)
  bool strict;                // the message of strict mode
  bool no_forced;             // guards that are too complex are deferred instead of specialized
  bool allow_complex_guards;  // guards become assertions of the program
  bool ask_empty;  // asks of each view whether it is empty, as PyTorch's non-strict mode does
} ig_solve_options;
// To be set before the trace, because allow_complex_guards decides how a guard is handled.
IG_API ig_status ig_capture_options(ig_ctx *c, const ig_solve_options *options);
// After the trace, before the capture ends. IG_USER_ERROR with PyTorch's text when the declared
// dims do not imply what the trace requires; IG_CONSTRAINT when the examples contradict them.
IG_API ig_status ig_capture_solve(ig_ctx *c, const ig_solve_options *options);

// Asks whether the results are contiguous, before solving, as PyTorch's non-strict mode does.
IG_API ig_status ig_capture_ask_outputs(ig_ctx *c, const ig_value *outs, size_t n);

// What would resolve a violation: another declaration of a dim. The text of the error prints them
// as "Suggested fixes:"; ig_report_fixes (ingot/report.h) has them as data.
typedef enum ig_fix_kind { IG_FIX_INT, IG_FIX_RANGE, IG_FIX_DERIVED } ig_fix_kind;
typedef struct ig_dim_fix {
  ig_fix_kind kind;
  const char *name;
  int64_t value;  // INT
  int64_t lo;     // RANGE; INT64_MIN: not given
  int64_t hi;     // INT64_MAX: not given
  const char *root;
  int64_t k;
  int64_t c;
} ig_dim_fix;
// Parses such a message, for callers that have nothing else; the fixes live as long as the
// innermost scope.
IG_API size_t ig_dim_fixes(ig_ctx *c, const char *message, const ig_dim_fix **fixes);

// range_constraints: symbols read from data, sizes of inputs, roots.
typedef struct ig_range_entry {
  const ig_expr *expr;
  const char *text;  // "s0", "2*s1 + 1"
  int64_t lo;        // INT64_MIN: unbounded
  int64_t hi;        // INT64_MAX: unbounded
} ig_range_entry;
IG_API size_t ig_program_ranges(ig_ctx *c, const ig_program *p, const ig_range_entry **entries);
// The declared name of a size: "batch" for Dim("batch"); NULL: none. Files do not store it.
IG_API const char *ig_program_dim_name(const ig_program *p, const ig_expr *size);
// Adds the range of an expression in the program's symbols; its text is generated. Unbacked symbols
// are listed automatically. Only allowed before the program is shared.
IG_API IG_MUST_USE ig_status ig_program_add_range(ig_ctx *c, ig_program *p,
                                                  const ig_range_entry *entry);

// Checks one value per user input, as exported modules do: IG_RUNTIME "Expected input at
// *args[0].shape[0] to be <= 12, but got 14". `paths` names the inputs; NULL: "*args[i]".
IG_API IG_MUST_USE ig_status ig_program_check_inputs(ig_ctx *c, const ig_program *p,
                                                     const ig_value *flat, const char *const *paths,
                                                     size_t n);

IG_END_DECLS

#endif
