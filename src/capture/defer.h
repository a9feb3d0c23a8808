// SPDX-License-Identifier: Apache-2.0
// Calls that are recorded now and computed later, many at a time.
//
// While a recording is entered, a call of an operator computes nothing: its results are tensors
// with sizes and dtype, but without elements. When elements are needed, the recording is flushed:
// the host computes what was recorded, and the tensors that somebody still refers to become the
// results, in place. What the program does besides calling operators happens as it always does.
//
// A recording is described by its structure (operators, wiring, dtypes, constants: a list of words)
// and its numbers (sizes, strides, integer arguments). An entry holds what was made of a structure
// for certain numbers: each of its slots is a constant or an expression of symbols. A recording
// fits an entry if the structures are equal, the constants too, and the guards hold for the values
// of the symbols; so an entry that fits is right whatever the program did to get there.
#ifndef CAPTURE_DEFER_H_
#define CAPTURE_DEFER_H_

#include "base/arena.h"
#include "ir/table.h"
#include "op/call.h"

typedef struct ig_defer ig_defer;

// What a flush is for: shown to users who asked for one graph.
typedef enum ig_defer_why {
  IG_DEFER_END,    // the recorded function returned or raised
  IG_DEFER_VALUE,  // elements of a tensor are read
  IG_DEFER_CALL,   // an operator whose results depend on elements, or that cannot be recorded
  IG_DEFER_MODE,   // a mode changed that the graph does not record
  IG_DEFER_HOST    // the host needs it
} ig_defer_why;

// More about it: a mode of the context (IG_MODE_NEED) around whatever may flush. NULL: nothing.
typedef struct ig_defer_need {
  bool decides;        // the elements decide a branch of the program
  bool allowed;        // a graph may end here also if one is wanted
  bool history;        // of single results: one function for all of them would not do
  const char *reason;  // in the host's words; NULL: none
} ig_defer_need;

static inline ig_mode_scope ig_defer_push_need(ig_ctx *c, const ig_defer_need *need) {
  return ig_mode_push(c, &(ig_mode_change){IG_MODE_NEED, {.need = need}});
}

typedef struct ig_defer_host {
  // Computes what was recorded, see ig_defer_become. False: failed, and the context or the host has
  // the error.
  bool (*flush)(ig_ctx *c, ig_defer *d, ig_defer_why why, const ig_op *op, void *user);
  uint64_t (*kind)(const ig_tensor *t, void *user);  // of an input: part of the structure
  void (*forgive)(void *user);                       // drops the host's pending error
  void (*wait)(void *user);                          // lets other threads run for a moment
  void *user;
} ig_defer_host;

// What a number is: decides whether it may become a symbol.
typedef enum ig_defer_kind {
  IG_SLOT_CONSTANT,  // an integer that is never symbolic: a dim, a flag
  IG_SLOT_SIZE_ARG,  // an argument that may be: SymInt
  IG_SLOT_SCALAR,    // an integer among the operands
  IG_SLOT_FLOAT,     // a float in the place of a tensor; the value is its bits
  IG_SLOT_SIZE,      // of an input
  IG_SLOT_STRIDE
} ig_defer_kind;

typedef struct ig_defer_slot {
  int64_t value;
  ig_defer_kind kind;
  uint32_t of;     // number of the call, or of the input
  uint32_t index;  // of the argument, or of the dim
  uint32_t expr;   // how it was computed from sizes, see ig_defer_expr; 0: unknown
} ig_defer_slot;

// How the program computed a number: a hint for tracing.
typedef struct ig_defer_expr {
  ig_expr_kind kind;        // SYMBOL: a size; CONST; otherwise of a and b
  const ig_tensor *tensor;  // whose size it is; not retained and only compared; NULL: an element
  uint32_t dim;
  uint32_t a;
  uint32_t b;
  int64_t value;
  bool element;  // it is an element of a tensor, or computed from one; set by ig_defer_expr_add
  uint64_t way;  // equal if computed in the same way with the same other numbers; set there, too
} ig_defer_expr;
enum { IG_DEFER_MOST_EXPRS = 4096 };  // of one call; other numbers are plain

typedef struct ig_defer_call {
  const ig_op *op;
  const ig_value *args;  // tensors are those that were given
  ig_value *outs;        // the same for results
  bool no_grad;
  ig_mode_autocast autocast;
} ig_defer_call;

// The modes that are the same for all calls of a recording.
typedef struct ig_defer_modes {
  ig_device device;
  bool inference;
  int dtype;
} ig_defer_modes;

typedef struct ig_defer_value {
  ig_tensor *tensor;  // retained
  bool input;
  bool untracked;    // a view that was taken without gradients of something that requires them
  bool one_of_many;  // a view that one call returned among others
  // Of a view that was made here: the tensor whose history its own is part of, in this recording
  // or outside; NULL: itself. Only compared.
  const ig_tensor *root;
} ig_defer_value;

typedef struct ig_defer_write {
  ig_storage *storage;  // retained
  uint32_t version;     // before the first recorded write
} ig_defer_write;

