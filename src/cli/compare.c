// SPDX-License-Identifier: Apache-2.0
// Comparison of two tensors (ingot/diff.h), as text and as JSON.
#include <inttypes.h>
#include <stdio.h>

#include "cli/feed.h"

void cli_compare(ig_ctx *c, ig_tensor *got, ig_tensor *want, const ig_tolerance *tol,
                 ig_tensor_diff *out) {
  // Bits of a dtype that NumPy lacks are read as that dtype.
  want = got && want ? cli_as_dtype(c, want, ig_tensor_dtype(got)) : want;
  ig_tensor_compare(c, got, want, tol, out);
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

void cli_json_diff(const char *name, const ig_tensor_diff *d) {
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
  cli_json_close('}');
}
