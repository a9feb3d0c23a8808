// SPDX-License-Identifier: Apache-2.0
// What tests in Python see of TorchScript archives: `code FILE` prints the code of the root's
// methods, `graph FILE` their graphs, `copy FILE OUT` loads the module and writes it again.
#include <stdio.h>
#include <string.h>

#include "script/code_print.h"
#include "ts/load.h"
#include "ts/write.h"

static bool print_method(ig_ctx *c, ig_sfunction *f, bool graph) {
  if (!ig_sfunction_ensure(c, f)) return false;
  if (graph) {
    ig_str s = ig_str_make(c->alloc);
    ig_sgraph_print(&s, f->graph, true);
    bool ok = !s.failed;
    if (ok) printf("# %s\n%s", f->name, s.at);
    ig_str_free(&s);
    return ok;
  }
  ig_sprint_refs refs = ig_sprint_refs_make(c);
  ig_sprint_text text = ig_sprint_text_make(c);
  static const ig_sprint_options options = {0};
  bool ok = ig_sprint_function(c, f, &options, &refs, &text);
  if (ok) printf("# %s\n%s", f->name, text.text.at);
  ig_sprint_text_free(&text);
  ig_sprint_refs_free(&refs);
  return ok;
}

static bool act(ig_ctx *c, const char *what, ig_sobj_instance *root, const char *out) {
  if (strcmp(what, "copy") == 0) return out && ig_ts_save(c, root, out, NULL, 0) == IG_OK;
  for (size_t i = 0; i < root->cls->methods.n; i++) {
    if (!print_method(c, root->cls->methods.at[i], strcmp(what, "graph") == 0)) return false;
  }
  return true;
}

int main(int argc, char **argv) {
  ig_ctx *c = NULL;
  ig_ts *ts = NULL;
  if (argc < 3 || ig_ctx_create(NULL, &c) != IG_OK) return 2;
  ig_sobj_instance *root = ig_ts_open(c, argv[2], NULL, &ts) == IG_OK ? ig_ts_load(c, ts) : NULL;
  ig_ts_free(ts);
  bool ok = root && act(c, argv[1], root, argc > 3 ? argv[3] : NULL);
  if (!ok) (void)fprintf(stderr, "%s\n", ig_ctx_error(c));
  if (root) ig_svalue_release(ig_of_sobj(root));
  ig_ctx_free(c);
  return ok ? 0 : 1;
}
