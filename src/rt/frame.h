// SPDX-License-Identifier: Apache-2.0
// Sizes of a binding. A program whose inputs have sizes that vary is traced once with symbols for
// them: comparisons of sizes become guards, and every number that depends on sizes is an
// expression. A frame is what follows for one combination of sizes: values of the expressions,
// prepared kernels, offsets, memory of the results. Making one traces and packs nothing.
#ifndef RT_FRAME_H_
#define RT_FRAME_H_

#include "rt/binding.h"

// A size of an input.
typedef struct ig_rt_size {
  int64_t value;   // that is required
  int64_t symbol;  // that it gives a value to; -1: none
} ig_rt_size;

// A place that holds the value of an expression.
typedef struct ig_rt_slot {
  int64_t *integer;  // NULL: `real`
  double *real;
  size_t expr;
} ig_rt_slot;

struct ig_rt_symbols {
  struct ig_sym *sym;  // retained
  size_t n;
  int64_t *values;                // of the symbols, as the inputs of the last query gave them
  ig_rt_size **sizes;             // per input, one per dimension; NULL: none of its sizes varies
  IG_VEC(const ig_expr *) exprs;  // all that steps depend on
  IG_VEC(ig_tensor *) tensors;    // that vary themselves or lie in buffers that do, each once
  IG_VEC(ig_rt_slot) slots;
};

typedef union ig_rt_number {
  int64_t i;
  double f;
} ig_rt_number;

// Of a buffer.
typedef struct ig_rt_spot {
  size_t bytes;
  size_t offset;
  int64_t takes;
} ig_rt_spot;

struct ig_rt_frame {
  ig_rt_frame *next;
  ig_arena memory;        // the arrays
  int64_t *symbols;       // their values
  ig_rt_number *numbers;  // of the expressions
  ig_prep **preps;        // per step; NULL: its kernel is not prepared
  ig_need **needs;        // per step; NULL: it is no layer
  ig_rt_spot *spots;      // per buffer
  ig_rt_sets *sets;
  ig_rt_shown *shown;
  size_t slab;
  size_t work;
};

// Symbols for the sizes of these inputs that vary; b->symbols stays NULL if none does. False after
// an error.
bool ig_rt_make_symbols(ig_binding *b, const ig_value *inputs);
void ig_rt_free_symbols(ig_binding *b);
// The fake tensor that stands for input i, which is like t.
ig_tensor *ig_rt_fake_input(const ig_binding *b, size_t i, const ig_tensor *t);
// All passes are done: expressions become places to be filled in. False after an error.
bool ig_rt_collect_slots(ig_binding *b);

// Notes the values that input i gives to symbols (b->symbols->values, -1: not seen yet). False: a
// size, stride or dtype is another one than the binding is for.
bool ig_rt_read_symbols(const ig_binding *b, size_t i, const ig_tensor *t);
// Do all decisions hold for the values that were read?
bool ig_rt_guards_hold(const ig_binding *b);

// The same for the values of all expressions; false: one has none that fits.
bool ig_rt_evaluate(const ig_binding *b, ig_rt_number *out);

// The frame for these values, if there is one, becomes the current one.
bool ig_rt_use_frame(ig_binding *b);
// The same for a new one. False after an error; then no frame is current.
bool ig_rt_add_frame(ig_binding *b);
void ig_rt_free_frames(ig_binding *b);

#endif
