// SPDX-License-Identifier: Apache-2.0
// Values while a script runs.
//
// A register is an ig_value. Numbers, None, devices and generators stand in it directly; a tensor
// is a retained reference; everything else is an OBJECT that points to one of the reference-counted
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
  IG_SOBJ_KIND_COUNT
} ig_sobj_kind;

// Common head. `type` belongs to the unit's table; instances, enums, functions and host objects
// keep the unit alive, the others must not outlive it.
typedef struct ig_sobj {
  ig_sobj_kind kind;
  atomic_size_t refs;
  ig_alloc alloc;
  const ig_stype *type;
} ig_sobj;

typedef struct ig_sobj_str {
  ig_sobj head;
  size_t n;
  char text[];  // ends with a zero byte
} ig_sobj_str;

typedef struct ig_sobj_seq {  // LIST and TUPLE
  ig_sobj head;
  ig_value *at;
  size_t n;
  size_t cap;
} ig_sobj_seq;

typedef struct ig_sobj_instance {
  ig_sobj head;
  struct ig_sclass *cls;
  size_t n;  // attributes may be added to a module's class while it is built
  ig_value *at;
  void *host;  // the host's wrapper of this object, borrowed; NULL: none
} ig_sobj_instance;

typedef struct ig_sobj_enum {
  ig_sobj head;
  struct ig_senum *declaration;
  size_t member;
} ig_sobj_enum;

typedef struct ig_sobj_function {
  ig_sobj head;
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
ig_sobj_instance *ig_sobj_instance_make(ig_ctx *c, struct ig_sclass *cls);  // attributes: None
ig_sobj_enum *ig_sobj_enum_make(ig_ctx *c, struct ig_senum *declaration, size_t member);
ig_sobj_function *ig_sobj_function_make(ig_ctx *c, struct ig_sfunction *function);
ig_sobj_host *ig_sobj_host_make(ig_ctx *c, const ig_stype *type, const ig_shost_ops *ops,
                                void *object);

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
