// SPDX-License-Identifier: Apache-2.0
// Custom operators: a schema, and functions that implement it. They are global to the process and
// visible to every context and thread, beside the built-in ones, which do not change.
#ifndef INGOT_LIBRARY_H_
#define INGOT_LIBRARY_H_

#include "ingot/op.h"

IG_BEGIN_DECLS

// Takes one value per schema argument and returns one per schema return. Returned tensors belong to
// the innermost scope, or are operands. Errors are set in the context.
typedef void ig_impl_fn(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs,
                        void *user);
typedef struct ig_impl {
  ig_impl_fn *fn;
  void *user;
  void (*release)(
      void *user);  // Called when no thread runs the function any more; NULL: nothing to do.
} ig_impl;

typedef enum ig_impl_kind {
  IG_IMPL_KERNEL,     // the kernel; runs below autograd, its calls leave no history
  IG_IMPL_FAKE,       // fake results from fake operands
  IG_IMPL_COMPOSITE,  // in terms of other operators: its decomposition, gradient and shape rule
  IG_IMPL_AUTOGRAD,   // called instead when a gradient is needed; redispatches below autograd
  IG_IMPL_ABSENT,     // called where a fake one is needed but missing: reports the error
  IG_IMPL_COUNT
} ig_impl_kind;

// Tags, as bits.
typedef enum ig_tag {
  IG_TAG_CORE,
  IG_TAG_DATA_DEPENDENT_OUTPUT,
  IG_TAG_DYNAMIC_OUTPUT_SHAPE,
  IG_TAG_FLEXIBLE_LAYOUT,
  IG_TAG_GENERATED,
  IG_TAG_INPLACE_VIEW,
  IG_TAG_MAYBE_ALIASING_OR_MUTATING,
  IG_TAG_NEEDS_FIXED_STRIDE_ORDER,
  IG_TAG_NONDETERMINISTIC_BITWISE,
  IG_TAG_NONDETERMINISTIC_SEEDED,
  IG_TAG_POINTWISE,
  IG_TAG_PT2_COMPLIANT,
  IG_TAG_VIEW_COPY,
  IG_TAG_COUNT
} ig_tag;
IG_API const char *ig_tag_text(ig_tag tag);  // "pt2_compliant_tag"

// "lib::name.overload(Tensor x, int n=1) -> Tensor". IG_SYNTAX: no such schema; IG_RUNTIME: defined
// already, or the name is a built-in operator's. The operator lives as long as the process, even
// after ig_library_undefine, because graphs may refer to it; it can only no longer be found.
IG_API IG_MUST_USE ig_status ig_library_define(ig_ctx *c, const char *schema, unsigned tags,
                                               const ig_op **out);
IG_API void ig_library_undefine(const ig_op *op);

// Takes ownership of `impl`, even after an error. The newest implementation of a kind is used.
// IG_INVALID: the operator is built in.
IG_API IG_MUST_USE ig_status ig_library_implement(ig_ctx *c, const ig_op *op, ig_impl_kind kind,
                                                  const ig_impl *impl);
IG_API bool ig_library_has(const ig_op *op, ig_impl_kind kind);

IG_API bool ig_op_is_user(const ig_op *op);   // made by ig_library_define
IG_API unsigned ig_op_tags(const ig_op *op);  // tag bits of a custom operator
IG_API bool ig_op_mutates(const ig_op *op);   // Does the schema mark an argument as mutated?

IG_END_DECLS

#endif
