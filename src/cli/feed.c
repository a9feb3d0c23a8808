// SPDX-License-Identifier: Apache-2.0
// Inputs of a run: arrays from files matched by name, by "arg<i>", or by position; random numbers;
// the examples in the file itself.
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/feed.h"
#include "ingot/op.h"

// ---- tensors

static ig_tensor *call(ig_ctx *c, const char *name, const ig_value *args, size_t n) {
  ig_value outs[IG_MAX_RETURNS];
  ig_call_bound(c, &(ig_bound){.name = name, .values = args, .npos = n}, NULL, outs);
  return ig_ctx_status(c) == IG_OK && outs[0].kind == IG_KIND_TENSOR ? outs[0].tensor : NULL;
}

ig_tensor *cli_dense(ig_ctx *c, ig_tensor *t) {
  if (!t || ig_tensor_is_dense(t)) return t;
  return call(c, "contiguous", (ig_value[]){ig_of_tensor(t)}, 1);
}

static void release(void *user) {
  ig_tensor_release(user);
}

ig_tensor *cli_as_dtype(ig_ctx *c, ig_tensor *t, ig_dtype dtype) {
  if (dtype == IG_DTYPE_COUNT) return t;  // any will do
  ig_dtype from = ig_tensor_dtype(t);
  bool bits =
      (from == IG_U16 && dtype == IG_BF16) || (from == IG_BF16 && dtype == IG_U16) ||
      (ig_dtype_size(from) == 1 && ig_dtype_size(dtype) == 1 && (from == IG_U8 || dtype == IG_U8) &&
       from != IG_BOOL && dtype != IG_BOOL && from != IG_I8 && dtype != IG_I8);
  if (from == dtype || !bits) return t;
  t = cli_dense(c, t);
  if (!t) return NULL;
  int64_t sizes[IG_MAX_DIM];
  for (int d = 0; d < ig_tensor_ndim(t); d++) sizes[d] = ig_tensor_size(t, d).value;
  ig_foreign memory = {.data = ig_tensor_data(t),
                       .bytes = (size_t)ig_tensor_numel(t) * ig_dtype_size(from),
                       .free_fn = release,
                       .user = ig_tensor_retain(t)};
  return ig_tensor_wrap(c, dtype, sizes, ig_tensor_ndim(t), &memory);
}

// ---- files

int cli_load_arrays(ig_ctx *c, const char *path, cli_arrays *out) {
  *out = (cli_arrays){0};
  int code = cli_open(c, path, 0, &out->file);
  if (code != CLI_OK) return code;
  const ig_model_weight *const *weights = NULL;
  size_t n = ig_model_weights(out->file, &weights);
  out->list = calloc(n + 1, sizeof *out->list);
  if (!out->list) return cli_no_memory();
  out->n = n;
  for (size_t i = 0; i < n; i++) {
    out->list[i] = (ig_weight){weights[i]->name, weights[i]->tensor, weights[i]->texts};
  }
  return CLI_OK;
}

void cli_free_arrays(cli_arrays *a) {
  ig_model_free(a->file);
  free(a->list);
}

static bool numbered(const char *name, const char *prefix) {
  size_t n = strlen(prefix);
  return strncmp(name, prefix, n) == 0 && name[n] && !name[n + strspn(name + n, "0123456789")];
}

static bool is_result_name(const char *name) {
  return numbered(name, "out") || numbered(name, "mut_arg") || strncmp(name, "mut_buf.", 8) == 0;
}

bool cli_is_golden_name(const char *name) {
  return numbered(name, "arg") || is_result_name(name);
}

ig_tensor *cli_as_tensor(ig_ctx *c, const ig_value *v, ig_dtype dtype) {
  if (v->kind == IG_KIND_TENSOR) return v->tensor;
  bool number = v->kind == IG_KIND_INT || v->kind == IG_KIND_FLOAT || v->kind == IG_KIND_BOOL;
  ig_tensor *t =
      number ? ig_tensor_empty(c, v->kind == IG_KIND_FLOAT ? IG_F64 : IG_I64, NULL, 0) : NULL;
  if (!t) return NULL;
  if (v->kind == IG_KIND_FLOAT) *(double *)ig_tensor_data(t) = v->f;
  if (v->kind != IG_KIND_FLOAT) {
    *(int64_t *)ig_tensor_data(t) = v->kind == IG_KIND_INT ? v->i.value : v->b;
  }
  if (dtype == IG_DTYPE_COUNT) return t;
  return call(c, "to", (ig_value[]){ig_of_tensor(t), ig_of_dtype(dtype)}, 2);
}

