// SPDX-License-Identifier: Apache-2.0
// The operator library: records and derived forms, parsed once per process, then immutable.
#include <stdio.h>
#include <string.h>

#include "base/lock.h"
#include "op/call.h"
#include "op/each.h"
#include "op/library.h"
#include "op/op.h"

#define X(id, facts, backward, any, empty) extern const ig_op_def ig_def_##id;
#define D(id, schema, facts, backward, any, empty, base, form)
#include "op_list.inc"
#undef X
#undef D

// Positions in the library, in the order of ingot/aten.h.
enum {
#define X(id, facts, backward, any, empty) AT_##id,
#define D(id, schema, facts, backward, any, empty, base, form) AT_##id,
#include "op_list.inc"
#undef X
#undef D
  COUNT
};

typedef struct entry {
  const char *id;
  const ig_op_def *def;
  const char *schema;  // derived forms; records have their own
  unsigned facts;
  int backward;
  uint64_t any_length;    // by argument, as ig_arg.any_length
  uint64_t may_be_empty;  // by argument
  ig_form form;
  int base;
} entry;

static const entry entries[] = {
#define X(id, facts, backward, any, empty) \
  {#id, &ig_def_##id, NULL, facts, backward, any, empty, IG_FORM_PLAIN, -1},
#define D(id, schema, facts, backward, any, empty, base, form) \
  {#id, &ig_def_##base, schema, facts, backward, any, empty, form, AT_##base},
#include "op_list.inc"
#undef X
#undef D
};

static ig_lock lock = IG_LOCK_OPEN;
static ig_lib library;
static _Atomic(const ig_lib *) loaded;

static ig_status no_memory(ig_ctx *c) {
  return ig_fail(c, IG_NOMEM, "out of memory while loading operators");
}

static int order_of(const ig_op *op) {
  return op->base ? 0 : op->def->order;
}

// Overloads of a name are chained by .order, then in order of their ids.
static ig_status publish(ig_ctx *c, ig_lib *lib, ig_op *op) {
  char text[160];
  const ig_schema *s = &op->schema;
  int n = snprintf(text, sizeof text, "%s.%s.%s", s->ns, s->name, s->overload);
  op->target = ig_arena_strn(&lib->arena, text, (size_t)n);
  n = snprintf(text, sizeof text, "%s::%s", s->ns, s->name);
  const char *key = ig_arena_strn(&lib->arena, text, (size_t)n);
  ig_map_value *slot = key ? ig_map_put(&lib->by_name, key) : NULL;
  if (!op->target || !slot) return no_memory(c);
  ig_op *before = slot->ptr;
  if (!before || order_of(op) < order_of(before)) {
    op->next = before;
    slot->ptr = op;
    return IG_OK;
  }
  const ig_op *next = before->next;
  while (next && order_of(next) <= order_of(op)) {
    before = (ig_op *)next;
    next = before->next;
  }
  op->next = next;
  before->next = op;
  return IG_OK;
}

// ".keep" names -> bit mask. The list is short and read once.
static ig_status parse_keep(ig_ctx *c, ig_op *op) {
  const char *p = op->def->keep;
  op->keep = p ? 0 : UINT64_MAX;
  op->keep_outs = p ? 0 : UINT32_MAX;
  while (p && *p) {
    size_t n = strcspn(p, ", ");
    bool found = false;
    for (size_t i = 0; i < op->schema.nargs; i++) {
      const char *name = op->schema.args[i].name;
      if (strlen(name) != n || strncmp(name, p, n) != 0) continue;
      op->keep |= UINT64_C(1) << i;
      found = true;
    }
    if (strncmp(p, "result", 6) == 0 && n <= 7) {
      op->keep_outs |= n == 7 ? 1U << (p[6] - '0') : UINT32_MAX;
      found = true;
    }
    if (!found) return ig_fail(c, IG_SYNTAX, "%s: .keep names \"%.*s\"", op->id, (int)n, p);
    p += n;
    p += strspn(p, ", ");
  }
  return IG_OK;
}

static void classify(ig_op *op) {
  const ig_op_def *d = op->def;
  for (int t = 0; t < IG_DTYPE_COUNT; t++) op->pointwise = op->pointwise || d->tile[t];
  op->composite =
      ig_op_has_decomposition(op) && !op->pointwise && !ig_op_has_kernel(op) && !d->view;
  op->operands = d->operands;
  while (d->operands == 0 && op->operands < op->schema.nargs &&
         op->schema.args[op->operands].type == IG_TYPE_TENSOR &&
         !op->schema.args[op->operands].list) {
    op->operands++;
  }
  for (size_t i = 0; i < op->schema.nargs; i++) {
    const ig_arg *a = &op->schema.args[i];
    op->has_tensor_list = op->has_tensor_list || (a->list && a->type == IG_TYPE_TENSOR);
  }
}

static ig_status load_entry(ig_ctx *c, ig_lib *lib, size_t i) {
  const entry *e = &entries[i];
  ig_op *op = &lib->ops[i];
  *op = (ig_op){.def = e->def, .id = e->id, .form = e->form, .facts = e->facts};
  op->number = (unsigned)i;
  op->backward = e->backward;
  const char *text = e->schema ? e->schema : e->def->schema;
  IG_RETURN_IF_ERR(ig_schema_parse(c, &lib->arena, text, &op->schema));
  if (op->schema.nargs > IG_MAX_ARGS || op->schema.nrets > IG_MAX_RETURNS) {
    return ig_fail(c, IG_SYNTAX, "%s: too many arguments or returns", e->id);
  }
  for (size_t k = 0; k < op->schema.nargs; k++) {
    op->schema.args[k].any_length = e->any_length >> k & 1;
    op->schema.args[k].may_be_empty = e->may_be_empty >> k & 1;
  }
  classify(op);
  if (e->base >= 0) {
    ig_op *base = &lib->ops[e->base];
    op->base = base;
    op->operands = base->operands;
    *(e->form == IG_FORM_INPLACE ? &base->inplace : &base->out) = op;
  } else if (op->schema.nargs && op->schema.args[0].written) {
    op->form =
        IG_FORM_INPLACE;  // an own record: the functional form has another name, or there is none
  }
  if (e->base < 0) IG_RETURN_IF_ERR(parse_keep(c, op));
  return publish(c, lib, op);
}

// Elements of lists go through the form of .each that the operator has itself.
static ig_status find_each(ig_ctx *c, ig_lib *lib, ig_op *op) {
  const char *name = op->def->each;
  for (size_t i = 0; name && i < COUNT && !op->each; i++) {
    const ig_op *found = &lib->ops[i];
    const ig_schema *s = &found->schema;
    size_t n = strcspn(s->text, "(");
    if (strlen(name) != n || strncmp(s->text, name, n) != 0) continue;
    op->each = op->form == IG_FORM_INPLACE ? found->inplace
               : op->form == IG_FORM_OUT   ? found->out
                                           : found;
  }
  if (name && !op->each) return ig_fail(c, IG_SYNTAX, "%s: .each names \"%s\"", op->id, name);
  return IG_OK;
}

static ig_status load(ig_ctx *c, ig_lib *lib) {
  // The library outlives every context, so it takes memory from the C library.
  lib->arena = ig_arena_make(ig_alloc_libc());
  lib->by_name = ig_map_make(ig_alloc_libc());
  lib->ops = ig_arena_array(&lib->arena, COUNT, sizeof *lib->ops);
  if (!lib->ops) return no_memory(c);
  for (size_t i = 0; i < COUNT; i++) IG_RETURN_IF_ERR(load_entry(c, lib, i));
  for (size_t i = 0; i < COUNT; i++) IG_RETURN_IF_ERR(find_each(c, lib, &lib->ops[i]));
  lib->n = COUNT;
  return IG_OK;
}

static void unload(ig_lib *lib) {
  ig_map_free(&lib->by_name);
  ig_arena_free(&lib->arena);
  *lib = (ig_lib){0};
}

const ig_lib *ig_lib_get(ig_ctx *c) {
  const ig_lib *lib = atomic_load_explicit(&loaded, memory_order_acquire);
  if (lib) return lib;
  if (c->status != IG_OK) return NULL;
  ig_lock_take(&lock);
  if (!atomic_load(&loaded)) {
    if (load(c, &library) == IG_OK) {
      atomic_store_explicit(&loaded, &library, memory_order_release);
    } else {
      unload(&library);
    }
  }
  ig_lock_leave(&lock);
  return atomic_load(&loaded);
}

// For leak checkers: frees the library at the end of the process.
__attribute__((destructor)) static void at_end(void) {
  if (atomic_exchange(&loaded, NULL)) unload(&library);
}

const ig_op *ig_lib_overloads(ig_ctx *c, const char *ns, const char *name) {
  const ig_lib *lib = ig_lib_get(c);
  char key[160];
  int n = snprintf(key, sizeof key, "%s::%s", ns ? ns : "aten", name);
  if (!lib || n < 0 || (size_t)n >= sizeof key) return NULL;
  ig_map_value *slot = ig_map_find(&lib->by_name, key);
  return slot ? slot->ptr : ig_library_overloads(key);
}

// "aten::add.Tensor", "aten.add.Tensor", "add.Tensor"? The namespace is everything before :: or,
// when there are two dots, before the first.
const ig_op *ig_op_find(ig_ctx *c, const char *full) {
  char text[160];
  int n = snprintf(text, sizeof text, "%s", full);
  if (n < 0 || (size_t)n >= sizeof text) return NULL;
  char *ns = NULL;
  char *name = text;
  char *colon = strstr(text, "::");
  char *dot = strchr(text, '.');
  if (colon) {
    ns = text;
    *colon = 0;
    name = colon + 2;
  } else if (dot && strchr(dot + 1, '.')) {
    ns = text;
    *dot = 0;
    name = dot + 1;
  }
  char *overload = strchr(name, '.');
  if (overload) *overload++ = 0;
  const ig_op *op = ig_lib_overloads(c, ns, name);
  while (op && strcmp(op->schema.overload, overload ? overload : "default") != 0) op = op->next;
  return op;
}

bool ig_op_is_name(ig_ctx *c, const char *name) {
  return ig_lib_overloads(c, NULL, name) != NULL;
}

size_t ig_op_count(ig_ctx *c) {
  const ig_lib *lib = ig_lib_get(c);
  return lib ? lib->n : 0;
}

const ig_op *ig_op_at(ig_ctx *c, size_t i) {
  const ig_lib *lib = ig_lib_get(c);
  return lib && i < lib->n ? &lib->ops[i] : NULL;
}

const char *ig_op_target(const ig_op *op) {
  return op->target;
}

const char *ig_op_schema(const ig_op *op) {
  return op->schema.text;
}

size_t ig_op_returns(const ig_op *op) {
  return op->schema.nrets;
}

// A call of a program that is rewritten has not been checked yet, and the program may come from a
// file. Composite operators have no rule but their formula; rules that make symbols for sizes in
// the data would make others than the call has.
static bool is_rewritable(ig_ctx *c, const ig_op *op, const ig_value *args) {
  bool checked = !c->mode->capture || c->mode->given || op->composite || !op->def->shape ||
                 op->def->fake || op->each;
  return checked || ig_check_call(c, op, args);
}

void ig_op_decompose(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  if (!is_rewritable(c, op, args)) return;
  if (op->user) {
    (void)ig_library_call(c, op, IG_IMPL_COMPOSITE, args, outs);
  } else if (op->each) {
    ig_run_each(c, op, args, outs);
  } else if (op->def->decompose_outs) {
    op->def->decompose_outs(c, args, outs);
  } else {
    outs[0] = ig_of_tensor(op->def->decompose(c, args));
  }
}

void ig_op_lower(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  bool own = op->def->lower_outs || op->def->lower;
  if (own && !is_rewritable(c, op, args)) return;
  if (op->def->lower_outs) {
    op->def->lower_outs(c, args, outs);
  } else if (op->def->lower) {
    outs[0] = ig_of_tensor(op->def->lower(c, args));
  } else {
    ig_op_decompose(c, op, args, outs);
  }
}
