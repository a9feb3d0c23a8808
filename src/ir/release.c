// SPDX-License-Identifier: Apache-2.0
#include "ir/release.h"

#include <stddef.h>
#include <string.h>

static const ig_forms forms[IG_RELEASE_COUNT] = {
    [IG_RELEASE_2_4] = {.branches_as_call = true, .detaches = 3, .detaches_of_reinterpreted = 2},
    [IG_RELEASE_2_5] = {.name = "2.5",
                        .clears_unread = true,
                        .reads_unused = true,
                        .tuples_of_graded = true,
                        .sizes_first = true,
                        .detaches = 3,
                        .detaches_of_reinterpreted = 2,
                        .records_arithmetic = true,
                        .asserts_ends = true,
                        .asserts_behind_first = true,
                        .describes_checks = true,
                        .shares_arithmetic = true},
    [IG_RELEASE_2_5_FX] = {.name = "2.5-fx",
                           .clears_unread = true,
                           .tuples_of_graded = true,
                           .detaches = 3,
                           .detaches_of_reinterpreted = 2,
                           .reads_layout = true,
                           .records_arithmetic = true,
                           .replays_arithmetic = true},
};

// Both families agree.
static const ig_function_forms functions[] = {
    {"pad", .inlined = true},     {"rms_norm", .inlined = true},  {"sigmoid", .unreported = true},
    {"tanh", .unreported = true}, {"threshold", .inlined = true},
};

const ig_forms *ig_release_forms(ig_release r) {
  return &forms[r];
}

ig_release ig_release_find(const char *name) {
  for (int i = 0; i < IG_RELEASE_COUNT; i++) {
    if (forms[i].name && strcmp(forms[i].name, name) == 0) return (ig_release)i;
  }
  return IG_RELEASE_2_4;
}

const ig_function_forms *ig_release_function(const char *name) {
  static const ig_function_forms usual = {.name = NULL};
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    if (strcmp(functions[i].name, name) == 0) return &functions[i];
  }
  return &usual;
}
