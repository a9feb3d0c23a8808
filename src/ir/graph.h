// SPDX-License-Identifier: Apache-2.0
// Graph of nodes in execution order. The graph owns its nodes (arena), the fake tensors that
// describe their values, the constants they read, and a reference to its symbols.
#ifndef IR_GRAPH_H_
#define IR_GRAPH_H_

#include "base/arena.h"
#include "base/map.h"
#include "ingot/program.h"
#include "ir/table.h"
#include "tensor/tensor.h"

// What a call node calls.
typedef enum ig_callee {
  IG_CALLEE_OP,       // an operator
  IG_CALLEE_GETITEM,  // one of several results
  IG_CALLEE_SIZE,     // aten.sym_size.int
  IG_CALLEE_ARITH,    // a Python operator on symbolic integers
} ig_callee;

struct ig_node {
  ig_node_kind kind;
  ig_callee callee;    // CALL
  ig_expr_kind arith;  // ARITH
  bool effect;         // writes to an operand: never dead
  const char *name;
  const char
      *target;      // "aten.add.Tensor", "_operator.getitem", attribute path, name of placeholder
  const ig_op *op;  // CALLEE_OP
  ig_graph *graph;
  ig_node *prev;
  ig_node *next;

  const ig_value *args;  // npos positional, then nkw keyword values; operands are IG_KIND_NODE
  size_t npos;
  size_t nkw;
  const char *const *keys;
  ig_node **inputs;  // distinct operands in order of first appearance
  size_t ninputs;

  ig_value val;  // metadata: fake tensor, number, or a list of those; a placeholder's fixed value

  // PLACEHOLDER: what it stands for in the signature.
  ig_input_kind role;
  bool persistent;
  const char *path;     // "fc.weight"
  ig_tensor *constant;  // value of such a placeholder, and of ATTR

  const char *file;  // user location
  int line;
  const char *meta[IG_META_KEY_COUNT];

  size_t users;  // distinct nodes that read it
  size_t index;  // number within the graph, below graph->next_index; not the order
  size_t mark;   // while operands are collected
};

// A name of a tensor of the program's state, in the order of declaration.
typedef struct ig_state {
  ig_state_kind kind;
  const char *name;
  ig_tensor *tensor;
  bool unread;  // a constant that no call has read yet: it has no placeholder
} ig_state;

struct ig_graph {
  ig_alloc alloc;
  ig_arena arena;
  ig_sym *sym;
  ig_map names;      // names in use -> node
  ig_map counts;     // base name -> last number given out
  ig_map texts;      // texts of metadata, each kept once
  ig_table tensors;  // real tensor -> fake tensor that stands for it
  ig_table ints;     // symbolic expression -> node that computes it
  ig_table sizes;    // symbol -> placeholder that has it as a size, and its dimension
  IG_VEC(ig_state) state;
  const char *meta[IG_META_KEY_COUNT];  // for the next nodes
  ig_node *first;
  ig_node *last;
  size_t n;
  size_t next_index;
  size_t marks;
  size_t lifted;  // anonymous constants so far
};

ig_graph *ig_graph_create(ig_ctx *c, ig_sym *sym);  // Shares sym; NULL after an error.

// Puts a copy of proto (arguments copied deeply) in front of `before` (NULL: at the end), named
// after `base`; NULL after an error.
ig_node *ig_graph_insert(ig_ctx *c, ig_graph *g, ig_node *before, const ig_node *proto,
                         const char *base);
static inline ig_node *ig_graph_push(ig_ctx *c, ig_graph *g, const ig_node *proto,
                                     const char *base) {
  return ig_graph_insert(c, g, NULL, proto, base);
}
void ig_graph_erase(ig_graph *g, ig_node *n);  // n must have no users.
// When recording has ended: the fake tensors let go of the history of gradients that they had.
void ig_graph_forget_history(ig_graph *g);
void ig_graph_move(ig_graph *g, ig_node *n, ig_node *before);  // NULL: to the end
// Every reader of `from` reads `to` instead.
bool ig_graph_replace(ig_ctx *c, ig_graph *g, ig_node *from, ig_node *to);

// Names (ir/names.c). Unused until now, as fx numbers them: base, base_1 ...; "sum" is sum_1
// because it is a Python word. Numbers are never given out twice.
const char *ig_graph_name(ig_ctx *c, ig_graph *g, const char *base);
// "__and__" -> "and", "numpy_T" -> "numpy_t"; into text.
const char *ig_name_of_op(const char *op, char *text, size_t cap);
// p_ + "fc.weight" -> p_fc_weight; into text.
const char *ig_name_of_path(const char *prefix, const char *path, char *text, size_t cap);
bool ig_graph_rename(ig_ctx *c, ig_graph *g, ig_node *n, const char *base);
// Gives user inputs their plain names, also those that an earlier placeholder has taken.
bool ig_graph_rename_placeholders(ig_ctx *c, ig_graph *g);

const char *ig_graph_keep_text(ig_ctx *c, ig_graph *g, const char *text);  // one copy; NULL: error

static inline ig_value ig_of_node(ig_node *n) {
  return (ig_value){.kind = IG_KIND_NODE, .node = n};
}
static inline bool ig_node_is_placeholder(const ig_node *n) {
  return n->kind == IG_NODE_PLACEHOLDER;
}

#endif
