// SPDX-License-Identifier: Apache-2.0
// What a call does beside computing: is it recorded, are results fake, is there a tape. One
// structure per context, so per thread. Everybody reads it (c->mode->fake); nobody writes it but
// the functions here. A scope changes some of the fields and puts just those back:
//
//   ig_mode_scope s = ig_mode_push(c, &(ig_mode_change){IG_MODE_FAKE, {.fake = true}});
//   ...
//   ig_mode_pop(c, &s);
//
// Scopes nest; builds with asserts stop at a scope that is popped out of order or never. What a
// user switches for good (torch.set_grad_enabled(False)) is set without a scope by ig_mode_set;
// the scope around it that changed the same field ends the switch as well.
#ifndef MODE_MODE_H_
#define MODE_MODE_H_

#include <assert.h>
#include <stdatomic.h>

#include "base/ctx.h"
#include "ingot/tensor.h"

typedef struct ig_mode_autocast {
  struct {
    bool on;
    int dtype;  // ig_dtype; -1: the usual one
  } at[2];      // on the CPU, elsewhere
} ig_mode_autocast;

// X(NAME, type, field): what a scope can change.
#define IG_MODE_LIST(X)                                                                          \
  X(CAPTURE, struct ig_graph *, capture)         /* not NULL: calls are recorded here */         \
  X(REWRITE, const struct ig_rewrite *, rewrite) /* asked first while recording */               \
  X(SYM, struct ig_sym *, sym)                   /* symbols of the open capture */               \
  X(AMBIENT, struct ig_sym *, ambient)     /* of the fake mode around it, retained; or NULL */   \
  X(RENEWAL, struct ig_renewal *, renewal) /* not NULL: unbacked symbols are taken from here */  \
  X(GIVEN, const struct ig_node *, given)  /* its call is made again, with the results it had */ \
  X(DRAFT, struct ig_draft *, draft)       /* not NULL: examples answer what only data can */    \
  X(WATCH, const struct ig_watch *, watch) /* told every value that a graph computes */          \
  X(FACE, struct ig_tape_entry *, face)    /* of the operator whose parts are recorded */        \
  X(GENERATOR, struct ig_generator *, generator) /* default one, made at first use */            \
  X(DEVICE, ig_device, device)                   /* where the host's factories put tensors */    \
  X(AUTOCAST, ig_mode_autocast, autocast)        /* the regions */                               \
  X(AUTOCASTS, bool, autocasts)                  /* one of them is open, and calls are cast */   \
  X(FAKE, bool, fake)                            /* results are fake whatever the operands */    \
  X(NO_GRAD, bool, no_grad)                      /* keep no tape */                              \
  X(INFERENCE, bool, inference)                  /* results never get history */

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
  // No scope changes the rest.
  unsigned depth;              // scopes that are open
  uint64_t clock;              // of tape entries and hooks
  const struct ig_host *host;  // objects of the host language: see ir/graph.h
  void *thread;                // what the host keeps for the thread of this context
  const atomic_int *dtype;     // the default one (ig_dtype), maybe that of many contexts
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
  return (ig_modes *)c->mode;  // const for everybody else
}

// Changes for good, or until the scope ends that changed the same fields.
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

// The usual changes.
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
