// SPDX-License-Identifier: Apache-2.0
// ingot info: what is in a file.
#include <inttypes.h>
#include <string.h>

#include "cli/layers.h"

static bool as_json;
static bool all;
static bool layers;
static cli_texts given_sizes;
static long depth;
enum { SHOWN = 12 };  // weights, operators and members listed without --all

// ---- text

static void print_ports(const char *title, const ig_model_port *const *ports, size_t n) {
  if (n == 0) return;
  cli_put(stdout, CLI_BOLD, "%s", title);
  (void)putchar('\n');
  for (size_t i = 0; i < n; i++) {
    const ig_model_port *p = ports[i];
    char text[512];
    cli_out("  ");
    cli_put(stdout, CLI_CYAN, "%-24s", p->name);
    cli_out(" %s", cli_port_text(p, text, sizeof text));
    if (p->role == IG_PORT_BUFFER) cli_out("  -> buffer %s", p->target);
    if (p->role == IG_PORT_INPUT) cli_out("  -> input %s", p->target);
    if (p->role == IG_PORT_GRAD) cli_out("  gradient of %s", p->target ? p->target : "?");
    (void)putchar('\n');
  }
}

static bool seen(const ig_model_port *const *ports, size_t i, int d) {
  for (size_t k = 0; k <= i; k++) {
    for (int e = 0; ig_port_is_array(ports[k]) && e < ports[k]->ndim; e++) {
      if (k == i && e == d) return false;
      const char *name = ports[k]->dims[e]->name;
      if (name && strcmp(name, ports[i]->dims[d]->name) == 0) return true;
    }
  }
  return false;
}

static void print_range(const ig_model_dim *dim) {
  cli_out("%" PRId64 " to ", dim->lo);
  if (dim->hi == INT64_MAX) {
    cli_out("any");
  } else {
    cli_out("%" PRId64, dim->hi);
  }
}

static void print_dims(const ig_model *m) {
  const ig_model_port *const *ports = NULL;
  size_t n = ig_model_inputs(m, &ports);
  bool any = false;
  for (size_t i = 0; i < n; i++) {
    for (int d = 0; ig_port_is_array(ports[i]) && d < ports[i]->ndim; d++) {
      const ig_model_dim *dim = ports[i]->dims[d];
      if (!dim->name || seen(ports, i, d)) continue;
      if (!any) cli_put(stdout, CLI_BOLD, "dynamic sizes\n");
      any = true;
      cli_out("  ");
      cli_put(stdout, CLI_CYAN, "%-24s", dim->name);
      cli_out(" ");
      print_range(dim);
      cli_out("  (%s, dim %d)\n", ports[i]->name, d);
    }
  }
}

static uint64_t weight_elements(const ig_model_weight *w) {
  return w->texts ? ig_texts_read(w->texts, NULL, 0) : (uint64_t)ig_tensor_numel(w->tensor);
}

static uint64_t text_bytes(const ig_value *v) {
  uint64_t n = v->kind == IG_KIND_STR ? strlen(v->str) : 0;
  for (size_t i = 0; v->kind == IG_KIND_LIST && i < v->list.n; i++) n += text_bytes(&v->list.at[i]);
  return n;
}

static uint64_t weight_bytes(const ig_model_weight *w) {
  if (w->texts) return text_bytes(w->texts);
  return (uint64_t)ig_tensor_numel(w->tensor) * ig_dtype_size(ig_tensor_dtype(w->tensor));
}

static void json_weight_sizes(const ig_model_weight *w) {
  int64_t sizes[IG_MAX_DIM];
  int ndim = 0;
  if (w->texts) (void)ig_texts_measure(w->texts, sizes, &ndim);
  if (w->tensor) ndim = ig_tensor_ndim(w->tensor);
  cli_json_open('[');
  for (int d = 0; d < ndim; d++) {
    cli_json_int(w->texts ? sizes[d] : ig_tensor_size(w->tensor, d).value);
  }
  cli_json_close(']');
}

static void print_rest(size_t n, size_t shown, const char *what) {
  if (n > shown) cli_put(stdout, CLI_DIM, "  ... and %zu more %s (--all)\n", n - shown, what);
}

