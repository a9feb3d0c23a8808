// SPDX-License-Identifier: Apache-2.0
// Operators that cannot be preserved, with PyTorch's messages.
#include <string.h>

#include "pass/pass.h"

// Metadata queries, as PyTorch lists them; most of them are not operators here.
static bool is_metadata(const char *target) {
  static const char *const names[] = {
      "aten.is_contiguous.default",
      "aten.is_contiguous.memory_format",
      "aten.is_strides_like_format.default",
      "aten.is_non_overlapping_and_dense.default",
      "aten.size.default",
      "aten.sym_size.default",
      "aten.stride.default",
      "aten.sym_stride.default",
      "aten.storage_offset.default",
      "aten.sym_storage_offset.default",
      "aten.numel.default",
      "aten.sym_numel.default",
      "aten.dim.default",
      "prim.device.default",
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcmp(names[i], target) == 0) return true;
  }
  return false;
}

static bool has_alias(const ig_op *op) {
  for (size_t i = 0; i < op->schema.nargs; i++) {
    if (op->schema.args[i].alias) return true;
  }
  return false;
}

static ig_status check_preserved(ig_ctx *c, const char *name) {
  const ig_op *op = ig_op_find(c, name);
  const char *why = NULL;
  if (is_metadata(name)) {
    why =
        "%s is a metadata query function, it will be preserved implicitly in our tracing system. "
        "Please file an issue on github if you see otherwise";
  } else if (!op) {
    return ig_fail(c, IG_INVALID, "decompose: unknown operator '%s'", name);
  } else if (op->def->may_alias) {
    why = "We can't detect %s as a functional op statically, so we can't preserve it";
  } else if (has_alias(op)) {
    why = "%s is a mutating/aliasing op, we can't preserve it as is";
  } else if (!(op->facts & IG_FACT_IMPLICIT)) {
    why = "%s is not CompositeImplicitAutograd op, so we will preserve it as is";
  } else {
    return IG_OK;
  }
  ig_fail_text(c, IG_RUNTIME, why, op ? op->target : name);
  return c->status;
}

ig_status ig_decompose_check_preserve(ig_ctx *c, const char *const *ops) {
  for (; ops && *ops && c->status == IG_OK; ops++) (void)check_preserved(c, *ops);
  return c->status;
}
