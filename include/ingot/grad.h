// SPDX-License-Identifier: Apache-2.0
// Gradients: modes, history of tensors, backward, hooks, functions whose backward the host defines.
//
// A result of operators whose operands require grad owns the function that produced it (grad_fn),
// which owns the functions before it. Leaves are tensors without such a function. Error messages
// are PyTorch's.
#ifndef INGOT_GRAD_H_
#define INGOT_GRAD_H_

#include "ingot/tensor.h"

IG_BEGIN_DECLS

// A function of the autograd graph: an operator call, or a function of the host.
typedef struct ig_tape_entry ig_grad_fn;

// Modes of the context; both return the previous setting, so that it can be restored.
IG_API bool ig_grad_is_enabled(const ig_ctx *c);
IG_API bool ig_grad_set_enabled(ig_ctx *c, bool on);
IG_API bool ig_inference_is_enabled(const ig_ctx *c);
IG_API bool ig_inference_set_enabled(ig_ctx *c, bool on);

// One backward pass.
typedef struct ig_backward_args {
  size_t size;  // sizeof(ig_backward_args)
  ig_tensor *const *outputs;
  size_t noutputs;
  ig_tensor *const *seeds;   // gradient per output; NULL, or a member NULL: ones for one element
  ig_tensor *const *inputs;  // compute gradients for these; NULL: for all leaves
  size_t ninputs;
  bool retain_graph;  // keep the graph for another backward (PyTorch's default: create_graph)
  bool create_graph;  // gradients have a history too
  bool allow_unused;  // an input that the outputs do not depend on gets NULL instead of an error
  bool materialize_grads;  // it gets zeros; implies allow_unused
  bool accumulate;         // with inputs: add to their .grad instead of returning `grads`
} ig_backward_args;

// Without inputs (or with accumulate) gradients are added to .grad of leaves and `grads` is not
// used; otherwise grads[i] is the gradient of inputs[i], owned by the innermost scope.
IG_API IG_MUST_USE ig_status ig_backward(ig_ctx *c, const ig_backward_args *args,
                                         ig_tensor **grads);

// Gradient state of a tensor. ig_tensor_requires_grad is in ingot/tensor.h.
IG_API bool ig_tensor_is_leaf(ig_ctx *c, ig_tensor *t);
IG_API ig_tensor *ig_tensor_grad(const ig_tensor *t);  // .grad: borrowed, NULL: none
// .grad = grad (NULL: None). IG_RUNTIME: other dtype, sizes or device.
IG_API void ig_tensor_set_grad(ig_ctx *c, ig_tensor *t, ig_tensor *grad);
IG_API void ig_tensor_retain_grad(ig_ctx *c, ig_tensor *t);  // a non-leaf keeps its .grad too
IG_API bool ig_tensor_retains_grad(const ig_tensor *t);
IG_API bool ig_tensor_is_inference(const ig_tensor *t);
// t.requires_grad_(on) and `t.requires_grad = on`: PyTorch's rules. (The same as
// ig_tensor_set_requires_grad.)
IG_API void ig_tensor_detach_inplace(ig_ctx *c, ig_tensor *t);  // t.detach_()
IG_API ig_tensor *ig_tensor_detach(ig_ctx *c, ig_tensor *t);    // t.detach(): an operator call
IG_API ig_tensor *ig_tensor_get_data(ig_ctx *c,
                                     ig_tensor *t);  // t.data: writes do not increment the version
IG_API void ig_tensor_set_data(ig_ctx *c, ig_tensor *t, ig_tensor *value);  // t.data = value
IG_API bool ig_tensor_is_view(const ig_tensor *t);
IG_API ig_tensor *ig_tensor_base(const ig_tensor *t);  // t._base: borrowed, NULL: no view
// The function that made t: borrowed from t until it is written to; NULL: a leaf. *index (may be
// NULL) is the number of the result that t is.
IG_API ig_grad_fn *ig_tensor_grad_fn(ig_ctx *c, ig_tensor *t, uint32_t *index);

// Functions of the history, as the host shows them.
IG_API ig_grad_fn *ig_grad_fn_retain(ig_grad_fn *f);
IG_API void ig_grad_fn_release(ig_grad_fn *f);  // NULL is allowed.
// "AddBackward0", into `text`; returns text.
IG_API const char *ig_grad_fn_name(const ig_grad_fn *f, char *text, size_t cap);
// The same with the namespace of functions that belong to no operator's rule:
// "torch::autograd::CopySlices".
IG_API const char *ig_grad_fn_full_name(const ig_grad_fn *f, char *text, size_t cap);
// Where the gradients of its tensor operands go: operand i is a result of *next, or *leaf (and then
// *next is NULL), or both are NULL: no gradient. Borrowed. False: there is no operand i.
IG_API bool ig_grad_fn_next(const ig_grad_fn *f, size_t i, ig_grad_fn **next, uint32_t *index,
                            ig_tensor **leaf);
