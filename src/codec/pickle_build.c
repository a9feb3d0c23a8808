// SPDX-License-Identifier: Apache-2.0
// Pickle opcodes that build: containers, globals, calls. Opcodes that fill a container check its
// type; calls stay names with arguments.
#include <string.h>

#include "base/cause.h"
#include "codec/bits.h"
#include "codec/pickle_read.h"

#define BAD(u, ...) ig_unpickle_bad((u), IG_SYNTAX | IG_E_PICKLE, __VA_ARGS__)

enum { ITEMS_FIRST = 4, GLOBAL_MAX = 1000 };

static const char *text_of(const ig_pickle *p) {
  return ig_pickle_kind_text((ig_pickle_kind)p->kind);
}

// ---- containers

static bool no_memory(ig_unpickler *u) {
  (void)ig_fail(u->c, IG_NOMEM, "out of memory");
  return false;
}

static bool add_items(ig_unpickler *u, ig_pickle *p, ig_pickle *const *items, size_t n) {
  if (p->cap - p->n < n) {
    size_t cap = p->cap ? 2 * p->cap : ITEMS_FIRST;
    if (cap < p->n + n) cap = p->n + n;
    ig_pickle **more = ig_arena_array(u->arena, cap, sizeof *more);
    if (!more) return no_memory(u);
    if (p->n) memcpy(more, p->items, p->n * sizeof *more);
    p->items = more;
    p->cap = cap;
  }
  if (n) memcpy(p->items + p->n, items, n * sizeof *items);
  p->n += n;
  return true;
}

// A new container of the n topmost values, which are popped. dict: they are keys and values.
static bool gather(ig_unpickler *u, ig_pickle_kind kind, size_t n) {
  if (kind == IG_PICKLE_DICT && n % 2) return BAD(u, "a dictionary with a key without a value");
  ig_pickle *p = ig_unpickle_make(u, kind);
  if (!p) return false;
  if (n && !add_items(u, p, u->stack.at + (u->stack.n - n), n)) return false;
  u->stack.n -= n;
  return ig_unpickle_push(u, p);
}

// Ends the innermost mark; *n values are above it.
static bool end_mark(ig_unpickler *u, size_t *n) {
  if (!u->marks.n) return BAD(u, "there is no mark");
  *n = u->stack.n - u->marks.at[--u->marks.n];
  return true;
}

static bool marked(ig_unpickler *u, ig_pickle_kind kind) {
  size_t n = 0;
  return end_mark(u, &n) && gather(u, kind, n);
}

static bool op_mark(ig_unpickler *u) {
  return ig_vec_push(u->c->alloc, &u->marks, u->stack.n) || no_memory(u);
}
static bool op_empty_tuple(ig_unpickler *u) {
  return gather(u, IG_PICKLE_TUPLE, 0);
}
static bool op_empty_list(ig_unpickler *u) {
  return gather(u, IG_PICKLE_LIST, 0);
}
static bool op_empty_dict(ig_unpickler *u) {
  return gather(u, IG_PICKLE_DICT, 0);
}
static bool op_empty_set(ig_unpickler *u) {
  return gather(u, IG_PICKLE_SET, 0);
}
static bool op_tuple(ig_unpickler *u) {
  return marked(u, IG_PICKLE_TUPLE);
}
static bool op_list(ig_unpickler *u) {
  return marked(u, IG_PICKLE_LIST);
}
static bool op_dict(ig_unpickler *u) {
  return marked(u, IG_PICKLE_DICT);
}
static bool op_frozenset(ig_unpickler *u) {
  return marked(u, IG_PICKLE_SET);
}

static bool short_tuple(ig_unpickler *u, size_t n) {
  size_t floor = u->marks.n ? u->marks.at[u->marks.n - 1] : 0;
  if (u->stack.n - floor < n) return BAD(u, "the stack is empty");
  return gather(u, IG_PICKLE_TUPLE, n);
}
static bool op_tuple1(ig_unpickler *u) {
  return short_tuple(u, 1);
}
static bool op_tuple2(ig_unpickler *u) {
  return short_tuple(u, 2);
}
static bool op_tuple3(ig_unpickler *u) {
  return short_tuple(u, 3);
}

