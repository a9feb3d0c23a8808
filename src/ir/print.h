// SPDX-License-Identifier: Apache-2.0
// The printed forms of graphs, for the printer of programs.
#ifndef IR_PRINT_H_
#define IR_PRINT_H_

#include "base/str.h"
#include "ir/graph.h"

typedef enum ig_form_of_text { IG_TEXT_CODE, IG_TEXT_LIST } ig_form_of_text;

typedef struct ig_printer {
  ig_str *s;
  ig_form_of_text form;
  const char *const *names;       // by node index: other names; NULL: their own
  const ig_node *const *readers;  // by node index: the last user
  const ig_host *host;
  const ig_tree_args *tree;  // code of a function of trees; NULL: of flat values
  bool typed;                // with the types of values
  bool plain;                // names of nodes without their mark
} ig_printer;

void ig_print_value(const ig_printer *p, const ig_value *v);
void ig_print_values(const ig_printer *p, const ig_value *v, size_t n);
const char *ig_print_name(const ig_printer *p, const ig_node *n);
bool ig_has_type(const ig_value *v);  // Does the annotated form show one?
void ig_print_type(const ig_printer *p, const ig_value *v);
void ig_print_annotation(const ig_printer *p, const ig_node *n);
void ig_print_result(const ig_printer *p, const ig_node *n);  // the value that is returned
void ig_print_return(const ig_printer *p, const ig_node *n);
void ig_print_path(const ig_printer *p, const char *base, const char *path);
void ig_print_code_line(const ig_printer *p, const ig_node *n);  // one node; not outputs
// By node index; freed by the caller (next_index pointers). NULL after an error.
const ig_node **ig_graph_last_readers(ig_ctx *c, const ig_graph *g);
char *ig_print_end(ig_ctx *c, ig_str *s);  // the text, to be freed by ig_text_free

#endif