struct ig_defer {
  ig_ctx *c;
  ig_alloc alloc;
  ig_defer_host host;
  ig_rewrite recorder;
  ig_mode_scope mode;
  bool entered;
  bool busy;              // being flushed
  const ig_ctx *flusher;  // by the thread of this context
  bool seen;              // an operator was called
  bool whole;             // one graph is wanted: the host is told of every flush, even of nothing
  bool elements;          // numbers that are elements of tensors remember it
  ig_arena arena;
  ig_table numbers;  // tensor -> number of its value
  IG_VEC(ig_defer_value) values;
  IG_VEC(ig_defer_call) calls;
  IG_VEC(ig_defer_write) writes;
  // Tensors from elsewhere that require gradients since a recorded write, until the flush.
  // Retained.
  IG_VEC(ig_tensor *) graded;
  IG_VEC(ig_storage *) exposed;  // memory that the program can also reach without the engine
  IG_VEC(uint64_t) words;
  IG_VEC(ig_defer_slot) slots;
  IG_VEC(uint32_t) inputs;      // numbers of values
  IG_VEC(uint32_t) outputs;     // set by ig_defer_close
  IG_VEC(ig_defer_expr) exprs;  // of the whole call
  ig_table tracked;             // the host's objects for them -> number of the expression
  ig_table became;              // result -> the tensor that became it
  uint64_t hash;
  ig_defer_modes modes;
  bool no_grad;        // at the first call
  ig_defer_need need;  // of the flush that is going on
  const char *wrong;   // why a shape rule refused the call that a flush is for; NULL: it did not
  void *grad_fn;       // the host's function that switches the grad mode, for nodes; NULL: none
};

ig_defer *ig_defer_create(ig_ctx *c, const ig_defer_host *host);  // NULL: out of memory
void ig_defer_free(ig_defer *d);
void ig_defer_enter(ig_defer *d);
void ig_defer_leave(ig_defer *d);
ig_defer *ig_defer_of(const ig_ctx *c);  // the one that records this context's calls; NULL: none

// Computes what was recorded, if anything. False after an error.
bool ig_defer_flush(ig_ctx *c, ig_defer *d, ig_defer_why why, const ig_op *op);
// The same if t depends on a recording.
bool ig_defer_ready(ig_ctx *c, const ig_tensor *t);
// The program got the memory of t itself, and may write it: calls that touch it are computed at
// once from now on.
void ig_defer_expose(ig_defer *d, const ig_tensor *t);

// Numbers from 1; 0: none, or out of memory.
uint32_t ig_defer_expr_add(ig_defer *d, const ig_defer_expr *e);
// Of two numbers, each an expression (a, b not 0) or just a value. 0: of two plain numbers.
uint32_t ig_defer_expr_combine(ig_defer *d, ig_expr_kind kind, uint32_t a, uint32_t b, int64_t x,
                               int64_t y, int64_t value);
// The number with the expression, as an argument of a call that is recorded.
ig_int ig_defer_int(int64_t value, uint32_t expr);

// ---- for the host, while it flushes ----

// Completes the structure: inputs, numbers of sizes, and the outputs: values that somebody refers
// to.
bool ig_defer_close(ig_ctx *c, ig_defer *d);
// Calls everything again, for real or under an open capture: inputs has one tensor per input, outs
// gets the tensors of d->outputs. number: the integer of a slot, given the values so far; NULL: as
// recorded. Of a float: its bits, with its expression.
typedef ig_int ig_defer_number_fn(void *user, size_t slot, ig_tensor *const *values);
void ig_defer_replay(ig_ctx *c, ig_defer *d, ig_tensor *const *inputs, ig_defer_number_fn *number,
                     void *user, ig_tensor **outs);
// t, an output, becomes this result; own: nobody else refers to the result.
void ig_defer_become(ig_ctx *c, ig_defer *d, ig_tensor *t, ig_tensor *result, bool own);
void ig_defer_rebase(ig_defer *d);         // After the last: results that are views of results.
bool ig_defer_is_idle(const ig_defer *d);  // nobody would notice if it were not computed
void ig_defer_clear(ig_defer *d);  // Forgets everything; pending tensors stay without elements.

// ---- entries ----

typedef struct ig_defer_entry {
  uint64_t hash;
  uint64_t *words;
  size_t nwords;
  ig_int *slots;
  size_t nslots;
  const ig_expr **symbols;  // in the order of the graph's inputs for them
  size_t nsymbols;
  uint32_t *order;  // of the graph's inputs: 2 * input, or 2 * symbol + 1
  size_t norder;
  size_t order_cap;
  const ig_expr **guards;
  size_t nguards;
  size_t guards_cap;
  ig_sym *sym;  // retained; NULL: there are no symbols
  ig_alloc alloc;
} ig_defer_entry;

enum { IG_DEFER_MOST_SYMBOLS = 256 };  // of an entry

// How a slot is traced.
enum {
  IG_SLOT_AS_CONSTANT,
  IG_SLOT_AS_SYMBOL,  // of its own
  IG_SLOT_AS_KNOWN,   // as a symbol with this value; a constant if there is none
  IG_SLOT_AS_SHARED,  // as a symbol with this value; one of its own if there is none
  IG_SLOT_AS_FREE,    // of its own, also if it is 0 or 1: only guards of the trace limit it
  IG_SLOT_AS_NUMBER,  // as shared, however the program computed it
};

// Traces under the open capture: placeholders for symbols and inputs (names: one per input), calls.
// how: one per slot. outs as for ig_defer_replay. NULL after an error.
ig_defer_entry *ig_defer_trace(ig_ctx *c, ig_defer *d, const uint8_t *how, const char *const *names,
                               ig_tensor **outs);
void ig_defer_entry_seal(ig_ctx *c, ig_defer_entry *e);  // the capture has ended: takes the guards
void ig_defer_entry_free(ig_defer_entry *e);
bool ig_defer_same_structure(const ig_defer *d, const ig_defer_entry *e);
// Do the numbers fit, too? values: what the symbols are, one per e->symbols; floats as their bits.
bool ig_defer_fits(const ig_defer *d, const ig_defer_entry *e, int64_t *values);

#endif
