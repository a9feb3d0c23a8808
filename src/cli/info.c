// SPDX-License-Identifier: Apache-2.0
// ingot info: what is in a file.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static void print_line(const char *name, const ig_value *v) {
  char text[512];
  printf("  %-32s %s\n", name, cli_describe(v, text, sizeof text));
}

static void print_inputs(const ig_program *p) {
  const ig_input_spec *specs = NULL;
  size_t n = ig_program_inputs(p, &specs);
  printf("inputs\n");
  for (size_t i = 0; i < n; i++) {
    if (specs[i].kind == IG_INPUT_USER) print_line(specs[i].name, &specs[i].value);
  }
}

static void print_outputs(const ig_program *p) {
  static const char *const kinds[] = {[IG_OUTPUT_BUFFER_MUTATION] = "buffer",
                                      [IG_OUTPUT_INPUT_MUTATION] = "input",
                                      [IG_OUTPUT_GRAD_PARAMETER] = "gradient",
                                      [IG_OUTPUT_GRAD_INPUT] = "gradient",
                                      [IG_OUTPUT_TOKEN] = "token"};
  const ig_output_spec *specs = NULL;
  size_t n = ig_program_outputs(p, &specs);
  printf("outputs\n");
  for (size_t i = 0; i < n; i++) {
    char text[600];
    const char *kind = kinds[specs[i].kind];
    const char *name = specs[i].name ? specs[i].name : "(constant)";
    if (kind) {
      (void)snprintf(text, sizeof text, "%s (%s %s)", name, kind,
                     specs[i].target ? specs[i].target : "");
    }
    print_line(kind ? text : name, &specs[i].value);
  }
}

static void print_weights(const char *title, const ig_weight *list, size_t n) {
  int64_t elements = 0;
  int64_t bytes = 0;
  for (size_t i = 0; i < n; i++) {
    int64_t numel = ig_tensor_numel(list[i].tensor);
    elements += numel;
    bytes += numel * (int64_t)ig_dtype_size(ig_tensor_dtype(list[i].tensor));
  }
  printf("%s: %zu tensors, %" PRId64 " elements, %" PRId64 " bytes\n", title, n, elements, bytes);
  for (size_t i = 0; i < n; i++) {
    ig_value v = ig_of_tensor(list[i].tensor);
    print_line(list[i].name, &v);
  }
}

static int by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int print_operators(const ig_program *p) {
  const ig_graph *g = ig_program_graph(p);
  const char **targets = calloc(ig_graph_node_count(g) + 1, sizeof *targets);
  size_t n = 0;
  if (!targets) return CLI_FAILED;
  for (const ig_node *node = ig_graph_first(g); node; node = ig_node_next(node)) {
    if (ig_node_op(node)) targets[n++] = ig_node_target(node);
  }
  qsort(targets, n, sizeof *targets, by_text);
  printf("operators: %zu calls\n", n);
  for (size_t i = 0, run = 1; i < n; i++, run++) {
    if (i + 1 < n && strcmp(targets[i], targets[i + 1]) == 0) continue;
    printf("  %-32s %zu\n", targets[i], run);
    run = 0;
  }
  free(targets);
  return CLI_OK;
}

static int program_info(ig_ctx *c, const char *path) {
  ig_program *p = NULL;
  if (ig_program_load(c, path, &p) != IG_OK) return cli_fail(c);
  const ig_weight *list = NULL;
  printf("%s: exported program\n", path);
  print_inputs(p);
  print_outputs(p);
  size_t n = ig_program_state(p, &list);
  print_weights("weights", list, n);
  n = ig_program_constants(p, &list);
  if (n) print_weights("constants", list, n);
  int code = print_operators(p);
  ig_program_free(p);
  return code;
}

static int run(ig_ctx *c, int argc, char **argv) {
  cli_args args;
  int code = cli_parse(&cli_info, argc, argv, NULL, 0, 1, &args);
  if (code != CLI_OK) return code;
  const char *path = args.files[0];
  if (!cli_has_suffix(path, ".npz")) return program_info(c, path);
  const ig_weight *list = NULL;
  size_t n = 0;
  if (ig_tensors_load(c, path, &list, &n) != IG_OK) return cli_fail(c);
  print_weights(path, list, n);
  return CLI_OK;
}

const cli_command cli_info = {
    .name = "info",
    .arguments = "FILE",
    .summary = "tell what is in a .pt2 or .npz file",
    .details =
        "Inputs, outputs, weights and how often each operator is called; of an .npz its arrays.",
    .run = run,
};
