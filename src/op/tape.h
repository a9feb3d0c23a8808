// SPDX-License-Identifier: Apache-2.0
// The autograd graph: a tape entry saves what a .vjp rule needs, and edges to the entries (or
// leaves) that produced its operands. A result owns the entry that produced it, an entry its edges,
// so an unused tape is freed with its last tensor.
//
// An entry saves aliases of tensors (same memory, no history) together with the edges and versions
// that restore an alias's history, never a tensor that could own the entry: that would be a cycle.
// What .keep does not name is saved as a shell, which has sizes but no data. Data that was freed or
// overwritten in the meantime is replaced by shells as well: a rule that reads them returns a
// shell, and that is how the backward pass notices (grad/apply.c).
#ifndef OP_TAPE_H_
#define OP_TAPE_H_

#include "ingot/grad.h"
#include "op/op.h"

typedef struct ig_tape_entry ig_tape_entry;

// Does any tensor operand require a gradient, and are gradients recorded?
bool ig_tape_wanted(const ig_ctx *c, const ig_op *op, const ig_value *args);

// Before the call: saves operands (aliases, shells, for an in-place call copies of what it will
// overwrite) and their edges. NULL if no gradient is needed or after an error.
ig_tape_entry *ig_tape_open(ig_ctx *c, const ig_op *op, const ig_value *args);
// After the call: saves results and makes the entry the history of outs. Takes ownership of the
// entry (NULL is allowed); drops it after an error.
void ig_tape_close(ig_ctx *c, ig_tape_entry *e, const ig_op *op, const ig_value *args,
                   const ig_value *outs);
// Records the view relation of the result of a view operator, with history or without.
void ig_tape_view(ig_ctx *c, const ig_op *op, const ig_value *args, const ig_value *outs);
// Groups the parts of an operator that has no derivative of its own here but one in PyTorch: the
// autograd graph then shows one function with that operator's name and operands. NULL if nothing is
// recorded or a group is already open.
ig_tape_entry *ig_tape_group_open(ig_ctx *c, const ig_op *op, const ig_value *args,
                                  ig_mode_scope *mode);
void ig_tape_group_close(ig_ctx *c, ig_tape_entry *group, const ig_mode_scope *mode);
// In-place and out calls: false (and an error with PyTorch's message) if `self` may not be
// modified, such as a leaf that requires grad.
bool ig_tape_may_write(ig_ctx *c, const ig_op *op, ig_tensor *self);

// The target of a gradient.
typedef struct ig_edge {
  ig_tape_entry *entry;  // retained: result `index` of it; or
  ig_tensor *leaf;       // retained; both NULL: no gradient
  uint32_t index;
} ig_edge;

// A saved tensor of an entry.
typedef struct ig_saved {
  ig_tensor *tensor;  // alias, leaf itself, copy or shell; NULL: not a tensor
  uint32_t version;   // version of its memory when it was saved
  bool bytes;         // saved for its elements
  bool result;        // CUSTOM: a saved tensor that is a result of the entry itself
} ig_saved;

typedef enum ig_hook_kind {
  IG_HOOK_TENSOR,
  IG_HOOK_ACCUMULATED,  // after accumulation, on a leaf
  IG_HOOK_PRE,          // on an entry, before it runs
  IG_HOOK_POST,
} ig_hook_kind;

// A hook, owned by the tensor it was registered on and by the entry that was its history at that
// time.
typedef struct ig_hook {
  ig_ref ref;
  ig_alloc alloc;
  uint64_t number;
  ig_hook_kind kind;
  uint32_t index;  // TENSOR: the result it belongs to
  bool removed;
  ig_grad_hook_fn *fn;
  void (*many)(ig_ctx *c, ig_tensor **grads, size_t n, ig_tensor *const *of_results,
               size_t nresults, void *user);  // PRE, POST
  void (*free_fn)(void *user);
  void *user;
} ig_hook;
typedef IG_VEC(ig_hook *) ig_hooks;

typedef enum ig_entry_kind {
  IG_ENTRY_OP,
  IG_ENTRY_CUSTOM,   // the host's backward
  IG_ENTRY_SLICES,   // history of a base whose view was written in place by `inner`
  IG_ENTRY_GROUP,    // never runs: what the entries of an operator's parts show from outside
  IG_ENTRY_MISSING,  // of an operator without a derivative: refuses to run
} ig_entry_kind;

// A result that retains its gradient. Not retained itself: it unregisters when it is freed.
typedef struct ig_retainer {
  uint32_t index;
  ig_tensor *tensor;
} ig_retainer;

// A view that cannot be described by strides over its base because the dtype changes: first the
// views of `parent`, then a strided view like `input`, then op.
typedef struct ig_view_step {
  ig_ref ref;
  ig_alloc alloc;
  struct ig_view_step *parent;  // of the base itself: NULL
  const ig_op *op;
  ig_tensor *input;   // shell of its operand
  ig_tensor *output;  // shell of its result
  ig_value args[4];   // those after self; nothing that points anywhere
} ig_view_step;

struct ig_tape_entry {
  ig_ref ref;
  ig_alloc alloc;
  size_t size;
  uint64_t time;  // edges lead to smaller ones
  ig_entry_kind kind;
  bool freed;            // data was freed by a backward
  const ig_op *op;       // the functional operator whose rule applies
  const ig_op *called;   // the one that was called, perhaps in-place
  ig_tape_entry *group;  // retained: the group that this entry is part of; NULL: none
  ig_value *args;        // as the rule sees them, tensors from `kept`
  size_t nargs;
  const size_t *at;  // first slot of each argument
  ig_edge *edges;    // per slot
  ig_saved *kept;    // per slot
  size_t nslots;
  size_t self_slot;   // in-place: the operand that is modified
  ig_value *outs;     // per return, tensors from `results`
  ig_saved *results;  // per result, a list counts as its elements
  size_t nouts;
  size_t nresults;
  size_t outs_size;  // block of `outs`, 0: within the entry
  ig_hooks hooks;
  IG_VEC(ig_retainer) retainers;

