// SPDX-License-Identifier: Apache-2.0
// Any bytes as the text of a program, with the weights that the programs of the corpus name: what
// is accepted is written again. Reading calls shape rules with whatever the file says.
#include <string.h>

#include "base/ctx.h"
#include "pt2/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

typedef struct weight {
  const char *name;
  int ndim;
  int64_t sizes[4];
} weight;

static const weight state[] = {
    {"fc1.weight", 2, {8, 4}},
    {"fc1.bias", 1, {8}},
    {"fc2.weight", 2, {2, 8}},
    {"fc2.bias", 1, {2}},
    {"left.weight", 2, {3, 3}},
    {"left.bias", 1, {3}},
    {"right.weight", 2, {3, 3}},
    {"right.bias", 1, {3}},
    {"count", 1, {3}},
    {"conv.weight", 4, {8, 3, 3, 3}},
    {"conv.bias", 1, {8}},
    {"norm.weight", 1, {8}},
    {"norm.bias", 1, {8}},
    {"norm.running_mean", 1, {8}},
    {"norm.running_var", 1, {8}},
    {"norm.num_batches_tracked", 0, {0}},
    {"head.weight", 2, {10, 32}},
    {"head.bias", 1, {10}},
};
static const weight constants[] = {{"ramp", 1, {10}}, {"lifted_tensor_0", 1, {3}}};

static ig_pt2_weights make(ig_ctx *c, const weight *list, size_t n, ig_pt2_weight *out) {
  for (size_t i = 0; i < n; i++) {
    out[i] = (ig_pt2_weight){.name = list[i].name, .is_param = i % 2 == 0};
    out[i].tensor = ig_tensor_empty(c, IG_F32, list[i].sizes, list[i].ndim);
  }
  return (ig_pt2_weights){out, n};
}

enum { NSTATE = sizeof state / sizeof *state, NCONSTANTS = sizeof constants / sizeof *constants };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  ig_ctx *c = NULL;
  if (ig_ctx_create(NULL, &c) != IG_OK) return 0;
  ig_pt2_weight room[NSTATE + NCONSTANTS];
  ig_scope s = ig_scope_open(c);
  ig_pt2_weights a = make(c, state, NSTATE, room);
  ig_pt2_weights b = make(c, constants, NCONSTANTS, room + NSTATE);
  ig_arena arena = ig_arena_make(c->alloc);
  ig_pt2_source source = {.name = "fuzz",
                          .text = {data, n},
                          .state = &a,
                          .constants = &b,
                          .arena = &arena,
                          .objects = n % 2 == 0};
  ig_program *p = NULL;
  if (ig_pt2_read_program(c, &source, &p) == IG_OK) {
    ig_str text = ig_str_make(c->alloc);
    if (ig_pt2_write_program(c, p, NULL, &text) != IG_OK) __builtin_trap();
    ig_str_free(&text);
    ig_program_free(p);
  }
  ig_arena_free(&arena);
  ig_scope_close(c, s);
  ig_ctx_free(c);
  return 0;
}
