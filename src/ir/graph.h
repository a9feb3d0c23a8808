// SPDX-License-Identifier: Apache-2.0
// Graph of nodes in execution order. The graph owns its nodes (arena), the fake tensors that
// describe their values, the constants they read, and a reference to its symbols.
#ifndef IR_GRAPH_H_
#define IR_GRAPH_H_

#include "base/arena.h"
#include "base/frames.h"
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

// The kind of a positional argument of a higher-order operator.
typedef enum ig_slot {
  IG_SLOT_NONE,   // end of the list
  IG_SLOT_VALUE,  // a plain value
  IG_SLOT_OP,     // the operator that it calls
  IG_SLOT_GRAPH,  // a sub-graph
  IG_SLOT_TEST,   // a sub-graph whose result is the loop condition
  IG_SLOT_LIST,   // a list of operands
  IG_SLOT_DIM,    // a dimension, and
  IG_SLOT_FLAG,   // a bool: newer files omit both if they are 0 and False
  IG_SLOT_REST,   // from here on each argument is an operand
} ig_slot;
enum { IG_MAX_SLOTS = 7 };

// The record of a higher-order operator: some of its arguments are sub-graphs or operators.
typedef struct ig_hop {
  const char *name;  // "cond"
  const char *base;  // base of its nodes' names: "conditional"
  // By release, where it differs: that base, and the class that metadata names (otherwise
  // HigherOrderOperator).
  const char *bases[IG_RELEASE_COUNT];
  const char *classes[IG_RELEASE_COUNT];
  const char *path;  // as printed: "torch.ops.higher_order.cond"
  ig_slot slots[IG_MAX_SLOTS];
  bool effect;    // has side effects: never dead code
  bool numbered;  // placeholders of its sub-graphs are named arg0_1, arg1_1, ...
  bool tuples;    // lists of operands are tuples
  bool
      region;  // changes a mode only: returns what the sub-graph returns, a single tensor unwrapped
  int since;   // 6: exists from PyTorch 2.6 on; 0: in all releases that write files
  // Calls it on evaluated arguments (n->npos positional ones, then n->nkw by name; a sub-graph is
  // IG_KIND_GRAPH, an operator IG_KIND_OP). *out lives in the innermost scope.
  void (*call)(ig_ctx *c, const ig_node *n, const ig_value *args, ig_value *out);
} ig_hop;

// The index of the first such argument; the number of slots if there is none.
static inline size_t ig_hop_find_slot(const ig_hop *hop, ig_slot slot) {
  size_t i = 0;
  while (i < IG_MAX_SLOTS && hop->slots[i] != IG_SLOT_NONE && hop->slots[i] != slot) i++;
  return i;
}
static inline size_t ig_hop_slot_count(const ig_hop *hop) {
  return ig_hop_find_slot(hop, IG_SLOT_NONE);
}

// The host language: retains, releases, prints and calls its objects. Stored in ctx->mode->host and
// copied to graphs; must outlive both. release may be called from any thread.
typedef struct ig_host {
  void (*retain)(void *object);
  void (*release)(void *object);
  // Appends the object as printed in code (or, !code, in the list of nodes).
  void (*print)(ig_str *s, void *object, bool code);
  // Calls a HOST, MODULE or METHOD node, or a Python operator on values that are not numbers.
  void (*call)(ig_ctx *c, const ig_node *n, const ig_value *args, ig_value *out);
} ig_host;

typedef struct ig_recipe ig_recipe;  // op/record_sym.c

// A module stack. A graph interns its stacks, so that equal ones have the same address.
typedef struct ig_module_stack {
  const struct ig_module_stack *next;  // another stack of the graph with the same hash
  uint64_t hash;                       // of the texts
  size_t n;
  ig_module_level at[];  // outermost first
} ig_module_stack;

// The user's frames at a call; interned as well.
typedef struct ig_call_stack {
  const struct ig_call_stack *next;  // another one of the graph with the same hash
  uint64_t hash;                     // of the texts and lines
  ig_frames frames;
} ig_call_stack;

// Origin of a node. Everything is owned by the graph of the node.
typedef struct ig_metadata {
  const char *text[IG_META_KEY_COUNT];  // NULL: none
  const ig_call_stack *stack;           // NULL: unknown
  const ig_module_stack *modules;       // NULL: unknown; n == 0: no module
} ig_metadata;

enum { IG_MAX_KEYS = 64 };  // keyword arguments of one node

