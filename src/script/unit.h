// SPDX-License-Identifier: Apache-2.0
// A compilation unit: the functions, classes, enums and interfaces of scripts that know each other,
// with their types. Reference-counted, because objects of its classes outlive whoever compiled it.
#ifndef SCRIPT_UNIT_H_
#define SCRIPT_UNIT_H_

#include "base/map.h"
#include "script/ir.h"
#include "script/object.h"
#include "script/tree.h"

typedef struct ig_sunit ig_sunit;
typedef struct ig_sclass ig_sclass;
typedef struct ig_sfunction ig_sfunction;
typedef struct ig_scode ig_scode;  // what the interpreter runs

typedef struct ig_sparam {
  const char *name;
  const ig_stype *type;
  bool inferred;  // there was no annotation: a Tensor, printed as "Tensor (inferred)"
  bool keyword_only;
  int broadcast;  // BroadcastingList2[int]: a number stands for a list of that length; 0: not
  bool has_default;
  ig_value def;  // retained
} ig_sparam;

struct ig_sfunction {
  ig_sunit *unit;
  const char *name;       // "forward"
  const char *qualified;  // "__torch__.program.M.forward"
  ig_sclass *owner;       // of a method; NULL: a function
  ig_sparam *params;      // of a method: self is the first
  size_t n_params;
  const ig_stype *result;  // NULL: not known before the body is compiled
  ig_sgraph *graph;        // NULL: not compiled yet
  bool is_static;          // a method without self
  ig_sgraph *optimized;    // what calls of it are inlined as; NULL: not made yet
  bool compiling;          // a call now is recursive
  // Compiles the body when it is first needed. NULL: the graph is there.
  bool (*compile)(ig_ctx *c, ig_sfunction *f);
  void *user;
  // A function of the host, which runs it; graph is NULL then. args has n_params values; the result
  // is a new reference. A call of it is a node `^name`.
  bool (*host_run)(ig_ctx *c, ig_sfunction *f, const ig_value *args, ig_value *result);
  // What a call of it raises instead, because the function is not meant for scripts; NULL: nothing.
  const char *refusal;
  bool is_hook;         // a method that only calls of the module call, as a function
  const char *scalars;  // arguments of the host that are no parameters, as printed: "3.0, True"
  ig_scode *code;       // NULL: not made yet
  void (*free_code)(ig_scode *code);
};

typedef enum ig_srole { IG_SROLE_PLAIN, IG_SROLE_PARAMETER, IG_SROLE_BUFFER } ig_srole;

typedef struct ig_sattribute {
  const char *name;
  const ig_stype *type;
  ig_srole role;
} ig_sattribute;

typedef struct ig_sconstant {  // Final
  const char *name;
  const ig_stype *type;
  ig_value value;  // retained
} ig_sconstant;

typedef struct ig_sproperty {
  const char *name;
  ig_sfunction *get;
  ig_sfunction *set;  // NULL: none
} ig_sproperty;

// Modules that a script can iterate over. The loop is unrolled.
typedef enum ig_scontainer {
  IG_SCONTAINER_NONE,
  IG_SCONTAINER_LIST,  // ModuleList
  IG_SCONTAINER_SEQUENTIAL,
  IG_SCONTAINER_DICT,
  IG_SCONTAINER_PARAMETER_LIST,
  IG_SCONTAINER_PARAMETER_DICT,
} ig_scontainer;

struct ig_sclass {
  ig_sunit *unit;
  const ig_stype *type;  // IG_STYPE_CLASS, whose declaration is this
  bool module;
  IG_VEC(ig_sattribute) attributes;
  IG_VEC(ig_sconstant) constants;
  IG_VEC(ig_sfunction *) methods;
  IG_VEC(ig_sfunction *) statics;
  IG_VEC(ig_sproperty) properties;
  IG_VEC(ig_sfunction *) pre_hooks;  // of forward, in order; also among the methods
  IG_VEC(ig_sfunction *) hooks;
  ig_map attribute_index;  // name -> position plus one
  ig_map method_index;
  ig_scontainer container;
  const struct ig_sclass_host *host;  // NULL: no host answers for it
  void *host_user;
};

typedef struct ig_senum_member {
  const char *name;
  ig_value value;  // retained
} ig_senum_member;

typedef struct ig_senum {
  ig_sunit *unit;
  const ig_stype *type;  // IG_STYPE_ENUM, whose declaration is this
  const ig_stype *value_type;
  IG_VEC(ig_senum_member) members;
  void *host;  // its class in the host language, which the host keeps; NULL: none
} ig_senum;

typedef struct ig_sinterface {
  ig_sunit *unit;
  const ig_stype *type;  // IG_STYPE_INTERFACE, whose declaration is this
  bool module;
  IG_VEC(ig_sfunction *) methods;  // without bodies: parameters and result only
} ig_sinterface;

