// SPDX-License-Identifier: Apache-2.0
#include "op/outside.h"

#include "base/budget.h"

ig_outside ig_outside_enter(ig_ctx *c, struct ig_generator *generator) {
  enum {
    ALL = IG_MODE_CAPTURE | IG_MODE_REWRITE | IG_MODE_RENEWAL | IG_MODE_DRAFT | IG_MODE_SYM |
          IG_MODE_FAKE | IG_MODE_NO_GRAD | IG_MODE_INTERCEPT
  };
  ig_mode_change change = {ALL | (generator ? IG_MODE_GENERATOR : 0),
                           {.no_grad = true, .generator = generator}};
  return (ig_outside){ig_mode_push(c, &change), c->op_target, c->op, c->op_args};
}

bool ig_outside_leave(ig_ctx *c, const ig_outside *o) {
  bool ok = c->status == IG_OK;
  if (!ok && !ig_status_is_final(c->status)) ig_ctx_clear(c);
  ig_mode_pop(c, &o->mode);
  c->op_target = o->op_target;
  c->op_args = o->op_args;
  c->op = o->op;
  return ok;
}
