// SPDX-License-Identifier: Apache-2.0
// ingot shapes: sizes of a program, where they come from and what must hold between them.
#include <inttypes.h>
#include <string.h>

#include "cli/cli.h"

static bool as_json;

static void print_range(int64_t lo, int64_t hi, int width) {
  char text[64];
  char low[24];
  char high[24];
  (void)snprintf(low, sizeof low, "%" PRId64, lo);
  (void)snprintf(high, sizeof high, "%" PRId64, hi);
  (void)snprintf(text, sizeof text, "%s to %s", lo == INT64_MIN ? "any" : low,
                 hi == INT64_MAX ? "any" : high);
  cli_out(" %-*s", width, text);
}

static void print_line(const char *file, int line, const char *source) {
  if (file) cli_put(stdout, CLI_DIM, "  %s:%d", file, line);
  if (source) cli_put(stdout, CLI_DIM, ": %s", source);
  (void)putchar('\n');
}

static void print_inputs(const ig_model *m) {
  const ig_model_port *const *ports = NULL;
  size_t n = ig_model_inputs(m, &ports);
  cli_put(stdout, CLI_BOLD, "inputs\n");
  for (size_t i = 0; i < n; i++) {
    const ig_model_port *p = ports[i];
    if (!ig_port_is_array(p)) continue;
    if (p->ndim <= 0) cli_out("  %-24s %s\n", p->name, p->ndim ? "unknown" : "no dimensions");
    for (int d = 0; d < p->ndim; d++) {
      const ig_model_dim *dim = p->dims[d];
      char where[300];
      (void)snprintf(where, sizeof where, "%s dim %d", p->name, d);
      cli_out("  %-24s", where);
      if (!dim->name) {
        cli_out(" %" PRId64 "\n", dim->value);
        continue;
      }
      cli_out(" ");
      cli_put(stdout, CLI_CYAN, "%-12s", dim->name);
      print_range(dim->lo, dim->hi, 0);
      (void)putchar('\n');
    }
  }
}

static void print_symbols(const ig_model_symbol *const *list, size_t n) {
  if (n) cli_put(stdout, CLI_BOLD, "sizes\n");
  for (size_t i = 0; i < n; i++) {
    const ig_model_symbol *s = list[i];
    char where[300];
    if (s->dim < 0) {
      (void)snprintf(where, sizeof where, "%s", s->value);
    } else {
      (void)snprintf(where, sizeof where, "%s dim %d", s->value, s->dim);
    }
    cli_out("  ");
    cli_put(stdout, CLI_CYAN, "%-23s", s->name);
    print_range(s->lo, s->hi, 16);
    cli_out(" %-*s", s->file ? 24 : 0, where);
    print_line(s->file, s->line, s->source);
  }
}

static void print_text(ig_ctx *c, const ig_model *m) {
  const ig_model_symbol *const *symbols = NULL;
  const ig_model_relation *const *relations = NULL;
  size_t n = ig_model_symbols(c, m, &symbols);
  print_inputs(m);
  print_symbols(symbols, n);
  if (n == 0) cli_out("all sizes are fixed\n");
  n = ig_model_relations(c, m, &relations);
  if (n) cli_put(stdout, CLI_BOLD, "relations\n");
  for (size_t i = 0; i < n; i++) {
    cli_out("  %-*s", relations[i]->file ? 40 : 0, relations[i]->text);
    print_line(relations[i]->file, relations[i]->line, relations[i]->source);
  }
}

// ---- JSON

static void json_bound(const char *key, int64_t v, bool none) {
  cli_json_key(key);
  if (none) {
    cli_json_null();
  } else {
    cli_json_int(v);
  }
}

static void json_line(const char *file, int line, const char *source) {
  cli_json_key("file");
  cli_json_str(file);
  cli_json_key("line");
  if (file) {
    cli_json_int(line);
  } else {
    cli_json_null();
  }
  cli_json_key("source");
  cli_json_str(source);
}

static void json_inputs(const ig_model *m) {
  const ig_model_port *const *ports = NULL;
  size_t n = ig_model_inputs(m, &ports);
  cli_json_key("inputs");
  cli_json_open('[');
  for (size_t i = 0; i < n; i++) {
    for (int d = 0; ig_port_is_array(ports[i]) && d < ports[i]->ndim; d++) {
      const ig_model_dim *dim = ports[i]->dims[d];
      cli_json_open('{');
      cli_json_key("input");
      cli_json_str(ports[i]->name);
      cli_json_key("dim");
      cli_json_int(d);
      cli_json_key("name");
      cli_json_str(dim->name);
      json_bound("min", dim->lo, false);
      json_bound("max", dim->hi, dim->hi == INT64_MAX);
      cli_json_close('}');
    }
  }
  cli_json_close(']');
}

static void print_json(ig_ctx *c, const ig_model *m) {
  const ig_model_symbol *const *symbols = NULL;
  const ig_model_relation *const *relations = NULL;
  cli_json_open('{');
  cli_json_key("file");
  cli_json_str(ig_model_name(m));
  json_inputs(m);
  size_t n = ig_model_symbols(c, m, &symbols);
  cli_json_key("sizes");
  cli_json_open('[');
  for (size_t i = 0; i < n; i++) {
    const ig_model_symbol *s = symbols[i];
    cli_json_open('{');
    cli_json_key("name");
    cli_json_str(s->name);
    json_bound("min", s->lo, s->lo == INT64_MIN);
    json_bound("max", s->hi, s->hi == INT64_MAX);
    cli_json_key("value");
    cli_json_str(s->value);
    json_bound("dim", s->dim, s->dim < 0);
    cli_json_key("input");
    cli_json_bool(s->input);
    json_line(s->file, s->line, s->source);
    cli_json_close('}');
  }
  cli_json_close(']');
  n = ig_model_relations(c, m, &relations);
  cli_json_key("relations");
  cli_json_open('[');
  for (size_t i = 0; i < n; i++) {
    cli_json_open('{');
    cli_json_key("text");
    cli_json_str(relations[i]->text);
    json_line(relations[i]->file, relations[i]->line, relations[i]->source);
    cli_json_close('}');
  }
  cli_json_close(']');
  cli_json_close('}');
  cli_json_end();
}

static int run(ig_ctx *c, const char *const *files) {
  ig_model *m = NULL;
  int code = cli_open(c, files[0], CLI_PROGRAM, &m);
  if (code != CLI_OK) return code;
  if (!ig_model_program(m)) {
    code = cli_no_program(m);
  } else if (as_json) {
    print_json(c, m);
  } else {
    print_text(c, m);
  }
  if (code == CLI_OK && ig_ctx_status(c) != IG_OK) code = cli_fail(c, files[0], CLI_FAILED);
  ig_model_free(m);
  return code;
}

static const cli_option options[] = {
    {"--json", NULL, NULL, CLI_SWITCH, &as_json, "JSON output; docs/command.md lists the fields"},
};
static const cli_example examples[] = {
    {"ingot shapes model.pt2", "every dimension, its symbol, range and source line"},
    {"ingot shapes model.pt2 --json | jq -r '.sizes[].name'", "the symbols"},
};
const cli_command cli_shapes = {
    .name = "shapes",
    .arguments = "FILE [--json]",
    .summary = "list dynamic sizes: symbol, range, relations, source line",
    .details =
        "Each dimension of the inputs; then every symbolic size of the program with its range, "
        "the\n"
        "first value that has it and the user's source line; then what the program checks.",
    .options = options,
    .noptions = 1,
    .examples = examples,
    .nexamples = 2,
    .pages = true,
    .nfiles = 1,
    .run = run,
};
