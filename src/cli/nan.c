// SPDX-License-Identifier: Apache-2.0
// The first value with a NaN, and the first that is infinite although nothing that it is made from
// is: an overflow or a division by zero. An infinity that the program asks for, as masks of
// attention do, is neither.
#include "cli/nan.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ingot/stats.h"

typedef struct flaw {
  char *name;
  char *target;  // "" : an input or weight
  char type[160];
  ig_stats stats;
  const ig_node *node;  // NULL: not known
  bool found;
} flaw;

// A set of names: open addressing, never more than half full. The places are a power of two.
typedef struct names {
  char **at;
  size_t n;
  size_t places;
} names;

struct cli_nan {
  ig_ctx *c;
  const ig_graph *g;  // NULL: the model has no program
  names infinite;     // values with infinities
  flaw nan;
  flaw overflow;
  bool failed;
};

static char *copy(cli_nan *n, const char *text) {
  size_t size = strlen(text) + 1;
  char *s = malloc(size);
  n->failed = n->failed || !s;
  if (s) memcpy(s, text, size);
  return s;
}

// Where the name is, or would be put.
static char **place_of(const names *s, const char *name) {
  size_t h = 5381;
  for (const char *p = name; *p; p++) h = h * 33 ^ (unsigned char)*p;
  size_t i = h & (s->places - 1);
  while (s->at[i] && strcmp(s->at[i], name) != 0) i = (i + 1) & (s->places - 1);
  return &s->at[i];
}

static bool grow(names *s) {
  enum { FIRST = 64 };
  if (s->n < s->places / 2) return true;
  if (s->places > SIZE_MAX / 2 / sizeof *s->at) return false;
  names more = {.n = s->n, .places = s->places ? s->places * 2 : FIRST};
  more.at = calloc(more.places, sizeof *more.at);
  if (!more.at) return false;
  for (size_t i = 0; i < s->places; i++) {
    if (s->at[i]) *place_of(&more, s->at[i]) = s->at[i];
  }
  free(s->at);
  *s = more;
  return true;
}

static bool is_infinite(const cli_nan *n, const char *name) {
  return n->infinite.places && *place_of(&n->infinite, name);
}

static void mark(cli_nan *n, const char *name) {
  if (is_infinite(n, name)) return;
  char *key = grow(&n->infinite) ? copy(n, name) : NULL;
  n->failed = n->failed || !key;
  if (!key) return;
  *place_of(&n->infinite, name) = key;
  n->infinite.n++;
}

// Is the value, or something in it, infinite before the call?
static bool reads_infinity(const cli_nan *n, const ig_value *a) {
  if (a->kind == IG_KIND_NODE) return is_infinite(n, ig_node_name(a->node));
  if (a->kind == IG_KIND_FLOAT) return isinf(a->f);
  for (size_t i = 0; a->kind == IG_KIND_LIST && i < a->list.n; i++) {
    if (reads_infinity(n, &a->list.at[i])) return true;
  }
  return false;
}

static bool node_reads_infinity(const cli_nan *n, const ig_node *node) {
  const ig_value *args = NULL;
  const char *const *keys = NULL;
  size_t count = ig_node_args(node, &args);
  for (size_t i = 0; i < count; i++) {
    if (reads_infinity(n, &args[i])) return true;
  }
  count = ig_node_kwargs(node, &args, &keys);
  for (size_t i = 0; i < count; i++) {
    if (reads_infinity(n, &args[i])) return true;
  }
  return false;
}

static void keep(cli_nan *n, flaw *f, const char *name, const char *target, const ig_value *v,
                 const ig_stats *stats) {
  if (f->found) return;
  *f = (flaw){.stats = *stats, .found = true};
  f->name = copy(n, name);
  f->target = copy(n, target);
  f->node = n->g ? ig_graph_find(n->g, name) : NULL;
  (void)cli_describe(v, f->type, sizeof f->type);
}

static void look(cli_nan *n, const char *name, const char *target, const ig_value *v) {
  for (size_t i = 0; v->kind == IG_KIND_LIST && i < v->list.n && !n->nan.found; i++) {
    look(n, name, target, &v->list.at[i]);
  }
  bool real = v->kind == IG_KIND_TENSOR && v->tensor &&
              (ig_dtype_is_float(ig_tensor_dtype(v->tensor)) ||
               ig_dtype_is_complex(ig_tensor_dtype(v->tensor)));
  if (!real || n->nan.found || n->failed) return;
  ig_stats stats;
  if (ig_tensor_stats(n->c, v->tensor, &stats) != IG_OK) return;
  if (stats.nans) keep(n, &n->nan, name, target, v, &stats);
  if (!stats.infinities) return;
  const ig_node *node = n->g && target[0] ? ig_graph_find(n->g, name) : NULL;
  if (!node || !node_reads_infinity(n, node)) {
    if (target[0]) keep(n, &n->overflow, name, target, v, &stats);
  }
  mark(n, name);
}