  // CUSTOM
  char *name;
  void (*backward)(ig_ctx *c, ig_grad_fn *f, ig_tensor *const *grads, ig_tensor **d, void *user);
  void (*free_fn)(void *user);
  void *user;
  bool materialize;
  bool divisible;   // there is time before it for the functions of ig_grad_fn_divide
  bool divided;     // slot i is result i, computed by other functions: gradients are passed on
  ig_saved *saved;  // with saved_edges
  ig_edge *saved_edges;
  size_t nsaved;

  // SLICES: slot 0 is the base, slot 1 + i is slot i of inner
  ig_tape_entry *inner;
  uint32_t inner_index;     // the result of inner that was written
  ig_tensor *view;          // shell of the modified view
  ig_view_step *view_step;  // how it was created

  void *work;           // state of the current backward pass
  void *host;           // the host's object for it
  ig_tape_entry *next;  // while entries are destroyed
};

// How a view was created decides whether it may be modified in-place.
typedef enum ig_creation {
  IG_CREATED_PLAIN,
  IG_CREATED_CUSTOM,
  IG_CREATED_MULTI,
  IG_CREATED_NO_GRAD,
  IG_CREATED_MULTI_NO_GRAD,  // both
  IG_CREATED_INFERENCE,
} ig_creation;

// Autograd state of a tensor, created on first use.
struct ig_autograd {
  ig_tape_entry *entry;  // retained; NULL: a leaf
  uint32_t index;
  uint32_t epoch;  // number of changes of the history, compared by views
  ig_tensor *grad;
  bool retain_grad;
  ig_hooks hooks;   // all hooks of this tensor; those with an entry are registered there too
  ig_tensor *base;  // retained: this is a view of it
  bool leaf_views;  // of a base: a view was declared to require grad, a leaf that retains the base
  uint32_t base_epoch;
  ig_creation creation;
  ig_view_step *step;
  void *work;  // state of the current backward pass
};

struct ig_autograd *ig_tape_state(ig_ctx *c,
                                  ig_tensor *t);  // created if missing; NULL after an error

static inline uint32_t ig_tape_epoch(const ig_tensor *t) {
  return t->autograd ? t->autograd->epoch : 0;
}
// The base was modified and this view's history is older.
static inline bool ig_tape_is_stale(const ig_tensor *t) {
  const struct ig_autograd *a = t->autograd;
  return a && a->base && a->base_epoch != ig_tape_epoch(a->base);
}
static inline bool ig_tape_requires_grad(const ig_tensor *t) {
  return t->requires_grad || (ig_tape_is_stale(t) && t->autograd->base->requires_grad);
}
void ig_tape_refresh(ig_ctx *c, ig_tensor *t);  // refreshes the history of a view

// Retained; empty if t requires no gradient. A stale view is refreshed.
ig_edge ig_edge_of(ig_ctx *c, ig_tensor *t);
ig_edge ig_edge_copy(ig_edge e);
void ig_edge_drop(ig_edge *e);

// An entry with room for `nslots` slots and `extra` bytes behind, all zero; owned by the caller.
ig_tape_entry *ig_entry_create(ig_ctx *c, ig_entry_kind kind, size_t nslots, size_t extra,
                               void **room);
void ig_entry_stamp(ig_ctx *c, ig_tape_entry *e);  // later than all its edges
bool ig_entry_keep(ig_ctx *c, ig_saved *s, ig_tensor *t, bool bytes);
bool ig_entry_keep_result(ig_ctx *c, ig_saved *s, ig_tensor *t, bool bytes);
void ig_entry_free_bytes(ig_ctx *c, ig_tape_entry *e);

// If the function of t was divided, the one that took its place becomes the history of t.
bool ig_tape_undivide(ig_ctx *c, ig_tensor *t);
// Gives t the history (e, index); retains e.
bool ig_tape_set_history(ig_ctx *c, ig_tensor *t, ig_tape_entry *e, uint32_t index);
// t was modified in-place by e: the same, or for a view the history of its base. e is retained.
bool ig_tape_rebase(ig_ctx *c, ig_tensor *t, ig_tape_entry *e, uint32_t index);
// Checks an in-place write that is recorded; false: an error with PyTorch's message.
bool ig_tape_check_view_write(ig_ctx *c, ig_tensor *self);
// e is about to become the history of self. False and an error: it leads to a leaf that is a view
// of the same memory.
bool ig_tape_check_cycle(ig_ctx *c, const ig_tape_entry *e, const ig_tensor *self);
// out is a view of self, made by op.
void ig_tape_relate(ig_ctx *c, const ig_op *op, const ig_value *args, ig_tensor *out,
                    ig_creation creation);
// The view described by `shell` (created through `step`, may be NULL) over another base: `base` has
// the sizes and strides of `of`, the base of the original view.
ig_tensor *ig_tape_replay(ig_ctx *c, ig_tensor *base, const ig_tensor *of, const ig_view_step *step,
                          const ig_tensor *shell);

void ig_hook_release(ig_hook *h);
void ig_hooks_free(ig_alloc alloc, ig_hooks *hooks);

// Has the operator no derivative, so that its history refuses to run? Programs are differentiated
// with the rules that there are: they contain calls that users do not make, such as aten.copy.
bool ig_tape_refuses(const ig_ctx *c, const ig_op *op);

// Name without "Backward0".
void ig_entry_short_name(const ig_tape_entry *e, char *text, size_t cap);

#endif