static void print_weights(const ig_model *m) {
  static const char *const roles[] = {"parameter", "buffer", "constant", ""};
  const ig_model_weight *const *list = NULL;
  size_t n = ig_model_weights(m, &list);
  uint64_t elements = 0;
  uint64_t bytes = 0;
  char a[64];
  char b[64];
  char text[512];
  if (n == 0) return;
  for (size_t i = 0; i < n; i++) {
    elements += weight_elements(list[i]);
    bytes += weight_bytes(list[i]);
  }
  cli_put(stdout, CLI_BOLD, "weights");
  cli_out(" %zu tensor%s, %s element%s, %s\n", n, n == 1 ? "" : "s",
          cli_count(elements, a, sizeof a), elements == 1 ? "" : "s",
          cli_bytes(bytes, b, sizeof b));
  size_t shown = all || n <= SHOWN + 1 ? n : SHOWN;
  for (size_t i = 0; i < shown; i++) {
    ig_value v = list[i]->texts ? *list[i]->texts : ig_of_tensor(list[i]->tensor);
    cli_out("  ");
    cli_put(stdout, CLI_CYAN, "%-24s", list[i]->name);
    cli_out(" %s", cli_describe(&v, text, sizeof text));
    if (roles[list[i]->role][0]) cli_out("  %s", roles[list[i]->role]);
    (void)putchar('\n');
  }
  print_rest(n, shown, "weights");
}

static void print_operators(const ig_model *m) {
  const ig_model_operator *const *list = NULL;
  size_t n = ig_model_operators(m, &list);
  size_t calls = 0;
  if (n == 0) return;
  for (size_t i = 0; i < n; i++) calls += list[i]->count;
  cli_put(stdout, CLI_BOLD, "operators");
  cli_out(" %zu call%s of %zu kind%s\n", calls, calls == 1 ? "" : "s", n, n == 1 ? "" : "s");
  size_t shown = all || n <= SHOWN + 1 ? n : SHOWN;
  for (size_t i = 0; i < shown; i++) cli_out("  %7zu %s\n", list[i]->count, list[i]->name);
  print_rest(n, shown, "operators");
}

static void print_facts(const ig_model *m, ig_fact_group group) {
  const ig_model_fact *const *list = NULL;
  size_t n = ig_model_facts(m, &list);
  bool any = false;
  for (size_t i = 0; i < n; i++) {
    if (list[i]->group != group) continue;
    if (group == IG_FACT_VERSION) {
      cli_out("%s%s %s", any ? ", " : "  ", list[i]->name, list[i]->value);
    } else {
      if (!any) cli_put(stdout, CLI_BOLD, "metadata\n");
      cli_out("  ");
      cli_put(stdout, CLI_CYAN, "%-24s", list[i]->name);
      cli_out(" %s\n", list[i]->value);
    }
    any = true;
  }
  if (any && group == IG_FACT_VERSION) (void)putchar('\n');
}

static void print_members(const ig_model *m) {
  const ig_model_member *const *list = NULL;
  size_t n = ig_model_members(m, &list);
  char text[64];
  bool any = false;
  for (size_t i = 0; i < n; i++) {
    if (!all && !list[i]->extra) continue;
    if (!any) cli_put(stdout, CLI_BOLD, all ? "members\n" : "extra files\n");
    any = true;
    cli_out("  ");
    cli_put(stdout, CLI_CYAN, "%-40s", list[i]->name);
    cli_out(" %10s%s\n", cli_bytes(list[i]->bytes, text, sizeof text),
            all && list[i]->extra ? "  extra" : "");
  }
}

static void print_findings(const ig_model *m) {
  const ig_model_finding *const *list = NULL;
  size_t n = ig_model_findings(m, &list);
  for (size_t i = 0; i < n; i++) {
    bool refused = list[i]->code != IG_OK;
    cli_put(stdout, refused ? CLI_RED : CLI_YELLOW, refused ? "refused" : "ignored");
    cli_out(" %s%s%s\n", list[i]->where, list[i]->where[0] ? ": " : "", list[i]->text);
    if (list[i]->explanation) cli_out("  more: ingot explain %s\n", list[i]->explanation);
  }
}

static void print_text(const ig_model *m) {
  char text[64];
  const ig_model_port *const *ports = NULL;
  cli_put(stdout, CLI_BOLD, "%s", ig_model_name(m));
  cli_out(": %s, %s\n", ig_model_kind_text(ig_model_get_kind(m)),
          cli_bytes(ig_model_file_bytes(m), text, sizeof text));
  print_facts(m, IG_FACT_VERSION);
  size_t n = ig_model_inputs(m, &ports);
  print_ports("inputs", ports, n);
  n = ig_model_outputs(m, &ports);
  print_ports("outputs", ports, n);
  print_dims(m);
  print_weights(m);
  print_operators(m);
  print_facts(m, IG_FACT_METADATA);
  print_members(m);
  print_findings(m);
}

