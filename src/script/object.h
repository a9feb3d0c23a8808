// SPDX-License-Identifier: Apache-2.0
// Values while a script runs.
//
// A register is an ig_value. Numbers, None, devices and generators stand in it directly; a tensor
// is a retained reference, and so is an object of the library's own classes (NATIVE, op/native.h);
// everything else is an OBJECT that points to one of the reference-counted
// objects below. dtypes, layouts and memory formats are integers, as in the language itself
// (IG_SCRIPT_* in numbers.h translate them). Lists, dicts and instances have identity: whoever
// holds a reference sees a change.
#ifndef SCRIPT_OBJECT_H_
#define SCRIPT_OBJECT_H_

#include <stdatomic.h>

#include "ingot/tensor.h"
#include "script/type.h"

typedef enum ig_sobj_kind {
  IG_SOBJ_STR,
  IG_SOBJ_LIST,
  IG_SOBJ_DICT,  // keeps the order of insertion
  IG_SOBJ_TUPLE,
  IG_SOBJ_INSTANCE,  // of a class or module
  IG_SOBJ_ENUM,      // a member of an enum
  IG_SOBJ_FUTURE,
  IG_SOBJ_FUNCTION,
  IG_SOBJ_HOST,  // an object of the host language
  IG_SOBJ_ROWS,  // a list whose length only the running program knows, see rows.h
  IG_SOBJ_KIND_COUNT
} ig_sobj_kind;

// Common head. `type` belongs to the unit's table; instances, enums, functions and host objects
// keep the unit alive, the others must not outlive it. Strings and functions have none.
typedef struct ig_sobj {
  ig_sobj_kind kind;
  atomic_size_t refs;
  ig_alloc alloc;
  union {
    const ig_stype *type;
    struct ig_sobj *next_dead;  // while it is freed
  };
  // While references are counted (collect.c): the next object that was met, the last one itself,
  // and the references that were found. Counting must not need memory, so it has room here.
  struct ig_sobj *next_met;
  size_t found;
} ig_sobj;

typedef struct ig_sobj_str {
  ig_sobj head;
  size_t n;
  char text[];  // ends with a zero byte
} ig_sobj_str;

typedef struct ig_sobj_seq {  // LIST, TUPLE and ROWS
  ig_sobj head;
  ig_value *at;
  size_t n;
  size_t cap;
  // ROWS: the elements, stacked if `piece` is 0, otherwise pieces of that size along `dim`. With
  // `lengths`, whole numbers in one dimension, they are pieces of these sizes.
  ig_tensor *rows;
  ig_tensor *lengths;
  int dim;
  ig_int piece;
} ig_sobj_seq;

// Keys are numbers, strings or tensors, which are compared by identity. Entries stand in the order
// of insertion; those that were removed leave a hole until the table is rebuilt.
typedef struct ig_sentry {
  ig_value key;
  ig_value value;
  uint64_t hash;
  bool live;
} ig_sentry;
typedef struct ig_sobj_dict {
  ig_sobj head;
  ig_sentry *at;
  size_t n;  // with holes
  size_t cap;
  size_t live;
  uint32_t *index;  // hash -> position plus one; 0: free
  size_t slots;     // 0 or a power of two
} ig_sobj_dict;

// Instances, enums and functions keep their unit, which knows all of them (collect.c).
typedef struct ig_sobj_link {
  ig_sobj *before;
  ig_sobj *behind;
} ig_sobj_link;

typedef struct ig_sobj_instance {
  ig_sobj head;
  ig_sobj_link link;
  struct ig_sclass *cls;
  size_t n;  // attributes may be added to a module's class while it is built
  ig_value *at;
  void *host;  // the host's wrapper of this object, borrowed; NULL: none
} ig_sobj_instance;

typedef struct ig_sobj_enum {
  ig_sobj head;
  ig_sobj_link link;
  struct ig_senum *declaration;
  size_t member;
} ig_sobj_enum;

