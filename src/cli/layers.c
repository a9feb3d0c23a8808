// SPDX-License-Identifier: Apache-2.0
// ingot info --layers: what the modules of a model cost.
#include "ingot/layers.h"

#include <string.h>

#include "cli/feed.h"
#include "cli/layers.h"

static const char *short_class(const char *type) {
  const char *dot = strrchr(type, '.');
  return dot ? dot + 1 : type;
}

static void print_layer(const ig_layer *l, int width) {
  char count[32];
  char flops[32];
  char bytes[32];
  const char *name = l->path[0] ? l->path : "(model)";
  int pad = width - 2 * l->depth - (int)strlen(name);
  cli_out("%*s", 2 * l->depth, "");
  cli_put(stdout, CLI_CYAN, "%s", name);
  cli_out("%*s %-20.20s %14s  ", pad > 0 ? pad : 0, "", short_class(l->type),
          cli_count((uint64_t)l->parameters, count, sizeof count));
  cli_out("%18s  ",
          l->flops_value < 0 ? l->flops : cli_count((uint64_t)l->flops_value, flops, sizeof flops));
  cli_out("%12s\n", l->activations_value < 0
                        ? l->activations
                        : cli_bytes((uint64_t)l->activations_value, bytes, sizeof bytes));
}

static void print_layers(const ig_layer *list, size_t n, long depth) {
  int width = 8;
  for (size_t i = 0; i < n; i++) {
    size_t len = strlen(list[i].path) + 2 * (size_t)list[i].depth;
    if ((depth <= 0 || list[i].depth <= depth) && len < 60 && (int)len > width) width = (int)len;
  }
  cli_put(stdout, CLI_BOLD, "%-*s %-20s %14s  %18s  %12s\n", width, "module", "class", "parameters",
          "FLOPs", "activations");
  for (size_t i = 0; i < n; i++) {
    if (depth <= 0 || list[i].depth <= depth) print_layer(&list[i], width);
  }
}

static void json_cost(const char *key, const char *text, int64_t value) {
  cli_json_key(key);
  if (value < 0) cli_json_str(text);
  if (value >= 0) cli_json_int(value);
}

static void json_layers(const ig_model *m, const ig_layer *list, size_t n, long depth) {
  cli_json_open('{');
  cli_json_key("file");
  cli_json_str(ig_model_name(m));
  cli_json_key("layers");
  cli_json_open('[');
  for (size_t i = 0; i < n; i++) {
    if (depth > 0 && list[i].depth > depth) continue;
    cli_json_open('{');
    cli_json_key("path");
    cli_json_str(list[i].path);
    cli_json_key("class");
    cli_json_str(list[i].type);
    cli_json_key("depth");
    cli_json_int(list[i].depth);
    cli_json_key("parameters");
    cli_json_int(list[i].parameters);
    cli_json_key("weight_bytes");
    cli_json_int(list[i].weight_bytes);
    json_cost("flops", list[i].flops, list[i].flops_value);
    json_cost("activation_bytes", list[i].activations, list[i].activations_value);
    cli_json_close('}');
  }
  cli_json_close(']');
  cli_json_close('}');
  cli_json_end();
}

int cli_show_layers(ig_ctx *c, const ig_model *m, const cli_texts *sizes, long depth, bool json) {
  static ig_dim_value given[CLI_MAX_TEXTS];
  static char names[CLI_MAX_TEXTS][128];
  if (!ig_model_runnable(m)) return cli_no_program(m);
  int code = cli_read_sizes(m, sizes, given, names);
  if (code != CLI_OK) return code;
  const ig_layer *list = NULL;
  size_t n = 0;
  if (ig_model_layers(c, m, given, sizes->n, &list, &n) != IG_OK) {
    return cli_fail(c, ig_model_name(m), CLI_REFUSED);
  }
  if (json) json_layers(m, list, n, depth);
  if (!json) print_layers(list, n, depth);
  return CLI_OK;
}
