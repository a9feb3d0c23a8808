// SPDX-License-Identifier: Apache-2.0
// Graph of nodes in execution order. The graph owns its nodes (arena), the fake tensors that
// describe their values, the constants they read, and a reference to its symbols.
#ifndef IR_GRAPH_H_
#define IR_GRAPH_H_

#include "base/arena.h"
#include "base/map.h"
#include "base/str.h"
#include "ingot/program.h"
#include "ir/release.h"
#include "ir/table.h"
#include "tensor/tensor.h"

// What a call node calls.
typedef enum ig_callee {
  IG_CALLEE_OP,       // an operator
  IG_CALLEE_GETITEM,  // one of several results
  IG_CALLEE_SIZE,     // aten.sym_size.int
  IG_CALLEE_SYM,      // a function of symbolic numbers: _operator.add, _operator.ge, torch.sym_max
  IG_CALLEE_HOP,      // a higher-order operator
  IG_CALLEE_HOST,     // a callable of the host language
} ig_callee;

// What stands at one place of the positional arguments of a higher-order operator.
typedef enum ig_slot {
  IG_SLOT_NONE,   // behind the last one
  IG_SLOT_VALUE,  // a value that steers it
  IG_SLOT_OP,     // the operator that it calls
  IG_SLOT_GRAPH,  // a sub-graph
  IG_SLOT_TEST,   // a sub-graph whose one result tells whether to go on
  IG_SLOT_LIST,   // a list of operands
  IG_SLOT_DIM,    // a dimension, and
  IG_SLOT_FLAG,   // a bool: newer files leave them out while they are 0 and False
  IG_SLOT_REST,   // from here on each argument is an operand
} ig_slot;
enum { IG_MAX_SLOTS = 7 };

// The record of a higher-order operator: some of its arguments are sub-graphs or operators.
typedef struct ig_hop {
  const char *name;       // "cond"
  const char *base;       // of the names of its nodes: "conditional"
  const char *base_2_5;   // the same in the forms of 2.5; NULL: as before
  const char *class_2_5;  // the class that histories name there; NULL: HigherOrderOperator
  const char *path;       // as printed: "torch.ops.higher_order.cond"
  ig_slot slots[IG_MAX_SLOTS];
  bool effect;    // its nodes are never dead
  bool numbered;  // placeholders of its sub-graphs are called arg0_1, arg1_1, ...
  bool tuples;    // lists of operands are tuples
  bool region;    // calls of one mode: it gives what the sub-graph gives, one tensor as it is
  int since;      // 6: PyTorch 2.6 is the first that has it; 0: all releases that write files
  // Calls it on evaluated arguments (n->npos positional ones, then n->nkw by name; a sub-graph is
  // IG_KIND_GRAPH, an operator IG_KIND_OP). *out lives in the innermost scope.
  void (*call)(ig_ctx *c, const ig_node *n, const ig_value *args, ig_value *out);
} ig_hop;

// The place of the first such argument; the number of slots if there is none.
static inline size_t ig_hop_find_slot(const ig_hop *hop, ig_slot slot) {
  size_t i = 0;
  while (i < IG_MAX_SLOTS && hop->slots[i] != IG_SLOT_NONE && hop->slots[i] != slot) i++;
  return i;
}
static inline size_t ig_hop_slot_count(const ig_hop *hop) {
  return ig_hop_find_slot(hop, IG_SLOT_NONE);
}

// The host language: counts references to its objects, prints and calls them. Kept in
// ctx->mode->host and taken over by graphs; must outlive both. release may come from any thread.
typedef struct ig_host {
  void (*retain)(void *object);
  void (*release)(void *object);
  // Appends the object as it stands in code (or, !code, in the list of nodes).
  void (*print)(ig_str *s, void *object, bool code);
  // Calls a HOST, MODULE or METHOD node, or a Python operator on values that are no numbers.
  void (*call)(ig_ctx *c, const ig_node *n, const ig_value *args, ig_value *out);
} ig_host;

typedef struct ig_recipe ig_recipe;  // op/record_sym.c

// A module stack. A graph keeps each of its stacks once, so that equal ones have one address.
typedef struct ig_module_stack {
  const struct ig_module_stack *next;  // another stack of the graph with the same hash
  uint64_t hash;                       // of the texts
  size_t n;
  ig_module_level at[];  // outermost first
} ig_module_stack;

