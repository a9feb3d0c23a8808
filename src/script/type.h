// SPDX-License-Identifier: Apache-2.0
// The types of TorchScript. A type is made once per table, so equal types have one address.
#ifndef SCRIPT_TYPE_H_
#define SCRIPT_TYPE_H_

#include "base/arena.h"
#include "base/ctx.h"
#include "base/map.h"
#include "base/str.h"

// In the order in which the members of a union stand.
typedef enum ig_stype_kind {
  IG_STYPE_ANY,
  IG_STYPE_ENUM,
  IG_STYPE_TENSOR,
  IG_STYPE_TUPLE,
  IG_STYPE_LIST,
  IG_STYPE_DICT,
  IG_STYPE_NUMBER,
  IG_STYPE_FLOAT,
  IG_STYPE_COMPLEX,
  IG_STYPE_FUTURE,
  IG_STYPE_INT,
  IG_STYPE_NONE,
  IG_STYPE_STR,
  IG_STYPE_GENERATOR,
  IG_STYPE_BOOL,
  IG_STYPE_OPTIONAL,
  IG_STYPE_DEVICE,
  IG_STYPE_FUNCTION,
  IG_STYPE_CLASS,
  IG_STYPE_INTERFACE,
  IG_STYPE_ANY_LIST,   // a bare `list` annotation, which no value fits
  IG_STYPE_ANY_TUPLE,  // the same for `tuple`
  IG_STYPE_UNION,
  // Only in the schemas of operators.
  IG_STYPE_ANY_ENUM,
  IG_STYPE_ANY_CLASS,
  IG_STYPE_VAR,  // a type variable, by its name
  IG_STYPE_COUNT
} ig_stype_kind;

// What a traced or annotated tensor is known to be.
typedef struct ig_stensor {
  int dtype;               // ig_dtype; -1: not known
  int ndim;                // -1: not known
  const int64_t *sizes;    // NULL: not known
  const int64_t *strides;  // NULL: not known
  int requires_grad;       // 0, 1; -1: not known
  const char *device;      // "cpu", "cuda:0"; NULL: not known
} ig_stensor;

typedef struct ig_stype ig_stype;
// Has another class or interface the methods of an interface? Adds to why (may be NULL) if not.
typedef bool ig_stype_implements(const ig_stype *face, const ig_stype *by, ig_str *why);
struct ig_stype {
  ig_stype_kind kind;
  bool inferred;  // a Tensor because nothing else was said; messages say so
  size_t n;  // element of a list, key and value of a dict, elements of a tuple, members of a union
  const ig_stype *const *at;
  const char *name;          // qualified, of classes, enums, interfaces, functions, named tuples;
                             // of a traced tensor: "Float(2, 3, strides=[3, 1], ...)"
  const char *const *names;  // fields of a named tuple
  const char *const
      *defaults;  // of them, as text; NULL: none has one, an element NULL: that has none
  ig_stype_implements *is_implemented;  // of an interface
  void *declaration;         // of classes, enums, interfaces and functions: whoever declared it
  const ig_stensor *tensor;  // of a traced tensor whose name could be understood; NULL: a plain one
  const char *text;          // as graphs write it: `int[]`, `Dict(str, int)`, `Tensor?`
};

typedef struct ig_stypes {
  ig_ctx *c;
  ig_arena arena;
  ig_map made;  // text -> type
  const ig_stype *plain[IG_STYPE_COUNT];
} ig_stypes;

ig_stypes ig_stypes_make(ig_ctx *c);
void ig_stypes_free(ig_stypes *t);

// All of these give NULL when out of memory (the context says so), and take NULL for that.
const ig_stype *ig_stype_plain(ig_stypes *t, ig_stype_kind kind);
// The Tensor of a parameter without an annotation. As a part of other types it is a plain Tensor.
const ig_stype *ig_stype_inferred(ig_stypes *t);
const ig_stype *ig_stype_list(ig_stypes *t, const ig_stype *item);
const ig_stype *ig_stype_dict(ig_stypes *t, const ig_stype *key, const ig_stype *value);
const ig_stype *ig_stype_tuple(ig_stypes *t, const ig_stype *const *at, size_t n);
const ig_stype *ig_stype_future(ig_stypes *t, const ig_stype *of);
// Optional of an optional, of None or of Any is that itself; of a union, the union with None.
const ig_stype *ig_stype_optional(ig_stypes *t, const ig_stype *of);
// Flattened, without members that others cover, in a fixed order. One member is that member, one
// and None an optional.
const ig_stype *ig_stype_union(ig_stypes *t, const ig_stype *const *at, size_t n);
// A named tuple, or (fields NULL) a class, enum, interface or function; the name is the identity.
typedef struct ig_stype_field {
  const char *name;
  const ig_stype *type;
  const char *value;  // its default as text; NULL: none
} ig_stype_field;
const ig_stype *ig_stype_named_tuple(ig_stypes *t, const char *name, const ig_stype_field *fields,
                                     size_t n);
const ig_stype *ig_stype_named(ig_stypes *t, ig_stype_kind kind, const char *name,
                               void *declaration);
const ig_stype *ig_stype_interface(ig_stypes *t, const char *name, void *declaration,
                                   ig_stype_implements *is_implemented);

// A tensor of which something is known. NULL fields are left out.
const ig_stype *ig_stype_traced(ig_stypes *t, const ig_stensor *known);

// Can a value of type a stand where b is declared, without conversion?
bool ig_stype_is_subtype(const ig_stype *a, const ig_stype *b);
// Why not, where there is more to say than that it is not; adds nothing otherwise.
void ig_stype_explain_subtype(ig_str *s, const ig_stype *a, const ig_stype *b);
// The type of a name that is a in one branch and b in the other: the wider of the two, or an
// optional where one is None; NULL: there is none. wide: rather a union than none.
const ig_stype *ig_stype_unify(ig_stypes *t, const ig_stype *a, const ig_stype *b, bool wide);
// What is left when a value is known not to be None.
const ig_stype *ig_stype_not_none(ig_stypes *t, const ig_stype *of);
bool ig_stype_has_none(const ig_stype *t);      // may a value be None?
bool ig_stype_is_immutable(const ig_stype *t);  // numbers, strings, and tuples of them

// As code writes it: `List[int]`, `Dict[str, int]`, `Optional[Tensor]`.
// Several results of an operator: a tuple with names for its fields, but of no module, so that
// nothing but a graph can name it.
bool ig_stype_is_result(const ig_stype *t);
void ig_stype_print_annotation(ig_str *s, const ig_stype *t);

#endif
