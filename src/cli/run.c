// SPDX-License-Identifier: Apache-2.0
// ingot run: a program on arrays.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

enum { SHOWN = 6 };  // elements printed of a result

typedef struct job {
  ig_ctx *c;
  ig_program *program;
  const ig_weight *given;
  size_t ngiven;
  ig_value *inputs;  // one per user input
  ig_value *results;
} job;

static ig_tensor *find(const job *j, const char *name) {
  for (size_t i = 0; i < j->ngiven; i++) {
    if (strcmp(j->given[i].name, name) == 0) return j->given[i].tensor;
  }
  return NULL;
}

static bool is_tensor_input(const ig_input_spec *s) {
  return s->kind == IG_INPUT_USER && s->value.kind == IG_KIND_NODE;
}

static void list_names(const job *j, const ig_input_spec *specs, size_t n) {
  (void)fprintf(stderr, "  the program takes:");
  for (size_t i = 0; i < n; i++) {
    if (is_tensor_input(&specs[i])) (void)fprintf(stderr, " %s", specs[i].name);
  }
  (void)fprintf(stderr, "\n  the file has:");
  for (size_t i = 0; i < j->ngiven; i++) (void)fprintf(stderr, " %s", j->given[i].name);
  (void)fprintf(stderr, "\n");
}

// Arrays are matched by name; if none of the names fits, by their order (numpy.savez(f, x, y)).
static int match_inputs(job *j, const char *file) {
  const ig_input_spec *specs = NULL;
  size_t n = ig_program_inputs(j->program, &specs);
  size_t wanted = 0;
  size_t named = 0;
  for (size_t i = 0; i < n; i++) {
    wanted += is_tensor_input(&specs[i]);
    named += is_tensor_input(&specs[i]) && find(j, specs[i].name);
  }
  bool by_order = named == 0 && wanted == j->ngiven;
  if (!by_order && (named != wanted || wanted != j->ngiven)) {
    (void)fprintf(stderr, "ingot: %s: its arrays are not the inputs of the program\n", file);
    list_names(j, specs, n);
    return CLI_FAILED;
  }
  size_t next = 0;
  size_t out = 0;
  for (size_t i = 0; i < n; i++) {
    if (specs[i].kind != IG_INPUT_USER) continue;
    j->inputs[out++] = !is_tensor_input(&specs[i]) ? specs[i].value
                       : by_order                  ? ig_of_tensor(j->given[next++].tensor)
                                                   : ig_of_tensor(find(j, specs[i].name));
  }
  return CLI_OK;
}

// ---- results

static bool is_result(const ig_output_spec *s) {
  return s->kind == IG_OUTPUT_USER || s->kind == IG_OUTPUT_LOSS;
}

static void print_result(const char *name, const ig_value *v) {
  char text[512];
  printf("%s: %s", name, cli_describe(v, text, sizeof text));
  if (v->kind == IG_KIND_TENSOR) {
    int64_t n = ig_tensor_numel(v->tensor);
    for (int64_t i = 0; i < n && i < SHOWN; i++) {
      printf("%s%.9g", i ? " " : "  ", ig_tensor_get(v->tensor, i));
    }
    if (n > SHOWN) printf(" ...");
  }
  printf("\n");
}

// Names of the results; one that occurs before gets its number.
static void name_results(const job *j, char (*names)[256]) {
  const ig_output_spec *specs = NULL;
  size_t n = ig_program_outputs(j->program, &specs);
  size_t out = 0;
  for (size_t i = 0; i < n; i++) {
    if (!is_result(&specs[i])) continue;
    (void)snprintf(names[out], sizeof *names, "%s", specs[i].name ? specs[i].name : "output");
    for (size_t k = 0; k < out; k++) {
      if (strcmp(names[k], names[out]) != 0) continue;
      (void)snprintf(names[out], sizeof *names, "output_%zu", out);
      break;
    }
    out++;
  }
}

static int save_results(const job *j, size_t n, char (*names)[256], const char *path) {
  ig_weight *list = calloc(n + 1, sizeof *list);
  size_t count = 0;
  if (!list) return CLI_FAILED;
  for (size_t i = 0; i < n; i++) {
    if (j->results[i].kind == IG_KIND_TENSOR)
      list[count++] = (ig_weight){names[i], j->results[i].tensor};
  }
  ig_status st = ig_tensors_save(j->c, path, list, count);
  free(list);
  return st == IG_OK ? CLI_OK : cli_fail(j->c);
}

static int run_program(job *j, const char *outputs) {
  size_t nin = ig_program_user_inputs(j->program);
  size_t nout = ig_program_user_outputs(j->program);
  if (ig_program_run(j->c, j->program, j->inputs, nin, j->results) != IG_OK) return cli_fail(j->c);
  char(*names)[256] = calloc(nout + 1, sizeof *names);
  if (!names) return CLI_FAILED;
  name_results(j, names);
  int code = outputs ? save_results(j, nout, names, outputs) : CLI_OK;
  for (size_t i = 0; i < nout && code == CLI_OK; i++) print_result(names[i], &j->results[i]);
  free(names);
  return code;
}

static int run(ig_ctx *c, int argc, char **argv) {
  const char *inputs = NULL;
  const char *outputs = NULL;
  cli_option options[] = {{"--inputs", "-i", &inputs, NULL}, {"--outputs", "-o", &outputs, NULL}};
  cli_args args;
  int code = cli_parse(&cli_run, argc, argv, options, 2, 1, &args);
  if (code != CLI_OK) return code;
  job j = {.c = c};
  if (ig_program_load(c, args.files[0], &j.program) != IG_OK) return cli_fail(c);
  if (inputs && ig_tensors_load(c, inputs, &j.given, &j.ngiven) != IG_OK) {
    ig_program_free(j.program);
    return cli_fail(c);
  }
  j.inputs = calloc(ig_program_user_inputs(j.program) + 1, sizeof *j.inputs);
  j.results = calloc(ig_program_user_outputs(j.program) + 1, sizeof *j.results);
  code = j.inputs && j.results ? match_inputs(&j, inputs ? inputs : "no --inputs") : CLI_FAILED;
  if (code == CLI_OK) code = run_program(&j, outputs);
  free(j.inputs);
  free(j.results);
  ig_program_free(j.program);
  return code;
}

const cli_command cli_run = {
    .name = "run",
    .arguments = "MODEL.pt2 [--inputs FILE.npz] [--outputs FILE.npz]",
    .summary = "run a program on arrays of an .npz file",
    .details =
        "Inputs are matched by name; if no name fits, in their order. Each result is printed in\n"
        "short; --outputs writes all of them whole.\n\n"
        "  -i, --inputs FILE.npz   arrays to run on\n"
        "  -o, --outputs FILE.npz  where the results go",
    .run = run,
};