// ---- JSON

static void json_value(const ig_value *v) {
  char text[512];
  switch (v->kind) {
    case IG_KIND_INT:
      cli_json_int(v->i.value);
      break;
    case IG_KIND_FLOAT:
      cli_json_real(v->f);
      break;
    case IG_KIND_BOOL:
      cli_json_bool(v->b);
      break;
    case IG_KIND_NONE:
      cli_json_null();
      break;
    case IG_KIND_STR:
      cli_json_str(v->str);
      break;
    default:
      cli_json_str(cli_describe(v, text, sizeof text));
  }
}

static void json_dim(const ig_model_dim *d) {
  cli_json_open('{');
  cli_json_key("name");
  cli_json_str(d->name);
  cli_json_key("size");
  if (d->name || d->value < 0) {
    cli_json_null();
  } else {
    cli_json_int(d->value);
  }
  cli_json_key("min");
  cli_json_int(d->lo);
  cli_json_key("max");
  if (d->hi == INT64_MAX) {
    cli_json_null();
  } else {
    cli_json_int(d->hi);
  }
  cli_json_close('}');
}

static void json_ports(const char *key, const ig_model_port *const *ports, size_t n) {
  static const char *const roles[] = {"user", "buffer", "input", "gradient", "token"};
  cli_json_key(key);
  cli_json_open('[');
  for (size_t i = 0; i < n; i++) {
    const ig_model_port *p = ports[i];
    cli_json_open('{');
    cli_json_key("name");
    cli_json_str(p->name);
    cli_json_key("role");
    cli_json_str(roles[p->role]);
    cli_json_key("target");
    cli_json_str(p->target);
    cli_json_key("dtype");
    bool known = p->kind == IG_KIND_TENSOR && p->dtype != IG_DTYPE_COUNT;
    cli_json_str(p->texts ? "string" : known ? ig_dtype_text(p->dtype) : NULL);
    if (ig_port_is_array(p)) {
      cli_json_key("dims");
      if (p->ndim < 0) cli_json_null();
      if (p->ndim >= 0) cli_json_open('[');
      for (int d = 0; d < p->ndim; d++) json_dim(p->dims[d]);
      if (p->ndim >= 0) cli_json_close(']');
    } else {
      cli_json_key("value");
      json_value(&p->value);
    }
    cli_json_close('}');
  }
  cli_json_close(']');
}

static void json_facts(const ig_model *m, const char *key, ig_fact_group group) {
  const ig_model_fact *const *list = NULL;
  size_t n = ig_model_facts(m, &list);
  cli_json_key(key);
  cli_json_open('{');
  for (size_t i = 0; i < n; i++) {
    if (list[i]->group != group) continue;
    cli_json_key(list[i]->name);
    cli_json_str(list[i]->value);
  }
  cli_json_close('}');
}

static void json_weights(const ig_model *m) {
  static const char *const roles[] = {"parameter", "buffer", "constant", "array"};
  const ig_model_weight *const *list = NULL;
  size_t n = ig_model_weights(m, &list);
  cli_json_key("weights");
  cli_json_open('[');
  for (size_t i = 0; i < n; i++) {
    const ig_tensor *t = list[i]->tensor;
    cli_json_open('{');
    cli_json_key("name");
    cli_json_str(list[i]->name);
    cli_json_key("role");
    cli_json_str(roles[list[i]->role]);
    cli_json_key("dtype");
    cli_json_str(t ? ig_dtype_text(ig_tensor_dtype(t)) : "string");
    cli_json_key("shape");
    json_weight_sizes(list[i]);
    cli_json_key("bytes");
    cli_json_int((int64_t)weight_bytes(list[i]));
    cli_json_close('}');
  }
  cli_json_close(']');
}

