// SPDX-License-Identifier: Apache-2.0
// Looking at the history from outside.
#include "grad/grad.h"

ig_grad_fn *ig_grad_fn_retain(ig_grad_fn *f) {
  if (f) ig_ref_retain(&f->ref);
  return f;
}

void ig_grad_fn_release(ig_grad_fn *f) {
  if (f) ig_ref_release(&f->ref);
}

// Operands of an operator that are tensors, in order; None and numbers do not count.
static bool is_operand(const ig_grad_fn *f, size_t slot) {
  if (f->kind != IG_ENTRY_OP) return true;
  return f->kept[slot].tensor != NULL;
}

bool ig_grad_fn_next(const ig_grad_fn *f, size_t i, ig_grad_fn **next, uint32_t *index,
                     ig_tensor **leaf) {
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
  return f->host;
}

void ig_grad_fn_set_host(ig_grad_fn *f, void *host) {
  f->host = host;
}
