// SPDX-License-Identifier: Apache-2.0
// A C function captured with a dynamic size: the program is valid for every batch size that its
// declaration admits, rejects the others by name, and a wrong declaration is an error that suggests
// a working one.
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "ingot/aten.h"
#include "ingot/export.h"

// y[i] = x[i] + z[i + 1]: z has one row more than x.
static void shifted(ig_ctx *c, ig_tensor *const *inputs, ig_tensor **outputs, void *user) {
  (void)user;
  ig_tensor *tail = ig_slice_tensor_with(IG_AT(c), inputs[1], ig_const(0), ig_of_i64(1),
                                         ig_of_i64(INT64_MAX), ig_const(1));
  outputs[0] = ig_add_tensor(IG_AT(c), inputs[0], tail);
}

static ig_tensor *rows(ig_ctx *c, int64_t n) {
  int64_t sizes[] = {n, 2};
  ig_tensor *t = ig_tensor_empty(c, IG_F32, sizes, 2);
  for (int64_t i = 0; t && i < 2 * n; i++) ((float *)ig_tensor_data(t))[i] = (float)i;
  return t;
}

static ig_status capture(ig_ctx *c, const ig_dim *x, const ig_dim *z, ig_program **out) {
  ig_export_input inputs[] = {{"x", NULL, x}, {"z", NULL, z}};
  inputs[0].example = rows(c, 4);
  inputs[1].example = rows(c, 5);
  ig_export_args args = {
      .size = sizeof args, .fn = shifted, .inputs = inputs, .ninputs = 2, .noutputs = 1};
  return ig_export(c, &args, out);
}

// Whether the program accepts n rows of x and m of z; prints the error if not.
static bool takes(ig_ctx *c, const ig_program *p, int64_t n, int64_t m) {
  ig_value in[2];
  in[0] = ig_of_tensor(rows(c, n));
  in[1] = ig_of_tensor(rows(c, m));
  ig_value out = ig_none();
  bool ok = ig_program_check_inputs(c, p, in, NULL, 2) == IG_OK &&
            ig_program_run(c, p, in, 2, &out) == IG_OK;
  if (!ok) printf("# %lld and %lld rows: %s\n", (long long)n, (long long)m, ig_ctx_error(c));
  ig_ctx_clear(c);
  return ok;
}

int main(void) {
  ig_ctx *c = NULL;
  ig_program *p = NULL;
  if (ig_ctx_create(NULL, &c) != IG_OK) return 1;
  ig_dim n = {.kind = IG_DIM_NAMED, .name = "n", .lo = 2, .hi = 16};
  ig_dim other = {.kind = IG_DIM_NAMED, .name = "m", .lo = 2, .hi = 17};
  ig_dim next = {
      .kind = IG_DIM_DERIVED, .name = "n + 1", .root = "n", .lo = 2, .hi = 16, .k = 1, .c = 1};
  ig_dim same = {.kind = IG_DIM_STATIC};

  // Two independent sizes are too general; the error says how they are related.
  bool refused = capture(c, (ig_dim[]){n, same}, (ig_dim[]){other, same}, &p) != IG_OK &&
                 strstr(ig_ctx_error(c), "m = n + 1") != NULL;
  printf("# %s\n", ig_ctx_error(c));
  ig_ctx_clear(c);

  bool ok = refused && capture(c, (ig_dim[]){n, same}, (ig_dim[]){next, same}, &p) == IG_OK;
  char *code = ok ? ig_program_code(c, p) : NULL;
  printf("%s\n", code ? code : ig_ctx_error(c));
  ig_text_free(c, code);
  ok = ok && takes(c, p, 7, 8) && takes(c, p, 2, 3) && !takes(c, p, 7, 9) && !takes(c, p, 17, 18);
  ig_program_free(p);
  ig_ctx_free(c);
  return ok ? 0 : 1;
}
