// SPDX-License-Identifier: Apache-2.0
// Inspecting the autograd graph.
#include "grad/grad.h"

ig_grad_fn *ig_grad_fn_retain(ig_grad_fn *f) {
  if (f) ig_ref_retain(&f->ref);
  return f;
}

void ig_grad_fn_release(ig_grad_fn *f) {
  if (f) ig_ref_release(&f->ref);
}

// Operands of an operator that are tensors, or numbers passed for tensors; None does not count.
static bool is_operand(const ig_grad_fn *f, size_t slot) {
  if (f->kind != IG_ENTRY_OP || f->kept[slot].tensor) return true;
  size_t i = f->nargs;
  while (i > 0 && f->at[i - 1] > slot) i--;
  return i > 0 && f->op->schema.args[i - 1].type == IG_TYPE_TENSOR &&
         f->args[i - 1].kind != IG_KIND_NONE && f->args[i - 1].kind != IG_KIND_LIST;
}

bool ig_grad_fn_next(const ig_grad_fn *f, size_t i, ig_grad_fn **next, uint32_t *index,
                     ig_tensor **leaf) {
  if (f->group) f = f->group;
  for (size_t slot = 0; slot < f->nslots; slot++) {
    if (!is_operand(f, slot) || i-- > 0) continue;
    *next = f->edges[slot].entry;
    *index = f->edges[slot].index;
    *leaf = f->edges[slot].leaf;
    return true;
  }
  return false;
}

void *ig_grad_fn_user(const ig_grad_fn *f) {
  return f->user;
}

void *ig_grad_fn_host(const ig_grad_fn *f) {
  return (f->group ? f->group : f)->host;
}

void ig_grad_fn_set_host(ig_grad_fn *f, void *host) {
  (f->group ? f->group : f)->host = host;
}