// Where a node comes from. Everything is kept by the graph of the node.
typedef struct ig_metadata {
  const char *text[IG_META_KEY_COUNT];  // NULL: none
  const ig_module_stack *modules;       // NULL: nothing is known; n == 0: no module
} ig_metadata;

enum { IG_MAX_KEYS = 64 };  // keyword arguments of one node

// One reading of a node by another.
typedef struct ig_use {
  ig_node *user;
  struct ig_use *prev;  // readings of the same node, in order of age
  struct ig_use *next;
} ig_use;

struct ig_node {
  ig_node_kind kind;
  ig_callee callee;    // CALL
  ig_expr_kind arith;  // SYM: the function
  bool effect;         // writes to an operand: never dead
  bool bare;           // OUTPUT: args[0] is returned as it is; otherwise a tuple of args
  bool listed;         // OUTPUT: a list of args, not a tuple
  bool erased;         // no longer in the graph
  bool arranged;       // a placeholder whose place was told
  bool given;          // CALLEE_OP: an example told the results, no rule did (op/draft.h)
  const char *name;
  // "aten.add.Tensor", "_operator.getitem", path of HOP and HOST, attribute path, method, name of a
  // placeholder
  const char *target;
  const ig_op *op;    // CALLEE_OP
  const ig_hop *hop;  // CALLEE_HOP
  void *host_fn;      // CALLEE_HOST: kept by the graph
  ig_graph *graph;
  ig_node *prev;
  ig_node *next;

  const ig_value *args;  // npos positional, then nkw keyword values; operands are IG_KIND_NODE
  size_t npos;
  size_t nkw;
  const char *const *keys;
  ig_node **inputs;  // distinct operands in order of first appearance
  ig_use *reads;     // one per input: its place among the uses of that input
  size_t ninputs;

  const ig_expr *binds;  // the unbacked symbol that this call made, when it gives a number
  ig_value val;  // metadata: fake tensor, number, or a list of those; a placeholder's fixed value
  // The node before it whose value is the same tensor, as in-place calls make them; the newest one
  // is tensor->node. NULL: none.
  ig_node *same;

  // PLACEHOLDER: what it stands for in the signature.
  ig_input_kind role;
  bool persistent;
  const char *path;  // "fc.weight"
  // Value of such a placeholder and of ATTR: one of these.
  ig_tensor *constant;  // retained
  ig_graph *sub;        // retained
  void *object;         // opaque object of the host, kept by the graph

  const char *file;  // user location
  int line;
  ig_metadata meta;
  void *extra;      // wrapper of the host; it keeps the graph, not the other way round
  void *host_meta;  // further metadata of the host, kept by the graph

  ig_use *first_use;
  ig_use *last_use;
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

// A sub-graph under its attribute name, retained.
typedef struct ig_sub {
  const char *name;
  ig_graph *graph;
} ig_sub;

struct ig_graph {
  ig_ref ref;
  ig_alloc alloc;
  const ig_host *host;  // NULL: none
  void *extra;          // wrapper of the host, borrowed
  ig_arena arena;
  ig_sym *sym;
  ig_map names;      // names in use -> node
  ig_map counts;     // base name -> last number given out
  ig_map texts;      // texts of metadata, each kept once
  ig_table modules;  // hash -> module stacks, each kept once
  ig_table tensors;  // real tensor -> fake tensor that stands for it
  ig_table ints;     // symbolic expression -> node that computes it
  ig_table recipes;  // symbolic expression -> how the program computed it (ig_recipe)
  ig_table sizes;    // symbol -> placeholder that has it as a size, and its dimension
  IG_VEC(ig_state) state;
  IG_VEC(ig_sub) subs;
  IG_VEC(void *) objects;  // of the host, each retained once per use until the graph goes
  ig_metadata meta;        // for the next nodes
  bool no_grad;            // the mode around the capture
  ig_node *first;
  ig_node *last;
  size_t n;
  size_t placeholders;  // of the n
  size_t unread;        // of the other ones, those without users: the output, writes, dead code
  // Whether there ever was such a node: what a walk would look for.
  bool has_attr;
  bool has_hop;
  bool has_host;     // among them switches of the grad mode
  bool has_history;  // while it was recorded, tensors were given histories of gradients
  size_t next_index;
  size_t marks;
  size_t lifted;  // anonymous constants so far
  // Placeholders are called arg0_1, arg1_1, ... and take no name from a call until
  // ig_graph_rename_placeholders.
  bool unnamed;