// An input that is not a tensor, from an array of one element.
static int set_number(ig_ctx *c, ig_session *s, const ig_model *m, const ig_model_port *p,
                      const ig_tensor *t, const char *from) {
  double f = ig_tensor_numel(t) == 1 ? ig_tensor_get(t, 0) : 0;
  bool whole = ig_tensor_dtype(t) == IG_I64;
  ig_value v = p->kind == IG_KIND_INT    ? ig_of_i64((int64_t)f)
               : p->kind == IG_KIND_BOOL ? ig_of_bool(f != 0)
                                         : ig_of_f64(f);
  if (p->kind == IG_KIND_INT && whole && ig_tensor_numel(t) == 1) {
    v = ig_of_i64(*(const int64_t *)ig_tensor_data(t));
  }
  if (ig_tensor_numel(t) != 1) {
    return cli_error(CLI_FAILED, "%s: input '%s' is a number, the array has %lld elements", from,
                     p->name, (long long)ig_tensor_numel(t));
  }
  if (ig_session_set_value(s, p->name, &v) == IG_OK) return CLI_OK;
  return cli_fail(c, ig_model_name(m), CLI_FAILED);
}

static int set_input(ig_ctx *c, ig_session *s, const ig_model *m, int i, const ig_weight *w,
                     const char *from) {
  const ig_model_port *const *ports = NULL;
  (void)ig_model_inputs(m, &ports);
  const ig_model_port *p = ports[i];
  if (p->texts != (w->texts != NULL)) {
    char text[512];
    return cli_error(CLI_FAILED, "%s: input '%s' is %s, the array holds %s", from, p->name,
                     cli_port_text(p, text, sizeof text), w->texts ? "texts" : "numbers");
  }
  if (!ig_port_is_array(p)) return set_number(c, s, m, p, w->tensor, from);
  ig_tensor *t = w->tensor ? cli_as_dtype(c, w->tensor, p->dtype) : NULL;
  ig_status st = w->texts ? ig_session_set_value(s, p->name, w->texts)
                 : t      ? ig_session_set(s, p->name, t)
                          : ig_ctx_status(c);
  if (st == IG_OK) return CLI_OK;
  int code = cli_fail(c, ig_model_name(m), CLI_FAILED);
  cli_put(stderr, CLI_PLAIN, "  given by %s\n", from);
  return code;
}

static void list_names(const ig_model *m, const ig_weight *given, size_t n) {
  const ig_model_port *const *ports = NULL;
  size_t count = ig_model_inputs(m, &ports);
  cli_put(stderr, CLI_PLAIN, "  the model takes:");
  for (size_t i = 0; i < count; i++) {
    if (ig_port_is_array(ports[i])) cli_put(stderr, CLI_PLAIN, " %s", ports[i]->name);
  }
  if (n) cli_put(stderr, CLI_PLAIN, "\n  the file has:");
  for (size_t i = 0; i < n; i++) cli_put(stderr, CLI_PLAIN, " %s", given[i].name);
  cli_put(stderr, CLI_PLAIN, "\n");
}

static int next_array(const ig_model *m, int i) {
  const ig_model_port *const *ports = NULL;
  int n = (int)ig_model_inputs(m, &ports);
  while (i < n && !ig_port_is_array(ports[i])) i++;
  return i < n ? i : -1;
}

// numpy.savez(f, x, y) calls its arrays arr_0, arr_1: no name matches, so position decides.
static int feed_by_order(ig_ctx *c, const ig_model *m, ig_session *s, const char *path,
                         const cli_arrays *a, bool *given) {
  int to = next_array(m, 0);
  for (size_t i = 0; i < a->n; i++) {
    if (to < 0) {
      (void)cli_error(CLI_FAILED, "%s: %zu arrays, more than the model has inputs", path, a->n);
      list_names(m, a->list, a->n);
      return CLI_FAILED;
    }
    int code = set_input(c, s, m, to, &a->list[i], path);
    if (code != CLI_OK) return code;
    given[to] = true;
    to = next_array(m, to + 1);
  }
  return CLI_OK;
}

