// SPDX-License-Identifier: Apache-2.0
// Internals of the context: sticky error with notes, pool of scoped references, user location. What
// a call does besides computing is in `mode`, see mode/mode.h.
#ifndef BASE_CTX_H_
#define BASE_CTX_H_

#include <stdatomic.h>

#include "base/mem.h"
#include "ingot/limits.h"

// First member of every reference-counted struct. Counts are atomic: storages are shared between
// threads.
typedef struct ig_ref {
  atomic_int count;
  void (*destroy)(struct ig_ref *self);
} ig_ref;

static inline void ig_ref_retain(ig_ref *r) {
  atomic_fetch_add_explicit(&r->count, 1, memory_order_relaxed);
}
static inline void ig_ref_release(ig_ref *r) {
  if (r && atomic_fetch_sub_explicit(&r->count, 1, memory_order_acq_rel) == 1) r->destroy(r);
}

struct ig_str;
struct ig_expr;

// The remaining work and time of an operation; see base/budget.h.
typedef struct ig_account {
  uint64_t left;   // units of work; UINT64_MAX: unlimited
  uint64_t given;  // initial value
  uint64_t until;  // milliseconds of the clock; 0: unlimited
  uint64_t max_work;
  uint64_t max_millis;
} ig_account;

// Why something failed: a status, or a status with a code whose explanation users can ask for,
// IG_SYNTAX | IG_E_ZIP (base/cause.h).
typedef unsigned ig_cause;
enum { IG_CAUSE_SHIFT = 8 };  // the status stands below the code
static inline ig_status ig_cause_status(ig_cause why) {
  return (ig_status)(why & ((1U << IG_CAUSE_SHIFT) - 1));
}

struct ig_ctx {
  ig_alloc alloc;  // counts live bytes
  ig_status status;
  ig_cause code;                // of the error, without its status; 0: none, see base/explain.h
  const struct ig_modes *mode;  // written only by mode/mode.h
  uint32_t pace;                // steps until the account is checked
  uint32_t stride;              // initial value
  atomic_bool cancelled;        // set by any thread
  ig_account account;
  ig_limits limits;  // complete
  // Polls the host's signals; false: stop, an error of the host is set.
  bool (*poll)(ig_ctx *c);
  char *message;  // growable; never NULL
  size_t message_cap;
  size_t aside;     // where in the message the lines begin that are no part of the text; 0: none
  char small[256];  // the message before it had to grow
  char scratch[4][128];  // texts of symbolic integers inside one message
  unsigned scratch_next;

  const char *op_target;  // operator being called, for messages
  const struct ig_op *op;
  const void *op_args;  // its arguments (ig_value), and how to print their shapes
  void (*op_describe)(const ig_ctx *c, struct ig_str *out);
  const char *file;  // user location
  int line;
  const struct ig_frames *stack;  // the user's frames, see base/frames.h; NULL: unknown
  // The user's name of a symbol at the current location: "n", "x.shape[0]"; false: none.
  bool (*name_symbol)(ig_ctx *c, const struct ig_expr *symbol, struct ig_str *out);
  ig_ref *trouble;  // data about the first error, see sym/report.h; NULL: none
  void (*locate)(ig_ctx *c, void *user);
  void *locate_user;

  IG_VEC(ig_ref *) pool;
  void *work;  // memory for the runs of kernels, kept from call to call; see op/prepare.h
  size_t work_size;
};

// The context's error, to be raised again after it was cleared.
static inline ig_cause ig_ctx_cause(const ig_ctx *c) {
  return (ig_cause)c->status | c->code;
}

// For code that allocates contexts together with their modes.
void ig_ctx_init(ig_ctx *c, ig_alloc alloc, const struct ig_modes *mode);
void ig_ctx_clean(ig_ctx *c);

// Keeps the first error: "target: text (file:line)". Evaluates to the status of `why`.
#define ig_fail(c, why, ...) (ig_fail_at((c), (why), __VA_ARGS__), ig_cause_status(why))
void ig_fail_at(ig_ctx *c, ig_cause why, const char *fmt, ...) IG_PRINTF(3, 4);
// The same without the operator's name and the location: for PyTorch's exact messages.
void ig_fail_text(ig_ctx *c, ig_cause why, const char *fmt, ...) IG_PRINTF(3, 4);
bool ig_no_memory(ig_ctx *c);                                   // IG_NOMEM: false
void ig_note(ig_ctx *c, const char *fmt, ...) IG_PRINTF(2, 3);  // One more line, on the way out.
// The same for a line that explains and is no part of the text, which PyTorch words: hosts show it
// beside the text. All lines after it are such lines, too.
void ig_aside(ig_ctx *c, const char *fmt, ...) IG_PRINTF(2, 3);

#define IG_RETURN_IF_ERR(expr)    \
  do {                            \
    ig_status st_ = (expr);       \
    if (st_ != IG_OK) return st_; \
  } while (0)

void ig_locate(ig_ctx *c);  // Updates file and line.

// Transfers one reference to the innermost scope. On failure it is released and false is returned.
bool ig_pool_add(ig_ctx *c, ig_ref *r);

// Memory that lives as long as the innermost scope, 16-byte aligned, not zeroed; NULL after an
// error.
void *ig_scope_push(ig_ctx *c, size_t size);
void *ig_scope_array(ig_ctx *c, size_t n, size_t size);  // The same for n elements.

#endif
