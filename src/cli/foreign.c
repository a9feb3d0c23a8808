// SPDX-License-Identifier: Apache-2.0
// A process of Python that runs a model with onnxruntime or torch and writes every value: an .npz
// with the members "v" and a name, in order, and "o" and a name, empty, for the outputs.
#include "cli/foreign.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/feed.h"
#include "cli_foreign.inc"  // program: foreign.py

// ---- inputs

static int save_inputs(ig_ctx *c, const ig_model *m, const ig_session *s, const char *path) {
  const ig_model_port *const *ports = NULL;
  size_t n = ig_model_inputs(m, &ports);
  ig_weight *list = calloc(n + 1, sizeof *list);
  size_t k = 0;
  bool ok = list != NULL;
  for (size_t i = 0; ok && i < n; i++) {
    const ig_value *v = ig_session_input_at(s, i);
    if (!v || v->kind != IG_KIND_TENSOR) continue;
    size_t cap = strlen(ports[i]->name) + 2;
    char *name = malloc(cap);
    ok = name != NULL;
    if (!ok) break;
    (void)snprintf(name, cap, "i%s", ports[i]->name);
    list[k++] = (ig_weight){.name = name, .tensor = v->tensor};
  }
  int code = ok ? cli_save_arrays(c, path, list, k) : cli_no_memory();
  for (size_t i = 0; i < k; i++) free((void *)list[i].name);
  free(list);
  return code;
}

// ---- values

static int add_values(ig_ctx *c, const char *path, ig_run_trace *t) {
  cli_arrays a;
  int code = cli_load_arrays(c, path, &a);
  for (size_t i = 0; code == CLI_OK && i < a.n; i++) {
    const ig_weight *w = &a.list[i];
    bool value = w->name[0] == 'v' && w->tensor;
    bool output = w->name[0] == 'o';
    ig_status st = IG_OK;
    if (value) st = ig_run_trace_add(t, w->name + 1, w->tensor);
    if (output) st = ig_run_trace_output(t, w->name + 1);
    if (st != IG_OK) code = cli_fail(c, path, CLI_FAILED);
  }
  cli_free_arrays(&a);
  return code;
}

static int run_python(const char *runtime, const char *file, const char *given, const char *got) {
  const char *python = getenv("INGOT_PYTHON");
  const char *words[] = {
      python && python[0] ? python : "python3", "-c", program, runtime, file, given, got, NULL};
  (void)fflush(stdout);
  int ended = ig_host_run(words);
  if (ended < 0 || ended == 127) {
    return cli_error(CLI_FAILED,
                     "%s needs Python, and '%s' cannot be started; INGOT_PYTHON names one that has "
                     "the package",
                     runtime, words[0]);
  }
  return ended == 0 ? CLI_OK : CLI_FAILED;  // it has said why
}

int cli_foreign_run(ig_ctx *c, const char *runtime, const ig_model *m, const ig_session *s,
                    ig_run_trace *t) {
  char folder[200];
  char given[256];
  char got[256];
  const char *where = getenv("TMPDIR");
  (void)snprintf(folder, sizeof folder, "%.150s/ingot-XXXXXX", where ? where : "/tmp");
  if (!ig_host_temporary(folder)) return cli_error(CLI_IO, "%s: %s", folder, strerror(errno));
  (void)snprintf(given, sizeof given, "%s/given.npz", folder);
  (void)snprintf(got, sizeof got, "%s/values.npz", folder);
  int code = save_inputs(c, m, s, given);
  if (code == CLI_OK) code = run_python(runtime, ig_model_name(m), given, got);
  if (code == CLI_OK) code = add_values(c, got, t);
  (void)remove(given);
  (void)remove(got);
  (void)remove(folder);
  return code;
}
