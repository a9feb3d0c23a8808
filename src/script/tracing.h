// SPDX-License-Identifier: Apache-2.0
// Inside of the tracer: shared by trace.c (recording) and trace_scope.c (modules).
#ifndef SCRIPT_TRACING_H_
#define SCRIPT_TRACING_H_

#include "op/call.h"
#include "script/trace.h"

// The value of a tensor, which is retained so that its address stays its own.
typedef struct ig_straced {
  ig_tensor *tensor;
  ig_svalue *value;
} ig_straced;

typedef struct ig_sheld {
  const void *object;
  ig_svalue *value;
} ig_sheld;

struct ig_strace {
  ig_ctx *c;
  ig_sunit *u;
  ig_sgraph *g;
  ig_strace_host host;
  bool strict;
  bool open;
  ig_rewrite tracer;
  ig_mode_scope mode;
  ig_straced *table;  // open addressing
  size_t n;
  size_t cap;
  ig_sblock *block;   // nodes go to its end
  const char *scope;  // "__module.a/__module.a.b"; NULL: none
  bool in_call;       // one call is recorded: all of its nodes have one place,
  bool is_placed;     // which is asked for once
  ig_srange place;
  ig_sclass *self;             // of the traced module; NULL: a function is traced
  IG_VEC(ig_sgraph *) graphs;  // of module calls, until they are methods
  IG_VEC(ig_sheld) objects;    // modules inside of it
  ig_map attributes;           // "__module.fc.weight" -> value of its prim::TracedAttr
};

// False: the graph was taken already, which is an error.
bool ig_strace_is_open(ig_strace *t);
// The value of a tensor that has none yet.
bool ig_strace_set_first(ig_strace *t, ig_tensor *x, ig_svalue *v);

// Where an integer of the program comes from. Symbolic integers have an expression, these have
// none.
typedef struct ig_sorigin {
  ig_origin head;
  ig_svalue *value;
} ig_sorigin;
static inline ig_svalue *ig_sorigin_of(ig_int i) {
  return i.origin && !i.expr ? ((const ig_sorigin *)(const void *)i.origin)->value : NULL;
}

// Calls are not traced until the scope is popped.
static inline ig_mode_scope ig_strace_pause(ig_ctx *c) {
  return ig_mode_push(c, &(ig_mode_change){IG_MODE_REWRITE, {.rewrite = NULL}});
}

// The value of a module inside the traced one; NULL: it is none.
ig_svalue *ig_strace_object(const ig_strace *t, const void *object);

// trace_scope.c: prim::TracedAttr and prim::TracedModuleForward become attributes and method calls.
bool ig_strace_lower_scopes(ig_strace *t);

#endif
