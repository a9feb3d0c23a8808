// SPDX-License-Identifier: Apache-2.0
// Custom operators: the registry and dispatch.
//
// One map per process behind a lock. An operator is never freed before the process ends, since
// graphs point at it; its implementations are reference-counted, so that a replaced one is released
// when its last call has returned. Fields that change after publication are atomic.
#include "op/library.h"

#include <stdio.h>
#include <string.h>

#include "base/lock.h"
#include "op/call.h"
#include "op/draft.h"
#include "op/tape.h"

// An implementation: the registry has one reference, a running call another.
typedef struct impl {
  ig_ref ref;
  ig_impl is;
} impl;

struct ig_user_op {
  ig_op op;
  ig_op_def def;
  impl *impls[IG_IMPL_COUNT];      // guarded by the lock
  atomic_bool has[IG_IMPL_COUNT];  // the same without a lock
  unsigned tags;
  struct ig_user_op *older;
};

static struct {
  ig_lock lock;
  bool ready;
  ig_arena arena;
  ig_map by_name;
  struct ig_user_op *newest;
  unsigned count;
} users = {.lock = IG_LOCK_OPEN};

static struct ig_user_op *user_of(const ig_op *op) {
  return op->user;
}

static void impl_destroy(ig_ref *ref) {
  impl *i = (impl *)ref;
  if (i->is.release) i->is.release(i->is.user);
  ig_mem_free(ig_alloc_libc(), i, sizeof *i);
}

// ---- the registry ----

const ig_op *ig_library_overloads(const char *key) {
  ig_lock_take(&users.lock);
  const ig_map_value *slot = users.ready ? ig_map_find(&users.by_name, key) : NULL;
  const ig_op *op = slot ? slot->ptr : NULL;
  ig_lock_leave(&users.lock);
  return op;
}

static void prepare(void) {
  if (users.ready) return;
  users.arena = ig_arena_make(ig_alloc_libc());
  users.by_name = ig_map_make(ig_alloc_libc());
  users.ready = true;
}

static void classify(struct ig_user_op *u) {
  ig_op *op = &u->op;
  while (op->operands < op->schema.nargs && op->schema.args[op->operands].type == IG_TYPE_TENSOR &&
         !op->schema.args[op->operands].list) {
    op->operands++;
  }
  for (size_t i = 0; i < op->schema.nargs; i++) {
    const ig_arg *a = &op->schema.args[i];
    op->has_tensor_list = op->has_tensor_list || (a->list && a->type == IG_TYPE_TENSOR);
  }
}

static ig_status no_memory(ig_ctx *c) {
  return ig_fail(c, IG_NOMEM, "out of memory while an operator was defined");
}

// The schema is checked in a context's error state, so it is parsed before anything is changed.
static ig_status parse(ig_ctx *c, const char *text, struct ig_user_op **out) {
  struct ig_user_op *u = ig_arena_push(&users.arena, sizeof *u);
  char *copy = ig_arena_strn(&users.arena, text, strlen(text));
  if (!u || !copy) return no_memory(c);
  IG_RETURN_IF_ERR(ig_schema_parse(c, &users.arena, copy, &u->op.schema));
  const ig_schema *s = &u->op.schema;
  if (s->nargs > IG_MAX_ARGS || s->nrets > IG_MAX_RETURNS) {
    return ig_fail(c, IG_SYNTAX,
                   "schema \"%s\": found %zu arguments and %zu returns, expected at most %d and %d",
                   text, s->nargs, s->nrets, IG_MAX_ARGS, IG_MAX_RETURNS);
  }
  char name[256];
  int n = snprintf(name, sizeof name, "%s.%s.%s", s->ns, s->name, s->overload);
  if (n < 0 || (size_t)n >= sizeof name) return ig_fail(c, IG_SYNTAX, "the name is too long");
  u->op.target = ig_arena_strn(&users.arena, name, (size_t)n);
  if (!u->op.target) return no_memory(c);
  u->op.id = s->name;
  // The length of a list matters to those who implement it.
  for (size_t i = 0; i < s->nargs; i++) u->op.schema.args[i].any_length = true;
  u->op.def = &u->def;
  u->op.user = u;
  u->def.schema = copy;
  classify(u);
  *out = u;
  return IG_OK;
}

static ig_status publish(ig_ctx *c, struct ig_user_op *u, const ig_op *builtin) {
  char text[256];
  const ig_schema *s = &u->op.schema;
  int n = snprintf(text, sizeof text, "%s::%s", s->ns, s->name);
  if (builtin) {
    return ig_fail(c, IG_RUNTIME, "%s is a built-in operator; it takes no further overload", text);
  }
  const char *key = ig_arena_strn(&users.arena, text, (size_t)n);
  ig_map_value *slot = key ? ig_map_put(&users.by_name, key) : NULL;
  if (!slot) return no_memory(c);
  ig_op *last = NULL;
  for (ig_op *o = slot->ptr; o; o = (ig_op *)o->next) {
    if (strcmp(o->schema.overload, s->overload) == 0) {
      ig_fail_text(c, IG_RUNTIME,
                   "Tried to register an operator (%s) with the same name and overload name "
                   "multiple times. Each overload's schema should only be registered with a single "
                   "call to def().",
                   u->def.schema);
      return c->status;
    }
    last = o;
  }
  u->older = users.newest;
  users.newest = u;
  if (last) {
    last->next = &u->op;
  } else {
    slot->ptr = &u->op;
  }
  return IG_OK;
}

