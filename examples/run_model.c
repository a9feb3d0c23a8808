// SPDX-License-Identifier: Apache-2.0
// Opens a model file of any kind, describes its inputs, runs it on ones and prints its outputs:
//
//     run_model model.pt2
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "ingot/aten.h"
#include "ingot/model.h"

// A tensor of ones for an input; a dynamic size has the value that the model proposes.
static ig_tensor *ones(ig_ctx *c, const ig_model_port *port) {
  int64_t sizes[IG_MAX_DIM];
  for (int d = 0; d < port->ndim; d++) sizes[d] = port->dims[d]->value;
  return ig_ones_like(c, ig_tensor_empty(c, port->dtype, sizes, port->ndim));
}

// Name, dtype and sizes: of a dynamic one its symbol too.
static void print_port(const char *what, const ig_model_port *port, const ig_tensor *t) {
  printf("%s %s: %s [", what, port->name, ig_dtype_text(ig_tensor_dtype(t)));
  for (int d = 0; d < ig_tensor_ndim(t); d++) {
    if (d > 0) printf(", ");
    if (d < port->ndim && port->dims[d]->name) printf("%s=", port->dims[d]->name);
    printf("%" PRId64, ig_tensor_size(t, d).value);
  }
  printf("]\n");
}

// The first elements.
static void print_values(const ig_tensor *t) {
  int64_t n = ig_tensor_numel(t);
  for (int64_t k = 0; k < n && k < 8; k++) printf(" %g", ig_tensor_get(t, k));
  if (n > 8) printf(" ... (%" PRId64 " in all)", n);
  printf("\n");
}

static ig_status run(ig_ctx *c, ig_model *m, ig_session *s) {
  const ig_model_port *const *ports = NULL;
  size_t n = ig_model_inputs(m, &ports);
  for (size_t i = 0; i < n; i++) {
    if (ports[i]->kind != IG_KIND_TENSOR) continue;
    ig_tensor *x = ones(c, ports[i]);
    ig_status st = ig_session_set(s, ports[i]->name, x);
    if (st != IG_OK) return st;
    print_port("input", ports[i], x);
  }
  ig_status st = ig_session_run(s);
  n = st == IG_OK ? ig_model_outputs(m, &ports) : 0;
  for (size_t i = 0; i < n; i++) {
    const ig_value *v = ig_session_output_at(s, i);
    if (v->kind != IG_KIND_TENSOR) continue;
    print_port("output", ports[i], v->tensor);
    print_values(v->tensor);
  }
  return st;
}

int main(int argc, char **argv) {
  ig_ctx *c = NULL;
  ig_model *m = NULL;
  ig_session *s = NULL;
  if (argc != 2 || ig_ctx_create(NULL, &c) != IG_OK) return 2;
  ig_status st = ig_model_open(c, argv[1], NULL, &m);
  if (st == IG_OK) st = ig_session_create(c, m, &s);
  if (st == IG_OK) st = run(c, m, s);
  if (st != IG_OK) (void)fprintf(stderr, "%s: %s\n", ig_status_text(st), ig_ctx_error(c));
  ig_session_free(s);
  ig_model_free(m);
  ig_ctx_free(c);
  return st == IG_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
