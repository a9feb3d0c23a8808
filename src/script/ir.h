// SPDX-License-Identifier: Apache-2.0
// Graphs of scripts: typed values, nodes with nested blocks, places in the source. Everything lives
// in the graph's arena.
#ifndef SCRIPT_IR_H_
#define SCRIPT_IR_H_

#include "ingot/tensor.h"
#include "script/source.h"
#include "script/type.h"

typedef struct ig_sgraph ig_sgraph;
typedef struct ig_sblock ig_sblock;
typedef struct ig_snode ig_snode;
typedef struct ig_svalue ig_svalue;

struct ig_svalue {
  ig_snode *node;    // that makes it; of a block's input, the node that has the block, or NULL
  ig_sblock *block;  // whose input it is; NULL: a result of the node
  const ig_stype *type;
  size_t number;     // in order of creation
  const char *name;  // of a variable or attribute; NULL: it is printed by its number
  // For the passes, see ir_build.h:
  ig_svalue *instead;  // the value that replaces it; NULL: none
  ig_svalue *copy;     // its copy, while nodes are copied
  size_t uses;         // as ig_sbuild_count_uses counted them
};

typedef enum ig_sattr_kind {
  IG_SATTR_VALUE,  // a number, truth value, text, tensor (which the graph retains), list of them
  IG_SATTR_TEXT,   // what only its printed form is known of: a tensor in a graph that was read
  IG_SATTR_TYPES,
  IG_SATTR_GRAPH,  // printed behind the graph, under the node's name
} ig_sattr_kind;

typedef struct ig_sattr {
  const char *name;
  ig_sattr_kind kind;
  ig_value value;
  const char *text;
  const ig_stype *const *types;
  size_t n_types;
  ig_sgraph *graph;
} ig_sattr;

struct ig_snode {
  const char *kind;  // "aten::add", "prim::If"; set by ig_snode_set_kind
  int form;          // of the kind, see form.h
  bool effects;      // of the kind, see form.h
  ig_sattr *attrs;
  size_t n_attrs;
  ig_svalue **in;
  size_t n_in;
  ig_svalue **out;
  size_t n_out;
  ig_sblock **blocks;
  size_t n_blocks;
  struct ig_sfunction *host;  // of a call of the host: what it runs; NULL: only its text is known
  ig_srange range;
  const char *place;  // "program.py:18:4" where there is no range; NULL: none
  const char *scope;  // "__module.lin"; NULL: none
  bool detached;      // stands in no block: not inserted yet, or removed
  bool removed;       // for good
  ig_sblock *owner;   // of a detached node: the body of its graph
  ig_snode *prev;
  ig_snode *next;
  unsigned marks;  // for the passes
};

struct ig_sblock {
  ig_sgraph *graph;
  ig_snode *node;  // NULL: the graph itself
  ig_svalue **in;
  size_t n_in;
  ig_svalue **out;
  size_t n_out;
  ig_snode *first;
  ig_snode *last;
  ig_snode *params;   // the inputs as results of a node, for hosts that ask; see ir_edit.h
  ig_snode *returns;  // the outputs as inputs of a node
};

struct ig_sgraph {
  ig_ctx *c;
  ig_arena arena;
  ig_stypes *types;
  ig_sblock *body;
  size_t next_number;
  ig_map owners;      // debug name -> value
  ig_map suffixes;    // base name -> the suffix to try next
  ig_sgraph **inner;  // graphs of attributes, which go with this one
  size_t n_inner;
  ig_tensor **tensors;  // of attributes, retained
  size_t n_tensors;
  void *host;  // the host's object for it, borrowed; NULL: none
};

// NULL when out of memory. The types must outlive the graph.
ig_sgraph *ig_sgraph_create(ig_stypes *types);
void ig_sgraph_free(ig_sgraph *g);

// All of these fail the context when out of memory and then give NULL or false.
ig_svalue *ig_sblock_add_input(ig_sblock *b, const ig_stype *type);
bool ig_sblock_add_output(ig_sblock *b, ig_svalue *v);
// Behind the last node of the block.
ig_snode *ig_snode_push(ig_sblock *b, const char *kind, ig_svalue *const *in, size_t n);
ig_svalue *ig_snode_add_output(ig_snode *n, const ig_stype *type);
ig_sblock *ig_snode_add_block(ig_snode *n);
ig_sattr *ig_snode_add_attr(ig_snode *n, const char *name, ig_sattr_kind kind);
// A new graph as an attribute of the node, called `name`.
ig_sgraph *ig_snode_add_graph(ig_snode *n, const char *name);
const ig_sattr *ig_snode_attr(const ig_snode *n, const char *name);  // NULL: it has none
// The graph retains the tensor until it is freed. NULL: out of memory, or no tensor was given.
ig_tensor *ig_sgraph_keep(ig_sgraph *g, ig_tensor *t);

// Gives a value a name. The name of another value that has it already gets a number: the newest
// owner has the plain name. Names that begin with a digit get an underscore in front; "" takes the
// name away.
bool ig_svalue_set_name(ig_sgraph *g, ig_svalue *v, const char *name);

// As PyTorch prints it. places: with `# file:line:column`.
void ig_sgraph_print(ig_str *s, const ig_sgraph *g, bool places);
void ig_snode_print(ig_str *s, const ig_snode *n);  // with its blocks and place

// A printed graph as a graph. Names are kept, numbers are given anew. IG_SYNTAX quotes the place.
// classes NULL: any dotted name that begins with __torch__ is a class.
struct ig_resolver;
ig_sgraph *ig_sgraph_parse(ig_stypes *types, const struct ig_resolver *classes, const char *text);

#endif
