// SPDX-License-Identifier: Apache-2.0
// Graphs of an archive's methods: as text, and whether there are any.
#include "base/budget.h"
#include "ir/print.h"
#include "ts/load.h"

static bool print_method(ig_ctx *c, ig_sfunction *f, bool inlined, ig_str *s) {
  if (!ig_sfunction_ensure(c, f)) return false;
  ig_sgraph *copy = inlined ? ig_sgraph_copy(f->graph) : NULL;
  if (inlined && (!copy || !ig_sgraph_inline(c, f->unit, copy))) {
    ig_sgraph_free(copy);
    return false;
  }
  ig_str_add(s, "%s# %s\n", s->n ? "\n" : "", f->qualified);
  ig_sgraph_print(s, copy ? copy : f->graph, true);
  ig_sgraph_free(copy);
  return true;
}

// Classes of modules in the order in which the sources mention them.
static bool print_all(ig_ctx *c, ig_sunit *u, const ig_sclass *root, bool inlined, ig_str *s) {
  for (size_t i = 0; i < root->methods.n; i++) {
    if (!print_method(c, root->methods.at[i], inlined, s)) return false;
  }
  for (size_t k = 0; !inlined && k < u->classes.n; k++) {
    const ig_sclass *of = u->classes.at[k];
    if (of == root || !of->module) continue;
    for (size_t i = 0; i < of->methods.n; i++) {
      if (!print_method(c, of->methods.at[i], false, s)) return false;
    }
  }
  return true;
}

char *ig_ts_graphs(ig_ctx *c, const ig_ts *ts, bool inlined) {
  if (c->status != IG_OK) return NULL;
  ig_sunit *u = NULL;
  ig_str s = ig_str_make(c->alloc);
  const ig_account outer = ig_account_open(c, &ts->zip.limits);
  const ig_sclass *root = ig_ts_declare(c, ts, &u);
  bool ok = root && print_all(c, u, root, inlined, &s);
  if (!ok) ig_str_free(&s);
  ig_sunit_close(u);
  ig_account_close(c, &outer);
  return ok ? ig_print_end(c, &s) : NULL;
}

ig_status ig_ts_check(ig_ctx *c, const ig_ts *ts) {
  if (c->status != IG_OK) return c->status;
  ig_sunit *u = NULL;
  const ig_account outer = ig_account_open(c, &ts->zip.limits);
  bool ok = ig_ts_declare(c, ts, &u) != NULL;
  // What is compiled declares what it calls.
  for (size_t i = 0; ok && i < u->all_functions.n; i++) {
    ok = ig_sfunction_ensure(c, u->all_functions.at[i]);
  }
  ig_sunit_close(u);
  ig_account_close(c, &outer);
  return c->status;
}
