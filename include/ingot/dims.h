// SPDX-License-Identifier: Apache-2.0
// Dynamic dimensions: declaring which sizes of the inputs of a capture may vary, solving for what
// the trace demanded of them, and checking inputs when the program runs.
//
//   ig_dim batch = {.kind = IG_DIM_NAMED, .name = "batch", .lo = 2, .hi = 64};
//   ig_tensor *x = ig_capture_input_dims(c, "x", NULL, example, (ig_dim[]){batch, {0}});
//   ... the trace ...
//   ig_capture_solve(c, NULL);  // IG_USER_ERROR: "Constraints violated (batch)! ..." with fixes
#ifndef INGOT_DIMS_H_
#define INGOT_DIMS_H_

#include "ingot/program.h"

typedef enum ig_dim_kind {
  IG_DIM_STATIC,   // as in the example
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
  bool strict;                // message as strict mode words it
  bool no_forced;             // what is too complex is left open instead of specialised
  bool allow_complex_guards;  // guards become assertions of the program
  bool ask_empty;             // of each view: is it empty? As PyTorch's non-strict capture does
} ig_solve_options;
// Before the trace: allow_complex_guards decides what becomes of a guard.
IG_API ig_status ig_capture_options(ig_ctx *c, const ig_solve_options *options);
// After the trace, before the capture ends. IG_USER_ERROR with PyTorch's text when the declared
// dims do not imply what the trace demands; IG_CONSTRAINT when the examples contradict them.
IG_API ig_status ig_capture_solve(ig_ctx *c, const ig_solve_options *options);

// What PyTorch's non-strict capture asks about its results, before solving: are they contiguous?
IG_API ig_status ig_capture_ask_outputs(ig_ctx *c, const ig_value *outs, size_t n);

// What would settle a violation: another declaration of a dim. The text of the error prints them as
// "Suggested fixes:"; ig_report_fixes (ingot/report.h) has them as data.
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
// Read back from such a text, for who has nothing else; they live as long as the innermost scope.
IG_API size_t ig_dim_fixes(ig_ctx *c, const char *message, const ig_dim_fix **fixes);

// range_constraints: symbols read from data, sizes of inputs, roots.
typedef struct ig_range_entry {
  const ig_expr *expr;
  const char *text;  // "s0", "2*s1 + 1"
  int64_t lo;        // INT64_MIN: unbounded
  int64_t hi;        // INT64_MAX: unbounded
} ig_range_entry;
IG_API size_t ig_program_ranges(ig_ctx *c, const ig_program *p, const ig_range_entry **entries);
// The declared name of a size: "batch" of Dim("batch"); NULL: it has none. Files do not keep it.
IG_API const char *ig_program_dim_name(const ig_program *p, const ig_expr *size);
// One more, of an expression of the program's own symbols; the text is made. Symbols read from data
// are listed by themselves. Only between making the program and sharing it.
IG_API IG_MUST_USE ig_status ig_program_add_range(ig_ctx *c, ig_program *p,
                                                  const ig_range_entry *entry);

// One value per user input, checked as exported modules do it: IG_RUNTIME "Expected input at
// *args[0].shape[0] to be <= 12, but got 14". `paths` names the inputs, NULL: "*args[i]".
IG_API IG_MUST_USE ig_status ig_program_check_inputs(ig_ctx *c, const ig_program *p,
                                                     const ig_value *flat, const char *const *paths,
                                                     size_t n);

#endif
