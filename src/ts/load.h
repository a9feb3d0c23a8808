// SPDX-License-Identifier: Apache-2.0
// From an opened archive to objects that run: its sources become the classes and functions of a
// compilation unit, whose bodies are compiled when they are first needed; its pickle becomes the
// module with everything in it.
#ifndef TS_LOAD_H_
#define TS_LOAD_H_

#include "script/compile.h"
#include "ts/archive.h"

// A class or function of the sources that was not looked at yet.
typedef struct ig_ts_definition {
  const char *qualified;
  const ig_tree *tree;
  const ig_stype *type;  // NULL: not made yet, or a function
  ig_sfunction *function;
  bool busy;
} ig_ts_definition;

// Everything lives in the unit's arena.
typedef struct ig_ts_loader {
  ig_ctx *c;
  ig_sunit *unit;
  ig_limits limits;
  int version;                    // of the archive: what its operators mean
  ig_ts_definition *definitions;  // sorted by name
  size_t n_definitions;
  bool declares;         // nothing may be run
  ig_sclass *constants;  // a class without attributes, whose constants are c0, c1 ...
  ig_sugar *upgraded;    // by row of the table; NULL: none yet
  ig_sfront front;
  size_t depth;
} ig_ts_loader;

// The root module, a new reference. NULL after an error. The archive may be freed afterwards.
// Methods __setstate__ of its classes are run.
ig_sobj_instance *ig_ts_load(ig_ctx *c, const ig_ts *ts);

// The root's class with the signatures of its methods; nothing is compiled or run. *unit keeps it.
// NULL after an error; the unit must be released all the same.
ig_sclass *ig_ts_declare(ig_ctx *c, const ig_ts *ts, ig_sunit **unit);

// Compiles all methods of the root, of what is in it, and everything that they call; nothing is
// run.
IG_MUST_USE ig_status ig_ts_check(ig_ctx *c, const ig_ts *ts);

// ---- between the files

// NULL without an error: the sources have no such type or function.
const ig_stype *ig_ts_loader_type(ig_ts_loader *l, const char *qualified);
ig_sfunction *ig_ts_loader_function(ig_ts_loader *l, const char *qualified);
// A literal of the sources as a new reference. False after an error.
bool ig_ts_loader_literal(ig_ts_loader *l, const ig_tree *t, const ig_stype *type, ig_value *out);
// What a name means outside of functions.
bool ig_ts_loader_resolve(ig_ctx *c, void *user, const char *name, ig_srange where, ig_sugar *out);
// The functions that stand for an operator which had another meaning in the archive's version;
// UNKNOWN: its meaning has not changed.
bool ig_ts_loader_upgrade(ig_ctx *c, void *user, const char *op, ig_sugar *out);

// Objects of pickles. Values are new references.
typedef struct ig_ts_objects {
  ig_ts_loader *l;
  ig_map made;   // address of an ig_object, as text -> ig_sobj: what is shared stays shared
  ig_map typed;  // the same -> position in `types` plus one: what is shared is looked at once
  IG_VEC(const ig_stype *) types;
  IG_VEC(ig_value) kept;  // what the map holds, until all is made
  ig_arena arena;
  size_t depth;
} ig_ts_objects;
ig_ts_objects ig_ts_objects_make(ig_ts_loader *l);
void ig_ts_objects_free(ig_ts_objects *o);
// type NULL: whatever the object is.
bool ig_ts_objects_value(ig_ts_objects *o, const ig_object *from, const ig_stype *type,
                         ig_value *out);

#endif