// One use of a node by another.
typedef struct ig_use {
  ig_node *user;
  struct ig_use *prev;  // uses of the same node, oldest first
  struct ig_use *next;
} ig_use;

struct ig_node {
  ig_node_kind kind;
  ig_callee callee;    // CALL
  ig_expr_kind arith;  // SYM: the function
  bool effect;         // mutates an operand: never dead code
  bool bare;           // OUTPUT: args[0] is returned unwrapped; otherwise a tuple of args
  bool listed;         // OUTPUT: a list of args, not a tuple
  bool erased;         // no longer in the graph
  bool arranged;       // a placeholder whose position was set
  bool given;  // CALLEE_OP: results come from an example, not from a shape rule (op/draft.h)
  const char *name;
  // "aten.add.Tensor", "_operator.getitem", path of HOP and HOST, attribute path, method, name of a
  // placeholder
  const char *target;
  const ig_op *op;    // CALLEE_OP
  const ig_hop *hop;  // CALLEE_HOP
  void *host_fn;      // CALLEE_HOST: owned by the graph
  ig_graph *graph;
  ig_node *prev;
  ig_node *next;

  const ig_value *args;  // npos positional, then nkw keyword values; operands are IG_KIND_NODE
  size_t npos;
  size_t nkw;
  const char *const *keys;
  ig_node **inputs;  // distinct operands in order of first appearance
  ig_use *reads;     // one per input: its entry among the uses of that input
  size_t ninputs;

  const ig_expr *binds;  // the unbacked symbol that this call created, if its result is a number
  ig_value val;  // metadata: fake tensor, number, or a list of those; a placeholder's fixed value
  // The previous node whose value is the same tensor (in-place calls); the newest one is
  // tensor->node. NULL: none.
  ig_node *same;

  // PLACEHOLDER: its role in the signature.
  ig_input_kind role;
  bool persistent;
  bool late;         // a tangent: nothing that is computed before the gradients may read its sizes
  const char *path;  // "fc.weight"
  // Value of such a placeholder and of ATTR: one of these.
  ig_tensor *constant;  // retained
  ig_graph *sub;        // retained
  void *object;         // opaque object of the host, owned by the graph

  const char *file;  // user location
  int line;
  ig_metadata meta;
  void *extra;      // wrapper of the host; it keeps the graph alive, not vice versa
  void *host_meta;  // further metadata of the host, owned by the graph
  void *type;       // the type that the host's program declared for it, owned by the graph
  // As printed in code and in the list of nodes; NULL: none. Both owned by the graph.
  const char *type_code;
  const char *type_text;

  ig_use *first_use;
  ig_use *last_use;
  size_t users;  // distinct nodes that use it
  size_t index;  // unique within the graph, below graph->next_index; not the order
  size_t mark;   // while operands are collected
};

// A name of a tensor of the program's state, in the order of declaration.
typedef struct ig_state {
  ig_state_kind kind;
  const char *name;
  ig_tensor *tensor;
  bool unread;  // a constant that no call has used yet: it has no placeholder
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
  ig_map counts;     // base name -> last suffix used
  ig_map texts;      // interned texts of metadata
  ig_table modules;  // hash -> interned module stacks
  ig_table stacks;   // hash -> interned frames
  ig_table tensors;  // real tensor -> its fake tensor
  ig_table ints;     // symbolic expression -> node that computes it
  ig_table recipes;  // symbolic expression -> how the program computed it (ig_recipe)
  ig_table sizes;    // symbol -> placeholder that has it as a size, and its dimension
  IG_VEC(ig_state) state;
  IG_VEC(ig_sub) subs;
  IG_VEC(void *) objects;  // of the host, each retained once per use until the graph is freed
  ig_metadata meta;        // for the next nodes
  bool no_grad;            // the grad mode in which the capture began
  // Random numbers are drawn, and custom operators called, also if nobody uses the results: the
  // state that they leave behind is that of the program.
  bool keeps_draws;
  bool switches_grad;  // while it is captured: switches of the grad mode are made, too
  // While derivatives are taken in the capture itself: calls of operators that have none of their
  // own are recorded as those they consist of.
  bool apart;
  ig_node *first;
  ig_node *last;
  size_t n;
  size_t placeholders;  // of the n
  size_t unread;        // of the others, those without users: the output, mutations, dead code
  // Whether there ever was such a node, so that passes can skip a walk.
  bool has_attr;
  bool has_hop;
  bool has_host;     // among them changes of the grad mode
  bool has_history;  // tensors got autograd histories while it was recorded
  size_t next_index;
  size_t marks;
  size_t lifted;  // anonymous constants so far
  // Placeholders are named arg0_1, arg1_1, ... and do not displace names of calls until
  // ig_graph_rename_placeholders.
  bool unnamed;

  // A graph captured inside another: see op/nested.h.
  ig_graph *outer;            // while its capture is open
  ig_mode_scope scope;        // the modes that its capture changed
  IG_VEC(ig_value) operands;  // the outer values of its placeholders
  ig_node *last_operand;      // the newest of those placeholders
  ig_release release;         // the release whose conventions it follows
  bool sizes_only;            // recorded for sizes only: strides do not matter
  bool strict;                // follows the order and messages of a strict capture
  bool free_conversions;      // results of conversions may be modified: they count as copies
  bool inference;             // will be functionalized: a no-op conversion returns a new tensor
  // Autocast is changed by nodes, and the casts that it implies are not recorded.
  bool implied_casts;
};