static void json_lists(const ig_model *m) {
  const ig_model_operator *const *operators = NULL;
  const ig_model_member *const *members = NULL;
  const ig_model_finding *const *findings = NULL;
  size_t n = ig_model_operators(m, &operators);
  cli_json_key("operators");
  cli_json_open('{');
  for (size_t i = 0; i < n; i++) {
    cli_json_key(operators[i]->name);
    cli_json_int((int64_t)operators[i]->count);
  }
  cli_json_close('}');
  n = ig_model_members(m, &members);
  cli_json_key("members");
  cli_json_open('[');
  for (size_t i = 0; i < n; i++) {
    cli_json_open('{');
    cli_json_key("name");
    cli_json_str(members[i]->name);
    cli_json_key("bytes");
    cli_json_int((int64_t)members[i]->bytes);
    cli_json_key("extra");
    cli_json_bool(members[i]->extra);
    cli_json_close('}');
  }
  cli_json_close(']');
  n = ig_model_findings(m, &findings);
  cli_json_key("findings");
  cli_json_open('[');
  for (size_t i = 0; i < n; i++) {
    cli_json_open('{');
    cli_json_key("refused");
    cli_json_bool(findings[i]->code != IG_OK);
    cli_json_key("code");
    cli_json_str(ig_status_text(findings[i]->code));
    cli_json_key("where");
    cli_json_str(findings[i]->where);
    cli_json_key("text");
    cli_json_str(findings[i]->text);
    cli_json_key("explanation");
    cli_json_str(findings[i]->explanation);
    cli_json_close('}');
  }
  cli_json_close(']');
}

static void print_json(const ig_model *m) {
  const ig_model_port *const *ports = NULL;
  cli_json_open('{');
  cli_json_key("file");
  cli_json_str(ig_model_name(m));
  cli_json_key("kind");
  cli_json_str(ig_model_kind_word(ig_model_get_kind(m)));
  cli_json_key("bytes");
  cli_json_int((int64_t)ig_model_file_bytes(m));
  json_facts(m, "versions", IG_FACT_VERSION);
  json_facts(m, "metadata", IG_FACT_METADATA);
  size_t n = ig_model_inputs(m, &ports);
  json_ports("inputs", ports, n);
  n = ig_model_outputs(m, &ports);
  json_ports("outputs", ports, n);
  json_weights(m);
  json_lists(m);
  cli_json_close('}');
  cli_json_end();
}

static int run(ig_ctx *c, const char *const *files) {
  ig_model *m = NULL;
  if ((given_sizes.n || depth) && !layers) {
    return cli_usage(&cli_info, "--size and --depth belong to --layers");
  }
  int code = cli_open(c, files[0], layers ? CLI_INSPECT | CLI_PROGRAM : CLI_INSPECT, &m);
  if (code != CLI_OK) return code;
  if (layers) {
    code = cli_show_layers(c, m, &given_sizes, depth, as_json);
  } else if (as_json) {
    print_json(m);
  } else {
    print_text(m);
  }
  ig_model_free(m);
  return code;
}

static const cli_option options[] = {
    {"--json", NULL, NULL, CLI_SWITCH, &as_json, "JSON output; docs/command.md lists the fields"},
    {"--all", "-a", NULL, CLI_SWITCH, &all, "every weight, operator and member of the archive"},
    {"--layers", "-l", NULL, CLI_SWITCH, &layers,
     "instead: parameters, FLOPs and memory of results by module"},
    {"--size", NULL, "NAME=N", CLI_TEXTS, &given_sizes,
     "--layers: for this value of a dynamic size"},
    {"--depth", NULL, "N", CLI_INT, &depth, "--layers: only modules up to this depth"},
};
static const cli_example examples[] = {
    {"ingot info model.pt2", "inputs, outputs, sizes, weights, operators, what is unsupported"},
    {"ingot info model.pt2 --json | jq '.inputs[].name'", "the names of the inputs"},
    {"ingot info model.pt2 --layers --depth 2 --size batch=8", "what the modules cost"},
    {"curl -s URL | ingot info -", "a file from elsewhere; nothing in it is executed"},
};
const cli_command cli_info = {
    .name = "info",
    .arguments = "FILE ... [--json] [--all | --layers [--size NAME=N] [--depth N]]",
    .summary = "describe a file: inputs, outputs, weights, operators, what is unsupported",
    .details =
        "Kind and versions of a file, inputs and outputs with named sizes and their ranges, "
        "weights,\n"
        "operators by count, metadata, extra files, and what is unsupported and why.",
    .options = options,
    .noptions = sizeof options / sizeof *options,
    .examples = examples,
    .nexamples = sizeof examples / sizeof *examples,
    .pages = true,
    .nfiles = 1,
    .each = true,
    .run = run,
};