// Moves the n topmost values into the container below them.
static bool fill(ig_unpickler *u, ig_pickle_kind kind, size_t n) {
  size_t floor = u->marks.n ? u->marks.at[u->marks.n - 1] : 0;
  if (u->stack.n - floor < n + 1) return BAD(u, "the stack is empty");
  ig_pickle *into = u->stack.at[u->stack.n - n - 1];
  if (into->kind != kind) {
    return BAD(u, "items for %s, found %s", ig_pickle_kind_text(kind), text_of(into));
  }
  if (kind == IG_PICKLE_DICT && n % 2) return BAD(u, "a dictionary with a key without a value");
  if (!add_items(u, into, u->stack.at + (u->stack.n - n), n)) return false;
  u->stack.n -= n;
  return true;
}
static bool fill_marked(ig_unpickler *u, ig_pickle_kind kind) {
  size_t n = 0;
  return end_mark(u, &n) && fill(u, kind, n);
}
static bool op_append(ig_unpickler *u) {
  return fill(u, IG_PICKLE_LIST, 1);
}
static bool op_appends(ig_unpickler *u) {
  return fill_marked(u, IG_PICKLE_LIST);
}
static bool op_setitem(ig_unpickler *u) {
  return fill(u, IG_PICKLE_DICT, 2);
}
static bool op_setitems(ig_unpickler *u) {
  return fill_marked(u, IG_PICKLE_DICT);
}
static bool op_additems(ig_unpickler *u) {
  return fill_marked(u, IG_PICKLE_SET);
}

// POP takes the mark itself when nothing is above it.
static bool op_pop(ig_unpickler *u) {
  if (u->marks.n && u->stack.n == u->marks.at[u->marks.n - 1]) {
    u->marks.n--;
    return true;
  }
  return ig_unpickle_pop(u) != NULL;
}
static bool op_pop_mark(ig_unpickler *u) {
  size_t n = 0;
  if (!end_mark(u, &n)) return false;
  u->stack.n -= n;
  return true;
}
static bool op_dup(ig_unpickler *u) {
  return ig_unpickle_push(u, ig_unpickle_top(u));
}

// ---- globals

static bool push_global(ig_unpickler *u, ig_bytes module, ig_bytes name) {
  size_t n = module.n + 1 + name.n;
  if (module.n == 0 || name.n == 0 || n > GLOBAL_MAX) {
    return BAD(u, "a global with a name of %zu bytes in a module of %zu", name.n, module.n);
  }
  char text[GLOBAL_MAX + 1];
  memcpy(text, module.at, module.n);
  text[module.n] = '.';
  memcpy(text + module.n + 1, name.at, name.n);
  text[n] = 0;
  for (size_t i = 0; i < n; i++) {
    if ((uint8_t)text[i] <= ' ' || text[i] == 0x7F)
      return BAD(u, "a global with a space in its name");
  }
  if (ig_utf8_check((const uint8_t *)text, n) != n)
    return BAD(u, "a global whose name is not UTF-8");
  ig_pickle_rule rule = u->src->rule(text, u->src->user);
  if (rule == IG_PICKLE_REFUSED) {
    return ig_unpickle_bad(u, IG_UNSUPPORTED | IG_E_PICKLE_CLASS,
                           "global '%.200s' is not in the closed set of plain data and tensors; "
                           "nothing was executed",
                           text);
  }
  ig_pickle *p = ig_unpickle_text(u, IG_PICKLE_GLOBAL, text, n);
  if (p) p->rule = (uint8_t)rule;
  return ig_unpickle_push(u, p);
}

static bool op_global(ig_unpickler *u) {
  ig_bytes module = {0};
  ig_bytes name = {0};
  return ig_unpickle_line(u, &module) && ig_unpickle_line(u, &name) && push_global(u, module, name);
}

static bool op_stack_global(ig_unpickler *u) {
  const ig_pickle *name = ig_unpickle_pop(u);
  const ig_pickle *module = name ? ig_unpickle_pop(u) : NULL;
  if (!module) return false;
  if (name->kind != IG_PICKLE_STR || module->kind != IG_PICKLE_STR) {
    return BAD(u, "a global named by %s and %s", text_of(module), text_of(name));
  }
  return push_global(u, (ig_bytes){(const uint8_t *)module->text, module->n},
                     (ig_bytes){(const uint8_t *)name->text, name->n});
}

// ---- calls