cli_nan *cli_nan_begin(ig_ctx *c, const ig_model *m, const ig_session *s) {
  cli_nan *n = calloc(1, sizeof *n);
  ig_program *p = ig_model_runnable(m);
  if (!n) return NULL;
  n->c = c;
  n->g = p ? ig_program_graph(p) : NULL;
  const ig_input_spec *specs = NULL;
  size_t count = p ? ig_program_inputs(p, &specs) : 0;
  size_t user = 0;
  for (size_t i = 0; i < count; i++) {
    bool is_user = specs[i].kind == IG_INPUT_USER;
    const ig_value *given = is_user ? ig_session_input_at(s, user++) : NULL;
    ig_tensor *weight = specs[i].target ? ig_program_find_weight(p, specs[i].target) : NULL;
    ig_value value = {.kind = IG_KIND_TENSOR, .tensor = weight};
    if (given) value = *given;
    if (given || weight) look(n, specs[i].name, "", &value);
  }
  return n;
}

void cli_nan_watch(cli_nan *n, const char *name, const char *target, const ig_value *value) {
  look(n, name, target, value);
}

// ---- report

static void print_reads(const cli_nan *n, const ig_value *a) {
  if (a->kind == IG_KIND_NODE) {
    const char *name = ig_node_name(a->node);
    cli_out(" %s%s", name, is_infinite(n, name) ? " (infinite)" : "");
  }
  for (size_t i = 0; a->kind == IG_KIND_LIST && i < a->list.n; i++) print_reads(n, &a->list.at[i]);
}

static void print_flaw(const cli_nan *n, const char *what, const flaw *f) {
  if (!f->found) return;
  cli_put(stdout, CLI_RED, "%s", what);
  cli_out(" %s %s", f->name, f->type);
  if (f->target[0]) cli_out(" of %s", f->target);
  if (!f->target[0]) cli_out(", which is given");
  if (f->stats.nans) cli_out(", NaN %" PRId64, f->stats.nans);
  if (f->stats.infinities) cli_out(", infinite %" PRId64, f->stats.infinities);
  cli_out(" of %" PRId64 "\n", f->stats.count);
  if (!f->node || !f->target[0]) return;
  const ig_value *args = NULL;
  size_t count = ig_node_args(f->node, &args);
  cli_out("  reads");
  for (size_t i = 0; i < count; i++) print_reads(n, &args[i]);
  cli_out("\n");
  ig_frame at = ig_node_location(f->node);
  if (at.file)
    cli_out("  %s:%d%s%s\n", at.file, at.line, at.code ? ": " : "", at.code ? at.code : "");
}

static void json_flaw(const char *key, const flaw *f) {
  cli_json_key(key);
  if (!f->found) {
    cli_json_null();
    return;
  }
  ig_frame at = f->node ? ig_node_location(f->node) : (ig_frame){.file = NULL};
  cli_json_open('{');
  cli_json_key("name");
  cli_json_str(f->name);
  cli_json_key("operator");
  cli_json_str(f->target[0] ? f->target : NULL);
  cli_json_key("value");
  cli_json_str(f->type);
  cli_json_key("nan");
  cli_json_int(f->stats.nans);
  cli_json_key("infinite");
  cli_json_int(f->stats.infinities);
  cli_json_key("elements");
  cli_json_int(f->stats.count);
  cli_json_key("file");
  cli_json_str(at.file);
  cli_json_key("line");
  cli_json_int(at.line);
  cli_json_key("source");
  cli_json_str(at.code);
  cli_json_close('}');
}

int cli_nan_report(const cli_nan *n, bool json) {
  if (n->failed) return cli_no_memory();
  if (ig_ctx_status(n->c) != IG_OK) return cli_fail(n->c, "--debug-nan", CLI_FAILED);
  if (json) {
    json_flaw("first_nan", &n->nan);
    json_flaw("first_overflow", &n->overflow);
  } else {
    print_flaw(n, "first overflow:", &n->overflow);
    print_flaw(n, "first NaN:", &n->nan);
    if (!n->nan.found && !n->overflow.found) cli_out("no NaN and no overflow\n");
  }
  return n->nan.found || n->overflow.found ? CLI_DIFFERS : CLI_OK;
}

void cli_nan_free(cli_nan *n) {
  if (!n) return;
  for (size_t k = 0; k < n->infinite.places; k++) free(n->infinite.at[k]);
  free(n->infinite.at);
  free(n->nan.name);
  free(n->nan.target);
  free(n->overflow.name);
  free(n->overflow.target);
  free(n);
}
