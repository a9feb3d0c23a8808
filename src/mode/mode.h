// SPDX-License-Identifier: Apache-2.0
// What a call does besides computing: whether it is recorded, whether results are fake, whether
// there is a tape. One structure per context, and therefore per thread. All code may read it
// (c->mode->fake); only the functions here write it. A scope changes some of the fields and
// restores exactly those:
//
//   ig_mode_scope s = ig_mode_push(c, &(ig_mode_change){IG_MODE_FAKE, {.fake = true}});
//   ...
//   ig_mode_pop(c, &s);
//
// Scopes nest; builds with assertions abort if a scope is popped out of order or never. Settings
// without a scope in the user's language (torch.set_grad_enabled(False)) are changed by
// ig_mode_set; an enclosing scope that changed the same field restores it at its end.
#ifndef MODE_MODE_H_
#define MODE_MODE_H_

#include <assert.h>
#include <stdatomic.h>

#include "base/ctx.h"
#include "ingot/tensor.h"

typedef struct ig_intercept ig_intercept;  // op/intercept.h

typedef struct ig_mode_autocast {
  struct {
    bool on;
    int dtype;  // ig_dtype; -1: the default
  } at[2];      // on the CPU, elsewhere
} ig_mode_autocast;

// X(NAME, type, field): what a scope can change.
#define IG_MODE_LIST(X)                                                                          \
  X(CAPTURE, struct ig_graph *, capture)         /* not NULL: calls are recorded here */         \
  X(REWRITE, const struct ig_rewrite *, rewrite) /* called first while recording */              \
  X(INTERCEPT, const ig_intercept *, intercept)  /* answers calls instead of the engine */       \
  X(SYM, struct ig_sym *, sym)                   /* symbols of the open capture */               \
  X(AMBIENT, struct ig_sym *, ambient)     /* of the enclosing fake mode, retained; or NULL */   \
  X(RENEWAL, struct ig_renewal *, renewal) /* not NULL: unbacked symbols are taken from here */  \
  X(GIVEN, const struct ig_node *, given)  /* this call is repeated, with the same results */    \
  X(DRAFT, struct ig_draft *, draft) /* not NULL: examples decide data-dependent questions */    \
  X(WATCH, const struct ig_watch *, watch) /* called with every value that a graph computes */   \
  X(GROUP, struct ig_tape_entry *, group)  /* of the operator whose parts are recorded */        \
  X(CLOCK, uint64_t, clock)                /* of tape entries and hooks */                       \
  X(GENERATOR, struct ig_generator *, generator) /* default one, created on first use */         \
  X(DRAWS, const struct ig_draws *, draws)    /* as of which release; NULL: 2.5 (op/random.h) */ \
  X(NEED, const struct ig_defer_need *, need) /* what waiting tensors are needed for */          \
  X(DEVICE, ig_device, device)                /* device of the host's factories */               \
  X(AUTOCAST, ig_mode_autocast, autocast)     /* the regions */                                  \
  X(AUTOCASTS, bool, autocasts)               /* one of them is active, and operands are cast */ \
  X(FAKE, bool, fake)                         /* all results are fake */                         \
  X(NO_GRAD, bool, no_grad)                   /* do not record a tape */                         \
  X(UNSEEN, bool, unseen)                     /* operands do not answer calls */                 \
  X(INFERENCE, bool, inference)               /* results never get history */

enum {
#define X(name, type, field) IG_MODE_AT_##name,
  IG_MODE_LIST(X)
#undef X
      IG_MODE_COUNT
};

enum {
#define X(name, type, field) IG_MODE_##name = 1 << IG_MODE_AT_##name,
  IG_MODE_LIST(X)
#undef X
};

typedef struct ig_modes {
#define X(name, type, field) type field;
  IG_MODE_LIST(X)
#undef X
  // Not changed by scopes.
  unsigned depth;              // scopes that are open
  const struct ig_host *host;  // objects of the host language: see ir/graph.h
  void *thread;                // state of the host for the thread of this context
  const atomic_int *dtype;     // the default dtype (ig_dtype), possibly shared by contexts
  void (*generator_free)(struct ig_generator *g);
} ig_modes;

typedef struct ig_mode_change {
  unsigned set;  // of IG_MODE_
  ig_modes to;
} ig_mode_change;

typedef struct ig_mode_scope {
  unsigned set;
  unsigned depth;
  ig_modes before;  // fields of `set`
} ig_mode_scope;

static inline ig_modes *ig_mode_of(ig_ctx *c) {
  return (ig_modes *)c->mode;  // const for all other code
}

// Changes permanently, or until an enclosing scope that changed the same fields ends.
static inline void ig_mode_set(ig_ctx *c, const ig_mode_change *change) {
  ig_modes *m = ig_mode_of(c);
#define X(name, type, field) \
  if (change->set & IG_MODE_##name) m->field = change->to.field;
  IG_MODE_LIST(X)
#undef X
}

static inline ig_mode_scope ig_mode_push(ig_ctx *c, const ig_mode_change *change) {
  ig_modes *m = ig_mode_of(c);
  ig_mode_scope s = {.set = change->set, .depth = ++m->depth};
#define X(name, type, field) \
  if (change->set & IG_MODE_##name) s.before.field = m->field;
  IG_MODE_LIST(X)
#undef X
  ig_mode_set(c, change);
  return s;
}

static inline bool ig_mode_is_innermost(const ig_ctx *c, const ig_mode_scope *s) {
  return c->mode->depth == s->depth;
}

static inline void ig_mode_pop(ig_ctx *c, const ig_mode_scope *s) {
  assert(ig_mode_is_innermost(c, s) && "a mode is popped out of order");
  ig_modes *m = ig_mode_of(c);
  m->depth = s->depth - 1;
#define X(name, type, field) \
  if (s->set & IG_MODE_##name) m->field = s->before.field;
  IG_MODE_LIST(X)
#undef X
}

// Common changes.
static inline ig_mode_scope ig_mode_push_capture(ig_ctx *c, struct ig_graph *g) {
  return ig_mode_push(c, &(ig_mode_change){IG_MODE_CAPTURE, {.capture = g}});
}
static inline ig_mode_scope ig_mode_push_sym(ig_ctx *c, struct ig_sym *sym) {
  return ig_mode_push(c, &(ig_mode_change){IG_MODE_SYM, {.sym = sym}});
}
static inline ig_mode_scope ig_mode_push_grad(ig_ctx *c, bool enabled) {
  return ig_mode_push(c, &(ig_mode_change){IG_MODE_NO_GRAD, {.no_grad = !enabled}});
}
static inline ig_mode_scope ig_mode_push_draft(ig_ctx *c, struct ig_draft *d) {
  return ig_mode_push(c, &(ig_mode_change){IG_MODE_DRAFT, {.draft = d}});
}

uint64_t ig_mode_tick(ig_ctx *c, uint64_t after);  // the next time of the tape, above `after`
void ig_mode_set_host(ig_ctx *c, const struct ig_host *host, void *thread);
// The default dtype is the one in `shared` from now on, which outlives the context; NULL: its own.
void ig_mode_share_dtype(ig_ctx *c, const atomic_int *shared);
// The context owns the generator if `destroy` is not NULL. Not inside a scope that changes it.
void ig_mode_set_generator(ig_ctx *c, struct ig_generator *g,
                           void (*destroy)(struct ig_generator *g));

#endif