// A dictionary of a class: made empty, from a list of pairs, or from another dictionary.
static bool push_map(ig_unpickler *u, ig_pickle *class, const ig_pickle *args) {
  ig_pickle *p = ig_unpickle_make(u, IG_PICKLE_DICT);
  if (!p) return false;
  p->global = class;
  const ig_pickle *from = args->n == 1 ? args->items[0] : NULL;
  bool dict = from && from->kind == IG_PICKLE_DICT;
  if (args->n && !dict && (!from || from->kind != IG_PICKLE_LIST)) {
    return BAD(u, "%s is made of %zu arguments, expected none or one list of pairs", class->text,
               args->n);
  }
  if (dict && !add_items(u, p, from->items, from->n)) return false;
  for (size_t i = 0; from && !dict && i < from->n; i++) {
    const ig_pickle *pair = from->items[i];
    if ((pair->kind != IG_PICKLE_LIST && pair->kind != IG_PICKLE_TUPLE) || pair->n != 2) {
      return BAD(u, "item %zu of %s is not a pair", i, class->text);
    }
    if (!add_items(u, p, pair->items, 2)) return false;
  }
  return ig_unpickle_push(u, p);
}

static bool push_call(ig_unpickler *u, ig_pickle_rule least) {
  ig_pickle *args = ig_unpickle_pop(u);
  ig_pickle *what = args ? ig_unpickle_pop(u) : NULL;
  if (!what) return false;
  if (what->kind != IG_PICKLE_GLOBAL) return BAD(u, "a call of %s", text_of(what));
  if (args->kind != IG_PICKLE_TUPLE && u->src->bare && what->rule == IG_PICKLE_CLASS) {
    ig_pickle *tuple = ig_unpickle_make(u, IG_PICKLE_TUPLE);
    if (!tuple || !add_items(u, tuple, &args, 1)) return false;
    args = tuple;
  }
  if (args->kind != IG_PICKLE_TUPLE) {
    return BAD(u, "arguments of '%.200s' are %s, expected a tuple", what->text, text_of(args));
  }
  if (what->rule < least) return BAD(u, "'%.200s' cannot be called like this", what->text);
  if (what->rule == IG_PICKLE_MAP) return push_map(u, what, args);
  ig_pickle *p = ig_unpickle_make(u, IG_PICKLE_CALL);
  if (!p) return false;
  p->global = what;
  p->args = args;
  p->rule = (uint8_t)least;
  return ig_unpickle_push(u, p);
}
static bool op_reduce(ig_unpickler *u) {
  return push_call(u, IG_PICKLE_CALLED);
}
static bool op_newobj(ig_unpickler *u) {
  return push_call(u, IG_PICKLE_CLASS);
}

static bool op_build(ig_unpickler *u) {
  ig_pickle *state = ig_unpickle_pop(u);
  ig_pickle *p = state ? ig_unpickle_top(u) : NULL;
  if (!p) return false;
  if (!p->global || p->global->rule < IG_PICKLE_CLASS) {
    return BAD(u, "BUILD gives a state to %s", p->global ? p->global->text : text_of(p));
  }
  if (p->state) return BAD(u, "BUILD gives a second state to '%.200s'", p->global->text);
  p->state = state;
  return true;
}

static bool op_binpersid(ig_unpickler *u) {
  ig_pickle *id = ig_unpickle_pop(u);
  ig_pickle *p = id ? ig_unpickle_make(u, IG_PICKLE_PERSID) : NULL;
  if (!p) return false;
  p->args = id;
  if (u->src->persid) u->src->persid(p, u->src->user);
  return ig_unpickle_push(u, p);
}

const ig_unpickle_step ig_unpickle_builders[256] = {
    ['('] = op_mark,       [')'] = op_empty_tuple,   [']'] = op_empty_list, ['}'] = op_empty_dict,
    [0x8f] = op_empty_set, ['t'] = op_tuple,         ['l'] = op_list,       ['d'] = op_dict,
    [0x91] = op_frozenset, [0x85] = op_tuple1,       [0x86] = op_tuple2,    [0x87] = op_tuple3,
    ['a'] = op_append,     ['e'] = op_appends,       ['s'] = op_setitem,    ['u'] = op_setitems,
    [0x90] = op_additems,  ['0'] = op_pop,           ['1'] = op_pop_mark,   ['2'] = op_dup,
    ['c'] = op_global,     [0x93] = op_stack_global, ['R'] = op_reduce,     [0x81] = op_newobj,
    ['b'] = op_build,      ['Q'] = op_binpersid,
};