  // A graph captured inside another: see op/nested.h.
  ig_graph *outer;            // while its capture is open
  ig_mode_scope scope;        // what its capture changed
  IG_VEC(ig_value) operands;  // what its placeholders stand for outside
  ig_node *last_operand;      // the newest of those placeholders
  ig_release release;         // whose forms it is written in
  bool sizes_only;            // recorded to learn sizes: strides are of no interest
  bool strict;                // captured as a strict capture sorts and words things
  bool inference;  // will be functionalized: a conversion that changes nothing is another tensor
  // Autocast is switched by nodes, and the casts that it demands are none.
  bool implied_casts;
};

ig_graph *ig_graph_create(ig_ctx *c, ig_sym *sym);  // Shares sym; NULL after an error.

ig_graph *ig_graph_retain(ig_graph *g);  // ig_graph_free drops one reference.

// Puts a copy of proto (arguments copied deeply) in front of `before` (NULL: at the end), named
// after `base`; NULL after an error.
ig_node *ig_graph_insert(ig_ctx *c, ig_graph *g, ig_node *before, const ig_node *proto,
                         const char *base);
static inline ig_node *ig_graph_push(ig_ctx *c, ig_graph *g, const ig_node *proto,
                                     const char *base) {
  return ig_graph_insert(c, g, NULL, proto, base);
}
void ig_graph_erase(ig_graph *g, ig_node *n);  // n must have no users; its memory stays.
// When recording has ended: the fake tensors let go of the history of gradients that they had.
void ig_graph_forget_history(ig_graph *g);
void ig_graph_move(ig_graph *g, ig_node *n, ig_node *before);  // NULL: to the end
// Every reader of `from` except `to` reads `to` instead; linear in the number of readers.
bool ig_graph_replace(ig_ctx *c, ig_graph *g, ig_node *from, ig_node *to);
// Gives n other arguments: npos positional ones, then nkw by keys; copied deeply.
bool ig_node_set_args(ig_ctx *c, ig_node *n, const ig_value *args, size_t npos, size_t nkw,
                      const char *const *keys);
bool ig_node_replace_input(ig_ctx *c, ig_node *n, ig_node *from, ig_node *to);
bool ig_node_set_val(ig_ctx *c, ig_node *n, const ig_value *val);
// Nodes of g whose value is `from` have the value `to`. Takes time for each of them, not of the
// graph.
bool ig_graph_replace_val(ig_ctx *c, const ig_graph *g, const ig_tensor *from, ig_tensor *to);
// Makes n an attribute's value; the old one is let go. At most one is not NULL.
void ig_node_set_attr(ig_node *n, ig_tensor *constant, ig_graph *sub, void *object);

// Sub-graphs. add: retained, under prefix_N with the first N that is no attribute ("true_graph_0";
// names of nodes are another matter); set: under that very name, in place of what was there. The
// name is returned; NULL after an error.
const char *ig_graph_add_sub(ig_ctx *c, ig_graph *g, const char *prefix, ig_graph *sub);
const char *ig_graph_set_sub(ig_ctx *c, ig_graph *g, const char *name, ig_graph *sub);

// A whole copy with sub-graphs, names and metadata; fake tensors, constants and symbols are shared.
// NULL after an error.
ig_graph *ig_graph_copy(ig_ctx *c, const ig_graph *g);

// Parts of the above, for ir/*.c.
void ig_graph_link(ig_graph *g, ig_node *n, ig_node *before);
bool ig_graph_copy_value(ig_ctx *c, ig_graph *g, ig_value *v);  // what it points to, into the arena
void ig_node_drop(ig_node *n);                                  // lets go of val and attribute

// Retains an object of the host for as long as the graph lives.
bool ig_graph_keep_object(ig_ctx *c, ig_graph *g, void *object);

// Names (ir/names.c). Unused until now, as fx numbers them: base, base_1 ...; "sum" is sum_1
// because it is a Python word. Numbers are never given out twice.
const char *ig_graph_name(ig_ctx *c, ig_graph *g, const char *base);
bool ig_graph_name_node(ig_ctx *c, ig_graph *g, ig_node *n, const char *base);  // Sets n->name.
// The same outside of a graph: the slot in `names` of an unused name made from base. NULL: out of
// memory.
ig_map_value *ig_name_claim(ig_map *names, ig_map *counts, ig_arena *a, const char *base,
                            const char **kept);
// "__and__" -> "and", "numpy_T" -> "numpy_t"; into text.
const char *ig_name_of_op(const char *op, char *text, size_t cap);
// p_ + "fc.weight" -> p_fc_weight; into text.
const char *ig_name_of_path(const char *prefix, const char *path, char *text, size_t cap);
bool ig_name_is_reserved(const char *name);  // a word of Python: such names get a number at once
bool ig_graph_rename(ig_ctx *c, ig_graph *g, ig_node *n, const char *base);
// That very name, even if it is taken: the verifier will tell.
bool ig_graph_set_name(ig_ctx *c, ig_graph *g, ig_node *n, const char *text);
// Gives placeholders their names, user inputs first; calls that have such a name give way, in
// order. `shown`, if any: path of a weight -> path that it is named after.
bool ig_graph_rename_placeholders(ig_ctx *c, ig_graph *g, const ig_map *shown);
// Placeholders of sub-graphs take the names of the operands, at every depth (ir/subnames.c). Part
// of ig_graph_rename_placeholders.
bool ig_graph_name_subs(ig_ctx *c, ig_graph *g);
// Names everything but the first `keep` nodes anew: as it was called, or counting on from there.
bool ig_graph_name_rest(ig_ctx *c, ig_graph *g, size_t keep);

// What a graph that is being edited must have: names used once, operands before their readers.
// IG_RUNTIME with the first thing that is wrong, in PyTorch's words.
ig_status ig_graph_lint(ig_ctx *c, const ig_graph *g);

// Printed forms, besides those of ingot/graph.h; freed by ig_text_free, NULL after an error.
char *ig_node_text(ig_ctx *c, const ig_node *n);  // its line of ig_graph_text
// Code of a function that takes and returns trees: n arguments, the first npos by place, the others
// in the dictionary of keyword arguments under keys.
typedef struct ig_tree_args {
  const char *const *names;
  size_t n;
  size_t npos;
  const char *const *keys;
} ig_tree_args;
char *ig_graph_tree_code(ig_ctx *c, const ig_graph *g, const ig_tree_args *tree);
// With types, locations and sub-graphs, as a class of that name: print_readable.
char *ig_graph_readable(ig_ctx *c, const ig_graph *g, const char *name, const ig_tree_args *tree);

// Functions of symbolic numbers by their Python names: "_operator.add", "torch.sym_max"; NULL:
// none.
const char *ig_sym_target(ig_expr_kind kind);
// The call that reads a size: args are the tensor's node and the dimension.
ig_node ig_size_call(const ig_value args[2], const ig_value *val);
bool ig_sym_find(const char *target, ig_expr_kind *kind);  // the other way round
const char *ig_sym_base(const char *target);               // of the names of such nodes: "add"

const char *ig_graph_keep_text(ig_ctx *c, ig_graph *g, const char *text);  // one copy; NULL: error

// Metadata (ir/meta.c). The graph's copy of a module stack: of levels, or of a stack of any graph.
// NULL after an error.
const ig_module_stack *ig_graph_keep_levels(ig_ctx *c, ig_graph *g, const ig_module_level *levels,
                                            size_t n);
const ig_module_stack *ig_graph_keep_modules(ig_ctx *c, ig_graph *g, const ig_module_stack *from);
// The metadata of a node of any graph, for nodes of g. False after an error.
bool ig_graph_keep_meta(ig_ctx *c, ig_graph *g, const ig_metadata *from, ig_metadata *to);
// The paths of the modules that nodes mention, without the root, in order; the list lives in the
// innermost scope. NULL after an error.
const char *const *ig_graph_modules(ig_ctx *c, const ig_graph *g, size_t *n);
// The level that stands for no module.
extern const ig_module_level ig_no_module;
// "key,path,class;key,path,class", as files have it; names with commas are not quoted there.
void ig_modules_print(ig_str *s, const ig_module_stack *stack);

static inline ig_value ig_of_node(ig_node *n) {
  return (ig_value){.kind = IG_KIND_NODE, .node = n};
}
static inline bool ig_node_is_placeholder(const ig_node *n) {
  return n->kind == IG_NODE_PLACEHOLDER;
}

#endif