ig_status ig_library_define(ig_ctx *c, const char *schema, unsigned tags, const ig_op **out) {
  *out = NULL;
  const ig_lib *lib = ig_lib_get(c);
  if (c->status != IG_OK || !lib) return c->status;
  ig_lock_take(&users.lock);
  prepare();
  struct ig_user_op *u = NULL;
  ig_status st = parse(c, schema, &u);
  if (st == IG_OK) {
    char text[256];
    (void)snprintf(text, sizeof text, "%s::%s", u->op.schema.ns, u->op.schema.name);
    const ig_map_value *slot = ig_map_find(&lib->by_name, text);
    u->tags = tags;
    u->op.number = (unsigned)lib->n + users.count;
    st = publish(c, u, slot ? slot->ptr : NULL);
  }
  if (st == IG_OK) {
    users.count++;
    *out = &u->op;
  }
  ig_lock_leave(&users.lock);
  return st;
}

static void set_impl(struct ig_user_op *u, ig_impl_kind kind, impl *i) {
  ig_lock_take(&users.lock);
  impl *old = u->impls[kind];
  u->impls[kind] = i;
  atomic_store(&u->has[kind], i != NULL);
  if (kind == IG_IMPL_COMPOSITE) {
    u->op.composite = i != NULL;
    u->op.facts = i ? IG_FACT_IMPLICIT : 0;
  }
  ig_lock_leave(&users.lock);
  if (old) ig_ref_release(&old->ref);
}

void ig_library_undefine(const ig_op *op) {
  struct ig_user_op *u = user_of(op);
  if (!u) return;
  char key[256];
  (void)snprintf(key, sizeof key, "%s::%s", op->schema.ns, op->schema.name);
  ig_lock_take(&users.lock);
  ig_map_value *slot = ig_map_find(&users.by_name, key);
  // A concurrent reader at op continues with its successor.
  if (slot && slot->ptr == op) {
    slot->ptr = (void *)op->next;
  } else {
    for (ig_op *o = slot ? slot->ptr : NULL; o; o = (ig_op *)o->next) {
      if (o->next == op) o->next = op->next;
    }
  }
  ig_lock_leave(&users.lock);
  for (int k = 0; k < IG_IMPL_COUNT; k++) set_impl(u, (ig_impl_kind)k, NULL);
}

ig_status ig_library_implement(ig_ctx *c, const ig_op *op, ig_impl_kind kind, const ig_impl *is) {
  impl *i = user_of(op) && c->status == IG_OK ? ig_mem_new(ig_alloc_libc(), sizeof *i) : NULL;
  if (!i) {
    if (is->release) is->release(is->user);
    if (user_of(op)) return no_memory(c);
    return ig_fail(c, IG_INVALID, "%s is a built-in operator; its implementation does not change",
                   op->target);
  }
  *i = (impl){.ref = {.count = 1, .destroy = impl_destroy}, .is = *is};
  set_impl(user_of(op), kind, i);
  return IG_OK;
}

bool ig_library_has(const ig_op *op, ig_impl_kind kind) {
  return user_of(op) && atomic_load(&user_of(op)->has[kind]);
}

bool ig_op_is_user(const ig_op *op) {
  return op->user != NULL;
}

unsigned ig_op_tags(const ig_op *op) {
  return op->user ? op->user->tags : 0;
}

bool ig_op_mutates(const ig_op *op) {
  for (size_t i = 0; i < op->schema.nargs; i++) {
    if (op->schema.args[i].written) return true;
  }
  return false;
}

const char *ig_tag_text(ig_tag tag) {
  static const char *const texts[] = {
      "core",
      "data_dependent_output",
      "dynamic_output_shape",
      "flexible_layout",
      "generated",
      "inplace_view",
      "maybe_aliasing_or_mutating",
      "needs_fixed_stride_order",
      "nondeterministic_bitwise",
      "nondeterministic_seeded",
      "pointwise",
      "pt2_compliant_tag",
      "view_copy",
  };
  return (size_t)tag < IG_TAG_COUNT ? texts[tag] : "";
}