static int feed_by_name(ig_ctx *c, const ig_model *m, ig_session *s, const char *path,
                        const cli_arrays *a, bool *given) {
  for (size_t i = 0; i < a->n; i++) {
    int k = ig_model_find_input(m, a->list[i].name);
    if (k < 0) continue;
    int code = set_input(c, s, m, k, &a->list[i], path);
    if (code != CLI_OK) return code;
    given[k] = true;
  }
  return CLI_OK;
}

static int feed_arrays(ig_ctx *c, const ig_model *m, ig_session *s, const char *path,
                       const cli_arrays *a, bool *given) {
  size_t named = 0;
  size_t strange = 0;
  for (size_t i = 0; i < a->n; i++) {
    bool input = ig_model_find_input(m, a->list[i].name) >= 0;
    named += input;
    strange += !input && !is_result_name(a->list[i].name);
  }
  if (named == 0 && strange == a->n) return feed_by_order(c, m, s, path, a, given);
  if (strange == 0) return feed_by_name(c, m, s, path, a, given);
  (void)cli_error(CLI_FAILED, "%s: its arrays are not the inputs of the model", path);
  list_names(m, a->list, a->n);
  return CLI_FAILED;
}

static int feed_file(ig_ctx *c, const ig_model *m, ig_session *s, const char *path, bool *given) {
  cli_arrays a;
  int code = cli_load_arrays(c, path, &a);
  if (code == CLI_OK) code = feed_arrays(c, m, s, path, &a, given);
  cli_free_arrays(&a);
  return code;
}

// An input that is not a tensor: its value is given on the command line.
static int feed_value(ig_ctx *c, const ig_model *m, ig_session *s, int k, const char *text) {
  const ig_model_port *const *ports = NULL;
  (void)ig_model_inputs(m, &ports);
  ig_kind kind = ports[k]->kind;
  char *end = NULL;
  ig_value v = kind == IG_KIND_INT     ? ig_of_i64(strtoll(text, &end, 10))
               : kind == IG_KIND_FLOAT ? ig_of_f64(strtod(text, &end))
                                       : ig_of_bool(strcmp(text, "True") == 0);
  bool ok = kind == IG_KIND_BOOL ? strcmp(text, "True") == 0 || strcmp(text, "False") == 0
            : kind == IG_KIND_INT || kind == IG_KIND_FLOAT ? end != text && *end == 0
                                                           : false;
  if (!ok) {
    return cli_error(CLI_USAGE, "--input: '%s' is not a value for input '%s'", text,
                     ports[k]->name);
  }
  if (ig_session_set_value(s, ports[k]->name, &v) == IG_OK) return CLI_OK;
  return cli_fail(c, ig_model_name(m), CLI_FAILED);
}

static int feed_single(ig_ctx *c, const ig_model *m, ig_session *s, const char *word, bool *given) {
  const char *equals = strchr(word, '=');
  char name[256];
  if (!equals) return cli_error(CLI_USAGE, "--input: '%s' has no '='; write NAME=FILE.npy", word);
  (void)snprintf(name, sizeof name, "%.*s", (int)(equals - word), word);
  int k = ig_model_find_input(m, name);
  if (k < 0) {
    (void)cli_error(CLI_FAILED, "--input: the model has no input '%s'", name);
    list_names(m, NULL, 0);
    return CLI_FAILED;
  }
  const ig_model_port *const *ports = NULL;
  (void)ig_model_inputs(m, &ports);
  if (!ig_port_is_array(ports[k])) return feed_value(c, m, s, k, equals + 1);
  cli_arrays a;
  int code = cli_load_arrays(c, equals + 1, &a);
  if (code == CLI_OK && a.n != 1) {
    code = cli_error(CLI_FAILED, "%s: %zu arrays, expected one; --inputs takes several", equals + 1,
                     a.n);
  }
  if (code == CLI_OK) code = set_input(c, s, m, k, &a.list[0], equals + 1);
  cli_free_arrays(&a);
  given[k] = true;
  return code;
}

// ---- random numbers, the same on every machine

