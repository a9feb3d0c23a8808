// SPDX-License-Identifier: Apache-2.0
// Annotations as types: typing's names, PEP 585 and 604, strings, and the classes that the
// surroundings know.
#ifndef SCRIPT_ANNOTATION_H_
#define SCRIPT_ANNOTATION_H_

#include "script/tree.h"
#include "script/type.h"

// Classes, enums, interfaces and named tuples by their dotted name as written. NULL without an
// error: there is none.
typedef struct ig_resolver {
  const ig_stype *(*type)(void *user, const char *name);
  void *user;
} ig_resolver;

// NULL after an error, which quotes the place. resolver NULL: only the names of the language.
const ig_stype *ig_stype_of_tree(ig_stypes *types, const ig_resolver *resolver,
                                 const ig_tree *annotation);
// The same for a text, "Dict[str, float]".
const ig_stype *ig_stype_parse(ig_stypes *types, const ig_resolver *resolver, const char *text);

#endif
