// SPDX-License-Identifier: Apache-2.0
// What the parts of the printer share: statements (code_print.c), expressions (code_expr.c), values
// (code_value.c) and declarations (code_class.c).
#ifndef SCRIPT_CODE_PRINTER_H_
#define SCRIPT_CODE_PRINTER_H_

#include "script/code_print.h"
#include "script/operator.h"

// What is known of a value while its graph is printed.
typedef struct ig_sprint_info {
  size_t uses;
  const ig_snode *user;              // of the last use; NULL: a block returns it
  const ig_sblock *returned_by;      // that block
  size_t offset;                     // of the last use, among the user's inputs
  bool inlined;                      // it is written where it is used
  bool annotated;                    // an assignment has said its type
  const char *name;                  // of its variable; NULL: none yet
  const ig_sprint_text *expression;  // NULL: it is known by its name
} ig_sprint_info;

// Graphs inside of graphs, the innermost first.
typedef struct ig_sprint_scope {
  const ig_sgraph *graph;
  ig_sprint_info *at;  // by number of the value
  struct ig_sprint_scope *outer;
} ig_sprint_scope;

typedef struct ig_sprinter {
  ig_ctx *c;
  ig_sunit *unit;
  ig_sprint_refs *refs;
  ig_sprint_text *out;
  bool importable;
  size_t level;
  ig_sprint_mark place;  // of the node that is printed
  ig_arena arena;        // names, tables
  IG_VEC(ig_sprint_text *) expressions;
  ig_map used;  // names of variables
  ig_sprint_scope *scope;
} ig_sprinter;

bool ig_sprinter_no_memory(ig_sprinter *p);
ig_sprint_info *ig_sprinter_info(const ig_sprinter *p, const ig_svalue *v);
bool ig_snode_is_constant(const ig_snode *n);

// Appending keeps account of the places. A failure stays in the text.
void ig_sprinter_put(const ig_sprinter *p, ig_sprint_text *t, const char *text);
void ig_sprinter_put_use(const ig_sprinter *p, ig_sprint_text *t, const ig_svalue *v);
void ig_sprinter_put_uses(const ig_sprinter *p, ig_sprint_text *t, ig_svalue *const *at, size_t n,
                          const char *begin, const char *end);
// An annotation; its classes become needs.
bool ig_sprinter_put_type(ig_sprinter *p, ig_sprint_text *t, const ig_stype *type);
bool ig_sprinter_need_types(ig_sprinter *p, const ig_stype *type);

// The right side of the node's definition.
bool ig_sprinter_expression(ig_sprinter *p, ig_sprint_text *t, const ig_snode *n);
// Is the element's type clear from the elements?
bool ig_stype_is_evident(const ig_stype *element);

#endif