static uint64_t next_bits(uint64_t *state) {  // SplitMix64
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static ig_tensor *random_tensor(ig_ctx *c, const ig_model_port *p, int64_t *sizes,
                                uint64_t *state) {
  bool complex = ig_dtype_is_complex(p->dtype);
  bool fraction = ig_dtype_is_float(p->dtype) || complex;
  if (complex) sizes[p->ndim] = 2;
  ig_tensor *t = ig_tensor_empty(c, IG_F64, sizes, p->ndim + complex);
  int64_t n = t ? ig_tensor_numel(t) : 0;
  double *data = t ? ig_tensor_data(t) : NULL;
  for (int64_t i = 0; i < n; i++) {
    uint64_t bits = next_bits(state);
    data[i] = fraction ? (double)(bits >> 11) * 0x1p-52 - 1 : (double)(bits >> 63);
  }
  if (complex) t = call(c, "view_as_complex", (ig_value[]){ig_of_tensor(t)}, 1);
  return call(c, "to", (ig_value[]){ig_of_tensor(t), ig_of_dtype(p->dtype)}, 2);
}

#define CLI_NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

// Is the name a whole word of the text?
static bool mentions(const char *text, const char *name) {
  size_t len = strlen(name);
  while (*text) {
    size_t n = strspn(text, CLI_NAME_LETTERS);
    if (n && n == len && memcmp(text, name, n) == 0) return true;
    text += n ? n : 1;
  }
  return false;
}

// Does some size of an input mention this name? *of: the size that is the name alone, or NULL.
static bool is_size(const ig_model *m, const char *name, const ig_model_dim **of) {
  const ig_model_port *const *ports = NULL;
  size_t n = ig_model_inputs(m, &ports);
  bool found = false;
  *of = NULL;
  for (size_t i = 0; i < n; i++) {
    for (int d = 0; ports[i]->kind == IG_KIND_TENSOR && d < ports[i]->ndim; d++) {
      const char *text = ports[i]->dims[d]->name;
      found |= text && mentions(text, name);
      if (text && strcmp(text, name) == 0) *of = ports[i]->dims[d];
    }
  }
  return found;
}

// The names of sizes that can be given, with their ranges: "s0 (2 to 64), s1 (at least 0)".
static const char *list_sizes(const ig_model *m, char *text, size_t cap) {
  const ig_model_port *const *ports = NULL;
  size_t n = ig_model_inputs(m, &ports);
  size_t used = 0;
  text[0] = 0;
  for (size_t i = 0; i < n; i++) {
    for (int d = 0; ig_port_is_array(ports[i]) && d < ports[i]->ndim; d++) {
      const ig_model_dim *dim = ports[i]->dims[d];
      char entry[160];
      if (!dim->name || dim->name[strspn(dim->name, CLI_NAME_LETTERS)]) continue;
      int len =
          dim->hi == INT64_MAX
              ? snprintf(entry, sizeof entry, "%.80s (at least %" PRId64 ")", dim->name, dim->lo)
              : snprintf(entry, sizeof entry, "%.80s (%" PRId64 " to %" PRId64 ")", dim->name,
                         dim->lo, dim->hi);
      if (len < 0 || strstr(text, entry) || used + (size_t)len + 3 > cap) continue;
      used += (size_t)snprintf(text + used, cap - used, "%s%s", used ? ", " : "", entry);
    }
  }
  return text;
}

int cli_read_sizes(const ig_model *m, const cli_texts *words, ig_dim_value *out,
                   char (*names)[128]) {
  for (size_t i = 0; i < words->n; i++) {
    const char *equals = strrchr(words->at[i], '=');
    char *end = NULL;
    out[i].value = equals ? strtoll(equals + 1, &end, 10) : 0;
    if (!equals || end == equals + 1 || *end) {
      return cli_error(CLI_USAGE, "--size: '%s' is not NAME=NUMBER", words->at[i]);
    }
    (void)snprintf(names[i], sizeof *names, "%.*s", (int)(equals - words->at[i]), words->at[i]);
    out[i].name = names[i];
    const ig_model_dim *dim = NULL;
    char known[600];
    list_sizes(m, known, sizeof known);
    if (!is_size(m, names[i], &dim)) {
      return cli_error(CLI_USAGE, "--size: no input has a size '%s'; %s%s", names[i],
                       known[0] ? "there is " : "all sizes are fixed", known);
    }
    if (out[i].value < 0 || (dim && (out[i].value < dim->lo || out[i].value > dim->hi))) {
      return cli_error(CLI_USAGE, "--size: %s cannot be %" PRId64 "; expected %s", names[i],
                       out[i].value, known);
    }
  }
  return CLI_OK;
}

static int feed_random(ig_ctx *c, const ig_model *m, ig_session *s, const cli_feed *f,
                       const bool *given) {
  static ig_dim_value dims[CLI_MAX_TEXTS];
  static char names[CLI_MAX_TEXTS][128];
  const ig_model_port *const *ports = NULL;
  size_t n = ig_model_inputs(m, &ports);
  uint64_t state = (uint64_t)f->seed;
  int code = cli_read_sizes(m, &f->sizes, dims, names);
  for (size_t i = 0; i < n && code == CLI_OK; i++) {
    int64_t sizes[IG_MAX_DIM + 1];
    if (ports[i]->kind != IG_KIND_TENSOR || given[i]) continue;
    ig_status st = ig_model_input_sizes(c, m, i, dims, f->sizes.n, sizes);
    ig_tensor *t = st == IG_OK ? random_tensor(c, ports[i], sizes, &state) : NULL;
    ig_weight w = {.name = ports[i]->name, .tensor = t};
    code =
        t ? set_input(c, s, m, (int)i, &w, "--random") : cli_fail(c, ig_model_name(m), CLI_FAILED);
  }
  return code;
}

// random: numbers were made for those that take numbers.
static int missing(const ig_model *m, const bool *given, bool random) {
  const ig_model_port *const *ports = NULL;
  size_t n = ig_model_inputs(m, &ports);
  for (size_t i = 0; i < n; i++) {
    const ig_model_port *p = ports[i];
    if (!ig_port_is_array(p) || given[i] || (random && !p->texts)) continue;
    char text[512];
    return cli_error(
        CLI_FAILED,
        "%s: input '%s' (%s) was not given; use --inputs FILE.npz%s --input %s=FILE.npy"
        "%s",
        ig_model_name(m), p->name, cli_port_text(p, text, sizeof text), p->texts ? " or" : ",",
        p->name, p->texts ? "" : " or --random");
  }
  return CLI_OK;
}

// The examples in the file, if the user gives nothing.
static bool feed_examples(ig_ctx *c, const ig_model *m, ig_session *s) {
  if (ig_session_set_examples(s) == IG_OK) return true;
  if (ig_ctx_status(c) != IG_NOT_FOUND) {
    cli_warn("%s: its example inputs are not used: %s", ig_model_name(m), ig_ctx_error(c));
  }
  ig_ctx_clear(c);
  return false;
}

int cli_feed_session(ig_ctx *c, const ig_model *m, ig_session *s, const cli_feed *f) {
  const ig_model_port *const *ports = NULL;
  size_t n = ig_model_inputs(m, &ports);
  bool *given = calloc(n + 1, sizeof *given);
  if (!given) return cli_no_memory();
  bool any = f->arrays || f->single.n || f->random || f->sizes.n;
  if (!any && feed_examples(c, m, s)) {
    free(given);
    return CLI_OK;
  }
  int code = f->arrays ? feed_file(c, m, s, f->arrays, given) : CLI_OK;
  for (size_t i = 0; i < f->single.n && code == CLI_OK; i++) {
    code = feed_single(c, m, s, f->single.at[i], given);
  }
  if (code == CLI_OK && (f->random || f->fallback || f->sizes.n)) {
    code = feed_random(c, m, s, f, given);
    if (code == CLI_OK && !f->fallback) code = missing(m, given, true);
  } else if (code == CLI_OK) {
    code = missing(m, given, false);
  }
  free(given);
  return code;
}

const char *cli_output_name(const ig_model *m, size_t i, char *text, size_t cap) {
  const ig_model_port *const *inputs = NULL;
  const ig_model_port *const *ports = NULL;
  size_t nin = ig_model_inputs(m, &inputs);
  (void)ig_model_outputs(m, &ports);
  const ig_model_port *p = ports[i];
  (void)snprintf(text, cap, "%s", p->name);
  if (p->role == IG_PORT_BUFFER) (void)snprintf(text, cap, "mut_buf.%s", p->target);
  for (size_t k = 0; p->role == IG_PORT_INPUT && k < nin; k++) {
    if (strcmp(inputs[k]->name, p->target) == 0) (void)snprintf(text, cap, "mut_arg%zu", k);
  }
  if (p->role != IG_PORT_USER) return text;
  size_t number = 0;
  bool taken = false;
  for (size_t k = 0; k < i; k++) {
    if (ports[k]->role != IG_PORT_USER) continue;
    number++;
    taken = taken || strcmp(ports[k]->name, p->name) == 0;
  }
  if (taken || p->name[0] == '(') (void)snprintf(text, cap, "out%zu", number);
  return text;
}
