// SPDX-License-Identifier: Apache-2.0
// Lists whose length an operator took from a dynamic size (split, unbind). Where conditions on
// sizes are recorded, a script may take such a list apart, which states its length; what else it
// does with the list holds for the example only.
#include "script/builtin.h"
#include "script/form.h"
#include "script/interp_record.h"
#include "sym/env.h"

static bool takes_apart(ig_sunit *u, const ig_snode *n) {
  if (n->form == IG_SFORM_LIST_UNPACK) return true;
  const ig_soperator *found = ig_soperator_of_node(u, n);
  return found && found->builtin && found->builtin->run == ig_sb_list_item;
}

// Does anything in the block depend on how long the list is?
static bool needs_length(ig_sunit *u, const ig_sblock *b, const ig_svalue *list) {
  for (size_t k = 0; k < b->n_out; k++) {
    if (b->out[k] == list) return true;
  }
  for (const ig_snode *n = b->first; n; n = n->next) {
    for (size_t k = 0; k < n->n_in; k++) {
      if (n->in[k] == list && !takes_apart(u, n)) return true;
    }
    for (size_t k = 0; k < n->n_blocks; k++) {
      if (needs_length(u, n->blocks[k], list)) return true;
    }
  }
  return false;
}

size_t ig_srecord_decisions(const ig_ctx *c) {
  if (!c->mode->capture || !ig_env_records_choices(c)) return 0;
  const ig_env *env = c->mode->sym->env;
  return env->guards.n + env->asserts.n;
}

bool ig_srecord_may_count(ig_ctx *c, const ig_sframe *f, const ig_sinsn *i, size_t decisions) {
  bool list = i->n_out == 1 && i->op->schema.nrets == 1 && i->op->schema.rets[0].list;
  if (!list || ig_srecord_decisions(c) == decisions) return true;
  if (!needs_length(f->code->unit, i->node->owner, i->node->out[0])) return c->status == IG_OK;
  ig_fail_text(c, IG_UNSUPPORTED,
               "%s: the length of its list depends on a dynamic size, and the script uses the list "
               "as a whole or asks for its length: it would be right for the sizes of the example "
               "only. Take the list apart (a, b = ...), or make the size static",
               i->op->target);
  return false;
}
