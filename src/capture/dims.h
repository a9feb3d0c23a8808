// SPDX-License-Identifier: Apache-2.0
// Declared dimensions of the inputs of a capture.
#ifndef CAPTURE_DIMS_H_
#define CAPTURE_DIMS_H_

#include "ingot/dims.h"
#include "ir/program.h"
#include "sym/solve.h"

// One size (or stride that is a symbol) of one input.
typedef struct ig_dim_use {
  ig_dim dim;          // texts in the arena of the environment
  const char *source;  // "L['x'].size()[0]"
  bool is_size;
  int64_t example;
  ig_int size;  // as created
  ig_int now;   // with replacements, set by ig_capture_solve
} ig_dim_use;

// A root of derived dims that is not a dim of any input.
typedef struct ig_dim_root {
  const char *name;
  int64_t lo;
  int64_t hi;
  ig_int size;
  ig_int now;
} ig_dim_root;

typedef struct ig_dims {
  IG_VEC(ig_dim_use) uses;
  IG_VEC(ig_dim_root) phantoms;
  IG_VEC(ig_range_entry) ranges;
  bool done;
  // Open ranges end with the largest size: PyTorch 2.4 has no infinite one, and no later release
  // can leave out forced values.
  bool finite;
} ig_dims;

ig_dims *ig_dims_get(ig_ctx *c);                        // of the open capture; NULL after an error
const char *ig_dims_text(ig_ctx *c, const char *text);  // kept by the environment
static inline bool ig_dim_is_strict(const ig_dim *d) {
  return d->kind == IG_DIM_NAMED || d->kind == IG_DIM_DERIVED;
}
// Bounds of the dim itself.
void ig_dim_bounds(const ig_dim *d, int64_t *lo, int64_t *hi);
// "dx" or, without a name, the source
static inline const char *ig_use_name(const ig_dim_use *u) {
  return ig_dim_is_strict(&u->dim) ? u->dim.name : u->source;
}

// A sentence about a dim in an error message.
typedef struct ig_violation {
  const char *name;
  size_t at;              // where the sentence begins
  const ig_guard *guard;  // the guard that it is about; NULL: find one
} ig_violation;
// Reports that the program requires more of a dim than was declared: the sentence (up to the end of
// its line), the guard and source line that require it, and the fixes of that dim or, if there are
// none, all fixes (violation.c).
void ig_dims_tell(ig_ctx *c, const ig_dims *d, const ig_violation *v, const char *reason,
                  const ig_dim_fix *fixes, size_t nfixes);

// The solver's results by dim name, as fixes in the innermost scope; and the printed form of one,
// "dx = Dim('dx', max=7)". (fixes.c)
size_t ig_dims_fixes(ig_ctx *c, ig_dims *d, ig_solver *s, const ig_dim_fix **out);
void ig_str_fix(ig_str *s, const ig_dim_fix *f);
// k*name + c as SymPy prints it
void ig_str_affine(ig_str *s, int64_t k, const char *name, int64_t c);
// An expression with the sources of its symbols.
void ig_dims_str_expr(const ig_dims *d, ig_str *out, const ig_expr *e);
// First use of a symbol: its index; phantoms follow the uses. SIZE_MAX: none
size_t ig_dims_first(const ig_dims *d, const ig_expr *symbol);
// A declared dim as k*root + c; false: it has no name.
bool ig_dim_affine(const ig_dim *d, const char **root, int64_t *k, int64_t *c);

// Sizes of recorded values with replacements (settle.c).
ig_status ig_capture_settle(ig_ctx *c);
void ig_graph_settle(ig_ctx *c, ig_graph *g);  // the same for any graph

// Ranges of the program (ranges.c), after the solver.
bool ig_dims_list_ranges(ig_ctx *c, ig_dims *d);
// PyTorch traces a strict program several times; the unbacked symbols of every trace stay among the
// ranges.
bool ig_program_repeat_symbols(ig_ctx *c, const ig_program *p);

// If the example is the result of an operator, so is its placeholder t: it may be written in place
// where a leaf may not. That history is never run.
void ig_capture_keep_history(ig_ctx *c, ig_tensor *t, ig_tensor *example);

// Whether a program can have an input like this; the context says why not.
IG_MUST_USE bool ig_capture_admits(ig_ctx *c, const char *name, const ig_tensor *example);

#endif
