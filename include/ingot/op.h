// SPDX-License-Identifier: Apache-2.0
// Operators: every computation goes through ig_call.
#ifndef INGOT_OP_H_
#define INGOT_OP_H_

#include "ingot/tensor.h"

IG_BEGIN_DECLS

// An ig_op is an operator overload with its parsed schema. Immutable, shared by all threads and
// contexts.

// "aten::add.Tensor", "aten::mm" or "aten.mm.default"; NULL when unknown (no error is set).
IG_API const ig_op *ig_op_find(ig_ctx *c, const char *name);
IG_API const char *ig_op_target(const ig_op *op);  // "aten.add.Tensor", "aten.mm.default"
IG_API const char *ig_op_schema(const ig_op *op);  // full schema text
IG_API size_t ig_op_returns(const ig_op *op);

// Calls op with one value per schema argument; outs receives one value per schema return (none
// after an error). A list result lives as long as the innermost scope.
//  - capture open: computes fake results by the shape rule and records one node;
//  - otherwise: runs the kernel, or the decomposition of a composite operator, and keeps a tape
//    entry if an operand requires grad. Fake operands give fake results.
IG_API void ig_call(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs);

// Used by the generated ingot/aten.h: operator by number, leading values given, the rest by
// default. Returns the first result, NULL after an error or if it is not a tensor.
IG_API ig_tensor *ig_call_id(ig_ctx *c, unsigned id, const ig_value *given, size_t n);
// The same with all results.
IG_API void ig_call_id_outs(ig_ctx *c, unsigned id, const ig_value *given, size_t n,
                            ig_value *outs);

// A call from a host language: positional values, then `nkw` keyword values.
typedef struct ig_bound {
  const char *ns;    // NULL: aten
  const char *name;  // "add": all overloads are tried in PyTorch's order
  const ig_value *values;
  size_t npos;
  size_t nkw;
  const char *const *keys;
} ig_bound;

IG_API bool ig_op_is_name(ig_ctx *c,
                          const char *name);  // Does an aten operator with this name exist?
IG_API size_t ig_op_count(ig_ctx *c);
IG_API const ig_op *ig_op_at(ig_ctx *c, size_t i);

// Chooses the overload by its schema, fills defaults and calls it; *chosen (may be NULL) receives
// it. outs must have room for IG_MAX_RETURNS values. IG_BAD_TYPE lists candidates.
#define IG_MAX_RETURNS 12
IG_API void ig_call_bound(ig_ctx *c, const ig_bound *call, const ig_op **chosen, ig_value *outs);
// The same for a given overload.
IG_API void ig_call_overload(ig_ctx *c, const ig_op *op, const ig_bound *call, ig_value *outs);

IG_END_DECLS

#endif