// For leak checkers, at the end of the process. The host no longer exists: nothing is released
// through it.
__attribute__((destructor)) static void at_end(void) {
  if (!users.ready) return;
  for (struct ig_user_op *u = users.newest; u; u = u->older) {
    for (int k = 0; k < IG_IMPL_COUNT; k++) {
      ig_mem_free(ig_alloc_libc(), u->impls[k], sizeof *u->impls[k]);
    }
  }
  ig_map_free(&users.by_name);
  ig_arena_free(&users.arena);
  users.ready = false;
}

// ---- calling ----

static bool fits(const ig_arg *r, const ig_value *v) {
  if (r->type != IG_TYPE_TENSOR) return true;
  if (!r->list) return v->kind == IG_KIND_TENSOR || (r->optional && v->kind == IG_KIND_NONE);
  return v->kind == IG_KIND_LIST || (v->kind == IG_KIND_INTS && v->ints.n == 0);
}

static void check_results(ig_ctx *c, const ig_op *op, const ig_value *outs) {
  for (size_t i = 0; i < op->schema.nrets && c->status == IG_OK; i++) {
    if (fits(&op->schema.rets[i], &outs[i])) continue;
    (void)ig_fail(c, IG_BAD_TYPE, "result %zu: expected %s", i,
                  op->schema.rets[i].list ? "a list of Tensors" : "a Tensor");
  }
}

bool ig_library_call(ig_ctx *c, const ig_op *op, ig_impl_kind kind, const ig_value *args,
                     ig_value *outs) {
  struct ig_user_op *u = user_of(op);
  if (!u || !atomic_load(&u->has[kind])) return false;
  ig_lock_take(&users.lock);
  impl *i = u->impls[kind];
  if (i) ig_ref_retain(&i->ref);
  ig_lock_leave(&users.lock);
  if (!i) return false;
  ig_scope s = ig_scope_open(c);
  i->is.fn(c, op, args, outs, i->is.user);
  if (c->status == IG_OK) check_results(c, op, outs);
  ig_return_values(c, s, outs, op->schema.nrets);
  ig_ref_release(&i->ref);
  return true;
}

static bool is_fake(const ig_value *v) {
  if (v->kind == IG_KIND_TENSOR) {
    return ig_is_fake(v->tensor) || v->tensor->device.type == IG_DEVICE_META;
  }
  for (size_t i = 0; v->kind == IG_KIND_LIST && i < v->list.n; i++) {
    if (is_fake(&v->list.at[i])) return true;
  }
  return false;
}

static bool wants_fake(const ig_ctx *c, const ig_op *op, const ig_value *args) {
  bool fake = c->mode->fake;
  for (size_t i = 0; i < op->schema.nargs && !fake; i++) fake = is_fake(&args[i]);
  return fake;
}

static void missing(ig_ctx *c, const ig_op *op, bool fake) {
  const ig_schema *s = &op->schema;
  if (fake && !c->mode->fake && !c->mode->capture) {
    ig_fail_text(c, IG_UNSUPPORTED,
                 "%s::%s: attempted to run this operator with Meta tensors, but there was no fake "
                 "impl or Meta kernel registered. You may have run into this message while using "
                 "an operator with PT2 compilation APIs (torch.compile/torch.export); in order to "
                 "use this operator with those APIs you'll need to add a fake impl: "
                 "torch.library.register_fake(\"%s::%s\").",
                 s->ns, s->name, s->ns, s->name);
  } else if (fake) {
    ig_fail_text(c, IG_UNSUPPORTED,
                 "There was no fake impl registered for %s::%s. Operators that are captured or "
                 "called on fake tensors need one: torch.library.register_fake(\"%s::%s\").",
                 s->ns, s->name, s->ns, s->name);
  } else {
    ig_fail_text(c, IG_UNSUPPORTED,
                 "Could not run '%s::%s' with arguments from the 'CPU' backend. This could be "
                 "because the operator doesn't exist for this backend: no kernel is registered. "
                 "torch.library.impl(\"%s::%s\", \"cpu\") registers one.",
                 s->ns, s->name, s->ns, s->name);
  }
}

void ig_library_run(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  if (ig_library_has(op, IG_IMPL_AUTOGRAD) && ig_tape_wanted(c, op, args)) {
    if (ig_library_call(c, op, IG_IMPL_AUTOGRAD, args, outs)) return;
  }
  bool fake = wants_fake(c, op, args);
  ig_impl_kind kind = fake ? IG_IMPL_FAKE : IG_IMPL_KERNEL;
  if (!ig_library_has(op, kind)) {
    if (ig_library_call(c, op, IG_IMPL_COMPOSITE, args, outs)) return;
    if (fake && ig_draft_invent(c, op, args, outs)) return;
    if (fake && ig_library_call(c, op, IG_IMPL_ABSENT, args, outs)) return;
    if (c->status == IG_OK) missing(c, op, fake);
    return;
  }
  ig_mode_scope mode = ig_mode_push_grad(c, false);
  if (!ig_library_call(c, op, kind, args, outs)) missing(c, op, fake);
  ig_mode_pop(c, &mode);
}