// What a fork made. It ran when it was forked: the value is there, or the error that waiting
// raises.
typedef struct ig_sobj_future {
  ig_sobj head;
  ig_value value;
  ig_cause cause;  // IG_OK, or why the call failed
  char *error;     // its text then
} ig_sobj_future;

typedef struct ig_sobj_function {
  ig_sobj head;
  ig_sobj_link link;
  struct ig_sfunction *function;
} ig_sobj_function;

// What the host does with objects of its own.
typedef struct ig_shost_ops {
  void (*retain)(void *object);
  void (*release)(void *object);
} ig_shost_ops;
typedef struct ig_sobj_host {
  ig_sobj head;
  const ig_shost_ops *ops;
  void *object;
} ig_sobj_host;

// One more or one fewer reference to what a register holds; both take any value.
void ig_svalue_retain(ig_value v);
void ig_svalue_release(ig_value v);

// New objects with one reference; NULL after IG_NOMEM. Elements are retained by the new object.
ig_sobj_str *ig_sobj_str_make(ig_ctx *c, const char *text, size_t n);
ig_sobj_seq *ig_sobj_seq_make(ig_ctx *c, ig_sobj_kind kind, const ig_stype *type,
                              const ig_value *at, size_t n);
ig_sobj_dict *ig_sobj_dict_make(ig_ctx *c, const ig_stype *type);  // empty
ig_sobj_future *ig_sobj_future_make(ig_ctx *c, const ig_stype *type, ig_value value);
ig_sobj_instance *ig_sobj_instance_make(ig_ctx *c, struct ig_sclass *cls);  // attributes: None
ig_sobj_enum *ig_sobj_enum_make(ig_ctx *c, struct ig_senum *declaration, size_t member);
ig_sobj_function *ig_sobj_function_make(ig_ctx *c, struct ig_sfunction *function);
ig_sobj_host *ig_sobj_host_make(ig_ctx *c, const ig_stype *type, const ig_shost_ops *ops,
                                void *object);

// Lists. Room for n more elements; false after IG_NOMEM.
bool ig_sobj_seq_reserve(ig_ctx *c, ig_sobj_seq *s, size_t n);
bool ig_sobj_seq_push(ig_ctx *c, ig_sobj_seq *s, ig_value v);  // retains v

// May a list or dict hold the value? False after an error: it would contain itself, which reference
// counts do not survive, or be nested too deeply. Ask before a value is put into one that others
// can see.
bool ig_sobj_admits(ig_ctx *c, const ig_sobj *container, ig_value v);

// Dicts. NULL: the key is not there.
ig_sentry *ig_sobj_dict_find(const ig_sobj_dict *d, ig_value key);
// Adds an entry or replaces its value; retains both. False after IG_NOMEM.
bool ig_sobj_dict_put(ig_ctx *c, ig_sobj_dict *d, ig_value key, ig_value value);
void ig_sobj_dict_remove(ig_sobj_dict *d, ig_sentry *e);
void ig_sobj_dict_clear(ig_sobj_dict *d);
// The next live entry from position *i on, which moves behind it. NULL: that was the last one.
ig_sentry *ig_sobj_dict_next(const ig_sobj_dict *d, size_t *i);

// Sets an attribute; retains the value. False after IG_NOMEM.
bool ig_sobj_instance_set(ig_ctx *c, ig_sobj_instance *o, size_t i, ig_value v);
// The value, borrowed; None where a class got the attribute after the object was made.
ig_value ig_sobj_instance_get(const ig_sobj_instance *o, size_t i);

// Are two values the same as keys and elements: equal numbers and strings, the same object?
bool ig_svalue_same(ig_value a, ig_value b);

static inline ig_value ig_of_sobj(void *object) {
  return (ig_value){.kind = IG_KIND_OBJECT, .object = object};
}
static inline ig_sobj *ig_sobj_of(ig_value v) {
  return v.kind == IG_KIND_OBJECT ? v.object : NULL;
}
static inline bool ig_sobj_is(ig_value v, ig_sobj_kind kind) {
  const ig_sobj *o = ig_sobj_of(v);
  return o && o->kind == kind;
}

#endif
