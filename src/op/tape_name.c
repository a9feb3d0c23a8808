// SPDX-License-Identifier: Apache-2.0
// PyTorch's names of autograd functions: AddBackward0 for aten::add. Where several overloads of an
// operator have their own derivatives, PyTorch numbers them.
#include <stdio.h>
#include <string.h>

#include "op/tape.h"

static bool ends_with(const char *text, size_t n, const char *end) {
  size_t m = strlen(end);
  return n > m && memcmp(text + n - m, end, m) == 0;
}

// leaky_relu -> LeakyRelu, _softmax -> Softmax, avg_pool2d -> AvgPool2D, nll_loss_forward ->
// NllLoss
static void camel_case(const char *name, size_t len, char *text, size_t cap) {
  if (ends_with(name, len, "_forward")) len -= strlen("_forward");
  size_t n = 0;
  bool upper = true;
  for (size_t i = 0; i < len && n + 1 < cap; i++) {
    char letter = name[i];
    bool lower = letter >= 'a' && letter <= 'z';
    if (letter != '_') text[n++] = (char)(upper && lower ? letter - 'a' + 'A' : letter);
    upper = !lower && !(letter >= 'A' && letter <= 'Z');
  }
  text[n] = 0;
}

// What an entry shows: itself, or its group.
static const ig_op *shown(const ig_tape_entry *e) {
  return e->group ? e->group->called : e->called;
}

// Copies instead of views are named after the view.
static size_t view_length(const ig_op *op) {
  size_t n = strlen(op->schema.name);
  return op->def->view_copy && op->form == IG_FORM_PLAIN ? n - strlen("_copy") : n;
}

// Names that are not made from the operator's; NULL: there is none.
static const char *given_name(const ig_tape_entry *e) {
  if (e->kind == IG_ENTRY_SLICES) return "CopySlices";
  if (e->kind == IG_ENTRY_MISSING) return "NotImplemented";
  if (e->kind != IG_ENTRY_OP) return NULL;
  const ig_op *op = shown(e);
  return op->form == IG_FORM_INPLACE ? op->def->inplace_history : NULL;
}

void ig_entry_short_name(const ig_tape_entry *e, char *text, size_t cap) {
  const char *given = given_name(e);
  if (given) {
    (void)snprintf(text, cap, "%s", given);
  } else if (e->kind == IG_ENTRY_CUSTOM) {
    size_t len = strlen(e->name);
    bool suffix = ends_with(e->name, len, "Backward");
    (void)snprintf(text, cap, "%.*s", (int)(suffix ? len - 8 : len), e->name);
  } else {
    const ig_op *op = shown(e);
    camel_case(op->schema.name, view_length(op), text, cap);
  }
}

const char *ig_grad_fn_name(const ig_grad_fn *f, char *text, size_t cap) {
  if (f->kind == IG_ENTRY_CUSTOM) {
    (void)snprintf(text, cap, "%s", f->name);
    return text;
  }
  ig_entry_short_name(f, text, cap);
  size_t n = strlen(text);
  if (f->kind == IG_ENTRY_OP && !given_name(f)) {
    const ig_op *op = shown(f);
    (void)snprintf(text + n, cap - n, "Backward%d%s", op->backward,
                   op->schema.name + view_length(op));
  }
  return text;
}

const char *ig_grad_fn_full_name(const ig_grad_fn *f, char *text, size_t cap) {
  const char *given = given_name(f);
  if (!given) return ig_grad_fn_name(f, text, cap);
  (void)snprintf(text, cap, "torch::autograd::%s", given);
  return text;
}