ig_graph *ig_graph_create(ig_ctx *c, ig_sym *sym);  // Shares sym; NULL after an error.

ig_graph *ig_graph_retain(ig_graph *g);  // ig_graph_free drops one reference.

// Inserts a copy of proto (arguments copied deeply) before `before` (NULL: at the end), named after
// `base`; NULL after an error.
ig_node *ig_graph_insert(ig_ctx *c, ig_graph *g, ig_node *before, const ig_node *proto,
                         const char *base);
static inline ig_node *ig_graph_push(ig_ctx *c, ig_graph *g, const ig_node *proto,
                                     const char *base) {
  return ig_graph_insert(c, g, NULL, proto, base);
}
void ig_graph_erase(ig_graph *g, ig_node *n);  // n must have no users; its memory is not freed.
// After recording: drops the autograd histories of the fake tensors.
void ig_graph_forget_history(ig_graph *g);
void ig_graph_move(ig_graph *g, ig_node *n, ig_node *before);  // NULL: to the end
// Replaces `from` by `to` in every user except `to` itself; linear in the number of users.
bool ig_graph_replace(ig_ctx *c, ig_graph *g, ig_node *from, ig_node *to);
// Replaces the arguments of n: npos positional ones, then nkw by keys; copied deeply.
bool ig_node_set_args(ig_ctx *c, ig_node *n, const ig_value *args, size_t npos, size_t nkw,
                      const char *const *keys);
bool ig_node_replace_input(ig_ctx *c, ig_node *n, ig_node *from, ig_node *to);
// Does a stand before b? False if they are the same node or nodes of different graphs.
bool ig_node_precedes(const ig_node *a, const ig_node *b);
bool ig_node_set_val(ig_ctx *c, ig_node *n, const ig_value *val);
// Replaces the value `from` of nodes of g by `to`. Takes time proportional to their number, not to
// the size of the graph.
bool ig_graph_replace_val(ig_ctx *c, const ig_graph *g, const ig_tensor *from, ig_tensor *to);
// Sets the attribute value of n and releases the old one. At most one argument is not NULL.
void ig_node_set_attr(ig_node *n, ig_tensor *constant, ig_graph *sub, void *object);

// Sub-graphs. add: retained, under prefix_N with the first unused N ("true_graph_0"; independent of
// node names); set: under that exact name, replacing the old one. Returns the name; NULL after an
// error.
const char *ig_graph_add_sub(ig_ctx *c, ig_graph *g, const char *prefix, ig_graph *sub);
const char *ig_graph_set_sub(ig_ctx *c, ig_graph *g, const char *name, ig_graph *sub);

// Do both nodes call the same with the same arguments? at: node -> the node that stands for it; of
// a node of b that is not there, itself.
bool ig_node_same(const ig_table *at, const ig_node *a, const ig_node *b);

// A deep copy with sub-graphs, names and metadata; fake tensors, constants and symbols are shared.
// NULL after an error.
ig_graph *ig_graph_copy(ig_ctx *c, const ig_graph *g);

// Parts of the above, for ir/*.c.
void ig_graph_link(ig_graph *g, ig_node *n, ig_node *before);
bool ig_graph_copy_value(ig_ctx *c, ig_graph *g,
                         ig_value *v);  // copies what it points to into the arena
void ig_node_drop(ig_node *n);          // releases val and attribute

// Retains an object of the host for as long as the graph lives.
bool ig_graph_keep_object(ig_ctx *c, ig_graph *g, void *object);