// Where a running script prints and warns; NULL: it is dropped.
typedef struct ig_sout {
  void (*print)(void *user, const char *text, size_t n);
  void (*warn)(ig_ctx *c, void *user, const char *text, const ig_snode *node);
  void *user;
} ig_sout;

// Runs of a context inside each other.
typedef struct ig_srunning {
  const ig_ctx *c;
  size_t depth;
} ig_srunning;

struct ig_sunit {
  ig_ctx *c;
  ig_sout out;
  ig_alloc alloc;
  atomic_size_t refs;
  ig_arena arena;  // names, trees, sources
  ig_stypes types;
  ig_map functions;  // qualified name -> ig_sfunction *
  IG_VEC(ig_sfunction *) all_functions;
  IG_VEC(ig_sclass *) classes;
  IG_VEC(ig_senum *) enums;
  IG_VEC(ig_sinterface *) interfaces;
  ig_map operators;      // "aten::add" -> struct ig_soperators *
  ig_map text_builtins;  // the same -> struct ig_stext_builtins *
  ig_map sources;        // of traced nodes: their text -> ig_source *
  // Contexts, and so threads, may use the unit at the same time: these belong to whoever has locked
  // it.
  atomic_flag busy;
  ig_sobj *objects;  // all that keep the unit, a list
  size_t n_objects;
  IG_VEC(ig_srunning) runs;
  size_t next_mangle;
  size_t next_warning;  // numbers of warnings in graphs
};

ig_sunit *ig_sunit_create(ig_ctx *c);  // NULL: out of memory
ig_sunit *ig_sunit_retain(ig_sunit *u);
void ig_sunit_release(ig_sunit *u);
// The same for an owner who lets the unit go: constants of the unit that keep it, and objects that
// refer to each other in circles, are freed with it unless somebody else still sees one of them.
void ig_sunit_close(ig_sunit *u);
ig_sobj *ig_sobj_behind(ig_sobj *o);  // the next one of the unit's list
void ig_sunit_lock(ig_sunit *u);
void ig_sunit_unlock(ig_sunit *u);
// One more run of the context; false after an error: too many are inside each other.
bool ig_sunit_enter(ig_ctx *c, ig_sunit *u);
void ig_sunit_leave(const ig_ctx *c, ig_sunit *u);

// All of these fail the context when out of memory and then give NULL. Names are copied.
ig_sclass *ig_sunit_add_class(ig_sunit *u, const char *qualified, bool module);
ig_senum *ig_sunit_add_enum(ig_sunit *u, const char *qualified, const ig_stype *value_type);
ig_sinterface *ig_sunit_add_interface(ig_sunit *u, const char *qualified, bool module);
// owner NULL: a function, found by its qualified name from now on.
ig_sfunction *ig_sunit_add_function(ig_sunit *u, ig_sclass *owner, const char *name,
                                    const char *qualified);
// A function that only nodes refer to: it has no qualified name.
ig_sfunction *ig_sunit_add_unnamed(ig_sunit *u, const char *name);
// A qualified name that no type and no function of the unit has: `__torch__.m.___torch_mangle_0.M`.
const char *ig_sunit_mangle(ig_sunit *u, const char *qualified);

bool ig_senum_add(ig_senum *e, const char *name, ig_value value);
// Positions; SIZE_MAX: out of memory.
size_t ig_sclass_add_attribute(ig_sclass *k, const char *name, const ig_stype *type, ig_srole role);
bool ig_sclass_add_constant(ig_sclass *k, const char *name, const ig_stype *type, ig_value value);

// NULL or SIZE_MAX: there is none.
ig_sfunction *ig_sunit_function(const ig_sunit *u, const char *qualified);
const ig_stype *ig_sunit_type(const ig_sunit *u, const char *qualified);
size_t ig_sclass_attribute(const ig_sclass *k, const char *name);
ig_sfunction *ig_sclass_method(const ig_sclass *k, const char *name);
const ig_sconstant *ig_sclass_constant(const ig_sclass *k, const char *name);
const ig_sproperty *ig_sclass_property(const ig_sclass *k, const char *name);

// The class of a type, NULL: it is of another kind.
ig_sclass *ig_sclass_of(const ig_stype *t);
ig_senum *ig_senum_of(const ig_stype *t);
ig_sinterface *ig_sinterface_of(const ig_stype *t);

// Functions of a built-in's name that are written as scripts themselves: `2 - x`. They are compiled
// when first asked for.
ig_sfunction *const *ig_sunit_text_builtins(ig_ctx *c, ig_sunit *u, const char *symbol, size_t *n);
const char *ig_sclass_short_name(const ig_sclass *k);  // "M"

// Makes sure that the graph is there. False after an error.
bool ig_sfunction_ensure(ig_ctx *c, ig_sfunction *f);

#endif
