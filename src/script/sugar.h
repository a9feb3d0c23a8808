// SPDX-License-Identifier: Apache-2.0
// What an expression can stand for while a script is compiled: a value of the graph, or something
// that exists only then, like a function, a class or a module of the host.
#ifndef SCRIPT_SUGAR_H_
#define SCRIPT_SUGAR_H_

#include "script/unit.h"

typedef enum ig_sugar_kind {
  IG_SUGAR_UNKNOWN,    // nothing has this name
  IG_SUGAR_VALUE,      // a value of the graph
  IG_SUGAR_CONSTANT,   // a constant that becomes a value where it is used
  IG_SUGAR_TUPLE,      // several of these
  IG_SUGAR_DICT,       // keys (strings) with several of these: ModuleDict, named_children()
  IG_SUGAR_BUILTIN,    // the operator of a name: torch.relu, x.relu
  IG_SUGAR_SPECIAL,    // a function with rules of its own
  IG_SUGAR_CAST,       // int(x)
  IG_SUGAR_FUNCTION,   // functions, overloads of one name
  IG_SUGAR_METHOD,     // a method of a value
  IG_SUGAR_CLASS,      // a class, enum, named tuple or interface as such
  IG_SUGAR_NAMESPACE,  // torch, torch.nn.functional, torch.ops.aten: of the language itself
  IG_SUGAR_HOST,       // an object of the host that only the host can look into: a Python module
  IG_SUGAR_EXCEPTION,  // an exception class
  IG_SUGAR_RAISED,     // an exception with its message
  IG_SUGAR_RANGE,      // range(...)
  IG_SUGAR_ITERABLES,  // zip, enumerate
  IG_SUGAR_SLICE,      // a slice object
  IG_SUGAR_TO_LIST,    // x.tolist, whose result has the type that is expected
  IG_SUGAR_CONTAINER_METHOD,  // keys, values, items of a container of modules
  IG_SUGAR_DISPATCH,  // one of two, which a constant argument chooses: max_pool2d's return_indices
  IG_SUGAR_CLOSURE,   // a function inside of a function of an archive, for fork
  IG_SUGAR_KIND_COUNT
} ig_sugar_kind;

typedef enum ig_special {
  IG_SPECIAL_ISINSTANCE,
  IG_SPECIAL_ANNOTATE,        // torch.jit.annotate, annotate of archives
  IG_SPECIAL_UNINITIALIZED,   // of archives
  IG_SPECIAL_UNCHECKED_CAST,  // torch.jit._unwrap_optional and unchecked_cast of archives
  IG_SPECIAL_GETATTR,
  IG_SPECIAL_HASATTR,
  IG_SPECIAL_FORK,
  IG_SPECIAL_NEW,           // C.__new__(C) of archives: an object without attributes yet
  IG_SPECIAL_IS_SCRIPTING,  // True here
  IG_SPECIAL_IS_TRACING,    // False here
  IG_SPECIAL_PRINT,
  IG_SPECIAL_TUPLE,  // tuple(...)
  IG_SPECIAL_LIST,   // list(...)
  IG_SPECIAL_DICT,   // dict(...)
  IG_SPECIAL_RANGE,
  IG_SPECIAL_ZIP,
  IG_SPECIAL_ENUMERATE,
  IG_SPECIAL_LEN,
  IG_SPECIAL_MIN,
  IG_SPECIAL_MAX,
  IG_SPECIAL_COUNT
} ig_special;

typedef struct ig_sugar ig_sugar;

// Objects of the host while a script is compiled. The host keeps them alive until its unit goes.
typedef struct ig_sugar_host_ops {
  // What object.name is. UNKNOWN without an error: it has no such attribute.
  bool (*attr)(ig_ctx *c, void *object, const char *name, ig_srange where, ig_sugar *out);
  // Text for messages: "python value of type 'int'".
  void (*describe)(void *object, ig_str *s);
  // The error when it is used as a value; NULL: the general one.
  void (*explain)(void *object, ig_str *s);
} ig_sugar_host_ops;

struct ig_sugar {
  ig_sugar_kind kind;
  union {
    ig_svalue *value;
    struct {
      ig_value constant;  // borrowed from whoever keeps it as long as the unit
      const ig_stype *constant_type;
    };
    struct {
      ig_sugar *at;             // in the arena of the compilation
      const char *const *keys;  // DICT only
      size_t n;
      ig_svalue *module;  // of a module container: the container itself; NULL: none
    } items;
    struct {
      const char *symbol;  // "aten::relu"
      ig_svalue *self;     // NULL: a function
      int dtype;           // not 0: x.half(); the dtype plus one
    } builtin;
    struct {
      const ig_sugar *of;
      const char *name;
    } container;
    ig_special special;
    struct {
      const char *symbol;  // "aten::Int"
      const char *method;  // "__int__"
      const ig_stype *cast_type;
    } cast;
    struct {
      ig_sfunction *const *functions;
      size_t n_functions;
      const char *older_of;  // "aten::div": the functions stand for some of its overloads, in their
                             // older meaning; NULL: they stand for themselves
    };
    struct {
      ig_svalue *self;
      const char *const *names;  // overloads
      size_t n_names;
    } method;
    struct {
      const char *param;
      size_t at;       // of the parameter
      bool otherwise;  // its default
      const ig_sugar *yes;
      const ig_sugar *no;
    } dispatch;
    const ig_stype *type;    // CLASS
    const ig_tree *closure;  // CLOSURE: its DEF
    const char *name;  // NAMESPACE ("torch", "torch.ops.aten"), EXCEPTION ("builtins.ValueError")
    struct {
      const char *exception;
      ig_svalue *message;  // NULL: none
    } raised;
    struct {
      const ig_sugar_host_ops *ops;
      void *object;
    } host;
    struct {
      ig_svalue *start;  // NULL: 0
      ig_svalue *stop;
      ig_svalue *step;  // NULL: 1
    } range;
  };
};

#endif