// Names (ir/names.c). An unused name, numbered as in fx: base, base_1 ...; "sum" becomes sum_1
// because it is a Python builtin. Numbers are never reused.
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
bool ig_name_is_reserved(
    const char *name);  // a Python keyword or builtin: such names always get a number
bool ig_graph_rename(ig_ctx *c, ig_graph *g, ig_node *n, const char *base);
// That exact name, even if it is taken: the verifier reports it.
bool ig_graph_set_name(ig_ctx *c, ig_graph *g, ig_node *n, const char *text);
// Gives placeholders their names, user inputs first; calls that have such a name are renamed, in
// order. `shown`, if any: path of a weight -> path that it is named after.
bool ig_graph_rename_placeholders(ig_ctx *c, ig_graph *g, const ig_map *shown);
// Placeholders of sub-graphs take the names of the operands, at every depth (ir/subnames.c). Part
// of ig_graph_rename_placeholders.
bool ig_graph_name_subs(ig_ctx *c, ig_graph *g);
// Renames everything but the first `keep` nodes: from their old names, or continuing the numbering.
bool ig_graph_name_rest(ig_ctx *c, ig_graph *g, size_t keep);

// Invariants of an edited graph: unique names, operands before their users. IG_RUNTIME with the
// first violation, with PyTorch's message.
ig_status ig_graph_lint(ig_ctx *c, const ig_graph *g);

// Printed forms, besides those of ingot/graph.h; freed by ig_text_free, NULL after an error.
char *ig_node_text(ig_ctx *c, const ig_node *n);  // its line of ig_graph_text
// Code of a function that takes and returns trees: n arguments, the first npos positional, the
// others keyword arguments under keys. Without keys the tree is the list of the arguments, not the
// pair of positional and keyword arguments.
typedef struct ig_tree_args {
  const char *const *names;
  size_t n;
  size_t npos;
  const char *const *keys;
} ig_tree_args;
char *ig_graph_tree_code(ig_ctx *c, const ig_graph *g, const ig_tree_args *tree);
// Parts of the code, for functions that take their arguments or return their result in another way.
typedef enum ig_code_part {
  IG_PART_PARAMETERS,  // one per line: x : torch.Tensor = None
  IG_PART_TYPE,        // " -> torch.Tensor", empty without a type
  IG_PART_BODY,        // the lines before the return statement
  IG_PART_RESULT,      // what is returned
} ig_code_part;
char *ig_graph_code_part(ig_ctx *c, const ig_graph *g, ig_code_part part);
// With types, locations and sub-graphs, as a class of that name: print_readable.
char *ig_graph_readable(ig_ctx *c, const ig_graph *g, const char *name, const ig_tree_args *tree);

// Functions of symbolic numbers by their Python names: "_operator.add", "torch.sym_max"; NULL:
// none.
const char *ig_sym_target(ig_expr_kind kind);
// The call that reads a size: args are the tensor's node and the dimension.
ig_node ig_size_call(const ig_value args[2], const ig_value *val);
bool ig_sym_find(const char *target, ig_expr_kind *kind);  // the other way round
const char *ig_sym_base(const char *target);               // base of such nodes' names: "add"

const char *ig_graph_keep_text(ig_ctx *c, ig_graph *g, const char *text);  // one copy; NULL: error

// Metadata (ir/meta.c). The graph's copy of a module stack: of levels, or of a stack of any graph.
// NULL after an error.
const ig_module_stack *ig_graph_keep_levels(ig_ctx *c, ig_graph *g, const ig_module_level *levels,
                                            size_t n);
const ig_module_stack *ig_graph_keep_modules(ig_ctx *c, ig_graph *g, const ig_module_stack *from);
// The graph's copy of frames, and of the frames in a text of others; NULL after an error.
const ig_call_stack *ig_graph_keep_frames(ig_ctx *c, ig_graph *g, const ig_frames *from);
const ig_call_stack *ig_graph_read_frames(ig_ctx *c, ig_graph *g, const char *text);
// The metadata of a node of any graph, for nodes of g. False after an error.
bool ig_graph_keep_meta(ig_ctx *c, ig_graph *g, const ig_metadata *from, ig_metadata *to);
// The paths of the modules in the nodes' stacks, without the root, in order; the list lives in the
// innermost scope. NULL after an error.
const char *const *ig_graph_modules(ig_ctx *c, const ig_graph *g, size_t *n);
// The level that represents no module.
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
