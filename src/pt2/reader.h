// SPDX-License-Identifier: Apache-2.0
// Reading a program: shared by the parts of the reader. Nodes are created as the file describes
// them, with its names and values; arguments are checked against schemas, so that a graph from a
// file cannot call an operator with invalid arguments.
#ifndef PT2_READER_H_
#define PT2_READER_H_

#include "ir/program.h"
#include "pt2/schema.h"
#include "pt2/values.h"

enum { IG_PT2_MAX_NESTING = 32 };  // of sub-graphs

// One graph or sub-graph that is being read.
typedef struct ig_pt2_scope {
  ig_graph *g;
  ig_map names;  // name -> ig_node *
  // The file's descriptions of values, by name; NULL: none.
  const ig_json *tensors;
  const ig_json *ints;
  const ig_json *floats;
  const ig_json *bools;
  const ig_json *objects;
} ig_pt2_scope;

typedef struct ig_pt2_reader {
  ig_ctx *c;
  const ig_pt2_source *source;
  ig_pt2_in in;
  ig_map weights;  // fqn -> ig_pt2_weight *
  ig_map modules;  // schema 1: names of modules -> their paths
  ig_map stacks;   // text of a module stack -> ig_pt2_stack
  ig_map frames;   // text of a stack trace -> ig_frames
  ig_map solved;   // texts of expressions whose symbols are known
  ig_pt2_scope *scope;
  size_t nesting;
  bool writes;         // some node mutates an operand
  ig_release release;  // the release whose conventions the graphs follow
} ig_pt2_reader;

// graph_read.c
IG_MUST_USE ig_status ig_pt2_scope_open(ig_pt2_reader *r, const ig_json *graph, ig_pt2_scope *s);
void ig_pt2_scope_close(ig_pt2_reader *r, ig_pt2_scope *s, ig_pt2_scope *outer);
// The nodes between placeholders and output.
IG_MUST_USE ig_status ig_pt2_read_nodes(ig_pt2_reader *r, const ig_json *graph);
// Gives a node its name in the file; IG_SYNTAX: the name is taken.
IG_MUST_USE ig_status ig_pt2_define(ig_pt2_reader *r, const ig_json *at, const char *name,
                                    ig_node *node);
ig_node *ig_pt2_push(ig_pt2_reader *r, const ig_node *proto, const char *name);
// The value that the file describes under a name: a fake tensor, a number. False after an error.
bool ig_pt2_describe_tensor(ig_pt2_reader *r, const ig_json *at, const char *name, ig_value *out);
bool ig_pt2_describe_number(ig_pt2_reader *r, const ig_json *at, const char *name, ig_value *out);
// An argument that names a new value (of a placeholder or a result); *name NULL: a literal.
bool ig_pt2_describe(ig_pt2_reader *r, const ig_json *argument, const char **name, ig_value *out);
ig_value ig_pt2_read_sub(void *user, const ig_json *v);  // ig_pt2_in.sub
void ig_pt2_drop_unread(ig_graph *g);                    // Unused results have names, but no node.
ig_status ig_pt2_no_memory(const ig_pt2_reader *r);

// Schemas 1 and 2: tensors inside the text of the graph itself (constants_read.c).
IG_MUST_USE ig_status ig_pt2_read_constants(ig_pt2_reader *r, const ig_json *graph, bool top);

// Module stacks (modules.c), in the memory of the file.
typedef struct ig_pt2_stack {
  ig_module_level *at;
  size_t n;
} ig_pt2_stack;
// The module stack of a node of the graph that is being read; NULL: none, or an error.
const ig_module_stack *ig_pt2_read_stack(ig_pt2_reader *r, const char *text);
// Collects the modules of schema 1 nodes, before anything is named after them.
IG_MUST_USE ig_status ig_pt2_read_modules(ig_pt2_reader *r, const ig_json *graph);

// Names of schema 1 (paths.c): the path of a weight; a module stack, into out->at, which has room
// for a level per semicolon and one more (false: it is not of that form).
const char *ig_pt2_weight_path(ig_pt2_reader *r, const char *name);
bool ig_pt2_old_stack(ig_pt2_reader *r, const char *text, ig_pt2_stack *out);

// node_read.c
IG_MUST_USE ig_status ig_pt2_read_node(ig_pt2_reader *r, const ig_json *node);

// signature_read.c: placeholders; then outputs, with their kinds.
typedef struct ig_pt2_outputs {
  ig_value *values;
  ig_output_kind *kinds;
  const char **targets;
  size_t n;
} ig_pt2_outputs;
IG_MUST_USE ig_status ig_pt2_read_inputs(ig_pt2_reader *r, const ig_json *module);
IG_MUST_USE ig_status ig_pt2_read_outputs(ig_pt2_reader *r, const ig_json *module,
                                          ig_pt2_outputs *out);

// symbols.c: symbols with their hints and ranges, before they are used; and the program's
// range_constraints.
IG_MUST_USE ig_status ig_pt2_read_symbols(ig_pt2_reader *r, const ig_json *graph,
                                          const ig_json *ranges);
IG_MUST_USE ig_status ig_pt2_set_ranges(ig_pt2_reader *r, const ig_json *ranges, ig_program *p);

#endif
