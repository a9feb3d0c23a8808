// SPDX-License-Identifier: Apache-2.0
// Comparison of two tensors (ingot/diff.h), as text and as JSON.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/feed.h"

void cli_compare(ig_ctx *c, ig_tensor *got, ig_tensor *want, const ig_tolerance *tol,
                 ig_tensor_diff *out) {
  // Bits of a dtype that NumPy lacks are read as that dtype.
  want = got && want ? cli_as_dtype(c, want, ig_tensor_dtype(got)) : want;
  ig_tensor_compare(c, got, want, tol, out);
}

static ig_dtype dtype_of(const char *word, size_t n) {
  int d = 0;
  while (d < IG_DTYPE_COUNT && (strlen(ig_dtype_text((ig_dtype)d)) != n ||
                                strncmp(ig_dtype_text((ig_dtype)d), word, n) != 0)) {
    d++;
  }
  return (ig_dtype)d;
}

static int unknown_dtype(const cli_command *command, const char *option, const char *word,
                         size_t n) {
  char names[512] = "";
  size_t used = 0;
  for (int d = 0; d < IG_DTYPE_COUNT && used < sizeof names; d++) {
    used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", d ? ", " : "",
                             ig_dtype_text((ig_dtype)d));
  }
  return cli_usage(command, "%s: '%.*s' is not one of %s", option, (int)n, word, names);
}

static int take(const cli_command *command, const char *option, const char *word, bool relative,
                ig_tolerance out[IG_DTYPE_COUNT]) {
  const char *equals = strchr(word, '=');
  const char *number = equals ? equals + 1 : word;
  size_t n = equals ? (size_t)(equals - word) : 0;
  ig_dtype only = equals ? dtype_of(word, n) : IG_DTYPE_COUNT;
  char *end = NULL;
  double x = strtod(number, &end);
  if (equals && only == IG_DTYPE_COUNT) return unknown_dtype(command, option, word, n);
  if (end == number || *end || !(x >= 0)) {
    return cli_usage(command, "%s: '%s' is not a number of at least 0", option, number);
  }
  for (int d = 0; d < IG_DTYPE_COUNT; d++) {
    if (equals && d != (int)only) continue;
    if (relative) out[d].rtol = x;
    if (!relative) out[d].atol = x;
  }
  return CLI_OK;
}

int cli_tolerances(const cli_command *command, const cli_texts *rtol, const cli_texts *atol,
                   ig_tolerance out[IG_DTYPE_COUNT]) {
  int code = CLI_OK;
  for (int d = 0; d < IG_DTYPE_COUNT; d++) out[d] = (ig_tolerance){-1, -1};
  for (size_t i = 0; i < rtol->n && code == CLI_OK; i++) {
    code = take(command, "--rtol", rtol->at[i], true, out);
  }
  for (size_t i = 0; i < atol->n && code == CLI_OK; i++) {
    code = take(command, "--atol", atol->at[i], false, out);
  }
  return code;
}

bool cli_is_texts(const ig_value *v) {
  int64_t sizes[IG_MAX_DIM];
  int ndim = 0;
  return ig_texts_measure(v, sizes, &ndim);
}

void cli_compare_texts(const ig_value *got, const ig_value *want, ig_tensor_diff *out) {
  char a[80];
  char b[80];
  *out = (ig_tensor_diff){.worst = -1};
  out->agrees = got && want && ig_texts_equal(got, want);
  if (out->agrees) {
    (void)snprintf(out->why, sizeof out->why, "%s", cli_describe(want, a, sizeof a));
    return;
  }
  (void)snprintf(out->why, sizeof out->why, "other texts: found %.60s, expected %.60s",
                 got ? cli_describe(got, a, sizeof a) : "numbers",
                 want ? cli_describe(want, b, sizeof b) : "numbers");
}

void cli_print_diff(FILE *to, const char *name, const ig_tensor_diff *d) {
  cli_stage_end();
  cli_put(to, CLI_PLAIN, "  ");
  cli_put(to, CLI_CYAN, "%-24s", name);
  if (d->why[0]) {
    cli_put(to, CLI_PLAIN, " %s", d->why);
  } else {
    cli_put(to, CLI_PLAIN, " max abs %-9.3g max rel %-9.3g max ulp %-9.3g", d->max_abs, d->max_rel,
            d->max_ulp);
  }
  cli_put(to, d->agrees ? CLI_GREEN : CLI_RED, d->agrees ? " agrees" : " differs");
  if (!d->agrees && !d->why[0]) {
    cli_put(to, CLI_PLAIN, " (%" PRId64 " of %" PRId64 " elements, worst at %" PRId64 ")", d->bad,
            d->n, d->worst);
  }
  (void)fputc('\n', to);
}

static const char *ulp_label(int bin, char *text, size_t cap) {
  if (bin == 0) return "equal";
  if (bin == IG_ULP_BINS - 1) return "not finite";
  bool over = bin == IG_ULP_BINS - 2;
  (void)snprintf(text, cap, "%s %lld", over ? "above" : "up to", 1LL << (over ? bin - 2 : bin - 1));
  return text;
}

void cli_print_ulps(const int64_t *ulps) {
  enum { WIDTH = 40 };
  static const char bar[WIDTH + 1] = "########################################";
  int64_t most = 0;
  for (int i = 0; i < IG_ULP_BINS; i++) most = ulps[i] > most ? ulps[i] : most;
  for (int i = 0; i < IG_ULP_BINS; i++) {
    char label[40];
    if (!ulps[i]) continue;
    int width = (int)(WIDTH * ((double)ulps[i] / (double)most));
    cli_out("    %-16s %-40.*s %" PRId64 "\n", ulp_label(i, label, sizeof label), width ? width : 1,
            bar, ulps[i]);
  }
}

void cli_json_errors(const ig_tensor_diff *d) {
  cli_json_key("max_abs");
  cli_json_real(d->max_abs);
  cli_json_key("max_rel");
  cli_json_real(d->max_rel);
  cli_json_key("max_ulp");
  cli_json_real(d->max_ulp);
  cli_json_key("bad");
  cli_json_int(d->bad);
  cli_json_key("elements");
  cli_json_int(d->n);
}

void cli_json_diff(const char *name, const ig_tensor_diff *d, const int64_t *ulps) {
  cli_json_open('{');
  cli_json_key("name");
  cli_json_str(name);
  cli_json_key("agrees");
  cli_json_bool(d->agrees);
  cli_json_errors(d);
  cli_json_key("rtol");
  cli_json_real(d->rtol);
  cli_json_key("atol");
  cli_json_real(d->atol);
  cli_json_key("why");
  cli_json_str(d->why[0] ? d->why : NULL);
  if (ulps) {
    cli_json_key("ulps");
    cli_json_open('[');
    for (int i = 0; i < IG_ULP_BINS; i++) cli_json_int(ulps[i]);
    cli_json_close(']');
  }
  cli_json_close('}');
}