IG_API void *ig_grad_fn_user(const ig_grad_fn *f);  // of a host's function; NULL: an operator
// The host's object for f; the host clears it when that object is destroyed.
IG_API void *ig_grad_fn_host(const ig_grad_fn *f);
IG_API void ig_grad_fn_set_host(ig_grad_fn *f, void *host);

// Hooks. fn may return another gradient (of the same sizes; owned by the innermost scope) or NULL:
// unchanged; errors are set in the context. free_fn(user) is called when the hook is removed or its
// owner dies; it may be NULL. The number identifies the hook; 0 after an error.
typedef ig_tensor *ig_grad_hook_fn(ig_ctx *c, ig_tensor *grad, void *user);
typedef struct ig_grad_hook {
  ig_grad_hook_fn *fn;
  void (*free_fn)(void *user);
  void *user;
} ig_grad_hook;
// Called with the gradient of t: before it is accumulated, or before it is propagated further.
// IG_RUNTIME: t does not require grad.
IG_API uint64_t ig_tensor_add_hook(ig_ctx *c, ig_tensor *t, const ig_grad_hook *hook);
// Called with the leaf itself (as `grad`) after its .grad was accumulated; the return value is
// ignored.
IG_API uint64_t ig_tensor_add_post_hook(ig_ctx *c, ig_tensor *t, const ig_grad_hook *hook);
IG_API void ig_tensor_remove_hook(ig_ctx *c, ig_tensor *t, uint64_t number);

// Hooks on a function: `pre` with the gradients of its results, which it may replace in place;
// otherwise afterwards with those of its operands (replaceable) and those of its results. Members
// may be NULL; replacements are owned by the innermost scope.
typedef struct ig_grad_fn_hook {
  bool pre;
  void (*fn)(ig_ctx *c, ig_tensor **grads, size_t n, ig_tensor *const *of_results, size_t nresults,
             void *user);
  void (*free_fn)(void *user);
  void *user;
} ig_grad_fn_hook;
IG_API uint64_t ig_grad_fn_add_hook(ig_ctx *c, ig_grad_fn *f, const ig_grad_fn_hook *hook);
IG_API void ig_grad_fn_remove_hook(ig_ctx *c, ig_grad_fn *f, uint64_t number);

// A function whose forward the host has computed (under no_grad) and whose backward it defines:
// autograd.Function. Called once, after forward.
typedef struct ig_custom {
  const char *name;  // "ScaleBackward"; copied
  // grads: one per output (NULL: none came; zeros if materialize). d: one per input, to be filled;
  // NULL: None. Gradients are recorded if create_graph is set.
  void (*backward)(ig_ctx *c, ig_grad_fn *f, ig_tensor *const *grads, ig_tensor **d, void *user);
  void (*free_fn)(void *user);  // called when the function is freed, or at once if none is made
  void *user;
  ig_tensor *const *inputs;  // tensor arguments of forward
  size_t ninputs;
  ig_tensor **outputs;      // its tensor results; NULL members allowed. An unmodified input,
  size_t noutputs;          // or one that must lose its history, is replaced by a new view
  ig_tensor *const *saved;  // ctx.save_for_backward: may be inputs, outputs or others, or NULL
  size_t nsaved;
  ig_tensor *const *dirty;  // ctx.mark_dirty: inputs that forward has written to
  size_t ndirty;
  ig_tensor *const *nondiff;  // ctx.mark_non_differentiable
  size_t nnondiff;
  bool materialize;  // ctx.set_materialize_grads: True is the default
  bool divisible;    // ig_grad_fn_divide may be called for it
} ig_custom;

// Makes the outputs results of the function if an input requires grad and gradients are enabled;
// then it returns the function (owned by the outputs), otherwise NULL.
IG_API ig_grad_fn *ig_grad_custom(ig_ctx *c, const ig_custom *f);
// ctx.saved_tensors: with their history, checked for in-place modification. NULL after an error
// (PyTorch's message: modified in-place, or freed by an earlier backward) or when NULL was saved.
IG_API size_t ig_grad_fn_saved_count(const ig_grad_fn *f);
IG_API ig_tensor *ig_grad_fn_saved(ig_ctx *c, ig_grad_fn *f, size_t i);
IG_API bool ig_grad_fn_wants(const ig_grad_fn *f, size_t i);  // ctx.needs_input_grad[i]

// A function of several results has one gradient for all of them: a hook on a result does not see
// what reaches it through the others. again(c, outs, user) computes the results once more (one per
// result, owned by the innermost scope; NULL: without a gradient), with a function for every
// operator; from then on the gradients of f's results go to these. Hooks, retain_grad and gradients
// by a result are then those of the operators.
typedef void ig_grad_again_fn(ig_ctx *c, ig_tensor **outs, void *user);
IG_API bool ig_grad_fn_is_divisible(const ig_grad_fn *f);  // made so, not divided or freed yet
IG_API void ig_grad_fn_divide(ig_ctx *c, ig_grad_fn *f, ig_grad_again_fn *again, void *user);

IG_END_DECLS

#endif
