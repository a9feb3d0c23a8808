// SPDX-License-Identifier: Apache-2.0
// Graphs, classes, enums and interfaces of scripts as Python source: what `.code` shows and what
// archives hold. Compiling the text again gives the same functions.
#ifndef SCRIPT_CODE_PRINT_H_
#define SCRIPT_CODE_PRINT_H_

#include "script/unit.h"

// From this byte on the text comes from a place of the original source.
typedef struct ig_sprint_mark {
  size_t offset;
  ig_srange range;
  const char *place;  // where there is no range; NULL: none
} ig_sprint_mark;

// The numbers of variables go on from function to function.
typedef struct ig_sprint_text {
  ig_str text;
  IG_VEC(ig_sprint_mark) marks;
  ig_map counters;  // name -> number to try next
  ig_arena names;
} ig_sprint_text;
ig_sprint_text ig_sprint_text_make(ig_ctx *c);
void ig_sprint_text_free(ig_sprint_text *t);

// Something that the text calls by its qualified name.
typedef struct ig_sprint_need {
  const ig_stype *type;    // a class, enum, interface or named tuple; NULL: a function
  ig_sfunction *function;  // NULL: a type
} ig_sprint_need;

// What printed text refers to. One table serves all files of an archive.
typedef struct ig_sprint_refs {
  ig_ctx *c;
  IG_VEC(ig_value) constants;    // CONSTANTS.c0 and so on; borrowed from the graphs
  IG_VEC(ig_sprint_need) needs;  // in the order of first use
  ig_map known;                  // names of the needs
} ig_sprint_refs;
ig_sprint_refs ig_sprint_refs_make(ig_ctx *c);
void ig_sprint_refs_free(ig_sprint_refs *r);
bool ig_sprint_refs_need(ig_sprint_refs *r, ig_sprint_need need);

typedef struct ig_sprint_options {
  size_t level;     // of indentation
  bool self_type;   // the first parameter says its type
  bool importable;  // an error for what no archive can hold: calls of the host's functions
} ig_sprint_options;

// All of these append to the text; false after an error. The graphs must be there
// (ig_sfunction_ensure).
bool ig_sprint_function(ig_ctx *c, ig_sfunction *f, const ig_sprint_options *o, ig_sprint_refs *r,
                        ig_sprint_text *out);
// A class with its methods, an enum, an interface, a named tuple, or a function.
bool ig_sprint_declaration(ig_ctx *c, ig_sunit *u, ig_sprint_need what, ig_sprint_refs *r,
                           ig_sprint_text *out);
// A value as an expression.
bool ig_sprint_value(ig_ctx *c, const ig_stype *type, ig_value v, ig_sprint_refs *r, ig_str *out);

bool ig_name_is_identifier(const char *name);

#endif
